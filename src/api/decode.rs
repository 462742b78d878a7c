//! Decodes a status record from a JSON object, however few of its fields can be read (`service.md` 2.2 to 2.5,
//! `cases.md` 3 to 11).
//!
//! Each field that can't be read becomes a warning. This module must never reject a record for one field.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    chain, message,
    reader::{JsonObject, RecordReader, compact},
    redact,
};
use crate::domain::{
    chain_config::ChainConfig,
    record::{ChainSide, RouteStep, StatusRecord},
    status::RouterStatus,
    text,
};

/// The most steps that a record keeps.
const STEP_LIMIT: usize = 64;
/// The most entries of `timeSpent` that a record keeps.
const TIME_LIMIT: usize = 32;

/// Fields of which a status record has at least one. `status`, `error`, `id` and the IDs of the request are not among
/// them: error bodies have these fields as well.
const IDENTIFYING_FIELDS: [&str; 8] = [
    "routerTransactionStatus",
    "gasStatus",
    "isGMPTransaction",
    "bridgeTransactionUrl",
    "fromChain",
    "toChain",
    "timeSpent",
    "routeStatus",
];

/// Whether the object has a field that identifies a status record.
pub(super) fn is_record(object: &Map<String, Value>) -> bool {
    let scope = JsonObject::top(object);
    IDENTIFYING_FIELDS.iter().any(|name| scope.get(name).is_some())
}

/// The documented fields of the record (`service.md` 2.2), of its sides (2.3) and of its steps (2.4).
const RECORD_FIELDS: [&str; 13] = [
    "id",
    "status",
    "gasStatus",
    "isGMPTransaction",
    "routerTransactionStatus",
    "bridgeTransactionUrl",
    "fromChain",
    "toChain",
    "timeSpent",
    "routeStatus",
    "error",
    "requestId",
    "integratorId",
];
const SIDE_FIELDS: [&str; 6] =
    ["transactionId", "blockNumber", "callEventStatus", "callEventLog", "chainData", "transactionUrl"];
const STEP_FIELDS: [&str; 4] = ["chainId", "txHash", "status", "action"];

/// Decodes a record, as far as it can be read, and the chains that it describes.
pub(super) fn decode_record(object: &Map<String, Value>) -> (StatusRecord, Vec<ChainConfig>) {
    let top = JsonObject::top(object);
    let mut reader = RecordReader::default();
    let mut chains = Vec::new();
    let status = reader.text(&top, "routerTransactionStatus").unwrap_or_default();
    let received = top.get("routerTransactionStatus").and_then(Value::as_str).unwrap_or(&status);
    // The cleaned text of another value may read like a documented one: it is quoted then.
    let is_altered = received != status && !matches!(RouterStatus::from(status.clone()), RouterStatus::Unknown(_));
    let status = if is_altered { text::clean(&format!("{received:?}")) } else { status };
    if status == "refunded" {
        reader.warn("the status is `refunded`, which is read as refund");
    }
    let from = reader.object(&top, "fromChain");
    // The destination's fields are filled as the transfer proceeds, so missing fields give no warning.
    let to = reader.object(&top, "toChain").map(JsonObject::without_missing_warnings);
    let mut other = reader.undocumented(&top, &RECORD_FIELDS);
    let mut side = |scope: JsonObject<'_>| {
        let (side, chain) = decode_side(&mut reader, &scope, &mut other);
        chains.extend(chain);
        side
    };
    let from = from.map(&mut side).unwrap_or_default();
    let to = to.map(side).unwrap_or_default();
    let record = StatusRecord {
        id: top.get("id").filter(|id| !id.is_null()).map(compact).filter(|id| !id.is_empty()),
        status: RouterStatus::from(status),
        bridge_status: reader.text(&top, "status"),
        gas_status: reader.text(&top, "gasStatus"),
        is_gmp: reader.flag(&top, "isGMPTransaction"),
        bridge_url: reader.url(&top, "bridgeTransactionUrl"),
        from,
        to,
        steps: decode_steps(&mut reader, &top, &mut other),
        time_spent: decode_times(&mut reader, &top),
        error: top.get("error").and_then(message::value_message),
        request_id: reader.nonempty_text(&top, "requestId"),
        integrator: top.get("integratorId").and_then(Value::as_str).and_then(redact::mask),
        other,
        warnings: reader.finish(),
    };
    (record, chains)
}

