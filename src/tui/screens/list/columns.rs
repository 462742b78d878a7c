//! The list's columns: all columns, the chosen columns and their order, and the columns that a narrow pane hides.
//!
//! This module must never know the content of a column: the view does.

/// The name, the title and the layout of a column.
#[derive(Debug)]
struct ColumnSpec {
    column: ListColumn,
    /// The name that is typed.
    name: &'static str,
    title: &'static str,
    /// The width in columns of the terminal.
    width: usize,
    /// The order of hiding: columns of a higher rank are hidden first.
    rank: u8,
    is_right: bool,
}

macro_rules! columns {
    ($($(#[$doc:meta])* $column:ident $name:literal $title:literal $width:literal $rank:literal $side:ident,)*) => {
        /// A column of the list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ListColumn { $($(#[$doc])* $column,)* }

        const SPECS: &[ColumnSpec] = &[$(ColumnSpec {
            column: ListColumn::$column,
            name: $name,
            title: $title,
            width: $width,
            rank: $rank,
            is_right: is_right!($side),
        },)*];

        impl ListColumn {
            /// All columns, in the default order.
            pub const ALL: &[Self] = &[$(Self::$column,)*];
        }
    };
}

macro_rules! is_right {
    (left) => {
        false
    };
    (right) => {
        true
    };
}

// For each column: its name, its title, its width in cells, its rank (a pane without room hides the greatest rank first), and
// the side to which it is aligned.
columns! {
    /// The mark of the most severe alert.
    Severity "sev" "SEV" 3 0 left,
    /// The router status.
    Status "status" "STATUS" 11 1 left,
    /// The hash.
    Hash "tx" "TX" 12 2 left,
    /// Source and destination chain.
    Route "route" "ROUTE" 11 4 left,
    /// The time since the submission.
    Age "age" "AGE" 4 6 right,
    /// The time until the deadline.
    Due "due" "DUE" 5 3 right,
    /// The profile, if several profiles are shown.
    Profile "profile" "PROFILE" 7 5 left,
    /// The ticket; without a ticket, the first label.
    Ticket "ticket" "TICKET" 9 7 left,
    /// The age of the last answer.
    Checked "checked" "CHECKED" 7 8 right,
    /// All labels.
    Labels "labels" "LABELS" 20 9 left,
    /// The time since the last change.
    Changed "changed" "CHANGED" 7 10 right,
    /// The quote ID.
    Quote "quote" "QUOTE ID" 16 11 left,
}

impl ListColumn {
    fn spec(self) -> Option<&'static ColumnSpec> {
        SPECS.iter().find(|spec| spec.column == self)
    }

    /// Returns the name that is typed.
    pub fn name(self) -> &'static str {
        self.spec().map_or("", |spec| spec.name)
    }

    /// Returns the title above the column.
    pub fn title(self) -> &'static str {
        self.spec().map_or("", |spec| spec.title)
    }

    /// Returns the width in columns of the terminal.
    pub fn width(self) -> usize {
        self.spec().map_or(0, |spec| spec.width)
    }

    /// Whether the column is aligned to the right.
    pub fn is_right(self) -> bool {
        self.spec().is_some_and(|spec| spec.is_right)
    }

    fn rank(self) -> u8 {
        self.spec().map_or(0, |spec| spec.rank)
    }
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
        let names = || ListColumn::ALL.iter().map(|column| column.name()).collect::<Vec<_>>().join(", ");
        let mut columns = Vec::new();
        for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
            let found = ListColumn::ALL.iter().find(|column| column.name() == word.to_lowercase());
            let column = found.ok_or_else(|| format!("No column `{word}`; choose from {}.", names()))?;
            if !columns.contains(column) {
                columns.push(*column);
            }
        }
        if columns.is_empty() { Err(format!("Give at least one column: {}.", names())) } else { Ok(Self(columns)) }
    }

    /// Returns the columns' names as `parse` reads them.
    pub fn written(&self) -> String {
        self.0.iter().map(|column| column.name()).collect::<Vec<_>>().join(",")
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
        let default_place = |wanted: ListColumn| ListColumn::ALL.iter().position(|own| *own == wanted);
        let place = self.0.iter().position(|own| default_place(*own) > default_place(column));
        self.0.insert(place.unwrap_or(self.0.len()), column);
    }

    /// Returns the columns that fit into a pane of this width, with a blank before the first and after each. The profile's column
    /// is only shown if there are `several` profiles.
    pub fn shown(&self, pane: u16, several: bool) -> Vec<ListColumn> {
        let mut shown = self.0.clone();
        shown.retain(|column| several || *column != ListColumn::Profile);
        let width = |columns: &[ListColumn]| 1 + columns.iter().map(|column| column.width() + 1).sum::<usize>();
        // The last blank may be cut.
        while width(&shown) > usize::from(pane) + 1 {
            let Some(least) = shown.iter().map(|column| column.rank()).max() else { break };
            shown.retain(|column| column.rank() < least);
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_ranks_of_their_own_and_room_for_their_titles() {
        let ranks: std::collections::HashSet<_> = ListColumn::ALL.iter().map(|column| column.rank()).collect();
        assert_eq!(ranks.len(), ListColumn::ALL.len());
        for column in ListColumn::ALL {
            assert!(column.title().chars().count() <= column.width(), "{column:?}");
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

    #[test]
    fn the_least_important_column_is_hidden_first() {
        let shown = |columns: &str, pane| {
            let shown = ListColumns::parse(columns).unwrap().shown(pane, false);
            shown.iter().map(|column| column.name()).collect::<Vec<_>>().join(",")
        };
        let all = ListColumns::default().written();
        assert_eq!(shown(&all, 80), "sev,status,tx,route,age,due,ticket,checked");
        assert_eq!(shown(&all, 62), "sev,status,tx,route,age,due,ticket");
        assert_eq!(shown(&all, 40), "sev,status,tx,due");
        let both = ListColumns::default().shown(70, true);
        assert!(both.contains(&ListColumn::Profile) && !both.contains(&ListColumn::Checked));
        assert_eq!(shown("quote,sev,labels", 40), "sev,labels");
        assert_eq!(shown("quote", 3), "", "no column fits");
        assert_eq!(shown(&all, 0), "");
    }
}
