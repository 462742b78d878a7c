//! The quote form's keys, and how its question comes to an answer: through the store, by whoever polls.
//!
//! What can only be refused isn't asked. Nothing is waited for longer than a person would, nor asked for who has left.

use chrono::{DateTime, TimeDelta, Utc};
use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::Effect;
use crate::{
    clock::Now,
    domain::{change::What, poller::PollerReport, text},
    store::{Asked, Changes, StoredQuote},
    tui::{
        effect::QuoteWork,
        model::{
            Model, Overlay, Tone,
            quote::{Answer, QuoteForm, Stage},
        },
    },
};

/// What became of a question for a route.
#[derive(Debug)]
pub enum QuoteHeard {
    /// It is in the store, or was answered before; until when it is waited for.
    Asked(DateTime<Utc>, Result<Asked, String>),
    /// It was read by its number, with its answer if there is one.
    Read(i64, Option<Box<StoredQuote>>),
}

/// How long a quote is waited for: others' requests, a rest, a time-out.
const PATIENCE: TimeDelta = TimeDelta::seconds(40);
const NOBODY: &str = "nobody polls here, so nobody would ask: start hoptop without --no-poll, or `hoptop watch`";

/// Opens the form, with what was typed in it before.
pub(super) fn open(model: &mut Model) {
    model.overlay = Overlay::Quote(model.quote.take().unwrap_or_default());
}

pub(super) fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> Vec<Effect> {
    let Overlay::Quote(form) = &mut model.overlay else { return Vec::new() };
    match (&mut form.stage, key.code) {
        (_, KeyCode::Esc) => back(model, now),
        // What was sent is waited for.
        (Stage::Asking { .. } | Stage::Waiting { .. } | Stage::Tracking { is_sent: true, .. }, _) => Vec::new(),
        (Stage::Tracking { .. }, KeyCode::Enter) => track(form),
        (Stage::Tracking { hash, wrong, .. }, _) => {
            if hash.handle_event(&Event::Key(key)).is_some_and(|change| change.value) {
                *wrong = None;
            }
            Vec::new()
        }
        (_, KeyCode::Enter) => ask(model, now),
        (_, KeyCode::Tab | KeyCode::Down) => moved(form, 1),
        (_, KeyCode::BackTab | KeyCode::Up) => moved(form, -1),
        (Stage::Answered(answer), code) => {
            let answer = answer.clone();
            on_answer_key(model, answer, code, now)
        }
        (_, _) => {
            let input = form.inputs.get_mut(form.place);
            if input.and_then(|input| input.handle_event(&Event::Key(key))).is_some_and(|change| change.value) {
                form.changed();
            }
            Vec::new()
        }
    }
}

fn moved(form: &mut QuoteForm, values: isize) -> Vec<Effect> {
    form.move_by(values);
    Vec::new()
}

/// Keys while the answer takes them.
fn on_answer_key(model: &mut Model, answer: Answer, code: KeyCode, now: Now) -> Vec<Effect> {
    let id = answer.quote_id().map(str::to_owned);
    match (code, id) {
        (KeyCode::Char('y'), Some(id)) => return vec![Effect::Copy(id)],
        (KeyCode::Char('T' | 't'), Some(_)) => {
            if let Overlay::Quote(form) = &mut model.overlay {
                form.stage = Stage::Tracking { answer, hash: Input::default(), wrong: None, is_sent: false };
            }
        }
        (KeyCode::Char('y' | 'T' | 't'), None) => model.notify(Tone::Bad, "No quoteId came.", now.mono),
        (KeyCode::Char('q'), _) => close(model),
        _ => {}
    }
    Vec::new()
}

pub(super) fn on_paste(model: &mut Model, pasted: &str) {
    let Overlay::Quote(form) = &mut model.overlay else { return };
    let pasted = text::clean(pasted);
    match &mut form.stage {
        Stage::Asking { .. } | Stage::Waiting { .. } | Stage::Tracking { is_sent: true, .. } => {}
        Stage::Tracking { hash, wrong, .. } => {
            *hash = Input::new(format!("{}{pasted}", hash.value()));
            *wrong = None;
        }
        // A hash that is pasted beside an answer is the one to track.
        Stage::Answered(answer) if answer.quote_id().is_some() => {
            let (answer, hash) = (answer.clone(), Input::new(pasted));
            form.stage = Stage::Tracking { answer, hash, wrong: None, is_sent: false };
        }
        _ => {
            if let Some(input) = form.inputs.get_mut(form.place) {
                *input = Input::new(format!("{}{pasted}", input.value()));
                form.changed();
            }
        }
    }
}

/// One step back: from the hash to the answer, from waiting to the values, from these to where the form was opened.
fn back(model: &mut Model, now: Now) -> Vec<Effect> {
    let Overlay::Quote(form) = &mut model.overlay else { return Vec::new() };
    match std::mem::take(&mut form.stage) {
        Stage::Tracking { answer, .. } => form.stage = Stage::Answered(answer),
        // Its number comes yet; then it is withdrawn.
        Stage::Asking { .. } => {}
        Stage::Waiting { id, until } => {
            model.notify(Tone::Good, "Canceled; a request that wasn't sent yet won't be sent.", now.mono);
            return vec![Effect::Quote(QuoteWork::Withdraw { id, until })];
        }
        stage => {
            form.stage = stage;
            close(model);
        }
    }
    Vec::new()
}

