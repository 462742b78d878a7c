//! The list's state: the part of the list around the selection is loaded.
//!
//! The store sorts and counts the list; this module holds the loaded part and requests the next one. The selection must
//! follow the transaction, never the row. When the order changes, the selected transaction keeps its row on the screen,
//! and the other rows move. Until a person selects a transaction, the first and most urgent one is selected.

use std::time::Duration;

use super::{
    columns::{ContentWidths, ListColumns},
    tab::Tab,
};
use crate::{
    clock::MonotonicTime,
    domain::{
        filter::{Filter, FilterError},
        ids::RowId,
    },
    store::PagePosition,
};

/// A request to load a part of the list.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The number of the view: a pair of a saved view and a filter.
    pub view: u64,
    /// The filter and the order.
    pub filter: Filter,
    /// The place of the part in the list.
    pub position: PagePosition,
    /// The most rows to load.
    pub length: usize,
}

impl PartialEq for PageRequest {
    fn eq(&self, other: &Self) -> bool {
        (self.view, &self.position, self.length) == (other.view, &other.position, other.length)
    }
}

/// The loaded part of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPart {
    /// The rows, in order.
    pub rows: Vec<RowId>,
    /// Whether the list has rows before this part.
    pub has_more_before: bool,
    /// Whether the list has rows after this part.
    pub has_more_after: bool,
}

/// The list's state.
#[derive(Debug, Default)]
pub struct ListState {
    /// The saved view.
    pub tab: Tab,
    /// The filter of the saved view.
    tab_filter: Filter,
    /// The filter as it was typed.
    pub filter_text: String,
    /// The error in the typed filter; meanwhile the previous filter applies.
    pub filter_error: Option<FilterError>,
    filter: Filter,
    /// The person's name, which the term `mine` means, if set.
    person: Option<String>,
    view: u64,
    /// The columns that are shown.
    pub columns: ListColumns,
    /// The widths that the loaded part needs.
    pub content: ContentWidths,
    /// The loaded part.
    pub part: ListPart,
    /// The number of rows before the loaded part; `None` if unknown.
    pub before: Option<u64>,
    /// The number of rows of the list; `None` if unknown.
    pub total: Option<u64>,
    /// The number of transactions in each saved view.
    pub counts: [u64; 5],
    /// The selected transaction.
    pub selected: Option<RowId>,
    /// Whether a person chose the selected transaction, by moving to it or by a command on it.
    pub is_chosen: bool,
    /// Whether the selected transaction stays selected though the list doesn't have it: it is open, or a command on it
    /// is typed.
    pub is_held: bool,
    /// The selected transaction that left the view with the last part, until a person is told.
    pub left_view: Option<RowId>,
    /// Whether a person's own change is the probable reason if the selected transaction leaves the view.
    pub is_own_change: bool,
    /// The selected transaction if the view had it when a part was last loaded.
    listed: Option<RowId>,
    /// The index in the loaded part at which the held transaction would be.
    held_at: Option<usize>,
    /// The transaction that is selected as soon as it is loaded: a person wants to go there.
    pub pending_selection: Option<RowId>,
    /// The transaction that was selected when the list became empty. It is selected when the list has it again, unless a
    /// person works on another one by then.
    selected_before: Option<RowId>,
    /// The transaction that was chosen when this view was last left. It is selected if the view still has it.
    pub chosen_before: Option<RowId>,
    /// The row that a command handles, and the next row that needs somebody: once the command is done, the selection
    /// goes there.
    pub handled_and_next: Option<(RowId, RowId)>,
    /// The index of the first row on the screen, in the loaded part.
    pub top: usize,
    /// The number of rows that fit on the screen.
    pub height: usize,
    /// The jump that waits for its part to be loaded.
    jump: Option<ListEnd>,
    /// The rows that the selection still has to move, once they are loaded; negative for up.
    pending_move: isize,
    /// Whether view or filter changed since the last load.
    pub is_view_new: bool,
    /// Whether the list must be loaded again.
    is_stale: bool,
    /// When the time alone was last a reason to load the list again.
    refreshed_at: MonotonicTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListEnd {
    First,
    Last,
}

impl ListState {
    /// Returns the list of a person with this name.
    pub fn of_person(person: Option<String>) -> Self {
        Self { person, height: 1, is_view_new: true, is_stale: true, ..Self::default() }
    }

