//! Tests of the import and paste readers: tables of inputs and their expected results.

use std::{collections::BTreeSet, time::Duration};

use chrono::{DateTime, Offset, TimeDelta, Utc};
use proptest::prelude::*;

use crate::domain::{
    deadline::MAX_ESTIMATE,
    fixtures,
    ids::{ChainId, TxHash},
    reply::{Audience, ReplyTemplates, write_reply},
    text::{self, clean},
    transaction::{NewTransaction, TransactionParams},
};

use super::*;

const HEADER: &str = "transactionId,fromChainId,toChainId,quoteId";

fn hash() -> String {
    format!("0x{}", "ab".repeat(32))
}

fn batch(text: impl AsRef<[u8]>) -> ParsedFile {
    read(text.as_ref(), &ReadOptions::default()).unwrap()
}

fn errors(text: impl AsRef<[u8]>) -> Vec<String> {
    read(text.as_ref(), &ReadOptions::default()).unwrap_err().iter().map(ToString::to_string).collect()
}

/// Returns the line number and content of each result for a pasted text.
fn pasted(text: &str) -> Vec<(usize, PastedContent)> {
    parse_paste(text, &ReadOptions::default()).into_iter().map(|pasted| (pasted.line, pasted.content)).collect()
}

#[test]
fn each_supported_file_layout_gives_the_same_transaction() {
    let table = [
        "transactionId,fromChainId,toChainId,quoteId\n0xabcdef,42161,8453,q\n",
        "\u{feff}quote_id;TO_CHAIN_ID;from_chain_id;Transaction ID\r\nq;8453;42161;0xabcdef\r\n\r\n;;\r\n",
        "\n\nTRANSACTIONID\tfromchainid\ttoChainId\tquoteId\n\"0xabcdef\"\t42161\t 8453 \tq",
        r#"[{"transactionId":"0xabcdef","fromChainId":42161,"toChainId":"8453","quoteId":"q","requestId":null}]"#,
        r#"{"transaction_id":"0xabcdef","from_chain_id":42161,"to_chain_id":8453,"quote_id":"q"}"#,
        "{\n  \"transactionId\": \"0xabcdef\", \"fromChainId\": \"42161\",\n \"toChainId\": 8453, \"quoteId\": \"q\"\n}\n",
    ];
    let mut params = fixtures::params(1);
    (params.transaction_id, params.quote_id) = (TxHash::new("0xabcdef"), "q".into());
    for text in table {
        let batch = batch(text);
        assert_eq!(batch.transactions, [NewTransaction::from(params.clone())], "{text}");
        assert_eq!(batch.warnings, Vec::<String>::new(), "{text}");
    }
}

#[test]
fn optional_fields_are_parsed_from_csv_and_json() {
    let csv = format!(
        "{HEADER},requestId,estimatedRouteDuration,submittedAt,fromAddress,ticket,labels,note\n\
         https://scan.example/tx/{}?a=b,42161,8453,q,r,900,1700000000,0xfrom,SUP-1,vip; batch-17 ;vip,\"two\nlines\"\n",
        hash()
    );
    let json = format!(
        r#"[{{"transactionId":"{}","fromChainId":"42161","toChainId":"8453","quoteId":"q","requestId":"r",
        "estimatedRouteDuration":900.0,"submittedAt":"2023-11-14T22:13:20Z","fromAddress":"0xfrom","ticket":"SUP-1",
        "labels":["vip","batch-17"],"note":"two\nlines"}}]"#,
        hash()
    );
    for text in [csv, json] {
        let NewTransaction { params, labels, notes, .. } = batch(&text).transactions.remove(0);
        assert_eq!(params.transaction_id.as_str(), hash());
        assert_eq!(params.request_id.as_deref(), Some("r"));
        assert_eq!(params.estimate, Some(Duration::from_secs(900)));
        assert_eq!(params.submitted_at, DateTime::from_timestamp(1_700_000_000, 0));
        assert_eq!((params.from_address.as_deref(), params.ticket.as_deref()), (Some("0xfrom"), Some("SUP-1")));
        assert_eq!(
            (labels, notes),
            (vec!["vip".to_owned(), "batch-17".into()], vec!["two".to_owned(), "lines".into()])
        );
    }
}

