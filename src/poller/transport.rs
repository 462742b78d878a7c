//! The poller's connection to the service: over HTTP, or to a simulated service in tests.

use crate::{
    api::Client,
    clock::Clock,
    domain::{
        observation::Observation,
        quote::{QuoteObservation, QuoteRequest},
        transaction::TransactionParams,
    },
};

/// A connection to the service. One call is one request. Each call ends in bounded time, and reports a failure only as
/// a failed observation.
pub trait ServiceTransport: Send + Sync + 'static {
    /// Requests the status of a transaction once.
    fn status(&self, params: &TransactionParams) -> impl Future<Output = Observation> + Send;

    /// Requests a route once.
    fn quote(&self, request: &QuoteRequest) -> impl Future<Output = QuoteObservation> + Send;
}

/// A connection to the service over HTTP.
pub struct HttpTransport {
    /// The HTTP client.
    pub client: Client,
    /// The clock that measures the latency.
    pub clock: Clock,
}

impl ServiceTransport for HttpTransport {
    async fn status(&self, params: &TransactionParams) -> Observation {
        self.client.status(params, &self.clock).await
    }

    async fn quote(&self, request: &QuoteRequest) -> QuoteObservation {
        self.client.quote(request, &self.clock).await
    }
}
