//! The events of a profile that are not stored yet.
//!
//! An event is reported once, when the state changes. It must never be lost because the store couldn't be written: an
//! alert would stay for ever, or never be raised.

use super::{journal, requests::apply_operation, setup::PollerSetup};
use crate::{
    clock::Now,
    domain::operation::{Operation, ProfileEvent},
};

/// The events to store, in order. A newer event of the same kind takes the place of an older one.
#[derive(Debug, Default)]
pub(super) struct ProfileEvents {
    waiting: Vec<ProfileEvent>,
    /// Whether the last attempt to store an event failed.
    is_failing: bool,
}

/// Whether the event is about the budget, and not about the service's answers.
fn is_about_budget(event: &ProfileEvent) -> bool {
    match event {
        ProfileEvent::BudgetShort(_) | ProfileEvent::BudgetSufficient => true,
        ProfileEvent::Throttled(_)
        | ProfileEvent::Unauthorized(_)
        | ProfileEvent::Unreachable(_)
        | ProfileEvent::Recovered => false,
    }
}

impl ProfileEvents {
    /// Logs and stores an event that happened at `at`.
    pub(super) async fn record<T>(&mut self, event: ProfileEvent, setup: &PollerSetup<T>, at: Now) {
        journal::log_event(&setup.profile, &event);
        self.add(event);
        self.save(setup, at).await;
    }

    fn add(&mut self, event: ProfileEvent) {
        self.waiting.retain(|older| is_about_budget(older) != is_about_budget(&event));
        self.waiting.push(event);
    }

    /// Stores the waiting events as having happened at `at`. Events that can't be stored stay for the next attempt.
    pub(super) async fn save<T>(&mut self, setup: &PollerSetup<T>, at: Now) {
        while let Some(event) = self.waiting.first().cloned() {
            let operation = Operation::RecordProfileEvent { profile: setup.profile.clone(), event };
            if let Err(error) = apply_operation(&setup.store, &setup.clock, operation, at).await {
                if !std::mem::replace(&mut self.is_failing, true) {
                    tracing::error!(profile = setup.profile, "failed to store an event of the profile: {error}");
                }
                return;
            }
            self.is_failing = false;
            self.waiting.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_event_replaces_one_of_its_kind_that_is_not_stored() {
        let mut events = ProfileEvents::default();
        events.add(ProfileEvent::Unreachable("refused".into()));
        events.add(ProfileEvent::BudgetShort("needs 3".into()));
        events.add(ProfileEvent::Recovered);
        assert_eq!(events.waiting, [ProfileEvent::BudgetShort("needs 3".into()), ProfileEvent::Recovered]);
        events.add(ProfileEvent::BudgetSufficient);
        assert_eq!(events.waiting, [ProfileEvent::Recovered, ProfileEvent::BudgetSufficient]);
    }
}
