//! The keys of the add dialog. The text is parsed as it is typed.
//!
//! Enter tracks complete transactions, opens known ones, and otherwise goes to the missing values.

use crossterm::event::{KeyCode, KeyEvent};
use tui_input::Input;

use super::state::{AddForm, Finding, FormFocus, FormStage, KnownTransactions, LineState, TextSource};
use crate::{
    clock::{MonotonicTime, Now},
    domain::{filter::Direction, ids::RowId, missing_fields, operation::Edit},
    intake::{self, ReadOptions},
    store::ImportReport,
    tui::{
        command::CommandId,
        dialogs::{Dialog, quote},
        effect::{Effect, Write},
        model::{MessageTone, Model, Screen},
        text_input::{self, Typed},
        update::{actions, poll},
    },
};

/// The limit of the text in bytes, since the text is parsed on every key. `hoptop import` reads larger files.
const PASTE_LIMIT: usize = 128 * 1024;

pub(crate) fn on_key(model: &mut Model, key: KeyEvent, now: Now) {
    let Dialog::Add(form) = &mut model.dialog else { return };
    if key.code == KeyCode::Esc {
        return leave(model);
    }
    form.end_confirmation();
    form.end_paste();
    match (key.code, form.focus) {
        (KeyCode::Enter, _) => enter(model),
        (KeyCode::Tab, _) => form.move_focus(Direction::Forwards),
        (KeyCode::BackTab, _) => form.move_focus(Direction::Backwards),
        (KeyCode::Down, _) => form.move_by(1),
        (KeyCode::Up, _) => form.move_by(-1),
        (_, FormFocus::Results) => on_result_key(model, key.code, now),
        (KeyCode::Backspace, FormFocus::Text) if form.input.value().is_empty() => {
            form.input = Input::new(form.lines.pop().unwrap_or_default());
            read(model, now);
        }
        _ => {
            let input = form.focused_input();
            if input.is_some_and(|input| text_input::edit(input, Typed::Key(key))) {
                form.source = TextSource::Typed;
                form.on_field_changed();
                if form.focus == FormFocus::Text {
                    read(model, now);
                }
            }
        }
    }
}

/// Closes the dialog. Typed text needs a second Esc.
fn leave(model: &mut Model) {
    match &mut model.dialog {
        Dialog::Add(form) if form.source == TextSource::Typed && form.stage == FormStage::Editing => {
            form.stage = FormStage::ConfirmLeave;
        }
        _ => model.dialog = Dialog::None,
    }
}

/// Applies a key while the findings have the focus.
fn on_result_key(model: &mut Model, code: KeyCode, now: Now) {
    let Dialog::Add(form) = &mut model.dialog else { return };
    match code {
        KeyCode::Char('j') => form.move_by(1),
        KeyCode::Char('k') => form.move_by(-1),
        KeyCode::Char(' ') => {
            form.at_cursor_mut().into_iter().for_each(|found| found.is_marked = !found.is_marked);
            form.move_by(1);
        }
        KeyCode::Char('t') => ask_for_missing(model, now),
        _ => {}
    }
}

/// Copies a reply that asks for the missing values of the finding at the cursor, or of the first incomplete finding.
fn ask_for_missing(model: &mut Model, now: Now) {
    let Dialog::Add(form) = &mut model.dialog else { return };
    form.go_to_incomplete();
    let Some(found) = form.at_cursor() else { return };
    match found.missing().as_slice() {
        [] => actions::refuse(model, "Nothing is missing in this line.", now.mono),
        _ if found.known.is_some() => actions::refuse(model, "Already tracked; Enter opens it.", now.mono),
        missing => {
            let names: Vec<_> = missing.iter().map(|field| field.name()).collect();
            model.effects.push(Effect::Copy(missing_fields::write_request(found.hash(), &names)))
        }
    }
}

/// Applies Enter: goes to the missing values of an incomplete finding, opens a known one, otherwise tracks all marked
/// ones.
fn enter(model: &mut Model) {
    let Dialog::Add(form) = &mut model.dialog else { return };
    form.expand_chain_names();
    match (form.focus, form.at_cursor().map(Finding::verdict)) {
        (FormFocus::Results | FormFocus::Cell(_), Some(LineState::NeedsInput)) => form.focus_first_missing(),
        // The last value completes the finding. The person sees the result before the next Enter tracks it.
        (FormFocus::Cell(_), _) => form.focus = FormFocus::Results,
        (FormFocus::Results, _) => match form.at_cursor().and_then(Finding::row_to_open) {
            Some(row) => open(model, row),
            None => submit(model),
        },
        (FormFocus::Text | FormFocus::Extra(_), _) => submit(model),
    }
}

