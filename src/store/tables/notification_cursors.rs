//! The notification cursors (`heralds`): one row for each channel of each profile.
//!
//! The change feed is the queue of notifications. Its alert entries are deleted only with their transaction, so a
//! channel needs no queue besides its position.

use rusqlite::{Connection, params};

use crate::{
    domain::notification::NotificationCursor,
    store::{error::Result, reader::Reader, statement::CachedStatements},
};

impl Reader {
    /// Returns the cursors of a profile's notification channels, ordered by channel name.
    pub fn notification_cursors(&self, profile: &str) -> Result<Vec<NotificationCursor>> {
        let sql = "SELECT way, seq, error FROM heralds WHERE profile = ? ORDER BY way";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(NotificationCursor { channel: row.get(0)?, seq: row.get(1)?, error: row.get(2)? })
        };
        self.db().all(sql, [profile], read)
    }
}

pub(crate) fn write(db: &Connection, profile: &str, cursor: &NotificationCursor) -> Result<()> {
    let sql = "INSERT INTO heralds (profile, way, seq, error) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT DO UPDATE SET seq = ?3, error = ?4";
    db.run(sql, params![profile, cursor.channel, cursor.seq, cursor.error])
}

/// Moves every cursor that is past the entry `seq` back to `seq`.
pub(crate) fn rewind_to(db: &Connection, seq: i64) -> Result<()> {
    db.run("UPDATE heralds SET seq = ?1 WHERE seq > ?1", [seq])
}
