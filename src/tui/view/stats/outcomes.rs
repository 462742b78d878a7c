//! How transfers end: a bar for each status, with its symbol and word, how many and which share.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

use super::{DrawContext, put_lines, settled};
use crate::{
    domain::{row_text, width},
    tui::model::stats::Spread,
};

/// Columns of a status, and of a count.
const STATUS: usize = 12;
const COUNT: usize = 7;
const SHARE: usize = 4;

pub(super) fn draw(context: &DrawContext<'_>, spread: &Spread, pane: Rect, frame: &mut Frame<'_>) {
    let mut lines = vec![Line::raw(format!(" {}", settled(spread)))];
    if spread.tracked == 0 {
        let text = "Here will be how transfers end. n adds some, `hoptop import` many.";
        let wrapped = width::wrap(text, usize::from(pane.width).saturating_sub(2));
        lines.extend(wrapped.into_iter().map(|text| Line::styled(format!(" {text}"), context.theme.dim())));
    }
    let rows = usize::from(pane.height).saturating_sub(lines.len());
    let mut statuses = self::lines(context, spread, usize::from(pane.width));
    if statuses.len() > rows {
        let rest = spread.outcomes.iter().skip(rows.saturating_sub(1));
        let (kinds, count) = (rest.len(), rest.map(|(_, count)| count).sum::<u64>());
        statuses.truncate(rows.saturating_sub(1));
        statuses.push(Line::styled(format!(" and {count} with {kinds} other statuses"), context.theme.dim()));
    }
    lines.extend(statuses);
    put_lines(lines, pane, frame);
}

/// A line for each status.
pub(super) fn lines(context: &DrawContext<'_>, spread: &Spread, columns: usize) -> Vec<Line<'static>> {
    let room = columns.saturating_sub(STATUS + COUNT + SHARE + 5);
    let greatest = spread.outcomes.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let line = |(status, count): &(Option<_>, u64)| {
        let style = context.theme.status(status.as_ref());
        let word = width::fit(&row_text::status(status.as_ref()), STATUS, context.theme.ellipsis);
        let share = percent(*count, spread.tracked);
        let full = share_of(*count, greatest) * room as f64;
        // However few, they are seen.
        let bar = context.theme.bars().full.repeat((full.round() as usize).max(usize::from(*count > 0 && room > 0)));
        Line::from(vec![
            Span::styled(format!(" {word}"), style),
            Span::raw(format!("{count:>COUNT$} {share:>SHARE$} ")),
            Span::styled(bar, style),
        ])
    };
    spread.outcomes.iter().map(line).collect()
}

fn share_of(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// `68%`; `<1%` of what is more than nothing, and `99%` of what is less than all.
pub(super) fn percent(part: u64, whole: u64) -> String {
    match (share_of(part, whole) * 100.0).round() {
        share if share < 1.0 && part > 0 => "<1%".to_owned(),
        share if share >= 100.0 && part < whole => "99%".to_owned(),
        share => format!("{share:.0}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_say_all_or_nothing_unless_they_are() {
        let said = |part, whole| percent(part, whole);
        assert_eq!([said(0, 0), said(0, 9), said(1, 1_000), said(1, 3)], ["0%", "0%", "<1%", "33%"]);
        assert_eq!([said(999, 1_000), said(7, 7), said(1, 1)], ["99%", "100%", "100%"]);
    }
}
