//! What a reader of the store sees beside the processes: by the change feed each minute, and the whole store now and
//! then.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use hoptop::internals::{
    domain::{Filter, RouterStatus, RowId, Rule, Tracking},
    store::{FeedReader, Reader, Store},
};

use super::process::NOTIFIED_EVENTS;

/// A transfer as a reader of the store sees it.
#[derive(Debug, PartialEq)]
pub(crate) struct SeenTransfer {
    pub(crate) notes: Vec<String>,
    pub(crate) ticket: Option<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) is_polled: bool,
    pub(crate) is_settled: bool,
    /// The rules whose alert doesn't fit the status: the alert is missing, or is active without reason.
    pub(crate) wrong_alerts: Vec<Rule>,
}

pub(crate) struct Observer {
    feed: FeedReader,
    /// The transfers by their hashes.
    pub(crate) transfers: BTreeMap<String, SeenTransfer>,
    /// The events that the webhook must get, in their order.
    pub(crate) events: Vec<i64>,
}

impl Observer {
    pub(crate) fn new(store: &Store) -> Self {
        let feed = FeedReader::new(store.reader().unwrap());
        // The first read says only that everything must be loaded, and there is nothing yet.
        assert!(feed.changes().unwrap().needs_resync);
        Self { feed, transfers: BTreeMap::new(), events: Vec::new() }
    }

    /// Reads what changed since the last call. Every answer about a transfer has an entry in the feed, so that nothing
    /// else can have changed. The count or the next [`Self::compare_all`] finds a fault.
    pub(crate) fn catch_up(&mut self, now: DateTime<Utc>) {
        loop {
            let (transfers, events) = (&mut self.transfers, &mut self.events);
            let has_more = self.feed.changes_with(|changes, reader| {
                assert!(!changes.has_dropped_polls, "a minute has more polls than the feed keeps");
                for row in changes.rows(true) {
                    let (hash, seen) = load_transfer(reader, row).expect("a transfer of the feed is lost");
                    transfers.insert(hash, seen);
                }
                let is_notified = |kind: Option<_>| kind.is_some_and(|event| NOTIFIED_EVENTS.contains(&event));
                events.extend(
                    changes
                        .changes
                        .iter()
                        .filter(|change| is_notified(change.kind.notified_event()))
                        .map(|change| change.seq),
                );
                let count = reader.listing(&Filter::everything(), now).count()?;
                if !changes.has_more {
                    assert_eq!(count, transfers.len() as u64, "transfers were lost");
                }
                Ok(changes.has_more)
            });
            if !has_more.unwrap() {
                return;
            }
        }
    }

    /// Compares the whole store with the feed.
    pub(crate) fn compare_all(&self, now: DateTime<Utc>) {
        let found = self.feed.read(|reader| {
            let rows = reader.listing(&Filter::everything(), now).all()?;
            Ok(rows.into_iter().filter_map(|row| load_transfer(reader, row)).collect::<BTreeMap<_, _>>())
        });
        assert_eq!(found.unwrap(), self.transfers, "the store isn't what the change feed says");
    }

    /// Returns the alerts that don't fit the status of their transfers.
    pub(crate) fn wrong_alerts(&self) -> BTreeSet<(String, &'static str)> {
        let wrong = self
            .transfers
            .iter()
            .flat_map(|(hash, seen)| seen.wrong_alerts.iter().map(move |rule| (hash.clone(), rule.name())));
        wrong.collect()
    }
}

fn load_transfer(reader: &Reader, row: RowId) -> Option<(String, SeenTransfer)> {
    let listed = reader.list_row(row).unwrap()?;
    let (tx, alerts) = (listed.transaction, listed.alerts);
    assert!(!tx.is_damaged, "{} is damaged", tx.params.transaction_id.key());
    let expected = [
        (Rule::Overdue, tx.is_overdue() && tx.needs_polling()),
        // Whoever stops the polling of a transaction ends its alerts.
        (
            Rule::PartialSuccess,
            tx.state.status == Some(RouterStatus::PartialSuccess) && tx.tracking != Tracking::Untracked,
        ),
    ];
    let is_wrong = |(rule, is_expected): &(Rule, bool)| alerts.iter().any(|alert| alert.rule == *rule) != *is_expected;
    let seen = SeenTransfer {
        is_polled: tx.needs_polling(),
        is_settled: tx.is_settled(),
        wrong_alerts: expected.into_iter().filter(is_wrong).map(|(rule, _)| rule).collect(),
        notes: tx.notes,
        ticket: tx.params.ticket,
        labels: tx.labels,
    };
    Some((tx.params.transaction_id.key(), seen))
}
