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
        effect::Effect,
        model::{MessageTone, Model, view_state::ChosenTheme},
        theme::ShippedTheme,
    },
};

/// Opens the menu of themes, with a mark at the theme in use.
pub(crate) fn open(model: &mut Model) {
    let current = model.view_state.theme.as_ref().map_or(CONFIGURED, |chosen| chosen.name.as_str());
    let names = ShippedTheme::ALL.map(|shipped| (shipped.name(), shipped.description()));
    let names = names.into_iter().chain([(CONFIGURED, "the theme in the settings")]);
    let names: Vec<_> = names.collect();
    let cursor = names.iter().position(|(name, _)| *name == current).unwrap_or_default();
    let entry = |(name, words): (&'static str, &str)| {
        let mark = if name == current { 'x' } else { ' ' };
        (format!("[{mark}] {name:<12} {words}"), MenuChoice::Theme(name))
    };
    let menu = Menu::numbered("Theme", "The choice is remembered for the next start.", names.into_iter().map(entry));
    model.dialog = Dialog::Menu(Menu { cursor, ..menu });
}

/// Requests a theme by its name.
pub(crate) fn choose(model: &mut Model, name: &str, now: Now) -> Vec<Effect> {
    let shipped = ShippedTheme::named(name);
    if shipped.is_some() || name == CONFIGURED {
        return vec![Effect::SetTheme(shipped)];
    }
    let known = ShippedTheme::ALL.map(ShippedTheme::name).join(", ");
    let sentence = format!("No theme `{}`; the themes are {known}, {CONFIGURED}.", text::clean(name));
    actions::refuse(model, sentence, now.mono)
}

/// Remembers the chosen theme, and shows a notice.
pub(crate) fn on_theme_set(model: &mut Model, outcome: Result<Option<ChosenTheme>, String>, now: Now) {
    match outcome {
        Ok(chosen) => {
            let sentence = match &chosen {
                Some(chosen) => format!("Theme: {}.", chosen.name),
                None => "Theme: as in the settings.".to_owned(),
            };
            model.view_state.theme = chosen;
            model.show_message(MessageTone::Good, sentence, now.mono);
        }
        Err(reason) => model.show_message(MessageTone::Bad, reason, now.mono),
    }
}