/// Decodes a side and its chain. The undocumented fields of both go to `other`.
fn decode_side(
    reader: &mut RecordReader,
    scope: &JsonObject<'_>,
    other: &mut BTreeMap<String, String>,
) -> (ChainSide, Option<ChainConfig>) {
    other.extend(scope.with_path(reader.undocumented(scope, &SIDE_FIELDS)));
    let data = reader.object(scope, "chainData");
    let config = data.as_ref().and_then(|chain| chain::read_config(reader, chain));
    if let (Some(data), Some(config)) = (&data, &config) {
        other.extend(data.with_path(config.other.clone()));
    }
    let side = ChainSide {
        chain_name: config.as_ref().and_then(|config| config.name.clone()),
        chain_id: config.as_ref().map(|config| config.id.clone()),
        transaction_id: reader.hash(scope, "transactionId"),
        block_number: reader.whole_number(scope, "blockNumber"),
        call_event_status: reader.text(scope, "callEventStatus"),
        call_event_log: reader.list(scope, "callEventLog"),
        url: reader.url(scope, "transactionUrl"),
    };
    (side, config)
}

fn decode_steps(
    reader: &mut RecordReader,
    top: &JsonObject<'_>,
    other: &mut BTreeMap<String, String>,
) -> Vec<RouteStep> {
    let mut steps = Vec::new();
    for (index, entry) in reader.array(top, "routeStatus", STEP_LIMIT).iter().enumerate() {
        let path = format!("routeStatus[{index}]");
        match entry {
            Value::Object(object) => {
                let scope = JsonObject::at(object, &path);
                steps.push(decode_step(reader, &scope));
                other.extend(scope.with_path(reader.undocumented(&scope, &STEP_FIELDS)));
            }
            other => reader.warn_unexpected(&path, other, "an object"),
        }
    }
    steps
}

fn decode_step(reader: &mut RecordReader, scope: &JsonObject<'_>) -> RouteStep {
    RouteStep {
        chain_id: reader.chain_id(scope, "chainId"),
        transaction_id: reader.hash(scope, "txHash"),
        status: reader.nonempty_text(scope, "status"),
        action: reader.nonempty_text(scope, "action"),
    }
}

