//! What comes from the terminal: a thread of its own reads it and hands it on.
//!
//! crossterm's own stream waits for edges: of a key and a new size that come together it hands out one and forgets that the
//! other is there, until the next key. Its way that asks anew each time (the feature `use-dev-tty`) forgets nothing, but looks
//! only while it may wait a little, as a thread can. It must never know what a key means.

use std::{io, thread, time::Duration};

use crossterm::event::{self, Event};
use futures_util::{Stream, TryStreamExt, stream};
use tokio::sync::mpsc;

/// The most events that are handed on, and taken, at once.
pub(super) const AT_ONCE: usize = 4096;
/// So many such batches may wait; then the terminal does.
const BATCHES: usize = 4;
/// How long it is waited for what came together with an event: long enough to ask.
const A_MOMENT: Duration = Duration::from_micros(100);

/// The terminal's events from now on; those that came together are ready together. An error is the last.
pub fn events() -> io::Result<impl Stream<Item = io::Result<Event>>> {
    let (sender, receiver) = mpsc::channel(BATCHES);
    let read = move || {
        let mut goes_on = true;
        while goes_on {
            let batch = together();
            goes_on = batch.is_ok();
            goes_on &= sender.blocking_send(batch).is_ok();
        }
    };
    // It ends with the process: only the terminal wakes it from its waiting.
    thread::Builder::new().name("input".into()).spawn(read)?;
    let batches = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
    Ok(batches.map_ok(|batch| stream::iter(batch.into_iter().map(Ok))).try_flatten())
}

/// Waits for an event, and takes those that came with it.
fn together() -> io::Result<Vec<Event>> {
    let mut batch = vec![event::read()?];
    while batch.len() < AT_ONCE && event::poll(A_MOMENT)? {
        batch.push(event::read()?);
    }
    Ok(batch)
}
