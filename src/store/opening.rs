//! Opening a store: alone or beside others, as it was left, and mended if it is damaged and that is wanted.
//!
//! It decides what the fault of a file means; it must never mend a file that another process may have open, nor one that
//! isn't known to be a hoptop store.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{self, Path, PathBuf},
};

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::{
    backup::{self, Depth},
    connection::{self, Manner},
    error::{NO_ROOM, StoreError},
    filesystem,
    health::Trouble,
    loss, migrate,
    presence::{Left, Presence},
    rescue::{self, Mended},
};

/// A store that wasn't left in order is looked at whole up to this size: a tenth of a second at most. A larger one is looked
/// at with the day's backup.
const QUICKLY_CHECKED: u64 = 32 << 20;
/// Where `PRAGMA application_id` stands in the file.
const APPLICATION_ID_AT: u64 = 68;

/// A store that is open.
pub(super) struct Opened {
    /// Where it really is.
    pub(super) path: PathBuf,
    /// For its writer, or why nothing is written.
    pub(super) connection: Result<Connection, Trouble>,
    pub(super) presence: Option<Presence>,
    pub(super) mended: Option<Mended>,
    /// What is missing of it.
    pub(super) notice: Option<String>,
}

/// Opens the store at `path`. With a moment it is one that is to last: it is mended if it is damaged, backed up before its
/// schema changes, and opened for reading if it can't be written.
pub(super) fn open(path: &Path, lasting_at: Option<DateTime<Utc>>) -> Result<Opened, StoreError> {
    let path = &resolve(path);
    if let Some(kind) = filesystem::network(folder_of(path)) {
        return Err(StoreError::Network { path: path.to_owned(), kind });
    }
    if backup::is_one(path) && path.exists() {
        return look_at(path);
    }
    let presence = enter(path)?;
    if let Some(reason) = presence.as_ref().and_then(Presence::suspicion) {
        make_sure_it_is_current(path)?;
        return share(path, Err(Trouble::Broken(reason)), presence);
    }
    let left = presence.as_ref().and_then(Presence::alone).cloned();
    let notice = left.as_ref().zip(lasting_at).and_then(|(left, at)| loss::notice(path, left, at));
    notice.iter().for_each(|notice| tracing::error!("{notice}"));
    Ok(Opened { notice, ..start(path, (presence, left), lasting_at)? })
}

fn start(
    path: &Path,
    (presence, left): (Option<Presence>, Option<Left>),
    lasting_at: Option<DateTime<Utc>>,
) -> Result<Opened, StoreError> {
    let opened = match left.as_ref().and_then(|left| rescue::in_sight(path, left)) {
        Some(reason) => Err(StoreError::Damaged { path: path.to_owned(), reason }),
        None => connect(path, left.as_ref(), lasting_at),
    };
    match (opened, lasting_at) {
        (Ok(connection), _) => {
            let mended = rescue::done_before(path, left.as_ref(), &connection);
            Ok(Opened { mended, ..share(path, Ok(connection), presence)? })
        }
        (Err(StoreError::ReadOnly { .. }), Some(_)) => {
            make_sure_it_is_current(path)?;
            share(path, Err(Trouble::ReadOnly(path.to_owned())), presence)
        }
        (Err(error @ StoreError::NoRoom { .. }), Some(_)) => {
            make_sure_it_is_current(path).map_err(|_| error)?;
            share(path, Err(Trouble::NotKept(format!("{NO_ROOM}; make some, and start hoptop again"))), presence)
        }
        (Err(StoreError::Damaged { reason, .. }), _) if presence.is_none() && !is_ours(path) => {
            Err(StoreError::Open { path: path.to_owned(), reason })
        }
        (Err(StoreError::Damaged { reason, .. }), Some(at)) => mend(path, &reason, presence, at),
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
    connection::open_for_writing(path, Manner { check, backup_at: lasting_at, is_known })
}

/// How closely a store is looked at, by how it was left.
fn depth(path: &Path, left: &Left) -> Option<Depth> {
    let has_lost_its_log = || !connection::companion(path, "-wal").exists();
    let is_small = || path.metadata().is_ok_and(|file| file.len() <= QUICKLY_CHECKED);
    match left {
        Left::Suspect(_) | Left::Mending(_) => Some(Depth::Full),
        Left::Abruptly if path.exists() && (has_lost_its_log() || is_small()) => Some(Depth::Quick),
        Left::Abruptly | Left::Clean => None,
    }
}

fn mend(path: &Path, reason: &str, presence: Option<Presence>, at: DateTime<Utc>) -> Result<Opened, StoreError> {
    let create = |source| StoreError::Create { path: path.to_owned(), source };
    let presence = presence.map_or_else(|| Presence::create(path), Ok).map_err(create)?;
    if presence.alone().is_none() {
        let reason = format!("{reason}; end every hoptop that has it open, and the next start mends it");
        return Err(StoreError::Damaged { path: path.to_owned(), reason });
    }
    let mended = rescue::mend(path, reason, &presence, at)?;
    let opened = share(path, Ok(connect(path, None, Some(at))?), Some(presence))?;
    Ok(Opened { mended: Some(mended), ..opened })
}

/// A backup is looked at as it is, and stays so: nobody else writes to it.
fn look_at(path: &Path) -> Result<Opened, StoreError> {
    make_sure_it_is_current(path)?;
    let connection = Err(Trouble::ReadOnly(path.to_owned()));
    Ok(Opened { path: path.to_owned(), connection, presence: None, mended: None, notice: None })
}

/// Lets others in, now that the store is known to be sound.
fn share(
    path: &Path,
    connection: Result<Connection, Trouble>,
    presence: Option<Presence>,
) -> Result<Opened, StoreError> {
    let present = || {
        let mut presence = presence.map_or_else(|| Presence::create(path), Ok)?;
        presence.share()?;
        Ok(presence)
    };
    let presence = match present() {
        Ok(presence) => Some(presence),
        Err(error) if is_unwritable(&error) || connection.is_err() => None,
        Err(source) => return Err(StoreError::Create { path: path.to_owned(), source }),
    };
    Ok(Opened { path: path.to_owned(), connection, presence, mended: None, notice: None })
}

fn enter(path: &Path) -> Result<Option<Presence>, StoreError> {
    match Presence::enter(path) {
        Err(error) if is_unwritable(&error) => Ok(None),
        // What stands in the way of the store itself is told when that is made.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        presence => presence.map_err(|source| StoreError::Create { path: path.to_owned(), source }),
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
