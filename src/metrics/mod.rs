//! `--metrics ADDR`: serves figures about tracking and polling as OpenMetrics text over HTTP.
//!
//! Counters count from the start of this process; gauges are read from the store for each request. A metric must never
//! identify a single transaction, and serving must never delay the poller.

mod gauges;
mod requests;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::{
    Router,
    extract::State,
    http::{
        HeaderMap, StatusCode,
        header::{CONTENT_TYPE, HOST},
    },
    response::{IntoResponse, Response},
    routing::get,
};
use prometheus_client::{
    encoding::text::{encode_eof, encode_registry},
    metrics::{
        family::Family,
        histogram::{Histogram, exponential_buckets},
        info::Info,
    },
    registry::{Registry, Unit},
};
use tokio::{
    net::TcpListener,
    sync::watch,
    task::{JoinError, JoinSet, spawn_blocking},
};

use self::gauges::ProfileLabels;
pub(crate) use self::requests::{Counted, Requests, SentRequest};
use crate::{
    clock::Clock,
    domain::{
        change::{Change, ChangeKind},
        team::TeamStatus,
    },
    store::{FeedReader, SharedReader, Store, StoreError, Wake},
};

/// The content type of OpenMetrics text.
const OPENMETRICS_TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics server, which runs until this value is dropped.
pub(crate) struct Metrics {
    address: SocketAddr,
    _tasks: JoinSet<()>,
}

/// The reason why the metrics can't be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MetricsError {
    /// Another program listens at the address.
    #[error("can't serve the metrics at {0}: the port is in use; choose another port, or 0 for a free one")]
    Taken(SocketAddr),
    /// The user may not listen at the address.
    #[error("can't serve the metrics at {0}: permission denied; choose a port above 1023")]
    Forbidden(SocketAddr),
    /// Any other reason.
    #[error("can't serve the metrics at {0}: {1}; choose an address of this machine")]
    Listen(SocketAddr, io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A task panicked.
    #[error("internal error: a task of the metrics server failed: {0}")]
    Task(#[from] JoinError),
}

impl MetricsError {
    fn of(address: SocketAddr, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::Taken(address),
            io::ErrorKind::PermissionDenied => Self::Forbidden(address),
            _ => Self::Listen(address, error),
        }
    }
}

/// The delays between status changes and the answers that show them, for each profile.
type Delays = Family<ProfileLabels, Histogram, fn() -> Histogram>;

/// The state that requests for metrics read.
struct MetricsState {
    counted: Registry,
    reader: SharedReader,
    /// The state of the team's store; `None` for a store of one machine.
    team: Option<watch::Receiver<TeamStatus>>,
    profiles: Vec<String>,
    clock: Clock,
    /// Whether the server listens on a loopback address, which only this machine can reach.
    is_loopback: bool,
}

impl Metrics {
    /// Serves the metrics of these profiles at `address`, if given; port 0 chooses a free port.
    ///
    /// # Errors
    /// If the server can't listen at the address, or the store can't be read.
    pub(crate) async fn serve(
        address: Option<SocketAddr>,
        store: &Store,
        profiles: Vec<String>,
        requests: &Requests,
        clock: &Clock,
    ) -> Result<Option<Self>, MetricsError> {
        let Some(address) = address else { return Ok(None) };
        let listener = TcpListener::bind(address).await.map_err(|error| MetricsError::of(address, error))?;
        let address = listener.local_addr().map_err(|error| MetricsError::of(address, error))?;
        tracing::info!(%address, "metrics server started");
        let mut counted = Registry::with_prefix("hoptop");
        requests.register(&profiles, &mut counted);
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        counted.register("build", "Version of hoptop", version);
        let delays = Delays::new_with_constructor(|| Histogram::new(exponential_buckets(5.0, 2.0, 11)));
        for profile in &profiles {
            drop(delays.get_or_create(&ProfileLabels::new(profile)));
        }
        let help = "Time between the last answer with the old status and the first with the new one";
        counted.register_with_unit("detection_delay", help, Unit::Seconds, delays.clone());
        let state = MetricsState {
            counted,
            reader: SharedReader::new(store.reader()?),
            team: store.team(),
            profiles,
            clock: clock.clone(),
            is_loopback: address.ip().is_loopback(),
        };
        let profiles: Arc<[String]> = state.profiles.as_slice().into();
        let router = Router::new().route("/metrics", get(answer_request)).with_state(Arc::new(state));
        let mut tasks = JoinSet::new();
        let (wakeups, feed) = (store.subscribe(Wake::Changes)?, FeedReader::new(store.reader()?));
        // Earlier changes aren't counted.
        let feed = spawn_blocking(move || feed.changes().map(|_| feed)).await??;
        tasks.spawn(watch_delays(wakeups, feed, profiles, delays));
        tasks.spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!("the metrics server stopped: {error}");
            }
        });
        Ok(Some(Self { address, _tasks: tasks }))
    }

    /// Returns the URL of the metrics.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }
}

