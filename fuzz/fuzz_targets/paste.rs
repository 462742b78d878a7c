//! A pasted text: hashes, links, rows, objects and tickets are found in it, and each finding is clean.

#![no_main]

#[path = "../../tests/hostile/invariants.rs"]
#[allow(dead_code, reason = "a target uses a part of them")]
mod invariants;

use hoptop::internals::intake::{ReadOptions, parse_paste};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for any_chain in [false, true] {
        invariants::assert_paste(&parse_paste(text, &ReadOptions { allows_any_chain: any_chain, ..ReadOptions::default() }));
    }
});
