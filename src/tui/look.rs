//! What the dashboard reads of the store, for one message each. On the pool for blocking work.
//!
//! Nothing here holds more than what goes on the screen and around it.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::{
    effect::Markable,
    model::{
        Listing, Overview,
        alerts::{AlertList, AlertPage, AlertRow},
        history::History,
        list::{PageRequest, Tab},
        marks::Marks,
    },
};
use crate::{
    domain::{
        alert::Severity,
        experience::RouteKey,
        filter::Filter,
        ids::{RowId, TxHash},
    },
    store::{Listed, Lookup, Page, Reader, StoreError},
};

/// A part of the list.
pub(super) fn page(reader: &Reader, request: &PageRequest, now: DateTime<Utc>) -> Result<Page, StoreError> {
    reader.listing(&request.filter, now).page(request.place.clone(), request.length)
}

/// A transaction as it is now, what happened to it, and what was observed of others on its route.
pub(super) fn history(reader: &Reader, row: RowId) -> Result<(Option<Listed>, History), StoreError> {
    let Some(listed) = reader.listed(row)? else { return Ok((None, History::default())) };
    let past = reader.past(&listed.transaction.profile, &RouteKey::of(&listed.transaction))?;
    Ok((Some(listed), History::new(&reader.history(row)?, past)))
}

/// The next transaction with an alert in a list, behind a row or before it.
pub(super) fn alert(
    reader: &Reader,
    (filter, now): (&Filter, DateTime<Utc>),
    (row, forwards): (RowId, bool),
) -> Result<Option<RowId>, StoreError> {
    reader.listing(&filter.and(&Tab::Attention.filter()), now).next(row, forwards)
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
pub(super) fn alert_page(reader: &Reader) -> Result<AlertPage, StoreError> {
    // One more says whether there are more.
    let mut found = reader.gravest_alerts(AlertList::MOST + 1)?;
    let more = found.len() > AlertList::MOST;
    found.truncate(AlertList::MOST);
    let rows = found.into_iter().map(|(alert, transaction)| AlertRow { alert, transaction });
    Ok(AlertPage { rows: rows.collect(), more })
}

/// Which of these hashes are tracked, or parts of hashes as people copy them from a table.
pub(super) fn known(reader: &Reader, profile: &str, hashes: &[TxHash]) -> Result<HashMap<String, RowId>, StoreError> {
    /// Looking for a part goes through all that is tracked.
    const PARTS: usize = 8;
    let (mut known, mut parts) = (HashMap::new(), 0);
    for hash in hashes {
        let mut row = reader.known(profile, hash)?;
        if row.is_none() && parts < PARTS && hash.as_str().len() < 64 {
            parts += 1;
            if let Lookup::One(found) = reader.find(hash.as_str())? {
                row = Some(found.id);
            }
        }
        known.extend(row.map(|row| (hash.as_str().to_owned(), row)));
    }
    Ok(known)
}

/// All that is tracked, in numbers; of the list that is shown with this number how long it is, and how much of it stands before
/// this row.
pub(super) fn overview(
    reader: &Reader,
    (listed, now): (&Filter, DateTime<Utc>),
    (view, first): (u64, Option<RowId>),
) -> Result<Overview, StoreError> {
    let mut tabs = [0; 5];
    for (count, tab) in tabs.iter_mut().zip(Tab::ALL) {
        *count = reader.listing(&tab.filter(), now).count()?;
    }
    let mut alerts = [0; 3];
    for (rule, count) in reader.alert_counts()? {
        let [critical, warning, info] = &mut alerts;
        *match rule.severity() {
            Severity::Critical => critical,
            Severity::Warning => warning,
            Severity::Info => info,
        } += count;
    }
    let listing = reader.listing(listed, now);
    let before = first.map(|row| Ok::<_, StoreError>((row, listing.count_before(row)?))).transpose()?;
    let listed = Listing { view, total: listing.count()?, before };
    Ok(Overview { tabs, alerts, most_urgent: reader.most_urgent()?, listed })
}
