//! The loop's themes: the theme of the settings, and the theme on screen.

use crate::tui::{
    model::view_state::ChosenTheme,
    theme::{Shipped, Theme},
};

/// Why no other theme can be shown.
const NO_COLORS: &str = "Colours are off (NO_COLOR, --color never, or the config file), so the theme stays mono.";

/// The themes of one dashboard.
pub(super) struct ThemeState {
    configured: Theme,
    /// The theme on screen.
    pub(super) active: Theme,
}

impl ThemeState {
    /// Returns the theme of the settings, or the theme that a person chose instead of exactly that theme.
    pub(super) fn new(configured: Theme, chosen: Option<&ChosenTheme>) -> Self {
        let chosen = chosen.filter(|chosen| chosen.instead_of == configured.name());
        let chosen = chosen.and_then(|chosen| Shipped::named(&chosen.name));
        let active = chosen.map(|shipped| Theme::shipped(shipped, configured.abilities()));
        Self { active: active.unwrap_or_else(|| configured.clone()), configured }
    }

    /// Shows a theme; `None` for the theme of the settings. Returns the choice to save, or why the theme can't be
    /// shown.
    pub(super) fn select(&mut self, wanted: Option<Shipped>) -> Result<Option<ChosenTheme>, String> {
        let abilities = self.configured.abilities();
        if !abilities.color {
            return Err(NO_COLORS.into());
        }
        let instead_of = self.configured.name().to_owned();
        self.active = wanted.map_or_else(|| self.configured.clone(), |shipped| Theme::shipped(shipped, abilities));
        Ok(wanted.map(|shipped| ChosenTheme { name: shipped.name().into(), instead_of }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::Abilities;

    fn configured(shipped: Shipped) -> Theme {
        Theme::shipped(shipped, Abilities { color: true, ..Abilities::default() })
    }

    #[test]
    fn a_chosen_theme_is_used_until_the_settings_name_another() {
        let mut theme_state = ThemeState::new(configured(Shipped::Default), None);
        let chosen = theme_state.select(Some(Shipped::Dark)).unwrap();
        assert_eq!(theme_state.active.name(), "dark");
        assert_eq!(ThemeState::new(configured(Shipped::Default), chosen.as_ref()).active.name(), "dark");
        assert_eq!(ThemeState::new(configured(Shipped::Light), chosen.as_ref()).active.name(), "light");
        assert_eq!((theme_state.select(None).unwrap(), theme_state.active.name()), (None, "default"));
    }

    #[test]
    fn without_colours_no_theme_is_selected() {
        let mut theme_state = ThemeState::new(Theme::new(false, false), None);
        assert!(theme_state.select(Some(Shipped::Dark)).is_err());
        assert_eq!(theme_state.active.name(), "default");
    }
}
