//! The client of one node: sends batches of calls within the rate of its host, and returns readings.
//!
//! The client follows no redirect and doesn't retry, reads at most 1 MiB, and gives up after the deadline. An error
//! must never name more of the node's address than its host.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::header::CONTENT_TYPE;

use super::{
    address::NodeAddress,
    json_rpc::{RpcCall, RpcError, RpcResults, block_time, decode, encode, facts, is_about, quantity},
    pace::HostPace,
};
use crate::{
    api::{BODY_LIMIT, BodyTruncation, Endpoint, Timeouts, describe, http_builder, innermost, read_body, retry_after},
    clock::Clock,
    domain::{
        ids::{ChainId, TxHash},
        on_chain::{self, ChainFacts, ChainReading},
        text,
    },
};

/// The longest wait for a host that rests. A question that would wait longer fails, and is asked later.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// The client of one chain's node.
pub(super) struct NodeClient {
    chain: ChainId,
    /// The chain's number, as the node names it.
    number: u64,
    address: NodeAddress,
    http: reqwest::Client,
    pace: Arc<Mutex<HostPace>>,
    timeouts: Timeouts,
    clock: Clock,
}

impl NodeClient {
    /// Creates the client of a chain's node. Nodes of one host share its pace.
    ///
    /// # Errors
    /// If the chain has no number, or TLS can't be set up: a sentence.
    pub(super) fn new(
        chain: ChainId,
        address: NodeAddress,
        pace: Arc<Mutex<HostPace>>,
        timeouts: Timeouts,
        clock: Clock,
    ) -> Result<Self, String> {
        let number = chain_number(&chain).ok_or(NOT_EVM)?;
        let http = http_builder(address.is_plain(), timeouts).build();
        let http = http.map_err(|error| format!("can't set up TLS on this machine: {}", innermost(&error)))?;
        Ok(Self { chain, number, address, http, pace, timeouts, clock })
    }

    /// Returns the host, which may be shown.
    pub(super) fn host(&self) -> &str {
        self.address.host()
    }

    /// Whether the node's host rests after a refusal, so that another request would only wait.
    pub(super) fn is_resting(&self) -> bool {
        self.with_pace(|pace| pace.is_resting(self.clock.now().mono))
    }

    /// Asks the node for its chain's ID.
    ///
    /// # Errors
    /// If it doesn't answer, or is a node of another chain: a sentence with the host.
    pub(super) async fn check_chain(&self) -> Result<(), String> {
        let answers = self.call(&[RpcCall::ChainId]).await?;
        self.check(&answers)
    }

    /// Asks the chain about a transaction. `previous` is the previous reading.
    ///
    /// # Errors
    /// If the node doesn't answer, or its answers say nothing: a sentence with the host.
    pub(super) async fn read(&self, hash: &TxHash, previous: Option<&ChainReading>) -> Result<ChainReading, String> {
        let mut readings = self.read_all(&[(hash, previous)]).await?;
        readings.pop().unwrap_or_else(|| Err(self.refusal(RpcError::Missing)))
    }

    /// Asks the chain about several transactions, in two requests. Returns a reading or the reason why there is none
    /// for each, in their order.
    ///
    /// # Errors
    /// If the node doesn't answer: a sentence with the host.
    pub(super) async fn read_all(
        &self,
        wanted: &[(&TxHash, Option<&ChainReading>)],
    ) -> Result<Vec<Result<ChainReading, String>>, String> {
        let calls_about =
            |(hash, _): &(&TxHash, _)| [RpcCall::Transaction((*hash).clone()), RpcCall::Receipt((*hash).clone())];
        let calls: Vec<RpcCall> =
            [RpcCall::ChainId, RpcCall::BlockNumber].into_iter().chain(wanted.iter().flat_map(calls_about)).collect();
        let answers = self.call(&calls).await?;
        self.check(&answers)?;
        let at = |position| answers.at(position).map_err(|error| self.refusal(error));
        let facts_of_each = wanted.iter().enumerate().map(|(index, (hash, _))| {
            let (transaction, receipt) = (at(2 + 2 * index)?, at(3 + 2 * index)?);
            match is_about(transaction, "hash", hash) && is_about(receipt, "transactionHash", hash) {
                true => Ok(facts(transaction, receipt, at(1)?)),
                false => Err(self.with_host("the node answered about another transaction")),
            }
        });
        let mut all: Vec<Result<ChainFacts, String>> = facts_of_each.collect();
        let mut calls = Vec::new();
        let follow_up = |facts: &ChainFacts, previous: Option<&ChainReading>| match (&facts.receipt, &facts.transaction)
        {
            (Some(receipt), _) => receipt.block.map(RpcCall::Block),
            (None, None) => {
                previous.and_then(ChainReading::sender).map(|(sender, _)| RpcCall::NextNonce(sender.to_owned()))
            }
            (None, Some(_)) => None,
        };
        let mut asked = Vec::new();
        for (facts, (_, previous)) in all.iter_mut().zip(wanted) {
            let call = facts.as_ref().ok().and_then(|facts| follow_up(facts, *previous));
            asked.extend(call.is_some().then_some((facts, calls.len())));
            calls.extend(call);
        }
        // The time of a block and the next nonce are optional: a verdict that has the answers so far stands without them.
        if !calls.is_empty()
            && let Ok(answers) = self.call(&calls).await
        {
            for (facts, position) in asked {
                let (Ok(facts), Ok(value)) = (facts, answers.at(position)) else { continue };
                match facts.receipt {
                    Some(_) => facts.block_time = block_time(value),
                    None => facts.next_nonce = quantity(Some(value)),
                }
            }
        }
        let read = |(facts, (_, previous)): (Result<ChainFacts, String>, &(_, Option<&ChainReading>))| {
            on_chain::read(&facts?, self.host(), *previous).map_err(|reason| self.with_host(&reason))
        };
        Ok(all.into_iter().zip(wanted).map(read).collect())
    }

