//! Polls for a team in a child process, which the kernel kills when the lease of the integrator ID runs out.
//!
//! The parent starts the child and keeps the pipe to the child open. When the pipe ends, also by the parent's death,
//! the child releases the lease. The replica is the only channel for answers; a second pipe carries the outcome of
//! each request for the parent's metrics. A child holds the lease at most once. The child must never send a request
//! without the lease, and a secret must never reach it other than through the pipe.

use std::{
    collections::BTreeMap,
    io::{self, BufRead},
    path::{Path, PathBuf},
    pin::pin,
    process::Stdio,
    sync::Arc,
    thread,
    time::Duration,
};

use color_eyre::eyre::{Report, Result, WrapErr, bail, eyre};
use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdout, Command},
    sync::watch,
    time,
};

use super::{
    crash,
    exit::Exit,
    log_file,
    service_client::{PollerOptions, ServiceClient},
    stderr::print_line,
    team_store::{TeamAccess, presence, wait_until_held},
    tokio_runtime,
};
use crate::{
    api::{BaseUrl, Timeouts},
    budget::{Pace, PaceHandover},
    chain_rpc::{ChainNodes, NodeSetting},
    clock::{Clock, MonotonicTime},
    domain::{
        secret::{IntegratorId, Password},
        team::{Drain, Nonce, TeamLink, TeamStatus},
        team_address::TeamAddress,
    },
    metrics::{CountRequest, CountingTransport, RequestCounters},
    poller::{self, Heartbeat, HttpTransport, LeasePermit, PollScope, PollerSetup},
    process::{self, kill_timer::KillTimer, lock::KernelLock, program},
    store::Store,
    team::{
        self, Connector, Fence, HolderId, LeaseDriver, LeaseStatus, PasswordSources, ReleaseRequest, SendPermission,
        SessionOptions, TeamDatabase, TeamError,
    },
};

/// The name of the hidden subcommand that runs the child.
pub(crate) const COMMAND: &str = "poll-for-team";

/// The longest time for a child to release the lease before it is killed.
const STOP_LIMIT: Duration = Duration::from_secs(6);
/// The pause before the next child after the kernel killed a child whose lease ran out.
const RESTART_PAUSE: Duration = Duration::from_millis(500);
/// The pause after a child gave the lease to a machine with a lower rank, and after a child that failed. Each further
/// failure adds the same pause again, up to [`MAX_RESTART_PAUSE`].
const LONG_RESTART_PAUSE: Duration = Duration::from_secs(3);
/// The pause after a child whose role may not poll: the owner may grant it.
const REFUSED_PAUSE: Duration = Duration::from_secs(15);
/// The longest pause after failures.
const MAX_RESTART_PAUSE: Duration = Duration::from_secs(60);
/// The longest time in which the lease's holder may fail to store answers. Then the holder releases the lease.
const UNUSABLE_LIMIT: Duration = Duration::from_secs(5);
/// The exit code of a child whose database role may not poll.
const MAY_NOT_POLL: Exit = Exit::Unauthorized;
/// The exit code of a child whose machine can't end a process in time.
const CANNOT_POLL: Exit = Exit::NeedsAttention;
/// The exit code of a child whose password the database refuses.
const WRONG_PASSWORD: Exit = Exit::Unreachable;
/// The interval between two heartbeats of the parent.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// The pause between two attempts to take the candidate lock. One process per machine and profile holds it.
const CANDIDATE_RETRY: Duration = Duration::from_millis(500);
/// The additional wait before a machine takes the lease, for each step of its rank.
const TAKEOVER_DELAY_PER_RANK: Duration = Duration::from_millis(50);

/// The settings that a child gets on its standard input, as one line. They hold secrets.
#[derive(Clone, Serialize, Deserialize)]
struct ChildSettings {
    replica: PathBuf,
    state_dir: PathBuf,
    address: String,
    password: Option<String>,
    person_name: Option<String>,
    rank: u8,
    is_light: bool,
    holder_id: String,
    run_id: u32,
    profile: String,
    base_url: String,
    integrator_id: String,
    rps: f64,
    weights: BTreeMap<String, f64>,
    sends_requests_only: bool,
    /// The nodes of chains. Their addresses hold keys.
    #[serde(default)]
    chain_nodes: Vec<NodeSetting>,
}

/// A poller in a child process.
pub(super) struct TeamPoller {
    access: TeamAccess,
    settings: ChildSettings,
    /// Counts the requests of the child.
    requests: RequestCounters,
    /// Shows that this process looks after the child. A child that hangs is ended by the timer of its lease.
    heartbeat: Heartbeat,
}

