//! What a poller holds of an ID's budget, alone or together with the other processes of the user.
//!
//! A handle remembers the slots of this process and the changes that the ledger doesn't have yet. It must never give out a
//! slot that the ledger doesn't have as taken.

use std::{collections::BTreeMap, path::Path, time::Duration};

use super::{
    file::LedgerFile,
    ledger::{Ledger, Refused, SlotId},
};
use crate::{
    clock::{Mono, Now},
    process::lock::LockError,
};

/// The first wait while another process writes the file. The wait doubles with each retry.
const FIRST_RETRY: Duration = Duration::from_millis(2);
const LONGEST_RETRY: Duration = Duration::from_millis(128);
/// After so many retries the process that holds the lock seems to be stopped.
const RETRIES_BEFORE_FAULT: u32 = 20;
/// The wait after a fault of the file.
const RETRY_AFTER_FAULT: Duration = Duration::from_secs(1);
/// The weight of the newest count in the mean of other members that wait.
const OTHERS_WEIGHT: f64 = 0.1;
/// The interval at which a member checks whether another process's response arrived.
const CHECK_OTHERS: Duration = Duration::from_millis(50);
/// The interval at which a member with requests under way confirms them in the ledger.
const CONFIRM: Duration = Duration::from_millis(250);
/// The longest time for which a refusal counts without the ledger: another process may raise the limit, or the rate may grow.
const REFUSAL_LIMIT: Duration = Duration::from_secs(1);

/// A taken slot, to be handed back with the end of its request.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a ticket that isn't handed back holds its slot for ever"]
pub struct Ticket(u64);

/// How a request ended, for the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Returned {
    /// With an answer other than a 429.
    Answered,
    /// Without an answer, and the service can't see the request any more: a failure, or the request wasn't sent.
    Failed,
    /// With HTTP 429: the ID rests.
    Throttled {
        /// The rest that the service asks for, already bounded.
        retry_after: Option<Duration>,
        /// Between 0 and 1, so that several processes don't come back together.
        jitter: f64,
    },
    /// The request was given up after this time.
    TimedOut(Duration),
}

/// The end of a request that the ledger doesn't have yet.
#[derive(Debug)]
struct Release {
    slot: u64,
    returned: Returned,
    at: Mono,
}

/// One poller's handle on an ID's budget.
#[derive(Debug)]
pub struct Budget {
    /// The ledger as of the last update.
    ledger: Ledger,
    file: Option<LedgerFile>,
    /// The slots of requests under way, and when each was taken.
    taken: BTreeMap<u64, Mono>,
    next_slot: u64,
    /// The next refusal as far as it is certain, and until when it counts. Other members only delay the next slot.
    refused: Option<(Refused, Mono)>,
    releases: Vec<Release>,
    updated: Mono,
    /// The mean count of other members that wait whenever this member takes a slot.
    others: f64,
    /// How many times in a row another process was writing.
    retries: u32,
    fault: Option<String>,
}

impl Budget {
    /// Creates a budget that no other process uses, of `limit` requests a second (above 0), from the moment `from` on.
    pub fn own(limit: f64, from: Mono) -> Self {
        Self::of(Ledger::new(limit, from), None)
    }

    /// Opens the budget that is shared by all processes of this machine with the same folder and fingerprint. The limit that a
    /// process set last holds for all of them.
    ///
    /// # Errors
    /// If no file can be created in the folder, or the file system has no locks.
    pub fn shared(folder: &Path, fingerprint: &str, limit: f64, now: Now) -> Result<Self, LockError> {
        let (file, ledger) = LedgerFile::open(folder, fingerprint, limit, now)?;
        Ok(Self::of(ledger, Some(file)))
    }

    fn of(ledger: Ledger, file: Option<LedgerFile>) -> Self {
        let (taken, releases) = (BTreeMap::new(), Vec::new());
        // The process ID keeps the slots of two processes apart even if both have the same member number.
        let next_slot = u64::from(std::process::id()) << 32;
        let (updated, refused) = (Mono::default(), None);
        Self { ledger, file, taken, next_slot, refused, releases, updated, others: 0.0, retries: 0, fault: None }
    }

    /// Takes a slot to send at `now`.
    ///
    /// # Errors
    /// The moment before which no slot is free, or that every slot waits for a response.
    pub fn take(&mut self, now: Mono) -> Result<Ticket, Refused> {
        if let Some(refused) = self.refusal(now) {
            return Err(refused);
        }
        let slot = self.next_slot;
        let take =
            |ledger: &mut Ledger, member| (ledger.take(SlotId { member, slot }, now), ledger.is_only_waiting(member));
        let (taken, is_only_waiting) = self.update(now, take)?;
        match taken {
            Ok(others) => {
                self.others += OTHERS_WEIGHT * (others as f64 - self.others);
                self.next_slot += 1;
                self.taken.insert(slot, now);
                self.predict_refusal(is_only_waiting, now);
                Ok(Ticket(slot))
            }
            // Another process may receive the next response.
            Err(Refused::UntilAnswered) if self.ledger.under_way() > self.taken.len() => {
                Err(Refused::Until(now + CHECK_OTHERS))
            }
            Err(refused) => {
                self.keep_refusal(refused, now);
                Err(refused)
            }
        }
    }

