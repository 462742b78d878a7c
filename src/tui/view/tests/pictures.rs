//! The README's pictures: the drawn screens of the fixed dashboard, in the default colours, as SVG.
//!
//! `HOPTOP_WRITE_PICTURES=1 cargo test --lib pictures` writes the pictures; without the variable the test compares them with the
//! drawn screens. Each run of text has its length, and bars are rectangles, so that every font shows the same.

use std::{env, fmt::Write, fs, ops::Range, path::Path};

use super::*;
use crate::{presentation::width, tui::screens::stats};

const SIZE: (u16, u16) = (120, 36);
/// The size of a cell, and the margin around all cells, in pixels.
const CELL: (f32, f32) = (8.4, 18.0);
const MARGIN: f32 = 12.0;
/// The baseline of text, from the top of its cell, in pixels.
const BASELINE: f32 = 13.5;
const GROUND: &str = "#16181d";
const TEXT: &str = "#d5d8de";

fn svg(buffer: &Buffer) -> String {
    let (columns, rows) = (f32::from(buffer.area.width), f32::from(buffer.area.height));
    let (wide, high) = (columns * CELL.0 + 2.0 * MARGIN, rows * CELL.1 + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {high:.0}\" width=\"{wide:.0}\" \
         font-family=\"SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\" \
         xml:space=\"preserve\" shape-rendering=\"crispEdges\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n"
    );
    for y in 0..buffer.area.height {
        let mut start = 0;
        for x in 1..=buffer.area.width {
            let style = |x: u16| (buffer[(x, y)].style(), bar(buffer[(x, y)].symbol()).is_some());
            if x == buffer.area.width || style(x) != style(start) {
                draw_run(&mut svg, buffer, (start..x, y));
                start = x;
            }
        }
    }
    svg + "</svg>\n"
}

/// Draws a run of cells of one style.
fn draw_run(svg: &mut String, buffer: &Buffer, (columns, row): (Range<u16>, u16)) {
    let cells: Vec<&Cell> = columns.clone().map(|x| &buffer[(x, row)]).collect();
    let style = cells[0].style();
    let has = |modifier| style.add_modifier.contains(modifier);
    let (mut ink, mut ground) = (colour(style.fg).unwrap_or(TEXT), colour(style.bg));
    if has(Modifier::REVERSED) {
        (ink, ground) = (ground.unwrap_or(GROUND), Some(ink));
    }
    let (x, y) = (MARGIN + f32::from(columns.start) * CELL.0, MARGIN + f32::from(row) * CELL.1);
    let long = f32::from(columns.end - columns.start) * CELL.0;
    let rect = |svg: &mut String, (x, long): (f32, f32), high: f32, fill: &str| {
        let y = y + CELL.1 - high;
        writeln!(svg, "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{long:.1}\" height=\"{high:.1}\" fill=\"{fill}\"/>")
            .unwrap();
    };
    if let Some(ground) = ground {
        rect(svg, (x, long), CELL.1, ground);
    }
    for (cell, place) in cells.iter().zip(0_u16..) {
        if let Some(eighths) = bar(cell.symbol()) {
            rect(svg, (x + f32::from(place) * CELL.0, CELL.0 + 0.1), CELL.1 * eighths / 8.0, ink);
        }
    }
    let text: String = cells.iter().map(|cell| cell.symbol()).collect();
    let is_bar = cells.iter().any(|cell| bar(cell.symbol()).is_some());
    if is_bar || text.trim().is_empty() {
        return;
    }
    let weight = if has(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
    let faint = if has(Modifier::DIM) { " opacity=\"0.65\"" } else { "" };
    let long = width::display_width(&text) as f32 * CELL.0;
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let y = y + BASELINE;
    writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{long:.1}\" fill=\"{ink}\"{weight}{faint}>{text}</text>"
    )
    .unwrap();
}

/// Returns how many eighths of a cell a bar's symbol fills; `None` for other symbols.
fn bar(symbol: &str) -> Option<f32> {
    let place = "▁▂▃▄▅▆▇█".chars().position(|bar| symbol.starts_with(bar))?;
    Some((place + 1) as f32)
}

fn colour(colour: Option<Color>) -> Option<&'static str> {
    Some(match colour? {
        Color::Red | Color::LightRed => "#f0666f",
        Color::Green | Color::LightGreen => "#8cc570",
        Color::Yellow | Color::LightYellow => "#e2b86b",
        Color::Blue | Color::LightBlue => "#66aef0",
        Color::Magenta | Color::LightMagenta => "#c678dd",
        Color::Cyan | Color::LightCyan => "#56b6c2",
        Color::Black => "#16181d",
        Color::DarkGray => "#868c98",
        Color::White | Color::Gray => "#ffffff",
        _ => return None,
    })
}

fn picture(name: &str, model: &Model) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("assets/screenshots/{name}.svg"));
    let now = svg(drawn(model, &Theme::new(true, false)).backend().buffer());
    if env::var_os("HOPTOP_WRITE_PICTURES").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, now).unwrap();
        return;
    }
    let kept = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    // Not `assert_eq`: the message would have thousands of lines.
    assert!(
        kept == now,
        "{name}.svg differs from the drawn screen; to update: HOPTOP_WRITE_PICTURES=1 cargo test --lib pictures"
    );
}

#[test]
fn pictures_match_the_drawn_screens() {
    picture("overview", &dashboard(SIZE));
    let mut detail = detail(SIZE);
    picture("detail", &detail);
    press(&mut detail, &["]", "]"], now());
    picture("timing", &detail);
    picture("stats", &stats::view::tests::full(SIZE));
}
