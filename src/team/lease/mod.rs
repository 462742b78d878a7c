//! The lease of an integrator ID: which machine of a team may poll?
//!
//! Sans-IO: [`Lease::next`] returns the next request to the database or the moment to wait for, and [`Lease::on_reply`]
//! takes the answer. The lease knows one row of the database and this machine's monotonic clock. It must never read a
//! wall clock, and never trust a server that may have lost its newest writes.
//!
//! The holder proves its life by a beat each second, and trusts itself for 4 s from *before* a successful beat was
//! sent. A candidate takes the lease after the row was unchanged for 5 s by its own clock, on one server. It then sends
//! nothing for another 3.5 s. A connection gives up after 2 s, and a path takes 1 s. So the last byte of the old holder
//! arrives 1.2 s before the first byte of the new one. No second at the service holds requests of both:
//!
//! ```text
//!   old holder   beat t0 ─── trust 4 s ──► last byte t0 + 4.05 s ──► arrives by t0 + 7.25 s
//!   candidate       └ sees it ─── 5 s unchanged ───► takes it ─── 3.5 s ───► first byte after t0 + 8.5 s
//! ```
//!
//! After a failover or a restart of the database nothing that was read before counts: a standby may have lost the
//! newest beats and takeovers. A server is therefore identified by its start time.

use std::time::Duration;

use crate::{clock::MonotonicTime, domain::team::Drain};

/// The time between two beats of a holder, and between two reads of a candidate.
const BEAT: Duration = Duration::from_secs(1);
/// How long the row must be unchanged, by the candidate's clock, before another machine may take the lease.
const EXPIRY: Duration = Duration::from_secs(5);
/// How long a holder trusts its lease, from the moment before the last successful beat was sent.
pub(crate) const TRUST: Duration = Duration::from_secs(4);
/// No request to the service begins later than this span before the trust ends.
pub(crate) const MARGIN: Duration = Duration::from_millis(500);
/// How long a new holder sends nothing after it took the lease from a holder that may still be alive.
const QUARANTINE: Duration = Duration::from_millis(3_500);
/// How long a new holder sends nothing after it took a lease that was released. The former holder had all of its
/// answers before it released the lease.
const HANDOVER: Duration = Duration::from_secs(1);
/// A request to the database that isn't answered within this span counts as failed.
pub(crate) const REPLY_LIMIT: Duration = Duration::from_secs(2);
/// How long a machine that released the lease lets others take it.
const TAKEOVER_COOLDOWN: Duration = Duration::from_secs(10);

/// Identifies a candidate for as long as its process runs. Random, so that no candidate mistakes another holder for
/// itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HolderId(pub u128);

/// Identifies one life of a database server: its start time in microseconds. Another value means that the newest writes
/// may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerStart(pub i64);

/// The row of the lease in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseRow {
    /// The number of takeovers so far.
    pub epoch: u64,
    /// Who may poll.
    pub holder: LeaseHolder,
    /// The number of beats in this epoch.
    pub beat: u64,
}

/// The holder that the row names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseHolder {
    /// The holder with this ID may poll.
    Held(HolderId),
    /// No machine holds the lease. The server is set if the last holder released the lease there and knew that no other
    /// machine could hold it.
    Free(Option<ServerStart>),
}

/// A request to the database. The database carries each one out in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseRequest {
    /// Reads the row.
    Read,
    /// Takes the lease if the row still has this epoch and beat on this server. On another server an older row may be
    /// the same as the one that was watched.
    Take {
        /// The epoch that was read.
        epoch: u64,
        /// The beat that was read.
        beat: u64,
        /// The server that was read.
        server: ServerStart,
    },
    /// Adds a beat if this machine holds the lease in this epoch.
    Beat {
        /// The holder's epoch.
        epoch: u64,
    },
    /// Gives the lease back if this machine holds it in this epoch. The row is then free on `server`.
    Release {
        /// The holder's epoch.
        epoch: u64,
        /// The server on which no other machine can hold the lease.
        server: Option<ServerStart>,
    },
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseReply {
    /// Whether the request was carried out. Always `true` for a read.
    pub is_granted: bool,
    /// The row after the request.
    pub row: LeaseRow,
    pub server: ServerStart,
    /// Whether the server is a standby, whose row may be old.
    pub in_recovery: bool,
}

/// What the driver does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseStep {
    /// Send this request. [`Lease::on_reply`] expects its number.
    Send(u64, LeaseRequest),
    /// Nothing is to be done before this moment or the next reply.
    WaitUntil(MonotonicTime),
}

/// Whether this machine may send requests to the service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SendPermission {
    /// This machine doesn't hold the lease, or no longer trusts it.
    #[default]
    No,
    /// This machine holds the lease, and may send from this moment on if it still trusts the lease then.
    From(MonotonicTime),
    /// Requests may begin until this moment. What sends must be killed at `kill_at`.
    Until {
        /// No request begins after this moment.
        begin: MonotonicTime,
        /// No byte leaves after this moment.
        kill_at: MonotonicTime,
    },
}

