//! The totals of an import: as JSON for `import --json`, and as a line.

use std::{fmt, io::Write};

use serde::Serialize;

use crate::{
    cli::output::schema::Schema,
    domain::text,
    store::{ImportPreview, ImportReport},
};

/// The totals of an import, and what the import refused.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImportTotals {
    pub dry_run: bool,
    /// Whether the batch was read to its end without an error that stops the import.
    pub imported: bool,
    pub tracked: usize,
    pub updated: usize,
    pub unchanged: usize,
    /// The number of tracked transactions that took missing values from their quotes.
    pub completed: usize,
    pub warnings: Vec<String>,
    /// Each bad line with its number.
    pub errors: Vec<String>,
    pub bad_lines: usize,
}

/// The totals as `--json` prints them.
#[derive(Serialize)]
struct ImportView<'a> {
    schema: Schema,
    #[serde(flatten)]
    totals: &'a ImportTotals,
}

impl ImportTotals {
    /// Returns the changes that an import would make.
    pub(super) fn preview(preview: &ImportPreview, warnings: Vec<String>) -> Self {
        let ImportPreview { new, known, changed } = *preview;
        let unchanged = known.saturating_sub(changed);
        Self { dry_run: true, tracked: new, updated: changed, unchanged, warnings, ..Self::default() }
    }

    /// Returns the changes that an import made.
    pub(super) fn report(report: &ImportReport, warnings: Vec<String>) -> Self {
        Self {
            imported: true,
            tracked: report.added.count,
            updated: report.updated.count,
            unchanged: report.unchanged.count,
            completed: report.completed.count,
            warnings,
            ..Self::default()
        }
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> color_eyre::Result<()> {
        let view = ImportView { schema: Schema::Import, totals: self };
        Ok(writeln!(out, "{}", serde_json::to_string(&view)?)?)
    }
}

impl fmt::Display for ImportTotals {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tracked, updated, unchanged, bad_lines, .. } = self;
        let bad = text::counted(*bad_lines, "bad line");
        write!(out, "{tracked} tracked, {updated} updated, {unchanged} already tracked; {bad}")
    }
}
