use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::mpsc,
    thread,
};

use super::*;
use crate::{
    domain::{
        fixtures::{self, at},
        ids::RowId,
        status::RouterStatus,
        team::{Nonce, TeamStatus},
    },
    store::{LogEntries, LogQueue, testing},
};

/// Renders an event as the event's name and the transaction's ID.
fn render_plain(
    change: &Change,
    transaction: Option<(&Transaction, &[Alert])>,
    _: DateTime<Utc>,
) -> serde_json::Result<String> {
    let id = transaction.map_or("", |(tx, _)| tx.params.transaction_id.as_str());
    serde_json::to_string(&(change.kind.name(), id))
}

/// A store with nine transactions in the profile "default" and one in another profile.
struct NotifierFixture {
    folder: tempfile::TempDir,
    setup: NotifierSetup,
}

impl NotifierFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        testing::track(&store, "default", (1..=9).map(fixtures::new).collect(), at(0));
        testing::track(&store, "other", vec![fixtures::new(10)], at(0));
        let clock = Clock::system();
        let setup = NotifierSetup {
            store,
            profile: "default".into(),
            clock,
            render: render_plain,
            events: NotifiedEvent::DEFAULT.to_vec(),
            posts: WebhookPosts::default(),
        };
        Self { folder, setup }
    }

    /// Raises an alert for the transaction in this row.
    fn raise(&self, row: i64) {
        testing::observe(&self.setup.store, RowId(row), fixtures::says(RouterStatus::NeedsGas), at(row));
    }

    fn cursor(&self, channel: &str) -> Option<NotificationCursor> {
        let cursors = self.setup.store.reader().unwrap().notification_cursors("default").unwrap();
        cursors.into_iter().find(|cursor| cursor.channel == channel)
    }

    /// Waits until `condition` is true for the saved cursor of a channel, and returns the cursor.
    async fn wait_for_cursor(
        &self,
        channel: &str,
        condition: impl Fn(&NotificationCursor) -> bool,
    ) -> NotificationCursor {
        let mut commits = self.setup.store.subscribe(WakeKind::AnyCommit).unwrap();
        loop {
            commits.mark_unchanged();
            if let Some(cursor) = self.cursor(channel).filter(&condition) {
                return cursor;
            }
            tokio::time::timeout(Duration::from_secs(30), commits.changed())
                .await
                .expect("the condition stays false")
                .unwrap();
        }
    }
}

/// Starts a webhook that answers with these statuses in turn, and then repeats the last status. The receiver gets the
/// ID and the body of each request.
fn start_webhook(statuses: &'static [u16]) -> (Webhook, mpsc::Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook?token=canary", listener.local_addr().unwrap());
    let (sender, posts) = mpsc::channel();
    thread::spawn(move || {
        for (stream, count) in listener.incoming().zip(0..) {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut length, mut id) = (0, String::new());
            for line in stream.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()) {
                let (name, value) = line.split_once(": ").unwrap_or((line.as_str(), ""));
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.parse().unwrap(),
                    "x-hoptop-event-id" => id = value.to_owned(),
                    _ => {}
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let status = statuses.get(count).or(statuses.last()).unwrap();
            write!(stream.get_mut(), "HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            if sender.send((id, String::from_utf8(body).unwrap())).is_err() {
                return;
            }
        }
    });
    (Webhook::new(&url).unwrap(), posts)
}

/// Returns the bodies of the requests so far.
fn bodies(posts: &mpsc::Receiver<(String, String)>) -> Vec<String> {
    posts.try_iter().map(|(_, body)| body).collect()
}

/// Returns the rendered event of an alert for the transaction in this row.
fn raised_body(row: i64) -> String {
    format!("[\"alert_raised\",\"{}\"]", fixtures::new(row).params.transaction_id)
}

/// Returns a command that appends its standard input to a file.
fn append_command(file: &std::path::Path) -> Vec<String> {
    ["sh", "-c", &format!("cat >> {}", file.display())].map(str::to_owned).to_vec()
}

