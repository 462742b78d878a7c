//! Input of the terminal: a thread of its own reads events and forwards them.
//!
//! crossterm's own event stream is edge-triggered: of a key and a resize that arrive together it returns one, and the
//! other only after the next key. With the feature `use-dev-tty` crossterm polls again for each event and loses none,
//! but a poll must be allowed to wait a little, so it runs in a thread. This module must never know what a key means.

use std::{io, thread, time::Duration};

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use futures_util::{Stream, TryStreamExt, stream};
use tokio::sync::mpsc;

/// The most events in one batch.
pub(super) const AT_ONCE: usize = 4096;
/// The number of batches that may wait; then reading stops until one is taken.
const BATCHES: usize = 4;
/// The time to wait for further events of the same batch: long enough for one poll.
const POLL_TIME: Duration = Duration::from_micros(100);

/// Returns the terminal's events from now on. Events that arrive together are ready together. After an error the stream
/// ends. `on_interrupt` is called at a ^C if nobody has taken the ^C before.
pub fn events(on_interrupt: impl Fn() + Send + 'static) -> io::Result<impl Stream<Item = io::Result<Event>>> {
    let (sender, receiver) = mpsc::channel(BATCHES);
    let read = move || {
        let (mut goes_on, mut was_interrupted) = (true, false);
        while goes_on {
            let batch = read_batch();
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

/// Whether an event is ^C.
fn is_interrupt(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) && key.kind != KeyEventKind::Release
}

/// Waits for an event, and returns it with all events that arrived together with it.
fn read_batch() -> io::Result<Vec<Event>> {
    let mut batch = vec![event::read()?];
    while batch.len() < AT_ONCE && event::poll(POLL_TIME)? {
        batch.push(event::read()?);
    }
    Ok(batch)
}
