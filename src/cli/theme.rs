//! Loads the theme that the settings name, for this terminal.
//!
//! A custom theme is read from its file here, so that its errors are printed before the dashboard opens.

use std::fs;

use crate::{
    config::{ColorChoice, Settings, ThemeChoice},
    presentation::glyphs::Glyphs,
    tui::theme::{ColorDepth, DisplayOptions, Theme, ThemeError},
};

/// Returns the theme of the settings.
///
/// # Errors
/// Returns an error if the theme doesn't exist, or if its file can't be read or is invalid.
pub(super) fn load_from_settings(settings: &Settings) -> Result<Theme, ThemeError> {
    let Settings { color, is_ascii: ascii, has_hyperlinks: hyperlinks, .. } = *settings;
    load(
        &settings.theme,
        DisplayOptions { hyperlinks: hyperlinks && supports_hyperlinks(), ..display_options(color, ascii) },
    )
}

/// Returns the theme that the environment variable `HOPTOP_THEME` names, without any settings.
///
/// # Errors
/// Returns the errors of [`load_from_settings`].
pub(super) fn load_from_environment(color: ColorChoice, ascii: bool) -> Result<Theme, ThemeError> {
    let name = std::env::var("HOPTOP_THEME").ok().filter(|text| !text.is_empty());
    load(&name.map(ThemeChoice::from_current_folder).unwrap_or_default(), display_options(color, ascii))
}

/// Returns the abilities of the terminal, without hyperlinks.
fn display_options(color: ColorChoice, ascii: bool) -> DisplayOptions {
    let depth = ColorDepth::from_environment(|name| std::env::var_os(name));
    let ascii = ascii || Glyphs::from_environment(|name| std::env::var_os(name)) == Glyphs::Ascii;
    DisplayOptions { color: color != ColorChoice::Never, depth, ascii, hyperlinks: false }
}

/// Whether hyperlinks reach the terminal. tmux passes links on only from 3.4 on and if configured, which can't be
/// detected. GNU screen never passes links on.
fn supports_hyperlinks() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !["TMUX", "STY"].into_iter().any(is_set)
}

/// Loads a theme by its name or from its file.
fn load(choice: &ThemeChoice, display_options: DisplayOptions) -> Result<Theme, ThemeError> {
    match choice {
        ThemeChoice::Named(name) => Theme::named(name, display_options),
        ThemeChoice::File(path) => {
            let shown = path.display().to_string();
            let text = fs::read_to_string(path).map_err(|error| ThemeError::unreadable(&shown, &error))?;
            Theme::custom(&shown, &text, display_options)
        }
    }
}
