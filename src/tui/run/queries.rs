//! The dashboard's queries of the store, one for each message. They run on the pool for blocking work.
//!
//! A result must never hold more than the screen and its surroundings need.

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    domain::{
        alert::RESOLVED_FOR,
        duration_stats::RouteKey,
        filter::{Direction, Filter, NameKind},
        ids::{RowId, TxHash},
        notification,
        transaction::Transaction,
    },
    presentation::{filter_completion::NameMatches, json_tree::JsonTree},
    store::{AlertCounts, AlertQuery, ListRow, Reader, SharedReader, Store, StoreError, StoredBody, StoredObservation},
    tui::{
        dialogs::add::state::KnownTransactions,
        effect::MarkRequest,
        model::{DashboardSettings, ListCounts, Overview},
        screens::{
            alerts::state::{AlertList, AlertPage, AlertRow},
            detail::{history::TransactionHistory, raw::ResponseBody},
            list::{marks::Marks, tab::Tab},
            stats::state::{ChartRange, Statistics},
        },
    },
};

/// Returns a transaction as it is now, with its history and the durations of other transactions on its route.
pub(crate) fn history(reader: &Reader, row: RowId) -> Result<(Option<ListRow>, TransactionHistory), StoreError> {
    let Some(listed) = reader.list_row(row)? else { return Ok((None, TransactionHistory::default())) };
    /// The number of notes on screen; `hoptop show` prints all.
    const NOTES: usize = 200;
    let past = reader.route_durations(&listed.transaction.profile, &RouteKey::of(&listed.transaction))?;
    let history = TransactionHistory::new(&reader.history(row)?, past).with_notes(reader.notes(row, NOTES)?);
    Ok((Some(listed), history))
}

/// Returns these transactions as they are now, except deleted ones.
pub(crate) fn transactions(reader: &Reader, rows: &[RowId]) -> Result<Vec<Transaction>, StoreError> {
    let read = |row: &RowId| Ok(reader.list_row(*row)?.map(|listed| listed.transaction));
    rows.iter().filter_map(|row| read(row).transpose()).collect()
}

/// Returns a transaction's last body, and the changes since the previous one with the same HTTP status. A light replica
/// reads the bodies from the team's log.
pub(crate) fn body(reader: &SharedReader, store: &Store, row: RowId) -> Result<Option<ResponseBody>, StoreError> {
    let bodies = reader.read(|reader| {
        let answers = reader.answers(row)?;
        let mut with_body = answers.iter().rev().filter_map(|answer| {
            let body = reader.body(answer.id).transpose()?;
            Some(body.map(|body| (answer.clone(), body)))
        });
        let Some((last, first_of_last)) = with_body.next().transpose()? else { return Ok(None) };
        let body = reader.last_body(row)?.unwrap_or(first_of_last);
        let alike = |found: &Result<(StoredObservation, StoredBody), _>| {
            found.as_ref().map_or(true, |(answer, _)| answer.http_status == last.http_status)
        };
        let before = with_body.find(alike).transpose()?;
        Ok(Some((last, body, before)))
    });
    // The reader is free while a light replica asks the team's database.
    let Some((last, body, before)) = bodies? else { return Ok(None) };
    let Some(body) = store.body_text(body)? else { return Ok(None) };
    let before = match before {
        Some((answer, before)) => store.body_text(before)?.map(|before| (answer, before)),
        None => None,
    };
    let json_tree = JsonTree::new(&body, before.as_ref().map(|(_, before)| before.as_str()));
    let before = before.map(|(answer, _)| answer.last_at);
    Ok(Some(ResponseBody { at: last.last_at, http_status: last.http_status, bytes: body.len(), before, json_tree }))
}

/// Returns the next transaction with an alert after a row of the list, or before the row. The search continues at the
/// list's other end. `None` if no other transaction has an alert.
pub(crate) fn alert(
    reader: &Reader,
    filter: &Filter,
    now: DateTime<Utc>,
    row: RowId,
    direction: Direction,
) -> Result<Option<RowId>, StoreError> {
    let alerting = reader.listing(&filter.and(&Tab::Attention.filter()), now);
    Ok(alerting.next_around(row, direction)?.filter(|next| *next != row))
}

