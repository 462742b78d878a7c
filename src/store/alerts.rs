//! The alerts' table: carries out the steps that `alerts` decided.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    changes::{self, Entry},
    columns,
    error::StoreError,
    set_aside,
};
use crate::domain::{
    alert::{Alert, AlertStep, FLAPPING_RAISES, FLAPPING_WITHIN, Rule, Severity, Subject},
    change::What,
    ids::RowId,
};

const COLUMNS: &str = "SELECT id, rule, transaction_row, profile, raised_at, clean, message,
    acknowledged_at, acknowledged_note, snoozed_at, snoozed_until, flapping, cleared_at FROM alerts";
const STANDING: &str = "cleared_at IS NULL";
/// Whether a person has acknowledged or snoozed it.
pub(super) const IS_SET_ASIDE: &str = "(acknowledged_at IS NOT NULL OR snoozed_at IS NOT NULL)";
/// How calm a transaction is for which nothing stands.
const CALM: i64 = 3;

pub(super) fn carry_out(db: &Connection, steps: &[AlertStep], entry: &Entry<'_>) -> Result<(), StoreError> {
    let mut turned = false;
    for step in steps {
        match step {
            AlertStep::Raise { rule, message } => turned |= raise(db, *rule, message, entry)?,
            AlertStep::Count { id, clean } => {
                db.prepare_cached("UPDATE alerts SET clean = ? WHERE id = ?")?.execute(params![clean, id])?;
            }
            AlertStep::Clear { id, rule } => turned |= clear(db, *id, *rule, entry)?,
            AlertStep::BringBack { id } => turned |= set_aside::bring_back(db, *id, entry)?,
        }
    }
    match entry.transaction {
        Some(row) if turned => write_calm(db, row),
        _ => Ok(()),
    }
}

/// Writes anew where lists put what an alert is about.
pub(super) fn write_order(db: &Connection, subject: Subject) -> Result<(), StoreError> {
    match subject {
        Subject::Transaction(row) => write_calm(db, row),
        Subject::Profile => Ok(()),
    }
}

/// How calm a transaction is, from what stands for it: the first key of the order in which people look (`filter::compare`).
/// What is set aside comes behind all that isn't.
fn calm(standing: &[Alert]) -> i64 {
    let of = |alert: &Alert| {
        let rank = match alert.rule.severity() {
            Severity::Critical => -3,
            Severity::Warning => -2,
            Severity::Info => -1,
        };
        if alert.set_aside.is_some() { rank + CALM } else { rank }
    };
    standing.iter().map(of).min().unwrap_or(CALM)
}

fn write_calm(db: &Connection, row: RowId) -> Result<(), StoreError> {
    let calm = calm(&of_transaction(db, row)?);
    db.prepare_cached("UPDATE transactions SET calm = ? WHERE id = ?")?.execute([calm, row.0])?;
    Ok(())
}

fn clear(db: &Connection, id: i64, rule: Rule, entry: &Entry<'_>) -> Result<bool, StoreError> {
    let flapping: Option<bool> = db
        .prepare_cached("UPDATE alerts SET cleared_at = ? WHERE id = ? AND cleared_at IS NULL RETURNING flapping")?
        .query_row(params![columns::moment(entry.at), id], |row| row.get(0))
        .optional()?;
    let Some(flapping) = flapping else { return Ok(false) };
    let what = match flapping {
        true => What::AlertFlipped { rule, raised: false },
        false => What::AlertCleared { rule, severity: rule.severity() },
    };
    changes::append(db, entry, &what)?;
    Ok(true)
}

fn raise(db: &Connection, rule: Rule, message: &str, entry: &Entry<'_>) -> Result<bool, StoreError> {
    let raises = Raises::before(db, rule, entry)?;
    let raised = db
        .prepare_cached(
            "INSERT INTO alerts (profile, rule, transaction_row, raised_at, message, flapping)
             VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            entry.profile,
            rule.name(),
            entry.transaction.map(|row| row.0),
            columns::moment(entry.at),
            message,
            raises.flapping
        ])?;
    if raised > 0 {
        changes::append(db, entry, &raises.news(rule))?;
    }
    Ok(raised > 0)
}

/// What a raise is after those before it.
struct Raises {
    flapping: bool,
    /// Whether the one before was flapping too.
    said: bool,
}

