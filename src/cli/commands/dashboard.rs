//! `hoptop` without a command: shows the dashboard, and polls unless `--no-poll` is given.
//!
//! The command must never wait for input or draw a screen without a terminal: it prints the list instead.

use std::{
    io::{self, IsTerminal},
    net::SocketAddr,
    time::Duration,
};

use clap::Args;
use color_eyre::eyre::{Result, WrapErr, eyre};
use tokio::sync::oneshot;

use super::{
    export::to_new_file,
    list::{self, ListArgs},
};
use crate::{
    cli::{
        listen, notifiers,
        opening::{self, StoreUse, with_context},
        plain, service_clients, theme,
    },
    clock::{self, Clock},
    config::Settings,
    metrics::{Metrics, MetricsSources},
    notify::WebhookPosts,
    process,
    runtime::{
        background_poller::{PollerOptions, RunningPollers, ServiceClient},
        crash,
        exit::Exit,
        forced_end, hang_up, log_file, maintenance,
        signals::{self, SuspendHandler},
        stderr::print_line,
        team_store::{self, TeamAccess},
        tokio_runtime,
    },
    tui::{
        input,
        keys::Keys,
        model::DashboardSettings,
        run::{DashboardInputs, RunError, run},
        system::System,
        terminal::TerminalGuard,
    },
};

/// The context of an error that prevents polling, with the alternatives.
const WITHOUT_POLLING: &str = "the dashboard can't poll (`hoptop --no-poll` shows tracked transactions without polling, `hoptop demo` needs no account)";

/// The options that only the dashboard has.
#[derive(Args, Debug)]
pub(crate) struct DashboardArgs {
    /// Show the dashboard without polling
    #[arg(long)]
    pub no_poll: bool,
    /// Accept any text as a chain ID; numbers and IDs such as osmosis-1 are always accepted
    #[arg(long)]
    pub any_chain: bool,
    /// Poll this profile too, with its own ID and budget, and show it beside the current one in the dashboard; may be
    /// repeated
    #[arg(long, value_name = "NAME")]
    pub beside: Vec<String>,
    /// Serve OpenMetrics text at http://ADDR/metrics while the dashboard runs
    #[arg(long, value_name = "ADDR", value_parser = listen::parse)]
    pub metrics: Option<SocketAddr>,
}

/// Whether standard input and standard output are a terminal, as a screen needs.
pub(crate) fn has_terminal() -> bool {
    io::stdout().is_terminal() && io::stdin().is_terminal()
}

/// Whether the terminal can't place text on the screen.
pub(crate) fn is_terminal_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Shows the dashboard. Without a terminal prints the list and a line that says so.
pub(crate) fn dashboard(args: &DashboardArgs, forces_plain: bool, settings: &Settings) -> Result<Exit> {
    settings.check_same_store()?;
    let team = TeamAccess::of(settings, team_store::DASHBOARD_RANK)?;
    // The flag `--plain` also works in a pipe. A permanently set variable doesn't: it must not keep a script waiting.
    let is_plain = forces_plain || settings.is_plain && io::stdout().is_terminal();
    let no_screen = match (is_plain, has_terminal(), is_terminal_dumb()) {
        (true, ..) | (false, true, false) => None,
        (false, false, _) => Some("no terminal: printing the list. To poll without a terminal, use `hoptop watch`"),
        (false, true, true) => Some(
            "TERM=dumb can't show the dashboard: printing the list. To poll and print changes, use `hoptop --plain`",
        ),
    };
    if let Some(reason) = no_screen {
        print_line(reason);
        if args.metrics.is_some() {
            print_line("no metrics are served without the dashboard; `hoptop watch --metrics ADDR` serves them");
        }
        return with_context(settings, team.as_ref(), StoreUse::Read, |context| {
            list::list(&ListArgs::default(), context)
        });
    }
    let clients =
        if args.no_poll { Vec::new() } else { service_clients::clients(settings).wrap_err(WITHOUT_POLLING)? };
    let clients = service_clients::with_options(clients, settings, team.as_ref());
    let channels = notifiers::channels(settings)?;
    let log = Some(log_file::start(&settings.state_dir, &settings.db, Clock::system())?);
    let store = opening::open_store(settings, team.as_ref())?;
    let setting = DashboardSettings {
        profile: settings.profile.clone(),
        other_profiles: settings.beside.iter().map(|connection| connection.profile.clone()).collect(),
        shown_id: clients.first().map(|(client, _)| client.shown_id.clone()),
        author: store.author(),
        is_demo: false,
        is_polling: !clients.is_empty(),
        process: process::run_id(),
        zone: clock::local_offset(),
        asks_chains: !settings.chain_nodes.is_empty(),
        any_chain: args.any_chain,
        templates: settings.answer.clone(),
        keys: Keys::new(&settings.keys)?,
        notification_channels: notifiers::names(&channels),
    };
    let theme = theme::load_from_settings(settings)?;
    tokio_runtime::start()?.block_on(async {
        let clock = Clock::system();
        let _maintenance = maintenance::start(&store, settings.keep_bodies, &clock);
        let _backup_schedule = store.schedule_backups(clock.clone())?;
        let requests = clients.first().map(|(client, _)| client.requests.clone()).unwrap_or_default();
        let profiles = setting.profiles().map(str::to_owned).collect();
        let posts = WebhookPosts::default();
        let sources = MetricsSources { store: &store, profiles, requests, posts: posts.clone() };
        let _metrics = Metrics::serve(args.metrics, sources, &clock).await?;
        let started_notifiers = notifiers::start(&channels, settings, &store, &clock, &posts).await?;
        let alerting = &settings.alerting;
        let system =
            System::process(settings.clipboard.clone(), settings.has_mouse, alerting.notify, alerting.has_bell);
        let view_state_path = Some(settings.state_dir.join("view.json"));
        let parts = DashboardInputs { store, clock, setting, theme, system, export: to_new_file, view_state_path, log };
        let ended = show(parts, clients, is_plain, settings.rps).await;
        notifiers::stop_notifiers(started_notifiers, &ended).await;
        ended
    })
}

