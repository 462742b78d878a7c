//! Backups: a copy of the store at one moment by SQLite's own means, verified before it gets its name.
//!
//! A backup that has its name is whole and sound: it is never written to again. It must never hold up whoever writes to
//! the store.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use rusqlite::{
    Connection,
    backup::{self, StepResult},
};
use tempfile::TempPath;

use super::{
    connection,
    integrity::{self, Depth},
    migrate,
    paths::{self, STAMP},
};
use crate::{
    process::files,
    store::error::{self, StoreError},
};

/// How many of the daily ones are kept.
const DAYS_KEPT: usize = 7;
/// How many of those before a change of the schema.
const SCHEMAS_KEPT: usize = 3;
/// When the next one is due.
const DAILY: TimeDelta = TimeDelta::hours(24);
/// How soon one that failed is tried again by whoever has done something else.
const RETRIED: TimeDelta = TimeDelta::hours(1);
/// Where it stands why the last one failed, by what follows the store's name.
const FAILED: &str = ".failed";
/// 4 MiB at a time: between two it can be called off.
const PAGES: i32 = 1_024;
/// How a copy is called until it is verified: by the name that it is to get, and this.
const UNFINISHED: &str = ".unfinished-";

/// A backup that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// How many transactions it holds.
    pub transactions: u64,
    /// How large it is.
    pub bytes: u64,
}

/// What happens to a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and no backup is made.
    Keep,
    /// The backup takes its place.
    Replace,
}

/// A backup that lies beside a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// The file.
    pub path: PathBuf,
    /// When it was made, by its name.
    pub at: DateTime<Utc>,
    /// The schema before whose change it was made; `None` of a daily one.
    pub before: Option<i64>,
}

/// Whether somebody who has done something else is to see to the day's backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackupDue {
    /// No: it is there, or there is nothing to keep, or another process is at it.
    No,
    /// Yes.
    Now,
    /// Not again so soon: the last one failed, for this reason.
    Failed(String),
}

/// Copies the store that `source` has open to a file that is sound, or isn't there. `goes_on` is asked from time to time.
pub(in crate::store) fn copy(
    source: &Connection,
    to: &Path,
    existing: Existing,
    goes_on: &dyn Fn() -> bool,
) -> Result<BackupReport, StoreError> {
    let failed = |reason: String| StoreError::Backup { path: to.to_owned(), reason };
    if existing == Existing::Keep && to.exists() {
        return Err(failed("the file exists already; name another, or replace it with --force".into()));
    }
    let log = paths::companion(to, "-wal");
    if log.exists() {
        // SQLite would bring it into the copy.
        let log = log.display();
        return Err(failed(format!("{log} belongs to a store of that name; name another file, or move the log away")));
    }
    let mut prefix = OsString::from(".");
    prefix.extend(to.file_name());
    prefix.push(UNFINISHED);
    let unfinished = tempfile::Builder::new().prefix(&prefix).tempfile_in(paths::folder_of(to));
    let unfinished = unfinished.map_err(|error| failed(error.to_string()))?.into_temp_path();
    let transactions = write(source, &unfinished, goes_on).map_err(|fault| match fault {
        Fault::CalledOff => failed("it was called off".into()),
        Fault::Copying(error) if error::is_damage(&error) => StoreError::from(error),
        Fault::Copying(error) => failed(error::reason(&error)),
        // The copy is as sound as what it was made of.
        Fault::Unsound(reason) => StoreError::Broken(reason),
    })?;
    let bytes = put_in_place(unfinished, to, existing).map_err(|error| failed(error.to_string()))?;
    Ok(BackupReport { transactions, bytes })
}

enum Fault {
    CalledOff,
    Copying(rusqlite::Error),
    Unsound(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Copying(error)
    }
}

