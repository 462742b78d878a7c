//! Generates a realistic world from a seed: the transfers, the course of each, and the progress of each at the start.
//!
//! At the start some transfers are overdue, some are settled, and many settle within ten minutes. The statuses of a
//! transfer must never follow each other in an order that the service's documentation excludes (`service.md` 3).

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    plan::{ChainCourse, PlannedAnswer, Transfer, TransferRoute, TransferStage},
    random::{ChainFamily, RandomValues},
};
use crate::domain::{
    ids::ChainId,
    transaction::{NewTransaction, TransactionParams},
};

/// Chains, the busiest first, with the estimated seconds of a bridged route from each chain.
const EVM: [(&str, f64); 20] = [
    ("42161", 420.0),
    ("8453", 380.0),
    ("1", 960.0),
    ("137", 240.0),
    ("56", 150.0),
    ("10", 400.0),
    ("43114", 70.0),
    ("59144", 540.0),
    ("534352", 600.0),
    ("81457", 450.0),
    ("5000", 480.0),
    ("100", 200.0),
    ("42220", 120.0),
    ("146", 60.0),
    ("80094", 90.0),
    ("250", 60.0),
    ("1284", 180.0),
    ("130", 300.0),
    ("314", 1_200.0),
    ("2222", 75.0),
];
const SOLANA: (&str, f64) = ("solana-mainnet-beta", 60.0);
const COSMOS: [(&str, f64); 3] = [("osmosis-1", 90.0), ("cosmoshub-4", 150.0), ("noble-1", 80.0)];

/// The earliest submission, in seconds before the start.
const OLDEST: f64 = 45.0 * 60.0;
/// The latest settling of a transfer that is under way at the start, in seconds after the start.
const HORIZON: f64 = 600.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransferCourse {
    Success,
    PausedForGas,
    Partial,
    Refund,
    StuckOngoing,
    StuckUnseen,
    StuckForGas,
}

/// The progress of a transfer when the world starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartPhase {
    Fresh,
    UnderWay,
    Done,
}

/// The first transfers of each hundred, so that even a small world has every course.
const FIRST_COURSES: [(TransferCourse, StartPhase); 10] = [
    (TransferCourse::Success, StartPhase::UnderWay),
    (TransferCourse::StuckOngoing, StartPhase::UnderWay),
    (TransferCourse::Partial, StartPhase::Done),
    (TransferCourse::Success, StartPhase::Fresh),
    (TransferCourse::Refund, StartPhase::UnderWay),
    (TransferCourse::PausedForGas, StartPhase::UnderWay),
    (TransferCourse::Success, StartPhase::Done),
    (TransferCourse::StuckUnseen, StartPhase::UnderWay),
    (TransferCourse::StuckForGas, StartPhase::UnderWay),
    (TransferCourse::Refund, StartPhase::Done),
];

/// Returns the course of the transfer with this index. The shares are fixed, so that every seed gives a varied world.
fn course_and_phase(index: usize) -> (TransferCourse, StartPhase) {
    if let Some(course_and_phase) = FIRST_COURSES.get(index % 100) {
        return *course_and_phase;
    }
    match index % 24 {
        0 => (TransferCourse::Partial, StartPhase::UnderWay),
        5 => (TransferCourse::Partial, StartPhase::Done),
        10 => (TransferCourse::Refund, StartPhase::UnderWay),
        15 => (TransferCourse::PausedForGas, StartPhase::UnderWay),
        20 => (TransferCourse::StuckOngoing, StartPhase::UnderWay),
        7 | 19 => (TransferCourse::Success, StartPhase::Fresh),
        1 | 6 | 11 | 16 | 21 => (TransferCourse::Success, StartPhase::Done),
        _ => (TransferCourse::Success, StartPhase::UnderWay),
    }
}

/// Returns the transfers of a seeded world, in order of submission.
pub(super) fn transfers(seed: u64, count: usize, start: DateTime<Utc>) -> Vec<Transfer> {
    let mut random = RandomValues::seeded(seed);
    let mut transfers: Vec<_> = (0..count).map(|index| transfer(index, start, &mut random)).collect();
    transfers.sort_by_key(|transfer| transfer.begins);
    transfers
}

fn transfer(index: usize, start: DateTime<Utc>, random: &mut RandomValues) -> Transfer {
    let (course, phase) = course_and_phase(index);
    let kind = draw_kind(course, random);
    let ((from, from_seconds), (to, _)) = draw_chains(kind, random);
    let expected = estimated_seconds(kind, from_seconds, &format!("{from}>{to}"));
    let settles = random.lognormal(expected * 0.85, 0.35).clamp(30.0, 2_400.0);
    let before = -age_at_start(course, phase, settles, random);
    // Whole milliseconds survive every format in which a time is written.
    let begins = TimeDelta::milliseconds((before * 1_000.0) as i64);
    let from_chain = ChainId::new(from);
    let params = TransactionParams {
        transaction_id: random.hash(ChainFamily::of(&from_chain)),
        quote_id: random.token(),
        request_id: random.percent(70).then(|| random.token()),
        estimate: random.percent(88).then(|| Duration::from_secs(expected as u64)),
        submitted_at: start.checked_add_signed(begins),
        from_address: random.percent(60).then(|| random.address(&from_chain)),
        ticket: random.percent(30).then(|| format!("SUP-{}", random.whole(4_100, 4_999))),
        from_chain,
        to_chain: ChainId::new(to),
    };
    let labels = [("batch-17", 35), ("vip", 8)];
    let labels = labels.into_iter().filter(|(_, share)| random.percent(*share)).map(|(label, _)| label.to_owned());
    let new = NewTransaction { labels: labels.collect(), ..params.into() };
    let stages = stages(course, kind, settles, random);
    Transfer { new, kind, begins, stages, course: ChainCourse::default() }
}

