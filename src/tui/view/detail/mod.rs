//! One transaction.
//!
//! ```text
//! title     hash, way, ticket: beside the list here, on a screen of its own in the filter's row
//! top       verdict, limit, SAY, DO: always there, since they are why somebody looks
//! tabs      which tab is open, and where in it the person is
//! content   that tab, which scrolls by itself; beside the list always the summary
//! ```
//!
//! Everything that the service sent is shown as it came. It must never cost more for a large body than for a small one.

mod history;
mod legs;
mod notes;
mod raw;
mod steps;
mod summary;
mod tabs;
mod timing;
mod verdict;

use std::time::Duration;

use chrono::{DateTime, Utc};
use ratatui::{
    Frame,
    layout::{Margin, Position, Rect},
    style::Style,
    text::{Line, Span},
    widgets::Block,
};

use super::{DrawContext, hyperlink, layout::Panes, put_lines};
use crate::{
    domain::{span, transaction::Transaction, width},
    tui::{
        command::Id,
        model::{Screen, detail::DetailTab},
    },
};

/// What labels a line is this wide, so that what they label lines up.
const LABEL: usize = 10;
/// The content keeps so many rows; what of the top has no room then stands in the summary.
const CONTENT: usize = 5;
/// From so many rows of content on there is a free one above the tabs.
const AMPLE: usize = 16;

/// The parts of the pane.
struct Parts {
    top: Vec<Line<'static>>,
    /// What of the top had no room.
    rest: Vec<Line<'static>>,
    tabs: Rect,
    content: Rect,
}

