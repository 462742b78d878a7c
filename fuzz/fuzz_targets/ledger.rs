//! The file of a budget. The first byte says whether the input is the whole file, or the JSON of a ledger that gets the
//! version, the boot and the checksum that a process writes. A process that opens the budget must stay within its
//! limit.

#![no_main]

use std::{fs, path::PathBuf, sync::LazyLock, time::Duration};

use hoptop::internals::{
    budget::{Budget, RequestEnd},
    clock::{Clock, MonotonicTime, Now},
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tempfile::TempDir;

const LIMIT: f64 = 5.0;
const SECOND: Duration = Duration::from_secs(1);

struct Setting {
    folder: TempDir,
    file: PathBuf,
    /// The boot that a process writes.
    boot: String,
    now: Now,
}

static SETTING: LazyLock<Setting> = LazyLock::new(|| {
    let folder =
        if fs::exists("/dev/shm").unwrap_or(false) { tempfile::tempdir_in("/dev/shm") } else { tempfile::tempdir() };
    let folder = folder.expect("a folder");
    let now = Clock::system().now();
    let mut budget = Budget::shared(folder.path(), "fuzz", LIMIT, now).expect("a budget");
    budget.close(now.mono);
    let file = folder.path().join("budget-fuzz.json");
    let line = fs::read_to_string(&file).expect("the file of a budget");
    let json = line.rsplit_once(' ').expect("a checksum").0;
    let content: Value = serde_json::from_str(json).expect("JSON");
    let boot = content["boot"].as_str().expect("a boot").to_owned();
    Setting { folder, file, boot, now }
});

fuzz_target!(|input: &[u8]| {
    let Setting { folder, file, boot, now } = &*SETTING;
    let content = match input.split_first() {
        Some((b'!', ledger)) => {
            let mut json = format!("{{\"version\":2,\"boot\":\"{boot}\",\"ledger\":").into_bytes();
            json.extend(ledger);
            json.push(b'}');
            let checksum = crc32fast::hash(&json);
            json.extend(format!(" {checksum:08x}\n").into_bytes());
            json
        }
        _ => input.to_vec(),
    };
    fs::write(file, content).expect("the file of a budget");
    let mut budget = Budget::shared(folder.path(), "fuzz", LIMIT, *now).expect("a budget");
    let rate = budget.ledger().rate();
    assert!(rate > 0.0 && rate <= 1_000.0, "{rate}");
    // The limit of this process holds, whatever the file says: no window of a second has more sends.
    let mut sends: Vec<MonotonicTime> = Vec::new();
    for millis in (0..3_000).step_by(20) {
        let at = now.mono + Duration::from_millis(millis);
        if let Ok(permit) = budget.take(at) {
            sends.push(at);
            budget.release(permit, RequestEnd::Answered, at, at);
        }
    }
    let within =
        |first: &MonotonicTime| sends.iter().filter(|sent| **sent >= *first && sent.since(*first) < SECOND).count();
    assert!(sends.iter().map(within).max().unwrap_or_default() <= LIMIT as usize, "{sends:?}");
    budget.close(now.mono + 3 * SECOND);
});
