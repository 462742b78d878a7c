//! Completes a filter while a person types it.
//!
//! The grammar's words and the shipped chains are known here; callers pass the names from the store. This module must
//! never offer a word that the parser refuses. `mine` is offered even if the person's name isn't set: its error
//! explains how to set the name.

use crate::domain::{
    chains,
    filter::{self, NameKind, SortBy},
    status::RouterStatus,
};

/// The words that can replace the word that is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The byte offset of the word that is being typed. The word ends at the cursor.
    pub start: usize,
    /// The words that begin with the typed text.
    pub words: Vec<String>,
}

impl Completion {
    /// Returns the longest common beginning of the words.
    pub fn common_prefix(&self) -> &str {
        let Some((first, rest)) = self.words.split_first() else { return "" };
        let shared = |length: &usize| rest.iter().all(|word| word.get(..*length) == first.get(..*length));
        let ends = first.char_indices().map(|(at, letter)| at + letter.len_utf8());
        first.get(..ends.take_while(shared).last().unwrap_or(0)).unwrap_or_default()
    }
}

/// Names from the store, with the request that they answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameMatches {
    /// The kind of the names.
    pub kind: NameKind,
    /// The requested prefix; case is ignored.
    pub prefix: String,
    /// The names, in their order.
    pub words: Vec<String>,
    /// Whether these are all names with this prefix.
    pub has_all: bool,
}

impl NameMatches {
    /// Whether the names are of the kind that is being typed at the end of `text`, and the requested prefix still
    /// fits.
    pub fn matches_request(&self, text: &str) -> bool {
        // The store compares in the same way.
        let prefix = self.prefix.to_ascii_lowercase();
        let begins = |value: &str| value.to_ascii_lowercase().starts_with(&prefix);
        requested_names(text).is_some_and(|(kind, value)| kind == self.kind && begins(value))
    }

    /// Whether another request to the store can't improve the completion of `text`.
    pub fn is_final_for(&self, text: &str) -> bool {
        let is_one = |value: &str| self.words.iter().any(|word| word == value);
        let exactly = |value: &str| value.eq_ignore_ascii_case(&self.prefix);
        let knows = |value: &str| self.has_all || is_one(value) || exactly(value);
        self.matches_request(text) && requested_names(text).is_some_and(|(_, value)| knows(value))
    }
}

/// Returns the names to request from the store to complete `text`: their kind and their beginning.
pub(crate) fn requested_names(text: &str) -> Option<(NameKind, &str)> {
    let (key, value) = text.get(last_word(text)..)?.split_once(':')?;
    NameKind::of(key).map(|kind| (kind, value))
}

/// Returns the byte offset of the last word, after a `-` that negates it and the parentheses before it.
fn last_word(text: &str) -> usize {
    let word = text.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let typed = text.get(word..).unwrap_or_default();
    word + typed.len() - typed.trim_start_matches(['-', '(']).len()
}

/// Returns the completions at the end of `text`; for tickets, labels, profiles and people from `names`.
pub(crate) fn complete(text: &str, names: Option<&NameMatches>) -> Completion {
    let word = last_word(text);
    let typed = text.get(word..).unwrap_or_default();
    let Some((key, value)) = typed.split_once(':') else { return matching_words(word, typed, filter::keys()) };
    let start = word + key.len() + 1;
    if let Some(kind) = NameKind::of(key) {
        // A name may contain commas.
        let names = names.filter(|names| names.kind == kind);
        let words = names.into_iter().flat_map(|names| names.words.iter().filter(|name| is_a_word(name)).cloned());
        return matching_words(start, value, words);
    }
    // Commas separate several values; a `-` may reverse a sort key.
    let last = value.rfind(',').map_or(0, |at| at + 1);
    let is_reversed = usize::from(key == "sort" && value.get(last..).is_some_and(|value| value.starts_with('-')));
    let start = start + last + is_reversed;
    matching_words(start, text.get(start..).unwrap_or_default(), values(key).into_iter())
}

fn matching_words(start: usize, typed: &str, words: impl Iterator<Item = String>) -> Completion {
    let lower = typed.to_lowercase();
    let extends_typed_text = |word: &String| {
        let word = word.to_lowercase();
        word.starts_with(&lower) && word != lower
    };
    Completion { start, words: words.filter(extends_typed_text).collect() }
}

