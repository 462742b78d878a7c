//! Sends alerts and other events to a command of the user and to a webhook.
//!
//! The store's change feed is the queue. The store saves a cursor for each channel. Events that happen while no process
//! notifies are sent to a webhook later, in order. Only one process notifies: the holder of a kernel lock beside the
//! store. The module must never delay the poller, nor show an address or a secret.

mod command;
mod posts;
pub(crate) mod webhook;

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
};

pub use self::posts::WebhookPosts;
pub(crate) use self::posts::{WEBHOOK_CHANNEL, WebhookState};
use self::{
    command::CommandCalls,
    webhook::{DeliveryError, Webhook},
};
use crate::{
    clock::Clock,
    domain::{
        alert::Alert,
        change::Change,
        notification::{NotificationCursor, NotifiedEvent},
        operation::Operation,
        text,
        transaction::Transaction,
    },
    process::lock::KernelLock,
    store::{Changes, Reader, SharedReader, Store, StoreError, WakeKind},
};

/// The interval between two attempts to acquire the lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_secs(2);
/// The delay before the first retry, and the maximum delay. The delay doubles with each failure.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(2);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(300);
/// The maximum number of feed entries in a page.
const PAGE_SIZE: usize = 500;
/// The number of feed entries without an event to send after which the cursor is saved. A restarted process doesn't
/// read these entries again.
const CURSOR_SAVE_INTERVAL: i64 = 5_000;

/// A function that renders an event as text: the change, the transaction with its alerts, and the current time.
pub(crate) type RenderEvent =
    fn(&Change, Option<(&Transaction, &[Alert])>, DateTime<Utc>) -> Result<String, serde_json::Error>;

/// A destination of alerts.
#[derive(Clone, Debug)]
pub enum Channel {
    /// A program with its arguments, run once for each event with the event on its standard input. Events that happen
    /// while no process runs are not sent later.
    Command(Vec<String>),
    /// A webhook. Each event is posted until the webhook accepts or refuses the event, also after a restart.
    Webhook(Webhook),
}

impl Channel {
    /// Returns the name of the channel in the config file and in the store.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Command(_) => "on_alert",
            Self::Webhook(_) => WEBHOOK_CHANNEL,
        }
    }
}

/// The dependencies of a notifier.
#[derive(Clone)]
pub struct NotifierSetup {
    /// The store with the alerts.
    pub store: Store,
    /// The profile whose alerts are sent.
    pub profile: String,
    /// The clock.
    pub clock: Clock,
    /// The function that renders an event.
    pub render: RenderEvent,
    /// The events that are sent.
    pub events: Vec<NotifiedEvent>,
    /// Counts the posts to the webhook.
    pub posts: WebhookPosts,
}

/// The running channels. Dropping the notifier stops them.
pub struct Notifier {
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
    clock: Clock,
}

impl Notifier {
    /// Starts to send new events through each of these channels. A webhook also gets the events that were not sent by
    /// earlier sessions. Must be awaited before polling starts.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn start(setup: &NotifierSetup, channels: Vec<Channel>) -> Result<Self, NotifierError> {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let reader = SharedReader::new(setup.store.reader()?);
        let (start_reader, started_at) = (reader.clone(), setup.clock.now().wall);
        let read = |reader: &Reader| reader.snapshot(|| Ok((reader.last_change()?, reader.snapshot_loads()?)));
        let (start_seq, start_loads) = setup.clock.run_blocking(move || start_reader.read(read)).await??;
        for channel in channels {
            if let Channel::Webhook(_) = channel {
                setup.posts.update(&setup.profile, |state| {
                    state.users += 1;
                    state.events.clone_from(&setup.events);
                });
            }
            let task = ChannelTask {
                setup: setup.clone(),
                reader: reader.clone(),
                channel: Arc::new(channel),
                start_seq,
                started_at,
                earliest: None,
                start_loads,
                snapshot_loads: start_loads,
                saved_seq: start_seq,
                stop: stopped.clone(),
                calls: CommandCalls::default(),
            };
            tasks.spawn(task.run_with_retries());
        }
        Ok(Self { tasks, stop, clock: setup.clock.clone() })
    }

    /// Attempts once to send the remaining events, and stops. Stops after `grace` even if events remain; then returns
    /// `false`.
    pub async fn finish(mut self, grace: Duration) -> bool {
        self.stop.send_replace(true);
        let deadline = self.clock.now().mono + grace;
        let all_tasks = async { while self.tasks.join_next().await.is_some() {} };
        tokio::select! {
            biased;
            () = all_tasks => true,
            () = self.clock.sleep_until(deadline) => {
                tracing::warn!("hoptop stopped before all alerts were sent");
                false
            }
        }
    }
}

