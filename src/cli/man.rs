//! `hoptop man`: the manual, a page for each command, made of the same words as `--help`.
//!
//! It knows the command line alone; it must never say anything that the help doesn't.

use std::{fs, io::Write, path::PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use color_eyre::eyre::{Result, WrapErr};

use super::{args::Cli, exit::Exit};
use crate::domain::text;

/// For the help.
pub const EXAMPLES: &str = "\
Examples:
  hoptop man | man -l -
  hoptop man watch | man -l -
  hoptop man --dir ~/.local/share/man/man1      then: man hoptop-watch";

/// Which page.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The command whose page is printed; hoptop's own if none is named
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    command: Option<String>,
    /// Write all pages into this folder instead: hoptop.1, hoptop-add.1 and so on
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints a page, or writes all of them.
pub fn man(args: &ManArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit> {
    let mut program = Cli::command().disable_help_subcommand(true);
    if let Some(dir) = &args.dir {
        let failed = || format!("the pages can't be written to {}", text::clean_path(dir));
        fs::create_dir_all(dir).wrap_err_with(failed)?;
        clap_mangen::generate_to(program, dir).wrap_err_with(failed)?;
        return Ok(Exit::Fine);
    }
    program.build();
    let page = match &args.command {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => {
                let commands: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
                writeln!(err, "there is no command `{}`; there are {}", text::clean(name), commands.join(", "))?;
                return Ok(Exit::Usage);
            }
        },
    };
    Man::new(page).render(out)?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is printed, and what is complained of.
    fn page(command: Option<&str>) -> (String, String) {
        let (mut page, mut complaint) = (Vec::new(), Vec::new());
        let args = ManArgs { command: command.map(str::to_owned), dir: None };
        let exit = man(&args, &mut page, &mut complaint).unwrap();
        assert_eq!(exit == Exit::Usage, page.is_empty());
        (String::from_utf8(page).unwrap(), String::from_utf8(complaint).unwrap())
    }

    #[test]
    fn each_command_has_its_page_and_no_other_has() {
        assert!(page(None).0.contains(".TH hoptop 1"));
        let watch = page(Some("watch")).0;
        assert!(watch.contains("hoptop-watch") && watch.contains("until\\-settled"), "{watch}");
        assert!(page(Some("wach")).1.contains("there are demo, add,"));
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("share/man1");
        man(&ManArgs { command: None, dir: Some(dir.clone()) }, &mut Vec::new(), &mut Vec::new()).unwrap();
        for command in Cli::command().get_subcommands() {
            assert!(dir.join(format!("hoptop-{}.1", command.get_name())).is_file(), "{}", command.get_name());
        }
        assert!(dir.join("hoptop.1").is_file());
    }
}
