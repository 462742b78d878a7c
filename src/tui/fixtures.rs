//! A dashboard for tests: the real model over a store in memory, sorted and filtered by `domain::filter`.
//!
//! Only tests may use this module. Data reaches the model only in messages, as in the program.

use std::{
    cmp::Reverse,
    collections::HashMap,
    ops::{Deref, DerefMut},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    dialogs::add::state::KnownTransactions,
    effect::{Effect, MarkRequest},
    key_text,
    message::{Msg, StoreUpdate},
    model::{DashboardSettings, ListCounts, Model, Overview},
    screens::{
        alerts::state::{AlertPage, AlertRow},
        detail::history::TransactionHistory,
        list::{
            marks::{self, Marks},
            state::PageRequest,
            tab::Tab,
        },
    },
    step::step,
};
use crate::{
    clock::{MonotonicTime, Now},
    domain::{
        alert::{Alert, AlertState, Rule},
        change::{Change, ChangeKind},
        filter::{self, Direction, Filter, testing::FilterInput},
        fixtures,
        ids::{RowId, TxHash},
        need::Need,
        operation::QuoteKey,
        poller::{PollerHealth, PollerReport},
        polling::PollingState,
        transaction::Transaction,
    },
    store::{Changes, ListPage, ListRow, PagePosition, QuoteSubmission},
};

/// Returns a dashboard without data, which polls and shows UTC.
pub(super) fn blank(size: (u16, u16)) -> TestDashboard {
    let setting = DashboardSettings {
        shown_id: Some("…7f3a".into()),
        asks_chains: true,
        ..DashboardSettings::of_profile("default", 7)
    };
    TestDashboard {
        model: Model::new(setting, size),
        transactions: HashMap::new(),
        alerts: HashMap::new(),
        profile_alerts: Vec::new(),
        changes: 0,
    }
}

/// Returns a moment, as if the monotonic clock started at the Unix epoch.
pub(super) fn moment(wall: DateTime<Utc>) -> Now {
    Now { mono: MonotonicTime((wall - DateTime::UNIX_EPOCH).to_std().unwrap()), wall }
}

/// Returns the present moment of most tests.
pub(super) fn now() -> Now {
    moment(DateTime::UNIX_EPOCH + TimeDelta::hours(1))
}

/// Returns a moment of the monotonic clock.
pub(super) fn at(milliseconds: u64) -> MonotonicTime {
    MonotonicTime(Duration::from_millis(milliseconds))
}

/// Returns a firing alert of a transaction; without one, an alert of the whole profile.
pub(super) fn alert(rule: Rule, of: Option<RowId>, message: &str) -> Alert {
    let id = of.map_or(0, |row| row.0) * 100 + rule as i64;
    Alert { id, message: message.into(), ..fixtures::alert(rule, of) }
}

/// A dashboard over a store in memory, which performs the read effects at once.
pub(super) struct TestDashboard {
    model: Model,
    transactions: HashMap<RowId, Transaction>,
    alerts: HashMap<RowId, Vec<Alert>>,
    profile_alerts: Vec<Alert>,
    changes: i64,
}

impl Deref for TestDashboard {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.model
    }
}

impl DerefMut for TestDashboard {
    fn deref_mut(&mut self) -> &mut Model {
        &mut self.model
    }
}

impl TestDashboard {
    /// Applies a message, and the results of the reads that follow. Returns the other effects.
    pub(super) fn apply(&mut self, message: Msg, now: Now) -> Vec<Effect> {
        let mut effects = step(&mut self.model, message, now);
        let mut remaining = Vec::new();
        while !effects.is_empty() {
            let effect = effects.remove(0);
            match self.read(&effect, now) {
                Some(result) => effects.extend(step(&mut self.model, result, now)),
                None => remaining.push(effect),
            }
        }
        remaining
    }

    /// Applies a history of a loaded transaction.
    pub(super) fn show_history(&mut self, row: RowId, history: TransactionHistory, now: Now) {
        let listed = self.transactions.get(&row).map(|transaction| ListRow {
            transaction: transaction.clone(),
            alerts: self.alerts.get(&row).cloned().unwrap_or_default(),
        });
        self.apply(Msg::History(row, Box::new((listed, history))), now);
    }

