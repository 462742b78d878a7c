//! The SQLite store: the only channel between the poller and what shows or prints, and the only user of rusqlite.
//!
//! [`Store`] takes writes (one writer thread, a transaction per batch), [`Reader`] reads, and the change feed says what
//! changed. It keeps what it is given; it must never decide what an answer means or when to poll.

mod alerts;
mod attention;
mod backup;
mod bodies;
mod chains;
mod changes;
mod columns;
mod condition;
mod connection;
mod edits;
mod error;
pub mod filesystem;
mod follower;
mod forecasts;
mod functions;
mod health;
mod heralds;
mod import;
mod indexes;
mod keeper;
mod listing;
mod loss;
mod migrate;
mod minutes;
mod names;
mod notes;
mod observations;
mod opening;
mod order;
mod overview;
mod pauses;
mod pollers;
mod presence;
mod quotes;
mod reader;
mod records;
mod rescue;
mod salvage;
mod set_aside;
mod staged;
mod staging;
mod steps;
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
    alerts::AlertCounts,
    backup::{BackupReport, Due, Existing, Kept},
    changes::Feed,
    edits::{Edit, TakenBack},
    error::StoreError,
    follower::{Follower, News, SharedReader},
    forecasts::RouteStats,
    health::Trouble,
    heralds::HeraldState,
    import::{Foreseen, ImportReport, Tally},
    keeper::Keeper,
    listing::{Known, Listed, Listing, Page, Place, Progress},
    minutes::Minute,
    notes::Note,
    observations::{Dropped, OldBodies, StoredObservation},
    overview::Load,
    pollers::PollerReport,
    quotes::{Asked, QuoteWish, StoredQuote},
    reader::{HistoryLine, Lookup, Reader},
    rescue::Mended,
    staged::{Duplicate, Staged},
    staging::Staging,
    transactions::{Judge, Observed},
    writer::Receipt,
};
use self::{backup::Depth, health::Health, import::Import, presence::Presence, watcher::Watcher, writer::Writer};
use crate::{
    clock::Clock,
    domain::{
        alert::AlertStep,
        change::What,
        ids::RowId,
        observation::Observation,
        quote::{QuoteObservation, QuoteRequest},
        transaction::NewTransaction,
    },
};

/// A handle to one store. Cheap to clone; the last one to go waits for the writes that were begun.
#[derive(Clone)]
pub struct Store {
    path: Arc<PathBuf>,
    writer: Arc<Writer>,
    watcher: Arc<Watcher>,
    /// Goes after the writer: it says that the store was left in order.
    health: Arc<Health>,
    mended: Option<Arc<Mended>>,
    notice: Option<Arc<str>>,
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
    /// Whether no store was ever at `path`. Where that can't be told it isn't so: opening it says why.
    pub fn was_never_at(path: &Path) -> bool {
        matches!(path.try_exists(), Ok(false)) && !Presence::was_at(path)
    }

