//! `update`: a message changes the model and brings effects. Pure; time is a parameter.
//!
//! Commands are dispatched here and nowhere else; text fields take the keys while they are open.

mod add;
mod filter;
mod offer;
mod pointer;

use std::{collections::HashMap, time::Duration};

use chrono::{DateTime, Utc};
use crossterm::event::{KeyEvent, KeyEventKind, MouseEvent};

pub use self::offer::Copied;
use super::{
    command::{self, Context, Id},
    effect::Effect,
    keymap,
    model::{
        Model, Overlay, Overview, Screen, Tone,
        add::AddForm,
        history::History,
        list::{PageRequest, Tab},
    },
    view,
};
use crate::{
    clock::Now,
    domain::{
        alert::Alert,
        answer::{self, Format},
        change::What,
        ids::RowId,
        transaction::Transaction,
    },
    store::{ImportReport, Listed, News, Page, PollerReport},
};

/// Something that happened.
#[derive(Debug)]
pub enum Msg {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The mouse was clicked or its wheel turned.
    Mouse(MouseEvent),
    /// The terminal has another size: columns and rows.
    Resize(u16, u16),
    /// The store changed.
    News(Box<Heard>),
    /// The store could not be read; it will be tried again.
    NotRead(String),
    /// What stands in the way of keeping things in the store has changed.
    Trouble(Option<String>),
    /// A part of the list was read, or why it wasn't.
    Page(Box<(PageRequest, Result<Page, String>)>),
    /// What is tracked was counted for a view, or why it wasn't.
    Counted(Box<(u64, Result<Overview, String>)>),
    /// A history was read, with its transaction as it is now.
    History(RowId, Box<(Option<Listed>, History)>),
    /// The next transaction with an alert, if there is one.
    FoundAlert(Option<RowId>),
    /// Which hashes are tracked, by the text that was asked for.
    Known(HashMap<String, RowId>),
    /// An import ended.
    Imported(Result<ImportReport, String>),
    /// A text is to be copied by the terminal itself: the loop does that, and says what became of it.
    CopyByTerminal(String),
    /// What became of a text that was to be copied.
    Copied(Copied),
    /// A link couldn't be opened, and why: it is copied instead.
    NotOpened {
        /// The link.
        link: String,
        /// Why not.
        reason: String,
    },
    /// What a person asked for was done, in words.
    Done(String),
    /// Something failed that a person should know of.
    Fault(String),
    /// A second has passed.
    Tick,
}

/// What was heard from the store.
#[derive(Debug, Default)]
pub struct Heard {
    /// What changed.
    pub news: News,
    /// What the profile's poller last said.
    pub poller: Option<PollerReport>,
    /// What stands for profiles as a whole.
    pub profile_alerts: Vec<Alert>,
    /// The oldest answer among those that are polled.
    pub oldest_answer: Option<DateTime<Utc>>,
}

/// Takes in a message.
pub fn update(model: &mut Model, message: Msg, now: Now) -> Vec<Effect> {
    let before = model.list.selected;
    model.list.height = view::list_height(model);
    let mut effects = match message {
        Msg::Key(key) => on_key(model, key, now),
        Msg::Paste(text) => on_paste(model, &text),
        Msg::Mouse(mouse) => pointer::on_mouse(model, mouse, now),
        Msg::Resize(columns, rows) => {
            model.size = (columns, rows);
            model.list.height = view::list_height(model);
            model.list.scroll_into_view();
            model.list.look_again();
            Vec::new()
        }
        Msg::News(heard) => on_news(model, *heard, now),
        Msg::Page(read) => on_page(model, *read, now),
        Msg::Counted(counted) => {
            // Of another view it may have been called off.
            let (view, counted) = *counted;
            let uncounted = counted.map(|overview| model.take_overview(overview)).err();
            let uncounted = uncounted.filter(|_| view == model.list.view());
            model.uncounted |= uncounted.is_some();
            uncounted.into_iter().for_each(|error| model.tell(Tone::Bad, error, now.mono));
            Vec::new()
        }
        Msg::History(row, read) => {
            on_history(model, row, *read);
            Vec::new()
        }
        Msg::FoundAlert(found) => {
            found.into_iter().for_each(|row| model.list.want(row));
            Vec::new()
        }
        Msg::Known(known) => add::on_known(model, &known),
        Msg::Imported(outcome) => add::on_imported(model, outcome, now),
        Msg::Trouble(trouble) => {
            model.trouble = trouble;
            Vec::new()
        }
        Msg::CopyByTerminal(_) => Vec::new(),
        Msg::Copied(copied) => offer::on_copied(model, copied, now),
        Msg::NotOpened { link, reason } => offer::not_opened(model, link, &reason, now),
        Msg::Done(text) => {
            model.tell(Tone::Good, text, now.mono);
            Vec::new()
        }
        Msg::Fault(text) | Msg::NotRead(text) => {
            model.tell(Tone::Bad, text, now.mono);
            Vec::new()
        }
        Msg::Tick => on_tick(model, now),
    };
    if model.list.selected != before {
        model.history = None;
        if let Screen::Detail { scroll } = &mut model.screen {
            *scroll = 0;
        }
        effects.extend(model.list.selected.map(Effect::LoadHistory));
    }
    effects.extend(attention(model, now));
    effects.extend(model.list.to_read().map(Effect::LoadPage));
    effects
}

