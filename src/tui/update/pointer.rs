//! The mouse: a click selects a row, or opens a saved view or a tab; the wheel scrolls.
//!
//! The mouse must never do anything that no key does.

use super::dispatch::{scroll, show_tab};
use crate::tui::{
    dialogs::Dialog,
    effect::Effect,
    model::{Model, Screen, geometry::ClickTarget},
};

/// Scrolls the open page or screen, or moves the cursor of an open list of links and texts.
pub(crate) fn on_wheel(model: &mut Model, lines: isize) {
    match &mut model.dialog {
        Dialog::CopyMenu(menu) => menu.move_by(lines.signum()),
        Dialog::None | Dialog::Help { .. } | Dialog::Answer { .. } => scroll(model, lines),
        Dialog::Filter(_)
        | Dialog::Find { .. }
        | Dialog::Add(_)
        | Dialog::Palette(_)
        | Dialog::Prompt(_)
        | Dialog::Menu(_)
        | Dialog::Quote(_) => {}
    }
}

/// Applies a click on this target, unless a dialog is open.
pub(crate) fn on_click(model: &mut Model, target: ClickTarget) -> Vec<Effect> {
    if !matches!(model.dialog, Dialog::None) {
        return Vec::new();
    }
    match target {
        ClickTarget::Row(place) => model.list.select(place),
        ClickTarget::Tab(tab) => {
            model.screen = Screen::List;
            return show_tab(model, tab);
        }
        ClickTarget::DetailTab(tab) => {
            model.list.chosen = true;
            (model.screen, model.detail.tab) = (Screen::Detail, tab);
        }
    }
    Vec::new()
}
