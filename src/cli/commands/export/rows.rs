//! Writes transactions to a sheet.
//!
//! The module must never know the file or stream behind the sheet.

use std::io::{self, Write};

use color_eyre::eyre::{Result, eyre};

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

/// Returns the reason why a file can't be created, and the way out.
pub(super) fn error_reason(error: &io::Error) -> color_eyre::Report {
    match error.kind() {
        io::ErrorKind::NotFound => eyre!("there is no such folder; create it or choose another name"),
        io::ErrorKind::PermissionDenied => eyre!("permission to write to its folder is denied; choose another name"),
        _ => eyre!("{error}"),
    }
}
