//! Changes the theme while hoptop runs. The choice is remembered, and applies until the settings name another theme.

use super::actions;
use crate::{
    clock::Now,
    domain::text,
    tui::{
        dialogs::{
            Dialog,
            menu::state::{Menu, MenuChoice},
            palette::state::CONFIGURED,
        },
        model::{MessageTone, Model, view_state::ChosenTheme},
        theme::ShippedTheme,
    },
};

/// The message after a theme is chosen while colours are off.
const NO_COLORS: &str = "Colours are off (NO_COLOR, --color never, or the config file), so the theme stays mono.";

/// Opens the menu of themes, with a mark at the theme in use.
pub(crate) fn open(model: &mut Model) {
    let current = model.view_state.theme.as_ref().map_or(CONFIGURED, |chosen| chosen.name.as_str());
    let shipped = ShippedTheme::ALL.map(|shipped| (shipped.name(), shipped.description())).into_iter();
    let names: Vec<_> = shipped.chain([(CONFIGURED, "the theme in the settings")]).collect();
    let cursor = names.iter().position(|(name, _)| *name == current).unwrap_or_default();
    let entry = |(name, words): (&'static str, &str)| {
        let mark = if name == current { 'x' } else { ' ' };
        (format!("[{mark}] {name:<12} {words}"), MenuChoice::Theme(name))
    };
    let menu = Menu::numbered("Theme", "The choice is remembered for the next start.", names.into_iter().map(entry));
    model.dialog = Dialog::Menu(Menu { cursor, ..menu });
}

/// Chooses the theme with this name, or the theme of the settings. The choice is remembered.
pub(crate) fn choose(model: &mut Model, name: &str, now: Now) {
    let shipped = ShippedTheme::named(name);
    if shipped.is_none() && name != CONFIGURED {
        let known = ShippedTheme::ALL.map(ShippedTheme::name).join(", ");
        let sentence = format!("No theme `{}`; the themes are {known}, {CONFIGURED}.", text::clean(name));
        return actions::refuse(model, sentence, now.mono);
    }
    let Some(instead_of) = model.configured_theme.clone() else {
        return actions::refuse(model, NO_COLORS, now.mono);
    };
    model.view_state.theme = shipped.map(|shipped| ChosenTheme { name: shipped.name().into(), instead_of });
    let sentence = match shipped {
        Some(_) => format!("Theme: {name}."),
        None => "Theme: as in the settings.".to_owned(),
    };
    model.show_message(MessageTone::Good, sentence, now.mono);
}
