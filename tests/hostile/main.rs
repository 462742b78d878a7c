//! Hostile input from the service, from a file and from the clipboard (`cases.md` 1 to 19, 29, 48, 53, 59).
//!
//! Six properties, checked with a few hundred inputs each. A million inputs each, with bounds of time and memory:
//! `cargo test --release --test hostile -- --ignored --nocapture`. The targets in `fuzz/` check the same invariants.

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

use properties::PropertyRun;

/// The number of inputs that a debug build checks in about a second.
const FEW: u32 = 300;
const MILLION: u32 = 1_000_000;

#[test]
fn record_with_a_spoiled_field_keeps_its_other_fields() {
    PropertyRun::new(FEW).check_records();
}

#[test]
fn outcome_follows_from_the_http_status() {
    PropertyRun::new(FEW).check_error_bodies();
}

#[test]
fn rest_follows_retry_after_up_to_a_limit() {
    PropertyRun::new(FEW).check_rests();
}

#[test]
fn file_is_imported_whole_or_every_bad_line_is_named() {
    PropertyRun::new(FEW).check_imports();
}

#[test]
fn sanitised_text_is_clean() {
    PropertyRun::new(FEW).check_texts();
}

#[test]
fn answer_of_a_node_with_a_spoiled_field_is_a_verdict_or_a_sentence() {
    PropertyRun::new(FEW).check_chains();
}

/// Checks a million inputs, prints the highest costs, and fails if one exceeds its bound.
fn check_a_million(name: &str, check: fn(&mut PropertyRun)) {
    let mut run = PropertyRun::new(MILLION);
    check(&mut run);
    let figures = run.figures();
    println!("{figures}: {name}");
    figures.assert_bounded(name);
}

#[test]
#[ignore = "takes minutes, and only a release build keeps the time"]
fn million_records_are_within_bounds() {
    check_a_million("record", PropertyRun::check_records);
}

#[test]
#[ignore = "takes minutes, and only a release build keeps the time"]
fn million_error_bodies_are_within_bounds() {
    check_a_million("error body", PropertyRun::check_error_bodies);
}

#[test]
#[ignore = "takes minutes, and only a release build keeps the time"]
fn million_rests_are_within_bounds() {
    check_a_million("Retry-After", PropertyRun::check_rests);
}

#[test]
#[ignore = "takes minutes, and only a release build keeps the time"]
fn million_imports_are_within_bounds() {
    check_a_million("import", PropertyRun::check_imports);
}

#[test]
#[ignore = "takes minutes, and only a release build keeps the time"]
fn million_answers_of_nodes_are_within_bounds() {
    check_a_million("JSON-RPC", PropertyRun::check_chains);
}

#[test]
#[ignore = "takes minutes, and only a release build keeps the time"]
fn million_texts_are_within_bounds() {
    check_a_million("sanitiser", PropertyRun::check_texts);
}
