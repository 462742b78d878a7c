//! Opens a store: alone or beside other processes, and recovered if it is damaged and the caller allows it.
//!
//! This module interprets faults of the file. It must never recover a file that another process may have open, nor a
//! file that isn't known to be a hoptop store.

use std::{
    fs, io,
    path::{self, Path, PathBuf},
    time::Duration,
};

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::{
    backup, connection, filesystem,
    header::FileHeader,
    integrity::CheckDepth,
    lock_wait, loss_report, migrate,
    open_marker::{ExitState, OpenMarker},
    paths,
    recovery::{self, Recovery},
};
use crate::store::error::{DISK_FULL, Result, StoreError, StoreFault};

/// The largest file, in bytes, that is checked at once if it wasn't closed in order: a tenth of a second at most. A
/// larger file is checked with the daily backup.
const QUICK_CHECK_MAX_BYTES: u64 = 32 << 20;

pub(crate) struct OpenStore {
    /// The path of the file, without links.
    pub(crate) path: PathBuf,
    /// The connection of the writer, or the reason why nothing is written.
    pub(crate) connection: Result<Connection, StoreFault>,
    /// Connects the writer after all, if the disk was only full.
    pub(crate) reconnect: Option<Reconnect>,
    pub(crate) marker: Option<OpenMarker>,
    pub(crate) recovery: Option<Recovery>,
    /// A notice for the person about missing data.
    pub(crate) notice: Option<String>,
}

/// Connects the writer; fails as long as the disk is full.
pub(crate) type Reconnect = Box<dyn Fn() -> Result<Connection> + Send + Sync>;

/// Opens the store at `path`. With `permanent_at` the store is permanent: it is recovered if it is damaged, and backed up
/// before its schema changes. A permanent store that can't be written is opened for reading.
pub(crate) fn open(path: &Path, permanent_at: Option<DateTime<Utc>>) -> Result<OpenStore> {
    let path = &resolve_links(path);
    if let Some(kind) = filesystem::network_kind(nearest_folder(path)) {
        return Err(StoreError::Network { path: path.to_owned(), kind });
    }
    if path.is_dir() {
        let reason = "it is a folder; choose a file in that folder".to_owned();
        return Err(StoreError::Open { path: path.to_owned(), reason });
    }
    if paths::is_backup(path) && path.exists() {
        return open_backup(path);
    }
    let mut marker = lock_marker(path)?;
    if marker.is_none() && permanent_at.is_some() && loss_report::is_lost_store(path) {
        marker = OpenMarker::create(path).ok();
    }
    if let Some(reason) = marker.as_ref().and_then(OpenMarker::reported_damage) {
        require_latest_schema(path)?;
        return share(path, Err(StoreFault::Damaged(reason)), marker);
    }
    let marker = wait_for_log(path, marker)?;
    let exit_state = marker.as_ref().and_then(OpenMarker::exclusive_state).cloned();
    if permanent_at.is_some() && exit_state.is_some() {
        backup::remove_abandoned(path);
    }
    let notice = exit_state
        .as_ref()
        .zip(permanent_at)
        .and_then(|(exit_state, at)| loss_report::preserve_and_report(path, exit_state, at));
    notice.iter().for_each(|notice| tracing::error!("{notice}"));
    Ok(OpenStore { notice, ..connect_or_recover(path, marker, exit_state, permanent_at)? })
}

fn connect_or_recover(
    path: &Path,
    marker: Option<OpenMarker>,
    exit_state: Option<ExitState>,
    permanent_at: Option<DateTime<Utc>>,
) -> Result<OpenStore> {
    let opened = match exit_state.as_ref().and_then(|exit_state| recovery::visible_damage(path, exit_state)) {
        Some(reason) => Err(StoreError::Damaged { path: path.to_owned(), reason }),
        None => connect(path, exit_state.as_ref(), permanent_at),
    };
    match (opened, permanent_at) {
        (Ok(connection), _) => {
            let recovery = recovery::completed_recovery(path, exit_state.as_ref(), &connection);
            Ok(OpenStore { recovery, ..share(path, Ok(connection), marker)? })
        }
        // This process can't complete the recovery, and other processes would wait for it.
        (Err(error @ (StoreError::Fault(StoreFault::ReadOnly(_)) | StoreError::DiskFull { .. })), _)
            if matches!(exit_state, Some(ExitState::Recovering(_))) =>
        {
            Err(error)
        }
        (Err(StoreError::Fault(fault @ StoreFault::ReadOnly(_))), Some(_)) => {
            require_latest_schema(path)?;
            share(path, Err(fault), marker)
        }
        (Err(error @ StoreError::DiskFull { .. }), Some(_)) => {
            require_latest_schema(path).map_err(|_| error)?;
            let shared = share(path, Err(StoreFault::CommitFailed(format!("{DISK_FULL}; free some space"))), marker)?;
            let path = path.to_owned();
            let reconnect: Reconnect = Box::new(move || connect(&path, exit_state.as_ref(), None));
            // Without a marker, other processes wouldn't know that the store is open. Recorded damage is for the next
            // start, which recovers the store.
            let can_reconnect = shared.marker.as_ref().is_some_and(|marker| marker.reported_damage().is_none());
            let reconnect = can_reconnect.then_some(reconnect);
            Ok(OpenStore { reconnect, ..shared })
        }
        (Err(StoreError::Damaged { reason, .. }), _) if marker.is_none() && !is_hoptop_store(path) => {
            Err(StoreError::Open { path: path.to_owned(), reason })
        }
        (Err(StoreError::Damaged { reason, .. }), Some(at)) => recover(path, &reason, marker, at),
        (Err(error), _) => Err(error),
    }
}

