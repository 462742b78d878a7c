//! The help: what is looked for, and the commands that this finds.
//!
//! Unlike the command line it finds what doesn't apply where the person is, too: it is there to be read.

use tui_input::Input;

use super::palette::scores;
use crate::tui::{
    command::{COMMANDS, Command, Id},
    keys::Keys,
};

/// The help's state.
#[derive(Debug, Default)]
pub struct HelpPage {
    /// What is typed.
    pub input: Input,
    /// What that finds, the likeliest first; `None` as long as nothing is typed.
    pub found: Option<Vec<Id>>,
    /// Lines that are scrolled away.
    pub scroll: usize,
}

impl HelpPage {
    /// Returns the searched text, without the `/` that opens a search elsewhere.
    pub fn wanted(&self) -> &str {
        let typed = self.input.value().trim();
        typed.strip_prefix('/').filter(|rest| !rest.is_empty()).unwrap_or(typed)
    }

    /// Searches again, after the text changed.
    pub fn search(&mut self, keys: &Keys) {
        self.scroll = 0;
        self.found = Some(self.wanted()).filter(|wanted| !wanted.is_empty()).map(|wanted| find(wanted, keys));
    }

    /// Clears the search. Returns `true` if there was one.
    pub fn clear(&mut self) -> bool {
        let is_news = !self.input.value().is_empty();
        *self = Self::default();
        is_news
    }
}

/// By the key itself, by the name, or by what it does. What only happens to have these letters somewhere is left out.
fn find(wanted: &str, keys: &Keys) -> Vec<Id> {
    let has_key = |command: &Command| keys.of(command.id).iter().any(|key| key == wanted);
    let by_key = || COMMANDS.iter().filter(|command| has_key(command));
    // A single letter is in everything, and `^` isn't looked for as it is.
    if wanted.chars().count() <= 2 && by_key().next().is_some() {
        return by_key().map(|command| command.id).collect();
    }
    let texts = COMMANDS.iter().map(|command| (command, format!("{} {}", command.name, command.help)));
    let mut scored: Vec<_> = scores(wanted, texts).collect();
    let best = scored.iter().map(|(_, score)| *score).max().unwrap_or_default();
    scored.retain(|(command, score)| score.saturating_mul(5) >= best.saturating_mul(4) && !has_key(command));
    scored.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
    by_key().chain(scored.into_iter().map(|(command, _)| command)).map(|command| command.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_by_its_key_its_name_and_what_it_does() {
        let found = |wanted: &str| find(wanted, &Keys::default());
        assert_eq!(found("G"), [Id::Bottom]);
        assert_eq!(found("^L"), [Id::Redraw]);
        assert_eq!(found("snooze")[0], Id::Snooze);
        assert!(found("clipboard").contains(&Id::Answer));
        assert!(found("alert").len() > 3);
        assert_eq!(found("xyzzy plugh"), []);
        // Letters that are scattered over a long sentence mean nothing.
        assert!(!found("ack").contains(&Id::Answer), "{:?}", found("ack"));
    }
}
