//! The signals that end the program (INT, TERM, HUP), reload its settings (HUP without a terminal) and suspend it
//! (TSTP).
//!
//! The module must never end the process itself: it returns the exit code. [`forced_end`] ends the process if the
//! graceful shutdown takes too long.

use std::{
    io::{self, IsTerminal},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use color_eyre::eyre::Result;
use futures_util::FutureExt;
use rustix::process::Signal;
use tokio::sync::{mpsc, watch};

use super::{
    exit::Exit,
    forced_end::{self, signal_stream},
};
use crate::tui::system::suspension::{self, SuspendOrder, SuspendScope};

/// Starts to listen for signals. The returned future resolves with the exit code of the first signal. From then on the
/// process ends within the time for a graceful shutdown ([`forced_end`]), and at a second signal at once.
pub(crate) fn listen() -> Result<impl Future<Output = Exit>> {
    Ok(FirstSignal::listen()?.received())
}

/// Like `listen`, for a command that may run without a terminal. Without a terminal, SIGHUP does not end the command
/// but requests that it reload the settings.
pub(crate) fn listen_for_end_and_reload() -> Result<(impl Future<Output = Exit>, ReloadSignal)> {
    let has_terminal = io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal();
    Ok((FirstSignal(forced_end::listen(has_terminal)?).received(), ReloadSignal::listen(!has_terminal)?))
}

/// Makes a write beyond the limit of the size of a file (`ulimit -f`) fail, instead of ending the process.
pub(crate) fn ignore_file_size_signal() {
    // Without a handler the signal ends the process as usual.
    signal_hook::flag::register(Signal::XFSZ.as_raw(), Arc::new(AtomicBool::new(false))).ok();
}

/// A stream of SIGHUP signals that request a reload of the settings.
pub(crate) struct ReloadSignal {
    signal: Option<tokio::signal::unix::Signal>,
}

impl ReloadSignal {
    fn listen(is_enabled: bool) -> Result<Self> {
        Ok(Self { signal: is_enabled.then(|| signal_stream(Signal::HUP)).transpose()? })
    }

    /// Resolves when a reload is requested; never if the process has a terminal.
    pub(crate) async fn requested(&mut self) {
        match &mut self.signal {
            Some(signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    }
}

/// The first signal. Synchronous work checks it now and then, and cleans up before it ends.
pub(crate) struct FirstSignal(watch::Receiver<Option<Exit>>);

impl FirstSignal {
    /// Starts to listen for signals.
    pub(crate) fn listen() -> Result<Self> {
        Ok(Self(forced_end::listen(true)?))
    }

    /// Resolves with the exit code of the first signal.
    async fn received(mut self) -> Exit {
        match self.0.wait_for(Option::is_some).await.map(|exit| *exit) {
            Ok(Some(exit)) => exit,
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    /// Returns the exit code of the first signal, if there was one.
    pub(crate) fn exit(&self) -> Option<Exit> {
        *self.0.borrow()
    }
}

/// Suspends the process (^Z), after the process has released all that it shares with other processes.
pub(crate) struct SuspendHandler {
    source: RequestSource,
    /// The order to suspend, if the dashboard gave one.
    order: Option<SuspendOrder>,
    continued: tokio::signal::unix::Signal,
}

/// The source of requests to suspend the process.
enum RequestSource {
    /// SIGTSTP.
    Signal(tokio::signal::unix::Signal),
    /// The dashboard, which restores the terminal before it orders a suspension.
    Orders(mpsc::UnboundedReceiver<SuspendOrder>),
}

impl SuspendHandler {
    /// Starts to listen for ^Z. From now on ^Z has no effect before `suspend`.
    pub(crate) fn listen() -> Result<Self> {
        Self::new(RequestSource::Signal(signal_stream(Signal::TSTP)?))
    }

    /// Like `listen`, for the dashboard, which draws on the terminal. The first value reports signals to the dashboard
    /// and takes its orders; the second value carries the orders out.
    pub(crate) fn for_dashboard() -> Result<(suspension::Suspension, Self)> {
        let (orders, ordered) = mpsc::unbounded_channel();
        let (requests, suspension_requested) = mpsc::unbounded_channel();
        let mut signal = signal_stream(Signal::TSTP)?;
        tokio::spawn(async move { while signal.recv().await.is_some() && requests.send(()).is_ok() {} });
        Ok((
            suspension::Suspension { suspension_requested, orders, refusal: refusal() },
            Self::new(RequestSource::Orders(ordered))?,
        ))
    }

    fn new(source: RequestSource) -> Result<Self> {
        Ok(Self { source, order: None, continued: signal_stream(Signal::CONT)? })
    }

    /// Resolves when a suspension of the process is requested.
    pub(crate) async fn suspension_requested(&mut self) {
        let is_requested = match &mut self.source {
            RequestSource::Signal(signal) => signal.recv().await.is_some(),
            RequestSource::Orders(orders) => {
                self.order = orders.recv().await;
                self.order.is_some()
            }
        };
        if !is_requested {
            std::future::pending().await
        }
    }

    /// Suspends the process. Resolves when the process continues and, if the dashboard gave the order, has its terminal
    /// again.
    pub(crate) async fn suspend(&mut self) {
        while self.stop().await && self.order.is_some() && !is_in_foreground() {
            /// The pause before the process stops again. A signal that ends a suspended process is followed by SIGCONT;
            /// the process needs this time to handle the first signal.
            const PAUSE: Duration = Duration::from_millis(100);
            tokio::time::sleep(PAUSE).await;
        }
        if let Some(SuspendOrder { continued, .. }) = self.order.take() {
            // Fails if the dashboard has ended meanwhile.
            continued.send(()).ok();
        }
    }

    /// Stops the process, or its whole process group, by the scope of the order. Returns whether the process was
    /// continued.
    async fn stop(&mut self) -> bool {
        use rustix::process::{getpid, kill_current_process_group, kill_process};
        // Discards earlier SIGCONTs.
        while self.continued.recv().now_or_never().is_some() {}
        let stopped = match &self.order {
            Some(SuspendOrder { scope: SuspendScope::ProcessGroup, .. }) => kill_current_process_group(Signal::STOP),
            Some(SuspendOrder { scope: SuspendScope::Process, .. }) | None => kill_process(getpid(), Signal::STOP),
        };
        match stopped {
            // Threads may run on for a moment after SIGSTOP. Nothing may start before SIGCONT arrives.
            Ok(()) => self.continued.recv().await.is_some(),
            Err(error) => {
                tracing::warn!("the process can't be suspended: {error}");
                false
            }
        }
    }
}

/// Returns why ^Z can't suspend the program, if it can't. A session leader has no shell that could continue it.
fn refusal() -> Option<&'static str> {
    let is_session_leader = rustix::process::getsid(None).is_ok_and(|session| session == rustix::process::getpgrp());
    is_session_leader.then_some("hoptop was not started from a shell that could resume it")
}

/// Whether this process is in the terminal's foreground process group. It isn't if a shell continued it in the
/// background.
fn is_in_foreground() -> bool {
    let foreground = rustix::termios::tcgetpgrp(io::stdin());
    foreground.map_or(true, |group| group == rustix::process::getpgrp())
}
