//! The one writer: a thread that takes operations, applies as many as are waiting in one transaction, and answers after the
//! commit.
//!
//! An operation that fails takes no other with it; a commit that fails, and a fault of the disk, fails every operation of the
//! transaction. It must never acknowledge a write before the commit, nor write to a file that is damaged or gone.

use std::{
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    task::{Context, Poll},
    thread::{self, JoinHandle, Thread},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use super::{
    error::{PATIENCE, StoreError},
    file::{
        connection::LOG_LIMIT,
        health::{Health, Trouble},
        paths,
    },
    operations::{self, Outcome},
    tables::{
        changes,
        open_transactions::{self, OpenMark},
    },
};
use crate::domain::{
    batch::Batch,
    operation::{Envelope, Operation, Stamp},
};

/// The most writes in one transaction: bounds how long the first of them waits for its answer.
const MOST_AT_ONCE: usize = 256;
/// How long the writer gathers answers before it commits them together, if nobody is in a hurry: a commit costs as much as
/// several answers, and wakes every subscriber. Nothing in tests, where a paused clock would stand still meanwhile.
const GATHER: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_millis(20) };
/// So many waiting writes are committed at once.
const ENOUGH: usize = 16;
/// How long the writer waits for readers so that the log can begin anew: reads of this process are done by then.
const READERS_PATIENCE: Duration = Duration::from_millis(50);

/// A handle to the writer's thread.
pub(super) struct Writer {
    queue: Option<Sender<Job>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    hurry: Option<Hurry>,
    /// Why nothing can be written, if so.
    refusal: Option<Trouble>,
}

/// Something to write.
pub(super) enum Write {
    /// An operation.
    Apply(Box<Envelope>),
    /// [`Operation::Track`](crate::domain::operation::Operation::Track) of a batch that may be too large for memory.
    Track { profile: String, batch: Box<dyn Batch>, stamp: Stamp },
    /// What a dashboard of this machine has open. It is no operation: it means nothing to another machine.
    MarkOpen(OpenMark),
    /// Nothing: the answer says that everything before it is written.
    Flush,
    /// A closure of a test.
    #[cfg(test)]
    Run(TestWrite),
}

#[cfg(test)]
pub(super) type TestWrite = Box<dyn Fn(&Connection) -> Result<(), StoreError> + Send>;

impl Write {
    /// Whether the write may wait a moment for others: an answer, for which no person waits.
    fn can_wait(&self) -> bool {
        matches!(self, Self::Apply(envelope) if matches!(envelope.operation, Operation::Observe { .. }))
    }

    /// Whether the write must be on the disk before it is acknowledged.
    fn is_durable(&self) -> bool {
        match self {
            Self::Apply(envelope) => envelope.operation.is_durable(),
            Self::Track { .. } => true,
            Self::MarkOpen(_) | Self::Flush => false,
            #[cfg(test)]
            Self::Run(_) => false,
        }
    }
}

/// What a commit holds, by whom it concerns; each kind includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Interest {
    /// Nothing was written.
    Nothing,
    /// Transactions were polled, and are as they were.
    Polls,
    /// Answers changed something.
    Answers,
    /// Anything else.
    Everything,
}

impl Interest {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Observed(observed) if observed.transaction.is_none() => Self::Nothing,
            Outcome::Observed(observed) if observed.is_news => Self::Answers,
            Outcome::Observed(_) => Self::Polls,
            Outcome::Done
            | Outcome::Tracked(_)
            | Outcome::Changed(_)
            | Outcome::Reversed(_)
            | Outcome::Dropped(_)
            | Outcome::Asked(_)
            | Outcome::Claimed(_) => Self::Everything,
        }
    }
}

/// A commit of the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Commit {
    /// Its number in the store.
    pub(super) number: i64,
    /// Whom it concerns.
    pub(super) interest: Interest,
}

/// The answer to a write, which comes after its commit. Awaited, or waited for on a thread that may block.
#[must_use = "a write is kept only if its receipt says so"]
pub struct Receipt {
    answer: oneshot::Receiver<Result<Outcome, StoreError>>,
    hurry: Option<Hurry>,
}

/// How many writes wait, and whether one of them can't.
#[derive(Debug, Default)]
struct Queued {
    waiting: AtomicUsize,
    is_urgent: AtomicBool,
}

/// Ends the gathering of writes.
#[derive(Clone)]
struct Hurry {
    queued: Arc<Queued>,
    writer: Thread,
}

impl Hurry {
    /// The writer commits what waits.
    fn up(&self) {
        self.queued.is_urgent.store(true, Ordering::Release);
        self.writer.unpark();
    }
}

