//! The entries that this machine's people appended lately. They are saved to a file if the database loses its newest
//! rows.
//!
//! The table `own_entries` belongs to this module. It must never keep anything of a deleted transaction.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, BufRead, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, params};

use super::payload::{self, Payload, decode, unpack_error};
use crate::{
    domain::{
        batch::{Batch, SpoolError},
        ids::{ChainId, TransactionKey},
        operation::{EditTargets, Envelope, Operation, StatusRequestKey, SubjectKey},
        team::{LogEntry, LogPosition, Nonce},
    },
    process::files,
    store::{
        error::{Result, StoreError},
        file::paths,
        queries::find,
        reader::Reader,
        statement::CachedStatements,
    },
};

/// An own entry is forgotten after this many newer entries of the log.
const LIFETIME: u64 = 200_000;

/// Keeps an own entry, and forgets own entries that are too old.
pub(super) fn keep(db: &Connection, entry: &LogEntry) -> Result<()> {
    forget_before(db, entry.position.seq.saturating_sub(LIFETIME))?;
    insert(db, entry.position, &entry.payload)
}

/// Forgets the entries before this number.
pub(in crate::store) fn forget_before(db: &Connection, seq: u64) -> Result<()> {
    db.run("DELETE FROM own_entries WHERE seq < ?", [seq])
}

fn insert(db: &Connection, position: LogPosition, payload: &[u8]) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO own_entries (seq, nonce, payload) VALUES (?, ?, ?)";
    db.run(sql, params![position.seq, position.nonce.to_string(), payload])
}

fn load(db: &Connection) -> Result<Vec<LogEntry>> {
    db.all("SELECT seq, nonce, payload FROM own_entries ORDER BY seq", [], |row| {
        let nonce = Nonce::parse(&row.get::<_, String>(1)?).unwrap_or_default();
        Ok(LogEntry { position: LogPosition { seq: row.get(0)?, nonce }, author: None, payload: row.get(2)? })
    })
}

impl Reader {
    /// Returns the entries that people of this machine appended lately, the oldest first.
    pub(crate) fn own_entries(&self) -> Result<Vec<LogEntry>> {
        load(self.db())
    }

    /// Returns whether people of this machine appended entries before this number.
    pub(crate) fn has_own_entries_before(&self, seq: u64) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM own_entries WHERE seq < ?)";
        Ok(self.db().query_row(sql, [seq], |row| row.get(0))?)
    }
}

/// A payload of one entry, or of several that hold its parts.
struct JoinedPayload {
    positions: Vec<LogPosition>,
    /// `None` if an earlier part is missing: another process applied it, or it is no longer kept.
    payload: Option<Vec<u8>>,
}

/// Joins the parts of payloads. A payload without its last part is left out. Parts are appended in order.
fn join_parts(own: &[LogEntry]) -> Result<Vec<JoinedPayload>> {
    let (mut whole, mut incomplete) = (Vec::new(), BTreeMap::<Nonce, JoinedPayload>::new());
    for LogEntry { position, payload, .. } in own {
        match decode(payload)? {
            Payload::Part(part) => {
                let empty = || JoinedPayload { positions: Vec::new(), payload: Some(Vec::new()) };
                let joined = incomplete.entry(part.entry).or_insert_with(empty);
                joined.payload = joined.payload.take().filter(|_| joined.positions.len() == part.number as usize);
                joined.positions.push(*position);
                joined.payload.iter_mut().for_each(|payload| payload.extend(part.bytes));
                if part.number + 1 == part.total {
                    whole.extend(incomplete.remove(&part.entry));
                }
            }
            Payload::Operations(_) | Payload::Batch(_) => {
                whole.push(JoinedPayload { positions: vec![*position], payload: Some(payload.clone()) });
            }
        }
    }
    Ok(whole)
}

