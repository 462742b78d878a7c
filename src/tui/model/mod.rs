//! The dashboard's state: the loaded part of the store, its counts, and the position of the person.
//!
//! Plain data of bounded size, however many transactions are stored. The model must never hold a handle: work outside
//! is requested by effects.

pub(crate) mod geometry;
pub(crate) mod polling;
pub(crate) mod setting;
pub(crate) mod view_state;

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use chrono::{DateTime, Utc};

pub use self::setting::DashboardSettings;
use self::{
    geometry::Geometry,
    polling::BudgetUse,
    view_state::{TemporaryView, ViewState},
};
use super::{
    command::KeyContext,
    dialogs::{Dialog, quote::state::QuoteForm},
    effect::Effect,
    screens::{
        alerts::state::AlertList,
        detail::{history::TransactionHistory, state::DetailState},
        list::{
            columns::ContentWidths,
            marks::{self, Marks},
            state::{ListPart, ListState, PageRequest},
            tab::Tab,
        },
        log::state::LogPane,
        stats::state::StatsState,
    },
    tour::Tour,
};
use crate::{
    clock::MonotonicTime,
    domain::{
        alert::{self, Alert, Severity},
        change::RecentChange,
        duration_stats::{DurationStats, RouteKey},
        evidence::SettlingEvidence,
        forecast::Lognormal,
        ids::RowId,
        poller::PollerReport,
        polling::PollingState,
        team::{TeamLink, TeamStatus},
        transaction::Transaction,
    },
    store::{ListPage, ListRow, LoadedRows},
};

/// The screen that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Screen {
    /// The list, with the detail beside it if it fits.
    #[default]
    List,
    /// One transaction, with its tabs.
    Detail,
    /// The list of alerts.
    Alerts,
    /// The charts.
    Stats,
    /// The log.
    Log,
}

/// How long a status message is shown: long enough to read two lines.
const STATUS_MESSAGE_DURATION: Duration = Duration::from_secs(8);

/// Whether a status message reports success or failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageTone {
    /// Success.
    Good,
    /// Failure.
    Bad,
}

/// A sentence that is shown for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusMessage {
    /// The sentence.
    pub text: String,
    /// Success or failure.
    pub tone: MessageTone,
    /// When the status message disappears.
    pub until: MonotonicTime,
    /// Whether the message reports that a link was copied because it couldn't be opened.
    pub is_refused_link: bool,
    /// The number of marks that the message names; with another number the message is no longer true.
    pub marks: Option<usize>,
}

/// The counts of the tracked transactions and their alerts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// The number of transactions in each saved view.
    pub tabs: [u64; 5],
    /// The number of firing alerts by severity: critical, warning, info.
    pub alerts: [u64; 3],
    /// The number of acknowledged and snoozed alerts.
    pub handled: u64,
    /// The most urgent alert of a transaction, with the transaction.
    pub most_urgent: Option<(Alert, Transaction)>,
    /// The counts of the list that was shown.
    pub listed: ListCounts,
    /// The newest changes of transactions, the newest first.
    pub recent: Vec<RecentChange>,
    /// The duration statistics of the shown profiles.
    pub durations: HashMap<String, DurationStats>,
}

/// The counts of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListCounts {
    /// The number of the view.
    pub view: u64,
    /// The number of rows.
    pub total: u64,
    /// A row, and the number of rows before that row.
    pub before: Option<(RowId, u64)>,
}

