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
pub(super) struct Wardrobe {
    configured: Theme,
    /// What is shown.
    pub(super) worn: Theme,
}

impl Wardrobe {
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
    pub(super) fn dress(&mut self, wanted: Option<Shipped>) {
        let outcome = self.wardrobe.put_on(wanted);
        self.take(Msg::Dressed(outcome));
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
        let mut wardrobe = Wardrobe::new(configured(Shipped::Default), None);
        let chosen = wardrobe.put_on(Some(Shipped::Dark)).unwrap();
        assert_eq!(wardrobe.worn.name(), "dark");
        assert_eq!(Wardrobe::new(configured(Shipped::Default), chosen.as_ref()).worn.name(), "dark");
        assert_eq!(Wardrobe::new(configured(Shipped::Light), chosen.as_ref()).worn.name(), "light");
        assert_eq!((wardrobe.put_on(None).unwrap(), wardrobe.worn.name()), (None, "default"));
    }

    #[test]
    fn without_colours_nothing_is_put_on() {
        let mut wardrobe = Wardrobe::new(Theme::new(false, false), None);
        assert!(wardrobe.put_on(Some(Shipped::Dark)).is_err());
        assert_eq!(wardrobe.worn.name(), "default");
    }
}
