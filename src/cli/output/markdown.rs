//! Markdown as text for a terminal: headings, wrapped paragraphs, lists, tables and code.
//!
//! Pure. The guides of `hoptop help` are written in Markdown; the module must never print, nor read a file.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::presentation::width;

/// The widest line, so that lines stay readable on a wide terminal.
const MAX_COLUMNS: usize = 100;
/// The most columns of the first cells of a table whose rows stay on one line.
const TERM_COLUMNS: usize = 32;
const BOLD: (&str, &str) = ("\x1b[1m", "\x1b[0m");

/// Returns Markdown as text for a terminal with this number of columns. `links` returns the text that follows a link
/// with this address, if any.
pub(crate) fn render(
    markdown: &str,
    columns: usize,
    is_styled: bool,
    links: &dyn Fn(&str) -> Option<String>,
) -> String {
    let mut renderer = MarkdownRenderer {
        out: String::new(),
        columns: columns.clamp(20, MAX_COLUMNS),
        bold: if is_styled { BOLD } else { ("", "") },
        links,
        text: String::new(),
        addresses: Vec::new(),
        lists: Vec::new(),
        marker: None,
        table: Vec::new(),
        images: 0,
    };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        renderer.take(event);
    }
    renderer.out
}

struct MarkdownRenderer<'a> {
    out: String,
    columns: usize,
    bold: (&'static str, &'static str),
    links: &'a dyn Fn(&str) -> Option<String>,
    /// The text of the current paragraph, heading, item or cell.
    text: String,
    /// The addresses of the open links.
    addresses: Vec<String>,
    /// The next number of each open list; `None` for a list with dots.
    lists: Vec<Option<u64>>,
    /// The marker of an item that has no line yet.
    marker: Option<String>,
    /// The rows of the open table, its header first.
    table: Vec<Vec<String>>,
    /// The number of open images, whose texts are left out.
    images: usize,
}

