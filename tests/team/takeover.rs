//! The machine that polls: the order of the ranks, the inheritance of the next holder, and the end of a holder without
//! lease.

#![allow(clippy::disallowed_methods, reason = "waits and measures in real time")]

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    cluster::Cluster,
    common::{Home, ScenarioBatch},
    figures::RunningProcess,
    server::{children, signal, wait_for, wait_within},
    service::CountingService,
    sharing::{machine, team},
};

const ONGOING: &str = r#"{ from = 0, status = "ongoing", steps = 1 }"#;
/// Longer than a machine needs to find out that one that comes first can poll.
const RANK_LIMIT: Duration = Duration::from_secs(80);
/// Longer than a failover.
const FAILOVER_LIMIT: Duration = Duration::from_secs(60);

/// Creates a machine with a rank.
fn ranked(cluster: &Cluster, rank: u8) -> Home {
    let home = machine(&cluster.url());
    home.configure(&format!("store = '{}'\n[team]\nrank = {rank}", cluster.url()));
    home
}

/// Returns the rank of the machine that polls and the epoch, once a machine polls.
fn holder(cluster: &Cluster) -> Option<(String, u64)> {
    let sql = "select member.rank, lease.epoch from hoptop.lease join hoptop.member on member.id = lease.holder";
    let row = cluster.execute(sql).pop()?;
    Some((row[0].clone(), row[1].parse().unwrap()))
}

#[test]
fn server_takes_over_from_a_laptop_and_gives_back_when_it_ends() {
    let Some(cluster) = team() else { return };
    let batch = ScenarioBatch::repeat(40, ONGOING);
    let service = CountingService::start(&batch.scenario);
    let [laptop, server] = [7, 0].map(|rank| ranked(&cluster, rank));
    laptop.import(&batch.csv);
    let _laptop = RunningProcess::start(&laptop, &service, 10, &["watch"]);
    wait_for("first polls", || (service.arrivals().len() > 5).then_some(()));
    let (_, first) = wait_for("laptop", || holder(&cluster).filter(|(rank, _)| rank == "7"));
    let mut server = RunningProcess::start(&server, &service, 10, &["watch"]);
    let (_, second) = wait_within(RANK_LIMIT, "server", || holder(&cluster).filter(|(rank, _)| rank == "0"));
    // The laptop released the lease, so that no machine had to wait for its expiry.
    assert_eq!(second, first + 1);
    let before = service.arrivals().len();
    wait_for("polls of the server", || (service.arrivals().len() > before + 5).then_some(()));
    // The laptop is a candidate again, and comes last.
    thread::sleep(Duration::from_secs(5));
    assert_eq!(holder(&cluster), Some(("0".to_owned(), second)));
    server.end();
    wait_for("laptop again", || holder(&cluster).filter(|(rank, epoch)| rank == "7" && *epoch == second + 1));
    assert!(service.most_in_a_second() <= 10);
}

#[test]
fn next_holder_inherits_the_rest_of_a_retry_after_and_the_cut_rate() {
    const REST: Duration = Duration::from_secs(20);
    let Some(cluster) = team() else { return };
    let throttled = r#"{ from = 5, http = 429, retry_after = "20" }, { from = 8, status = "ongoing", steps = 2 }"#;
    let batch = ScenarioBatch::repeat(60, &format!("{ONGOING}, {throttled}"));
    let service = CountingService::start(&batch.scenario);
    let machines = [(); 2].map(|()| machine(&cluster.url()));
    machines[0].import(&batch.csv);
    let holding = RunningProcess::start(&machines[0], &service, 10, &["watch"]);
    wait_for("first polls", || (service.arrivals().len() > 5).then_some(()));
    let _next = RunningProcess::start(&machines[1], &service, 10, &["watch"]);
    // A beat carries the pace into the database.
    wait_for("rest", || {
        let pace = cluster.execute("select coalesce(pace, '') from hoptop.lease")[0][0].clone();
        let pace: serde_json::Value = serde_json::from_str(&pace).ok()?;
        (pace["rest"].as_u64()? > 0 && pace["share"].as_u64()? < 1_000).then_some(())
    });
    let last = service.arrivals().last().unwrap().at;
    signal("KILL", &holding.processes());
    wait_within(FAILOVER_LIMIT, "next holder", || holder(&cluster).filter(|(_, epoch)| *epoch == 2));
    wait_within(FAILOVER_LIMIT, "polls", || {
        let arrivals = service.arrivals();
        (arrivals.last()?.at > last + REST + Duration::from_secs(5) && arrivals.len() > 50).then_some(())
    });
    thread::sleep(Duration::from_secs(4));
    let later: Vec<_> = service.arrivals().iter().map(|arrival| arrival.at).filter(|at| *at > last).collect();
    assert!(later[0] >= last + REST, "a request {:?} after the refusal", later[0].saturating_sub(last));
    let most = super::service::most_in_a_second(&later);
    assert!((5..=8).contains(&most), "{most} requests within a second at a rate of 7");
}

#[test]
fn poller_that_lost_its_lease_ends_and_a_new_one_takes_part_again() {
    let Some(cluster) = team() else { return };
    let batch = ScenarioBatch::repeat(60, ONGOING);
    let service = CountingService::start(&batch.scenario);
    let home = machine(&cluster.url());
    home.import(&batch.csv);
    let running = RunningProcess::start(&home, &service, 10, &["watch"]);
    wait_for("first polls", || (service.arrivals().len() > 5).then_some(()));
    let parent = running.processes()[0];
    let first = children(parent);
    assert_eq!(first.len(), 1);
    // As another machine takes the lease: it polls from 3.5 s later on.
    let since = Instant::now();
    cluster.execute("update hoptop.lease set epoch = epoch + 1, beat = 0, holder = gen_random_uuid()");
    wait_for("end of the first poller", || (!children(parent).contains(&first[0])).then_some(()));
    assert!(since.elapsed() < Duration::from_millis(3_500), "{:?}", since.elapsed());
    let before = service.arrivals().len();
    let second = wait_for("second poller", || children(parent).pop());
    assert_ne!(second, first[0]);
    wait_within(FAILOVER_LIMIT, "polls of the second one", || (service.arrivals().len() > before).then_some(()));
    // The other machine's silence of 5 s, and the time in which its last bytes may arrive.
    assert!(since.elapsed() > Duration::from_millis(8_500), "{:?}", since.elapsed());
    assert_eq!(cluster.execute("select epoch from hoptop.lease"), [["3"]]);
    assert!(service.most_in_a_second() <= 10);
}
