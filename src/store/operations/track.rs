//! Tracks a batch: adds new transactions, and updates known transactions whose parameters differ.
//!
//! A batch is stored whole or not at all. An empty field never erases a known value. Another store's observations in
//! the batch are no evidence for this store. Memory must not grow with the batch.

use std::{borrow::Cow, mem, sync::LazyLock};

use rusqlite::{
    CachedStatement, Connection, Statement,
    types::{ToSqlOutput, ValueRef},
};

use super::{
    alerts as alert_changes,
    import_report::ImportReport,
    indexes::{self, Novelty},
};
use crate::{
    domain::{
        batch::Batch,
        change::ChangeKind,
        deadline::Deadline,
        ids::RowId,
        operation::Stamp,
        transaction::{NewTransaction, Tracking, TransactionHeader, TransactionParams},
        transaction_update::{TransactionUpdate, merge_params},
    },
    store::{
        error::Result,
        file::connection,
        reader::Reader,
        row_checksum,
        tables::{
            changes::{self, FeedEntry},
            columns, notes, quotes, records, transactions,
            undo_history::{self, EditStep, StoredTracking},
        },
    },
};

/// The most undo steps that are kept for changes of known transactions.
const MAX_UNDO_STEPS: usize = 10_000;

/// The number of rows per insert statement if all rows are new: starting and ending a statement costs as much as a row.
const ROWS_PER_INSERT: usize = 32;
/// The columns that are written for a new transaction.
const COLUMNS: &str = "profile, transaction_id, from_chain, to_chain, quote_id, request_id, estimate, submitted_at, from_address, \
    ticket, first_seen_at, untracked, due, tracked_by, ticket_by";
/// The number of these columns.
const COLUMN_COUNT: usize = 15;

/// The expected result of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportPreview {
    /// The number of transactions that would be newly tracked.
    pub new: usize,
    /// The number of transactions that are tracked already.
    pub known: usize,
    /// The number of tracked transactions that would be updated.
    pub changed: usize,
}

impl Reader {
    /// Returns what tracking a batch would change in the store's present state.
    pub fn preview_import(&self, profile: &str, batch: &dyn Batch) -> Result<ImportPreview> {
        let (db, mut preview) = (self.db(), ImportPreview::default());
        // One snapshot shows the same state as an import would see, and is many times faster than one snapshot per row.
        self.snapshot(|| {
            for new in batch.transactions()? {
                let new = new?;
                match transactions::header_of(db, &new.params.key(profile))? {
                    None => preview.new += 1,
                    Some(known) => {
                        preview.known += 1;
                        preview.changed += usize::from(!update_of(db, &known, &new)?.fields.is_empty());
                    }
                }
            }
            Ok(preview)
        })
    }
}

/// Tracks a batch that fits into memory.
pub(super) fn track(
    db: &Connection,
    profile: &str,
    transactions: &[NewTransaction],
    stamp: &Stamp,
) -> Result<ImportReport> {
    let mut import = ImportRun::new(db, profile, stamp)?;
    transactions.iter().try_for_each(|new| import.import_one(new))?;
    let (report, last) = import.finish()?;
    report.count_in_other_profiles(db, last)
}

/// Tracks a batch of any size. A batch that is larger than the store is written without the indexes, which are made
/// again at the end.
pub(crate) fn track_batch(db: &Connection, profile: &str, batch: &dyn Batch, stamp: &Stamp) -> Result<ImportReport> {
    connection::with_large_cache(db, || {
        let indexes = indexes::drop_before_import(db, batch.rows(), || estimate_novelty(db, profile, batch))?;
        let mut import = ImportRun::new(db, profile, stamp)?;
        if indexes.is_all_new {
            import.bulk = Some((db.prepare(&insert_sql(ROWS_PER_INSERT))?, Vec::with_capacity(ROWS_PER_INSERT)));
        }
        batch.transactions()?.try_for_each(|new| import.import(new?))?;
        let (report, last) = import.finish()?;
        indexes.restore(db)?;
        report.count_in_other_profiles(db, last)
    })
}

/// Estimates how much of a batch is new. Looks up rows until one is stored, and at least 1,000 rows.
fn estimate_novelty(db: &Connection, profile: &str, batch: &dyn Batch) -> Result<Novelty> {
    const SAMPLE_ROWS: u64 = 1_000;
    let (mut seen, mut stored) = (0, 0);
    for new in batch.transactions()? {
        seen += 1;
        stored += u64::from(transactions::row_of(db, &new?.params.key(profile))?.is_some());
        if stored > 0 && seen >= SAMPLE_ROWS {
            break;
        }
    }
    Ok(match stored {
        0 => Novelty::All,
        _ => Novelty::About(batch.rows() * (seen - stored) / seen),
    })
}

