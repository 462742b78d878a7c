//! Backups: a copy of one snapshot of the store by SQLite's backup API, verified before it gets its final name.
//!
//! A backup with its final name is complete and sound, and is never written to again. Making a backup must never block
//! writers of the store.

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
    integrity::{self, CheckDepth},
    lock_wait, migrate,
    paths::{self, TIMESTAMP_FORMAT},
};
use crate::{
    process::{self, files},
    store::error::{self, Result, StoreError, StoreFault},
};

/// The number of daily backups that are kept.
const DAYS_KEPT: usize = 7;
/// The number of backups before a change of the schema that are kept.
const SCHEMAS_KEPT: usize = 3;
/// The age of the newest backup at which the next backup is due.
const DAILY_INTERVAL: TimeDelta = TimeDelta::hours(24);
/// How soon after a failure a process that has finished its own command tries again.
const RETRY_AFTER: TimeDelta = TimeDelta::hours(1);
/// The ending, after the store's name, of the file that holds the reason of the last failure.
const FAILURE_FILE: &str = ".failed";
/// The number of pages per step: 4 MiB. Between steps the copy can be cancelled.
const PAGES_PER_STEP: i32 = 1_024;
/// Follows the final name in the name of a copy that isn't verified yet.
const UNFINISHED: &str = ".unfinished-";

/// The result of making a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    pub transactions: u64,
    /// The size of the backup in bytes.
    pub bytes: u64,
}

/// What to do with a file that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingFilePolicy {
    /// The file stays, and no backup is made.
    Keep,
    Replace,
}

/// A backup in the folder of a store's backups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backup {
    pub path: PathBuf,
    /// When the backup was made, according to its name.
    pub at: DateTime<Utc>,
    /// The schema version before the change that the backup precedes; `None` for a daily backup.
    pub before: Option<i64>,
}

/// Whether a process that has finished its own command should make the daily backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackupDue {
    /// No: the backup exists, the store is empty, or another process is making the backup.
    No,
    /// Yes.
    Now,
    /// Not yet: the last attempt failed a short time ago, for this reason.
    Failed(String),
}

/// Copies the store that `source` has open to the file `to`. The file is verified, or isn't written. `should_continue`
/// is called from time to time: `false` cancels the copy.
pub(crate) fn copy(
    source: &Connection,
    to: &Path,
    existing: ExistingFilePolicy,
    should_continue: &dyn Fn() -> bool,
) -> Result<BackupReport> {
    let failed = |reason: String| StoreError::Backup { path: to.to_owned(), reason };
    if existing == ExistingFilePolicy::Keep && to.exists() {
        return Err(failed("the file already exists; choose another name, or replace it with --force".into()));
    }
    let log = paths::companion(to, "-wal");
    if log.exists() {
        // SQLite would apply this log to the copy.
        let log = log.display();
        return Err(failed(format!(
            "{log} is the write-ahead log of a store with that name; choose another name, or move the log away"
        )));
    }
    let mut prefix = OsString::from(".");
    prefix.extend(to.file_name());
    prefix.push(UNFINISHED);
    let folder = files::folder_of(to);
    if !folder.is_dir() {
        return Err(failed("there is no such folder; create it or choose another name".into()));
    }
    let unfinished = tempfile::Builder::new().prefix(&prefix).tempfile_in(folder);
    let unfinished = unfinished.map_err(|error| failed(error.to_string()))?.into_temp_path();
    let transactions = write(source, &unfinished, should_continue).map_err(|error| match error {
        StoreError::Sql(error) => failed(error::reason(&error)),
        // A copy is exactly as sound as its source.
        damage => damage,
    })?;
    let transactions = transactions.ok_or_else(|| failed("it was cancelled".into()))?;
    let bytes = publish(unfinished, to, existing).map_err(|error| failed(error.to_string()))?;
    Ok(BackupReport { transactions, bytes })
}

