//! Observed durations: statistics for the forecasts (`forecasts`), and each single duration for display (`durations`).

use std::{collections::BTreeMap, sync::LazyLock};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row, params};
use serde::{Serialize, de::DeserializeOwned};

use super::{columns, observations};
use crate::{
    domain::{
        deadline::Deadline,
        duration_stats::{DurationSample, DurationStats, RouteDurations, RouteKey},
        evidence::{Evidence, SettlingEvidence},
        ids::{ChainId, RowId},
        service_level::{DeadlineResult, ServiceLevels},
        status::RouterStatus,
        transaction::Transaction,
    },
    store::{error::Result, reader::Reader, row_checksum, statement::CachedStatements},
};

/// The columns of the checksum of `forecasts`. The evidence can't be derived from other tables. It also counts deleted
/// transactions, and answers that the history doesn't keep one by one.
pub(crate) const CHECKED: &str = "profile, from_chain, to_chain, gmp, evidence";

/// The number of newest durations of a route that a transaction is compared with.
const MAX_COMPARED: usize = 500;

/// The transactions of one route, by outcome, and their durations.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteStats {
    pub route: RouteKey,
    /// The number of transactions with each status; transactions without an answer have the empty name.
    pub outcomes: BTreeMap<String, u64>,
    /// The number of settled transactions.
    pub settled: u64,
    /// The number of transactions in progress.
    pub open: u64,
    /// The submission, as far as known, of the oldest transaction in progress.
    pub oldest_open: Option<DateTime<Utc>>,
    /// The observed durations of the route, without those of refunds.
    pub past: RouteDurations,
}

pub(crate) fn add(db: &Connection, profile: &str, sample: &DurationSample, at: DateTime<Utc>) -> Result<()> {
    match sample {
        DurationSample::Indexed { chain, duration } => {
            let key = key_without_destination(chain.as_str());
            let mut evidence: Evidence = read_evidence(db, profile, &key)?;
            evidence.add(*duration);
            write_evidence(db, profile, &key, &evidence)
        }
        DurationSample::Ended { route, outcome, settled, estimate } => {
            let mut evidence = settling_evidence(db, profile, route)?;
            evidence.add(*settled, *estimate);
            write_evidence(db, profile, route, &evidence.route)?;
            write_evidence(db, profile, &key_without_destination(""), &evidence.pooled)?;
            let Some(duration) = settled.duration() else { return Ok(()) };
            let sql = "INSERT INTO durations (profile, from_chain, to_chain, gmp, outcome, took, at)
                       VALUES (?, ?, ?, ?, ?, ?, ?)";
            let (from, to) = (route.from.as_str(), route.to.as_str());
            let (took, at) = (columns::span(duration), columns::moment(at));
            db.run(sql, params![profile, from, to, route.is_gmp, outcome.raw(), took, at])
        }
    }
}

fn settling_evidence(db: &Connection, profile: &str, route: &RouteKey) -> Result<SettlingEvidence> {
    Ok(SettlingEvidence {
        route: read_evidence(db, profile, route)?,
        pooled: read_evidence(db, profile, &key_without_destination(""))?,
    })
}

/// Returns the key of a row of `forecasts` that is about no route: the indexing of a source chain, or all routes (`from`
/// is empty).
fn key_without_destination(from: &str) -> RouteKey {
    RouteKey { from: ChainId::new(from), to: ChainId::new(""), is_gmp: false }
}

/// Returns the evidence with this key, or none yet.
fn read_evidence<T: DeserializeOwned + Default>(db: &Connection, profile: &str, key: &RouteKey) -> Result<T> {
    let sql = "SELECT evidence FROM forecasts WHERE profile = ? AND from_chain = ? AND to_chain = ? AND gmp = ?";
    let values = params![profile, key.from.as_str(), key.to.as_str(), key.is_gmp];
    let json: Option<String> = db.first(sql, values, |row| columns::lenient(row, 0))?;
    Ok(parse_evidence(json.as_deref()))
}

