//! The simulated `GET /v2/sdk-info`: the chains and tokens that the service's npm client loads first.
//!
//! Pure: the body depends on the table of well-known chains alone. `service.md` 4.3 doesn't show the list; the fields
//! are the ones that the client reads (`@0xsquid/sdk` 2.13.1). hoptop must never rely on this list.

use serde_json::{Value, json};

use super::{
    body,
    random::{ChainFamily, RandomValues},
};
use crate::domain::chains::{self, Chain};

/// The address of a native token on an EVM chain, as the client knows it.
const NATIVE_EVM_TOKEN: &str = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";
/// The coin type of Cosmos accounts.
const COSMOS_COIN_TYPE: u32 = 118;

/// Returns the body: each well-known chain, with its native token and one stable token.
pub(super) fn body() -> String {
    let configurations: Vec<_> = chains::all().iter().map(chain_configuration).collect();
    let tokens: Vec<_> =
        chains::all().iter().zip(&configurations).flat_map(|(chain, data)| tokens(chain, data)).collect();
    json!({
        "chains": configurations,
        "tokens": tokens,
        "isInMaintenanceMode": false,
        "axlScanUrl": "https://bridge-explorer.example",
    })
    .to_string()
}

/// Returns the chain configuration of a status record, with the fields that the client reads besides.
fn chain_configuration(chain: &Chain) -> Value {
    let mut data = body::chain_data(&chain.id);
    let family = ChainFamily::of(&chain.id);
    let rpc = data.pointer("/rpcList/0").cloned();
    let mut added = vec![("chainType", json!(family.name())), ("rpc", json!(rpc))];
    if family == ChainFamily::Cosmos {
        let address = RandomValues::of(chain.id.as_str()).address(&chain.id);
        let prefix = address.split_once('1').map(|(prefix, _)| prefix);
        let currency = json!({
            "coinDenom": chain.short,
            "coinMinimalDenom": native_address(chain),
            "coinDecimals": family.decimals(),
        });
        added.extend([
            ("coinType", json!(COSMOS_COIN_TYPE)),
            ("bech32Config", json!({ "bech32PrefixAccAddr": prefix })),
            ("currencies", json!([currency])),
        ]);
    }
    if let Some(fields) = data.as_object_mut() {
        fields.extend(added.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    data
}

/// Returns the native token and the stable token of a chain with this configuration.
fn tokens(chain: &Chain, configuration: &Value) -> [Value; 2] {
    let family = ChainFamily::of(&chain.id);
    let icon = |symbol: &str| format!("https://icons.example/{}.svg", symbol.to_lowercase());
    let token = |address: Value, name: &str, symbol: &str, decimals: u8, volatility: u8, price: f64| {
        json!({
            "type": family.name(),
            "chainId": chain.id,
            "address": address,
            "name": name,
            "symbol": symbol,
            "decimals": decimals,
            "logoURI": icon(symbol),
            "volatility": volatility,
            "usdPrice": price,
        })
    };
    let stable = configuration.pointer("/chainNativeContracts/usdcToken").cloned().unwrap_or_default();
    let price = RandomValues::of(&chain.name).whole(10, 400_000) as f64 / 100.0;
    [
        token(json!(native_address(chain)), &chain.name, &chain.short, family.decimals(), 2, price),
        token(stable, "USD Coin", "USDC", 6, 0, 1.0),
    ]
}

/// Returns the address of a chain's native token, in the form of the chain's family.
fn native_address(chain: &Chain) -> String {
    match ChainFamily::of(&chain.id) {
        ChainFamily::Evm => NATIVE_EVM_TOKEN.to_owned(),
        ChainFamily::Solana => RandomValues::of(&format!("{} native", chain.id)).address(&chain.id),
        ChainFamily::Cosmos => format!("u{}", chain.short.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use axum::http::Method;
    use chrono::DateTime;

    use super::{
        super::{
            service::{ServiceLimits, SimulatedRequest, SimulatedService},
            world::{CountsFrom, SimulatedWorld},
        },
        *,
    };
    use crate::clock::{MonotonicTime, Now};

    #[test]
    fn every_token_has_a_chain_and_a_route() {
        let world = SimulatedWorld::scripted(Vec::new(), DateTime::UNIX_EPOCH, CountsFrom::Start);
        let mut service = SimulatedService::new(world, ServiceLimits { rps: 1_000.0, ..ServiceLimits::default() });
        let now = Now { mono: MonotonicTime::default(), wall: DateTime::UNIX_EPOCH };
        let integrator_id = Some("someone".to_owned());
        let list = SimulatedRequest { path: "/v2/sdk-info".to_owned(), integrator_id, ..SimulatedRequest::default() };
        assert_eq!(service.handle(&SimulatedRequest { integrator_id: None, ..list.clone() }, now).status, 401);
        assert_eq!(service.handle(&SimulatedRequest { method: Method::POST, ..list.clone() }, now).status, 404);
        let response = service.handle(&list, now);
        let body: Value = serde_json::from_str(&response.body).unwrap();
        let (chains, tokens) = (body["chains"].as_array().unwrap(), body["tokens"].as_array().unwrap());
        assert_eq!((response.status, chains.len(), tokens.len()), (200, chains::all().len(), 2 * chains.len()));
        let mut addresses = BTreeSet::new();
        for token in tokens {
            let chain = chains.iter().find(|chain| chain["chainId"] == token["chainId"]).unwrap();
            assert_eq!(chain["chainType"], token["type"]);
            assert!(chain["rpc"].as_str().unwrap().ends_with(chain["networkIdentifier"].as_str().unwrap()), "{chain}");
            assert!(addresses.insert((token["chainId"].to_string(), token["address"].to_string())), "{token}");
            let other = tokens.iter().find(|other| other["chainId"] != token["chainId"]).unwrap();
            let route_request = json!({
                "fromAddress": "0xA11CE", "fromChain": token["chainId"], "fromToken": token["address"],
                "fromAmount": "1000000", "toChain": other["chainId"], "toToken": other["address"],
                "toAddress": "0xB0B", "quoteOnly": true,
            });
            let body = Some(route_request.to_string().into_bytes());
            let route = SimulatedRequest { method: Method::POST, path: "/v2/route".to_owned(), body, ..list.clone() };
            assert_eq!(service.handle(&route, now).status, 200, "{token}");
        }
        let osmosis = chains.iter().find(|chain| chain["chainId"] == "osmosis-1").unwrap();
        assert_eq!(osmosis["bech32Config"]["bech32PrefixAccAddr"], "osmos");
        assert_eq!(osmosis["currencies"][0]["coinMinimalDenom"], "uosmo");
    }
}
