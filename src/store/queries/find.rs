//! Finding transactions by a person's text: any hash or ID of a transaction, a part of the source hash, a ticket, an
//! address, or a URL that contains a hash.

use rusqlite::OptionalExtension;

use crate::{
    domain::{
        ids::{RowId, TxHash},
        text,
        transaction::{Transaction, TransactionHeader},
    },
    store::{
        error::StoreError,
        reader::Reader,
        tables::{identifiers::BY_IDENTIFIER, transactions},
    },
};

/// The SQL for the transactions that were tracked with the text `?1` as an ID, a ticket or an address.
const GIVEN: &str = "(ticket = ?1 COLLATE NOCASE OR quote_id = ?1 COLLATE NOCASE OR request_id = ?1 COLLATE NOCASE
    OR from_address = ?1 COLLATE NOCASE)";

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

    /// Finds `TX` of the command line: a hash on any chain, a part of the source hash of six or more characters, a URL that
    /// contains a hash, the ID of the quote or of the request, a ticket, or the address of the sender. Costs O(n) in the
    /// tracked transactions unless a hash or an ID of a record is found.
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
        for part in parts {
            let found = self.select(BY_IDENTIFIER, &part.to_lowercase())?;
            if !found.is_empty() {
                return Ok(Lookup::from(found));
            }
        }
        if text.is_empty() || text.contains("://") {
            return Ok(Lookup::None);
        }
        let mut found = self.select(GIVEN, &text)?;
        if text.chars().count() < 6 {
            return Ok(Lookup::from(found));
        }
        // The subquery scans an index, which is smaller than the table.
        let by_part = "id IN (SELECT id FROM transactions WHERE instr(lower(transaction_key), ?1) > 0 LIMIT 10)";
        // A text that is one transaction's ticket and a part of another's hash names neither.
        for transaction in self.select(by_part, &text.to_lowercase())? {
            if found.iter().all(|other| other.id != transaction.id) {
                found.push(transaction);
            }
        }
        Ok(Lookup::from(found))
    }

    /// Returns a transaction that its record calls by this hash or ID, one of this profile before others.
    pub fn find_by_identifier(&self, profile: &str, text: &str) -> Result<Option<RowId>, StoreError> {
        let sql = format!("SELECT id FROM transactions WHERE {BY_IDENTIFIER} ORDER BY profile <> ?2, id LIMIT 1");
        let found =
            self.db().prepare_cached(&sql)?.query_row([text.to_lowercase().as_str(), profile], |row| row.get(0));
        Ok(found.optional()?.map(RowId))
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
