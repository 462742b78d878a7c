//! `hoptop`: the dashboard, polling unless it is told not to.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use color_eyre::eyre::{Result, WrapErr, bail, eyre};
use tokio::sync::oneshot;

use super::{
    args::Cli,
    background_poller::{Place, Polling, Running},
    checked, complain, crash,
    exit::Exit,
    export::to_new_file,
    hang_up,
    list::{self, ListArgs},
    log,
    maintenance::Maintenance,
    notifiers, plain,
    signals::{self, Suspension},
    theme, with_context,
};
use crate::{
    clock::{self, Clock},
    config::Settings,
    domain::text,
    metrics::Metrics,
    poller::Scope,
    tui::{
        input,
        keys::Keys,
        model::Setting,
        outside::{Outside, notice::Wanted},
        run::{Parts, RunError, run},
        terminal::Screen,
    },
};

/// What a person can do who can't poll yet.
const WITHOUT_POLLING: &str =
    "the dashboard can't poll (`hoptop --no-poll` shows what is tracked without polling, `hoptop demo` needs neither)";

/// Shows the dashboard; without a terminal it prints the list and says so.
pub fn dashboard(cli: &Cli, settings: &Settings) -> Result<Exit> {
    // Whoever asks for lines gets them in a pipe too; a variable that is set for good must not keep a script waiting.
    let is_plain = cli.global.flags().plain || settings.plain && io::stdout().is_terminal();
    let no_screen = if is_plain {
        None
    } else if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        Some("no terminal, so this is the list; `hoptop watch` polls without one")
    } else if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        Some("TERM=dumb can't show the dashboard, so this is the list; `hoptop --plain` polls and tells what changes")
    } else {
        None
    };
    if let Some(reason) = no_screen {
        complain(reason);
        if cli.metrics.is_some() {
            complain("no metrics are served without the dashboard; `hoptop watch --metrics ADDR` serves them");
        }
        return with_context(settings, true, |context| list::list(&ListArgs::default(), context));
    }
    let pollings = if cli.no_poll { Vec::new() } else { pollings(settings).wrap_err(WITHOUT_POLLING)? };
    let channels = notifiers::channels(settings)?;
    let log = Some(log::start(&settings.state_dir, Clock::system())?);
    let store = super::open(settings)?;
    let setting = Setting {
        profile: settings.profile.clone(),
        beside: settings.beside.iter().map(|account| account.profile.clone()).collect(),
        shown_id: pollings.first().map(|(polling, _)| polling.shown_id.clone()),
        demo: false,
        polls: !pollings.is_empty(),
        process: std::process::id(),
        zone: clock::local_offset(),
        any_chain: cli.any_chain,
        templates: settings.answer.clone(),
        keys: Keys::new(&settings.keys)?,
        told_by: notifiers::names(&channels),
    };
    let theme = theme::of(settings)?;
    let wanted = Wanted::NAMES.into_iter().find(|(name, _)| *name == settings.alerting.notify);
    let wanted = wanted.map_or(Wanted::Auto, |(_, wanted)| wanted);
    super::runtime()?.block_on(async {
        let clock = Clock::system();
        let _housekeeping = Maintenance::start(&store, settings.keep_bodies, &clock);
        let _keeper = store.schedule_backups(clock.clone())?;
        let requests = pollings.first().map(|(polling, _)| polling.requests.clone()).unwrap_or_default();
        let profiles = setting.profiles().map(str::to_owned).collect();
        let _metrics = Metrics::serve(cli.metrics, (&store, profiles), &requests, &clock).await?;
        let heralds = notifiers::start_all((settings, setting.profiles()), &store, &clock).await?;
        if is_plain {
            let parts = plain::Parts { store, clock, setting, rps: settings.rps, ellipsis: theme.ellipsis };
            let ended = plain::show(parts, pollings).await;
            notifiers::take_leave(heralds, &ended).await;
            return ended;
        }
        let outside = Outside::process(settings.clipboard.clone(), settings.mouse, (wanted, settings.alerting.bell));
        let memory = Some(settings.state_dir.join("view.json"));
        let parts = Parts { store, clock, setting, theme, outside, export: to_new_file, memory, log };
        let ended = show(parts, pollings).await;
        notifiers::take_leave(heralds, &ended).await;
        ended
    })
}

