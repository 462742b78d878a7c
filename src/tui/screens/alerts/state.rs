//! The list of alerts: the active and the resolved alerts, grouped by rule, the most severe first, and the selection.
//!
//! A folded group is one row, its first alert; an action on that row applies to the whole group. Resolved alerts are
//! not grouped: the newest comes first.
//!
//! The selection follows the alert, never the row. The list holds at most [`AlertList::MAX_ALERTS`] alerts, and shows whether
//! there are more.

use std::collections::BTreeSet;

use crate::{
    clock::MonotonicTime,
    domain::{
        alert::{Alert, Rule},
        filter::Direction,
        ids::RowId,
        named::named,
        transaction::Transaction,
    },
};

named! {
    /// A tab of the list, from left to right: the alerts in one state.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum AlertTab: title, ALL {
        /// All active alerts.
        #[default]
        All "All",
        /// Active alerts that are neither acknowledged nor snoozed.
        Firing "Firing",
        /// Acknowledged alerts.
        Acknowledged "Acked",
        /// Snoozed alerts.
        Snoozed "Snoozed",
        /// Alerts that were resolved in the last 24 hours.
        Resolved "Resolved 24h",
    }
}

impl AlertTab {
    fn contains(self, alert: &Alert) -> bool {
        let is_active = alert.cleared_at.is_none();
        match self {
            Self::All => is_active,
            Self::Firing => is_active && alert.handling.is_none(),
            Self::Acknowledged => is_active && alert.acknowledged().is_some(),
            Self::Snoozed => is_active && alert.snoozed().is_some(),
            Self::Resolved => !is_active,
        }
    }
}

/// An alert and its transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertRow {
    pub alert: Alert,
    /// The alert's transaction; `None` for an alert of the whole profile.
    pub transaction: Option<Transaction>,
}

/// The alerts that were loaded from the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlertPage {
    /// The most severe active alerts, in order, then the alerts that were resolved in the last 24 hours.
    pub rows: Vec<AlertRow>,
    /// Whether the store has more active alerts.
    pub has_more_active: bool,
    /// Whether the store has more alerts that were resolved in the last 24 hours.
    pub has_more_resolved: bool,
}

/// The list's state.
#[derive(Debug, Default)]
pub struct AlertList {
    /// The open tab.
    pub tab: AlertTab,
    /// The loaded alerts; `None` before the first load.
    pub page: Option<AlertPage>,
    /// The ID of the selected alert in the store.
    pub selected: Option<i64>,
    /// The first row on the screen.
    pub top: usize,
    /// The number of rows that fit on the screen.
    pub height: usize,
    /// Whether the open transaction was opened from this list.
    pub returns_to_alerts: bool,
    /// Whether the store may have changed since the last load.
    pub is_stale: bool,
    /// Whether a load is running.
    pub is_loading: bool,
    /// When the last load was requested.
    pub load_requested_at: Option<MonotonicTime>,
    /// The rules whose groups are folded.
    folded: BTreeSet<Rule>,
    /// The alert that is being acknowledged or snoozed, and the alert that is selected after that.
    handled_and_next: Option<(i64, i64)>,
}

impl AlertList {
    /// The most alerts that are loaded.
    pub const MAX_ALERTS: usize = 1_000;

    /// Returns a transaction with a loaded alert.
    pub fn transaction(&self, row: RowId) -> Option<&Transaction> {
        let mut transactions = self.page.iter().flat_map(|page| &page.rows).filter_map(|row| row.transaction.as_ref());
        transactions.find(|transaction| transaction.id == row)
    }

    /// Returns the number of loaded alerts in a tab.
    pub fn count(&self, tab: AlertTab) -> usize {
        self.rows_of(tab).count()
    }

    fn rows_of(&self, tab: AlertTab) -> impl Iterator<Item = &AlertRow> {
        self.page.iter().flat_map(|page| &page.rows).filter(move |row| tab.contains(&row.alert))
    }

    /// Returns the rows of the open tab, in order; of a folded group only the first.
    pub fn rows(&self) -> Vec<&AlertRow> {
        let mut group = None;
        let is_shown = |row: &&AlertRow| {
            let is_first = group.replace(group_of(&row.alert)) != Some(group_of(&row.alert));
            is_first || !self.is_folded(&row.alert)
        };
        self.rows_of(self.tab).filter(is_shown).collect()
    }

    /// Returns the alerts of the open tab in the group of an alert, in order. A resolved alert is alone.
    pub fn group(&self, of: &Alert) -> Vec<&AlertRow> {
        let same = |row: &&AlertRow| match of.cleared_at {
            None => group_of(&row.alert) == group_of(of),
            Some(_) => row.alert.id == of.id,
        };
        self.rows_of(self.tab).filter(same).collect()
    }

    /// Whether the group of an active alert is folded.
    pub fn is_folded(&self, alert: &Alert) -> bool {
        alert.cleared_at.is_none() && self.folded.contains(&alert.rule)
    }

    /// Returns the alerts that an action applies to: the selected one, or all of its group if that is folded.
    pub fn target_rows(&self) -> Vec<&AlertRow> {
        match self.selected_row() {
            Some(row) if self.is_folded(&row.alert) => self.group(&row.alert),
            row => row.into_iter().collect(),
        }
    }

