//! The view of the help: all commands or the ones found, the filter's terms, and the meaning of the symbols.
//!
//! ```text
//! Search        the typed text
//! rows          keys and help texts in columns, scrolled together; no group is torn apart
//! legend        symbols and severities; on a low screen the last group of the columns
//! bottom        which rows are shown, if there are more
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
        draw::{DrawContext, labelled_at, put_dialog, put_lines, shown_lines},
        widgets::field,
    },
};

const PROMPT: &str = "Search: ";
/// The widths of the keys and of the command names, in columns.
const KEYS: usize = 14;
const NAME: usize = 13;
/// The least width of a column of commands, and the least width at which it has the names of the commands.
const COLUMN: usize = 56;
const COLUMN_WITH_NAMES: usize = 78;
/// The blanks between two columns.
const GAP: usize = 2;
/// With this many rows or fewer, the legend is scrolled together with the commands.
const LOW_HEIGHT: u16 = 26;

/// The parts of the pane.
struct HelpLayout {
    search: Rect,
    rows: Rect,
    legend: Rect,
    /// The lines of the legend.
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
        match &page.found {
            None => all_commands(context, columns, self.legend.height == 0),
            Some(_) => {
                let mut lines = found(context, page, columns);
                if self.legend.height == 0 {
                    lines.push(Line::default());
                    lines.extend(self.lines.iter().cloned());
                }
                lines
            }
        }
    }
}

