//! Dispatch: each command of the table, with the function that performs it.
//!
//! The match over the commands must stay exhaustive, so that a command without a function doesn't compile.
#![expect(clippy::unit_arg, reason = "a command that changes the model alone takes one line, like the others")]

use super::{actions, chain, poll, theme};
use crate::{
    clock::{Mono, Now},
    domain::{answer::Audience, change::RecentChange, filter::Direction},
    tui::{
        command::Id,
        dialogs::{
            Dialog, answer, copy, filter,
            help::state::HelpPage,
            menu::state::{Choice, Menu},
            palette, quote,
        },
        effect::{Effect, Markable},
        model::{Model, Screen, Tone},
        screens::{
            alerts, detail,
            list::{
                tab::{OwnTab, Tab},
                update::{arrangement, marks, views},
            },
            log, stats,
        },
        tour::Tour,
    },
};

/// The lines by which the detail beside the list scrolls.
const DETAIL_STEP: isize = 3;

/// Performs a command.
#[expect(clippy::too_many_lines, reason = "a line for each command")]
pub(crate) fn dispatch(model: &mut Model, id: Id, now: Now) -> Vec<Effect> {
    if advance_tour(model, id) {
        return Vec::new();
    }
    if actions::lacks_target(model, id) {
        let target = if model.screen == Screen::Alerts { "alert" } else { "transaction" };
        model.show_message(Tone::Bad, format!("No {target} is selected."), now.mono);
        return Vec::new();
    }
    match id {
        Id::Quit | Id::QuitRoot => vec![Effect::Quit],
        Id::Redraw => vec![Effect::Redraw],
        Id::Suspend => vec![Effect::Suspend],
        Id::Undo => vec![Effect::Undo { confirmed: None }],
        Id::Redo => vec![Effect::Redo],
        Id::MarkAll => vec![Effect::FindMarks(Markable::Shown)],
        Id::Back => back(model, now.mono),
        Id::Open => no_effects(open(model, now.mono)),
        Id::FullScreen => full_screen(model, now.mono),
        Id::Clear => clear(model, now.mono),
        Id::Help => no_effects(model.dialog = Dialog::Help(HelpPage::default())),
        Id::Add => no_effects(model.dialog = Dialog::Add(Box::default())),
        Id::Quote => no_effects(quote::update::open(model)),
        Id::Answer => answer::update::open(model, Audience::Customer, now),
        Id::AnswerFor => no_effects(answer::update::choose_audience(model, now.mono)),
        Id::Copy => answer::update::open_menu(model, now),
        Id::Browser => copy::update::browse(model, now),
        Id::Links => copy::update::links(model, now),
        Id::CopyPart => detail::update::copy(model, now),
        Id::Report => log::update::report(model, now),
        Id::PollNow => poll::poll_selected(model, now),
        Id::AskChain => chain::ask(model, now.mono),
        Id::WrongChain => chain::correct_source(model, now.mono),
        Id::PollMarked => poll::poll_marked(model, now),
        Id::Pause => poll::pause(model, now),
        Id::Acknowledge => no_effects(match model.screen {
            Screen::Alerts => alerts::update::acknowledge(model, now.mono),
            Screen::List | Screen::Detail | Screen::Stats | Screen::Log => actions::acknowledge(model, now.mono),
        }),
        Id::Snooze => no_effects(actions::snooze(model, now.mono)),
        Id::Unacknowledge => actions::unacknowledge(model, now.mono),
        Id::Note => no_effects(actions::note(model, now.mono)),
        Id::Ticket => no_effects(actions::ticket(model, now.mono)),
        Id::Labels => no_effects(actions::labels(model, now.mono)),
        Id::Export => no_effects(actions::export(model, now)),
        Id::Untrack => actions::untrack(model, now.mono),
        Id::Delete => no_effects(palette::update::open(model, "delete ")),
        Id::Mark => no_effects(marks::toggle(model)),
        Id::MarkRange => marks::range(model, now.mono),
        Id::Filter => filter::update::open(model),
        Id::CommandLine => no_effects(palette::update::open(model, "")),
        Id::Sort => no_effects(arrangement::open_orders(model)),
        Id::Reverse => arrangement::reverse_order(model, now),
        Id::Columns => no_effects(arrangement::open_columns(model, 0)),
        Id::Theme => no_effects(theme::open(model)),
        Id::Recent => no_effects(open_recent(model, now.mono)),
        Id::Pane => no_effects(next_pane(model, now.mono)),
        Id::Alerts => alerts::update::begin(model, now.mono),
        Id::Stats => open_side_screen(model, Screen::Stats, now.mono),
        Id::RouteOrder => no_effects(model.charts.sort_by(model.charts.order.next())),
        Id::Range => stats::update::next_range(model),
        Id::OpenRoute => stats::update::open_route(model),
        Id::Log => open_side_screen(model, Screen::Log, now.mono),
        Id::Attention => views::show_tab(model, Tab::Attention),
        Id::Active => views::show_tab(model, Tab::Active),
        Id::Refunds => views::show_tab(model, Tab::Refunds),
        Id::Done => views::show_tab(model, Tab::Done),
        Id::All => views::show_tab(model, Tab::All),
        Id::View6 => views::show(model, OwnTab::Six, now),
        Id::View7 => views::show(model, OwnTab::Seven, now),
        Id::View8 => views::show(model, OwnTab::Eight, now),
        Id::View9 => views::show(model, OwnTab::Nine, now),
        Id::SaveView => no_effects(palette::update::open(model, "save ")),
        Id::ForgetView => no_effects(palette::update::open(model, "forget ")),
        Id::FoldRule => no_effects(model.alert_list.toggle_fold()),
        Id::FoldAll => no_effects(model.alert_list.toggle_all_folds()),
        Id::NextState => no_effects(model.alert_list.show_next_tab(Direction::Forwards)),
        Id::PrevState => no_effects(model.alert_list.show_next_tab(Direction::Backwards)),
        Id::NextAlert => find_alert(model, Direction::Forwards),
        Id::PrevAlert => find_alert(model, Direction::Backwards),
        Id::NextTab => no_effects(model.detail.tab = model.detail.tab.neighbor(Direction::Forwards)),
        Id::PrevTab => no_effects(model.detail.tab = model.detail.tab.neighbor(Direction::Backwards)),
        Id::DetailDown => no_effects(model.detail.move_by(DETAIL_STEP, model.geometry.detail_end)),
        Id::DetailUp => no_effects(model.detail.move_by(-DETAIL_STEP, model.geometry.detail_end)),
        Id::NextRow => no_effects(model.list.move_by(1)),
        Id::PrevRow => no_effects(model.list.move_by(-1)),
        Id::Changes => no_effects(detail::update::toggle_changes_only(model)),
        Id::Find => no_effects(detail::update::open_find(model)),
        Id::Fold => no_effects(model.detail.raw.toggle_fold()),
        Id::NextMatch => no_effects(model.detail.raw.go_to_match(Direction::Forwards)),
        Id::PrevMatch => no_effects(model.detail.raw.go_to_match(Direction::Backwards)),
        Id::OpenAbout => log::update::find_transaction(model, now.mono),
        Id::Level => no_effects(model.log.narrow()),
        Id::Wrap => no_effects(match model.screen {
            Screen::Log => model.log.wrap = !model.log.wrap,
            Screen::List | Screen::Detail | Screen::Alerts | Screen::Stats => {
                model.detail.raw.wrap = !model.detail.raw.wrap;
            }
        }),
        Id::Down => no_effects(scroll(model, 1)),
        Id::Up => no_effects(scroll(model, -1)),
        Id::HalfDown => no_effects(scroll(model, half_page(model))),
        Id::HalfUp => no_effects(scroll(model, -half_page(model))),
        Id::Top => no_effects(scroll(model, isize::MIN)),
        Id::Bottom => no_effects(scroll(model, isize::MAX)),
    }
}

