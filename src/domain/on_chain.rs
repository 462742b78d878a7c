//! What a chain itself says about a transaction: whether it was mined, reverted, is pending, or was sent elsewhere.
//!
//! `chain_rpc` asks a node; this module derives a verdict from the node's facts. It must never know the service's status:
//! `chain_check` compares both.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::ids::{ChainId, TxHash};

/// The confirmations from which on a block isn't expected to be replaced any more.
pub(crate) const FINAL_CONFIRMATIONS: u64 = 64;
/// The shortest and the longest pause between two questions about one transaction.
const MIN_PAUSE: Duration = Duration::from_secs(30);
const MAX_PAUSE: Duration = Duration::from_secs(10 * 60);

/// The block that contains a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mined {
    /// The block's number.
    pub block: u64,
    /// The block's time, if the node returned it.
    #[serde(default)]
    pub time: Option<DateTime<Utc>>,
    /// The number of blocks from this one to the newest, both included, when the chain was asked.
    pub confirmations: u64,
}

/// What a chain says about a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainVerdict {
    /// Mined, and executed without reverting.
    Succeeded(Mined),
    /// Mined and reverted: only the fee was charged.
    Reverted(Mined),
    /// Known to the node, and not mined yet.
    Pending,
    /// No longer known to the node, and the sender's nonce is used: the transaction was dropped or replaced.
    Dropped,
    /// Unknown on this chain, and found on this other chain.
    Elsewhere(ChainId),
    /// Unknown on this chain and on these other chains.
    Unknown(Vec<ChainId>),
    /// The chain can't be asked, for this reason.
    CannotBeAsked(String),
}

impl ChainVerdict {
    /// Returns the name in JSON, in the store and after `is:`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Succeeded(_) => "succeeded",
            Self::Reverted(_) => "reverted",
            Self::Pending => "pending",
            Self::Dropped => "dropped",
            Self::Elsewhere(_) => "elsewhere",
            Self::Unknown(_) => "unknown",
            Self::CannotBeAsked(_) => "cannot_be_asked",
        }
    }

    /// Returns the other chain on which the transaction was found.
    pub fn elsewhere(&self) -> Option<&ChainId> {
        let Self::Elsewhere(chain) = self else { return None };
        Some(chain)
    }

    /// Returns the block, if the transaction was mined.
    pub fn mined(&self) -> Option<&Mined> {
        match self {
            Self::Succeeded(mined) | Self::Reverted(mined) => Some(mined),
            Self::Pending | Self::Dropped | Self::Elsewhere(_) | Self::Unknown(_) | Self::CannotBeAsked(_) => None,
        }
    }

    /// Whether the verdict is final.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Succeeded(mined) | Self::Reverted(mined) => mined.confirmations >= FINAL_CONFIRMATIONS,
            Self::Dropped | Self::Elsewhere(_) => true,
            Self::Pending | Self::Unknown(_) | Self::CannotBeAsked(_) => false,
        }
    }

    /// Whether both verdicts agree, apart from the confirmations.
    fn is_same_reading(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Succeeded(one), Self::Succeeded(other)) | (Self::Reverted(one), Self::Reverted(other)) => {
                (one.block, one.time) == (other.block, other.time)
            }
            _ => self == other,
        }
    }
}

/// What one chain says about one transaction on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainReading {
    /// What the chain says.
    pub verdict: ChainVerdict,
    /// The sender's address.
    #[serde(default)]
    pub from: Option<String>,
    /// The receiver's address: mostly a contract.
    #[serde(default)]
    pub to: Option<String>,
    /// The sender's nonce.
    #[serde(default)]
    pub nonce: Option<u64>,
    /// The host of the node that answered; empty if none was asked.
    #[serde(default)]
    pub node: String,
}

impl ChainReading {
    /// Returns a reading without a node.
    pub fn without_node(verdict: ChainVerdict) -> Self {
        Self { verdict, from: None, to: None, nonce: None, node: String::new() }
    }

    /// Returns the sender and the nonce, if the chain has known the transaction. The nonce on another chain says
    /// nothing.
    pub fn sender(&self) -> Option<(&str, u64)> {
        self.from.as_deref().zip(self.nonce).filter(|_| self.verdict.elsewhere().is_none())
    }
}