impl Raises {
    fn before(db: &Connection, rule: Rule, entry: &Entry<'_>) -> Result<Self, StoreError> {
        let mut statement = db.prepare_cached(
            "SELECT flapping FROM alerts WHERE profile = ?1 AND rule = ?2 AND transaction_row IS ?3
             AND cleared_at > ?4 AND raised_at > ?4 AND raised_at <= ?5 ORDER BY id DESC",
        )?;
        let (since, at) = (columns::moment(entry.at - FLAPPING_WITHIN), columns::moment(entry.at));
        let row = entry.transaction.map(|row| row.0);
        let raises: Vec<bool> = statement
            .query_map(params![entry.profile, rule.name(), row, since, at], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let flapping = raises.len() + 1 >= FLAPPING_RAISES;
        Ok(Self { flapping, said: raises.first() == Some(&true) })
    }

    fn news(&self, rule: Rule) -> What {
        match (self.flapping, self.said) {
            (true, true) => What::AlertFlipped { rule, raised: true },
            (true, false) => What::AlertFlapping { rule, severity: rule.severity() },
            (false, _) => What::AlertRaised { rule, severity: rule.severity() },
        }
    }
}

/// What stands for a transaction and for its profile as a whole.
pub(super) fn standing_for(db: &Connection, profile: &str, row: RowId) -> Result<Vec<Alert>, StoreError> {
    // Two lookups by index instead of one scan of all that stands.
    let of_profile = format!("{COLUMNS} WHERE {STANDING} AND transaction_row IS NULL AND profile = ?1 ORDER BY id");
    let mut alerts = of_transaction(db, row)?;
    alerts.extend(collect(db, &of_profile, [profile])?);
    Ok(alerts)
}

/// One that stands.
pub(super) fn by_id(db: &Connection, id: i64) -> Result<Option<Alert>, StoreError> {
    Ok(collect(db, &format!("{COLUMNS} WHERE {STANDING} AND id = ?"), [id])?.into_iter().next())
}

/// What is snoozed until a moment that has come at `at`.
pub(super) fn snoozed_until(db: &Connection, at: DateTime<Utc>) -> Result<Vec<Alert>, StoreError> {
    collect(
        db,
        &format!("{COLUMNS} WHERE snoozed_until <= ? AND {STANDING} ORDER BY snoozed_until"),
        [columns::moment(at)],
    )
}

/// What was cleared since a moment, the newest first, so many at most.
pub(super) fn cleared_since(db: &Connection, since: DateTime<Utc>, most: usize) -> Result<Vec<Alert>, StoreError> {
    let sql = format!("{COLUMNS} WHERE cleared_at >= ? ORDER BY cleared_at DESC, id DESC LIMIT ?");
    collect(db, &sql, params![columns::moment(since), i64::try_from(most).unwrap_or(i64::MAX)])
}

/// Clears whatever stands for a transaction.
pub(super) fn clear_all(db: &Connection, row: RowId, at: DateTime<Utc>) -> Result<(), StoreError> {
    let entry = Entry { at, profile: "", transaction: Some(row), observation: None };
    let steps: Vec<_> =
        of_transaction(db, row)?.iter().map(|alert| AlertStep::Clear { id: alert.id, rule: alert.rule }).collect();
    carry_out(db, &steps, &entry)
}

/// What stood for a transaction when its polling stopped stands again, as it was set aside then: nothing was heard since.
pub(super) fn stand_again(db: &Connection, row: RowId, at: DateTime<Utc>) -> Result<(), StoreError> {
    let sql = "UPDATE OR IGNORE alerts SET cleared_at = NULL, clean = 0 WHERE transaction_row = ?1 AND cleared_at =
        (SELECT max(at) FROM changes WHERE transaction_row = ?1 AND event = 'untracked') RETURNING rule, flapping";
    let mut statement = db.prepare_cached(sql)?;
    let stood = statement.query_map([row.0], |found| Ok((found.get::<_, String>(0)?, found.get(1)?)))?;
    let stood: Vec<(String, bool)> = stood.collect::<Result<_, _>>()?;
    let entry = Entry { at, profile: "", transaction: Some(row), observation: None };
    for (rule, flapping) in &stood {
        let Some(rule) = Rule::named(rule) else { continue };
        let what = match flapping {
            true => What::AlertFlipped { rule, raised: true },
            false => What::AlertRaised { rule, severity: rule.severity() },
        };
        changes::append(db, &entry, &what)?;
    }
    if stood.is_empty() { Ok(()) } else { write_calm(db, row) }
}

/// What stands for one transaction, the oldest first.
pub(super) fn of_transaction(db: &Connection, row: RowId) -> Result<Vec<Alert>, StoreError> {
    collect(db, &format!("{COLUMNS} WHERE {STANDING} AND transaction_row = ? ORDER BY id"), [row.0])
}

/// What stands for profiles as a whole, the oldest first.
pub(super) fn of_profiles(db: &Connection) -> Result<Vec<Alert>, StoreError> {
    collect(db, &format!("{COLUMNS} WHERE {STANDING} AND transaction_row IS NULL ORDER BY id"), [])
}

/// How many alerts stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlertCounts {
    /// Those of which nobody has said anything, or of whose snooze the moment has come: critical, warning, info.
    pub firing: [u64; 3],
    /// Those that are acknowledged or snoozed.
    pub set_aside: u64,
}

