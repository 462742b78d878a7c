//! `hoptop export`: what is tracked, as a file for scripts, spreadsheets or a ticket.
//!
//! One transaction is held at a time. It must never leave half a file, nor touch the one that is there before the new one
//! is whole.

mod columns;
mod half;
mod new_file;
mod report;
mod sheet;
mod target;

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Write},
    path::Path,
};

use chrono::{DateTime, FixedOffset, Utc};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::{Result, WrapErr, eyre};

pub use self::new_file::to_new_file;
use self::{report::Tally, sheet::Sheet, target::Target};
use super::{completions, context::Context, exit::Exit, list, signals};
use crate::{
    domain::{filter::Filter, ids::RowId, text},
    store::Reader,
};

/// What stands below the help.
pub const EXAMPLES: &str = "\
Examples:
  hoptop export -o transfers.csv                   everything, for a spreadsheet
  hoptop export is:attention -o stuck.md           a table for a ticket
  hoptop export label:batch-17 -o batch-17.html    a page to send to somebody: outcomes, durations, verdicts
  hoptop export --format ndjson | jq .status       an object a line, with the fields of `list --json`
  hoptop export -o all.ndjson; hoptop --db other.db import all.ndjson
                                                   what was told, into another store";

/// Write what is tracked to a file or to standard output.
#[derive(Args, Clone, Debug, Default)]
pub struct ExportArgs {
    /// Terms that must all hold, as for `list`; write `--` before one that starts with `-`
    #[arg(add = ArgValueCompleter::new(completions::filters))]
    pub filter: Vec<String>,
    /// How to write it; without this by the end of FILE (.csv .json .ndjson .jsonl .md .html), else CSV
    #[arg(long, value_enum)]
    pub format: Option<ExportFormat>,
    /// Write to this file, which is replaced once all is written; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<String>,
    /// Write at most this many
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

/// `--format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// A header row and a row for each transaction; `import` reads it
    #[default]
    Csv,
    /// An array, a transaction a line
    Json,
    /// An object a line; `import` reads it, and nothing that was told is lost
    Ndjson,
    /// A table that can be pasted into a ticket
    Markdown,
    /// A page of its own with outcomes, timeline, durations and each verdict; it needs no network
    Html,
}

impl ExportFormat {
    /// The format that a file's name says.
    fn of(file: &str) -> Option<Self> {
        match Path::new(file).extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" => Some(Self::Html),
            _ => None,
        }
    }
}

/// Writes what passes the filter, in its order.
pub fn export(args: &ExportArgs, cx: &mut Context) -> Result<Exit> {
    let Some(filter) = list::read_filter(&args.filter, cx.err)? else { return Ok(Exit::Usage) };
    let file = args.output.as_deref().filter(|file| *file != "-");
    let format = args.format.or_else(|| ExportFormat::of(file?)).unwrap_or_default();
    if let (Some(file), None) = (file.filter(|file| ExportFormat::of(file).is_none()), args.format)
        && Path::new(file).extension().is_some()
    {
        writeln!(cx.err, "warning: `{}` says no format, so this is CSV; --format says another", text::clean(file))?;
    }
    let rows = Rows { filter, of: args.filter.join(" "), format, limit: args.limit };
    let Some(file) = file else {
        // Nothing is left behind by a signal here, so it ends the program as usual.
        rows.write(cx, None, &|| None)?;
        return Ok(Exit::Fine);
    };
    let name = text::clean(file);
    let target = Target::of(Path::new(file), cx.store.path());
    match target.map_err(|reason| eyre!(reason)).wrap_err_with(|| cannot(&name))? {
        // Nor here, where it may have to wait for whoever reads.
        Target::Device(device) => {
            let written = into(&device, &rows, cx);
            settle(written, &name, cx)
        }
        Target::File { path, folder } => put((&path, &folder), &rows, cx, &name),
    }
}

fn cannot(name: &str) -> String {
    format!("{name} can't be written")
}

/// Writes into what is there and stays.
fn into(device: &Path, rows: &Rows, cx: &mut Context) -> Result<usize> {
    fill(OpenOptions::new().write(true).open(device)?, rows, cx, &|| None)
}

/// Puts a file in its place, unless a signal comes before it is whole.
fn put(place: (&Path, &Path), rows: &Rows, cx: &mut Context, name: &str) -> Result<Exit> {
    let signals = signals::SignalStream::open()?;
    let now = cx.now.wall;
    let written = beside(place, now, |half| fill(half, rows, cx, &|| signals.exit()));
    settle(written, name, cx)
}

/// Says what came of it.
fn settle(written: Result<usize>, name: &str, cx: &mut Context) -> Result<Exit> {
    match written {
        Ok(count) => {
            writeln!(cx.err, "{} written to {name}", count_of(count))?;
            Ok(Exit::Fine)
        }
        Err(report) => match report.downcast_ref::<Interrupted>() {
            Some(Interrupted(exit)) => {
                writeln!(cx.err, "interrupted: {name} is as it was")?;
                Ok(*exit)
            }
            None => Err(report).wrap_err_with(|| cannot(name)),
        },
    }
}

