//! `hoptop watch -`: tracks transactions from standard input while they are watched.
//!
//! The command reports to the watch which transactions arrived. A bad line must never end the watch, nor be left out of
//! the exit code.

use std::{
    collections::HashSet,
    convert::Infallible,
    io::{self, LineWriter, Write},
    path::Path,
};

use color_eyre::eyre::{Result, eyre};
use tokio::sync::mpsc;

use super::bar::WatchBarHandle;
use crate::{
    cli::commands::import::{
        ImportArgs,
        follow::{self, FollowedInput, ImportTarget, InputReport},
        totals::ImportTotals,
    },
    clock::Clock,
    domain::{ids::ChainId, transaction::TransactionParams},
    runtime::{exit::Exit, stderr::IgnoreClosedPipe},
    store::Store,
};

/// The argument of `watch` that stands for standard input.
pub(crate) const PIPE: &str = "-";

/// The maximum number of reports that the watch hasn't received yet. At the maximum, reading pauses.
pub(crate) const QUEUE_LENGTH: usize = 4;

/// The transactions that came through standard input so far.
pub(crate) struct PipedTransactions {
    reports: mpsc::Receiver<InputReport>,
    /// The keys of all transactions that arrived, tracked or not yet tracked.
    arrived: HashSet<(ChainId, String)>,
    /// The transactions that are tracked but not yet looked up.
    pub(super) tracked: Vec<TransactionParams>,
    /// The totals at the end of the input, until they are printed.
    pub(super) totals: Option<ImportTotals>,
    exit: Option<Exit>,
}

impl PipedTransactions {
    pub(crate) fn new(reports: mpsc::Receiver<InputReport>) -> Self {
        Self { reports, arrived: HashSet::new(), tracked: Vec::new(), totals: None, exit: None }
    }

    /// Applies all waiting reports. Afterwards `contains` knows every transaction of the input that is tracked by now.
    pub(crate) fn poll_reports(&mut self) {
        while let Ok(report) = self.reports.try_recv() {
            self.apply(report);
        }
    }

    /// Waits for the next report and applies it. Never resolves after the last report.
    pub(crate) async fn next_report(&mut self) {
        match self.reports.recv().await {
            Some(report) => self.apply(report),
            None => std::future::pending().await,
        }
    }

    fn apply(&mut self, report: InputReport) {
        match report {
            InputReport::Arrived(params) => self.arrived.extend(params.iter().map(key)),
            InputReport::Tracked(params) => self.tracked.extend(params),
            InputReport::End(totals, exit) => (self.totals, self.exit) = (Some(totals), Some(exit)),
        }
    }

    /// Whether this transaction came through standard input.
    pub(crate) fn contains(&self, params: &TransactionParams) -> bool {
        self.arrived.contains(&key(params))
    }

    /// Returns how the input ended, once it has ended and all its transactions are looked up.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit.filter(|_| self.tracked.is_empty())
    }
}

/// Returns the key that identifies a transaction within its profile.
fn key(params: &TransactionParams) -> (ChainId, String) {
    (params.from_chain.clone(), params.transaction_id.key())
}

/// Tracks the transactions from standard input. Never resolves without an error: the watch decides when it ends.
pub(crate) async fn track_input(
    store: &Store,
    profile: &str,
    any_chain: bool,
    signal: impl Future<Output = Exit>,
    clock: &Clock,
    bar: WatchBarHandle,
    reports: mpsc::Sender<InputReport>,
) -> Result<Infallible> {
    let args = ImportArgs { file: PIPE.into(), follow: true, any_chain, ..ImportArgs::default() };
    let input = FollowedInput::open(Path::new(PIPE), clock)
        .map_err(|reason| eyre!("standard input can't be read: {reason}"))?;
    let mut err = LineWriter::new(IgnoreClosedPipe(StderrAboveBar(bar)));
    let mut target = ImportTarget { store, profile, clock, err: &mut err, listener: Some(reports.clone()) };
    let (totals, exit) = follow::track_until_end(&args, input, signal, &mut target).await?;
    // Fails if the watch has ended.
    reports.send(InputReport::End(totals, exit)).await.unwrap_or_default();
    std::future::pending().await
}

/// Writes on standard error, above the progress bar.
struct StderrAboveBar(WatchBarHandle);

impl Write for StderrAboveBar {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.print_above(|| io::stderr().write_all(bytes)).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
