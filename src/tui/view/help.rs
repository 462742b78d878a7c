//! The help: every key of the command table, or those that are looked for; what the symbols mean, how to filter.
//!
//! ```text
//! Search        what is typed
//! rows          keys and what they do, scrolled
//! legend        symbols and severities, as long as there is room for them beside the rows
//! ```

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::Block,
};

use super::{DrawContext, put_lines};
use crate::{
    domain::{row_text, status::RouterStatus, width},
    tui::{
        command::{Command, Context, Group},
        model::help::HelpPage,
    },
};

/// What stands before what is typed.
const PROMPT: &str = "Search: ";
/// Columns of the keys, and of the name that the config file and the command line have.
const KEYS: usize = 13;
const NAME: usize = 13;
/// With fewer rows than these for the keys the legend stands below them, and is scrolled to.
const AMPLE: u16 = 8;

/// The parts of the pane.
struct Parts {
    search: Rect,
    rows: Rect,
    legend: Rect,
    /// What stands in the legend's place.
    lines: Vec<Line<'static>>,
}

impl Parts {
    fn new(context: &DrawContext<'_>, pane: Rect) -> Self {
        let inner = Block::bordered().inner(pane);
        let lines = legend(context, usize::from(inner.width));
        let height = u16::try_from(lines.len() + 1).unwrap_or(u16::MAX);
        let height = if inner.height.saturating_sub(height) > AMPLE { height } else { 0 };
        let [search, rows, legend] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(height)]).areas(inner);
        Self { search, rows, legend, lines }
    }

    /// What is scrolled.
    fn scrolled(&self, context: &DrawContext<'_>, page: &HelpPage) -> Vec<Line<'static>> {
        let columns = usize::from(self.rows.width);
        let mut lines = match &page.found {
            None => everything(context, columns),
            Some(_) => found(context, page, columns),
        };
        if self.legend.height == 0 {
            lines.push(Line::default());
            lines.extend(self.lines.iter().cloned());
        }
        lines
    }
}

pub(super) fn draw(context: &DrawContext<'_>, page: &HelpPage, pane: Rect, frame: &mut Frame<'_>) {
    let block = Block::bordered()
        .border_set(context.theme.border)
        .title(Span::styled(" Help ", context.theme.label()))
        .title(Span::styled(" type to search keys and commands ", context.theme.dim()))
        .title_bottom(Span::styled(" Esc closes   keys of your own: [keys] in the config file ", context.theme.dim()));
    frame.render_widget(block, pane);
    let parts = Parts::new(context, pane);
    let typed: String = page.input.value().chars().filter(|letter| !letter.is_control()).collect();
    let search = Line::from(vec![Span::styled(PROMPT, context.theme.key()), Span::raw(typed)]);
    frame.render_widget(search, parts.search);
    let lines = parts.scrolled(context, page);
    let scroll = page.scroll.min(lines.len().saturating_sub(usize::from(parts.rows.height)));
    put_lines(lines.into_iter().skip(scroll), parts.rows, frame);
    let under_a_line = Rect { y: parts.legend.y.saturating_add(1), ..parts.legend }.intersection(parts.legend);
    put_lines(parts.lines, under_a_line, frame);
    place_cursor(page, parts.search, frame);
}

fn place_cursor(page: &HelpPage, search: Rect, frame: &mut Frame<'_>) {
    let column = width::of(PROMPT) + page.input.visual_cursor();
    let column = u16::try_from(column).unwrap_or(u16::MAX).min(search.width.saturating_sub(1));
    if search.area() > 0 {
        frame.set_cursor_position((search.x + column, search.y));
    }
}

/// Rows that scroll.
pub(super) fn rows(context: &DrawContext<'_>, pane: Rect) -> usize {
    usize::from(Parts::new(context, pane).rows.height)
}

pub(super) fn scroll_end(context: &DrawContext<'_>, page: &HelpPage, pane: Rect) -> usize {
    let parts = Parts::new(context, pane);
    parts.scrolled(context, page).len().saturating_sub(usize::from(parts.rows.height))
}

