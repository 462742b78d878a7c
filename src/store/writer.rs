//! The one writer: a thread that takes jobs, runs as many as are waiting in one transaction, and answers after the commit.
//!
//! A job that fails is undone alone (a savepoint); a commit that fails fails all of its jobs. It must never answer
//! "kept" before the commit.

use std::{
    path::PathBuf,
    sync::{
        Mutex,
        mpsc::{self, Receiver, Sender, SyncSender},
    },
    thread::{self, JoinHandle},
};

use rusqlite::{Connection, TransactionBehavior};

use super::error::StoreError;

/// The most jobs in one transaction: bounds how long the first of them waits for its answer.
const BATCH: usize = 256;

/// A handle to the writer's thread.
pub(super) struct Writer {
    jobs: Option<Sender<Box<dyn Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
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
    /// Starts the thread; `committed` is called after each commit.
    pub(super) fn spawn(
        connection: Connection,
        path: PathBuf,
        committed: impl Fn() + Send + 'static,
    ) -> Result<Self, StoreError> {
        let (jobs, inbox) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || run(connection, &inbox, &committed))
            .map_err(StoreError::Thread)?;
        tracing::debug!(path = %path.display(), "store opened");
        Ok(Self { jobs: Some(jobs), thread: Mutex::new(Some(thread)) })
    }

    /// Hands a job to the writer. After a loss of power the newest of these may be missing, never a part of one.
    pub(super) fn submit<T, F>(&self, work: F) -> Receipt<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.send(work, false)
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
        let (reply, answer) = mpsc::sync_channel(1);
        let job = Box::new(Pending { work: Some(work), done: None, reply, durable });
        if let Some(jobs) = &self.jobs
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
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError>;
    fn answer(self: Box<Self>, commit: Result<(), String>);
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
    F: FnOnce(&Connection) -> Result<T, StoreError> + Send,
{
    fn durable(&self) -> bool {
        self.durable
    }

    fn run(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let Some(work) = self.work.take() else { return Ok(()) };
        connection.execute_batch("SAVEPOINT job")?;
        self.done = Some(work(connection));
        let end = if matches!(self.done, Some(Ok(_))) { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" };
        Ok(connection.execute_batch(end)?)
    }

    fn answer(self: Box<Self>, commit: Result<(), String>) {
        let answer = match (commit, self.done) {
            (Ok(()), Some(done)) => done,
            (Ok(()), None) => Err(StoreError::Closed),
            (Err(reason), _) => Err(StoreError::Commit(reason)),
        };
        if let Err(mpsc::SendError(Err(unheard))) = self.reply.send(answer) {
            tracing::error!("nobody waited for this: {unheard}");
        }
    }
}

fn run(mut connection: Connection, inbox: &Receiver<Box<dyn Job>>, committed: &dyn Fn()) {
    while let Ok(first) = inbox.recv() {
        let mut batch = vec![first];
        batch.extend(inbox.try_iter().take(BATCH - 1));
        let outcome = commit(&mut connection, &mut batch).map_err(|error| error.to_string());
        if let Err(reason) = &outcome {
            tracing::error!("the store's transaction failed: {reason}");
        }
        // First, so that whoever holds a receipt knows that those who follow the store have been woken.
        committed();
        for job in batch {
            job.answer(outcome.clone());
        }
    }
    // A reader that closes last could not do this.
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
        tracing::debug!("the log of the store stays for the next one to open it: {error}");
    }
}

fn commit(connection: &mut Connection, batch: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    let durable = batch.iter().any(|job| job.durable());
    connection.pragma_update(None, "synchronous", if durable { "full" } else { "normal" })?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for job in batch {
        job.run(&transaction)?;
    }
    Ok(transaction.commit()?)
}
