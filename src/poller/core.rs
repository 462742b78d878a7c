//! What to do now: schedule, budget and health taken together.
//!
//! Pure: moments and outcomes in, one action out. It must never let a request go without a slot.

use std::{collections::VecDeque, time::Duration};

use chrono::{DateTime, Utc};

use super::health::Health;
use crate::{
    budget::{Budget, Refused, Returned, Ticket},
    clock::{Mono, Now},
    domain::{ids::RowId, need::Need, observation::Failure, operation::ProfileEvent, poller::PollerHealth},
    schedule::{Ending, Next, Scheduler},
};

/// Over how long the use of the budget is counted.
const USE_WINDOW: Duration = Duration::from_secs(10);
/// How long a request is thought to take before any has, in seconds.
const FIRST_TRIP: f64 = 0.2;
/// How far that follows each request.
const TRIP_FOLLOWS: f64 = 0.05;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The status of a transaction.
    Status(RowId),
    /// A route that a person asked for, by the store's number.
    Route(i64),
}

/// What the driver is to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this request, and hand the ticket back with what became of it.
    Send(Question, Ticket),
    /// Nothing before this moment, unless something happens.
    WaitUntil(Mono),
    /// Nothing until something happens.
    WaitForNews,
}

impl From<Refused> for Action {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Until(ready) => Self::WaitUntil(ready),
            Refused::UntilAnswered => Self::WaitForNews,
        }
    }
}

/// Requests since the poller started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many were sent.
    pub requests: u64,
    /// How many of them were answered with 429.
    pub throttled: u64,
    /// How many of them brought nothing for another reason.
    pub failed: u64,
}

/// How a request ended.
pub struct Ended<'a> {
    /// What it was about.
    pub question: Question,
    /// Its slot.
    pub ticket: Ticket,
    /// When the answer came, or when it was given up.
    pub at: Now,
    /// The moment it is: later, if the answer was kept first.
    pub now: Mono,
    /// Why it brought nothing, if so.
    pub failure: Option<&'a Failure>,
}

/// The poller's decisions for one profile.
#[derive(Debug)]
pub struct Core {
    /// Which transaction is next.
    pub scheduler: Scheduler,
    /// When a request may go.
    pub budget: Budget,
    /// Routes that people asked for, in that order, each once.
    routes: VecDeque<i64>,
    health: Health,
    /// Until when a person wants nothing polled, if so.
    paused_until: Option<DateTime<Utc>>,
    in_flight: usize,
    recent: VecDeque<Mono>,
    started: Mono,
    counts: Counts,
    /// How long requests take, the newer ones weighing more; seconds.
    trip: f64,
}

impl Core {
    /// A core that spends this budget from the moment `from` on.
    pub fn new(budget: Budget, from: Mono) -> Self {
        Self {
            scheduler: Scheduler::default(),
            budget,
            routes: VecDeque::new(),
            health: Health::default(),
            paused_until: None,
            in_flight: 0,
            recent: VecDeque::new(),
            started: from,
            counts: Counts::default(),
            trip: FIRST_TRIP,
        }
    }

    /// An earlier run left alerts of the whole profile: the first answer ends them.
    pub fn expect_recovery(&mut self) {
        self.health.expect_recovery();
    }

    /// A person wants nothing polled until then but what they ask for; `None` if they do again.
    pub fn pause(&mut self, until: Option<DateTime<Utc>>) {
        self.paused_until = until;
    }

    /// Until when a person wants nothing polled, if that is still to come.
    pub fn paused_until(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.paused_until.filter(|until| *until > now)
    }

    /// A person asked for this route, ahead of all polling.
    pub fn request_route(&mut self, id: i64) {
        if !self.routes.contains(&id) {
            self.routes.push_back(id);
        }
    }

