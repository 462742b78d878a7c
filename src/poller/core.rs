//! The poller's next action, decided from schedule, budget and health.
//!
//! The module is pure: moments and results of requests go in, one action comes out. The core must never send a request
//! without a slot.

use std::{collections::VecDeque, time::Duration};

use chrono::{DateTime, Utc};

use super::health::ProfileHealth;
use crate::{
    budget::{Budget, RequestEnd, SlotPermit, SlotRefusal},
    clock::{MonotonicTime, Now},
    domain::{
        ids::RowId,
        need::Need,
        observation::RequestFailure,
        operation::{ProfileEvent, QuoteKey, StatusRequestKey},
        poller::PollerHealth,
    },
    schedule::{NextPoll, PollResult, Scheduler},
};

/// The period over which the requests per second are counted.
const USE_WINDOW: Duration = Duration::from_secs(10);
/// The assumed duration of a request before the first one ended, in seconds.
const INITIAL_ROUND_TRIP: f64 = 0.2;
/// The weight of the newest request in the mean duration.
const ROUND_TRIP_WEIGHT: f64 = 0.05;

/// The subject of one request to the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServiceRequest {
    Status(RowId),
    /// A quote that a person asked for.
    Quote(Box<QuoteKey>),
    /// The status of a transaction that isn't tracked, which a person asked for.
    UntrackedStatus(Box<StatusRequestKey>),
}

/// An action of the driver.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PollerAction {
    /// Send this request. The driver hands the permit back with the result of the request.
    Send(ServiceRequest, SlotPermit),
    /// Send nothing before this moment, unless something happens.
    WaitUntil(MonotonicTime),
    /// Send nothing until something happens.
    WaitForEvent,
}

impl From<SlotRefusal> for PollerAction {
    fn from(refused: SlotRefusal) -> Self {
        match refused {
            SlotRefusal::Until(ready) => Self::WaitUntil(ready),
            SlotRefusal::UntilAnswered => Self::WaitForEvent,
        }
    }
}

/// The numbers of requests since the poller started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestCounts {
    /// The number of requests that were sent.
    pub requests: u64,
    /// The number that were answered with 429.
    pub throttled: u64,
    /// The number that failed for another reason.
    pub failed: u64,
    /// The number that were answered otherwise.
    pub answered: u64,
}

/// A request that ended, with its result.
pub(crate) struct EndedRequest<'a> {
    pub request: ServiceRequest,
    pub permit: SlotPermit,
    /// When the answer arrived, or when the request was given up.
    pub at: Now,
    /// The present moment: later than `at` if the answer was stored first.
    pub now: MonotonicTime,
    /// The failure; `None` if the service answered.
    pub failure: Option<&'a RequestFailure>,
}

/// The state of one profile's polling, and the decisions about it.
#[derive(Debug)]
pub(crate) struct PollerCore {
    /// Chooses the next transaction.
    pub scheduler: Scheduler,
    /// Decides when a request may be sent.
    pub budget: Budget,
    /// The requests that people asked for and that poll no tracked transaction, the oldest first, each once.
    single_requests: VecDeque<ServiceRequest>,
    pub(super) health: ProfileHealth,
    /// The end of the pause that a person set, if there is one. Requests of people are sent during a pause.
    pub pause_end: Option<DateTime<Utc>>,
    in_flight: usize,
    recent_sends: VecDeque<MonotonicTime>,
    pub started: MonotonicTime,
    /// Before this moment nothing is sent: the last requests of an earlier run aren't known.
    pub begins_at: MonotonicTime,
    /// The numbers of requests so far.
    pub counts: RequestCounts,
    /// The moving average of the duration of a request.
    round_trip_seconds: f64,
}

impl PollerCore {
    /// Creates a core that spends this budget from the moment `from` on.
    pub(crate) fn new(budget: Budget, from: MonotonicTime) -> Self {
        Self {
            scheduler: Scheduler::default(),
            budget,
            single_requests: VecDeque::new(),
            health: ProfileHealth::default(),
            pause_end: None,
            in_flight: 0,
            recent_sends: VecDeque::new(),
            started: from,
            begins_at: from,
            counts: RequestCounts::default(),
            round_trip_seconds: INITIAL_ROUND_TRIP,
        }
    }

