//! Measures the time of one frame: how it grows with the number of tracked transactions, and beside ratatui drawing the
//! same cells.

use std::{hint::black_box, iter};

use hoptop::internals::{
    clock::Clock,
    tui::{Theme, view},
};
use ratatui::{
    Terminal,
    backend::TestBackend,
    buffer::Buffer,
    text::{Line, Span, Text},
};

use crate::{dashboard::ModelDashboard, report::BenchReport, tracked::TrackedStore};

const SIZE: (u16, u16) = (200, 60);
const TRACKED_COUNTS: [usize; 2] = [100, 100_000];
/// The frames of one run, and the number of runs, of which the shortest counts.
const FRAMES: usize = 400;
const RUNS: usize = 7;

pub(crate) fn print(clock: &Clock, report: &mut BenchReport) {
    println!("\nA frame at {}x{}, the selection moving in each:\n", SIZE.0, SIZE.1);
    println!("| tracked | hoptop | the same cells, bare | ratio |\n| ---: | ---: | ---: | ---: |");
    let mut frame_seconds = Vec::new();
    for count in TRACKED_COUNTS {
        let folder = tempfile::tempdir().unwrap();
        let tracked = TrackedStore::make(&folder.path().join("hoptop.db"), count, clock);
        let mut dashboard = ModelDashboard::open(&tracked.store, SIZE, clock);
        let hoptop_seconds = measure_view(&mut dashboard, clock);
        let bare_seconds = measure_cells(&mut dashboard, clock);
        let figure = report.at_most(
            &format!("a frame over {count} against the bare cells, in percent"),
            100.0 * hoptop_seconds / bare_seconds,
            250.0,
            "%",
        );
        println!("| {count} | {:.0} µs | {:.0} µs | {figure} |", hoptop_seconds * 1e6, bare_seconds * 1e6);
        frame_seconds.push(hoptop_seconds);
    }
    let figure = report.at_most(
        "growth of a frame from 100 to 100000, in percent",
        100.0 * frame_seconds[1] / frame_seconds[0],
        130.0,
        "%",
    );
    println!("\nFrom {} to {} tracked a frame grows to {figure}.", TRACKED_COUNTS[0], TRACKED_COUNTS[1]);
}

/// Returns the seconds for a frame: from the model to cells, and the changed cells to the terminal.
fn measure_view(dashboard: &mut ModelDashboard, clock: &Clock) -> f64 {
    let theme = Theme::new(true, false);
    let mut terminal = new_terminal();
    shortest_mean(|frame| {
        dashboard.press(if frame.is_multiple_of(2) { "j" } else { "k" });
        let now = clock.now();
        let start = clock.now().mono;
        terminal.draw(|frame| view(&dashboard.model, &theme, now, frame)).unwrap();
        clock.now().mono.since(start).as_secs_f64()
    })
}

/// Returns the seconds for drawing text with the same cells, alternating between the same two states.
fn measure_cells(dashboard: &mut ModelDashboard, clock: &Clock) -> f64 {
    let theme = Theme::new(true, false);
    let mut text = |key: &str| {
        dashboard.press(key);
        let mut terminal = new_terminal();
        terminal.draw(|frame| view(&dashboard.model, &theme, clock.now(), frame)).unwrap();
        cells_to_text(terminal.backend().buffer())
    };
    let texts = [text("j"), text("k")];
    let mut terminal = new_terminal();
    shortest_mean(|frame| {
        let text = &texts[frame % 2];
        let start = clock.now().mono;
        terminal.draw(|frame| frame.render_widget(black_box(text), frame.area())).unwrap();
        clock.now().mono.since(start).as_secs_f64()
    })
}

fn new_terminal() -> Terminal<TestBackend> {
    Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap()
}

/// Returns the mean seconds per frame of the shortest run.
fn shortest_mean(mut frame: impl FnMut(usize) -> f64) -> f64 {
    let mut run = || (0..FRAMES).map(&mut frame).sum::<f64>() / FRAMES as f64;
    iter::repeat_with(&mut run).take(RUNS).fold(f64::INFINITY, f64::min)
}

/// Converts a buffer's cells to lines, with one span for each run of cells of the same style.
fn cells_to_text(buffer: &Buffer) -> Text<'static> {
    let row = |y| {
        let mut spans: Vec<Span<'static>> = Vec::new();
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            match spans.last_mut().filter(|span| span.style == cell.style()) {
                Some(span) => span.content.to_mut().push_str(cell.symbol()),
                None => spans.push(Span::styled(cell.symbol().to_owned(), cell.style())),
            }
        }
        Line::from(spans)
    };
    (0..buffer.area.height).map(row).collect()
}
