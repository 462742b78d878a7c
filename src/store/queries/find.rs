//! Finds transactions by a person's text: a hash or a part of it, an ID, a ticket, an address, or a URL with a hash.

use rusqlite::{Connection, params_from_iter};

use super::condition::text_equality;
use crate::{
    domain::{
        ids::{ChainId, TxHash},
        text,
        transaction::{Transaction, TransactionHeader, TransactionParams},
    },
    store::{
        error::Result,
        reader::Reader,
        statement::CachedStatements,
        tables::{
            columns,
            identifiers::BY_IDENTIFIER,
            quotes::RECEIVER,
            search_index::{MAY_CONTAIN, SearchPlan},
            transactions,
        },
    },
};

/// The shortest part of a hash that is searched for, in characters.
const MIN_PART: usize = 6;
/// The most transactions that are found. More are as ambiguous.
const MAX_FOUND: usize = 10;
/// The SQL for the transactions with the key `?1`.
const BY_HASH: &str = "transaction_key = ?1";

/// Returns the source chains on which a profile tracks a hash, whose case doesn't count.
pub(crate) fn chains_of(db: &Connection, profile: &str, hash: &TxHash) -> Result<Vec<ChainId>> {
    let sql = "SELECT from_chain FROM transactions WHERE profile = ? AND transaction_key = ?";
    db.all(sql, [profile, &hash.key()], |row| Ok(ChainId::new(columns::lenient::<String>(row, 0)?)))
}

impl Reader {
    /// Returns at most `limit` transactions whose hash begins with `text`; the newest if `text` is empty. Costs O(n) in
    /// the results.
    pub fn with_hash_beginning(&self, text: &str, limit: usize) -> Result<Vec<TransactionHeader>> {
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
        self.db().all(&sql, (text, limit), transactions::read)
    }

