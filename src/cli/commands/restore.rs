//! `hoptop restore`: puts a backup in the place of the store.
//!
//! The command must never run on a team's store, whose content is in PostgreSQL.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::{Result, bail};

use super::backup::size;
use crate::{
    cli::completers,
    clock::Clock,
    config::Settings,
    domain::text,
    runtime::exit::{Exit, UsageError},
    store::{RestoreReport, Store},
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
hoptop checks the backup first, and doesn't change it. The previous store is kept as hoptop.db.before-restore-TIME. \
Stop every hoptop that uses the store first; otherwise the command refuses.

Examples:
  # Restore a copy that `hoptop backup` wrote
  hoptop restore ~/hoptop-before-the-move.db
  # Restore a daily backup
  hoptop restore backups/hoptop.db.20260101T000000Z.backup
  # Restore into another store
  hoptop --db /srv/hoptop/hoptop.db restore /mnt/stick/hoptop.db";

/// The arguments of `hoptop restore`.
#[derive(Args, Debug)]
pub(crate) struct RestoreArgs {
    /// The backup, as `hoptop backup` or the daily backup wrote it
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(completers::files))]
    pub file: PathBuf,
}

/// Restores the backup at the path of the settings' store, and prints the contents.
pub(crate) fn restore(args: &RestoreArgs, settings: &Settings) -> Result<Exit> {
    if args.file.as_os_str() == "-" {
        return Err(UsageError("a backup can't come through a pipe; name a file".to_owned()).into());
    }
    if settings.store.is_some() {
        bail!("the store is a team's, and its content is in PostgreSQL: restore the database from its own backup")
    }
    let RestoreReport { transactions, was_replica, bytes, kept } =
        Store::restore(&args.file, &settings.db, Clock::system().now().wall)?;
    let (file, db) = (text::clean_path(&args.file), text::clean_path(&settings.db));
    let mut out = io::stdout();
    let transactions = text::counted(transactions, "transaction");
    writeln!(out, "{db}: {transactions} from {file}, {}, verified", size(bytes))?;
    if was_replica {
        writeln!(
            out,
            "the backup was made of a team's store; the restored store is this machine's own, without the team"
        )?;
    }
    if let Some(kept) = kept {
        writeln!(out, "the previous store is kept as {}", text::clean_path(&kept))?;
    }
    Ok(Exit::Success)
}
