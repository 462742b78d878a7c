//! Keys as text: `j`, `^D`, `Enter`, `PgDn`.
//!
//! The command table, the help, the config file and the guides share this spelling.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

const NAMED: &[(&str, KeyCode)] = &[
    ("Enter", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("Shift-Tab", KeyCode::BackTab),
    ("Space", KeyCode::Char(' ')),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("PgUp", KeyCode::PageUp),
    ("PgDn", KeyCode::PageDown),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
];

/// Returns a key press as text; `None` for keys that can't be bound to a command.
pub(crate) fn name(key: KeyEvent) -> Option<String> {
    if let Some((name, _)) = NAMED.iter().find(|(_, code)| *code == key.code) {
        return Some((*name).to_owned());
    }
    match key.code {
        KeyCode::Char(letter) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            Some(format!("^{}", letter.to_ascii_uppercase()))
        }
        KeyCode::Char(letter) if !key.modifiers.contains(KeyModifiers::ALT) => Some(letter.to_string()),
        _ => None,
    }
}

/// Parses the text of a key; `None` if the text names no key.
pub fn parse(text: &str) -> Option<KeyEvent> {
    if let Some((_, code)) = NAMED.iter().find(|(name, _)| *name == text) {
        return Some(KeyEvent::new(*code, KeyModifiers::NONE));
    }
    let mut letters = text.chars();
    match (letters.next()?, letters.next(), letters.next()) {
        ('^', Some(letter), None) => {
            Some(KeyEvent::new(KeyCode::Char(letter.to_ascii_lowercase()), KeyModifiers::CONTROL))
        }
        (letter, None, _) => Some(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_the_round_trip() {
        for text in ["j", "G", "^D", "Enter", "PgDn", "Shift-Tab", "{", "?", "^"] {
            assert_eq!(name(parse(text).unwrap()).as_deref(), Some(text));
        }
        assert_eq!(parse("nonsense"), None);
    }
}