impl TeamPoller {
    /// Describes the poller of one profile, on this replica.
    pub(super) fn new(access: TeamAccess, client: ServiceClient, options: PollerOptions<'_>, replica: &Path) -> Self {
        let settings = client.chain_nodes.map(|nodes| nodes.settings()).unwrap_or_default();
        let chain_nodes = settings.into_iter().map(|node| node.shared_by(client.sharing_profiles)).collect();
        let settings = ChildSettings {
            replica: replica.to_owned(),
            state_dir: options.state_dir.unwrap_or(Path::new(".")).to_owned(),
            address: access.connector.address().to_string(),
            password: None,
            person_name: access.person_name.clone(),
            rank: access.rank,
            is_light: access.is_light,
            holder_id: Nonce(rand::random()).to_string(),
            run_id: process::run_id(),
            profile: options.profile.to_owned(),
            base_url: client.base_url,
            integrator_id: client.id.expose().to_owned(),
            rps: client.rps,
            weights: options.weights.clone(),
            sends_requests_only: options.scope == PollScope::RequestsOnly,
            chain_nodes,
        };
        Self { access, settings, requests: client.requests, heartbeat: client.heartbeat }
    }

    /// Keeps a child running until `stop` resolves, then waits until the child has released the lease.
    pub(super) async fn run(&self, stop: impl Future<Output = ()>) -> Result<()> {
        let beating = async {
            loop {
                self.heartbeat.beat();
                time::sleep(HEARTBEAT_INTERVAL).await;
            }
        };
        tokio::select! {
            ended = self.supervise_children(stop) => ended,
            () = beating => Ok(()),
        }
    }

    async fn supervise_children(&self, stop: impl Future<Output = ()>) -> Result<()> {
        let mut stop = pin!(stop);
        let (mut failures, mut refusal) = (0, String::new());
        loop {
            let pause = match self.run_child(&mut refusal, stop.as_mut()).await {
                Ok(None) => return Ok(()),
                Ok(Some(pause)) => {
                    failures = 0;
                    pause
                }
                Err(report) => {
                    tracing::error!(profile = self.settings.profile, "the poller for the team failed: {report:#}");
                    failures += 1;
                    (LONG_RESTART_PAUSE * failures).min(MAX_RESTART_PAUSE)
                }
            };
            tokio::select! {
                () = stop.as_mut() => return Ok(()),
                () = time::sleep(pause) => {}
            }
        }
    }

    /// Runs one child. Returns the pause before the next one; `None` if `stop` has resolved. `refusal` is the last reason
    /// why a child may not poll, which is logged once.
    async fn run_child(
        &self,
        refusal: &mut String,
        mut stop: impl Future<Output = ()> + Unpin,
    ) -> Result<Option<Duration>> {
        let mut child = spawn()?;
        let mut input = child.stdin.take().ok_or_else(|| eyre!("no pipe to the poller"))?;
        if let Some(output) = child.stdout.take() {
            tokio::spawn(count_requests(output, self.requests.clone(), self.settings.profile.clone()));
        }
        let password = self.access.connector.expose_password().await?;
        let mut line = serde_json::to_vec(&ChildSettings {
            password: password.map(|password| password.expose().to_owned()),
            ..self.settings.clone()
        })?;
        line.push(b'\n');
        input.write_all(&line).await?;
        let status = tokio::select! {
            biased;
            () = &mut stop => {
                drop(input);
                if time::timeout(STOP_LIMIT, child.wait()).await.is_err() {
                    child.kill().await?;
                }
                return Ok(None);
            }
            status = child.wait() => status?,
        };
        let mut reason = String::new();
        if let Some(mut errors) = child.stderr.take() {
            errors.read_to_string(&mut reason).await.ok();
        }
        match status.code() {
            None => {
                refusal.clear();
                Ok(Some(RESTART_PAUSE))
            }
            Some(code) if code == i32::from(Exit::Success.code()) => {
                refusal.clear();
                Ok(Some(LONG_RESTART_PAUSE))
            }
            Some(code) if code == i32::from(WRONG_PASSWORD.code()) => {
                // If the password was temporary, its source may have a new one.
                self.access.connector.forget_password();
                bail!("the team's database refuses the poller's login")
            }
            Some(code) if code == i32::from(MAY_NOT_POLL.code()) => {
                self.log_refusal(refusal, reason);
                Ok(Some(REFUSED_PAUSE))
            }
            Some(code) if code == i32::from(CANNOT_POLL.code()) => {
                self.log_refusal(refusal, reason);
                Ok(Some(MAX_RESTART_PAUSE))
            }
            Some(code) => bail!("the poller process ended with exit code {code}: {}", reason.trim()),
        }
    }

