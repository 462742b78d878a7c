//! A menu: a few entries under a title, each with a key, a word on it and what it stands for.
//!
//! It knows nothing of what its choices do; `update` carries them out when the menu is gone.

use super::columns::Column;
use crate::{
    domain::{filter::SortBy, ids::RowId},
    tui::{command::Id, effect::Work},
};

/// The menu's state.
#[derive(Debug)]
pub struct Menu {
    /// What is to be chosen.
    pub title: String,
    /// What a person should know before they choose; empty if there is nothing.
    pub remark: String,
    /// What there is to choose from.
    pub entries: Vec<Entry>,
    /// The entry that Enter chooses.
    pub cursor: usize,
}

/// An entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key that chooses it, as `keymap` writes it.
    pub key: &'static str,
    /// What it does.
    pub label: String,
    /// What it stands for.
    pub choice: Choice,
}

/// What an entry stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// A command of the table.
    Command(Id),
    /// Something to be written.
    Work(Work),
    /// Poll these now.
    PollNow(Vec<RowId>),
    /// Show this column, or hide it; the menu stays.
    Column(Column),
    /// Put the list in this order, or turn that round.
    Order(SortBy),
    /// Wear the theme of this name.
    Theme(&'static str),
    /// Poll nothing for so many minutes.
    Pause(i64),
    /// Nothing: the menu closes.
    Leave,
}

impl Menu {
    /// A menu with the cursor on its first entry.
    pub fn new(title: impl Into<String>, remark: impl Into<String>, entries: Vec<Entry>) -> Self {
        Self { title: title.into(), remark: remark.into(), entries, cursor: 0 }
    }

    /// A menu of entries that have no keys of their own: what stands on each, and what it stands for. The first eleven get some.
    pub fn numbered(title: impl Into<String>, remark: &str, entries: impl Iterator<Item = (String, Choice)>) -> Self {
        const KEYS: [&str; 11] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0", "-"];
        let keys = KEYS.into_iter().chain(std::iter::repeat(""));
        let entries = keys.zip(entries).map(|(key, (label, choice))| Entry { key, label, choice }).collect();
        Self::new(title, remark, entries)
    }

    /// Asks whether something is really to be done, which costs what the remark says.
    pub fn confirm(title: impl Into<String>, remark: impl Into<String>, yes: (String, Choice)) -> Self {
        let (label, choice) = yes;
        let entries = vec![Entry::new("y", label, choice), Entry::new("n", "no", Choice::Leave)];
        Self::new(title, remark, entries)
    }

    /// Moves the cursor by so many entries, and stops at the ends.
    pub fn move_by(&mut self, entries: isize) {
        let last = self.entries.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(entries).min(last);
    }

    /// Whether it stays when something was chosen.
    pub fn stays(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.choice, Choice::Column(_)))
    }

    /// What the entry under the cursor stands for.
    pub fn chosen(&self) -> Option<&Choice> {
        self.entries.get(self.cursor).map(|entry| &entry.choice)
    }

    /// What the entry with this key stands for.
    pub fn with_key(&self, key: &str) -> Option<&Choice> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.choice)
    }
}

impl Entry {
    /// An entry.
    pub fn new(key: &'static str, label: impl Into<String>, choice: Choice) -> Self {
        Self { key, label: label.into(), choice }
    }
}
