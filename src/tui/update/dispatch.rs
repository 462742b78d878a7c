//! Dispatch: calls the function of a command, which its row of the table names.
//!
//! The table's functions use the names that this module imports. A row without a function doesn't compile.

use super::{actions, chain, poll, theme};
use crate::{
    clock::{MonotonicTime, Now},
    domain::{change::RecentChange, duration_stats::RouteKey, filter::Direction, reply::Audience},
    tui::{
        command::{CommandId, command_table},
        dialogs::{
            Dialog, copy, filter,
            help::state::HelpPage,
            menu::state::{Menu, MenuChoice},
            palette::state::CommandPalette,
            prompt::state::PromptKind,
            quote, reply,
        },
        effect::{Effect, MarkRequest, TextUse},
        model::{MessageTone, Model, Screen, view_state::Pane},
        screens::{
            alerts, detail,
            list::{
                tab::{OwnTab, Tab},
                update::{arrangement, marks, views},
            },
            log,
            stats::{self, state::RouteOrder},
        },
        tour::Tour,
    },
};

/// The lines by which the detail beside the list scrolls.
const DETAIL_STEP: isize = 3;

pub(crate) fn dispatch(model: &mut Model, id: CommandId, now: Now) {
    if advance_tour(model, id) {
        return;
    }
    if actions::lacks_target(model, id) {
        let target = if model.screen == Screen::Alerts { "alert" } else { "transaction" };
        return actions::refuse(model, format!("No {target} is selected."), now.mono);
    }
    if let Some(reason) = actions::lacks_one_transaction(model, id) {
        return actions::refuse(model, reason, now.mono);
    }
    if id.target_kind().is_some() {
        keep_selection(model);
    }
    macro_rules! perform {
        ($($id:ident $group:ident $(needs $needs:ident)? [$($context:ident)*] $name:literal $hint:literal [$($key:literal)*]
           $help:literal $(<$argument:literal>)? => $perform:expr;)*) => {
            match id {
                $(CommandId::$id => call($perform, model, now),)*
            }
        };
    }
    command_table!(perform)
}

/// Keeps the selected transaction selected, because a command may be about it.
fn keep_selection(model: &mut Model) {
    match model.screen {
        Screen::List | Screen::Detail => model.list.choose(),
        Screen::Alerts | Screen::Stats | Screen::Log => {}
    }
}

/// Calls the function of a command. The table's closures get the types of their parameters from it.
fn call(perform: impl FnOnce(&mut Model, Now), model: &mut Model, now: Now) {
    perform(model, now);
}

/// Acknowledges the active alerts of the selection.
fn acknowledge(model: &mut Model, now: MonotonicTime) {
    match model.screen {
        Screen::Alerts => alerts::update::acknowledge(model, now),
        Screen::List | Screen::Detail | Screen::Stats | Screen::Log => actions::acknowledge(model, now),
    }
}

/// Wraps or cuts the long lines of the log or the raw body.
fn toggle_wrap(model: &mut Model) {
    match model.screen {
        Screen::Log => model.log.is_wrapped = !model.log.is_wrapped,
        Screen::List | Screen::Detail | Screen::Alerts | Screen::Stats => {
            model.detail.raw.is_wrapped = !model.detail.raw.is_wrapped;
        }
    }
}

/// Advances the tour. Returns `true` if the command only ended the tour.
fn advance_tour(model: &mut Model, id: CommandId) -> bool {
    // On a low screen the step isn't drawn, and Esc has another purpose.
    if id == CommandId::Clear && !model.geometry.shows_tour {
        return false;
    }
    let before = model.tour;
    model.tour = before.after(id);
    if before == model.tour {
        return false;
    }
    model.view_state.tour_is_over |= model.tour == Tour::Over;
    id == CommandId::Clear
}

/// Closes the page of text or the search, or returns to the previous screen.
fn back(model: &mut Model, now: MonotonicTime) {
    if let Dialog::Reply { .. } = model.dialog {
        model.dialog = Dialog::None;
        return;
    }
    match model.screen {
        Screen::Log if !model.log.search_text.is_empty() => model.log.set_search(""),
        Screen::Stats | Screen::Log => leave_side_screen(model, now),
        Screen::Detail if !model.detail.search_text().is_empty() => model.detail.set_search(""),
        Screen::List | Screen::Detail | Screen::Alerts => go_back(model, now),
    }
}

