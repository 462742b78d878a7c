//! The figures of a team's store: the time of a failover, the delay of an answer on all machines, the cost of a first
//! start.
//!
//! All are ignored by default, and meant for a release build: `cargo test --release --test team -- --ignored figures`.

#![allow(clippy::disallowed_methods, reason = "waits and measures in real time")]

use std::{
    collections::{HashMap, VecDeque},
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use hoptop::internals::{
    clock::Clock,
    domain::{Nonce, TeamAddress},
    store::{Receipt, Store},
    team::{self as team_store, Connector, Fence, HolderId, MemberPresence, PasswordSources, SessionOptions},
};
use serde_json::Value;
use tokio::sync::watch;

use super::{
    cluster::{Cluster, execute_at},
    common::{Home, ScenarioBatch},
    material,
    server::{children, signal, wait_for},
    service::CountingService,
    sharing::{checksums, machine, team},
};

const ONGOING: &str = r#"{ from = 0, status = "ongoing", steps = 1 }"#;

/// A process of a machine, which is killed with its poller when the value is dropped.
pub(super) struct RunningProcess(Child);

impl RunningProcess {
    /// Starts a command with a limit, in requests per second.
    pub(super) fn start(home: &Home, service: &CountingService, rps: usize, words: &[&str]) -> Self {
        let mut command = home.polling_command(service.url(), words);
        command.env("HOPTOP_RPS", rps.to_string()).stdin(Stdio::piped()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    /// Returns the process and its poller.
    pub(super) fn processes(&self) -> Vec<u32> {
        [vec![self.0.id()], children(self.0.id())].concat()
    }

    pub(super) fn end(&mut self) {
        signal("TERM", &[self.0.id()]);
        wait_for("end", || self.0.try_wait().unwrap());
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        signal("KILL", &self.processes());
        self.0.wait().unwrap();
    }
}

/// Waits for the next request, and returns the time until it came.
fn until_next_request(service: &CountingService, since: Instant) -> Duration {
    let before = service.arrivals().len();
    wait_for("request", || (service.arrivals().len() > before).then_some(()));
    since.elapsed()
}

fn polls_of(cluster: &Cluster) -> String {
    cluster.execute("select epoch from hoptop.lease")[0][0].clone()
}

#[test]
#[ignore = "a figure: takes two minutes"]
fn figures_of_a_failover_and_a_handover() {
    let Some(cluster) = team() else { return };
    let batch = ScenarioBatch::repeat(40, ONGOING);
    let service = CountingService::start(&batch.scenario);
    let machines = [(); 2].map(|()| machine(&cluster.url()));
    machines[0].import(&batch.csv);
    let watch = |home: &Home| RunningProcess::start(home, &service, 10, &["watch"]);
    let mut holder = watch(&machines[0]);
    wait_for("first polls", || (service.arrivals().len() > 5).then_some(()));
    let mut longest = [Duration::ZERO; 2];
    for round in 1..=10 {
        let (is_clean, home) = (round % 2 == 0, &machines[round % 2]);
        let next = watch(home);
        // The candidate has to have seen the holder's beats.
        thread::sleep(Duration::from_secs(4));
        let epoch = polls_of(&cluster);
        let since = Instant::now();
        if is_clean {
            holder.end();
        } else {
            signal("KILL", &holder.processes());
        }
        // Requests that were under way have arrived.
        wait_for("next holder", || (polls_of(&cluster) != epoch).then_some(()));
        let took = until_next_request(&service, since);
        eprintln!("{}: {} ms", if is_clean { "handover" } else { "failover" }, took.as_millis());
        longest[usize::from(is_clean)] = longest[usize::from(is_clean)].max(took);
        holder = next;
    }
    let [failover, handover] = longest;
    assert!(failover <= Duration::from_secs(10), "failover {failover:?}");
    assert!(handover <= Duration::from_secs(2), "handover {handover:?}");
    assert!(service.most_in_a_second() <= 10);
}

/// Returns the time from each answer at the service to the line about it on each of `count` machines, in order.
fn delays(cluster: &Cluster, count: usize, rps: usize, seconds: u64) -> Vec<Duration> {
    let batch = ScenarioBatch::repeat(400, ONGOING);
    let scenario = batch.scenario.replace("rps = 10.0\nlatency_ms = 20", &format!("rps = {rps}.0\nlatency_ms = 0"));
    let service = CountingService::start(&scenario);
    let holder = machine(&cluster.url());
    holder.import(&batch.csv);
    let mut polling = RunningProcess::start(&holder, &service, rps, &["watch"]);
    wait_for("first polls", || (service.arrivals().len() > rps).then_some(()));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let replicas: Vec<_> = (0..count)
        .map(|_| {
            let home = machine(&cluster.url());
            let mut running = RunningProcess::start(&home, &service, rps, &["watch", "--json", "--verbose"]);
            let (out, seen) = (running.0.stdout.take().unwrap(), Arc::clone(&seen));
            thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    let now = Instant::now();
                    let event: Value = serde_json::from_str(&line).unwrap();
                    if event["event"] == "polled" {
                        let hash = event["transactionId"].as_str().unwrap().to_owned();
                        seen.lock().unwrap().push((hash, now));
                    }
                }
            });
            (home, running)
        })
        .collect();
    thread::sleep(Duration::from_secs(10));
    let from = Instant::now();
    thread::sleep(Duration::from_secs(seconds));
    let until = Instant::now();
    thread::sleep(Duration::from_secs(2));
    let mut answered: HashMap<String, Vec<Instant>> = HashMap::new();
    for answer in service.answers() {
        answered.entry(answer.hash).or_default().push(answer.at);
    }
    let mut delays: Vec<Duration> = Vec::new();
    for (hash, shown) in seen.lock().unwrap().iter() {
        let answers = answered.get(hash).map_or(&[][..], Vec::as_slice);
        // The newest answer before the line: no transaction is asked about again within a second.
        let last = answers.partition_point(|at| at <= shown).checked_sub(1).map(|index| answers[index]);
        if let Some(at) = last.filter(|at| (from..until).contains(at)) {
            delays.push(*shown - at);
        }
    }
    polling.end();
    drop(replicas);
    delays.sort();
    delays
}