    /// Finds `TX` of the command line: a hash on any chain, six or more characters of it, or a URL that contains it.
    /// Also finds the ID of the quote or of the request (or a part), a ticket, and the sender's address. Finds the
    /// receiver's address if hoptop asked for the quote. Costs O(1) in the tracked transactions if the search index has
    /// few candidates, and O(n) otherwise. Returns the first ten of each kind of match.
    pub fn find(&self, text: &str) -> Result<Vec<Transaction>> {
        let text = text::clean(text);
        let mut found = self.select(BY_HASH, &TxHash::new(text.clone()).key())?;
        if found.is_empty()
            && let Some((from, hash)) = TxHash::parse_on_chain(&text)
        {
            found = match TxHash::parse_short(hash.as_str()) {
                Some((head, tail)) => self.find_by_ends(head, tail)?,
                None => self.select(BY_HASH, &hash.key())?,
            };
            found.retain(|tx| tx.params.from_chain == from);
        }
        if !found.is_empty() {
            return Ok(found);
        }
        if let Some((head, tail)) = TxHash::parse_short(&text) {
            return self.find_by_ends(head, tail);
        }
        let parts = text.split(['/', '?', '&', '=', '#']).filter(|part| part.len() >= MIN_PART);
        let by_hash = parts.clone().map(|part| (BY_HASH, TxHash::new(part).key()));
        let by_identifier = parts.map(|part| (BY_IDENTIFIER, part.to_lowercase()));
        for (condition, value) in by_hash.chain(by_identifier) {
            found = self.select(condition, &value)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        match text.as_str() {
            "" => Ok(found),
            // A ticket may be a URL, too.
            url if url.contains("://") => self.select_by_ticket(url),
            given => self.find_given(given),
        }
    }

    /// Returns transactions that were tracked with this ID, ticket or address, or with this part of a hash or an ID. A
    /// part of exactly one source hash names that transaction, unless the text is another one's whole ID.
    fn find_given(&self, text: &str) -> Result<Vec<Transaction>> {
        let mut found = self.select_by_ticket(text)?;
        let part = text.to_lowercase();
        let is_part =
            |transaction: &&Transaction| transaction.params.transaction_id.key().to_lowercase().contains(&part);
        let is_whole = |transaction: &Transaction| {
            let TransactionParams { quote_id, request_id, from_address, .. } = &transaction.params;
            let ids = [Some(quote_id), request_id.as_ref(), from_address.as_ref()];
            ids.into_iter().flatten().any(|id| id.eq_ignore_ascii_case(text))
        };
        let by_part = self.find_by_part(text)?;
        if found.is_empty()
            && !by_part.iter().any(is_whole)
            && part.chars().count() >= MIN_PART
            && by_part.len() < MAX_FOUND
            && let [only] = by_part.iter().filter(is_part).collect::<Vec<_>>().as_slice()
        {
            return Ok(vec![(*only).clone()]);
        }
        // A text that is one transaction's ticket and a part of another's hash names neither.
        for transaction in by_part {
            if found.iter().all(|other| other.id != transaction.id) {
                found.push(transaction);
            }
        }
        Ok(found)
    }

    /// Returns transactions with this ID or address, or with this part of a hash or an ID.
    fn find_by_part(&self, text: &str) -> Result<Vec<Transaction>> {
        let lower = text.to_lowercase();
        let is_given = format!(
            "quote_id = ?1 COLLATE NOCASE OR request_id = ?1 COLLATE NOCASE OR from_address = ?1 COLLATE NOCASE
             OR (profile, quote_id) IN (SELECT profile, quote_id FROM quotes WHERE lower({RECEIVER}) = ?1)"
        );
        let is_part = match text.chars().count() < MIN_PART {
            true => "FALSE",
            false => {
                "instr(lower(transaction_key), ?1) > 0 OR instr(lower(quote_id), ?1) > 0 OR instr(lower(request_id), ?1) > 0
                 OR id IN (SELECT transaction_row FROM identifiers WHERE instr(value, ?1) > 0)"
            }
        };
        match SearchPlan::for_parts(self.db(), &[&lower])? {
            SearchPlan::Index(expression) => {
                let is_part = is_part.replace("WHERE instr", "WHERE transaction_row = transactions.id AND instr");
                let condition = format!("id IN ({}) AND ({is_given} OR {is_part})", MAY_CONTAIN.replace('?', "?2"));
                self.select_with(&condition, &[&lower, &expression])
            }
            SearchPlan::Scan | SearchPlan::ScanForChain => self.select(&format!("({is_given} OR {is_part})"), &lower),
        }
    }

    fn find_by_ends(&self, head: String, tail: String) -> Result<Vec<Transaction>> {
        let pattern = format!("{head}*{tail}");
        let by_ends = "transaction_key GLOB ?1";
        match SearchPlan::for_parts(self.db(), &[&head.to_lowercase(), &tail.to_lowercase()])? {
            SearchPlan::Index(expression) => {
                let condition = format!("id IN ({}) AND {by_ends}", MAY_CONTAIN.replace('?', "?2"));
                self.select_with(&condition, &[&pattern, &expression])
            }
            // The subquery scans an index, which is smaller than the table.
            SearchPlan::Scan | SearchPlan::ScanForChain => {
                self.select(&format!("id IN (SELECT id FROM transactions WHERE {by_ends} LIMIT {MAX_FOUND})"), &pattern)
            }
        }
    }

    /// Returns transactions with this ticket, in any case.
    fn select_by_ticket(&self, ticket: &str) -> Result<Vec<Transaction>> {
        let lowercase = ticket.to_lowercase();
        self.select(&text_equality("ticket", &lowercase), &lowercase)
    }

    fn select(&self, condition: &str, text: &str) -> Result<Vec<Transaction>> {
        self.select_with(condition, &[text])
    }

    fn select_with(&self, condition: &str, texts: &[&str]) -> Result<Vec<Transaction>> {
        let sql = transactions::select(&format!("WHERE {condition} ORDER BY id LIMIT {MAX_FOUND}"));
        let mut statement = self.db().prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(texts), transactions::read)?;
        rows.map(|row| transactions::whole(self.db(), row?)).collect()
    }
}
