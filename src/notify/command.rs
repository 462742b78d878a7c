//! Runs a command for each event: a few calls at a time, each with a time limit.
//!
//! The next call must never wait for the end of another call while fewer than [`AT_ONCE`] calls run.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    io::AsyncWriteExt,
    sync::Semaphore,
    task::{JoinError, JoinSet},
};

use crate::process::program;

/// The most calls that run at the same time.
const AT_ONCE: usize = 4;
/// The time limit of a call.
const LIMIT: Duration = Duration::from_secs(10);

/// The running calls, and the result of the calls that have ended.
pub(super) struct Calls {
    room: Arc<Semaphore>,
    under_way: JoinSet<Result<(), String>>,
    ended: Option<Result<(), String>>,
}

impl Default for Calls {
    fn default() -> Self {
        Self { room: Arc::new(Semaphore::new(AT_ONCE)), under_way: JoinSet::new(), ended: None }
    }
}

impl Calls {
    /// Starts a call with this text on its standard input, as soon as fewer than [`AT_ONCE`] calls run.
    pub(super) async fn begin(&mut self, words: &[String], text: &str) {
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&self.room).acquire_owned().await else { return };
        let (words, text) = (words.to_vec(), format!("{text}\n"));
        self.under_way.spawn(async move {
            let program = words.first().cloned().unwrap_or_default();
            let ended = call(&words, &text).await.map_err(|error| format!("{program}: {error}"));
            drop(permit);
            ended
        });
    }

    /// Resolves when a call has ended; never resolves while no call runs.
    pub(super) async fn one_has_ended(&mut self) {
        match self.under_way.join_next().await {
            Some(ended) => self.note(ended),
            None => std::future::pending().await,
        }
    }

    /// Returns the result of the calls that have ended since the last query: a failure, if a call failed; `None`
    /// if no call has ended.
    pub(super) fn ended(&mut self) -> Option<Result<(), String>> {
        while let Some(ended) = self.under_way.try_join_next() {
            self.note(ended);
        }
        self.ended.take()
    }

    /// Waits for all running calls.
    pub(super) async fn finish(&mut self) {
        while let Some(ended) = self.under_way.join_next().await {
            self.note(ended);
        }
    }

    fn note(&mut self, ended: Result<Result<(), String>, JoinError>) {
        let ended = ended.unwrap_or_else(|panicked| Err(panicked.to_string()));
        if !matches!(self.ended, Some(Err(_))) {
            self.ended = Some(ended);
        }
    }
}

/// Runs the command once. Dropping the future kills the command.
async fn call(words: &[String], text: &str) -> io::Result<()> {
    let mut command = program::listener(words)?;
    // The command gets its own process group, so that ^C in this terminal doesn't end it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
    let input = child.stdin.take();
    let give = async {
        if let Some(mut input) = input {
            // A command may ignore its input.
            input.write_all(text.as_bytes()).await.unwrap_or_default();
        }
    };
    match tokio::time::timeout(LIMIT, async { tokio::join!(give, child.wait()).1 }).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(io::Error::other(status.to_string())),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::Error::other(format!("the program did not finish within {} s", LIMIT.as_secs()))),
    }
}
