//! Reads everything that `watch` needs after a change, in one snapshot of the store.
//!
//! A snapshot must never hold a whole unchanged transaction: of a million watched transactions only the progress is
//! needed.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    domain::{
        alert::Alert,
        duration_stats::DurationStats,
        filter::Filter,
        forecast::Quantile,
        ids::{RowId, TxHash},
        notification,
        on_chain::is_evm_hash,
        poller::PollerReport,
        record::RecordView,
        text,
        transaction::{Transaction, TransactionHeader, TransactionParams},
    },
    store::{AlertQuery, Changes, FeedReader, ListRow, StoreError, TransactionOutcome},
};

pub(crate) struct SnapshotQuery {
    /// The watched profiles. Transactions from standard input belong to the first.
    pub(crate) profiles: Vec<String>,
    /// The filter of the watched transactions; `None` if they come through standard input.
    pub(crate) filter: Option<Filter>,
    /// The transactions that are watched already, whether they still match or not.
    pub(crate) chosen: Arc<HashMap<RowId, TransactionOutcome>>,
    /// Whether to read when transactions should be settled.
    pub(crate) needs_forecasts: bool,
    /// Whether to read the records of changed transactions.
    pub(crate) needs_records: bool,
    /// The names of the notification channels.
    pub(crate) channels: Vec<&'static str>,
    pub(crate) now: DateTime<Utc>,
}

/// How a profile is polled, and how its alerts are sent.
pub(crate) struct ProfilePolling {
    pub(crate) profile: String,
    pub(crate) poller: Option<PollerReport>,
    /// The errors of the notification channels.
    pub(crate) notify_errors: Vec<String>,
}

/// The data read from the store in one snapshot.
#[derive(Default)]
pub(crate) struct WatchSnapshot {
    pub(crate) changes: Changes,
    /// The state of each watched profile.
    pub(crate) polling: Vec<ProfilePolling>,
    /// The transactions that match the filter, after a resync.
    pub(crate) chosen: Vec<(RowId, TransactionOutcome)>,
    /// The active alerts of profiles, after a resync.
    pub(crate) profile_alerts: Vec<Alert>,
    /// The changed transactions that match the filter and are not watched yet, if the query has a filter.
    pub(crate) matching: BTreeSet<RowId>,
    /// The current state of changed transactions.
    pub(crate) changed: BTreeMap<RowId, TransactionHeader>,
    /// The changed transactions with their records, if the query wants records.
    pub(crate) with_records: BTreeMap<RowId, ListRow>,
    /// The times by which these transactions should be settled, if the query wants forecasts; `None` for one that isn't
    /// awaited.
    pub(crate) expected: Vec<(RowId, Option<DateTime<Utc>>)>,
}

impl WatchSnapshot {
    /// Reads the next changes and the data that belongs to them.
    pub(crate) fn read(feed: &FeedReader, query: &SnapshotQuery) -> Result<Self, StoreError> {
        let SnapshotQuery { profiles, filter, chosen, needs_forecasts, needs_records, channels, now } = query;
        feed.changes_with(|changes, reader| {
            let mut snapshot = Self { changes, ..Self::default() };
            for profile in profiles {
                snapshot.polling.push(ProfilePolling {
                    profile: profile.clone(),
                    poller: reader.poller(profile)?,
                    notify_errors: notification::delivery_errors(&reader.notification_cursors(profile)?, channels),
                });
            }
            for row in snapshot.changes.rows(true) {
                let Some(tx) = reader.header(row)? else { continue };
                if *needs_records {
                    snapshot.with_records.extend(reader.list_row(row)?.map(|whole| (row, whole)));
                }
                snapshot.changed.insert(row, tx);
            }
            let new: Vec<RowId> = snapshot.changed.keys().filter(|row| !chosen.contains_key(row)).copied().collect();
            if let Some(filter) = filter.as_ref().filter(|_| !new.is_empty()) {
                snapshot.matching = reader.listing(filter, *now).among(&new)?;
            }
            if snapshot.changes.needs_resync {
                snapshot.profile_alerts = reader.alerts(AlertQuery::OfProfiles)?;
                if let Some(filter) = filter {
                    for profile in profiles {
                        snapshot.chosen.extend(reader.listing(&filter.limited_to_profile(profile), *now).outcomes()?);
                    }
                }
            }
            if *needs_forecasts && !(snapshot.chosen.is_empty() && snapshot.changed.is_empty()) {
                let stats = |profile: &String| Ok((profile.clone(), reader.duration_stats(profile)?));
                let stats: BTreeMap<_, _> = profiles.iter().map(stats).collect::<Result<_, StoreError>>()?;
                let expected = |tx: &TransactionHeader| expected_at(tx, stats.get(&tx.profile)?);
                for (row, _) in snapshot.chosen.iter().filter(|(_, progress)| progress.is_polled) {
                    let tx = reader.header(*row)?;
                    snapshot.expected.push((*row, tx.as_ref().and_then(expected)));
                }
                snapshot.expected.extend(snapshot.changed.values().map(|tx| (tx.id, expected(tx))));
            }
            Ok(snapshot)
        })
    }
}

