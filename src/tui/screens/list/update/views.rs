//! The commands for views of the person's own: save the filtered list under a name, forget such a view, show it.
//!
//! A view's filter never changes by typing: a filter that is typed while the view is shown applies on top.

use crate::{
    clock::Now,
    domain::{filter, text},
    presentation::width,
    tui::{
        dialogs::filter::update::set_typed,
        effect::Effect,
        model::{MessageTone, Model},
        screens::list::tab::{OwnTab, Tab},
        update::actions,
    },
};

/// The most columns of a name.
const NAME_WIDTH: usize = 16;

/// Saves the list's filter and columns as a view with this name, and shows the view. A view with this name is replaced.
pub(crate) fn save(model: &mut Model, name: &str, now: Now) {
    match try_save(model, name) {
        Ok(own) => {
            let number = Tab::Own(own).number();
            // What was typed is now the saved view's filter: neither view has it on top.
            set_typed(model, &filter::with_order_of("", &model.list.filter_text), now);
            show_tab(model, Tab::Own(own));
            // The view may have been the shown one, with another filter.
            model.reload_filters();
            let text = format!("Saved as view {number}: press {number} to show it.");
            model.show_message(MessageTone::Good, text, now.mono);
        }
        Err(reason) => actions::refuse(model, reason, now.mono),
    }
}

fn try_save(model: &mut Model, name: &str) -> Result<OwnTab, String> {
    let name = text::clean(name);
    if width::display_width(&name) > NAME_WIDTH {
        return Err(format!("This name is too long: a view's name has at most {NAME_WIDTH} characters."));
    }
    if let Some(error) = &model.list.filter_error {
        return Err(format!("The filter is not valid: {}", error.message));
    }
    let filter = filter::join_filters(model.view_state.base_filter(model.list.tab), &model.list.filter_text);
    let filter = filter.map_err(|error| error.message)?;
    if filter.is_empty() {
        return Err("This view shows everything: filter the list first, then save it.".to_owned());
    }
    model.view_state = model.view_state_to_save();
    model.view_state.save_view(&name, filter, &model.list.columns)
}

/// Forgets the view with this name, and shows all transactions if that view is shown.
pub(crate) fn forget(model: &mut Model, name: &str, now: Now) {
    let name = text::clean(name);
    let Some(own) = model.view_state.own_view_named(&name) else {
        let known = model.view_state.own_views().map(|(_, view)| view.name.as_str()).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "no view is saved".to_owned() } else { format!("saved views: {known}") };
        return actions::refuse(model, format!("No saved view is called {name}: {known}."), now.mono);
    };
    let shown = model.temporary_view.as_ref().map_or(model.list.tab, |view| view.previous.tab());
    if shown == Tab::Own(own) {
        show_tab(model, Tab::All);
    }
    model.view_state.forget_view(own);
    model.last_chosen.remove(&Tab::Own(own));
    model.show_message(MessageTone::Good, format!("View {name} is forgotten."), now.mono);
}

/// Shows a view of the person's own. Explains how to save a view if there is none at this place.
pub(crate) fn show(model: &mut Model, own: OwnTab, now: Now) {
    let tab = Tab::Own(own);
    if model.view_state.own_view(own).is_some() {
        return show_tab(model, tab);
    }
    let reason = format!("No view {} yet: filter the list, then type :save NAME.", tab.number());
    actions::refuse(model, reason, now.mono)
}

/// Shows a saved view. The chosen transaction stays selected if the view contains it, or else the one that was chosen
/// there before, or else the most urgent one.
pub(crate) fn show_tab(model: &mut Model, tab: Tab) {
    model.show_list();
    if model.end_temporary_view() {
        // The transaction of the temporary view is no longer wanted.
        model.list.pending_selection = None;
    }
    model.show_tab(tab);
    model.list.mark_stale();
    model.effects.push(Effect::Count)
}
