//! The invariants of every result, for any input. The properties here and the targets in `fuzz/` share them.
//!
//! This module must never use the code under test to evaluate_answer a result, and never use another module of the tests.

use std::time::Duration;

use hoptop::internals::{
    api::{HttpAnswer, StatusAnswer},
    domain::{
        ChainId, FIELD_LIMIT, NewTransaction, QuoteAnswer, RequestFailure, StatusOutcome, TransactionParams, TxHash,
    },
    intake::{LineError, ParsedFile, PasteFinding, PastedContent},
};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// The source hash of `fuzz/seeds/record/full.json`.
const HASH: &str = "0x0000000000000000000000000000000000000000000000000000000000000001";
/// The longest rest that may be accepted from the service.
const MAX_REST: Duration = Duration::from_secs(600);
/// The longest route estimate that may be accepted.
const MAX_ESTIMATE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The longest time for which a wallet's quotes may be held back.
const MAX_WALLET_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest message about a line of an import, in characters: up to eleven fields with a reason and an excerpt each.
const LINE_LIMIT: usize = 11 * (FIELD_LIMIT + 200);

/// Returns the parameters of the transaction that the tests poll.
pub(crate) fn params() -> TransactionParams {
    TransactionParams {
        transaction_id: TxHash::new(HASH),
        from_chain: ChainId::new("42161"),
        to_chain: ChainId::new("8453"),
        quote_id: "quote-1".into(),
        request_id: None,
        estimate: None,
        submitted_at: None,
        from_address: None,
        ticket: None,
    }
}

/// The longest text that may be made of a node's response, in characters.
const CHAIN_LIMIT: usize = FIELD_LIMIT + 400;

/// Fails unless a node's answer became a verdict or a sentence, with inert text of a bounded length.
pub(crate) fn assert_chain_read(read: &Result<String, String>) {
    let (Ok(text) | Err(text)) = read;
    assert_inert(text);
    assert!(text.chars().count() <= CHAIN_LIMIT, "{text}");
    if read.is_ok() {
        let known = ["Succeeded(", "Reverted(", "Pending", "Unknown("];
        assert!(known.iter().any(|verdict| text.contains(&format!("verdict: {verdict}"))), "{text}");
    }
}

/// Fails unless a text consists of letters, marks, numbers, punctuation, symbols and single spaces, with at most four
/// marks in a row.
fn assert_inert(text: &str) {
    let mut marks = 0;
    for character in text.chars() {
        use GeneralCategoryGroup as Group;
        let group = character.general_category_group();
        marks = if group == Group::Mark { marks + 1 } else { 0 };
        let is_visible =
            matches!(group, Group::Letter | Group::Mark | Group::Number | Group::Punctuation | Group::Symbol);
        let is_blank = matches!(character, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}');
        assert!(character == ' ' || (is_visible && !is_blank), "{character:?} in {text:?}");
        assert!(marks <= 4, "{marks} marks in a row in {text:?}");
    }
    assert!(!text.contains("  "), "two blanks in {text:?}");
}

/// Fails unless a text is as the sanitiser must return it: inert, short enough, trimmed, without a leading mark.
pub(crate) fn assert_clean(text: &str) {
    assert_inert(text);
    assert!(text.chars().count() <= FIELD_LIMIT, "{} characters: {text:?}", text.chars().count());
    assert!(text.trim() == text, "blanks at the ends of {text:?}");
    let begins_with_mark =
        text.chars().next().is_some_and(|first| first.general_category_group() == GeneralCategoryGroup::Mark);
    assert!(!begins_with_mark, "a mark without a base in {text:?}");
}

/// Fails unless the kind of the outcome follows from the HTTP status alone, and every text in the answer is clean.
pub(crate) fn assert_heard(reply: &HttpAnswer<'_>, answer: &StatusAnswer) {
    assert_all_clean(&serde_json::to_value(&answer.chains).expect("chains can be encoded"));
    let outcome = &answer.outcome;
    let is_expected = match (reply.status, outcome) {
        (
            200,
            StatusOutcome::Record(_)
            | StatusOutcome::Failed(RequestFailure::Unreadable(_) | RequestFailure::OtherTransaction(_)),
        ) => true,
        (404, StatusOutcome::NotFound(_)) => true,
        (400, StatusOutcome::Failed(RequestFailure::Rejected(_))) => true,
        (401, StatusOutcome::Failed(RequestFailure::Unauthorized(_))) => true,
        (429, StatusOutcome::Failed(RequestFailure::Throttled { .. })) => true,
        (200 | 400 | 401 | 404 | 429, _) => false,
        (reply_status, StatusOutcome::Failed(RequestFailure::Server { status, .. })) => reply_status == *status,
        _ => false,
    };
    assert!(is_expected, "HTTP {} became {outcome:?}", reply.status);
    match outcome {
        StatusOutcome::NotFound(message) => message.iter().for_each(|message| assert_clean(message)),
        StatusOutcome::Failed(failure) => assert_failure(failure),
        // Every text in the record must be clean, keys as well.
        StatusOutcome::Record(record) => {
            let encoded = serde_json::to_value(record).expect("a record can be encoded");
            assert_all_clean(&encoded);
            let decoded = serde_json::from_value(encoded).expect("a record can be decoded");
            assert_eq!(**record, decoded);
        }
    }
}

