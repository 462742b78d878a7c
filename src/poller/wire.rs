//! What the poller asks: the service over HTTP, or a simulated one in tests.

use crate::{
    api::Client,
    clock::Clock,
    domain::{
        observation::Observation,
        quote::{QuoteObservation, QuoteRequest},
        transaction::TransactionParams,
    },
};

/// Something that can be asked for the status of a transaction, and for a route. One call is one request; it ends in
/// bounded time and never fails otherwise than by a failed observation.
pub trait Wire: Send + Sync + 'static {
    /// Asks once for a status.
    fn status(&self, params: &TransactionParams) -> impl Future<Output = Observation> + Send;

    /// Asks once for a route.
    fn quote(&self, request: &QuoteRequest) -> impl Future<Output = QuoteObservation> + Send;
}

/// The service over HTTP.
pub struct HttpWire {
    /// The client.
    pub client: Client,
    /// For the latency.
    pub clock: Clock,
}

impl Wire for HttpWire {
    async fn status(&self, params: &TransactionParams) -> Observation {
        self.client.status(params, &self.clock).await
    }

    async fn quote(&self, request: &QuoteRequest) -> QuoteObservation {
        self.client.quote(request, &self.clock).await
    }
}
