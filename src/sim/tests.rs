//! Tests of the fault scenarios that are shipped: they can be played, and they match their descriptions.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use axum::http::Method;
use chrono::{DateTime, TimeDelta};
use serde_json::{Value, json};

use super::{
    plan::{AnswerContent, FaultyAnswer, PlannedAnswer, Transfer},
    response::SimulatedResponse,
    scenario::Scenario,
    service::{ServiceLimits, SimulatedRequest, SimulatedService},
    world::SimulatedWorld,
};
use crate::{
    clock::{MonotonicTime, Now},
    domain::transaction::TransactionParams,
};

const FAULTS: &str = include_str!("../../assets/scenarios/faults.toml");
const REFUSALS: &str = include_str!("../../assets/scenarios/refusals.toml");

fn at(from: Duration) -> Now {
    Now { mono: MonotonicTime(from), wall: DateTime::UNIX_EPOCH + TimeDelta::from_std(from).unwrap() }
}

fn world(text: &str) -> SimulatedWorld {
    Scenario::parse(text).unwrap().world(DateTime::UNIX_EPOCH)
}

/// Creates a service that has had its first request already and that never throttles.
fn service(text: &str) -> SimulatedService {
    let mut service = SimulatedService::new(world(text), ServiceLimits { rps: 1e6, ..ServiceLimits::default() });
    let first = service.world().transfers().remove(0).params;
    service.handle(&status_request(&first), at(Duration::ZERO));
    service
}

fn status_request(params: &TransactionParams) -> SimulatedRequest {
    SimulatedRequest::status(params, "someone")
}

fn transfers(world: &SimulatedWorld) -> Vec<Transfer> {
    let known = |params: &TransactionParams| world.find(params.transaction_id.as_str()).unwrap().clone();
    world.transfers().iter().map(|new| known(&new.params)).collect()
}

/// Returns the response to each answer of each transfer, with the transfer's ticket.
fn responses(text: &str) -> Vec<(String, PlannedAnswer, SimulatedResponse)> {
    let mut service = service(text);
    let mut responses = Vec::new();
    for transfer in transfers(&world(text)) {
        for stage in &transfer.stages {
            let response = service.handle(&status_request(&transfer.new.params), at(stage.from));
            responses.push((transfer.new.params.ticket.clone().unwrap(), stage.answer.clone(), response));
        }
    }
    responses
}

/// Returns the number of the case in a ticket such as `case-07-stub`.
fn case(ticket: &str) -> u32 {
    let mut parts = ticket.splitn(3, '-');
    assert_eq!(parts.next(), Some("case"), "{ticket}");
    let number = parts.next().unwrap().parse().unwrap();
    assert!(parts.next().is_some_and(|name| !name.is_empty()), "{ticket}");
    number
}

#[test]
fn faults_match_their_batch() {
    let mut reader = csv::Reader::from_reader(include_str!("../../assets/faults.csv").as_bytes());
    let header = "transactionId,fromChainId,toChainId,quoteId,requestId,estimatedRouteDuration,ticket,labels";
    assert_eq!(reader.headers().unwrap(), header.split(',').collect::<Vec<_>>());
    let rows: BTreeSet<Vec<String>> =
        reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
    let expected = |params: TransactionParams| {
        let estimate = params.estimate.map_or_else(String::new, |estimate| estimate.as_secs().to_string());
        let ticket = params.ticket.unwrap();
        let labels = format!("faults;case-{:02}", case(&ticket));
        let (from, to) = (params.from_chain.to_string(), params.to_chain.to_string());
        let request_id = params.request_id.unwrap_or_default();
        vec![params.transaction_id.to_string(), from, to, params.quote_id, request_id, estimate, ticket, labels]
    };
    let new = world(FAULTS).transfers();
    let tickets: BTreeSet<_> = new.iter().map(|new| new.params.ticket.clone()).collect();
    assert_eq!(tickets.len(), new.len());
    assert_eq!(rows, new.into_iter().map(|new| expected(new.params)).collect());
}

#[test]
fn each_case_of_a_status_request_has_transfers() {
    let mut counts = BTreeMap::new();
    let tickets = [FAULTS, REFUSALS].map(world).map(|world| world.transfers()).concat();
    for ticket in tickets.iter().map(|new| new.params.ticket.as_deref().unwrap()) {
        *counts.entry(case(ticket)).or_insert(0) += 1;
    }
    // Case 18 is about routes, cases 24, 25 and 27 end before a request, and case 30 takes many requests.
    let shown = (1..=29).filter(|case| ![18, 24, 25, 27].contains(case));
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), shown.chain([31, 48, 54]).collect::<Vec<_>>());
    assert!(counts[&3] >= 8 && counts[&4] >= 5 && counts[&9] >= 6 && counts[&12] >= 12, "{counts:?}");
}

#[test]
fn every_comment_names_the_case_of_the_ticket_below() {
    for text in [FAULTS, REFUSALS] {
        let named = text.lines().filter_map(|line| line.strip_prefix("# case (")?.split(')').next());
        let cases: Vec<u32> = named.map(|number| number.parse().unwrap()).collect();
        let tickets = world(text).transfers();
        let of_tickets: Vec<_> = tickets.iter().map(|new| case(new.params.ticket.as_deref().unwrap())).collect();
        assert_eq!(cases[..of_tickets.len()], of_tickets);
    }
}