/// The reason why alerts can't be sent, or sending ended before each event was sent.
#[derive(Debug, thiserror::Error)]
pub enum NotifierError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A task panicked.
    #[error("internal error: a task that sends alerts failed: {0}")]
    Task(#[from] JoinError),
    /// A snapshot took the place of the store's content, its feed included: the cursor must be read again.
    #[error("a snapshot took the place of the store's content")]
    Outdated,
    /// The notifier stopped. The next process with the lock sends the remaining events.
    #[error("hoptop stops")]
    Stopped,
}

/// The task that sends the events of one channel.
struct ChannelTask {
    setup: NotifierSetup,
    reader: SharedReader,
    channel: Arc<Channel>,
    /// The sequence number of the last feed entry when the notifier started, and the moment.
    start_seq: i64,
    started_at: DateTime<Utc>,
    /// Earlier events aren't sent, though they enter the feed of a replica later, when it reads the log from before its
    /// start.
    earliest: Option<DateTime<Utc>>,
    /// How often a snapshot had taken the place of the store's content when the notifier started, and when the cursor was
    /// read.
    start_loads: u64,
    snapshot_loads: u64,
    /// The sequence number of the cursor that was saved last.
    saved_seq: i64,
    /// Becomes `true` when the notifier must stop.
    stop: watch::Receiver<bool>,
    calls: CommandCalls,
}

impl Drop for ChannelTask {
    fn drop(&mut self) {
        if let Channel::Webhook(_) = *self.channel {
            self.count_post(|state| state.users = state.users.saturating_sub(1));
        }
    }
}

impl ChannelTask {
    /// Sends events until the notifier stops. Temporary failures are retried.
    async fn run_with_retries(mut self) {
        let (name, clock) = (self.channel.name(), self.setup.clock.clone());
        let mut delay = FIRST_RETRY_DELAY;
        loop {
            let started = clock.now().mono;
            let error = match self.run().await {
                Ok(()) | Err(NotifierError::Stopped) => return,
                Err(error) => error,
            };
            if clock.now().mono.since(started) > MAX_RETRY_DELAY {
                delay = FIRST_RETRY_DELAY;
            }
            tracing::error!("{name}: alerts can't be sent: {error}");
            if matches!(&error, NotifierError::Store(error) if error.is_permanent()) {
                return;
            }
            tokio::select! {
                biased;
                () = wait_for_stop(&mut self.stop) => return,
                () = clock.sleep_until(clock.now().mono + delay) => delay = (delay * 2).min(MAX_RETRY_DELAY),
            }
        }
    }

    /// Sends events until the notifier stops, then sends the remaining events.
    async fn run(&mut self) -> Result<(), NotifierError> {
        let Some(_lock) = self.acquire_lock().await? else { return Ok(()) };
        let mut wakeups = self.setup.store.subscribe(WakeKind::Changes)?;
        let mut cursor = self.initialize_cursor().await?;
        loop {
            self.send_pending(&mut cursor).await?;
            self.save_call_result(&mut cursor).await?;
            tokio::select! {
                biased;
                () = wait_for_stop(&mut self.stop) => break,
                () = self.calls.wait_for_any() => {}
                changed = wakeups.changed() => if changed.is_err() { break },
            }
        }
        // Alerts that the last answers raised are sent too.
        self.send_pending(&mut cursor).await?;
        self.calls.wait_for_all().await;
        self.save_call_result(&mut cursor).await?;
        // Entries up to here were handled with these settings: a later change of the settings must not send their events.
        // After a snapshot, the number belongs to another entry.
        let (snapshot_loads, _) = self.load_page(cursor.seq).await?;
        let is_new = cursor.seq > self.saved_seq && snapshot_loads == self.snapshot_loads;
        if is_new { self.save_cursor(cursor).await } else { Ok(()) }
    }

    /// Sends the events of each page after the cursor, and advances the cursor.
    async fn send_pending(&mut self, cursor: &mut NotificationCursor) -> Result<(), NotifierError> {
        loop {
            let (snapshot_loads, page) = self.load_page(cursor.seq).await?;
            let sent = match snapshot_loads == self.snapshot_loads {
                true => self.send_events(&page.changes, cursor).await,
                false => Err(NotifierError::Outdated),
            };
            match sent {
                Err(NotifierError::Outdated) => {
                    // The feed may end before the cursor now. The saved cursor was corrected.
                    let saved = self.load_cursor().await?;
                    cursor.seq = saved.map_or(0, |saved| saved.seq);
                    continue;
                }
                sent => sent?,
            }
            cursor.seq = cursor.seq.max(page.last);
            if cursor.seq - self.saved_seq > CURSOR_SAVE_INTERVAL {
                self.save_cursor(cursor.clone()).await?;
            }
            if !page.has_more {
                return Ok(());
            }
        }
    }

