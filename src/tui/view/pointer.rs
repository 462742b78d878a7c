//! The target under the mouse, such as a row, a column title, a tab, or a key of the footer.
//!
//! The target is found by the same geometry and lines that are drawn, so that a click always hits the drawn item.

use ratatui::layout::{Margin, Position, Rect};

use super::{header, layout, status};
use crate::{
    clock::Now,
    tui::{
        draw::{DrawContext, area, span_at},
        model::{
            Model, Screen,
            geometry::{ClickTarget, WheelPane},
        },
        screens::{
            alerts, detail,
            list::{self, tab::Tab},
        },
        theme::Theme,
    },
};

/// Returns the target at a column and a row of the screen.
pub(crate) fn target(model: &Model, now: Now, (column, row): (u16, u16)) -> Option<ClickTarget> {
    let theme = Theme::new(false, false);
    let context = DrawContext { model, theme: &theme, now };
    let panes = layout::panes(model, area(model));
    let at = Position::new(column, row);
    if panes.header.contains(at) {
        return tab(&context, panes.header, column).map(ClickTarget::Tab);
    }
    if let Some(pane) = panes.detail.filter(|pane| pane.contains(at)) {
        return detail::view::tab_at(&context, &panes, pane, at).map(ClickTarget::DetailTab);
    }
    if model.screen == Screen::Alerts && panes.filter.contains(at) {
        let column = usize::from(column - panes.filter.x);
        return alerts::view::tab_at(&context, panes.filter.width, column).map(ClickTarget::AlertTab);
    }
    if panes.status.contains(at) && row + 1 == panes.status.bottom() {
        return status::command_at(&context, panes.status, column).map(ClickTarget::Command);
    }
    if let Some(pane) = panes.recent.filter(|pane| pane.contains(at)) {
        let index = usize::from(row.checked_sub(pane.y + 1)?);
        let is_row = row + 1 < pane.bottom() && index < model.overview.recent.len();
        return is_row.then_some(ClickTarget::Recent(index));
    }
    let pane = panes.list.filter(|pane| pane.contains(at))?;
    if row == pane.y + u16::from(panes.is_split) {
        let inner = if panes.is_split { pane.inner(Margin::new(1, 1)) } else { pane };
        return list::view::title_at(&context, inner, column).map(ClickTarget::Title);
    }
    // The rows begin below the border, if there is one, and the titles.
    let first = pane.y + 1 + u16::from(panes.is_split);
    let index = usize::from(row.checked_sub(first)?);
    let shown = index < list::view::rows_in(&panes);
    let index = model.list.top + index;
    (shown && index < model.list.part.rows.len()).then_some(ClickTarget::Row(index))
}

/// Returns the pane that the wheel scrolls at a column and a row of the screen.
pub(crate) fn wheel_pane(model: &Model, (column, row): (u16, u16)) -> WheelPane {
    let panes = layout::panes(model, area(model));
    let is_over = |pane: Option<Rect>| pane.is_some_and(|pane| pane.contains(Position::new(column, row)));
    match model.screen {
        Screen::List if is_over(panes.detail) => WheelPane::Detail,
        Screen::List if is_over(panes.recent) => WheelPane::Recent,
        Screen::List | Screen::Detail | Screen::Alerts | Screen::Stats | Screen::Log => WheelPane::Main,
    }
}

/// Returns the saved view whose title (`[1 Attention 6]`) is at a column of the header.
fn tab(context: &DrawContext<'_>, header: Rect, column: u16) -> Option<Tab> {
    let line = header::line(context, header.width);
    let span = line.spans.get(span_at(&line, usize::from(column.checked_sub(header.x)?))?)?;
    let title = span.content.trim_matches(['[', ']', ' ']);
    let (number, name) = title.split_once(' ')?;
    let tab = Tab::from_number(number.parse().ok()?)?;
    let (long, short) = context.model.view_state.titles(tab);
    (name.starts_with(long) || name.starts_with(short)).then_some(tab)
}
