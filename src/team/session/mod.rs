//! A session with the team's store: takes the writes of this process to the log, and applies the log to the replica.
//!
//! Runs on its own thread, so that commands without a runtime can use it. It knows the order of the log and the result
//! of each write. It must never decide which machine polls, and never acknowledge a write that the replica hasn't
//! applied.

mod align;
mod append;
mod log_lock;
mod pending_append;
mod presence;
mod session_error;

use std::{collections::VecDeque, mem, path::PathBuf, thread, time::Duration};

use tokio::sync::{mpsc, watch};

use self::{
    log_lock::lock,
    pending_append::{BodyRequest, MAX_OPERATIONS, PendingAppend},
    session_error::SessionError,
};
use super::{
    connect::Connector,
    database::{DatabaseNotification, ECHO_LIMIT, Fence, MemberPresence, TeamDatabase},
    error::TeamError,
};
use crate::{
    clock::{Clock, MonotonicTime},
    domain::{
        ids::TransactionKey,
        team::{Nonce, TeamLink, TeamStatus},
    },
    process::lock::KernelLock,
    store::{AppliedEntries, LogEntries, LogQueue, Reader, Store, StoreError, StoreFault, Submission},
};

/// How long a write waits for a database that is away before it is refused: from its submission, or from the moment at
/// which the connection was lost.
const GRACE: Duration = Duration::from_secs(3);
/// The pause before the second try to connect, and the longest pause.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LAST_RETRY: Duration = Duration::from_secs(2);
/// How often the end of the log is read where notifications arrive, and where they don't.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
const CHECK_INTERVAL_WITHOUT_NOTIFICATIONS: Duration = Duration::from_secs(1);
/// The delay before members are read again.
const MEMBERS_PAUSE: Duration = Duration::from_millis(500);

/// The options of a session.
#[derive(Clone)]
pub struct SessionOptions {
    /// Opens connections to the database.
    pub connector: Connector,
    /// What this process says of itself.
    pub presence: MemberPresence,
    /// Whether the replica is light: it leaves the bodies of answers in the database.
    pub is_light: bool,
    /// The epoch of the lease under which this process polls; `None` for a process that never polls.
    pub fence: Option<watch::Receiver<Option<Fence>>>,
}

/// Makes an open store a replica of the team's log, and follows the log until the last handle is dropped.
///
/// # Errors
/// If the store can't be read, or no thread can be started.
pub fn start(store: Store, options: SessionOptions, clock: Clock) -> Result<Store, StoreError> {
    let (sender, queue) = mpsc::unbounded_channel();
    let (status, status_receiver) =
        watch::channel(TeamStatus { host: options.presence.host.clone(), ..TeamStatus::default() });
    let session = LogSession {
        reader: store.reader()?,
        lock_path: KernelLock::beside(store.path(), "log", "team"),
        store: store.clone(),
        options,
        clock,
        queue,
        has_ended: false,
        waiting: VecDeque::new(),
        body_requests: Vec::new(),
        status,
        members_due: MonotonicTime::default(),
        away_since: None,
        was_live: false,
        open: None,
        is_open_published: true,
        known_loads: None,
        publishing: None,
    };
    let thread = thread::Builder::new().name("store-team".into()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        match runtime {
            Ok(runtime) => runtime.block_on(session.run()),
            Err(error) => tracing::error!("the session with the team's store can't start: {error}"),
        }
    });
    Ok(store.with_log(LogQueue::new(sender, thread.map_err(StoreError::Thread)?, status_receiver)))
}

struct LogSession {
    /// The replica, without the log.
    store: Store,
    reader: Reader,
    /// The lock under which one process of the machine appends and applies, so that each gets the results of its
    /// writes.
    lock_path: PathBuf,
    options: SessionOptions,
    clock: Clock,
    queue: mpsc::UnboundedReceiver<Submission>,
    has_ended: bool,
    /// What waits to be appended, the oldest first.
    waiting: VecDeque<PendingAppend>,
    /// The bodies of answers to read from the log.
    body_requests: Vec<BodyRequest>,
    status: watch::Sender<TeamStatus>,
    members_due: MonotonicTime,
    /// Since when the log can't be followed or appended to, if so.
    away_since: Option<MonotonicTime>,
    /// Whether this process has followed the log before.
    was_live: bool,
    /// The transaction that this process has open.
    open: Option<TransactionKey>,
    is_open_published: bool,
    /// How often the replica's content was replaced by a snapshot, when that was read last.
    known_loads: Option<u64>,
    /// Writes a snapshot to the database.
    publishing: Option<thread::JoinHandle<()>>,
}