    /// Sets the name that the term `mine` means. Filters that were parsed before keep the earlier name.
    pub fn set_person(&mut self, person: Option<String>) {
        self.person = person;
    }

    /// Returns the index of the selected transaction in the loaded part.
    pub fn position(&self) -> Option<usize> {
        self.index_of(self.selected?)
    }

    fn index_of(&self, row: RowId) -> Option<usize> {
        self.part.rows.iter().position(|own| *own == row)
    }

    /// Returns the loaded rows after the selected one, or after the place of a held one.
    fn rows_after(&self) -> Vec<RowId> {
        let next = self.position().map(|here| here + 1).or(self.held_at).unwrap_or(0);
        self.part.rows.iter().skip(next).copied().collect()
    }

    /// Returns the row number of the selected transaction and the number of rows; `-` if unknown.
    pub fn position_text(&self) -> (String, String) {
        let known = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let number = match self.position() {
            None => Some(0),
            Some(position) => self.before.map(|before| before + position as u64 + 1),
        };
        (known(number), known(self.total))
    }

    /// Returns the number of transactions of the saved view that the filter hides. `None` if unknown; the person's own
    /// views aren't counted.
    pub fn hidden(&self) -> Option<u64> {
        let count = self.counts.get(self.tab.number() - 1)?;
        Some(count.saturating_sub(self.total?))
    }

    /// Returns the filter and the order of the list: those of the saved view and of the typed filter.
    pub fn combined_filter(&self) -> Filter {
        self.filter.and(&self.tab_filter)
    }

    /// Returns the open saved view, if no filter applies.
    pub fn whole_tab(&self) -> Option<Tab> {
        self.filter.expression().is_always_true().then_some(self.tab)
    }

    /// Returns the number of the view. Each change of saved view or filter gives a new number.
    pub fn view(&self) -> u64 {
        self.view
    }

    /// Opens a saved view with this filter; an invalid filter shows everything.
    pub fn set_tab(&mut self, tab: Tab, filter: &str) {
        self.tab = tab;
        let filter = Filter::parse_for_person(filter, self.person.as_deref());
        self.tab_filter = filter.unwrap_or_else(|_| Filter::everything());
        self.reset_view();
    }

    /// Sets the filter to the typed text. If the text is wrong, sets the filter to `before` and stores the error.
    pub fn set_filter(&mut self, text: &str, before: &str) {
        let person = self.person.as_deref();
        match Filter::parse_for_person(text, person) {
            Ok(filter) => (self.filter, self.filter_error) = (filter, None),
            Err(error) => {
                self.filter = Filter::parse_for_person(before, person).unwrap_or_else(|_| Filter::everything());
                self.filter_error = Some(error);
            }
        }
        self.filter_text = text.to_owned();
        self.reset_view();
    }

    fn reset_view(&mut self) {
        self.view += 1;
        (self.before, self.total, self.jump, self.pending_move) = (None, None, None, 0);
        (self.is_view_new, self.is_stale) = (true, true);
    }

    /// Marks the list as stale, so that it is loaded again.
    pub fn mark_stale(&mut self) {
        self.is_stale = true;
    }

    /// Marks the list as stale every few seconds if the time alone can change what it shows, such as `age>30m`.
    pub fn refresh_by_time(&mut self, now: MonotonicTime) {
        const INTERVAL: Duration = Duration::from_secs(5);
        let depends_on_time = |filter: &Filter| filter.expression().depends_on_time();
        if now.since(self.refreshed_at) >= INTERVAL && [&self.filter, &self.tab_filter].into_iter().any(depends_on_time)
        {
            (self.refreshed_at, self.is_stale) = (now, true);
        }
    }