#[test]
fn every_fault_gets_its_scripted_answer() {
    for (ticket, answer, response) in responses(FAULTS) {
        match answer {
            PlannedAnswer::Record { .. } => {
                assert_eq!(response.status, 200, "{ticket}");
                assert!(serde_json::from_str::<Value>(&response.body).unwrap().is_object(), "{ticket}");
            }
            PlannedAnswer::Http { status, content } => {
                assert!(![401, 429].contains(&status), "{ticket} would hold up all the others");
                assert_eq!(response.status, status, "{ticket}");
                match content {
                    AnswerContent::Text(body) => assert_eq!(response.body, body, "{ticket}"),
                    AnswerContent::FaultyAnswer(FaultyAnswer::Deep) => {
                        assert!(response.body.len() > 200_000, "{ticket}")
                    }
                    AnswerContent::FaultyAnswer(play) => {
                        assert_eq!(response.fault, Some(play), "{ticket}")
                    }
                    AnswerContent::Default => assert!(response.body.contains("message"), "{ticket}"),
                }
            }
        }
    }
}

#[test]
fn faults_include_every_play() {
    use FaultyAnswer::{Binary, Bomb, Cut, Deep, Drip, Endless, HangUp, Silence};
    let responses = responses(FAULTS);
    for play in [Silence, Drip, Endless, Bomb, Cut, HangUp, Deep, Binary] {
        let is_it = |answer: &PlannedAnswer| matches!(answer, PlannedAnswer::Http { content: AnswerContent::FaultyAnswer(other), .. } if *other == play);
        assert!(responses.iter().any(|(_, answer, _)| is_it(answer)), "{play:?}");
    }
}

/// Checks a few records, so that a change of the notation can't leave the records unedited.
#[test]
fn edited_records_have_their_documented_faults() {
    let last: BTreeMap<String, SimulatedResponse> =
        responses(FAULTS).into_iter().map(|(ticket, _, response)| (ticket, response)).collect();
    let body = |ticket: &str| -> Value { serde_json::from_str(&last[ticket].body).unwrap() };
    assert!(body("case-03-missing").get("routerTransactionStatus").is_none());
    assert_eq!(body("case-04-block-text")["fromChain"]["blockNumber"], "173870219");
    assert_eq!(body("case-05-bare"), json!({ "routerTransactionStatus": "ongoing" }));
    assert!(body("case-06-chain-ids")["routeStatus"][0]["chainId"].is_u64());
    assert!(body("case-06-chain-ids")["routeStatus"][2]["chainId"].is_string());
    assert_eq!(body("case-07-null")["toChain"], Value::Null);
    assert_eq!(body("case-07-stub")["toChain"].get("chainData"), None);
    assert!(body("case-08-id-suffix")["id"].as_str().unwrap().ends_with("_30_100"));
    assert!(body("case-48-escapes")["status"].as_str().unwrap().starts_with("\u{1b}]52;"));
    let redirect = &last["case-23-redirect"];
    assert_eq!((redirect.status, redirect.header("location")), (302, Some("http://127.0.0.1:1/v2/status")));
    assert_eq!(last["case-29-503-seconds"].header("retry-after"), Some("7"));
}

#[test]
fn every_scripted_route_is_answered() {
    let mut service = service(FAULTS);
    let addresses: Vec<_> = FAULTS.lines().filter_map(|line| line.strip_prefix("fromAddress = ")).collect();
    assert!(addresses.len() >= 16, "{addresses:?}");
    for address in addresses {
        let request = SimulatedRequest {
            method: Method::POST,
            path: "/v2/route".to_owned(),
            integrator_id: Some("someone".to_owned()),
            body: Some(format!("{{\"fromAddress\":{address}}}").into_bytes()),
            ..SimulatedRequest::default()
        };
        let response = service.handle(&request, at(Duration::ZERO));
        assert!(!response.body.contains("missing required parameters"), "{address}");
    }
}

#[test]
fn refusals_follow_each_other_and_end() {
    let mut spans = Vec::new();
    let mut statuses = BTreeSet::new();
    for transfer in transfers(&world(REFUSALS)) {
        let refused = |answer: &PlannedAnswer| matches!(answer, PlannedAnswer::Http { status: 401 | 429, .. });
        let of = |stage: &super::plan::TransferStage| match stage.answer {
            PlannedAnswer::Http { status, .. } => Some(status),
            PlannedAnswer::Record { .. } => None,
        };
        statuses.extend(transfer.stages.iter().filter_map(of));
        let first = transfer.stages.iter().find(|stage| refused(&stage.answer)).unwrap().from;
        let last = transfer.stages.last().unwrap();
        assert!(!refused(&last.answer) && !refused(&transfer.stages[0].answer));
        spans.push((first, last.from));
    }
    assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0), "{spans:?}");
    assert_eq!(statuses, BTreeSet::from([401, 429]));
    assert!(responses(REFUSALS).iter().any(|(_, _, response)| response.header("retry-after") == Some("1e12")));
}
