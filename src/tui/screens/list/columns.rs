//! The list's columns: all columns, the chosen columns and their order, and the columns that a narrow pane hides.
//!
//! Columns grow with their content and shrink by importance. This module must never know the content of a column, only
//! its width.

use crate::{
    domain::{filter::SortBy, transaction::Transaction},
    presentation::{glyphs::Glyphs, row_text, width::display_width},
};

/// The name, the title and the layout of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnSpec {
    /// The name that is typed.
    pub(crate) name: &'static str,
    /// The title above the column.
    pub(crate) title: &'static str,
    /// The least and the most columns of the terminal.
    width: [usize; 2],
    /// The order of hiding: columns of a higher rank are hidden first.
    rank: u8,
    /// Whether the column is aligned to the right.
    pub(crate) is_right: bool,
    /// The order that a click on the title chooses.
    pub(crate) sort: Option<SortBy>,
}

macro_rules! columns {
    ($($(#[$doc:meta])* $column:ident $name:literal $title:literal $least:literal $most:literal $rank:literal $is_right:literal $sort:expr,)*) => {
        /// A column of the list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ListColumn { $($(#[$doc])* $column,)* }

        impl ListColumn {
            /// All columns, in the default order.
            pub const ALL: &[Self] = &[$(Self::$column,)*];

            /// Returns the name, the title and the layout of the column.
            pub(crate) fn spec(self) -> ColumnSpec {
                match self {
                    $(Self::$column => ColumnSpec {
                        name: $name,
                        title: $title,
                        width: [$least, $most],
                        rank: $rank,
                        is_right: $is_right,
                        sort: $sort,
                    },)*
                }
            }
        }
    };
}

// The columns, with the fields of [`ColumnSpec`]. A pane without room hides the greatest rank first.
columns! {
    /// The mark of the most severe alert.
    Severity "sev" "SEV" 3 3 0 false Some(SortBy::Severity),
    /// The router status.
    Status "status" "STATUS" 11 11 1 false Some(SortBy::Status),
    /// The hash.
    Hash "tx" "TRANSACTION" 12 66 2 false Some(SortBy::Hash),
    /// Source and destination chain.
    Route "route" "ROUTE" 11 28 4 false Some(SortBy::Route),
    /// The progress between submission, median, nine in ten and deadline.
    Progress "progress" "PROGRESS" 12 16 5 false None,
    /// The time since the submission.
    Age "age" "AGE" 4 4 9 true Some(SortBy::Age),
    /// The time until the deadline.
    Due "due" "DUE" 5 5 3 true Some(SortBy::Due),
    /// The profile, if several profiles are shown.
    Profile "profile" "PROFILE" 7 16 6 false None,
    /// The ticket; without a ticket, the first label as `#label`.
    Ticket "ticket" "TICKET" 9 24 7 false Some(SortBy::Ticket),
    /// The age of the last answer.
    Checked "checked" "CHECKED" 7 7 8 true Some(SortBy::Checked),
    /// All labels.
    Labels "labels" "LABELS" 10 30 10 false None,
    /// The newest note.
    Notes "notes" "NOTE" 16 48 11 false None,
    /// The time since the last change.
    Changed "changed" "CHANGED" 7 7 12 true Some(SortBy::Changed),
    /// The quote ID.
    Quote "quote" "QUOTE ID" 16 36 13 false None,
}

/// The widths of the longest contents, in the order of [`ListColumn::ALL`]; 0 for a column whose least width is always
/// enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContentWidths([usize; ListColumn::ALL.len()]);

impl ContentWidths {
    /// Returns the widths that these transactions need.
    pub(crate) fn of<'a>(transactions: impl Iterator<Item = &'a Transaction>) -> Self {
        let mut widths = Self::default();
        for tx in transactions {
            for (width, column) in widths.0.iter_mut().zip(ListColumn::ALL) {
                *width = (*width).max(content_width(*column, tx));
            }
        }
        widths
    }

    /// Returns the width that a column needs.
    fn needed(&self, column: ListColumn) -> usize {
        match column {
            ListColumn::Progress => usize::MAX,
            column => self.0.get(column as usize).copied().unwrap_or_default(),
        }
    }
}

/// Returns the width of a transaction's content in a column that grows; 0 for any other column.
fn content_width(column: ListColumn, tx: &Transaction) -> usize {
    match column {
        ListColumn::Hash => tx.params.transaction_id.as_str().len(),
        ListColumn::Route => display_width(&row_text::full_route(tx, Glyphs::Unicode)),
        ListColumn::Profile => display_width(&tx.profile),
        ListColumn::Ticket => row_text::ticket_or_label_cell(tx).map_or(0, |shown| display_width(&shown)),
        ListColumn::Labels => tx.labels.iter().map(|label| display_width(label) + 1).sum(),
        ListColumn::Notes => tx.notes.last().map_or(0, |note| display_width(note)),
        ListColumn::Quote => tx.params.quote_id.len(),
        ListColumn::Severity | ListColumn::Status | ListColumn::Progress | ListColumn::Age => 0,
        ListColumn::Due | ListColumn::Checked | ListColumn::Changed => 0,
    }
}

/// A column of the list as it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShownColumn {
    pub(crate) column: ListColumn,
    /// The width in columns of the terminal.
    pub(crate) width: usize,
    /// Whether the widest content fits.
    pub(crate) is_whole: bool,
}

