//! A believable world out of a seed: which transfers there are, how each one goes, and how far it is at the start.
//!
//! Interesting at once: some overdue, some done, many under way that settle over the next ten minutes. It must never
//! let a status follow another that the service's documentation makes impossible (`service.md` 3).

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    chance::{Chance, Family},
    plan::{Answer, Kind, Stage, Transfer},
};
use crate::domain::{
    ids::ChainId,
    transaction::{NewTransaction, TransactionParams},
};

/// Chains, the busy ones first, and the seconds that a bridged route from there is estimated at.
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
/// The latest settling of what is under way, in seconds after the start.
const HORIZON: f64 = 600.0;

/// How a transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Success,
    PausedForGas,
    Partial,
    Refund,
    StuckOngoing,
    StuckUnseen,
    StuckForGas,
}

/// How far it is when the world starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Fresh,
    UnderWay,
    Done,
}

/// One of each comes first, so that even a small world shows everything.
const ROLL_CALL: [(Fate, Phase); 10] = [
    (Fate::Success, Phase::UnderWay),
    (Fate::StuckOngoing, Phase::UnderWay),
    (Fate::Partial, Phase::Done),
    (Fate::Success, Phase::Fresh),
    (Fate::Refund, Phase::UnderWay),
    (Fate::PausedForGas, Phase::UnderWay),
    (Fate::Success, Phase::Done),
    (Fate::StuckUnseen, Phase::UnderWay),
    (Fate::StuckForGas, Phase::UnderWay),
    (Fate::Refund, Phase::Done),
];

/// How the transfer with this number goes. The shares are fixed, so that no seed gives a dull world.
fn lot(index: usize) -> (Fate, Phase) {
    if let Some(lot) = ROLL_CALL.get(index % 100) {
        return *lot;
    }
    match index % 24 {
        0 => (Fate::Partial, Phase::UnderWay),
        5 => (Fate::Partial, Phase::Done),
        10 => (Fate::Refund, Phase::UnderWay),
        15 => (Fate::PausedForGas, Phase::UnderWay),
        20 => (Fate::StuckOngoing, Phase::UnderWay),
        7 | 19 => (Fate::Success, Phase::Fresh),
        1 | 6 | 11 | 16 | 21 => (Fate::Success, Phase::Done),
        _ => (Fate::Success, Phase::UnderWay),
    }
}

/// The transfers of a seeded world, in order of submission.
pub(super) fn transfers(seed: u64, count: usize, start: DateTime<Utc>) -> Vec<Transfer> {
    let mut chance = Chance::seeded(seed);
    let mut transfers: Vec<_> = (0..count).map(|index| transfer(index, start, &mut chance)).collect();
    transfers.sort_by_key(|transfer| transfer.begins);
    transfers
}

fn transfer(index: usize, start: DateTime<Utc>, chance: &mut Chance) -> Transfer {
    let (fate, phase) = lot(index);
    let kind = kind(fate, chance);
    let ((from, from_seconds), (to, _)) = ends(kind, chance);
    let expected = expected(kind, from_seconds, &format!("{from}>{to}"));
    let settles = chance.lognormal(expected * 0.85, 0.35).clamp(30.0, 2_400.0);
    let before = -age_at_start(fate, phase, settles, chance);
    // Whole milliseconds, so that a time survives every format that it is written in.
    let begins = TimeDelta::milliseconds((before * 1_000.0) as i64);
    let from_chain = ChainId::new(from);
    let params = TransactionParams {
        transaction_id: chance.hash(Family::of(&from_chain)),
        quote_id: chance.token(),
        request_id: chance.percent(70).then(|| chance.token()),
        estimate: chance.percent(88).then(|| Duration::from_secs(expected as u64)),
        submitted_at: start.checked_add_signed(begins),
        from_address: chance.percent(60).then(|| chance.address(&from_chain)),
        ticket: chance.percent(30).then(|| format!("SUP-{}", chance.whole(4_100, 4_999))),
        from_chain,
        to_chain: ChainId::new(to),
    };
    let labels = [("batch-17", 35), ("vip", 8)];
    let labels = labels.into_iter().filter(|(_, share)| chance.percent(*share)).map(|(label, _)| label.to_owned());
    let new = NewTransaction { labels: labels.collect(), ..params.into() };
    Transfer { new, kind, begins, stages: stages(fate, kind, settles, chance) }
}

