//! What must hold of whatever comes out, for any input: shared by the properties here and the targets in `fuzz/`.
//!
//! It must never ask the code under test whether the code under test is right, and needs nothing but the crate itself.

use std::time::Duration;

use hoptop::{
    api::{Reply, StatusAnswer},
    domain::{
        ids::{ChainId, TxHash},
        observation::{Failure, Outcome},
        quote::QuoteAnswer,
        text::FIELD_LIMIT,
        transaction::{NewTransaction, TransactionParams},
    },
    intake::{Batch, Content, LineError, Pasted},
};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// The source hash of `fuzz/seeds/record/full.json`.
const HASH: &str = "0x0000000000000000000000000000000000000000000000000000000000000001";
/// The longest rest that may be taken, whatever is asked for.
const LONGEST_REST: Duration = Duration::from_secs(600);
/// The longest estimate that may be believed.
const LONGEST_ESTIMATE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The longest that a wallet may be held back.
const LONGEST_WALLET_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// A line of an import names up to eleven fields, each with a reason and an excerpt.
const LINE_LIMIT: usize = 11 * (FIELD_LIMIT + 200);

/// The transaction that is asked about.
pub fn params() -> TransactionParams {
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

/// Only letters, marks, numbers, punctuation and symbols, with single spaces between them; at most four marks in a row.
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

/// Text as the sanitiser lets it through.
pub fn assert_clean(text: &str) {
    assert_inert(text);
    assert!(text.chars().count() <= FIELD_LIMIT, "{} characters: {text:?}", text.chars().count());
    assert!(text.trim() == text, "blanks at the ends of {text:?}");
    let begins_with_mark =
        text.chars().next().is_some_and(|first| first.general_category_group() == GeneralCategoryGroup::Mark);
    assert!(!begins_with_mark, "a mark without a base in {text:?}");
}

/// What came of a reply follows from its HTTP status alone, and every text in it is clean.
pub fn assert_heard(reply: &Reply<'_>, heard: &StatusAnswer) {
    assert_all_clean(&serde_json::to_value(&heard.chains).expect("chains can be written"));
    let outcome = &heard.outcome;
    let follows = match (reply.status, outcome) {
        (200, Outcome::Record(_) | Outcome::Failed(Failure::Unreadable(_) | Failure::OtherTransaction(_))) => true,
        (404, Outcome::NotFound(_)) => true,
        (400, Outcome::Failed(Failure::Rejected(_))) => true,
        (401, Outcome::Failed(Failure::Unauthorized(_))) => true,
        (429, Outcome::Failed(Failure::Throttled { .. })) => true,
        (200 | 400 | 401 | 404 | 429, _) => false,
        (sent, Outcome::Failed(Failure::Server { status, .. })) => sent == *status,
        _ => false,
    };
    assert!(follows, "HTTP {} became {outcome:?}", reply.status);
    match outcome {
        Outcome::NotFound(said) => said.iter().for_each(|said| assert_clean(said)),
        Outcome::Failed(failure) => assert_failure(failure),
        // What it holds by name is nobody's business here: every text in it is clean, keys as well.
        Outcome::Record(record) => {
            let written = serde_json::to_value(record).expect("a record can be written");
            assert_all_clean(&written);
            let again = serde_json::from_value(written).expect("a record can be read again");
            assert_eq!(**record, again);
        }
    }
}

/// Every text in an answer about a route is clean, and no rest or estimate is beyond what may be believed.
pub fn assert_quote(answer: &QuoteAnswer) {
    match answer {
        QuoteAnswer::Route(quote) => {
            quote.quote_id.iter().chain(&quote.warnings).for_each(|text| assert_clean(text));
            assert!(quote.estimate.is_none_or(|estimate| estimate <= LONGEST_ESTIMATE), "{quote:?}");
        }
        QuoteAnswer::WalletLimited { message, retry_after } => {
            assert_clean(message);
            assert!(*retry_after <= LONGEST_WALLET_LIMIT, "{retry_after:?}");
        }
        QuoteAnswer::Failed(failure) => assert_failure(failure),
    }
}

fn assert_failure(failure: &Failure) {
    assert_clean(&failure.line());
    match failure {
        Failure::Throttled { message, retry_after } => {
            message.iter().for_each(|said| assert_clean(said));
            let is_bounded = |rest: Duration| !rest.is_zero() && rest <= LONGEST_REST;
            assert!(retry_after.is_none_or(is_bounded), "a rest of {retry_after:?}");
        }
        Failure::Rejected(said) | Failure::Unauthorized(said) | Failure::Unreadable(said) => assert_clean(said),
        Failure::Server { message, .. } => assert_clean(message),
        Failure::OtherTransaction(said) | Failure::Transport(said) => assert_clean(said),
        Failure::TimedOut(_) => {}
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

/// All or nothing, none twice, and nothing in it that hasn't been cleaned.
pub fn assert_import(read: &Result<Batch, Vec<LineError>>) {
    match read {
        Ok(batch) => {
            batch.transactions.iter().for_each(assert_transaction);
            batch.warnings.iter().for_each(|warning| assert_line(warning));
            let key = |new: &NewTransaction| (new.params.from_chain.clone(), new.params.transaction_id.key());
            let mut keys: Vec<_> = batch.transactions.iter().map(key).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), batch.transactions.len(), "a transaction comes twice");
        }
        Err(errors) => {
            assert!((1..=1_001).contains(&errors.len()), "{} errors", errors.len());
            errors.iter().for_each(|error| assert_line(&error.to_string()));
        }
    }
}

/// A paste holds clean values only, and is bounded.
pub fn assert_paste(found: &[Pasted]) {
    for pasted in found {
        assert!(pasted.line >= 1);
        match &pasted.content {
            Content::Complete(new) => assert_transaction(new),
            Content::Again { hash, line } => {
                assert!(*line >= 1);
                assert_clean(hash.as_str());
            }
            Content::Partial { hash, given, .. } => {
                hash.iter().for_each(|hash| assert_clean(hash.as_str()));
                given.iter().for_each(|(_, value)| assert_clean(value));
            }
            Content::Nothing { reason, .. } => assert_line(reason),
        }
    }
}

fn assert_transaction(new: &NewTransaction) {
    let params = &new.params;
    let required =
        [params.transaction_id.as_str(), params.from_chain.as_str(), params.to_chain.as_str(), &params.quote_id];
    for text in required {
        assert!(!text.is_empty(), "something required is empty: {params:?}");
        // Cut text ends so, and nobody is to be asked with half an ID.
        assert!(text.chars().count() < FIELD_LIMIT, "{text:?} was cut");
    }
    let optional = [&params.request_id, &params.from_address, &params.ticket];
    let words = new.labels.iter().chain(&new.notes).map(String::as_str);
    let texts = optional.into_iter().flatten().map(String::as_str).chain(words);
    required.into_iter().chain(texts).for_each(assert_clean);
}

/// A message about a line: bounded and inert.
fn assert_line(message: &str) {
    assert_inert(message);
    assert!(!message.is_empty() && message.chars().count() <= LINE_LIMIT, "{message:?}");
}
