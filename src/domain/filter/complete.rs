//! What a filter that is being typed may go on with.
//!
//! It knows the grammar's own words and the shipped chains; it must never offer what the parser refuses.

use super::{parse, sort::SortBy};
use crate::domain::{chains, status::RouterStatus};

/// What may stand in the place of the word that is being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Where that word starts, in bytes. It ends where the person is.
    pub start: usize,
    /// The words that begin so.
    pub words: Vec<String>,
}

impl Completion {
    /// What all of them begin with.
    pub fn common(&self) -> &str {
        let Some((first, rest)) = self.words.split_first() else { return "" };
        let shared = |length: &usize| rest.iter().all(|word| word.get(..*length) == first.get(..*length));
        let ends = first.char_indices().map(|(at, letter)| at + letter.len_utf8());
        first.get(..ends.take_while(shared).last().unwrap_or(0)).unwrap_or_default()
    }
}

/// What `text` may go on with, where it ends.
pub fn complete(text: &str) -> Completion {
    let word = text.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let word = word + usize::from(text.get(word..).is_some_and(|word| word.starts_with('-')));
    let typed = text.get(word..).unwrap_or_default();
    match typed.split_once(':') {
        None => beginning(word, typed, parse::keys()),
        Some((key, value)) => {
            // Several stand with commas between; an order may be turned round.
            let last = value.rfind(',').map_or(0, |at| at + 1);
            let turned = usize::from(key == "sort" && value.get(last..).is_some_and(|value| value.starts_with('-')));
            let start = word + key.len() + 1 + last + turned;
            beginning(start, text.get(start..).unwrap_or_default(), values(key).into_iter())
        }
    }
}

fn beginning(start: usize, typed: &str, words: impl Iterator<Item = String>) -> Completion {
    let lower = typed.to_lowercase();
    Completion { start, words: words.filter(|word| word.starts_with(&lower) && *word != lower).collect() }
}

fn values(key: &str) -> Vec<String> {
    let owned = |words: &mut dyn Iterator<Item = &str>| words.map(str::to_owned).collect();
    match key {
        "is" => owned(&mut parse::states()),
        "status" => owned(&mut RouterStatus::DOCUMENTED.iter().map(RouterStatus::name).chain(["unknown", "none"])),
        "sort" => owned(&mut SortBy::ALL.iter().map(|key| key.name())),
        // What has a blank in it would have to stand between quotation marks.
        "chain" | "from" | "to" => chains::all()
            .iter()
            .map(|chain| chain.name.to_lowercase())
            .filter(|name| !name.contains(char::is_whitespace))
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Filter, *};

    #[test]
    fn the_word_that_is_being_typed_is_completed() {
        let offered = |text: &str| {
            let Completion { start, words } = complete(text);
            (start, words.join(" "))
        };
        assert_eq!(offered("sta"), (0, "status:".into()));
        assert_eq!(offered("chain:base -is:un"), (15, "unsettled untracked".into()));
        assert_eq!(offered("status:ongoing,par"), (15, "partial_success".into()));
        assert_eq!(offered("sort:sev,-che"), (10, "checked".into()));
        assert_eq!(offered("from:ARB"), (5, "arbitrum".into()));
        assert_eq!(offered("ag"), (0, "age>".into()));
        assert_eq!(offered("is:overdue"), (3, String::new()));
        assert_eq!(offered("ticket:S"), (7, String::new()));
        assert_eq!(offered("").0, 0);
        assert_eq!(complete("is:un").common(), "un");
        assert_eq!(complete("is:uns").common(), "unsettled");
        assert_eq!(complete("is:x").common(), "");
    }

    #[test]
    fn nothing_is_offered_that_the_parser_refuses() {
        for key in complete("").words {
            let value = if key.ends_with(['>', '<']) { "5m".to_owned() } else { String::new() };
            let all = complete(&key).words;
            let all = if all.is_empty() { vec![if value.is_empty() { "x".to_owned() } else { value }] } else { all };
            for value in all {
                assert!(Filter::parse(&format!("{key}{value}")).is_ok(), "{key}{value}");
            }
        }
    }
}
