//! What is shown of the transactions, in which order, and what is selected.
//!
//! The selection follows the transaction, never the row: when the order changes, the selected one stays at its place on
//! the screen and the others move. Until a person chose one, the first and most urgent is selected.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::domain::{
    alert::Alert,
    filter::{self, Candidate, Filter, FilterError},
    ids::RowId,
    status::RouterStatus,
    transaction::{Tracking, Transaction},
};

/// A saved view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// Something stands as an alert.
    Attention,
    /// Under way.
    Active,
    /// Refunds.
    Refunds,
    /// Settled.
    Done,
    /// Everything.
    #[default]
    All,
}

impl Tab {
    /// All of them, in the order of their keys.
    pub const ALL: [Self; 5] = [Self::Attention, Self::Active, Self::Refunds, Self::Done, Self::All];

    /// The title, and a shorter one.
    pub fn titles(self) -> (&'static str, &'static str) {
        match self {
            Self::Attention => ("Attention", "Attn"),
            Self::Active => ("Active", "Act"),
            Self::Refunds => ("Refunds", "Ref"),
            Self::Done => ("Done", "Done"),
            Self::All => ("All", "All"),
        }
    }

    fn shows(self, candidate: &Candidate<'_>) -> bool {
        match self {
            Self::Attention => !candidate.alerts.is_empty(),
            Self::Active => !candidate.tx.is_settled() && candidate.tx.tracking != Tracking::Untracked,
            Self::Refunds => candidate.tx.learned.status == Some(RouterStatus::Refund),
            Self::Done => candidate.tx.is_settled(),
            Self::All => true,
        }
    }
}

/// The list's state.
#[derive(Debug)]
pub struct List {
    /// The saved view.
    pub tab: Tab,
    /// The filter as it was typed.
    pub filter_text: String,
    /// What is wrong with what is being typed; the filter before it still holds.
    pub filter_error: Option<FilterError>,
    filter: Filter,
    /// What is shown, in order.
    pub rows: Vec<RowId>,
    /// How many the saved view holds that the filter hides.
    pub hidden: usize,
    /// How many each saved view holds.
    pub counts: [usize; 5],
    /// The selected transaction.
    pub selected: Option<RowId>,
    /// Whether a person chose the selected one, by moving to it or doing something with it.
    pub chosen: bool,
    /// Whether the selected one stays though it isn't shown: it is open, and nothing else may take its place.
    pub held: bool,
    /// What is to be selected as soon as it is shown.
    pub wanted: Option<RowId>,
    /// The first row on the screen.
    pub top: usize,
    /// Rows that the screen has room for.
    pub height: usize,
}

impl Default for List {
    fn default() -> Self {
        Self {
            tab: Tab::default(),
            filter_text: String::new(),
            filter_error: None,
            filter: Filter::everything(),
            rows: Vec::new(),
            hidden: 0,
            counts: [0; 5],
            selected: None,
            chosen: false,
            held: false,
            wanted: None,
            top: 0,
            height: 1,
        }
    }
}

impl List {
    /// Where the selected transaction is.
    pub fn position(&self) -> Option<usize> {
        let selected = self.selected?;
        self.rows.iter().position(|row| *row == selected)
    }

    /// Takes what is typed as the filter, if it can be read; otherwise the filter before it holds, and what is wrong is kept
    /// beside it.
    pub fn set_filter(&mut self, text: &str, before: &str) {
        match Filter::parse(text) {
            Ok(filter) => (self.filter, self.filter_error) = (filter, None),
            Err(error) => {
                self.filter = Filter::parse(before).unwrap_or_else(|_| Filter::everything());
                self.filter_error = Some(error);
            }
        }
        self.filter_text = text.to_owned();
    }

    /// Puts the rows in order. Cost: n log n in what the saved view holds.
    pub fn arrange(
        &mut self,
        transactions: &HashMap<RowId, Transaction>,
        alerts: &HashMap<RowId, Vec<Alert>>,
        now: DateTime<Utc>,
    ) {
        let place = self.position();
        let candidates =
            transactions.values().map(|tx| Candidate { tx, alerts: alerts.get(&tx.id).map_or(&[], Vec::as_slice) });
        self.counts = [0; 5];
        self.hidden = 0;
        let mut shown = Vec::new();
        for candidate in candidates {
            for (count, tab) in self.counts.iter_mut().zip(Tab::ALL) {
                *count += usize::from(tab.shows(&candidate));
            }
            if self.tab.shows(&candidate) {
                match self.filter.matches(&candidate, now) {
                    true => shown.push(candidate),
                    false => self.hidden += 1,
                }
            }
        }
        shown.sort_by(|one, other| filter::compare(one, other, self.filter.sort(), now));
        self.rows = shown.into_iter().map(|candidate| candidate.tx.id).collect();
        self.follow(place);
    }

