//! A replica of a team's log: applies the log's entries in order, in whichever process of the machine gets them.
//!
//! The tables `replica` (the position) and `log_parts` belong to this module. An entry is applied only right after its
//! predecessor. The module must never know how the log is reached.

pub(crate) mod own_entries;
pub(crate) mod payload;
mod queue;
mod snapshot;

use rusqlite::{Connection, Transaction, params};

use self::payload::Payload;
pub(crate) use self::queue::{LogQueue, LogWrite, Submission};
use super::{
    body_storage::BodyStorage,
    error::{Result, StoreError, is_local},
    operations::{self, AppliedEntries, OperationResult},
    reader::Reader,
    statement::CachedStatements,
};
use crate::domain::{
    ids::TransactionKey,
    operation::{Envelope, Operation},
    team::{self, LogEntry, LogLoss, LogPosition, Nonce},
};

/// An incomplete payload is dropped after this many newer entries.
const PART_LIFETIME: u64 = 100_000;

/// Entries of a log, in order.
#[derive(Debug)]
pub(crate) struct LogEntries {
    /// Identifies the log.
    pub(crate) team: Nonce,
    pub(crate) entries: Vec<LogEntry>,
    /// The numbers of the entries that people of this machine appended.
    pub(crate) own: Vec<u64>,
    /// Whether the replica is light: it leaves the bodies of answers in the log.
    pub(crate) is_light: bool,
}

/// A replica: the log that it follows, and how far.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReplicaState {
    /// Identifies the log.
    team: Nonce,
    /// The last entry that was applied.
    pub(crate) position: LogPosition,
    /// The number of operations in the log up to the position. A batch counts as one.
    pub(crate) operations: u64,
    /// Whether bodies of answers are missing, so that no snapshot can be made of the store: it is or was a light
    /// replica.
    pub(crate) lacks_bodies: bool,
    /// How often a snapshot took the place of the store's content.
    pub(crate) snapshot_loads: u64,
    /// The number of the last entry that deleted something; 0 if none did.
    pub(crate) last_delete: u64,
    /// What the log lost when this replica last went back to a snapshot for that reason; `None` if it never did. Names
    /// no entries.
    pub(crate) loss: Option<LogLoss>,
    /// Whether nothing was ever written to the store.
    pub(crate) is_blank: bool,
}

/// Applies entries that follow the replica's position. Entries before it are skipped: another process applied them.
pub(super) fn apply(db: &Transaction<'_>, new: &LogEntries) -> Result<AppliedEntries> {
    let mut applied = AppliedEntries { position: position(db, new.team)?, ..AppliedEntries::default() };
    if applied.position.seq == 0 {
        write_position(db, new.team, applied.position)?;
    }
    for entry in &new.entries {
        let LogPosition { seq, .. } = entry.position;
        if seq <= applied.position.seq {
            continue;
        }
        if seq != applied.position.seq + 1 {
            break;
        }
        let mut deleted = Vec::new();
        let results = apply_entry(db, entry, new.is_light, &mut deleted)?;
        if new.own.contains(&seq) {
            own_entries::keep(db, entry)?;
        }
        if !deleted.is_empty() {
            operations::with_secure_delete(db, || own_entries::forget(db, &deleted))?;
            applied.has_deletion = true;
        }
        applied.position = entry.position;
        applied.results.push((seq, results));
    }
    if !applied.results.is_empty() {
        write_position(db, new.team, applied.position)?;
        let operations: usize = applied.results.iter().map(|(_, results)| results.len()).sum();
        db.run(
            "UPDATE replica SET operations = operations + ?1, lacks_bodies = max(lacks_bodies, ?2)",
            params![operations, new.is_light],
        )?;
    }
    Ok(applied)
}

fn apply_entry(
    db: &Transaction<'_>,
    entry: &LogEntry,
    is_light: bool,
    deleted: &mut Vec<TransactionKey>,
) -> Result<Vec<Result<OperationResult, String>>> {
    let mut storage = if is_light { BodyStorage::Log(entry.position.seq) } else { BodyStorage::Store };
    let whole;
    let mut payload = payload::decode(&entry.payload)?;
    if let Payload::Part(part) = payload {
        let Some(bytes) = collect_parts(db, &part, entry.position.seq)? else { return Ok(Vec::new()) };
        whole = bytes;
        payload = payload::decode(&whole)?;
        // No single entry has the bodies.
        storage = BodyStorage::Store;
    }
    let author = |given: Option<&str>| team::author(entry.author.as_deref(), given);
    match payload {
        Payload::Operations(all) => {
            for envelope in &all {
                if let Operation::Delete { transactions } = &envelope.operation {
                    db.execute("UPDATE replica SET deleted = ?", [entry.position.seq])?;
                    deleted.extend_from_slice(transactions);
                }
            }
            all.into_iter()
                .map(|mut envelope: Envelope| {
                    envelope.stamp.author = author(envelope.stamp.author.as_deref());
                    apply_alone(db, || operations::apply(db, &envelope, storage))
                })
                .collect()
        }
        Payload::Batch(batch) => {
            let mut stamp = batch.stamp().clone();
            stamp.author = author(stamp.author.as_deref());
            let track = || operations::track_batch(db, batch.profile(), &batch, &stamp);
            Ok(vec![apply_alone(db, || track().map(OperationResult::Tracked))?])
        }
        Payload::Part(_) => Err(StoreError::Unpack("a part of an entry holds another part".into())),
    }
}

