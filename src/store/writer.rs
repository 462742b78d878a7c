//! The only writer: a thread that applies all waiting operations in one transaction, and answers them after the commit.
//!
//! A failed operation doesn't affect other operations. A failed commit or a disk fault fails every operation of the
//! transaction. The writer must never acknowledge a write before the commit, nor write to a file that is damaged or
//! gone.

use std::{
    mem,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    task::{Context, Poll},
    thread::{self, JoinHandle, Thread},
    time::Duration,
};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{Notify, oneshot};

use super::{
    body_storage::BodyStorage,
    commit::{Commit, CommitContent},
    error::{Result, StoreError, StoreFault, is_disk_error},
    file::{connection::LOG_LIMIT, health::StoreHealth, lock_wait, paths},
    operations::{self, OperationResult},
    replica::{self, LogEntries},
    tables::{
        changes,
        open_transactions::{self, OpenMark},
    },
    watcher::Watcher,
};
use crate::domain::{
    batch::Batch,
    operation::{Envelope, Operation, Stamp},
};

pub(in crate::store) mod steps;

/// The most writes in one transaction. This bounds how long the first write waits for its answer.
const MAX_BATCH: usize = 256;
/// How long the writer gathers observations before it commits them together, unless a write is urgent. A commit costs
/// as much as several observations, and wakes every subscriber. At 200 answers a second, 100 ms instead of 20 ms save a
/// quarter of a poll's processor time. Zero in tests: a paused test clock doesn't advance meanwhile.
const GATHER_TIME: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_millis(100) };
/// This many waiting writes are committed without further gathering.
const COMMIT_THRESHOLD: usize = 16;
/// How long a new writer waits before it completes derived data: a command that only reads ends sooner, and must not
/// write.
const DERIVE_DELAY: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_secs(1) };
/// After this many answers the writer looks whether anything is left to derive. Small in tests, so that they reach it.
const ANSWERS_PER_CHECK: usize = if cfg!(test) { 1 } else { 1_000 };
/// After how many batches another checkpoint of deleted data is tried, if a read prevented the last one.
const BATCHES_PER_ERASURE: u32 = if cfg!(test) { 1 } else { 100 };
/// How long a checkpoint waits for readers, so that the log can restart. Reads of this process finish within this time.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_millis(50);

/// Takes the writes of one store.
pub(super) enum Writer {
    Running(RunningWriter),
    Refusing(Refusal),
}

/// A handle to the writer's thread, or to a simulation that does the thread's work.
pub(super) struct RunningWriter {
    /// `None` only while the handle is dropped.
    queue: Option<Sender<QueuedWrite>>,
    /// `None` in a simulation.
    thread: Option<JoinHandle<()>>,
    commit_trigger: CommitTrigger,
}

/// Why nothing can be written.
pub(super) struct Refusal {
    fault: StoreFault,
    /// Starts the writer after all, if the fault may pass.
    restart: Option<WriterRestart>,
    restarted: Mutex<Option<RunningWriter>>,
}

/// Starts a writer; fails as long as the store can't be written.
pub(super) type WriterRestart = Box<dyn Fn() -> Result<RunningWriter> + Send + Sync>;

impl Refusal {
    /// Submits a write to the writer, if that runs or can be started by now; else refuses the write.
    fn submit(&self, write: WriteJob) -> Receipt {
        let mut restarted = self.restarted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fault = self.fault.clone();
        if let (None, Some(restart)) = (&*restarted, &self.restart) {
            match restart() {
                Ok(writer) => *restarted = Some(writer),
                Err(StoreError::DiskFull { .. }) => {}
                Err(error) => fault = error.into(),
            }
        }
        if let Some(writer) = &*restarted {
            return writer.submit(write);
        }
        let (reply, result) = oneshot::channel();
        // The receiver is still there.
        reply.send(Err(fault.into())).ok();
        Receipt { result, commit_trigger: None }
    }
}

/// A write for the writer's thread.
pub(super) enum WriteJob {
    /// Applies an operation.
    Apply(Box<Envelope>),
    /// Applies [`Operation::Track`] for a batch that may be too large for memory.
    Track { profile: String, batch: Box<dyn Batch>, stamp: Stamp },
    /// Records which transaction a dashboard of this machine has open. Not an operation: the mark means nothing on
    /// another machine.
    MarkOpen(OpenMark),
    /// Applies entries of a team's log.
    Replicate(LogEntries),
    /// Forgets this machine's entries before this number of the team's log: a snapshot of the team has them.
    ForgetOwnEntries(u64),
    /// Writes nothing. The answer confirms that all earlier writes are done.
    Flush,
    /// Runs a closure of a test.
    #[cfg(test)]
    Run(TestWrite),
}

