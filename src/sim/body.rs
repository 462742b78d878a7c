//! The bodies that the simulated service sends: the status record (`service.md` 2.2 to 2.5) and errors (7.2).
//!
//! What a transfer looks like follows from its hash alone, so that two answers of the same second are the same. Links
//! lead to `.example` hosts: nothing here may point at a real explorer.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    chance::{Chance, Family},
    edit::{Edit, EditError},
    plan::{Kind, Transfer},
};
use crate::domain::{chains, ids::ChainId};

/// What a record says that isn't the transfer itself.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// `routerTransactionStatus`.
    pub status: &'a str,
    /// How many entries `routeStatus` has.
    pub steps: usize,
    /// The transfer's age.
    pub age: Duration,
    /// What is changed in the record in the end.
    pub edits: &'a [Edit],
}

/// What is drawn once for a transfer.
struct Look {
    to_hash: String,
    from_block: u64,
    to_block: u64,
    block_as_text: bool,
    error_as_null: bool,
}

impl Look {
    fn of(transfer: &Transfer) -> Self {
        let params = &transfer.new.params;
        let mut chance = Chance::of(&params.transaction_id.key());
        let to_hash = match transfer.kind {
            Kind::SameChain => params.transaction_id.to_string(),
            _ => chance.hash(Family::of(&params.to_chain)).to_string(),
        };
        Self {
            to_hash,
            from_block: chance.whole(9_000_000, 380_000_000),
            to_block: chance.whole(9_000_000, 380_000_000),
            block_as_text: chance.percent(25),
            error_as_null: chance.percent(50),
        }
    }
}

/// One end of a transfer, as far as something is known of it.
struct Side<'a> {
    chain: &'a ChainId,
    hash: Option<&'a str>,
    block: u64,
}

/// The status record of a transfer, for the integrator ID that asked.
///
/// # Errors
/// If the edits name what such a record doesn't have.
pub fn record(transfer: &Transfer, said: Said<'_>, integrator_id: &str) -> Result<String, EditError> {
    let params = &transfer.new.params;
    let look = Look::of(transfer);
    let seen = said.status != "not_found";
    let arrived = seen && has_arrived(transfer.kind, said);
    let (status, gas_status) = bridge_words(transfer.kind, said.status);
    let hash = params.transaction_id.as_str();
    let from = Side { chain: &params.from_chain, hash: seen.then_some(hash), block: look.from_block };
    let to = Side { chain: &params.to_chain, hash: arrived.then_some(&look.to_hash), block: look.to_block };
    let mut record = json!({
        "id": hash,
        "status": status,
        "gasStatus": gas_status,
        "isGMPTransaction": transfer.kind == Kind::Message,
        "routerTransactionStatus": said.status,
        "bridgeTransactionUrl": bridge_url(transfer),
        "fromChain": side(from, look.block_as_text, "success"),
        "toChain": side(to, look.block_as_text, said.status),
        "timeSpent": time_spent(said),
        "routeStatus": route_status(transfer, said, &look.to_hash),
        "requestId": params.request_id.as_deref().unwrap_or_default(),
        "integratorId": integrator_id,
    });
    let error = error_of(said.status);
    if let Some(fields) = record.as_object_mut().filter(|_| error.is_some() || look.error_as_null) {
        fields.insert("error".to_owned(), error.unwrap_or(Value::Null));
    }
    said.edits.iter().try_for_each(|edit| edit.apply(&mut record))?;
    Ok(record.to_string())
}

/// The service's own body for an HTTP status. The shapes differ as they do in `service.md` 7.2.
pub fn error(status: u16, message: &str) -> String {
    match status {
        400 => json!({ "message": message, "type": "BAD_REQUEST" }),
        401 => json!({ "message": message, "type": "UNAUTHORIZED" }),
        404 => json!({ "message": message, "type": "NOT_FOUND" }),
        429 => json!({ "message": message, "type": "RATE_LIMITED" }),
        _ => json!({ "message": message, "statusCode": status, "type": "INTERNAL_ERROR" }),
    }
    .to_string()
}

