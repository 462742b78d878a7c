//! Carries out the requests of a [`Lease`] on a connection of its own, and publishes the permission of the lease.
//!
//! It must never decide anything: the lease does. Its clock goes on while the machine is suspended.

use std::time::Duration;

use tokio::{sync::watch, time};

use super::{
    connect::Connector,
    database::{DatabaseNotification, Fence, TeamDatabase},
    error::TeamError,
    lease::{HolderId, Lease, LeaseStep, REPLY_LIMIT, SendPermission},
};
use crate::{clock::Clock, domain::team::Drain};

/// The longest sleep. A suspended machine's sleep is longer than it was meant to be, so the lease looks at the clock
/// often.
const MAX_SLEEP: Duration = Duration::from_millis(500);

/// The longest wait for a new connection. A connection costs about ten round trips.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// What a lease permits now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeaseStatus {
    /// Whether requests may be sent to the service.
    pub(crate) permission: SendPermission,
    /// What a poller's entries in the log name; `None` without the lease.
    pub(crate) fence: Option<Fence>,
    /// What the last holder left for this one, if this machine holds the lease.
    pub(crate) inherited: Option<String>,
    /// Why the last request to the database failed; `None` if it was answered.
    pub(crate) fault: Option<TeamError>,
}

/// The lease of one ID, and the way to the database.
pub(crate) struct LeaseDriver {
    /// Opens connections to the database.
    pub(crate) connector: Connector,
    pub(crate) id: HolderId,
    /// How much longer than others this machine waits before it takes the lease.
    pub(crate) takeover_delay: Duration,
    /// The fingerprint of base URL and ID.
    pub(crate) fingerprint: String,
    /// The source of time.
    pub(crate) clock: Clock,
    /// Takes the status of the lease.
    pub(crate) status: watch::Sender<LeaseStatus>,
    /// Returns the pace that the next holder would inherit now.
    pub(crate) pace: Box<dyn Fn() -> Option<String> + Send>,
    /// What the poller asks for.
    pub(crate) release: watch::Receiver<ReleaseRequest>,
}

/// What a poller asks of its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReleaseRequest {
    /// Keep the lease.
    Keep,
    /// Permit no more requests to the service. The poller waits for the answers.
    Drain,
    /// Give the lease back. The answers that came are in the log.
    Release(Drain),
}

impl LeaseDriver {
    /// Runs the lease until it is released. If the database is away then, the lease expires by itself.
    pub(crate) async fn run(mut self) {
        let mut lease = Lease::new(self.id, self.takeover_delay);
        let mut link: Option<(TeamDatabase, String)> = None;
        let mut is_released = false;
        let mut inherited = None;
        let mut fault = None;
        loop {
            let now = self.clock.since_boot();
            match *self.release.borrow_and_update() {
                ReleaseRequest::Keep => {}
                ReleaseRequest::Drain => lease.drain(),
                ReleaseRequest::Release(drain) if !is_released => {
                    is_released = true;
                    lease.drain();
                    lease.release(drain, now);
                }
                ReleaseRequest::Release(_) => {}
            }
            self.publish(&lease, lease.permission(now), link.as_ref(), &inherited, &fault);
            if is_released && (lease.epoch().is_none() || fault.is_some()) {
                return;
            }
            match lease.next(now) {
                LeaseStep::Send(number, request) => {
                    let answer = match &mut link {
                        Some((database, budget)) => {
                            let pace = (self.pace)();
                            let call = database.lease(budget, self.id, request, pace.as_deref());
                            time::timeout(REPLY_LIMIT, call).await.unwrap_or(Err(TeamError::NoAnswer)).map(Some)
                        }
                        // A slow connection takes longer than an answer may, so the request is sent after this one.
                        None => self.connect_in_time().await.map(|connected| {
                            link = connected;
                            None
                        }),
                    };
                    let is_new_link = matches!(answer, Ok(None)) && link.is_some();
                    let reply = match answer {
                        Ok(answer) => {
                            fault = None;
                            answer.map(|(reply, left)| {
                                // What the last holder left is of use to the next one only.
                                if lease.epoch().is_none() {
                                    inherited = left;
                                }
                                reply
                            })
                        }
                        Err(error) => {
                            tracing::debug!("a request for the lease failed: {error}");
                            (link, fault) = (None, Some(error));
                            None
                        }
                    };
                    let now = self.clock.since_boot();
                    lease.on_reply(number, reply, now);
                    if is_new_link {
                        lease.retry_now(now);
                    }
                }
                LeaseStep::WaitUntil(until) => {
                    let span = until.since(now).min(MAX_SLEEP);
                    let released = async {
                        while let Some((database, _)) = &mut link {
                            match database.next_notification().await {
                                Some(DatabaseNotification::Released) => return,
                                Some(
                                    DatabaseNotification::Entry(_)
                                    | DatabaseNotification::Open(_)
                                    | DatabaseNotification::Members
                                    | DatabaseNotification::Echo,
                                ) => {}
                                None => break,
                            }
                        }
                        std::future::pending().await
                    };
                    tokio::select! {
                        () = time::sleep(span) => {}
                        () = released => lease.retry_now(self.clock.since_boot()),
                        changed = self.release.changed() => {
                            if changed.is_err() {
                                return;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Connects; `None` if the poller asks for something meanwhile.
    async fn connect_in_time(&self) -> Result<Option<(TeamDatabase, String)>, TeamError> {
        let mut release = self.release.clone();
        tokio::select! {
            connected = time::timeout(CONNECT_LIMIT, self.connect()) => {
                connected.unwrap_or(Err(TeamError::NoAnswer)).map(Some)
            }
            _ = release.changed() => Ok(None),
        }
    }

    async fn connect(&self) -> Result<(TeamDatabase, String), TeamError> {
        let database = TeamDatabase::connect(&self.connector).await?;
        let info = database.connection_info().await?;
        database.listen_for_releases().await?;
        if !info.may_poll {
            return Err(TeamError::not_a_poller());
        }
        Ok((database, super::budget_key(info.salt, &self.fingerprint)))
    }

    fn publish(
        &self,
        lease: &Lease,
        permission: SendPermission,
        link: Option<&(TeamDatabase, String)>,
        inherited: &Option<String>,
        fault: &Option<TeamError>,
    ) {
        self.status.send_if_modified(|status| {
            let lease_key = link.map(|(_, budget)| budget.clone());
            let lease_key = lease_key.or_else(|| status.fence.as_ref().map(|fence| fence.lease_key.clone()));
            let fence =
                lease.epoch().zip(lease_key).map(|(epoch, lease_key)| Fence { lease_key, holder: self.id, epoch });
            let new = LeaseStatus { permission, fence, inherited: inherited.clone(), fault: fault.clone() };
            let is_new = *status != new;
            *status = new;
            is_new
        });
    }
}
