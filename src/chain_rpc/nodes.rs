//! The nodes that the settings name, and the questions that they answer together.
//!
//! A node is asked about its own chain alone. The other chains are asked only about a transaction that the source chain
//! doesn't know. Nothing here may decide when to ask.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    address::{NodeAddress, NodeSetting, first_usable_address},
    client::{NOT_EVM, NodeClient, chain_number},
    pace::HostPace,
};
use crate::{
    api::Timeouts,
    clock::Clock,
    domain::{
        chain_check,
        ids::{ChainId, TxHash},
        on_chain::{ChainReading, ChainVerdict, OnChainState, is_evm_hash},
        transaction::{Transaction, TransactionParams},
    },
};

/// A question about one transfer.
#[derive(Clone, Debug)]
pub(crate) struct ChainQuestion {
    /// The source chain.
    pub chain: ChainId,
    /// The hash of the transaction on the source chain.
    pub hash: TxHash,
    /// The transaction on the destination chain or that of the refund, if its hash is known and it matters.
    pub second_transaction: Option<(ChainId, TxHash)>,
    /// The chain's previous answer.
    pub previous: Option<OnChainState>,
    /// Whether a person asks, so that all chains are asked again.
    pub is_requested: bool,
}

impl ChainQuestion {
    /// Returns the question about a transfer.
    pub(crate) fn new(tx: Transaction, is_requested: bool) -> Self {
        let second_transaction = chain_check::second_transaction(&tx);
        let TransactionParams { from_chain: chain, transaction_id: hash, .. } = tx.params;
        Self { chain, hash, second_transaction, previous: tx.on_chain, is_requested }
    }
}

/// The paces of the hosts, by name and port.
type HostPaces = HashMap<(String, u16), Arc<Mutex<HostPace>>>;

/// The nodes of all chains that the settings name.
pub struct ChainNodes {
    settings: BTreeMap<ChainId, NodeSetting>,
    /// The clients that were created so far, by chain.
    nodes: Mutex<BTreeMap<ChainId, Arc<NodeClient>>>,
    paces: Mutex<HostPaces>,
    timeouts: Timeouts,
    clock: Clock,
}

impl ChainNodes {
    /// Returns the nodes that the settings name. Nothing is sent.
    pub fn new(settings: Vec<NodeSetting>, timeouts: Timeouts, clock: Clock) -> Self {
        let settings = settings.into_iter().map(|setting| (setting.chain.clone(), setting)).collect();
        Self { settings, nodes: Mutex::default(), paces: Mutex::default(), timeouts, clock }
    }

    /// Returns the settings of the nodes, which hold secrets.
    pub(crate) fn settings(&self) -> Vec<NodeSetting> {
        self.settings.values().cloned().collect()
    }

    /// Whether the settings name a node of this chain, and the chain can be asked: it is an EVM chain.
    pub(crate) fn has_node(&self, chain: &ChainId) -> bool {
        chain_number(chain).is_some() && self.settings.contains_key(chain)
    }

    /// Returns the chains that wait for the service to name a node.
    pub(crate) fn chains_without_node(&self) -> impl Iterator<Item = &ChainId> {
        self.settings.values().filter(|setting| self.awaits_service(setting)).map(|setting| &setting.chain)
    }

    fn awaits_service(&self, setting: &NodeSetting) -> bool {
        setting.url.is_none() && !lock(&self.nodes).contains_key(&setting.chain)
    }

    /// Takes the service's list of a chain's nodes, if the settings say so.
    pub(crate) fn set_service_urls(&self, chain: &ChainId, rpc_list: &[String]) {
        if let Some(setting) = self.settings.get(chain).filter(|setting| self.awaits_service(setting))
            && let Some(address) = first_usable_address(rpc_list)
            && let Ok(node) = self.create(setting, address)
        {
            tracing::info!("chain {chain} is asked at {}, from the service's list", node.host());
            lock(&self.nodes).insert(chain.clone(), Arc::new(node));
        }
    }

    /// Asks the node of a chain for its chain ID. Returns the host of the node.
    ///
    /// # Errors
    /// A sentence, if the node can't be asked or serves another chain.
    pub(crate) async fn check(&self, chain: &ChainId) -> Result<String, String> {
        let node = self.node(chain)?;
        node.check_chain().await.map(|()| node.host().to_owned())
    }

    /// Asks the chains about a transfer.
    ///
    /// # Errors
    /// If the source chain's node doesn't answer: a sentence with its host.
    pub(crate) async fn ask(&self, question: &ChainQuestion) -> Result<OnChainState, String> {
        let source = match self.obstacle(&question.chain, &question.hash) {
            Some(obstacle) => ChainReading::without_node(ChainVerdict::CannotBeAsked(obstacle)),
            None => self.node(&question.chain)?.read(&question.hash, previous_source(question)).await?,
        };
        Ok(self.complete(question, source).await)
    }