/// Saves the operations of entries that a log lost to a file beside the replica, a line of JSON each. `own` are the
/// entries that this machine has appended, in order; `is_lost` says which of them the log lost. Returns the file and
/// the number of operations; `None` if none are lost.
///
/// # Errors
/// If the file can't be written, or an entry can't be decoded.
pub(crate) fn save_lost_entries(
    replica: &Path,
    own: &[LogEntry],
    is_lost: impl Fn(Nonce) -> bool,
    at: DateTime<Utc>,
) -> Result<Option<(PathBuf, usize)>> {
    let mut operations = Vec::new();
    for JoinedPayload { positions, payload } in join_parts(own)? {
        if !positions.iter().any(|position| is_lost(position.nonce)) {
            continue;
        }
        match payload {
            Some(payload) => operations.extend(into_operations(decode(&payload)?)?),
            None => tracing::error!("the log lost an import that can't be saved: this machine lacks a part of it"),
        }
    }
    if operations.is_empty() {
        return Ok(None);
    }
    let path = paths::companion(replica, &format!(".lost-{}.jsonl", at.format(paths::TIMESTAMP_FORMAT)));
    write_operations(&path, &operations)?;
    Ok(Some((path, operations.len())))
}

/// The first byte of a line whose operation is in the log again. A line of JSON begins with a brace.
const APPENDED: &[u8] = b"#";

/// Reads the operations that are not yet in the log again, each with the offset of its line.
///
/// # Errors
/// [`StoreError::UnreadableLine`] for the first line that is no operation.
pub(crate) fn read_operations(mut text: impl BufRead) -> Result<Vec<(u64, Envelope)>> {
    let (mut operations, mut offset, mut line) = (Vec::new(), 0, Vec::new());
    for number in 1.. {
        line.clear();
        let length = text.read_until(b'\n', &mut line).map_err(unpack_error)?;
        if length == 0 {
            break;
        }
        if !line.starts_with(APPENDED) {
            let operation = serde_json::from_slice(&line);
            let unreadable =
                |error: serde_json::Error| StoreError::UnreadableLine { line: number, reason: error.to_string() };
            operations.push((offset, operation.map_err(unreadable)?));
        }
        offset += length as u64;
    }
    Ok(operations)
}

/// Marks the operation in the line at this offset: it is in the log again, and must not be appended twice.
///
/// # Errors
/// If the file can't be written.
pub(crate) fn mark_appended(file: &mut (impl Seek + Write), offset: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(APPENDED)
}

/// Creates a file of operations, a line of JSON each.
///
/// # Errors
/// If the file can't be written.
fn write_operations(path: &Path, operations: &[Envelope]) -> Result<()> {
    let mut text = Vec::new();
    for operation in operations {
        serde_json::to_writer(&mut text, operation).map_err(unpack_error)?;
        text.push(b'\n');
    }
    let file = files::private_options().write(true).create(true).truncate(true).open(path);
    let written = file.and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()));
    Ok(written.map_err(SpoolError::from)?)
}

fn into_operations(payload: Payload<'_>) -> Result<Vec<Envelope>> {
    match payload {
        Payload::Operations(all) => Ok(all),
        Payload::Batch(batch) => Ok(vec![batch.into_operation()?]),
        Payload::Part(_) => Err(unpack_error("a part of an entry holds another part")),
    }
}

/// Removes everything about deleted transactions.
pub(super) fn forget(db: &Connection, deleted: &[TransactionKey]) -> Result<()> {
    let deleted = DeletedTransactions::new(db, deleted)?;
    let remove = |positions: &[LogPosition]| {
        positions.iter().try_for_each(|position| db.run("DELETE FROM own_entries WHERE seq = ?", [position.seq]))
    };
    for JoinedPayload { positions, payload } in join_parts(&load(db)?)? {
        let Some(payload) = payload else {
            // It may be about the deleted transactions, and could never be saved.
            remove(&positions)?;
            continue;
        };
        let payload = decode(&payload)?;
        if !is_about(&payload, &deleted)? {
            continue;
        }
        let before = into_operations(payload)?;
        let after: Vec<Envelope> = before.iter().filter_map(|envelope| without(envelope, &deleted)).collect();
        if after == before {
            continue;
        }
        remove(&positions)?;
        let Some(last) = positions.last() else { continue };
        let payload = match after.as_slice() {
            [] => continue,
            // A batch may be too large for one operation.
            [Envelope { operation: Operation::Track { profile, transactions }, stamp, .. }] => {
                payload::encode_batch(profile, transactions, stamp)?
            }
            several => payload::encode(&several.iter().collect::<Vec<_>>()).map_err(unpack_error)?,
        };
        insert(db, *last, &payload)?;
    }
    Ok(())
}

