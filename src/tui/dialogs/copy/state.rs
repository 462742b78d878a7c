//! The state of the menu: texts of a transaction to copy, or links to open. Empty texts are left out.
//!
//! The items are built when the menu opens. They must never change while a person chooses.

use chrono::{DateTime, FixedOffset, Utc};

use crate::domain::{
    advice,
    reply::{self, Audience, ReplyFormat, ReplyTemplates},
    route,
    transaction::Transaction,
};

/// The action on the chosen item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkAction {
    /// Copy the item to the clipboard.
    Copy,
    /// Open the item in the browser.
    Open,
}

/// A text or link in the menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyItem {
    /// The key that chooses the item.
    pub key: char,
    /// The name of the item.
    pub label: &'static str,
    /// The whole text or link.
    pub text: String,
    /// Whether the text is a link from the service.
    pub is_link: bool,
}

/// The name of the text for the customer.
const FOR_CUSTOMER: &str = "text for customer";

impl CopyItem {
    /// Whether the item has no text before a person chooses one of several customers.
    pub fn asks_for_customer(&self) -> bool {
        self.label == FOR_CUSTOMER && self.text.is_empty()
    }
}

/// The menu of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyMenu {
    /// The action on the chosen item.
    pub purpose: LinkAction,
    /// The number of transactions that the items are about.
    pub count: usize,
    /// All items.
    pub items: Vec<CopyItem>,
    /// The index of the item that Enter chooses.
    pub cursor: usize,
}

impl CopyMenu {
    /// Returns the menu of texts to copy. Values of several transactions have a line each. `zone` is the time zone of
    /// the texts. Transactions of several customers have no common text for the customer: its item is empty, and asks
    /// for the customer.
    pub fn texts(
        transactions: &[&Transaction],
        customers: usize,
        now: DateTime<Utc>,
        zone: FixedOffset,
        own: &ReplyTemplates,
    ) -> Self {
        let reply = |audience| reply::write_reply(transactions, audience, now, zone, own);
        let lines = |value: fn(&Transaction) -> String| {
            let values = transactions.iter().map(|tx| value(tx)).filter(|value| !value.is_empty());
            values.collect::<Vec<_>>().join("\n")
        };
        let text_item = |key, label, text| CopyItem { key, label, text, is_link: false };
        let mut items = vec![
            text_item('p', "packet for provider", reply(Audience::Provider)),
            text_item('c', FOR_CUSTOMER, if customers > 1 { String::new() } else { reply(Audience::Customer) }),
            text_item('a', "for team, Markdown", reply(Audience::Team(ReplyFormat::Markdown))),
            text_item('t', "for team, plain text", reply(Audience::Team(ReplyFormat::Text))),
            text_item('x', "source hash", lines(|tx| tx.params.transaction_id.to_string())),
            text_item('d', "destination hash", lines(destination_hash)),
            text_item('u', "quoteId", lines(|tx| tx.params.quote_id.clone())),
            text_item('r', "requestId", lines(|tx| tx.request_id().unwrap_or_default().to_owned())),
        ];
        let link_item = |key, label, text| CopyItem { is_link: transactions.len() == 1, ..text_item(key, label, text) };
        items.extend([
            link_item('s', SOURCE_LINK, lines(source_link)),
            link_item('e', DESTINATION_LINK, lines(destination_link)),
            link_item('b', BRIDGE_LINK, lines(bridge_link)),
        ]);
        items.retain(|item| !item.text.is_empty() || (item.asks_for_customer() && customers > 1));
        Self { purpose: LinkAction::Copy, count: transactions.len(), items, cursor: 0 }
    }

    /// Returns the menu of links to open.
    pub fn links(tx: &Transaction) -> Self {
        let known = links(tx).into_iter().filter(|(_, link)| !link.is_empty());
        let items = known.zip('1'..).map(|((label, text), key)| CopyItem { key, label, text, is_link: true }).collect();
        Self { purpose: LinkAction::Open, count: 1, items, cursor: 0 }
    }

    /// Returns the item that Enter chooses.
    pub fn chosen(&self) -> Option<&CopyItem> {
        self.items.get(self.cursor)
    }

    /// Moves the cursor by this many items, at most to the ends.
    pub fn move_by(&mut self, items: isize) {
        self.cursor = self.cursor.saturating_add_signed(items).min(self.items.len().saturating_sub(1));
    }
}

/// Returns the best link about a transaction: the source explorer, otherwise the bridge explorer, otherwise the
/// destination explorer.
pub(crate) fn best_link(tx: &Transaction) -> Option<String> {
    let [source, destination, bridge] = links(tx).map(|(_, link)| link);
    [source, bridge, destination].into_iter().find(|link| !link.is_empty())
}

