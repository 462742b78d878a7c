//! Reads a response body of the service: a status record, or the answer to a route request (`service.md` 2.1, 2.2).
//!
//! A route has no transaction yet and a record has no quote, so the dashboard asks for the missing fields. This module
//! must never use a number as an ID if the number may have lost digits.

use serde_json::{Map, Value};

use super::fields::{Field, RawRow};

/// The kind of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResponseKind {
    /// A status record.
    Status,
    /// The answer to a route request.
    Route,
}

/// Returns the kind of the body and the transaction's values in it, or `None` if the text is no such body.
pub(super) fn read(text: &str) -> Option<(ResponseKind, RawRow<'static>)> {
    let Value::Object(body) = serde_json::from_str(text).ok()? else { return None };
    if let Some(Value::Object(route)) = body.get("route") {
        return Some((ResponseKind::Route, read_route(route, &body)));
    }
    let is_record = body.contains_key("routerTransactionStatus") || get_object(&body, "fromChain").is_some();
    is_record.then(|| (ResponseKind::Status, read_record(&body)))
}

fn read_route(route: &Map<String, Value>, body: &Map<String, Value>) -> RawRow<'static> {
    let sources: Vec<_> = get_object(route, "estimate").into_iter().chain([route, body]).collect();
    let params = get_object(route, "params");
    let mut row = RawRow::default();
    let mut set = |field: Field, value: Option<String>| row.set(field, value.unwrap_or_default());
    set(Field::QuoteId, get_text(route, "quoteId").or_else(|| get_text(body, "quoteId")));
    set(Field::EstimatedRouteDuration, sources.iter().find_map(|source| get_text(source, "estimatedRouteDuration")));
    set(Field::RequestId, sources.iter().find_map(|source| get_text(source, "requestId")));
    set(Field::FromChainId, params.and_then(|params| get_text(params, "fromChain")));
    set(Field::ToChainId, params.and_then(|params| get_text(params, "toChain")));
    set(Field::FromAddress, params.and_then(|params| get_text(params, "fromAddress")));
    row
}

fn read_record(body: &Map<String, Value>) -> RawRow<'static> {
    let chain = |name| {
        let data = get_object(get_object(body, name)?, "chainData")?;
        get_text(data, "chainId").or_else(|| get_text(data, "id"))
    };
    // `id` may have a suffix after the hash (`<hash>_30_100`).
    let id = || get_text(body, "id").filter(|id| !id.contains('_'));
    let hash = get_object(body, "fromChain").and_then(|side| get_text(side, "transactionId")).or_else(id);
    // `toChain` may be an intermediate chain; the last step of the route has the destination, once the transfer has
    // left its source.
    let last_step = body.get("routeStatus").and_then(Value::as_array).and_then(|steps| steps.last());
    let last_chain = last_step.and_then(Value::as_object).and_then(|step| get_text(step, "chainId"));
    let destination = last_chain.filter(|last| chain("fromChain").as_ref() != Some(last));
    let mut row = RawRow::default();
    let mut set = |field: Field, value: Option<String>| row.set(field, value.unwrap_or_default());
    set(Field::TransactionId, hash);
    set(Field::FromChainId, chain("fromChain"));
    set(Field::ToChainId, destination.or_else(|| chain("toChain")));
    set(Field::QuoteId, get_text(body, "quoteId"));
    set(Field::RequestId, get_text(body, "requestId"));
    row
}

fn get_object<'a>(body: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    body.get(name).and_then(Value::as_object)
}

fn get_text(body: &Map<String, Value>, name: &str) -> Option<String> {
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
    fn status_record_has_no_quote_and_route_has_no_transaction() {
        let record = r#"{"id":"0xab","routerTransactionStatus":"ongoing","requestId":"r","integratorId":"secret",
            "fromChain":{"chainData":{"chainId":"42161"}},"toChain":{"chainData":{"id":8453}}}"#;
        let (body, row) = read(record).unwrap();
        let fields = [Field::TransactionId, Field::FromChainId, Field::ToChainId, Field::RequestId, Field::QuoteId];
        let values = fields.map(|field| row.get(field));
        assert_eq!(
            (body, values),
            (ResponseKind::Status, [Some("0xab"), Some("42161"), Some("8453"), Some("r"), None])
        );
        let with_hop = r#"{"id":"0xab_30_100","fromChain":{"transactionId":"0xab"},"toChain":{"chainData":{"chainId":"1"}},
            "routeStatus":[{"chainId":"42161"},{"chainId":8453}]}"#;
        let (_, row) = read(with_hop).unwrap();
        assert_eq!([row.get(Field::TransactionId), row.get(Field::ToChainId)], [Some("0xab"), Some("8453")]);
        let on_source = r#"{"id":"0xab","fromChain":{"chainData":{"chainId":8453}},"toChain":{"chainData":{"chainId":137}},
            "routeStatus":[{"chainId":"8453"}]}"#;
        assert_eq!(read(on_source).unwrap().1.get(Field::ToChainId), Some("137"));
        let (_, row) = read(r#"{"id":"0xab_30_100","routerTransactionStatus":"ongoing"}"#).unwrap();
        assert_eq!(row.get(Field::TransactionId), None);
        let route =
            r#"{"route":{"quoteId":"q","estimate":{"estimatedRouteDuration":90.5},"params":{"fromChain":"1"}}}"#;
        let (body, row) = read(route).unwrap();
        let fields = [Field::QuoteId, Field::EstimatedRouteDuration, Field::FromChainId, Field::TransactionId];
        let values = fields.map(|field| row.get(field));
        assert_eq!((body, values), (ResponseKind::Route, [Some("q"), Some("90.5"), Some("1"), None]));
        for other in ["[]", "{}", "{\"transactionId\":\"0xab\"}", "{\"route\":1}", "no"] {
            assert!(read(other).is_none(), "{other}");
        }
    }
}
