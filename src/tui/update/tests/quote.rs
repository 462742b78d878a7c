//! The quote form by its keys, and each way in which a request can end.

use super::*;
use crate::{
    domain::{
        change::Change,
        quote::{Quote, QuoteAnswer, QuoteRequest},
    },
    store::{Changes, ImportReport, StoredQuote},
    tui::{
        dialogs::{
            Dialog,
            quote::state::{QuoteForm, QuoteStage},
        },
        effect::QuoteWork,
        fixtures::{pending, write_quote},
        message::StoreUpdate,
    },
};

fn form(model: &Model) -> &QuoteForm {
    match &model.dialog {
        Dialog::Quote(form) => form,
        other => panic!("no quote form: {other:?}"),
    }
}

fn later(seconds: i64) -> Now {
    moment(now().wall + TimeDelta::seconds(seconds))
}

/// Returns the form right after Enter, with its request and the end of the wait.
fn asked() -> (TestDashboard, QuoteRequest, DateTime<Utc>) {
    let mut model = dashboard("5");
    write_quote(&mut model, now());
    let effects = press(&mut model, &["Enter"], now());
    let [Effect::Quote(QuoteWork::Ask { request, until })] = &effects[..] else { panic!("{effects:?}") };
    let (request, until) = (request.clone(), *until);
    (model, request, until)
}

fn waiting() -> (TestDashboard, QuoteRequest, DateTime<Utc>) {
    let (mut model, request, until) = asked();
    let effects = model.apply(Msg::QuoteAsked(until, Ok(pending(7))), now());
    assert_eq!(effects, [Effect::Quote(QuoteWork::Read(7))]);
    (model, request, until)
}

fn stored(request: QuoteRequest, answer: Option<QuoteAnswer>) -> Option<Box<StoredQuote>> {
    let (asked_at, answered_at) = (now().wall, answer.as_ref().map(|_| now().wall));
    let sent_at = Some(asked_at);
    let (profile, http_status, body) = ("default".into(), None, None);
    Some(Box::new(StoredQuote { id: 7, profile, request, asked_at, sent_at, answered_at, answer, http_status, body }))
}

fn route() -> Option<QuoteAnswer> {
    let quote_id = Some("5f2a".to_owned());
    Some(QuoteAnswer::Route(Quote { quote_id, estimate: Some(Duration::from_secs(900)), ..Quote::default() }))
}

fn answered() -> TestDashboard {
    let (mut model, request, _) = waiting();
    model.apply(Msg::QuoteRead(7, stored(request, route())), now());
    model
}

#[test]
fn chain_names_become_ids_and_the_request_is_for_pricing_only() {
    let (_, request, until) = asked();
    assert_eq!((request.from_chain.as_str(), request.to_chain.as_str()), ("42161", "8453"));
    assert!(request.is_quote_only && request.to_address == request.from_address);
    assert_eq!(until, now().wall + TimeDelta::seconds(40));
}

#[test]
fn invalid_values_are_not_sent_and_the_first_one_is_focused() {
    let mut model = dashboard("5");
    press(&mut model, &["T", "Tab", "Tab"], now());
    assert_eq!(press(&mut model, &["Enter"], now()), []);
    assert_eq!((form(&model).errors.len(), form(&model).cursor), (6, 0));
    type_in(&mut model, "1", now());
    assert_eq!(form(&model).errors.len(), 5);
}

#[test]
fn open_answer_takes_the_keys() {
    let mut model = answered();
    assert!(matches!(form(&model).stage, QuoteStage::Answered(_)));
    assert_eq!(press(&mut model, &["y"], now()), [Effect::Copy("5f2a".into())]);
    press(&mut model, &["T"], now());
    let link = format!("https://explorer.example/tx/0x{:064x}", 99);
    model.apply(Msg::Paste(link), now());
    let effects = press(&mut model, &["Enter"], now());
    let params = &imported(&effects)[0].params;
    assert_eq!((params.transaction_id.clone(), params.quote_id.as_str()), (tx::new(99).params.transaction_id, "5f2a"));
    assert_eq!((params.from_chain.as_str(), params.to_chain.as_str()), ("42161", "8453"));
    assert_eq!(params.estimate, Some(Duration::from_secs(900)));
    assert!(params.from_address.as_ref().is_some_and(|address| address.starts_with("0x1f0a")));
    let report = ImportReport { added: [RowId(99)].into_iter().collect(), ..ImportReport::default() };
    model.apply(Msg::Imported(Ok(report)), now());
    assert!(matches!(model.dialog, Dialog::None) && model.list.pending_selection == Some(RowId(99)));
}

