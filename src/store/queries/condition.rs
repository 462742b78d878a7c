//! The translation of a filter into SQL. The SQL selects the same rows as `Filter::matches` in `filter::testing`; a
//! test compares both.
//!
//! This module knows the columns, but must never decide what a filter means. A person's text becomes a parameter, never
//! SQL.

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::types::Value;

use crate::domain::{
    filter::{
        Expression, Filter,
        term::{ChainTest, Comparison, FilterState, FilterTest, RouteEnd, StatusTest, TimeMeasure, hashtag_label},
    },
    status::RouterStatus,
};
use crate::store::tables::{
    columns,
    quotes::RECEIVER,
    search_index::{MAY_CONTAIN, SearchPlan},
    transactions::{ENDED_AT, NEVER_DUE},
};

/// The SQL for the name of the source chain; equals `Transaction::from_name`.
pub(crate) const FROM_NAME: &str = "coalesce(from_name, known_chain_name(from_chain), (SELECT name FROM chains
    WHERE chains.profile = transactions.profile AND chains.id = from_chain), from_chain)";
/// The SQL for the name of the destination chain; equals `Transaction::to_name`.
pub(crate) const TO_NAME: &str = "coalesce(to_name, known_chain_name(to_chain), (SELECT name FROM chains
    WHERE chains.profile = transactions.profile AND chains.id = to_chain), to_chain)";

/// The condition that every row meets.
const ALWAYS: &str = "TRUE";

/// The values that the SQL of a test depends on.
#[derive(Clone, Copy)]
struct TestContext<'a> {
    /// The present, in the store's unit.
    now: i64,
    /// How a text is searched for.
    plan: &'a dyn Fn(&str) -> SearchPlan,
    is_negated: bool,
}

/// A condition for `WHERE`, with its parameters in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SqlCondition {
    pub(crate) sql: String,
    pub(crate) parameters: Vec<Value>,
    /// Whether an index selects the rows. That index doesn't return them in the order of a list.
    pub(crate) is_selective: bool,
}

impl SqlCondition {
    /// Returns the condition of a filter at `now`. `plan` says how a text is searched for.
    pub(crate) fn new(filter: &Filter, now: DateTime<Utc>, plan: &dyn Fn(&str) -> SearchPlan) -> Self {
        let mut condition = Self { sql: String::new(), parameters: Vec::new(), is_selective: false };
        let context = TestContext { now: columns::moment(now), plan, is_negated: false };
        condition.is_selective = condition.push_expression(filter.expression(), context);
        condition
    }

    /// Whether every row meets the condition.
    pub(crate) fn is_always_true(&self) -> bool {
        self.sql == ALWAYS
    }

    /// Returns the condition combined with another one by `AND`.
    pub(crate) fn and(mut self, sql: &str, parameters: &[Value]) -> Self {
        self.push(" AND ");
        self.push(sql);
        self.parameters.extend_from_slice(parameters);
        self
    }

    fn push(&mut self, sql: &str) {
        self.sql.push_str(sql);
    }

    /// Adds an expression. Returns whether an index that has no order selects its rows.
    fn push_expression(&mut self, expression: &Expression, context: TestContext<'_>) -> bool {
        match expression {
            Expression::Test(test) => {
                self.push("(");
                let is_selective = self.push_test(test, context);
                self.push(")");
                is_selective
            }
            // A test that is NULL counts as false, so that its negation is true.
            Expression::Not(inner) => {
                self.push("NOT ifnull(");
                self.push_expression(inner, TestContext { is_negated: !context.is_negated, ..context });
                self.push(", FALSE)");
                false
            }
            Expression::All(required) => self.push_joined(required, " AND ", ALWAYS, context).contains(&true),
            Expression::Any(alternatives) => !self.push_joined(alternatives, " OR ", "FALSE", context).contains(&false),
        }
    }

    /// Adds expressions with an operator between them, or `none` if there are none. Returns for each expression
    /// whether an index selects its rows.
    fn push_joined(
        &mut self,
        expressions: &[Expression],
        operator: &str,
        none: &str,
        context: TestContext<'_>,
    ) -> Vec<bool> {
        if expressions.is_empty() {
            self.push(none);
            return Vec::new();
        }
        let is_group = expressions.len() > 1;
        self.push(if is_group { "(" } else { "" });
        let mut are_selective = Vec::with_capacity(expressions.len());
        for (index, expression) in expressions.iter().enumerate() {
            self.push(if index > 0 { operator } else { "" });
            are_selective.push(self.push_expression(expression, context));
        }
        self.push(if is_group { ")" } else { "" });
        are_selective
    }

