//! Observed durations: statistics for the forecasts (`forecasts`), and each single duration for display (`durations`).

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, params};

use super::columns;
use crate::{
    domain::{
        duration_stats::{DurationSample, DurationStats, RouteDurations, RouteKey},
        forecast::Evidence,
        ids::ChainId,
    },
    store::{error::StoreError, reader::Reader},
};

/// The number of newest durations of a route that a transaction is compared with.
const MAX_COMPARED: usize = 500;

/// The transactions of one route, by outcome, and their durations.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteStats {
    /// The route.
    pub route: RouteKey,
    /// The number of transactions with each status; transactions without an answer have the empty name.
    pub outcomes: BTreeMap<String, u64>,
    /// The number of settled transactions.
    pub settled: u64,
    /// The observed durations of the route.
    pub past: RouteDurations,
}

pub(in crate::store) fn add(
    db: &Connection,
    profile: &str,
    sample: &DurationSample,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let (from, to, gmp, took) = match sample {
        DurationSample::Ended { route, took, .. } => (&route.from, route.to.as_str(), route.gmp, *took),
        DurationSample::Indexed { chain, took } => (chain, "", false, *took),
    };
    let mut evidence = evidence(db, profile, from.as_str(), to, gmp)?;
    evidence.add(took);
    let json = serde_json::to_string(&evidence).map_err(|error| columns::unreadable(4, error))?;
    db.prepare_cached(
        "INSERT INTO forecasts (profile, from_chain, to_chain, gmp, evidence) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET evidence = ?5",
    )?
    .execute(params![profile, from.as_str(), to, gmp, json])?;
    if let DurationSample::Ended { outcome, .. } = sample {
        db.prepare_cached(
            "INSERT INTO durations (profile, from_chain, to_chain, gmp, outcome, took, at)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            profile,
            from.as_str(),
            to,
            gmp,
            outcome.raw(),
            columns::span(took),
            columns::moment(at)
        ])?;
    }
    Ok(())
}

fn evidence(db: &Connection, profile: &str, from: &str, to: &str, gmp: bool) -> Result<Evidence, StoreError> {
    let json: Option<String> = db
        .prepare_cached(
            "SELECT evidence FROM forecasts WHERE profile = ? AND from_chain = ? AND to_chain = ? AND gmp = ?",
        )?
        .query_row(params![profile, from, to, gmp], |row| row.get(0))
        .optional()?;
    Ok(parse_evidence(json.as_deref())?)
}

/// Parses evidence from its JSON column; NULL is no evidence.
pub(in crate::store) fn parse_evidence(json: Option<&str>) -> rusqlite::Result<Evidence> {
    let parsed = json.map(serde_json::from_str).transpose();
    parsed.map(Option::unwrap_or_default).map_err(|error| columns::unreadable(4, error))
}

impl Reader {
    /// Returns the duration statistics of a profile, by route and by source chain.
    pub fn duration_stats(&self, profile: &str) -> Result<DurationStats, StoreError> {
        let mut statement =
            self.db().prepare_cached("SELECT from_chain, to_chain, gmp, evidence FROM forecasts WHERE profile = ?")?;
        let mut rows = statement.query([profile])?;
        let (mut routes, mut chains) = (HashMap::new(), HashMap::new());
        while let Some(row) = rows.next()? {
            let from = ChainId::new(row.get::<_, String>(0)?);
            let (to, gmp, evidence) =
                (row.get::<_, String>(1)?, row.get(2)?, parse_evidence(Some(row.get::<_, String>(3)?.as_str()))?);
            match to.as_str() {
                "" => drop(chains.insert(from, evidence)),
                _ => drop(routes.insert(RouteKey { from, to: ChainId::new(to), gmp }, evidence)),
            }
        }
        Ok(DurationStats { routes, chains })
    }

    /// Returns the newest durations of one route, shortest first, with the route's statistics.
    pub fn past(&self, profile: &str, route: &RouteKey) -> Result<RouteDurations, StoreError> {
        let db = self.db();
        let mut statement = db.prepare_cached(
            "SELECT took FROM (SELECT id, took FROM durations
         WHERE profile = ? AND from_chain = ? AND to_chain = ? AND gmp = ? ORDER BY id DESC LIMIT ?) ORDER BY took",
        )?;
        let (from, to) = (route.from.as_str(), route.to.as_str());
        let rows = statement.query_map(params![profile, from, to, route.gmp, MAX_COMPARED], |row| row.get(0))?;
        let took = rows.map(|row| row.map(columns::span_from)).collect::<Result<Vec<Duration>, _>>()?;
        Ok(RouteDurations { evidence: evidence(db, profile, from, to, route.gmp)?, took })
    }

    /// Returns every route of a profile with the outcomes of its transactions. Costs O(n) in the tracked transactions.
    pub fn routes(&self, profile: &str) -> Result<Vec<RouteStats>, StoreError> {
        let mut statement = self.db().prepare_cached(
            "SELECT from_chain, to_chain, ifnull(gmp, 0), ifnull(status, ''), count(*), count(settled_at)
         FROM transactions WHERE profile = ? GROUP BY 1, 2, 3, 4",
        )?;
        let mut rows = statement.query([profile])?;
        let mut outcomes: BTreeMap<RouteKey, (BTreeMap<String, u64>, u64)> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let chain = |column| Ok::<_, rusqlite::Error>(ChainId::new(row.get::<_, String>(column)?));
            let route = RouteKey { from: chain(0)?, to: chain(1)?, gmp: row.get(2)? };
            let (by_status, settled) = outcomes.entry(route).or_default();
            by_status.insert(row.get(3)?, row.get(4)?);
            *settled += row.get::<_, u64>(5)?;
        }
        let stats = |(route, (outcomes, settled))| {
            Ok(RouteStats { past: self.past(profile, &route)?, route, outcomes, settled })
        };
        outcomes.into_iter().map(stats).collect()
    }
}