    /// Logs why this process doesn't poll, unless the reason is the one that was logged last.
    fn log_refusal(&self, last: &mut String, reason: String) {
        if *last != reason {
            tracing::warn!(profile = self.settings.profile, "this process doesn't poll: {}", reason.trim());
            *last = reason;
        }
    }
}

/// Starts the child, in a group of its own: a signal of the terminal reaches the parent alone.
fn spawn() -> Result<Child> {
    // The running program, even if its file was replaced since.
    let own = Path::new("/proc/self/exe");
    let program = if own.exists() { own.to_owned() } else { std::env::current_exe()? };
    let mut command = std::process::Command::new(program);
    command.arg(COMMAND).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    program::remove_hidden_variables(&mut command);
    Command::from(command).process_group(0).kill_on_drop(true).spawn().wrap_err("the poller can't be started")
}

/// Runs as the child: a candidate for the lease, and its holder, until standard input ends or a machine
/// with a lower rank can poll. Returns [`MAY_NOT_POLL`] or [`CANNOT_POLL`] with the reason on standard
/// error, or [`WRONG_PASSWORD`].
///
/// # Errors
/// If the settings can't be read, or the replica or the poller fails.
pub(crate) fn run_as_child() -> Result<Exit> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let settings: ChildSettings =
        serde_json::from_str(&line).wrap_err("the settings from the parent process can't be read")?;
    drop(line);
    crash::set_folder(&settings.state_dir);
    process::join_run(settings.run_id);
    let clock = Clock::system();
    log_file::start(&settings.state_dir, &settings.replica, clock.clone())?;
    if let Err(error) = KillTimer::new() {
        print_line(&error.to_string());
        return Ok(CANNOT_POLL);
    }
    tokio_runtime::start()?.block_on(poll_when_elected(settings, &clock))
}

/// Resolves when the parent has ended the pipe, or is dead.
fn end_of_input() -> impl Future<Output = ()> + Clone {
    let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
    let read = move || {
        io::copy(&mut io::stdin().lock(), &mut io::sink()).ok();
        drop(sender);
    };
    // Without a thread the sender is dropped here: the process ends.
    thread::Builder::new().name("parent".into()).spawn(read).ok();
    receiver.map(drop).shared()
}

/// Returns the exit code of a child whose role may not log in or not poll; `None` if it may, or the database is away. A
/// refused child, which its parent starts again and again, must not be seen by the team.
async fn refused_exit(connector: &Connector) -> Option<Exit> {
    let may_poll = async { Ok(TeamDatabase::connect(connector).await?.connection_info().await?.may_poll) };
    match may_poll.await {
        Err(TeamError::Login(_) | TeamError::PasswordMissing { .. }) => Some(WRONG_PASSWORD),
        Ok(false) => {
            print_line(&TeamError::not_a_poller().to_string());
            Some(MAY_NOT_POLL)
        }
        Ok(true) | Err(_) => None,
    }
}

