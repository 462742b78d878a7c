//! Writes transactions to a sheet.
//!
//! The module must never know the file or stream behind the sheet.

use std::io::Write;

use color_eyre::eyre::Result;

use super::{
    columns,
    format::{ExportFormat, ExportOptions},
    sheet::ExportWriter,
};
use crate::{domain::ids::RowId, store::Reader};

/// Writes transactions and returns their number. Calls `check_interruption` before each transaction and at the end, and
/// ends with its error.
pub(super) fn write_rows(
    reader: &Reader,
    rows: &[RowId],
    options: ExportOptions<'_>,
    out: &mut dyn Write,
    check_interruption: &dyn Fn() -> Result<()>,
) -> Result<usize> {
    let ExportOptions { now, zone, .. } = options;
    let mut sheet = ExportWriter::begin(options, Box::new(out))?;
    let mut count = 0;
    reader.for_each_row(rows, |tx, alerts| {
        check_interruption()?;
        count += 1;
        // Only the totals of a page need it.
        let deadline = if options.format == ExportFormat::Html { reader.deadline_result(tx)? } else { None };
        Ok::<_, color_eyre::Report>(sheet.write(&columns::RowData { tx, alerts, deadline, now, zone })?)
    })?;
    sheet.end()?;
    check_interruption().map(|()| count)
}
