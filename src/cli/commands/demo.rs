//! `hoptop demo`: shows the dashboard with a built-in simulated service and a temporary store.
//!
//! Only the service is simulated: HTTP on loopback, the budget, the poller and the store are real. The command must
//! never contact a real service or read the settings of one.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use clap::Args;
use color_eyre::eyre::{Result, WrapErr, bail};
use tokio::net::TcpListener;

use super::{dashboard, export::to_new_file};
use crate::{
    api::Timeouts,
    chain_rpc::{ChainNodes, NodeSetting},
    cli::theme,
    clock::{self, Clock},
    config::{CommandLineSettings, Environment},
    domain::{ids::ChainId, notification::NotificationMode, operation::Operation, secret::IntegratorId},
    poller::PollScope,
    process,
    runtime::{
        background_poller::{PollerOptions, ServiceClient},
        exit::Exit,
        log_file, tokio_runtime,
    },
    sim::{
        chain_server, server,
        service::{ServiceLimits, SimulatedService},
        world::SimulatedWorld,
    },
    store::Store,
    tui::{model::DashboardSettings, run::DashboardInputs, system::System},
};

/// The limit of the demo's integrator ID, in requests per second.
const RPS: f64 = 10.0;
/// The only profile of the demo.
const PROFILE: &str = "demo";
/// The limit of all simulated nodes together, in requests per second: they share a host.
const NODE_RPS: f64 = 20.0;

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # 60 simulated transfers
  hoptop demo
  # More transfers, and time passes twenty times as fast
  hoptop demo --transactions 500 --speed 20
  # Other transfers; the same seed always gives the same ones
  hoptop demo --seed 8";

/// The arguments of `hoptop demo`.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// The seed of the simulation: the same seed gives the same transactions
    #[arg(long, default_value_t = 7, value_name = "N")]
    seed: u64,
    /// The number of transactions
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    transactions: u32,
    /// How many times faster the simulated time passes (the budget stays in real time)
    #[arg(long, default_value_t = 1.0, value_name = "X", value_parser = parse_speed)]
    speed: f64,
}

fn parse_speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.1..=100.0).contains(&speed) { Ok(speed) } else { Err("it must be between 0.1 and 100".into()) }
}

/// Runs the demo until the user quits.
pub(crate) fn demo(args: &DemoArgs, flags: &CommandLineSettings) -> Result<Exit> {
    let environment = Environment::process();
    let is_plain = flags.is_plain || environment.is_on("ACCESSIBLE");
    if !is_plain && !dashboard::has_terminal() {
        bail!("the demo needs a terminal; without one, use `hoptop simulate` and `hoptop watch`");
    }
    if !is_plain && dashboard::is_terminal_dumb() {
        bail!("TERM=dumb can't show the demo: use `hoptop demo --plain`");
    }
    let folder = tempfile::Builder::new()
        .prefix("hoptop-demo-")
        .tempdir()
        .wrap_err("the demo can't create its temporary store")?;
    let store = Store::open(&folder.path().join("demo.db"))?;
    // The user's state folder keeps the theme and whether the tour is finished: the demo's own folder is deleted.
    let view_state_path = environment.state_dir().map(|folder| folder.join("demo.json"));
    let clock = Clock::accelerated(args.speed);
    let log = Some(log_file::start(folder.path(), &folder.path().join("demo.db"), clock.clone())?);
    let start = clock.now().wall;
    let world = SimulatedWorld::demo(args.seed, args.transactions as usize, start);
    store.apply(Operation::Track { profile: PROFILE.into(), transactions: world.transfers() }, start).wait()?;
    let chains = world.clone();
    let service =
        Arc::new(Mutex::new(SimulatedService::new(world, ServiceLimits { rps: RPS, ..ServiceLimits::default() })));
    let color = flags.color.or_else(|| environment.color().map(|(color, _)| color)).unwrap_or_default();
    let theme = theme::load_from_environment(color, flags.is_ascii)?;
    let setting = DashboardSettings {
        is_demo: true,
        asks_chains: true,
        zone: clock::local_offset(),
        ..DashboardSettings::of_profile(PROFILE, process::run_id())
    };
    tokio_runtime::start()?.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let serving = tokio::spawn(server::serve(listener, service, clock.clone()));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let nodes = chain_nodes(&chains, listener.local_addr()?);
        let _chains = tokio::spawn(chain_server::serve(listener, chains, clock.clone()));
        // The simulated service accepts any ID.
        let mut client = ServiceClient::new(&url, IntegratorId::new("demo-integrator-demo")?, RPS)?;
        client.chain_nodes = Some(Arc::new(ChainNodes::new(nodes, Timeouts::default(), clock.clone())));
        let options = PollerOptions {
            profile: PROFILE,
            weights: &BTreeMap::new(),
            state_dir: None,
            scope: PollScope::Everything,
            team: None,
        };
        let system = System::process(None, true, NotificationMode::Auto, false);
        let parts = DashboardInputs { store, clock, setting, theme, system, export: to_new_file, view_state_path, log };
        tokio::select! {
            exit = dashboard::show(parts, vec![(client, options)], is_plain, RPS) => exit,
            ended = serving => bail!("the simulated service ended: {ended:?}"),
        }
    })
}

/// Returns the nodes of the simulated chains from which the world's transfers start.
fn chain_nodes(world: &SimulatedWorld, address: SocketAddr) -> Vec<NodeSetting> {
    let chains: BTreeSet<ChainId> = world.transfers().into_iter().map(|new| new.params.from_chain).collect();
    let node = |chain: ChainId| NodeSetting { url: Some(format!("http://{address}/{chain}")), chain, rps: NODE_RPS };
    // Only EVM chains have numbers.
    chains.into_iter().filter(|chain| chain.as_str().parse::<u64>().is_ok()).map(node).collect()
}