    /// Selects a transaction as soon as it is loaded.
    pub fn select_when_loaded(&mut self, row: RowId) {
        (self.pending_selection, self.is_stale) = (Some(row), true);
    }

    /// Returns the request for the next load, if the list is stale.
    pub fn next_request(&mut self) -> Option<PageRequest> {
        std::mem::take(&mut self.is_stale).then(|| PageRequest {
            view: self.view,
            filter: self.combined_filter(),
            position: self.next_position(),
            length: 2 * self.margin() + self.height,
        })
    }

    /// Returns the number of rows that are loaded before and after the screen.
    fn margin(&self) -> usize {
        2 * self.height.max(10)
    }

    /// Returns the place of the part to load next.
    fn next_position(&self) -> PagePosition {
        match self.jump {
            Some(ListEnd::First) => return PagePosition::First,
            Some(ListEnd::Last) => return PagePosition::Last,
            None if self.wanted().is_none() && !self.is_chosen => return PagePosition::First,
            None => {}
        }
        let near = if self.is_view_new { Vec::new() } else { self.neighbours() };
        let chosen = self.selected.filter(|_| self.is_chosen);
        PagePosition::Around {
            rows: self.wanted().into_iter().chain(chosen).chain(self.chosen_before).chain(near).collect(),
            before: self.margin(),
        }
    }

    /// Returns the rows around the selected one, first those after it. If the selected transaction leaves the list, the
    /// first of these that is still in the list is selected.
    fn neighbours(&self) -> Vec<RowId> {
        let here = self.position().or(self.held_at).unwrap_or(self.top).min(self.part.rows.len());
        let (before, after) = self.part.rows.split_at(here);
        after.iter().take(self.margin()).chain(before.iter().rev().take(self.margin())).copied().collect()
    }

    /// Shows a part that was loaded, unless view or filter changed since the request.
    pub fn apply_part(&mut self, request: &PageRequest, part: ListPart) {
        if request.view != self.view {
            return;
        }
        let shows_the_first = self.top == 0 && !self.part.has_more_before;
        let on_screen = self.position().filter(|_| !shows_the_first).map(|position| position.saturating_sub(self.top));
        let (near, after) = (self.neighbours(), self.rows_after());
        let was_new = std::mem::take(&mut self.is_view_new);
        if was_new {
            self.listed = None;
        } else if self.position().is_some() {
            self.listed = self.selected;
        }
        self.count_before(&part, was_new);
        self.part = part;
        // If the chosen transaction isn't in the new view, the most urgent transaction of the view is selected.
        self.is_chosen &= !was_new || self.is_held || self.position().is_some();
        match (self.jump, &request.position) {
            (Some(end @ ListEnd::First), PagePosition::First) | (Some(end @ ListEnd::Last), PagePosition::Last) => {
                return self.select_end(end);
            }
            // This part was requested before the jump.
            (Some(_), _) => return self.is_stale = true,
            (None, _) => {}
        }
        self.held_at = match self.position() {
            Some(_) => None,
            None => Some(after.iter().find_map(|row| self.index_of(*row)).unwrap_or(self.part.rows.len())),
        };
        self.restore_selection(on_screen, &near);
        // If the view doesn't have the transaction any more, selecting it later would surprise.
        self.chosen_before = None;
        let pending_move = std::mem::take(&mut self.pending_move);
        if pending_move != 0 {
            self.move_by(pending_move);
        }
    }