/// Advances the tour. Returns `true` if the command only ended it.
fn advance_tour(model: &mut Model, id: Id) -> bool {
    let before = model.tour;
    model.tour = before.after(id);
    if before == model.tour {
        return false;
    }
    model.view_state.tour_is_over |= model.tour == Tour::Over;
    id == Id::Clear
}

/// Returns no effects, for a command that changes only the model.
pub(crate) fn no_effects((): ()) -> Vec<Effect> {
    Vec::new()
}

/// Closes the page of text, or returns to the previous screen.
fn back(model: &mut Model, now: Mono) -> Vec<Effect> {
    match model.dialog {
        Dialog::None | Dialog::Palette(_) if model.is_side_screen() => leave_side_screen(model, now),
        Dialog::Answer { .. } => no_effects(model.dialog = Dialog::None),
        Dialog::None
        | Dialog::Help(_)
        | Dialog::Filter(_)
        | Dialog::Find { .. }
        | Dialog::Add(_)
        | Dialog::Palette(_)
        | Dialog::Prompt(_)
        | Dialog::Menu(_)
        | Dialog::CopyMenu(_)
        | Dialog::Quote(_) => go_back(model, now),
    }
}

/// Goes back from the open transaction or from the list of alerts, as Esc does.
fn go_back(model: &mut Model, now: Mono) -> Vec<Effect> {
    let opened_from_alerts = std::mem::take(&mut model.alert_list.returns_to_alerts);
    let is_over = model.screen == Screen::List || model.is_at_temporary_target();
    let count = (is_over && model.end_temporary_view()).then_some(Effect::Count);
    if opened_from_alerts && matches!(model.screen, Screen::Detail) {
        return alerts::update::open(model, now).into_iter().chain(count).collect();
    }
    model.screen = Screen::List;
    // The transaction that was open may be filtered out by now.
    model.mark_stale();
    count.into_iter().collect()
}

