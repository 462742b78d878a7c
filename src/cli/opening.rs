//! Opens the store for a command, and runs the command on the store.
//!
//! The module must never create a store for a command that only reads.

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
};

use color_eyre::eyre::{Report, Result, WrapErr};
use tempfile::TempDir;

use super::{commands::backup, context::Context};
use crate::{
    clock::{self, Clock},
    config::Settings,
    domain::text,
    runtime::{
        exit::Exit,
        stderr::{print_line, sentence},
    },
    store::Store,
};

/// Opens the store and runs a command that doesn't poll. With `creates_no_store`, a missing store isn't created, since
/// its path may be mistyped: the command runs on a temporary empty store.
pub(crate) fn with_context(
    settings: &Settings,
    creates_no_store: bool,
    work: impl FnOnce(&mut Context<'_>) -> Result<Exit>,
) -> Result<Exit> {
    let temporary =
        (creates_no_store && Store::has_no_store_at(&settings.db)).then(|| open_temporary(&settings.db)).transpose()?;
    let store = temporary.as_ref().map_or_else(|| open_store(settings), |(store, _)| Ok(store.clone()))?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let exit = work(&mut Context {
        store: store.clone(),
        profile: settings.profile.clone(),
        now: Clock::system().now(),
        zone: clock::local_offset(),
        out: &mut out,
        err: &mut io::stderr().lock(),
        ellipsis: if settings.ascii { ".." } else { "…" },
        out_is_terminal: io::stdout().is_terminal(),
        // The output for a script must not depend on the environment.
        in_words: settings.plain && io::stdout().is_terminal(),
    });
    let exit = exit.inspect_err(|report| report_damage(&store, report))?;
    out.flush()?;
    if temporary.is_none()
        && let Err(report) = backup::after_a_command(&store)
    {
        print_line(&format!("warning: {}", sentence(&report)));
    }
    Ok(exit)
}

/// Opens a temporary empty store in place of a missing one. Returns the store and its folder. On a terminal, prints
/// that the store is missing; a script gets the output for an empty store.
fn open_temporary(missing: &Path) -> Result<(Store, TempDir)> {
    if io::stderr().is_terminal() {
        print_line(&format!("there is no store at {} yet: nothing is tracked", text::clean_path(missing)));
    }
    let folder = tempfile::Builder::new().prefix("hoptop-").tempdir().wrap_err("can't create a temporary store")?;
    Ok((Store::open(&folder.path().join("empty.db"))?, folder))
}

/// Opens the store. Prints a notice if the store was recovered or if a part of it is missing.
pub(crate) fn open_store(settings: &Settings) -> Result<Store> {
    let store = Store::open_lasting(&settings.db, Clock::system().now().wall)?;
    if let Some(notice) = store.notice() {
        print_line(&text::clean(&notice));
    }
    Ok(store)
}

/// Records damage that a command met, so that the next start recovers the store.
pub(crate) fn report_damage(store: &Store, report: &Report) {
    report.chain().filter_map(|cause| cause.downcast_ref()).for_each(|error| store.report_fault(error));
}
