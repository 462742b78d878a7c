//! Runs a command for each event: a few calls at a time, each with a time limit.
//!
//! A call must never wait for another call to end while fewer than [`MAX_CONCURRENT_CALLS`] calls run.

use std::{io, time::Duration};

use tokio::{
    io::AsyncWriteExt,
    task::{JoinError, JoinSet},
};

use crate::process::program;

/// The maximum number of calls that run at the same time.
const MAX_CONCURRENT_CALLS: usize = 4;
/// The time limit of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The running calls of a command, and the result of the calls that have ended.
#[derive(Default)]
pub(super) struct CommandCalls {
    running: JoinSet<Result<(), String>>,
    /// The first failure, or a success if no call failed, since the last query; `None` if no call has ended.
    result: Option<Result<(), String>>,
}

impl CommandCalls {
    /// Starts a call with `text` on its standard input. Waits while [`MAX_CONCURRENT_CALLS`] calls run.
    pub(super) async fn start(&mut self, argv: &[String], text: &str) {
        while self.running.len() >= MAX_CONCURRENT_CALLS {
            self.wait_for_any().await;
        }
        let (argv, text) = (argv.to_vec(), format!("{text}\n"));
        self.running.spawn(async move {
            let program = argv.first().cloned().unwrap_or_default();
            run_command(&argv, &text).await.map_err(|error| format!("{program}: {error}"))
        });
    }

    /// Resolves when a call ends. Never resolves while no call runs.
    pub(super) async fn wait_for_any(&mut self) {
        match self.running.join_next().await {
            Some(result) => self.record(result),
            None => std::future::pending().await,
        }
    }

    /// Returns the result of the calls that have ended since the last query: the first failure, if any. `None` if no
    /// call has ended.
    pub(super) fn take_result(&mut self) -> Option<Result<(), String>> {
        while let Some(result) = self.running.try_join_next() {
            self.record(result);
        }
        self.result.take()
    }

    /// Waits for all running calls.
    pub(super) async fn wait_for_all(&mut self) {
        while let Some(result) = self.running.join_next().await {
            self.record(result);
        }
    }

    /// Records the result of a call. A later result doesn't replace a failure.
    fn record(&mut self, result: Result<Result<(), String>, JoinError>) {
        let result = result.unwrap_or_else(|panicked| Err(panicked.to_string()));
        if !matches!(self.result, Some(Err(_))) {
            self.result = Some(result);
        }
    }
}

/// Runs the command once. Dropping the future kills the command.
async fn run_command(argv: &[String], text: &str) -> io::Result<()> {
    let command = program::input_command(argv)?;
    // The command gets its own process group, so that Ctrl-C in this terminal doesn't end the command.
    let mut child = tokio::process::Command::from(command).process_group(0).kill_on_drop(true).spawn()?;
    let input = child.stdin.take();
    let write_input = async {
        if let Some(mut input) = input {
            // A command may ignore its input.
            input.write_all(text.as_bytes()).await.unwrap_or_default();
        }
    };
    match tokio::time::timeout(CALL_TIMEOUT, async { tokio::join!(write_input, child.wait()).1 }).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(io::Error::other(status.to_string())),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::Error::other(format!("the program did not finish within {} s", CALL_TIMEOUT.as_secs()))),
    }
}
