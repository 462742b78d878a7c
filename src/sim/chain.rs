//! The simulated chains beside the simulated service: the JSON-RPC answers of their nodes about the world's transfers.
//!
//! Pure: the time is a parameter. This module follows the JSON-RPC of EVM nodes, and knows nothing of our client.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{
    body::destination_hash,
    plan::{self, ChainCourse, PENDING_FOR, Transfer},
    world::SimulatedWorld,
};
use crate::domain::ids::{ChainId, TxHash};

/// The nonce of every transaction.
const NONCE: u64 = 7;

/// A transaction as a node knows it.
enum KnownTransaction {
    Pending,
    Mined { has_succeeded: bool, block: u64 },
}

pub(super) struct SimulatedChains {
    world: SimulatedWorld,
    start: DateTime<Utc>,
    /// The source hashes of transfers by their hash on the destination chain.
    destinations: HashMap<String, TxHash>,
}

impl SimulatedChains {
    /// Returns the chains of a world that starts at `start`.
    pub(super) fn new(world: SimulatedWorld, start: DateTime<Utc>) -> Self {
        let hash = |transfer: &Transfer| transfer.new.params.transaction_id.clone();
        let destination = |transfer: &Transfer| TxHash::new(destination_hash(transfer)).key();
        let destinations = world.all().iter().map(|transfer| (destination(transfer), hash(transfer))).collect();
        Self { world, start, destinations }
    }

    /// Answers a request to the node of a chain; `None` if there is no such chain or the body is no JSON-RPC.
    pub(super) fn answer(&self, chain: &str, body: &[u8], now: DateTime<Utc>) -> Option<String> {
        let node = SimulatedNode { chains: self, number: chain.parse().ok()?, chain: ChainId::new(chain), now };
        let answer = match serde_json::from_slice(body).ok()? {
            Value::Array(calls) => Value::Array(calls.iter().map(|call| node.call(call)).collect()),
            call => node.call(&call),
        };
        Some(answer.to_string())
    }
}

struct SimulatedNode<'a> {
    chains: &'a SimulatedChains,
    number: u64,
    chain: ChainId,
    now: DateTime<Utc>,
}

impl SimulatedNode<'_> {
    fn call(&self, call: &Value) -> Value {
        let id = call.get("id").cloned().unwrap_or(Value::Null);
        let parameter = call.pointer("/params/0").and_then(Value::as_str).unwrap_or_default();
        let result = match call.get("method").and_then(Value::as_str).unwrap_or_default() {
            "eth_chainId" => hex(self.number),
            "eth_blockNumber" => hex(self.newest_block()),
            "eth_getTransactionCount" => hex(NONCE + 1),
            "eth_getTransactionByHash" => self.find(parameter).map_or(Value::Null, |known| transaction(&known)),
            "eth_getTransactionReceipt" => self.find(parameter).map_or(Value::Null, |known| receipt(&known)),
            "eth_getBlockByNumber" => self.block(parameter),
            _ => {
                return json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "the method does not exist"}});
            }
        };
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    }

    /// Returns the transaction with this hash, if this chain knows it.
    fn find(&self, hash: &str) -> Option<KnownTransaction> {
        let SimulatedChains { world, start, .. } = self.chains;
        let Some(transfer) = world.find(hash).filter(|transfer| transfer.new.params.from_chain == self.chain) else {
            return self.find_destination(hash);
        };
        let submitted = *start + transfer.begins;
        let age = (self.now - submitted).to_std().ok()?;
        let mined = |has_succeeded| match age < PENDING_FOR {
            true => KnownTransaction::Pending,
            false => KnownTransaction::Mined { has_succeeded, block: transfer.source_block() },
        };
        match &transfer.course {
            ChainCourse::Succeeded | ChainCourse::ImportedAs(_) => Some(mined(true)),
            ChainCourse::Reverted => Some(mined(false)),
            ChainCourse::Pending => Some(KnownTransaction::Pending),
            ChainCourse::Replaced(after) => (age < *after).then_some(KnownTransaction::Pending),
            ChainCourse::Unknown => None,
        }
    }

    /// Returns the transaction with this hash on the destination chain, once the service reports the transfer's end.
    fn find_destination(&self, hash: &str) -> Option<KnownTransaction> {
        let SimulatedChains { world, start, destinations } = self.chains;
        let transfer = world.find(destinations.get(&TxHash::new(hash).key())?.as_str())?;
        let transfer = Some(transfer).filter(|transfer| transfer.new.params.to_chain == self.chain)?;
        let (stage, _) = transfer.stage(self.now - *start)?;
        let block = transfer.destination_block();
        match stage.answer.status()? {
            "success" => Some(KnownTransaction::Mined { has_succeeded: true, block }),
            "partial_success" => Some(KnownTransaction::Mined { has_succeeded: false, block }),
            _ => None,
        }
    }

    fn newest_block(&self) -> u64 {
        plan::block_at(self.now - self.chains.start)
    }

    fn block(&self, number: &str) -> Value {
        let number = number.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let Some(number) = number.filter(|number| *number <= self.newest_block()) else { return Value::Null };
        let made_at = self.chains.start + plan::block_time(number);
        json!({"number": hex(number), "timestamp": hex(made_at.timestamp().unsigned_abs())})
    }
}

