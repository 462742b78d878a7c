//! The schedule: which transaction is asked about next?
//!
//! Sans-IO: [`Scheduler::next`] takes the moment and says `Poll` or `WaitUntil`; an extra call does no harm. It knows
//! when each transaction was last asked about and when its deadline is, never what its status means.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    time::Duration,
};

use chrono::{DateTime, Utc};

use crate::{
    clock::{Mono, Now},
    domain::{ids::RowId, span},
};

/// Nothing is asked about more often (`service.md` 7.4: retry after 5 seconds).
pub const LEAST_INTERVAL: Duration = Duration::from_secs(5);
/// The longest wait after failures in a row: what is out of order is tried once a minute.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask about this one.
    Poll(RowId),
    /// Nothing before this moment.
    WaitUntil(Mono),
    /// Nothing at all, until something is tracked or asked for.
    Idle,
}

/// What the scheduler is told of a transaction that is to be polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// When it was last answered, by an earlier run too.
    pub last_answer: Option<DateTime<Utc>>,
    /// When it becomes overdue, if that is still to come or to be confirmed.
    pub deadline: Option<DateTime<Utc>>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a record or a "not found".
    Answered,
    /// With a failure of this transaction's request.
    Failed,
    /// With a failure that is none of the transaction's: its turn isn't used up.
    Elsewhere,
}

/// The order of the queue: from when on, then the least recently answered, then the number.
type Place = (Mono, i64, RowId);

#[derive(Debug)]
struct Item {
    /// From when on a person may have it asked about: five seconds after its last request.
    rested: Mono,
    /// From when on it is its turn: the same, or later after failures.
    earliest: Mono,
    /// The last answer in Unix milliseconds; never is least.
    last_answer: i64,
    deadline: Option<DateTime<Utc>>,
    failures: u32,
    in_flight: bool,
    /// Polled until it is forgotten, rather than only when asked for.
    kept: bool,
}

impl Item {
    fn new(standing: Standing, kept: bool, now: Now) -> Self {
        let first_turn = first_turn(standing.last_answer, now);
        Self {
            rested: first_turn,
            earliest: first_turn,
            last_answer: order(standing.last_answer),
            deadline: standing.deadline,
            failures: 0,
            in_flight: false,
            kept,
        }
    }
}

/// The last answer in Unix milliseconds; never comes before all others.
fn order(last_answer: Option<DateTime<Utc>>) -> i64 {
    last_answer.map_or(i64::MIN, |at| at.timestamp_millis())
}

/// The queue of all transactions that are to be polled: least recently polled first. A decision costs O(log n).
#[derive(Debug, Default)]
pub struct Scheduler {
    items: HashMap<RowId, Item>,
    /// Those that are kept and not in flight.
    queue: BTreeSet<Place>,
    /// Those of the queue whose deadline is to be confirmed, by that deadline.
    deadlines: BTreeSet<(DateTime<Utc>, RowId)>,
    /// What people asked for, in that order.
    requests: VecDeque<RowId>,
    /// Whether the last one sent was somebody's request: at most half of the budget goes to these.
    last_was_request: bool,
}

impl Scheduler {
    /// Polls this transaction from now on, or takes in what changed of it.
    pub fn watch(&mut self, id: RowId, standing: Standing, now: Now) {
        let known = self.items.remove(&id);
        if let Some(known) = &known {
            self.unqueue(id, known);
        }
        let item = match known {
            Some(known) => {
                Item { last_answer: order(standing.last_answer), deadline: standing.deadline, kept: true, ..known }
            }
            None => Item::new(standing, true, now),
        };
        self.enqueue(id, &item);
        self.items.insert(id, item);
    }

    /// Stops polling this transaction. It stays known: a person may ask for it, and then too nothing is asked about twice
    /// within five seconds.
    pub fn forget(&mut self, id: RowId) {
        if let Some(item) = self.items.remove(&id) {
            self.unqueue(id, &item);
            self.items.insert(id, Item { kept: false, ..item });
        }
    }

    /// A person asked for this one: ahead of the others, but not within five seconds of its last request. It need not be
    /// watched.
    pub fn request(&mut self, id: RowId, now: Now) {
        if !self.requests.contains(&id) {
            self.requests.push_back(id);
            let unheard = Standing { last_answer: None, deadline: None };
            self.items.entry(id).or_insert_with(|| Item::new(unheard, false, now));
        }
    }

