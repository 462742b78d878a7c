//! What the poller asks: the service over HTTP, or a simulated one in tests.

use crate::{
    api::Client,
    clock::Clock,
    domain::{observation::Observation, transaction::Told},
};

/// Something that can be asked for the status of a transaction. One call is one request.
pub trait Wire: Send + Sync + 'static {
    /// Asks once. It ends in bounded time and never fails otherwise than by a failed observation.
    fn status(&self, told: &Told) -> impl Future<Output = Observation> + Send;
}

/// The service over HTTP.
pub struct HttpWire {
    /// The client.
    pub client: Client,
    /// For the latency.
    pub clock: Clock,
}

impl Wire for HttpWire {
    async fn status(&self, told: &Told) -> Observation {
        self.client.status(told, &self.clock).await
    }
}
