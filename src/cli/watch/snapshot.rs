//! What `watch` reads of the store after a change, in one snapshot.
//!
//! A snapshot must never hold a whole transaction that didn't change: of a million watched ones only the progress is needed.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    domain::{
        alert::Alert,
        duration_stats::DurationStats,
        filter::Filter,
        forecast::Quantile,
        ids::RowId,
        notification,
        operation::TransactionKey,
        poller::PollerReport,
        record::{RecordSummary, RecordView},
        text,
        transaction::{Transaction, TransactionParams},
    },
    store::{AlertQuery, Changes, FeedReader, Listed, Progress, StoreError},
};

/// What to read of the store.
pub(super) struct Question {
    pub(super) profile: String,
    /// What is watched, if it is what passes a filter.
    pub(super) filter: Option<Filter>,
    /// Whether anybody wants to know how long it will take.
    pub(super) forecasts: bool,
    /// Whether the records of what changed are wanted.
    pub(super) records: bool,
    /// How alerts are told outside.
    pub(super) channels: Vec<&'static str>,
    pub(super) now: DateTime<Utc>,
}

/// What was read of the store in one snapshot.
pub(super) struct Snapshot {
    pub(super) news: Changes,
    pub(super) poller: Option<PollerReport>,
    /// What keeps alerts from being told outside.
    pub(super) untold: Vec<String>,
    /// What passes the filter, if everything was looked at anew.
    pub(super) chosen: Vec<(RowId, Progress)>,
    /// What stands for profiles as a whole, in that case.
    pub(super) profile_alerts: Vec<Alert>,
    /// What something happened to, as it is now.
    pub(super) changed: BTreeMap<RowId, Listed<RecordSummary>>,
    /// The same with their records, if they are wanted.
    pub(super) whole: BTreeMap<RowId, Listed>,
    /// By when what is awaited of all these should be settled, if anybody wants to know; nothing for what isn't any more.
    pub(super) expected: Vec<(RowId, Option<DateTime<Utc>>)>,
}

impl Snapshot {
    pub(super) fn read(feed: &FeedReader, question: &Question) -> Result<Self, StoreError> {
        let Question { profile, filter, forecasts, records, channels, now } = question;
        feed.changes_with(|news, reader| {
            let mut snapshot = Self {
                poller: reader.poller(profile)?,
                untold: notification::troubles(&reader.notification_cursors(profile)?, channels),
                chosen: Vec::new(),
                profile_alerts: Vec::new(),
                changed: BTreeMap::new(),
                whole: BTreeMap::new(),
                expected: Vec::new(),
                news,
            };
            for row in snapshot.news.rows(true) {
                let Some(listed) = reader.listed_header(row)? else { continue };
                if *records {
                    snapshot.whole.insert(row, reader.with_record(listed.clone())?);
                }
                snapshot.changed.insert(row, listed);
            }
            if snapshot.news.resync {
                snapshot.profile_alerts = reader.alerts(AlertQuery::OfProfiles)?;
            }
            if let (true, Some(filter)) = (snapshot.news.resync, filter) {
                let filter = filter.of_profile(profile);
                snapshot.chosen = reader.listing(&filter, *now).outcomes()?;
            }
            if *forecasts && !(snapshot.chosen.is_empty() && snapshot.changed.is_empty()) {
                let duration_stats = reader.duration_stats(profile)?;
                for (row, _) in snapshot.chosen.iter().filter(|(_, progress)| progress.is_polled) {
                    let tx = reader.header(*row)?;
                    snapshot.expected.push((*row, tx.and_then(|tx| expected(&tx, &duration_stats))));
                }
                let changed = snapshot.changed.values().map(|listed| &listed.transaction);
                snapshot.expected.extend(changed.map(|tx| (tx.id, expected(tx, &duration_stats))));
            }
            Ok(snapshot)
        })
    }
}

/// One that came through the pipe.
pub(super) struct Found {
    pub(super) row: RowId,
    pub(super) progress: Progress,
    /// By when it should be settled, if it is awaited and anybody wants to know.
    pub(super) expected: Option<DateTime<Utc>>,
}

impl Found {
    /// Returns those of the given transactions that are tracked.
    pub(super) fn read(
        feed: &FeedReader,
        question: &Question,
        params: &[TransactionParams],
    ) -> Result<Vec<Self>, StoreError> {
        feed.read(|reader| {
            let duration_stats = question.forecasts.then(|| reader.duration_stats(&question.profile)).transpose()?;
            let mut found = Vec::new();
            for params in params {
                let key = TransactionKey {
                    profile: question.profile.clone(),
                    from_chain: params.from_chain.clone(),
                    hash: params.transaction_id.clone(),
                };
                let header = reader.row_of(&key)?.map(|row| reader.header(row)).transpose()?.flatten();
                let Some(tx) = header else { continue };
                let expected = duration_stats.as_ref().and_then(|duration_stats| expected(&tx, duration_stats));
                found.push(Self { row: tx.id, progress: Progress::from(&tx), expected });
            }
            Ok(found)
        })
    }
}

/// What to say where nothing matches, and whether that is since nothing has what the filter names: it may be mistyped, or its batch
/// is missing, so that it didn't end well.
pub(super) fn why_nothing(feed: &FeedReader, question: &Question) -> Result<(String, bool), StoreError> {
    const WAY_OUT: &str = "`hoptop list` shows what is, `hoptop import FILE` brings a batch";
    feed.read(|reader| {
        for (name, alone) in question.filter.iter().flat_map(Filter::named) {
            if reader.listing(&alone.of_profile(&question.profile), question.now).count()? == 0 {
                let (name, profile) = (text::clean(&name), text::clean(&question.profile));
                return Ok((format!("nothing that is tracked in profile {profile} has {name}; {WAY_OUT}"), true));
            }
        }
        Ok((format!("nothing that is tracked matches; {WAY_OUT}"), false))
    })
}

/// By when one should be settled, as nine of ten are; nothing if nobody waits for it.
fn expected<R: RecordView>(tx: &Transaction<R>, duration_stats: &DurationStats) -> Option<DateTime<Utc>> {
    let wait = TimeDelta::from_std(duration_stats.settling(tx).quantile(Quantile::P90)).ok()?;
    tx.wants_polling().then(|| tx.deadline().submitted.checked_add_signed(wait)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{fixtures, status::RouterStatus};

    #[test]
    fn what_nobody_waits_for_is_not_expected() {
        let mut tx = fixtures::transaction(1);
        tx.params.estimate = Some(std::time::Duration::from_secs(100));
        let at = expected(&tx, &DurationStats::default()).unwrap();
        assert!(at > tx.first_seen_at + TimeDelta::seconds(100), "the estimate is a median: {at}");
        tx.apply(&fixtures::says(RouterStatus::Success), tx.first_seen_at);
        assert_eq!(expected(&tx, &DurationStats::default()), None);
    }
}
