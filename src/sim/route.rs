//! The simulated `POST /v2/route` (`service.md` 4.2, 7.2, 7.3, 8).
//!
//! Pure: the body and the time are parameters, and the result is a response. A wallet must never have to wait because
//! of a price-only request, nor because of a request that got no route.

use std::{collections::HashMap, time::Duration};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    body,
    plan::{ScriptedRoute, TransferRoute},
    random::RandomValues,
    response::SimulatedResponse,
    world::SimulatedWorld,
};
use crate::{
    clock::MonotonicTime,
    domain::{chains, ids::ChainId},
};

/// The smallest amount that has a route. The real limits are not documented.
const MIN_AMOUNT: u128 = 1_000;
/// The largest amount that has a route.
const MAX_AMOUNT: u128 = 1_000_000_000_000_000_000_000_000_000_000;
/// A token whose address contains one of these texts is not supported.
const UNSUPPORTED: [&str; 2] = ["dead", "unsupported"];
/// The number of wallets above which wallets that no longer have to wait are forgotten.
const KEPT_WALLETS: usize = 1_024;

/// Answers route requests and keeps the limit of each wallet.
pub(super) struct RouteHandler {
    wallet_limit: Duration,
    last_routes: HashMap<String, MonotonicTime>,
}

/// A request for a route, with all required fields. The answer repeats it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RouteRequest<'a> {
    from_address: &'a str,
    from_chain: ChainId,
    from_token: &'a str,
    from_amount: &'a str,
    to_chain: ChainId,
    to_token: &'a str,
    to_address: &'a str,
    #[serde(rename = "quoteOnly")]
    is_quote_only: bool,
}

impl RouteHandler {
    /// Creates a handler. A wallet that gets transaction data has to wait for `wallet_limit` before its next route.
    pub(super) fn new(wallet_limit: Duration) -> Self {
        Self { wallet_limit, last_routes: HashMap::new() }
    }

    /// Returns the response to a request with this body at `now`.
    pub(super) fn answer(
        &mut self,
        body: &[u8],
        world: &SimulatedWorld,
        now: MonotonicTime,
    ) -> Result<SimulatedResponse, SimulatedResponse> {
        let fields: Map<String, Value> = serde_json::from_slice(body)
            .map_err(|_| SimulatedResponse::refusal(400, "the body is not a JSON object"))?;
        let address = fields.get("fromAddress").and_then(Value::as_str);
        if let Some(script) = address.and_then(|address| world.route(address)) {
            return Ok(scripted_response(script));
        }
        let route_request = RouteRequest::read(&fields)?;
        let amount = route_request.check()?;
        if !route_request.is_quote_only {
            self.limit_wallet(route_request.from_address, now)?;
        }
        Ok(SimulatedResponse::new(200, route_request.route(amount).to_string()))
    }

    /// Starts the wait of a wallet, or refuses with the remaining wait if the wallet still has to wait.
    fn limit_wallet(&mut self, address: &str, now: MonotonicTime) -> Result<(), SimulatedResponse> {
        let wallet_limit = self.wallet_limit;
        let wallet = address.to_lowercase();
        let remaining = self.last_routes.get(&wallet).map(|last| wallet_limit.saturating_sub(now.since(*last)));
        if let Some(remaining) = remaining.filter(|remaining| !remaining.is_zero()) {
            let seconds = remaining.as_secs_f64().ceil();
            let body = json!({ "error": "Too many quote requests for this address", "retryAfter": seconds as u64 });
            // The HTTP status of this body is not documented.
            return Err(SimulatedResponse::new(429, body.to_string()));
        }
        if self.last_routes.len() >= KEPT_WALLETS {
            self.last_routes.retain(|_, last| now.since(*last) < wallet_limit);
        }
        self.last_routes.insert(wallet, now);
        Ok(())
    }
}

fn scripted_response(script: &ScriptedRoute) -> SimulatedResponse {
    let default_message = match script.status {
        404 => "No route found",
        status => body::default_message(TransferRoute::Intents, status),
    };
    SimulatedResponse::scripted(script.status, &script.content, default_message).with_headers(&script.headers)
}