pub(crate) fn draw(context: &DrawContext<'_>, page: &HelpPage, pane: Rect, frame: &mut Frame<'_>) {
    let parts = HelpLayout::new(context, pane);
    let lines = parts.scrolled_lines(context, page);
    let rows = usize::from(parts.rows.height);
    let scroll = page.scroll.min(lines.len().saturating_sub(rows));
    let keys = match pane.width {
        _ if !page.input.value().is_empty() => " Esc clears the search ",
        74.. => " Esc closes   change keys under [keys] in the config file ",
        _ => " Esc closes ",
    };
    let block = context
        .titled_block(" Help ")
        .title(Span::styled(" type to search keys and commands ", context.theme.dim()))
        .title_bottom(Span::styled(keys, context.theme.dim()))
        .title_bottom(shown_lines(context.theme, scroll, rows, lines.len()));
    put_dialog(block, pane, frame);
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
fn all_commands(context: &DrawContext<'_>, columns: usize, has_legend: bool) -> Vec<Line<'static>> {
    let count = (columns / COLUMN).clamp(1, 3);
    // One column is blank before the frame.
    let width = ((columns + GAP).saturating_sub(1) / count).saturating_sub(GAP);
    // The next group goes into the shortest column, so that the columns begin with the groups that people need most.
    let mut columns = vec![Vec::new(); count];
    for block in blocks(context, width, has_legend) {
        if let Some(column) = columns.iter_mut().min_by_key(|column| column.len()) {
            column.extend(block);
        }
    }
    let mut joined = vec![Line::default(); columns.iter().map(Vec::len).max().unwrap_or_default()];
    for (index, column) in columns.into_iter().enumerate() {
        for (row, line) in joined.iter_mut().zip(column) {
            row.push_span(Span::raw(" ".repeat((index * (width + GAP)).saturating_sub(row.width()))));
            row.extend(line.spans.into_iter().map(|span| Span::styled(span.content, line.style.patch(span.style))));
        }
    }
    // The last group of each column ends with an empty row.
    joined.truncate(joined.len().saturating_sub(1));
    joined
}

/// Returns the groups of commands, the mouse, the filter and possibly the legend, the most needed first. Each ends with
/// an empty row.
fn blocks(context: &DrawContext<'_>, columns: usize, has_legend: bool) -> Vec<Vec<Line<'static>>> {
    let keys = &context.model.setting.keys;
    let commands = |section: HelpSection| {
        let of_section = keys.all().filter(|(command, _)| command.section == section);
        let rows = of_section.flat_map(|(command, keys)| row(context, command, keys, columns));
        (section.title(), rows.collect::<Vec<_>>())
    };
    let mut blocks = Vec::from(HelpSection::ALL.map(commands));
    blocks.push(("MOUSE", MOUSE.iter().flat_map(|text| paragraph(text, columns)).collect()));
    let terms = "Terms side by side must all match, or joins alternatives, ( ) groups, - negates. Bare words match hash, \
                 chains, ticket, labels and notes.";
    let texts = [terms].into_iter().chain(FILTERS);
    blocks.push(("FILTER", texts.flat_map(|text| paragraph(text, columns)).collect()));
    if has_legend {
        blocks.push(("SYMBOLS AND COLUMNS", legend(context, columns)));
    }
    let with_title = |(title, lines): (&'static str, Vec<Line<'static>>)| {
        let title = Line::styled(title, context.theme.accent());
        [title].into_iter().chain(lines).chain([Line::default()]).collect()
    };
    blocks.into_iter().map(with_title).collect()
}

/// Returns the commands found, best match first, and the matching filter terms.
fn found(context: &DrawContext<'_>, page: &HelpPage, columns: usize) -> Vec<Line<'static>> {
    let ids = page.found.iter().flatten();
    let commands = ids.filter_map(|id| context.model.setting.keys.all().find(|(command, _)| command.id == *id));
    let mut lines: Vec<_> = commands.flat_map(|(command, keys)| row(context, command, keys, columns)).collect();
    let query = page.search_text().to_lowercase();
    let filters: Vec<_> =
        FILTERS.iter().filter(|example| query.len() > 1 && example.to_lowercase().contains(&query)).collect();
    if !filters.is_empty() {
        lines.extend([Line::default(), Line::styled("FILTER", context.theme.label())]);
        lines.extend(filters.into_iter().map(|example| Line::raw(format!("  {example}"))));
    }
    if lines.is_empty() {
        lines.push(Line::styled("  No key, command or filter matches.", context.theme.warning()));
    }
    lines
}

/// Returns the keys, the name and the help of a command. A command without a key shows `:`. In a narrow column only
/// such a command has its name.
fn row(context: &DrawContext<'_>, command: &KeyCommand, keys: &[String], columns: usize) -> Vec<Line<'static>> {
    let has_name = columns >= COLUMN_WITH_NAMES;
    let keys = match (keys, has_name) {
        ([], true) => ":".to_owned(),
        ([], false) => format!(":{}", command.name),
        (keys, _) => keys.join(" "),
    };
    let keys = format!("  {} ", width::fit(&keys, KEYS, context.theme.ellipsis));
    let name = if has_name { format!("{:<NAME$} ", command.name) } else { String::new() };
    let indent = width::display_width(&keys) + name.len();
    // A command of a single context names it, since other commands have the same key in other contexts.
    let suffix = match command.contexts {
        [KeyContext::List] | [_, _, ..] | [] => String::new(),
        [only] => {
            let name = only.description();
            let is_named = name.rsplit(' ').next().is_some_and(|word| command.help.contains(word));
            if is_named { String::new() } else { format!(" ({name})") }
        }
    };
    let help = width::wrap(&format!("{}{suffix}", command.help), columns.saturating_sub(indent).max(1));
    let line = |(index, text): (usize, String)| match index {
        0 => Line::from(vec![
            Span::styled(keys.clone(), context.theme.key()),
            Span::styled(name.clone(), context.theme.dim()),
            Span::raw(text),
        ]),
        _ => Line::raw(format!("{}{text}", " ".repeat(indent))),
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
    let statuses: Vec<_> = all.map(|status| row_text::status_cell(status, glyphs)).collect();
    let selected = glyphs.choose("▌ selected, or an alert fires", "> selected");
    let (median, nine_in_ten) = (glyphs.choose("│", "|"), glyphs.choose("┊", ":"));
    let facts = [
        ("Status", {
            let unknown = glyphs.status(Some(&RouterStatus::Unknown(String::new())));
            format!("{}, {}, {unknown} not documented", statuses.join(", "), row_text::rejected_cell(glyphs))
        }),
        ("Severity", "!! act now, ! check, i information; a!! acknowledged, z!! snoozed".to_owned()),
        ("Row", format!("{selected}, * marked; commands apply to marked rows, if any")),
        (
            "PROGRESS",
            format!(
                "time since submission; {median} median, {nine_in_ten} 9 in 10; the dots end at the limit, and red is the time after it; 5m+ at least 5m"
            ),
        ),
        ("DUE", "time until the transfer is overdue; with a minus: time since then".to_owned()),
        ("AGE", "time since submission; for a settled transaction, how long it took".to_owned()),
    ];
    facts.into_iter().flat_map(|(label, text)| labelled_at(9, label, &text, columns, context.theme.label())).collect()
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
