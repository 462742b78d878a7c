//! Counts the requests of this process by outcome: a [`ServiceTransport`] that wraps another one, and reports each
//! request.
//!
//! This module must never change a request or an answer, nor keep any part of an answer.

use prometheus_client::{
    metrics::{
        counter::Counter,
        family::Family,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};
use serde::{Deserialize, Serialize};

use super::gauges::{Labels, profile_label};
use crate::{
    domain::{
        observation::{Observation, RequestFailure, StatusOutcome},
        quote::{QuoteAnswer, QuoteObservation, QuoteRequest},
        transaction::TransactionParams,
    },
    poller::ServiceTransport,
};

/// The number of requests by outcome, and the duration of status requests, for each profile. Clones share the counts.
#[derive(Clone, Debug)]
pub(crate) struct RequestCounters {
    outcomes: Family<Labels<3>, Counter>,
    latency: Family<Labels<1>, Histogram, fn() -> Histogram>,
}

/// A request that was sent. A poller in a child process reports each request to its parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SentRequest {
    endpoint: String,
    outcome: String,
    /// The duration of a status request.
    seconds: Option<f64>,
}

impl Default for RequestCounters {
    fn default() -> Self {
        // From 25 ms to 12.8 s, which is longer than any request may take.
        let latency = || Histogram::new(exponential_buckets(0.025, 2.0, 10));
        Self { outcomes: Family::default(), latency: Family::new_with_constructor(latency) }
    }
}

impl RequestCounters {
    /// Registers the metrics. The durations of these profiles are reported from the start.
    pub(super) fn register(&self, profiles: &[String], registry: &mut Registry) {
        for profile in profiles {
            drop(self.latency.get_or_create(&profile_label(profile)));
        }
        let help = "Requests of this process, by outcome";
        registry.register("requests", help, self.outcomes.clone());
        let help = "Time from sending a status request to the last byte of its answer, or to its failure";
        registry.register_with_unit("request_duration", help, Unit::Seconds, self.latency.clone());
    }

    pub(crate) fn count(&self, profile: &str, SentRequest { endpoint, outcome, seconds }: SentRequest) {
        let labels = [("profile", profile.to_owned()), ("endpoint", endpoint), ("outcome", outcome)];
        self.outcomes.get_or_create(&labels).inc();
        if let Some(seconds) = seconds {
            self.latency.get_or_create_owned(&profile_label(profile)).observe(seconds);
        }
    }
}

/// Takes a request that was sent.
pub(crate) type CountRequest = Box<dyn Fn(SentRequest) + Send + Sync>;

/// A transport that reports each request.
pub(crate) struct CountingTransport<W> {
    /// The transport that sends the requests.
    pub transport: W,
    /// Takes each request.
    pub count: CountRequest,
}

impl<W: ServiceTransport> ServiceTransport for CountingTransport<W> {
    async fn status(&self, params: &TransactionParams) -> Observation {
        let observation = self.transport.status(params).await;
        let outcome = match &observation.outcome {
            StatusOutcome::Record(_) => "record",
            StatusOutcome::NotFound(_) => "not_found",
            StatusOutcome::Failed(failure) => failure_label(failure),
        };
        let seconds = Some(observation.latency.as_secs_f64());
        (self.count)(SentRequest { endpoint: "status".to_owned(), outcome: outcome.to_owned(), seconds });
        observation
    }

    async fn quote(&self, request: &QuoteRequest) -> QuoteObservation {
        let observation = self.transport.quote(request).await;
        let outcome = match &observation.answer {
            QuoteAnswer::Route(_) => "route",
            QuoteAnswer::WalletLimited { .. } => "wallet_limited",
            QuoteAnswer::Failed(failure) => failure_label(failure),
        };
        (self.count)(SentRequest { endpoint: "route".to_owned(), outcome: outcome.to_owned(), seconds: None });
        observation
    }
}

/// Returns the label of a failure: one of a few words, never the service's message.
fn failure_label(failure: &RequestFailure) -> &'static str {
    match failure {
        RequestFailure::Rejected(_) => "rejected",
        RequestFailure::Unauthorized(_) => "unauthorized",
        RequestFailure::Throttled { .. } => "throttled",
        RequestFailure::Server { .. } => "server_error",
        RequestFailure::Unreadable(_) => "unreadable",
        RequestFailure::OtherTransaction(_) => "other_transaction",
        RequestFailure::Transport(_) => "transport",
        RequestFailure::TimedOut(_) => "timed_out",
        RequestFailure::Local(_) => "local",
    }
}