    /// Sends events in order, up to the first one that can't be sent now.
    async fn send_events(&mut self, events: &[Change], cursor: &mut NotificationCursor) -> Result<(), NotifierError> {
        for event in events {
            self.send(event, cursor).await?;
        }
        Ok(())
    }

    /// Waits for the lock that lets this process notify. Returns `None` if the notifier stops first.
    async fn acquire_lock(&mut self) -> Result<Option<KernelLock>, NotifierError> {
        let path = KernelLock::beside(self.setup.store.path(), self.channel.name(), &self.setup.profile);
        let clock = self.setup.clock.clone();
        let mut last_error = String::new();
        loop {
            let path = path.clone();
            match clock.run_blocking(move || KernelLock::try_take(&path)).await? {
                Ok(Some(lock)) => return Ok(Some(lock)),
                Ok(None) => {}
                Err(error) if error.to_string() == last_error => {}
                Err(error) => {
                    last_error = error.to_string();
                    tracing::warn!("{}: {last_error}", self.channel.name());
                }
            }
            tokio::select! {
                biased;
                () = wait_for_stop(&mut self.stop) => return Ok(None),
                () = clock.sleep_until(clock.now().mono + LOCK_RETRY_INTERVAL) => {}
            }
        }
    }

    /// Returns and saves the initial cursor: the position after the last event that any process has sent. A command
    /// doesn't get events from before its start. A new webhook doesn't get events from before its first start.
    async fn initialize_cursor(&mut self) -> Result<NotificationCursor, NotifierError> {
        let saved = self.load_cursor().await?;
        let is_new = saved.is_none() || matches!(&*self.channel, Channel::Command(_));
        if is_new && self.setup.store.team().is_some() {
            self.earliest = Some(self.started_at);
        }
        // After a snapshot the number at the start has another meaning.
        let start_seq = if self.snapshot_loads == self.start_loads { self.start_seq } else { 0 };
        let seq = match (&*self.channel, saved.map(|saved| saved.seq)) {
            (_, None) => start_seq,
            (Channel::Webhook(_), Some(sent_seq)) => sent_seq,
            (Channel::Command(_), Some(sent_seq)) => sent_seq.max(start_seq),
        };
        let cursor = NotificationCursor { channel: self.channel.name().to_owned(), seq, error: None };
        self.save_cursor(cursor.clone()).await?;
        Ok(cursor)
    }

    /// Returns the saved cursor, and remembers how often a snapshot was loaded before.
    async fn load_cursor(&mut self) -> Result<Option<NotificationCursor>, NotifierError> {
        let (reader, profile, channel) = (self.reader.clone(), self.setup.profile.clone(), self.channel.name());
        let read = move |reader: &Reader| {
            reader.snapshot(|| Ok((reader.snapshot_loads()?, reader.notification_cursors(&profile)?)))
        };
        let (loads, cursors) = self.setup.clock.run_blocking(move || reader.read(read)).await??;
        self.snapshot_loads = loads;
        Ok(cursors.into_iter().find(|cursor| cursor.channel == channel))
    }

    /// Returns the page of the feed after `seq`, with the events to send, and how often a snapshot had taken the place of
    /// the store's content.
    async fn load_page(&self, seq: i64) -> Result<(u64, Changes), NotifierError> {
        let (setup, reader, earliest) = (self.setup.clone(), self.reader.clone(), self.earliest);
        let read = move |reader: &Reader| {
            let (snapshot_loads, mut page) =
                reader.snapshot(|| Ok((reader.snapshot_loads()?, reader.changes_after(seq, PAGE_SIZE)?)))?;
            let is_chosen =
                |change: &Change| change.kind.notified_event().is_some_and(|event| setup.events.contains(&event));
            let is_early = |change: &Change| earliest.is_some_and(|earliest| change.at < earliest);
            page.changes.retain(|change| change.profile == setup.profile && is_chosen(change) && !is_early(change));
            Ok((snapshot_loads, page))
        };
        Ok(self.setup.clock.run_blocking(move || reader.read(read)).await??)
    }

    /// Sends an event through the channel.
    async fn send(&mut self, event: &Change, cursor: &mut NotificationCursor) -> Result<(), NotifierError> {
        let channel = Arc::clone(&self.channel);
        match &*channel {
            Channel::Command(argv) => {
                let text = self.render(event).await?;
                // Saved before the call: a process that is killed during the call must not repeat the call.
                cursor.seq = event.seq;
                self.save_cursor(cursor.clone()).await?;
                if let Some(text) = text {
                    self.calls.start(argv, &text).await;
                }
                Ok(())
            }
            Channel::Webhook(webhook) => self.post(webhook, event, cursor).await,
        }
    }

