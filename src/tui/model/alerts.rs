//! The alerts' own list: what stands, the gravest first, and which of it a person looks at.
//!
//! The selection follows the alert, never the row. It holds no more than [`AlertList::MOST`], and says when there are more.

use crate::{
    clock::Mono,
    domain::{
        alert::{Alert, Subject},
        ids::RowId,
        transaction::Transaction,
    },
};

/// Which alerts are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlertTab {
    /// All that stand.
    #[default]
    All,
    /// Those of which nobody has said anything.
    Firing,
    /// Those that somebody has taken on.
    Acknowledged,
    /// Those that somebody doesn't want to hear of for now.
    Snoozed,
    /// Those that were cleared in the last day.
    Resolved,
}

impl AlertTab {
    /// All of them, from left to right.
    pub const ALL: [Self; 5] = [Self::All, Self::Firing, Self::Acknowledged, Self::Snoozed, Self::Resolved];

    /// The title.
    pub fn title(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::Firing => "Firing",
            Self::Acknowledged => "Acked",
            Self::Snoozed => "Snoozed",
            Self::Resolved => "Resolved 24h",
        }
    }

    fn holds(self, alert: &Alert) -> bool {
        let stands = alert.cleared_at.is_none();
        match self {
            Self::All => stands,
            Self::Firing => stands && alert.handling.is_none(),
            Self::Acknowledged => stands && alert.acknowledged().is_some(),
            Self::Snoozed => stands && alert.snoozed().is_some(),
            Self::Resolved => !stands,
        }
    }
}

/// An alert, and the transaction that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertRow {
    /// The alert.
    pub alert: Alert,
    /// Its transaction; `None` if it is about the whole profile.
    pub transaction: Option<Transaction>,
}

/// What was read of the alerts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlertPage {
    /// The gravest of what stands, in order, and what was cleared in the last day.
    pub rows: Vec<AlertRow>,
    /// Whether there are more.
    pub more: bool,
}

/// The list's state.
#[derive(Debug, Default)]
pub struct AlertList {
    /// Which ones are shown.
    pub tab: AlertTab,
    /// What was read; `None` before the first reading.
    pub page: Option<AlertPage>,
    /// The selected alert, by the store's number.
    pub selected: Option<i64>,
    /// The first row on the screen.
    pub top: usize,
    /// Rows that the screen has room for.
    pub height: usize,
    /// Whether the transaction that is open was opened from here.
    pub is_behind: bool,
    /// Whether it may look otherwise by now.
    pub stale: bool,
    /// When it was last asked for.
    pub asked_at: Option<Mono>,
    /// The one that the person is taking on or snoozing, and the one that they go on with then.
    leaving: Option<(i64, i64)>,
}

impl AlertList {
    /// The most that is read.
    pub const MOST: usize = 1_000;

    /// How many a tab holds, of what was read.
    pub fn count(&self, tab: AlertTab) -> usize {
        self.rows_of(tab).count()
    }

    fn rows_of(&self, tab: AlertTab) -> impl Iterator<Item = &AlertRow> {
        self.page.iter().flat_map(|page| &page.rows).filter(move |row| tab.holds(&row.alert))
    }

    /// What is shown, in order.
    pub fn rows(&self) -> Vec<&AlertRow> {
        self.rows_of(self.tab).collect()
    }

    /// The selected one.
    pub fn row(&self) -> Option<&AlertRow> {
        self.rows_of(self.tab).find(|row| Some(row.alert.id) == self.selected)
    }

    /// Where the selected one stands.
    pub fn position(&self) -> Option<usize> {
        self.rows_of(self.tab).position(|row| Some(row.alert.id) == self.selected)
    }

    /// What else stands for a transaction, with the selected one.
    pub fn alerts_of(&self, row: RowId) -> Vec<Alert> {
        let own = |found: &&AlertRow| found.alert.subject == Subject::Transaction(row);
        self.rows_of(AlertTab::All).filter(own).map(|found| found.alert.clone()).collect()
    }

    /// Takes in what was read. If the selected one has left, its neighbour takes its place.
    pub fn take_in(&mut self, mut page: AlertPage) {
        let place = self.position().unwrap_or(0);
        // What somebody looks after sinks, and stays in sight.
        page.rows.sort_by_key(|row| row.alert.handling.is_some());
        self.page = Some(page);
        let has_sunk = self.row().is_some_and(|row| row.alert.handling.is_some());
        if let Some((left, next)) = self.leaving.take_if(|(left, _)| has_sunk && self.selected == Some(*left)) {
            let has_next = self.rows().iter().any(|row| row.alert.id == next);
            self.selected = Some(if has_next { next } else { left });
        }
        if self.position().is_none() {
            self.select(place);
        }
        self.scroll_into_view();
    }

    /// Shows the next tab, or the one before.
    pub fn turn(&mut self, forwards: bool) {
        let count = AlertTab::ALL.len();
        let here = AlertTab::ALL.iter().position(|tab| *tab == self.tab).unwrap_or(0);
        let there = (here + if forwards { 1 } else { count - 1 }) % count;
        self.tab = AlertTab::ALL.get(there).copied().unwrap_or_default();
        if self.position().is_none() {
            self.select(0);
        }
        self.scroll_into_view();
    }

    /// The person sets the selected one aside: once it has sunk they go on with the next that fires, or the one before.
    pub fn select_next_firing(&mut self) {
        let rows = self.rows();
        let here = self.position().unwrap_or(0);
        let fires = |row: &&&AlertRow| row.alert.handling.is_none() && Some(row.alert.id) != self.selected;
        let after = rows.iter().skip(here).find(fires);
        let next = after.or_else(|| rows.iter().take(here).rev().find(fires)).map(|row| row.alert.id);
        self.leaving = self.selected.zip(next);
    }

    /// Selects the row so many further down, or up; stops at the ends.
    pub fn move_by(&mut self, rows: isize) {
        self.leaving = None;
        self.select(self.position().unwrap_or(0).saturating_add_signed(rows));
    }

    /// Selects the row at this place, or the last one.
    fn select(&mut self, place: usize) {
        let rows = self.rows();
        self.selected = rows.get(place).or(rows.last()).map(|row| row.alert.id);
        self.scroll_into_view();
    }

    /// Scrolls as little as needed to show the selected row, and leaves no empty space below the last one.
    pub fn scroll_into_view(&mut self) {
        let height = self.height.max(1);
        if let Some(place) = self.position() {
            self.top = self.top.clamp(place.saturating_sub(height - 1), place);
        }
        self.top = self.top.min(self.count(self.tab).saturating_sub(height));
    }
}
