//! `hoptop watch -`: transfers that come through a pipe while they are watched.
//!
//! It tracks what comes, and says which transactions that was. It must never end the watch for a bad line, nor forget that there
//! was one.

use std::{
    collections::HashSet,
    convert::Infallible,
    io::{self, LineWriter, Write},
};

use color_eyre::eyre::{Result, eyre};
use tokio::sync::mpsc;

use super::bar::Line;
use crate::{
    cli::{
        exit::Exit,
        follow::{self, Feed, Piped, Sink, Totals},
        import::{FormatArg, ImportArgs},
    },
    clock::Clock,
    domain::{ids::ChainId, transaction::TransactionParams},
    store::Store,
};

/// What `watch` is given for standard input.
pub(super) const PIPE: &str = "-";

/// So much may have been told that the watch hasn't heard yet: then the pipe has to wait.
pub(super) const UNDER_WAY: usize = 4;

/// What came through the pipe so far.
pub(super) struct Came {
    pipe: mpsc::Receiver<Piped>,
    /// What was to be tracked, by what tells transactions apart.
    coming: HashSet<(ChainId, String)>,
    /// What is tracked and wasn't looked up yet.
    kept: Vec<TransactionParams>,
    /// What it came to, until that is said.
    totals: Option<Totals>,
    ended: Option<Exit>,
}

impl Came {
    pub(super) fn new(pipe: mpsc::Receiver<Piped>) -> Self {
        Self { pipe, coming: HashSet::new(), kept: Vec::new(), totals: None, ended: None }
    }

    /// Takes in what was told, without waiting: of whatever is tracked by now it is known then that it was coming.
    pub(super) fn poll_reports(&mut self) {
        while let Ok(piped) = self.pipe.try_recv() {
            self.note(piped);
        }
    }

    /// Resolves when something was told; never after the end.
    pub(super) async fn next(&mut self) {
        match self.pipe.recv().await {
            Some(piped) => self.note(piped),
            None => std::future::pending().await,
        }
    }

    fn note(&mut self, piped: Piped) {
        match piped {
            Piped::Coming(params) => self.coming.extend(params.iter().map(key)),
            Piped::Kept(params) => self.kept.extend(params),
            Piped::End(totals, exit) => (self.totals, self.ended) = (totals, Some(exit)),
        }
    }

    /// Whether this one came.
    pub(super) fn holds(&self, params: &TransactionParams) -> bool {
        self.coming.contains(&key(params))
    }

    /// What is tracked and is to be looked up.
    pub(super) fn take_kept(&mut self) -> Vec<TransactionParams> {
        std::mem::take(&mut self.kept)
    }

    /// What it came to, once.
    pub(super) fn take_totals(&mut self) -> Option<Totals> {
        self.totals.take()
    }

    /// How it ended, once it has and all of it is known.
    pub(super) fn ended(&self) -> Option<Exit> {
        self.ended.filter(|_| self.kept.is_empty())
    }
}

/// What tells one transaction of a profile from every other.
fn key(params: &TransactionParams) -> (ChainId, String) {
    (params.from_chain.clone(), params.transaction_id.key())
}

/// Reads standard input and tracks what comes. It goes on being there when that has ended: the watch decides when it is over.
pub(super) async fn read(
    (store, profile, any_chain): (&Store, &str, bool),
    signal: impl Future<Output = Exit>,
    clock: &Clock,
    (line, out): (Line, mpsc::Sender<Piped>),
) -> Result<Infallible> {
    let args = ImportArgs { file: PIPE.into(), format: FormatArg::Auto, dry_run: false, follow: true, any_chain };
    let feed = Feed::open(PIPE, clock).map_err(|reason| eyre!("standard input can't be read: {reason}"))?;
    let mut err = LineWriter::new(Beside(line));
    let mut sink = Sink { store, profile, clock, err: &mut err, listener: Some(out.clone()) };
    let (totals, exit) = follow::pour(&args, feed, signal, &mut sink).await?;
    // Once the watch is over nobody listens.
    out.send(Piped::End(totals, exit)).await.unwrap_or_default();
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
