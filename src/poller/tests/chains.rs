//! Tests of the chains' own answers: the real driver, a real store, and the simulated chains over HTTP.

use std::net::Ipv4Addr;

use tokio::net::TcpListener;

use super::*;
use crate::{
    api::Timeouts,
    chain_rpc::{ChainNodes, NodeSetting},
    domain::{
        advice::{self, Situation},
        filter::Filter,
        ids::ChainId,
        operation::Edit,
    },
    sim::chain_server,
};

const SCENARIO: &str = include_str!("../../../assets/scenarios/chains.toml");

impl PollerFixture {
    /// Creates a fixture whose poller asks simulated chains.
    async fn with_chains(scenario: &str, rps: f64) -> Self {
        let mut fixture = Self::empty(scenario, rps);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let world = fixture.scenario.world(start());
        tokio::spawn(chain_server::serve(listener, world, fixture.clock.clone()));
        let node = |chain: &str| NodeSetting {
            rps: 50.0,
            ..NodeSetting::new(chain, Some(&format!("http://{address}/{chain}")))
        };
        let nodes = ["42161", "8453", "10"].map(node).to_vec();
        fixture.chain_nodes = Some(Arc::new(ChainNodes::new(nodes, Timeouts::default(), fixture.clock.clone())));
        fixture.import(fixture.scenario.world(start()).transfers()).await;
        fixture
    }

    async fn with_ticket(&self, ticket: &str) -> Transaction {
        let all = self.transactions().await;
        all.into_iter().find(|tx| tx.params.ticket.as_deref() == Some(ticket)).unwrap()
    }

    async fn wait_for_verdict(&self, ticket: &'static str, verdict: &'static str) -> Transaction {
        self.wait_until(move |reader| {
            let all = testing::load_transactions(reader);
            let tx = all.iter().find(|tx| tx.params.ticket.as_deref() == Some(ticket)).unwrap();
            tx.on_chain.as_ref().is_some_and(|known| known.source.verdict.name() == verdict)
        })
        .await;
        self.with_ticket(ticket).await
    }

    async fn count_of(&self, filter: &'static str) -> u64 {
        let now = self.clock.now().wall;
        self.read(move |reader| reader.listing(&Filter::parse(filter).unwrap(), now).count().unwrap()).await
    }
}