    fn read(&self, effect: &Effect, now: Now) -> Option<Msg> {
        Some(match effect {
            Effect::LoadPage(request) => Msg::Page(Box::new((request.clone(), Ok(self.page(request, now))))),
            Effect::Count => Msg::Counted(Box::new((self.model.list.view(), Ok(self.overview(now))))),
            Effect::FindAlert { row, direction } => {
                let rows = self.rows(&self.model.list.combined_filter(), now);
                let here = rows.iter().position(|own| own == row)?;
                let alerting = |row: &&RowId| self.alerts.contains_key(row);
                let found = match direction {
                    Direction::Forwards => rows.iter().skip(here + 1).find(alerting),
                    Direction::Backwards => rows.iter().take(here).rev().find(alerting),
                };
                Msg::FoundAlert(found.copied())
            }
            Effect::LoadForTexts(rows, wanted) => {
                Msg::ForTexts(rows.iter().filter_map(|row| self.transactions.get(row).cloned()).collect(), *wanted)
            }
            Effect::LoadAlerts => Msg::Alerts(Ok(self.alert_page())),
            Effect::FindMarks(wanted) => Msg::FoundMarks(self.markable(*wanted, now)),
            Effect::FindKnown(hashes) => {
                let rows = hashes.iter().map(|hash| (hash.as_str().to_owned(), self.tracked(hash))).collect();
                let transactions = self.transactions.values().map(|tx| (tx.id, tx.clone().into())).collect();
                Msg::Known(KnownTransactions { rows, transactions })
            }
            Effect::FindLogged(hash) => Msg::FoundLogged(self.tracked(hash)),
            _ => return None,
        })
    }

    fn tracked(&self, hash: &TxHash) -> Option<RowId> {
        let (from, key) = match TxHash::parse_on_chain(hash.as_str()) {
            Some((from, hash)) => (Some(from), hash.key()),
            None => (None, hash.key()),
        };
        let same = |tx: &&Transaction| {
            tx.params.transaction_id.key() == key && from.as_ref().is_none_or(|from| tx.params.from_chain == *from)
        };
        self.transactions.values().find(same).map(|tx| tx.id)
    }

    fn rows(&self, filter: &Filter, now: Now) -> Vec<RowId> {
        let alerts = |tx: &Transaction| self.alerts.get(&tx.id).map_or(&[][..], Vec::as_slice);
        let candidates = self.transactions.values().map(|tx| FilterInput { tx, alerts: alerts(tx) });
        let mut passing: Vec<_> = candidates.filter(|candidate| filter.matches(candidate, now.wall)).collect();
        passing.sort_by(|a, b| filter::testing::compare(a, b, filter.sort(), now.wall));
        passing.iter().map(|candidate| candidate.tx.id).collect()
    }

    fn alert_page(&self) -> AlertPage {
        let alerts = self.alerts.values().flatten().chain(&self.profile_alerts);
        let transaction = |alert: &Alert| self.transactions.get(&alert.transaction?).cloned();
        let row = |alert: &Alert| AlertRow { alert: alert.clone(), transaction: transaction(alert) };
        let mut rows: Vec<AlertRow> = alerts.map(row).collect();
        rows.sort_by_key(|row| (row.alert.rule, row.alert.raised_at, row.alert.id));
        AlertPage { rows, ..AlertPage::default() }
    }

    fn markable(&self, wanted: MarkRequest, now: Now) -> Option<Vec<RowId>> {
        let rows = self.rows(&self.model.list.combined_filter(), now);
        let rows = match wanted {
            MarkRequest::Shown => rows,
            MarkRequest::Between(one, other) => marks::between(&rows, one, other)?.to_vec(),
        };
        (rows.len() <= Marks::MAX_MARKS).then_some(rows)
    }

    fn page(&self, request: &PageRequest, now: Now) -> ListPage {
        let rows = self.rows(&request.filter, now);
        let position = |row: &RowId| rows.iter().position(|own| own == row);
        let from = match &request.position {
            PagePosition::First => 0,
            PagePosition::Last => rows.len().saturating_sub(request.length),
            PagePosition::Around { rows, before } => {
                rows.iter().find_map(position).map_or(0, |at| at.saturating_sub(*before))
            }
        };
        let to = (from + request.length).min(rows.len());
        let listed = |row: &RowId| ListRow {
            transaction: self.transactions[row].clone(),
            alerts: self.alerts.get(row).cloned().unwrap_or_default(),
        };
        let (has_more_before, has_more_behind) = (from > 0, to < rows.len());
        let order = rows[from..to].to_vec();
        ListPage { rows: order.iter().map(listed).collect(), order, as_of: 0, has_more_before, has_more_behind }
    }

    fn overview(&self, now: Now) -> Overview {
        let (mut alerts, mut handled) = ([0; 3], 0);
        for alert in self.alerts.values().flatten().chain(&self.profile_alerts) {
            match alert.state(now.wall) {
                AlertState::Firing => alerts[2 - alert.rule.severity() as usize] += 1,
                _ => handled += 1,
            }
        }
        let list = &self.model.list;
        let rows = self.rows(&list.combined_filter(), now);
        let first = list.part.rows.first().copied();
        let before = first.and_then(|first| Some((first, rows.iter().position(|row| *row == first)? as u64)));
        let urgent = |(row, alerts): (&RowId, &Vec<Alert>)| {
            Some((alerts.iter().min_by_key(|alert| alert.rule)?.clone(), self.transactions.get(row)?.clone()))
        };
        Overview {
            tabs: Tab::BUILT_IN.map(|tab| self.rows(&tab.filter(), now).len() as u64),
            alerts,
            handled,
            most_urgent: self
                .alerts
                .iter()
                .filter_map(urgent)
                .min_by_key(|(alert, tx)| (Reverse(alert.rule.severity()), !tx.is_waiting(), tx.deadline().at, tx.id)),
            listed: ListCounts { view: list.view(), total: rows.len() as u64, before },
            recent: Vec::new(),
            durations: HashMap::new(),
        }
    }