/// Opens the charts or the log, and stores the previous screen for the way back.
fn open_side_screen(model: &mut Model, screen: Screen, now: Mono) -> Vec<Effect> {
    if !model.is_side_screen() {
        model.previous_screen = model.screen;
    }
    model.screen = screen;
    (model.charts.stale, model.charts.chosen, model.log.asked_at) = (true, None, None);
    model.log.go_to_newest();
    stats::update::read_if_due(model, now).into_iter().chain(log::update::read_if_due(model, now)).collect()
}

/// Returns from the charts or the log to the previous screen.
fn leave_side_screen(model: &mut Model, now: Mono) -> Vec<Effect> {
    model.screen = model.previous_screen;
    match model.screen {
        Screen::Alerts => alerts::update::open(model, now),
        Screen::List => {
            model.mark_stale();
            Vec::new()
        }
        Screen::Detail | Screen::Stats | Screen::Log => Vec::new(),
    }
}

/// Opens the selected alert or transaction.
fn open(model: &mut Model, now: Mono) {
    if model.screen == Screen::Alerts {
        alerts::update::enter(model, now);
    } else if model.list.selected.is_some() {
        (model.list.chosen, model.alert_list.returns_to_alerts) = (true, false);
        model.open_detail();
    }
}

/// Shows the detail full screen, or beside the list again.
fn full_screen(model: &mut Model, now: Mono) -> Vec<Effect> {
    if model.screen == Screen::Detail {
        return go_back(model, now);
    }
    if model.list.selected.is_some() {
        (model.list.chosen, model.alert_list.returns_to_alerts, model.screen) = (true, false, Screen::Detail);
    }
    Vec::new()
}

/// Clears the marks. Without marks, leaves the temporary view, or clears the filter.
fn clear(model: &mut Model, now: Mono) -> Vec<Effect> {
    if !model.marks.is_empty() {
        return no_effects(model.marks.clear());
    }
    if model.temporary_view.is_none() { filter::update::set(model, "") } else { go_back(model, now) }
}

/// Switches to the next placement of the detail: beside the list, below it, in brief.
fn next_pane(model: &mut Model, now: Mono) {
    model.view_state.pane = model.view_state.pane.next();
    model.show_message(Tone::Good, model.view_state.pane.words(), now);
}

/// Opens the menu of the newest changes.
fn open_recent(model: &mut Model, now: Mono) {
    let zone = model.setting.zone;
    let entry = |recent: &RecentChange| Some((recent.sentence(zone), Choice::GoTo(recent.change.transaction?)));
    let entries: Vec<_> = model.overview.recent.iter().filter_map(entry).collect();
    if entries.is_empty() {
        return model.show_message(Tone::Good, "No change yet.", now);
    }
    model.dialog = Dialog::Menu(Menu::numbered("Just now", "", entries.into_iter()));
}

fn half_page(model: &Model) -> isize {
    isize::from(u8::try_from(model.geometry.page / 2).unwrap_or(u8::MAX)).max(1)
}

/// Scrolls or moves the cursor in the open page or screen.
pub(crate) fn scroll(model: &mut Model, lines: isize) {
    let end = model.geometry.scroll_end;
    match (&mut model.dialog, &mut model.screen) {
        (Dialog::Help(HelpPage { scroll, .. }) | Dialog::Answer { scroll, .. }, _) => {
            *scroll = scroll.saturating_add_signed(lines).min(end);
        }
        (_, Screen::Alerts) => model.alert_list.move_by(lines),
        (_, Screen::Detail) => model.detail.move_by(lines, end),
        (_, Screen::Stats) => model.charts.move_by(lines),
        (_, Screen::Log) => model.log.move_by(lines, model.geometry.page),
        (_, Screen::List) => model.list.move_by(lines),
    }
}

fn find_alert(model: &mut Model, direction: Direction) -> Vec<Effect> {
    model.list.selected.map(|row| Effect::FindAlert { row, direction }).into_iter().collect()
}
