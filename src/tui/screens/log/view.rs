//! The log's lines, the newest first; below, the whole selected line if it is cut, and how the integrator ID is shown.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Margin, Rect},
    style::Style,
    text::{Line, Span},
};

use super::state::{LogLevel, LogLine};
use crate::{
    domain::ids::TxHash,
    presentation::width,
    tui::{
        command::CommandId,
        dialogs::Dialog,
        draw::{self, DrawContext, labelled_at, put_block, put_lines},
        widgets::{columns, field},
    },
};

/// The text before the search text.
const PROMPT: &str = "/ ";
/// The columns of a level.
const LEVEL: usize = 5;

/// Returns the area of the lines, and of the rule and the texts below; both inside the frame if there is one.
fn areas(context: &DrawContext<'_>, body: Rect) -> [Rect; 2] {
    let inner = if draw::has_frames(body) { body.inner(Margin::new(1, 1)) } else { body };
    let whole = whole_line(context, inner).len();
    let below = if inner.height >= 6 { 2 + whole } else { 0 };
    let below = u16::try_from(below).unwrap_or(u16::MAX);
    Layout::vertical([Constraint::Fill(1), Constraint::Length(below)]).areas(inner)
}

/// Returns the text of the line at the cursor in full, in several rows, if the line is cut above and the body has room.
fn whole_line(context: &DrawContext<'_>, inner: Rect) -> Vec<String> {
    /// The least rows of the body for each row of the text.
    const ROWS: u16 = 3;
    let log = &context.model.log;
    let Some(entry) = log.line().filter(|_| !log.is_wrapped) else { return Vec::new() };
    let (columns, words) = (usize::from(inner.width), entry_text(context, entry));
    if width::display_width(&words) <= room_of_text(context, entry, columns) {
        return Vec::new();
    }
    let mut lines = width::wrap(&words, columns.saturating_sub(2).max(1));
    lines.truncate(usize::from(inner.height / ROWS));
    lines
}

/// Returns the number of rows for lines of the log.
pub(crate) fn rows_in(context: &DrawContext<'_>, body: Rect) -> usize {
    let [lines, _] = areas(context, body);
    usize::from(lines.height)
}

/// Draws level, number of lines and search text, in place of the filter.
pub(crate) fn headline(context: &DrawContext<'_>, row: Rect, frame: &mut Frame<'_>) {
    let log = &context.model.log;
    let level = match log.least {
        LogLevel::Info => "all levels",
        LogLevel::Warn => "WARN and ERROR",
        LogLevel::Error => "ERROR only",
    };
    let last = if matches!(&log.loaded, Some(Ok(tail)) if tail.is_cut) { "the last " } else { "" };
    let mut line = Line::from(vec![
        Span::styled(" Log  ", context.theme.label()),
        Span::raw(format!("{level}, {} of {}{}, newest first  ", log.lines().count(), last, log.all().len())),
    ]);
    if let Dialog::Find { input, .. } = &context.model.dialog {
        line.push_span(Span::styled(PROMPT, context.theme.key()));
        return field::draw_after(line, input, context.theme.key(), row, frame);
    }
    if !log.search_text.is_empty() {
        line.push_span(Span::styled(format!("{PROMPT}{}", log.search_text), context.theme.info()));
    }
    frame.render_widget(line, row);
}

pub(crate) fn draw(context: &DrawContext<'_>, body: Rect, frame: &mut Frame<'_>) {
    let [pane, below] = areas(context, body);
    let log = &context.model.log;
    if draw::has_frames(body) {
        let count = log.lines().count();
        let position = if count > 0 { format!(" {} of {count} ", log.cursor + 1) } else { String::new() };
        put_block(context.dim_block(" Log ").title_bottom(Span::styled(position, context.theme.dim())), body, frame);
    }
    let rows = usize::from(pane.height);
    let columns = usize::from(pane.width);
    let mut lines: Vec<Line<'static>> = Vec::new();
    let mut cursor_end = None;
    // From the first visible line to the one at the cursor, and as many lines after it as fit.
    for (index, entry) in log.lines().enumerate().skip(log.top) {
        if lines.len() >= rows && cursor_end.is_some() {
            break;
        }
        let is_at_cursor = index == log.cursor;
        lines.extend(entry_lines(context, entry, is_at_cursor, columns));
        if is_at_cursor {
            cursor_end = Some(lines.len());
        }
    }
    // Wrapped lines above the cursor give way to the line at the cursor.
    lines.drain(..cursor_end.unwrap_or(0).saturating_sub(rows));
    if lines.is_empty() {
        lines.extend(labelled_at(1, "", &empty_text(context), columns.saturating_sub(1), context.theme.dim()));
    }
    put_lines(lines, pane, frame);
    if below.height > 0 {
        let rule = Line::styled(context.theme.border.horizontal_top.repeat(columns), context.theme.dim());
        let note = Line::styled(width::cut(&id_note(context), columns, context.theme.ellipsis), context.theme.dim());
        let whole = whole_line(context, Rect { height: pane.height + below.height, ..pane });
        let whole = whole.into_iter().map(|text| Line::raw(format!(" {text}")));
        put_lines([rule].into_iter().chain(whole).chain([note]), below, frame);
    }
}

