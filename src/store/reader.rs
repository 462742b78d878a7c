//! Reading the store: transactions, alerts, history, the feed. One reader belongs to one thread.
//!
//! It must never write, so that showing something can't change it.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    time::Duration,
};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, InterruptHandle};

use super::{
    alerts::{self, AlertCounts},
    attention, chains,
    changes::{self, Feed},
    connection,
    error::StoreError,
    forecasts::{self, RouteStats},
    heralds::{self, HeraldState},
    import::Foreseen,
    listing::{self, Listed, Listing},
    minutes::{self, Minute},
    names,
    notes::{self, Note},
    observations::{self, OldBodies, StoredObservation},
    overview::{self, Load},
    pauses,
    pollers::{self, PollerReport},
    quotes::{self, StoredQuote},
    records,
    staged::Staged,
    transactions,
};
use crate::domain::{
    alert::{Alert, Rule, Subject},
    chain_config::ChainConfig,
    change::Change,
    difference::{Difference, differences},
    experience::{Experience, Past, RouteKey},
    filter::{Filter, Named},
    ids::{ChainId, RowId, TxHash},
    status::RouterStatus,
    text,
    transaction::{Told, Transaction},
};

/// A connection for reading.
pub struct Reader {
    connection: Connection,
}

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

/// One line of a transaction's history.
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryLine {
    /// Something changed.
    Change(Change),
    /// An answer, or several in a row of which only the first brought news; with what its body has otherwise than the one
    /// before it that came with the same HTTP status.
    Observation(StoredObservation, Vec<Difference>),
}

impl HistoryLine {
    /// When it happened; of several equal answers the first.
    pub fn at(&self) -> DateTime<Utc> {
        match self {
            Self::Change(change) => change.at,
            Self::Observation(observation, _) => observation.first_at,
        }
    }
}

