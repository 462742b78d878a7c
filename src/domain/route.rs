//! What kind of route a transfer takes, and where it really ends (`service.md` 1, 3; `cases.md` 7).
//!
//! The service has no field for either: both follow from what it said. Where nothing was said there is no answer; it must
//! never guess one.

use super::{
    ids::{ChainId, TxHash},
    record::{ChainSide, chain_name},
    status::RouterStatus,
    transaction::Transaction,
};

/// The kind of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteKind {
    /// Source and destination are one chain.
    SameChain,
    /// Tracked through a bridge explorer.
    Bridged,
    /// Filled by a solver; when it fails the funds return on the source chain.
    Intents,
}

impl RouteKind {
    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::SameChain => "same_chain",
            Self::Bridged => "bridged",
            Self::Intents => "intents",
        }
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::SameChain => "one chain",
            Self::Bridged => "bridged",
            Self::Intents => "intents",
        }
    }
}

/// The kind of a transaction's route, as far as the service has let it be known.
pub fn kind(tx: &Transaction) -> Option<RouteKind> {
    let carries_a_message = tx.state.record.as_ref().is_some_and(|record| record.is_gmp == Some(true));
    if tx.params.from_chain == tx.params.to_chain {
        return Some(RouteKind::SameChain);
    }
    // Of the link nothing follows: deployments put links to intents there too.
    match tx.state.status {
        _ if carries_a_message => Some(RouteKind::Bridged),
        Some(RouterStatus::Refund) => Some(RouteKind::Intents),
        Some(RouterStatus::NeedsGas) => Some(RouteKind::Bridged),
        _ => None,
    }
}

/// A sentence if the answer doesn't fit what kind of route this is, or where we were told that it starts.
pub fn contradiction(tx: &Transaction) -> Option<String> {
    let said = tx.state.record.as_ref().and_then(|record| record.from.chain_id.as_ref());
    if let Some(said) = said.filter(|said| **said != tx.params.from_chain) {
        let params = &tx.params.from_chain;
        return Some(format!("we were told that it starts on {params}, and the service says {said}"));
    }
    match (tx.state.status.as_ref()?, kind(tx)?) {
        (RouterStatus::NeedsGas, RouteKind::SameChain) => {
            Some("needs_gas applies to bridged routes only, yet source and destination are one chain".into())
        }
        (RouterStatus::Refund, RouteKind::Bridged) => {
            Some("refund applies to intents routes only, yet the service speaks of a bridged message".into())
        }
        _ => None,
    }
}

/// One end of a transfer, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End<'a> {
    /// The chain.
    pub chain: &'a ChainId,
    /// The hash on that chain.
    pub transaction_id: Option<&'a TxHash>,
    /// The block.
    pub block_number: Option<u64>,
    /// `callEventStatus`; empty if that is what came.
    pub call_event_status: Option<&'a str>,
    /// `callEventLog`.
    pub call_event_log: &'a [String],
    /// The block explorer's page; none if it came empty.
    pub url: Option<&'a str>,
}

impl<'a> End<'a> {
    fn unknown(chain: &'a ChainId) -> Self {
        let (transaction_id, block_number, call_event_status) = (None, None, None);
        Self { chain, transaction_id, block_number, call_event_status, call_event_log: &[], url: None }
    }

    fn new(side: &'a ChainSide, chain: &'a ChainId) -> Self {
        Self {
            chain,
            transaction_id: side.transaction_id.as_ref(),
            block_number: side.block_number,
            call_event_status: side.call_event_status.as_deref(),
            call_event_log: &side.call_event_log,
            url: side.url.as_deref().filter(|url| !url.is_empty()),
        }
    }
}

/// The ends of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends<'a> {
    /// Where it starts.
    pub source: End<'a>,
    /// Where it ends.
    pub destination: End<'a>,
    /// An intermediate hop that the record gives as its `toChain`.
    pub hop: Option<End<'a>>,
}

/// The ends of a transfer. The source's hash is the given one until the service says otherwise. If `toChain` is another
/// chain than we were told it is a hop, and the last entry of `routeStatus` is the real end.
pub fn ends(tx: &Transaction) -> Ends<'_> {
    let (from, to) = (&tx.params.from_chain, &tx.params.to_chain);
    let record = tx.state.record.as_ref();
    let source = record.map_or_else(|| End::unknown(from), |record| End::new(&record.from, from));
    let source = End { transaction_id: source.transaction_id.or(Some(&tx.params.transaction_id)), ..source };
    let side = record.map(|record| &record.to);
    let other = side.and_then(|side| side.chain_id.as_ref().filter(|id| *id != to).map(|id| End::new(side, id)));
    let Some(hop) = other else {
        let destination = side.map_or_else(|| End::unknown(to), |side| End::new(side, to));
        return Ends { source, destination, hop: None };
    };
    let last = record.and_then(|record| record.steps.last()).filter(|step| step.chain_id.as_ref() == Some(to));
    let transaction_id = last.and_then(|step| step.transaction_id.as_ref());
    Ends { source, destination: End { transaction_id, ..End::unknown(to) }, hop: Some(hop) }
}

