//! Snapshots of a replica: a copy for a machine that starts, and the way back after the database lost entries.
//!
//! A snapshot holds the replicated tables and the position in the log, and nothing that is one machine's own.

use std::path::Path;

use rusqlite::{
    Connection,
    backup::{Backup, StepResult},
    params,
};

use super::ReplicaState;
use crate::{
    domain::team::{LogLoss, LogPosition, Nonce},
    process::files,
    store::{
        Store,
        error::{Result, StoreError, StoreFault},
        file::{connection, migrate, sql_functions},
        operations,
    },
};

/// The tables of one machine that stay when a snapshot is loaded: the cursors of notifications, and the entries that
/// its people appended.
const KEPT_TABLES: [&str; 2] = ["heralds", "own_entries"];

impl Store {
    /// The schema of the tables, which an older hoptop can't read.
    pub(crate) const SCHEMA: i64 = migrate::LATEST;

    /// Records that the lost entries were appended again.
    ///
    /// # Errors
    /// If the store can't be written.
    pub(crate) fn mark_loss_appended(&self) -> Result<()> {
        let db = connection::open_for_writing(self.path(), None, true)?;
        Ok(db.execute("UPDATE replica SET loss_is_open = 0", []).map(drop)?)
    }

    /// Writes a snapshot of the replica to a new file, and returns its state. Blocks no writer.
    ///
    /// # Errors
    /// If the store isn't a replica, or the file can't be written.
    pub(crate) fn write_snapshot(&self, to: &Path) -> Result<ReplicaState> {
        let copy = self.copy_replicated(to)?;
        copy.execute("UPDATE replica SET loss = NULL, loss_is_open = 0", [])?;
        super::state(&copy)?.ok_or(StoreError::NotReplica)
    }

    /// Writes this store, which is no replica, as a snapshot of a team's log at `position`.
    ///
    /// # Errors
    /// [`StoreError::ReplicaAlone`] if the store is a replica; or if the file can't be written.
    pub(crate) fn write_first_snapshot(&self, to: &Path, team: Nonce, position: LogPosition) -> Result<()> {
        let copy = self.copy_replicated(to)?;
        if super::is_replica(&copy)? {
            return Err(StoreError::ReplicaAlone);
        }
        super::write_position(&copy, team, position)
    }

    /// Writes the replica as a store without a team.
    ///
    /// # Errors
    /// If the file can't be written.
    pub(crate) fn write_alone(&self, to: &Path) -> Result<()> {
        super::detach_from_team(&self.copy_replicated(to)?)
    }

    /// Copies the store to a new file, without the data of this machine.
    fn copy_replicated(&self, to: &Path) -> Result<Connection> {
        let source = connection::open_for_reading(self.path())?;
        // SQLite takes an empty file, and gives a new one the permissions of the process.
        let created = files::private_options().write(true).create_new(true).open(to);
        created.map_err(|source| StoreError::Create { path: to.to_owned(), source })?;
        source.execute("VACUUM INTO ?", [to.to_string_lossy()])?;
        let copy = Connection::open(to)?;
        copy.pragma_update(None, "secure_delete", true)?;
        for table in KEPT_TABLES.into_iter().chain(["attention"]) {
            copy.execute(&format!("DELETE FROM {table}"), [])?;
        }
        Ok(copy)
    }

    /// Puts the beginning of the log in the place of the replica's content.
    fn load_blank(&self, team: Nonce, loss: Option<&LogLoss>) -> Result<LogPosition> {
        let folder = tempfile::Builder::new().prefix(".snapshot-").tempdir_in(files::folder_of(self.path()));
        let folder = folder.map_err(|error| StoreFault::CommitFailed(error.to_string()))?;
        let path = folder.path().join("blank.db");
        drop(Self::open(&path)?);
        super::write_position(&Connection::open(&path)?, team, LogPosition::default())?;
        self.load_snapshot(Some(&path), team, loss, false)
    }

    /// Puts a snapshot in the place of the replica's content, except for the data of this machine. Other connections
    /// see the old content or the new. The file of the snapshot is changed. Without a snapshot, the replica begins with
    /// the log. `loss` has the entries that are no longer in the log. With `is_light` the bodies of answers are left out.
    ///
    /// # Errors
    /// If the snapshot is of a newer schema or another team, or the store can't be written.
    pub(crate) fn load_snapshot(
        &self,
        snapshot: Option<&Path>,
        team: Nonce,
        loss: Option<&LogLoss>,
        is_light: bool,
    ) -> Result<LogPosition> {
        let Some(snapshot) = snapshot else { return self.load_blank(team, loss) };
        let mut source = Connection::open(snapshot)?;
        sql_functions::register(&source)?;
        let found = migrate::version(&source)?;
        if found > migrate::LATEST {
            return Err(StoreError::Newer { path: snapshot.to_owned(), found, known: migrate::LATEST });
        }
        migrate::migrate(&mut source, migrate::LATEST)?;
        while operations::complete_derived(&mut source)? {}
        let of_team = super::state(&source)?.filter(|snapshot| snapshot.team == team);
        let position = of_team.ok_or(StoreError::OtherTeam)?.position;
        if is_light {
            operations::leave_bodies_out(&mut source)?;
            source.execute("UPDATE replica SET lacks_bodies = 1", [])?;
        }
        let mut target = connection::open_for_writing(self.path(), None, true)?;
        // Fails if the file is another team's replica or holds data of its own.
        super::position(&target, team)?;
        source.execute("ATTACH ? AS target", [self.path().to_string_lossy()])?;
        for table in KEPT_TABLES {
            source.execute_batch(&format!(
                "DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM target.{table}"
            ))?;
        }
        // The feed of the snapshot may end before the cursors: the database lost entries.
        operations::rewind_cursors_to_feed_end(&source)?;
        source.execute(
            "UPDATE main.replica SET (loads, loss, loss_is_open) = (
                 SELECT 1 + ifnull(max(loads), 0), iif(max(loss_is_open), max(loss), NULL), ifnull(max(loss_is_open), 0)
                 FROM target.replica)",
            [],
        )?;
        if let Some(LogLoss { entries, notice, is_open }) = loss {
            for nonce in entries {
                source.execute("DELETE FROM main.own_entries WHERE nonce = ?", [nonce.to_string()])?;
            }
            let sql = "UPDATE main.replica SET loss = ?, loss_is_open = ?";
            source.execute(sql, params![notice, is_open])?;
        }
        source.execute("DETACH target", [])?;
        match Backup::new(&source, &mut target)?.step(-1)? {
            StepResult::Done => Ok(position),
            _ => Err(StoreFault::CommitFailed("another process has locked the store".into()).into()),
        }
    }
}
