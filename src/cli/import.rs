//! `hoptop import`: a batch from a file or standard input, all or nothing, of any size in bounded memory.
//!
//! It must never track a part of a batch. What doesn't end is `follow`'s.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
};

use clap::{Args, ValueEnum};

use super::{context::Context, exit::Exit};
use crate::{
    domain::{
        batch::{Batch, SpoolError},
        text,
    },
    intake::{self, Duplicate, Duplicates, Format, Found, ImportSpool, LineError, Options, Place, ReadError},
    store::{ImportPreview, ImportReport},
};

/// So many updated transactions are named.
const UPDATES_NAMED: usize = 10;

/// What stands below the help.
pub const EXAMPLES: &str = "\
Examples:
  hoptop import transfers.csv                      transactionId,fromChainId,toChainId,quoteId and what else is known
  hoptop import --dry-run transfers.csv            what would be new, known and updated
  my-service | hoptop import - --follow            a transaction a line, tracked as they come
  hoptop import --follow /var/log/transfers.ndjson the same of a file that grows, until ^C";

/// Track a batch of transactions.
#[derive(Args, Clone, Debug)]
pub struct ImportArgs {
    /// A file of CSV with a header row, a JSON array or JSON lines; `-` is standard input
    pub file: String,
    /// How the file is written
    #[arg(long, value_enum, default_value_t)]
    pub format: FormatArg,
    /// Read and check all of it, say what would change, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Keep reading CSV or JSON lines: standard input until it ends, a file as it grows until a signal comes. Each line is
    /// taken as it comes; a bad one is named and passed over
    #[arg(long, conflicts_with = "dry_run")]
    pub follow: bool,
    /// Take chain IDs that don't look like any
    #[arg(long)]
    pub any_chain: bool,
}

/// `--format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// By its first character
    #[default]
    Auto,
    /// A header row and a row for each transaction
    Csv,
    /// An array of objects
    Json,
    /// An object a line
    Ndjson,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Auto => Self::Auto,
            FormatArg::Csv => Self::Csv,
            FormatArg::Json => Self::Json,
            FormatArg::Ndjson => Self::Ndjson,
        }
    }
}

/// Tracks what the file holds, and says what that changed. `input` is read if the file is `-`.
pub fn import(args: &ImportArgs, input: &mut dyn Read, cx: &mut Context) -> color_eyre::Result<Exit> {
    let name = name(&args.file);
    let (batch, found) = match spool(args, input) {
        Ok(spooled) => spooled,
        Err(ReadError::Bad(errors)) => {
            refuse(&errors, &name, cx.err)?;
            return Ok(Exit::Error);
        }
        Err(ReadError::Input(fault)) => return unreadable(&name, &reason(&fault), cx.err),
        Err(ReadError::Keep(fault)) => return Err(fault.into()),
    };
    for warning in found.warnings.into_iter().chain(elsewhere(&found.profiles, &cx.profile)) {
        writeln!(cx.err, "warning: {warning}")?;
    }
    if args.dry_run {
        let preview = cx.store.reader()?.preview_import(&cx.profile, batch.as_ref())?;
        print_preview(preview, cx.out)?;
    } else {
        let report = cx.store.track_batch(&cx.profile, batch, cx.now.wall).wait()?.tracked()?;
        print_report(&report, cx)?;
    }
    Ok(Exit::Fine)
}

/// A file as people call it.
pub(super) fn name(file: &str) -> String {
    if file == "-" { "standard input".into() } else { text::clean(file) }
}

/// Says that a file can't be read.
pub(super) fn unreadable(name: &str, reason: &str, err: &mut dyn io::Write) -> color_eyre::Result<Exit> {
    writeln!(err, "{name} can't be read: {reason}")?;
    Ok(Exit::Error)
}

/// Reads all of it into a place of its own, so that the store is touched only when every line is known to be fine.
fn spool(args: &ImportArgs, input: &mut dyn Read) -> Result<(Box<dyn Batch>, Found), ReadError<SpoolError>> {
    let mut opened;
    let input = match args.file.as_str() {
        "-" => input,
        file => {
            opened = open(file).map_err(|reason| ReadError::Input(io::Error::other(reason)))?;
            &mut opened
        }
    };
    let mut spool = ImportSpool::new().map_err(ReadError::Keep)?;
    let options = Options { format: args.format.into(), any_chain: args.any_chain };
    let mut found = intake::stream(input, &options, &mut |place, new| spool.put(place.to_string(), new))?;
    let mut duplicates = Duplicates::default();
    let tell = &mut |Duplicate { earlier, later, hash, same }| duplicates.push((&earlier, &later), &hash, same);
    let batch = spool.finish(tell).map_err(ReadError::Keep)?;
    found.warnings.extend(duplicates.finish());
    Ok((batch, found))
}

