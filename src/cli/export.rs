//! `hoptop export`: what is tracked, as a file for scripts, spreadsheets or a ticket.
//!
//! One transaction is held at a time. It must never leave half a file, nor touch the one that is there before the new one
//! is whole.

mod columns;
mod sheet;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use clap::{Args, ValueEnum};
use color_eyre::eyre::{Result, WrapErr, eyre};

use self::sheet::Sheet;
use super::{context::Context, exit::Exit, list, signals};
use crate::domain::{filter::Filter, text};

/// What stands below the help.
pub const EXAMPLES: &str = "\
Examples:
  hoptop export -o transfers.csv                   everything, for a spreadsheet
  hoptop export is:attention -o stuck.md           a table for a ticket
  hoptop export --format ndjson | jq .status       an object a line, with the fields of `list --json`
  hoptop export -o all.ndjson; hoptop --db other.db import all.ndjson
                                                   what was told, into another store";

/// Write what is tracked to a file or to standard output.
#[derive(Args, Clone, Debug, Default)]
pub struct ExportArgs {
    /// Terms that must all hold, as for `list`; write `--` before one that starts with `-`
    pub filter: Vec<String>,
    /// How to write it; without this by the end of FILE (.csv .json .ndjson .jsonl .md), else CSV
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
}

impl ExportFormat {
    /// The format that a file's name says.
    fn of(file: &str) -> Option<Self> {
        match Path::new(file).extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "md" | "markdown" => Some(Self::Markdown),
            _ => None,
        }
    }
}

/// Writes what passes the filter, in its order.
pub fn export(args: &ExportArgs, cx: &mut Context) -> Result<Exit> {
    let Some(filter) = list::read_filter(&args.filter, cx.err)? else { return Ok(Exit::Usage) };
    let file = args.output.as_deref().filter(|file| *file != "-");
    let format = args.format.or_else(|| ExportFormat::of(file?)).unwrap_or_default();
    let rows = Rows { filter, format, limit: args.limit };
    let Some(file) = file else {
        // Nothing is left behind by a signal here, so it ends the program as usual.
        rows.write(cx, None, &|| None)?;
        return Ok(Exit::Fine);
    };
    let runtime = super::runtime()?;
    let signal = {
        let _entered = runtime.enter();
        signals::listen()?
    };
    let came = Arc::new(OnceLock::new());
    let heard = Arc::clone(&came);
    runtime.spawn(async move { heard.set(signal.await) });
    replace(Path::new(file), &rows, cx, &|| came.get().copied())
}

/// Which transactions are written, and how.
struct Rows {
    filter: Filter,
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
        let (now, zone) = (cx.now.wall, cx.zone);
        let out: Box<dyn Write + '_> = match out {
            Some(out) => Box::new(out),
            None => Box::new(&mut *cx.out),
        };
        let mut sheet = Sheet::begin(self.format, out)?;
        let mut count = 0;
        let rows = reader.listing(&self.filter, now).all()?;
        let wanted = rows.get(..self.limit.unwrap_or(usize::MAX).min(rows.len())).unwrap_or_default();
        reader.each(wanted, |tx, alerts| {
            if let Some(exit) = interruption() {
                return Err(Interrupted(exit).into());
            }
            count += 1;
            Ok::<_, color_eyre::Report>(sheet.write(&columns::Facts { tx, alerts, now, zone })?)
        })?;
        sheet.end()?;
        interruption().map_or(Ok(count), |exit| Err(Interrupted(exit).into()))
    }
}

/// Writes a file beside the one that is named, and puts it into its place when it is whole and on the disk.
fn replace(file: &Path, rows: &Rows, cx: &mut Context, interruption: Interruption) -> Result<Exit> {
    let name = text::clean(&file.display().to_string());
    let written = match Target::of(file) {
        Err(reason) => Err(eyre!(reason)),
        Ok(Target::Device(device)) => {
            let opened = OpenOptions::new().write(true).open(device);
            opened.map_err(color_eyre::Report::from).and_then(|device| fill(device, rows, cx, interruption))
        }
        Ok(Target::File { path, folder }) => beside(&path, &folder, |half| fill(half, rows, cx, interruption)),
    };
    match written {
        Ok(count) => {
            let noun = if count == 1 { "transaction" } else { "transactions" };
            writeln!(cx.err, "{count} {noun} written to {name}")?;
            Ok(Exit::Fine)
        }
        Err(report) => match report.downcast_ref::<Interrupted>() {
            Some(Interrupted(exit)) => {
                writeln!(cx.err, "interrupted: {name} is as it was")?;
                Ok(*exit)
            }
            None => Err(report).wrap_err_with(|| format!("{name} can't be written")),
        },
    }
}

fn fill(file: impl Write, rows: &Rows, cx: &mut Context, interruption: Interruption) -> Result<usize> {
    let mut out = BufWriter::new(file);
    let count = rows.write(cx, Some(&mut out), interruption)?;
    out.flush()?;
    Ok(count)
}

/// Lets `fill` write a private file in the folder, which goes if that fails, and then takes the place of `path`.
fn beside(path: &Path, folder: &Path, fill: impl FnOnce(&File) -> Result<usize>) -> Result<usize> {
    let half =
        tempfile::Builder::new().prefix(".hoptop-export-").tempfile_in(folder).map_err(|error| reason(&error))?;
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

/// What a name for the output leads to.
enum Target {
    /// A file, there or not, and its folder.
    File { path: PathBuf, folder: PathBuf },
    /// Something that must not be replaced by a file: a terminal, a pipe, `/dev/null`.
    Device(PathBuf),
}

impl Target {
    fn of(file: &Path) -> Result<Self, &'static str> {
        // A link stays one; what it leads to is replaced.
        let path = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        match fs::metadata(&path) {
            Ok(about) if about.is_dir() => return Err("it is a folder; name a file in it"),
            Ok(about) if !about.is_file() => return Ok(Self::Device(path)),
            _ => {}
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Ok(Self::File { folder: folder.unwrap_or(Path::new(".")).to_owned(), path })
    }
}

#[cfg(test)]
mod tests;