/// Whether a name can be written without quotation marks: a parenthesis that isn't balanced would end the word.
fn is_a_word(name: &str) -> bool {
    let open = name.chars().try_fold(0_usize, |open, letter| match letter {
        '(' => Some(open + 1),
        ')' => open.checked_sub(1),
        _ => Some(open),
    });
    !name.contains(char::is_whitespace) && !name.contains('"') && open == Some(0)
}

fn values(key: &str) -> Vec<String> {
    let owned = |words: &mut dyn Iterator<Item = &str>| words.map(str::to_owned).collect();
    match key {
        "is" => owned(&mut filter::states()),
        "status" => owned(&mut RouterStatus::DOCUMENTED.iter().map(RouterStatus::name).chain(["unknown", "none"])),
        "sort" => owned(&mut SortBy::ALL.iter().map(|key| key.name())),
        "chain" | "from" | "to" => {
            chains::all().iter().map(|chain| chain.name.to_lowercase()).filter(|name| is_a_word(name)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::filter::Filter;

    #[test]
    fn the_word_that_is_being_typed_is_completed() {
        let offered = |text: &str| {
            let Completion { start, words } = complete(text, None);
            (start, words.join(" "))
        };
        assert_eq!(offered("sta"), (0, "status:".into()));
        assert_eq!(offered("chain:base -is:un"), (15, "unsettled untracked".into()));
        assert_eq!(offered("status:ongoing,par"), (15, "partial_success".into()));
        assert_eq!(offered("sort:sev,-che"), (10, "checked".into()));
        assert_eq!(offered("from:ARB"), (5, "arbitrum".into()));
        assert_eq!(offered("ag"), (0, "age>".into()));
        assert_eq!(offered("vip or -(is:un"), (12, "unsettled untracked".into()));
        assert_eq!((offered("b"), offered("-mi")), ((0, "by:".into()), (1, "mine".into())));
        assert_eq!(offered("is:overdue"), (3, String::new()));
        assert_eq!(offered("ticket:S"), (7, String::new()));
        assert_eq!(offered("").0, 0);
        assert_eq!(complete("is:un", None).common_prefix(), "un");
        assert_eq!(complete("is:uns", None).common_prefix(), "unsettled");
        assert_eq!(complete("is:x", None).common_prefix(), "");
    }

    #[test]
    fn names_of_the_store_complete_only_terms_of_their_kind() {
        assert_eq!(requested_names("vip -ticket:SUP"), Some((NameKind::Ticket, "SUP")));
        assert_eq!(requested_names("label:"), Some((NameKind::Label, "")));
        assert_eq!(requested_names("by:An"), Some((NameKind::Person, "An")));
        assert_eq!([requested_names("chain:b"), requested_names("ticket:SUP "), requested_names("tick")], [None; 3]);
        let words = ["SUP-1", "SUP-2,a", "two words", "s\"p"].map(str::to_owned).to_vec();
        let mut names = NameMatches { kind: NameKind::Ticket, prefix: "s".into(), words, has_all: true };
        let offered = |names: &NameMatches, text: &str| {
            let found = complete(text, Some(names));
            (found.start, found.words.join(" "))
        };
        assert_eq!(offered(&names, "ticket:s"), (7, "SUP-1 SUP-2,a".into()));
        assert_eq!(offered(&names, "x -ticket:sup-2,"), (10, "SUP-2,a".into()));
        assert_eq!(offered(&names, "label:s").1, "");
        let known = |names: &NameMatches, text: &str| (names.matches_request(text), names.is_final_for(text));
        assert_eq!(
            [known(&names, "ticket:SU"), known(&names, "ticket:o"), known(&names, "label:s")],
            [(true, true), (false, false), (false, false)]
        );
        names.has_all = false;
        assert_eq!(
            [known(&names, "ticket:SU"), known(&names, "ticket:S"), known(&names, "ticket:SUP-1")],
            [(true, false), (true, true), (true, true)]
        );
    }

    #[test]
    fn nothing_is_offered_that_the_parser_refuses() {
        for key in complete("", None).words {
            let value = if key.ends_with(['>', '<']) { "5m".to_owned() } else { String::new() };
            let all = complete(&key, None).words;
            let all = if all.is_empty() { vec![if value.is_empty() { "x".to_owned() } else { value }] } else { all };
            for value in all {
                assert!(Filter::parse(&format!("{key}{value}")).is_ok(), "{key}{value}");
            }
        }
    }
}
