//! Tests of several pollers on one store, and on one ID.

use super::*;

#[tokio::test(start_paused = true)]
async fn second_poller_waits_for_the_first_to_end_and_takes_over() {
    let fixture = PollerFixture::new(&scenario(30, "", ONGOING).replace("rps = 10.0", "rps = 2.0"), 2.0).await;
    let folder = || Some(fixture.folder.path().join("state"));
    let first = fixture.start_with(|_| ConnectionBehavior::Fine, folder());
    first.wait_for_requests(10).await;
    let second = fixture.start_with(|_| ConnectionBehavior::Fine, folder());
    first.wait_for_requests(20).await;
    assert_eq!(second.requests().len(), 0);
    first.stop().await.unwrap();
    let stopped = fixture.clock.now().mono;
    second.wait_for_requests(20).await;
    let waited = second.requests()[0].0.since(stopped);
    assert!(waited < Duration::from_secs(2), "{waited:?}");
    fixture.assert_within_budget();
    second.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn waiting_poller_can_be_stopped() {
    let fixture = PollerFixture::new(&scenario(1, "", ONGOING), 10.0).await;
    let folder = || Some(fixture.folder.path().join("state"));
    let first = fixture.start_with(|_| ConnectionBehavior::Fine, folder());
    first.wait_for_requests(1).await;
    let second = fixture.start_with(|_| ConnectionBehavior::Fine, folder());
    first.wait_for_requests(3).await;
    second.stop().await.unwrap();
    first.stop().await.unwrap();
}

/// Starts two pollers, and kills the first while its request is in flight. Returns the second, and the time until the
/// second sent a request.
async fn kill_first_poller(fixture: &PollerFixture) -> (RunningPoller, Duration) {
    let folder = || Some(fixture.folder.path().join("state"));
    let first = fixture.start_with(|_| ConnectionBehavior::Fine, folder());
    first.wait_for_requests(2).await;
    let second = fixture.start_with(|_| ConnectionBehavior::Fine, folder());
    let died = fixture.clock.now().mono;
    first.task.abort();
    assert!(first.task.await.unwrap_err().is_cancelled());
    second.wait_for_requests(1).await;
    let waited = second.requests()[0].0.since(died);
    (second, waited)
}

#[tokio::test(start_paused = true)]
async fn after_a_poller_dies_during_a_request_another_sends_within_ten_seconds() {
    let fixture =
        PollerFixture::new(&scenario(3, "latency_ms = 1000", ONGOING).replace("rps = 10.0", "rps = 1.0"), 1.0).await;
    let (second, waited) = kill_first_poller(&fixture).await;
    assert!((Duration::from_secs(9)..Duration::from_secs(10)).contains(&waited), "{waited:?}");
    second.wait_for_requests(5).await;
    fixture.assert_within_budget();
    second.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn after_a_poller_dies_no_transaction_is_polled_again_within_five_seconds() {
    let fixture = PollerFixture::new(&scenario(2, "latency_ms = 1000", ONGOING), 10.0).await;
    let (second, waited) = kill_first_poller(&fixture).await;
    assert!(waited >= Duration::from_secs(5), "{waited:?}");
    second.stop().await.unwrap();
}

/// The poller shuts down gracefully, but the store doesn't know when the service was asked.
#[tokio::test(start_paused = true)]
async fn after_a_request_without_an_answer_the_next_poller_waits_five_seconds() {
    for behavior in [|_| ConnectionBehavior::Refused, |_| ConnectionBehavior::Silent] {
        let fixture = PollerFixture::new(&scenario(1, "", ONGOING), 10.0).await;
        let folder = || Some(fixture.folder.path().join("state"));
        let first = fixture.start_with(behavior, folder());
        first.wait_for_requests(1).await;
        let asked = first.requests()[0].0;
        fixture.advance(Duration::from_millis(100)).await;
        first.stop().await.unwrap();
        let second = fixture.start_with(|_| ConnectionBehavior::Fine, folder());
        second.wait_for_requests(1).await;
        let waited = second.requests()[0].0.since(asked);
        assert!((Duration::from_secs(5)..Duration::from_secs(8)).contains(&waited), "{waited:?}");
        second.stop().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn poller_that_ends_while_it_waits_leaves_the_wait_to_the_next() {
    let fixture = PollerFixture::new(&scenario(1, "", ONGOING), 10.0).await;
    let folder = || Some(fixture.folder.path().join("state"));
    let first = fixture.start_with(|_| ConnectionBehavior::Refused, folder());
    first.wait_for_requests(1).await;
    let asked = first.requests()[0].0;
    fixture.advance(Duration::from_millis(100)).await;
    first.stop().await.unwrap();
    let second = fixture.start_with(|_| ConnectionBehavior::Fine, folder());
    fixture.advance(Duration::from_secs(1)).await;
    assert_eq!(second.requests(), []);
    second.stop().await.unwrap();
    let third = fixture.start_with(|_| ConnectionBehavior::Fine, folder());
    third.wait_for_requests(1).await;
    let waited = third.requests()[0].0.since(asked);
    assert!((Duration::from_secs(5)..Duration::from_secs(6)).contains(&waited), "{waited:?}");
    third.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn pollers_of_two_stores_share_one_id_s_budget_fairly() {
    let text = scenario(40, "", ONGOING).replace("rps = 10.0", "rps = 4.0");
    let fixture = PollerFixture::new(&text, 4.0).await;
    let other = PollerFixture {
        service: Arc::clone(&fixture.service),
        clock: fixture.clock.clone(),
        ..PollerFixture::empty(&text, 4.0)
    };
    other.import(other.scenario.world(start()).transfers()).await;
    let folder = || Some(fixture.folder.path().join("state"));
    let pollers = [
        fixture.start_with(|_| ConnectionBehavior::Fine, folder()),
        other.start_with(|_| ConnectionBehavior::Fine, folder()),
    ];
    fixture.advance(Duration::from_secs(60)).await;
    fixture.assert_within_budget();
    let [first, second] = pollers.map(|poller| {
        poller.by_transaction();
        poller.requests().len()
    });
    assert!(first + second >= 210 && first.abs_diff(second) <= 10, "{first} {second}");
}
