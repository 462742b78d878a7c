//! Several processes share one integrator ID: even if some are killed or stopped, the service never sees more requests
//! than the limit.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use hoptop::internals::store::{Store, WakeKind};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::json;
use tokio::time::timeout;

use super::{
    ONGOING,
    common::{Home, ProgramProcess, ScenarioBatch, SimulatorProcess},
};

const RPS: &str = "50";

/// Two stores that share a state folder and a service.
struct SharingFixture {
    homes: [Home; 2],
    simulation: SimulatorProcess,
}

impl SharingFixture {
    fn new() -> Self {
        let batch = ScenarioBatch::repeat(300, ONGOING);
        let scenario = batch
            .scenario
            .replace("rps = 10.0", &format!("rps = {RPS}.0"))
            .replace("latency_ms = 20", "latency_ms = 60");
        let homes = [Home::new(), Home::new()];
        homes.iter().for_each(|home| home.import(&batch.csv));
        Self { homes, simulation: SimulatorProcess::start(&scenario) }
    }

    /// Starts a `watch` on one of the stores.
    fn start_watch(&self, store: usize) -> ProgramProcess {
        let mut command = self.homes[store].polling_command(&self.simulation.url, &["watch", "--json"]);
        command.env("HOPTOP_RPS", RPS).env("HOPTOP_STATE_DIR", self.homes[0].path().join("state"));
        ProgramProcess::start(command)
    }
}

/// Runs four processes on two stores, and repeatedly kills one, or stops it and continues it later. Checks the limit.
async fn assert_limit_is_kept(interruptions: u32) {
    let fixture = SharingFixture::new();
    let stores = [0, 1].map(|store| Store::open(&fixture.homes[store].path().join("hoptop.db")).unwrap());
    let mut commits = [0, 1].map(|store: usize| stores[store].subscribe(WakeKind::AnyCommit).unwrap());
    let mut watches: Vec<(ProgramProcess, bool)> =
        (0..4).map(|index| (fixture.start_watch(index % 2), false)).collect();
    let mut random = Pcg64Mcg::seed_from_u64(7);
    for interruption in 0..interruptions {
        // Waits for a few answers, but not long, since no process may be left to poll.
        for _ in 0..random.random_range(0..20) {
            let next_commit = async {
                let [first, second] = &mut commits;
                tokio::select! {
                    changed = first.changed() => changed.unwrap(),
                    changed = second.changed() => changed.unwrap(),
                }
            };
            if timeout(Duration::from_secs(1), next_commit).await.is_err() {
                break;
            }
        }
        let index = random.random_range(0..watches.len());
        let (process, is_stopped) = &mut watches[index];
        match (*is_stopped, interruption % 2) {
            (true, _) => {
                process.signal("CONT");
                *is_stopped = false;
            }
            (false, 0) => {
                process.signal("KILL");
                watches[index] = (fixture.start_watch(index % 2), false);
            }
            (false, _) => {
                process.signal("STOP");
                *is_stopped = true;
            }
        }
    }
    watches.iter().for_each(|(process, _)| process.signal("CONT"));
    // Each store must be polled again, whichever process was interrupted last.
    for commits in &mut commits {
        commits.mark_unchanged();
        timeout(Duration::from_secs(15), commits.changed()).await.expect("no process polls this store").unwrap();
    }
    for (process, _) in watches {
        process.signal("TERM");
        assert_eq!(process.end().code, Some(143));
    }
    let requests = fixture.simulation.end_within_budget();
    assert!(requests > u64::from(interruptions) * 5, "{requests}");
    println!("{interruptions} kills and stops, {requests} requests, no window over {RPS}");
}

#[tokio::test]
async fn four_processes_on_two_stores_keep_one_limit_when_some_are_killed_or_stopped() {
    assert_limit_is_kept(24).await;
}

// cargo test --release --test end_to_end -- --ignored --nocapture 500
#[tokio::test]
#[ignore = "takes ten minutes"]
async fn four_processes_on_two_stores_keep_one_limit_over_500_kills_and_stops() {
    assert_limit_is_kept(500).await;
}

#[test]
fn suspended_process_releases_polling_to_another() {
    let fixture = SharingFixture::new();
    let mut first = fixture.start_watch(0);
    first.read_events_until("status_changed", 10);
    first.signal("TSTP");
    // The first process releases polling before it stops, so that the second can take over.
    let mut second = fixture.start_watch(0);
    let events = second.read_events_until("status_changed", 20);
    assert_eq!(events.last().unwrap()["status"], json!("ongoing"));
    first.signal("CONT");
    for process in [first, second] {
        process.signal("TERM");
        assert_eq!(process.end().code, Some(143));
    }
    fixture.simulation.end_within_budget();
}

/// Returns a command whose monotonic clock is far ahead, as in a container that was moved from another machine. `None`
/// if this user may not make a time namespace.
#[cfg(target_os = "linux")]
fn with_shifted_clock(command: &Command) -> Option<Command> {
    let unshare = || {
        let mut unshare = Command::new("unshare");
        unshare.args(["--time", "--monotonic", "100000", "--fork", "--"]);
        unshare
    };
    if !unshare().arg("true").output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let mut shifted = unshare();
    shifted.arg(command.get_program()).args(command.get_args()).env_clear();
    shifted.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shifted.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(shifted)
}

#[cfg(target_os = "linux")]
#[test]
fn processes_with_different_clocks_keep_one_limit() {
    let fixture = SharingFixture::new();
    let watch = |store: usize| {
        let mut command = fixture.homes[store].polling_command(
            &fixture.simulation.url,
            &["watch", "--json", "--verbose", "--until-settled", "--timeout", "5s"],
        );
        command.env("HOPTOP_RPS", RPS).env("HOPTOP_STATE_DIR", fixture.homes[0].path().join("state"));
        command
    };
    let Some(shifted) = with_shifted_clock(&watch(1)) else {
        eprintln!("skipped: this user may not make a time namespace");
        return;
    };
    let processes = [ProgramProcess::start(watch(0)), ProgramProcess::start(shifted)];
    for process in processes {
        let ended = process.end();
        let polled = ended.events().iter().filter(|event| event["event"] == "polled").count();
        // Half of what the limit allows in that time would be 100.
        assert!(ended.code == Some(3) && polled > 50, "{polled} polled: {ended:?}");
    }
    fixture.simulation.end_within_budget();
}
