//! The arguments of `hoptop watch`.

use std::{net::SocketAddr, time::Duration};

use clap::Args;
use clap_complete::ArgValueCompleter;

use super::piped::PIPE;
use crate::{
    cli::{completers, listen},
    domain::span,
};

/// The examples below the help text.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # All tracked transactions, until ^C
  hoptop watch
  # Exit code 0: all succeeded, 2: nothing to watch, 3: timeout, 4: some need
  # attention
  hoptop watch label:batch-17 --until-settled
  # Several profiles, each within its own budget
  hoptop watch --profile prod --profile partner
  # Print each transfer when it settles
  hoptop watch --json | jq 'select(.event == \"settled\")'
  # Track the transfers from the pipe, end when all settled
  my-service | hoptop watch - --until-settled";

/// The transactions to watch, and when to end.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct WatchArgs {
    /// Filter, as in the dashboard: `is:unsettled label:batch-17` (write `--` before a term that starts with `-`). Use
    /// `-` alone to track and watch transactions from standard input (CSV or JSON lines)
    #[arg(value_name = "FILTER", add = ArgValueCompleter::new(completers::filters))]
    pub filter: Vec<String>,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
    /// End when all watched transactions are settled
    #[arg(long)]
    pub until_settled: bool,
    /// End after this time: 90s, 30m, 2h
    #[arg(long, value_name = "DUR", value_parser = span::parse)]
    pub timeout: Option<Duration>,
    /// Also print each poll
    #[arg(long)]
    pub verbose: bool,
    /// Serve OpenMetrics text at http://ADDR/metrics as long as the watch runs; port 0 picks a free port
    #[arg(long, value_name = "ADDR", value_parser = listen::parse)]
    pub metrics: Option<SocketAddr>,
    /// End with exit code 4 at the first transaction that settles with another status than `success`, is refunded, or
    /// can't settle
    #[arg(long)]
    pub fail_fast: bool,
    /// Exit with code 0 if there is nothing to watch, instead of code 2
    #[arg(long)]
    pub allow_empty: bool,
    /// Accept any text as a chain ID; numbers and IDs such as osmosis-1 are always accepted
    #[arg(long)]
    pub any_chain: bool,
}

impl WatchArgs {
    /// Whether the watch ends if there is nothing to watch. A watch over all tracked transactions, without an end, waits
    /// for the first one.
    pub(super) fn ends_when_empty(&self) -> bool {
        self.until_settled || !self.filter.is_empty()
    }

    /// Whether the transactions come through standard input.
    pub(super) fn is_piped(&self) -> bool {
        self.filter == [PIPE]
    }
}
