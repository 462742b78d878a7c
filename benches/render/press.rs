//! Measures the time from a key press to the painted screen in the real loop, while many answers are saved to a large
//! store.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use crossterm::event::Event;
use futures_util::stream;
use hoptop::internals::{
    clock::Clock,
    store::Store,
    tui::{DashboardInputs, ExportOrder, System, Theme, key_text, run},
};
use ratatui::{Terminal, backend::TestBackend};
use tokio::sync::{mpsc as events, watch};

use crate::{dashboard, report::BenchReport, tracked::TrackedStore, watched::WatchedBackend};

const SIZE: (u16, u16) = (200, 60);
const TRACKED: usize = 100_000;
const PRESS_COUNT: usize = 500;
/// The number of answers saved per second.
const ANSWERS_PER_SECOND: usize = 1_000;
/// The screen columns of the hash in the list.
const HASH_COLUMNS: std::ops::Range<u16> = 16..29;
/// The number of answers saved together; one in ten brings a change.
const BURST_SIZE: usize = 10;

pub(crate) fn print(clock: &Clock, report: &mut BenchReport) {
    let folder = tempfile::tempdir().unwrap();
    let tracked = TrackedStore::make(&folder.path().join("hoptop.db"), TRACKED, clock);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    println!("\n| {TRACKED} tracked, at {}x{} | p50 | p99 | most | frames a second |", SIZE.0, SIZE.1);
    println!("| --- | ---: | ---: | ---: | ---: |");
    for answers in [0, ANSWERS_PER_SECOND] {
        let (stop, stop_signal) = mpsc::channel::<()>();
        let (mut latencies, frames, rate) = thread::scope(|scope| {
            let tracked = &tracked;
            let answering = scope.spawn(move || submit_answers(tracked, answers, &stop_signal, clock));
            let (latencies, frames) = runtime.block_on(measure(tracked, clock));
            drop(stop);
            (latencies, frames, answering.join().unwrap())
        });
        latencies.sort_by(f64::total_cmp);
        let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize] * 1e3;
        let measure = format!("key press to painted screen with {rate:.0} answers a second, p99");
        let p99 = report.at_most(&measure, at(0.99), 16.0, "ms");
        println!(
            "| a key, {rate:.0} answers a second coming in | {:.1} ms | {p99} | {:.1} ms | {frames:.0} |",
            at(0.5),
            at(1.0)
        );
    }
}

/// Returns the seconds from each press to its frame, and the frames per second.
async fn measure(tracked: &TrackedStore, clock: &Clock) -> (Vec<f64>, f64) {
    let (selected, screen) = watch::channel(None);
    let frames = Arc::new(AtomicUsize::new(0));
    let frame_count = Arc::clone(&frames);
    // Publishes which transaction is painted as selected.
    let draw = move |backend: &TestBackend| {
        let buffer = backend.buffer();
        frame_count.fetch_add(1, Ordering::Relaxed);
        let row = (0..SIZE.1).find(|row| buffer[(1, *row)].symbol() == ">");
        selected.send_replace(row.map(|row| HASH_COLUMNS.map(|column| buffer[(column, row)].symbol()).collect()));
    };
    let mut terminal = Terminal::new(WatchedBackend::new(SIZE, draw)).unwrap();
    let (key_sender, input) = events::unbounded_channel();
    let input = stream::unfold(input, async |mut input: events::UnboundedReceiver<io::Result<Event>>| {
        Some((input.recv().await?, input))
    });
    let parts = DashboardInputs {
        store: tracked.store.clone(),
        clock: clock.clone(),
        setting: dashboard::setting(),
        // ASCII, because the row of the selection begins with `>` there.
        theme: Theme::new(true, true),
        system: System::disconnected(),
        view_state_path: None,
        log: None,
        export: |_: &Store, _: &ExportOrder| Err("nothing is exported".into()),
    };
    let script = async {
        let began = clock.now().mono;
        let latencies = press_keys(&key_sender, screen, clock).await;
        let seconds = clock.now().mono.since(began).as_secs_f64();
        key_sender.send(Ok(Event::Key(key_text::parse("^C").unwrap()))).unwrap();
        (latencies, frames.load(Ordering::Relaxed) as f64 / seconds)
    };
    let (ended, measured) = tokio::join!(run(&mut terminal, input, parts, std::future::pending::<()>()), script);
    ended.unwrap();
    measured
}

/// Presses `j` and `k` in turn, each after the last press was painted and a pause has passed.
async fn press_keys(
    key_sender: &events::UnboundedSender<io::Result<Event>>,
    mut screen: watch::Receiver<Option<String>>,
    clock: &Clock,
) -> Vec<f64> {
    let send = |key: &str| key_sender.send(Ok(Event::Key(key_text::parse(key).unwrap()))).unwrap();
    screen.wait_for(Option::is_some).await.unwrap();
    // Move the selection away from the top of the screen.
    (0..10).for_each(|_| send("j"));
    let mut latencies = Vec::new();
    for number in 0..PRESS_COUNT {
        let key = if number.is_multiple_of(2) { "j" } else { "k" };
        // Pauses vary, so that presses aren't synchronised with frames.
        let pause = Duration::from_millis(40 + (number * 7 % 50) as u64);
        clock.sleep_until(clock.now().mono + pause).await;
        // Only a key changes the selection; answers don't.
        let before = screen.borrow_and_update().clone();
        let pressed = clock.now().mono;
        send(key);
        screen.wait_for(|shown| shown.is_some() && *shown != before).await.unwrap();
        latencies.push(clock.now().mono.since(pressed).as_secs_f64());
    }
    latencies
}

/// Saves answers until a stop signal arrives, and returns the answers per second. Runs on its own thread, as the poller
/// does.
fn submit_answers(tracked: &TrackedStore, answers: usize, stop_signal: &Receiver<()>, clock: &Clock) -> f64 {
    if answers == 0 {
        return 0.0;
    }
    let start = clock.now().mono;
    let mut saved_count = 0;
    let is_stopped = |saved_count: usize| {
        let next = start + Duration::from_secs_f64(saved_count as f64 / answers as f64);
        stop_signal.recv_timeout(next.since(clock.now().mono)) != Err(RecvTimeoutError::Timeout)
    };
    while !is_stopped(saved_count) {
        let receipts: Vec<_> = (saved_count..saved_count + BURST_SIZE)
            .map(|number| {
                // A repeated answer brings no change, another step does.
                let (index, steps) = match number.is_multiple_of(10) {
                    true => (100 + number / 10 % 100, 2 + number / 2_000 % 2),
                    false => (number % 100, 1),
                };
                tracked.observe(index, ("ongoing", steps), clock).submit(&tracked.store)
            })
            .collect();
        receipts.into_iter().for_each(|receipt| drop(receipt.wait().unwrap()));
        saved_count += BURST_SIZE;
    }
    saved_count as f64 / clock.now().mono.since(start).as_secs_f64()
}
