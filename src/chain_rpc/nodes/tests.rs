//! The nodes against real HTTP on loopback: the requests, and the results of all kinds of responses.

use std::{collections::VecDeque, time::Duration};

use chrono::DateTime;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;
use crate::domain::fixtures;

const KEY: &str = "canary-node-key";

/// A node that answers each request with the next reply, and then as the last one. Returns its address and the received
/// requests.
async fn serve(replies: Vec<String>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v2/{KEY}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let got = Arc::clone(&seen);
    let mut replies: VecDeque<String> = replies.into();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = String::new();
            let mut buffer = [0; 4096];
            while !request.ends_with("]") {
                let read = stream.read(&mut buffer).await.unwrap();
                if read == 0 {
                    break;
                }
                request.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
            }
            lock(&got).push(request);
            let reply = if replies.len() > 1 { replies.pop_front().unwrap() } else { replies[0].clone() };
            stream.write_all(reply.as_bytes()).await.ok();
        }
    });
    (url, seen)
}

fn http(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn results(values: &[Value]) -> String {
    let answers = values.iter().enumerate().map(|(id, value)| json!({"jsonrpc": "2.0", "id": id, "result": value}));
    http("200 OK", &Value::Array(answers.collect()).to_string())
}

fn unknown(chain: u64) -> String {
    results(&[json!(format!("{chain:#x}")), json!("0x64"), Value::Null, Value::Null])
}

fn mined(chain: u64, status: &str) -> Vec<String> {
    let address = format!("0x{}", "Ab".repeat(20));
    let tx = json!({"from": address, "nonce": "0x7", "blockNumber": "0x60"});
    let receipt = json!({"status": status, "blockNumber": "0x60"});
    vec![
        results(&[json!(format!("{chain:#x}")), json!("0x64"), tx, receipt]),
        results(&[json!({"timestamp": "0x65000000"})]),
    ]
}

fn nodes(urls: &[(&str, Option<&str>)]) -> ChainNodes {
    let settings = urls.iter().map(|(chain, url)| NodeSetting { rps: 1_000.0, ..NodeSetting::new(chain, *url) });
    let timeouts = Timeouts { connect: Duration::from_secs(2), total: Duration::from_millis(500) };
    ChainNodes::new(settings.collect(), timeouts, Clock::system())
}

fn question(previous: Option<OnChainState>) -> ChainQuestion {
    let params = fixtures::params(1);
    ChainQuestion {
        chain: params.from_chain,
        hash: params.transaction_id,
        second_transaction: None,
        previous,
        is_requested: false,
    }
}

#[tokio::test]
async fn a_mined_transaction_is_read_in_two_batches() {
    let (url, seen) = serve(mined(42161, "0x0")).await;
    let asked = nodes(&[("42161", Some(&url))]).ask(&question(None)).await.unwrap();
    let ChainVerdict::Reverted(mined) = &asked.source.verdict else { panic!("{asked:?}") };
    assert_eq!((mined.block, mined.confirmations), (96, 5));
    assert_eq!(mined.time, DateTime::from_timestamp(0x6500_0000, 0));
    assert_eq!(asked.source.from, Some(format!("0x{}", "ab".repeat(20))));
    assert_eq!(asked.source.node, "127.0.0.1");
    let seen = lock(&seen);
    assert!(seen.len() == 2 && seen[0].starts_with(&format!("POST /v2/{KEY} HTTP/1.1")), "{seen:?}");
    assert!(seen[0].contains("eth_getTransactionReceipt") && seen[1].contains("[\"0x60\",false]"), "{seen:?}");
}

#[tokio::test]
async fn several_transactions_share_two_requests_and_a_refused_batch_is_asked_one_by_one() {
    let address = format!("0x{}", "ab".repeat(20));
    let tx = |block: Value| json!({"from": address, "nonce": "0x7", "blockNumber": block});
    let receipt = json!({"status": "0x1", "blockNumber": "0x60"});
    let both = results(&[json!("0xa4b1"), json!("0x64"), tx(json!("0x60")), receipt, tx(Value::Null), Value::Null]);
    let (url, seen) = serve(vec![both, results(&[json!({"timestamp": "0x65000000"})])]).await;
    let questions = [question(None), question(None)];
    let answers = nodes(&[("42161", Some(&url))]).ask_all(&questions).await;
    let verdicts: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().source.verdict).collect();
    assert!(verdicts[0].mined().is_some_and(|mined| mined.time.is_some()), "{verdicts:?}");
    assert_eq!((&verdicts[1], lock(&seen).len()), (&ChainVerdict::Pending, 2));

    let too_large = http("413 Too Large", "");
    let (url, seen) = serve(vec![too_large, unknown(42161)]).await;
    let answers = nodes(&[("42161", Some(&url))]).ask_all(&questions).await;
    assert!(answers.iter().all(|answer| answer.as_ref().unwrap().source.verdict.name() == "unknown"), "{answers:?}");
    assert_eq!(lock(&seen).len(), 3);

    let (url, seen) = serve(vec![http("429 Too Many Requests", "")]).await;
    let answers = nodes(&[("42161", Some(&url))]).ask_all(&questions).await;
    assert!(answers.iter().all(|answer| answer.as_ref().unwrap_err().contains("rate limit")), "{answers:?}");
    assert_eq!(lock(&seen).len(), 1, "a host that rests is not asked again");
}

