//! Recovers a damaged store: moves the damaged files aside, and builds a sound store from the newest backup and the readable
//! rows.
//!
//! The damaged files must never be deleted or changed. Only called by a process that has the store alone. A recovery that was
//! killed at any step continues where it stopped.

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
    integrity::{self, Depth},
    migrate,
    open_marker::{Left, OpenMarker},
    partial_recovery::{self, RecoveredRows},
    paths::{self, STAMP},
};
use crate::{process::files, store::error::StoreError};

const STOPPED: &str = "hoptop was stopped during its recovery";
/// What SQLite keeps beside a store.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// What became of a damaged store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The store.
    pub path: PathBuf,
    /// What was wrong with it.
    pub reason: String,
    /// Where the damaged file is now, with its companions.
    pub aside: PathBuf,
    /// When the backup was made that was restored, if there was one.
    pub backup: Option<DateTime<Utc>>,
    /// How many rows could still be read of the damaged file.
    pub rows: u64,
    /// Whether some of it couldn't be read.
    pub has_holes: bool,
    /// How many transactions the store holds now.
    pub transactions: u64,
}

impl fmt::Display for Recovery {
    /// One sentence for the person.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, reason, aside, transactions, .. } = self;
        write!(out, "the store {} was damaged ({reason}) and has been recovered: ", path.display())?;
        let backup = self.backup.map(|at| format!("the backup of {}", at.format("%Y-%m-%d %H:%M UTC")));
        let recovered_rows = (self.rows > 0).then_some("what could still be read");
        match (backup, recovered_rows) {
            (Some(backup), Some(recovered_rows)) => {
                write!(out, "{transactions} transactions from {backup} and {recovered_rows}")
            }
            (Some(backup), None) => write!(out, "{transactions} transactions from {backup}; what came later is lost"),
            (None, Some(recovered_rows)) => write!(out, "{transactions} transactions from {recovered_rows}"),
            (None, None) if *transactions > 0 => write!(out, "{transactions} transactions stand in its place already"),
            (None, None) => write!(out, "it is empty, for nothing was read of it and no backup restored"),
        }?;
        write!(out, "; the damaged file is kept as {}", aside.display())
    }
}

/// What was recovered already when hoptop was stopped, before a person could see it.
pub(in crate::store) fn done_before(path: &Path, left: Option<&Left>, connection: &Connection) -> Option<Recovery> {
    let Some(Left::Recovering(name)) = left else { return None };
    Some(Recovery {
        path: path.to_owned(),
        reason: STOPPED.to_owned(),
        aside: path.with_file_name(name),
        backup: None,
        rows: 0,
        has_holes: false,
        transactions: integrity::count_transactions(connection).unwrap_or_default(),
    })
}

/// What is wrong with a store that only its files' sizes and how it was left tell. SQLite would take an empty file for a new
/// store, and drop the log beside it.
pub(in crate::store) fn in_sight(path: &Path, left: &Left) -> Option<String> {
    let size = path.metadata().ok().map(|file| file.len());
    match (left, size) {
        // A sound one is in its place already, perhaps with what was kept since: it is looked at like any other.
        (Left::Recovering(name), Some(1..)) if path.with_file_name(name).exists() => None,
        (Left::Recovering(_), _) => Some(STOPPED.into()),
        (_, Some(0)) => Some("its file is empty".into()),
        (_, None) if paths::log_size(path) > 0 => Some("its file is gone and its log is not".into()),
        _ => None,
    }
}

/// Moves a damaged store aside and builds a sound one in its place.
pub(in crate::store) fn recover(
    path: &Path,
    reason: &str,
    marker: &OpenMarker,
    at: DateTime<Utc>,
) -> Result<Recovery, StoreError> {
    let aside = match marker.alone() {
        // What was built is damaged itself: it is another file than the one that was moved aside.
        Some(Left::Recovering(name)) if !(path.exists() && path.with_file_name(name).exists()) => {
            path.with_file_name(name)
        }
        _ => unused(path, ".damaged-", at),
    };
    let failed = |what: &str, error: &dyn fmt::Display| StoreError::Damaged {
        path: path.to_owned(),
        reason: format!("{reason}; {what}: {error}"),
    };
    let name = aside.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let announced = marker.write(&Left::Recovering(name));
    announced.and_then(|()| move_aside(path, &aside)).map_err(|error| failed("it can't be moved aside", &error))?;
    let later = format!("it was moved to {} and can't be rebuilt; the next start tries again", aside.display());
    let mut recovery = build((path, at), &aside).map_err(|error| failed(&later, &error))?;
    marker.write(&Left::Abruptly).map_err(|error| failed(&later, &error))?;
    recovery.reason = reason.to_owned();
    tracing::error!("{recovery}");
    Ok(recovery)
}

/// A name that is nobody's yet.
pub(in crate::store) fn unused(path: &Path, word: &str, at: DateTime<Utc>) -> PathBuf {
    let first = paths::companion(path, &format!("{word}{}", at.format(STAMP)));
    if first.exists() { numbered(&first) } else { first }
}

