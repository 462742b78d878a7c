//! When a chain is asked, and how its verdict compares with the status.

use chrono::TimeDelta;

use super::*;
use crate::domain::{
    fixtures::{self, at, says},
    on_chain::FINAL_CONFIRMATIONS,
    record::{ChainSide, RouteStep, StatusRecord},
};

fn mined(confirmations: u64) -> Mined {
    Mined { block: 12, time: Some(at(-5)), confirmations }
}

fn says_chain(tx: &mut Transaction, verdict: ChainVerdict, second: i64) {
    let reading = ChainReading { node: "node.example".into(), ..ChainReading::without_node(verdict) };
    tx.on_chain = Some(OnChainState::after(tx.on_chain.as_ref(), reading, None, at(second)));
}

#[test]
fn a_new_transfer_is_asked_about_once_for_its_submission_time() {
    let mut tx = fixtures::transaction(1);
    assert_eq!(next_source_check(&tx), Some(at(0)));
    says_chain(&mut tx, ChainVerdict::Pending, 1);
    assert_eq!(next_source_check(&tx), Some(at(31)));
    says_chain(&mut tx, ChainVerdict::Succeeded(mined(1)), 31);
    tx.params.submitted_at = tx.on_chain.as_ref().and_then(OnChainState::submitted_at);
    assert!(tx.is_submission_from_chain());
    tx.apply(&says(RouterStatus::Ongoing), at(40));
    // Again only past the deadline, until the block is deep.
    assert_eq!(next_source_check(&tx), Some(tx.deadline().at));
    says_chain(&mut tx, ChainVerdict::Succeeded(mined(FINAL_CONFIRMATIONS)), 2_000);
    assert_eq!(next_source_check(&tx), None);
}

#[test]
fn a_transfer_with_a_submission_time_is_asked_about_once_it_is_late() {
    let mut tx = fixtures::transaction(1);
    tx.params.submitted_at = Some(at(0));
    tx.apply(&says(RouterStatus::NotFound), at(3));
    let p95 = evidence::indexing_forecast(&tx.indexing).quantile(Quantile::P95);
    assert_eq!(next_source_check(&tx), Some(at(0) + TimeDelta::from_std(p95).unwrap()));
    tx.apply(&says(RouterStatus::Ongoing), at(8));
    assert_eq!(next_source_check(&tx), Some(at(900)));
    tx.apply(&says(RouterStatus::NeedsGas), at(9));
    assert_eq!(next_source_check(&tx), None);
    tx.apply(&says(RouterStatus::Success), at(20));
    assert_eq!(next_source_check(&tx), None);
    let mut stopped = fixtures::transaction(2);
    stopped.tracking = Tracking::Untracked;
    assert_eq!(next_source_check(&stopped), None);
}

#[test]
fn the_second_transaction_is_that_of_the_destination_or_of_the_refund() {
    let hash = |text: &str| Some(TxHash::new(text));
    let mut record = StatusRecord::bare(RouterStatus::PartialSuccess);
    record.to = ChainSide { transaction_id: hash("0xd"), ..ChainSide::default() };
    let mut tx = fixtures::transaction(1);
    let answer = |record: &StatusRecord| {
        fixtures::answer(crate::domain::observation::StatusOutcome::Record(Box::new(record.clone())))
    };
    tx.apply(&answer(&record), at(5));
    assert_eq!(second_transaction(&tx), Some((tx.params.to_chain.clone(), TxHash::new("0xd"))));
    assert_eq!(next_second_check(&tx), Some(at(5)));
    let succeeded = ChainReading::without_node(ChainVerdict::Succeeded(mined(1)));
    let unknown = || ChainReading::without_node(ChainVerdict::Unknown(Vec::new()));
    let second = second_transaction(&tx).unwrap();
    tx.on_chain = Some(OnChainState::after(None, unknown(), Some((second, succeeded)), at(6)));
    assert_eq!(next_second_check(&tx), None);
    assert!(contradiction(&tx).unwrap().contains("Base says succeeded in block 12"));
    // The record's `toChain` is a hop.
    let (hop, to) = (ChainId::new("10"), tx.params.to_chain.clone());
    let of_hop =
        tx.on_chain.clone().map(|known| OnChainState { second_of: Some((hop.clone(), TxHash::new("0xd"))), ..known });
    let mut bridged = Transaction { on_chain: of_hop, ..fixtures::transaction(3) };
    record.to = ChainSide { chain_id: Some(hop), ..record.to };
    bridged.apply(&answer(&record), at(5));
    assert_eq!((second_transaction(&bridged), contradiction(&bridged)), (None, None));
    let last = RouteStep { chain_id: Some(to.clone()), transaction_id: hash("0xf"), ..RouteStep::default() };
    record.steps = vec![last];
    bridged.apply(&answer(&record), at(6));
    assert_eq!(second_transaction(&bridged), Some((to, TxHash::new("0xf"))));

    let step = |chain: &ChainId, hash| RouteStep {
        chain_id: Some(chain.clone()),
        transaction_id: hash,
        ..RouteStep::default()
    };
    let mut refund = fixtures::transaction(2);
    let mut record = StatusRecord::bare(RouterStatus::Refund);
    let (source, own) = (refund.params.from_chain.clone(), refund.params.transaction_id.clone());
    record.steps = vec![step(&source, Some(own)), step(&source, hash("0xe"))];
    refund.apply(&answer(&record), at(5));
    assert_eq!(second_transaction(&refund), Some((source.clone(), TxHash::new("0xe"))));

    // What was said of the destination's transaction says nothing of the refund's.
    let reverted = ChainReading::without_node(ChainVerdict::Reverted(mined(1)));
    let known = tx.on_chain.clone().unwrap();
    refund.on_chain = Some(OnChainState { second: Some(reverted), ..known });
    // It may have been asked for without an answer, so that it isn't asked for at once.
    assert_eq!(next_second_check(&refund), Some(at(36)));
    assert_eq!(contradiction(&refund), None);
    assert!(!sentence(&refund, &|_| String::new()).unwrap().contains("the refund"));
    let own = second_transaction(&refund);
    refund.on_chain = refund.on_chain.map(|known| OnChainState { second_of: own, ..known });
    assert!(contradiction(&refund).unwrap().contains("the refund reverted in block 12"));
}

