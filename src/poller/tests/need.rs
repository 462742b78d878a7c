//! Tests of the need for polls: open transactions, the weights of labels, the alert about a short budget, and the rate
//! after an HTTP 429.

use super::*;

#[tokio::test(start_paused = true)]
async fn budget_short_for_two_minutes_raises_an_alert_until_it_is_sufficient() {
    // 60 transactions need 0.67 polls a second; the budget allows about half of that.
    let text = scenario(60, "", &format!("{ONGOING}, {{ from = 600, status = \"success\", steps = 3 }}"));
    let fixture = PollerFixture::new(&text.replace("rps = 10.0", "rps = 0.4"), 0.4).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.advance(Duration::from_secs(110)).await;
    assert_eq!(fixture.alerts().await, []);
    fixture.advance(Duration::from_secs(20)).await;
    assert_eq!(fixture.alerts().await, [Rule::BudgetShort]);
    assert_eq!((fixture.count("alert_raised").await, fixture.count("recovered").await), (1, 0));
    let report = fixture.read(|reader| reader.poller("default").unwrap()).await.unwrap();
    assert!(report.need.is_some_and(|need| need.is_short() && need.unsettled == 60), "{report:?}");
    fixture.wait_until(|reader| reader.alerts(AlertQuery::Active).unwrap().is_empty()).await;
    assert_eq!(fixture.count("alert_cleared").await, 1);
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn open_transaction_is_polled_every_five_seconds() {
    let fixture = PollerFixture::new(&scenario(100, "", ONGOING), 10.0).await;
    let open = fixture.transactions().await.remove(70);
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    poller.wait_for_requests(10).await;
    let (store, until) = (fixture.store.clone(), fixture.clock.now().wall + TimeDelta::seconds(60));
    let mark = OpenMark { dashboard: 7, open: Some((open.id, until)), at: start() };
    spawn_blocking(move || store.mark_open(mark, None).wait()).await.unwrap().unwrap();
    fixture.advance(Duration::from_secs(120)).await;
    let asked = &poller.by_transaction()[&open.params.transaction_id.key()];
    // The transaction is open for one minute, and is polled like all others in the next minute.
    assert!((12..=24).contains(&asked.len()), "{asked:?}");
    assert!(asked.windows(2).filter(|pair| pair[1].since(pair[0]) < Duration::from_secs(6)).count() >= 9, "{asked:?}");
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn known_transactions_that_are_not_found_after_their_deadline_starve_nobody() {
    let lost = format!("{ONGOING}, {{ from = 30, http = 404 }}");
    let text = scenario(5, "", &lost);
    let others = scenario(25, "", ONGOING);
    let others = others.split("[[transaction]]").skip(6).map(|other| format!("[[transaction]]{other}"));
    let fixture = PollerFixture::new(&(text + &others.collect::<String>()), 1.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.advance(Duration::from_secs(60 * 60)).await;
    let asked = poller.by_transaction();
    let late = |times: &[MonotonicTime]| {
        let end = *times.last().unwrap();
        times.iter().filter(|at| end.since(**at) < Duration::from_secs(20 * 60)).count()
    };
    let counts: Vec<usize> = asked.values().map(|times| late(times)).collect();
    assert_eq!(counts.len(), 25);
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*least > 5 && *most < 3 * *least, "{counts:?}");
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn label_weight_applies_after_every_answer() {
    let mut fixture = PollerFixture::empty(&scenario(40, "", ONGOING), 1.0);
    fixture.weights = BTreeMap::from([("vip".to_owned(), 100.0)]);
    let mut batch = fixture.scenario.world(start()).transfers();
    let vip = batch[7].params.transaction_id.key();
    batch[7].labels = vec!["vip".into()];
    fixture.import(batch).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.advance(Duration::from_secs(600)).await;
    let asked = poller.by_transaction();
    let others = asked.iter().filter(|(hash, _)| **hash != vip).map(|(_, asked)| asked.len()).max();
    assert!(asked[&vip].len() > 2 * others.unwrap(), "{} against at most {others:?}", asked[&vip].len());
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn after_429_the_rate_is_cut_and_recovers_in_two_minutes() {
    let answers = r#"{ from = 0, status = "ongoing" }, { from = 30, http = 429 }, { from = 31, status = "ongoing" }"#;
    let fixture = PollerFixture::new(&scenario(100, "", answers), 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.wait_for_event("throttled").await;
    let share = || fixture.read(|reader| reader.poller("default").unwrap().unwrap().share);
    fixture.advance(Duration::from_secs(10)).await;
    let cut = share().await;
    assert!((0.5..0.8).contains(&cut), "{cut}");
    fixture.advance(Duration::from_secs(130)).await;
    assert_eq!(share().await, 1.0);
    poller.stop().await.unwrap();
}