    /// Asks the chains about several transfers from one source chain. Returns the answers in the order of the
    /// questions.
    pub(crate) async fn ask_all(&self, questions: &[ChainQuestion]) -> Vec<Result<OnChainState, String>> {
        let mut sources = self.read_sources(questions).await.into_iter();
        let mut answers = Vec::with_capacity(questions.len());
        for question in questions {
            answers.push(match sources.next() {
                Some(Ok(source)) => Ok(self.complete(question, source).await),
                Some(Err(reason)) => Err(reason),
                None => self.ask(question).await,
            });
        }
        answers
    }

    /// Reads the source transactions in one batch. Returns the readings of the first questions; each question without
    /// a reading has to be asked by itself.
    async fn read_sources(&self, questions: &[ChainQuestion]) -> Vec<Result<ChainReading, String>> {
        let can_be_asked = |question: &ChainQuestion| self.obstacle(&question.chain, &question.hash).is_none();
        let [first, _, ..] = questions else { return Vec::new() };
        let (true, Ok(node)) = (questions.iter().all(can_be_asked), self.node(&first.chain)) else { return Vec::new() };
        let wanted: Vec<_> = questions.iter().map(|question| (&question.hash, previous_source(question))).collect();
        let reason = match node.read_all(&wanted).await {
            Ok(readings) => return readings,
            Err(reason) if node.is_resting() => reason,
            // The node may refuse large batches. If it doesn't answer one question either, the others don't wait for
            // the node.
            Err(_) => match node.read(&first.hash, previous_source(first)).await {
                Ok(reading) => return vec![Ok(reading)],
                Err(reason) => reason,
            },
        };
        vec![Err(reason); questions.len()]
    }

    /// Completes the reading of the source chain by the other chains, if the source chain doesn't know the transaction,
    /// and by the second transaction.
    async fn complete(&self, question: &ChainQuestion, source: ChainReading) -> OnChainState {
        let ChainQuestion { second_transaction, previous, .. } = question;
        let source = match source.verdict {
            ChainVerdict::Unknown(_) => self.ask_others(question, source).await,
            _ => source,
        };
        let mut second_reading = None;
        if let Some((chain, hash)) =
            second_transaction.as_ref().filter(|(chain, hash)| self.obstacle(chain, hash).is_none())
        {
            let before = previous.as_ref().and_then(|previous| previous.second_reading(chain, hash));
            let read = match self.node(chain) {
                Ok(node) => node.read(hash, before).await,
                Err(reason) => Err(reason),
            };
            let read = read.inspect_err(|reason| tracing::warn!("chain {chain} can't be asked: {reason}"));
            second_reading = read.ok().map(|reading| ((chain.clone(), hash.clone()), reading));
        }
        OnChainState::after(previous.as_ref(), source, second_reading, self.clock.now().wall)
    }

    /// Asks the other chains about a transaction that the source chain doesn't know: once, unless a person asks.
    async fn ask_others(&self, question: &ChainQuestion, source: ChainReading) -> ChainReading {
        let asked = match question.previous.as_ref().map(|previous| &previous.source.verdict) {
            Some(ChainVerdict::Unknown(asked)) if !question.is_requested => asked.clone(),
            _ => Vec::new(),
        };
        let mut unknown = asked.clone();
        for chain in self.settings.keys().filter(|chain| **chain != question.chain && !asked.contains(chain)) {
            let Ok(node) = self.node(chain) else { continue };
            match node.read(&question.hash, None).await {
                Ok(ChainReading { verdict: ChainVerdict::Unknown(_), .. }) => unknown.push(chain.clone()),
                Ok(found) => return ChainReading { verdict: ChainVerdict::Elsewhere(chain.clone()), ..found },
                Err(reason) => tracing::warn!("chain {chain} can't be asked: {reason}"),
            }
        }
        ChainReading { verdict: ChainVerdict::Unknown(unknown), ..source }
    }

    /// Returns the reason why no node can be asked about a transaction on this chain.
    fn obstacle(&self, chain: &ChainId, hash: &TxHash) -> Option<String> {
        if chain_number(chain).is_none() || !is_evm_hash(hash) {
            return Some(NOT_EVM.into());
        }
        let missing = || format!("no node is set: add [chains.{chain}] with rpc to the config file");
        (!self.has_node(chain)).then(missing)
    }

    fn node(&self, chain: &ChainId) -> Result<Arc<NodeClient>, String> {
        if let Some(node) = lock(&self.nodes).get(chain) {
            return Ok(Arc::clone(node));
        }
        let setting = self.settings.get(chain).ok_or("no node is set")?;
        let url = setting.url.as_ref().ok_or("the service hasn't named a node of this chain yet")?;
        let node = Arc::new(self.create(setting, NodeAddress::parse(url)?)?);
        lock(&self.nodes).insert(chain.clone(), Arc::clone(&node));
        Ok(node)
    }

    fn create(&self, setting: &NodeSetting, address: NodeAddress) -> Result<NodeClient, String> {
        let mut paces = lock(&self.paces);
        let pace = paces.entry(address.host_and_port()).or_default();
        lock(pace).limit(setting.rps);
        NodeClient::new(setting.chain.clone(), address, Arc::clone(pace), self.timeouts, self.clock.clone())
    }
}

fn previous_source(question: &ChainQuestion) -> Option<&ChainReading> {
    question.previous.as_ref().map(|previous| &previous.source)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