impl Reader {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: connection::open_for_reading(path)? })
    }

    /// Over a store that is there, for a look that nobody should wait for: what is locked for a fifth of a second fails. It
    /// changes and mends nothing in the file, though SQLite may leave an empty log beside it; what another version keeps otherwise
    /// can't be read.
    ///
    /// # Errors
    /// If there is none, or it can't be opened.
    pub fn at_a_glance(path: &Path) -> Result<Self, StoreError> {
        let reader = Self::open(path)?;
        reader.connection.busy_timeout(Duration::from_millis(200))?;
        Ok(reader)
    }

    /// What calls off a query of this reader from another thread.
    pub(super) fn interrupt_handle(&self) -> InterruptHandle {
        self.connection.get_interrupt_handle()
    }

    /// Does several readings at one moment of the store, whatever is written meanwhile.
    pub fn at_one_moment<T>(&self, read: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        connection::at_one_moment(&self.connection, read)
    }

    /// Everything that is tracked, what stands as an alert, and the feed's number that this is true for.
    #[cfg(test)]
    pub fn load(&self) -> Result<(Vec<Transaction>, Vec<Alert>, i64), StoreError> {
        let db = &self.connection;
        self.at_one_moment(|| Ok((transactions::all(db)?, alerts::standing(db)?, changes::last(db)?)))
    }

    /// What an import of these rows would do, as the store is now.
    pub fn foresee(&self, profile: &str, staged: &Staged) -> Result<Foreseen, StoreError> {
        // It is what an import would see, and many times cheaper than a moment for each row.
        self.at_one_moment(|| {
            let mut foreseen = Foreseen::default();
            staged.for_each(&mut |new| foreseen.count(&self.connection, profile, &new))?;
            Ok(foreseen)
        })
    }

    /// One transaction.
    pub fn transaction(&self, row: RowId) -> Result<Option<Transaction>, StoreError> {
        transactions::by_row(&self.connection, row)
    }

    /// One transaction, with what stands for it.
    pub fn listed(&self, row: RowId) -> Result<Option<Listed>, StoreError> {
        listing::listed(&self.connection, row)
    }

    /// Of these transactions those that are still there, with what stands for each.
    pub fn listed_of(&self, rows: impl IntoIterator<Item = RowId>) -> Result<BTreeMap<RowId, Listed>, StoreError> {
        let found = rows.into_iter().filter_map(|row| Some(self.listed(row).transpose()?.map(|listed| (row, listed))));
        found.collect()
    }

    /// What stands for one transaction, the oldest first.
    pub fn alerts_of(&self, row: RowId) -> Result<Vec<Alert>, StoreError> {
        alerts::of_transaction(&self.connection, row)
    }

    /// What stands for profiles as a whole, the oldest first.
    pub fn profile_alerts(&self) -> Result<Vec<Alert>, StoreError> {
        alerts::of_profiles(&self.connection)
    }

    /// How many alerts stand at `now`.
    pub fn alert_counts(&self, now: DateTime<Utc>) -> Result<AlertCounts, StoreError> {
        alerts::counts(&self.connection, now)
    }

    /// The most urgent alert of a transaction, with that transaction as lists show it.
    pub fn most_urgent(&self) -> Result<Option<(Alert, Transaction)>, StoreError> {
        overview::most_urgent(&self.connection)
    }

    /// One transaction as lists show it: of its record only what they need, so that nothing is unpacked.
    pub fn outline(&self, row: RowId) -> Result<Option<Transaction>, StoreError> {
        transactions::outline(&self.connection, row)
    }

    /// The same of the one in a profile that this names, by its hash and source chain.
    pub fn outline_of(&self, profile: &str, told: &Told) -> Result<Option<Transaction>, StoreError> {
        transactions::outline_of(&self.connection, profile, told)
    }

    /// Hands on each of these transactions that is still there, in their order, with what stands for it; ends at the first error.
    /// Each is read for itself, so that whoever is slow to take them holds nobody up.
    pub fn each<E: From<StoreError>>(
        &self,
        rows: &[RowId],
        mut each: impl FnMut(&Transaction, &[Alert]) -> Result<(), E>,
    ) -> Result<(), E> {
        for row in rows {
            if let Some(Listed { transaction, alerts }) = self.listed(*row)? {
                each(&transaction, &alerts)?;
            }
        }
        Ok(())
    }

    /// How many are tracked.
    pub fn tracked(&self) -> Result<u64, StoreError> {
        overview::tracked(&self.connection)
    }

    /// The newest answer about anything.
    pub fn newest_answer(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        overview::newest(&self.connection)
    }

    /// The oldest answer among those that a profile's poller has to look after.
    pub fn oldest_answer(&self, profile: &str) -> Result<Option<DateTime<Utc>>, StoreError> {
        overview::oldest(&self.connection, profile)
    }

    /// How many of a profile have each status; `None` before the first answer. Costs n.
    pub fn by_status(&self, profile: &str) -> Result<Vec<(Option<RouterStatus>, u64)>, StoreError> {
        overview::by_status(&self.connection, profile)
    }

    /// How many alerts of a profile stand by rule: those that fire, and those that are set aside.
    pub fn alerts_by_rule(&self, profile: &str, now: DateTime<Utc>) -> Result<Vec<(Rule, [u64; 2])>, StoreError> {
        alerts::by_rule(&self.connection, Some(profile), now)
    }

    /// The time from the last answer before this one that told how the same transaction stood, to this one: nothing if it was
    /// the first.
    pub fn gap_before(&self, observation: i64) -> Result<Option<Duration>, StoreError> {
        observations::gap_before(&self.connection, observation)
    }

    /// How far a way out of a profile's alerts is, if it was ever gone.
    pub fn herald(&self, profile: &str, way: &str) -> Result<Option<HeraldState>, StoreError> {
        heralds::read(&self.connection, profile, way)
    }

    /// What keeps a profile's alerts from being told outside, a line for each of these ways that has trouble.
    pub fn herald_troubles(&self, profile: &str, ways: &[&str]) -> Result<Vec<String>, StoreError> {
        heralds::troubles(&self.connection, profile, ways)
    }

    /// What a profile's poller has to look after at `now`, in numbers.
    pub fn polling_load(&self, profile: &str, now: DateTime<Utc>) -> Result<Load, StoreError> {
        overview::load(&self.connection, profile, now)
    }

    /// Hands on each transaction that a profile's poller has to look after, as lists show it.
    pub fn each_polled(&self, profile: &str, mut each: impl FnMut(Transaction)) -> Result<(), StoreError> {
        overview::each_polled(&self.connection, profile, &mut each)
    }

    /// The row of the tracked transaction with this hash in a profile, or else in any.
    pub fn known(&self, profile: &str, hash: &TxHash) -> Result<Option<RowId>, StoreError> {
        transactions::known(&self.connection, profile, hash)
    }

    /// What passes a filter at a moment, in its order.
    pub fn listing(&self, filter: &Filter, now: DateTime<Utc>) -> Listing<'_> {
        Listing::new(&self.connection, filter, now)
    }

    /// Everything that stands as an alert, the oldest first.
    pub fn alerts(&self) -> Result<Vec<Alert>, StoreError> {
        alerts::standing(&self.connection)
    }

    /// The gravest alerts that stand, at most so many, each with its transaction if it is about one.
    pub fn gravest_alerts(&self, most: usize) -> Result<Vec<(Alert, Option<Transaction>)>, StoreError> {
        alerts::gravest(&self.connection, most)?.into_iter().map(|alert| self.with_transaction(alert)).collect()
    }

    /// An alert with the transaction that it is about, if it is about one.
    pub fn with_transaction(&self, alert: Alert) -> Result<(Alert, Option<Transaction>), StoreError> {
        match alert.subject {
            Subject::Profile => Ok((alert, None)),
            Subject::Transaction(row) => self.transaction(row).map(|transaction| (alert, transaction)),
        }
    }

    /// What was cleared since a moment, the newest first, so many at most.
    pub fn alerts_cleared_since(&self, since: DateTime<Utc>, most: usize) -> Result<Vec<Alert>, StoreError> {
        alerts::cleared_since(&self.connection, since, most)
    }

    /// What came after the feed's entry `seq`, at most `limit` entries.
    pub fn changes_after(&self, seq: i64, limit: usize) -> Result<Feed, StoreError> {
        self.at_one_moment(|| changes::after(&self.connection, seq, limit))
    }

    /// The number of the feed's last entry.
    pub fn last_change(&self) -> Result<i64, StoreError> {
        changes::last(&self.connection)
    }

    /// What a profile's poller last said of itself.
    pub fn poller(&self, profile: &str) -> Result<Option<PollerReport>, StoreError> {
        pollers::read(&self.connection, profile)
    }

    /// What a profile's budget was spent on since a moment, minute by minute, the oldest first.
    pub fn minutes(&self, profile: &str, since: DateTime<Utc>) -> Result<Vec<Minute>, StoreError> {
        minutes::since(&self.connection, profile, since)
    }

    /// What was learned of how long things take.
    pub fn experience(&self, profile: &str) -> Result<Experience, StoreError> {
        forecasts::experience(&self.connection, profile)
    }

    /// What was observed of the transfers that go the same way.
    pub fn past(&self, profile: &str, route: &RouteKey) -> Result<Past, StoreError> {
        forecasts::past(&self.connection, profile, route)
    }

    /// Every route of a profile, with what became of its transfers. Reads all that is tracked.
    pub fn routes(&self, profile: &str) -> Result<Vec<RouteStats>, StoreError> {
        forecasts::routes(&self.connection, profile)
    }

    /// What people look at, at `at`.
    pub fn looked_at(&self, at: DateTime<Utc>) -> Result<Vec<RowId>, StoreError> {
        attention::open(&self.connection, at)
    }

    /// Until when a profile isn't polled, since a person wants so; `None` if it is, at `now`.
    pub fn paused_until(&self, profile: &str, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, StoreError> {
        pauses::until(&self.connection, profile, now)
    }

    /// What the service said of a chain.
    pub fn chain(&self, profile: &str, id: &ChainId) -> Result<Option<ChainConfig>, StoreError> {
        chains::find(&self.connection, profile, id)
    }

    /// A route that was asked for.
    pub fn quote(&self, id: i64) -> Result<Option<StoredQuote>, StoreError> {
        quotes::by_id(&self.connection, id)
    }

    /// The routes that somebody waits for at `at` and nobody has taken on, the oldest first.
    pub fn pending_quotes(&self, profile: &str, at: DateTime<Utc>) -> Result<Vec<i64>, StoreError> {
        quotes::pending(&self.connection, profile, at)
    }

    /// What happened to a transaction, the oldest first. Of the bodies only what differs is told; [`body`](Self::body) has them.
    pub fn history(&self, row: RowId) -> Result<Vec<HistoryLine>, StoreError> {
        let mut lines = Vec::new();
        // Between an answer and an error's body everything differs, and that says nothing.
        let mut before: HashMap<Option<u16>, String> = HashMap::new();
        for answer in observations::of_transaction(&self.connection, row)? {
            let body = observations::readable_body(&self.connection, answer.id)?;
            let same = before.get(&answer.http_status).zip(body.as_ref());
            let differs = same.map(|(before, body)| differences(before, body)).unwrap_or_default();
            before.extend(body.map(|body| (answer.http_status, body)));
            lines.push(HistoryLine::Observation(answer, differs));
        }
        lines.extend(changes::of_transaction(&self.connection, row)?.into_iter().map(HistoryLine::Change));
        lines.sort_by_key(HistoryLine::at);
        Ok(lines)
    }

    /// From a place on transactions that settled before a moment and still have bodies, so many at most, and the place behind
    /// them. Costs n in what settled between the two.
    pub fn with_old_bodies(
        &self,
        from: OldBodies,
        settled_before: DateTime<Utc>,
        most: usize,
    ) -> Result<(OldBodies, Vec<RowId>), StoreError> {
        observations::with_old_bodies(&self.connection, from, settled_before, most)
    }

    /// The entries of a transaction's answers, the oldest first.
    pub fn answers(&self, row: RowId) -> Result<Vec<StoredObservation>, StoreError> {
        observations::of_transaction(&self.connection, row)
    }

    /// A transaction's newest notes, so many at most, the oldest of them first.
    pub fn notes(&self, row: RowId, most: usize) -> Result<Vec<Note>, StoreError> {
        notes::of_transaction(&self.connection, row, most)
    }

    /// The last entry of a transaction's answers.
    pub fn last_answer(&self, row: RowId) -> Result<Option<StoredObservation>, StoreError> {
        observations::last(&self.connection, row)
    }

    /// The last body that came about a transaction, as it came.
    pub fn last_body(&self, row: RowId) -> Result<Option<String>, StoreError> {
        match records::last_body(&self.connection, row)? {
            Some(body) => Ok(Some(body)),
            None => observations::last_body(&self.connection, row),
        }
    }

    /// The body of one answer, as it came, by the store's number.
    pub fn body(&self, observation: i64) -> Result<Option<String>, StoreError> {
        observations::body(&self.connection, observation)
    }

    /// At most so many tickets or labels that begin with a text, without case, in their order.
    pub fn names(&self, of: Named, beginning: &str, most: usize) -> Result<Vec<String>, StoreError> {
        names::beginning(&self.connection, of, beginning, most)
    }

    /// At most so many transactions whose hash begins so, with what lists show of them; of all the newest, if nothing is
    /// said of the hash. Costs what it finds.
    pub fn with_hash_beginning(&self, text: &str, most: usize) -> Result<Vec<Transaction>, StoreError> {
        let text = text::clean(text);
        // With `0x` a hash has no case.
        let text = if text.starts_with("0x") || text.starts_with("0X") { text.to_lowercase() } else { text };
        let which = if text.is_empty() {
            "?1 = '' ORDER BY id DESC"
        } else {
            // No text goes further than its beginning with the last letter there is.
            "transaction_key >= ?1 AND transaction_key < ?1 || char(1114111) ORDER BY transaction_key"
        };
        let sql = format!("{} WHERE {which} LIMIT ?2", transactions::SELECT);
        let mut statement = self.connection.prepare_cached(&sql)?;
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
            found.retain(|tx| tx.told.from_chain == from);
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
        let sql = format!("{} WHERE {condition} ORDER BY id LIMIT 10", transactions::SELECT);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map([text], transactions::read)?;
        rows.map(|row| transactions::whole(&self.connection, row?)).collect()
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
