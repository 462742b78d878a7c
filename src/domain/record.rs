//! The status record, as far as it could be read (`service.md` 2.2 to 2.5).
//!
//! Every field may be absent; all text is clean. It must never hold a guess: what didn't come is `None` or empty.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    chains,
    ids::{ChainId, TxHash},
    status::RouterStatus,
};

/// What a `GET /v2/status` answered with HTTP 200 said (`service.md` 2.2). The body itself is kept beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusRecord {
    /// `id`: mostly the hash, but not always; never what a transaction is found by.
    #[serde(default)]
    pub id: Option<String>,
    /// `routerTransactionStatus`.
    pub status: RouterStatus,
    /// `status`: as the bridge explorer words it; values not documented.
    pub bridge_status: Option<String>,
    /// `gasStatus`: empty when not applicable; values not documented.
    pub gas_status: Option<String>,
    /// `isGMPTransaction`: general message passing, or a plain bridge transfer.
    pub is_gmp: Option<bool>,
    /// `bridgeTransactionUrl`.
    pub bridge_url: Option<String>,
    /// `fromChain`.
    pub from: ChainSide,
    /// `toChain`.
    pub to: ChainSide,
    /// `routeStatus`, in the order of the response.
    pub steps: Vec<Step>,
    /// `timeSpent`: numbers by key, and whatever else came as text. Neither unit nor keys but `total` are documented; the
    /// parts must not be added up.
    pub time_spent: BTreeMap<String, Value>,
    /// `error`, as one line of text. Its fields are not documented.
    pub error: Option<String>,
    /// `requestId`.
    pub request_id: Option<String>,
    /// The last four characters of `integratorId`, `…7f3a`: all that may be kept of it.
    #[serde(default)]
    pub integrator: Option<String>,
    /// Keys that aren't documented, by their place, with their values as compact JSON.
    #[serde(default)]
    pub other: BTreeMap<String, String>,
    /// What could not be read, a sentence each.
    pub warnings: Vec<String>,
}

impl StatusRecord {
    /// A record that says nothing but its status.
    pub fn bare(status: RouterStatus) -> Self {
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

    /// Whether `later` tells something that this record didn't. Of the running times, and of what nobody knows the meaning of,
    /// the numbers don't count: they may be a clock, and then each answer would be news.
    pub fn is_news(&self, later: &Self) -> bool {
        self.steady() != later.steady()
    }

    fn steady(&self) -> Self {
        let time_spent = self.time_spent.iter();
        let other = self.other.iter();
        Self {
            time_spent: time_spent
                .map(|(key, value)| (key.clone(), without_numbers(&value.to_string()).into()))
                .collect(),
            other: other.map(|(key, value)| (key.clone(), without_numbers(value))).collect(),
            ..self.clone()
        }
    }

    /// `timeSpent` in words, `bridge 23, total 45`; `None` if nothing came.
    pub fn time_spent_words(&self) -> Option<String> {
        let parts: Vec<_> = self.time_spent.iter().map(|(key, value)| format!("{key} {value}")).collect();
        Some(parts.join(", ")).filter(|words| !words.is_empty())
    }
}

fn without_numbers(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit() && *letter != '.').collect()
}

/// One end of the transfer: `fromChain`, `toChain` (`service.md` 2.3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChainSide {
    /// `chainData.chainId`, or `chainData.id`.
    pub chain_id: Option<ChainId>,
    /// `chainData.chainName`, or `networkName` where that one says more.
    pub chain_name: Option<String>,
    /// `transactionId`: the hash on this chain.
    pub transaction_id: Option<TxHash>,
    /// `blockNumber`.
    pub block_number: Option<u64>,
    /// `callEventStatus`: empty when none; values not documented.
    pub call_event_status: Option<String>,
    /// `callEventLog`: elements of a shape that isn't documented, as compact JSON.
    #[serde(default)]
    pub call_event_log: Vec<String>,
    /// `transactionUrl`: the block explorer's page.
    pub url: Option<String>,
}

