//! What a person types: the commands of `hoptop` that only read or change what is tracked, printed as ever.
//!
//! What polls or runs on has no place here: that is what this is doing already.

use std::io::{self, IsTerminal, Write};

use clap::{Parser, Subcommand, error::ErrorKind};
use color_eyre::eyre::Result;

use super::Parts;
use crate::{
    cli::{
        add::{self, AddArgs},
        alerts::{self, AckArgs, AlertsArgs, UnackArgs},
        answer::{self, AnswerArgs},
        context::Context,
        exit::Exit,
        list::{self, ListArgs},
        show::{self, ShowArgs},
        snooze::{self, SnoozeArgs},
        stats::{self, StatsArgs},
        untrack::{self, UndoArgs, UntrackArgs},
    },
    clock::Now,
    domain::answer::Templates,
    store::Store,
};

/// What is said at the start.
pub(super) const HINT: &str = "Type help and Enter for the commands, quit and Enter to end.";

/// A typed line.
#[derive(Debug)]
pub(super) enum Order {
    /// Nothing, or what was wrong was said.
    Nothing,
    /// Enough.
    Quit,
    /// A summary of everything.
    Summary,
    /// Something that reads or changes the store.
    Run(What),
}

impl Order {
    /// Reads a line; `None` if there are no more.
    pub(super) fn read(line: Option<&str>) -> Self {
        let Some(line) = line else { return Self::Quit };
        let words = words(line);
        if words.is_empty() {
            return Self::Nothing;
        }
        match Line::try_parse_from(words) {
            Ok(Line { what: What::Quit }) => Self::Quit,
            Ok(Line { what: What::Summary }) => Self::Summary,
            Ok(Line { what }) => Self::Run(what),
            Err(error) if error.kind() == ErrorKind::InvalidSubcommand => {
                writeln!(io::stdout(), "There is no such command here; type help and Enter for those that are.").ok();
                Self::Nothing
            }
            Err(error) => {
                // Plain, whatever the terminal is; if nobody listens any more there is nobody to tell.
                write!(io::stdout(), "{}", error.render()).ok();
                Self::Nothing
            }
        }
    }
}

#[derive(Debug, Parser)]
#[command(no_binary_name = true, name = "", disable_help_flag = true)]
#[command(help_template = "Commands, each with Enter; help COMMAND says more:\n{subcommands}")]
struct Line {
    #[command(subcommand)]
    what: What,
}

/// What can be typed.
#[derive(Debug, Subcommand)]
pub(super) enum What {
    /// A summary of everything
    Summary,
    /// List tracked transactions: list is:attention
    List(ListArgs),
    /// Show one transaction: show HASH
    Show(ShowArgs),
    /// The reply for a ticket: answer HASH
    Answer(AnswerArgs),
    /// Active alerts, each with its number
    Alerts(AlertsArgs),
    /// Acknowledge alerts, by number or hash: ack HASH
    Ack(AckArgs),
    /// Snooze alerts: snooze HASH --for 30m
    Snooze(SnoozeArgs),
    /// Undo an acknowledgement or snooze
    Unack(UnackArgs),
    /// Track one transaction
    Add(Box<AddArgs>),
    /// Stop polling some; they are kept
    Untrack(UntrackArgs),
    /// Take back what was done last
    Undo(UndoArgs),
    /// Per route: count, outcomes, durations; the budget's use
    Stats(StatsArgs),
    /// End
    #[command(visible_aliases = ["q", "exit"])]
    Quit,
}

/// What carrying orders out needs.
#[derive(Clone)]
pub(super) struct Orders {
    store: Store,
    profile: String,
    zone: chrono::FixedOffset,
    ellipsis: &'static str,
    templates: Templates,
    rps: f64,
}

impl Orders {
    pub(super) fn of(parts: &Parts) -> Self {
        Self {
            store: parts.store.clone(),
            profile: parts.setting.profile.clone(),
            zone: parts.setting.zone,
            ellipsis: parts.ellipsis,
            templates: parts.templates().clone(),
            rps: parts.rps,
        }
    }

    /// Carries an order out, and prints what came of it.
    pub(super) fn run(&self, what: &What, now: Now) -> Result<Exit> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let cx = &mut Context {
            store: self.store.clone(),
            profile: self.profile.clone(),
            now,
            zone: self.zone,
            out: &mut out,
            err: &mut io::stderr().lock(),
            ellipsis: self.ellipsis,
            out_is_terminal: io::stdout().is_terminal(),
            in_words: true,
        };
        let done = match what {
            What::List(args) => list::list(args, cx),
            What::Show(args) => show::show(args, cx),
            What::Answer(args) => answer::answer(args, cx, &self.templates),
            What::Alerts(args) => alerts::alerts(args, cx),
            What::Ack(args) => alerts::ack(args, cx),
            What::Snooze(args) => snooze::snooze(args, cx),
            What::Unack(args) => alerts::unack(args, cx),
            What::Add(args) => add::add(args, cx),
            What::Untrack(args) => untrack::untrack(args, cx),
            What::Undo(args) => untrack::undo(args, cx),
            What::Stats(args) => stats::stats(args, self.rps, cx),
            What::Summary | What::Quit => Ok(Exit::Fine),
        };
        out.flush()?;
        done
    }
}

/// A line's words: blanks part them, but for those between quotation marks.
fn words(line: &str) -> Vec<String> {
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
    fn the_commands_are_sound() {
        Line::command().debug_assert();
    }

    #[test]
    fn blanks_part_words_but_not_between_quotation_marks() {
        assert_eq!(words("  ack 12 --note \"asked them\" "), ["ack", "12", "--note", "asked them"]);
        assert_eq!(words("a\"b c\"d \"\""), ["ab cd", ""]);
        assert_eq!(words(" \t\r"), [""; 0]);
    }
}