#[tokio::test(start_paused = true)]
async fn each_case_is_recognised_and_gives_its_advice_and_the_submission_time() {
    let fixture = PollerFixture::with_chains(SCENARIO, 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    let table = [
        ("chain-succeeded", "succeeded", Situation::MinedNotFound),
        ("chain-reverted", "reverted", Situation::RevertedOnSource),
        ("chain-pending", "pending", Situation::PendingOnSource),
        ("chain-replaced", "dropped", Situation::DroppedOnSource),
        ("chain-wrong", "elsewhere", Situation::WrongSource),
        ("chain-unknown", "unknown", Situation::UnknownOnChains),
        ("chain-contradiction", "reverted", Situation::Alert(Rule::ChainDisagrees)),
    ];
    for (ticket, verdict, _) in table {
        fixture.wait_for_verdict(ticket, verdict).await;
    }
    fixture.advance(Duration::from_secs(10 * 60)).await;
    let now = fixture.clock.now().wall;
    for (ticket, verdict, situation) in table {
        let tx = fixture.with_ticket(ticket).await;
        let advice = advice::advise_with(&tx, now, &|moment| moment.to_rfc3339());
        assert_eq!(advice.situation, situation, "{ticket}: {advice:?}");
        assert!(!advice.say.contains('{') && advice.chain.is_some(), "{advice:?}");
        // The block is mined three seconds after the start; block times are even.
        let is_mined = verdict == "succeeded" || verdict == "reverted";
        assert_eq!(tx.is_submission_from_chain(), is_mined, "{ticket}");
        if is_mined {
            let submitted = tx.deadline().submitted;
            assert!((start()..start() + TimeDelta::seconds(4)).contains(&submitted), "{submitted}");
        }
    }
    // hoptop doesn't ask a chain that isn't an EVM chain.
    assert_eq!(fixture.with_ticket("chain-cosmos").await.on_chain, None);
    assert!(fixture.alerts().await.contains(&Rule::ChainDisagrees));
    assert_eq!(fixture.count_of("is:reverted").await, 2);
    assert_eq!((fixture.count_of("is:pending").await, fixture.count_of("is:wrong-chain").await), (1, 1));
    fixture.assert_within_budget();
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requested_check_is_answered_at_once_and_wrong_chain_is_corrected() {
    let fixture = PollerFixture::with_chains(SCENARIO, 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    let wrong = fixture.wait_for_verdict("chain-wrong", "elsewhere").await;
    assert!(wrong.is_parked() || wrong.state.status.is_none(), "{wrong:?}");
    let cosmos = fixture.with_ticket("chain-cosmos").await;
    fixture.apply(Operation::RequestChainCheck { transactions: vec![cosmos.key()] }).await;
    let cosmos = fixture.wait_for_verdict("chain-cosmos", "cannot_be_asked").await;
    let says = crate::domain::chain_check::sentence(&cosmos, &|_| String::new()).unwrap();
    assert!(says.contains("only EVM chains"), "{says}");

    let edit = Edit::CorrectSource { transactions: vec![wrong.key()], chain: ChainId::new("8453") };
    fixture.apply(Operation::Edit { profile: "default".into(), edit }).await;
    let corrected = fixture.wait_for_verdict("chain-wrong", "succeeded").await;
    assert_eq!((corrected.id, corrected.params.from_chain.as_str()), (wrong.id, "8453"));
    fixture.wait_until(|reader| reader.load().unwrap().0.iter().any(Transaction::is_settled)).await;
    assert_eq!(fixture.with_ticket("chain-wrong").await.state.status, Some(RouterStatus::Success));
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn final_answer_is_not_asked_again_and_undo_restores_the_wrong_chain() {
    let fixture = PollerFixture::with_chains(SCENARIO, 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.wait_for_verdict("chain-contradiction", "reverted").await;
    fixture.wait_until(|reader| reader.load().unwrap().0.iter().filter(|tx| tx.is_overdue()).count() > 2).await;
    fixture.advance(Duration::from_secs(15 * 60)).await;
    let reverted = fixture.with_ticket("chain-contradiction").await.on_chain.unwrap();
    assert!(reverted.source.verdict.is_final());
    fixture.advance(Duration::from_secs(20 * 60)).await;
    assert_eq!(fixture.with_ticket("chain-contradiction").await.on_chain, Some(reverted));

    let wrong = fixture.with_ticket("chain-wrong").await;
    let edit = Edit::CorrectSource { transactions: vec![wrong.key()], chain: ChainId::new("8453") };
    fixture.apply(Operation::Edit { profile: "default".into(), edit }).await;
    fixture.apply(Operation::Undo { profile: "default".into() }).await;
    let undone = fixture.wait_for_verdict("chain-wrong", "elsewhere").await;
    assert_eq!(undone.params.from_chain, wrong.params.from_chain);
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn transaction_that_was_parked_before_the_start_is_asked_for() {
    let refused = r#"{ from = 0, http = 400 }"#;
    let mut fixture = PollerFixture::with_chains(&scenario(1, "", refused), 10.0).await;
    let nodes = fixture.chain_nodes.take();
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.wait_until_all(|tx| tx.is_parked()).await;
    poller.stop().await.unwrap();
    fixture.chain_nodes = nodes;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.wait_until_all(|tx| tx.on_chain.is_some()).await;
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn second_transaction_of_a_transfer_that_settled_before_the_start_is_asked_for() {
    let partial = r#"{ from = 0, status = "partial_success", steps = 3 }"#;
    let mut fixture = PollerFixture::with_chains(&scenario(1, "", partial), 10.0).await;
    let nodes = fixture.chain_nodes.take();
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.wait_until_all(Transaction::is_settled).await;
    poller.stop().await.unwrap();
    assert_eq!(fixture.transactions().await[0].on_chain, None);
    fixture.chain_nodes = nodes;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.wait_until_all(|tx| tx.on_chain.as_ref().is_some_and(|known| known.second.is_some())).await;
    poller.stop().await.unwrap();
}
