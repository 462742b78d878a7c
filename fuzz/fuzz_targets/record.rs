//! The body of an HTTP 200: any bytes become a record or a clean failure.

#![no_main]

#[path = "../../tests/hostile/invariants.rs"]
#[allow(dead_code, reason = "a target uses a part of them")]
mod invariants;

use chrono::DateTime;
use hoptop::internals::api::{HttpAnswer, interpret};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let reply = HttpAnswer { status: 200, retry_after: None, body };
    invariants::assert_heard(&reply, &interpret(&reply, &invariants::params(), DateTime::UNIX_EPOCH));
});
