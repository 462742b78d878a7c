//! Builds the bodies that the simulated service sends: status records (`service.md` 2.2 to 2.5) and errors (7.2).
//!
//! The random values of a transfer depend on its hash alone, so two answers of the same second are equal. Links lead to
//! `.example` hosts: they must never point at a real explorer.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    edit::{EditError, RecordEdit},
    plan::{Transfer, TransferRoute},
    random::{ChainFamily, RandomValues},
};
use crate::domain::{chains, ids::ChainId};

/// The parts of a record that change during a transfer.
#[derive(Clone, Copy, Debug)]
pub struct RecordContent<'a> {
    /// `routerTransactionStatus`.
    pub status: &'a str,
    /// The number of entries in `routeStatus`.
    pub steps: usize,
    /// The transfer's age.
    pub age: Duration,
    /// Changes that are applied to the finished record.
    pub edits: &'a [RecordEdit],
}

/// The values that are drawn once for a transfer.
struct TransferDetails {
    to_hash: String,
    is_block_text: bool,
    is_error_null: bool,
}

impl TransferDetails {
    fn of(transfer: &Transfer) -> Self {
        let params = &transfer.new.params;
        let mut random = RandomValues::of(&params.transaction_id.key());
        let to_hash = match transfer.kind {
            TransferRoute::SameChain => params.transaction_id.to_string(),
            _ => random.hash(ChainFamily::of(&params.to_chain)).to_string(),
        };
        Self { to_hash, is_block_text: random.percent(25), is_error_null: random.percent(50) }
    }
}

/// Returns the hash of a transfer's transaction on the destination chain.
pub(super) fn destination_hash(transfer: &Transfer) -> String {
    TransferDetails::of(transfer).to_hash
}

/// One side of a transfer, as far as the side is known.
struct SideContent<'a> {
    chain: &'a ChainId,
    hash: Option<&'a str>,
    block: u64,
}

/// Returns the status record of a transfer, for the integrator ID that sent the request.
///
/// # Errors
/// If an edit names a field that the record doesn't have.
pub fn record(transfer: &Transfer, state: RecordContent<'_>, integrator_id: &str) -> Result<String, EditError> {
    let params = &transfer.new.params;
    let details = TransferDetails::of(transfer);
    let is_indexed = state.status != "not_found";
    let is_arrived = is_indexed && transfer.has_arrived(state.status, state.steps);
    let (status, gas_status) = bridge_statuses(transfer.kind, state.status);
    let hash = params.transaction_id.as_str();
    let (source, destination) = (is_indexed.then_some(hash), is_arrived.then_some(details.to_hash.as_str()));
    let from = SideContent { chain: &params.from_chain, hash: source, block: transfer.source_block() };
    let to = SideContent { chain: &params.to_chain, hash: destination, block: transfer.destination_block() };
    let mut record = json!({
        "id": hash,
        "status": status,
        "gasStatus": gas_status,
        "isGMPTransaction": transfer.kind == TransferRoute::Message,
        "routerTransactionStatus": state.status,
        "bridgeTransactionUrl": bridge_url(transfer),
        "fromChain": side_record(from, details.is_block_text, "success"),
        "toChain": side_record(to, details.is_block_text, state.status),
        "timeSpent": time_spent(state),
        "routeStatus": route_status(transfer, state, &details.to_hash),
        "requestId": params.request_id.as_deref().unwrap_or_default(),
        "integratorId": integrator_id,
    });
    let error = error_field(state.status);
    if let Some(fields) = record.as_object_mut().filter(|_| error.is_some() || details.is_error_null) {
        fields.insert("error".to_owned(), error.unwrap_or(Value::Null));
    }
    state.edits.iter().try_for_each(|edit| edit.apply(&mut record))?;
    Ok(record.to_string())
}

/// Returns the service's own body for an HTTP status. The shapes differ as in `service.md` 7.2.
pub(crate) fn error(status: u16, message: &str) -> String {
    match status {
        400 => json!({ "message": message, "type": "BAD_REQUEST" }),
        401 => json!({ "message": message, "type": "UNAUTHORIZED" }),
        404 => json!({ "message": message, "type": "NOT_FOUND" }),
        429 => json!({ "message": message, "type": "RATE_LIMITED" }),
        _ => json!({ "message": message, "statusCode": status, "type": "INTERNAL_ERROR" }),
    }
    .to_string()
}

/// Returns the body for a schema violation, such as an unsupported chain ID (`service.md` 7.1).
pub(crate) fn schema_violation(message: &str) -> String {
    json!({ "message": message, "type": "SCHEMA_VALIDATION_ERROR" }).to_string()
}

/// Returns a record with an array nested deeper than a decoder's stack may bear.
pub(crate) fn deep() -> String {
    const LEVELS: usize = 100_000;
    format!("{{\"routeStatus\":{}{}}}", "[".repeat(LEVELS), "]".repeat(LEVELS))
}

