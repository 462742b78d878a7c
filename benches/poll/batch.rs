//! Transfers out of a seed, and what the service says of them: all have settled.

use std::{fmt::Write, time::Duration};

use chrono::SecondsFormat;
use hoptop::{clock::Clock, domain::transaction::NewTransaction, sim::world::World};

use crate::material;

const SEED: u64 = 41;
/// What the service says of each transfer: its status, and how many steps of its route are done.
const SETTLED: (&str, usize) = ("success", 3);
/// How old each transfer is, in the words of the service.
const AGE: Duration = Duration::from_secs(100);

/// Transfers and their answers.
pub struct Batch {
    /// What a person imports, in order of submission.
    pub transfers: Vec<NewTransaction>,
    /// The body of each transfer's answer.
    pub bodies: Vec<String>,
}

impl Batch {
    pub fn new(count: usize, clock: &Clock) -> Self {
        let world = World::seeded(SEED, count, clock.now().wall);
        let transfers = world.transfers();
        let body = |new: &NewTransaction| {
            material::short_body(world.find(new.params.transaction_id.as_str()).unwrap(), SETTLED, AGE)
        };
        let bodies = transfers.iter().map(body).collect();
        Self { transfers, bodies }
    }

    /// The first transfers of it, with their answers.
    pub fn first(&self, count: usize) -> Self {
        Self { transfers: self.transfers[..count].to_vec(), bodies: self.bodies[..count].to_vec() }
    }

    /// The mean length of a body, in bytes.
    pub fn mean_body(&self) -> usize {
        self.bodies.iter().map(String::len).sum::<usize>() / self.bodies.len()
    }

    /// The path and the query of each transfer's request.
    pub fn targets(&self) -> impl Iterator<Item = String> {
        self.transfers.iter().map(|NewTransaction { params, .. }| {
            format!(
                "/v2/status?transactionId={}&fromChainId={}&toChainId={}&quoteId={}",
                params.transaction_id, params.from_chain, params.to_chain, params.quote_id
            )
        })
    }

    /// The file that a person imports.
    pub fn csv(&self) -> String {
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
