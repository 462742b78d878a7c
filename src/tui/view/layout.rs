//! Where each pane is, at any size down to nothing.
//!
//! Pure geometry: it looks at sizes and at what is open, never at content.

use ratatui::layout::{Constraint, Layout, Rect};

use crate::tui::model::{Model, Screen, memory::Pane};

/// From so many columns on, list and detail stand side by side.
const SPLIT_WIDTH: u16 = 100;
/// From so many rows on the detail has room below the list.
const BELOW_HEIGHT: u16 = 24;
/// Below so many rows everything but the list gives way.
const LOW: u16 = 14;
/// So many profiles beside the one in force have room for a line.
const BESIDE: usize = 4;
/// From so many rows on there is room for all of what to say and what to do below the list.
const HIGH: u16 = 22;

/// The panes of one screen; those that aren't there are `None` or empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panes {
    pub(super) header: Rect,
    pub(super) banner: Option<Rect>,
    pub(super) filter: Rect,
    /// Everything between filter and status.
    pub(super) body: Rect,
    pub(super) list: Option<Rect>,
    pub(super) detail: Option<Rect>,
    /// The selected transaction's verdict, where there is no detail.
    pub(super) preview: Option<Rect>,
    pub(super) status: Rect,
    /// Whether list and detail are seen together on a wide screen, or one fills it, with lines around them.
    pub(super) split: bool,
}

pub(super) fn panes(model: &Model, area: Rect) -> Panes {
    panes_of(model.screen, model, area)
}

/// How many profiles beside the one in force have a line, where there is room.
pub(super) fn beside(model: &Model) -> u16 {
    u16::try_from(model.beside.len().min(BESIDE)).unwrap_or_default()
}

/// The same as if `screen` filled the terminal.
pub(super) fn panes_of(screen: Screen, model: &Model, area: Rect) -> Panes {
    let low = area.height < LOW;
    let wide = area.width >= SPLIT_WIDTH && !low;
    let preview = match area.height {
        ..LOW => 0,
        LOW..HIGH => 5,
        HIGH.. => 7,
    };
    let banner = u16::from(model.trouble.is_some() || model.profile_alert().is_some());
    let status = match (low, wide) {
        (true, _) => 1,
        (false, false) => 3 + beside(model),
        (false, true) => 4 + beside(model),
    };
    let [header, banner_row, filter, body, status] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(banner),
        Constraint::Length(u16::from(!low)),
        Constraint::Fill(1),
        Constraint::Length(status),
    ])
    .areas(area);
    let high = area.height >= BELOW_HEIGHT;
    let (list, detail, preview) = match (screen, model.memory.pane) {
        (Screen::Detail, _) => (None, Some(body), None),
        (Screen::Alerts | Screen::Stats | Screen::Log, _) => (None, None, None),
        (Screen::List, Pane::Side) if wide => {
            let [list, detail] =
                Layout::horizontal([Constraint::Percentage(54), Constraint::Percentage(46)]).areas(body);
            (Some(list), Some(detail), None)
        }
        (Screen::List, Pane::Below) if high => {
            // Where there are no lines around them, one between them.
            let between = u16::from(!wide);
            let [list, line, detail] =
                Layout::vertical([Constraint::Percentage(40), Constraint::Length(between), Constraint::Fill(1)])
                    .areas(body);
            (Some(list), Some(detail), Some(line).filter(|_| !wide))
        }
        (Screen::List, _) => {
            let [list, preview] = Layout::vertical([Constraint::Fill(1), Constraint::Length(preview)]).areas(body);
            (Some(list), None, Some(preview).filter(|pane| pane.height > 0))
        }
    };
    let split = wide && (screen != Screen::List || detail.is_some());
    let banner = Some(banner_row).filter(|row| row.height > 0);
    Panes { header, banner, filter, body, list, detail, preview, status, split }
}
