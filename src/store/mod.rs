//! The SQLite store: the only channel between the poller and what shows or prints, and the only user of rusqlite.
//!
//! [`Store`] takes writes (one writer thread, a transaction per batch), [`Reader`] reads, and the change feed says what
//! changed. It keeps what it is given; it must never decide what an answer means or when to poll.

mod alerts;
mod attention;
mod bodies;
mod chains;
mod changes;
mod columns;
mod condition;
mod connection;
mod edits;
mod error;
mod follower;
mod forecasts;
mod functions;
mod import;
mod listing;
mod migrate;
mod observations;
mod order;
mod overview;
mod pollers;
mod quotes;
mod reader;
mod records;
mod staging;
mod transactions;
mod watcher;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use chrono::{DateTime, Utc};
use tokio::sync::watch;

pub use self::{
    changes::Feed,
    edits::{Edit, TakenBack},
    error::StoreError,
    follower::{Follower, News, SharedReader},
    forecasts::RouteStats,
    import::{Foreseen, ImportReport, Tally},
    listing::{Listed, Listing, Page, Place, Progress},
    observations::{Dropped, StoredObservation},
    overview::Load,
    pollers::PollerReport,
    quotes::{Asked, QuoteWish, StoredQuote},
    reader::{HistoryLine, Lookup, Reader},
    staging::{Duplicate, Staging},
    transactions::Judge,
    writer::Receipt,
};
use self::{import::Import, watcher::Watcher, writer::Writer};
use crate::domain::{
    alert::AlertStep,
    change::What,
    ids::RowId,
    observation::Observation,
    quote::{QuoteObservation, QuoteRequest},
    transaction::NewTransaction,
};

/// A handle to one store. Cheap to clone; the last one to go waits for the writes that were begun.
#[derive(Clone)]
pub struct Store {
    path: Arc<PathBuf>,
    writer: Arc<Writer>,
    watcher: Arc<Watcher>,
}

/// One answer, to be kept.
pub struct Seen {
    /// The transaction that was asked about.
    pub transaction: RowId,
    /// What the request told us.
    pub observation: Observation,
    /// When.
    pub at: DateTime<Utc>,
}

/// Something that concerns a whole profile: what happened, and what it does to the profile's alerts.
pub struct ProfileEvent {
    /// The profile.
    pub profile: String,
    /// When.
    pub at: DateTime<Utc>,
    /// For the feed, if it is more than what it does to the alerts.
    pub what: Option<What>,
    /// For the alerts.
    pub alerts: Vec<AlertStep>,
}

