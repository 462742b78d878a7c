//! The kind of a transfer's route, and its real destination (`service.md` 1, 3; `cases.md` 7).
//!
//! The service has no field for either: both follow from its answers. Where no answer says so, the kind must stay
//! `None`; it must never be guessed.

use super::{
    ids::{ChainId, TxHash},
    named::named,
    record::{ChainSide, chain_name},
    status::RouterStatus,
    transaction::Transaction,
};

named! {
    /// The kind of a route: how the transfer gets to its destination.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum RouteKind: name {
        /// Source and destination are the same chain.
        SameChain "same_chain",
        /// Bridged; a bridge explorer tracks the transfer.
        Bridged "bridged",
        /// Filled by a solver. If the route fails, the funds return on the source chain.
        Intents "intents",
    }
}

impl RouteKind {
    /// Returns the type of the transfer, in words.
    pub(crate) fn transfer_type(self) -> &'static str {
        match self {
            Self::SameChain => "transfer on one chain",
            Self::Bridged => "bridge transfer",
            Self::Intents => "intents transfer",
        }
    }

    /// Returns the words for people, in at most 9 characters.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::SameChain => "one chain",
            Self::Bridged => "bridge",
            Self::Intents => "intents",
        }
    }
}

/// Returns the kind of a transaction's route, as far as the answers reveal it.
pub(crate) fn kind(tx: &Transaction) -> Option<RouteKind> {
    let carries_a_message = tx.record.as_ref().is_some_and(|record| record.is_gmp == Some(true));
    if tx.params.from_chain == tx.params.to_chain {
        return Some(RouteKind::SameChain);
    }
    // The bridge link proves nothing: some deployments put links to intents there too.
    match tx.state.status {
        _ if carries_a_message => Some(RouteKind::Bridged),
        Some(RouterStatus::Refund) => Some(RouteKind::Intents),
        Some(RouterStatus::NeedsGas) => Some(RouteKind::Bridged),
        _ => None,
    }
}

/// Returns a sentence if the answer contradicts the kind of the route, or a given chain.
pub(crate) fn contradiction(tx: &Transaction) -> Option<String> {
    let reported = tx.record.as_ref().and_then(|record| record.from.chain_id.as_ref());
    if let Some(reported) = reported.filter(|reported| **reported != tx.params.from_chain) {
        let given = &tx.params.from_chain;
        return Some(format!("source chain given as {given}, but the service reports {reported}"));
    }
    if let Some(reached) = other_destination(tx) {
        let given = &tx.params.to_chain;
        return Some(format!("destination chain given as {given}, but the service reports {reached}"));
    }
    match (tx.state.status.as_ref()?, kind(tx)?) {
        (RouterStatus::NeedsGas, RouteKind::SameChain) => {
            Some("needs_gas applies to bridged routes only, but source and destination are one chain".into())
        }
        (RouterStatus::Refund, RouteKind::Bridged) => {
            Some("refund applies to intents routes only, but the service reports a bridged message".into())
        }
        _ => None,
    }
}

/// Returns the chain on which a transfer ended according to the service, if `toChain` and the last step agree on another
/// chain than the given destination.
pub(crate) fn other_destination(tx: &Transaction) -> Option<&ChainId> {
    let has_ended = matches!(tx.state.status, Some(RouterStatus::Success | RouterStatus::PartialSuccess));
    let record = tx.record.as_ref().filter(|_| has_ended)?;
    let (reached, last) = (record.to.chain_id.as_ref()?, record.steps.last()?.chain_id.as_ref()?);
    (reached == last && *reached != tx.params.to_chain).then_some(reached)
}

/// One end of a transfer, as far as known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TransferEnd<'a> {
    pub chain: &'a ChainId,
    /// The hash on that chain.
    pub transaction_id: Option<&'a TxHash>,
    pub block_number: Option<u64>,
    /// `callEventStatus`; empty if the service sent empty text.
    pub call_event_status: Option<&'a str>,
    /// `callEventLog`.
    pub call_event_log: &'a [String],
    /// The block explorer's page; `None` if the service sent empty text.
    pub url: Option<&'a str>,
}

impl<'a> TransferEnd<'a> {
    /// Returns the end on this chain, as far as this side of a record is known.
    fn new(side: Option<&'a ChainSide>, chain: &'a ChainId) -> Self {
        Self {
            chain,
            transaction_id: side.and_then(|side| side.transaction_id.as_ref()),
            block_number: side.and_then(|side| side.block_number),
            call_event_status: side.and_then(|side| side.call_event_status.as_deref()),
            call_event_log: side.map_or(&[], |side| &side.call_event_log),
            url: side.and_then(|side| side.url.as_deref()).filter(|url| !url.is_empty()),
        }
    }
}

/// The ends of a transfer, and the hop between them if the record shows one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TransferEnds<'a> {
    pub source: TransferEnd<'a>,
    pub destination: TransferEnd<'a>,
    /// An intermediate hop that the record gives as its `toChain`.
    pub hop: Option<TransferEnd<'a>>,
}