    /// Opens the store at `path`, and makes it with its folder if it isn't there. One that is damaged is refused: this is for
    /// what is thrown away, and for tests.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::start(opening::open(path, None)?)
    }

    /// Opens a store that is to last, at the moment `at`: if it is damaged it is mended ([`Store::mended`] says how), a backup
    /// comes before each change of its schema, and one that can't be written can be read.
    pub fn open_lasting(path: &Path, at: DateTime<Utc>) -> Result<Self, StoreError> {
        Self::start(opening::open(path, Some(at))?)
    }

    fn start(opened: opening::Opened) -> Result<Self, StoreError> {
        let path = opened.path.as_path();
        let health = Arc::new(Health::new(path, opened.presence));
        let watcher = Arc::new(Watcher::new(path.to_owned(), Arc::clone(&health)));
        let signal = Arc::clone(&watcher);
        let writer = match opened.connection {
            Ok(connection) => Writer::spawn(connection, (path.to_owned(), Arc::clone(&health)), move |commit| {
                signal.batch_ended(commit)
            })?,
            Err(trouble) => {
                health.note(&trouble);
                Writer::refusing(trouble)
            }
        };
        Ok(Self {
            path: Arc::new(path.to_owned()),
            writer: Arc::new(writer),
            watcher,
            health,
            mended: opened.mended.map(Arc::new),
            notice: opened.notice.map(Arc::from),
        })
    }

    /// What was done if the store was damaged when it was opened.
    pub fn mended(&self) -> Option<&Mended> {
        self.mended.as_deref()
    }

    /// What a person is to know of how the store was found when it was opened: that it was mended, or that something is
    /// missing.
    pub fn notice(&self) -> Option<String> {
        let mended = self.mended().map(ToString::to_string);
        let notices: Vec<String> = self.notice.iter().map(|notice| notice.to_string()).chain(mended).collect();
        (!notices.is_empty()).then(|| notices.join("; "))
    }

    /// What stands in the way of keeping things, if anything does. Subscribers are woken when that changes.
    pub fn trouble(&self) -> Option<Trouble> {
        self.health.trouble()
    }

    /// Takes a fault that a reader met into account: a damaged store isn't written to any more, and mended by the next start.
    pub fn note(&self, error: &StoreError) {
        if let StoreError::Broken(reason) = error {
            self.health.note(&Trouble::Broken(reason.clone()));
        }
    }

    /// Writes a verified copy of the store to a file; `goes_on` is asked from time to time, and nothing is left of a copy that
    /// was called off.
    pub fn backup(
        &self,
        to: &Path,
        existing: Existing,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<BackupReport, StoreError> {
        let copied = backup::copy(&connection::open_for_reading(&self.path)?, to, existing, goes_on);
        copied.inspect_err(|error| self.note(error))
    }

    /// Makes the day's backup if it is due; `goes_on` is asked from time to time. `None` if it isn't due, or nothing is kept
    /// yet.
    pub fn daily_backup(
        &self,
        at: DateTime<Utc>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<BackupReport>, StoreError> {
        backup::daily(&self.path, at, goes_on).inspect_err(|error| self.note(error))
    }

    /// Whether somebody who has done something else is to see to the day's backup.
    pub fn backup_due(&self, at: DateTime<Utc>) -> Result<Due, StoreError> {
        backup::due(&self.path, at)
    }

    /// As [`daily_backup`](Self::daily_backup), of a store that isn't opened for anything else: what ails it is left to others.
    pub fn daily_backup_of(
        path: &Path,
        at: DateTime<Utc>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<BackupReport>, StoreError> {
        backup::daily(path, at, goes_on)
    }

    /// Makes the day's backup whenever it is due, as long as the keeper is held.
    pub fn keep_backups(&self, clock: Clock) -> Result<Keeper, StoreError> {
        Keeper::start(self.path.to_path_buf(), Arc::downgrade(&self.health), clock)
    }

    /// Looks at every page, and returns what is wrong. A second for each gigabyte or so.
    pub fn check(&self) -> Result<Option<String>, StoreError> {
        let found = backup::unsound(&connection::open_for_reading(&self.path)?, Depth::Quick)?;
        found.iter().for_each(|reason| self.health.note(&Trouble::Broken(reason.clone())));
        Ok(found)
    }

    /// The bytes of the store's file and of the log beside it.
    pub fn sizes(&self) -> (u64, u64) {
        (self.path.metadata().map_or(0, |file| file.len()), connection::log_size(&self.path))
    }

    /// The backups beside the store, the newest first; those dated after `now` come last.
    pub fn backups(&self, now: DateTime<Utc>) -> Vec<Kept> {
        backup::kept(&self.path, now)
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

    /// Wakes whoever waits on it after each commit, of this process at once, of others within 250 ms, and when the trouble is
    /// another. It carries no news itself; read the feed.
    pub fn subscribe(&self) -> Result<watch::Receiver<u64>, StoreError> {
        self.watcher.subscribe()
    }

    /// The same, but for commits of this process that only say of transactions that they were polled and are as they were.
    pub fn subscribe_to_news(&self) -> Result<watch::Receiver<u64>, StoreError> {
        self.watcher.subscribe_to_news()
    }

    /// The same, but for commits of this process that only hold answers: for whoever is told of these by their receipts.
    pub fn subscribe_but_for_answers(&self) -> Result<watch::Receiver<u64>, StoreError> {
        self.watcher.subscribe_but_for_answers()
    }

    /// Tracks the transactions of a batch, all or none; what is known already is updated where it differs.
    pub fn import(&self, profile: &str, batch: Vec<NewTransaction>, at: DateTime<Utc>) -> Receipt<ImportReport> {
        let profile = profile.to_owned();
        self.writer.submit_durable(move |db| {
            let mut import = Import::new(db, &profile, at)?;
            batch.into_iter().try_for_each(|new| import.take(new))?;
            let (report, last) = import.finish()?;
            report.look_elsewhere(db, last)
        })
    }

    /// The same for a batch of any size, in bounded memory.
    pub fn import_staged(&self, profile: &str, staged: Staged, at: DateTime<Utc>) -> Receipt<ImportReport> {
        let profile = profile.to_owned();
        self.writer.submit_durable(move |db| {
            connection::with_room(db, || {
                let indexes = indexes::set_aside(db, staged.rows(), || import::novelty(db, &profile, &staged))?;
                let begin = if indexes.all_new() { Import::of_new } else { Import::new };
                let mut import = begin(db, &profile, at)?;
                staged.for_each(&mut |new| import.take(new))?;
                let (report, last) = import.finish()?;
                indexes.restore(db)?;
                report.look_elsewhere(db, last)
            })
        })
    }

    /// Keeps an answer: the observation, what it changes in the transaction, and what `judge` makes of that.
    pub fn observe(&self, seen: Seen, judge: Judge) -> Receipt<Observed> {
        self.writer.submit_telling(move |db| transactions::observe(db, &seen, judge))
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

    /// Removes transactions with all that is known of them; how many there were. This can't be taken back, and of what was kept
    /// nothing is left in the file; backups that were made before have it as long as they are kept.
    pub fn delete(&self, rows: Vec<RowId>, at: DateTime<Utc>) -> Receipt<usize> {
        self.writer.submit_durable(move |db| connection::wiping(db, || transactions::delete(db, &rows, at)))
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

    /// Wants nothing of a profile polled until then but what people ask for; without a moment it is polled again.
    pub fn pause(&self, profile: &str, until: Option<DateTime<Utc>>) -> Receipt<()> {
        let profile = profile.to_owned();
        self.writer.submit(move |db| pauses::pause(db, &profile, until))
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

    /// Keeps how far a way out of a profile's alerts is.
    pub fn herald_at(&self, profile: &str, state: HeraldState) -> Receipt<()> {
        let profile = profile.to_owned();
        self.writer.submit(move |db| heralds::write(db, &profile, &state))
    }

    /// Keeps what a poller says of itself. With it what was snoozed until a moment that has come is brought back, for those who
    /// follow the feed and for the order of lists; what an alert's state is doesn't wait for it.
    pub fn report(&self, profile: &str, report: PollerReport) -> Receipt<()> {
        let profile = profile.to_owned();
        self.writer.submit(move |db| {
            pollers::write(db, &profile, &report)?;
            set_aside::end_snoozes(db, report.at)
        })
    }
}

#[cfg(test)]
mod tests;
