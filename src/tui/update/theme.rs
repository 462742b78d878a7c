//! Other colours while it runs: the choice is remembered, and counts until the settings name another theme.

use super::Effect;
use crate::{
    clock::Now,
    domain::text,
    tui::{
        model::{Model, Tone, memory::ChosenTheme, palette::CONFIGURED},
        theme::Shipped,
    },
};

/// Asks for a theme by its name.
pub(super) fn choose(model: &mut Model, name: &str, now: Now) -> Vec<Effect> {
    let shipped = Shipped::named(name);
    if shipped.is_some() || name == CONFIGURED {
        return vec![Effect::Dress(shipped)];
    }
    let known = Shipped::ALL.map(Shipped::name).join(", ");
    let said = format!("There is no theme `{}`; there are {known}, {CONFIGURED}.", text::clean(name));
    model.tell(Tone::Bad, said, now.mono);
    Vec::new()
}

/// Remembers what was chosen, and says so.
pub(super) fn on_dressed(model: &mut Model, outcome: Result<Option<ChosenTheme>, String>, now: Now) -> Vec<Effect> {
    match outcome {
        Ok(chosen) => {
            let told = match &chosen {
                Some(chosen) => format!("Theme: {}.", chosen.name),
                None => "Theme: the one that the settings name.".to_owned(),
            };
            model.memory.theme = chosen;
            model.tell(Tone::Good, told, now.mono);
        }
        Err(reason) => model.tell(Tone::Bad, reason, now.mono),
    }
    Vec::new()
}
