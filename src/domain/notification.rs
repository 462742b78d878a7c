//! Notifications: alerts and events that leave the program, through the terminal, a command or a webhook.

use serde::{Deserialize, Serialize};

/// How the dashboard asks the terminal to show a desktop notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotificationMode {
    /// By the escape sequence that the terminal is known to support.
    #[default]
    Auto,
    /// Not at all.
    Off,
    /// By OSC 9.
    Osc9,
    /// By OSC 777.
    Osc777,
    /// By OSC 99.
    Osc99,
}

impl NotificationMode {
    /// Returns the name in the config file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
            Self::Osc9 => "osc9",
            Self::Osc777 => "osc777",
            Self::Osc99 => "osc99",
        }
    }
}

/// An event that the notification channels can send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotifiedEvent {
    /// A transaction settled.
    Settled,
    /// The status of a transaction changed.
    StatusChanged,
    /// An alert was raised.
    AlertRaised,
    /// An alert flaps.
    AlertFlapping,
    /// An alert was cleared.
    AlertCleared,
}

impl NotifiedEvent {
    /// The events that are sent unless the settings choose others.
    pub(crate) const DEFAULT: [Self; 3] = [Self::AlertRaised, Self::AlertFlapping, Self::AlertCleared];

    /// Returns the name of the event, as in `watch --json` and in the config file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::StatusChanged => "status_changed",
            Self::AlertRaised => "alert_raised",
            Self::AlertFlapping => "alert_flapping",
            Self::AlertCleared => "alert_cleared",
        }
    }
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
