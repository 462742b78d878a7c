//! The five properties: what is generated, what is called, and what must hold.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::MutexGuard,
    time::Duration,
};

use chrono::{DateTime, Utc};
use hoptop::{
    api::{Reply, interpret, interpret_route},
    domain::{
        observation::{Failure, Outcome},
        text::{FIELD_LIMIT, clean},
    },
    intake::{Format, Options, Place, paste, read},
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

/// Tries a number of inputs and measures them.
pub struct Run {
    inputs: u32,
    figures: RefCell<Figures>,
    _alone: MutexGuard<'static, ()>,
}

impl Run {
    /// A run of so many inputs.
    pub fn new(inputs: u32) -> Self {
        Self { inputs, figures: RefCell::default(), _alone: measure::alone() }
    }

    /// What the inputs cost.
    pub fn figures(self) -> Figures {
        self.figures.into_inner()
    }

    fn each<S: Strategy>(&self, strategy: S, check: impl Fn(S::Value)) {
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

    fn answer(&self, reply: &Reply<'_>, wall: DateTime<Utc>) -> Outcome {
        let heard = self.measure(|| interpret(reply, &params(), wall));
        invariants::assert_heard(reply, &heard);
        invariants::assert_quote(&interpret_route(reply, wall.timestamp() % 2 == 0, wall));
        heard.outcome
    }

    fn ok(&self, body: &[u8]) -> Outcome {
        self.answer(&Reply { status: 200, retry_after: None, body }, DateTime::UNIX_EPOCH)
    }
}

// --- Records ---

/// A record as a table of its leaves, by JSON pointer, without what it tells of oddities; `None` if it was refused.
type Leaves = BTreeMap<String, Value>;

fn leaves(outcome: &Outcome) -> Option<Leaves> {
    let Outcome::Record(record) = outcome else { return None };
    let mut written = serde_json::to_value(record).unwrap();
    // What is odd is told there; it costs nothing.
    written.as_object_mut().unwrap().retain(|key, _| !matches!(key.as_str(), "warnings" | "other"));
    let leaf = |pointer: String| Some((pointer.clone(), written.pointer(&pointer)?.clone()));
    Some(generators::pointers(&written).into_iter().filter_map(leaf).filter(|(_, value)| !value.is_object()).collect())
}

fn differing(one: &Leaves, other: &Leaves) -> BTreeSet<String> {
    let differs = |pointer: &&String| one.get(*pointer) != other.get(*pointer);
    one.keys().chain(other.keys()).filter(differs).cloned().collect()
}

/// `value` with raw text in the place of what lies at `pointer`, written out; `None` takes it out.
fn spoiled(value: &Value, pointer: &str, raw: Option<&str>) -> String {
    const MARK: &str = "@@@";
    let mut copy = value.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match (copy.pointer_mut(parent).unwrap(), raw) {
        (Value::Object(object), Some(_)) => drop(object.insert(name.to_owned(), MARK.into())),
        (Value::Object(object), None) => drop(object.remove(name)),
        (Value::Array(entries), Some(_)) => entries[name.parse::<usize>().unwrap()] = MARK.into(),
        (Value::Array(entries), None) => drop(entries.remove(name.parse().unwrap())),
        _ => unreachable!("{pointer} leads nowhere"),
    }
    copy.to_string().replacen(&format!("\"{MARK}\""), raw.unwrap_or_default(), 1)
}

/// A place in the record, and what in the result comes of it: whatever any of some replacements changes.
struct Spot {
    pointer: String,
    depends: BTreeSet<String>,
}

impl Spot {
    fn all(full: &Value, known: &Leaves, ask: impl Fn(&str) -> Option<Leaves>) -> Vec<Self> {
        let probes = ["null", "\"x\"", "\"https://x.example/\"", "7", "-1.5", "true", "[]", "[7]", "{}", "\"7\""];
        let spot = |pointer: String| {
            let bodies = probes.iter().map(|probe| Some(*probe)).chain([None]).map(|raw| spoiled(full, &pointer, raw));
            let changed = bodies.filter_map(|body| ask(&body)).flat_map(|leaves| differing(known, &leaves));
            let mut depends: BTreeSet<String> = changed.collect();
            // What comes in the place of an array or an object may have any shape, so the whole branch depends on it.
            if full.pointer(&pointer).is_some_and(|value| value.is_array() || value.is_object()) {
                depends =
                    depends.iter().filter_map(|leaf| leaf.split('/').nth(1)).map(|top| format!("/{top}")).collect();
            }
            Self { pointer, depends }
        };
        generators::pointers(full).into_iter().map(spot).collect()
    }

    fn covers(&self, leaf: &str) -> bool {
        self.depends.iter().any(|known| leaf == known || leaf.starts_with(&format!("{known}/")))
    }

    /// Whether another hash in this place makes it a record of another transaction.
    fn holds_the_hash(&self) -> bool {
        "/fromChain/transactionId".starts_with(&self.pointer)
    }
}

impl Run {
    /// The body of an HTTP 200: one field spoiled costs that field; two of a name, a cut and a wrong character do as documented.
    pub fn records(&mut self) {
        let full = generators::full();
        let ask = |body: &str| {
            leaves(
                &interpret(
                    &Reply { status: 200, retry_after: None, body: body.as_bytes() },
                    &params(),
                    DateTime::UNIX_EPOCH,
                )
                .outcome,
            )
        };
        let known = ask(&full.to_string()).unwrap();
        let spots = Spot::all(&full, &known, ask);
        let mode = select(vec!["spoil", "spoil", "spoil", "spoil", "twice", "cut", "stray"]);
        self.each((any::<Index>(), generators::json(), mode, any::<Index>()), |(spot, raw, mode, at)| {
            let spot = spot.get(&spots);
            let is_json = serde_json::from_str::<Value>(&raw).is_ok();
            match mode {
                "spoil" => self.one_field(spot, &spoiled(&full, &spot.pointer, Some(&raw)), (&known, is_json)),
                "twice" if is_json => self.two_of_a_name(&full, &known, (&raw, at)),
                "cut" => {
                    let body = spoiled(&full, &spot.pointer, Some(&raw));
                    let outcome = self.ok(&body.as_bytes()[..at.index(body.len())]);
                    assert!(matches!(outcome, Outcome::Failed(Failure::Unreadable(_))), "{outcome:?}");
                }
                _ => {
                    let mut body = full.to_string().into_bytes();
                    let at = at.index(body.len());
                    body[at] = raw.bytes().next().unwrap_or(0xff);
                    drop(self.ok(&body));
                    drop(self.ok(raw.as_bytes()));
                }
            }
        });
    }

    fn one_field(&self, spot: &Spot, body: &str, (known, is_json): (&Leaves, bool)) {
        let outcome = self.ok(body.as_bytes());
        match &outcome {
            Outcome::Record(_) => {
                let changed = differing(known, &leaves(&outcome).unwrap());
                let lost: Vec<_> = changed.iter().filter(|leaf| !spot.covers(leaf)).collect();
                assert!(lost.is_empty(), "{} costs {lost:?}: {body}", spot.pointer);
            }
            Outcome::Failed(Failure::OtherTransaction(_)) => assert!(spot.holds_the_hash(), "{body}"),
            // Deeper than the limit together with what is around it.
            Outcome::Failed(Failure::Unreadable(why)) => {
                assert!(!is_json || why.contains("recursion limit"), "{why}: {body}");
            }
            other => panic!("{other:?}"),
        }
    }

    /// Of two fields of the same name the last counts.
    fn two_of_a_name(&self, full: &Value, known: &Leaves, (raw, at): (&str, Index)) {
        let names: Vec<_> = full.as_object().unwrap().keys().map(|name| Value::from(name.as_str())).collect();
        let body = full.to_string().replacen('{', &format!("{{{}:{raw},", at.get(&names)), 1);
        match leaves(&self.ok(body.as_bytes())) {
            Some(leaves) => assert_eq!(&leaves, known, "{body}"),
            None => assert!(raw.len() > 120, "{body}"),
        }
    }

    /// The body of any HTTP status, which alone decides what the answer is.
    pub fn error_bodies(&mut self) {
        let status = prop_oneof![3 => select(vec![200_u16, 400, 401, 404, 429, 500, 502, 302]), 1 => any::<u16>()];
        self.each((status, generators::error_body()), |(status, body)| {
            drop(self.answer(&Reply { status, retry_after: None, body: &body }, DateTime::UNIX_EPOCH));
        });
    }
}

// --- Rests ---

/// What a `Retry-After` holds, and the rest that it is: `Some(None)` is none, and `None` is not known here.
#[derive(Clone, Debug)]
enum Asked {
    Seconds(u64),
    Date(DateTime<Utc>, &'static str),
    Odd(String),
}

impl Run {
    /// `Retry-After` and its stand-in in the body.
    pub fn rests(&mut self) {
        let asked = prop_oneof![
            prop_oneof![0..1_000_u64, any::<u64>()].prop_map(Asked::Seconds),
            (generators::moment(), select(&DATE_FORMS[..])).prop_map(|(moment, form)| Asked::Date(moment, form)),
            generators::odd_header().prop_map(Asked::Odd),
            generators::odd_header().prop_map(Asked::Odd),
        ];
        let body = prop_oneof![
            Just("{\"retryAfter\":30}".to_owned()),
            generators::json().prop_map(|raw| format!("{{\"retryAfter\":{raw}}}"))
        ];
        let wall = prop_oneof![generators::moment(), Just(DateTime::<Utc>::MIN_UTC), Just(DateTime::<Utc>::MAX_UTC)];
        self.each((asked, wall, body), |(asked, wall, body)| {
            let header = match &asked {
                Asked::Seconds(seconds) => seconds.to_string(),
                Asked::Date(moment, form) => moment.format(form).to_string(),
                Asked::Odd(header) => header.clone(),
            };
            let rest = |header: Option<&str>| match self
                .answer(&Reply { status: 429, retry_after: header, body: body.as_bytes() }, wall)
            {
                Outcome::Failed(Failure::Throttled { retry_after, .. }) => retry_after,
                other => panic!("{other:?}"),
            };
            let seconds = match asked {
                Asked::Seconds(seconds) => seconds,
                // The year of two digits is one of seventy to come and thirty gone, so it isn't the one that was meant.
                Asked::Date(moment, form) if form != DATE_FORMS[1] || moment.timestamp() < 3_092_601_600 => {
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

    /// A file with known good and bad rows, and rubbish.
    pub fn imports(&mut self) {
        self.each((files::file(), files::rubbish(), any::<bool>()), |(file, rubbish, any_chain)| {
            let (bytes, bad) = file.written();
            let found = self.measure(|| read(&bytes, &Options { format: file.format(), any_chain }));
            invariants::assert_import(&found);
            match found {
                Ok(batch) => {
                    assert!(bad.is_empty(), "{bad:?} should be bad");
                    assert_eq!(batch.transactions.len(), file.distinct(), "{:?}", batch.warnings);
                }
                Err(errors) => {
                    let places: Vec<Place> = errors.iter().map(|error| error.place).collect();
                    assert_eq!(places, bad, "{errors:#?}");
                }
            }
            for format in [Format::Auto, Format::Csv, Format::Json, Format::Ndjson] {
                let options = Options { format, any_chain };
                invariants::assert_import(&self.measure(|| read(&rubbish, &options)));
            }
            for bytes in [&bytes, &rubbish] {
                let text = String::from_utf8_lossy(bytes);
                invariants::assert_paste(&self.measure(|| paste(&text, &Options { any_chain, ..Options::default() })));
            }
        });
    }

    /// The sanitiser.
    pub fn texts(&mut self) {
        self.each(generators::text(), |raw| {
            let once = self.measure(|| clean(&raw));
            invariants::assert_clean(&once);
            assert_eq!(clean(&once), once, "{raw:?}");
            // Plain text comes through as it is.
            let plain: String = raw.chars().filter(char::is_ascii_graphic).take(FIELD_LIMIT - 1).collect();
            assert_eq!(clean(&plain), plain);
        });
    }
}

/// The table of what depends on what isn't empty: a test that can't fail would be none.
#[test]
fn the_seed_has_fields_that_are_read() {
    let full = generators::full();
    let ask = |body: &str| {
        let reply = Reply { status: 200, retry_after: None, body: body.as_bytes() };
        leaves(&interpret(&reply, &params(), DateTime::UNIX_EPOCH).outcome)
    };
    let known = ask(&full.to_string()).unwrap();
    let spots = Spot::all(&full, &known, ask);
    let block = spots.iter().find(|spot| spot.pointer == "/fromChain/blockNumber").unwrap();
    assert_eq!(block.depends, BTreeSet::from(["/from/block_number".to_owned()]));
    assert!(spots.iter().filter(|spot| !spot.depends.is_empty()).count() > 20);
    assert_eq!(known.get("/from/block_number"), Some(&json!(173_870_219)));
}
