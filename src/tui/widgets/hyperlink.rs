//! Terminal hyperlinks (OSC 8) for the hashes and links on the screen, if the config file enables these.
//!
//! Each cell has its own escape sequences, with a forced width of one column, so that a partial redraw keeps the link.
//! Only a URL that `domain::link` accepts may be put into an escape sequence.

use std::num::NonZeroU16;

use ratatui::{
    buffer::{Buffer, CellDiffOption},
    layout::Rect,
};

use crate::{
    domain::{ids::TxHash, link, route, transaction::Transaction},
    presentation::width,
    tui::draw::DrawContext,
};

/// The longest URL in bytes: terminals ignore longer ones.
const MAX_URL_LENGTH: usize = 2_000;
/// The fewest letters that a shortened text keeps of its beginning: fewer may match another text.
const MIN_HEAD: usize = 6;
/// The beginning of a link that continues in the next row is longer than this: a shorter one begins other links too.
const SCHEME_LENGTH: usize = "https://".len();

/// A link, and the hash that is shown in place of the link's URL.
struct TerminalLink<'a> {
    url: &'a str,
    hash: Option<&'a TxHash>,
}

impl TerminalLink<'_> {
    /// Whether a word on the screen is the URL or the hash, whole or shortened in the middle or at the end.
    fn is_shown_by(&self, word: &str, ellipsis: &str) -> bool {
        let cut = |whole: &str| {
            let (head, tail) = word.split_once(ellipsis).unwrap_or((word, ""));
            head.len() >= MIN_HEAD && whole.starts_with(head) && whole.ends_with(tail) && head.len() < whole.len()
        };
        let shows = |whole: &str| word == whole || word.contains(ellipsis) && cut(whole);
        shows(self.url) || self.hash.is_some_and(|hash| shows(hash.as_str()))
    }
}

/// Makes hyperlinks of a transaction's hashes and links in a drawn pane.
pub(crate) fn mark(context: &DrawContext<'_>, tx: &Transaction, pane: Rect, buffer: &mut Buffer) {
    let ends = route::ends(tx);
    let bridge = tx.record.as_ref().and_then(|record| record.bridge_url.as_deref());
    let mut links: Vec<_> = bridge.map(|url| TerminalLink { url, hash: None }).into_iter().collect();
    for end in [Some(ends.source), Some(ends.destination), ends.hop].into_iter().flatten() {
        links.extend(end.url.map(|url| TerminalLink { url, hash: end.transaction_id }));
    }
    mark_links(context, links, pane, buffer);
}

/// Makes hyperlinks of these URLs in a drawn pane.
pub(crate) fn mark_written<'a>(
    context: &DrawContext<'_>,
    urls: impl Iterator<Item = &'a str>,
    pane: Rect,
    buffer: &mut Buffer,
) {
    mark_links(context, urls.map(|url| TerminalLink { url, hash: None }).collect(), pane, buffer);
}

fn mark_links(context: &DrawContext<'_>, mut links: Vec<TerminalLink<'_>>, pane: Rect, buffer: &mut Buffer) {
    links.retain(|link| link.url.len() <= MAX_URL_LENGTH && link::check(link.url).is_ok());
    if !context.theme.display().hyperlinks || links.is_empty() {
        return;
    }
    let pane = pane.intersection(buffer.area);
    // The link that continues in the next row: its index, the rest of its URL, and its column.
    let mut unfinished: Option<(usize, String, u16)> = None;
    for y in pane.y..pane.bottom() {
        for word in words(buffer, Rect { y, height: 1, ..pane }) {
            let continued = unfinished.take_if(|(_, rest, x)| *x == word.x && rest.starts_with(&word.text));
            let shown = |link: &TerminalLink<'_>| link.is_shown_by(&word.text, context.theme.ellipsis);
            let begins = |link: &TerminalLink<'_>| word.text.len() > SCHEME_LENGTH && link.url.starts_with(&word.text);
            let index = || links.iter().position(shown).or_else(|| links.iter().position(begins));
            let found = continued.as_ref().map(|(index, ..)| *index).or_else(index);
            let Some((index, link)) = found.and_then(|index| Some((index, links.get(index)?))) else { continue };
            let whole = continued.map_or_else(|| link.url.to_owned(), |(_, rest, _)| rest);
            unfinished =
                whole.strip_prefix(&word.text).filter(|rest| !rest.is_empty()).map(|rest| (index, rest.into(), word.x));
            escape(buffer, &word, index, link.url);
        }
    }
}

/// A run of cells without blanks.
struct ScreenWord {
    text: String,
    x: u16,
    y: u16,
    cells: u16,
}

fn words(buffer: &Buffer, row: Rect) -> Vec<ScreenWord> {
    // A letter that is wider than its cell is in no link.
    let is_letter = |(_, symbol): &(u16, &str)| *symbol != " " && width::display_width(symbol) == 1;
    let symbol = |x: u16| (x, buffer.cell((x, row.y)).map_or(" ", |cell| cell.symbol()));
    let cells: Vec<(u16, &str)> = (row.x..row.right()).map(symbol).collect();
    let word = |run: &[(u16, &str)]| {
        let (x, _) = *run.first()?;
        let text = run.iter().map(|(_, symbol)| *symbol).collect();
        Some(ScreenWord { text, x, y: row.y, cells: run.len() as u16 })
    };
    cells.split(|cell| !is_letter(cell)).filter_map(word).collect()
}

/// Puts escape sequences around each letter. By the ID, the terminal recognises the cells as one link.
fn escape(buffer: &mut Buffer, word: &ScreenWord, number: usize, url: &str) {
    for x in word.x..word.x + word.cells {
        if let Some(cell) = buffer.cell_mut((x, word.y)) {
            let linked = format!("\x1b]8;id=hoptop{number};{url}\x1b\\{}\x1b]8;;\x1b\\", cell.symbol());
            cell.set_symbol(&linked).set_diff_option(CellDiffOption::ForcedWidth(NonZeroU16::MIN));
        }
    }
}
