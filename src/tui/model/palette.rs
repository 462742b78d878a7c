//! The command line: what is typed, and the commands that it may mean.
//!
//! It must never offer what doesn't apply where the person is.

use nucleo_matcher::{
    Config, Matcher, Utf32Str,
    pattern::{CaseMatching, Normalization, Pattern},
};
use tui_input::Input;

use crate::{
    domain::filter::SortBy,
    tui::{
        command::{COMMANDS, Command, Context, Group, Id},
        theme::Shipped,
    },
};

/// Behind `:theme`: the one that the settings name.
pub const CONFIGURED: &str = "configured";

/// The command line's state.
#[derive(Debug)]
pub struct Palette {
    /// What is typed: a command's name or a part of it, and behind a blank what it is to work with.
    pub input: Input,
    /// Where the person was, so that only what applies there is offered.
    pub contexts: &'static [Context],
    /// What it may mean, the likeliest first.
    pub offers: Vec<Offer>,
    /// Which of these is chosen.
    pub chosen: usize,
    /// Whether the person chose it among the offers.
    is_picked: bool,
}

/// A command that may be meant.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The command.
    pub command: &'static Command,
    /// What it is to work with; empty if nothing.
    pub argument: String,
}

impl Palette {
    /// One in which this is typed already.
    pub fn new(contexts: &'static [Context], text: &str) -> Self {
        let mut palette =
            Self { input: Input::new(text.to_owned()), contexts, offers: Vec::new(), chosen: 0, is_picked: false };
        palette.update_matches();
        palette
    }

    /// Looks for what is meant, after something was typed.
    pub fn update_matches(&mut self) {
        let text = self.input.value();
        let with_argument = text.trim_start().split_once(' ').and_then(|(name, argument)| {
            let command = applying(self.contexts).find(|command| command.name == name && command.argument.is_some())?;
            Some(with_arguments(command, argument.trim()))
        });
        self.offers = with_argument.unwrap_or_else(|| by_name(self.contexts, text.trim()));
        (self.chosen, self.is_picked) = (0, false);
    }

    /// Whether the chosen one is a guess that may do harm: it changes something, and is neither named nor the only one whose name
    /// begins so.
    pub fn is_daring(&self) -> bool {
        let typed = self.input.value().trim();
        let begins = |offer: &&Offer| offer.command.name.starts_with(typed);
        let is_named = |command: &Command| {
            let is_only = command.name.starts_with(typed) && self.offers.iter().filter(begins).count() == 1;
            typed.is_empty() || is_only || typed.split(' ').next() == Some(command.name)
        };
        let chosen = self.offers.get(self.chosen).map(|offer| offer.command);
        !self.is_picked && chosen.is_some_and(|command| command.group == Group::Act && !is_named(command))
    }

    /// Chooses another offer, so many further down.
    pub fn move_by(&mut self, offers: isize) {
        let last = self.offers.len().saturating_sub(1);
        (self.chosen, self.is_picked) = (self.chosen.saturating_add_signed(offers).min(last), true);
    }

    /// Writes the chosen offer out, to go on behind it.
    pub fn complete(&mut self) {
        if let Some(Offer { command, argument }) = self.offers.get(self.chosen) {
            let blank = if command.argument.is_some() && argument.is_empty() { " " } else { "" };
            let text = format!("{} {argument}", command.name);
            self.input = Input::new(format!("{}{blank}", text.trim_end()));
            self.update_matches();
        }
    }
}

