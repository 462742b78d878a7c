//! Prints a table for people. Each column is as wide as its widest cell, with two blanks between columns.
//!
//! A long table begins before all of its rows are known, so that a pager or `head` shows it at once.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

/// The number of first rows that decide how wide the columns are. A wider cell in a later row widens its column from
/// there on.
const MEASURED_ROWS: usize = 1_000;

/// The title of a column, and whether its cells are right-aligned, as numbers and durations are.
pub(crate) type TableColumn = (&'static str, bool);

/// A table that is being written. Holds at most [`MEASURED_ROWS`] rows.
pub(crate) struct TableWriter<'a, const N: usize> {
    columns: [TableColumn; N],
    widths: [usize; N],
    /// The titles and the first rows, until the first line is written.
    unwritten: Vec<[String; N]>,
    is_begun: bool,
    out: &'a mut dyn Write,
}

impl<'a, const N: usize> TableWriter<'a, N> {
    /// Returns a table with these columns; nothing is written yet.
    pub(crate) fn new(columns: [TableColumn; N], out: &'a mut dyn Write) -> Self {
        let titles = columns.map(|(name, _)| name.to_owned());
        Self {
            columns,
            widths: titles.each_ref().map(|title| title.width()),
            unwritten: vec![titles],
            is_begun: false,
            out,
        }
    }

    /// Adds a row. Writes it, unless it is one of the first rows, which decide how wide the columns are.
    pub(crate) fn push(&mut self, row: [String; N]) -> io::Result<()> {
        for (width, cell) in self.widths.iter_mut().zip(&row) {
            *width = cell.width().max(*width);
        }
        self.unwritten.push(row);
        if self.is_begun || self.unwritten.len() > MEASURED_ROWS { self.write_rows() } else { Ok(()) }
    }

    /// Writes the rest. A table without rows has no titles either.
    pub(crate) fn end(mut self) -> io::Result<()> {
        if self.is_begun || self.unwritten.len() > 1 { self.write_rows() } else { Ok(()) }
    }

    fn write_rows(&mut self) -> io::Result<()> {
        self.is_begun = true;
        for row in self.unwritten.drain(..) {
            let mut line = String::new();
            for ((cell, width), (_, is_right_aligned)) in row.iter().zip(self.widths).zip(self.columns) {
                let blanks = " ".repeat(width.saturating_sub(cell.width()));
                let (left, right): (&str, &str) = if is_right_aligned { (&blanks, cell) } else { (cell, &blanks) };
                line.extend([left, right, "  "]);
            }
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Writes the titles and the rows. Writes nothing if there are no rows.
pub(crate) fn write<const N: usize>(
    columns: [TableColumn; N],
    rows: impl IntoIterator<Item = [String; N]>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = TableWriter::new(columns, out);
    rows.into_iter().try_for_each(|row| table.push(row))?;
    table.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(rows: impl IntoIterator<Item = [String; 2]>) -> String {
        let mut out = Vec::new();
        write([("NAME", false), ("N", true)], rows, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["重要".into(), "7".into()], ["a".into(), "1000".into()]];
        assert_eq!(written(rows), "NAME     N\n重要     7\na     1000\n");
        assert_eq!(written([]), "");
    }

    #[test]
    fn a_long_table_begins_before_its_last_row_and_widens_for_later_cells() {
        let mut out = Vec::new();
        let mut table = TableWriter::new([("NAME", false), ("N", true)], &mut out);
        for number in 0..MEASURED_ROWS {
            table.push([number.to_string(), "1".into()]).unwrap();
        }
        assert!(table.unwritten.is_empty());
        table.push(["a wide name".into(), "1".into()]).unwrap();
        table.push(["b".into(), "1".into()]).unwrap();
        table.end().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("NAME  N\n0     1\n"), "{text}");
        assert!(text.ends_with("999   1\na wide name  1\nb            1\n"), "{text}");
    }
}