/// How many alerts stand.
pub(super) fn counts(db: &Connection, now: DateTime<Utc>) -> Result<AlertCounts, StoreError> {
    let mut counts = AlertCounts::default();
    for (rule, [firing, set_aside]) in by_rule(db, None, now)? {
        let [critical, warning, info] = &mut counts.firing;
        *match rule.severity() {
            Severity::Critical => critical,
            Severity::Warning => warning,
            Severity::Info => info,
        } += firing;
        counts.set_aside += set_aside;
    }
    Ok(counts)
}

/// How many alerts stand by rule, of a profile or of all: those that fire, and those that are set aside.
pub(super) fn by_rule(
    db: &Connection,
    profile: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Vec<(Rule, [u64; 2])>, StoreError> {
    let sql =
        "SELECT rule, count(*) FILTER (WHERE acknowledged_at IS NULL AND (snoozed_at IS NULL OR snoozed_until <= ?1)),
        count(*) FROM alerts WHERE cleared_at IS NULL AND (?2 IS NULL OR profile = ?2) GROUP BY rule";
    let mut statement = db.prepare_cached(sql)?;
    let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?));
    let rows = statement.query_map(params![columns::moment(now), profile], read)?;
    let rows: Vec<(String, u64, u64)> = rows.collect::<Result<_, _>>()?;
    let known = |(rule, firing, standing): (String, u64, u64)| Some((Rule::named(&rule)?, [firing, standing - firing]));
    Ok(rows.into_iter().filter_map(known).collect())
}

/// Everything that stands, the oldest first.
pub(super) fn standing(db: &Connection) -> Result<Vec<Alert>, StoreError> {
    collect(db, &format!("{COLUMNS} WHERE {STANDING} ORDER BY id"), [])
}

/// The gravest of what stands, at most so many: what is set aside comes last; of the same rule the oldest first. Costs n in what stands.
pub(super) fn gravest(db: &Connection, most: usize) -> Result<Vec<Alert>, StoreError> {
    let urgency: String =
        Rule::ALL.iter().enumerate().map(|(place, rule)| format!(" WHEN '{}' THEN {place}", rule.name())).collect();
    let order = format!("{IS_SET_ASIDE}, CASE rule{urgency} ELSE {} END, raised_at, id", Rule::ALL.len());
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    collect(db, &format!("{COLUMNS} WHERE {STANDING} ORDER BY {order} LIMIT ?"), [most])
}

fn collect(db: &Connection, sql: &str, params: impl rusqlite::Params) -> Result<Vec<Alert>, StoreError> {
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map(params, read)?;
    // A rule that a later hoptop added is none of ours.
    Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Option<Alert>> {
    let rule: String = row.get(1)?;
    let Some(rule) = Rule::named(&rule) else { return Ok(None) };
    let subject = row.get::<_, Option<i64>>(2)?.map_or(Subject::Profile, |row| Subject::Transaction(RowId(row)));
    Ok(Some(Alert {
        id: row.get(0)?,
        rule,
        subject,
        profile: row.get(3)?,
        raised_at: columns::moment_from(row.get(4)?),
        clean: row.get(5)?,
        flapping: row.get(11)?,
        message: row.get(6)?,
        set_aside: set_aside::read(row, 7)?,
        cleared_at: row.get::<_, Option<i64>>(12)?.map(columns::moment_from),
    }))
}