    /// Returns the end of the pause, if `now` is before that end.
    pub(crate) fn paused_until(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.pause_end.filter(|until| *until > now)
    }

    /// Queues a request that a person asked for and that polls no tracked transaction. Such requests go ahead of
    /// polling.
    pub(crate) fn request_once(&mut self, request: ServiceRequest) {
        if !self.single_requests.contains(&request) {
            self.single_requests.push_back(request);
        }
    }

    /// Returns the next action. After `Send` the request counts as sent.
    pub(crate) fn next(&mut self, now: Now) -> PollerAction {
        if let Some(refused) = self.budget.refusal(now.mono) {
            return refused.into();
        }
        let resting_until = self.budget.ledger().pace.resting_until();
        let gate = match self.health.probe_at() {
            Some(_) if self.in_flight > 0 => return PollerAction::WaitForEvent,
            Some(probe) => probe.max(resting_until),
            None => resting_until,
        };
        let gate = gate.max(self.begins_at);
        // With something to ask, the core waits for the gate, and chooses the request then.
        if now.mono < gate && (self.scheduler.item_count() > 0 || !self.single_requests.is_empty()) {
            return PollerAction::WaitUntil(gate);
        }
        self.scheduler.set_paused(self.paused_until(now.wall).is_some());
        let request = match (self.scheduler.next_poll(now), self.single_requests.front()) {
            (NextPoll::Poll(id), None) => ServiceRequest::Status(id),
            (NextPoll::Poll(id), Some(_)) if self.scheduler.was_last_request() => ServiceRequest::Status(id),
            (_, Some(request)) => request.clone(),
            (NextPoll::Idle, None) => return PollerAction::WaitForEvent,
            (NextPoll::WaitUntil(moment), None) => return PollerAction::WaitUntil(moment.max(gate)),
        };
        if now.mono < gate {
            return PollerAction::WaitUntil(gate);
        }
        match self.budget.take(now.mono) {
            Ok(permit) => {
                match &request {
                    ServiceRequest::Status(id) => self.scheduler.record_sent(*id, now),
                    ServiceRequest::Quote(_) | ServiceRequest::UntrackedStatus(_) => {
                        self.single_requests.pop_front();
                        self.scheduler.record_user_request();
                    }
                }
                self.count_request(now.mono);
                PollerAction::Send(request, permit)
            }
            Err(refused) => refused.into(),
        }
    }

    fn count_request(&mut self, now: MonotonicTime) {
        self.in_flight += 1;
        self.counts.requests += 1;
        self.recent_sends.push_back(now);
        while self.recent_sends.front().is_some_and(|sent| now.since(*sent) > USE_WINDOW) {
            self.recent_sends.pop_front();
        }
    }

    /// Applies the end of a request; `jitter` is between 0 and 1. Returns the event that follows for the profile.
    pub(crate) fn finish_request(&mut self, ended: EndedRequest<'_>, jitter: f64) -> Option<ProfileEvent> {
        let EndedRequest { request, permit, at, now, failure } = ended;
        self.in_flight = self.in_flight.saturating_sub(1);
        let (request_end, poll_result, count) = match failure {
            None => (RequestEnd::Answered, PollResult::Answered, &mut self.counts.answered),
            Some(RequestFailure::Throttled { retry_after, .. }) => {
                let throttled = RequestEnd::Throttled { retry_after: *retry_after, jitter };
                (throttled, PollResult::Unrelated, &mut self.counts.throttled)
            }
            // The service refuses the ID, or this machine fails: neither concerns the transaction.
            Some(RequestFailure::Unauthorized(_) | RequestFailure::Local(_)) => {
                (RequestEnd::Failed, PollResult::Unrelated, &mut self.counts.failed)
            }
            // The failure may concern this transaction alone: other transactions go first for a while.
            Some(RequestFailure::TimedOut(timeout)) => {
                (RequestEnd::TimedOut(*timeout), PollResult::Failed, &mut self.counts.failed)
            }
            Some(
                RequestFailure::Rejected(_)
                | RequestFailure::Server { .. }
                | RequestFailure::Unreadable(_)
                | RequestFailure::OtherTransaction(_)
                | RequestFailure::Transport(_),
            ) => (RequestEnd::Failed, PollResult::Failed, &mut self.counts.failed),
        };
        *count += 1;
        let round_trip = self.budget.release(permit, request_end, at.mono, now);
        self.round_trip_seconds += ROUND_TRIP_WEIGHT * (round_trip.as_secs_f64() - self.round_trip_seconds);
        if let ServiceRequest::Status(id) = request {
            self.scheduler.record_result(id, poll_result, at);
        }
        self.health.apply_result(failure, at.mono)
    }

