//! The keys of the quote form, and the progress of its request: through the store, to the process that polls, and back.
//!
//! Invalid values must never be sent. A request is withdrawn when the wait ends or the person leaves.

use chrono::{DateTime, TimeDelta, Utc};
use crossterm::event::{KeyCode, KeyEvent};
use tui_input::Input;

use super::state::{QuoteForm, QuoteOutcome, QuoteStage};
use crate::{
    clock::Now,
    domain::{change::ChangeKind, poller::PollerReport, text},
    intake,
    store::{Changes, QuoteSubmission, StoredQuote},
    tui::{
        dialogs::Dialog,
        effect::{Effect, QuoteWork},
        model::{MessageTone, Model},
        text_input,
    },
};

/// The wait for an answer: other requests, a rest after a 429, and the time-out of the request itself.
const ANSWER_TIMEOUT: TimeDelta = TimeDelta::seconds(40);
const NO_POLLER: &str =
    "no process is polling, so the request would not be sent; start hoptop without --no-poll, or run `hoptop watch`";

/// Opens the form with the values that were typed before.
pub(crate) fn open(model: &mut Model) {
    model.dialog = Dialog::Quote(model.quote.take().unwrap_or_default());
}

pub(crate) fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> Vec<Effect> {
    let Dialog::Quote(form) = &mut model.dialog else { return Vec::new() };
    match (&mut form.stage, key.code) {
        (_, KeyCode::Esc) => back(model, now),
        // While a request or an import is under way, only Esc works.
        (QuoteStage::Asking { .. } | QuoteStage::Waiting { .. } | QuoteStage::Tracking { is_sent: true, .. }, _) => {
            Vec::new()
        }
        (QuoteStage::Tracking { .. }, KeyCode::Enter) => track(form),
        (QuoteStage::Tracking { hash, error, .. }, _) => {
            if text_input::edit(hash, key) {
                *error = None;
            }
            Vec::new()
        }
        // An answer is asked for again after a change of the values.
        (QuoteStage::Answered(answer), KeyCode::Enter) if answer.quote_id().is_some() => Vec::new(),
        (_, KeyCode::Enter) => ask(model, now),
        (_, KeyCode::Tab | KeyCode::Down) => move_focus(form, 1),
        (_, KeyCode::BackTab | KeyCode::Up) => move_focus(form, -1),
        (QuoteStage::Answered(answer), code) => {
            let answer = answer.clone();
            on_answer_key(model, answer, code, now)
        }
        (_, _) => {
            let input = form.inputs.get_mut(form.cursor);
            if input.is_some_and(|input| text_input::edit(input, key)) {
                form.on_value_changed();
            }
            Vec::new()
        }
    }
}

fn move_focus(form: &mut QuoteForm, values: isize) -> Vec<Effect> {
    form.move_by(values);
    Vec::new()
}

/// Applies a key while the answer takes the keys.
fn on_answer_key(model: &mut Model, answer: QuoteOutcome, code: KeyCode, now: Now) -> Vec<Effect> {
    let id = answer.quote_id().map(str::to_owned);
    match (code, id) {
        (KeyCode::Char('y'), Some(id)) => return vec![Effect::Copy(id)],
        (KeyCode::Char('T' | 't'), Some(_)) => {
            if let Dialog::Quote(form) = &mut model.dialog {
                form.stage = QuoteStage::Tracking { answer, hash: Input::default(), error: None, is_sent: false };
            }
        }
        (KeyCode::Char('y' | 'T' | 't'), None) => {
            model.show_message(MessageTone::Bad, "The answer has no quoteId.", now.mono)
        }
        (KeyCode::Char('q'), _) => close(model),
        _ => {}
    }
    Vec::new()
}

pub(crate) fn on_paste(model: &mut Model, pasted: &str) {
    let Dialog::Quote(form) = &mut model.dialog else { return };
    match &mut form.stage {
        QuoteStage::Asking { .. } | QuoteStage::Waiting { .. } | QuoteStage::Tracking { is_sent: true, .. } => {}
        QuoteStage::Tracking { hash, error, .. } => {
            text_input::insert(hash, pasted);
            *error = None;
        }
        // A hash that is pasted while an answer is shown is the hash to track.
        QuoteStage::Answered(answer) if answer.quote_id().is_some() => {
            let (answer, hash) = (answer.clone(), Input::new(text::clean(pasted)));
            form.stage = QuoteStage::Tracking { answer, hash, error: None, is_sent: false };
        }
        _ => {
            if let Some(input) = form.inputs.get_mut(form.cursor) {
                text_input::insert(input, pasted);
                form.on_value_changed();
            }
        }
    }
}

/// Goes back a step: from the hash to the answer, from the wait to the values, from the values to the previous screen.
fn back(model: &mut Model, now: Now) -> Vec<Effect> {
    let Dialog::Quote(form) = &mut model.dialog else { return Vec::new() };
    match std::mem::take(&mut form.stage) {
        QuoteStage::Tracking { answer, .. } => form.stage = QuoteStage::Answered(answer),
        // The request is withdrawn when its number arrives.
        QuoteStage::Asking { .. } => {}
        QuoteStage::Waiting { id, until } => {
            let text = "Cancelled. A request that was not sent yet will not be sent.";
            model.show_message(MessageTone::Good, text, now.mono);
            return vec![Effect::Quote(QuoteWork::Withdraw { id, until })];
        }
        stage => {
            form.stage = stage;
            close(model);
        }
    }
    Vec::new()
}

/// Closes the form, and keeps the typed values.
fn close(model: &mut Model) {
    if let Dialog::Quote(form) = std::mem::take(&mut model.dialog) {
        model.quote = Some(form);
    }
}