/// Goes back from the open transaction or from the list of alerts, as Esc does.
fn go_back(model: &mut Model, now: MonotonicTime) {
    let opened_from_alerts = std::mem::take(&mut model.alert_list.returns_to_alerts);
    // From the list, or at its target, going back ends the temporary view.
    let ends_view = model.screen == Screen::List || model.is_at_temporary_target();
    let count = (ends_view && model.end_temporary_view()).then_some(Effect::Count);
    if opened_from_alerts && model.screen == Screen::Detail {
        alerts::update::open(model, now);
        return model.effects.extend(count);
    }
    model.screen = Screen::List;
    // The transaction that was open may be filtered out by now.
    model.list.mark_stale();
    model.effects.extend(count);
}

/// Opens the charts or the log, and stores the previous screen for the way back.
fn open_side_screen(model: &mut Model, screen: Screen, now: MonotonicTime) {
    if !model.is_side_screen() {
        model.previous_screen = model.screen;
    }
    model.screen = screen;
    // From an open transfer the charts show its route.
    let of_open = model.selected().filter(|_| model.previous_screen == Screen::Detail).map(RouteKey::of);
    (model.stats.is_stale, model.stats.chosen, model.log.load_requested_at) = (true, of_open, None);
    model.log.go_to_newest();
    stats::update::load_if_due(model, now);
    log::update::load_if_due(model, now);
}

/// Returns from the charts or the log to the previous screen.
fn leave_side_screen(model: &mut Model, now: MonotonicTime) {
    model.screen = model.previous_screen;
    match model.screen {
        Screen::Alerts => alerts::update::open(model, now),
        Screen::List => model.list.mark_stale(),
        Screen::Detail | Screen::Stats | Screen::Log => {}
    }
}

/// Opens the selected alert or transaction.
fn open(model: &mut Model, now: MonotonicTime) {
    if model.screen == Screen::Alerts {
        alerts::update::open_selected(model, now);
    } else if model.list.selected.is_some() {
        model.list.choose();
        model.open_detail(false);
    }
}

/// Shows the detail full screen, or beside the list again.
fn full_screen(model: &mut Model, now: MonotonicTime) {
    if model.screen == Screen::Detail { go_back(model, now) } else { open(model, now) }
}

/// Clears the marks. Without marks, leaves the temporary view, or clears the filter.
fn clear(model: &mut Model, now: MonotonicTime) {
    if !model.marks.is_empty() {
        model.marks.clear();
        return;
    }
    if model.temporary_view.is_none() { filter::update::set(model, "") } else { go_back(model, now) }
}

/// Switches to the next placement of the detail: beside the list, below it, in brief.
fn next_pane(model: &mut Model, now: MonotonicTime) {
    model.view_state.pane = Direction::Forwards.neighbor(&Pane::ALL, model.view_state.pane);
    model.show_message(MessageTone::Good, model.view_state.pane.description(), now);
}

/// Opens the command palette in the present contexts, with this text.
fn open_command_line(model: &mut Model, text: &str) {
    keep_selection(model);
    model.dialog = Dialog::Palette(CommandPalette::new(model.contexts(), text));
}

/// Opens the menu of the newest changes.
fn open_recent(model: &mut Model, now: MonotonicTime) {
    let zone = model.setting.zone;
    let entry = |recent: &RecentChange| Some((recent.sentence(zone), MenuChoice::GoTo(recent.change.transaction?)));
    let entries: Vec<_> = model.overview.recent.iter().filter_map(entry).collect();
    if entries.is_empty() {
        return model.show_message(MessageTone::Good, "No change yet.", now);
    }
    model.dialog = Dialog::Menu(Menu::numbered("Just now", "", entries.into_iter()));
}

fn half_page(model: &Model) -> isize {
    isize::from(u8::try_from(model.geometry.page / 2).unwrap_or(u8::MAX)).max(1)
}

/// Scrolls or moves the cursor in the open page or screen.
pub(crate) fn scroll(model: &mut Model, lines: isize) {
    let end = model.geometry.scroll_end;
    match (&mut model.dialog, model.screen) {
        (Dialog::Help(HelpPage { scroll, .. }) | Dialog::Reply { scroll, .. }, _) => {
            *scroll = scroll.saturating_add_signed(lines).min(end);
        }
        (_, Screen::Alerts) => model.alert_list.move_by(lines),
        (_, Screen::Detail) => model.detail.move_by(lines, end),
        (_, Screen::Stats) => model.stats.move_by(lines),
        (_, Screen::Log) => model.log.move_by(lines, model.geometry.page),
        (_, Screen::List) => model.list.move_by(lines),
    }
}

fn find_alert(model: &mut Model, direction: Direction) {
    model.effects.extend(model.list.selected.map(|row| Effect::FindAlert { row, direction }));
}
