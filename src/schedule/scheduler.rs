//! The scheduler: polls the transaction for which a longer wait costs most.
//!
//! Each item is due when its index crosses the common price, and the price follows the index of the polls that were
//! sent. A crossing is computed again when its item is first in the queue. Each request also updates a few more items,
//! so that a decision costs O(log n). Of the first few items that are due, the scheduler chooses the item with the
//! highest index. While the price lags behind, many items are due, and the order of their crossings says little.
//!
//! The scheduler must never poll a transaction twice within five seconds, nor let one wait for longer than
//! [`MAX_SWEEPS`].

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    time::Duration,
};

use chrono::{DateTime, Utc};

use super::{
    Expectation, MAX_SWEEPS, MIN_INTERVAL, NextPoll, PollContext, PollResult, backoff,
    index::PollIndex,
    queue::{PollQueue, QueueEntry},
};
use crate::{
    clock::{MonotonicTime, Now},
    domain::{forecast::Forecast, ids::RowId, need, span},
};

/// The weight of the newest poll's index in the price.
const PRICE_WEIGHT: f64 = 0.2;
/// The lowest price, so that the price can grow again.
const LOWEST_PRICE: f64 = 1e-3;
/// A crossing is valid while the price differs by no more than this share from the price at its computation.
const PRICE_TOLERANCE: f64 = 0.05;
/// The most crossings that are computed again between two requests because their items are first in the queue.
const MAX_RECHECKS: u32 = 100;
/// The number of other items that are checked with each request.
const REFRESHED_PER_SEND: usize = 16;
/// The number of due items whose indexes are compared for a decision.
const COMPARED: usize = 48;
/// The number of failures in a row after which a passed deadline no longer puts the item ahead of others.
const MAX_DEADLINE_FAILURES: u32 = 3;
/// The number of stale entries that a queue may hold before they are dropped.
const STALE_ALLOWANCE: usize = 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PollPhase {
    /// May not be polled before its `pollable_from`, or is polled only when a person asks.
    Resting,
    /// May be polled; its index crosses the price at `due`.
    Ready { due: MonotonicTime },
    /// Has a request in flight.
    InFlight,
}

#[derive(Debug)]
struct ScheduledItem {
    id: RowId,
    phase: PollPhase,
    /// Grows with every change that makes the item's entries in the queues stale.
    generation: u32,
    failures: u32,
    /// The moment from which a person's request may be sent: five seconds after the last request ended.
    requestable_from: MonotonicTime,
    /// The moment from which the scheduler may poll: `requestable_from`, or later after failures.
    pollable_from: MonotonicTime,
    /// Since when the item waits for its next poll.
    waiting_since: MonotonicTime,
    /// The number of sweeps at that moment.
    sweeps_before: f64,
    urgency: PollIndex,
    /// The wall time of the urgency's origin.
    since: DateTime<Utc>,
    /// The price for which the `due` of the phase was computed.
    price: f64,
    deadline: Option<DateTime<Utc>>,
    /// The end of the time in which fresher answers are needed; `None` if that time is over.
    young_until: Option<MonotonicTime>,
    /// Whether the transaction is polled without being requested, until `forget`.
    is_watched: bool,
    /// Whether a person's request waits to be sent.
    is_requested: bool,
}

impl ScheduledItem {
    fn new(id: RowId, last_answer: Option<DateTime<Utc>>, expectation: Expectation, now: Now) -> Self {
        let origin = origin(expectation.since, now);
        let last_answer_at = last_answer.map_or(origin, |at| self::origin(at, now));
        let urgency = PollIndex::new(&expectation, origin, last_answer_at);
        let first_poll_from = first_poll_from(last_answer, now);
        Self {
            id,
            phase: PollPhase::Resting,
            generation: 0,
            failures: 0,
            requestable_from: first_poll_from,
            pollable_from: first_poll_from,
            waiting_since: now.mono,
            sweeps_before: 0.0,
            urgency,
            since: expectation.since,
            price: 0.0,
            deadline: None,
            young_until: None,
            is_watched: false,
            is_requested: false,
        }
    }

