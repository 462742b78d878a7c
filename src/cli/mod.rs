//! The command line: one file per subcommand, and what they share.
//!
//! It reads settings, opens the store, and hands over; it must never know what a status means or when to poll.

pub mod add;
pub mod alerts;
pub mod answer;
pub mod args;
mod background_poller;
pub mod backup;
pub mod check;
pub mod completions;
pub mod config;
pub mod context;
mod crash;
mod dashboard;
pub mod demo;
pub mod doctor;
pub mod exit;
pub mod export;
mod follow;
mod hang_up;
pub mod import;
pub mod json;
pub mod list;
mod log;
mod maintenance;
pub mod man;
mod notifiers;
mod one_shot_poll;
mod plain;
pub mod quote;
mod quote_json;
pub mod show;
mod signals;
pub mod simulate;
pub mod snooze;
pub mod stats;
mod summary;
mod table;
mod theme;
pub mod untrack;
pub mod watch;

use std::{
    error::Error,
    io::{self, IsTerminal, Write},
    path::Path,
};

use clap::Parser;
use color_eyre::eyre::{Report, Result, WrapErr, bail};
use tempfile::TempDir;

use self::{
    args::{Cli, Command},
    context::Context,
    exit::Exit,
};
use crate::{
    api::{self, BaseUrlError, WebhookError},
    clock::{self, Clock},
    config::{ConfigError, Environment, Flags, Settings},
    domain::{secret::IntegratorId, text},
    store::Store,
    tui::theme::ThemeError,
};

pub use self::crash::install_hooks;

/// Runs the command that the arguments name, and returns the process's exit code. What went wrong is one sentence on
/// standard error; a closed pipe ends quietly.
pub fn main() -> Exit {
    completions::answer_a_shell();
    let cli = Cli::parse();
    match dispatch(&cli) {
        Ok(exit) => exit,
        Err(report) if is_closed_pipe(&report) => Exit::Fine,
        Err(report) => {
            complain(&sentence(&report));
            if let Some(path) = crash::report() {
                complain(&format!("that is a fault of hoptop; the report is in {}", path.display()));
            }
            if is_wrong_setting(&report) { Exit::Usage } else { Exit::Error }
        }
    }
}

fn dispatch(cli: &Cli) -> Result<Exit> {
    // These need no settings, so that a broken config file doesn't stand in their way.
    match (&cli.command, cli.global.db()) {
        (Some(Command::Demo(args)), _) => return demo::demo(args, &cli.global.flags()),
        (Some(Command::Simulate(args)), _) => return simulate::simulate(args, cli.global.rps),
        (Some(Command::Backup(args)), Some(db)) if args.daily => return backup::daily(db),
        (Some(Command::Completions(args)), _) => return completions::completions(args, &mut io::stdout().lock()),
        (Some(Command::Man(args)), _) => return man::man(args, &mut io::stdout().lock(), &mut io::stderr().lock()),
        (Some(Command::Config(args)), _) if args.template => return config::template(&mut io::stdout().lock()),
        _ => {}
    }
    let flags = Flags { beside: cli.beside.clone(), ..cli.global.flags() };
    let settings = crate::config::load(flags, &Environment::process())?;
    crash::keep_in(&settings.state_dir);
    crate::process::program::hide(settings.id_variables.clone());
    if cli.metrics.is_some() && cli.command.is_some() {
        complain("--metrics before a command is the dashboard's; write `hoptop watch --metrics ADDR`");
        return Ok(Exit::Usage);
    }
    if !cli.beside.is_empty() && cli.command.is_some() {
        complain("--beside is the dashboard's; a command is about the one profile that --profile names");
        return Ok(Exit::Usage);
    }
    match &cli.command {
        None => dashboard::dashboard(cli, &settings),
        Some(Command::Watch(args)) => watch::watch(args, &settings, &cli.global.flags()),
        Some(Command::Config(_)) => config::config(&settings, &mut io::stdout().lock()),
        Some(Command::Backup(_)) if Store::was_never_at(&settings.db) => {
            bail!("there is no store at {}; name the one to copy with --db", text::clean_path(&settings.db))
        }
        Some(Command::Backup(args)) if args.daily => backup::daily(&settings.db),
        Some(command) => with_context(&settings, command.makes_nothing(), |context| match command {
            Command::Add(args) => add::add(args, context),
            Command::Import(args) if args.follow => follow::follow(args, context),
            Command::Import(args) => import::import(args, &mut io::stdin().lock(), context),
            Command::List(args) => list::list(args, context),
            Command::Export(args) => export::export(args, context),
            Command::Show(args) => show::show(args, context),
            Command::Check(args) => check::check(args, &settings, context),
            Command::Answer(args) => answer::answer(args, context, &settings.answer),
            Command::Quote(args) => quote::quote(args, &settings, context),
            Command::Stats(args) => stats::stats(args, settings.rps, context),
            Command::Untrack(args) => untrack::untrack(args, context),
            Command::Delete(args) => untrack::delete(args, context),
            Command::Undo(args) => untrack::undo(args, context),
            Command::Alerts(args) => alerts::alerts(args, context),
            Command::Ack(args) => alerts::ack(args, context),
            Command::Snooze(args) => snooze::snooze(args, context),
            Command::Unack(args) => alerts::unack(args, context),
            Command::Backup(args) => backup::backup(args, context),
            Command::Doctor(args) => doctor::doctor(args, &settings, api::reach, context),
            Command::Demo(_) | Command::Simulate(_) | Command::Watch(_) => Ok(Exit::Fine),
            Command::Config(_) | Command::Completions(_) | Command::Man(_) => Ok(Exit::Fine),
        }),
    }
}

