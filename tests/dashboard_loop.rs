//! The real loop on scripted input, over a real store and the real poller; only the terminal and the service are
//! simulated, and time is paused.
//!
//! A script waits for what the screen shows, never for a while: time moves by itself whenever everybody waits.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that can't go on has failed")]

mod watched;

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use chrono::{DateTime, Offset, TimeDelta, Utc};
use crossterm::event::{Event, KeyEvent};
use futures_util::{Stream, stream};
use hoptop::{
    api::{self, Reply},
    clock::Clock,
    domain::{
        alert::Rule,
        answer::Templates,
        filter::Filter,
        ids::TxHash,
        observation::Observation,
        operation::Operation,
        quote::{QuoteObservation, QuoteRequest},
        transaction::TransactionParams,
    },
    poller::{self, Scope, Setup, Wire},
    sim::{
        scenario::Scenario,
        service::{Method, Request, Service},
    },
    store::{AlertQuery, HistoryLine, Lookup, Store},
    tui::{
        export::ExportOrder,
        keymap,
        keys::Keys,
        model::Setting,
        outside::{Outside, clipboard::CopyMethod},
        run::{Parts, RunError, run},
        theme::Theme,
    },
};
use ratatui::{Terminal, backend::TestBackend};
use tokio::sync::{mpsc, oneshot, watch};

use watched::Watched;

const PROFILE: &str = "default";
/// On the clock of the tests, as long as nobody would wait. It passes in no time when everybody waits in vain.
const PATIENCE: Duration = Duration::from_secs(30 * 60);

fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_795_184_767, 0).unwrap()
}

/// The simulated service without a network in between.
struct InProcess {
    service: Arc<Mutex<Service>>,
    clock: Clock,
}

impl Wire for InProcess {
    async fn status(&self, params: &TransactionParams) -> Observation {
        let request = Request::status(params, "dashboard-loop");
        let arrived = self.clock.now();
        let reply = self.service.lock().unwrap().handle(&request, arrived);
        self.clock.sleep_until(arrived.mono + reply.delay).await;
        let answer =
            Reply { status: reply.status, retry_after: reply.header("retry-after"), body: reply.body.as_bytes() };
        let api::StatusAnswer { outcome, chains } = api::interpret(&answer, params, self.clock.now().wall);
        Observation { outcome, http_status: Some(reply.status), latency: reply.delay, body: Some(reply.body), chains }
    }

    async fn quote(&self, asked: &QuoteRequest) -> QuoteObservation {
        let request = Request {
            method: Method::Post,
            path: "/v2/route".into(),
            integrator_id: Some("dashboard-loop".into()),
            body: serde_json::to_vec(asked).ok(),
            ..Request::default()
        };
        let arrived = self.clock.now();
        let reply = self.service.lock().unwrap().handle(&request, arrived);
        self.clock.sleep_until(arrived.mono + reply.delay).await;
        let came =
            Reply { status: reply.status, retry_after: reply.header("retry-after"), body: reply.body.as_bytes() };
        let answer = api::interpret_route(&came, asked.quote_only, self.clock.now().wall);
        QuoteObservation { answer, http_status: Some(reply.status), body: Some(reply.body) }
    }
}

/// Somebody in front of the dashboard.
struct Person {
    hands: mpsc::UnboundedSender<io::Result<Event>>,
    screen: watch::Receiver<String>,
    store: Store,
    clock: Clock,
}

impl Person {
    fn send(&self, event: Event) {
        self.hands.send(Ok(event)).expect("the loop reads its input");
    }

    fn press(&self, key: &str) {
        let key: KeyEvent = keymap::parse(key).unwrap();
        self.send(Event::Key(key));
    }

    /// Looks at every frame until one shows what is waited for.
    async fn sees(&mut self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let wait = async { self.screen.wait_for(|screen| holds(screen)).await.unwrap().clone() };
        let seen = tokio::time::timeout(PATIENCE, wait).await;
        seen.unwrap_or_else(|_| panic!("never seen: {what}\n{}", *self.screen.borrow()))
    }
}

/// The row of the list that holds a text.
fn row<'a>(screen: &'a str, text: &str) -> Option<(usize, &'a str)> {
    screen.lines().enumerate().skip(3).take(12).find(|(_, line)| line.contains(text))
}