/// Called with an operation that is kept, and its moment.
pub type OnOperationKept = Box<dyn FnMut(&Operation, DateTime<Utc>) + Send>;

#[cfg(test)]
pub(super) type TestWrite = Box<dyn Fn(&Connection) -> Result<()> + Send>;

impl WriteJob {
    /// Whether the write may wait a moment for others. True of answers about transactions, since no person waits for
    /// them. A failure can't wait: the poller slows down or stops because of it.
    fn can_wait(&self) -> bool {
        let Self::Apply(envelope) = self else { return false };
        match &envelope.operation {
            Operation::Observe { observation, .. } => observation.outcome.failure().is_none(),
            _ => false,
        }
    }

    /// Whether the write must be on the disk before it is acknowledged.
    fn is_durable(&self) -> bool {
        match self {
            Self::Apply(envelope) => envelope.operation.is_durable(),
            Self::Track { .. } => true,
            // The team's log has the entries.
            Self::Replicate(_) | Self::ForgetOwnEntries(_) => false,
            Self::MarkOpen(_) | Self::Flush => false,
            #[cfg(test)]
            Self::Run(_) => false,
        }
    }
}

/// The result of a write, available after its commit. It can be awaited, or waited for on a thread that may block.
#[must_use = "a write is kept only if its receipt says so"]
pub struct Receipt {
    result: oneshot::Receiver<Result<OperationResult>>,
    /// `None` if no writer of this process has the write: it was refused, or goes to a team's log first.
    commit_trigger: Option<CommitTrigger>,
}

/// The number of waiting writes, and whether one of them is urgent.
#[derive(Debug, Default)]
struct QueueState {
    waiting: AtomicUsize,
    is_urgent: AtomicBool,
}

/// Ends the gathering of writes.
#[derive(Clone)]
struct CommitTrigger {
    queued: Arc<QueueState>,
    writer: WriterWake,
}

/// How the writer learns of a write.
#[derive(Clone)]
enum WriterWake {
    Thread(Thread),
    /// A simulation runs the writer, and waits for this.
    Steps(Arc<Notify>),
}

impl CommitTrigger {
    /// Makes the writer commit the waiting writes now.
    fn commit_now(&self) {
        self.queued.is_urgent.store(true, Ordering::Release);
        match &self.writer {
            WriterWake::Thread(thread) => thread.unpark(),
            WriterWake::Steps(submitted) => submitted.notify_one(),
        }
    }
}

impl Receipt {
    /// Creates a receipt for a write that goes to a team's log first.
    pub(in crate::store) fn from_log(result: oneshot::Receiver<Result<OperationResult>>) -> Self {
        Self { result, commit_trigger: None }
    }

    /// Blocks until the write is committed or has failed. Takes a few milliseconds, or as long as another process holds
    /// the lock.
    ///
    /// # Errors
    /// If the write failed; nothing of it is stored then.
    pub fn wait(self) -> Result<OperationResult> {
        // The caller is blocked and submits nothing more, so further gathering is useless.
        self.commit_trigger.iter().for_each(CommitTrigger::commit_now);
        // Without `unconstrained`, tokio tells a task that has spent its budget to yield, and this thread would park
        // forever.
        pollster::block_on(tokio::task::unconstrained(self))
    }

    /// Ignores the result; a failure is logged. For writes that are repeated soon.
    pub fn detach(self) {}
}

impl Future for Receipt {
    type Output = Result<OperationResult>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.result).poll(context).map(|result| result.unwrap_or(Err(StoreError::Closed)))
    }
}

impl Writer {
    /// Returns a writer that refuses every write, for a store that can't be written, until `restart` can start one.
    pub(super) fn refusing(fault: StoreFault, restart: Option<WriterRestart>) -> Self {
        Self::Refusing(Refusal { fault, restart, restarted: Mutex::default() })
    }

    /// Submits a write. A loss of power may lose the newest writes that aren't durable, but never a part of a write.
    pub(super) fn submit(&self, write: WriteJob) -> Receipt {
        match self {
            Self::Running(writer) => writer.submit(write),
            Self::Refusing(refusal) => refusal.submit(write),
        }
    }
}