/// Returns a line of the log, in several rows if lines are wrapped.
fn entry_lines(context: &DrawContext<'_>, entry: &LogLine, is_selected: bool, columns: usize) -> Vec<Line<'static>> {
    let mark = if is_selected { '>' } else { ' ' };
    let time = format!("{mark}{}", time_text(context, entry));
    let style = match entry.level {
        LogLevel::Error => context.theme.critical(),
        LogLevel::Warn => context.theme.warning(),
        LogLevel::Info => context.theme.dim(),
    };
    let room = room_of_text(context, entry, columns);
    let indent = columns.saturating_sub(room);
    let words = entry_text(context, entry);
    let texts = match context.model.log.is_wrapped {
        true => width::wrap(&words, room),
        false => vec![width::cut(&words, room, context.theme.ellipsis)],
    };
    let spans = |(index, text): (usize, String)| match index {
        0 => vec![
            Span::styled(time.clone(), context.theme.dim()),
            Span::styled(format!("{:<LEVEL$} ", entry.level.name()), style),
            Span::styled(text, if entry.level == LogLevel::Error { style } else { Style::new() }),
        ],
        _ => vec![Span::raw(format!("{}{text}", " ".repeat(indent)))],
    };
    let pane = u16::try_from(columns).unwrap_or(u16::MAX);
    let rows = texts.into_iter().enumerate().map(spans);
    rows.map(|spans| columns::row(context, spans, is_selected, pane)).collect()
}

/// Returns the time of a line, with the blank after it.
fn time_text(context: &DrawContext<'_>, entry: &LogLine) -> String {
    context.local_time(entry.at, "%H:%M:%S ", "%m-%d %H:%M:%S ")
}

/// Returns the columns of the text after mark, time and level.
fn room_of_text(context: &DrawContext<'_>, entry: &LogLine, columns: usize) -> usize {
    columns.saturating_sub(width::display_width(&time_text(context, entry)) + LEVEL + 2).max(1)
}

/// Returns the text of a line: the profile, the message, the transaction and the body.
fn entry_text(context: &DrawContext<'_>, entry: &LogLine) -> String {
    let body = if entry.body.is_empty() { String::new() } else { format!(" | {}", entry.body) };
    let about = match entry.about.as_str() {
        "" => String::new(),
        about => format!(" | {}", TxHash::new(about).short(context.theme.ellipsis)),
    };
    let profile_prefix = context.model.setting.profile_prefix(&entry.profile);
    format!("{profile_prefix}{}{about}{body}", entry.text)
}

fn empty_text(context: &DrawContext<'_>) -> String {
    match &context.model.log.loaded {
        None => format!("Reading the log{}", context.theme.ellipsis),
        Some(Err(reason)) => reason.clone(),
        Some(Ok(tail)) if tail.lines.is_empty() => {
            "Nothing was logged yet. The log shows failures: requests that were throttled, refused or timed out, undocumented \
             statuses, problems with the store."
                .to_owned()
        }
        Some(Ok(_)) => {
            let [level, find] = [CommandId::Level, CommandId::Find].map(|id| context.key(id));
            format!("No matching lines. Press {level} to change the level, {find} to search for another text.")
        }
    }
}

/// Returns the note on how the integrator ID is shown.
fn id_note(context: &DrawContext<'_>) -> String {
    match &context.model.setting.shown_id {
        Some(id) => {
            let id = id.replace('…', context.theme.ellipsis);
            format!(" The integrator ID is shown, copied and exported as {id}.")
        }
        None => " Only the last characters of the integrator ID are shown, copied and exported.".to_owned(),
    }
}
