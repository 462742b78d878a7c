//! The command line for clap (`commands.md`): options, subcommands and their help.
//!
//! This module must never run a command.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::ArgValueCompleter;

use super::{
    commands::{
        ack, add, alerts, answer, backup, check, completions, config, dashboard, delete, demo, doctor, export, import,
        label, list, man, note, quote, restore, schema, show, simulate, snooze, stats, store, ticket, unack, undo,
        untrack, watch, webhook,
    },
    completers,
};
use crate::{
    config::{ColorChoice, CommandLineSettings},
    runtime::{exit, team_poller},
};

const EXAMPLES: &str = "\
Examples:
  # Open the dashboard with a simulated service
  hoptop demo
  # Track a batch
  hoptop import transfers.csv
  # Open the dashboard and poll
  HOPTOP_INTEGRATOR_ID=... hoptop --base-url https://... --rps 10
  # Poll without a screen: one event a line, then an exit code
  hoptop ... watch --json --until-settled --timeout 10m

Guides: `hoptop help TOPIC`; TOPIC is support, integrators, operators, team or keys.";

/// top for cross-chain hops: watch many cross-chain transactions through one rate-limited status endpoint
#[derive(Debug, Parser)]
#[command(name = "hoptop", version, after_help = format!("{EXAMPLES}\n\n{}", exit::help()), max_term_width = 110)]
pub(crate) struct Cli {
    /// The settings for every command.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// The options that only the dashboard has.
    #[command(flatten)]
    pub dashboard: dashboard::DashboardArgs,
    /// The command; `None` opens the dashboard.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The settings for every command. Most can also be set with an environment variable or in the config file.
#[derive(Args, Debug)]
#[command(next_help_heading = "Settings")]
pub(crate) struct GlobalArgs {
    /// The file of the store [env HOPTOP_DB; default $XDG_DATA_HOME/hoptop/hoptop.db]
    #[arg(long, global = true, value_name = "PATH", add = ArgValueCompleter::new(completers::files))]
    pub db: Option<PathBuf>,
    /// The team's store in PostgreSQL, like postgres://HOST/DATABASE; --db is then its local copy [env HOPTOP_STORE]
    #[arg(long, global = true, value_name = "URL")]
    store: Option<String>,
    /// The config file [env HOPTOP_CONFIG; default $XDG_CONFIG_HOME/hoptop/config.toml]
    #[arg(long, global = true, value_name = "PATH", add = ArgValueCompleter::new(completers::files))]
    config: Option<PathBuf>,
    /// The profile of the config file; `watch` takes several [env HOPTOP_PROFILE; default `default`]
    #[arg(long, global = true, value_name = "NAME")]
    pub profile: Vec<String>,
    /// The URL of the service, required for polling [env HOPTOP_BASE_URL]
    #[arg(long, global = true, value_name = "URL")]
    base_url: Option<String>,
    /// The integrator ID's limit in requests per second [env HOPTOP_RPS; default 1]
    #[arg(long, global = true, value_name = "N", value_parser = parse_rps)]
    pub rps: Option<f64>,
    /// The folder for log, budget and crash reports [env HOPTOP_STATE_DIR; default $XDG_STATE_HOME/hoptop]
    #[arg(long, global = true, value_name = "PATH", add = ArgValueCompleter::new(completers::files))]
    state_dir: Option<PathBuf>,
    /// When to use colours [env NO_COLOR, CLICOLOR_FORCE; default auto]
    #[arg(long, global = true, value_name = "WHEN")]
    color: Option<clap::ColorChoice>,
    /// Use only ASCII characters, for terminals that can't draw lines, arrows or dots
    #[arg(long, global = true)]
    ascii: bool,
    /// Print plain lines instead of a screen, for screen readers [env ACCESSIBLE]
    #[arg(long, global = true)]
    plain: bool,
}

impl GlobalArgs {
    /// Returns the first given option that names a store, a service or settings.
    pub(crate) fn settings_option(&self) -> Option<&'static str> {
        let given = [
            ("--db", self.db.is_some()),
            ("--store", self.store.is_some()),
            ("--config", self.config.is_some()),
            ("--profile", !self.profile.is_empty()),
            ("--base-url", self.base_url.is_some()),
            ("--rps", self.rps.is_some()),
            ("--state-dir", self.state_dir.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }

    /// Returns the options as the flags of [`crate::config::load`].
    pub(crate) fn flags(&self) -> CommandLineSettings {
        CommandLineSettings {
            db: self.db.clone(),
            store: self.store.clone(),
            config: self.config.clone(),
            profile: self.profile.first().cloned(),
            beside: self.profile.iter().skip(1).cloned().collect(),
            base_url: self.base_url.clone(),
            rps: self.rps,
            state_dir: self.state_dir.clone(),
            color: self.color.map(|color| match color {
                clap::ColorChoice::Auto => ColorChoice::Auto,
                clap::ColorChoice::Always => ColorChoice::Always,
                clap::ColorChoice::Never => ColorChoice::Never,
            }),
            is_ascii: self.ascii,
            is_plain: self.plain,
            ignores_polling_settings: false,
        }
    }
}

/// A subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(after_help = demo::EXAMPLES)]
    /// Open the dashboard with a simulated service and a temporary store: no account, no network
    Demo(demo::DemoArgs),
    #[command(after_help = add::EXAMPLES)]
    /// Track one transaction
    Add(add::AddArgs),
    #[command(after_help = import::EXAMPLES)]
    /// Track a batch from a CSV, JSON or NDJSON file, all or nothing
    Import(import::ImportArgs),
    #[command(after_help = list::EXAMPLES)]
    /// List tracked transactions
    List(list::ListArgs),
    #[command(after_help = export::EXAMPLES)]
    /// Export tracked transactions as CSV, JSON, NDJSON, Markdown or HTML
    Export(export::ExportArgs),
    #[command(after_help = show::EXAMPLES)]
    /// Show one transaction with its history
    Show(show::ShowArgs),
    #[command(after_help = check::EXAMPLES)]
    /// Poll transactions once, tracked or not, and print the results
    Check(check::CheckArgs),
    #[command(after_help = answer::EXAMPLES)]
    /// Print the reply for a ticket: verdict, what to say, times, links
    Answer(answer::AnswerArgs),
    #[command(after_help = quote::EXAMPLES)]
    /// Request a quote for a route and store it; `add --quote-id` then uses its estimated duration
    Quote(quote::QuoteArgs),
    #[command(after_help = stats::EXAMPLES)]
    /// Show statistics by route (outcomes, durations) and the use of the budget
    Stats(stats::StatsArgs),
    #[command(after_help = alerts::EXAMPLES)]
    /// List active alerts
    Alerts(alerts::AlertsArgs),
    #[command(after_help = alerts::EXAMPLES)]
    /// Acknowledge alerts
    Ack(ack::AckArgs),
    #[command(after_help = snooze::EXAMPLES)]
    /// Snooze alerts for a while, or until the status changes
    Snooze(snooze::SnoozeArgs),
    #[command(after_help = alerts::EXAMPLES)]
    /// End an acknowledgement or a snooze, so that the alert fires again
    Unack(unack::UnackArgs),
    #[command(after_help = ticket::EXAMPLES, override_usage = ticket::USAGE)]
    /// Set the ticket of transactions, or remove it
    Ticket(ticket::TicketArgs),
    #[command(after_help = label::EXAMPLES)]
    /// Add labels to transactions, or remove labels
    Label(label::LabelArgs),
    #[command(after_help = note::EXAMPLES)]
    /// Add a note to a transaction
    Note(note::NoteArgs),
    #[command(after_help = untrack::EXAMPLES)]
    /// Stop polling transactions; they are kept
    Untrack(untrack::UntrackArgs),
    #[command(after_help = delete::EXAMPLES)]
    /// Delete transactions permanently, with all their history
    Delete(delete::DeleteArgs),
    #[command(after_help = undo::EXAMPLES)]
    /// Undo the last change, or redo it; the history keeps both
    Undo(undo::UndoArgs),
    #[command(after_help = backup::EXAMPLES)]
    /// Write a verified copy of the store to a file
    Backup(backup::BackupArgs),
    #[command(after_help = restore::EXAMPLES)]
    /// Restore a backup; the previous store is kept
    Restore(restore::RestoreArgs),
    /// Check configuration, store, budget, clock, terminal and connection, and say what to do
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(doctor::DoctorArgs),
    /// Poll without a screen and print what changes
    #[command(after_help = watch::EXAMPLES)]
    Watch(watch::WatchArgs),
    #[command(after_help = webhook::EXAMPLES)]
    /// Test the webhook of the config file
    Webhook(webhook::WebhookArgs),
    #[command(after_help = simulate::EXAMPLES)]
    /// Serve the simulated service over HTTP, with its rate limit, for testing any client
    Simulate(simulate::SimulateArgs),
    #[command(after_help = store::EXAMPLES)]
    /// Set up the team's store, move a store into it or out of it, or show its state
    Store(store::StoreArgs),
    /// Internal: poll for a team, configured through standard input
    #[command(hide = true, name = team_poller::COMMAND)]
    PollForTeam,
    #[command(after_help = config::EXAMPLES)]
    /// Show every setting and its source, or print a config file template
    Config(config::ConfigArgs),
    #[command(after_help = schema::EXAMPLES)]
    /// Print the JSON Schema of an output
    Schema(schema::SchemaArgs),
    #[command(after_help = completions::EXAMPLES)]
    /// Print the completion script for a shell
    Completions(completions::CompletionsArgs),
    #[command(after_help = man::EXAMPLES)]
    /// Print the manual page of hoptop, or of one command
    Man(man::ManArgs),
}

/// Parses the value of `--rps`. The settings check the range, for every source of the limit.
fn parse_rps(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "give a number of requests per second, such as 1 or 10".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn command_line_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn examples_fit_into_80_columns_and_the_guide_names_each_command() {
        let guide = include_str!("../../assets/docs/integrators.md");
        let program = Cli::command();
        for command in program.get_subcommands().chain([&program]).filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in text.lines().filter(|line| line.starts_with(' ')) {
                assert!(line.chars().count() < 80, "{name}: {line}");
            }
            assert!(name == "hoptop" || guide.contains(&format!("`hoptop {name}")), "{name} is missing in the guide");
        }
    }

    #[test]
    fn settings_are_accepted_before_and_after_the_command() {
        for words in [["hoptop", "--rps", "10", "list"], ["hoptop", "list", "--rps", "10"]] {
            assert_eq!(Cli::try_parse_from(words).unwrap().global.flags().rps, Some(10.0));
        }
        let refused = Cli::try_parse_from(["hoptop", "--rps", "fast", "list"]).unwrap_err().to_string();
        assert!(refused.contains("'fast' for '--rps <N>': give a number of requests per second"), "{refused}");
    }
}