impl RunningWriter {
    /// Starts the thread.
    pub(super) fn spawn(connection: Connection, health: Arc<StoreHealth>, watcher: Arc<Watcher>) -> Result<Self> {
        let (queue, mut worker) = WriterThread::new(connection, health, watcher);
        let queued = Arc::clone(&worker.queued);
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || worker.run())
            .map_err(StoreError::Thread)?;
        let commit_trigger = CommitTrigger { queued, writer: WriterWake::Thread(thread.thread().clone()) };
        Ok(Self { queue: Some(queue), thread: Some(thread), commit_trigger })
    }

    fn submit(&self, write: WriteJob) -> Receipt {
        let (reply, result) = oneshot::channel();
        let can_wait = write.can_wait();
        let job = QueuedWrite { write, outcome: None, reply };
        // Counted before sending: the thread decreases the count as soon as it receives the write.
        let waiting = self.commit_trigger.queued.waiting.fetch_add(1, Ordering::AcqRel) + 1;
        if let Some(queue) = &self.queue
            && queue.send(job).is_err()
        {
            // The reply channel is dropped with the job, so the receipt returns `Closed`.
            tracing::error!("the store's writer has ended");
        }
        // A simulation runs the writer in steps and must learn of every write.
        let is_simulated = matches!(self.commit_trigger.writer, WriterWake::Steps(_));
        if !can_wait || waiting == COMMIT_THRESHOLD || is_simulated {
            self.commit_trigger.commit_now();
        }
        Receipt { result, commit_trigger: Some(self.commit_trigger.clone()) }
    }
}

impl Drop for RunningWriter {
    fn drop(&mut self) {
        self.queue = None;
        self.commit_trigger.commit_now();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the store's writer panicked");
        }
    }
}

/// A write with the channel for its result.
struct QueuedWrite {
    write: WriteJob,
    /// The result of the write, held back until the commit.
    outcome: Option<Result<OperationResult>>,
    reply: oneshot::Sender<Result<OperationResult>>,
}

impl QueuedWrite {
    /// Applies the write. If the write fails, the transaction must not be committed. A returned error isn't the write's
    /// own fault: it fails the whole transaction.
    fn run(&mut self, db: &Transaction<'_>) -> Result<CommitContent> {
        let done = |()| OperationResult::Done;
        let outcome = match &self.write {
            WriteJob::Apply(envelope) => operations::apply(db, envelope, BodyStorage::Store),
            WriteJob::Track { profile, batch, stamp } => {
                operations::track_batch(db, profile, batch.as_ref(), stamp).map(OperationResult::Tracked)
            }
            WriteJob::MarkOpen(mark) => open_transactions::write(db, mark).map(done),
            WriteJob::Replicate(entries) => {
                replica::apply(db, entries).map(|applied| OperationResult::Replicated(Box::new(applied)))
            }
            WriteJob::ForgetOwnEntries(first) => replica::own_entries::forget_before(db, *first).map(done),
            WriteJob::Flush => {
                self.outcome = Some(Ok(OperationResult::Done));
                return Ok(CommitContent::Nothing);
            }
            #[cfg(test)]
            WriteJob::Run(work) => work(db).map(done),
        };
        let content = match &outcome {
            // SQLite may have rolled back the other writes too. Repeating them would fail in the same way.
            Err(error) if db.is_autocommit() || is_disk_error(error) => return outcome.map(|_| CommitContent::Nothing),
            Err(_) => CommitContent::Nothing,
            Ok(outcome) => CommitContent::of(outcome),
        };
        self.outcome = Some(outcome);
        Ok(content)
    }

    /// Whether the write itself failed.
    fn has_failed(&self) -> bool {
        matches!(self.outcome, Some(Err(_)))
    }

    /// Whether the write deleted transactions.
    fn has_deleted_transactions(&self) -> bool {
        match (&self.write, &self.outcome) {
            (WriteJob::Apply(envelope), Some(Ok(_))) => matches!(envelope.operation, Operation::Delete { .. }),
            (_, Some(Ok(OperationResult::Replicated(applied)))) => applied.has_deletion,
            _ => false,
        }
    }

    fn complete(self, commit: Result<(), StoreFault>) {
        let result = match (commit, self.outcome) {
            (Ok(()), Some(outcome)) => outcome,
            (Ok(()), None) => Err(StoreError::Closed),
            (Err(fault), _) => Err(fault.into()),
        };
        if let Err(Err(unreceived)) = self.reply.send(result) {
            tracing::error!("a write failed and nothing was waiting for its result: {unreceived}");
        }
    }
}

