//! Several processes and one integrator ID: whatever happens to them, the service sees no more than the limit.

use std::time::Duration;

use hoptop::store::{Store, Wake};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::json;
use tokio::time::timeout;

use super::{
    ONGOING,
    common::{Batch, Home, Running, Simulation},
};

const RPS: &str = "50";

/// Two stores, one state folder, one service.
struct Shop {
    homes: [Home; 2],
    simulation: Simulation,
}

impl Shop {
    fn open() -> Self {
        let batch = Batch::of(300, ONGOING);
        let scenario = batch
            .scenario
            .replace("rps = 10.0", &format!("rps = {RPS}.0"))
            .replace("latency_ms = 20", "latency_ms = 60");
        let homes = [Home::new(), Home::new()];
        homes.iter().for_each(|home| home.import(&batch.csv));
        Self { homes, simulation: Simulation::start(&scenario) }
    }

    /// A `watch` on one of the stores.
    fn watch(&self, store: usize) -> Running {
        let mut command = self.homes[store].polling(&self.simulation.url, &["watch", "--json"]);
        command.env("HOPTOP_RPS", RPS).env("HOPTOP_STATE_DIR", self.homes[0].path().join("state"));
        Running::start(command)
    }
}

/// Four processes on two stores, of which now and then one is killed, or stopped and continued later.
async fn keep_within_the_limit(blows: u32) {
    let shop = Shop::open();
    let stores = [0, 1].map(|store| Store::open(&shop.homes[store].path().join("hoptop.db")).unwrap());
    let mut commits = [0, 1].map(|store: usize| stores[store].subscribe(Wake::AnyCommit).unwrap());
    let mut watches: Vec<(Running, bool)> = (0..4).map(|index| (shop.watch(index % 2), false)).collect();
    let mut random = Pcg64Mcg::seed_from_u64(7);
    for blow in 0..blows {
        // A few answers later; if nobody is left to ask, soon.
        for _ in 0..random.random_range(0..20) {
            let either = async {
                let [first, second] = &mut commits;
                tokio::select! {
                    changed = first.changed() => changed.unwrap(),
                    changed = second.changed() => changed.unwrap(),
                }
            };
            if timeout(Duration::from_secs(1), either).await.is_err() {
                break;
            }
        }
        let index = random.random_range(0..watches.len());
        let (process, stopped) = &mut watches[index];
        match (*stopped, blow % 2) {
            (true, _) => {
                process.signal("CONT");
                *stopped = false;
            }
            (false, 0) => {
                process.signal("KILL");
                watches[index] = (shop.watch(index % 2), false);
            }
            (false, _) => {
                process.signal("STOP");
                *stopped = true;
            }
        }
    }
    watches.iter().for_each(|(process, _)| process.signal("CONT"));
    // Both stores are polled again, however it ended.
    for commits in &mut commits {
        commits.mark_unchanged();
        timeout(Duration::from_secs(15), commits.changed()).await.expect("nobody polls any more").unwrap();
    }
    for (process, _) in watches {
        process.signal("TERM");
        assert_eq!(process.end().code, Some(143));
    }
    let requests = shop.simulation.end_within_budget();
    assert!(requests > u64::from(blows) * 5, "{requests}");
    println!("{blows} kills and stops, {requests} requests, no window over {RPS}");
}

#[tokio::test]
async fn four_processes_on_two_stores_keep_within_one_limit_when_some_die_or_stop() {
    keep_within_the_limit(24).await;
}

// cargo test --release --test end_to_end -- --ignored --nocapture 500
#[tokio::test]
#[ignore = "takes ten minutes"]
async fn and_so_they_do_over_500_kills_and_stops() {
    keep_within_the_limit(500).await;
}

#[test]
fn who_is_suspended_gives_up_first_and_another_goes_on() {
    let shop = Shop::open();
    let mut first = shop.watch(0);
    first.until("status_changed", 10);
    first.signal("TSTP");
    // It says that it has stopped polling, so that the other takes over.
    let mut second = shop.watch(0);
    let went_on = second.until("status_changed", 20);
    assert_eq!(went_on.last().unwrap()["status"], json!("ongoing"));
    first.signal("CONT");
    for process in [first, second] {
        process.signal("TERM");
        assert_eq!(process.end().code, Some(143));
    }
    shop.simulation.end_within_budget();
}