    /// Sets the awaited event. The item's age follows the monotonic clock, and no jump of the wall clock changes the
    /// age, unless `since` changes.
    fn set_expectation(&mut self, expectation: Expectation, now: Now) {
        let was_answered = self.urgency.last_answer > self.urgency.origin;
        let mut origin = self.urgency.origin;
        if self.since != expectation.since {
            (self.since, origin) = (expectation.since, self::origin(expectation.since, now));
        }
        let last_answer = if was_answered { self.urgency.last_answer } else { origin };
        self.urgency = PollIndex::new(&expectation, origin, last_answer);
    }
}

/// Returns the moment of the first poll: not within five seconds of an answer to an earlier run.
fn first_poll_from(last_answer: Option<DateTime<Utc>>, now: Now) -> MonotonicTime {
    let since_answer = last_answer.map_or(MIN_INTERVAL, |at| span::between(at, now.wall));
    match MIN_INTERVAL.saturating_sub(since_answer) {
        Duration::ZERO => MonotonicTime::default(),
        rest => now.mono + rest,
    }
}

/// The transactions to poll, and the decision which is next.
#[derive(Debug, Default)]
pub struct Scheduler {
    items: Vec<ScheduledItem>,
    positions: HashMap<RowId, u32>,
    free_positions: Vec<u32>,
    watched_count: usize,
    /// The number of watched items that are young.
    young: usize,
    /// The young items, by `young_until`.
    young_ends: PollQueue,
    /// The items that rest, by the end of their rest.
    resting: PollQueue,
    /// The items that are ready, by the moment at which the index crosses the price.
    due: PollQueue,
    /// The watched items without a request in flight, by the beginning of their wait.
    waiting: PollQueue,
    /// The items with a deadline to confirm, by that deadline.
    deadlines: BTreeSet<(DateTime<Utc>, u32)>,
    /// The transactions that people asked for, the oldest request first.
    requests: VecDeque<RowId>,
    /// The transactions that people have open: polled as often as if they were always requested.
    open: Vec<RowId>,
    /// Whether the last request was one of a person: at most half of the budget is for such requests.
    was_last_request: bool,
    /// Whether only explicit requests of people are sent.
    is_paused: bool,
    /// The common price: a moving average of the index at each poll. `None` before the first.
    price: Option<f64>,
    /// The position of the item that the last decision chose by its crossing.
    first_due: Option<u32>,
    /// The number of crossings computed again since the last request was sent.
    pub(super) rechecks: u32,
    /// The number of sweeps so far: each poll is one part of as many as there are watched transactions.
    sweeps: f64,
    /// The position of the item that was checked last by `refresh`.
    cursor: usize,
}

impl Scheduler {
    /// Polls this transaction from now on, or applies its new context.
    pub fn watch(&mut self, id: RowId, poll_context: PollContext, now: Now) {
        let position = match self.positions.get(&id) {
            Some(position) => *position,
            None => self.insert(ScheduledItem::new(id, poll_context.last_answer, poll_context.expectation, now)),
        };
        let Some(item) = self.items.get_mut(position as usize) else { return };
        item.set_expectation(poll_context.expectation, now);
        let deadline = poll_context.deadline.filter(|_| item.failures < MAX_DEADLINE_FAILURES);
        if item.deadline != deadline {
            self.deadlines.extend(deadline.map(|deadline| (deadline, position)));
            if let Some(before) = std::mem::replace(&mut item.deadline, deadline) {
                self.deadlines.remove(&(before, position));
            }
        }
        let young_until = poll_context.young_until.filter(|until| *until > now.wall);
        let young_until = young_until.map(|until| now.mono + span::between(now.wall, until));
        self.young = self.young + usize::from(young_until.is_some()) - usize::from(item.young_until.is_some());
        item.young_until = young_until;
        self.young_ends.extend(young_until.map(|at| QueueEntry { at, position, generation: 0 }));
        self.watched_count += usize::from(!std::mem::replace(&mut item.is_watched, true));
        match item.phase {
            PollPhase::InFlight => {}
            PollPhase::Ready { .. } => self.make_ready(position),
            PollPhase::Resting => self.start_rest(position),
        }
    }

