//! The detail of one transaction.
//!
//! ```text
//! title     hash, route, ticket: in the pane if beside the list, else in the filter's row
//! top       verdict, limit, SAY, DO: shown above every tab
//! tabs      the tabs, and the position in the open tab
//! content   the open tab, which scrolls by itself; on a wide screen the summary is beside each other tab, and the timing and
//!           the history beside the summary
//! ```
//!
//! Names that the service writes for programs are shown in words; the raw body has these names as received. Drawing a
//! large body must never cost more than drawing a small one.

mod history;
mod legs;
mod lines;
mod notes;
mod raw;
mod steps;
mod summary;
mod tabs;
mod timeline;
mod timing;
mod verdict;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Margin, Position, Rect},
    text::{Line, Span},
    widgets::{Block, Borders, Padding},
};

use super::state::DetailTab;
use crate::{
    domain::transaction::Transaction,
    presentation::width,
    tui::{
        command::CommandId,
        draw::{DrawContext, put_block, put_lines},
        model::Screen,
        view::layout::Panes,
        widgets::hyperlink,
    },
};
pub(crate) use summary::overview;
pub(crate) use verdict::{act_sentence, handled_by, preview};

/// The fewest rows of the content. Lines of the top that don't fit then are shown in the summary.
const MIN_CONTENT: usize = 5;
/// The fewest rows of the content of a detail beside or below the list.
const MIN_CONTENT_BESIDE_LIST: usize = 2;
/// With more rows than these below the top, one row above the tabs is empty.
const AMPLE: usize = 16;

/// From this width on, an open transaction has something beside the open tab: the summary, or beside the summary the
/// timing.
const SIDE_FROM: u16 = 150;

/// With more rows than these from the tabs on, the open tab is underlined.
const AMPLE_BELOW: u16 = 10;

/// The parts of the pane.
struct DetailLayout {
    top: Vec<Line<'static>>,
    /// The lines of the top that don't fit.
    rest: Vec<Line<'static>>,
    tabs: Rect,
    content: Rect,
    /// The area beside the open tab; empty on a narrow screen.
    side: Rect,
}

impl DetailLayout {
    fn new(context: &DrawContext<'_>, tx: &Transaction, panes: &Panes, pane: Rect) -> Self {
        let inner = inside(panes, pane);
        let (columns, rows) = (usize::from(inner.width), usize::from(inner.height));
        let is_open = context.model.screen == Screen::Detail;
        // The title is in the frame, or in the row of the filter.
        let titled = if is_open { panes.filter.height == 0 } else { !panes.is_split };
        let mut top = if titled { vec![verdict::title(context, tx, columns)] } else { Vec::new() };
        let room = rows.saturating_sub(1 + if is_open { MIN_CONTENT } else { MIN_CONTENT_BESIDE_LIST });
        let kept = if is_open { usize::MAX } else { room.saturating_sub(top.len()) };
        let (lines, details) = verdict::lines(context, tx, columns, kept);
        top.extend(lines);
        let kept = match (top.len() <= room, is_open) {
            (true, _) => top.len(),
            // No partial sentences: all but the title and the verdict is shown in the summary.
            (false, true) => usize::from(titled) + verdict::verdict_rows(context, tx, columns),
            (false, false) => room,
        };
        let mut rest = top.split_off(kept.min(top.len()));
        rest.extend(details);
        if rows.saturating_sub(top.len()) > AMPLE {
            top.push(Line::default());
        }
        let above = u16::try_from(top.len()).unwrap_or(u16::MAX).min(inner.height);
        let below = inner.height - above;
        // The open tab is underlined if there is room.
        let tab_rows = if below > AMPLE_BELOW { 2 } else { 1 };
        let tabs = Rect { y: inner.y + above, height: below.min(tab_rows), ..inner };
        let content = Rect { y: tabs.y + tabs.height, height: below - tabs.height, ..inner };
        // The links of the summary need more room than the times beside it.
        let share = if context.model.detail.tab == DetailTab::Summary { 8 } else { 9 };
        let side_width = if is_open && inner.width >= SIDE_FROM { inner.width * share / 20 } else { 0 };
        let [content, side] = Layout::horizontal([Constraint::Fill(1), Constraint::Length(side_width)]).areas(content);
        Self { top, rest, tabs, content, side }
    }
}

/// Returns the part of the pane that holds text: inside the frame if there is one, with an empty column on each side.
fn inside(panes: &Panes, pane: Rect) -> Rect {
    pane.inner(Margin::new(if panes.is_split { 2 } else { 1 }, u16::from(panes.is_split)))
}

pub(crate) fn draw(context: &DrawContext<'_>, panes: &Panes, pane: Rect, frame: &mut Frame<'_>) {
    let inner = inside(panes, pane);
    if panes.is_split {
        let columns = usize::from(pane.width).saturating_sub(4);
        let title = match context.model.selected() {
            Some(tx) if context.model.screen != Screen::Detail => verdict::title(context, tx, columns).to_string(),
            _ => "Detail".to_owned(),
        };
        frame.render_widget(context.dim_block(format!(" {title} ")), pane);
    }
    let Some(tx) = context.model.selected() else {
        return frame.render_widget(Line::styled(" Select a transaction.", context.theme.dim()), inner);
    };
    let parts = DetailLayout::new(context, tx, panes, pane);
    let (content, position) = content(context, tx, &parts);
    let top = Rect { height: parts.tabs.y - inner.y, ..inner };
    put_lines(parts.top, top, frame);
    put_lines(content, parts.content, frame);
    if !parts.side.is_empty() {
        let border = Block::new().borders(Borders::LEFT).border_set(context.theme.border);
        let border = border.border_style(context.theme.dim()).padding(Padding::left(1));
        let area = put_block(border, parts.side, frame);
        put_lines(beside(context, tx, usize::from(area.width)), area, frame);
    }
    hyperlink::mark(context, tx, inner, frame.buffer_mut());
    if !tabs::draw(context, &position, parts.tabs, frame) && panes.is_split && !position.trim().is_empty() {
        // In the lower edge of the frame.
        let text = format!(" {} ", position.trim());
        let edge = Rect { y: pane.bottom().saturating_sub(1), height: 1, ..inner };
        let columns = edge.width.min(u16::try_from(width::display_width(&text)).unwrap_or(u16::MAX));
        let area = Rect { x: edge.right() - columns, width: columns, ..edge };
        frame.render_widget(Line::styled(text, context.theme.dim()), area);
    }
}

