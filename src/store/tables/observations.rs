//! The `observations` table: answers that changed something are stored with their bodies; repeated answers are only
//! counted.
//!
//! Only the count, the last time, the latency and the service's IDs of an entry are updated. Retention may delete an
//! entry's body, and the feed reports the deletion.

use std::{sync::LazyLock, time::Duration};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row, params};

use super::{
    bodies::{self, PackedText, StoredBody},
    columns, transaction_keys,
};
use crate::{
    domain::{
        ids::RowId,
        observation::{Observation, StatusOutcome},
        span,
        transaction::Transaction,
    },
    store::{body_storage::BodyStorage, error::Result, reader::Reader, row_checksum, statement::CachedStatements},
};

/// The columns of the checksum. A body has its own.
pub(crate) const CHECKED: &str =
    "transaction_row, first_at, last_at, times, summary, http_status, latency, response_id";

/// One stored answer, with the number of its repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredObservation {
    /// The number of the entry in this store.
    pub id: i64,
    /// When the answer first arrived.
    pub first_at: DateTime<Utc>,
    /// When the answer last arrived.
    pub last_at: DateTime<Utc>,
    /// How many times in a row the answer arrived.
    pub times: u64,
    /// The answer in a few words: a status, `not found`, a failure.
    pub summary: String,
    /// The HTTP status; `None` without an HTTP response.
    pub http_status: Option<u16>,
    /// The latency of the last repetition.
    pub latency: Duration,
}

impl StoredObservation {
    /// Returns the answer in words, for a line that already says that an answer came.
    pub fn description(&self) -> String {
        let http = self.http_status.map_or_else(String::new, |status| format!(" (HTTP {status})"));
        let times = match self.times {
            0 | 1 => String::new(),
            times => format!(", {times} times over {}", span::long(span::between(self.first_at, self.last_at))),
        };
        format!("{}{http}{times}", self.summary)
    }
}

impl Reader {
    /// Returns the stored answers about a transaction, oldest first.
    pub fn answers(&self, row: RowId) -> Result<Vec<StoredObservation>> {
        let sql = "SELECT id, first_at, last_at, times, summary, http_status, latency FROM observations
                   WHERE transaction_row = ? ORDER BY id";
        self.db().all(sql, [row.0], read)
    }

    /// Returns the body of one answer by its number in this store.
    pub fn body(&self, observation: i64) -> Result<Option<StoredBody>> {
        stored_body(self.db(), observation)
    }

    /// Returns the time since the transaction's previous answer with a state (HTTP 200 or 404); `None` for the first
    /// answer. Failures in between are skipped.
    pub fn gap_before(&self, observation: i64) -> Result<Option<Duration>> {
        let sql = "SELECT first_at, (SELECT max(last_at) FROM observations AS earlier
                   WHERE earlier.transaction_row = this.transaction_row AND earlier.id < this.id
                       AND earlier.http_status IN (200, 404))
                   FROM observations AS this WHERE id = ?";
        let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?));
        let found = self.db().first(sql, [observation], read)?;
        let moments = found.and_then(|(at, before)| Some((columns::moment_from(before?), columns::moment_from(at))));
        Ok(moments.map(|(before, at)| span::between(before, at)))
    }

    /// Returns at most `limit` transactions that settled before a time and still have bodies, longest settled first.
    /// Starts at a cursor, and returns the cursor for the next call. Costs O(n) in the settled transactions between the
    /// two cursors.
    pub fn with_old_bodies(
        &self,
        from: OldBodyCursor,
        settled_before: DateTime<Utc>,
        limit: usize,
    ) -> Result<(OldBodyCursor, Vec<RowId>)> {
        let sql = "SELECT settled_at, id FROM transactions
            WHERE settled_at IS NOT NULL AND settled_at >= ?1 AND settled_at < ?3 AND (settled_at > ?1 OR id < ?2)
            AND (EXISTS (SELECT 1 FROM observations WHERE transaction_row = transactions.id AND body IS NOT NULL)
                 OR EXISTS (SELECT 1 FROM records WHERE transaction_row = transactions.id AND body IS NOT NULL))
            ORDER BY settled_at, id DESC LIMIT ?4";
        let values = params![from.settled_at, from.row, columns::moment(settled_before), limit];
        let read = |row: &Row<'_>| Ok(OldBodyCursor { settled_at: row.get(0)?, row: row.get(1)? });
        let found = self.db().all(sql, values, read)?;
        let reached = found.last().copied().unwrap_or(from);
        Ok((reached, found.into_iter().map(|found| RowId(found.row)).collect()))
    }
}