#[tokio::test]
async fn webhook_gets_new_events_and_after_a_restart_the_events_in_between() {
    let (fixture, (webhook, posts)) = (NotifierFixture::new(), start_webhook(&[200]));
    fixture.raise(1);
    let notifier = Notifier::start(&fixture.setup, vec![Channel::Webhook(webhook.clone())]).await.unwrap();
    let initial = fixture.wait_for_cursor("webhook", |_| true).await;
    fixture.raise(2);
    fixture.raise(10);
    fixture.wait_for_cursor("webhook", |cursor| cursor.seq > initial.seq).await;
    notifier.finish(Duration::from_secs(30)).await;
    assert_eq!(bodies(&posts), [raised_body(2)], "no earlier events and no events of other profiles");
    fixture.raise(3);
    fixture.raise(4);
    Notifier::start(&fixture.setup, vec![Channel::Webhook(webhook)])
        .await
        .unwrap()
        .finish(Duration::from_secs(30))
        .await;
    assert_eq!(bodies(&posts), [raised_body(3), raised_body(4)]);
}

#[tokio::test]
async fn webhook_event_is_retried_until_accepted_and_skipped_when_refused() {
    let (fixture, (webhook, posts)) = (NotifierFixture::new(), start_webhook(&[503, 429, 204, 400, 200]));
    let notifier = Notifier::start(&fixture.setup, vec![Channel::Webhook(webhook)]).await.unwrap();
    let initial = fixture.wait_for_cursor("webhook", |_| true).await;
    fixture.raise(1);
    let failing = fixture.wait_for_cursor("webhook", |cursor| cursor.error.is_some()).await;
    assert_eq!(
        (failing.seq, failing.error.as_deref()),
        (initial.seq, Some("127.0.0.1 answered HTTP 503; hoptop will send the event again"))
    );
    let sent = fixture.wait_for_cursor("webhook", |cursor| cursor.error.is_none()).await;
    assert!(sent.seq > initial.seq);
    let counts = || {
        let state = fixture.setup.posts.states().remove("default").unwrap();
        [state.delivered, state.refused, state.failed, state.users.into()]
    };
    assert_eq!(counts(), [1, 0, 2, 1]);
    fixture.raise(2);
    let refused = fixture.wait_for_cursor("webhook", |cursor| cursor.error.is_some()).await;
    assert_eq!(refused.error.as_deref(), Some("127.0.0.1 refused the event with HTTP 400; hoptop won't send it again"));
    fixture.raise(3);
    fixture.wait_for_cursor("webhook", |cursor| cursor.error.is_none()).await;
    notifier.finish(Duration::from_secs(30)).await;
    assert_eq!(counts(), [2, 1, 2, 0]);
    let posts: Vec<_> = posts.try_iter().collect();
    let ids: Vec<_> = posts.iter().map(|(id, _)| id.as_str()).collect();
    assert!(ids[0] == ids[1] && ids[1] == ids[2] && ids[2] != ids[3], "{ids:?}");
    let bodies: Vec<_> = posts.into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies, [raised_body(1), raised_body(1), raised_body(1), raised_body(2), raised_body(3)]);
}

/// A replica that was away applies what happened meanwhile after its start.
#[tokio::test]
async fn event_from_before_the_start_that_enters_the_feed_later_is_not_sent() {
    let (mut fixture, (webhook, posts)) = (NotifierFixture::new(), start_webhook(&[200]));
    let store = fixture.setup.store.clone();
    let raise = |row| testing::observe(&store, RowId(row), fixtures::says(RouterStatus::NeedsGas), at(row));
    let (queue, _submissions) = tokio::sync::mpsc::unbounded_channel();
    let log = LogQueue::new(queue, thread::spawn(|| ()), watch::channel(TeamStatus::default()).1);
    fixture.setup =
        NotifierSetup { store: store.clone().with_log(log), clock: Clock::starting_at(at(5)), ..fixture.setup };
    let channels = || vec![Channel::Webhook(webhook.clone())];
    let notifier = Notifier::start(&fixture.setup, channels()).await.unwrap();
    fixture.wait_for_cursor("webhook", |_| true).await;
    raise(2);
    raise(7);
    notifier.finish(Duration::from_secs(30)).await;
    assert_eq!(bodies(&posts), [raised_body(7)]);
    // A webhook that had a cursor gets the events since then, whenever they happened.
    raise(3);
    Notifier::start(&fixture.setup, channels()).await.unwrap().finish(Duration::from_secs(30)).await;
    assert_eq!(bodies(&posts), [raised_body(3)]);
}