impl Receipt {
    /// Blocks until the write is kept or has failed: a few milliseconds, or as long as another process holds the store.
    ///
    /// # Errors
    /// If the write failed, so that nothing of it was kept.
    pub fn wait(self) -> Result<Outcome, StoreError> {
        // Whoever blocks has nothing else to do.
        self.hurry.iter().for_each(Hurry::up);
        // A tokio task that has spent its budget would be told to yield first, and this thread would park for ever.
        pollster::block_on(tokio::task::unconstrained(self))
    }

    /// Lets the write go its way; a failure is logged. For what will be written again soon.
    pub fn detach(self) {}
}

impl Future for Receipt {
    type Output = Result<Outcome, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.answer).poll(context).map(|answer| answer.unwrap_or(Err(StoreError::Closed)))
    }
}

impl Writer {
    /// Starts the thread; `committed` is called after each transaction, with its commit if it wrote anything.
    pub(super) fn spawn(
        connection: Connection,
        path: PathBuf,
        health: Arc<Health>,
        committed: impl Fn(Option<Commit>) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let (queue, inbox) = mpsc::channel();
        tracing::debug!(path = %path.display(), "store opened");
        let queued: Arc<Queued> = Arc::default();
        let mut worker =
            Worker { connection, path, health, log_limit: LOG_LIMIT, synchronous: None, queued: Arc::clone(&queued) };
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || worker.run(&inbox, &committed))
            .map_err(StoreError::Thread)?;
        let hurry = Some(Hurry { queued, writer: thread.thread().clone() });
        Ok(Self { queue: Some(queue), thread: Mutex::new(Some(thread)), hurry, refusal: None })
    }

    /// A writer for a store that can't be written: it refuses every write.
    pub(super) fn refusing(trouble: Trouble) -> Self {
        Self { queue: None, thread: Mutex::new(None), hurry: None, refusal: Some(trouble) }
    }

    /// Hands a write to the thread. After a loss of power the newest writes that aren't durable may be missing, never a part
    /// of one.
    pub(super) fn submit(&self, write: Write) -> Receipt {
        let (reply, answer) = oneshot::channel();
        let can_wait = write.can_wait();
        let job = Job { write, outcome: None, reply };
        // Counted first: the thread takes it off the count as soon as it has the write.
        let waiting = self.hurry.as_ref().map_or(0, |hurry| hurry.queued.waiting.fetch_add(1, Ordering::AcqRel) + 1);
        if let Some(trouble) = &self.refusal {
            job.answer(Err(trouble.clone()));
        } else if let Some(queue) = &self.queue
            && queue.send(job).is_err()
        {
            // The reply went with the job, so that the receipt says `Closed`.
            tracing::error!("the store's writer has ended");
        }
        if !can_wait || waiting == ENOUGH {
            self.hurry.iter().for_each(Hurry::up);
        }
        Receipt { answer, hurry: self.hurry.clone() }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        self.hurry.iter().for_each(Hurry::up);
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the store's writer panicked");
        }
    }
}

/// A write with its way back.
struct Job {
    write: Write,
    /// What the write came to, until the commit.
    outcome: Option<Result<Outcome, StoreError>>,
    reply: oneshot::Sender<Result<Outcome, StoreError>>,
}

impl Job {
    /// Writes; nothing of it is to be kept if that failed. An error is not the write's own.
    fn run(&mut self, db: &Transaction<'_>) -> Result<Interest, StoreError> {
        let outcome = match &self.write {
            Write::Apply(envelope) => operations::apply(db, envelope),
            Write::Track { profile, batch, stamp } => {
                operations::track_batch(db, profile, batch.as_ref(), stamp).map(Outcome::Tracked)
            }
            Write::MarkOpen(mark) => open_transactions::write(db, mark).map(|()| Outcome::Done),
            Write::Flush => {
                self.outcome = Some(Ok(Outcome::Done));
                return Ok(Interest::Nothing);
            }
            #[cfg(test)]
            Write::Run(work) => work(db).map(|()| Outcome::Done),
        };
        let interest = match &outcome {
            // SQLite may have undone the other writes with it; and they would fare no better.
            Err(error) if db.is_autocommit() || is_of_the_disk(error) => return outcome.map(|_| Interest::Nothing),
            Err(_) => Interest::Nothing,
            Ok(outcome) => Interest::of(outcome),
        };
        self.outcome = Some(outcome);
        Ok(interest)
    }

    /// Whether the write itself failed.
    fn has_failed(&self) -> bool {
        matches!(self.outcome, Some(Err(_)))
    }

    fn answer(self, commit: Result<(), Trouble>) {
        let answer = match (commit, self.outcome) {
            (Ok(()), Some(outcome)) => outcome,
            (Ok(()), None) => Err(StoreError::Closed),
            (Err(trouble), _) => Err(trouble.into()),
        };
        if let Err(Err(unheard)) = self.reply.send(answer) {
            tracing::error!("nobody waited for this: {unheard}");
        }
    }
}