fn shows(screen: &str, row_with: &str, text: &str) -> bool {
    row(screen, row_with).is_some_and(|(_, line)| line.contains(text))
}

/// A world, a store that holds what is tracked of it, and a poller at work.
struct Stage {
    folder: tempfile::TempDir,
    store: Store,
    clock: Clock,
    service: Arc<Mutex<Service>>,
    /// What the dashboard reaches outside of its cells.
    outside: Outside,
}

impl Stage {
    /// The scenario's transactions whose quote starts with `q` are tracked; `age` is how long ago each was submitted.
    fn new(scenario: &str, age: impl Fn(&str) -> TimeDelta) -> Self {
        let scenario = Scenario::parse(scenario).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("test.db")).unwrap();
        let mut tracked = scenario.world(start()).transfers();
        tracked.retain(|new| new.params.quote_id.starts_with('q'));
        for new in &mut tracked {
            new.params.submitted_at = Some(start() - age(&new.params.quote_id));
        }
        let track = Operation::Track { profile: PROFILE.into(), transactions: tracked };
        store.apply(track, start()).wait().unwrap();
        let service = Arc::new(Mutex::new(scenario.service(start())));
        Self { folder, store, clock: Clock::starting_at(start()), service, outside: Outside::nowhere() }
    }

    /// With another world outside.
    fn with(self, outside: Outside) -> Self {
        Self { outside, ..self }
    }

    /// Plays a script to its end, and returns what the loop ended with. The service must have been asked politely.
    async fn play(
        self,
        stop: impl Future<Output = &'static str>,
        script: impl AsyncFnOnce(&mut Person),
    ) -> Result<Option<&'static str>, RunError> {
        let (shown, screen) = watch::channel(String::new());
        let draw = move |backend: &TestBackend| drop(shown.send_replace(backend.to_string()));
        let mut terminal = Terminal::new(Watched::new((80, 24), draw)).unwrap();
        let (hands, input) = mpsc::unbounded_channel();
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let mut person = Person { hands, screen, store: store.clone(), clock: clock.clone() };
        let (stop_poller, poller) = self.poller();
        let setting = Setting {
            profile: PROFILE.into(),
            beside: Vec::new(),
            shown_id: Some("…loop".into()),
            demo: false,
            polls: true,
            process: std::process::id(),
            zone: Utc.fix(),
            any_chain: false,
            templates: Templates::default(),
            keys: Keys::default(),
            told_by: Vec::new(),
        };
        let export = |_: &Store, order: &ExportOrder| Ok(format!("{} written to {}", order.rows.len(), order.file));
        let theme = Theme::new(true, false);
        let log = Some(self.folder.path().join("hoptop.log"));
        let parts = Parts { store, clock, setting, theme, outside: self.outside, export, memory: None, log };
        let (ended, ()) = tokio::join!(run(&mut terminal, events(input), parts, stop), script(&mut person));
        stop_poller.send(()).expect("the poller is at work");
        poller.await.unwrap().unwrap();
        let report = self.service.lock().unwrap().report().clone();
        assert!(report.requests > 0, "{report}");
        assert_eq!((report.throttled, report.windows_over), (0, 0), "{report}");
        drop(self.folder);
        ended
    }

    fn poller(&self) -> (oneshot::Sender<()>, tokio::task::JoinHandle<Result<(), poller::PollerError>>) {
        let (stop, stopped) = oneshot::channel();
        let wire = InProcess { service: Arc::clone(&self.service), clock: self.clock.clone() };
        let setup = Setup {
            store: self.store.clone(),
            wire: Arc::new(wire),
            clock: self.clock.clone(),
            profile: PROFILE.into(),
            rps: 10.0,
            shown_id: "…loop".into(),
            fingerprint: "aa".into(),
            shared: None,
            weights: std::collections::BTreeMap::new(),
            scope: Scope::Everything,
            seed: 1,
        };
        (stop, tokio::spawn(poller::run(setup, async { stopped.await.unwrap_or(()) })))
    }
}

fn events(input: mpsc::UnboundedReceiver<io::Result<Event>>) -> impl Stream<Item = io::Result<Event>> {
    stream::unfold(input, async |mut input| Some((input.recv().await?, input)))
}