/// Writes the copy and verifies it. Returns the number of transactions in the copy; `None` if it was cancelled.
fn write(source: &Connection, to: &Path, should_continue: &dyn Fn() -> bool) -> Result<Option<u64>> {
    let mut target = Connection::open(to)?;
    // No syncs: a copy that has no final name yet is never continued, but made again.
    target.pragma_update(None, "synchronous", "off")?;
    // One snapshot: writers continue meanwhile, and the copy doesn't restart after each commit.
    let snapshot = source.unchecked_transaction()?;
    snapshot.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let copying = backup::Backup::new(&snapshot, &mut target)?;
    while copying.step(PAGES_PER_STEP)? != StepResult::Done {
        if !should_continue() {
            return Ok(None);
        }
    }
    drop(copying);
    snapshot.finish()?;
    // The copy must be a single file, without a log beside it.
    target.pragma_update(None, "journal_mode", "delete")?;
    if let Some(reason) = integrity::find_fault(&target, CheckDepth::Full)? {
        return Err(StoreFault::Damaged(reason).into());
    }
    let count = integrity::count_transactions(&target)?;
    Ok(should_continue().then_some(count))
}

/// Syncs a verified copy to the disk and gives it its final name. Returns its size in bytes.
fn publish(unfinished: TempPath, to: &Path, existing: ExistingFilePolicy) -> io::Result<u64> {
    let file = File::open(&unfinished)?;
    file.sync_all()?;
    let bytes = file.metadata()?.len();
    match existing {
        ExistingFilePolicy::Keep => unfinished.persist_noclobber(to).map_err(|error| error.error)?,
        ExistingFilePolicy::Replace => unfinished.persist(to).map_err(|error| error.error)?,
    }
    paths::sync_folder(to)?;
    Ok(bytes)
}

/// Lists the backups beside a store, the newest first. Backups that a wrong clock dated after `now` come last.
pub(crate) fn backups(store: &Path, now: DateTime<Utc>) -> Vec<Backup> {
    let entries = fs::read_dir(folder(store)).into_iter().flatten().flatten();
    let mut kept: Vec<Backup> = entries.filter_map(|entry| parse(store, entry.path())).collect();
    kept.sort_by_key(|kept| (kept.at > now, std::cmp::Reverse(kept.at)));
    kept
}

/// Makes the daily backup if it is due. Only one process at a time makes it, and only if the store has transactions.
/// Returns `None` otherwise.
pub(crate) fn make_daily(
    store: &Path,
    at: DateTime<Utc>,
    should_continue: &dyn Fn() -> bool,
) -> Result<Option<BackupReport>> {
    let Some((source, _lock)) = open_if_due(store, at)? else { return Ok(None) };
    remove_unfinished(store);
    match copy(&source, &backup_path(store, at, None), ExistingFilePolicy::Replace, should_continue) {
        Ok(report) => {
            prune(store, at);
            fs::remove_file(path_with_ending(store, FAILURE_FILE)).ok();
            Ok(Some(report))
        }
        Err(error) => {
            if should_continue() {
                save_failure(store, &error);
            }
            Err(error)
        }
    }
}

/// Saves the reason of a failure for the next process: this process may have no way to report it.
fn save_failure(store: &Path, failure: &StoreError) {
    let written =
        files::private_options().write(true).create(true).truncate(true).open(path_with_ending(store, FAILURE_FILE));
    if let Err(error) = written.and_then(|mut file| file.write_all(failure.to_string().as_bytes())) {
        tracing::warn!("failed to record the backup failure ({failure}): {error}");
    }
}

/// Whether a process that has finished its own command should make the daily backup.
pub(crate) fn check_due(store: &Path, at: DateTime<Utc>) -> Result<BackupDue> {
    if open_if_due(store, at)?.is_none() {
        return Ok(BackupDue::No);
    }
    let failed = path_with_ending(store, FAILURE_FILE);
    let since = failed.metadata().and_then(|file| file.modified()).map(|noted| at - DateTime::<Utc>::from(noted));
    Ok(match since {
        Ok(since) if since.abs() < RETRY_AFTER => BackupDue::Failed(fs::read_to_string(&failed).unwrap_or_default()),
        _ => BackupDue::Now,
    })
}

/// Opens the store for reading and locks the making of backups. Returns `None` unless a backup is due, the store has
/// transactions, and no other process makes a backup.
fn open_if_due(store: &Path, at: DateTime<Utc>) -> Result<Option<(Connection, File)>> {
    if !is_due(store, at) {
        return Ok(None);
    }
    let source = connection::open_for_reading(store)?;
    if integrity::count_transactions(&source)? == 0 {
        return Ok(None);
    }
    let fault = |error: io::Error| StoreError::Backup { path: folder(store), reason: error.to_string() };
    let lock = lock_file(store).map_err(fault)?;
    // Another process may have made the backup between the check and the lock.
    let is_ours = lock.try_lock().is_ok() && is_due(store, at);
    Ok(is_ours.then_some((source, lock)))
}