/// A kind of route on which the fate is possible: gas pauses and destination reverts need a bridged call, refunds an
/// intents route (`service.md` 3).
fn kind(fate: Fate, chance: &mut Chance) -> Kind {
    match fate {
        Fate::PausedForGas | Fate::Partial | Fate::StuckForGas => Kind::Message,
        Fate::Refund => Kind::Intents,
        Fate::StuckOngoing if chance.percent(70) => Kind::Message,
        Fate::StuckOngoing | Fate::StuckUnseen => Kind::Tokens,
        Fate::Success => match chance.whole(0, 99) {
            0..=49 => Kind::Message,
            50..=69 => Kind::Tokens,
            70..=92 => Kind::Intents,
            _ => Kind::SameChain,
        },
    }
}

type Spot = (&'static str, f64);

/// The source and the destination. Solvers serve Solana, bridges serve Cosmos.
fn ends(kind: Kind, chance: &mut Chance) -> (Spot, Spot) {
    let mut served = EVM.to_vec();
    match kind {
        Kind::Intents => served.insert(4, SOLANA),
        Kind::Message | Kind::Tokens => served.extend(COSMOS),
        Kind::SameChain => {}
    }
    let mut spot = |served: &[Spot]| served.get(chance.early(served.len())).copied().unwrap_or(SOLANA);
    let from = spot(&served);
    if kind == Kind::SameChain {
        return (from, from);
    }
    served.retain(|spot| spot.0 != from.0);
    (from, spot(&served))
}

/// `estimatedRouteDuration` in seconds: it belongs to the route, not to the transfer.
fn expected(kind: Kind, from_seconds: f64, route: &str) -> f64 {
    let mut chance = Chance::of(route);
    match kind {
        Kind::Message | Kind::Tokens => (from_seconds * chance.within(0.9, 1.2)).clamp(60.0, 1_200.0).round(),
        Kind::Intents => chance.within(60.0, 150.0).round(),
        Kind::SameChain => 60.0,
    }
}

/// The seconds between its submission and the start of the world.
fn age_at_start(fate: Fate, phase: Phase, settles: f64, chance: &mut Chance) -> f64 {
    match (fate, phase) {
        // Past twice every estimate that is used, so that it is overdue at once.
        (Fate::StuckOngoing, _) => chance.within(41.0 * 60.0, OLDEST),
        (Fate::StuckUnseen, _) => chance.within(240.0, 900.0),
        (Fate::StuckForGas, _) => chance.within(600.0, 1_800.0),
        (_, Phase::Fresh) => chance.within(0.0, 5.0),
        (_, Phase::Done) => chance.within(settles + 10.0, OLDEST).min(OLDEST),
        (_, Phase::UnderWay) => settles - chance.within(5.0, settles.min(HORIZON)),
    }
}

fn stages(fate: Fate, kind: Kind, settles: f64, chance: &mut Chance) -> Vec<Stage> {
    // Commonly 5 to 10 seconds until it is indexed (`service.md` 3): first a 404, at times then a record without news.
    let unknown = chance.within(4.0, 10.0);
    let indexed = if chance.percent(40) { unknown + chance.within(2.0, 6.0) } else { unknown };
    let halfway = indexed + (settles - indexed) * chance.within(0.35, 0.6);
    let all = if kind == Kind::Message { 3 } else { 2 };
    let mut stages = vec![stage(0.0, Answer::http(404))];
    if fate == Fate::StuckUnseen {
        stages.push(stage(indexed, Answer::record("not_found", 0)));
        return stages;
    }
    if indexed > unknown {
        stages.push(stage(unknown, Answer::record("not_found", 0)));
    }
    stages.push(stage(indexed, Answer::record("ongoing", 1)));
    let (middle, end) = match fate {
        Fate::PausedForGas => ("needs_gas", Some("success")),
        Fate::StuckForGas => ("needs_gas", None),
        Fate::StuckOngoing | Fate::StuckUnseen => ("ongoing", None),
        Fate::Partial => ("ongoing", Some("partial_success")),
        Fate::Refund => ("ongoing", Some("refund")),
        Fate::Success => ("ongoing", Some("success")),
    };
    if all > 2 || middle != "ongoing" {
        stages.push(stage(halfway, Answer::record(middle, 2)));
    }
    stages.extend(end.map(|end| stage(settles, Answer::record(end, all))));
    stages
}

fn stage(seconds: f64, answer: Answer) -> Stage {
    Stage::new(Duration::from_millis((seconds * 1_000.0) as u64), answer)
}
