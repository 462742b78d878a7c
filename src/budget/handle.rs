//! A poller's handle on an ID's budget, alone or shared with the user's other processes.
//!
//! A handle remembers the slots of this process and the releases that the ledger doesn't have yet. At a high rate a
//! handle takes slots in blocks and writes releases with the next block. Few requests then cost an update of the file.
//! The handle must never give out a slot that the ledger doesn't have as taken.

use std::{collections::BTreeMap, path::Path, time::Duration};

use super::{
    block::{self, SlotBlock},
    file::LedgerFile,
    ledger::{Ledger, SlotId, SlotRefusal},
    pace::PaceHandover,
};
use crate::{
    clock::{MonotonicTime, Now},
    process::lock::LockError,
};

/// The first wait while another process writes the file. The wait doubles with each retry.
const FIRST_RETRY: Duration = Duration::from_millis(2);
const MAX_RETRY: Duration = Duration::from_millis(128);
/// After so many retries the process that holds the lock seems to be stopped.
const RETRIES_BEFORE_FAULT: u32 = 20;
/// The wait after a fault of the file.
const RETRY_AFTER_FAULT: Duration = Duration::from_secs(1);
/// The weight of the newest count in the mean of other members that wait.
const OTHERS_WEIGHT: f64 = 0.1;
/// The interval at which a member checks whether another process's response arrived.
const CHECK_OTHERS: Duration = Duration::from_millis(50);
/// The interval at which a member with requests under way confirms them in the ledger, and the longest delay of a
/// release. A released slot rests for a second at least, so that no member could use it sooner.
const CONFIRM: Duration = Duration::from_millis(250);
/// The longest time for which a refusal counts without the ledger: another process may raise the limit, or the rate may
/// grow.
const REFUSAL_LIMIT: Duration = Duration::from_secs(1);

/// A taken slot, to be handed back with the end of its request.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit that isn't handed back holds its slot for ever"]
pub struct SlotPermit(u64);

/// How a request ended, for the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RequestEnd {
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
struct SlotRelease {
    slot: u64,
    request_end: RequestEnd,
    at: MonotonicTime,
}

/// One poller's handle on an ID's budget.
#[derive(Debug)]
pub struct Budget {
    /// The ledger as of the last update.
    ledger: Ledger,
    file: Option<LedgerFile>,
    /// The slots of requests under way, and when each was taken.
    taken: BTreeMap<u64, MonotonicTime>,
    next_slot: u64,
    /// Slots that are taken for the next moments.
    block: Option<SlotBlock>,
    /// The number of slots in the last block, and until when the next block continues it.
    last_block: (usize, MonotonicTime),
    /// The next refusal as far as it is certain, and until when it counts. Other members only delay the next slot.
    refused: Option<(SlotRefusal, MonotonicTime)>,
    releases: Vec<SlotRelease>,
    updated: MonotonicTime,
    /// When the last update, which failed, is worth a retry.
    retry_at: Option<MonotonicTime>,
    /// The mean count of other members that wait whenever this member takes a slot.
    others: f64,
    /// How many times in a row another process was writing.
    retries: u32,
    fault: Option<String>,
}

impl Budget {
    /// Creates a budget that no other process uses, of `limit` requests a second (above 0), from the moment `from` on.
    pub fn unshared(limit: f64, from: MonotonicTime) -> Self {
        Self::of(Ledger::new(limit, from), None)
    }

    /// Opens the budget that is shared by all processes of this machine with the same folder and fingerprint. The limit
    /// that a process set last holds for all of them.
    ///
    /// # Errors
    /// If no file can be created in the folder, or the file system has no locks.
    pub fn shared(folder: &Path, fingerprint: &str, limit: f64, now: Now) -> Result<Self, LockError> {
        let (file, ledger) = LedgerFile::open(folder, fingerprint, limit, now)?;
        Ok(Self::of(ledger, Some(file)))
    }

    fn of(ledger: Ledger, file: Option<LedgerFile>) -> Self {
        Self {
            ledger,
            file,
            taken: BTreeMap::new(),
            // The process ID keeps the slots of two processes apart even if both have the same member number.
            next_slot: u64::from(std::process::id()) << 32,
            block: None,
            last_block: (0, MonotonicTime::default()),
            refused: None,
            releases: Vec::new(),
            updated: MonotonicTime::default(),
            retry_at: None,
            others: 0.0,
            retries: 0,
            fault: None,
        }
    }

