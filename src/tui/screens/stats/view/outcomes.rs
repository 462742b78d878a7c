//! The outcomes of transfers: one stacked bar with its legend; on a very small screen a line for each status.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

use crate::{
    presentation::{row_text, width},
    tui::{
        command::CommandId,
        draw::{DrawContext, labelled_at, put_lines},
        screens::stats::state::RouteSummary,
    },
};

/// The columns of a status, a count and a share.
const STATUS: usize = 12;
const COUNT: usize = 7;
const SHARE: usize = 4;

/// Draws the outcomes as one stacked bar over the width, with its legend below.
pub(crate) fn draw(context: &DrawContext<'_>, summary: &RouteSummary, pane: Rect, frame: &mut Frame<'_>) {
    let columns = usize::from(pane.width).saturating_sub(2);
    let indented = Rect { x: pane.x + 1, width: pane.width.saturating_sub(2), ..pane };
    if summary.tracked == 0 {
        let key = context.key(CommandId::Add);
        let text = format!("Outcomes appear here. Press {key} in the list to add a transfer, or run `hoptop import`.");
        return put_lines(labelled_at(0, "", &text, columns, context.theme.dim()), indented, frame);
    }
    let mut lines = vec![stacked_bar(context, summary, columns)];
    lines.extend(legend(context, summary, columns));
    put_lines(lines, indented, frame);
}

/// Returns the number of rows of the stacked bar and its legend.
pub(crate) fn rows(context: &DrawContext<'_>, summary: &RouteSummary, columns: usize) -> usize {
    if summary.tracked == 0 { 2 } else { 1 + legend(context, summary, columns).len() }
}

/// Returns the stacked bar: each status has its share of the columns, at least one. Statuses with the same style have
/// different symbols, also without colours.
fn stacked_bar(context: &DrawContext<'_>, summary: &RouteSummary, columns: usize) -> Line<'static> {
    let fills = context.theme.glyphs().choose(["█", "▓", "▒", "░"], ["#", "=", "-", "."]);
    let mut line = Line::default();
    let mut free = columns;
    let mut statuses = summary.outcomes.len();
    let mut rest = summary.tracked;
    for (status, count) in &summary.outcomes {
        statuses -= 1;
        // The rest of the columns is shared among the rest of the transactions, so that no rounding is left over.
        let own = (share_of(*count, rest) * free as f64).round() as usize;
        let own = own.max(1).min(free.saturating_sub(statuses));
        (free, rest) = (free - own, rest.saturating_sub(*count));
        let style = context.theme.status(status.as_ref());
        let same = line.spans.iter().filter(|span| span.style.fg == style.fg).count();
        let fill = fills.get(same % fills.len()).copied().unwrap_or_default();
        line.push_span(Span::styled(fill.repeat(own), style));
    }
    line
}

/// Returns the legend: each status with its symbol, its count and its share, wrapped between statuses.
fn legend(context: &DrawContext<'_>, summary: &RouteSummary, columns: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::raw(settled(summary))];
    for (status, count) in &summary.outcomes {
        let word = row_text::status_cell(status.as_ref(), context.theme.glyphs());
        let numbers = format!(" {count} ({})", percent(*count, summary.tracked));
        let needed = 3 + width::display_width(&word) + numbers.len();
        match lines.last_mut().filter(|line| line.width() + needed <= columns) {
            Some(line) => line.push_span(Span::raw("   ")),
            None => lines.push(Line::default()),
        }
        if let Some(line) = lines.last_mut() {
            let word = width::cut(&word, columns.saturating_sub(numbers.len()), context.theme.ellipsis);
            line.push_span(Span::styled(word, context.theme.status(status.as_ref())));
            line.push_span(Span::styled(numbers, context.theme.dim()));
        }
    }
    lines
}

/// Returns a line for each status: its count, its share and a bar.
pub(crate) fn lines(context: &DrawContext<'_>, summary: &RouteSummary, columns: usize) -> Vec<Line<'static>> {
    let room = columns.saturating_sub(STATUS + COUNT + SHARE + 5);
    let greatest = summary.outcomes.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let line = |(status, count): &(Option<_>, u64)| {
        let style = context.theme.status(status.as_ref());
        let word =
            width::fit(&row_text::status_cell(status.as_ref(), context.theme.glyphs()), STATUS, context.theme.ellipsis);
        let share = percent(*count, summary.tracked);
        let full = share_of(*count, greatest) * room as f64;
        // A count above zero has a bar of at least one cell.
        let bar = context.theme.bars().full.repeat((full.round() as usize).max(usize::from(*count > 0 && room > 0)));
        Line::from(vec![
            Span::styled(format!(" {word}"), style),
            Span::raw(format!("{count:>COUNT$} {share:>SHARE$} ")),
            Span::styled(bar, style),
        ])
    };
    summary.outcomes.iter().map(line).collect()
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

/// Returns the number of settled transactions, and the share of success: `41 of 60 settled, 88% of these succeeded`.
pub(super) fn settled(summary: &RouteSummary) -> String {
    match summary.tracked {
        0 => "nothing is tracked yet".to_owned(),
        tracked if summary.settled == 0 => format!("0 of {tracked} settled"),
        tracked => format!("{} of {tracked} settled, {} of these succeeded", summary.settled, success_share(summary)),
    }
}

/// Returns the share of success among the settled transactions; `-` if none is settled.
pub(super) fn success_share(summary: &RouteSummary) -> String {
    if summary.settled == 0 { "-".to_owned() } else { percent(summary.succeeded(), summary.settled) }
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
