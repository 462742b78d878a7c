//! The order of a list as SQL: `ORDER BY` and, for a page that begins behind a row, the rows behind it.
//!
//! It puts rows as `filter::compare` does, which a test holds against each other; no key is ever NULL.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use rusqlite::types::Value;

use super::condition::{FROM_NAME, TO_NAME};
use crate::domain::{
    filter::{SortBy, SortKey},
    status::RouterStatus,
};
use crate::store::{tables::columns, tables::transactions::NEVER_DUE};

/// Rows that are put in order together. What lacks the first key of an order comes before or behind all that has it, and each
/// status where it ranks: as a stretch of its own, so that an index of those that are in it serves.
pub(in crate::store) struct Stretch {
    /// Which rows belong to it.
    pub(in crate::store) condition: Cow<'static, str>,
    keys: Vec<Key>,
}

#[derive(Clone)]
struct Key {
    sql: String,
    descending: bool,
}

fn key(sql: impl Into<String>, descending: bool) -> Key {
    Key { sql: sql.into(), descending }
}

/// The stretches of an order, the first first.
pub(in crate::store) fn stretches(sort: &[SortKey], now: DateTime<Utc>) -> Vec<Stretch> {
    let now = columns::moment(now);
    let all = |sort: &[SortKey]| {
        let keys = sort.iter().flat_map(|by| keys(*by, now));
        // What is equal by all keys goes by its number.
        keys.chain([key("id", false)]).collect::<Vec<_>>()
    };
    let parts = sort.split_first().and_then(|(first, rest)| Some((parts(*first)?, rest)));
    let Some((parts, rest)) = parts else { return vec![Stretch { condition: "TRUE".into(), keys: all(sort) }] };
    let stretch =
        |(condition, own): (_, Option<_>)| Stretch { condition, keys: own.into_iter().chain(all(rest)).collect() };
    parts.into_iter().map(stretch).collect()
}

/// The conditions that part all rows by a key, the first first, each with how the rows of the part are put in order by it.
type Parts = Vec<(Cow<'static, str>, Option<Key>)>;

fn parts(by: SortKey) -> Option<Parts> {
    let turned = by.reversed;
    let present_first = |has, lacks, own| Some(vec![(Cow::from(has), Some(own)), (Cow::from(lacks), None)]);
    match by.by {
        SortBy::Settled => present_first("settled_at IS NOT NULL", "settled_at IS NULL", key("settled_at", !turned)),
        SortBy::Changed => {
            present_first("last_changed_at IS NOT NULL", "last_changed_at IS NULL", key("last_changed_at", !turned))
        }
        SortBy::Ticket => present_first("ticket IS NOT NULL", "ticket IS NULL", key("ticket COLLATE NOCASE", turned)),
        SortBy::Due if turned => {
            present_first("due <> 9223372036854775807", "due = 9223372036854775807", key("due", true))
        }
        SortBy::Checked => {
            // Without an answer there is no status either: that has an index.
            let unanswered = "settled_at IS NULL AND last_checked_at IS NULL AND status IS NULL";
            let answered = "settled_at IS NULL AND last_checked_at IS NOT NULL";
            let waiting = [(unanswered.into(), None), (answered.into(), Some(key("last_checked_at", turned)))];
            let settled = ("settled_at IS NOT NULL".into(), Some(key("settled_at", turned)));
            Some(in_turn(turned, waiting).into_iter().chain([settled]).collect())
        }
        SortBy::Status => Some(in_turn(turned, of_statuses(turned))),
        SortBy::Severity | SortBy::Due | SortBy::Age | SortBy::Route | SortBy::Hash => None,
    }
}

fn in_turn<T>(turned: bool, parts: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut parts: Vec<_> = parts.into_iter().collect();
    if turned {
        parts.reverse();
    }
    parts
}

/// A part for each rank (`filter::rank_of`). The texts that no status of the service is lie between those that are: there an
/// index finds that there are none, nearly always.
fn of_statuses(turned: bool) -> Parts {
    let equal = |status: RouterStatus| (Cow::from(format!("status = '{}'", status.name())), None);
    let mut names = RouterStatus::DOCUMENTED.map(|status| status.name());
    names.sort_unstable();
    let above = [None].into_iter().chain(names.map(Some));
    let below = names.into_iter().map(Some).chain([None]);
    let unknown = above.zip(below).map(|(above, below)| {
        let above = above.map_or_else(|| "status IS NOT NULL".into(), |name| format!("status > '{name}'"));
        let below = below.map_or_else(String::new, |name| format!(" AND status < '{name}'"));
        (Cow::from(above + &below), Some(key("status", turned)))
    });
    let mut parts = vec![equal(RouterStatus::PartialSuccess), equal(RouterStatus::NeedsGas)];
    parts.extend(unknown);
    parts.extend([RouterStatus::Refund, RouterStatus::NotFound, RouterStatus::Ongoing].map(equal));
    parts.extend([("status IS NULL".into(), None), equal(RouterStatus::Success)]);
    parts
}

fn keys(by: SortKey, now: i64) -> Vec<Key> {
    let turned = by.reversed;
    match by.by {
        SortBy::Severity => vec![key("calm", turned)],
        SortBy::Due if turned => vec![key(format!("(due = {NEVER_DUE})"), false), key("due", true)],
        SortBy::Due => vec![key("due", false)],
        SortBy::Age => vec![key(format!("max(0, ifnull(settled_at, {now}) - submitted)"), !turned)],
        SortBy::Status => vec![key(RANK, turned), key("ifnull(status, '')", turned)],
        SortBy::Checked => vec![
            key("(settled_at IS NOT NULL)", false),
            key("ifnull(settled_at, ifnull(last_checked_at, -9223372036854775807))", turned),
        ],
        SortBy::Changed => vec![key("(last_changed_at IS NULL)", false), key("ifnull(last_changed_at, 0)", !turned)],
        SortBy::Route => {
            vec![key(format!("lower_case({FROM_NAME})"), turned), key(format!("lower_case({TO_NAME})"), turned)]
        }
        SortBy::Ticket => vec![key("(ticket IS NULL)", false), key("ifnull(ticket, '') COLLATE NOCASE", turned)],
        SortBy::Hash => vec![key("transaction_key", turned)],
        SortBy::Settled => vec![key("(settled_at IS NULL)", false), key("ifnull(settled_at, 0)", !turned)],
    }
}

/// Where a status stands (`filter::rank_of`).
const RANK: &str =
    "(CASE WHEN status IS NULL THEN 6 ELSE CASE status WHEN 'partial_success' THEN 0 WHEN 'needs_gas' THEN 1
    WHEN 'refund' THEN 3 WHEN 'not_found' THEN 4 WHEN 'ongoing' THEN 5 WHEN 'success' THEN 7 ELSE 2 END END)";