#[test]
#[ignore = "a figure: takes a minute"]
fn figures_of_an_answer_on_twenty_replicas() {
    let Some(cluster) = team() else { return };
    for rps in [10, 50] {
        let delays = delays(&cluster, 20, rps, 20);
        let at = |share: f64| delays[((delays.len() - 1) as f64 * share) as usize].as_millis();
        eprintln!("{rps}/s on 20 replicas: {} lines, median {} ms, p99 {} ms", delays.len(), at(0.5), at(0.99));
        assert!(delays.len() > rps && at(0.99) <= 150, "p99 {} ms", at(0.99));
        cluster.execute("delete from hoptop.lease");
    }
}

/// Returns the median time of `hoptop check` for one transaction.
fn median_check(home: &Home, service: &CountingService, hash: &str) -> Duration {
    let mut took: Vec<_> = (0..11)
        .map(|_| {
            // A transaction is polled at most every 5 s.
            thread::sleep(Duration::from_secs(6));
            let since = Instant::now();
            let output = home.polling_command(service.url(), &["check", hash]).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            since.elapsed()
        })
        .collect();
    took.sort();
    took[took.len() / 2]
}

#[test]
#[ignore = "a figure: takes three minutes"]
fn figures_of_a_check_that_another_machine_carries_out() {
    let Some(cluster) = team() else { return };
    // The last answer is old enough each time.
    let batch = ScenarioBatch::repeat(1, ONGOING);
    let service = CountingService::start(&batch.scenario);
    let [alone, holder, asking] = [Home::new(), machine(&cluster.url()), machine(&cluster.url())];
    alone.import(&batch.csv);
    holder.import(&batch.csv);
    let hash = alone.list()[0]["transactionId"].as_str().unwrap().to_owned();
    let by_itself = median_check(&alone, &service, &hash);
    let polling = RunningProcess::start(&holder, &service, 10, &["watch"]);
    wait_for("first poll", || (service.arrivals().len() > 11).then_some(()));
    holder.run(&["untrack", &hash]).assert_exit(0, &[]);
    let through_the_holder = median_check(&asking, &service, &hash);
    drop(polling);
    eprintln!("check: {} ms alone, {} ms in a team", by_itself.as_millis(), through_the_holder.as_millis());
    assert!(through_the_holder <= by_itself + Duration::from_millis(300));
}

