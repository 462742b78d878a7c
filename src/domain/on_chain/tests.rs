//! The table of cases: what a node says, and the verdict.

use super::*;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(second)
}

fn tx(block: Option<u64>) -> Option<TransactionFacts> {
    Some(TransactionFacts { from: Some("0xaa".into()), to: Some("0xbb".into()), nonce: Some(7), block })
}

fn receipt(succeeded: Option<bool>, block: Option<u64>) -> Option<ReceiptFacts> {
    Some(ReceiptFacts { succeeded, block, from: Some("0xcc".into()), to: None })
}

fn pending() -> ChainReading {
    read(&ChainFacts { transaction: tx(None), ..ChainFacts::default() }, "node", None).unwrap()
}

#[test]
fn facts_of_a_node_become_a_verdict() {
    let mined = |block, confirmations| Mined { block, time: Some(at(60)), confirmations };
    let facts = |transaction, receipt, head, next_nonce| ChainFacts {
        transaction,
        receipt,
        head,
        block_time: Some(at(60)),
        next_nonce,
    };
    let seen = pending();
    let table = [
        (
            facts(tx(Some(9)), receipt(Some(true), Some(9)), Some(10), None),
            None,
            Ok(ChainVerdict::Succeeded(mined(9, 2))),
        ),
        (
            facts(tx(Some(9)), receipt(Some(false), Some(9)), Some(9), None),
            None,
            Ok(ChainVerdict::Reverted(mined(9, 1))),
        ),
        // A node behind a balancer is behind the one that gave the receipt.
        (facts(None, receipt(Some(true), Some(9)), Some(8), None), None, Ok(ChainVerdict::Succeeded(mined(9, 0)))),
        (facts(tx(Some(9)), receipt(Some(true), None), Some(9), None), None, Ok(ChainVerdict::Succeeded(mined(9, 1)))),
        (facts(tx(None), None, Some(9), None), None, Ok(ChainVerdict::Pending)),
        (facts(None, None, Some(9), None), None, Ok(ChainVerdict::Unknown(Vec::new()))),
        (facts(None, None, Some(9), Some(8)), Some(&seen), Ok(ChainVerdict::Dropped)),
        (facts(None, None, Some(9), Some(7)), Some(&seen), Ok(ChainVerdict::Pending)),
        (facts(None, None, Some(9), None), Some(&seen), Err("next nonce")),
        (facts(tx(Some(9)), None, Some(9), None), None, Err("no receipt")),
        (facts(tx(Some(9)), receipt(None, Some(9)), Some(9), None), None, Err("reverted")),
        (facts(None, receipt(Some(true), None), Some(9), None), None, Err("no block")),
        (facts(tx(Some(9)), receipt(Some(true), Some(9)), None, None), None, Err("newest block")),
    ];
    let deep =
        |confirmations| ChainReading { verdict: ChainVerdict::Succeeded(mined(9, confirmations)), ..seen.clone() };
    let without_time = |known: &ChainReading| {
        let facts = ChainFacts { block_time: None, ..facts(tx(Some(9)), receipt(Some(true), Some(9)), Some(10), None) };
        read(&facts, "node", Some(known)).unwrap().verdict
    };
    assert_eq!(without_time(&deep(1)), ChainVerdict::Succeeded(mined(9, 2)), "the time of the same block");
    let elsewhere = ChainReading { verdict: ChainVerdict::Succeeded(mined(8, 1)), ..seen.clone() };
    assert_eq!(without_time(&elsewhere).mined().unwrap().time, None);
    let is_behind = facts(None, None, Some(9), Some(8));
    assert!(read(&is_behind, "node", Some(&deep(64))).unwrap_err().contains("64 confirmations in block 9"));
    assert_eq!(read(&is_behind, "node", Some(&deep(2))).unwrap().verdict, ChainVerdict::Dropped);
    for (facts, previous, expected) in table {
        match (read(&facts, "node", previous), expected) {
            (Ok(reading), Ok(verdict)) => assert_eq!(reading.verdict, verdict, "{facts:?}"),
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}"),
            (read, expected) => panic!("{facts:?}: {read:?}, not {expected:?}"),
        }
    }
    assert_eq!(seen.sender(), Some(("0xaa", 7)));
    // The sender of a transaction that is gone stays known.
    let gone = read(&ChainFacts { next_nonce: Some(8), ..ChainFacts::default() }, "node", Some(&seen)).unwrap();
    assert_eq!((gone.from.as_deref(), gone.nonce, gone.node.as_str()), (Some("0xaa"), Some(7), "node"));
}

#[test]
fn deep_blocks_and_definite_verdicts_are_final() {
    let mined = |confirmations| Mined { block: 1, time: None, confirmations };
    let table = [
        (ChainVerdict::Succeeded(mined(FINAL_CONFIRMATIONS)), true),
        (ChainVerdict::Reverted(mined(FINAL_CONFIRMATIONS - 1)), false),
        (ChainVerdict::Pending, false),
        (ChainVerdict::Dropped, true),
        (ChainVerdict::Elsewhere(ChainId::new("1")), true),
        (ChainVerdict::Unknown(Vec::new()), false),
        (ChainVerdict::CannotBeAsked(String::new()), false),
    ];
    for (verdict, is_final) in table {
        assert_eq!(verdict.is_final(), is_final, "{verdict:?}");
        let json = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<ChainVerdict>(&json).unwrap(), verdict);
        assert!(json.contains(verdict.name()), "{json}");
    }
}

#[test]
fn repeated_verdict_is_not_reported_and_is_asked_for_less_often() {
    let reading = |confirmations| {
        let mined = Mined { block: 1, time: Some(at(9)), confirmations };
        ChainReading::without_node(ChainVerdict::Succeeded(mined))
    };
    let second = (ChainId::new("8453"), TxHash::new("0xd"));
    let first = OnChainState::after(None, reading(1), Some((second.clone(), pending())), at(10));
    let again = OnChainState::after(Some(&first), reading(2), None, at(20));
    assert!(first.has_changed_since(None) && !again.has_changed_since(Some(&first)));
    assert_eq!((again.repeats, again.second.as_ref(), again.submitted_at()), (1, first.second.as_ref(), Some(at(9))));
    assert_eq!(again.second_reading(&second.0, &second.1), again.second.as_ref());
    assert_eq!(again.second_reading(&second.0, &TxHash::new("0xe")), None);
    assert!(again.next_pause() > first.next_pause());
    let reorganised = OnChainState::after(Some(&again), pending(), None, at(30));
    assert!(reorganised.has_changed_since(Some(&again)));
    assert_eq!((reorganised.repeats, reorganised.submitted_at()), (0, None));
    let for_long = OnChainState { repeats: 99, ..first };
    assert_eq!(for_long.next_pause(), TimeDelta::minutes(10));
}

#[test]
fn evm_hashes_are_distinguished_from_others() {
    assert!(is_evm_hash(&TxHash::new(format!("0X{}", "A".repeat(64)))));
    assert!(is_evm_hash(&TxHash::new("a".repeat(64))));
    assert!(!is_evm_hash(&TxHash::new("0xab")));
    assert!(!is_evm_hash(&TxHash::new("5VfYmGC9L2VB9xzzTWTJkY5a8Y2mYTmVFPVpCbX1sJrk")));
}