/// Runs the dashboard on the terminal, as a screen or as plain lines, and the pollers beside it. At the end stops the
/// pollers; the answers of pending requests are stored. `rps` is the limit in requests per second.
pub(crate) async fn show(
    mut parts: DashboardInputs,
    clients: Vec<(ServiceClient, PollerOptions<'_>)>,
    is_plain: bool,
    rps: f64,
) -> Result<Exit> {
    if is_plain {
        let DashboardInputs { store, clock, setting, theme, .. } = parts;
        return plain::show(plain::PlainInputs { store, clock, setting, rps, ellipsis: theme.ellipsis }, clients).await;
    }
    let signal = signals::listen()?;
    let (suspension, suspension_requests) = SuspendHandler::for_dashboard()?;
    parts.system.suspension = Some(suspension);
    crash::panic_if_requested(&parts.clock);
    let (rows, shown) = oneshot::channel();
    parts.system.first_rows = Some(rows);
    let mut poller = start_pollers(clients, shown, suspension_requests, &parts);
    let ended = {
        let stop = async {
            tokio::select! {
                exit = signal => Ok(exit),
                () = hang_up::listen() => Ok(Exit::HungUp),
                fault = poller.wait_for_failure() => Err(fault),
                () = crash::wait_for_panic() => Err(eyre!("a background task of hoptop failed")),
            }
        };
        let mut screen = TerminalGuard::take()?;
        // The loop may be stuck in a write to a terminal that nobody reads.
        let on_interrupt = || forced_end::limit_graceful_shutdown(Exit::Success);
        let events = input::events(parts.clock.clone(), on_interrupt)?;
        run(&mut screen.terminal, events, parts, stop).await
    };
    let ended = match ended {
        Err(RunError::Terminal(_)) if hang_up::is_input_hung_up() => Ok(Exit::HungUp),
        Err(error) => Err(error.into()),
        // Without a signal, hang-up or failure, a person has quit.
        Ok(stopped) => stopped.unwrap_or(Ok(Exit::Success)),
    };
    // From here only stored answers and sent alerts can delay the end.
    forced_end::limit_graceful_shutdown(*ended.as_ref().unwrap_or(&Exit::Error));
    let exit = ended?;
    poller.stop_before(exit).await?;
    Ok(exit)
}

/// Starts the pollers, if any, once the first rows are `shown`: a poller first reads everything that is polled, which
/// would delay these rows. The pollers' task also suspends the program, even without pollers.
fn start_pollers(
    clients: Vec<(ServiceClient, PollerOptions<'_>)>,
    shown: oneshot::Receiver<()>,
    suspension: SuspendHandler,
    parts: &DashboardInputs,
) -> RunningPollers {
    /// The longest wait for the first rows. Without a drawn screen polling starts anyway.
    const MAX_WAIT: Duration = Duration::from_secs(1);
    let (clock, until) = (parts.clock.clone(), parts.clock.now().mono + MAX_WAIT);
    let start_signal = async move {
        tokio::select! {
            // If the dashboard ends before the first rows, the pollers don't start.
            Ok(()) = shown => {}
            () = clock.sleep_until(until) => {}
        }
    };
    RunningPollers::start_after(clients, start_signal, suspension, parts.store.clone(), parts.clock.clone())
}
