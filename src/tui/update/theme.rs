//! Other colours while it runs: the choice is remembered, and counts until the settings name another theme.

use super::Effect;
use crate::{
    clock::Now,
    domain::text,
    tui::{
        model::{
            Model, Overlay, Tone,
            memory::ChosenTheme,
            menu::{Choice, Menu},
            palette::CONFIGURED,
        },
        theme::Shipped,
    },
};

/// Offers each theme, with a mark at the one that is worn.
pub(super) fn open(model: &mut Model) {
    let worn = model.memory.theme.as_ref().map_or(CONFIGURED, |chosen| chosen.name.as_str());
    let names = Shipped::ALL.map(|shipped| (shipped.name(), shipped.words()));
    let names = names.into_iter().chain([(CONFIGURED, "the one that the settings name")]);
    let names: Vec<_> = names.collect();
    let cursor = names.iter().position(|(name, _)| *name == worn).unwrap_or_default();
    let entry = |(name, words): (&'static str, &str)| {
        let mark = if name == worn { 'x' } else { ' ' };
        (format!("[{mark}] {name:<12} {words}"), Choice::Theme(name))
    };
    let menu = Menu::numbered("Theme", "The choice is remembered for the next start.", names.into_iter().map(entry));
    model.overlay = Overlay::Menu(Menu { cursor, ..menu });
}

/// Asks for a theme by its name.
pub(super) fn choose(model: &mut Model, name: &str, now: Now) -> Vec<Effect> {
    let shipped = Shipped::named(name);
    if shipped.is_some() || name == CONFIGURED {
        return vec![Effect::SetTheme(shipped)];
    }
    let known = Shipped::ALL.map(Shipped::name).join(", ");
    let said = format!("No theme `{}`; known are {known}, {CONFIGURED}.", text::clean(name));
    model.notify(Tone::Bad, said, now.mono);
    Vec::new()
}

/// Remembers what was chosen, and says so.
pub(super) fn on_theme_set(model: &mut Model, outcome: Result<Option<ChosenTheme>, String>, now: Now) -> Vec<Effect> {
    match outcome {
        Ok(chosen) => {
            let told = match &chosen {
                Some(chosen) => format!("Theme: {}.", chosen.name),
                None => "Theme: the one in the settings.".to_owned(),
            };
            model.memory.theme = chosen;
            model.notify(Tone::Good, told, now.mono);
        }
        Err(reason) => model.notify(Tone::Bad, reason, now.mono),
    }
    Vec::new()
}