fn ask(model: &mut Model, now: Now) -> Vec<Effect> {
    let is_polled = model.setting.is_polling || model.live_poller(now.wall).is_some();
    let Dialog::Quote(form) = &mut model.dialog else { return Vec::new() };
    let Some(request) = form.request(model.setting.any_chain) else { return Vec::new() };
    form.errors.clear();
    if !is_polled {
        form.stage = QuoteStage::NoAnswer(NO_POLLER.into());
        return Vec::new();
    }
    let until = now.wall + ANSWER_TIMEOUT;
    form.stage = QuoteStage::Asking { until };
    vec![Effect::Quote(QuoteWork::Ask { request, until })]
}

/// Applies the result of writing the request to the store, which may be an earlier answer.
pub(crate) fn on_asked(model: &mut Model, until: DateTime<Utc>, asked: Result<QuoteSubmission, String>) -> Vec<Effect> {
    let form = match &mut model.dialog {
        // The form may wait for another request by now.
        Dialog::Quote(form) if matches!(form.stage, QuoteStage::Asking { until: own } if own == until) => form,
        // The person has left this request.
        _ => return asked.ok().and_then(|asked| withdrawn(&asked, until)).into_iter().collect(),
    };
    form.stage = match asked {
        // The answer may have arrived before the number of the request.
        Ok(QuoteSubmission::Pending { id, .. }) => {
            form.stage = QuoteStage::Waiting { id, until };
            return vec![Effect::Quote(QuoteWork::Read(id))];
        }
        Ok(QuoteSubmission::Reused(quote)) => QuoteStage::Answered(QuoteOutcome { quote, is_stored: true }),
        Ok(QuoteSubmission::WalletLimited { until, message }) => QuoteStage::WalletLimited { until, message },
        Err(error) => QuoteStage::NoAnswer(error),
    };
    Vec::new()
}

fn withdrawn(asked: &QuoteSubmission, until: DateTime<Utc>) -> Option<Effect> {
    match asked {
        QuoteSubmission::Pending { id, .. } => Some(Effect::Quote(QuoteWork::Withdraw { id: *id, until })),
        QuoteSubmission::Reused(_) | QuoteSubmission::WalletLimited { .. } => None,
    }
}

/// Returns the read of the answer, if the feed reports that the request was answered.
pub(crate) fn on_store_changed(model: &Model, feed: &Changes) -> Option<Effect> {
    let Dialog::Quote(form) = &model.dialog else { return None };
    let QuoteStage::Waiting { id, .. } = form.stage else { return None };
    let answered = |kind: &ChangeKind| matches!(kind, ChangeKind::QuoteAnswered { id: answered } if *answered == id);
    (feed.needs_resync || feed.changes.iter().any(|change| answered(&change.kind)))
        .then_some(Effect::Quote(QuoteWork::Read(id)))
}

/// Withdraws and reads the request when the wait is over.
pub(crate) fn on_tick(model: &Model, now: Now) -> Option<Effect> {
    let Dialog::Quote(form) = &model.dialog else { return None };
    let QuoteStage::Waiting { id, until } = form.stage else { return None };
    (until <= now.wall).then_some(Effect::Quote(QuoteWork::Withdraw { id, until }))
}

/// Applies the request as read from the store, with its answer if there is one.
pub(crate) fn on_read(model: &mut Model, id: i64, quote: Option<Box<StoredQuote>>, now: Now) {
    let report = model.live_poller(now.wall).cloned();
    let Dialog::Quote(form) = &mut model.dialog else { return };
    let QuoteStage::Waiting { id: waited, until } = form.stage else { return };
    if waited != id {
        return;
    }
    form.stage = match quote {
        Some(quote) if quote.answer.is_some() => QuoteStage::Answered(QuoteOutcome { quote, is_stored: false }),
        _ if now.wall < until => return,
        Some(quote) if quote.sent_at.is_some() => {
            QuoteStage::NoAnswer("the request was sent, but its answer was lost; press Enter to quote again".into())
        }
        _ => QuoteStage::NoAnswer(PollerReport::silence_reason(report.as_ref(), now.wall)),
    };
}

/// Tracks the transaction whose hash was typed.
fn track(form: &mut QuoteForm) -> Vec<Effect> {
    let QuoteStage::Tracking { answer, hash, error, is_sent } = &mut form.stage else { return Vec::new() };
    match answer.transaction(hash.value()) {
        Ok(new) => {
            let doubt = intake::length_warning(&new.params.transaction_id, &new.params.from_chain);
            let doubt = doubt.map(|doubt| format!("{doubt}; Enter again tracks it"));
            if doubt.is_some() && *error != doubt {
                *error = doubt;
                return Vec::new();
            }
            *is_sent = true;
            vec![Effect::Import(vec![new])]
        }
        Err(reason) => {
            *error = Some(reason);
            Vec::new()
        }
    }
}

/// Shows why the transaction could not be tracked. Returns `false` if the form has sent no import.
pub(crate) fn on_not_tracked(model: &mut Model, reason: &str) -> bool {
    if let Dialog::Quote(form) = &mut model.dialog
        && let QuoteStage::Tracking { error, is_sent, .. } = &mut form.stage
        && *is_sent
    {
        (*error, *is_sent) = (Some(reason.to_owned()), false);
        return true;
    }
    false
}

/// Closes the form after its transaction was tracked, and keeps the typed values. Returns `false` if the form has sent
/// no import.
pub(crate) fn on_tracked(model: &mut Model) -> bool {
    match &mut model.dialog {
        Dialog::Quote(form) if matches!(form.stage, QuoteStage::Tracking { is_sent: true, .. }) => {
            form.stage = QuoteStage::Writing;
            close(model);
            true
        }
        _ => false,
    }
}
