//! Opens a store: alone or beside other processes, as it was left, and recovered if it is damaged and the caller allows it.
//!
//! It decides what the fault of a file means; it must never recover a file that another process may have open, nor one that
//! isn't known to be a hoptop store.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{self, Path, PathBuf},
};

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::{
    backup, connection, filesystem,
    health::Trouble,
    integrity::Depth,
    loss_report, migrate,
    open_marker::{Left, OpenMarker},
    paths,
    recovery::{self, Recovery},
};
use crate::store::error::{NO_ROOM, StoreError};

/// A store that wasn't left in order is looked at whole up to this size: a tenth of a second at most. A larger one is looked
/// at with the day's backup.
const QUICKLY_CHECKED: u64 = 32 << 20;
/// Where `PRAGMA application_id` stands in the file.
const APPLICATION_ID_AT: u64 = 68;

/// A store that is open.
pub(in crate::store) struct Opened {
    /// Where it really is.
    pub(in crate::store) path: PathBuf,
    /// For its writer, or why nothing is written.
    pub(in crate::store) connection: Result<Connection, Trouble>,
    pub(in crate::store) marker: Option<OpenMarker>,
    pub(in crate::store) recovery: Option<Recovery>,
    /// What is missing of it.
    pub(in crate::store) notice: Option<String>,
}

/// Opens the store at `path`. With a moment it is one that is to last: it is recovered if it is damaged, backed up before its
/// schema changes, and opened for reading if it can't be written.
pub(in crate::store) fn open(path: &Path, lasting_at: Option<DateTime<Utc>>) -> Result<Opened, StoreError> {
    let path = &resolve(path);
    if let Some(kind) = filesystem::network(folder_of(path)) {
        return Err(StoreError::Network { path: path.to_owned(), kind });
    }
    if paths::is_backup(path) && path.exists() {
        return open_backup(path);
    }
    let marker = enter(path)?;
    if let Some(reason) = marker.as_ref().and_then(OpenMarker::suspicion) {
        make_sure_it_is_current(path)?;
        return share(path, Err(Trouble::Broken(reason)), marker);
    }
    let left = marker.as_ref().and_then(OpenMarker::alone).cloned();
    let notice = left.as_ref().zip(lasting_at).and_then(|(left, at)| loss_report::notice(path, left, at));
    notice.iter().for_each(|notice| tracing::error!("{notice}"));
    Ok(Opened { notice, ..start(path, (marker, left), lasting_at)? })
}

fn start(
    path: &Path,
    (marker, left): (Option<OpenMarker>, Option<Left>),
    lasting_at: Option<DateTime<Utc>>,
) -> Result<Opened, StoreError> {
    let opened = match left.as_ref().and_then(|left| recovery::in_sight(path, left)) {
        Some(reason) => Err(StoreError::Damaged { path: path.to_owned(), reason }),
        None => connect(path, left.as_ref(), lasting_at),
    };
    match (opened, lasting_at) {
        (Ok(connection), _) => {
            let recovery = recovery::done_before(path, left.as_ref(), &connection);
            Ok(Opened { recovery, ..share(path, Ok(connection), marker)? })
        }
        (Err(StoreError::ReadOnly { .. }), Some(_)) => {
            make_sure_it_is_current(path)?;
            share(path, Err(Trouble::ReadOnly(path.to_owned())), marker)
        }
        (Err(error @ StoreError::NoRoom { .. }), Some(_)) => {
            make_sure_it_is_current(path).map_err(|_| error)?;
            share(path, Err(Trouble::NotKept(format!("{NO_ROOM}; make some, and start hoptop again"))), marker)
        }
        (Err(StoreError::Damaged { reason, .. }), _) if marker.is_none() && !is_ours(path) => {
            Err(StoreError::Open { path: path.to_owned(), reason })
        }
        (Err(StoreError::Damaged { reason, .. }), Some(at)) => recover(path, &reason, marker, at),
        (Err(error), _) => Err(error),
    }
}

/// The file that a name leads to, there or not: what lies beside a link is not what lies beside the store.
fn resolve(path: &Path) -> PathBuf {
    /// As many links in a row as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut path = path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for _ in 0..MOST_LINKS {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        let Ok(target) = path.read_link() else { break };
        path = path.with_file_name(target);
    }
    let folder = folder_of(&path);
    let rest = path.strip_prefix(folder).unwrap_or(&path);
    folder.canonicalize().map_or_else(|_| path.clone(), |folder| folder.join(rest))
}

