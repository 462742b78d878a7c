//! `hoptop export`: writes tracked transactions to a file for scripts, spreadsheets or a ticket.
//!
//! Only one transaction is in memory at a time. The module must never leave an incomplete file, nor change an existing
//! file before the new file is complete.

mod columns;
pub(crate) mod format;
mod new_file;
mod partial_file;
mod report;
mod rows;
mod sheet;

use std::{
    fs::{File, OpenOptions},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::{Result, WrapErr, eyre};

pub(crate) use self::new_file::to_new_file;
use self::{
    format::{ExportFormat, ExportOptions},
    rows::{error_reason, write_rows},
};
use super::list;
use crate::{
    cli::{completers, context::Context, output::target::OutputTarget},
    domain::{filter::Filter, text},
    runtime::{exit::Exit, signals},
};

/// The examples below the help text.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # All transactions, for a spreadsheet
  hoptop export -o transfers.csv
  # A table for a ticket
  hoptop export is:attention -o stuck.md
  # A page to share: outcomes, durations, verdicts
  hoptop export label:batch-17 -o batch-17.html
  # One object per line, as with `list --json`
  hoptop export --format ndjson | jq .status
  # Copy the entered data to another store
  hoptop export -o all.ndjson; hoptop --db other.db import all.ndjson";

/// Write tracked transactions to a file or to standard output.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ExportArgs {
    /// Filter terms that must all match, as for `list`; write `--` before a term that starts with `-`
    #[arg(add = ArgValueCompleter::new(completers::filters))]
    pub filter: Vec<String>,
    /// The format; by default the one of FILE's extension (.csv .json .ndjson .jsonl .md .html), else CSV
    #[arg(long, value_enum)]
    pub format: Option<ExportFormat>,
    /// Write to this file, which is replaced once the export is complete; `-` is standard output
    #[arg(short, long, value_name = "FILE", add = ArgValueCompleter::new(completers::files))]
    pub output: Option<PathBuf>,
    /// Write at most this many transactions
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

/// Writes the transactions that match the filter, in its order.
pub(crate) fn export(args: &ExportArgs, cx: &mut Context) -> Result<Exit> {
    let Some(filter) = list::read_filter(&args.filter, cx.store.author().as_deref(), cx.err)? else {
        return Ok(Exit::Usage);
    };
    let file = args.output.as_deref().filter(|file| file.as_os_str() != "-");
    let format = args.format.or_else(|| ExportFormat::of(file?)).unwrap_or_default();
    if let (Some(file), None) = (file.filter(|file| ExportFormat::of(file).is_none()), args.format)
        && file.extension().is_some()
    {
        writeln!(
            cx.err,
            "warning: the extension of `{}` is unknown, so the format is CSV; choose another with --format",
            text::clean_path(file)
        )?;
    }
    let selection = ExportSelection { filter, filter_text: list::filter_text(&args.filter), format, limit: args.limit };
    let Some(file) = file else {
        // A signal leaves no incomplete file here, so it ends the program as usual.
        selection.write(cx, None, &|| None)?;
        return Ok(Exit::Success);
    };
    let name = text::clean_path(file);
    let target = OutputTarget::of(file, cx.store.path());
    match target.map_err(|reason| eyre!(reason)).wrap_err_with(|| cannot_write(&name))? {
        // A signal leaves no incomplete file here either, and the write may wait for the reader of a pipe.
        OutputTarget::Device(device) => {
            let written = write_device(&device, &selection, cx);
            finish(written, &name, cx)
        }
        OutputTarget::File { path, folder } => write_file(&path, &folder, &selection, cx, &name),
    }
}

/// Returns the beginning of an error message.
fn cannot_write(name: &str) -> String {
    format!("{name} can't be written")
}

/// Writes to an existing device, such as a pipe.
fn write_device(device: &Path, selection: &ExportSelection, cx: &mut Context) -> Result<usize> {
    write_buffered(OpenOptions::new().write(true).open(device)?, selection, cx, &|| None)
}

/// Writes or replaces a file, unless a signal comes before the new file is complete.
fn write_file(path: &Path, folder: &Path, selection: &ExportSelection, cx: &mut Context, name: &str) -> Result<Exit> {
    let signals = signals::FirstSignal::listen()?;
    let now = cx.now.wall;
    let written = replace_file(path, folder, now, |partial| write_buffered(partial, selection, cx, &|| signals.exit()));
    finish(written, name, cx)
}

/// Prints the result of an export and returns the exit code.
fn finish(written: Result<usize>, name: &str, cx: &mut Context) -> Result<Exit> {
    match written {
        Ok(count) => {
            writeln!(cx.err, "{} written to {name}", text::counted(count, "transaction"))?;
            Ok(Exit::Success)
        }
        Err(report) => match report.downcast_ref::<ExportInterrupted>() {
            Some(ExportInterrupted(exit)) => {
                writeln!(cx.err, "interrupted: {name} is unchanged")?;
                Ok(*exit)
            }
            None => Err(report).wrap_err_with(|| cannot_write(name)),
        },
    }
}

/// The transactions to write, and the format.
struct ExportSelection {
    filter: Filter,
    /// The filter as it is applied.
    filter_text: String,
    format: ExportFormat,
    limit: Option<usize>,
}

/// A signal came before the export was complete.
#[derive(Debug, thiserror::Error)]
#[error("the export was interrupted")]
struct ExportInterrupted(Exit);

/// Returns the exit code of a signal, if one came.
type InterruptionCheck<'a> = &'a dyn Fn() -> Option<Exit>;

impl ExportSelection {
    /// Writes the transactions to `out`, or to standard output if `out` is `None`. Returns their number.
    fn write(&self, cx: &mut Context, out: Option<&mut dyn Write>, interruption: InterruptionCheck) -> Result<usize> {
        let reader = cx.store.reader()?;
        let options =
            ExportOptions { format: self.format, filter_text: &self.filter_text, now: cx.now.wall, zone: cx.zone };
        let rows = reader.listing(&self.filter, options.now).all()?;
        let wanted = rows.get(..self.limit.unwrap_or(usize::MAX).min(rows.len())).unwrap_or_default();
        let check_interruption = || interruption().map_or(Ok(()), |exit| Err(ExportInterrupted(exit).into()));
        match out {
            Some(out) => write_rows(&reader, wanted, options, out, &check_interruption),
            None => write_rows(&reader, wanted, options, cx.out, &check_interruption),
        }
    }
}

/// Writes the selection to a file through a buffer. Returns the number of transactions.
fn write_buffered(
    file: impl Write,
    selection: &ExportSelection,
    cx: &mut Context,
    interruption: InterruptionCheck,
) -> Result<usize> {
    let mut out = BufWriter::new(file);
    let count = selection.write(cx, Some(&mut out), interruption)?;
    out.flush()?;
    Ok(count)
}

/// Creates a private file in the folder, lets `fill` write it, and renames it to `path`. If `fill` fails, the file is
/// removed.
fn replace_file(
    path: &Path,
    folder: &Path,
    now: DateTime<Utc>,
    fill: impl FnOnce(&File) -> Result<usize>,
) -> Result<usize> {
    let partial = partial_file::create(folder, now).map_err(|error| error_reason(&error))?;
    let count = fill(partial.as_file())?;
    partial.as_file().sync_all()?;
    partial.persist(path)?;
    // Writes the new name to the disk as well. Some systems can't open a folder for that.
    if let Ok(folder) = File::open(folder) {
        folder.sync_all().ok();
    }
    Ok(count)
}

#[cfg(test)]
mod tests;
