//! Machines that share a team's store: all read the writes of each, and one of them polls.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, thread};

use serde_json::Value;

use super::{
    cluster::Cluster,
    common::{Home, ProcessOutput, ProgramProcess, ScenarioBatch},
    json_schema::violations,
    pgbouncer::PgBouncer,
    proxy::{Proxy, ProxyMode},
    server::wait_for,
    service::CountingService,
};

/// A hash of a transaction, by its number.
pub(super) fn hash(number: usize) -> String {
    format!("0x{number:064x}")
}

/// Creates a home whose store is this one.
pub(super) fn machine(url: &str) -> Home {
    let home = Home::new();
    home.configure(&format!("store = '{url}'"));
    home
}

/// Starts a server with an initialised store.
pub(super) fn team() -> Option<Cluster> {
    Cluster::start().map(initialised)
}

/// Initialises the store of a server.
pub(super) fn initialised(cluster: Cluster) -> Cluster {
    machine(&cluster.url()).run(&["store", "init"]).assert_exit(0, &[]);
    cluster.execute("grant hoptop_poller to hoptop");
    cluster
}

pub(super) fn add(home: &Home, number: usize) -> ProcessOutput {
    home.run(&["add", &hash(number), "--from", "1", "--to", "42161", "--quote-id", "q"])
}

/// Returns the checksums of all tables.
pub(super) fn checksums(home: &Home) -> String {
    let ended = home.run(&["doctor", "--checksums"]);
    ended.assert_exit(0, &[]);
    ended.out
}

fn hashes(home: &Home) -> BTreeSet<String> {
    home.list().iter().map(|tx| tx["transactionId"].as_str().unwrap().to_owned()).collect()
}

/// Returns the status of the team's store, which must be as its schema says.
fn status(home: &Home) -> Value {
    let ended = home.run(&["store", "status", "--json"]);
    ended.assert_exit(0, &[]);
    let status: Value = serde_json::from_str(&ended.out).unwrap();
    let schema: Value = serde_json::from_str(&home.run(&["schema", "store-status"]).out).unwrap();
    assert_eq!((&status["schema"], violations(&schema, &status)), (&"hoptop/store-status/1".into(), Vec::new()));
    status
}

#[test]
fn write_of_one_machine_is_read_and_edited_on_another() {
    let Some(cluster) = team() else { return };
    let [first, second] = [machine(&cluster.url()), machine(&cluster.url())];
    add(&first, 1).assert_exit(0, &[]);
    add(&second, 2).assert_exit(0, &[]);
    assert_eq!((hashes(&first), hashes(&first)), (hashes(&second), BTreeSet::from([hash(1), hash(2)])));
    second.run(&["untrack", &hash(1)]).assert_exit(0, &[]);
    first.run(&["undo"]).assert_exit(0, &[]);
    assert_eq!(checksums(&first), checksums(&second));
    // The number of a refused operation stays in the order, too.
    let head = status(&first)["head"].as_u64().unwrap();
    assert_eq!(cluster.execute("select count(*), max(seq) from hoptop.log"), [[head.to_string(), head.to_string()]]);
}