/// Says what the person has open, when that changes and now and then while it stays.
fn attention(model: &mut Model, now: Now) -> Option<Effect> {
    /// Well before it is forgotten.
    const AGAIN: Duration = Duration::from_secs(20);
    let polled = |row: &RowId| model.transactions.get(row).is_some_and(Transaction::wants_polling);
    let open = match model.screen {
        Screen::Detail { .. } => model.list.selected.filter(polled),
        Screen::List => None,
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
        model.look_again();
    }
    std::mem::take(&mut model.uncounted).then_some(Effect::Count).into_iter().collect()
}

fn on_news(model: &mut Model, heard: Heard, now: Now) -> Vec<Effect> {
    let Heard { news, poller, mut profile_alerts, oldest_answer } = heard;
    profile_alerts.retain(|alert| alert.profile == model.setting.profile);
    profile_alerts.sort_by_key(|alert| alert.rule);
    (model.profile_alerts, model.poller, model.oldest_answer) = (profile_alerts, poller, oldest_answer);
    // Most polls bring no news, and most of these are about what isn't shown.
    let is_news = news.anew || news.changes.iter().any(|change| change.what != What::Polled);
    let is_shown = |row: &RowId| model.transactions.contains_key(row) || !model.list.filter_text.is_empty();
    let is_news = is_news || news.polls_dropped;
    let touched = news.rows(true);
    if !is_news && !touched.iter().any(is_shown) {
        return Vec::new();
    }
    leave_deleted(model, &news, now);
    model.look_again();
    let reload = model.list.selected.filter(|row| news.anew || touched.contains(row)).map(Effect::LoadHistory);
    reload.into_iter().chain(is_news.then_some(Effect::Count)).collect()
}

/// What is open and was removed can't stay open.
fn leave_deleted(model: &mut Model, news: &News, now: Now) {
    let is_selected = |row: i64| model.list.selected == Some(RowId(row));
    let removed = news.changes.iter().any(|change| matches!(change.what, What::Deleted { row } if is_selected(row)));
    if removed && matches!(model.screen, Screen::Detail { .. }) {
        model.screen = Screen::List;
        model.tell(Tone::Bad, "It was removed.", now.mono);
    }
}

/// A part of the list was read, or why it wasn't: of another view it may have been called off.
fn on_page(model: &mut Model, (request, page): (PageRequest, Result<Page, String>), now: Now) -> Vec<Effect> {
    match page {
        _ if request.view != model.list.view() => return Vec::new(),
        Ok(page) => model.take_page(&request, page),
        Err(error) => {
            model.unread = true;
            model.tell(Tone::Bad, error, now.mono);
        }
    }
    let uncounted = model.list.before.is_none() || model.list.total.is_none();
    uncounted.then_some(Effect::Count).into_iter().collect()
}

fn on_history(model: &mut Model, row: RowId, (listed, history): (Option<Listed>, History)) {
    // What is shown meanwhile has its own.
    if model.list.selected != Some(row) {
        return;
    }
    if let Some(Listed { transaction, alerts }) = listed {
        model.transactions.insert(row, transaction);
        model.alerts.insert(row, alerts);
    }
    model.history = Some((row, history));
}

fn on_paste(model: &mut Model, text: &str) -> Vec<Effect> {
    match &mut model.overlay {
        Overlay::Filter { .. } => filter::on_paste(model, text),
        Overlay::Add(_) => add::on_paste(model, text),
        Overlay::None | Overlay::Help { .. } | Overlay::Answer { .. } | Overlay::Offer(_) => {
            model.overlay = Overlay::Add(AddForm::default());
            add::on_paste(model, text)
        }
    }
}

fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    let name = keymap::name(key);
    match name.as_deref() {
        Some("^C") => return vec![Effect::Quit],
        Some("^Z") => return vec![Effect::Suspend],
        _ => {}
    }
    let context = match (&model.overlay, model.screen) {
        (Overlay::Filter { .. }, _) => return filter::on_key(model, key),
        (Overlay::Add(_), _) => return add::on_key(model, key),
        (Overlay::Offer(_), _) => return offer::on_key(model, key, now),
        (Overlay::Help { .. } | Overlay::Answer { .. }, _) => Context::Page,
        (Overlay::None, Screen::List) => Context::List,
        (Overlay::None, Screen::Detail { .. }) => Context::Detail,
    };
    match name.and_then(|name| command::lookup(context, &name)) {
        Some(id) => dispatch(model, id, now),
        None => Vec::new(),
    }
}

