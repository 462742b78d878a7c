//! The table of findings, with fields for missing values, and a note on the finding at the cursor.
//!
//! Narrow screens leave out columns from the right. The verdict and the hash must always be shown.

use ratatui::{Frame, layout::Rect, style::Style, text::Span};

use crate::{
    domain::{chains, ids::TxHash, text},
    intake::{Field, FieldError, PasteOrigin, PastedContent},
    presentation::width,
    tui::{
        dialogs::add::state::{AddForm, Finding, FormFocus, LineState, MissingField, column_title},
        draw::{DrawContext, labelled_at, put_lines},
        widgets::field,
    },
};

/// The first cell and the width of a column.
#[derive(Clone, Copy)]
struct ColumnSpan(u16, u16);

/// The columns that fit the width; `None` for a column that doesn't.
struct FindingColumns {
    line: Option<ColumnSpan>,
    result: ColumnSpan,
    hash: ColumnSpan,
    from: Option<ColumnSpan>,
    to: Option<ColumnSpan>,
    quote: Option<ColumnSpan>,
    action: Option<ColumnSpan>,
}

impl FindingColumns {
    fn of(width: u16) -> Self {
        if width < 60 {
            let result = ColumnSpan(3, 15);
            let (from, to, quote) = (None, None, None);
            let action = (width > 42).then_some(ColumnSpan(33, width.saturating_sub(33)));
            return Self { line: None, result, hash: ColumnSpan(19, 13), from, to, quote, action };
        }
        let wide = width.saturating_sub(80).min(25);
        let quote = ColumnSpan(58, if width < 72 { width.saturating_sub(58) } else { 13 + wide });
        Self {
            line: Some(ColumnSpan(3, 4)),
            result: ColumnSpan(8, 15),
            hash: ColumnSpan(24, 13),
            from: Some(ColumnSpan(38, 9)),
            to: Some(ColumnSpan(48, 9)),
            quote: Some(quote),
            action: (width >= 78).then_some(ColumnSpan(72 + wide, width.saturating_sub(72 + wide))),
        }
    }

    /// Returns the column of a required field.
    fn field(&self, field: Field) -> Option<ColumnSpan> {
        match field {
            Field::TransactionId => Some(self.hash),
            Field::FromChainId => self.from,
            Field::ToChainId => self.to,
            Field::QuoteId => self.quote,
            _ => None,
        }
    }
}

pub(crate) fn draw(context: &DrawContext<'_>, form: &AddForm, pane: Rect, frame: &mut Frame<'_>) {
    let columns = FindingColumns::of(pane.width);
    let has_head = pane.height > 3;
    if has_head {
        draw_head(context, &columns, pane, frame);
    }
    let rows = pane.height.saturating_sub(u16::from(has_head));
    let first = (form.cursor + 1).saturating_sub(usize::from(rows.max(1)));
    let lines = pane.y + u16::from(has_head)..pane.bottom();
    // Enter does the same with all lines without a hash.
    let is_search = form.search_filter().is_some();
    for (y, (index, found)) in lines.zip(form.findings.iter().enumerate().skip(first)) {
        let line = Rect { y, height: 1, ..pane };
        let style = draw_finding(context, form, index, found, &columns, line, frame);
        draw_text(columns.action, action_label(found, is_search), style, line, frame);
    }
}

fn draw_head(context: &DrawContext<'_>, columns: &FindingColumns, pane: Rect, frame: &mut Frame<'_>) {
    let titles = [
        (columns.line, "LINE"),
        (Some(columns.result), "RESULT"),
        (Some(columns.hash), column_title(Field::TransactionId)),
        (columns.from, column_title(Field::FromChainId)),
        (columns.to, column_title(Field::ToChainId)),
        (columns.quote, column_title(Field::QuoteId)),
        (columns.action, "ACTION"),
    ];
    for (column, title) in titles {
        draw_text(column, title, context.theme.dim(), Rect { height: 1, ..pane }, frame);
    }
}

/// Draws a text into a column of a line.
fn draw_text(column: Option<ColumnSpan>, text: &str, style: Style, line: Rect, frame: &mut Frame<'_>) {
    if let Some(area) = column.map(|column| column_area(column, line)) {
        frame.render_widget(Span::styled(width::cut(text, usize::from(area.width), ""), style), area);
    }
}

fn column_area(ColumnSpan(at, width): ColumnSpan, line: Rect) -> Rect {
    let at = at.min(line.width);
    Rect { x: line.x + at, width: width.min(line.width - at), height: line.height.min(1), ..line }
}

