//! What is shown of the transactions: a part of the list around what is selected, however long the list is.
//!
//! The store puts the list in order and counts it; here is the part that was read, and what is to be read next. The selection
//! follows the transaction, never the row: when the order changes, the selected one stays at its place on the screen and the
//! others move. Until a person chose one, the first and most urgent is selected.

use super::columns::Columns;
use crate::{
    domain::{
        filter::{
            Filter, FilterError,
            term::{State, Term},
        },
        ids::RowId,
        status::RouterStatus,
    },
    store::Place,
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

    /// What it shows.
    pub fn filter(self) -> Filter {
        match self {
            Self::Attention => Filter::of_terms([Term::is(State::Attention)]),
            Self::Active => Filter::of_terms([Term::is(State::Active)]),
            Self::Refunds => Filter::of_terms([Term::status(RouterStatus::Refund)]),
            Self::Done => Filter::of_terms([Term::is(State::Settled)]),
            Self::All => Filter::everything(),
        }
    }
}

/// A part of the list that is to be read.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The number of the view that it is for: saved view and filter.
    pub view: u64,
    /// What passes, and in which order.
    pub filter: Filter,
    /// Where it lies.
    pub place: Place,
    /// At most so many rows.
    pub length: usize,
}

impl PartialEq for PageRequest {
    fn eq(&self, other: &Self) -> bool {
        (self.view, &self.place, self.length) == (other.view, &other.place, other.length)
    }
}

/// What was read of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The rows, in order.
    pub rows: Vec<RowId>,
    /// Whether there are rows before these.
    pub more_before: bool,
    /// Whether there are rows behind these.
    pub more_behind: bool,
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
    view: u64,
    /// What is shown of each transaction.
    pub columns: Columns,
    /// The part that was read.
    pub part: Part,
    /// How many rows stand before it, if that is known.
    pub before: Option<u64>,
    /// How many rows there are, if that is known.
    pub total: Option<u64>,
    /// How many each saved view holds.
    pub counts: [u64; 5],
    /// The selected transaction.
    pub selected: Option<RowId>,
    /// Whether a person chose the selected one, by moving to it or doing something with it.
    pub chosen: bool,
    /// Whether the selected one stays though it isn't shown: it is open, and nothing else may take its place.
    pub held: bool,
    /// What is to be selected as soon as it is shown.
    pub wanted: Option<RowId>,
    /// The first row on the screen, in the part that was read.
    pub top: usize,
    /// Rows that the screen has room for.
    pub height: usize,
    /// Where a person jumps to, until that was read.
    jump: Option<Jump>,
    /// So many rows further a person has moved than was read.
    owed: isize,
    /// Whether another view or filter is shown than was read.
    is_new: bool,
    /// Whether it is to be read again.
    stale: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Jump {
    First,
    Last,
}

impl Default for List {
    fn default() -> Self {
        Self {
            tab: Tab::default(),
            filter_text: String::new(),
            filter_error: None,
            filter: Filter::everything(),
            view: 0,
            columns: Columns::default(),
            part: Part::default(),
            before: None,
            total: None,
            counts: [0; 5],
            selected: None,
            chosen: false,
            held: false,
            wanted: None,
            top: 0,
            height: 1,
            jump: None,
            owed: 0,
            is_new: true,
            stale: true,
        }
    }
}

impl List {
    /// Where the selected transaction is, in the part that was read.
    pub fn position(&self) -> Option<usize> {
        let selected = self.selected?;
        self.part.rows.iter().position(|row| *row == selected)
    }

    /// Which row the selected one is, and of how many: `-` where that isn't known.
    pub fn standing(&self) -> (String, String) {
        let known = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let number = match self.position() {
            None => Some(0),
            Some(place) => self.before.map(|before| before + place as u64 + 1),
        };
        (known(number), known(self.total))
    }

    /// How many of the saved view the filter hides, if that is known.
    pub fn hidden(&self) -> Option<u64> {
        let [attention, active, refunds, done, all] = self.counts;
        let held = match self.tab {
            Tab::Attention => attention,
            Tab::Active => active,
            Tab::Refunds => refunds,
            Tab::Done => done,
            Tab::All => all,
        };
        Some(held.saturating_sub(self.total?))
    }

    /// What passes, and in which order: the saved view and the filter.
    pub fn listed(&self) -> Filter {
        self.filter.and(&self.tab.filter())
    }

