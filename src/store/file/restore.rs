//! Puts a backup in the place of a store. The store that was there is kept beside it.
//!
//! At every moment the path has a complete store, the previous one or the restored one. So a kill at any step leaves
//! one of them. The store must never be replaced while another process has it open, nor by a file that isn't sound.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use rusqlite::Connection;
use tempfile::TempPath;

use super::{
    connection, filesystem,
    integrity::{self, CheckDepth},
    migrate,
    open::{nearest_folder, resolve_links},
    open_marker::{ExitState, OpenMarker},
    paths::{self, COMPANIONS},
    recovery::unused_path,
};
use crate::{
    process::files,
    store::{
        error::{Result, StoreError},
        replica,
    },
};

/// Follows the store's name in the name of a restored copy that isn't in its place yet.
const UNFINISHED: &str = ".restoring-";
/// Follows the store's name in the name of the store that was there before.
const KEPT: &str = ".before-restore-";

/// The result of restoring a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    /// The number of transactions in the store now.
    pub transactions: u64,
    /// Whether the backup was made of a replica of a team's store. The restored store doesn't belong to the team.
    pub was_replica: bool,
    /// The size of the store in bytes.
    pub bytes: u64,
    /// The new path of the store that was there before, if there was one.
    pub kept: Option<PathBuf>,
}

/// Restores `backup` at `store`, at the moment `at`.
pub(crate) fn restore(backup: &Path, store: &Path, at: DateTime<Utc>) -> Result<RestoreReport> {
    let store = &resolve_links(store);
    let failed = |reason: String| StoreError::Restore { path: backup.to_owned(), reason };
    check_source(backup, store).map_err(failed)?;
    if let Some(kind) = filesystem::network_kind(nearest_folder(store)) {
        return Err(StoreError::Network { path: store.to_owned(), kind });
    }
    let copy = copy_to_store_folder(backup, store).map_err(|error| failed(format!("it can't be copied: {error}")))?;
    let (transactions, was_replica) = prepare_copy(&copy).map_err(failed)?;
    let publish = || -> io::Result<(u64, Option<PathBuf>)> {
        File::open(&copy)?.sync_all()?;
        let bytes = copy.metadata()?.len();
        let marker = OpenMarker::create(store)?;
        if marker.exclusive_state().is_none() {
            return Err(io::Error::other("another hoptop process has the store open; end it first"));
        }
        let kept = keep_previous_store(store, &marker, at)?;
        remove_unfinished(store, &copy);
        copy.persist(store).map_err(|error| error.error)?;
        paths::sync_folder(store)?;
        marker.write(&ExitState::Clean)?;
        Ok((bytes, kept))
    };
    let (bytes, kept) = publish().map_err(|error| failed(error.to_string()))?;
    tracing::info!(?kept, transactions, "backup restored");
    Ok(RestoreReport { transactions, was_replica, bytes, kept })
}

/// Checks that the file is neither the store itself nor a store in use.
fn check_source(backup: &Path, store: &Path) -> Result<(), String> {
    let about = backup.metadata().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "there is no such file; check the path".to_owned(),
        _ => error.to_string(),
    })?;
    if !about.is_file() {
        return Err("it is not a file; choose a backup, for example in the folder `backups` beside the store".into());
    }
    if about.len() == 0 {
        return Err("it is empty".into());
    }
    if matches!((backup.canonicalize(), store.canonicalize()), (Ok(one), Ok(other)) if one == other) {
        return Err("it is the store itself".into());
    }
    if paths::wal_size(backup) > 0 {
        let log = paths::companion(backup, "-wal");
        return Err(format!(
            "{} is the write-ahead log of a store with that name; make a backup of that store with `hoptop --db` and restore this",
            log.display()
        ));
    }
    Ok(())
}

/// Copies a file to a private file beside the store, which is removed unless it gets another name.
fn copy_to_store_folder(file: &Path, store: &Path) -> io::Result<TempPath> {
    let folder = files::folder_of(store);
    files::create_private_folder(folder)?;
    let mut prefix = store.file_name().unwrap_or_default().to_owned();
    prefix.push(UNFINISHED);
    let mut copy = tempfile::Builder::new().prefix(&prefix).tempfile_in(folder)?;
    io::copy(&mut File::open(file)?, copy.as_file_mut())?;
    Ok(copy.into_temp_path())
}

