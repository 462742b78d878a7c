//! The view of the add dialog.
//!
//! ```text
//! ┌ paste anything ──────┐
//! └ summary ─────────────┘
//!     LINE RESULT         TX          FROM   TO    QUOTE ID     ACTION
//!   note on the finding at the cursor
//!   Ticket [    ]  Labels [    ]  Est. route time [    ]
//!   Cost   the effect on the budget
//! ```
//!
//! The verdict of each line must be shown at any width.

mod findings;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::state::{AddForm, ExtraField, FindingCounts, FormFocus, FormStage};
use crate::{
    domain::{need, span, text},
    presentation::width,
    tui::{
        draw::{DrawContext, labelled_at, put_block, put_lines},
        widgets::field,
    },
};

/// With fewer rows than this the dialog has no frame, no cost line and no values for all transactions.
const MIN_FRAMED_ROWS: u16 = 12;
/// From this many rows on, the note on a line has three rows instead of two.
const MIN_ROWS_FOR_LONG_NOTE: u16 = 16;

const GUIDE: [&str; 6] = [
    "A hash, a part of a hash, or an explorer's URL finds a tracked transaction.",
    "To track a new transaction, the service needs four values:",
    "  transactionId,fromChainId,toChainId,quoteId",
    "  for example 0x9f3c...e21b,42161,8453,5f2a90",
    "CSV rows, JSON, curl commands, service answers and ticket text also work,",
    "alone or together. hoptop asks for missing values.",
];

pub(crate) fn draw(context: &DrawContext<'_>, form: &AddForm, pane: Rect, frame: &mut Frame<'_>) {
    let low = pane.height < MIN_FRAMED_ROWS;
    let typed = u16::try_from(form.lines.len()).unwrap_or(u16::MAX).saturating_add(3).clamp(4, 6);
    let [input, results, note, extras, cost] = Layout::vertical([
        Constraint::Length(if low { 1 } else { typed }),
        Constraint::Fill(1),
        Constraint::Length(if pane.height < MIN_ROWS_FOR_LONG_NOTE { 2 } else { 3 }),
        Constraint::Length(u16::from(!low)),
        Constraint::Length(u16::from(!low)),
    ])
    .areas(pane);
    match low {
        true => draw_line(context, form, input, frame),
        false => draw_input(context, form, input, frame),
    }
    if form.findings.is_empty() {
        let columns = usize::from(results.width).saturating_sub(1);
        let guide = GUIDE.iter().flat_map(|text| labelled_at(1, "", text, columns, context.theme.dim()));
        put_lines(guide, results, frame);
    } else {
        findings::draw(context, form, results, frame);
        frame.render_widget(cost_line(context, form, cost.width), cost);
    }
    if !form.findings.is_empty() || matches!(form.focus, FormFocus::Extra(_)) {
        draw_extras(context, form, extras, frame);
    }
    findings::draw_note(context, form, note, frame);
}

/// Draws only the last line, on a screen too low for a frame.
fn draw_line(context: &DrawContext<'_>, form: &AddForm, line: Rect, frame: &mut Frame<'_>) {
    let line = Rect { x: line.x + u16::from(line.width > 0), width: line.width.saturating_sub(1), ..line };
    field::draw(&form.input, form.focus == FormFocus::Text, context.theme.label(), line, frame);
}

