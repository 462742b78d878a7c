//! Keeps on disk how a person left the dashboard.
//!
//! A file takes the other's place whole. It must never stand in anybody's way: what fails is logged, and forgotten.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::model::memory::Memory;
use crate::process::files;

/// What was remembered, and where.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    path: PathBuf,
    memory: Memory,
}

impl Remembered {
    /// What an earlier dashboard left here.
    pub(super) fn read(path: PathBuf) -> Self {
        let memory = Memory::read(&fs::read_to_string(&path).unwrap_or_default());
        Self { path, memory }
    }

    /// What was read, or noted last.
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Notes what is to be remembered; says whether that is news.
    pub(super) fn note(&mut self, memory: Memory) -> bool {
        let is_news = memory != self.memory;
        self.memory = memory;
        is_news
    }

    /// Writes it down. Blocks for the disk.
    pub(super) fn write(&self) {
        if let Err(error) = write(&self.path, &self.memory.written()) {
            tracing::warn!("the dashboard can't be remembered in {}: {error}", self.path.display());
        }
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    files::create_private_folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_read_again_and_a_folder_that_is_none_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/view.json");
        let mut remembered = Remembered::read(path.clone());
        let memory = Memory { view: 2, ..Memory::default() };
        assert!(remembered.note(memory.clone()) && !remembered.note(memory.clone()));
        remembered.write();
        assert_eq!(Remembered::read(path.clone()).memory(), &memory);
        Remembered::read(path.join("below a file/view.json")).write();
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert_eq!(Remembered::read(path).memory(), &Memory::default());
    }
}
