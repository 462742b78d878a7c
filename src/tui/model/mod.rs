//! What the dashboard knows: the part of the store that is on the screen and around it, all of it in numbers, and where the
//! person is.
//!
//! Plain data, and no more of it for a million transactions than for a hundred. It must never hold a handle to anything: what it
//! wants done goes out as an effect.

pub mod add;
pub mod alerts;
pub mod columns;
pub mod detail;
mod filter_line;
pub mod found;
pub mod geometry;
pub mod help;
pub mod history;
pub mod list;
pub mod log;
pub mod marks;
pub mod memory;
pub mod menu;
pub mod offer;
pub mod palette;
pub mod polled;
pub mod prompt;
pub mod quote;
pub mod raw;
pub mod stats;
pub mod temporary_view;

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use chrono::{DateTime, FixedOffset, Utc};
use tui_input::Input;

pub use self::filter_line::FilterLine;
use self::{
    add::AddForm,
    alerts::AlertList,
    detail::Detail,
    geometry::Geometry,
    help::HelpPage,
    history::History,
    list::{List, PageRequest, Part, Tab},
    log::LogPane,
    marks::Marks,
    memory::Memory,
    menu::Menu,
    offer::Offer,
    palette::Palette,
    polled::Polled,
    prompt::Prompt,
    quote::QuoteForm,
    stats::Charts,
    temporary_view::TemporaryView,
};
use crate::{
    clock::Mono,
    domain::{
        alert::{self, Alert, Severity},
        answer::Templates,
        ids::RowId,
        poller::PollerReport,
        transaction::Transaction,
    },
    store::{Known, Listed, Page},
    tui::{command::Context, keys::Keys},
};

/// What fills the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// The list, with the detail beside it where there is room.
    List,
    /// One transaction, with its tabs.
    Detail,
    /// The alerts' own list.
    Alerts,
    /// The charts.
    Stats,
    /// The log.
    Log,
}

/// What lies over the screen and takes the keys.
#[derive(Debug, Default)]
pub enum Overlay {
    /// Nothing.
    #[default]
    None,
    /// The keys, and what is looked for among them.
    Help(HelpPage),
    /// A reply for a ticket, as it was when it was asked for, scrolled down by so many lines.
    Answer {
        /// The reply.
        text: String,
        /// Lines that are scrolled away.
        scroll: usize,
    },
    /// The filter's line.
    Filter(Box<FilterLine>),
    /// What is looked for in a tab of the detail, with the text that holds again if it is left by Esc.
    Find {
        /// What is being typed.
        input: Input,
        /// What held before.
        before: String,
    },
    /// Adding or finding.
    Add(Box<AddForm>),
    /// The command line.
    Palette(Palette),
    /// One line, for an action that takes words.
    Prompt(Prompt),
    /// A few entries to choose from.
    Menu(Menu),
    /// Texts to copy, or links to open.
    Offer(Offer),
    /// Asking for a route.
    Quote(Box<QuoteForm>),
}

impl Overlay {
    /// Whether letters are typed into it.
    pub fn takes_text(&self) -> bool {
        match self {
            Self::None | Self::Answer { .. } | Self::Menu(_) | Self::Offer(_) => false,
            Self::Help(_)
            | Self::Filter(_)
            | Self::Find { .. }
            | Self::Add(_)
            | Self::Palette(_)
            | Self::Prompt(_)
            | Self::Quote(_) => true,
        }
    }
}

/// How long a notice stands: long enough to read two lines.
const STANDS: Duration = Duration::from_secs(8);

/// How a notice is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It worked.
    Good,
    /// It didn't.
    Bad,
}

/// A sentence that stands for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The sentence.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
    /// Until when it stands.
    pub until: Mono,
}

