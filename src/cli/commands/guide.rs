//! `hoptop help TOPIC`: prints a guide. `hoptop help COMMAND` stays the help of a command.

use std::{
    borrow::Cow,
    io::{IsTerminal, Write},
};

use clap::CommandFactory;
use color_eyre::eyre::Result;

use crate::{
    cli::{args::Cli, output::markdown},
    domain::text,
    runtime::exit::{Exit, UsageError},
    tui::command::COMMANDS,
};

const GUIDES: [(&str, &str); 4] = [
    ("support", include_str!("../../../assets/docs/support.md")),
    ("integrators", include_str!("../../../assets/docs/integrators.md")),
    ("operators", include_str!("../../../assets/docs/operators.md")),
    ("team", include_str!("../../../assets/docs/team.md")),
];
/// The topic of the key commands, whose text is made from their table.
const KEYS: &str = "keys";

/// How a guide is written: unchanged, or rendered for a terminal.
#[derive(Clone, Copy, Debug)]
enum GuideFormat {
    Markdown,
    Terminal { columns: usize, is_styled: bool },
}

impl GuideFormat {
    /// Returns the format for this process's standard output.
    fn of_output() -> Self {
        if !std::io::stdout().is_terminal() {
            return Self::Markdown;
        }
        let columns = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns));
        let is_styled = std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        Self::Terminal { columns, is_styled }
    }
}

/// Prints the guide that the arguments name. Returns `None` if the arguments are not `help TOPIC`, or name a command.
///
/// # Errors
/// Returns [`UsageError`] if the topic names neither a guide nor a command.
pub(crate) fn guide(arguments: &[String], out: &mut impl Write) -> Option<Result<Exit>> {
    print_guide(arguments, GuideFormat::of_output(), out)
}

fn print_guide(arguments: &[String], format: GuideFormat, out: &mut impl Write) -> Option<Result<Exit>> {
    // Other commands don't pay for the list of options.
    if arguments.iter().all(|argument| argument != "help") {
        return None;
    }
    let words = without_flags(arguments);
    let [help, topic] = *words.as_slice() else { return None };
    if help != "help" || topic.starts_with('-') || is_command(topic) {
        return None;
    }
    let written = GUIDES.iter().find(|(name, _)| topic == *name).map(|(_, text)| Cow::Borrowed(*text));
    let Some(text) = written.or_else(|| (topic == KEYS).then(|| Cow::Owned(key_commands()))) else {
        return Some(Err(UsageError(format!(
            "there is no command and no guide `{}`; the guides are support, integrators, operators, team and keys, and `hoptop --help` lists the commands",
            text::clean(topic)
        ))
        .into()));
    };
    let text = match format {
        GuideFormat::Terminal { columns, is_styled } if topic != KEYS => {
            Cow::Owned(markdown::render(&text, columns, is_styled, &link_suffix))
        }
        GuideFormat::Terminal { .. } | GuideFormat::Markdown => text,
    };
    Some(out.write_all(text.as_bytes()).map(|()| Exit::Success).map_err(Into::into))
}

/// Returns the arguments without the flags of every command.
fn without_flags(arguments: &[String]) -> Vec<&str> {
    let command = Cli::command();
    let is_flag = |argument: &&str| {
        let mut flags = command.get_arguments().filter(|known| !known.get_action().takes_values());
        argument.strip_prefix("--").is_some_and(|name| flags.any(|known| known.get_long() == Some(name)))
    };
    arguments.iter().map(String::as_str).filter(|argument| !is_flag(argument)).collect()
}

fn is_command(topic: &str) -> bool {
    topic == "help" || Cli::command().find_subcommand(topic).is_some()
}

/// Returns the text after a link on a terminal: the address of a page, or the command that shows a guide.
fn link_suffix(address: &str) -> Option<String> {
    if address.starts_with("https://") || address.starts_with("http://") {
        return Some(format!(" ({address})"));
    }
    let file = address.split('#').next()?.strip_suffix(".md")?;
    let is_topic = file == KEYS || GUIDES.iter().any(|(topic, _)| *topic == file);
    is_topic.then(|| format!(" (hoptop help {file})"))
}