    /// How many are polled until they are forgotten.
    pub fn watched(&self) -> usize {
        self.items.values().filter(|item| item.kept).count()
    }

    /// What to do now.
    pub fn next(&self, now: Now) -> Next {
        let rested = |item: &Item| !item.in_flight && item.rested <= now.mono;
        let requested = self.requests.iter().copied().find(|id| self.items.get(id).is_some_and(rested));
        let queued = self.next_queued(now);
        match (requested, queued) {
            (Some(id), None) => Next::Poll(id),
            (Some(id), Some(_)) if !self.last_was_request => Next::Poll(id),
            (_, Some(id)) => Next::Poll(id),
            (None, None) => self.next_moment(now),
        }
    }

    fn next_queued(&self, now: Now) -> Option<RowId> {
        let confirm = self
            .deadlines
            .range(..=(now.wall, RowId(i64::MAX)))
            .map(|(_, id)| *id)
            // A handful at the front may be resting; looking further would cost more than it brings.
            .take(16)
            .find(|id| self.may_be_sent(*id, now.mono));
        let first = self.queue.first().filter(|(earliest, ..)| *earliest <= now.mono).map(|(_, _, id)| *id);
        confirm.or(first)
    }

    fn next_moment(&self, now: Now) -> Next {
        let requested = self.requests.iter().filter_map(|id| self.items.get(id));
        let requested = requested.filter(|item| !item.in_flight).map(|item| item.rested).min();
        let queued = self.queue.first().map(|(earliest, ..)| *earliest);
        match requested.into_iter().chain(queued).min() {
            Some(moment) => Next::WaitUntil(moment.max(now.mono)),
            None => Next::Idle,
        }
    }

    fn may_be_sent(&self, id: RowId, now: Mono) -> bool {
        self.items.get(&id).is_some_and(|item| !item.in_flight && item.earliest <= now)
    }

    /// A request about this one is sent.
    pub fn sent(&mut self, id: RowId) {
        let asked_for = self.requests.iter().position(|requested| *requested == id);
        if let Some(index) = asked_for {
            self.requests.remove(index);
        }
        self.last_was_request = asked_for.is_some();
        if let Some(mut item) = self.items.remove(&id) {
            self.unqueue(id, &item);
            item.in_flight = true;
            self.items.insert(id, item);
        }
    }

    /// The request about this one ended at `now`.
    pub fn ended(&mut self, id: RowId, ending: Ending, now: Now) {
        let Some(mut item) = self.items.remove(&id) else { return };
        item.in_flight = false;
        let interval = match ending {
            Ending::Answered => {
                item.failures = 0;
                item.last_answer = now.wall.timestamp_millis();
                // Whether it is overdue has just been said, one way or the other.
                item.deadline = item.deadline.filter(|deadline| *deadline > now.wall);
                LEAST_INTERVAL
            }
            Ending::Failed => {
                item.failures = item.failures.saturating_add(1);
                backoff(item.failures)
            }
            Ending::Elsewhere => LEAST_INTERVAL,
        };
        (item.rested, item.earliest) = (now.mono + LEAST_INTERVAL, now.mono + interval);
        self.enqueue(id, &item);
        self.items.insert(id, item);
    }

    fn enqueue(&mut self, id: RowId, item: &Item) {
        if item.kept && !item.in_flight {
            self.queue.insert((item.earliest, item.last_answer, id));
            if let Some(deadline) = item.deadline {
                self.deadlines.insert((deadline, id));
            }
        }
    }

    fn unqueue(&mut self, id: RowId, item: &Item) {
        self.queue.remove(&(item.earliest, item.last_answer, id));
        if let Some(deadline) = item.deadline {
            self.deadlines.remove(&(deadline, id));
        }
    }
}

/// What an earlier run asked less than five seconds ago isn't asked again at once; all others come before those of this
/// run that wait for their turn, the least recently answered first.
fn first_turn(last_answer: Option<DateTime<Utc>>, now: Now) -> Mono {
    let rested = last_answer.map_or(LEAST_INTERVAL, |at| span::between(at, now.wall));
    match LEAST_INTERVAL.saturating_sub(rested) {
        Duration::ZERO => Mono::default(),
        rest => now.mono + rest,
    }
}

/// 10, 20, 40, 60, 60 … s after failures in a row.
fn backoff(failures: u32) -> Duration {
    let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
    LEAST_INTERVAL.saturating_mul(factor).min(LONGEST_BACKOFF)
}

#[cfg(test)]
mod tests;