#[tokio::test]
async fn an_unknown_transaction_is_looked_for_on_the_other_chains_once() {
    let (source, source_seen) = serve(vec![unknown(42161)]).await;
    let (base, _) = serve([mined(8453, "0x1"), mined(8453, "0x1")].concat()).await;
    let (optimism, optimism_seen) = serve(vec![unknown(10)]).await;
    let found = nodes(&[("42161", Some(&source)), ("8453", Some(&base)), ("10", Some(&optimism))]);
    let asked = found.ask(&question(None)).await.unwrap();
    assert_eq!(asked.source.verdict, ChainVerdict::Elsewhere(ChainId::new("8453")));
    // The sender's nonce on the other chain says nothing of this one: it is found there again.
    let requested = ChainQuestion { is_requested: true, ..question(Some(asked.clone())) };
    assert_eq!(found.ask(&requested).await.unwrap().source.verdict, asked.source.verdict);

    let not_found = nodes(&[("42161", Some(&source)), ("10", Some(&optimism))]);
    let asked = not_found.ask(&question(None)).await.unwrap();
    assert_eq!(asked.source.verdict, ChainVerdict::Unknown(vec![ChainId::new("10")]));
    let before = lock(&optimism_seen).len();
    let again = not_found.ask(&question(Some(asked.clone()))).await.unwrap();
    assert_eq!((again.source.verdict, again.repeats), (asked.source.verdict.clone(), 1));
    assert_eq!(lock(&optimism_seen).len(), before, "asked once");
    let requested = ChainQuestion { is_requested: true, ..question(Some(asked)) };
    not_found.ask(&requested).await.unwrap();
    assert_eq!(lock(&optimism_seen).len(), before + 1, "a person asks again");
    assert_eq!(lock(&source_seen).len(), 5);
}

#[tokio::test]
async fn a_transaction_that_was_seen_and_is_gone_was_replaced() {
    let seen =
        ChainReading { from: Some("0xaa".into()), nonce: Some(7), ..ChainReading::without_node(ChainVerdict::Pending) };
    let previous = OnChainState::after(None, seen, None, DateTime::UNIX_EPOCH);
    let (url, _) = serve(vec![unknown(42161), results(&[json!("0x8")])]).await;
    let asked = nodes(&[("42161", Some(&url))]).ask(&question(Some(previous))).await.unwrap();
    assert_eq!(asked.source.verdict, ChainVerdict::Dropped);
}

#[test]
fn chain_that_is_not_evm_has_no_node_even_if_the_settings_name_one() {
    let nodes = nodes(&[("1", Some("http://127.0.0.1:1")), ("osmosis-1", Some("http://127.0.0.1:1"))]);
    let has_node = |chain: &str| nodes.has_node(&ChainId::new(chain));
    assert_eq!((has_node("1"), has_node("osmosis-1"), has_node("10")), (true, false, false));
}

#[tokio::test]
async fn chains_and_hashes_that_are_not_evm_are_not_sent_anywhere() {
    let (url, seen) = serve(vec![unknown(42161)]).await;
    let nodes = nodes(&[("42161", Some(&url)), ("osmosis-1", Some(&url))]);
    let of = |chain: &str, hash: &str| ChainQuestion {
        chain: ChainId::new(chain),
        hash: TxHash::new(hash),
        ..question(None)
    };
    let evm = format!("0x{:064x}", 1);
    for (question, part) in [
        (of("osmosis-1", &evm), "only EVM"),
        (of("42161", "5VfYmGC9L2VB9"), "only EVM"),
        (of("10", &evm), "add [chains.10]"),
    ] {
        let asked = nodes.ask(&question).await.unwrap();
        assert!(
            matches!(&asked.source.verdict, ChainVerdict::CannotBeAsked(reason) if reason.contains(part)),
            "{asked:?}"
        );
    }
    assert!(lock(&seen).is_empty());
}

