//! Tests of requests that people ask for and that poll no tracked transaction, through the real driver.

use chrono::SubsecRound;

use super::*;
use crate::domain::operation::StatusRequestKey;

impl PollerFixture {
    async fn ask_quote(&self, from_address: &'static str, seconds: i64) -> i64 {
        let request = fixtures::quote_request(from_address);
        let wanted_until = self.clock.now().wall + TimeDelta::seconds(seconds);
        let asked = self.apply(Operation::RequestQuote { profile: "default".into(), request, wanted_until }).await;
        match asked.asked().unwrap() {
            QuoteSubmission::Pending { id, .. } => id,
            other => panic!("{other:?}"),
        }
    }

    async fn wait_for_quote(&self, id: i64) -> QuoteAnswer {
        self.wait_until(move |reader| reader.quote(id).unwrap().unwrap().answer.is_some()).await;
        self.read(move |reader| reader.quote(id).unwrap().unwrap().answer.unwrap()).await
    }
}

#[tokio::test(start_paused = true)]
async fn route_request_is_answered_through_the_store() {
    let fixture = PollerFixture::new(&scenario(50, "", ONGOING), 1.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    poller.wait_for_requests(3).await;
    let id = fixture.ask_quote("0xAb", 30).await;
    let QuoteAnswer::Route(quote) = fixture.wait_for_quote(id).await else { panic!("no route") };
    assert_eq!(quote.quote_id.as_deref(), Some("quote-of-0xAb"));
    assert!(poller.requests().len() < 6, "too many polls went ahead of the route");
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn poller_with_scope_requests_only_sends_only_requests_of_people() {
    let fixture = PollerFixture::new(&scenario(5, "", ONGOING), 10.0).await;
    let asked_before = fixture.transactions().await.remove(2);
    fixture.request_poll(asked_before.id).await;
    let given_up = fixture.ask_quote("0xCd", 0).await;
    let wanted = fixture.ask_quote("0xAb", 30).await;
    let poller = fixture.start_in(PollScope::RequestsOnly, |_| ConnectionBehavior::Fine, None);
    fixture.wait_for_quote(wanted).await;
    poller.wait_for_requests(1).await;
    let asked_now = fixture.transactions().await.remove(4);
    fixture.request_poll(asked_now.id).await;
    poller.wait_for_requests(2).await;
    fixture.advance(Duration::from_secs(60)).await;
    let asked: Vec<_> = poller.by_transaction().into_keys().collect();
    assert_eq!(asked, [asked_before, asked_now].map(|tx| tx.params.transaction_id.key()));
    assert_eq!(poller.requests().len(), 2);
    assert!(fixture.read(move |reader| reader.quote(given_up).unwrap().unwrap().answer.is_none()).await);
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn route_is_sent_once_even_if_its_poller_dies() {
    let fixture = PollerFixture::new("", 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    let first = fixture.ask_quote("0x01", 30).await;
    let mut routes = poller.transport.routes.subscribe();
    routes.wait_for(|routes| routes.len() == 1).await.unwrap();
    // During the first request a second route is asked for, and then the poller dies.
    let second = fixture.ask_quote("0x02", 30).await;
    routes.wait_for(|routes| routes.len() == 2).await.unwrap();
    poller.task.abort();
    assert!(poller.task.await.unwrap_err().is_cancelled());
    let next = fixture.start(|_| ConnectionBehavior::Fine);
    let third = fixture.ask_quote("0x03", 30).await;
    fixture.wait_for_quote(third).await;
    assert_eq!(
        (routes.borrow().as_slice(), next.transport.routes.borrow().as_slice()),
        (&["0x01", "0x02"].map(String::from)[..], &["0x03"].map(String::from)[..])
    );
    let lost = |id| fixture.read(move |reader| reader.quote(id).unwrap().unwrap());
    for id in [first, second] {
        let lost = lost(id).await;
        assert!(lost.sent_at.is_some() && lost.answer.is_none(), "{lost:?}");
    }
    next.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn status_of_an_untracked_transaction_is_asked_for_once() {
    let scenario = scenario(2, "latency_ms = 900", ONGOING);
    let fixture = PollerFixture::empty(&scenario, 10.0);
    let mut untracked = fixture.scenario.world(start()).transfers();
    fixture.import(untracked.split_off(1)).await;
    let params = untracked.remove(0).params;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    poller.wait_for_requests(1).await;
    let wanted_until = fixture.clock.now().wall + TimeDelta::seconds(30);
    let (profile, asked_at) = ("default".to_owned(), fixture.clock.now().wall.trunc_subsecs(3));
    let key = StatusRequestKey { profile: profile.clone(), params: params.clone(), asked_at };
    fixture.apply(Operation::RequestStatus { profile, params: params.clone(), wanted_until }).await;
    // The request is still pending at each of these changes.
    for _ in 0..4 {
        fixture.advance(Duration::from_millis(200)).await;
        fixture.request_poll(fixture.transactions().await[0].id).await;
    }
    let wanted = key.clone();
    fixture.wait_until(move |reader| reader.status_answer(&wanted).unwrap().is_some()).await;
    let wanted = key.clone();
    let (answer, _) = fixture.read(move |reader| reader.status_answer(&wanted).unwrap().unwrap()).await;
    assert!(matches!(answer.outcome, StatusOutcome::Record(_)), "{answer:?}");
    fixture.apply(Operation::ForgetStatus { request: key.clone() }).await;
    assert_eq!(fixture.read(move |reader| reader.status_answer(&key).unwrap()).await, None);
    fixture.advance(Duration::from_secs(40)).await;
    let sent = poller.requests().into_iter().filter(|(_, sent)| sent.transaction_id == params.transaction_id).count();
    assert_eq!(sent, 1);
    fixture.assert_within_budget();
    poller.stop().await.unwrap();
}
