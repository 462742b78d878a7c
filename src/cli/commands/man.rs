//! `hoptop man`: prints the manual, one page for each command, generated from the texts of `--help`.
//!
//! A page must never contain anything that the help doesn't. The command must never read the settings or the store.

mod page;

use std::{fs, io::Write, path::PathBuf};

use clap::{Args, Command};
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::{Result, WrapErr};

use crate::{cli::completers, domain::text, runtime::exit::Exit};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Read the manual page of hoptop
  hoptop man | man -l -
  # Read the manual page of a command
  hoptop man watch | man -l -
  # Install all pages; then: man hoptop-watch
  hoptop man --dir ~/.local/share/man/man1";

/// The arguments of `hoptop man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The command whose page is printed [default: hoptop itself]
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    command: Option<String>,
    /// Write all pages to this folder instead: hoptop.1, hoptop-add.1 and so on
    #[arg(long, value_name = "DIR", add = ArgValueCompleter::new(completers::files))]
    dir: Option<PathBuf>,
}

/// Prints one page of the manual of `program`, or writes all pages to a folder.
pub(crate) fn man(args: &ManArgs, program: Command, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    if let Some(dir) = &args.dir {
        fs::create_dir_all(dir)
            .and_then(|()| page::write_all(&program, dir))
            .wrap_err_with(|| format!("the pages can't be written to {}", text::clean_path(dir)))?;
        return Ok(Exit::Success);
    }
    let page = match &args.command {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => {
                let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
                let commands: Vec<&str> = commands.map(Command::get_name).collect();
                writeln!(err, "there is no command `{}`; the commands are {}", text::clean(name), commands.join(", "))?;
                return Ok(Exit::Usage);
            }
        },
    };
    page::render(&page, out)?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::args::Cli;

    /// Returns the printed page and the error output.
    fn page(command: Option<&str>) -> (String, String) {
        let (mut page, mut error) = (Vec::new(), Vec::new());
        let args = ManArgs { command: command.map(str::to_owned), dir: None };
        let exit = man(&args, Cli::command(), &mut page, &mut error).unwrap();
        assert_eq!(exit == Exit::Usage, page.is_empty());
        (String::from_utf8(page).unwrap(), String::from_utf8(error).unwrap())
    }

    #[test]
    fn each_command_has_a_page() {
        assert!(page(None).0.contains(".TH hoptop 1"));
        let watch = page(Some("watch")).0;
        assert!(watch.contains("hoptop-watch") && watch.contains("until\\-settled"), "{watch}");
        let unknown = page(Some("wach")).1;
        assert!(unknown.contains("the commands are demo, add,") && !unknown.contains("poll-for-team"), "{unknown}");
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("share/man1");
        man(&ManArgs { command: None, dir: Some(dir.clone()) }, Cli::command(), &mut Vec::new(), &mut Vec::new())
            .unwrap();
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            assert!(dir.join(format!("hoptop-{}.1", command.get_name())).is_file(), "{}", command.get_name());
        }
        assert!(dir.join("hoptop.1").is_file());
    }

    #[test]
    fn synopsis_has_options_in_order_with_values_and_sections_are_separate() {
        let watch = page(Some("watch")).0;
        let synopsis = watch.split(".SH SYNOPSIS\n").nth(1).unwrap().split(".SH").next().unwrap();
        let plain =
            ["\\fB", "\\fI", "\\fR", "\\"].iter().fold(synopsis.to_owned(), |text, mark| text.replace(mark, ""));
        assert!(
            plain.starts_with("hoptop watch [--json] [--until-settled] [--timeout DUR] [--verbose] [--metrics ADDR]"),
            "{plain}"
        );
        assert!(plain.lines().next().is_some_and(|line| line.ends_with(" [SETTINGS] [FILTER]...")), "{plain}");
        let examples = watch.split(".SH EXAMPLES\n").nth(1).unwrap().split(".SH").next().unwrap();
        assert!(examples.contains(".nf\n") && examples.lines().count() > 4, "{examples}");
        let codes = watch.split(".SH \"EXIT STATUS\"\n").nth(1).unwrap();
        assert!(codes.contains("not settled at the timeout"), "{codes}");
        let folder = tempfile::tempdir().unwrap();
        let all = ManArgs { command: None, dir: Some(folder.path().to_owned()) };
        man(&all, Cli::command(), &mut Vec::new(), &mut Vec::new()).unwrap();
        for path in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
            let page = fs::read_to_string(&path).unwrap();
            for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "\"EXIT STATUS\""] {
                assert_eq!(page.matches(&format!(".SH {section}\n")).count(), 1, "{section} of {}", path.display());
            }
            assert!(!page.contains("Examples:"), "{page}");
        }
    }
}
