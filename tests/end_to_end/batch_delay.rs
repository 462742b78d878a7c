//! The delay of a batch over real HTTP: 150 transfers, imported at once, against a client that polls them in turn.
#![allow(clippy::disallowed_methods, reason = "measures delays in real time")]

use std::{
    collections::{HashMap, VecDeque},
    fmt::Write as _,
    io::{Read, Write as _},
    net::TcpStream,
    sync::{Mutex, MutexGuard},
    thread,
    time::{Duration, Instant},
};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Home, ID, SimulatorProcess};

const COUNT: usize = 150;
/// The limit of the ID, in requests per second.
const RPS: usize = 5;
/// The medians of the durations, in seconds, and the standard deviation of their logarithm.
const MEDIANS: (f64, f64) = (12.0, 72.0);
const SIGMA: f64 = 0.6;
/// The same for the time until the service knows a transfer.
const INDEXING: (f64, f64) = (7.0, 0.5);
/// The shortest time between two requests about one transfer.
const MIN_INTERVAL: Duration = Duration::from_secs(5);
/// The highest mean delay that is accepted, as a share of the delay of polling in turn.
const HIGHEST_RATIO: f64 = 0.74;

#[test]
#[ignore = "takes eight minutes"]
fn imported_batch_is_seen_sooner_than_by_polling_in_turn() {
    let ratio = |seed| {
        let transfers = transfers(seed);
        let (in_turn, own) = thread::scope(|scope| {
            let in_turn = scope.spawn(|| delay_in_turn(&transfers));
            let own = scope.spawn(|| delay_of_watch(&transfers));
            (in_turn.join().unwrap(), own.join().unwrap())
        });
        println!("seed {seed}: {own:.2} s, in turn {in_turn:.2} s, ratio {:.3}", own / in_turn);
        (own, in_turn)
    };
    let outcomes: Vec<(f64, f64)> = thread::scope(|scope| {
        let runs: Vec<_> = (1..=3).map(|seed| scope.spawn(move || ratio(seed))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let (own, in_turn) = outcomes.iter().fold((0.0, 0.0), |sum, outcome| (sum.0 + outcome.0, sum.1 + outcome.1));
    println!("ratio of the means: {:.3}", own / in_turn);
    assert!(own / in_turn <= HIGHEST_RATIO, "{outcomes:?}");
}

/// A transfer. Times are whole seconds from the start of the service.
struct TimedTransfer {
    hash: String,
    estimate: u64,
    indexed: u64,
    settles: u64,
}

fn transfers(seed: u64) -> Vec<TimedTransfer> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut lognormal = |median: f64, sigma: f64| {
        let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
        median * (sigma * radius * (std::f64::consts::TAU * random.random::<f64>()).cos()).exp()
    };
    let transfer = |number: usize| {
        let share = (number as f64 + 0.5) / COUNT as f64;
        let median = MEDIANS.0 + (MEDIANS.1 - MEDIANS.0) * share;
        let indexed = lognormal(INDEXING.0, INDEXING.1).ceil() as u64;
        let settles = (lognormal(median, SIGMA).round() as u64).max(indexed + 1);
        TimedTransfer {
            hash: format!("0x{:064x}", seed * 1_000 + number as u64),
            estimate: median.round() as u64,
            indexed,
            settles,
        }
    };
    (0..COUNT).map(transfer).collect()
}

/// Starts a service with these transfers. Returns it with the moment of its second 0.
fn start(transfers: &[TimedTransfer]) -> (SimulatorProcess, DateTime<Utc>, Instant) {
    let mut scenario = format!("[service]\nrps = {RPS}.0\nlatency_ms = 5\ncounts_from = \"start\"\n");
    for TimedTransfer { hash, indexed, settles, .. } in transfers {
        write!(
            scenario,
            "[[transaction]]\ntransactionId = \"{hash}\"\nfromChainId = \"42161\"\ntoChainId = \"8453\"\nquoteId = \"q\"\n\
             answers = [{{ from = 0, http = 404 }}, {{ from = {indexed}, status = \"ongoing\", steps = 1 }}, \
             {{ from = {settles}, status = \"success\", steps = 3 }}]\n"
        )
        .unwrap();
    }
    (SimulatorProcess::start(&scenario), Utc::now(), Instant::now())
}

/// Returns the mean delay in seconds of `hoptop watch` after an import.
fn delay_of_watch(transfers: &[TimedTransfer]) -> f64 {
    let (service, start, _) = start(transfers);
    let home = Home::new();
    let submitted = start.to_rfc3339_opts(SecondsFormat::Millis, true);
    let mut csv = "transactionId,fromChainId,toChainId,quoteId,estimatedRouteDuration,submittedAt\n".to_owned();
    for TimedTransfer { hash, estimate, .. } in transfers {
        writeln!(csv, "{hash},42161,8453,q,{estimate},{submitted}").unwrap();
    }
    home.import(&csv);
    let mut command = home.polling_command(&service.url, &["watch", "--json", "--until-settled"]);
    let ended = super::ProcessOutput::new(command.env("HOPTOP_RPS", RPS.to_string()).output().unwrap());
    ended.assert_exit(0, &[]);
    service.end_within_budget();
    let seen: HashMap<String, DateTime<Utc>> = ended
        .events()
        .iter()
        .filter(|event| event["event"] == "settled")
        .map(|event| {
            (event["transactionId"].as_str().unwrap().to_owned(), event["at"].as_str().unwrap().parse().unwrap())
        })
        .collect();
    assert_eq!(seen.len(), COUNT);
    mean_delay(transfers, |transfer| (seen[&transfer.hash] - start).as_seconds_f64())
}

/// Returns the mean delay in seconds of a client that polls the transfers in turn, with the same use of the limit. Each
/// worker of the client rests for a second after an answer.
fn delay_in_turn(transfers: &[TimedTransfer]) -> f64 {
    let (service, _, start) = start(transfers);
    let address = service.url.trim_start_matches("http://").to_owned();
    let waiting: Mutex<VecDeque<(usize, Instant)>> = Mutex::new((0..COUNT).map(|index| (index, start)).collect());
    let seen: Mutex<HashMap<usize, f64>> = Mutex::default();
    let work = |worker: usize| {
        // The workers begin apart from each other.
        thread::sleep(Duration::from_secs(1) / RPS as u32 * worker as u32);
        while lock(&seen).len() < COUNT {
            let next = lock(&waiting).pop_front();
            if let Some((index, from)) = next {
                thread::sleep(from.saturating_duration_since(Instant::now()));
                if is_settled(&address, &transfers[index].hash) {
                    lock(&seen).insert(index, start.elapsed().as_secs_f64());
                } else {
                    lock(&waiting).push_back((index, Instant::now() + MIN_INTERVAL));
                }
            }
            thread::sleep(Duration::from_secs(1));
        }
    };
    thread::scope(|scope| (0..RPS).for_each(|worker| drop(scope.spawn(move || work(worker)))));
    service.end_within_budget();
    let seen = lock(&seen);
    mean_delay(transfers, |transfer| seen[&transfers.iter().position(|other| other.hash == transfer.hash).unwrap()])
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

/// Asks the service for the status of a transfer.
fn is_settled(address: &str, hash: &str) -> bool {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /v2/status?transactionId={hash}&fromChainId=42161&toChainId=8453&quoteId=q HTTP/1.1\r\n\
         host: {address}\r\nx-integrator-id: {ID}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.contains(r#""routerTransactionStatus":"success""#)
}

/// Returns the mean of the seconds between settling and the moment at which it was seen.
fn mean_delay(transfers: &[TimedTransfer], seen_at: impl Fn(&TimedTransfer) -> f64) -> f64 {
    let delay = |transfer: &TimedTransfer| {
        let settles = TimeDelta::seconds(i64::try_from(transfer.settles).unwrap()).as_seconds_f64();
        let delay = seen_at(transfer) - settles;
        assert!(delay > -0.5, "{} was seen {delay} s after it settled", transfer.hash);
        delay
    };
    transfers.iter().map(delay).sum::<f64>() / transfers.len() as f64
}