    /// Computes the number of rows before a new part from the previous part; `None` if the parts don't overlap.
    fn count_before(&mut self, part: &ListPart, is_view_new: bool) {
        let position = |rows: &[RowId], row: Option<&RowId>| rows.iter().position(|own| Some(own) == row);
        let later = position(&self.part.rows, part.rows.first()).and_then(|shift| u64::try_from(shift).ok());
        let earlier = position(&part.rows, self.part.rows.first()).and_then(|shift| u64::try_from(shift).ok());
        let known = self.before.filter(|_| !is_view_new);
        self.before = match (part.has_more_before, known, later, earlier) {
            (false, ..) => Some(0),
            (true, Some(before), Some(shift), _) => Some(before + shift),
            (true, Some(before), None, Some(shift)) => before.checked_sub(shift),
            _ => None,
        };
        let length = part.rows.len() as u64;
        // After a change of the order, the rows before the part are only estimated.
        let is_exact = !part.has_more_before || continues(&self.part.rows, &part.rows);
        match (part.has_more_after, self.before, self.total) {
            (false, Some(before), _) if is_exact || self.total.is_none() => self.set_total(before + length),
            // This part is the end of a list that was counted.
            (false, _, Some(total)) if !is_view_new => self.before = total.checked_sub(length),
            _ => {}
        }
    }

    /// Sets the number of rows. Without a filter that is also the number of the saved view, so that both agree on
    /// screen.
    fn set_total(&mut self, total: u64) {
        self.total = Some(total);
        if self.whole_tab().is_some()
            && let Some(count) = self.counts.get_mut(self.tab.number() - 1)
        {
            *count = total;
        }
    }

    /// Forgets the selected transaction, and selects the first row of the next part.
    pub fn forget_selection(&mut self) {
        (self.selected, self.pending_selection, self.selected_before, self.chosen_before) = (None, None, None, None);
        (self.is_chosen, self.pending_move) = (false, 0);
    }

    /// Keeps the selected transaction at its row on the screen. If `on_screen` is `None`, the first row stays visible
    /// if the selected row allows that. If the selected transaction left the list, selects its neighbour.
    fn restore_selection(&mut self, on_screen: Option<usize>, near: &[RowId]) {
        let is_own_change = std::mem::take(&mut self.is_own_change);
        if let Some(wanted) = self.wanted().filter(|wanted| self.part.rows.contains(wanted)) {
            (self.selected, self.pending_selection, self.selected_before) = (Some(wanted), None, None);
            self.is_chosen = true;
            return self.scroll_into_view();
        }
        if !self.is_chosen {
            (self.selected, self.top) = (self.part.rows.first().copied(), 0);
            return;
        }
        if self.position().is_none() {
            if self.is_held {
                // The reason counts when the transaction is no longer held.
                self.is_own_change = is_own_change;
                return;
            }
            let neighbour = near.iter().find(|row| self.part.rows.contains(row));
            // After an empty list, the first and most urgent transaction is selected.
            let other = if near.is_empty() { self.part.rows.first() } else { self.part.rows.last() };
            let before = std::mem::replace(&mut self.selected, neighbour.or(other).copied());
            self.left_view = before.filter(|before| self.listed == Some(*before) && !is_own_change);
            if self.selected.is_none() {
                // When the list has rows again, the transaction is probably among these.
                self.selected_before = before;
            }
        }
        self.top = on_screen.map_or(0, |on_screen| self.position().unwrap_or(0).saturating_sub(on_screen));
        self.scroll_into_view();
    }

