//! `update`: a message changes the model and brings effects. Pure; time is a parameter.
//!
//! Commands are dispatched here and nowhere else; text fields take the keys while they are open.

mod act;
mod add;
mod alerts;
mod aside;
mod columns;
mod detail;
mod dispatch;
mod filter;
mod help;
mod marks;
mod menu;
mod news;
mod offer;
mod order;
mod palette;
mod pointer;
mod poll;
mod prompt;
mod quote;
mod theme;

use std::{collections::HashMap, time::Duration};

use crossterm::event::{KeyEvent, KeyEventKind};

use self::dispatch::no_effects;
pub use self::{dispatch::dispatch, offer::Copied, quote::QuoteHeard};
use super::{
    command::{Context, Id},
    effect::{Effect, Work},
    keymap,
    model::{
        Model, Overlay, Overview, Screen, Tone, alerts::AlertPage, geometry::Target, history::History,
        list::PageRequest, log::LogTail, memory::ChosenTheme, polled::Polled, raw::Body, stats::Statistics,
    },
};
use crate::{
    clock::Now,
    domain::{alert::Alert, filter::Names, ids::RowId, transaction::Transaction},
    intake,
    store::{Changes, ImportReport, Listed, Page},
};

/// A message: input, a result of an effect, or a tick.
#[derive(Debug)]
pub enum Msg {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// So many keys arrived at once that they are pasted text, or a part of it.
    Burst(String),
    /// A click on this target.
    Click(Target),
    /// A turn of the wheel by this many lines.
    Wheel(isize),
    /// The terminal's new size: columns and rows. The model has the size already.
    Resize(u16, u16),
    /// The store changed.
    News(Box<StoreNews>),
    /// The store could not be read; the read will be repeated.
    NotRead(String),
    /// The store's trouble changed; `None` if there is none any more.
    Trouble(Option<String>),
    /// A page of the list, or the error.
    Page(Box<(PageRequest, Result<Page, String>)>),
    /// The counts of a view, or the error.
    Counted(Box<(u64, Result<Overview, String>)>),
    /// A transaction as it is now, with its history.
    History(RowId, Box<(Option<Listed>, History)>),
    /// A transaction's last body; `None` if there is none.
    Body(RowId, Box<Option<Body>>),
    /// The next transaction with an alert, if there is one.
    FoundAlert(Option<RowId>),
    /// The list of alerts, or the error.
    Alerts(Result<AlertPage, String>),
    /// The statistics for the charts, or the error, and how long the read took.
    Statistics(Box<(Result<Statistics, String>, Duration)>),
    /// The end of the log, or the error; `None` if the log has nothing new.
    Log(Result<Option<LogTail>, String>),
    /// The transactions to mark; `None` if they are too many.
    FoundMarks(Option<Vec<RowId>>),
    /// For each hash of the request, by its text, the tracked transaction, if there is one.
    Known(HashMap<String, Option<RowId>>),
    /// Tickets or labels with the requested beginning.
    Names(Names),
    /// The state of a request for a route.
    Quote(QuoteHeard),
    /// The result of an import.
    Imported(Result<ImportReport, String>),
    /// A text for the terminal's own clipboard. The loop copies it, and sends `Copied` instead.
    CopyByTerminal(String),
    /// The result of copying a text.
    Copied(Copied),
    /// A link that couldn't be opened, and the reason; the link is copied instead.
    NotOpened {
        /// The link.
        link: String,
        /// Why not.
        reason: String,
    },
    /// The result of a write, in words.
    Worked(Work, Result<String, String>),
    /// Success of something that a person asked for, in words.
    Done(String),
    /// A failure that a person should know of.
    Fault(String),
    /// The result of setting a theme.
    ThemeSet(Result<Option<ChosenTheme>, String>),
    /// A second has passed.
    Tick,
}