/// Where the body of the last answer is stored.
pub(crate) enum LastBody<'a> {
    InHistory(&'a str),
    /// In no entry: the body belongs in `records`. The flag says whether it is a record's body.
    Separate(&'a str, bool),
    /// In the team's log: the value for `records`, where the last entry of the history has another body.
    InLog(PackedText),
    /// The answer had no body: the previous last body remains.
    Unchanged,
}

/// Stores an answer: as a new entry if it changed something, else as a repetition of the last entry. Returns the number
/// of the entry. Failures are compared by their summaries, because the body of an error page differs each time.
pub(crate) fn insert_or_repeat<'a>(
    db: &Connection,
    transaction: &Transaction,
    observation: &'a Observation,
    storage: BodyStorage,
    at: DateTime<Utc>,
) -> Result<(i64, LastBody<'a>)> {
    let summary = summary(&observation.outcome);
    let has_changed = transaction.state.last_changed_at == Some(at);
    let sql = "SELECT id, summary, http_status, response_id FROM observations WHERE transaction_row = ?
               ORDER BY id DESC LIMIT 1";
    let last = db.first(sql, [transaction.id.0], |row| {
        // A summary that can't be read counts as another summary.
        let is_same_summary = row.get_ref(1)?.as_str().is_ok_and(|last| last == summary);
        let http_status: Option<i64> = columns::lenient(row, 2)?;
        let is_same = is_same_summary && http_status == observation.http_status.map(i64::from);
        Ok((row.get::<_, i64>(0)?, is_same, columns::lenient::<Option<String>>(row, 3)?))
    })?;
    let (moment, latency) = (columns::moment(at), columns::span(observation.latency));
    let is_record = matches!(observation.outcome, StatusOutcome::Record(_));
    if let Some((id, true, response_ids)) = last
        && !has_changed
    {
        static REPEAT: LazyLock<String> = LazyLock::new(|| {
            let set = [("last_at", "?1"), ("latency", "?2"), ("times", "times + 1"), ("response_id", "?3")];
            format!("UPDATE observations SET {} WHERE id = ?4", row_checksum::assignments(CHECKED, &set))
        });
        db.run(&REPEAT, params![moment, latency, with_next_id(response_ids, observation.response_id.as_deref()), id])?;
        let last = match observation.body.as_deref() {
            None => LastBody::Unchanged,
            Some(text) => match (find_repetition(db, id, text)?, storage) {
                (Some(last), _) => last,
                (None, BodyStorage::Log(entry)) => LastBody::InLog(PackedText::in_log(entry, text)),
                (None, BodyStorage::Store) => LastBody::Separate(text, is_record),
            },
        };
        return Ok((id, last));
    }
    let (packed, last) = match (observation.body.as_deref(), storage) {
        (None, _) => (PackedText::NONE, LastBody::Unchanged),
        (Some(body), BodyStorage::Store) => (pack_body(db, transaction, body, is_record)?, LastBody::InHistory(body)),
        (Some(body), BodyStorage::Log(entry)) => (PackedText::in_log(entry, body), LastBody::InLog(PackedText::NONE)),
    };
    let sql = "INSERT INTO observations (transaction_row, first_at, last_at, summary, http_status, latency,
               body, body_dictionary, body_base, response_id, checksum)
               VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, row_checksum(?1, ?2, ?2, 1, ?3, ?4, ?5, ?9))";
    let (row, Observation { http_status, response_id, .. }) = (transaction.id.0, observation);
    let PackedText { dictionary, base, .. } = packed;
    db.run(sql, params![row, moment, summary, http_status, latency, packed, dictionary, base, response_id])?;
    Ok((db.last_insert_rowid(), last))
}

