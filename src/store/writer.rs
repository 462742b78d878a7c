//! The one writer: a thread that takes jobs, runs as many as are waiting in one transaction, and answers after the commit.
//!
//! A job that fails is undone alone; a commit that fails, and a fault of the disk, fails all of its jobs. It must never answer
//! "kept" before the commit, nor write to a file that is damaged or gone.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver, Sender, SyncSender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::{
    changes,
    connection::{self, LOG_LIMIT},
    error::{PATIENCE, StoreError},
    health::{Health, Trouble},
};

/// The most jobs in one transaction: bounds how long the first of them waits for its answer.
const BATCH: usize = 256;
/// How long the writer waits for readers so that the log can begin anew: those of ours are done by then.
const READERS_PATIENCE: Duration = Duration::from_millis(50);

/// A handle to the writer's thread.
pub(super) struct Writer {
    jobs: Option<Sender<Box<dyn Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Why there is none, if nothing can be written.
    refusal: Option<Trouble>,
}

/// What a job wrote, as far as it concerns those who follow the store; the later ones concern more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wrote {
    /// Nothing that is kept.
    Nothing,
    /// That a transaction was polled, and is as it was.
    PollAlone,
    /// What an answer says that is news.
    Answer,
    /// News of another kind.
    News,
}

/// What a batch wrote, once it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Commit {
    /// Its number in the store.
    pub(super) number: i64,
    /// What there is in it that concerns most of those who follow.
    pub(super) wrote: Wrote,
}

/// The answer to a write, which comes after its commit.
#[must_use = "a write is kept only if its receipt says so"]
pub struct Receipt<T>(Receiver<Result<T, StoreError>>);

impl<T> Receipt<T> {
    /// Blocks until the write is kept or has failed: a few milliseconds, or as long as another process holds the store.
    pub fn wait(self) -> Result<T, StoreError> {
        self.0.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Lets the write go its way; a failure is logged. For what will be written again soon.
    pub fn detach(self) {}
}

impl Writer {
    /// Starts the thread; `ended` is called after each batch, with its commit if it wrote anything.
    pub(super) fn spawn(
        connection: Connection,
        (path, health): (PathBuf, Arc<Health>),
        ended: impl Fn(Option<Commit>) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let (jobs, inbox) = mpsc::channel();
        tracing::debug!(path = %path.display(), "store opened");
        let mut desk = Desk { connection, path, health, log_limit: LOG_LIMIT, synchronous: None };
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || desk.run(&inbox, &ended))
            .map_err(StoreError::Thread)?;
        Ok(Self { jobs: Some(jobs), thread: Mutex::new(Some(thread)), refusal: None })
    }

    /// One for a store that can't be written: it says why of every job.
    pub(super) fn refusing(trouble: Trouble) -> Self {
        Self { jobs: None, thread: Mutex::new(None), refusal: Some(trouble) }
    }

    /// Hands a job to the writer. After a loss of power the newest of these may be missing, never a part of one.
    pub(super) fn submit<T, F>(&self, work: F) -> Receipt<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.send(work, false)
    }

    /// The same for a job that says how much of what it wrote is news.
    pub(super) fn submit_telling<T, F>(&self, work: F) -> Receipt<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<(T, Wrote), StoreError> + Send + 'static,
    {
        self.queue(work, false)
    }

    /// The same for what a person gave us: on the disk before it is acknowledged.
    pub(super) fn submit_durable<T, F>(&self, work: F) -> Receipt<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.send(work, true)
    }

    fn send<T, F>(&self, work: F, durable: bool) -> Receipt<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.queue(move |db| Ok((work(db)?, Wrote::News)), durable)
    }

    fn queue<T, F>(&self, work: F, durable: bool) -> Receipt<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<(T, Wrote), StoreError> + Send + 'static,
    {
        let (reply, answer) = mpsc::sync_channel(1);
        let job = Box::new(Pending { work: Some(work), done: None, reply, durable });
        if let Some(trouble) = &self.refusal {
            job.answer(Err(trouble.clone()));
        } else if let Some(jobs) = &self.jobs
            && jobs.send(job).is_err()
        {
            // The job went down with its reply, so that the receipt says `Closed`.
            tracing::error!("the store's writer has ended");
        }
        Receipt(answer)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the store's writer panicked");
        }
    }
}

trait Job: Send {
    fn durable(&self) -> bool;
    /// Does the work; nothing of it is to be kept if it failed. An error is none of its own.
    fn run(&mut self, connection: &Connection) -> Result<Wrote, StoreError>;
    fn answer(self: Box<Self>, commit: Result<(), Trouble>);
}

struct Pending<T, F> {
    work: Option<F>,
    done: Option<Result<T, StoreError>>,
    reply: SyncSender<Result<T, StoreError>>,
    durable: bool,
}