impl MarkdownRenderer<'_> {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            _ if self.images > 0 => {}
            Event::Text(text) => self.text.push_str(&text),
            Event::Code(text) => self.text.push_str(&format!("`{text}`")),
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            // The guides have none of these; comments are HTML.
            Event::Html(_)
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Image { .. } => self.images += 1,
            Tag::Link { dest_url, .. } => self.addresses.push(dest_url.to_string()),
            Tag::List(first) => {
                self.end_line();
                self.lists.push(first);
            }
            Tag::Item => {
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                self.marker = Some(marker);
            }
            Tag::TableHead | Tag::TableRow => self.table.push(Vec::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                let heading = std::mem::take(&mut self.text);
                self.blank_line();
                let (on, off) = self.bold;
                self.out.push_str(&format!("{on}{heading}{off}\n\n"));
            }
            TagEnd::Paragraph => {
                self.end_line();
                if self.lists.is_empty() {
                    self.blank_line();
                }
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::Image => self.images = self.images.saturating_sub(1),
            TagEnd::Link => {
                let address = self.addresses.pop().unwrap_or_default();
                if let Some(suffix) = (self.links)(&address).filter(|_| self.images == 0) {
                    self.text.push_str(&suffix);
                }
            }
            TagEnd::Item => self.end_line(),
            TagEnd::List(_) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.blank_line();
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                if let Some(row) = self.table.last_mut() {
                    // The first cell of a row stands out by itself.
                    let cell = if row.is_empty() { cell.replace('`', "") } else { cell };
                    row.push(cell);
                }
            }
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    /// Writes the text of a paragraph or item, wrapped and indented by the open lists.
    fn end_line(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() {
            return;
        }
        let outer = " ".repeat(3 * self.lists.len().saturating_sub(1));
        let marker = self.marker.take();
        let hang = if self.lists.is_empty() { 0 } else { marker.as_ref().map_or(3, String::len) };
        let rest = format!("{outer}{}", " ".repeat(hang));
        let first = marker.map_or_else(|| rest.clone(), |marker| format!("{outer}{marker}"));
        self.write_wrapped(&text, &first, &rest);
    }

    fn write_wrapped(&mut self, text: &str, first: &str, rest: &str) {
        let room = self.columns.saturating_sub(width::display_width(rest));
        for (number, line) in width::wrap(text, room).into_iter().enumerate() {
            let indent = if number == 0 { first } else { rest };
            self.out.push_str(&format!("{indent}{line}\n"));
        }
    }

    /// Writes code as it is: a broken line would be another command.
    fn end_code(&mut self) {
        let code = std::mem::take(&mut self.text);
        self.blank_line();
        for line in code.lines() {
            self.out.push_str(format!("    {line}").trim_end());
            self.out.push('\n');
        }
        self.blank_line();
    }

    /// Writes a table. A narrow table of two columns has a row on a line. In other tables the cells of a row stand
    /// below the first one, each with the title of its column.
    fn end_table(&mut self) {
        let table = std::mem::take(&mut self.table);
        let Some((titles, rows)) = table.split_first() else { return };
        let first_cells = table.iter().filter_map(|row| row.first());
        let widest = first_cells.map(|cell| width::display_width(cell)).max().unwrap_or(0);
        let (on, off) = self.bold;
        if titles.len() == 2 && widest <= TERM_COLUMNS {
            let rest = " ".repeat(widest + 4);
            for row in rows {
                let [term, meaning] = row.as_slice() else { continue };
                let term = width::fit(term, widest, "");
                self.write_wrapped(meaning, &format!("  {on}{term}{off}  "), &rest);
            }
        } else {
            for row in rows {
                let Some((term, cells)) = row.split_first() else { continue };
                self.write_wrapped(&format!("{on}{term}{off}"), "  ", "  ");
                for (cell, title) in cells.iter().zip(titles.iter().skip(1)).filter(|(cell, _)| !cell.is_empty()) {
                    let cell = if titles.len() == 2 { cell.clone() } else { format!("{title}: {cell}") };
                    self.write_wrapped(&cell, "      ", "      ");
                }
            }
        }
        self.blank_line();
    }

    /// Ends the text so far with a blank line, if there is any text.
    fn blank_line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(markdown: &str, columns: usize) -> String {
        render(markdown, columns, false, &|address| address.strip_suffix(".md").map(|topic| format!(" (see {topic})")))
    }

    #[test]
    fn headings_paragraphs_and_lists_lose_their_markers() {
        let text = plain(
            "# One\n\nA *b* `c` **d** [e](f.md),\n[g](#h).\n<!-- i -->\n\n1. One two three four\n   - inner\n2. Two\n\n## End\n",
            20,
        );
        assert_eq!(text, "One\n\nA b `c` d e (see f),\ng.\n\n1. One two three\n   four\n   - inner\n2. Two\n\nEnd\n\n");
    }

    #[test]
    fn code_is_never_wrapped_and_pictures_are_left_out() {
        let text =
            plain("Run:\n\n```sh\nhoptop watch --json --until-settled # long\n\n```\n\n![a picture](b.svg)\n", 20);
        assert_eq!(text, "Run:\n\n    hoptop watch --json --until-settled # long\n\n");
    }

    #[test]
    fn narrow_table_has_a_row_on_a_line_and_others_have_their_cells_below() {
        let narrow = plain("| key | does |\n| --- | --- |\n| `a` | one two three four |\n| `bc\\|d` | x |\n", 20);
        assert_eq!(narrow, "  a     one two\n        three four\n  bc|d  x\n\n");
        let wide = plain("| flag | file | default |\n| --- | --- | --- |\n| `--db` | `db` | |\n", 40);
        assert_eq!(wide, "  --db\n      file: `db`\n\n");
        let styled = render("# T\n\n| a | b |\n| --- | --- |\n| c | d |\n", 40, true, &|_| None);
        assert_eq!(styled, "\x1b[1mT\x1b[0m\n\n  \x1b[1mc\x1b[0m  d\n\n");
    }
}