/// Opens the store for a command that only reads or changes what is tracked. One that `makes_nothing` of a store that isn't there
/// works on an empty one in its place: the name may be mistyped.
fn with_context(
    settings: &Settings,
    makes_nothing: bool,
    work: impl FnOnce(&mut Context<'_>) -> Result<Exit>,
) -> Result<Exit> {
    let nowhere = (makes_nothing && Store::was_never_at(&settings.db)).then(|| stand_in(&settings.db)).transpose()?;
    let store = nowhere.as_ref().map_or_else(|| open(settings), |(store, _)| Ok(store.clone()))?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let exit = work(&mut Context {
        store: store.clone(),
        profile: settings.profile.clone(),
        now: Clock::system().now(),
        zone: clock::local_offset(),
        out: &mut out,
        err: &mut io::stderr().lock(),
        ellipsis: if settings.ascii { ".." } else { "…" },
        out_is_terminal: io::stdout().is_terminal(),
        // A script reads the same whatever its environment says for good.
        in_words: settings.plain && io::stdout().is_terminal(),
    });
    let exit = exit.inspect_err(|report| note(&store, report))?;
    out.flush()?;
    if nowhere.is_none()
        && let Err(report) = backup::after_a_command(&store)
    {
        complain(&format!("warning: {}", sentence(&report)));
    }
    Ok(exit)
}

/// An empty store in the place of one that isn't there, and the folder that goes with it. A script gets what it would of an empty
/// one; a person is told.
fn stand_in(missing: &Path) -> Result<(Store, TempDir)> {
    if io::stderr().is_terminal() {
        complain(&format!("there is no store at {} yet: nothing is tracked", text::clean_path(missing)));
    }
    let folder = tempfile::Builder::new().prefix("hoptop-").tempdir().wrap_err("no place for an empty store")?;
    Ok((Store::open(&folder.path().join("empty.db"))?, folder))
}

/// Opens the store, and says if it had to be recovered or if a part of it is missing.
fn open(settings: &Settings) -> Result<Store> {
    let store = Store::open_lasting(&settings.db, Clock::system().now().wall)?;
    if let Some(notice) = store.notice() {
        complain(&text::clean(&notice));
    }
    Ok(store)
}

/// If a command met damage, the next start is to know of it.
fn note(store: &Store, report: &Report) {
    report.chain().filter_map(|cause| cause.downcast_ref()).for_each(|error| store.report_fault(error));
}

/// What polling needs, checked; what a person should be warned of goes to standard error.
fn polling(settings: &Settings) -> Result<background_poller::Polling> {
    checked(settings.polling())
}

/// The same of what the settings say.
fn checked(polling: Result<crate::config::Polling, ConfigError>) -> Result<background_poller::Polling> {
    let polling = polling?;
    for warning in &polling.warnings {
        complain(&format!("warning: {}", text::clean(warning)));
    }
    background_poller::Polling::new(&polling.base_url, polling.id, polling.rps)
}

/// An error and its causes in one line. Some errors tell their cause themselves; it isn't said twice.
fn sentence(report: &Report) -> String {
    report.chain().map(|cause| text::clean(&cause.to_string())).fold(String::new(), |told, cause| match told.as_str() {
        "" => cause,
        told if told.contains(&cause) => told.to_owned(),
        told => format!("{told}: {cause}"),
    })
}

/// One line on standard error. If that is closed there is nobody to tell.
fn complain(line: &str) {
    writeln!(io::stderr(), "hoptop: {line}").ok();
}

fn is_wrong_setting(report: &Report) -> bool {
    let wrong = |cause: &(dyn Error + 'static)| {
        cause.is::<ConfigError>()
            || cause.is::<BaseUrlError>()
            || cause.is::<WebhookError>()
            || cause.is::<ThemeError>()
    };
    report.chain().any(wrong)
}

fn is_closed_pipe(report: &Report) -> bool {
    let closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    report.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(closed))
}

/// The runtime for what polls or serves: beside the dashboard's own thread one is enough for a limit of requests per second, and two
/// would wake each other for each of them.
fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .wrap_err("the runtime can't be started")
}

/// The demonstration's integrator ID: the simulated service takes any.
fn demo_id() -> Result<IntegratorId> {
    Ok(IntegratorId::new("demo-integrator-demo")?)
}
