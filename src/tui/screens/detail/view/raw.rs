//! The last response body as a tree, with the changes since the body before it.
//!
//! Only lines on the screen may be read, and of each line no more than fits on the screen.

use ratatui::{
    style::Style,
    text::{Line, Span},
};

use super::lines::{reading, time};
use crate::{
    domain::text,
    presentation::{
        json_tree::{ChangeMark, JsonTree, LineKind, TreeLine},
        width,
    },
    tui::{
        draw::{DrawContext, labelled_at},
        screens::detail::raw::{LoadedBody, RawTabState, ResponseBody},
    },
};

/// The rows above the body's lines.
const HEAD: usize = 1;
/// The columns of cursor, mark and a blank.
const GUTTER: usize = 3;
/// The most bytes of a line that are read: enough for the widest screen.
const CUT: usize = 2_048;
/// The most bytes of a wrapped line that are read.
const WRAPPED: usize = 4_096;

/// Returns the number of rows for the body's lines.
pub(crate) fn rows(rows: usize) -> usize {
    rows.saturating_sub(HEAD)
}

/// Returns the visible lines, and the position of the cursor or of the match in words.
pub(crate) fn shown(context: &DrawContext<'_>, columns: usize, rows_of_pane: usize) -> (Vec<Line<'static>>, String) {
    let raw = &context.model.detail.raw;
    let body = match raw.loaded() {
        LoadedBody::Unread => return (vec![reading(context)], String::new()),
        LoadedBody::Missing => {
            let why = "No body is stored: no answer was received yet, or the bodies were deleted as configured.";
            return (labelled_at(0, "", why, columns, context.theme.dim()), String::new());
        }
        LoadedBody::Body(body) => body,
    };
    let rows = rows(rows_of_pane);
    let draw = BodyView { context, raw, json_tree: &body.json_tree, columns };
    let mut lines = vec![head(context, body, columns)];
    let first = if raw.is_wrapped { draw.first_wrapped(rows) } else { raw.top() };
    lines.extend(raw.shown(first, rows).flat_map(|(line, is_here)| draw.lines(line, is_here)));
    lines.truncate(rows_of_pane);
    (lines, position_text(raw))
}

/// Returns the heading: `14:26:07  HTTP 200, 3.1 kB   4 changes since 14:18:09: +new ~changed -removed`
fn head(context: &DrawContext<'_>, body: &ResponseBody, columns: usize) -> Line<'static> {
    let status = body.http_status.map_or_else(String::new, |status| format!("HTTP {status}, "));
    let head = format!("{}  {status}{}", time(context, body.at), size(body.bytes));
    let changes = match (body.before, body.json_tree.changes()) {
        (_, _) if !body.json_tree.is_json() => "   not JSON: shown line by line".to_owned(),
        (None, _) => "   no earlier body to compare with".to_owned(),
        (Some(before), 0) => format!("   nothing changed since {}", time(context, before)),
        (Some(before), count) => {
            let changes = text::counted(count, "change");
            format!("   {changes} since {}: +new ~changed -removed", time(context, before))
        }
    };
    let changes = width::cut(&changes, columns.saturating_sub(width::display_width(&head)), context.theme.ellipsis);
    Line::from(vec![
        Span::raw(width::cut(&head, columns, context.theme.ellipsis)),
        Span::styled(changes, context.theme.dim()),
    ])
}

fn size(bytes: usize) -> String {
    if bytes < 1_000 { format!("{bytes} B") } else { format!("{:.1} kB", bytes as f64 / 1_000.0) }
}

/// Returns the line number of the cursor; during a search, the number of the match.
fn position_text(raw: &RawTabState) -> String {
    let line = format!("line {} of {}", raw.cursor() + 1, raw.count());
    if raw.search_text().is_empty() {
        return line;
    }
    let wanted = width::cut(raw.search_text(), 12, "..");
    match raw.match_position() {
        (_, 0) => format!("/{wanted}  not found"),
        (None, count) => format!("/{wanted}  {count} found"),
        (Some(index), count) => format!("/{wanted}  {index} of {count}"),
    }
}

/// The body and the values to draw it with.
struct BodyView<'a> {
    context: &'a DrawContext<'a>,
    raw: &'a RawTabState,
    json_tree: &'a JsonTree,
    columns: usize,
}

impl BodyView<'_> {
    /// Returns the first line from which on the cursor's line is on the screen, if lines are wrapped.
    fn first_wrapped(&self, rows: usize) -> usize {
        let (cursor, mut taken) = (self.raw.cursor(), 0);
        let above = cursor.saturating_sub(self.raw.top()) + 1;
        let mut first = cursor;
        let candidates = self.raw.shown(self.raw.top(), above).rev().enumerate();
        for (back, (line, _)) in candidates {
            taken += self.lines(line, false).len();
            if taken > rows && back > 0 {
                break;
            }
            first = cursor - back;
        }
        first
    }

    fn lines(&self, line: &TreeLine, is_here: bool) -> Vec<Line<'static>> {
        let theme = self.context.theme;
        let style = match line.mark {
            ChangeMark::Same => Style::new(),
            ChangeMark::Added => theme.good(),
            ChangeMark::Changed => theme.warning(),
            ChangeMark::Removed => theme.dim(),
        };
        // The indent is limited, so that a very deep line still shows its beginning.
        let indent = (2 * line.depth).min(self.columns / 2);
        let room = self.columns.saturating_sub(GUTTER + indent);
        let text = self.text(line);
        let texts = match self.raw.is_wrapped {
            true => width::wrap(&text, room),
            false => vec![width::cut(&text, room, theme.ellipsis)],
        };
        let cursor = if is_here { ">" } else { " " };
        let mut gutter = format!("{cursor}{} {}", line.mark.symbol(), " ".repeat(indent));
        let wanted = self.raw.search_text().to_ascii_lowercase();
        let mut drawn = Vec::new();
        for text in texts {
            let is_match = !wanted.is_empty() && text.to_ascii_lowercase().contains(&wanted);
            let text_style = if is_match { style.patch(theme.key()) } else { style };
            let text = Line::from(vec![Span::styled(gutter, style), Span::styled(text, text_style)]);
            drawn.push(if is_here { text.style(theme.selected()) } else { text });
            gutter = " ".repeat(GUTTER + indent);
        }
        drawn
    }

    fn text(&self, line: &TreeLine) -> String {
        let most = if self.raw.is_wrapped { WRAPPED } else { CUT };
        let mut text = self.json_tree.excerpt(line, most);
        if self.json_tree.raw(line).len() > most {
            text.push_str(self.context.theme.ellipsis);
        }
        match line.kind {
            LineKind::Open { entries, .. } if self.raw.is_folded(line) => {
                let (noun, end) = if text.ends_with('[') { ("item", ']') } else { ("key", '}') };
                format!("{text} {} {end}", text::counted(entries, noun))
            }
            _ => match self.json_tree.excerpt_before(line, CUT) {
                Some(before) => format!("{text}   was {before}"),
                None => text,
            },
        }
    }
}
