//! Completion candidates for a shell: commands, flags, chains, and values from the store.
//!
//! The module must never create or change a store, and must only return candidates that no shell expands. Values in the
//! store came from outside, and some shells insert a candidate unquoted.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use clap_complete::{CompleteEnv, CompletionCandidate};

use crate::{
    config::{self, Environment, Flags},
    domain::{
        alert::Alert,
        chains,
        filter::Named,
        text,
        transaction::{Transaction, TransactionHeader},
    },
    presentation::{
        filter_completion::{Names, asked, complete},
        glyphs::Glyphs,
        row_text,
    },
    store::{AlertQuery, Reader, Store},
};

/// The environment variable that the completion script sets when it runs hoptop for candidates.
pub(super) const VARIABLE: &str = "HOPTOP_COMPLETE";
/// The maximum number of candidates from the store.
const MAX_CANDIDATES: usize = 100;

/// If a shell requests candidates, prints them and ends the process. Otherwise does nothing.
pub(super) fn answer_shell(command: fn() -> clap::Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).bin("hoptop").complete();
}

/// Returns hashes that begin with the typed text; the newest transactions if nothing is typed.
pub(super) fn transactions(typed: &OsStr) -> Vec<CompletionCandidate> {
    let candidate = |tx: TransactionHeader| {
        let help = format!(
            "{} {} {}",
            row_text::status_of(&tx, Glyphs::Ascii),
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
    name_candidates(Named::Ticket, typed)
}

/// Returns transactions whose hash begins with the typed text, then tickets that do.
pub(super) fn transactions_and_tickets(typed: &OsStr) -> Vec<CompletionCandidate> {
    transactions(typed).into_iter().chain(tickets(typed)).collect()
}

/// Returns labels that begin with the typed text.
pub(super) fn labels(typed: &OsStr) -> Vec<CompletionCandidate> {
    name_candidates(Named::Label, typed)
}

/// Returns the names of one kind in the store that begin with the typed text.
fn name_candidates(kind: Named, typed: &OsStr) -> Vec<CompletionCandidate> {
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
    let names = asked(typed).and_then(|(of, beginning)| {
        let words = read_store(|reader| reader.names(of, beginning, MAX_CANDIDATES).ok())?;
        Some(Names { of, beginning: beginning.to_owned(), words, is_whole: false })
    });
    let completion = complete(typed, names.as_ref());
    let before = typed.get(..completion.start).unwrap_or_default();
    completion.words.iter().filter_map(|word| plain_candidate(&format!("{before}{word}"))).collect()
}

/// Returns a candidate for `word`, or `None` if a shell could read `word` as more than one plain word or as a flag.
fn plain_candidate(word: &str) -> Option<CompletionCandidate> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._/:@%+,-".contains(letter);
    let is_word = !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain);
    is_word.then(|| CompletionCandidate::new(word))
}

/// Whether `text` begins with `typed`, byte by byte.
fn starts_with(text: &OsStr, typed: &OsStr) -> bool {
    text.as_encoded_bytes().starts_with(typed.as_encoded_bytes())
}

/// Reads the store that the command line names. Returns `None` if the store is missing or can't be read.
fn read_store<T>(work: impl FnOnce(&Reader) -> Option<T>) -> Option<T> {
    let settings = config::load(store_flags(std::env::args_os()), &Environment::process()).ok()?;
    if Store::has_no_store_at(&settings.db) {
        return None;
    }
    work(&Reader::quick(&settings.db).ok()?)
}

/// Returns the flags of a command line that say which store it uses.
fn store_flags(words: impl Iterator<Item = OsString>) -> Flags {
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let value = |flag: &str| {
        let at = words.iter().position(|word| word == flag).map(|at| at + 1);
        // Bash splits `--db=PATH` into three words.
        let next = at.and_then(|at| words.get(at).filter(|word| *word != "=").or_else(|| words.get(at + 1)));
        let within = || words.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('='));
        next.map(String::as_str).or_else(within)
    };
    // The shell hasn't expanded `~` yet.
    let path = |text: &str| match text.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest),
        None => PathBuf::from(text),
    };
    Flags {
        db: value("--db").map(path),
        store: value("--store").map(str::to_owned),
        config: value("--config").map(path),
        state_dir: value("--state-dir").map(path),
        profile: value("--profile").map(str::to_owned),
        ..Flags::default()
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
            assert_eq!(of(line), Flags { db: db.clone(), config: config.clone(), ..Flags::default() }, "{line}");
        }
        assert_eq!(of("hoptop show --db"), Flags::default());
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