/// Draws a finding except for its action, and returns the style of its less important texts.
fn draw_finding(
    context: &DrawContext<'_>,
    form: &AddForm,
    index: usize,
    found: &Finding,
    columns: &FindingColumns,
    line: Rect,
    frame: &mut Frame<'_>,
) -> Style {
    let is_here = index == form.cursor;
    let is_chosen = is_here && form.focus == FormFocus::Results;
    if is_chosen {
        frame.render_widget(Span::styled(" ".repeat(usize::from(line.width)), context.theme.selected()), line);
    }
    let style = |style: Style| if is_chosen { context.theme.selected() } else { style };
    let verdict = found.verdict();
    let cursor = if is_here && form.focus != FormFocus::Text { ">" } else { " " };
    let has_mark = found.is_marked && (found.has_effect() || verdict == LineState::NeedsInput);
    let mark = if has_mark { "x" } else { " " };
    draw_text(Some(ColumnSpan(0, 3)), &format!("{cursor}{mark}"), style(Style::new()), line, frame);
    draw_text(columns.line, &found.pasted.line.to_string(), style(Style::new()), line, frame);
    draw_text(Some(columns.result), verdict.label(), style(colour(context, verdict)), line, frame);
    if let (PastedContent::Nothing { reason, .. }, None) = (&found.pasted.content, found.known) {
        let end = columns.action.map_or(line.width, |action| action.0);
        let rest = ColumnSpan(columns.hash.0, end.saturating_sub(columns.hash.0 + 1));
        let reason = width::cut(reason, usize::from(rest.1), context.theme.ellipsis);
        draw_text(Some(rest), &reason, style(context.theme.dim()), line, frame);
    } else {
        draw_values(context, form, found, is_here, columns, line, frame);
    }
    style(context.theme.dim())
}

fn draw_values(
    context: &DrawContext<'_>,
    form: &AddForm,
    found: &Finding,
    is_here: bool,
    columns: &FindingColumns,
    line: Rect,
    frame: &mut Frame<'_>,
) {
    let is_chosen = is_here && form.focus == FormFocus::Results;
    let style = if is_chosen { context.theme.selected() } else { Style::new() };
    for field in [Field::TransactionId, Field::FromChainId, Field::ToChainId, Field::QuoteId] {
        let Some(column) = columns.field(field) else { continue };
        let value = found.value(field);
        // A complete line shows the values that Enter would set.
        let stored = found.stored.as_ref().filter(|_| !found.is_complete()).map(|tx| &tx.params);
        let value = match (stored, field) {
            (Some(params), Field::FromChainId) => chain_name(params.from_chain.as_str()),
            (Some(params), Field::ToChainId) => chain_name(params.to_chain.as_str()),
            (Some(params), Field::QuoteId) => params.quote_id.clone(),
            (None, Field::FromChainId | Field::ToChainId) => chain_name(&value),
            _ => value,
        };
        let cell = found.cells.iter().enumerate().find(|(_, cell)| cell.field == field && found.known.is_none());
        match cell {
            Some((index, cell)) => {
                let is_focused = is_here && form.focus == FormFocus::Cell(index);
                draw_cell(context, cell, is_focused, style, column_area(column, line), frame);
            }
            None if field == Field::TransactionId => {
                let short = TxHash::new(value).short(context.theme.ellipsis);
                draw_text(Some(column), &width::cut(&short, 13, context.theme.ellipsis), style, line, frame);
            }
            None => {
                let value = width::cut(&text::clean(&value), usize::from(column.1), context.theme.ellipsis);
                let is_changed = found.changes_value(field) && !is_chosen;
                let style = if is_changed { context.theme.warning() } else { style };
                draw_text(Some(column), &value, style, line, frame);
            }
        }
    }
}

/// Returns the name of a well-known chain; another ID or text is unchanged. The focused field shows the typed text.
fn chain_name(typed: &str) -> String {
    chains::find_by_id(typed.trim()).map_or_else(|| typed.to_owned(), |chain| chain.name.clone())
}

/// Draws the field of a missing value, or the guess with a question mark.
fn draw_cell(
    context: &DrawContext<'_>,
    cell: &MissingField,
    is_focused: bool,
    style: Style,
    area: Rect,
    frame: &mut Frame<'_>,
) {
    let is_chain = matches!(cell.field, Field::FromChainId | Field::ToChainId);
    let shown = if is_chain { chain_name(cell.input.value()) } else { cell.input.value().to_owned() };
    if cell.is_guess && !is_focused {
        let guess = width::cut(&shown, usize::from(area.width.saturating_sub(1)), context.theme.ellipsis);
        frame.render_widget(Span::styled(format!("{guess}?"), style), area);
        return;
    }
    if is_focused {
        field::draw(&cell.input, true, context.theme.key(), area, frame);
        return;
    }
    let room = usize::from(area.width.saturating_sub(2));
    let value = width::fit(&width::cut(&text::clean(&shown), room, context.theme.ellipsis), room, "");
    frame.render_widget(Span::styled(format!("[{value}]"), style), area);
}

fn colour(context: &DrawContext<'_>, verdict: LineState) -> Style {
    match verdict {
        LineState::Known | LineState::Ready => context.theme.good(),
        LineState::NeedsInput => context.theme.warning(),
        LineState::Duplicate(_) | LineState::NoHash => context.theme.dim(),
    }
}

