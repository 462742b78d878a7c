//! The scheduler: the next poll goes where waiting longer costs most.
//!
//! Each item is due when its index crosses the common price, and the price follows what was last paid. Crossings are found
//! anew when an item comes up, and for a few more with each decision, so that one decision costs O(log n). It must never
//! ask twice within five seconds, nor let anybody wait for longer than [`MOST_SWEEPS`].

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    time::Duration,
};

use chrono::{DateTime, Utc};

use super::{
    Ending, Expectation, LEAST_INTERVAL, MOST_SWEEPS, Next, PollContext, backoff,
    index::Urgency,
    queue::{Entry, Queue},
};
use crate::{
    clock::{Mono, Now},
    domain::{forecast::Forecast, ids::RowId, need, span},
};

/// How far the price follows the index of what was sent.
const PRICE_FOLLOWS: f64 = 0.1;
/// The least price, so that it can grow again.
const LEAST_PRICE: f64 = 1e-3;
/// A crossing stands while the price is within this share of the one that it was found at.
const PRICE_TOLERANCE: f64 = 0.05;
/// How many items that come up are looked at anew for one decision.
const MOST_LOOKS: u32 = 100;
/// How many others are looked at anew with each request sent.
const REFRESHED: usize = 8;
/// Stale entries that are kept before the queues are cleared of them.
const SLACK: usize = 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not to be asked about before its `earliest`.
    Resting,
    /// To be asked about; its index crosses the price at `due`.
    Ready { due: Mono },
    /// Its request is under way.
    InFlight,
    /// Asked about only when a person wants it.
    Aside,
}

#[derive(Debug)]
struct Item {
    id: RowId,
    phase: Phase,
    /// Grows with every change that makes its entries in the queues stale.
    turn: u32,
    failures: u32,
    /// From when on a person may have it asked about: five seconds after its last request.
    rested: Mono,
    /// From when on it is its turn: the same, or later after failures.
    earliest: Mono,
    /// Since when it waits for its next turn.
    waiting: Mono,
    urgency: Urgency,
    /// What the urgency's origin is on the wall.
    since: DateTime<Utc>,
    /// The price that its phase's `due` was found at.
    price: f64,
    deadline: Option<DateTime<Utc>>,
    /// Until when it is young, and its answers should be fresher.
    young_until: Option<Mono>,
    /// Polled until it is forgotten.
    kept: bool,
}

impl Item {
    fn new(id: RowId, last_answer: Option<DateTime<Utc>>, expectation: Expectation, now: Now) -> Self {
        let origin = origin(expectation.since, now);
        let urgency = Urgency {
            forecast: expectation.forecast,
            weight: expectation.weight,
            origin,
            last: last_answer.map_or(origin, |at| self::origin(at, now)),
        };
        let first_turn = first_turn(last_answer, now);
        Self {
            id,
            phase: Phase::Resting,
            turn: 0,
            failures: 0,
            rested: first_turn,
            earliest: first_turn,
            waiting: now.mono,
            urgency,
            since: expectation.since,
            price: 0.0,
            deadline: None,
            young_until: None,
            kept: false,
        }
    }

    /// Takes in what it waits for. Its age goes on by the monotonic clock, whatever the wall's does, until it waits for
    /// something else.
    fn look_out(&mut self, expectation: Expectation, now: Now) {
        if self.since != expectation.since {
            (self.since, self.urgency.origin) = (expectation.since, origin(expectation.since, now));
        }
        (self.urgency.forecast, self.urgency.weight) = (expectation.forecast, expectation.weight);
    }
}

/// What an earlier run asked less than five seconds ago isn't asked again at once.
fn first_turn(last_answer: Option<DateTime<Utc>>, now: Now) -> Mono {
    let rested = last_answer.map_or(LEAST_INTERVAL, |at| span::between(at, now.wall));
    match LEAST_INTERVAL.saturating_sub(rested) {
        Duration::ZERO => Mono::default(),
        rest => now.mono + rest,
    }
}