/// An import in progress, within a transaction of the store.
struct ImportRun<'a> {
    db: &'a Connection,
    insert: CachedStatement<'a>,
    entry: FeedEntry<'a>,
    stamp: &'a Stamp,
    /// Whether the profile has any quoted route. Usually it has none, and then no quote is looked up.
    has_quotes: bool,
    /// If all of the batch is new: the statement that inserts [`ROWS_PER_INSERT`] rows, and the rows that wait for it.
    bulk: Option<(Statement<'a>, Vec<NewTransaction>)>,
    report: ImportReport,
    last_added: Option<RowId>,
    /// The labels of added transactions that wait to be inserted.
    labels: Vec<(RowId, String)>,
    /// Whether the previous transaction of the batch was known.
    was_previous_known: bool,
    /// Undo steps for known transactions. One step more than [`MAX_UNDO_STEPS`] means that there were too many.
    steps: Vec<EditStep>,
}

impl<'a> ImportRun<'a> {
    fn new(db: &'a Connection, profile: &'a str, stamp: &'a Stamp) -> Result<Self> {
        let entry = FeedEntry::of_profile(profile, stamp.at).with_author(stamp.author.as_deref());
        let has_quotes = quotes::has_quotes(db, profile)?;
        let insert = db.prepare_cached(&format!("{} ON CONFLICT DO NOTHING", insert_sql(1)))?;
        let report = ImportReport::default();
        let (last_added, was_previous_known) = (None, false);
        let (bulk, labels, steps) = (None, Vec::new(), Vec::new());
        Ok(Self { db, insert, entry, stamp, has_quotes, bulk, report, last_added, labels, was_previous_known, steps })
    }

    /// Imports a transaction of the batch, at once or with the next bulk insert.
    fn import(&mut self, new: NewTransaction) -> Result<()> {
        let Some((_, waiting)) = &mut self.bulk else { return self.import_one(&new) };
        waiting.push(new);
        if waiting.len() == ROWS_PER_INSERT { self.insert_waiting() } else { Ok(()) }
    }

    fn import_one(&mut self, new: &NewTransaction) -> Result<()> {
        // Neighbours in a batch are mostly both known or both new, so the case of the previous transaction is tried
        // first.
        self.was_previous_known = match self.was_previous_known {
            true => self.update(new)? || !self.add(new)?,
            false => !self.add(new)? && self.update(new)?,
        };
        Ok(())
    }

    /// Adds a transaction unless it is known. Returns whether it was added.
    fn add(&mut self, new: &NewTransaction) -> Result<bool> {
        let (mut params, mut completed) = (Cow::Borrowed(&new.params), Vec::new());
        if self.has_quotes {
            completed = quotes::fill_params(self.db, self.entry.profile, params.to_mut())?;
        }
        bind(&mut self.insert, 0, &params, new, &self.entry)?;
        if self.insert.raw_execute()? == 0 {
            return Ok(false);
        }
        self.record_added(RowId(self.db.last_insert_rowid()), new, completed).map(|()| true)
    }

    /// Inserts the waiting rows with one statement.
    fn insert_waiting(&mut self) -> Result<()> {
        let Some((insert, waiting)) = &mut self.bulk else { return Ok(()) };
        let mut waiting = mem::replace(waiting, Vec::with_capacity(ROWS_PER_INSERT));
        let mut completed = Vec::new();
        for (row_index, new) in waiting.iter_mut().enumerate() {
            completed.push(match self.has_quotes {
                true => quotes::fill_params(self.db, self.entry.profile, &mut new.params)?,
                false => Vec::new(),
            });
            bind(insert, row_index, &new.params, new, &self.entry)?;
        }
        // The row numbers are consecutive, since no other process writes meanwhile.
        insert.raw_execute()?;
        let first = self.db.last_insert_rowid() + 1 - waiting.len() as i64;
        for ((number, new), completed) in (first..).zip(&waiting).zip(completed) {
            self.record_added(RowId(number), new, completed)?;
        }
        Ok(())
    }

    /// Writes the notes of a transaction whose row was inserted, queues its labels, and adds the row to the report.
    fn record_added(&mut self, row: RowId, new: &NewTransaction, completed: Vec<&'static str>) -> Result<()> {
        self.labels.extend(new.labels.iter().map(|label| (row, label.clone())));
        if self.labels.len() >= 4 * ROWS_PER_INSERT {
            self.insert_waiting_labels()?;
        }
        for note in &new.notes {
            notes::insert(self.db, row, note, self.stamp)?;
        }
        self.last_added = Some(row);
        self.report.added.push(row);
        if !completed.is_empty() {
            self.report.completed.push((row, completed));
        }
        Ok(())
    }