/// The state of the writer's thread.
struct WriterThread {
    connection: Connection,
    health: Arc<StoreHealth>,
    watcher: Arc<Watcher>,
    /// The size of the log, in bytes, above which a checkpoint is tried.
    log_limit: u64,
    /// After how many batches a checkpoint is tried because the log may hold data of deleted transactions.
    erase_after: Option<u32>,
    /// The value that `PRAGMA synchronous` was last set to.
    synchronous: Option<&'static str>,
    /// Whether derived data is complete: the data that an earlier version didn't derive, and the search index.
    is_derived: bool,
    /// How long the writer still waits before it derives anything.
    derive_delay: Duration,
    /// The answers that were written since the writer looked for what is left to derive.
    unchecked_answers: usize,
    queued: Arc<QueueState>,
    receiver: Receiver<QueuedWrite>,
    /// Called with each operation that is kept, in the order of the commits, if a simulation records them.
    on_kept: Option<OnOperationKept>,
}

impl WriterThread {
    /// Creates the state of a writer, with the queue of its writes.
    fn new(connection: Connection, health: Arc<StoreHealth>, watcher: Arc<Watcher>) -> (Sender<QueuedWrite>, Self) {
        let (queue, receiver) = mpsc::channel();
        tracing::debug!(path = %health.path().display(), "store opened");
        let worker = Self {
            connection,
            health,
            watcher,
            log_limit: LOG_LIMIT,
            erase_after: None,
            synchronous: None,
            is_derived: false,
            derive_delay: DERIVE_DELAY,
            unchecked_answers: 0,
            queued: Arc::default(),
            receiver,
            on_kept: None,
        };
        (queue, worker)
    }

