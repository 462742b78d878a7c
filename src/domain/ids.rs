//! Identifiers, as opaque text: chains, hashes, rows.
//!
//! Nothing here may assume a shape that `service.md` doesn't give; only EVM hashes compare without case (`DESIGN.md`,
//! Words).

use std::fmt;

use serde::{Deserialize, Serialize};

/// A chain's ID as the service uses it: `42161`, `osmosis-1` (`service.md` 2.5, 4.1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChainId(String);

impl ChainId {
    /// Creates an ID from clean text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the ID as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ChainId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// A transaction hash as given. Two hashes are the same if their [`key`](Self::key)s are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TxHash(String);

impl TxHash {
    /// Creates a hash from clean text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns a name that is unique across chains: the source chain and the hash, `42161:0x9f3c…`.
    pub fn on_chain(&self, from: &ChainId) -> String {
        format!("{from}:{self}")
    }

    /// Reads a name of [`on_chain`](Self::on_chain) into chain and hash; `None` for a hash alone or a link.
    pub fn parse_on_chain(text: &str) -> Option<(ChainId, Self)> {
        let (chain, hash) = text.split_once(':')?;
        let is_pair = !chain.is_empty() && !hash.is_empty() && !hash.starts_with("//");
        is_pair.then(|| (ChainId::new(chain), Self::new(hash)))
    }

    /// Reads a hash as lists shorten it ([`short`](Self::short)) into its beginning and its end: `0x9f3c…e21b`.
    pub fn parse_short(text: &str) -> Option<(String, String)> {
        let mut ellipses = ["…", "...", ".."].into_iter();
        let (head, tail) = ellipses.find_map(|ellipsis| text.split_once(ellipsis))?;
        let is_end = |end: &str| end.len() >= 4 && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
        // In the form by which hashes are compared.
        let is_hex = head.starts_with("0x") || head.starts_with("0X");
        let written = |end: &str| if is_hex { end.to_ascii_lowercase() } else { end.to_owned() };
        (is_end(head) && is_end(tail)).then(|| (written(head), written(tail)))
    }

    /// Returns the hash as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the form by which hashes are compared and stored: EVM hashes in lower case with `0x`, others unchanged.
    pub fn key(&self) -> String {
        let digits = self.0.strip_prefix("0x").or_else(|| self.0.strip_prefix("0X"));
        let digits = digits.or(Some(self.0.as_str()).filter(|all| all.len() == 64));
        let is_hex = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let Some(digits) = digits.filter(is_hex) else { return self.0.clone() };
        let mut key = String::with_capacity(2 + digits.len());
        key.push_str("0x");
        key.push_str(digits);
        key.make_ascii_lowercase();
        key
    }

    /// Returns the beginning and the end with `ellipsis` between them, for a narrow column: `0x9f3c…e21b`. Short hashes
    /// are unchanged.
    pub fn short(&self, ellipsis: &str) -> String {
        const HEAD: usize = 6;
        const TAIL: usize = 4;
        let length = self.0.chars().count();
        if length <= HEAD + TAIL + 1 {
            return self.0.clone();
        }
        let head: String = self.0.chars().take(HEAD).collect();
        let tail: String = self.0.chars().skip(length - TAIL).collect();
        format!("{head}{ellipsis}{tail}")
    }
}

impl fmt::Display for TxHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The store's row number of a transaction; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub i64);

/// The key of a tracked transaction in every store. Within a profile, source chain and hash are unique.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TransactionKey {
    /// The profile that polls the transaction.
    pub profile: String,
    /// The source chain.
    pub from_chain: ChainId,
    /// The hash on the source chain.
    pub hash: TxHash,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evm_hashes_compare_without_case_and_prefix() {
        let digits = "AB".repeat(32);
        let plain = TxHash::new(digits.clone());
        assert_eq!(plain.key(), TxHash::new(format!("0x{}", digits.to_lowercase())).key());
        assert_eq!(TxHash::new("0XAbC").key(), "0xabc");
    }

    #[test]
    fn other_hashes_keep_their_case() {
        assert_ne!(TxHash::new("5UjQb").key(), TxHash::new("5ujqb").key());
        assert_eq!(TxHash::new("0xnothex").key(), "0xnothex");
    }

    #[test]
    fn short_form_keeps_head_and_tail() {
        assert_eq!(TxHash::new("0x9f3c41aabbe21b").short("…"), "0x9f3c…e21b");
        assert_eq!(TxHash::new("0x9f3c").short("…"), "0x9f3c");
    }

    #[test]
    fn hashes_as_lists_show_them_are_read_back() {
        let ends = |head: &str, tail: &str| Some((head.to_owned(), tail.to_owned()));
        for ellipsis in ["…", "...", ".."] {
            let hash = TxHash::new("0X9F3C41aabbe21B");
            assert_eq!(TxHash::parse_short(&hash.short(ellipsis)), ends("0x9f3c", "e21b"));
        }
        assert_eq!(TxHash::parse_short("5UjQbc...HhAs"), ends("5UjQbc", "HhAs"));
        for other in ["0x9f3c", "0x9f3c…", "…e21b", "0x9f3c…e*1b", "wait…please!"] {
            assert_eq!(TxHash::parse_short(other), None, "{other}");
        }
        let (chain, hash) = (ChainId::new("42161"), TxHash::new("0xab"));
        assert_eq!(TxHash::parse_on_chain(&hash.on_chain(&chain)), Some((chain, hash)));
        for other in ["0xab", ":0xab", "42161:", "https://scan.example/tx/0xab"] {
            assert_eq!(TxHash::parse_on_chain(other), None, "{other}");
        }
    }
}