fn draw_input(context: &DrawContext<'_>, form: &AddForm, pane: Rect, frame: &mut Frame<'_>) {
    let columns = usize::from(pane.width.saturating_sub(2));
    let foot = match (form.stage == FormStage::ConfirmLeave, form.is_truncated) {
        (true, _) => Span::styled(" Esc again closes, and the typed text is lost ", context.theme.critical()),
        (false, true) => {
            Span::styled(" the text was cut: `hoptop import FILE` reads any size ", context.theme.warning())
        }
        (false, false) => Span::styled(summary(form), context.theme.dim()),
    };
    let title =
        width::cut(" Add or find: paste a hash, a URL, CSV, JSON, curl, ticket text ", columns, context.theme.ellipsis);
    let block = context.titled_block(title).title_bottom(foot);
    let inner = put_block(block, pane, frame);
    let height = usize::from(inner.height).max(1);
    let earlier = form.lines.len().saturating_sub(height - 1);
    let cut = |line: &String| Line::raw(width::cut(&text::clean(line), columns, context.theme.ellipsis));
    let mut lines: Vec<Line<'_>> = form.lines.iter().skip(earlier).map(cut).collect();
    let row = lines.len();
    // The end of the typed line is always visible.
    let (typed, column) = field::window(&form.input, columns);
    lines.push(Line::raw(typed));
    put_lines(lines, inner, frame);
    if form.focus == FormFocus::Text && row < height {
        let y = inner.y + row as u16;
        field::place_cursor(column, Rect { y, height: inner.height.min(1), width: columns as u16, ..inner }, frame);
    }
}

/// Returns the counts of the findings as a title.
fn summary(form: &AddForm) -> String {
    let FindingCounts { known, new, needs_input, others, .. } = form.counts();
    let counted = [(known, "known"), (new, "to track"), (needs_input, "to fill in"), (others, "skipped")];
    let parts: Vec<_> =
        counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if parts.is_empty() { " parsed as you type ".into() } else { format!(" {} ", parts.join(", ")) }
}

fn draw_extras(context: &DrawContext<'_>, form: &AddForm, line: Rect, frame: &mut Frame<'_>) {
    let [ticket, labels, estimate] =
        Layout::horizontal([Constraint::Fill(3), Constraint::Fill(3), Constraint::Fill(4)]).areas(line);
    for (extra, label, pane) in [
        (ExtraField::Ticket, " Ticket ", ticket),
        (ExtraField::Labels, " Labels ", labels),
        (ExtraField::Estimate, " Est. route time ", estimate),
    ] {
        let is_wrong = extra == ExtraField::Estimate && form.estimate_error.is_some();
        let style = if is_wrong { context.theme.critical() } else { context.theme.label() };
        let [name, value] =
            Layout::horizontal([Constraint::Length(width::display_width(label) as u16), Constraint::Fill(1)])
                .areas(pane);
        frame.render_widget(Span::styled(label, style), name);
        let is_focused = form.focus == FormFocus::Extra(extra);
        let style = if is_focused { context.theme.key() } else { context.theme.dim() };
        if let Some(input) = form.extras.get(extra as usize) {
            field::draw(input, is_focused, style, value, frame);
        }
    }
}

/// Returns the line about the effect of the new transactions on the budget.
fn cost_line(context: &DrawContext<'_>, form: &AddForm, columns: u16) -> Line<'static> {
    let count = form.counts().new;
    let need = context.model.live_poller(context.now.wall).and_then(|report| report.need);
    let label = Span::styled(" Cost   ", context.theme.label());
    let (words, style) = match (count, need) {
        (0, _) => ("none: no new transaction is ready".to_owned(), context.theme.dim()),
        (_, None) => ("not known: no process is polling".to_owned(), context.theme.warning()),
        (_, Some(now)) => {
            let with = now.with_new(count);
            let then = with.after_young(count);
            let style = if then.is_short() { context.theme.warning() } else { context.theme.good() };
            let young = span::short(need::YOUNG.to_std().unwrap_or_default());
            let words = format!(
                "{count} new: {:.1} requests/s for {young}, then {:.1} (now {:.1}, allowed {:.1}): {}",
                with.polls,
                then.polls,
                now.polls,
                now.allowed,
                if with.is_short() && !with.is_always_short() { "short at first" } else { with.label() }
            );
            (words, style)
        }
    };
    let room = usize::from(columns).saturating_sub(width::display_width(&label.content));
    Line::from(vec![label, Span::styled(width::cut(&words, room, context.theme.ellipsis), style)])
}