/// The part of this machine in the lease of one ID.
#[derive(Debug)]
pub(crate) struct Lease {
    id: HolderId,
    /// How much longer than others this machine waits before it takes the lease.
    takeover_delay: Duration,
    state: LeaseState,
    pending: Option<PendingRequest>,
    requests: u64,
    next_request: MonotonicTime,
    /// Until then this machine doesn't take the lease.
    no_takeover_before: MonotonicTime,
}

#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    number: u64,
    request: LeaseRequest,
    sent_at: MonotonicTime,
}

#[derive(Clone, Copy, Debug)]
enum LeaseState {
    Candidate(Option<ObservedRow>),
    Holder(HeldLease, HolderPhase),
}

/// What a holder does with its lease.
#[derive(Clone, Copy, Debug)]
enum HolderPhase {
    /// Requests may be sent to the service.
    Sending,
    /// Nothing new is sent; the driver waits for the answers to its requests.
    Draining,
    /// The lease is being released; nothing is sent any more.
    Releasing(Drain),
}

/// The row as a candidate saw it, and since when it has been unchanged on this server.
#[derive(Clone, Copy, Debug)]
struct ObservedRow {
    row: LeaseRow,
    server: ServerStart,
    since: MonotonicTime,
}

/// The holder's knowledge of its lease.
#[derive(Clone, Copy, Debug)]
struct HeldLease {
    epoch: u64,
    server: ServerStart,
    trusted_until: MonotonicTime,
    sends_from: MonotonicTime,
}

impl Lease {
    /// Creates a candidate. `takeover_delay` orders the machines of a team: the machine with the shortest
    /// delay takes the lease first.
    pub(crate) fn new(id: HolderId, takeover_delay: Duration) -> Self {
        Self {
            id,
            takeover_delay,
            state: LeaseState::Candidate(None),
            pending: None,
            requests: 0,
            next_request: MonotonicTime::default(),
            no_takeover_before: MonotonicTime::default(),
        }
    }

    /// Returns the next step. An extra call does no harm. The driver must read its clock for `now` before it sends.
    pub(crate) fn next(&mut self, now: MonotonicTime) -> LeaseStep {
        if let Some(pending) = self.pending {
            let limit = pending.sent_at + REPLY_LIMIT;
            if now < limit {
                return LeaseStep::WaitUntil(limit);
            }
            self.pending = None;
        }
        if now < self.next_request {
            return LeaseStep::WaitUntil(self.next_request);
        }
        let request = match &self.state {
            LeaseState::Candidate(observed) => self.candidate_request(observed.as_ref(), now),
            LeaseState::Holder(held_lease, HolderPhase::Sending | HolderPhase::Draining) => {
                LeaseRequest::Beat { epoch: held_lease.epoch }
            }
            LeaseState::Holder(held_lease, HolderPhase::Releasing(drain)) => {
                // On a server that lost its newest writes, another machine may still trust a lost takeover.
                let is_clean = *drain == Drain::Complete && now >= held_lease.sends_from;
                let server = is_clean.then_some(held_lease.server);
                LeaseRequest::Release { epoch: held_lease.epoch, server }
            }
        };
        self.requests += 1;
        self.pending = Some(PendingRequest { number: self.requests, request, sent_at: now });
        self.next_request = now + BEAT;
        LeaseStep::Send(self.requests, request)
    }

    fn candidate_request(&self, observed: Option<&ObservedRow>, now: MonotonicTime) -> LeaseRequest {
        let Some(observed) = observed else { return LeaseRequest::Read };
        let ObservedRow { row, server, .. } = observed;
        match row.holder {
            // A reply to a takeover was lost. The beat tells whether this machine still holds the lease.
            LeaseHolder::Held(holder) if holder == self.id => LeaseRequest::Beat { epoch: row.epoch },
            LeaseHolder::Held(_) | LeaseHolder::Free(_) if now < self.takeover_at(observed) => LeaseRequest::Read,
            LeaseHolder::Held(_) | LeaseHolder::Free(_) => {
                LeaseRequest::Take { epoch: row.epoch, beat: row.beat, server: *server }
            }
        }
    }

    /// When this machine takes the lease if the row stays as it is.
    fn takeover_at(&self, observed: &ObservedRow) -> MonotonicTime {
        let wait = match observed.row.holder {
            // A release that a server has from before a failover may be older than a takeover that was lost.
            LeaseHolder::Free(Some(released_on)) if released_on == observed.server => Duration::ZERO,
            LeaseHolder::Held(_) | LeaseHolder::Free(_) => EXPIRY,
        };
        self.no_takeover_before.max(observed.since + wait + self.takeover_delay)
    }

    /// Sends the next request at once: another machine released the lease, or the database can be reached again.
    pub(crate) fn retry_now(&mut self, now: MonotonicTime) {
        self.next_request = self.next_request.min(now);
    }

