//! The access of a process to a team's store: its identity in the team, and the session that makes its store a replica.
//!
//! The module must never open a file of its own: the replica is opened like any store.

use std::{path::Path, time::Duration};

use color_eyre::eyre::{Result, bail};
use futures_util::FutureExt;
use tokio::{sync::watch, time};

use super::tokio_runtime;
use crate::{
    clock::Clock,
    config::{Settings, StorePassword, TeamStore},
    domain::{
        team::{Nonce, TeamLink, TeamStatus},
        text,
    },
    store::Store,
    team::{self, Connector, MemberPresence, PasswordSources, SessionOptions},
};

/// The ranks of processes, from the one that polls first: `hoptop watch`, a dashboard, a command that asks once.
pub(crate) const WATCH_RANK: u8 = 1;
/// See [`WATCH_RANK`].
pub(crate) const DASHBOARD_RANK: u8 = 5;
/// See [`WATCH_RANK`].
pub(crate) const COMMAND_RANK: u8 = 9;

/// The delay before "no machine is polling" is reported: longer than a takeover.
const UNPOLLED_REPORT_DELAY: Duration = Duration::from_secs(15);

/// How a process takes part in a team.
#[derive(Clone)]
pub(crate) struct TeamAccess {
    pub(crate) connector: Connector,
    /// The name that the person set.
    pub(crate) person_name: Option<String>,
    /// The order in which machines take a lease, 0 to 9: lower first.
    pub(crate) rank: u8,
    pub(crate) is_light: bool,
}

impl TeamAccess {
    /// Returns how a process with these settings takes part in a team; `None` without a team's store. `rank` counts
    /// unless the settings have one.
    ///
    /// # Errors
    /// If the certificate authorities can't be read.
    pub(crate) fn of(settings: &Settings, rank: u8) -> Result<Option<Self>> {
        let Some(TeamStore { address, password, .. }) = settings.store.clone() else { return Ok(None) };
        let StorePassword { setting, variable, pass_file, service } = password;
        let connector = Connector::new(address, PasswordSources { setting, variable, pass_file, service })?;
        Ok(Some(Self {
            connector,
            person_name: settings.author.clone(),
            rank: settings.team_rank.unwrap_or(rank),
            is_light: settings.is_light,
        }))
    }

    /// Makes an open store the replica of the team's log, and follows the log until the last handle is dropped.
    ///
    /// # Errors
    /// If the store can't be read, or no thread can be started.
    pub(crate) fn follow(&self, store: Store) -> Result<Store> {
        let presence = presence(Nonce(rand::random()), self.person_name.clone(), Vec::new(), self.rank);
        let options =
            SessionOptions { connector: self.connector.clone(), presence, is_light: self.is_light, fence: None };
        Ok(team::start(store, options, Clock::system())?)
    }
}

/// Describes this process to the team. Only a process that may poll names profiles.
pub(super) fn presence(id: Nonce, person_name: Option<String>, polls: Vec<String>, rank: u8) -> MemberPresence {
    let host = whoami::hostname().unwrap_or_else(|_| "unknown".to_owned());
    MemberPresence { id, person_name, host, polls, rank }
}

/// Waits until the replica is up to date, the database is unreachable, or `limit` has passed. Returns the last state.
pub(crate) async fn wait_for_log(mut status: watch::Receiver<TeamStatus>, limit: Option<Duration>) -> TeamStatus {
    let settled = status.wait_for(|status| match status.link {
        TeamLink::Connecting | TeamLink::CatchingUp => false,
        TeamLink::Live | TeamLink::Away { .. } | TeamLink::Refused { .. } => true,
    });
    match limit {
        Some(limit) => drop(time::timeout(limit, settled).await),
        None => drop(settled.await),
    }
    status.borrow().clone()
}

/// Creates a replica of the team's database at `path`, and waits until the replica is complete.
///
/// # Errors
/// If the database is away or refuses this machine, or the file can't be written.
pub(crate) fn open_new_replica(access: &TeamAccess, path: &Path) -> Result<Store> {
    let whole = TeamAccess { is_light: false, ..access.clone() };
    let store = whole.follow(Store::open(path)?)?;
    let Some(status) = store.team() else { bail!("the store isn't a replica") };
    let status = tokio_runtime::start()?.block_on(wait_for_log(status, None));
    match status.link {
        TeamLink::Live => Ok(store),
        TeamLink::Away { reason, .. } | TeamLink::Refused { reason } => bail!("{}", text::clean(&reason)),
        TeamLink::Connecting | TeamLink::CatchingUp => {
            bail!("the connection to the team's store ended before the copy was complete; run the command again")
        }
    }
}

/// Waits until no machine of the team has polled one of these profiles for [`UNPOLLED_REPORT_DELAY`].
pub(crate) async fn wait_until_unpolled(status: watch::Receiver<TeamStatus>, profiles: &[String], clock: &Clock) {
    let is_unpolled = |status: &TeamStatus| profiles.iter().any(|profile| status.is_unpolled(profile));
    wait_until_held(status, UNPOLLED_REPORT_DELAY, clock, is_unpolled).await;
}

/// Waits until a condition has held for `duration`. Never resolves if the session ends first.
pub(super) async fn wait_until_held(
    mut status: watch::Receiver<TeamStatus>,
    duration: Duration,
    clock: &Clock,
    holds: impl Fn(&TeamStatus) -> bool,
) {
    while status.wait_for(&holds).await.is_ok() {
        let has_ended = status.wait_for(|status| !holds(status)).map(|status| status.is_err());
        tokio::select! {
            has_ended = has_ended => if has_ended { break },
            () = clock.sleep_until(clock.now().mono + duration) => return,
        }
    }
    std::future::pending().await
}