/// The state of one connection.
struct SessionConnection {
    /// When the snapshots are read again.
    snapshots_due: MonotonicTime,
    /// The last deletion for which a snapshot was begun or not needed.
    purged: u64,
    /// The number of operations in the log up to the newest snapshot.
    snapshot_operations: u64,
    database: TeamDatabase,
    team: Nonce,
    author: String,
    /// The number of the last entry that this process knows to be applied.
    applied: u64,
    next_check: MonotonicTime,
    check_interval: Duration,
    /// The newest entry that a notification named, and the newest one that a check found without a notification.
    announced: u64,
    unannounced: Option<u64>,
}

impl SessionConnection {
    /// Records the log's head. Behind a pooler in transaction mode only a process's own notifications may arrive. If no
    /// notification of this entry comes before the next check, frequent checks replace notifications.
    fn expect_notification_of(&mut self, head: u64, now: MonotonicTime) {
        if self.unannounced.is_some_and(|seq| seq > self.announced) {
            self.check_interval = CHECK_INTERVAL_WITHOUT_NOTIFICATIONS;
        }
        self.unannounced = (head > self.announced).then_some(head);
        if self.unannounced.is_some() {
            self.next_check = self.next_check.min(now + ECHO_LIMIT);
        }
    }
}

impl LogSession {
    async fn run(mut self) {
        let mut pause = FIRST_RETRY;
        loop {
            let connected = TeamDatabase::connect(&self.options.connector).await;
            let ended = match connected {
                Ok(database) => self.follow_log(database).await,
                Err(error) => Err(error.into()),
            };
            let Err(error) = ended else { return };
            if self.status.borrow().link == TeamLink::Live {
                pause = FIRST_RETRY;
            }
            self.report_disconnected(&error);
            if !self.wait(&error, pause).await {
                return;
            }
            pause = (pause * 2).min(LAST_RETRY);
        }
    }

    /// Follows the log on one connection; returns when no more writes can come and all are done.
    async fn follow_log(&mut self, database: TeamDatabase) -> Result<(), SessionError> {
        let info = database.connection_info().await?;
        database.listen().await?;
        database.notify_self().await?;
        let mut link = SessionConnection {
            snapshots_due: MonotonicTime::default(),
            purged: 0,
            database,
            team: info.team,
            author: info.author.clone(),
            applied: 0,
            snapshot_operations: u64::MAX,
            next_check: self.clock.now().mono + ECHO_LIMIT,
            check_interval: CHECK_INTERVAL_WITHOUT_NOTIFICATIONS,
            announced: 0,
            unannounced: None,
        };
        self.status.send_modify(|status| {
            (status.author, status.salt) = (Some(info.author), Some(info.salt));
            status.link = TeamLink::CatchingUp;
        });
        self.report_loss()?;
        self.align_with_log(&mut link).await?;
        // The results of writes that are in the log already, but whose answer was lost, must reach their callers.
        while self.waiting.front().is_some_and(|append| append.may_be_in_log) {
            self.append_first(&mut link).await?;
        }
        self.catch_up(&mut link, u64::MAX).await?;
        self.report_loss()?;
        link.announced = link.applied;
        self.store.set_log_fault(None);
        if mem::replace(&mut self.was_live, true) {
            // Other members may have opened or closed transactions meanwhile.
            link.database.request_open_transactions().await?;
            self.status.send_modify(|status| status.open.clear());
        }
        self.status.send_modify(|status| status.link = TeamLink::Live);
        self.members_due = MonotonicTime::default();
        let mut received = Vec::new();
        loop {
            while !self.waiting.is_empty() {
                self.append_first(&mut link).await?;
            }
            // Not before: a database that can be read may refuse every write.
            self.away_since = None;
            self.read_bodies(&link).await?;
            if self.has_ended {
                link.database.delete_member(self.options.presence.id).await.ok();
                return Ok(());
            }
            self.refresh_membership(&mut link).await?;
            self.publish_open_transaction(&link).await?;
            tokio::select! {
                count = self.queue.recv_many(&mut received, MAX_OPERATIONS) => {
                    self.has_ended = count == 0;
                    self.gather_answers(&mut received).await;
                    self.queue_writes(&mut received);
                }
                notification = link.database.next_notification() => match notification.ok_or_else(|| TeamError::connection_lost("the server closed it"))? {
                    DatabaseNotification::Entry(seq) => {
                        link.announced = link.announced.max(seq);
                        if seq > link.applied {
                            self.catch_up(&mut link, seq).await?;
                        }
                    }
                    DatabaseNotification::Open(open) => self.record_open_transaction(&open),
                    // Several come or leave together, for example a dashboard and its poller.
                    DatabaseNotification::Members => self.members_due = self.members_due.min(self.clock.now().mono + MEMBERS_PAUSE),
                    DatabaseNotification::Released => {}
                    DatabaseNotification::Echo => link.check_interval = CHECK_INTERVAL,
                },
                () = self.clock.sleep_until(link.next_check.min(self.members_due)) => {
                    if self.clock.now().mono >= link.next_check {
                        self.check_log_head(&mut link).await?;
                    }
                }
            }
        }
    }