/// The folder that the store lies in, or that its own will lie in.
fn folder_of(path: &Path) -> &Path {
    let mut folders = path.ancestors().skip(1).filter(|folder| folder.exists());
    // Of a bare name the folder is empty, and doesn't exist.
    folders.next().unwrap_or(Path::new("."))
}

/// A store that can't be brought to our schema must have it already.
fn make_sure_it_is_current(path: &Path) -> Result<(), StoreError> {
    match migrate::version(&connection::open_for_reading(path)?)? {
        migrate::LATEST => Ok(()),
        _ => Err(StoreError::ReadOnly { path: path.to_owned() }),
    }
}

fn connect(path: &Path, left: Option<&Left>, lasting_at: Option<DateTime<Utc>>) -> Result<Connection, StoreError> {
    let check = left.and_then(|left| depth(path, left));
    let is_known = left.is_some() && path.exists();
    let mut connection = connection::open_for_writing(path, check, is_known)?;
    let version = migrate::version(&connection).map_err(|error| StoreError::opening(path, &error))?;
    if let Some(at) = lasting_at.filter(|_| (1..migrate::LATEST).contains(&version)) {
        backup::before_migration(&connection, path, at)?;
    }
    connection::finish_opening(&mut connection, path)?;
    Ok(connection)
}

/// How closely a store is looked at, by how it was left.
fn depth(path: &Path, left: &Left) -> Option<Depth> {
    let has_lost_its_log = || !paths::companion(path, "-wal").exists();
    let is_small = || path.metadata().is_ok_and(|file| file.len() <= QUICKLY_CHECKED);
    match left {
        Left::Suspect(_) | Left::Recovering(_) => Some(Depth::Full),
        Left::Abruptly if path.exists() && (has_lost_its_log() || is_small()) => Some(Depth::Quick),
        Left::Abruptly | Left::Clean => None,
    }
}

fn recover(path: &Path, reason: &str, marker: Option<OpenMarker>, at: DateTime<Utc>) -> Result<Opened, StoreError> {
    let create = |source| StoreError::Create { path: path.to_owned(), source };
    let marker = marker.map_or_else(|| OpenMarker::create(path), Ok).map_err(create)?;
    if marker.alone().is_none() {
        let reason = format!("{reason}; end every hoptop that has it open, and the next start recovers it");
        return Err(StoreError::Damaged { path: path.to_owned(), reason });
    }
    let recovery = recovery::recover(path, reason, &marker, at)?;
    let opened = share(path, Ok(connect(path, None, Some(at))?), Some(marker))?;
    Ok(Opened { recovery: Some(recovery), ..opened })
}

/// A backup is looked at as it is, and stays so: nobody else writes to it.
fn open_backup(path: &Path) -> Result<Opened, StoreError> {
    make_sure_it_is_current(path)?;
    let connection = Err(Trouble::ReadOnly(path.to_owned()));
    Ok(Opened { path: path.to_owned(), connection, marker: None, recovery: None, notice: None })
}

/// Lets others in, now that the store is known to be sound.
fn share(
    path: &Path,
    connection: Result<Connection, Trouble>,
    marker: Option<OpenMarker>,
) -> Result<Opened, StoreError> {
    let present = || {
        let mut marker = marker.map_or_else(|| OpenMarker::create(path), Ok)?;
        marker.share()?;
        Ok(marker)
    };
    let marker = match present() {
        Ok(marker) => Some(marker),
        Err(error) if is_unwritable(&error) || connection.is_err() => None,
        Err(source) => return Err(StoreError::Create { path: path.to_owned(), source }),
    };
    Ok(Opened { path: path.to_owned(), connection, marker, recovery: None, notice: None })
}

fn enter(path: &Path) -> Result<Option<OpenMarker>, StoreError> {
    match OpenMarker::enter(path) {
        Err(error) if is_unwritable(&error) => Ok(None),
        // What stands in the way of the store itself is told when that is made.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        marker => marker.map_err(|source| StoreError::Create { path: path.to_owned(), source }),
    }
}

fn is_unwritable(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | StorageFull)
}

/// Whether a file that can't be read as a database is a hoptop store all the same. Nobody may have it open.
fn is_ours(path: &Path) -> bool {
    let marked = || {
        let mut id = [0; 4];
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(APPLICATION_ID_AT))?;
        file.read_exact(&mut id)?;
        Ok::<_, io::Error>(i64::from(u32::from_be_bytes(id)) == connection::APPLICATION_ID)
    };
    !backup::kept(path, DateTime::UNIX_EPOCH).is_empty() || marked().unwrap_or(false)
}