/// What the chains say about a transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnChainState {
    pub source: ChainReading,
    /// The reading of the transaction on the destination chain or of the refund, if a chain was asked.
    #[serde(default)]
    pub second: Option<ChainReading>,
    /// The chain and the hash of that transaction; `None` also for a reading of an earlier version.
    #[serde(default)]
    pub second_of: Option<(ChainId, TxHash)>,
    /// When the chain was asked last.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub checked_at: DateTime<Utc>,
    /// How often in a row the chain said the same.
    #[serde(default)]
    pub repeats: u32,
    /// Whether the submission time was given. The block's time never replaces a given time, even if both are equal.
    #[serde(rename = "submission_is_given", default)]
    pub is_submission_given: bool,
}

impl OnChainState {
    /// Returns the state after another question at `at`. `second` is the chain and the hash of the second transaction
    /// with its reading; without one the previous reading is kept.
    pub fn after(
        previous: Option<&Self>,
        source: ChainReading,
        second: Option<((ChainId, TxHash), ChainReading)>,
        at: DateTime<Utc>,
    ) -> Self {
        let repeats = previous.filter(|previous| previous.source.verdict.is_same_reading(&source.verdict));
        let (second_of, second) = match second {
            Some((of, reading)) => (Some(of), Some(reading)),
            None => previous.map(|known| (known.second_of.clone(), known.second.clone())).unwrap_or_default(),
        };
        let repeats = repeats.map_or(0, |previous| previous.repeats + 1);
        let is_submission_given = previous.is_some_and(|previous| previous.is_submission_given);
        Self { source, second, second_of, checked_at: at, repeats, is_submission_given }
    }

    /// Returns the reading of a second transaction, unless the status has changed since and another transaction counts
    /// now.
    pub fn second_reading(&self, chain: &ChainId, hash: &TxHash) -> Option<&ChainReading> {
        let is_of = |(known, known_hash): &(ChainId, TxHash)| known == chain && known_hash.key() == hash.key();
        self.second.as_ref().filter(|_| self.second_of.as_ref().is_none_or(is_of))
    }

    /// Returns this state, with the previous verdict if the source chain can't be asked: a machine without a node must
    /// not erase the result of another machine.
    pub(crate) fn or_previous_verdict(self, previous: Option<&Self>) -> Self {
        match (&self.source.verdict, previous) {
            (ChainVerdict::CannotBeAsked(_), Some(previous))
                if !matches!(previous.source.verdict, ChainVerdict::CannotBeAsked(_)) =>
            {
                Self { source: previous.source.clone(), repeats: previous.repeats, ..self }
            }
            _ => self,
        }
    }

    /// Whether two questions in a row found the transaction dropped. One question may miss a block between its
    /// requests.
    pub(crate) fn is_surely_dropped(&self) -> bool {
        self.source.verdict == ChainVerdict::Dropped && self.repeats > 0
    }

    /// Returns the verdict if the transaction has no effect on the source chain: reverted, dropped, or sent elsewhere.
    pub(crate) fn failure(&self) -> Option<&ChainVerdict> {
        let is_failure = match &self.source.verdict {
            ChainVerdict::Reverted(_) | ChainVerdict::Elsewhere(_) => true,
            ChainVerdict::Dropped => self.is_surely_dropped(),
            ChainVerdict::Succeeded(_)
            | ChainVerdict::Pending
            | ChainVerdict::Unknown(_)
            | ChainVerdict::CannotBeAsked(_) => false,
        };
        is_failure.then_some(&self.source.verdict)
    }

    /// Whether the verdict of the source chain is final.
    pub(crate) fn is_final(&self) -> bool {
        self.source.verdict.is_final() && (self.source.verdict != ChainVerdict::Dropped || self.is_surely_dropped())
    }