/// All transactions that are to be polled, and which is next.
#[derive(Debug, Default)]
pub struct Scheduler {
    items: Vec<Item>,
    places: HashMap<RowId, u32>,
    free: Vec<u32>,
    kept: usize,
    /// How many of these are young.
    young: usize,
    /// By when they cease to be young.
    growing_up: Queue,
    /// By `earliest`: those that rest.
    resting: Queue,
    /// By the moment at which the index crosses the price: those that are ready.
    due: Queue,
    /// By how long they wait: all that are kept and not under way.
    waiting: Queue,
    /// Those whose deadline is to be confirmed, by that deadline.
    deadlines: BTreeSet<(DateTime<Utc>, u32)>,
    /// What people asked for, in that order.
    requests: VecDeque<RowId>,
    /// What people look at: as if they asked for it all the time.
    open: Vec<RowId>,
    /// Whether the last one sent was somebody's request: at most half of the budget goes to these.
    last_was_request: bool,
    /// Whether nothing goes out but what a person asked for.
    paused: bool,
    /// What the last requests were worth: the common level of the indices.
    price: Option<f64>,
    /// The place whose index crossed the price first, when that was asked last.
    cheapest: Option<u32>,
    /// How many that came up were looked at anew since the last request was sent.
    looks: u32,
    /// Requests a second that the budget allows.
    rate: f64,
    /// Where looking anew goes on.
    cursor: usize,
}

impl Scheduler {
    /// Polls this transaction from now on, or takes in what changed of it.
    pub fn watch(&mut self, id: RowId, poll_context: PollContext, now: Now) {
        let place = match self.places.get(&id) {
            Some(place) => *place,
            None => self.place(Item::new(id, poll_context.last_answer, poll_context.expectation, now)),
        };
        let Some(item) = self.items.get_mut(place as usize) else { return };
        item.look_out(poll_context.expectation, now);
        if item.deadline != poll_context.deadline {
            self.deadlines.extend(poll_context.deadline.map(|deadline| (deadline, place)));
            if let Some(before) = std::mem::replace(&mut item.deadline, poll_context.deadline) {
                self.deadlines.remove(&(before, place));
            }
        }
        let young_until = poll_context.young_until.filter(|until| *until > now.wall);
        let young_until = young_until.map(|until| now.mono + span::between(now.wall, until));
        self.young = self.young + usize::from(young_until.is_some()) - usize::from(item.young_until.is_some());
        item.young_until = young_until;
        self.growing_up.extend(young_until.map(|at| Entry { at, place, turn: 0 }));
        self.kept += usize::from(!std::mem::replace(&mut item.kept, true));
        match item.phase {
            Phase::InFlight => {}
            Phase::Ready { .. } => self.make_ready(place),
            Phase::Resting | Phase::Aside => self.rest(place),
        }
    }

    /// Stops polling this transaction. A person may still ask for it, and then too nothing is asked about twice within five
    /// seconds.
    pub fn forget(&mut self, id: RowId) {
        let Some((place, item)) = self.item_mut(id) else { return };
        if !std::mem::replace(&mut item.kept, false) {
            return;
        }
        let (deadline, young) = (item.deadline.take(), item.young_until.take());
        let under_way = item.phase == Phase::InFlight;
        self.kept -= 1;
        self.young -= usize::from(young.is_some());
        if let Some(deadline) = deadline {
            self.deadlines.remove(&(deadline, place));
        }
        if !under_way {
            self.rest(place);
        }
    }

    /// A person asked for this one: ahead of the others, but not within five seconds of its last request. It need not be
    /// watched.
    pub fn request(&mut self, id: RowId, now: Now) {
        if self.requests.contains(&id) {
            return;
        }
        self.requests.push_back(id);
        if !self.places.contains_key(&id) {
            let forecast = Forecast::AnyTime(Duration::MAX);
            let place = self.place(Item::new(id, None, Expectation { since: now.wall, forecast, weight: 1.0 }, now));
            self.rest(place);
        }
    }

