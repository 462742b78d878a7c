//! Adding and finding: parsed as typed; Enter tracks what is complete, opens what is known and goes to what is missing.

use std::collections::HashMap;

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::{Effect, quote};
use crate::{
    clock::{Mono, Now},
    domain::{ask, ids::RowId, operation::Edit, text},
    intake,
    store::ImportReport,
    tui::{
        command::Id,
        effect::Work,
        model::{
            Model, Overlay, Screen, Tone,
            add::{Focus, Found, Verdict},
        },
    },
};

/// More of a paste isn't taken: it is read anew on every key press, and what is longer is a file for `hoptop import`.
const PASTE_LIMIT: usize = 128 * 1024;

pub(super) fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    if key.code == KeyCode::Esc {
        leave(model);
        return Vec::new();
    }
    form.is_leaving = false;
    form.end_paste();
    match (key.code, form.focus) {
        (KeyCode::Enter, _) => return enter(model),
        (KeyCode::Tab, _) => form.turn(true),
        (KeyCode::BackTab, _) => form.turn(false),
        (KeyCode::Down, _) => form.move_by(1),
        (KeyCode::Up, _) => form.move_by(-1),
        (_, Focus::Results) => return on_result_key(model, key.code, now),
        (KeyCode::Backspace, Focus::Text) if form.input.value().is_empty() => {
            form.input = Input::new(form.lines.pop().unwrap_or_default());
            return read(model);
        }
        _ => {
            let input = form.focused_input();
            if input.and_then(|input| input.handle_event(&Event::Key(key))).is_some_and(|change| change.value) {
                form.is_typed = true;
                form.changed();
                return if form.focus == Focus::Text { read(model) } else { Vec::new() };
            }
        }
    }
    Vec::new()
}

/// Leaves; what was typed by hand isn't lost by one key.
fn leave(model: &mut Model) {
    match &mut model.overlay {
        Overlay::Add(form) if form.is_typed && !form.is_leaving => form.is_leaving = true,
        _ => model.overlay = Overlay::None,
    }
}

/// Keys while the findings take them.
fn on_result_key(model: &mut Model, code: KeyCode, now: Now) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    match code {
        KeyCode::Char('j') => form.move_by(1),
        KeyCode::Char('k') => form.move_by(-1),
        KeyCode::Char(' ') => {
            form.at_cursor_mut().into_iter().for_each(|found| found.is_marked = !found.is_marked);
            form.move_by(1);
        }
        KeyCode::Char('t') => return ask_for_missing(model, now),
        _ => {}
    }
    Vec::new()
}

/// Copies the reply that asks for what the finding at the cursor lacks, or else the first that lacks something.
fn ask_for_missing(model: &mut Model, now: Now) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    form.go_to_what_lacks();
    let Some(found) = form.at_cursor() else { return Vec::new() };
    match found.missing().as_slice() {
        [] => model.notify(Tone::Bad, "Nothing is missing in this line.", now.mono),
        _ if found.known.is_some() => model.notify(Tone::Bad, "Already tracked; Enter opens it.", now.mono),
        missing => return vec![Effect::Copy(ask::reply(found.hash(), missing))],
    }
    Vec::new()
}

/// Enter: of a finding that lacks something it goes to what it lacks, of a known one it opens it; else it tracks all that
/// are marked.
fn enter(model: &mut Model) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    form.settle();
    let missing = form.at_cursor().and_then(Found::first_missing);
    match (form.focus, form.at_cursor().map(Found::verdict)) {
        (Focus::Results | Focus::Cell(_), Some(Verdict::NeedsInput)) => {
            form.focus = missing.map_or(Focus::Results, Focus::Cell);
            Vec::new()
        }
        // What was filled in last completes it: a look at it, before it is tracked.
        (Focus::Cell(_), _) => {
            form.focus = Focus::Results;
            Vec::new()
        }
        (Focus::Results, _) => match form.at_cursor().and_then(Found::opens) {
            Some(row) => open(model, row),
            None => submit(model),
        },
        (Focus::Text | Focus::Extra(_), _) => submit(model),
    }
}

pub(super) fn on_paste(model: &mut Model, text: &str, is_whole: bool) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    form.is_leaving = false;
    if let Focus::Cell(_) | Focus::Extra(_) = form.focus {
        let pasted = text::clean(text);
        form.focused_input().into_iter().for_each(|input| *input = Input::new(format!("{}{pasted}", input.value())));
        form.is_typed = true;
        form.changed();
        return Vec::new();
    }
    form.focus = Focus::Text;
    let room = PASTE_LIMIT.saturating_sub(form.text().len());
    form.overflows |= text.len() > room;
    if room == 0 {
        // Megabytes that come without brackets come in many parts.
        return Vec::new();
    }
    form.begin_paste(is_whole);
    form.paste(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
    read(model)
}

/// Reads the text anew, and asks which of its hashes are tracked.
fn read(model: &mut Model) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    form.read(model.setting.any_chain);
    let unknown = form.ask();
    if unknown.is_empty() { Vec::new() } else { vec![Effect::FindKnown(unknown)] }
}

