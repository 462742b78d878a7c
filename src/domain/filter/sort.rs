//! The sort order of a list.
//!
//! The order must be total and stable: rows with equal keys are ordered by their row number, so that no row jumps.

use std::fmt;

/// The direction in which an ordered sequence is read, or in which a selection moves along it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first to the last.
    Forwards,
    /// From the last to the first.
    Backwards,
}

impl Direction {
    /// Returns the neighbour of an entry in this direction; the first comes after the last.
    pub fn neighbor<T: Copy + PartialEq>(self, all: &[T], entry: T) -> T {
        let here = all.iter().position(|own| *own == entry).unwrap_or_default();
        let step = match self {
            Self::Forwards => 1,
            Self::Backwards => all.len().saturating_sub(1),
        };
        let next = (here + step).checked_rem(all.len()).and_then(|next| all.get(next));
        next.copied().unwrap_or(entry)
    }
}

macro_rules! keys {
    ($($(#[$doc:meta])* $key:ident $name:literal $words:literal $reversed:literal,)*) => {
        /// A sort key. Each key has a natural direction, the most urgent first; `-` reverses it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SortBy { $($(#[$doc])* $key,)* }

        impl SortBy {
            /// Every key.
            pub const ALL: &[Self] = &[$(Self::$key,)*];

            /// Returns the name, as in `sort:`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$key => $name,)* }
            }

            /// Returns the order in words.
            pub fn description(self) -> &'static str {
                match self { $(Self::$key => $words,)* }
            }

            fn reversed_description(self) -> &'static str {
                match self { $(Self::$key => $reversed,)* }
            }
        }
    };
}

keys! {
    /// The severity of the most severe unhandled alert, the most severe first. Transactions whose alerts are all
    /// handled follow in the same order, and then those without alerts. A snooze counts until it is ended; while a
    /// poller runs, that is seconds after its moment.
    Severity "sev" "the most severe alert first" "the least severe alert first",
    /// The deadline, the soonest first. Transactions that don't wait come last in both directions.
    Due "due" "the soonest deadline first" "the latest deadline first",
    /// The age, the oldest first.
    Age "age" "the oldest first" "the youngest first",
    /// The status: statuses that may need action first, completed last. If it is the last key, severity and deadline
    /// follow.
    Status "status" "statuses that may need action first" "completed first",
    /// The last answer, the oldest first; no answer counts as infinitely old. Settled transactions come last in both
    /// directions, by when they settled. If it is the last key, severity and deadline follow.
    Checked "checked" "the oldest answer first" "the newest answer first",
    /// The last change, the newest first. Transactions without a change come last in both directions.
    Changed "changed" "the last changed first" "the change longest ago first",
    /// The names of the source and destination chains.
    Route "route" "by the names of source and destination" "by the names of source and destination, from Z to A",
    /// The ticket, ignoring ASCII case. Transactions without a ticket come last in both directions.
    Ticket "ticket" "by the ticket" "by the ticket, from Z to A",
    /// The hash, in the form by which hashes are compared.
    Hash "hash" "by the hash" "by the hash, from f to 0",
    /// When the transaction settled, the latest first. Unsettled transactions come last in both directions.
    Settled "settled" "the last settled first" "the first settled first",
}

/// A sort key and its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SortKey {
    pub by: SortBy,
    /// Whether the natural direction is reversed.
    pub is_reversed: bool,
}

impl SortKey {
    /// The default order: severity, then deadline.
    pub const DEFAULT: [Self; 2] =
        [Self { by: SortBy::Severity, is_reversed: false }, Self { by: SortBy::Due, is_reversed: false }];

    /// Returns the order in words.
    pub fn description(self) -> &'static str {
        if self.is_reversed { self.by.reversed_description() } else { self.by.description() }
    }

    /// Returns the key in the opposite direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { is_reversed: !self.is_reversed, ..self }
    }
}

/// Formats the key as in `sort:`.
impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_reversed { "-" } else { "" }, self.by.name())
    }
}
