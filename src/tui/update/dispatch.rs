//! Commands: each command of the table, with the function that carries it out.
//!
//! The match over the commands must stay exhaustive, so that a command without a function doesn't compile.
#![expect(clippy::unit_arg, reason = "a command that changes the model alone stands in one line, like the others")]

use super::{act, alerts, aside, columns, detail, filter, marks, offer, order, palette, poll, quote, theme};
use crate::{
    clock::{Mono, Now},
    domain::answer::{self, Format},
    tui::{
        command::Id,
        effect::{Effect, Markable},
        model::{Model, Overlay, Screen, Tone, help::HelpPage, list::Tab, prompt::Purpose},
    },
};

/// Carries a command out.
pub fn dispatch(model: &mut Model, id: Id, now: Now) -> Vec<Effect> {
    if act::lacks_one(model, id) {
        let why = if model.screen == Screen::Alerts { "No alert" } else { "No transaction" };
        model.notify(Tone::Bad, format!("{why} is shown here, so there is none to do that with."), now.mono);
        return Vec::new();
    }
    match id {
        Id::Quit | Id::QuitRoot => vec![Effect::Quit],
        Id::Redraw => vec![Effect::Redraw],
        Id::Suspend => vec![Effect::Suspend],
        Id::Undo => vec![Effect::TakeBack],
        Id::Redo => vec![Effect::DoAgain],
        Id::MarkAll => vec![Effect::FindMarks(Markable::Shown)],
        Id::Back => back(model, now.mono),
        Id::Open => no_effects(open(model, now.mono)),
        Id::FullScreen => full_screen(model, now.mono),
        Id::Clear => clear(model, now.mono),
        Id::Help => no_effects(model.overlay = Overlay::Help(HelpPage::default())),
        Id::Add => no_effects(model.overlay = Overlay::Add(Box::default())),
        Id::Quote => no_effects(quote::open(model)),
        Id::Answer => answer(model, now),
        Id::Copy => offer::copy(model, now),
        Id::Browser => offer::browse(model, now),
        Id::Links => offer::links(model, now),
        Id::CopyPart => detail::copy(model, now),
        Id::Report => aside::report(model, now),
        Id::PollNow => poll::selected(model, now),
        Id::PollMarked => poll::marked(model, now),
        Id::Pause => poll::pause(model, now),
        Id::Acknowledge if model.screen == Screen::Alerts => no_effects(alerts::acknowledge(model, now.mono)),
        Id::Acknowledge => no_effects(act::acknowledge(model, now.mono)),
        Id::Snooze => no_effects(act::snooze(model, now.mono)),
        Id::Unacknowledge => act::unacknowledge(model, now.mono),
        Id::Note => no_effects(act::ask(model, Purpose::Note, now.mono)),
        Id::Ticket => no_effects(act::ticket(model, now.mono)),
        Id::Labels => no_effects(act::ask(model, Purpose::Labels, now.mono)),
        Id::Export => no_effects(act::export(model, now)),
        Id::Untrack => act::untrack(model, now.mono),
        Id::Delete => no_effects(palette::open(model, "delete ")),
        Id::Mark => no_effects(marks::toggle(model)),
        Id::MarkRange => marks::range(model, now.mono),
        Id::Filter => no_effects(filter::open(model)),
        Id::CommandLine => no_effects(palette::open(model, "")),
        Id::Sort => no_effects(order::open(model)),
        Id::Reverse => order::reverse(model, now),
        Id::Columns => no_effects(columns::open(model, 0)),
        Id::Theme => no_effects(theme::open(model)),
        Id::Pane => no_effects(next_pane(model, now.mono)),
        Id::Alerts => alerts::begin(model, now.mono),
        Id::Stats => aside::open(model, Screen::Stats, now.mono),
        Id::Log => aside::open(model, Screen::Log, now.mono),
        Id::Attention => show_tab(model, Tab::Attention),
        Id::Active => show_tab(model, Tab::Active),
        Id::Refunds => show_tab(model, Tab::Refunds),
        Id::Done => show_tab(model, Tab::Done),
        Id::All => show_tab(model, Tab::All),
        Id::NextState => no_effects(model.alert_list.turn(true)),
        Id::PrevState => no_effects(model.alert_list.turn(false)),
        Id::NextAlert => to_alert(model, true),
        Id::PrevAlert => to_alert(model, false),
        Id::NextTab => no_effects(model.detail.tab = model.detail.tab.beside(true)),
        Id::PrevTab => no_effects(model.detail.tab = model.detail.tab.beside(false)),
        Id::Changes => no_effects(detail::turn_changes(model)),
        Id::Find => no_effects(detail::open_find(model)),
        Id::Fold => no_effects(model.detail.raw.turn()),
        Id::NextMatch => no_effects(model.detail.raw.to_match(true)),
        Id::PrevMatch => no_effects(model.detail.raw.to_match(false)),
        Id::Level => no_effects(model.log.narrow()),
        Id::Wrap if model.screen == Screen::Log => no_effects(model.log.wrap = !model.log.wrap),
        Id::Wrap => no_effects(model.detail.raw.wrap = !model.detail.raw.wrap),
        Id::Down => no_effects(scroll(model, 1)),
        Id::Up => no_effects(scroll(model, -1)),
        Id::HalfDown => no_effects(scroll(model, half_page(model))),
        Id::HalfUp => no_effects(scroll(model, -half_page(model))),
        Id::Top => no_effects(scroll(model, isize::MIN)),
        Id::Bottom => no_effects(scroll(model, isize::MAX)),
    }
}

