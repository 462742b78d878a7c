//! The theme on screen: that of the settings, the one that a person chose instead, or the one at the cursor of a menu.

use std::borrow::Cow;

use crate::tui::{
    dialogs::{Dialog, menu::state::MenuChoice},
    model::Model,
    theme::{ShippedTheme, Theme},
};

/// Returns the theme to draw with. A chosen theme is used instead of exactly the theme that it replaced. While a person
/// chooses a theme, the theme at the cursor is used.
pub(super) fn shown<'a>(configured: &'a Theme, model: &Model) -> Cow<'a, Theme> {
    let display = configured.display();
    let at_cursor = match &model.dialog {
        Dialog::Menu(menu) => match menu.chosen() {
            Some(MenuChoice::Theme(name)) => Some(*name),
            _ => None,
        },
        Dialog::Palette(palette) => palette.theme_to_preview(),
        _ => None,
    };
    let chosen = model.view_state.theme.as_ref().filter(|chosen| chosen.instead_of == configured.name());
    let name = at_cursor.filter(|_| display.color).or(chosen.map(|chosen| chosen.name.as_str()));
    let shipped = name.and_then(ShippedTheme::named);
    shipped.map_or(Cow::Borrowed(configured), |shipped| Cow::Owned(Theme::shipped(shipped, display)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::{
        command::KeyContext,
        dialogs::{menu::state::Menu, palette::state::CommandPalette},
        fixtures::{TestDashboard, blank},
        model::view_state::ChosenTheme,
        theme::DisplayOptions,
    };

    fn configured(shipped: ShippedTheme) -> Theme {
        Theme::shipped(shipped, DisplayOptions { color: true, ..DisplayOptions::default() })
    }

    fn name(model: &TestDashboard, shipped: ShippedTheme) -> String {
        shown(&configured(shipped), model).name().to_owned()
    }

    #[test]
    fn a_chosen_theme_is_used_until_the_settings_name_another() {
        let mut model = blank((80, 24));
        assert_eq!(name(&model, ShippedTheme::Default), "default");
        model.view_state.theme = Some(ChosenTheme { name: "dark".into(), instead_of: "default".into() });
        assert_eq!(name(&model, ShippedTheme::Default), "dark");
        assert_eq!(name(&model, ShippedTheme::Light), "light");
    }

    #[test]
    fn the_theme_at_the_cursor_is_shown_while_choosing() {
        let mut model = blank((80, 24));
        model.view_state.theme = Some(ChosenTheme { name: "dark".into(), instead_of: "default".into() });
        let menu =
            |name| Dialog::Menu(Menu::numbered("Theme", "", [(String::new(), MenuChoice::Theme(name))].into_iter()));
        let palette = |text| Dialog::Palette(CommandPalette::new(&[KeyContext::List], text));
        for (dialog, expected) in [
            (menu("light"), "light"),
            (menu("configured"), "default"),
            (palette("theme li"), "light"),
            (palette("theme wat"), "dark"),
            (palette("theme"), "dark"),
            (palette("log"), "dark"),
            (Dialog::None, "dark"),
        ] {
            model.dialog = dialog;
            assert_eq!(name(&model, ShippedTheme::Default), expected, "{:?}", model.dialog);
        }
        model.dialog = menu("light");
        let without_colors = Theme::shipped(ShippedTheme::Default, DisplayOptions::default());
        model.view_state.theme = None;
        assert_eq!(shown(&without_colors, &model).name(), "default");
    }
}
