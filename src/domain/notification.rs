//! Notifications: alerts and events that leave the program, through a command or a webhook.

use serde::{Deserialize, Serialize};

/// The position of a notification channel in the change feed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationCursor {
    /// The channel's name.
    pub channel: String,
    /// The number of the last feed entry that was delivered or needed no delivery. Stores that applied the same
    /// operations number their feeds alike.
    pub seq: i64,
    /// The reason why the last delivery failed or was given up; `None` if it succeeded. Clean text.
    pub error: Option<String>,
}

/// Returns a line for each of these channels whose last delivery failed.
pub(crate) fn delivery_errors(cursors: &[NotificationCursor], channels: &[&str]) -> Vec<String> {
    let known = cursors.iter().filter(|cursor| channels.contains(&cursor.channel.as_str()));
    known.filter_map(|cursor| Some(format!("{}: {}", cursor.channel, cursor.error.as_ref()?))).collect()
}
