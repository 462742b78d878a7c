//! The open marker: a small file beside the store, locked by each process that has the store open, with the state in which the
//! last process left the store.
//!
//! A kernel lock ends with its process, so that the marker tells a crash from an orderly end. The marker is the only proof that no
//! other process uses a store that is to be moved aside. The module must never touch the store's own files.

use std::{
    ffi::OsString,
    fs::{File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use crate::process::files;

/// The longest marker.
const MOST_BYTES: u64 = 4_096;

/// How the last process left the store. The marker's text is one line; the rest is left over from longer texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) enum Left {
    /// In order.
    Clean,
    /// Not in order: the process was killed, or the machine went down.
    Abruptly,
    /// With damage that it found.
    Suspect(String),
    /// During a recovery: the damaged file is moved, or is to be moved, to this name.
    Recovering(String),
}

impl Left {
    fn words(&self) -> String {
        match self {
            Self::Clean => "clean\n".to_owned(),
            Self::Abruptly => "open\n".to_owned(),
            Self::Suspect(reason) => format!("suspect {}\n", reason.replace('\n', " ")),
            Self::Recovering(name) => format!("mending {name}\n"),
        }
    }

    /// Whether a loss of power may neither take it away nor bring it back.
    fn must_last(&self) -> bool {
        matches!(self, Self::Recovering(_) | Self::Suspect(_))
    }

    fn parse(words: &str) -> Self {
        let line = words.lines().next().unwrap_or_default();
        match line.split_once(' ') {
            Some(("suspect", reason)) => Self::Suspect(reason.to_owned()),
            Some(("mending", name)) => Self::Recovering(name.to_owned()),
            // An empty file was never written to: the first words are on the disk before anything is kept.
            _ if words.is_empty() || line == "clean" => Self::Clean,
            _ => Self::Abruptly,
        }
    }
}

/// Being there. Given up by dropping it, or by dying.
#[derive(Debug)]
pub(in crate::store) struct OpenMarker {
    file: File,
    /// How it was left, if nobody else is there: nobody comes in before [`OpenMarker::share`].
    alone: Option<Left>,
}

impl OpenMarker {
    /// Comes in if there is a store that hoptop has opened before; waits for a process that recovers it. `None` if nobody was ever
    /// here.
    pub(in crate::store) fn enter(store: &Path) -> io::Result<Option<Self>> {
        match files::private_options().read(true).write(true).open(place(store)) {
            Ok(file) => Self::lock(file).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether somebody who had a store of that name open has left word.
    pub(in crate::store) fn was_at(store: &Path) -> bool {
        place(store).exists()
    }

    /// Comes in to a store that is new.
    pub(in crate::store) fn create(store: &Path) -> io::Result<Self> {
        Self::lock(files::private_options().read(true).write(true).create(true).truncate(false).open(place(store))?)
    }

    fn lock(file: File) -> io::Result<Self> {
        let mut presence = Self { file, alone: None };
        loop {
            match presence.file.try_lock() {
                Ok(()) => {
                    presence.alone = Some(presence.read()?);
                    return Ok(presence);
                }
                Err(TryLockError::WouldBlock) => presence.file.lock_shared()?,
                Err(TryLockError::Error(error)) => return Err(error),
            }
            match presence.read()? {
                // Whoever was mending it has died over it, or could not: what they left is to be mended, not to be used.
                Left::Recovering(_) => presence.file.unlock()?,
                _ => return Ok(presence),
            }
        }
    }

    /// How the last one left, if nobody else is there.
    pub(in crate::store) fn alone(&self) -> Option<&Left> {
        self.alone.as_ref()
    }

    /// The damage that another one has found, who may still be there.
    pub(in crate::store) fn suspicion(&self) -> Option<String> {
        match self.alone.is_none().then(|| self.read()) {
            Some(Ok(Left::Suspect(reason))) => Some(reason),
            _ => None,
        }
    }

    /// Lets others in. From here on whoever dies leaves abruptly.
    pub(in crate::store) fn share(&mut self) -> io::Result<()> {
        if self.alone.take().is_some() {
            self.write(&Left::Abruptly)?;
            self.file.lock_shared()?;
        } else if self.read()? == Left::Clean {
            // The last one left in order while we came in.
            self.write(&Left::Abruptly)?;
        }
        Ok(())
    }

    /// Leaves word for whoever comes next. Killed, or without room, what stood there stands.
    pub(in crate::store) fn write(&self, left: &Left) -> io::Result<()> {
        let (mut file, words) = (&self.file, left.words());
        let is_first = file.metadata()?.len() == 0;
        let must_last = is_first || left.must_last() || self.read()?.must_last();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(words.as_bytes())?;
        file.set_len(u64::try_from(words.len()).unwrap_or(MOST_BYTES))?;
        // The move that it announces must not reach the disk before it, nor what is kept after it.
        if must_last { file.sync_all() } else { Ok(()) }
    }

    fn read(&self) -> io::Result<Left> {
        let (mut file, mut words) = (&self.file, Vec::new());
        file.seek(SeekFrom::Start(0))?;
        file.take(MOST_BYTES).read_to_end(&mut words)?;
        Ok(Left::parse(&String::from_utf8_lossy(&words)))
    }
}

impl Drop for OpenMarker {
    /// The last one to go says that all is in order, unless somebody found it otherwise.
    fn drop(&mut self) {
        let is_last = self.alone.is_none() && self.file.try_lock().is_ok();
        if is_last
            && self.read().is_ok_and(|left| left == Left::Abruptly)
            && let Err(error) = self.write(&Left::Clean)
        {
            tracing::debug!("the store will be checked when it is opened next: {error}");
        }
    }
}

/// The file that says who is there.
fn place(store: &Path) -> PathBuf {
    let mut name = OsString::from(store);
    name.push(".presence");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(store: &Path) -> OpenMarker {
        OpenMarker::enter(store).unwrap().unwrap()
    }

    #[test]
    fn who_comes_next_knows_how_it_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("hoptop.db");
        assert!(OpenMarker::enter(&store).unwrap().is_none());
        let mut first = OpenMarker::create(&store).unwrap();
        assert_eq!(first.alone(), Some(&Left::Clean));
        first.share().unwrap();
        let second = enter(&store);
        assert_eq!(second.alone(), None);
        // What a process that is killed leaves behind.
        let abandoned = std::fs::read(place(&store)).unwrap();
        drop((first, second));
        assert_eq!(enter(&store).alone(), Some(&Left::Clean));
        std::fs::write(place(&store), abandoned).unwrap();
        assert_eq!(enter(&store).alone(), Some(&Left::Abruptly));
    }

    #[test]
    fn damage_that_was_found_is_not_forgotten_by_leaving() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("hoptop.db");
        for left in [Left::Suspect("a torn page".into()), Left::Recovering("hoptop.db.damaged-1".into())] {
            let mut presence = OpenMarker::create(&store).unwrap();
            presence.share().unwrap();
            presence.write(&left).unwrap();
            drop(presence);
            assert_eq!(enter(&store).alone(), Some(&left));
        }
    }

    #[test]
    fn next_process_recovers_if_the_recovering_one_dies() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("hoptop.db");
        let recovering = Left::Recovering("hoptop.db.damaged-1".into());
        let recoverer = OpenMarker::create(&store).unwrap();
        recoverer.write(&recovering).unwrap();
        let waiting = std::thread::spawn({
            let store = store.clone();
            move || enter(&store).alone().cloned()
        });
        // It may come in before or after: both ways it has to find out.
        std::thread::yield_now();
        drop(recoverer);
        assert_eq!(waiting.join().unwrap(), Some(recovering.clone()));
        // One who is done says so.
        let mut recoverer = enter(&store);
        assert_eq!(recoverer.alone(), Some(&recovering));
        recoverer.write(&Left::Abruptly).unwrap();
        recoverer.share().unwrap();
        assert_eq!(enter(&store).alone(), None);
    }

    #[test]
    fn words_that_were_written_in_part_lose_no_suspicion() {
        let suspect = Left::Suspect("a torn page".into());
        assert_eq!(Left::parse(&suspect.words()), suspect);
        // Killed before the rest of the longer words was cut off.
        assert_eq!(Left::parse("open\nct a torn page\n"), Left::Abruptly);
        assert_eq!(Left::parse("suspect a torn page\nwords"), suspect);
        assert_eq!(Left::parse("clean\n"), Left::Clean);
        assert_eq!(Left::parse("cl"), Left::Abruptly);
    }
}