    /// What to do now. After `Send` the request counts as sent.
    pub fn next(&mut self, now: Now) -> Action {
        if let Some(refused) = self.budget.refusal(now.mono) {
            return refused.into();
        }
        let resting_until = self.budget.ledger().pace.resting_until();
        let gate = match self.health.probe_at() {
            Some(_) if self.in_flight > 0 => return Action::WaitForNews,
            Some(probe) => probe.max(resting_until),
            None => resting_until,
        };
        // Who has something to ask, but not yet, chooses then.
        if now.mono < gate && (self.scheduler.watched() > 0 || !self.routes.is_empty()) {
            return Action::WaitUntil(gate);
        }
        self.scheduler.set_rate(self.allowed());
        self.scheduler.set_paused(self.paused_until(now.wall).is_some());
        let question = match (self.scheduler.next(now), self.routes.front()) {
            (Next::Poll(id), None) => Question::Status(id),
            (Next::Poll(id), Some(_)) if self.scheduler.last_was_request() => Question::Status(id),
            (_, Some(route)) => Question::Route(*route),
            (Next::Idle, None) => return Action::WaitForNews,
            (Next::WaitUntil(moment), None) => return Action::WaitUntil(moment.max(gate)),
        };
        if now.mono < gate {
            return Action::WaitUntil(gate);
        }
        match self.budget.take(now.mono) {
            Ok(ticket) => {
                match question {
                    Question::Status(id) => self.scheduler.sent(id, now),
                    Question::Route(_) => {
                        self.routes.pop_front();
                        self.scheduler.sent_for_a_person();
                    }
                }
                self.count(now.mono);
                Action::Send(question, ticket)
            }
            Err(refused) => refused.into(),
        }
    }

    fn count(&mut self, now: Mono) {
        self.in_flight += 1;
        self.counts.requests += 1;
        self.recent.push_back(now);
        while self.recent.front().is_some_and(|sent| now.since(*sent) > USE_WINDOW) {
            self.recent.pop_front();
        }
    }

    /// Takes in how a request ended; `jitter` is between 0 and 1.
    pub fn ended(&mut self, ended: Ended<'_>, jitter: f64) -> Option<ProfileEvent> {
        let Ended { question, ticket, at, now, failure } = ended;
        self.in_flight = self.in_flight.saturating_sub(1);
        let returned = match failure {
            Some(Failure::TimedOut(timeout)) => Returned::TimedOut(*timeout),
            Some(Failure::Throttled { retry_after, .. }) => Returned::Throttled { retry_after: *retry_after, jitter },
            Some(_) => Returned::Failed,
            None => Returned::Answered,
        };
        let trip = self.budget.hand_back(ticket, returned, (at.mono, now));
        self.trip += TRIP_FOLLOWS * (trip.as_secs_f64() - self.trip);
        let is_throttled = matches!(failure, Some(Failure::Throttled { .. }));
        self.counts.failed += u64::from(failure.is_some() && !is_throttled);
        let ending = match failure {
            Some(Failure::Throttled { .. }) => {
                self.counts.throttled += 1;
                Ending::Elsewhere
            }
            // The ID is meant, not the transaction.
            Some(Failure::Unauthorized(_)) => Ending::Elsewhere,
            // It may be this one alone: others go first for a while.
            Some(_) => Ending::Failed,
            None => Ending::Answered,
        };
        if let Question::Status(id) = question {
            self.scheduler.ended(id, ending, at);
        }
        self.health.ended(failure, at.mono)
    }

    /// With nothing left to ask, no answer can end what stands in the way: it is over.
    ///
    /// A refused ID and a service out of reach stay what they are until the next probe would have been.
    pub fn stand_down(&mut self, now: Mono) -> Option<ProfileEvent> {
        if self.health.probe_at().is_some_and(|probe| probe > now) {
            return None;
        }
        let idle = self.in_flight == 0 && self.health.is_troubled() && self.scheduler.watched() == 0;
        if idle { self.health.stand_down() } else { None }
    }