    /// Ends the profile's problem if nothing is left to ask, because then no answer could end it.
    ///
    /// A refused ID and an unreachable service keep their state until the next probe would be due.
    pub(crate) fn recover_if_idle(&mut self, now: MonotonicTime) -> Option<ProfileEvent> {
        if self.health.probe_at().is_some_and(|probe| probe > now) {
            return None;
        }
        let idle = self.in_flight == 0 && self.health.has_problem() && self.scheduler.item_count() == 0;
        if idle { self.health.reset() } else { None }
    }

    /// Takes back a request that the driver didn't send, because its transaction or its person's request is gone or claimed.
    pub(crate) fn cancel_request(&mut self, request: ServiceRequest, permit: SlotPermit, now: Now) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.counts.requests = self.counts.requests.saturating_sub(1);
        self.recent_sends.pop_back();
        self.budget.release(permit, RequestEnd::Failed, now.mono, now.mono);
        if let ServiceRequest::Status(id) = request {
            self.scheduler.record_result(id, PollResult::Unrelated, now);
            self.scheduler.forget(id);
        }
    }

    /// Returns the requests per second over the last ten seconds.
    pub(crate) fn used(&self, now: MonotonicTime) -> f64 {
        let recent_sends = self.recent_sends.iter().filter(|sent| now.since(**sent) <= USE_WINDOW).count();
        let span = now.since(self.started).clamp(Duration::from_secs(1), USE_WINDOW);
        recent_sends as f64 / span.as_secs_f64()
    }

    /// Returns the polls per second that are needed, and the polls that the budget allows, given how long requests take.
    pub(crate) fn need(&self) -> Need {
        let round_trip = Duration::try_from_secs_f64(self.round_trip_seconds).unwrap_or_default();
        let (polls, allowed) = (self.scheduler.need(), self.budget.throughput(round_trip));
        Need { polls, allowed, unsettled: self.scheduler.item_count() as u64 }
    }

    /// Returns the health of the polling, and the end of the rest in which nothing is sent.
    pub(crate) fn health(&self, now: MonotonicTime) -> (PollerHealth, Option<MonotonicTime>) {
        let resting_until = self.budget.ledger().pace.resting_until();
        let until = self.health.probe_at().unwrap_or_default().max(resting_until);
        (self.health.poller_health(), Some(until).filter(|until| *until > now))
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::{
        domain::{fixtures, forecast::Forecast},
        schedule::{Expectation, PollContext},
    };

    fn at(milliseconds: u64) -> Now {
        Now {
            mono: MonotonicTime(Duration::from_millis(milliseconds)),
            wall: DateTime::UNIX_EPOCH + TimeDelta::milliseconds(milliseconds as i64),
        }
    }

    fn quote(second: i64) -> ServiceRequest {
        ServiceRequest::Quote(Box::new(QuoteKey {
            profile: "default".into(),
            request: fixtures::quote_request("0xAb"),
            asked_at: fixtures::at(second),
        }))
    }

    fn core(rps: f64, transactions: i64) -> PollerCore {
        let mut core = PollerCore::new(Budget::unshared(rps, at(0).mono), at(0).mono);
        for id in 1..=transactions {
            let forecast = Forecast::AnyTime(Duration::from_secs(300));
            let expectation = Expectation { since: at(0).wall, forecast, first_answer: None, weight: 1.0 };
            core.scheduler.watch(
                RowId(id),
                PollContext { last_answer: None, deadline: None, expectation, young_until: None },
                at(0),
            );
        }
        core
    }

    fn send(core: &mut PollerCore, now: Now) -> (ServiceRequest, SlotPermit) {
        match core.next(now) {
            PollerAction::Send(request, permit) => (request, permit),
            other => panic!("{other:?}"),
        }
    }

    fn end(
        core: &mut PollerCore,
        sent: (ServiceRequest, SlotPermit),
        failure: Option<&RequestFailure>,
        at: Now,
    ) -> Option<ProfileEvent> {
        let (request, permit) = sent;
        core.finish_request(EndedRequest { request, permit, at, now: at.mono, failure }, 0.0)
    }

    #[test]
    fn request_is_sent_when_schedule_and_budget_allow_it() {
        let mut core = core(1.0, 2);
        let first = send(&mut core, at(0));
        assert_eq!(core.next(at(0)), PollerAction::WaitForEvent);
        assert_eq!(end(&mut core, first, None, at(200)), None);
        assert_eq!(core.next(at(200)), PollerAction::WaitUntil(at(1_200).mono));
        assert_eq!(send(&mut core, at(1_200)).0, ServiceRequest::Status(RowId(2)));
    }

    #[test]
    fn scheduler_is_not_called_before_a_slot_is_free() {
        let mut core = core(1.0, 2);
        let first = send(&mut core, at(0));
        end(&mut core, first, None, at(200));
        let before = format!("{:?}", core.scheduler);
        assert_eq!(core.next(at(1_199)), PollerAction::WaitUntil(at(1_200).mono));
        assert_eq!(format!("{:?}", core.scheduler), before, "the scheduler was called");
        let second = send(&mut core, at(1_200));
        assert_eq!(second.0, ServiceRequest::Status(RowId(2)));
        let throttled = RequestFailure::Throttled { message: None, retry_after: Some(Duration::from_secs(7)) };
        end(&mut core, second, Some(&throttled), at(1_300));
        let before = format!("{:?}", core.scheduler);
        assert_eq!(core.next(at(5_000)), PollerAction::WaitUntil(at(8_300).mono));
        assert_eq!(format!("{:?}", core.scheduler), before, "the scheduler was called while the ID rests");
    }

    #[test]
    fn during_a_pause_only_requests_of_people_are_sent() {
        let mut core = core(10.0, 3);
        core.pause_end = Some(at(60_000).wall);
        core.scheduler.set_open(vec![RowId(1)]);
        assert_eq!(core.next(at(0)), PollerAction::WaitForEvent);
        core.scheduler.request(RowId(2), at(0));
        core.request_once(quote(7));
        let asked: Vec<_> = [0, 1_000]
            .map(|moment| {
                let sent = send(&mut core, at(moment));
                let request = sent.0.clone();
                end(&mut core, sent, None, at(moment));
                request
            })
            .into();
        assert_eq!(asked, [quote(7), ServiceRequest::Status(RowId(2))]);
        assert_eq!(core.next(at(59_999)), PollerAction::WaitForEvent);
        assert!(matches!(core.next(at(60_000)), PollerAction::Send(..)), "the pause is over");
    }

    #[test]
    fn quotes_go_ahead_of_polling_and_take_at_most_every_second_request() {
        let mut core = core(10.0, 20);
        for number in [7, 8, 7] {
            core.request_once(quote(number));
        }
        let requests: Vec<_> = (0..4)
            .map(|turn| {
                let sent = send(&mut core, at(1_000 * turn));
                let request = sent.0.clone();
                end(&mut core, sent, None, at(1_000 * turn));
                request
            })
            .collect();
        let polls = [ServiceRequest::Status(RowId(1)), ServiceRequest::Status(RowId(2))];
        let [first, second] = polls;
        assert_eq!(requests, [quote(7), first, quote(8), second]);
    }

    #[test]
    fn transaction_without_answers_does_not_block_the_others() {
        let mut core = core(1.0, 3);
        let mut asked = [0; 4];
        let mut millis = 0;
        while millis < 20 * 60_000 {
            match core.next(at(millis)) {
                PollerAction::Send(request, permit) => {
                    let ServiceRequest::Status(RowId(id)) = request else { panic!("{request:?}") };
                    asked[id as usize] += 1;
                    let silent = RequestFailure::TimedOut(Duration::from_secs(8));
                    let (failure, takes) = if id == 1 { (Some(&silent), 8_000) } else { (None, 200) };
                    millis += takes;
                    end(&mut core, (request, permit), failure, at(millis));
                }
                PollerAction::WaitUntil(moment) => millis = (moment.0.as_millis() as u64).max(millis + 1),
                PollerAction::WaitForEvent => panic!("no request is in flight"),
            }
        }
        assert_eq!(core.health(at(millis).mono).0, PollerHealth::Live);
        assert!(asked[2] > 2 * asked[1] && asked[3] > 2 * asked[1] && asked[1] > 10, "{asked:?}");
    }

    #[test]
    fn requested_polls_and_quotes_together_take_half_of_the_budget() {
        let mut core = core(10.0, 40);
        let mut polls = 0;
        for turn in 0..20 {
            core.request_once(quote(turn));
            core.scheduler.request(RowId(40 - turn), at(0));
        }
        for turn in 0..20 {
            let now = at(1_000 * turn);
            let sent = send(&mut core, now);
            polls += u64::from(matches!(sent.0, ServiceRequest::Status(RowId(id)) if id <= 20));
            end(&mut core, sent, None, now);
        }
        assert_eq!(polls, 10);
    }

    #[test]
    fn after_429_nothing_is_sent_until_the_rest_is_over() {
        let mut core = core(10.0, 20);
        let first = send(&mut core, at(0));
        let throttled = RequestFailure::Throttled { message: None, retry_after: Some(Duration::from_secs(7)) };
        assert!(matches!(end(&mut core, first, Some(&throttled), at(50)), Some(ProfileEvent::Throttled(_))));
        assert_eq!(core.next(at(100)), PollerAction::WaitUntil(at(7_050).mono));
        assert_eq!(core.counts, RequestCounts { requests: 1, throttled: 1, failed: 0, answered: 0 });
    }

    #[test]
    fn refused_id_stops_everything_but_one_probe_a_minute() {
        let mut core = core(10.0, 20);
        let first = send(&mut core, at(0));
        let refused = RequestFailure::Unauthorized("invalid".into());
        assert!(end(&mut core, first, Some(&refused), at(0)).is_some());
        assert_eq!(core.next(at(10_000)), PollerAction::WaitUntil(at(60_000).mono));
        let probe = send(&mut core, at(60_000));
        assert_eq!(core.next(at(60_100)), PollerAction::WaitForEvent);
        assert_eq!(end(&mut core, probe, Some(&refused), at(60_200)), None);
        assert_eq!(core.next(at(61_000)), PollerAction::WaitUntil(at(120_200).mono));
    }

    #[test]
    fn without_transactions_a_refused_id_stays_refused_until_its_probe_is_due() {
        let mut core = core(10.0, 0);
        core.request_once(quote(7));
        let quote = send(&mut core, at(0));
        let refused = RequestFailure::Unauthorized("invalid".into());
        assert!(end(&mut core, quote, Some(&refused), at(100)).is_some());
        assert_eq!(
            (core.recover_if_idle(at(60_000).mono), core.health(at(60_000).mono).0),
            (None, PollerHealth::Unauthorized)
        );
        assert_eq!(core.recover_if_idle(at(60_100).mono), Some(ProfileEvent::Recovered));
    }

    #[test]
    fn requests_per_second_are_averaged_over_ten_seconds() {
        let mut core = core(2.0, 100);
        for turn in 0..20 {
            let sent = send(&mut core, at(1_000 * turn));
            end(&mut core, sent, None, at(1_000 * turn));
        }
        assert!((core.used(at(19_000).mono) - 1.1).abs() < 0.11, "{}", core.used(at(19_000).mono));
        assert_eq!(core.used(at(90_000).mono), 0.0);
    }
}
