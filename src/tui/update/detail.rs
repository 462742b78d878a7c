//! The detail's tabs: what is read for them, what is looked for in them, what is copied out of them.
//!
//! Nothing is read that isn't open.

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::Effect;
use crate::{
    clock::Now,
    domain::{ids::RowId, text, width},
    tui::model::{Model, Overlay, Screen, Tone, detail::DetailTab, raw::Body},
};

/// After whatever happened: reads the body if it is open and wasn't read, and keeps its cursor on the screen.
pub(super) fn settle(model: &mut Model) -> Option<Effect> {
    if model.screen != Screen::Detail || model.detail.tab != DetailTab::Raw {
        return None;
    }
    let rows = model.geometry.page;
    model.detail.raw.keep_in_sight(rows);
    model.detail.raw.to_read(model.list.selected).map(Effect::LoadBody)
}

pub(super) fn on_body(model: &mut Model, row: RowId, body: Option<Body>) {
    // What is shown meanwhile has its own.
    if model.list.selected == Some(row) {
        model.detail.raw.take(body);
    }
}

pub(super) fn turn_changes(model: &mut Model) {
    model.detail.changes_only = !model.detail.changes_only;
    model.detail.move_by(isize::MIN, 0);
}

pub(super) fn open_find(model: &mut Model) {
    // On the other tabs there is nothing that has no room on the screen.
    if model.screen == Screen::Detail && !matches!(model.detail.tab, DetailTab::History | DetailTab::Raw) {
        model.detail.tab = DetailTab::Raw;
    }
    let before = match model.screen {
        Screen::Log => model.log.wanted.clone(),
        _ => model.detail.wanted().to_owned(),
    };
    model.overlay = Overlay::Find { input: Input::new(before.clone()), before };
}

/// Looks for a text in what is open.
fn want(model: &mut Model, text: &str) {
    match model.screen {
        Screen::Log => model.log.want(text),
        _ => model.detail.want(text),
    }
}

/// What is typed is looked for at once; Enter keeps it, Esc brings back what held before.
pub(super) fn on_key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let Overlay::Find { input, before } = &mut model.overlay else { return Vec::new() };
    match key.code {
        KeyCode::Esc => {
            let before = std::mem::take(before);
            want(model, &before);
            model.overlay = Overlay::None;
        }
        KeyCode::Enter => model.overlay = Overlay::None,
        _ => {
            if input.handle_event(&Event::Key(key)).is_some_and(|change| change.value) {
                let typed = input.value().to_owned();
                want(model, &typed);
            }
        }
    }
    Vec::new()
}

pub(super) fn on_paste(model: &mut Model, pasted: &str) -> Vec<Effect> {
    let Overlay::Find { input, .. } = &mut model.overlay else { return Vec::new() };
    *input = Input::new(format!("{}{}", input.value(), text::clean(pasted)));
    let typed = input.value().to_owned();
    want(model, &typed);
    Vec::new()
}

/// Copies what stands under the cursor: a step's hash, a value of the body.
pub(super) fn copy(model: &mut Model, now: Now) -> Vec<Effect> {
    let Some(part) = under_cursor(model) else {
        model.notify(Tone::Bad, "There is nothing to copy here.", now.mono);
        return Vec::new();
    };
    let shown = width::cut_middle(&text::clean(&part), 40, "..");
    model.notify(Tone::Good, format!("Sent to the clipboard: {shown}"), now.mono);
    vec![Effect::Copy(part)]
}