impl Parts {
    fn new(context: &DrawContext<'_>, tx: &Transaction, panes: &Panes, pane: Rect) -> Self {
        let inner = inside(panes, pane);
        let (columns, rows) = (usize::from(inner.width), usize::from(inner.height));
        let is_open = context.model.screen == Screen::Detail;
        let titled = !is_open || panes.filter.height == 0;
        let mut top = if titled { vec![verdict::title(context, tx, columns)] } else { Vec::new() };
        top.extend(verdict::lines(context, tx, columns));
        let room = rows.saturating_sub(if is_open { 1 + CONTENT } else { 1 });
        let kept = match (top.len() <= room, is_open) {
            (true, _) => top.len(),
            // Halves of sentences help nobody: all of it stands in the summary then.
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

/// The part of the pane that holds text: inside the frame if there is one, a column free on either side.
fn inside(panes: &Panes, pane: Rect) -> Rect {
    pane.inner(Margin::new(if panes.split { 2 } else { 1 }, u16::from(panes.split)))
}

/// The tab that is shown.
fn tab(context: &DrawContext<'_>) -> DetailTab {
    match context.model.screen {
        Screen::Detail => context.model.detail.tab,
        _ => DetailTab::Summary,
    }
}

pub(super) fn draw(context: &DrawContext<'_>, panes: &Panes, pane: Rect, frame: &mut Frame<'_>) {
    let inner = inside(panes, pane);
    if panes.split {
        let block = Block::bordered()
            .border_set(context.theme.border)
            .border_style(context.theme.dim())
            .title(Span::styled(" Detail ", context.theme.label()));
        frame.render_widget(block, pane);
    }
    let Some(tx) = context.model.selected() else {
        return frame.render_widget(Line::styled(" Select a transaction.", context.theme.dim()), inner);
    };
    let parts = Parts::new(context, tx, panes, pane);
    let (content, place) = content(context, tx, &parts);
    let top = Rect { height: parts.tabs.y - inner.y, ..inner };
    put_lines(parts.top, top, frame);
    put_lines(content, parts.content, frame);
    hyperlink::mark(context, tx, inner, frame.buffer_mut());
    tabs::draw(context, (tab(context), &place), parts.tabs, frame);
}

/// The tab whose title is seen at a place of the screen.
pub(super) fn tab_at(context: &DrawContext<'_>, (panes, pane): (&Panes, Rect), at: Position) -> Option<DetailTab> {
    let row = Parts::new(context, context.model.selected()?, panes, pane).tabs;
    row.contains(at).then(|| tabs::at(context, tab(context), (row, at.x)))?
}

/// What is seen of the open tab, and where in it that is.
fn content(context: &DrawContext<'_>, tx: &Transaction, parts: &Parts) -> (Vec<Line<'static>>, String) {
    let size = (usize::from(parts.content.width), usize::from(parts.content.height));
    match tab(context) {
        DetailTab::Steps => steps::shown(context, tx, size),
        DetailTab::Raw => raw::shown(context, size),
        _ => {
            let (lines, remark) = scrolled(context, tx, parts);
            let (rows, count) = (size.1, lines.len());
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
                (_, true) => format!("more: {}", context.key(Id::Open)),
            };
            (lines.into_iter().skip(first).take(rows).collect(), place)
        }
    }
}

/// All lines of a tab that scrolls by the line, and a remark on them.
fn scrolled(context: &DrawContext<'_>, tx: &Transaction, parts: &Parts) -> (Vec<Line<'static>>, String) {
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

/// Verdict, SAY and DO of the selected one, for the bottom of a small screen's list.
pub(super) fn preview(context: &DrawContext<'_>, pane: Rect) -> Vec<Line<'static>> {
    verdict::preview(context, pane)
}

/// How far the open tab can be scrolled down, or its cursor be moved.
pub(super) fn scroll_end(context: &DrawContext<'_>, panes: &Panes, pane: Rect) -> usize {
    let Some(tx) = context.model.selected() else { return 0 };
    match tab(context) {
        DetailTab::Steps => steps::of(tx).len().saturating_sub(1),
        DetailTab::Raw => context.model.detail.raw.count().saturating_sub(1),
        _ => {
            let parts = Parts::new(context, tx, panes, pane);
            scrolled(context, tx, &parts).0.len().saturating_sub(usize::from(parts.content.height))
        }
    }
}

/// Rows of the open tab.
pub(super) fn rows(context: &DrawContext<'_>, panes: &Panes, pane: Rect) -> usize {
    let Some(tx) = context.model.selected() else { return 0 };
    let rows = usize::from(Parts::new(context, tx, panes, pane).content.height);
    if tab(context) == DetailTab::Raw { raw::rows(rows) } else { rows }
}

/// Which transaction is open and where in the list it stands, in the filter's place.
pub(super) fn position(context: &DrawContext<'_>, columns: u16) -> Line<'static> {
    let (place, count) = context.model.list.standing();
    // What was opened from elsewhere needn't stand in the list.
    let place = match context.model.list.position() {
        Some(_) => format!("{place} of {count} in {} ", context.model.list.tab.titles().0),
        None => String::new(),
    };
    let Some(tx) = context.model.selected() else { return Line::styled(format!(" {place}"), context.theme.dim()) };
    let columns = usize::from(columns);
    let mut line = verdict::title(context, tx, columns.saturating_sub(width::of(&place) + 5));
    line.spans.insert(0, Span::styled(" > ", context.theme.dim()));
    let room = columns.saturating_sub(line.width());
    if room > width::of(&place) {
        line.push_span(Span::styled(format!("{place:>room$}"), context.theme.dim()));
    }
    line
}

/// A label in front, the text wrapped beside it.
fn labelled(label: &str, text: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    let wrapped = width::wrap(text, columns.saturating_sub(LABEL));
    let mut label = format!("{label:<LABEL$}");
    let text_style = if label.trim().is_empty() { style } else { Style::new() };
    let mut lines = Vec::new();
    for line in wrapped {
        lines.push(Line::from(vec![Span::styled(label, style), Span::styled(line, text_style)]));
        label = " ".repeat(LABEL);
    }
    lines
}

/// Labelled lines, those without a text left out.
fn table(
    facts: impl IntoIterator<Item = (&'static str, Option<String>)>,
    columns: usize,
    style: Style,
) -> Vec<Line<'static>> {
    let filled = facts.into_iter().filter_map(|(label, text)| Some((label, text?)));
    filled.flat_map(|(label, text)| labelled(label, &text, columns, style)).collect()
}

/// A moment in the person's time zone: the time, or of another day the date too.
fn time(context: &DrawContext<'_>, at: DateTime<Utc>) -> String {
    let is_old = span::between(at, context.now.wall) > Duration::from_secs(12 * 60 * 60);
    let local = at.with_timezone(&context.model.setting.zone);
    local.format(if is_old { "%m-%d %H:%M" } else { "%H:%M:%S" }).to_string()
}

fn heading(context: &DrawContext<'_>, title: &str, remark: &str, columns: usize) -> Line<'static> {
    let remark = width::cut(remark, columns.saturating_sub(width::of(title) + 2), context.theme.ellipsis);
    Line::from(vec![
        Span::styled(format!("{title}  "), context.theme.label()),
        Span::styled(remark, context.theme.dim()),
    ])
}

#[cfg(test)]
mod tests;
