//! Transfers that the service doesn't find, one for each thing that the source chain may say about such a transfer.
//!
//! The transfers are for `demo`: the same in each world, with tickets from SUP-5001 on.

use std::time::Duration;

use chrono::TimeDelta;

use super::plan::{ChainCourse, PlannedAnswer, Transfer, TransferRoute, TransferStage};
use crate::domain::{
    ids::{ChainId, TxHash},
    transaction::{NewTransaction, TransactionParams},
};

/// How long before the start of the world the transfers begin.
const AGE: TimeDelta = TimeDelta::seconds(40);

/// Returns the transfers.
pub(super) fn cases() -> Vec<Transfer> {
    let wrong = ChainCourse::ImportedAs(ChainId::new("42161"));
    let courses = [
        ("42161", ChainCourse::Reverted),
        ("1", ChainCourse::Pending),
        ("137", ChainCourse::Replaced(Duration::from_secs(55))),
        ("8453", wrong),
        ("10", ChainCourse::Unknown),
    ];
    (1..).zip(courses).map(|(number, (chain, course))| transfer(number, chain, course)).collect()
}

fn transfer(number: u64, chain: &str, course: ChainCourse) -> Transfer {
    let params = TransactionParams {
        transaction_id: TxHash::new(format!("0x{:08x}{:056x}", 0xc4a1_0000 + number, number)),
        from_chain: ChainId::new(chain),
        to_chain: ChainId::new("43114"),
        quote_id: format!("chain-case-{number}"),
        request_id: None,
        estimate: None,
        submitted_at: None,
        from_address: None,
        ticket: Some(format!("SUP-{}", 5000 + number)),
    };
    let at = |seconds, answer| TransferStage::new(Duration::from_secs(seconds), answer);
    let mut stages = vec![at(0, PlannedAnswer::http(404))];
    if let ChainCourse::ImportedAs(_) = &course {
        stages.extend([at(10, PlannedAnswer::record("ongoing", 1)), at(180, PlannedAnswer::record("success", 3))]);
    }
    Transfer { new: NewTransaction::from(params), kind: TransferRoute::Message, begins: -AGE, stages, course }
}
