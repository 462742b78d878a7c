//! The JSON of the chain's own answer (`onChain`).
//!
//! Names, order and types are a contract with scripts, like those of a transaction.

use serde::Serialize;

use crate::domain::{
    ids::ChainId,
    on_chain::{ChainReading, ChainVerdict, OnChainState},
    span::rfc3339,
};

/// The answer of the source chain about a transfer.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OnChainView<'a> {
    #[serde(flatten)]
    own: ReadingView<'a>,
    checked_at: String,
    /// The transaction on the destination chain, or that of the refund; `null` if it was not asked for.
    second: Option<ReadingView<'a>>,
}

/// The answer of one chain about one of its transactions.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReadingView<'a> {
    state: &'static str,
    block: Option<u64>,
    confirmations: Option<u64>,
    time: Option<String>,
    from: Option<&'a str>,
    to: Option<&'a str>,
    /// The host of the node that answered.
    source: Option<&'a str>,
    /// The chain on which the transaction was found, if that isn't the source chain.
    found_on: Option<&'a ChainId>,
    /// The other chains that don't know the transaction.
    unknown_on: Option<&'a [ChainId]>,
    /// Why the chain can't be asked.
    reason: Option<&'a str>,
}

impl<'a> OnChainView<'a> {
    /// Creates the view of the chain's answer.
    pub(super) fn new(on_chain: &'a OnChainState) -> Self {
        let OnChainState { source, second, checked_at, .. } = on_chain;
        Self {
            own: ReadingView::new(source),
            checked_at: rfc3339(*checked_at),
            second: second.as_ref().map(ReadingView::new),
        }
    }
}

impl<'a> ReadingView<'a> {
    fn new(reading: &'a ChainReading) -> Self {
        let verdict = &reading.verdict;
        let mined = verdict.mined();
        let (found_on, unknown_on, reason) = match verdict {
            ChainVerdict::Elsewhere(chain) => (Some(chain), None, None),
            ChainVerdict::Unknown(others) => (None, Some(others.as_slice()), None),
            ChainVerdict::CannotBeAsked(reason) => (None, None, Some(reason.as_str())),
            ChainVerdict::Succeeded(_) | ChainVerdict::Reverted(_) | ChainVerdict::Pending | ChainVerdict::Dropped => {
                (None, None, None)
            }
        };
        Self {
            state: verdict.name(),
            block: mined.map(|mined| mined.block),
            confirmations: mined.map(|mined| mined.confirmations),
            time: mined.and_then(|mined| mined.time).map(rfc3339),
            from: reading.from.as_deref(),
            to: reading.to.as_deref(),
            source: Some(reading.node.as_str()).filter(|node| !node.is_empty()),
            found_on,
            unknown_on,
            reason,
        }
    }
}