/// Returns the key commands with their names for the config file, a line each.
fn key_commands() -> String {
    let mut text =
        "# Key commands\n\nNAME, KEYS and what the command does. In the config file: [keys] NAME = [\"KEY\"]\n\n"
            .to_owned();
    for command in COMMANDS {
        text.push_str(&format!("{:<20} {:<12} {}\n", command.name, command.keys.join(" "), command.help));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{alert::Rule, status::RouterStatus};

    fn print(words: [&str; 2], format: GuideFormat) -> Option<(Result<Exit>, String)> {
        let mut out = Vec::new();
        let exit = print_guide(&words.map(str::to_owned), format, &mut out)?;
        Some((exit, String::from_utf8(out).unwrap()))
    }

    #[test]
    fn support_guide_lists_each_status_and_each_alert() {
        let (_, guide) = print(["help", "support"], GuideFormat::Markdown).unwrap();
        let statuses = guide.split("\n## ").find(|section| section.starts_with("Statuses")).unwrap();
        for status in RouterStatus::DOCUMENTED {
            assert!(statuses.contains(&format!("| `{}` |", status.name())), "{status} is missing in the guide");
        }
        let row = |rule: &Rule| format!("| `{}` | {} |", rule.name(), rule.severity().name());
        let at = |rule| guide.find(&row(rule)).unwrap_or_else(|| panic!("{} is missing in the guide", row(rule)));
        assert!(Rule::ALL.iter().is_sorted_by_key(at), "the alerts aren't in their order");
    }

    #[test]
    fn topic_is_printed_and_names_no_command() {
        for (topic, written) in GUIDES {
            let (exit, text) = print(["help", topic], GuideFormat::Markdown).unwrap();
            assert!(exit.unwrap() == Exit::Success && text == written, "{topic}");
        }
        assert!(
            print(["help", "list"], GuideFormat::Markdown).is_none()
                && print(["list", "team"], GuideFormat::Markdown).is_none()
        );
        assert!(print(["help", "--help"], GuideFormat::Markdown).is_none());
        let (_, keys) = print(["help", "keys"], GuideFormat::Markdown).unwrap();
        assert!(keys.contains("poll_now") && keys.contains("poll this transaction now"), "{keys}");
        for topic in GUIDES.map(|(topic, _)| topic).into_iter().chain([KEYS]) {
            assert!(!is_command(topic), "{topic}");
        }
    }

    #[test]
    fn guides_on_a_terminal_have_no_markers_and_fit_its_width() {
        for (topic, _) in GUIDES {
            let (_, text) = print(["help", topic], GuideFormat::Terminal { columns: 80, is_styled: false }).unwrap();
            for line in text.lines().filter(|line| !line.starts_with("    ")) {
                assert!(line.chars().count() <= 80, "{topic}: {line}");
                assert!(
                    !line.contains("**") && !line.starts_with(['#', '|']) && !line.contains("]("),
                    "{topic}: {line}"
                );
            }
        }
        let (_, support) = print(["help", "support"], GuideFormat::Terminal { columns: 80, is_styled: false }).unwrap();
        assert!(support.contains("(hoptop help operators)"), "{support}");
    }

    #[test]
    fn unknown_topic_names_the_topics() {
        let (exit, text) = print(["help", "suport\u{1b}"], GuideFormat::Markdown).unwrap();
        let error = exit.unwrap_err();
        assert!(error.is::<UsageError>() && text.is_empty());
        let sentence = error.to_string();
        assert!(GUIDES.iter().all(|(topic, _)| sentence.contains(topic)) && sentence.contains(KEYS), "{sentence}");
        assert!(!sentence.contains('\u{1b}'), "{sentence}");
    }
}
