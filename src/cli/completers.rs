//! Completion candidates for a shell: commands, flags, chains, and values from the store.
//!
//! The module must never create or change a store, and must only return candidates that no shell expands. Values in the
//! store came from outside, and some shells insert a candidate unquoted.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    sync::OnceLock,
};

use clap_complete::{CompleteEnv, CompletionCandidate};

use crate::{
    config::{self, CommandLineSettings, Environment},
    domain::{
        alert::Alert,
        chains,
        filter::NameKind,
        text,
        transaction::{Transaction, TransactionHeader},
    },
    presentation::{
        filter_completion::{NameMatches, complete, requested_names},
        glyphs::Glyphs,
        row_text,
    },
    process::files::expand_home,
    store::{AlertQuery, Reader},
};

/// The environment variable that the completion script sets when it runs hoptop for candidates.
pub(super) const VARIABLE: &str = "HOPTOP_COMPLETE";
/// The name of the shell that requests candidates; empty if none does.
static SHELL: OnceLock<String> = OnceLock::new();
/// The maximum number of candidates from the store or from a folder.
const MAX_CANDIDATES: usize = 100;

/// If a shell requests candidates, prints them and ends the process. Otherwise does nothing.
pub(super) fn answer_shell(command: fn() -> clap::Command) {
    // Read first, because `complete` removes the variable before it computes candidates.
    SHELL.get_or_init(|| std::env::var(VARIABLE).unwrap_or_default());
    CompleteEnv::with_factory(command).var(VARIABLE).bin("hoptop").complete();
}

/// Returns hashes that begin with the typed text; the newest transactions if nothing is typed.
pub(super) fn transactions(typed: &OsStr) -> Vec<CompletionCandidate> {
    let candidate = |tx: TransactionHeader| {
        let help = format!(
            "{} {} {}",
            row_text::transaction_status_cell(&tx, Glyphs::Ascii),
            row_text::route(&tx, Glyphs::Ascii),
            row_text::ticket_or_label(&tx).unwrap_or("-")
        );
        Some(plain_candidate(tx.params.transaction_id.as_str())?.help(Some(text::clean(&help).into())))
    };
    let found = read_store(|reader| reader.with_hash_beginning(typed.to_str()?, MAX_CANDIDATES).ok());
    found.into_iter().flatten().filter_map(candidate).collect()
}

/// Returns alert IDs, the most urgent first, and transactions.
pub(super) fn alerts(typed: &OsStr) -> Vec<CompletionCandidate> {
    let found = read_store(|reader| reader.alerts_with_transactions(AlertQuery::MostUrgent(MAX_CANDIDATES)).ok())
        .unwrap_or_default();
    let candidate = |(alert, tx): (Alert, Option<Transaction>)| {
        let about = tx.map_or_else(String::new, |tx| format!(" {}", tx.params.transaction_id.short("...")));
        CompletionCandidate::new(alert.id.to_string()).help(Some(format!("{}{about}", alert.rule).into()))
    };
    let matches = |candidate: &CompletionCandidate| starts_with(candidate.get_value(), typed);
    let mut candidates: Vec<_> = found.into_iter().map(candidate).filter(matches).collect();
    candidates.extend(transactions(typed));
    candidates
}

/// Returns tickets that begin with the typed text.
pub(super) fn tickets(typed: &OsStr) -> Vec<CompletionCandidate> {
    name_candidates(NameKind::Ticket, typed)
}

/// Returns transactions whose hash begins with the typed text, then tickets that do.
pub(super) fn transactions_and_tickets(typed: &OsStr) -> Vec<CompletionCandidate> {
    transactions(typed).into_iter().chain(tickets(typed)).collect()
}

/// Returns labels that begin with the typed text.
pub(super) fn labels(typed: &OsStr) -> Vec<CompletionCandidate> {
    name_candidates(NameKind::Label, typed)
}

/// Returns the names of one kind in the store that begin with the typed text.
fn name_candidates(kind: NameKind, typed: &OsStr) -> Vec<CompletionCandidate> {
    let found = read_store(|reader| reader.names(kind, typed.to_str()?, MAX_CANDIDATES).ok());
    found.into_iter().flatten().filter_map(|name| plain_candidate(&name)).collect()
}

/// Returns IDs of well-known chains that begin with the typed text, with the chains' names.
pub(super) fn chains(typed: &OsStr) -> Vec<CompletionCandidate> {
    let candidates = chains::all()
        .iter()
        .map(|chain| CompletionCandidate::new(chain.id.to_string()).help(Some(chain.name.clone().into())));
    candidates.filter(|candidate| starts_with(candidate.get_value(), typed)).collect()
}

/// Returns completions of a filter, by its grammar and by the store's tickets, labels and profiles.
pub(super) fn filters(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let names = requested_names(typed).and_then(|(kind, prefix)| {
        let words = read_store(|reader| reader.names(kind, prefix, MAX_CANDIDATES).ok())?;
        Some(NameMatches { kind, prefix: prefix.to_owned(), words, has_all: false })
    });
    let completion = complete(typed, names.as_ref());
    let before = typed.get(..completion.start).unwrap_or_default();
    completion.words.iter().filter_map(|word| plain_candidate(&format!("{before}{word}"))).collect()
}

