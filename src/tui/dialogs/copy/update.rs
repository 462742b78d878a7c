//! Copying texts and opening links: the menus, their keys, and the results.
//!
//! A link must pass `domain::link` before it is opened. A refused link is copied instead, with a notice.

use crossterm::event::{KeyCode, KeyEvent};

use super::state::{CopyItem, CopyMenu, LinkAction, best_link};
use crate::{
    clock::Now,
    domain::{link, reply::Audience, text},
    presentation::width,
    tui::{
        dialogs::{Dialog, reply},
        effect::Effect,
        model::{MessageTone, Model},
        update::actions,
    },
};

/// Opens the menu of links.
pub(crate) fn links(model: &mut Model, now: Now) {
    let Some(menu) = model.current_transaction().map(CopyMenu::links) else { return };
    match menu.items.is_empty() {
        true => model.show_message(MessageTone::Bad, NO_LINK, now.mono),
        false => model.dialog = Dialog::CopyMenu(menu),
    }
}

/// Opens the best link.
pub(crate) fn browse(model: &mut Model, now: Now) {
    let Some(tx) = model.current_transaction() else { return };
    match best_link(tx) {
        Some(link) => open(model, link, now),
        None => actions::refuse(model, NO_LINK, now.mono),
    }
}

/// Copies a link that could not be opened, and shows the reason.
pub(crate) fn not_opened(model: &mut Model, link: String, reason: &str, now: Now) {
    model.show_message(MessageTone::Bad, format!("Not opened: {reason}; the link is copied instead."), now.mono);
    model.status_message.iter_mut().for_each(|message| message.is_refused_link = true);
    model.effects.push(Effect::Copy(link))
}

const NO_LINK: &str = "The service has sent no link yet.";

fn open(model: &mut Model, link: String, now: Now) {
    match link::check(&link) {
        Ok(_) => model.effects.push(Effect::Open(link)),
        Err(error) => not_opened(model, link, &error.to_string(), now),
    }
}

/// Applies a key while the menu is open.
pub(crate) fn on_key(model: &mut Model, key: KeyEvent, now: Now) {
    let Dialog::CopyMenu(menu) = &mut model.dialog else { return };
    let opens = menu.purpose == LinkAction::Open;
    match key.code {
        KeyCode::Esc | KeyCode::Char('q') => model.dialog = Dialog::None,
        KeyCode::Down | KeyCode::Char('j') => menu.move_by(1),
        KeyCode::Up | KeyCode::Char('k') => menu.move_by(-1),
        KeyCode::Enter => {
            let chosen = menu.chosen().cloned();
            choose(model, chosen, opens, now);
        }
        // The menu of links can copy a link, too.
        KeyCode::Char('y') if opens => {
            let chosen = menu.chosen().cloned();
            choose(model, chosen, false, now);
        }
        KeyCode::Char(letter) => {
            let chosen = menu.items.iter().find(|item| item.key == letter).cloned();
            choose(model, chosen, opens, now);
        }
        _ => {}
    }
}

fn choose(model: &mut Model, chosen: Option<CopyItem>, opens: bool, now: Now) {
    let Some(item) = chosen else { return };
    if item.asks_for_customer() {
        return reply::update::open(model, Audience::Customer, now);
    }
    let text = item.text;
    (model.dialog, model.copied) = (Dialog::None, None);
    if opens { open(model, text, now) } else { model.effects.push(Effect::Copy(text)) }
}

/// Returns the beginning of a copied text, so that a person recognises the text.
fn excerpt(text: &str) -> String {
    /// The most columns of the excerpt.
    const MAX_COLUMNS: usize = 40;
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = width::cut(&text::clean(lines.next().unwrap_or_default()), MAX_COLUMNS, "...");
    match lines.count() {
        0 => format!("\"{first}\""),
        1 => format!("\"{first}\" and 1 more line"),
        more => format!("\"{first}\" and {more} more lines"),
    }
}