/// What stays the same while the dashboard runs.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The profile in force.
    pub profile: String,
    /// The profiles that are polled and shown beside it.
    pub beside: Vec<String>,
    /// What may be shown of the integrator ID; `None` if nothing is polled with it.
    pub shown_id: Option<String>,
    /// Whether this is the demonstration.
    pub demo: bool,
    /// Whether this process polls, or would if no other did.
    pub polls: bool,
    /// This process.
    pub process: u32,
    /// The person's time zone.
    pub zone: FixedOffset,
    /// Whether chain IDs pass that aren't known.
    pub any_chain: bool,
    /// One's own words for replies.
    pub templates: Templates,
    /// Which key stands for which command.
    pub keys: Keys,
    /// The ways by which alerts are told outside, as the config file names them.
    pub told_by: Vec<&'static str>,
}

/// All that is tracked, in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// How many each saved view holds.
    pub tabs: [u64; 5],
    /// How many alerts fire, by severity: critical, warning, info.
    pub alerts: [u64; 3],
    /// How many are acknowledged or snoozed.
    pub handled: u64,
    /// The most urgent alert of a transaction, with that transaction.
    pub most_urgent: Option<(Alert, Transaction)>,
    /// The list that was shown when it was counted.
    pub listed: Listing,
}

/// A list in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The number of its view.
    pub view: u64,
    /// How many rows it has.
    pub total: u64,
    /// A row of it, and how many stand before that.
    pub before: Option<(RowId, u64)>,
}

/// The dashboard's state.
#[derive(Debug)]
pub struct Model {
    /// What stays the same.
    pub setting: Setting,
    /// The transactions of the part of the list that was read, and what is open.
    pub transactions: HashMap<RowId, Transaction>,
    /// What stands for each of these.
    pub alerts: HashMap<RowId, Vec<Alert>>,
    /// What stands for the profiles that are shown as a whole, the gravest first.
    pub profile_alerts: Vec<Alert>,
    /// All that is tracked, in numbers.
    pub overview: Overview,
    /// What keeps alerts from being told outside, as it was said.
    pub untold: Vec<String>,
    /// What is shown, in which order, and what is selected.
    pub list: List,
    /// What is marked, so that actions work on it.
    pub marks: Marks,
    /// The alerts' own list.
    pub alert_list: AlertList,
    /// What fills the screen.
    pub screen: Screen,
    /// What filled it before the charts or the log: Esc leads back there.
    pub behind: Screen,
    /// The charts.
    pub charts: Charts,
    /// The log.
    pub log: LogPane,
    /// What lies over it.
    pub overlay: Overlay,
    /// How the person looks at what is open.
    pub detail: Detail,
    /// The history of the selected transaction, once it was loaded.
    pub history: Option<(RowId, History)>,
    /// What is remembered for the next start, but for the filter that is shown.
    pub memory: Memory,
    /// The quote form as it was left.
    pub quote: Option<Box<QuoteForm>>,
    /// What was last said to be open, and when.
    pub looked_at: Option<(RowId, Mono)>,
    /// How the profile in force is polled.
    pub own: Polled,
    /// How those beside it are, in the setting's order.
    pub beside: Vec<Polled>,
    /// What stands in the way of keeping things in the store, if anything does.
    pub trouble: Option<String>,
    /// Where the person was, if everything is shown only for the sake of what they looked for.
    pub temporary_view: Option<TemporaryView>,
    /// A sentence for the person.
    pub notice: Option<Notice>,
    /// What became of the text that was copied last, in words; `None` until that is known.
    pub copied: Option<String>,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// What the view measured at this size.
    pub geometry: Geometry,
    /// How far the feed was when the part of the list was read.
    as_of: i64,
    /// Whether the first reading is done.
    pub loaded: bool,
    /// Whether the list couldn't be read: the next second tries again.
    pub unread: bool,
    /// The same of what is counted.
    pub uncounted: bool,
}