/// The dashboard's state.
#[derive(Debug, Default)]
pub struct Model {
    /// The settings.
    pub setting: DashboardSettings,
    /// The transactions of the loaded part of the list, and the open transaction.
    pub transactions: HashMap<RowId, Transaction>,
    /// The active alerts of these transactions.
    pub alerts: HashMap<RowId, Vec<Alert>>,
    /// The active alerts of the shown profiles as a whole, the most severe first.
    pub profile_alerts: Vec<Alert>,
    /// The counts.
    pub overview: Overview,
    /// The errors that keep notifications from being delivered.
    pub notification_errors: Vec<String>,
    /// The list: filter, order, rows and selection.
    pub list: ListState,
    /// The marked transactions, which actions apply to.
    pub marks: Marks,
    /// The list of alerts.
    pub alert_list: AlertList,
    /// The screen that is shown.
    pub screen: Screen,
    /// The screen before the charts or the log; Esc returns there.
    pub previous_screen: Screen,
    /// The state of the statistics screen.
    pub stats: StatsState,
    /// The log.
    pub log: LogPane,
    /// The open dialog.
    pub dialog: Dialog,
    /// The state of the detail.
    pub detail: DetailState,
    /// The history of the selected transaction, once it is loaded.
    pub history: Option<(RowId, TransactionHistory)>,
    /// The view state for the next start, except the filter on screen.
    pub view_state: ViewState,
    /// The quote form as last edited.
    pub quote: Option<Box<QuoteForm>>,
    /// The transaction that was last marked as open, and when.
    pub marked_open: Option<(RowId, MonotonicTime)>,
    /// The polling of the active profile.
    pub own: PollingState,
    /// The polling of the other shown profiles, in the setting's order.
    pub other_profiles: Vec<PollingState>,
    /// Why writes to the store fail, if they do.
    pub store_fault: Option<String>,
    /// The state of the team's store; `None` for a store of one machine.
    pub team: Option<TeamStatus>,
    /// The temporary view, if one is open.
    pub temporary_view: Option<TemporaryView>,
    /// The status message on screen.
    pub status_message: Option<StatusMessage>,
    /// The row that was clicked last, and when: a second click soon after opens the transaction.
    pub clicked: Option<(RowId, MonotonicTime)>,
    /// The result of the last copy: a sentence about the success or the failure; `None` until it is known.
    pub copied: Option<Result<String, String>>,
    /// The transaction that was chosen in each view when the view was left.
    pub last_chosen: HashMap<Tab, RowId>,
    /// The ticket that the last paste named for this transaction, for the prompt of the ticket.
    pub named_ticket: Option<(RowId, String)>,
    /// The transactions that the question about their deletion named.
    pub deletion_asked: Option<Vec<RowId>>,
    /// The name of the theme of the settings; `None` while colours are off, so that no other theme can be chosen.
    pub configured_theme: Option<String>,
    /// The effects of the present message; empty between two messages.
    pub effects: Vec<Effect>,
    /// The tour of the demo.
    pub tour: Tour,
    /// The terminal's columns and rows.
    pub size: (u16, u16),
    /// The sizes that the view measured.
    pub geometry: Geometry,
    /// The position of the change feed when the part of the list was read.
    as_of: i64,
    /// Whether the first part of the list is loaded.
    pub is_loaded: bool,
    /// Whether changes of the store arrived before.
    pub follows_store: bool,
    /// Whether the last read of the list failed; the next tick repeats it.
    pub should_retry_page: bool,
    /// Whether the last count failed; the next tick repeats it.
    pub should_retry_count: bool,
}

impl Model {
    /// Returns a model without data.
    pub fn new(setting: DashboardSettings, size: (u16, u16)) -> Self {
        Self {
            other_profiles: vec![PollingState::default(); setting.other_profiles.len()],
            list: ListState::of_person(setting.author.clone()),
            setting,
            size,
            ..Self::default()
        }
    }

    /// Sets the sizes that the view measured.
    pub fn set_geometry(&mut self, geometry: Geometry) {
        self.geometry = geometry;
        (self.list.height, self.alert_list.height, self.stats.height) =
            (geometry.list, geometry.alerts, geometry.routes);
    }

    /// Restores a saved view state.
    pub fn restore_view_state(&mut self, view_state: ViewState) {
        let tab = view_state.tab();
        self.tour = if self.setting.is_demo && !view_state.tour_is_over { Tour::At(0) } else { Tour::Over };
        self.view_state = view_state;
        self.restore_view(tab);
    }

    /// Shows another saved view, with its last filter and columns. The chosen transaction stays selected. If the view
    /// doesn't have that transaction, the one that was chosen when the view was left is selected.
    pub fn show_tab(&mut self, tab: Tab) {
        if tab == self.list.tab {
            return;
        }
        let chosen = self.list.selected.filter(|_| self.list.is_chosen);
        self.last_chosen.extend(chosen.map(|row| (self.list.tab, row)));
        self.view_state = self.view_state_to_save();
        self.restore_view(tab);
        self.list.chosen_before = self.last_chosen.get(&tab).copied();
    }

    /// Parses the filters of the shown view and of the typed text again: what they mean has changed.
    pub fn reload_filters(&mut self) {
        let typed = self.list.filter_text.clone();
        self.list.set_tab(self.list.tab, self.view_state.base_filter(self.list.tab));
        self.list.set_filter(&typed, "");
    }

    fn restore_view(&mut self, tab: Tab) {
        self.list.set_tab(tab, self.view_state.base_filter(tab));
        self.list.set_filter(self.view_state.filter_of(tab), "");
        self.list.columns = self.view_state.columns_of(tab);
    }