    fn oldest_answer(&self) -> Option<DateTime<Utc>> {
        let polled = self.transactions.values().filter(|tx| tx.profile == self.setting.profile && tx.needs_polling());
        polled.map(|tx| tx.state.last_checked_at.unwrap_or(tx.first_seen_at)).min()
    }
}

pub(super) struct StoreChange {
    transactions: Vec<Transaction>,
    /// All active alerts; `None` if they don't change.
    alerts: Option<Vec<Alert>>,
}

/// Returns the whole contents of the store, for the first read.
pub(super) fn everything(transactions: Vec<Transaction>, alerts: Vec<Alert>) -> StoreChange {
    StoreChange { transactions, alerts: Some(alerts) }
}

/// Returns changed transactions, for a later read.
pub(super) fn changed(transactions: Vec<Transaction>) -> StoreChange {
    StoreChange { transactions, alerts: None }
}

/// Returns the report of a poller that polls at `at`.
pub(super) fn live_report(at: DateTime<Utc>) -> PollerReport {
    PollerReport {
        at,
        valid_until: at + TimeDelta::seconds(15),
        process: 7,
        id: "…7f3a".into(),
        rps: 10.0,
        used: 4.2,
        requests: 1_234,
        unsettled: 7,
        share: 1.0,
        need: Some(Need { polls: 0.67, allowed: 8.33, unsettled: 7 }),
        health: PollerHealth::Live,
        ..PollerReport::default()
    }
}

/// Changes the store in memory, and sends the changes to the dashboard. Returns the effects.
pub(super) fn change_store(
    dashboard: &mut TestDashboard,
    change: StoreChange,
    poller: Option<PollerReport>,
    now: Now,
) -> Vec<Effect> {
    let mut feed = Changes { needs_resync: dashboard.changes == 0, ..Changes::default() };
    for transaction in change.transactions {
        dashboard.changes += 1;
        let (profile, row) = (transaction.profile.clone(), Some(transaction.id));
        let kind = ChangeKind::edited(Vec::new());
        feed.changes.push(Change {
            seq: dashboard.changes,
            at: now.wall,
            profile,
            transaction: row,
            kind,
            observation: None,
            author: None,
        });
        dashboard.transactions.insert(transaction.id, transaction);
    }
    if let Some(alerts) = change.alerts {
        (dashboard.alerts, dashboard.profile_alerts) = fixtures::by_subject(alerts);
        dashboard.changes += 1;
        let (seq, at, profile) = (dashboard.changes, now.wall, dashboard.setting.profile.clone());
        feed.changes.push(Change {
            seq,
            at,
            profile,
            transaction: None,
            kind: ChangeKind::Recovered,
            observation: None,
            author: None,
        });
    }
    let (profile_alerts, oldest_answer) = (dashboard.profile_alerts.clone(), dashboard.oldest_answer());
    let own = PollingState { poller, oldest_answer, ..PollingState::default() };
    dashboard
        .apply(Msg::StoreChanged(Box::new(StoreUpdate { feed, own, profile_alerts, ..StoreUpdate::default() })), now)
}

/// Presses keys one after the other. Returns the effects of the last key.
pub(super) fn press(dashboard: &mut TestDashboard, keys: &[&str], now: Now) -> Vec<Effect> {
    let mut effects = Vec::new();
    for key in keys {
        let key = key_text::parse(key).unwrap_or_else(|| panic!("{key} is not the text of a key"));
        effects = dashboard.apply(Msg::Key(key), now);
    }
    effects
}

/// Types a text letter by letter. Returns the effects of all letters.
pub(super) fn type_in(dashboard: &mut TestDashboard, text: &str, now: Now) -> Vec<Effect> {
    let key = |letter| Msg::Key(crossterm::event::KeyCode::Char(letter).into());
    text.chars().flat_map(|letter| dashboard.apply(key(letter), now)).collect()
}

/// Returns a quote request with this number in the store, which the poller has not sent yet.
pub(super) fn pending(id: i64) -> QuoteSubmission {
    let (profile, request) = ("default".into(), fixtures::quote_request("0x1f0a"));
    QuoteSubmission::Pending { id, quote: Box::new(QuoteKey { profile, request, asked_at: DateTime::UNIX_EPOCH }) }
}

/// Opens the quote form and types a valid request, with chains by name.
pub(super) fn write_quote(dashboard: &mut TestDashboard, now: Now) {
    press(dashboard, &["T"], now);
    let wallet = "0x1f0a00000000000000000000000000000000c9d2";
    let (from_token, to_token) =
        ("0xaf88d065e77c8cC2239327C5EDb3A432268e5831", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
    for value in ["arb", from_token, "25000000", "base", to_token, wallet] {
        type_in(dashboard, value, now);
        press(dashboard, &["Tab"], now);
    }
}