/// Resolves the links in a path, even if the file doesn't exist. SQLite's companion files lie beside the real file, not
/// beside a link.
pub(crate) fn resolve_links(path: &Path) -> PathBuf {
    /// The number of links in a row that Linux follows.
    const MAX_LINKS: usize = 40;
    let mut path = path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for _ in 0..MAX_LINKS {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        let Ok(target) = path.read_link() else { break };
        path = path.with_file_name(target);
    }
    let folder = nearest_folder(&path);
    let rest = path.strip_prefix(folder).unwrap_or(&path);
    folder.canonicalize().map_or_else(|_| path.clone(), |folder| folder.join(rest))
}

/// Returns the nearest folder of the path that exists.
pub(crate) fn nearest_folder(path: &Path) -> &Path {
    let mut folders = path.ancestors().skip(1).filter(|folder| folder.exists());
    // The folder of a bare file name is empty, and doesn't exist.
    folders.next().unwrap_or(Path::new("."))
}

/// Returns an error unless the store has the latest schema: a store that can't be written can't be migrated.
fn require_latest_schema(path: &Path) -> Result<()> {
    match migrate::version(&connection::open_for_reading(path)?)? {
        migrate::LATEST => Ok(()),
        _ => Err(StoreFault::ReadOnly(path.to_owned()).into()),
    }
}

fn connect(path: &Path, exit_state: Option<&ExitState>, permanent_at: Option<DateTime<Utc>>) -> Result<Connection> {
    let check = exit_state.and_then(|exit_state| check_depth(path, exit_state));
    let is_known = exit_state.is_some() && path.exists();
    make_log_writable(path);
    let mut connection = connection::open_for_writing(path, check, is_known)?;
    let version = migrate::version(&connection).map_err(|error| StoreError::from_open_error(path, &error))?;
    if let Some(at) = permanent_at.filter(|_| (1..migrate::LATEST).contains(&version)) {
        backup::before_migration(&connection, path, at)?;
    }
    connection::finish_opening(&mut connection, path)?;
    Ok(connection)
}

/// Makes the log of a writable store writable. SQLite creates the log with the store's permissions, so that a process
/// that read the store while it was read-only leaves a log that nobody can write.
fn make_log_writable(path: &Path) {
    let Some(store) = path.metadata().ok().map(|store| store.permissions()).filter(|store| !store.readonly()) else {
        return;
    };
    for file in paths::COMPANIONS.map(|ending| paths::companion(path, ending)) {
        if file.metadata().is_ok_and(|file| file.permissions().readonly())
            && let Err(error) = fs::set_permissions(&file, store.clone())
        {
            tracing::warn!("{} can't be made writable: {error}", file.display());
        }
    }
}

/// Returns the depth of the check, given how the store was left.
fn check_depth(path: &Path, exit_state: &ExitState) -> Option<CheckDepth> {
    let has_no_wal_file = || !paths::companion(path, "-wal").exists();
    let is_small = || path.metadata().is_ok_and(|file| file.len() <= QUICK_CHECK_MAX_BYTES);
    match exit_state {
        ExitState::Damaged(_) | ExitState::Recovering(_) => Some(CheckDepth::Full),
        ExitState::Unclean if path.exists() && (has_no_wal_file() || is_small()) => Some(CheckDepth::Quick),
        ExitState::Unclean | ExitState::Clean => None,
    }
}

