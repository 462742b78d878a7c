//! The view state that is saved between two starts: tab, filters, columns, pane, theme, and the filters that were used.
//!
//! Unreadable parts are dropped. The view state must never contain data of a transaction.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    domain::{filter::Filter, ids::RowId},
    tui::screens::list::{
        columns::ListColumns,
        tab::{OwnTab, Tab},
    },
};

/// The number of used filters that are saved.
const MAX_FILTERS: usize = 50;

/// The place of the detail next to the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pane {
    /// Beside the list if the terminal is wide enough; else the verdict only.
    #[default]
    Side,
    /// Below the list if the terminal is high enough; else the verdict only.
    Below,
    /// The verdict only, below the list.
    Brief,
}

impl Pane {
    /// All places, in the order of their key.
    pub const ALL: [Self; 3] = [Self::Side, Self::Below, Self::Brief];

    /// Returns the place in words.
    pub fn description(self) -> &'static str {
        match self {
            Self::Side => "Detail beside the list (from 108 columns).",
            Self::Below => "Detail below the list (from 24 rows).",
            Self::Brief => "Verdict below the list.",
        }
    }
}

/// The saved view state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewState {
    /// The number of the saved view, as on its key.
    pub view: usize,
    /// The filter of each saved view, in their order.
    pub filters: [String; 5],
    /// The columns of each saved view, in their order; empty for the default columns.
    pub columns: [String; 5],
    /// The views of the person's own, in the order of their keys.
    pub own: [Option<OwnView>; 4],
    /// The place of the detail.
    pub pane: Pane,
    /// The chosen theme, if there is one.
    pub theme: Option<ChosenTheme>,
    /// The used filters, the newest first.
    pub used: Vec<String>,
    /// Whether the tour of the demo was ended.
    pub tour_is_over: bool,
}

/// A view of the person's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnView {
    pub name: String,
    /// The filter of the view, which typing doesn't change.
    pub filter: String,
    /// The filter that was typed on top.
    pub typed: String,
    /// The columns; empty for the default columns.
    pub columns: String,
}

/// A theme that was chosen in the dashboard. It applies until the settings name another theme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenTheme {
    pub name: String,
    /// The theme of the settings at the time of the choice.
    pub instead_of: String,
}

impl ViewState {
    /// Parses a saved view state. Drops invalid parts.
    pub fn parse(text: &str) -> Self {
        let mut fields: serde_json::Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
        fields.retain(|name, value| Self::deserialize(json!({ name: value })).is_ok());
        let mut view_state = Self::deserialize(Value::Object(fields)).unwrap_or_default();
        // Only whether a filter is valid matters here, so any name may stand for `mine`.
        let is_good = |filter: &str| filter.len() <= 1_000 && Filter::parse_for_person(filter, Some("me")).is_ok();
        view_state.filters.iter_mut().filter(|filter| !is_good(filter)).for_each(String::clear);
        view_state.used.retain(|filter| is_good(filter));
        for own in &mut view_state.own {
            own.take_if(|view| view.name.is_empty() || !is_good(&view.filter));
            own.iter_mut().filter(|view| !is_good(&view.typed)).for_each(|view| view.typed.clear());
        }
        view_state.used.truncate(MAX_FILTERS);
        view_state
    }

    /// Returns the saved view.
    pub fn tab(&self) -> Tab {
        let tab = Tab::from_number(self.view).unwrap_or_default();
        match tab {
            Tab::Own(own) if self.own_view(own).is_none() => Tab::default(),
            tab => tab,
        }
    }

    /// Returns the title of a saved view, and a shorter title.
    pub fn titles(&self, tab: Tab) -> (&str, &str) {
        match tab {
            Tab::Attention => ("Attention", "Attn"),
            Tab::Active => ("Active", "Act"),
            Tab::Refunds => ("Refunds", "Ref"),
            Tab::Done => ("Done", "Done"),
            Tab::All => ("All", "All"),
            Tab::Own(own) => self.own_view(own).map_or(("", ""), |view| (view.name.as_str(), view.name.as_str())),
        }
    }

    /// Returns the filter that a saved view is made of.
    pub fn base_filter(&self, tab: Tab) -> &str {
        match tab {
            Tab::Own(own) => self.own_view(own).map_or("", |view| view.filter.as_str()),
            built_in => built_in.filter_text(),
        }
    }

    /// Returns the filter that was typed in a saved view.
    pub fn filter_of(&self, tab: Tab) -> &str {
        match tab {
            Tab::Own(own) => self.own_view(own).map_or("", |view| view.typed.as_str()),
            built_in => self.filters.get(built_in.number() - 1).map_or("", String::as_str),
        }
    }

