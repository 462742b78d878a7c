//! The body of any other HTTP status, and of an answer about a route: a line with the status, then the body.

#![no_main]

#[path = "../../tests/hostile/invariants.rs"]
#[allow(dead_code, reason = "a target uses a part of them")]
mod invariants;

use chrono::DateTime;
use hoptop::internals::api::{HttpAnswer, interpret, interpret_route};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let (line, body) = input.split_at(input.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1));
    let status = std::str::from_utf8(line).ok().and_then(|line| line.trim().parse().ok()).unwrap_or(500);
    let reply = HttpAnswer { status, retry_after: None, body };
    invariants::assert_heard(&reply, &interpret(&reply, &invariants::params(), DateTime::UNIX_EPOCH));
    invariants::assert_quote(&interpret_route(&reply, body.len() % 2 == 0, DateTime::UNIX_EPOCH));
});
