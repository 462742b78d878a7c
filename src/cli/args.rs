//! The command line as clap sees it (`commands.md`).
//!
//! Only shapes and help; what a command does is in its own file.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::{
    add::AddArgs,
    alerts::{self, AckArgs, AlertsArgs, UnackArgs},
    answer::{self, AnswerArgs},
    backup::{self, BackupArgs},
    check::{self, CheckArgs},
    completions::{self, CompletionsArgs},
    config::{self, ConfigArgs},
    demo::DemoArgs,
    doctor::{self, DoctorArgs},
    export::{self, ExportArgs},
    import::{self, ImportArgs},
    list::ListArgs,
    man::{self, ManArgs},
    quote::{self, QuoteArgs},
    show::ShowArgs,
    simulate::SimulateArgs,
    snooze::{self, SnoozeArgs},
    stats::{self, StatsArgs},
    untrack::{self, DeleteArgs, UndoArgs, UntrackArgs},
    watch::{self, WatchArgs},
};
use crate::config::{ColorChoice, Flags};

const EXAMPLES: &str = "\
Examples:
  hoptop demo                                      the dashboard over a simulated service
  hoptop import transfers.csv                      track a batch
  HOPTOP_INTEGRATOR_ID=... hoptop --base-url https://... --rps 10
                                                   the dashboard, polling
  hoptop ... watch --json --until-settled --timeout 10m
                                                   headless, one event a line, ends with an exit code

Exit codes: 0 fine, 1 error, 2 usage, 3 not settled at the timeout, 4 settled but something needs attention,
5 unauthorized, 6 unreachable or throttled throughout, 130 and 143 by signal.";