/// Returns the files and folders whose paths begin with the typed text. Hidden ones only if a dot is typed.
pub(super) fn files(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    // Bash inserts a candidate as it is and passes what is typed as it is; the other shells quote and unquote.
    let shell = SHELL.get().map(String::as_str);
    let is_bash = shell == Some("bash");
    let typed = if is_bash { unescape(typed) } else { typed.to_owned() };
    let (folder, beginning) = typed.split_at(typed.rfind('/').map_or(0, |slash| slash + 1));
    let path = if folder.is_empty() { PathBuf::from(".") } else { expand_home(folder) };
    let entries = path.read_dir().into_iter().flatten().flatten();
    let candidate = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let is_wanted = name.starts_with(beginning) && (beginning.starts_with('.') || !name.starts_with('.'));
        let end = if entry.path().is_dir() { "/" } else { "" };
        let path = format!("{folder}{name}{end}");
        let candidate = match plain_candidate(&path) {
            // Control characters would be executed or garble the terminal.
            None if path.chars().any(text::is_dropped) || path.starts_with('-') || path.contains(['\n', '\t']) => None,
            None if is_bash => Some(CompletionCandidate::new(escape(&path))),
            None if folder.starts_with("~/") || matches!(shell, Some("zsh" | "fish")) => {
                Some(CompletionCandidate::new(path))
            }
            candidate => candidate,
        };
        candidate.filter(|_| is_wanted)
    };
    let mut candidates: Vec<_> = entries.filter_map(candidate).collect();
    candidates.sort_by(|one, other| one.get_value().cmp(other.get_value()));
    candidates.truncate(MAX_CANDIDATES);
    candidates
}

/// Puts a backslash before each character that bash could expand, except for a leading `~/`.
fn escape(path: &str) -> String {
    let (home, rest) = path.split_at(if path.starts_with("~/") { 2 } else { 0 });
    let mut escaped = home.to_owned();
    for letter in rest.chars() {
        if !is_plain(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// Removes the backslashes of [`escape`].
fn unescape(typed: &str) -> String {
    let mut letters = typed.chars();
    std::iter::from_fn(|| {
        letters.next().map(|letter| if letter == '\\' { letters.next().unwrap_or(letter) } else { letter })
    })
    .collect()
}

/// Returns a candidate for `word`, or `None` if a shell could read `word` as more than one plain word or as a flag.
fn plain_candidate(word: &str) -> Option<CompletionCandidate> {
    let is_word = !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain);
    is_word.then(|| CompletionCandidate::new(word))
}

/// Whether every shell takes this character as it is.
fn is_plain(letter: char) -> bool {
    letter.is_alphanumeric() || "._/:@%+,-".contains(letter)
}

/// Whether `text` begins with `typed`, byte by byte.
fn starts_with(text: &OsStr, typed: &OsStr) -> bool {
    text.as_encoded_bytes().starts_with(typed.as_encoded_bytes())
}

/// Reads the store that the command line names. Returns `None` if the store is missing or can't be read.
fn read_store<T>(work: impl FnOnce(&Reader) -> Option<T>) -> Option<T> {
    let settings = config::load(store_flags(std::env::args_os()), &Environment::process()).ok()?;
    work(&Reader::open_for_short_read(&settings.db).ok()?)
}

/// Returns the flags of a command line that say which store it uses.
fn store_flags(words: impl Iterator<Item = OsString>) -> CommandLineSettings {
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let value = |flag: &str| {
        let at = words.iter().position(|word| word == flag).map(|at| at + 1);
        // Bash splits `--db=PATH` into three words.
        let next = at.and_then(|at| words.get(at).filter(|word| *word != "=").or_else(|| words.get(at + 1)));
        let within = || words.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('='));
        next.map(String::as_str).or_else(within)
    };
    CommandLineSettings {
        db: value("--db").map(expand_home),
        store: value("--store").map(str::to_owned),
        config: value("--config").map(expand_home),
        state_dir: value("--state-dir").map(expand_home),
        profile: value("--profile").map(str::to_owned),
        ignores_polling_settings: true,
        ..CommandLineSettings::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_names_the_store() {
        let of = |line: &str| store_flags(line.split(' ').map(OsString::from));
        let (db, config) = (Some(PathBuf::from("a.db")), Some(PathBuf::from("c.toml")));
        for line in [
            "hoptop --db a.db show --config=c.toml 0x",
            "hoptop -- hoptop --config c.toml list --db=a.db",
            "hoptop --db = a.db --config = c.toml list",
        ] {
            let (db, config) = (db.clone(), config.clone());
            assert_eq!(
                of(line),
                CommandLineSettings { db, config, ignores_polling_settings: true, ..CommandLineSettings::default() },
                "{line}"
            );
        }
        assert_eq!(
            of("hoptop show --db"),
            CommandLineSettings { ignores_polling_settings: true, ..CommandLineSettings::default() }
        );
    }

    #[test]
    fn word_that_a_shell_could_expand_is_no_candidate() {
        for word in ["SUP-1", "0xab", "cosmos/1:x", "é"] {
            assert!(plain_candidate(word).is_some(), "{word}");
        }
        for word in [
            "", "-x", "a b", "$(x)", "a;b", "`x`", "v*", "a\"b", "a'b", "~x", "=x", "a|b", "a\nb", "a\u{b}b", "a&",
            "#x",
        ] {
            assert!(plain_candidate(word).is_none(), "{word}");
        }
    }

    #[test]
    fn chains_and_filters_are_completed_without_a_store() {
        let values = |candidates: Vec<CompletionCandidate>| {
            let value = |candidate: &CompletionCandidate| candidate.get_value().to_str().unwrap().to_owned();
            candidates.iter().map(value).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(values(chains(OsStr::new("4216"))), "42161");
        assert_eq!(values(filters(OsStr::new("is:un"))), "is:unsettled is:untracked");
    }
}