    /// The saved view that is shown, if nothing of it is filtered out.
    pub fn whole_tab(&self) -> Option<Tab> {
        self.filter.terms().is_empty().then_some(self.tab)
    }

    /// The number of what is shown: another saved view or another filter has another.
    pub fn view(&self) -> u64 {
        self.view
    }

    /// Whether another view or filter is shown than was read.
    pub fn is_searching(&self) -> bool {
        self.is_new
    }

    /// Shows another saved view.
    pub fn set_tab(&mut self, tab: Tab) {
        if self.tab != tab {
            self.tab = tab;
            self.reset_view();
        }
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
        self.reset_view();
    }

    fn reset_view(&mut self) {
        self.view += 1;
        (self.before, self.total, self.jump, self.owed) = (None, None, None, 0);
        (self.is_new, self.stale) = (true, true);
    }

    /// Marks the list as stale: it is read again.
    pub fn mark_stale(&mut self) {
        self.stale = true;
    }

    /// Selects a transaction as soon as it is shown.
    pub fn want(&mut self, row: RowId) {
        (self.wanted, self.stale) = (Some(row), true);
    }

    /// What is to be read now, if anything is.
    pub fn to_read(&mut self) -> Option<PageRequest> {
        std::mem::take(&mut self.stale).then(|| {
            let reach = self.reach();
            PageRequest { view: self.view, filter: self.listed(), place: self.place(), length: 2 * reach + self.height }
        })
    }

    /// So many rows are read beyond the screen on each side.
    fn reach(&self) -> usize {
        2 * self.height.max(10)
    }

    fn place(&self) -> Place {
        match self.jump {
            Some(Jump::First) => return Place::First,
            Some(Jump::Last) => return Place::Last,
            None if self.wanted.is_none() && !self.chosen => return Place::First,
            None => {}
        }
        let near = if self.is_new { Vec::new() } else { self.neighbours() };
        Place::Around { rows: self.wanted.into_iter().chain(self.selected).chain(near).collect(), before: self.reach() }
    }

    /// The rows around the selected one, those behind it first: if it has left, the first that is still there takes its place.
    fn neighbours(&self) -> Vec<RowId> {
        let here = self.position().unwrap_or(self.top).min(self.part.rows.len());
        let (before, behind) = self.part.rows.split_at(here);
        behind.iter().take(self.reach()).chain(before.iter().rev().take(self.reach())).copied().collect()
    }

    /// Takes in a part that was read, unless another view or filter is shown by now.
    pub fn take_in(&mut self, request: &PageRequest, part: Part) {
        if request.view != self.view {
            return;
        }
        let shows_the_first = self.top == 0 && !self.part.more_before;
        let on_screen = self.position().filter(|_| !shows_the_first).map(|place| place.saturating_sub(self.top));
        let near = self.neighbours();
        let was_new = std::mem::take(&mut self.is_new);
        self.count_before(&part, was_new);
        self.part = part;
        // What was chosen isn't in this view: it begins with its most urgent one.
        self.chosen &= !was_new || self.held || self.position().is_some();
        match (self.jump, &request.place) {
            (Some(Jump::First), Place::First) => {
                (self.jump, self.top) = (None, 0);
                return self.select(0);
            }
            (Some(Jump::Last), Place::Last) => {
                self.jump = None;
                return self.select(self.part.rows.len().saturating_sub(1));
            }
            // Read for the place before.
            (Some(_), _) => return self.stale = true,
            (None, _) => {}
        }
        self.follow(on_screen, &near);
        let owed = std::mem::take(&mut self.owed);
        if owed != 0 {
            self.move_by(owed);
        }
    }

    /// Counts the rows before a part, as far as the one before it tells.
    fn count_before(&mut self, part: &Part, is_other: bool) {
        let place = |rows: &[RowId], row: Option<&RowId>| rows.iter().position(|own| Some(own) == row);
        let later = place(&self.part.rows, part.rows.first()).and_then(|shift| u64::try_from(shift).ok());
        let earlier = place(&part.rows, self.part.rows.first()).and_then(|shift| u64::try_from(shift).ok());
        let known = self.before.filter(|_| !is_other);
        self.before = match (part.more_before, known, later, earlier) {
            (false, ..) => Some(0),
            (true, Some(before), Some(shift), _) => Some(before + shift),
            (true, Some(before), None, Some(shift)) => before.checked_sub(shift),
            _ => None,
        };
        let length = part.rows.len() as u64;
        match (part.more_behind, self.before, self.total) {
            (false, Some(before), _) => self.total = Some(before + length),
            // At the end of a list that was counted.
            (false, None, Some(total)) if !is_other => self.before = total.checked_sub(length),
            _ => {}
        }
    }

