//! From a key to the painted screen in the real loop, while answers pour into a long store.

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
use hoptop::{
    clock::Clock,
    store::Store,
    tui::{
        export::ExportOrder,
        keymap,
        outside::Outside,
        run::{Parts, run},
        theme::Theme,
    },
};
use ratatui::{Terminal, backend::TestBackend};
use tokio::sync::{mpsc as events, watch};

use crate::{dashboard, report::Report, tracked::Tracked, watched::Watched};

const SIZE: (u16, u16) = (200, 60);
const TRACKED: usize = 100_000;
const PRESSES: usize = 500;
/// Answers a second that come in.
const ANSWERS: usize = 1_000;
/// The columns of the hash in the list.
const HASH: std::ops::Range<u16> = 16..29;
/// They come in bursts of so many, one in ten with news.
const BURST: usize = 10;

pub fn print(clock: &Clock, report: &mut Report) {
    let folder = tempfile::tempdir().unwrap();
    let tracked = Tracked::make(&folder.path().join("hoptop.db"), TRACKED, clock);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    println!("\n| {TRACKED} tracked, at {}x{} | p50 | p99 | most | frames a second |", SIZE.0, SIZE.1);
    println!("| --- | ---: | ---: | ---: | ---: |");
    for answers in [0, ANSWERS] {
        let (stop, over) = mpsc::channel::<()>();
        let (mut waits, frames, rate) = thread::scope(|scope| {
            let tracked = &tracked;
            let pouring = scope.spawn(move || pour(tracked, answers, &over, clock));
            let (waits, frames) = runtime.block_on(measure(tracked, clock));
            drop(stop);
            (waits, frames, pouring.join().unwrap())
        });
        waits.sort_by(f64::total_cmp);
        let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize] * 1e3;
        let what = format!("key press to painted screen with {rate:.0} answers a second, p99");
        let p99 = report.at_most(&what, (at(0.99), 16.0), "ms");
        println!(
            "| a key, {rate:.0} answers a second coming in | {:.1} ms | {p99} | {:.1} ms | {frames:.0} |",
            at(0.5),
            at(1.0)
        );
    }
}

/// The seconds that each press took, and frames a second.
async fn measure(tracked: &Tracked, clock: &Clock) -> (Vec<f64>, f64) {
    let (selected, screen) = watch::channel(None);
    let frames = Arc::new(AtomicUsize::new(0));
    let drawn = Arc::clone(&frames);
    // Which transaction was painted as the selected one.
    let draw = move |backend: &TestBackend| {
        let buffer = backend.buffer();
        drawn.fetch_add(1, Ordering::Relaxed);
        let row = (0..SIZE.1).find(|row| buffer[(1, *row)].symbol() == ">");
        selected.send_replace(row.map(|row| HASH.map(|column| buffer[(column, row)].symbol()).collect()));
    };
    let mut terminal = Terminal::new(Watched::new(SIZE, draw)).unwrap();
    let (hands, input) = events::unbounded_channel();
    let input = stream::unfold(input, async |mut input: events::UnboundedReceiver<io::Result<Event>>| {
        Some((input.recv().await?, input))
    });
    let parts = Parts {
        store: tracked.store.clone(),
        clock: clock.clone(),
        setting: dashboard::setting(),
        theme: Theme::new(true, false),
        outside: Outside::nowhere(),
        memory: None,
        log: None,
        export: |_: &Store, _: &ExportOrder| Err("nothing is exported".into()),
    };
    let script = async {
        let began = clock.now().mono;
        let waits = press(&hands, screen, clock).await;
        let seconds = clock.now().mono.since(began).as_secs_f64();
        hands.send(Ok(Event::Key(keymap::parse("^C").unwrap()))).unwrap();
        (waits, frames.load(Ordering::Relaxed) as f64 / seconds)
    };
    let (ended, measured) = tokio::join!(run(&mut terminal, input, parts, std::future::pending::<()>()), script);
    ended.unwrap();
    measured
}

/// Presses down and up in turn, each when the last one is painted and a moment has passed.
async fn press(
    hands: &events::UnboundedSender<io::Result<Event>>,
    mut screen: watch::Receiver<Option<String>>,
    clock: &Clock,
) -> Vec<f64> {
    let send = |key: &str| hands.send(Ok(Event::Key(keymap::parse(key).unwrap()))).unwrap();
    screen.wait_for(Option::is_some).await.unwrap();
    // Into the middle of the screen.
    (0..10).for_each(|_| send("j"));
    let mut waits = Vec::new();
    for number in 0..PRESSES {
        let key = if number.is_multiple_of(2) { "j" } else { "k" };
        // At no fixed distance from the last frame.
        let pause = Duration::from_millis(40 + (number * 7 % 50) as u64);
        clock.sleep_until(clock.now().mono + pause).await;
        // Whatever comes in, only a key selects another one.
        let before = screen.borrow_and_update().clone();
        let pressed = clock.now().mono;
        send(key);
        screen.wait_for(|shown| shown.is_some() && *shown != before).await.unwrap();
        waits.push(clock.now().mono.since(pressed).as_secs_f64());
    }
    waits
}

/// Keeps answers until it is over; how many in a second. In a thread of its own, as the poller's answers come.
fn pour(tracked: &Tracked, answers: usize, over: &Receiver<()>, clock: &Clock) -> f64 {
    if answers == 0 {
        return 0.0;
    }
    let start = clock.now().mono;
    let mut kept = 0;
    let ended = |kept: usize| {
        let next = start + Duration::from_secs_f64(kept as f64 / answers as f64);
        over.recv_timeout(next.since(clock.now().mono)) != Err(RecvTimeoutError::Timeout)
    };
    while !ended(kept) {
        let some: Vec<_> = (kept..kept + BURST)
            .map(|number| {
                // The same again brings no news, another step does.
                let said = if number.is_multiple_of(10) { ("ongoing", 2 + number / 2_000 % 2) } else { ("ongoing", 1) };
                let place = if number.is_multiple_of(10) { 100 + number / 10 % 100 } else { number % 100 };
                tracked.seen(place, said, clock).submit(&tracked.store)
            })
            .collect();
        some.into_iter().for_each(|receipt| drop(receipt.wait().unwrap()));
        kept += BURST;
    }
    kept as f64 / clock.now().mono.since(start).as_secs_f64()
}
