//! Reads a request to the status endpoint: its URL, or the curl command that sends it.
//!
//! It must never run anything, and knows no more of a shell than where its words end.

use super::fields::{Field, Row};

/// What a request can name (`service.md` 4.1).
const PARAMETERS: [Field; 5] =
    [Field::TransactionId, Field::FromChainId, Field::ToChainId, Field::QuoteId, Field::RequestId];

/// The parameters in a line, if it names a transaction by one.
pub(super) fn read(line: &str) -> Option<Row<'static>> {
    let mut row = Row::default();
    for field in PARAMETERS {
        if let Some(value) = parameter(line, field.name()) {
            row.set(field, decoded(value));
        }
    }
    row.get(Field::TransactionId)?;
    Some(row)
}

/// The value of the first parameter with this name.
fn parameter<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let begins = |at: &usize| !line.get(..*at).is_some_and(|before| before.ends_with(char::is_alphanumeric));
    let values = line.match_indices(name).map(|(at, _)| at).filter(begins);
    let value = values.filter_map(|at| line.get(at + name.len()..)?.strip_prefix('=')).next()?;
    let ends = |letter: char| letter.is_whitespace() || matches!(letter, '&' | '"' | '\'' | '\\' | '#' | '`');
    value.split(ends).next()
}

/// Without the `%41` of a URL.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, behind @ ..] = rest {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_are_found_in_a_url_and_in_a_command() {
        let table = [
            "https://api.example/v2/status?transactionId=0xab&fromChainId=1&toChainId=osmosis%2D1&quoteId=q%20x#top",
            "curl -G 'https://api.example/v2/status' -d transactionId=0xab -d 'fromChainId=1' --data-urlencode \
             \"toChainId=osmosis-1\" -d quoteId=q%20x",
        ];
        for line in table {
            let row = read(line).unwrap();
            let values = [Field::TransactionId, Field::FromChainId, Field::ToChainId, Field::QuoteId];
            assert_eq!(values.map(|field| row.get(field).unwrap()), ["0xab", "1", "osmosis-1", "q x"], "{line}");
        }
        assert!(read("https://scan.example/?otherTransactionId=1&id=0xab").is_none());
        assert!(read("transactionId=&fromChainId=1").is_none());
        assert_eq!(decoded("%4%zz%41%"), "%4%zzA%");
    }
}
