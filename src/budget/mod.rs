//! The budget of an integrator ID: when may a request be sent?
//!
//! [`Ledger`] is pure: moments in, moments out. [`Budget`] is what a poller holds of it, alone or shared through a small
//! file with all processes of the user. Nothing here may know what a request is about.

mod ledger;
mod pace;
mod shared;

use std::{collections::BTreeMap, path::Path, time::Duration};

pub use self::shared::peek;
use self::{ledger::SlotId, shared::Shared};
pub use self::{
    ledger::{Ledger, Refused},
    pace::Pace,
};
use crate::{
    clock::{Mono, Now},
    process::lock::LockError,
};

/// How soon somebody who writes the ledger just now is done; if not, twice as long each time, at most so long.
const MOMENT: Duration = Duration::from_millis(2);
const LONGEST_MOMENT: Duration = Duration::from_millis(128);
/// After so many of these somebody seems to be stopped in the middle.
const MOMENTS: u32 = 20;
/// How soon after a fault of the file it is tried again.
const AFTER_FAULT: Duration = Duration::from_secs(1);
/// How far the number of others that wait follows each time.
const OTHERS_FOLLOW: f64 = 0.1;
/// How soon it is looked again whether another process's answer has come.
const OTHERS: Duration = Duration::from_millis(50);
/// How often a process with a request under way makes sure that the others know of it.
const TENDED: Duration = Duration::from_millis(250);
/// So long a refusal counts at most without another look at the ledger: somebody may have raised the limit meanwhile, or the rate
/// may have grown back.
const REFUSAL: Duration = Duration::from_secs(1);

/// A taken slot; to be handed back with what became of the request.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a ticket that isn't handed back holds its slot for ever"]
pub struct Ticket(u64);

/// How a request ended, for the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Returned {
    /// With an answer that says nothing against the rate.
    Answered,
    /// Otherwise, but the service won't see it any more: a failure, or it wasn't sent at all.
    Failed,
    /// With HTTP 429: the ID rests.
    Throttled {
        /// What the service asks for, already bounded.
        retry_after: Option<Duration>,
        /// Between 0 and 1, so that several don't come back together.
        jitter: f64,
    },
    /// It was given up after this time.
    TimedOut(Duration),
}

/// What is to be told to the ledger, in order, as soon as it can be written.
#[derive(Debug)]
struct Note {
    slot: u64,
    returned: Returned,
    at: Mono,
}

/// One poller's hold on an ID's budget.
#[derive(Debug)]
pub struct Budget {
    /// The ledger as it was last seen.
    ledger: Ledger,
    shared: Option<Shared>,
    /// Slots that are taken for requests under way, and since when.
    taken: BTreeMap<u64, Mono>,
    next_slot: u64,
    /// How the ledger refused a slot, and until when that counts: what others do makes it later, or a little sooner.
    refused: Option<(Refused, Mono)>,
    notes: Vec<Note>,
    tended: Mono,
    /// How many others wait whenever this one sends, the newer times weighing more.
    others: f64,
    /// How many times in a row somebody else was writing.
    missed: u32,
    fault: Option<String>,
}

impl Budget {
    /// A budget that is nobody else's, of `limit` requests a second (above 0), from the moment `from` on.
    pub fn own(limit: f64, from: Mono) -> Self {
        Self::of(Ledger::new(limit, from), None)
    }

    /// The budget that all processes of this machine share which name the same folder and fingerprint. The limit that was
    /// said last counts for all of them.
    ///
    /// # Errors
    /// If no file can be made in the folder, or the file system has no locks.
    pub fn shared(folder: &Path, fingerprint: &str, limit: f64, now: Now) -> Result<Self, LockError> {
        let (shared, ledger) = Shared::open(folder, fingerprint, limit, now)?;
        Ok(Self::of(ledger, Some(shared)))
    }

    fn of(ledger: Ledger, shared: Option<Shared>) -> Self {
        let (taken, notes) = (BTreeMap::new(), Vec::new());
        // Slots of two processes are never the same, whatever becomes of their seats; those of one are told apart by these.
        let next_slot = u64::from(std::process::id()) << 32;
        let (tended, refused) = (Mono::default(), None);
        Self { ledger, shared, taken, next_slot, refused, notes, tended, others: 0.0, missed: 0, fault: None }
    }

    /// Takes a slot to send at `now`; refused before some moment, or until something happens.
    pub fn take(&mut self, now: Mono) -> Result<Ticket, Refused> {
        if let Some(refused) = self.refusal(now) {
            return Err(refused);
        }
        let slot = self.next_slot;
        let take = |ledger: &mut Ledger, seat| (ledger.take(SlotId { seat, slot }, now), ledger.is_alone(seat));
        let (taken, is_alone) = self.update(now, take)?;
        match taken {
            Ok(others) => {
                self.others += OTHERS_FOLLOW * (others as f64 - self.others);
                self.next_slot += 1;
                self.taken.insert(slot, now);
                self.foresee(is_alone, now);
                Ok(Ticket(slot))
            }
            // The answer may be one that another process waits for.
            Err(Refused::UntilAnswered) if self.ledger.under_way() > self.taken.len() => {
                Err(Refused::Until(now + OTHERS))
            }
            Err(refused) => {
                self.remember(refused, now);
                Err(refused)
            }
        }
    }