impl<T, F> Job for Pending<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<(T, Wrote), StoreError> + Send,
{
    fn durable(&self) -> bool {
        self.durable
    }

    fn run(&mut self, connection: &Connection) -> Result<Wrote, StoreError> {
        let Some(work) = self.work.take() else { return Ok(Wrote::Nothing) };
        let (done, wrote) = match work(connection) {
            // SQLite may have undone the others with it; and they would fare no better.
            Err(error) if connection.is_autocommit() || is_of_the_disk(&error) => return Err(error),
            Err(error) => (Err(error), Wrote::Nothing),
            Ok((done, wrote)) => (Ok(done), wrote),
        };
        self.done = Some(done);
        Ok(wrote)
    }

    fn answer(self: Box<Self>, commit: Result<(), Trouble>) {
        let answer = match (commit, self.done) {
            (Ok(()), Some(done)) => done,
            (Ok(()), None) => Err(StoreError::Closed),
            (Err(trouble), _) => Err(trouble.into()),
        };
        if let Err(mpsc::SendError(Err(unheard))) = self.reply.send(answer) {
            tracing::error!("nobody waited for this: {unheard}");
        }
    }
}

/// Runs one of several, so that what it did can be undone without the others.
fn run_among_others(job: &mut dyn Job, connection: &Connection) -> Result<Wrote, StoreError> {
    connection.prepare_cached("SAVEPOINT job")?.execute([])?;
    let wrote = job.run(connection)?;
    if wrote == Wrote::Nothing {
        connection.execute_batch("ROLLBACK TO job")?;
    }
    connection.prepare_cached("RELEASE job")?.execute([])?;
    Ok(wrote)
}

/// Whether an error is none of the job's own.
fn is_of_the_disk(error: &StoreError) -> bool {
    let StoreError::Sql(error) = error else { return error.is_damage() };
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::ReadOnly | ErrorCode::CannotOpen)
    )
}

/// What the writer's thread works with.
struct Desk {
    connection: Connection,
    path: PathBuf,
    health: Arc<Health>,
    /// A log larger than that is asked to begin anew.
    log_limit: u64,
    /// What `PRAGMA synchronous` was set to last.
    synchronous: Option<&'static str>,
}

impl Desk {
    fn run(&mut self, inbox: &Receiver<Box<dyn Job>>, ended: &dyn Fn(Option<Commit>)) {
        while let Ok(first) = inbox.recv() {
            let mut batch = vec![first];
            batch.extend(inbox.try_iter().take(BATCH - 1));
            let done = match self.health.begin() {
                Ok(()) => self.commit(&mut batch),
                Err(trouble) => Err(trouble.into()),
            };
            let commit = done.as_ref().copied().unwrap_or_default();
            let outcome = self.health.end(done.map(drop));
            // First, so that whoever holds a receipt knows that those who follow the store have been woken.
            ended(commit);
            for job in batch {
                job.answer(outcome.clone());
            }
            self.keep_log_small();
        }
        // A reader that closes last could not do this. Nobody waits for another process's writer.
        if let Err(error) = self.checkpoint() {
            tracing::debug!("the log of the store stays for the next one to open it: {error}");
        }
    }

    /// Runs the jobs and commits what they wrote, if they wrote anything.
    fn commit(&mut self, batch: &mut [Box<dyn Job>]) -> Result<Option<Commit>, StoreError> {
        let durable = batch.iter().any(|job| job.durable());
        let synchronous = if durable { "full" } else { "normal" };
        if self.synchronous != Some(synchronous) {
            self.connection.pragma_update(None, "synchronous", synchronous)?;
            self.synchronous = Some(synchronous);
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (before, mut wrote) = (transaction.total_changes(), Wrote::Nothing);
        if let [alone] = batch {
            // Without a savepoint: it would keep a copy of each page as it was, for a whole import in a file.
            wrote = alone.run(&transaction)?;
        } else {
            for job in batch {
                wrote = wrote.max(run_among_others(job.as_mut(), &transaction)?);
            }
        }
        if wrote == Wrote::Nothing || transaction.total_changes() == before {
            transaction.rollback()?;
            return Ok(None);
        }
        let number = changes::count_commit(&transaction)?;
        transaction.commit()?;
        Ok(Some(Commit { number, wrote }))
    }

    /// While there is always some reader the log never begins anew by itself.
    fn keep_log_small(&mut self) {
        let size = connection::log_size(&self.path);
        if size <= self.log_limit {
            return;
        }
        let outcome = self.checkpoint();
        // As long as somebody reads the same for long, it isn't asked with each write.
        let is_small = connection::log_size(&self.path) <= LOG_LIMIT;
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
