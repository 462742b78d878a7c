//! The commands of the plain dashboard: only those that read or change tracked transactions.
//!
//! A command that polls or keeps running must never be added here: the plain dashboard does so itself.

use std::io::{self, IsTerminal, Write};

use clap::{Parser, Subcommand, error::ErrorKind};
use color_eyre::eyre::Result;

use crate::{
    cli::{
        commands::{ack, add, alerts, answer, label, list, note, show, snooze, stats, ticket, unack, undo, untrack},
        context::Context,
    },
    clock::{Clock, Now},
    runtime::exit::Exit,
    store::Store,
    tui::model::DashboardSettings,
};

/// The store, the clock and the settings of a plain dashboard.
#[derive(Clone)]
pub(crate) struct PlainInputs {
    /// The store whose changes are printed.
    pub store: Store,
    /// The source of the time.
    pub clock: Clock,
    /// The profiles, the time zone and the reply templates.
    pub setting: DashboardSettings,
    /// The limit in requests per second.
    pub rps: f64,
    /// The mark of a shortened text.
    pub ellipsis: &'static str,
}

/// The line printed at the start.
pub(super) const HINT: &str = "Type help and Enter for the commands, quit and Enter to end.";

#[derive(Debug, Parser)]
#[command(no_binary_name = true, name = "", disable_help_flag = true)]
#[command(help_template = "Commands (press Enter after each); help COMMAND shows more:\n{subcommands}")]
struct CommandLine {
    #[command(subcommand)]
    command: TypedCommand,
}

/// The commands that can be typed. Their doc comments are the help text.
#[derive(Debug, Subcommand)]
pub(super) enum TypedCommand {
    /// Show a summary
    Summary,
    /// List tracked transactions: list is:attention
    List(list::ListArgs),
    /// Show one transaction: show HASH
    Show(show::ShowArgs),
    /// Print the reply for a ticket: answer HASH
    Answer(answer::AnswerArgs),
    /// List active alerts, each with its number
    Alerts(alerts::AlertsArgs),
    /// Acknowledge alerts, by number or hash: ack HASH
    Ack(ack::AckArgs),
    /// Snooze alerts: snooze HASH --for 30m
    Snooze(snooze::SnoozeArgs),
    /// End an acknowledgement or a snooze
    Unack(unack::UnackArgs),
    /// Track one transaction
    Add(Box<add::AddArgs>),
    /// Set the ticket of transactions, or remove it: ticket HASH SUP-1
    Ticket(ticket::TicketArgs),
    /// Add or remove labels: label HASH --add vip
    Label(label::LabelArgs),
    /// Add a note to a transaction: note HASH "asked them"
    Note(note::NoteArgs),
    /// Stop polling transactions; they are kept
    Untrack(untrack::UntrackArgs),
    /// Undo the last change
    Undo(undo::UndoArgs),
    /// Show count, outcomes and durations per route, and the use of the budget
    Stats(stats::StatsArgs),
    /// Quit
    #[command(visible_aliases = ["q", "exit"])]
    Quit,
}

impl TypedCommand {
    /// Parses a line; the end of the input (`None`) is `Quit`. Returns `None` for an empty line, and for an invalid one,
    /// whose error is printed.
    pub(super) fn parse(line: Option<&str>) -> Option<Self> {
        let Some(line) = line else { return Some(Self::Quit) };
        let words = split_words(line);
        if words.is_empty() {
            return None;
        }
        match CommandLine::try_parse_from(words) {
            Ok(line) => return Some(line.command),
            Err(error) if error.kind() == ErrorKind::InvalidSubcommand => {
                writeln!(io::stdout(), "There is no such command here; type help and Enter for the commands.").ok();
            }
            Err(error) => {
                // Printed without styles on every terminal; fails if standard output is closed.
                write!(io::stdout(), "{}", error.render()).ok();
            }
        }
        None
    }
}

impl PlainInputs {
    /// Runs a typed command and prints its output. `Summary` and `Quit` are the caller's task.
    pub(super) fn run(&self, command: &TypedCommand, now: Now) -> Result<Exit> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let cx = &mut Context {
            store: self.store.clone(),
            profile: self.setting.profile.clone(),
            now,
            zone: self.setting.zone,
            out: &mut out,
            err: &mut io::stderr().lock(),
            ellipsis: self.ellipsis,
            out_is_terminal: io::stdout().is_terminal(),
            is_in_words: true,
        };
        let done = match command {
            TypedCommand::List(args) => list::list(args, cx),
            TypedCommand::Show(args) => show::show(args, cx),
            TypedCommand::Answer(args) => answer::answer(args, cx, &self.setting.templates),
            TypedCommand::Alerts(args) => alerts::alerts(args, cx),
            TypedCommand::Ack(args) => ack::ack(args, cx),
            TypedCommand::Snooze(args) => snooze::snooze(args, cx),
            TypedCommand::Unack(args) => unack::unack(args, cx),
            TypedCommand::Add(args) => add::add(args, cx),
            TypedCommand::Ticket(args) => ticket::ticket(args, cx),
            TypedCommand::Label(args) => label::label(args, cx),
            TypedCommand::Note(args) => note::note(args, None, cx),
            TypedCommand::Untrack(args) => untrack::untrack(args, cx),
            TypedCommand::Undo(args) => undo::undo(args, cx),
            TypedCommand::Stats(args) => stats::stats(args, self.rps, cx),
            TypedCommand::Summary | TypedCommand::Quit => Ok(Exit::Success),
        };
        out.flush()?;
        done
    }
}

/// Splits a line into words at blanks outside quotation marks.
fn split_words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut is_quoted, mut is_inside) = (false, false);
    for letter in line.chars() {
        match letter {
            '"' => {
                is_quoted = !is_quoted;
                if !is_inside {
                    words.push(String::new());
                }
                is_inside = true;
            }
            letter if letter.is_whitespace() && !is_quoted => is_inside = false,
            letter if letter.is_control() => {}
            letter => match words.last_mut().filter(|_| is_inside) {
                Some(word) => word.push(letter),
                None => {
                    words.push(letter.to_string());
                    is_inside = true;
                }
            },
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn typed_commands_are_valid() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn words_are_split_at_blanks_outside_quotation_marks() {
        assert_eq!(split_words("  ack 12 --note \"asked them\" "), ["ack", "12", "--note", "asked them"]);
        assert_eq!(split_words("a\"b c\"d \"\""), ["ab cd", ""]);
        assert_eq!(split_words(" \t\r"), [""; 0]);
    }
}
