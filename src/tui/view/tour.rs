//! The step of the tour, in a frame over the end of the list. A dialog hides it.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

use crate::{
    presentation::width,
    tui::{
        command::CommandId,
        dialogs::{Dialog, menu::view::bottom},
        draw::{DrawContext, put_dialog, put_lines},
        model::Model,
    },
};

/// The least rows of the body at which the step is drawn: on a low screen it would hide the list.
const MIN_ROWS: u16 = 12;

/// Whether a step is drawn at the end of this pane.
pub(crate) fn is_shown(model: &Model, pane: Rect) -> bool {
    model.tour.step().is_some() && matches!(model.dialog, Dialog::None) && pane.height >= MIN_ROWS
}

pub(crate) fn draw(context: &DrawContext<'_>, pane: Rect, frame: &mut Frame<'_>) {
    let Some((number, step)) = context.model.tour.step().filter(|_| is_shown(context.model, pane)) else { return };
    let columns = usize::from(pane.width.saturating_sub(4)).max(1);
    let mut lines: Vec<Line<'_>> =
        width::wrap(step.text, columns).into_iter().map(|line| Line::raw(format!(" {line}"))).collect();
    let key = context.key(step.command);
    lines.push(Line::from(vec![
        Span::raw(" "),
        Span::styled(key, context.theme.key()),
        Span::raw(format!("  {}", step.invitation)),
    ]));
    let pane = bottom(pane, lines.len() + 2);
    let ends = format!(" {} ends the tour ", context.key(CommandId::Clear));
    let block = context
        .titled_block(format!(" Tour, step {number} of {} ", context.model.tour.length()))
        .border_style(context.theme.accent())
        .title_bottom(Span::styled(ends, context.theme.dim()));
    let inner = put_dialog(block, pane, frame);
    put_lines(lines, inner, frame);
}