    /// Moves the selection down by so many rows, or up; stops at the ends. `isize::MIN` and `isize::MAX` jump to the
    /// ends.
    pub fn move_by(&mut self, rows: isize) {
        // A move cancels the wait for another transaction.
        self.pending_selection = None;
        self.choose();
        match rows {
            isize::MIN => return self.jump(ListEnd::First),
            isize::MAX => return self.jump(ListEnd::Last),
            _ => {}
        }
        let rows = rows.saturating_add(std::mem::take(&mut self.pending_move));
        let is_down = rows > 0;
        // The row at the place of a held transaction is the next one.
        let (here, rows) = match (self.position(), self.held_at) {
            (None, Some(next)) if is_down => (next, rows - 1),
            (here, next) => (here.or(next).unwrap_or(0), rows),
        };
        let last = self.part.rows.len().saturating_sub(1);
        let there = here.saturating_add_signed(rows).min(last);
        let moved = there as isize - here as isize;
        let more = if is_down { self.part.has_more_after } else { self.part.has_more_before };
        // Nobody moves further than this before the next part is loaded.
        let most = 100 * self.margin() as isize;
        self.pending_move = if more { (rows - moved).clamp(-most, most) } else { 0 };
        self.select(there);
        let near_the_end = (there < self.height && self.part.has_more_before)
            || (last - there < self.height && self.part.has_more_after);
        self.is_stale |= near_the_end;
    }

    fn jump(&mut self, to: ListEnd) {
        self.pending_move = 0;
        let has_more = if to == ListEnd::First { self.part.has_more_before } else { self.part.has_more_after };
        if has_more { (self.jump, self.is_stale) = (Some(to), true) } else { self.select_end(to) }
    }

    /// Selects the first or the last row of the loaded part. This ends a jump that still waits for its part.
    fn select_end(&mut self, end: ListEnd) {
        self.jump = None;
        let last = self.part.rows.len().saturating_sub(1);
        self.select(if end == ListEnd::First { 0 } else { last });
    }

    /// Selects the row at this index of the loaded part, if there is one.
    pub fn select(&mut self, position: usize) {
        if let Some(row) = self.part.rows.get(position) {
            self.selected = Some(*row);
            self.choose();
        }
        self.scroll_into_view();
    }

    /// Records that a person works on the selected transaction: only a person's wish selects another one.
    pub fn choose(&mut self) {
        self.is_chosen |= self.selected.is_some();
        self.is_own_change = false;
        (self.selected_before, self.chosen_before, self.handled_and_next) = (None, None, None);
    }

    /// Returns the transaction that is selected as soon as the list has it.
    fn wanted(&self) -> Option<RowId> {
        // A chosen transaction that the view has stays selected.
        self.pending_selection.or(self.selected_before).or(self.chosen_before.filter(|_| !self.is_chosen))
    }

    /// Selects the next row that needs somebody, once the selected row is handled, and returns whether there is one. The
    /// handled row may have left the list.
    pub fn select_next_after_handled(&mut self) -> bool {
        let Some((handled, next)) = self.handled_and_next.take() else { return false };
        if self.selected != Some(handled) && self.part.rows.contains(&handled) {
            return false;
        }
        match self.index_of(next) {
            Some(position) => self.select(position),
            None => self.select_when_loaded(next),
        }
        true
    }

