//! Copying and opening: the menu of texts, the list of links, and what became of either.
//!
//! A link passes `domain::link` before it leaves here; one that isn't allowed is copied instead, and the reason is said.

use crossterm::event::{KeyCode, KeyEvent};

use super::Effect;
use crate::{
    clock::Now,
    domain::link,
    tui::model::{
        Model, Overlay, Tone,
        offer::{self, Item, LinkAction, Offer},
    },
};

/// What became of a text that was to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The text.
    pub text: String,
    /// How it was copied, or why it wasn't, as a sentence.
    pub outcome: Result<String, String>,
}

/// Opens the menu of what can be copied.
pub(super) fn copy(model: &mut Model, now: Now) -> Vec<Effect> {
    let at = (now.wall, model.setting.zone);
    if let Some(tx) = model.selected() {
        let offer = Offer::texts(tx, at, &model.setting.templates);
        (model.overlay, model.list.chosen) = (Overlay::Offer(offer), true);
    }
    Vec::new()
}

/// Opens the list of links.
pub(super) fn links(model: &mut Model, now: Now) -> Vec<Effect> {
    let Some(offer) = model.selected().map(Offer::links) else { return Vec::new() };
    model.list.chosen = true;
    match offer.items.is_empty() {
        true => model.notify(Tone::Bad, NO_LINK, now.mono),
        false => model.overlay = Overlay::Offer(offer),
    }
    Vec::new()
}

/// Opens the best link.
pub(super) fn browse(model: &mut Model, now: Now) -> Vec<Effect> {
    let Some(tx) = model.selected() else { return Vec::new() };
    let link = offer::best_link(tx);
    model.list.chosen = true;
    match link {
        Some(link) => open(model, link, now),
        None => {
            model.notify(Tone::Bad, NO_LINK, now.mono);
            Vec::new()
        }
    }
}

/// A link couldn't be opened: it is copied instead.
pub(super) fn not_opened(model: &mut Model, link: String, reason: &str, now: Now) -> Vec<Effect> {
    model.notify(Tone::Bad, format!("{NOT_OPENED}: {reason}; the link is copied instead."), now.mono);
    vec![Effect::Copy(link)]
}

const NO_LINK: &str = "The service has sent no link yet.";
const NOT_OPENED: &str = "Not opened";

fn open(model: &mut Model, link: String, now: Now) -> Vec<Effect> {
    match link::check(&link) {
        Ok(_) => vec![Effect::Open(link)],
        Err(error) => not_opened(model, link, &error.to_string(), now),
    }
}

/// Keys while something is offered.
pub(super) fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> Vec<Effect> {
    let Overlay::Offer(offer) = &mut model.overlay else { return Vec::new() };
    let opens = offer.purpose == LinkAction::Open;
    match key.code {
        KeyCode::Esc | KeyCode::Char('q') => model.overlay = Overlay::None,
        KeyCode::Down | KeyCode::Char('j') => offer.move_by(1),
        KeyCode::Up | KeyCode::Char('k') => offer.move_by(-1),
        KeyCode::Enter => {
            let chosen = offer.chosen().cloned();
            return take(model, chosen, opens, now);
        }
        // A link can be copied too.
        KeyCode::Char('y') if opens => {
            let chosen = offer.chosen().cloned();
            return take(model, chosen, false, now);
        }
        KeyCode::Char(letter) => {
            let chosen = offer.items.iter().find(|item| item.key == letter).cloned();
            return take(model, chosen, opens, now);
        }
        _ => {}
    }
    Vec::new()
}

fn take(model: &mut Model, chosen: Option<Item>, opens: bool, now: Now) -> Vec<Effect> {
    let Some(Item { text, .. }) = chosen else { return Vec::new() };
    (model.overlay, model.copied) = (Overlay::None, None);
    if opens { open(model, text, now) } else { vec![Effect::Copy(text)] }
}