fn recover(path: &Path, reason: &str, marker: Option<OpenMarker>, at: DateTime<Utc>) -> Result<OpenStore> {
    let create = |source| StoreError::Create { path: path.to_owned(), source };
    let marker = marker.map_or_else(|| OpenMarker::create(path), Ok).map_err(create)?;
    if marker.exclusive_state().is_none() {
        let reason = format!("{reason}; quit all hoptop processes that use it; the next start recovers it");
        return Err(StoreError::Damaged { path: path.to_owned(), reason });
    }
    let recovery = recovery::recover(path, reason, &marker, at)?;
    let opened = share(path, Ok(connect(path, None, Some(at))?), Some(marker))?;
    Ok(OpenStore { recovery: Some(recovery), ..opened })
}

/// Whether the file is a backup that no hoptop has opened for writing: complete in itself, and of the latest schema. No
/// process may have the file open as its store.
pub(crate) fn is_unused_backup(path: &Path) -> bool {
    let path = &resolve_links(path);
    let is_single_file = |header: FileHeader| {
        !header.is_wal_mode && header.schema == migrate::LATEST && header.application_id == connection::APPLICATION_ID
    };
    !OpenMarker::exists_for(path) && paths::wal_size(path) == 0 && FileHeader::read(path).is_ok_and(is_single_file)
}

/// Opens a backup for reading. A backup is never migrated, so one with an older schema can't be read.
pub(crate) fn open_backup(path: &Path) -> Result<OpenStore> {
    if path.metadata().is_ok_and(|about| about.len() == 0) {
        return Err(StoreError::Open { path: path.to_owned(), reason: "it is empty".into() });
    }
    let connection = connection::open_for_reading(path)?;
    connection::claim(&connection, path)?;
    match migrate::version(&connection)? {
        migrate::LATEST => {}
        found => return Err(StoreError::OldBackup { path: path.to_owned(), found }),
    }
    let connection = Err(StoreFault::IsBackup(path.to_owned()));
    Ok(OpenStore { path: path.to_owned(), connection, reconnect: None, marker: None, recovery: None, notice: None })
}

/// Admits other processes, now that the store is known to be sound or can't be written.
fn share(path: &Path, connection: Result<Connection, StoreFault>, marker: Option<OpenMarker>) -> Result<OpenStore> {
    let share_marker = || {
        let mut marker = marker.map_or_else(|| OpenMarker::create(path), Ok)?;
        if connection.is_ok() {
            marker.begin_writing()?;
        }
        marker.share()?;
        Ok(marker)
    };
    let marker = match share_marker() {
        Ok(marker) => Some(marker),
        Err(error) if is_unwritable(&error) || connection.is_err() => None,
        Err(source) => return Err(StoreError::Create { path: path.to_owned(), source }),
    };
    Ok(OpenStore { path: path.to_owned(), connection, reconnect: None, marker, recovery: None, notice: None })
}

fn lock_marker(path: &Path) -> Result<Option<OpenMarker>> {
    match OpenMarker::open(path) {
        // If the folder is a file, creating the store itself reports the fault later.
        Err(error) if is_unwritable(&error) || error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        marker => marker.map_err(|source| StoreError::Create { path: path.to_owned(), source }),
    }
}

/// Refuses a store whose log was removed while another process has the store open. A process that closes the store in
/// order removes the log too, so the log is looked for again for a moment.
fn wait_for_log(path: &Path, mut marker: Option<OpenMarker>) -> Result<Option<OpenMarker>> {
    const LIMIT: Duration = Duration::from_millis(1_500);
    for attempts in 0.. {
        let is_shared = marker.as_ref().is_some_and(|marker| marker.exclusive_state().is_none());
        if !is_shared || !loss_report::is_wal_missing(path) {
            break;
        }
        if !lock_wait::wait(attempts, LIMIT) {
            return Err(StoreError::LogGone { path: path.to_owned() });
        }
        drop(marker);
        marker = lock_marker(path)?;
        // A process that closes the store removes the log, and records that right after, unless this process keeps it from
        // being the last one.
        marker.iter_mut().for_each(OpenMarker::assume_closed);
    }
    Ok(marker)
}

fn is_unwritable(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | StorageFull)
}

/// Whether a file that can't be read as a database is still a hoptop store. No process may have the file open.
fn is_hoptop_store(path: &Path) -> bool {
    !backup::backups(path, DateTime::UNIX_EPOCH).is_empty()
        || FileHeader::read(path).is_ok_and(|header| header.application_id == connection::APPLICATION_ID)
}
