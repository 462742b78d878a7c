//! The rest that a 429 asks for: a line with the moment in seconds, a line with the header, then the body.

#![no_main]

#[path = "../../tests/hostile/invariants.rs"]
#[allow(dead_code, reason = "a target uses a part of them")]
mod invariants;

use chrono::DateTime;
use hoptop::internals::api::{HttpAnswer, interpret};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let mut parts = input.splitn(3, '\n');
    let seconds = parts.next().and_then(|line| line.parse().ok()).unwrap_or_default();
    let wall = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    let retry_after = parts.next();
    let reply = HttpAnswer { status: 429, retry_after, body: parts.next().unwrap_or_default().as_bytes() };
    invariants::assert_heard(&reply, &interpret(&reply, &invariants::params(), wall));
});
