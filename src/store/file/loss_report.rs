//! Detects that a store lost its log or its file while no process had it open. Reports the loss and keeps a copy of the
//! remaining data.
//!
//! Only a process with exclusive access to the store may call this module. It must never change the store's own files.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::{
    backup, connection,
    header::FileHeader,
    open_marker::ExitState,
    paths::{self, TIMESTAMP_FORMAT},
    recovery,
};
use crate::process::files;

/// Keeps a copy of a store without its WAL, or moves the backups of a missing store. Returns a notice for the person if
/// it did.
pub(crate) fn preserve_and_report(path: &Path, exit_state: &ExitState, at: DateTime<Utc>) -> Option<String> {
    match (exit_state, path.exists()) {
        (ExitState::Recovering(_), _) => None,
        (ExitState::Unclean, true) if is_wal_missing(path) => Some(copy_store_without_wal(path, at)),
        // An empty log holds nothing; what a longer log holds is recovered.
        (_, false) if paths::wal_size(path) == 0 => Some(move_backups_of_lost_store(path, at)),
        _ => None,
    }
}

/// Whether the store's file is missing, but its log or a backup exists.
pub(crate) fn is_lost_store(path: &Path) -> bool {
    !path.exists()
        && (paths::companion(path, "-wal").exists() || !backup::backups(path, DateTime::UNIX_EPOCH).is_empty())
}

/// Whether the store should have a log but has none. A process that opens a store for writing creates a log, and the
/// last process to close the store in order removes it. A restored backup has no log, and its header says so.
pub(crate) fn is_wal_missing(path: &Path) -> bool {
    if paths::companion(path, "-wal").exists() {
        return false;
    }
    // A file that can't be written never had a log.
    let is_read_only = path.metadata().is_ok_and(|file| file.permissions().readonly());
    !is_read_only && FileHeader::read(path).is_ok_and(|header| header.is_wal_mode)
}

fn copy_store_without_wal(path: &Path, at: DateTime<Utc>) -> String {
    let copy_path = recovery::unused_path(path, ".without-log-", at);
    let message = format!(
        "the store {} was not closed properly, and its write-ahead log is missing: the last changes may be lost",
        path.display()
    );
    match copy(path, &copy_path) {
        Ok(()) => format!("{message}; a copy of the file is kept as {}", copy_path.display()),
        Err(error) => format!("{message}; the file could not be copied: {error}"),
    }
}

fn copy(path: &Path, copy_path: &Path) -> io::Result<()> {
    let mut to = files::private_options().write(true).create_new(true).open(copy_path)?;
    let copied = io::copy(&mut File::open(path)?, &mut to).and_then(|_| to.sync_all());
    // An incomplete copy is useless.
    copied.inspect_err(|_| drop(fs::remove_file(copy_path)))
}

/// Moves the backups of a lost store to a folder of their own. In that folder, newer backups don't displace them, and no
/// recovery of the new store uses them.
fn move_backups_of_lost_store(path: &Path, at: DateTime<Utc>) -> String {
    let existing = backup::backups(path, at);
    let Some(newest) = existing.first() else {
        return format!(
            "the store {} is missing, so an empty one was created; it has no backup. If the file was moved, quit hoptop and move it back, or name it with --db",
            path.display()
        );
    };
    let folder = newest.path.with_file_name(format!("before-{}", at.format(TIMESTAMP_FORMAT)));
    let move_backup = |from: &Path| {
        files::create_private_folder(&folder)?;
        let to = from.file_name().map(|name| folder.join(name)).unwrap_or_default();
        fs::rename(from, &to).map(|()| to)
    };
    // The newest backup is moved last: if the process is killed before, the next start finds that backup and reports
    // the same.
    let outcome = existing.iter().rev().try_fold(PathBuf::new(), |_, backup| move_backup(&backup.path));
    let (newest, backups_text) = match outcome {
        Ok(moved) => (moved, format!("all its backups were moved to {}", folder.display())),
        Err(error) => (newest.path.clone(), format!("its backups can't be moved to a separate folder: {error}")),
    };
    if is_replica_backup(&newest) {
        return format!(
            "this machine's copy of the team's store, {}, was missing; hoptop loads it again when it reaches the team's store, and {backups_text}",
            path.display()
        );
    }
    format!(
        "the store {path} is missing, so an empty one was created; {backups_text}; the newest is {newest}; `hoptop --db {path} restore {newest}` restores it",
        path = path.display(),
        newest = newest.display()
    )
}

/// Returns whether a backup was made of a replica. An unreadable backup counts as one of a store of its own.
fn is_replica_backup(backup: &Path) -> bool {
    let opened = connection::open_for_reading(backup);
    let row = |db: Connection| db.query_row("SELECT EXISTS (SELECT 1 FROM replica)", [], |row| row.get(0));
    opened.is_ok_and(|db| row(db).unwrap_or(false))
}
