//! Tests of the drawn quote form, at each step of a request.

use super::*;
use crate::{
    domain::{
        observation::RequestFailure,
        quote::{Quote, QuoteAnswer},
    },
    store::StoredQuote,
    tui::{
        effect::{Effect, QuoteWork},
        fixtures::{pending, write_quote},
    },
};

const WIDE: (u16, u16) = (120, 36);
/// A message of the service with escape sequences and wide letters.
pub(super) const HOSTILE: &str =
    "\u{1b}[2J\u{202e}路線が見つかりません\u{7} 票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票";

pub(super) fn route() -> QuoteAnswer {
    let warning = "estimatedRouteDuration of 9000000 s is implausible; 7d is used instead".to_owned();
    QuoteAnswer::Route(Quote {
        quote_id: Some("5f2a90c3d1e84b7fa6f0c3d1e84b7fa6".into()),
        estimate: Some(Duration::from_secs(900)),
        warnings: vec![warning],
    })
}

pub(super) fn refusal(message: &str) -> QuoteAnswer {
    QuoteAnswer::Failed(RequestFailure::Rejected(message.into()))
}

fn limited() -> QuoteAnswer {
    let message = "Too many quote requests for this address".into();
    QuoteAnswer::WalletLimited { message, retry_after: Duration::from_secs(30) }
}

fn written(size: (u16, u16)) -> TestDashboard {
    let mut model = dashboard(size);
    write_quote(&mut model, now());
    model
}

fn waiting(size: (u16, u16)) -> TestDashboard {
    let mut model = written(size);
    press(&mut model, &["Enter"], now());
    model.apply(Msg::QuoteAsked(now().wall + TimeDelta::seconds(40), Ok(pending(7))), now());
    model
}

pub(super) fn with_answer(size: (u16, u16), answer: QuoteAnswer) -> TestDashboard {
    let mut model = written(size);
    let effects = press(&mut model, &["Enter"], now());
    let [Effect::Quote(QuoteWork::Ask { request, until })] = &effects[..] else { panic!("{effects:?}") };
    model.apply(Msg::QuoteAsked(*until, Ok(pending(7))), now());
    let quote = StoredQuote {
        id: 7,
        profile: "default".into(),
        request: request.clone(),
        asked_at: ago(0, 5),
        sent_at: Some(ago(0, 5)),
        answered_at: Some(ago(0, 4)),
        answer: Some(answer),
        http_status: Some(200),
        body: None,
    };
    model.apply(Msg::QuoteRead(7, Some(Box::new(quote))), now());
    model
}

pub(super) fn tracking(size: (u16, u16)) -> TestDashboard {
    let mut model = with_answer(size, route());
    press(&mut model, &["T"], now());
    type_in(&mut model, "0x12", now());
    press(&mut model, &["Enter"], now());
    model
}

#[test]
fn at_each_step() {
    let steps: [(&str, MakeDashboard); 8] = [
        ("empty", |size| {
            let mut model = dashboard(size);
            press(&mut model, &["T"], now());
            model
        }),
        ("written", written),
        ("wrong", |size| {
            let mut model = dashboard(size);
            press(&mut model, &["T"], now());
            type_in(&mut model, "so", now());
            press(&mut model, &["Tab", "Tab"], now());
            type_in(&mut model, "1.5", now());
            press(&mut model, &["Enter"], now());
            model
        }),
        ("waiting", waiting),
        ("route", |size| with_answer(size, route())),
        ("refused", |size| with_answer(size, refusal("Amount too low"))),
        ("limited", |size| with_answer(size, limited())),
        ("tracking", tracking),
    ];
    for (name, make) in steps {
        insta::assert_snapshot!(format!("quote_{name}_small"), screen(&make(SMALL)));
    }
    insta::assert_snapshot!("quote_route_wide", screen(&with_answer(WIDE, route())));
    insta::assert_snapshot!("quote_route_narrow", screen(&with_answer((40, 9), route())));
    insta::assert_snapshot!("quote_written_narrow", screen(&written((40, 9))));
    insta::assert_snapshot!("quote_tracking_narrow", screen(&tracking((40, 9))));
    insta::assert_snapshot!("quote_hostile_small", screen(&with_answer(SMALL, refusal(HOSTILE))));
}

#[test]
fn no_escape_sequence_of_the_service_is_drawn() {
    let shown = screen(&with_answer(SMALL, refusal(HOSTILE)));
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']) && shown.contains("[2J"), "{shown}");
}
