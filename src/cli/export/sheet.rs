//! The shapes of an export: CSV, a JSON array, JSON lines, a Markdown table, a page.
//!
//! Whatever a cell holds, it must stay in its cell, and act neither in a spreadsheet, nor in a ticket, nor on a terminal.

use std::io::{self, Write};

use super::{
    super::json::{self, TransactionView},
    ExportFormat, Form,
    columns::{CSV, Facts, MARKDOWN},
    report::{Page, Tally},
};
use crate::intake;

/// An export under way.
pub enum Sheet<'a> {
    Csv(Box<csv::Writer<Box<dyn Write + 'a>>>),
    Json { out: Box<dyn Write + 'a>, before: &'static str },
    Ndjson(Box<dyn Write + 'a>),
    Markdown(Box<dyn Write + 'a>),
    Html(Box<Page<'a>>),
}

impl<'a> Sheet<'a> {
    /// Writes what stands before the first transaction; a page begins with what `tally` has of all.
    pub fn begin(form: Form<'_>, tally: Tally, mut out: Box<dyn Write + 'a>) -> io::Result<Self> {
        match form.format {
            ExportFormat::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                writer.write_record(CSV.iter().map(|(name, _)| name)).map_err(bare)?;
                Ok(Self::Csv(Box::new(writer)))
            }
            ExportFormat::Json => Ok(Self::Json { out, before: "[\n" }),
            ExportFormat::Ndjson => Ok(Self::Ndjson(out)),
            ExportFormat::Markdown => {
                let names: Vec<_> = MARKDOWN.iter().map(|(name, _)| *name).collect();
                writeln!(out, "| {} |", names.join(" | "))?;
                writeln!(out, "|{}", " --- |".repeat(names.len()))?;
                Ok(Self::Markdown(out))
            }
            ExportFormat::Html => Ok(Self::Html(Box::new(tally.begin(out, form.of, (form.now, form.zone))?))),
        }
    }

    /// Writes one transaction.
    pub fn write(&mut self, facts: &Facts) -> io::Result<()> {
        match self {
            Self::Csv(writer) => {
                for (_, cell) in CSV {
                    writer.write_field(intake::escape(&cell(facts)).as_bytes()).map_err(bare)?;
                }
                writer.write_record(None::<&[u8]>).map_err(bare)
            }
            Self::Json { out, before } => {
                write!(out, "{before}{}", object(facts)?)?;
                *before = ",\n";
                Ok(())
            }
            Self::Ndjson(out) => writeln!(out, "{}", object(facts)?),
            Self::Markdown(out) => {
                let cells: Vec<_> = MARKDOWN.iter().map(|(_, cell)| cell(facts)).collect();
                writeln!(out, "| {} |", cells.join(" | "))
            }
            Self::Html(page) => page.write(facts),
        }
    }

    /// Writes what stands after the last transaction.
    pub fn end(self) -> io::Result<()> {
        match self {
            Self::Csv(mut writer) => writer.flush(),
            Self::Json { mut out, before: "[\n" } => writeln!(out, "[]"),
            Self::Json { mut out, .. } => writeln!(out, "\n]"),
            Self::Ndjson(_) | Self::Markdown(_) => Ok(()),
            Self::Html(page) => page.end(),
        }
    }
}

/// What the output said, of which kind it is: a closed pipe is no other fault.
fn bare(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn object(facts: &Facts) -> io::Result<String> {
    Ok(json::ascii(&serde_json::to_string(&TransactionView::new(facts.tx, facts.alerts, facts.now))?))
}