/// Takes part in the election of the machine that polls, and polls while this machine is elected.
async fn poll_when_elected(settings: ChildSettings, clock: &Clock) -> Result<Exit> {
    let ended = end_of_input();
    let lock = KernelLock::beside(&settings.replica, "lease", &settings.profile);
    let _candidacy = tokio::select! {
        () = ended.clone() => return Ok(Exit::Success),
        lock = wait_for_lock(&lock) => lock?,
    };
    let holder_id =
        Nonce::parse(&settings.holder_id).ok_or_else(|| eyre!("the child's settings have no valid holder ID"))?;
    let variable = settings.password.clone().map(Password::new);
    let sources = PasswordSources { variable, ..PasswordSources::default() };
    let connector = Connector::new(TeamAddress::parse(&settings.address)?, sources)?;
    let integrator_id = IntegratorId::new(&settings.integrator_id)?;
    let base = BaseUrl::parse(&settings.base_url)?;
    if let Some(exit) = refused_exit(&connector).await {
        return Ok(exit);
    }
    let (status_sender, mut lease_status) = watch::channel(LeaseStatus::default());
    let (release, release_receiver) = watch::channel(ReleaseRequest::Keep);
    let (pace, pace_receiver) = watch::channel(None::<Pace>);
    let (may_send_sender, may_send_until) = watch::channel(None);
    let (fence_sender, fence) = watch::channel(None);
    let pace_clock = clock.clone();
    let driver = LeaseDriver {
        connector: connector.clone(),
        id: HolderId(holder_id.0),
        takeover_delay: TAKEOVER_DELAY_PER_RANK * u32::from(settings.rank),
        fingerprint: integrator_id.fingerprint(&base.budget_name()),
        clock: clock.clone(),
        status: status_sender,
        pace: Box::new(move || {
            let handover = pace_receiver.borrow().as_ref().map(|pace| pace.handover(pace_clock.now().mono))?;
            serde_json::to_string(&handover).ok()
        }),
        release: release_receiver,
    };
    let presence = presence(holder_id, settings.person_name.clone(), vec![settings.profile.clone()], settings.rank);
    let store = Store::open_permanent(&settings.replica, clock.now().wall)?;
    let options = SessionOptions { connector, presence, is_light: settings.is_light, fence: Some(fence) };
    let store = team::start(store, options, clock.clone())?;
    let mut status = store.team().ok_or_else(|| eyre!("the store isn't a replica"))?;
    let is_connected_or_refused =
        |status: &TeamStatus| matches!(status.link, TeamLink::Live | TeamLink::Refused { .. });
    // A machine that can't keep an answer is no candidate.
    tokio::select! {
        () = ended.clone() => return Ok(Exit::Success),
        reached = status.wait_for(is_connected_or_refused) => if let TeamLink::Refused { reason } = &reached?.link {
            bail!("{reason}");
        },
    }
    let lease = run_lease(driver, lease_status.clone(), may_send_sender, fence_sender)?;
    let preferred_member =
        wait_for_preferred_member(status.clone(), holder_id, settings.profile.clone(), settings.rank);
    let lost = wait_for_lost_lease(lease_status.clone());
    // A machine whose replica or database fails for long can't keep answers.
    let is_unusable = |status: &TeamStatus| status.link != TeamLink::Live;
    let unusable = wait_until_held(status.clone(), UNUSABLE_LIMIT, clock, is_unusable);
    let elected = async {
        let lease_status = lease_status.wait_for(|status| status.fence.is_some() || is_refused(status)).await?;
        if let Some(fault) = lease_status.fault.as_ref().filter(|_| lease_status.fence.is_none()) {
            print_line(&fault.to_string());
            return Ok::<_, Report>(None);
        }
        let handover =
            lease_status.inherited.as_deref().and_then(|pace| serde_json::from_str::<PaceHandover>(pace).ok());
        let lease_key = lease_status.fence.as_ref().map(|fence| fence.lease_key.clone()).unwrap_or_default();
        Ok(Some((handover.unwrap_or_default(), lease_key)))
    };
    let inherited = tokio::select! {
        () = ended.clone() => None,
        elected = elected => match elected? {
            Some(inherited) => Some(inherited),
            None => return Ok(MAY_NOT_POLL),
        },
    };
    let mut drain = Ok(Drain::Complete);
    if let Some((inherited, lease_key)) = inherited {
        let lease = LeasePermit { may_send_until, key: lease_key, inherited: Some(inherited), pace };
        let setup = PollerSetup { lease: Some(lease), ..poller_setup(settings, integrator_id, &store, clock)? };
        let draining = async {
            tokio::select! {
                () = ended => {}
                () = preferred_member => {}
                () = unusable => {}
            }
            release.send_replace(ReleaseRequest::Drain);
        };
        drain = tokio::select! {
            drain = poller::run(setup, draining) => drain,
            // Another machine holds the lease: the inherited pace no longer counts.
            () = lost => return Ok(Exit::Success),
        };
    }
    // The next holder asks again for the answers that can't be stored.
    let flushed = store.flush().await;
    release.send_replace(ReleaseRequest::Release(drain.as_ref().copied().unwrap_or(Drain::Incomplete)));
    tokio::task::spawn_blocking(move || lease.join()).await?.map_err(|_| eyre!("the lease's thread panicked"))??;
    drain?;
    flushed?;
    Ok(Exit::Success)
}

/// Returns the setup of a child's poller.
fn poller_setup(
    settings: ChildSettings,
    id: IntegratorId,
    store: &Store,
    clock: &Clock,
) -> Result<PollerSetup<CountingTransport<HttpTransport>>> {
    let nodes = Some(settings.chain_nodes).filter(|nodes| !nodes.is_empty());
    let mut client = ServiceClient::new(&settings.base_url, id, settings.rps)?;
    client.chain_nodes = nodes.map(|nodes| Arc::new(ChainNodes::new(nodes, Timeouts::default(), clock.clone())));
    let options = PollerOptions {
        profile: &settings.profile,
        weights: &settings.weights,
        state_dir: Some(&settings.state_dir),
        scope: if settings.sends_requests_only { PollScope::RequestsOnly } else { PollScope::Everything },
        team: None,
    };
    Ok(client.setup_factory(options, store, clock, report_to_parent()?)())
}