impl Model {
    /// A dashboard that knows nothing yet.
    pub fn new(setting: Setting, size: (u16, u16)) -> Self {
        Self {
            own: Polled::default(),
            beside: vec![Polled::default(); setting.beside.len()],
            setting,
            transactions: HashMap::new(),
            alerts: HashMap::new(),
            profile_alerts: Vec::new(),
            overview: Overview::default(),
            untold: Vec::new(),
            list: List::default(),
            marks: Marks::default(),
            alert_list: AlertList::default(),
            screen: Screen::List,
            behind: Screen::List,
            charts: Charts::default(),
            log: LogPane::default(),
            overlay: Overlay::None,
            detail: Detail::default(),
            history: None,
            memory: Memory::default(),
            quote: None,
            looked_at: None,
            trouble: None,
            temporary_view: None,
            notice: None,
            copied: None,
            size,
            geometry: Geometry::default(),
            as_of: 0,
            loaded: false,
            unread: false,
            uncounted: false,
        }
    }

    /// Sets what the view measured.
    pub fn set_geometry(&mut self, geometry: Geometry) {
        self.geometry = geometry;
        (self.list.height, self.alert_list.height, self.charts.height) =
            (geometry.list, geometry.alerts, geometry.routes);
    }

    /// Goes on where a person left off.
    pub fn remember(&mut self, memory: Memory) {
        let tab = memory.tab();
        self.memory = memory;
        self.show_as_left(tab);
    }

    /// Shows another saved view, with the filter and the columns that it was left with.
    pub fn show(&mut self, tab: Tab) {
        if tab != self.list.tab {
            self.memory = self.to_remember();
            self.show_as_left(tab);
        }
    }

    fn show_as_left(&mut self, tab: Tab) {
        self.list.set_tab(tab);
        self.list.set_filter(self.memory.filter_of(tab), "");
        self.list.columns = self.memory.columns_of(tab);
    }

    /// What is to be remembered now.
    pub fn to_remember(&self) -> Memory {
        let mut memory = self.memory.clone();
        memory.leave(self.list.tab, &self.list.filter_text, &self.list.columns);
        self.without_temporary_view(memory)
    }

    /// Takes in a part of the list that was read.
    pub fn take_page(&mut self, request: &PageRequest, page: Page) {
        if request.view != self.list.view() {
            return;
        }
        self.list.held = self.is_open();
        let open = self.list.selected.filter(|_| self.list.held);
        let shown: BTreeSet<RowId> = page.order.iter().copied().chain(open).collect();
        self.transactions.retain(|row, _| shown.contains(row));
        self.alerts.retain(|row, _| shown.contains(row));
        for Listed { transaction, alerts } in page.rows {
            self.alerts.insert(transaction.id, alerts);
            self.transactions.insert(transaction.id, transaction);
        }
        self.as_of = page.as_of;
        let part = Part { rows: page.order, more_before: page.more_before, more_behind: page.more_behind };
        self.list.take_in(request, part);
        self.loaded = true;
    }

    /// Takes in what was read of a transaction apart from the list. What the list's part has of it counts for more: of that it is
    /// known how new it is.
    pub fn refresh_transaction(&mut self, Listed { transaction, alerts }: Listed) {
        let row = transaction.id;
        if !self.list.part.rows.contains(&row) {
            self.alerts.insert(row, alerts);
            self.transactions.insert(row, transaction);
        }
    }

    /// What is known of the part of the list that was read last.
    pub fn known(&self) -> Known {
        Known { rows: self.list.part.rows.iter().copied().collect(), as_of: self.as_of }
    }

    /// Takes in what was counted.
    pub fn take_overview(&mut self, overview: Overview) {
        self.list.counts = overview.tabs;
        let Listing { view, total, before } = overview.listed;
        if view == self.list.view() {
            self.list.total = Some(total);
            let first = self.list.part.rows.first();
            self.list.before =
                before.filter(|(row, _)| Some(row) == first).map(|(_, count)| count).or(self.list.before);
        }
        self.overview = overview;
    }

    /// What is snoozed until a moment that has come fires again, whether or not anybody polls who would write that down.
    pub fn end_snoozes(&mut self, now: DateTime<Utc>) {
        let of_list = self.alert_list.page.iter_mut().flat_map(|page| &mut page.rows).map(|row| &mut row.alert);
        let alerts = self.alerts.values_mut().flatten().chain(&mut self.profile_alerts);
        alerts.chain(of_list).for_each(|alert| alert.end_snooze(now));
    }

