//! What looks like a transaction hash, in a URL, in a ticket, on its own.
//!
//! It must never take an address for a hash: in running text only the three known shapes count.

use std::collections::HashSet;

use crate::domain::ids::{ChainId, TxHash};

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The digits after `0x`, if the text starts so and goes on in hexadecimal digits.
pub(super) fn digits(text: &str) -> Option<&str> {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).filter(|digits| is_hex(digits))
}

/// What is odd about a hash, though the service may know better: on chains that have numbers a whole one has 64 digits.
pub fn oddity(hash: &TxHash, from: &ChainId) -> Option<String> {
    let is_numbered = from.as_str().bytes().all(|byte| byte.is_ascii_digit());
    let found = digits(hash.as_str()).map(str::len).filter(|digits| *digits != 64 && is_numbered)?;
    Some(format!("its hash has {found} digits, a whole one has 64"))
}

/// Whether a word has the shape of a whole hash: `0x` and 64 hexadecimal digits, the 64 digits alone, or 80 to 90
/// characters of base 58.
pub(super) fn is_hash(word: &str) -> bool {
    let base58 = |byte: u8| byte.is_ascii_alphanumeric() && !matches!(byte, b'0' | b'O' | b'I' | b'l');
    digits(word).is_some_and(|digits| digits.len() == 64)
        || (word.len() == 64 && is_hex(word))
        || ((80..=90).contains(&word.len()) && word.bytes().all(base58))
}

/// Whether a word may be a hash where its neighbours say that it is one: also a short one, or of an unknown shape.
pub(super) fn may_be_hash(word: &str) -> bool {
    digits(word).is_some_and(|digits| digits.len() >= 8)
        || (word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// What may be a part of a hash where it stands alone: enough of it to be told from others, and no word of a language.
pub(super) fn part(word: &str) -> Option<TxHash> {
    const SHORTEST: usize = 6;
    let is_part = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => digits.len() >= SHORTEST && is_hex(digits),
        None => {
            let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
            word.len() >= SHORTEST && has_digit && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
    };
    (is_part || TxHash::parse_short(word).is_some()).then(|| TxHash::new(word))
}

/// The first hash in a text that is written as lists show it, `0x9f3c…e21b`.
pub(super) fn short_in(text: &str) -> Option<TxHash> {
    let words = text.split(|letter: char| {
        letter.is_whitespace() || matches!(letter, '"' | '<' | '>' | '(' | ')' | ',' | ':' | ';')
    });
    let mut words = words.map(|word| word.trim_end_matches(['.', '!', '?']));
    words.find(|word| TxHash::parse_short(word).is_some()).map(TxHash::new)
}

/// The hashes in a text, none twice. Whatever isn't a letter or a digit ends a word, so path segments, query values and
/// words of a sentence come out alike.
pub(super) fn hashes_in(text: &str) -> Vec<TxHash> {
    let mut seen = HashSet::new();
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| is_hash(word));
    words.map(TxHash::new).filter(|hash| seen.insert(hash.key())).collect()
}

/// The chain that a hash's shape speaks for: 80 to 90 characters of base 58 are a signature of Solana.
pub(super) fn chain_of(hash: &TxHash) -> Option<ChainId> {
    let is_long = hash.as_str().len() >= 80 && is_hash(hash.as_str());
    is_long.then(|| ChainId::new("solana-mainnet-beta"))
}

/// Whether a text is a URL, as far as we care.
pub(super) fn is_url(text: &str) -> bool {
    text.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_hashes_count_in_running_text() {
        let digits = "ab".repeat(32);
        let base58 = "5".repeat(88);
        let address = "ab".repeat(20);
        let table = [
            (format!("https://scan.example/tx/0x{digits}?chain=1#top"), 1),
            (format!("https://scan.example/#/search?q={digits}"), 1),
            (format!("https://sol.example/tx/{base58}"), 1),
            (format!("https://scan.example/address/0x{address}"), 0),
            (format!("it is 0x{digits}, again 0X{}.", digits.to_uppercase()), 1),
            (format!("0x{digits}_30_100"), 1),
            (format!("0x{digits}00"), 0),
            ("0x9f3c…e21b".to_owned(), 0),
        ];
        for (text, count) in table {
            assert_eq!(hashes_in(&text).len(), count, "{text}");
        }
    }
}
