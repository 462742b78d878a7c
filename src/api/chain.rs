//! A chain's configuration out of `chainData` (`service.md` 2.5, `cases.md` 11).
//!
//! Its gaps are no news: what a chain is matters less than the transfer. It must never learn a chain without an ID.

use super::reader::{Reader, Scope, plain_link};
use crate::domain::{
    chain_config::{ChainConfig, Currency},
    ids::ChainId,
    text,
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

const CURRENCY: [&str; 4] = ["name", "symbol", "decimals", "icon"];

/// The chain that `chainData` describes; `None` without an ID.
pub fn config(reader: &mut Reader, chain: &Scope<'_>) -> Option<ChainConfig> {
    let quiet = chain.clone().with_usual_gaps();
    let id = reader.chain_id(&quiet, "chainId").or_else(|| reader.chain_id(chain, "id"))?;
    let mut texts = reader.texts(&quiet, &TEXTS);
    let documented: Vec<_> = TEXTS.into_iter().chain(LISTS).chain(REST).collect();
    let mut other = reader.others(&quiet, &documented);
    let mut within = |reader: &mut Reader, name: &str, documented: &[&str]| {
        let scope = reader.object(&quiet, name)?;
        other.extend(
            reader
                .others(&scope, documented)
                .into_iter()
                .map(|(key, value)| (text::clean(&format!("{name}.{key}")), value)),
        );
        Some(scope)
    };
    let compliance = within(reader, "compliance", &["trmIdentifier"]);
    let contracts = within(reader, "chainNativeContracts", &CONTRACTS);
    let currency = within(reader, "nativeCurrency", &CURRENCY);
    texts.extend(compliance.map(|scope| reader.texts(&scope, &["trmIdentifier"])).unwrap_or_default());
    let lists = LISTS.iter().map(|name| ((*name).to_owned(), reader.list(&quiet, name)));
    Some(ChainConfig {
        name: name(&texts, &id),
        lists: lists.filter(|(_, elements)| !elements.is_empty()).collect(),
        native_currency: currency.map(|scope| self::currency(reader, &scope)),
        explorers: links(reader, &quiet, "blockExplorerUrls"),
        rpc_list: reader.list(&quiet, "rpcList"),
        same_chain_swaps: reader.flag(&quiet, "sameChainSwapsSupported"),
        visible: reader.flag(&quiet, "visible"),
        contracts: contracts.map(|scope| reader.texts(&scope, &CONTRACTS)).unwrap_or_default(),
        bridge_fee_multiplier: reader.number(&quiet, "bridgeFeeMultiplier"),
        other,
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
    Currency {
        name: reader.word(scope, "name"),
        symbol: reader.word(scope, "symbol"),
        decimals: reader.block(scope, "decimals"),
        icon: reader.url(scope, "icon"),
    }
}

/// The links of a list that may be opened; of the others a word is left.
fn links(reader: &mut Reader, scope: &Scope<'_>, name: &str) -> Vec<String> {
    let (links, others): (Vec<_>, Vec<_>) =
        reader.list(scope, name).into_iter().partition(|text| plain_link(text).is_some());
    for other in others {
        reader.warn(&format!("{} holds `{other}`, which is not a plain http or https link", scope.path(name)));
    }
    links
}
