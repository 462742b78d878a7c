//! `hoptop store move`: copies a SQLite file into an empty team's store, or a team's store into a new SQLite file.
//!
//! The source keeps its content. The module must never write to a team's store that has entries, nor to a file that
//! exists.

use std::{
    io::{self, Write},
    path::Path,
};

use clap::Args;
use color_eyre::eyre::{Result, WrapErr, ensure};
use sha2::{Digest, Sha256};
use tempfile::TempPath;

use crate::{
    clock::Clock,
    domain::{
        team::{LogPosition, Nonce},
        text,
    },
    process::files,
    runtime::{
        exit::Exit,
        team_store::{self, TeamAccess},
        tokio_runtime,
    },
    store::{Store, payload},
    team::{TeamDatabase, upload_snapshot},
};

const NO_FOLDER: &str = "can't create a temporary folder; free some space, or set TMPDIR to another folder";
/// How to empty a store, while nobody writes.
const HOW_TO_EMPTY: &str = "to empty the store, which deletes all of its data, quit hoptop on all machines, run \
                            `DROP SCHEMA hoptop CASCADE` in the database as its owner, then `hoptop store init`, and \
                            move each machine's copy of the store away";

/// The arguments of `hoptop store move`.
#[derive(Args, Debug)]
pub(super) struct MoveArgs {
    /// What to copy: the path of a SQLite file, or postgres://HOST/DATABASE
    from: String,
    /// Destination: an empty team's store (postgres://HOST/DATABASE), or the path of a new file
    to: String,
}

impl MoveArgs {
    /// The address of the team's store.
    pub(super) fn address(&self) -> Option<&str> {
        [&self.from, &self.to].into_iter().find(|location| is_address(location)).map(String::as_str)
    }

    /// Whether one argument is a file and the other one an address.
    pub(super) fn is_between_file_and_team(&self) -> bool {
        is_address(&self.from) != is_address(&self.to)
    }
}

fn is_address(location: &str) -> bool {
    location.contains("://")
}

/// What a store holds, to compare it with its copy.
struct StoreContent {
    rows: u64,
    transactions: u64,
    digest: String,
}

/// Copies a store, and compares the copy with it.
pub(super) fn relocate(args: &MoveArgs, team: &TeamAccess) -> Result<Exit> {
    let (from, to) = match is_address(&args.to) {
        true => move_into_team(Path::new(&args.from), team)?,
        false => move_out_of_team(team, Path::new(&args.to))?,
    };
    ensure!(from.digest == to.digest, "the copy differs from {}; don't use it", text::clean(&args.from));
    writeln!(
        io::stdout(),
        "copied {} transactions ({} rows) to {}; checksum {} on both sides",
        from.transactions,
        from.rows,
        text::clean(&args.to),
        from.digest
    )?;
    Ok(Exit::Success)
}

fn move_into_team(from: &Path, access: &TeamAccess) -> Result<(StoreContent, StoreContent)> {
    ensure!(from.exists(), "there is no store at {}", text::clean_path(from));
    // A store of an earlier version is migrated, with a backup before.
    let source = Store::open_permanent(from, Clock::system().now().wall)?;
    let folder = tempfile::Builder::new().prefix("hoptop-").tempdir().wrap_err(NO_FOLDER)?;
    let path = folder.path().join("snapshot.db");
    tokio_runtime::start()?.block_on(async {
        let database = TeamDatabase::connect(&access.connector).await?;
        let info = database.connection_info().await?;
        ensure!(
            database.log_bounds(0).await?.head.seq == 0,
            "{} has entries already, and a store can be moved only into an empty one; {HOW_TO_EMPTY}",
            access.connector.address()
        );
        // A log that begins with its second entry can't be read without the snapshot. It begins in one transaction,
        // last, so that a copy that fails leaves the team's store empty, and no machine reads the first entry.
        let nonces = [Nonce(rand::random()), Nonce(rand::random())];
        let position = LogPosition { seq: 2, nonce: nonces[1] };
        source.write_first_snapshot(&path, info.team, position)?;
        let snapshot = upload_snapshot(&database, &path, position, 0).await?;
        let is_complete = database.create_log(nonces, &payload::encode(&[])?, &snapshot).await?;
        ensure!(is_complete, "somebody else wrote to the team's store meanwhile; {HOW_TO_EMPTY}");
        Ok(())
    })?;
    let copy = folder.path().join("replica.db");
    // Another process may have written to the source since the snapshot.
    Ok((load_content(&Store::open(&path)?)?, load_content(&team_store::open_new_replica(access, &copy)?)?))
}

fn move_out_of_team(access: &TeamAccess, to: &Path) -> Result<(StoreContent, StoreContent)> {
    ensure!(!to.exists(), "{} exists already; name a new file", text::clean_path(to));
    let folder = tempfile::Builder::new().prefix("hoptop-").tempdir().wrap_err(NO_FOLDER)?;
    let replica = team_store::open_new_replica(access, &folder.path().join("replica.db"))?;
    // The copy gets its name when it is whole.
    let beside = files::folder_of(to);
    let unfinished = tempfile::Builder::new().prefix(".hoptop-").tempdir_in(beside).wrap_err_with(|| {
        format!("can't write into {}; create the folder, or name another file", text::clean_path(beside))
    })?;
    let copy = unfinished.path().join("copy.db");
    replica.write_alone(&copy)?;
    let contents = (load_content(&replica)?, load_content(&Store::open(&copy)?)?);
    let named = TempPath::try_from_path(copy)?.persist_noclobber(to);
    named.wrap_err_with(|| format!("can't create {}", text::clean_path(to)))?;
    Ok(contents)
}

fn load_content(store: &Store) -> Result<StoreContent> {
    let reader = store.reader()?;
    let (mut rows, mut digest) = (0, Sha256::new());
    let mut transactions = 0;
    for table in reader.checksums()? {
        rows += table.rows;
        digest.update(table.table);
        digest.update(&table.digest);
        if table.table == "transactions" {
            transactions = table.rows;
        }
    }
    let digest = text::hex(&digest.finalize()).chars().take(16).collect();
    Ok(StoreContent { rows, transactions, digest })
}
