//! The loop's themes: the theme of the settings, and the theme on screen.

use std::borrow::Cow;

use crate::tui::{
    dialogs::{Dialog, menu::state::MenuChoice},
    model::view_state::ChosenTheme,
    theme::{ShippedTheme, Theme},
};

/// Why no other theme can be shown.
const NO_COLORS: &str = "Colours are off (NO_COLOR, --color never, or the config file), so the theme stays mono.";

/// The themes of one dashboard.
pub(super) struct ThemeState {
    configured: Theme,
    pub(super) active: Theme,
}

impl ThemeState {
    /// Returns the theme of the settings, or the theme that a person chose instead of exactly that theme.
    pub(super) fn new(configured: Theme, chosen: Option<&ChosenTheme>) -> Self {
        let chosen = chosen.filter(|chosen| chosen.instead_of == configured.name());
        let chosen = chosen.and_then(|chosen| ShippedTheme::named(&chosen.name));
        let active = chosen.map(|shipped| Theme::shipped(shipped, configured.display()));
        Self { active: active.unwrap_or_else(|| configured.clone()), configured }
    }

    /// Returns the theme to draw with: while a person chooses a theme, the theme at the cursor of the menu.
    pub(super) fn shown(&self, dialog: &Dialog) -> Cow<'_, Theme> {
        let display = self.configured.display();
        let chosen = match dialog {
            Dialog::Menu(menu) if display.color => match menu.chosen() {
                Some(MenuChoice::Theme(name)) => Some(*name),
                _ => None,
            },
            Dialog::Palette(palette) if display.color => palette.theme_to_preview(),
            _ => None,
        };
        match chosen {
            Some(name) => match ShippedTheme::named(name) {
                Some(shipped) => Cow::Owned(Theme::shipped(shipped, display)),
                None => Cow::Borrowed(&self.configured),
            },
            None => Cow::Borrowed(&self.active),
        }
    }

    /// Shows a theme; `None` for the theme of the settings. Returns the choice to save, or why the theme can't be
    /// shown.
    pub(super) fn select(&mut self, wanted: Option<ShippedTheme>) -> Result<Option<ChosenTheme>, String> {
        let display = self.configured.display();
        if !display.color {
            return Err(NO_COLORS.into());
        }
        let instead_of = self.configured.name().to_owned();
        self.active = wanted.map_or_else(|| self.configured.clone(), |shipped| Theme::shipped(shipped, display));
        Ok(wanted.map(|shipped| ChosenTheme { name: shipped.name().into(), instead_of }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::{
        command::KeyContext,
        dialogs::{menu::state::Menu, palette::state::CommandPalette},
        theme::DisplayOptions,
    };

    fn configured(shipped: ShippedTheme) -> Theme {
        Theme::shipped(shipped, DisplayOptions { color: true, ..DisplayOptions::default() })
    }

    #[test]
    fn a_chosen_theme_is_used_until_the_settings_name_another() {
        let mut theme_state = ThemeState::new(configured(ShippedTheme::Default), None);
        let chosen = theme_state.select(Some(ShippedTheme::Dark)).unwrap();
        assert_eq!(theme_state.active.name(), "dark");
        assert_eq!(ThemeState::new(configured(ShippedTheme::Default), chosen.as_ref()).active.name(), "dark");
        assert_eq!(ThemeState::new(configured(ShippedTheme::Light), chosen.as_ref()).active.name(), "light");
        assert_eq!((theme_state.select(None).unwrap(), theme_state.active.name()), (None, "default"));
    }

    #[test]
    fn the_theme_at_the_cursor_is_shown_while_choosing() {
        let theme_state = ThemeState::new(configured(ShippedTheme::Default), None);
        let choices =
            [MenuChoice::Theme("light"), MenuChoice::Theme("configured")].map(|choice| (String::new(), choice));
        let mut menu = Menu::numbered("Theme", "", choices.into_iter());
        let shown = |menu: Menu| theme_state.shown(&Dialog::Menu(menu)).name().to_owned();
        assert_eq!(
            shown(Menu::numbered("Theme", "", [(String::new(), MenuChoice::Theme("light"))].into_iter())),
            "light"
        );
        menu.move_by(1);
        assert_eq!(shown(menu), "default");
        assert_eq!(theme_state.shown(&Dialog::None).name(), "default");
        let typed = |text: &str| {
            theme_state.shown(&Dialog::Palette(CommandPalette::new(&[KeyContext::List], text))).name().to_owned()
        };
        assert_eq!(
            [typed("theme li"), typed("theme wat"), typed("theme"), typed("log")],
            ["light", "default", "default", "default"]
        );
    }

    #[test]
    fn without_colours_no_theme_is_selected() {
        let mut theme_state = ThemeState::new(Theme::new(false, false), None);
        assert!(theme_state.select(Some(ShippedTheme::Dark)).is_err());
        assert_eq!(theme_state.active.name(), "default");
    }
}