fn refuse<T>(message: &str) -> Result<T, SimulatedResponse> {
    Err(SimulatedResponse::refusal(400, message))
}

fn refuse_schema<T>(message: &str) -> Result<T, SimulatedResponse> {
    Err(SimulatedResponse::new(400, body::schema_violation(message)))
}

impl<'a> RouteRequest<'a> {
    fn read(fields: &'a Map<String, Value>) -> Result<Self, SimulatedResponse> {
        const REQUIRED: [&str; 7] =
            ["fromAddress", "fromChain", "fromToken", "fromAmount", "toChain", "toToken", "toAddress"];
        let is_missing = |name: &&str| fields.get(*name).is_none_or(|value| value.is_null() || *value == "");
        let missing: Vec<_> = REQUIRED.into_iter().filter(is_missing).collect();
        if !missing.is_empty() {
            return refuse(&format!("missing required parameters: {}", missing.join(", ")));
        }
        let text = |name: &str| match fields.get(name) {
            Some(Value::String(text)) => Ok(text.as_str()),
            _ => refuse_schema(&format!("{name} must be a string")),
        };
        let is_quote_only = match fields.get("quoteOnly") {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => return refuse_schema("quoteOnly must be a boolean"),
        };
        Ok(Self {
            from_address: text("fromAddress")?,
            from_chain: chain("fromChain", text("fromChain")?)?,
            from_token: text("fromToken")?,
            from_amount: text("fromAmount")?,
            to_chain: chain("toChain", text("toChain")?)?,
            to_token: text("toToken")?,
            to_address: text("toAddress")?,
            is_quote_only,
        })
    }

    /// Returns the amount, or the refusal if there is no route for the request.
    fn check(&self) -> Result<u128, SimulatedResponse> {
        for (side, chain, token) in
            [("destination", &self.to_chain, self.to_token), ("source", &self.from_chain, self.from_token)]
        {
            let address = token.to_lowercase();
            if UNSUPPORTED.iter().any(|part| address.contains(part)) {
                return refuse(&format!("Unsupported token: {token} on {side} chain {chain}"));
            }
        }
        if !self.from_amount.bytes().all(|byte| byte.is_ascii_digit()) {
            return refuse_schema("fromAmount must be an integer in the token's smallest unit, as a string");
        }
        if self.from_chain == self.to_chain && self.from_token.eq_ignore_ascii_case(self.to_token) {
            return refuse("No route found");
        }
        // Digits that don't fit into a `u128` are more than the maximum.
        match self.from_amount.parse::<u128>().unwrap_or(u128::MAX) {
            ..MIN_AMOUNT => refuse("Amount too low"),
            amount @ MIN_AMOUNT..=MAX_AMOUNT => Ok(amount),
            _ => refuse("Amount too high"),
        }
    }

    /// Returns the answer, which is the same for the same request.
    fn route(&self, amount: u128) -> Value {
        let params = json!(self);
        let mut random = RandomValues::of(&params.to_string());
        let quote_id = random.token();
        let is_same_chain = self.from_chain == self.to_chain;
        let seconds = if is_same_chain { random.whole(10, 30) } else { random.whole(20, 900) };
        let out = amount / 1_000 * u128::from(random.whole(970, 998));
        let mut route = json!({
            "quoteId": quote_id,
            "estimatedRouteDuration": seconds,
            "estimate": {
                "fromAmount": self.from_amount,
                "toAmount": out.to_string(),
                "toAmountMin": (out / 1_000 * 995).to_string(),
                "aggregatePriceImpact": "0.05",
                // `service.md` 2.1 leaves the place open: the service's npm client declares the duration here.
                "estimatedRouteDuration": seconds,
                "feeCosts": [],
                "gasCosts": [{ "type": "executeCall", "amount": random.whole(10_000_000, 90_000_000).to_string() }],
            },
            "params": params,
        });
        if let Some(fields) = route.as_object_mut().filter(|_| !self.is_quote_only) {
            fields.insert("transactionRequest".to_owned(), self.transaction(&mut random));
        }
        json!({ "route": route })
    }