/// A tracked transaction that came through standard input.
pub(crate) struct PipedMatch {
    pub(crate) row: RowId,
    pub(crate) progress: TransactionOutcome,
    /// The time by which the transaction should be settled, if it is awaited and the query wants forecasts.
    pub(crate) expected: Option<DateTime<Utc>>,
}

impl PipedMatch {
    /// Returns the given transactions that are tracked.
    pub(crate) fn read(
        feed: &FeedReader,
        query: &SnapshotQuery,
        params: &[TransactionParams],
    ) -> Result<Vec<Self>, StoreError> {
        feed.read(|reader| {
            let Some(profile) = query.profiles.first() else { return Ok(Vec::new()) };
            let duration_stats = query.needs_forecasts.then(|| reader.duration_stats(profile)).transpose()?;
            let mut found = Vec::new();
            for params in params {
                let Some(tx) = reader.header_of(&params.key(profile))? else { continue };
                let expected = duration_stats.as_ref().and_then(|duration_stats| expected_at(&tx, duration_stats));
                found.push(Self { row: tx.id, progress: TransactionOutcome::from(&tx), expected });
            }
            Ok(found)
        })
    }
}

/// Reads the progress of transactions; `None` for a deleted one.
pub(crate) fn read_progress(
    feed: &FeedReader,
    rows: Vec<RowId>,
) -> Result<Vec<(RowId, Option<TransactionOutcome>)>, StoreError> {
    feed.read(|reader| {
        let progress = |row| Ok((row, reader.header(row)?.as_ref().map(TransactionOutcome::from)));
        rows.into_iter().map(progress).collect()
    })
}

/// The names in a filter that no transaction has: a name may be mistyped, or its batch is missing.
pub(crate) struct MissingNames {
    /// The watched profiles, for people.
    profiles: String,
    /// The names in the filter that no transaction of these profiles has.
    names: Vec<String>,
    /// The profiles in which nothing matches, if several are watched.
    empty_profiles: Vec<String>,
}

impl MissingNames {
    pub(crate) fn read(feed: &FeedReader, query: &SnapshotQuery) -> Result<Self, StoreError> {
        feed.read(|reader| {
            let count_in =
                |filter: &Filter, profile: &str| reader.listing(&filter.limited_to_profile(profile), query.now).count();
            let profiles = text::clean(&query.profiles.join(" or "));
            let mut missing = Self { profiles, names: Vec::new(), empty_profiles: Vec::new() };
            for (name, alone) in query.filter.iter().flat_map(Filter::named_terms) {
                let counts = query.profiles.iter().map(|profile| count_in(&alone, profile));
                if counts.sum::<Result<u64, StoreError>>()? == 0 {
                    missing.names.push(text::clean(&name));
                }
            }
            for profile in query.profiles.iter().filter(|_| query.profiles.len() > 1) {
                if query.filter.as_ref().map_or(Ok(1), |filter| count_in(filter, profile))? == 0 {
                    missing.empty_profiles.push(text::clean(profile));
                }
            }
            Ok(missing)
        })
    }

    /// Returns the first name that is a whole hash. Its transaction isn't tracked.
    pub(crate) fn missing_hash(&self) -> Option<&String> {
        // The names of a filter are in lower case, in which a Solana hash has its length alone.
        let is_solana_hash =
            |name: &str| (80..=90).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        self.names.iter().find(|name| is_evm_hash(&TxHash::new(name.as_str())) || is_solana_hash(name))
    }

