//! Tests that a poller ends snoozes at their moment, also for transactions that are no longer polled.

use super::*;
use crate::domain::alert::SnoozeEnd;

#[tokio::test(start_paused = true)]
async fn snooze_on_a_settled_transaction_ends_within_ten_seconds_of_its_moment() {
    let fixture =
        PollerFixture::new(&scenario(1, "", r#"{ from = 0, status = "partial_success", steps = 3 }"#), 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.wait_until_all(Transaction::is_settled).await;
    let (store, at) = (fixture.store.clone(), fixture.clock.now().wall);
    let until = at + TimeDelta::seconds(60);
    let snooze = LocalEdit::Snooze { alerts: vec![1], until: SnoozeEnd::Until(until) };
    spawn_blocking(move || testing::edit(&store, "default", snooze, at)).await.unwrap();
    fixture.wait_for_event("alert_unsnoozed").await;
    let ended = fixture
        .notable_changes()
        .await
        .iter()
        .find(|change| change.kind.name() == "alert_unsnoozed")
        .map(|change| change.at);
    let late = ended.unwrap() - until;
    assert!((0..=10).contains(&late.num_seconds()), "{late}");
    assert!(fixture.read(|reader| reader.alerts(AlertQuery::Active).unwrap()[0].handling.is_none()).await);
    poller.stop().await.unwrap();
}
