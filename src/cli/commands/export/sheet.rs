//! Writes an export in its format: CSV, a JSON array, JSON lines, a Markdown table or an HTML page.
//!
//! The text of a cell must never leave its cell, nor be executed by a spreadsheet, a ticket system or a terminal.

use std::io::{self, Write};

use super::{
    columns::{CSV, MARKDOWN, RowData},
    format::{ExportFormat, ExportOptions},
    report::ReportPage,
};
use crate::{
    cli::output::json::{self, TransactionView},
    intake,
};

/// An export that is being written.
pub(super) enum ExportWriter<'a> {
    Csv(Box<csv::Writer<Box<dyn Write + 'a>>>),
    Json { out: Box<dyn Write + 'a>, separator: &'static str },
    Ndjson(Box<dyn Write + 'a>),
    Markdown(Box<dyn Write + 'a>),
    Html(Box<ReportPage<'a>>),
}

impl<'a> ExportWriter<'a> {
    /// Writes the part before the first transaction.
    pub(super) fn begin(options: ExportOptions<'a>, mut out: Box<dyn Write + 'a>) -> io::Result<Self> {
        match options.format {
            ExportFormat::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                writer.write_record(CSV.iter().map(|(name, _)| name)).map_err(into_io_error)?;
                Ok(Self::Csv(Box::new(writer)))
            }
            ExportFormat::Json => Ok(Self::Json { out, separator: "[\n" }),
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

    pub(super) fn write(&mut self, row: &RowData) -> io::Result<()> {
        match self {
            Self::Csv(writer) => {
                for (_, cell) in CSV {
                    writer.write_field(intake::escape_formula(&cell(row)).as_bytes()).map_err(into_io_error)?;
                }
                writer.write_record(None::<&[u8]>).map_err(into_io_error)
            }
            Self::Json { out, separator } => {
                write!(out, "{separator}{}", json_object(row)?)?;
                *separator = ",\n";
                Ok(())
            }
            Self::Ndjson(out) => writeln!(out, "{}", json_object(row)?),
            Self::Markdown(out) => {
                let cells: Vec<_> = MARKDOWN.iter().map(|(_, cell)| cell(row)).collect();
                writeln!(out, "| {} |", cells.join(" | "))
            }
            Self::Html(page) => page.write(row),
        }
    }

    /// Writes the part after the last transaction.
    pub(super) fn end(self) -> io::Result<()> {
        match self {
            Self::Csv(mut writer) => writer.flush(),
            Self::Json { mut out, separator: "[\n" } => writeln!(out, "[]"),
            Self::Json { mut out, .. } => writeln!(out, "\n]"),
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
