//! A chain's configuration out of `chainData` (`service.md` 2.5, `cases.md` 11).
//!
//! Its gaps are no news: what a chain is matters less than the transfer. It must never learn a chain without an ID.

use super::reader::{Reader, Scope, plain_link};
use crate::domain::{
    chain_config::{ChainConfig, Currency},
    ids::ChainId,
};

/// Single texts.
const TEXTS: [&str; 7] =
    ["networkIdentifier", "chainName", "bridgeChainName", "type", "networkName", "chainIconURI", "swapAmountForGas"];
/// Lists of which the elements aren't documented.
const LISTS: [&str; 3] = ["feeCurrencies", "currencies", "features"];
const CONTRACTS: [&str; 4] = ["wrappedNativeToken", "ensRegistry", "multicall", "usdcToken"];
/// What else is documented.
const REST: [&str; 10] = [
    "id",
    "chainId",
    "nativeCurrency",
    "blockExplorerUrls",
    "sameChainSwapsSupported",
    "compliance",
    "rpcList",
    "visible",
    "chainNativeContracts",
    "bridgeFeeMultiplier",
];

/// The chain that `chainData` describes; `None` without an ID.
pub fn config(reader: &mut Reader, chain: &Scope<'_>) -> Option<ChainConfig> {
    let quiet = chain.clone().with_usual_gaps();
    let id = reader.chain_id(&quiet, "chainId").or_else(|| reader.chain_id(chain, "id"))?;
    let mut texts = reader.texts(&quiet, &TEXTS);
    let compliance = reader.object(&quiet, "compliance");
    texts.extend(compliance.map(|compliance| reader.texts(&compliance, &["trmIdentifier"])).unwrap_or_default());
    let contracts = reader.object(&quiet, "chainNativeContracts");
    let documented: Vec<_> = TEXTS.into_iter().chain(LISTS).chain(REST).collect();
    let lists = LISTS.iter().map(|name| ((*name).to_owned(), reader.list(&quiet, name)));
    Some(ChainConfig {
        name: name(&texts, &id),
        lists: lists.filter(|(_, elements)| !elements.is_empty()).collect(),
        native_currency: reader.object(&quiet, "nativeCurrency").map(|scope| currency(reader, &scope)),
        explorers: links(reader, &quiet, "blockExplorerUrls"),
        rpc_list: links(reader, &quiet, "rpcList"),
        same_chain_swaps: reader.flag(&quiet, "sameChainSwapsSupported"),
        visible: reader.flag(&quiet, "visible"),
        contracts: contracts.map(|scope| reader.texts(&scope, &CONTRACTS)).unwrap_or_default(),
        bridge_fee_multiplier: reader.number(&quiet, "bridgeFeeMultiplier"),
        other: reader.others(&quiet, &documented),
        texts,
        id,
    })
}

/// `chainName`, unless it only repeats the ID and `networkName` says more.
fn name(texts: &std::collections::BTreeMap<String, String>, id: &ChainId) -> Option<String> {
    let (name, network) = (texts.get("chainName"), texts.get("networkName"));
    let repeats_id = |name: &&String| {
        let rest = name.strip_prefix("Chain ").unwrap_or(name);
        id.as_str() == rest || rest.bytes().all(|byte| byte.is_ascii_digit())
    };
    name.filter(|name| !repeats_id(name)).or(network).or(name).cloned()
}

fn currency(reader: &mut Reader, scope: &Scope<'_>) -> Currency {
    let decimals = scope.get("decimals").and_then(serde_json::Value::as_u64);
    Currency {
        name: reader.word(scope, "name"),
        symbol: reader.word(scope, "symbol"),
        decimals,
        icon: reader.word(scope, "icon").as_deref().and_then(plain_link),
    }
}

/// The plain links of a list; of another age it may hold objects, which are kept as they are.
fn links(reader: &mut Reader, scope: &Scope<'_>, name: &str) -> Vec<String> {
    let is_web = |text: &String| plain_link(text).is_some() || text.starts_with('{');
    reader.list(scope, name).into_iter().filter(is_web).collect()
}
