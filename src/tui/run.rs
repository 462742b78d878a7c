//! The loop: messages in, effects out, a frame when something changed. Generic over backend and input, so that a test
//! drives the real one.
//!
//! It draws at most 30 times a second and only when something changed, ages once a second. It must never wait for the
//! disk or the network: reading and writing the store happens on the pool for blocking work.

mod aside;
mod outward;
mod quote;

use std::{io, path::PathBuf, pin::pin, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use crossterm::event::Event;
use futures_util::{Stream, StreamExt};
use ratatui::{Terminal, backend::Backend};
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
};

use self::outward::Outward;
use super::{
    burst::Bursts,
    commands,
    effect::{Effect, Work},
    export::{Export, ExportOrder, Leaving},
    look,
    model::{Model, Overlay, Setting, Tone, list::PageRequest},
    outside::{Outside, suspension::Suspension},
    remember::Remembered,
    theme::Theme,
    update::{Heard, Msg, update},
    view::view,
};
use crate::{
    clock::{Clock, Mono, Now},
    domain::ids::RowId,
    store::{Edit, Follower, Reader, SharedReader, Store, StoreError},
};

/// Between two frames: 30 a second.
const FRAME: Duration = Duration::from_millis(33);
/// Between two frames that nobody looks at.
const UNSEEN_FRAME: Duration = Duration::from_secs(1);
/// The most events that are taken at once.
const AT_ONCE: usize = 4096;
/// Between two looks at the clock on screen.
const SECOND: Duration = Duration::from_secs(1);

/// Counting takes at most one in so many seconds: of a million it costs more than of a thousand.
const COUNTING: u32 = 20;
/// The same for reading the list anew, if that takes long enough to be noticed.
const PAGING: u32 = 4;
const NOTICED: Duration = Duration::from_millis(50);

/// How long what a person has open counts, unless it is said again.
const ATTENTION: Duration = Duration::from_secs(60);

/// What the loop needs.
pub struct Parts {
    /// What it shows, and where commands go.
    pub store: Store,
    /// Its time.
    pub clock: Clock,
    /// What stays the same while it runs.
    pub setting: Setting,
    /// How things look.
    pub theme: Theme,
    /// What it reaches outside of its cells.
    pub outside: Outside,
    /// Where it is kept from one start to the next how the person left it.
    pub memory: Option<PathBuf>,
    /// Where the log is, if there is one.
    pub log: Option<PathBuf>,
    /// Writes transactions to a new file.
    pub export: Export,
}

/// Why the loop ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The terminal failed, or is gone.
    #[error("the terminal failed: {0}")]
    Terminal(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A task panicked.
    #[error("a task of the dashboard failed: {0}")]
    Task(#[from] JoinError),
}

/// Runs the dashboard until the person quits or `stop` resolves, and returns what that said; `None` for a person's quit.
pub async fn run<B, S>(
    terminal: &mut Terminal<B>,
    input: impl Stream<Item = io::Result<Event>>,
    parts: Parts,
    stop: impl Future<Output = S>,
) -> Result<Option<S>, RunError>
where
    B: Backend,
{
    let (mut input, mut stop) = (pin!(input.ready_chunks(AT_ONCE)), pin!(stop));
    let mut dashboard = Dashboard::start(terminal, parts)?;
    loop {
        let now = dashboard.clock.now();
        dashboard.draw_if_due(terminal, now)?;
        let wake = dashboard.wake(now);
        let clock = dashboard.clock.clone();
        tokio::select! {
            biased;
            stopped = &mut stop => return Ok(Some(stopped)),
            Some(message) = dashboard.tasks.join_next() => dashboard.take(message?),
            events = input.next() => dashboard.on_events(events)?,
            _ = dashboard.commits.changed(), if !dashboard.reading => dashboard.read_news(),
            () = Suspension::wanted(&mut dashboard.outward.outside.suspension) => dashboard.outward.suspend = Some(false),
            () = clock.sleep_until(wake) => dashboard.on_time(),
        }
        if dashboard.quit {
            return Ok(None);
        }
        if let Some(everybody) = dashboard.outward.suspend.take() {
            tokio::select! {
                biased;
                stopped = &mut stop => return Ok(Some(stopped)),
                resumed = dashboard.suspend(terminal, everybody) => resumed?,
            }
        }
        if std::mem::take(&mut dashboard.redraw) {
            // Not by `clear`: it asks the terminal where its cursor is, waits for that, and fails if nothing comes.
            let size = terminal.size().map_err(fault)?;
            terminal.resize(size.into()).map_err(fault)?;
        }
    }
}

/// What became of a command, for the person.
fn told(outcome: Result<String, StoreError>) -> Msg {
    outcome.map_or_else(|error| Msg::Fault(error.to_string()), Msg::Done)
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.news_to_remember().iter().for_each(Remembered::write);
        // The runtime waits for what is being read and written; nobody else does any more.
        self.leaving.leave();
        [&self.pages, &self.numbers, &self.details, &self.charts].into_iter().for_each(SharedReader::call_off);
    }
}

