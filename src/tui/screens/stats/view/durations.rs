//! The durations of the chosen route's transfers: the median and the time of nine in ten in words, and a histogram.
//!
//! A duration is the time from submission to settling, as observed by polls. Buckets are wider for longer durations.

use std::time::Duration;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::Line,
};

use super::bars;
use crate::{
    domain::{histogram::Bucket, span},
    presentation::width,
    tui::{
        draw::{DrawContext, labelled_at, put_lines},
        screens::stats::state::RouteSummary,
    },
};

/// The columns of a label: `45m `.
const LABEL: usize = 4;
/// The most columns of a bar.
const WIDEST: usize = 14;

/// Returns the durations in words. In too few columns, first the number of timed transfers is left out, then the words
/// are shortened.
pub(crate) fn describe(summary: &RouteSummary, columns: usize) -> String {
    let Some(median) = summary.median else { return " no transfer was timed yet".to_owned() };
    let Some(most) = summary.nine_in_ten else { return format!(" 1 transfer timed: {}", span::long(median)) };
    let long = format!(" median {}, 9 in 10 within {}", span::long(median), span::long(most));
    let brief = format!(" median {}, 9 in 10 {}", span::nearest(median), span::nearest(most));
    let sentences = [format!("{long} ({} timed)", summary.timed()), long];
    sentences.into_iter().find(|text| width::display_width(text) <= columns).unwrap_or(brief)
}

pub(crate) fn draw(context: &DrawContext<'_>, summary: &RouteSummary, pane: Rect, frame: &mut Frame<'_>) {
    let [words, marks, chart, counts, labels] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(u16::from(pane.height > 6)),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(pane);
    frame.render_widget(Line::raw(describe(summary, usize::from(pane.width))), words);
    let columns = usize::from(pane.width).saturating_sub(2);
    let buckets = summary.durations.buckets((columns / LABEL).max(1));
    if buckets.is_empty() {
        let below = Rect { height: pane.height.saturating_sub(1), y: pane.y + 1, ..pane };
        let text = "Durations appear here. A transfer is timed when it settles, if submittedAt was given and the polls \
                    around its end are close enough together.";
        let columns = usize::from(pane.width).saturating_sub(1);
        return put_lines(labelled_at(1, "", text, columns, context.theme.dim()), below, frame);
    }
    let cells = (columns / buckets.len()).clamp(1, WIDEST);
    let heights: Vec<u64> = buckets.iter().map(|bucket| bucket.count).collect();
    let indented = |row: Rect| Rect { x: row.x + 1, width: row.width.saturating_sub(1), ..row };
    frame.render_widget(marks_line(context, summary, &buckets, cells), indented(marks));
    bars::draw(context, &heights, indented(chart), cells, frame);
    let cell = |text: String| width::fit(&text, cells, "");
    let text: String = buckets.iter().map(|bucket| cell(short_count(bucket.count, cells))).collect();
    frame.render_widget(Line::raw(text), indented(counts));
    let text: String = buckets.iter().map(|bucket| cell(bucket.label())).collect();
    frame.render_widget(Line::styled(text, context.theme.dim()), indented(labels));
}

/// Returns a number above zero in fewer letters than `cells`, in thousands or millions if need be; else nothing.
fn short_count(count: u64, cells: usize) -> String {
    let spellings = [(1, ""), (1_000, "k"), (1_000_000, "M")].map(|(unit, sign)| (count / unit, sign));
    let fits = |(number, sign): &(u64, &str)| *number > 0 && number.to_string().len() + sign.len() < cells;
    spellings.into_iter().find(fits).map_or_else(String::new, |(number, sign)| format!("{number}{sign}"))
}

/// Returns the line above the bars with a mark at the median and at nine in ten.
fn marks_line(context: &DrawContext<'_>, summary: &RouteSummary, buckets: &[Bucket], cells: usize) -> Line<'static> {
    let glyphs = context.theme.glyphs();
    let column = |at: Duration| {
        let index = buckets.iter().rposition(|bucket| bucket.from <= at).unwrap_or(0);
        index * cells + cells / 2
    };
    let marks = [("median", summary.median), ("9 in 10", summary.nine_in_ten)];
    let mut text = String::new();
    for (name, at) in marks.into_iter().filter_map(|(name, at)| Some((name, at?))) {
        let gap = column(at).saturating_sub(width::display_width(&text));
        if gap == 0 && !text.is_empty() {
            continue;
        }
        text.push_str(&" ".repeat(gap));
        text.push_str(&format!("{}{name} ", glyphs.choose("▼", "v")));
    }
    Line::styled(text, context.theme.accent())
}
