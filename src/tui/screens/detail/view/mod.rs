//! The detail of one transaction.
//!
//! ```text
//! title     hash, route, ticket: in the pane if beside the list, else in the filter's row
//! top       verdict, limit, SAY, DO: shown above every tab
//! tabs      the tabs, and the position in the open tab
//! content   the open tab, which scrolls by itself; beside the list always the summary
//! ```
//!
//! Values of the service are shown as received. Drawing a large body must never cost more than drawing a small one.

mod history;
mod legs;
mod lines;
mod notes;
mod raw;
mod steps;
mod summary;
mod tabs;
mod timing;
mod verdict;

use ratatui::{
    Frame,
    layout::{Margin, Position, Rect},
    text::{Line, Span},
};

use super::state::DetailTab;
use crate::{
    domain::transaction::Transaction,
    presentation::width,
    tui::{
        command::Id,
        draw::{DrawContext, put_lines},
        model::Screen,
        view::layout::Panes,
        widgets::hyperlink,
    },
};

/// The fewest rows of the content. Lines of the top that don't fit then are shown in the summary.
const LEAST_CONTENT: usize = 5;
/// With more rows than these below the top, one row above the tabs is empty.
const AMPLE: usize = 16;

/// The parts of the pane.
struct DetailLayout {
    top: Vec<Line<'static>>,
    /// The lines of the top that don't fit.
    rest: Vec<Line<'static>>,
    tabs: Rect,
    content: Rect,
}

impl DetailLayout {
    fn new(context: &DrawContext<'_>, tx: &Transaction, panes: &Panes, pane: Rect) -> Self {
        let inner = inside(panes, pane);
        let (columns, rows) = (usize::from(inner.width), usize::from(inner.height));
        let is_open = context.model.screen == Screen::Detail;
        let titled = !is_open || panes.filter.height == 0;
        let mut top = if titled { vec![verdict::title(context, tx, columns)] } else { Vec::new() };
        top.extend(verdict::lines(context, tx, columns));
        let room = rows.saturating_sub(if is_open { 1 + LEAST_CONTENT } else { 1 });
        let kept = match (top.len() <= room, is_open) {
            (true, _) => top.len(),
            // No partial sentences: all but the title and the verdict is shown in the summary.
            (false, true) => usize::from(titled) + 1,
            (false, false) => room,
        };
        let rest = top.split_off(kept.min(top.len()));
        if rows.saturating_sub(top.len()) > AMPLE {
            top.push(Line::default());
        }
        let above = u16::try_from(top.len()).unwrap_or(u16::MAX).min(inner.height);
        let below = inner.height - above;
        let tabs = Rect { y: inner.y + above, height: below.min(1), ..inner };
        let content = Rect { y: tabs.y + tabs.height, height: below - tabs.height, ..inner };
        Self { top, rest, tabs, content }
    }
}

/// Returns the part of the pane that holds text: inside the frame if there is one, with an empty column on each side.
fn inside(panes: &Panes, pane: Rect) -> Rect {
    pane.inner(Margin::new(if panes.split { 2 } else { 1 }, u16::from(panes.split)))
}

/// Returns the tab that is shown: beside the list the summary.
fn tab(context: &DrawContext<'_>) -> DetailTab {
    match context.model.screen {
        Screen::Detail => context.model.detail.tab,
        _ => DetailTab::Summary,
    }
}

pub(crate) fn draw(context: &DrawContext<'_>, panes: &Panes, pane: Rect, frame: &mut Frame<'_>) {
    let inner = inside(panes, pane);
    if panes.split {
        let block = context.titled_block(" Detail ").border_style(context.theme.dim());
        frame.render_widget(block, pane);
    }
    let Some(tx) = context.model.selected() else {
        return frame.render_widget(Line::styled(" Select a transaction.", context.theme.dim()), inner);
    };
    let parts = DetailLayout::new(context, tx, panes, pane);
    let (content, place) = content(context, tx, &parts);
    let top = Rect { height: parts.tabs.y - inner.y, ..inner };
    put_lines(parts.top, top, frame);
    put_lines(content, parts.content, frame);
    hyperlink::mark(context, tx, inner, frame.buffer_mut());
    tabs::draw(context, tab(context), &place, parts.tabs, frame);
}