/// Says what became of a text; where nothing works it stands on the screen.
pub(super) fn on_copied(model: &mut Model, copied: Copied, now: Now) -> Vec<Effect> {
    let Copied { text, outcome } = copied;
    let tone = if outcome.is_ok() { Tone::Good } else { Tone::Bad };
    let failed = outcome.is_err();
    let (Ok(sentence) | Err(sentence)) = outcome;
    // What a person is at by now isn't taken from them.
    if failed && matches!(model.overlay, Overlay::None) {
        model.overlay = Overlay::Answer { text, scroll: 0 };
    }
    // Why a link was copied rather than opened matters more; and over the text itself it stands already.
    let told_why = model.notice.as_ref().is_some_and(|notice| notice.text.starts_with(NOT_OPENED));
    let stands = matches!(model.overlay, Overlay::Answer { .. });
    if failed || !(told_why || stands) {
        model.notify(tone, sentence.clone(), now.mono);
    }
    model.copied = Some(sentence);
    Vec::new()
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::*;
    use crate::{
        domain::{fixtures as tx, observation::Outcome, record::StatusRecord, status::RouterStatus},
        tui::{
            fixtures::{TestDashboard, at_work, blank, everything, hear, moment, press},
            update::Msg,
        },
    };

    fn now() -> Now {
        moment(DateTime::UNIX_EPOCH + TimeDelta::hours(1))
    }

    /// A dashboard with one transaction, whose source has this link and whose bridge that.
    fn dashboard(source: &str, bridge: &str) -> TestDashboard {
        let link = |link: &str| Some(link.to_owned()).filter(|link| !link.is_empty());
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        (record.from.url, record.bridge_url) = (link(source), link(bridge));
        let mut transaction = tx::transaction(1);
        transaction.apply(&tx::answer(Outcome::Record(Box::new(record))), now().wall);
        let mut model = blank((80, 24));
        hear(&mut model, everything(vec![transaction], Vec::new()), Some(at_work(now().wall)), now());
        model
    }

    fn notice(model: &Model) -> &str {
        model.notice.as_ref().map_or("", |notice| &notice.text)
    }

    const FINE: &str = "https://explorer.example/tx/1";

    #[test]
    fn y_p_copies_the_packet_for_support() {
        let mut model = dashboard(FINE, "");
        let effects = press(&mut model, &["y", "p"], now());
        assert!(matches!(&effects[..], [Effect::Copy(text)] if text.starts_with("transactionId  0x")), "{effects:?}");
        assert!(matches!(model.overlay, Overlay::None));
        let effects = press(&mut model, &["y", "j", "j", "j", "Enter"], now());
        assert!(matches!(&effects[..], [Effect::Copy(text)] if text.len() == 66), "{effects:?}");
        assert_eq!(press(&mut model, &["y", "z"], now()), []);
        press(&mut model, &["Esc"], now());
        assert!(matches!(model.overlay, Overlay::None));
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
    fn what_may_not_be_opened_is_copied_and_the_reason_stays() {
        for link in
            ["javascript:alert(1)", "file:///etc/passwd", "-flag", "https://a@b.example", "https://a.example/ b"]
        {
            let mut model = dashboard(link, "");
            assert_eq!(press(&mut model, &["o"], now()), [Effect::Copy(link.into())]);
            model.take(Msg::Copied(Copied { text: link.into(), outcome: Ok("Copied by xclip.".into()) }), now());
            assert!(notice(&model).starts_with("Not opened: it "), "{}", notice(&model));
        }
    }

    #[test]
    fn what_no_clipboard_took_stands_on_the_screen() {
        let mut model = dashboard(FINE, "");
        press(&mut model, &["y", "p"], now());
        model.take(Msg::Copied(Copied { text: "packet".into(), outcome: Err("Not copied (no way).".into()) }), now());
        assert!(matches!(&model.overlay, Overlay::Answer { text, .. } if text == "packet"));
        assert_eq!((notice(&model), model.copied.as_deref()), ("Not copied (no way).", Some("Not copied (no way).")));
    }
}