    /// Keeps the selected transaction at its place on the screen, if it has one to keep: where the first row is shown it stays in
    /// sight, as far as the selected one lets it. If that isn't there any more, its neighbour takes its place.
    fn follow(&mut self, on_screen: Option<usize>, near: &[RowId]) {
        if let Some(wanted) = self.wanted.filter(|wanted| self.part.rows.contains(wanted)) {
            (self.selected, self.wanted, self.chosen) = (Some(wanted), None, true);
            return self.scroll_into_view();
        }
        if !self.chosen {
            (self.selected, self.top) = (self.part.rows.first().copied(), 0);
            return;
        }
        if self.position().is_none() {
            if self.held {
                return;
            }
            let neighbour = near.iter().find(|row| self.part.rows.contains(row));
            let before = std::mem::replace(&mut self.selected, neighbour.or(self.part.rows.last()).copied());
            if self.selected.is_none() {
                // When anything is shown again, it is likely to be among that.
                self.wanted = self.wanted.or(before);
            }
        }
        self.top = on_screen.map_or(0, |on_screen| self.position().unwrap_or(0).saturating_sub(on_screen));
        self.scroll_into_view();
    }

    /// Selects the row so many further down, or up; stops at the ends.
    pub fn move_by(&mut self, rows: isize) {
        // Who moves doesn't wait for anything else any more.
        self.wanted = None;
        match rows {
            isize::MIN => return self.jump(Jump::First),
            isize::MAX => return self.jump(Jump::Last),
            _ => {}
        }
        let rows = rows.saturating_add(std::mem::take(&mut self.owed));
        let here = self.position().unwrap_or(0);
        let last = self.part.rows.len().saturating_sub(1);
        let there = here.saturating_add_signed(rows).min(last);
        let moved = there as isize - here as isize;
        let more = if rows > 0 { self.part.more_behind } else { self.part.more_before };
        // No person moves further than that before it is read.
        let most = 100 * self.reach() as isize;
        self.owed = if more { (rows - moved).clamp(-most, most) } else { 0 };
        self.select(there);
        let near_the_end =
            (there < self.height && self.part.more_before) || (last - there < self.height && self.part.more_behind);
        self.stale |= near_the_end;
    }

    fn jump(&mut self, to: Jump) {
        self.owed = 0;
        match to {
            // A jump before it that hasn't been read yet is overtaken.
            Jump::First if !self.part.more_before => {
                self.jump = None;
                self.select(0);
            }
            Jump::Last if !self.part.more_behind => {
                self.jump = None;
                self.select(self.part.rows.len().saturating_sub(1));
            }
            _ => (self.jump, self.stale) = (Some(to), true),
        }
    }

