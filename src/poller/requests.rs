//! The requests to the service: each one is a task, which sends the request and stores the answer.
//!
//! A request must never choose its moment: it is sent with the slot that it was given.

use std::sync::Arc;

use super::{
    journal,
    setup::{PollerSetup, may_begin},
    transport::ServiceTransport,
};
use crate::{
    clock::{Clock, Now},
    domain::{
        ids::TransactionKey,
        observation::{Observation, RequestFailure},
        operation::{Operation, QuoteKey, StatusRequestKey},
        quote::QuoteObservation,
        status::RouterStatus,
        transaction::TransactionParams,
    },
    store::{AppliedObservation, OperationResult, Store, StoreError},
};

/// The result of a request that has ended.
pub(super) struct RequestResult {
    /// When the answer arrived, or when the request was given up.
    pub(super) at: Now,
    pub(super) failure: Option<RequestFailure>,
    /// The result of storing the answer; `None` for a request that polls no tracked transaction, and for an answer about
    /// parameters that were corrected meanwhile.
    pub(super) stored: Result<Option<Box<AppliedObservation>>, StoreError>,
}

/// The connections of one request.
pub(super) struct RequestSender<T> {
    pub(super) store: Store,
    pub(super) transport: Arc<T>,
    pub(super) clock: Clock,
    pub(super) profile: String,
}

impl<T: ServiceTransport> RequestSender<T> {
    /// Polls a tracked transaction, whose last status is `status`.
    pub(super) async fn ask_status(
        self,
        params: Arc<TransactionParams>,
        status: Option<RouterStatus>,
    ) -> RequestResult {
        let (observation, at) = self.observe(&params, status.as_ref()).await;
        let failure = observation.outcome.failure().cloned();
        let transaction = params.key(&self.profile);
        if let Some(RequestFailure::Rejected(_)) = &failure
            && self.is_corrected(&transaction, &params).await
        {
            // This answer is for the old parameters. The next poll sends the corrected ones.
            return RequestResult { at, failure, stored: Ok(None) };
        }
        let operation = Operation::Observe { transaction, observation: Box::new(observation) };
        let stored = apply_operation(&self.store, &self.clock, operation, at).await;
        RequestResult { at, failure, stored: stored.and_then(|outcome| outcome.observed().map(Some)) }
    }

    /// Whether the parameters that a request sends were corrected since this request.
    async fn is_corrected(&self, transaction: &TransactionKey, sent: &TransactionParams) -> bool {
        let (store, key) = (self.store.clone(), transaction.clone());
        let header = self.clock.run_blocking(move || store.reader()?.header_of(&key)).await;
        // If the store can't be read, assume that nothing was corrected, so that the answer is stored.
        let Ok(Ok(Some(header))) = header else { return false };
        !header.params.has_same_request(sent)
    }

    /// Asks for the status of a transaction that isn't tracked.
    pub(super) async fn ask_untracked_status(self, request: StatusRequestKey) -> RequestResult {
        let (observation, at) = self.observe(&request.params, None).await;
        let failure = observation.outcome.failure().cloned();
        let operation = Operation::AnswerStatus { request, observation: Box::new(observation) };
        let stored = apply_operation(&self.store, &self.clock, operation, at).await;
        RequestResult { at, failure, stored: stored.map(|_| None) }
    }

    /// Asks for a route.
    pub(super) async fn ask_quote(self, quote: QuoteKey) -> RequestResult {
        let observation = self.transport.quote(&quote.request).await;
        let at = self.clock.now();
        let failure = observation.answer.failure().cloned();
        if let Some(failure) = &failure {
            journal::log_failure(failure, observation.body.as_deref(), &self.profile, "a quote");
        }
        let operation = Operation::AnswerQuote { quote, observation };
        let stored = apply_operation(&self.store, &self.clock, operation, at).await;
        RequestResult { at, failure, stored: stored.map(|_| None) }
    }

    /// Asks for a status, and logs the answer.
    async fn observe(&self, params: &TransactionParams, status: Option<&RouterStatus>) -> (Observation, Now) {
        let observation = self.transport.status(params).await;
        let at = self.clock.now();
        journal::log_answer(&self.profile, params, status, &observation);
        (observation, at)
    }
}

/// Claims a quote that a person asked for. Returns `false` if another process has claimed the quote, nobody waits for it
/// any more, or the lease of a team no longer permits the request. In the last case the quote is answered with a
/// refusal.
pub(super) async fn claim_quote<T>(setup: &PollerSetup<T>, quote: &QuoteKey) -> Result<bool, StoreError> {
    let claim = Operation::ClaimQuote { quote: quote.clone() };
    let claimed = apply_operation(&setup.store, &setup.clock, claim, setup.clock.now()).await?.claimed()?;
    // Claiming takes as long as the team's database does.
    if !claimed || may_begin(setup.lease.as_ref(), &setup.clock) {
        return Ok(claimed);
    }
    let reason = "another machine of the team polls now; request the quote again";
    let observation = QuoteObservation::failed(RequestFailure::Transport(reason.into()));
    let refusal = Operation::AnswerQuote { quote: quote.clone(), observation };
    apply_operation(&setup.store, &setup.clock, refusal, setup.clock.now()).await?;
    Ok(false)
}

/// Applies an operation. A paused clock does not advance meanwhile.
pub(super) async fn apply_operation(
    store: &Store,
    clock: &Clock,
    operation: Operation,
    at: Now,
) -> Result<OperationResult, StoreError> {
    let _hold = clock.hold();
    store.apply(operation, at.wall).await
}
