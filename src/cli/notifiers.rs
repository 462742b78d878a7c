//! Starts the notification channels that the settings name, with the events of `watch --json`.
//!
//! A channel with an invalid address must never start.

use std::time::Duration;

use color_eyre::eyre::Result;
use futures_util::future::join_all;

use super::{exit::Exit, json};
use crate::{
    api::Webhook,
    clock::Clock,
    config::Settings,
    notify::{Channel, Notifier, Setup},
    store::Store,
};

/// How long a command without a screen waits for undelivered events at its end: one post, and one call that is under way.
pub(super) const PATIENCE: Duration = Duration::from_secs(12);
/// Like `PATIENCE`, for a person who quits. A webhook gets what is undelivered by then the next time.
const HURRY: Duration = Duration::from_secs(2);

/// Returns the notification channels of the settings, checked.
///
/// # Errors
/// If the address of the webhook is none that may be used.
pub(super) fn channels(settings: &Settings) -> Result<Vec<Channel>> {
    let command = settings.alerting.command.clone().map(Channel::Command);
    let webhook =
        settings.alerting.webhook.as_ref().map(|address| Webhook::new(&address.0)).transpose()?.map(Channel::Webhook);
    Ok(command.into_iter().chain(webhook).collect())
}

/// Returns the names of these channels.
pub(super) fn names(channels: &[Channel]) -> Vec<&'static str> {
    channels.iter().map(Channel::name).collect()
}

/// Starts to send the alerts of a profile. Called before anything is polled, so that no alert is missed.
pub(super) async fn start(channels: Vec<Channel>, profile: &str, store: &Store, clock: &Clock) -> Result<Notifier> {
    let setup = Setup { store: store.clone(), profile: profile.to_owned(), clock: clock.clone(), render: json::event };
    Ok(Notifier::start(&setup, channels).await?)
}

/// The same for several profiles.
pub(super) async fn start_all(
    (settings, profiles): (&Settings, impl Iterator<Item = &str>),
    store: &Store,
    clock: &Clock,
) -> Result<Vec<Notifier>> {
    let mut heralds = Vec::new();
    for profile in profiles {
        heralds.push(start(channels(settings)?, profile, store, clock).await?);
    }
    Ok(heralds)
}

/// Ends them when a person has left the dashboard, and at once when the terminal is gone.
pub(super) async fn take_leave(heralds: Vec<Notifier>, ended: &Result<Exit>) {
    if !matches!(ended, Ok(Exit::HungUp)) {
        join_all(heralds.into_iter().map(|notify| notify.finish(HURRY))).await;
    }
}
