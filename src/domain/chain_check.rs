//! When a chain is asked about a transaction, and how its verdict compares with the service's status.
//!
//! The chain's verdict is shown beside the status. It must never replace a status, and never decide whether a
//! transaction is settled.

use chrono::{DateTime, Utc};

use super::{
    chains,
    deadline::MAX_ESTIMATE,
    evidence,
    forecast::Quantile,
    ids::{ChainId, TxHash},
    on_chain::{ChainReading, ChainVerdict, Mined, OnChainState},
    record::RecordView,
    route,
    status::RouterStatus,
    text,
    transaction::{Tracking, Transaction},
};

/// Whether the outcome of a transfer with this status depends on a second transaction.
pub(crate) fn has_second_transaction(status: &RouterStatus) -> bool {
    match status {
        RouterStatus::PartialSuccess | RouterStatus::Refund => true,
        RouterStatus::Success
        | RouterStatus::NeedsGas
        | RouterStatus::Ongoing
        | RouterStatus::NotFound
        | RouterStatus::Unknown(_) => false,
    }
}

/// Returns the transaction on which a transfer's outcome depends: on the destination chain, or the refund.
pub(crate) fn second_transaction(tx: &Transaction) -> Option<(ChainId, TxHash)> {
    let record = tx.record.as_ref()?;
    let params = &tx.params;
    match tx.state.status.as_ref()? {
        RouterStatus::PartialSuccess => {
            // The record's `toChain` may be a hop.
            let destination = route::ends(tx).destination;
            Some((destination.chain.clone(), destination.transaction_id?.clone()))
        }
        RouterStatus::Refund => record.steps.iter().rev().find_map(|step| {
            let hash = step.transaction_id.as_ref().filter(|hash| hash.key() != params.transaction_id.key())?;
            Some((step.chain_id.clone().filter(|chain| *chain == params.from_chain)?, hash.clone()))
        }),
        RouterStatus::Success
        | RouterStatus::NeedsGas
        | RouterStatus::Ongoing
        | RouterStatus::NotFound
        | RouterStatus::Unknown(_) => None,
    }
}

/// Returns when the source chain should be asked about a transaction next; `None` if there is no reason.
///
/// The reasons: no submission time is known; the transaction isn't found for longer than the chain's 95th percentile;
/// its deadline has passed. What is final isn't asked again.
pub(crate) fn next_source_check<R>(tx: &Transaction<R>) -> Option<DateTime<Utc>> {
    if tx.is_settled() || tx.tracking == Tracking::Untracked {
        return None;
    }
    let deadline = tx.deadline();
    let usual = evidence::indexing_forecast(&tx.indexing).quantile(Quantile::P95).min(MAX_ESTIMATE);
    let missed = tx.state.is_unknown_to_service().then(|| deadline.submitted + usual);
    let overdue = tx.is_waiting().then_some(deadline.at);
    let known = tx.on_chain.as_ref().filter(|known| !matches!(known.source.verdict, ChainVerdict::CannotBeAsked(_)));
    // A block's time answers this reason for good.
    let has_block_time = known.is_some_and(|known| known.submitted_at().is_some());
    let submission = (tx.params.submitted_at.is_none() && !has_block_time).then_some(tx.first_seen_at);
    let because = [submission, missed, overdue].into_iter().flatten().min()?;
    match known {
        None => Some(because),
        Some(known) if known.is_final() => None,
        Some(known) => Some(because.max(known.checked_at + known.next_pause())),
    }
}

/// Returns when the second transaction should be asked about next; `None` if there is no reason.
pub(crate) fn next_second_check(tx: &Transaction) -> Option<DateTime<Utc>> {
    let (chain, hash) = second_transaction(tx)?;
    let since = tx.state.status_since.unwrap_or(tx.first_seen_at);
    let Some(known) = tx.on_chain.as_ref() else { return Some(since) };
    match known.second_reading(&chain, &hash) {
        Some(second) if second.verdict.mined().is_some() => None,
        None if known.checked_at < since => Some(since),
        // The stored reading is of another transaction: this one perhaps couldn't be asked for.
        None if known.second.is_some() => Some(known.checked_at + known.next_pause()),
        // After a few times only a person asks again.
        _ if known.repeats < 5 => Some(known.checked_at + known.next_pause()),
        _ => None,
    }
}

/// Returns the chain's reading of the second transaction of the present status: a refund on the source chain, else the
/// transaction on the destination chain.
fn present_second<'a, R>(tx: &Transaction<R>, known: &'a OnChainState) -> Option<&'a ChainReading> {
    let (from, to) = (&tx.params.from_chain, &tx.params.to_chain);
    let is_refund = tx.state.status == Some(RouterStatus::Refund);
    let is_present = |(chain, _): &(ChainId, TxHash)| chain == if is_refund { from } else { to };
    known.second.as_ref().filter(|_| known.second_of.as_ref().is_none_or(is_present))
}