    /// Waits before the next try, and refuses writes that have waited too long. Returns whether to try again.
    async fn wait(&mut self, error: &SessionError, pause: Duration) -> bool {
        let until = self.clock.now().mono + pause;
        let away_since = *self.away_since.get_or_insert(self.clock.now().mono);
        let mut received = Vec::new();
        loop {
            let now = self.clock.now().mono;
            let grace = if error.is_transient() { GRACE } else { Duration::ZERO };
            let end_of_grace = |append: &PendingAppend| append.since.max(away_since) + grace;
            for BodyRequest { reply, .. } in self.body_requests.drain(..) {
                reply.send(Err(StoreFault::Log(error.to_string()).into())).ok();
            }
            while self.waiting.front().is_some_and(|append| now >= end_of_grace(append)) {
                self.waiting.pop_front().into_iter().for_each(|append| append.fail(error));
            }
            if self.has_ended && self.waiting.is_empty() {
                return false;
            }
            if now >= until {
                return true;
            }
            let due = self.waiting.front().map_or(until, |append| until.min(end_of_grace(append)));
            tokio::select! {
                count = self.queue.recv_many(&mut received, MAX_OPERATIONS), if !self.has_ended => {
                    self.has_ended = count == 0;
                    self.queue_writes(&mut received);
                }
                () = self.clock.sleep_until(due) => {}
            }
        }
    }

    fn report_disconnected(&self, error: &SessionError) {
        let reason = error.to_string();
        let now = self.clock.now().wall;
        let is_transient = error.is_transient();
        self.store.set_log_fault(Some(reason.clone()));
        self.status.send_if_modified(|status| {
            let link = match &status.link {
                _ if !is_transient => TeamLink::Refused { reason: reason.clone() },
                TeamLink::Away { since, .. } => TeamLink::Away { reason: reason.clone(), since: *since },
                _ => TeamLink::Away { reason: reason.clone(), since: now },
            };
            let is_new = status.link != link;
            if is_new {
                tracing::warn!("the team's store can't be reached: {reason}");
                status.link = link;
            }
            is_new
        });
    }

    /// Applies the log through `head`, or through its end if that comes first.
    async fn catch_up(&mut self, link: &mut SessionConnection, head: u64) -> Result<(), SessionError> {
        let _lock = lock(&self.lock_path, &self.clock).await?;
        self.reader.refresh();
        let before = link.applied;
        link.applied = self.reader.replica_position(link.team)?.seq;
        if link.applied > before {
            // Another process of this machine was first.
            self.store.wake_if_changed();
        }
        self.record_head(link, if head == u64::MAX { link.applied } else { head });
        while link.applied < head {
            let entries = link.database.read_entries(link.applied).await?;
            if entries.is_empty() {
                break;
            }
            let entries = LogEntries { team: link.team, entries, own: Vec::new(), is_light: self.options.is_light };
            let applied = self.store.replicate(entries).await?.replicated()?;
            if applied.position.seq == link.applied {
                return Err(TeamError::connection_lost("the log has a gap").into());
            }
            report_progress(&self.status, link, &applied);
        }
        Ok(())
    }

    /// Records that the log has an entry with this number.
    fn record_head(&self, link: &SessionConnection, head: u64) {
        let now = self.clock.now().wall;
        self.status.send_modify(|status| {
            status.head = status.head.max(head);
            status.applied = link.applied;
            let is_behind = status.applied < status.head;
            status.behind_since = status.behind_since.filter(|_| is_behind).or(is_behind.then_some(now));
        });
    }

    /// Compares the replica with the end of the log.
    async fn check_log_head(&mut self, link: &mut SessionConnection) -> Result<(), SessionError> {
        link.next_check = self.clock.now().mono + link.check_interval;
        self.publish_snapshot(link).await?;
        self.report_loss()?;
        let position = self.reader.replica_position(link.team)?;
        let bounds = link.database.log_bounds(position.seq).await?;
        if bounds.head.seq < position.seq || bounds.nonce_at.is_some_and(|nonce| nonce != position.nonce) {
            self.align_with_log(link).await?;
            return self.report_loss();
        }
        self.forget_own_entries(&bounds, position).await?;
        link.expect_notification_of(bounds.head.seq, self.clock.now().mono);
        link.applied = position.seq;
        if bounds.head.seq > position.seq { self.catch_up(link, bounds.head.seq).await } else { Ok(()) }
    }
}

fn report_progress(status: &watch::Sender<TeamStatus>, link: &mut SessionConnection, applied: &AppliedEntries) {
    link.applied = applied.position.seq;
    status.send_modify(|status| {
        status.applied = link.applied;
        status.head = status.head.max(link.applied);
        if link.applied == status.head {
            status.behind_since = None;
        }
    });
}