pub(crate) fn on_paste(model: &mut Model, text: &str, is_whole: bool, now: Now) {
    let Dialog::Add(form) = &mut model.dialog else { return };
    form.end_confirmation();
    if let FormFocus::Cell(_) | FormFocus::Extra(_) = form.focus {
        form.focused_input().into_iter().for_each(|input| text_input::insert(input, text));
        form.source = TextSource::Typed;
        form.on_field_changed();
        return;
    }
    form.focus = FormFocus::Text;
    let room = PASTE_LIMIT.saturating_sub(form.text().len());
    form.is_truncated |= text.len() > room;
    if room == 0 {
        // A large paste without brackets arrives in many parts: don't parse the text again for each of them.
        return;
    }
    form.begin_paste(is_whole);
    form.paste(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
    read(model, now)
}

/// Parses the text again, and looks its hashes up in the store.
fn read(model: &mut Model, now: Now) {
    let Dialog::Add(form) = &mut model.dialog else { return };
    let any_chain = model.setting.any_chain;
    form.read(ReadOptions { allows_any_chain: any_chain, now: Some(now.wall), ..ReadOptions::default() });
    let unknown = form.hashes_to_look_up();
    if !unknown.is_empty() {
        model.effects.push(Effect::FindKnown(unknown));
    }
}

/// Applies the rows of looked-up hashes. A known transaction that was pasted alone is opened at once.
pub(crate) fn on_known(model: &mut Model, known: KnownTransactions, now: MonotonicTime) {
    let Dialog::Add(form) = &mut model.dialog else { return };
    if form.apply_known(known) {
        // A person must see what Enter changes.
        if form.findings.iter().any(|found| found.is_marked && !found.changes().is_empty()) {
            form.focus = FormFocus::Results;
            return;
        }
        return submit(model);
    }
    let Some(row) = form.pasted_known() else { return };
    let own_ticket = form.ticket_of(row).map(str::to_owned);
    let named = intake::find_ticket(&form.text());
    open(model, row);
    // The ticket in the text is often not the ticket of the transaction.
    let named = named.filter(|named| own_ticket.as_ref() != Some(named));
    let hint = named.as_ref().map_or_else(String::new, |ticket| {
        format!("; the text names {ticket} ({} sets the ticket)", model.setting.keys.shown(CommandId::Ticket))
    });
    model.named_ticket = named.map(|ticket| (row, ticket));
    model.show_message(MessageTone::Good, format!("Already tracked{hint}."), now);
}

/// Tracks all marked and complete transactions. Without any, opens the known transaction at the cursor or else the
/// only one, or lists several known ones. If other findings are incomplete, only moves the cursor to the known one.
/// Without known ones, goes to the first missing value. Text without any hash becomes a search of the list.
fn submit(model: &mut Model) {
    let Dialog::Add(form) = &mut model.dialog else { return };
    // Before the answer of the store, a tracked transaction looks like a new one.
    if form.stage == FormStage::Sent || form.wait_for_known() {
        return;
    }
    let Some(batch) = form.batch() else { return };
    if !batch.is_empty() {
        form.stage = FormStage::Sent;
        let is_left = |found: &&Finding| found.is_marked && !found.is_complete();
        let others = form.findings.iter().filter(is_left).filter_map(|found| found.known).collect::<Vec<_>>();
        let writes = if others.is_empty() { Vec::new() } else { write_typed_values(form, others) };
        model.effects.push(Effect::Import(batch));
        return model.effects.extend(writes);
    }
    let here = form.at_cursor().filter(|_| form.focus == FormFocus::Results).and_then(|found| found.known);
    let known = form.findings.iter().position(|found| found.known.is_some());
    let lacking = form.findings.iter().position(|found| found.verdict() == LineState::NeedsInput);
    match (known, lacking) {
        (Some(_), _) if let Some(row) = here => open(model, row),
        // The incomplete findings must not be lost: the first Enter goes to the known one, the second opens it.
        (Some(index), Some(_)) => (form.cursor, form.focus) = (index, FormFocus::Results),
        (Some(index), None) => {
            if let Some((rows, filter)) = form.several_known() {
                let writes = write_typed_values(form, rows);
                search(model, &filter);
                model.effects.extend(writes);
            } else if let Some(row) = form.findings.get(index).and_then(|found| found.known) {
                open(model, row);
            }
        }
        (None, Some(index)) => {
            form.cursor = index;
            form.focus_first_missing();
        }
        (None, None) => form.search_filter().into_iter().for_each(|filter| search(model, &filter)),
    }
}

/// Shows the matches of a filter among all tracked transactions until Esc.
fn search(model: &mut Model, filter: &str) {
    model.dialog = Dialog::None;
    model.show_list();
    model.begin_search(filter);
    model.effects.push(Effect::Count)
}

/// Returns the writes of the ticket and the labels that a person typed, which are set although the transactions are known.
fn write_typed_values(form: &AddForm, transactions: Vec<RowId>) -> Vec<Effect> {
    let (ticket, labels) = (form.own_ticket(), form.own_labels());
    let labels = (!labels.is_empty()).then(|| Edit::ChangeLabels {
        transactions: transactions.clone(),
        add: labels,
        remove: Vec::new(),
    });
    let ticket = ticket.map(|ticket| Edit::SetTicket { transactions, ticket: Some(ticket) });
    ticket.into_iter().chain(labels).map(|edit| Effect::Write(Write::Edit(edit))).collect()
}

fn open(model: &mut Model, row: RowId) {
    let is_from_alerts = model.screen == Screen::Alerts || model.alert_list.returns_to_alerts;
    let writes = match &model.dialog {
        Dialog::Add(form) => write_typed_values(form, vec![row]),
        _ => Vec::new(),
    };
    model.dialog = Dialog::None;
    show_in_list(model, row);
    model.open_detail(is_from_alerts);
    model.effects.extend(writes);
}

/// Selects a transaction in the list. If the view or the filter hides it, a temporary view shows it until Esc. A
/// transaction that is not read yet is selected when its page arrives.
fn show_in_list(model: &mut Model, row: RowId) {
    let hidden = !model.list.part.rows.contains(&row);
    model.alert_list.returns_to_alerts = false;
    if hidden || model.temporary_view.is_some() {
        model.begin_temporary_view(row);
    }
    model.list.select_when_loaded(row);
    model.effects.extend(hidden.then_some(Effect::Count));
}

/// Returns what an import left out, as the end of a sentence.
fn left_out(form: &AddForm) -> String {
    match (form.counts().needs_input, form.skipped_count()) {
        (0, 0) => String::new(),
        (0, skipped) => format!("; {skipped} skipped"),
        (1, _) => "; 1 line still needs values".to_owned(),
        (lines, _) => format!("; {lines} lines still need values"),
    }
}

pub(crate) fn on_imported(model: &mut Model, outcome: Result<ImportReport, String>, now: Now) {
    match outcome {
        Ok(report) => {
            let ImportReport { added, updated, unchanged, .. } = &report;
            let left_out = match &model.dialog {
                Dialog::Add(form) => left_out(form),
                _ => String::new(),
            };
            let [new, changed, known] = [added.count, updated.count, unchanged.count];
            let twice = report.other_profiles_notice().map_or_else(String::new, |twice| format!("; {twice}"));
            let text = format!("{new} tracked, {changed} updated, {known} already tracked{left_out}{twice}");
            let tone = if left_out.is_empty() && twice.is_empty() { MessageTone::Good } else { MessageTone::Bad };
            model.show_message(tone, text, now.mono);
            let was_sent = matches!(&model.dialog, Dialog::Add(form) if form.stage == FormStage::Sent);
            let is_done = quote::update::on_tracked(model) || was_sent;
            // A person waits for the first answer about a few new transactions; a batch waits for its turn.
            if let 1..=poll::MAX_UNCONFIRMED = new {
                model.effects.push(Effect::PollNow(added.listed.clone()));
            }
            if let Dialog::Add(form) = &mut model.dialog
                && was_sent
                && form.counts().needs_input > 0
            {
                model.effects.push(Effect::FindKnown(form.keep_incomplete()));
            } else if let (true, Some(row)) = (is_done, report.first()) {
                // A single transaction that was already tracked is opened, to show its verdict.
                let is_known = (new + changed, known) == (0, 1);
                model.dialog = Dialog::None;
                if is_known { open(model, row) } else { show_in_list(model, row) }
            }
        }
        Err(error) if quote::update::on_not_tracked(model, &error) => {}
        Err(error) => {
            if let Dialog::Add(form) = &mut model.dialog {
                form.stage = FormStage::Editing;
            }
            model.show_message(MessageTone::Bad, format!("Nothing was tracked: {error}"), now.mono);
        }
    }
}