/// Returns whether a payload may name one of these transactions. A batch, which may have a million rows, is read row by
/// row.
fn is_about(payload: &Payload<'_>, deleted: &DeletedTransactions) -> Result<bool> {
    let Payload::Batch(batch) = payload else { return Ok(true) };
    for new in batch.transactions()? {
        if deleted.contains(&new?.params.key(batch.profile())) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The deleted transactions: by profile and hash, whose case doesn't count, the chains on which the hash is still tracked.
/// An entry may name a deleted transaction by a source chain that somebody corrected since.
struct DeletedTransactions(HashMap<(String, String), Vec<ChainId>>);

impl DeletedTransactions {
    fn new(db: &Connection, keys: &[TransactionKey]) -> Result<Self> {
        let mut deleted = HashMap::new();
        for key in keys {
            let tracked = find::chains_of(db, &key.profile, &key.hash)?;
            deleted.insert((key.profile.clone(), key.hash.key()), tracked);
        }
        Ok(Self(deleted))
    }

    fn contains(&self, key: &TransactionKey) -> bool {
        let tracked = self.0.get(&(key.profile.clone(), key.hash.key()));
        tracked.is_some_and(|chains| !chains.contains(&key.from_chain))
    }
}

/// Returns the operation without these transactions; `None` if nothing of it is left.
fn without(envelope: &Envelope, deleted: &DeletedTransactions) -> Option<Envelope> {
    let stays = |key: &TransactionKey| !deleted.contains(key);
    let mut envelope = envelope.clone();
    let is_left = match &mut envelope.operation {
        Operation::Track { profile, transactions } => {
            transactions.retain(|new| stays(&new.params.key(profile)));
            !transactions.is_empty()
        }
        Operation::Edit { edit, .. } => {
            let keep = |key: TransactionKey| Ok::<_, std::convert::Infallible>(stays(&key).then_some(key));
            let alert_stays = |about: &SubjectKey| match about {
                SubjectKey::Transaction(key) => stays(key),
                SubjectKey::Profile(_) => true,
            };
            let Ok(left) = edit.clone().resolve(keep, |alert| Ok(alert_stays(&alert.about).then_some(alert)));
            *edit = left;
            !matches!(edit.targets(), EditTargets::Transactions([]) | EditTargets::Alerts([]))
        }
        Operation::Observe { transaction, .. } | Operation::ObserveChain { transaction, .. } => stays(transaction),
        Operation::RequestStatus { profile, params, .. }
        | Operation::AnswerStatus { request: StatusRequestKey { profile, params, .. }, .. }
        | Operation::ForgetStatus { request: StatusRequestKey { profile, params, .. } } => stays(&params.key(profile)),
        Operation::RequestChainCheck { transactions }
        | Operation::DropBodies { transactions }
        | Operation::RequestPoll { transactions } => {
            transactions.retain(stays);
            !transactions.is_empty()
        }
        // The deletion itself is needed again if the database loses it.
        Operation::Delete { .. }
        | Operation::Undo { .. }
        | Operation::Redo { .. }
        | Operation::Pause { .. }
        | Operation::RequestQuote { .. }
        | Operation::WithdrawQuote { .. }
        | Operation::ClaimQuote { .. }
        | Operation::AnswerQuote { .. }
        | Operation::RecordProfileEvent { .. }
        | Operation::ReportPolling { .. }
        | Operation::MoveNotificationCursor { .. } => true,
    };
    is_left.then_some(envelope)
}