const SOURCE_LINK: &str = "source explorer";
const DESTINATION_LINK: &str = "destination explorer";
const BRIDGE_LINK: &str = "bridge explorer";

/// Returns the links from the service, with an empty text for a missing link.
fn links(tx: &Transaction) -> [(&'static str, String); 3] {
    [(SOURCE_LINK, source_link(tx)), (DESTINATION_LINK, destination_link(tx)), (BRIDGE_LINK, bridge_link(tx))]
}

fn source_link(tx: &Transaction) -> String {
    route::ends(tx).source.url.unwrap_or_default().to_owned()
}

fn destination_link(tx: &Transaction) -> String {
    let ends = route::ends(tx);
    ends.destination.url.or(ends.hop.and_then(|hop| hop.url)).unwrap_or_default().to_owned()
}

fn bridge_link(tx: &Transaction) -> String {
    advice::bridge_link(tx).unwrap_or_default().to_owned()
}

fn destination_hash(tx: &Transaction) -> String {
    route::ends(tx).destination.transaction_id.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use chrono::Offset;

    use super::*;
    use crate::domain::{fixtures, observation::StatusOutcome, record::StatusRecord, status::RouterStatus};

    fn answered(change: impl FnOnce(&mut StatusRecord)) -> Transaction {
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        change(&mut record);
        let mut tx = fixtures::transaction(1);
        tx.apply(&fixtures::answer(StatusOutcome::Record(Box::new(record))), tx.first_seen_at);
        tx
    }

    fn texts(tx: &Transaction) -> CopyMenu {
        CopyMenu::texts(&[tx], 1, tx.first_seen_at, Utc.fix(), &ReplyTemplates::default())
    }

    #[test]
    fn empty_items_are_left_out() {
        let labels = |menu: &CopyMenu| menu.items.iter().map(|item| item.label).collect::<Vec<_>>();
        let bare = answered(|_| {});
        assert_eq!(
            labels(&texts(&bare)),
            [
                "packet for provider",
                "text for customer",
                "for team, Markdown",
                "for team, plain text",
                "source hash",
                "quoteId"
            ]
        );
        assert!(CopyMenu::links(&bare).items.is_empty() && best_link(&bare).is_none());
        let full = answered(|record| {
            record.from.url = Some("https://from.example/1".into());
            record.bridge_url = Some("https://bridge.example/1".into());
            record.request_id = Some("9c1e".into());
        });
        let menu = texts(&full);
        assert_eq!(labels(&menu)[6..], ["requestId", "source explorer", "bridge explorer"]);
        assert_eq!(
            menu.items.last().unwrap(),
            &CopyItem { key: 'b', label: "bridge explorer", text: "https://bridge.example/1".into(), is_link: true }
        );
    }

    #[test]
    fn values_of_several_transactions_have_a_line_each() {
        let (one, mut other) = (answered(|_| {}), answered(|_| {}));
        other.params.quote_id = "quote-2".into();
        let menu = CopyMenu::texts(&[&one, &other], 1, one.first_seen_at, Utc.fix(), &ReplyTemplates::default());
        let text = |key| menu.items.iter().find(|item| item.key == key).map_or("", |item| &item.text);
        assert_eq!((menu.count, text('u')), (2, "quote-1\nquote-2"));
        assert!(text('c').contains("your 2 transfers") && text('p').matches("fromChainId").count() == 2);
    }

    #[test]
    fn every_item_has_its_own_key() {
        let full = answered(|record| {
            record.from.url = Some("https://from.example/1".into());
            record.to.url = Some("https://to.example/1".into());
            record.bridge_url = Some("https://bridge.example/1".into());
            record.request_id = Some("9c1e".into());
        });
        let mut keys: Vec<char> = texts(&full).items.iter().map(|item| item.key).collect();
        keys.extend(['j', 'k', 'q']);
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn bridge_link_is_the_best_link_without_a_source_link() {
        let bridged = answered(|record| record.bridge_url = Some("https://bridge.example/1".into()));
        assert_eq!(best_link(&bridged).as_deref(), Some("https://bridge.example/1"));
        let both = answered(|record| {
            record.from.url = Some("https://from.example/1".into());
            record.bridge_url = Some("https://bridge.example/1".into());
        });
        assert_eq!(best_link(&both).as_deref(), Some("https://from.example/1"));
        assert_eq!(CopyMenu::links(&both).items.len(), 2);
    }
}
