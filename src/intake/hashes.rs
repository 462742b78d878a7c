//! Recognises transaction hashes: in a URL, in ticket text, or alone.
//!
//! It must never accept an address as a hash: in running text only the three known shapes match.

use std::collections::HashSet;

use chrono::NaiveDate;

use super::ticket::find_ticket;
use crate::domain::ids::{ChainId, TxHash};

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the digits after `0x`, if the text is `0x` and only hexadecimal digits after it.
pub(super) fn hex_digits(text: &str) -> Option<&str> {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).filter(|digits| is_hex(digits))
}

/// Returns a sentence if a hash looks wrong: it has characters that no known kind of hash has, is too short, or, on a
/// chain with a numeric ID, doesn't have 64 hexadecimal digits. The service may still accept it.
pub(crate) fn hash_warning(hash: &TxHash, from: &ChainId) -> Option<String> {
    let text = hash.as_str();
    let is_unusual = |letter: &char| !letter.is_ascii_alphanumeric() && !matches!(letter, '-' | '_');
    if let Some(letter) = text.chars().find(is_unusual) {
        return Some(format!("the hash has `{letter}` in it; check that it was copied without other text"));
    }
    /// No known chain has shorter hashes.
    const MIN_LENGTH: usize = 32;
    if hex_digits(text).is_none() && text.len() < MIN_LENGTH {
        return Some(format!("the hash has only {} characters; check that it was copied whole", text.len()));
    }
    let is_numbered = from.as_str().bytes().all(|byte| byte.is_ascii_digit());
    let found = hex_digits(text).map(str::len).filter(|digits| *digits != 64 && is_numbered)?;
    Some(format!("the hash has {found} hexadecimal digits; a complete hash has 64"))
}

/// Whether a word has the form of a whole hash: 64 hexadecimal digits, with or without `0x`, or 80 to 90 characters of
/// base 58.
pub(crate) fn is_hash(word: &str) -> bool {
    let base58 = |byte: u8| byte.is_ascii_alphanumeric() && !matches!(byte, b'0' | b'O' | b'I' | b'l');
    hex_digits(word).is_some_and(|digits| digits.len() == 64)
        || (word.len() == 64 && is_hex(word))
        || ((80..=90).contains(&word.len()) && word.bytes().all(base58))
}

/// Whether a word may be a hash if its neighbours suggest one. Short hashes and unknown shapes match too.
pub(super) fn may_be_hash(word: &str) -> bool {
    hex_digits(word).is_some_and(|digits| digits.len() >= 8)
        || (word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Returns a word if the word may be a part of a hash, an ID or a ticket. Ordinary words, which have no digits, are
/// excluded.
fn parse_hash_part(word: &str) -> Option<TxHash> {
    const MIN_LENGTH: usize = 5;
    let is_part = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => digits.len() >= MIN_LENGTH && is_hex(digits),
        None => {
            let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
            let is_id = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'#');
            word.len() >= MIN_LENGTH && has_digit && word.bytes().all(is_id)
        }
    };
    (is_part || TxHash::parse_short(word).is_some()).then(|| TxHash::new(word))
}

/// Returns the word by which a text without a whole hash may name a transaction: the text itself if it is one word,
/// else its first shortened hash (`0x9f3c…e21b`), else its only ticket, ID or address.
pub(super) fn find_part(text: &str) -> Option<TxHash> {
    /// Shorter words of a sentence name nothing.
    const MIN_LENGTH: usize = 8;
    let words = text.split(|letter: char| {
        letter.is_whitespace() || matches!(letter, '"' | '<' | '>' | '(' | ')' | '[' | ']' | ',' | ':' | ';' | '=')
    });
    let words = words.map(|word| word.trim_matches(['.', '!', '?', '`', '\'']));
    // A date, or a date with a time: `2026-11-24T12`.
    let is_date = |word: &str| word.get(..10).is_some_and(|date| NaiveDate::parse_from_str(date, "%Y-%m-%d").is_ok());
    let is_specific =
        |word: &&str| word.len() >= MIN_LENGTH && word.bytes().any(|byte| byte.is_ascii_alphabetic()) && !is_date(word);
    let shortened = || words.clone().find(|word| TxHash::parse_short(word).is_some()).map(TxHash::new);
    let only_id = || {
        let mut ids = words.clone().filter(is_specific).filter_map(parse_hash_part);
        let first = ids.next()?;
        ids.all(|other| other == first).then_some(first)
    };
    parse_hash_part(text.trim()).or_else(shortened).or_else(|| find_ticket(text).map(TxHash::new)).or_else(only_id)
}

/// Returns the whole hashes in a text, without duplicates. Every character but ASCII letters and digits ends a word, so
/// path segments, query values and words of a sentence are all searched.
pub(super) fn find_hashes(text: &str) -> Vec<TxHash> {
    let mut seen = HashSet::new();
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| is_hash(word));
    words.map(TxHash::new).filter(|hash| seen.insert(hash.key())).collect()
}

/// Returns the chain that a hash's shape suggests: 80 to 90 characters of base 58 are a Solana signature.
pub(super) fn guess_chain(hash: &TxHash) -> Option<ChainId> {
    let is_long = hash.as_str().len() >= 80 && is_hash(hash.as_str());
    is_long.then(|| ChainId::new("solana-mainnet-beta"))
}

/// Whether a text contains `://`, which is enough to treat it as a URL.
pub(super) fn is_url(text: &str) -> bool {
    text.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_hashes_are_found_in_running_text() {
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
            assert_eq!(find_hashes(&text).len(), count, "{text}");
        }
    }
}
