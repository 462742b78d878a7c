//! The view of the quote form: a line for each value, and below them the progress of the request or its answer.
//!
//! ```text
//! From chain  [42161        ] Arbitrum
//! ...
//! quoteId        5f2a90
//! support after  30m = 2 x est. 15m after sending
//! ```
//!
//! On a low screen the part that takes the keys must stay visible.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
};

use super::state::{QuoteForm, QuoteOutcome, QuoteStage};
use crate::{
    domain::{
        chains,
        quote::{QuoteAnswer, fields::QuoteField},
        span,
        team::NOBODY_POLLS,
        text,
    },
    presentation::width,
    tui::{
        draw::{DrawContext, put_dialog, put_lines},
        widgets::field,
    },
};

/// The widths of a label and of the longest value, in columns.
const LABEL: u16 = 12;
const VALUE: u16 = 48;

pub(crate) fn draw(context: &DrawContext<'_>, form: &QuoteForm, pane: Rect, frame: &mut Frame<'_>) {
    let title = " Quote: pricing only (quoteOnly), no per-wallet limit ";
    let title = width::cut(title, usize::from(pane.width.saturating_sub(2)), context.theme.ellipsis);
    let block = context.titled_block(title);
    let inner = put_dialog(block, pane, frame);
    let below = outcome_lines(context, form, usize::from(inner.width.saturating_sub(1)));
    let wanted = u16::try_from(below.len()).unwrap_or(u16::MAX);
    // The values take precedence while they are typed, the answer once it is shown.
    let least = if form.focus().is_some() { inner.height.min(7) } else { 0 };
    let room = inner.height.saturating_sub(wanted).clamp(least, 7);
    let [values, rest] = Layout::vertical([Constraint::Length(room), Constraint::Fill(1)]).areas(inner);
    draw_values(context, form, values, frame);
    let rest = Rect { x: rest.x + 1, width: rest.width.saturating_sub(1), ..rest };
    put_lines(below, rest, frame);
    if let QuoteStage::Tracking { hash, .. } = &form.stage {
        let line = Rect { y: rest.y.saturating_add(2), height: 1, ..rest };
        let line = Rect { x: line.x + 6, width: line.width.saturating_sub(7), ..line };
        if rest.height > 2 {
            field::draw(hash, true, context.theme.key(), line, frame);
        }
    }
}

fn draw_values(context: &DrawContext<'_>, form: &QuoteForm, pane: Rect, frame: &mut Frame<'_>) {
    let rows = usize::from(pane.height);
    let first = (form.cursor + 1).saturating_sub(rows);
    for (y, field) in (pane.y..pane.bottom()).zip(QuoteField::ALL.iter().skip(first)) {
        draw_value(context, form, *field, Rect { y, height: 1, ..pane }, frame);
    }
}

fn draw_value(context: &DrawContext<'_>, form: &QuoteForm, field: QuoteField, line: Rect, frame: &mut Frame<'_>) {
    let is_focused = form.focus() == Some(field);
    let is_wrong = form.errors.iter().any(|error| error.field == field);
    let mark = match (is_focused, is_wrong) {
        (true, _) => ">",
        (false, true) => "!",
        (false, false) => " ",
    };
    let [label, value, hint] =
        Layout::horizontal([Constraint::Length(LABEL), Constraint::Max(VALUE), Constraint::Fill(1)]).areas(line);
    let style = if is_wrong { context.theme.critical() } else { context.theme.label() };
    let (_, text) = name_and_label(field);
    frame.render_widget(Span::styled(format!("{mark}{text}"), style), label);
    let style = if is_focused { context.theme.key() } else { Style::new() };
    if let Some(input) = form.inputs.get(field as usize) {
        field::draw(input, is_focused, style, value, frame);
    }
    let hint_text = width::cut(&format!(" {}", hint_of(form, field)), usize::from(hint.width), context.theme.ellipsis);
    frame.render_widget(Span::styled(hint_text, context.theme.dim()), hint);
}

/// Returns the name of a field in a sentence, and its label below the field that it continues.
fn name_and_label(field: QuoteField) -> (&'static str, &'static str) {
    match field {
        QuoteField::FromChain => ("From chain", "From chain"),
        QuoteField::FromToken => ("From token", "  token"),
        QuoteField::FromAmount => ("From amount", "  amount"),
        QuoteField::ToChain => ("To chain", "To chain"),
        QuoteField::ToToken => ("To token", "  token"),
        QuoteField::FromAddress => ("From address", "From addr"),
        QuoteField::ToAddress => ("To address", "To addr"),
    }
}

/// Returns the hint beside a value: the name of the chain, or the expected form.
fn hint_of(form: &QuoteForm, field: QuoteField) -> String {
    let typed = form.value(field).trim();
    let if_empty = |hint: &str| if typed.is_empty() { hint.to_owned() } else { String::new() };
    match field {
        QuoteField::FromChain | QuoteField::ToChain => {
            match (chains::find_by_id(typed), form.matching_chains(field).as_slice()) {
                (Some(chain), _) => chain.name.clone(),
                (None, [chain]) => format!("{} {}", chain.name, chain.id),
                (None, []) if typed.is_empty() => "an ID or a name".into(),
                (None, chains) => chains.iter().map(|chain| chain.name.as_str()).collect::<Vec<_>>().join(", "),
            }
        }
        QuoteField::FromAmount => "in smallest units".into(),
        QuoteField::ToAddress => if_empty("same as from"),
        QuoteField::FromAddress => if_empty("for refunds"),
        QuoteField::FromToken | QuoteField::ToToken => if_empty("token address"),
    }
}