    /// Returns the columns of a saved view.
    pub fn columns_of(&self, tab: Tab) -> ListColumns {
        let columns = match tab {
            Tab::Own(own) => self.own_view(own).map(|view| &view.columns),
            built_in => self.columns.get(built_in.number() - 1),
        };
        columns.and_then(|text| ListColumns::parse(text).ok()).unwrap_or_default()
    }

    /// Records the saved view on screen, with its filter and columns.
    pub fn save_tab(&mut self, tab: Tab, filter: &str, columns: &ListColumns) {
        self.view = tab.number();
        let columns = saved_columns(columns);
        let index = tab.number() - 1;
        let fields = match tab {
            Tab::Own(own) => {
                self.own.get_mut(own.index()).and_then(Option::as_mut).map(|view| (&mut view.typed, &mut view.columns))
            }
            _ => self.filters.get_mut(index).zip(self.columns.get_mut(index)),
        };
        if let Some((filter_field, columns_field)) = fields {
            (*filter_field, *columns_field) = (filter.to_owned(), columns);
        }
    }

    /// Returns the view of the person's own at a place.
    pub fn own_view(&self, own: OwnTab) -> Option<&OwnView> {
        self.own.get(own.index())?.as_ref()
    }

    /// Returns the views of the person's own, in the order of their keys.
    pub fn own_views(&self) -> impl Iterator<Item = (OwnTab, &OwnView)> {
        OwnTab::ALL.into_iter().filter_map(|own| Some((own, self.own_view(own)?)))
    }

    /// Returns the place of the view with this name, ignoring case.
    pub fn own_view_named(&self, name: &str) -> Option<OwnTab> {
        self.own_views().find(|(_, view)| view.name.to_lowercase() == name.to_lowercase()).map(|(own, _)| own)
    }

    /// Saves a view in the place of the view with this name, or else in the first free place. Returns a sentence if
    /// every place is taken.
    pub fn save_view(&mut self, name: &str, filter: String, columns: &ListColumns) -> Result<OwnTab, String> {
        let free = || OwnTab::ALL.into_iter().find(|own| self.own_view(*own).is_none());
        let Some(own) = self.own_view_named(name).or_else(free) else {
            let names: Vec<_> = self.own_views().map(|(_, view)| view.name.as_str()).collect();
            return Err(format!("The keys 6 to 9 are taken ({}): free one with :forget NAME.", names.join(", ")));
        };
        let columns = saved_columns(columns);
        let view = OwnView { name: name.to_owned(), filter, typed: String::new(), columns };
        self.own.get_mut(own.index()).map(|slot| slot.replace(view));
        Ok(own)
    }

    /// Removes a view of the person's own.
    pub fn forget_view(&mut self, own: OwnTab) {
        self.own.get_mut(own.index()).map(Option::take);
    }

    /// Records a used filter.
    pub fn record_filter(&mut self, filter: &str) {
        if filter.is_empty() {
            return;
        }
        self.used.retain(|used| used != filter);
        self.used.insert(0, filter.to_owned());
        self.used.truncate(MAX_FILTERS);
    }
}

/// Returns the columns as they are saved: empty for the default columns.
fn saved_columns(columns: &ListColumns) -> String {
    if *columns == ListColumns::default() { String::new() } else { columns.written() }
}

/// A temporary view: the whole list around a transaction that was searched for, or the matches of a pasted word. It
/// holds the view to return to.
///
/// A temporary view must end when a person chooses another view, and is never saved for the next start.
#[derive(Debug)]
pub struct TemporaryView {
    /// The transaction that was searched for; `None` for the matches of a filter.
    pub(crate) target: Option<RowId>,
    pub(crate) previous: ViewState,
    pub(crate) selected: Option<RowId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_parts_are_dropped() {
        let mut memory = ViewState { view: 2, ..ViewState::default() };
        memory.filters[1] = "is:overdue sort:age".into();
        (0..60).for_each(|number| memory.record_filter(&format!("ticket:{number}")));
        memory.record_filter("ticket:30");
        assert_eq!(
            (memory.used.len(), memory.used[0].as_str(), memory.used[1].as_str()),
            (50, "ticket:30", "ticket:59")
        );
        assert_eq!(ViewState::parse(&serde_json::to_string(&memory).unwrap()), memory);
        assert_eq!(ViewState::parse("nonsense"), ViewState::default());
        assert_eq!(ViewState::parse("").tab(), Tab::All);
        let odd = ViewState::parse(r#"{"view": 99, "filters": ["is:nonsense", "chain:base", "", "", ""], "more": 1}"#);
        let newer = ViewState::parse(r#"{"pane": "above", "used": ["chain:base"]}"#);
        assert_eq!((newer.pane, newer.used.len()), (Pane::Side, 1));
        assert_eq!((odd.tab(), odd.filters[0].as_str(), odd.filters[1].as_str()), (Tab::All, "", "chain:base"));
    }
}