/// The database lost entries: the feed of the snapshot ends before the event that is being sent.
#[tokio::test]
async fn event_after_a_snapshot_is_sent_though_the_feed_of_before_was_longer() {
    const TEAM: Nonce = Nonce(7);
    let (mut fixture, (webhook, posts)) = (NotifierFixture::new(), start_webhook(&[503, 200]));
    let open = |name: &str| Store::open(&fixture.folder.path().join(name)).unwrap();
    let (store, early) = (open("replica.db"), open("early.db"));
    let replicate = |store: &Store, seq, operation| {
        let entries = vec![testing::log_entry(seq, vec![operation], at(1))];
        store.replicate(LogEntries { team: TEAM, entries, own: vec![], is_light: false }).wait().unwrap();
    };
    let track = || Operation::Track { profile: "default".into(), transactions: (1..=9).map(fixtures::new).collect() };
    let answer = |number| Operation::Observe {
        transaction: fixtures::transaction(number).key(),
        observation: Box::new(fixtures::says(RouterStatus::NeedsGas)),
    };
    for replica in [&store, &early] {
        replicate(replica, 1, track());
    }
    let file = fixture.folder.path().join("snapshot.db");
    early.write_snapshot(&file).unwrap();
    fixture.setup.store = store.clone();
    let notifier = Notifier::start(&fixture.setup, vec![Channel::Webhook(webhook)]).await.unwrap();
    fixture.wait_for_cursor("webhook", |_| true).await;
    replicate(&store, 2, answer(1));
    fixture.wait_for_cursor("webhook", |cursor| cursor.error.is_some()).await;
    store.load_snapshot(Some(&file), TEAM, None, false).unwrap();
    replicate(&store, 2, answer(2));
    fixture.wait_for_cursor("webhook", |cursor| cursor.error.is_none()).await;
    notifier.finish(Duration::from_secs(30)).await;
    assert_eq!(bodies(&posts), [raised_body(1), raised_body(2)]);
}

#[tokio::test]
async fn event_of_a_transaction_that_is_deleted_before_a_retry_is_not_sent() {
    let (fixture, (webhook, posts)) = (NotifierFixture::new(), start_webhook(&[503, 200]));
    let notifier = Notifier::start(&fixture.setup, vec![Channel::Webhook(webhook)]).await.unwrap();
    fixture.wait_for_cursor("webhook", |_| true).await;
    fixture.raise(1);
    fixture.wait_for_cursor("webhook", |cursor| cursor.error.is_some()).await;
    testing::delete(&fixture.setup.store, vec![RowId(1)], at(2));
    fixture.wait_for_cursor("webhook", |cursor| cursor.error.is_none()).await;
    assert_eq!(bodies(&posts), [raised_body(1)]);
    let before = fixture.cursor("webhook").unwrap().seq;
    fixture.raise(2);
    fixture.wait_for_cursor("webhook", |cursor| cursor.seq > before).await;
    notifier.finish(Duration::from_secs(30)).await;
    assert_eq!(bodies(&posts), [raised_body(2)]);
}

#[tokio::test]
async fn second_process_sends_webhook_events_only_after_the_first_stops() {
    let (fixture, (webhook, posts)) = (NotifierFixture::new(), start_webhook(&[200]));
    let first = Notifier::start(&fixture.setup, vec![Channel::Webhook(webhook.clone())]).await.unwrap();
    let initial = fixture.wait_for_cursor("webhook", |_| true).await;
    let second = Notifier::start(&fixture.setup, vec![Channel::Webhook(webhook)]).await.unwrap();
    fixture.raise(1);
    let sent = fixture.wait_for_cursor("webhook", |cursor| cursor.seq > initial.seq).await;
    first.finish(Duration::from_secs(30)).await;
    fixture.raise(2);
    fixture.wait_for_cursor("webhook", |cursor| cursor.seq > sent.seq).await;
    second.finish(Duration::from_secs(30)).await;
    assert_eq!(bodies(&posts), [raised_body(1), raised_body(2)]);
}