#[test]
fn error_for_a_bad_file_names_the_line_and_the_fix() {
    let row = |row: &str| format!("{HEADER},estimatedRouteDuration,submittedAt\n{row}\n");
    let table = [
        (" \n ".to_owned(), "the file is empty"),
        ("\u{feff}".to_owned(), "the file is empty"),
        ("0xabcdef,42161,8453,q\n".to_owned(), "line 1: the first row is not a header"),
        ("transactionId,quoteId,note\n".to_owned(), "line 1: the header has no fromChainId, toChainId; it needs"),
        (format!("{HEADER},quote_id\n"), "line 1: the header has quoteId twice"),
        (
            row("0xabcdef,42161"),
            "line 2: toChainId and quoteId are missing; the service requires transactionId, fromChainId, toChainId and quoteId",
        ),
        (row("0xabcdef,42161,\u{200b},q"), "line 2: toChainId is missing"),
        (row("0xabcdef,arbitrum,8453,q"), "line 2: fromChainId: `arbitrum` is a chain name; use the chain's ID: 42161"),
        (row("0xabc,42161,8453,q"), "line 2: transactionId: `0xabc` has 5 characters, but a hash has at least 6"),
        (row("0xab cdef,42161,8453,q"), "contains spaces"),
        (row("42161:0xabcdef,42161,8453,q"), "names a chain too; give only the hash"),
        (row(&format!("solana-mainnet-beta:{},42161,8453,q", "5".repeat(88))), "names a chain too; give only the hash"),
        (row("https://scan.example/address/0xabcdef,42161,8453,q"), "the URL has no hash"),
        (row(&format!("{},42161,8453,q", "x".repeat(600))), "512 characters or more"),
        (row("0xabcdef,42161,8453,q,-3"), "line 2: estimatedRouteDuration: `-3` is not a number of seconds"),
        (row("0xabcdef,42161,8453,q,NaN"), "is not a number of seconds"),
        (row("0xabcdef,42161,8453,q,inf"), "is not a number of seconds"),
        (row("0xabcdef,42161,8453,q,9,soon"), "line 2: submittedAt: `soon` is not a time"),
        (row("0xabcdef,42161,8453,q,9,,extra"), "line 2: 7 values for 6 columns"),
        (row("0xabcdef,42161,8453,\0"), "line 2: column 4 contains a NUL byte"),
        (row("\"0xabcdef,42161,8453,q\n0xbcdefa,42161,8453,q"), "line 2: a quotation mark is never closed"),
        (row("0xabcdef,42161,8453,\"q"), "line 2: a quotation mark is never closed"),
        (row("\"0xabcdef,42161,8453,q\n0xbcdefa\",42161,8453,q"), "transactionId spans several lines"),
        (row("0xabcdef,42161,8453,\"q\"x"), "line 2: a quotation mark closes in the middle of a value"),
        ("[{\"transactionId\":\n }]".to_owned(), "line 2: invalid JSON at column 2"),
        ("[1]".to_owned(), "item 1: expected an object"),
        ("{\"quoteId\":[]}".to_owned(), "line 1: quoteId: expected a string or a number"),
        ("{\"quoteId\":1.5}".to_owned(), "line 1: quoteId: the number has too many digits"),
        ("{\"quoteId\":123456789012345678901234567890}".to_owned(), "too many digits"),
        ("{\"quoteId\":1,\"quote_id\":2}".to_owned(), "line 1: quoteId is given twice"),
        ("{\"quoteId\":1,\"quoteId\":2}".to_owned(), "line 1: quoteId is given twice"),
        ("{}\n\n{\"a\":}\n".to_owned(), "line 3: invalid JSON at column"),
        ("{\n\"transactionId\": 1\n}\n{\n".to_owned(), "line 5: invalid JSON"),
        ("{\"transactionId\":1\n{\"transactionId\":1}\n{\"a\":}\n".to_owned(), "line 1: invalid JSON"),
        ("{\"transactionId\":1\n{\"transactionId\":1}\n{\"a\":}\n".to_owned(), "line 3: invalid JSON"),
    ];
    for (text, expected) in table {
        let errors = errors(&text);
        assert!(errors.iter().any(|error| error.contains(expected)), "{text:?}: {errors:?}");
    }
    assert!(errors(b"\xff\xfet\0r\0")[0].contains("UTF-16"));
    assert!(
        errors([HEADER.as_bytes(), b"\n0xabcdef,\xff,8453,q"].concat())[0].starts_with("line 2: column 2 is not UTF-8")
    );
}

#[test]
fn unclosed_quote_in_a_note_is_reported_at_the_line_of_that_note() {
    let rows = |first: &str, third: &str| {
        let note = |number, note: &str| format!("0xabcde{number},42161,8453,q,{note}\n");
        format!("{HEADER},note\n{}{}{}{}", note(1, first), note(2, ""), note(3, third), note(4, ""))
    };
    let unclosed = errors(rows("\"call him", "\"said \"\"no\"\"\""));
    assert_eq!(unclosed.len(), 1, "{unclosed:?}");
    assert!(unclosed[0].starts_with("line 2: a quotation mark closes in the middle of a value"), "{unclosed:?}");
    assert!(errors(rows("\"call him", "5\" pipe"))[0].starts_with("line 2: a quotation mark closes in the middle"));
    // Quotation marks inside an unquoted value are plain text, and blanks after a closing mark are ignored.
    assert_eq!(batch(rows("5\" pipe", "\"said\n\"\"no\"\"\" ")).transactions.len(), 4);
}

#[test]
fn line_numbers_match_those_of_an_editor() {
    for end in ["\n", "\r\n", "\r"] {
        let header = format!("{HEADER},note");
        let lines = [&header, "", "0xabcdef,42161,8453,q,\"a", "b\"", "", "bad,42161,8453,q", "0xabcdef,,8453,q"];
        let errors = read(lines.join(end).as_bytes(), &ReadOptions::default()).unwrap_err();
        let positions: Vec<InputPosition> = errors.iter().map(|error| error.position).collect();
        assert_eq!(positions, [InputPosition::Line(6), InputPosition::Line(7)], "{end:?}");
    }
}