    /// Waits for the next job. Meanwhile completes derived data, a part at a time. Returns `None` when there will be no
    /// more jobs.
    fn next_job(&mut self) -> Option<QueuedWrite> {
        while !self.is_derived {
            match self.receiver.recv_timeout(mem::take(&mut self.derive_delay)) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => self.derive_more(),
            }
        }
        self.receiver.recv().ok()
    }

    /// Completes a part of the derived data. After an error, or if another process writes, goes on after the next
    /// write.
    fn derive_more(&mut self) {
        let without_waiting = self.connection.busy_timeout(Duration::ZERO).map_err(StoreError::from);
        let more = without_waiting
            // Data that a crash of the machine loses is derived again.
            .and_then(|()| self.set_synchronous("normal"))
            .and_then(|()| operations::complete_derived(&mut self.connection))
            .and_then(|more| Ok(more || operations::extend_search_index(&mut self.connection)?));
        self.is_derived = !more.unwrap_or_else(|error| {
            tracing::info!("identifiers and the search index are not complete yet: {error}");
            self.unchecked_answers = ANSWERS_PER_CHECK;
            false
        });
        if let Err(error) = lock_wait::wait_on(&mut self.connection) {
            tracing::error!("the time limit for locks can't be set: {error}");
        }
        self.limit_log_size();
    }

    fn run(&mut self) {
        while let Some(first) = self.next_job() {
            self.gather();
            self.write_batch(Some(first));
        }
        self.finish();
    }

    /// Writes `first` and the waiting writes together.
    fn write_batch(&mut self, first: Option<QueuedWrite>) {
        let jobs: Vec<QueuedWrite> = first.into_iter().chain(self.receiver.try_iter().take(MAX_BATCH - 1)).collect();
        self.queued.waiting.fetch_sub(jobs.len(), Ordering::AcqRel);
        self.write(jobs);
        self.limit_log_size();
    }

    /// Checkpoints the log on exit.
    fn finish(&mut self) {
        // A reader that closes last can't checkpoint. This checkpoint doesn't wait for another process's writer.
        if let Err(error) = self.checkpoint() {
            tracing::debug!(
                "the write-ahead log was not checkpointed; the next process that opens the store checkpoints it: {error}"
            );
        }
    }

    /// Commits the writes together and answers them. If a write fails, each write gets a commit of its own: failures
    /// are rare, and a savepoint for each write would cost more.
    fn write(&mut self, mut jobs: Vec<QueuedWrite>) {
        let fault = self.health.fault();
        let done = match self.health.begin_batch() {
            Ok(()) => self.commit(&mut jobs),
            Err(fault) => Err(fault.into()),
        };
        let commit = done.as_ref().copied().unwrap_or_default();
        let must_retry = done.is_ok() && jobs.len() > 1 && jobs.iter().any(QueuedWrite::has_failed);
        let outcome = self.health.end_batch(done.map(drop));
        if must_retry {
            return jobs.into_iter().for_each(|job| self.write(vec![job]));
        }
        if let Some(commit) = commit {
            // An answer leaves at most one transaction to derive; looking after each would cost more than the answer.
            self.unchecked_answers += jobs.len();
            if jobs.iter().any(QueuedWrite::has_deleted_transactions) {
                self.erase_after = Some(0);
            }
            if commit.content == CommitContent::Everything || self.unchecked_answers >= ANSWERS_PER_CHECK {
                (self.is_derived, self.unchecked_answers) = (false, 0);
            }
        }
        // Called before the answers: when a receipt resolves, the subscribers have been woken.
        if commit.is_some() || outcome.is_err() || self.health.fault() != fault {
            self.watcher.on_commit(commit);
        }
        for job in jobs {
            if let (Some(on_kept), Ok(())) = (&mut self.on_kept, &outcome)
                && let (WriteJob::Apply(envelope), Some(Ok(_))) = (&job.write, &job.outcome)
            {
                on_kept(&envelope.operation, envelope.stamp.at);
            }
            job.complete(outcome.clone());
        }
    }

    /// Waits a moment for more writes, unless a write is urgent or enough writes are waiting.
    fn gather(&self) {
        let QueueState { waiting, is_urgent } = &*self.queued;
        if !is_urgent.load(Ordering::Acquire) && waiting.load(Ordering::Acquire) < COMMIT_THRESHOLD {
            // An urgent write ends the wait early. An old wakeup only makes one commit smaller.
            thread::park_timeout(GATHER_TIME);
        }
        // Every write that was urgent is in the queue by now.
        is_urgent.store(false, Ordering::Release);
    }

    fn set_synchronous(&mut self, synchronous: &'static str) -> Result<()> {
        if self.synchronous != Some(synchronous) {
            self.connection.pragma_update(None, "synchronous", synchronous)?;
            self.synchronous = Some(synchronous);
        }
        Ok(())
    }

    /// Runs the jobs and commits their writes. Returns `None` and rolls back if nothing was written or a job failed.
    fn commit(&mut self, jobs: &mut [QueuedWrite]) -> Result<Option<Commit>> {
        let is_durable = jobs.iter().any(|job| job.write.is_durable());
        self.set_synchronous(if is_durable { "full" } else { "normal" })?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (before, mut content) = (transaction.total_changes(), CommitContent::Nothing);
        for job in jobs {
            content = content.max(job.run(&transaction)?);
            if job.has_failed() {
                content = CommitContent::Nothing;
                break;
            }
        }
        if content == CommitContent::Nothing || transaction.total_changes() == before {
            transaction.rollback()?;
            return Ok(None);
        }
        let number = changes::count_commit(&transaction)?;
        transaction.commit()?;
        Ok(Some(Commit { number, content }))
    }

    /// Checkpoints a log that has grown too large, or that holds deleted data. While there is always some reader, SQLite
    /// never restarts the log by itself.
    fn limit_log_size(&mut self) {
        let size = paths::wal_size(self.health.path());
        if size <= self.log_limit && self.erase_after != Some(0) {
            self.erase_after = self.erase_after.map(|batches| batches.saturating_sub(1));
            return;
        }
        let outcome = self.checkpoint();
        let left = paths::wal_size(self.health.path());
        let is_small = left <= LOG_LIMIT;
        // During a long read the checkpoint isn't tried with each write.
        self.log_limit = if is_small { LOG_LIMIT } else { size.saturating_add(LOG_LIMIT) };
        self.erase_after = self.erase_after.filter(|_| left > 0).map(|_| BATCHES_PER_ERASURE);
        if !is_small {
            tracing::warn!(
                "the write-ahead log has grown to {size} bytes because a long read prevents a checkpoint: {outcome:?}"
            );
        }
    }

    /// Copies the log into the file and truncates the log, if no reader needs it.
    fn checkpoint(&mut self) -> rusqlite::Result<()> {
        self.connection.busy_timeout(CHECKPOINT_TIMEOUT)?;
        let outcome = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        lock_wait::wait_on(&mut self.connection)?;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use crate::store::Store;

    #[tokio::test]
    async fn task_that_has_spent_its_budget_can_wait_for_receipts() {
        /// More receipts than tokio lets a task poll before it must yield.
        const MANY: usize = 500;
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        for _ in 0..MANY {
            store.flush().wait().unwrap();
        }
    }
}
