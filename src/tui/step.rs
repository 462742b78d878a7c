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
    if let Msg::Key(_) | Msg::Wheel(..) = message {
        geometry.scroll_end = view::scroll_end(model, now);
    }
    model.set_geometry(geometry);
    update(model, message, now)
}

/// Returns the message of a mouse event; `None` if the event means nothing here.
pub(crate) fn mouse_message(model: &Model, mouse: MouseEvent, now: Now) -> Option<Msg> {
    let at = (mouse.column, mouse.row);
    match mouse.kind {
        MouseEventKind::ScrollDown => Some(Msg::Wheel(WHEEL, view::wheel_pane(model, at))),
        MouseEventKind::ScrollUp => Some(Msg::Wheel(-WHEEL, view::wheel_pane(model, at))),
        MouseEventKind::Down(MouseButton::Left) => view::target(model, now, at).map(Msg::Click),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::tui::dialogs::Dialog;
    use chrono::TimeDelta;
    use crossterm::event::KeyModifiers;

    use super::*;
    use crate::{
        domain::{fixtures as tx, ids::RowId},
        tui::{
            fixtures::{TestDashboard, blank, change_store, everything, live_report, moment, now, press},
            model::{Screen, geometry::ClickTarget},
            screens::{detail::state::DetailTab, list::tab::Tab},
        },
    };

    fn dashboard(size: (u16, u16)) -> TestDashboard {
        let mut model = blank(size);
        let transactions = (1..=40).map(tx::transaction).collect();
        change_store(&mut model, everything(transactions, Vec::new()), Some(live_report(now().wall)), now());
        press(&mut model, &["/"], now());
        model.apply(Msg::Paste("sort:hash".into()), now());
        press(&mut model, &["Enter", "g"], now());
        model
    }

    fn mouse(model: &mut TestDashboard, kind: MouseEventKind, (column, row): (u16, u16)) {
        let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        if let Some(message) = mouse_message(model, event, now()) {
            model.apply(message, now());
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
        for (keys, title) in [(&[][..], " Timing"), (&["f"], " Timing ")] {
            let mut model = dashboard((120, 36));
            press(&mut model, keys, now());
            let everywhere = (0..36).flat_map(|row| (0..120).map(move |column| (column, row)));
            let titles = everywhere.filter(|at| {
                let is_timing = view::target(&model, now(), *at) == Some(ClickTarget::DetailTab(DetailTab::Timing));
                if is_timing {
                    mouse(&mut model, CLICK, *at);
                    let screen = if keys.is_empty() { Screen::List } else { Screen::Detail };
                    assert_eq!((model.screen, model.detail.tab), (screen, DetailTab::Timing));
                    model.detail.tab = DetailTab::Summary;
                }
                is_timing
            });
            // The title and the rule below it.
            assert_eq!(titles.count(), 2 * title.len());
        }
    }

    #[test]
    fn a_second_click_opens_the_transaction_and_a_slow_one_does_not() {
        let mut model = dashboard((120, 36));
        mouse(&mut model, CLICK, (10, 6));
        model.apply(Msg::Click(ClickTarget::Row(2)), moment(now().wall + TimeDelta::seconds(2)));
        assert_eq!(model.screen, Screen::List);
        model.apply(Msg::Click(ClickTarget::Row(2)), moment(now().wall + TimeDelta::milliseconds(2_300)));
        assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(RowId(3))));
    }

    #[test]
    fn a_click_on_a_column_sorts_by_it_and_a_click_on_a_key_runs_its_command() {
        for size in [(80, 24), (120, 36)] {
            let mut model = dashboard(size);
            let row = if size.0 < 100 { 2 } else { 3 };
            let age = (0..size.0).find(|column| {
                matches!(view::target(&model, now(), (*column, row)), Some(ClickTarget::Title(own)) if own.spec().name == "status")
            });
            mouse(&mut model, CLICK, (age.unwrap(), row));
            assert_eq!(model.list.filter_text, "sort:status", "{size:?}");
            // `? help` is the first key of the footer.
            mouse(&mut model, CLICK, (2, size.1 - 1));
            assert!(matches!(model.dialog, Dialog::Help(_)), "{size:?}");
        }
    }

    #[test]
    fn the_wheel_scrolls_the_pane_below_it() {
        let mut model = dashboard((120, 36));
        mouse(&mut model, MouseEventKind::ScrollDown, (10, 10));
        assert_eq!((model.list.selected, model.detail.position()), (Some(RowId(4)), 0));
        // The raw body of the tab beside the list would scroll; the summary fits.
        model.detail.tab = DetailTab::Timing;
        press(&mut model, &["^E"], now());
        let scrolled = model.detail.position();
        mouse(&mut model, MouseEventKind::ScrollDown, (100, 20));
        assert_eq!(model.list.selected, Some(RowId(4)), "the list stays");
        assert!(model.detail.position() >= scrolled && model.geometry.scroll_end >= model.detail.position());
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
        press(&mut model, &["Esc", ":"], now());
        mouse(&mut model, MouseEventKind::ScrollDown, (0, 0));
        assert!(matches!(&model.dialog, Dialog::Palette(palette) if palette.chosen == 1));
    }
}
