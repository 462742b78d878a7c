//! A realistic record, and a function that changes its fields, for the tests of this module.
//!
//! Only tests may use this module.

use serde_json::Value;

/// The source hash of [`FULL`] and of `domain::fixtures::params(1)`.
pub(super) const HASH: &str = "0x0000000000000000000000000000000000000000000000000000000000000001";

/// A record with every field that `service.md` 2.2 to 2.5 shows.
pub(super) const FULL: &str = r#"{
  "id": "0x0000000000000000000000000000000000000000000000000000000000000001_30_100",
  "status": "destination_executed",
  "gasStatus": "",
  "isGMPTransaction": true,
  "routerTransactionStatus": "success",
  "bridgeTransactionUrl": "https://bridge.example/gmp/0x01",
  "fromChain": {
    "transactionId": "0x0000000000000000000000000000000000000000000000000000000000000001",
    "blockNumber": 173870219,
    "callEventStatus": "CrossMulticallExecuted",
    "callEventLog": [{"contractAddress": "0x11", "args": ["0x22"]}],
    "chainData": {
      "id": "42161", "chainId": "42161", "networkIdentifier": "arbitrum", "chainName": "Arbitrum",
      "bridgeChainName": "Arbitrum", "type": "evm", "networkName": "Arbitrum One",
      "nativeCurrency": {"name": "Ether", "symbol": "ETH", "decimals": 18, "icon": "https://icons.example/eth.svg"},
      "chainIconURI": "https://icons.example/arbitrum.svg", "blockExplorerUrls": ["https://arb.example/"],
      "swapAmountForGas": "2000000", "sameChainSwapsSupported": true, "compliance": {"trmIdentifier": "arbitrum"},
      "rpcList": ["https://rpc.example"], "visible": true,
      "chainNativeContracts": {"wrappedNativeToken": "0x33", "ensRegistry": "", "multicall": "0x44", "usdcToken": "0x55"},
      "feeCurrencies": [], "currencies": [], "features": [], "bridgeFeeMultiplier": 1.1
    },
    "transactionUrl": "https://arb.example/tx/0x01"
  },
  "toChain": {
    "transactionId": "0x00000000000000000000000000000000000000000000000000000000000000ff",
    "blockNumber": "9261112",
    "callEventStatus": "",
    "callEventLog": [],
    "chainData": {"id": "8453", "chainId": "8453", "chainName": "Base", "type": "evm", "networkName": "Base"},
    "transactionUrl": "https://base.example/tx/0xff"
  },
  "timeSpent": {"call_express_executed": 23, "total": 45},
  "routeStatus": [
    {"chainId": "42161", "txHash": "0x01", "status": "success", "action": "call"},
    {"chainId": 8453, "txHash": "0xff", "status": "success", "action": "call"}
  ],
  "error": {},
  "requestId": "request-1",
  "integratorId": "somebody"
}"#;

/// Every field that is read, as a JSON pointer, except `error`, which may have any type.
pub(super) const FIELDS: &[&str] = &[
    "/status",
    "/gasStatus",
    "/isGMPTransaction",
    "/routerTransactionStatus",
    "/bridgeTransactionUrl",
    "/fromChain",
    "/fromChain/transactionId",
    "/fromChain/blockNumber",
    "/fromChain/callEventStatus",
    "/fromChain/chainData",
    "/fromChain/chainData/chainId",
    "/fromChain/chainData/chainName",
    "/fromChain/chainData/networkName",
    "/fromChain/transactionUrl",
    "/toChain",
    "/toChain/transactionId",
    "/toChain/blockNumber",
    "/toChain/chainData",
    "/timeSpent",
    "/timeSpent/total",
    "/routeStatus",
    "/routeStatus/0",
    "/routeStatus/0/chainId",
    "/routeStatus/0/txHash",
    "/routeStatus/1/status",
    "/requestId",
];

/// Returns [`FULL`], parsed.
pub(super) fn full() -> Value {
    serde_json::from_str(FULL).unwrap()
}

/// Returns a copy of `value` with the field at `pointer` replaced or removed.
pub(super) fn with_field(value: &Value, pointer: &str, replacement: Option<&Value>) -> Value {
    let mut copy = value.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match (copy.pointer_mut(parent).unwrap(), replacement) {
        (Value::Object(object), Some(replacement)) => drop(object.insert(name.into(), replacement.clone())),
        (Value::Object(object), None) => drop(object.remove(name)),
        (Value::Array(entries), Some(replacement)) => entries[name.parse::<usize>().unwrap()] = replacement.clone(),
        (Value::Array(entries), None) => drop(entries.remove(name.parse().unwrap())),
        _ => panic!("{pointer} leads nowhere"),
    }
    copy
}