/// The chosen columns, in order; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListColumns(Vec<ListColumn>);

impl Default for ListColumns {
    fn default() -> Self {
        Self(ListColumn::ALL.iter().copied().filter(|column| *column != ListColumn::Quote).collect())
    }
}

impl ListColumns {
    /// Parses names such as `sev,tx,age`. Returns an error for an unknown name, or if there is no name.
    pub fn parse(text: &str) -> Result<Self, String> {
        let names = || ListColumn::ALL.iter().map(|column| column.spec().name).collect::<Vec<_>>().join(", ");
        let mut columns = Vec::new();
        for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
            let found = ListColumn::ALL.iter().find(|column| column.spec().name == word.to_lowercase());
            let column = found.ok_or_else(|| format!("No column `{word}`; choose from {}.", names()))?;
            if !columns.contains(column) {
                columns.push(*column);
            }
        }
        if columns.is_empty() { Err(format!("Give at least one column: {}.", names())) } else { Ok(Self(columns)) }
    }

    /// Returns the columns' names as `parse` reads them.
    pub fn written(&self) -> String {
        self.0.iter().map(|column| column.spec().name).collect::<Vec<_>>().join(",")
    }

    /// Whether a column is chosen.
    pub fn contains(&self, column: ListColumn) -> bool {
        self.0.contains(&column)
    }

    /// Adds a column at its default place, or removes it. The last column is never removed.
    pub fn toggle(&mut self, column: ListColumn) {
        if self.contains(column) {
            if self.0.len() > 1 {
                self.0.retain(|own| *own != column);
            }
            return;
        }
        let position = self.0.iter().position(|own| *own as usize > column as usize);
        self.0.insert(position.unwrap_or(self.0.len()), column);
    }

    /// Returns the columns that fit into a pane of this width, with a blank before the first and after each. The
    /// profile's column is only shown for several profiles, labels and notes only if there are any. The remaining width
    /// goes to the columns that need more, the most important first, the hash last.
    pub(crate) fn shown(&self, pane: u16, has_several_profiles: bool, content: &ContentWidths) -> Vec<ShownColumn> {
        let is_empty = |column: &ListColumn| {
            matches!(column, ListColumn::Labels | ListColumn::Notes) && content.needed(*column) == 0
        };
        let shown = self.0.iter().filter(|column| has_several_profiles || **column != ListColumn::Profile);
        let mut shown: Vec<ShownColumn> = shown
            .filter(|column| !is_empty(column))
            .map(|column| ShownColumn { column: *column, width: column.spec().width[0], is_whole: true })
            .collect();
        // The last blank may be cut.
        let room = usize::from(pane) + 1;
        let used = |columns: &[ShownColumn]| 1 + columns.iter().map(|shown| shown.width + 1).sum::<usize>();
        // Full names of chains are worth more than labels and notes.
        let [least, most] = ListColumn::Route.spec().width;
        let full_route = content.needed(ListColumn::Route).min(most).saturating_sub(least);
        let wanted = |columns: &[ShownColumn]| {
            let has_route = columns.iter().any(|shown| shown.column == ListColumn::Route);
            let has_optional = columns.iter().any(|shown| shown.column.spec().rank >= ListColumn::Labels.spec().rank);
            used(columns) + if has_route && has_optional { full_route } else { 0 }
        };
        while wanted(&shown) > room {
            let Some(last_rank) = shown.iter().map(|shown| shown.column.spec().rank).max() else { break };
            shown.retain(|shown| shown.column.spec().rank < last_rank);
        }
        let mut free = room.saturating_sub(used(&shown));
        let mut growing: Vec<&mut ShownColumn> = shown.iter_mut().collect();
        growing.sort_by_key(|shown| (shown.column == ListColumn::Hash, shown.column.spec().rank));
        for shown in growing {
            let [least, most] = shown.column.spec().width;
            let missing = content.needed(shown.column).min(most).saturating_sub(least);
            // Full names of some chains beside short names of others would be confusing.
            shown.is_whole = missing <= free;
            let more = if shown.column == ListColumn::Route && !shown.is_whole { 0 } else { missing.min(free) };
            (shown.width, free) = (shown.width + more, free - more);
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn columns_have_names_and_ranks_of_their_own_and_room_for_their_titles() {
        let ranks: HashSet<_> = ListColumn::ALL.iter().map(|column| column.spec().rank).collect();
        let names: HashSet<_> = ListColumn::ALL.iter().map(|column| column.spec().name).collect();
        assert_eq!((ranks.len(), names.len()), (ListColumn::ALL.len(), ListColumn::ALL.len()));
        for column in ListColumn::ALL {
            assert!(column.spec().width.is_sorted(), "{column:?}");
            assert!(column.spec().title.chars().count() < column.spec().width[0] + 1, "{column:?}");
        }
    }

    #[test]
    fn written_columns_are_parsed_again() {
        for text in ["sev,tx,age", "age", "quote,sev"] {
            assert_eq!(ListColumns::parse(text).unwrap().written(), text);
        }
        assert_eq!(ListColumns::parse(&ListColumns::default().written()), Ok(ListColumns::default()));
        assert_eq!(ListColumns::parse("TX, age tx").unwrap().written(), "tx,age");
        assert!(ListColumns::parse("tx,wat").unwrap_err().starts_with("No column `wat`; choose from sev, status"));
        assert!(ListColumns::parse(" ,").is_err());
    }

    #[test]
    fn a_column_returns_to_its_place_and_the_last_column_stays() {
        let mut columns = ListColumns::default();
        columns.toggle(ListColumn::Hash);
        assert!(!columns.contains(ListColumn::Hash));
        columns.toggle(ListColumn::Hash);
        assert_eq!(columns, ListColumns::default());
        let mut one = ListColumns::parse("age").unwrap();
        one.toggle(ListColumn::Age);
        assert_eq!(one.written(), "age");
    }

    fn content(widths: &[(ListColumn, usize)]) -> ContentWidths {
        let mut content = ContentWidths::default();
        widths.iter().for_each(|(column, width)| content.0[*column as usize] = *width);
        content
    }

    #[test]
    fn the_least_important_column_is_hidden_first() {
        let content = content(&[(ListColumn::Labels, 5)]);
        let shown = |columns: &str, pane| {
            let shown = ListColumns::parse(columns).unwrap().shown(pane, false, &content);
            shown.iter().map(|shown| shown.column.spec().name).collect::<Vec<_>>().join(",")
        };
        let all = ListColumns::default().written();
        assert_eq!(shown(&all, 84), "sev,status,tx,route,progress,age,due,ticket,checked");
        assert_eq!(shown(&all, 80), "sev,status,tx,route,progress,due,ticket,checked");
        assert_eq!(shown(&all, 62), "sev,status,tx,route,progress,due");
        assert_eq!(shown(&all, 40), "sev,status,tx,due");
        let both = ListColumns::default().shown(70, true, &content);
        let has = |column| both.iter().any(|shown| shown.column == column);
        assert!(has(ListColumn::Profile) && !has(ListColumn::Checked));
        assert_eq!(shown("quote,sev,labels", 40), "quote,sev,labels");
        assert_eq!(shown("quote,sev,labels", 30), "sev,labels");
        assert_eq!(shown("quote", 3), "", "no column fits");
        assert_eq!(shown(&all, 0), "");
    }

    #[test]
    fn columns_grow_with_their_content_and_no_column_vanishes_at_a_wider_pane() {
        let content = content(&[
            (ListColumn::Hash, 66),
            (ListColumn::Route, 20),
            (ListColumn::Ticket, 12),
            (ListColumn::Labels, 18),
            (ListColumn::Notes, 40),
        ]);
        let shown = |pane| ListColumns::default().shown(pane, false, &content);
        let width = |pane, column| shown(pane).iter().find(|shown| shown.column == column).map(|shown| shown.width);
        assert_eq!([62, 80, 120].map(|pane| width(pane, ListColumn::Route)), [Some(11), Some(11), Some(20)]);
        assert_eq!([62, 66].map(|pane| width(pane, ListColumn::Progress)), [Some(14), Some(16)]);
        assert_eq!([200, 250].map(|pane| width(pane, ListColumn::Hash)), [Some(45), Some(66)]);
        for pane in 0..300 {
            let columns = |pane| shown(pane).into_iter().map(|shown| shown.column).collect::<Vec<_>>();
            let wider = columns(pane + 1);
            assert!(columns(pane).iter().all(|column| wider.contains(column)), "{pane}");
            let used = 1 + shown(pane).iter().map(|shown| shown.width + 1).sum::<usize>();
            assert!(used <= usize::from(pane) + 1 || shown(pane).is_empty(), "{pane}");
        }
    }
}
