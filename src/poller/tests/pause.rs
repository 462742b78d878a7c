//! Tests of a paused profile: only requests of people are sent, from any process.

use super::*;

impl PollerFixture {
    async fn pause(&self, until: Option<DateTime<Utc>>) {
        self.apply(Operation::Pause { profile: "default".into(), until }).await;
    }
}

#[tokio::test(start_paused = true)]
async fn paused_profile_sends_only_requested_polls_until_the_pause_ends() {
    let fixture = PollerFixture::new(&scenario(3, "", r#"{ from = 0, status = "ongoing", steps = 1 }"#), 10.0).await;
    let until = fixture.clock.now().wall + TimeDelta::hours(1);
    fixture.pause(Some(until)).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture
        .wait_until(|reader| {
            reader.poller("default").unwrap().is_some_and(|report| report.health == PollerHealth::Paused)
        })
        .await;
    fixture.advance(Duration::from_secs(60)).await;
    assert_eq!(poller.requests().len(), 0);
    let row = fixture.transactions().await[1].id;
    fixture.request_poll(row).await;
    poller.wait_for_requests(1).await;
    fixture.advance(Duration::from_secs(60)).await;
    assert_eq!(poller.requests().len(), 1, "only the requested poll is sent");
    poller.wait_for_requests(4).await;
    assert!(fixture.clock.now().wall >= until, "all others wait for the end of the pause");
    fixture.pause(Some(fixture.clock.now().wall + TimeDelta::hours(1))).await;
    fixture
        .wait_until(|reader| {
            reader.poller("default").unwrap().is_some_and(|report| report.health == PollerHealth::Paused)
        })
        .await;
    let sent = poller.requests().len();
    fixture.pause(None).await;
    poller.wait_for_requests(sent + 3).await;
    fixture.assert_within_budget();
    poller.stop().await.unwrap();
}
