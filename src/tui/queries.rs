//! What the dashboard reads of the store, for one message each. On the pool for blocking work.
//!
//! Nothing here holds more than what goes on the screen and around it.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    effect::Markable,
    model::{
        Listing, Overview,
        alerts::{AlertList, AlertPage, AlertRow},
        history::History,
        list::{PageRequest, Tab},
        marks::Marks,
        polled::Polled,
        raw::Body,
        stats::Statistics,
    },
};
use crate::{
    domain::{
        alert::RESOLVED_FOR,
        duration_stats::RouteKey,
        filter::{Filter, Named, Names},
        ids::{RowId, TxHash},
        json_tree::JsonTree,
        notification,
    },
    store::{AlertCounts, AlertQuery, Known, Listed, Lookup, Page, Reader, StoreError, StoredObservation},
};

/// A part of the list, without what is known of it.
pub(super) fn page(
    reader: &Reader,
    (request, known): (&PageRequest, &Known),
    now: DateTime<Utc>,
) -> Result<Page, StoreError> {
    reader.listing(&request.filter, now).page(request.place.clone(), request.length, known)
}

/// A transaction as it is now, what happened to it, and what was observed of others on its route.
pub(super) fn history(reader: &Reader, row: RowId) -> Result<(Option<Listed>, History), StoreError> {
    let Some(listed) = reader.listed(row)? else { return Ok((None, History::default())) };
    /// More is what `hoptop show` is for.
    const NOTES: usize = 200;
    let past = reader.past(&listed.transaction.profile, &RouteKey::of(&listed.transaction))?;
    let history = History::new(&reader.history(row)?, past).with_notes(reader.notes(row, NOTES)?);
    Ok((Some(listed), history))
}

/// A transaction's last body, with what changed since the one before that came with the same HTTP status.
pub(super) fn body(reader: &Reader, row: RowId) -> Result<Option<Body>, StoreError> {
    let answers = reader.answers(row)?;
    let mut with_body = answers.iter().rev().filter_map(|answer| {
        let body = reader.body(answer.id).transpose()?;
        Some(body.map(|body| (answer, body)))
    });
    let Some((last, first_of_last)) = with_body.next().transpose()? else { return Ok(None) };
    let body = reader.last_body(row)?.unwrap_or(first_of_last);
    let alike = |found: &Result<(&StoredObservation, String), _>| {
        found.as_ref().map_or(true, |(answer, _)| answer.http_status == last.http_status)
    };
    let before = with_body.find(alike).transpose()?;
    let json_tree = JsonTree::new(&body, before.as_ref().map(|(_, before)| before.as_str()));
    let before = before.map(|(answer, _)| answer.last_at);
    Ok(Some(Body { at: last.last_at, http_status: last.http_status, bytes: body.len(), before, json_tree }))
}

/// The next transaction with an alert in a list, behind a row or before it, and on from the list's other end; none if no other has
/// one.
pub(super) fn alert(
    reader: &Reader,
    (filter, now): (&Filter, DateTime<Utc>),
    (row, forwards): (RowId, bool),
) -> Result<Option<RowId>, StoreError> {
    let alerting = reader.listing(&filter.and(&Tab::Attention.filter()), now);
    let next = match alerting.next(row, forwards)? {
        None => alerting.outermost(forwards)?,
        next => next,
    };
    Ok(next.filter(|next| *next != row))
}

/// Tickets or labels that begin so.
pub(super) fn names(reader: &Reader, of: Named, beginning: String) -> Result<Names, StoreError> {
    /// More than the footer has room for.
    const MOST: usize = 50;
    let mut words = reader.names(of, &beginning, MOST + 1)?;
    let is_whole = words.len() <= MOST;
    words.truncate(MOST);
    Ok(Names { of, beginning, words, is_whole })
}

/// How a profile is polled.
pub(super) fn polled(reader: &Reader, profile: &str, now: DateTime<Utc>) -> Result<Polled, StoreError> {
    Ok(Polled {
        poller: reader.poller(profile)?,
        paused_until: reader.paused_until(profile, now)?,
        oldest_answer: reader.oldest_answer(profile)?,
    })
}

/// What keeps alerts of these profiles from being told outside.
pub(super) fn untold(
    reader: &Reader,
    (own, beside): (&String, &[String]),
    ways: &[&str],
) -> Result<Vec<String>, StoreError> {
    let profiles = std::iter::once(own).chain(beside);
    let troubles = profiles.map(|profile| Ok(notification::troubles(&reader.notification_cursors(profile)?, ways)));
    Ok(troubles.collect::<Result<Vec<_>, StoreError>>()?.concat())
}