/// News from the store.
#[derive(Debug, Default)]
pub struct StoreNews {
    /// What changed.
    pub news: Changes,
    /// How the profile in force is polled.
    pub own: Polled,
    /// How those beside it are, in the setting's order.
    pub beside: Vec<Polled>,
    /// The active alerts of whole profiles.
    pub profile_alerts: Vec<Alert>,
    /// What keeps notifications from being delivered.
    pub untold: Vec<String>,
}

/// Applies a message. The model's geometry must be measured: `tui::step` does both.
pub fn update(model: &mut Model, message: Msg, now: Now) -> Vec<Effect> {
    let before = model.list.selected;
    let is_free = matches!(model.overlay, Overlay::None);
    let mut effects = take(model, message, now);
    model.end_snoozes(now.wall);
    let handles_alerts = |effect: &Effect| matches!(effect, Effect::Work(work) if work.handles_alerts());
    if model.screen == Screen::Alerts && effects.iter().any(handles_alerts) {
        model.alert_list.select_next_firing();
    }
    if is_free && !matches!(model.overlay, Overlay::None) {
        model.go_on(now.mono);
    }
    if model.list.selected != before {
        model.history = None;
        model.detail.on_another();
        effects.extend(model.list.selected.map(Effect::LoadHistory));
    }
    effects.extend(detail::settle(model));
    effects.extend(attention(model, now));
    effects.extend(model.list.to_read().map(Effect::LoadPage));
    effects
}

/// Applies the message itself; `update` does what follows from it.
#[expect(clippy::unit_arg, reason = "a message that changes the model alone stands in one line, like the others")]
fn take(model: &mut Model, message: Msg, now: Now) -> Vec<Effect> {
    match message {
        Msg::Key(key) => on_key(model, key, now),
        // What is pasted stands on a screen that others may see.
        Msg::Paste(text) => on_paste(model, &intake::without_id(&text), true),
        Msg::Burst(text) => on_paste(model, &intake::without_id(&text), false),
        Msg::Click(target) => pointer::on_click(model, target),
        Msg::Wheel(lines) => no_effects(pointer::on_wheel(model, lines)),
        Msg::News(heard) => news::on_news(model, *heard, now),
        Msg::Page(read) => news::on_page(model, *read, now),
        Msg::Counted(counted) => news::on_counted(model, *counted, now),
        Msg::Statistics(read) => aside::on_statistics(model, *read, now.mono),
        Msg::Log(read) => aside::on_log(model, read),
        Msg::Known(known) => add::on_known(model, known, now.mono),
        Msg::Quote(heard) => quote::on_heard(model, heard, now),
        Msg::Imported(outcome) => add::on_imported(model, outcome, now),
        Msg::Copied(copied) => offer::on_copied(model, copied, now),
        Msg::NotOpened { link, reason } => offer::not_opened(model, link, &reason, now),
        Msg::ThemeSet(outcome) => theme::on_theme_set(model, outcome, now),
        Msg::Tick => on_tick(model, now),
        Msg::Resize(..) => no_effects(on_resize(model)),
        Msg::History(row, read) => no_effects(news::on_history(model, row, *read)),
        Msg::Body(row, body) => no_effects(detail::on_body(model, row, *body)),
        Msg::FoundAlert(Some(row)) => no_effects(model.list.want(row)),
        Msg::FoundAlert(None) => {
            no_effects(model.notify(Tone::Bad, "No other transaction here has an alert.", now.mono))
        }
        Msg::Alerts(read) => no_effects(alerts::on_read(model, read, now.mono)),
        Msg::FoundMarks(found) => no_effects(marks::on_found(model, found, now.mono)),
        Msg::Names(names) => no_effects(filter::on_names(model, names)),
        Msg::Trouble(trouble) => no_effects(model.trouble = trouble),
        Msg::Worked(work, outcome) => no_effects(act::on_worked(model, &work, outcome, now.mono)),
        Msg::Done(text) => no_effects(model.notify(Tone::Good, text, now.mono)),
        Msg::Fault(text) | Msg::NotRead(text) => no_effects(model.notify(Tone::Bad, text, now.mono)),
        // The loop copies the text itself, and sends `Copied` instead.
        Msg::CopyByTerminal(_) => Vec::new(),
    }
}

