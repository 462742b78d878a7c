//! Writes transactions to a sheet.
//!
//! The module must never know the file or stream behind the sheet.

use std::io::{self, Write};

use color_eyre::eyre::{Result, eyre};

use super::{
    columns,
    format::{ExportFormat, ExportOptions},
    report::ReportTotals,
    sheet::ExportWriter,
};
use crate::{
    domain::ids::RowId,
    store::{ListRow, Reader},
};

/// Writes transactions and returns their number. A page reads the transactions twice, in one snapshot of the store.
pub(super) fn write_rows(
    reader: &Reader,
    rows: &[RowId],
    form: ExportOptions<'_>,
    out: &mut dyn Write,
    check_interruption: &dyn Fn() -> Result<()>,
) -> Result<usize> {
    if form.format != ExportFormat::Html {
        return write_each(reader, rows, form, ReportTotals::default(), out, check_interruption);
    }
    let mut written = Ok(0);
    reader.snapshot(|| {
        written = count(reader, rows, check_interruption)
            .and_then(|tally| write_each(reader, rows, form, tally, out, check_interruption));
        Ok(())
    })?;
    written
}

/// Counts the transactions for the totals of a page. Leaves their records packed: unpacking costs more than the rest.
fn count(reader: &Reader, rows: &[RowId], check_interruption: &dyn Fn() -> Result<()>) -> Result<ReportTotals> {
    let mut tally = ReportTotals::default();
    for row in rows {
        check_interruption()?;
        if let Some(ListRow { transaction: tx, alerts }) = reader.list_row_header(*row)? {
            tally.count(&tx, !alerts.is_empty(), reader.deadline_result(&tx)?);
        }
    }
    Ok(tally)
}

/// Writes transactions and returns their number. Calls `check_interruption` before each transaction and at the end, and
/// ends with its error.
fn write_each(
    reader: &Reader,
    rows: &[RowId],
    form: ExportOptions<'_>,
    tally: ReportTotals,
    out: &mut dyn Write,
    check_interruption: &dyn Fn() -> Result<()>,
) -> Result<usize> {
    let ExportOptions { now, zone, .. } = form;
    let mut sheet = ExportWriter::begin(form, tally, Box::new(out))?;
    let mut count = 0;
    reader.for_each_row(rows, |tx, alerts| {
        check_interruption()?;
        count += 1;
        Ok::<_, color_eyre::Report>(sheet.write(&columns::RowData { tx, alerts, now, zone })?)
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
