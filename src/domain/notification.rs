//! Notifications: alerts and events that leave the program, through the terminal, a command or a webhook.

use serde::{Deserialize, Serialize};

use super::named::named;

named! {
    /// How the dashboard asks the terminal to show a desktop notification.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum NotificationMode: name {
        /// By the escape sequence that the terminal is known to support.
        #[default]
        Auto "auto",
        /// Not at all.
        Off "off",
        /// By OSC 9.
        Osc9 "osc9",
        /// By OSC 777.
        Osc777 "osc777",
        /// By OSC 99.
        Osc99 "osc99",
    }
}

named! {
    /// An event that the notification channels can send.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum NotifiedEvent: name {
        /// A transaction settled.
        Settled "settled",
        /// The status of a transaction changed.
        StatusChanged "status_changed",
        /// An alert was raised.
        AlertRaised "alert_raised",
        /// An alert flaps.
        AlertFlapping "alert_flapping",
        /// An alert was cleared.
        AlertCleared "alert_cleared",
    }
}

impl NotifiedEvent {
    /// The events that are sent unless the settings choose others.
    pub(crate) const DEFAULT: [Self; 3] = [Self::AlertRaised, Self::AlertFlapping, Self::AlertCleared];
}

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
