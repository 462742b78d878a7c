//! The demo for the pictures: the dashboard and the poller of the program, and the simulated service of `hoptop demo`.
//! The clock doesn't advance between two keys.
//!
//! This module must read no other clock and no settings: the same seed must give the same screens.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    sync::{
        Arc, Mutex,
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use chrono::{DateTime, Utc};
use crossterm::event::Event;
use futures_util::{Stream, StreamExt, stream};
use hoptop::internals::{
    clock::Clock,
    domain::{NotificationMode, Operation},
    poller::{self, Heartbeat, PollScope, PollerSetup},
    process,
    sim::{ServiceLimits, SimulatedService, SimulatedWorld},
    store::Store,
    tui::{CopyMethod, DashboardInputs, DashboardSettings, System, TerminalGuard, Theme, input, run},
};
use tokio::runtime::Handle;

use crate::in_process_transport::InProcessTransport;

/// The seed and the number of transactions of `hoptop demo`.
const SEED: u64 = 7;
const TRANSACTIONS: usize = 60;
const PROFILE: &str = "demo";
const RPS: f64 = 10.0;
/// How long the poller runs before the dashboard starts.
const POLLED_BEFORE: Duration = Duration::from_secs(150);
/// How far the clock advances after a key. Not a multiple of the interval of anything, so that nothing happens at its
/// end.
const STEP: Duration = Duration::from_millis(437);

/// Returns the end of the output for a key: the title of the terminal, which the screen doesn't show.
pub(crate) fn mark_of(step: usize) -> String {
    format!("\x1b]2;picture {step}\x07")
}

fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_795_184_617, 0).unwrap()
}

/// Shows the demo on this process's terminal until `q`. Prints a mark when the screen for a key is complete.
pub(crate) fn show() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("demo.db")).unwrap();
        let clock = Clock::starting_at(start());
        let world = SimulatedWorld::seeded(SEED, TRANSACTIONS, start());
        let track = Operation::Track { profile: PROFILE.into(), transactions: world.transfers() };
        store.apply(track, start()).wait().unwrap();
        let service =
            Arc::new(Mutex::new(SimulatedService::new(world, ServiceLimits { rps: RPS, ..ServiceLimits::default() })));
        let setup = PollerSetup {
            store: store.clone(),
            transport: Arc::new(InProcessTransport { service, clock: clock.clone() }),
            clock: clock.clone(),
            profile: PROFILE.into(),
            rps: RPS,
            shown_id: "…demo".into(),
            fingerprint: "aa".into(),
            budget_folder: None,
            weights: BTreeMap::new(),
            scope: PollScope::Everything,
            seed: SEED,
            lease: None,
            heartbeat: Heartbeat::default(),
            chain_nodes: None,
        };
        let polling = tokio::spawn(poller::run(setup, std::future::pending::<()>()));
        let hurry = FastForward::start(&store, &clock);
        clock.sleep_until(clock.now().mono + POLLED_BEFORE).await;
        drop(hurry);
        let setting = DashboardSettings {
            is_demo: true,
            shown_id: Some("…demo".into()),
            ..DashboardSettings::of_profile(PROFILE, process::run_id())
        };
        // The environment of the process decides about the clipboard, so the method is named here.
        let system = System {
            copy_methods: vec![CopyMethod::Terminal],
            ..System::process(None, true, NotificationMode::Off, false)
        };
        let export = |_: &Store, _: &_| Err("the pictures export nothing".to_owned());
        let theme = Theme::new(true, false);
        let parts = DashboardInputs {
            store,
            clock: clock.clone(),
            setting,
            theme,
            system,
            export,
            view_state_path: None,
            log: None,
        };
        let mut screen = TerminalGuard::take().unwrap();
        let keys = keys_with_still_clock(clock);
        run(&mut screen.terminal, keys, parts, std::future::pending::<()>()).await.unwrap();
        polling.abort();
    });
}

/// Ends the store's waits for further answers, which last in real time, until it is dropped.
struct FastForward(Option<(mpsc::Sender<()>, JoinHandle<()>)>);

impl FastForward {
    fn start(store: &Store, clock: &Clock) -> Self {
        let (stop, stopped) = mpsc::channel();
        let (store, clock, runtime) = (store.clone(), clock.clone(), Handle::current());
        let thread = thread::spawn(move || {
            let _context = runtime.enter();
            while stopped.recv_timeout(Duration::from_millis(1)) == Err(RecvTimeoutError::Timeout) {
                // The store wakes the poller from its own thread. tokio would take such a wakeup in progress for idleness.
                let _still = clock.hold();
                // Nobody waits for more writes while somebody waits for this one.
                store.flush().wait().unwrap();
            }
        });
        Self(Some((stop, thread)))
    }
}

impl Drop for FastForward {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            thread.join().unwrap();
        }
    }
}

/// Returns the terminal's keys. The clock advances by [`STEP`] after each key, and only then.
fn keys_with_still_clock(clock: Clock) -> impl Stream<Item = io::Result<Event>> {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut events = Box::pin(input::events(Clock::system(), || ()).unwrap());
        for step in 0.. {
            clock.sleep_until(clock.now().mono + STEP).await;
            let still = clock.hold();
            print!("{}", mark_of(step));
            io::stdout().flush().unwrap();
            let Some(event) = events.next().await else { return };
            drop(still);
            if sender.send(event).is_err() {
                return;
            }
        }
    });
    stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)))
}
