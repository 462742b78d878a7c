use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::mpsc,
    thread,
};

use chrono::TimeDelta;

use super::*;
use crate::{
    domain::{fixtures, ids::RowId, status::RouterStatus},
    store::testing,
};

/// Renders an event for these tests.
fn plain(change: &Change, about: Option<(&Transaction, &[Alert])>, _: DateTime<Utc>) -> serde_json::Result<String> {
    let hash = about.map_or("", |(tx, _)| tx.params.transaction_id.as_str());
    serde_json::to_string(&(change.what.name(), hash))
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
}

struct Bench {
    folder: tempfile::TempDir,
    setup: Setup,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        testing::track(&store, "default", (1..=9).map(fixtures::new).collect(), at(0));
        testing::track(&store, "other", vec![fixtures::new(10)], at(0));
        let clock = Clock::system();
        let setup = Setup { store, profile: "default".into(), clock, render: plain };
        Self { folder, setup }
    }

    /// Raises an alert for the transaction in this row.
    fn raise(&self, row: i64) {
        testing::observe(&self.setup.store, RowId(row), fixtures::says(RouterStatus::NeedsGas), at(row));
    }

    fn state(&self, channel: &str) -> Option<NotificationCursor> {
        let cursors = self.setup.store.reader().unwrap().notification_cursors("default").unwrap();
        cursors.into_iter().find(|cursor| cursor.channel == channel)
    }

    /// Waits until `holds` is true for the cursor of a channel.
    async fn until(&self, channel: &str, holds: impl Fn(&NotificationCursor) -> bool) -> NotificationCursor {
        let mut commits = self.setup.store.subscribe(Wake::AnyCommit).unwrap();
        loop {
            commits.mark_unchanged();
            if let Some(state) = self.state(channel).filter(&holds) {
                return state;
            }
            tokio::time::timeout(Duration::from_secs(30), commits.changed()).await.expect("it never holds").unwrap();
        }
    }
}

/// Starts a service that answers with these statuses in turn, and then with the last; the receiver gets each post.
fn service(statuses: &'static [u16]) -> (Webhook, mpsc::Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook?token=canary", listener.local_addr().unwrap());
    let (posted, posts) = mpsc::channel();
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
            if posted.send((id, String::from_utf8(body).unwrap())).is_err() {
                return;
            }
        }
    });
    (Webhook::new(&url).unwrap(), posts)
}

fn bodies(posts: &mpsc::Receiver<(String, String)>) -> Vec<String> {
    posts.try_iter().map(|(_, body)| body).collect()
}

fn raised(row: i64) -> String {
    format!("[\"alert_raised\",\"{}\"]", fixtures::new(row).params.transaction_id)
}

/// Returns a command that appends its input to a file.
#[cfg(unix)]
fn appends_to(file: &std::path::Path) -> Vec<String> {
    ["sh", "-c", &format!("cat >> {}", file.display())].map(str::to_owned).to_vec()
}

#[tokio::test]
async fn a_webhook_is_told_what_comes_and_after_a_restart_what_came_meanwhile() {
    let (bench, (webhook, posts)) = (Bench::new(), service(&[200]));
    bench.raise(1);
    let notify = Notifier::start(&bench.setup, vec![Channel::Webhook(webhook.clone())]).await.unwrap();
    let begun = bench.until("webhook", |_| true).await;
    bench.raise(2);
    bench.raise(10);
    bench.until("webhook", |state| state.seq > begun.seq).await;
    notify.finish(Duration::from_secs(30)).await;
    assert_eq!(bodies(&posts), [raised(2)], "neither what was before, nor another profile's");
    bench.raise(3);
    bench.raise(4);
    Notifier::start(&bench.setup, vec![Channel::Webhook(webhook)]).await.unwrap().finish(Duration::from_secs(30)).await;
    assert_eq!(bodies(&posts), [raised(3), raised(4)]);
}

#[tokio::test]
async fn a_webhook_is_told_again_until_it_takes_it_and_what_it_refuses_is_left() {
    let (bench, (webhook, posts)) = (Bench::new(), service(&[503, 429, 204, 400, 200]));
    let notify = Notifier::start(&bench.setup, vec![Channel::Webhook(webhook)]).await.unwrap();
    let begun = bench.until("webhook", |_| true).await;
    bench.raise(1);
    let failing = bench.until("webhook", |state| state.error.is_some()).await;
    assert_eq!(
        (failing.seq, failing.error.as_deref()),
        (begun.seq, Some("127.0.0.1 answered HTTP 503; hoptop will send the event again"))
    );
    let told = bench.until("webhook", |state| state.error.is_none()).await;
    assert!(told.seq > begun.seq);
    bench.raise(2);
    let refused = bench.until("webhook", |state| state.error.is_some()).await;
    assert_eq!(refused.error.as_deref(), Some("127.0.0.1 refused the event with HTTP 400; hoptop won't send it again"));
    bench.raise(3);
    bench.until("webhook", |state| state.error.is_none()).await;
    notify.finish(Duration::from_secs(30)).await;
    let posts: Vec<_> = posts.try_iter().collect();
    let ids: Vec<_> = posts.iter().map(|(id, _)| id.as_str()).collect();
    assert!(ids[0] == ids[1] && ids[1] == ids[2] && ids[2] != ids[3], "{ids:?}");
    let texts: Vec<_> = posts.into_iter().map(|(_, body)| body).collect();
    assert_eq!(texts, [raised(1), raised(1), raised(1), raised(2), raised(3)]);
}