#[test]
fn listed_errors_are_limited_and_the_rest_are_counted() {
    let text = format!("{HEADER}\n{}", "x,,,\n".repeat(batch::ERROR_LIMIT + 500));
    let errors = errors(&text);
    assert_eq!(errors.len(), batch::ERROR_LIMIT + 1);
    assert_eq!(errors.last().unwrap(), "and 500 more bad lines");
}

#[test]
fn too_long_estimate_is_clamped_with_a_warning() {
    let found = batch(format!("{HEADER},estimatedRouteDuration\n0xabcdef,42161,8453,q,1e300\n"));
    assert_eq!(found.transactions[0].params.estimate, Some(MAX_ESTIMATE));
    assert_eq!(found.warnings, ["line 2: estimatedRouteDuration of 1e300 s is implausible; 7d 00h is used instead"]);
}

#[test]
fn too_long_texts_are_cut_with_a_warning_and_a_cut_text_is_not_cut_again() {
    let (long, cut) = ("x".repeat(text::FIELD_LIMIT), format!("{}…", "x".repeat(text::FIELD_LIMIT - 1)));
    let found = batch(format!("{HEADER},ticket,labels,note\n0xabcdef,42161,8453,q,{long},a;{long},{cut}\n"));
    assert_eq!(
        found.warnings,
        ["ticket", "labels"].map(|field| format!("line 2: {field}: only the first 511 characters are kept"))
    );
    assert_eq!(found.transactions[0].params.ticket.as_ref(), Some(&cut));
}

#[test]
fn later_duplicate_replaces_the_earlier_and_warnings_are_limited() {
    let text = format!(
        "{HEADER},colour\n0xabcdef,42161,8453,old,red\n0xABCDEF,42161,8453,new\n0xabcdef,10,8453,other\n0xabcdef,10,8453,other\n"
    );
    let found = batch(text);
    let quotes: Vec<_> = found.transactions.iter().map(|new| new.params.quote_id.as_str()).collect();
    assert_eq!(quotes, ["new", "other"]);
    assert_eq!(
        found.warnings,
        [
            "unknown column `colour` ignored",
            "line 4 and line 5 are identical; one of them is used",
            "line 2 and line 3 have the same transaction 0xABCDEF; only the values of line 3 are used",
        ]
    );
    let many = batch(format!("{HEADER}\n{}", "0xabcdef,42161,8453,q\n".repeat(50)));
    assert_eq!((many.transactions.len(), many.warnings.len()), (1, 11));
    assert_eq!(many.warnings[10], "and 39 more identical pairs");
}

#[test]
fn file_without_rows_gives_a_warning_and_no_error() {
    for text in [HEADER, "[]"] {
        assert_eq!(batch(text).warnings, ["the file has no transactions"]);
    }
}

#[test]
fn unknown_chain_is_accepted_only_with_any_chain() {
    let text = format!("{HEADER}\n0xabcdef,mooncoin,8453,q\n");
    assert!(errors(&text)[0].contains("--any-chain"));
    assert!(read(text.as_bytes(), &ReadOptions { allows_any_chain: true, ..ReadOptions::default() }).is_ok());
}

#[test]
fn a_large_file_is_read_in_linear_time() {
    let rows: String = (0..20_000).map(|number| format!("0x{number:064x},42161,8453,q\n")).collect();
    assert_eq!(batch(format!("{HEADER}\n{rows}")).transactions.len(), 20_000);
}

#[test]
fn submission_far_in_the_future_is_not_used() {
    let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let options = ReadOptions { now: Some(now), ..ReadOptions::default() };
    let submitted = |seconds: i64| {
        let text = format!("{HEADER},submittedAt\n0xabcdef,42161,8453,q,{}\n", now.timestamp() + seconds);
        let parsed = read(text.as_bytes(), &options).unwrap();
        (parsed.transactions[0].params.submitted_at, parsed.warnings)
    };
    assert_eq!(submitted(60), (Some(now + TimeDelta::minutes(1)), Vec::new()));
    let (time, warnings) = submitted(3_600);
    assert_eq!(time, None);
    assert!(warnings[0].contains("2023-11-14T23:13:20.000Z is in the future and isn't used"), "{warnings:?}");
}

/// An input that never ends.
struct EndlessInput(usize);

impl Read for EndlessInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0 += buffer.len();
        assert!(self.0 < 64 << 20, "the reader doesn't stop");
        buffer.fill(b'x');
        Ok(buffer.len())
    }
}

#[test]
fn reading_stops_at_a_record_longer_than_the_limit() {
    let row = "0xabcdef,42161,8453,q";
    let object = r#"{"transactionId":"0xabcdef","fromChainId":1,"toChainId":10,"quoteId":"q""#;
    let table = [
        (format!("{HEADER},note\n{row},a\n\n{row},\""), "line 4: the record is longer than 4 MiB"),
        (format!("[{object}}},{object},\"note\":\""), "item 2: the record is longer than 4 MiB"),
        (format!("{object}}}\n{object},\"note\":\""), "line 2: the record is longer than 4 MiB"),
        (format!("{{\n{}}}\n\n {object},\"note\":\"", &object[1..]), "line 4: the record is longer than 4 MiB"),
    ];
    for (start, expected) in table {
        let mut input = Read::chain(start.as_bytes(), EndlessInput(0));
        let mut kept = 0;
        let keep = &mut |_, _| {
            kept += 1;
            Ok::<_, ()>(())
        };
        let Err(ReadError::Bad { errors, .. }) = stream(&mut input, &ReadOptions::default(), keep) else {
            panic!("{start}")
        };
        assert!(errors[0].to_string().starts_with(expected), "{start}: {errors:?}");
        assert_eq!((errors.len(), kept), (1, 1), "{start}");
    }
}