    /// Scrolls the selected row into view.
    pub fn scroll_into_view(&mut self) {
        self.top = super::super::scroll(self.top, self.position(), self.height, self.part.rows.len());
    }
}

/// Whether two parts of a list overlap and have the same rows in the same order there, and no row moved from before the
/// overlap into it or behind it.
fn continues(before: &[RowId], after: &[RowId]) -> bool {
    let position = |rows: &[RowId], row: Option<&RowId>| rows.iter().position(|own| Some(own) == row);
    let (higher, lower, shift) = match (position(before, after.first()), position(after, before.first())) {
        (Some(shift), _) => (before, after, shift),
        (None, Some(shift)) => (after, before, shift),
        (None, None) => return false,
    };
    let (skipped, overlap) = higher.split_at_checked(shift).unwrap_or((higher, &[]));
    !skipped.iter().any(|row| lower.contains(row)) && overlap.iter().zip(lower).all(|(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(ids: impl IntoIterator<Item = i64>) -> Vec<RowId> {
        ids.into_iter().map(RowId).collect()
    }

    /// Loads the list from these rows until it requests nothing more.
    fn load(list: &mut ListState, all: &[RowId]) {
        while let Some(request) = list.next_request() {
            let position = |row: &RowId| all.iter().position(|own| own == row);
            let from = match &request.position {
                PagePosition::First => 0,
                PagePosition::Last => all.len().saturating_sub(request.length),
                PagePosition::Around { rows, before } => {
                    rows.iter().find_map(position).map_or(0, |at| at.saturating_sub(*before))
                }
            };
            let to = (from + request.length).min(all.len());
            let part =
                ListPart { rows: all[from..to].to_vec(), has_more_before: from > 0, has_more_after: to < all.len() };
            list.apply_part(&request, part);
        }
    }

    fn list(all: &[RowId]) -> ListState {
        let mut list = ListState { height: 5, ..ListState::of_person(None) };
        load(&mut list, all);
        list
    }

    fn reload(list: &mut ListState, all: &[RowId]) {
        list.mark_stale();
        load(list, all);
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
    fn a_held_transaction_keeps_its_place_after_it_left_the_list() {
        let mut list = list(&rows(1..=12));
        list.select(6);
        list.is_held = true;
        let without = rows((1..=12).filter(|row| *row != 7));
        for (step, next) in [(1, 8), (2, 9), (-1, 6), (-9, 1)] {
            list.selected = Some(RowId(7));
            reload(&mut list, &rows(1..=12));
            reload(&mut list, &without);
            list.move_by(step);
            assert_eq!(list.selected, Some(RowId(next)), "{step}");
        }
        // It is held no longer: its neighbour is selected, not the first.
        list.selected = Some(RowId(7));
        reload(&mut list, &rows(1..=12));
        reload(&mut list, &without);
        list.is_held = false;
        reload(&mut list, &without);
        assert_eq!(list.selected, Some(RowId(8)));
    }

    #[test]
    fn a_command_on_a_row_ends_the_wait_for_another() {
        let mut list = list(&rows(1..=1));
        list.select(0);
        reload(&mut list, &[]);
        assert_eq!((list.selected, list.selected_before), (None, Some(RowId(1))));
        reload(&mut list, &rows(2..=3));
        assert_eq!(list.selected, Some(RowId(2)), "the most urgent one");
        list.choose();
        reload(&mut list, &rows(1..=3));
        assert_eq!(list.selected, Some(RowId(2)));
        // But a person's own wish outlasts a command.
        list.select_when_loaded(RowId(3));
        list.choose();
        load(&mut list, &rows(1..=3));
        assert_eq!(list.selected, Some(RowId(3)));
    }

    #[test]
    fn the_selection_follows_the_transaction_at_its_place_on_the_screen() {
        let mut list = list(&rows(11..=30));
        list.select(10);
        let (selected, on_screen) = (list.selected, list.position().unwrap() - list.top);
        reload(&mut list, &rows(1..=30));
        assert_eq!((list.selected, list.position().unwrap() - list.top), (selected, on_screen));
    }

    #[test]
    fn the_first_row_stays_visible_if_the_selected_row_allows_it() {
        let mut list = list(&rows(11..=30));
        list.select(2);
        reload(&mut list, &rows([10].into_iter().chain(11..=30)));
        assert_eq!((list.position(), list.top), (Some(3), 0), "a new row doesn't scroll the list");
        let moved_down = (10..=12).chain(14..=18).chain([13]).chain(19..=30);
        reload(&mut list, &rows(moved_down));
        assert_eq!(
            (list.selected, list.position(), list.top),
            (Some(RowId(13)), Some(8), 4),
            "the selected row is the last visible row"
        );
    }

    #[test]
    fn the_first_row_is_selected_until_a_person_selects_another() {
        let mut list = list(&rows(11..=30));
        reload(&mut list, &rows(1..=30));
        assert_eq!((list.selected, list.top), (Some(RowId(1)), 0));
    }

    #[test]
    fn the_neighbour_is_selected_if_the_selected_transaction_leaves() {
        let mut list = list(&rows(1..=5));
        list.select(2);
        reload(&mut list, &rows([1, 2, 4, 5]));
        assert_eq!(list.selected, Some(RowId(4)));
        reload(&mut list, &[]);
        assert_eq!(list.selected, None);
        reload(&mut list, &rows(1..=5));
        assert_eq!(list.selected, Some(RowId(4)), "the selection from before the list was empty");
    }

    #[test]
    fn a_wanted_transaction_is_selected_as_soon_as_it_is_loaded() {
        let mut list = list(&rows(1..=2));
        list.select_when_loaded(RowId(3));
        load(&mut list, &rows(1..=2));
        assert_eq!(list.selected, Some(RowId(1)));
        reload(&mut list, &rows(1..=3));
        assert_eq!((list.selected, list.pending_selection), (Some(RowId(3)), None));
    }

    #[test]
    fn moving_through_a_long_list_holds_only_a_part_in_memory() {
        let all = rows(1..=10_000);
        let mut list = list(&all);
        for step in [1, 4, 30, 300, -7_isize] {
            list.move_by(step);
            load(&mut list, &all);
        }
        let position = 1 + 1 + 4 + 30 + 300 - 7_i64;
        assert_eq!(list.selected, Some(RowId(position)));
        assert_eq!(list.before.unwrap() + list.position().unwrap() as u64 + 1, position as u64);
        list.move_by(isize::MAX);
        load(&mut list, &all);
        assert_eq!((list.selected, list.part.has_more_after), (Some(RowId(10_000)), false));
        for _ in 0..5 {
            list.move_by(-100);
        }
        load(&mut list, &all);
        assert_eq!(list.selected, Some(RowId(9_500)), "moves before a load add up");
        list.move_by(isize::MIN);
        list.move_by(isize::MAX);
        load(&mut list, &all);
        assert_eq!(list.selected, Some(RowId(10_000)), "the last jump counts");
        list.move_by(isize::MIN);
        load(&mut list, &all);
        assert_eq!((list.selected, list.part.has_more_before), (Some(RowId(1)), false));
        assert!(list.part.rows.len() < 100, "{}", list.part.rows.len());
    }

    #[test]
    fn a_new_order_changes_no_number_of_rows() {
        let all = rows(1..=131);
        let mut list = list(&all);
        assert_eq!(list.total, None);
        list.move_by(isize::MAX);
        load(&mut list, &all);
        list.total = Some(131);
        list.move_by(isize::MIN);
        load(&mut list, &all);
        // The first row is handled, so that the order puts it far down, and it stays selected.
        let reordered: Vec<_> = all.iter().skip(1).chain(all.first()).copied().collect();
        reload(&mut list, &reordered);
        load(&mut list, &reordered);
        assert_eq!((list.selected, list.total), (Some(RowId(1)), Some(131)));
        assert_eq!(list.position_text().0, "131");
    }

    #[test]
    fn part_after_a_row_moved_behind_the_overlap_does_not_continue_the_part_before() {
        let before = rows([1, 2, 3, 4, 5]);
        assert!(continues(&before, &rows([3, 4, 5, 6])) && continues(&rows([3, 4, 5, 6]), &before));
        let moved = rows([3, 4, 5, 1]);
        assert!(!continues(&before, &moved) && !continues(&moved, &before));
    }

    #[test]
    fn the_number_of_the_tab_agrees_with_the_number_of_rows() {
        let mut list = list(&rows(1..=3));
        assert_eq!((list.total, list.counts[4]), (Some(3), 3));
        reload(&mut list, &rows(1..=5));
        assert_eq!((list.total, list.counts[4]), (Some(5), 5));
    }

    #[test]
    fn a_part_of_another_view_is_ignored() {
        let mut list = ListState { height: 5, ..ListState::of_person(None) };
        let request = list.next_request().unwrap();
        list.set_filter("vip", "");
        list.apply_part(&request, ListPart { rows: rows(1..=5), ..ListPart::default() });
        assert_eq!(list.part, ListPart::default());
    }
}