fn under_cursor(model: &Model) -> Option<String> {
    /// More than a terminal takes for its clipboard.
    const MOST: usize = 64 * 1024;
    let part = match model.detail.tab {
        DetailTab::Steps => {
            let record = model.selected()?.state.record.as_ref()?;
            record.steps.get(model.detail.place())?.transaction_id.as_ref()?.to_string()
        }
        DetailTab::Raw => {
            let (json_tree, line) = model.detail.raw.line()?;
            json_tree.value(line, MOST)
        }
        _ => return None,
    };
    Some(part).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::{
        domain::{fixtures as tx, json_tree::JsonTree, transaction::Transaction},
        tui::{
            fixtures::{TestDashboard, blank, changed, everything, hear, moment, press, type_in},
            model::detail::Detail,
            update::Msg,
        },
    };

    fn now() -> Now {
        moment(DateTime::UNIX_EPOCH)
    }

    /// Two transactions, the first one open.
    fn opened() -> TestDashboard {
        let mut dashboard = blank((80, 24));
        let transactions: Vec<Transaction> = (1..=2).map(tx::transaction).collect();
        hear(&mut dashboard, everything(transactions, Vec::new()), None, now());
        press(&mut dashboard, &["Enter"], now());
        dashboard
    }

    fn body(text: &str) -> Msg {
        let json_tree = JsonTree::new(text, None);
        let body = Body { at: now().wall, http_status: Some(200), bytes: text.len(), before: None, json_tree };
        Msg::Body(RowId(1), Box::new(Some(body)))
    }

    #[test]
    fn the_body_is_read_when_its_tab_opens_and_again_when_there_may_be_another() {
        let mut dashboard = opened();
        assert_eq!(press(&mut dashboard, &["["], now()), []);
        assert_eq!(press(&mut dashboard, &["["], now()), [Effect::LoadBody(RowId(1))]);
        assert_eq!(press(&mut dashboard, &["j", "]", "["], now()), []);
        let news = hear(&mut dashboard, changed(vec![tx::transaction(1)]), None, now());
        assert_eq!(news, [Effect::LoadHistory(RowId(1)), Effect::LoadBody(RowId(1))]);
        press(&mut dashboard, &["Esc"], now());
        let elsewhere = hear(&mut dashboard, changed(vec![tx::transaction(1)]), None, now());
        assert_eq!(elsewhere, [Effect::LoadHistory(RowId(1))]);
    }

    #[test]
    fn the_body_of_what_is_not_open_any_more_is_not_shown() {
        let mut dashboard = opened();
        press(&mut dashboard, &["[", "["], now());
        dashboard.list.selected = Some(RowId(2));
        dashboard.take(body("{}"), now());
        assert_eq!(dashboard.detail.raw.count(), 0);
    }

    #[test]
    fn another_transaction_keeps_the_tab_and_what_is_looked_for() {
        let mut dashboard = opened();
        press(&mut dashboard, &["[", "["], now());
        dashboard.take(body("[1]"), now());
        press(&mut dashboard, &["/"], now());
        type_in(&mut dashboard, "nN", now());
        press(&mut dashboard, &["Enter", "w"], now());
        let effects = dashboard.take(Msg::FoundAlert(Some(RowId(2))), now());
        assert!(effects.contains(&Effect::LoadBody(RowId(2))), "{effects:?}");
        let Detail { tab, raw, .. } = &dashboard.detail;
        assert_eq!((*tab, raw.wanted(), raw.wrap, raw.count()), (DetailTab::Raw, "nN", true, 0));
    }

    #[test]
    fn what_is_typed_is_looked_for_at_once_and_esc_brings_back_what_held_before() {
        let mut dashboard = opened();
        press(&mut dashboard, &["]", "]", "]", "/"], now());
        type_in(&mut dashboard, "ab", now());
        dashboard.take(Msg::Paste("\u{1b}c\n".into()), now());
        assert_eq!(dashboard.detail.filter, "abc");
        press(&mut dashboard, &["Enter", "/"], now());
        type_in(&mut dashboard, "d", now());
        assert_eq!(dashboard.detail.filter, "abcd");
        press(&mut dashboard, &["Esc"], now());
        assert_eq!((dashboard.detail.filter.as_str(), dashboard.screen), ("abc", Screen::Detail));
    }

    #[test]
    fn where_there_is_nothing_to_copy_it_says_so() {
        let mut dashboard = opened();
        assert_eq!(press(&mut dashboard, &["]", "y"], now()), []);
        assert_eq!(dashboard.notice.as_ref().unwrap().tone, Tone::Bad);
    }
}
