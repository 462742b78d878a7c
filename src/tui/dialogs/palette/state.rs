//! The state of the command palette: the typed text, and the matching commands.
//!
//! This module must never suggest a command that doesn't apply in the present context.

use nucleo_matcher::{
    Config, Matcher, Utf32Str,
    pattern::{AtomKind, CaseMatching, Normalization, Pattern},
};
use tui_input::Input;

use crate::{
    domain::filter::SortBy,
    tui::{
        command::{COMMANDS, CommandId, CommandWithArgument, KeyCommand, KeyContext},
        theme::ShippedTheme,
    },
};

/// The argument of `:theme` for the theme in the settings.
pub(crate) const CONFIGURED: &str = "configured";

/// The state of the command palette.
#[derive(Debug)]
pub struct CommandPalette {
    /// The typed text: the name of a command or a part of it, and after a space the argument.
    pub input: Input,
    /// The contexts in which the command palette was opened.
    pub contexts: &'static [KeyContext],
    /// The matching commands, best match first.
    pub suggestions: Vec<Suggestion>,
    /// The index of the chosen suggestion.
    pub chosen: usize,
    /// Whether a person moved the cursor to the chosen suggestion.
    is_picked: bool,
}

/// A command that matches the typed text.
#[derive(Clone, Debug)]
pub struct Suggestion {
    pub command: &'static KeyCommand,
    /// The argument; empty if there is none.
    pub argument: String,
}

impl CommandPalette {
    /// Returns a command palette that begins with a text.
    pub fn new(contexts: &'static [KeyContext], text: &str) -> Self {
        let mut palette =
            Self { input: Input::new(text.to_owned()), contexts, suggestions: Vec::new(), chosen: 0, is_picked: false };
        palette.update_suggestions();
        palette
    }

    /// Updates the suggestions after the text changed.
    pub fn update_suggestions(&mut self) {
        let text = self.input.value();
        let with_argument = text.trim_start().split_once(' ').and_then(|(name, argument)| {
            let command = command_with_argument(self.contexts, name)?;
            Some(suggest_arguments(command, command.argument?.kind, argument.trim()))
        });
        self.suggestions = with_argument.unwrap_or_else(|| search_commands(self.contexts, text.trim()));
        (self.chosen, self.is_picked) = (0, false);
    }

    /// Whether the chosen suggestion is a risky guess: a command that acts on transactions, and that the person neither
    /// typed nor picked. A command that alone begins with the text counts as typed.
    pub fn is_risky_guess(&self) -> bool {
        let typed = self.input.value().trim();
        let begins = |suggestion: &&Suggestion| suggestion.command.name.starts_with(typed);
        let is_named = |command: &KeyCommand| {
            let is_only = command.name.starts_with(typed) && self.suggestions.iter().filter(begins).count() == 1;
            typed.is_empty() || is_only || typed.split(' ').next() == Some(command.name)
        };
        let chosen = self.suggestions.get(self.chosen).map(|suggestion| suggestion.command);
        !self.is_picked && chosen.is_some_and(|command| command.section.acts_on_transactions() && !is_named(command))
    }

    /// Whether a command with this name applies here.
    pub fn has_command(&self, name: &str) -> bool {
        applicable_commands(self.contexts).any(|command| command.name == name)
    }

    /// Returns the name of the theme at the cursor, while a person chooses the argument of `:theme`.
    pub fn theme_to_preview(&self) -> Option<&str> {
        let Suggestion { command, argument } = self.suggestions.get(self.chosen)?;
        let is_known = argument == CONFIGURED || ShippedTheme::named(argument).is_some();
        (command.id == CommandId::Theme && is_known).then_some(argument.as_str())
    }

    /// Moves the choice by this many suggestions, at most to the ends.
    pub fn move_by(&mut self, suggestions: isize) {
        let last = self.suggestions.len().saturating_sub(1);
        (self.chosen, self.is_picked) = (self.chosen.saturating_add_signed(suggestions).min(last), true);
    }

    /// Replaces the text with the chosen suggestion, for an argument to be typed after it.
    pub fn complete(&mut self) {
        if let Some(Suggestion { command, argument }) = self.suggestions.get(self.chosen) {
            let blank = if command.argument.is_some() && argument.is_empty() { " " } else { "" };
            let text = format!("{} {argument}", command.name);
            self.input = Input::new(format!("{}{blank}", text.trim_end()));
            self.update_suggestions();
        }
    }
}

