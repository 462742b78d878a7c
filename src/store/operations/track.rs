//! Tracking a batch: new transactions are added, known ones are updated where their parameters differ.
//!
//! A batch is kept whole or not at all, an empty field never erases what is known, and what the batch holds of another
//! store's answers is no evidence of ours. Memory must not grow with the batch.

use std::{borrow::Cow, collections::BTreeMap, mem, ops::ControlFlow};

use chrono::{DateTime, Utc};
use rusqlite::{CachedStatement, Connection, Statement, ToSql, params};

use super::indexes::{self, Novelty};
use crate::{
    domain::{
        batch::Batch,
        change::What,
        deadline::Deadline,
        ids::RowId,
        operation::{Stamp, TransactionKey},
        text,
        transaction::{NewTransaction, Tracking, TransactionHeader, TransactionParams},
    },
    store::{
        error::StoreError,
        file::connection,
        tables::{
            changes::{self, Entry},
            columns, notes, quotes, records,
            transactions::{self, POLLED},
            undo_history::{self, Polling, Step},
        },
    },
};

/// So many changes of what was known before can be undone.
const STEPS: usize = 10_000;
/// So many of a kind are named in a report.
const NAMED: usize = 1_000;

/// So many rows are inserted by one statement where all of them are new: to begin and end a statement costs as much as a row.
const AT_ONCE: usize = 32;
/// What is written of a transaction.
const COLUMNS: [&str; 13] = [
    "profile",
    "transaction_id",
    "from_chain",
    "to_chain",
    "quote_id",
    "request_id",
    "estimate",
    "submitted_at",
    "from_address",
    "ticket",
    "first_seen_at",
    "untracked",
    "due",
];

/// How many there are of something, and the first thousand of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally<T> {
    /// How many.
    pub count: usize,
    /// The first of them.
    pub first: Vec<T>,
}

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Self { count: 0, first: Vec::new() }
    }
}

impl<T> Tally<T> {
    fn push(&mut self, one: T) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(one);
        }
    }
}

impl<T> FromIterator<T> for Tally<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut tally = Self::default();
        all.into_iter().for_each(|one| tally.push(one));
        tally
    }
}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Tracked from now on.
    pub added: Tally<RowId>,
    /// Known, and changed; with the fields that differ.
    pub updated: Tally<(RowId, Vec<String>)>,
    /// Known, and nothing new.
    pub unchanged: Tally<RowId>,
    /// Of those that were added: what wasn't told and is known from the route's quote.
    pub completed: Tally<(RowId, Vec<&'static str>)>,
    /// How many of those that were added each other profile polls too, by the profile's name.
    pub elsewhere: BTreeMap<String, usize>,
}

impl ImportReport {
    /// A transaction of the batch: the first that was added, else updated, else known.
    pub fn first(&self) -> Option<RowId> {
        let updated = self.updated.first.first().map(|(row, _)| row);
        self.added.first.first().or(updated).or(self.unchanged.first.first()).copied()
    }

    /// What is said of transactions that other profiles poll too, each at its own ID's cost.
    pub fn twice(&self) -> Option<String> {
        let others = self.elsewhere.iter();
        let others: Vec<_> = others.map(|(profile, count)| format!("{count} in {}", text::clean(profile))).collect();
        (!others.is_empty()).then(|| format!("also tracked: {}", others.join(", ")))
    }

