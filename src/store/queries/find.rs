//! Finding transactions by what a person types: a hash, a part of one, or a URL that contains one.

use crate::{
    domain::{
        ids::TxHash,
        text,
        transaction::{Transaction, TransactionHeader},
    },
    store::{error::StoreError, reader::Reader, tables::transactions},
};

/// What a hash, a part of one or a URL that contains one leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup {
    /// Nothing that is tracked.
    None,
    /// One transaction.
    One(Box<Transaction>),
    /// Several; at most ten of them.
    Many(Vec<Transaction>),
}

impl Reader {
    /// At most so many transactions whose hash begins so; the newest ones if `text` is empty. Costs what it finds.
    pub fn with_hash_beginning(&self, text: &str, most: usize) -> Result<Vec<TransactionHeader>, StoreError> {
        let text = text::clean(text);
        // With `0x` a hash has no case.
        let text = if text.starts_with("0x") || text.starts_with("0X") { text.to_lowercase() } else { text };
        let which = if text.is_empty() {
            "?1 = '' ORDER BY id DESC"
        } else {
            // No text goes further than its beginning with the last letter there is.
            "transaction_key >= ?1 AND transaction_key < ?1 || char(1114111) ORDER BY transaction_key"
        };
        let sql = transactions::select(&format!("WHERE {which} LIMIT ?2"));
        let mut statement = self.db().prepare_cached(&sql)?;
        let rows = statement.query_map((text, most), transactions::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Finds `TX` of the command line: a hash, any unique part of six or more characters of it, or a URL with one in it.
    pub fn find(&self, text: &str) -> Result<Lookup, StoreError> {
        let text = text::clean(text);
        let exact = self.select("transaction_key = ?1", &TxHash::new(text.clone()).key())?;
        if !exact.is_empty() {
            return Ok(Lookup::from(exact));
        }
        if let Some((from, hash)) = TxHash::parse_on_chain(&text) {
            let mut found = match TxHash::parse_short(hash.as_str()) {
                Some(ends) => self.by_ends(ends)?,
                None => self.select("transaction_key = ?1", &hash.key())?,
            };
            found.retain(|tx| tx.params.from_chain == from);
            if !found.is_empty() {
                return Ok(Lookup::from(found));
            }
        }
        if let Some(ends) = TxHash::parse_short(&text) {
            return self.by_ends(ends).map(Lookup::from);
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
        // In an index, which has less to be read than the table.
        let by_part = "id IN (SELECT id FROM transactions WHERE instr(lower(transaction_key), ?1) > 0 LIMIT 10)";
        Ok(Lookup::from(self.select(by_part, &text.to_lowercase())?))
    }

    fn by_ends(&self, (head, tail): (String, String)) -> Result<Vec<Transaction>, StoreError> {
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
            (1, Some(one)) => Self::One(Box::new(one)),
            (_, Some(last)) => {
                found.push(last);
                Self::Many(found)
            }
            (_, None) => Self::None,
        }
    }
}
