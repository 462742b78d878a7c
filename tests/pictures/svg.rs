//! Draws the screen of a terminal as SVG: one screen, or several that follow each other.
//!
//! Each run of text has its length, and lines and bars are shapes, so that every font shows the same. The files use no
//! script and no other file, so that every viewer of images shows them.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;
use vt100::{Cell, Color, Screen};

/// The size of a cell, and the margin around all cells, in pixels.
const CELL: (f32, f32) = (8.4, 18.0);
const MARGIN: f32 = 12.0;
/// The baseline of text, from the top of its cell, in pixels.
const BASELINE: f32 = 13.5;
/// The height of the caption below a moving picture, in pixels.
const CAPTION: f32 = 40.0;
/// The time of a frame, in seconds.
const FRAME_SECONDS: f32 = 3.5;
const GROUND: &str = "#16181d";
const TEXT: &str = "#d5d8de";
const CAPTION_TEXT: &str = "#56b6c2";

/// A screen of a moving picture.
pub(crate) struct PictureFrame<'a> {
    pub(crate) screen: &'a Screen,
    /// The key that led to the screen, if any, and its effect.
    pub(crate) caption: (Option<&'a str>, &'a str),
}

/// Returns one screen as a picture.
pub(crate) fn still(screen: &Screen) -> String {
    let mut svg = opening(screen, 0.0, "");
    draw_screen(&mut svg, screen);
    svg + "</svg>\n"
}

/// Returns a picture that shows the frames one after the other. Viewers without animation, or whose user wants less
/// motion, show the first frame.
pub(crate) fn moving(frames: &[PictureFrame<'_>]) -> String {
    let share = 100.0 / frames.len() as f32;
    let total = FRAME_SECONDS * frames.len() as f32;
    let mut style =
        String::from(".f{visibility:hidden}.f0{visibility:visible}\n@media (prefers-reduced-motion:no-preference){\n");
    for number in 0..frames.len() {
        let (from, to) = (share * number as f32, share * (number + 1) as f32);
        let before = if number == 0 { "" } else { "0%{visibility:hidden}" };
        let after = if number + 1 == frames.len() { "" } else { "100%{visibility:hidden}" };
        let end = if after.is_empty() { String::new() } else { format!("{to:.3}%{{visibility:hidden}}") };
        writeln!(
            style,
            ".f{number}{{animation:f{number} {total}s step-end infinite}}\
             @keyframes f{number}{{{before}{from:.3}%{{visibility:visible}}{end}{after}}}"
        )
        .unwrap();
    }
    style.push_str("}\n");
    let Some(first) = frames.first() else { return String::new() };
    let mut svg = opening(first.screen, CAPTION, &format!("<style>\n{style}</style>\n"));
    let below = MARGIN + f32::from(size(first.screen).0) * CELL.1 + CAPTION / 2.0 + 8.0;
    for (number, frame) in frames.iter().enumerate() {
        writeln!(svg, "<g class=\"f f{number}\">").unwrap();
        draw_screen(&mut svg, frame.screen);
        let (key, caption) = (frame.caption.0.unwrap_or_default(), escape(frame.caption.1));
        let key = if key.is_empty() {
            String::new()
        } else {
            format!("<tspan font-weight=\"bold\">{}</tspan> ", escape(key))
        };
        writeln!(
            svg,
            "<text x=\"50%\" y=\"{below:.1}\" text-anchor=\"middle\" font-size=\"17\" fill=\"{CAPTION_TEXT}\">{key}{caption}</text>\n</g>"
        )
        .unwrap();
    }
    svg + "</svg>\n"
}

/// Returns the beginning of a picture, with `below` pixels below the screen.
fn opening(screen: &Screen, below: f32, style: &str) -> String {
    let (rows, columns) = size(screen);
    let (wide, high) = (f32::from(columns) * CELL.0 + 2.0 * MARGIN, f32::from(rows) * CELL.1 + 2.0 * MARGIN + below);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {high:.0}\" width=\"{wide:.0}\" \
         font-family=\"SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\" \
         shape-rendering=\"crispEdges\">\n{style}<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n"
    )
}