/// Carries a command out.
pub fn dispatch(model: &mut Model, id: Id, now: Now) -> Vec<Effect> {
    match id {
        Id::Quit | Id::QuitRoot => return vec![Effect::Quit],
        Id::Redraw => return vec![Effect::Redraw],
        Id::Suspend => return vec![Effect::Suspend],
        Id::Copy => return offer::copy(model, now),
        Id::Browser => return offer::browse(model, now),
        Id::Links => return offer::links(model, now),
        Id::PollNow => return poll_now(model, now),
        Id::Answer => return answer(model, now),
        Id::Untrack => return of_selected(model, Effect::Untrack),
        Id::Undo => return vec![Effect::TakeBack],
        Id::Redo => return vec![Effect::DoAgain],
        Id::Help => model.overlay = Overlay::Help { scroll: 0 },
        Id::Open if model.list.selected.is_some() => {
            model.list.chosen = true;
            model.screen = Screen::Detail { scroll: 0 };
        }
        Id::Open => {}
        Id::Back => match model.overlay {
            Overlay::Help { .. } | Overlay::Answer { .. } => model.overlay = Overlay::None,
            _ => {
                model.screen = Screen::List;
                // What was open may have left the view meanwhile.
                model.look_again();
            }
        },
        Id::Clear => return filter::set(model, ""),
        Id::Filter => filter::open(model),
        Id::Add => model.overlay = Overlay::Add(AddForm::default()),
        Id::Down => scroll(model, 1, now),
        Id::Up => scroll(model, -1, now),
        Id::HalfDown => scroll(model, half_page(model), now),
        Id::HalfUp => scroll(model, -half_page(model), now),
        Id::Top => scroll(model, isize::MIN, now),
        Id::Bottom => scroll(model, isize::MAX, now),
        Id::NextAlert => return to_alert(model, true),
        Id::PrevAlert => return to_alert(model, false),
        Id::Attention => return show_tab(model, Tab::Attention),
        Id::Active => return show_tab(model, Tab::Active),
        Id::Refunds => return show_tab(model, Tab::Refunds),
        Id::Done => return show_tab(model, Tab::Done),
        Id::All => return show_tab(model, Tab::All),
    }
    Vec::new()
}

/// Shows a saved view, which begins with its most urgent one unless it shows what was chosen.
fn show_tab(model: &mut Model, tab: Tab) -> Vec<Effect> {
    model.list.set_tab(tab);
    vec![Effect::Count]
}

fn half_page(model: &Model) -> isize {
    isize::from(u8::try_from(view::page(model) / 2).unwrap_or(u8::MAX)).max(1)
}

/// Moves in whatever has the focus: the help, the detail's lines, or the list.
fn scroll(model: &mut Model, lines: isize, now: Now) {
    let end = view::scroll_end(model, now);
    match (&mut model.overlay, &mut model.screen) {
        (Overlay::Help { scroll } | Overlay::Answer { scroll, .. }, _) | (_, Screen::Detail { scroll }) => {
            *scroll = scroll.saturating_add_signed(lines).min(end);
        }
        (_, Screen::List) => model.list.move_by(lines),
    }
}

fn to_alert(model: &mut Model, forwards: bool) -> Vec<Effect> {
    model.list.selected.map(|row| Effect::FindAlert { row, forwards }).into_iter().collect()
}

/// Shows the reply about the selected transaction, and copies it.
fn answer(model: &mut Model, now: Now) -> Vec<Effect> {
    let (zone, own) = (model.setting.zone, &model.setting.templates);
    let Some(tx) = model.selected() else { return Vec::new() };
    let text = answer::answer(tx, (now.wall, zone), Format::Markdown, own);
    model.list.chosen = true;
    (model.overlay, model.copied) = (Overlay::Answer { text: text.clone(), scroll: 0 }, None);
    vec![Effect::Copy(text)]
}

/// Does something to the selected transaction, which is chosen by that.
fn of_selected(model: &mut Model, effect: fn(RowId) -> Effect) -> Vec<Effect> {
    model.list.chosen |= model.list.selected.is_some();
    model.list.selected.map(effect).into_iter().collect()
}

fn poll_now(model: &mut Model, now: Now) -> Vec<Effect> {
    let Some(row) = model.list.selected else { return Vec::new() };
    model.list.chosen = true;
    let nobody = model.live_poller(now.wall).is_none_or(|report| report.health == "waiting");
    let told = match nobody {
        true => "Nobody polls just now; it is asked about as soon as a poller runs.",
        false => "Asked to be polled next (one request; 5 s after its last at the earliest).",
    };
    model.tell(if nobody { Tone::Bad } else { Tone::Good }, told, now.mono);
    vec![Effect::PollNow(row)]
}

#[cfg(test)]
mod tests;