    /// Applies the reply to a request; `None` if the request failed, was cancelled or timed out. A reply that comes
    /// after [`REPLY_LIMIT`] is ignored.
    pub(crate) fn on_reply(&mut self, number: u64, reply: Option<LeaseReply>, now: MonotonicTime) {
        let Some(pending) = self.pending.filter(|pending| pending.number == number) else { return };
        self.pending = None;
        // A standby grants nothing, and its row may be old.
        let Some(reply) = reply.filter(|reply| !reply.in_recovery && now < pending.sent_at + REPLY_LIMIT) else {
            return;
        };
        let trusted_until = pending.sent_at + TRUST;
        match (self.state, pending.request) {
            (LeaseState::Candidate(observed), LeaseRequest::Take { .. }) if reply.is_granted => {
                let was_released =
                    observed.is_some_and(|observed| observed.row.holder == LeaseHolder::Free(Some(reply.server)));
                let wait = if was_released { HANDOVER } else { QUARANTINE };
                self.become_holder(&reply, trusted_until, now + wait);
            }
            // The row may be from before a failover, and a takeover by another machine may be lost.
            (LeaseState::Candidate(_), LeaseRequest::Beat { .. }) if reply.is_granted => {
                self.become_holder(&reply, trusted_until, now + EXPIRY + QUARANTINE);
            }
            (LeaseState::Holder(held_lease, phase), LeaseRequest::Beat { .. }) if reply.is_granted => {
                self.state = LeaseState::Holder(held_lease.renew(&reply, trusted_until, now), phase);
            }
            // The lease is released, free, or another machine's.
            (LeaseState::Candidate(_) | LeaseState::Holder(..), _) => self.observe_row(&reply, now),
        }
    }

    fn become_holder(&mut self, reply: &LeaseReply, trusted_until: MonotonicTime, sends_from: MonotonicTime) {
        let held_lease = HeldLease { epoch: reply.row.epoch, server: reply.server, trusted_until, sends_from };
        self.state = LeaseState::Holder(held_lease, HolderPhase::Sending);
    }

    /// Watches the row as a candidate. The row counts as unchanged only on the same server.
    fn observe_row(&mut self, reply: &LeaseReply, now: MonotonicTime) {
        let unchanged = match self.state {
            LeaseState::Candidate(observed) => {
                observed.filter(|observed| observed.row == reply.row && observed.server == reply.server)
            }
            LeaseState::Holder(..) => None,
        };
        let since = unchanged.map_or(now, |observed| observed.since);
        let observed = ObservedRow { row: reply.row, server: reply.server, since };
        // Sends at exactly this moment: the database refuses the takeover if the row has changed.
        self.next_request = self.next_request.min(self.takeover_at(&observed).max(now));
        self.state = LeaseState::Candidate(Some(observed));
    }

    /// Whether this machine may send requests to the service at `now`.
    pub(crate) fn permission(&self, now: MonotonicTime) -> SendPermission {
        let LeaseState::Holder(held_lease, HolderPhase::Sending) = self.state else { return SendPermission::No };
        let begin = MonotonicTime(held_lease.trusted_until.0.saturating_sub(MARGIN));
        if now >= begin {
            return SendPermission::No;
        }
        if now < held_lease.sends_from {
            return SendPermission::From(held_lease.sends_from);
        }
        SendPermission::Until { begin, kill_at: held_lease.trusted_until }
    }

    /// The epoch in which this machine holds the lease, for its entries of the log.
    pub(crate) fn epoch(&self) -> Option<u64> {
        match self.state {
            LeaseState::Holder(held_lease, _) => Some(held_lease.epoch),
            LeaseState::Candidate(_) => None,
        }
    }

    /// Begins to release the lease: from now on nothing may be sent. Call [`Lease::release`] when all requests are
    /// answered, or none is waited for any more.
    pub(crate) fn drain(&mut self) {
        if let LeaseState::Holder(held_lease, HolderPhase::Sending) = self.state {
            self.state = LeaseState::Holder(held_lease, HolderPhase::Draining);
        }
    }

    /// Gives the lease back at once. This machine takes the lease again only if no other machine does.
    pub(crate) fn release(&mut self, drain: Drain, now: MonotonicTime) {
        self.no_takeover_before = now + TAKEOVER_COOLDOWN;
        if let LeaseState::Holder(held_lease, HolderPhase::Draining) = self.state {
            (self.state, self.next_request) = (LeaseState::Holder(held_lease, HolderPhase::Releasing(drain)), now);
        }
    }
}

impl HeldLease {
    /// Returns the held lease after a successful beat. If another server answered, another machine may have taken the lease
    /// from the former server without a trace: its trust must end first.
    fn renew(self, reply: &LeaseReply, trusted_until: MonotonicTime, now: MonotonicTime) -> Self {
        let is_same_server = self.server == reply.server;
        let sends_from = if is_same_server { self.sends_from } else { now + EXPIRY + QUARANTINE };
        Self { server: reply.server, trusted_until: trusted_until.max(self.trusted_until), sends_from, ..self }
    }
}

#[cfg(test)]
mod tests;