/// Fails unless every text in a route's answer is clean, and its rest and estimate are within their limits.
pub(crate) fn assert_quote(answer: &QuoteAnswer) {
    match answer {
        QuoteAnswer::Route(quote) => {
            quote.quote_id.iter().chain(&quote.warnings).for_each(|text| assert_clean(text));
            assert!(quote.estimate.is_none_or(|estimate| estimate <= MAX_ESTIMATE), "{quote:?}");
        }
        QuoteAnswer::WalletLimited { message, retry_after } => {
            assert_clean(message);
            assert!(*retry_after <= MAX_WALLET_LIMIT, "{retry_after:?}");
        }
        QuoteAnswer::Failed(failure) => assert_failure(failure),
    }
}

fn assert_failure(failure: &RequestFailure) {
    assert_clean(&failure.one_line());
    match failure {
        RequestFailure::Throttled { message, retry_after } => {
            message.iter().for_each(|message| assert_clean(message));
            let is_bounded = |rest: Duration| !rest.is_zero() && rest <= MAX_REST;
            assert!(retry_after.is_none_or(is_bounded), "a rest of {retry_after:?}");
        }
        RequestFailure::Rejected(text) | RequestFailure::Unauthorized(text) | RequestFailure::Unreadable(text) => {
            assert_clean(text)
        }
        RequestFailure::Server { message, .. } => assert_clean(message),
        RequestFailure::OtherTransaction(text) | RequestFailure::Transport(text) | RequestFailure::Local(text) => {
            assert_clean(text)
        }
        RequestFailure::TimedOut(_) => {}
    }
}

fn assert_all_clean(value: &serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::String(text) => assert_clean(text),
        Value::Array(entries) => entries.iter().for_each(assert_all_clean),
        Value::Object(object) => object.iter().for_each(|(key, value)| {
            assert_clean(key);
            assert_all_clean(value);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Fails unless an import is whole or refused, each transaction is unique, and every text is clean.
pub(crate) fn assert_import(read: &Result<ParsedFile, Vec<LineError>>) {
    match read {
        Ok(batch) => {
            batch.transactions.iter().for_each(assert_transaction);
            batch.warnings.iter().for_each(|warning| assert_line(warning));
            let key = |new: &NewTransaction| (new.params.from_chain.clone(), new.params.transaction_id.key());
            let mut keys: Vec<_> = batch.transactions.iter().map(key).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), batch.transactions.len(), "a transaction occurs twice");
        }
        Err(errors) => {
            assert!((1..=1_001).contains(&errors.len()), "{} errors", errors.len());
            errors.iter().for_each(|error| assert_line(&error.to_string()));
        }
    }
}

/// Fails unless the values of a paste are clean, and its messages are bounded.
pub(crate) fn assert_paste(found: &[PasteFinding]) {
    for pasted in found {
        assert!(pasted.line >= 1);
        match &pasted.content {
            PastedContent::Complete { new, .. } => assert_transaction(new),
            PastedContent::Duplicate { hash, line } => {
                assert!(*line >= 1);
                assert_clean(hash.as_str());
            }
            PastedContent::Partial { hash, given, .. } => {
                hash.iter().for_each(|hash| assert_clean(hash.as_str()));
                given.iter().for_each(|(_, value)| assert_clean(value));
            }
            PastedContent::Nothing { reason, .. } => assert_line(reason),
        }
    }
}

fn assert_transaction(new: &NewTransaction) {
    let params = &new.params;
    let required =
        [params.transaction_id.as_str(), params.from_chain.as_str(), params.to_chain.as_str(), &params.quote_id];
    for text in required {
        assert!(!text.is_empty(), "something required is empty: {params:?}");
        // A text of this length was cut, and the service must never be asked about a cut ID.
        assert!(text.chars().count() < FIELD_LIMIT, "{text:?} was cut");
    }
    let optional = [&params.request_id, &params.from_address, &params.ticket];
    let words = new.labels.iter().chain(&new.notes).map(String::as_str);
    let texts = optional.into_iter().flatten().map(String::as_str).chain(words);
    required.into_iter().chain(texts).for_each(assert_clean);
}

/// Fails unless a message about a line is inert, not empty and bounded.
fn assert_line(message: &str) {
    assert_inert(message);
    assert!(!message.is_empty() && message.chars().count() <= LINE_LIMIT, "{message:?}");
}