    /// What people look at now: as if they asked for each of these all the time, as long as it is watched.
    pub fn look_at(&mut self, open: Vec<RowId>) {
        self.open = open;
    }

    /// Whether nothing goes out for now but what a person asks for by name.
    pub fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// How many requests a second the budget allows.
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Polls a second that would keep all answers as fresh as they should be.
    pub fn need(&self) -> f64 {
        need::polls(self.kept, self.young)
    }

    /// Whether the last request was one that a person waits for.
    pub fn last_was_request(&self) -> bool {
        self.last_was_request
    }

    /// A request went out that a person waits for, and that is none of a transaction.
    pub fn sent_for_a_person(&mut self) {
        self.last_was_request = true;
        self.looks = 0;
    }

    /// How many are polled until they are forgotten.
    pub fn watched(&self) -> usize {
        self.kept
    }

    /// What to do now.
    pub fn next(&mut self, now: Now) -> Next {
        self.wake(now.mono);
        if self.paused {
            return match self.asked_for(now.mono) {
                Some(id) => Next::Poll(id),
                None if self.requests.is_empty() => Next::Idle,
                None => Next::WaitUntil(now.mono + Duration::from_secs(1)),
            };
        }
        let requested = self.requested(now.mono);
        if let (Some(id), false) = (requested, self.last_was_request) {
            return Next::Poll(id);
        }
        match (self.next_ready(now), requested) {
            (Some(id), _) | (None, Some(id)) => Next::Poll(id),
            (None, None) => self.next_moment(),
        }
    }

    /// A request about this one is sent.
    pub fn sent(&mut self, id: RowId, now: Now) {
        let asked_for = self.requests.iter().position(|requested| *requested == id);
        if let Some(index) = asked_for {
            self.requests.remove(index);
        }
        self.last_was_request = asked_for.is_some() || self.open.contains(&id);
        self.looks = 0;
        let is_request = self.last_was_request;
        let Some((place, item)) = self.item_mut(id) else { return };
        item.phase = Phase::InFlight;
        item.turn = item.turn.wrapping_add(1);
        let paid = item.urgency.index(seconds(now.mono)).max(LEAST_PRICE);
        // What was sent for another reason than its index says nothing of the price.
        if self.cheapest.take() == Some(place) && !is_request {
            let price = self.price.unwrap_or(paid);
            self.price = Some(price * (paid / price).powf(PRICE_FOLLOWS));
        }
        self.refresh(now.mono);
    }

    /// The request about this one ended at `now`.
    pub fn ended(&mut self, id: RowId, ending: Ending, now: Now) {
        let Some((place, item)) = self.item_mut(id) else { return };
        let interval = match ending {
            Ending::Answered => {
                item.failures = 0;
                item.urgency.last = seconds(now.mono);
                LEAST_INTERVAL
            }
            Ending::Failed => {
                item.failures = item.failures.saturating_add(1);
                backoff(item.failures)
            }
            Ending::Elsewhere => LEAST_INTERVAL,
        };
        item.waiting = now.mono;
        (item.rested, item.earliest) = (now.mono + LEAST_INTERVAL, now.mono + interval);
        // Whether it is overdue has just been said, one way or the other.
        let passed = item.deadline.filter(|deadline| ending == Ending::Answered && *deadline <= now.wall);
        if let Some(deadline) = passed {
            item.deadline = None;
            self.deadlines.remove(&(deadline, place));
        }
        self.rest(place);
    }

    fn item_mut(&mut self, id: RowId) -> Option<(u32, &mut Item)> {
        let place = *self.places.get(&id)?;
        Some((place, self.items.get_mut(place as usize)?))
    }

