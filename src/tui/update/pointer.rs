//! The mouse: a click selects a row or opens a saved view or a tab, the wheel scrolls.
//!
//! It does nothing that a key doesn't do too.

use super::{
    Effect,
    dispatch::{scroll, show_tab},
};
use crate::tui::model::{Model, Overlay, Screen, geometry::Target};

/// Scrolls what is open.
pub(super) fn on_wheel(model: &mut Model, lines: isize) {
    match &mut model.overlay {
        Overlay::Offer(offer) => offer.move_by(lines.signum()),
        Overlay::None | Overlay::Help { .. } | Overlay::Answer { .. } => scroll(model, lines),
        _ => {}
    }
}

/// Does what a click on this target means, unless something lies over it.
pub(super) fn on_click(model: &mut Model, target: Target) -> Vec<Effect> {
    if !matches!(model.overlay, Overlay::None) {
        return Vec::new();
    }
    match target {
        Target::Row(place) => model.list.select(place),
        Target::Tab(tab) => {
            model.screen = Screen::List;
            return show_tab(model, tab);
        }
        Target::DetailTab(tab) => {
            model.list.chosen = true;
            (model.screen, model.detail.tab) = (Screen::Detail, tab);
        }
    }
    Vec::new()
}
