//! The quote form: a value a line, and below them what became of the question.
//!
//! ```text
//! From chain  [42161        ] Arbitrum
//! ...
//! quoteId        5f2a90
//! support after  30m = 2 x est. 15m from sending on
//! ```
//!
//! Where there isn't room for all of it, what takes the keys stays in sight.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
    widgets::Block,
};

use super::{DrawContext, field, put_lines};
use crate::{
    domain::{
        chains,
        quote::{QuoteAnswer, draft::Part},
        span, text, width,
    },
    tui::model::quote::{Answer, QuoteForm, Stage},
};

/// Columns of what a value is, and of the longest value.
const LABEL: u16 = 12;
const VALUE: u16 = 48;

pub(super) fn draw(context: &DrawContext<'_>, form: &QuoteForm, pane: Rect, frame: &mut Frame<'_>) {
    let title = " Quote: pricing only (quoteOnly), so no limit of the wallet ";
    let title = width::cut(title, usize::from(pane.width.saturating_sub(2)), context.theme.ellipsis);
    let block = Block::bordered().border_set(context.theme.border).title(Span::styled(title, context.theme.label()));
    let inner = block.inner(pane);
    frame.render_widget(block, pane);
    let below = below(context, form, usize::from(inner.width.saturating_sub(1)));
    let wanted = u16::try_from(below.len()).unwrap_or(u16::MAX);
    // The values first while they are written, the answer first once it is there.
    let least = if form.focus().is_some() { inner.height.min(7) } else { 0 };
    let room = inner.height.saturating_sub(wanted).clamp(least, 7);
    let [values, rest] = Layout::vertical([Constraint::Length(room), Constraint::Fill(1)]).areas(inner);
    draw_values(context, form, values, frame);
    let rest = Rect { x: rest.x + 1, width: rest.width.saturating_sub(1), ..rest };
    put_lines(below, rest, frame);
    if let Stage::Tracking { hash, .. } = &form.stage {
        let line = Rect { y: rest.y.saturating_add(2), height: 1, ..rest };
        let line = Rect { x: line.x + 6, width: line.width.saturating_sub(7), ..line };
        if rest.height > 2 {
            field::draw((hash, true), context.theme.key(), line, frame);
        }
    }
}

fn draw_values(context: &DrawContext<'_>, form: &QuoteForm, pane: Rect, frame: &mut Frame<'_>) {
    let rows = usize::from(pane.height);
    let first = (form.place + 1).saturating_sub(rows);
    for (y, part) in (pane.y..pane.bottom()).zip(Part::ALL.iter().skip(first)) {
        draw_value((context, form), *part, Rect { y, height: 1, ..pane }, frame);
    }
}

fn draw_value((context, form): (&DrawContext<'_>, &QuoteForm), part: Part, line: Rect, frame: &mut Frame<'_>) {
    let is_focused = form.focus() == Some(part);
    let is_wrong = form.wrong.iter().any(|wrong| wrong.part == part);
    let mark = match (is_focused, is_wrong) {
        (true, _) => ">",
        (false, true) => "!",
        (false, false) => " ",
    };
    let [label, value, hint] =
        Layout::horizontal([Constraint::Length(LABEL), Constraint::Max(VALUE), Constraint::Fill(1)]).areas(line);
    let style = if is_wrong { context.theme.critical() } else { context.theme.label() };
    frame.render_widget(Span::styled(format!("{mark}{}", label_of(part)), style), label);
    let style = if is_focused { context.theme.key() } else { Style::new() };
    if let Some(input) = form.inputs.get(part as usize) {
        field::draw((input, is_focused), style, value, frame);
    }
    let hint_text = width::cut(&format!(" {}", hint_of(form, part)), usize::from(hint.width), context.theme.ellipsis);
    frame.render_widget(Span::styled(hint_text, context.theme.dim()), hint);
}

fn label_of(part: Part) -> &'static str {
    match part {
        Part::FromChain => "From chain",
        Part::FromToken => "  token",
        Part::FromAmount => "  amount",
        Part::ToChain => "To chain",
        Part::ToToken => "  token",
        Part::FromAddress => "From addr",
        Part::ToAddress => "To addr",
    }
}

/// What stands beside a value: the chain's name, or what is to be typed.
fn hint_of(form: &QuoteForm, part: Part) -> String {
    let typed = form.value(part).trim();
    match part {
        Part::FromChain | Part::ToChain => match (chains::with_id(typed), form.meant(part).as_slice()) {
            (Some(chain), _) => chain.name.clone(),
            (None, [chain]) => format!("{} {}", chain.name, chain.id),
            (None, []) if typed.is_empty() => "an ID or a name".into(),
            (None, chains) => chains.iter().map(|chain| chain.name.as_str()).collect::<Vec<_>>().join(", "),
        },
        Part::FromAmount => "in smallest units".into(),
        Part::ToAddress if typed.is_empty() => "same as from".into(),
        Part::FromAddress if typed.is_empty() => "for refunds".into(),
        Part::FromToken | Part::ToToken if typed.is_empty() => "its address".into(),
        _ => String::new(),
    }
}

