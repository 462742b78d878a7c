//! The update of the detail's tabs: loading the body, searching, copying.
//!
//! The body is loaded only while its tab is open.

use crossterm::event::KeyCode;
use tui_input::Input;

use super::{raw::ResponseBody, state::DetailTab};
use crate::{
    clock::Now,
    domain::{filter::Direction, ids::RowId, text},
    presentation::width,
    tui::{
        dialogs::Dialog,
        effect::Effect,
        model::{MessageTone, Model, Screen},
        text_input::{self, Typed},
        update::actions,
    },
};

/// Runs after each message: loads the body if its tab is open and the body isn't loaded, and keeps the cursor on the
/// screen.
pub(crate) fn load_body_if_needed(model: &mut Model) -> Option<Effect> {
    if !model.geometry.shows_detail || model.detail.tab != DetailTab::Raw {
        return None;
    }
    model.detail.raw.scroll_into_view(model.geometry.raw_body);
    model.detail.raw.next_request(model.list.selected).map(Effect::LoadBody)
}

/// Shows a body that was loaded.
pub(crate) fn on_body(model: &mut Model, row: RowId, body: Option<ResponseBody>) {
    // If another transaction is selected by now, its own body is loaded.
    if model.list.selected == Some(row) {
        model.detail.raw.set_body(body);
    }
}

/// Shows changes only in the history, or polls too.
pub(crate) fn toggle_changes_only(model: &mut Model) {
    model.detail.shows_changes_only = !model.detail.shows_changes_only;
    model.detail.move_by(isize::MIN, 0);
}

/// Opens the search in the open tab or in the log.
pub(crate) fn open_find(model: &mut Model) {
    let tab = model.detail.tab;
    // The other tabs have no search: the search opens the raw body.
    if model.screen == Screen::Detail && !matches!(model.detail.tab, DetailTab::History | DetailTab::Raw) {
        model.detail.tab = DetailTab::Raw;
    }
    let before = match model.screen {
        Screen::Log => model.log.search_text.clone(),
        Screen::List | Screen::Detail | Screen::Alerts | Screen::Stats => model.detail.search_text().to_owned(),
    };
    model.dialog = Dialog::Find { input: Input::new(before.clone()), before, tab };
}

/// Searches for a text in the open tab or in the log.
fn search(model: &mut Model, text: &str) {
    match model.screen {
        Screen::Log => model.log.set_search(text),
        Screen::List | Screen::Detail | Screen::Alerts | Screen::Stats => model.detail.set_search(text),
    }
}

/// Searches while a person types. Enter keeps the search text, Esc restores the previous one.
pub(crate) fn on_input(model: &mut Model, typed: Typed<'_>) {
    let Dialog::Find { input, before, tab } = &mut model.dialog else { return };
    match typed.code() {
        KeyCode::Esc => {
            let (before, tab) = (std::mem::take(before), *tab);
            search(model, &before);
            model.detail.tab = tab;
            model.dialog = Dialog::None;
        }
        KeyCode::Enter => model.dialog = Dialog::None,
        _ => {
            if text_input::edit(input, typed) {
                let text = input.value().to_owned();
                search(model, &text);
            }
        }
    }
}

/// Shows the tab beside the shown one.
pub(crate) fn show_neighbor_tab(model: &mut Model, direction: Direction) {
    model.detail.tab = direction.neighbor(&DetailTab::ALL, model.detail.tab);
}

/// Scrolls the detail beside the list.
pub(crate) fn scroll_beside_list(model: &mut Model, lines: isize) {
    model.detail.move_by(lines, model.geometry.scroll_end);
}

/// Copies the item under the cursor: a step's hash, or a value of the body.
pub(crate) fn copy(model: &mut Model, now: Now) {
    let Some(part) = under_cursor(model) else {
        return actions::refuse(model, "There is nothing to copy here.", now.mono);
    };
    let shown = width::cut_middle(&text::clean(&part), 40, "..");
    model.show_message(MessageTone::Good, format!("Sent to the clipboard: {shown}"), now.mono);
    model.effects.push(Effect::Copy(part))
}

