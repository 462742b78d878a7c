//! Any text comes out clean, and clean text comes out as it is.

#![no_main]

#[path = "../../tests/hostile/invariants.rs"]
#[allow(dead_code, reason = "a target uses a part of them")]
mod invariants;

use hoptop::internals::domain::clean;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|raw: &str| {
    let once = clean(raw);
    invariants::assert_clean(&once);
    assert_eq!(clean(&once), once);
});
