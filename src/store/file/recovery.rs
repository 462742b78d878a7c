//! Recovers a damaged store: moves the damaged files to another name, and builds a sound store from the newest sound
//! backup and the readable rows.
//!
//! The damaged files must never be deleted or changed. Only called by a process that has the store alone. A recovery
//! that was killed at any step continues where it stopped.

use std::{
    fmt,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use rusqlite::Connection;
use tempfile::TempPath;

use super::{
    backup, connection,
    integrity::{self, CheckDepth},
    migrate,
    open_marker::{ExitState, OpenMarker},
    partial_recovery::{self, RecoveredRows},
    paths::{self, COMPANIONS, TIMESTAMP_FORMAT},
    recovery_source, sql_functions,
};
use crate::{
    process::files,
    store::error::{Result, StoreError},
};

const INTERRUPTED: &str = "an earlier recovery was interrupted";
/// Begins the reason of a repair that a person asked for. SQLite's own check doesn't find damaged values.
pub(crate) const DAMAGED_VALUES: &str = "damaged values";

/// The result of recovering a damaged store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recovery {
    pub path: PathBuf,
    /// What was wrong with the store.
    pub reason: String,
    /// The new path of the damaged file; its companions lie beside it.
    pub damaged_file: PathBuf,
    /// When the restored backup was made; `None` if none was restored.
    pub backup: Option<DateTime<Utc>>,
    /// The number of rows that were read from the damaged file.
    pub rows: u64,
    /// Whether some of the damaged file couldn't be read.
    pub has_holes: bool,
    /// The number of transactions in the store now.
    pub transactions: u64,
}

impl fmt::Display for Recovery {
    /// Writes one sentence for the person.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, reason, damaged_file, transactions, .. } = self;
        write!(out, "the store {} was damaged ({reason}) and has been recovered: ", path.display())?;
        let backup = self.backup.map(|at| format!("the backup of {}", at.format("%Y-%m-%d %H:%M UTC")));
        let recovered_rows = (self.rows > 0).then_some("rows that could still be read");
        match (backup, recovered_rows) {
            (Some(backup), Some(recovered_rows)) => {
                write!(out, "{transactions} transactions from {backup} and {recovered_rows}")
            }
            (Some(backup), None) => write!(out, "{transactions} transactions from {backup}; later changes are lost"),
            (None, Some(recovered_rows)) => write!(out, "{transactions} transactions from {recovered_rows}"),
            (None, None) if *transactions > 0 => write!(out, "the new store has {transactions} transactions"),
            (None, None) => {
                write!(out, "the new store is empty, because no rows could be read and no backup could be restored")
            }
        }?;
        write!(out, "; the damaged file is kept as {}", damaged_file.display())
    }
}

/// Returns the recovery that was complete when hoptop was stopped, before a person saw its report.
pub(crate) fn completed_recovery(
    path: &Path,
    exit_state: Option<&ExitState>,
    connection: &Connection,
) -> Option<Recovery> {
    let Some(ExitState::Recovering(name)) = exit_state else { return None };
    Some(Recovery {
        path: path.to_owned(),
        reason: INTERRUPTED.to_owned(),
        damaged_file: path.with_file_name(name),
        backup: None,
        rows: 0,
        has_holes: false,
        transactions: integrity::count_transactions(connection).unwrap_or_default(),
    })
}

/// Returns damage that shows in the files' sizes and in how the store was left. SQLite would take an empty file for a
/// new store, and drop the log beside it.
pub(crate) fn visible_damage(path: &Path, exit_state: &ExitState) -> Option<String> {
    let size = path.metadata().ok().map(|file| file.len());
    match (exit_state, size) {
        // The sound store is in its place already, perhaps with newer writes. It is checked like any other store.
        (ExitState::Recovering(name), Some(1..)) if path.with_file_name(name).exists() => None,
        (ExitState::Recovering(_), _) => Some(INTERRUPTED.into()),
        (_, Some(0)) => Some("its file is empty".into()),
        (ExitState::Damaged(reason), Some(_)) if reason.starts_with(DAMAGED_VALUES) => Some(reason.clone()),
        (_, None) if paths::wal_size(path) > 0 => Some("its file is missing, but its write-ahead log exists".into()),
        _ => None,
    }
}

