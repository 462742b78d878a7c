//! `hoptop import`: tracks a batch from a file or standard input, all or nothing.
//!
//! The module must never track a part of a batch. Endless input is handled in `follow`.

pub(crate) mod follow;
pub(crate) mod totals;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;

use self::totals::ImportTotals;
use crate::{
    cli::{completers, context::Context},
    domain::{
        batch::{Batch, SpoolError},
        text,
    },
    intake::{self, FileFindings, InputFormat, InputPosition, LineError, ReadError, ReadOptions},
    runtime::exit::Exit,
    store::{ImportPreview, ImportReport, OperationResult},
};

/// The maximum number of updated transactions that are named.
const MAX_NAMED_UPDATES: usize = 10;

/// The examples below the help text.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Needs transactionId,fromChainId,toChainId,quoteId
  hoptop import transfers.csv
  # The same, compressed with gzip
  hoptop import transfers.csv.gz
  # Show what would be new, known and updated
  hoptop import --dry-run transfers.csv
  # One transaction per line, tracked immediately
  my-service | hoptop import - --follow
  # The same for a file that grows, until ^C
  hoptop import --follow /var/log/transfers.ndjson";

/// Track a batch of transactions.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ImportArgs {
    /// A file: CSV with a header row, a JSON array or JSON lines, also compressed with gzip; `-` is standard input
    #[arg(add = ArgValueCompleter::new(completers::files))]
    pub file: PathBuf,
    /// The format of the file
    #[arg(long, value_enum, default_value_t)]
    pub format: FormatArg,
    /// Read and check the whole file, print what would change, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Keep reading: standard input to its end, or a growing file until ^C. Each line is tracked immediately. A bad
    /// line is reported and skipped
    #[arg(long, conflicts_with = "dry_run")]
    pub follow: bool,
    /// Accept any text as a chain ID; numbers and IDs such as osmosis-1 are always accepted
    #[arg(long)]
    pub any_chain: bool,
    /// Print one JSON object: the counts, the warnings and, without --follow, the bad lines
    #[arg(long)]
    pub json: bool,
}

impl ImportArgs {
    pub(crate) fn is_standard_input(&self) -> bool {
        self.file.as_os_str() == "-"
    }

    /// Returns the name of the file in messages.
    pub(super) fn file_name(&self) -> String {
        if self.is_standard_input() { "standard input".into() } else { text::clean_path(&self.file) }
    }

    fn read_options(&self) -> ReadOptions {
        ReadOptions { format: self.format.into(), allows_any_chain: self.any_chain, now: None }
    }
}

/// The values of `--format`. The comments of the variants are the help text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Detected by the first character
    #[default]
    Auto,
    /// A header row and a row for each transaction
    Csv,
    /// An array of objects
    Json,
    /// One object per line
    Ndjson,
}

impl From<FormatArg> for InputFormat {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Auto => Self::Auto,
            FormatArg::Csv => Self::Csv,
            FormatArg::Json => Self::Json,
            FormatArg::Ndjson => Self::Ndjson,
        }
    }
}