#[tokio::test]
async fn hostile_and_failing_nodes_give_a_sentence_without_the_key() {
    let refusal = |code: i64| {
        let message = format!("see https://node.example/v2/{KEY}\u{1b}[31m");
        http("200 OK", &json!({"error": {"code": code, "message": message}}).to_string())
    };
    let table = [
        (http("429 Too Many Requests\r\nretry-after: 60", ""), "rate limit"),
        (refusal(-32005), "rate limit"),
        (refusal(-32601), "refuses: see https://node.example/v2/…[31m"),
        (http("500 Oops", "<html>"), "HTTP 500"),
        (http("302 Found\r\nlocation: http://127.0.0.1:1/", ""), "HTTP 302"),
        (http("200 OK", "<html>"), "not JSON"),
        (http("200 OK", "[]"), "left out an answer"),
        (http("200 OK", &" ".repeat(1024 * 1024 + 1)), "larger than 1 MiB"),
        (unknown(8453), "this is a node of chain 8453, not 42161"),
        (results(&[json!("0xa4b1"), json!("0x1"), json!({"blockNumber": "0x1"}), json!({})]), "doesn't say whether"),
        (
            results(&[json!("0xa4b1"), json!("0x1"), json!({"hash": format!("0x{}", "cd".repeat(32))}), json!(null)]),
            "answered about another transaction",
        ),
        (results(&[json!("canary"), json!(null), json!(null), json!(null)]), "which chain"),
        ("HTTP/1.1 200 OK\r\n\r\n".to_owned() + "[", "not JSON"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n[".to_owned(), "127.0.0.1"),
        (String::new(), "127.0.0.1"),
    ];
    for (reply, part) in table {
        let (url, _) = serve(vec![reply.clone()]).await;
        let reason = nodes(&[("42161", Some(&url))]).ask(&question(None)).await.unwrap_err();
        let shown: String = reply.chars().take(80).collect();
        assert!(reason.contains(part) && reason.starts_with("127.0.0.1"), "{shown}: {reason}");
        assert!(!reason.contains("canary") && !reason.contains('\u{1b}'), "{reason}");
    }
}

#[tokio::test]
async fn a_host_that_rests_is_not_asked() {
    let (url, seen) = serve(vec![http("429 Too Many Requests\r\nretry-after: 60", "")]).await;
    let nodes = nodes(&[("42161", Some(&url)), ("10", Some(&url))]);
    for chain in ["42161", "10", "42161"] {
        let reason = nodes.check(&ChainId::new(chain)).await.unwrap_err();
        assert!(reason.contains("rate limit"), "{reason}");
    }
    assert_eq!(lock(&seen).len(), 1);
}

#[tokio::test]
async fn the_service_names_a_node_only_where_the_settings_say_so() {
    let nodes = nodes(&[("42161", None), ("10", Some("not a url canary"))]);
    let reason = nodes.ask(&question(None)).await.unwrap_err();
    assert!(reason.contains("hasn't named"), "{reason}");
    // Nothing listens there, so that the error names the host.
    let list = ["wss://other.example", "http://127.0.0.1:1/", "https://localhost:9/"].map(str::to_owned);
    for chain in ["42161", "10", "8453"] {
        nodes.set_service_urls(&ChainId::new(chain), &list);
    }
    let reason = nodes.check(&ChainId::new("42161")).await.unwrap_err();
    assert!(reason.starts_with("localhost refuses"), "{reason}");
    let reason = nodes.check(&ChainId::new("10")).await.unwrap_err();
    assert!(reason.contains("not a URL") && !reason.contains("canary"), "{reason}");
    assert_eq!(nodes.check(&ChainId::new("8453")).await, Err("no node is set".to_owned()));
}

#[test]
fn processes_that_share_a_node_get_equal_parts_of_its_rate() {
    let setting = NodeSetting { rps: 6.0, ..NodeSetting::new("1", None) };
    let parts = [0, 1, 3].map(|processes| setting.clone().shared_by(processes).rps);
    assert_eq!(parts, [6.0, 6.0, 2.0]);
}
