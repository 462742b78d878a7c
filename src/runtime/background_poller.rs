//! Runs pollers as one background task of a command: starts, suspends and stops them.
//!
//! The module must never choose transactions or times of polls.

use std::{pin::pin, time::Duration};

use color_eyre::eyre::{Report, Result, WrapErr, eyre};
use futures_util::{FutureExt, future::join_all};
use tokio::{
    sync::{Notify, oneshot},
    task::JoinHandle,
    time,
};

pub(crate) use super::service_client::{PollerOptions, ServiceClient};
use super::{exit::Exit, signals::SuspendHandler, team_poller::TeamPoller};
use crate::{
    clock::Clock,
    metrics::CountingTransport,
    poller::{self, HttpTransport, PollerSetup},
    store::Store,
};

enum ProfilePoller {
    /// Runs in this process.
    InProcess(Box<dyn Fn() -> PollerSetup<CountingTransport<HttpTransport>> + Send + Sync>),
    /// Runs in a child process, for a team.
    Child(Box<TeamPoller>),
}

impl ProfilePoller {
    /// Polls until `end` resolves.
    async fn run(&self, end: impl Future<Output = ()>) -> Result<()> {
        match self {
            Self::InProcess(setup) => Ok(poller::run(setup(), end).await.map(drop)?),
            Self::Child(child) => child.run(end).await,
        }
    }
}

/// Pollers that run as one background task.
pub(crate) struct RunningPollers {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<()>>,
}

impl RunningPollers {
    /// Starts a poller for each profile, each with its own ID. Without a state folder in its options, no other process
    /// may use the store or the ID.
    ///
    /// # Errors
    /// Returns an error if the process can't listen for signals.
    pub(crate) fn start(clients: Vec<(ServiceClient, PollerOptions<'_>)>, store: Store, clock: Clock) -> Result<Self> {
        let begin = std::future::ready(());
        Ok(Self::start_after(clients, begin, SuspendHandler::listen()?, store, clock))
    }

    /// Like `start`, but polls only after `begin` resolves, and suspends the process as `suspension` requests. Without
    /// clients it only does the latter.
    pub(crate) fn start_after(
        clients: Vec<(ServiceClient, PollerOptions<'_>)>,
        begin: impl Future<Output = ()> + Send + 'static,
        suspension: SuspendHandler,
        store: Store,
        clock: Clock,
    ) -> Self {
        let pollers: Vec<_> = clients
            .into_iter()
            .map(|(client, options)| match options.team {
                Some(access) => {
                    ProfilePoller::Child(Box::new(TeamPoller::new(access.clone(), client, options, store.path())))
                }
                None => {
                    let count = client.counter(options.profile);
                    ProfilePoller::InProcess(Box::new(client.setup_factory(options, &store, &clock, count)))
                }
            })
            .collect();
        let (stop, stopped) = oneshot::channel();
        Self { stop, task: tokio::spawn(poll_until_stopped(pollers, store, begin, stopped, suspension)) }
    }

    /// Waits until a poller ends by itself, which happens only after a fault, and returns the fault.
    pub(crate) async fn wait_for_failure(&mut self) -> Report {
        match (&mut self.task).await {
            Ok(Ok(())) => eyre!("the poller ended unexpectedly"),
            Ok(Err(error)) => error,
            Err(error) => eyre!("the poller failed: {error}"),
        }
    }

    /// Stops the pollers, and waits until the answers of open requests are stored.
    pub(crate) async fn stop(self) -> Result<()> {
        // Fails if the task has already ended by itself.
        self.stop.send(()).ok();
        self.task.await.wrap_err("the poller failed")?
    }

    /// Stops the pollers before the process ends. After a hang-up of the terminal the wait is short, so that the store is
    /// closed before the process must end.
    pub(crate) async fn stop_before(self, exit: Exit) -> Result<()> {
        /// The longest wait after a hang-up.
        const MAX_STOP_TIME: Duration = Duration::from_secs(1);
        if exit != Exit::HungUp {
            return self.stop().await;
        }
        time::timeout(MAX_STOP_TIME, self.stop()).await.unwrap_or_else(|_| {
            tracing::warn!("the terminal closed before the last answers arrived");
            Ok(())
        })
    }
}

/// Polls until `stopped` resolves or a poller fails. Before the process is suspended, all pollers stop and release the
/// locks that other processes may wait for. When the process continues, new pollers start.
async fn poll_until_stopped(
    pollers: Vec<ProfilePoller>,
    store: Store,
    begin: impl Future<Output = ()>,
    mut stopped: oneshot::Receiver<()>,
    mut suspension: SuspendHandler,
) -> Result<()> {
    let begin = begin.shared();
    loop {
        let (halt, halted) = oneshot::channel::<()>();
        // Dropping the sender resolves this future too.
        let halted = async { halted.await.unwrap_or(()) }.shared();
        let mut running = pin!(async {
            tokio::select! {
                biased;
                () = halted.clone() => Ok(()),
                () = begin.clone(), if !pollers.is_empty() => {
                    let failed = Notify::new();
                    // If one poller fails, the other pollers shut down gracefully before the error is returned.
                    let end = async {
                        tokio::select! {
                            () = halted.clone() => {}
                            () = failed.notified() => {}
                        }
                    };
                    let end = end.shared();
                    let run = async |poller: &ProfilePoller| poller.run(end.clone()).await.inspect_err(|_| failed.notify_one());
                    join_all(pollers.iter().map(run)).await.into_iter().collect()
                }
            }
        });
        let is_stopped = tokio::select! {
            ended = &mut running => return ended,
            _ = &mut stopped => true,
            () = suspension.suspension_requested() => false,
        };
        drop(halt);
        running.await?;
        if is_stopped {
            return Ok(());
        }
        // A process that is suspended in the middle of a write would block every other writer.
        if !pollers.is_empty() {
            store.flush().await?;
        }
        tokio::select! {
            () = suspension.suspend() => {}
            _ = &mut stopped => return Ok(()),
        }
    }
}