/// Returns a function that reports a request to the parent. A report that the pipe can't hold is dropped.
fn report_to_parent() -> Result<CountRequest> {
    let output = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?;
    let output = tokio::net::unix::pipe::Sender::from_owned_fd(output)?;
    Ok(Box::new(move |sent| {
        if let Ok(mut line) = serde_json::to_vec(&sent) {
            line.push(b'\n');
            // Short enough to be written whole or not at all.
            output.try_write(&line).ok();
        }
    }))
}

/// Counts the requests that the child reports, until it ends.
async fn count_requests(output: ChildStdout, requests: RequestCounters, profile: String) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(sent) = serde_json::from_str(&line) {
            requests.count(&profile, sent);
        }
    }
}

/// Whether the role of this process may not poll.
fn is_refused(status: &LeaseStatus) -> bool {
    matches!(status.fault, Some(TeamError::Permission(_)))
}

/// Resolves when this machine has held the lease and no longer does.
async fn wait_for_lost_lease(mut status: watch::Receiver<LeaseStatus>) {
    let epoch = |status: &LeaseStatus| status.fence.as_ref().map(|fence| fence.epoch);
    let lost = async {
        let first = epoch(&*status.wait_for(|status| status.fence.is_some()).await?);
        status.wait_for(|status| epoch(status) != first).await.map(drop)
    };
    if lost.await.is_err() {
        // The lease's thread has ended: the lease was released.
        std::future::pending().await
    }
}

/// Runs the lease on a thread of its own, so that nothing delays a renewal of the lease. Publishes the permission of the
/// lease to the poller and the session.
fn run_lease(
    driver: LeaseDriver,
    lease_status: watch::Receiver<LeaseStatus>,
    may_send_sender: watch::Sender<Option<MonotonicTime>>,
    fence_sender: watch::Sender<Option<Fence>>,
) -> Result<thread::JoinHandle<io::Result<()>>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let run = move || {
        let publishing = publish_permission(lease_status, KillTimer::new()?, may_send_sender, fence_sender);
        runtime.block_on(async { tokio::join!(driver.run(), publishing) });
        Ok(())
    };
    Ok(thread::Builder::new().name("lease".into()).spawn(run)?)
}

/// Publishes the permission of the lease, after arming the timer.
async fn publish_permission(
    mut lease_status: watch::Receiver<LeaseStatus>,
    mut timer: KillTimer,
    may_send_sender: watch::Sender<Option<MonotonicTime>>,
    fence_sender: watch::Sender<Option<Fence>>,
) {
    loop {
        let LeaseStatus { permission, fence, .. } = lease_status.borrow_and_update().clone();
        let may_send_until = match permission {
            SendPermission::Until { begin, kill_at } => match timer.arm(kill_at.0) {
                Ok(()) => Some(begin),
                Err(error) => {
                    tracing::error!("the kill timer can't be armed, so no request is sent: {error}");
                    None
                }
            },
            SendPermission::No | SendPermission::From(_) => None,
        };
        fence_sender.send_if_modified(|known| std::mem::replace(known, fence.clone()) != fence);
        may_send_sender.send_replace(may_send_until);
        if lease_status.changed().await.is_err() {
            return;
        }
    }
}

async fn wait_for_lock(path: &Path) -> Result<KernelLock> {
    loop {
        match KernelLock::try_take(path)? {
            Some(lock) => return Ok(lock),
            None => time::sleep(CANDIDATE_RETRY).await,
        }
    }
}

/// Resolves when a member with a lower rank has renewed its membership for this profile.
async fn wait_for_preferred_member(mut status: watch::Receiver<TeamStatus>, own: Nonce, profile: String, rank: u8) {
    let mut seen = BTreeMap::new();
    let has_renewed = |status: &TeamStatus| {
        let mut preferred = status
            .members
            .iter()
            .filter(|member| member.id != own && member.rank < rank && member.polls.contains(&profile));
        preferred.any(|member| seen.insert(member.id, member.last_seen).is_some_and(|before| before < member.last_seen))
    };
    if status.wait_for(has_renewed).await.is_err() {
        std::future::pending::<()>().await;
    }
}
