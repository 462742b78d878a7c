//! One step of the dashboard: measures the screen, then applies a message.
//!
//! The only module that knows both `view` and `update`. Neither may know the other.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::{effect::Effect, message::Msg, model::Model, update::update, view};
use crate::clock::Now;

/// Lines by which the wheel scrolls.
const WHEEL: isize = 3;

/// Applies a message to a model whose screen was measured; returns the effects.
pub fn step(model: &mut Model, message: Msg, now: Now) -> Vec<Effect> {
    if let Msg::Resize(columns, rows) = message {
        model.size = (columns, rows);
    }
    let mut geometry = view::measure(model, now);
    // Only keys and the wheel scroll.
    if let Msg::Key(_) | Msg::Wheel(_) = message {
        geometry.scroll_end = view::scroll_end(model, now);
    }
    model.set_geometry(geometry);
    update(model, message, now)
}

/// Returns the message of a mouse event; `None` if the event means nothing here.
pub(crate) fn mouse_message(model: &Model, mouse: MouseEvent, now: Now) -> Option<Msg> {
    match mouse.kind {
        MouseEventKind::ScrollDown => Some(Msg::Wheel(WHEEL)),
        MouseEventKind::ScrollUp => Some(Msg::Wheel(-WHEEL)),
        MouseEventKind::Down(MouseButton::Left) => view::target(model, now, (mouse.column, mouse.row)).map(Msg::Click),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::tui::dialogs::Dialog;
    use chrono::{DateTime, TimeDelta};
    use crossterm::event::KeyModifiers;

    use super::*;
    use crate::{
        domain::{fixtures as tx, ids::RowId},
        tui::{
            fixtures::{TestDashboard, at_work, blank, change_store, everything, moment, press},
            model::{Screen, geometry::ClickTarget},
            screens::{detail::state::DetailTab, list::state::Tab},
        },
    };

    fn now() -> Now {
        moment(DateTime::UNIX_EPOCH + TimeDelta::hours(1))
    }

    fn dashboard(size: (u16, u16)) -> TestDashboard {
        let mut model = blank(size);
        let transactions = (1..=40).map(tx::transaction).collect();
        change_store(&mut model, everything(transactions, Vec::new()), Some(at_work(now().wall)), now());
        press(&mut model, &["/"], now());
        model.take(Msg::Paste("sort:hash".into()), now());
        press(&mut model, &["Enter", "g"], now());
        model
    }

    fn mouse(model: &mut TestDashboard, kind: MouseEventKind, (column, row): (u16, u16)) {
        let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        if let Some(message) = mouse_message(model, event, now()) {
            model.take(message, now());
        }
    }

    const CLICK: MouseEventKind = MouseEventKind::Down(MouseButton::Left);

    #[test]
    fn a_click_selects_the_row_under_it() {
        // The rows before the first: header, filter, titles, and a border if the detail is beside the list.
        for (size, first) in [((80, 24), 3), ((120, 36), 4)] {
            let mut model = dashboard(size);
            mouse(&mut model, CLICK, (10, first + 4));
            assert_eq!(model.list.selected, Some(RowId(5)), "{size:?}");
            for nowhere in [(10, first - 1), (10, size.1 - 1), (size.0, first), (u16::MAX, u16::MAX)] {
                mouse(&mut model, CLICK, nowhere);
                assert_eq!(model.list.selected, Some(RowId(5)), "{size:?} {nowhere:?}");
            }
        }
    }

    #[test]
    fn a_click_on_a_title_opens_its_view() {
        for (size, title) in [((80, 24), "2 Act "), ((120, 36), "2 Active ")] {
            let mut model = dashboard(size);
            let clicked = (0..size.0).filter(|column| {
                mouse(&mut model, CLICK, (*column, 0));
                let opened = model.list.tab == Tab::Active;
                press(&mut model, &["5"], now());
                opened
            });
            assert!(clicked.count() >= title.len(), "{title}");
        }
    }

    #[test]
    fn a_click_on_a_tab_of_the_detail_opens_it() {
        // In the pane beside the list, and on the whole screen.
        for keys in [&[][..], &["f"]] {
            let mut model = dashboard((120, 36));
            press(&mut model, keys, now());
            let everywhere = (0..36).flat_map(|row| (0..120).map(move |column| (column, row)));
            let titles = everywhere.filter(|at| {
                let is_timing = view::target(&model, now(), *at) == Some(ClickTarget::DetailTab(DetailTab::Timing));
                if is_timing {
                    mouse(&mut model, CLICK, *at);
                    assert_eq!((model.screen, model.detail.tab), (Screen::Detail, DetailTab::Timing));
                    press(&mut model, &["Esc"], now());
                    press(&mut model, keys, now());
                }
                is_timing
            });
            assert_eq!(titles.count(), " Timing ".len());
        }
    }

    #[test]
    fn the_wheel_scrolls_the_open_page() {
        let mut model = dashboard((80, 24));
        mouse(&mut model, MouseEventKind::ScrollDown, (0, 0));
        assert_eq!(model.list.selected, Some(RowId(4)));
        mouse(&mut model, MouseEventKind::ScrollUp, (0, 0));
        assert_eq!(model.list.selected, Some(RowId(1)));
        press(&mut model, &["?"], now());
        mouse(&mut model, MouseEventKind::ScrollDown, (0, 0));
        assert!(matches!(&model.dialog, Dialog::Help(page) if page.scroll == 3));
        mouse(&mut model, CLICK, (10, 8));
        assert_eq!(model.list.selected, Some(RowId(1)), "the help covers the list");
        press(&mut model, &["Esc", "y"], now());
        mouse(&mut model, MouseEventKind::ScrollDown, (0, 0));
        assert!(matches!(&model.dialog, Dialog::CopyMenu(menu) if menu.cursor == 1));
    }
}
