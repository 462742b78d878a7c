//! Observed durations: statistics for the forecasts, and each single duration for display.

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

/// So many of a route's newest durations are compared with.
const COMPARED: usize = 500;

/// What was tracked on one route, and how long it took.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteStats {
    /// The route.
    pub route: RouteKey,
    /// How many transactions have each status; those without an answer yet under the empty name.
    pub outcomes: BTreeMap<String, u64>,
    /// How many of them are settled.
    pub settled: u64,
    /// What was observed of it.
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
    let mut evidence = evidence(db, profile, (from.as_str(), to, gmp))?;
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

fn evidence(db: &Connection, profile: &str, (from, to, gmp): (&str, &str, bool)) -> Result<Evidence, StoreError> {
    let json: Option<String> = db
        .prepare_cached(
            "SELECT evidence FROM forecasts WHERE profile = ? AND from_chain = ? AND to_chain = ? AND gmp = ?",
        )?
        .query_row(params![profile, from, to, gmp], |row| row.get(0))
        .optional()?;
    Ok(parse(json.as_deref())?)
}

/// Evidence from its column.
pub(in crate::store) fn parse(json: Option<&str>) -> rusqlite::Result<Evidence> {
    let parsed = json.map(serde_json::from_str).transpose();
    parsed.map(Option::unwrap_or_default).map_err(|error| columns::unreadable(4, error))
}

impl Reader {
    /// What is known of durations, by route and by source chain.
    pub fn duration_stats(&self, profile: &str) -> Result<DurationStats, StoreError> {
        let mut statement =
            self.db().prepare_cached("SELECT from_chain, to_chain, gmp, evidence FROM forecasts WHERE profile = ?")?;
        let mut rows = statement.query([profile])?;
        let (mut routes, mut chains) = (HashMap::new(), HashMap::new());
        while let Some(row) = rows.next()? {
            let from = ChainId::new(row.get::<_, String>(0)?);
            let (to, gmp, evidence) =
                (row.get::<_, String>(1)?, row.get(2)?, parse(Some(row.get::<_, String>(3)?.as_str()))?);
            match to.as_str() {
                "" => drop(chains.insert(from, evidence)),
                _ => drop(routes.insert(RouteKey { from, to: ChainId::new(to), gmp }, evidence)),
            }
        }
        Ok(DurationStats { routes, chains })
    }

    /// The durations of the transfers on one route.
    pub fn past(&self, profile: &str, route: &RouteKey) -> Result<RouteDurations, StoreError> {
        let db = self.db();
        let mut statement = db.prepare_cached(
            "SELECT took FROM (SELECT id, took FROM durations
         WHERE profile = ? AND from_chain = ? AND to_chain = ? AND gmp = ? ORDER BY id DESC LIMIT ?) ORDER BY took",
        )?;
        let (from, to) = (route.from.as_str(), route.to.as_str());
        let rows = statement.query_map(params![profile, from, to, route.gmp, COMPARED], |row| row.get(0))?;
        let took = rows.map(|row| row.map(columns::span_from)).collect::<Result<Vec<Duration>, _>>()?;
        Ok(RouteDurations { evidence: evidence(db, profile, (from, to, route.gmp))?, took })
    }

    /// Every route of a profile, with the outcomes of its transfers. Costs n in what is tracked.
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