/// Returns the numbers of rows and columns.
fn size(screen: &Screen) -> (u16, u16) {
    let (rows, columns) = screen.size();
    (rows.get(), columns.get())
}

/// The looks of a cell: colours and weight.
#[derive(Clone, PartialEq)]
struct CellStyle {
    ink: String,
    ground: Option<String>,
    is_bold: bool,
    is_dim: bool,
}

impl CellStyle {
    fn of(cell: &Cell) -> Self {
        let ink = colour(cell.fgcolor()).unwrap_or_else(|| TEXT.to_owned());
        let ground = colour(cell.bgcolor());
        let (ink, ground) = match cell.inverse() {
            true => (ground.unwrap_or_else(|| GROUND.to_owned()), Some(ink)),
            false => (ink, ground),
        };
        Self { ink, ground, is_bold: cell.bold(), is_dim: cell.dim() }
    }
}

fn draw_screen(svg: &mut String, screen: &Screen) {
    let (rows, columns) = size(screen);
    for row in 0..rows {
        let cells: Vec<(u16, &Cell)> = (0..columns)
            .filter_map(|column| Some((column, screen.cell(row, column)?)))
            .filter(|(_, cell)| !cell.is_wide_continuation())
            .collect();
        for run in cells.chunk_by(|(_, one), (_, other)| CellStyle::of(one) == CellStyle::of(other)) {
            draw_run(svg, row, run);
        }
    }
}

/// Draws cells of one row that look alike.
fn draw_run(svg: &mut String, row: u16, run: &[(u16, &Cell)]) {
    let (first, last) = (run[0], run[run.len() - 1]);
    let look = CellStyle::of(first.1);
    let (top, left) = (MARGIN + f32::from(row) * CELL.1, |column: u16| MARGIN + f32::from(column) * CELL.0);
    if let Some(ground) = &look.ground {
        let columns = last.0 - first.0 + if last.1.is_wide() { 2 } else { 1 };
        let long = f32::from(columns) * CELL.0;
        writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{long:.1}\" height=\"{:.1}\" fill=\"{ground}\"/>",
            left(first.0),
            CELL.1
        )
        .unwrap();
    }
    let faint = if look.is_dim { " opacity=\"0.65\"" } else { "" };
    let ink = &look.ink;
    let mut shapes = String::new();
    run.iter().for_each(|(column, cell)| add_shape(&mut shapes, cell.contents(), (left(*column), top)));
    if !shapes.is_empty() {
        writeln!(svg, "<path d=\"{shapes}\" fill=\"{ink}\"{faint}/>").unwrap();
    }
    for (column, text) in words(run) {
        let (x, y, long) = (left(column), top + BASELINE, text.width() as f32 * CELL.0);
        let weight = if look.is_bold { " font-weight=\"bold\"" } else { "" };
        let text = escape(&text);
        writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{long:.1}\" fill=\"{ink}\"{weight}{faint}>{text}</text>"
        )
        .unwrap();
    }
}

/// Returns the texts of a run with their columns. A shape or two blanks end a text: browsers join blanks.
fn words(run: &[(u16, &Cell)]) -> Vec<(u16, String)> {
    let mut words: Vec<(u16, String)> = Vec::new();
    let mut blanks = 2;
    for (column, cell) in run {
        if is_shape(cell.contents()) {
            blanks = 2;
        } else if cell.contents().trim().is_empty() {
            blanks += 1;
        } else {
            match words.last_mut().filter(|_| blanks < 2) {
                Some((_, text)) => {
                    text.push_str(if blanks == 1 { " " } else { "" });
                    text.push_str(cell.contents());
                }
                None => words.push((*column, cell.contents().to_owned())),
            }
            blanks = 0;
        }
    }
    words
}

/// The part of a cell that a block element fills: left, top, width and height, in eighths.
fn block(symbol: &str) -> Option<[f32; 4]> {
    if let Some(place) = "▁▂▃▄▅▆▇█".chars().position(|block| symbol.starts_with(block)) {
        let high = (place + 1) as f32;
        return Some([0.0, 8.0 - high, 8.0, high]);
    }
    if let Some(place) = "▏▎▍▌▋▊▉".chars().position(|block| symbol.starts_with(block)) {
        return Some([0.0, 0.0, (place + 1) as f32, 8.0]);
    }
    match symbol {
        "▀" => Some([0.0, 0.0, 8.0, 4.0]),
        "▐" => Some([4.0, 0.0, 4.0, 8.0]),
        "■" => Some([0.0, 2.0, 7.0, 4.0]),
        _ => None,
    }
}