impl ChainSide {
    /// The chain's name, if the side is this chain.
    pub fn name_of(&self, chain: &ChainId) -> Option<&str> {
        self.chain_name.as_deref().filter(|_| self.chain_id.as_ref() == Some(chain))
    }
}

/// One element of `routeStatus` (`service.md` 2.4).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// `chainId`: where the step ran.
    pub chain_id: Option<ChainId>,
    /// `txHash`.
    pub transaction_id: Option<TxHash>,
    /// `status`, for example `success`.
    pub status: Option<String>,
    /// `action`: `send` and `call` occur.
    pub action: Option<String>,
}

/// What both a whole record and its summary tell.
pub trait RecordView {
    /// Whether the route carries a message (`isGMPTransaction`).
    fn is_gmp(&self) -> Option<bool>;

    /// What the record calls the source chain, if its source is this chain.
    fn source_name(&self, chain: &ChainId) -> Option<&str>;

    /// What the record calls the destination chain, if its destination is this chain. A record may carry an intermediate hop as
    /// its destination.
    fn destination_name(&self, chain: &ChainId) -> Option<&str>;
}

impl RecordView for StatusRecord {
    fn is_gmp(&self) -> Option<bool> {
        self.is_gmp
    }

    fn source_name(&self, chain: &ChainId) -> Option<&str> {
        self.from.name_of(chain)
    }

    fn destination_name(&self, chain: &ChainId) -> Option<&str> {
        self.to.name_of(chain)
    }
}

/// What lists show of a record: it is loaded without unpacking the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSummary {
    /// Whether the route carries a message.
    pub is_gmp: Option<bool>,
    /// The name of the transaction's source chain.
    pub from_name: Option<String>,
    /// The name of the transaction's destination chain.
    pub to_name: Option<String>,
}

impl RecordSummary {
    /// The summary of a record about a transaction between these chains.
    pub fn new(record: &StatusRecord, from: &ChainId, to: &ChainId) -> Self {
        Self {
            is_gmp: record.is_gmp,
            from_name: record.source_name(from).map(str::to_owned),
            to_name: record.destination_name(to).map(str::to_owned),
        }
    }
}

impl RecordView for RecordSummary {
    fn is_gmp(&self) -> Option<bool> {
        self.is_gmp
    }

    fn source_name(&self, _chain: &ChainId) -> Option<&str> {
        self.from_name.as_deref()
    }

    fn destination_name(&self, _chain: &ChainId) -> Option<&str> {
        self.to_name.as_deref()
    }
}

/// A chain's name for people: what the service called it in this record, the shipped table's, what the service called it
/// elsewhere, its ID. The table comes before the latter, so that one odd answer doesn't rename a chain everywhere.
pub fn chain_name(in_record: Option<&str>, state: Option<&str>, id: &ChainId) -> String {
    in_record
        .map(str::to_owned)
        .or_else(|| chains::find(id).map(|chain| chain.name.clone()))
        .or_else(|| state.map(str::to_owned))
        .unwrap_or_else(|| id.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn running_numbers_are_no_news_and_everything_else_is() {
        let record = |total: Value, other: &str| {
            let mut record = StatusRecord::bare(RouterStatus::Ongoing);
            record.time_spent.insert("total".into(), total);
            record.other.insert("phase".into(), other.into());
            record
        };
        let first = record(json!(12), "\"approving 3 of 4\"");
        assert!(!first.is_news(&first));
        assert!(!first.is_news(&record(json!(12.5), "\"approving 4 of 4\"")));
        assert!(first.is_news(&record(json!(12), "\"executing 3 of 4\"")));
        assert!(first.is_news(&record(json!("soon"), "\"approving 3 of 4\"")));
        let mut more = first.clone();
        more.time_spent.insert("bridge".into(), json!(3));
        assert!(first.is_news(&more));
        more = first.clone();
        more.bridge_status = Some("called 1".into());
        assert!(first.is_news(&more));
    }
}
