//! `hoptop backup`: a verified copy of the store in one file; and the day's, after commands that are over in a moment.
//!
//! It must never leave half a file, nor take the place of one unasked, nor keep anybody waiting who asked for something else.

use std::{
    env,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use clap::Args;
use color_eyre::eyre::{Result, WrapErr, bail};

use super::{context::Context, exit::Exit, signals};
use crate::{
    clock::Clock,
    domain::text,
    store::{BackupDue, BackupReport, Existing, Store},
};

/// The day's backup of a store of so many bytes takes a second at most.
const SMALL: u64 = 32 << 20;

/// What is shown below the help.
pub const EXAMPLES: &str = "\
The copy is a store like any other: `hoptop --db FILE list` shows it. To go back to it, end every hoptop, move the store away
with what lies beside it (hoptop.db, hoptop.db-wal and hoptop.db-shm: a log that stays would damage the copy), and put the copy
in its place. hoptop makes such a copy each day by itself, beside the store in `backups`, and keeps the last seven.

Examples:
  hoptop backup ~/hoptop-before-the-move.db
  hoptop backup /mnt/stick/hoptop.db --force
  hoptop backup --daily                            the day's, in `backups`, unless it is there";

/// Where the copy goes.
#[derive(Args, Debug)]
pub struct BackupArgs {
    /// The file to write
    #[arg(value_name = "FILE", required_unless_present = "daily")]
    pub file: Option<PathBuf>,
    /// Replace the file if it is there already
    #[arg(long)]
    pub force: bool,
    /// Make the day's backup beside the store if it is due, and drop what is older than the last seven
    #[arg(long, conflicts_with_all = ["file", "force"])]
    pub daily: bool,
}

/// Writes the copy, and says what is in it.
pub fn backup(args: &BackupArgs, cx: &mut Context) -> Result<Exit> {
    let Some(file) = &args.file else { bail!("name the file to write") };
    let shown = text::clean_path(file);
    if file.is_dir() {
        bail!("{shown} is a folder; name the file to write in it");
    }
    if is_same(file, cx.store.path()) {
        bail!("{shown} is the store itself; name another file");
    }
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    let signals = signals::SignalStream::open()?;
    let copied = cx.store.backup(file, existing, &|| signals.exit().is_none());
    if let (Err(_), Some(exit)) = (&copied, signals.exit()) {
        writeln!(cx.err, "interrupted: no backup was written to {shown}")?;
        return Ok(exit);
    }
    writeln!(cx.out, "{shown}: {}", made(&copied?))?;
    Ok(Exit::Fine)
}

/// Makes the day's backup of the store at `path` if it is due, and says so. It only reads the store.
pub fn daily(path: &Path) -> Result<Exit> {
    let signals = signals::SignalStream::open()?;
    let made_now = Store::backup_if_due(path, Clock::system().now().wall, &|| signals.exit().is_none());
    if let (Err(_), Some(exit)) = (&made_now, signals.exit()) {
        writeln!(io::stderr(), "interrupted: the day's backup wasn't made")?;
        return Ok(exit);
    }
    let said = made_now?.map_or_else(
        || "the day's backup isn't due, or another hoptop is making it, or there is nothing to keep".to_owned(),
        |report| format!("the day's backup: {}", made(&report)),
    );
    writeln!(io::stdout(), "{said}")?;
    Ok(Exit::Fine)
}

/// Sees to the day's backup after a command: of a small store it is made at once, of a larger one by a process of its own, so that
/// nobody waits for it.
pub(super) fn after_a_command(store: &Store) -> Result<()> {
    let now = Clock::system().now().wall;
    match store.trouble() {
        Some(_) => return Ok(()),
        None if store.sizes().0 <= SMALL => return Ok(Store::backup_if_due(store.path(), now, &|| true).map(drop)?),
        None => {}
    }
    match store.backup_due(now)? {
        BackupDue::No => return Ok(()),
        BackupDue::Failed(reason) => bail!("the day's backup wasn't made: {reason}"),
        BackupDue::Now => {}
    }
    let mut command = Command::new(env::current_exe().wrap_err("the day's backup can't be made")?);
    command.arg("--db").arg(store.path()).args(["backup", "--daily"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // What ends the command's group, such as ^C, is none of its business.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // Nobody waits for it: this process ends at once, and the system takes it over.
    command.spawn().map(drop).wrap_err("the day's backup can't be made")
}

fn made(BackupReport { transactions, bytes }: &BackupReport) -> String {
    format!("{transactions} transactions, {}, verified", size(*bytes))
}

fn is_same(file: &Path, store: &Path) -> bool {
    matches!((file.canonicalize(), store.canonicalize()), (Ok(file), Ok(store)) if file == store)
}

/// Bytes as people read them.
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::context::testing::Bench, *};
    use crate::{
        domain::fixtures,
        store::{Store, testing},
    };

    #[test]
    fn a_backup_says_what_is_in_it_and_replaces_only_when_asked() {
        let mut bench = Bench::new();
        bench.track(fixtures::new(1));
        let mut args = BackupArgs { file: Some(bench.folder.path().join("copy.db")), force: false, daily: false };
        let (out, _, exit) = bench.run(|cx| backup(&args, cx));
        assert_eq!(exit.unwrap(), Exit::Fine);
        assert!(out.contains("copy.db: 1 transactions, ") && out.ends_with(" kB, verified\n"), "{out}");
        let refused = bench.run(|cx| backup(&args, cx)).2.unwrap_err().to_string();
        assert!(refused.contains("exists already") && refused.contains("--force"), "{refused}");
        bench.track(fixtures::new(2));
        args.force = true;
        bench.run(|cx| backup(&args, cx)).2.unwrap();
        let copy = Store::open(&args.file.unwrap()).unwrap();
        assert_eq!(testing::load_transactions(&copy.reader().unwrap()).len(), 2);
    }

    #[test]
    fn the_store_and_a_folder_are_no_place_for_it() {
        let mut bench = Bench::new();
        for (file, word) in [(bench.store.path().to_owned(), "itself"), (bench.folder.path().to_owned(), "folder")] {
            let refused = bench
                .run(|cx| backup(&BackupArgs { file: Some(file), force: true, daily: false }, cx))
                .2
                .unwrap_err()
                .to_string();
            assert!(refused.contains(word), "{refused}");
        }
    }

    #[test]
    fn sizes_are_read_by_people() {
        assert_eq!([999, 1_000, 12_345_678, 2_000_000_000].map(size), ["999 bytes", "1.0 kB", "12.3 MB", "2.0 GB"]);
    }
}
