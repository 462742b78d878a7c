//! The imports of source files, resolved to the files that define what is imported: through `use` trees, inline paths
//! and re-exports.
//!
//! It reads text, no syntax tree: a path in a string literal would count as an import.

#![allow(clippy::unwrap_used, clippy::string_slice, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Range,
    path::Path,
};

/// A module's path without `crate`: `["store", "tables", "alerts"]`.
pub(crate) type Module = Vec<String>;

/// One name that a `use` statement brings into scope.
struct ImportedName {
    /// The name in this file.
    name: String,
    /// The module of the statement: the file's own, or one inside of the file.
    base: Module,
    /// The meaning of the name, as written.
    path: Vec<String>,
    /// Whether other modules can import the name from here.
    is_public: bool,
}

struct ImportingFile {
    path: String,
    names: Vec<ImportedName>,
    /// The code without `use` statements.
    code: String,
    /// The modules inside of the file, by their names.
    inner: Vec<(String, Range<usize>)>,
}

/// The sources of the crate by module.
pub(crate) struct Imports {
    files: BTreeMap<Module, ImportingFile>,
}

impl Imports {
    /// Reads files, each with its code: without comments and tests.
    pub(crate) fn new<'a>(sources: impl Iterator<Item = (&'a Path, &'a str)>) -> Self {
        let files = sources.map(|(path, code)| {
            let module = module_of(path);
            (module.clone(), ImportingFile::new(path, &module, code))
        });
        Self { files: files.collect() }
    }

    /// What a file imports of the crate: each path from the root, with the module that defines what the path leads to.
    pub(crate) fn of(&self, module: &Module) -> Vec<(Module, Module)> {
        let file = &self.files[module];
        let imported = file.names.iter().filter(|name| !self.only_hands_on(module, name));
        let mut paths: Vec<_> = imported.filter_map(|name| self.absolute(&name.base, &name.path)).collect();
        paths.extend(self.inline(module));
        let resolved = paths.into_iter().filter_map(|path| Some((self.definer(&path, 0)?, path)));
        resolved.filter(|(definer, _)| definer != module).collect()
    }

    /// All modules.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Module> {
        self.files.keys()
    }

    /// The modules of a module.
    pub(crate) fn modules<'a>(&'a self, top: &'a str) -> impl Iterator<Item = &'a Module> {
        self.files.keys().filter(move |module| module.first().is_some_and(|first| first == top))
    }

    /// The file of a module.
    pub(crate) fn path(&self, module: &Module) -> &str {
        &self.files[module].path
    }

    /// The shortest circles in which files of a module import each other, as text; no file comes first in two of them.
    pub(crate) fn circles(&self, top: &str) -> BTreeSet<String> {
        let edges: BTreeMap<&Module, BTreeSet<Module>> = self
            .modules(top)
            .map(|module| {
                let targets = self.of(module).into_iter().map(|(definer, _)| definer);
                (module, targets.filter(|target| target.first().is_some_and(|first| first == top)).collect())
            })
            .collect();
        let circles = edges.keys().filter_map(|start| shortest_circle(start, &edges));
        circles.map(|circle| circle.iter().map(|module| self.path(module)).collect::<Vec<_>>().join(" -> ")).collect()
    }

    /// What the code of a module takes from another that it imports as `name`: `count` of `changes::count(...)`.
    pub(crate) fn taken_from(&self, module: &Module, name: &str) -> BTreeSet<String> {
        let code = &self.files[module].code;
        words(code, name).filter_map(|at| path_at(&code[at..]).get(1).cloned()).collect()
    }

    /// Whether a name only hands on what a child of the module defines, and the module itself doesn't use it.
    fn only_hands_on(&self, module: &Module, name: &ImportedName) -> bool {
        let is_of_child =
            || self.absolute(&name.base, &name.path).is_some_and(|path| path.starts_with(module) && path != *module);
        name.is_public && is_of_child() && !self.files[module].uses(&name.name)
    }

    /// The paths in the code besides the `use` statements.
    fn inline(&self, module: &Module) -> Vec<Module> {
        let file = &self.files[module];
        let children = self.files.keys().filter(|other| other.len() == module.len() + 1 && other.starts_with(module));
        let children = children.filter_map(|child| child.last().map(String::as_str));
        let mut found = Vec::new();
        for first in ["crate", "self", "super"].into_iter().chain(children) {
            for at in words(&file.code, first) {
                let path = path_at(&file.code[at..]);
                let is_path = path.len() > 1 && !file.code[..at].ends_with("::");
                found.extend(is_path.then(|| self.absolute(&file.base(module, at), &path)).flatten());
            }
        }
        found
    }

    /// The path from the root of the crate; `None` of what another crate defines.
    fn absolute(&self, base: &Module, path: &[String]) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let mut module = match first.as_str() {
            "crate" => return Some(rest.to_vec()),
            "self" => base.clone(),
            "super" => base.split_last()?.1.to_vec(),
            child => {
                let child = [base.as_slice(), &[child.to_owned()]].concat();
                return self.files.contains_key(&child).then(|| [child.as_slice(), rest].concat());
            }
        };
        let ups = rest.iter().take_while(|part| *part == "super").count();
        module.truncate(module.len().checked_sub(ups)?);
        Some([module.as_slice(), &rest[ups..]].concat())
    }

    /// The module whose file defines what a path leads to; `None` if another crate does.
    fn definer(&self, path: &Module, depth: usize) -> Option<Module> {
        let length = (1..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length]))?;
        let (module, rest) = path.split_at(length);
        let module = module.to_vec();
        let Some(item) = rest.first() else { return Some(module) };
        match self.files[&module].names.iter().find(|name| name.name == *item && name.base == module) {
            Some(name) if depth < 10 => {
                let path = self.absolute(&name.base, &name.path)?;
                self.definer(&[path.as_slice(), &rest[1..]].concat(), depth + 1)
            }
            _ => Some(module),
        }
    }
}

