//! Serialised operations, one a line, applied to an empty store: each is applied, or refused with a sentence, and the store stays
//! sound.

#![no_main]

use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use hoptop::internals::{
    domain::{filter::Filter, operation::Operation},
    store::Store,
};
use libfuzzer_sys::fuzz_target;

/// The most operations of one input: more than a sequence that one can read needs.
const MOST: usize = 16;

fuzz_target!(|lines: &str| {
    let operations: Vec<Operation> =
        lines.lines().take(MOST).filter_map(|line| serde_json::from_str(line).ok()).collect();
    if operations.is_empty() {
        return;
    }
    // In memory, if the system has such a folder: nothing here must last.
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    let folder = folder.expect("a folder");
    let store = Store::open(&folder.path().join("hoptop.db")).expect("an empty store");
    for (seconds, operation) in (1_795_184_767..).zip(operations) {
        let at = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::seconds(seconds);
        if let Err(error) = store.apply(operation, at).wait() {
            assert!(!error.to_string().is_empty());
        }
    }
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.damaged_values(9).expect("damaged values"), [], "a checksum doesn't fit");
    assert_eq!(store.check().expect("a check"), None);
    let all = Filter::parse("").expect("the empty filter");
    reader.listing(&all, DateTime::UNIX_EPOCH).count().expect("the transactions");
});
