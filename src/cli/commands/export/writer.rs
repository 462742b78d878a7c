//! Writes an export in its format: CSV, a JSON array, JSON lines, a Markdown table or an HTML page.
//!
//! The text of a cell must never leave its cell, nor be executed by a spreadsheet, a ticket system or a terminal.

use std::io::{self, Write};

use color_eyre::eyre::Result;

use super::{
    columns::{CSV, MARKDOWN, RowData},
    format::{ExportFormat, ExportOptions},
    report::ReportPage,
};
use crate::{
    cli::output::json::{self, JsonList, TransactionView},
    domain::ids::RowId,
    intake,
    store::Reader,
};

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
    let mut writer = ExportWriter::begin(options, out)?;
    let mut count = 0;
    reader.for_each_row(rows, |tx, alerts| {
        check_interruption()?;
        count += 1;
        // Only the totals of an HTML page need this.
        let deadline = if options.format == ExportFormat::Html { reader.deadline_result(tx)? } else { None };
        Ok::<_, color_eyre::Report>(writer.write(&RowData { tx, alerts, deadline, now, zone })?)
    })?;
    writer.end()?;
    check_interruption().map(|()| count)
}

/// An export that is being written.
enum ExportWriter<'a> {
    Csv(Box<csv::Writer<&'a mut dyn Write>>),
    Json(JsonList<'a>),
    Ndjson(&'a mut dyn Write),
    Markdown(&'a mut dyn Write),
    Html(Box<ReportPage<'a>>),
}

impl<'a> ExportWriter<'a> {
    /// Writes the part before the first transaction.
    fn begin(options: ExportOptions<'a>, out: &'a mut dyn Write) -> io::Result<Self> {
        match options.format {
            ExportFormat::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                writer.write_record(CSV.iter().map(|(name, _)| name)).map_err(into_io_error)?;
                Ok(Self::Csv(Box::new(writer)))
            }
            ExportFormat::Json => Ok(Self::Json(JsonList::begin(out))),
            ExportFormat::Ndjson => Ok(Self::Ndjson(out)),
            ExportFormat::Markdown => {
                let names: Vec<_> = MARKDOWN.iter().map(|(name, _)| *name).collect();
                writeln!(out, "| {} |", names.join(" | "))?;
                writeln!(out, "|{}", " --- |".repeat(names.len()))?;
                Ok(Self::Markdown(out))
            }
            ExportFormat::Html => Ok(Self::Html(Box::new(ReportPage::new(options, out)))),
        }
    }

    /// Writes one transaction.
    fn write(&mut self, row: &RowData) -> io::Result<()> {
        match self {
            Self::Csv(writer) => {
                for (_, cell) in CSV {
                    writer.write_field(intake::escape_formula(&cell(row)).as_bytes()).map_err(into_io_error)?;
                }
                writer.write_record(None::<&[u8]>).map_err(into_io_error)
            }
            Self::Json(list) => list.push_json(&json_object(row)?),
            Self::Ndjson(out) => writeln!(out, "{}", json_object(row)?),
            Self::Markdown(out) => {
                let cells: Vec<_> = MARKDOWN.iter().map(|(_, cell)| cell(row)).collect();
                writeln!(out, "| {} |", cells.join(" | "))
            }
            Self::Html(page) => page.write(row),
        }
    }

    /// Writes the part after the last transaction.
    fn end(self) -> io::Result<()> {
        match self {
            Self::Csv(mut writer) => writer.flush(),
            Self::Json(list) => list.end(),
            Self::Ndjson(_) | Self::Markdown(_) => Ok(()),
            Self::Html(page) => page.end(),
        }
    }
}

/// Returns the error of the output with its kind, so that a closed pipe is recognized.
fn into_io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Returns the JSON of a transaction in ASCII.
fn json_object(row: &RowData) -> io::Result<String> {
    Ok(json::ascii(&serde_json::to_string(&TransactionView::new(row.tx, row.alerts, row.now))?))
}