/// What became of the question.
fn below(context: &DrawContext<'_>, form: &QuoteForm, columns: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    let mut say = |style: Style, text: &str| {
        lines.extend(width::wrap(&text::clean(text), columns).into_iter().map(|line| Line::styled(line, style)));
    };
    let (bad, dim) = (context.theme.critical(), context.theme.dim());
    match &form.stage {
        Stage::Writing if form.wrong.is_empty() => {
            say(dim, "Enter asks: one request of the budget, sent by whoever polls.");
            say(dim, "What was asked in the last 30 s is answered from here.");
        }
        Stage::Writing => {
            form.wrong.iter().for_each(|wrong| say(bad, &format!("! {}: {}", wrong.part.name(), wrong.reason)))
        }
        Stage::Asking { .. } => say(context.theme.label(), &format!("Asking{}", context.theme.ellipsis)),
        Stage::Waiting { until, .. } => {
            say(context.theme.label(), &waiting(context, *until));
            say(dim, "Esc stops waiting.");
        }
        Stage::Held { until, message } => {
            let rest = span::long(span::between(context.now.wall, *until));
            say(bad, &format!("! No quote: {message}; this wallet has to wait {rest}. No request was spent."));
        }
        Stage::InVain(why) => say(bad, &format!("! No quote: {why}")),
        Stage::Answered(answer) => lines.extend(answered(context, answer, columns)),
        Stage::Tracking { answer, wrong, .. } => lines = tracking(context, (answer, wrong.as_deref()), columns),
    }
    lines
}

fn waiting(context: &DrawContext<'_>, until: chrono::DateTime<chrono::Utc>) -> String {
    let left = span::long(span::between(context.now.wall, until));
    let report = context.model.live_poller(context.now.wall);
    let resting = report.and_then(|report| report.resting_until).filter(|rest| *rest > context.now.wall);
    match (report, resting) {
        (None, _) => format!("Waiting for an answer, at most {left} more: the poller is starting."),
        (Some(report), Some(rest)) => {
            let rest = span::long(span::between(context.now.wall, rest));
            let why = report.last_error.as_deref().unwrap_or("nothing more is known");
            format!("Waiting, at most {left} more: {}, next try in {rest} ({why}).", report.health)
        }
        (Some(_), None) => format!("Waiting for an answer, at most {left} more."),
    }
}

/// A route, or why there is none and what to do.
fn answered(context: &DrawContext<'_>, answer: &Answer, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut say = |style: Style, (label, text): (&str, &str)| {
        let indent = if columns > 40 { 15 } else { 0 };
        let head = Span::styled(format!("{label:<15}"), context.theme.label());
        let mut wrapped = width::wrap(&text::clean(text), columns.saturating_sub(15)).into_iter();
        let first = wrapped.next().unwrap_or_default();
        lines.push(Line::from(vec![head, Span::styled(first, style)]));
        lines.extend(wrapped.map(|line| Line::styled(format!("{}{line}", " ".repeat(indent)), style)));
    };
    let quote = &answer.quote;
    let age = span::between(quote.answered_at.unwrap_or(quote.asked_at), context.now.wall);
    if let Some(route) = answer.route() {
        for (label, value) in route.facts(&quote.request, context.now.wall) {
            let style = if label == "quoteId" { context.theme.good() } else { Style::new() };
            say(style, (label, &value));
        }
        let spent = if answer.kept { ": kept from then, no request was spent" } else { "" };
        say(Style::new(), ("age", &format!("{}{spent}", span::long(age))));
        route.warnings.iter().for_each(|warning| say(context.theme.warning(), ("! warning", warning)));
        quote.request.odd_address().iter().for_each(|odd| say(context.theme.warning(), ("! warning", odd)));
        return lines;
    }
    let refusal = quote.answer.as_ref().and_then(QuoteAnswer::refusal).unwrap_or_default();
    let wait = match &quote.answer {
        Some(QuoteAnswer::WalletLimited { retry_after, .. }) => {
            format!("; this wallet has to wait {}", span::long(*retry_after))
        }
        _ => String::new(),
    };
    say(context.theme.critical(), ("! No quote", &format!("{refusal}{wait}")));
    say(Style::new(), ("do", quote.answer.as_ref().and_then(QuoteAnswer::resolution).unwrap_or_default()));
    lines
}

/// The hash is asked for; the rest is known. The field itself is drawn over the third line.
fn tracking(context: &DrawContext<'_>, (answer, wrong): (&Answer, Option<&str>), columns: usize) -> Vec<Line<'static>> {
    let request = &answer.quote.request;
    let head = format!(
        "Track with quoteId {}, {} > {}",
        answer.quote_id().unwrap_or_default(),
        request.from_chain,
        request.to_chain
    );
    let mut lines = vec![
        Line::default(),
        Line::styled(width::cut(&head, columns, context.theme.ellipsis), context.theme.label()),
        Line::styled("hash", context.theme.label()),
    ];
    let (style, words) = match wrong {
        Some(wrong) => (context.theme.critical(), format!("! {wrong}")),
        None => {
            (context.theme.dim(), "The hash of the transaction that was sent on the source chain, or its link.".into())
        }
    };
    lines.extend(width::wrap(&text::clean(&words), columns).into_iter().map(|line| Line::styled(line, style)));
    lines
}