/// Opens the file that a process locks while it makes a backup. Creates the file and its folder if necessary.
fn lock_file(store: &Path) -> io::Result<File> {
    files::create_private_folder(&folder(store))?;
    files::private_options().write(true).create(true).truncate(false).open(path_with_ending(store, ".lock"))
}

/// Makes a backup before the schema of the store changes.
pub(crate) fn before_migration(source: &Connection, store: &Path, at: DateTime<Utc>) -> Result<()> {
    let from = migrate::version(source)?;
    let refused = |reason| StoreError::NotMigrated { path: store.to_owned(), from, reason };
    // Another process that makes the daily backup finishes soon.
    let locked = lock_file(store).and_then(|lock| {
        lock_wait::wait_until(|| process::lock::try_lock(&lock))?;
        Ok(lock)
    });
    let _lock = locked.map_err(|error| refused(error.to_string()))?;
    match copy(source, &backup_path(store, at, Some(from)), ExistingFilePolicy::Replace, &|| true) {
        Ok(_) => prune(store, at),
        Err(StoreError::Backup { reason, .. }) => return Err(refused(reason)),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Whether a backup is due. Backups with a date in the future don't count: they would delay the next backup.
fn is_due(store: &Path, at: DateTime<Utc>) -> bool {
    backups(store, at).iter().find(|kept| kept.at <= at).is_none_or(|newest| at - newest.at >= DAILY_INTERVAL)
}

/// Deletes surplus backups. A failure is only logged, since the remaining backups matter more.
fn prune(store: &Path, now: DateTime<Utc>) {
    let (daily, schemas): (Vec<Backup>, Vec<Backup>) =
        backups(store, now).into_iter().partition(|kept| kept.before.is_none());
    for old in daily.iter().skip(DAYS_KEPT).chain(schemas.iter().skip(SCHEMAS_KEPT)) {
        if let Err(error) = fs::remove_file(&old.path) {
            tracing::warn!("can't delete the old backup {}: {error}", old.path.display());
        }
    }
}

/// Removes copies that killed processes left unfinished, unless a process makes a backup now.
pub(crate) fn remove_abandoned(store: &Path) {
    let is_abandoned = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().contains(UNFINISHED);
    // Most starts find nothing, and take no lock.
    if fs::read_dir(folder(store)).into_iter().flatten().flatten().any(|entry| is_abandoned(&entry))
        && let Ok(lock) = lock_file(store)
        && lock.try_lock().is_ok()
    {
        remove_unfinished(store);
    }
}

/// Removes copies that killed processes left unfinished. The caller must hold the backup lock.
fn remove_unfinished(store: &Path) {
    for entry in fs::read_dir(folder(store)).into_iter().flatten().flatten() {
        let file = entry.file_name();
        let name = file.to_str().and_then(|name| name.strip_prefix('.')).and_then(|name| name.split_once(UNFINISHED));
        let is_ours = name.is_some_and(|(name, _)| parse(store, entry.path().with_file_name(name)).is_some());
        if is_ours && let Err(error) = fs::remove_file(entry.path()) {
            tracing::warn!("can't delete the unfinished backup {}: {error}", entry.path().display());
        }
    }
}

/// Returns the folder of a store's backups.
fn folder(store: &Path) -> PathBuf {
    files::folder_of(store).join(paths::BACKUP_FOLDER)
}

fn path_with_ending(store: &Path, ending: &str) -> PathBuf {
    let mut name = store.file_name().map_or_else(OsString::new, OsString::from);
    name.push(ending);
    folder(store).join(name)
}

fn backup_path(store: &Path, at: DateTime<Utc>, before: Option<i64>) -> PathBuf {
    let schema = before.map_or_else(String::new, |version| format!(".schema-{version}"));
    path_with_ending(store, &format!(".{}{schema}.backup", at.format(TIMESTAMP_FORMAT)))
}

fn parse(store: &Path, path: PathBuf) -> Option<Backup> {
    let prefix = format!("{}.", store.file_name()?.to_str()?);
    let words = path.file_name()?.to_str()?.strip_prefix(&prefix)?.strip_suffix(".backup")?;
    let (stamp, before) = match words.split_once(".schema-") {
        Some((stamp, version)) => (stamp, Some(version.parse().ok()?)),
        None => (words, None),
    };
    let at = NaiveDateTime::parse_from_str(stamp, TIMESTAMP_FORMAT).ok()?.and_utc();
    Some(Backup { path, at, before })
}