    fn insert_waiting_labels(&mut self) -> Result<()> {
        insert_labels(self.db, &self.labels, self.entry.author)?;
        self.labels.clear();
        Ok(())
    }

    /// Ends the import: inserts waiting rows, and writes the feed and the undo history. Returns the report and the last
    /// added row.
    fn finish(mut self) -> Result<(ImportReport, Option<RowId>)> {
        let left = self.bulk.take().map_or_else(Vec::new, |(_, waiting)| waiting);
        left.iter().try_for_each(|new| self.import_one(new))?;
        self.insert_waiting_labels()?;
        let (added, updated) = (self.report.added.count, self.report.updated.count);
        let mut steps = Vec::new();
        if let (Some(first), Some(last)) = (self.report.added.listed.first(), self.last_added) {
            changes::append_to_each(self.db, first.0..=last.0, "true", &ChangeKind::Imported, self.stamp)?;
            // The range contains the numbers of the added rows and no others.
            steps.push(EditStep::Tracked { first: first.0, last: last.0, stopped: None });
        }
        let summary = match (updated, self.steps.len() > MAX_UNDO_STEPS) {
            (0, _) => format!("track {added}"),
            (_, false) if added == 0 => format!("change {updated}"),
            (_, false) => format!("track {added}, change {updated}"),
            // More steps would take more space than undo is worth.
            (_, true) => {
                self.steps.clear();
                format!("track {added} (the changes of {updated} others can't be undone)")
            }
        };
        steps.append(&mut self.steps);
        // Also changes that can't be undone are an edit: undo must not take an earlier edit for the last one.
        if added > 0 || updated > 0 {
            undo_history::insert(self.db, self.entry.profile, self.entry.author, &summary, &steps, self.entry.at)?;
        }
        Ok((self.report, self.last_added))
    }

    /// Updates a known transaction with the values of the batch. Returns whether the transaction is known.
    fn update(&mut self, new: &NewTransaction) -> Result<bool> {
        // The transaction may have been added by an earlier row of the batch.
        self.insert_waiting_labels()?;
        let Some(known) = transactions::header_of(self.db, &new.params.key(self.entry.profile))? else {
            return Ok(false);
        };
        let update = update_of(self.db, &known, new)?;
        match update.fields.is_empty() {
            true => self.report.unchanged.push(known.id),
            false => {
                let steps = write_update(self.db, &known, &update, self.stamp)?;
                self.steps.extend(steps.into_iter().take((MAX_UNDO_STEPS + 1).saturating_sub(self.steps.len())));
                self.report.updated.push((known.id, update.field_names()));
            }
        }
        Ok(true)
    }
}

/// The parameters of one row of an insert statement: the columns and the checksum.
const PARAMETERS: usize = COLUMN_COUNT + 1;

/// Returns the SQL that inserts this many rows.
fn insert_sql(rows: usize) -> String {
    let row = format!("({})", ["?"; PARAMETERS].join(", "));
    format!("INSERT INTO transactions ({COLUMNS}, checksum) VALUES {}", vec![row; rows].join(", "))
}

/// The checked columns of a new row, in the order of the checksum: the position in [`COLUMNS`] of a column that is
/// written, and the value of any other column. SQLite would take a fifth longer for the insert if it computed the
/// checksums.
static CHECKED_COLUMNS: LazyLock<Vec<(Option<usize>, ValueRef<'static>)>> = LazyLock::new(|| {
    let column = |name: &str| {
        let is_count = matches!(name, "polls" | "failures");
        let unwritten = if is_count { ValueRef::Integer(0) } else { ValueRef::Null };
        (COLUMNS.split(", ").position(|column| column == name), unwritten)
    };
    transactions::CHECKED.split(", ").map(column).collect()
});

/// Binds the values of a transaction to one row of an insert statement.
fn bind(
    insert: &mut Statement<'_>,
    row_index: usize,
    params: &TransactionParams,
    new: &NewTransaction,
    entry: &FeedEntry<'_>,
) -> Result<()> {
    // An earlier moment from another store counts. A moment in the future doesn't.
    let first_seen_at = new.first_seen_at.map_or(entry.at, |seen| seen.min(entry.at));
    let deadline = Deadline::new(params.submitted_at, first_seen_at, params.estimate).at;
    let values: [ValueRef<'_>; COLUMN_COUNT] = [
        entry.profile.into(),
        params.transaction_id.as_str().into(),
        params.from_chain.as_str().into(),
        params.to_chain.as_str().into(),
        params.quote_id.as_str().into(),
        params.request_id.as_deref().into(),
        number_or_null(params.estimate.map(columns::span)),
        number_or_null(params.submitted_at.map(columns::moment)),
        params.from_address.as_deref().into(),
        params.ticket.as_deref().into(),
        ValueRef::Integer(columns::moment(first_seen_at)),
        ValueRef::Integer(new.is_untracked.into()),
        ValueRef::Integer(columns::moment(deadline)),
        entry.author.into(),
        entry.author.filter(|_| params.ticket.is_some()).into(),
    ];
    let written = |position: Option<usize>| position.and_then(|index| values.get(index));
    let checked = CHECKED_COLUMNS.iter().map(|(position, unwritten)| *written(*position).unwrap_or(unwritten));
    let checksum = row_checksum::of_values(checked);
    bind_row(insert, row_index, &values, checksum)
}

