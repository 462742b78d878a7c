//! A status record out of a JSON object, however little of it fits (`service.md` 2.2 to 2.5, `cases.md` 3 to 11).
//!
//! Whatever can be read is used and the rest is a warning. It must never reject a record for one field.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::{
    message,
    reader::{Reader, Scope},
};
use crate::domain::{
    ids::ChainId,
    record::{ChainSide, StatusRecord, Step},
    status::RouterStatus,
    text,
};

/// The most steps that a record keeps.
const STEP_LIMIT: usize = 64;
/// The most times that a record keeps.
const TIME_LIMIT: usize = 32;

/// Fields of which one must be there for an object to be a status record. `status`, `error`, `id` and the IDs of the
/// request are not among them: error bodies have those as well.
const TELLING: [&str; 8] = [
    "routerTransactionStatus",
    "gasStatus",
    "isGMPTransaction",
    "bridgeTransactionUrl",
    "fromChain",
    "toChain",
    "timeSpent",
    "routeStatus",
];

/// Whether the object has anything of a status record.
pub fn is_record(object: &Map<String, Value>) -> bool {
    let scope = Scope::top(object);
    TELLING.iter().any(|name| scope.get(name).is_some())
}

/// The record, as far as it can be read. `id` isn't: it is not always the hash.
pub fn record(object: &Map<String, Value>) -> StatusRecord {
    let top = Scope::top(object);
    let mut reader = Reader::default();
    let status = reader.text(&top, "routerTransactionStatus").unwrap_or_default();
    let bridge_status = reader.text(&top, "status");
    let gas_status = reader.text(&top, "gasStatus");
    let is_gmp = reader.flag(&top, "isGMPTransaction");
    let bridge_url = reader.url(&top, "bridgeTransactionUrl");
    let from = reader.object(&top, "fromChain").map(|scope| side(&mut reader, &scope));
    // The destination fills up as the transfer goes on, so its gaps are no news.
    let to = reader.object(&top, "toChain").map(|scope| side(&mut reader, &scope.with_usual_gaps()));
    let steps = steps(&mut reader, &top);
    let time_spent = times(&mut reader, &top);
    let request_id = reader.word(&top, "requestId");
    StatusRecord {
        status: RouterStatus::from(status),
        bridge_status,
        gas_status,
        is_gmp,
        bridge_url,
        from: from.unwrap_or_default(),
        to: to.unwrap_or_default(),
        steps,
        time_spent,
        error: top.get("error").and_then(message::of_value),
        request_id,
        warnings: reader.finish(),
    }
}

fn side(reader: &mut Reader, scope: &Scope<'_>) -> ChainSide {
    let chain = reader.object(scope, "chainData");
    let chain_id = chain.as_ref().and_then(|chain| {
        let usual = chain.clone().with_usual_gaps();
        reader.chain_id(&usual, "chainId").or_else(|| reader.chain_id(chain, "id"))
    });
    ChainSide {
        chain_name: chain.and_then(|chain| chain_name(reader, &chain.with_usual_gaps(), chain_id.as_ref())),
        chain_id,
        transaction_id: reader.hash(scope, "transactionId"),
        block_number: reader.block(scope, "blockNumber"),
        call_event_status: reader.text(scope, "callEventStatus"),
        url: reader.url(scope, "transactionUrl"),
    }
}

/// `chainName`, unless it only repeats the ID and `networkName` says more.
fn chain_name(reader: &mut Reader, chain: &Scope<'_>, id: Option<&ChainId>) -> Option<String> {
    let name = reader.word(chain, "chainName");
    let network = reader.word(chain, "networkName");
    let repeats_id = |name: &String| {
        let rest = name.strip_prefix("Chain ").unwrap_or(name);
        id.is_some_and(|id| id.as_str() == rest) || rest.bytes().all(|byte| byte.is_ascii_digit())
    };
    name.clone().filter(|name| !repeats_id(name)).or(network).or(name)
}

fn steps(reader: &mut Reader, top: &Scope<'_>) -> Vec<Step> {
    let entries = match reader.value(top, "routeStatus") {
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(other) => {
            reader.misfit("routeStatus", other, "an array");
            &[]
        }
        None => &[],
    };
    if entries.len() > STEP_LIMIT {
        reader.warn(&format!("routeStatus has {} entries; the first {STEP_LIMIT} were kept", entries.len()));
    }
    let mut steps = Vec::with_capacity(entries.len().min(STEP_LIMIT));
    for (index, entry) in entries.iter().take(STEP_LIMIT).enumerate() {
        let path = format!("routeStatus[{index}]");
        match entry {
            Value::Object(object) => steps.push(step(reader, &Scope::at(object, &path))),
            other => reader.misfit(&path, other, "an object"),
        }
    }
    steps
}

