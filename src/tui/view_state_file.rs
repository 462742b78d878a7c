//! Saves the view state to a file, and reads it at the next start.
//!
//! A new file replaces the old one atomically. A failure must never disturb the dashboard: it is only logged.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::model::view_state::ViewState;
use crate::process::files;

#[derive(Clone, Debug)]
pub(super) struct ViewStateFile {
    path: PathBuf,
    view_state: ViewState,
}

impl ViewStateFile {
    /// Reads the view state of an earlier dashboard; the default if there is none or it is unreadable.
    pub(super) fn read(path: PathBuf) -> Self {
        let view_state = ViewState::parse(&fs::read_to_string(&path).unwrap_or_default());
        Self { path, view_state }
    }

    /// Returns the view state that was read or noted last.
    pub(super) fn view_state(&self) -> &ViewState {
        &self.view_state
    }

    /// Notes a view state without writing it. Returns whether it differs from the last.
    pub(super) fn replace(&mut self, view_state: ViewState) -> bool {
        let has_changes = view_state != self.view_state;
        self.view_state = view_state;
        has_changes
    }

    /// Writes the view state to the file. Blocks for the disk.
    pub(super) fn write(&self) {
        if let Err(error) = write(&self.path, &self.view_state.to_json()) {
            tracing::warn!("can't save the view state to {}: {error}", self.path.display());
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
    fn a_noted_view_state_is_read_again_and_an_unwritable_folder_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/view.json");
        let mut view_state_file = ViewStateFile::read(path.clone());
        let view_state = ViewState { view: 2, ..ViewState::default() };
        assert!(view_state_file.replace(view_state.clone()) && !view_state_file.replace(view_state.clone()));
        view_state_file.write();
        assert_eq!(ViewStateFile::read(path.clone()).view_state(), &view_state);
        ViewStateFile::read(path.join("below a file/view.json")).write();
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert_eq!(ViewStateFile::read(path).view_state(), &ViewState::default());
    }
}
