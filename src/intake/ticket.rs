//! Finds the ticket number in a pasted text, in the form of issue trackers: `SUP-4412`.
//!
//! The number is a suggestion for a field that a person sees. The module must never suggest one if the text has two.

/// Prefixes of identifiers that look like ticket numbers but aren't.
const NON_TICKET_PREFIXES: [&str; 13] =
    ["AES", "BIP", "CAIP", "CVE", "EIP", "ERC", "GMT", "HTTP", "ISO", "RFC", "SHA", "UTC", "UTF"];

/// Returns the ticket number in a text, if the text has exactly one.
pub(crate) fn find_ticket(text: &str) -> Option<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    // The query of a link is ignored: its values may look like ticket numbers.
    let words = text.split_whitespace().map(|word| match word.split_once('?') {
        Some((link, _)) if link.contains("://") => link,
        _ => word,
    });
    let mut found = words.flat_map(|word| word.split(|letter| !is_part(letter))).filter(|word| is_ticket(word));
    let first = found.next()?;
    found.all(|other| other == first).then(|| first.to_owned())
}

fn is_ticket(word: &str) -> bool {
    let Some((project, number)) = word.split_once('-') else { return false };
    let is_project = (2..=10).contains(&project.len()) && project.bytes().all(|letter| letter.is_ascii_uppercase());
    let is_number = (2..=7).contains(&number.len())
        && number.bytes().all(|digit| digit.is_ascii_digit())
        && !number.starts_with('0');
    is_project && is_number && !NON_TICKET_PREFIXES.contains(&project)
}

#[cfg(test)]
mod tests {
    use super::find_ticket;

    #[test]
    fn only_an_unambiguous_ticket_number_is_found() {
        for text in [
            "SUP-4412",
            "Re: [SUP-4412] where is my money? (SUP-4412)",
            "https://desk.example/browse/SUP-4412?focused=1",
            "an ERC-20 token, SUP-4412, HTTP-404, 14:26 UTC-05:00",
            "SUP-4412 https://bridge.example/tx?quoteId=QT-4412",
        ] {
            assert_eq!(find_ticket(text).as_deref(), Some("SUP-4412"), "{text}");
        }
        for text in [
            "",
            "SUP-4412 and SUP-4413",
            "ERC-20",
            "A-12",
            "sup-4412",
            "SUP-4412-3",
            "SUP-1",
            "SUP-012",
            "14:26 UTC-10:00",
            "0xAB-4412",
            "x_SUP-4412",
            "SUP-",
            "-4412",
        ] {
            assert_eq!(find_ticket(text), None, "{text}");
        }
    }
}