    /// What the request was about is gone from the store, so that it didn't go out.
    pub fn gone(&mut self, question: Question, ticket: Ticket, now: Now) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.counts.requests = self.counts.requests.saturating_sub(1);
        self.recent.pop_back();
        self.budget.hand_back(ticket, Returned::Failed, (now.mono, now.mono));
        if let Question::Status(id) = question {
            self.scheduler.ended(id, Ending::Elsewhere, now);
            self.scheduler.forget(id);
        }
    }

    /// Requests per second over the last ten seconds.
    pub fn used(&self, now: Mono) -> f64 {
        let recent = self.recent.iter().filter(|sent| now.since(**sent) <= USE_WINDOW).count();
        let span = now.since(self.started).clamp(Duration::from_secs(1), USE_WINDOW);
        recent as f64 / span.as_secs_f64()
    }

    /// Requests a second that the budget really allows now, with the time that requests take.
    pub fn allowed(&self) -> f64 {
        self.budget.throughput(Duration::try_from_secs_f64(self.trip).unwrap_or_default())
    }

    /// What is needed, against what there is.
    pub fn need(&self) -> Need {
        Need { polls: self.scheduler.need(), allowed: self.allowed(), unsettled: self.scheduler.watched() as u64 }
    }

    /// Requests so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// For how long it has been there.
    pub fn running(&self, now: Mono) -> Duration {
        now.since(self.started)
    }

    /// The health of the polling, and the end of the time in which nothing is sent.
    pub fn health(&self, now: Mono) -> (PollerHealth, Option<Mono>) {
        let resting_until = self.budget.ledger().pace.resting_until();
        let until = self.health.probe_at().unwrap_or_default().max(resting_until);
        (self.health.kind(), Some(until).filter(|until| *until > now))
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::{
        domain::forecast::Forecast,
        schedule::{Expectation, PollContext},
    };

    fn at(milliseconds: u64) -> Now {
        Now {
            mono: Mono(Duration::from_millis(milliseconds)),
            wall: DateTime::UNIX_EPOCH + TimeDelta::milliseconds(milliseconds as i64),
        }
    }

    fn core(rps: f64, transactions: i64) -> Core {
        let mut core = Core::new(Budget::own(rps, at(0).mono), at(0).mono);
        for id in 1..=transactions {
            let forecast = Forecast::AnyTime(Duration::from_secs(300));
            let expectation = Expectation { since: at(0).wall, forecast, weight: 1.0 };
            core.scheduler.watch(
                RowId(id),
                PollContext { last_answer: None, deadline: None, expectation, young_until: None },
                at(0),
            );
        }
        core
    }

    fn send(core: &mut Core, now: Now) -> (Question, Ticket) {
        match core.next(now) {
            Action::Send(question, ticket) => (question, ticket),
            other => panic!("{other:?}"),
        }
    }

    fn end(core: &mut Core, sent: (Question, Ticket), failure: Option<&Failure>, at: Now) -> Option<ProfileEvent> {
        let (question, ticket) = sent;
        core.ended(Ended { question, ticket, at, now: at.mono, failure }, 0.0)
    }

    #[test]
    fn it_sends_when_schedule_and_budget_agree() {
        let mut core = core(1.0, 2);
        let first = send(&mut core, at(0));
        assert_eq!(core.next(at(0)), Action::WaitForNews);
        assert_eq!(end(&mut core, first, None, at(200)), None);
        assert_eq!(core.next(at(200)), Action::WaitUntil(at(1_200).mono));
        assert_eq!(send(&mut core, at(1_200)).0, Question::Status(RowId(2)));
    }

    #[test]
    fn nobody_is_chosen_before_a_slot_is_free() {
        let mut core = core(1.0, 2);
        let first = send(&mut core, at(0));
        end(&mut core, first, None, at(200));
        let before = format!("{:?}", core.scheduler);
        assert_eq!(core.next(at(1_199)), Action::WaitUntil(at(1_200).mono));
        assert_eq!(format!("{:?}", core.scheduler), before, "it isn't asked");
        let second = send(&mut core, at(1_200));
        assert_eq!(second.0, Question::Status(RowId(2)));
        let throttled = Failure::Throttled { message: None, retry_after: Some(Duration::from_secs(7)) };
        end(&mut core, second, Some(&throttled), at(1_300));
        let before = format!("{:?}", core.scheduler);
        assert_eq!(core.next(at(5_000)), Action::WaitUntil(at(8_300).mono));
        assert_eq!(format!("{:?}", core.scheduler), before, "nor while the ID rests");
    }

    #[test]
    fn while_it_is_paused_only_what_a_person_asks_for_goes_out() {
        let mut core = core(10.0, 3);
        core.pause(Some(at(60_000).wall));
        core.scheduler.look_at(vec![RowId(1)]);
        assert_eq!(core.next(at(0)), Action::WaitForNews);
        core.scheduler.request(RowId(2), at(0));
        core.request_route(7);
        let asked: Vec<_> = [0, 1_000]
            .map(|moment| {
                let sent = send(&mut core, at(moment));
                let question = sent.0;
                end(&mut core, sent, None, at(moment));
                question
            })
            .into();
        assert_eq!(asked, [Question::Route(7), Question::Status(RowId(2))]);
        assert_eq!(core.next(at(59_999)), Action::WaitForNews);
        assert!(matches!(core.next(at(60_000)), Action::Send(..)), "the moment has come");
        core.pause(None);
    }

    #[test]
    fn a_route_goes_ahead_of_polling_and_takes_at_most_every_other_request() {
        let mut core = core(10.0, 20);
        for route in [7, 8, 7] {
            core.request_route(route);
        }
        let questions: Vec<_> = (0..4)
            .map(|turn| {
                let sent = send(&mut core, at(1_000 * turn));
                end(&mut core, (sent.0, sent.1), None, at(1_000 * turn));
                sent.0
            })
            .collect();
        let polls = [Question::Status(RowId(1)), Question::Status(RowId(2))];
        assert_eq!(questions, [Question::Route(7), polls[0], Question::Route(8), polls[1]]);
    }

    #[test]
    fn one_that_never_answers_does_not_keep_the_others_away() {
        let mut core = core(1.0, 3);
        let mut asked = [0; 4];
        let mut millis = 0;
        while millis < 20 * 60_000 {
            match core.next(at(millis)) {
                Action::Send(question, ticket) => {
                    let Question::Status(RowId(id)) = question else { panic!("{question:?}") };
                    asked[id as usize] += 1;
                    let silent = Failure::TimedOut(Duration::from_secs(8));
                    let (failure, takes) = if id == 1 { (Some(&silent), 8_000) } else { (None, 200) };
                    millis += takes;
                    end(&mut core, (question, ticket), failure, at(millis));
                }
                Action::WaitUntil(moment) => millis = (moment.0.as_millis() as u64).max(millis + 1),
                Action::WaitForNews => panic!("nothing is under way"),
            }
        }
        assert_eq!(core.health(at(millis).mono).0, PollerHealth::Live);
        assert!(asked[2] > 2 * asked[1] && asked[3] > 2 * asked[1] && asked[1] > 10, "{asked:?}");
    }

    #[test]
    fn people_s_requests_of_both_kinds_take_half_of_the_budget_together() {
        let mut core = core(10.0, 40);
        let mut polls = 0;
        for turn in 0..20 {
            core.request_route(turn);
            core.scheduler.request(RowId(40 - turn), at(0));
        }
        for turn in 0..20 {
            let now = at(1_000 * turn);
            let sent = send(&mut core, now);
            polls += u64::from(matches!(sent.0, Question::Status(RowId(id)) if id <= 20));
            end(&mut core, sent, None, now);
        }
        assert_eq!(polls, 10);
    }

    #[test]
    fn after_429_everything_rests() {
        let mut core = core(10.0, 20);
        let first = send(&mut core, at(0));
        let throttled = Failure::Throttled { message: None, retry_after: Some(Duration::from_secs(7)) };
        assert!(matches!(end(&mut core, first, Some(&throttled), at(50)), Some(ProfileEvent::Throttled(_))));
        assert_eq!(core.next(at(100)), Action::WaitUntil(at(7_050).mono));
        assert_eq!(core.counts(), Counts { requests: 1, throttled: 1, failed: 0 });
    }

    #[test]
    fn a_refused_id_stops_all_but_one_probe_a_minute() {
        let mut core = core(10.0, 20);
        let first = send(&mut core, at(0));
        let refused = Failure::Unauthorized("invalid".into());
        assert!(end(&mut core, first, Some(&refused), at(0)).is_some());
        assert_eq!(core.next(at(10_000)), Action::WaitUntil(at(60_000).mono));
        let probe = send(&mut core, at(60_000));
        assert_eq!(core.next(at(60_100)), Action::WaitForNews);
        assert_eq!(end(&mut core, probe, Some(&refused), at(60_200)), None);
        assert_eq!(core.next(at(61_000)), Action::WaitUntil(at(120_200).mono));
    }

    #[test]
    fn with_nothing_to_poll_a_refused_id_stays_refused_until_its_probe_is_due() {
        let mut core = core(10.0, 0);
        core.request_route(7);
        let route = send(&mut core, at(0));
        let refused = Failure::Unauthorized("invalid".into());
        assert!(end(&mut core, route, Some(&refused), at(100)).is_some());
        assert_eq!(
            (core.stand_down(at(60_000).mono), core.health(at(60_000).mono).0),
            (None, PollerHealth::Unauthorized)
        );
        assert_eq!(core.stand_down(at(60_100).mono), Some(ProfileEvent::Recovered));
    }

    #[test]
    fn the_use_of_the_budget_is_counted() {
        let mut core = core(2.0, 100);
        for turn in 0..20 {
            let sent = send(&mut core, at(1_000 * turn));
            end(&mut core, sent, None, at(1_000 * turn));
        }
        assert!((core.used(at(19_000).mono) - 1.1).abs() < 0.11, "{}", core.used(at(19_000).mono));
        assert_eq!(core.used(at(90_000).mono), 0.0);
    }
}
