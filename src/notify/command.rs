//! Calls of a command: a few at a time, each for a while at most.
//!
//! It must never wait for a call to end before the next one begins, as long as there is room.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    io::AsyncWriteExt,
    sync::Semaphore,
    task::{JoinError, JoinSet},
};

use crate::process::program;

/// So many run at a time.
const AT_ONCE: usize = 4;
/// How long one may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Calls that are under way, and how the last ones ended.
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
    /// Gives the command a text, as soon as there is room.
    pub(super) async fn begin(&mut self, words: &[String], text: &str) {
        // Nobody closes it.
        let Ok(permit) = Arc::clone(&self.room).acquire_owned().await else { return };
        let (words, text) = (words.to_vec(), format!("{text}\n"));
        self.under_way.spawn(async move {
            let program = words.first().cloned().unwrap_or_default();
            let ended = call(&words, &text).await.map_err(|error| format!("{program}: {error}"));
            drop(permit);
            ended
        });
    }

    /// Resolves when one has ended; never while none is under way.
    pub(super) async fn one_has_ended(&mut self) {
        match self.under_way.join_next().await {
            Some(ended) => self.note(ended),
            None => std::future::pending().await,
        }
    }

    /// How those did that have ended since this was asked last: a failure, if there was one. Nothing if none has.
    pub(super) fn ended(&mut self) -> Option<Result<(), String>> {
        while let Some(ended) = self.under_way.try_join_next() {
            self.note(ended);
        }
        self.ended.take()
    }

    /// Waits for those that are under way.
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

/// Calls it once. Whoever gives the call up ends it.
async fn call(words: &[String], text: &str) -> io::Result<()> {
    let mut command = program::listener(words)?;
    // What ^C ends in this terminal isn't to end what tells of it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
    let input = child.stdin.take();
    let give = async {
        if let Some(mut input) = input {
            // One that doesn't read it all is its own business.
            input.write_all(text.as_bytes()).await.unwrap_or_default();
        }
    };
    match tokio::time::timeout(LIMIT, async { tokio::join!(give, child.wait()).1 }).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(io::Error::other(status.to_string())),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::Error::other(format!("it didn't end within {} s", LIMIT.as_secs()))),
    }
}
