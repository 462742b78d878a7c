//! Saves the view state to a file, and reads it at the next start.
//!
//! A new file replaces the old one atomically. A failure must never disturb the dashboard: it is only logged.

use std::{
    fs,
    io::{self, Write},
    mem,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::model::view_state::ViewState;
use crate::process::files;

#[derive(Clone, Debug)]
pub(super) struct ViewStateFile {
    path: PathBuf,
    view_state: ViewState,
    /// The view state before the last change: what this dashboard didn't change since is left to others.
    before: ViewState,
}

impl ViewStateFile {
    /// Reads the view state of an earlier dashboard; the default if there is none or it is unreadable.
    pub(super) fn read(path: PathBuf) -> Self {
        let view_state = ViewState::parse(&fs::read_to_string(&path).unwrap_or_default());
        Self { path, before: view_state.clone(), view_state }
    }

    /// Returns the view state that was read or noted last.
    pub(super) fn view_state(&self) -> &ViewState {
        &self.view_state
    }

    /// Notes a view state without writing it. Returns whether it differs from the last.
    pub(super) fn replace(&mut self, view_state: ViewState) -> bool {
        let has_changes = view_state != self.view_state;
        if has_changes {
            self.before = mem::replace(&mut self.view_state, view_state);
        }
        has_changes
    }

    /// Writes what changed last to the file, beside what other dashboards wrote there. Blocks for the disk.
    pub(super) fn write(&self) {
        let in_file =
            ViewState::parse(&fs::read_to_string(&self.path).unwrap_or_else(|_| self.before.to_value().to_string()));
        let merged = merge(self.view_state.to_value(), &self.before.to_value(), in_file.to_value());
        let text = serde_json::to_string_pretty(&merged).unwrap_or_default();
        if let Err(error) = write(&self.path, &text) {
            tracing::warn!("can't save the view state to {}: {error}", self.path.display());
        }
    }
}

/// Returns `own` with the fields and elements of `other` where `own` is as it was before.
fn merge(own: Value, before: &Value, other: Value) -> Value {
    match (own, before, other) {
        (own, before, other) if own == *before => other,
        (Value::Object(own), Value::Object(before), Value::Object(mut other)) => {
            let merged = own.into_iter().map(|(name, value)| {
                let (before, other) =
                    (before.get(&name).unwrap_or(&Value::Null), other.remove(&name).unwrap_or_default());
                let value = merge(value, before, other);
                (name, value)
            });
            Value::Object(merged.collect())
        }
        (Value::Array(own), Value::Array(before), Value::Array(other))
            if own.len() == before.len() && own.len() == other.len() =>
        {
            let merged = own.into_iter().zip(before).zip(other).map(|((own, before), other)| merge(own, before, other));
            Value::Array(merged.collect())
        }
        (own, _, _) => own,
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
        // Another dashboard has saved a view since, and this one another view; both stay.
        let mut other = ViewStateFile::read(path.clone());
        let saves = |name: &str, state: &ViewState| {
            let mut state = state.clone();
            state.save_view(name, "vip".into()).unwrap();
            state
        };
        assert!(other.replace(saves("theirs", &view_state)));
        other.write();
        assert!(view_state_file.replace(ViewState { view: 3, ..view_state.clone() }));
        view_state_file.write();
        let merged = ViewStateFile::read(path.clone());
        assert_eq!(merged.view_state(), &ViewState { view: 3, ..saves("theirs", &view_state) });
        ViewStateFile::read(path.join("below a file/view.json")).write();
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert_eq!(ViewStateFile::read(path).view_state(), &ViewState::default());
    }
}
