//! The command line: one file per subcommand, and the parts that subcommands share.
//!
//! The module reads the settings, opens the store and calls the command. The module must never know what a status means
//! or when to poll.

pub(crate) mod args;
pub(crate) mod commands;
mod completers;
pub(crate) mod context;
pub(crate) mod handle_alerts;
mod listen;
mod notifiers;
mod one_shot_poll;
mod opening;
pub(crate) mod output;
mod plain;
mod service_clients;
mod theme;

use std::{
    ffi::OsString,
    io::{self, IsTerminal},
};

use clap::{ColorChoice, CommandFactory, FromArgMatches};
use color_eyre::eyre::{Result, bail};

use self::{
    args::{Cli, Command},
    commands::{
        ack, add, alerts, answer, backup, check, completions, config, dashboard, delete, demo, doctor, export, guide,
        import, label, list, man, note, quote, restore, schema, show, simulate, snooze, stats, store, ticket, unack,
        undo, untrack, watch, webhook,
    },
    context::Context,
    opening::{LoadedSettings, StoreUse, with_context},
};
pub use crate::runtime::crash::install_hooks;
use crate::{
    api,
    config::{CommandLineSettings, Environment, Settings},
    domain::text,
    runtime::{
        crash,
        exit::{Exit, UsageError},
        hang_up, signals,
        stderr::{error_line, is_closed_pipe, is_wrong_setting, print_line},
        team_poller,
        team_store::{self, TeamAccess},
    },
    store::Store,
};

/// Runs the command that the arguments name, and returns the process's exit code. Prints an error as one line on
/// standard error. A closed pipe ends the process without an error.
pub fn main() -> Exit {
    completers::answer_shell(Cli::command);
    hang_up::remember_terminals();
    signals::ignore_file_size_signal();
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let guided = guide::guide(&arguments, &mut io::stdout().lock());
    match guided.unwrap_or_else(|| parse_arguments(&arguments).map_or_else(|end| end, |arguments| dispatch(&arguments)))
    {
        Ok(exit) => exit,
        // Nobody can read the error, and the end of the terminal caused it.
        Err(_) if hang_up::is_any_stream_hung_up() => Exit::HungUp,
        Err(report) if is_closed_pipe(&report) => Exit::Success,
        Err(report) => {
            print_line(&error_line(&report));
            if let Some(path) = crash::report_path() {
                print_line(&format!("this is a bug in hoptop; the crash report is in {}", path.display()));
            }
            if is_wrong_setting(&report) || report.is::<UsageError>() { Exit::Usage } else { Exit::Error }
        }
    }
}

/// Parses the arguments of the command line. If they are invalid or ask for help, prints the cleaned error or the help,
/// and returns the exit code instead.
fn parse_arguments(arguments: &[String]) -> Result<Cli, Result<Exit>> {
    let parse = |words: &mut dyn Iterator<Item = OsString>| {
        let command = Cli::command().color(color_of_help(arguments));
        Cli::from_arg_matches(&command.try_get_matches_from(words)?)
    };
    let parsed = parse(&mut std::env::args_os()).map_err(|error| {
        let program = std::env::args_os().take(1);
        let cleaned = arguments.iter().map(|word| text::clean(word).into());
        let shown = match parse(&mut program.chain(cleaned)) {
            Err(error) => error,
            // Only the uncleaned arguments are wrong.
            Ok(_) => Cli::command()
                .color(color_of_help(arguments))
                .error(error.kind(), "an argument has characters that can't be shown"),
        };
        let printed = shown.print();
        match shown.exit_code() {
            0 => Ok(printed.map(|()| Exit::Success)?),
            // Also if the message couldn't be printed.
            _ => Ok(Exit::Usage),
        }
    })?;
    match is_watched_profile_lost(&parsed, arguments) {
        true => Err(Err(UsageError(
            "`--profile` is given before and after `watch`, and the one before would be ignored; give each after `watch`".to_owned(),
        )
        .into())),
        false => Ok(parsed),
    }
}