/// The arms of a line symbol: left, right, up, down.
fn line(symbol: &str) -> Option<[bool; 4]> {
    Some(match symbol {
        "─" => [true, true, false, false],
        "│" => [false, false, true, true],
        "╭" | "┌" => [false, true, false, true],
        "╮" | "┐" => [true, false, false, true],
        "╰" | "└" => [false, true, true, false],
        "╯" | "┘" => [true, false, true, false],
        "├" => [false, true, true, true],
        "┤" => [true, false, true, true],
        "┬" => [true, true, false, true],
        "┴" => [true, true, true, false],
        "┼" => [true, true, true, true],
        _ => return None,
    })
}

/// The dots of a braille symbol: column and row of each.
fn dots(symbol: &str) -> Option<Vec<(u8, u8)>> {
    let bits = u32::from(symbol.chars().next()?).checked_sub(0x2800).filter(|bits| *bits < 256)?;
    let places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    Some(places.into_iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, place)| place).collect())
}

fn is_shape(symbol: &str) -> bool {
    block(symbol).is_some() || line(symbol).is_some() || dots(symbol).is_some()
}

/// Adds the shape of a symbol to the data of a path; nothing for a letter.
fn add_shape(path: &mut String, symbol: &str, (x, y): (f32, f32)) {
    let mut rect = |x: f32, y: f32, wide: f32, high: f32| {
        write!(path, "M{x:.1} {y:.1}h{wide:.1}v{high:.1}h-{wide:.1}z").unwrap();
    };
    if let Some([left, top, wide, high]) = block(symbol) {
        // A little wider, so that no gap shows between two bars.
        let overlap = if left + wide == 8.0 { 0.1 } else { 0.0 };
        let (across, down) = (CELL.0 / 8.0, CELL.1 / 8.0);
        rect(x + left * across, y + top * down, wide * across + overlap, high * down);
    } else if let Some([left, right, up, down]) = line(symbol) {
        let (middle, centre) = (x + CELL.0 / 2.0 - 0.5, y + CELL.1 / 2.0 - 0.5);
        let (from, to) = (if left { x } else { middle }, if right { x + CELL.0 } else { middle + 1.0 });
        if left || right {
            rect(from, centre, to - from, 1.0);
        }
        let (from, to) = (if up { y } else { centre }, if down { y + CELL.1 } else { centre + 1.0 });
        if up || down {
            rect(middle, from, 1.0, to - from);
        }
    } else if let Some(dots) = dots(symbol) {
        for (column, row) in dots {
            let (across, down) = (CELL.0 / 2.0, CELL.1 / 4.0);
            rect(x + f32::from(column) * across + 1.1, y + f32::from(row) * down + 1.2, 2.0, 2.0);
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns a colour as SVG has it; `None` for the terminal's own.
fn colour(colour: Color) -> Option<String> {
    let index = match colour {
        Color::Default => return None,
        Color::Rgb(red, green, blue) => return Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        Color::Idx(index) => index,
    };
    let named = match index {
        0 => "#16181d",
        1 | 9 => "#f0666f",
        2 | 10 => "#8cc570",
        3 | 11 => "#e2b86b",
        4 | 12 => "#66aef0",
        5 | 13 => "#c678dd",
        6 | 14 => "#56b6c2",
        8 => "#868c98",
        7 | 15 => "#ffffff",
        232.. => {
            let grey = 8 + 10 * (index - 232);
            return Some(format!("#{grey:02x}{grey:02x}{grey:02x}"));
        }
        16..=231 => {
            let level = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
            let place = index - 16;
            let [red, green, blue] = [place / 36, place / 6 % 6, place % 6].map(level);
            return Some(format!("#{red:02x}{green:02x}{blue:02x}"));
        }
    };
    Some(named.to_owned())
}