fn never() -> impl Future<Output = &'static str> {
    std::future::pending()
}

fn hash(digit: char) -> String {
    format!("0x{}", digit.to_string().repeat(64))
}

/// A scenario from each transaction's digit, quote and answers.
fn world(transactions: &[(char, &str, &str)]) -> String {
    let table = |(digit, quote, answers): &(char, &str, &str)| {
        let hash = hash(*digit);
        format!(
            "[[transaction]]\ntransactionId = \"{hash}\"\nfromChainId = \"42161\"\ntoChainId = \"8453\"\n\
             quoteId = \"{quote}\"\nanswers = [{answers}]\n"
        )
    };
    transactions.iter().map(table).collect()
}

const ONGOING: &str = "{ from = 0, status = \"ongoing\", steps = 1 }";

#[tokio::test(start_paused = true)]
async fn statuses_arrive_live_and_the_completed_one_opens() {
    let completes = "{ from = 0, http = 404 }, { from = 8, status = \"ongoing\", steps = 1 }, \
                     { from = 24, status = \"success\", steps = 3 }";
    let world = world(&[('a', "q-a", completes), ('b', "q-b", ONGOING), ('c', "q-c", ONGOING)]);
    let stage = Stage::new(&world, |_| TimeDelta::seconds(30));
    let ended = stage.play(never(), async |person: &mut Person| {
        person.sees("all three", |screen| ["0xaaa", "0xbbb", "0xccc"].iter().all(|tx| row(screen, tx).is_some())).await;
        person.sees("the poller", |screen| screen.contains("LIVE")).await;
        person.sees("not found yet", |screen| shows(screen, "0xaaa", "? not_found")).await;
        person.sees("under way", |screen| shows(screen, "0xaaa", "~ ongoing")).await;
        person.sees("success", |screen| shows(screen, "0xaaa", "+ success")).await;
        person.press("G");
        person.sees("the completed one selected", |screen| shows(screen, "0xaaa", ">")).await;
        person.press("Enter");
        let detail = person.sees("its verdict", |screen| screen.contains("VERDICT   COMPLETED in")).await;
        assert!(detail.contains("the funds are on Base"), "{detail}");
        person.sees("its history", |screen| screen.contains("observed  not_found ")).await;
        ["[", "["].iter().for_each(|key| person.press(key));
        let changed = "\"routerTransactionStatus\": \"success\"   was \"ongoing\"";
        person
            .sees("what changed in its body", |screen| screen.contains("[Raw]") && screen.contains("changed since"))
            .await;
        ["/", "r", "T", "r", "a", "Enter"].iter().for_each(|key| person.press(key));
        person.sees("what the body said before", |screen| screen.contains(changed)).await;
        person.press("Esc");
        person.sees("the list again", |screen| row(screen, "0xbbb").is_some()).await;
        person.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn the_charts_and_the_log_come_from_what_is_kept() {
    let completes = "{ from = 0, status = \"ongoing\", steps = 1 }, { from = 100, status = \"success\", steps = 3 }";
    let stage = Stage::new(&world(&[('a', "q-a", completes), ('b', "q-b", ONGOING)]), |_| TimeDelta::seconds(60));
    let log = stage.folder.path().join("hoptop.log");
    std::fs::write(&log, "2026-11-20T13:00:00Z  WARN the service answered HTTP 503: busy\n").unwrap();
    let ended = stage.play(never(), async |person: &mut Person| {
        person.sees("success", |screen| shows(screen, "0xaaa", "+ success")).await;
        person.press("%");
        person.sees("how they ended", |screen| screen.contains("1 of 2 settled (50%)")).await;
        person.sees("how long it took", |screen| screen.contains("the 1 that was timed took")).await;
        person.sees("the budget", |screen| screen.contains("rps, last 38 min  ! 429")).await;
        person.press("@");
        person.sees("what failed", |screen| screen.contains("WARN  the service answered HTTP 503: busy")).await;
        std::fs::write(&log, "2026-11-20T13:00:01Z ERROR unreachable\n").unwrap();
        person.sees("what is new", |screen| screen.contains("ERROR unreachable")).await;
        person.press("Esc");
        person.sees("the list again", |screen| row(screen, "0xbbb").is_some()).await;
        person.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn an_overdue_alert_comes_with_its_deadline_and_the_selection_stays() {
    let gas = "{ from = 0, status = \"needs_gas\", steps = 1 }";
    let world = world(&[('a', "q-gas", gas), ('b', "q-stuck", ONGOING), ('c', "q-young", ONGOING)]);
    // Fifteen minutes are the limit where no estimate is known.
    let age = |quote: &str| TimeDelta::seconds(if quote == "q-stuck" { 14 * 60 + 20 } else { 60 });
    let deadline = start() + TimeDelta::seconds(40);
    let ended = Stage::new(&world, age).play(never(), async |person: &mut Person| {
        // Until a person chooses one, the most urgent is selected.
        let gas_first = |screen: &str| {
            row(screen, "0xaaa").is_some_and(|(place, row)| place == 3 && row.contains(">!   G needs_gas"))
                && shows(screen, "0xbbb", "    ~ ongoing")
                && shows(screen, "0xccc", "    ~ ongoing")
        };
        person.sees("the needs_gas one on top", gas_first).await;
        person.press("j");
        person.press("k");
        person.sees("it chosen", |screen| shows(screen, "0xaaa", ">!   G needs_gas")).await;
        assert!(person.clock.now().wall < deadline);
        let screen = person.sees("overdue", |screen| shows(screen, "0xbbb", "!!  ~ ongoing")).await;
        assert!(person.clock.now().wall >= deadline, "{}", person.clock.now().wall);
        assert_eq!(row(&screen, "0xbbb").map(|(place, _)| place), Some(3), "{screen}");
        assert!(shows(&screen, "0xaaa", ">!   G needs_gas") && screen.contains("OVERDUE by"), "{screen}");
        let alerts = person.store.reader().unwrap().alerts(AlertQuery::Active).unwrap();
        let raised = alerts.iter().find(|alert| alert.rule == Rule::Overdue).unwrap().raised_at;
        // Freshly confirmed: by the first answer after the deadline, which is due within five seconds.
        assert!((deadline..deadline + TimeDelta::seconds(6)).contains(&raised), "{raised}");
        person.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn a_pasted_row_is_tracked_selected_and_polled() {
    let world = world(&[('a', "q-a", ONGOING), ('d', "pasted", "{ from = 0, status = \"success\", steps = 3 }")]);
    let ended = Stage::new(&world, |_| TimeDelta::seconds(30)).play(never(), async |person: &mut Person| {
        let screen = person.sees("the tracked one", |screen| shows(screen, "0xaaa", "~ ongoing")).await;
        assert_eq!(row(&screen, "0xddd"), None);
        person.send(Event::Paste(format!("{},42161,8453,pasted", hash('d'))));
        person.sees("what was read", |screen| screen.contains("+ ready         0xddd")).await;
        person.press("Enter");
        person.sees("what was done", |screen| screen.contains("1 tracked, 0 updated, 0 known already")).await;
        person.sees("the new one, selected and answered", |screen| shows(screen, "0xddd", ">    + success")).await;
        let known = person.store.reader().unwrap().find(&hash('d')).unwrap();
        let Lookup::One(transaction) = known else { panic!("{known:?}") };
        assert_eq!((transaction.params.transaction_id, transaction.state.polls), (TxHash::new(hash('d')), 1));
        person.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn what_a_person_asks_for_is_polled_and_kept_in_the_history() {
    let world = world(&[('a', "q-a", "{ from = 0, status = \"success\", steps = 3 }")]);
    let ended = Stage::new(&world, |_| TimeDelta::seconds(30)).play(never(), async |person: &mut Person| {
        person.sees("success, after which nobody polls", |screen| shows(screen, "0xaaa", "+ success")).await;
        person.sees("no more polling", |screen| screen.contains("need 0.00 of")).await;
        person.press("r");
        person.sees("the promise", |screen| screen.contains("Polled next")).await;
        ["Enter", "]", "]", "]"].iter().for_each(|key| person.press(key));
        person.sees("the second answer", |screen| screen.contains("poll    success (HTTP 200), 2 times")).await;
        let reader = person.store.reader().unwrap();
        let Lookup::One(transaction) = reader.find(&hash('a')).unwrap() else { panic!("it is tracked") };
        let answers = reader.history(transaction.id).unwrap();
        let answers = answers.iter().filter(|line| matches!(line, HistoryLine::Observation(..)));
        assert_eq!((answers.count(), transaction.state.polls), (1, 2));
        person.press("^C");
    });
    assert!(matches!(ended.await, Ok(None)));
}

/// A world outside with these ways to copy; only `works` does.
fn clipboard(copy_methods: Vec<CopyMethod>) -> Outside {
    let feed = |command: &[String], _: &str| match command {
        [program] if program == "works" => Ok(()),
        _ => Err(io::Error::other("exit status: 1")),
    };
    Outside { copy_methods, feed, ..Outside::nowhere() }
}

#[tokio::test(start_paused = true)]
async fn a_text_is_copied_by_the_first_way_that_works_and_says_by_which() {
    let own = |program: &str| CopyMethod::Own(vec![program.to_owned()]);
    let table = [
        (vec![own("fails"), own("works"), CopyMethod::Terminal], "Copied by works, as the config says."),
        (
            vec![CopyMethod::Tmux, CopyMethod::Terminal, own("works")],
            "Sent to the terminal's clipboard (OSC 52); it doesn't say",
        ),
        (vec![CopyMethod::Tool(&["xclip"])], "Not copied (xclip: exit status: 1): select it with the mouse."),
        (vec![], "Not copied (no way to a clipboard was found here)"),
    ];
    for (copy_methods, sentence) in table {
        let stage =
            Stage::new(&world(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30)).with(clipboard(copy_methods));
        let ended = stage.play(never(), async |person: &mut Person| {
            person.sees("the list", |screen| shows(screen, "0xaaa", "~ ongoing")).await;
            person.press("y");
            person.sees("the menu", |screen| screen.contains("packet for support")).await;
            person.press("p");
            let screen = person.sees("what became of it", |screen| screen.contains(sentence)).await;
            // Where nothing works the text itself stands there.
            assert_eq!(screen.contains("fromChainId    42161"), sentence.starts_with("Not copied"), "{screen}");
            person.press("^C");
        });
        assert!(matches!(ended.await, Ok(None)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_is_drawn_at_once_without_the_focus_too() {
    let stage = Stage::new(&world(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = stage.play(never(), async |person: &mut Person| {
        person.sees("the list", |screen| shows(screen, "0xaaa", "~ ongoing")).await;
        let waited = async |person: &mut Person, key: &str, what: &'static str| {
            let before = person.clock.now().mono;
            person.press(key);
            person.sees(what, |screen| screen.contains(what)).await;
            person.clock.now().mono.since(before)
        };
        person.send(Event::FocusLost);
        assert!(waited(person, "?", "Search:").await < Duration::from_millis(100));
        person.send(Event::FocusGained);
        assert!(waited(person, "Esc", "q quit").await < Duration::from_millis(100));
        person.press("^C");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn polling_is_paused_and_goes_on_by_the_same_key() {
    let stage = Stage::new(&world(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = stage.play(never(), async |person: &mut Person| {
        person.sees("the list", |screen| shows(screen, "0xaaa", "~ ongoing")).await;
        for _ in 0..3 {
            person.sees("polling", |screen| screen.contains("LIVE")).await;
            person.press("p");
            person.sees("for how long", |screen| screen.contains("15 minutes")).await;
            let before = person.clock.now().mono;
            person.press("m");
            person.sees("paused", |screen| screen.contains("PAUSED")).await;
            assert!(
                person.clock.now().mono.since(before) < Duration::from_millis(500),
                "it doesn't wait for the poller"
            );
            person.press("p");
        }
        person.sees("polling again", |screen| screen.contains("LIVE")).await;
        person.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn while_nobody_is_at_the_keyboard_each_second_is_one_frame() {
    let stage = Stage::new(&world(&[('a', "q-a", ONGOING), ('b', "q-b", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = stage.play(never(), async |person: &mut Person| {
        person.sees("the list", |screen| shows(screen, "0xaaa", "~ ongoing")).await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        let (mut times, mut ages) = (Vec::new(), Vec::new());
        while times.len() < 60 {
            person.screen.changed().await.unwrap();
            let screen = person.screen.borrow().clone();
            let time = screen.split_whitespace().find(|word| word.matches(':').count() == 2).expect("the clock");
            let parts: Vec<u32> = time.split(':').map(|part| part.parse().unwrap()).collect();
            times.push(parts.iter().fold(0, |sum, part| 60 * sum + part));
            ages.extend(row(&screen, "0xaaa").map(|(_, line)| line.trim_end_matches([' ', '"']).to_owned()));
        }
        assert!(times.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{times:?}");
        // And what was heard in a second is on its frame.
        assert!(ages.iter().any(|line| line.ends_with(" 0s")), "{ages:?}");
        person.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn the_stop_ends_the_loop_with_what_it_says() {
    let (stop, stopped) = oneshot::channel();
    let stage = Stage::new(&world(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = stage.play(async { stopped.await.unwrap() }, async |person: &mut Person| {
        person.sees("the list", |screen| shows(screen, "0xaaa", "~ ongoing")).await;
        stop.send("the terminal hung up").unwrap();
    });
    assert_eq!(ended.await.unwrap(), Some("the terminal hung up"));
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_input_ends_the_loop_with_it() {
    let stage = Stage::new(&world(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = stage.play(never(), async |person: &mut Person| {
        person.sees("the list", |screen| shows(screen, "0xaaa", "~ ongoing")).await;
        person.hands.send(Err(io::Error::other("no such device"))).unwrap();
    });
    let error = ended.await.unwrap_err();
    assert_eq!(error.to_string(), "the terminal failed: no such device");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_ends_the_loop_with_an_error() {
    let stage = Stage::new(&world(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = stage.play(never(), async |person: &mut Person| {
        person.sees("the list", |screen| shows(screen, "0xaaa", "~ ongoing")).await;
        let (closed, _) = mpsc::unbounded_channel();
        person.hands = closed;
    });
    assert!(matches!(ended.await, Err(RunError::Terminal(why)) if why == "its input has ended"));
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn a_store_that_goes_away_is_said_and_the_screen_stays_alive() {
    let stage = Stage::new(&world(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = stage.play(never(), async |person: &mut Person| {
        person.sees("under way", |screen| shows(screen, "0xaaa", "~ ongoing")).await;
        let path = person.store.path();
        std::fs::rename(path, path.with_extension("elsewhere")).unwrap();
        person.sees("the banner", |screen| screen.contains(" STORE: ") && row(screen, "0xaaa").is_some()).await;
        person.press("?");
        person.sees("the help", |screen| screen.contains("Help")).await;
        person.press("^C");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn a_marked_batch_is_worked_and_taken_back() {
    let world = world(&[('a', "q-a", ONGOING), ('b', "q-b", ONGOING), ('c', "q-c", ONGOING)]);
    let stage = Stage::new(&world, |_| TimeDelta::seconds(30));
    let ended = stage.play(never(), async |person: &mut Person| {
        person.sees("the poller", |screen| screen.contains("LIVE") && row(screen, "0xccc").is_some()).await;
        person.press("*");
        person.sees("all marked", |screen| screen.contains("3 marked (x)") && shows(screen, "0xccc", "x")).await;
        person.press("e");
        person.sees("the prompt", |screen| screen.contains("Note on 3 marked")).await;
        person.send(Event::Paste("asked the provider".into()));
        person.press("Enter");
        person.sees("notes", |screen| screen.contains("3 notes added; u undoes this.")).await;
        let notes = || {
            let reader = person.store.reader().unwrap();
            let rows = reader.listing(&Filter::everything(), start()).all().unwrap();
            rows.into_iter().map(|row| reader.header(row).unwrap().unwrap().notes.len()).collect::<Vec<_>>()
        };
        assert_eq!(notes(), [1, 1, 1]);
        person.press("u");
        person.sees("none", |screen| screen.contains("Undone: a note (3 transactions)")).await;
        // For the next word on the same ones.
        person.sees("the marks", |screen| screen.contains("3 marked (x)")).await;
        person.press("a");
        person.press("Enter");
        person.sees("nothing new", |screen| screen.contains("No change: already acknowledged")).await;
        person.press("*");
        // What is said of that comes when it has been read, and would take the place of what is said next.
        person.sees("all marked anew", |screen| screen.contains("3 marked (x): actions work on these")).await;
        person.press("E");
        person.press("Enter");
        person.sees("a file", |screen| screen.contains("3 written to hoptop-")).await;
        person.press("R");
        person.sees("polls", |screen| screen.contains("3 asked to be polled next (3 requests).")).await;
        person.press("A");
        person.sees("the alerts", |screen| screen.contains("No active alerts.")).await;
        person.press("Esc");
        person.press("Esc");
        person.sees("no marks", |screen| !screen.contains("marked (x)")).await;
        person.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

/// Types a value into the form, and goes on to the next.
fn fill(person: &Person, values: &[&str]) {
    for value in values {
        person.send(Event::Paste((*value).to_owned()));
        person.press("Tab");
    }
}

#[tokio::test(start_paused = true)]
async fn a_route_is_asked_for_and_what_was_sent_with_it_is_tracked() {
    let stage = Stage::new(&world(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = stage.play(never(), async |person: &mut Person| {
        person.sees("the poller", |screen| screen.contains("LIVE") && row(screen, "0xaaa").is_some()).await;
        person.press("T");
        person.sees("the form", |screen| screen.contains(" Quote: ")).await;
        let wallet = "0x1f0a00000000000000000000000000000000c9d2";
        fill(person, &["arb", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", "5", "base", "0x8335", wallet]);
        person.press("Enter");
        person.sees("the refusal", |screen| screen.contains("Amount too low") && screen.contains("increase")).await;
        ["Tab", "Tab", "Tab"].iter().for_each(|key| person.press(key));
        fill(person, &["000000"]);
        person.press("Enter");
        let answered = |screen: &str| screen.contains("quoteId   ") && screen.contains("support after");
        let screen = person.sees("the answer", answered).await;
        let line = screen.lines().find(|line| line.contains("quoteId   ")).unwrap();
        let quote_id = line.split_whitespace().nth(2).unwrap().to_owned();
        person.press("T");
        person.sees("where the hash goes", |screen| screen.contains("Track with quoteId")).await;
        person.send(Event::Paste(hash('e')));
        person.press("Enter");
        let screen = person.sees("it in the list", |screen| shows(screen, "0xeee", ">")).await;
        assert!(!screen.contains("dashboard-loop"), "{screen}");
        let Lookup::One(transaction) = person.store.reader().unwrap().find(&hash('e')).unwrap() else {
            panic!("it is tracked")
        };
        let params = transaction.params;
        assert_eq!((params.quote_id, params.from_address.as_deref()), (quote_id, Some(wallet)));
        assert!(params.estimate.is_some() && params.from_chain.as_str() == "42161");
        person.press("^C");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn what_a_pasted_link_lacks_is_filled_in_and_what_is_known_opens() {
    let world = world(&[('a', "q-a", ONGOING), ('d', "pasted", "{ from = 0, status = \"success\", steps = 3 }")]);
    let ended = Stage::new(&world, |_| TimeDelta::seconds(30)).play(never(), async |person: &mut Person| {
        person.sees("the tracked one", |screen| shows(screen, "0xaaa", "~ ongoing")).await;
        person.send(Event::Paste(format!("SUP-1: https://arbiscan.io/tx/{} and {}", hash('d'), hash('a'))));
        let read = |screen: &str| screen.contains("? needs input   0xdddd") && screen.contains("= known");
        person.sees("what was read", read).await;
        person.press("Tab");
        person.press("Enter");
        person.sees("where it goes", |screen| screen.contains("toChainId: the chain's ID or its name")).await;
        person.send(Event::Paste("base".into()));
        person.press("Enter");
        person.send(Event::Paste("pasted".into()));
        person.press("Enter");
        person.sees("that it is whole", |screen| screen.contains("+ ready         0xdddd")).await;
        person.press("Enter");
        person.sees("the new one, selected and answered", |screen| shows(screen, "0xddd", ">    + success")).await;
        person.send(Event::Paste(hash('a')));
        person.sees("its detail", |screen| screen.contains("VERDICT")).await;
        person.press("^C");
    });
    assert!(matches!(ended.await, Ok(None)));
}
