//! Texts about transactions for the customer, the provider and the team: for the selected transaction, or one text for
//! all marked ones and for all of a folded group of alerts. A text for a customer must never be about transactions of
//! several customers.
//!
//! The sentences must come from `domain::reply`.

use crate::{
    clock::{MonotonicTime, Now},
    domain::{
        ids::{RowId, TxHash},
        reply::{self, Audience, ReplyFormat},
        reply_group::{Customer, ReplyGroup, reply_groups},
        text,
        transaction::Transaction,
    },
    tui::{
        dialogs::{
            Dialog,
            copy::state::CopyMenu,
            menu::state::{Menu, MenuChoice, MenuEntry},
        },
        effect::{Effect, TextUse},
        model::{Model, Screen},
        screens::list::update::marks,
        update::actions,
    },
};

/// The most transactions in one text. A clipboard, a ticket or a reader takes hardly more.
const MAX_TRANSACTIONS: usize = 100;

/// Shows and copies the text for a reader.
pub(crate) fn open(model: &mut Model, audience: Audience, now: Now) {
    load(model, TextUse::Show(audience), now)
}

/// Opens the menu of the three readers.
pub(crate) fn choose_audience(model: &mut Model, now: MonotonicTime) {
    if model.screen == Screen::List && !marks::end_range(model, now) {
        return;
    }
    let entry = |key, label, audience| MenuEntry::new(key, label, MenuChoice::ReplyFor(audience));
    let entries = vec![
        entry("c", "the customer: whole sentences", Audience::Customer),
        entry("p", "the provider's support: hash, chains, quoteId, requestId, links", Audience::Provider),
        entry("t", "the team: verdict, what to say, times, links", Audience::Team(ReplyFormat::Markdown)),
    ];
    let title = match transactions_to_read(model).len() {
        0 | 1 => "Show and copy a text for".to_owned(),
        count => format!("Show and copy one text about {} for", text::counted(count, "transaction")),
    };
    model.dialog = Dialog::Menu(Menu::new(title, "", entries));
}

/// Returns the transactions of a text that must be read first: the marked ones may be in another view, and those of
/// alerts aren't read again after a poll without changes.
fn transactions_to_read(model: &Model) -> Vec<RowId> {
    match model.screen {
        Screen::List => model.marks.rows(),
        Screen::Alerts => model.alert_list.target_transactions(),
        Screen::Detail | Screen::Stats | Screen::Log => Vec::new(),
    }
}

/// Uses the selected transaction at once, and reads the marked ones and those of alerts first.
pub(crate) fn load(model: &mut Model, wanted: TextUse, now: Now) {
    if model.screen == Screen::List && !marks::end_range(model, now.mono) {
        return;
    }
    let transactions = transactions_to_read(model);
    match transactions.len() {
        0 => match model.current_transaction().cloned() {
            None => actions::refuse(model, actions::OF_PROFILE, now.mono),
            Some(tx) => on_loaded(model, &[tx], wanted, now),
        },
        1..=MAX_TRANSACTIONS => model.effects.push(Effect::LoadForTexts(transactions, wanted)),
        count => {
            let text =
                format!("{count} transactions are chosen; a text can have at most {MAX_TRANSACTIONS}: choose fewer.");
            actions::refuse(model, text, now.mono)
        }
    }
}

/// Uses the transactions that were read. A dialog that was opened meanwhile stays open.
pub(crate) fn on_loaded(model: &mut Model, read: &[Transaction], wanted: TextUse, now: Now) {
    if read.is_empty() || !matches!(model.dialog, Dialog::None | Dialog::CopyMenu(_)) {
        return;
    }
    let (zone, own) = (model.setting.zone, &model.setting.templates);
    let transactions: Vec<&Transaction> = read.iter().collect();
    let groups = reply_groups(&transactions);
    model.dialog = match wanted {
        TextUse::Menu => Dialog::CopyMenu(CopyMenu::texts(&transactions, groups.len(), now.wall, zone, own)),
        TextUse::Show(Audience::Customer) if groups.len() > 1 => Dialog::Menu(customers(&groups)),
        TextUse::Show(audience) => {
            let text = reply::write_reply(&transactions, audience, now.wall, zone, own);
            model.copied = None;
            let title = title(&transactions, audience, &groups);
            let warning = if audience == Audience::Customer { warning(&groups) } else { String::new() };
            model.effects.push(Effect::Copy(text.clone()));
            Dialog::Reply { title, warning, text, scroll: 0 }
        }
    };
}

/// Returns the menu of the customers of the marked transactions: each gets a text of their own.
fn customers(groups: &[ReplyGroup]) -> Menu {
    let entry = |group: &ReplyGroup| {
        let label = format!("{}: {}", name(&group.of), text::counted(group.rows.len(), "transaction"));
        let doubt = if is_doubtful(group) { "; perhaps of several customers" } else { "" };
        let reply = Effect::LoadForTexts(group.rows.clone(), TextUse::Show(Audience::Customer));
        (format!("{label}{doubt}"), MenuChoice::Do(reply))
    };
    // Enter chooses the first.
    let (doubtful, certain): (Vec<_>, Vec<_>) = groups.iter().partition(|group| is_doubtful(group));
    let title = format!("These transactions belong to {} customers: reply to which?", groups.len());
    let remark = "Their tickets or senders differ. A customer must not read about the transfers of another, so each gets a text \
                  of their own.";
    Menu::numbered(title, remark, certain.into_iter().chain(doubtful).map(entry))
}

