//! One page of the manual, generated from the description of a command and the text below its help.
//!
//! This module must never read the settings or the store.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use clap::{Arg, Command};
use clap_mangen::{
    Man,
    roff::{Inline, Roff, bold, italic, roman},
};

use crate::runtime::exit;

pub(super) fn render(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    // A page has no date, so that it is the same whenever it is made. The blank keeps the source in its place.
    let man = Man::new(command.clone()).date(" ").source(format!("hoptop {version}")).manual("hoptop");
    man.render_title(out)?;
    man.render_name_section(out)?;
    match command.get_overridden_usage() {
        Some(_) => man.render_synopsis_section(out)?,
        None => synopsis(command).to_writer(out)?,
    }
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if command.get_subcommands().any(|command| !command.is_hide_set()) {
        Roff::new().control("SH", ["COMMANDS"]).to_writer(out)?;
        subcommands(command).to_writer(out)?;
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    notes_and_examples(&help).to_writer(out)?;
    exit_status().to_writer(out)?;
    see_also(command).to_writer(out)
}

/// Writes the pages of a command and of all its commands to a folder.
pub(super) fn write_all(command: &Command, folder: &Path) -> io::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_all(inner, folder)?;
    }
    let mut file = File::create(folder.join(format!("{}.1", full_name(command))))?;
    render(command, &mut file)?;
    file.flush()
}

/// Returns the name of a command's page: `hoptop-watch`.
fn full_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// Returns the synopsis: the command's own options in the order of the help, with their values, and its arguments.
fn synopsis(command: &Command) -> Roff {
    let mut line = vec![bold(command.get_bin_name().unwrap_or_else(|| command.get_name()))];
    let shown: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_hide_set()).collect();
    let is_help = |arg: &Arg| ["help", "version"].contains(&arg.get_id().as_str());
    let is_setting = |arg: &Arg| arg.get_help_heading().is_some();
    for arg in shown.iter().filter(|arg| !arg.is_positional() && !is_help(arg) && !is_setting(arg)) {
        push_argument(arg, &mut line);
    }
    if shown.iter().any(|arg| is_setting(arg)) {
        line.extend([roman(" ["), italic("SETTINGS"), roman("]")]);
    }
    for arg in shown.iter().filter(|arg| arg.is_positional()) {
        push_argument(arg, &mut line);
    }
    if command.get_subcommands().any(|inner| !inner.is_hide_set()) {
        let (before, after) = if command.is_subcommand_required_set() { (" ", "") } else { (" [", "]") };
        line.extend([roman(before), italic("COMMAND"), roman(after)]);
    }
    let mut page = Roff::new();
    page.control("SH", ["SYNOPSIS"]).text(line);
    page
}

/// Appends an option or an argument: ` [--timeout DUR]`, ` TX...`.
fn push_argument(arg: &Arg, line: &mut Vec<Inline>) {
    let (before, after) = if arg.is_required_set() { (" ", "") } else { (" [", "]") };
    line.push(roman(before));
    // Each option has a long name.
    let flag = arg.get_long().map(|long| format!("--{long}"));
    let range = arg.get_num_args().unwrap_or_default();
    let takes_values = flag.is_none() || range.takes_values();
    line.extend(flag.map(bold));
    if takes_values {
        let names = arg.get_value_names().map(|names| names.join(" "));
        let space = if arg.is_positional() { "" } else { " " };
        line.extend([roman(space), italic(names.unwrap_or_else(|| arg.get_id().as_str().to_uppercase()))]);
    }
    line.push(roman(after));
    if range.max_values() > 1 || matches!(arg.get_action(), clap::ArgAction::Append | clap::ArgAction::Count) {
        line.push(roman("..."));
    }
}

/// Returns the commands of a command, each with its page.
fn subcommands(command: &Command) -> Roff {
    let mut page = Roff::new();
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        let about = inner.get_about().map(ToString::to_string).unwrap_or_default();
        page.control("TP", []).text([bold(format!("{}(1)", full_name(inner)))]).text([roman(about)]);
    }
    page
}

/// Returns the text below the help: indented lines are examples, and all else is a note. The exit codes have a section
/// of their own.
fn notes_and_examples(help: &str) -> Roff {
    let (mut notes, mut examples) = (Vec::new(), Vec::new());
    let is_shown = |paragraph: &&str| !paragraph.trim().is_empty() && !paragraph.starts_with(exit::HEADING);
    for paragraph in help.split("\n\n").filter(is_shown) {
        match paragraph.split_once('\n') {
            Some((heading, lines)) if lines.starts_with(' ') => examples.push((heading.trim_end_matches(':'), lines)),
            _ => notes.push(paragraph),
        }
    }
    let mut page = Roff::new();
    if !notes.is_empty() {
        page.control("SH", ["NOTES"]);
        for note in notes {
            page.control("PP", []).text([roman(note.lines().collect::<Vec<_>>().join(" "))]);
        }
    }
    if !examples.is_empty() {
        page.control("SH", ["EXAMPLES"]);
        for (heading, lines) in examples {
            if heading != "Examples" {
                page.text([roman(format!("{heading}:"))]);
            }
            page.control("nf", []);
            for line in lines.lines() {
                page.text([roman(line)]);
            }
            page.control("fi", []);
        }
    }
    page
}

fn exit_status() -> Roff {
    let mut page = Roff::new();
    page.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in exit::MEANINGS {
        page.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
    page.control("PP", []).text([roman("Only commands that send requests end with 3 to 6.")]);
    page
}

fn see_also(command: &Command) -> Roff {
    let mut page = Roff::new();
    if full_name(command) != "hoptop" {
        page.control("SH", ["SEE ALSO"]).text([bold("hoptop"), roman("(1)")]);
    }
    page
}
