//! The theme that the settings name, for this terminal.
//!
//! A person's own is read here; what is wrong with it is said before the screen opens.

use std::fs;

use crate::{
    config::{ColorChoice, Settings, ThemeChoice},
    tui::theme::{Abilities, Depth, Theme, ThemeError},
};

/// The theme of the settings.
///
/// # Errors
/// If there is no such theme, or the file that it is in can't be read.
pub fn of(settings: &Settings) -> Result<Theme, ThemeError> {
    let Settings { color, ascii, hyperlinks, .. } = *settings;
    wanted(&settings.theme, Abilities { hyperlinks: hyperlinks && passes_links(), ..abilities(color, ascii) })
}

/// The theme that the environment alone names.
///
/// # Errors
/// As above.
pub fn of_environment(color: ColorChoice, ascii: bool) -> Result<Theme, ThemeError> {
    let named = std::env::var("HOPTOP_THEME").ok().filter(|text| !text.is_empty());
    wanted(&named.map(ThemeChoice::from_here).unwrap_or_default(), abilities(color, ascii))
}

fn abilities(color: ColorChoice, ascii: bool) -> Abilities {
    let depth = Depth::announced(|name| std::env::var_os(name));
    Abilities { color: color != ColorChoice::Never, depth, ascii, hyperlinks: false }
}

/// Whether what lies between here and the person passes links on. tmux does from 3.4 on, and only if it is told to, which it
/// doesn't say; GNU screen never does.
fn passes_links() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !["TMUX", "STY"].into_iter().any(is_set)
}

fn wanted(choice: &ThemeChoice, abilities: Abilities) -> Result<Theme, ThemeError> {
    match choice {
        ThemeChoice::Named(name) => Theme::named(name, abilities),
        ThemeChoice::File(path) => {
            let shown = path.display().to_string();
            match fs::read_to_string(path) {
                Ok(text) => Theme::own(&shown, &text, abilities),
                Err(error) => Err(ThemeError::Unreadable { path: crate::domain::text::clean(&shown), error }),
            }
        }
    }
}
