//! Statistics of the tracked transactions.
//!
//! Each number is one query over an index, or its documentation says what it costs. Memory doesn't grow with the
//! transactions.

use chrono::{DateTime, Utc};
use rusqlite::params;

use crate::{
    domain::{alert::Alert, ids::RowId, need, status::RouterStatus, transaction::Transaction},
    store::{
        error::Result,
        queries::list::ListRow,
        reader::Reader,
        statement::CachedStatements,
        tables::{alerts::AlertQuery, columns, transactions::POLLED},
    },
};

/// The workload of a profile's poller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollingLoad {
    /// The number of polled transactions.
    pub polled: usize,
    /// The number of polled transactions that are young (`need::young_until`).
    pub young: usize,
}

impl Reader {
    /// Returns the workload of a profile's poller at `now`. Costs O(n) in the polled transactions.
    pub fn polling_load(&self, profile: &str, now: DateTime<Utc>) -> Result<PollingLoad> {
        let sql = format!(
            "SELECT count(*), count(*) FILTER (WHERE (status IS NULL OR status = 'not_found') AND submitted > ?2)
             FROM transactions WHERE profile = ?1 AND {POLLED}"
        );
        let values = params![profile, columns::moment(now - need::YOUNG)];
        let (polled, young) =
            self.db().prepare_cached(&sql)?.query_row(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(PollingLoad { polled, young })
    }

    /// Returns the time of the newest answer about any transaction. Costs O(n) in all transactions.
    pub fn newest_answer(&self) -> Result<Option<DateTime<Utc>>> {
        let sql = "SELECT max(last_checked_at) FROM transactions";
        Ok(self.db().prepare_cached(sql)?.query_row([], |row| columns::optional_moment(row, 0))?)
    }

    /// Returns the number of a profile's transactions with each status; `None` is before the first answer. Costs O(n)
    /// in an index.
    pub fn count_by_status(&self, profile: &str) -> Result<Vec<(Option<RouterStatus>, u64)>> {
        let sql = "SELECT status, count(*) FROM transactions WHERE profile = ? GROUP BY status";
        let rows: Vec<(Option<String>, u64)> =
            self.db().all(sql, [profile], |row| Ok((columns::lenient(row, 0)?, row.get(1)?)))?;
        Ok(rows.into_iter().map(|(status, count)| (status.map(RouterStatus::from), count)).collect())
    }

    /// Returns alerts, each with its transaction if the alert is about a transaction.
    pub fn alerts_with_transactions(&self, query: AlertQuery) -> Result<Vec<(Alert, Option<Transaction>)>> {
        let with_transaction = |alert: Alert| {
            let listed = alert.transaction.map_or(Ok(None), |row| self.list_row(row))?;
            Ok((alert, listed.map(|listed| listed.transaction)))
        };
        self.alerts(query)?.into_iter().map(with_transaction).collect()
    }

    /// Returns the first transaction with an active alert in the default order of lists, with its most urgent alert:
    /// unhandled before handled, then by rule.
    pub fn most_urgent(&self) -> Result<Option<(Alert, Transaction)>> {
        let sql = "SELECT id FROM transactions WHERE calm < 3 ORDER BY calm, due, id LIMIT 1";
        let row = self.db().first(sql, [], |row| row.get(0).map(RowId))?;
        let Some(row) = row else { return Ok(None) };
        let Some(ListRow { transaction, alerts }) = self.list_row(row)? else { return Ok(None) };
        let alert = alerts.into_iter().min_by_key(|alert| (alert.handling.is_some(), alert.rule));
        Ok(alert.map(|alert| (alert, transaction)))
    }
}