impl ImportingFile {
    fn new(path: &Path, module: &Module, code: &str) -> Self {
        let mut file =
            Self { path: path.display().to_string(), names: Vec::new(), code: String::new(), inner: inner(code) };
        let mut rest = code.to_owned();
        let mut start = 0;
        for line in code.split_inclusive('\n') {
            let at = start;
            start += line.len();
            let Some((is_public, tree)) = use_tree(&code[at..]) else { continue };
            let base = file.base(module, at);
            let names = spelled_out(tree).into_iter();
            file.names.extend(names.map(|(path, name)| ImportedName { name, base: base.clone(), path, is_public }));
            let end = at + code[at..].find(';').unwrap();
            rest.replace_range(at..end, &" ".repeat(end - at));
        }
        file.code = without_visibilities(rest);
        file
    }

    /// The module at a place of the code.
    fn base(&self, module: &Module, at: usize) -> Module {
        let inner = self.inner.iter().filter(|(_, range)| range.contains(&at)).map(|(name, _)| name.clone());
        module.iter().cloned().chain(inner).collect()
    }

    /// Whether the code uses a name that it imports: a type anywhere, another item as a call or as the beginning of a
    /// path.
    fn uses(&self, name: &str) -> bool {
        let is_type = name.starts_with(char::is_uppercase);
        words(&self.code, name).any(|at| is_type || self.code[at + name.len()..].starts_with(['(', ':', '<']))
    }
}

/// The module of a file: `src/store/tables/mod.rs` is `store::tables`.
pub(crate) fn module_of(path: &Path) -> Module {
    let inside = path.strip_prefix("src").unwrap().with_extension("");
    let mut module: Module = inside.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    module.pop_if(|last| last == "mod");
    module
}