/// Checks that the copy is a sound store, and makes it a single file without a team. Returns the number of its
/// transactions, and whether the copy was a replica. The error is a reason without the path of the copy.
fn prepare_copy(copy: &Path) -> Result<(u64, bool), String> {
    let unreadable = |error: rusqlite::Error| error.to_string();
    let failed = |error: StoreError| match error {
        StoreError::Foreign { .. } => "it is the database of another program".to_owned(),
        StoreError::Newer { found, known, .. } => {
            format!("it has schema {found}, but this hoptop supports schemas up to {known}")
        }
        StoreError::Damaged { reason, .. } => reason,
        other => other.to_string(),
    };
    let target = Connection::open(copy).map_err(unreadable)?;
    connection::claim(&target, copy).map_err(failed)?;
    if migrate::version(&target).map_err(unreadable)? == 0 {
        return Err("it is empty".into());
    }
    if let Some(reason) = integrity::find_fault(&target, CheckDepth::Full).map_err(unreadable)? {
        return Err(format!("it is damaged: {reason}"));
    }
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'replica'";
    let knows_replicas: bool = target.query_row(sql, [], |row| row.get(0)).map_err(unreadable)?;
    let was_replica = knows_replicas && replica::is_replica(&target).map_err(failed)?;
    if was_replica {
        // The log of the team goes on without this store.
        replica::detach_from_team(&target).map_err(failed)?;
    }
    // The store must be a single file, without a log beside it.
    target.pragma_update(None, "journal_mode", "delete").map_err(unreadable)?;
    let count = integrity::count_transactions(&target).map_err(unreadable)?;
    target.close().map_err(|(_, error)| unreadable(error))?;
    Ok((count, was_replica))
}

/// Copies the present store to another name, with the content of its log. Removes the log, which SQLite would apply to
/// the restored store. Returns the path of the copy; `None` if there is no store.
fn keep_previous_store(store: &Path, marker: &OpenMarker, at: DateTime<Utc>) -> io::Result<Option<PathBuf>> {
    let has_companion = || COMPANIONS.iter().any(|ending| paths::companion(store, ending).exists());
    if !store.exists() && !has_companion() {
        return Ok(None);
    }
    // A damaged file is kept as it is.
    let is_usable = matches!(marker.exclusive_state(), Some(ExitState::Clean | ExitState::Unclean));
    if is_usable && has_companion() {
        checkpoint_log(store);
    }
    let kept = unused_path(store, KEPT, at);
    // Each file gets its name when it is whole, the log before the database that it belongs to.
    for ending in COMPANIONS.iter().chain(&[""]) {
        let (from, to) = (paths::companion(store, ending), paths::companion(&kept, ending));
        if from.exists() {
            let copy = copy_to_store_folder(&from, store)?;
            File::open(&copy)?.sync_all()?;
            copy.persist_noclobber(&to).map_err(|error| error.error)?;
        }
    }
    if is_usable && paths::wal_size(&kept) == 0 {
        make_single_file(&kept);
    }
    paths::sync_folder(store)?;
    if has_companion() {
        // After a kill the next start checks the file without its log, and recovers it if necessary.
        let name = kept.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        marker.write(&ExitState::Recovering(name))?;
        for ending in COMPANIONS {
            match fs::remove_file(paths::companion(store, ending)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(Some(kept))
}

/// Turns the copy of a store into a single file, like a backup: a file with a log can't be read without new files beside
/// it. After a failure the copy stays as it is.
fn make_single_file(copy: &Path) {
    let convert = || -> rusqlite::Result<String> {
        let connection = Connection::open(copy)?;
        let mode: String = connection.pragma_update_and_check(None, "journal_mode", "delete", |row| row.get(0))?;
        connection.close().map_err(|(_, error)| error)?;
        Ok(mode)
    };
    match convert() {
        Ok(mode) if mode == "delete" => {}
        Ok(mode) => tracing::warn!("the copy {} keeps the journal mode {mode}", copy.display()),
        Err(error) => tracing::warn!("the copy {} keeps its journal mode: {error}", copy.display()),
    }
}

/// Removes copies that killed processes left. The caller must hold the marker alone.
fn remove_unfinished(store: &Path, own: &Path) {
    let prefix = paths::companion(store, UNFINISHED);
    let is_left = |path: &Path| {
        path != own && path.as_os_str().as_encoded_bytes().starts_with(prefix.as_os_str().as_encoded_bytes())
    };
    let entries = fs::read_dir(files::folder_of(store)).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()).filter(|path| is_left(path)) {
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!("can't delete the unfinished copy {}: {error}", path.display());
        }
    }
}

/// Moves the content of the log into the file. After a failure both stay as they are.
fn checkpoint_log(store: &Path) {
    let checkpoint = || -> rusqlite::Result<()> {
        let connection = Connection::open(store)?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        connection.close().map_err(|(_, error)| error)
    };
    if let Err(error) = checkpoint() {
        tracing::warn!("the log of the former store can't be moved into its file: {error}");
    }
}
