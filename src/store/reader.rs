//! Reading the store: transactions, alerts, history, the feed. One reader belongs to one thread.
//!
//! It must never write, so that showing something can't change it.

use std::path::Path;

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::{
    alerts, attention, chains,
    changes::{self, Feed},
    connection,
    error::StoreError,
    forecasts::{self, RouteStats},
    import::Foreseen,
    observations::{self, StoredObservation},
    pollers::{self, PollerReport},
    quotes::{self, StoredQuote},
    staging::Staging,
    transactions,
};
use crate::domain::{
    alert::{self, Alert},
    chain_config::ChainConfig,
    change::Change,
    experience::{Experience, Past, RouteKey},
    filter::{self, Candidate, Filter},
    ids::{ChainId, RowId, TxHash},
    text,
    transaction::Transaction,
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
    /// Several; these hashes, at most ten.
    Many(Vec<TxHash>),
}

/// One line of a transaction's history.
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryLine {
    /// Something changed.
    Change(Change),
    /// An answer, or several equal ones in a row.
    Observation(StoredObservation),
}

impl HistoryLine {
    /// When it happened; of several equal answers the first.
    pub fn at(&self) -> DateTime<Utc> {
        match self {
            Self::Change(change) => change.at,
            Self::Observation(observation) => observation.first_at,
        }
    }
}

impl Reader {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: connection::open_for_reading(path)? })
    }

    /// Everything that is tracked, what stands as an alert, and the feed's number that this is true for.
    pub fn load(&self) -> Result<(Vec<Transaction>, Vec<Alert>, i64), StoreError> {
        // One snapshot for all three, or a change between them would be missed.
        let snapshot = self.connection.unchecked_transaction()?;
        let loaded = (transactions::all(&snapshot)?, alerts::standing(&snapshot)?, changes::last(&snapshot)?);
        snapshot.finish()?;
        Ok(loaded)
    }

    /// Hands out each transaction that passes the filter, with the alerts that stand for it alone, in the filter's order; at
    /// most `limit`.
    #[allow(
        clippy::too_many_arguments,
        clippy::type_complexity,
        reason = "a query, its moment and its end belong together"
    )]
    pub fn for_each<E: From<StoreError>>(
        &self,
        filter: &Filter,
        now: DateTime<Utc>,
        limit: Option<usize>,
        each: &mut dyn FnMut(&Transaction, &[Alert]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (transactions, alerts, _) = self.load()?;
        let (alerts, _) = alert::by_subject(alerts);
        let candidate = |tx| Candidate { tx, alerts: alerts.get(&tx.id).map_or(&[], Vec::as_slice) };
        let mut passing: Vec<_> = transactions.iter().map(candidate).filter(|one| filter.matches(one, now)).collect();
        passing.sort_by(|a, b| filter::compare(a, b, filter.sort(), now));
        passing.iter().take(limit.unwrap_or(usize::MAX)).try_for_each(|one| each(one.tx, one.alerts))
    }

    /// What an import of these rows would do, as the store is now.
    pub fn foresee(&self, profile: &str, staging: &Staging) -> Result<Foreseen, StoreError> {
        // One snapshot, which is what an import would see, and many times cheaper than one for each row.
        let snapshot = self.connection.unchecked_transaction()?;
        let mut foreseen = Foreseen::default();
        staging.for_each(&mut |new| foreseen.count(&snapshot, profile, &new))?;
        snapshot.finish()?;
        Ok(foreseen)
    }

    /// One transaction.
    pub fn transaction(&self, row: RowId) -> Result<Option<Transaction>, StoreError> {
        transactions::by_row(&self.connection, row)
    }

    /// Everything that stands as an alert, the oldest first.
    pub fn alerts(&self) -> Result<Vec<Alert>, StoreError> {
        alerts::standing(&self.connection)
    }

    /// What came after the feed's entry `seq`, at most `limit` entries.
    pub fn changes_after(&self, seq: i64, limit: usize) -> Result<Feed, StoreError> {
        changes::after(&self.connection, seq, limit)
    }

    /// The number of the feed's last entry.
    pub fn last_change(&self) -> Result<i64, StoreError> {
        changes::last(&self.connection)
    }

    /// What a profile's poller last said of itself.
    pub fn poller(&self, profile: &str) -> Result<Option<PollerReport>, StoreError> {
        pollers::read(&self.connection, profile)
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

    /// What happened to a transaction, the oldest first; bodies are left out.
    pub fn history(&self, row: RowId) -> Result<Vec<HistoryLine>, StoreError> {
        let changes = changes::of_transaction(&self.connection, row)?.into_iter().map(HistoryLine::Change);
        let answers = observations::of_transaction(&self.connection, row)?.into_iter().map(HistoryLine::Observation);
        let mut lines: Vec<_> = answers.chain(changes).collect();
        lines.sort_by_key(HistoryLine::at);
        Ok(lines)
    }

    /// The last answer about a transaction, without its body.
    pub fn last_answer(&self, row: RowId) -> Result<Option<StoredObservation>, StoreError> {
        observations::last(&self.connection, row)
    }

    /// The last answer about a transaction that had a body.
    pub fn last_body(&self, row: RowId) -> Result<Option<StoredObservation>, StoreError> {
        observations::last_with_body(&self.connection, row)
    }

    /// Finds `TX` of the command line: a hash, any unique part of six or more characters of it, or a URL with one in it.
    pub fn find(&self, text: &str) -> Result<Lookup, StoreError> {
        let text = text::clean(text);
        let exact = self.select("transaction_key = ?1", &TxHash::new(text.clone()).key())?;
        if !exact.is_empty() {
            return Ok(Lookup::from(exact));
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
        let part = text.to_lowercase();
        Ok(Lookup::from(self.select("instr(lower(transaction_id), ?1) > 0", &part)?))
    }

    fn select(&self, condition: &str, text: &str) -> Result<Vec<Transaction>, StoreError> {
        let sql = format!("{} WHERE {condition} ORDER BY id LIMIT 10", transactions::SELECT);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map([text], transactions::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl From<Vec<Transaction>> for Lookup {
    fn from(mut found: Vec<Transaction>) -> Self {
        match (found.len(), found.pop()) {
            (1, Some(one)) => Self::One(Box::new(one)),
            (_, Some(last)) => {
                found.push(last);
                Self::Many(found.into_iter().map(|found| found.told.transaction_id).collect())
            }
            (_, None) => Self::None,
        }
    }
}