    fn keep_refusal(&mut self, refused: Refused, now: Mono) {
        self.refused = match refused {
            Refused::Until(ready) if ready > now + REFUSAL_LIMIT => None,
            Refused::Until(ready) => Some((refused, ready)),
            // Every slot waits for a response to this process, which `hand_back` reports here first.
            Refused::UntilAnswered => Some((refused, now + REFUSAL_LIMIT)),
        };
    }

    /// Keeps the refusal that the next `take` would get. Only while no other member waits: a place in the queue is needed
    /// otherwise.
    fn predict_refusal(&mut self, is_only_waiting: bool, now: Mono) {
        let refused = match self.ledger.ready_at() {
            Some(ready) if ready > now => Refused::Until(ready),
            None if self.ledger.under_way() == self.taken.len() => Refused::UntilAnswered,
            _ => return,
        };
        if is_only_waiting {
            self.keep_refusal(refused, now);
        }
    }

    /// Returns the refusal that [`Self::take`] is certain to give without reading the ledger. The caller need not choose a
    /// request then.
    pub fn refusal(&self, now: Mono) -> Option<Refused> {
        self.refused.filter(|(_, until)| now < *until).map(|(refused, _)| refused)
    }

    /// Hands a slot back at `now`; its request ended at `at`, which may be earlier. Returns how long the request took.
    pub fn hand_back(&mut self, ticket: Ticket, returned: Returned, (at, now): (Mono, Mono)) -> Duration {
        let Ticket(slot) = ticket;
        let since = self.taken.remove(&slot).unwrap_or(at);
        self.releases.push(Release { slot, returned, at });
        // If the file can't be written now, the next update or `sync` writes the release.
        let is_only_waiting = self.update(now, |ledger, member| ledger.is_only_waiting(member)).unwrap_or(false);
        self.predict_refusal(is_only_waiting, now);
        at.since(since)
    }

    /// Writes pending releases, and confirms the requests under way in the ledger, whatever happened to its file. Returns the
    /// moment of the next call.
    pub fn sync(&mut self, now: Mono) -> Option<Mono> {
        let is_busy = !self.taken.is_empty() || !self.releases.is_empty();
        if self.file.is_none() || !is_busy {
            return None;
        }
        if now.since(self.updated) >= CONFIRM || !self.releases.is_empty() {
            self.update(now, |_, _| ()).ok();
        }
        Some(now + if self.releases.is_empty() { CONFIRM } else { self.retry_wait() })
    }

    /// Returns the ledger as of the last update, for display.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns how many requests a second can be sent if each takes `trip` there and back and the other members go on as before.
    pub fn throughput(&self, trip: Duration) -> f64 {
        self.ledger.throughput(trip) / (1.0 + self.others)
    }

    /// Returns why the last update of the file failed, if it did.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Returns the wait before the next retry while another process writes.
    fn retry_wait(&self) -> Duration {
        FIRST_RETRY.saturating_mul(1 << self.retries.min(16)).min(LONGEST_RETRY)
    }

    /// Updates the ledger: first the slots of this process and the pending releases, then `change`.
    pub(super) fn update<T>(&mut self, now: Mono, change: impl FnOnce(&mut Ledger, u32) -> T) -> Result<T, Refused> {
        self.refused = None;
        let (taken, releases) = (&self.taken, &self.releases);
        let change = |ledger: &mut Ledger, member| {
            ledger.reconcile(member, taken);
            releases.iter().for_each(|release| release.apply(member, ledger));
            change(ledger, member)
        };
        let changed = match &mut self.file {
            None => change(&mut self.ledger, 0),
            Some(file) => match file.update(now, change) {
                Ok(Some((changed, ledger))) => {
                    (self.ledger, self.retries, self.fault) = (ledger, 0, None);
                    changed
                }
                Ok(None) => {
                    let wait = self.retry_wait();
                    self.retries = self.retries.saturating_add(1);
                    if self.retries >= RETRIES_BEFORE_FAULT {
                        let stopped = "another hoptop holds the budget's file and does nothing; it may be suspended";
                        self.fault = Some(stopped.to_owned());
                    }
                    return Err(Refused::Until(now + wait));
                }
                Err(error) => {
                    self.fault = Some(error.to_string());
                    return Err(Refused::Until(now + RETRY_AFTER_FAULT));
                }
            },
        };
        self.releases.clear();
        self.updated = now;
        Ok(changed)
    }
}

impl Release {
    fn apply(&self, member: u32, ledger: &mut Ledger) {
        let id = SlotId { member, slot: self.slot };
        match self.returned {
            Returned::Answered => {
                ledger.release_answered(id, self.at);
                ledger.pace.answered(self.at);
            }
            Returned::Failed => ledger.release_answered(id, self.at),
            Returned::TimedOut(timeout) => ledger.release_timed_out(id, self.at, timeout),
            Returned::Throttled { retry_after, jitter } => {
                ledger.release_answered(id, self.at);
                ledger.pace.throttled(retry_after, jitter, self.at);
            }
        }
    }
}
