//! The simulated service as a function call, for tests with paused time: a socket would let the time advance while it
//! waits.

use std::sync::{Arc, Mutex};

use axum::http::Method;
use hoptop::internals::{
    api::{self, HttpAnswer},
    clock::Clock,
    domain::{Observation, QuoteObservation, QuoteRequest, TransactionParams},
    poller::ServiceTransport,
    sim::{SimulatedRequest, SimulatedService},
};

const ID: &str = "in-process-transport";

/// A [`ServiceTransport`] to the simulated service without a network.
pub(crate) struct InProcessTransport {
    /// The simulated service.
    pub(crate) service: Arc<Mutex<SimulatedService>>,
    /// The clock of the test.
    pub(crate) clock: Clock,
}

impl ServiceTransport for InProcessTransport {
    async fn status(&self, params: &TransactionParams) -> Observation {
        let request = SimulatedRequest::status(params, ID);
        let arrived = self.clock.now();
        let response = self.service.lock().unwrap().handle(&request, arrived);
        self.clock.sleep_until(arrived.mono + response.delay).await;
        let answer = HttpAnswer {
            status: response.status,
            retry_after: response.header("retry-after"),
            body: response.body.as_bytes(),
        };
        let api::StatusAnswer { outcome, chains } = api::interpret(&answer, params, self.clock.now().wall);
        Observation {
            outcome,
            http_status: Some(response.status),
            latency: response.delay,
            body: Some(response.body),
            chains,
            response_id: None,
        }
    }

    async fn quote(&self, quote_request: &QuoteRequest) -> QuoteObservation {
        let request = SimulatedRequest {
            method: Method::POST,
            path: "/v2/route".into(),
            integrator_id: Some(ID.into()),
            body: serde_json::to_vec(quote_request).ok(),
            ..SimulatedRequest::default()
        };
        let arrived = self.clock.now();
        let response = self.service.lock().unwrap().handle(&request, arrived);
        self.clock.sleep_until(arrived.mono + response.delay).await;
        let answer = HttpAnswer {
            status: response.status,
            retry_after: response.header("retry-after"),
            body: response.body.as_bytes(),
        };
        let answer = api::interpret_route(&answer, quote_request.is_quote_only, self.clock.now().wall);
        QuoteObservation { answer, http_status: Some(response.status), body: Some(response.body) }
    }
}
