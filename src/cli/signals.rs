//! The signals that end a program, INT, TERM, HUP, and the one that suspends it: TSTP.

use color_eyre::eyre::{Result, WrapErr};
#[cfg(unix)]
use futures_util::FutureExt;

use super::exit::Exit;

/// Starts listening, and returns a future that resolves with the exit code of the first signal that comes.
pub fn listen() -> Result<impl Future<Output = Exit>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let stream = |kind| signal(kind).wrap_err("signals can't be listened to");
        let mut interrupt = stream(SignalKind::interrupt())?;
        let mut terminate = stream(SignalKind::terminate())?;
        let mut hang_up = stream(SignalKind::hangup())?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => Exit::Interrupted,
                _ = terminate.recv() => Exit::Terminated,
                _ = hang_up.recv() => Exit::HungUp,
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

/// A person's ^Z, which is carried out once everything shared with other processes was given up.
pub struct Suspension {
    #[cfg(unix)]
    wanted: tokio::signal::unix::Signal,
    #[cfg(unix)]
    continued: tokio::signal::unix::Signal,
}

impl Suspension {
    /// From now on ^Z waits to be carried out.
    pub fn listen() -> Result<Self> {
        #[cfg(unix)]
        {
            use rustix::process::Signal;
            use tokio::signal::unix::{SignalKind, signal};
            let stream =
                |kind: Signal| signal(SignalKind::from_raw(kind.as_raw())).wrap_err("signals can't be listened to");
            Ok(Self { wanted: stream(Signal::TSTP)?, continued: stream(Signal::CONT)? })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Resolves when the program is to be suspended.
    pub async fn wanted(&mut self) {
        #[cfg(unix)]
        if self.wanted.recv().await.is_some() {
            return;
        }
        std::future::pending().await
    }

    /// Suspends the program; resolves when it is continued.
    pub async fn carry_out(&mut self) {
        #[cfg(unix)]
        {
            use rustix::process::{Signal, getpid, kill_process};
            // What continued it before is over.
            while self.continued.recv().now_or_never().is_some() {}
            match kill_process(getpid(), Signal::STOP) {
                // The other threads may run on for a moment: nothing may begin before it really was continued.
                Ok(()) => drop(self.continued.recv().await),
                Err(error) => tracing::warn!("it can't be suspended: {error}"),
            }
        }
    }
}
