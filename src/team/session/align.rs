//! Resynchronises a replica: at a first start, after a long absence, and after the database lost entries.
//!
//! It must never drop writes of this machine's people: lost entries are saved first.

use tokio::task::spawn_blocking;

use super::{LogSession, SessionConnection, log_lock::lock, session_error::SessionError};
use crate::{
    domain::team::{LogLoss, LogPosition, TeamLink},
    process::files,
    store::{Store, StoreError, own_entries},
    team::{
        database::{LogBounds, SnapshotInfo},
        error::TeamError,
        snapshot,
    },
};

/// A replica that lacks more entries than this begins with a snapshot, if there is a newer one.
const SNAPSHOT_GAIN: u64 = 5_000;

impl LogSession {
    /// Forgets what this machine appended before the log's first entry, if the replica's position is in the log: a
    /// snapshot has these entries then. After a failover nothing could tell them from lost ones.
    pub(super) async fn forget_own_entries(
        &self,
        bounds: &LogBounds,
        position: LogPosition,
    ) -> Result<(), SessionError> {
        let first = bounds.first.unwrap_or(1);
        if bounds.nonce_at == Some(position.nonce) && self.reader.has_own_entries_before(first)? {
            self.store.forget_own_entries(first).await?;
        }
        Ok(())
    }

    /// Makes sure that the replica is a part of the log. The replica begins again with a snapshot if a failover lost
    /// entries, or if the log no longer reaches back far enough.
    pub(super) async fn align_with_log(&mut self, link: &mut SessionConnection) -> Result<(), SessionError> {
        let _lock = lock(&self.lock_path, &self.clock).await?;
        self.reader.refresh();
        let position = self.reader.replica_position(link.team)?;
        let bounds = link.database.log_bounds(position.seq).await?;
        let first = bounds.first.unwrap_or(1);
        let has_lost = position.seq > bounds.head.seq
            || position.seq > 0 && bounds.nonce_at.is_some_and(|nonce| nonce != position.nonce);
        let is_out_of_reach = if position.seq == 0 { first > 1 } else { position.seq < first };
        self.forget_own_entries(&bounds, position).await?;
        // An empty replica begins with a snapshot, however short the log is: one entry may track a million.
        let lacks_many = position.seq == 0 || bounds.head.seq > position.seq.saturating_add(SNAPSHOT_GAIN);
        if !has_lost && !is_out_of_reach && !lacks_many {
            return Ok(());
        }
        self.status.send_modify(|status| {
            (status.head, status.applied, status.link) = (bounds.head.seq, position.seq, TeamLink::CatchingUp);
        });
        let is_useful = |snapshot: &SnapshotInfo| has_lost || snapshot.position.seq > position.seq;
        let (readable, newer): (Vec<_>, Vec<_>) = link
            .database
            .snapshots()
            .await?
            .into_iter()
            .filter(is_useful)
            .partition(|snapshot| snapshot.schema <= Store::SCHEMA);
        // After a recovery, the content lacks rows that the position counts.
        let must_begin_again =
            has_lost || position.seq == 0 && self.reader.replica()?.is_some_and(|replica| !replica.is_blank);
        let folder = files::folder_of(self.store.path());
        let file = match readable.into_iter().next() {
            Some(info) => Some(snapshot::download(&link.database, &info, folder, &self.status).await?),
            None if (is_out_of_reach || must_begin_again && first > 1)
                && let Some(SnapshotInfo { version, .. }) = newer.into_iter().next() =>
            {
                return Err(TeamError::SnapshotTooNew { version }.into());
            }
            None if must_begin_again || is_out_of_reach => None,
            None => return Ok(()),
        };
        // Only now, so that a failed download leaves no file of lost entries at each attempt.
        let loss = if has_lost { Some(self.save_lost_entries(link).await?) } else { None };
        let (store, team, is_light) = (self.store.clone(), link.team, self.options.is_light);
        let load = move || store.load_snapshot(file.as_deref(), team, loss.as_ref(), is_light);
        let position = spawn_blocking(load).await.unwrap_or(Err(StoreError::Closed))?;
        link.applied = position.seq;
        self.record_head(link, bounds.head.seq);
        Ok(())
    }

    /// Finds this machine's entries that the database lost, and saves them to a file beside the replica.
    async fn save_lost_entries(&self, link: &SessionConnection) -> Result<LogLoss, SessionError> {
        let own = self.reader.own_entries()?;
        let mut entries = Vec::new();
        for entry in &own {
            if !link.database.has_entry(entry.position.nonce).await? {
                entries.push(entry.position.nonce);
            }
        }
        let now = self.clock.now().wall;
        let saved = own_entries::save_lost_entries(self.store.path(), &own, |nonce| entries.contains(&nonce), now)?;
        let (is_open, notice) = match &saved {
            None => (
                false,
                "the team's database lost its newest entries; nothing that this machine wrote is among them".into(),
            ),
            Some((path, count)) => (
                true,
                format!(
                    "the team's database lost its newest entries, among them {count} of this machine: {}; `hoptop store append` writes them again",
                    path.display()
                ),
            ),
        };
        tracing::error!("{notice}");
        Ok(LogLoss { entries, notice, is_open })
    }

    /// Publishes the notice of lost entries, if a process of this machine has gone back to a snapshot for that reason
    /// since the last call. The first call publishes the entries that weren't appended again.
    pub(super) fn report_loss(&mut self) -> Result<(), SessionError> {
        let replica = self.reader.replica()?;
        let loads = replica.as_ref().map_or(0, |replica| replica.snapshot_loads);
        let before = self.known_loads.replace(loads);
        if before != Some(loads) {
            let loss = replica.and_then(|replica| replica.loss).filter(|loss| loss.is_open || before.is_some());
            self.status.send_modify(|status| status.loss = loss.map(|loss| loss.notice));
        }
        Ok(())
    }
}