/// The tree of the `use` statement that a line begins, and whether other modules can import from it.
fn use_tree(text: &str) -> Option<(bool, &str)> {
    let (statement, _) = text.trim_start_matches([' ', '\t']).split_once(';')?;
    let (is_public, tree) = match statement.strip_prefix("pub") {
        Some(public) => {
            let public =
                public.strip_prefix('(').and_then(|scope| scope.split_once(')')).map_or(public, |(_, rest)| rest);
            (true, public.strip_prefix(" use ")?)
        }
        None => (false, statement.strip_prefix("use ")?),
    };
    let is_tree =
        tree.chars().all(|letter| letter.is_alphanumeric() || letter.is_whitespace() || "_:{},*".contains(letter));
    is_tree.then_some((is_public, tree))
}

/// The paths of a `use` tree, each with the name that it gets.
fn spelled_out(tree: &str) -> Vec<(Vec<String>, String)> {
    let tree = tree.trim();
    if let Some((stem, branches)) = tree.split_once('{') {
        let branches = branches.trim_end().strip_suffix('}').unwrap_or(branches);
        let stem = path_at(stem);
        let mut depth = 0;
        let of_branch = |letter: char| {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            letter == ',' && depth == 0
        };
        let branches = branches.split(of_branch).filter(|branch| !branch.trim().is_empty());
        return branches
            .flat_map(spelled_out)
            .map(|(path, name)| match path.as_slice() {
                [own] if own == "self" => {
                    (stem.clone(), stem.last().filter(|_| name == "self").cloned().unwrap_or(name))
                }
                path => ([stem.as_slice(), path].concat(), name),
            })
            .collect();
    }
    let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.trim())));
    let path = path_at(path);
    let name = alias.map(str::to_owned).or(path.last().cloned()).unwrap_or_default();
    vec![(path, name)]
}

/// The path that a text begins with, in its parts.
fn path_at(text: &str) -> Vec<String> {
    let end =
        text.find(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == ':')).unwrap_or(text.len());
    text[..end].split("::").filter(|part| !part.is_empty()).map(|part| part.trim_matches(':').to_owned()).collect()
}

/// The positions of a word in a text, as a word of its own.
fn words(text: &str, word: &str) -> impl Iterator<Item = usize> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let found = text.match_indices(word).map(|(at, _)| at);
    found.filter(move |at| !text[..*at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

/// The code without `pub(in crate::...)`, which imports nothing.
fn without_visibilities(mut code: String) -> String {
    while let Some(at) = code.find("pub(in ") {
        let end = code[at..].find(')').map_or(code.len(), |length| at + length + 1);
        code.replace_range(at..end, &" ".repeat(end - at));
    }
    code
}

/// The modules inside of a file that have a body, outer ones first, by their names.
fn inner(code: &str) -> Vec<(String, Range<usize>)> {
    let body = |at: usize| {
        let (name, _) = code[at + "mod ".len()..].split_once(" {")?;
        let is_name = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        let mut depth = 0_usize;
        let end = code[at..].find(|letter| {
            depth = match letter {
                '{' => depth + 1,
                '}' => depth - 1,
                _ => depth,
            };
            letter == '}' && depth == 0
        });
        is_name.then(|| (name.to_owned(), at..end.map_or(code.len(), |end| at + end)))
    };
    words(code, "mod").filter(|at| code[at + "mod".len()..].starts_with(' ')).filter_map(body).collect()
}

/// The shortest way from a file back to itself, both ends included; `None` unless the file is the first of the circle
/// by name.
fn shortest_circle<'a>(start: &'a Module, edges: &'a BTreeMap<&Module, BTreeSet<Module>>) -> Option<Vec<&'a Module>> {
    let mut before: BTreeMap<&Module, &Module> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(module) = queue.pop_front() {
        for target in edges.get(module)? {
            if target == start {
                let mut circle = vec![start, module];
                while let Some(previous) = circle.last().and_then(|last| before.get(last)) {
                    circle.push(previous);
                }
                circle.reverse();
                return circle.iter().all(|other| start <= other).then_some(circle);
            }
            if !before.contains_key(target) {
                before.insert(target, module);
                queue.push_back(target);
            }
        }
    }
    None
}