fn transaction(known: &KnownTransaction) -> Value {
    let block = match known {
        KnownTransaction::Pending => Value::Null,
        KnownTransaction::Mined { block, .. } => hex(*block),
    };
    json!({"from": address('a'), "to": address('b'), "nonce": hex(NONCE), "blockNumber": block})
}

fn receipt(known: &KnownTransaction) -> Value {
    match known {
        KnownTransaction::Pending => Value::Null,
        KnownTransaction::Mined { has_succeeded, block } => json!({
            "from": address('a'), "to": address('b'), "status": hex(u64::from(*has_succeeded)), "blockNumber": hex(*block),
        }),
    }
}

fn address(digit: char) -> String {
    format!("0x{}", digit.to_string().repeat(40))
}

fn hex(number: u64) -> Value {
    Value::String(format!("{number:#x}"))
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::{
        super::body::{self, RecordContent},
        *,
    };

    fn asked(course: &str, chain: &str, second: i64) -> String {
        let scenario = format!(
            "[[transaction]]\ntransactionId = \"0xab\"\nfromChainId = \"10\"\ntoChainId = \"1\"\nquoteId = \"q\"\n\
             chain = \"{course}\"\nanswers = [{{ from = 0, http = 404 }}]"
        );
        let start = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let world = super::super::scenario::Scenario::parse(&scenario).unwrap().world(start);
        let call = |id: u8, method: &str| json!({"id": id, "method": method, "params": ["0xAB", false]});
        let body = json!([call(1, "eth_getTransactionByHash"), call(2, "eth_getTransactionReceipt")]).to_string();
        let answer = SimulatedChains::new(world, start)
            .answer(chain, body.as_bytes(), start + TimeDelta::seconds(second))
            .unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        match (&answer[0]["result"], &answer[1]["result"]) {
            (Value::Null, Value::Null) => "unknown".into(),
            (_, Value::Null) => "pending".into(),
            (_, receipt) => format!("mined {}", receipt["status"].as_str().unwrap()),
        }
    }

    #[test]
    fn each_course_is_seen_on_its_chain_over_time() {
        let table = [
            ("succeeded", ["unknown", "pending", "mined 0x1", "mined 0x1"]),
            ("reverted", ["unknown", "pending", "mined 0x0", "mined 0x0"]),
            ("pending", ["unknown", "pending", "pending", "pending"]),
            ("replaced", ["unknown", "pending", "pending", "unknown"]),
            ("unknown", ["unknown"; 4]),
            ("imported as 42161", ["unknown", "pending", "mined 0x1", "mined 0x1"]),
        ];
        for (course, expected) in table {
            assert_eq!([-1, 0, 3, 60].map(|second| asked(course, "10", second)), expected, "{course}");
            assert_eq!(asked(course, "1", 60), "unknown", "another chain");
        }
    }

    #[test]
    fn the_destination_transaction_is_seen_once_the_transfer_has_ended() {
        let start = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let world = SimulatedWorld::seeded(7, 60, start);
        let seen = |status: &str| {
            let is_so = |transfer: &&Transfer| {
                transfer.new.params.to_chain.as_str().parse::<u64>().is_ok()
                    && transfer.new.params.to_chain != transfer.new.params.from_chain
                    && transfer.stage(TimeDelta::zero()).is_some_and(|(stage, _)| stage.answer.status() == Some(status))
            };
            let transfer = world.all().iter().find(is_so).unwrap();
            let call = json!({"id": 1, "method": "eth_getTransactionReceipt", "params": [destination_hash(transfer)]});
            let chain = transfer.new.params.to_chain.as_str();
            let answer =
                SimulatedChains::new(world.clone(), start).answer(chain, call.to_string().as_bytes(), start).unwrap();
            serde_json::from_str::<Value>(&answer).unwrap()["result"]["status"].clone()
        };
        assert_eq!(["success", "partial_success", "ongoing"].map(seen), [json!("0x1"), json!("0x0"), Value::Null]);
    }

    #[test]
    fn a_chain_has_the_transaction_in_the_block_that_the_service_names() {
        let start = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let world = SimulatedWorld::seeded(7, 60, start);
        let is_evm = |chain: &ChainId| chain.as_str().parse::<u64>().is_ok();
        let is_so = |transfer: &&Transfer| {
            let params = &transfer.new.params;
            is_evm(&params.from_chain) && is_evm(&params.to_chain) && params.from_chain != params.to_chain
        };
        let succeeded = |transfer: &&Transfer| {
            transfer.stage(TimeDelta::zero()).is_some_and(|(stage, _)| stage.answer.status() == Some("success"))
        };
        let transfer = world.all().iter().filter(is_so).find(succeeded).unwrap();
        let content = RecordContent { status: "success", steps: 3, age: PENDING_FOR, edits: &[] };
        let record: Value = serde_json::from_str(&body::record(transfer, content, "id").unwrap()).unwrap();
        let chains = SimulatedChains::new(world.clone(), start);
        for side in ["fromChain", "toChain"] {
            let chain = record[side]["chainData"]["chainId"].as_str().unwrap();
            let call =
                json!({"id": 1, "method": "eth_getTransactionByHash", "params": [record[side]["transactionId"]]});
            let known = chains.answer(chain, call.to_string().as_bytes(), start).unwrap();
            let known: Value = serde_json::from_str(&known).unwrap();
            let named = record[side]["blockNumber"].to_string().trim_matches('"').parse().unwrap();
            assert_eq!(known["result"]["blockNumber"], hex(named), "{side}");
        }
    }

    #[test]
    fn blocks_have_a_time_and_other_methods_are_refused() {
        let world = SimulatedWorld::seeded(1, 1, DateTime::UNIX_EPOCH);
        let now = DateTime::from_timestamp(1_000, 0).unwrap();
        let chains = SimulatedChains::new(world, now);
        let ask = |chain: &str, body: &str| chains.answer(chain, body.as_bytes(), now);
        // Two blocks before the world's second 0.
        let number = plan::block_at(TimeDelta::seconds(-4));
        let block = json!({"id": 1, "method": "eth_getBlockByNumber", "params": [hex(number), false]});
        let block = ask("1", &block.to_string()).unwrap();
        assert!(block.contains(&format!(r#""timestamp":"{:#x}""#, 996)), "{block}");
        assert!(
            ask("1", r#"{"id": 1, "method": "eth_getBlockByNumber", "params": ["0xffffffff"]}"#)
                .unwrap()
                .contains("null")
        );
        assert!(ask("1", r#"{"id": 1, "method": "eth_sendRawTransaction"}"#).unwrap().contains("-32601"));
        assert!(ask("7", r#"{"id": 1, "method": "eth_chainId"}"#).unwrap().contains(r#""0x7""#));
        assert_eq!((ask("osmosis-1", "[]"), ask("1", "<html>")), (None, None));
    }
}
