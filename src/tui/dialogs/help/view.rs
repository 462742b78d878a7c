//! The view of the help: all commands or the ones found, the filter's terms, and the meaning of the symbols.
//!
//! ```text
//! Search        the typed text
//! rows          keys and help texts, scrolled
//! legend        symbols and severities; on a low screen part of the scrolled rows
//! ```

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
    widgets::Block,
};

use super::state::HelpPage;
use crate::{
    domain::status::RouterStatus,
    presentation::{row_text, width},
    tui::{
        command::{HelpSection, KeyCommand, KeyContext},
        draw::{DrawContext, put_lines},
        widgets::field,
    },
};

const PROMPT: &str = "Search: ";
/// The widths of the keys and of the command names, in columns.
const KEYS: usize = 13;
const NAME: usize = 13;
/// The least width of a column of commands.
const COLUMN: usize = 78;
/// With this many rows or fewer, the legend is scrolled together with the commands.
const LOW_HEIGHT: u16 = 8;

/// The parts of the pane.
struct HelpLayout {
    search: Rect,
    rows: Rect,
    legend: Rect,
    lines: Vec<Line<'static>>,
}

impl HelpLayout {
    fn new(context: &DrawContext<'_>, pane: Rect) -> Self {
        let inner = Block::bordered().inner(pane);
        let lines = legend(context, usize::from(inner.width));
        let height = u16::try_from(lines.len() + 1).unwrap_or(u16::MAX);
        let height = if inner.height.saturating_sub(height) > LOW_HEIGHT { height } else { 0 };
        let [search, rows, legend] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(height)]).areas(inner);
        Self { search, rows, legend, lines }
    }

    fn scrolled_lines(&self, context: &DrawContext<'_>, page: &HelpPage) -> Vec<Line<'static>> {
        let columns = usize::from(self.rows.width);
        let mut lines = match &page.found {
            None => all_commands(context, columns),
            Some(_) => found(context, page, columns),
        };
        if self.legend.height == 0 {
            lines.push(Line::default());
            lines.extend(self.lines.iter().cloned());
        }
        lines
    }
}

pub(crate) fn draw(context: &DrawContext<'_>, page: &HelpPage, pane: Rect, frame: &mut Frame<'_>) {
    let block = context
        .titled_block(" Help ")
        .title(Span::styled(" type to search keys and commands ", context.theme.dim()))
        .title_bottom(Span::styled(" Esc closes   change keys under [keys] in the config file ", context.theme.dim()));
    frame.render_widget(block, pane);
    let parts = HelpLayout::new(context, pane);
    let lines = parts.scrolled_lines(context, page);
    let scroll = page.scroll.min(lines.len().saturating_sub(usize::from(parts.rows.height)));
    put_lines(lines.into_iter().skip(scroll), parts.rows, frame);
    let text_area = Rect { y: parts.legend.y.saturating_add(1), ..parts.legend }.intersection(parts.legend);
    put_lines(parts.lines, text_area, frame);
    field::draw_after(Span::styled(PROMPT, context.theme.key()), &page.input, Style::new(), parts.search, frame);
}

/// Returns the height of the scrolled part in rows.
pub(crate) fn rows(context: &DrawContext<'_>, pane: Rect) -> usize {
    usize::from(HelpLayout::new(context, pane).rows.height)
}

pub(crate) fn scroll_end(context: &DrawContext<'_>, page: &HelpPage, pane: Rect) -> usize {
    let parts = HelpLayout::new(context, pane);
    parts.scrolled_lines(context, page).len().saturating_sub(usize::from(parts.rows.height))
}

