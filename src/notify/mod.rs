//! Sends alerts out of hoptop: to a command of the user's, and to a webhook.
//!
//! The store's change feed is the queue, and the store keeps a cursor for each channel. Events that happen while no
//! process notifies are sent to a webhook later, in order. One process notifies: the holder of a kernel lock beside the
//! store. The module must never delay the poller, nor show an address or a secret.

mod command;
pub(crate) mod webhook;

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet, spawn_blocking},
};

use self::{
    command::Calls,
    webhook::{Undelivered, Webhook},
};
use crate::{
    clock::Clock,
    domain::{
        alert::Alert, change::Change, notification::NotificationCursor, operation::Operation, text,
        transaction::Transaction,
    },
    process::lock::KernelLock,
    store::{Reader, SharedReader, Store, StoreError, Wake},
};

/// The interval between two attempts to get the lock.
const INTERVAL: Duration = Duration::from_secs(2);
/// The first and the longest wait after a failure. The wait doubles with each failure.
const FIRST_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// The most entries of the feed that are read at a time.
const PAGE: usize = 500;
/// The number of entries without an event after which the cursor is saved, so that no process reads them again.
const FAR: i64 = 5_000;

/// Renders an event as text: the change, the transaction with its alerts, and the moment.
pub(crate) type RenderEvent =
    fn(&Change, Option<(&Transaction, &[Alert])>, DateTime<Utc>) -> Result<String, serde_json::Error>;

/// A channel through which alerts leave hoptop.
#[derive(Clone, Debug)]
pub(crate) enum Channel {
    /// A program that gets each event on its standard input, while hoptop runs.
    Command(Vec<String>),
    /// A webhook that each event is posted to, repeatedly until it is accepted, also after a restart.
    Webhook(Webhook),
}

impl Channel {
    /// Returns the name of the channel in the config file and in the store.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Command(_) => "on_alert",
            Self::Webhook(_) => "webhook",
        }
    }
}

/// The parts that a notifier needs.
#[derive(Clone)]
pub(crate) struct Setup {
    /// The store with the alerts.
    pub store: Store,
    /// The profile whose alerts are sent.
    pub profile: String,
    /// The clock.
    pub clock: Clock,
    /// The function that renders an event.
    pub render: RenderEvent,
}

/// The running channels; they end when the value is dropped.
pub(crate) struct Notifier {
    tasks: JoinSet<()>,
    ending: watch::Sender<bool>,
    clock: Clock,
}

impl Notifier {
    /// Starts to send new events through each of these channels. A webhook also gets the events that it has missed.
    /// Must be awaited before polling starts.
    ///
    /// # Errors
    /// If the store can't be read.
    pub(crate) async fn start(setup: &Setup, channels: Vec<Channel>) -> Result<Self, NotifierError> {
        let (ending, ends) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let reader = SharedReader::new(setup.store.reader()?);
        let first = reader.clone();
        let from = spawn_blocking(move || first.read(Reader::last_change)).await??;
        for channel in channels {
            let task = ChannelTask {
                setup: setup.clone(),
                reader: reader.clone(),
                channel: Arc::new(channel),
                from,
                kept: from,
                ends: ends.clone(),
                calls: Calls::default(),
            };
            tasks.spawn(task.go_on());
        }
        Ok(Self { tasks, ending, clock: setup.clock.clone() })
    }

    /// Sends the remaining events, once, and stops; after `patience` in any case.
    pub(crate) async fn finish(mut self, patience: Duration) {
        self.ending.send_replace(true);
        let until = self.clock.now().mono + patience;
        let all = async { while self.tasks.join_next().await.is_some() {} };
        tokio::select! {
            () = all => {}
            () = self.clock.sleep_until(until) => tracing::warn!("hoptop stopped before all alerts were sent"),
        }
    }
}

/// The reason why alerts can't be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotifierError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A task panicked.
    #[error("internal error: a task that sends alerts failed: {0}")]
    Task(#[from] JoinError),
}

/// An event to send.
#[derive(Clone, Debug, PartialEq)]
struct Event {
    seq: i64,
    /// The ID of the event, the same for each attempt.
    id: String,
    text: String,
}

struct ChannelTask {
    setup: Setup,
    reader: SharedReader,
    channel: Arc<Channel>,
    /// The last change in the feed when the notifier started.
    from: i64,
    /// The sequence number that was saved last.
    kept: i64,
    ends: watch::Receiver<bool>,
    calls: Calls,
}

