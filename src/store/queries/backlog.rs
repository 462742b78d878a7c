//! The events that a notification channel has not sent yet.
//!
//! The change feed is the queue, so a backlog is the part of the feed after the channel's cursor.

use chrono::{DateTime, Utc};
use rusqlite::params;

use crate::{
    domain::notification::NotifiedEvent,
    store::{
        error::Result,
        reader::Reader,
        statement::CachedStatements,
        tables::{changes, columns},
    },
};

/// The number of feed entries after the cursor that are looked through, which bounds the cost.
const SEARCHED: i64 = 10_000;

/// The events that a channel has not sent yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotificationBacklog {
    /// The number of events among the next 10,000 entries of the feed.
    pub events: u64,
    /// The time of the oldest of these events.
    pub oldest: Option<DateTime<Utc>>,
}

impl Reader {
    /// Returns the backlog of a profile's channel that sends these events. Costs O(1).
    pub fn backlog(&self, profile: &str, channel: &str, events: &[NotifiedEvent]) -> Result<NotificationBacklog> {
        let db = self.db();
        let sql = "SELECT seq FROM heralds WHERE profile = ? AND way = ?";
        let cursor: Option<i64> = db.first(sql, [profile, channel], |row| row.get(0))?;
        // A channel without a cursor has not begun.
        let Some(cursor) = cursor else { return Ok(NotificationBacklog::default()) };
        let names: Vec<&str> = events.iter().map(|event| changes::stored_name(*event)).collect();
        let names = columns::to_json(&names)?;
        let sql = "SELECT count(*), min(at) FROM
                       (SELECT at, event, profile, transaction_row FROM changes WHERE seq > ?1 ORDER BY seq LIMIT ?2) AS next
                   WHERE event IN (SELECT value FROM json_each(?3))
                     AND ifnull(profile, (SELECT profile FROM transactions WHERE id = next.transaction_row)) = ?4";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(NotificationBacklog { events: row.get(0)?, oldest: columns::optional_moment(row, 1)? })
        };
        Ok(db.prepare_cached(sql)?.query_row(params![cursor, SEARCHED, names, profile], read)?)
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::*;
    use crate::{
        domain::{fixtures, ids::RowId, notification::NotificationCursor, operation::Operation, status::RouterStatus},
        store::{Store, testing},
    };

    #[test]
    fn backlog_counts_chosen_events_of_the_profile_after_the_cursor() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        let at = |seconds| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        testing::track(&store, "default", (1..=3).map(fixtures::new).collect(), at(0));
        testing::track(&store, "other", vec![fixtures::new(4)], at(0));
        let raise = |row, seconds| {
            testing::observe(&store, RowId(row), fixtures::says(RouterStatus::NeedsGas), at(seconds));
        };
        raise(1, 10);
        let backlog = |events: &[NotifiedEvent]| store.reader().unwrap().backlog("default", "webhook", events).unwrap();
        assert_eq!(backlog(&NotifiedEvent::DEFAULT), NotificationBacklog::default(), "there is no cursor");
        let seq = store.reader().unwrap().last_change().unwrap();
        let cursor = NotificationCursor { channel: "webhook".into(), seq, error: None };
        let operation = Operation::MoveNotificationCursor { profile: "default".into(), cursor };
        testing::apply(&store, operation, at(11)).unwrap();
        assert_eq!(backlog(&NotifiedEvent::DEFAULT), NotificationBacklog::default());
        raise(4, 20);
        raise(2, 30);
        raise(3, 40);
        let two = NotificationBacklog { events: 2, oldest: Some(at(30)) };
        assert_eq!(backlog(&NotifiedEvent::DEFAULT), two);
        assert_eq!(backlog(&[NotifiedEvent::StatusChanged]), two);
        assert_eq!(backlog(&[NotifiedEvent::Settled]), NotificationBacklog::default());
    }
}
