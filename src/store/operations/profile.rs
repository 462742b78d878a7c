//! Writes that concern a whole profile: its poller's reports, and events of its integrator ID.

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::alerts as alert_changes;
use crate::{
    alerts::evaluate_profile_event,
    domain::{change::ChangeKind, operation::ProfileEvent, poller::PollerReport},
    store::{
        error::Result,
        tables::{
            alerts,
            changes::{self, FeedEntry},
            minutes, pollers, status_requests,
        },
    },
};

/// Records an event in the feed, and raises or clears the profile's alerts.
pub(super) fn record_event(db: &Connection, profile: &str, event: &ProfileEvent, at: DateTime<Utc>) -> Result<()> {
    let entry = FeedEntry::of_profile(profile, at);
    if let Some(kind) = feed_entry(event) {
        changes::append(db, &entry, &kind)?;
    }
    let active = alerts::active_of_profile(db, profile)?;
    alert_changes::carry_out(db, &evaluate_profile_event(event, &active), &entry)
}

/// Returns the feed entry of an event. A short budget has none: its alert alone reports it.
fn feed_entry(event: &ProfileEvent) -> Option<ChangeKind> {
    match event.clone() {
        ProfileEvent::Throttled(error) => Some(ChangeKind::Throttled { error }),
        ProfileEvent::Unauthorized(error) => Some(ChangeKind::Unauthorized { error }),
        ProfileEvent::Unreachable(error) => Some(ChangeKind::Unreachable { error }),
        ProfileEvent::Recovered => Some(ChangeKind::Recovered),
        ProfileEvent::BudgetShort(_) | ProfileEvent::BudgetSufficient => None,
    }
}

/// Saves a poller's report and the statistics of the minute, and ends expired snoozes.
pub(super) fn report_polling(db: &Connection, profile: &str, report: &PollerReport, at: DateTime<Utc>) -> Result<()> {
    let report = PollerReport { at, ..report.clone() };
    minutes::count(db, profile, pollers::read(db, profile)?.as_ref(), &report)?;
    pollers::write(db, profile, &report)?;
    status_requests::delete_expired(db, at)?;
    alert_changes::end_snoozes(db, at)
}