/// top for cross-chain hops: watch many cross-chain transactions through one rate-limited status endpoint
#[derive(Debug, Parser)]
#[command(name = "hoptop", version, after_help = EXAMPLES, max_term_width = 110)]
pub struct Cli {
    /// Settings for every command.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// Don't poll, only show (the dashboard)
    #[arg(long)]
    pub no_poll: bool,
    /// Take chain IDs as they are that hoptop doesn't know, when adding in the dashboard
    #[arg(long)]
    pub any_chain: bool,
    /// Poll this profile of the config file too, with an ID and a budget of its own, and show both side by side; may be said several
    /// times (the dashboard)
    #[arg(long, value_name = "NAME")]
    pub beside: Vec<String>,
    /// Serve OpenMetrics text at this address as long as the dashboard runs, as http://ADDR/metrics
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,
    /// What to do; the dashboard if nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Settings for every command; each has an environment variable and a place in the config file too.
#[derive(Args, Debug)]
#[command(next_help_heading = "Settings")]
pub struct GlobalArgs {
    /// The store [env HOPTOP_DB; default $XDG_DATA_HOME/hoptop/hoptop.db]
    #[arg(long, global = true, value_name = "PATH")]
    db: Option<PathBuf>,
    /// The config file [env HOPTOP_CONFIG; default $XDG_CONFIG_HOME/hoptop/config.toml]
    #[arg(long, global = true, value_name = "PATH")]
    config: Option<PathBuf>,
    /// The profile [env HOPTOP_PROFILE; default `default`]
    #[arg(long, global = true, value_name = "NAME")]
    profile: Option<String>,
    /// The service; polling needs it [env HOPTOP_BASE_URL]
    #[arg(long, global = true, value_name = "URL")]
    base_url: Option<String>,
    /// The integrator ID's requests per second [env HOPTOP_RPS; default 1]
    #[arg(long, global = true, value_name = "N")]
    pub rps: Option<f64>,
    /// Log, budget and crash reports [env HOPTOP_STATE_DIR; default $XDG_STATE_HOME/hoptop]
    #[arg(long, global = true, value_name = "PATH")]
    state_dir: Option<PathBuf>,
    /// When to use colours [env NO_COLOR, CLICOLOR_FORCE; default auto]
    #[arg(long, global = true, value_name = "WHEN")]
    color: Option<Color>,
    /// ASCII only: no lines, arrows or dots that some terminals can't draw
    #[arg(long, global = true)]
    ascii: bool,
    /// Plain lines instead of a screen, for screen readers [env ACCESSIBLE]
    #[arg(long, global = true)]
    plain: bool,
}

impl GlobalArgs {
    /// The store, if it was named.
    pub fn db(&self) -> Option<&Path> {
        self.db.as_deref()
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Open the dashboard on a simulated service and a temporary store: no account, no network
    Demo(DemoArgs),
    /// Track one transaction
    Add(AddArgs),
    #[command(after_help = import::EXAMPLES)]
    /// Track a batch from a CSV, JSON or NDJSON file, all or nothing
    Import(ImportArgs),
    /// List tracked transactions
    List(ListArgs),
    #[command(after_help = export::EXAMPLES)]
    /// Export tracked transactions as CSV, JSON, NDJSON, Markdown or HTML
    Export(ExportArgs),
    /// Show one transaction with its history
    Show(ShowArgs),
    #[command(after_help = check::EXAMPLES)]
    /// Poll transactions now, once each, and print them
    Check(CheckArgs),
    #[command(after_help = answer::EXAMPLES)]
    /// Print the reply for a ticket: verdict, what to say, times, links
    Answer(AnswerArgs),
    #[command(after_help = quote::EXAMPLES)]
    /// Ask for a route; the quote is stored, so that `add --quote-id` knows its estimate
    Quote(QuoteArgs),
    #[command(after_help = stats::EXAMPLES)]
    /// Show statistics by route (outcomes, durations) and the use of the budget
    Stats(StatsArgs),
    #[command(after_help = alerts::EXAMPLES)]
    /// List active alerts
    Alerts(AlertsArgs),
    #[command(after_help = alerts::EXAMPLES)]
    /// Acknowledge alerts
    Ack(AckArgs),
    #[command(after_help = snooze::EXAMPLES)]
    /// Snooze alerts for a while, or until the status changes
    Snooze(SnoozeArgs),
    #[command(after_help = alerts::EXAMPLES)]
    /// Undo an acknowledgement or a snooze
    Unack(UnackArgs),
    #[command(after_help = untrack::UNTRACK_EXAMPLES)]
    /// Stop polling transactions; they are kept
    Untrack(UntrackArgs),
    #[command(after_help = untrack::DELETE_EXAMPLES)]
    /// Delete transactions permanently, with all their history
    Delete(DeleteArgs),
    #[command(after_help = untrack::UNDO_EXAMPLES)]
    /// Undo the last change, or redo it; the history keeps both
    Undo(UndoArgs),
    #[command(after_help = backup::EXAMPLES)]
    /// Write a verified copy of the store to a file
    Backup(BackupArgs),
    /// Check configuration, store, budget, clock, terminal and connection, and say what to do
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(DoctorArgs),
    /// Poll without a screen and print what changes
    #[command(after_help = watch::EXAMPLES)]
    Watch(WatchArgs),
    /// Serve the simulated service over HTTP, with its rate limit, to try any client
    Simulate(SimulateArgs),
    #[command(after_help = config::EXAMPLES)]
    /// Show every setting and its source, or print a first config file
    Config(ConfigArgs),
    #[command(after_help = completions::EXAMPLES)]
    /// Print the completion script for a shell
    Completions(CompletionsArgs),
    #[command(after_help = man::EXAMPLES)]
    /// Print the manual page of hoptop, or of one command
    Man(ManArgs),
}

impl Command {
    /// Returns whether the command only reads or changes an existing store, so that it must not create one.
    pub fn makes_nothing(&self) -> bool {
        match self {
            Self::List(_) | Self::Export(_) | Self::Show(_) | Self::Answer(_) | Self::Stats(_) | Self::Alerts(_) => {
                true
            }
            Self::Ack(_) | Self::Snooze(_) | Self::Unack(_) => true,
            Self::Untrack(_) | Self::Delete(_) | Self::Undo(_) => true,
            Self::Import(args) => args.dry_run,
            Self::Add(_) | Self::Check(_) | Self::Quote(_) | Self::Backup(_) | Self::Doctor(_) => false,
            Self::Demo(_) | Self::Watch(_) | Self::Simulate(_) => false,
            Self::Config(_) | Self::Completions(_) | Self::Man(_) => false,
        }
    }
}

impl GlobalArgs {
    /// The same for `config`.
    pub fn flags(&self) -> Flags {
        Flags {
            db: self.db.clone(),
            config: self.config.clone(),
            profile: self.profile.clone(),
            beside: Vec::new(),
            base_url: self.base_url.clone(),
            rps: self.rps,
            state_dir: self.state_dir.clone(),
            color: self.color.map(|color| match color {
                Color::Auto => ColorChoice::Auto,
                Color::Always => ColorChoice::Always,
                Color::Never => ColorChoice::Never,
            }),
            ascii: self.ascii,
            plain: self.plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn settings_may_stand_before_and_behind_the_command() {
        for words in [["hoptop", "--rps", "10", "list"], ["hoptop", "list", "--rps", "10"]] {
            assert_eq!(Cli::try_parse_from(words).unwrap().global.flags().rps, Some(10.0));
        }
    }
}