/// Separates the service's IDs of the answers in one entry: no clean text has a line feed.
const ID_SEPARATOR: char = '\n';

/// Adds the service's ID of one more answer to the IDs of an entry's answers. Returns the newest IDs, without the same
/// ID twice in a row.
fn with_next_id(known: Option<String>, next: Option<&str>) -> Option<String> {
    /// The most IDs of one entry: a transfer may be polled for days without a change.
    const MAX_IDS: usize = 32;
    let Some(next) = next else { return known };
    let known = known.unwrap_or_default();
    let mut ids: Vec<&str> = known.split(ID_SEPARATOR).filter(|id| !id.is_empty()).collect();
    if ids.last() != Some(&next) {
        ids.push(next);
    }
    let newest = ids.get(ids.len().saturating_sub(MAX_IDS)..).unwrap_or_default();
    Some(newest.join(&ID_SEPARATOR.to_string()))
}

/// Returns where an entry has this body; `None` if the entry has another body, or none.
fn find_repetition<'a>(db: &Connection, entry: i64, text: &'a str) -> Result<Option<LastBody<'a>>> {
    Ok(match packed_body(db, entry)?.filter(|packed| packed.log_entry().is_some()) {
        Some(packed) => (packed.base == PackedText::in_log(0, text).base).then_some(LastBody::InLog(PackedText::NONE)),
        None => (readable_body(db, entry)?.as_deref() == Some(text)).then_some(LastBody::InHistory(text)),
    })
}

/// Keeps only the digest of an entry's body: the team's database has the body.
pub(crate) fn leave_body_out(db: &Connection, id: i64) -> Result<()> {
    let Some(text) = readable_body(db, id)? else { return Ok(()) };
    let packed = PackedText::in_log(0, &text);
    let sql = "UPDATE observations SET body = ?2, body_dictionary = NULL, body_base = ?3 WHERE id = ?1";
    db.run(sql, params![id, packed, packed.base])
}

/// Packs a body. The body of a record is packed with the transaction's first body or the dictionary of its route as the
/// base. Other bodies, such as error pages, are packed without a base.
pub(crate) fn pack_body(db: &Connection, transaction: &Transaction, text: &str, is_record: bool) -> Result<PackedText> {
    if !is_record {
        return bodies::pack(text, None, None);
    }
    // The first body that was packed with a dictionary is the base of the transaction's other bodies.
    let first = first(db, transaction.id, "body_dictionary IS NOT NULL ORDER BY id")?;
    let first_text = first.map_or(Ok(None), |id| readable_body(db, id))?;
    match first.zip(first_text) {
        Some((id, first_text)) => bodies::pack(text, None, Some((id, &first_text))),
        None => bodies::pack_first(db, transaction, text),
    }
}

/// Returns the number of a transaction's first entry that meets a condition (SQL), in the order behind the condition.
fn first(db: &Connection, transaction: RowId, condition: &str) -> Result<Option<i64>> {
    let sql = format!("SELECT id FROM observations WHERE transaction_row = ? AND {condition} LIMIT 1");
    db.first(&sql, [transaction.0], |row| row.get(0))
}

fn packed_body(db: &Connection, id: i64) -> Result<Option<PackedText>> {
    let sql = "SELECT body, body_dictionary, body_base FROM observations WHERE id = ?";
    db.first(sql, [id], |row| PackedText::read(row, 0))
}

/// Returns the body of the newest answer with a record; `None` if it isn't here or can't be read.
pub(crate) fn newest_record_body(db: &Connection, transaction: RowId) -> Result<Option<String>> {
    let newest = first(db, transaction, "http_status = 200 AND body IS NOT NULL ORDER BY id DESC")?;
    newest.map_or(Ok(None), |id| readable_body(db, id))
}

/// Returns the body of one entry, or where it is.
fn stored_body(db: &Connection, id: i64) -> Result<Option<StoredBody>> {
    let sql = "SELECT body, body_dictionary, body_base, transaction_row FROM observations WHERE id = ?";
    let found = db.first(sql, [id], |row| Ok((PackedText::read(row, 0)?, RowId(columns::lenient(row, 3)?))))?;
    found.map_or(Ok(None), |(packed, transaction)| text_or_place(db, &packed, transaction))
}