    /// Adds a test. Returns whether an index selects its rows (`is_selective`).
    fn push_test(&mut self, test: &FilterTest, context: TestContext<'_>) -> bool {
        let now = context.now;
        match test {
            FilterTest::Word(word) => return self.push_planned_search("contains_ignoring_case", word, context),
            FilterTest::Exact(text) => return self.push_planned_search("contains_exactly", text, context),
            FilterTest::Pattern(pattern) => self.push_text_search("matches_pattern", pattern.as_str()),
            FilterTest::Is(state) => self.push(&state_sql(*state, now)),
            FilterTest::Status(wanted) => self.push_status_test(wanted),
            FilterTest::Chain(side, chain) => self.push_chain_test(*side, chain),
            FilterTest::Route { from, to } => {
                self.push(&format!(
                    "is_chain_called(?, from_chain, {FROM_NAME}) AND is_chain_called(?, to_chain, {TO_NAME})"
                ));
                self.push_parameter(from);
                self.push_parameter(to);
            }
            FilterTest::Span(measure, comparison, limit) => self.push(&measure_sql(*measure, *comparison, *limit, now)),
            FilterTest::Label(label) => self.push_label_test(label),
            FilterTest::Hashtag(word) => {
                self.push_label_test(hashtag_label(word));
                self.push(" OR ");
                self.push_text_search("contains_ignoring_case", word);
            }
            FilterTest::Ticket(ticket) => {
                self.push_text_equality("ticket", ticket);
                // A ticket is on few transactions; a label may be on 100,000.
                return true;
            }
            FilterTest::Profile(profile) => self.push_text_equality("profile", profile),
            FilterTest::By(name) => self.push_author_test(name),
            FilterTest::Own(profile) => {
                self.push("profile = ?");
                self.push_parameter(profile);
            }
        }
        false
    }

    fn push_parameter(&mut self, text: &str) {
        self.parameters.push(Value::Text(text.to_owned()));
    }

    /// Adds a test for equality without case.
    fn push_text_equality(&mut self, column: &str, lowercase: &str) {
        self.push(&text_equality(column, lowercase));
        self.push_parameter(lowercase);
    }

    fn push_label_test(&mut self, lowercase: &str) {
        self.push("id IN (SELECT transaction_row FROM labels WHERE ");
        self.push_text_equality("label", lowercase);
        self.push(")");
    }

    /// Adds a search for a text, by the index if that is quicker. Returns whether it is.
    fn push_planned_search(&mut self, function: &str, wanted: &str, context: TestContext<'_>) -> bool {
        let lower = wanted.to_lowercase();
        let plan = (context.plan)(wanted);
        // Whatever the plan, a negation lists the other rows.
        let finds_parts = matches!(plan, SearchPlan::Index(_)) || could_be_in_hash(wanted);
        let search = match plan {
            SearchPlan::Index(_) if context.is_negated => SearchPlan::Scan,
            plan => plan,
        };
        let is_selective = matches!(search, SearchPlan::Index(_));
        if let SearchPlan::Index(expression) = &search {
            self.push(&format!("id IN ({MAY_CONTAIN}) AND ("));
            self.push_parameter(expression);
        }
        self.push_text_search(function, wanted);
        match search {
            SearchPlan::Index(_) => {
                self.push(
                    " OR EXISTS (SELECT 1 FROM identifiers WHERE transaction_row = transactions.id AND instr(value, ?) > 0))",
                );
            }
            // Reads the identifiers once.
            SearchPlan::Scan if finds_parts => {
                self.push(" OR id IN (SELECT transaction_row FROM identifiers WHERE instr(value, ?) > 0)");
            }
            SearchPlan::Scan | SearchPlan::ScanForChain => {
                self.push(" OR id IN (SELECT transaction_row FROM identifiers WHERE value = ?)");
            }
        }
        self.push_parameter(&lower);
        is_selective
    }

    /// Adds a test that calls an SQL function with all texts that a person may search for.
    fn push_text_search(&mut self, function: &str, wanted: &str) {
        self.push(&format!(
            "{function}(?, transaction_id, from_chain, to_chain, quote_id, request_id, from_address, ticket, {FROM_NAME}, {TO_NAME})
             OR EXISTS (SELECT 1 FROM labels WHERE transaction_row = transactions.id AND {function}(?, label))
             OR EXISTS (SELECT 1 FROM notes WHERE transaction_row = transactions.id AND taken_back_at IS NULL
                AND {function}(?, text))
             OR EXISTS ({ACTIVE_ALERTS} AND acknowledged_at IS NOT NULL AND {function}(?, acknowledged_note))"
        ));
        (0..4).for_each(|_| self.push_parameter(wanted));
        if function != "matches_pattern" {
            self.push(&format!(
                " OR (profile, quote_id) IN (SELECT profile, quote_id FROM quotes WHERE {function}(?, {RECEIVER}))"
            ));
            self.push_parameter(wanted);
        }
    }