/// What polling needs for the profile in force, and for each that is polled beside it.
fn pollings(settings: &Settings) -> Result<Vec<(Polling, Place<'_>)>> {
    let place = Place::of(settings, Scope::Everything);
    let own = super::polling(settings)?;
    let requests = own.requests.clone();
    let mut pollings = vec![(own, place)];
    for account in &settings.beside {
        let of_account = || format!("profile {}", text::clean(&account.profile));
        let mut polling = checked(account.polling()).wrap_err_with(of_account)?;
        // All of them are counted together.
        polling.requests = requests.clone();
        if let Some((other, place)) = pollings.iter().find(|(other, _)| other.contradicts(&polling)) {
            let (name, other_name) = (text::clean(&account.profile), text::clean(place.profile));
            let (limit, other_limit) = (polling.rps(), other.rps());
            bail!(
                "profiles {other_name} and {name} have the same ID, and different limits for it: {other_limit} and {limit} requests/s"
            );
        }
        pollings.push((polling, Place { profile: &account.profile, ..place }));
    }
    Ok(pollings)
}

/// What ended the dashboard, other than its person.
enum Ended {
    Signal(Exit),
    Fault(color_eyre::Report),
}

/// Runs the dashboard on the terminal, and a poller beside it; then stops that, which keeps what is under way.
pub async fn show(mut parts: Parts, pollings: Vec<(Polling, Place<'_>)>) -> Result<Exit> {
    let signal = signals::listen()?;
    let (suspension, carrying_out) = Suspension::ordered()?;
    parts.outside.suspension = Some(suspension);
    crash::rehearse(&parts.clock);
    let (rows, shown) = oneshot::channel();
    parts.outside.first_rows = Some(rows);
    let mut poller = start((pollings, shown, carrying_out), &parts);
    let ended = {
        let fault = async {
            match &mut poller {
                Some(poller) => poller.fault().await,
                None => std::future::pending().await,
            }
        };
        let stop = async {
            tokio::select! {
                exit = signal => Ended::Signal(exit),
                () = hang_up::listen() => Ended::Signal(Exit::HungUp),
                fault = fault => Ended::Fault(fault),
                () = crash::beside() => Ended::Fault(eyre!("a part of hoptop failed")),
            }
        };
        let mut screen = Screen::take()?;
        run(&mut screen.terminal, input::events()?, parts, stop).await
    };
    match ended {
        Err(RunError::Terminal(_)) if hang_up::is_gone(false) => stop(poller, Exit::HungUp).await,
        Err(error) => Err(error.into()),
        Ok(Some(Ended::Fault(fault))) => Err(fault),
        Ok(Some(Ended::Signal(exit))) => stop(poller, exit).await,
        Ok(None) => stop(poller, Exit::Fine).await,
    }
}

/// Starts the pollers, if there are to be any, once the first rows are `shown`: they read all that is polled, and a person waits
/// for those. Whoever polls also carries out what suspends the program.
fn start(
    (pollings, shown, mut suspension): (Vec<(Polling, Place<'_>)>, oneshot::Receiver<()>, Suspension),
    parts: &Parts,
) -> Option<Running> {
    /// If nothing can be drawn, it polls all the same.
    const PATIENCE: Duration = Duration::from_secs(1);
    if !pollings.is_empty() {
        let (clock, until) = (parts.clock.clone(), parts.clock.now().mono + PATIENCE);
        let begin = async move {
            tokio::select! {
                // If it ends before there are rows, nothing is begun.
                Ok(()) = shown => {}
                () = clock.sleep_until(until) => {}
            }
        };
        let polling = (pollings, begin, suspension);
        return Some(Running::start_under(polling, parts.store.clone(), parts.clock.clone()));
    }
    tokio::spawn(async move {
        loop {
            suspension.wanted().await;
            suspension.carry_out().await;
        }
    });
    None
}

/// Stops the poller. Who hangs up isn't there to wait for what is under way.
async fn stop(poller: Option<Running>, exit: Exit) -> Result<Exit> {
    /// With what follows it is over within two seconds.
    const HURRY: Duration = Duration::from_secs(1);
    match (poller, exit) {
        (None, _) => {}
        (Some(poller), Exit::HungUp) => match tokio::time::timeout(HURRY, poller.stop()).await {
            Ok(stopped) => stopped?,
            Err(_) => tracing::warn!("it hung up before the last answers came"),
        },
        (Some(poller), _) => poller.stop().await?,
    }
    Ok(exit)
}