/// Tracks the transactions of the file, and prints the changes. `input` is read if the file is `-`.
pub(crate) fn import(args: &ImportArgs, input: &mut dyn Read, cx: &mut Context) -> color_eyre::Result<Exit> {
    let name = args.file_name();
    let (batch, found) = match spool(args, input, cx.now.wall) {
        Ok(spooled) => spooled,
        Err(ReadError::Bad { errors, lines }) => {
            print_line_errors(&errors, &name, cx.err)?;
            if args.json {
                let errors = errors.iter().map(ToString::to_string).collect();
                ImportTotals { dry_run: args.dry_run, errors, bad_lines: lines, ..Default::default() }.print(cx.out)?;
            }
            return Ok(Exit::Error);
        }
        Err(ReadError::Input(fault)) => {
            refuse(args, &unreadable(&name, &error_reason(&fault)), cx)?;
            return Ok(Exit::Error);
        }
        Err(ReadError::Callback(fault)) => return Err(fault.into()),
    };
    let mut warnings = found.warnings;
    warnings.extend(other_profiles_warning(&found.profiles, &cx.profile));
    for warning in &warnings {
        writeln!(cx.err, "warning: {warning}")?;
    }
    if args.dry_run {
        let preview = cx.store.reader()?.preview_import(&cx.profile, batch.as_ref())?;
        match args.json {
            true => ImportTotals::preview(&preview, warnings).print(cx.out)?,
            false => print_preview(preview, cx.out)?,
        }
    } else {
        let tracked = cx.store.track_batch(&cx.profile, batch, cx.now.wall).wait().and_then(OperationResult::tracked);
        let report = match tracked {
            Ok(report) => report,
            Err(error) => {
                print_refusal(args, &error.to_string(), cx)?;
                return Err(error.into());
            }
        };
        if let Some(notice) = report.other_profiles_notice() {
            let warning = format!("{notice}; each profile polls them");
            writeln!(cx.err, "warning: {warning}")?;
            warnings.push(warning);
        }
        match args.json {
            true => ImportTotals::report(&report, warnings).print(cx.out)?,
            false => print_report(&report, cx)?,
        }
    }
    Ok(Exit::Success)
}

/// Returns the sentence that a file can't be read.
fn unreadable(name: &str, reason: &str) -> String {
    format!("{name} can't be read: {reason}")
}

/// Prints why nothing is imported, as JSON too if that is asked for.
fn refuse(args: &ImportArgs, error: &str, cx: &mut Context) -> color_eyre::Result<()> {
    print_refusal(args, error, cx)?;
    Ok(writeln!(cx.err, "{error}")?)
}

/// Prints why nothing is imported as JSON, if that is asked for.
fn print_refusal(args: &ImportArgs, error: &str, cx: &mut Context) -> color_eyre::Result<()> {
    if args.json {
        let errors = vec![error.to_owned()];
        ImportTotals { dry_run: args.dry_run, errors, ..ImportTotals::default() }.print(cx.out)?;
    }
    Ok(())
}

/// Reads the whole file into a spool, so that the store is written only after every line was found valid.
fn spool(
    args: &ImportArgs,
    input: &mut dyn Read,
    now: DateTime<Utc>,
) -> Result<(Box<dyn Batch>, FileFindings), ReadError<SpoolError>> {
    let mut opened;
    let input = match args.is_standard_input() {
        true => input,
        false => {
            opened = open(&args.file).map_err(|reason| ReadError::Input(io::Error::other(reason)))?;
            &mut opened
        }
    };
    let mut input = intake::unpacking_reader(input).map_err(ReadError::Input)?;
    intake::read_batch(&mut input, &ReadOptions { now: Some(now), ..args.read_options() })
}

/// Returns a warning about rows that name another profile than the current one.
fn other_profiles_warning(profiles: &BTreeMap<String, usize>, own: &str) -> Option<String> {
    let others: Vec<_> = profiles.iter().filter(|(profile, _)| *profile != own).collect();
    let rows: usize = others.iter().map(|(_, rows)| **rows).sum();
    let of = match (rows, others.as_slice()) {
        (0, _) => return None,
        (1, [(profile, _), ..]) => format!("1 row names the profile {profile} but is"),
        (_, [(profile, _)]) => format!("{rows} rows name the profile {profile} but are"),
        (_, others) => format!("{rows} rows name {} other profiles but are", others.len()),
    };
    Some(format!("{of} tracked in {own}; choose another profile with --profile"))
}

/// Opens a file. Checks for a folder first, since some systems open a folder and fail only when it is read, with an
/// unclear error.
pub(crate) fn open(file: &Path) -> Result<File, String> {
    if file.is_dir() {
        return Err("it is a folder; choose a file in that folder".into());
    }
    File::open(file).map_err(|error| error_reason(&error))
}

