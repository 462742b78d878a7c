//! `hoptop export`: writes tracked transactions to a file for scripts, spreadsheets or a ticket.
//!
//! Only one transaction is in memory at a time. The module must never leave an incomplete file, nor change an existing
//! file before the new file is complete.

mod columns;
pub(crate) mod format;
mod new_file;
mod partial_file;
mod report;
mod writer;

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::{Result, WrapErr, eyre};

pub(crate) use self::new_file::to_new_file;
use self::{
    format::{ExportFormat, ExportOptions},
    writer::write_rows,
};
use super::list;
use crate::{
    cli::{completers, context::Context, output::target::OutputTarget},
    domain::text,
    runtime::{exit::Exit, signals},
};

/// The text below the options in the help.
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
  # Copy parameters, tickets, labels and notes to another store
  hoptop export -o all.ndjson; hoptop --db other.db import all.ndjson";

/// The arguments of `hoptop export`.
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
    let format = args.format.or_else(|| ExportFormat::of(file?));
    if format.is_none()
        && let Some(file) = file.filter(|file| file.extension().is_some())
    {
        writeln!(
            cx.err,
            "warning: the extension of `{}` is unknown, so the format is CSV; choose another with --format",
            text::clean_path(file)
        )?;
    }
    let name = file.map(text::clean_path).unwrap_or_default();
    let target = file.map(|file| OutputTarget::of(file, cx.store.path()).map_err(|reason| eyre!(reason)));
    let target = target.transpose().wrap_err_with(|| cannot_write(&name))?;
    let reader = cx.store.reader()?;
    let mut rows = reader.listing(&filter, cx.now.wall).all()?;
    rows.truncate(args.limit.unwrap_or(usize::MAX));
    let filter_text = list::filter_text(&args.filter);
    let format = format.unwrap_or_default();
    let options = ExportOptions { format, filter_text: &filter_text, now: cx.now.wall, zone: cx.zone };
    // A signal leaves no incomplete file on standard output or a device, so it ends the program as usual.
    let write_at_once = |out: &mut dyn Write| write_rows(&reader, &rows, options, out, &|| Ok(()));
    match target {
        None => write_at_once(cx.out).map(|_| Exit::Success),
        Some(OutputTarget::Device(device)) => finish(write_device(&device, write_at_once), None, &name, cx),
        Some(OutputTarget::File { path, folder }) => {
            let signals = signals::FirstSignal::listen()?;
            let check = || signals.exit().map_or(Ok(()), |_| Err(eyre!("the export was interrupted")));
            let written =
                replace_file(&path, &folder, options.now, |out| write_rows(&reader, &rows, options, out, &check));
            finish(written, signals.exit(), &name, cx)
        }
    }
}

/// Returns the first part of the error message about an output.
fn cannot_write(name: &str) -> String {
    format!("{name} can't be written")
}

/// Prints the result of an export, during which a signal may have come, and returns the exit code.
fn finish(written: Result<usize>, signal: Option<Exit>, name: &str, cx: &mut Context) -> Result<Exit> {
    if let (Err(_), Some(exit)) = (&written, signal) {
        writeln!(cx.err, "interrupted: {name} is unchanged")?;
        return Ok(exit);
    }
    let count = written.wrap_err_with(|| cannot_write(name))?;
    writeln!(cx.err, "{} written to {name}", text::counted(count, "transaction"))?;
    Ok(Exit::Success)
}

/// Lets `write` write to an existing device, such as a pipe.
fn write_device(device: &Path, write: impl FnOnce(&mut dyn Write) -> Result<usize>) -> Result<usize> {
    partial_file::write_buffered(&OpenOptions::new().write(true).open(device)?, write)
}

/// Lets `write` write a new file, which then gets the name `path`. If `write` fails, an existing file is unchanged.
fn replace_file(
    path: &Path,
    folder: &Path,
    now: DateTime<Utc>,
    write: impl FnOnce(&mut dyn Write) -> Result<usize>,
) -> Result<usize> {
    let (partial, count) = partial_file::write(folder, now, write)?;
    partial.persist(path)?;
    // Writes the new name to the disk as well. Some systems can't open a folder for that.
    if let Ok(folder) = File::open(folder) {
        folder.sync_all().ok();
    }
    Ok(count)
}

#[cfg(test)]
mod tests;
