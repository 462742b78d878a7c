//! The order of a list as SQL: the `ORDER BY` clause, and the conditions for the rows after a given row.
//!
//! The order equals that of `filter::testing`; a test compares both. No sort key is ever NULL.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use rusqlite::types::Value;

use super::condition::{FROM_NAME, TO_NAME};
use crate::domain::{
    filter::{Direction, SortBy, SortKey},
    status::RouterStatus,
};
use crate::store::tables::{
    columns,
    transactions::{ENDED_AT, NEVER_DUE},
};

/// A part of the list that is sorted by one `ORDER BY`. Rows without the first sort key form a segment before or after
/// the others, and each status forms its own segment at its rank. So an index serves each segment.
pub(crate) struct OrderSegment {
    /// The SQL condition for the rows of the segment.
    pub(crate) condition: Cow<'static, str>,
    keys: Vec<OrderKey>,
}

#[derive(Clone)]
struct OrderKey {
    sql: String,
    is_descending: bool,
}

fn key(sql: impl Into<String>, is_descending: bool) -> OrderKey {
    OrderKey { sql: sql.into(), is_descending }
}

/// Returns the segments of an order, first segment first.
pub(crate) fn segments(sort: &[SortKey], now: DateTime<Utc>) -> Vec<OrderSegment> {
    let now = columns::moment(now);
    let all_keys = |sort: &[SortKey]| {
        let keys = sort.iter().flat_map(|by| sort_keys(*by, now));
        // Rows that are equal by all keys are sorted by their numbers.
        keys.chain([key("id", false)]).collect::<Vec<_>>()
    };
    let parts = sort.split_first().and_then(|(first, rest)| Some((partition_by(*first)?, rest)));
    let Some((parts, rest)) = parts else {
        return vec![OrderSegment { condition: "TRUE".into(), keys: all_keys(sort) }];
    };
    let segment = |(condition, own): (_, Option<_>)| OrderSegment {
        condition,
        keys: own.into_iter().chain(all_keys(rest)).collect(),
    };
    parts.into_iter().map(segment).collect()
}

/// The conditions that divide all rows by a sort key, in order, each with the SQL key for the rows of its part.
type OrderPartition = Vec<(Cow<'static, str>, Option<OrderKey>)>;

fn partition_by(by: SortKey) -> Option<OrderPartition> {
    let reversed = by.is_reversed;
    let present_first = |has, lacks, own| Some(vec![(Cow::from(has), Some(own)), (Cow::from(lacks), None)]);
    match by.by {
        SortBy::Settled => present_first("settled_at IS NOT NULL", "settled_at IS NULL", key("settled_at", !reversed)),
        SortBy::Changed => {
            present_first("last_changed_at IS NOT NULL", "last_changed_at IS NULL", key("last_changed_at", !reversed))
        }
        SortBy::Ticket => present_first("ticket IS NOT NULL", "ticket IS NULL", key("ticket COLLATE NOCASE", reversed)),
        SortBy::Due if reversed => {
            let (waits, ended) = (format!("due <> {NEVER_DUE}"), format!("due = {NEVER_DUE}"));
            Some(vec![(waits.into(), Some(key("due", true))), (ended.into(), None)])
        }
        SortBy::Checked => {
            // A transaction without an answer has no status either, and the index on the status finds such rows.
            let unanswered = "settled_at IS NULL AND last_checked_at IS NULL AND status IS NULL";
            let answered = "settled_at IS NULL AND last_checked_at IS NOT NULL";
            let waiting = [(unanswered.into(), None), (answered.into(), Some(key("last_checked_at", reversed)))];
            let settled = ("settled_at IS NOT NULL".into(), Some(key("settled_at", reversed)));
            Some(reverse_if(reversed, waiting).into_iter().chain([settled]).collect())
        }
        SortBy::Status => Some(reverse_if(reversed, status_partition(reversed))),
        SortBy::Severity | SortBy::Due | SortBy::Age | SortBy::Route | SortBy::Hash => None,
    }
}

fn reverse_if<T>(reversed: bool, parts: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut parts: Vec<_> = parts.into_iter().collect();
    if reversed {
        parts.reverse();
    }
    parts
}

/// Returns the parts by [`RouterStatus::sort_rank`]. Unknown statuses lie alphabetically between the documented ones.
/// Nearly always these ranges are empty, which an index shows quickly.
fn status_partition(reversed: bool) -> OrderPartition {
    let mut names = RouterStatus::DOCUMENTED.map(|status| status.name());
    names.sort_unstable();
    let above = [None].into_iter().chain(names.map(Some));
    let below = names.into_iter().map(Some).chain([None]);
    let unknown = above.zip(below).map(|(above, below)| {
        let above = above.map_or_else(|| "status IS NOT NULL".into(), |name| format!("status > '{name}'"));
        let below = below.map_or_else(String::new, |name| format!(" AND status < '{name}'"));
        (unknown_rank(), (Cow::from(above + &below), Some(key("status", reversed))))
    });
    let documented = RouterStatus::DOCUMENTED.map(|status| {
        (RouterStatus::sort_rank(Some(&status)), (Cow::from(format!("status = '{}'", status.name())), None))
    });
    let unanswered = (RouterStatus::sort_rank(None), ("status IS NULL".into(), None));
    let mut ranked: Vec<_> = unknown.chain(documented).chain([unanswered]).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, part)| part).collect()
}

