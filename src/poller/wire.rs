//! What the poller asks: the service over HTTP, or a simulated one in tests.

use crate::domain::{observation::Observation, transaction::Told};

/// Something that can be asked for the status of a transaction. One call is one request.
pub trait Wire: Send + Sync + 'static {
    /// Asks once. It ends in bounded time and never fails otherwise than by a failed observation.
    fn status(&self, told: &Told) -> impl Future<Output = Observation> + Send;
}