    /// Selects the row at this place of the part that was read, if there is one.
    pub fn select(&mut self, place: usize) {
        if let Some(row) = self.part.rows.get(place) {
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
        self.top = self.top.min(self.part.rows.len().saturating_sub(height));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(ids: impl IntoIterator<Item = i64>) -> Vec<RowId> {
        ids.into_iter().map(RowId).collect()
    }

    /// A list that is read from these rows of the store until nothing more is to be read.
    fn settle(list: &mut List, all: &[RowId]) {
        while let Some(request) = list.to_read() {
            let place = |row: &RowId| all.iter().position(|own| own == row);
            let from = match &request.place {
                Place::First => 0,
                Place::Last => all.len().saturating_sub(request.length),
                Place::Around { rows, before } => {
                    rows.iter().find_map(place).map_or(0, |at| at.saturating_sub(*before))
                }
            };
            let to = (from + request.length).min(all.len());
            let part = Part { rows: all[from..to].to_vec(), more_before: from > 0, more_behind: to < all.len() };
            list.take_in(&request, part);
        }
    }

    fn list(all: &[RowId]) -> List {
        let mut list = List { height: 5, ..List::default() };
        settle(&mut list, all);
        list
    }

    fn again(list: &mut List, all: &[RowId]) {
        list.mark_stale();
        settle(list, all);
    }

    #[test]
    fn the_first_row_is_selected_and_moving_stops_at_the_ends() {
        let mut list = list(&rows(1..=3));
        assert_eq!(list.selected, Some(RowId(1)));
        list.move_by(10);
        assert_eq!(list.selected, Some(RowId(3)));
        list.move_by(-10);
        assert_eq!(list.selected, Some(RowId(1)));
    }

    #[test]
    fn the_selection_follows_the_transaction_at_its_place_on_the_screen() {
        let mut list = list(&rows(11..=30));
        list.select(10);
        let (selected, on_screen) = (list.selected, list.position().unwrap() - list.top);
        again(&mut list, &rows(1..=30));
        assert_eq!((list.selected, list.position().unwrap() - list.top), (selected, on_screen));
    }

    #[test]
    fn the_first_row_stays_in_sight_as_far_as_the_selected_one_lets_it() {
        let mut list = list(&rows(11..=30));
        list.select(2);
        again(&mut list, &rows([10].into_iter().chain(11..=30)));
        assert_eq!((list.position(), list.top), (Some(3), 0), "news push nothing off the top");
        let sunk = (10..=12).chain(14..=18).chain([13]).chain(19..=30);
        again(&mut list, &rows(sunk));
        assert_eq!(
            (list.selected, list.position(), list.top),
            (Some(RowId(13)), Some(8), 4),
            "it is the last in sight"
        );
    }

    #[test]
    fn until_a_person_chose_one_the_first_is_selected() {
        let mut list = list(&rows(11..=30));
        again(&mut list, &rows(1..=30));
        assert_eq!((list.selected, list.top), (Some(RowId(1)), 0));
    }

    #[test]
    fn the_neighbour_takes_the_place_of_what_left() {
        let mut list = list(&rows(1..=5));
        list.select(2);
        again(&mut list, &rows([1, 2, 4, 5]));
        assert_eq!(list.selected, Some(RowId(4)));
        again(&mut list, &[]);
        assert_eq!(list.selected, None);
        again(&mut list, &rows(1..=5));
        assert_eq!(list.selected, Some(RowId(4)), "as if nothing had been hidden");
    }

    #[test]
    fn what_is_wanted_is_selected_as_soon_as_it_is_shown() {
        let mut list = list(&rows(1..=2));
        list.want(RowId(3));
        settle(&mut list, &rows(1..=2));
        assert_eq!(list.selected, Some(RowId(1)));
        again(&mut list, &rows(1..=3));
        assert_eq!((list.selected, list.wanted), (Some(RowId(3)), None));
    }

    #[test]
    fn a_long_list_is_gone_through_from_end_to_end_with_a_part_of_it_in_memory() {
        let all = rows(1..=10_000);
        let mut list = list(&all);
        for step in [1, 4, 30, 300, -7_isize] {
            list.move_by(step);
            settle(&mut list, &all);
        }
        let place = 1 + 1 + 4 + 30 + 300 - 7_i64;
        assert_eq!(list.selected, Some(RowId(place)));
        assert_eq!(list.before.unwrap() + list.position().unwrap() as u64 + 1, place as u64);
        list.move_by(isize::MAX);
        settle(&mut list, &all);
        assert_eq!((list.selected, list.part.more_behind), (Some(RowId(10_000)), false));
        for _ in 0..5 {
            list.move_by(-100);
        }
        settle(&mut list, &all);
        assert_eq!(list.selected, Some(RowId(9_500)), "moves that weren't read yet are all made");
        list.move_by(isize::MIN);
        list.move_by(isize::MAX);
        settle(&mut list, &all);
        assert_eq!(list.selected, Some(RowId(10_000)), "the last jump counts");
        list.move_by(isize::MIN);
        settle(&mut list, &all);
        assert_eq!((list.selected, list.part.more_before), (Some(RowId(1)), false));
        assert!(list.part.rows.len() < 100, "{}", list.part.rows.len());
    }

    #[test]
    fn a_part_of_another_view_is_not_taken_in() {
        let mut list = List { height: 5, ..List::default() };
        let request = list.to_read().unwrap();
        list.set_filter("vip", "");
        list.take_in(&request, Part { rows: rows(1..=5), ..Part::default() });
        assert_eq!(list.part, Part::default());
    }
}