    /// The gravest of what stands for a whole profile and isn't set aside.
    pub fn profile_alert(&self) -> Option<&Alert> {
        self.profile_alerts.iter().find(|alert| alert.handling.is_none())
    }

    /// Marks the list as stale: it is read again.
    pub fn mark_stale(&mut self) {
        self.list.mark_stale();
    }

    /// Where commands are looked up now, unless a text field takes the keys: the first before the others.
    pub fn contexts(&self) -> &'static [Context] {
        match (&self.overlay, self.screen) {
            (Overlay::Help { .. } | Overlay::Answer { .. }, _) => &[Context::Page],
            (_, Screen::List) => &[Context::List],
            (_, Screen::Detail) => self.detail.tab.contexts(),
            (_, Screen::Alerts) => &[Context::Alerts],
            (_, Screen::Stats) => &[Context::Stats],
            (_, Screen::Log) => &[Context::Log],
        }
    }

    /// The selected transaction.
    pub fn selected(&self) -> Option<&Transaction> {
        self.transactions.get(&self.list.selected?)
    }

    /// The rows of a range that was begun, as far as what is selected; none if it reaches beyond what was read.
    pub fn range(&self) -> &[RowId] {
        let ends = self.marks.range.zip(self.list.selected);
        ends.and_then(|(begin, here)| marks::between(&self.list.part.rows, begin, here)).unwrap_or_default()
    }

    /// The transaction that the person is at: the selected one, or in the alerts the one that the alert is about.
    pub fn at_hand(&self) -> Option<&Transaction> {
        match self.screen {
            Screen::Alerts => self.alert_list.row()?.transaction.as_ref(),
            Screen::List | Screen::Detail => self.selected(),
            Screen::Stats | Screen::Log => None,
        }
    }

    /// Whether the charts or the log fill the screen.
    pub fn is_aside(&self) -> bool {
        matches!(self.screen, Screen::Stats | Screen::Log)
    }

    /// Whether a transaction is open, on the screen or behind the charts or the log.
    pub fn is_open(&self) -> bool {
        let screen = if self.is_aside() { self.behind } else { self.screen };
        screen == Screen::Detail
    }

    /// What stands for a transaction.
    pub fn alerts_of(&self, row: RowId) -> &[Alert] {
        self.alerts.get(&row).map_or(&[], Vec::as_slice)
    }

    /// Opens what is selected, from its summary.
    pub fn open_detail(&mut self) {
        (self.screen, self.detail) = (Screen::Detail, Detail::default());
    }

    /// The history of the selected transaction, once it was loaded.
    pub fn selected_history(&self) -> Option<&History> {
        let (row, history) = self.history.as_ref()?;
        (Some(*row) == self.list.selected).then_some(history)
    }

    /// The gravest of what stands for a transaction and isn't set aside.
    pub fn severity(&self, row: RowId) -> Option<Severity> {
        alert::urgency(self.alerts_of(row)).filter(|(fires, _)| *fires).map(|(_, severity)| severity)
    }

    /// How old the oldest answer is among those of the profile in force that are polled.
    pub fn oldest_age(&self, now: DateTime<Utc>) -> Option<Duration> {
        self.own.oldest_age(now)
    }

    /// The report of that profile's poller, unless no poller can be there any more.
    pub fn live_poller(&self, now: DateTime<Utc>) -> Option<&PollerReport> {
        self.own.live_poller(now)
    }

    /// Until when nothing of that profile is polled, since a person wants so.
    pub fn paused_until(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.own.paused_until(now)
    }

    /// Says something for a while.
    pub fn notify(&mut self, tone: Tone, text: impl Into<String>, now: Mono) {
        self.notice = Some(Notice { text: text.into(), tone, until: now + STANDS });
    }

    /// The person goes on to something else: what was said before that has been read, unless it was a moment ago.
    pub fn go_on(&mut self, now: Mono) {
        /// Longer than anybody takes to read a few words.
        const READ: Duration = Duration::from_secs(2);
        self.notice.take_if(|notice| notice.until + READ <= now + STANDS);
    }
}
