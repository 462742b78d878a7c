//! Hostile input: what comes from the service, from a file and from the clipboard (`cases.md` 1 to 19, 29, 48, 53, 59).
//!
//! Five properties, a few hundred inputs each. With a million inputs each, and the bounds of time and memory measured:
//! `cargo test --release --test hostile -- --ignored --nocapture`. The targets in `fuzz/` hold the same invariants.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints its figures"
)]

mod files;
mod generators;
mod invariants;
mod limits;
mod measure;
mod properties;

use properties::Run;

/// So many inputs as a debug build takes a second for.
const FEW: u32 = 300;
const MILLION: u32 = 1_000_000;

#[test]
fn a_spoiled_record_keeps_what_is_not_spoiled() {
    Run::new(FEW).records();
}

#[test]
fn an_answer_is_what_its_http_status_says() {
    Run::new(FEW).error_bodies();
}

#[test]
fn a_rest_is_what_was_asked_for_and_bounded() {
    Run::new(FEW).rests();
}

#[test]
fn a_file_is_taken_whole_or_every_bad_line_is_named() {
    Run::new(FEW).imports();
}

#[test]
fn text_comes_out_clean() {
    Run::new(FEW).texts();
}

/// A million inputs, and what the costliest of them cost.
fn a_million(name: &str, target: fn(&mut Run)) {
    let mut run = Run::new(MILLION);
    target(&mut run);
    let figures = run.figures();
    println!("{figures}: {name}");
    figures.assert_bounded(name);
}

#[test]
#[ignore = "takes minutes, and only a release build keeps the time"]
fn a_million_records() {
    a_million("record", Run::records);
}

#[test]
#[ignore = "takes minutes, and only a release build keeps the time"]
fn a_million_error_bodies() {
    a_million("error body", Run::error_bodies);
}

#[test]
#[ignore = "takes minutes, and only a release build keeps the time"]
fn a_million_rests() {
    a_million("Retry-After", Run::rests);
}

#[test]
#[ignore = "takes minutes, and only a release build keeps the time"]
fn a_million_imports() {
    a_million("import", Run::imports);
}

#[test]
#[ignore = "takes minutes, and only a release build keeps the time"]
fn a_million_texts() {
    a_million("sanitiser", Run::texts);
}
