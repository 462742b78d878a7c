//! Who may import whom (`src/lib.rs`), read from the `use` lines and paths of the sources; and that no file gets out of
//! hand.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The rooms, and what each may import of the crate besides itself.
fn allowed(room: &str) -> &'static [&'static str] {
    const PURE: &[&str] = &["clock", "domain"];
    const BASE: &[&str] = &["clock", "process", "domain"];
    match room {
        "clock" | "process" => &[],
        // The type of a moment; the clock itself stays outside.
        "domain" => &["clock"],
        "schedule" | "alerts" | "intake" => PURE,
        "budget" | "api" | "store" | "sim" | "config" => BASE,
        "poller" => &["clock", "process", "domain", "schedule", "budget", "alerts", "api", "store"],
        "tui" => &["clock", "process", "domain", "alerts", "store", "intake", "poller"],
        "herald" => &["clock", "process", "domain", "api", "store"],
        "metrics" => &["clock", "process", "domain", "store", "poller"],
        "cli" => &[
            "clock", "process", "domain", "budget", "alerts", "api", "store", "sim", "intake", "config", "poller",
            "herald", "metrics", "tui",
        ],
        "main" => &["cli"],
        "lib" => &[],
        unknown => panic!("the room `{unknown}` isn't in the map: give it a place in src/lib.rs and here"),
    }
}

struct Source {
    path: PathBuf,
    /// Without comments, text and tests.
    code: String,
}

impl Source {
    fn room(&self) -> String {
        let inside = self.path.strip_prefix("src").unwrap();
        inside.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
    }

    /// The file's place as a module path: `tui/view/list`.
    fn module(&self) -> String {
        let inside = self.path.strip_prefix("src").unwrap().with_extension("");
        inside.to_str().unwrap().trim_end_matches("/mod").to_owned()
    }

    /// What follows `crate::` wherever it stands, `use` trees spelled out: `domain::ids::RowId`.
    fn imports(&self) -> BTreeSet<String> {
        self.code.match_indices("crate::").flat_map(|(at, _)| paths(&self.code[at + "crate::".len()..])).collect()
    }

    /// The files of a flat room that this file imports by `super::`, `self::` or the room's full path.
    fn siblings(&self, room: &str, modules: &BTreeSet<String>) -> BTreeSet<String> {
        let own = self.module();
        let from_parent = if own == room { "self::" } else { "super::" };
        let after = |prefix: &str| -> Vec<String> {
            self.code.match_indices(prefix).flat_map(|(at, _)| paths(&self.code[at + prefix.len()..])).collect()
        };
        let full_path = format!("crate::{room}::");
        let mut found = [after(from_parent), after(&full_path)].concat();
        // Paths inside of visibilities, as in `pub(in crate::room)`, import nothing.
        found.retain(|path| !path.is_empty());
        let file = |path: String| {
            let named = format!("{room}/{}", path.split("::").next().unwrap());
            if modules.contains(&named) { named } else { room.to_owned() }
        };
        found.into_iter().map(file).filter(|file| *file != own).collect()
    }
}

/// The paths of a `use` tree that starts here.
fn paths(text: &str) -> Vec<String> {
    let end =
        text.find(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == ':')).unwrap_or(text.len());
    let (stem, rest) = text.split_at(end);
    if !(stem.is_empty() || stem.ends_with("::")) || !rest.starts_with('{') {
        return vec![stem.trim_end_matches("::").to_owned()];
    }
    let mut depth = 0;
    let mut branches = vec![String::new()];
    for letter in rest.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match (letter, depth) {
            (_, 0) => break,
            (',', 1) => branches.push(String::new()),
            ('{', 1) => {}
            _ => branches.last_mut().unwrap().push(letter),
        }
    }
    let branches = branches.iter().map(|branch| branch.trim()).filter(|branch| !branch.is_empty());
    branches
        .flat_map(|branch| paths(branch).into_iter().map(|path| format!("{stem}{path}")).collect::<Vec<_>>())
        .collect()
}

fn sources() -> Vec<Source> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(&path, found),
                false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
                false => {}
            }
        }
    }
    let mut found = Vec::new();
    walk(Path::new("src"), &mut found);
    let is_test =
        |path: &PathBuf| path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests");
    let production = found.into_iter().filter(|path| !is_test(path));
    production.map(|path| Source { code: code_of(&fs::read_to_string(&path).unwrap()), path }).collect()
}