/// Whether an error is one of the disk, not of the write.
fn is_of_the_disk(error: &StoreError) -> bool {
    let StoreError::Sql(error) = error else { return error.is_damage() };
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::ReadOnly | ErrorCode::CannotOpen)
    )
}

/// What the writer's thread works with.
struct Worker {
    connection: Connection,
    path: PathBuf,
    health: Arc<Health>,
    /// A log larger than that is asked to begin anew.
    log_limit: u64,
    /// What `PRAGMA synchronous` was set to last.
    synchronous: Option<&'static str>,
    queued: Arc<Queued>,
}

impl Worker {
    fn run(&mut self, inbox: &Receiver<Job>, committed: &dyn Fn(Option<Commit>)) {
        while let Ok(first) = inbox.recv() {
            self.gather();
            let jobs: Vec<Job> = [first].into_iter().chain(inbox.try_iter().take(MOST_AT_ONCE - 1)).collect();
            self.queued.waiting.fetch_sub(jobs.len(), Ordering::AcqRel);
            self.write(jobs, committed);
            self.keep_log_small();
        }
        // A reader that closes last could not do this. Nobody waits for another process's writer.
        if let Err(error) = self.checkpoint() {
            tracing::debug!("the log of the store stays for the next one to open it: {error}");
        }
    }

    /// Commits these writes together and answers them. If one of them fails each gets a commit of its own: a savepoint for each
    /// would cost more than to repeat what seldom fails.
    fn write(&mut self, mut jobs: Vec<Job>, committed: &dyn Fn(Option<Commit>)) {
        let done = match self.health.begin() {
            Ok(()) => self.commit(&mut jobs),
            Err(trouble) => Err(trouble.into()),
        };
        let commit = done.as_ref().copied().unwrap_or_default();
        let is_to_repeat = done.is_ok() && jobs.len() > 1 && jobs.iter().any(Job::has_failed);
        let outcome = self.health.end(done.map(drop));
        if is_to_repeat {
            return jobs.into_iter().for_each(|job| self.write(vec![job], committed));
        }
        // First, so that whoever holds a receipt knows that the subscribers have been woken.
        committed(commit);
        for job in jobs {
            job.answer(outcome.clone());
        }
    }

    /// Waits a moment for more writes, unless one can't wait or there are enough.
    fn gather(&self) {
        let Queued { waiting, is_urgent } = &*self.queued;
        if !is_urgent.load(Ordering::Acquire) && waiting.load(Ordering::Acquire) < ENOUGH {
            // Ends early by an urgent write; an old wakeup makes one smaller commit.
            thread::park_timeout(GATHER);
        }
        // Whatever was urgent is in the queue by now.
        is_urgent.store(false, Ordering::Release);
    }

    /// Runs the jobs and commits what they wrote, if they wrote anything and none of them failed.
    fn commit(&mut self, jobs: &mut [Job]) -> Result<Option<Commit>, StoreError> {
        let is_durable = jobs.iter().any(|job| job.write.is_durable());
        let synchronous = if is_durable { "full" } else { "normal" };
        if self.synchronous != Some(synchronous) {
            self.connection.pragma_update(None, "synchronous", synchronous)?;
            self.synchronous = Some(synchronous);
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (before, mut interest) = (transaction.total_changes(), Interest::Nothing);
        for job in jobs {
            interest = interest.max(job.run(&transaction)?);
            if job.has_failed() {
                interest = Interest::Nothing;
                break;
            }
        }
        if interest == Interest::Nothing || transaction.total_changes() == before {
            transaction.rollback()?;
            return Ok(None);
        }
        let number = changes::count_commit(&transaction)?;
        transaction.commit()?;
        Ok(Some(Commit { number, interest }))
    }

    /// While there is always some reader the log never begins anew by itself.
    fn keep_log_small(&mut self) {
        let size = paths::log_size(&self.path);
        if size <= self.log_limit {
            return;
        }
        let outcome = self.checkpoint();
        // As long as somebody reads the same for long, it isn't asked with each write.
        let is_small = paths::log_size(&self.path) <= LOG_LIMIT;
        self.log_limit = if is_small { LOG_LIMIT } else { size.saturating_add(LOG_LIMIT) };
        if !is_small {
            tracing::warn!(
                "the log of the store has grown to {size} bytes, since somebody keeps reading it: {outcome:?}"
            );
        }
    }

    /// Brings the log into the file and cuts it, if no reader needs it.
    fn checkpoint(&self) -> rusqlite::Result<()> {
        self.connection.busy_timeout(READERS_PATIENCE)?;
        let outcome = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        self.connection.busy_timeout(PATIENCE)?;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use crate::store::Store;

    #[tokio::test]
    async fn task_that_has_spent_its_budget_can_wait_for_receipts() {
        /// More than tokio lets a task do before it has to yield.
        const MANY: usize = 500;
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        for _ in 0..MANY {
            store.flush().wait().unwrap();
        }
    }
}