    /// Whether this says anything else than `previous`, apart from the confirmations and the moment.
    pub fn has_changed_since(&self, previous: Option<&Self>) -> bool {
        let Some(previous) = previous else { return true };
        let is_same = |one: &ChainReading, other: &ChainReading| one.verdict.is_same_reading(&other.verdict);
        let is_same_second = match (&self.second, &previous.second) {
            (Some(one), Some(other)) => is_same(one, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        !is_same(&self.source, &previous.source) || !is_same_second
    }

    /// Returns the time of the block with the source transaction: when the transfer was submitted.
    pub fn submitted_at(&self) -> Option<DateTime<Utc>> {
        self.source.verdict.mined().and_then(|mined| mined.time)
    }

    /// Returns the pause before the chain is asked again: longer each time that it says the same.
    pub(super) fn next_pause(&self) -> TimeDelta {
        let pause = MIN_PAUSE.saturating_mul(1 << self.repeats.min(5)).min(MAX_PAUSE);
        TimeDelta::from_std(pause).unwrap_or(TimeDelta::MAX)
    }
}

/// What a node says about a transaction, as far as it could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChainFacts {
    /// The transaction, if the node knows it.
    pub transaction: Option<TransactionFacts>,
    /// The receipt, if the transaction was mined.
    pub receipt: Option<ReceiptFacts>,
    /// The number of the newest block.
    pub head: Option<u64>,
    /// The time of the block with the transaction.
    pub block_time: Option<DateTime<Utc>>,
    /// The nonce of the sender's next transaction, if it was asked for.
    pub next_nonce: Option<u64>,
}

/// `eth_getTransactionByHash`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TransactionFacts {
    /// The sender.
    pub from: Option<String>,
    pub to: Option<String>,
    pub nonce: Option<u64>,
    /// The block's number; `None` while the transaction is pending.
    pub block: Option<u64>,
}

/// `eth_getTransactionReceipt`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReceiptFacts {
    /// Whether the transaction was executed without reverting; `None` if the receipt has no status.
    pub succeeded: Option<bool>,
    /// The block's number.
    pub block: Option<u64>,
    /// The sender and the receiver.
    pub from: Option<String>,
    pub to: Option<String>,
}

/// Returns the reading that follows from the facts of the node `node`. `previous` is the previous reading.
///
/// # Errors
/// Returns a sentence if the facts don't show whether the transaction was mined.
pub(crate) fn read(facts: &ChainFacts, node: &str, previous: Option<&ChainReading>) -> Result<ChainReading, String> {
    let transaction = facts.transaction.as_ref();
    let final_verdict = previous.map(|previous| &previous.verdict).filter(|verdict| verdict.is_final());
    let known = previous.filter(|previous| previous.sender().is_some());
    let verdict = match (&facts.receipt, transaction) {
        (Some(receipt), _) => {
            let block = receipt.block.or_else(|| transaction?.block).ok_or("the node's receipt has no block")?;
            let head = facts.head.ok_or("the node returned no newest block")?;
            let confirmations = head.checked_sub(block).map_or(0, |blocks| blocks.saturating_add(1));
            // The time of the block may not have been answered this time.
            let known = previous.and_then(|previous| previous.verdict.mined()).filter(|known| known.block == block);
            let time = facts.block_time.or_else(|| known?.time);
            let mined = Mined { block, time, confirmations };
            match receipt.succeeded.ok_or("the node's receipt doesn't say whether the transaction reverted")? {
                true => ChainVerdict::Succeeded(mined),
                false => ChainVerdict::Reverted(mined),
            }
        }
        (None, Some(TransactionFacts { block: Some(_), .. })) => {
            return Err("the node has the block but no receipt of the transaction yet".into());
        }
        (None, Some(_)) => ChainVerdict::Pending,
        (None, None) if let Some(mined) = final_verdict.and_then(ChainVerdict::mined) => {
            return Err(format!(
                "the node doesn't know the transaction, which had {} confirmations in block {}; it may be behind, or keep no such old transactions",
                mined.confirmations, mined.block
            ));
        }
        (None, None) => match known.and_then(ChainReading::sender) {
            None => ChainVerdict::Unknown(Vec::new()),
            Some((_, nonce)) => match facts.next_nonce.ok_or("the node didn't say the sender's next nonce")? {
                next if next > nonce => ChainVerdict::Dropped,
                // Another node may still have it.
                _ => ChainVerdict::Pending,
            },
        },
    };
    let receipt = facts.receipt.as_ref();
    let from = transaction.and_then(|tx| tx.from.clone()).or_else(|| receipt?.from.clone());
    let to = transaction.and_then(|tx| tx.to.clone()).or_else(|| receipt?.to.clone());
    Ok(ChainReading {
        verdict,
        from: from.or_else(|| known?.from.clone()),
        to: to.or_else(|| known?.to.clone()),
        nonce: transaction.and_then(|tx| tx.nonce).or_else(|| known?.nonce),
        node: node.to_owned(),
    })
}

/// Whether a text is the hash of a transaction on an EVM chain.
pub(crate) fn is_evm_hash(hash: &TxHash) -> bool {
    let key = hash.key();
    key.len() == 66 && key.starts_with("0x")
}

#[cfg(test)]
mod tests;
