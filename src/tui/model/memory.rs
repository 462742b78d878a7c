//! What the dashboard remembers from one start to the next: the saved view, what each of them filters, and the filters that
//! were used.
//!
//! It is a convenience: what can't be read is forgotten, and it must never hold anything of a transaction.

use serde::{Deserialize, Serialize};

use super::{columns::Columns, list::Tab};
use crate::domain::filter::Filter;

/// So many filters are remembered.
const FILTERS: usize = 50;

/// Where the detail stands beside the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pane {
    /// To the side, where the terminal is wide enough; else in brief.
    #[default]
    Side,
    /// Below, where it is high enough; else in brief.
    Below,
    /// In brief: the verdict alone, below.
    Brief,
}

impl Pane {
    /// The next one.
    pub fn next(self) -> Self {
        match self {
            Self::Side => Self::Below,
            Self::Below => Self::Brief,
            Self::Brief => Self::Side,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Side => "Detail beside the list (from 100 columns).",
            Self::Below => "Detail below the list (from 24 rows).",
            Self::Brief => "Verdict below the list.",
        }
    }
}

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// The number of the saved view, as its key has it.
    pub view: usize,
    /// What each saved view filters, in their order.
    pub filters: [String; 5],
    /// The columns of each saved view, in their order; empty for the usual ones.
    pub columns: [String; 5],
    /// Where the list's detail stands.
    #[serde(deserialize_with = "if_known")]
    pub pane: Pane,
    /// The theme that was chosen, if one was.
    pub theme: Option<ChosenTheme>,
    /// The filters that were used, the newest first.
    pub used: Vec<String>,
}

/// A theme that was chosen in the dashboard. It counts until the settings name another one than they did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenTheme {
    /// Its name.
    pub name: String,
    /// What the settings named then.
    pub instead_of: String,
}

/// A word of a newer version costs nothing but itself.
fn if_known<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Pane, D::Error> {
    Ok(Pane::deserialize(serde_json::Value::deserialize(from)?).unwrap_or_default())
}

impl Memory {
    /// From what was written; nothing of it that isn't understood any more.
    pub fn read(text: &str) -> Self {
        let mut memory: Self = serde_json::from_str(text).unwrap_or_default();
        let is_good = |filter: &str| filter.len() <= 1_000 && Filter::parse(filter).is_ok();
        memory.filters.iter_mut().filter(|filter| !is_good(filter)).for_each(String::clear);
        memory.used.retain(|filter| is_good(filter));
        memory.used.truncate(FILTERS);
        memory
    }

    /// As it is written.
    pub fn written(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The saved view.
    pub fn tab(&self) -> Tab {
        let index = self.view.checked_sub(1);
        index.and_then(|index| Tab::ALL.get(index)).copied().unwrap_or_default()
    }

    /// What a saved view filters.
    pub fn filter_of(&self, tab: Tab) -> &str {
        self.filters.get(place(tab)).map_or("", String::as_str)
    }

    /// The columns of a saved view.
    pub fn columns_of(&self, tab: Tab) -> Columns {
        self.columns.get(place(tab)).and_then(|text| Columns::parse(text).ok()).unwrap_or_default()
    }

    /// Notes which saved view is shown, with which filter and which columns.
    pub fn leave(&mut self, tab: Tab, filter: &str, columns: &Columns) {
        self.view = place(tab) + 1;
        if let Some(left) = self.columns.get_mut(place(tab)) {
            *left = if *columns == Columns::default() { String::new() } else { columns.written() };
        }
        if let Some(left) = self.filters.get_mut(place(tab)) {
            filter.clone_into(left);
        }
    }

    /// Notes that a filter was used.
    pub fn use_filter(&mut self, filter: &str) {
        if filter.is_empty() {
            return;
        }
        self.used.retain(|used| used != filter);
        self.used.insert(0, filter.to_owned());
        self.used.truncate(FILTERS);
    }
}

fn place(tab: Tab) -> usize {
    Tab::ALL.iter().position(|own| *own == tab).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_is_forgotten() {
        let mut memory = Memory { view: 2, ..Memory::default() };
        memory.filters[1] = "is:overdue sort:age".into();
        (0..60).for_each(|number| memory.use_filter(&format!("ticket:{number}")));
        memory.use_filter("ticket:30");
        assert_eq!(
            (memory.used.len(), memory.used[0].as_str(), memory.used[1].as_str()),
            (50, "ticket:30", "ticket:59")
        );
        assert_eq!(Memory::read(&memory.written()), memory);
        assert_eq!(Memory::read("nonsense"), Memory::default());
        assert_eq!(Memory::read("").tab(), Tab::All);
        let odd = Memory::read(r#"{"view": 99, "filters": ["is:nonsense", "chain:base", "", "", ""], "more": 1}"#);
        let newer = Memory::read(r#"{"pane": "above", "used": ["chain:base"]}"#);
        assert_eq!((newer.pane, newer.used.len()), (Pane::Side, 1));
        assert_eq!((odd.tab(), odd.filters[0].as_str(), odd.filters[1].as_str()), (Tab::All, "", "chain:base"));
    }
}
