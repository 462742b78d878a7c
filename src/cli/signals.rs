//! The signals that end a program: INT, TERM, HUP.

use color_eyre::eyre::{Result, WrapErr};

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
