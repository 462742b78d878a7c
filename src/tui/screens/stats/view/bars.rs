//! Bar charts: each value is a bar of a given width, all on one scale.
//!
//! A value above zero is always visible: its bar is at least an eighth of a cell high.

use ratatui::{
    Frame,
    layout::Rect,
    style::Style,
    widgets::{Sparkline, SparklineBar},
};

use crate::tui::draw::DrawContext;

/// A value and its style; `None` leaves a gap.
pub(crate) type BarValue = (Option<f64>, Style);

/// Draws values from left to right; a bar of the value `greatest` fills the whole height.
pub(crate) fn draw(
    context: &DrawContext<'_>,
    values: &[BarValue],
    greatest: f64,
    pane: Rect,
    cells: usize,
    frame: &mut Frame<'_>,
) {
    /// The widget's integer for the greatest value.
    const SCALE: f64 = 1e6;
    let least = SCALE / (8.0 * f64::from(pane.height.max(1)));
    let scaled = |value: f64| match value {
        value if value > 0.0 && greatest > 0.0 => (value / greatest * SCALE).clamp(least, SCALE).ceil() as u64,
        _ => 0,
    };
    let bar = |(value, style): &BarValue| SparklineBar::from(value.map(scaled)).style(Some(*style));
    // A value of three or more cells ends with a gap of one cell.
    let gap = if cells > 2 { 1 } else { 0 };
    let data = values.iter().flat_map(|value| {
        let full = std::iter::repeat_n(bar(value), cells - gap);
        full.chain(std::iter::repeat_n(SparklineBar::from(None), gap))
    });
    let chart = Sparkline::default().data(data.collect::<Vec<_>>()).max(SCALE as u64).bar_set(context.theme.bars());
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
