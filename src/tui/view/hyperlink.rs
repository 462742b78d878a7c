//! Links on the screen as links to the terminal too (OSC 8), where the config asks for that.
//!
//! The escapes stand around each letter in its own cell, whose width is said to be the letter's: so any part of a frame that is
//! drawn again brings its link along. Only what `domain::link` lets pass gets any: nothing else may come between the escapes.

use std::num::NonZeroU16;

use ratatui::{
    buffer::{Buffer, CellDiffOption},
    layout::Rect,
};

use super::DrawContext;
use crate::domain::{ids::TxHash, link, route, transaction::Transaction, width};

/// Longer ones aren't taken by terminals.
const LONGEST: usize = 2_000;
/// A text that is cut keeps so many letters of its beginning; with fewer it might be anything.
const TELLING: usize = 6;
/// The same of a link that goes on in the next row.
const SCHEME: usize = "https://".len();

/// A link, and the hash that stands for it where it isn't written out.
struct Link<'a> {
    url: &'a str,
    hash: Option<&'a TxHash>,
}

impl Link<'_> {
    /// Whether a word on the screen stands for it, whole or cut in its middle or at its end.
    fn is_shown_by(&self, word: &str, ellipsis: &str) -> bool {
        let cut = |whole: &str| {
            let (head, tail) = word.split_once(ellipsis).unwrap_or((word, ""));
            head.len() >= TELLING && whole.starts_with(head) && whole.ends_with(tail) && head.len() < whole.len()
        };
        let shows = |whole: &str| word == whole || word.contains(ellipsis) && cut(whole);
        shows(self.url) || self.hash.is_some_and(|hash| shows(hash.as_str()))
    }
}

/// Makes links of a transaction's hashes and links in a pane that was drawn.
pub(super) fn mark(context: &DrawContext<'_>, tx: &Transaction, pane: Rect, buffer: &mut Buffer) {
    let ends = route::ends(tx);
    let bridge = tx.state.record.as_ref().and_then(|record| record.bridge_url.as_deref());
    let mut links: Vec<_> = bridge.map(|url| Link { url, hash: None }).into_iter().collect();
    for end in [Some(ends.source), Some(ends.destination), ends.hop].into_iter().flatten() {
        links.extend(end.url.map(|url| Link { url, hash: end.transaction_id }));
    }
    over(context, links, pane, buffer);
}

/// Makes links of links in a pane that was drawn.
pub(super) fn mark_written<'a>(
    context: &DrawContext<'_>,
    urls: impl Iterator<Item = &'a str>,
    pane: Rect,
    buffer: &mut Buffer,
) {
    over(context, urls.map(|url| Link { url, hash: None }).collect(), pane, buffer);
}

fn over(context: &DrawContext<'_>, mut links: Vec<Link<'_>>, pane: Rect, buffer: &mut Buffer) {
    links.retain(|link| link.url.len() <= LONGEST && link::check(link.url).is_ok());
    if !context.theme.abilities().hyperlinks || links.is_empty() {
        return;
    }
    let pane = pane.intersection(buffer.area);
    // What goes on in the next row: the link, what is left of it, and from which column on.
    let mut broken: Option<(usize, String, u16)> = None;
    for y in pane.y..pane.bottom() {
        for word in words(buffer, Rect { y, height: 1, ..pane }) {
            let going_on = broken.take_if(|(_, rest, x)| *x == word.x && rest.starts_with(&word.text));
            let shown = |link: &Link<'_>| link.is_shown_by(&word.text, context.theme.ellipsis);
            let begun = |link: &Link<'_>| word.text.len() > SCHEME && link.url.starts_with(&word.text);
            let place = || links.iter().position(shown).or_else(|| links.iter().position(begun));
            let found = going_on.as_ref().map(|(place, ..)| *place).or_else(place);
            let Some((place, link)) = found.and_then(|place| Some((place, links.get(place)?))) else { continue };
            let whole = going_on.map_or_else(|| link.url.to_owned(), |(_, rest, _)| rest);
            broken =
                whole.strip_prefix(&word.text).filter(|rest| !rest.is_empty()).map(|rest| (place, rest.into(), word.x));
            escape(buffer, &word, (place, link.url));
        }
    }
}

/// A run of cells without blanks.
struct Word {
    text: String,
    x: u16,
    y: u16,
    cells: u16,
}

fn words(buffer: &Buffer, row: Rect) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut is_inside = false;
    for x in row.x..row.right() {
        let symbol = buffer.cell((x, row.y)).map_or(" ", |cell| cell.symbol());
        // What is wider than its cell is in no link.
        let is_letter = symbol != " " && width::of(symbol) == 1;
        match words.last_mut().filter(|_| is_inside && is_letter) {
            Some(word) => {
                word.text.push_str(symbol);
                word.cells += 1;
            }
            None if is_letter => {
                words.push(Word { text: symbol.to_owned(), x, y: row.y, cells: 1 });
            }
            None => {}
        }
        is_inside = is_letter;
    }
    words
}

/// Puts the escapes around each letter. The number lets the terminal know that they belong together.
fn escape(buffer: &mut Buffer, word: &Word, (number, url): (usize, &str)) {
    for x in word.x..word.x + word.cells {
        if let Some(cell) = buffer.cell_mut((x, word.y)) {
            let linked = format!("\x1b]8;id=hoptop{number};{url}\x1b\\{}\x1b]8;;\x1b\\", cell.symbol());
            cell.set_symbol(&linked).set_diff_option(CellDiffOption::ForcedWidth(NonZeroU16::MIN));
        }
    }
}
