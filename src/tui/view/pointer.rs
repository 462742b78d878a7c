//! What lies under the mouse: a row of the list, a saved view's title.
//!
//! It asks the same geometry and the same lines that are drawn, so that a click can't miss what is seen.

use ratatui::layout::{Position, Rect};

use super::{DrawContext, area, detail, header, layout, list};
use crate::{
    clock::Now,
    domain::width,
    tui::{
        model::{Model, geometry::Target, list::Tab},
        theme::Theme,
    },
};

/// What lies at a column and a row of the screen.
pub fn target(model: &Model, now: Now, (column, row): (u16, u16)) -> Option<Target> {
    let panes = layout::panes(model, area(model));
    let at = Position::new(column, row);
    if panes.header.contains(at) {
        return tab(model, now, (panes.header, column)).map(Target::Tab);
    }
    if let Some(pane) = panes.detail.filter(|pane| pane.contains(at)) {
        let theme = Theme::new(false, false);
        return detail::tab_at(&DrawContext { model, theme: &theme, now }, (&panes, pane), at).map(Target::DetailTab);
    }
    let pane = panes.list.filter(|pane| pane.contains(at))?;
    // Below the border, if there is one, and the titles.
    let first = pane.y + 1 + u16::from(panes.split);
    let place = usize::from(row.checked_sub(first)?);
    let shown = place < list::rows_in(&panes);
    let place = model.list.top + place;
    (shown && place < model.list.part.rows.len()).then_some(Target::Row(place))
}

/// The saved view whose title is at a column of the header: `[1 Attention 6]`.
fn tab(model: &Model, now: Now, (header, column): (Rect, u16)) -> Option<Tab> {
    let theme = Theme::new(false, false);
    let line = header::line(&DrawContext { model, theme: &theme, now }, header.width);
    let mut end = usize::from(header.x);
    let span = line.spans.iter().find(|span| {
        end += width::of(&span.content);
        usize::from(column) < end
    })?;
    let title = span.content.trim_matches(['[', ']', ' ']);
    let mut tabs = Tab::ALL.into_iter().zip(1..);
    let (number, name) = title.split_once(' ')?;
    let is_it = |(tab, place): &(Tab, usize)| {
        let (long, short) = tab.titles();
        number == place.to_string() && (name.starts_with(long) || name.starts_with(short))
    };
    tabs.find(is_it).map(|(tab, _)| tab)
}