/// Returns the service's message for an HTTP status that a plan gives without a body.
pub(crate) fn default_message(kind: TransferRoute, status: u16) -> &'static str {
    match (status, kind) {
        (400, _) => "Invalid or missing request parameters",
        (401, _) => "integrator ID is invalid",
        (404, TransferRoute::Intents) => "Transaction not filled",
        (404, _) => "Transaction not found",
        (429, _) => "Too many requests",
        _ => "Internal server error",
    }
}

/// Returns `status` and `gasStatus` as a bridge explorer words them; the values are not documented.
fn bridge_statuses(kind: TransferRoute, status: &str) -> (&'static str, &'static str) {
    if !kind.is_bridged() {
        return (if status == "success" { "completed" } else { "pending" }, "");
    }
    match status {
        "success" => ("destination_executed", "gas_paid"),
        "partial_success" => ("error", "gas_paid"),
        "needs_gas" => ("destination_gateway_approved", "gas_paid_not_enough_gas"),
        "not_found" => ("", ""),
        _ => ("source_gateway_called", "gas_paid"),
    }
}

/// Returns a chain side record (`service.md` 2.3). A transfer's block numbers are all numbers or all text.
fn side_record(side: SideContent<'_>, is_block_text: bool, status: &str) -> Value {
    let block = match (side.hash, is_block_text) {
        (Some(_), true) => json!(side.block.to_string()),
        (Some(_), false) => json!(side.block),
        (None, true) => json!(""),
        (None, false) => Value::Null,
    };
    let call_event = match (side.hash, status) {
        (None, _) => "",
        (Some(_), "partial_success") => "CrossMulticallFailed",
        (Some(_), _) => "CrossMulticallExecuted",
    };
    json!({
        "transactionId": side.hash.unwrap_or_default(),
        "blockNumber": block,
        "callEventStatus": call_event,
        "callEventLog": [],
        "chainData": chain_data(side.chain),
        "transactionUrl": side.hash.map_or_else(String::new, |hash| transaction_url(side.chain, hash)),
    })
}

fn bridge_url(transfer: &Transfer) -> String {
    let hash = &transfer.new.params.transaction_id;
    match transfer.kind {
        TransferRoute::Message => format!("https://bridge-explorer.example/gmp/{hash}"),
        TransferRoute::Tokens => format!("https://bridge-explorer.example/transfer/{hash}"),
        TransferRoute::Intents | TransferRoute::SameChain => String::new(),
    }
}

fn transaction_url(chain: &ChainId, hash: &str) -> String {
    format!("https://explorer.example/{}/tx/{hash}", identifier(chain))
}

fn error_field(status: &str) -> Option<Value> {
    match status {
        "partial_success" => {
            Some(json!({ "message": "execution reverted: ReceivedLessThanMinimum", "chain": "destination" }))
        }
        "needs_gas" => Some(json!({ "message": "not enough gas paid for the destination chain" })),
        _ => None,
    }
}

/// Returns a total and its phases. Each phase counts from the start, so the phases don't add up to the total.
fn time_spent(state: RecordContent<'_>) -> Value {
    let total = state.age.as_secs();
    let mut spent = json!({ "total": total });
    let phases = [("source_confirm", 0.3), ("bridge", 0.8), ("destination_execute", 1.0)];
    if let Some(fields) = spent.as_object_mut() {
        let reached = phases.iter().take(state.steps);
        fields.extend(reached.map(|(key, share)| ((*key).to_owned(), json!((total as f64 * share).round() as u64))));
    }
    spent
}

/// Returns the steps. With a call: a send and a call on the source chain, then a call on the destination chain. Without
/// a call: a send on each chain.
fn route_status(transfer: &Transfer, state: RecordContent<'_>, to_hash: &str) -> Vec<Value> {
    let params = &transfer.new.params;
    let step = |index: usize| {
        let is_last = index + 1 == state.steps;
        let (is_source, action) = match (transfer.kind, index) {
            (_, 0) => (true, "send"),
            (TransferRoute::Tokens, 1) => (false, "send"),
            (TransferRoute::Message, 1) | (TransferRoute::SameChain, _) => (true, "call"),
            _ => (false, "call"),
        };
        let (chain, hash) =
            if is_source { (&params.from_chain, params.transaction_id.as_str()) } else { (&params.to_chain, to_hash) };
        let status = match state.status {
            _ if !is_last => "success",
            "success" => "success",
            "partial_success" | "refund" => "failed",
            _ => "ongoing",
        };
        json!({ "chainId": chain, "txHash": hash, "status": status, "action": action })
    };
    (0..state.steps).map(step).collect()
}

fn identifier(chain: &ChainId) -> String {
    chains::find(chain).map_or_else(|| chain.to_string(), |known| known.name.to_lowercase().replace(' ', "-"))
}