/// Whether `Host` is neither an IP address nor `localhost`. Then a web page may have made a browser send the request.
fn has_foreign_host(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let name = host.map(|host| host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']));
    name.is_some_and(|name| name.parse::<IpAddr>().is_err() && name != "localhost")
}

async fn answer_request(State(state): State<Arc<MetricsState>>, headers: HeaderMap) -> Response {
    if state.is_loopback && has_foreign_host(&headers) {
        return StatusCode::MISDIRECTED_REQUEST.into_response();
    }
    let text = spawn_blocking(move || state.text()).await;
    match text {
        Ok(Ok(text)) => ([(CONTENT_TYPE, OPENMETRICS_TEXT)], text).into_response(),
        // The store's error is logged here, and the client doesn't see it.
        Ok(Err(error)) => {
            tracing::warn!("a request for the metrics failed: {error}");
            (StatusCode::SERVICE_UNAVAILABLE, "can't read the store\n").into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

impl MetricsState {
    fn text(&self) -> Result<String, StoreError> {
        let now = self.clock.now();
        let team = self.team.as_ref().map(|team| team.borrow().clone());
        let gauges = self.reader.read(|reader| gauges::read(reader, &self.profiles, team.as_ref(), now))?;
        let mut text = String::new();
        // Writing to a `String` never fails.
        let written = encode_registry(&mut text, &self.counted)
            .and_then(|()| encode_registry(&mut text, &gauges))
            .and_then(|()| encode_eof(&mut text));
        debug_assert!(written.is_ok());
        Ok(text)
    }
}

/// Measures how late status changes of these profiles are seen, whichever process polls.
async fn watch_delays(mut wakeups: watch::Receiver<u64>, feed: FeedReader, profiles: Arc<[String]>, delays: Delays) {
    loop {
        let (feed, profiles) = (feed.clone(), Arc::clone(&profiles));
        let seen = spawn_blocking(move || {
            feed.changes_with(|page, reader| {
                let mut gaps = Vec::new();
                for change in page.changes.iter().filter(|change| profiles.contains(&change.profile)) {
                    let gap = observation_of_status_change(change)
                        .map(|answer| reader.gap_before(answer))
                        .transpose()?
                        .flatten();
                    gaps.extend(gap.map(|gap| (ProfileLabels::new(&change.profile), gap)));
                }
                Ok((gaps, page.more))
            })
        });
        match seen.await {
            Ok(Ok((gaps, more))) => {
                gaps.iter().for_each(|(of, gap)| delays.get_or_create(of).observe(gap.as_secs_f64()));
                if more {
                    continue;
                }
            }
            // The poller reports errors of the store. The next read returns the same changes again.
            Ok(Err(error)) => tracing::debug!("failed to measure the detection delay: {error}"),
            Err(panicked) => return tracing::error!("the detection delay is no longer measured: {panicked}"),
        }
        if wakeups.changed().await.is_err() {
            return;
        }
    }
}

/// Returns the observation that showed a new status; `None` if the change is not a status change.
fn observation_of_status_change(change: &Change) -> Option<i64> {
    match change.what {
        ChangeKind::StatusChanged { previous: Some(_), .. } => change.observation,
        _ => None,
    }
}

#[cfg(test)]
mod tests;
