//! Composing those who tell others of alerts: the ways that the settings name, and the words of `watch --json`.
//!
//! It must never start one of them with an address that is wrong.

use std::time::Duration;

use color_eyre::eyre::Result;
use futures_util::future::join_all;

use super::{exit::Exit, json};
use crate::{
    api::Webhook,
    clock::Clock,
    config::Settings,
    herald::{Herald, Setup, Way},
    store::Store,
};

/// How long a command that nobody looks at waits for what is yet to be told: a post, and a call that was under way.
pub(super) const PATIENCE: Duration = Duration::from_secs(12);
/// The same for a person who quits. What isn't told by then a webhook is told the next time.
const HURRY: Duration = Duration::from_secs(2);

/// The ways by which the settings want alerts told, checked.
///
/// # Errors
/// If the address of the webhook is none that may be used.
pub(super) fn ways(settings: &Settings) -> Result<Vec<Way>> {
    let command = settings.alerting.command.clone().map(Way::Command);
    let webhook =
        settings.alerting.webhook.as_ref().map(|address| Webhook::new(&address.0)).transpose()?.map(Way::Webhook);
    Ok(command.into_iter().chain(webhook).collect())
}

/// What these ways are called.
pub(super) fn names(ways: &[Way]) -> Vec<&'static str> {
    ways.iter().map(Way::name).collect()
}

/// Starts telling the alerts of a profile. Before anything is polled, so that nothing is missed.
pub(super) async fn start(ways: Vec<Way>, profile: &str, store: &Store, clock: &Clock) -> Result<Herald> {
    let setup = Setup { store: store.clone(), profile: profile.to_owned(), clock: clock.clone(), render: json::event };
    Ok(Herald::start(&setup, ways).await?)
}

/// The same for several profiles.
pub(super) async fn start_all(
    (settings, profiles): (&Settings, impl Iterator<Item = &str>),
    store: &Store,
    clock: &Clock,
) -> Result<Vec<Herald>> {
    let mut heralds = Vec::new();
    for profile in profiles {
        heralds.push(start(ways(settings)?, profile, store, clock).await?);
    }
    Ok(heralds)
}

/// Ends them when a person has left the dashboard, and at once when the terminal is gone.
pub(super) async fn take_leave(heralds: Vec<Herald>, ended: &Result<Exit>) {
    if !matches!(ended, Ok(Exit::HungUp)) {
        join_all(heralds.into_iter().map(|herald| herald.finish(HURRY))).await;
    }
}
