//! Tests of a paused profile: only requests of people are sent, whichever process made them.

use super::*;

impl Bench {
    async fn pause(&self, until: Option<DateTime<Utc>>) {
        self.apply(Operation::Pause { profile: "default".into(), until }).await;
    }
}

#[tokio::test(start_paused = true)]
async fn paused_profile_sends_only_requested_polls_until_the_pause_ends() {
    let bench = Bench::new(&scenario(3, "", r#"{ from = 0, status = "ongoing", steps = 1 }"#), 10.0).await;
    let until = bench.clock.now().wall + TimeDelta::hours(1);
    bench.pause(Some(until)).await;
    let poller = bench.start(|_| Behavior::Fine);
    bench
        .until(|reader| reader.poller("default").unwrap().is_some_and(|report| report.health.name() == "paused"))
        .await;
    bench.advance(Duration::from_secs(60)).await;
    assert_eq!(poller.requests().len(), 0);
    let row = bench.transactions().await[1].id;
    bench.request_poll(row).await;
    poller.until_sent(1).await;
    bench.advance(Duration::from_secs(60)).await;
    assert_eq!(poller.requests().len(), 1, "only the requested poll is sent");
    poller.until_sent(4).await;
    assert!(bench.clock.now().wall >= until, "all others wait for the end of the pause");
    bench.pause(Some(bench.clock.now().wall + TimeDelta::hours(1))).await;
    bench
        .until(|reader| reader.poller("default").unwrap().is_some_and(|report| report.health.name() == "paused"))
        .await;
    let sent = poller.requests().len();
    bench.pause(None).await;
    poller.until_sent(sent + 3).await;
    bench.assert_within_budget();
    poller.stop().await.unwrap();
}
