//! The import rules of `src/lib.rs`, checked against the `use` lines and paths of the sources; and limits for files.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod imports;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use imports::Imports;

/// The import rules of the table in `src/lib.rs`: each module, and the modules that it may import besides itself.
fn import_rules() -> BTreeMap<String, BTreeSet<String>> {
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
    let text = fs::read_to_string("src/lib.rs").unwrap();
    let table = text.lines().skip_while(|line| *line != "//! | module | may import |").skip(2);
    let rows: Vec<_> = table
        .map_while(|line| line.strip_prefix("//! | ")?.strip_suffix(" |")?.split_once(" | "))
        .map(|(modules, imported)| (names(modules), imported))
        .collect();
    let all: BTreeSet<String> = rows.iter().flat_map(|(modules, _)| modules).cloned().collect();
    let allowed = |imported: &str| match imported.starts_with("all modules") {
        true => &all - &names(imported),
        false => names(imported),
    };
    rows.iter()
        .flat_map(|(modules, imported)| modules.iter().map(move |module| (module.clone(), allowed(imported))))
        .collect()
}

struct SourceFile {
    path: PathBuf,
    /// Without comments, text and tests.
    code: String,
}

impl SourceFile {
    /// The module directly below the crate: `tui`.
    fn top_module(&self) -> String {
        let inside = self.path.strip_prefix("src").unwrap();
        inside.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
    }

    /// The file's place as a module path: `tui/view/list`.
    fn module(&self) -> String {
        let inside = self.path.strip_prefix("src").unwrap().with_extension("");
        inside.to_str().unwrap().trim_end_matches("/mod").to_owned()
    }

