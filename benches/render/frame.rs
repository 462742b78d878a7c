//! One frame: how it grows with what is tracked, and beside it ratatui drawing the same cells bare.

use std::{hint::black_box, iter};

use hoptop::{
    clock::Clock,
    tui::{theme::Theme, view::view},
};
use ratatui::{
    Terminal,
    backend::TestBackend,
    buffer::Buffer,
    text::{Line, Span, Text},
};

use crate::{dashboard::Dashboard, report::Report, tracked::Tracked};

const SIZE: (u16, u16) = (200, 60);
const SIZES: [usize; 2] = [100, 100_000];
/// Frames of one measurement, and how often it is taken: the shortest counts.
const FRAMES: usize = 400;
const RUNS: usize = 7;

pub fn print(clock: &Clock, report: &mut Report) {
    println!("\nA frame at {}x{}, the selection moving in each:\n", SIZE.0, SIZE.1);
    println!("| tracked | hoptop | the same cells, bare | ratio |\n| ---: | ---: | ---: | ---: |");
    let mut drawn = Vec::new();
    for count in SIZES {
        let folder = tempfile::tempdir().unwrap();
        let tracked = Tracked::make(&folder.path().join("hoptop.db"), count, clock);
        let mut dashboard = Dashboard::open(&tracked.store, SIZE, clock);
        let ours = of_the_view(&mut dashboard, clock);
        let bare = of_the_cells(&mut dashboard, clock);
        let said = report.at_most(
            &format!("a frame over {count} against the bare cells, in percent"),
            (100.0 * ours / bare, 250.0),
            "%",
        );
        println!("| {count} | {:.0} µs | {:.0} µs | {said} |", ours * 1e6, bare * 1e6);
        drawn.push(ours);
    }
    let said =
        report.at_most("growth of a frame from 100 to 100000, in percent", (100.0 * drawn[1] / drawn[0], 130.0), "%");
    println!("\nFrom {} to {} tracked a frame grows to {said}.", SIZES[0], SIZES[1]);
}

/// Seconds for a frame: model to cells, and the cells that differ to the terminal.
fn of_the_view(dashboard: &mut Dashboard, clock: &Clock) -> f64 {
    let theme = Theme::new(true, false);
    let mut terminal = terminal();
    shortest(|frame| {
        dashboard.press(if frame.is_multiple_of(2) { "j" } else { "k" });
        let now = clock.now();
        let start = clock.now().mono;
        terminal.draw(|frame| view(&dashboard.model, &theme, now, frame)).unwrap();
        clock.now().mono.since(start).as_secs_f64()
    })
}

/// The same for text that is laid out already, in the same two states.
fn of_the_cells(dashboard: &mut Dashboard, clock: &Clock) -> f64 {
    let theme = Theme::new(true, false);
    let mut text = |key: &str| {
        dashboard.press(key);
        let mut terminal = terminal();
        terminal.draw(|frame| view(&dashboard.model, &theme, clock.now(), frame)).unwrap();
        laid_out(terminal.backend().buffer())
    };
    let texts = [text("j"), text("k")];
    let mut terminal = terminal();
    shortest(|frame| {
        let text = &texts[frame % 2];
        let start = clock.now().mono;
        terminal.draw(|frame| frame.render_widget(black_box(text), frame.area())).unwrap();
        clock.now().mono.since(start).as_secs_f64()
    })
}

fn terminal() -> Terminal<TestBackend> {
    Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap()
}

/// The mean of some frames, in the run that took the shortest.
fn shortest(mut frame: impl FnMut(usize) -> f64) -> f64 {
    let mut run = || (0..FRAMES).map(&mut frame).sum::<f64>() / FRAMES as f64;
    iter::repeat_with(&mut run).take(RUNS).fold(f64::INFINITY, f64::min)
}

/// A buffer's cells as lines, a span for each stretch of one style.
fn laid_out(buffer: &Buffer) -> Text<'static> {
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
