//! What is marked: a letter in the list's first column, and a word on how many they are.
//!
//! Marks may be on what isn't shown just now, so their number stands wherever the list does.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

use super::DrawContext;
use crate::{
    domain::{ids::RowId, width},
    tui::command::Id,
};

/// The first column of a row: which one is selected, which are marked.
pub(super) fn letter(context: &DrawContext<'_>, row: RowId, range: &[RowId]) -> &'static str {
    let is_marked = context.model.marks.contains(row) || range.contains(&row);
    match (context.model.list.selected == Some(row), is_marked) {
        (true, false) => ">",
        (true, true) => "X",
        (false, true) => "x",
        (false, false) => " ",
    }
}

/// How many are marked, and whether a range is open; nothing if there is nothing to say.
pub(super) fn words(context: &DrawContext<'_>) -> Option<String> {
    let marks = &context.model.marks;
    let marked = (marks.count() > 0).then(|| format!("{} marked (x)", marks.count()));
    let range = marks.range.map(|_| match context.model.range().len() {
        0 => format!("range to here: {} marks it", context.key(Id::MarkRange)),
        count => format!("range of {count}: {} marks it", context.key(Id::MarkRange)),
    });
    let words: Vec<String> = marked.into_iter().chain(range).collect();
    (!words.is_empty()).then(|| words.join("   "))
}

/// Writes them over the line below a list that has no frame.
pub(super) fn over_line(context: &DrawContext<'_>, line: Rect, frame: &mut Frame<'_>) {
    let Some(words) = words(context) else { return };
    let text = width::cut(&format!(" {words} "), usize::from(line.width.saturating_sub(1)), context.theme.ellipsis);
    let columns = u16::try_from(width::of(&text)).unwrap_or(u16::MAX);
    let place = Rect { x: line.x.saturating_add(1), height: 1, width: columns, ..line }.intersection(line);
    if place.area() > 0 {
        frame.render_widget(Line::from(Span::styled(text, context.theme.label())), place);
    }
}
