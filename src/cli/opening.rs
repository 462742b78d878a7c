//! Opens the store for a command, and runs the command on the store.
//!
//! The module must never create a store for a command that only reads.

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
    time::Duration,
};

use color_eyre::eyre::{Report, Result, WrapErr, bail};
use tempfile::TempDir;

use super::{commands::backup, context::Context};
use crate::{
    clock::{self, Clock},
    config::Settings,
    domain::{
        team::{TeamLink, TeamStatus},
        text,
    },
    runtime::{
        exit::Exit,
        stderr::{IgnoreClosedPipe, ResultOutput, error_line, print_at_once, print_line},
        team_store::{self, TeamAccess},
    },
    store::{LockAnnouncement, Reader, Store, StoreError, StoreFault},
};

/// The settings, and the access to the team's store if the settings name one.
pub(crate) struct LoadedSettings {
    pub(crate) settings: Settings,
    pub(crate) team: Option<TeamAccess>,
}

/// The longest wait of a command for the team's database.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// The longest wait of a command for the entries that the team has written.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(60);

/// What a command needs of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreUse {
    /// The command only reads an existing store, which may be a backup. A missing one isn't created.
    Read,
    /// Like [`StoreUse::Read`], for a command whose exit code tells more than that it printed.
    Examined,
    /// The command reads or changes an existing store. A missing one isn't created, since its path may be mistyped.
    Existing,
    /// The command creates a missing store.
    Created,
    /// The command creates a missing store, and reports on it even if the team's store refuses this machine.
    Inspected,
    /// The command stores nothing that lasts: it runs on a temporary empty store, and doesn't open the store of the
    /// settings.
    Temporary,
}

