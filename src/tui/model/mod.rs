//! What the dashboard knows: the store's transactions and alerts, what is shown of them, and where the person is.
//!
//! Plain data. It must never hold a handle to anything: what it wants done goes out as an effect.

pub mod add;
pub mod history;
pub mod list;

use std::{collections::HashMap, time::Duration};

use chrono::{DateTime, FixedOffset, Utc};
use tui_input::Input;

use self::{add::AddForm, history::History, list::List};
use crate::{
    clock::Mono,
    domain::{
        alert::{self, Alert, Severity},
        answer::Templates,
        ids::RowId,
        transaction::Transaction,
    },
    store::{News, PollerReport},
};

/// What fills the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// The list, with the detail beside it where there is room.
    List,
    /// One transaction, scrolled down by so many lines.
    Detail {
        /// Lines that are scrolled away.
        scroll: usize,
    },
}

/// What lies over the screen and takes the keys.
#[derive(Debug, Default)]
pub enum Overlay {
    /// Nothing.
    #[default]
    None,
    /// The keys, scrolled down by so many lines.
    Help {
        /// Lines that are scrolled away.
        scroll: usize,
    },
    /// A reply for a ticket, as it was when it was asked for, scrolled down by so many lines.
    Answer {
        /// The reply.
        text: String,
        /// Lines that are scrolled away.
        scroll: usize,
    },
    /// The filter's line, with the text that holds again if it is left by Esc.
    Filter {
        /// What is being typed.
        input: Input,
        /// What held before.
        before: String,
        /// What was selected before: selected again whenever it is shown.
        selected: Option<RowId>,
    },
    /// Adding or finding.
    Add(AddForm),
}

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
    /// The profile.
    pub profile: String,
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
}

/// The dashboard's state.
#[derive(Debug)]
pub struct Model {
    /// What stays the same.
    pub setting: Setting,
    /// Everything that is tracked.
    pub transactions: HashMap<RowId, Transaction>,
    /// What stands for each transaction.
    pub alerts: HashMap<RowId, Vec<Alert>>,
    /// What stands for the whole profile, the gravest first.
    pub profile_alerts: Vec<Alert>,
    /// What is shown, in which order, and what is selected.
    pub list: List,
    /// What fills the screen.
    pub screen: Screen,
    /// What lies over it.
    pub overlay: Overlay,
    /// The history of the selected transaction, once it was loaded.
    pub history: Option<(RowId, History)>,
    /// What was last said to be open, and when.
    pub looked_at: Option<(RowId, Mono)>,
    /// What the profile's poller last said.
    pub poller: Option<PollerReport>,
    /// What stands in the way of keeping things in the store, if anything does.
    pub trouble: Option<String>,
    /// A sentence for the person.
    pub notice: Option<Notice>,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Whether the first reading is done.
    pub loaded: bool,
}

impl Model {
    /// A dashboard that knows nothing yet.
    pub fn new(setting: Setting, size: (u16, u16)) -> Self {
        Self {
            setting,
            transactions: HashMap::new(),
            alerts: HashMap::new(),
            profile_alerts: Vec::new(),
            list: List::default(),
            screen: Screen::List,
            overlay: Overlay::None,
            history: None,
            looked_at: None,
            poller: None,
            trouble: None,
            notice: None,
            size,
            loaded: false,
        }
    }

    /// Takes in what changed in the store. The list isn't put in order yet.
    pub fn take_in(&mut self, news: News, poller: Option<PollerReport>) {
        if news.anew {
            self.transactions.clear();
            self.loaded = true;
        }
        self.transactions.extend(news.transactions.into_iter().map(|transaction| (transaction.id, transaction)));
        if let Some(alerts) = news.alerts {
            (self.alerts, self.profile_alerts) = alert::by_subject(alerts);
            self.profile_alerts.retain(|alert| alert.profile == self.setting.profile);
            self.profile_alerts.sort_by_key(|alert| alert.rule);
        }
        self.poller = poller;
    }

    /// Puts the list in order again.
    pub fn arrange(&mut self, now: DateTime<Utc>) {
        self.list.held = matches!(self.screen, Screen::Detail { .. });
        self.list.arrange(&self.transactions, &self.alerts, now);
    }

    /// The selected transaction.
    pub fn selected(&self) -> Option<&Transaction> {
        self.transactions.get(&self.list.selected?)
    }

    /// What stands for a transaction.
    pub fn alerts_of(&self, row: RowId) -> &[Alert] {
        self.alerts.get(&row).map_or(&[], Vec::as_slice)
    }

    /// The gravest of what stands for a transaction.
    pub fn severity(&self, row: RowId) -> Option<Severity> {
        self.alerts_of(row).iter().map(|alert| alert.rule.severity()).max()
    }

    /// How many alerts stand, by severity: critical, warning, info.
    pub fn alert_counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for alert in self.alerts.values().flatten().chain(&self.profile_alerts) {
            match alert.rule.severity() {
                Severity::Critical => counts[0] += 1,
                Severity::Warning => counts[1] += 1,
                Severity::Info => counts[2] += 1,
            }
        }
        counts
    }

    /// The most urgent alert of a transaction: overdue first, of these the one that is due longest.
    pub fn most_urgent<'a>(&'a self) -> Option<(&'a Alert, &'a Transaction)> {
        let urgent = |(row, alerts): (&RowId, &'a Vec<Alert>)| {
            Some((alerts.iter().min_by_key(|alert| alert.rule)?, self.transactions.get(row)?))
        };
        self.alerts.iter().filter_map(urgent).min_by_key(|(alert, tx)| (alert.rule, tx.deadline().at, tx.id))
    }

    /// The oldest answer among those that are polled; of one never answered the time since it was first seen.
    pub fn oldest_answer(&self, now: DateTime<Utc>) -> Option<Duration> {
        let polled = self.transactions.values().filter(|tx| tx.profile == self.setting.profile && tx.wants_polling());
        let answer = |tx: &Transaction| tx.learned.last_checked_at.unwrap_or(tx.first_seen_at);
        polled.map(answer).min().map(|oldest| crate::domain::span::between(oldest, now))
    }

    /// The poller's report, unless no poller can be there any more.
    pub fn live_poller(&self, now: DateTime<Utc>) -> Option<&PollerReport> {
        self.poller.as_ref().filter(|report| report.is_live(now))
    }

    /// Says something for a while.
    pub fn tell(&mut self, tone: Tone, text: impl Into<String>, now: Mono) {
        /// Long enough to read two lines.
        const STANDS: Duration = Duration::from_secs(8);
        self.notice = Some(Notice { text: text.into(), tone, until: now + STANDS });
    }
}