#[test]
fn invalid_hash_stays_in_the_field() {
    let mut model = answered();
    press(&mut model, &["T"], now());
    type_in(&mut model, "0x1", now());
    assert_eq!(press(&mut model, &["Enter"], now()), []);
    let wrong = |model: &Model| match &form(model).stage {
        QuoteStage::Tracking { error, .. } => error.clone().unwrap_or_default(),
        other => panic!("{other:?}"),
    };
    assert!(wrong(&model).contains("a hash has at least"), "{}", wrong(&model));
    type_in(&mut model, "2345678", now());
    assert_eq!(press(&mut model, &["Enter"], now()), []);
    assert!(wrong(&model).ends_with("a complete hash has 64; Enter again tracks it"), "{}", wrong(&model));
    assert!(matches!(press(&mut model, &["Enter"], now())[..], [Effect::Import(_)]));
    model.apply(Msg::Imported(Err("the disk is full".into())), now());
    assert_eq!(wrong(&model), "the disk is full");
    press(&mut model, &["Esc"], now());
    assert!(matches!(form(&model).stage, QuoteStage::Answered(_)));
}

#[test]
fn answer_is_read_when_the_feed_has_its_change() {
    let (mut model, ..) = waiting();
    let feed = |id| {
        let kind = ChangeKind::QuoteAnswered { id };
        let change = Change {
            seq: 900,
            at: now().wall,
            profile: "default".into(),
            transaction: None,
            kind,
            observation: None,
            author: None,
        };
        let feed = Changes { changes: vec![change], ..Changes::default() };
        Msg::StoreChanged(Box::new(StoreUpdate { feed, ..StoreUpdate::default() }))
    };
    assert!(!model.apply(feed(6), now()).contains(&Effect::Quote(QuoteWork::Read(7))));
    assert!(model.apply(feed(7), now()).contains(&Effect::Quote(QuoteWork::Read(7))));
}

#[test]
fn late_answer_is_withdrawn_with_a_reason() {
    let (mut model, request, until) = waiting();
    assert_eq!(model.apply(Msg::Tick, later(39)), []);
    assert_eq!(model.apply(Msg::Tick, later(40)), [Effect::Quote(QuoteWork::Withdraw { id: 7, until })]);
    model.apply(Msg::QuoteRead(7, stored(request, None)), later(40));
    assert!(matches!(&form(&model).stage, QuoteStage::NoAnswer(why) if why.contains("its answer was lost")));
    let (mut model, ..) = waiting();
    model.apply(Msg::QuoteRead(7, None), later(40));
    assert!(
        matches!(&form(&model).stage, QuoteStage::NoAnswer(why) if why.starts_with("no answer was received in time"))
    );
}

#[test]
fn request_without_a_poller_is_refused() {
    let mut model = blank((80, 24));
    model.setting.is_polling = false;
    change_store(&mut model, everything(Vec::new(), Vec::new()), None, now());
    write_quote(&mut model, now());
    assert_eq!(press(&mut model, &["Enter"], now()), []);
    assert!(matches!(&form(&model).stage, QuoteStage::NoAnswer(why) if why.starts_with("no process is polling")));
}

#[test]
fn esc_stops_waiting_and_keeps_the_typed_values() {
    let (mut model, _, until) = waiting();
    type_in(&mut model, "zzz", now());
    assert_eq!(press(&mut model, &["Esc"], now()), [Effect::Quote(QuoteWork::Withdraw { id: 7, until })]);
    // An answer that arrives now has no effect.
    model.apply(Msg::QuoteRead(7, None), later(40));
    assert!(matches!(form(&model).stage, QuoteStage::Writing));
    press(&mut model, &["Esc"], now());
    assert!(matches!(model.dialog, Dialog::None));
    press(&mut model, &["T"], now());
    assert_eq!(form(&model).inputs[2].value(), "25000000");
}

#[test]
fn cancelled_request_is_withdrawn_when_its_number_arrives() {
    let (mut model, _, until) = asked();
    press(&mut model, &["Esc"], now());
    let effects = model.apply(Msg::QuoteAsked(until, Ok(pending(9))), now());
    assert_eq!(effects, [Effect::Quote(QuoteWork::Withdraw { id: 9, until })]);
}

#[test]
fn changed_value_removes_the_answer() {
    let mut model = answered();
    press(&mut model, &["Tab"], now());
    type_in(&mut model, "x", now());
    assert!(matches!(form(&model).stage, QuoteStage::Writing));
}