fn action_label(found: &Finding, is_search: bool) -> &'static str {
    match found.verdict() {
        LineState::Known if found.row_to_open().is_some() => "open",
        LineState::Known if found.is_marked => "update",
        LineState::Ready if found.is_marked => "track",
        LineState::NeedsInput => "fill in",
        LineState::NoHash if is_search => "search",
        _ => "skip",
    }
}

/// Draws the note on the finding at the cursor, or the error in the values for all transactions.
pub(crate) fn draw_note(context: &DrawContext<'_>, form: &AddForm, pane: Rect, frame: &mut Frame<'_>) {
    // On a narrow screen without a column for the focused field, the field is drawn here.
    if let (FormFocus::Cell(index), Some(found)) = (form.focus, form.at_cursor())
        && let Some(cell) = found.cells.get(index)
        && FindingColumns::of(pane.width).field(cell.field).is_none()
    {
        let label = format!(" {} ", cell.field.name());
        let line = Rect { height: pane.height.min(1), ..pane };
        frame.render_widget(Span::styled(label.clone(), context.theme.label()), line);
        let at = (width::display_width(&label) as u16).min(line.width);
        let rest = Rect { x: line.x + at, width: line.width - at, ..line };
        field::draw(&cell.input, true, context.theme.key(), rest, frame);
        return;
    }
    let (words, style) = match (&form.estimate_error, form.at_cursor()) {
        (Some(reason), _) => (format!("! {reason}"), context.theme.critical()),
        (None, Some(found)) => (describe(form, found), context.theme.dim()),
        (None, None) => return,
    };
    let columns = usize::from(pane.width).saturating_sub(1);
    put_lines(labelled_at(1, "", &text::clean(&words), columns, style), pane, frame);
}

/// Returns a sentence about the line: its kind, its verdict, and the effect of Enter.
fn describe(form: &AddForm, found: &Finding) -> String {
    let origin = match (found.pasted.origin, &found.pasted.content) {
        (PasteOrigin::Link | PasteOrigin::Row, PastedContent::Partial { guess: Some(chain), .. }) => {
            let name = chains::find(chain).map_or(chain.as_str(), |chain| chain.name.as_str());
            format!("{} of a block explorer for {name}", found.pasted.origin.label())
        }
        (origin, _) => origin.label().to_owned(),
    };
    let head = format!("Line {}: {origin}", found.pasted.line);
    if let (FormFocus::Cell(index), Err(errors)) = (form.focus, &found.new)
        && let Some(cell) = found.cells.get(index)
        && let Some(error) = errors.iter().find(|error| error.field == cell.field)
    {
        let typed = cell.input.value();
        let is_chain = matches!(cell.field, Field::FromChainId | Field::ToChainId);
        let chains = if is_chain { chains::find_by_prefix(typed) } else { Vec::new() };
        let hint = match chains.as_slice() {
            _ if is_chain && typed.is_empty() => "the chain's ID or its name, such as 8453 or base".to_owned(),
            [] => error.reason.clone(),
            [chain] => format!("{} {}; Enter or Tab fills it in", chain.name, chain.id),
            several => format!("{}?", several.iter().map(|chain| chain.name.as_str()).collect::<Vec<_>>().join(", ")),
        };
        return format!("{}: {hint}", column_title(cell.field));
    }
    match (found.verdict(), &found.pasted.content) {
        (LineState::NoHash, PastedContent::Nothing { reason, .. }) => format!("Line {}: {reason}", found.pasted.line),
        (LineState::Duplicate(line), _) => format!("{head}; duplicate of line {line}"),
        (LineState::Known, _) if found.row_to_open().is_some() => format!("{head}; already tracked, Enter opens it"),
        (LineState::Known, _) => {
            let effect = if found.is_marked { "Enter changes" } else { "Space marks it to change" };
            format!("{head}; already tracked, {effect} {}", found.changes().join(", "))
        }
        (LineState::NeedsInput, _) => match invalid_cell(found) {
            Some(error) => format!("{head}; {}: {}", column_title(error.field), error.reason),
            None => {
                let missing: Vec<_> = found.missing().into_iter().map(column_title).collect();
                format!("{head}; missing: {}", missing.join(", "))
            }
        },
        (LineState::Ready | LineState::NoHash, _) => {
            let warning = found.warning().map_or_else(String::new, |warning| format!(", but check it: {warning}"));
            format!("{head}; it is complete{warning}")
        }
    }
}

/// Returns the error of the first cell with an invalid text.
fn invalid_cell(found: &Finding) -> Option<&FieldError> {
    let stands = |error: &&FieldError| {
        found.cells.iter().any(|cell| cell.field == error.field && !cell.input.value().trim().is_empty())
    };
    found.new.as_ref().err()?.iter().find(stands)
}