/// The name of a chain that occurs in a transaction: one of its two ends, a hop, or the chain of a step.
pub fn name_of(tx: &Transaction, id: &ChainId) -> String {
    if *id == tx.params.from_chain {
        return tx.from_name();
    }
    if *id == tx.params.to_chain {
        return tx.to_name();
    }
    let to = tx.state.record.as_ref().map(|record| &record.to);
    chain_name(to.and_then(|side| side.name_of(id)), None, id)
}

#[cfg(test)]
mod tests {
    use super::{super::fixtures, *};
    use crate::domain::{
        observation::Outcome,
        record::{StatusRecord, Step},
    };

    fn heard(change: impl FnOnce(&mut StatusRecord), status: RouterStatus) -> Transaction {
        let mut tx = fixtures::transaction(1);
        let mut record = StatusRecord::bare(status);
        change(&mut record);
        tx.apply(&fixtures::answer(Outcome::Record(Box::new(record))), tx.first_seen_at);
        tx
    }

    #[test]
    fn a_kind_is_known_only_by_what_the_service_said() {
        use RouterStatus::*;
        let message = |record: &mut StatusRecord| record.is_gmp = Some(true);
        assert_eq!(kind(&fixtures::transaction(1)), None);
        assert_eq!(kind(&heard(|_| {}, Ongoing)), None);
        assert_eq!(kind(&heard(message, Success)), Some(RouteKind::Bridged));
        assert_eq!(kind(&heard(|record| record.bridge_url = Some("https://x.example".into()), Ongoing)), None);
        assert_eq!(kind(&heard(|record| record.is_gmp = Some(false), Success)), None);
        assert_eq!(kind(&heard(|_| {}, NeedsGas)), Some(RouteKind::Bridged));
        assert_eq!(kind(&heard(|_| {}, Refund)), Some(RouteKind::Intents));
        assert!(contradiction(&heard(message, Refund)).is_some_and(|said| said.contains("intents")));
        let mut same = heard(|_| {}, NeedsGas);
        same.params.to_chain = same.params.from_chain.clone();
        assert_eq!(kind(&same), Some(RouteKind::SameChain));
        assert!(contradiction(&same).is_some_and(|said| said.contains("one chain")));
        assert_eq!(contradiction(&heard(|_| {}, Refund)), None);
        let elsewhere = heard(|record| record.from.chain_id = Some(ChainId::new("1")), Ongoing);
        assert_eq!(contradiction(&elsewhere).unwrap(), "we were told that it starts on 42161, and the service says 1");
    }

    #[test]
    fn behind_a_hop_the_last_step_is_the_end() {
        let hop = ChainSide {
            chain_id: Some(ChainId::new("axelar-1")),
            chain_name: Some("Axelar".into()),
            ..Default::default()
        };
        let step = |chain: &str, hash: &str| Step {
            chain_id: Some(ChainId::new(chain)),
            transaction_id: Some(TxHash::new(hash)),
            ..Step::default()
        };
        let with_steps =
            |steps: Vec<Step>| heard(|record| (record.to, record.steps) = (hop.clone(), steps), RouterStatus::Ongoing);
        let there = with_steps(vec![step("axelar-1", "0xaa"), step("8453", "0xbb")]);
        let found = ends(&there);
        assert_eq!(found.destination.transaction_id, Some(&TxHash::new("0xbb")));
        assert_eq!(found.hop.unwrap().chain.as_str(), "axelar-1");
        assert_eq!(name_of(&there, &ChainId::new("axelar-1")), "Axelar");
        assert_eq!(
            (name_of(&there, &ChainId::new("8453")), name_of(&there, &ChainId::new("999000"))),
            ("Base".into(), "999000".into())
        );
        let under_way = with_steps(vec![step("axelar-1", "0xaa")]);
        assert_eq!(ends(&under_way).destination, End::unknown(&ChainId::new("8453")));
        let plain = heard(|record| record.to.block_number = Some(7), RouterStatus::Ongoing);
        assert_eq!((ends(&plain).destination.block_number, ends(&plain).hop), (Some(7), None));
        assert_eq!(ends(&fixtures::transaction(1)).source.transaction_id, Some(&fixtures::params(1).transaction_id));
    }
}