    /// Gives a new item its place, a free one if there is any.
    fn place(&mut self, item: Item) -> u32 {
        let id = item.id;
        let place = match self.free.pop() {
            Some(place) => place,
            None => u32::try_from(self.items.len()).unwrap_or(u32::MAX),
        };
        match self.items.get_mut(place as usize) {
            // Whatever the queues hold of the one before is stale.
            Some(free) => *free = Item { turn: free.turn.wrapping_add(1), ..item },
            None => self.items.push(item),
        }
        self.places.insert(id, place);
        place
    }

    /// Sets it aside until it may be asked about again.
    fn rest(&mut self, place: u32) {
        let Some(item) = self.items.get_mut(place as usize) else { return };
        item.turn = item.turn.wrapping_add(1);
        let (turn, kept, waiting) = (item.turn, item.kept, item.waiting);
        let at = if kept { item.earliest } else { item.rested };
        item.phase = if kept { Phase::Resting } else { Phase::Aside };
        self.resting.push(Entry { at, place, turn });
        if kept {
            self.waiting.push(Entry { at: waiting, place, turn });
        }
        let (items, most) = (&self.items, 2 * self.items.len() + SLACK);
        self.resting.trim(most, |entry| holds(items, entry));
        self.waiting.trim(most, |entry| holds(items, entry));
    }

    /// Lets those whose rest is over take part; those that nobody wants any more go.
    fn wake(&mut self, now: Mono) {
        let is_young = |entry: &Entry, items: &[Item]| {
            items.get(entry.place as usize).is_some_and(|item| item.young_until == Some(entry.at))
        };
        while let Some(entry) =
            self.growing_up.first(|entry| is_young(entry, &self.items)).filter(|entry| entry.at <= now)
        {
            self.growing_up.pop();
            if let Some(item) = self.items.get_mut(entry.place as usize) {
                item.young_until = None;
                self.young -= 1;
            }
        }
        while let Some(entry) = self.resting.first(|entry| holds(&self.items, entry)).filter(|entry| entry.at <= now) {
            self.resting.pop();
            let item = self.items.get(entry.place as usize);
            match item.map(|item| (item.kept, item.id)) {
                Some((false, id)) if !self.requests.contains(&id) => {
                    self.places.remove(&id);
                    self.free.push(entry.place);
                }
                Some((true, _)) => self.make_ready(entry.place),
                _ => {}
            }
        }
    }

    /// Finds when it is due at the price of now.
    fn make_ready(&mut self, place: u32) {
        let Some(item) = self.items.get_mut(place as usize) else { return };
        let Urgency { last, .. } = item.urgency;
        // Before anything was sent nothing has a price: who waits longest is first.
        let crossing = |price| item.urgency.crossing(price, seconds(item.earliest).max(last));
        let due = moment(self.price.map_or(last, crossing).max(0.0));
        item.price = self.price.unwrap_or(0.0);
        if item.phase != (Phase::Ready { due }) {
            item.phase = Phase::Ready { due };
            self.due.push(Entry { at: due, place, turn: item.turn });
            let (items, queue) = (&self.items, &mut self.due);
            queue.trim(2 * items.len() + SLACK, |entry| is_due(items, entry));
        }
    }

    /// Looks at a few more: one whose index is above the price is due, whatever it was when its crossing was found.
    fn refresh(&mut self, now: Mono) {
        let Some(price) = self.price else { return };
        for _ in 0..REFRESHED.min(self.items.len()) {
            self.cursor = (self.cursor + 1) % self.items.len();
            let Some(item) = self.items.get_mut(self.cursor) else { continue };
            if let Phase::Ready { due } = item.phase
                && due > now
                && item.urgency.index(seconds(now)) > price
            {
                item.price = price;
                item.phase = Phase::Ready { due: now };
                self.due.push(Entry { at: now, place: self.cursor as u32, turn: item.turn });
            }
        }
    }

