//! Texts about transactions for the customer, the provider and the team: for the selected transaction, or one text for all
//! marked ones.
//!
//! The sentences must come from `domain::answer`.

use crate::{
    clock::{Mono, Now},
    domain::{
        answer::{self, Audience, ReplyFormat},
        transaction::Transaction,
    },
    presentation::row_text,
    tui::{
        dialogs::{
            Dialog,
            copy::state::CopyMenu,
            menu::state::{Choice, Menu, MenuEntry},
        },
        effect::{Effect, TextUse},
        model::{Model, Screen, Tone},
        screens::list::update::marks,
    },
};

/// The most transactions in one text. A clipboard, a ticket or a reader takes hardly more.
const MOST: usize = 100;

/// Shows and copies the text for a reader.
pub(crate) fn open(model: &mut Model, audience: Audience, now: Now) -> Vec<Effect> {
    load(model, TextUse::Show(audience), now)
}

/// Opens the menu of texts to copy.
pub(crate) fn open_menu(model: &mut Model, now: Now) -> Vec<Effect> {
    load(model, TextUse::Menu, now)
}

/// Opens the menu of the three readers.
pub(crate) fn choose_audience(model: &mut Model, now: Mono) {
    if model.screen == Screen::List && !marks::end_range(model, now) {
        return;
    }
    let entry = |key, label, audience| MenuEntry::new(key, label, Choice::Answer(audience));
    let entries = vec![
        entry("c", "the customer: whole sentences", Audience::Customer),
        entry("p", "the provider's support: hash, chains, quoteId, requestId, links", Audience::Provider),
        entry("t", "the team: verdict, what to say, times, links", Audience::Team(ReplyFormat::Markdown)),
    ];
    let title = match marked(model) {
        0 => "Show and copy a text for".to_owned(),
        count => format!("Show and copy one text about {} for", row_text::transaction_count(count)),
    };
    model.dialog = Dialog::Menu(Menu::new(title, "", entries));
}

/// Returns the number of marked transactions that a command applies to.
fn marked(model: &Model) -> usize {
    if model.screen == Screen::List { model.marks.count() } else { 0 }
}

/// Uses the selected transaction at once, and reads the marked ones first: they may be in another view.
fn load(model: &mut Model, wanted: TextUse, now: Now) -> Vec<Effect> {
    if model.screen == Screen::List && !marks::end_range(model, now.mono) {
        return Vec::new();
    }
    match marked(model) {
        0 => {
            let Some(tx) = model.current_transaction().cloned() else { return Vec::new() };
            on_loaded(model, &[tx], wanted, now)
        }
        1..=MOST => vec![Effect::LoadForTexts(model.marks.rows(), wanted)],
        count => {
            let text = format!("{count} transactions are marked; a text can have at most {MOST}.");
            model.show_message(Tone::Bad, text, now.mono);
            Vec::new()
        }
    }
}

/// Uses the transactions that were read.
pub(crate) fn on_loaded(model: &mut Model, read: &[Transaction], wanted: TextUse, now: Now) -> Vec<Effect> {
    if read.is_empty() {
        return Vec::new();
    }
    let (zone, own) = (model.setting.zone, &model.setting.templates);
    let transactions: Vec<&Transaction> = read.iter().collect();
    let (dialog, effects) = match wanted {
        TextUse::Menu => (Dialog::CopyMenu(CopyMenu::texts(&transactions, now.wall, zone, own)), Vec::new()),
        TextUse::Show(audience) => {
            let text = answer::reply(&transactions, audience, now.wall, zone, own);
            model.copied = None;
            (Dialog::Answer { text: text.clone(), scroll: 0 }, vec![Effect::Copy(text)])
        }
    };
    (model.dialog, model.list.chosen) = (dialog, true);
    effects
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::*;
    use crate::{
        domain::fixtures as tx,
        tui::fixtures::{TestDashboard, at_work, blank, change_store, everything, moment, press},
    };

    fn now() -> Now {
        moment(DateTime::UNIX_EPOCH + TimeDelta::hours(1))
    }

    fn dashboard(count: i64) -> TestDashboard {
        let mut model = blank((80, 24));
        let transactions = (1..=count).map(tx::transaction).collect();
        change_store(&mut model, everything(transactions, Vec::new()), Some(at_work(now().wall)), now());
        model
    }

    fn copied(model: &mut TestDashboard, keys: &[&str]) -> String {
        match &press(model, keys, now())[..] {
            [Effect::Copy(text)] => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn c_copies_the_text_for_the_customer_and_the_menu_each_text() {
        let mut model = dashboard(1);
        let customer = copied(&mut model, &["c"]);
        assert!(customer.starts_with("Hello,\n\nWe do not have the status"), "{customer}");
        for (key, beginning) in [("c", "Hello,"), ("p", "transactionId"), ("t", "**NOT CHECKED YET**")] {
            press(&mut model, &["Esc"], now());
            let text = copied(&mut model, &["C", key]);
            assert!(text.starts_with(beginning), "{key}: {text}");
            assert!(matches!(&model.dialog, Dialog::Answer { text: shown, .. } if *shown == text));
        }
    }

    #[test]
    fn marked_transactions_get_one_text() {
        let mut model = dashboard(3);
        press(&mut model, &["*"], now());
        let text = copied(&mut model, &["c"]);
        assert!(text.contains("your 3 transfers") && text.matches("Transaction: 0x").count() == 3, "{text}");
        press(&mut model, &["Esc", "y"], now());
        assert!(matches!(&model.dialog, Dialog::CopyMenu(menu) if menu.count == 3));
        let ids = copied(&mut model, &["u"]);
        assert_eq!(ids.lines().count(), 3);
        assert_eq!(model.marks.count(), 3, "the marks stay for the next command");
        // In the detail, commands apply to the open transaction.
        press(&mut model, &["Enter"], now());
        assert!(!copied(&mut model, &["c"]).contains("3 transfers"));
    }

    #[test]
    fn too_many_marked_transactions_get_no_text() {
        let mut model = dashboard(101);
        assert_eq!(press(&mut model, &["*", "c"], now()), []);
        let notice = model.status_message.as_ref().map_or("", |notice| &notice.text);
        assert_eq!(notice, "101 transactions are marked; a text can have at most 100.");
    }
}