/// Returns a packed body of a transaction, or its place in the team's log.
pub(crate) fn text_or_place(db: &Connection, packed: &PackedText, transaction: RowId) -> Result<Option<StoredBody>> {
    let Some(entry) = packed.log_entry() else { return Ok(unpack(db, packed)?.map(StoredBody::Text)) };
    let key = transaction_keys::key(db, transaction)?;
    Ok(key.map(|transaction| StoredBody::InLog { entry, transaction, digest: packed.base }))
}

/// Unpacks a text; `None` also if it is in the team's log.
pub(crate) fn unpack(db: &Connection, packed: &PackedText) -> Result<Option<String>> {
    // The base is a body that is packed with a dictionary only, so that this recursion ends.
    bodies::unpack(db, packed, |base| body(db, base))
}

/// Returns the body of one entry; `None` also if it is in the team's log.
fn body(db: &Connection, id: i64) -> Result<Option<String>> {
    packed_body(db, id)?.map_or(Ok(None), |packed| unpack(db, &packed))
}

/// Returns the body of one entry; `None` if it can't be unpacked, so that one damaged text doesn't fail the whole read.
pub(crate) fn readable_body(db: &Connection, id: i64) -> Result<Option<String>> {
    bodies::none_if_unreadable(body(db, id), format_args!("the body of answer {id}"))
}

/// Returns the time of the last answer with a state (HTTP 200 or 404) about a transaction before a moment.
pub(crate) fn last_state_before(
    db: &Connection,
    transaction: RowId,
    moment: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>> {
    let sql = "SELECT max(last_at) FROM observations
               WHERE transaction_row = ? AND first_at < ? AND http_status IN (200, 404)";
    let values = params![transaction.0, columns::moment(moment)];
    db.one(sql, values, |row| columns::optional_moment(row, 0))
}

fn summary(outcome: &StatusOutcome) -> String {
    match outcome {
        StatusOutcome::Record(record) => record.status.to_string(),
        StatusOutcome::NotFound(None) => "not found".into(),
        StatusOutcome::NotFound(Some(message)) => format!("not found: {message}"),
        StatusOutcome::Failed(failure) => failure.one_line(),
    }
}

/// Returns the service's IDs of the answers about a transaction, oldest first. Of a repeated answer it returns the
/// newest IDs only.
pub(crate) fn response_ids(db: &Connection, transaction: RowId) -> Result<Vec<String>> {
    let sql = "SELECT response_id FROM observations WHERE transaction_row = ? AND response_id IS NOT NULL ORDER BY id";
    let entries = db.all(sql, [transaction.0], |row| columns::lenient::<String>(row, 0))?;
    Ok(entries.iter().flat_map(|ids| ids.split(ID_SEPARATOR)).map(str::to_owned).collect())
}

/// Returns the last body in the entries of a transaction.
pub(crate) fn last_body(db: &Connection, transaction: RowId) -> Result<Option<StoredBody>> {
    first(db, transaction, "body IS NOT NULL ORDER BY id DESC")?.map_or(Ok(None), |id| stored_body(db, id))
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredObservation> {
    Ok(StoredObservation {
        id: row.get(0)?,
        first_at: columns::moment_from(columns::lenient(row, 1)?),
        last_at: columns::moment_from(columns::lenient(row, 2)?),
        times: columns::lenient(row, 3)?,
        summary: columns::lenient(row, 4)?,
        http_status: columns::lenient::<Option<i64>>(row, 5)?.and_then(|status| status.try_into().ok()),
        latency: columns::span_from(columns::lenient(row, 6)?),
    })
}

/// A cursor in the order in which transactions settled. Bodies before the cursor are already dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OldBodyCursor {
    settled_at: i64,
    row: i64,
}

/// Clears the bodies of one transaction's answers; returns the number of cleared bodies.
pub(crate) fn clear_bodies(db: &Connection, transaction: RowId) -> Result<usize> {
    let sql = "UPDATE observations SET body = NULL, body_dictionary = NULL, body_base = NULL
               WHERE transaction_row = ? AND body IS NOT NULL";
    db.change(sql, [transaction.0])
}