/// Which way a list is gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Direction {
    Forwards,
    Backwards,
}

impl Stretch {
    /// The same for a filter that leaves few: an index that has the order would go through all that is behind a place.
    pub(in crate::store) fn of_few(mut self) -> Self {
        self.keys.iter_mut().filter(|key| key.sql != "id").for_each(|key| key.sql.insert(0, '+'));
        self
    }

    /// What stands behind `ORDER BY`.
    pub(in crate::store) fn order(&self, way: Direction) -> String {
        let written = |key: &Key| format!("{}{}", key.sql, if key.descends(way) { " DESC" } else { "" });
        self.keys.iter().map(written).collect::<Vec<_>>().join(", ")
    }

    /// The columns whose values say where a row stands.
    pub(in crate::store) fn place(&self) -> String {
        self.keys.iter().map(|key| key.sql.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The conditions for the rows behind the one that stands at `place`, in the order in which the rows come: first those that
    /// are equal by all keys but the number, then the others. One by one an index finds the beginning of each; there may be a
    /// million that are equal.
    pub(in crate::store) fn behind(&self, place: &[Value], way: Direction) -> Vec<(String, Vec<Value>)> {
        let Some((number, keys)) = self.keys.split_last() else { return Vec::new() };
        let equal = keys.iter().map(|key| format!("{} = ?", key.sql));
        let ties = equal.chain([format!("{} {} ?", number.sql, number.beyond(way))]).collect::<Vec<_>>().join(" AND ");
        let mut conditions = vec![(ties, place.to_vec())];
        if !keys.is_empty() {
            conditions.push(beyond(keys, place, way));
        }
        conditions
    }
}

/// The condition for the rows that come behind a place by these keys.
fn beyond(keys: &[Key], place: &[Value], way: Direction) -> (String, Vec<Value>) {
    let falls = keys.first().is_some_and(|key| key.descends(way));
    let alike = keys.iter().take_while(|key| key.descends(way) == falls).count();
    let mut parameters: Vec<Value> = place.iter().take(alike).cloned().collect();
    // As far as the keys go the same way an index finds the beginning by them.
    let range = format!(
        "({}) {}{} ({})",
        keys.iter().take(alike).map(|key| key.sql.as_str()).collect::<Vec<_>>().join(", "),
        if falls { "<" } else { ">" },
        if alike < keys.len() { "=" } else { "" },
        vec!["?"; alike].join(", ")
    );
    if alike == keys.len() {
        return (range, parameters);
    }
    let mut ways = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        let equal = keys.iter().take(index).map(|key| format!("{} = ?", key.sql));
        let beyond = format!("{} {} ?", key.sql, key.beyond(way));
        ways.push(equal.chain([beyond]).collect::<Vec<_>>().join(" AND "));
        parameters.extend(place.iter().take(index + 1).cloned());
    }
    (format!("{range} AND ({})", ways.join(" OR ")), parameters)
}

impl Key {
    /// What holds of a value that comes behind another.
    fn beyond(&self, way: Direction) -> &'static str {
        if self.descends(way) { "<" } else { ">" }
    }

    fn descends(&self, way: Direction) -> bool {
        self.descending != (way == Direction::Backwards)
    }
}
