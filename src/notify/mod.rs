//! Notifies others of alerts: by a command of the user's, and by a webhook.
//!
//! The store's change feed is the queue, and the store keeps a cursor for each channel: events that happen while no process
//! notifies are sent later, in order. Of several processes one notifies, the holder of a kernel lock beside the store. The module
//! must never hold up the poller, nor show an address or a secret.

mod command;

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet, spawn_blocking},
};

use self::command::Calls;
use crate::{
    api::{Undelivered, Webhook},
    clock::Clock,
    domain::{
        alert::Alert,
        change::{Change, What},
        notification::NotificationCursor,
        operation::Operation,
        text,
        transaction::Transaction,
    },
    process::lock::KernelLock,
    store::{Reader, SharedReader, Store, StoreError, Wake},
};

/// The interval between two attempts to get the lock.
const INTERVAL: Duration = Duration::from_secs(2);
/// After a failure the first wait, which doubles with each, and the longest.
const FIRST_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// Entries of the feed that are read at a time.
const PAGE: usize = 500;
/// After so many entries without an event the cursor is saved, so that no process reads them again.
const FAR: i64 = 5_000;

/// Renders an event as text: the change, the transaction with its alerts, and the moment.
pub type RenderEvent =
    fn(&Change, Option<(&Transaction, &[Alert])>, DateTime<Utc>) -> Result<String, serde_json::Error>;

/// A channel through which alerts leave hoptop.
#[derive(Clone, Debug)]
pub enum Channel {
    /// A program gets each event on its standard input, of those that come while hoptop runs.
    Command(Vec<String>),
    /// Each event is posted, and again until it is taken, also after a restart.
    Webhook(Webhook),
}

impl Channel {
    /// Its name in the config file, and in the store.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Command(_) => "on_alert",
            Self::Webhook(_) => "webhook",
        }
    }
}

/// What a notifier needs.
#[derive(Clone)]
pub struct Setup {
    /// The store with the alerts.
    pub store: Store,
    /// The profile whose alerts are sent.
    pub profile: String,
    /// Its time.
    pub clock: Clock,
    /// Writes an event.
    pub render: RenderEvent,
}

/// The running channels; they end when the value is dropped.
pub struct Notifier {
    tasks: JoinSet<()>,
    ending: watch::Sender<bool>,
    clock: Clock,
}

impl Notifier {
    /// Starts to send the events from now on through each of these channels; to a webhook also the events that it didn't get
    /// before. To be awaited before anything is polled.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn start(setup: &Setup, channels: Vec<Channel>) -> Result<Self, NotifierError> {
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

    /// Tells what is yet to be told, once, and ends; after `patience` in any case.
    pub async fn finish(mut self, patience: Duration) {
        self.ending.send_replace(true);
        let until = self.clock.now().mono + patience;
        let all = async { while self.tasks.join_next().await.is_some() {} };
        tokio::select! {
            () = all => {}
            () = self.clock.sleep_until(until) => tracing::warn!("not all alerts were told before it ended"),
        }
    }
}

/// Why alerts can't be told.
#[derive(Debug, thiserror::Error)]
pub enum NotifierError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A task panicked.
    #[error("a task that tells alerts failed: {0}")]
    Task(#[from] JoinError),
}

/// One event, to be told.
#[derive(Clone, Debug, PartialEq)]
struct Event {
    seq: i64,
    /// The same however often it is told.
    id: String,
    text: String,
}

struct ChannelTask {
    setup: Setup,
    reader: SharedReader,
    channel: Arc<Channel>,
    /// How far the feed was when this began.
    from: i64,
    /// The place that was kept last.
    kept: i64,
    ends: watch::Receiver<bool>,
    calls: Calls,
}

impl ChannelTask {
    /// Tells until it is to end; what fails for a while is tried again.
    async fn go_on(mut self) {
        let (name, clock) = (self.channel.name(), self.setup.clock.clone());
        let mut wait = FIRST_WAIT;
        while let Err(error) = self.run().await {
            tracing::error!("{name}: alerts can't be told: {error}");
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
        // What was raised by the last answers is told too.
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

    /// Tells what stands in the next part of the feed. Whether there is more; nothing if it is to end before that is told.
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

    /// Waits until it is this process that tells; nothing if it ends before.
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

    /// Where to begin: behind what was told already, here or by whoever told before. A command isn't called for what was before it
    /// was there to be called, nor a webhook for what was before there was one.
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

    /// The events of a part of the feed behind this place, the place behind them, and whether there is more.
    async fn read(&self, seq: i64) -> Result<(Vec<Event>, i64, bool), NotifierError> {
        let (setup, reader) = (self.setup.clone(), self.reader.clone());
        let read = move |reader: &Reader| {
            let page = reader.changes_after(seq, PAGE)?.changes;
            let end = page.last().map_or(seq, |change| change.seq);
            let own = page.iter().filter(|change| change.profile == setup.profile && is_told(&change.what));
            let events = own.map(|change| event(reader, change, &setup)).filter_map(Result::transpose);
            Ok((events.collect::<Result<_, StoreError>>()?, end, page.len() >= PAGE))
        };
        Ok(spawn_blocking(move || reader.read(read)).await??)
    }

    /// Tells one event; whether to go on. By a webhook it is told again and again until it is taken.
    async fn send(&mut self, event: &Event, state: &mut NotificationCursor) -> Result<bool, NotifierError> {
        let channel = Arc::clone(&self.channel);
        match &*channel {
            Channel::Command(words) => {
                // First: one that is killed in the middle isn't called for the same again.
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
            // Whether it went well is known later.
            Channel::Command(_) => state.error.take(),
            Channel::Webhook(_) => error,
        };
        *state = NotificationCursor { seq: event.seq, error, channel: self.channel.name().to_owned() };
        self.keep(state.clone()).await
    }

    /// Keeps what became of the calls of a command that have ended.
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

/// Resolves once it is to end.
async fn over(ends: &mut watch::Receiver<bool>) {
    // Who held the other end is gone: that is an end too.
    ends.wait_for(|ends| *ends).await.map(drop).unwrap_or_default();
}

/// Whether others are told of this.
fn is_told(what: &What) -> bool {
    matches!(what, What::AlertRaised { .. } | What::AlertCleared { .. } | What::AlertFlapping { .. })
}

/// The event as it is now; nothing if it can't be written, which it never could.
fn event(reader: &Reader, change: &Change, setup: &Setup) -> Result<Option<Event>, StoreError> {
    let listed = change.transaction.map(|row| reader.listed(row)).transpose()?.flatten();
    let about = listed.as_ref().map(|listed| (&listed.transaction, &listed.alerts[..]));
    let id = format!("{}/{}", setup.profile, change.seq);
    match (setup.render)(change, about, setup.clock.now().wall) {
        Ok(text) => Ok(Some(Event { seq: change.seq, id, text })),
        Err(error) => {
            tracing::error!("the event {id} can't be written: {error}");
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests;