/// The effects of a command that changes the model alone.
pub(super) fn no_effects((): ()) -> Vec<Effect> {
    Vec::new()
}

/// Closes the page of text, or returns to the screen behind this one.
fn back(model: &mut Model, now: Mono) -> Vec<Effect> {
    match model.overlay {
        Overlay::None | Overlay::Palette(_) if model.is_aside() => aside::back(model, now),
        Overlay::Answer { .. } => no_effects(model.overlay = Overlay::None),
        _ => alerts::back(model, now),
    }
}

/// Opens the selected alert or transaction.
fn open(model: &mut Model, now: Mono) {
    if model.screen == Screen::Alerts {
        alerts::enter(model, now);
    } else if model.list.selected.is_some() {
        (model.list.chosen, model.alert_list.is_behind) = (true, false);
        model.open_detail();
    }
}

/// Shows the detail over the whole screen, and back.
fn full_screen(model: &mut Model, now: Mono) -> Vec<Effect> {
    if model.screen == Screen::Detail {
        return alerts::back(model, now);
    }
    if model.list.selected.is_some() {
        (model.list.chosen, model.alert_list.is_behind, model.screen) = (true, false, Screen::Detail);
    }
    Vec::new()
}

/// Clears the marks; without marks the search, or else the filter.
fn clear(model: &mut Model, now: Mono) -> Vec<Effect> {
    if !model.marks.is_empty() {
        return no_effects(model.marks.clear());
    }
    if model.temporary_view.is_none() { filter::set(model, "") } else { alerts::back(model, now) }
}

/// Shows the detail beside the list in the next way.
fn next_pane(model: &mut Model, now: Mono) {
    model.memory.pane = model.memory.pane.next();
    model.notify(Tone::Good, model.memory.pane.words(), now);
}

/// Shows a saved view, which begins with its most urgent one unless it shows what was chosen.
pub(super) fn show_tab(model: &mut Model, tab: Tab) -> Vec<Effect> {
    (model.screen, model.alert_list.is_behind) = (Screen::List, false);
    if model.end_temporary_view() {
        // Where it began isn't asked for.
        model.list.wanted = None;
    }
    model.show(tab);
    model.mark_stale();
    vec![Effect::Count]
}

fn half_page(model: &Model) -> isize {
    isize::from(u8::try_from(model.geometry.page / 2).unwrap_or(u8::MAX)).max(1)
}

/// Moves in whatever has the focus: the help, the detail's lines, or the list.
pub(super) fn scroll(model: &mut Model, lines: isize) {
    let end = model.geometry.scroll_end;
    match (&mut model.overlay, &mut model.screen) {
        (Overlay::Help(HelpPage { scroll, .. }) | Overlay::Answer { scroll, .. }, _) => {
            *scroll = scroll.saturating_add_signed(lines).min(end);
        }
        (_, Screen::Alerts) => model.alert_list.move_by(lines),
        (_, Screen::Detail) => model.detail.move_by(lines, end),
        (_, Screen::Stats) => model.charts.move_by(lines),
        (_, Screen::Log) => model.log.move_by(lines, end),
        (_, Screen::List) => model.list.move_by(lines),
    }
}

fn to_alert(model: &mut Model, forwards: bool) -> Vec<Effect> {
    model.list.selected.map(|row| Effect::FindAlert { row, forwards }).into_iter().collect()
}

/// Shows the reply about the selected transaction, and copies it.
fn answer(model: &mut Model, now: Now) -> Vec<Effect> {
    let (zone, own) = (model.setting.zone, &model.setting.templates);
    let Some(tx) = model.at_hand() else { return Vec::new() };
    let text = answer::answer(tx, (now.wall, zone), Format::Markdown, own);
    model.list.chosen = true;
    (model.overlay, model.copied) = (Overlay::Answer { text: text.clone(), scroll: 0 }, None);
    vec![Effect::Copy(text)]
}