    /// Looks up who else polls what was added, up to `last`, once all of it can be found. Costs n in what was added, unless nobody
    /// else polls anything.
    fn look_elsewhere(mut self, db: &Connection, last: Option<RowId>) -> Result<Self, StoreError> {
        let (Some(first), Some(last)) = (self.added.first.first(), last) else { return Ok(self) };
        let others = format!(
            "SELECT EXISTS (SELECT 1 FROM transactions WHERE {POLLED} AND profile < own.profile)
             OR EXISTS (SELECT 1 FROM transactions WHERE {POLLED} AND profile > own.profile)
             FROM transactions AS own WHERE id = ?"
        );
        if !db.prepare_cached(&others)?.query_row([first.0], |row| row.get::<_, bool>(0))? {
            return Ok(self);
        }
        let sql = "SELECT other.profile, count(*) FROM transactions AS own JOIN transactions AS other USING (transaction_key, from_chain)
                   WHERE own.id BETWEEN ? AND ? AND own.untracked = 0 AND other.profile <> own.profile
                   AND other.settled_at IS NULL AND other.untracked = 0 AND other.parked_reason IS NULL
                   GROUP BY other.profile";
        let mut statement = db.prepare_cached(sql)?;
        let rows = statement.query_map([first.0, last.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.elsewhere = rows.collect::<rusqlite::Result<_>>()?;
        Ok(self)
    }
}

/// What an import would do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportPreview {
    /// How many transactions would be tracked from then on.
    pub new: usize,
    /// How many are tracked already.
    pub known: usize,
    /// How many of those would be updated.
    pub changed: usize,
}

/// What tracking a batch would do, as the store is now.
pub(in crate::store) fn preview(
    db: &Connection,
    profile: &str,
    batch: &dyn Batch,
) -> Result<ImportPreview, StoreError> {
    let mut preview = ImportPreview::default();
    for_each(batch, |new| {
        match Known::load(db, profile, &new.params)? {
            None => preview.new += 1,
            Some(known) => {
                preview.known += 1;
                preview.changed += usize::from(!Update::new(db, &known, &new)?.fields.is_empty());
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(preview)
}

/// Tracks a batch that fits into memory.
pub(super) fn track(
    db: &Connection,
    profile: &str,
    transactions: &[NewTransaction],
    stamp: &Stamp,
) -> Result<ImportReport, StoreError> {
    let mut import = Import::new(db, profile, stamp)?;
    transactions.iter().try_for_each(|new| import.take_one(new))?;
    let (report, last) = import.finish()?;
    report.look_elsewhere(db, last)
}

/// Tracks a batch of any size. A batch that is larger than the store is written without the indexes, which are made again at
/// the end.
pub(in crate::store) fn track_batch(
    db: &Connection,
    profile: &str,
    batch: &dyn Batch,
    stamp: &Stamp,
) -> Result<ImportReport, StoreError> {
    connection::with_room(db, || {
        let indexes = indexes::drop_for(db, batch.rows(), || novelty(db, profile, batch))?;
        let begin = if indexes.all_new() { Import::of_new } else { Import::new };
        let mut import = begin(db, profile, stamp)?;
        for_each(batch, |new| import.take(new).map(ControlFlow::Continue))?;
        let (report, last) = import.finish()?;
        indexes.restore(db)?;
        report.look_elsewhere(db, last)
    })
}

/// Hands out the rows of a batch until there are no more, `each` breaks, or it fails.
fn for_each(
    batch: &dyn Batch,
    mut each: impl FnMut(NewTransaction) -> Result<ControlFlow<()>, StoreError>,
) -> Result<(), StoreError> {
    let mut failure = None;
    let read = batch.for_each(&mut |new| {
        each(new).unwrap_or_else(|error| {
            failure = Some(error);
            ControlFlow::Break(())
        })
    });
    failure.map_or(Ok(read?), Err)
}

/// Looks up the transactions of a batch: all of them as long as none is stored, else enough to tell how many are.
fn novelty(db: &Connection, profile: &str, batch: &dyn Batch) -> Result<Novelty, StoreError> {
    const ENOUGH: u64 = 1_000;
    let (mut seen, mut stored) = (0, 0);
    for_each(batch, |new| {
        seen += 1;
        stored += u64::from(transactions::row_of(db, &key(profile, &new.params))?.is_some());
        Ok(if stored > 0 && seen >= ENOUGH { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(match stored {
        0 => Novelty::All,
        _ => Novelty::About(batch.rows() * (seen - stored) / seen),
    })
}

fn key(profile: &str, params: &TransactionParams) -> TransactionKey {
    TransactionKey {
        profile: profile.to_owned(),
        from_chain: params.from_chain.clone(),
        hash: params.transaction_id.clone(),
    }
}

/// An import under way, in a transaction of the store.
struct Import<'a> {
    db: &'a Connection,
    adding: CachedStatement<'a>,
    entry: Entry<'a>,
    author: Option<&'a str>,
    /// Whether any route was quoted: of most batches none was, and then no quote need be looked for.
    has_quotes: bool,
    /// Where all of the batch is new: what adds many, and those that wait to be so many.
    many: Option<(Statement<'a>, Vec<NewTransaction>)>,
    report: ImportReport,
    last_added: Option<RowId>,
    /// Whether the one before was known.
    was_known: bool,
    /// What can be taken back of what was known before; one more than that says that there were too many.
    steps: Vec<Step>,
}

impl<'a> Import<'a> {
    /// Of any batch.
    fn new(db: &'a Connection, profile: &'a str, stamp: &'a Stamp) -> Result<Self, StoreError> {
        let entry = Entry::of_profile(profile, stamp.at);
        let has_quotes = quotes::any(db, profile)?;
        let adding = db.prepare_cached(&format!("{} ON CONFLICT DO NOTHING", insertion(1)))?;
        let report = ImportReport::default();
        let (last_added, was_known) = (None, false);
        let (many, steps, author) = (None, Vec::new(), stamp.author.as_deref());
        Ok(Self { db, adding, entry, author, has_quotes, many, report, last_added, was_known, steps })
    }

    /// Of a batch in which no two are the same transaction, nor any one that is stored.
    fn of_new(db: &'a Connection, profile: &'a str, stamp: &'a Stamp) -> Result<Self, StoreError> {
        let many = Some((db.prepare(&insertion(AT_ONCE))?, Vec::with_capacity(AT_ONCE)));
        Ok(Self { many, ..Self::new(db, profile, stamp)? })
    }

    /// Takes a transaction of the batch.
    fn take(&mut self, new: NewTransaction) -> Result<(), StoreError> {
        let Some((_, waiting)) = &mut self.many else { return self.take_one(&new) };
        waiting.push(new);
        if waiting.len() == AT_ONCE { self.add_many() } else { Ok(()) }
    }

    fn take_one(&mut self, new: &NewTransaction) -> Result<(), StoreError> {
        // Mostly one is known if the one before was, and new if that was new; so that is tried first.
        self.was_known = match self.was_known {
            true => self.update(new)? || !self.add(new)?,
            false => !self.add(new)? && self.update(new)?,
        };
        Ok(())
    }

    /// Adds it, unless it is known.
    fn add(&mut self, new: &NewTransaction) -> Result<bool, StoreError> {
        let (mut params, mut completed) = (Cow::Borrowed(&new.params), Vec::new());
        if self.has_quotes {
            completed = quotes::complete(self.db, self.entry.profile, params.to_mut())?;
        }
        bind(&mut self.adding, 0, (&params, new), &self.entry)?;
        if self.adding.raw_execute()? == 0 {
            return Ok(false);
        }
        self.added(RowId(self.db.last_insert_rowid()), new, completed).map(|()| true)
    }

    /// Adds those that wait, all at once.
    fn add_many(&mut self) -> Result<(), StoreError> {
        let Some((adding, waiting)) = &mut self.many else { return Ok(()) };
        let mut waiting = mem::replace(waiting, Vec::with_capacity(AT_ONCE));
        let mut completed = Vec::new();
        for (place, new) in waiting.iter_mut().enumerate() {
            completed.push(match self.has_quotes {
                true => quotes::complete(self.db, self.entry.profile, &mut new.params)?,
                false => Vec::new(),
            });
            bind(adding, place, (&new.params, new), &self.entry)?;
        }
        // Numbered one after the other, since nobody else writes meanwhile.
        adding.raw_execute()?;
        let first = self.db.last_insert_rowid() + 1 - waiting.len() as i64;
        for ((number, new), completed) in (first..).zip(&waiting).zip(completed) {
            self.added(RowId(number), new, completed)?;
        }
        Ok(())
    }

    /// It stands in its row: what belongs to it follows.
    fn added(&mut self, row: RowId, new: &NewTransaction, completed: Vec<&'static str>) -> Result<(), StoreError> {
        add_words(self.db, row, (&new.labels, &new.notes), self.entry.at)?;
        self.last_added = Some(row);
        self.report.added.push(row);
        if !completed.is_empty() {
            self.report.completed.push((row, completed));
        }
        Ok(())
    }

    /// Tells the feed what was added, and says what was done, with the last that was added.
    fn finish(mut self) -> Result<(ImportReport, Option<RowId>), StoreError> {
        let left = self.many.take().map_or_else(Vec::new, |(_, waiting)| waiting);
        left.iter().try_for_each(|new| self.take_one(new))?;
        let (added, updated) = (self.report.added.count, self.report.updated.count);
        let mut steps = Vec::new();
        if let (Some(first), Some(last)) = (self.report.added.first.first(), self.last_added) {
            let rows = (first.0..=last.0, "true");
            changes::append_to_each(self.db, rows, &What::Imported, self.entry.at)?;
            // All that was added has its numbers in between, and nothing else.
            steps.push(Step::tracked(first.0, last.0));
        }
        let summary = match (updated, self.steps.len() > STEPS) {
            (0, _) => format!("track {added}"),
            (_, false) if added == 0 => format!("change {updated}"),
            (_, false) => format!("track {added}, change {updated}"),
            // More would take more room than anybody's undo is worth.
            (_, true) => {
                self.steps.clear();
                format!("track {added} (that {updated} were changed can't be taken back)")
            }
        };
        steps.append(&mut self.steps);
        undo_history::insert(self.db, (self.entry.profile, self.author), (&summary, &steps), self.entry.at)?;
        Ok((self.report, self.last_added))
    }

    /// Brings what is known up to what the batch says of it; whether it is known.
    fn update(&mut self, new: &NewTransaction) -> Result<bool, StoreError> {
        let Some(known) = Known::load(self.db, self.entry.profile, &new.params)? else { return Ok(false) };
        let update = Update::new(self.db, &known, new)?;
        match update.fields.is_empty() {
            true => self.report.unchanged.push(known.header.id),
            false => {
                let steps = update.write(self.db, &known.header, self.entry.at)?;
                self.steps.extend(steps.into_iter().take((STEPS + 1).saturating_sub(self.steps.len())));
                self.report.updated.push((known.header.id, update.fields));
            }
        }
        Ok(true)
    }
}

/// What adds so many rows.
fn insertion(rows: usize) -> String {
    let row = format!("({})", ["?"; COLUMNS.len()].join(", "));
    format!("INSERT INTO transactions ({}) VALUES {}", COLUMNS.join(", "), vec![row; rows].join(", "))
}

/// Puts a transaction into the row at this place of what adds some.
fn bind(
    adding: &mut Statement<'_>,
    place: usize,
    (params, new): (&TransactionParams, &NewTransaction),
    entry: &Entry<'_>,
) -> Result<(), StoreError> {
    // What others saw before us counts; nobody saw it later than now.
    let first_seen_at = new.first_seen_at.map_or(entry.at, |seen| seen.min(entry.at));
    let values: [&dyn ToSql; COLUMNS.len()] = [
        &entry.profile,
        &params.transaction_id.as_str(),
        &params.from_chain.as_str(),
        &params.to_chain.as_str(),
        &params.quote_id,
        &params.request_id,
        &params.estimate.map(columns::span),
        &params.submitted_at.map(columns::moment),
        &params.from_address,
        &params.ticket,
        &columns::moment(first_seen_at),
        &new.untracked,
        &columns::moment(Deadline::new(params.submitted_at, first_seen_at, params.estimate).at),
    ];
    let mut parameters = place * COLUMNS.len()..;
    parameters.next();
    parameters.zip(values).try_for_each(|(parameter, value)| adding.raw_bind_parameter(parameter, value))?;
    Ok(())
}

/// What is known of a transaction of the batch.
struct Known {
    header: TransactionHeader,
    /// The request ID that the service said itself; loaded only where the batch brings one and none was given before.
    request_id: Option<String>,
}

impl Known {
    fn load(db: &Connection, profile: &str, params: &TransactionParams) -> Result<Option<Self>, StoreError> {
        let Some(header) = transactions::header_of(db, &key(profile, params))? else { return Ok(None) };
        let request_id = match (&params.request_id, &header.params.request_id) {
            (Some(_), None) => records::record(db, header.id)?.and_then(|record| record.request_id),
            _ => None,
        };
        Ok(Some(Self { header, request_id }))
    }

    /// The parameters after a batch that says this: an empty field erases nothing.
    fn merge(&self, new: &TransactionParams) -> TransactionParams {
        let before = &self.header.params;
        // What the service said itself is nothing new.
        let known = before.request_id.as_deref().or(self.request_id.as_deref());
        let request_id = new.request_id.as_deref().filter(|id| known != Some(id));
        TransactionParams {
            transaction_id: before.transaction_id.clone(),
            from_chain: before.from_chain.clone(),
            to_chain: new.to_chain.clone(),
            quote_id: new.quote_id.clone(),
            request_id: request_id.map(str::to_owned).or_else(|| before.request_id.clone()),
            estimate: new.estimate.or(before.estimate),
            submitted_at: new.submitted_at.or(before.submitted_at),
            from_address: new.from_address.clone().or_else(|| before.from_address.clone()),
            ticket: new.ticket.clone().or_else(|| before.ticket.clone()),
        }
    }
}

/// Puts labels and notes on a transaction; the numbers of the notes.
fn add_words(
    db: &Connection,
    row: RowId,
    (labels, new_notes): (&[String], &[String]),
    at: DateTime<Utc>,
) -> Result<Vec<i64>, StoreError> {
    for label in labels {
        db.prepare_cached("INSERT OR IGNORE INTO labels VALUES (?, ?)")?.execute(params![row.0, label])?;
    }
    let mut written = Vec::new();
    for note in new_notes {
        written.push(notes::insert(db, row, note, at)?);
    }
    Ok(written)
}

/// What a batch says of a known transaction that isn't known yet.
struct Update {
    params: TransactionParams,
    labels: Vec<String>,
    notes: Vec<String>,
    resumed: bool,
    /// The names of what differs, as the files call it.
    fields: Vec<String>,
}

impl Update {
    fn new(db: &Connection, known: &Known, new: &NewTransaction) -> Result<Self, StoreError> {
        let (before, mut params) = (&known.header, known.merge(&new.params));
        quotes::complete(db, &before.profile, &mut params)?;
        let unknown = |known: &[String], words: &[String]| -> Vec<String> {
            words.iter().filter(|word| !known.contains(word)).cloned().collect()
        };
        let (labels, notes) = (unknown(&before.labels, &new.labels), unknown(&before.notes, &new.notes));
        let mut fields = differences(&before.params, &params);
        fields.extend((!labels.is_empty()).then_some("labels"));
        fields.extend((!notes.is_empty()).then_some("note"));
        // Adding it again is how a person resumes what they or the service stopped.
        let resumed = match before.tracking {
            Tracking::Active => false,
            Tracking::Parked(_) => !fields.is_empty(),
            Tracking::Untracked => !new.untracked,
        };
        fields.extend(resumed.then_some("tracking"));
        Ok(Self { params, labels, notes, resumed, fields: fields.into_iter().map(str::to_owned).collect() })
    }

    /// Writes it; what can be taken back of it.
    fn write(&self, db: &Connection, before: &TransactionHeader, at: DateTime<Utc>) -> Result<Vec<Step>, StoreError> {
        let row = before.id;
        let params = transactions::write_told(db, before, &self.params)?;
        if self.resumed {
            db.prepare_cached("UPDATE transactions SET untracked = 0, parked_reason = NULL WHERE id = ?")?
                .execute([row.0])?;
        }
        let notes = add_words(db, row, (&self.labels, &self.notes), at)?;
        changes::append(db, &Entry::of_row(row, at), &What::edited(self.fields.clone()))?;
        let params = (params != before.params).then(|| Step::Params {
            row: row.0,
            before: before.params.clone().into(),
            after: params.into(),
        });
        let labels = self.labels.iter().map(|label| Step::Label { row: row.0, label: label.clone(), added: true });
        let notes = notes.into_iter().map(|note| Step::Note { row: row.0, note });
        let tracking = self.resumed.then(|| Step::Tracking {
            row: row.0,
            before: Polling::from(&before.tracking),
            after: Polling::ACTIVE,
        });
        Ok(params.into_iter().chain(labels).chain(notes).chain(tracking).collect())
    }
}

fn differences(before: &TransactionParams, after: &TransactionParams) -> Vec<&'static str> {
    // The store keeps milliseconds: what differs by less is the same.
    let same_moment = before.submitted_at.map(columns::moment) == after.submitted_at.map(columns::moment);
    let same_estimate = before.estimate.map(columns::span) == after.estimate.map(columns::span);
    [
        ("toChainId", before.to_chain == after.to_chain),
        ("quoteId", before.quote_id == after.quote_id),
        ("requestId", before.request_id == after.request_id),
        ("estimatedRouteDuration", same_estimate),
        ("submittedAt", same_moment),
        ("fromAddress", before.from_address == after.from_address),
        ("ticket", before.ticket == after.ticket),
    ]
    .into_iter()
    .filter_map(|(field, same)| (!same).then_some(field))
    .collect()
}