/// Returns the tickets or labels with this prefix.
pub(crate) fn names(reader: &Reader, kind: NameKind, prefix: String) -> Result<NameMatches, StoreError> {
    /// More than fit into the footer.
    const MAX_WORDS: usize = 50;
    let mut words = reader.names(kind, &prefix, MAX_WORDS + 1)?;
    let has_all = words.len() <= MAX_WORDS;
    words.truncate(MAX_WORDS);
    Ok(NameMatches { kind, prefix, words, has_all })
}

/// Returns the errors that keep notifications of the shown profiles from being delivered.
pub(crate) fn notification_errors(reader: &Reader, setting: &DashboardSettings) -> Result<Vec<String>, StoreError> {
    let cursors = setting.profiles().map(|profile| reader.notification_cursors(profile));
    let cursors = cursors.collect::<Result<Vec<_>, _>>()?.concat();
    Ok(notification::delivery_errors(&cursors, &setting.notification_channels))
}

/// Returns the rows of a list to mark; `None` if there are more than [`Marks::MAX_MARKS`].
pub(crate) fn marks(
    reader: &Reader,
    filter: &Filter,
    now: DateTime<Utc>,
    wanted: MarkRequest,
) -> Result<Option<Vec<RowId>>, StoreError> {
    let listing = reader.listing(filter, now);
    match wanted {
        MarkRequest::Shown => listing.at_most(Marks::MAX_MARKS),
        MarkRequest::Between(one, other) => listing.between(one, other, Marks::MAX_MARKS),
    }
}

/// Returns the list of alerts: the active ones, then those that were cleared recently.
pub(crate) fn alert_page(reader: &Reader, now: DateTime<Utc>) -> Result<AlertPage, StoreError> {
    // One row more than shown reveals whether there are more.
    let read = |query| {
        let mut found = reader.alerts_with_transactions(query)?;
        let has_more = found.len() > AlertList::MAX_ALERTS;
        found.truncate(AlertList::MAX_ALERTS);
        Ok::<_, StoreError>((found, has_more))
    };
    // An alert that is cleared between the two reads would be in both.
    reader.snapshot(|| {
        let (active, has_more_active) = read(AlertQuery::MostUrgent(AlertList::MAX_ALERTS + 1))?;
        let (resolved, has_more_resolved) =
            read(AlertQuery::ClearedSince(now - RESOLVED_FOR, AlertList::MAX_ALERTS + 1))?;
        let rows = active.into_iter().chain(resolved).map(|(alert, transaction)| AlertRow { alert, transaction });
        Ok(AlertPage { rows: rows.collect(), has_more_active, has_more_resolved })
    })
}

/// Returns the statistics for the charts. The cost grows with the number of transactions.
pub(crate) fn statistics(
    reader: &Reader,
    profile: &str,
    range: ChartRange,
    now: DateTime<Utc>,
) -> Result<Statistics, StoreError> {
    /// The longest time of the budget's charts.
    const SHOWN: TimeDelta = TimeDelta::days(7);
    let routes = reader.routes(profile, range.length().map(|length| now - length))?;
    let minutes = reader.minutes(profile, now - range.length().unwrap_or(SHOWN))?;
    Ok(Statistics::new(routes, minutes, now))
}

/// Returns which of these hashes are tracked. A hash may be a part of one, as copied from a table.
pub(crate) fn known(reader: &Reader, profile: &str, hashes: &[TxHash]) -> Result<KnownTransactions, StoreError> {
    /// The most partial hashes to search for: without the search index each search reads all transactions.
    const PARTS: usize = 8;
    let mut parts = 0;
    // A complete hash has 64 digits, with or without `0x`.
    let is_whole = |hash: &TxHash| matches!(hash.as_str().len(), 64 | 66..);
    let mut known = KnownTransactions::default();
    for hash in hashes {
        parts += usize::from(!is_whole(hash));
        let row = match is_whole(hash) || parts > PARTS {
            true => reader.find_tracked(profile, hash)?,
            false => one_known(reader, profile, hash)?,
        };
        let found = row.map(|row| reader.list_row(row)).transpose()?.flatten();
        known.transactions.extend(found.map(|found| (found.transaction.id, found.transaction.into())));
        known.rows.insert(hash.as_str().to_owned(), row);
    }
    Ok(known)
}