fn fault(error: impl std::fmt::Display) -> RunError {
    RunError::Terminal(error.to_string())
}

struct Dashboard {
    model: Model,
    theme: Theme,
    outward: Outward,
    bursts: Bursts,
    export: Export,
    leaving: Leaving,
    clock: Clock,
    store: Store,
    follower: Follower,
    /// For the list, for its numbers and for single transactions, so that none waits for the others.
    pages: SharedReader,
    numbers: SharedReader,
    details: SharedReader,
    /// For the charts: it reads all that is tracked.
    charts: SharedReader,
    log: Option<PathBuf>,
    commits: watch::Receiver<u64>,
    /// Blocking work, each ending in a message. One that panics ends the loop.
    tasks: JoinSet<Msg>,
    /// Whether the store is being read: one reading at a time, whatever comes meanwhile is in the next.
    reading: bool,
    /// Whether the last reading failed: the next second tries again.
    read_again: bool,
    /// The view of which a part is being read, if one is, and what is to be read after it.
    paging: Option<(u64, Mono)>,
    next_page: Option<PageRequest>,
    /// Until when the list isn't read again for the same view.
    page_rest: (u64, Mono),
    counting: Counting,
    /// How the person left it the last time.
    remembered: Option<Remembered>,
    dirty: bool,
    redraw: bool,
    quit: bool,
    last_frame: Option<Mono>,
    next_tick: Mono,
}

/// When what is tracked is counted.
#[derive(Default)]
struct Counting {
    wanted: bool,
    /// Since when it is being counted, and for which view.
    began: Option<(Mono, u64)>,
    /// Not before that.
    next: Mono,
}

impl Dashboard {
    fn start<B: Backend>(terminal: &Terminal<B>, parts: Parts) -> Result<Self, RunError> {
        let Parts { store, clock, setting, theme, outside, export, memory, log } = parts;
        let size = terminal.size().map_err(fault)?;
        let mut dashboard = Self {
            model: Model::new(setting, (size.width, size.height)),
            theme,
            outward: Outward::new(outside),
            bursts: Bursts::default(),
            export,
            leaving: Leaving::default(),
            follower: Follower::new(&store)?,
            pages: store.shared_reader()?,
            numbers: store.shared_reader()?,
            details: store.shared_reader()?,
            charts: store.shared_reader()?,
            log,
            commits: store.subscribe()?,
            store,
            tasks: JoinSet::new(),
            reading: false,
            read_again: false,
            paging: None,
            next_page: None,
            page_rest: (0, Mono::default()),
            counting: Counting::default(),
            remembered: memory.map(Remembered::read),
            dirty: true,
            redraw: false,
            quit: false,
            last_frame: None,
            next_tick: clock.now().mono + SECOND,
            clock,
        };
        if let Some(remembered) = &dashboard.remembered {
            dashboard.model.remember(remembered.memory().clone());
        }
        if let Some(notice) = dashboard.store.notice() {
            dashboard.model.tell(Tone::Bad, notice, dashboard.clock.now().mono);
        }
        dashboard.read_news();
        Ok(dashboard)
    }