fn unknown_rank() -> u8 {
    RouterStatus::sort_rank(Some(&RouterStatus::Unknown(String::new())))
}

/// Returns the SQL for the rank of a status ([`RouterStatus::sort_rank`]).
fn status_rank() -> String {
    let documented = RouterStatus::DOCUMENTED
        .map(|status| format!("WHEN status = '{}' THEN {}", status.name(), RouterStatus::sort_rank(Some(&status))));
    let (unanswered, unknown) = (RouterStatus::sort_rank(None), unknown_rank());
    format!("(CASE WHEN status IS NULL THEN {unanswered} {} ELSE {unknown} END)", documented.join(" "))
}

fn sort_keys(by: SortKey, now: i64) -> Vec<OrderKey> {
    let reversed = by.is_reversed;
    match by.by {
        SortBy::Severity => vec![key("calm", reversed)],
        SortBy::Due if reversed => vec![key(format!("(due = {NEVER_DUE})"), false), key("due", true)],
        SortBy::Due => vec![key("due", false)],
        SortBy::Age => vec![key(format!("max(0, ifnull({ENDED_AT}, {now}) - submitted)"), !reversed)],
        SortBy::Status => vec![key(status_rank(), reversed), key("ifnull(status, '')", reversed)],
        SortBy::Checked => vec![
            key("(settled_at IS NOT NULL)", false),
            key("ifnull(settled_at, ifnull(last_checked_at, -9223372036854775807))", reversed),
        ],
        SortBy::Changed => vec![key("(last_changed_at IS NULL)", false), key("ifnull(last_changed_at, 0)", !reversed)],
        SortBy::Route => {
            vec![key(format!("lower_case({FROM_NAME})"), reversed), key(format!("lower_case({TO_NAME})"), reversed)]
        }
        SortBy::Ticket => vec![key("(ticket IS NULL)", false), key("ifnull(ticket, '') COLLATE NOCASE", reversed)],
        SortBy::Hash => vec![key("transaction_key", reversed)],
        SortBy::Settled => vec![key("(settled_at IS NULL)", false), key("ifnull(settled_at, 0)", !reversed)],
    }
}

impl OrderSegment {
    /// Returns the segment with sort keys that no index can serve. This is for a selective filter: reading an index in
    /// sort order would scan all rows after a position.
    pub(crate) fn without_order_index(mut self) -> Self {
        self.keys.iter_mut().filter(|key| key.sql != "id").for_each(|key| key.sql.insert(0, '+'));
        self
    }

    /// Returns the terms of the `ORDER BY` clause.
    pub(crate) fn order(&self, direction: Direction) -> String {
        let sort_term = |key: &OrderKey| format!("{}{}", key.sql, if key.descends(direction) { " DESC" } else { "" });
        self.keys.iter().map(sort_term).collect::<Vec<_>>().join(", ")
    }

    /// Returns the columns whose values are a row's position in the order.
    pub(crate) fn position_columns(&self) -> String {
        self.keys.iter().map(|key| key.sql.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the conditions for the rows after `position`, in the order of their rows. The rows that differ only in
    /// their number come first. With separate conditions an index finds the start of each part, even if a million rows
    /// are equal.
    pub(crate) fn rows_after(&self, position: &[Value], direction: Direction) -> Vec<(String, Vec<Value>)> {
        let Some((id_key, keys)) = self.keys.split_last() else { return Vec::new() };
        let equal = keys.iter().map(|key| format!("{} = ?", key.sql));
        let ties = equal
            .chain([format!("{} {} ?", id_key.sql, id_key.comparison(direction))])
            .collect::<Vec<_>>()
            .join(" AND ");
        let mut conditions = vec![(ties, position.to_vec())];
        if !keys.is_empty() {
            conditions.push(condition_after(keys, position, direction));
        }
        conditions
    }
}

/// Returns the condition for the rows after a position by these keys.
fn condition_after(keys: &[OrderKey], position: &[Value], direction: Direction) -> (String, Vec<Value>) {
    let is_first_descending = keys.first().is_some_and(|key| key.descends(direction));
    let prefix_length = keys.iter().take_while(|key| key.descends(direction) == is_first_descending).count();
    let mut parameters: Vec<Value> = position.iter().take(prefix_length).cloned().collect();
    // As long as the keys have the same direction, an index finds the start of the range.
    let range = format!(
        "({}) {}{} ({})",
        keys.iter().take(prefix_length).map(|key| key.sql.as_str()).collect::<Vec<_>>().join(", "),
        if is_first_descending { "<" } else { ">" },
        if prefix_length < keys.len() { "=" } else { "" },
        vec!["?"; prefix_length].join(", ")
    );
    if prefix_length == keys.len() {
        return (range, parameters);
    }
    let mut alternatives = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        let equal = keys.iter().take(index).map(|key| format!("{} = ?", key.sql));
        let comparison = format!("{} {} ?", key.sql, key.comparison(direction));
        alternatives.push(equal.chain([comparison]).collect::<Vec<_>>().join(" AND "));
        parameters.extend(position.iter().take(index + 1).cloned());
    }
    (format!("{range} AND ({})", alternatives.join(" OR ")), parameters)
}

impl OrderKey {
    /// Returns the comparison operator for values after a given value.
    fn comparison(&self, direction: Direction) -> &'static str {
        if self.descends(direction) { "<" } else { ">" }
    }

    fn descends(&self, direction: Direction) -> bool {
        self.is_descending != (direction == Direction::Backwards)
    }
}
