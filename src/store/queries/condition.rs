//! A filter as SQL: the same rows pass as pass `Filter::matches`, which a test holds against each other.
//!
//! It knows the columns and nothing of what a filter means; text of a person goes in as a parameter, never as SQL.

use std::borrow::Cow;

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::types::Value;

use crate::domain::{
    filter::{
        Filter,
        term::{ChainTest, Comparison, Measure, Side, State, StatusTest, Term, Test},
    },
    status::RouterStatus,
};
use crate::store::{tables::columns, tables::transactions::NEVER_DUE};

/// The name of the source chain, as `Transaction::from_name` has it.
pub(in crate::store) const FROM_NAME: &str = "coalesce(from_name, shipped_name(from_chain), (SELECT name FROM chains
    WHERE chains.profile = transactions.profile AND chains.id = from_chain), from_chain)";
/// The name of the destination chain, as `Transaction::to_name` has it.
pub(in crate::store) const TO_NAME: &str = "coalesce(to_name, shipped_name(to_chain), (SELECT name FROM chains
    WHERE chains.profile = transactions.profile AND chains.id = to_chain), to_chain)";

/// What every row passes.
const ALWAYS: &str = "TRUE";

/// What stands behind `WHERE`, with its parameters in their order.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::store) struct Condition {
    pub(in crate::store) sql: String,
    pub(in crate::store) parameters: Vec<Value>,
}

impl Condition {
    /// The condition that a filter sets at `now`.
    pub(in crate::store) fn new(filter: &Filter, now: DateTime<Utc>) -> Self {
        let mut condition = Self { sql: String::new(), parameters: Vec::new() };
        let now = columns::moment(now);
        for (index, term) in filter.terms().iter().enumerate() {
            condition.push(if index > 0 { " AND " } else { "" });
            condition.term(term, now);
        }
        if filter.terms().is_empty() {
            condition.push(ALWAYS);
        }
        condition
    }

    /// Whether it asks for nothing.
    pub(in crate::store) fn is_always_true(&self) -> bool {
        self.sql == ALWAYS
    }

    /// With another condition that must hold too.
    pub(in crate::store) fn and(mut self, sql: &str, parameters: &[Value]) -> Self {
        self.push(" AND ");
        self.push(sql);
        self.parameters.extend_from_slice(parameters);
        self
    }

    fn push(&mut self, sql: &str) {
        self.sql.push_str(sql);
    }

    fn term(&mut self, term: &Term, now: i64) {
        // What can't be said of a row doesn't hold, so that its contrary does.
        self.push(if term.negated { "NOT ifnull((" } else { "(" });
        match &term.test {
            Test::Word(word) => self.any_text("has_word", word),
            Test::Exact(text) => self.any_text("has_text", text),
            Test::Pattern(pattern) => self.any_text("has_pattern", pattern.as_str()),
            Test::Is(state) => self.push(&state_sql(*state, now)),
            Test::Status(wanted) => self.any_status(wanted),
            Test::Chain(side, chain) => self.side(*side, chain),
            Test::Span(measure, comparison, limit) => self.push(&span_sql(*measure, *comparison, *limit, now)),
            Test::Label(label) => {
                self.push("id IN (SELECT transaction_row FROM labels WHERE ");
                self.same("label", label);
                self.push(")");
            }
            Test::Ticket(ticket) => self.same("ticket", ticket),
            Test::Profile(profile) => self.same("profile", profile),
            Test::Own(profile) => {
                self.push("profile = ?");
                self.parameter(profile);
            }
        }
        self.push(if term.negated { "), FALSE)" } else { ")" });
    }

    fn parameter(&mut self, text: &str) {
        self.parameters.push(Value::Text(text.to_owned()));
    }

    /// Whether a column is a text, without case: by its index where ASCII is all that there is to compare.
    fn same(&mut self, column: &str, lower: &str) {
        match lower.is_ascii() {
            true => self.push(&format!("{column} = ? COLLATE NOCASE")),
            false => self.push(&format!("is_word(?, {column})")),
        }
        self.parameter(lower);
    }

