//! The filter's line: what is typed filters at once; Enter keeps it, Esc brings back what held before.

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::Effect;
use crate::{
    domain::{filter::complete, text},
    tui::model::{Model, Overlay},
};

pub(super) fn open(model: &mut Model) {
    let before = model.list.filter_text.clone();
    // What is typed is another term.
    let gap = if before.is_empty() { "" } else { " " };
    let input = Input::new(format!("{before}{gap}"));
    model.overlay = Overlay::Filter { input, before, selected: model.list.selected, used: None };
}

pub(super) fn set(model: &mut Model, text: &str) -> Vec<Effect> {
    match &model.overlay {
        Overlay::Filter { selected, before, .. } => {
            model.list.set_filter(text, before);
            model.list.wanted = *selected;
        }
        _ => model.list.set_filter(text, ""),
    }
    vec![Effect::Count]
}

pub(super) fn on_key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let Overlay::Filter { input, before, .. } = &mut model.overlay else { return Vec::new() };
    match key.code {
        KeyCode::Esc => {
            let before = std::mem::take(before);
            // What was selected is wanted until it is shown again.
            let effects = set(model, &before);
            model.overlay = Overlay::None;
            return effects;
        }
        // A filter that can't be read stays open, with what is wrong beside it.
        KeyCode::Enter if model.list.filter_error.is_none() => {
            // Who filters wants to see that, and no more what was looked for before.
            (model.overlay, model.detour) = (Overlay::None, None);
            if !model.list.part.rows.is_empty() {
                model.list.wanted = None;
            }
            model.list.filter_text.truncate(model.list.filter_text.trim_end().len());
            model.memory.use_filter(&model.list.filter_text);
        }
        KeyCode::Enter => {}
        KeyCode::Tab => {
            if let Some(text) = completed(input.value()) {
                return write(model, text);
            }
        }
        KeyCode::Up => return fetch(model, 1),
        KeyCode::Down => return fetch(model, -1),
        _ => {
            if input.handle_event(&Event::Key(key)).is_some_and(|change| change.value) {
                let text = input.value().to_owned();
                return set(model, &text);
            }
        }
    }
    Vec::new()
}

/// What Tab makes of a text: it adds what all offers share, else takes the first of them; and a whole word gives way to the one
/// after it.
fn completed(text: &str) -> Option<String> {
    let found = complete(text);
    let (kept, typed) = text.split_at_checked(found.start)?;
    if found.common().len() > typed.len() {
        return Some(format!("{kept}{}", found.common()));
    }
    let siblings = complete(kept).words;
    let after = |here: usize| siblings.get((here + 1) % siblings.len());
    let next = found.words.first().or_else(|| siblings.iter().position(|word| word == typed).and_then(after))?;
    Some(format!("{kept}{next}"))
}

pub(super) fn on_paste(model: &mut Model, pasted: &str) -> Vec<Effect> {
    let Overlay::Filter { input, .. } = &mut model.overlay else { return Vec::new() };
    // The blank that sets it apart from what stands there already would be trimmed.
    let gap = if pasted.starts_with(char::is_whitespace) && !input.value().is_empty() { " " } else { "" };
    let text = format!("{}{gap}{}", input.value(), text::clean(pasted));
    write(model, text)
}

/// Puts a text into the line.
fn write(model: &mut Model, text: String) -> Vec<Effect> {
    if let Overlay::Filter { input, .. } = &mut model.overlay {
        *input = Input::new(text.clone());
    }
    set(model, &text)
}

/// Fetches back a filter that was used, so many further back; in front of all of them stands what held before.
fn fetch(model: &mut Model, further: isize) -> Vec<Effect> {
    let Overlay::Filter { used, before, .. } = &mut model.overlay else { return Vec::new() };
    let place = used.map_or(0, |place| place + 1).saturating_add_signed(further).min(model.memory.used.len());
    *used = place.checked_sub(1);
    let text = used.and_then(|place| model.memory.used.get(place)).unwrap_or(before).clone();
    write(model, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tab_adds_what_is_shared_takes_the_first_and_goes_on_from_a_whole_word() {
        let after = |text: &str| completed(text).unwrap_or_default();
        assert_eq!(after("vip is:uns"), "vip is:unsettled");
        assert_eq!(after("is:"), format!("is:{}", complete("is:").words[0]));
        let words = complete("is:").words;
        let mut text = String::from("is:");
        let gone_through: Vec<String> = (0..=words.len())
            .map(|_| {
                text = after(&text);
                text["is:".len()..].to_owned()
            })
            .collect();
        assert_eq!(gone_through, [&words[..], &words[..1]].concat(), "and around");
        assert_eq!(after("").len(), complete("").words[0].len());
        assert_eq!(completed("0xab"), None);
        assert_eq!(completed("ticket:SUP"), None);
    }
}