/// Moves a damaged store to another name and builds a sound store in its place.
pub(crate) fn recover(path: &Path, reason: &str, marker: &OpenMarker, at: DateTime<Utc>) -> Result<Recovery> {
    let damaged_file = match marker.exclusive_state() {
        // If both files exist, the rebuilt store is damaged too, and needs a name other than that of the first damaged
        // file.
        Some(ExitState::Recovering(name)) if !(path.exists() && path.with_file_name(name).exists()) => {
            path.with_file_name(name)
        }
        _ => unused_path(path, ".damaged-", at),
    };
    let failed = |problem: &str, error: &dyn fmt::Display| StoreError::Damaged {
        path: path.to_owned(),
        reason: format!("{reason}; {problem}: {error}"),
    };
    let name = damaged_file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let announced = marker.write(&ExitState::Recovering(name));
    announced
        .and_then(|()| move_damaged_file(path, &damaged_file))
        .map_err(|error| failed("the damaged file can't be moved", &error))?;
    let later = format!(
        "the damaged file was moved to {}, but the store can't be rebuilt; the next start tries again",
        damaged_file.display()
    );
    let recovery = rebuild_store(path, reason, &damaged_file, at).map_err(|error| failed(&later, &error))?;
    marker.write(&ExitState::Unclean).map_err(|error| failed(&later, &error))?;
    tracing::error!("{recovery}");
    Ok(recovery)
}

/// Returns a name that no file has.
pub(crate) fn unused_path(path: &Path, word: &str, at: DateTime<Utc>) -> PathBuf {
    let first = paths::companion(path, &format!("{word}{}", at.format(TIMESTAMP_FORMAT)));
    if first.exists() { numbered_path(&first) } else { first }
}

/// Returns the name with the lowest number that no file has.
fn numbered_path(name: &Path) -> PathBuf {
    let mut candidates = (2_u32..).map(|number| paths::companion(name, &format!("-{number}")));
    candidates.find(|name| !name.exists()).unwrap_or_else(|| name.to_owned())
}

/// Renames the file and its companions. Files that an earlier attempt renamed stay.
fn move_damaged_file(path: &Path, damaged_file: &Path) -> io::Result<()> {
    let pairs = [""].into_iter().chain(COMPANIONS);
    for (from, to) in pairs.map(|ending| (paths::companion(path, ending), paths::companion(damaged_file, ending))) {
        match (from.exists(), to.exists()) {
            (true, false) => fs::rename(from, to)?,
            // SQLite would apply a log that is left there to the rebuilt store.
            (true, true) => fs::rename(from, numbered_path(&to))?,
            (false, _) => {}
        }
    }
    paths::sync_folder(path)
}

/// Builds the store under a temporary name, and gives it its final name once it is complete and synced.
fn rebuild_store(path: &Path, reason: &str, damaged_file: &Path, at: DateTime<Utc>) -> Result<Recovery> {
    let unfinished = paths::companion(path, ".mending");
    let (backup, mut target) = restore_newest(path, at, &unfinished)?;
    let mut source = recovery_source::open(damaged_file, &unfinished);
    let damaged_version = source.as_ref().and_then(|source| migrate::version(&source.connection).ok());
    let version = damaged_version.filter(|version| (1..=migrate::LATEST).contains(version)).unwrap_or(migrate::LATEST);
    // The rows of the damaged store must find the same columns that they have there.
    migrate::migrate(&mut target, version)?;
    if let Some(source) = &mut source
        && let Err(error) = source.repair_definitions(&target, damaged_file)
    {
        tracing::error!("the definitions of the damaged store's tables can't be repaired: {error}");
    }
    let recovered_rows = match &source {
        Some(source) => copy_readable_rows(&source.connection, &mut target)?,
        None => RecoveredRows { rows: 0, has_holes: true },
    };
    migrate::migrate(&mut target, migrate::LATEST)?;
    repair_from_backups(path, at, &target)?;
    // The index is of the backup's rows, and its progress of the damaged store.
    target.execute_batch(
        "INSERT INTO search (search) VALUES ('delete-all'); UPDATE search_progress SET indexed_to = 0;
         DELETE FROM search_outdated",
    )?;
    // A replica lacks what couldn't be read, whatever its position says: it begins again with a snapshot of the team's
    // store.
    target.execute("UPDATE replica SET seq = 0, nonce = ''", [])?;
    let transactions = integrity::count_transactions(&target)?;
    target.close().map_err(|(_, error)| error)?;
    let create = |source| StoreError::Create { path: path.to_owned(), source };
    File::open(&unfinished).and_then(|file| file.sync_all()).map_err(create)?;
    // A file that exists must never be overwritten, whichever process created it.
    let named = TempPath::try_from_path(&unfinished)
        .and_then(|unfinished| unfinished.persist_noclobber(path).map_err(|error| error.error));
    named.and_then(|()| paths::sync_folder(path)).map_err(create)?;
    let RecoveredRows { rows, has_holes } = recovered_rows;
    let (path, reason, damaged_file) = (path.to_owned(), reason.to_owned(), damaged_file.to_owned());
    Ok(Recovery { path, reason, damaged_file, backup, rows, has_holes, transactions })
}

