//! Starts the notification channels that the settings name, with the events of `watch --json`.
//!
//! A channel with an invalid address must never start.

use std::time::Duration;

use color_eyre::eyre::Result;
use futures_util::future::join_all;

use super::output::json;
use crate::{
    clock::Clock,
    config::Settings,
    notify::{Channel, Notifier, NotifierSetup, WebhookPosts, webhook::Webhook},
    runtime::exit::Exit,
    store::Store,
};

/// The time that a command without a screen gives its notifiers at its end: enough for one running call and one post.
pub(super) const COMMAND_GRACE: Duration = Duration::from_secs(12);
/// Like `COMMAND_GRACE`, for the dashboard. A webhook gets events that are undelivered by then in the next session.
const DASHBOARD_GRACE: Duration = Duration::from_secs(2);

/// Returns the notification channels of the settings.
///
/// # Errors
/// Returns an error if the address, the secret or a header of the webhook is invalid.
pub(super) fn channels(settings: &Settings) -> Result<Vec<Channel>> {
    let command = settings.alerting.command.clone().map(Channel::Command);
    Ok(command.into_iter().chain(webhook(settings)?.map(Channel::Webhook)).collect())
}

/// Returns the webhook of the settings. This may run the command that prints its secret.
///
/// # Errors
/// Returns an error if the address, the secret or a header is invalid.
pub(super) fn webhook(settings: &Settings) -> Result<Option<Webhook>> {
    let alerting = &settings.alerting;
    let Some(address) = &alerting.webhook else { return Ok(None) };
    let secret = alerting.read_webhook_secret()?;
    let mut webhook = Webhook::new(&address.0)?.signed_with(secret.as_ref().map(|secret| secret.0.as_str()));
    for (name, value) in alerting.webhook_headers()? {
        webhook = webhook.with_header(name, &value.0)?;
    }
    Ok(Some(webhook))
}

pub(super) fn names(channels: &[Channel]) -> Vec<&'static str> {
    channels.iter().map(Channel::name).collect()
}

/// Starts to send the events of all profiles of the settings. Must be called before polling starts, so that no event is
/// missed.
pub(super) async fn start(
    channels: &[Channel],
    settings: &Settings,
    store: &Store,
    clock: &Clock,
    posts: &WebhookPosts,
) -> Result<Vec<Notifier>> {
    let mut notifiers = Vec::new();
    for profile in settings.profiles() {
        let setup = NotifierSetup {
            store: store.clone(),
            profile: profile.to_owned(),
            clock: clock.clone(),
            render: json::event,
            events: settings.alerting.events.clone(),
            posts: posts.clone(),
        };
        notifiers.push(Notifier::start(&setup, channels.to_vec()).await?);
    }
    Ok(notifiers)
}

/// Stops the notifiers when the dashboard has ended. After a hang-up of the terminal they stop at once.
pub(super) async fn stop_notifiers(notifiers: Vec<Notifier>, ended: &Result<Exit>) {
    if !matches!(ended, Ok(Exit::HungUp)) {
        join_all(notifiers.into_iter().map(|notifier| notifier.finish(DASHBOARD_GRACE))).await;
    }
}