/// What is said of rows that name another profile than the one that they are tracked in.
fn elsewhere(profiles: &BTreeMap<String, usize>, own: &str) -> Option<String> {
    let others: Vec<_> = profiles.iter().filter(|(profile, _)| *profile != own).collect();
    let rows: usize = others.iter().map(|(_, rows)| **rows).sum();
    let of = match (rows, others.as_slice()) {
        (0, _) => return None,
        (1, [(profile, _), ..]) => format!("1 row is of the profile {profile}, and is"),
        (_, [(profile, _)]) => format!("{rows} rows are of the profile {profile}, and are"),
        (_, others) => format!("{rows} rows are of {} other profiles, and are", others.len()),
    };
    Some(format!("{of} tracked in {own}; --profile names the one to track them in"))
}

/// Opens a file. Some systems open a folder and fail only when it is read, with words that help nobody.
pub(super) fn open(file: &str) -> Result<File, String> {
    if fs::metadata(file).is_ok_and(|about| about.is_dir()) {
        return Err("it is a folder; name a file in it".into());
    }
    File::open(file).map_err(|error| reason(&error))
}

pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file; check the path".into(),
        io::ErrorKind::PermissionDenied => "you may not read it; check its permissions".into(),
        _ => text::clean(&error.to_string()),
    }
}

fn refuse(errors: &[LineError], name: &str, err: &mut dyn io::Write) -> io::Result<()> {
    for error in errors {
        writeln!(err, "{error}")?;
    }
    let bad = errors.iter().filter(|error| error.place != Place::File).count();
    let whole = bad < errors.len();
    let unit = if errors.iter().any(|error| matches!(error.place, Place::Item(_))) { "item" } else { "line" };
    match (bad, whole) {
        (0, _) => writeln!(err, "nothing was imported from {name}"),
        // The last error says how many there are beyond those that are named.
        (_, true) => writeln!(err, "nothing was imported: more than {bad} bad {unit}s in {name}"),
        (1, _) => writeln!(err, "nothing was imported: 1 bad {unit} in {name}"),
        _ => writeln!(err, "nothing was imported: {bad} bad {unit}s in {name}"),
    }
}

fn print_preview(ImportPreview { new, known, changed }: ImportPreview, out: &mut dyn io::Write) -> io::Result<()> {
    let count = new + known;
    let noun = if count == 1 { "transaction" } else { "transactions" };
    let changed = match changed {
        0 => String::new(),
        changed => format!(", {changed} of them would be updated"),
    };
    writeln!(out, "{count} {noun} can be read: {new} new, {known} known already{changed}; nothing was written")
}