/// Takes in which hashes are tracked. One that was pasted alone is opened at once.
pub(super) fn on_known(model: &mut Model, known: HashMap<String, Option<RowId>>, now: Mono) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    if form.take_in(known) {
        return submit(model);
    }
    let Some(row) = form.pasted_known() else { return Vec::new() };
    let named = intake::ticket(&form.text());
    let effects = open(model, row);
    // The ticket that it is looked up for is often another one than it has.
    let own = model.transactions.get(&row).and_then(|tx| tx.params.ticket.clone());
    let hint = named.filter(|named| own.as_ref() != Some(named)).map_or_else(String::new, |ticket| {
        format!("; the text names {ticket}, {} sets its ticket", model.setting.keys.shown(Id::Ticket))
    });
    model.notify(Tone::Good, format!("Already tracked{hint}."), now);
    effects
}

/// Tracks all that are marked and complete; without such ones it opens the known one at the cursor, else the first, or goes to it where others
/// lack something, or to what is missing; what is none of these the list is filtered by.
fn submit(model: &mut Model) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    let Some(batch) = form.batch() else { return Vec::new() };
    if form.is_sent {
        return Vec::new();
    }
    if !batch.is_empty() {
        form.is_sent = true;
        return vec![Effect::Import(batch)];
    }
    if form.wait_for_known() {
        return Vec::new();
    }
    let here = form.at_cursor().filter(|_| form.focus == Focus::Results).and_then(|found| found.known);
    let known = form.found.iter().position(|found| found.known.is_some());
    let lacking = form.found.iter().position(|found| found.verdict() == Verdict::NeedsInput);
    match (known, lacking) {
        (Some(_), _) if here.is_some() => return here.map_or_else(Vec::new, |row| open(model, row)),
        // What else was pasted isn't lost for that: another Enter opens it.
        (Some(place), Some(_)) => (form.place, form.focus) = (place, Focus::Results),
        (Some(place), None) => {
            let row = form.found.get(place).and_then(|found| found.known);
            return row.map_or_else(Vec::new, |row| open(model, row));
        }
        (None, Some(place)) => {
            form.place = place;
            form.focus = form.at_cursor().and_then(Found::first_missing).map_or(Focus::Results, Focus::Cell);
        }
        (None, None) => return look_for(model),
    }
    Vec::new()
}

/// Of what is no hash the list shows what it is found in, of all that is tracked.
fn look_for(model: &mut Model) -> Vec<Effect> {
    let Overlay::Add(form) = &model.overlay else { return Vec::new() };
    let Some(wanted) = form.looked_for() else { return Vec::new() };
    model.overlay = Overlay::None;
    (model.screen, model.alert_list.is_behind) = (Screen::List, false);
    model.begin_search(&wanted);
    vec![Effect::Count]
}

fn open(model: &mut Model, row: RowId) -> Vec<Effect> {
    let is_of_alerts = model.screen == Screen::Alerts || model.alert_list.is_behind;
    // What a person wrote for it isn't lost because it is known.
    let ticket = match &model.overlay {
        Overlay::Add(form) => form.own_ticket(),
        _ => None,
    };
    let work = ticket
        .map(|ticket| Effect::Work(Work::Edit(Edit::SetTicket { transactions: vec![row], ticket: Some(ticket) })));
    model.overlay = Overlay::None;
    model.open_detail();
    let effects = reveal(model, row);
    model.alert_list.is_behind = is_of_alerts;
    effects.into_iter().chain(work).collect()
}

/// Shows a transaction, whatever view and filter hide it, which come back by Esc; one that the store hasn't told us of yet as
/// soon as it does.
fn reveal(model: &mut Model, row: RowId) -> Vec<Effect> {
    let hidden = !model.list.part.rows.contains(&row);
    model.alert_list.is_behind = false;
    if hidden || model.temporary_view.is_some() {
        model.begin_temporary_view(row);
    }
    model.list.want(row);
    if hidden { vec![Effect::Count] } else { Vec::new() }
}

pub(super) fn on_imported(model: &mut Model, outcome: Result<ImportReport, String>, now: Now) -> Vec<Effect> {
    match outcome {
        Ok(report) => {
            let ImportReport { added, updated, unchanged, .. } = &report;
            let left_out = match &model.overlay {
                Overlay::Add(form) if form.left_out() > 0 => format!("; {} left out", form.left_out()),
                _ => String::new(),
            };
            let [new, changed, known] = [added.count, updated.count, unchanged.count];
            let twice = report.twice().map_or_else(String::new, |twice| format!("; {twice}"));
            let text = format!("{new} tracked, {changed} updated, {known} known already{left_out}{twice}");
            let tone = if left_out.is_empty() && twice.is_empty() { Tone::Good } else { Tone::Bad };
            model.notify(tone, text, now.mono);
            let was_sent = matches!(&model.overlay, Overlay::Add(form) if form.is_sent);
            let is_done = quote::on_tracked(model) || was_sent;
            if let (true, Some(row)) = (is_done, report.first()) {
                // Of one alone that is known just so, its verdict is what somebody wants.
                let is_known = (new + changed, known) == (0, 1);
                model.overlay = Overlay::None;
                return if is_known { open(model, row) } else { reveal(model, row) };
            }
        }
        Err(error) if quote::on_not_tracked(model, &error) => {}
        Err(error) => {
            if let Overlay::Add(form) = &mut model.overlay {
                form.is_sent = false;
            }
            model.notify(Tone::Bad, format!("Nothing was tracked: {error}"), now.mono);
        }
    }
    Vec::new()
}