impl ChannelTask {
    /// Sends events until the notifier ends. Temporary failures are retried.
    async fn go_on(mut self) {
        let (name, clock) = (self.channel.name(), self.setup.clock.clone());
        let mut wait = FIRST_WAIT;
        while let Err(error) = self.run().await {
            tracing::error!("{name}: alerts can't be sent: {error}");
            if matches!(&error, NotifierError::Store(error) if error.is_lasting()) {
                return;
            }
            tokio::select! {
                () = over(&mut self.ends) => return,
                () = clock.sleep_until(clock.now().mono + wait) => wait = (wait * 2).min(LONGEST_WAIT),
            }
        }
    }

    async fn run(&mut self) -> Result<(), NotifierError> {
        let Some(_role) = self.take_role().await? else { return Ok(()) };
        let mut news = self.setup.store.subscribe(Wake::Changes)?;
        let mut state = self.begin().await?;
        loop {
            match self.tell_some(&mut state).await? {
                None => return Ok(()),
                Some(true) => continue,
                Some(false) => self.keep_trouble(&mut state).await?,
            }
            tokio::select! {
                changed = news.changed() => if changed.is_err() { break },
                () = self.calls.one_has_ended() => {}
                () = over(&mut self.ends) => break,
            }
        }
        // Alerts that the last answers raised are sent as well.
        loop {
            match self.tell_some(&mut state).await? {
                None => return Ok(()),
                Some(true) => {}
                Some(false) => break,
            }
        }
        self.calls.finish().await;
        self.keep_trouble(&mut state).await
    }

    /// Sends the events of the next page of the feed. Returns whether there are more pages, or `None` if the notifier
    /// ends before all events are sent.
    async fn tell_some(&mut self, state: &mut NotificationCursor) -> Result<Option<bool>, NotifierError> {
        let (events, end, more) = self.read(state.seq).await?;
        for event in events {
            if !self.send(&event, state).await? {
                return Ok(None);
            }
        }
        state.seq = state.seq.max(end);
        if state.seq - self.kept > FAR {
            self.keep(state.clone()).await?;
        }
        Ok(Some(more))
    }

    /// Waits for the lock, with which this process notifies; `None` if the notifier ends before.
    async fn take_role(&mut self) -> Result<Option<KernelLock>, NotifierError> {
        let path = KernelLock::beside(self.setup.store.path(), self.channel.name(), &self.setup.profile);
        let clock = self.setup.clock.clone();
        let mut said = String::new();
        loop {
            let path = path.clone();
            match spawn_blocking(move || KernelLock::try_take(&path)).await? {
                Ok(Some(role)) => return Ok(Some(role)),
                Ok(None) => {}
                Err(error) if error.to_string() == said => {}
                Err(error) => {
                    said = error.to_string();
                    tracing::warn!("{}: {said}", self.channel.name());
                }
            }
            tokio::select! {
                () = over(&mut self.ends) => return Ok(None),
                () = clock.sleep_until(clock.now().mono + INTERVAL) => {}
            }
        }
    }

    /// Returns the cursor to begin with: after the last event that this or another process has sent. A command doesn't
    /// get events from before its start, and a new webhook doesn't get events from before its first start.
    async fn begin(&mut self) -> Result<NotificationCursor, NotifierError> {
        let (reader, profile, channel, from) =
            (self.reader.clone(), self.setup.profile.clone(), self.channel.name(), self.from);
        let cursors = spawn_blocking(move || reader.read(|reader| reader.notification_cursors(&profile))).await??;
        let known = cursors.into_iter().find(|cursor| cursor.channel == channel);
        let seq = match (&*self.channel, known.map(|known| known.seq)) {
            (_, None) => from,
            (Channel::Webhook(_), Some(told)) => told,
            (Channel::Command(_), Some(told)) => told.max(from),
        };
        let state = NotificationCursor { channel: channel.to_owned(), seq, error: None };
        self.keep(state.clone()).await?;
        Ok(state)
    }

    /// Returns the events of the page after `seq`, the page's last sequence number, and whether there are more pages.
    async fn read(&self, seq: i64) -> Result<(Vec<Event>, i64, bool), NotifierError> {
        let (setup, reader) = (self.setup.clone(), self.reader.clone());
        let read = move |reader: &Reader| {
            let page = reader.changes_after(seq, PAGE)?.changes;
            let end = page.last().map_or(seq, |change| change.seq);
            let own = page.iter().filter(|change| change.profile == setup.profile && change.what.is_notified());
            let events = own.map(|change| event(reader, change, &setup)).filter_map(Result::transpose);
            Ok((events.collect::<Result<_, StoreError>>()?, end, page.len() >= PAGE))
        };
        Ok(spawn_blocking(move || reader.read(read)).await??)
    }

