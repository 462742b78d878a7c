//! Publishes this process's membership and open transaction, and reads those of the other members. Publishes snapshots
//! when they are due.
//!
//! It must never write to the log.

use std::{thread, time::Duration};

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::{LogSession, SessionConnection, session_error::SessionError};
use crate::{
    clock::MonotonicTime,
    domain::{ids::TransactionKey, team::Nonce},
    team::{database::TeamDatabase, snapshot},
};

/// How often a process renews its membership and reads the other members.
const PRESENCE_INTERVAL: Duration = Duration::from_secs(30);
/// After how many operations, and after which time, the holder of a lease writes a snapshot.
const SNAPSHOT_OPERATIONS: u64 = 100_000;
const SNAPSHOT_AGE: TimeDelta = TimeDelta::days(1);
/// How often the holder of a lease reads which snapshots there are.
const SNAPSHOT_INTERVAL: Duration = Duration::from_hours(1);
/// The most bytes of a notification.
const NOTIFICATION_LIMIT: usize = 7_000;

/// The message of a process to the team, outside the log.
#[derive(Serialize, Deserialize)]
struct OpenNotification {
    member: String,
    open: Option<TransactionKey>,
}

impl LogSession {
    /// Renews this process's membership and reads the other members, if due.
    pub(super) async fn refresh_membership(&mut self, link: &mut SessionConnection) -> Result<(), SessionError> {
        let now = self.clock.now().mono;
        if now < self.members_due {
            return Ok(());
        }
        self.members_due = now + PRESENCE_INTERVAL;
        link.database.save_member(&self.options.presence, link.applied).await?;
        // Members that joined since need the notification again.
        self.is_open_published &= self.open.is_none();
        let members = link.database.members().await?;
        self.status.send_modify(|status| {
            status.open.retain(|id, _| members.iter().any(|member| member.id == *id));
            status.poller = members.iter().find(|member| member.epoch.is_some()).cloned();
            status.members = members;
        });
        Ok(())
    }

    /// Publishes a snapshot if this process polls and one is due: after [`SNAPSHOT_OPERATIONS`], a day, or a deletion.
    pub(super) async fn publish_snapshot(&mut self, link: &mut SessionConnection) -> Result<(), SessionError> {
        let holds_lease = self.options.fence.as_ref().is_some_and(|fence| fence.borrow().is_some());
        if !holds_lease || self.publishing.as_ref().is_some_and(|publishing| !publishing.is_finished()) {
            return Ok(());
        }
        let now = self.clock.now();
        let Some(replica) = self.reader.replica()? else { return Ok(()) };
        let (deleted, operations) = (replica.last_delete, replica.operations);
        let has_many = operations.saturating_sub(link.snapshot_operations) >= SNAPSHOT_OPERATIONS;
        if now.mono < link.snapshots_due && !has_many && deleted <= link.purged {
            return Ok(());
        }
        link.snapshots_due = now.mono + SNAPSHOT_INTERVAL;
        // Others would lack the bodies for good.
        if replica.lacks_bodies {
            (link.purged, link.snapshot_operations) = (deleted, operations);
            return Ok(());
        }
        let snapshots = link.database.snapshots().await?;
        let bounds = link.database.log_bounds(0).await?;
        let holds_deleted = bounds.first.is_some_and(|first| first < deleted)
            || snapshots.iter().any(|snapshot| snapshot.position.seq < deleted);
        // A snapshot that fails is tried again with the next interval.
        link.purged = deleted;
        let newest = snapshots.first();
        link.snapshot_operations = newest.map_or(0, |newest| newest.operations);
        let has_many = operations.saturating_sub(link.snapshot_operations) >= SNAPSHOT_OPERATIONS;
        let is_old = newest.is_none_or(|newest| now.wall - newest.at > SNAPSHOT_AGE);
        let is_new_enough = newest.map_or(0, |newest| newest.position.seq) >= bounds.head.seq;
        if !holds_deleted && (is_new_enough || !is_old && !has_many) {
            return Ok(());
        }
        link.snapshot_operations = operations;
        let (store, connector) = (self.store.clone(), self.options.connector.clone());
        // On a thread of its own, so that compressing delays no answer.
        let publish = move || {
            let published = tokio::runtime::Builder::new_current_thread().enable_all().build().map(|runtime| {
                runtime.block_on(async {
                    let database = TeamDatabase::connect(&connector).await?;
                    snapshot::publish(&store, &database, !holds_deleted).await
                })
            });
            match published {
                Ok(Ok(true)) => tracing::info!("a snapshot of the team's store was written"),
                Ok(Ok(false)) => tracing::warn!("a snapshot of the team's store didn't count: the log has changed"),
                Ok(Err(error)) => tracing::warn!("no snapshot of the team's store could be written: {error}"),
                Err(error) => tracing::warn!("no snapshot of the team's store could be written: {error}"),
            }
        };
        let thread = thread::Builder::new().name("snapshot".into()).spawn(publish);
        self.publishing = thread.inspect_err(|error| tracing::warn!("no snapshot can be written: {error}")).ok();
        Ok(())
    }

    /// Publishes which transaction this process has open, unless it is published.
    pub(super) async fn publish_open_transaction(&mut self, link: &SessionConnection) -> Result<(), SessionError> {
        if !self.is_open_published {
            let notification =
                OpenNotification { member: self.options.presence.id.to_string(), open: self.open.clone() };
            let notification = serde_json::to_string(&notification).unwrap_or_default();
            // The database refuses a longer one.
            if notification.len() < NOTIFICATION_LIMIT {
                link.database.publish_open_transaction(&notification).await?;
            }
            self.is_open_published = true;
        }
        Ok(())
    }

    /// Records the open transaction of another process.
    pub(super) fn record_open_transaction(&mut self, notification: &str) {
        let Ok(OpenNotification { member, open }) = serde_json::from_str(notification) else { return };
        let Some(id) = Nonce::parse(&member).filter(|id| *id != self.options.presence.id) else { return };
        if !self.status.borrow().members.iter().any(|known| known.id == id) {
            self.members_due = MonotonicTime::default();
        }
        self.status.send_modify(|status| {
            match open {
                Some(open) => status.open.insert(id, open),
                None => status.open.remove(&id),
            };
        });
    }
}