fn applicable_commands(contexts: &'static [KeyContext]) -> impl Iterator<Item = &'static KeyCommand> {
    let applies = |command: &KeyCommand| contexts.iter().any(|context| command.contexts.contains(context));
    COMMANDS.iter().filter(move |command| applies(command) && command.id != CommandId::CommandLine)
}

/// Returns the command that takes an argument and has this name, or the only such command whose name
/// begins with this text.
fn command_with_argument(contexts: &'static [KeyContext], name: &str) -> Option<&'static KeyCommand> {
    let begins = |command: &&KeyCommand| command.argument.is_some() && command.name.starts_with(name);
    let found: Vec<_> = applicable_commands(contexts).filter(begins).collect();
    let is_exact = |command: &&KeyCommand| command.name == name || found.len() == 1;
    found.iter().copied().find(is_exact)
}

/// Finds commands by name or help; all commands if the text is empty.
fn search_commands(contexts: &'static [KeyContext], text: &str) -> Vec<Suggestion> {
    let names = applicable_commands(contexts).map(|command| (command, command.name.to_owned()));
    let mut found = best_first(text, scores(text, names, AtomKind::Fuzzy), |command| command.name);
    // A command that can't be undone is found by its name only: a word of its help must never choose it.
    let by_help = applicable_commands(contexts).filter(|command| command.id != CommandId::Delete);
    let helps = by_help.map(|command| (command, format!("{} {}", command.name, command.help)));
    for (command, _) in scores(text, helps, AtomKind::Substring) {
        if found.iter().all(|other| other.id != command.id) {
            found.push(command);
        }
    }
    found.into_iter().map(|command| Suggestion { command, argument: String::new() }).collect()
}

/// Sorts matches: first the names that begin with the text, the shortest first, then the others by score.
fn best_first<T>(text: &str, scored: impl Iterator<Item = (T, u32)>, name: impl Fn(&T) -> &str) -> Vec<T> {
    let begins = |name: &str| !text.is_empty() && name.starts_with(text);
    let mut scored: Vec<_> = scored.collect();
    scored.sort_by_key(|(found, score)| {
        let name = name(found);
        (!begins(name), if begins(name) { name.len() } else { 0 }, std::cmp::Reverse(*score))
    });
    scored.into_iter().map(|(found, _)| found).collect()
}

/// Returns a command with the typed argument, or with each known argument that matches it.
fn suggest_arguments(command: &'static KeyCommand, kind: CommandWithArgument, typed: &str) -> Vec<Suggestion> {
    let suggestion = |argument: String| Suggestion { command, argument };
    let names: Vec<&str> = match kind {
        CommandWithArgument::Sort => SortBy::ALL.iter().map(|key| key.name()).collect(),
        CommandWithArgument::Theme => ShippedTheme::ALL.iter().map(|theme| theme.name()).chain([CONFIGURED]).collect(),
        CommandWithArgument::Filter
        | CommandWithArgument::Columns
        | CommandWithArgument::Acknowledge
        | CommandWithArgument::Note
        | CommandWithArgument::Ticket
        | CommandWithArgument::Labels
        | CommandWithArgument::Export
        | CommandWithArgument::Delete
        | CommandWithArgument::Pause
        | CommandWithArgument::SaveView
        | CommandWithArgument::ForgetView => return vec![suggestion(typed.to_owned())],
    };
    // Several sort keys, or a reversed one, match no single name: the argument is used as typed.
    let names = names.into_iter().map(|name| (name.to_owned(), name.to_owned()));
    let mut found: Vec<_> =
        best_first(typed, scores(typed, names, AtomKind::Fuzzy), |name| name).into_iter().map(suggestion).collect();
    if found.is_empty() {
        found.push(suggestion(typed.to_owned()));
    }
    found
}

/// Returns the candidates that match the text, with their scores. `kind` chooses how words match: `Fuzzy` allows gaps
/// between the letters (for names), `Substring` doesn't (for sentences).
pub(crate) fn scores<T>(
    text: &str,
    candidates: impl Iterator<Item = (T, String)>,
    kind: AtomKind,
) -> impl Iterator<Item = (T, u32)> {
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::new(text, CaseMatching::Ignore, Normalization::Smart, kind);
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
        let palette = CommandPalette::new(&[KeyContext::List], text);
        palette.suggestions.into_iter().map(|suggestion| (suggestion.command.name, suggestion.argument)).collect()
    }

    #[test]
    fn a_command_is_found_by_its_name_a_part_of_it_and_its_help() {
        assert_eq!(offered("poll_now")[0].0, "poll_now");
        assert_eq!(offered("pn")[0].0, "poll_now");
        assert!(offered("clipboard").iter().any(|(name, _)| *name == "answer"));
        assert!(offered("").len() > 10);
        assert_eq!(offered("xyzzy plugh"), []);
        // A command that doesn't apply in the list isn't offered there.
        assert!(offered("back").iter().all(|(name, _)| *name != "back"));
        assert_eq!(offered("q")[0].0, "quit");
        assert_eq!(offered("unack")[0].0, "unacknowledge");
        assert!(offered("history").iter().all(|(name, _)| *name != "delete"));
        assert_eq!(offered("delete")[0].0, "delete");
        // Letters that are scattered over a sentence are no match.
        assert!(offered("refresh").iter().all(|(name, _)| *name != "clear"), "{:?}", offered("refresh"));
    }

    #[test]
    fn a_command_that_changes_something_is_never_guessed() {
        let is_risky = |text: &str| CommandPalette::new(&[KeyContext::List], text).is_risky_guess();
        for text in ["utrack", "markall", "un", "is kept", "label +vip"] {
            assert!(is_risky(text), "{text}");
        }
        for text in ["untr", "undo", "delete yes", "", "thm"] {
            assert!(!is_risky(text), "{text}");
        }
        let mut palette = CommandPalette::new(&[KeyContext::List], "un");
        palette.move_by(1);
        assert!(!palette.is_risky_guess(), "a person has chosen the match");
    }

    #[test]
    fn known_arguments_are_offered_and_others_are_used_as_typed() {
        assert_eq!(offered("sort age")[0], ("sort", "age".into()));
        assert_eq!(offered("sort tick")[0], ("sort", "ticket".into()));
        assert_eq!(offered("theme da")[0], ("theme", "dark".into()));
        assert_eq!(offered("sort ").len(), SortBy::ALL.len());
        assert_eq!(offered("sort -age,due"), [("sort", "-age,due".into())]);
        assert_eq!(offered("filter is:overdue"), [("filter", "is:overdue".into())]);
        assert_eq!(offered("note paid twice"), [("note", "paid twice".into())]);
        assert_eq!(offered("label +vip"), [("labels", "+vip".into())]);
        assert_eq!(offered("snooze 3h"), []);
        let mut palette = CommandPalette::new(&[KeyContext::List], "so");
        palette.complete();
        assert_eq!(palette.input.value(), "sort ");
        palette.move_by(2);
        palette.complete();
        assert_eq!(palette.input.value(), "sort age");
    }
}
