//! The saved views of the list: five that every dashboard has, and up to four of the person's own, on the keys 1 to 9.
//!
//! This module knows the views' places and the filters of the five. The names and filters of the person's own are in
//! [`ViewState`](crate::tui::model::view_state::ViewState).

use crate::domain::filter::Filter;

/// A saved view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tab {
    /// Transactions with an active alert.
    Attention,
    /// Transactions in progress.
    Active,
    Refunds,
    /// Settled transactions.
    Done,
    /// All transactions.
    #[default]
    All,
    /// A view that the person saved.
    Own(OwnTab),
}

/// The place of a view that the person saved: the key that shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnTab {
    /// Key 6.
    Six,
    /// Key 7.
    Seven,
    /// Key 8.
    Eight,
    /// Key 9.
    Nine,
}

impl OwnTab {
    /// All places, in the order of their keys.
    pub const ALL: [Self; 4] = [Self::Six, Self::Seven, Self::Eight, Self::Nine];

    /// Returns the index in [`ALL`](Self::ALL).
    pub fn index(self) -> usize {
        self as usize
    }
}

impl Tab {
    /// The views that every dashboard has, in the order of their keys.
    pub const BUILT_IN: [Self; 5] = [Self::Attention, Self::Active, Self::Refunds, Self::Done, Self::All];

    /// Returns the number of the view's key, from 1 to 9.
    pub fn number(self) -> usize {
        match self {
            Self::Attention => 1,
            Self::Active => 2,
            Self::Refunds => 3,
            Self::Done => 4,
            Self::All => 5,
            Self::Own(own) => Self::BUILT_IN.len() + 1 + own.index(),
        }
    }

    /// Returns the view with this number.
    pub fn from_number(number: usize) -> Option<Self> {
        let all = Self::BUILT_IN.into_iter().chain(OwnTab::ALL.map(Self::Own));
        all.into_iter().find(|tab| tab.number() == number)
    }

    /// Returns the text of the view's filter. A view of the person's own has its filter in the view state.
    pub fn filter_text(self) -> &'static str {
        match self {
            Self::Attention => "is:attention",
            Self::Active => "is:active",
            Self::Refunds => "status:refund",
            Self::Done => "is:settled",
            Self::All | Self::Own(_) => "",
        }
    }

    /// Returns the filter of one of the views that every dashboard has.
    pub fn filter(self) -> Filter {
        // A test parses all of these texts.
        Filter::parse(self.filter_text()).unwrap_or_else(|_| Filter::everything())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_filter_is_valid_and_every_key_has_its_view() {
        for tab in Tab::BUILT_IN {
            assert!(Filter::parse(tab.filter_text()).is_ok(), "{tab:?}");
        }
        let numbers: Vec<_> = (0..11).filter(|number| Tab::from_number(*number).is_some()).collect();
        assert_eq!(numbers, (1..=9).collect::<Vec<_>>());
        assert!(numbers.iter().all(|number| Tab::from_number(*number).unwrap().number() == *number));
    }
}
