//! The six properties: the generated input, the call, and what must be true of the result.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::MutexGuard,
    time::Duration,
};

use chrono::{DateTime, Utc};
use hoptop::internals::{
    api::{HttpAnswer, interpret, interpret_route},
    chain_rpc::describe_body,
    domain::{FIELD_LIMIT, RequestFailure, StatusOutcome, clean},
    intake::{InputFormat, InputPosition, ReadOptions, parse_paste, read},
};
use proptest::{
    prelude::*,
    sample::{Index, select},
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

use super::{
    files,
    generators::{self, DATE_FORMS},
    invariants::{self, params},
    measure::{self, Figures},
};

/// Checks a number of inputs, and measures their costs.
pub(crate) struct PropertyRun {
    inputs: u32,
    figures: RefCell<Figures>,
    _lock: MutexGuard<'static, ()>,
}

impl PropertyRun {
    /// Creates a run with this number of inputs.
    pub(crate) fn new(inputs: u32) -> Self {
        Self { inputs, figures: RefCell::default(), _lock: measure::lock_measurements() }
    }

    /// Returns the highest costs of the inputs.
    pub(crate) fn figures(self) -> Figures {
        self.figures.into_inner()
    }

    fn for_each_input<S: Strategy>(&self, strategy: S, check: impl Fn(S::Value)) {
        let config = Config { cases: self.inputs, failure_persistence: None, ..Config::default() };
        let checked = TestRunner::new(config).run(&strategy, |input| {
            check(input);
            Ok(())
        });
        if let Err(failure) = checked {
            panic!("{failure}");
        }
    }

    fn measure<T>(&self, work: impl Fn() -> T) -> T {
        self.figures.borrow_mut().measure(work)
    }

    fn interpret_reply(&self, reply: &HttpAnswer<'_>, wall: DateTime<Utc>) -> StatusOutcome {
        let answer = self.measure(|| interpret(reply, &params(), wall));
        invariants::assert_heard(reply, &answer);
        invariants::assert_quote(&interpret_route(reply, wall.timestamp() % 2 == 0, wall));
        answer.outcome
    }

    fn interpret_ok(&self, body: &[u8]) -> StatusOutcome {
        self.interpret_reply(&HttpAnswer { status: 200, retry_after: None, body }, DateTime::UNIX_EPOCH)
    }
}

// --- Records ---

/// The leaves of a record by JSON pointer, without its warnings and unknown fields.
type LeafValues = BTreeMap<String, Value>;

/// Returns the leaves of a record; `None` for any other outcome.
fn read_leaves(outcome: &StatusOutcome) -> Option<LeafValues> {
    let StatusOutcome::Record(record) = outcome else { return None };
    let mut encoded = serde_json::to_value(record).unwrap();
    // Both list what is unusual in the record, so a difference there is no loss.
    encoded.as_object_mut().unwrap().retain(|key, _| !matches!(key.as_str(), "warnings" | "other"));
    let leaf = |pointer: String| Some((pointer.clone(), encoded.pointer(&pointer)?.clone()));
    Some(generators::pointers(&encoded).into_iter().filter_map(leaf).filter(|(_, value)| !value.is_object()).collect())
}

fn find_differences(left: &LeafValues, right: &LeafValues) -> BTreeSet<String> {
    let differs = |pointer: &&String| left.get(*pointer) != right.get(*pointer);
    left.keys().chain(right.keys()).filter(differs).cloned().collect()
}

/// Returns the JSON text of `value` with the value at `pointer` replaced by raw text, or removed if `raw` is `None`.
fn replace_at(value: &Value, pointer: &str, raw: Option<&str>) -> String {
    const MARK: &str = "@@@";
    let mut copy = value.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match (copy.pointer_mut(parent).unwrap(), raw) {
        (Value::Object(object), Some(_)) => drop(object.insert(name.to_owned(), MARK.into())),
        (Value::Object(object), None) => drop(object.remove(name)),
        (Value::Array(entries), Some(_)) => entries[name.parse::<usize>().unwrap()] = MARK.into(),
        (Value::Array(entries), None) => drop(entries.remove(name.parse().unwrap())),
        _ => unreachable!("there is nothing at {pointer}"),
    }
    copy.to_string().replacen(&format!("\"{MARK}\""), raw.unwrap_or_default(), 1)
}

/// A field of the record, and the leaves that depend on it: those that some replacement of the field changes.
struct ProbedField {
    pointer: String,
    dependents: BTreeSet<String>,
}

impl ProbedField {
    fn probe_all(full: &Value, known: &LeafValues, interpret_body: impl Fn(&str) -> Option<LeafValues>) -> Vec<Self> {
        let probes = ["null", "\"x\"", "\"https://x.example/\"", "7", "-1.5", "true", "[]", "[7]", "{}", "\"7\""];
        let field = |pointer: String| {
            let bodies =
                probes.iter().map(|probe| Some(*probe)).chain([None]).map(|raw| replace_at(full, &pointer, raw));
            let changed =
                bodies.filter_map(|body| interpret_body(&body)).flat_map(|leaves| find_differences(known, &leaves));
            let mut dependents: BTreeSet<String> = changed.collect();
            // A replacement of an array or an object may have any shape, so the whole branch depends on the field.
            if full.pointer(&pointer).is_some_and(|value| value.is_array() || value.is_object()) {
                dependents =
                    dependents.iter().filter_map(|leaf| leaf.split('/').nth(1)).map(|top| format!("/{top}")).collect();
            }
            Self { pointer, dependents }
        };
        generators::pointers(full).into_iter().map(field).collect()
    }

    fn covers(&self, leaf: &str) -> bool {
        self.dependents.iter().any(|known| leaf == known || leaf.starts_with(&format!("{known}/")))
    }

    /// Whether a new value of this field can make the record one of another transaction.
    fn contains_hash(&self) -> bool {
        "/fromChain/transactionId".starts_with(&self.pointer)
    }
}

impl PropertyRun {
    /// Checks bodies of HTTP 200. A spoiled field costs only that field; a repeated name, a cut and a wrong character
    /// have their documented effects.
    pub(crate) fn check_records(&mut self) {
        let full = generators::full_record();
        let interpret_body = |body: &str| {
            read_leaves(
                &interpret(
                    &HttpAnswer { status: 200, retry_after: None, body: body.as_bytes() },
                    &params(),
                    DateTime::UNIX_EPOCH,
                )
                .outcome,
            )
        };
        let known = interpret_body(&full.to_string()).unwrap();
        let fields = ProbedField::probe_all(&full, &known, interpret_body);
        let mode = select(vec!["spoil", "spoil", "spoil", "spoil", "twice", "cut", "stray"]);
        self.for_each_input((any::<Index>(), generators::json(), mode, any::<Index>()), |(field, raw, mode, at)| {
            let field = field.get(&fields);
            let is_json = serde_json::from_str::<Value>(&raw).is_ok();
            match mode {
                "spoil" => self.check_field(field, &replace_at(&full, &field.pointer, Some(&raw)), &known, is_json),
                "twice" if is_json => self.check_repeated_name(&full, &known, &raw, at),
                "cut" => {
                    let body = replace_at(&full, &field.pointer, Some(&raw));
                    let outcome = self.interpret_ok(&body.as_bytes()[..at.index(body.len())]);
                    assert!(matches!(outcome, StatusOutcome::Failed(RequestFailure::Unreadable(_))), "{outcome:?}");
                }
                _ => {
                    let mut body = full.to_string().into_bytes();
                    let at = at.index(body.len());
                    body[at] = raw.bytes().next().unwrap_or(0xff);
                    drop(self.interpret_ok(&body));
                    drop(self.interpret_ok(raw.as_bytes()));
                }
            }
        });
    }

    fn check_field(&self, field: &ProbedField, body: &str, known: &LeafValues, is_json: bool) {
        let outcome = self.interpret_ok(body.as_bytes());
        match &outcome {
            StatusOutcome::Record(_) => {
                let changed = find_differences(known, &read_leaves(&outcome).unwrap());
                let lost: Vec<_> = changed.iter().filter(|leaf| !field.covers(leaf)).collect();
                assert!(lost.is_empty(), "{} costs {lost:?}: {body}", field.pointer);
            }
            StatusOutcome::Failed(RequestFailure::OtherTransaction(_)) => assert!(field.contains_hash(), "{body}"),
            // Together with the record around it, the value is nested deeper than the limit.
            StatusOutcome::Failed(RequestFailure::Unreadable(why)) => {
                assert!(!is_json || why.contains("recursion limit"), "{why}: {body}");
            }
            other => panic!("{other:?}"),
        }
    }

    /// Checks that the last of two fields with the same name counts.
    fn check_repeated_name(&self, full: &Value, known: &LeafValues, raw: &str, at: Index) {
        let names: Vec<_> = full.as_object().unwrap().keys().map(|name| Value::from(name.as_str())).collect();
        let body = full.to_string().replacen('{', &format!("{{{}:{raw},", at.get(&names)), 1);
        match read_leaves(&self.interpret_ok(body.as_bytes())) {
            Some(leaves) => assert_eq!(&leaves, known, "{body}"),
            None => assert!(raw.len() > 120, "{body}"),
        }
    }

    /// Checks bodies of any HTTP status: the status alone decides the kind of the outcome.
    pub(crate) fn check_error_bodies(&mut self) {
        let status = prop_oneof![3 => select(vec![200_u16, 400, 401, 404, 429, 500, 502, 302]), 1 => any::<u16>()];
        self.for_each_input((status, generators::error_body()), |(status, body)| {
            drop(self.interpret_reply(&HttpAnswer { status, retry_after: None, body: &body }, DateTime::UNIX_EPOCH));
        });
    }
}

// --- Nodes of chains ---

impl PropertyRun {
    /// Spoils up to three fields of a node's answer, or sends a body that is no answer.
    pub(crate) fn check_chains(&mut self) {
        let whole: Value = serde_json::from_str(include_str!("../../fuzz/seeds/json_rpc/mined")).unwrap();
        let pointers = generators::pointers(&whole);
        let spoiled = prop::collection::vec((any::<Index>(), prop::option::of(generators::json())), 0..4);
        let body = prop_oneof![
            4 => spoiled.prop_map(move |spoiled| {
                let mut answer = whole.clone();
                for (index, raw) in spoiled {
                    let pointer = index.get(&pointers);
                    if answer.pointer(pointer).is_some() {
                        let text = replace_at(&answer, pointer, raw.as_deref());
                        answer = serde_json::from_str(&text).unwrap_or(answer);
                    }
                }
                answer.to_string().into_bytes()
            }),
            1 => generators::error_body(),
        ];
        self.for_each_input(body, |body| invariants::assert_chain_read(&self.measure(|| describe_body(&body))));
    }
}

// --- Rests ---

/// The value of a `Retry-After` header; the rest for an `Odd` value isn't known here.
#[derive(Clone, Debug)]
enum HeaderValue {
    Seconds(u64),
    Date(DateTime<Utc>, &'static str),
    Odd(String),
}

impl PropertyRun {
    /// Checks the `Retry-After` header, and the `retryAfter` of the body that replaces a header without a rest.
    pub(crate) fn check_rests(&mut self) {
        let value = prop_oneof![
            prop_oneof![0..1_000_u64, any::<u64>()].prop_map(HeaderValue::Seconds),
            (generators::moment(), select(&DATE_FORMS[..])).prop_map(|(moment, form)| HeaderValue::Date(moment, form)),
            generators::odd_header().prop_map(HeaderValue::Odd),
            generators::odd_header().prop_map(HeaderValue::Odd),
        ];
        let body = prop_oneof![
            Just("{\"retryAfter\":30}".to_owned()),
            generators::json().prop_map(|raw| format!("{{\"retryAfter\":{raw}}}"))
        ];
        let wall = prop_oneof![generators::moment(), Just(DateTime::<Utc>::MIN_UTC), Just(DateTime::<Utc>::MAX_UTC)];
        self.for_each_input((value, wall, body), |(value, wall, body)| {
            let header = match &value {
                HeaderValue::Seconds(seconds) => seconds.to_string(),
                HeaderValue::Date(moment, form) => moment.format(form).to_string(),
                HeaderValue::Odd(header) => header.clone(),
            };
            let rest = |header: Option<&str>| match self
                .interpret_reply(&HttpAnswer { status: 429, retry_after: header, body: body.as_bytes() }, wall)
            {
                StatusOutcome::Failed(RequestFailure::Throttled { retry_after, .. }) => retry_after,
                other => panic!("{other:?}"),
            };
            let seconds = match value {
                HeaderValue::Seconds(seconds) => seconds,
                // A year of two digits is read as one from 1970 to 2069, so only dates before 2068 are compared.
                HeaderValue::Date(moment, form) if form != DATE_FORMS[1] || moment.timestamp() < 3_092_601_600 => {
                    u64::try_from((moment - wall).num_seconds()).unwrap_or_default()
                }
                _ => {
                    rest(Some(&header));
                    return;
                }
            };
            let expected = Some(Duration::from_secs(seconds.min(600))).filter(|rest| !rest.is_zero());
            assert_eq!(rest(Some(&header)), expected.or_else(|| rest(None)), "{header} at {wall}, {body}");
        });
    }

    /// Checks files with known good and bad rows, and random bytes.
    pub(crate) fn check_imports(&mut self) {
        self.for_each_input(
            (files::file(), files::random_bytes(), any::<bool>()),
            |(file, random_bytes, any_chain)| {
                let (bytes, bad) = file.encode();
                let found = self.measure(|| {
                    read(
                        &bytes,
                        &ReadOptions { format: file.format(), allows_any_chain: any_chain, ..ReadOptions::default() },
                    )
                });
                invariants::assert_import(&found);
                match found {
                    Ok(batch) => {
                        assert!(bad.is_empty(), "{bad:?} should be bad");
                        assert_eq!(batch.transactions.len(), file.count_distinct(), "{:?}", batch.warnings);
                    }
                    Err(errors) => {
                        let positions: Vec<InputPosition> = errors.iter().map(|error| error.position).collect();
                        assert_eq!(positions, bad, "{errors:#?}");
                    }
                }
                for format in [InputFormat::Auto, InputFormat::Csv, InputFormat::Json, InputFormat::Ndjson] {
                    let options = ReadOptions { format, allows_any_chain: any_chain, ..ReadOptions::default() };
                    invariants::assert_import(&self.measure(|| read(&random_bytes, &options)));
                }
                for bytes in [&bytes, &random_bytes] {
                    let text = String::from_utf8_lossy(bytes);
                    invariants::assert_paste(&self.measure(|| {
                        parse_paste(&text, &ReadOptions { allows_any_chain: any_chain, ..ReadOptions::default() })
                    }));
                }
            },
        );
    }

    /// Checks the sanitiser.
    pub(crate) fn check_texts(&mut self) {
        self.for_each_input(generators::text(), |raw| {
            let once = self.measure(|| clean(&raw));
            invariants::assert_clean(&once);
            assert_eq!(clean(&once), once, "{raw:?}");
            // Printable ASCII text is returned unchanged.
            let plain: String = raw.chars().filter(char::is_ascii_graphic).take(FIELD_LIMIT - 1).collect();
            assert_eq!(clean(&plain), plain);
        });
    }
}

/// Without dependent leaves the property of records could never fail.
#[test]
fn probing_finds_the_leaves_that_depend_on_a_field() {
    let full = generators::full_record();
    let interpret_body = |body: &str| {
        let reply = HttpAnswer { status: 200, retry_after: None, body: body.as_bytes() };
        read_leaves(&interpret(&reply, &params(), DateTime::UNIX_EPOCH).outcome)
    };
    let known = interpret_body(&full.to_string()).unwrap();
    let fields = ProbedField::probe_all(&full, &known, interpret_body);
    let block = fields.iter().find(|field| field.pointer == "/fromChain/blockNumber").unwrap();
    assert_eq!(block.dependents, BTreeSet::from(["/from/block_number".to_owned()]));
    assert!(fields.iter().filter(|field| !field.dependents.is_empty()).count() > 20);
    assert_eq!(known.get("/from/block_number"), Some(&json!(173_870_219)));
}
