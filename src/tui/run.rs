//! The loop: messages in, effects out, a frame when something changed. Generic over backend and input, so that a test
//! drives the real one.
//!
//! It draws at most 30 times a second and only when something changed, ages once a second, and nothing else in between while
//! nobody is at the keyboard. It must never wait for the disk or the network: reading and writing the store happens on the
//! pool for blocking work.

mod outward;
mod pace;
mod reading;
mod theme_state;
mod writing;

use std::{io, path::PathBuf, pin::pin, time::Duration};

use crossterm::event::Event;
use futures_util::{Stream, StreamExt};
use ratatui::{Terminal, backend::Backend};
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
};

use self::{
    outward::Outward,
    pace::{Cause, Pace},
    reading::Counting,
    theme_state::ThemeState,
};
use super::{
    burst::{Arrived, Bursts},
    effect::Effect,
    export::{Export, Leaving},
    input::AT_ONCE,
    model::{Model, Overlay, Setting, Tone, list::PageRequest},
    outside::{Outside, suspension::Suspension},
    remember::Remembered,
    step::{mouse_message, step},
    theme::Theme,
    update::Msg,
    view::view,
    writes,
};
use crate::{
    clock::{Clock, Mono, Now},
    store::{FeedReader, SharedReader, Store, StoreError, Wake},
};

/// Between two looks at the clock on screen.
const SECOND: Duration = Duration::from_secs(1);

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
        let wake = dashboard.wake();
        let clock = dashboard.clock.clone();
        tokio::select! {
            biased;
            stopped = &mut stop => return Ok(Some(stopped)),
            Some(message) = dashboard.tasks.join_next() => dashboard.take(message?),
            events = input.next() => dashboard.on_events(events)?,
            _ = dashboard.commits.changed(), if dashboard.reads_at_once() => dashboard.read_news(),
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

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.news_to_remember().iter().for_each(Remembered::write);
        // The runtime waits for what is being read and written; nobody else does any more.
        self.leaving.leave();
        [&self.pages, &self.numbers, &self.details, &self.charts].into_iter().for_each(SharedReader::cancel);
    }
}

fn fault(error: impl std::fmt::Display) -> RunError {
    RunError::Terminal(error.to_string())
}

struct Dashboard {
    model: Model,
    theme_state: ThemeState,
    outward: Outward,
    bursts: Bursts,
    export: Export,
    leaving: Leaving,
    clock: Clock,
    store: Store,
    follower: FeedReader,
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
    /// Whether the next second reads: the last reading failed.
    read_again: bool,
    /// The view of which a part is being read, if one is, and what is to be read after it.
    paging: Option<(u64, Mono)>,
    next_page: Option<PageRequest>,
    /// When a part of the list was last read whole.
    read_whole: Option<Mono>,
    /// Until when the list isn't read again for the same view.
    page_rest: (u64, Mono),
    counting: Counting,
    /// How the person left it the last time.
    remembered: Option<Remembered>,
    pace: Pace,
    redraw: bool,
    quit: bool,
    next_tick: Mono,
}

impl Dashboard {
    fn start<B: Backend>(terminal: &Terminal<B>, parts: Parts) -> Result<Self, RunError> {
        let Parts { store, clock, setting, theme, outside, export, memory, log } = parts;
        let size = terminal.size().map_err(fault)?;
        let remembered = memory.map(Remembered::read);
        let chosen = remembered.as_ref().and_then(|remembered| remembered.memory().theme.as_ref());
        let mut dashboard = Self {
            model: Model::new(setting, (size.width, size.height)),
            theme_state: ThemeState::new(theme, chosen),
            outward: Outward::new(outside),
            bursts: Bursts::default(),
            export,
            leaving: Leaving::default(),
            follower: FeedReader::new(store.reader()?),
            pages: SharedReader::new(store.reader()?),
            numbers: SharedReader::new(store.reader()?),
            details: SharedReader::new(store.reader()?),
            charts: SharedReader::new(store.reader()?),
            log,
            commits: store.subscribe(Wake::AnyCommit)?,
            store,
            tasks: JoinSet::new(),
            reading: false,
            read_again: false,
            paging: None,
            next_page: None,
            read_whole: None,
            page_rest: (0, Mono::default()),
            counting: Counting::default(),
            remembered,
            pace: Pace::default(),
            redraw: false,
            quit: false,
            next_tick: clock.now().mono + SECOND,
            clock,
        };
        if let Some(remembered) = &dashboard.remembered {
            dashboard.model.remember(remembered.memory().clone());
        }
        if let Some(notice) = dashboard.store.notice() {
            dashboard.model.notify(Tone::Bad, notice, dashboard.clock.now().mono);
        }
        dashboard.read_news();
        Ok(dashboard)
    }

    fn draw_if_due<B: Backend>(&mut self, terminal: &mut Terminal<B>, now: Now) -> Result<(), RunError> {
        if self.pace.due(self.outward.focused).is_some_and(|due| due <= now.mono) {
            self.tell_terminal(now.mono)?;
            self.draw_whole::<B>(|| {
                terminal.draw(|frame| view(&self.model, &self.theme_state.worn, now, frame)).map(drop)
            })?;
            self.pace.drew(now.mono);
            if self.model.loaded
                && let Some(first_rows) = self.outward.outside.first_rows.take()
            {
                // Nobody may be waiting for it.
                first_rows.send(()).ok();
            }
        }
        Ok(())
    }