/// Shows the result of copying a text. If no way of copying worked, shows the text itself.
pub(crate) fn on_copied(model: &mut Model, text: String, outcome: Result<String, String>, now: Now) {
    let failed = outcome.is_err();
    let copied = excerpt(&text);
    let (Ok(sentence) | Err(sentence)) = &outcome;
    // A dialog that was opened meanwhile stays open.
    if failed && matches!(model.dialog, Dialog::None) {
        let title = "Text to copy".to_owned();
        model.dialog = Dialog::Reply { title, warning: String::new(), text, scroll: 0 };
    }
    // The reason why a link was not opened matters more than the success of copying. The page of text shows the success
    // itself.
    let shows_refusal = model.status_message.as_ref().is_some_and(|message| message.is_refused_link);
    let shows_text = matches!(model.dialog, Dialog::Reply { .. });
    if failed || !(shows_refusal || shows_text) {
        let (tone, message) = match failed {
            true => (MessageTone::Bad, sentence.clone()),
            false => (MessageTone::Good, format!("{sentence} {copied}")),
        };
        model.show_message(tone, message, now.mono);
    }
    model.copied = Some(outcome);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{fixtures as tx, observation::StatusOutcome, record::StatusRecord, status::RouterStatus},
        tui::{
            fixtures::{TestDashboard, blank, change_store, everything, live_report, now, press},
            message::Msg,
        },
    };

    /// Returns a dashboard with one transaction that has these links.
    fn dashboard(source: &str, bridge: &str) -> TestDashboard {
        let link = |link: &str| Some(link.to_owned()).filter(|link| !link.is_empty());
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        (record.from.url, record.bridge_url) = (link(source), link(bridge));
        let mut transaction = tx::transaction(1);
        transaction.apply(&tx::answer(StatusOutcome::Record(Box::new(record))), now().wall);
        let mut model = blank((80, 24));
        change_store(&mut model, everything(vec![transaction], Vec::new()), Some(live_report(now().wall)), now());
        model
    }

    fn notice(model: &Model) -> &str {
        model.status_message.as_ref().map_or("", |notice| &notice.text)
    }

    const FINE: &str = "https://explorer.example/tx/1";

    #[test]
    fn y_p_copies_the_packet_for_the_provider() {
        let mut model = dashboard(FINE, "");
        let effects = press(&mut model, &["y", "p"], now());
        assert!(matches!(&effects[..], [Effect::Copy(text)] if text.starts_with("transactionId  0x")), "{effects:?}");
        assert!(matches!(model.dialog, Dialog::None));
        let effects = press(&mut model, &["y", "j", "j", "j", "j", "Enter"], now());
        assert!(matches!(&effects[..], [Effect::Copy(text)] if text.len() == 66), "{effects:?}");
        assert_eq!(press(&mut model, &["y", "z"], now()), []);
        press(&mut model, &["Esc"], now());
        assert!(matches!(model.dialog, Dialog::None));
    }

    #[test]
    fn o_opens_the_best_link() {
        assert_eq!(press(&mut dashboard(FINE, "https://b.example"), &["o"], now()), [Effect::Open(FINE.into())]);
        let only_bridge = press(&mut dashboard("", "https://b.example"), &["o"], now());
        assert_eq!(only_bridge, [Effect::Open("https://b.example".into())]);
        let mut bare = dashboard("", "");
        for key in ["o", "O"] {
            assert_eq!(press(&mut bare, &[key], now()), []);
            assert_eq!(notice(&bare), "The service has sent no link yet.");
        }
    }

    #[test]
    fn a_link_is_chosen_from_all_and_can_be_copied() {
        let bridge = "https://b.example";
        let mut model = dashboard(FINE, bridge);
        assert_eq!(press(&mut model, &["O", "2"], now()), [Effect::Open(bridge.into())]);
        assert_eq!(press(&mut model, &["O", "j", "y"], now()), [Effect::Copy(bridge.into())]);
    }

    #[test]
    fn message_names_the_copied_text() {
        for (text, message) in [
            ("0x9f3c", r#"Copied with xclip. "0x9f3c""#),
            ("\nDear Ana,\n\nit is on its way.\nBye\n", r#"Copied with xclip. "Dear Ana," and 2 more lines"#),
        ] {
            let mut model = dashboard(FINE, "");
            model.apply(Msg::Copied { text: text.into(), outcome: Ok("Copied with xclip.".into()) }, now());
            assert_eq!(notice(&model), message);
        }
    }

    #[test]
    fn refused_link_is_copied_and_the_reason_stays() {
        for link in
            ["javascript:alert(1)", "file:///etc/passwd", "-flag", "https://a@b.example", "https://a.example/ b"]
        {
            let mut model = dashboard(link, "");
            assert_eq!(press(&mut model, &["o"], now()), [Effect::Copy(link.into())]);
            model.apply(Msg::Copied { text: link.into(), outcome: Ok("Copied with xclip.".into()) }, now());
            assert!(notice(&model).starts_with("Not opened: it "), "{}", notice(&model));
        }
    }

    #[test]
    fn text_is_shown_if_no_clipboard_works() {
        let mut model = dashboard(FINE, "");
        press(&mut model, &["y", "p"], now());
        model.apply(Msg::Copied { text: "packet".into(), outcome: Err("Not copied (no way).".into()) }, now());
        assert!(matches!(&model.dialog, Dialog::Reply { text, .. } if text == "packet"));
        assert_eq!(
            (notice(&model), &model.copied),
            ("Not copied (no way).", &Some(Err("Not copied (no way).".into())))
        );
    }
}
