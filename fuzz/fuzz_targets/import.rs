//! A file of transactions in each format, and the same as a paste. The first byte says whether any chain passes.

#![no_main]

#[path = "../../tests/hostile/invariants.rs"]
#[allow(dead_code, reason = "a target uses a part of them")]
mod invariants;

use hoptop::internals::intake::{InputFormat, ReadOptions, parse_paste, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let any_chain = input.first() == Some(&b'!');
    let bytes = if any_chain { &input[1..] } else { input };
    for format in [InputFormat::Auto, InputFormat::Csv, InputFormat::Json, InputFormat::Ndjson] {
        invariants::assert_import(&read(bytes, &ReadOptions { format, allows_any_chain: any_chain, ..ReadOptions::default() }));
    }
    let options = ReadOptions { allows_any_chain: any_chain, ..ReadOptions::default() };
    invariants::assert_paste(&parse_paste(&String::from_utf8_lossy(bytes), &options));
});
