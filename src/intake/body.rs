//! Reads a body of the service: a status record, or the answer to a request for a route (`service.md` 2.1, 2.2).
//!
//! A route has no transaction yet and a record no quote: what they lack is asked for. It must never take a number for an ID
//! that may have lost digits.

use serde_json::{Map, Value};

use super::fields::{Field, Row};

/// Which body it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// A status record.
    Status,
    /// The answer to a request for a route.
    Route,
}

/// What a body says of a transaction, if the text is one.
pub(super) fn read(text: &str) -> Option<(Body, Row<'static>)> {
    let Value::Object(body) = serde_json::from_str(text).ok()? else { return None };
    if let Some(Value::Object(route)) = body.get("route") {
        return Some((Body::Route, of_route(route, &body)));
    }
    let is_record = body.contains_key("routerTransactionStatus") || object(&body, "fromChain").is_some();
    is_record.then(|| (Body::Status, of_record(&body)))
}

fn of_route(route: &Map<String, Value>, body: &Map<String, Value>) -> Row<'static> {
    let places: Vec<_> = object(route, "estimate").into_iter().chain([route, body]).collect();
    let params = object(route, "params");
    let mut row = Row::default();
    let mut set = |field: Field, value: Option<String>| row.set(field, value.unwrap_or_default());
    set(Field::QuoteId, text(route, "quoteId").or_else(|| text(body, "quoteId")));
    set(Field::EstimatedRouteDuration, places.iter().find_map(|place| text(place, "estimatedRouteDuration")));
    set(Field::RequestId, places.iter().find_map(|place| text(place, "requestId")));
    set(Field::FromChainId, params.and_then(|params| text(params, "fromChain")));
    set(Field::ToChainId, params.and_then(|params| text(params, "toChain")));
    set(Field::FromAddress, params.and_then(|params| text(params, "fromAddress")));
    row
}

fn of_record(body: &Map<String, Value>) -> Row<'static> {
    let side = |name| object(body, name);
    let chain = |name| {
        let data = side(name).and_then(|side| object(side, "chainData"))?;
        text(data, "chainId").or_else(|| text(data, "id"))
    };
    // `id` isn't always the hash (`<hash>_30_100`).
    let id = || text(body, "id").filter(|id| !id.contains('_'));
    let hash = side("fromChain").and_then(|side| text(side, "transactionId")).or_else(id);
    // `toChain` may be a hop on the way: the last step names the real end.
    let last_step = body.get("routeStatus").and_then(Value::as_array).and_then(|steps| steps.last());
    let end = last_step.and_then(Value::as_object).and_then(|step| text(step, "chainId"));
    let mut row = Row::default();
    let mut set = |field: Field, value: Option<String>| row.set(field, value.unwrap_or_default());
    set(Field::TransactionId, hash);
    set(Field::FromChainId, chain("fromChain"));
    set(Field::ToChainId, end.or_else(|| chain("toChain")));
    set(Field::QuoteId, text(body, "quoteId"));
    set(Field::RequestId, text(body, "requestId"));
    row
}

fn object<'a>(body: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    body.get(name).and_then(Value::as_object)
}

fn text(body: &Map<String, Value>, name: &str) -> Option<String> {
    match body.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if !number.is_f64() || name == "estimatedRouteDuration" => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_lacks_its_quote_and_a_route_its_transaction() {
        let record = r#"{"id":"0xab","routerTransactionStatus":"ongoing","requestId":"r","integratorId":"secret",
            "fromChain":{"chainData":{"chainId":"42161"}},"toChain":{"chainData":{"id":8453}}}"#;
        let (body, row) = read(record).unwrap();
        let fields = [Field::TransactionId, Field::FromChainId, Field::ToChainId, Field::RequestId, Field::QuoteId];
        let values = fields.map(|field| row.get(field));
        assert_eq!((body, values), (Body::Status, [Some("0xab"), Some("42161"), Some("8453"), Some("r"), None]));
        let hopping = r#"{"id":"0xab_30_100","fromChain":{"transactionId":"0xab"},"toChain":{"chainData":{"chainId":"1"}},
            "routeStatus":[{"chainId":"42161"},{"chainId":8453}]}"#;
        let (_, row) = read(hopping).unwrap();
        assert_eq!([row.get(Field::TransactionId), row.get(Field::ToChainId)], [Some("0xab"), Some("8453")]);
        let (_, row) = read(r#"{"id":"0xab_30_100","routerTransactionStatus":"ongoing"}"#).unwrap();
        assert_eq!(row.get(Field::TransactionId), None);
        let route =
            r#"{"route":{"quoteId":"q","estimate":{"estimatedRouteDuration":90.5},"params":{"fromChain":"1"}}}"#;
        let (body, row) = read(route).unwrap();
        let fields = [Field::QuoteId, Field::EstimatedRouteDuration, Field::FromChainId, Field::TransactionId];
        let values = fields.map(|field| row.get(field));
        assert_eq!((body, values), (Body::Route, [Some("q"), Some("90.5"), Some("1"), None]));
        for other in ["[]", "{}", "{\"transactionId\":\"0xab\"}", "{\"route\":1}", "no"] {
            assert!(read(other).is_none(), "{other}");
        }
    }
}
