//! The command line: one file per subcommand, and the parts that subcommands share.
//!
//! The module reads the settings, opens the store and calls the command. It must never know what a status means or when
//! to poll.

pub(crate) mod args;
pub(crate) mod commands;
mod completers;
pub(crate) mod context;
mod notifiers;
mod one_shot_poll;
mod opening;
pub(crate) mod output;
mod plain;
mod theme;

use std::io;

use clap::{CommandFactory, Parser};
use color_eyre::eyre::{Result, bail};

use self::{
    args::{Cli, Command},
    commands::{
        ack, add, alerts, answer, backup, check, completions, config, dashboard, delete, demo, doctor, export, guide,
        import::{self, follow},
        list, man, quote, show, simulate, snooze, stats, store, unack, undo, untrack, watch,
    },
    opening::with_context,
};
pub use crate::runtime::crash::install_hooks;
use crate::{
    api,
    config::{Environment, Flags},
    domain::text,
    runtime::{
        crash,
        exit::Exit,
        stderr::{is_closed_pipe, is_wrong_setting, print_line, sentence},
        team_poller,
        team_store::{self, TeamAccess},
    },
    store::Store,
};

/// Runs the command that the arguments name, and returns the process's exit code. Prints an error as one line on
/// standard error. A closed pipe ends the process without an error.
pub fn main() -> Exit {
    completers::answer_shell(Cli::command);
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let guided = guide::guide(&arguments, &mut io::stdout().lock());
    match guided.unwrap_or_else(|| dispatch(&Cli::parse())) {
        Ok(exit) => exit,
        Err(report) if is_closed_pipe(&report) => Exit::Success,
        Err(report) => {
            print_line(&sentence(&report));
            if let Some(path) = crash::report() {
                print_line(&format!("this is a bug in hoptop; the crash report is in {}", path.display()));
            }
            if is_wrong_setting(&report) { Exit::Usage } else { Exit::Error }
        }
    }
}

fn dispatch(cli: &Cli) -> Result<Exit> {
    // These commands need no settings, so that they work with an invalid config file.
    match (&cli.command, cli.global.db()) {
        (Some(Command::Demo(args)), _) => return demo::demo(args, &cli.global.flags()),
        (Some(Command::Simulate(args)), _) => return simulate::simulate(args, cli.global.rps),
        (Some(Command::PollForTeam), _) => return team_poller::run_as_child(),
        (Some(Command::Backup(args)), Some(db)) if args.daily => return backup::daily(db),
        (Some(Command::Completions(args)), _) => return completions::completions(args, &mut io::stdout().lock()),
        (Some(Command::Man(args)), _) => {
            return man::man(args, Cli::command(), &mut io::stdout().lock(), &mut io::stderr().lock());
        }
        (Some(Command::Config(args)), _) if args.template => return config::template(&mut io::stdout().lock()),
        _ => {}
    }
    let mut flags = Flags { beside: cli.dashboard.beside.clone(), ..cli.global.flags() };
    if let Some(Command::Store(args)) = &cli.command
        && let Some(address) = args.address()
    {
        flags.store = Some(address.to_owned());
    }
    let settings = crate::config::load(flags, &Environment::process())?;
    crash::keep_in(&settings.state_dir);
    crate::process::program::hide(settings.secret_variables.clone());
    if cli.dashboard.metrics.is_some() && cli.command.is_some() {
        print_line("`--metrics` before a command works only for the dashboard; use `hoptop watch --metrics ADDR`");
        return Ok(Exit::Usage);
    }
    if !cli.dashboard.beside.is_empty() && cli.command.is_some() {
        print_line("`--beside` works only in the dashboard; a command uses one profile (--profile)");
        return Ok(Exit::Usage);
    }
    let team = TeamAccess::of(&settings, team_store::COMMAND_RANK)?;
    match &cli.command {
        None => dashboard::dashboard(&cli.dashboard, cli.global.flags().plain, &settings),
        Some(Command::Watch(args)) => watch::watch(args, &settings, &cli.global.flags()),
        Some(Command::Store(args)) => store::store(args, &settings, team.as_ref()),
        Some(Command::Config(_)) => config::config(&settings, &mut io::stdout().lock()),
        Some(Command::Backup(_)) if Store::has_no_store_at(&settings.db) => {
            bail!("there is no store at {}; give the store's path with --db", text::clean_path(&settings.db))
        }
        Some(Command::Backup(args)) if args.daily => backup::daily(&settings.db),
        Some(command) => with_context(&settings, team.as_ref(), command.store_use(), |context| match command {
            Command::Add(args) => add::add(args, context),
            Command::Import(args) if args.follow => follow::follow(args, context),
            Command::Import(args) => import::import(args, &mut io::stdin().lock(), context),
            Command::List(args) => list::list(args, context),
            Command::Export(args) => export::export(args, context),
            Command::Show(args) => show::show(args, context),
            Command::Check(args) => check::check(args, &settings, team.as_ref(), context),
            Command::Answer(args) => answer::answer(args, context, &settings.answer),
            Command::Quote(args) => quote::quote(args, &settings, team.as_ref(), context),
            Command::Stats(args) => stats::stats(args, settings.rps, context),
            Command::Untrack(args) => untrack::untrack(args, context),
            Command::Delete(args) => delete::delete(args, context),
            Command::Undo(args) => undo::undo(args, context),
            Command::Alerts(args) => alerts::alerts(args, context),
            Command::Ack(args) => ack::ack(args, context),
            Command::Snooze(args) => snooze::snooze(args, context),
            Command::Unack(args) => unack::unack(args, context),
            Command::Backup(args) => backup::backup(args, context),
            Command::Doctor(args) => doctor::doctor(args, &settings, team.as_ref(), api::reach, context),
            Command::Demo(_) | Command::Simulate(_) | Command::Watch(_) => Ok(Exit::Success),
            Command::Store(_) | Command::PollForTeam => Ok(Exit::Success),
            Command::Config(_) | Command::Completions(_) | Command::Man(_) => Ok(Exit::Success),
        }),
    }
}