#[test]
fn a_second_transaction_that_can_not_be_asked_for_is_asked_for_less_often() {
    let mut record = StatusRecord::bare(RouterStatus::PartialSuccess);
    record.to = ChainSide { transaction_id: Some(TxHash::new("0xd")), ..ChainSide::default() };
    let mut tx = fixtures::transaction(1);
    tx.apply(&fixtures::answer(crate::domain::observation::StatusOutcome::Record(Box::new(record))), at(5));
    says_chain(&mut tx, ChainVerdict::Pending, 6);
    assert_eq!(next_second_check(&tx), Some(at(36)));
}

#[test]
fn a_contradiction_needs_a_status_that_the_verdict_excludes() {
    use RouterStatus::{NeedsGas, NotFound, Ongoing, PartialSuccess, Refund, Success};
    let elsewhere = || ChainVerdict::Elsewhere(ChainId::new("10"));
    let table = [
        (ChainVerdict::Reverted(mined(1)), vec![Success, Ongoing, NeedsGas, PartialSuccess, Refund], vec![NotFound]),
        (ChainVerdict::Dropped, vec![Success, Ongoing], vec![NotFound]),
        (elsewhere(), vec![Success, Ongoing], vec![NotFound]),
        (ChainVerdict::Pending, vec![Success, Refund], vec![NotFound, Ongoing]),
        (ChainVerdict::Succeeded(mined(1)), vec![], vec![Success, Ongoing, NotFound, Refund]),
        (ChainVerdict::Unknown(Vec::new()), vec![], vec![Success, Ongoing, NotFound]),
        (ChainVerdict::CannotBeAsked(String::new()), vec![], vec![Success, NotFound]),
    ];
    for (verdict, contradicted, agreed) in table {
        let contradicts = |status: &RouterStatus| {
            let mut tx = fixtures::transaction(1);
            tx.apply(&says(status.clone()), at(5));
            says_chain(&mut tx, verdict.clone(), 6);
            says_chain(&mut tx, verdict.clone(), 7);
            contradiction(&tx).is_some()
        };
        assert!(contradicted.iter().all(contradicts), "{verdict:?}");
        assert!(!agreed.iter().any(contradicts), "{verdict:?}");
    }
}

#[test]
fn single_or_older_chain_reading_contradicts_nothing() {
    let mut tx = fixtures::transaction(1);
    says_chain(&mut tx, ChainVerdict::Pending, 4);
    tx.apply(&says(RouterStatus::Success), at(5));
    assert_eq!(contradiction(&tx), None, "it was mined since");
    let mut tx = fixtures::transaction(1);
    tx.apply(&says(RouterStatus::Ongoing), at(5));
    says_chain(&mut tx, ChainVerdict::Dropped, 6);
    assert_eq!(contradiction(&tx), None, "it may have been mined between two requests");
    assert!(next_source_check(&tx).is_some());
    says_chain(&mut tx, ChainVerdict::Dropped, 40);
    assert!(contradiction(&tx).is_some() && next_source_check(&tx).is_none());
}

#[test]
fn the_sentence_names_chain_block_and_node() {
    let write_time = |moment: DateTime<Utc>| format!("second {}", moment.timestamp());
    let sentence_of = |verdict| {
        let mut tx = fixtures::transaction(1);
        says_chain(&mut tx, verdict, 60);
        sentence(&tx, &write_time).unwrap()
    };
    assert_eq!(
        sentence_of(ChainVerdict::Succeeded(mined(1))),
        "Arbitrum: mined and succeeded, block 12 at second -5, 1 confirmation: the delay is the service's (node.example, second 60)"
    );
    let table = [
        (ChainVerdict::Reverted(mined(3)), "reverted, block 12 at second -5, 3 confirmations: nothing was bridged"),
        (ChainVerdict::Pending, "pending, not mined yet"),
        (ChainVerdict::Dropped, "dropped or replaced"),
        (ChainVerdict::Elsewhere(ChainId::new("8453")), "found on Base: the wrong source chain was given"),
        (ChainVerdict::Unknown(Vec::new()), "no other chain could be asked"),
        (ChainVerdict::Unknown(vec![ChainId::new("8453"), ChainId::new("10")]), "unknown, also on Base, Optimism"),
        (ChainVerdict::CannotBeAsked("no node".into()), "can't be asked: no node"),
    ];
    for (verdict, part) in table {
        let says = sentence_of(verdict);
        assert!(says.starts_with("Arbitrum: ") && says.contains(part), "{says}");
    }
    assert_eq!(sentence(&fixtures::transaction(1), &write_time), None);
}
