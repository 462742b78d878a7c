//! Encodes a batch of JSON-RPC calls, and decodes the response.
//!
//! Decoding must never fail on more than the part that can't be read, and never panic: a node may send anything.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::domain::{
    ids::TxHash,
    on_chain::{self, ChainFacts, ReceiptFacts, TransactionFacts},
    text,
};

/// The code by which nodes refuse a call because of their rate limit.
const LIMIT_EXCEEDED: i64 = -32005;

/// A call to a node.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RpcCall {
    ChainId,
    BlockNumber,
    Transaction(TxHash),
    Receipt(TxHash),
    /// A block without its transactions, by number.
    Block(u64),
    /// The nonce of an address's next transaction, as of the newest block.
    NextNonce(String),
}

impl RpcCall {
    fn encode(&self) -> (&'static str, Value) {
        match self {
            Self::ChainId => ("eth_chainId", json!([])),
            Self::BlockNumber => ("eth_blockNumber", json!([])),
            Self::Transaction(hash) => ("eth_getTransactionByHash", json!([hash.key()])),
            Self::Receipt(hash) => ("eth_getTransactionReceipt", json!([hash.key()])),
            Self::Block(number) => ("eth_getBlockByNumber", json!([format!("{number:#x}"), false])),
            Self::NextNonce(address) => ("eth_getTransactionCount", json!([address, "latest"])),
        }
    }
}

/// Returns the body of a batch of calls. The position of a call is its ID.
pub(super) fn encode(calls: &[RpcCall]) -> String {
    let calls = calls.iter().enumerate().map(|(id, call)| {
        let (method, params) = call.encode();
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    });
    Value::Array(calls.collect()).to_string()
}

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RpcError {
    /// The node's rate limit.
    Throttled,
    /// The node refused the call, with its message.
    Refused(String),
    /// The body has no result of the call.
    Missing,
}

/// The results of a batch, by the position of the call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RpcResults(Vec<Result<Value, RpcError>>);

impl RpcResults {
    /// Returns the result of the call at a position.
    pub(super) fn at(&self, position: usize) -> Result<&Value, RpcError> {
        match self.0.get(position) {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => Err(error.clone()),
            None => Err(RpcError::Missing),
        }
    }

    /// Whether the node refused a call because of its rate limit.
    pub(super) fn is_throttled(&self) -> bool {
        self.0.contains(&Err(RpcError::Throttled))
    }
}

/// Decodes the body of an answer to so many calls: an array in any order, or one object for all calls.
///
/// # Errors
/// If the body is no JSON, or something else than an answer: a sentence.
pub(super) fn decode(body: &[u8], calls: usize) -> Result<RpcResults, String> {
    let body: Value = serde_json::from_slice(body).map_err(|_| "the answer is not JSON")?;
    let mut results = vec![Err(RpcError::Missing); calls];
    match body {
        Value::Array(answers) => {
            for mut answer in answers {
                if let Some(slot) = id(&answer).and_then(|id| results.get_mut(id)) {
                    *slot = result(&mut answer);
                }
            }
        }
        mut answer @ Value::Object(_) => match result(&mut answer) {
            Ok(value) if calls == 1 => results = vec![Ok(value)],
            Ok(_) => return Err("the node doesn't support batches of calls; set another node for this chain".into()),
            Err(error) => results.fill(Err(error)),
        },
        _ => return Err("the answer is not JSON-RPC; check the node's address".into()),
    }
    Ok(RpcResults(results))
}

/// Returns the ID of an answer, also if it came as text.
fn id(answer: &Value) -> Option<usize> {
    let id = answer.get("id")?;
    let number = id.as_u64().or_else(|| id.as_str()?.parse().ok())?;
    usize::try_from(number).ok()
}

fn result(answer: &mut Value) -> Result<Value, RpcError> {
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        let code = error.get("code").and_then(Value::as_i64);
        let message = error.get("message").and_then(Value::as_str).or(error.as_str()).unwrap_or("no reason given");
        return Err(match code {
            Some(LIMIT_EXCEEDED | 429) => RpcError::Throttled,
            _ => RpcError::Refused(text::clean(message)),
        });
    }
    answer.get_mut("result").map(Value::take).ok_or(RpcError::Missing)
}