    fn check(&self, answers: &RpcResults) -> Result<(), String> {
        let value = answers.at(0).map_err(|error| self.refusal(error))?;
        match quantity(Some(value)) {
            Some(number) if number == self.number => Ok(()),
            Some(number) => Err(self.with_host(&format!("this is a node of chain {number}, not {}", self.chain))),
            None => Err(self.with_host("the node doesn't say which chain it is of")),
        }
    }

    fn with_host(&self, reason: &str) -> String {
        format!("{}: {}", self.host(), text::clean(&self.address.redact(reason)))
    }

    fn refusal(&self, error: RpcError) -> String {
        match error {
            RpcError::Throttled => self.with_host("the node's rate limit; set a lower rps for this chain"),
            RpcError::Refused(message) => self.with_host(&format!("the node refuses: {message}")),
            RpcError::Missing => self.with_host("the node left out an answer"),
        }
    }

    /// Sends a batch of calls once the host's pace allows it.
    async fn call(&self, calls: &[RpcCall]) -> Result<RpcResults, String> {
        let now = self.clock.now();
        let at = self.with_pace(|pace| (pace.wait(now.mono) <= MAX_WAIT).then(|| pace.take(now.mono)));
        let Some(at) = at else { return Err(self.refusal(RpcError::Throttled)) };
        self.clock.sleep_until(at).await;
        let _hold = self.clock.hold();
        let sent = tokio::time::timeout(self.timeouts.total, self.send(calls)).await;
        sent.unwrap_or_else(|_| {
            Err(self.with_host(&format!("no answer within {} s", self.timeouts.total.as_secs_f64())))
        })
    }

    async fn send(&self, calls: &[RpcCall]) -> Result<RpcResults, String> {
        let url = self.address.expose().clone();
        let request = self.http.post(url).header(CONTENT_TYPE, "application/json").body(encode(calls));
        // The description names the host itself.
        let failed = |error: &reqwest::Error| {
            let endpoint = Endpoint::of_url(self.address.expose(), "the address of the node");
            let described = describe(error, &endpoint, self.timeouts.connect);
            if described.starts_with(self.host()) {
                self.address.redact(&described)
            } else {
                self.with_host(&described)
            }
        };
        let mut response = request.send().await.map_err(|error| failed(&error))?;
        let status = response.status().as_u16();
        let asked = retry_after(response.headers(), self.clock.now().wall);
        let rest = || self.with_pace(|pace| pace.apply_throttled(asked, self.clock.now().mono));
        if status == 429 {
            rest();
            return Err(self.refusal(RpcError::Throttled));
        }
        let (body, cut) = read_body(&mut response, BODY_LIMIT).await;
        match cut {
            Some(BodyTruncation::TooLarge) => return Err(self.with_host("the answer is larger than 1 MiB")),
            Some(BodyTruncation::Broken(error)) => return Err(failed(&error)),
            None => {}
        }
        let answers = match decode(&body, calls.len()) {
            Ok(answers) => answers,
            Err(_) if status != 200 => return Err(self.with_host(&format!("HTTP {status}"))),
            Err(reason) => return Err(self.with_host(&reason)),
        };
        if answers.is_throttled() {
            rest();
            return Err(self.refusal(RpcError::Throttled));
        }
        self.with_pace(HostPace::apply_answered);
        Ok(answers)
    }

    fn with_pace<T>(&self, work: impl FnOnce(&mut HostPace) -> T) -> T {
        work(&mut self.pace.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Why a chain without a number can't be asked.
pub(super) const NOT_EVM: &str = "only EVM chains can be asked, and this one isn't";

/// Returns the number of an EVM chain.
pub(super) fn chain_number(chain: &ChainId) -> Option<u64> {
    chain.as_str().parse().ok()
}
