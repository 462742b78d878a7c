//! The dashboard's loop: applies messages, performs effects, and draws. Generic over backend and input, so that tests
//! drive the real loop.
//!
//! The loop draws at most 30 frames a second, after changes only, and once a second to update ages. While the keyboard
//! is idle, it draws once a second at most. The loop must never wait for the disk or the network: the pool for blocking
//! work reads and writes the store.

mod dashboard;
mod edits;
mod frame_pacer;
mod log_tail;
mod outward;
mod queries;
mod read_tasks;
mod shown_theme;
mod write_tasks;

use std::{io, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use crossterm::event::Event;
use futures_util::{Stream, StreamExt};
use ratatui::{Terminal, backend::Backend, layout::Size};
use tokio::task::JoinSet;

pub use self::{dashboard::RunError, log_tail::LogSource};
use self::{
    dashboard::{ChangeRead, Dashboard, SystemState, terminal_error},
    frame_pacer::{CountPacer, FrameCause, FramePacer},
};
use super::{
    burst::{BurstDetector, SortedInput},
    effect::Effect,
    export::{CancelFlag, ExportFunction},
    input::AT_ONCE,
    message::Msg,
    model::{DashboardSettings, MessageTone, Model},
    step::{mouse_message, step},
    system::{
        System,
        suspension::{SuspendScope, Suspension},
    },
    terminal::drawn_size,
    theme::Theme,
    view::view,
    view_state_file::ViewStateFile,
};
use crate::{
    clock::{Clock, MonotonicTime, Now},
    domain::operation::Operation,
    store::{FeedReader, SharedReader, Store, WakeKind},
};

/// The interval between two ticks, which update the clock and the ages on screen.
const TICK: Duration = Duration::from_secs(1);

/// The inputs of the loop.
pub struct DashboardInputs {
    /// The store that the dashboard shows and writes to.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// The settings, which stay the same while the loop runs.
    pub setting: DashboardSettings,
    /// The theme of the settings.
    pub theme: Theme,
    /// Clipboard, browser, terminal and suspension.
    pub system: System,
    /// The file that stores the view state between two starts, if there is one.
    pub view_state_path: Option<PathBuf>,
    /// The log file, if there is one.
    pub log: Option<LogSource>,
    /// The function that writes transactions to a new file.
    pub export: ExportFunction,
}

/// Runs the dashboard until a person quits or `stop` resolves. Returns the value of `stop`, or `None` after a quit.
pub async fn run<B: Backend, S>(
    terminal: &mut Terminal<B>,
    input: impl Stream<Item = io::Result<Event>>,
    parts: DashboardInputs,
    stop: impl Future<Output = S>,
) -> Result<Option<S>, RunError> {
    let (mut input, mut stop) = (pin!(input.ready_chunks(AT_ONCE)), pin!(stop));
    let mut dashboard = Dashboard::start(terminal, parts)?;
    loop {
        let now = dashboard.clock.now();
        dashboard.draw_if_due(terminal, now)?;
        let wake = dashboard.next_wakeup();
        let clock = dashboard.clock.clone();
        tokio::select! {
            biased;
            stopped = &mut stop => return Ok(Some(stopped)),
            Some(message) = dashboard.tasks.join_next() => dashboard.handle_message(message?),
            events = input.next() => dashboard.on_events(events)?,
            _ = dashboard.commits.changed(), if dashboard.reads_immediately() => dashboard.read_changes(),
            () = Suspension::suspension_requested(&mut dashboard.system_state.system.suspension) => dashboard.system_state.suspend = Some(SuspendScope::Process),
            () = clock.sleep_until(wake) => dashboard.on_timer(),
        }
        if dashboard.should_quit {
            return Ok(None);
        }
        if let Some(scope) = dashboard.system_state.suspend.take() {
            tokio::select! {
                biased;
                stopped = &mut stop => return Ok(Some(stopped)),
                resumed = dashboard.suspend(terminal, scope) => resumed?,
            }
        }
        if std::mem::take(&mut dashboard.needs_redraw) {
            // `clear` would ask the terminal for the cursor's position, wait for the reply, and fail without one.
            let size = drawn_size(terminal.size().map_err(terminal_error)?);
            terminal.resize(size.into()).map_err(terminal_error)?;
        }
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.changed_view_state().iter().for_each(ViewStateFile::write);
        // The runtime waits for reads and writes in progress, so they are cancelled.
        self.cancel_flag.cancel();
        [&self.pages, &self.numbers, &self.details, &self.charts].into_iter().for_each(SharedReader::cancel);
    }
}

impl Dashboard {
    fn start<B: Backend>(terminal: &mut Terminal<B>, parts: DashboardInputs) -> Result<Self, RunError> {
        let DashboardInputs { store, clock, setting, theme, system, export, view_state_path, log } = parts;
        let size = drawn_size(terminal.size().map_err(terminal_error)?);
        // The size may have changed since the terminal was taken over.
        terminal.resize(size.into()).map_err(terminal_error)?;
        let view_state_file = view_state_path.map(ViewStateFile::read);
        let team = store.team();
        let mut model = Model::new(setting, (size.width, size.height));
        model.team = team.as_ref().map(|team| team.borrow().clone());
        model.configured_theme = theme.display().color.then(|| theme.name().to_owned());
        let mut dashboard = Self {
            model,
            theme,
            burst_detector: BurstDetector::new(system.has_brackets),
            system_state: SystemState::new(system),
            export,
            cancel_flag: CancelFlag::default(),
            team,
            feed_reader: FeedReader::new(store.reader()?),
            pages: SharedReader::new(store.reader()?),
            numbers: SharedReader::new(store.reader()?),
            details: SharedReader::new(store.reader()?),
            charts: SharedReader::new(store.reader()?),
            log,
            commits: store.subscribe(WakeKind::AnyCommit)?,
            store,
            tasks: JoinSet::new(),
            undo_turn: Arc::default(),
            change_read: ChangeRead::Idle,
            paging: None,
            next_page: None,
            full_read_at: None,
            page_pause: (0, MonotonicTime::default()),
            counting: CountPacer::default(),
            view_state_file,
            pace: FramePacer::default(),
            needs_redraw: false,
            should_quit: false,
            next_tick: clock.now().mono + TICK,
            clock,
        };
        if let Some(view_state_file) = &dashboard.view_state_file {
            dashboard.model.restore_view_state(view_state_file.view_state());
        }
        if let Some(notice) = dashboard.store.notice() {
            dashboard.model.show_message(MessageTone::Bad, notice, dashboard.clock.now().mono);
        }
        dashboard.read_changes();
        Ok(dashboard)
    }

    fn draw_if_due<B: Backend>(&mut self, terminal: &mut Terminal<B>, now: Now) -> Result<(), RunError> {
        if self.pace.due(self.system_state.is_focused).is_some_and(|due| due <= now.mono) {
            self.update_terminal(now.mono)?;
            self.draw_synchronized::<B>(|| {
                let theme = shown_theme::shown(&self.theme, &self.model);
                terminal.draw(|frame| view(&self.model, &theme, now, frame)).map(drop)
            })?;
            self.pace.record_frame(now.mono);
            if self.model.is_loaded
                && let Some(first_rows) = self.system_state.system.first_rows.take()
            {
                // The receiver may be gone.
                first_rows.send(()).ok();
            }
        }
        Ok(())
    }

    fn next_wakeup(&self) -> MonotonicTime {
        let frame = self.pace.due(self.system_state.is_focused);
        let count = self.counting.due(self.pace.is_active());
        [frame, count, self.page_due()].into_iter().flatten().fold(self.next_tick, Ord::min)
    }

    fn on_timer(&mut self) {
        let now = self.clock.now();
        self.read_page_if_due(now.mono);
        self.count_if_due(now.mono);
        if now.mono >= self.next_tick {
            self.next_tick = now.mono + TICK;
            // A read that starts now requests the frame itself when it ends. Work that runs since the last tick may
            // take long, so then the tick requests the frame.
            let goes_on = !self.tasks.is_empty();
            if !self.read_if_postponed() || goes_on {
                self.pace.request(FrameCause::Data);
            }
            self.apply_message(Msg::Tick);
            if let Some(view_state_file) = self.changed_view_state() {
                self.tasks.spawn_blocking(move || {
                    view_state_file.write();
                    Msg::Tick
                });
            }
        }
    }

    /// Notes the view state, and returns it for saving if it changed.
    fn changed_view_state(&mut self) -> Option<ViewStateFile> {
        let view_state = self.model.view_state_to_save();
        let view_state_file = self.view_state_file.as_mut()?;
        view_state_file.replace(view_state).then(|| view_state_file.clone())
    }

    fn on_events(&mut self, events: Option<Vec<io::Result<Event>>>) -> Result<(), RunError> {
        let events = events.ok_or_else(|| terminal_error("its input has ended"))?;
        let events = events.into_iter().collect::<io::Result<_>>().map_err(terminal_error)?;
        for arrived in self.burst_detector.sort_events(events, self.model.dialog.takes_text(), self.clock.now().mono) {
            self.pace.request(FrameCause::Input);
            // After a pause the person must see the present state.
            self.read_if_postponed();
            match arrived {
                SortedInput::Event(event) => self.on_event(event),
                SortedInput::Burst(text) => self.handle_message(Msg::Burst(text)),
            }
        }
        Ok(())
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Key(key) => self.handle_message(Msg::Key(key)),
            Event::Paste(text) => self.handle_message(Msg::Paste(text)),
            Event::Mouse(mouse) => {
                if let Some(message) = mouse_message(&self.model, mouse, self.clock.now()) {
                    self.handle_message(message);
                }
            }
            Event::Resize(columns, rows) => {
                // Also if the size is unchanged: the terminal may have had another size in between, and lost the
                // content.
                self.needs_redraw = true;
                let size = drawn_size(Size::new(columns, rows));
                self.handle_message(Msg::Resize(size.width, size.height));
            }
            Event::FocusGained => self.system_state.set_focus(true),
            Event::FocusLost => self.system_state.set_focus(false),
        }
    }

    fn handle_message(&mut self, mut message: Msg) {
        match &mut message {
            Msg::StoreChanged(update) => {
                self.change_read = ChangeRead::Idle;
                if update.feed.has_more {
                    self.read_changes();
                }
            }
            Msg::NotRead(_) => self.change_read = ChangeRead::RetryAtTick,
            Msg::Page(_) => self.finish_page(),
            Msg::Counted(_) => self.finish_count(),
            Msg::CopyByTerminal(text) => {
                let text = std::mem::take(text);
                message = self.copy_by_terminal(text);
            }
            // The loop does nothing of its own for these.
            Msg::Key(_)
            | Msg::Paste(_)
            | Msg::Burst(_)
            | Msg::Click(_)
            | Msg::Wheel(..)
            | Msg::Resize(..)
            | Msg::StoreFault(_)
            | Msg::Team(..)
            | Msg::History(..)
            | Msg::Body(..)
            | Msg::ForTexts(..)
            | Msg::FoundAlert(_)
            | Msg::Alerts(_)
            | Msg::Statistics(_)
            | Msg::Log(_)
            | Msg::FoundMarks(_)
            | Msg::Known(_)
            | Msg::FoundLogged(_)
            | Msg::Names(_)
            | Msg::QuoteAsked(..)
            | Msg::QuoteRead(..)
            | Msg::Imported(_)
            | Msg::Copied { .. }
            | Msg::NotOpened { .. }
            | Msg::Written(..)
            | Msg::UndoesImport(_)
            | Msg::Done(_)
            | Msg::Failed(_)
            | Msg::Tick => {}
        }
        self.apply_message(message);
        // While the keyboard is idle, one frame shows all results of a second's reads.
        if self.pace.is_active() || self.tasks.is_empty() {
            self.pace.request(FrameCause::Data);
        }
    }

    /// Applies a message without requesting a frame, and performs the effects.
    fn apply_message(&mut self, message: Msg) {
        let store_fault = self.store.fault().map(|store_fault| store_fault.to_string());
        if store_fault != self.model.store_fault {
            self.step(Msg::StoreFault(store_fault));
        }
        if let Some(team) = self.team.as_mut().filter(|team| team.has_changed().unwrap_or(false)) {
            let status = Box::new(team.borrow_and_update().clone());
            self.step(Msg::Team(status, self.store.author()));
        }
        self.step(message);
        self.read_page_if_due(self.clock.now().mono);
        self.count_if_due(self.clock.now().mono);
    }

    fn step(&mut self, message: Msg) {
        for effect in step(&mut self.model, message, self.clock.now()) {
            self.perform_effect(effect);
        }
    }

    fn perform_effect(&mut self, effect: Effect) {
        let at = self.clock.now().wall;
        match effect {
            Effect::Quit => self.should_quit = true,
            Effect::NotifyDesktop(raised) => self.system_state.notifications.queue(raised),
            Effect::Copy(text) => self.copy(text),
            Effect::Open(link) => self.open(link),
            Effect::Suspend => self.request_suspension(),
            Effect::Redraw => self.needs_redraw = true,
            Effect::Import(batch) => self.import(batch, at),
            Effect::PollNow(rows) => self.request(rows, at, |transactions| Operation::RequestPoll { transactions }),
            Effect::AskChain(rows) => {
                self.request(rows, at, |transactions| Operation::RequestChainCheck { transactions })
            }
            Effect::Pause(minutes) => self.edit(at, move |context| edits::pause(context, minutes)),
            Effect::Write(write) => self.write(write, at),
            Effect::Delete(rows) => self.edit(at, move |context| edits::delete(context, &rows)),
            Effect::Undo { confirmed } => self.undo(at, confirmed),
            Effect::Redo => self.edit(at, edits::redo),
            Effect::Quote(work) => self.quote(work, at),
            Effect::MarkOpen(open) => self.mark_open(open, at),
            Effect::LoadHistory(row) => {
                self.query(move |reader| Ok(Msg::History(row, Box::new(queries::history(reader, row)?))));
            }
            Effect::LoadBody(row) => {
                let (reader, store) = (self.details.clone(), self.store.clone());
                self.spawn_fallible(move || Ok(Msg::Body(row, Box::new(queries::body(&reader, &store, row)?))));
            }
            Effect::LoadForTexts(rows, wanted) => {
                self.query(move |reader| Ok(Msg::ForTexts(queries::transactions(reader, &rows)?, wanted)));
            }
            Effect::LoadPage(request) => self.request_page(request),
            Effect::Count => self.counting.is_requested = true,
            Effect::FindAlert { row, direction } => {
                let filter = self.model.list.combined_filter();
                self.query(move |reader| queries::alert(reader, &filter, at, row, direction).map(Msg::FoundAlert));
            }
            Effect::LoadAlerts => self.load_alerts(at),
            Effect::LoadStatistics(range) => self.load_statistics(range),
            Effect::LoadLog(known) => self.load_log(known),
            Effect::FindMarks(rows) => {
                let filter = self.model.list.combined_filter();
                self.query(move |reader| queries::marks(reader, &filter, at, rows).map(Msg::FoundMarks));
            }
            Effect::FindNames(of, beginning) => {
                self.query(move |reader| queries::names(reader, of, beginning).map(Msg::Names));
            }
            Effect::FindKnown(hashes) => {
                let profile = self.model.setting.profile.clone();
                self.query(move |reader| queries::known(reader, &profile, &hashes).map(Msg::Known));
            }
            Effect::FindLogged(hash) => {
                let profile = self.model.setting.profile.clone();
                self.query(move |reader| queries::one_known(reader, &profile, &hash).map(Msg::FoundLogged));
            }
        }
    }
}
