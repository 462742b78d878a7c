//! Tests of a paused profile: only requests of people are sent, from any process.

use super::*;

impl PollerFixture {
    async fn pause(&self, until: Option<DateTime<Utc>>) {
        self.apply(Operation::Pause { profile: "default".into(), until }).await;
    }
}

#[tokio::test(start_paused = true)]
async fn paused_profile_sends_only_requested_polls_until_the_pause_ends() {
    let bench = PollerFixture::new(&scenario(3, "", r#"{ from = 0, status = "ongoing", steps = 1 }"#), 10.0).await;
    let until = bench.clock.now().wall + TimeDelta::hours(1);
    bench.pause(Some(until)).await;
    let poller = bench.start(|_| ConnectionBehavior::Fine);
    bench
        .wait_until(|reader| {
            reader.poller("default").unwrap().is_some_and(|report| report.health == PollerHealth::Paused)
        })
        .await;
    bench.advance(Duration::from_secs(60)).await;
    assert_eq!(poller.requests().len(), 0);
    let row = bench.transactions().await[1].id;
    bench.request_poll(row).await;
    poller.wait_for_requests(1).await;
    bench.advance(Duration::from_secs(60)).await;
    assert_eq!(poller.requests().len(), 1, "only the requested poll is sent");
    poller.wait_for_requests(4).await;
    assert!(bench.clock.now().wall >= until, "all others wait for the end of the pause");
    bench.pause(Some(bench.clock.now().wall + TimeDelta::hours(1))).await;
    bench
        .wait_until(|reader| {
            reader.poller("default").unwrap().is_some_and(|report| report.health == PollerHealth::Paused)
        })
        .await;
    let sent = poller.requests().len();
    bench.pause(None).await;
    poller.wait_for_requests(sent + 3).await;
    bench.assert_within_budget();
    poller.stop().await.unwrap();
}