/// Returns the lines below the values: errors, progress or the answer.
fn outcome_lines(context: &DrawContext<'_>, form: &QuoteForm, columns: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    let mut say = |style: Style, text: &str| {
        lines.extend(width::wrap(&text::clean(text), columns).into_iter().map(|line| Line::styled(line, style)));
    };
    let (bad, dim) = (context.theme.critical(), context.theme.dim());
    match &form.stage {
        QuoteStage::Writing if form.errors.is_empty() => {
            say(dim, "Enter requests a quote (one request), sent by the polling process.");
            say(dim, "The same request within 30 s gets the stored answer, and sends nothing.");
        }
        QuoteStage::Writing => {
            form.errors.iter().for_each(|error| {
                let (name, _) = name_and_label(error.field);
                say(bad, &format!("! {name}: {}", error.reason));
            });
        }
        QuoteStage::Asking { .. } => say(context.theme.label(), &format!("Requesting{}", context.theme.ellipsis)),
        QuoteStage::Waiting { until, .. } => {
            say(context.theme.label(), &waiting(context, *until));
            say(dim, "Esc stops waiting.");
        }
        QuoteStage::WalletLimited { until, message } => {
            let rest = span::long(span::between(context.now.wall, *until));
            say(bad, &format!("! No quote: {message}; this wallet must wait {rest}. No request was sent."));
        }
        QuoteStage::NoAnswer(why) => say(bad, &format!("! No quote: {why}")),
        QuoteStage::Answered(answer) => lines.extend(answered(context, answer, columns)),
        QuoteStage::Tracking { answer, error, .. } => lines = tracking(context, answer, error.as_deref(), columns),
    }
    lines
}

fn waiting(context: &DrawContext<'_>, until: chrono::DateTime<chrono::Utc>) -> String {
    let left = span::long(span::between(context.now.wall, until));
    let report = context.model.live_poller(context.now.wall);
    let resting = report.and_then(|report| report.resting_until).filter(|rest| *rest > context.now.wall);
    match (report, resting) {
        (None, _) if context.model.is_unpolled_by_team() => {
            format!("Waiting for an answer, at most {left} more: {NOBODY_POLLS}.")
        }
        (None, _) => format!("Waiting for an answer, at most {left} more: the poller is starting."),
        (Some(report), Some(rest)) => {
            let rest = span::long(span::between(context.now.wall, rest));
            let why = report.last_error.as_deref().unwrap_or("reason unknown");
            format!("Waiting, at most {left} more: {}, next try in {rest} ({why}).", report.health)
        }
        (Some(_), None) => format!("Waiting for an answer, at most {left} more."),
    }
}

/// Returns the lines of a route, or the reason why there is none and what to do.
fn answered(context: &DrawContext<'_>, answer: &QuoteOutcome, columns: usize) -> Vec<Line<'static>> {
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
        let spent = if answer.is_stored { ": stored answer, no request was sent" } else { "" };
        say(Style::new(), ("age", &format!("{}{spent}", span::long(age))));
        route.warnings.iter().for_each(|warning| say(context.theme.warning(), ("! warning", warning)));
        quote.request.address_warnings().iter().for_each(|odd| say(context.theme.warning(), ("! warning", odd)));
        return lines;
    }
    let refusal = quote.answer.as_ref().and_then(QuoteAnswer::refusal).unwrap_or_default();
    let wait = match &quote.answer {
        Some(QuoteAnswer::WalletLimited { retry_after, .. }) => {
            format!("; this wallet must wait {}", span::long(*retry_after))
        }
        _ => String::new(),
    };
    say(context.theme.critical(), ("! No quote", &format!("{refusal}{wait}")));
    say(Style::new(), ("do", quote.answer.as_ref().and_then(QuoteAnswer::resolution).unwrap_or_default()));
    lines
}

/// Returns the lines that ask for the hash. The field itself is drawn over the third line.
fn tracking(
    context: &DrawContext<'_>,
    answer: &QuoteOutcome,
    error: Option<&str>,
    columns: usize,
) -> Vec<Line<'static>> {
    let (id, request) = (answer.quote_id().unwrap_or_default(), &answer.quote.request);
    let head = format!("Track with quoteId {id}, {} > {}", request.from_chain, request.to_chain);
    let mut lines = vec![
        Line::default(),
        Line::styled(width::cut(&head, columns, context.theme.ellipsis), context.theme.label()),
        Line::styled("hash", context.theme.label()),
    ];
    let (style, words) = match error {
        Some(error) => (context.theme.critical(), format!("! {error}")),
        None => (context.theme.dim(), "The hash of the transaction on the source chain, or a link to it.".into()),
    };
    lines.extend(width::wrap(&text::clean(&words), columns).into_iter().map(|line| Line::styled(line, style)));
    lines
}
