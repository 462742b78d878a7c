//! `hoptop simulate`: serves the simulated service over HTTP, to try hoptop or any other client.
//!
//! The command must never read the settings or the store.

use std::{
    fs,
    io::{self, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use chrono::{DateTime, Utc};
use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::{Result, WrapErr};
use tokio::net::TcpListener;

use crate::{
    cli::{completers, listen},
    clock::Clock,
    config,
    domain::{span, text, transaction::NewTransaction},
    runtime::{exit::Exit, signals, tokio_runtime},
    sim::{
        chain_server,
        scenario::Scenario,
        server,
        service::{ServiceLimits, SimulatedService},
        world::SimulatedWorld,
    },
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # 60 generated transactions at http://127.0.0.1:8080
  hoptop simulate
  # 500 transactions, also as a CSV file
  hoptop simulate --transactions 500 --batch b.csv
  # The answers of a scenario, on another port
  hoptop simulate --listen 9000 --scenario faults.toml";

/// The arguments of `hoptop simulate`.
#[derive(Args, Debug)]
pub(crate) struct SimulateArgs {
    /// The address to listen on; port 0 picks a free port
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDR", value_parser = listen::parse)]
    listen: SocketAddr,
    /// A scenario file: the answers of each transaction, and from which second each applies
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "transactions"], add = ArgValueCompleter::new(completers::files))]
    scenario: Option<PathBuf>,
    /// The seed of generated transactions: the same seed gives the same transactions
    #[arg(long, default_value_t = 7, value_name = "N")]
    seed: u64,
    /// The number of generated transactions
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    transactions: u32,
    /// Also serve simulated chain nodes: http://ADDR/CHAIN is the node of a chain, for `[chains.CHAIN]` in the config
    /// file
    #[arg(long, value_name = "ADDR", value_parser = listen::parse)]
    chain_listen: Option<SocketAddr>,
    /// Write the transactions as CSV for `hoptop import`, then serve
    #[arg(long, value_name = "FILE", add = ArgValueCompleter::new(completers::files))]
    batch: Option<PathBuf>,
}

/// Serves until a signal arrives, then prints the received requests. `rps` overrides the limit of each ID.
pub(crate) fn simulate(args: &SimulateArgs, rps: Option<f64>) -> Result<Exit> {
    let clock = Clock::system();
    let start = clock.now().wall;
    let (world, mut limits) = match &args.scenario {
        Some(path) => load_scenario(path, start)?,
        None => (SimulatedWorld::seeded(args.seed, args.transactions as usize, start), ServiceLimits::default()),
    };
    if let Some(rps) = rps {
        limits.rps = config::check_rps_flag(rps)?;
    }
    let transfers = world.transfers();
    let chains = world.clone();
    let service = Arc::new(Mutex::new(SimulatedService::new(world, limits)));
    tokio_runtime::start()?.block_on(async {
        let signal = signals::listen()?;
        let listener = TcpListener::bind(args.listen)
            .await
            .wrap_err_with(|| format!("can't listen on {}; choose another address with --listen", args.listen))?;
        if let Some(path) = &args.batch {
            write_batch(path, &transfers).wrap_err_with(|| format!("the batch {} can't be written", path.display()))?;
            let (count, path) = (transfers.len(), text::clean_path(path));
            writeln!(io::stdout(), "{count} transfers written to {path}, ready for `hoptop import`")?;
        }
        print_start(listen::reachable(listener.local_addr()?), transfers.len(), limits.rps, args.batch.as_deref())?;
        if let Some(address) = args.chain_listen {
            let listener = TcpListener::bind(address)
                .await
                .wrap_err_with(|| format!("can't listen on {address}; choose another address with --chain-listen"))?;
            let address = listen::reachable(listener.local_addr()?);
            writeln!(io::stdout(), "simulated chains on http://{address}: in the config file, for example:")?;
            writeln!(io::stdout(), "  [chains.42161]\n  rpc = \"http://{address}/42161\"")?;
            tokio::spawn(chain_server::serve(listener, chains, clock.clone()));
        }
        let exit = tokio::select! {
            served = server::serve(listener, Arc::clone(&service), clock) => return Ok(served.map(|()| Exit::Error)?),
            exit = signal => exit,
        };
        let report = service.lock().unwrap_or_else(PoisonError::into_inner).report();
        writeln!(io::stdout(), "{report}")?;
        Ok(exit)
    })
}

fn load_scenario(path: &Path, start: DateTime<Utc>) -> Result<(SimulatedWorld, ServiceLimits)> {
    let text = fs::read_to_string(path).wrap_err_with(|| format!("the scenario {} can't be read", path.display()))?;
    let scenario = Scenario::parse(&text).wrap_err_with(|| format!("the scenario {}", path.display()))?;
    Ok((scenario.world(start), scenario.limits()))
}

fn print_start(address: SocketAddr, transactions: usize, rps: f64, batch: Option<&Path>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let batch = batch.map_or_else(|| "BATCH.csv".to_owned(), text::clean_path);
    writeln!(
        out,
        "simulated service on http://{address}: {transactions} transactions, {rps} requests/s for each ID\n\
         every integrator ID is accepted except one that starts with `revoked`; in another terminal, for example:\n\
         \x20 export HOPTOP_BASE_URL=http://{address} HOPTOP_RPS={rps} HOPTOP_DB=try.db HOPTOP_INTEGRATOR_ID=any-id\n\
         \x20 hoptop import {batch} && hoptop\n\
         ^C stops the service and prints the number of requests"
    )?;
    out.flush()
}

/// The name of a column of a batch, and the function that returns its value.
type BatchColumn = (&'static str, fn(&NewTransaction) -> String);

/// The columns of a batch.
const BATCH_COLUMNS: [BatchColumn; 10] = [
    ("transactionId", |tx| tx.params.transaction_id.to_string()),
    ("fromChainId", |tx| tx.params.from_chain.to_string()),
    ("toChainId", |tx| tx.params.to_chain.to_string()),
    ("quoteId", |tx| tx.params.quote_id.clone()),
    ("requestId", |tx| tx.params.request_id.clone().unwrap_or_default()),
    ("estimatedRouteDuration", |tx| tx.params.estimate.map(|span| span.as_secs_f64().to_string()).unwrap_or_default()),
    ("submittedAt", |tx| tx.params.submitted_at.map(span::rfc3339).unwrap_or_default()),
    ("fromAddress", |tx| tx.params.from_address.clone().unwrap_or_default()),
    ("ticket", |tx| tx.params.ticket.clone().unwrap_or_default()),
    ("labels", |tx| tx.labels.join(";")),
];

fn write_batch(path: &Path, transfers: &[NewTransaction]) -> Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    writer.write_record(BATCH_COLUMNS.map(|(name, _)| name))?;
    for tx in transfers {
        writer.write_record(BATCH_COLUMNS.map(|(_, value)| value(tx)))?;
    }
    Ok(writer.flush()?)
}
