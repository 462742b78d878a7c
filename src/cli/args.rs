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
    /// The dashboard over a simulated service and a throw-away store: no account, no network
    Demo(DemoArgs),
    /// Track one transaction
    Add(AddArgs),
    #[command(after_help = import::EXAMPLES)]
    /// Track a batch from a CSV, JSON or NDJSON file, all or nothing
    Import(ImportArgs),
    /// What is tracked
    List(ListArgs),
    #[command(after_help = export::EXAMPLES)]
    /// What is tracked, as CSV, JSON, NDJSON or Markdown
    Export(ExportArgs),
    /// One transaction, whole, with its history
    Show(ShowArgs),
    #[command(after_help = check::EXAMPLES)]
    /// Poll some transactions now, once each, and print them
    Check(CheckArgs),
    #[command(after_help = answer::EXAMPLES)]
    /// The reply for a ticket: verdict, what to say, times, links
    Answer(AnswerArgs),
    #[command(after_help = quote::EXAMPLES)]
    /// Ask for a route; the quote is kept, so that `add --quote-id` knows its estimate
    Quote(QuoteArgs),
    #[command(after_help = stats::EXAMPLES)]
    /// Per route: count, outcomes, durations; the budget's use, and whether it is enough
    Stats(StatsArgs),
    #[command(after_help = alerts::EXAMPLES)]
    /// What stands as an alert
    Alerts(AlertsArgs),
    #[command(after_help = alerts::EXAMPLES)]
    /// Take alerts on
    Ack(AckArgs),
    #[command(after_help = snooze::EXAMPLES)]
    /// Let alerts be for a while, or until something changes
    Snooze(SnoozeArgs),
    #[command(after_help = alerts::EXAMPLES)]
    /// Take alerts on no more, or snooze them no more
    Unack(UnackArgs),
    #[command(after_help = untrack::UNTRACK_EXAMPLES)]
    /// Stop polling some transactions; they are kept
    Untrack(UntrackArgs),
    #[command(after_help = untrack::DELETE_EXAMPLES)]
    /// Remove some transactions, with all that is known of them
    Delete(DeleteArgs),
    #[command(after_help = untrack::UNDO_EXAMPLES)]
    /// Take back what was done last; the record of it stays
    Undo(UndoArgs),
    #[command(after_help = backup::EXAMPLES)]
    /// Write a verified copy of the store to a file
    Backup(BackupArgs),
    /// Check configuration, store, budget, clock, terminal and the way to the service, and say what to do
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(DoctorArgs),
    /// Poll without a screen and print what changes
    #[command(after_help = watch::EXAMPLES)]
    Watch(WatchArgs),
    /// The simulated service over HTTP, budget enforced, for trying any client
    Simulate(SimulateArgs),
    #[command(after_help = config::EXAMPLES)]
    /// Every setting and where it came from; or a config file to begin with
    Config(ConfigArgs),
    #[command(after_help = completions::EXAMPLES)]
    /// The script for a shell that completes commands, hashes, tickets, labels and profiles
    Completions(CompletionsArgs),
    #[command(after_help = man::EXAMPLES)]
    /// The manual page of hoptop, or of one command
    Man(ManArgs),
}

impl Command {
    /// Whether it reads or changes only what is there already, and so makes no store.
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
