//! Builders of transactions and answers for tests.
//!
//! Only tests may use them.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    alert::{Alert, Rule},
    chain_config::ChainConfig,
    evidence::Evidence,
    ids::{ChainId, RowId, TxHash},
    observation::{Observation, RequestFailure, StatusOutcome},
    people::Authors,
    quote::{Amount, QuoteRequest},
    record::{ChainSide, StatusRecord},
    status::RouterStatus,
    transaction::{ChainNames, NewTransaction, Tracking, Transaction, TransactionParams, TransactionState},
};

impl StatusRecord {
    /// Returns a record that contains only a status.
    pub(crate) fn bare(status: RouterStatus) -> Self {
        Self {
            id: None,
            status,
            bridge_status: None,
            gas_status: None,
            is_gmp: None,
            bridge_url: None,
            from: ChainSide::default(),
            to: ChainSide::default(),
            steps: Vec::new(),
            time_spent: BTreeMap::new(),
            error: None,
            request_id: None,
            integrator: None,
            other: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }
}

impl ChainConfig {
    /// Returns a chain of which only the ID is known.
    pub(crate) fn bare(id: ChainId) -> Self {
        Self {
            id,
            name: None,
            texts: BTreeMap::new(),
            native_currency: None,
            explorers: Vec::new(),
            rpc_list: Vec::new(),
            same_chain_swaps: None,
            visible: None,
            contracts: BTreeMap::new(),
            lists: BTreeMap::new(),
            bridge_fee_multiplier: None,
            other: BTreeMap::new(),
        }
    }
}

/// Returns the parameters of transaction `number`: Arbitrum to Base, no estimate, no submission time.
pub(crate) fn params(number: i64) -> TransactionParams {
    TransactionParams {
        transaction_id: TxHash::new(format!("0x{number:064x}")),
        from_chain: ChainId::new("42161"),
        to_chain: ChainId::new("8453"),
        quote_id: format!("quote-{number}"),
        request_id: None,
        estimate: None,
        submitted_at: None,
        from_address: None,
        ticket: None,
    }
}

pub(crate) fn new(number: i64) -> NewTransaction {
    NewTransaction::from(params(number))
}

/// Returns transaction `number` as a tracked transaction, first seen at the Unix epoch and never polled.
pub(crate) fn transaction(number: i64) -> Transaction {
    Transaction {
        id: RowId(number),
        profile: "default".into(),
        params: params(number),
        labels: Vec::new(),
        notes: Vec::new(),
        authors: Authors::default(),
        first_seen_at: DateTime::UNIX_EPOCH,
        chain_names: ChainNames::default(),
        poll_requested_at: None,
        indexing: Evidence::default(),
        tracking: Tracking::Active,
        state: TransactionState::default(),
        record: None,
        on_chain: None,
        response_ids: Vec::new(),
        is_damaged: false,
    }
}

/// Returns a request for a route between the same chains, pricing only.
pub(crate) fn quote_request(from_address: &str) -> QuoteRequest {
    QuoteRequest {
        from_address: from_address.into(),
        from_chain: ChainId::new("42161"),
        from_token: "0x1".into(),
        from_amount: Amount::parse("25").unwrap(),
        to_chain: ChainId::new("8453"),
        to_token: "0x2".into(),
        to_address: "0x3".into(),
        is_quote_only: true,
    }
}

/// Returns an answer with this outcome, HTTP 200 and no body.
pub(crate) fn answer(outcome: StatusOutcome) -> Observation {
    Observation {
        outcome,
        http_status: Some(200),
        latency: Duration::from_millis(40),
        body: None,
        chains: Vec::new(),
        response_id: None,
    }
}

/// Returns an answer with a record that contains only this status.
pub(crate) fn says(status: RouterStatus) -> Observation {
    answer(StatusOutcome::Record(Box::new(StatusRecord::bare(status))))
}

/// Returns an answer with this failure.
pub(crate) fn fails(failure: RequestFailure) -> Observation {
    answer(StatusOutcome::Failed(failure))
}

/// Returns a firing alert with the number 1, raised at the Unix epoch.
pub(crate) fn alert(rule: Rule, transaction: Option<RowId>) -> Alert {
    Alert {
        id: 1,
        rule,
        transaction,
        profile: "default".into(),
        raised_at: DateTime::UNIX_EPOCH,
        clean: 0,
        is_flapping: false,
        message: String::new(),
        handling: None,
        cleared_at: None,
    }
}

/// Returns the alerts by subject: those of each transaction, and those of whole profiles.
pub(crate) fn by_subject(alerts: Vec<Alert>) -> (HashMap<RowId, Vec<Alert>>, Vec<Alert>) {
    let mut of_transactions: HashMap<RowId, Vec<Alert>> = HashMap::new();
    let mut of_profiles = Vec::new();
    for alert in alerts {
        match alert.transaction {
            Some(row) => of_transactions.entry(row).or_default().push(alert),
            None => of_profiles.push(alert),
        }
    }
    (of_transactions, of_profiles)
}

/// Returns the moment so many seconds after the epoch.
pub(crate) fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
}
