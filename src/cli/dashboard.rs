//! `hoptop`: the dashboard, polling unless it is told not to.

use std::io::{self, IsTerminal};

use color_eyre::eyre::{Result, WrapErr};
use crossterm::event::EventStream;

use super::{
    args::Cli,
    complain,
    exit::Exit,
    export::to_new_file,
    housekeeping::Housekeeping,
    list::{self, ListArgs},
    log,
    session::{Place, Running},
    signals, with_context,
};
use crate::{
    clock::{self, Clock},
    config::{ColorChoice, Settings},
    poller::Scope,
    tui::{
        keys::Keys,
        model::Setting,
        run::{Parts, run},
        terminal::{self, Screen},
        theme::Theme,
    },
};

/// What a person can do who can't poll yet.
const WITHOUT_POLLING: &str =
    "the dashboard can't poll (`hoptop --no-poll` shows what is tracked without polling, `hoptop demo` needs neither)";

/// Shows the dashboard; without a terminal it prints the list and says so.
pub fn dashboard(cli: &Cli, settings: &Settings) -> Result<Exit> {
    let no_screen = if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        Some("no terminal, so this is the list; `hoptop watch` polls without one")
    } else if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        Some("TERM=dumb can't show the dashboard, so this is the list; `hoptop watch` polls without one")
    } else if settings.plain {
        Some("plain output, so this is the list; `hoptop watch` polls and prints what changes")
    } else {
        None
    };
    if let Some(reason) = no_screen {
        complain(reason);
        return with_context(settings, |context| list::list(&ListArgs::default(), context));
    }
    let polling = if cli.no_poll { None } else { Some(super::polling(settings).wrap_err(WITHOUT_POLLING)?) };
    log::start(&settings.state_dir)?;
    let store = super::open(settings)?;
    let setting = Setting {
        profile: settings.profile.clone(),
        shown_id: polling.as_ref().map(|polling| polling.shown_id.clone()),
        demo: false,
        polls: polling.is_some(),
        process: std::process::id(),
        zone: clock::local_offset(),
        any_chain: cli.any_chain,
        templates: settings.answer.clone(),
        keys: Keys::new(&settings.keys)?,
    };
    let theme = Theme::new(settings.color != ColorChoice::Never, settings.ascii);
    super::runtime()?.block_on(async {
        let clock = Clock::system();
        let _housekeeping = Housekeeping::start(&store, settings.keep_bodies, &clock);
        let _keeper = store.keep_backups(clock.clone())?;
        let place = Place::of(settings, Scope::Everything);
        let start = |polling| Running::start(polling, store.clone(), clock.clone(), place);
        let poller = polling.map(start).transpose()?;
        let memory = Some(settings.state_dir.join("view.json"));
        let parts = Parts { store, clock, setting, theme, clipboard: terminal::copy, export: to_new_file, memory };
        show(parts, poller).await
    })
}

/// What ended the dashboard, other than its person.
enum Ended {
    Signal(Exit),
    Fault(color_eyre::Report),
}

/// Runs the dashboard on the terminal; then stops the poller, which keeps what is under way.
pub async fn show(parts: Parts, mut poller: Option<Running>) -> Result<Exit> {
    let signal = signals::listen()?;
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
                fault = fault => Ended::Fault(fault),
            }
        };
        let mut screen = Screen::take()?;
        run(&mut screen.terminal, EventStream::new(), parts, stop).await
    };
    match ended? {
        Some(Ended::Fault(fault)) => Err(fault),
        Some(Ended::Signal(exit)) => stop(poller).await.map(|()| exit),
        None => stop(poller).await.map(|()| Exit::Fine),
    }
}

async fn stop(poller: Option<Running>) -> Result<()> {
    match poller {
        Some(poller) => poller.stop().await,
        None => Ok(()),
    }
}
