//! Terms applied to transactions, errors with their positions, and the laws of the sort order.

use proptest::prelude::*;

use super::{
    super::{
        alert::{Alert, Handling, HandlingKind, Rule, SnoozeEnd},
        fixtures::{self, at, says},
        ids::{ChainId, RowId},
        on_chain::{ChainReading, ChainVerdict, Mined, OnChainState},
        status::RouterStatus,
        transaction::{Tracking, Transaction},
    },
    testing::FilterInput,
    *,
};

fn alert(rule: Rule) -> Alert {
    fixtures::alert(rule, Some(RowId(1)))
}

/// Returns a transaction from Arbitrum to Base, ongoing, checked at 1000 s and overdue since 900 s, with all searchable
/// fields.
fn ongoing() -> Transaction {
    let mut tx = fixtures::transaction(0xabc);
    tx.apply(&says(RouterStatus::Ongoing), at(1_000));
    tx.params.ticket = Some("SUP-4412".into());
    tx.labels = vec!["batch-17".into(), "two words".into()];
    tx.notes = vec!["Grüße an ÄRGER".into()];
    tx.authors.notes = vec![Some("Zoë via support".into())];
    tx.authors.ticket = Some("Ana B.".into());
    tx
}

fn matches(text: &str, tx: &Transaction, alerts: &[Alert]) -> bool {
    Filter::parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .matches(&FilterInput { tx, alerts }, at(1_060))
}

/// Filters that match [`ongoing`] with an alert.
const MATCHING: &[&str] = &[
    "",
    "  ",
    "0x00 -zzz",
    "0x0000…0ABC",
    "-0x0000...0abd 0x0000..0abc",
    "-batch...17",
    "ABC",
    "arbitrum",
    "BASE",
    "42161",
    "sup-44",
    "BATCH",
    "ärger",
    "-nothing",
    "\"SUP-44\"",
    "\"two words\"",
    "/abc$/",
    "/^SUP-\\d+$/",
    "/two w/",
    "-/^abc/",
    "is:attention",
    "is:firing",
    "is:overdue",
    "is:overdue -is:acked",
    "is:unsettled",
    "-is:settled",
    "is:active",
    "-is:parked",
    "-is:untracked",
    "-is:reverted",
    "-is:pending",
    "-is:wrong-chain",
    "status:ongoing",
    "status:NOT_FOUND,ongoing",
    "-status:unknown,none",
    "chain:base",
    "chain:arb",
    "chain:8453",
    "from:42161",
    "from:Arbitrum",
    "-from:base",
    "to:8453",
    "-to:845",
    "age>17m",
    "age<=17.7m",
    "age>=1060s",
    "due<0s",
    "due<-2m",
    "due>=-160s",
    "checked>59s",
    "checked<=60s",
    "label:BATCH-17",
    "#BATCH-17",
    "label:\"two words\"",
    "ticket:sup-4412",
    "-ticket:SUP-44",
    "profile:Default",
    "by:ZOË",
    "by:\"ana b.\"",
    "-by:ana",
    "sort:sev is:active",
    "nothing or base",
    "base OR nothing",
    "nothing none or base and vip or sup-44",
    "(nothing or base) is:active",
    "is:active and (from:base or (to:base -nothing))",
    "-(nothing or is:settled)",
    "-(is:overdue and is:acked)",
    "-nothing(here)",
    "\"or\" or base",
    "ARB→BASE",
    "arb>8453",
    "42161->Base",
    "-base>arb",
    "Arbitrum → Base",
    "\"Arbitrum → Base\"",
    "https://arbiscan.example/tx/0x0000000000000000000000000000000000000000000000000000000000000ABC?tab=1#x",
];

#[test]
fn each_term_matches_or_not() {
    let tx = ongoing();
    for text in MATCHING {
        assert!(matches(text, &tx, &[alert(Rule::Overdue)]), "{text}");
    }
    for text in MATCHING.iter().filter(|text| !text.contains(' ') && !text.is_empty()) {
        let negated = text.strip_prefix('-').map_or_else(|| format!("-{text}"), str::to_owned);
        assert!(!matches(&negated, &tx, &[alert(Rule::Overdue)]), "{negated}");
    }
    assert!(!matches("is:attention", &tx, &[]));
    assert!(!matches("\"sup-44\"", &tx, &[]));
    assert!(!matches("base nothing", &tx, &[]));
}

