//! Prints a table for people. Each column is as wide as its widest cell, with two blanks between columns.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

/// The title of a column, and whether its cells are right-aligned, as numbers and durations are.
pub(crate) type TableColumn = (&'static str, bool);

/// Writes the titles and the rows. Writes nothing if there are no rows.
pub(crate) fn write<const N: usize>(
    columns: [TableColumn; N],
    rows: &[[String; N]],
    out: &mut dyn Write,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let header = columns.map(|(name, _)| name.to_owned());
    let mut widths = [0; N];
    for row in rows.iter().chain([&header]) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.width().max(*width);
        }
    }
    for row in [&header].into_iter().chain(rows) {
        let mut line = String::new();
        for ((cell, width), (_, is_right_aligned)) in row.iter().zip(widths).zip(columns) {
            let blanks = " ".repeat(width.saturating_sub(cell.width()));
            let (left, right): (&str, &str) = if is_right_aligned { (&blanks, cell) } else { (cell, &blanks) };
            line.extend([left, right, "  "]);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