    /// Keeps the selected transaction at its place on the screen; if it isn't shown any more, the one at its place.
    fn follow(&mut self, place: Option<usize>) {
        if let Some(wanted) = self.wanted.filter(|wanted| self.rows.contains(wanted)) {
            (self.selected, self.wanted, self.chosen) = (Some(wanted), None, true);
            return self.scroll_into_view();
        }
        if !self.chosen {
            (self.selected, self.top) = (self.rows.first().copied(), 0);
            return;
        }
        let on_screen = place.unwrap_or(0).saturating_sub(self.top);
        match (self.position(), place) {
            (Some(new), _) => self.top = new.saturating_sub(on_screen),
            (None, _) if self.held => return,
            (None, old) => {
                let nearest = old.unwrap_or(self.top).min(self.rows.len().saturating_sub(1));
                self.selected = self.rows.get(nearest).copied();
            }
        }
        self.scroll_into_view();
    }

    /// Selects the row so many further down, or up; stops at the ends.
    pub fn move_by(&mut self, rows: isize) {
        let place = self.position().unwrap_or(0).saturating_add_signed(rows);
        self.select(place.min(self.rows.len().saturating_sub(1)));
    }

    /// Selects the row at this place, if there is one.
    pub fn select(&mut self, place: usize) {
        if let Some(row) = self.rows.get(place) {
            (self.selected, self.chosen) = (Some(*row), true);
        }
        self.scroll_into_view();
    }

    /// Scrolls as little as needed to show the selected row, and leaves no empty space below the last one.
    pub fn scroll_into_view(&mut self) {
        let height = self.height.max(1);
        if let Some(place) = self.position() {
            self.top = self.top.clamp(place.saturating_sub(height - 1), place);
        }
        self.top = self.top.min(self.rows.len().saturating_sub(height));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixtures;

    fn at() -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }

    fn transactions(ids: impl IntoIterator<Item = i64>) -> HashMap<RowId, Transaction> {
        ids.into_iter().map(|id| (RowId(id), fixtures::transaction(id))).collect()
    }

    fn list(ids: impl IntoIterator<Item = i64>) -> List {
        let mut list = List { height: 5, ..List::default() };
        list.arrange(&transactions(ids), &HashMap::new(), at());
        list
    }

    #[test]
    fn the_first_row_is_selected_and_moving_stops_at_the_ends() {
        let mut list = list(1..=3);
        assert_eq!(list.selected, Some(RowId(1)));
        list.move_by(10);
        assert_eq!(list.selected, Some(RowId(3)));
        list.move_by(-10);
        assert_eq!(list.selected, Some(RowId(1)));
    }

    #[test]
    fn the_selection_follows_the_transaction_at_its_place_on_the_screen() {
        let mut list = list(11..=30);
        list.select(10);
        let (selected, on_screen) = (list.selected, list.position().unwrap() - list.top);
        list.arrange(&transactions(1..=30), &HashMap::new(), at());
        assert_eq!((list.selected, list.position().unwrap() - list.top), (selected, on_screen));
    }

    #[test]
    fn until_a_person_chose_one_the_first_is_selected() {
        let mut list = list(11..=30);
        list.arrange(&transactions(1..=30), &HashMap::new(), at());
        assert_eq!((list.selected, list.top), (Some(RowId(1)), 0));
    }

    #[test]
    fn when_the_selected_one_goes_its_neighbour_is_selected() {
        let mut list = list(1..=5);
        list.select(2);
        list.arrange(&transactions([1, 2, 4, 5]), &HashMap::new(), at());
        assert_eq!(list.selected, Some(RowId(4)));
        list.arrange(&transactions([]), &HashMap::new(), at());
        assert_eq!((list.selected, list.top), (None, 0));
    }

    #[test]
    fn a_filter_that_cannot_be_read_leaves_the_one_before() {
        let mut list = List::default();
        list.set_filter("is:nonsense", "");
        assert!(list.filter_error.is_some());
        list.arrange(&transactions(1..=3), &HashMap::new(), at());
        assert_eq!((list.rows.len(), list.hidden), (3, 0));
        list.set_filter("quote-none", "");
        list.arrange(&transactions(1..=3), &HashMap::new(), at());
        assert_eq!((list.rows.len(), list.hidden), (0, 3));
    }
}
