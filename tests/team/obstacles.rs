//! Obstacles for a machine: a suspended process of its own, a full disk of the database, and a newer program. Also a
//! store that is moved into the team's while the machine is connected.

#![allow(clippy::disallowed_methods, reason = "waits in real time")]

use std::{
    io::Write,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{
    cluster::Cluster,
    common::{HEADER, Home, ProgramProcess, ScenarioBatch},
    proxy::{Proxy, ProxyMode},
    server::{skip, wait_for},
    service::CountingService,
    sharing::{add, checksums, hash, initialised, machine, team},
};

/// Whether a process holds the lock under which one process of the machine appends to the log.
fn log_is_locked(home: &Home) -> bool {
    let path = home.path().join("hoptop.db.log-team");
    std::fs::File::open(path).is_ok_and(|file| file.try_lock_shared().is_err())
}

/// Whether a condition is true at some moment within a time.
fn is_true_within(limit: Duration, condition: impl Fn() -> bool) -> bool {
    let since = Instant::now();
    while since.elapsed() < limit {
        if condition() {
            return true;
        }
        thread::park_timeout(Duration::from_millis(5));
    }
    false
}

/// Returns a row of a batch with this transaction.
fn row(number: usize) -> String {
    format!("{},1,42161,q,,,,\n", hash(number))
}

#[test]
fn suspended_process_that_holds_the_log_holds_up_no_other_process_of_its_machine() {
    let Some(cluster) = team() else { return };
    let service =
        CountingService::start(&ScenarioBatch::repeat(1, r#"{ from = 0, status = "ongoing", steps = 1 }"#).scenario);
    let proxy = Proxy::start(cluster.address());
    let [home, other] = [(); 2].map(|()| machine(&cluster.url()));
    add(&other, 1).assert_exit(0, &[]);
    // The process reaches the database by a way of its own, on which its write is held. Nobody polls.
    cluster.execute("create role writer login; grant hoptop_member to writer");
    let store = format!("postgres://writer@{}/hoptop", proxy.address());
    let mut command = home.polling_command(service.url(), &["--store", &store, "watch", "-", "--json"]);
    command.stdin(Stdio::piped());
    let mut watch = ProgramProcess::start(command);
    watch.send(HEADER);
    watch.send(&row(2));
    watch.read_events_until("imported", 1);
    let last = (3..8).find(|number| {
        proxy.set_mode(ProxyMode::Blackhole);
        watch.send(&row(*number));
        // Unless another request was on the way at this moment, which needs no lock.
        let is_locked = is_true_within(Duration::from_secs(5), || log_is_locked(&home));
        if !is_locked {
            proxy.set_mode(ProxyMode::Pass);
        }
        is_locked
    });
    let last = last.unwrap();
    watch.signal("STOP");
    proxy.set_mode(ProxyMode::Pass);
    // The others read, write and apply the log nevertheless, a little later.
    let has = |home: &Home, number: usize| home.list().iter().any(|tx| tx["transactionId"] == hash(number).as_str());
    add(&other, 101).assert_exit(0, &[]);
    wait_for("what another machine wrote", || has(&home, 101).then_some(()));
    add(&home, 102).assert_exit(0, &[]);
    assert!(log_is_locked(&home), "the suspended process holds the lock");
    assert_eq!(checksums(&home), checksums(&other));
    watch.signal("CONT");
    wait_for("writes of the suspended process", || (3..=last).all(|number| has(&other, number)).then_some(()));
    add(&home, 103).assert_exit(0, &[]);
    drop(watch);
    assert_eq!((home.list().len(), checksums(&home)), (last + 3, checksums(&other)));
}

#[test]
fn full_disk_of_the_database_is_reported_and_reading_continues() {
    let Some(mut cluster) = Cluster::start_on_own_disk().map(initialised) else { return };
    if !cluster.has_own_disk() {
        return skip("this user may not mount a disk");
    }
    let home = machine(&cluster.url());
    add(&home, 1).assert_exit(0, &[]);
    cluster.fill_disk();
    // More than the pages that exist have space for.
    let noise =
        |number: usize| format!("{:032x}", (number as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
    let rows = (1..4_000).map(|number| format!("0x{}{},1,42161,q,,,,\n", noise(number), noise(number + 10_000)));
    let batch = home.write("batch.csv", &(HEADER.to_owned() + &rows.collect::<String>()));
    let refused = home.run(&["import", &batch]);
    refused.assert_exit(1, &["nothing was saved: the disk of the team's database is full: ", "must free space"]);
    assert_eq!(home.list().len(), 1);
    cluster.free_disk();
    wait_for("write", || (home.run(&["import", &batch]).code == Some(0)).then_some(()));
    assert_eq!((home.list().len(), checksums(&home)), (4_000, checksums(&machine(&cluster.url()))));
}

/// Appends an entry with one operation, as a program of this format writes it.
fn append_as(cluster: &Cluster, format: u32, operation: &str) {
    let line = format!(r#"{{"format":{format},"at":"2026-01-01T00:00:00Z","author":null,"operation":{operation}}}"#);
    let packed = zstd::encode_all(format!("{line}\n").as_bytes(), 3).unwrap();
    let bytes: String = [0].iter().chain(&packed).map(|byte| format!("{byte:02x}")).collect();
    let sql = format!("select hoptop.append(gen_random_uuid(), {format}, '\\x{bytes}', null, null, null)");
    super::cluster::execute_at(&cluster.url(), &sql).unwrap();
}

const TOO_OLD: &str =
    "update hoptop on this machine: the team's store has format 13 and this hoptop knows formats up to 12";

#[test]
fn older_program_says_that_it_is_too_old_and_applies_nothing_of_a_newer_one() {
    let Some(cluster) = team() else { return };
    let service =
        CountingService::start(&ScenarioBatch::repeat(1, r#"{ from = 0, status = "ongoing", steps = 1 }"#).scenario);
    let home = machine(&cluster.url());
    add(&home, 1).assert_exit(0, &[]);
    let mut command = home.polling_command(service.url(), &["watch", "-", "--json"]);
    command.stdin(Stdio::piped());
    let mut connected = ProgramProcess::start(command);
    wait_for("first poll", || (!service.arrivals().is_empty()).then_some(()));
    append_as(&cluster, 13, r#"{"operation":"teleport","profile":"default"}"#);
    // Also an operation that this program knows: a newer program applies it in another way.
    append_as(&cluster, 13, r#"{"operation":"pause","profile":"default","until":null}"#);
    let head = cluster.execute("select seq from hoptop.head");
    // What is connected is refused at its next write, and gives up polling.
    connected.send(HEADER);
    connected.send(&row(2));
    let said = connected.read_error_line();
    assert!(said.contains(TOO_OLD), "{said}");
    wait_for("end of polling", || {
        (cluster.execute("select holder is null from hoptop.lease") == [["t"]]).then_some(())
    });
    connected.signal("TERM");
    assert!(!connected.end().err.contains("panicked"));
    assert_eq!(cluster.execute("select seq from hoptop.head"), head, "an older program wrote behind a newer one");
    for words in [&["list"][..], &["untrack", &hash(1)]] {
        home.run(words).assert_exit(1, &[TOO_OLD]);
    }
    let doctor = home.run(&["doctor"]).out;
    assert!(doctor.contains(TOO_OLD), "{doctor}");
}

#[test]
fn connected_program_whose_format_is_no_longer_taken_says_that_it_is_too_old() {
    let Some(cluster) = team() else { return };
    let service =
        CountingService::start(&ScenarioBatch::repeat(1, r#"{ from = 0, status = "ongoing", steps = 1 }"#).scenario);
    cluster.execute("create role writer login; grant hoptop_member to writer");
    let home = machine(&cluster.url_of("writer"));
    let mut command = home.polling_command(service.url(), &["watch", "-", "--json"]);
    command.stdin(Stdio::piped());
    let mut connected = ProgramProcess::start(command);
    connected.send(HEADER);
    connected.send(&row(1));
    connected.read_events_until("imported", 1);
    cluster.execute("update hoptop.team set oldest_writer = 99");
    connected.send(&row(2));
    let said = connected.read_error_line();
    assert!(said.contains("update hoptop on this machine: the team's store no longer takes"), "{said}");
    connected.signal("TERM");
    connected.end();
    assert_eq!(cluster.execute("select seq from hoptop.head"), [["1"]]);
}

/// Ends a process whose output goes nowhere when the value is dropped.
struct ReapedProcess(Child);

impl Drop for ReapedProcess {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn store_that_is_moved_into_the_team_appears_on_machines_that_are_connected() {
    let (Some(cluster), alone) = (team(), Home::new()) else { return };
    let service =
        CountingService::start(&ScenarioBatch::repeat(1, r#"{ from = 0, status = "ongoing", steps = 1 }"#).scenario);
    // A machine that polls writes, and nothing may be moved into a store with entries.
    cluster.execute("create role writer login; grant hoptop_member to writer");
    let home = machine(&cluster.url_of("writer"));
    let mut command = home.polling_command(service.url(), &["watch", "-", "--json"]);
    let mut connected = ReapedProcess(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap());
    let members = || cluster.execute("select count(*) from hoptop.member")[0][0] == "1";
    wait_for("connected machine", || members().then_some(()));
    for number in 1..=3 {
        add(&alone, number).assert_exit(0, &[]);
    }
    alone.run(&["store", "move", "hoptop.db", &cluster.url()]).assert_exit(0, &[]);
    let replica = rusqlite::Connection::open(home.path().join("hoptop.db")).unwrap();
    let rows = || replica.query_row("SELECT count(*) FROM transactions", [], |row| row.get::<_, u32>(0));
    wait_for("moved transactions", || rows().is_ok_and(|rows| rows == 3).then_some(()));
    // The connected process continues to write after the moved entries.
    let input = connected.0.stdin.as_mut().unwrap();
    input.write_all((HEADER.to_owned() + &row(4)).as_bytes()).unwrap();
    let late = machine(&cluster.url());
    wait_for("new transaction", || (late.list().len() == 4).then_some(()));
    // Out of the team, while machines are connected.
    home.run(&["store", "move", &cluster.url(), "copy.db"]).assert_exit(0, &[]);
    assert_eq!(checksums(&home), checksums(&late));
    assert!(connected.0.try_wait().unwrap().is_none());
}