/// An input that delivers its bytes in pieces of a given size, and then fails.
struct FailingInput<'a>(&'a [u8], usize);

impl Read for FailingInput<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (now, later) = self.0.split_at(self.1.min(self.0.len()).min(buffer.len()));
        buffer[..now.len()].copy_from_slice(now);
        self.0 = later;
        if now.is_empty() { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(now.len()) }
    }
}

#[test]
fn reading_stops_when_the_input_or_the_keep_function_fails() {
    let object = r#"{"transactionId":"0xabcdef","fromChainId":1,"toChainId":10,"quoteId":"q"}"#;
    let csv = format!("{HEADER}\n{}", "0xabcdef,42161,8453,q\n".repeat(9));
    for text in [csv, format!("[{}", format!("{object},").repeat(9)), format!("{object}\n").repeat(9)] {
        let fine = &mut |_, _| Ok::<_, ()>(());
        let failed = stream(&mut FailingInput(text.as_bytes(), 7), &ReadOptions::default(), fine);
        assert!(matches!(failed, Err(ReadError::Input(fault)) if fault.kind() == io::ErrorKind::BrokenPipe), "{text}");
        let mut kept = 0;
        let full = &mut |_, _| {
            kept += 1;
            Err("full")
        };
        let failed = stream(&mut text.as_bytes(), &ReadOptions::default(), full);
        assert!(matches!(failed, Err(ReadError::Callback("full"))), "{failed:?}");
        assert_eq!(kept, 1);
    }
}