/// Binds the values of one row and its checksum; each row of the statement has as many parameters.
fn bind_row(insert: &mut Statement<'_>, row_index: usize, values: &[ValueRef<'_>], checksum: i64) -> Result<()> {
    let first = row_index * (values.len() + 1) + 1;
    for (parameter, value) in (first..).zip(values.iter().copied().chain([ValueRef::Integer(checksum)])) {
        insert.raw_bind_parameter(parameter, ToSqlOutput::Borrowed(value))?;
    }
    Ok(())
}

fn number_or_null<'a>(number: Option<i64>) -> ValueRef<'a> {
    number.map_or(ValueRef::Null, ValueRef::Integer)
}

/// Returns the changes that a batch makes to a known transaction.
fn update_of(db: &Connection, before: &TransactionHeader, new: &NewTransaction) -> Result<TransactionUpdate> {
    let reported = match (&new.params.request_id, &before.params.request_id) {
        (Some(_), None) => records::record(db, before.id)?.and_then(|record| record.request_id),
        _ => None,
    };
    let mut params = merge_params(&before.params, &new.params, reported.as_deref());
    quotes::fill_params(db, &before.profile, &mut params)?;
    Ok(TransactionUpdate::new(before, params, new))
}

/// Adds labels to transactions, [`ROWS_PER_INSERT`] with one statement.
fn insert_labels(db: &Connection, labels: &[(RowId, String)], author: Option<&str>) -> Result<()> {
    let (whole, rest) = labels.as_chunks::<ROWS_PER_INSERT>();
    for labels in whole.iter().map(|labels| labels.as_slice()).chain(rest.chunks(1)) {
        let rows = vec!["(?, ?, ?, ?)"; labels.len()].join(", ");
        let sql = format!("INSERT OR IGNORE INTO labels (transaction_row, label, author, checksum) VALUES {rows}");
        let mut insert = db.prepare_cached(&sql)?;
        for (row_index, (row, label)) in labels.iter().enumerate() {
            let values = [ValueRef::Integer(row.0), label.as_str().into(), author.into()];
            bind_row(&mut insert, row_index, &values, row_checksum::of_values(values.into_iter()))?;
        }
        insert.raw_execute()?;
    }
    Ok(())
}

/// Writes the changes and returns their undo steps.
fn write_update(
    db: &Connection,
    before: &TransactionHeader,
    update: &TransactionUpdate,
    stamp: &Stamp,
) -> Result<Vec<EditStep>> {
    let row = before.id;
    let author = stamp.author.as_deref();
    let params = transactions::write_params(db, before, &update.params, author)?;
    if update.is_resumed {
        transactions::resume(db, row)?;
    }
    if update.is_resumed && before.tracking == Tracking::Untracked {
        // No later answer would raise the alert of a settled transaction.
        alert_changes::reactivate(db, row, stamp.at)?;
    }
    let labels: Vec<(RowId, String)> = update.labels.iter().map(|label| (row, label.clone())).collect();
    insert_labels(db, &labels, author)?;
    let notes = update.notes.iter().map(|note| notes::insert(db, row, note, stamp));
    let notes: Vec<i64> = notes.collect::<Result<_>>()?;
    changes::append(
        db,
        &FeedEntry::of_row(row, stamp.at).with_author(author),
        &ChangeKind::edited(update.field_names()),
    )?;
    let params = (params != before.params).then(|| EditStep::Params {
        row: row.0,
        ticket_by: before.authors.ticket.clone().filter(|_| params.ticket != before.params.ticket),
        before: before.params.clone().into(),
        after: params.into(),
    });
    let label = |label: &String| EditStep::Label {
        row: row.0,
        label: label.clone(),
        is_added: true,
        is_repeated: false,
        by: None,
    };
    let labels = update.labels.iter().map(label);
    let notes = notes.into_iter().map(|note| EditStep::Note { row: row.0, note, is_removed: false });
    let tracking = update.is_resumed.then(|| EditStep::Tracking {
        row: row.0,
        before: StoredTracking::from(&before.tracking),
        after: StoredTracking::ACTIVE,
    });
    Ok(params.into_iter().chain(labels).chain(notes).chain(tracking).collect())
}