fn write_evidence<T: Serialize>(db: &Connection, profile: &str, key: &RouteKey, evidence: &T) -> Result<()> {
    let json = columns::to_json(evidence)?;
    static WRITE: LazyLock<String> = LazyLock::new(|| {
        let set = row_checksum::assignments(CHECKED, &[("evidence", "?5")]);
        format!(
            "INSERT INTO forecasts (profile, from_chain, to_chain, gmp, evidence, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, row_checksum(?1, ?2, ?3, ?4, ?5)) ON CONFLICT DO UPDATE SET {set}"
        )
    });
    db.run(&WRITE, params![profile, key.from.as_str(), key.to.as_str(), key.is_gmp, json])
}

/// Parses evidence from its JSON column; NULL, and what can't be parsed, is no evidence.
pub(crate) fn parse_evidence<T: DeserializeOwned + Default>(json: Option<&str>) -> T {
    json.and_then(|json| columns::parse_or_omit(json, format_args!("the evidence of a forecast"))).unwrap_or_default()
}

/// Reads a route from three columns, the first at `column`.
fn read_route(row: &Row<'_>, column: usize) -> rusqlite::Result<RouteKey> {
    let [from, to]: [String; 2] = [columns::lenient(row, column)?, columns::lenient(row, column + 1)?];
    Ok(RouteKey { from: ChainId::new(from), to: ChainId::new(to), is_gmp: columns::lenient(row, column + 2)? })
}

/// Returns whether a transaction with these times ended within its deadline. Reads the answers only if it ended late.
fn deadline_result(
    db: &Connection,
    row: RowId,
    deadline: &Deadline,
    ended_at: Option<DateTime<Utc>>,
    last_checked_at: Option<DateTime<Utc>>,
) -> Result<Option<DeadlineResult>> {
    let waited_until = match ended_at {
        None => last_checked_at,
        Some(end) if end > deadline.at => observations::last_state_before(db, row, end)?,
        Some(_) => None,
    };
    Ok(DeadlineResult::of(deadline, ended_at, waited_until))
}

impl Reader {
    /// Returns the duration statistics of a profile, by route and by source chain.
    pub fn duration_stats(&self, profile: &str) -> Result<DurationStats> {
        let mut statement =
            self.db().prepare_cached("SELECT from_chain, to_chain, gmp, evidence FROM forecasts WHERE profile = ?")?;
        let mut rows = statement.query([profile])?;
        let mut stats = DurationStats::default();
        while let Some(row) = rows.next()? {
            let (route, json): (RouteKey, String) = (read_route(row, 0)?, columns::lenient(row, 3)?);
            let json = Some(json.as_str());
            match (route.from.as_str(), route.to.as_str()) {
                ("", "") => stats.pooled = parse_evidence(json),
                (_, "") => drop(stats.chains.insert(route.from, parse_evidence(json))),
                _ => drop(stats.routes.insert(route, parse_evidence(json))),
            }
        }
        Ok(stats)
    }

    /// Returns the newest durations of one route, shortest first, with the route's statistics.
    pub fn route_durations(&self, profile: &str, route: &RouteKey) -> Result<RouteDurations> {
        // No outcome has the empty name.
        self.newest_durations(profile, route, i64::MIN, "")
    }

