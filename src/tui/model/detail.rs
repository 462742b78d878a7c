//! The opened transaction: which of its tabs is shown, and where in each the person is.
//!
//! What is shown there stands elsewhere in the model; here is only the way to look at it.

use super::raw::Raw;
use crate::tui::command::Context;

/// A tab of the detail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DetailTab {
    /// Both ends, the status, what the service said of it.
    #[default]
    Summary,
    /// The entries of `routeStatus`.
    Steps,
    /// How long it takes, against the limit and the forecast.
    Timing,
    /// What happened, the newest first.
    History,
    /// The last body.
    Raw,
    /// What people wrote.
    Notes,
}

impl DetailTab {
    /// All of them, in their order.
    pub const ALL: [Self; 6] = [Self::Summary, Self::Steps, Self::Timing, Self::History, Self::Raw, Self::Notes];

    /// As it is shown.
    pub fn title(self) -> &'static str {
        match self {
            Self::Summary => "Summary",
            Self::Steps => "Steps",
            Self::Timing => "Timing",
            Self::History => "History",
            Self::Raw => "Raw",
            Self::Notes => "Notes",
        }
    }

    /// The tab beside it; behind the last comes the first.
    pub fn beside(self, forwards: bool) -> Self {
        let count = Self::ALL.len();
        let step = if forwards { 1 } else { count - 1 };
        let place = Self::ALL.iter().position(|tab| *tab == self).unwrap_or_default();
        Self::ALL.get((place + step) % count).copied().unwrap_or_default()
    }

    /// Where its keys apply: its own come before those of the detail.
    pub fn contexts(self) -> &'static [Context] {
        match self {
            Self::Summary | Self::Timing | Self::Notes => &[Context::Detail],
            Self::Steps => &[Context::Steps, Context::Detail],
            Self::History => &[Context::History, Context::Detail],
            Self::Raw => &[Context::Raw, Context::Detail],
        }
    }
}

/// How the person looks at the opened transaction.
#[derive(Debug, Default)]
pub struct Detail {
    /// The tab that is shown.
    pub tab: DetailTab,
    /// Of each tab how many lines are scrolled away; of the steps the one with the cursor.
    places: [usize; DetailTab::ALL.len()],
    /// Whether the history shows changes only.
    pub changes_only: bool,
    /// What the history's lines have to contain.
    pub filter: String,
    /// The last body.
    pub raw: Raw,
}

impl Detail {
    /// Forgets what belongs to the transaction that was open before; the way to look stays.
    pub fn on_another(&mut self) {
        self.places = Default::default();
        self.raw.forget();
    }

    /// Lines that are scrolled away in the tab that is shown, or where its cursor stands.
    pub fn place(&self) -> usize {
        match self.tab {
            DetailTab::Raw => self.raw.cursor(),
            tab => self.places.get(tab as usize).copied().unwrap_or_default(),
        }
    }

    /// Moves in the tab that is shown, no further than `end`.
    pub fn move_by(&mut self, lines: isize, end: usize) {
        match self.tab {
            DetailTab::Raw => self.raw.move_by(lines),
            tab => {
                if let Some(place) = self.places.get_mut(tab as usize) {
                    *place = place.saturating_add_signed(lines).min(end);
                }
            }
        }
    }

    /// What is looked for in the tab that is shown.
    pub fn wanted(&self) -> &str {
        match self.tab {
            DetailTab::History => &self.filter,
            DetailTab::Raw => self.raw.wanted(),
            _ => "",
        }
    }

    /// Looks for something else in the tab that is shown.
    pub fn want(&mut self, text: &str) {
        match self.tab {
            DetailTab::History => {
                text.clone_into(&mut self.filter);
                self.move_by(isize::MIN, 0);
            }
            DetailTab::Raw => self.raw.want(text),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_the_last_tab_comes_the_first() {
        let forth: Vec<_> = DetailTab::ALL.iter().map(|tab| tab.beside(true).beside(false)).collect();
        assert_eq!(forth, DetailTab::ALL);
        assert_eq!(DetailTab::Notes.beside(true), DetailTab::Summary);
    }

    #[test]
    fn each_tab_keeps_its_own_place_until_another_transaction_is_open() {
        let mut detail = Detail::default();
        detail.move_by(3, 10);
        detail.tab = DetailTab::Notes;
        detail.move_by(30, 10);
        assert_eq!(detail.place(), 10);
        detail.tab = DetailTab::Summary;
        assert_eq!(detail.place(), 3);
        detail.on_another();
        assert_eq!(detail.place(), 0);
    }
}