#[tokio::test]
async fn one_of_two_processes_tells_and_the_other_takes_over() {
    let (bench, (webhook, posts)) = (Bench::new(), service(&[200]));
    let first = Notifier::start(&bench.setup, vec![Channel::Webhook(webhook.clone())]).await.unwrap();
    let begun = bench.until("webhook", |_| true).await;
    let second = Notifier::start(&bench.setup, vec![Channel::Webhook(webhook)]).await.unwrap();
    bench.raise(1);
    let told = bench.until("webhook", |state| state.seq > begun.seq).await;
    first.finish(Duration::from_secs(30)).await;
    bench.raise(2);
    bench.until("webhook", |state| state.seq > told.seq).await;
    second.finish(Duration::from_secs(30)).await;
    assert_eq!(bodies(&posts), [raised(1), raised(2)]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_gets_each_event_and_its_failure_is_kept_until_it_goes_well() {
    let bench = Bench::new();
    let (heard, broken) = (bench.folder.path().join("heard"), bench.folder.path().join("broken"));
    let script = format!("cat >> {}; test ! -e {}", heard.display(), broken.display());
    let words = ["sh", "-c", &script].map(str::to_owned).to_vec();
    bench.raise(1);
    let notify = Notifier::start(&bench.setup, vec![Channel::Command(words.clone())]).await.unwrap();
    let begun = bench.until("on_alert", |_| true).await;
    std::fs::write(&broken, "").unwrap();
    bench.raise(2);
    let failed = bench.until("on_alert", |state| state.error.is_some()).await;
    assert_eq!(failed.error.as_deref(), Some("sh: exit status: 1"));
    assert!(failed.seq > begun.seq);
    std::fs::remove_file(&broken).unwrap();
    bench.raise(3);
    bench.until("on_alert", |state| state.error.is_none()).await;
    notify.finish(Duration::from_secs(30)).await;
    // Events that happen while no process runs are not sent to a command later.
    bench.raise(4);
    Notifier::start(&bench.setup, vec![Channel::Command(words)]).await.unwrap().finish(Duration::from_secs(30)).await;
    let heard = std::fs::read_to_string(heard).unwrap();
    assert_eq!(heard, format!("{}\n{}\n", raised(2), raised(3)));
}

#[cfg(unix)]
#[tokio::test]
async fn no_more_than_four_calls_run_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        format!("cd {}; touch $$; ls | wc -l >> ../most; sleep 0.5; rm $$", folder.path().join("now").display());
    std::fs::create_dir(folder.path().join("now")).unwrap();
    let words = ["sh", "-c", &script].map(str::to_owned).to_vec();
    let mut calls = Calls::default();
    for _ in 0..12 {
        calls.begin(&words, "{}").await;
    }
    calls.finish().await;
    assert_eq!(calls.ended(), Some(Ok(())));
    let most = std::fs::read_to_string(folder.path().join("most")).unwrap();
    let most: Vec<usize> = most.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert_eq!(most.len(), 12);
    assert_eq!(most.iter().max(), Some(&4), "{most:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn what_stands_far_down_the_feed_is_told_before_the_end() {
    let bench = Bench::new();
    let heard = bench.folder.path().join("heard");
    let words = appends_to(&heard);
    let notify = Notifier::start(&bench.setup, vec![Channel::Command(words)]).await.unwrap();
    let many = (100..100 + 3 * i64::try_from(PAGE).unwrap()).map(fixtures::new).collect();
    testing::track(&bench.setup.store, "default", many, at(0));
    bench.raise(1);
    notify.finish(Duration::from_secs(30)).await;
    assert_eq!(std::fs::read_to_string(heard).unwrap(), format!("{}\n", raised(1)));
}

#[cfg(unix)]
#[tokio::test]
async fn who_takes_over_calls_for_what_came_in_between() {
    let bench = Bench::new();
    let heard = bench.folder.path().join("heard");
    let words = appends_to(&heard);
    let first = Notifier::start(&bench.setup, vec![Channel::Command(words.clone())]).await.unwrap();
    let begun = bench.until("on_alert", |_| true).await;
    let second = Notifier::start(&bench.setup, vec![Channel::Command(words)]).await.unwrap();
    bench.raise(1);
    bench.until("on_alert", |state| state.seq > begun.seq).await;
    first.finish(Duration::from_secs(30)).await;
    let told = bench.state("on_alert").unwrap();
    bench.raise(2);
    bench.until("on_alert", |state| state.seq > told.seq).await;
    second.finish(Duration::from_secs(30)).await;
    assert_eq!(std::fs::read_to_string(heard).unwrap(), format!("{}\n{}\n", raised(1), raised(2)));
}

#[tokio::test]
async fn how_far_it_is_is_kept_also_where_there_is_nothing_to_tell() {
    let (bench, (webhook, posts)) = (Bench::new(), service(&[200]));
    let notify = Notifier::start(&bench.setup, vec![Channel::Webhook(webhook)]).await.unwrap();
    let begun = bench.until("webhook", |_| true).await;
    let many = (100..100 + FAR + 2 * i64::try_from(PAGE).unwrap()).map(fixtures::new).collect();
    testing::track(&bench.setup.store, "default", many, at(0));
    bench.until("webhook", |state| state.seq > begun.seq + FAR).await;
    notify.finish(Duration::from_secs(30)).await;
    assert_eq!(bodies(&posts), [""; 0]);
}