/// Opens the store and runs a command that doesn't poll. A command that needs an existing store runs on a temporary
/// empty one if there is none.
pub(crate) fn with_context(
    settings: &Settings,
    team: Option<&TeamAccess>,
    store_use: StoreUse,
    work: impl FnOnce(&mut Context<'_>) -> Result<Exit>,
) -> Result<Exit> {
    let needs_existing = matches!(store_use, StoreUse::Read | StoreUse::Examined | StoreUse::Existing);
    let is_missing = needs_existing && team.is_none() && Store::has_no_store_at(&settings.db);
    // On a terminal only: a script gets the output for an empty store.
    if is_missing && io::stderr().is_terminal() {
        print_line(&format!("there is no store at {} yet: nothing is tracked", text::clean_path(&settings.db)));
    }
    let is_read_only = matches!(store_use, StoreUse::Read | StoreUse::Examined | StoreUse::Inspected);
    let is_temporary = is_missing || store_use == StoreUse::Temporary;
    let temporary = is_temporary.then(open_temporary).transpose()?;
    // A write that waits is announced too.
    let _announcement = LockAnnouncement::start(&settings.db, print_at_once);
    // Also with a team's store: following it would write its present content into the backup.
    let backup = match temporary.is_none() && is_read_only {
        true => Store::open_unused_backup(&settings.db)?,
        false => None,
    };
    let store = match (&temporary, backup) {
        (Some((store, _)), _) => store.clone(),
        (None, Some(backup)) => backup,
        (None, None) => open_store(settings, team)?,
    };
    wait_for_team(&store, store_use)?;
    // A command that only prints ends when its reader is gone. Any other one ends with its own exit code.
    let changes_store = match store_use {
        StoreUse::Existing | StoreUse::Created => true,
        StoreUse::Read | StoreUse::Examined | StoreUse::Inspected | StoreUse::Temporary => false,
    };
    let stdout = ResultOutput { output: io::stdout().lock(), changes_store };
    let stdout: Box<dyn Write> =
        if store_use == StoreUse::Read { Box::new(stdout) } else { Box::new(IgnoreClosedPipe(stdout)) };
    let mut out = io::BufWriter::new(stdout);
    let exit = work(&mut Context {
        store: store.clone(),
        profile: settings.profile.clone(),
        now: Clock::system().now(),
        zone: clock::local_offset(),
        out: &mut out,
        err: &mut IgnoreClosedPipe(io::stderr().lock()),
        ellipsis: if settings.is_ascii { ".." } else { "…" },
        out_is_terminal: io::stdout().is_terminal(),
        // The output for a script must not depend on the environment.
        is_in_words: settings.is_plain && io::stdout().is_terminal(),
    });
    let exit = exit.inspect_err(|report| report_damage(&store, report))?;
    out.flush()?;
    if temporary.is_none()
        && let Err(report) = backup::back_up_if_due(&store)
    {
        print_line(&format!("warning: {}", error_line(&report)));
    }
    Ok(exit)
}

/// Opens a temporary empty store. Returns the store and its folder, which is removed when it is dropped.
pub(crate) fn open_temporary() -> Result<(Store, TempDir)> {
    let folder = tempfile::Builder::new().prefix("hoptop-").tempdir().wrap_err("can't create a temporary store")?;
    Ok((Store::open(&folder.path().join("empty.db"))?, folder))
}

/// Opens the store. Prints a notice if the store was recovered or if a part of it is missing.
pub(crate) fn open_store(settings: &Settings, team: Option<&TeamAccess>) -> Result<Store> {
    let _announcement = LockAnnouncement::start(&settings.db, print_at_once);
    let store = Store::open_permanent(&settings.db, Clock::system().now().wall)?.with_author(settings.author.clone());
    if let Some(notice) = store.notice() {
        print_line(&text::clean(&notice));
    }
    match team {
        Some(team) => team.follow(store),
        // Without the team, the entries of a replica would reach no log. A backup gets no entries.
        None if !matches!(store.fault(), Some(StoreFault::IsBackup(_))) && store.reader()?.replica()?.is_some() => {
            Err(StoreError::ReplicaAlone.into())
        }
        None => Ok(store),
    }
}

/// Waits until the replica has all entries that the team has written. If the database is away, the command goes on with
/// the entries of the replica.
pub(super) fn wait_for_team(store: &Store, store_use: StoreUse) -> Result<()> {
    let Some(status) = store.team() else { return Ok(()) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let TeamStatus { link, loss, .. } = runtime.block_on(async {
        let soon = team_store::wait_for_log(status.clone(), Some(CONNECT_LIMIT)).await;
        if soon.link != TeamLink::CatchingUp {
            return soon;
        }
        if io::stderr().is_terminal() {
            print_line("reading what the team has written; a first start takes up to a minute");
        }
        team_store::wait_for_log(status, Some(CATCH_UP_LIMIT)).await
    });
    if let Some(loss) = loss {
        print_line(&text::clean(&loss));
    }
    const LOCAL_COPY: &str = "showing this machine's local copy";
    let (obstacle, shown) = match link {
        TeamLink::Live => return Ok(()),
        // One of the checks names the reason.
        TeamLink::Refused { .. } if store_use == StoreUse::Inspected => return Ok(()),
        TeamLink::Refused { reason } => bail!("{}", text::clean(&reason)),
        TeamLink::Connecting => ("can't be reached: it doesn't answer".to_owned(), LOCAL_COPY),
        TeamLink::Away { reason, .. } => (format!("can't be reached: {}", text::clean(&reason)), LOCAL_COPY),
        TeamLink::CatchingUp => ("hasn't sent everything yet".to_owned(), "showing what this machine has so far"),
    };
    // Without a copy, an empty answer would mean "nothing", not "unknown". A watch goes on trying.
    if matches!(store_use, StoreUse::Read | StoreUse::Examined)
        && store.reader()?.replica()?.is_none_or(|replica| replica.position.seq == 0 && replica.is_blank)
    {
        bail!("the team's store {obstacle}; this machine has no copy of it yet");
    }
    print_line(&format!("the team's store {obstacle}; {shown}"));
    Ok(())
}

/// Records damage that a command met, so that the next start recovers the store.
pub(crate) fn report_damage(store: &Store, report: &Report) {
    report.chain().filter_map(|cause| cause.downcast_ref()).for_each(|error| store.report_fault(error));
}

/// Whether the store at `db` is a team's replica, also without a team in the settings. An unreadable store counts as a
/// replica.
pub(crate) fn is_replica(db: &Path) -> bool {
    !Store::has_no_store_at(db)
        && Reader::open_for_short_read(db).and_then(|reader| reader.replica()).map_or(true, |replica| replica.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::context::testing::{CommandFixture, at},
        domain::{
            operation::{Envelope, Operation, Stamp},
            team::{LogEntry, LogPosition, Nonce},
        },
        store::{LogEntries, payload},
    };

    #[test]
    fn replica_of_a_team_is_recognised_without_the_team() {
        let fixture = CommandFixture::new();
        let db = fixture.folder.path().join("hoptop.db");
        assert!(!is_replica(&db) && !is_replica(&fixture.folder.path().join("missing.db")));
        let pause = Operation::Pause { profile: "default".into(), until: None };
        let payload = payload::encode(&[&Envelope::new(pause, Stamp::new(at(0), None))]).unwrap();
        let entry = LogEntry { position: LogPosition { seq: 1, nonce: Nonce(1) }, author: None, payload };
        let entries = LogEntries { team: Nonce(7), entries: vec![entry], own: vec![], is_light: false };
        fixture.store.replicate(entries).wait().unwrap().replicated().unwrap();
        assert!(is_replica(&db));
    }
}
