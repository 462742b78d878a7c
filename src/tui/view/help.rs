//! The help: every key of the command table, what the symbols mean, how to filter.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
    widgets::{Block, Paragraph},
};

use super::Look;
use crate::{
    domain::{glance, status::RouterStatus, width},
    tui::command::Group,
};

pub(super) fn draw(look: &Look<'_>, scroll: usize, pane: Rect, frame: &mut Frame<'_>) {
    let block = Block::bordered()
        .border_set(look.theme.border)
        .title(Span::styled(" Help ", look.theme.label()))
        .title_bottom(Span::styled(" Esc closes   j k scroll ", look.theme.dim()));
    let inner = block.inner(pane);
    frame.render_widget(block, pane);
    let scroll = scroll.min(scroll_end(look, pane));
    let lines: Vec<_> = lines(look, usize::from(inner.width)).into_iter().skip(scroll).collect();
    frame.render_widget(Paragraph::new(lines), inner);
}

pub(super) fn scroll_end(look: &Look<'_>, pane: Rect) -> usize {
    let columns = usize::from(pane.width.saturating_sub(2));
    lines(look, columns).len().saturating_sub(usize::from(pane.height.saturating_sub(2)))
}

fn lines(look: &Look<'_>, columns: usize) -> Vec<Line<'static>> {
    let title = |title: &'static str| Line::styled(title, look.theme.label());
    let statuses: Vec<_> = RouterStatus::DOCUMENTED.iter().map(Some).chain([None]).map(glance::status).collect();
    let mut lines = vec![title("SYMBOLS")];
    lines.extend(paragraph(&format!("{}, # not documented", statuses.join(", ")), columns));
    lines.extend(paragraph(
        "!! act now, ! look, i for information, a acknowledged, z snoozed; DUE: until support may be contacted",
        columns,
    ));
    lines.extend(paragraph(
        "first column: > selected, x marked, X both; ACT works on the marked ones, else on the selected one",
        columns,
    ));
    for group in Group::ALL {
        lines.extend([Line::default(), title(group.title())]);
        let of_group = look.model.setting.keys.all().filter(|(command, _)| command.group == group);
        lines.extend(of_group.map(|(command, keys)| {
            // What has no key is run by its name.
            let keys = if keys.is_empty() { format!(":{}", command.name) } else { keys.join(" ") };
            let keys = width::fit(&keys, 16, look.theme.ellipsis);
            Line::from(vec![Span::styled(format!("  {keys} "), look.theme.key()), Span::raw(command.help)])
        }));
    }
    lines.extend([Line::default(), title("FILTER")]);
    lines.extend(paragraph(
        "Terms are joined by and; - negates. Bare words match hash, chains, ticket, labels and notes.",
        columns,
    ));
    lines.extend(FILTERS.iter().map(|example| Line::raw(format!("  {example}"))));
    lines
}

const FILTERS: [&str; 6] = [
    "is:attention is:firing is:acked is:snoozed is:overdue is:unsettled",
    "is:settled   status:ongoing,not_found",
    "chain:base from:42161 to:8453   ticket:SUP-4412 label:batch-17",
    "age>30m due<5m checked>2m",
    "\"exact text\"  /regex/",
    "sort:sev,due   or age,status,checked,changed,route,ticket,hash; - reverses",
];

fn paragraph(text: &str, columns: usize) -> Vec<Line<'static>> {
    width::wrap(text, columns.saturating_sub(2)).into_iter().map(|line| Line::raw(format!("  {line}"))).collect()
}
