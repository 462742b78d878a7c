//! The format of an export, and the time and time zone of its texts.

use std::path::Path;

use chrono::{DateTime, FixedOffset, Utc};
use clap::ValueEnum;

/// The values of `--format`. The comments of the variants are the help text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A header row and a row for each transaction; `import` reads it
    #[default]
    Csv,
    /// An array, one transaction per line
    Json,
    /// One object per line; `import` reads the parameters, tickets, labels and notes without loss
    Ndjson,
    /// A table to paste into a ticket
    Markdown,
    /// A web page with outcomes, timeline, durations and each verdict; it needs no network
    Html,
}

impl ExportFormat {
    /// Returns the format of a file's extension, if it is known.
    pub(super) fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" => Some(Self::Html),
            _ => None,
        }
    }
}

/// The format of an export, and the time that its texts refer to.
#[derive(Clone, Copy)]
pub(super) struct ExportOptions<'a> {
    pub(super) format: ExportFormat,
    /// The filter of the transactions, as a page shows it; empty for all.
    pub(super) filter_text: &'a str,
    pub(super) now: DateTime<Utc>,
    pub(super) zone: FixedOffset,
}
