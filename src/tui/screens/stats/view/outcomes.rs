//! The outcomes of transfers: a bar for each status, with symbol, word, count and share.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

use crate::{
    presentation::{row_text, width},
    tui::{
        draw::{DrawContext, put_lines},
        screens::stats::state::Spread,
    },
};

/// The columns of a status, a count and a share.
const STATUS: usize = 12;
const COUNT: usize = 7;
const SHARE: usize = 4;

pub(crate) fn draw(context: &DrawContext<'_>, spread: &Spread, pane: Rect, frame: &mut Frame<'_>) {
    let mut lines = vec![Line::raw(format!(" {}", settled(spread)))];
    if spread.tracked == 0 {
        let text = "Outcomes appear here. Press n to add a transfer, or run `hoptop import`.";
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

/// Returns a line for each status.
pub(crate) fn lines(context: &DrawContext<'_>, spread: &Spread, columns: usize) -> Vec<Line<'static>> {
    let room = columns.saturating_sub(STATUS + COUNT + SHARE + 5);
    let greatest = spread.outcomes.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let line = |(status, count): &(Option<_>, u64)| {
        let style = context.theme.status(status.as_ref());
        let word = width::fit(&row_text::status(status.as_ref()), STATUS, context.theme.ellipsis);
        let share = percent(*count, spread.tracked);
        let full = share_of(*count, greatest) * room as f64;
        // A count above zero has a bar of at least one cell.
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

/// Returns a share such as `68%`. A share above zero is at least `<1%`; a share below all is at most `99%`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    match (share_of(part, whole) * 100.0).round() {
        share if share < 1.0 && part > 0 => "<1%".to_owned(),
        share if share >= 100.0 && part < whole => "99%".to_owned(),
        share => format!("{share:.0}%"),
    }
}

/// Returns the number of settled transactions: `41 of 60 settled (68%)`.
pub(super) fn settled(spread: &Spread) -> String {
    match spread.tracked {
        0 => "nothing is tracked yet".to_owned(),
        tracked => {
            format!("{} of {tracked} settled ({})", spread.settled, percent(spread.settled, tracked))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_none_is_zero_percent_and_only_all_is_a_hundred_percent() {
        let share = |part, whole| percent(part, whole);
        assert_eq!([share(0, 0), share(0, 9), share(1, 1_000), share(1, 3)], ["0%", "0%", "<1%", "33%"]);
        assert_eq!([share(999, 1_000), share(7, 7), share(1, 1)], ["99%", "100%", "100%"]);
    }
}
