//! `hoptop help TOPIC`: prints a guide. `hoptop help COMMAND` stays the help of a command.

use std::io::Write;

use color_eyre::eyre::Result;

use crate::runtime::exit::Exit;

/// The guides by their topics.
const GUIDES: [(&str, &str); 1] = [("team", include_str!("../../../assets/guides/team.md"))];

/// Prints the guide that the arguments name; `None` if they name none.
pub(crate) fn guide(arguments: &[String], out: &mut impl Write) -> Option<Result<Exit>> {
    let [help, topic] = arguments else { return None };
    let (_, text) = GUIDES.iter().find(|(name, _)| help == "help" && topic == name)?;
    Some(out.write_all(text.as_bytes()).map(|()| Exit::Success).map_err(Into::into))
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
        for (topic, _) in GUIDES {
            assert!(<Cli as clap::CommandFactory>::command().find_subcommand(topic).is_none(), "{topic}");
        }
    }
}