    fn push_author_test(&mut self, name: &str) {
        self.push(
            "tracked_by IS NOT NULL AND is_author(?, tracked_by) OR ticket_by IS NOT NULL AND is_author(?, ticket_by)",
        );
        let parts = [
            ("labels", "author", "TRUE"),
            ("notes", "author", "taken_back_at IS NULL"),
            ("alerts", "handled_by", "cleared_at IS NULL AND transaction_row IS NOT NULL"),
        ];
        for (table, author, condition) in parts {
            self.push(&format!(
                " OR id IN (SELECT transaction_row FROM {table} WHERE {author} IS NOT NULL AND {condition}
                  AND is_author(?, {author}))"
            ));
        }
        (0..parts.len() + 2).for_each(|_| self.push_parameter(name));
    }

    fn push_status_test(&mut self, wanted: &[StatusTest]) {
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

    fn push_chain_test(&mut self, side: RouteEnd, chain: &ChainTest) {
        let sides = [(RouteEnd::From, "from_chain", FROM_NAME), (RouteEnd::To, "to_chain", TO_NAME)];
        let selected = sides.into_iter().filter(|(end, ..)| side == RouteEnd::Either || side == *end);
        for (index, (_, column, name)) in selected.enumerate() {
            self.push(if index > 0 { " OR " } else { "" });
            for id in chain.ids() {
                self.push(&format!("{column} = ? OR "));
                self.push_parameter(id.as_str());
            }
            self.push(&format!("equals_ignoring_case(?, {name})"));
            self.push_parameter(chain.name());
        }
    }
}

/// Whether a text may be a part of a hash: of six or more letters and digits.
fn could_be_in_hash(text: &str) -> bool {
    text.len() >= 6
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && text.bytes().any(|byte| byte.is_ascii_digit())
}

fn state_sql(state: FilterState, now: i64) -> String {
    let fixed = match state {
        FilterState::Attention => "calm < 3",
        FilterState::Overdue => "status IS NOT NULL AND due <= last_checked_at",
        FilterState::Unsettled => "settled_at IS NULL",
        FilterState::Settled => "settled_at IS NOT NULL",
        FilterState::Firing => return format!("calm < 3 AND {}", firing_sql(now)),
        FilterState::Acked => return handled_sql("acknowledged_at IS NOT NULL", now),
        FilterState::Snoozed => return handled_sql("snoozed_at IS NOT NULL", now),
        FilterState::Active => "settled_at IS NULL AND untracked = 0",
        FilterState::Parked => "untracked = 0 AND parked_reason IS NOT NULL",
        FilterState::Untracked => "untracked = 1",
        FilterState::Reverted => return on_chain_sql("reverted"),
        FilterState::Pending => return on_chain_sql("pending"),
        FilterState::WrongChain => return on_chain_sql("elsewhere"),
    };
    fixed.to_owned()
}

/// Returns the condition for transactions of which the source chain says this.
fn on_chain_sql(verdict: &str) -> String {
    format!("id IN (SELECT transaction_row FROM on_chain WHERE verdict = '{verdict}')")
}

/// The SQL query for the active alerts of a transaction.
const ACTIVE_ALERTS: &str = "SELECT 1 FROM alerts WHERE transaction_row = transactions.id AND cleared_at IS NULL";

/// Returns the condition for transactions with a firing alert (`Alert::state`).
fn firing_sql(now: i64) -> String {
    format!("EXISTS ({ACTIVE_ALERTS} AND acknowledged_at IS NULL AND (snoozed_at IS NULL OR snoozed_until <= {now}))")
}

/// Returns the condition for transactions without a firing alert and with an alert that is handled as `handling` says.
fn handled_sql(handling: &str, now: i64) -> String {
    // With an unhandled alert, `calm` is negative.
    format!("calm BETWEEN 0 AND 2 AND EXISTS ({ACTIVE_ALERTS} AND {handling}) AND NOT {}", firing_sql(now))
}

fn measure_sql(measure: TimeMeasure, comparison: Comparison, limit: TimeDelta, now: i64) -> String {
    let sign = match comparison {
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::More => ">",
        Comparison::MoreOrEqual => ">=",
    };
    let limit = limit.num_milliseconds();
    match measure {
        TimeMeasure::Age => format!("max(0, ifnull({ENDED_AT}, {now}) - submitted) {sign} {limit}"),
        TimeMeasure::Due => format!("due <> {NEVER_DUE} AND due {sign} {}", now.saturating_add(limit)),
        // A transaction without an answer counts as checked infinitely long ago.
        TimeMeasure::Checked => format!("ifnull({now} - last_checked_at, {}) {sign} {limit}", i64::MAX),
    }
}

/// Returns the SQL that compares a column with a text in lower case, the next parameter. ASCII text is compared by
/// `NOCASE`, because then an index can be used.
pub(super) fn text_equality(column: &str, lowercase: &str) -> String {
    match lowercase.is_ascii() {
        true => format!("{column} = ? COLLATE NOCASE"),
        false => format!("equals_ignoring_case(?, {column})"),
    }
}