/// Whether `watch` was given a profile that it wouldn't watch: the options after a command replace those before it.
fn is_watched_profile_lost(cli: &Cli, arguments: &[String]) -> bool {
    let options = arguments.iter().take_while(|word| *word != "--");
    let given = options.filter(|word| *word == "--profile" || word.starts_with("--profile=")).count();
    matches!(cli.command, Some(Command::Watch(_))) && given > cli.global.profile.len()
}

/// Returns the colours of the help and of errors about arguments, which are printed before the arguments are parsed.
fn color_of_help(arguments: &[String]) -> ColorChoice {
    let after_flag = arguments.windows(2).filter_map(|pair| match pair {
        [flag, value] if flag == "--color" => Some(value.as_str()),
        _ => None,
    });
    let with_sign = arguments.iter().filter_map(|word| word.strip_prefix("--color="));
    match after_flag.chain(with_sign).last() {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

fn dispatch(cli: &Cli) -> Result<Exit> {
    let Some(command) = &cli.command else {
        let loaded = LoadedSettings::new(cli)?;
        return dashboard::dashboard(&cli.dashboard, cli.global.flags().is_plain, &loaded.settings);
    };
    let (read, existing, created) = (StoreUse::Read, StoreUse::Existing, StoreUse::Created);
    let with_polling = |store_use, run: StoreCommand<'_>| run_on_store(&LoadedSettings::new(cli)?, store_use, run);
    let with_store =
        |store_use, run: StoreCommand<'_>| run_on_store(&LoadedSettings::without_polling(cli)?, store_use, run);
    refuse_dashboard_options(cli, command)?;
    match command {
        // These commands need no settings, so that they work with an invalid config file.
        Command::Demo(args) => match cli.global.settings_option() {
            Some(option) => Err(UsageError(format!(
                "`{option}` has no effect on the demo, which uses neither a config file nor a real service; leave it out, or run `hoptop` without `demo`"
            ))
            .into()),
            None => demo::demo(args, &cli.global.flags()),
        },
        Command::Simulate(args) => simulate::simulate(args, cli.global.rps),
        Command::PollForTeam => team_poller::run_as_child(),
        Command::Schema(args) => schema::schema(args, &mut io::stdout().lock()),
        Command::Completions(args) => completions::completions(args, &mut io::stdout().lock()),
        Command::Man(args) => man::man(args, Cli::command(), &mut io::stdout().lock(), &mut io::stderr().lock()),
        Command::Config(args) if args.template => config::template(&mut io::stdout().lock()),
        Command::Config(args) => config::config(args, &LoadedSettings::new(cli)?.settings, &mut io::stdout().lock()),
        Command::Watch(args) => watch::watch(args, &LoadedSettings::new(cli)?.settings, &cli.global.flags()),
        Command::Webhook(args) => webhook::webhook(args, &LoadedSettings::without_polling(cli)?.settings),
        Command::Store(args) => {
            let loaded = LoadedSettings::without_polling(cli)?;
            store::store(args, &loaded.settings, loaded.team.as_ref())
        }
        Command::Backup(args) => backup(cli, args),
        Command::Restore(args) => restore::restore(args, &LoadedSettings::without_polling(cli)?.settings),
        Command::Add(args) => with_store(created, &|_, context| add::add(args, context)),
        Command::Import(args) => {
            if args.is_standard_input() {
                print_terminal_hint("transactions from the terminal: CSV with a header row, or JSON");
            }
            if args.follow {
                return with_store(created, &|_, context| import::follow::follow(args, context));
            }
            let store_use = if args.dry_run { StoreUse::Examined } else { created };
            with_store(store_use, &|_, context| import::import(args, &mut io::stdin().lock(), context))
        }
        Command::List(args) => with_store(read, &|_, context| list::list(args, context)),
        Command::Export(args) => with_store(read, &|_, context| export::export(args, context)),
        Command::Show(args) => with_store(read, &|_, context| show::show(args, context)),
        Command::Check(args) if args.is_untracked() => {
            let loaded = LoadedSettings::new(cli)?;
            let store_use = if loaded.team.is_some() { created } else { StoreUse::Temporary };
            with_context(&loaded.settings, loaded.team.as_ref(), store_use, |context| {
                check::untracked::check(args, &loaded, context)
            })
        }
        Command::Check(args) => with_polling(created, &|loaded, context| check::check(args, loaded, context)),
        Command::Answer(args) => {
            with_store(read, &|loaded, context| answer::answer(args, context, &loaded.settings.answer))
        }
        Command::Quote(args) => with_polling(created, &|loaded, context| quote::quote(args, loaded, context)),
        Command::Stats(args) => {
            with_polling(read, &|loaded, context| stats::stats(args, loaded.settings.rps, context))
        }
        Command::Ticket(args) => with_store(existing, &|_, context| ticket::ticket(args, context)),
        Command::Label(args) => with_store(existing, &|_, context| label::label(args, context)),
        Command::Note(args) => {
            if args.reads_input() {
                print_terminal_hint("the note from the terminal");
            }
            with_store(existing, &|_, context| note::note(args, Some(&mut io::stdin().lock()), context))
        }
        Command::Untrack(args) => with_store(existing, &|_, context| untrack::untrack(args, context)),
        Command::Delete(args) => with_store(existing, &|_, context| delete::delete(args, context)),
        Command::Undo(args) => with_store(existing, &|_, context| undo::undo(args, context)),
        Command::Alerts(args) => with_store(read, &|_, context| alerts::alerts(args, context)),
        Command::Ack(args) => with_store(existing, &|_, context| ack::ack(args, context)),
        Command::Snooze(args) => with_store(existing, &|_, context| snooze::snooze(args, context)),
        Command::Unack(args) => with_store(existing, &|_, context| unack::unack(args, context)),
        Command::Doctor(args) => doctor(cli, args),
    }
}

/// A command that runs on the store of the settings.
type StoreCommand<'a> = &'a dyn Fn(&LoadedSettings, &mut Context<'_>) -> Result<Exit>;

fn run_on_store(loaded: &LoadedSettings, store_use: StoreUse, run: StoreCommand<'_>) -> Result<Exit> {
    with_context(&loaded.settings, loaded.team.as_ref(), store_use, |context| run(loaded, context))
}

/// Prints what a command reads from standard input, if that is a terminal.
fn print_terminal_hint(input_name: &str) {
    if io::stdin().is_terminal() {
        print_line(&format!("reading {input_name}; ^D ends the input, ^C cancels"));
    }
}

/// Runs the checks, also those that need neither the settings nor the store, if these can't be opened.
fn doctor(cli: &Cli, args: &doctor::DoctorArgs) -> Result<Exit> {
    let mut opening_errors = doctor::OpeningErrors::default();
    let loaded = LoadedSettings::new(cli).or_else(|report| {
        if !is_wrong_setting(&report) {
            return Err(report);
        }
        let (flags, env) = (cli.global.flags(), Environment::process());
        let tolerant = CommandLineSettings { ignores_polling_settings: true, ..flags.clone() };
        let (settings, has_file) = match crate::config::load(tolerant, &env) {
            Ok(settings) => (settings, true),
            // The file may name another store, which must be neither judged nor changed.
            Err(_) if args.verify_replica || (args.checksums || args.repair) && cli.global.db.is_none() => {
                return Err(report);
            }
            Err(_) => (crate::config::load_without_file(flags, &env)?, false),
        };
        let rest = if has_file { "all other settings" } else { "no config file" };
        opening_errors.config = Some(format!("{}; the checks below use {rest}", error_line(&report)));
        use_settings(&settings);
        let team = if has_file { TeamAccess::of(&settings, team_store::COMMAND_RANK)? } else { None };
        Ok(LoadedSettings { settings, team })
    })?;
    let LoadedSettings { settings, team } = &loaded;
    let mut has_begun = false;
    let ended = with_context(settings, team.as_ref(), StoreUse::Inspected, |context| {
        has_begun = true;
        doctor::doctor(args, settings, team.as_ref(), &opening_errors, api::reach, context)
    });
    match ended {
        Err(report) if !has_begun && !args.checksums && !args.verify_replica => {
            opening_errors.store = Some(error_line(&report));
            with_context(settings, None, StoreUse::Temporary, |context| {
                doctor::doctor(args, settings, None, &opening_errors, api::reach, context)
            })
        }
        ended => ended,
    }
}

/// Writes a backup. A daily backup of the store that `--db` names works with an invalid config file.
fn backup(cli: &Cli, args: &backup::BackupArgs) -> Result<Exit> {
    if let Some(db) = cli.global.db.as_deref().filter(|_| args.daily) {
        return backup::daily(db);
    }
    let LoadedSettings { settings, team } = LoadedSettings::without_polling(cli)?;
    if Store::has_no_store_at(&settings.db) {
        bail!("there is no store at {}; give the store's path with --db", text::clean_path(&settings.db))
    }
    match args.daily {
        true => backup::daily(&settings.db),
        false => with_context(&settings, team.as_ref(), StoreUse::Created, |context| backup::backup(args, context)),
    }
}

impl LoadedSettings {
    /// Loads the settings for a command that polls, or shows the settings of polling.
    fn new(cli: &Cli) -> Result<Self> {
        Self::load(cli, cli.global.flags())
    }

    /// Loads the settings for a command to which invalid settings of polling don't matter.
    fn without_polling(cli: &Cli) -> Result<Self> {
        Self::load(cli, CommandLineSettings { ignores_polling_settings: true, ..cli.global.flags() })
    }

    /// Loads the settings with these flags, and refuses options that the command doesn't use.
    fn load(cli: &Cli, mut flags: CommandLineSettings) -> Result<Self> {
        let is_watch = matches!(cli.command, Some(Command::Watch(_)));
        if !flags.beside.is_empty() && !is_watch {
            let reason = "`--profile` names one profile; only `hoptop watch` takes several, and the dashboard has `--beside NAME`";
            return Err(UsageError(reason.to_owned()).into());
        }
        flags.beside.extend(cli.dashboard.beside.clone());
        if let Some(Command::Store(args)) = &cli.command
            && let Some(address) = args.address()
        {
            flags.store = Some(address.to_owned());
        }
        let settings = crate::config::load(flags, &Environment::process())?;
        use_settings(&settings);
        let team = TeamAccess::of(&settings, team_store::COMMAND_RANK)?;
        Ok(Self { settings, team })
    }
}

/// Sets what the whole process takes from the settings.
fn use_settings(settings: &Settings) {
    crash::set_folder(&settings.state_dir);
    crate::process::program::hide_variables(settings.secret_variables.clone());
}

/// Refuses options of the dashboard that stand before a command and have no effect on it.
fn refuse_dashboard_options(cli: &Cli, command: &Command) -> Result<(), UsageError> {
    let dashboard::DashboardArgs { metrics, beside, no_poll, any_chain } = &cli.dashboard;
    let polls = matches!(command, Command::Watch(_) | Command::Check(_) | Command::Quote(_));
    let options = [
        (
            metrics.is_some(),
            "`--metrics` before a command works only for the dashboard; use `hoptop watch --metrics ADDR`",
        ),
        (!beside.is_empty(), "`--beside` works only in the dashboard; a command uses one profile (--profile)"),
        (*no_poll && polls, "`--no-poll` works only for the dashboard, and this command polls; leave the option out"),
        (
            *any_chain,
            "`--any-chain` before a command works only for the dashboard; leave it out, or give it after a command that takes chains",
        ),
    ];
    match options.into_iter().find(|(is_misplaced, _)| *is_misplaced) {
        Some((_, reason)) => Err(UsageError(reason.to_owned())),
        None => Ok(()),
    }
}