/// The same name with the first number that is nobody's yet.
fn numbered(name: &Path) -> PathBuf {
    let mut numbered = (2_u32..).map(|number| paths::companion(name, &format!("-{number}")));
    numbered.find(|name| !name.exists()).unwrap_or_else(|| name.to_owned())
}

/// Renames the file and its companions; what was renamed by an earlier try stays.
fn move_aside(path: &Path, aside: &Path) -> io::Result<()> {
    let pairs = [""].into_iter().chain(COMPANIONS);
    for (from, to) in pairs.map(|ending| (paths::companion(path, ending), paths::companion(aside, ending))) {
        match (from.exists(), to.exists()) {
            (true, false) => fs::rename(from, to)?,
            // SQLite would bring a log that is left there into the store that is built.
            (true, true) => fs::rename(from, numbered(&to))?,
            (false, _) => {}
        }
    }
    paths::sync_folder(path)
}

/// Builds the store under another name, and gives it its own once it is whole and on the disk.
fn build((path, at): (&Path, DateTime<Utc>), aside: &Path) -> Result<Recovery, StoreError> {
    let unfinished = paths::companion(path, ".mending");
    let (backup, mut target) = base((path, at), &unfinished)?;
    let source = partial_recovery::open(aside, &unfinished);
    let damaged_version = source.as_ref().and_then(|source| migrate::version(&source.connection).ok());
    let version = damaged_version.filter(|version| (1..=migrate::LATEST).contains(version)).unwrap_or(migrate::LATEST);
    // What is read from the damaged store must find the columns that it has there.
    migrate::migrate(&mut target, version)?;
    let recovered_rows = match &source {
        Some(source) => take_over(&source.connection, &mut target)?,
        None => RecoveredRows { rows: 0, has_holes: true },
    };
    migrate::migrate(&mut target, migrate::LATEST)?;
    let transactions = integrity::count_transactions(&target)?;
    target.close().map_err(|(_, error)| error)?;
    let create = |source| StoreError::Create { path: path.to_owned(), source };
    File::open(&unfinished).and_then(|file| file.sync_all()).map_err(create)?;
    // Never over a file that is there, whoever put it there.
    let named = TempPath::try_from_path(&unfinished)
        .and_then(|unfinished| unfinished.persist_noclobber(path).map_err(|error| error.error));
    named.and_then(|()| paths::sync_folder(path)).map_err(create)?;
    let RecoveredRows { rows, has_holes } = recovered_rows;
    let (path, aside) = (path.to_owned(), aside.to_owned());
    Ok(Recovery { path, reason: String::new(), aside, backup, rows, has_holes, transactions })
}

/// The newest backup that is sound, copied; a new store if there is none.
fn base(
    (path, at): (&Path, DateTime<Utc>),
    unfinished: &Path,
) -> Result<(Option<DateTime<Utc>>, Connection), StoreError> {
    for kept in backup::kept(path, at) {
        match restore(&kept.path, unfinished) {
            Ok(target) => return Ok((Some(kept.at), target)),
            Err(error) => tracing::error!("the backup {} can't be restored: {error}", kept.path.display()),
        }
    }
    empty(unfinished)?;
    let target = Connection::open(unfinished)?;
    connection::claim(&target, unfinished)?;
    Ok((None, target))
}

fn restore(kept: &Path, unfinished: &Path) -> Result<Connection, StoreError> {
    let create = |source| StoreError::Create { path: unfinished.to_owned(), source };
    let mut copy = empty(unfinished)?;
    File::open(kept).and_then(|mut kept| io::copy(&mut kept, &mut copy)).map_err(create)?;
    drop(copy);
    let target = Connection::open(unfinished)?;
    connection::claim(&target, unfinished)?;
    match integrity::unsound(&target, Depth::Full)? {
        None => Ok(target),
        Some(reason) => Err(StoreError::Damaged { path: kept.to_owned(), reason }),
    }
}

/// An empty file of that name, whatever an earlier try left there.
fn empty(unfinished: &Path) -> Result<File, StoreError> {
    let create = |source| StoreError::Create { path: unfinished.to_owned(), source };
    let journal = paths::companion(unfinished, "-journal");
    if journal.exists() {
        fs::remove_file(journal).map_err(create)?;
    }
    files::private_options().write(true).create(true).truncate(true).open(unfinished).map_err(create)
}

/// Salvages in one transaction: what it leaves is sound, or it leaves nothing.
fn take_over(source: &Connection, target: &mut Connection) -> Result<RecoveredRows, StoreError> {
    target.pragma_update(None, "foreign_keys", false)?;
    let transaction = target.transaction()?;
    let recovered_rows = partial_recovery::partial_recovery(source, &transaction)?;
    match integrity::unsound(&transaction, Depth::Full)? {
        None => {
            transaction.commit()?;
            Ok(recovered_rows)
        }
        Some(reason) => {
            tracing::error!("what could still be read of the damaged store doesn't fit together: {reason}");
            Ok(RecoveredRows { rows: 0, has_holes: true })
        }
    }
}
