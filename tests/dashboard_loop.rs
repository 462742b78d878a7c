//! The real dashboard loop with scripted input, a real store and the real poller. Only the terminal and the service are
//! simulated, and time is paused.
//!
//! A script must wait for the content of the screen, never for a duration: time advances whenever all tasks wait.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod in_process_transport;
mod watched;

use std::{
    io,
    net::Ipv4Addr,
    sync::{Arc, Mutex},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use crossterm::event::{Event, KeyEvent};
use futures_util::{Stream, stream};
use hoptop::internals::{
    api::Timeouts,
    chain_rpc::{ChainNodes, NodeSetting},
    clock::Clock,
    domain::{ChainId, Filter, Operation, Rule, TxHash},
    poller::{self, Heartbeat, PollScope, PollerSetup},
    sim::{Scenario, SimulatedService, chain_server},
    store::{AlertQuery, HistoryLine, Store},
    tui::{
        CopyMethod, DashboardInputs, DashboardSettings, ExportOrder, LogSource, RunError, System, Theme, key_text, run,
    },
};
use ratatui::{Terminal, backend::TestBackend};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot, watch},
};

use in_process_transport::InProcessTransport;
use watched::WatchedBackend;

const PROFILE: &str = "default";
/// The longest wait for the screen, on the clock of the tests. Since time is paused, a failed wait ends at once.
const WAIT_LIMIT: Duration = Duration::from_secs(30 * 60);

fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_795_184_767, 0).unwrap()
}

/// The user of the dashboard, whose actions a script describes.
struct User {
    event_sender: mpsc::UnboundedSender<io::Result<Event>>,
    screen: watch::Receiver<String>,
    store: Store,
    clock: Clock,
}

impl User {
    fn send(&self, event: Event) {
        self.event_sender.send(Ok(event)).expect("the loop reads its input");
    }

    fn press(&self, key: &str) {
        let key: KeyEvent = key_text::parse(key).unwrap();
        self.send(Event::Key(key));
    }

    /// Waits for a frame that `is_expected` accepts, and returns its text. `expected` names the frame in a failure
    /// message.
    async fn wait_for(&mut self, expected: &str, is_expected: impl Fn(&str) -> bool) -> String {
        let wait = async { self.screen.wait_for(|screen| is_expected(screen)).await.unwrap().clone() };
        let frame = tokio::time::timeout(WAIT_LIMIT, wait).await;
        frame.unwrap_or_else(|_| panic!("the screen never showed {expected}\n{}", *self.screen.borrow()))
    }
}

/// Returns the row of the list that contains a text, with its line number on the screen.
fn find_row<'a>(screen: &'a str, text: &str) -> Option<(usize, &'a str)> {
    screen.lines().enumerate().skip(3).take(12).find(|(_, line)| line.contains(text))
}

/// Whether the row of the list that contains `row_with` also contains `text`.
fn row_shows(screen: &str, row_with: &str, text: &str) -> bool {
    find_row(screen, row_with).is_some_and(|(_, line)| line.contains(text))
}

/// A simulated service, a store that tracks some of its transactions, and the clock of a test.
struct LoopFixture {
    folder: tempfile::TempDir,
    store: Store,
    clock: Clock,
    service: Arc<Mutex<SimulatedService>>,
    /// The clipboard, and everything else that the dashboard uses besides its screen cells.
    system: System,
    /// The nodes of simulated chains; `None` if no chain is asked.
    chain_nodes: Option<Arc<ChainNodes>>,
}