    /// Sends an event and returns whether to go on. A post is repeated until the webhook accepts or refuses the event.
    async fn send(&mut self, event: &Event, state: &mut NotificationCursor) -> Result<bool, NotifierError> {
        let channel = Arc::clone(&self.channel);
        match &*channel {
            Channel::Command(words) => {
                // Saved before the call: a process that is killed in the middle must not call again.
                self.keep_told(event, None, state).await?;
                self.calls.begin(words, &event.text).await;
                Ok(true)
            }
            Channel::Webhook(webhook) => self.post(webhook, event, state).await,
        }
    }

    async fn post(
        &mut self,
        webhook: &Webhook,
        event: &Event,
        state: &mut NotificationCursor,
    ) -> Result<bool, NotifierError> {
        let mut wait = FIRST_WAIT;
        loop {
            match webhook.post(&event.id, event.text.clone()).await {
                Ok(()) => {
                    self.keep_told(event, None, state).await?;
                    return Ok(true);
                }
                Err(refused @ Undelivered::Refused { .. }) => {
                    tracing::warn!("webhook: {refused}");
                    self.keep_told(event, Some(refused.to_string()), state).await?;
                    return Ok(true);
                }
                Err(later @ Undelivered::Later(_)) => {
                    let reason = text::clean(&later.to_string());
                    if state.error.as_ref() != Some(&reason) {
                        tracing::warn!("webhook: {reason}");
                        state.error = Some(reason);
                        self.keep(state.clone()).await?;
                    }
                }
            }
            let clock = self.setup.clock.clone();
            tokio::select! {
                () = over(&mut self.ends) => return Ok(false),
                () = clock.sleep_until(clock.now().mono + wait) => wait = (wait * 2).min(LONGEST_WAIT),
            }
        }
    }

    async fn keep_told(
        &mut self,
        event: &Event,
        error: Option<String>,
        state: &mut NotificationCursor,
    ) -> Result<(), NotifierError> {
        let error = match *self.channel {
            // The result of the call is known later.
            Channel::Command(_) => state.error.take(),
            Channel::Webhook(_) => error,
        };
        *state = NotificationCursor { seq: event.seq, error, channel: self.channel.name().to_owned() };
        self.keep(state.clone()).await
    }

    /// Saves the result of the command's calls that have ended.
    async fn keep_trouble(&mut self, state: &mut NotificationCursor) -> Result<(), NotifierError> {
        let Some(ended) = self.calls.ended() else { return Ok(()) };
        let error = ended.err().map(|reason| text::clean(&reason));
        if let Some(reason) = error.as_ref().filter(|_| error != state.error) {
            tracing::warn!("on_alert: {reason}");
        }
        if error == state.error {
            return Ok(());
        }
        state.error = error;
        self.keep(state.clone()).await
    }

    async fn keep(&mut self, cursor: NotificationCursor) -> Result<(), NotifierError> {
        self.kept = cursor.seq;
        let operation = Operation::MoveNotificationCursor { profile: self.setup.profile.clone(), cursor };
        let _still = self.setup.clock.hold();
        self.setup.store.apply(operation, self.setup.clock.now().wall).await?;
        Ok(())
    }
}

/// Resolves when the notifier must end.
async fn over(ends: &mut watch::Receiver<bool>) {
    // A dropped sender also means the end.
    ends.wait_for(|ends| *ends).await.map(drop).unwrap_or_default();
}

/// Renders an event with the current state of its transaction; `None` if rendering fails, which it never should.
fn event(reader: &Reader, change: &Change, setup: &Setup) -> Result<Option<Event>, StoreError> {
    let listed = change.transaction.map(|row| reader.listed(row)).transpose()?.flatten();
    let about = listed.as_ref().map(|listed| (&listed.transaction, &listed.alerts[..]));
    let id = format!("{}/{}", setup.profile, change.seq);
    match (setup.render)(change, about, setup.clock.now().wall) {
        Ok(text) => Ok(Some(Event { seq: change.seq, id, text })),
        Err(error) => {
            tracing::error!("failed to render the event {id}: {error}");
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests;
