//! Serialised operations, one a line, applied to an empty store: each is applied, or refused with a sentence, and the
//! store stays sound.

#![no_main]

use std::{fs, path::Path, sync::LazyLock};

use chrono::{DateTime, TimeDelta, Utc};
use hoptop::internals::{
    domain::{Filter, Operation},
    store::Store,
};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

/// The most operations of one input: more than a sequence that one can read needs.
const MAX_OPERATIONS: usize = 16;

/// The file of an empty store. Each input gets a copy: its migrations take longer than the operations.
static EMPTY_STORE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = folder_in_memory();
    let path = folder.path().join("hoptop.db");
    drop(Store::open(&path).expect("an empty store"));
    fs::read(&path).expect("the file of the store")
});

/// Returns a folder in memory, if the system has one: nothing here must last.
fn folder_in_memory() -> TempDir {
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    folder.expect("a folder")
}

fuzz_target!(|lines: &str| {
    let operations: Vec<Operation> =
        lines.lines().take(MAX_OPERATIONS).filter_map(|line| serde_json::from_str(line).ok()).collect();
    if operations.is_empty() {
        return;
    }
    let folder = folder_in_memory();
    let path = folder.path().join("hoptop.db");
    fs::write(&path, &*EMPTY_STORE).expect("a copy of the empty store");
    let at = |second: i64| DateTime::<Utc>::UNIX_EPOCH + TimeDelta::seconds(1_795_184_767 + second);
    // Without threads, so that an input has the same coverage each time.
    let (store, writer, _watcher) = Store::open_in_steps(&path, at(0), Box::new(|_, _| ())).expect("an empty store");
    let mut writer = writer.expect("a store that can be written");
    for (second, operation) in (0..).zip(operations) {
        let receipt = store.apply(operation, at(second));
        writer.write();
        if let Err(error) = receipt.wait() {
            assert!(!error.to_string().is_empty());
        }
    }
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.damaged_values(9).expect("damaged values"), [], "a checksum doesn't fit");
    assert_eq!(store.check().expect("a check"), None);
    let all = Filter::parse("").expect("the empty filter");
    reader.listing(&all, DateTime::UNIX_EPOCH).count().expect("the transactions");
});
