//! What the chain itself says, against two real EVM nodes (anvil, from npm). Needs npm and node; npm installs anvil
//! once, into the target folder.

use std::{
    io::{Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    common::{Home, ProgramProcess},
    json_schema, npm,
};

const PACKAGE: &str = "@foundry-rs/anvil@1.7.1";
/// Code of a contract whose creation reverts.
const REVERTING: &str = "0x60006000fd";

/// A running node.
struct EvmNode {
    _process: ProgramProcess,
    address: String,
    accounts: Vec<String>,
}

impl EvmNode {
    fn start(folder: &std::path::Path, chain: u64) -> Self {
        let mut command = Command::new(folder.join("node_modules/.bin/anvil"));
        command.args(["--port", "0", "--chain-id", &chain.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = ProgramProcess::start(command);
        let address = loop {
            let line = process.read_line();
            if let Some((_, address)) = line.split_once("Listening on ") {
                break address.trim().to_owned();
            }
        };
        let mut node = Self { _process: process, address, accounts: Vec::new() };
        node.accounts = serde_json::from_value(node.call("eth_accounts", &json!([]))).unwrap();
        node
    }

    /// Returns the result of a call.
    #[track_caller]
    fn call(&self, method: &str, params: &Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Sends a transaction of the account with this number, and returns its hash.
    fn send(&self, account: usize, more: &Value) -> String {
        let mut transaction =
            json!({"from": self.accounts[account], "to": self.accounts[9], "value": "0x1", "gas": "0x186a0"});
        for (name, value) in more.as_object().unwrap() {
            transaction[name] = value.clone();
        }
        self.call("eth_sendTransaction", &json!([transaction])).as_str().unwrap().to_owned()
    }
}

fn config(nodes: &[(u64, &EvmNode)]) -> String {
    nodes
        .iter()
        .map(|(chain, node)| format!("[chains.{chain}]\nrpc = \"http://{}\"\nrps = 100\n", node.address))
        .collect()
}

/// Tracks a transaction from Arbitrum.
fn track(home: &Home, hash: &str) {
    home.import(&format!("transactionId,fromChainId,toChainId,quoteId\n{hash},42161,10,q\n"));
}

/// Asks the chain, and returns the exit code and the transaction.
#[track_caller]
fn ask(home: &Home, hash: &str) -> (i32, Value) {
    let ended = home.run(&["check", hash, "--chain", "--json"]);
    assert_eq!(ended.err, "", "{ended:?}");
    let all: Vec<Value> = serde_json::from_str(&ended.out).unwrap();
    let tx = all.into_iter().next().unwrap();
    let schema: Value = serde_json::from_str(include_str!("../../assets/schemas/transaction.json")).unwrap();
    assert_eq!(json_schema::violations(&schema, &tx), [""; 0], "{tx}");
    (ended.code.unwrap(), tx)
}

/// Asks the chain, and checks its answer. Returns `onChain`.
#[track_caller]
fn assert_says(home: &Home, hash: &str, code: i32, state: &str) -> Value {
    let (exit, tx) = ask(home, hash);
    assert_eq!((exit, tx["onChain"]["state"].as_str()), (code, Some(state)), "{tx}");
    let is_mined = tx["onChain"]["block"].is_u64();
    assert_eq!(
        (&tx["submittedAtIsFromChain"], &tx["submittedAtIsFirstSeen"]),
        (&json!(is_mined), &json!(!is_mined)),
        "{tx}"
    );
    tx["onChain"].clone()
}

#[test]
fn real_nodes_say_each_thing_that_a_chain_can_say() {
    let folder = match npm::install("anvil-1.7.1", &[PACKAGE]) {
        Ok(folder) => folder,
        Err(missing_requirement) => {
            println!("skipped: {missing_requirement}");
            return;
        }
    };
    let (arbitrum, base) = (EvmNode::start(&folder, 42161), EvmNode::start(&folder, 8453));
    let home = Home::new();
    home.configure(&config(&[(42161, &arbitrum), (8453, &base)]));

    let succeeded = arbitrum.send(0, &json!({}));
    track(&home, &succeeded);
    let says = assert_says(&home, &succeeded, 0, "succeeded");
    assert_eq!((&says["from"], &says["source"]), (&json!(arbitrum.accounts[0]), &json!("127.0.0.1")), "{says}");
    assert_eq!((&says["block"], &says["confirmations"]), (&json!(1), &json!(1)), "{says}");
    arbitrum.call("anvil_mine", &json!(["0x4"]));
    assert_eq!(assert_says(&home, &succeeded, 0, "succeeded")["confirmations"], json!(5));

    let reverted = arbitrum.send(1, &json!({"to": null, "value": "0x0", "data": REVERTING}));
    track(&home, &reverted);
    assert_says(&home, &reverted, 4, "reverted");
    let shown = home.run(&["check", &reverted, "--chain"]);
    assert!(
        shown.out.contains("VERDICT  REVERTED on Arbitrum") && shown.out.contains("nothing was bridged"),
        "{shown:?}"
    );

    let unknown = format!("0x{}", "5e".repeat(32));
    track(&home, &unknown);
    assert_eq!(assert_says(&home, &unknown, 4, "unknown")["unknownOn"], json!(["8453"]));

    let elsewhere = base.send(2, &json!({}));
    track(&home, &elsewhere);
    assert_eq!(assert_says(&home, &elsewhere, 4, "elsewhere")["foundOn"], "8453");
    assert_eq!(home.run(&["list", "is:wrong-chain", "--json"]).out.matches("\"onChain\"").count(), 1);

    // Mining stopped: pending, and then replaced by a higher fee.
    arbitrum.call("evm_setAutomine", &json!([false]));
    let nonce = json!({"nonce": "0x0", "maxFeePerGas": "0x3b9aca00", "maxPriorityFeePerGas": "0x3b9aca00"});
    let pending = arbitrum.send(3, &nonce);
    track(&home, &pending);
    assert_says(&home, &pending, 0, "pending");
    let fee = json!({"nonce": "0x0", "maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x77359400"});
    let replacement = arbitrum.send(3, &fee);
    assert_says(&home, &pending, 0, "pending");
    arbitrum.call("evm_mine", &json!([]));
    assert_says(&home, &pending, 4, "dropped");
    track(&home, &replacement);
    assert_says(&home, &replacement, 0, "succeeded");

    // A reorganisation: the block with the transaction is gone, and then another one takes its nonce.
    let before = arbitrum.call("evm_snapshot", &json!([]));
    let reorganised = arbitrum.send(4, &json!({"nonce": "0x0"}));
    arbitrum.call("evm_mine", &json!([]));
    track(&home, &reorganised);
    assert_says(&home, &reorganised, 0, "succeeded");
    arbitrum.call("evm_revert", &json!([before]));
    assert_says(&home, &reorganised, 0, "pending");
    arbitrum.send(4, &json!({"nonce": "0x0", "value": "0x2"}));
    arbitrum.call("evm_mine", &json!([]));
    assert_says(&home, &reorganised, 4, "dropped");

    let history = home.run(&["show", &reorganised]).out;
    assert!(history.contains("the chain Arbitrum says: dropped"), "{history}");
}

#[test]
fn probe_asks_each_node_for_its_chain() {
    let folder = match npm::install("anvil-1.7.1", &[PACKAGE]) {
        Ok(folder) => folder,
        Err(missing_requirement) => {
            println!("skipped: {missing_requirement}");
            return;
        }
    };
    let node = EvmNode::start(&folder, 42161);
    let home = Home::new();
    home.configure(&config(&[(42161, &node), (8453, &node)]));
    let found = home.run(&["doctor", "--probe"]).out;
    assert!(found.contains("Arbitrum (42161): 127.0.0.1, is a node of this chain"), "{found}");
    assert!(found.contains("Base (8453): 127.0.0.1: this is a node of chain 42161, not 8453"), "{found}");
}