fn print_report(report: &ImportReport, cx: &mut Context) -> color_eyre::Result<()> {
    let (added, updated) = (report.added.count, report.updated.count);
    writeln!(cx.out, "{added} tracked, {updated} updated, {} known already", report.unchanged.count)?;
    if let Some(twice) = report.twice() {
        writeln!(cx.err, "warning: {twice}; each profile polls them")?;
    }
    if report.completed.count > 0 {
        writeln!(cx.out, "  {} of them took what wasn't told from their quotes", report.completed.count)?;
    }
    if updated == 0 {
        return Ok(());
    }
    let reader = cx.store.reader()?;
    for (row, fields) in report.updated.first.iter().take(UPDATES_NAMED) {
        if let Some(tx) = reader.header(*row)? {
            writeln!(cx.out, "  updated {}: {}", tx.params.transaction_id, fields.join(", "))?;
        }
    }
    if updated > UPDATES_NAMED {
        writeln!(cx.out, "  and {} more", updated - UPDATES_NAMED)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::context::testing::Bench, *};

    const HEADER: &str = "transactionId,fromChainId,toChainId,quoteId,ticket";

    fn args(file: &str) -> ImportArgs {
        ImportArgs { file: file.into(), format: FormatArg::Auto, dry_run: false, follow: false, any_chain: false }
    }

    /// Imports this text from a file.
    fn run(bench: &mut Bench, text: &str) -> (String, String, Exit) {
        let path = bench.folder.path().join("batch.csv");
        fs::write(&path, text).unwrap();
        let args = args(path.to_str().unwrap());
        let (out, err, exit) = bench.run(|cx| import(&args, &mut io::empty(), cx));
        (out, err.replace(&args.file, "FILE"), exit.unwrap())
    }

    fn rows(count: usize, ticket: &str) -> String {
        (0..count).map(|number| format!("0xabcde{number:03x},42161,8453,q-{number},{ticket}\n")).collect()
    }

    #[test]
    fn a_file_is_tracked_then_known_then_updated() {
        let mut bench = Bench::new();
        let first = format!("{HEADER}\n{}", rows(12, ""));
        let said = run(&mut bench, &first);
        assert_eq!(said, ("12 tracked, 0 updated, 0 known already\n".into(), String::new(), Exit::Fine));
        let said = run(&mut bench, &first);
        assert_eq!(said, ("0 tracked, 0 updated, 12 known already\n".into(), String::new(), Exit::Fine));
        let (out, ..) = run(&mut bench, &format!("\u{feff}{HEADER}\r\n{}", rows(12, "SUP-1\r")));
        assert!(out.starts_with("0 tracked, 12 updated, 0 known already\n  updated 0xabcde000: ticket\n"), "{out}");
        assert!(out.ends_with("  and 2 more\n") && out.lines().count() == 12, "{out}");
    }

    #[test]
    fn bad_lines_are_all_named_and_nothing_is_tracked() {
        let mut bench = Bench::new();
        let text = format!("{HEADER}\n{}0xabcdef12,arbitrum,8453,q,\n0xabcdef13,1,,q,\n", rows(1, ""));
        let (out, err, exit) = run(&mut bench, &text);
        assert_eq!((out.as_str(), exit), ("", Exit::Error));
        let lines: Vec<_> = err.lines().collect();
        assert!(lines[0].starts_with("line 3: fromChainId: `arbitrum` is a name"), "{err}");
        assert!(lines[1].starts_with("line 4: toChainId is missing"), "{err}");
        assert_eq!(lines[2..], ["nothing was imported: 2 bad lines in FILE"]);
        assert!(bench.transactions().is_empty());
    }

    #[test]
    fn a_missing_column_and_an_unknown_one_are_named() {
        let mut bench = Bench::new();
        let (_, err, exit) = run(&mut bench, "transactionId,fromChainId,toChainId\n0xabcdef12,1,10\n");
        assert!(err.contains("quoteId") && err.contains("nothing was imported"), "{err}");
        assert_eq!(exit, Exit::Error);
        let text = "transactionId,fromChainId,toChainId,quoteId,mood\u{1b}[5m\n0xabcdef12,1,10,q,x\n";
        let (out, err, _) = run(&mut bench, text);
        assert_eq!(err, "warning: the column `mood[5m` is unknown and is ignored\n");
        assert_eq!(out, "1 tracked, 0 updated, 0 known already\n");
    }

    #[test]
    fn rows_of_another_profile_are_counted_once_for_all() {
        let mut bench = Bench::new();
        let row = |number: usize, profile: &str| format!("0xabcde{number:03x},42161,8453,q,{profile}\n");
        let header = "transactionId,fromChainId,toChainId,quoteId,Profile\n";
        let text = [header, &row(1, "default"), &row(2, "prod"), &row(3, ""), &row(4, "prod")].concat();
        let (_, err, exit) = run(&mut bench, &text);
        assert_eq!(
            (err.as_str(), exit),
            (
                "warning: 2 rows are of the profile prod, and are tracked in default; --profile names the one to track them in\n",
                Exit::Fine
            )
        );
        let (_, err, _) = run(&mut bench, &[header, &row(1, "default")].concat());
        assert_eq!(err, "");
        // What others mean by that word is no fault.
        let text = r#"{"transactionId":"0xabcdef12","fromChainId":1,"toChainId":10,"quoteId":"q","profile":{"a":1}}"#;
        assert_eq!(run(&mut bench, text).2, Exit::Fine);
    }

    #[test]
    fn standard_input_is_read_in_the_format_that_is_asked_for() {
        let mut bench = Bench::new();
        let text = r#"[{"transactionId":"0xabcdef12","fromChainId":"mars","toChainId":"10","quoteId":"q"}]"#;
        let refused = bench.run(|cx| import(&args("-"), &mut text.as_bytes(), cx).unwrap());
        assert!(refused.1.ends_with("nothing was imported: 1 bad item in standard input\n"), "{}", refused.1);
        let taken = ImportArgs { any_chain: true, format: FormatArg::Json, ..args("-") };
        let (out, _, exit) = bench.run(|cx| import(&taken, &mut text.as_bytes(), cx));
        assert_eq!((out.as_str(), exit.unwrap()), ("1 tracked, 0 updated, 0 known already\n", Exit::Fine));
    }

    #[test]
    fn a_dry_run_counts_and_writes_nothing() {
        let mut bench = Bench::new();
        run(&mut bench, &format!("{HEADER}\n{}", rows(1, "")));
        let text = format!("{HEADER}\n{}", rows(3, "SUP-1"));
        let dry = ImportArgs { dry_run: true, ..args("-") };
        let (out, _, exit) = bench.run(|cx| import(&dry, &mut text.as_bytes(), cx));
        assert_eq!(
            out,
            "3 transactions can be read: 2 new, 1 known already, 1 of them would be updated; nothing was written\n"
        );
        assert_eq!(exit.unwrap(), Exit::Fine);
        assert_eq!(bench.transactions().len(), 1);
        assert_eq!(bench.transactions()[0].params.ticket, None);
    }

    #[test]
    fn what_is_no_file_is_named_without_its_escapes() {
        let mut bench = Bench::new();
        let (_, err, exit) = bench.run(|cx| import(&args("no\u{1b}[31m.csv"), &mut io::empty(), cx));
        assert_eq!(err, "no[31m.csv can't be read: there is no such file; check the path\n");
        assert_eq!(exit.unwrap(), Exit::Error);
        let folder = args(bench.folder.path().to_str().unwrap());
        let (_, err, _) = bench.run(|cx| import(&folder, &mut io::empty(), cx));
        assert!(err.ends_with("can't be read: it is a folder; name a file in it\n"), "{err}");
    }
}
