//! Notifications: alerts and events that leave the program, through a command or a webhook.

use serde::{Deserialize, Serialize};

/// How far a notification channel has read the change feed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationCursor {
    /// The channel's name.
    pub channel: String,
    /// The number of the last entry of the change feed that was delivered or needed no delivery. Stores that applied the
    /// same operations number their feeds alike.
    pub seq: i64,
    /// Why the last delivery failed, or the last that was given up; clean text.
    pub error: Option<String>,
}

/// What keeps alerts from being delivered: a line for each of these channels whose last delivery failed.
pub fn troubles(cursors: &[NotificationCursor], channels: &[&str]) -> Vec<String> {
    let known = cursors.iter().filter(|cursor| channels.contains(&cursor.channel.as_str()));
    known.filter_map(|cursor| Some(format!("{}: {}", cursor.channel, cursor.error.as_ref()?))).collect()
}