#[test]
fn exported_columns_are_read_or_ignored_without_a_warning() {
    let object = r#"{"transactionId":"0xabcdef","fromChainId":1,"toChainId":10,"quoteId":"q","submittedAt":"2023-11-14T22:13:20Z",
        "submittedAtIsFirstSeen":true,"firstSeenAt":"2023-11-15T00:00:00Z","untracked":true,"notes":["a\nb","c"],"note":"d",
        "status":"success","from":{"chainId":"1"},"timeSpent":null,"do":"nothing"}"#;
    let ParsedFile { transactions, warnings } = batch(object);
    let new = &transactions[0];
    assert_eq!((new.params.submitted_at, new.first_seen_at), (None, DateTime::from_timestamp(1_700_000_000, 0)));
    assert_eq!((new.is_untracked, warnings.len()), (true, 0));
    assert_eq!(new.notes, ["d", "a", "b", "c"]);
    let csv = batch(format!("{HEADER},untracked,Notes\n0xabcdef,1,10,q,FALSE,\"'=a\nb\"\n"));
    assert_eq!(
        (csv.transactions[0].is_untracked, &csv.transactions[0].notes[..]),
        (false, &["=a".to_owned(), "b".into()][..])
    );
    assert!(errors(format!("{HEADER},untracked\n0xabcdef,1,10,q,perhaps\n"))[0].contains("is not true or false"));
    assert!(errors(r#"{"notes":{}}"#)[0].contains("notes: expected an array of strings"));
}

/// Each value would take minutes in quadratic time.
#[test]
fn a_value_of_many_parts_is_read_in_linear_time() {
    let labels: String = (0..100_000).map(|number| format!("{number};")).collect();
    let found = batch(format!("{HEADER},labels\n0xabcdef,42161,8453,q,{labels}{labels}\n"));
    assert_eq!(found.transactions[0].labels.len(), 100_000);
    let hashes: String = (0..50_000).map(|number| format!("{number:064x}/")).collect();
    assert!(errors(format!("{HEADER}\nhttps://x/{hashes},42161,8453,q\n"))[0].contains("more than one hash"));
}

#[test]
fn pasted_rows_need_no_header() {
    let hash = hash();
    let base58 = "5".repeat(88);
    let table = [
        format!("{hash},42161,8453,q"),
        format!("  {hash};42161;8453;q;r;900;1700000000;SUP-1"),
        format!("{hash}\t42161\t8453\tq"),
        format!("{hash} 42161  8453 q"),
        format!("https://scan.example/tx/{hash},42161,8453,q"),
        format!("{base58},solana-mainnet-beta,8453,q"),
        "0x7be1aabb,42161,osmosis-1,q_8d1".to_owned(),
        format!("{HEADER}\n{hash},42161,8453,q"),
        format!("quoteId;toChainId;transactionId;fromChainId\nq;8453;{hash};42161"),
        format!(r#"{{"transactionId":"{hash}","fromChainId":42161,"toChainId":8453,"quoteId":"q"}}"#),
        format!("[{{\"transactionId\":\"{hash}\",\n\"fromChainId\":42161,\"toChainId\":8453,\"quoteId\":\"q\"}}]"),
    ];
    for text in table {
        let found =
            parse_paste(&text, &ReadOptions { allows_any_chain: text.contains("solana"), ..ReadOptions::default() });
        let contents: Vec<_> = found.iter().map(|pasted| &pasted.content).collect();
        assert!(matches!(&contents[..], [PastedContent::Complete { .. }]), "{text}: {found:?}");
    }
}

#[test]
fn pasted_hash_lists_its_missing_fields() {
    let hash = hash();
    let all = vec!["fromChainId", "toChainId", "quoteId"];
    let table = [
        (hash.clone(), all.clone(), 0),
        (format!("https://scan.example/tx/{hash}"), all.clone(), 0),
        (format!("[SUP-4412] please, look, at, {hash}!"), all.clone(), 0),
        (format!("{hash}, it is stuck, please, help"), all.clone(), 0),
        (format!("42161:{hash}"), vec!["toChainId", "quoteId"], 1),
        (format!("tx:{hash}"), all.clone(), 0),
        (format!("\u{11}:{hash}"), all.clone(), 0),
        (format!("{hash},42161"), vec!["toChainId", "quoteId"], 1),
        (format!("{hash},,8453,q"), vec!["fromChainId"], 2),
        (format!(r#"{{"transactionId":"{hash}","fromChainId":1}}"#), vec!["toChainId", "quoteId"], 1),
    ];
    for (text, lacks, has) in table {
        let found = pasted(&text);
        let [(_, PastedContent::Partial { hash: Some(found), missing, given, .. })] = &found[..] else {
            panic!("{text}: {found:?}")
        };
        let missing: Vec<_> = missing.iter().map(|field| field.name()).collect();
        assert_eq!((found.as_str(), &missing, given.len()), (hash.as_str(), &lacks, has), "{text}");
    }
}

#[test]
fn sentences_around_one_hash_suggest_its_route() {
    let ticket = format!("I bridged from Arbitrum to Base.\nThe transaction is {}", hash());
    let guesses = |text: &str| {
        let found = pasted(text).into_iter().filter_map(|(_, content)| match content {
            PastedContent::Partial { guess, guess_to, .. } => {
                Some([guess, guess_to].map(|id| id.map(|id| id.to_string())))
            }
            _ => None,
        });
        found.collect::<Vec<_>>()
    };
    assert_eq!(guesses(&ticket), [[Some("42161".to_owned()), Some("8453".to_owned())]]);
    let link = format!("from Arbitrum to Base: https://polygonscan.com/tx/{}", hash());
    assert_eq!(guesses(&link), [[Some("137".to_owned()), Some("8453".to_owned())]]);
    // The words around the hash are no row.
    for words in ["Arbitrum to Base", "250 USDC missing", "since 2 hours"] {
        assert_eq!(guesses(&format!("{} {words}", hash())), [[None, None]], "{words}");
    }
    // Whose route would it be?
    let two = format!("{ticket} 0x{}", "cd".repeat(32));
    assert_eq!(guesses(&two), [[None, None], [None, None]]);
}

#[test]
fn paste_without_a_transaction_gives_a_reason() {
    let table = [
        ("not-a-hash-line", 1, "`not-a-hash-line` has no transaction hash; paste the hash"),
        ("\n0x9f3c…e21b", 2, "has no complete hash (0x and 64"),
        ("{\"a\":", 1, "has no transaction hash"),
    ];
    for (text, at, expected) in table {
        let found = pasted(text);
        let [(line, PastedContent::Nothing { reason, .. })] = &found[..] else { panic!("{text}: {found:?}") };
        assert!(*line == at && reason.contains(expected), "{text}: {line} {reason}");
    }
    assert_eq!(pasted(" \n "), []);
}

#[test]
fn shortened_hash_is_found_anywhere_in_a_line() {
    for text in ["0x9f3c…e21b", "> about (0x9f3c…e21b), please", "SUP-1: 0x9f3c...e21b."] {
        let found = pasted(text);
        let [(1, PastedContent::Nothing { part: Some(part), .. })] = &found[..] else { panic!("{text}: {found:?}") };
        assert_eq!(part.as_str().replace("...", "…"), "0x9f3c…e21b", "{text}");
    }
    assert!(matches!(&pasted("no hash … here")[..], [(1, PastedContent::Nothing { part: None, .. })]));
}

#[test]
fn only_ticket_or_id_in_a_sentence_may_name_a_transaction() {
    let named = |text: &str| match &pasted(text)[..] {
        [(1, PastedContent::Nothing { part, .. })] => part.as_ref().map(|part| part.as_str().to_owned()),
        found => panic!("{text}: {found:?}"),
    };
    let quote = "8f14e45f-ceea-467f-a3f1-3c2b0c9d1e77";
    let table = [
        ("Hi, ticket SUP-4967: where is my money? Since 2026-11-24!", Some("SUP-4967")),
        ("SUP-4967: where is quote 8f14e45f-ceea?", Some("SUP-4967")),
        (&format!("the quoteId is {quote}, please"), Some(quote)),
        (&format!("quoteId={quote}"), Some(quote)),
        ("sender 0x00000000000000000000000000000000000000aB!", Some("0x00000000000000000000000000000000000000aB")),
        ("quotes qt-99887766 and qt-99887767", None),
        ("since 2026-11-24 at 12:30, 1500000 tokens", None),
        ("it takes 20min or so", None),
        ("failed at 2026-11-24T12:30:00Z, please help", None),
        (&format!("failed at 2026-11-24T12:30:00Z, quote {quote}"), Some(quote)),
    ];
    for (text, expected) in table {
        assert_eq!(named(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn long_paste_is_truncated_with_a_reason_and_repeats_are_marked() {
    let found = pasted(&"x".repeat(10 << 20));
    assert!(matches!(&found[..], [(1, PastedContent::Nothing { reason, .. })] if reason.contains("hoptop import")));
    assert_eq!(pasted(&"no\n".repeat(10_000)).len(), paste::LINE_LIMIT + 1);
    let quoted = format!("> {}\n", hash()).repeat(3);
    assert!(matches!(
        &pasted(&quoted)[..],
        [_, (2, PastedContent::Duplicate { line: 1, .. }), (3, PastedContent::Duplicate { line: 1, .. })]
    ));
}

fn is_clean(new: &NewTransaction) -> bool {
    let params = &new.params;
    let optional = [&params.request_id, &params.from_address, &params.ticket];
    let texts =
        [params.transaction_id.as_str(), params.from_chain.as_str(), params.to_chain.as_str(), &params.quote_id];
    let words = new.labels.iter().chain(&new.notes).map(String::as_str);
    texts.into_iter().chain(optional.into_iter().flatten().map(String::as_str)).chain(words).all(|t| clean(t) == t)
}

/// A strategy for text of fragments that the readers treat specially.
fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        Just("transactionId,fromChainId,toChainId,quoteId,labels,note\n".to_owned()),
        Just("{\"transactionId\":\"0xabcdef\",\"fromChainId\":1,\"toChainId\":10,\"quoteId\":\"q\\u001b\"}".to_owned()),
        Just(hash()),
        "[,;\t\n\r\"{}\\[\\] ]",
        "42161|8453|0x[0-9a-f]{8}|https://x/|\u{1b}\\[31m|…",
        any::<String>(),
    ];
    prop::collection::vec(fragment, 0..12).prop_map(|fragments| fragments.concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_and_read_sizes_do_not_matter(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for format in [InputFormat::Auto, InputFormat::Csv, InputFormat::Json, InputFormat::Ndjson] {
            let options = ReadOptions { format, allows_any_chain: true, ..ReadOptions::default() };
            let whole = read(&bytes, &options);
            if let Err(errors) = &whole {
                prop_assert!(!errors.is_empty());
            }
            // The result must not depend on how many bytes each read returns.
            let mut input = Read::chain(FailingInput(&bytes, 3), &b""[..]);
            let input = &mut Read::take(&mut input, bytes.len() as u64);
            let fragments = stream(input, &options, &mut |_, _| Ok::<_, ()>(()));
            prop_assert_eq!(whole.map_err(Some).err(), fragments.err().map(|error| match error {
                ReadError::Bad { errors, .. } => Some(errors),
                _ => None,
            }));
        }
    }

    #[test]
    fn all_returned_text_is_clean(text in fragments(), row in ".{0,20}", allows_any_chain in any::<bool>()) {
        let options = ReadOptions { allows_any_chain, ..ReadOptions::default() };
        let whole = format!("{HEADER},labels,note\n0xabcdef{row},1,10,q{row},{row},{row}");
        for text in [text, whole] {
            if let Ok(batch) = read(text.as_bytes(), &options) {
                prop_assert!(batch.transactions.iter().all(is_clean));
                let inert = batch.warnings.iter().all(|warning| !warning.chars().any(char::is_control));
                prop_assert!(inert);
            }
            for pasted in parse_paste(&text, &options) {
                match pasted.content {
                    PastedContent::Complete { new, .. } => prop_assert!(is_clean(&new)),
                    PastedContent::Duplicate { hash, .. } => prop_assert!(clean(hash.as_str()) == hash.as_str()),
                    PastedContent::Partial { hash, given, .. } => {
                        prop_assert!(hash.is_none_or(|hash| clean(hash.as_str()) == hash.as_str()));
                        prop_assert!(given.iter().all(|(_, value)| clean(value) == *value));
                    }
                    PastedContent::Nothing { reason, .. } => prop_assert!(!reason.chars().any(char::is_control), "{reason:?}"),
                }
            }
        }
    }
}

#[test]
fn each_kind_of_paste_is_recognised() {
    let (hash, base58) = (hash(), "5".repeat(88));
    let cosmos = "AB".repeat(32);
    let url = format!("https://api.example/v2/status?transactionId={hash}&fromChainId=42161&toChainId=8453&quoteId=q");
    let record = format!(
        r#"{{"id":"{hash}","routerTransactionStatus":"ongoing","fromChain":{{"chainData":{{"chainId":"1"}}}}}}"#
    );
    let table = [
        (hash.clone(), PasteOrigin::Text, 3, None),
        (format!("Hi, my swap ({hash}) is stuck"), PasteOrigin::Text, 3, None),
        (cosmos, PasteOrigin::Text, 3, None),
        (base58, PasteOrigin::Text, 3, Some("solana-mainnet-beta")),
        (format!("see https://arbiscan.io/tx/{hash} please"), PasteOrigin::Link, 3, Some("42161")),
        (format!("https://explorer.example/tx/{hash}"), PasteOrigin::Link, 3, None),
        (format!("{hash},arb,8453,q"), PasteOrigin::Row, 1, None),
        (format!("{HEADER}\n{hash},1,,"), PasteOrigin::Row, 2, None),
        (format!(r#"[{{"transactionId":"{hash}","quoteId":"q"}}]"#), PasteOrigin::Object, 2, None),
        (record, PasteOrigin::Record, 2, None),
        (r#"{"route":{"quoteId":"q"}}"#.to_owned(), PasteOrigin::Route, 3, None),
        (url.clone(), PasteOrigin::Request, 0, None),
        (format!("curl -s \\\n  -H 'x-integrator-id: abc' \\\n  '{url}' | jq ."), PasteOrigin::Request, 0, None),
    ];
    for (text, origin, lacks, guessed) in table {
        let found = parse_paste(&text, &ReadOptions::default());
        let [pasted] = &found[..] else { panic!("{text}: {found:?}") };
        let (missing, guess) = match &pasted.content {
            PastedContent::Complete { .. } => (0, None),
            PastedContent::Partial { missing, guess, .. } => (missing.len(), guess.as_ref().map(ChainId::as_str)),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!((pasted.origin, missing, guess), (origin, lacks, guessed), "{text}");
    }
}

#[test]
fn most_complete_line_about_a_transaction_wins() {
    let hash = hash();
    let text = format!("stuck: {hash}\n{hash},1,10,q\n{hash},1,10,other\n{hash},56,10,q");
    let found = pasted(&text);
    let again = |at: usize| matches!(&found[at], (_, PastedContent::Duplicate { line: 2, .. }));
    assert!(again(0) && again(2), "{found:?}");
    assert!(
        matches!((&found[1].1, &found[3].1), (PastedContent::Complete { .. }, PastedContent::Complete { .. })),
        "{found:?}"
    );
}

#[test]
fn objects_are_read_among_sentences_rows_and_commands() {
    let [own, other] = [hash(), format!("0x{:064x}", 7)];
    let object = format!(r#"{{"transactionId":"{own}","fromChainId":"8453","toChainId":"1","quoteId":"q88"}}"#);
    let row = format!("{other},42161,8453,q77");
    for text in [
        format!("Hello, my transfer is lost. Record:\n{object}\n{row}\nThanks, Ana"),
        format!("Hi team, please check {object} thanks\n{row}"),
        format!("{object}\nThanks, Ana\n{row}"),
        format!("{row}\n{object}"),
        format!(
            "Both: [{object}, {{\"transactionId\":\"{other}\",\"fromChainId\":1,\"toChainId\":10,\"quoteId\":\"q\"}}]"
        ),
        format!("{row} is fine\n{row}\nbut see {object}"),
        format!("{object},\n{}", object.replace(&own, &other)),
        format!("{}\nThanks, Ana\n{row}", object.replace(',', ",\n  ")),
    ] {
        let complete = pasted(&text).into_iter().filter_map(|(_, found)| match found {
            PastedContent::Complete { new, .. } => Some(new.params.transaction_id.to_string()),
            _ => None,
        });
        assert_eq!(complete.collect::<BTreeSet<_>>(), BTreeSet::from([own.clone(), other.clone()]), "{text}");
    }
}

#[test]
fn record_in_a_ticket_is_completed_by_the_labelled_values() {
    let hash = hash();
    let record =
        format!(r#"{{"id":"{hash}","routerTransactionStatus":"ongoing","fromChain":{{"transactionId":"{hash}"}}}}"#);
    let ticket = format!("From chain: 42161\nTo chain: 8453\nquoteId: 5f2a90aa\n{record}\nThanks");
    let found = pasted(&ticket);
    assert!(
        found.iter().any(|(line, found)| *line == 4 && matches!(found, PastedContent::Complete { .. })),
        "{found:?}"
    );
    // The record counts more than the hash alone, and its own chain more than a label.
    let record = record.replace(r#""}}"#, r#"","chainData":{"chainId":"42161"}}}"#);
    let found =
        pasted(&format!("my tx {hash} is stuck, the API says:\n{record}\nFrom chain: 1\nTo chain: 8453\nquoteId: q1"));
    let complete = found.iter().find_map(|(_, found)| match found {
        PastedContent::Complete { new, .. } => Some(new.params.from_chain.as_str()),
        _ => None,
    });
    assert_eq!(complete, Some("42161"), "{found:?}");
    // An object without a hash doesn't keep the hash from being completed.
    let route = format!(
        "Hash: {hash}\nFrom chain: 42161\nTo chain: 8453\nquoteId: 5f2a90aa\n{{\"level\":\"info\",\"quoteId\":\"q\"}}"
    );
    assert!(pasted(&route).iter().any(|(_, found)| matches!(found, PastedContent::Complete { .. })));
    // A hash under an unknown name is found, and the values of another object aren't its own.
    let nameless = pasted(&format!("Failed: {{\"quoteId\":\"q1\",\"txHash\":\"{hash}\"}} please help"));
    assert!(nameless.iter().any(|(_, found)| matches!(found, PastedContent::Partial { hash: Some(_), .. })));
    let lacking = format!(
        "{{\"transactionId\": \"{hash}\", \"fromChainId\": 1, \"toChainId\": 10, \"quoteId\": \"q1\"}},\n\
         {{\"transactionId\": \"0x{:064x}\", \"fromChainId\": 1, \"toChainId\": 10}}",
        8
    );
    let found = pasted(&lacking);
    assert!(
        matches!(found.as_slice(), [(1, PastedContent::Complete { .. }), (2, PastedContent::Partial { .. })]),
        "{found:?}"
    );
    let dict = format!("{{'transactionId': '{hash}', 'fromChainId': 42161, 'toChainId': 8453, 'quoteId': '5f2a90aa'}}");
    let quote = pasted(&dict).into_iter().find_map(|(_, found)| match found {
        PastedContent::Complete { new, .. } => Some(new.params.quote_id),
        _ => None,
    });
    assert_eq!(quote.as_deref(), Some("5f2a90aa"));
    for depth in [16_000, 13_000] {
        let nested = r#"{"":"#.repeat(depth) + &"}".repeat(depth - 13_000);
        assert!(pasted(&nested).iter().all(|(_, found)| matches!(found, PastedContent::Nothing { .. })));
    }
    let other = format!("0x{:064x}", 7);
    let found = pasted(&format!("{other} is stuck too, like {record}"));
    assert_eq!(
        found.iter().filter(|(_, found)| matches!(found, PastedContent::Partial { .. })).count(),
        2,
        "{found:?}"
    );
}

#[test]
fn hash_that_looks_wrong_has_a_warning() {
    let warning = |text: &str| hash_warning(&TxHash::new(text), &ChainId::new("1")).unwrap_or_default();
    let base_58 = "5HopSolanaSignature7".repeat(4);
    assert_eq!([&*hash(), &base_58, &format!("{base_58}_30-100")].map(warning), ["", "", ""]);
    assert_eq!(warning("ab12cd"), "the hash has only 6 characters; check that it was copied whole");
    assert_eq!(warning("0xabc"), "the hash has 3 hexadecimal digits; a complete hash has 64");
    assert!(warning(&format!("{},", hash())).starts_with("the hash has `,` in it"));
}

#[test]
fn text_that_repeats_its_hash_keeps_its_values_and_the_chain_of_its_link() {
    let hash = hash();
    let ticket = format!(
        "Hash: {hash}\nExplorer: https://arbiscan.io/tx/{hash}\nFrom chain: Arbitrum (42161)\nTo chain: Base (8453)\nquoteId: 5f2a90aa"
    );
    let found = pasted(&ticket);
    let complete: Vec<_> = found.iter().filter(|(_, found)| matches!(found, PastedContent::Complete { .. })).collect();
    assert!(complete.len() == 1 && found.len() == 2, "{found:?}");
    for text in [format!("[{hash}](https://arbiscan.io/tx/{hash})"), format!("{hash}\nhttps://arbiscan.io/tx/{hash}")] {
        let found = pasted(&text);
        let PastedContent::Partial { guess, .. } = &found[0].1 else { panic!("{found:?}") };
        assert_eq!(guess, &Some(ChainId::new("42161")), "{text}");
    }
    let request = format!(
        "https://api.example/v2/status?transactionId={hash}&fromChainId=42161&toChainId=8453\nTx: {hash}\nFrom chain: 42161\nTo chain: 8453\nQuote ID: 5f2a90aa"
    );
    let found = pasted(&request);
    assert!(found.iter().any(|(_, found)| matches!(found, PastedContent::Complete { .. })), "{found:?}");
}

#[test]
fn invisible_characters_in_a_pasted_hash_do_not_count() {
    let hash = hash();
    let (start, end) = hash.split_at(34);
    for invisible in ['\u{200b}', '\u{ad}'] {
        let found = pasted(&format!("my tx {start}{invisible}{end} is stuck"));
        let PastedContent::Partial { hash: Some(read), .. } = &found[0].1 else { panic!("{found:?}") };
        assert_eq!(read.as_str(), hash);
    }
}

#[test]
fn labelled_values_complete_the_only_hash_of_a_text() {
    let mut tx = fixtures::transaction(1);
    tx.params.request_id = Some("9c1e-77".into());
    let packet = write_reply(&[&tx], Audience::Provider, tx.first_seen_at, Utc.fix(), &ReplyTemplates::default());
    let complete = |text: &str| {
        let found: Vec<_> = pasted(text).into_iter().map(|(_, content)| content).collect();
        found.into_iter().find_map(|content| match content {
            PastedContent::Complete { new, .. } => Some(new.params),
            _ => None,
        })
    };
    assert_eq!(complete(&packet), Some(TransactionParams { estimate: None, ..tx.params.clone() }));
    let labelled = format!("Hash: {}\nfromChainId: 42161\ntoChainId: 8453\nquoteId: q-1", hash());
    assert_eq!(pasted(&labelled).len(), 1, "the lines with labels are no findings");
    let from_name = format!("{} from chain: Arbitrum, to chain ID 8453, quote ID q-1", hash());
    let [(1, PastedContent::Partial { missing, guess, .. })] = &pasted(&from_name)[..] else { panic!("{from_name}") };
    assert_eq!((missing.as_slice(), guess), (&[Field::FromChainId][..], &Some(ChainId::new("42161"))));
    // The values could belong to either hash.
    assert_eq!(complete(&format!("{labelled}\n0x{}", "cd".repeat(32))), None);
}
