//! `hoptop backup`: writes a verified copy of the store to a file, and makes the daily backup after short commands.
//!
//! The command must never leave an incomplete file, replace a file without `--force`, or delay another command
//! noticeably.

use std::{
    env,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::{Result, WrapErr, bail};

use crate::{
    cli::{completers, context::Context, output::target::OutputTarget},
    clock::Clock,
    domain::text,
    runtime::{
        exit::{Exit, UsageError},
        signals,
    },
    store::{self, BackupDue, BackupReport, ExistingFilePolicy, Store},
};

/// The largest store, in bytes, whose daily backup is made at once; it takes a second at most.
const MAX_INLINE_BYTES: u64 = 32 << 20;

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
`hoptop --db FILE list` reads the copy, and `hoptop restore FILE` restores it. hoptop makes a backup each day, in \
the folder `backups` beside the store, and keeps the last seven.

Examples:
  # Write a copy to a new file
  hoptop backup ~/hoptop-before-the-move.db
  # Replace an earlier copy
  hoptop backup /mnt/stick/hoptop.db --force
  # Make the daily backup in `backups`, if it is due
  hoptop backup --daily";

/// The arguments of `hoptop backup`.
#[derive(Args, Debug)]
pub(crate) struct BackupArgs {
    /// The file to write
    #[arg(value_name = "FILE", required_unless_present = "daily", add = ArgValueCompleter::new(completers::files))]
    pub file: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
    /// Make the daily backup beside the store if it is due, and delete all but the last seven
    #[arg(long, conflicts_with_all = ["file", "force"])]
    pub daily: bool,
}

/// Writes the copy, and prints its contents.
pub(crate) fn backup(args: &BackupArgs, cx: &mut Context) -> Result<Exit> {
    let Some(file) = &args.file else { bail!("choose a file to write") };
    let shown = text::clean_path(file);
    if file.as_os_str() == "-" {
        return Err(UsageError(
            "a backup can't go through a pipe; name a file (`./-` for a file of that name)".to_owned(),
        )
        .into());
    }
    let target = match OutputTarget::of_backup(file, cx.store.path()) {
        Ok(OutputTarget::File { path, .. }) => path,
        Ok(OutputTarget::Device(_)) => bail!("{shown} can't be written: it is a device; choose another name"),
        Err(reason) => bail!("{shown} can't be written: {reason}"),
    };
    let existing = if args.force { ExistingFilePolicy::Replace } else { ExistingFilePolicy::Keep };
    let signals = signals::FirstSignal::listen()?;
    let copied = cx.store.backup(&target, existing, &|| signals.exit().is_none());
    if let (Err(_), Some(exit)) = (&copied, signals.exit()) {
        writeln!(cx.err, "interrupted: no backup was written to {shown}")?;
        return Ok(exit);
    }
    writeln!(cx.out, "{shown}: {}", describe(&copied?))?;
    if !cx.store.reader()?.damaged_values(1)?.is_empty() {
        writeln!(cx.err, "the store has damaged values, and the backup has them too; run `hoptop doctor`")?;
    }
    Ok(Exit::Success)
}

/// Makes the daily backup of the store at `path` if it is due, and prints the result. Changes nothing in the store.
pub(crate) fn daily(path: &Path) -> Result<Exit> {
    let signals = signals::FirstSignal::listen()?;
    let result = Store::backup_if_due(path, Clock::system().now().wall, &|| signals.exit().is_none());
    if let (Err(_), Some(exit)) = (&result, signals.exit()) {
        writeln!(io::stderr(), "interrupted: the daily backup was not made")?;
        return Ok(exit);
    }
    let sentence = result?.map_or_else(
        || "no daily backup was made: it is not due, another hoptop is making it, or nothing is tracked".to_owned(),
        |report| format!("daily backup: {}", describe(&report)),
    );
    writeln!(io::stdout(), "{sentence}")?;
    Ok(Exit::Success)
}

/// Makes the daily backup after a command, if it is due. A larger store is backed up in a separate process, so that the
/// command doesn't wait.
pub(crate) fn back_up_if_due(store: &Store) -> Result<()> {
    if store.fault().is_some() {
        return Ok(());
    }
    let now = Clock::system().now().wall;
    if store::file_sizes(store.path()).0 <= MAX_INLINE_BYTES {
        return Ok(Store::backup_if_due(store.path(), now, &|| true).map(drop)?);
    }
    match store.backup_due(now)? {
        BackupDue::No => return Ok(()),
        BackupDue::Failed(reason) => bail!("the daily backup was not made: {reason}"),
        BackupDue::Now => {}
    }
    let mut command = Command::new(env::current_exe().wrap_err("the daily backup can't be made")?);
    command.arg("--db").arg(store.path()).args(["backup", "--daily"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // In a process group of its own, a signal to the command's group, such as ^C, doesn't end the backup.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // This process ends without waiting, and the system adopts the child.
    command.spawn().map(drop).wrap_err("the daily backup can't be made")
}

fn describe(BackupReport { transactions, bytes }: &BackupReport) -> String {
    format!("{}, {}, verified", text::counted(*transactions, "transaction"), size(*bytes))
}

/// Returns a number of bytes as text with a decimal unit, such as `12.3 MB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::context::testing::CommandFixture,
        domain::fixtures,
        store::{Store, testing},
    };

    #[test]
    fn backup_reports_its_content_and_replaces_a_file_only_with_force() {
        let mut fixture = CommandFixture::new();
        fixture.track(fixtures::new(1));
        let mut args = BackupArgs { file: Some(fixture.folder.path().join("copy.db")), force: false, daily: false };
        let (out, _, exit) = fixture.run(|cx| backup(&args, cx));
        assert_eq!(exit.unwrap(), Exit::Success);
        assert!(out.contains("copy.db: 1 transaction, ") && out.ends_with(" kB, verified\n"), "{out}");
        let refused = fixture.run(|cx| backup(&args, cx)).2.unwrap_err().to_string();
        assert!(refused.contains("already exists") && refused.contains("--force"), "{refused}");
        fixture.track(fixtures::new(2));
        args.force = true;
        fixture.run(|cx| backup(&args, cx)).2.unwrap();
        let copy = Store::open(&args.file.unwrap()).unwrap();
        assert_eq!(testing::load_transactions(&copy.reader().unwrap()).len(), 2);
    }

    #[test]
    fn backup_refuses_the_store_and_a_folder_as_target() {
        let mut fixture = CommandFixture::new();
        for (file, word) in [
            (fixture.store.path().to_owned(), "belongs to the store"),
            (fixture.folder.path().to_owned(), "folder"),
            ("-".into(), "can't go through a pipe"),
        ] {
            let refused = fixture
                .run(|cx| backup(&BackupArgs { file: Some(file), force: true, daily: false }, cx))
                .2
                .unwrap_err()
                .to_string();
            assert!(refused.contains(word), "{refused}");
        }
    }

    #[test]
    fn size_has_a_decimal_unit() {
        assert_eq!([999, 1_000, 12_345_678, 2_000_000_000].map(size), ["999 bytes", "1.0 kB", "12.3 MB", "2.0 GB"]);
    }
}