/// Writes the copy and verifies it; returns how many transactions it holds.
fn write(source: &Connection, to: &Path, goes_on: &dyn Fn() -> bool) -> Result<u64, Fault> {
    let mut target = Connection::open(to)?;
    // Whatever happens to it before it has its name, it is made anew.
    target.pragma_update(None, "synchronous", "off")?;
    // One moment: whoever writes meanwhile goes on, and the copy needn't begin anew each time.
    let snapshot = source.unchecked_transaction()?;
    snapshot.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let copying = backup::Backup::new(&snapshot, &mut target)?;
    while copying.step(PAGES)? != StepResult::Done {
        if !goes_on() {
            return Err(Fault::CalledOff);
        }
    }
    drop(copying);
    snapshot.finish()?;
    // One file, without a log beside it.
    target.pragma_update(None, "journal_mode", "delete")?;
    if let Some(reason) = integrity::unsound(&target, Depth::Full)? {
        return Err(Fault::Unsound(reason));
    }
    let count = integrity::count_transactions(&target)?;
    if goes_on() { Ok(count) } else { Err(Fault::CalledOff) }
}

/// Gives a verified copy its name, once it is on the disk.
fn put_in_place(unfinished: TempPath, to: &Path, existing: Existing) -> io::Result<u64> {
    let file = File::open(&unfinished)?;
    file.sync_all()?;
    let bytes = file.metadata()?.len();
    match existing {
        Existing::Keep => unfinished.persist_noclobber(to).map_err(|error| error.error)?,
        Existing::Replace => unfinished.persist(to).map_err(|error| error.error)?,
    }
    paths::sync_folder(to)?;
    Ok(bytes)
}

/// The backups beside a store, the newest first. Those that a clock which was ahead dated after `now` come last.
pub(in crate::store) fn kept(store: &Path, now: DateTime<Utc>) -> Vec<Backup> {
    let entries = fs::read_dir(folder(store)).into_iter().flatten().flatten();
    let mut kept: Vec<Backup> = entries.filter_map(|entry| parse(store, entry.path())).collect();
    kept.sort_by_key(|kept| (kept.at > now, std::cmp::Reverse(kept.at)));
    kept
}

