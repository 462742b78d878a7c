//! `hoptop watch -`: transfers that come through a pipe while they are watched.
//!
//! It tracks what comes, and says which transactions that was. It must never end the watch for a bad line, nor forget that there
//! was one.

use std::{
    convert::Infallible,
    io::{self, LineWriter, Write},
};

use color_eyre::eyre::{Result, eyre};
use tokio::sync::mpsc;

use super::bar::Line;
use crate::{
    cli::{
        exit::Exit,
        follow::{self, Feed, Sink, Totals},
        import::{FormatArg, ImportArgs},
    },
    clock::Clock,
    domain::transaction::{NewTransaction, Told},
    store::Store,
};

/// What `watch` is given for standard input.
pub(super) const PIPE: &str = "-";

/// What came through the pipe.
pub(super) enum Piped {
    /// These, which are tracked now.
    Batch(Vec<Told>),
    /// Nothing more: what it came to, and how it ended by itself.
    End(Option<Totals>, Exit),
}

/// Where the messages of the pipe come out.
pub(super) type Pipe = mpsc::UnboundedReceiver<Piped>;

/// Reads standard input and tracks what comes. It goes on being there when that has ended: the watch decides when it is over.
pub(super) async fn read(
    (store, profile, any_chain): (&Store, &str, bool),
    signal: impl Future<Output = Exit>,
    clock: &Clock,
    (line, out): (Line, mpsc::UnboundedSender<Piped>),
) -> Result<Infallible> {
    let args = ImportArgs { file: PIPE.into(), format: FormatArg::Auto, dry_run: false, follow: true, any_chain };
    let feed = Feed::open(PIPE, clock).map_err(|reason| eyre!("standard input can't be read: {reason}"))?;
    // Once the watch is over nobody listens.
    let send = |piped| out.send(piped).unwrap_or_default();
    let mut kept = |batch: Vec<NewTransaction>| send(Piped::Batch(batch.into_iter().map(|new| new.told).collect()));
    let mut err = LineWriter::new(Beside(line));
    let mut sink = Sink { store, profile, clock, err: &mut err, kept: &mut kept };
    let (totals, exit) = follow::pour(&args, feed, signal, &mut sink).await?;
    send(Piped::End(totals, exit));
    std::future::pending().await
}

/// Standard error beside the line that says how far the watch is.
struct Beside(Line);

impl Write for Beside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.beside(|| io::stderr().write_all(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