/// Returns all commands, the mouse and the filter, in as many columns as fit.
fn all_commands(context: &DrawContext<'_>, columns: usize) -> Vec<Line<'static>> {
    let count = (columns / COLUMN).clamp(1, 3);
    let width = (columns + 1) / count - 1;
    let lines = command_lines(context, width);
    let rows = lines.len().div_ceil(count);
    let mut joined = vec![Line::default(); rows];
    for (index, line) in lines.into_iter().enumerate() {
        let Some(row) = joined.get_mut(index % rows) else { continue };
        let start = index / rows * (width + 1);
        row.push_span(Span::raw(" ".repeat(start.saturating_sub(row.width()))));
        row.extend(line.spans.into_iter().map(|span| Span::styled(span.content, line.style.patch(span.style))));
    }
    joined
}

fn command_lines(context: &DrawContext<'_>, columns: usize) -> Vec<Line<'static>> {
    let title = |title: &'static str| Line::styled(title, context.theme.accent());
    let mut lines = Vec::new();
    for group in HelpSection::ALL {
        lines.push(title(group.title()));
        let of_group = context.model.setting.keys.all().filter(|(command, _)| command.group == group);
        lines.extend(of_group.flat_map(|(command, keys)| row(context, command, keys, columns)));
        lines.push(Line::default());
    }
    lines.push(title("MOUSE"));
    lines.extend(MOUSE.iter().flat_map(|text| paragraph(text, columns)));
    lines.push(Line::default());
    lines.push(title("FILTER"));
    lines.extend(paragraph(
        "Terms side by side must all match, or joins alternatives, ( ) groups, - negates. Bare words match hash, chains, ticket, labels and notes.",
        columns,
    ));
    lines.extend(FILTERS.iter().flat_map(|example| paragraph(example, columns)));
    lines
}

/// Returns the commands found, best match first, and the matching filter terms.
fn found(context: &DrawContext<'_>, page: &HelpPage, columns: usize) -> Vec<Line<'static>> {
    let ids = page.found.iter().flatten();
    let commands = ids.filter_map(|id| context.model.setting.keys.all().find(|(command, _)| command.id == *id));
    let mut lines: Vec<_> = commands.flat_map(|(command, keys)| row(context, command, keys, columns)).collect();
    let query = page.search_text().to_lowercase();
    let filters: Vec<_> = FILTERS.iter().filter(|example| query.len() > 1 && example.contains(&query)).collect();
    if !filters.is_empty() {
        lines.extend([Line::default(), Line::styled("FILTER", context.theme.label())]);
        lines.extend(filters.into_iter().map(|example| Line::raw(format!("  {example}"))));
    }
    if lines.is_empty() {
        lines.push(Line::styled("  No key, command or filter matches.", context.theme.warning()));
    }
    lines
}

/// Returns the keys, the name and the help of a command. A command without a key shows `:`.
fn row(context: &DrawContext<'_>, command: &KeyCommand, keys: &[String], columns: usize) -> Vec<Line<'static>> {
    let keys = if keys.is_empty() { ":".to_owned() } else { keys.join(" ") };
    let [keys, name] = [(keys.as_str(), KEYS), (command.name, NAME)]
        .map(|(text, columns)| width::fit(text, columns, context.theme.ellipsis));
    // A command of a single context names it, since other commands have the same key in other contexts.
    let place = match command.contexts {
        [KeyContext::List] | [_, _, ..] | [] => String::new(),
        [place] => {
            let place = place.description();
            let is_named = place.rsplit(' ').next().is_some_and(|word| command.help.contains(word));
            if is_named { String::new() } else { format!(" ({place})") }
        }
    };
    let help = width::wrap(&format!("{}{place}", command.help), columns.saturating_sub(KEYS + NAME + 4).max(1));
    let line = |(place, text): (usize, String)| match place {
        0 => Line::from(vec![
            Span::styled(format!("  {keys} "), context.theme.key()),
            Span::styled(format!("{name} "), context.theme.dim()),
            Span::raw(text),
        ]),
        _ => Line::raw(format!("{}{text}", " ".repeat(KEYS + NAME + 4))),
    };
    help.into_iter().enumerate().map(line).collect()
}

/// What the mouse does.
const MOUSE: [&str; 4] = [
    "click: select a row, open a tab or a view, sort by a title, run a key of the footer",
    "double click: open the transaction",
    "wheel: scroll the pane below it",
    "Shift with a drag: select text, as the terminal does",
];

const FILTERS: [&str; 8] = [
    "is:attention is:firing is:acked is:snoozed is:overdue is:active",
    "is:unsettled is:settled is:parked is:untracked   status:ongoing,not_found",
    "is:reverted is:pending is:wrong-chain   as the source chain itself says",
    "chain:base from:42161 to:8453   ticket:SUP-4412 label:batch-17",
    "age>30m due<5m checked>2m   profile:prod   by:Ana mine",
    "is:firing or (is:overdue -label:test)   ARB>BASE",
    "\"exact text\"  /regex/",
    "sort:sev,due   or age,status,checked,changed,route,ticket,hash; - reverses",
];

/// Returns the meaning of symbols and columns.
fn legend(context: &DrawContext<'_>, columns: usize) -> Vec<Line<'static>> {
    let glyphs = context.theme.glyphs();
    let all = RouterStatus::DOCUMENTED.iter().map(Some).chain([None]);
    let statuses: Vec<_> = all.map(|status| row_text::status(status, glyphs)).collect();
    let facts = [
        ("Status", {
            let unknown = glyphs.status(Some(&RouterStatus::Unknown(String::new())));
            format!("{}, {}, {unknown} not documented", statuses.join(", "), row_text::refused(glyphs))
        }),
        ("Severity", "!! act now, ! check, i information; a!! acknowledged, z!! snoozed".to_owned()),
        (
            "Row",
            format!(
                "{}x marked, X marked and selected; commands apply to marked rows, if any",
                glyphs.choose("▌ an alert fires, ", "> selected, ")
            ),
        ),
        (
            "PROGRESS",
            format!(
                "time since submission; {} median, {} 9 in 10; the dots end at the limit, and red is the time after it; 5m+ at least 5m",
                glyphs.choose("│", "|"),
                glyphs.choose("┊", ":")
            ),
        ),
        ("DUE", "time until support may be contacted; with a minus: time since then".to_owned()),
        ("AGE", "time since submission; for a settled transaction, how long it took".to_owned()),
    ];
    facts
        .into_iter()
        .flat_map(|(label, text)| {
            let wrapped = width::wrap(&text, columns.saturating_sub(9).max(1));
            let line = move |(place, text): (usize, String)| {
                let label = if place == 0 { label } else { "" };
                Line::from(vec![Span::styled(format!("{label:<9}"), context.theme.label()), Span::raw(text)])
            };
            wrapped.into_iter().enumerate().map(line)
        })
        .collect()
}

fn paragraph(text: &str, columns: usize) -> Vec<Line<'static>> {
    width::wrap(text, columns.saturating_sub(2)).into_iter().map(|line| Line::raw(format!("  {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::FILTERS;
    use crate::presentation::filter_completion::complete;

    #[test]
    fn every_term_of_the_filter_is_in_the_help() {
        let states = complete("is:", None).words.into_iter().map(|state| format!("is:{state}"));
        for term in complete("", None).words.into_iter().chain(states) {
            assert!(FILTERS.iter().any(|line| line.contains(&term)), "{term}");
        }
    }
}