    /// Returns the view state to save.
    pub fn view_state_to_save(&self) -> ViewState {
        let mut view_state = self.view_state.clone();
        // A filter that is still being typed isn't saved.
        let filter_text = match &self.dialog {
            Dialog::Filter(line) => &line.before,
            _ => &self.list.filter_text,
        };
        view_state.save_tab(self.list.tab, filter_text, &self.list.columns);
        // A temporary view is not saved: the view and the filters before it are.
        if let Some(TemporaryView { previous, .. }) = &self.temporary_view {
            (view_state.view, view_state.filters) = (previous.view, previous.filters.clone());
        }
        view_state
    }

    /// Whether a command is being typed or chosen, which is about the selected transaction.
    pub fn holds_selection(&self) -> bool {
        matches!(self.dialog, Dialog::Palette(_) | Dialog::Menu(_) | Dialog::Prompt(_))
    }

    /// Forgets what the numbers of rows mean: a snapshot took the place of the store's content.
    pub fn forget_rows(&mut self) {
        self.marks.clear();
        (self.named_ticket, self.deletion_asked) = (None, None);
        self.last_chosen.clear();
        self.as_of = 0;
    }

    /// Applies a loaded part of the list; ignores a part of another view.
    pub fn apply_page(&mut self, request: &PageRequest, page: ListPage) {
        if request.view != self.list.view() {
            return;
        }
        // On another screen nobody sees the selection move.
        let is_held = self.screen != Screen::List || self.holds_selection();
        self.list.is_held = self.is_open() || is_held && !self.list.is_view_new;
        let open = self.list.selected.filter(|_| self.list.is_held);
        let shown: BTreeSet<RowId> = page.order.iter().copied().chain(open).collect();
        self.transactions.retain(|row, _| shown.contains(row));
        self.alerts.retain(|row, _| shown.contains(row));
        for ListRow { transaction, alerts } in page.rows {
            self.alerts.insert(transaction.id, alerts);
            self.transactions.insert(transaction.id, transaction);
        }
        self.list.content = ContentWidths::of(self.transactions.values());
        self.as_of = page.as_of;
        let part =
            ListPart { rows: page.order, has_more_before: page.has_more_before, has_more_after: page.has_more_behind };
        self.list.apply_part(request, part);
        self.is_loaded = true;
    }

    /// Applies a transaction that was read apart from the list. A transaction in the loaded part is left unchanged,
    /// because the age of that part is known.
    pub fn refresh_transaction(&mut self, ListRow { transaction, alerts }: ListRow) {
        let row = transaction.id;
        if !self.list.part.rows.contains(&row) {
            self.alerts.insert(row, alerts);
            self.transactions.insert(row, transaction);
        }
    }

    /// Returns the rows of the loaded part of the list, and the feed position of their data.
    pub fn loaded_rows(&self) -> LoadedRows {
        LoadedRows { rows: self.list.part.rows.iter().copied().collect(), as_of: self.as_of }
    }

    /// Applies the counts.
    pub fn apply_overview(&mut self, overview: Overview) {
        self.list.counts = overview.tabs;
        let ListCounts { view, total, before } = overview.listed;
        if view == self.list.view() {
            self.list.total = Some(total);
            let first = self.list.part.rows.first();
            self.list.before =
                before.filter(|(row, _)| Some(row) == first).map(|(_, count)| count).or(self.list.before);
        }
        self.overview = overview;
    }

    /// Ends expired snoozes, so that their alerts fire again even if no poller records it.
    pub fn end_snoozes(&mut self, now: DateTime<Utc>) {
        let of_list = self.alert_list.page.iter_mut().flat_map(|page| &mut page.rows).map(|row| &mut row.alert);
        let alerts = self.alerts.values_mut().flatten().chain(&mut self.profile_alerts);
        alerts.chain(of_list).for_each(|alert| alert.end_snooze(now));
    }

    /// Returns the most severe alert of a whole profile that is neither acknowledged nor snoozed.
    pub fn profile_alert(&self) -> Option<&Alert> {
        self.profile_alerts.iter().find(|alert| alert.handling.is_none())
    }