fn step(reader: &mut Reader, scope: &Scope<'_>) -> Step {
    Step {
        chain_id: reader.chain_id(scope, "chainId"),
        transaction_id: reader.hash(scope, "txHash"),
        status: reader.word(scope, "status"),
        action: reader.word(scope, "action"),
    }
}

/// The times as they came, by key. They mix cumulative and single times, so they are never added up.
fn times(reader: &mut Reader, top: &Scope<'_>) -> BTreeMap<String, Number> {
    let entries = match reader.value(top, "timeSpent") {
        Some(Value::Object(entries)) => entries,
        Some(other) => {
            reader.misfit("timeSpent", other, "an object");
            return BTreeMap::new();
        }
        None => return BTreeMap::new(),
    };
    if entries.len() > TIME_LIMIT {
        reader.warn(&format!("timeSpent has {} entries; {TIME_LIMIT} were kept", entries.len()));
    }
    let mut times = BTreeMap::new();
    // `total` is the one documented key: it is kept whatever else there is.
    let total = entries.get_key_value("total").into_iter();
    let others = entries.iter().filter(|(key, _)| *key != "total");
    for (key, value) in total.chain(others).take(TIME_LIMIT) {
        if !value.is_number() {
            reader.misfit(&format!("timeSpent.{}", text::clean(key)), value, "a number");
        }
        let number = match value {
            Value::Number(number) => Some(number.clone()),
            Value::String(raw) => serde_json::from_str::<Number>(raw.trim()).ok(),
            _ => None,
        };
        times.extend(number.map(|number| (text::clean(key), number)));
    }
    times
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::fixtures, *};

    fn read(value: &Value) -> StatusRecord {
        record(value.as_object().unwrap())
    }

    #[test]
    fn a_whole_record_is_read_without_a_warning() {
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
        assert_eq!(record.time_spent.get("total"), Some(&Number::from(45)));
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
                let changed = fixtures::with(&full, pointer, wrong.as_ref());
                let read = read(&changed);
                let is_quiet = pointer.starts_with("/toChain") || wrong.is_none() || wrong == Some(Value::Null);
                let fits = match *pointer {
                    "/isGMPTransaction" => wrong == Some(json!(true)),
                    "/timeSpent/total" => wrong == Some(json!(-1.5)),
                    _ => false,
                };
                assert!(is_quiet || fits || !read.warnings.is_empty(), "{pointer} {wrong:?}");
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
            let gone = read(&fixtures::with(&full, pointer, None));
            let name = pointer.rsplit('/').next().unwrap();
            let has_stand_in = ["chainId", "chainName", "networkName"].contains(&name);
            assert!(has_stand_in || gone.warnings.iter().any(|warning| warning.contains(name)), "{pointer}");
        }
    }

    #[test]
    fn a_destination_may_be_null_missing_or_a_stub() {
        let stub = json!({"transactionId": "", "blockNumber": "", "callEventStatus": "", "callEventLog": [], "transactionUrl": ""});
        let read = read(&fixtures::with(&fixtures::full(), "/toChain", Some(&stub)));
        assert_eq!(read.to, ChainSide { call_event_status: Some(String::new()), ..ChainSide::default() });
        assert_eq!(read.warnings, [""; 0]);
    }

    #[test]
    fn a_name_that_repeats_the_id_gives_way() {
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
    fn chain_ids_may_be_mixed_and_of_another_age() {
        let read = read(&json!({"routeStatus": [{"chainId": 42161}, {"chainId": "osmosis-1"}, "x", {"chainId": ""}],
            "toChain": {"chainData": {"id": 10, "chainType": "evm", "rpc": [], "new": {}}}}));
        let ids: Vec<_> = read.steps.iter().map(|step| step.chain_id.as_ref().map(ChainId::as_str)).collect();
        assert_eq!(ids, [Some("42161"), Some("osmosis-1"), None]);
        assert_eq!(read.to.chain_id, Some(ChainId::new("10")));
    }

    #[test]
    fn counts_are_bounded() {
        let times: Map<String, Value> =
            (0..1_000).map(|n| (format!("k{n:04}"), json!(n))).chain([("total".into(), json!("9"))]).collect();
        let read = read(&json!({"routeStatus": vec![json!({}); 1_000], "timeSpent": times}));
        assert_eq!((read.steps.len(), read.time_spent.len()), (STEP_LIMIT, TIME_LIMIT));
        assert_eq!(read.time_spent.get("total"), Some(&Number::from(9)));
        assert!(read.warnings.len() <= 16);
    }
}
