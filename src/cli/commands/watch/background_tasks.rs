//! The background tasks of a watch: the poller, the notification channels and maintenance. On SIGHUP they restart with
//! the current settings.
//!
//! The tasks must never run with invalid settings, nor lose an answer or an alert in a restart.

use std::thread;

use color_eyre::eyre::{Result, WrapErr};
use futures_util::future::join_all;
use tokio::sync::{oneshot, watch};

use super::WatchBarHandle;
use crate::{
    cli::{error_line, notifiers, service_clients},
    clock::Clock,
    config::{self, CommandLineSettings, Environment, Settings},
    metrics::RequestCounters,
    notify::{Channel, WebhookPosts},
    process::program,
    runtime::{
        background_poller::{RunningPollers, ServiceClient},
        maintenance,
        service_manager::ServiceManager,
        signals::ReloadSignal,
        team_store::TeamAccess,
    },
    store::Store,
};

/// The settings of the background tasks, and the tasks' parts that are created from them.
pub(crate) struct BackgroundTasks {
    settings: Settings,
    /// The client of each profile, in the order of the settings.
    clients: Vec<ServiceClient>,
    channels: Vec<Channel>,
    posts: WebhookPosts,
}

impl BackgroundTasks {
    /// Checks the settings. This may run the command that prints the ID.
    pub(crate) fn new(settings: Settings) -> Result<Self> {
        let channels = notifiers::channels(&settings)?;
        let posts = WebhookPosts::default();
        Ok(Self { clients: service_clients::clients(&settings)?, channels, settings, posts })
    }

    /// Returns the counters of the requests of all profiles.
    pub(crate) fn requests(&self) -> RequestCounters {
        self.clients.first().map(|client| client.requests.clone()).unwrap_or_default()
    }

    pub(crate) fn posts(&self) -> WebhookPosts {
        self.posts.clone()
    }

    /// Returns the names of the notification channels.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        notifiers::names(&self.channels)
    }

    /// Loads the current settings for the same profile of the same store. Blocks as long as the ID's command takes.
    fn reload(flags: CommandLineSettings, before: &Settings) -> Result<Self> {
        let Settings { db, store, profile, state_dir, .. } = before.clone();
        let flags = CommandLineSettings { db: Some(db), profile: Some(profile), state_dir: Some(state_dir), ..flags };
        let mut settings = config::load(flags.clone(), &Environment::process())?;
        keep_named_profiles(&mut settings, &flags);
        settings.store = store;
        program::hide_variables(settings.secret_variables.clone());
        Self::new(settings)
    }
}

/// Keeps the profiles that the command line names. The config file's `beside` is for the dashboard.
pub(crate) fn keep_named_profiles(settings: &mut Settings, flags: &CommandLineSettings) {
    settings.beside.retain(|connection| flags.beside.contains(&connection.profile));
}

/// The values that the background tasks use independently of the settings.
pub(crate) struct TaskContext<'a> {
    pub(crate) store: &'a Store,
    /// How this process takes part in a team; `None` if it polls alone.
    pub(crate) team: Option<&'a TeamAccess>,
    pub(crate) clock: &'a Clock,
    pub(crate) flags: &'a CommandLineSettings,
    pub(crate) reload: ReloadSignal,
    /// Publishes the names of the notification channels.
    pub(crate) channel_names: watch::Sender<Vec<&'static str>>,
    pub(crate) bar: WatchBarHandle,
}

/// Runs the tasks until `stopped` resolves, and waits until they have ended.
///
/// # Errors
/// Returns an error if a task ends before.
pub(crate) async fn serve(
    mut background_tasks: BackgroundTasks,
    mut context: TaskContext<'_>,
    mut stopped: oneshot::Receiver<()>,
) -> Result<()> {
    loop {
        let (requests, posts) = (background_tasks.requests(), background_tasks.posts());
        let Some(next) = context.run_until_reload(background_tasks, &mut stopped).await? else { return Ok(()) };
        if stopped.try_recv().is_ok() {
            // The watch ended during the restart.
            return Ok(());
        }
        background_tasks = next;
        // The counters continue.
        background_tasks.posts = posts;
        for client in &mut background_tasks.clients {
            client.requests = requests.clone();
        }
        context.channel_names.send_replace(background_tasks.names());
        context.print("the settings were reloaded");
    }
}

impl TaskContext<'_> {
    /// Runs the tasks until a reload or the end of the watch. Returns the reloaded tasks, or `None` at the end.
    async fn run_until_reload(
        &mut self,
        background_tasks: BackgroundTasks,
        stopped: &mut oneshot::Receiver<()>,
    ) -> Result<Option<BackgroundTasks>> {
        let BackgroundTasks { settings, clients, channels, posts } = background_tasks;
        let _maintenance = maintenance::start(self.store, settings.keep_bodies, self.clock);
        let started = notifiers::start(&channels, &settings, self.store, self.clock, &posts).await?;
        let clients = service_clients::with_options(clients, &settings, self.team);
        let heartbeats = clients.iter().map(|(client, _)| client.heartbeat.clone()).collect();
        let mut poller = RunningPollers::start(clients, self.store.clone(), self.clock.clone())?;
        let _watchdog = ServiceManager::of_process().watch(heartbeats, self.clock.clone());
        let next = tokio::select! {
            biased;
            _ = &mut *stopped => None,
            fault = poller.wait_for_failure() => return Err(fault),
            next = self.next_reload(&settings) => Some(next?),
        };
        if next.is_none() {
            ServiceManager::of_process().report_stopping();
        }
        let stopped = poller.stop().await;
        let all_sent = join_all(started.into_iter().map(|notifier| notifier.finish(notifiers::COMMAND_GRACE))).await;
        if all_sent.contains(&false) {
            self.print(
                "the watch ended before all events were sent; a webhook gets the rest later, `on_event` doesn't",
            );
        }
        stopped.map(|()| next)
    }

    /// Waits for a request to reload whose settings are valid, and returns the reloaded tasks.
    async fn next_reload(&mut self, before: &Settings) -> Result<BackgroundTasks> {
        loop {
            self.reload.requested().await;
            let (flags, before) = (self.flags.clone(), before.clone());
            let (sender, loaded) = oneshot::channel();
            // A separate thread, so that the end of the watch doesn't wait for the ID's command.
            let load = move || {
                sender.send(BackgroundTasks::reload(flags, &before)).ok();
            };
            thread::Builder::new().name("settings".into()).spawn(load)?;
            match loaded.await.wrap_err("the settings could not be read")? {
                Ok(background_tasks) => return Ok(background_tasks),
                Err(error) => self.print(&format!("{}; the previous settings stay in effect", error_line(&error))),
            }
        }
    }

    /// Prints a line on standard error, above the bar, and logs it.
    fn print(&self, line: &str) {
        tracing::info!("{line}");
        self.bar.print_line(line);
    }
}