#[test]
fn large_import_is_tracked_whole_on_every_machine() {
    let Some(cluster) = team() else { return };
    let [first, second] = [machine(&cluster.url()), machine(&cluster.url())];
    let noise =
        |number: usize| format!("{:032x}", (number as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
    let rows = (0..60_000)
        .map(|number| format!("0x{}{},1,42161,{}\n", noise(number), noise(number + 70_000), noise(number + 140_000)));
    let csv = format!("transactionId,fromChainId,toChainId,quoteId\n{}", rows.collect::<String>());
    first.import(&csv);
    assert!(cluster.execute("select count(*) from hoptop.log")[0][0].parse::<usize>().unwrap() > 1);
    assert_eq!(second.list().len(), 60_000);
    assert_eq!(checksums(&first), checksums(&second));
    // Twice is once.
    second.import(&csv);
    assert_eq!(checksums(&first), checksums(&second));
}

#[test]
fn one_machine_polls_and_its_answers_reach_all_within_the_budget() {
    let Some(cluster) = team() else { return };
    let batch = ScenarioBatch::repeat(
        12,
        r#"{ from = 0, status = "ongoing", steps = 1 }, { from = 14, status = "success", steps = 3 }"#,
    );
    let service = CountingService::start(&batch.scenario);
    let machines = [(); 3].map(|()| machine(&cluster.url()));
    machines[0].import(&batch.csv);
    let watchers = machines.each_ref().map(|home| {
        ProgramProcess::start(
            home.polling_command(service.url(), &["watch", "--json", "--until-settled", "--timeout", "60s"]),
        )
    });
    let ended = watchers.map(ProgramProcess::end);
    assert_eq!(ended.each_ref().map(|ended| ended.code), [Some(0); 3], "{ended:?}");
    assert!(service.most_in_a_second() <= 10, "{} requests within a second", service.most_in_a_second());
    let sums = machines.each_ref().map(checksums);
    assert!(sums[0] == sums[1] && sums[1] == sums[2], "{sums:?}");
    assert!(machines[2].list().iter().all(|tx| tx["status"] == "success"));
}

#[test]
fn holder_carries_out_requests_of_other_machines_and_the_lease_is_handed_over() {
    let Some(cluster) = team() else { return };
    let batch = ScenarioBatch::repeat(3, r#"{ from = 0, status = "ongoing", steps = 1 }"#);
    let service = CountingService::start(&batch.scenario);
    let [first, second] = [machine(&cluster.url()), machine(&cluster.url())];
    first.import(&batch.csv);
    let asked = first.list()[0]["transactionId"].as_str().unwrap().to_owned();
    let polled = |count: usize| wait_for("polls", || (service.arrivals().len() >= count).then_some(()));
    let watcher = ProgramProcess::start(first.polling_command(service.url(), &["watch"]));
    polled(3);
    let holder = cluster.execute("select holder, epoch from hoptop.lease");
    let check = ProcessOutput::new(second.polling_command(service.url(), &["check", &asked]).output().unwrap());
    assert_eq!(check.code, Some(0), "{check:?}");
    assert_eq!(cluster.execute("select holder, epoch from hoptop.lease"), holder);
    let epoch: u64 = holder[0][1].parse().unwrap();
    let next = ProgramProcess::start(second.polling_command(service.url(), &["watch"]));
    wait_for("candidate", || (status(&second)["members"].as_array().unwrap().len() >= 4).then_some(()));
    watcher.signal("TERM");
    watcher.end();
    wait_for("next holder", || {
        (cluster.execute("select epoch from hoptop.lease where holder is not null") == [[(epoch + 1).to_string()]])
            .then_some(())
    });
    let before = service.arrivals().len();
    polled(before + 1);
    drop(next);
    assert!(service.most_in_a_second() <= 10);
}

#[test]
fn unreachable_database_leaves_everything_readable_and_edits_give_the_reason() {
    let Some(cluster) = team() else { return };
    let proxy = Proxy::start(cluster.address());
    let home = machine(&format!("postgres://hoptop@{}/hoptop", proxy.address()));
    add(&home, 1).assert_exit(0, &[]);
    for mode in [ProxyMode::Cut, ProxyMode::Blackhole] {
        proxy.set_mode(mode);
        let read = home.run(&["list", "--json"]);
        read.assert_exit(0, &["the team's store can't be reached: ", "showing this machine's local copy"]);
        assert!(read.out.contains(&hash(1)), "{read:?}");
        let edit = add(&home, 2);
        assert_eq!(edit.code, Some(1), "{edit:?}");
        assert!(edit.err.contains("nothing was saved: "), "{edit:?}");
        assert!(!edit.err.contains("panicked") && edit.err.lines().count() <= 3, "{edit:?}");
        // The copy may lack what others have tracked, so that it can't show that all is settled.
        let words = ["watch", "ticket:none", "--until-settled", "--allow-empty", "--timeout", "2s"];
        let watch = ProcessOutput::new(home.polling_command("http://127.0.0.1:1", &words).output().unwrap());
        watch.assert_exit(3, &["the team's store can't be reached: "]);
        proxy.set_mode(ProxyMode::Pass);
        assert_eq!(hashes(&home), BTreeSet::from([hash(1)]));
    }
    add(&home, 2).assert_exit(0, &[]);
}

#[test]
fn write_whose_answer_from_the_database_is_lost_reaches_its_caller() {
    let Some(cluster) = team() else { return };
    let proxy = Proxy::start(cluster.address());
    let home = machine(&format!("postgres://hoptop@{}/hoptop", proxy.address()));
    add(&home, 1).assert_exit(0, &[]);
    proxy.set_mode(ProxyMode::LoseAppendAnswer);
    let note = home.run(&["note", &hash(1), "asked the bridge"]);
    note.assert_exit(0, &[]);
    assert_eq!(proxy.mode(), ProxyMode::Pass, "an answer was lost");
    assert_eq!(home.run(&["show", &hash(1)]).out.matches("asked the bridge").count(), 1);
    proxy.set_mode(ProxyMode::LoseAppendAnswer);
    add(&home, 2).assert_exit(0, &[]);
    assert_eq!(home.list().len(), 2);
}

#[test]
fn after_a_failover_without_the_tail_the_replica_heals_and_the_lost_operations_are_kept() {
    let Some(mut cluster) = team() else { return };
    let proxy = Proxy::start(cluster.address());
    let [first, second] = [(); 2].map(|()| machine(&format!("postgres://hoptop@{}/hoptop", proxy.address())));
    add(&first, 1).assert_exit(0, &[]);
    assert_eq!(second.list().len(), 1);
    let link = Proxy::start(cluster.address());
    let standby = cluster.standby_through(link.address());
    cluster.wait_for_standby();
    link.set_mode(ProxyMode::Cut);
    add(&first, 2).assert_exit(0, &[]);
    add(&first, 3).assert_exit(0, &[]);
    assert_eq!(second.list().len(), 3);
    cluster.kill_postmaster();
    standby.promote();
    proxy.set_target(standby.address());
    // Another entry takes the number of a lost one.
    add(&second, 4).assert_exit(0, &[]);
    assert_eq!(hashes(&second), BTreeSet::from([hash(1), hash(4)]));
    assert_eq!(checksums(&first), checksums(&second));
    let lost = fs::read_dir(first.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let lost: Vec<_> = lost.filter(|name| name.contains(".lost-")).collect();
    assert_eq!(lost.len(), 1, "{lost:?}");
    // Every command says so, whichever process found it out, until the operations are written again.
    first.run(&["list"]).assert_exit(0, &["lost its newest entries, among them 2 of this machine", &lost[0]]);
    let again = first.run(&["store", "append", &lost[0]]);
    again.assert_exit(0, &[]);
    assert_eq!(again.out, "2 operations are in the team's log again\n");
    assert_eq!(first.run(&["list"]).err, "");
    assert_eq!(hashes(&second).len(), 4);
    assert_eq!(checksums(&first), checksums(&second));
}

#[test]
fn everything_works_behind_pgbouncer_in_transaction_mode() {
    let Some(cluster) = team() else { return };
    let Some(bouncer) = PgBouncer::start(&cluster, &["hoptop"]) else { return };
    let batch = ScenarioBatch::repeat(
        4,
        r#"{ from = 0, status = "ongoing", steps = 1 }, { from = 14, status = "success", steps = 3 }"#,
    );
    let service = CountingService::start(&batch.scenario);
    let [first, second] = [machine(&bouncer.url_of("hoptop")), machine(&cluster.url())];
    first.import(&batch.csv);
    let words = ["watch", "--until-settled", "--timeout", "60s"];
    let watchers = [&first, &second].map(|home| ProgramProcess::start(home.polling_command(service.url(), &words)));
    for ended in watchers.map(ProgramProcess::end) {
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    assert_eq!(checksums(&first), checksums(&second));
    assert!(service.most_in_a_second() <= 10);
}

#[test]
fn fault_of_the_store_is_reported_in_one_sentence() {
    let Some(cluster) = Cluster::start() else { return };
    let [own, other] = [cluster.url(), cluster.url().trim_end_matches("hoptop").to_owned() + "elsewhere"];
    machine(&own).run(&["list"]).assert_exit(1, &["is not a team's store yet", "hoptop store init"]);
    machine(&other).run(&["list"]).assert_exit(1, &["elsewhere", "check the database's name"]);
    machine(&cluster.url_of("nobody")).run(&["list"]).assert_exit(1, &["refuses the login", "nobody"]);
    let password = Home::new().run(&["--store", "postgres://hoptop:canary-word@127.0.0.1/hoptop", "list"]);
    password.assert_exit(2, &["contains a password"]);
    assert!(!password.err.contains("canary-word"));
    machine(&own).run(&["store", "init"]).assert_exit(0, &[]);
    machine(&own).run(&["store", "init"]).assert_exit(0, &[]);
    cluster.execute("create role reader login; grant hoptop_viewer to reader; create role writer login; grant hoptop_member to writer");
    let [reader, writer] = ["reader", "writer"].map(|role| machine(&cluster.url_of(role)));
    let refusal = ["the team's database refuses", "ask the owner"];
    add(&reader, 1).assert_exit(1, &refusal);
    let csv = format!("transactionId,fromChainId,toChainId,quoteId\n{},1,10,q\n", hash(1));
    reader.run(&["import", "--follow", &reader.write("rows.csv", &csv)]).assert_exit(1, &refusal);
    add(&writer, 1).assert_exit(0, &[]);
    assert_eq!(reader.list().len(), 1);
    // Roles write only through the functions, and don't read another role's lease.
    for table in ["team", "head", "log", "lease", "snapshot", "snapshot_part", "member"] {
        let denied = super::cluster::execute_at(&cluster.url_of("writer"), &format!("select * from hoptop.{table}"));
        assert!(denied.unwrap_err().contains("permission denied"), "{table}");
    }
    let standby = cluster.standby();
    let url = format!("postgres://hoptop@{}/hoptop", standby.address());
    add(&machine(&url), 2).assert_exit(1, &["standby"]);
    cluster.execute("update hoptop.team set oldest_writer = 99, format = 99");
    machine(&own).run(&["list"]).assert_exit(1, &["format 99", "update hoptop"]);
}

#[test]
fn replica_is_refused_without_its_team_and_by_another_team() {
    let (Some(cluster), Some(elsewhere)) = (team(), team()) else { return };
    let home = machine(&cluster.url());
    add(&home, 1).assert_exit(0, &[]);
    home.configure("");
    home.run(&["list"]).assert_exit(1, &["replica of a team's store", "--store"]);
    home.configure(&format!("store = '{}'", elsewhere.url()));
    home.run(&["list"]).assert_exit(1, &["another"]);
    let alone = Home::new();
    add(&alone, 1).assert_exit(0, &[]);
    alone.configure(&format!("store = '{}'", cluster.url()));
    alone.run(&["list"]).assert_exit(1, &["store move"]);
}

#[test]
fn backup_of_a_machine_of_a_team_is_restored_as_a_store_without_the_team() {
    let Some(cluster) = team() else { return };
    let home = machine(&cluster.url());
    add(&home, 1).assert_exit(0, &[]);
    let backup = home.path().join("copy.db").display().to_string();
    home.run(&["backup", &backup]).assert_exit(0, &[]);
    let alone = Home::new();
    assert!(alone.run(&["--db", &backup, "list"]).out.contains(&hash(1)[..6]));
    let restored = alone.run(&["restore", &backup]);
    restored.assert_exit(0, &[]);
    assert!(restored.out.contains("1 transaction") && restored.out.contains("without the team"), "{restored:?}");
    add(&alone, 2).assert_exit(0, &[]);
    assert_eq!((alone.list().len(), home.list().len()), (2, 1));
}

#[test]
fn damaged_replica_is_rebuilt_from_the_team() {
    let Some(cluster) = team() else { return };
    let [home, other] = [machine(&cluster.url()), machine(&cluster.url())];
    for number in 1..=40 {
        add(&home, number).assert_exit(0, &[]);
    }
    assert_eq!(other.list().len(), 40);
    let replica = home.path().join("hoptop.db");
    let mut bytes = fs::read(&replica).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0x5a);
    fs::write(&replica, bytes).unwrap();
    let recovered = home.run(&["list", "--json"]);
    recovered.assert_exit(0, &["was damaged"]);
    assert_eq!(home.list().len(), 40);
    assert_eq!(checksums(&home), checksums(&other));
    add(&home, 41).assert_exit(0, &[]);
    assert_eq!(checksums(&home), checksums(&other));
}

#[test]
fn quotes_and_polls_that_others_ask_for_are_sent_by_the_holder() {
    let Some(cluster) = team() else { return };
    let batch = ScenarioBatch::repeat(1, r#"{ from = 0, status = "ongoing", steps = 1 }"#);
    let service = CountingService::start(&batch.scenario);
    let [first, second] = [machine(&cluster.url()), machine(&cluster.url())];
    first.import(&batch.csv);
    let watcher = ProgramProcess::start(first.polling_command(service.url(), &["watch"]));
    wait_for("first poll", || (!service.arrivals().is_empty()).then_some(()));
    let holder = cluster.execute("select holder, epoch from hoptop.lease");
    let quote = [
        "quote",
        "--from-chain",
        "1",
        "--to-chain",
        "10",
        "--from-token",
        "0x01",
        "--to-token",
        "0x02",
        "--from-amount",
        "1000",
        "--from-address",
        "0x03",
        "--to-address",
        "0x04",
        "--json",
    ];
    let quoted = ProcessOutput::new(second.polling_command(service.url(), &quote).output().unwrap());
    assert_eq!(quoted.code, Some(0), "{quoted:?}");
    assert!(quoted.out.contains("quoteId"), "{quoted:?}");
    let (known, tracked) = (&first.list()[0], second.list().len());
    let value = |name: &str| known[name].as_str().unwrap().to_owned();
    first.run(&["delete", &value("transactionId"), "--yes"]).assert_exit(0, &[]);
    wait_for("deletion", || second.list().is_empty().then_some(()));
    let untracked = [
        "check",
        &value("transactionId"),
        "--from",
        &value("fromChainId"),
        "--to",
        &value("toChainId"),
        "--quote-id",
        &value("quoteId"),
        "--json",
    ];
    let checked = ProcessOutput::new(second.polling_command(service.url(), &untracked).output().unwrap());
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.out.contains(r#""status":"ongoing""#) && tracked == 1, "{checked:?}");
    let probed = ProcessOutput::new(second.polling_command(service.url(), &["doctor", "--probe"]).output().unwrap());
    assert!(probed.out.contains("the ID is accepted"), "{probed:?}");
    assert_eq!((first.list().len(), second.list().len()), (0, 0));
    assert_eq!(cluster.execute("select holder, epoch from hoptop.lease"), holder);
    drop(watcher);
    assert!(service.most_in_a_second() <= 10);
}

#[test]
fn light_machine_shows_bodies_from_the_log_and_every_copy_is_verified() {
    let Some(cluster) = team() else { return };
    let batch = ScenarioBatch::repeat(3, r#"{ from = 0, status = "success", steps = 3 }"#);
    let service = CountingService::start(&batch.scenario);
    let [whole, light] = [machine(&cluster.url()), machine(&cluster.url())];
    light.configure(&format!("store = '{}'\n[team]\nlight = true", cluster.url()));
    whole.import(&batch.csv);
    let words = ["watch", "--until-settled", "--timeout", "60s"];
    ProcessOutput::new(whole.polling_command(service.url(), &words).output().unwrap()).assert_exit(0, &[]);
    for tx in whole.list() {
        let hash = tx["transactionId"].as_str().unwrap();
        let [raw, same] = [&whole, &light].map(|home| home.run(&["show", hash, "--raw"]));
        raw.assert_exit(0, &[]);
        assert!(raw.out.len() > 100 && raw.out == same.out, "{same:?}");
    }
    assert!(checksums(&light).contains("left out  bodies") && !checksums(&whole).contains("left out"));
    for home in [&whole, &light] {
        let verified = home.run(&["doctor", "--verify-replica"]);
        verified.assert_exit(0, &[]);
        assert!(verified.out.contains("equals the team's store"), "{verified:?}");
    }
    // Restored without the team, a copy lacks the bodies that are in the log, and nothing in it is damaged.
    let (backup, alone) = (light.path().join("copy.db").display().to_string(), Home::new());
    light.run(&["backup", &backup]).assert_exit(0, &[]);
    alone.run(&["restore", &backup]).assert_exit(0, &[]);
    assert_eq!(alone.list().len(), 3);
    let examined = alone.run(&["doctor"]);
    assert!(
        examined.out.contains("3 transactions, 0 alerts, intact") && !examined.out.contains("damaged"),
        "{examined:?}"
    );
    // A difference is found.
    let db = rusqlite::Connection::open(light.path().join("hoptop.db")).unwrap();
    db.execute("UPDATE transactions SET ticket = 'changed' WHERE id = 1", []).unwrap();
    drop(db);
    let differs = light.run(&["doctor", "--verify-replica"]);
    assert_eq!(differs.code, Some(1), "{differs:?}");
    assert!(differs.out.contains("differs from the team's store in transactions; quit"), "{differs:?}");
    // While the database is away, the reason is said.
    let proxy = Proxy::start(cluster.address());
    light.configure(&format!("store = 'postgres://hoptop@{}/hoptop'\n[team]\nlight = true", proxy.address()));
    proxy.set_mode(ProxyMode::Cut);
    let hash = whole.list()[0]["transactionId"].as_str().unwrap().to_owned();
    light.run(&["show", &hash, "--raw"]).assert_exit(1, &["refuses the connection"]);
}

#[test]
fn store_moves_into_a_team_and_out_again() {
    let (Some(cluster), alone) = (team(), Home::new()) else { return };
    for number in 1..=3 {
        add(&alone, number).assert_exit(0, &[]);
    }
    alone.run(&["untrack", &hash(2)]).assert_exit(0, &[]);
    let moved = alone.run(&["store", "move", "hoptop.db", &cluster.url()]);
    moved.assert_exit(0, &[]);
    assert!(moved.out.starts_with("copied 3 transactions"), "{moved:?}");
    let home = machine(&cluster.url());
    add(&home, 4).assert_exit(0, &[]);
    assert_eq!(home.list().len(), 4);
    alone.run(&["store", "move", "hoptop.db", &cluster.url()]).assert_exit(1, &["has entries already"]);
    home.run(&["store", "move", &cluster.url(), "alone.db"]).assert_exit(0, &[]);
    assert_eq!(fs::metadata(home.path().join("alone.db")).unwrap().permissions().mode() & 0o777, 0o600);
    home.run(&["store", "move", &cluster.url(), "alone.db"]).assert_exit(1, &["exists already"]);
    let copy = home.path().join("alone.db").display().to_string();
    let out = Home::new().command(&["doctor", "--checksums"]).env("HOPTOP_DB", &copy).output().unwrap();
    assert_eq!(ProcessOutput::new(out).out, checksums(&home));
}

#[test]
fn deleted_transaction_leaves_the_database_with_the_next_snapshot() {
    let Some(cluster) = team() else { return };
    let batch = ScenarioBatch::repeat(2, r#"{ from = 0, status = "ongoing", steps = 1 }"#);
    let service = CountingService::start(&batch.scenario);
    let home = machine(&cluster.url());
    home.import(&batch.csv);
    let deleted = home.list()[0]["transactionId"].as_str().unwrap().to_owned();
    home.run(&["delete", &deleted, "--yes"]).assert_exit(0, &["keeps a deleted transaction until its next snapshot"]);
    let number: u64 = cluster.execute("select seq from hoptop.head")[0][0].parse().unwrap();
    let watcher = ProgramProcess::start(home.polling_command(service.url(), &["watch"]));
    wait_for("snapshot", || {
        let first: u64 = cluster.execute("select min(seq) from hoptop.log")[0][0].parse().unwrap();
        (first >= number).then_some(())
    });
    drop(watcher);
    let late = machine(&cluster.url());
    assert_eq!(late.list().len(), 1);
    assert_eq!(checksums(&late), checksums(&home));
}

#[test]
fn two_people_who_edit_the_same_transaction_at_once_lose_nothing() {
    let Some(cluster) = team() else { return };
    let people = ["Ana", "Bob"].map(|name| {
        let home = Home::new();
        home.configure(&format!("store = '{}'\n[me]\nname = '{name}'", cluster.url()));
        (name, home)
    });
    add(&people[0].1, 1).assert_exit(0, &[]);
    thread::scope(|scope| {
        for (name, home) in &people {
            scope.spawn(move || {
                for round in 0..5 {
                    let (note, ticket) = (format!("{name} {round}"), format!("SUP-{name}-{round}"));
                    let words = ["add", &hash(1), "--from", "1", "--to", "42161", "--quote-id", "q"];
                    home.run(&[&words[..], &["--note", &note, "--ticket", &ticket]].concat()).assert_exit(0, &[]);
                }
            });
        }
    });
    let shown = people.each_ref().map(|(_, home)| home.run(&["show", &hash(1)]).out);
    assert_eq!(shown[0], shown[1]);
    for (name, round) in [("Ana", 0), ("Ana", 4), ("Bob", 0), ("Bob", 4)] {
        assert!(shown[0].contains(&format!("{name} {round}")), "{}", shown[0]);
    }
    assert!(shown[0].contains("Ana via hoptop") && shown[0].contains("Bob via hoptop"), "{}", shown[0]);
    let [first, second] = people.each_ref().map(|(_, home)| checksums(home));
    assert_eq!(first, second);
    // Each undo takes back a step of its own.
    people[0].1.run(&["undo"]).assert_exit(0, &[]);
    assert!(people[1].1.run(&["show", &hash(1)]).out.contains("Bob 4"));
    let mine = people[1].1.run(&["list", "mine", "--json"]);
    assert!(mine.out.contains(&hash(1)), "{mine:?}");
}
