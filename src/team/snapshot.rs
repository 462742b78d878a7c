//! Snapshots in the team's database: compressed copies of a replica, in parts.
//!
//! The content is the store's business. This module must never decide when a snapshot is made or loaded.

use std::{
    fs::File,
    io::{Read, Write},
    path::Path,
};

use chrono::{DateTime, Utc};
use tempfile::{NamedTempFile, TempPath};
use tokio::{sync::watch, task::spawn_blocking};
use zstd::stream::{read::Encoder, write::Decoder};

use super::{
    database::{SnapshotInfo, TeamDatabase},
    error::TeamError,
};
use crate::{
    domain::team::{LogPosition, Nonce, TeamStatus},
    process::files,
    store::{Store, StoreFault},
};

/// The bytes of a part: small enough for a slow connection to carry within the limit of a call.
const PART_BYTES: usize = 1 << 20;
/// The compression level.
const LEVEL: i32 = 3;

/// Loads a snapshot into a temporary file.
///
/// # Errors
/// If a part is gone, or the file can't be written.
pub(super) async fn download(
    database: &TeamDatabase,
    info: &SnapshotInfo,
    folder: &Path,
    status: &watch::Sender<TeamStatus>,
) -> Result<TempPath, TeamError> {
    let file = NamedTempFile::with_prefix_in(".snapshot-", folder).map_err(|error| failed(&error))?;
    let mut decoder = Decoder::new(file).map_err(|error| failed(&error))?;
    for part in 0..info.parts {
        let bytes = database.snapshot_part(info.id, part).await?;
        let bytes = bytes.ok_or_else(|| TeamError::Snapshot("a newer one took its place".into()))?;
        decoder.write_all(&bytes).map_err(|error| failed(&error))?;
        // The share of the snapshot's entries that this part has of the snapshot.
        let applied = info.position.seq * u64::from(part + 1) / u64::from(info.parts);
        status.send_modify(|status| status.applied = status.applied.max(applied));
    }
    decoder.flush().map_err(|error| failed(&error))?;
    Ok(decoder.into_inner().into_temp_path())
}

/// Makes a snapshot of a replica and writes it to the database. With `keeps_previous` the snapshot before it stays, and
/// the log behind that one goes; without, the log behind the new one goes. Returns whether the snapshot counts: not if
/// the log has another entry at its position.
///
/// # Errors
/// If the file can't be written, or the database can't take it.
pub(super) async fn publish(store: &Store, database: &TeamDatabase, keeps_previous: bool) -> Result<bool, TeamError> {
    let store = store.clone();
    let write = move || {
        let folder = tempfile::Builder::new()
            .prefix(".snapshot-")
            .tempdir_in(files::folder_of(store.path()))
            .map_err(|error| StoreFault::Log(error.to_string()))?;
        let path = folder.path().join("snapshot.db");
        store.write_snapshot(&path).map(|written| (written, folder, path))
    };
    let written = spawn_blocking(write).await.map_err(|error| failed(&error))?;
    let (replica, _folder, path) = written.map_err(|error| failed(&error))?;
    let info = upload(database, &path, replica.position, replica.operations).await?;
    database.end_snapshot(&info, keeps_previous).await
}

/// Writes the file of a snapshot to the database, where it counts after [`TeamDatabase::end_snapshot`].
///
/// # Errors
/// If the file can't be read, or the database can't take it.
pub(crate) async fn upload(
    database: &TeamDatabase,
    path: &Path,
    position: LogPosition,
    operations: u64,
) -> Result<SnapshotInfo, TeamError> {
    let file = File::open(path).map_err(|error| failed(&error))?;
    let mut encoder = Encoder::new(file, LEVEL).map_err(|error| failed(&error))?;
    let id = Nonce(rand::random());
    let (mut parts, mut bytes) = (0, 0);
    loop {
        let mut part = Vec::with_capacity(PART_BYTES);
        encoder.by_ref().take(PART_BYTES as u64).read_to_end(&mut part).map_err(|error| failed(&error))?;
        if part.is_empty() {
            break;
        }
        database.put_snapshot_part(id, parts, &part).await?;
        parts += 1;
        bytes += part.len() as u64;
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let at = DateTime::<Utc>::UNIX_EPOCH;
    Ok(SnapshotInfo { id, position, version, schema: Store::SCHEMA, operations, at, parts, bytes })
}

fn failed(error: &dyn ToString) -> TeamError {
    TeamError::Snapshot(error.to_string())
}
