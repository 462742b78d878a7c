//! The status record, as far as it could be read (`service.md` 2.2 to 2.5).
//!
//! Every field may be absent; all text is clean. It must never hold a guess: an absent value is `None` or empty.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    chains,
    ids::{ChainId, TxHash},
    status::RouterStatus,
};

/// The content of a `GET /v2/status` answer with HTTP 200 (`service.md` 2.2). The body is stored separately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusRecord {
    /// `id`: usually the hash, but not always. Transactions must never be looked up by this field.
    #[serde(default)]
    pub id: Option<String>,
    /// `routerTransactionStatus`.
    pub status: RouterStatus,
    /// `status`: the bridge explorer's wording; values not documented.
    pub bridge_status: Option<String>,
    /// `gasStatus`: empty when not applicable; values not documented.
    pub gas_status: Option<String>,
    /// `isGMPTransaction`: `true` for general message passing, `false` for a plain bridge transfer.
    pub is_gmp: Option<bool>,
    /// `bridgeTransactionUrl`.
    pub bridge_url: Option<String>,
    /// `fromChain`.
    pub from: ChainSide,
    /// `toChain`.
    pub to: ChainSide,
    /// `routeStatus`, in the order of the response.
    pub steps: Vec<RouteStep>,
    /// `timeSpent`: numbers and nulls by key, and other values as text. Only the key `total` is documented, and no unit
    /// is. The parts must not be added up.
    pub time_spent: BTreeMap<String, Value>,
    /// `error`, as one line of text. Its fields are not documented.
    pub error: Option<String>,
    /// `requestId`.
    pub request_id: Option<String>,
    /// The last four characters of `integratorId`, `…7f3a`. No more of the ID may be kept.
    #[serde(default)]
    pub integrator: Option<String>,
    /// Undocumented keys, by their path, with their values as compact JSON.
    #[serde(default)]
    pub other: BTreeMap<String, String>,
    /// A sentence for each part that could not be read.
    pub warnings: Vec<String>,
}

impl StatusRecord {
    /// Whether `later` contains news compared with this record. Numbers in `time_spent` and `other` don't count: they
    /// may be a running clock, and then each answer would be news.
    pub fn has_changes(&self, later: &Self) -> bool {
        self.without_running_numbers() != later.without_running_numbers()
    }

    fn without_running_numbers(&self) -> Self {
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

    /// Returns `timeSpent` in words, `bridge 23, total 45`; `None` if there are no values.
    pub fn time_spent_text(&self) -> Option<String> {
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
    /// `chainData.chainName`, or `networkName` where that field says more.
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
    /// Returns the chain's name if this side is on `chain`.
    pub fn name_of(&self, chain: &ChainId) -> Option<&str> {
        self.chain_name.as_deref().filter(|_| self.chain_id.as_ref() == Some(chain))
    }
}

/// One element of `routeStatus` (`service.md` 2.4).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RouteStep {
    /// `chainId`: the chain of the step.
    pub chain_id: Option<ChainId>,
    /// `txHash`.
    pub transaction_id: Option<TxHash>,
    /// `status`, for example `success`.
    pub status: Option<String>,
    /// `action`: `send` and `call` occur.
    pub action: Option<String>,
}

/// The facts that a full record and its summary both provide.
pub trait RecordView {
    /// Whether the route carries a message (`isGMPTransaction`).
    fn is_gmp(&self) -> Option<bool>;

    /// Returns the record's name for the source chain, if `chain` is the record's source.
    fn source_name(&self, chain: &ChainId) -> Option<&str>;

    /// Returns the record's name for the destination chain, if `chain` is the record's destination. A record may give
    /// an intermediate hop as its destination.
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

/// The part of a record that lists show. The store loads it without decoding the record.
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
    /// Returns the summary of a record about a transaction between these chains.
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

/// Returns a chain's name for people: the service's name in this record, else the shipped table's, else the service's
/// in other answers, else the ID. The table comes before other answers, so that one odd answer doesn't rename a chain
/// everywhere.
pub(crate) fn chain_name(in_record: Option<&str>, name_elsewhere: Option<&str>, id: &ChainId) -> String {
    in_record
        .map(str::to_owned)
        .or_else(|| chains::find(id).map(|chain| chain.name.clone()))
        .or_else(|| name_elsewhere.map(str::to_owned))
        .unwrap_or_else(|| id.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn running_numbers_do_not_change_a_record() {
        let record = |total: Value, other: &str| {
            let mut record = StatusRecord::bare(RouterStatus::Ongoing);
            record.time_spent.insert("total".into(), total);
            record.other.insert("phase".into(), other.into());
            record
        };
        let first = record(json!(12), "\"approving 3 of 4\"");
        assert!(!first.has_changes(&first));
        assert!(!first.has_changes(&record(json!(12.5), "\"approving 4 of 4\"")));
        assert!(first.has_changes(&record(json!(12), "\"executing 3 of 4\"")));
        assert!(first.has_changes(&record(json!("soon"), "\"approving 3 of 4\"")));
        let mut more = first.clone();
        more.time_spent.insert("bridge".into(), json!(3));
        assert!(first.has_changes(&more));
        more = first.clone();
        more.bridge_status = Some("called 1".into());
        assert!(first.has_changes(&more));
    }
}