    fn draw_if_due<B: Backend>(&mut self, terminal: &mut Terminal<B>, now: Now) -> Result<(), RunError> {
        let due = self.last_frame.is_none_or(|last| now.mono.since(last) >= self.frame());
        if self.dirty && due {
            self.tell_terminal()?;
            self.draw_whole::<B>(|| terminal.draw(|frame| view(&self.model, &self.theme, now, frame)).map(drop))?;
            (self.dirty, self.last_frame) = (false, Some(now.mono));
        }
        Ok(())
    }

    /// Between two frames.
    fn frame(&self) -> Duration {
        if self.outward.focused { FRAME } else { UNSEEN_FRAME }
    }

    fn wake(&self, now: Now) -> Mono {
        let frame = self.last_frame.map_or(now.mono, |last| last + self.frame());
        let frame = if self.dirty { frame } else { self.next_tick };
        let due = self.counting.wanted && self.counting.began.is_none();
        let wake = self.next_tick.min(frame).min(if due { self.counting.next } else { self.next_tick });
        self.page_due().map_or(wake, |due| wake.min(due))
    }

    fn on_time(&mut self) {
        let now = self.clock.now();
        self.read_page_if_due(now.mono);
        self.count_if_due(now.mono);
        if now.mono >= self.next_tick {
            self.next_tick = now.mono + SECOND;
            self.take(Msg::Tick);
            if let Some(remembered) = self.news_to_remember() {
                self.tasks.spawn_blocking(move || {
                    remembered.write();
                    Msg::Tick
                });
            }
            if std::mem::take(&mut self.read_again) && !self.reading {
                self.read_news();
            }
        }
    }

    /// What is to be remembered, if that is another than before.
    fn news_to_remember(&mut self) -> Option<Remembered> {
        let memory = self.model.to_remember();
        let is_typing = matches!(self.model.overlay, Overlay::Filter { .. });
        let remembered = self.remembered.as_mut().filter(|_| !is_typing)?;
        remembered.note(memory).then(|| remembered.clone())
    }

