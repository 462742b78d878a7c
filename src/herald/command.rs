//! Calls of a command: a few at a time, each for a while at most.
//!
//! It must never wait for a call to end before the next one begins, as long as there is room.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::Semaphore,
    task::{JoinError, JoinSet},
};

use crate::program;

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
    pub(super) async fn begin(&mut self, words: &[String], text: &str, hidden: &[String]) {
        // Nobody closes it.
        let Ok(permit) = Arc::clone(&self.room).acquire_owned().await else { return };
        let (words, text, hidden) = (words.to_vec(), format!("{text}\n"), hidden.to_vec());
        self.under_way.spawn_blocking(move || {
            let program = words.first().cloned().unwrap_or_default();
            let ended = program::feed(&words, &text, LIMIT, &hidden).map_err(|error| format!("{program}: {error}"));
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