/// The code before the tests, without comment lines.
fn code_of(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
    let line = |line: &&str| !line.trim_start().starts_with("//");
    text.lines().filter(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn rooms_import_only_what_lies_below_them() {
    let mut wrong = Vec::new();
    for source in sources() {
        let room = source.room();
        for import in source.imports() {
            let target = import.split("::").next().unwrap().to_owned();
            if target != room && !allowed(&room).contains(&target.as_str()) {
                wrong.push(format!("{} imports {import}", source.path.display()));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// So that the test above sees every way out of a room.
#[test]
fn nobody_leaves_a_room_by_way_of_super() {
    for source in sources() {
        let way_out = "super::".repeat(source.module().split('/').count());
        assert!(!source.code.contains(&way_out), "{} says {way_out}", source.path.display());
    }
}

/// Rooms whose files form no circle. A path such as `super::Thing` that names no file is an import of `mod.rs`.
#[test]
fn files_of_a_room_import_each_other_without_circles() {
    for room in ["budget", "process"] {
        let files: Vec<Source> = sources().into_iter().filter(|source| source.room() == room).collect();
        let modules: BTreeSet<String> = files.iter().map(Source::module).collect();
        let mut imports: BTreeMap<String, BTreeSet<String>> =
            files.iter().map(|file| (file.module(), file.siblings(room, &modules))).collect();
        // Takes away the files that import no other remaining file, until none is left.
        while let Some(lowest) = imports.iter().find(|(_, below)| below.is_empty()).map(|(file, _)| file.clone()) {
            imports.remove(&lowest);
            imports.values_mut().for_each(|below| {
                below.remove(&lowest);
            });
        }
        assert!(imports.is_empty(), "a circle of imports: {imports:?}");
    }
}

#[test]
fn the_view_knows_model_theme_and_commands_only() {
    let view = sources().into_iter().filter(|source| source.module().starts_with("tui/view"));
    for source in view {
        for import in source.imports() {
            let fine = ["domain", "alerts", "clock::Now", "tui::model", "tui::theme", "tui::command"];
            // What a paste was read as, and no reader.
            let fine = [&fine[..], &["intake::Content", "intake::Field", "intake::Origin"]].concat();
            assert!(fine.iter().any(|known| import.starts_with(known)), "{} imports {import}", source.path.display());
        }
    }
}

#[test]
fn each_outside_thing_has_one_user() {
    let owners: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("reqwest", &["api"][..]),
        ("rusqlite", &["store"]),
        ("axum", &["sim", "metrics"]),
        ("prometheus_client", &["metrics"]),
        ("ratatui", &["tui"]),
        ("clap", &["cli"]),
        ("color_eyre", &["cli"]),
    ]);
    for source in sources() {
        for (outside, rooms) in &owners {
            let uses = source.code.contains(&format!("{outside}::"));
            assert!(!uses || rooms.contains(&source.room().as_str()), "{} uses {outside}", source.path.display());
        }
    }
}

#[test]
fn the_pure_rooms_know_no_runtime_and_no_clock() {
    let pure = [
        "domain",
        "schedule",
        "alerts",
        "intake",
        "tui/model",
        "tui/update",
        "tui/view",
        "poller/core",
        "poller/health",
    ];
    for source in sources() {
        if pure.iter().any(|room| source.module().starts_with(room)) {
            for outside in ["tokio::", "Clock", "std::thread", "std::fs", "std::net"] {
                assert!(!source.code.contains(outside), "{} uses {outside}", source.path.display());
            }
        }
    }
}

#[test]
fn every_module_says_what_it_is_for() {
    for source in sources() {
        let text = fs::read_to_string(&source.path).unwrap();
        assert!(text.starts_with("//! "), "{} has no `//!`", source.path.display());
    }
}

#[test]
fn no_file_gets_out_of_hand() {
    /// Lines without tests; comfortable is 300.
    const MOST: usize = 500;
    for source in sources() {
        let lines = source.code.lines().count();
        assert!(lines <= MOST, "{} has {lines} lines: look for the seam", source.path.display());
    }
}

#[test]
fn use_trees_are_spelled_out() {
    let found = paths("domain::{alert::{Alert, Rule}, ids::RowId,\n  span};");
    assert_eq!(found, ["domain::alert::Alert", "domain::alert::Rule", "domain::ids::RowId", "domain::span"]);
    assert_eq!(paths("{clock, domain::ids}"), ["clock", "domain::ids"]);
    assert_eq!(paths("clock::Now);"), ["clock::Now"]);
}