#[test]
fn mine_matches_transactions_that_the_person_wrote_or_handled() {
    let mut tx = ongoing();
    let of = |person, tx: &Transaction, alerts: &[Alert]| {
        Filter::parse_for_person("mine", Some(person)).unwrap().matches(&FilterInput { tx, alerts }, at(1_060))
    };
    assert!(of("Ana B.", &tx, &[]) && of("zoë", &tx, &[]) && !of("Carla", &tx, &[]));
    let kind = HandlingKind::Snoozed(SnoozeEnd::Change);
    let handling = Some(Handling { at: at(0), author: Some("Carla".into()), kind });
    let handled = Alert { handling, ..alert(Rule::Overdue) };
    assert!(of("Carla", &tx, &[handled]));
    tx.authors.tracked = Some("Carla".into());
    assert!(of("Carla", &tx, &[]));
    tx.authors = crate::domain::people::Authors { labels: vec![None, Some("Dora".into())], ..Default::default() };
    assert!(of("Dora", &tx, &[]) && !of("Carla", &tx, &[]));
    let error = Filter::parse("base mine").unwrap_err();
    assert!(error.at == (5..9) && error.message.contains("[me] name") && error.message.contains("HOPTOP_NAME"));
    assert!(Filter::parse("\"mine\"").is_ok());
}

#[test]
fn handled_alerts_match_acked_and_snoozed_unless_another_alert_fires() {
    let tx = ongoing();
    let handled = |rule, kind| {
        let handling = Some(Handling { at: at(0), author: None, kind });
        Alert { handling, ..alert(rule) }
    };
    let acknowledged = || handled(Rule::Overdue, HandlingKind::Acknowledged(None));
    let snoozed = |until| handled(Rule::Regressed, HandlingKind::Snoozed(until));
    // The alerts; whether `is:firing`, `is:acked` and `is:snoozed` match.
    let table = [
        (vec![], [false, false, false]),
        (vec![alert(Rule::Overdue)], [true, false, false]),
        (vec![acknowledged()], [false, true, false]),
        (vec![acknowledged(), alert(Rule::Regressed)], [true, false, false]),
        (vec![acknowledged(), snoozed(SnoozeEnd::Change)], [false, true, true]),
        (vec![snoozed(SnoozeEnd::Until(at(1_061)))], [false, false, true]),
        (vec![acknowledged(), snoozed(SnoozeEnd::Until(at(1_060)))], [true, false, false]),
    ];
    for (alerts, expected) in table {
        let found = ["is:firing", "is:acked", "is:snoozed"].map(|text| matches(text, &tx, &alerts));
        assert_eq!(found, expected, "{alerts:?}");
    }
}

#[test]
fn other_states_match_their_terms() {
    let fresh = fixtures::transaction(1);
    for text in ["status:none", "checked>9999h", "-is:overdue", "due<0s", "is:active", "-status:unknown"] {
        assert!(matches(text, &fresh, &[]), "{text}");
    }
    let mut done = ongoing();
    done.apply(&says(RouterStatus::Success), at(1_001));
    for text in ["is:settled", "-is:active", "-due<0s", "-due>0s", "age<1002s", "status:success"] {
        assert!(matches(text, &done, &[]), "{text}");
    }
    let mut odd = ongoing();
    odd.apply(&says(RouterStatus::Unknown("settling".into())), at(1_001));
    odd.tracking = Tracking::Parked("no".into());
    for text in ["status:unknown", "is:parked", "is:active", "-due<0s"] {
        assert!(matches(text, &odd, &[]), "{text}");
    }
    for (verdict, text) in [
        (ChainVerdict::Reverted(Mined::default()), "is:reverted -is:pending"),
        (ChainVerdict::Pending, "is:pending -is:reverted"),
        (ChainVerdict::Elsewhere(ChainId::new("10")), "is:wrong-chain -is:pending"),
    ] {
        odd.on_chain = Some(OnChainState::after(None, ChainReading::without_node(verdict), None, at(1)));
        assert!(matches(text, &odd, &[]), "{text}");
    }
    odd.tracking = Tracking::Untracked;
    assert!(matches("is:untracked -is:active is:unsettled", &odd, &[]));
}