/// Decodes the times as received, by key. Cumulative and single times are mixed, so they must never be added up.
fn decode_times(reader: &mut RecordReader, top: &JsonObject<'_>) -> BTreeMap<String, Value> {
    let Some(JsonObject { object: entries, .. }) = reader.object(top, "timeSpent") else { return BTreeMap::new() };
    if entries.len() > TIME_LIMIT {
        reader.warn(&format!("timeSpent has {} entries; {TIME_LIMIT} were kept", entries.len()));
    }
    let mut times = BTreeMap::new();
    // `total` is the only documented key, so it is kept before all others.
    let total = entries.get_key_value("total").into_iter();
    let others = entries.iter().filter(|(key, _)| *key != "total");
    for (key, value) in total.chain(others).take(TIME_LIMIT) {
        if !value.is_number() {
            reader.warn_unexpected(&format!("timeSpent.{}", text::clean(key)), value, "a number");
        }
        let kept = match value {
            Value::Number(_) | Value::Null => value.clone(),
            Value::String(raw) => {
                serde_json::from_str(raw.trim()).map_or_else(|_| compact(value).into(), Value::Number)
            }
            other => compact(other).into(),
        };
        times.insert(text::clean(key), kept);
    }
    times
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::fixtures, *};
    use crate::domain::ids::ChainId;

    fn read(value: &Value) -> StatusRecord {
        decode_record(value.as_object().unwrap()).0
    }

    #[test]
    fn complete_record_is_decoded_without_warnings() {
        let record = read(&fixtures::full());
        assert_eq!(record.warnings, [""; 0]);
        assert_eq!(record.status, RouterStatus::Success);
        assert_eq!(
            (record.bridge_status.as_deref(), record.gas_status.as_deref()),
            (Some("destination_executed"), Some(""))
        );
        assert_eq!((record.is_gmp, record.error), (Some(true), None));
        assert_eq!(record.bridge_url.as_deref(), Some("https://bridge.example/gmp/0x01"));
        assert_eq!(record.request_id.as_deref(), Some("request-1"));
        let from = &record.from;
        assert_eq!(from.chain_id, Some(ChainId::new("42161")));
        assert_eq!((from.chain_name.as_deref(), from.block_number), (Some("Arbitrum"), Some(173_870_219)));
        assert_eq!(from.call_event_status.as_deref(), Some("CrossMulticallExecuted"));
        assert_eq!((record.to.block_number, record.to.chain_name.as_deref()), (Some(9_261_112), Some("Base")));
        assert_eq!(record.steps.len(), 2);
        assert_eq!(record.steps[1].chain_id, Some(ChainId::new("8453")));
        assert_eq!(record.time_spent.get("total"), Some(&json!(45)));
    }

    #[test]
    fn each_field_may_be_missing_null_or_of_the_wrong_type() {
        let full = fixtures::full();
        let known = read(&full);
        for pointer in fixtures::FIELDS {
            for wrong in [
                None,
                Some(Value::Null),
                Some(json!([{}])),
                Some(json!(true)),
                Some(json!(-1.5)),
                Some(json!({"a": []})),
            ] {
                let changed = fixtures::with_field(&full, pointer, wrong.as_ref());
                let read = read(&changed);
                let is_optional = pointer.starts_with("/toChain") || wrong.is_none() || wrong == Some(Value::Null);
                let fits = match *pointer {
                    "/isGMPTransaction" => wrong == Some(json!(true)),
                    "/timeSpent/total" => wrong == Some(json!(-1.5)),
                    _ => false,
                };
                assert!(is_optional || fits || !read.warnings.is_empty(), "{pointer} {wrong:?}");
                if !pointer.starts_with("/routerTransactionStatus") {
                    assert_eq!(read.status, known.status, "{pointer} {wrong:?}");
                }
                if !pointer.starts_with("/routeStatus") {
                    assert_eq!(read.steps, known.steps, "{pointer} {wrong:?}");
                }
            }
        }
        for pointer in
            fixtures::FIELDS.iter().filter(|pointer| pointer.starts_with("/fromChain") || !pointer[1..].contains('/'))
        {
            let gone = read(&fixtures::with_field(&full, pointer, None));
            let name = pointer.rsplit('/').next().unwrap();
            let has_fallback = ["chainId", "chainName", "networkName"].contains(&name);
            assert!(has_fallback || gone.warnings.iter().any(|warning| warning.contains(name)), "{pointer}");
        }
    }

    #[test]
    fn destination_stub_gives_no_warning() {
        let stub = json!({"transactionId": "", "blockNumber": "", "callEventStatus": "", "callEventLog": [], "transactionUrl": ""});
        let read = read(&fixtures::with_field(&fixtures::full(), "/toChain", Some(&stub)));
        assert_eq!(read.to, ChainSide { call_event_status: Some(String::new()), ..ChainSide::default() });
        assert_eq!(read.warnings, [""; 0]);
    }

    #[test]
    fn network_name_replaces_a_chain_name_that_repeats_the_id() {
        let table = [
            (json!({"chainId": "1", "chainName": "Chain 42161", "networkName": "Arbitrum One"}), Some("Arbitrum One")),
            (json!({"id": "osmosis-1", "chainName": "osmosis-1", "networkName": "Osmosis"}), Some("Osmosis")),
            (json!({"id": 5, "chainName": "Arbitrum", "networkName": "Arbitrum One"}), Some("Arbitrum")),
            (json!({"id": 5, "chainName": "Chain 5"}), Some("Chain 5")),
            (json!({"id": 5, "chainName": "", "networkName": "Five"}), Some("Five")),
            (json!({"id": 5}), None),
        ];
        for (chain, name) in table {
            let read = read(&json!({"fromChain": {"chainData": chain}}));
            assert_eq!(read.from.chain_name.as_deref(), name, "{chain}");
        }
    }

    #[test]
    fn reads_text_and_number_chain_ids_and_older_chain_data() {
        let read = read(&json!({"routeStatus": [{"chainId": 42161}, {"chainId": "osmosis-1"}, "x", {"chainId": ""}],
            "toChain": {"chainData": {"id": 10, "chainType": "evm", "rpc": [], "new": {}}}}));
        let ids: Vec<_> = read.steps.iter().map(|step| step.chain_id.as_ref().map(ChainId::as_str)).collect();
        assert_eq!(ids, [Some("42161"), Some("osmosis-1"), None]);
        assert_eq!(read.to.chain_id, Some(ChainId::new("10")));
    }

    #[test]
    fn complete_chain_configuration_is_decoded() {
        let chains = decode_record(fixtures::full().as_object().unwrap()).1;
        let [arbitrum, base] = chains.as_slice() else { panic!("{chains:?}") };
        assert_eq!((arbitrum.id.as_str(), arbitrum.name.as_deref()), ("42161", Some("Arbitrum")));
        assert_eq!(arbitrum.texts.len(), 8, "{:?}", arbitrum.texts);
        assert_eq!(
            (arbitrum.family(), arbitrum.same_chain_swaps, arbitrum.visible),
            (Some("evm"), Some(true), Some(true))
        );
        assert_eq!((arbitrum.contracts.len(), arbitrum.contracts.get("ensRegistry")), (3, None));
        assert_eq!(arbitrum.bridge_fee_multiplier, serde_json::Number::from_f64(1.1));
        assert_eq!(
            arbitrum.sentence(),
            "evm, pays in ETH (18 decimals), same-chain swaps, explorer https://arb.example/"
        );
        assert_eq!((arbitrum.rpc_list.len(), &arbitrum.other), (1, &BTreeMap::new()));
        assert_eq!((base.id.as_str(), base.sentence().as_str()), ("8453", "evm"));
    }

    #[test]
    fn older_chain_configuration_is_decoded() {
        let old = json!({"toChain": {"chainData": {"chainId": 10, "chainType": "evm", "rpc": ["https://rpc.example", 7],
            "axelarChainName": "optimism", "axelarFeeMultiplier": 1, "estimatedExpressRouteDuration": 20,
            "blockExplorerUrls": ["javascript:alert(1)", "https://op.example"]}}});
        let (record, chains) = decode_record(old.as_object().unwrap());
        let chain = &chains[0];
        assert_eq!((chain.family(), chain.texts["bridgeChainName"].as_str()), (Some("evm"), "optimism"));
        assert_eq!(
            (chain.rpc_list.as_slice(), chain.explorers.as_slice()),
            (&["https://rpc.example".to_owned(), "7".to_owned()][..], &["https://op.example".to_owned()][..])
        );
        let unknown = |name: &str| [(name.to_owned(), "20".to_owned())].into();
        assert_eq!(chain.other, unknown("estimatedExpressRouteDuration"));
        assert_eq!(record.other, unknown("toChain.chainData.estimatedExpressRouteDuration"));
        let stub = json!({"toChain": {"chainData": {"id": "", "chainName": "Nowhere"}}});
        assert_eq!(decode_record(stub.as_object().unwrap()).1, []);
    }

    #[test]
    fn unreadable_chain_fields_give_warnings_and_undocumented_ones_are_kept() {
        let odd = json!({"fromChain": {"chainData": {"chainId": "5", "rpcList": ["wss://rpc.example"],
            "nativeCurrency": {"symbol": "X", "decimals": "six", "new": 1}, "compliance": {"list": "a"},
            "chainNativeContracts": {"multicall": "0x1", "multicall3": "0x2"}, "blockExplorerUrls": ["ftp://x"]}}});
        let (record, chains) = decode_record(odd.as_object().unwrap());
        let other: Vec<_> = chains[0].other.keys().map(String::as_str).collect();
        assert_eq!(other, ["chainNativeContracts.multicall3", "compliance.list", "nativeCurrency.new"]);
        assert_eq!(chains[0].rpc_list, ["wss://rpc.example"]);
        let warned = |part: &str| record.warnings.iter().any(|warning| warning.contains(part));
        assert!(warned("nativeCurrency.decimals is the text `six`") && warned("ftp://x"), "{:?}", record.warnings);
    }

    #[test]
    fn undocumented_fields_are_kept_as_received() {
        let read = read(
            &json!({"routerTransactionStatus": "ongoing", "id": "0x01_30_100", "integratorId": "somebody-else-7f3a",
            "expressBroken": {"a\u{202e}": [1]}, "fromChain": {"callEventLog": [{"args": [1]}, "text", 7], "gas": null},
            "routeStatus": [{"txHash": "0x1", "late": true}], "timeSpent": {"total": "45", "phases": {"a": 1}, "note": "soon", "none": null}}),
        );
        assert_eq!((read.id.as_deref(), read.integrator.as_deref()), (Some("0x01_30_100"), Some("…7f3a")));
        assert_eq!(read.from.call_event_log, [r#"{"args":[1]}"#, "text", "7"]);
        let other: Vec<_> = read.other.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        assert_eq!(other, [r#"expressBroken = {"a":[1]}"#, "fromChain.gas = null", "routeStatus[0].late = true"]);
        assert_eq!(read.time_spent_text().as_deref(), Some(r#"none null, note "soon", phases "{\"a\":1}", total 45"#));
    }

    #[test]
    fn numbers_of_steps_and_times_are_bounded() {
        let times: Map<String, Value> =
            (0..1_000).map(|n| (format!("k{n:04}"), json!(n))).chain([("total".into(), json!("9"))]).collect();
        let read = read(&json!({"routeStatus": vec![json!({}); 1_000], "timeSpent": times}));
        assert_eq!((read.steps.len(), read.time_spent.len()), (STEP_LIMIT, TIME_LIMIT));
        assert_eq!(read.time_spent.get("total"), Some(&json!(9)));
        assert!(read.warnings.len() <= 16);
    }
}
