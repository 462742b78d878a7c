//! The body of a node's answer: any bytes become a verdict or a clean failure.

#![no_main]

#[path = "../../tests/hostile/invariants.rs"]
#[allow(dead_code, reason = "a target uses a part of them")]
mod invariants;

use hoptop::internals::chain_rpc::read_body;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    invariants::assert_chain_read(&read_body(body));
});
