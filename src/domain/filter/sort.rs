//! The order of a list.
//!
//! It must be total and stable: whatever is equal by its keys is told apart by its number, so that no row jumps.

use std::{
    cmp::{Ordering, Reverse},
    fmt,
};

use chrono::{DateTime, Utc};

use super::{
    super::{
        alert::{self, Severity},
        status::RouterStatus,
    },
    Candidate,
};

macro_rules! keys {
    ($($(#[$doc:meta])* $key:ident $name:literal $words:literal,)*) => {
        /// What a list is sorted by. Each has its natural direction, what wants a look first; `-` turns it round.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SortBy { $($(#[$doc])* $key,)* }

        impl SortBy {
            /// Every key.
            pub const ALL: &[Self] = &[$(Self::$key,)*];

            /// As in `sort:`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$key => $name,)* }
            }

            /// The order in words.
            pub fn words(self) -> &'static str {
                match self { $(Self::$key => $words,)* }
            }
        }
    };
}

keys! {
    /// The most severe alert of which nobody has said anything, the most severe first; then likewise what is acknowledged or
    /// snoozed; those without any last. A snooze counts until it is ended, which is seconds after its moment while
    /// somebody polls.
    Severity "sev" "the most severe alert first",
    /// The deadline, the soonest first. Those that don't wait come last either way.
    Due "due" "the soonest deadline first",
    /// The age, the oldest first.
    Age "age" "the oldest first",
    /// The status, those that a person may have to act on first and the completed last. If nothing is named behind it, severity
    /// and deadline are.
    Status "status" "what a person may have to act on first",
    /// The last answer, the one longest ago first; never answered counts as infinitely long ago. What is settled comes last
    /// either way, by when it settled. If nothing is named behind it, severity and deadline are.
    Checked "checked" "the answer longest ago first",
    /// The last news, the newest first. Those without news come last either way.
    Changed "changed" "the latest news first",
    /// The names of source and destination.
    Route "route" "by the names of source and destination",
    /// The ticket, without case in ASCII. Those without one come last either way.
    Ticket "ticket" "by the ticket",
    /// The hash, as hashes are compared.
    Hash "hash" "by the hash",
    /// When it settled, the latest first. Those that haven't come last either way.
    Settled "settled" "what settled last first",
}

/// A key and its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SortKey {
    /// What is compared.
    pub by: SortBy,
    /// Whether against the natural direction.
    pub reversed: bool,
}

impl SortKey {
    /// The order when none is asked for: severity, then deadline.
    pub const DEFAULT: [Self; 2] =
        [Self { by: SortBy::Severity, reversed: false }, Self { by: SortBy::Due, reversed: false }];

    /// The same the other way round.
    #[must_use]
    pub fn turned(self) -> Self {
        Self { reversed: !self.reversed, ..self }
    }

    fn compare(self, a: &Candidate, b: &Candidate, now: DateTime<Utc>) -> Ordering {
        let turn = |ordering: Ordering| if self.reversed { ordering.reverse() } else { ordering };
        match self.by {
            SortBy::Severity => turn(urgency(b).cmp(&urgency(a))),
            SortBy::Due => self.present_first(due(a), due(b)),
            SortBy::Age => turn(b.tx.age(now).cmp(&a.tx.age(now))),
            SortBy::Status => turn(rank(a).cmp(&rank(b)).then_with(|| raw(a).cmp(raw(b)))),
            SortBy::Checked => {
                let is_settled = |of: &Candidate| of.tx.state.settled_at.is_some();
                is_settled(a).cmp(&is_settled(b)).then_with(|| turn(answered(a).cmp(&answered(b))))
            }
            SortBy::Changed => {
                self.present_first(a.tx.state.last_changed_at.map(Reverse), b.tx.state.last_changed_at.map(Reverse))
            }
            SortBy::Route => turn(route(a).cmp(&route(b))),
            SortBy::Ticket => self.present_first(ticket(a), ticket(b)),
            SortBy::Hash => turn(a.tx.params.transaction_id.key().cmp(&b.tx.params.transaction_id.key())),
            SortBy::Settled => {
                self.present_first(a.tx.state.settled_at.map(Reverse), b.tx.state.settled_at.map(Reverse))
            }
        }
    }

    /// Compares what may be absent. The direction doesn't concern the absent: nobody turns a list round to see them.
    fn present_first<T: Ord>(self, a: Option<T>, b: Option<T>) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) if self.reversed => b.cmp(&a),
            (Some(a), Some(b)) => a.cmp(&b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        }
    }
}

/// As in `sort:`.
impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.reversed { "-" } else { "" }, self.by.name())
    }
}

/// The order of two transactions by these keys at `now`. It is total: what is equal by all keys goes by its number.
pub fn compare(a: &Candidate, b: &Candidate, keys: &[SortKey], now: DateTime<Utc>) -> Ordering {
    let by_keys = keys.iter().map(|key| key.compare(a, b, now)).find(|ordering| ordering.is_ne());
    by_keys.unwrap_or_else(|| a.tx.id.cmp(&b.tx.id))
}

fn urgency(of: &Candidate) -> Option<(bool, Severity)> {
    alert::urgency(of.alerts)
}

fn due(of: &Candidate) -> Option<DateTime<Utc>> {
    of.tx.is_waiting().then(|| of.tx.deadline().at)
}

fn answered(of: &Candidate) -> Option<DateTime<Utc>> {
    of.tx.state.settled_at.or(of.tx.state.last_checked_at)
}

fn rank(of: &Candidate) -> u8 {
    rank_of(of.tx.state.status.as_ref())
}

/// Where a status stands in the order: what a person may have to act on first, the completed last.
pub fn rank_of(status: Option<&RouterStatus>) -> u8 {
    match status {
        Some(RouterStatus::PartialSuccess) => 0,
        Some(RouterStatus::NeedsGas) => 1,
        Some(RouterStatus::Unknown(_)) => 2,
        Some(RouterStatus::Refund) => 3,
        Some(RouterStatus::NotFound) => 4,
        Some(RouterStatus::Ongoing) => 5,
        None => 6,
        Some(RouterStatus::Success) => 7,
    }
}

fn raw<'a>(of: &Candidate<'a>) -> &'a str {
    of.tx.state.status.as_ref().map_or("", RouterStatus::raw)
}

fn route(of: &Candidate) -> [String; 2] {
    [of.tx.from_name().to_lowercase(), of.tx.to_name().to_lowercase()]
}

/// Without case as far as an index of the store has it: in ASCII.
fn ticket(of: &Candidate) -> Option<String> {
    of.tx.params.ticket.as_ref().map(|ticket| ticket.to_ascii_lowercase())
}
