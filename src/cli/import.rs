//! `hoptop import`: a batch from a file or standard input, all or nothing.
//!
//! It must never track a part of a batch, and never read without bound.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read},
};

use clap::{Args, ValueEnum};

use super::{context::Context, exit::Exit};
use crate::{
    domain::{text, transaction::Told},
    intake::{self, Batch, Format, LineError, Options, Place},
    store::ImportReport,
};

/// The most that a file may hold; many times a million transactions.
const SIZE_LIMIT: u64 = 1 << 30;
/// So many updated transactions are named.
const UPDATES_NAMED: usize = 10;

/// Track a batch of transactions.
#[derive(Args, Clone, Debug)]
pub struct ImportArgs {
    /// A file of CSV with a header row, a JSON array or JSON lines; `-` is standard input
    pub file: String,
    /// How the file is written
    #[arg(long, value_enum, default_value_t)]
    pub format: FormatArg,
    /// Read and check all of it, and write nothing
    #[arg(long)]
    pub dry_run: bool,
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
    let name = if args.file == "-" { "standard input".into() } else { text::clean(&args.file) };
    let bytes = match read(&args.file, input) {
        Ok(bytes) => bytes,
        Err(reason) => {
            writeln!(cx.err, "{name} can't be read: {reason}")?;
            return Ok(Exit::Error);
        }
    };
    let batch = match intake::read(&bytes, &Options { format: args.format.into(), any_chain: args.any_chain }) {
        Ok(batch) => batch,
        Err(errors) => {
            refuse(&errors, &name, cx.err)?;
            return Ok(Exit::Error);
        }
    };
    // A large file is in memory twice until here.
    drop(bytes);
    for warning in &batch.warnings {
        writeln!(cx.err, "warning: {warning}")?;
    }
    if args.dry_run {
        foresee(&batch, cx)?;
    } else {
        let report = cx.store.import(&cx.profile, batch.transactions, cx.now.wall).wait()?;
        say(&report, cx)?;
    }
    Ok(Exit::Fine)
}

fn read(file: &str, input: &mut dyn Read) -> Result<Vec<u8>, String> {
    if file == "-" {
        return read_bounded(input, SIZE_LIMIT);
    }
    // Some systems open a folder and fail only when it is read, with words that help nobody.
    if fs::metadata(file).is_ok_and(|about| about.is_dir()) {
        return Err("it is a folder; name a file in it".into());
    }
    let mut opened = File::open(file).map_err(|error| reason(&error))?;
    read_bounded(&mut opened, SIZE_LIMIT)
}

fn read_bounded(input: &mut dyn Read, limit: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let length = input.take(limit + 1).read_to_end(&mut bytes).map_err(|error| reason(&error))?;
    if u64::try_from(length).is_ok_and(|length| length <= limit) {
        Ok(bytes)
    } else {
        Err(format!("it holds more than {limit} bytes; split it"))
    }
}

fn reason(error: &io::Error) -> String {
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

fn foresee(batch: &Batch, cx: &mut Context) -> color_eyre::Result<()> {
    let key = |told: &Told| (told.from_chain.clone(), told.transaction_id.key());
    let (tracked, _, _) = cx.store.reader()?.load()?;
    let tracked: HashSet<_> = tracked.iter().filter(|tx| tx.profile == cx.profile).map(|tx| key(&tx.told)).collect();
    let count = batch.transactions.len();
    let known = batch.transactions.iter().filter(|new| tracked.contains(&key(&new.told))).count();
    let noun = if count == 1 { "transaction" } else { "transactions" };
    writeln!(cx.out, "{count} {noun} can be read: {} new, {known} known already; nothing was written", count - known)?;
    Ok(())
}

fn say(report: &ImportReport, cx: &mut Context) -> color_eyre::Result<()> {
    let (added, updated) = (report.added.len(), report.updated.len());
    writeln!(cx.out, "{added} tracked, {updated} updated, {} known already", report.unchanged.len())?;
    if !report.completed.is_empty() {
        writeln!(cx.out, "  {} of them took what wasn't told from their quotes", report.completed.len())?;
    }
    if updated == 0 {
        return Ok(());
    }
    let reader = cx.store.reader()?;
    for (row, fields) in report.updated.iter().take(UPDATES_NAMED) {
        if let Some(tx) = reader.transaction(*row)? {
            writeln!(cx.out, "  updated {}: {}", tx.told.transaction_id, fields.join(", "))?;
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
        ImportArgs { file: file.into(), format: FormatArg::Auto, dry_run: false, any_chain: false }
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
        assert_eq!(out, "3 transactions can be read: 2 new, 1 known already; nothing was written\n");
        assert_eq!(exit.unwrap(), Exit::Fine);
        assert_eq!(bench.transactions().len(), 1);
        assert_eq!(bench.transactions()[0].told.ticket, None);
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

    #[test]
    fn reading_is_bounded() {
        assert_eq!(read_bounded(&mut &b"12345"[..], 5), Ok(b"12345".to_vec()));
        assert!(read_bounded(&mut io::repeat(b'x'), 5).unwrap_err().contains("more than 5 bytes"));
    }
}
