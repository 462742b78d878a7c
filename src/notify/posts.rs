//! Counts the results of the posts to webhooks, for the metrics.
//!
//! This module must never keep an event, nor an address.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::domain::notification::NotifiedEvent;

/// The name of the webhook's channel in the store and in the config file.
pub(crate) const WEBHOOK_CHANNEL: &str = "webhook";

/// The posts of this process to the webhook of each profile. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct WebhookPosts(Arc<Mutex<BTreeMap<String, WebhookState>>>);

/// The posts to the webhook of one profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WebhookState {
    /// The notifiers that use the webhook now: two during a reload of the settings.
    pub users: u32,
    /// The events that the webhook gets.
    pub events: Vec<NotifiedEvent>,
    /// Events that the webhook accepted.
    pub delivered: u64,
    /// Events that the webhook refused for good.
    pub refused: u64,
    /// Attempts that failed and are repeated.
    pub failed: u64,
}

impl WebhookPosts {
    /// Returns the state of each profile that has or had a webhook.
    pub(crate) fn states(&self) -> BTreeMap<String, WebhookState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the state of a profile's webhook.
    pub(super) fn update(&self, profile: &str, change: impl FnOnce(&mut WebhookState)) {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(states.entry(profile.to_owned()).or_default());
    }
}
