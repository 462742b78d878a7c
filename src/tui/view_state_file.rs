//! Saves the view state to a file, and reads it at the next start.
//!
//! A new file replaces the old one atomically. A failure must never disturb the dashboard: it is only logged.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value};

use super::model::view_state::{OwnView, ViewState};
use crate::process::files;

/// The file of the view state. Clones share what was noted and written.
#[derive(Clone, Debug)]
pub(super) struct ViewStateFile {
    path: PathBuf,
    /// The view state that was read or noted last.
    noted: Arc<Mutex<ViewState>>,
    /// The saved views as they were read or written last: what differs from them was changed here. Locked during a
    /// write.
    written: Arc<Mutex<[Option<OwnView>; 4]>>,
}

impl ViewStateFile {
    /// Reads the view state of an earlier dashboard; the default if there is none or it is unreadable.
    pub(super) fn read(path: PathBuf) -> Self {
        let noted = read(&path).unwrap_or_default();
        Self { path, written: Arc::new(Mutex::new(noted.own.clone())), noted: Arc::new(Mutex::new(noted)) }
    }

    /// Returns the view state that was read or noted last.
    pub(super) fn view_state(&self) -> ViewState {
        lock(&self.noted).clone()
    }

    /// Notes a view state without writing it. Returns whether it differs from the last.
    pub(super) fn replace(&mut self, view_state: ViewState) -> bool {
        let mut noted = lock(&self.noted);
        let has_changes = view_state != *noted;
        *noted = view_state;
        has_changes
    }

    /// Writes what was noted to the file. Saved views of other dashboards stay. Blocks for the disk.
    pub(super) fn write(&self) {
        let mut written = lock(&self.written);
        let mut merged = self.view_state();
        let own = merged.own.clone();
        if let Some(in_file) = read(&self.path) {
            merged.own = merge_views(&own, &written, in_file.own);
        }
        match write(&self.path, &serde_json::to_string_pretty(&merged).unwrap_or_default()) {
            Ok(()) => *written = own,
            Err(error) => tracing::warn!("can't save the view state to {}: {error}", self.path.display()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the view state in the file; `None` if there is none.
fn read(path: &Path) -> Option<ViewState> {
    let text = fs::read_to_string(path).ok()?;
    serde_json::from_str::<Map<String, Value>>(&text).is_ok().then(|| ViewState::parse(&text))
}

/// Applies the changes from `before` to `own` to the views in the file: a view that another dashboard saved keeps its place
/// and its name, and a new one with another name gets a free place, if there is one.
fn merge_views(
    own: &[Option<OwnView>; 4],
    before: &[Option<OwnView>; 4],
    mut in_file: [Option<OwnView>; 4],
) -> [Option<OwnView>; 4] {
    let name = |view: &Option<OwnView>| view.as_ref().map(|view| view.name.to_lowercase());
    for (place, (own, before)) in own.iter().zip(before).enumerate().filter(|(_, (own, before))| own != before) {
        let of_name =
            |wanted: &Option<OwnView>| in_file.iter().position(|view| view.is_some() && name(view) == name(wanted));
        let is_free = |place: &usize| in_file.get(*place).is_some_and(|view| view.is_none());
        let target = match own {
            None => of_name(before),
            Some(_) => of_name(own)
                .or_else(|| of_name(before))
                .or_else(|| [place].into_iter().chain(0..in_file.len()).find(is_free)),
        };
        if let Some(view) = target.and_then(|place| in_file.get_mut(place)) {
            view.clone_from(own);
        }
    }
    in_file
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
    use crate::tui::screens::list::columns::ListColumns;

    #[test]
    fn a_noted_view_state_is_read_again_and_an_unwritable_folder_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/view.json");
        let mut view_state_file = ViewStateFile::read(path.clone());
        let view_state = ViewState { view: 2, ..ViewState::default() };
        assert!(view_state_file.replace(view_state.clone()) && !view_state_file.replace(view_state.clone()));
        view_state_file.write();
        assert_eq!(ViewStateFile::read(path.clone()).view_state(), view_state);
        ViewStateFile::read(path.join("below a file/view.json")).write();
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert_eq!(ViewStateFile::read(path).view_state(), ViewState::default());
    }

    #[test]
    fn saved_views_of_two_dashboards_stay_although_both_took_the_same_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("view.json");
        let mut dashboards = [ViewStateFile::read(path.clone()), ViewStateFile::read(path.clone())];
        for (dashboard, name) in dashboards.iter_mut().zip(["mine", "theirs"]) {
            let mut state = dashboard.view_state();
            state.save_view(name, format!("label:{name}"), &ListColumns::default()).unwrap();
            assert!(dashboard.replace(state));
            dashboard.write();
        }
        // What is typed on top of a view is stored with it, wherever it stands by now.
        let [_, theirs] = &mut dashboards;
        let mut state = theirs.view_state();
        state.own[0].as_mut().unwrap().typed = "vip".into();
        assert!(theirs.replace(state));
        theirs.write();
        let views = |path: &Path| {
            let read = ViewStateFile::read(path.to_owned()).view_state();
            read.own.into_iter().flatten().map(|view| (view.name, view.filter, view.typed)).collect::<Vec<_>>()
        };
        let view = |name: &str, typed: &str| (name.to_owned(), format!("label:{name}"), typed.to_owned());
        assert_eq!(views(&path), [view("mine", ""), view("theirs", "vip")]);
        // A view that is forgotten here goes; an unreadable file is written anew.
        let mut state = theirs.view_state();
        state.own[0] = None;
        assert!(theirs.replace(state));
        theirs.write();
        assert_eq!(views(&path), [view("mine", "")]);
        fs::write(&path, "{").unwrap();
        dashboards[0].write();
        assert_eq!(views(&path), [view("mine", "")]);
    }
}
