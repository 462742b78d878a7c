//! `hoptop help TOPIC`: prints a guide. `hoptop help COMMAND` stays the help of a command.

use std::{borrow::Cow, io::Write};

use color_eyre::eyre::Result;

use crate::{runtime::exit::Exit, tui::command::COMMANDS};

/// The guides by their topics.
const GUIDES: [(&str, &str); 1] = [("team", include_str!("../../../assets/guides/team.md"))];
/// The topic of the key commands, whose text is made from their table.
const KEYS: &str = "keys";

/// Prints the guide that the arguments name; `None` if they name none.
pub(crate) fn guide(arguments: &[String], out: &mut impl Write) -> Option<Result<Exit>> {
    let [help, topic] = arguments else { return None };
    let written = GUIDES.iter().find(|(name, _)| topic == name).map(|(_, text)| Cow::Borrowed(*text));
    let text = written.or_else(|| (topic == KEYS).then(|| Cow::Owned(key_commands()))).filter(|_| help == "help")?;
    Some(out.write_all(text.as_bytes()).map(|()| Exit::Success).map_err(Into::into))
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
    use crate::cli::args::Cli;

    #[test]
    fn topic_is_printed_and_names_no_command() {
        let print = |words: [&str; 2]| {
            let mut out = Vec::new();
            let exit = guide(&words.map(str::to_owned), &mut out);
            exit.map(|exit| (exit.unwrap(), String::from_utf8(out).unwrap()))
        };
        let (exit, text) = print(["help", "team"]).unwrap();
        assert!(exit == Exit::Success && text.starts_with("# hoptop for a team\n"));
        assert!(print(["help", "list"]).is_none() && print(["list", "team"]).is_none());
        let (_, keys) = print(["help", "keys"]).unwrap();
        assert!(keys.contains("poll_now") && keys.contains("poll this transaction now"), "{keys}");
        for topic in GUIDES.map(|(topic, _)| topic).into_iter().chain([KEYS]) {
            assert!(<Cli as clap::CommandFactory>::command().find_subcommand(topic).is_none(), "{topic}");
        }
    }
}