#[test]
fn errors_have_a_position_and_a_remedy() {
    let table = [
        ("is:overdu", 3..9, "did you mean `overdue`?"),
        ("vip age > 30m", 4..7, "write the comparison without blanks, as in age>30m"),
        ("-due <5m", 0..4, "without blanks, as in due>30m"),
        ("Age>30m", 0..3, "did you mean `age`?"),
        ("a -is:x", 6..7, "expected one of attention, overdue"),
        ("statu:ongoing", 0..5, "did you mean `status`?"),
        ("status:ongoing,nofound", 15..22, "did you mean `not_found`?"),
        ("status:ongoing,", 7..15, "expected a value"),
        ("chain:base OR", 11..13, "expected a term after `or`"),
        ("or vip", 0..2, "expected a term before `or`"),
        ("a or or b", 2..4, "expected a term after `or`"),
        ("a or sort:due", 2..4, "expected a term after `or`"),
        ("vip AND", 4..7, "expected a term after `and`"),
        ("and x", 0..3, "expected a term before `and`"),
        ("a or and b", 5..8, "expected a term before `and`"),
        ("a (b or c", 2..3, "never closed"),
        ("a b)", 3..4, "has no `(`"),
        ("a -()", 2..4, "between `(` and `)`"),
        ("(sort:due)", 1..9, "outside of parentheses"),
        ("((((((((((((((((((a", 16..17, "at most 16 deep"),
        ("arbitrum →", 9..12, "expected a chain after the arrow"),
        ("NOT vip", 0..3, "write `-` directly before"),
        ("from:", 0..5, "expected a value after `from:`"),
        ("https://x", 0..9, "contains no hash"),
        ("ftp://x", 0..3, "in quotation marks"),
        ("age:30m", 0..3, "write age>30m"),
        ("status>3", 0..6, "can't be compared"),
        ("arb>", 0..3, "a route is written ARB>BASE"),
        ("age>30", 4..6, "90s, 30m or 2h"),
        ("age>-3m", 4..7, "90s, 30m or 2h"),
        ("age>=", 0..5, "90s, 30m or 2h"),
        ("ä \"open", 3..8, "never closed"),
        ("/open\\/", 0..7, "never closed"),
        ("label:\"open", 6..11, "never closed"),
        ("\"a\"b", 0..4, "expected a space"),
        ("\"\"", 0..2, "expected text"),
        ("/(/", 0..3, "not a valid regular expression: unclosed group"),
        ("/(\\w{100}){1000}/", 0..17, "not a valid regular expression"),
        ("- a", 0..1, "right after `-`"),
        ("sort:sev,-du", 10..12, "did you mean `due`?"),
        ("sort:", 0..5, "expected one of sev, due"),
        ("sort:-", 5..6, "expected one of sev, due"),
        ("sort:sev,- is:active", 9..10, "right after `-`"),
        ("-sort:sev", 0..9, "can't be negated"),
    ];
    for (text, range, expected) in table {
        let error = Filter::parse(text).unwrap_err();
        assert!(error.at == range && error.message.contains(expected), "{text}: {error:?}");
    }
}

#[test]
fn sort_keys_are_read_with_their_direction() {
    let key = |by, is_reversed| SortKey { by, is_reversed };
    let filter = Filter::parse("sort:-age,ticket base sort:hash").unwrap();
    assert_eq!(filter.sort(), [key(SortBy::Age, true), key(SortBy::Ticket, false), key(SortBy::Hash, false)]);
    assert_eq!(Filter::parse("base").unwrap().sort(), SortKey::DEFAULT);
    assert_eq!(Filter::everything().sort(), SortKey::DEFAULT);
}

fn sorted(text: &str, rows: &[(Transaction, Vec<Alert>)]) -> Vec<i64> {
    let filter = Filter::parse(text).unwrap();
    let mut rows: Vec<FilterInput> = rows.iter().map(|(tx, alerts)| FilterInput { tx, alerts }).collect();
    rows.sort_by(|a, b| testing::compare(a, b, filter.sort(), at(5_000)));
    rows.iter().map(|row| row.tx.id.0).collect()
}