fn under_cursor(model: &Model) -> Option<String> {
    /// The most bytes of a value: more than a terminal accepts for its clipboard.
    const MAX_BYTES: usize = 64 * 1024;
    let part = match model.detail.tab {
        DetailTab::Steps => {
            let steps = &model.selected()?.record.as_ref()?.steps;
            // The record may have fewer steps than when the cursor was moved.
            steps.get(model.detail.position()).or(steps.last())?.transaction_id.as_ref()?.to_string()
        }
        DetailTab::Raw => {
            let (json_tree, line) = model.detail.raw.line()?;
            json_tree.value(line, MAX_BYTES)
        }
        DetailTab::Summary | DetailTab::Timing | DetailTab::History | DetailTab::Notes => return None,
    };
    Some(part).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::{
        domain::{fixtures as tx, transaction::Transaction},
        presentation::json_tree::JsonTree,
        tui::{
            fixtures::{TestDashboard, blank, change_store, changed, everything, moment, press, type_in},
            message::Msg,
            screens::detail::state::DetailState,
        },
    };

    fn now() -> Now {
        moment(DateTime::UNIX_EPOCH)
    }

    /// Returns a dashboard with two transactions, the first one open.
    fn opened() -> TestDashboard {
        let mut dashboard = blank((80, 24));
        let transactions: Vec<Transaction> = (1..=2).map(tx::transaction).collect();
        change_store(&mut dashboard, everything(transactions, Vec::new()), None, now());
        press(&mut dashboard, &["Enter"], now());
        dashboard
    }

    fn body(text: &str) -> Msg {
        let json_tree = JsonTree::new(text, None);
        let body = ResponseBody { at: now().wall, http_status: Some(200), bytes: text.len(), before: None, json_tree };
        Msg::Body(RowId(1), Box::new(Some(body)))
    }

    #[test]
    fn the_body_is_loaded_when_its_tab_opens_and_again_after_a_change() {
        let mut dashboard = opened();
        assert_eq!(press(&mut dashboard, &["["], now()), []);
        assert_eq!(press(&mut dashboard, &["["], now()), [Effect::LoadBody(RowId(1))]);
        assert_eq!(press(&mut dashboard, &["j", "]", "["], now()), []);
        let effects = change_store(&mut dashboard, changed(vec![tx::transaction(1)]), None, now());
        assert_eq!(effects, [Effect::LoadHistory(RowId(1)), Effect::LoadBody(RowId(1))]);
        press(&mut dashboard, &["Esc"], now());
        let elsewhere = change_store(&mut dashboard, changed(vec![tx::transaction(1)]), None, now());
        assert_eq!(elsewhere, [Effect::LoadHistory(RowId(1))]);
    }

    #[test]
    fn the_body_of_a_transaction_that_is_no_longer_open_is_not_shown() {
        let mut dashboard = opened();
        press(&mut dashboard, &["[", "["], now());
        dashboard.list.selected = Some(RowId(2));
        dashboard.apply(body("{}"), now());
        assert_eq!(dashboard.detail.raw.count(), 0);
    }

    #[test]
    fn another_transaction_keeps_the_tab_and_the_search() {
        let mut dashboard = opened();
        press(&mut dashboard, &["[", "["], now());
        dashboard.apply(body("[1]"), now());
        press(&mut dashboard, &["/"], now());
        type_in(&mut dashboard, "nN", now());
        press(&mut dashboard, &["Enter", "w"], now());
        let effects = dashboard.apply(Msg::FoundAlert(Some(RowId(2))), now());
        assert!(effects.contains(&Effect::LoadBody(RowId(2))), "{effects:?}");
        let DetailState { tab, raw, .. } = &dashboard.detail;
        assert_eq!((*tab, raw.search_text(), raw.is_wrapped, raw.count()), (DetailTab::Raw, "nN", true, 0));
    }

    #[test]
    fn typing_searches_at_once_and_esc_restores_the_previous_search() {
        let mut dashboard = opened();
        press(&mut dashboard, &["]", "]", "]", "/"], now());
        type_in(&mut dashboard, "ab", now());
        dashboard.apply(Msg::Paste("\u{1b}c\n".into()), now());
        assert_eq!(dashboard.detail.filter, "abc");
        press(&mut dashboard, &["Enter", "/"], now());
        type_in(&mut dashboard, "d", now());
        assert_eq!(dashboard.detail.filter, "abcd");
        press(&mut dashboard, &["Esc"], now());
        assert_eq!((dashboard.detail.filter.as_str(), dashboard.screen), ("abc", Screen::Detail));
    }

    #[test]
    fn esc_ends_the_search_before_it_closes_the_detail() {
        let mut dashboard = opened();
        press(&mut dashboard, &["]", "]", "]", "/"], now());
        type_in(&mut dashboard, "ab", now());
        press(&mut dashboard, &["Enter", "Esc"], now());
        assert_eq!((dashboard.detail.filter.as_str(), dashboard.screen), ("", Screen::Detail));
        press(&mut dashboard, &["/"], now());
        type_in(&mut dashboard, "ab", now());
        press(&mut dashboard, &["Enter", "f"], now());
        assert_eq!((dashboard.detail.filter.as_str(), dashboard.screen), ("", Screen::List));
        press(&mut dashboard, &["Enter", "/"], now());
        type_in(&mut dashboard, "ab", now());
        press(&mut dashboard, &["Enter", "@", "Esc"], now());
        assert_eq!((dashboard.detail.filter.as_str(), dashboard.screen), ("ab", Screen::Detail), "after the log");
        press(&mut dashboard, &["5"], now());
        assert_eq!((dashboard.detail.filter.as_str(), dashboard.screen), ("", Screen::List));
    }

    #[test]
    fn copying_without_a_value_shows_a_notice() {
        let mut dashboard = opened();
        assert_eq!(press(&mut dashboard, &["]", "y"], now()), []);
        assert_eq!(dashboard.status_message.as_ref().unwrap().tone, MessageTone::Bad);
    }
}