/// What is to be marked of a list; `None` if that is more than can be.
pub(super) fn marks(
    reader: &Reader,
    (filter, now): (&Filter, DateTime<Utc>),
    wanted: Markable,
) -> Result<Option<Vec<RowId>>, StoreError> {
    let listing = reader.listing(filter, now);
    match wanted {
        Markable::Shown => listing.at_most(Marks::MOST),
        Markable::Between(one, other) => listing.between(one, other, Marks::MOST),
    }
}

/// The alerts' own list.
pub(super) fn alert_page(reader: &Reader, now: DateTime<Utc>) -> Result<AlertPage, StoreError> {
    // One more says whether there are more.
    let mut found = reader.alerts_with_transactions(AlertQuery::MostUrgent(AlertList::MOST + 1))?;
    let more = found.len() > AlertList::MOST;
    found.truncate(AlertList::MOST);
    found.extend(reader.alerts_with_transactions(AlertQuery::ClearedSince(now - RESOLVED_FOR, AlertList::MOST))?);
    let rows = found.into_iter().map(|(alert, transaction)| AlertRow { alert, transaction });
    Ok(AlertPage { rows: rows.collect(), more })
}

/// What the charts show. Costs n in what is tracked.
pub(super) fn statistics(reader: &Reader, profile: &str, now: DateTime<Utc>) -> Result<Statistics, StoreError> {
    /// As much as there is room for.
    const SHOWN: TimeDelta = TimeDelta::minutes(60);
    Ok(Statistics::new(reader.routes(profile)?, reader.minutes(profile, now - SHOWN)?))
}

/// Which of these hashes are tracked, or parts of hashes as people copy them from a table.
pub(super) fn known(
    reader: &Reader,
    profile: &str,
    hashes: &[TxHash],
) -> Result<HashMap<String, Option<RowId>>, StoreError> {
    /// Looking for a part goes through all that is tracked.
    const PARTS: usize = 8;
    let (mut known, mut parts) = (HashMap::new(), 0);
    // With `0x` or without.
    let is_whole = |hash: &TxHash| matches!(hash.as_str().len(), 64 | 66..);
    for hash in hashes {
        let mut row = reader.find_exact(profile, hash)?;
        if row.is_none() && parts < PARTS && !is_whole(hash) {
            parts += 1;
            if let Lookup::One(found) = reader.find(hash.as_str())? {
                row = Some(found.id);
            }
        }
        known.insert(hash.as_str().to_owned(), row);
    }
    Ok(known)
}

/// All that is tracked, in numbers; of the list that is shown with this number, perhaps the whole of a saved view, how long it
/// is, and how much of it stands before this row.
pub(super) fn overview(
    reader: &Reader,
    (listed, whole, now): (&Filter, Option<Tab>, DateTime<Utc>),
    (view, first): (u64, Option<RowId>),
) -> Result<Overview, StoreError> {
    reader.snapshot(|| {
        let mut tabs = [0; 5];
        for (count, tab) in tabs.iter_mut().zip(Tab::ALL) {
            *count = reader.listing(&tab.filter(), now).count()?;
        }
        let AlertCounts { firing, handled } = AlertCounts::sum(&reader.alerts_by_rule(None, now)?);
        let listing = reader.listing(listed, now);
        let before = first.map(|row| Ok::<_, StoreError>((row, listing.count_before(row)?))).transpose()?;
        let counted = Tab::ALL.into_iter().zip(tabs).find(|(tab, _)| whole == Some(*tab));
        let total = counted.map_or_else(|| listing.count(), |(_, count)| Ok(count))?;
        let listed = Listing { view, total, before };
        Ok(Overview { tabs, alerts: firing, handled, most_urgent: reader.most_urgent()?, listed })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{fixtures, status::RouterStatus},
        store::{Store, testing},
    };

    #[test]
    fn behind_the_last_transaction_with_an_alert_comes_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        let now = DateTime::UNIX_EPOCH;
        let batch = (1..=4).map(fixtures::new).collect();
        let rows = testing::track(&store, "default", batch, now).added.first;
        let (reader, filter) = (store.reader().unwrap(), Filter::everything());
        let next = |row, forwards| alert(&reader, (&filter, now), (row, forwards)).unwrap();
        assert_eq!(next(rows[1], true), None);
        let raise = |row| testing::observe(&store, row, fixtures::says(RouterStatus::NeedsGas), now);
        raise(rows[1]);
        assert_eq!((next(rows[1], true), next(rows[3], true)), (None, Some(rows[1])));
        raise(rows[2]);
        for forwards in [true, false] {
            assert_eq!((next(rows[1], forwards), next(rows[2], forwards)), (Some(rows[2]), Some(rows[1])));
        }
    }
}
