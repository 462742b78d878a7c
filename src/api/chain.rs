//! Decodes a chain's configuration from `chainData` (`service.md` 2.5, `cases.md` 11).
//!
//! Missing fields other than the ID give no warning, because a transfer doesn't depend on them. This module must never
//! return a chain without an ID.

use std::collections::BTreeMap;

use super::reader::{JsonObject, RecordReader, plain_link};
use crate::domain::{
    chain_config::{ChainConfig, Currency},
    ids::ChainId,
    text,
};

/// The fields with a single text.
const TEXTS: [&str; 7] =
    ["networkIdentifier", "chainName", "bridgeChainName", "type", "networkName", "chainIconURI", "swapAmountForGas"];
/// The fields with a list whose elements aren't documented.
const LISTS: [&str; 3] = ["feeCurrencies", "currencies", "features"];
const CONTRACTS: [&str; 4] = ["wrappedNativeToken", "ensRegistry", "multicall", "usdcToken"];
/// The other documented fields.
const OTHER_FIELDS: [&str; 10] = [
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

const CURRENCY: [&str; 4] = ["name", "symbol", "decimals", "icon"];

/// Returns the chain that `chainData` describes; `None` if the chain has no ID.
pub(super) fn read_config(reader: &mut RecordReader, chain: &JsonObject<'_>) -> Option<ChainConfig> {
    let optional = chain.clone().without_missing_warnings();
    let id = reader.chain_id(&optional, "chainId").or_else(|| reader.chain_id(chain, "id"))?;
    let mut texts = reader.texts(&optional, &TEXTS);
    let documented: Vec<_> = TEXTS.into_iter().chain(LISTS).chain(OTHER_FIELDS).collect();
    let mut other = reader.undocumented(&optional, &documented);
    let mut read_nested = |reader: &mut RecordReader, name: &str, documented: &[&str]| {
        let scope = reader.object(&optional, name)?;
        let unknown = reader.undocumented(&scope, documented).into_iter();
        other.extend(unknown.map(|(key, value)| (text::clean(&format!("{name}.{key}")), value)));
        Some(scope)
    };
    let compliance = read_nested(reader, "compliance", &["trmIdentifier"]);
    let contracts = read_nested(reader, "chainNativeContracts", &CONTRACTS);
    let currency = read_nested(reader, "nativeCurrency", &CURRENCY);
    texts.extend(compliance.map(|scope| reader.texts(&scope, &["trmIdentifier"])).unwrap_or_default());
    let lists = LISTS.iter().map(|name| ((*name).to_owned(), reader.list(&optional, name)));
    Some(ChainConfig {
        name: display_name(&texts, &id),
        lists: lists.filter(|(_, elements)| !elements.is_empty()).collect(),
        native_currency: currency.map(|scope| read_currency(reader, &scope)),
        explorers: read_links(reader, &optional, "blockExplorerUrls"),
        rpc_list: reader.list(&optional, "rpcList"),
        same_chain_swaps: reader.flag(&optional, "sameChainSwapsSupported"),
        visible: reader.flag(&optional, "visible"),
        contracts: contracts.map(|scope| reader.texts(&scope, &CONTRACTS)).unwrap_or_default(),
        bridge_fee_multiplier: reader.number(&optional, "bridgeFeeMultiplier"),
        other,
        texts,
        id,
    })
}

/// Returns `chainName`, or `networkName` where `chainName` is missing or only repeats the ID.
fn display_name(texts: &BTreeMap<String, String>, id: &ChainId) -> Option<String> {
    let (name, network) = (texts.get("chainName"), texts.get("networkName"));
    let repeats_id = |name: &&String| {
        let rest = name.strip_prefix("Chain ").unwrap_or(name);
        id.as_str() == rest || rest.bytes().all(|byte| byte.is_ascii_digit())
    };
    name.filter(|name| !repeats_id(name)).or(network).or(name).cloned()
}

fn read_currency(reader: &mut RecordReader, scope: &JsonObject<'_>) -> Currency {
    Currency {
        name: reader.nonempty_text(scope, "name"),
        symbol: reader.nonempty_text(scope, "symbol"),
        decimals: reader.whole_number(scope, "decimals"),
        icon: reader.url(scope, "icon"),
    }
}

/// Returns the links of a list that may be opened. Every other element becomes a warning.
fn read_links(reader: &mut RecordReader, scope: &JsonObject<'_>, name: &str) -> Vec<String> {
    let (links, others): (Vec<_>, Vec<_>) =
        reader.list(scope, name).into_iter().partition(|text| plain_link(text).is_some());
    for other in others {
        reader.warn(&format!("{} holds `{other}`, which is not a plain http or https link", scope.path(name)));
    }
    links
}