    /// Whether its crossing was found at another price than now's.
    fn is_stale(&self, item: &Item) -> bool {
        self.price.is_some_and(|price| (item.price - price).abs() > PRICE_TOLERANCE * price)
    }

    /// What a person waits for.
    fn requested(&self, now: Mono) -> Option<RowId> {
        let is_open = |id: &&RowId| self.rested(**id, now).is_some_and(|item| item.kept);
        self.asked_for(now).or_else(|| self.open.iter().find(is_open).copied())
    }

    fn asked_for(&self, now: Mono) -> Option<RowId> {
        self.requests.iter().find(|id| self.rested(**id, now).is_some()).copied()
    }

    /// One that isn't under way and may be asked about again.
    fn rested(&self, id: RowId, now: Mono) -> Option<&Item> {
        let item = self.items.get(*self.places.get(&id)? as usize);
        item.filter(|item| item.phase != Phase::InFlight && item.rested <= now)
    }

    fn next_ready(&mut self, now: Now) -> Option<RowId> {
        let place = self.to_confirm(now).or_else(|| self.starving(now.mono)).or_else(|| self.most_urgent())?;
        self.items.get(place as usize).map(|item| item.id)
    }

    /// One whose deadline has passed without an answer since.
    fn to_confirm(&self, now: Now) -> Option<u32> {
        let passed = self.deadlines.range(..=(now.wall, u32::MAX)).map(|(_, place)| *place);
        // A handful at the front may be resting; looking further would cost more than it brings.
        passed.take(16).find(|place| self.is_ready(*place))
    }

    /// The one that waits longest, if that is too long.
    fn starving(&mut self, now: Mono) -> Option<u32> {
        let items = &self.items;
        let first = self.waiting.first(|entry| holds(items, entry))?;
        let longest = MOST_SWEEPS * self.kept as f64 / self.rate.max(1e-6);
        (now.since(first.at).as_secs_f64() > longest && self.is_ready(first.place)).then_some(first.place)
    }

    /// The one whose index crosses the price first.
    fn most_urgent(&mut self) -> Option<u32> {
        loop {
            let first = self.due.first(|entry| is_due(&self.items, entry))?;
            let is_stale = self.items.get(first.place as usize).is_some_and(|item| self.is_stale(item));
            if !is_stale || self.looks == MOST_LOOKS {
                self.cheapest = Some(first.place);
                return Some(first.place);
            }
            self.looks += 1;
            self.make_ready(first.place);
        }
    }

    fn is_ready(&self, place: u32) -> bool {
        self.items.get(place as usize).is_some_and(|item| matches!(item.phase, Phase::Ready { .. }))
    }

    fn next_moment(&mut self) -> Next {
        let items = &self.items;
        let item = |id: &RowId| items.get(*self.places.get(id)? as usize);
        let requested = self.requests.iter().filter_map(item).filter(|item| item.phase != Phase::InFlight);
        let requested = requested.map(|item| item.rested).min();
        let rested = self.resting.first(|entry| holds(items, entry));
        match requested.into_iter().chain(rested.map(|entry| entry.at)).min() {
            Some(moment) => Next::WaitUntil(moment),
            None => Next::Idle,
        }
    }
}

fn holds(items: &[Item], entry: &Entry) -> bool {
    items.get(entry.place as usize).is_some_and(|item| item.turn == entry.turn)
}

fn is_due(items: &[Item], entry: &Entry) -> bool {
    let item = items.get(entry.place as usize);
    item.is_some_and(|item| item.turn == entry.turn && item.phase == Phase::Ready { due: entry.at })
}

fn seconds(moment: Mono) -> f64 {
    moment.0.as_secs_f64()
}

fn moment(seconds: f64) -> Mono {
    Mono(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// A moment on the wall as seconds of the monotonic clock; below zero before its beginning, never after now.
fn origin(at: DateTime<Utc>, now: Now) -> f64 {
    seconds(now.mono) - span::between(at, now.wall).as_secs_f64()
}