    /// All paths after `crate::`, with `use` trees spelled out: `domain::ids::RowId`.
    fn imports(&self) -> BTreeSet<String> {
        self.code.match_indices("crate::").flat_map(|(at, _)| paths(&self.code[at + "crate::".len()..])).collect()
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

fn sources() -> Vec<SourceFile> {
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
    let is_test = |path: &PathBuf| {
        path.ends_with("tests.rs")
            || path.ends_with("testing.rs")
            || path.to_string_lossy().ends_with("_tests.rs")
            || path.components().any(|part| part.as_os_str() == "tests")
    };
    let production = found.into_iter().filter(|path| !is_test(path));
    production.map(|path| SourceFile { code: code_of(&fs::read_to_string(&path).unwrap()), path }).collect()
}

/// The code before the tests, without comment lines.
fn code_of(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
    let line = |line: &&str| !line.trim_start().starts_with("//");
    text.lines().filter(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn modules_import_only_what_the_table_allows() {
    let rules = import_rules();
    let mut wrong = Vec::new();
    for source in sources() {
        let module = source.top_module();
        // `src/lib.rs` itself only declares the modules.
        if module == "lib" {
            continue;
        }
        let allowed = rules.get(&module).unwrap_or_else(|| panic!("`{module}` isn't in the table of src/lib.rs"));
        for import in source.imports() {
            let target = import.split("::").next().unwrap().to_owned();
            if target != module && !allowed.contains(&target) {
                wrong.push(format!("{} imports {import}", source.path.display()));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// So that the test above sees every way out of a module.
#[test]
fn no_module_is_left_by_way_of_super() {
    for source in sources() {
        let way_out = "super::".repeat(source.module().split('/').count());
        assert!(!source.code.contains(&way_out), "{} says {way_out}", source.path.display());
    }
}

/// The part of the dashboard that a module belongs to: `update` or `view`, in every folder.
fn part(module: &[String]) -> Option<&str> {
    let (top, rest) = module.split_first()?;
    let part = rest.iter().map(String::as_str).find_map(|part| match part {
        "update" => Some("update"),
        "view" | "widgets" | "draw" => Some("view"),
        _ => None,
    });
    part.filter(|_| top == "tui")
}

#[test]
fn the_view_knows_states_theme_and_commands_only() {
    let sources = sources();
    let imports = imports_of(&sources);
    let mut wrong = Vec::new();
    for module in imports.modules("tui").filter(|module| part(module) == Some("view")) {
        for (definer, import) in imports.of(module) {
            let import = import.join("::");
            let fine = [
                "domain",
                "presentation",
                "alerts",
                "clock::Now",
                "tui::model",
                "tui::theme",
                "tui::command",
                "tui::effect::AlertTarget",
            ];
            // The result of reading a paste, and no reader.
            let pasted = ["intake::PastedContent", "intake::Field", "intake::PasteOrigin"];
            let is_state = ["tui::dialogs", "tui::screens"].iter().any(|states| import.starts_with(states));
            let is_fine = fine.iter().chain(&pasted).any(|known| import.starts_with(known));
            if !is_fine && part(&definer) != Some("view") && !is_state {
                wrong.push(format!("{} imports {import}", imports.path(module)));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn update_and_view_do_not_know_each_other() {
    let sources = sources();
    let imports = imports_of(&sources);
    let mut wrong = Vec::new();
    for module in imports.modules("tui") {
        let Some(own) = part(module) else { continue };
        let mut definers = imports.of(module).into_iter().map(|(definer, _)| definer);
        if let Some(other) = definers.find(|definer| part(definer).is_some_and(|other| other != own)) {
            wrong.push(format!("{} imports {}", imports.path(module), other.join("::")));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn each_outside_thing_has_one_user() {
    let owners: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("reqwest", &["api", "chain_rpc", "notify"][..]),
        ("rusqlite", &["store"]),
        ("tokio_postgres", &["team"]),
        ("tokio_postgres_rustls", &["team"]),
        ("axum", &["sim", "metrics"]),
        ("prometheus_client", &["metrics"]),
        ("ratatui", &["tui"]),
        ("clap", &["cli"]),
        ("color_eyre", &["cli", "runtime"]),
    ]);
    for source in sources() {
        for (outside, owners) in &owners {
            let uses = source.code.contains(&format!("{outside}::"));
            assert!(
                !uses || owners.contains(&source.top_module().as_str()),
                "{} uses {outside}",
                source.path.display()
            );
        }
    }
}

#[test]
fn pure_modules_use_no_runtime_and_no_clock() {
    let pure = [
        "team/lease",
        "domain",
        "presentation",
        "schedule",
        "alerts",
        "intake",
        "tui/model",
        "tui/screens",
        "tui/dialogs",
        "tui/widgets",
        "tui/update",
        "tui/view",
        "poller/core",
        "poller/health",
    ];
    for source in sources() {
        if pure.iter().any(|module| source.module().starts_with(module)) {
            // A batch that is too large for memory is sorted in a file.
            let may_spool = source.module().starts_with("intake/spool");
            let outside = ["tokio::", "Clock", "std::thread", "std::fs", "std::net"];
            for outside in outside.into_iter().filter(|outside| !may_spool || *outside != "std::fs") {
                assert!(!source.code.contains(outside), "{} uses {outside}", source.path.display());
            }
        }
    }
}

#[test]
fn every_module_documents_its_purpose() {
    for source in sources() {
        let text = fs::read_to_string(&source.path).unwrap();
        assert!(text.starts_with("//! "), "{} has no `//!`", source.path.display());
    }
}

#[test]
fn no_file_gets_out_of_hand() {
    /// Lines without tests; comfortable is 300.
    const MAX_LINES: usize = 500;
    for source in sources() {
        let lines = source.code.lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines: look for the seam", source.path.display());
    }
}

#[test]
fn no_circles_of_files_inside_a_module() {
    let sources = sources();
    let imports = imports_of(&sources);
    let rules = import_rules();
    let modules = rules.keys();
    let circles: Vec<_> = modules.flat_map(|module| imports.circles(module)).collect();
    assert!(circles.is_empty(), "files import each other in a circle:\n{}", circles.join("\n"));
}

#[test]
fn the_tables_of_the_store_are_reached_only_by_operations_and_queries() {
    /// Files beside these that reach a table, and what each takes of it.
    const OTHERS: [(&str, &[&str]); 4] = [
        ("src/store/writer.rs", &["changes::count_commit", "open_transactions::OpenMark", "open_transactions::write"]),
        ("src/store/watcher.rs", &["changes::last_commit"]),
        ("src/store/file/partial_recovery.rs", &["columns::lenient", "damage::REFETCHED", "damage::conditions"]),
        ("src/store/file/sql_functions.rs", &["columns::readable"]),
    ];
    let sources = sources();
    let imports = imports_of(&sources);
    let mut wrong = Vec::new();
    for module in imports.all() {
        let path = imports.path(module);
        if ["tables", "operations", "queries"].iter().any(|folder| path.starts_with(&format!("src/store/{folder}/"))) {
            continue;
        }
        for (_, import) in imports.of(module) {
            let Some(("store", "tables", rest)) = split(&import) else { continue };
            let taken: BTreeSet<String> = match rest {
                [] => BTreeSet::from(["tables".to_owned()]),
                [table] => imports.taken_from(module, table).iter().map(|item| format!("{table}::{item}")).collect(),
                [table, item, ..] => BTreeSet::from([format!("{table}::{item}")]),
            };
            // What the store hands out are types.
            let is_handed_out = |_: &&String| {
                path == "src/store/mod.rs" && rest.last().is_some_and(|item| item.starts_with(char::is_uppercase))
            };
            let is_known =
                |item: &&String| OTHERS.iter().any(|(file, items)| *file == path && items.contains(&item.as_str()));
            let unknown = taken.iter().filter(|item| !is_known(item) && !is_handed_out(item));
            wrong.extend(unknown.map(|item| format!("{path} takes {item}")));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// The first two parts of a path, and the others.
fn split(path: &[String]) -> Option<(&str, &str, &[String])> {
    let [first, second, rest @ ..] = path else { return None };
    Some((first, second, rest))
}

fn imports_of(sources: &[SourceFile]) -> Imports {
    Imports::new(sources.iter().map(|source| (source.path.as_path(), source.code.as_str())))
}

/// Files that import each other by each of the ways in which one can name another, so that the tests above see them
/// all.
#[test]
fn circles_are_found_through_trees_inline_paths_and_re_exports() {
    let circles = |files: &[(&str, &str)]| {
        let imports = Imports::new(files.iter().map(|(path, code)| (Path::new(*path), *code)));
        imports.circles("module").into_iter().collect::<Vec<_>>().join("; ")
    };
    let (root, one, other) = ("src/module/mod.rs", "src/module/one.rs", "src/module/other.rs");
    let both = "mod one;\nmod other;\n";
    let circle = "src/module/one.rs -> src/module/other.rs -> src/module/one.rs";
    for back in [
        "use super::one::One;",
        "use super::{\n    one::{self, One},\n};",
        "use crate::module::one::One as First;",
        "fn one() { super::one::new() }",
        "fn one() -> crate::module::one::One {}",
        "pub use super::one::One;",
    ] {
        assert_eq!(circles(&[(root, both), (one, "use super::other::Other;"), (other, back)]), circle, "{back}");
    }
    // Through what the module re-exports, which is no circle with the module itself.
    let hands_out = format!("{both}pub use self::one::One;\npub(in crate::module) use other::Other;\n");
    let files = |one_code| [(root, hands_out.as_str()), (one, one_code), (other, "use super::One;")];
    assert_eq!(circles(&files("use super::Other;")), circle);
    assert_eq!(circles(&files("use std::fmt;\npub(in crate::module) struct One;")), "");
    // The definitions of the module, and its imports from the file that imports it.
    let defines = |use_of_one: &str| format!("mod one;\n{use_of_one}\npub struct Own;\n");
    let own = "src/module/mod.rs -> src/module/one.rs -> src/module/mod.rs";
    for (use_of_one, expected) in [
        ("use self::one::One;", own),
        ("fn one() { one::new() }", own),
        ("pub use self::one::One;\nfn one() -> One {}", own),
        ("pub use self::one::One;", ""),
    ] {
        assert_eq!(circles(&[(root, &defines(use_of_one)), (one, "use super::Own;")]), expected, "{use_of_one}");
    }
    // A module inside of a file names that file.
    let inside = "pub struct One;\npub mod inside {\n    use super::One;\n}\n";
    assert_eq!(circles(&[(root, "mod one;\nuse one::One;\n"), (one, inside)]), "");
}

#[test]
fn use_trees_are_spelled_out() {
    let found = paths("domain::{alert::{Alert, Rule}, ids::RowId,\n  span};");
    assert_eq!(found, ["domain::alert::Alert", "domain::alert::Rule", "domain::ids::RowId", "domain::span"]);
    assert_eq!(paths("{clock, domain::ids}"), ["clock", "domain::ids"]);
    assert_eq!(paths("clock::Now);"), ["clock::Now"]);
}