    /// Returns the newest durations of one route since a moment, shortest first, except those with an outcome.
    fn newest_durations(&self, profile: &str, route: &RouteKey, since: i64, except: &str) -> Result<RouteDurations> {
        let db = self.db();
        let sql =
            "SELECT took FROM (SELECT id, took FROM durations WHERE profile = ? AND from_chain = ? AND to_chain = ?
                   AND gmp = ? AND at >= ? AND outcome <> ? ORDER BY id DESC LIMIT ?) ORDER BY took";
        let (from, to) = (route.from.as_str(), route.to.as_str());
        let values = params![profile, from, to, route.is_gmp, since, except, MAX_COMPARED];
        let durations = db.all(sql, values, |row| row.get(0).map(columns::span_from))?;
        Ok(RouteDurations { evidence: settling_evidence(db, profile, route)?, durations })
    }

    /// Returns how many transactions of a profile ended within their deadline, by route and by week. Costs O(n) in the
    /// tracked transactions.
    pub fn service_levels(&self, profile: &str) -> Result<ServiceLevels> {
        let mut statement = self.db().prepare_cached(
            "SELECT id, from_chain, to_chain, ifnull(gmp, 0), submitted_at, first_seen_at, estimate,
             CASE status WHEN 'refund' THEN status_since ELSE settled_at END, last_checked_at
             FROM transactions WHERE profile = ? AND last_checked_at IS NOT NULL",
        )?;
        let mut rows = statement.query([profile])?;
        let mut levels = ServiceLevels::default();
        while let Some(row) = rows.next()? {
            let moment = |column| columns::optional_moment(row, column);
            let estimate = columns::lenient::<Option<i64>>(row, 6)?.map(columns::span_from);
            let deadline = Deadline::new(moment(4)?, moment(5)?.unwrap_or_default(), estimate);
            let result = deadline_result(self.db(), RowId(row.get(0)?), &deadline, moment(7)?, moment(8)?)?;
            if let Some(result) = result {
                levels.count(read_route(row, 1)?, deadline.submitted, result);
            }
        }
        Ok(levels)
    }

    /// Returns whether a transaction ended within its deadline; `None` if it may still do so, or was never answered.
    pub(crate) fn deadline_result<R>(&self, tx: &Transaction<R>) -> Result<Option<DeadlineResult>> {
        deadline_result(self.db(), tx.id, &tx.deadline(), tx.ended_at(), tx.state.last_checked_at)
    }

    /// Returns every route of a profile with the outcomes of its transactions. With `since`, leaves out the
    /// transactions that settled before that moment. Costs O(n) in the tracked transactions.
    pub fn routes(&self, profile: &str, since: Option<DateTime<Utc>>) -> Result<Vec<RouteStats>> {
        let mut statement = self.db().prepare_cached(
            "SELECT from_chain, to_chain, ifnull(gmp, 0),
             CASE status WHEN '' THEN 'unknown' ELSE ifnull(status, '') END, count(*), count(settled_at),
             count(*) FILTER (WHERE settled_at IS NULL AND untracked = 0),
             min(submitted) FILTER (WHERE settled_at IS NULL AND untracked = 0)
         FROM transactions WHERE profile = ? AND (settled_at IS NULL OR settled_at >= ?) GROUP BY 1, 2, 3, 4",
        )?;
        let since = since.map_or(i64::MIN, columns::moment);
        let mut rows = statement.query(params![profile, since])?;
        let mut routes: BTreeMap<RouteKey, RouteStats> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let route = read_route(row, 0)?;
            let stats = routes.entry(route.clone()).or_insert_with(|| RouteStats {
                route,
                outcomes: BTreeMap::new(),
                settled: 0,
                open: 0,
                oldest_open: None,
                past: RouteDurations::default(),
            });
            *stats.outcomes.entry(columns::lenient(row, 3)?).or_default() += row.get::<_, u64>(4)?;
            stats.settled += row.get::<_, u64>(5)?;
            stats.open += row.get::<_, u64>(6)?;
            stats.oldest_open = stats.oldest_open.into_iter().chain(columns::optional_moment(row, 7)?).min();
        }
        let with_durations = |stats: RouteStats| {
            // A refund isn't settled when its transfer ends.
            let past = self.newest_durations(profile, &stats.route, since, RouterStatus::Refund.name())?;
            Ok(RouteStats { past, ..stats })
        };
        routes.into_values().map(with_durations).collect()
    }
}
