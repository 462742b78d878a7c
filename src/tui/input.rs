//! Input of the terminal: a thread of its own reads bytes, and forwards them as events.
//!
//! `framer` splits the bytes into frames, `event` converts frames into events, and `terminal_reader` waits for bytes.
//! This module must never know what a key means.

mod event;
pub(crate) mod framer;
mod terminal_reader;

use std::{io, thread};

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use futures_util::{Stream, TryStreamExt, stream};
use tokio::sync::mpsc;

use self::terminal_reader::TerminalReader;
use crate::clock::Clock;

/// The most events in one batch.
pub(super) const AT_ONCE: usize = 4096;
/// The number of batches that may wait; then reading stops until one is taken.
const BATCHES: usize = 4;

/// Returns the terminal's events from now on. Events that arrive together are ready together. After an error the stream
/// ends. `on_interrupt` is called at a ^C if nobody has taken the ^C before.
pub fn events(
    clock: Clock,
    on_interrupt: impl Fn() + Send + 'static,
) -> io::Result<impl Stream<Item = io::Result<Event>>> {
    let (sender, receiver) = mpsc::channel(BATCHES);
    let mut reader = TerminalReader::new(clock)?;
    let read = move || {
        let (mut goes_on, mut was_interrupted) = (true, false);
        while goes_on {
            let batch = reader.read_batch(AT_ONCE);
            goes_on = batch.is_ok();
            let is_interrupted = batch.iter().flatten().any(is_interrupt);
            if is_interrupted && was_interrupted && sender.capacity() < BATCHES {
                on_interrupt();
            }
            was_interrupted = is_interrupted;
            goes_on &= sender.blocking_send(batch).is_ok();
        }
    };
    // The thread ends with the process, because only the terminal wakes it.
    thread::Builder::new().name("input".into()).spawn(read)?;
    let batches = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
    Ok(batches.map_ok(|batch| stream::iter(batch.into_iter().map(Ok))).try_flatten())
}

fn is_interrupt(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) && key.kind != KeyEventKind::Release
}