/// Which transactions are written, and how.
struct Rows {
    filter: Filter,
    /// The filter as it was written.
    of: String,
    format: ExportFormat,
    limit: Option<usize>,
}

/// A signal came before all was written.
#[derive(Debug, thiserror::Error)]
#[error("it was interrupted")]
struct Interrupted(Exit);

/// Says whether a signal came, and how the program ends then.
type Interruption<'a> = &'a dyn Fn() -> Option<Exit>;

impl Rows {
    /// Writes all of them, to standard output if nowhere else, and says how many they are.
    fn write(&self, cx: &mut Context, out: Option<&mut dyn Write>, interruption: Interruption) -> Result<usize> {
        let reader = cx.store.reader()?;
        let form = Form { format: self.format, of: &self.of, now: cx.now.wall, zone: cx.zone };
        let rows = reader.listing(&self.filter, form.now).all()?;
        let wanted = rows.get(..self.limit.unwrap_or(usize::MAX).min(rows.len())).unwrap_or_default();
        let goes_on = || interruption().map_or(Ok(()), |exit| Err(Interrupted(exit).into()));
        match out {
            Some(out) => write_rows((&reader, wanted), form, out, &goes_on),
            None => write_rows((&reader, wanted), form, cx.out, &goes_on),
        }
    }
}

/// How transactions are written, and for which moment.
#[derive(Clone, Copy)]
struct Form<'a> {
    format: ExportFormat,
    /// Which they are, in a filter's words.
    of: &'a str,
    now: DateTime<Utc>,
    zone: FixedOffset,
}

/// Writes transactions, and says how many they are; a page, which reads them twice, of one moment of the store.
fn write_rows(
    (reader, rows): (&Reader, &[RowId]),
    form: Form<'_>,
    out: &mut dyn Write,
    goes_on: &dyn Fn() -> Result<()>,
) -> Result<usize> {
    let source = (reader, rows);
    if form.format != ExportFormat::Html {
        return write_each(source, (form, Tally::default()), out, goes_on);
    }
    let mut written = Ok(0);
    reader.snapshot(|| {
        written = count(source, goes_on).and_then(|tally| write_each(source, (form, tally), out, goes_on));
        Ok(())
    })?;
    written
}

/// What these transactions come to.
fn count((reader, rows): (&Reader, &[RowId]), goes_on: &dyn Fn() -> Result<()>) -> Result<Tally> {
    let mut tally = Tally::default();
    reader.each(rows, |tx, alerts| {
        goes_on()?;
        tally.count(tx, !alerts.is_empty());
        Ok::<_, color_eyre::Report>(())
    })?;
    Ok(tally)
}

/// Writes transactions, and says how many they are; ends with what `goes_on` says, which is asked before each and at the end.
fn write_each(
    (reader, rows): (&Reader, &[RowId]),
    (form, tally): (Form<'_>, Tally),
    out: &mut dyn Write,
    goes_on: &dyn Fn() -> Result<()>,
) -> Result<usize> {
    let Form { now, zone, .. } = form;
    let mut sheet = Sheet::begin(form, tally, Box::new(out))?;
    let mut count = 0;
    reader.each(rows, |tx, alerts| {
        goes_on()?;
        count += 1;
        Ok::<_, color_eyre::Report>(sheet.write(&columns::Facts { tx, alerts, now, zone })?)
    })?;
    sheet.end()?;
    goes_on().map(|()| count)
}

fn count_of(transactions: usize) -> String {
    format!("{transactions} {}", if transactions == 1 { "transaction" } else { "transactions" })
}

fn fill(file: impl Write, rows: &Rows, cx: &mut Context, interruption: Interruption) -> Result<usize> {
    let mut out = BufWriter::new(file);
    let count = rows.write(cx, Some(&mut out), interruption)?;
    out.flush()?;
    Ok(count)
}

/// Lets `fill` write a private file in the folder, which goes if that fails, and then takes the place of `path`.
fn beside(
    (path, folder): (&Path, &Path),
    now: DateTime<Utc>,
    fill: impl FnOnce(&File) -> Result<usize>,
) -> Result<usize> {
    let half = half::make(folder, now).map_err(|error| reason(&error))?;
    let count = fill(half.as_file())?;
    half.as_file().sync_all()?;
    half.persist(path)?;
    // So that the new name is on the disk too. Not every system lets a folder be opened for that.
    if let Ok(folder) = File::open(folder) {
        folder.sync_all().ok();
    }
    Ok(count)
}

fn reason(error: &io::Error) -> color_eyre::Report {
    match error.kind() {
        io::ErrorKind::NotFound => eyre!("there is no such folder; make it, or name another"),
        io::ErrorKind::PermissionDenied => eyre!("you may not write into its folder; name another"),
        _ => eyre!("{error}"),
    }
}

#[cfg(test)]
mod tests;
