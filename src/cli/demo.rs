//! `hoptop demo`: the dashboard over a built-in simulated service and a throw-away store.
//!
//! Everything is real but the service: HTTP on loopback, the budget, the poller, the store.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal},
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use clap::Args;
use color_eyre::eyre::{Result, WrapErr, bail};

use super::{
    background_poller::{Place, Polling},
    dashboard, demo_id,
    exit::Exit,
    export::to_new_file,
    log, plain, theme,
};
use crate::{
    clock::{self, Clock},
    config::{ColorChoice, Flags},
    domain::{answer::Templates, operation::Operation},
    poller::Scope,
    sim::{
        server,
        service::{Limits, Service},
        world::World,
    },
    store::Store,
    tui::{
        keys::Keys,
        model::Setting,
        outside::{Outside, notice::Wanted},
        run::Parts,
    },
};

/// The requests per second of the demonstration's ID.
const RPS: f64 = 10.0;
const PROFILE: &str = "demo";

/// What the demonstration shows.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// The world: the same number, the same world
    #[arg(long, default_value_t = 7, value_name = "N")]
    seed: u64,
    /// How many transactions
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    transactions: u32,
    /// How many times as fast time passes (the budget stays real)
    #[arg(long, default_value_t = 1.0, value_name = "X", value_parser = speed)]
    speed: f64,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if (0.1..=100.0).contains(&speed) { Ok(speed) } else { Err("choose between 0.1 and 100".into()) }
}

/// Runs the demonstration until its person quits.
pub fn demo(args: &DemoArgs, flags: &Flags) -> Result<Exit> {
    let accessible = || std::env::var_os("ACCESSIBLE").is_some_and(|value| !value.is_empty() && value != "0");
    let is_plain = flags.plain || accessible();
    if !is_plain && (!io::stdout().is_terminal() || !io::stdin().is_terminal()) {
        bail!("the demonstration needs a terminal; without one try `hoptop simulate` and `hoptop watch`");
    }
    let folder =
        tempfile::Builder::new().prefix("hoptop-demo-").tempdir().wrap_err("no place for the demonstration's store")?;
    let store = Store::open(&folder.path().join("demo.db"))?;
    let clock = Clock::accelerated(args.speed);
    let log = Some(log::start(folder.path(), clock.clone())?);
    let start = clock.now().wall;
    let world = World::seeded(args.seed, args.transactions as usize, start);
    store.apply(Operation::Track { profile: PROFILE.into(), transactions: world.transfers() }, start).wait()?;
    let service = Arc::new(Mutex::new(Service::new(world, Limits { rps: RPS, ..Limits::default() })));
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let color = flags.color.unwrap_or(if no_color { ColorChoice::Never } else { ColorChoice::Auto });
    let theme = theme::of_environment(color, flags.ascii)?;
    let setting = Setting {
        profile: PROFILE.into(),
        beside: Vec::new(),
        shown_id: None,
        demo: true,
        polls: true,
        process: std::process::id(),
        zone: clock::local_offset(),
        any_chain: false,
        templates: Templates::default(),
        keys: Keys::default(),
        told_by: Vec::new(),
    };
    super::runtime()?.block_on(async {
        let listener = server::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let serving = tokio::spawn(server::serve(listener, service, clock.clone(), std::future::pending()));
        let polling = Polling::new(&url, demo_id()?, RPS)?;
        let place = Place { profile: PROFILE, weights: &BTreeMap::new(), state_dir: None, scope: Scope::Everything };
        let outside = Outside::process(None, true, (Wanted::Auto, false));
        if is_plain {
            let parts = plain::Parts { store, clock, setting, rps: RPS, ellipsis: theme.ellipsis };
            return tokio::select! {
                exit = plain::show(parts, vec![(polling, place)]) => exit,
                ended = serving => bail!("the simulated service ended: {ended:?}"),
            };
        }
        let parts = Parts { store, clock, setting, theme, outside, export: to_new_file, memory: None, log };
        tokio::select! {
            exit = dashboard::show(parts, vec![(polling, place)]) => exit,
            ended = serving => bail!("the simulated service ended: {ended:?}"),
        }
    })
}
