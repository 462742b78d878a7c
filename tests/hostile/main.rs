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

use measure::Figures;
use properties::Run;

/// So many inputs as a debug build takes a second for.
const FEW: u32 = 300;
const MILLION: u32 = 1_000_000;

type Target = fn(&mut Run);

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

#[test]
#[ignore = "takes minutes, and only a release build keeps the time"]
fn a_million_inputs_keep_the_bounds() {
    let targets: [(&str, Target); 5] = [
        ("record", Run::records),
        ("error body", Run::error_bodies),
        ("Retry-After", Run::rests),
        ("import", Run::imports),
        ("sanitiser", Run::texts),
    ];
    for (name, target) in targets {
        let mut run = Run::new(MILLION);
        target(&mut run);
        let figures: Figures = run.figures();
        println!("{name:<12} {figures}");
        figures.assert_bounded(name);
    }
}