/// Returns the common customer of some transactions, in words.
fn name(of: &Customer) -> String {
    match of {
        Customer::Ticket(ticket) => format!("ticket {}", text::clean(ticket)),
        Customer::Sender(sender) => format!("no ticket, sender {}", TxHash::new(text::clean(sender)).short("…")),
        Customer::Unknown => "no ticket, sender not known".to_owned(),
    }
}

/// Returns the title of a text: its kind and its subject.
fn title(transactions: &[&Transaction], audience: Audience, groups: &[ReplyGroup]) -> String {
    let subject = match audience {
        Audience::Customer => "Reply to the customer",
        Audience::Provider => "Packet for the provider's support",
        Audience::Team(_) => "Text for the team",
    };
    let about = match (transactions, groups) {
        ([tx], _) => match &tx.params.ticket {
            Some(ticket) => format!("ticket {}", text::clean(ticket)),
            None => tx.params.transaction_id.short("…"),
        },
        (_, [group]) => format!("{}, {}", text::counted(transactions.len(), "transaction"), name(&group.of)),
        (_, groups) => format!("{}, {} customers", text::counted(transactions.len(), "transaction"), groups.len()),
    };
    format!("{subject}: {about}")
}

/// Returns the warning about a text for a customer: its transactions may belong to several customers.
fn warning(groups: &[ReplyGroup]) -> String {
    match groups {
        [group] if is_doubtful(group) => "Check that all of them belong to this customer.".to_owned(),
        _ => String::new(),
    }
}

/// Whether the transactions of a group may belong to several customers.
fn is_doubtful(group: &ReplyGroup) -> bool {
    group.of == Customer::Unknown && group.rows.len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::fixtures as tx,
        tui::fixtures::{TestDashboard, blank, change_store, everything, live_report, now, press},
    };

    fn dashboard(count: i64) -> TestDashboard {
        let mut model = blank((80, 24));
        let transactions = (1..=count).map(tx::transaction).collect();
        change_store(&mut model, everything(transactions, Vec::new()), Some(live_report(now().wall)), now());
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
            assert!(matches!(&model.dialog, Dialog::Reply { text: shown, .. } if *shown == text));
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
    fn marked_transactions_of_several_customers_get_a_text_for_each() {
        let mut model = blank((80, 24));
        let mut transactions: Vec<Transaction> = (1..=5).map(tx::transaction).collect();
        // The others have no customer that is known, so they come last.
        for (tx, ticket) in transactions.iter_mut().zip([None, Some("SUP-1"), Some("SUP-2"), Some("SUP-1"), None]) {
            tx.params.ticket = ticket.map(str::to_owned);
        }
        change_store(&mut model, everything(transactions, Vec::new()), Some(live_report(now().wall)), now());
        assert_eq!(press(&mut model, &["*", "c"], now()), []);
        let Dialog::Menu(menu) = &model.dialog else { panic!("{:?}", model.dialog) };
        assert_eq!(menu.title, "These transactions belong to 3 customers: reply to which?");
        assert_eq!(menu.entries.len(), 3);
        let last = &menu.entries[2].label;
        assert_eq!(last, "no ticket, sender not known: 2 transactions; perhaps of several customers");
        for (key, own, other, count) in [("1", "ticket SUP-1", "SUP-2", 2), ("2", "ticket SUP-2", "SUP-1", 1)] {
            let text = copied(&mut model, &["Esc", "c", key]);
            assert_eq!(text.matches("Transaction: 0x").count(), count, "{text}");
            let Dialog::Reply { title, warning, .. } = &model.dialog else { panic!("{:?}", model.dialog) };
            assert!(title.contains(own) && !title.contains(other) && warning.is_empty(), "{title} {warning}");
        }
        // The menu of texts has no text for all of them either.
        press(&mut model, &["Esc", "y", "c"], now());
        assert!(matches!(&model.dialog, Dialog::Menu(menu) if menu.entries.len() == 3), "{:?}", model.dialog);
        // The provider's support gets one packet for all.
        press(&mut model, &["Esc"], now());
        assert_eq!(copied(&mut model, &["C", "p"]).matches("transactionId").count(), 5);
    }

    #[test]
    fn text_about_transactions_without_ticket_and_sender_warns_to_check_the_customer() {
        let mut model = dashboard(3);
        copied(&mut model, &["*", "c"]);
        let warning = |model: &TestDashboard| match &model.dialog {
            Dialog::Reply { warning, .. } => warning.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(warning(&model), "Check that all of them belong to this customer.");
        press(&mut model, &["Esc", "Esc"], now());
        copied(&mut model, &["c"]);
        assert_eq!(warning(&model), "");
    }

    #[test]
    fn too_many_marked_transactions_get_no_text() {
        let mut model = dashboard(101);
        assert_eq!(press(&mut model, &["*", "c"], now()), []);
        let notice = model.status_message.as_ref().map_or("", |notice| &notice.text);
        assert_eq!(notice, "101 transactions are chosen; a text can have at most 100: choose fewer.");
    }
}