/// Takes values that are still damaged from the newest backup that has them intact.
fn repair_from_backups(path: &Path, at: DateTime<Utc>, target: &Connection) -> Result<()> {
    target.pragma_update(None, "foreign_keys", false)?;
    sql_functions::register(target)?;
    for kept in backup::backups(path, at) {
        match partial_recovery::repair_rows(&kept.path, target) {
            Ok(0) => {}
            Ok(rows) => tracing::warn!("{rows} damaged rows were taken from the backup {}", kept.path.display()),
            Err(error) => tracing::error!("the backup {} can't be read: {error}", kept.path.display()),
        }
    }
    Ok(partial_recovery::delete_refetchable(target)?)
}

/// Copies the newest sound backup; creates a new store if there is none. Returns when the backup was made.
fn restore_newest(path: &Path, at: DateTime<Utc>, unfinished: &Path) -> Result<(Option<DateTime<Utc>>, Connection)> {
    for kept in backup::backups(path, at) {
        match restore(&kept.path, unfinished) {
            Ok(target) => return Ok((Some(kept.at), target)),
            Err(error) => tracing::error!("the backup {} can't be restored: {error}", kept.path.display()),
        }
    }
    create_empty(unfinished)?;
    let target = Connection::open(unfinished)?;
    connection::claim(&target, unfinished)?;
    Ok((None, target))
}

fn restore(kept: &Path, unfinished: &Path) -> Result<Connection> {
    let create = |source| StoreError::Create { path: unfinished.to_owned(), source };
    let mut copy = create_empty(unfinished)?;
    File::open(kept).and_then(|mut kept| io::copy(&mut kept, &mut copy)).map_err(create)?;
    drop(copy);
    let target = Connection::open(unfinished)?;
    connection::claim(&target, unfinished)?;
    match integrity::find_fault(&target, CheckDepth::Full)? {
        None => Ok(target),
        Some(reason) => Err(StoreError::Damaged { path: kept.to_owned(), reason }),
    }
}

/// Creates an empty file; discards what an earlier attempt left there.
fn create_empty(unfinished: &Path) -> Result<File> {
    let create = |source| StoreError::Create { path: unfinished.to_owned(), source };
    let journal = paths::companion(unfinished, "-journal");
    if journal.exists() {
        fs::remove_file(journal).map_err(create)?;
    }
    files::private_options().write(true).create(true).truncate(true).open(unfinished).map_err(create)
}

/// Copies the readable rows in one transaction. If the result isn't sound, nothing is copied.
fn copy_readable_rows(source: &Connection, target: &mut Connection) -> Result<RecoveredRows> {
    target.pragma_update(None, "foreign_keys", false)?;
    let transaction = target.transaction()?;
    let recovered_rows = partial_recovery::recover_rows(source, &transaction)?;
    match integrity::find_fault(&transaction, CheckDepth::Full)? {
        None => {
            transaction.commit()?;
            Ok(recovered_rows)
        }
        Some(reason) => {
            tracing::error!("the rows read from the damaged store are inconsistent and were discarded: {reason}");
            Ok(RecoveredRows { rows: 0, has_holes: true })
        }
    }
}