#[test]
fn transactions_are_sorted_by_each_key() {
    let waiting = |number: i64, submitted: i64| {
        let mut tx = fixtures::transaction(number);
        tx.params.submitted_at = Some(at(submitted));
        tx
    };
    let mut done = waiting(4, 0);
    done.apply(&says(RouterStatus::Success), at(900));
    done.params.ticket = Some("b".into());
    let mut polled = waiting(3, 10);
    polled.apply(&says(RouterStatus::Ongoing), at(800));
    polled.params.ticket = Some("A".into());
    let rows = [
        (done, vec![]),
        (polled, vec![]),
        (waiting(2, 20), vec![alert(Rule::Refund)]),
        (waiting(1, 20), vec![alert(Rule::Refund), alert(Rule::Overdue)]),
    ];
    let table = [
        ("", [1, 2, 3, 4]),
        ("sort:-sev", [3, 4, 2, 1]),
        ("sort:due", [3, 1, 2, 4]),
        ("sort:-due", [1, 2, 3, 4]),
        ("sort:age", [3, 1, 2, 4]),
        ("sort:status", [3, 1, 2, 4]),
        ("sort:checked", [1, 2, 3, 4]),
        ("sort:-checked", [3, 1, 2, 4]),
        ("sort:changed", [4, 3, 1, 2]),
        ("sort:route", [1, 2, 3, 4]),
        ("sort:ticket", [3, 4, 1, 2]),
        ("sort:-ticket", [4, 3, 1, 2]),
        ("sort:-hash", [4, 3, 2, 1]),
        ("sort:settled", [4, 1, 2, 3]),
    ];
    for (text, expected) in table {
        assert_eq!(sorted(text, &rows), expected, "{text}");
    }
}

fn rows() -> impl Strategy<Value = Vec<(Transaction, Vec<Alert>)>> {
    let row = (0..7_usize, 0..3_i64, 0..3_i64, prop::option::of(0..3_u8), 0..5_usize);
    prop::collection::vec(row, 3).prop_map(|rows| {
        let make = |(id, (status, polled, submitted, ticket, rule)): (usize, (usize, i64, i64, Option<u8>, usize))| {
            let mut tx = fixtures::transaction(i64::try_from(id).unwrap());
            tx.params.submitted_at = Some(at(submitted * 100));
            tx.params.ticket = ticket.map(|ticket| format!("T{ticket}"));
            if let Some(status) = RouterStatus::DOCUMENTED.get(status) {
                tx.apply(&says(status.clone()), at(polled * 1_000));
            }
            (tx, Rule::ALL.get(rule + 6).map(|rule| alert(*rule)).into_iter().collect())
        };
        rows.into_iter().enumerate().map(make).collect()
    })
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>(), typed in "(-?(is|status|sort|age|due|label|x)?[:<>=]{0,2}[\"/a-z,ä\\\\ (*{0-9-]{0,9}){0,4}") {
        for text in [text, typed] {
            match Filter::parse(&text) {
                Ok(filter) => prop_assert!(!filter.sort().is_empty()),
                Err(error) => {
                    prop_assert!(!error.at.is_empty(), "{text:?} {error:?}");
                    prop_assert!(text.get(error.at.clone()).is_some(), "{text:?} {error:?}");
                    prop_assert!(!error.message.chars().any(char::is_control));
                }
            }
        }
    }

    #[test]
    fn the_order_is_total(rows in rows(), keys in prop::collection::vec((0..SortBy::ALL.len(), any::<bool>()), 0..4)) {
        let keys: Vec<_> = keys.into_iter().map(|(by, is_reversed)| SortKey { by: SortBy::ALL[by], is_reversed }).collect();
        let row = |index: usize| FilterInput { tx: &rows[index].0, alerts: &rows[index].1 };
        let order = |a, b| testing::compare(&row(a), &row(b), &keys, at(2_000));
        for (a, b, c) in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)] {
            prop_assert!(order(a, a).is_eq() && order(a, b).is_ne());
            prop_assert_eq!(order(a, b), order(b, a).reverse());
            prop_assert!(!(order(a, b).is_lt() && order(b, c).is_lt()) || order(a, c).is_lt());
        }
    }
}

#[test]
fn a_misspelt_chain_is_named_with_the_nearest_one() {
    let complaint = |text: &str| Filter::parse(text).unwrap().chain_name_error(|name| name == "fuji");
    assert_eq!(complaint("to:bse").as_deref(), Some("No chain is called \"bse\"; did you mean base?"));
    assert_eq!(complaint("is:overdue or from:zzzzzzzzzz").as_deref(), Some("No chain is called \"zzzzzzzzzz\"."));
    assert_eq!(complaint("arbitrm>base").as_deref(), Some("No chain is called \"arbitrm\"; did you mean arbitrum?"));
    for known in ["to:base", "chain:ARB", "from:42161", "to:osmosis-1", "to:fuji", "-to:bse", "bse", "ARB>BASE"] {
        assert_eq!(complaint(known), None, "{known}");
    }
}
