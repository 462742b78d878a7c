//! A prompt over the bottom of the screen: what it is for, on how many, what is typed, and what is wrong with that.
//!
//! The list above it stays in sight, so that a person sees what they are typing about.

use ratatui::{
    Frame,
    layout::Rect,
    style::Style,
    text::{Line, Span},
    widgets::{Block, Clear},
};

use super::{DrawContext, menu, put_lines};
use crate::{
    domain::width,
    tui::model::prompt::{Prompt, Purpose},
};

pub(super) fn draw(context: &DrawContext<'_>, prompt: &Prompt, body: Rect, frame: &mut Frame<'_>) {
    let columns = usize::from(body.width.saturating_sub(4)).max(1);
    let (text, style) = match &prompt.wrong {
        Some(wrong) => (wrong.clone(), context.theme.critical()),
        None if prompt.sent.is_some() => (context.theme.ellipsis.to_owned(), context.theme.dim()),
        None => (guide(context, prompt), context.theme.dim()),
    };
    let below = width::wrap(&text, columns);
    let pane = menu::bottom(body, below.len() + 3);
    frame.render_widget(Clear, pane);
    let title = format!(" {} {} ", prompt.purpose.title(), works_on(context, &prompt.purpose));
    let title = width::cut(&title, usize::from(pane.width.saturating_sub(2)), context.theme.ellipsis);
    let block = Block::bordered().border_set(context.theme.border).title(Span::styled(title, context.theme.label()));
    let inner = block.inner(pane);
    frame.render_widget(block, pane);
    let below = below.into_iter().map(|line| Line::styled(format!(" {line}"), style));
    let lines: Vec<Line<'_>> = std::iter::once(typed(context, prompt, inner)).chain(below).collect();
    put_lines(lines, inner, frame);
    place_cursor(frame, prompt, inner);
}

/// How far what is typed is scrolled, so that its end stays in sight.
fn scroll(prompt: &Prompt, inner: Rect) -> usize {
    prompt.input.visual_scroll(usize::from(inner.width.saturating_sub(2)))
}

fn typed(context: &DrawContext<'_>, prompt: &Prompt, inner: Rect) -> Line<'static> {
    let typed = prompt.input.value().chars().filter(|letter| !letter.is_control());
    let typed: String = typed.skip(scroll(prompt, inner)).collect();
    let typed = width::cut(&typed, usize::from(inner.width.saturating_sub(1)), "");
    let style = if prompt.is_selected { context.theme.selected() } else { Style::new() };
    Line::from(vec![Span::raw(" "), Span::styled(typed, style)])
}

fn place_cursor(frame: &mut Frame<'_>, prompt: &Prompt, inner: Rect) {
    let column = prompt.input.visual_cursor().saturating_sub(scroll(prompt, inner)) + 1;
    let column = u16::try_from(column).unwrap_or(u16::MAX).min(inner.width.saturating_sub(1));
    if inner.area() > 0 {
        frame.set_cursor_position((inner.x + column, inner.y));
    }
}

/// What it works on: the one that is meant, or how many.
fn works_on(context: &DrawContext<'_>, purpose: &Purpose) -> String {
    match purpose {
        Purpose::ExportShown(Some(count)) => return format!("the {count} that are shown"),
        Purpose::ExportShown(None) => return "all that are shown".into(),
        Purpose::AcknowledgeAlerts(alerts) if alerts.len() == 1 => {
            let at_hand = context.model.at_hand().map(|tx| tx.params.transaction_id.short(context.theme.ellipsis));
            return at_hand.unwrap_or_else(|| "this alert".into());
        }
        Purpose::AcknowledgeAlerts(alerts) => return format!("{} alerts", alerts.len()),
        _ => {}
    }
    let only = match purpose.rows() {
        [row] => context.model.transactions.get(row),
        rows => return format!("{} marked", rows.len()),
    };
    only.map_or_else(|| "1 marked".into(), |tx| tx.params.transaction_id.short(context.theme.ellipsis))
}

/// What to type, and what there is already.
fn guide(context: &DrawContext<'_>, prompt: &Prompt) -> String {
    let purpose = &prompt.purpose;
    let labels = match purpose {
        Purpose::Labels(rows) => rows.first().filter(|_| rows.len() == 1),
        _ => None,
    };
    let labels = labels.and_then(|row| context.model.transactions.get(row)).map(|tx| &tx.labels);
    match labels {
        _ if prompt.is_selected => format!("{} Typing replaces it, End goes on with it.", purpose.guide()),
        Some(labels) if !labels.is_empty() => format!("{} Now: {}", purpose.guide(), labels.join(", ")),
        _ => purpose.guide().to_owned(),
    }
}