impl Store {
    /// Opens the store at `path`, and makes it with its folder if it isn't there.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = connection::open_for_writing(path)?;
        let watcher = Arc::new(Watcher::new(path.to_owned()));
        let signal = Arc::clone(&watcher);
        let writer = Writer::spawn(connection, path.to_owned(), move || signal.notify())?;
        Ok(Self { path: Arc::new(path.to_owned()), writer: Arc::new(writer), watcher })
    }

    /// A connection for reading, for one thread.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        Reader::open(&self.path)
    }

    /// A connection for reading, for several threads in turn.
    pub fn shared_reader(&self) -> Result<SharedReader, StoreError> {
        Ok(SharedReader::new(self.reader()?))
    }

    /// Where the store is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Wakes whoever waits on it after each commit: of this process at once, of others within 250 ms. It carries no
    /// news itself; read the feed.
    pub fn subscribe(&self) -> Result<watch::Receiver<u64>, StoreError> {
        self.watcher.subscribe()
    }

    /// Tracks the transactions of a batch, all or none; what is known already is updated where it differs.
    pub fn import(&self, profile: &str, batch: Vec<NewTransaction>, at: DateTime<Utc>) -> Receipt<ImportReport> {
        let profile = profile.to_owned();
        self.writer.submit_durable(move |db| {
            let mut import = Import::new(db, &profile, at)?;
            batch.iter().try_for_each(|new| import.take(new))?;
            import.finish()
        })
    }

    /// The same for a batch of any size, in bounded memory.
    pub fn import_staged(&self, profile: &str, staging: Staging, at: DateTime<Utc>) -> Receipt<ImportReport> {
        let profile = profile.to_owned();
        self.writer.submit_durable(move |db| {
            connection::with_room(db, || {
                let mut import = Import::new(db, &profile, at)?;
                staging.for_each(&mut |new| import.take(&new))?;
                import.finish()
            })
        })
    }

    /// Keeps an answer: the observation, what it changes in the transaction, and what `judge` makes of that.
    pub fn observe(&self, seen: Seen, judge: Judge) -> Receipt<()> {
        self.writer.submit(move |db| transactions::observe(db, &seen, judge))
    }

    /// Keeps what concerns a whole profile.
    pub fn profile_event(&self, event: ProfileEvent) -> Receipt<()> {
        self.writer.submit(move |db| {
            let entry = changes::Entry::of_profile(&event.profile, event.at);
            if let Some(what) = &event.what {
                changes::append(db, &entry, what)?;
            }
            alerts::carry_out(db, &event.alerts, &entry)
        })
    }

    /// Does what a person asks for; how much it changed. On the disk before it is acknowledged, and it can be taken back.
    pub fn edit(&self, profile: &str, edit: Edit, at: DateTime<Utc>) -> Receipt<usize> {
        let profile = profile.to_owned();
        self.writer.submit_durable(move |db| edits::edit(db, &profile, &edit, at))
    }

    /// Takes back what was done last in a profile; nothing if there is nothing to take back.
    pub fn take_back(&self, profile: &str, at: DateTime<Utc>) -> Receipt<Option<TakenBack>> {
        let profile = profile.to_owned();
        self.writer.submit_durable(move |db| edits::take_back(db, &profile, at))
    }

    /// Does again what was taken back last in a profile; nothing if something was done since.
    pub fn do_again(&self, profile: &str, at: DateTime<Utc>) -> Receipt<Option<TakenBack>> {
        let profile = profile.to_owned();
        self.writer.submit_durable(move |db| edits::do_again(db, &profile, at))
    }

    /// Removes transactions with all that is known of them; how many there were. This can't be taken back.
    pub fn delete(&self, rows: Vec<RowId>, at: DateTime<Utc>) -> Receipt<usize> {
        self.writer.submit_durable(move |db| transactions::delete(db, &rows, at))
    }

    /// Drops the bodies of transactions ([`Reader::with_old_bodies`]); their history says so.
    pub fn drop_bodies(&self, rows: Vec<RowId>, at: DateTime<Utc>) -> Receipt<Dropped> {
        self.writer.submit(move |db| observations::drop_bodies(db, &rows, at))
    }

    /// Asks whoever polls to poll these now.
    pub fn request_poll(&self, transactions: Vec<RowId>, at: DateTime<Utc>) -> Receipt<()> {
        self.writer.submit(move |db| transactions::request_poll(db, &transactions, at))
    }

    /// Says what a dashboard, by its process, has open: for whoever polls, until a moment; nothing any more if there is none.
    pub fn look_at(&self, viewer: u32, open: Option<(RowId, DateTime<Utc>)>, at: DateTime<Utc>) -> Receipt<()> {
        self.writer.submit(move |db| attention::look_at(db, viewer, open, at))
    }

    /// Asks whoever polls for a route, unless it is known already or can't be asked for now.
    pub fn ask_quote(&self, wish: QuoteWish) -> Receipt<Asked> {
        self.writer.submit(move |db| quotes::ask(db, &wish))
    }

    /// Takes on the sending of a route's request, once for all processes. Nothing if it isn't to be sent.
    pub fn claim_quote(&self, id: i64, at: DateTime<Utc>) -> Receipt<Option<QuoteRequest>> {
        self.writer.submit(move |db| quotes::claim(db, id, at))
    }

    /// Says that who wanted a route until `until` doesn't any more.
    pub fn withdraw_quote(&self, id: i64, until: DateTime<Utc>, at: DateTime<Utc>) -> Receipt<()> {
        self.writer.submit(move |db| quotes::withdraw(db, id, until, at))
    }

    /// Keeps the answer to a request for a route. On the disk before it is acknowledged: a transaction may follow it.
    pub fn answer_quote(&self, id: i64, observation: QuoteObservation, at: DateTime<Utc>) -> Receipt<()> {
        self.writer.submit_durable(move |db| quotes::answer(db, id, &observation, at))
    }

    /// Waits for everything that was submitted before: after it this process holds no lock on the store.
    pub fn flush(&self) -> Receipt<()> {
        self.writer.submit(|_| Ok(()))
    }

    /// Keeps what a poller says of itself.
    pub fn report(&self, profile: &str, report: PollerReport) -> Receipt<()> {
        let profile = profile.to_owned();
        self.writer.submit(move |db| pollers::write(db, &profile, &report))
    }
}

#[cfg(test)]
mod tests;
