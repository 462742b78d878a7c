//! The settings of a dashboard, which stay the same while it runs.

use chrono::{FixedOffset, Offset, Utc};

use crate::{
    domain::{reply::ReplyTemplates, text},
    tui::keys::Keys,
};

/// The settings of a dashboard.
#[derive(Clone, Debug)]
pub struct DashboardSettings {
    /// The active profile.
    pub profile: String,
    /// The other profiles that are polled and shown.
    pub other_profiles: Vec<String>,
    /// The part of the integrator ID that may be shown; `None` if this process doesn't poll.
    pub shown_id: Option<String>,
    /// The person's name, which the term `mine` of a filter means; `None` if not set.
    pub author: Option<String>,
    /// Whether this is the demo.
    pub is_demo: bool,
    /// Whether this process polls, or waits to take over polling from another process.
    pub is_polling: bool,
    /// The ID of this process.
    pub process: u32,
    /// The person's time zone.
    pub zone: FixedOffset,
    /// Whether the settings name a node of a chain, so that chains can be asked.
    pub asks_chains: bool,
    /// Whether unknown chain IDs are accepted.
    pub any_chain: bool,
    /// The user's templates for replies.
    pub templates: ReplyTemplates,
    /// The keys of the commands.
    pub keys: Keys,
    /// The channels for notifications, by their names in the config file.
    pub notification_channels: Vec<&'static str>,
}

impl Default for DashboardSettings {
    fn default() -> Self {
        Self::of_profile("", 0)
    }
}

impl DashboardSettings {
    /// Returns the settings of a dashboard that polls for one profile, in UTC, with the default keys and templates.
    pub fn of_profile(profile: &str, process: u32) -> Self {
        Self {
            profile: profile.to_owned(),
            other_profiles: Vec::new(),
            shown_id: None,
            author: None,
            is_demo: false,
            is_polling: true,
            process,
            zone: Utc.fix(),
            asks_chains: false,
            any_chain: false,
            templates: ReplyTemplates::default(),
            keys: Keys::default(),
            notification_channels: Vec::new(),
        }
    }

    /// Whether this profile is shown.
    pub fn shows_profile(&self, profile: &str) -> bool {
        self.profiles().any(|shown| shown == profile)
    }

    /// Returns the profile as a prefix of sentences; empty if only one profile is shown, or `profile` is empty.
    pub fn profile_prefix(&self, profile: &str) -> String {
        self.shown_name(profile).map_or_else(String::new, |name| format!("{name}: "))
    }

    /// Returns the name of a profile for the screen; `None` if only one profile is shown, or `profile` is empty.
    pub fn shown_name(&self, profile: &str) -> Option<String> {
        let is_shown = !self.other_profiles.is_empty() && !profile.is_empty();
        is_shown.then(|| text::clean(profile))
    }

    /// Returns the active profile, then the other shown profiles.
    pub fn profiles(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.profile.as_str()).chain(self.other_profiles.iter().map(String::as_str))
    }
}