fn on_resize(model: &mut Model) {
    model.list.scroll_into_view();
    model.list.mark_stale();
}

/// Reports the open transaction to the poller, when it changes and every 20 s while it stays open.
fn attention(model: &mut Model, now: Now) -> Option<Effect> {
    /// Well before it is forgotten.
    const AGAIN: Duration = Duration::from_secs(20);
    let polled = |row: &RowId| model.transactions.get(row).is_some_and(Transaction::wants_polling);
    let open = match model.screen {
        Screen::Detail => model.list.selected.filter(polled),
        Screen::List | Screen::Alerts | Screen::Stats | Screen::Log => None,
    };
    let said = model.looked_at.filter(|(_, at)| now.mono.since(*at) < AGAIN).map(|(row, _)| row);
    if open == said && (open.is_some() || model.looked_at.is_none()) {
        return None;
    }
    model.looked_at = open.map(|row| (row, now.mono));
    Some(Effect::LookAt(open))
}

fn on_tick(model: &mut Model, now: Now) -> Vec<Effect> {
    if model.notice.as_ref().is_some_and(|notice| notice.until <= now.mono) {
        model.notice = None;
    }
    if std::mem::take(&mut model.unread) {
        model.mark_stale();
    }
    let count = std::mem::take(&mut model.uncounted).then_some(Effect::Count);
    let aside = aside::read_if_due(model, now.mono).into_iter().chain(quote::on_tick(model, now));
    alerts::read_if_due(model, now.mono).into_iter().chain(count).chain(aside).collect()
}

/// Applies pasted text, whole or a part of it.
fn on_paste(model: &mut Model, text: &str, is_whole: bool) -> Vec<Effect> {
    match &mut model.overlay {
        Overlay::Filter(_) => filter::on_paste(model, text),
        Overlay::Find { .. } => detail::on_paste(model, text),
        Overlay::Add(_) => add::on_paste(model, text, is_whole),
        Overlay::Palette(_) => palette::on_paste(model, text),
        Overlay::Prompt(_) => {
            prompt::on_paste(model, text);
            Vec::new()
        }
        Overlay::Quote(_) => {
            quote::on_paste(model, text);
            Vec::new()
        }
        Overlay::Help(page) if help::is_sought(text) => {
            help::on_paste(page, text, &model.setting.keys);
            Vec::new()
        }
        Overlay::None | Overlay::Help(_) | Overlay::Answer { .. } | Overlay::Menu(_) | Overlay::Offer(_) => {
            model.overlay = Overlay::Add(Box::default());
            add::on_paste(model, text, is_whole)
        }
    }
}

fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    let name = keymap::name(key);
    // In text fields too, where whatever is a letter types.
    let control = name.as_deref().filter(|name| name.starts_with('^') && name.len() > 1);
    let anywhere = control.and_then(|name| model.setting.keys.lookup(&[Context::Page], name));
    if let Some(id @ (Id::Quit | Id::Suspend)) = anywhere {
        return dispatch(model, id, now);
    }
    match &model.overlay {
        Overlay::Filter(_) => return filter::on_key(model, key),
        Overlay::Find { .. } => return detail::on_key(model, key),
        Overlay::Add(_) => return add::on_key(model, key, now),
        Overlay::Offer(_) => return offer::on_key(model, key, now),
        Overlay::Palette(_) => return palette::on_key(model, key, now),
        Overlay::Prompt(_) => return prompt::on_key(model, key),
        Overlay::Menu(_) => return menu::on_key(model, key, now),
        Overlay::Quote(_) => return quote::on_key(model, key, now),
        Overlay::Help(_) => return help::on_key(model, key, now),
        Overlay::None | Overlay::Answer { .. } => {}
    }
    let contexts = model.contexts();
    match name.and_then(|name| model.setting.keys.lookup(contexts, &name)) {
        Some(id) => dispatch(model, id, now),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