    fn on_events(&mut self, events: Option<Vec<io::Result<Event>>>) -> Result<(), RunError> {
        let events = events.ok_or_else(|| fault("its input has ended"))?;
        let events = events.into_iter().collect::<io::Result<_>>().map_err(fault)?;
        for event in self.bursts.sort(events, self.clock.now().mono) {
            self.on_event(event);
        }
        Ok(())
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Key(key) => self.take(Msg::Key(key)),
            Event::Paste(text) => self.take(Msg::Paste(text)),
            Event::Mouse(mouse) => self.take(Msg::Mouse(mouse)),
            Event::Resize(columns, rows) => self.take(Msg::Resize(columns, rows)),
            Event::FocusGained => (self.outward.focused, self.dirty) = (true, true),
            Event::FocusLost => self.outward.focused = false,
        }
    }

    fn take(&mut self, message: Msg) {
        match &message {
            Msg::News(heard) => {
                (self.reading, self.read_again) = (false, false);
                if heard.news.more {
                    self.read_news();
                }
            }
            Msg::NotRead(_) => (self.reading, self.read_again) = (false, true),
            Msg::Page(_) => self.paged(),
            Msg::Counted(_) => self.counted(),
            _ => {}
        }
        let message = match message {
            Msg::CopyByTerminal(text) => self.copy_by_terminal(text),
            message => message,
        };
        self.dirty = true;
        let trouble = self.store.trouble().map(|trouble| trouble.to_string());
        if trouble != self.model.trouble {
            update(&mut self.model, Msg::Trouble(trouble), self.clock.now());
        }
        for effect in update(&mut self.model, message, self.clock.now()) {
            self.perform(effect);
        }
        self.read_page_if_due(self.clock.now().mono);
        self.count_if_due(self.clock.now().mono);
    }

    fn perform(&mut self, effect: Effect) {
        let at = self.clock.now().wall;
        let store = self.store.clone();
        let profile = self.model.setting.profile.clone();
        match effect {
            Effect::Quit => self.quit = true,
            Effect::Copy(text) => self.copy(text),
            Effect::Open(link) => self.open(link),
            Effect::Suspend => self.want_suspension(),
            Effect::Redraw => (self.redraw, self.dirty) = (true, true),
            Effect::Import(batch) => self.spawn(move || {
                Msg::Imported(store.import(&profile, batch, at).wait().map_err(|error| error.to_string()))
            }),
            Effect::PollNow(rows) => self.spawn(move || match store.request_poll(rows, at).wait() {
                Ok(()) => Msg::Tick,
                Err(error) => Msg::Fault(error.to_string()),
            }),
            Effect::Pause(minutes) => {
                let until = minutes.map(|minutes| at + TimeDelta::minutes(minutes));
                self.spawn(move || told(commands::pause(&store, &profile, until)));
            }
            Effect::Work(work) => self.work(work, at),
            Effect::Delete(rows) => self.spawn(move || told(commands::delete(&store, rows, at))),
            Effect::TakeBack => self.spawn(move || told(commands::take_back(&store, &profile, at))),
            Effect::DoAgain => self.spawn(move || told(commands::do_again(&store, &profile, at))),
            Effect::LoadHistory(row) => self.read(&self.details.clone(), move |reader| {
                look::history(reader, row).map(|read| Msg::History(row, Box::new(read)))
            }),
            Effect::LoadBody(row) => self.read(&self.details.clone(), move |reader| {
                look::body(reader, row).map(|read| Msg::Body(row, Box::new(read)))
            }),
            Effect::LoadPage(request) => self.want_page(request),
            Effect::Count => self.counting.wanted = true,
            Effect::FindAlert { row, forwards } => {
                let filter = self.model.list.listed();
                self.read(&self.details.clone(), move |reader| {
                    look::alert(reader, (&filter, at), (row, forwards)).map(Msg::FoundAlert)
                });
            }
            Effect::LoadAlerts => {
                let reader = self.details.clone();
                self.spawn(move || {
                    Msg::Alerts(reader.read(|reader| look::alert_page(reader, at)).map_err(|error| error.to_string()))
                });
            }
            Effect::LoadStatistics => self.read_statistics(profile),
            Effect::LoadLog(known) => self.read_log(known),
            Effect::FindMarks(wanted) => {
                let filter = self.model.list.listed();
                self.read(&self.details.clone(), move |reader| {
                    look::marks(reader, (&filter, at), wanted).map(Msg::FoundMarks)
                });
            }
            Effect::FindKnown(hashes) => {
                self.read(&self.details.clone(), move |reader| look::known(reader, &profile, &hashes).map(Msg::Known))
            }
            Effect::Quote(work) => self.quote(work, at),
            Effect::LookAt(open) => self.look_at(open, at),
        }
    }

    /// Tells whoever polls what this person has open.
    fn look_at(&self, open: Option<RowId>, at: DateTime<Utc>) {
        let until = at + self.clock.on_the_wall(ATTENTION);
        let viewer = self.model.setting.process;
        self.store.look_at(viewer, open.map(|row| (row, until)), at).detach();
    }

    /// Does what takes as long as the disk does, on the pool, and hands it back with what became of it.
    fn work(&mut self, work: Work, at: DateTime<Utc>) {
        let (store, profile) = (self.store.clone(), self.model.setting.profile.clone());
        let (shown, zone, leaving) = (self.model.list.listed(), self.model.setting.zone, self.leaving.clone());
        let export = self.export;
        self.spawn(move || {
            let outcome = match work.clone() {
                Work::Edit(edit) => commands::edit(&store, &profile, edit, at),
                Work::Acknowledge { rows, note } => commands::acknowledge(&store, &profile, (rows, note), at),
                Work::Snooze { rows, length } => commands::snooze(&store, &profile, (rows, length.from(at)), at),
                Work::SnoozeAlert { alert, length } => {
                    let edit = Edit::Snooze { alerts: vec![alert], until: length.from(at) };
                    commands::edit(&store, &profile, edit, at)
                }
                Work::Export { file, rows } => {
                    let all = || store.reader()?.listing(&shown, at).all();
                    let written = rows.map_or_else(all, Ok).map(|rows| {
                        export(&store, &ExportOrder { file, rows, now: at, zone, leaving })
                            .map_err(|reason| format!("Nothing was written: {reason}"))
                    });
                    return Msg::Worked(work, written.unwrap_or_else(|error| Err(error.to_string())));
                }
            };
            Msg::Worked(work, outcome.map_err(|error| error.to_string()))
        });
    }

    /// Does blocking work on the pool; what it returns comes back as a message.
    fn spawn(&mut self, work: impl FnOnce() -> Msg + Send + 'static) {
        self.tasks.spawn_blocking(work);
    }

    /// Reads the store on the pool; what fails is said.
    fn read(&mut self, reader: &SharedReader, work: impl FnOnce(&Reader) -> Result<Msg, StoreError> + Send + 'static) {
        let reader = reader.clone();
        self.spawn(move || reader.read(work).unwrap_or_else(|error| Msg::Fault(error.to_string())));
    }

    fn want_page(&mut self, request: PageRequest) {
        // Nobody waits any more for what another filter would have shown.
        let is_other = |reading: &(u64, Mono)| reading.0 != request.view;
        if self.paging.as_ref().is_some_and(is_other) {
            self.pages.call_off();
        }
        if self.counting.began.is_some_and(|(_, view)| view != request.view) {
            self.numbers.call_off();
        }
        self.next_page = Some(request);
    }

    /// When the next part may be read.
    fn page_due(&self) -> Option<Mono> {
        let request = self.next_page.as_ref().filter(|_| self.paging.is_none())?;
        let (view, rest) = self.page_rest;
        Some(if view == request.view { rest } else { Mono::default() })
    }

    fn read_page_if_due(&mut self, now: Mono) {
        if self.page_due().is_some_and(|due| due <= now)
            && let Some(next) = self.next_page.take()
        {
            self.read_page(next);
        }
    }

    fn paged(&mut self) {
        let now = self.clock.now().mono;
        let Some((view, began)) = self.paging.take() else { return };
        let cost = now.since(began);
        self.page_rest = (view, if cost > NOTICED { now + cost * PAGING } else { now });
    }

    fn read_page(&mut self, request: PageRequest) {
        self.paging = Some((request.view, self.clock.now().mono));
        let now = self.clock.now().wall;
        let pages = self.pages.clone();
        self.spawn(move || {
            let page = pages.read(|reader| look::page(reader, &request, now));
            Msg::Page(Box::new((request, page.map_err(|error| error.to_string()))))
        });
    }

    fn count_if_due(&mut self, now: Mono) {
        let Counting { wanted: true, began: None, next } = self.counting else { return };
        if now < next {
            return;
        }
        (self.counting.wanted, self.counting.began) = (false, Some((now, self.model.list.view())));
        let (wall, list) = (self.clock.now().wall, &self.model.list);
        let (listed, view, first) = (list.listed(), list.view(), list.part.rows.first().copied());
        let numbers = self.numbers.clone();
        self.spawn(move || {
            let overview = numbers.read(|reader| look::overview(reader, (&listed, wall), (view, first)));
            Msg::Counted(Box::new((view, overview.map_err(|error| error.to_string()))))
        });
    }

    fn counted(&mut self) {
        let now = self.clock.now().mono;
        let cost = self.counting.began.take().map_or(Duration::ZERO, |(began, _)| now.since(began));
        self.counting.next = now + cost * COUNTING;
    }

    fn read_news(&mut self) {
        self.reading = true;
        let (follower, profile) = (self.follower.clone(), self.model.setting.profile.clone());
        let store = self.store.clone();
        self.spawn(move || {
            let heard = || {
                let heard = follower.read(|reader| {
                    Ok(Heard {
                        poller: reader.poller(&profile)?,
                        profile_alerts: reader.profile_alerts()?,
                        oldest_answer: reader.oldest_answer(&profile)?,
                        ..Heard::default()
                    })
                })?;
                // The news last: read, they don't come again.
                Ok::<_, StoreError>(Heard { news: follower.news()?, ..heard })
            };
            match heard() {
                Ok(heard) => Msg::News(Box::new(heard)),
                Err(error) => {
                    store.note(&error);
                    Msg::NotRead(error.to_string())
                }
            }
        });
    }
}