/// Returns a chain configuration (`service.md` 2.5).
pub(super) fn chain_data(chain: &ChainId) -> Value {
    let name = chains::find(chain).map_or_else(|| format!("Chain {chain}"), |known| known.name.clone());
    let symbol = chains::short_name(chain, None);
    let identifier = identifier(chain);
    let family = ChainFamily::of(chain);
    let (decimals, icon) = (family.decimals(), format!("https://icons.example/{identifier}.svg"));
    let mut random = RandomValues::of(chain.as_str());
    json!({
        "id": chain,
        "chainId": chain,
        "networkIdentifier": identifier,
        "chainName": name,
        "bridgeChainName": identifier,
        "type": family.name(),
        "networkName": name,
        "nativeCurrency": { "name": symbol, "symbol": symbol, "decimals": decimals, "icon": format!("{icon}#currency") },
        "chainIconURI": icon,
        "blockExplorerUrls": [format!("https://explorer.example/{identifier}")],
        "swapAmountForGas": "2000000",
        "sameChainSwapsSupported": family == ChainFamily::Evm,
        "compliance": { "trmIdentifier": identifier },
        "rpcList": [format!("https://rpc.example/{identifier}")],
        "visible": true,
        "chainNativeContracts": {
            "wrappedNativeToken": random.address(chain),
            "ensRegistry": "",
            "multicall": random.address(chain),
            "usdcToken": random.address(chain),
        },
        "feeCurrencies": [],
        "currencies": [],
        "features": [],
        "bridgeFeeMultiplier": 1.1,
    })
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::{super::world::SimulatedWorld, *};

    fn record_of(transfer: &Transfer, status: &str, steps: usize) -> Value {
        let state = RecordContent { status, steps, age: Duration::from_secs(100), edits: &[] };
        serde_json::from_str(&record(transfer, state, "id").unwrap()).unwrap()
    }

    fn transfer(kind: TransferRoute) -> Transfer {
        let world = SimulatedWorld::seeded(3, 200, DateTime::UNIX_EPOCH);
        let hashes = world.transfers().into_iter().map(|new| new.params.transaction_id);
        let found = hashes.filter_map(|hash| world.find(hash.as_str())).find(|transfer| transfer.kind == kind);
        found.unwrap().clone()
    }

    #[test]
    fn route_steps_lead_from_the_source_to_the_destination() {
        let transfer = transfer(TransferRoute::Message);
        let params = &transfer.new.params;
        let body = record_of(&transfer, "success", 3);
        let chains: Vec<_> = (0..3).map(|step| body["routeStatus"][step]["chainId"].as_str().unwrap()).collect();
        assert_eq!(chains, [params.from_chain.as_str(), params.from_chain.as_str(), params.to_chain.as_str()]);
        assert_eq!(body["routeStatus"][2]["txHash"], body["toChain"]["transactionId"]);
        assert_eq!(body["routeStatus"][0]["action"], "send");
        assert_eq!(body["timeSpent"]["total"], 100);
    }

    #[test]
    fn destination_is_empty_until_the_transfer_arrives() {
        let transfer = transfer(TransferRoute::Message);
        let body = record_of(&transfer, "ongoing", 1);
        assert_eq!((&body["toChain"]["transactionId"], &body["toChain"]["transactionUrl"]), (&json!(""), &json!("")));
        assert!(body["toChain"]["blockNumber"].as_u64().is_none());
        assert_eq!(body["routeStatus"].as_array().unwrap().len(), 1);
        assert_eq!(body["routeStatus"][0]["status"], "ongoing");
    }

    #[test]
    fn edits_are_applied_last() {
        let edits = [RecordEdit::set("/toChain", "null").unwrap(), RecordEdit::unset("/timeSpent").unwrap()];
        let state = RecordContent { status: "ongoing", steps: 1, age: Duration::ZERO, edits: &edits };
        let transfer = transfer(TransferRoute::Message);
        let body: Value = serde_json::from_str(&record(&transfer, state, "id").unwrap()).unwrap();
        assert!(body["toChain"].is_null() && body.get("timeSpent").is_none() && body["fromChain"].is_object());
        let state = RecordContent { edits: &[RecordEdit::unset("/toChain/moon").unwrap()], ..state };
        assert_eq!(record(&transfer, state, "id"), Err(EditError::Missing("/toChain/moon".to_owned())));
    }

    #[test]
    fn bridge_link_and_error_appear_only_where_they_apply() {
        assert_eq!(record_of(&transfer(TransferRoute::Intents), "ongoing", 1)["bridgeTransactionUrl"], "");
        let paused = record_of(&transfer(TransferRoute::Message), "needs_gas", 2);
        assert!(paused["bridgeTransactionUrl"].as_str().unwrap().starts_with("https://"));
        assert!(paused["error"]["message"].is_string());
        assert!(record_of(&transfer(TransferRoute::Tokens), "ongoing", 1).get("error").is_none_or(Value::is_null));
    }
}