/// Returns a number: hexadecimal with `0x` and any number of zeros before it, or a JSON number.
pub(super) fn quantity(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => {
            let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
            let digits = digits.trim_start_matches('0');
            // `from_str_radix` accepts a sign.
            let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            match digits {
                "" => text.ends_with('0').then_some(0),
                digits => u64::from_str_radix(digits, 16).ok().filter(|_| is_hex),
            }
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns an address in lower case, if it is one.
fn address(value: Option<&Value>) -> Option<String> {
    let text = value?.as_str()?;
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    let is_address = digits.len() == 40 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_address.then(|| format!("0x{}", digits.to_ascii_lowercase()))
}

/// Whether a transaction or a receipt is about this hash, as far as it names one.
pub(super) fn is_about(value: &Value, field: &str, hash: &TxHash) -> bool {
    value.get(field).and_then(Value::as_str).is_none_or(|named| TxHash::new(named).key() == hash.key())
}

/// Returns the facts in the results of [`RpcCall::Transaction`], [`RpcCall::Receipt`] and [`RpcCall::BlockNumber`].
pub(super) fn facts(transaction: &Value, receipt: &Value, head: &Value) -> ChainFacts {
    let transaction = transaction.is_object().then(|| TransactionFacts {
        from: address(transaction.get("from")),
        to: address(transaction.get("to")),
        nonce: quantity(transaction.get("nonce")),
        block: quantity(transaction.get("blockNumber")),
    });
    let receipt = receipt.is_object().then(|| ReceiptFacts {
        succeeded: match quantity(receipt.get("status")) {
            Some(0) => Some(false),
            Some(1) => Some(true),
            Some(_) | None => None,
        },
        block: quantity(receipt.get("blockNumber")),
        from: address(receipt.get("from")),
        to: address(receipt.get("to")),
    });
    ChainFacts { transaction, receipt, head: quantity(Some(head)), block_time: None, next_nonce: None }
}

/// Reads a body as the answer to the calls about one transaction, for tests with hostile bodies. Returns the verdict in
/// words, or the error.
pub fn describe_body(body: &[u8]) -> Result<String, String> {
    let answers = decode(body, 5)?;
    let value = |position| answers.at(position).unwrap_or(&Value::Null);
    let facts = ChainFacts { block_time: block_time(value(4)), ..facts(value(1), value(2), value(3)) };
    on_chain::read(&facts, "node", None).map(|reading| format!("{reading:?}"))
}

/// Returns the time of a block; `None` if the block has no plausible time.
pub(super) fn block_time(block: &Value) -> Option<DateTime<Utc>> {
    let seconds = i64::try_from(quantity(block.get("timestamp"))?).ok()?;
    // A block's time is after 1970 and before the year 3000.
    DateTime::from_timestamp(seconds, 0).filter(|time| time.timestamp() > 0 && seconds < 32_503_680_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_names_each_call_by_its_position() {
        let hash = TxHash::new("0xAB");
        let body: Value =
            serde_json::from_str(&encode(&[RpcCall::ChainId, RpcCall::Receipt(hash), RpcCall::Block(255)])).unwrap();
        assert_eq!(
            body[1],
            json!({"jsonrpc": "2.0", "id": 1, "method": "eth_getTransactionReceipt", "params": ["0xab"]})
        );
        assert_eq!(body[2]["params"], json!(["0xff", false]));
    }

    #[test]
    fn answers_are_found_by_id_in_any_order_and_the_unreadable_is_missing() {
        let body = br#"[{"id": "1", "result": null}, {"id": 0, "result": "0x1"}, 7, {"id": 9, "result": 1}, {"id": 2},
                        {"id": 3, "error": {"code": -32005, "message": "slow down"}}, {"id": 4, "error": {"message": "no\u001b[31m"}},
                        {"id": 5, "error": "text"}, {"id": 6, "error": null, "result": 3}]"#;
        let answers = decode(body, 7).unwrap();
        assert_eq!(answers.at(0), Ok(&json!("0x1")));
        assert_eq!(answers.at(1), Ok(&Value::Null));
        assert_eq!(answers.at(2), Err(RpcError::Missing));
        assert_eq!(answers.at(3), Err(RpcError::Throttled));
        assert_eq!(answers.at(4), Err(RpcError::Refused("no[31m".into())));
        assert_eq!(answers.at(5), Err(RpcError::Refused("text".into())));
        assert_eq!(answers.at(6), Ok(&json!(3)));
        assert_eq!(answers.at(99), Err(RpcError::Missing));
        assert!(answers.is_throttled());
    }

    #[test]
    fn one_object_answers_one_call_or_refuses_all() {
        assert_eq!(decode(br#"{"result": "0x1"}"#, 1).unwrap().at(0), Ok(&json!("0x1")));
        assert!(decode(br#"{"result": "0x1"}"#, 2).unwrap_err().contains("batches of calls"));
        let refused = decode(br#"{"error": {"code": 429, "message": "x"}}"#, 2).unwrap();
        assert!(refused.is_throttled() && refused.at(1) == Err(RpcError::Throttled));
        for body in [&b""[..], b"<html>", b"3", b"\xff\xfe", b"\"text\"", b"null"] {
            assert!(decode(body, 2).is_err(), "{body:?}");
        }
    }

    #[test]
    fn numbers_of_any_width_are_read_and_others_are_none() {
        let table = [
            (json!("0x0"), Some(0)),
            (json!("0x"), None),
            (json!("0x00000000000000000000000000000000000000ff"), Some(255)),
            (json!("0XfF"), Some(255)),
            (json!("0xffffffffffffffff"), Some(u64::MAX)),
            (json!("0x10000000000000000"), None),
            (json!("0x+1"), None),
            (json!("12"), None),
            (json!(12), Some(12)),
            (json!(-1), None),
            (json!(1.5), None),
            (json!(null), None),
            (json!([]), None),
        ];
        for (value, number) in table {
            assert_eq!(quantity(Some(&value)), number, "{value}");
        }
        assert_eq!(block_time(&json!({"timestamp": "0xffffffffffffffff"})), None);
        assert_eq!(block_time(&json!({"timestamp": "0x65"})), DateTime::from_timestamp(101, 0));
        assert_eq!(address(Some(&json!(format!("0x{}", "A".repeat(40))))), Some(format!("0x{}", "a".repeat(40))));
        assert_eq!(address(Some(&json!("0x\u{202e}"))), None);
    }
}
