//! `hoptop backup`: a verified copy of the store in one file.
//!
//! It must never leave half a file, nor take the place of one unasked.

use std::path::{Path, PathBuf};

use clap::Args;
use color_eyre::eyre::{Result, bail};

use super::{context::Context, exit::Exit, signals};
use crate::{
    domain::text,
    store::{BackupReport, Existing},
};

/// What is shown below the help.
pub const EXAMPLES: &str = "\
The copy is a store like any other: `hoptop --db FILE list` shows it. To go back to it, end every hoptop, move the store away
with what lies beside it (hoptop.db, hoptop.db-wal and hoptop.db-shm: a log that stays would damage the copy), and put the copy
in its place. hoptop makes such a copy each day by itself, beside the store in `backups`, and keeps the last seven.

Examples:
  hoptop backup ~/hoptop-before-the-move.db
  hoptop backup /mnt/stick/hoptop.db --force";

/// Where the copy goes.
#[derive(Args, Debug)]
pub struct BackupArgs {
    /// The file to write
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Replace the file if it is there already
    #[arg(long)]
    pub force: bool,
}

/// Writes the copy, and says what is in it.
pub fn backup(args: &BackupArgs, cx: &mut Context) -> Result<Exit> {
    let shown = text::clean_path(&args.file);
    if args.file.is_dir() {
        bail!("{shown} is a folder; name the file to write in it");
    }
    if is_same(&args.file, cx.store.path()) {
        bail!("{shown} is the store itself; name another file");
    }
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    let ear = signals::Ear::open()?;
    let copied = cx.store.backup(&args.file, existing, &|| ear.exit().is_none());
    if let (Err(_), Some(exit)) = (&copied, ear.exit()) {
        writeln!(cx.err, "interrupted: no backup was written to {shown}")?;
        return Ok(exit);
    }
    let BackupReport { transactions, bytes } = copied?;
    writeln!(cx.out, "{shown}: {transactions} transactions, {}, verified", size(bytes))?;
    Ok(Exit::Fine)
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
    use crate::{domain::fixtures, store::Store};

    #[test]
    fn a_backup_says_what_is_in_it_and_replaces_only_when_asked() {
        let mut bench = Bench::new();
        bench.track(fixtures::new(1));
        let mut args = BackupArgs { file: bench.folder.path().join("copy.db"), force: false };
        let (out, _, exit) = bench.run(|cx| backup(&args, cx));
        assert_eq!(exit.unwrap(), Exit::Fine);
        assert!(out.contains("copy.db: 1 transactions, ") && out.ends_with(" kB, verified\n"), "{out}");
        let refused = bench.run(|cx| backup(&args, cx)).2.unwrap_err().to_string();
        assert!(refused.contains("exists already") && refused.contains("--force"), "{refused}");
        bench.track(fixtures::new(2));
        args.force = true;
        bench.run(|cx| backup(&args, cx)).2.unwrap();
        assert_eq!(Store::open(&args.file).unwrap().reader().unwrap().load().unwrap().0.len(), 2);
    }

    #[test]
    fn the_store_and_a_folder_are_no_place_for_it() {
        let mut bench = Bench::new();
        for (file, word) in [(bench.store.path().to_owned(), "itself"), (bench.folder.path().to_owned(), "folder")] {
            let refused = bench.run(|cx| backup(&BackupArgs { file, force: true }, cx)).2.unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
    }

    #[test]
    fn sizes_are_read_by_people() {
        assert_eq!([999, 1_000, 12_345_678, 2_000_000_000].map(size), ["999 bytes", "1.0 kB", "12.3 MB", "2.0 GB"]);
    }
}
