//! The layout: the area of each pane, at any size down to zero.
//!
//! Pure geometry: this module reads sizes, which screen is open, and whether the list is filtered. This module must
//! never read content.

use ratatui::layout::{Constraint, Layout, Rect};

use crate::tui::{
    dialogs::Dialog,
    model::{Model, Screen, view_state::Pane},
};

/// The least columns at which panes have frames.
const FRAMED_WIDTH: u16 = 100;
/// The least columns at which the detail is beside the list: the list has room for the progress.
const SIDE_WIDTH: u16 = 108;
/// The least rows at which the detail is beside the list: the detail shows what to say and to do.
const SIDE_HEIGHT: u16 = 20;
/// The least columns at which the newest changes have a pane.
const RECENT_WIDTH: u16 = 160;
/// The part of the height right of the list that the newest changes take, and their least rows.
const RECENT_PART: u16 = 3;
const RECENT_ROWS: u16 = 8;
/// The least rows of the detail above them.
const DETAIL_ROWS: u16 = 18;
/// The share of the width that the detail takes beside the list, in percent, and its most columns.
const DETAIL_SHARE: u16 = 40;
const MAX_DETAIL: u16 = 56;
/// The least rows at which the detail fits below the list.
const BELOW_HEIGHT: u16 = 24;
/// On a screen with fewer rows, only the header, a banner, the verdict and one row of status are shown besides the list.
const LOW: u16 = 14;
/// The most profiles that have a budget line besides the active profile.
const MAX_OTHER_PROFILES: usize = 4;
/// The least rows at which the verdict and the beginning of DO are below the list.
const MIN_PREVIEW_HEIGHT: u16 = 8;
/// The least rows at which all of SAY and DO fits below the list.
const FULL_PREVIEW_HEIGHT: u16 = 22;

/// The panes of one screen; a pane that isn't shown is `None` or empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panes {
    pub(crate) header: Rect,
    pub(crate) banner: Option<Rect>,
    pub(crate) filter: Rect,
    /// The rows between filter and status.
    pub(crate) body: Rect,
    pub(crate) list: Option<Rect>,
    pub(crate) detail: Option<Rect>,
    /// The newest changes, below the detail: the list keeps its width.
    pub(crate) recent: Option<Rect>,
    /// The selected transaction's verdict, if the detail isn't shown.
    pub(crate) preview: Option<Rect>,
    pub(crate) status: Rect,
    /// Whether panes have frames: on a wide screen, if list and detail are both shown, or another screen is open.
    pub(crate) is_split: bool,
}

/// Returns the panes of the open screen.
pub(crate) fn panes(model: &Model, area: Rect) -> Panes {
    panes_of(model.screen, model, area)
}

/// Returns the number of budget lines for profiles other than the active one.
pub(crate) fn other_profile_rows(model: &Model) -> u16 {
    u16::try_from(model.other_profiles.len().min(MAX_OTHER_PROFILES)).unwrap_or_default()
}

/// Like [`panes`], as if `screen` were open.
pub(crate) fn panes_of(screen: Screen, model: &Model, area: Rect) -> Panes {
    let low = area.height < LOW;
    let wide = area.width >= FRAMED_WIDTH && !low;
    let preview = match area.height {
        ..MIN_PREVIEW_HEIGHT => 0,
        MIN_PREVIEW_HEIGHT..LOW => 3,
        LOW..FULL_PREVIEW_HEIGHT => 5,
        FULL_PREVIEW_HEIGHT.. => 7,
    };
    let banner = u16::from(model.store_fault.is_some() || model.profile_alert().is_some());
    let more_rows = other_profile_rows(model) + u16::from(model.team.is_some());
    let status = if low { 1 } else { 2 + more_rows };
    let [mut header, banner_row, mut filter, body, status] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(banner),
        Constraint::Length(u16::from(!low)),
        Constraint::Fill(1),
        Constraint::Length(status),
    ])
    .areas(area);
    let is_filtered = matches!(model.dialog, Dialog::Filter(_)) || !model.list.filter_text.is_empty();
    if low && screen == Screen::List && is_filtered {
        // The filter and the number of hidden transactions matter more than the time.
        (filter, header) = (header, Rect::default());
    }
    let high = area.height >= BELOW_HEIGHT;
    let mut recent = None;
    let (list, detail, preview) = match (screen, model.view_state.pane) {
        (Screen::Detail, _) => (None, Some(body), None),
        (Screen::Alerts | Screen::Stats | Screen::Log, _) => (None, None, None),
        (Screen::List, Pane::Side) if area.width >= SIDE_WIDTH && area.height >= SIDE_HEIGHT => {
            let columns = (body.width * DETAIL_SHARE / 100).min(MAX_DETAIL);
            let [list, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Length(columns)]).areas(body);
            let has_room = area.width >= RECENT_WIDTH && body.height >= RECENT_ROWS + DETAIL_ROWS;
            let rows = if has_room { (body.height / RECENT_PART).max(RECENT_ROWS) } else { 0 };
            let [detail, changes] = Layout::vertical([Constraint::Fill(1), Constraint::Length(rows)]).areas(right);
            recent = Some(changes).filter(|pane| pane.height > 0);
            (Some(list), Some(detail), None)
        }
        (Screen::List, Pane::Below) if high => {
            // Panes without frames have a line between them.
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
    let is_split = wide && (screen != Screen::List || detail.is_some());
    let banner = Some(banner_row).filter(|row| row.height > 0);
    Panes { header, banner, filter, body, list, detail, recent, preview, status, is_split }
}