    /// Whether any text that a person would search by fits.
    fn any_text(&mut self, function: &str, wanted: &str) {
        self.push(&format!(
            "{function}(?, transaction_id, from_chain, to_chain, ticket, {FROM_NAME}, {TO_NAME})
             OR EXISTS (SELECT 1 FROM labels WHERE transaction_row = transactions.id AND {function}(?, label))
             OR EXISTS (SELECT 1 FROM notes WHERE transaction_row = transactions.id AND taken_back_at IS NULL
                AND {function}(?, text))"
        ));
        (0..3).for_each(|_| self.parameter(wanted));
    }

    fn any_status(&mut self, wanted: &[StatusTest]) {
        let documented = |test: &StatusTest| match test {
            StatusTest::Documented(status) => Some(status.name()),
            StatusTest::Unknown | StatusTest::NoAnswer => None,
        };
        let names: Vec<_> = wanted.iter().filter_map(documented).collect();
        let mut tests = Vec::new();
        if let [name] = names.as_slice() {
            tests.push(format!("status = '{name}'"));
        } else if !names.is_empty() {
            tests.push(format!("status IN ('{}')", names.join("', '")));
        }
        if wanted.contains(&StatusTest::Unknown) {
            let all = RouterStatus::DOCUMENTED.map(|status| status.name());
            tests.push(format!("status NOT IN ('{}')", all.join("', '")));
        }
        if wanted.contains(&StatusTest::NoAnswer) {
            tests.push("status IS NULL".into());
        }
        self.push(&tests.join(" OR "));
    }

    fn side(&mut self, side: Side, chain: &ChainTest) {
        let ends = [(Side::From, "from_chain", FROM_NAME), (Side::To, "to_chain", TO_NAME)];
        let asked = ends.into_iter().filter(|(end, ..)| side == Side::Either || side == *end);
        for (index, (_, column, name)) in asked.enumerate() {
            self.push(if index > 0 { " OR " } else { "" });
            for id in chain.ids() {
                self.push(&format!("{column} = ? OR "));
                self.parameter(id.as_str());
            }
            self.push(&format!("is_word(?, {name})"));
            self.parameter(chain.name());
        }
    }
}

fn state_sql(state: State, now: i64) -> Cow<'static, str> {
    Cow::Borrowed(match state {
        State::Attention => "calm < 3",
        State::Overdue => "status IS NOT NULL AND due <= last_checked_at",
        State::Unsettled => "settled_at IS NULL",
        State::Settled => "settled_at IS NOT NULL",
        State::Firing => return Cow::Owned(format!("calm < 3 AND {}", firing(now))),
        State::Acked => return set_aside("acknowledged_at IS NOT NULL", now),
        State::Snoozed => return set_aside("snoozed_at IS NOT NULL", now),
        State::Active => "settled_at IS NULL AND untracked = 0",
        State::Parked => "untracked = 0 AND parked_reason IS NOT NULL",
        State::Untracked => "untracked = 1",
    })
}

/// What stands for a transaction.
const STANDING: &str = "SELECT 1 FROM alerts WHERE transaction_row = transactions.id AND cleared_at IS NULL";

/// Whether something that stands fires (`Alert::state`).
fn firing(now: i64) -> String {
    format!("EXISTS ({STANDING} AND acknowledged_at IS NULL AND (snoozed_at IS NULL OR snoozed_until <= {now}))")
}

/// Whether nothing that stands fires, and something is set aside in this way.
fn set_aside(how: &str, now: i64) -> Cow<'static, str> {
    // With what nobody has said anything of `calm` is less.
    Cow::Owned(format!("calm BETWEEN 0 AND 2 AND EXISTS ({STANDING} AND {how}) AND NOT {}", firing(now)))
}

fn span_sql(measure: Measure, comparison: Comparison, limit: TimeDelta, now: i64) -> String {
    let sign = match comparison {
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::More => ">",
        Comparison::MoreOrEqual => ">=",
    };
    let limit = limit.num_milliseconds();
    match measure {
        Measure::Age => format!("max(0, ifnull(settled_at, {now}) - submitted) {sign} {limit}"),
        Measure::Due => format!("due <> {NEVER_DUE} AND due {sign} {}", now.saturating_add(limit)),
        // Never answered counts as infinitely long ago.
        Measure::Checked => format!("ifnull({now} - last_checked_at, {}) {sign} {limit}", i64::MAX),
    }
}