#[tokio::test]
async fn command_gets_each_event_and_its_failure_is_saved_until_a_call_succeeds() {
    let fixture = NotifierFixture::new();
    let (output, failure_flag) = (fixture.folder.path().join("output"), fixture.folder.path().join("fail"));
    let script = format!("cat >> {}; test ! -e {}", output.display(), failure_flag.display());
    let argv = ["sh", "-c", &script].map(str::to_owned).to_vec();
    fixture.raise(1);
    let notifier = Notifier::start(&fixture.setup, vec![Channel::Command(argv.clone())]).await.unwrap();
    let initial = fixture.wait_for_cursor("on_alert", |_| true).await;
    std::fs::write(&failure_flag, "").unwrap();
    fixture.raise(2);
    let failed = fixture.wait_for_cursor("on_alert", |cursor| cursor.error.is_some()).await;
    assert_eq!(failed.error.as_deref(), Some("sh: exit status: 1"));
    assert!(failed.seq > initial.seq);
    std::fs::remove_file(&failure_flag).unwrap();
    fixture.raise(3);
    fixture.wait_for_cursor("on_alert", |cursor| cursor.error.is_none()).await;
    notifier.finish(Duration::from_secs(30)).await;
    // Events that happen while no process runs are not sent to a command later.
    fixture.raise(4);
    Notifier::start(&fixture.setup, vec![Channel::Command(argv)]).await.unwrap().finish(Duration::from_secs(30)).await;
    let events = std::fs::read_to_string(output).unwrap();
    assert_eq!(events, format!("{}\n{}\n", raised_body(2), raised_body(3)));
}

#[tokio::test]
async fn at_most_four_calls_run_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        format!("cd {}; touch $$; ls | wc -l >> ../counts; sleep 0.5; rm $$", folder.path().join("running").display());
    std::fs::create_dir(folder.path().join("running")).unwrap();
    let argv = ["sh", "-c", &script].map(str::to_owned).to_vec();
    let mut calls = CommandCalls::default();
    for _ in 0..12 {
        calls.start(&argv, "{}").await;
    }
    calls.wait_for_all().await;
    assert_eq!(calls.take_result(), Some(Ok(())));
    let counts = std::fs::read_to_string(folder.path().join("counts")).unwrap();
    let counts: Vec<usize> = counts.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert_eq!(counts.len(), 12);
    assert_eq!(counts.iter().max(), Some(&4), "{counts:?}");
}

#[tokio::test]
async fn event_several_pages_down_the_feed_is_sent_before_the_notifier_stops() {
    let fixture = NotifierFixture::new();
    let output = fixture.folder.path().join("output");
    let argv = append_command(&output);
    let notifier = Notifier::start(&fixture.setup, vec![Channel::Command(argv)]).await.unwrap();
    let transactions = (100..100 + 3 * i64::try_from(PAGE_SIZE).unwrap()).map(fixtures::new).collect();
    testing::track(&fixture.setup.store, "default", transactions, at(0));
    fixture.raise(1);
    notifier.finish(Duration::from_secs(30)).await;
    assert_eq!(std::fs::read_to_string(output).unwrap(), format!("{}\n", raised_body(1)));
}

#[tokio::test]
async fn process_that_takes_over_runs_the_command_for_later_events() {
    let fixture = NotifierFixture::new();
    let output = fixture.folder.path().join("output");
    let argv = append_command(&output);
    let first = Notifier::start(&fixture.setup, vec![Channel::Command(argv.clone())]).await.unwrap();
    let initial = fixture.wait_for_cursor("on_alert", |_| true).await;
    let second = Notifier::start(&fixture.setup, vec![Channel::Command(argv)]).await.unwrap();
    fixture.raise(1);
    fixture.wait_for_cursor("on_alert", |cursor| cursor.seq > initial.seq).await;
    first.finish(Duration::from_secs(30)).await;
    let sent = fixture.cursor("on_alert").unwrap();
    fixture.raise(2);
    fixture.wait_for_cursor("on_alert", |cursor| cursor.seq > sent.seq).await;
    second.finish(Duration::from_secs(30)).await;
    assert_eq!(std::fs::read_to_string(output).unwrap(), format!("{}\n{}\n", raised_body(1), raised_body(2)));
}

#[tokio::test]
async fn cursor_is_saved_when_the_feed_has_no_events_to_send() {
    let (fixture, (webhook, posts)) = (NotifierFixture::new(), start_webhook(&[200]));
    let notifier = Notifier::start(&fixture.setup, vec![Channel::Webhook(webhook)]).await.unwrap();
    let initial = fixture.wait_for_cursor("webhook", |_| true).await;
    let transactions =
        (100..100 + CURSOR_SAVE_INTERVAL + 2 * i64::try_from(PAGE_SIZE).unwrap()).map(fixtures::new).collect();
    testing::track(&fixture.setup.store, "default", transactions, at(0));
    fixture.wait_for_cursor("webhook", |cursor| cursor.seq > initial.seq + CURSOR_SAVE_INTERVAL).await;
    notifier.finish(Duration::from_secs(30)).await;
    assert_eq!(bodies(&posts), [""; 0]);
}
