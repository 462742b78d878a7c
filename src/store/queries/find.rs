//! Finding transactions by a person's text: a hash, a part of a hash, or a URL that contains a hash.

use crate::{
    domain::{
        ids::TxHash,
        text,
        transaction::{Transaction, TransactionHeader},
    },
    store::{error::StoreError, reader::Reader, tables::transactions},
};

/// The result of a search by a hash, a part of a hash, or a URL.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup {
    /// No tracked transaction.
    None,
    /// One transaction.
    One(Box<Transaction>),
    /// Several transactions; at most ten are listed.
    Many(Vec<Transaction>),
}

impl Reader {
    /// Returns at most `limit` transactions whose hash begins with `text`; the newest if `text` is empty. Costs O(n) in
    /// the results.
    pub fn with_hash_beginning(&self, text: &str, limit: usize) -> Result<Vec<TransactionHeader>, StoreError> {
        let text = text::clean(text);
        // Hashes with the prefix `0x` are compared without case.
        let text = if text.starts_with("0x") || text.starts_with("0X") { text.to_lowercase() } else { text };
        let condition = if text.is_empty() {
            "?1 = '' ORDER BY id DESC"
        } else {
            // U+10FFFF is the greatest character: every hash that begins with the text sorts before the text followed
            // by it.
            "transaction_key >= ?1 AND transaction_key < ?1 || char(1114111) ORDER BY transaction_key"
        };
        let sql = transactions::select(&format!("WHERE {condition} LIMIT ?2"));
        let mut statement = self.db().prepare_cached(&sql)?;
        let rows = statement.query_map((text, limit), transactions::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Finds `TX` of the command line: a hash, a part of six or more characters, or a URL that contains a hash.
    pub fn find(&self, text: &str) -> Result<Lookup, StoreError> {
        let text = text::clean(text);
        let exact = self.select("transaction_key = ?1", &TxHash::new(text.clone()).key())?;
        if !exact.is_empty() {
            return Ok(Lookup::from(exact));
        }
        if let Some((from, hash)) = TxHash::parse_on_chain(&text) {
            let mut found = match TxHash::parse_short(hash.as_str()) {
                Some((head, tail)) => self.find_by_ends(head, tail)?,
                None => self.select("transaction_key = ?1", &hash.key())?,
            };
            found.retain(|tx| tx.params.from_chain == from);
            if !found.is_empty() {
                return Ok(Lookup::from(found));
            }
        }
        if let Some((head, tail)) = TxHash::parse_short(&text) {
            return self.find_by_ends(head, tail).map(Lookup::from);
        }
        let parts = text.split(['/', '?', '&', '=', '#']).filter(|part| part.len() >= 6);
        for part in parts.clone() {
            let found = self.select("transaction_key = ?1", &TxHash::new(part).key())?;
            if !found.is_empty() {
                return Ok(Lookup::from(found));
            }
        }
        let is_url = text.contains("://");
        if is_url || text.chars().count() < 6 {
            return Ok(Lookup::None);
        }
        // The subquery scans an index, which is smaller than the table.
        let by_part = "id IN (SELECT id FROM transactions WHERE instr(lower(transaction_key), ?1) > 0 LIMIT 10)";
        Ok(Lookup::from(self.select(by_part, &text.to_lowercase())?))
    }

    fn find_by_ends(&self, head: String, tail: String) -> Result<Vec<Transaction>, StoreError> {
        let by_ends = "id IN (SELECT id FROM transactions WHERE transaction_key GLOB ?1 LIMIT 10)";
        self.select(by_ends, &format!("{head}*{tail}"))
    }

    fn select(&self, condition: &str, text: &str) -> Result<Vec<Transaction>, StoreError> {
        let sql = transactions::select(&format!("WHERE {condition} ORDER BY id LIMIT 10"));
        let mut statement = self.db().prepare_cached(&sql)?;
        let rows = statement.query_map([text], transactions::read)?;
        rows.map(|row| transactions::whole(self.db(), row?)).collect()
    }
}

impl From<Vec<Transaction>> for Lookup {
    fn from(mut found: Vec<Transaction>) -> Self {
        match (found.len(), found.pop()) {
            (1, Some(only)) => Self::One(Box::new(only)),
            (_, Some(last)) => {
                found.push(last);
                Self::Many(found)
            }
            (_, None) => Self::None,
        }
    }
}