    /// Renders an event with the current state of its transaction. Returns `None` if nothing is sent: the transaction
    /// was deleted, or the event can't be rendered, which is logged.
    ///
    /// # Errors
    /// `Outdated` if a snapshot was loaded since the event was read.
    async fn render(&self, event: &Change) -> Result<Option<String>, NotifierError> {
        let (reader, setup, event) = (self.reader.clone(), self.setup.clone(), event.clone());
        let loads = self.snapshot_loads;
        let read = move |reader: &Reader| {
            let listed = || event.transaction.map(|row| reader.list_row(row)).transpose();
            let (loads_now, listed) = reader.snapshot(|| Ok((reader.snapshot_loads()?, listed()?.flatten())))?;
            if loads_now != loads {
                return Ok(Err(NotifierError::Outdated));
            }
            if event.transaction.is_some() && listed.is_none() {
                return Ok(Ok(None));
            }
            let transaction = listed.as_ref().map(|listed| (&listed.transaction, &listed.alerts[..]));
            let rendered = (setup.render)(&event, transaction, setup.clock.now().wall);
            let failed =
                |error: &serde_json::Error| tracing::error!("failed to render the event {}: {error}", event.seq);
            Ok(Ok(rendered.inspect_err(failed).ok()))
        };
        self.setup.clock.run_blocking(move || reader.read(read)).await??
    }

    /// Posts an event until the webhook accepts or refuses the event.
    async fn post(
        &mut self,
        webhook: &Webhook,
        event: &Change,
        cursor: &mut NotificationCursor,
    ) -> Result<(), NotifierError> {
        let mut delay = FIRST_RETRY_DELAY;
        let clock = self.setup.clock.clone();
        // Equal for each attempt. The time tells events apart that have the same number in different stores, or before
        // and after a restore.
        let id = format!("{}/{}/{}", self.setup.profile, event.seq, event.at.timestamp_millis());
        // An error about an event that is no longer sent, or was sent now, is over.
        let mut refusal = None;
        while let Some(text) = self.render(event).await? {
            match clock.await_outside(webhook.post(&id, text, clock.now().wall)).await {
                Ok(()) => {
                    self.count_post(|state| state.delivered += 1);
                    break;
                }
                Err(error @ DeliveryError::Refused { .. }) => {
                    tracing::warn!("webhook: {error}");
                    self.count_post(|state| state.refused += 1);
                    refusal = Some(error.to_string());
                    break;
                }
                Err(error @ DeliveryError::Temporary(_)) => {
                    self.count_post(|state| state.failed += 1);
                    let reason = text::clean(&error.to_string());
                    if cursor.error.as_ref() != Some(&reason) {
                        tracing::warn!("webhook: {reason}");
                        cursor.error = Some(reason);
                        self.save_cursor(cursor.clone()).await?;
                    }
                }
            }
            tokio::select! {
                biased;
                () = wait_for_stop(&mut self.stop) => return Err(NotifierError::Stopped),
                () = clock.sleep_until(clock.now().mono + delay) => delay = (delay * 2).min(MAX_RETRY_DELAY),
            }
        }
        (cursor.seq, cursor.error) = (event.seq, refusal);
        self.save_cursor(cursor.clone()).await
    }

    fn count_post(&self, change: impl FnOnce(&mut WebhookState)) {
        self.setup.posts.update(&self.setup.profile, change);
    }

    /// Saves the result of the calls that have ended since the last query.
    async fn save_call_result(&mut self, cursor: &mut NotificationCursor) -> Result<(), NotifierError> {
        let Some(result) = self.calls.take_result() else { return Ok(()) };
        let error = result.err().map(|reason| text::clean(&reason));
        if error == cursor.error {
            return Ok(());
        }
        if let Some(reason) = &error {
            tracing::warn!("on_alert: {reason}");
        }
        cursor.error = error;
        self.save_cursor(cursor.clone()).await
    }

    async fn save_cursor(&mut self, cursor: NotificationCursor) -> Result<(), NotifierError> {
        self.saved_seq = cursor.seq;
        let operation = Operation::MoveNotificationCursor { profile: self.setup.profile.clone(), cursor };
        let _hold = self.setup.clock.hold();
        self.setup.store.apply(operation, self.setup.clock.now().wall).await?;
        Ok(())
    }
}

/// Resolves when the notifier must stop.
async fn wait_for_stop(stop: &mut watch::Receiver<bool>) {
    // A dropped sender also stops the notifier.
    stop.wait_for(|stop| *stop).await.map(drop).unwrap_or_default();
}

#[cfg(test)]
mod tests;
