//! The loop's themes: the one that the settings name, and the one that is shown.

use super::Dashboard;
use crate::tui::{
    model::memory::ChosenTheme,
    theme::{Shipped, Theme},
    update::Msg,
};

/// Why another theme would show nothing.
const NO_COLORS: &str = "Colours are off (NO_COLOR, --color never, or the config file): the theme stays mono.";

/// The themes of one dashboard.
pub(super) struct ThemeState {
    configured: Theme,
    /// What is shown.
    pub(super) worn: Theme,
}

impl ThemeState {
    /// The one of the settings, or the one that was chosen instead of just that.
    pub(super) fn new(configured: Theme, chosen: Option<&ChosenTheme>) -> Self {
        let chosen = chosen.filter(|chosen| chosen.instead_of == configured.name());
        let chosen = chosen.and_then(|chosen| Shipped::named(&chosen.name));
        let worn = chosen.map(|shipped| Theme::shipped(shipped, configured.abilities()));
        Self { worn: worn.unwrap_or_else(|| configured.clone()), configured }
    }

    /// Shows another one; what is to be remembered of that, or why it isn't shown.
    pub(super) fn put_on(&mut self, wanted: Option<Shipped>) -> Result<Option<ChosenTheme>, String> {
        let abilities = self.configured.abilities();
        if !abilities.color {
            return Err(NO_COLORS.into());
        }
        let instead_of = self.configured.name().to_owned();
        self.worn = wanted.map_or_else(|| self.configured.clone(), |shipped| Theme::shipped(shipped, abilities));
        Ok(wanted.map(|shipped| ChosenTheme { name: shipped.name().into(), instead_of }))
    }
}

impl Dashboard {
    /// Shows another theme, and says so.
    pub(super) fn set_theme(&mut self, wanted: Option<Shipped>) {
        let outcome = self.theme_state.put_on(wanted);
        self.take(Msg::ThemeSet(outcome));
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
    fn what_was_chosen_counts_until_the_settings_name_another() {
        let mut theme_state = ThemeState::new(configured(Shipped::Default), None);
        let chosen = theme_state.put_on(Some(Shipped::Dark)).unwrap();
        assert_eq!(theme_state.worn.name(), "dark");
        assert_eq!(ThemeState::new(configured(Shipped::Default), chosen.as_ref()).worn.name(), "dark");
        assert_eq!(ThemeState::new(configured(Shipped::Light), chosen.as_ref()).worn.name(), "light");
        assert_eq!((theme_state.put_on(None).unwrap(), theme_state.worn.name()), (None, "default"));
    }

    #[test]
    fn without_colours_nothing_is_put_on() {
        let mut theme_state = ThemeState::new(Theme::new(false, false), None);
        assert!(theme_state.put_on(Some(Shipped::Dark)).is_err());
        assert_eq!(theme_state.worn.name(), "default");
    }
}