/// Returns the tracked transaction with a hash, or the only one whose hash has this part.
pub(crate) fn one_known(reader: &Reader, profile: &str, hash: &TxHash) -> Result<Option<RowId>, StoreError> {
    if let Some(row) = reader.find_tracked(profile, hash)? {
        return Ok(Some(row));
    }
    let found = reader.find(hash.as_str())?;
    let is_own = |tx: &&Transaction| found.len() == 1 || tx.profile == profile;
    let own: Vec<RowId> = found.iter().filter(is_own).map(|tx| tx.id).collect();
    Ok(if let [only] = own.as_slice() { Some(*only) } else { None })
}

/// The most changes that the pane of the newest changes holds.
const RECENT: usize = 100;

/// Returns the counts of all saved views and of alerts, and the most urgent alert. Of the listed view also the length
/// and the number of rows before `first`. Also returns the duration statistics of these profiles. `whole` is the saved
/// view that the list shows without a filter, if any.
pub(crate) fn overview(
    reader: &Reader,
    listed: &Filter,
    whole: Option<Tab>,
    now: DateTime<Utc>,
    view: u64,
    first: Option<RowId>,
    profiles: &[String],
) -> Result<Overview, StoreError> {
    reader.snapshot(|| {
        let mut tabs = [0; 5];
        for (count, tab) in tabs.iter_mut().zip(Tab::BUILT_IN) {
            *count = reader.listing(&tab.filter(), now).count()?;
        }
        let AlertCounts { firing, handled } = AlertCounts::sum(&reader.alerts_by_rule(None, now)?);
        let listing = reader.listing(listed, now);
        let before = first.map(|row| Ok::<_, StoreError>((row, listing.count_before(row)?))).transpose()?;
        let counted = Tab::BUILT_IN.into_iter().zip(tabs).find(|(tab, _)| whole == Some(*tab));
        let total = counted.map_or_else(|| listing.count(), |(_, count)| Ok(count))?;
        let listed = ListCounts { view, total, before };
        let durations = profiles.iter().map(|profile| Ok((profile.clone(), reader.duration_stats(profile)?)));
        let durations = durations.collect::<Result<_, StoreError>>()?;
        let (most_urgent, recent) = (reader.most_urgent()?, reader.newest_changes(RECENT)?);
        Ok(Overview { tabs, alerts: firing, handled, most_urgent, listed, recent, durations })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{fixtures, observation::StatusOutcome, record::StatusRecord, status::RouterStatus},
        store::{Store, testing},
    };

    #[test]
    fn a_transaction_is_known_by_any_of_its_hashes_and_ids() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        let now = DateTime::UNIX_EPOCH;
        let mut new = fixtures::new(1);
        new.params.ticket = Some("SUP-4412".into());
        let rows = testing::track(&store, "default", vec![new, fixtures::new(2)], now).added.listed;
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        let destination = TxHash::new(format!("0x{:064x}", 0xde57));
        record.to.transaction_id = Some(destination.clone());
        testing::observe(&store, rows[0], fixtures::answer(StatusOutcome::Record(Box::new(record))), now);
        let source = fixtures::params(1).transaction_id;
        let asked = [source, destination, TxHash::new("sup-4412"), TxHash::new(format!("0x{:064x}", 0xabc))];
        let known = known(&store.reader().unwrap(), "default", &asked).unwrap();
        let found = asked.each_ref().map(|hash| known.rows[hash.as_str()]);
        assert_eq!(found, [Some(rows[0]), Some(rows[0]), Some(rows[0]), None]);
    }

    #[test]
    fn the_search_for_alerts_continues_at_the_other_end_of_the_list() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        let now = DateTime::UNIX_EPOCH;
        let batch = (1..=4).map(fixtures::new).collect();
        let rows = testing::track(&store, "default", batch, now).added.listed;
        let (reader, filter) = (store.reader().unwrap(), Filter::everything());
        let next = |row, direction| alert(&reader, &filter, now, row, direction).unwrap();
        assert_eq!(next(rows[1], Direction::Forwards), None);
        let raise = |row| testing::observe(&store, row, fixtures::says(RouterStatus::NeedsGas), now);
        raise(rows[1]);
        assert_eq!((next(rows[1], Direction::Forwards), next(rows[3], Direction::Forwards)), (None, Some(rows[1])));
        raise(rows[2]);
        for direction in [Direction::Forwards, Direction::Backwards] {
            assert_eq!((next(rows[1], direction), next(rows[2], direction)), (Some(rows[2]), Some(rows[1])));
        }
    }
}