/// Returns the ends of a transfer. The source's hash is the given hash until the service says otherwise. If `toChain`
/// isn't the given destination, it is a hop, and the last entry of `routeStatus` is the real destination.
pub(crate) fn ends(tx: &Transaction) -> TransferEnds<'_> {
    let (from, to) = (&tx.params.from_chain, &tx.params.to_chain);
    let record = tx.record.as_ref();
    let source = TransferEnd::new(record.map(|record| &record.from), from);
    let source = TransferEnd { transaction_id: source.transaction_id.or(Some(&tx.params.transaction_id)), ..source };
    let side = record.map(|record| &record.to);
    let Some(hop) = side.and_then(|side| side.chain_id.as_ref()).filter(|id| *id != to) else {
        return TransferEnds { source, destination: TransferEnd::new(side, to), hop: None };
    };
    let last = record.and_then(|record| record.steps.last()).filter(|step| step.chain_id.as_ref() == Some(to));
    let transaction_id = last.and_then(|step| step.transaction_id.as_ref());
    let destination = TransferEnd { transaction_id, ..TransferEnd::new(None, to) };
    TransferEnds { source, destination, hop: Some(TransferEnd::new(side, hop)) }
}

/// Returns the name of a chain that occurs in a transaction: source, destination, a hop, or the chain of a step.
pub(crate) fn name_of(tx: &Transaction, id: &ChainId) -> String {
    if *id == tx.params.from_chain {
        return tx.from_name();
    }
    if *id == tx.params.to_chain {
        return tx.to_name();
    }
    let to = tx.record.as_ref().map(|record| &record.to);
    chain_name(to.and_then(|side| side.name_of(id)), None, id)
}

#[cfg(test)]
mod tests {
    use super::{super::fixtures, *};
    use crate::domain::{
        observation::StatusOutcome,
        record::{RouteStep, StatusRecord},
    };

    fn polled(change: impl FnOnce(&mut StatusRecord), status: RouterStatus) -> Transaction {
        let mut tx = fixtures::transaction(1);
        let mut record = StatusRecord::bare(status);
        change(&mut record);
        tx.apply(&fixtures::answer(StatusOutcome::Record(Box::new(record))), tx.first_seen_at);
        tx
    }

    #[test]
    fn the_kind_is_known_only_from_answers() {
        use RouterStatus::*;
        let message = |record: &mut StatusRecord| record.is_gmp = Some(true);
        assert_eq!(kind(&fixtures::transaction(1)), None);
        assert_eq!(kind(&polled(|_| {}, Ongoing)), None);
        assert_eq!(kind(&polled(message, Success)), Some(RouteKind::Bridged));
        assert_eq!(kind(&polled(|record| record.bridge_url = Some("https://x.example".into()), Ongoing)), None);
        assert_eq!(kind(&polled(|record| record.is_gmp = Some(false), Success)), None);
        assert_eq!(kind(&polled(|_| {}, NeedsGas)), Some(RouteKind::Bridged));
        assert_eq!(kind(&polled(|_| {}, Refund)), Some(RouteKind::Intents));
        assert!(contradiction(&polled(message, Refund)).is_some_and(|reported| reported.contains("intents")));
        let mut same = polled(|_| {}, NeedsGas);
        same.params.to_chain = same.params.from_chain.clone();
        assert_eq!(kind(&same), Some(RouteKind::SameChain));
        assert!(contradiction(&same).is_some_and(|reported| reported.contains("one chain")));
        assert_eq!(contradiction(&polled(|_| {}, Refund)), None);
        let elsewhere = polled(|record| record.from.chain_id = Some(ChainId::new("1")), Ongoing);
        assert_eq!(contradiction(&elsewhere).unwrap(), "source chain given as 42161, but the service reports 1");
        let ended_on = |last: &str, status| {
            let step = RouteStep { chain_id: Some(ChainId::new(last)), ..RouteStep::default() };
            let end = |record: &mut StatusRecord| {
                (record.to.chain_id, record.steps) = (Some(ChainId::new("10")), vec![step]);
            };
            contradiction(&polled(end, status))
        };
        assert_eq!(ended_on("10", Success).unwrap(), "destination chain given as 8453, but the service reports 10");
        let others = [ended_on("8453", Success), ended_on("42161", Success), ended_on("10", Ongoing)];
        assert_eq!(others, [None, None, None], "a hop");
    }

    #[test]
    fn after_a_hop_the_last_step_is_the_destination() {
        let hop = ChainSide {
            chain_id: Some(ChainId::new("axelar-1")),
            chain_name: Some("Axelar".into()),
            ..Default::default()
        };
        let step = |chain: &str, hash: &str| RouteStep {
            chain_id: Some(ChainId::new(chain)),
            transaction_id: Some(TxHash::new(hash)),
            ..RouteStep::default()
        };
        let with_steps = |steps: Vec<RouteStep>| {
            polled(|record| (record.to, record.steps) = (hop.clone(), steps), RouterStatus::Ongoing)
        };
        let arrived = with_steps(vec![step("axelar-1", "0xaa"), step("8453", "0xbb")]);
        let found = ends(&arrived);
        assert_eq!(found.destination.transaction_id, Some(&TxHash::new("0xbb")));
        assert_eq!(found.hop.unwrap().chain.as_str(), "axelar-1");
        assert_eq!(name_of(&arrived, &ChainId::new("axelar-1")), "Axelar");
        assert_eq!(
            (name_of(&arrived, &ChainId::new("8453")), name_of(&arrived, &ChainId::new("999000"))),
            ("Base".into(), "999000".into())
        );
        let under_way = with_steps(vec![step("axelar-1", "0xaa")]);
        assert_eq!(ends(&under_way).destination, TransferEnd::new(None, &ChainId::new("8453")));
        let plain = polled(|record| record.to.block_number = Some(7), RouterStatus::Ongoing);
        assert_eq!((ends(&plain).destination.block_number, ends(&plain).hop), (Some(7), None));
        assert_eq!(ends(&fixtures::transaction(1)).source.transaction_id, Some(&fixtures::params(1).transaction_id));
    }
}