/// Returns the reason why a file can't be read, and the way out.
pub(crate) fn error_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file; check the path".into(),
        io::ErrorKind::PermissionDenied => "permission is denied; check its permissions".into(),
        _ => text::clean(&error.to_string()),
    }
}

/// Prints the errors of bad lines, and that nothing was imported.
fn print_line_errors(errors: &[LineError], name: &str, err: &mut dyn io::Write) -> io::Result<()> {
    for error in errors {
        writeln!(err, "{error}")?;
    }
    let bad = errors.iter().filter(|error| error.position != InputPosition::File).count();
    let is_truncated = bad < errors.len();
    let is_item = |error: &LineError| matches!(error.position, InputPosition::Item(_));
    let counted = text::counted(bad, if errors.iter().any(is_item) { "bad item" } else { "bad line" });
    match (bad, is_truncated) {
        (0, _) => writeln!(err, "nothing was imported from {name}"),
        // The last error reports that more lines are bad than those that are named.
        (_, true) => writeln!(err, "nothing was imported: more than {counted} in {name}"),
        (_, false) => writeln!(err, "nothing was imported: {counted} in {name}"),
    }
}

/// Prints the changes that an import would make.
fn print_preview(ImportPreview { new, known, changed }: ImportPreview, out: &mut dyn io::Write) -> io::Result<()> {
    let readable = text::counted(new + known, "transaction");
    let changed = match changed {
        0 => String::new(),
        changed => format!(", {changed} of them would be updated"),
    };
    writeln!(out, "{readable} can be read: {new} new, {known} already tracked{changed}; nothing was written")
}

