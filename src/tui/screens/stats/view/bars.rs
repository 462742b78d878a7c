//! Bar charts: each count is a bar of a given width, all on one scale.
//!
//! A count above zero is always visible: its bar is at least an eighth of a cell high.

use ratatui::{
    Frame,
    layout::Rect,
    widgets::{Sparkline, SparklineBar},
};

use crate::tui::draw::DrawContext;

/// Draws a bar for each count from left to right; the greatest count fills the whole height.
pub(crate) fn draw(context: &DrawContext<'_>, counts: &[u64], pane: Rect, cells: usize, frame: &mut Frame<'_>) {
    /// The widget's integer for the greatest count.
    const SCALE: u64 = 1_000_000;
    let least = SCALE.div_ceil(8 * u64::from(pane.height.max(1)));
    let greatest = counts.iter().copied().max().unwrap_or(0).max(1);
    let scaled = |count: u64| if count > 0 { count.saturating_mul(SCALE).div_ceil(greatest).max(least) } else { 0 };
    let bar = |count: u64| SparklineBar::from(scaled(count)).style(Some(context.theme.info()));
    // A bar of three or more cells ends with a gap of one cell.
    let gap = if cells > 2 { 1 } else { 0 };
    let data = counts.iter().flat_map(|count| {
        let full = std::iter::repeat_n(bar(*count), cells - gap);
        full.chain(std::iter::repeat_n(SparklineBar::from(None), gap))
    });
    let chart = Sparkline::default().data(data.collect::<Vec<_>>()).max(SCALE).bar_set(context.theme.bars());
    frame.render_widget(chart.absent_value_symbol(" "), pane);
}

/// Returns the bars of these counts in one row, as text.
pub(crate) fn row(context: &DrawContext<'_>, counts: impl Iterator<Item = u64>, greatest: u64) -> String {
    let set = context.theme.bars();
    let levels = [
        set.one_eighth,
        set.one_quarter,
        set.three_eighths,
        set.half,
        set.five_eighths,
        set.three_quarters,
        set.seven_eighths,
        set.full,
    ];
    let level = |count: u64| {
        let eighths = (count.saturating_mul(8)).div_ceil(greatest.max(1));
        let index = usize::try_from(eighths).ok().and_then(|eighths| eighths.checked_sub(1));
        index.map_or(" ", |index| levels.get(index).copied().unwrap_or(set.full))
    };
    counts.map(level).collect()
}
