//! The keys of the quote form, and the progress of its request: through the store, to the process that polls, and back.
//!
//! Invalid values must never be sent. A request is withdrawn when the wait ends or the person leaves.

use chrono::{DateTime, TimeDelta, Utc};
use crossterm::event::KeyCode;
use tui_input::Input;

use super::state::{QuoteForm, QuoteOutcome, QuoteStage};
use crate::{
    clock::Now,
    domain::{change::ChangeKind, poller::PollerReport, team::NOBODY_POLLS, text},
    intake,
    store::{Changes, QuoteSubmission, StoredQuote},
    tui::{
        dialogs::Dialog,
        effect::{Effect, QuoteWork},
        model::{MessageTone, Model},
        text_input::{self, Typed},
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

pub(crate) fn on_input(model: &mut Model, typed: Typed<'_>, now: Now) {
    let Dialog::Quote(form) = &mut model.dialog else { return };
    match (&mut form.stage, typed.code()) {
        (_, KeyCode::Esc) => back(model, now),
        // While a request or an import is under way, only Esc works.
        (QuoteStage::Asking { .. } | QuoteStage::Waiting { .. } | QuoteStage::Tracking { is_sent: true, .. }, _) => {}
        (QuoteStage::Tracking { .. }, KeyCode::Enter) => model.effects.extend(track(form)),
        (QuoteStage::Tracking { hash, error, .. }, _) => {
            if text_input::edit(hash, typed) {
                *error = None;
            }
        }
        // An answer is asked for again after a change of the values.
        (QuoteStage::Answered(answer), KeyCode::Enter) if answer.quote_id().is_some() => {}
        (_, KeyCode::Enter) => ask(model, now),
        (_, KeyCode::Tab | KeyCode::Down) => form.move_by(1),
        (_, KeyCode::BackTab | KeyCode::Up) => form.move_by(-1),
        (QuoteStage::Answered(answer), _)
            if let Typed::Pasted(hash) = typed
                && answer.quote_id().is_some() =>
        {
            form.stage = tracking(answer.clone(), text::clean(hash));
        }
        (QuoteStage::Answered(answer), code) if matches!(typed, Typed::Key(_)) => {
            let answer = answer.clone();
            on_answer_key(model, answer, code, now)
        }
        (_, _) => {
            let input = form.inputs.get_mut(form.cursor);
            if input.is_some_and(|input| text_input::edit(input, typed)) {
                form.on_value_changed();
            }
        }
    }
}

/// Returns the stage in which a transfer of this quote with this hash is tracked.
fn tracking(answer: QuoteOutcome, hash: String) -> QuoteStage {
    QuoteStage::Tracking { answer, hash: Input::new(hash), error: None, is_sent: false }
}

/// Applies a key while the answer takes the keys.
fn on_answer_key(model: &mut Model, answer: QuoteOutcome, code: KeyCode, now: Now) {
    let id = answer.quote_id().map(str::to_owned);
    match (code, id) {
        (KeyCode::Char('y'), Some(id)) => model.effects.push(Effect::Copy(id)),
        (KeyCode::Char('T' | 't'), Some(_)) => {
            if let Dialog::Quote(form) = &mut model.dialog {
                form.stage = tracking(answer, String::new());
            }
        }
        (KeyCode::Char('y' | 'T' | 't'), None) => {
            model.show_message(MessageTone::Bad, "The answer has no quoteId.", now.mono)
        }
        (KeyCode::Char('q'), _) => close(model),
        _ => {}
    }
}

/// Goes back a step: from the hash to the answer, from the wait to the values, from the values to the previous screen.
fn back(model: &mut Model, now: Now) {
    let Dialog::Quote(form) = &mut model.dialog else { return };
    match std::mem::take(&mut form.stage) {
        QuoteStage::Tracking { answer, .. } => form.stage = QuoteStage::Answered(answer),
        // The request is withdrawn when its number arrives.
        QuoteStage::Asking { .. } => {}
        QuoteStage::Waiting { id, until } => {
            let text = "Cancelled. A request that was not sent yet will not be sent.";
            model.show_message(MessageTone::Good, text, now.mono);
            model.effects.push(Effect::Quote(QuoteWork::Withdraw { id, until }));
        }
        stage => {
            form.stage = stage;
            close(model);
        }
    }
}

/// Closes the form, and keeps the typed values.
fn close(model: &mut Model) {
    if let Dialog::Quote(form) = std::mem::take(&mut model.dialog) {
        model.quote = Some(form);
    }
}

fn ask(model: &mut Model, now: Now) {
    let is_polled = model.setting.is_polling || model.live_poller(now.wall).is_some();
    let Dialog::Quote(form) = &mut model.dialog else { return };
    let Some(request) = form.request(model.setting.any_chain) else { return };
    form.errors.clear();
    if !is_polled {
        form.stage = QuoteStage::NoAnswer(NO_POLLER.into());
        return;
    }
    let until = now.wall + ANSWER_TIMEOUT;
    form.stage = QuoteStage::Asking { until };
    model.effects.push(Effect::Quote(QuoteWork::Ask { request, until }))
}

/// Applies the result of writing the request to the store, which may be an earlier answer.
pub(crate) fn on_asked(model: &mut Model, until: DateTime<Utc>, asked: Result<QuoteSubmission, String>) {
    let form = match &mut model.dialog {
        // The form may wait for another request by now.
        Dialog::Quote(form) if matches!(form.stage, QuoteStage::Asking { until: own } if own == until) => form,
        // The person has left this request.
        _ => return model.effects.extend(asked.ok().and_then(|asked| withdrawn(&asked, until))),
    };
    form.stage = match asked {
        // The answer may have arrived before the number of the request.
        Ok(QuoteSubmission::Pending { id, .. }) => {
            form.stage = QuoteStage::Waiting { id, until };
            return model.effects.push(Effect::Quote(QuoteWork::Read(id)));
        }
        Ok(QuoteSubmission::Reused(quote)) => QuoteStage::Answered(QuoteOutcome { quote, is_stored: true }),
        Ok(QuoteSubmission::WalletLimited { until, message }) => QuoteStage::WalletLimited { until, message },
        Err(error) => QuoteStage::NoAnswer(error),
    };
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
pub(crate) fn on_tick(model: &mut Model, now: Now) {
    let Dialog::Quote(form) = &model.dialog else { return };
    let QuoteStage::Waiting { id, until } = form.stage else { return };
    if until <= now.wall {
        model.effects.push(Effect::Quote(QuoteWork::Withdraw { id, until }));
    }
}

/// Applies the request as read from the store, with its answer if there is one.
pub(crate) fn on_read(model: &mut Model, id: i64, quote: Option<Box<StoredQuote>>, now: Now) {
    let (report, is_unpolled) = (model.live_poller(now.wall).cloned(), model.is_unpolled_by_team());
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
        _ if is_unpolled => QuoteStage::NoAnswer(NOBODY_POLLS.into()),
        _ => QuoteStage::NoAnswer(PollerReport::silence_reason(report.as_ref(), now.wall)),
    };
}

/// Tracks the transaction whose hash was typed.
fn track(form: &mut QuoteForm) -> Option<Effect> {
    let QuoteStage::Tracking { answer, hash, error, is_sent } = &mut form.stage else { return None };
    match answer.transaction(hash.value()) {
        Ok(new) => {
            let doubt = intake::hash_warning(&new.params.transaction_id, &new.params.from_chain);
            let doubt = doubt.map(|doubt| format!("{doubt}; Enter again tracks it"));
            if doubt.is_some() && *error != doubt {
                *error = doubt;
                return None;
            }
            *is_sent = true;
            Some(Effect::Import(vec![new]))
        }
        Err(reason) => {
            *error = Some(reason);
            None
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