    fn remember(&mut self, refused: Refused, now: Mono) {
        self.refused = match refused {
            Refused::Until(ready) if ready > now + REFUSAL => None,
            Refused::Until(ready) => Some((refused, ready)),
            // Each slot waits for an answer to this process, which is told here first.
            Refused::UntilAnswered => Some((refused, now + REFUSAL)),
        };
    }

    /// Remembers how the next slot would be refused, if it would. Who waits while nobody else does needs no place in the queue.
    fn foresee(&mut self, is_alone: bool, now: Mono) {
        let refused = match self.ledger.ready_at() {
            Some(ready) if ready > now => Refused::Until(ready),
            None if self.ledger.under_way() == self.taken.len() => Refused::UntilAnswered,
            _ => return,
        };
        if is_alone {
            self.remember(refused, now);
        }
    }

    /// What [`Self::take`] would say for sure, without another look at the ledger; whoever knows that need not know what to send.
    pub fn refusal(&self, now: Mono) -> Option<Refused> {
        self.refused.filter(|(_, until)| now < *until).map(|(refused, _)| refused)
    }

    /// Hands a slot back at `now`: its request ended so at `at`, perhaps a while ago. Returns how long the request took.
    pub fn hand_back(&mut self, ticket: Ticket, returned: Returned, (at, now): (Mono, Mono)) -> Duration {
        let Ticket(slot) = ticket;
        let since = self.taken.remove(&slot).unwrap_or(at);
        self.notes.push(Note { slot, returned, at });
        // If it can't be written now it is with the next one, or by `tend`.
        let is_alone = self.update(now, |ledger, seat| ledger.is_alone(seat)).unwrap_or(false);
        self.foresee(is_alone, now);
        at.since(since)
    }

    /// Makes sure that the ledger knows of what is under way, whatever happened to its file. Returns when it wants to be
    /// called again.
    pub fn tend(&mut self, now: Mono) -> Option<Mono> {
        let busy = !self.taken.is_empty() || !self.notes.is_empty();
        if self.shared.is_none() || !busy {
            return None;
        }
        if now.since(self.tended) >= TENDED || !self.notes.is_empty() {
            self.update(now, |_, _| ()).ok();
        }
        Some(now + if self.notes.is_empty() { TENDED } else { self.moment() })
    }

    /// The limit changed.
    pub fn set_limit(&mut self, limit: f64, now: Mono) {
        if let Some(shared) = &mut self.shared {
            shared.limit = limit;
        }
        self.update(now, move |ledger, _| ledger.set_limit(limit)).ok();
    }

    /// The ledger as it was last seen: for what is shown.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Requests a second that can really go out, if each takes `trip` there and back, and the others go on as they do.
    pub fn throughput(&self, trip: Duration) -> f64 {
        self.ledger.throughput(trip) / (1.0 + self.others)
    }

    /// Why the file couldn't be written the last time, if so.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// How soon it is worth trying again while somebody else is writing.
    fn moment(&self) -> Duration {
        MOMENT.saturating_mul(1 << self.missed.min(16)).min(LONGEST_MOMENT)
    }

    /// Changes the ledger, after whatever was noted before.
    fn update<T>(&mut self, now: Mono, change: impl FnOnce(&mut Ledger, u32) -> T) -> Result<T, Refused> {
        self.refused = None;
        let (taken, notes) = (&self.taken, &self.notes);
        let change = |ledger: &mut Ledger, seat| {
            ledger.recall(seat, taken);
            notes.iter().for_each(|note| note.write(seat, ledger));
            change(ledger, seat)
        };
        let changed = match &mut self.shared {
            None => change(&mut self.ledger, 0),
            Some(shared) => match shared.update(now, change) {
                Ok(Some((changed, ledger))) => {
                    (self.ledger, self.missed, self.fault) = (ledger, 0, None);
                    changed
                }
                Ok(None) => {
                    let wait = self.moment();
                    self.missed = self.missed.saturating_add(1);
                    if self.missed >= MOMENTS {
                        let stopped = "another hoptop holds the budget's file and does nothing; it may be suspended";
                        self.fault = Some(stopped.to_owned());
                    }
                    return Err(Refused::Until(now + wait));
                }
                Err(error) => {
                    self.fault = Some(error.to_string());
                    return Err(Refused::Until(now + AFTER_FAULT));
                }
            },
        };
        self.notes.clear();
        self.tended = now;
        Ok(changed)
    }
}

impl Note {
    fn write(&self, seat: u32, ledger: &mut Ledger) {
        let id = SlotId { seat, slot: self.slot };
        match self.returned {
            Returned::Answered => {
                ledger.answered(id, self.at);
                ledger.pace.answered(self.at);
            }
            Returned::Failed => ledger.answered(id, self.at),
            Returned::TimedOut(timeout) => ledger.lost(id, self.at, timeout),
            Returned::Throttled { retry_after, jitter } => {
                ledger.answered(id, self.at);
                ledger.pace.throttled(retry_after, jitter, self.at);
            }
        }
    }
}

#[cfg(test)]
mod tests;