impl LoopFixture {
    /// Tracks the scenario's transactions whose quote starts with `q`. `age` is the time since the submission of each.
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
        let clock = Clock::starting_at(start());
        Self { folder, store, clock, service, system: System::disconnected(), chain_nodes: None }
    }

    /// Serves the scenario's chains, and lets the poller ask them.
    async fn with_chains(self, scenario: &str) -> Self {
        let world = Scenario::parse(scenario).unwrap().world(start());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(chain_server::serve(listener, world, self.clock.clone()));
        let node = |chain: &str| NodeSetting {
            chain: ChainId::new(chain),
            url: Some(format!("http://{address}/{chain}")),
            rps: 50.0,
        };
        let nodes = ChainNodes::new(["42161", "8453"].map(node).to_vec(), Timeouts::default(), self.clock.clone());
        Self { chain_nodes: Some(Arc::new(nodes)), ..self }
    }

    /// Replaces `outside`.
    fn with_system(self, system: System) -> Self {
        Self { system, ..self }
    }

    /// Runs a script, and returns the result of the loop. Fails if the poller exceeded the service's limit, or sent no
    /// request.
    async fn run_script(
        self,
        stop: impl Future<Output = &'static str>,
        script: impl AsyncFnOnce(&mut User),
    ) -> Result<Option<&'static str>, RunError> {
        let (shown, screen) = watch::channel(String::new());
        let draw = move |backend: &TestBackend| drop(shown.send_replace(backend.to_string()));
        let mut terminal = Terminal::new(WatchedBackend::new((80, 24), draw)).unwrap();
        let (event_sender, input) = mpsc::unbounded_channel();
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let mut user = User { event_sender, screen, store: store.clone(), clock: clock.clone() };
        let (stop_poller, poller) = self.start_poller();
        let setting = DashboardSettings {
            shown_id: Some("…loop".into()),
            asks_chains: self.chain_nodes.is_some(),
            ..DashboardSettings::of_profile(PROFILE, std::process::id())
        };
        let export = |_: &Store, order: &ExportOrder| Ok(format!("{} written to {}", order.rows.len(), order.file));
        let theme = Theme::new(true, false);
        let log = Some(LogSource { path: self.folder.path().join("hoptop.log"), store: "1a2b3c4d".into() });
        let parts =
            DashboardInputs { store, clock, setting, theme, system: self.system, export, view_state_path: None, log };
        let (ended, ()) = tokio::join!(run(&mut terminal, events(input), parts, stop), script(&mut user));
        stop_poller.send(()).expect("the poller is running");
        poller.await.unwrap().unwrap();
        let report = self.service.lock().unwrap().report().clone();
        assert!(report.requests > 0, "{report}");
        assert_eq!((report.throttled, report.windows_over), (0, 0), "{report}");
        drop(self.folder);
        ended
    }

    fn start_poller(&self) -> (oneshot::Sender<()>, tokio::task::JoinHandle<Result<(), poller::PollerError>>) {
        let (stop, stopped) = oneshot::channel();
        let transport = InProcessTransport { service: Arc::clone(&self.service), clock: self.clock.clone() };
        let setup = PollerSetup {
            store: self.store.clone(),
            transport: Arc::new(transport),
            clock: self.clock.clone(),
            profile: PROFILE.into(),
            rps: 10.0,
            shown_id: "…loop".into(),
            fingerprint: "aa".into(),
            budget_folder: None,
            weights: std::collections::BTreeMap::new(),
            scope: PollScope::Everything,
            seed: 1,
            lease: None,
            heartbeat: Heartbeat::default(),
            chain_nodes: self.chain_nodes.clone(),
        };
        (stop, tokio::spawn(async { poller::run(setup, async { stopped.await.unwrap_or(()) }).await.map(drop) }))
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

/// Writes a scenario: each transaction has a digit for its hash, a quote ID and answers.
fn scenario(transactions: &[(char, &str, &str)]) -> String {
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
async fn statuses_update_live_and_a_completed_transaction_opens() {
    let completes = "{ from = 0, http = 404 }, { from = 8, status = \"ongoing\", steps = 1 }, \
                     { from = 24, status = \"success\", steps = 3 }";
    let scenario_text = scenario(&[('a', "q-a", completes), ('b', "q-b", ONGOING), ('c', "q-c", ONGOING)]);
    let fixture = LoopFixture::new(&scenario_text, |_| TimeDelta::seconds(30));
    let ended = fixture.run_script(never(), async |user: &mut User| {
        user.wait_for("rows", |screen| ["0xaaa", "0xbbb", "0xccc"].iter().all(|tx| find_row(screen, tx).is_some()))
            .await;
        user.wait_for("the poller", |screen| screen.contains("LIVE")).await;
        user.wait_for("the first row not found yet", |screen| row_shows(screen, "0xaaa", "? not found")).await;
        user.wait_for("the ongoing row", |screen| row_shows(screen, "0xaaa", "● ongoing")).await;
        user.wait_for("success", |screen| row_shows(screen, "0xaaa", "✓ success")).await;
        user.press("G");
        user.wait_for("the completed row selected", |screen| row_shows(screen, "0xaaa", "▌")).await;
        user.press("Enter");
        let detail = user.wait_for("its verdict", |screen| screen.contains("COMPLETED in")).await;
        assert!(detail.contains("the funds are on Base"), "{detail}");
        user.wait_for("its history", |screen| screen.contains("observed  not_found ")).await;
        ["[", "["].iter().for_each(|key| user.press(key));
        let changed = "\"routerTransactionStatus\": \"success\"   was \"ongoing\"";
        user.wait_for("the changes in the body", |screen| screen.contains(" Raw ") && screen.contains("changes since"))
            .await;
        ["/", "r", "T", "r", "a", "Enter"].iter().for_each(|key| user.press(key));
        user.wait_for("the previous value in the body", |screen| screen.contains(changed)).await;
        // The first Esc ends the search.
        ["Esc", "Esc"].iter().for_each(|key| user.press(key));
        user.wait_for("the list again", |screen| find_row(screen, "0xbbb").is_some()).await;
        user.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn charts_and_log_show_stored_data() {
    let completes = "{ from = 0, status = \"ongoing\", steps = 1 }, { from = 100, status = \"success\", steps = 3 }";
    let fixture =
        LoopFixture::new(&scenario(&[('a', "q-a", completes), ('b', "q-b", ONGOING)]), |_| TimeDelta::seconds(60));
    let log = fixture.folder.path().join("hoptop.log");
    std::fs::write(&log, "2026-11-20T13:00:00Z  WARN the service answered HTTP 503: busy\n").unwrap();
    let ended = fixture.run_script(never(), async |user: &mut User| {
        user.wait_for("success", |screen| row_shows(screen, "0xaaa", "✓ success")).await;
        user.press("%");
        user.wait_for("the settled share", |screen| screen.contains("1 of 2 settled, 100% of these succeeded")).await;
        user.wait_for("the durations", |screen| screen.contains("1 transfer timed")).await;
        user.wait_for("the budget", |screen| screen.contains("BUDGET  ! HTTP 429")).await;
        user.press("@");
        user.wait_for("the log line", |screen| screen.contains("WARN  the service answered HTTP 503: busy")).await;
        std::fs::write(&log, "2026-11-20T13:00:01Z ERROR unreachable\n").unwrap();
        user.wait_for("the new log line", |screen| screen.contains("ERROR unreachable")).await;
        user.press("Esc");
        user.wait_for("the list again", |screen| find_row(screen, "0xbbb").is_some()).await;
        user.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn overdue_alert_is_raised_at_the_deadline_and_the_selection_stays() {
    let gas = "{ from = 0, status = \"needs_gas\", steps = 1 }";
    let scenario_text = scenario(&[('a', "q-gas", gas), ('b', "q-stuck", ONGOING), ('c', "q-young", ONGOING)]);
    // Without an estimate the deadline is 15 minutes after the submission.
    let age = |quote: &str| TimeDelta::seconds(if quote == "q-stuck" { 14 * 60 + 20 } else { 60 });
    let deadline = start() + TimeDelta::seconds(40);
    let ended = LoopFixture::new(&scenario_text, age).run_script(never(), async |user: &mut User| {
        // Until the user selects a row, the most urgent one is selected.
        let gas_first = |screen: &str| {
            find_row(screen, "0xaaa")
                .is_some_and(|(row_number, row)| row_number == 3 && row.contains("▌!   ◆ needs gas"))
                && row_shows(screen, "0xbbb", "    ● ongoing")
                && row_shows(screen, "0xccc", "    ● ongoing")
        };
        user.wait_for("the needs_gas row on top", gas_first).await;
        user.press("j");
        user.press("k");
        user.wait_for("the needs_gas row selected", |screen| row_shows(screen, "0xaaa", "▌!   ◆ needs gas")).await;
        assert!(user.clock.now().wall < deadline);
        let screen = user.wait_for("the overdue row", |screen| row_shows(screen, "0xbbb", "!!  ● ongoing")).await;
        assert!(user.clock.now().wall >= deadline, "{}", user.clock.now().wall);
        assert_eq!(find_row(&screen, "0xbbb").map(|(row_number, _)| row_number), Some(3), "{screen}");
        assert!(row_shows(&screen, "0xaaa", "▌!   ◆ needs gas") && screen.contains("row 2 of 3"), "{screen}");
        let alerts = user.store.reader().unwrap().alerts(AlertQuery::Active).unwrap();
        let raised = alerts.iter().find(|alert| alert.rule == Rule::Overdue).unwrap().raised_at;
        // The first answer after the deadline confirms the alert; that answer is due within five seconds.
        assert!((deadline..deadline + TimeDelta::seconds(6)).contains(&raised), "{raised}");
        user.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn pasted_ticket_with_the_wrong_chain_is_tracked_on_the_right_one_by_two_keys() {
    let completes = "{ from = 0, status = \"success\", steps = 3 }";
    let on_base =
        scenario(&[('d', "pasted", completes)]).replace("\"8453\"", "\"10\"").replace("\"42161\"", "\"8453\"");
    let scenario_text = scenario(&[('a', "q-a", ONGOING)]) + &on_base + "chain = \"imported as 42161\"\n";
    let fixture = LoopFixture::new(&scenario_text, |_| TimeDelta::seconds(30)).with_chains(&scenario_text).await;
    let ended = fixture.run_script(never(), async |user: &mut User| {
        user.wait_for("the tracked row", |screen| row_shows(screen, "0xaaa", "● ongoing")).await;
        user.send(Event::Paste(format!("{},42161,10,pasted", hash('d'))));
        user.wait_for("the parsed paste", |screen| screen.contains("+ ready         0xddd")).await;
        user.press("Enter");
        let advised = |screen: &str| screen.contains("WRONG CHAIN: found on Base, not on Arbitrum");
        let screen = user.wait_for("the chain's word", advised).await;
        assert!(screen.contains("We found your transaction on Base"), "{screen}");
        user.press("W");
        user.wait_for("the correction", |screen| screen.contains("Source chain corrected to Base")).await;
        user.wait_for("the status on Base", |screen| row_shows(screen, "0xddd", "✓ success")).await;
        let reader = user.store.reader().unwrap();
        let row = reader.find_tracked(PROFILE, &TxHash::new(hash('d'))).unwrap().unwrap();
        assert_eq!(reader.header(row).unwrap().unwrap().params.from_chain, ChainId::new("8453"));
        user.press("V");
        user.wait_for("the question", |screen| screen.contains("Asking the chain itself")).await;
        user.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn pasted_row_is_tracked_selected_and_polled() {
    let scenario_text =
        scenario(&[('a', "q-a", ONGOING), ('d', "pasted", "{ from = 0, status = \"success\", steps = 3 }")]);
    let ended =
        LoopFixture::new(&scenario_text, |_| TimeDelta::seconds(30)).run_script(never(), async |user: &mut User| {
            let screen = user.wait_for("the tracked row", |screen| row_shows(screen, "0xaaa", "● ongoing")).await;
            assert_eq!(find_row(&screen, "0xddd"), None);
            user.send(Event::Paste(format!("{},42161,8453,pasted", hash('d'))));
            user.wait_for("the parsed paste", |screen| screen.contains("+ ready         0xddd")).await;
            user.press("Enter");
            user.wait_for("the import", |screen| screen.contains("1 tracked, 0 updated, 0 already tracked")).await;
            user.wait_for("the new row, selected and polled", |screen| row_shows(screen, "0xddd", "▌    ✓ success"))
                .await;
            let transaction = user.store.reader().unwrap().find(&hash('d')).unwrap().pop().unwrap();
            assert_eq!((transaction.params.transaction_id, transaction.state.polls), (TxHash::new(hash('d')), 1));
            user.press("q");
        });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn requested_poll_is_sent_and_recorded_in_the_history() {
    let scenario_text = scenario(&[('a', "q-a", "{ from = 0, status = \"success\", steps = 3 }")]);
    let ended =
        LoopFixture::new(&scenario_text, |_| TimeDelta::seconds(30)).run_script(never(), async |user: &mut User| {
            user.wait_for("success", |screen| row_shows(screen, "0xaaa", "✓ success")).await;
            user.wait_for("no more polling", |screen| screen.contains("nothing to poll")).await;
            user.press("r");
            user.wait_for("the confirmation", |screen| screen.contains("is polled next")).await;
            ["Enter", "]", "]", "]"].iter().for_each(|key| user.press(key));
            user.wait_for("the second answer", |screen| screen.contains("poll    success (HTTP 200), 2 times")).await;
            let reader = user.store.reader().unwrap();
            let transaction = reader.find(&hash('a')).unwrap().pop().unwrap();
            let answers = reader.history(transaction.id).unwrap();
            let answers = answers.iter().filter(|line| matches!(line, HistoryLine::Observation(..)));
            assert_eq!((answers.count(), transaction.state.polls), (1, 2));
            user.press("^C");
        });
    assert!(matches!(ended.await, Ok(None)));
}

/// Returns an [`Outside`] with these methods to copy text. Only the program `works` succeeds.
fn clipboard(copy_methods: Vec<CopyMethod>) -> System {
    let feed = |command: &[String], _: &str| match command {
        [program] if program == "works" => Ok(()),
        _ => Err(io::Error::other("exit status: 1")),
    };
    System { copy_methods, feed, ..System::disconnected() }
}

#[tokio::test(start_paused = true)]
async fn text_is_copied_by_the_first_working_method_which_is_named() {
    let own = |program: &str| CopyMethod::Own(vec![program.to_owned()]);
    let table = [
        (vec![own("fails"), own("works"), CopyMethod::Terminal], "Copied with works (from the config)."),
        (
            vec![CopyMethod::Tmux, CopyMethod::Terminal, own("works")],
            "Sent to the terminal's clipboard (OSC 52); the terminal doesn't confirm",
        ),
        (vec![CopyMethod::Tool(&["xclip"])], "Not copied (xclip: exit status: 1): select the text with the mouse."),
        (vec![], "Not copied (no clipboard was found)"),
    ];
    for (copy_methods, sentence) in table {
        let fixture = LoopFixture::new(&scenario(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30))
            .with_system(clipboard(copy_methods));
        let ended = fixture.run_script(never(), async |user: &mut User| {
            user.wait_for("the list", |screen| row_shows(screen, "0xaaa", "● ongoing")).await;
            user.press("y");
            user.wait_for("the menu", |screen| screen.contains("packet for provider")).await;
            user.press("p");
            let screen = user.wait_for("the result", |screen| screen.contains(sentence)).await;
            // If every method fails, the screen shows the text itself.
            assert_eq!(screen.contains("fromChainId    42161"), sentence.starts_with("Not copied"), "{screen}");
            user.press("^C");
        });
        assert!(matches!(ended.await, Ok(None)));
    }
}

#[tokio::test(start_paused = true)]
async fn key_is_drawn_at_once_with_and_without_focus() {
    let fixture = LoopFixture::new(&scenario(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = fixture.run_script(never(), async |user: &mut User| {
        user.wait_for("the list", |screen| row_shows(screen, "0xaaa", "● ongoing")).await;
        let measure_response = async |user: &mut User, key: &str, expected: &'static str| {
            let before = user.clock.now().mono;
            user.press(key);
            user.wait_for(expected, |screen| screen.contains(expected)).await;
            user.clock.now().mono.since(before)
        };
        user.send(Event::FocusLost);
        assert!(measure_response(user, "?", "Search:").await < Duration::from_millis(100));
        user.send(Event::FocusGained);
        assert!(measure_response(user, "Esc", "q quit").await < Duration::from_millis(100));
        user.press("^C");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn same_key_pauses_and_resumes_polling() {
    let fixture = LoopFixture::new(&scenario(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = fixture.run_script(never(), async |user: &mut User| {
        user.wait_for("the list", |screen| row_shows(screen, "0xaaa", "● ongoing")).await;
        for _ in 0..3 {
            user.wait_for("polling", |screen| screen.contains("LIVE")).await;
            user.press("p");
            user.wait_for("the pause dialog", |screen| screen.contains("15 minutes")).await;
            let before = user.clock.now().mono;
            user.press("m");
            user.wait_for("paused", |screen| screen.contains("PAUSED")).await;
            assert!(
                user.clock.now().mono.since(before) < Duration::from_millis(500),
                "the pause waited for the poller"
            );
            user.press("p");
        }
        user.wait_for("polling again", |screen| screen.contains("LIVE")).await;
        user.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn idle_dashboard_draws_one_frame_a_second() {
    let fixture =
        LoopFixture::new(&scenario(&[('a', "q-a", ONGOING), ('b', "q-b", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = fixture.run_script(never(), async |user: &mut User| {
        user.wait_for("the list", |screen| row_shows(screen, "0xaaa", "● ongoing")).await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        let (mut times, mut ages) = (Vec::new(), Vec::new());
        while times.len() < 60 {
            user.screen.changed().await.unwrap();
            let screen = user.screen.borrow().clone();
            let time = screen.split_whitespace().find(|word| word.matches(':').count() == 2).expect("the clock");
            let parts: Vec<u32> = time.split(':').map(|part| part.parse().unwrap()).collect();
            times.push(parts.iter().fold(0, |sum, part| 60 * sum + part));
            ages.extend(find_row(&screen, "0xaaa").map(|(_, line)| line.trim_end_matches([' ', '"']).to_owned()));
        }
        assert!(times.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{times:?}");
        // An answer is on the frame of the second in which it arrived.
        assert!(ages.iter().any(|line| line.ends_with(" 0s")), "{ages:?}");
        user.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn stop_ends_the_loop_with_its_reason() {
    let (stop, stopped) = oneshot::channel();
    let fixture = LoopFixture::new(&scenario(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = fixture.run_script(async { stopped.await.unwrap() }, async |user: &mut User| {
        user.wait_for("the list", |screen| row_shows(screen, "0xaaa", "● ongoing")).await;
        stop.send("the terminal hung up").unwrap();
    });
    assert_eq!(ended.await.unwrap(), Some("the terminal hung up"));
}

#[tokio::test(start_paused = true)]
async fn input_error_ends_the_loop_with_that_error() {
    let fixture = LoopFixture::new(&scenario(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = fixture.run_script(never(), async |user: &mut User| {
        user.wait_for("the list", |screen| row_shows(screen, "0xaaa", "● ongoing")).await;
        user.event_sender.send(Err(io::Error::other("no such device"))).unwrap();
    });
    let error = ended.await.unwrap_err();
    assert_eq!(error.to_string(), "the terminal failed: no such device");
}

#[tokio::test(start_paused = true)]
async fn end_of_input_ends_the_loop_with_an_error() {
    let fixture = LoopFixture::new(&scenario(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = fixture.run_script(never(), async |user: &mut User| {
        user.wait_for("the list", |screen| row_shows(screen, "0xaaa", "● ongoing")).await;
        let (closed, _) = mpsc::unbounded_channel();
        user.event_sender = closed;
    });
    assert!(matches!(ended.await, Err(RunError::Terminal(why)) if why == "its input has ended"));
}

#[tokio::test(start_paused = true)]
async fn missing_store_is_reported_and_the_screen_still_responds() {
    let fixture = LoopFixture::new(&scenario(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = fixture.run_script(never(), async |user: &mut User| {
        user.wait_for("the ongoing row", |screen| row_shows(screen, "0xaaa", "● ongoing")).await;
        let path = user.store.path();
        std::fs::rename(path, path.with_extension("elsewhere")).unwrap();
        user.wait_for("the banner", |screen| screen.contains(" STORE: ") && find_row(screen, "0xaaa").is_some()).await;
        user.press("?");
        user.wait_for("the help", |screen| screen.contains("Help")).await;
        user.press("^C");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn actions_on_marked_transactions_apply_to_all_and_can_be_undone() {
    let scenario_text = scenario(&[('a', "q-a", ONGOING), ('b', "q-b", ONGOING), ('c', "q-c", ONGOING)]);
    let fixture = LoopFixture::new(&scenario_text, |_| TimeDelta::seconds(30));
    let ended = fixture.run_script(never(), async |user: &mut User| {
        user.wait_for("the poller", |screen| screen.contains("LIVE") && find_row(screen, "0xccc").is_some()).await;
        user.press("*");
        user.wait_for("all marked", |screen| screen.contains("3 marked (*)") && row_shows(screen, "0xccc", "*")).await;
        user.press("e");
        user.wait_for("the prompt", |screen| screen.contains("Note on 3 marked")).await;
        user.send(Event::Paste("asked the provider".into()));
        user.press("Enter");
        user.wait_for("the result of the notes", |screen| screen.contains("3 notes added; u undoes this.")).await;
        let notes = || {
            let reader = user.store.reader().unwrap();
            let rows = reader.listing(&Filter::everything(), start()).all().unwrap();
            rows.into_iter().map(|row| reader.header(row).unwrap().unwrap().notes.len()).collect::<Vec<_>>()
        };
        assert_eq!(notes(), [1, 1, 1]);
        user.press("u");
        user.wait_for("the result of undo", |screen| screen.contains("Undone: a note (3 transactions)")).await;
        // The marks stay for the next action.
        user.wait_for("the marks", |screen| screen.contains("3 marked (*)")).await;
        user.press("a");
        user.press("Enter");
        user.wait_for("no change", |screen| screen.contains("No alert to acknowledge.")).await;
        user.press("*");
        // The message about the marks comes after a read. If the script didn't wait, the message would replace the next
        // one.
        user.wait_for("all marked again", |screen| screen.contains("3 marked (*): actions work on these")).await;
        user.press("E");
        user.press("Enter");
        user.wait_for("the exported file", |screen| screen.contains("3 written to hoptop-")).await;
        user.press("R");
        user.wait_for("the result of the polls", |screen| {
            screen.contains("3 transactions are polled next (3 requests).")
        })
        .await;
        user.press("A");
        user.wait_for("the alerts", |screen| screen.contains("No active alerts.")).await;
        user.press("Esc");
        user.press("Esc");
        user.wait_for("no marked rows", |screen| !screen.contains("marked (*)")).await;
        user.press("q");
    });
    assert!(matches!(ended.await, Ok(None)));
}

/// Types each value into the form, and moves to the next field.
fn fill_form(user: &User, values: &[&str]) {
    for value in values {
        user.send(Event::Paste((*value).to_owned()));
        user.press("Tab");
    }
}

#[tokio::test(start_paused = true)]
async fn quote_is_requested_and_its_transaction_is_tracked() {
    let fixture = LoopFixture::new(&scenario(&[('a', "q-a", ONGOING)]), |_| TimeDelta::seconds(30));
    let ended = fixture.run_script(never(), async |user: &mut User| {
        user.wait_for("the poller", |screen| screen.contains("LIVE") && find_row(screen, "0xaaa").is_some()).await;
        user.press("T");
        user.wait_for("the form", |screen| screen.contains(" Quote: ")).await;
        let wallet = "0x1f0a00000000000000000000000000000000c9d2";
        fill_form(user, &["arb", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", "5", "base", "0x8335", wallet]);
        user.press("Enter");
        user.wait_for("the refusal", |screen| screen.contains("Amount too low") && screen.contains("increase")).await;
        ["Tab", "Tab", "Tab"].iter().for_each(|key| user.press(key));
        fill_form(user, &["000000"]);
        user.press("Enter");
        let answered = |screen: &str| screen.contains("quoteId   ") && screen.contains("support after");
        let screen = user.wait_for("the answer", answered).await;
        let line = screen.lines().find(|line| line.contains("quoteId   ")).unwrap();
        let quote_id = line.split_whitespace().nth(2).unwrap().to_owned();
        user.press("T");
        user.wait_for("the prompt for the hash", |screen| screen.contains("Track with quoteId")).await;
        user.send(Event::Paste(hash('e')));
        user.press("Enter");
        let screen = user.wait_for("the new row", |screen| row_shows(screen, "0xeee", "▌")).await;
        assert!(!screen.contains("dashboard-loop"), "{screen}");
        let transaction = user.store.reader().unwrap().find(&hash('e')).unwrap().pop().unwrap();
        let params = transaction.params;
        assert_eq!((params.quote_id, params.from_address.as_deref()), (quote_id, Some(wallet)));
        assert!(params.estimate.is_some() && params.from_chain.as_str() == "42161");
        user.press("^C");
    });
    assert!(matches!(ended.await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn missing_fields_of_a_pasted_link_are_prompted_and_a_known_hash_opens() {
    let scenario_text =
        scenario(&[('a', "q-a", ONGOING), ('d', "pasted", "{ from = 0, status = \"success\", steps = 3 }")]);
    let ended =
        LoopFixture::new(&scenario_text, |_| TimeDelta::seconds(30)).run_script(never(), async |user: &mut User| {
            user.wait_for("the tracked row", |screen| row_shows(screen, "0xaaa", "● ongoing")).await;
            user.send(Event::Paste(format!("SUP-1: https://arbiscan.io/tx/{} and {}", hash('d'), hash('a'))));
            let read = |screen: &str| screen.contains("? needs input   0xdddd") && screen.contains("= known");
            user.wait_for("the parsed paste", read).await;
            user.press("Tab");
            user.press("Enter");
            user.wait_for("the chain prompt", |screen| screen.contains("TO: the chain's ID or its name")).await;
            user.send(Event::Paste("base".into()));
            user.press("Enter");
            user.send(Event::Paste("pasted".into()));
            user.press("Enter");
            user.wait_for("the completed row", |screen| screen.contains("+ ready         0xdddd")).await;
            user.press("Enter");
            user.wait_for("the new row, selected and polled", |screen| row_shows(screen, "0xddd", "▌    ✓ success"))
                .await;
            user.send(Event::Paste(hash('a')));
            user.wait_for("the detail", |screen| screen.contains("SAY")).await;
            user.press("^C");
        });
    assert!(matches!(ended.await, Ok(None)));
}
