//! The state of each profile that is watched.
//!
//! The module is pure: it must never print or read a clock.

use std::time::Duration;

use super::conditions::WatchConditions;
use crate::{
    clock::MonotonicTime,
    domain::{alert::Outage, text},
};

/// How long the service may refuse the ID before a watch with an end gives up: three probes.
const REFUSED_FOR: Duration = Duration::from_secs(3 * 60);

/// What a watch knows about one profile.
#[derive(Default)]
pub(super) struct WatchedProfile {
    pub(super) name: String,
    /// What keeps answers from reaching the profile.
    pub(super) outage: Option<Outage>,
    /// Since when the service has given no answer but refusals of the ID.
    refused_since: Option<MonotonicTime>,
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

    /// Whether a profile has this outage.
    pub(super) fn has_outage(&self, outage: Outage) -> bool {
        self.0.iter().any(|profile| profile.outage == Some(outage))
    }

    /// Whether a profile sends no request for a while, because an earlier one got a 429 or failed.
    pub(super) fn is_resting(&self) -> bool {
        self.0.iter().any(|profile| profile.is_resting)
    }

    /// Applies which IDs are refused now. Returns the moment from which waiting is pointless, if a profile's ID is refused:
    /// its transactions can't settle.
    pub(super) fn gives_up_at(&mut self, now: MonotonicTime) -> Option<MonotonicTime> {
        for profile in &mut self.0 {
            let is_refused = profile.outage == Some(Outage::Unauthorized);
            profile.refused_since = is_refused.then(|| profile.refused_since.unwrap_or(now));
        }
        self.0.iter().filter_map(|profile| profile.refused_since).min().map(|since| since + REFUSED_FOR)
    }

    /// Returns the beginning of a line about a profile: its name if several are watched.
    pub(super) fn prefix(&self, name: &str) -> String {
        if self.0.len() > 1 { format!("{}: ", text::clean(name)) } else { String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_lasts_until_another_answer() {
        let at = |seconds| MonotonicTime::default() + Duration::from_secs(seconds);
        let mut profiles = WatchedProfiles::new(["prod"].into_iter());
        let steps = [(true, 1, Some(181)), (true, 100, Some(181)), (false, 120, None), (true, 130, Some(310))];
        for (is_refused, now, gives_up_at) in steps {
            profiles.get_mut("prod").unwrap().outage = is_refused.then_some(Outage::Unauthorized);
            assert_eq!(profiles.gives_up_at(at(now)), gives_up_at.map(at));
        }
    }
}
