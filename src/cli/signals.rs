//! The signals that end a program, INT, TERM, HUP, and the one that suspends it: TSTP.

#[cfg(unix)]
use std::time::Duration;
use std::{
    io::{self, IsTerminal},
    sync::{Arc, OnceLock},
};

use color_eyre::eyre::{Result, WrapErr};
#[cfg(unix)]
use futures_util::FutureExt;
use tokio::{runtime::Runtime, sync::mpsc};

use super::exit::Exit;
use crate::tui::outside::suspension::{self, Order};

/// Starts listening, and returns a future that resolves with the exit code of the first signal that comes.
pub fn listen() -> Result<impl Future<Output = Exit>> {
    listen_for(true)
}

/// The same for what may run without a terminal: SIGHUP can't mean then that one hung up, but that the settings are to be read anew.
pub fn listen_where_no_terminal_hangs_up() -> Result<(impl Future<Output = Exit>, Reload)> {
    let has_terminal = io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal();
    Ok((listen_for(has_terminal)?, Reload::listen(!has_terminal)?))
}

fn listen_for(hang_up: bool) -> Result<impl Future<Output = Exit>> {
    #[cfg(unix)]
    {
        use rustix::process::Signal;
        let (mut interrupt, mut terminate) = (stream(Signal::INT)?, stream(Signal::TERM)?);
        let mut hang_up = hang_up.then(|| stream(Signal::HUP)).transpose()?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => Exit::Interrupted,
                _ = terminate.recv() => Exit::Terminated,
                () = next(&mut hang_up) => Exit::HungUp,
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Exit::Interrupted,
            Err(_) => std::future::pending().await,
        }
    })
}

/// Waits for a signal, for ever if it isn't listened to.
#[cfg(unix)]
async fn next(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Somebody's wish, by SIGHUP, that the settings be read anew.
pub struct Reload {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Reload {
    fn listen(_is_possible: bool) -> Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            signal: _is_possible.then(|| stream(rustix::process::Signal::HUP)).transpose()?,
        })
    }

    /// Resolves when it is wished; never where a terminal could hang up, or no such signal is known.
    pub async fn wanted(&mut self) {
        #[cfg(unix)]
        next(&mut self.signal).await;
        #[cfg(not(unix))]
        std::future::pending().await
    }
}

/// Hears signals for work that isn't async and asks now and then, so that nothing half is left behind.
pub struct SignalStream {
    came: Arc<OnceLock<Exit>>,
    _runtime: Runtime,
}

impl SignalStream {
    /// Starts listening.
    pub fn open() -> Result<Self> {
        let runtime = super::runtime()?;
        let signal = {
            let _entered = runtime.enter();
            listen()?
        };
        let came = Arc::new(OnceLock::new());
        let heard = Arc::clone(&came);
        runtime.spawn(async move { heard.set(signal.await) });
        Ok(Self { came, _runtime: runtime })
    }

    /// How the program ends, if a signal has come.
    pub fn exit(&self) -> Option<Exit> {
        self.came.get().copied()
    }
}

/// A person's ^Z, which is carried out once everything shared with other processes was given up.
pub struct Suspension {
    wanted: Wanted,
    /// What is to be carried out, if it was ordered.
    order: Option<Order>,
    #[cfg(unix)]
    continued: tokio::signal::unix::Signal,
}

/// Who says that the program is to be suspended.
enum Wanted {
    /// The signal.
    #[cfg(unix)]
    Signal(tokio::signal::unix::Signal),
    /// No signal is known here.
    #[cfg(not(unix))]
    Never,
    /// Whoever has the terminal, which it gives back first.
    Orders(mpsc::UnboundedReceiver<Order>),
}

#[cfg(unix)]
fn stream(kind: rustix::process::Signal) -> Result<tokio::signal::unix::Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::from_raw(kind.as_raw())).wrap_err("signals can't be listened to")
}

impl Suspension {
    /// From now on ^Z waits to be carried out.
    pub fn listen() -> Result<Self> {
        #[cfg(unix)]
        return Self::new(Wanted::Signal(stream(rustix::process::Signal::TSTP)?));
        #[cfg(not(unix))]
        Self::new(Wanted::Never)
    }

    /// The same for a program that has the terminal: it hears of the signal, and orders what is to be carried out.
    pub fn ordered() -> Result<(suspension::Suspension, Self)> {
        let (orders, ordered) = mpsc::unbounded_channel();
        let (wants, wanted) = mpsc::unbounded_channel();
        #[cfg(unix)]
        {
            let mut signal = stream(rustix::process::Signal::TSTP)?;
            tokio::spawn(async move { while signal.recv().await.is_some() && wants.send(()).is_ok() {} });
        }
        #[cfg(not(unix))]
        drop(wants);
        Ok((suspension::Suspension { wanted, orders, refusal: refusal() }, Self::new(Wanted::Orders(ordered))?))
    }

    fn new(wanted: Wanted) -> Result<Self> {
        Ok(Self {
            wanted,
            order: None,
            #[cfg(unix)]
            continued: stream(rustix::process::Signal::CONT)?,
        })
    }

    /// Resolves when the program is to be suspended.
    pub async fn wanted(&mut self) {
        let is_wanted = match &mut self.wanted {
            #[cfg(unix)]
            Wanted::Signal(signal) => signal.recv().await.is_some(),
            #[cfg(not(unix))]
            Wanted::Never => false,
            Wanted::Orders(orders) => {
                self.order = orders.recv().await;
                self.order.is_some()
            }
        };
        if !is_wanted {
            std::future::pending().await
        }
    }

    /// Suspends the program; resolves when it is continued, and has its terminal again if it had one.
    pub async fn carry_out(&mut self) {
        #[cfg(unix)]
        while self.stop().await && self.order.is_some() && !has_terminal() {
            /// Whoever ends a suspended program continues it too; it needs a moment to hear of its end.
            const MOMENT: Duration = Duration::from_millis(100);
            tokio::time::sleep(MOMENT).await;
        }
        if let Some(Order { continued, .. }) = self.order.take() {
            // Whoever ordered it may have ended meanwhile.
            continued.send(()).ok();
        }
    }

    /// Stops the program, and what was started together with it if that was ordered; whether it was continued since.
    #[cfg(unix)]
    async fn stop(&mut self) -> bool {
        use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};
        // What continued it before is over.
        while self.continued.recv().now_or_never().is_some() {}
        let stopped = match &self.order {
            Some(Order { everybody: true, .. }) => kill_current_process_group(Signal::STOP),
            _ => kill_process(getpid(), Signal::STOP),
        };
        match stopped {
            // The other threads may run on for a moment: nothing may begin before it really was continued.
            Ok(()) => self.continued.recv().await.is_some(),
            Err(error) => {
                tracing::warn!("it can't be suspended: {error}");
                false
            }
        }
    }
}

/// Why ^Z can't suspend the program, if it can't: what a shell didn't start, no shell can continue.
#[cfg(unix)]
fn refusal() -> Option<&'static str> {
    let is_alone =
        rustix::process::getsid(None).is_ok_and(|background_poller| background_poller == rustix::process::getpgrp());
    is_alone.then_some("there is no shell to come back to")
}

#[cfg(not(unix))]
fn refusal() -> Option<&'static str> {
    Some("this system has no way to")
}

/// Whether the terminal listens to this program, rather than to a shell that continued it in the background.
#[cfg(unix)]
fn has_terminal() -> bool {
    let front = rustix::termios::tcgetpgrp(io::stdin());
    front.map_or(true, |group| group == rustix::process::getpgrp())
}
