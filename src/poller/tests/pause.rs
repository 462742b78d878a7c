//! While a person wants nothing polled nothing goes out but what they ask for, in whichever process that is.

use super::*;

impl Bench {
    async fn pause(&self, until: Option<DateTime<Utc>>) {
        self.apply(Operation::Pause { profile: "default".into(), until }).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_paused_profile_is_polled_again_at_its_moment_and_meanwhile_only_when_asked() {
    let bench = Bench::new(&scenario(3, "", r#"{ from = 0, status = "ongoing", steps = 1 }"#), 10.0).await;
    let until = bench.clock.now().wall + TimeDelta::hours(1);
    bench.pause(Some(until)).await;
    let poller = bench.start(|_| Mood::Fine);
    bench
        .until(|reader| reader.poller("default").unwrap().is_some_and(|report| report.health.name() == "paused"))
        .await;
    bench.pass(Duration::from_secs(60)).await;
    assert_eq!(poller.requests().len(), 0);
    let row = bench.transactions().await[1].id;
    bench.request_poll(row).await;
    poller.until_sent(1).await;
    bench.pass(Duration::from_secs(60)).await;
    assert_eq!(poller.requests().len(), 1, "that one alone");
    poller.until_sent(4).await;
    assert!(bench.clock.now().wall >= until, "the others when the moment has come");
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