/// Returns a sentence on how the chain contradicts the service; `None` if it doesn't.
pub(crate) fn contradiction<R: RecordView>(tx: &Transaction<R>) -> Option<String> {
    let known = tx.on_chain.as_ref()?;
    let status = tx.state.status.as_ref()?;
    let (has_started, has_left_source) = match status {
        RouterStatus::Ongoing => (true, false),
        RouterStatus::Success | RouterStatus::NeedsGas | RouterStatus::PartialSuccess | RouterStatus::Refund => {
            (true, true)
        }
        RouterStatus::NotFound | RouterStatus::Unknown(_) => (false, false),
    };
    let source = tx.from_name();
    let of_source = match &known.source.verdict {
        ChainVerdict::Reverted(mined) if has_started => {
            Some(format!("{source} says reverted in block {}", mined.block))
        }
        ChainVerdict::Dropped if has_started && known.is_surely_dropped() => {
            Some(format!("{source} says dropped or replaced"))
        }
        ChainVerdict::Elsewhere(chain) if has_started => {
            Some(format!("it was found on {}, not on {source}", chains::name(chain)))
        }
        // The chain was asked before the service said more: the transaction was mined since.
        ChainVerdict::Pending
            if has_left_source && tx.state.status_since.is_none_or(|since| known.checked_at >= since) =>
        {
            Some(format!("{source} says not mined yet"))
        }
        ChainVerdict::Succeeded(_)
        | ChainVerdict::Reverted(_)
        | ChainVerdict::Pending
        | ChainVerdict::Dropped
        | ChainVerdict::Elsewhere(_)
        | ChainVerdict::Unknown(_)
        | ChainVerdict::CannotBeAsked(_) => None,
    };
    let of_second = match (status, present_second(tx, known).map(|second| &second.verdict)) {
        (RouterStatus::PartialSuccess, Some(ChainVerdict::Succeeded(mined))) => {
            Some(format!("{} says succeeded in block {}", tx.to_name(), mined.block))
        }
        (RouterStatus::Refund, Some(ChainVerdict::Reverted(mined))) => {
            Some(format!("{source} says that the refund reverted in block {}", mined.block))
        }
        _ => None,
    };
    of_source.or(of_second).map(|says| format!("the service says {status}, {says}"))
}

/// Returns in a few words how a transaction failed on its source chain; `None` if it didn't.
pub(crate) fn failure<R: RecordView>(tx: &Transaction<R>) -> Option<String> {
    let source = tx.from_name();
    Some(match tx.failure_on_source()? {
        ChainVerdict::Elsewhere(chain) => format!("found on {}, not on {source}", chains::name(chain)),
        verdict => format!("{} on {source}", verdict.name()),
    })
}

/// Returns the chain's verdict in one line, with times by `write_time`: `Arbitrum: reverted in block 12, …`.
pub(crate) fn sentence<R: RecordView>(
    tx: &Transaction<R>,
    write_time: &dyn Fn(DateTime<Utc>) -> String,
) -> Option<String> {
    /// The most chains that the sentence names; more are only counted.
    const MAX_NAMES: usize = 4;
    let known = tx.on_chain.as_ref()?;
    let source = tx.from_name();
    // Before the deadline an ongoing transfer isn't late.
    let is_late = tx.state.is_unknown_to_service() || tx.is_overdue();
    let first = match &known.source.verdict {
        ChainVerdict::Succeeded(mined) => {
            let delay = if is_late { ": the delay is the service's" } else { "" };
            format!("{source}: mined and succeeded, {}{delay}", block(mined, write_time))
        }
        ChainVerdict::Reverted(mined) => {
            format!("{source}: reverted, {}: nothing was bridged", block(mined, write_time))
        }
        ChainVerdict::Pending => format!("{source}: pending, not mined yet"),
        ChainVerdict::Dropped => format!("{source}: dropped or replaced by another transaction of the sender"),
        ChainVerdict::Elsewhere(chain) => {
            format!("{source}: unknown here, but found on {}: the wrong source chain was given", chains::name(chain))
        }
        ChainVerdict::Unknown(others) if others.is_empty() => {
            format!("{source}: unknown; no other chain could be asked")
        }
        ChainVerdict::Unknown(others) if others.len() > MAX_NAMES => {
            format!("{source}: unknown, also on {} other chains", others.len())
        }
        ChainVerdict::Unknown(others) => {
            let others: Vec<String> = others.iter().map(chains::name).collect();
            format!("{source}: unknown, also on {}", others.join(", "))
        }
        ChainVerdict::CannotBeAsked(reason) => format!("{source}: can't be asked: {reason}"),
    };
    let second = present_second(tx, known).map(|second| {
        let chain =
            if tx.state.status == Some(RouterStatus::Refund) { format!("{source}, the refund") } else { tx.to_name() };
        match &second.verdict {
            ChainVerdict::Succeeded(mined) => format!("{chain}: mined and succeeded, {}", block(mined, write_time)),
            ChainVerdict::Reverted(mined) => format!("{chain}: reverted, {}", block(mined, write_time)),
            ChainVerdict::Pending => format!("{chain}: pending"),
            ChainVerdict::Dropped => format!("{chain}: dropped or replaced"),
            ChainVerdict::Elsewhere(_) | ChainVerdict::Unknown(_) => format!("{chain}: unknown"),
            ChainVerdict::CannotBeAsked(reason) => format!("{chain}: can't be asked: {reason}"),
        }
    });
    let asked = match known.source.node.as_str() {
        "" => String::new(),
        node => format!(" ({node}, {})", write_time(known.checked_at)),
    };
    Some(format!("{}{asked}", std::iter::once(first).chain(second).collect::<Vec<_>>().join("; ")))
}

fn block(mined: &Mined, write_time: &dyn Fn(DateTime<Utc>) -> String) -> String {
    let time = mined.time.map_or_else(String::new, |time| format!(" at {}", write_time(time)));
    let confirmations = text::counted(mined.confirmations, "confirmation");
    format!("block {}{time}, {confirmations}", mined.block)
}

#[cfg(test)]
mod tests;
