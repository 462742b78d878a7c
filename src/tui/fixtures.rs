//! Models for tests: a dashboard that has read its store.
//!
//! Only tests may use it. Everything comes in as messages, as it does in the program.

use chrono::{DateTime, Offset, Utc};

use super::{
    effect::Effect,
    keymap,
    model::{Model, Setting},
    update::{Msg, update},
};
use crate::{
    clock::{Mono, Now},
    domain::{
        alert::{Alert, Rule, Subject},
        answer::Templates,
        ids::RowId,
        need::Need,
        transaction::Transaction,
    },
    store::{News, PollerReport},
};

/// A dashboard that knows nothing yet; it polls, in UTC.
pub fn blank(size: (u16, u16)) -> Model {
    let setting = Setting {
        profile: "default".into(),
        shown_id: Some("…7f3a".into()),
        demo: false,
        polls: true,
        process: 7,
        zone: Utc.fix(),
        any_chain: false,
        templates: Templates::default(),
    };
    Model::new(setting, size)
}

/// A moment; the monotonic clock started at the Unix epoch.
pub fn moment(wall: DateTime<Utc>) -> Now {
    Now { mono: Mono((wall - DateTime::UNIX_EPOCH).to_std().unwrap()), wall }
}

/// An alert of a transaction, or of the whole profile.
pub fn alert(rule: Rule, of: Option<RowId>, message: &str) -> Alert {
    Alert {
        id: of.map_or(0, |row| row.0) * 100 + rule as i64,
        rule,
        subject: of.map_or(Subject::Profile, Subject::Transaction),
        profile: "default".into(),
        raised_at: DateTime::UNIX_EPOCH,
        clean: 0,
        acknowledged: None,
        message: message.into(),
    }
}

/// Everything that the store holds, as the first reading brings it.
pub fn everything(transactions: Vec<Transaction>, alerts: Vec<Alert>) -> News {
    News { anew: true, changes: Vec::new(), transactions, alerts: Some(alerts) }
}

/// Some transactions as they are now, as a later reading brings them.
pub fn changed(transactions: Vec<Transaction>) -> News {
    News { anew: false, changes: Vec::new(), transactions, alerts: None }
}

/// A poller that is at work at `at`.
pub fn at_work(at: DateTime<Utc>) -> PollerReport {
    PollerReport {
        at,
        valid_until: at + chrono::TimeDelta::seconds(15),
        process: 7,
        id: "…7f3a".into(),
        rps: 10.0,
        used: 4.2,
        requests: 1_234,
        unsettled: 7,
        share: 1.0,
        need: Some(Need { polls: 0.67, allowed: 8.33, unsettled: 7 }),
        health: "live".into(),
        ..PollerReport::default()
    }
}

/// Brings news to the dashboard.
pub fn hear(model: &mut Model, news: News, poller: Option<PollerReport>, now: Now) -> Vec<Effect> {
    update(model, Msg::News(Box::new(news), poller), now)
}

/// Presses keys, one after the other; what the last of them brings.
pub fn press(model: &mut Model, keys: &[&str], now: Now) -> Vec<Effect> {
    let mut effects = Vec::new();
    for key in keys {
        let key = keymap::parse(key).unwrap_or_else(|| panic!("{key} can't be pressed"));
        effects = update(model, Msg::Key(key), now);
    }
    effects
}

/// Types a text, letter by letter.
pub fn type_in(model: &mut Model, text: &str, now: Now) {
    for letter in text.chars() {
        let key = crossterm::event::KeyCode::Char(letter).into();
        update(model, Msg::Key(key), now);
    }
}
