//! The state of the help: the searched text, and the commands found.
//!
//! Unlike the command palette, the help also finds commands that don't apply in the present context.

use nucleo_matcher::pattern::AtomKind;
use tui_input::Input;

use crate::tui::{
    command::{COMMANDS, CommandId, KeyCommand},
    dialogs::palette::state::scores,
    keys::Keys,
};

/// The state of the help.
#[derive(Debug, Default)]
pub struct HelpPage {
    /// The typed text.
    pub input: Input,
    /// The commands found, best match first; `None` while nothing is typed.
    pub found: Option<Vec<CommandId>>,
    /// The number of lines above the first shown line.
    pub scroll: usize,
}

impl HelpPage {
    /// Returns the searched text, without the `/` that opens a search elsewhere.
    pub fn search_text(&self) -> &str {
        let typed = self.input.value().trim();
        typed.strip_prefix('/').filter(|rest| !rest.is_empty()).unwrap_or(typed)
    }

    /// Searches again, after the text changed.
    pub fn search(&mut self, keys: &Keys) {
        self.scroll = 0;
        self.found = Some(self.search_text()).filter(|query| !query.is_empty()).map(|query| find(query, keys));
    }

    /// Clears the search. Returns `true` if there was one.
    pub fn clear(&mut self) -> bool {
        let had_text = !self.input.value().is_empty();
        *self = Self::default();
        had_text
    }
}

/// Finds commands by key, or by words of their name and help.
fn find(query: &str, keys: &Keys) -> Vec<CommandId> {
    let has_key = |command: &KeyCommand| keys.of(command.id).iter().any(|key| key == query);
    let by_key = || COMMANDS.iter().filter(|command| has_key(command));
    // A single letter is in every help text, and the matcher treats `^` as an anchor.
    if query.chars().count() <= 2 && by_key().next().is_some() {
        return by_key().map(|command| command.id).collect();
    }
    let texts = COMMANDS.iter().map(|command| (command, format!("{} {}", command.name, command.help)));
    let mut scored: Vec<_> = scores(query, texts, AtomKind::Substring).collect();
    scored.retain(|(command, _)| !has_key(command));
    scored.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
    by_key().chain(scored.into_iter().map(|(command, _)| command)).map(|command| command.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_by_its_key_its_name_and_its_help() {
        let found = |query: &str| find(query, &Keys::default());
        assert_eq!(found("G"), [CommandId::Bottom]);
        assert_eq!(found("^L"), [CommandId::Redraw]);
        assert_eq!(found("snooze")[0], CommandId::Snooze);
        assert!(found("clipboard").contains(&CommandId::Answer));
        assert!(found("alert").len() > 3);
        assert_eq!(found("xyzzy plugh"), []);
        // Letters that are scattered over a long sentence don't match.
        assert!(!found("ack").contains(&CommandId::Answer), "{:?}", found("ack"));
    }
}