    /// Forgets the failures of this transaction, which were not its own: the service has recovered.
    pub fn forgive_failures(&mut self, id: RowId) {
        if let Some((_, item)) = self.item_mut(id) {
            item.failures = 0;
        }
    }

    /// Stops polling this transaction. A person may still request it, but not within five seconds of its last request.
    pub fn forget(&mut self, id: RowId) {
        let Some((position, item)) = self.item_mut(id) else { return };
        if !std::mem::replace(&mut item.is_watched, false) {
            return;
        }
        let (deadline, young) = (item.deadline.take(), item.young_until.take());
        let under_way = item.phase == PollPhase::InFlight;
        self.watched_count -= 1;
        self.young -= usize::from(young.is_some());
        if let Some(deadline) = deadline {
            self.deadlines.remove(&(deadline, position));
        }
        if !under_way {
            self.start_rest(position);
        }
    }

    /// Requests a poll for a person: ahead of other polls, but not within five seconds of the transaction's last
    /// request. The transaction need not be watched.
    pub fn request(&mut self, id: RowId, now: Now) {
        if !self.positions.contains_key(&id) {
            let forecast = Forecast::AnyTime(Duration::MAX);
            let expectation = Expectation { since: now.wall, forecast, first_answer: None, weight: 1.0 };
            let position = self.insert(ScheduledItem::new(id, None, expectation, now));
            self.start_rest(position);
        }
        if let Some((_, item)) = self.item_mut(id)
            && !std::mem::replace(&mut item.is_requested, true)
        {
            self.requests.push_back(id);
        }
    }

    /// Sets the transactions that people have open. They are polled like requested ones, as long as they are watched.
    pub fn set_open(&mut self, open: Vec<RowId>) {
        self.open = open;
    }

