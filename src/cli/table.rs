//! A table for people: columns as wide as their widest cell, two blanks between.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

/// What stands over a column, and whether its cells stand to the right: spans and numbers are read by their last digit.
pub type Column = (&'static str, bool);

/// Writes the columns' names and the rows; nothing if there are none.
pub fn write<const N: usize>(columns: [Column; N], rows: &[[String; N]], out: &mut dyn Write) -> io::Result<()> {
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
        for ((cell, width), (_, to_the_right)) in row.iter().zip(widths).zip(columns) {
            let blanks = " ".repeat(width.saturating_sub(cell.width()));
            let (left, right): (&str, &str) = if to_the_right { (&blanks, cell) } else { (cell, &blanks) };
            line.extend([left, right, "  "]);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