    /// Returns the contexts in which keys are looked up, the first before the others. A text field takes keys before
    /// them.
    pub fn contexts(&self) -> &'static [KeyContext] {
        match (&self.dialog, self.screen) {
            (Dialog::Help { .. } | Dialog::Reply { .. }, _) => &[KeyContext::Page],
            (_, Screen::List) => &[KeyContext::List],
            (_, Screen::Detail) => self.detail.tab.contexts(),
            (_, Screen::Alerts) => &[KeyContext::Alerts],
            (_, Screen::Stats) => &[KeyContext::Stats],
            (_, Screen::Log) => &[KeyContext::Log],
        }
    }

    /// Returns the selected transaction.
    pub fn selected(&self) -> Option<&Transaction> {
        self.transactions.get(&self.list.selected?)
    }

    /// Returns the rows from the start of the marked range to the selection; none if the range exceeds the loaded part.
    pub fn range(&self) -> &[RowId] {
        let ends = self.marks.range.zip(self.list.selected);
        ends.and_then(|(begin, here)| marks::between(&self.list.part.rows, begin, here)).unwrap_or_default()
    }

    /// Returns the transaction that commands apply to: the selected one, or that of the selected alert.
    pub fn current_transaction(&self) -> Option<&Transaction> {
        match self.screen {
            Screen::Alerts => self.alert_list.selected_row()?.transaction.as_ref(),
            Screen::List | Screen::Detail => self.selected(),
            Screen::Stats | Screen::Log => None,
        }
    }

    /// Returns a transaction of the list or of the alerts, if it is loaded.
    pub fn transaction(&self, row: RowId) -> Option<&Transaction> {
        self.transactions.get(&row).or_else(|| self.alert_list.transaction(row))
    }

    /// Whether the charts or the log are shown.
    pub fn is_side_screen(&self) -> bool {
        matches!(self.screen, Screen::Stats | Screen::Log)
    }

    /// Whether a transaction is open, also if the charts or the log cover it.
    pub fn is_open(&self) -> bool {
        let screen = if self.is_side_screen() { self.previous_screen } else { self.screen };
        screen == Screen::Detail
    }

    /// Returns the number of marked transactions that the list's present view doesn't show; 0 while only a part of a long
    /// view is loaded, so that the number isn't known, and on other screens, where marks aren't targets.
    pub(crate) fn marks_outside_view(&self) -> usize {
        let part = &self.list.part;
        match self.screen != Screen::List || part.has_more_before || part.has_more_after {
            true => 0,
            false => self.marks.count() - part.rows.iter().filter(|row| self.marks.contains(**row)).count(),
        }
    }

    /// Returns the active alerts of a transaction.
    pub fn alerts_of(&self, row: RowId) -> &[Alert] {
        self.alerts.get(&row).map_or(&[], Vec::as_slice)
    }

    /// Opens the detail of the selected transaction at the tab that was open beside the list.
    pub fn open_detail(&mut self, returns_to_alerts: bool) {
        (self.screen, self.alert_list.returns_to_alerts) = (Screen::Detail, returns_to_alerts);
    }

    /// Shows the list; Esc no longer returns to the alerts.
    pub fn show_list(&mut self) {
        (self.screen, self.alert_list.returns_to_alerts) = (Screen::List, false);
    }

    /// Selects a transaction; if the list doesn't have it, in a temporary view of all transactions.
    pub fn go_to_row(&mut self, row: RowId) {
        if !self.list.part.rows.contains(&row) {
            self.begin_temporary_view(row);
        }
        self.show_list();
        self.list.select_when_loaded(row);
    }

    /// Returns the forecast of the time until a transaction settles.
    pub fn forecast(&self, tx: &Transaction) -> Lognormal {
        self.evidence(tx).forecast(tx.params.estimate)
    }

    /// Returns the evidence for every forecast of a transaction on the screen.
    pub fn evidence(&self, tx: &Transaction) -> SettlingEvidence {
        let route = RouteKey::of(tx);
        match self.overview.durations.get(&tx.profile) {
            Some(durations) => durations.evidence(&route),
            None => DurationStats::default().evidence(&route),
        }
    }

    /// Returns a complaint if the filter names a chain that neither hoptop nor the service knows, as far as rows are
    /// loaded.
    pub fn unknown_chain(&self) -> Option<String> {
        let is_loaded = |name: &str| {
            let names = self.transactions.values().flat_map(|tx| [tx.from_name(), tx.to_name()]);
            names.map(|own| own.to_lowercase()).any(|own| own == name)
        };
        self.list.combined_filter().chain_name_error(is_loaded)
    }

    /// Returns the history of the selected transaction, once it is loaded.
    pub fn selected_history(&self) -> Option<&TransactionHistory> {
        let (row, history) = self.history.as_ref()?;
        (Some(*row) == self.list.selected).then_some(history)
    }

    /// Returns the highest severity of a transaction's firing alerts.
    pub fn severity(&self, row: RowId) -> Option<Severity> {
        alert::urgency(self.alerts_of(row)).filter(|urgency| urgency.is_unhandled).map(|urgency| urgency.severity)
    }

    /// Returns the next loaded row after the selection with a firing alert, or else the first one, except these rows.
    pub fn next_firing(&self, except: &[RowId]) -> Option<RowId> {
        let rows = &self.list.part.rows;
        let (before, after) = rows.split_at(self.list.position().unwrap_or(0).min(rows.len()));
        let needs_somebody = |row: &&RowId| self.severity(**row).is_some() && !except.contains(row);
        after.iter().chain(before).find(needs_somebody).copied()
    }

    /// Returns the report of the active profile's poller; `None` if no poller runs, or nothing is known of it because
    /// the team's store is unreachable.
    pub fn live_poller(&self, now: DateTime<Utc>) -> Option<&PollerReport> {
        self.own.live_poller(now).filter(|_| self.has_polling_reports())
    }

    /// Whether a team is connected, and none of its machines polls for the active profile.
    pub(crate) fn is_unpolled_by_team(&self) -> bool {
        self.team.as_ref().is_some_and(|team| team.is_unpolled(&self.setting.profile))
    }

    fn has_polling_reports(&self) -> bool {
        match self.team.as_ref().map(|team| &team.link) {
            None | Some(TeamLink::Connecting | TeamLink::CatchingUp | TeamLink::Live) => true,
            Some(TeamLink::Away { .. } | TeamLink::Refused { .. }) => false,
        }
    }

    /// Returns the budget of the active profile, then those of the other shown profiles.
    pub fn budgets(&self, now: DateTime<Utc>) -> impl Iterator<Item = BudgetUse<'_>> {
        let polled = std::iter::once(&self.own).chain(&self.other_profiles);
        self.setting.profiles().zip(polled).map(move |(profile, polled)| BudgetUse {
            profile,
            report: polled.live_poller(now).filter(|_| self.has_polling_reports()),
            paused_until: polled.paused_until(now),
            oldest: polled.oldest_age(now),
        })
    }

    /// Opens a temporary view: the whole list without a filter, around this transaction.
    pub fn begin_temporary_view(&mut self, target: RowId) {
        if self.list.tab == Tab::All && self.list.filter_text.is_empty() && self.temporary_view.is_none() {
            return;
        }
        self.open_temporary_view(Some(target), "");
    }

    /// Opens a temporary view of the matches of a filter. The filter is not saved.
    pub fn begin_search(&mut self, filter: &str) {
        self.open_temporary_view(None, filter);
    }

    fn open_temporary_view(&mut self, target: Option<RowId>, filter: &str) {
        let temporary_view =
            TemporaryView { target, previous: self.view_state_to_save(), selected: self.list.selected };
        // A search within a temporary view keeps the view to return to.
        self.temporary_view.get_or_insert(temporary_view).target = target;
        self.show_tab(Tab::All);
        self.list.chosen_before = None;
        self.list.set_filter(filter, "");
    }

    /// Whether the selection is the transaction of the temporary view; leaving that transaction ends the view.
    pub fn is_at_temporary_target(&self) -> bool {
        self.temporary_view.as_ref().is_some_and(|temporary_view| {
            temporary_view.target.is_some() && self.list.selected == temporary_view.target
        })
    }

    /// Ends the temporary view and restores the view before it. Returns whether there was a temporary view.
    pub fn end_temporary_view(&mut self) -> bool {
        let view_state = self.view_state_to_save();
        let Some(TemporaryView { previous, selected, .. }) = self.temporary_view.take() else { return false };
        self.view_state = view_state;
        self.restore_view(previous.tab());
        (self.list.selected, self.list.pending_selection) = (selected, selected);
        true
    }

    /// Shows a status message.
    pub fn show_message(&mut self, tone: MessageTone, text: impl Into<String>, now: MonotonicTime) {
        let (text, until) = (text.into(), now + STATUS_MESSAGE_DURATION);
        self.status_message = Some(StatusMessage { text, tone, until, is_refused_link: false, marks: None });
    }

    /// Shows a status message that names the number of marks, until that number changes.
    pub fn show_marks_message(&mut self, tone: MessageTone, text: impl Into<String>, now: MonotonicTime) {
        self.show_message(tone, text, now);
        let count = self.marks.count();
        self.status_message.iter_mut().for_each(|message| message.marks = Some(count));
    }

    /// Removes a status message that names another number of marks than there are.
    pub fn dismiss_outdated_message(&mut self) {
        let count = self.marks.count();
        self.status_message.take_if(|message| message.marks.is_some_and(|marks| marks != count));
    }

    /// Removes the status message after further input, unless the status message is too new to have been read.
    pub fn dismiss_read_message(&mut self, now: MonotonicTime) {
        /// The time in which everybody has read a few words.
        const READING_TIME: Duration = Duration::from_secs(2);
        self.status_message.take_if(|message| message.until + READING_TIME <= now + STATUS_MESSAGE_DURATION);
    }
}
