//! The signals of one kind as a stream.
//!
//! The module must never decide what a signal means.

use color_eyre::eyre::{Result, WrapErr};

/// Starts to listen for a signal, whose default action then no longer happens.
pub(super) fn signal_stream(kind: rustix::process::Signal) -> Result<tokio::signal::unix::Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::from_raw(kind.as_raw())).wrap_err("can't listen for signals")
}