/// Returns the lines beside the open tab: the summary, or beside the summary the timing and the history.
fn beside(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    if context.model.detail.tab != DetailTab::Summary {
        return summary::lines(context, tx, columns);
    }
    let mut lines = timing::lines_beside_summary(context, tx, columns);
    lines.extend([Line::default(), lines::heading(context, "HISTORY", "newest first", columns)]);
    lines.extend(history::lines(context, tx, columns).0);
    lines
}

/// Returns the tab whose title is at a position of the screen.
pub(crate) fn tab_at(context: &DrawContext<'_>, panes: &Panes, pane: Rect, at: Position) -> Option<DetailTab> {
    let row = DetailLayout::new(context, context.model.selected()?, panes, pane).tabs;
    row.contains(at).then(|| tabs::at(row, at.x))?
}

/// Returns the visible lines of the open tab, and the position in the tab in words.
fn content(context: &DrawContext<'_>, tx: &Transaction, parts: &DetailLayout) -> (Vec<Line<'static>>, String) {
    let (columns, rows) = (usize::from(parts.content.width), usize::from(parts.content.height));
    match context.model.detail.tab {
        DetailTab::Steps => steps::shown(context, tx, parts.content, !parts.side.is_empty()),
        DetailTab::Raw => raw::shown(context, columns, rows),
        _ => {
            let (lines, remark) = scrolled(context, tx, parts);
            let count = lines.len();
            let first = context.model.detail.position().min(count.saturating_sub(rows));
            let position = match count > rows {
                false => remark,
                true => {
                    let keys = match context.model.screen {
                        Screen::Detail => [CommandId::Down, CommandId::Up],
                        Screen::List | Screen::Alerts | Screen::Stats | Screen::Log => {
                            [CommandId::DetailDown, CommandId::DetailUp]
                        }
                    };
                    let [down, up] = keys.map(|id| context.key(id));
                    let (from, to) = (first + 1, (first + rows).min(count));
                    match parts.content.width {
                        ..70 => format!("{remark}  {from}-{to} of {count}  {down} {up}"),
                        70.. => format!("{remark}  lines {from} to {to} of {count}: {down} {up}"),
                    }
                }
            };
            (lines.into_iter().skip(first).take(rows).collect(), position)
        }
    }
}

/// Returns all lines of a tab that scrolls line by line, and a remark on the lines.
fn scrolled(context: &DrawContext<'_>, tx: &Transaction, parts: &DetailLayout) -> (Vec<Line<'static>>, String) {
    let columns = usize::from(parts.content.width);
    match context.model.detail.tab {
        DetailTab::Timing if parts.side.is_empty() => (timing::lines(context, tx, columns), String::new()),
        DetailTab::Timing => (timing::lines_beside_summary(context, tx, columns), String::new()),
        DetailTab::History => history::lines(context, tx, columns),
        DetailTab::Notes => (notes::lines(context, tx, columns), String::new()),
        DetailTab::Summary | DetailTab::Steps | DetailTab::Raw => {
            let rest = parts.rest.iter().cloned();
            let mut lines: Vec<_> = rest.chain(summary::lines(context, tx, columns)).collect();
            // A high screen shows the durations below the summary.
            let timing = timing::observed_lines(context, tx, columns);
            if parts.side.is_empty() && lines.len() + 1 + timing.len() <= usize::from(parts.content.height) {
                lines.push(Line::default());
                lines.extend(timing);
            }
            (lines, String::new())
        }
    }
}

/// Returns the largest scroll offset of the open tab, or the last index of its cursor.
pub(crate) fn scroll_end(context: &DrawContext<'_>, panes: &Panes, pane: Rect) -> usize {
    let Some(tx) = context.model.selected() else { return 0 };
    match context.model.detail.tab {
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
    if context.model.detail.tab == DetailTab::Raw { raw::rows(rows) } else { rows }
}

/// Returns the title of the open transaction and its row number in the list, in place of the filter.
pub(crate) fn position(context: &DrawContext<'_>, columns: u16) -> Line<'static> {
    let (position, count) = context.model.list.position_text();
    // A transaction that was opened from the alerts may not be in the list.
    let position = match context.model.list.position() {
        Some(_) => format!("{position} of {count} in {} ", context.model.view_state.titles(context.model.list.tab).0),
        None => String::new(),
    };
    let Some(tx) = context.model.selected() else { return Line::styled(format!(" {position}"), context.theme.dim()) };
    let columns = usize::from(columns);
    let mut line = verdict::title(context, tx, columns.saturating_sub(width::display_width(&position) + 5));
    line.spans.insert(0, Span::styled(" > ", context.theme.dim()));
    let room = columns.saturating_sub(line.width());
    if room > width::display_width(&position) {
        line.push_span(Span::styled(format!("{position:>room$}"), context.theme.dim()));
    }
    line
}

#[cfg(test)]
mod tests;