    /// Takes a slot to send at `now`.
    ///
    /// # Errors
    /// The moment before which no slot is free, or that every slot waits for a response.
    pub fn take(&mut self, now: MonotonicTime) -> Result<SlotPermit, SlotRefusal> {
        if let Some(refused) = self.refusal(now) {
            return Err(refused);
        }
        if let Some(permit) = self.take_from_block(now) {
            return Ok(permit);
        }
        let (first, most) = (self.next_slot, self.block_size(now));
        let reserve =
            |ledger: &mut Ledger, member| ledger.reserve(SlotId { member, slot: first }, most, block::SPAN, now);
        match self.update(now, reserve)? {
            Ok(reservation) => {
                self.others += OTHERS_WEIGHT * (reservation.others as f64 - self.others);
                let taken = reservation.sends.len();
                self.next_slot += taken as u64;
                self.last_block = (taken, reservation.end + block::SPAN);
                self.block = Some(SlotBlock::new(first, reservation, self.ledger.rate(), now));
                Ok(self.record_sent(first, now))
            }
            // Another process may receive the next response.
            Err(SlotRefusal::UntilAnswered) if self.ledger.under_way() > self.taken.len() => {
                Err(SlotRefusal::Until(now + CHECK_OTHERS))
            }
            Err(refused) => {
                self.keep_refusal(refused, now);
                Err(refused)
            }
        }
    }

    /// Takes a slot of the block, unless another process changed the ledger so that the block's plan no longer holds.
    fn take_from_block(&mut self, now: MonotonicTime) -> Option<SlotPermit> {
        let slot = self.block.as_ref()?.next_slot(now)?;
        let file = self.file.as_mut()?;
        // A file that can't be read now can't be updated either, and the update says why.
        if let Some(changed) = file.read_if_changed(now).ok()? {
            let mut ledger = changed?;
            let member = file.member();
            self.releases.iter().for_each(|release| release.apply(member, &mut ledger));
            let is_allowed = self.block.as_ref()?.is_allowed_by(&ledger, now);
            if !is_allowed || !ledger.has_taken(SlotId { member, slot }) {
                return None;
            }
            self.ledger = ledger;
        }
        let slot = self.block.as_mut()?.take(now)?;
        Some(self.record_sent(slot, now))
    }

    /// Records that the request of this slot is sent at `now`.
    fn record_sent(&mut self, slot: u64, now: MonotonicTime) -> SlotPermit {
        self.taken.insert(slot, now);
        self.predict_refusal(now);
        SlotPermit(slot)
    }

    /// Returns how many slots the next block may have: twice as many each time while requests follow one another.
    fn block_size(&self, now: MonotonicTime) -> usize {
        let (size, until) = self.last_block;
        if now <= until { (2 * size).clamp(1, self.max_slots()) } else { 1 }
    }

    /// Returns the highest number of slots in a block. A budget without a file needs no blocks.
    fn max_slots(&self) -> usize {
        if self.file.is_some() { SlotBlock::max_slots(self.ledger.rate()) } else { 1 }
    }

    fn keep_refusal(&mut self, refused: SlotRefusal, now: MonotonicTime) {
        self.refused = match refused {
            SlotRefusal::Until(ready) if ready > now + REFUSAL_LIMIT => None,
            SlotRefusal::Until(ready) => Some((refused, ready)),
            // Every slot waits for a response to this process, which `release` reports here first.
            SlotRefusal::UntilAnswered => Some((refused, now + REFUSAL_LIMIT)),
        };
    }

    /// Keeps the refusal that the next `take` would get, if it is certain.
    fn predict_refusal(&mut self, now: MonotonicTime) {
        self.refused = None;
        let ready = match self.block.as_ref().and_then(SlotBlock::ready_at) {
            Some(ready) => Some(ready),
            None if self.ledger.is_only_waiting(self.member()) => self.ledger.ready_at(),
            // While other members wait, this one needs a place in the queue.
            None => return,
        };
        match ready {
            Some(ready) if ready > now => self.keep_refusal(SlotRefusal::Until(ready), now),
            None if self.ledger.under_way() == self.taken.len() => self.keep_refusal(SlotRefusal::UntilAnswered, now),
            _ => {}
        }
    }

    /// Returns the number of this member in the ledger.
    fn member(&self) -> u32 {
        self.file.as_ref().map_or(0, LedgerFile::member)
    }

    /// Returns the refusal that [`Self::take`] is certain to give without reading the ledger. The caller need not
    /// choose a request then.
    pub fn refusal(&self, now: MonotonicTime) -> Option<SlotRefusal> {
        self.refused.filter(|(_, until)| now < *until).map(|(refused, _)| refused)
    }

    /// Hands a slot back at `now`; its request ended at `at`, which may be earlier. Returns how long the request took.
    /// The ledger gets a 429 at once, and other ends of requests at a high rate with the next update.
    pub fn release(
        &mut self,
        permit: SlotPermit,
        request_end: RequestEnd,
        at: MonotonicTime,
        now: MonotonicTime,
    ) -> Duration {
        let SlotPermit(slot) = permit;
        let since = self.taken.remove(&slot).unwrap_or(at);
        let release = SlotRelease { slot, request_end, at };
        if self.can_wait(&release, now) {
            release.apply(self.member(), &mut self.ledger);
            self.releases.push(release);
            // The released slot rests for a second, so that a refusal until some moment before that still counts.
            if !matches!(self.refusal(now), Some(SlotRefusal::Until(_))) {
                self.predict_refusal(now);
            }
        } else {
            self.releases.push(release);
            // If the file can't be written now, the next update or `sync` writes the release.
            if self.update(now, |_, _| ()).is_ok() {
                self.predict_refusal(now);
            }
        }
        at.since(since)
    }