    /// Returns the transactions of the alerts that an action applies to.
    pub fn target_transactions(&self) -> Vec<RowId> {
        self.target_rows().into_iter().filter_map(|row| row.alert.transaction).collect()
    }

    /// Returns the IDs of the alerts that an action applies to.
    pub fn targets(&self) -> Vec<i64> {
        self.target_rows().iter().map(|row| row.alert.id).collect()
    }

    /// Folds the group of the selected alert, and selects its first alert; or unfolds it.
    pub fn toggle_fold(&mut self) {
        let Some(row) = self.selected_row().filter(|row| row.alert.cleared_at.is_none()) else { return };
        let (rule, first) = (row.alert.rule, self.group(&row.alert).first().map(|row| row.alert.id));
        if !self.folded.remove(&rule) {
            self.folded.insert(rule);
            self.selected = first;
        }
        self.scroll_into_view();
    }

    /// Folds every group; if all are folded, unfolds every group.
    pub fn toggle_all_folds(&mut self) {
        let rules: BTreeSet<Rule> = self.rows_of(AlertTab::All).map(|row| row.alert.rule).collect();
        self.folded = if rules.is_subset(&self.folded) { BTreeSet::new() } else { rules };
        let first = self.selected_row().and_then(|row| self.group(&row.alert).first().map(|row| row.alert.id));
        if self.position().is_none() {
            self.selected = first;
        }
        self.scroll_into_view();
    }

    /// Returns the selected row.
    pub fn selected_row(&self) -> Option<&AlertRow> {
        self.rows_of(self.tab).find(|row| Some(row.alert.id) == self.selected)
    }

    /// Returns the index of the selected row in the open tab.
    pub fn position(&self) -> Option<usize> {
        self.rows().iter().position(|row| Some(row.alert.id) == self.selected)
    }

    /// Returns all active alerts of a transaction.
    pub fn alerts_of(&self, row: RowId) -> Vec<Alert> {
        let own = |found: &&AlertRow| found.alert.transaction == Some(row);
        self.rows_of(AlertTab::All).filter(own).map(|found| found.alert.clone()).collect()
    }

    /// Shows the loaded alerts. If the selected alert isn't among these, its neighbour is selected.
    pub fn apply_page(&mut self, mut page: AlertPage) {
        let position = self.position().unwrap_or(0);
        // Handled alerts come last, but are still shown. The sort keeps the order within a group, and of resolved
        // alerts.
        page.rows.sort_by_key(|row| {
            (row.alert.cleared_at.is_some(), row.alert.cleared_at.is_none().then(|| group_of(&row.alert)))
        });
        self.page = Some(page);
        let is_handled = self.selected_row().is_some_and(|row| row.alert.handling.is_some());
        if let Some((handled, next)) =
            self.handled_and_next.take_if(|(handled, _)| is_handled && self.selected == Some(*handled))
        {
            let has_next = self.rows().iter().any(|row| row.alert.id == next);
            self.selected = Some(if has_next { next } else { handled });
        }
        if self.position().is_none() {
            self.select(position);
        }
        self.scroll_into_view();
    }

    /// Opens the next or the previous tab; the first comes after the last.
    pub fn show_next_tab(&mut self, direction: Direction) {
        self.show_tab(direction.neighbor(&AlertTab::ALL, self.tab));
    }

    /// Opens a tab.
    pub fn show_tab(&mut self, tab: AlertTab) {
        self.tab = tab;
        if self.position().is_none() {
            self.select(0);
        }
        self.scroll_into_view();
    }

    /// Plans the next selection while the selected alert is acknowledged or snoozed: the next firing alert, or the
    /// previous one.
    pub fn plan_next_selection(&mut self) {
        let rows = self.rows();
        let here = self.position().unwrap_or(0);
        let handled = self.targets();
        let fires = |row: &&&AlertRow| row.alert.handling.is_none() && !handled.contains(&row.alert.id);
        let after = rows.iter().skip(here).find(fires);
        let next = after.or_else(|| rows.iter().take(here).rev().find(fires)).map(|row| row.alert.id);
        self.handled_and_next = self.selected.zip(next);
    }

    /// Moves the selection down by so many rows, or up; stops at the ends.
    pub fn move_by(&mut self, rows: isize) {
        self.handled_and_next = None;
        self.select(self.position().unwrap_or(0).saturating_add_signed(rows));
    }

    /// Selects the row at this index, or the last row.
    fn select(&mut self, position: usize) {
        let rows = self.rows();
        self.selected = rows.get(position).or(rows.last()).map(|row| row.alert.id);
        self.scroll_into_view();
    }

    /// Scrolls the selected row into view.
    pub fn scroll_into_view(&mut self) {
        self.top = super::super::scroll(self.top, self.position(), self.height, self.rows().len());
    }
}

/// Returns the group of an active alert: handled alerts come last, each rule is a group.
pub(super) fn group_of(alert: &Alert) -> (bool, Rule) {
    (alert.handling.is_some(), alert.rule)
}