/// Makes the day's backup if it is due: of a store that holds something, by one process at a time. `None` if it isn't.
pub(in crate::store) fn daily(
    store: &Path,
    at: DateTime<Utc>,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<BackupReport>, StoreError> {
    let Some((source, _lock)) = begin(store, at)? else { return Ok(None) };
    sweep(store);
    match copy(&source, &name(store, at, None), Existing::Replace, goes_on) {
        Ok(report) => {
            prune(store, at);
            fs::remove_file(beside(store, FAILED)).ok();
            Ok(Some(report))
        }
        Err(error) => {
            if goes_on() {
                note(store, &error);
            }
            Err(error)
        }
    }
}

/// Leaves word of a failure for whoever comes next: who met it may have nobody to tell.
fn note(store: &Path, failure: &StoreError) {
    let written = files::private_options().write(true).create(true).truncate(true).open(beside(store, FAILED));
    if let Err(error) = written.and_then(|mut file| file.write_all(failure.to_string().as_bytes())) {
        tracing::warn!("nobody will know that {failure}: {error}");
    }
}

/// Whether the day's backup is to be made by somebody who has done something else.
pub(in crate::store) fn due(store: &Path, at: DateTime<Utc>) -> Result<BackupDue, StoreError> {
    if begin(store, at)?.is_none() {
        return Ok(BackupDue::No);
    }
    let failed = beside(store, FAILED);
    let since = failed.metadata().and_then(|file| file.modified()).map(|noted| at - DateTime::<Utc>::from(noted));
    Ok(match since {
        Ok(since) if since.abs() < RETRIED => BackupDue::Failed(fs::read_to_string(&failed).unwrap_or_default()),
        _ => BackupDue::Now,
    })
}

/// The store, open for reading, and the lock of whoever makes a backup, if one is due, there is something to keep, and nobody else
/// is at it.
fn begin(store: &Path, at: DateTime<Utc>) -> Result<Option<(Connection, File)>, StoreError> {
    if !is_due(store, at) {
        return Ok(None);
    }
    let source = connection::open_for_reading(store)?;
    if integrity::count_transactions(&source)? == 0 {
        return Ok(None);
    }
    let fault = |error: io::Error| StoreError::Backup { path: folder(store), reason: error.to_string() };
    let lock = lock_file(store).map_err(fault)?;
    // It may have been made between our look and the lock.
    let is_ours = lock.try_lock().is_ok() && is_due(store, at);
    Ok(is_ours.then_some((source, lock)))
}

/// The file that whoever makes a backup has locked, in a folder that is there.
fn lock_file(store: &Path) -> io::Result<File> {
    files::create_private_folder(&folder(store))?;
    files::private_options().write(true).create(true).truncate(false).open(beside(store, ".lock"))
}

/// A backup of what is to be brought to a new schema.
pub(in crate::store) fn before_migration(
    source: &Connection,
    store: &Path,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let from = migrate::version(source)?;
    let refused = |reason| StoreError::NotMigrated { path: store.to_owned(), from, reason };
    // Whoever makes the day's backup is done soon.
    let locked = lock_file(store).and_then(|lock| lock.lock().map(|()| lock));
    let _lock = locked.map_err(|error| refused(error.to_string()))?;
    match copy(source, &name(store, at, Some(from)), Existing::Replace, &|| true) {
        Ok(_) => prune(store, at),
        Err(StoreError::Backup { reason, .. }) => return Err(refused(reason)),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Backups from a clock that went ahead don't count: they would put the next one off for as long.
fn is_due(store: &Path, at: DateTime<Utc>) -> bool {
    kept(store, at).iter().find(|kept| kept.at <= at).is_none_or(|newest| at - newest.at >= DAILY)
}

/// Drops what is too many; and says so if it can't, since what is kept matters more.
fn prune(store: &Path, now: DateTime<Utc>) {
    let (daily, schemas): (Vec<Backup>, Vec<Backup>) =
        kept(store, now).into_iter().partition(|kept| kept.before.is_none());
    for old in daily.iter().skip(DAYS_KEPT).chain(schemas.iter().skip(SCHEMAS_KEPT)) {
        if let Err(error) = fs::remove_file(&old.path) {
            tracing::warn!("the old backup {} stays: {error}", old.path.display());
        }
    }
}

/// Removes copies that a process left unfinished when it was killed. Whoever calls it holds the lock.
fn sweep(store: &Path) {
    for entry in fs::read_dir(folder(store)).into_iter().flatten().flatten() {
        let file = entry.file_name();
        let name = file.to_str().and_then(|name| name.strip_prefix('.')).and_then(|name| name.split_once(UNFINISHED));
        let is_ours = name.is_some_and(|(name, _)| parse(store, entry.path().with_file_name(name)).is_some());
        if is_ours && let Err(error) = fs::remove_file(entry.path()) {
            tracing::warn!("{} stays: {error}", entry.path().display());
        }
    }
}

/// Where a store's backups lie.
fn folder(store: &Path) -> PathBuf {
    paths::folder_of(store).join(paths::BACKUPS)
}

fn beside(store: &Path, ending: &str) -> PathBuf {
    let mut name = store.file_name().map_or_else(OsString::new, OsString::from);
    name.push(ending);
    folder(store).join(name)
}

fn name(store: &Path, at: DateTime<Utc>, before: Option<i64>) -> PathBuf {
    let schema = before.map_or_else(String::new, |version| format!(".schema-{version}"));
    beside(store, &format!(".{}{schema}.backup", at.format(STAMP)))
}

fn parse(store: &Path, path: PathBuf) -> Option<Backup> {
    let prefix = format!("{}.", store.file_name()?.to_str()?);
    let words = path.file_name()?.to_str()?.strip_prefix(&prefix)?.strip_suffix(".backup")?;
    let (stamp, before) = match words.split_once(".schema-") {
        Some((stamp, version)) => (stamp, Some(version.parse().ok()?)),
        None => (words, None),
    };
    let at = NaiveDateTime::parse_from_str(stamp, STAMP).ok()?.and_utc();
    Some(Backup { path, at, before })
}