    /// Returns whether a release may be written with the next block. Other members must know of a 429 at once.
    fn can_wait(&self, release: &SlotRelease, now: MonotonicTime) -> bool {
        let is_throttled = matches!(release.request_end, RequestEnd::Throttled { .. });
        !is_throttled && self.max_slots() > 1 && now < self.updated + CONFIRM
    }

    /// Does the due work: returns an expired block, writes pending releases, and confirms the requests under way in the
    /// ledger, even if its file was lost. Returns the moment of the next call.
    pub fn sync(&mut self, now: MonotonicTime) -> Option<MonotonicTime> {
        if self.due()? > now {
            return self.due();
        }
        if self.unused_block().is_some() {
            // Requests no longer follow one another.
            self.last_block.0 = 0;
        }
        // A failed update sets the moment of its retry.
        self.update(now, |_, _| ()).ok();
        self.due()
    }

    /// Returns when the file must be updated next, if nothing happens until then.
    fn due(&self) -> Option<MonotonicTime> {
        self.file.as_ref()?;
        let is_busy = !self.taken.is_empty() || !self.releases.is_empty();
        // A failed update has not returned the slots of its block.
        let confirm = self.retry_at.or_else(|| is_busy.then(|| self.updated + CONFIRM));
        self.unused_block().map(|block| block.end).into_iter().chain(confirm).min()
    }

    /// Returns the block, if slots of it are left.
    fn unused_block(&self) -> Option<&SlotBlock> {
        self.block.as_ref().filter(|block| block.ready_at().is_some())
    }

    /// Returns unused slots and writes pending releases, before this process ends or waits for long. Without this call
    /// other processes wait until the slots of the dead process have rested.
    pub fn close(&mut self, now: MonotonicTime) {
        let has_pending = self.unused_block().is_some() || !self.releases.is_empty() || self.retry_at.is_some();
        if has_pending && self.update(now, |_, _| ()).is_err() {
            tracing::debug!("failed to release budget slots; other processes wait up to 9 s for them");
        }
    }

    /// Applies the pace of the machine that used the ID before this one.
    pub fn inherit(&mut self, left: &PaceHandover, now: MonotonicTime) {
        // If the file can't be written now, this process keeps to it alone.
        if self.update(now, |ledger, _| ledger.inherit(left, now)).is_err() {
            self.ledger.inherit(left, now);
        }
    }

    /// Returns the ledger as of the last update, for display.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns how many requests a second can be sent if each takes `round_trip` and other members go on as before.
    pub fn throughput(&self, round_trip: Duration) -> f64 {
        self.ledger.throughput(round_trip) / (1.0 + self.others)
    }

    /// Returns why the last update of the file failed, if it did.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Returns the wait before the next retry while another process writes.
    fn retry_wait(&self) -> Duration {
        FIRST_RETRY.saturating_mul(1 << self.retries.min(16)).min(MAX_RETRY)
    }

    /// Updates the ledger: first the slots of this process and the pending releases, then `change`.
    pub(super) fn update<T>(
        &mut self,
        now: MonotonicTime,
        change: impl FnOnce(&mut Ledger, u32) -> T,
    ) -> Result<T, SlotRefusal> {
        self.refused = None;
        // Each update ends the block: its slots are no longer among those of this process.
        let block = self.block.take();
        let (taken, releases) = (&self.taken, &self.releases);
        let change = |ledger: &mut Ledger, member| {
            ledger.reconcile(member, taken);
            if let Some(block) = &block {
                ledger.return_stretch(block.end, block.next_send);
            }
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
                    let again = now + self.retry_wait();
                    self.retry_at = Some(again);
                    self.retries = self.retries.saturating_add(1);
                    if self.retries >= RETRIES_BEFORE_FAULT {
                        let stopped = "another hoptop process has locked the budget file and does not release it; it may be suspended: resume or end it";
                        self.fault = Some(stopped.to_owned());
                    }
                    return Err(SlotRefusal::Until(again));
                }
                Err(error) => {
                    let again = now + RETRY_AFTER_FAULT;
                    (self.retry_at, self.fault) = (Some(again), Some(error.to_string()));
                    return Err(SlotRefusal::Until(again));
                }
            },
        };
        self.releases.clear();
        (self.updated, self.retry_at) = (now, None);
        Ok(changed)
    }
}

impl SlotRelease {
    fn apply(&self, member: u32, ledger: &mut Ledger) {
        let id = SlotId { member, slot: self.slot };
        match self.request_end {
            RequestEnd::Answered => {
                ledger.release(id, self.at);
                ledger.pace.apply_answered(self.at);
            }
            RequestEnd::Failed => ledger.release(id, self.at),
            RequestEnd::TimedOut(timeout) => ledger.release(id, self.at + timeout),
            RequestEnd::Throttled { retry_after, jitter } => {
                ledger.release(id, self.at);
                ledger.pace.apply_throttled(retry_after, jitter, self.at);
            }
        }
    }
}