/// Applies one operation of several. An operation that fails is undone alone, in every replica alike. A fault of this
/// machine fails all of them, and they are tried again.
fn apply_alone(
    db: &Transaction<'_>,
    work: impl FnOnce() -> Result<OperationResult>,
) -> Result<Result<OperationResult, String>> {
    db.run("SAVEPOINT operation", [])?;
    match work() {
        Ok(outcome) => {
            db.run("RELEASE operation", [])?;
            Ok(Ok(outcome))
        }
        Err(error) if db.is_autocommit() || is_local(&error) => Err(error),
        Err(error) => {
            tracing::error!("an operation of the team's log failed: {error}");
            db.execute_batch("ROLLBACK TO operation; RELEASE operation")?;
            Ok(Err(error.to_string()))
        }
    }
}

/// Keeps a part of a payload; returns the payload if no part is missing any more.
fn collect_parts(db: &Connection, part: &payload::PayloadPart<'_>, seq: u64) -> Result<Option<Vec<u8>>> {
    let entry = part.entry.to_string();
    db.execute("DELETE FROM log_parts WHERE seq < ?", [seq.saturating_sub(PART_LIFETIME)])?;
    db.run(
        "INSERT OR REPLACE INTO log_parts (entry, part, seq, payload) VALUES (?, ?, ?, ?)",
        params![entry, part.number, seq, part.bytes],
    )?;
    let count: u32 = db.query_row("SELECT count(*) FROM log_parts WHERE entry = ?", [&entry], |row| row.get(0))?;
    if count < part.total {
        return Ok(None);
    }
    let sql = "SELECT payload FROM log_parts WHERE entry = ? ORDER BY part";
    let parts: Vec<Vec<u8>> = db.all(sql, [&entry], |row| row.get(0))?;
    db.run("DELETE FROM log_parts WHERE entry = ?", [&entry])?;
    Ok(Some(parts.concat()))
}

/// Reads the position of a replica of this log. A store that isn't a replica yet, and is empty, is at the beginning.
fn position(db: &Connection, team: Nonce) -> Result<LogPosition> {
    match state(db)? {
        Some(replica) if replica.team == team => Ok(replica.position),
        Some(_) => Err(StoreError::OtherTeam),
        None if is_blank(db)? => Ok(LogPosition::default()),
        None => Err(StoreError::NotReplica),
    }
}

/// Whether the store is a replica of a team's log.
pub(in crate::store) fn is_replica(db: &Connection) -> Result<bool> {
    Ok(state(db)?.is_some())
}

/// Makes a replica a store of its own, without a team. The bodies that a light replica left in the log are lost.
pub(in crate::store) fn detach_from_team(db: &Connection) -> Result<()> {
    // What is deleted must not stay readable in free pages.
    db.pragma_update(None, "secure_delete", true)?;
    let bodies = ["observations", "records"].map(|table| {
        format!(
            "UPDATE {table} SET body = NULL, body_dictionary = NULL, body_base = NULL WHERE typeof(body) = 'integer';"
        )
    });
    let batch = "DELETE FROM replica; DELETE FROM log_parts; DELETE FROM own_entries; COMMIT";
    Ok(db.execute_batch(&format!("BEGIN; {} {batch}", bodies.concat()))?)
}

/// Reads the row of `replica`.
fn state(db: &Connection) -> Result<Option<ReplicaState>> {
    let sql = format!(
        "SELECT team, seq, nonce, operations, lacks_bodies, loads, deleted, loss, loss_is_open, {IS_BLANK} FROM replica"
    );
    db.first(&sql, [], |row| {
        let nonce = |index| row.get::<_, String>(index).map(|text| Nonce::parse(&text).unwrap_or_default());
        let loss: Option<String> = row.get(7)?;
        let is_open = row.get(8)?;
        Ok(ReplicaState {
            team: nonce(0)?,
            position: LogPosition { seq: row.get(1)?, nonce: nonce(2)? },
            operations: row.get(3)?,
            lacks_bodies: row.get(4)?,
            snapshot_loads: row.get(5)?,
            last_delete: row.get(6)?,
            is_blank: row.get(9)?,
            loss: loss.map(|notice| LogLoss { notice, is_open, entries: Vec::new() }),
        })
    })
}

/// The SQL that says whether nothing was ever written to this store.
const IS_BLANK: &str = "NOT EXISTS (SELECT 1 FROM transactions) AND NOT EXISTS (SELECT 1 FROM changes)";

fn is_blank(db: &Connection) -> Result<bool> {
    Ok(db.query_row(&format!("SELECT {IS_BLANK}"), [], |row| row.get(0))?)
}

fn write_position(db: &Connection, team: Nonce, position: LogPosition) -> Result<()> {
    if !is_replica(db)? {
        // A poller that had nothing to poll may have written its report before.
        db.execute_batch("DELETE FROM minutes; DELETE FROM pollers")?;
    }
    let sql = "INSERT INTO replica (id, team, seq, nonce) VALUES (1, ?, ?, ?)
               ON CONFLICT (id) DO UPDATE SET team = excluded.team, seq = excluded.seq, nonce = excluded.nonce";
    db.run(sql, params![team.to_string(), position.seq, position.nonce.to_string()])
}

impl Reader {
    /// The replica's position in the log of `team`.
    ///
    /// # Errors
    /// [`StoreError::OtherTeam`] if the store is a replica of another log; [`StoreError::NotReplica`] if it holds data
    /// of its own.
    pub(crate) fn replica_position(&self, team: Nonce) -> Result<LogPosition> {
        position(self.db(), team)
    }

    /// How often a snapshot has taken the place of the store's content, its feed included.
    pub(crate) fn snapshot_loads(&self) -> Result<u64> {
        Ok(self.replica()?.map_or(0, |replica| replica.snapshot_loads))
    }

    /// The state of the replica; `None` if the store is no replica.
    pub(crate) fn replica(&self) -> Result<Option<ReplicaState>> {
        state(self.db())
    }
}
