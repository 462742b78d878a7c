//! The simulated world: transfers, and the answers about them over time.
//!
//! Pure: the time is a parameter, no clock is read, and a query changes nothing.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::{
    chain_cases,
    plan::{ChainCourse, ScriptedRoute, Transfer},
    seeded,
};
use crate::domain::{ids::TxHash, transaction::NewTransaction};

/// The moment of the world's second 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountsFrom {
    /// The start of the service.
    #[default]
    Start,
    /// The first answered request for any transaction, so that a slow start of the client costs nothing.
    FirstRequest,
}

/// Transfers with their plans, and scripted answers to route requests.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedWorld {
    seed: u64,
    start: DateTime<Utc>,
    counts_from: CountsFrom,
    transfers: Vec<Transfer>,
    by_key: BTreeMap<String, usize>,
    routes: Vec<ScriptedRoute>,
}

impl SimulatedWorld {
    /// Creates a realistic world of `count` transfers, submitted within the 45 minutes before `start`. The same seed
    /// gives the same world.
    pub fn seeded(seed: u64, count: usize, start: DateTime<Utc>) -> Self {
        Self { seed, ..Self::scripted(seeded::transfers(seed, count, start), start, CountsFrom::Start) }
    }

    /// Creates a world of these transfers.
    pub fn scripted(transfers: Vec<Transfer>, start: DateTime<Utc>, counts_from: CountsFrom) -> Self {
        let key = |(index, transfer): (usize, &Transfer)| (transfer.new.params.transaction_id.key(), index);
        let by_key = transfers.iter().enumerate().map(key).collect();
        Self { seed: 0, start, counts_from, transfers, by_key, routes: Vec::new() }
    }

    /// Returns the same world with these answers to route requests.
    pub fn with_routes(self, routes: Vec<ScriptedRoute>) -> Self {
        Self { routes, ..self }
    }

    /// Creates the realistic world of the demo. If there are enough transfers, a few of them show each state on the
    /// source chain of a transfer that the service doesn't find.
    pub fn demo(seed: u64, count: usize, start: DateTime<Utc>) -> Self {
        /// The smallest demo that contains the special cases; in a smaller one they would stand out.
        const FEWEST: usize = 40;
        if count < FEWEST {
            return Self::seeded(seed, count, start);
        }
        let cases = chain_cases::cases();
        let mut transfers = seeded::transfers(seed, count - cases.len(), start);
        transfers.extend(cases);
        Self { seed, ..Self::scripted(transfers, start, CountsFrom::Start) }
    }

    /// The seed of the world's random numbers; 0 for a scripted world.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the time of second 0; `None` if the first request starts the world.
    pub fn origin(&self) -> Option<DateTime<Utc>> {
        (self.counts_from == CountsFrom::Start).then_some(self.start)
    }

    /// Returns the transfers as a person would import them, in order of submission.
    pub fn transfers(&self) -> Vec<NewTransaction> {
        let imported = |transfer: &Transfer| {
            let mut new = transfer.new.clone();
            if let ChainCourse::ImportedAs(chain) = &transfer.course {
                new.params.from_chain = chain.clone();
            }
            new
        };
        self.transfers.iter().map(imported).collect()
    }

    pub(super) fn all(&self) -> &[Transfer] {
        &self.transfers
    }

    /// Returns the transfer with this hash.
    pub fn find(&self, hash: &str) -> Option<&Transfer> {
        self.by_key.get(&TxHash::new(hash).key()).and_then(|index| self.transfers.get(*index))
    }

