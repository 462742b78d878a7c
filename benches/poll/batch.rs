//! Transfers generated from a seed, and the service's answers about them: all transfers have settled.

use std::{fmt::Write, time::Duration};

use chrono::SecondsFormat;
use hoptop::internals::{clock::Clock, domain::NewTransaction, sim::SimulatedWorld};

use crate::material;

const SEED: u64 = 41;
/// The answer about each transfer: its status, and the number of finished route steps.
const SETTLED: (&str, usize) = ("success", 3);
/// The age of each transfer according to the service.
const AGE: Duration = Duration::from_secs(100);

/// Transfers and the answers about them.
pub(crate) struct TransferBatch {
    /// The transfers to import, in order of submission.
    pub transfers: Vec<NewTransaction>,
    /// The answer body of each transfer.
    pub bodies: Vec<String>,
}

impl TransferBatch {
    pub(crate) fn new(count: usize, clock: &Clock) -> Self {
        let world = SimulatedWorld::seeded(SEED, count, clock.now().wall);
        let transfers = world.transfers();
        let body = |new: &NewTransaction| {
            material::short_body(world.find(new.params.transaction_id.as_str()).unwrap(), SETTLED, AGE)
        };
        let bodies = transfers.iter().map(body).collect();
        Self { transfers, bodies }
    }

    /// Returns a batch of the first `count` transfers, with their answers.
    pub(crate) fn first_transfers(&self, count: usize) -> Self {
        Self { transfers: self.transfers[..count].to_vec(), bodies: self.bodies[..count].to_vec() }
    }

    /// Returns the mean length of an answer body, in bytes.
    pub(crate) fn mean_body_length(&self) -> usize {
        self.bodies.iter().map(String::len).sum::<usize>() / self.bodies.len()
    }

    /// Returns the path and query of each transfer's request.
    pub(crate) fn targets(&self) -> impl Iterator<Item = String> {
        self.transfers.iter().map(|NewTransaction { params, .. }| {
            format!(
                "/v2/status?transactionId={}&fromChainId={}&toChainId={}&quoteId={}",
                params.transaction_id, params.from_chain, params.to_chain, params.quote_id
            )
        })
    }

    /// Returns the import file with all transfers.
    pub(crate) fn csv(&self) -> String {
        let mut text =
            "transactionId,fromChainId,toChainId,quoteId,requestId,estimatedRouteDuration,submittedAt\n".to_owned();
        for NewTransaction { params, .. } in &self.transfers {
            writeln!(
                text,
                "{},{},{},{},{},{},{}",
                params.transaction_id,
                params.from_chain,
                params.to_chain,
                params.quote_id,
                params.request_id.as_deref().unwrap_or_default(),
                params.estimate.map_or_else(String::new, |estimate| estimate.as_secs().to_string()),
                params.submitted_at.map_or_else(String::new, |at| at.to_rfc3339_opts(SecondsFormat::Millis, true)),
            )
            .unwrap();
        }
        text
    }
}