/// Prints the changes that an import made.
fn print_report(report: &ImportReport, cx: &mut Context) -> color_eyre::Result<()> {
    let (added, updated) = (report.added.count, report.updated.count);
    writeln!(cx.out, "{added} tracked, {updated} updated, {} already tracked", report.unchanged.count)?;
    if report.completed.count > 0 {
        writeln!(cx.out, "  {} of them took missing values from their quotes", report.completed.count)?;
    }
    if updated == 0 {
        return Ok(());
    }
    let reader = cx.store.reader()?;
    for (row, fields) in report.updated.listed.iter().take(MAX_NAMED_UPDATES) {
        if let Some(tx) = reader.header(*row)? {
            writeln!(cx.out, "  updated {}: {}", tx.params.transaction_id, fields.join(", "))?;
        }
    }
    if updated > MAX_NAMED_UPDATES {
        writeln!(cx.out, "  and {} more", updated - MAX_NAMED_UPDATES)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cli::context::testing::CommandFixture;

    const HEADER: &str = "transactionId,fromChainId,toChainId,quoteId,ticket";

    fn args(file: &str) -> ImportArgs {
        ImportArgs { file: file.into(), ..ImportArgs::default() }
    }

    /// Imports a text from a file. Returns standard output, standard error and the exit code.
    fn run(fixture: &mut CommandFixture, text: &str) -> (String, String, Exit) {
        let path = fixture.folder.path().join("batch.csv");
        fs::write(&path, text).unwrap();
        let args = args(path.to_str().unwrap());
        let (out, err, exit) = fixture.run(|cx| import(&args, &mut io::empty(), cx));
        (out, err.replace(args.file.to_str().unwrap(), "FILE"), exit.unwrap())
    }

    fn rows(count: usize, ticket: &str) -> String {
        (0..count).map(|number| format!("0xabcde{number:03x},42161,8453,q-{number},{ticket}\n")).collect()
    }

    #[test]
    fn imported_file_is_tracked_then_known_then_updated() {
        let mut fixture = CommandFixture::new();
        let first = format!("{HEADER}\n{}", rows(12, ""));
        let result = run(&mut fixture, &first);
        assert_eq!(result, ("12 tracked, 0 updated, 0 already tracked\n".into(), String::new(), Exit::Success));
        let result = run(&mut fixture, &first);
        assert_eq!(result, ("0 tracked, 0 updated, 12 already tracked\n".into(), String::new(), Exit::Success));
        let (out, ..) = run(&mut fixture, &format!("\u{feff}{HEADER}\r\n{}", rows(12, "SUP-1\r")));
        assert!(out.starts_with("0 tracked, 12 updated, 0 already tracked\n  updated 0xabcde000: ticket\n"), "{out}");
        assert!(out.ends_with("  and 2 more\n") && out.lines().count() == 12, "{out}");
    }

    #[test]
    fn refused_write_prints_the_json_of_an_import_that_failed() {
        let mut fixture = CommandFixture::new();
        let refusal = "CREATE TRIGGER refusal BEFORE INSERT ON transactions BEGIN SELECT RAISE(ABORT, 'refused'); END";
        rusqlite::Connection::open(fixture.store.path()).unwrap().execute_batch(refusal).unwrap();
        let path = fixture.folder.path().join("batch.csv");
        fs::write(&path, format!("{HEADER}\n{}", rows(1, ""))).unwrap();
        let args = ImportArgs { json: true, ..args(path.to_str().unwrap()) };
        let (out, _, exit) = fixture.run(|cx| import(&args, &mut io::empty(), cx));
        let printed: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(printed["imported"], false);
        assert!(printed["errors"][0].as_str().unwrap().contains("refused") && exit.is_err(), "{out}");
    }

    #[test]
    fn all_bad_lines_are_named_and_nothing_is_tracked() {
        let mut fixture = CommandFixture::new();
        let text = format!("{HEADER}\n{}0xabcdef12,arbitrum,8453,q,\n0xabcdef13,1,,q,\n", rows(1, ""));
        let (out, err, exit) = run(&mut fixture, &text);
        assert_eq!((out.as_str(), exit), ("", Exit::Error));
        let lines: Vec<_> = err.lines().collect();
        assert!(lines[0].starts_with("line 3: fromChainId: `arbitrum` is a chain name"), "{err}");
        assert!(lines[1].starts_with("line 4: toChainId is missing"), "{err}");
        assert_eq!(lines[2..], ["nothing was imported: 2 bad lines in FILE"]);
        assert!(fixture.transactions().is_empty());
    }

    #[test]
    fn missing_and_unknown_columns_are_named() {
        let mut fixture = CommandFixture::new();
        let (_, err, exit) = run(&mut fixture, "transactionId,fromChainId,toChainId\n0xabcdef12,1,10\n");
        assert!(err.contains("quoteId") && err.contains("nothing was imported"), "{err}");
        assert_eq!(exit, Exit::Error);
        let text = "transactionId,fromChainId,toChainId,quoteId,mood\u{1b}[5m\n0xabcdef12,1,10,q,x\n";
        let (out, err, _) = run(&mut fixture, text);
        assert_eq!(err, "warning: unknown column `mood[5m` ignored\n");
        assert_eq!(out, "1 tracked, 0 updated, 0 already tracked\n");
    }

    #[test]
    fn rows_of_another_profile_are_counted_in_one_warning() {
        let mut fixture = CommandFixture::new();
        let row = |number: usize, profile: &str| format!("0xabcde{number:03x},42161,8453,q,{profile}\n");
        let header = "transactionId,fromChainId,toChainId,quoteId,Profile\n";
        let text = [header, &row(1, "default"), &row(2, "prod"), &row(3, ""), &row(4, "prod")].concat();
        let (_, err, exit) = run(&mut fixture, &text);
        assert_eq!(
            (err.as_str(), exit),
            (
                "warning: 2 rows name the profile prod but are tracked in default; choose another profile with --profile\n",
                Exit::Success
            )
        );
        let (_, err, _) = run(&mut fixture, &[header, &row(1, "default")].concat());
        assert_eq!(err, "");
        // A `profile` field of another kind is no error.
        let text = r#"{"transactionId":"0xabcdef12","fromChainId":1,"toChainId":10,"quoteId":"q","profile":{"a":1}}"#;
        assert_eq!(run(&mut fixture, text).2, Exit::Success);
    }

    #[test]
    fn standard_input_is_read_in_the_requested_format() {
        let mut fixture = CommandFixture::new();
        let text = r#"[{"transactionId":"0xabcdef12","fromChainId":"mars","toChainId":"10","quoteId":"q"}]"#;
        let refused = fixture.run(|cx| import(&args("-"), &mut text.as_bytes(), cx).unwrap());
        assert!(refused.1.ends_with("nothing was imported: 1 bad item in standard input\n"), "{}", refused.1);
        let taken = ImportArgs { any_chain: true, format: FormatArg::Json, ..args("-") };
        let (out, _, exit) = fixture.run(|cx| import(&taken, &mut text.as_bytes(), cx));
        assert_eq!((out.as_str(), exit.unwrap()), ("1 tracked, 0 updated, 0 already tracked\n", Exit::Success));
    }

    #[test]
    fn dry_run_counts_and_writes_nothing() {
        let mut fixture = CommandFixture::new();
        run(&mut fixture, &format!("{HEADER}\n{}", rows(1, "")));
        let text = format!("{HEADER}\n{}", rows(3, "SUP-1"));
        let dry = ImportArgs { dry_run: true, ..args("-") };
        let (out, _, exit) = fixture.run(|cx| import(&dry, &mut text.as_bytes(), cx));
        assert_eq!(
            out,
            "3 transactions can be read: 2 new, 1 already tracked, 1 of them would be updated; nothing was written\n"
        );
        assert_eq!(exit.unwrap(), Exit::Success);
        assert_eq!(fixture.transactions().len(), 1);
        assert_eq!(fixture.transactions()[0].params.ticket, None);
    }

    #[test]
    fn gzip_file_and_input_are_read_and_an_incomplete_one_imports_nothing() {
        let mut fixture = CommandFixture::new();
        let pack = |text: &str| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        };
        let packed = pack(&format!("{HEADER}\n{}", rows(500, "SUP-1")));
        let path = fixture.folder.path().join("batch.csv.gz");
        fs::write(&path, &packed[..packed.len() - 9]).unwrap();
        let file = args(path.to_str().unwrap());
        let (out, err, exit) = fixture.run(|cx| import(&file, &mut io::empty(), cx));
        assert!(
            out.is_empty() && err.contains("the gzip data is incomplete, or followed by other bytes"),
            "{out}{err}"
        );
        assert_eq!((exit.unwrap(), fixture.transactions().len()), (Exit::Error, 0));
        fs::write(&path, &packed).unwrap();
        let (out, err, _) = fixture.run(|cx| import(&file, &mut io::empty(), cx));
        assert_eq!((out.as_str(), err.as_str()), ("500 tracked, 0 updated, 0 already tracked\n", ""));
        let (out, ..) = fixture.run(|cx| import(&args("-"), &mut packed.as_slice(), cx));
        assert_eq!(out, "0 tracked, 0 updated, 500 already tracked\n");
        // A bad line inside is named with its number.
        let bad = pack(&format!("{HEADER}\n0xabcdef12,mars,10,q,\n"));
        let (_, err, _) = fixture.run(|cx| import(&args("-"), &mut bad.as_slice(), cx));
        assert!(err.starts_with("line 2: fromChainId: `mars`"), "{err}");
    }

    #[test]
    fn unreadable_path_is_printed_without_its_escape_sequences() {
        let mut fixture = CommandFixture::new();
        let (_, err, exit) = fixture.run(|cx| import(&args("no\u{1b}[31m.csv"), &mut io::empty(), cx));
        assert_eq!(err, "no[31m.csv can't be read: there is no such file; check the path\n");
        assert_eq!(exit.unwrap(), Exit::Error);
        let folder = args(fixture.folder.path().to_str().unwrap());
        let (_, err, _) = fixture.run(|cx| import(&folder, &mut io::empty(), cx));
        assert!(err.ends_with("can't be read: it is a folder; choose a file in that folder\n"), "{err}");
    }
}
