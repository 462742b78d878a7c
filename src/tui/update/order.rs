//! The order of the list: chosen from a menu, typed, or turned round. It is kept as a term of the view's filter.

use super::{Effect, palette::set_filter};
use crate::{
    clock::Now,
    domain::filter::{self, Filter, SortBy, SortKey},
    tui::model::{
        Model, Overlay, Tone,
        menu::{Choice, Menu},
    },
};

/// Offers each order, with a mark at the one in force.
pub(super) fn open(model: &mut Model) {
    let in_force = first(model);
    let entry = |by: &SortBy| {
        let mark = match in_force {
            SortKey { by: own, .. } if own != *by => ' ',
            SortKey { reversed: true, .. } => '-',
            SortKey { reversed: false, .. } => 'x',
        };
        (format!("[{mark}] {:<8} {}", by.name(), by.words()), Choice::Order(*by))
    };
    let remark = "The current order is reversed. To sort by several: :sort ticket,age";
    let menu = Menu::numbered("Order", remark, SortBy::ALL.iter().map(entry));
    let cursor = SortBy::ALL.iter().position(|by| *by == in_force.by).unwrap_or_default();
    model.overlay = Overlay::Menu(Menu { cursor, ..menu });
}

/// Puts the list in this order; what is in this order already is turned round.
pub(super) fn choose(model: &mut Model, by: SortBy, now: Now) -> Vec<Effect> {
    if first(model).by == by {
        return reverse(model, now);
    }
    // Among the equally severe the deadline decides, as it does when nothing is asked for.
    let keys = if by == SortBy::Severity { SortKey::DEFAULT.to_vec() } else { vec![SortKey { by, reversed: false }] };
    set(model, &keys, now)
}

/// Puts the list in the order that was typed: keys with commas or blanks between them.
pub(super) fn typed(model: &mut Model, keys: &str, now: Now) -> Vec<Effect> {
    let keys: Vec<_> = keys.split([',', ' ']).filter(|key| !key.is_empty()).collect();
    match Filter::parse(&format!("sort:{}", keys.join(","))) {
        Ok(order) => set(model, order.sort(), now),
        Err(error) => {
            model.notify(Tone::Bad, error.message, now.mono);
            Vec::new()
        }
    }
}

/// Turns the order round.
pub(super) fn reverse(model: &mut Model, now: Now) -> Vec<Effect> {
    let turned: Vec<_> = model.list.listed().sort().iter().map(|key| key.turned()).collect();
    set(model, &turned, now)
}

fn first(model: &Model) -> SortKey {
    model.list.listed().sort().first().copied().unwrap_or(SortKey { by: SortBy::Severity, reversed: false })
}

fn set(model: &mut Model, keys: &[SortKey], now: Now) -> Vec<Effect> {
    match filter::in_order(&model.list.filter_text, keys) {
        Ok(text) => set_filter(model, &text, now),
        Err(error) => {
            model.notify(Tone::Bad, error.message, now.mono);
            Vec::new()
        }
    }
}
