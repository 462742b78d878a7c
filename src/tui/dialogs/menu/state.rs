//! The state of a menu: a title, a remark, and entries with a key, a label and a choice.
//!
//! A menu must not perform its choices: `update` does when the menu is closed.

use crate::{
    domain::{filter::SortBy, ids::RowId, reply::Audience},
    tui::{
        effect::{AlertTarget, Effect, SnoozeLength},
        screens::list::columns::ListColumn,
    },
};

/// The state of a menu.
#[derive(Debug)]
pub struct Menu {
    /// The question or the subject.
    pub title: String,
    /// A sentence for a person to read before they choose; empty if there is none.
    pub remark: String,
    /// The entries, from top to bottom.
    pub entries: Vec<MenuEntry>,
    /// The index of the entry that Enter chooses.
    pub cursor: usize,
}

/// An entry of a menu.
#[derive(Clone, Debug, PartialEq)]
pub struct MenuEntry {
    /// The key that chooses the entry, as `key_text` writes it; empty if the entry has none.
    pub key: &'static str,
    /// The text of the entry.
    pub label: String,
    /// The effect of the entry.
    pub choice: MenuChoice,
}

/// The effect of an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum MenuChoice {
    /// Snooze these alerts for this long.
    Snooze(Vec<AlertTarget>, SnoozeLength),
    /// Show and copy the text for this reader.
    ReplyFor(Audience),
    /// Poll these transactions now.
    PollNow(Vec<RowId>),
    /// Show or hide this column. The menu stays open.
    Column(ListColumn),
    /// Sort the list by this key; if the list is sorted by it already, reverse the order.
    Order(SortBy),
    /// Apply the theme with this name.
    Theme(&'static str),
    /// Go to this transaction.
    GoTo(RowId),
    /// Only this effect follows.
    Do(Effect),
    /// Only close the menu.
    Close,
}

impl Menu {
    /// Returns a menu with the cursor on the first entry.
    pub fn new(title: impl Into<String>, remark: impl Into<String>, entries: Vec<MenuEntry>) -> Self {
        Self { title: title.into(), remark: remark.into(), entries, cursor: 0 }
    }

    /// Returns a menu of labels and choices. The first eleven entries get the keys 1 to 9, 0 and -.
    pub fn numbered(
        title: impl Into<String>,
        remark: &str,
        entries: impl Iterator<Item = (String, MenuChoice)>,
    ) -> Self {
        const KEYS: [&str; 11] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0", "-"];
        let keys = KEYS.into_iter().chain(std::iter::repeat(""));
        let entries = keys.zip(entries).map(|(key, (label, choice))| MenuEntry { key, label, choice }).collect();
        Self::new(title, remark, entries)
    }

    /// Returns a menu that asks for a confirmation. The remark states the cost.
    pub fn confirm(title: impl Into<String>, remark: impl Into<String>, yes: (String, MenuChoice)) -> Self {
        let (label, choice) = yes;
        let entries = vec![MenuEntry::new("y", label, choice), MenuEntry::new("n", "no", MenuChoice::Close)];
        // Enter alone must not confirm.
        Self { cursor: 1, ..Self::new(title, remark, entries) }
    }

    /// Moves the cursor by this many entries, at most to the ends.
    pub fn move_by(&mut self, entries: isize) {
        let last = self.entries.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(entries).min(last);
    }

    /// Whether the menu stays open after a choice.
    pub fn stays_open(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.choice, MenuChoice::Column(_)))
    }

    /// Returns the choice at the cursor.
    pub fn chosen(&self) -> Option<&MenuChoice> {
        self.entries.get(self.cursor).map(|entry| &entry.choice)
    }

    /// Returns the choice of the entry with this key.
    pub fn with_key(&self, key: &str) -> Option<&MenuChoice> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.choice)
    }
}

impl MenuEntry {
    /// Returns an entry.
    pub fn new(key: &'static str, label: impl Into<String>, choice: MenuChoice) -> Self {
        Self { key, label: label.into(), choice }
    }
}