fn applying(contexts: &'static [Context]) -> impl Iterator<Item = &'static Command> {
    let applies = |command: &Command| contexts.iter().any(|context| command.contexts.contains(context));
    COMMANDS.iter().filter(move |command| applies(command) && command.id != Id::CommandLine)
}

/// Commands by their names, or by what they do; all of them if nothing is typed.
fn by_name(contexts: &'static [Context], text: &str) -> Vec<Offer> {
    let texts = applying(contexts).map(|command| (command, format!("{} {}", command.name, command.help)));
    let offer = |command| Offer { command, argument: String::new() };
    // A name is nearer than the words that explain it.
    best_first(text, scores(text, texts), |command| command.name).into_iter().map(offer).collect()
}

/// What begins with the text comes first, the shortest of it before the others; then what matches best.
fn best_first<T>(text: &str, scored: impl Iterator<Item = (T, u32)>, name: impl Fn(&T) -> &str) -> Vec<T> {
    let begins = |name: &str| !text.is_empty() && name.starts_with(text);
    let mut scored: Vec<_> = scored.collect();
    scored.sort_by_key(|(found, score)| {
        let name = name(found);
        (!begins(name), if begins(name) { name.len() } else { 0 }, std::cmp::Reverse(*score))
    });
    scored.into_iter().map(|(found, _)| found).collect()
}

/// A command with what is typed behind it, or with each value that this may mean.
fn with_arguments(command: &'static Command, typed: &str) -> Vec<Offer> {
    let offer = |argument: String| Offer { command, argument };
    let names: Vec<&str> = match command.id {
        Id::Sort => SortBy::ALL.iter().map(|key| key.name()).collect(),
        Id::Theme => Shipped::ALL.iter().map(|theme| theme.name()).chain([CONFIGURED]).collect(),
        _ => return vec![offer(typed.to_owned())],
    };
    // Several keys, or one that is turned round, are typed whole.
    let names = names.into_iter().map(|name| (name.to_owned(), name.to_owned()));
    let mut found: Vec<_> = best_first(typed, scores(typed, names), |name| name).into_iter().map(offer).collect();
    if found.is_empty() {
        found.push(offer(typed.to_owned()));
    }
    found
}

/// What matches, with how well.
pub(super) fn scores<T>(text: &str, candidates: impl Iterator<Item = (T, String)>) -> impl Iterator<Item = (T, u32)> {
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(text, CaseMatching::Ignore, Normalization::Smart);
    let mut buffer = Vec::new();
    candidates.filter_map(move |(candidate, words)| {
        let score = pattern.score(Utf32Str::new(&words, &mut buffer), &mut matcher)?;
        Some((candidate, score))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(text: &str) -> Vec<(&'static str, String)> {
        let palette = Palette::new(&[Context::List], text);
        palette.offers.into_iter().map(|offer| (offer.command.name, offer.argument)).collect()
    }

    #[test]
    fn a_command_is_found_by_its_name_a_part_of_it_and_what_it_does() {
        assert_eq!(offered("poll_now")[0].0, "poll_now");
        assert_eq!(offered("pn")[0].0, "poll_now");
        assert!(offered("clipboard").iter().any(|(name, _)| *name == "answer"));
        assert!(offered("").len() > 10);
        assert_eq!(offered("xyzzy plugh"), []);
        // What doesn't apply in the list isn't offered there.
        assert!(offered("back").iter().all(|(name, _)| *name != "back"));
        assert_eq!(offered("q")[0].0, "quit");
        assert_eq!(offered("unack")[0].0, "unacknowledge");
    }

    #[test]
    fn what_changes_something_is_named_or_chosen_and_never_guessed() {
        let daring = |text: &str| Palette::new(&[Context::List], text).is_daring();
        for text in ["utrack", "mark all that", "un", "undoes"] {
            assert!(daring(text), "{text}");
        }
        for text in ["untr", "undo", "delete yes", "", "thm"] {
            assert!(!daring(text), "{text}");
        }
        let mut palette = Palette::new(&[Context::List], "un");
        palette.move_by(1);
        assert!(!palette.is_daring(), "it was chosen");
    }

    #[test]
    fn what_a_command_works_with_is_offered_or_taken_as_it_is() {
        assert_eq!(offered("sort age")[0], ("sort", "age".into()));
        assert_eq!(offered("sort tick")[0], ("sort", "ticket".into()));
        assert_eq!(offered("theme da")[0], ("theme", "dark".into()));
        assert_eq!(offered("sort ").len(), SortBy::ALL.len());
        assert_eq!(offered("sort -age,due"), [("sort", "-age,due".into())]);
        assert_eq!(offered("filter is:overdue"), [("filter", "is:overdue".into())]);
        let mut palette = Palette::new(&[Context::List], "so");
        palette.complete();
        assert_eq!(palette.input.value(), "sort ");
        palette.move_by(2);
        palette.complete();
        assert_eq!(palette.input.value(), "sort age");
    }
}
