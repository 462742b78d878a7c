//! The state of the loop: the model, the store's readers, and the work in progress.
//!
//! Data only: the neighbouring files perform the effects.

use std::sync::{Arc, Mutex};

use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
};

use super::{
    frame_pacer::{CountPacer, FramePacer},
    log_tail::LogSource,
};
use crate::{
    clock::{Clock, MonotonicTime},
    domain::team::TeamStatus,
    store::{FeedReader, SharedReader, Store, StoreError},
    tui::{
        burst::BurstDetector,
        export::{CancelFlag, ExportFunction},
        message::Msg,
        model::Model,
        screens::list::state::PageRequest,
        system::{System, notification::DesktopNotifications, suspension::SuspendScope},
        terminal::TerminalRequest,
        theme::Theme,
        view_state_file::ViewStateFile,
    },
};

/// Why the loop ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The terminal failed, or no longer exists.
    #[error("the terminal failed: {0}")]
    Terminal(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A task panicked.
    #[error("a task of the dashboard failed: {0}")]
    Task(#[from] JoinError),
}

pub(super) fn terminal_error(error: impl std::fmt::Display) -> RunError {
    RunError::Terminal(error.to_string())
}

/// The read of changes. Only one runs at a time; the next includes later changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeRead {
    /// No read is running.
    Idle,
    Running,
    /// The last read failed; the next tick repeats it.
    RetryAtTick,
}

/// The state of the loop.
pub(super) struct Dashboard {
    pub(super) model: Model,
    /// The theme of the settings.
    pub(super) theme: Theme,
    pub(super) system_state: SystemState,
    pub(super) burst_detector: BurstDetector,
    pub(super) export: ExportFunction,
    pub(super) cancel_flag: CancelFlag,
    pub(super) clock: Clock,
    pub(super) store: Store,
    /// The state of the team's store; `None` for a store of one machine.
    pub(super) team: Option<watch::Receiver<TeamStatus>>,
    pub(super) feed_reader: FeedReader,
    /// Separate readers for pages, counts and single transactions, so that none waits for another.
    pub(super) pages: SharedReader,
    pub(super) numbers: SharedReader,
    pub(super) details: SharedReader,
    /// The reader for the charts, which reads all transactions.
    pub(super) charts: SharedReader,
    pub(super) log: Option<LogSource>,
    pub(super) commits: watch::Receiver<u64>,
    /// Blocking tasks; each returns a message. A panic in a task ends the loop.
    pub(super) tasks: JoinSet<Msg>,
    /// Held by the undo that is under way, so that the next one waits.
    pub(super) undo_turn: Arc<Mutex<()>>,
    pub(super) change_read: ChangeRead,
    /// The view whose page is being read, and when the read began.
    pub(super) paging: Option<(u64, MonotonicTime)>,
    pub(super) next_page: Option<PageRequest>,
    /// When a page was last read with all its rows.
    pub(super) full_read_at: Option<MonotonicTime>,
    /// A view, and when its list may be read again.
    pub(super) page_pause: (u64, MonotonicTime),
    pub(super) counting: CountPacer,
    /// The view state for the next start.
    pub(super) view_state_file: Option<ViewStateFile>,
    pub(super) pace: FramePacer,
    pub(super) needs_redraw: bool,
    pub(super) should_quit: bool,
    pub(super) next_tick: MonotonicTime,
}

/// The system outside the screen: its state as last set, and pending requests.
pub(super) struct SystemState {
    pub(super) system: System,
    /// Whether the terminal has the focus, as last reported.
    pub(super) is_focused: bool,
    /// Whether the terminal reports focus, as far as known.
    pub(super) reports_focus: bool,
    pub(super) notifications: DesktopNotifications,
    /// The requested suspension.
    pub(super) suspend: Option<SuspendScope>,
    pub(super) title: String,
    pub(super) has_mouse: bool,
}

impl SystemState {
    pub(super) fn new(system: System) -> Self {
        Self {
            is_focused: true,
            reports_focus: system.notifications.reports_focus,
            system,
            notifications: DesktopNotifications::default(),
            suspend: None,
            title: String::new(),
            has_mouse: false,
        }
    }

    /// Applies the terminal's focus report.
    pub(super) fn set_focus(&mut self, is_focused: bool) {
        (self.is_focused, self.reports_focus) = (is_focused, true);
    }

    pub(super) fn request_terminal(&self, request: TerminalRequest<'_>) -> Result<(), RunError> {
        (self.system.terminal)(request).map_err(terminal_error)
    }
}
