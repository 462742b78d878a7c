//! A chain as the service describes it (`service.md` 2.5), read from answers and stored once per profile.
//!
//! Every field may be absent; all text is clean. It must never hold a guess, and never describe a chain without an ID.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::ids::ChainId;

/// `chainData`, as far as it could be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainConfig {
    /// `chainId`, or `id`.
    pub id: ChainId,
    /// The name for people: `chainName`, or `networkName` where that field says more.
    pub name: Option<String>,
    /// The single texts by their documented names, without empty texts.
    pub texts: BTreeMap<String, String>,
    /// `nativeCurrency`.
    pub native_currency: Option<Currency>,
    /// `blockExplorerUrls`: only plain http or https links.
    pub explorers: Vec<String>,
    /// `rpcList`.
    pub rpc_list: Vec<String>,
    /// `sameChainSwapsSupported`.
    pub same_chain_swaps: Option<bool>,
    /// `visible`.
    pub visible: Option<bool>,
    /// `chainNativeContracts`: addresses by name, without empty addresses.
    pub contracts: BTreeMap<String, String>,
    /// `feeCurrencies`, `currencies` and `features`: elements of an undocumented shape, as compact JSON.
    pub lists: BTreeMap<String, Vec<String>>,
    /// `bridgeFeeMultiplier`.
    pub bridge_fee_multiplier: Option<Number>,
    /// Undocumented keys, by their path within `chainData`, with their values as compact JSON.
    pub other: BTreeMap<String, String>,
}

/// `nativeCurrency`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Currency {
    /// `name`.
    pub name: Option<String>,
    /// `symbol`.
    pub symbol: Option<String>,
    /// `decimals`.
    pub decimals: Option<u64>,
    /// `icon`: a link.
    pub icon: Option<String>,
}

impl ChainConfig {
    /// Returns `type`: the chain's family, for example `evm`.
    pub fn family(&self) -> Option<&str> {
        self.texts.get("type").map(String::as_str)
    }

    /// Returns the facts that help with a transfer, in a few words: `evm, pays in ETH (18 decimals), explorer
    /// https://…`.
    pub fn sentence(&self) -> String {
        let currency = self.native_currency.as_ref().and_then(|currency| {
            let symbol = currency.symbol.as_deref().or(currency.name.as_deref())?;
            let decimals = currency.decimals.map_or_else(String::new, |decimals| format!(" ({decimals} decimals)"));
            Some(format!("pays in {symbol}{decimals}"))
        });
        let swaps = self.same_chain_swaps.map(|can| if can { "same-chain swaps" } else { "no same-chain swaps" });
        let explorer = self.explorers.first().map(|explorer| format!("explorer {explorer}"));
        let family = self.family().map(str::to_owned);
        let parts = [family, currency, swaps.map(str::to_owned), explorer];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