/// Makes a store a replica of the cluster's log. With a fence it may write answers.
fn replica(cluster: &Cluster, path: &Path, fence: Option<Fence>) -> Store {
    let connector = Connector::new(TeamAddress::parse(&cluster.url()).unwrap(), PasswordSources::default()).unwrap();
    let presence = MemberPresence {
        id: Nonce(rand::random()),
        person_name: None,
        host: "here".into(),
        polls: Vec::new(),
        rank: 5,
    };
    let fence = fence.map(|fence| watch::channel(Some(fence)).1);
    team_store::start(
        Store::open(path).unwrap(),
        SessionOptions { connector, presence, is_light: false, fence },
        Clock::system(),
    )
    .unwrap()
}

/// Returns the number of the last entry that a replica has applied.
fn applied(replica: &Store) -> u64 {
    replica.team().unwrap().borrow().applied
}

#[test]
#[ignore = "a figure: takes a minute"]
fn figures_of_answers_through_the_log() {
    const TRANSACTIONS: usize = 10_000;
    const IN_FLIGHT: usize = 256;
    let Some(cluster) = team() else { return };
    let holder_id: u128 = rand::random();
    let lease = format!("insert into hoptop.lease values ('bench', '{}', 1, 0, null, null)", Nonce(holder_id));
    cluster.execute(&lease);
    let fence = Fence { lease_key: "bench".into(), holder: HolderId(holder_id), epoch: 1 };
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [holder_path, follower_path] = folders.each_ref().map(|folder| folder.path().join("hoptop.db"));
    let (holder, follower) = (replica(&cluster, &holder_path, Some(fence)), replica(&cluster, &follower_path, None));
    let start = Clock::system().now().wall;
    let world = material::world(11, TRANSACTIONS, start);
    let transfers = world.transfers();
    material::track(&holder, transfers.clone(), start);
    let mut answers: Vec<_> = transfers.iter().flat_map(|new| material::answers(&world, new, start)).collect();
    answers.sort_by_key(|answer| answer.at);
    let (count, since) = (answers.len() as f64, Instant::now());
    let mut in_flight = VecDeque::new();
    for answer in answers {
        if in_flight.len() >= IN_FLIGHT {
            in_flight.pop_front().map(Receipt::wait).transpose().unwrap();
        }
        in_flight.push_back(answer.submit(&holder));
    }
    in_flight.into_iter().for_each(|receipt| drop(receipt.wait().unwrap()));
    let appended = since.elapsed().as_secs_f64();
    wait_for("the follower", || (applied(&follower) == applied(&holder)).then_some(()));
    let everywhere = since.elapsed().as_secs_f64();
    eprintln!("{:.0} answers/s into the log, {:.0} applied by another replica", count / appended, count / everywhere);
    assert!(count / everywhere >= 2_000.0, "{:.0} answers/s", count / everywhere);
    let sums = [&holder, &follower].map(|store| store.reader().unwrap().checksums().unwrap());
    assert_eq!(sums[0], sums[1]);
}

#[test]
#[ignore = "a figure: takes a minute"]
fn figures_of_answers_a_second() {
    let Some(cluster) = team() else { return };
    let batch = ScenarioBatch::repeat(20_000, ONGOING);
    let scenario = batch.scenario.replace("rps = 10.0\nlatency_ms = 20", "rps = 1000.0\nlatency_ms = 0");
    let service = CountingService::start(&scenario);
    let [holder, replica] = [(); 2].map(|()| machine(&cluster.url()));
    holder.import(&batch.csv);
    let polling = RunningProcess::start(&holder, &service, 1000, &["watch"]);
    let following = RunningProcess::start(&replica, &service, 1000, &["watch"]);
    let head = || cluster.execute("select seq from hoptop.head")[0][0].parse::<u64>().unwrap();
    wait_for("first polls", || (service.arrivals().len() > 2_000).then_some(()));
    let (before, first, since) = (service.arrivals().len(), head(), Instant::now());
    thread::sleep(Duration::from_secs(15));
    let (sent, entries) = (service.arrivals().len() - before, head() - first);
    let seconds = since.elapsed().as_secs_f64();
    eprintln!("{:.0} answers/s in {:.0} entries/s", sent as f64 / seconds, entries as f64 / seconds);
    drop((polling, following));
    assert_eq!(checksums(&holder), checksums(&replica));
}