/// The body for a schema violation, such as an unsupported chain ID (`service.md` 7.1).
pub fn schema_violation(message: &str) -> String {
    json!({ "message": message, "type": "SCHEMA_VALIDATION_ERROR" }).to_string()
}

/// A record with an array nested deeper than a reader's stack may bear.
pub fn deep() -> String {
    const LEVELS: usize = 100_000;
    format!("{{\"routeStatus\":{}{}}}", "[".repeat(LEVELS), "]".repeat(LEVELS))
}

/// What the service says with an HTTP status that a plan gives without a body.
pub fn usual_message(kind: Kind, status: u16) -> &'static str {
    match (status, kind) {
        (400, _) => "Invalid or missing request parameters",
        (401, _) => "integrator ID is invalid",
        (404, Kind::Intents) => "Transaction not filled",
        (404, _) => "Transaction not found",
        (429, _) => "Too many requests",
        _ => "Internal server error",
    }
}

fn has_arrived(kind: Kind, said: Said<'_>) -> bool {
    match said.status {
        "success" | "partial_success" => true,
        "refund" => false,
        _ => kind != Kind::SameChain && said.steps >= 3,
    }
}

/// `status` and `gasStatus` as a bridge explorer words them; the values are not documented.
fn bridge_words(kind: Kind, status: &str) -> (&'static str, &'static str) {
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

/// A chain side record (`service.md` 2.3). A transfer's block numbers are all numbers or all text.
fn side(side: Side<'_>, block_as_text: bool, status: &str) -> Value {
    let block = match (side.hash, block_as_text) {
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
        Kind::Message => format!("https://bridge-explorer.example/gmp/{hash}"),
        Kind::Tokens => format!("https://bridge-explorer.example/transfer/{hash}"),
        Kind::Intents | Kind::SameChain => String::new(),
    }
}

fn transaction_url(chain: &ChainId, hash: &str) -> String {
    format!("https://explorer.example/{}/tx/{hash}", identifier(chain))
}

fn error_of(status: &str) -> Option<Value> {
    match status {
        "partial_success" => {
            Some(json!({ "message": "execution reverted: ReceivedLessThanMinimum", "chain": "destination" }))
        }
        "needs_gas" => Some(json!({ "message": "not enough gas paid for the destination chain" })),
        _ => None,
    }
}

/// A total and the phases within it. The phases are running times from the start, so they don't add up to the total.
fn time_spent(said: Said<'_>) -> Value {
    let total = said.age.as_secs();
    let mut spent = json!({ "total": total });
    let phases = [("source_confirm", 0.3), ("bridge", 0.8), ("destination_execute", 1.0)];
    if let Some(fields) = spent.as_object_mut() {
        let reached = phases.iter().take(said.steps);
        fields.extend(reached.map(|(key, share)| ((*key).to_owned(), json!((total as f64 * share).round() as u64))));
    }
    spent
}

/// A send and a call where the tokens leave, then a call where they arrive; without a call, a send on both sides.
fn route_status(transfer: &Transfer, said: Said<'_>, to_hash: &str) -> Vec<Value> {
    let params = &transfer.new.params;
    let step = |index: usize| {
        let last = index + 1 == said.steps;
        let (from, action) = match (transfer.kind, index) {
            (_, 0) => (true, "send"),
            (Kind::Tokens, 1) => (false, "send"),
            (Kind::Intents, 1) => (false, "call"),
            (_, 1) => (true, "call"),
            (Kind::SameChain, _) => (true, "call"),
            _ => (false, "call"),
        };
        let (chain, hash) =
            if from { (&params.from_chain, params.transaction_id.as_str()) } else { (&params.to_chain, to_hash) };
        let status = match said.status {
            "success" => "success",
            "partial_success" | "refund" if last => "failed",
            "partial_success" | "refund" => "success",
            _ if last => "ongoing",
            _ => "success",
        };
        json!({ "chainId": chain, "txHash": hash, "status": status, "action": action })
    };
    (0..said.steps).map(step).collect()
}

fn identifier(chain: &ChainId) -> String {
    chains::find(chain).map_or_else(|| chain.to_string(), |known| known.name.to_lowercase().replace(' ', "-"))
}

/// Chain configuration (`service.md` 2.5).
fn chain_data(chain: &ChainId) -> Value {
    let name = chains::find(chain).map_or_else(|| format!("Chain {chain}"), |known| known.name.clone());
    let symbol = chains::short_name(chain, None);
    let identifier = identifier(chain);
    let family = Family::of(chain);
    let (decimals, icon) = (family.decimals(), format!("https://icons.example/{identifier}.svg"));
    let mut chance = Chance::of(chain.as_str());
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
        "sameChainSwapsSupported": family == Family::Evm,
        "compliance": { "trmIdentifier": identifier },
        "rpcList": [format!("https://rpc.example/{identifier}")],
        "visible": true,
        "chainNativeContracts": {
            "wrappedNativeToken": chance.address(chain),
            "ensRegistry": "",
            "multicall": chance.address(chain),
            "usdcToken": chance.address(chain),
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

    use super::{super::world::World, *};

    fn of(transfer: &Transfer, status: &str, steps: usize) -> Value {
        let said = Said { status, steps, age: Duration::from_secs(100), edits: &[] };
        serde_json::from_str(&record(transfer, said, "id").unwrap()).unwrap()
    }

    fn transfer(kind: Kind) -> Transfer {
        let world = World::seeded(3, 200, DateTime::UNIX_EPOCH);
        let hashes = world.transfers().into_iter().map(|new| new.params.transaction_id);
        let found = hashes.filter_map(|hash| world.find(hash.as_str())).find(|transfer| transfer.kind == kind);
        found.unwrap().clone()
    }

    #[test]
    fn the_route_goes_from_the_source_to_the_destination() {
        let transfer = transfer(Kind::Message);
        let params = &transfer.new.params;
        let body = of(&transfer, "success", 3);
        let chains: Vec<_> = (0..3).map(|step| body["routeStatus"][step]["chainId"].as_str().unwrap()).collect();
        assert_eq!(chains, [params.from_chain.as_str(), params.from_chain.as_str(), params.to_chain.as_str()]);
        assert_eq!(body["routeStatus"][2]["txHash"], body["toChain"]["transactionId"]);
        assert_eq!(body["routeStatus"][0]["action"], "send");
        assert_eq!(body["timeSpent"]["total"], 100);
    }

    #[test]
    fn the_destination_is_empty_until_something_arrives() {
        let transfer = transfer(Kind::Message);
        let body = of(&transfer, "ongoing", 1);
        assert_eq!((&body["toChain"]["transactionId"], &body["toChain"]["transactionUrl"]), (&json!(""), &json!("")));
        assert!(body["toChain"]["blockNumber"].as_u64().is_none());
        assert_eq!(body["routeStatus"].as_array().unwrap().len(), 1);
        assert_eq!(body["routeStatus"][0]["status"], "ongoing");
    }

    #[test]
    fn edits_have_the_last_word() {
        let edits = [Edit::set("/toChain", "null").unwrap(), Edit::unset("/timeSpent").unwrap()];
        let said = Said { status: "ongoing", steps: 1, age: Duration::ZERO, edits: &edits };
        let transfer = transfer(Kind::Message);
        let body: Value = serde_json::from_str(&record(&transfer, said, "id").unwrap()).unwrap();
        assert!(body["toChain"].is_null() && body.get("timeSpent").is_none() && body["fromChain"].is_object());
        let said = Said { edits: &[Edit::unset("/toChain/moon").unwrap()], ..said };
        assert_eq!(record(&transfer, said, "id"), Err(EditError::Missing("/toChain/moon".to_owned())));
    }

    #[test]
    fn a_bridge_link_and_an_error_are_there_when_they_apply() {
        assert_eq!(of(&transfer(Kind::Intents), "ongoing", 1)["bridgeTransactionUrl"], "");
        let paused = of(&transfer(Kind::Message), "needs_gas", 2);
        assert!(paused["bridgeTransactionUrl"].as_str().unwrap().starts_with("https://"));
        assert!(paused["error"]["message"].is_string());
        assert!(of(&transfer(Kind::Tokens), "ongoing", 1).get("error").is_none_or(Value::is_null));
    }
}