    /// Returns a sentence for a watch without one of its transactions.
    pub(crate) fn explanation(&self) -> String {
        let missing = match self.missing_hash().or_else(|| self.names.first()) {
            Some(name) => format!("no transaction in profile {} has {name}", self.profiles),
            None => "no tracked transaction matches".to_owned(),
        };
        format!("{missing}; `hoptop list` shows tracked transactions, `hoptop import FILE` adds a batch")
    }

    /// Returns a warning for each missing name and each profile without a match.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        let names =
            self.names.iter().map(|name| format!("warning: no transaction in profile {} has {name}", self.profiles));
        let profiles = self.empty_profiles.iter();
        names.chain(profiles.map(|profile| format!("warning: nothing matches in profile {profile}")))
    }
}

/// Returns the time by which 9 in 10 transactions like this one are settled, or `None` if it isn't awaited.
fn expected_at<R: RecordView>(tx: &Transaction<R>, duration_stats: &DurationStats) -> Option<DateTime<Utc>> {
    let wait = TimeDelta::from_std(duration_stats.settling_forecast(tx).quantile(Quantile::P90)).ok()?;
    tx.needs_polling().then(|| tx.deadline().submitted.checked_add_signed(wait)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::context::testing::CommandFixture,
        domain::{fixtures, observation::StatusOutcome, record::StatusRecord, status::RouterStatus},
    };

    #[test]
    fn progress_of_a_settled_transaction_is_read_and_a_deleted_one_has_none() {
        let fixture = CommandFixture::new();
        let rows = [fixture.track(fixtures::new(1)), fixture.track(fixtures::new(2))];
        fixture.observe(rows[0], fixtures::says(RouterStatus::Success), 10);
        let feed = FeedReader::new(fixture.store.reader().unwrap());
        let missing = RowId(i64::MAX);
        let read = read_progress(&feed, vec![rows[0], rows[1], missing]).unwrap();
        let statuses: Vec<_> =
            read.iter().map(|(row, progress)| (*row, progress.clone().map(|it| it.status))).collect();
        assert_eq!(statuses, [(rows[0], Some(Some(RouterStatus::Success))), (rows[1], Some(None)), (missing, None)]);
    }

    #[test]
    fn changed_transaction_is_found_by_its_destination_hash() {
        let fixture = CommandFixture::new();
        let rows = [fixture.track(fixtures::new(1)), fixture.track(fixtures::new(2))];
        let feed = FeedReader::new(fixture.store.reader().unwrap());
        let query = |filter: &str| SnapshotQuery {
            profiles: vec!["default".to_owned()],
            filter: Some(Filter::parse(filter).unwrap()),
            chosen: Arc::default(),
            needs_forecasts: false,
            needs_records: false,
            channels: Vec::new(),
            now: DateTime::UNIX_EPOCH,
        };
        let hash = format!("0xde57{:060x}", 7);
        let search = query(&format!("label:none or {hash}"));
        assert!(WatchSnapshot::read(&feed, &search).unwrap().chosen.is_empty());
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        record.to.transaction_id = Some(TxHash::new(hash));
        fixture.observe(rows[0], fixtures::answer(StatusOutcome::Record(Box::new(record))), 10);
        fixture.observe(rows[1], fixtures::says(RouterStatus::Ongoing), 10);
        let read = WatchSnapshot::read(&feed, &search).unwrap();
        assert_eq!((read.changed.len(), read.matching), (2, BTreeSet::from([rows[0]])));
    }

    #[test]
    fn settled_transaction_has_no_expected_time() {
        let mut tx = fixtures::transaction(1);
        tx.params.estimate = Some(std::time::Duration::from_secs(100));
        let at = expected_at(&tx, &DurationStats::default()).unwrap();
        assert!(at > tx.first_seen_at + TimeDelta::seconds(100), "the estimate is a median: {at}");
        tx.apply(&fixtures::says(RouterStatus::Success), tx.first_seen_at);
        assert_eq!(expected_at(&tx, &DurationStats::default()), None);
    }
}
