//! The list's columns: which there are, which a person wants and in what order, and which of these give way.
//!
//! It must never know what a column holds of a transaction: that is the view's.

/// What a column shows, and how.
#[derive(Debug)]
struct Traits {
    column: Column,
    /// As it is typed.
    name: &'static str,
    title: &'static str,
    /// In columns of the terminal.
    width: usize,
    /// The higher, the sooner it gives way.
    rank: u8,
    is_right: bool,
}

macro_rules! columns {
    ($($(#[$doc:meta])* $column:ident $name:literal $title:literal $width:literal $rank:literal $side:ident,)*) => {
        /// A column of the list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Column { $($(#[$doc])* $column,)* }

        const TRAITS: &[Traits] = &[$(Traits {
            column: Column::$column,
            name: $name,
            title: $title,
            width: $width,
            rank: $rank,
            is_right: is_right!($side),
        },)*];

        impl Column {
            /// All of them, in the order in which they stand unless a person wants another.
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

columns! {
    /// The mark of the gravest alert.
    Severity "sev" "SEV" 3 0 left,
    /// The router status.
    Status "status" "STATUS" 11 1 left,
    /// The hash.
    Hash "tx" "TX" 12 2 left,
    /// From where to where.
    Route "route" "ROUTE" 11 4 left,
    /// How long ago it was submitted.
    Age "age" "AGE" 4 6 right,
    /// How long until the deadline.
    Due "due" "DUE" 5 3 right,
    /// Of several profiles that are shown, whose it is.
    Profile "profile" "PROFILE" 7 5 left,
    /// The ticket, or else the first label.
    Ticket "ticket" "TICKET" 9 7 left,
    /// How old the last answer is.
    Checked "checked" "CHECKED" 7 8 right,
    /// All labels.
    Labels "labels" "LABELS" 20 9 left,
    /// How long ago there was news.
    Changed "changed" "CHANGED" 7 10 right,
    /// The quote ID.
    Quote "quote" "QUOTE ID" 16 11 left,
}

impl Column {
    fn traits(self) -> Option<&'static Traits> {
        TRAITS.iter().find(|traits| traits.column == self)
    }

    /// As it is typed.
    pub fn name(self) -> &'static str {
        self.traits().map_or("", |traits| traits.name)
    }

    /// What stands above it.
    pub fn title(self) -> &'static str {
        self.traits().map_or("", |traits| traits.title)
    }

    /// How wide it is, in columns of the terminal.
    pub fn width(self) -> usize {
        self.traits().map_or(0, |traits| traits.width)
    }

    /// Whether it ends in line rather than begins.
    pub fn is_right(self) -> bool {
        self.traits().is_some_and(|traits| traits.is_right)
    }

    fn rank(self) -> u8 {
        self.traits().map_or(0, |traits| traits.rank)
    }
}

/// Columns that a person wants, in order; never none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<Column>);

impl Default for Columns {
    fn default() -> Self {
        Self(Column::ALL.iter().copied().filter(|column| *column != Column::Quote).collect())
    }
}

impl Columns {
    /// Reads `sev,tx,age`. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let names = || Column::ALL.iter().map(|column| column.name()).collect::<Vec<_>>().join(", ");
        let mut columns = Vec::new();
        for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
            let found = Column::ALL.iter().find(|column| column.name() == word.to_lowercase());
            let column = found.ok_or_else(|| format!("No column `{word}`; known are {}.", names()))?;
            if !columns.contains(column) {
                columns.push(*column);
            }
        }
        if columns.is_empty() { Err(format!("Name at least one of {}.", names())) } else { Ok(Self(columns)) }
    }

    /// As `parse` reads it.
    pub fn written(&self) -> String {
        self.0.iter().map(|column| column.name()).collect::<Vec<_>>().join(",")
    }

    /// Whether a column is wanted.
    pub fn contains(&self, column: Column) -> bool {
        self.0.contains(&column)
    }

    /// Wants a column that wasn't, where it stands by default; or no more one that was, unless it is the last.
    pub fn toggle(&mut self, column: Column) {
        if self.contains(column) {
            if self.0.len() > 1 {
                self.0.retain(|own| *own != column);
            }
            return;
        }
        let standing = |wanted: Column| Column::ALL.iter().position(|own| *own == wanted);
        let place = self.0.iter().position(|own| standing(*own) > standing(column));
        self.0.insert(place.unwrap_or(self.0.len()), column);
    }

    /// Those that have room in a pane so wide, a blank before the first and behind each. Whose a transaction is stands there only
    /// if there are `several` profiles.
    pub fn shown(&self, pane: u16, several: bool) -> Vec<Column> {
        let mut shown = self.0.clone();
        shown.retain(|column| several || *column != Column::Profile);
        let width = |columns: &[Column]| 1 + columns.iter().map(|column| column.width() + 1).sum::<usize>();
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
    fn what_is_written_is_read_again() {
        for text in ["sev,tx,age", "age", "quote,sev"] {
            assert_eq!(Columns::parse(text).unwrap().written(), text);
        }
        assert_eq!(Columns::parse(&Columns::default().written()), Ok(Columns::default()));
        assert_eq!(Columns::parse("TX, age tx").unwrap().written(), "tx,age");
        assert!(Columns::parse("tx,wat").unwrap_err().starts_with("No column `wat`; known are sev, status"));
        assert!(Columns::parse(" ,").is_err());
    }

    #[test]
    fn a_column_comes_back_where_it_stood_and_the_last_one_stays() {
        let mut columns = Columns::default();
        columns.toggle(Column::Hash);
        assert!(!columns.contains(Column::Hash));
        columns.toggle(Column::Hash);
        assert_eq!(columns, Columns::default());
        let mut one = Columns::parse("age").unwrap();
        one.toggle(Column::Age);
        assert_eq!(one.written(), "age");
    }

    #[test]
    fn the_least_important_gives_way_first() {
        let shown = |columns: &str, pane| {
            let shown = Columns::parse(columns).unwrap().shown(pane, false);
            shown.iter().map(|column| column.name()).collect::<Vec<_>>().join(",")
        };
        let all = Columns::default().written();
        assert_eq!(shown(&all, 80), "sev,status,tx,route,age,due,ticket,checked");
        assert_eq!(shown(&all, 62), "sev,status,tx,route,age,due,ticket");
        assert_eq!(shown(&all, 40), "sev,status,tx,due");
        let both = Columns::default().shown(70, true);
        assert!(both.contains(&Column::Profile) && !both.contains(&Column::Checked));
        assert_eq!(shown("quote,sev,labels", 40), "sev,labels");
        assert_eq!(shown("quote", 3), "", "nothing fits");
        assert_eq!(shown(&all, 0), "");
    }
}