#[test]
#[ignore = "a figure: takes minutes"]
fn figures_of_a_first_start() {
    for count in [100_000_usize, 1_000_000] {
        let Some(cluster) = team() else { return };
        let service = CountingService::start(&ScenarioBatch::repeat(1, ONGOING).scenario);
        let first = machine(&cluster.url());
        let mut csv = String::from("transactionId,fromChainId,toChainId,quoteId\n");
        for number in 0..count {
            csv += &format!(
                "0x{:064x},1,42161,q{number}\n",
                (number as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060)
            );
        }
        let since = Instant::now();
        first.import(&csv);
        eprintln!("import of {count}: {:.1} s", since.elapsed().as_secs_f64());
        let mut polling = RunningProcess::start(&first, &service, 1, &["watch"]);
        let snapshots = || cluster.execute("select count(*), coalesce(sum(bytes), 0) from hoptop.snapshot").remove(0);
        let limit = Instant::now() + Duration::from_secs(300);
        while snapshots()[0] == "0" {
            assert!(Instant::now() < limit, "no snapshot");
            thread::sleep(Duration::from_millis(200));
        }
        eprintln!("snapshot of {count}: {} bytes", snapshots()[1]);
        polling.end();
        let head = cluster.execute("select seq from hoptop.head")[0][0].parse::<u64>().unwrap();
        let late = machine(&cluster.url());
        let since = Instant::now();
        let starting = RunningProcess::start(&late, &service, 1, &["watch"]);
        let replica = late.path().join("hoptop.db");
        let limit = Instant::now() + Duration::from_secs(300);
        while position(&replica) < head {
            assert!(Instant::now() < limit, "the replica lacks entries");
            thread::sleep(Duration::from_millis(20));
        }
        let took = since.elapsed().as_secs_f64();
        drop(starting);
        let rows = rows(&replica);
        eprintln!("first start with a snapshot of {count}: {took:.1} s");
        assert_eq!(rows, count);
        let limit = if count > 100_000 { 60.0 } else { 8.0 };
        assert!(took <= limit, "first start: {took:.1} s");
    }
}

fn rows(replica: &Path) -> usize {
    let db = rusqlite::Connection::open_with_flags(replica, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    db.query_row("SELECT count(*) FROM transactions", [], |row| row.get(0)).unwrap()
}

/// Returns the number of the last entry that a replica has applied; 0 if it is empty.
fn position(replica: &Path) -> u64 {
    let Ok(db) = rusqlite::Connection::open_with_flags(replica, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY) else {
        return 0;
    };
    db.query_row("SELECT seq FROM replica", [], |row| row.get(0)).unwrap_or(0)
}

#[test]
#[ignore = "a figure: takes a minute"]
fn figures_of_an_idle_viewer() {
    let Some(cluster) = team() else { return };
    let service = CountingService::start(&ScenarioBatch::repeat(1, ONGOING).scenario);
    let home = machine(&cluster.url());
    let viewer = RunningProcess::start(&home, &service, 1, &["--plain", "--no-poll"]);
    let commits = || {
        let sql = "select xact_commit + xact_rollback from pg_stat_database where datname = 'hoptop'";
        // A connection of its own counts as well; it reads another database.
        execute_at(&cluster.superuser_url().replace("/hoptop", "/postgres"), sql).unwrap()[0][0].parse::<u64>().unwrap()
    };
    thread::sleep(Duration::from_secs(5));
    let before = commits();
    thread::sleep(Duration::from_secs(60));
    let statements = (commits() - before) as f64 / 60.0;
    let sql = "select count(*) from pg_stat_activity where datname = 'hoptop' and backend_type = 'client backend'";
    let postgres = cluster.superuser_url().replace("/hoptop", "/postgres");
    let connections = execute_at(&postgres, sql).unwrap()[0][0].clone();
    drop(viewer);
    eprintln!("an idle viewer: {connections} connections, {statements:.2} statements/s");
    assert!(connections == "1" && statements <= 0.3);
}