    fn wake(&self) -> Mono {
        let frame = self.pace.due(self.outward.focused).unwrap_or(self.next_tick);
        let counting = self.counting.due(self.pace.is_attended()).unwrap_or(self.next_tick);
        let wake = self.next_tick.min(frame).min(counting);
        self.page_due().map_or(wake, |due| wake.min(due))
    }

    fn on_time(&mut self) {
        let now = self.clock.now();
        self.read_page_if_due(now.mono);
        self.count_if_due(now.mono);
        if now.mono >= self.next_tick {
            self.next_tick = now.mono + SECOND;
            // The second's frame shows what a reading brings that begins now, unless something is under way since the last
            // second, which may take long.
            let goes_on = !self.tasks.is_empty();
            if !self.read_if_wanted() || goes_on {
                self.pace.want(Cause::News);
            }
            self.take_in(Msg::Tick);
            if let Some(remembered) = self.news_to_remember() {
                self.tasks.spawn_blocking(move || {
                    remembered.write();
                    Msg::Tick
                });
            }
        }
    }

    /// What is to be remembered, if that is another than before.
    fn news_to_remember(&mut self) -> Option<Remembered> {
        let memory = self.model.to_remember();
        let is_typing = matches!(self.model.overlay, Overlay::Filter(_));
        let remembered = self.remembered.as_mut().filter(|_| !is_typing)?;
        remembered.note(memory).then(|| remembered.clone())
    }

    fn on_events(&mut self, events: Option<Vec<io::Result<Event>>>) -> Result<(), RunError> {
        let events = events.ok_or_else(|| fault("its input has ended"))?;
        let events = events.into_iter().collect::<io::Result<_>>().map_err(fault)?;
        for arrived in self.bursts.sort(events, self.model.overlay.takes_text(), self.clock.now().mono) {
            self.pace.want(Cause::Person);
            // Who comes back sees what is, not what was.
            self.read_if_wanted();
            match arrived {
                Arrived::Event(event) => self.on_event(event),
                Arrived::Burst(text) => self.take(Msg::Burst(text)),
            }
        }
        Ok(())
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Key(key) => self.take(Msg::Key(key)),
            Event::Paste(text) => self.take(Msg::Paste(text)),
            Event::Mouse(mouse) => {
                if let Some(message) = mouse_message(&self.model, mouse, self.clock.now()) {
                    self.take(message);
                }
            }
            Event::Resize(columns, rows) => {
                // Also to the size that it had: it may have been another in between, and have lost what was drawn.
                self.redraw = true;
                self.take(Msg::Resize(columns, rows));
            }
            Event::FocusGained => self.outward.focus(true),
            Event::FocusLost => self.outward.focus(false),
        }
    }

    fn take(&mut self, message: Msg) {
        match &message {
            Msg::News(heard) => {
                self.reading = false;
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
        self.take_in(message);
        // While nobody is at the keyboard one frame shows all that a second's reading brings.
        if self.pace.is_attended() || self.tasks.is_empty() {
            self.pace.want(Cause::News);
        }
    }

    /// Takes in a message that by itself wants no frame.
    fn take_in(&mut self, message: Msg) {
        let trouble = self.store.trouble().map(|trouble| trouble.to_string());
        if trouble != self.model.trouble {
            step(&mut self.model, Msg::Trouble(trouble), self.clock.now());
        }
        for effect in step(&mut self.model, message, self.clock.now()) {
            self.perform(effect);
        }
        self.read_page_if_due(self.clock.now().mono);
        self.count_if_due(self.clock.now().mono);
    }

    fn perform(&mut self, effect: Effect) {
        let at = self.clock.now().wall;
        match effect {
            Effect::Quit => self.quit = true,
            Effect::Notify(raised) => self.outward.raised(raised),
            Effect::Copy(text) => self.copy(text),
            Effect::Open(link) => self.open(link),
            Effect::SetTheme(wanted) => self.set_theme(wanted),
            Effect::Suspend => self.want_suspension(),
            Effect::Redraw => self.redraw = true,
            Effect::Import(batch) => self.import(batch, at),
            Effect::PollNow(rows) => self.poll_now(rows, at),
            Effect::Pause(minutes) => self.pause(minutes, at),
            Effect::Work(work) => self.work(work, at),
            Effect::Delete(rows) => self.delete(rows, at),
            Effect::TakeBack => self.write(at, writes::take_back),
            Effect::DoAgain => self.write(at, writes::do_again),
            Effect::Quote(work) => self.quote(work, at),
            Effect::LookAt(open) => self.look_at(open, at),
            Effect::LoadHistory(row) => self.load_history(row),
            Effect::LoadBody(row) => self.load_body(row),
            Effect::LoadPage(request) => self.want_page(request),
            Effect::Count => self.counting.wanted = true,
            Effect::FindAlert { row, forwards } => self.find_alert((row, forwards), at),
            Effect::LoadAlerts => self.load_alerts(at),
            Effect::LoadStatistics => self.load_statistics(),
            Effect::LoadLog(known) => self.load_log(known),
            Effect::FindMarks(wanted) => self.find_marks(wanted, at),
            Effect::FindNames(of, beginning) => self.find_names(of, beginning),
            Effect::FindKnown(hashes) => self.find_known(hashes),
        }
    }
}
