//! Carries out the requests of a [`Lease`] on a connection of its own, and tells what the lease permits.
//!
//! It must never decide anything: the lease does. Its clock goes on while the machine is suspended.

use std::time::Duration;

use tokio::{sync::watch, time};

use super::{
    connect::Connector,
    database::{Database, Fence, Notice},
    error::TeamError,
    lease::{HolderId, Lease, LeaseStep, Permission, REPLY_LIMIT},
};
use crate::clock::Clock;

/// The longest sleep. A suspended machine's sleep is longer than it was meant to be, so the lease looks at the clock often.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);

/// What a lease permits now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tenure {
    /// Whether requests may be sent to the service.
    pub(crate) permission: Permission,
    /// What a poller's entries in the log name; `None` without the lease.
    pub(crate) fence: Option<Fence>,
    /// What the last holder left for this one, if this machine holds the lease.
    pub(crate) inherited: Option<String>,
    /// Why the last request to the database failed; `None` if it was answered.
    pub(crate) fault: Option<TeamError>,
}

impl Default for Tenure {
    fn default() -> Self {
        Self { permission: Permission::No, fence: None, inherited: None, fault: None }
    }
}

/// The lease of one ID, and the way to the database.
pub(crate) struct LeaseDriver {
    /// The way to the database.
    pub(crate) connector: Connector,
    /// The candidate.
    pub(crate) id: HolderId,
    /// How much longer than others this machine waits before it takes the lease.
    pub(crate) patience: Duration,
    /// The fingerprint of base URL and ID.
    pub(crate) fingerprint: String,
    /// The source of time.
    pub(crate) clock: Clock,
    /// Takes what the lease permits.
    pub(crate) tenure: watch::Sender<Tenure>,
    /// Returns what the next holder would inherit now.
    pub(crate) pace: Box<dyn Fn() -> Option<String> + Send>,
    /// How far this machine is in giving the lease back.
    pub(crate) handback: watch::Receiver<Handback>,
}

/// How far a machine is in giving the lease back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Handback {
    /// It keeps the lease.
    #[default]
    No,
    /// It sends no more requests to the service, and waits for the answers.
    Draining,
    /// All requests are answered, and the answers are in the log.
    Drained,
}

impl LeaseDriver {
    /// Runs the lease until it was given back, or can't be because the database is away: then it runs out by itself.
    pub(crate) async fn run(mut self) {
        let mut lease = Lease::new(self.id, self.patience);
        let mut link: Option<(Database, String)> = None;
        let mut is_drained = false;
        let mut inherited = None;
        let mut fault = None;
        loop {
            let now = self.clock.since_boot();
            let handback = *self.handback.borrow_and_update();
            if handback >= Handback::Draining {
                lease.drain();
            }
            if handback == Handback::Drained && !is_drained {
                is_drained = true;
                lease.drained(now);
            }
            self.publish(&lease, lease.permission(now), link.as_ref(), &inherited, &fault);
            if is_drained && (lease.epoch().is_none() || fault.is_some()) {
                return;
            }
            match lease.next(now) {
                LeaseStep::Send(number, request) => {
                    let pace = (self.pace)();
                    let call = async {
                        let (database, budget) = match &mut link {
                            Some(link) => link,
                            None => link.insert(self.connect().await?),
                        };
                        database.lease(budget, self.id, request, pace.as_deref()).await
                    };
                    let reply = time::timeout(REPLY_LIMIT, call).await.unwrap_or(Err(TeamError::NoAnswer));
                    let reply = match reply {
                        Ok((reply, left)) => {
                            // What the last holder left is of use to the next one only.
                            inherited = if lease.epoch().is_none() { left } else { inherited };
                            fault = None;
                            Some(reply)
                        }
                        Err(error) => {
                            tracing::debug!("a request for the lease failed: {error}");
                            (link, fault) = (None, Some(error));
                            None
                        }
                    };
                    lease.on_reply(number, reply, self.clock.since_boot());
                }
                LeaseStep::WaitUntil(until) => {
                    let span = until.since(now).min(LONGEST_SLEEP);
                    let released = async {
                        while let Some((database, _)) = &mut link {
                            match database.notice().await {
                                Some(Notice::Released) => return,
                                Some(Notice::Entry(_) | Notice::Open(_) | Notice::Members | Notice::Echo) => {}
                                None => break,
                            }
                        }
                        std::future::pending().await
                    };
                    tokio::select! {
                        () = time::sleep(span) => {}
                        () = released => lease.look_again(self.clock.since_boot()),
                        changed = self.handback.changed() => {
                            if changed.is_err() {
                                return;
                            }
                        }
                    }
                }
            }
        }
    }

    async fn connect(&self) -> Result<(Database, String), TeamError> {
        let database = Database::connect(&self.connector).await?;
        let hello = database.hello().await?;
        database.listen_for_releases().await?;
        if !hello.may_poll {
            return Err(TeamError::Permission("the role isn't a member of hoptop_poller".into()));
        }
        Ok((database, super::budget_key(hello.salt, &self.fingerprint)))
    }

    fn publish(
        &self,
        lease: &Lease,
        permission: Permission,
        link: Option<&(Database, String)>,
        inherited: &Option<String>,
        fault: &Option<TeamError>,
    ) {
        self.tenure.send_if_modified(|tenure| {
            let budget = link.map(|(_, budget)| budget.clone());
            let budget = budget.or_else(|| tenure.fence.as_ref().map(|fence| fence.budget.clone()));
            let fence = lease.epoch().zip(budget).map(|(epoch, budget)| Fence { budget, holder: self.id, epoch });
            let new = Tenure { permission, fence, inherited: inherited.clone(), fault: fault.clone() };
            let is_new = *tenure != new;
            *tenure = new;
            is_new
        });
    }
}
