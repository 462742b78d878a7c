//! A poller's access to one profile: the client of the service, and the folder of the shared budget.
//!
//! The module must never send a request.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use color_eyre::eyre::Result;

use super::{stderr::print_line, team_store::TeamAccess};
use crate::{
    api::{BaseUrl, Client, Timeouts},
    chain_rpc::ChainNodes,
    clock::Clock,
    config::{ConfigError, Settings},
    domain::{secret::IntegratorId, text},
    metrics::{CountRequest, CountingTransport, RequestCounters},
    poller::{Heartbeat, HttpTransport, PollScope, PollerSetup},
    store::Store,
};

/// The HTTP client of one profile, created from checked settings.
pub(crate) struct ServiceClient {
    pub(super) base_url: String,
    pub(super) id: IntegratorId,
    client: Client,
    pub(crate) rps: f64,
    /// The fingerprint of base URL and ID.
    pub fingerprint: String,
    /// The part of the ID that may be shown, such as `…7f3a`.
    pub shown_id: String,
    pub requests: RequestCounters,
    /// The heartbeat of the poller that uses the client.
    pub heartbeat: Heartbeat,
    /// The nodes of the chains that the poller asks besides; `None` if it asks none.
    pub chain_nodes: Option<Arc<ChainNodes>>,
    /// The number of profiles that share the nodes.
    pub sharing_profiles: usize,
}

impl ServiceClient {
    /// Checks the base URL and creates the client.
    pub(crate) fn new(base_url: &str, id: IntegratorId, rps: f64) -> Result<Self> {
        let base = BaseUrl::parse(base_url)?;
        let (fingerprint, shown_id) = (id.fingerprint(&base.budget_name()), id.last4());
        let client = Client::new(base, id.clone(), Timeouts::default())?;
        Ok(Self {
            base_url: base_url.to_owned(),
            id,
            client,
            rps,
            fingerprint,
            shown_id,
            requests: RequestCounters::default(),
            heartbeat: Heartbeat::default(),
            chain_nodes: None,
            sharing_profiles: 1,
        })
    }

    /// Creates the client from loaded settings, and prints their warnings on standard error.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid.
    pub(crate) fn checked(polling: Result<crate::config::PollingSettings, ConfigError>) -> Result<Self> {
        let polling = polling?;
        for warning in &polling.warnings {
            print_line(&format!("warning: {}", text::clean(warning)));
        }
        Self::new(&polling.base_url, polling.id, polling.rps)
    }

    /// Whether `other` has the same ID at the same service but another limit.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint && self.rps != other.rps
    }

    /// Returns a function that counts the requests about a profile.
    pub(super) fn counter(&self, profile: &str) -> CountRequest {
        let (requests, profile) = (self.requests.clone(), profile.to_owned());
        Box::new(move |sent| requests.count(&profile, sent))
    }

    /// Returns a function that creates the setup of a poller. Each call is for a new poller, after the earlier one has
    /// stopped.
    pub(super) fn setup_factory(
        self,
        options: PollerOptions<'_>,
        store: &Store,
        clock: &Clock,
        count: CountRequest,
    ) -> impl Fn() -> PollerSetup<CountingTransport<HttpTransport>> + Send + Sync + 'static {
        let Self { client, rps, fingerprint, shown_id, heartbeat, chain_nodes, .. } = self;
        let (store, clock) = (store.clone(), clock.clone());
        let transport =
            Arc::new(CountingTransport { transport: HttpTransport { client, clock: clock.clone() }, count });
        let (profile, weights) = (options.profile.to_owned(), options.weights.clone());
        let (budget_folder, scope) = (options.state_dir.map(Path::to_owned), options.scope);
        move || PollerSetup {
            store: store.clone(),
            transport: Arc::clone(&transport),
            clock: clock.clone(),
            profile: profile.clone(),
            rps,
            shown_id: shown_id.clone(),
            fingerprint: fingerprint.clone(),
            budget_folder: budget_folder.clone(),
            weights: weights.clone(),
            scope,
            seed: rand::random(),
            lease: None,
            heartbeat: heartbeat.clone(),
            chain_nodes: chain_nodes.clone(),
        }
    }
}

/// The profile to poll, and the folder of the budget that processes share.
#[derive(Clone, Copy)]
pub(crate) struct PollerOptions<'a> {
    pub profile: &'a str,
    /// By label: the factor by which a delay costs more.
    pub weights: &'a BTreeMap<String, f64>,
    /// The state folder, which holds the shared budget; `None` if no other process uses the ID.
    pub state_dir: Option<&'a Path>,
    /// The requests that the poller sends without being asked.
    pub scope: PollScope,
    /// The team's store, whose lease decides which machine polls; `None` if this machine polls alone.
    pub team: Option<&'a TeamAccess>,
}

impl<'a> PollerOptions<'a> {
    /// Returns the options for the current profile of `settings`.
    pub(crate) fn of(settings: &'a Settings, scope: PollScope, team: Option<&'a TeamAccess>) -> Self {
        let Settings { profile, state_dir, weights, .. } = settings;
        Self { profile, weights, state_dir: Some(state_dir), scope, team }
    }
}