/// Returns the tab whose title is at a position of the screen.
pub(crate) fn tab_at(context: &DrawContext<'_>, panes: &Panes, pane: Rect, at: Position) -> Option<DetailTab> {
    let row = DetailLayout::new(context, context.model.selected()?, panes, pane).tabs;
    row.contains(at).then(|| tabs::at(context, tab(context), row, at.x))?
}

/// Returns the visible lines of the open tab, and the position in the tab in words.
fn content(context: &DrawContext<'_>, tx: &Transaction, parts: &DetailLayout) -> (Vec<Line<'static>>, String) {
    let (columns, rows) = (usize::from(parts.content.width), usize::from(parts.content.height));
    match tab(context) {
        DetailTab::Steps => steps::shown(context, tx, columns, rows),
        DetailTab::Raw => raw::shown(context, columns, rows),
        _ => {
            let (lines, remark) = scrolled(context, tx, parts);
            let count = lines.len();
            let first = match context.model.screen {
                Screen::Detail => context.model.detail.place().min(count.saturating_sub(rows)),
                _ => 0,
            };
            let place = match (context.model.screen, count > rows) {
                (_, false) => remark,
                (Screen::Detail, true) => {
                    let [down, up] = [Id::Down, Id::Up].map(|id| context.key(id));
                    format!("{remark}  lines {} to {} of {count}: {down} {up}", first + 1, (first + rows).min(count))
                }
                (_, true) => format!("{} for more", context.key(Id::Open)),
            };
            (lines.into_iter().skip(first).take(rows).collect(), place)
        }
    }
}

/// Returns all lines of a tab that scrolls line by line, and a remark on the lines.
fn scrolled(context: &DrawContext<'_>, tx: &Transaction, parts: &DetailLayout) -> (Vec<Line<'static>>, String) {
    let columns = usize::from(parts.content.width);
    match tab(context) {
        DetailTab::Timing => (timing::lines(context, tx, columns), String::new()),
        DetailTab::History => history::lines(context, columns),
        DetailTab::Notes => (notes::lines(context, tx, columns), String::new()),
        DetailTab::Summary | DetailTab::Steps | DetailTab::Raw => {
            let rest = parts.rest.iter().cloned();
            (rest.chain(summary::lines(context, tx, columns)).collect(), String::new())
        }
    }
}

/// Returns verdict, SAY and DO of the selected transaction, for the preview below the list.
pub(crate) fn preview(context: &DrawContext<'_>, pane: Rect) -> Vec<Line<'static>> {
    verdict::preview(context, pane)
}

/// Returns the largest scroll offset of the open tab, or the last index of its cursor.
pub(crate) fn scroll_end(context: &DrawContext<'_>, panes: &Panes, pane: Rect) -> usize {
    let Some(tx) = context.model.selected() else { return 0 };
    match tab(context) {
        DetailTab::Steps => steps::of(tx).len().saturating_sub(1),
        DetailTab::Raw => context.model.detail.raw.count().saturating_sub(1),
        _ => {
            let parts = DetailLayout::new(context, tx, panes, pane);
            scrolled(context, tx, &parts).0.len().saturating_sub(usize::from(parts.content.height))
        }
    }
}

/// Returns the number of rows of the open tab.
pub(crate) fn rows(context: &DrawContext<'_>, panes: &Panes, pane: Rect) -> usize {
    let Some(tx) = context.model.selected() else { return 0 };
    let rows = usize::from(DetailLayout::new(context, tx, panes, pane).content.height);
    if tab(context) == DetailTab::Raw { raw::rows(rows) } else { rows }
}

/// Returns the title of the open transaction and its row number in the list, in place of the filter.
pub(crate) fn position(context: &DrawContext<'_>, columns: u16) -> Line<'static> {
    let (place, count) = context.model.list.position_text();
    // A transaction that was opened from the alerts may not be in the list.
    let place = match context.model.list.position() {
        Some(_) => format!("{place} of {count} in {} ", context.model.list.tab.titles().0),
        None => String::new(),
    };
    let Some(tx) = context.model.selected() else { return Line::styled(format!(" {place}"), context.theme.dim()) };
    let columns = usize::from(columns);
    let mut line = verdict::title(context, tx, columns.saturating_sub(width::display_width(&place) + 5));
    line.spans.insert(0, Span::styled(" > ", context.theme.dim()));
    let room = columns.saturating_sub(line.width());
    if room > width::display_width(&place) {
        line.push_span(Span::styled(format!("{place:>room$}"), context.theme.dim()));
    }
    line
}

#[cfg(test)]
mod tests;