fn everything(context: &DrawContext<'_>, columns: usize) -> Vec<Line<'static>> {
    let title = |title: &'static str| Line::styled(title, context.theme.label());
    let mut lines = Vec::new();
    for group in Group::ALL {
        lines.push(title(group.title()));
        let of_group = context.model.setting.keys.all().filter(|(command, _)| command.group == group);
        lines.extend(of_group.flat_map(|(command, keys)| row(context, command, keys, columns)));
        lines.push(Line::default());
    }
    lines.push(title("FILTER"));
    lines.extend(paragraph(
        "Terms are joined by and; - negates. Bare words match hash, chains, ticket, labels and notes.",
        columns,
    ));
    lines.extend(FILTERS.iter().map(|example| Line::raw(format!("  {example}"))));
    lines
}

/// What is looked for, the likeliest first; terms of the filter too.
fn found(context: &DrawContext<'_>, page: &HelpPage, columns: usize) -> Vec<Line<'static>> {
    let ids = page.found.iter().flatten();
    let commands = ids.filter_map(|id| context.model.setting.keys.all().find(|(command, _)| command.id == *id));
    let mut lines: Vec<_> = commands.flat_map(|(command, keys)| row(context, command, keys, columns)).collect();
    let wanted = page.wanted().to_lowercase();
    let filters: Vec<_> = FILTERS.iter().filter(|example| wanted.len() > 1 && example.contains(&wanted)).collect();
    if !filters.is_empty() {
        lines.extend([Line::default(), Line::styled("FILTER", context.theme.label())]);
        lines.extend(filters.into_iter().map(|example| Line::raw(format!("  {example}"))));
    }
    if lines.is_empty() {
        lines.push(Line::styled("  No key, command or filter is called so.", context.theme.warning()));
    }
    lines
}

/// Keys, name, and what it does. What has no key is run by its name.
fn row(context: &DrawContext<'_>, command: &Command, keys: &[String], columns: usize) -> Vec<Line<'static>> {
    let keys = if keys.is_empty() { ":".to_owned() } else { keys.join(" ") };
    let [keys, name] = [(keys.as_str(), KEYS), (command.name, NAME)]
        .map(|(text, columns)| width::fit(text, columns, context.theme.ellipsis));
    // Whose keys hold in one place alone says which, since others have the same keys.
    let place = match command.contexts {
        [Context::List] | [_, _, ..] | [] => String::new(),
        [place] => {
            let place = place.place();
            let is_said = place.rsplit(' ').next().is_some_and(|word| command.help.contains(word));
            if is_said { String::new() } else { format!(" ({place})") }
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

const FILTERS: [&str; 6] = [
    "is:attention is:firing is:acked is:snoozed is:overdue is:active",
    "is:unsettled is:settled is:parked is:untracked   status:ongoing,not_found",
    "chain:base from:42161 to:8453   ticket:SUP-4412 label:batch-17",
    "age>30m due<5m checked>2m   profile:prod",
    "\"exact text\"  /regex/",
    "sort:sev,due   or age,status,checked,changed,route,ticket,hash; - reverses",
];

/// What the symbols mean.
fn legend(context: &DrawContext<'_>, columns: usize) -> Vec<Line<'static>> {
    let statuses: Vec<_> = RouterStatus::DOCUMENTED.iter().map(Some).chain([None]).map(row_text::status).collect();
    let facts = [
        ("Status", format!("{}, {}, # not documented", statuses.join(", "), row_text::REFUSED)),
        ("Severity", "!! act now, ! look, i for information; a!! acknowledged, z!! snoozed".to_owned()),
        ("Row", "> selected, x marked, X both; changes go to the marked ones, if any".to_owned()),
        ("DUE", "until support may be contacted; with a minus: since".to_owned()),
        ("AGE", "since it was submitted; of what has settled, how long it took".to_owned()),
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
    use crate::domain::filter::complete;

    #[test]
    fn every_term_of_the_filter_is_in_the_help() {
        let states = complete("is:", None).words.into_iter().map(|state| format!("is:{state}"));
        for term in complete("", None).words.into_iter().chain(states) {
            assert!(FILTERS.iter().any(|line| line.contains(&term)), "{term}");
        }
    }
}
