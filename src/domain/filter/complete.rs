//! What a filter that is being typed may go on with.
//!
//! It knows the grammar's own words and the shipped chains, and is told what the store names; it must never offer what the
//! parser refuses.

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

/// What a filter can ask for by name, and only the store knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Tickets.
    Ticket,
    /// Labels.
    Label,
    /// Profiles.
    Profile,
}

impl Named {
    fn of(key: &str) -> Option<Self> {
        match key {
            "ticket" => Some(Self::Ticket),
            "label" => Some(Self::Label),
            "profile" => Some(Self::Profile),
            _ => None,
        }
    }
}

/// Names that the store knows, as they were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Of what.
    pub of: Named,
    /// How they begin, without case.
    pub beginning: String,
    /// The names, in their order.
    pub words: Vec<String>,
    /// Whether these are all that begin so.
    pub is_whole: bool,
}

impl Names {
    /// Whether they are about what is being typed at the end of `text`, as it is or as it began.
    pub fn concern(&self, text: &str) -> bool {
        // As the store compares them.
        let beginning = self.beginning.to_ascii_lowercase();
        let begins = |value: &str| value.to_ascii_lowercase().starts_with(&beginning);
        asked(text).is_some_and(|(of, value)| of == self.of && begins(value))
    }

    /// Whether another request can't complete it further.
    pub fn suffice(&self, text: &str) -> bool {
        let is_one = |value: &str| self.words.iter().any(|word| word == value);
        let exactly = |value: &str| value.eq_ignore_ascii_case(&self.beginning);
        let knows = |value: &str| self.is_whole || is_one(value) || exactly(value);
        self.concern(text) && asked(text).is_some_and(|(_, value)| knows(value))
    }
}

/// What the store is to be asked for, to complete `text`: which names, and how they begin.
pub fn asked(text: &str) -> Option<(Named, &str)> {
    let (key, value) = text.get(last_word(text)..)?.split_once(':')?;
    Named::of(key).map(|of| (of, value))
}

/// Where the last word starts, behind the sign that may negate it.
fn last_word(text: &str) -> usize {
    let word = text.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    word + usize::from(text.get(word..).is_some_and(|word| word.starts_with('-')))
}

/// What `text` may go on with, where it ends; of tickets, labels and profiles what the store names.
pub fn complete(text: &str, names: Option<&Names>) -> Completion {
    let word = last_word(text);
    let typed = text.get(word..).unwrap_or_default();
    let Some((key, value)) = typed.split_once(':') else { return beginning(word, typed, parse::keys()) };
    let start = word + key.len() + 1;
    if let Some(of) = Named::of(key) {
        // Of a name everything counts, the commas too.
        let names = names.filter(|names| names.of == of);
        let words = names.into_iter().flat_map(|names| names.words.iter().filter(|name| is_a_word(name)).cloned());
        return beginning(start, value, words);
    }
    // Several stand with commas between; an order may be turned round.
    let last = value.rfind(',').map_or(0, |at| at + 1);
    let turned = usize::from(key == "sort" && value.get(last..).is_some_and(|value| value.starts_with('-')));
    let start = start + last + turned;
    beginning(start, text.get(start..).unwrap_or_default(), values(key).into_iter())
}

fn beginning(start: usize, typed: &str, words: impl Iterator<Item = String>) -> Completion {
    let lower = typed.to_lowercase();
    let goes_on = |word: &String| {
        let word = word.to_lowercase();
        word.starts_with(&lower) && word != lower
    };
    Completion { start, words: words.filter(goes_on).collect() }
}

/// Whether it can stand as it is: what has a blank in it would have to stand between quotation marks.
fn is_a_word(name: &str) -> bool {
    !name.contains(char::is_whitespace) && !name.contains('"')
}

fn values(key: &str) -> Vec<String> {
    let owned = |words: &mut dyn Iterator<Item = &str>| words.map(str::to_owned).collect();
    match key {
        "is" => owned(&mut parse::states()),
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
    use super::{super::Filter, *};

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
        assert_eq!(offered("is:overdue"), (3, String::new()));
        assert_eq!(offered("ticket:S"), (7, String::new()));
        assert_eq!(offered("").0, 0);
        assert_eq!(complete("is:un", None).common(), "un");
        assert_eq!(complete("is:uns", None).common(), "unsettled");
        assert_eq!(complete("is:x", None).common(), "");
    }

    #[test]
    fn tickets_and_labels_are_those_that_the_store_names() {
        assert_eq!(asked("vip -ticket:SUP"), Some((Named::Ticket, "SUP")));
        assert_eq!(asked("label:"), Some((Named::Label, "")));
        assert_eq!([asked("chain:b"), asked("ticket:SUP "), asked("tick")], [None; 3]);
        let words = ["SUP-1", "SUP-2,a", "two words", "s\"p"].map(str::to_owned).to_vec();
        let mut names = Names { of: Named::Ticket, beginning: "s".into(), words, is_whole: true };
        let offered = |names: &Names, text: &str| {
            let found = complete(text, Some(names));
            (found.start, found.words.join(" "))
        };
        assert_eq!(offered(&names, "ticket:s"), (7, "SUP-1 SUP-2,a".into()));
        assert_eq!(offered(&names, "x -ticket:sup-2,"), (10, "SUP-2,a".into()));
        assert_eq!(offered(&names, "label:s").1, "");
        let known = |names: &Names, text: &str| (names.concern(text), names.suffice(text));
        assert_eq!(
            [known(&names, "ticket:SU"), known(&names, "ticket:o"), known(&names, "label:s")],
            [(true, true), (false, false), (false, false)]
        );
        names.is_whole = false;
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