/// Draws a kind of route on which the course is possible. Gas pauses and destination reverts need a bridged call,
/// refunds need an intents route (`service.md` 3).
fn draw_kind(course: TransferCourse, random: &mut RandomValues) -> TransferRoute {
    match course {
        TransferCourse::PausedForGas | TransferCourse::Partial | TransferCourse::StuckForGas => TransferRoute::Message,
        TransferCourse::Refund => TransferRoute::Intents,
        TransferCourse::StuckOngoing if random.percent(70) => TransferRoute::Message,
        TransferCourse::StuckOngoing | TransferCourse::StuckUnseen => TransferRoute::Tokens,
        TransferCourse::Success => match random.whole(0, 99) {
            0..=49 => TransferRoute::Message,
            50..=69 => TransferRoute::Tokens,
            70..=92 => TransferRoute::Intents,
            _ => TransferRoute::SameChain,
        },
    }
}

type ChainEstimate = (&'static str, f64);

/// Draws the source and the destination. Intents routes serve Solana, bridged routes serve Cosmos chains.
fn draw_chains(kind: TransferRoute, random: &mut RandomValues) -> (ChainEstimate, ChainEstimate) {
    let mut served = EVM.to_vec();
    match kind {
        TransferRoute::Intents => served.insert(4, SOLANA),
        TransferRoute::Message | TransferRoute::Tokens => served.extend(COSMOS),
        TransferRoute::SameChain => {}
    }
    let mut draw_chain =
        |served: &[ChainEstimate]| served.get(random.low_index(served.len())).copied().unwrap_or(SOLANA);
    let from = draw_chain(&served);
    if kind == TransferRoute::SameChain {
        return (from, from);
    }
    served.retain(|chain| chain.0 != from.0);
    (from, draw_chain(&served))
}

/// Returns `estimatedRouteDuration` in seconds, which depends on the route and not on the transfer.
fn estimated_seconds(kind: TransferRoute, from_seconds: f64, route: &str) -> f64 {
    let mut random = RandomValues::of(route);
    match kind {
        TransferRoute::Message | TransferRoute::Tokens => {
            (from_seconds * random.within(0.9, 1.2)).clamp(60.0, 1_200.0).round()
        }
        TransferRoute::Intents => random.within(60.0, 150.0).round(),
        TransferRoute::SameChain => 60.0,
    }
}

/// Returns the seconds between the transfer's submission and the start of the world.
fn age_at_start(course: TransferCourse, phase: StartPhase, settles: f64, random: &mut RandomValues) -> f64 {
    match (course, phase) {
        // More than twice every estimate, so that the transfer is overdue at the start.
        (TransferCourse::StuckOngoing, _) => random.within(41.0 * 60.0, OLDEST),
        (TransferCourse::StuckUnseen, _) => random.within(240.0, 900.0),
        (TransferCourse::StuckForGas, _) => random.within(600.0, 1_800.0),
        (_, StartPhase::Fresh) => random.within(0.0, 5.0),
        (_, StartPhase::Done) => random.within(settles + 10.0, OLDEST).min(OLDEST),
        (_, StartPhase::UnderWay) => settles - random.within(5.0, settles.min(HORIZON)),
    }
}

fn stages(course: TransferCourse, kind: TransferRoute, settles: f64, random: &mut RandomValues) -> Vec<TransferStage> {
    // Indexing commonly takes 5 to 10 s (`service.md` 3): first a 404, then sometimes a `not_found` record.
    let unknown = random.within(4.0, 10.0);
    let indexed = if random.percent(40) { unknown + random.within(2.0, 6.0) } else { unknown };
    let halfway = indexed + (settles - indexed) * random.within(0.35, 0.6);
    let all = if kind == TransferRoute::Message { 3 } else { 2 };
    let mut stages = vec![stage(0.0, PlannedAnswer::http(404))];
    if course == TransferCourse::StuckUnseen {
        stages.push(stage(indexed, PlannedAnswer::record("not_found", 0)));
        return stages;
    }
    if indexed > unknown {
        stages.push(stage(unknown, PlannedAnswer::record("not_found", 0)));
    }
    stages.push(stage(indexed, PlannedAnswer::record("ongoing", 1)));
    let (middle, end) = match course {
        TransferCourse::PausedForGas => ("needs_gas", Some("success")),
        TransferCourse::StuckForGas => ("needs_gas", None),
        TransferCourse::StuckOngoing | TransferCourse::StuckUnseen => ("ongoing", None),
        TransferCourse::Partial => ("ongoing", Some("partial_success")),
        TransferCourse::Refund => ("ongoing", Some("refund")),
        TransferCourse::Success => ("ongoing", Some("success")),
    };
    if all > 2 || middle != "ongoing" {
        stages.push(stage(halfway, PlannedAnswer::record(middle, 2)));
    }
    stages.extend(end.map(|end| stage(settles, PlannedAnswer::record(end, all))));
    stages
}

fn stage(seconds: f64, answer: PlannedAnswer) -> TransferStage {
    TransferStage::new(Duration::from_millis((seconds * 1_000.0) as u64), answer)
}