/// Leaves the form, and keeps what was typed.
fn close(model: &mut Model) {
    if let Overlay::Quote(form) = std::mem::take(&mut model.overlay) {
        model.quote = Some(form);
    }
}

fn ask(model: &mut Model, now: Now) -> Vec<Effect> {
    let is_polled = model.setting.polls || model.live_poller(now.wall).is_some();
    let Overlay::Quote(form) = &mut model.overlay else { return Vec::new() };
    let Some(request) = form.request(model.setting.any_chain) else { return Vec::new() };
    form.wrong.clear();
    if !is_polled {
        form.stage = Stage::InVain(NOBODY.into());
        return Vec::new();
    }
    let until = now.wall + PATIENCE;
    form.stage = Stage::Asking { until };
    vec![Effect::Quote(QuoteWork::Ask { request, until })]
}

/// Something was heard of the question.
pub(super) fn on_heard(model: &mut Model, heard: QuoteHeard, now: Now) -> Vec<Effect> {
    match heard {
        QuoteHeard::Asked(until, asked) => on_asked(model, until, asked),
        QuoteHeard::Read(id, quote) => {
            on_read(model, id, quote, now);
            Vec::new()
        }
    }
}

/// The question is in the store, or was answered a moment ago.
fn on_asked(model: &mut Model, until: DateTime<Utc>, asked: Result<Asked, String>) -> Vec<Effect> {
    let form = match &mut model.overlay {
        // By now it may be another one that is asked.
        Overlay::Quote(form) if matches!(form.stage, Stage::Asking { until: own } if own == until) => form,
        // Nobody waits for it any more.
        _ => return asked.ok().and_then(|asked| withdrawn(&asked, until)).into_iter().collect(),
    };
    form.stage = match asked {
        // It may have been answered before its number came here.
        Ok(Asked::Pending { id, .. }) => {
            form.stage = Stage::Waiting { id, until };
            return vec![Effect::Quote(QuoteWork::Read(id))];
        }
        Ok(Asked::Kept(quote)) => Stage::Answered(Answer { quote, kept: true }),
        Ok(Asked::WalletHeld { until, message }) => Stage::Held { until, message },
        Err(error) => Stage::InVain(error),
    };
    Vec::new()
}

fn withdrawn(asked: &Asked, until: DateTime<Utc>) -> Option<Effect> {
    match asked {
        Asked::Pending { id, .. } => Some(Effect::Quote(QuoteWork::Withdraw { id: *id, until })),
        Asked::Kept(_) | Asked::WalletHeld { .. } => None,
    }
}

/// What the feed says of the question.
pub(super) fn on_news(model: &Model, news: &Changes) -> Option<Effect> {
    let Overlay::Quote(form) = &model.overlay else { return None };
    let Stage::Waiting { id, .. } = form.stage else { return None };
    let answered = |what: &What| matches!(what, What::QuoteAnswered { id: answered } if *answered == id);
    (news.resync || news.changes.iter().any(|change| answered(&change.what)))
        .then_some(Effect::Quote(QuoteWork::Read(id)))
}

/// Whether it was waited for long enough: then it is withdrawn, and what is known of it is its end.
pub(super) fn on_tick(model: &Model, now: Now) -> Option<Effect> {
    let Overlay::Quote(form) = &model.overlay else { return None };
    match form.stage {
        Stage::Waiting { id, until } if until <= now.wall => Some(Effect::Quote(QuoteWork::Withdraw { id, until })),
        _ => None,
    }
}

/// The question was read, with its answer if there is one.
fn on_read(model: &mut Model, id: i64, quote: Option<Box<StoredQuote>>, now: Now) {
    let report = model.live_poller(now.wall).cloned();
    let Overlay::Quote(form) = &mut model.overlay else { return };
    let Stage::Waiting { id: waited, until } = form.stage else { return };
    if waited != id {
        return;
    }
    form.stage = match quote {
        Some(quote) if quote.answer.is_some() => Stage::Answered(Answer { quote, kept: false }),
        _ if now.wall < until => return,
        Some(quote) if quote.sent_at.is_some() => {
            Stage::InVain("the request was sent and its answer was lost; ask again".into())
        }
        _ => Stage::InVain(PollerReport::why_silent(report.as_ref(), now.wall)),
    };
}

/// Tracks the transaction whose hash was typed.
fn track(form: &mut QuoteForm) -> Vec<Effect> {
    let Stage::Tracking { answer, hash, wrong, is_sent } = &mut form.stage else { return Vec::new() };
    match answer.transaction(hash.value()) {
        Ok(new) => {
            *is_sent = true;
            vec![Effect::Import(vec![new])]
        }
        Err(reason) => {
            *wrong = Some(reason);
            Vec::new()
        }
    }
}

/// It couldn't be tracked: the form says why. Whether there is one that was to.
pub(super) fn on_not_tracked(model: &mut Model, reason: &str) -> bool {
    match &mut model.overlay {
        Overlay::Quote(form) => match &mut form.stage {
            Stage::Tracking { wrong, is_sent, .. } if *is_sent => {
                (*wrong, *is_sent) = (Some(reason.to_owned()), false);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// It is tracked: the form has done its work, and keeps what was typed. Whether there is one that was to.
pub(super) fn on_tracked(model: &mut Model) -> bool {
    match &mut model.overlay {
        Overlay::Quote(form) if matches!(form.stage, Stage::Tracking { is_sent: true, .. }) => {
            form.stage = Stage::Writing;
            close(model);
            true
        }
        _ => false,
    }
}
