//! The mouse: a click selects, sorts, or runs a command of the footer; a second click opens; the wheel scrolls the pane
//! below it.
//!
//! The mouse must never do anything that no key does.

use std::time::Duration;

use super::dispatch::{dispatch, scroll};
use crate::{
    clock::Now,
    tui::{
        command::CommandId,
        dialogs::Dialog,
        model::{
            Model,
            geometry::{ClickTarget, WheelPane},
        },
        screens::list::update::{arrangement, views::show_tab},
    },
};

/// The longest time between the two clicks of a double click.
const DOUBLE_CLICK: Duration = Duration::from_millis(400);

/// Scrolls the pane below the wheel, or moves the cursor of an open menu.
pub(crate) fn on_wheel(model: &mut Model, lines: isize, pane: WheelPane) {
    match (&mut model.dialog, pane) {
        (Dialog::CopyMenu(menu), _) => menu.move_by(lines.signum()),
        (Dialog::Menu(menu), _) => menu.move_by(lines.signum()),
        (Dialog::Palette(palette), _) => palette.move_by(lines.signum()),
        (Dialog::None, WheelPane::Detail) => {
            // What is being read stays.
            model.list.choose();
            model.detail.move_by(lines, model.geometry.scroll_end);
        }
        // The newest changes move by themselves.
        (Dialog::None, WheelPane::Recent) => {}
        (Dialog::None | Dialog::Help { .. } | Dialog::Reply { .. }, _) => scroll(model, lines),
        (Dialog::Filter(_) | Dialog::Find { .. } | Dialog::Add(_) | Dialog::Prompt(_) | Dialog::Quote(_), _) => {}
    }
}

/// Applies a click on this target, unless a dialog is open.
pub(crate) fn on_click(model: &mut Model, target: ClickTarget, now: Now) {
    if !matches!(model.dialog, Dialog::None) {
        return;
    }
    match target {
        ClickTarget::Row(index) => {
            model.list.select(index);
            let row = model.list.selected;
            let is_second = model
                .clicked
                .take()
                .is_some_and(|(before, at)| Some(before) == row && now.mono.since(at) <= DOUBLE_CLICK);
            if is_second {
                return dispatch(model, CommandId::Open, now);
            }
            model.clicked = row.map(|row| (row, now.mono));
        }
        ClickTarget::Tab(tab) => show_tab(model, tab),
        ClickTarget::DetailTab(tab) => {
            model.list.choose();
            model.detail.tab = tab;
        }
        ClickTarget::AlertTab(tab) => model.alert_list.show_tab(tab),
        ClickTarget::Title(column) => {
            column.spec().sort.into_iter().for_each(|by| arrangement::choose_order(model, by, now));
        }
        ClickTarget::Recent(index) => {
            let row = model.overview.recent.get(index).and_then(|recent| recent.change.transaction);
            row.into_iter().for_each(|row| model.go_to_row(row));
        }
        ClickTarget::Command(id) => dispatch(model, id, now),
    }
}