    /// Returns random call data, which nobody can use.
    fn transaction(&self, random: &mut RandomValues) -> Value {
        json!({
            "target": random.address(&self.from_chain),
            "data": format!("0x{}", random.token()),
            "value": "0",
            "gasLimit": random.whole(150_000, 900_000).to_string(),
        })
    }
}

fn chain(name: &str, text: &str) -> Result<ChainId, SimulatedResponse> {
    let chain = ChainId::new(text);
    match chains::find(&chain) {
        Some(_) => Ok(chain),
        None => refuse_schema(&format!("{name}: unsupported chain ID {text}")),
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::{
        super::{
            plan::{AnswerContent, FaultyAnswer},
            world::CountsFrom,
        },
        *,
    };

    fn at(seconds: u64) -> MonotonicTime {
        MonotonicTime(Duration::from_secs(seconds))
    }

    fn world() -> SimulatedWorld {
        SimulatedWorld::scripted(Vec::new(), DateTime::UNIX_EPOCH, CountsFrom::Start)
    }

    fn handler() -> RouteHandler {
        RouteHandler::new(Duration::from_secs(30))
    }

    fn route_request() -> Value {
        json!({
            "fromAddress": "0xA11CE", "fromChain": "42161", "fromToken": "0x01", "fromAmount": "1000000",
            "toChain": "8453", "toToken": "0x02", "toAddress": "0xB0B",
        })
    }

    fn with(name: &str, value: Value) -> Value {
        let mut route_request = route_request();
        route_request[name] = value;
        route_request
    }

    fn ask(handler: &mut RouteHandler, route_request: &Value, now: MonotonicTime) -> (u16, Value) {
        let response =
            handler.answer(route_request.to_string().as_bytes(), &world(), now).unwrap_or_else(|refusal| refusal);
        (response.status, serde_json::from_str(&response.body).unwrap())
    }

    #[test]
    fn route_has_call_data_unless_the_request_is_price_only() {
        let (status, body) = ask(&mut handler(), &route_request(), at(0));
        let route = &body["route"];
        assert_eq!(status, 200);
        let quote_id = route["quoteId"].as_str().unwrap();
        assert!(quote_id.len() == 32 && quote_id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{quote_id}");
        assert!(route["estimatedRouteDuration"].as_u64().is_some_and(|seconds| (20..=900).contains(&seconds)));
        assert_eq!((&route["params"]["toChain"], &route["params"]["quoteOnly"]), (&json!("8453"), &json!(false)));
        assert!(route["transactionRequest"]["data"].is_string());
        let amount = |name: &str| route["estimate"][name].as_str().unwrap().parse::<u128>().unwrap();
        assert!(amount("fromAmount") > amount("toAmount") && amount("toAmount") > amount("toAmountMin"));
        assert_eq!(ask(&mut handler(), &route_request(), at(7)).1, body);

        let (status, price) = ask(&mut handler(), &with("quoteOnly", json!(true)), at(0));
        assert_eq!((status, price["route"].get("transactionRequest")), (200, None));
        assert_ne!(price["route"]["quoteId"], route["quoteId"]);
    }

    #[test]
    fn wallet_limit_applies_to_one_wallet_only() {
        let mut handler = handler();
        assert_eq!(ask(&mut handler, &route_request(), at(100)).0, 200);
        let again = with("fromAmount", json!("2000000"));
        let expected = json!({ "error": "Too many quote requests for this address", "retryAfter": 30 });
        assert_eq!(ask(&mut handler, &again, at(100)), (429, expected));
        // A refused request doesn't extend the wait, and addresses compare without case.
        let (status, body) = ask(&mut handler, &with("fromAddress", json!("0xa11ce")), at(129));
        assert_eq!((status, &body["retryAfter"]), (429, &json!(1)));
        assert_eq!(ask(&mut handler, &with("quoteOnly", json!(true)), at(129)).0, 200);
        assert_eq!(ask(&mut handler, &with("fromAddress", json!("0xCAB")), at(129)).0, 200);
        assert_eq!(ask(&mut handler, &again, at(130)).0, 200);
        assert_eq!(ask(&mut handler, &again, at(131)).0, 429);
    }

    #[test]
    fn refused_and_price_only_requests_limit_no_wallet_and_wallets_are_bounded() {
        let mut handler = handler();
        assert_eq!(ask(&mut handler, &with("fromAmount", json!("1")), at(0)).0, 400);
        assert_eq!(ask(&mut handler, &with("quoteOnly", json!(true)), at(0)).0, 200);
        assert!(handler.last_routes.is_empty());
        for number in 0..5_000 {
            assert_eq!(ask(&mut handler, &with("fromAddress", json!(format!("0x{number}"))), at(number * 30)).0, 200);
        }
        assert!(handler.last_routes.len() <= KEPT_WALLETS);
    }

    #[test]
    fn refusals_name_the_error() {
        let mut without = route_request();
        without.as_object_mut().unwrap().retain(|name, _| name != "toToken" && name != "toAddress");
        let same = json!({ "toChain": "42161", "toToken": "0x01" });
        let mut nowhere = route_request();
        nowhere.as_object_mut().unwrap().extend(same.as_object().unwrap().clone());
        let (bad, schema) = ("BAD_REQUEST", "SCHEMA_VALIDATION_ERROR");
        let digits = |count| json!(format!("1{}", "0".repeat(count)));
        let table = [
            (without, bad, "missing required parameters: toToken, toAddress"),
            (with("toAddress", json!("")), bad, "missing required parameters: toAddress"),
            (with("fromChain", json!(42161)), schema, "fromChain must be a string"),
            (with("quoteOnly", json!("no")), schema, "quoteOnly must be a boolean"),
            (with("toChain", json!("999999")), schema, "toChain: unsupported chain ID 999999"),
            (with("toToken", json!("0xDeAd")), bad, "Unsupported token: 0xDeAd on destination chain 8453"),
            (with("fromToken", json!("unsupported")), bad, "Unsupported token: unsupported on source chain 42161"),
            (with("fromAmount", json!("1.5")), schema, "fromAmount must be an integer in the token's smallest unit, "),
            (with("fromAmount", json!("-1")), schema, "fromAmount must be an integer in the token's smallest unit, "),
            (with("fromAmount", json!("999")), bad, "Amount too low"),
            (with("fromAmount", digits(31)), bad, "Amount too high"),
            (with("fromAmount", digits(99)), bad, "Amount too high"),
            (nowhere, bad, "No route found"),
            (json!([]), bad, "the body is not a JSON object"),
        ];
        for (route_request, kind, message) in table {
            let (status, body) = ask(&mut handler(), &route_request, at(0));
            assert_eq!((status, &body["type"]), (400, &json!(kind)), "{body}");
            assert!(body["message"].as_str().unwrap().starts_with(message), "{body}");
        }
        for amount in [json!("1000"), digits(30)] {
            assert_eq!(ask(&mut handler(), &with("fromAmount", amount), at(0)).0, 200);
        }
        assert_eq!(handler().answer(b"{", &world(), at(0)).unwrap_err().status, 400);
    }

    #[test]
    fn scripted_address_gets_the_scripted_answer() {
        let script = |status, content| {
            let headers = vec![("retry-after".to_owned(), "7".to_owned())];
            world().with_routes(vec![ScriptedRoute { from_address: "0xa11ce".into(), status, content, headers }])
        };
        let ask = |world: &SimulatedWorld, body: &str| handler().answer(body.as_bytes(), world, at(0)).unwrap();
        let odd = script(200, AnswerContent::Text("{\"quoteId\":\"top\"}".into()));
        let response = ask(&odd, "{\"fromAddress\":\"0xA11CE\"}");
        assert_eq!((response.body.as_str(), response.header("retry-after")), ("{\"quoteId\":\"top\"}", Some("7")));
        assert!(
            ask(&script(404, AnswerContent::Default), &route_request().to_string()).body.contains("No route found")
        );
        let played = ask(&script(200, AnswerContent::FaultyAnswer(FaultyAnswer::Drip)), &route_request().to_string());
        assert_eq!(played.fault, Some(FaultyAnswer::Drip));
        assert_eq!(ask(&odd, &with("fromAddress", json!("0xB0B")).to_string()).status, 200);
    }
}
