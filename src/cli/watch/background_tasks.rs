//! The background tasks of a watch: the poller, the notification channels, maintenance. On SIGHUP they restart with the settings
//! of that moment.
//!
//! The tasks must never run with invalid settings, nor lose an answer or an alert in a restart.

use std::thread;

use color_eyre::eyre::{Result, WrapErr};
use tokio::sync::{oneshot, watch};

use super::Line;
use crate::{
    cli::{
        self,
        background_poller::{Place, Polling, Running},
        complain,
        maintenance::Maintenance,
        notifiers, sentence,
        signals::{self, Reload},
    },
    clock::Clock,
    config::{self, Environment, Flags, Settings},
    notify::Channel,
    poller::Scope,
    process::program,
    store::Store,
};

/// The settings, and what follows from them.
pub(super) struct BackgroundTasks {
    settings: Settings,
    pub(super) polling: Polling,
    channels: Vec<Channel>,
}

impl BackgroundTasks {
    /// Checks the settings. This may run the command that prints the ID.
    pub(super) fn new(settings: Settings) -> Result<Self> {
        let channels = notifiers::channels(&settings)?;
        Ok(Self { polling: cli::polling(&settings)?, channels, settings })
    }

    /// Returns the names of the notification channels.
    pub(super) fn names(&self) -> Vec<&'static str> {
        notifiers::names(&self.channels)
    }

    /// Loads the current settings for the same profile of the same store. Blocks as long as the ID's command takes.
    fn anew(flags: Flags, before: &Settings) -> Result<Self> {
        let Settings { db, profile, state_dir, .. } = before.clone();
        let flags = Flags { db: Some(db), profile: Some(profile), state_dir: Some(state_dir), ..flags };
        let settings = config::load(flags, &Environment::process())?;
        program::hide(settings.id_variables.clone());
        Self::new(settings)
    }
}

/// What they work with, whatever the settings say.
pub(super) struct TaskContext<'a> {
    pub(super) store: &'a Store,
    pub(super) clock: &'a Clock,
    pub(super) flags: &'a Flags,
    pub(super) reload: Reload,
    /// Says what those are called who tell of alerts.
    pub(super) told_by: watch::Sender<Vec<&'static str>>,
    pub(super) line: Line,
}

/// Has them work until `left` resolves, and waits until they are done.
///
/// # Errors
/// If one of them ends before.
pub(super) async fn serve(
    mut background_tasks: BackgroundTasks,
    mut context: TaskContext<'_>,
    mut left: oneshot::Receiver<()>,
) -> Result<()> {
    loop {
        let requests = background_tasks.polling.requests.clone();
        let Some(next) = context.work(background_tasks, &mut left).await? else { return Ok(()) };
        if left.try_recv().is_ok() {
            // It was over while they made room for each other.
            return Ok(());
        }
        background_tasks = next;
        // What was counted is counted on.
        background_tasks.polling.requests = requests;
        context.told_by.send_replace(background_tasks.names());
        context.say("the settings were read anew");
    }
}

impl TaskContext<'_> {
    /// Until others are to take over, who are returned; nobody if it is over.
    async fn work(
        &mut self,
        background_tasks: BackgroundTasks,
        left: &mut oneshot::Receiver<()>,
    ) -> Result<Option<BackgroundTasks>> {
        let BackgroundTasks { settings, polling, channels } = background_tasks;
        let _housekeeping = Maintenance::start(self.store, settings.keep_bodies, self.clock);
        let notify = notifiers::start(channels, &settings.profile, self.store, self.clock).await?;
        let place = Place::of(&settings, Scope::Everything);
        let mut poller = Running::start(polling, self.store.clone(), self.clock.clone(), place)?;
        let next = tokio::select! {
            biased;
            _ = &mut *left => None,
            fault = poller.fault() => return Err(fault),
            next = self.next(&settings) => Some(next?),
        };
        let stopped = poller.stop().await;
        // Who asks once more doesn't wait for others to be told.
        let (again, _) = signals::listen_where_no_terminal_hangs_up()?;
        tokio::select! {
            () = notify.finish(notifiers::PATIENCE) => {}
            _ = again => tracing::warn!("a second signal came before all alerts were told"),
        }
        stopped.map(|()| next)
    }

    /// Those who are to take over, once somebody wishes it and the settings of then are right.
    async fn next(&mut self, before: &Settings) -> Result<BackgroundTasks> {
        loop {
            self.reload.wanted().await;
            let (flags, before) = (self.flags.clone(), before.clone());
            let (sender, read) = oneshot::channel();
            // On a thread of its own: whoever ends meanwhile doesn't wait for the ID's command.
            let read_anew = move || {
                sender.send(BackgroundTasks::anew(flags, &before)).ok();
            };
            thread::Builder::new().name("settings".into()).spawn(read_anew)?;
            match read.await.wrap_err("the settings could not be read")? {
                Ok(background_tasks) => return Ok(background_tasks),
                Err(wrong) => self.say(&format!("{}; everything goes on as before", sentence(&wrong))),
            }
        }
    }

    /// Says something on standard error.
    fn say(&self, line: &str) {
        tracing::info!("{line}");
        let say = || {
            complain(line);
            Ok(())
        };
        self.line.beside(say).unwrap_or_default();
    }
}
