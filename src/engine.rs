//! The engine of a poller: budget, schedule and forecast, without I/O and without a clock.
//!
//! A program that asks a rate-limited status endpoint about many slow jobs can build its poller on these three parts.
//! The [`Scheduler`] chooses the job to poll next, the [`Budget`] says when to send a request, and a [`Forecast`] says
//! when a job probably ends. Moments come in as parameters, so that a simulation runs as fast as the machine.
//!
//! ```
//! use std::time::Duration;
//!
//! use chrono::{DateTime, TimeDelta};
//! use hoptop::engine::{
//!     Budget, Expectation, Forecast, Lognormal, MonotonicTime, NextPoll, Now, PollContext, PollResult, RequestEnd, RowId, Scheduler,
//!     SlotRefusal,
//! };
//!
//! let at = |seconds: u64| Now {
//!     mono: MonotonicTime::default() + Duration::from_secs(seconds),
//!     wall: DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds as i64),
//! };
//!
//! // Two jobs, expected to take 30 s and 10 min, and a limit of one request a second.
//! let (mut scheduler, mut budget) = (Scheduler::default(), Budget::unshared(1.0, at(0).mono));
//! for (job, median) in [(RowId(1), 30), (RowId(2), 600)] {
//!     let forecast = Forecast::Lognormal(Lognormal::new(Duration::from_secs(median), 0.6));
//!     let expectation = Expectation { since: at(0).wall, forecast, first_answer: None, weight: 1.0 };
//!     let context = PollContext { last_answer: None, deadline: None, expectation, young_until: None };
//!     scheduler.watch(job, context, at(0));
//! }
//!
//! let mut polls = [0; 2];
//! for second in 0..120 {
//!     let now = at(second);
//!     let NextPoll::Poll(job) = scheduler.next_poll(now) else { continue };
//!     match budget.take(now.mono) {
//!         Ok(permit) => {
//!             scheduler.record_sent(job, now);
//!             // A driver sends the request here, and waits for the response.
//!             budget.release(permit, RequestEnd::Answered, now.mono, now.mono);
//!             scheduler.record_result(job, PollResult::Answered, now);
//!             polls[usize::from(job == RowId(2))] += 1;
//!         }
//!         Err(SlotRefusal::Until(_) | SlotRefusal::UntilAnswered) => {}
//!     }
//! }
//! // The budget is never exceeded, and the short job gets more of it at first.
//! assert!(polls[0] + polls[1] <= 120 && polls[0] > 0 && polls[1] > 0);
//! ```

pub use crate::{
    budget::{Budget, RequestEnd, SlotPermit, SlotRefusal},
    clock::{MonotonicTime, Now},
    domain::{
        evidence::{Evidence, RouteEvidence, SettledWithin, SettlingEvidence},
        forecast::{Forecast, Hazard, Lognormal, Quantile},
        ids::RowId,
    },
    schedule::{Expectation, MIN_INTERVAL, NextPoll, PollContext, PollResult, Scheduler},
};
