//! What the requests of this process came to: a wire that counts what goes over it.
//!
//! It must never change what goes over it, nor keep anything of what was said.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};

use super::Profile;
use crate::{
    domain::{
        observation::{Failure, Observation, Outcome},
        quote::{QuoteObservation, QuoteRequest},
        transaction::TransactionParams,
    },
    poller::Wire,
};

/// Requests by what came of them, and how long those for a status took, of each profile. Clones count together.
#[derive(Clone, Debug)]
pub struct Requests {
    outcomes: Family<Request, Counter>,
    latency: Family<Profile, Histogram, fn() -> Histogram>,
}

/// What tells requests apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    profile: String,
    endpoint: &'static str,
    outcome: &'static str,
}

impl Default for Requests {
    fn default() -> Self {
        // From 25 ms to 12.8 s: the longest that is waited for is 10.
        let latency = || Histogram::new(exponential_buckets(0.025, 2.0, 10));
        Self { outcomes: Family::default(), latency: Family::new_with_constructor(latency) }
    }
}

impl Requests {
    /// Says under which names they are told, of these profiles from the first moment on.
    pub(super) fn register(&self, profiles: &[String], registry: &mut Registry) {
        for profile in profiles {
            drop(self.latency.get_or_create(&Profile::new(profile)));
        }
        let said = "Requests of this process, by what came of them";
        registry.register("requests", said, self.outcomes.clone());
        let said = "From sending a request for a status to the last byte of its answer, or to giving up";
        registry.register_with_unit("request_duration", said, Unit::Seconds, self.latency.clone());
    }

    fn count(&self, profile: &str, endpoint: &'static str, outcome: &'static str) {
        self.outcomes.get_or_create(&Request { profile: profile.to_owned(), endpoint, outcome }).inc();
    }
}

/// A wire, and what counts what goes over it.
pub struct Counted<W> {
    /// The wire.
    pub wire: W,
    /// The profile whose requests these are.
    pub profile: String,
    /// Where it is counted.
    pub requests: Requests,
}

impl<W: Wire> Wire for Counted<W> {
    async fn status(&self, params: &TransactionParams) -> Observation {
        let observation = self.wire.status(params).await;
        let outcome = match &observation.outcome {
            Outcome::Record(_) => "record",
            Outcome::NotFound(_) => "not_found",
            Outcome::Failed(failure) => name(failure),
        };
        self.requests.count(&self.profile, "status", outcome);
        let latency = self.requests.latency.get_or_create_owned(&Profile::new(&self.profile));
        latency.observe(observation.latency.as_secs_f64());
        observation
    }

    async fn quote(&self, request: &QuoteRequest) -> QuoteObservation {
        let observation = self.wire.quote(request).await;
        let outcome = observation.answer.failure().map_or("route", name);
        self.requests.count(&self.profile, "route", outcome);
        observation
    }
}

/// A failure as a label: one of a few words, whatever was said.
fn name(failure: &Failure) -> &'static str {
    match failure {
        Failure::Rejected(_) => "rejected",
        Failure::Unauthorized(_) => "unauthorized",
        Failure::Throttled { .. } => "throttled",
        Failure::Server { .. } => "server_error",
        Failure::Unreadable(_) => "unreadable",
        Failure::OtherTransaction(_) => "other_transaction",
        Failure::Transport(_) => "transport",
        Failure::TimedOut(_) => "timed_out",
    }
}
