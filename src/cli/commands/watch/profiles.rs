//! The state of each profile that is watched.
//!
//! The module is pure: it must never print or read a clock.

use super::conditions::{RefusalTimer, WatchConditions};
use crate::{clock::MonotonicTime, domain::text};

/// What a watch knows about one profile.
#[derive(Default)]
pub(super) struct WatchedProfile {
    pub(super) name: String,
    /// Whether the service refuses the ID.
    pub(super) is_refused: bool,
    refusal: RefusalTimer,
    /// The conditions that were reported.
    pub(super) conditions: WatchConditions,
    /// Whether another process polls.
    pub(super) is_other_polling: bool,
    /// Whether the poller sends no request for a while, because an earlier one got a 429 or failed.
    pub(super) is_resting: bool,
}

/// The profiles of a watch, at least one.
pub(super) struct WatchedProfiles(Vec<WatchedProfile>);

impl WatchedProfiles {
    /// Creates the state of these profiles.
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self(names.map(|name| WatchedProfile { name: name.to_owned(), ..WatchedProfile::default() }).collect())
    }

    /// Returns the names, the current profile first.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|profile| profile.name.clone()).collect()
    }

    /// Returns the state of a profile; `None` if the profile isn't watched.
    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut WatchedProfile> {
        self.0.iter_mut().find(|profile| profile.name == name)
    }

    /// Whether the profile is watched.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|profile| profile.name == name)
    }

    /// Whether the service refuses the ID of a profile.
    pub(super) fn is_refused(&self) -> bool {
        self.0.iter().any(|profile| profile.is_refused)
    }

    /// Whether a profile sends no request for a while, because an earlier one got a 429 or failed.
    pub(super) fn is_resting(&self) -> bool {
        self.0.iter().any(|profile| profile.is_resting)
    }

    /// Applies which IDs are refused now. Returns the moment from which waiting is pointless, if a profile's ID is refused:
    /// its transactions can't settle.
    pub(super) fn gives_up_at(&mut self, now: MonotonicTime) -> Option<MonotonicTime> {
        for profile in &mut self.0 {
            profile.refusal.update(profile.is_refused, now);
        }
        self.0.iter().filter_map(|profile| profile.refusal.gives_up_at()).min()
    }

    /// Returns the beginning of a line about a profile: its name if several are watched.
    pub(super) fn prefix(&self, name: &str) -> String {
        if self.0.len() > 1 { format!("{}: ", text::clean(name)) } else { String::new() }
    }
}
