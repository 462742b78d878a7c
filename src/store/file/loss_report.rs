//! Detects what a store lost while no process had it open: its log, or its file. Reports the loss and keeps a copy of what is
//! left.
//!
//! Only called by a process that has the store alone. The module must never change the store's own files.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};

use super::{
    backup,
    open_marker::Left,
    paths::{self, STAMP},
    recovery,
};
use crate::process::files;

/// Where the header says how the file is written, and what it says of one with a log beside it.
const FORMAT: (u64, u8) = (18, 2);

/// What a person is to know before the store is opened, if something is missing.
pub(in crate::store) fn notice(path: &Path, left: &Left, at: DateTime<Utc>) -> Option<String> {
    let has_log = paths::companion(path, "-wal").exists();
    match (left, path.exists()) {
        (Left::Recovering(_), _) => None,
        (Left::Abruptly, true) if !has_log && has_lost_its_log(path) => Some(without_log(path, at)),
        (_, false) if !has_log => without_file(path, at),
        _ => None,
    }
}

/// Whoever has a store open for writing has a log beside it, which goes with the last one that leaves in order. One that is
/// put back from a backup has none, and says so in its header.
fn has_lost_its_log(path: &Path) -> bool {
    let format = || {
        let (mut file, mut format) = (File::open(path)?, [0]);
        file.seek(SeekFrom::Start(FORMAT.0))?;
        file.read_exact(&mut format)?;
        Ok::<_, io::Error>(format == [FORMAT.1])
    };
    // Of one that can't be written nobody had a log.
    let is_read_only = path.metadata().is_ok_and(|file| file.permissions().readonly());
    !is_read_only && format().unwrap_or(false)
}

fn without_log(path: &Path, at: DateTime<Utc>) -> String {
    let aside = recovery::unused(path, ".without-log-", at);
    let said = format!(
        "the store {} was not left in order, and its log is gone: what was kept last may be lost with it",
        path.display()
    );
    match copy(path, &aside) {
        Ok(()) => format!("{said}; a copy of the file as it was found is kept as {}", aside.display()),
        Err(error) => format!("{said}; no copy of the file as it was found could be kept: {error}"),
    }
}

fn copy(path: &Path, aside: &Path) -> io::Result<()> {
    let mut to = files::private_options().write(true).create_new(true).open(aside)?;
    let copied = io::copy(&mut File::open(path)?, &mut to).and_then(|_| to.sync_all());
    // Half a copy serves nobody.
    copied.inspect_err(|_| drop(fs::remove_file(aside)))
}

/// The backups of a store that is gone are put where the new one's don't push them out, and where it isn't mended with them.
fn without_file(path: &Path, at: DateTime<Utc>) -> Option<String> {
    let kept = backup::kept(path, at);
    let newest = kept.first()?;
    let folder = newest.path.with_file_name(format!("before-{}", at.format(STAMP)));
    let moved = |from: &Path| {
        files::create_private_folder(&folder)?;
        let to = from.file_name().map(|name| folder.join(name)).unwrap_or_default();
        fs::rename(from, &to).map(|()| to)
    };
    // The newest last: killed on the way, the next start finds it and says the same.
    let outcome = kept.iter().rev().try_fold(PathBuf::new(), |_, kept| moved(&kept.path));
    let (newest, fate) = match outcome {
        Ok(moved) => (moved, "its backups stay there".to_owned()),
        Err(error) => (newest.path.clone(), format!("its backups can't be kept apart from new ones: {error}")),
    };
    Some(format!(
        "the store {} isn't there any more, and an empty one is begun; its newest backup is {}, and {fate}; \
         `hoptop backup --help` says how to go back to it",
        path.display(),
        newest.display()
    ))
}