    /// Sets whether only explicit requests of people are sent.
    pub fn set_paused(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Returns the polls per second that would keep all answers as fresh as they should be.
    pub fn need(&self) -> f64 {
        need::polls(self.watched_count, self.young)
    }

    /// Returns whether the last request was one of a person.
    pub fn was_last_request(&self) -> bool {
        self.was_last_request
    }

    /// Records that a person's request was sent that concerns no transaction.
    pub fn record_user_request(&mut self) {
        self.was_last_request = true;
        self.rechecks = 0;
    }

    /// Returns the number of watched transactions.
    pub fn item_count(&self) -> usize {
        self.watched_count
    }

    /// Returns the decision for `now`.
    pub fn next_poll(&mut self, now: Now) -> NextPoll {
        self.advance_to(now.mono);
        if self.is_paused {
            return match self.next_explicit_request(now.mono) {
                Some(id) => NextPoll::Poll(id),
                None if self.requests.is_empty() => NextPoll::Idle,
                None => NextPoll::WaitUntil(now.mono + Duration::from_secs(1)),
            };
        }
        let requested = self.next_user_request(now.mono);
        if let (Some(id), false) = (requested, self.was_last_request) {
            return NextPoll::Poll(id);
        }
        match (self.choose_ready(now), requested) {
            (Some(id), _) | (None, Some(id)) => NextPoll::Poll(id),
            (None, None) => self.next_wakeup(),
        }
    }

    /// Records that a request about this transaction is sent at `now`.
    pub fn record_sent(&mut self, id: RowId, now: Now) {
        let was_requested = self.item_mut(id).is_some_and(|(_, item)| std::mem::take(&mut item.is_requested));
        if was_requested && let Some(index) = self.requests.iter().position(|requested| *requested == id) {
            self.requests.remove(index);
        }
        self.was_last_request = was_requested || self.open.contains(&id);
        self.rechecks = 0;
        self.sweeps += 1.0 / self.watched_count.max(1) as f64;
        let is_request = self.was_last_request;
        let Some((position, item)) = self.item_mut(id) else { return };
        item.phase = PollPhase::InFlight;
        item.generation = item.generation.wrapping_add(1);
        let paid = item.urgency.index(seconds(now.mono)).max(LOWEST_PRICE);
        // The price follows only polls that were chosen by their index.
        if self.first_due.take() == Some(position) && !is_request {
            let price = self.price.unwrap_or(paid);
            self.price = Some(price * (paid / price).powf(PRICE_WEIGHT));
        }
        self.refresh(now.mono);
    }

    /// Applies the end of a request about this transaction at `now`.
    pub fn record_result(&mut self, id: RowId, poll_result: PollResult, now: Now) {
        let sweeps = self.sweeps;
        let Some((position, item)) = self.item_mut(id) else { return };
        let interval = match poll_result {
            PollResult::Answered => {
                item.failures = 0;
                item.urgency.set_last_answer(seconds(now.mono));
                MIN_INTERVAL
            }
            PollResult::Failed => {
                item.failures = item.failures.saturating_add(1);
                backoff(item.failures)
            }
            PollResult::Unrelated => MIN_INTERVAL,
        };
        (item.waiting_since, item.sweeps_before) = (now.mono, sweeps);
        (item.requestable_from, item.pollable_from) = (now.mono + MIN_INTERVAL, now.mono + interval);
        // An answer after the deadline confirms whether the transaction is overdue.
        let is_confirmed = |deadline: &DateTime<Utc>| poll_result == PollResult::Answered && *deadline <= now.wall;
        let keeps_failing = item.failures >= MAX_DEADLINE_FAILURES;
        let passed = item.deadline.filter(|deadline| keeps_failing || is_confirmed(deadline));
        if let Some(deadline) = passed {
            item.deadline = None;
            self.deadlines.remove(&(deadline, position));
        }
        self.start_rest(position);
    }

    fn item_mut(&mut self, id: RowId) -> Option<(u32, &mut ScheduledItem)> {
        let position = *self.positions.get(&id)?;
        Some((position, self.items.get_mut(position as usize)?))
    }

    /// Inserts a new item at a free position, or at the end. Returns the position.
    fn insert(&mut self, item: ScheduledItem) -> u32 {
        let item = ScheduledItem { sweeps_before: self.sweeps, ..item };
        let id = item.id;
        let position = match self.free_positions.pop() {
            Some(position) => position,
            None => u32::try_from(self.items.len()).unwrap_or(u32::MAX),
        };
        match self.items.get_mut(position as usize) {
            // The new generation makes all entries of the former item stale.
            Some(free) => *free = ScheduledItem { generation: free.generation.wrapping_add(1), ..item },
            None => self.items.push(item),
        }
        self.positions.insert(id, position);
        position
    }

    /// Lets an item rest until it may be polled, or requested, again.
    fn start_rest(&mut self, position: u32) {
        let Some(item) = self.items.get_mut(position as usize) else { return };
        item.generation = item.generation.wrapping_add(1);
        let (generation, is_watched, waiting_since) = (item.generation, item.is_watched, item.waiting_since);
        let at = if is_watched { item.pollable_from } else { item.requestable_from };
        item.phase = PollPhase::Resting;
        self.resting.push(QueueEntry { at, position, generation });
        if is_watched {
            self.waiting.push(QueueEntry { at: waiting_since, position, generation });
        }
        let (items, most) = (&self.items, 2 * self.items.len() + STALE_ALLOWANCE);
        self.resting.drop_stale(most, |entry| is_current(items, entry));
        self.waiting.drop_stale(most, |entry| is_current(items, entry));
    }

    /// Applies all moments up to `now`: ends `young_until` and rests, and removes items that are no longer wanted.
    fn advance_to(&mut self, now: MonotonicTime) {
        let is_young = |entry: &QueueEntry, items: &[ScheduledItem]| {
            items.get(entry.position as usize).is_some_and(|item| item.young_until == Some(entry.at))
        };
        while let Some(entry) = self.young_ends.pop_due(now, |entry| is_young(entry, &self.items)) {
            if let Some(item) = self.items.get_mut(entry.position as usize) {
                item.young_until = None;
                self.young -= 1;
            }
        }
        while let Some(entry) = self.resting.pop_due(now, |entry| is_current(&self.items, entry)) {
            let item = self.items.get(entry.position as usize);
            match item.map(|item| (item.is_watched, item.is_requested, item.id)) {
                Some((false, false, id)) => {
                    self.positions.remove(&id);
                    self.free_positions.push(entry.position);
                }
                Some((true, _, _)) => self.make_ready(entry.position),
                Some((false, true, _)) | None => {}
            }
        }
    }

    /// Makes an item ready, and computes when it is due at the present price.
    fn make_ready(&mut self, position: u32) {
        let Some(item) = self.items.get_mut(position as usize) else { return };
        let last_answer = item.urgency.last_answer;
        // Before the first poll there is no price: the item that waits longest is first.
        let crossing = |price| item.urgency.crossing(price, seconds(item.pollable_from).max(last_answer));
        let due = moment(self.price.map_or(last_answer, crossing).max(0.0));
        item.price = self.price.unwrap_or(0.0);
        if item.phase != (PollPhase::Ready { due }) {
            item.phase = PollPhase::Ready { due };
            self.due.push(QueueEntry { at: due, position, generation: item.generation });
            let (items, queue) = (&self.items, &mut self.due);
            queue.drop_stale(2 * items.len() + STALE_ALLOWANCE, |entry| is_current_due(items, entry));
        }
    }

    /// Checks a few more items. An item with an index above the present price becomes due, even before its crossing.
    fn refresh(&mut self, now: MonotonicTime) {
        let Some(price) = self.price else { return };
        for _ in 0..REFRESHED_PER_SEND.min(self.items.len()) {
            self.cursor = (self.cursor + 1) % self.items.len();
            let Some(item) = self.items.get_mut(self.cursor) else { continue };
            if let PollPhase::Ready { due } = item.phase
                && due > now
                // At a higher price than the one for which it was computed, the crossing only moves later.
                && price < item.price
                && item.urgency.index(seconds(now)) > price
            {
                item.price = price;
                item.phase = PollPhase::Ready { due: now };
                self.due.push(QueueEntry { at: now, position: self.cursor as u32, generation: item.generation });
            }
        }
    }

    /// Returns whether the item's crossing was computed for a price that differs from the present one.
    fn has_stale_price(&self, item: &ScheduledItem) -> bool {
        self.price.is_some_and(|price| (item.price - price).abs() > PRICE_TOLERANCE * price)
    }

    /// Returns the next transaction that a person waits for: requested, or else open.
    fn next_user_request(&self, now: MonotonicTime) -> Option<RowId> {
        let is_open = |id: &&RowId| self.requestable_item(**id, now).is_some_and(|item| item.is_watched);
        self.next_explicit_request(now).or_else(|| self.open.iter().find(is_open).copied())
    }

    fn next_explicit_request(&self, now: MonotonicTime) -> Option<RowId> {
        self.requests.iter().find(|id| self.requestable_item(**id, now).is_some()).copied()
    }

    /// Returns the item of a transaction that has no request in flight and may be requested at `now`.
    fn requestable_item(&self, id: RowId, now: MonotonicTime) -> Option<&ScheduledItem> {
        let item = self.items.get(*self.positions.get(&id)? as usize);
        item.filter(|item| item.phase != PollPhase::InFlight && item.requestable_from <= now)
    }

    fn choose_ready(&mut self, now: Now) -> Option<RowId> {
        let position = self
            .find_passed_deadline(now)
            .or_else(|| self.find_starving())
            .or_else(|| self.find_most_urgent(now.mono))?;
        self.items.get(position as usize).map(|item| item.id)
    }

    /// Returns a ready item whose deadline has passed without an answer since, unless it keeps failing.
    fn find_passed_deadline(&self, now: Now) -> Option<u32> {
        let passed = self.deadlines.range(..=(now.wall, u32::MAX)).map(|(_, position)| *position);
        // A few items at the front may be resting. Checking more would cost more than it gains.
        passed.take(16).find(|position| self.is_ready(*position))
    }

    /// Returns the item that waits longest among those that wait for too long and are ready.
    fn find_starving(&mut self) -> Option<u32> {
        let (mut resting, mut found) = (Vec::new(), None);
        // A few items at the front may be resting. Checking more would cost more than it gains.
        while found.is_none() && resting.len() < 16 {
            let Some(first) = self.waiting.first_current(|entry| is_current(&self.items, entry)) else { break };
            let item = self.items.get(first.position as usize);
            if item.is_none_or(|item| self.sweeps - item.sweeps_before <= MAX_SWEEPS) {
                break;
            }
            if self.is_ready(first.position) {
                found = Some(first.position);
            } else {
                self.waiting.pop();
                resting.push(first);
            }
        }
        self.waiting.extend(resting);
        found
    }

    /// Returns the most urgent of the items that are due, or else the item whose index crosses the price first.
    fn find_most_urgent(&mut self, now: MonotonicTime) -> Option<u32> {
        let first = self.find_first_due(now)?;
        let mut compared = Vec::with_capacity(COMPARED);
        while compared.len() < COMPARED
            && let Some(entry) = self.due.pop_due(now, |entry| is_current_due(&self.items, entry))
        {
            compared.push(entry);
        }
        let index = |entry: &QueueEntry| {
            self.items.get(entry.position as usize).map_or(0.0, |item| item.urgency.index(seconds(now)))
        };
        // Of equally urgent items, the last in this order is chosen: the first in the queue.
        let most_urgent =
            compared.iter().rev().map(|entry| (index(entry), entry.position)).max_by(|a, b| a.0.total_cmp(&b.0));
        self.due.extend(compared);
        let position = most_urgent.map_or(first, |(_, position)| position);
        self.first_due = Some(position);
        Some(position)
    }

    /// Returns the item whose index crosses the price first.
    fn find_first_due(&mut self, now: MonotonicTime) -> Option<u32> {
        loop {
            let first = self.due.first_current(|entry| is_current_due(&self.items, entry))?;
            let item = self.items.get(first.position as usize)?;
            // An item whose crossing is known and that is due at the present price, too, needs no new one.
            let is_due = || {
                let price = self.price.filter(|_| item.price > 0.0 && first.at <= now);
                price.is_some_and(|price| item.urgency.index(seconds(now)) >= price)
            };
            if !self.has_stale_price(item) || self.rechecks == MAX_RECHECKS || is_due() {
                return Some(first.position);
            }
            self.rechecks += 1;
            self.make_ready(first.position);
        }
    }

    fn is_ready(&self, position: u32) -> bool {
        self.items.get(position as usize).is_some_and(|item| matches!(item.phase, PollPhase::Ready { .. }))
    }

    fn next_wakeup(&mut self) -> NextPoll {
        let items = &self.items;
        let item = |id: &RowId| items.get(*self.positions.get(id)? as usize);
        let requested = self.requests.iter().filter_map(item).filter(|item| item.phase != PollPhase::InFlight);
        let requested = requested.map(|item| item.requestable_from).min();
        let rest_end = self.resting.first_current(|entry| is_current(items, entry));
        match requested.into_iter().chain(rest_end.map(|entry| entry.at)).min() {
            Some(moment) => NextPoll::WaitUntil(moment),
            None => NextPoll::Idle,
        }
    }
}

fn is_current(items: &[ScheduledItem], entry: &QueueEntry) -> bool {
    items.get(entry.position as usize).is_some_and(|item| item.generation == entry.generation)
}

fn is_current_due(items: &[ScheduledItem], entry: &QueueEntry) -> bool {
    let item = items.get(entry.position as usize);
    item.is_some_and(|item| item.generation == entry.generation && item.phase == PollPhase::Ready { due: entry.at })
}

fn seconds(moment: MonotonicTime) -> f64 {
    moment.0.as_secs_f64()
}

fn moment(seconds: f64) -> MonotonicTime {
    MonotonicTime(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// Converts wall time to seconds of the monotonic clock: negative before the clock's beginning, never later than `now`.
fn origin(at: DateTime<Utc>, now: Now) -> f64 {
    seconds(now.mono) - span::between(at, now.wall).as_secs_f64()
}