    /// Returns the scripted answer to route requests from this address; `None` if nothing is scripted.
    pub fn route(&self, from_address: &str) -> Option<&ScriptedRoute> {
        self.routes.iter().find(|route| route.from_address.eq_ignore_ascii_case(from_address))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use chrono::TimeDelta;

    use super::{
        super::{plan::TransferRoute, random::ChainFamily},
        *,
    };

    fn world() -> SimulatedWorld {
        SimulatedWorld::seeded(17, 200, DateTime::UNIX_EPOCH)
    }

    /// Returns the statuses of each transfer, every five seconds for an hour.
    fn statuses_by_transfer(world: &SimulatedWorld) -> Vec<(&Transfer, Vec<String>)> {
        let status_at = |transfer: &Transfer, second| {
            let stage = transfer.stage(TimeDelta::seconds(second)).map(|(stage, _)| stage);
            stage.and_then(|stage| stage.answer.status()).unwrap_or("not_found").to_owned()
        };
        let statuses_of_an_hour = |transfer| (0..3_600).step_by(5).map(|second| status_at(transfer, second)).collect();
        world.transfers.iter().map(|transfer| (transfer, statuses_of_an_hour(transfer))).collect()
    }

    #[test]
    fn same_seed_gives_the_same_world() {
        assert_eq!(world(), world());
        assert_ne!(world(), SimulatedWorld::seeded(18, 200, DateTime::UNIX_EPOCH));
        assert_eq!(world().by_key.len(), 200);
    }

    #[test]
    fn demo_shows_each_course_on_the_chain_once_and_has_as_many_transfers_as_wanted() {
        let demo = SimulatedWorld::demo(7, 60, DateTime::UNIX_EPOCH);
        let other_courses = demo.transfers.iter().filter(|transfer| transfer.course != ChainCourse::Succeeded);
        assert_eq!((demo.transfers().len(), other_courses.count()), (60, 5));
        let first = |world: &SimulatedWorld| world.transfers().into_iter().next();
        assert_eq!(first(&demo), first(&SimulatedWorld::seeded(7, 55, DateTime::UNIX_EPOCH)));
        let wrong = demo.transfers.iter().find(|transfer| transfer.new.params.ticket.as_deref() == Some("SUP-5004"));
        let wrong = &wrong.unwrap().new.params;
        let imported = demo.transfers().into_iter().find(|new| new.params.transaction_id == wrong.transaction_id);
        assert_eq!((wrong.from_chain.as_str(), imported.unwrap().params.from_chain.as_str()), ("8453", "42161"));
        assert_eq!(
            SimulatedWorld::demo(7, 20, DateTime::UNIX_EPOCH),
            SimulatedWorld::seeded(7, 20, DateTime::UNIX_EPOCH)
        );
    }

    #[test]
    fn all_six_statuses_occur_in_a_possible_order() {
        let world = world();
        let mut seen = BTreeSet::new();
        for (transfer, mut statuses) in statuses_by_transfer(&world) {
            statuses.dedup();
            for pair in statuses.windows(2) {
                let believable = match (pair[0].as_str(), pair[1].as_str()) {
                    ("not_found", "ongoing") | ("ongoing", "success") => true,
                    ("ongoing", "needs_gas") | ("needs_gas", "success") => transfer.kind.is_bridged(),
                    ("ongoing", "partial_success") => transfer.kind.is_bridged(),
                    ("ongoing", "refund") => transfer.kind == TransferRoute::Intents,
                    _ => false,
                };
                assert!(believable, "{pair:?} of a {:?}", transfer.kind);
            }
            seen.extend(statuses);
        }
        let seen: Vec<_> = seen.iter().map(String::as_str).collect();
        assert_eq!(seen, ["needs_gas", "not_found", "ongoing", "partial_success", "refund", "success"]);
    }

    #[test]
    fn every_seed_starts_with_transfers_in_all_phases() {
        for seed in 0..20 {
            let world = SimulatedWorld::seeded(seed, 200, DateTime::UNIX_EPOCH);
            let (mut first, mut settling, mut stuck) = (BTreeMap::new(), 0, 0);
            for (transfer, statuses) in statuses_by_transfer(&world) {
                *first.entry(statuses[0].clone()).or_insert(0) += 1;
                settling += usize::from(statuses[0] != "success" && statuses[120] == "success");
                let submitted = transfer.new.params.submitted_at.unwrap();
                assert!((-2_700..=0).contains(&submitted.timestamp()), "{submitted}");
                stuck += usize::from(statuses[0] == "ongoing" && statuses[719] == "ongoing");
            }
            assert!(first["success"] >= 30 && first["ongoing"] >= 50 && first["not_found"] >= 8, "{first:?}");
            assert!(settling >= 50 && (3..=20).contains(&stuck), "{settling} settle, {stuck} are stuck");
        }
    }

    #[test]
    fn chains_are_varied_and_hashes_have_the_right_length() {
        let new = world().transfers();
        let chains: BTreeSet<_> = new.iter().flat_map(|new| [&new.params.from_chain, &new.params.to_chain]).collect();
        assert!(chains.len() >= 14 && chains.iter().all(|id| crate::domain::chains::find(id).is_some()));
        for params in new.iter().map(|new| &new.params) {
            let length = match ChainFamily::of(&params.from_chain) {
                ChainFamily::Evm => 66,
                ChainFamily::Solana => 88,
                ChainFamily::Cosmos => 64,
            };
            assert_eq!(params.transaction_id.as_str().len(), length);
        }
        let with = |has: fn(&NewTransaction) -> bool| new.iter().filter(|new| has(new)).count();
        assert!((150..200).contains(&with(|new| new.params.estimate.is_some())));
        assert!((30..100).contains(&with(|new| new.params.ticket.is_some())));
        assert!((30..150).contains(&with(|new| !new.labels.is_empty())));
        assert!((1..40).contains(&with(|new| new.params.from_chain == new.params.to_chain)));
    }

    #[test]
    fn evm_hashes_are_found_in_any_case() {
        let world = world();
        let hash = &world
            .transfers
            .iter()
            .find(|transfer| transfer.kind == TransferRoute::Message)
            .unwrap()
            .new
            .params
            .transaction_id;
        assert!(world.find(hash.as_str()).is_some());
        assert!(world.find(&hash.as_str().to_uppercase()).is_some());
        assert!(world.find("0x00").is_none());
    }
}
