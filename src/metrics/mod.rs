//! `--metrics ADDR`: what is tracked and how polling goes, as OpenMetrics text over HTTP, for whoever collects such.
//!
//! Counters are those of this process, and begin with it; gauges are read of the store when they are asked for. It must never
//! tell a transaction apart from others, nor hold up what polls.

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
    encoding::{
        EncodeLabelSet,
        text::{encode_eof, encode_registry},
    },
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

pub use self::requests::{Counted, Requests};
use crate::{
    clock::Clock,
    domain::change::{Change, What},
    store::{FeedReader, SharedReader, Store, StoreError, Wake},
};

/// What OpenMetrics text is called.
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics, served as long as this is held.
pub struct Metrics {
    address: SocketAddr,
    _tasks: JoinSet<()>,
}

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// Something else listens there.
    #[error(
        "the metrics can't be served at {0}: something else listens there; choose another port, or 0 for a free one"
    )]
    Taken(SocketAddr),
    /// Only others may.
    #[error("the metrics can't be served at {0}: you may not listen there; choose a port above 1023")]
    Forbidden(SocketAddr),
    /// Any other reason.
    #[error("the metrics can't be served at {0}: {1}; choose an address of this machine")]
    Listen(SocketAddr, io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A task panicked.
    #[error("a task of the metrics failed: {0}")]
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

/// What tells profiles apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Profile {
    profile: String,
}

impl Profile {
    fn new(profile: &str) -> Self {
        Self { profile: profile.to_owned() }
    }
}

/// How late changes are seen, of each profile.
type Delays = Family<Profile, Histogram, fn() -> Histogram>;

/// The state that a request for metrics reads.
struct Served {
    counted: Registry,
    reader: SharedReader,
    profiles: Vec<String>,
    clock: Clock,
    /// Whether only this machine is to reach it.
    is_loopback: bool,
}

impl Metrics {
    /// Serves those of these profiles at `address`, if there is one; port 0 takes a free one.
    ///
    /// # Errors
    /// If nothing can listen there, or the store can't be read.
    pub async fn serve(
        address: Option<SocketAddr>,
        (store, profiles): (&Store, Vec<String>),
        requests: &Requests,
        clock: &Clock,
    ) -> Result<Option<Self>, MetricsError> {
        let Some(address) = address else { return Ok(None) };
        let listener = TcpListener::bind(address).await.map_err(|error| MetricsError::of(address, error))?;
        let address = listener.local_addr().map_err(|error| MetricsError::of(address, error))?;
        tracing::info!(%address, "metrics are served");
        let mut counted = Registry::with_prefix("hoptop");
        requests.register(&profiles, &mut counted);
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        counted.register("build", "hoptop itself", version);
        let delays = Delays::new_with_constructor(|| Histogram::new(exponential_buckets(5.0, 2.0, 11)));
        for profile in &profiles {
            drop(delays.get_or_create(&Profile::new(profile)));
        }
        let said = "From the last answer with the old status to the one with the new: it changed in between";
        counted.register_with_unit("detection_delay", said, Unit::Seconds, delays.clone());
        let told = Served {
            counted,
            reader: SharedReader::new(store.reader()?),
            profiles,
            clock: clock.clone(),
            is_loopback: address.ip().is_loopback(),
        };
        let profiles: Arc<[String]> = told.profiles.as_slice().into();
        let router = Router::new().route("/metrics", get(answer)).with_state(Arc::new(told));
        let mut tasks = JoinSet::new();
        let (news, follower) = (store.subscribe(Wake::Changes)?, FeedReader::new(store.reader()?));
        // What was before isn't counted; what comes from here on is.
        let follower = spawn_blocking(move || follower.changes().map(|_| follower)).await??;
        tasks.spawn(watch_delays((news, follower), profiles, delays));
        tasks.spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!("the metrics are served no more: {error}");
            }
        });
        Ok(Some(Self { address, _tasks: tasks }))
    }

    /// Where they are.
    pub fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }
}

/// Whether a page of somebody else's may have had its browser ask: its name for this machine is none of ours.
fn is_foreign(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let name = host.map(|host| host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']));
    name.is_some_and(|name| name.parse::<IpAddr>().is_err() && name != "localhost")
}

async fn answer(State(told): State<Arc<Served>>, headers: HeaderMap) -> Response {
    if told.is_loopback && is_foreign(&headers) {
        return StatusCode::MISDIRECTED_REQUEST.into_response();
    }
    let text = spawn_blocking(move || told.text()).await;
    match text {
        Ok(Ok(text)) => ([(CONTENT_TYPE, TEXT)], text).into_response(),
        // What ails the store is said where hoptop runs, and isn't everybody's.
        Ok(Err(error)) => {
            tracing::warn!("the metrics were asked for and can't be read: {error}");
            (StatusCode::SERVICE_UNAVAILABLE, "the store can't be read now\n").into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

impl Served {
    fn text(&self) -> Result<String, StoreError> {
        let now = self.clock.now();
        let gauges = self.reader.read(|reader| gauges::read(reader, &self.profiles, now))?;
        let mut text = String::new();
        // Writing into a text never fails.
        let written = encode_registry(&mut text, &self.counted)
            .and_then(|()| encode_registry(&mut text, &gauges))
            .and_then(|()| encode_eof(&mut text));
        debug_assert!(written.is_ok());
        Ok(text)
    }
}

/// Counts how late changes of these profiles' statuses are seen, whoever polls.
async fn watch_delays(
    (mut news, follower): (watch::Receiver<u64>, FeedReader),
    profiles: Arc<[String]>,
    delays: Delays,
) {
    loop {
        let (follower, profiles) = (follower.clone(), Arc::clone(&profiles));
        let seen = spawn_blocking(move || {
            follower.changes_with(|news, reader| {
                let mut gaps = Vec::new();
                for change in news.changes.iter().filter(|change| profiles.contains(&change.profile)) {
                    let gap = showed_a_change(change).map(|answer| reader.gap_before(answer)).transpose()?.flatten();
                    gaps.extend(gap.map(|gap| (Profile::new(&change.profile), gap)));
                }
                Ok((gaps, news.more))
            })
        });
        match seen.await {
            Ok(Ok((gaps, more))) => {
                gaps.iter().for_each(|(of, gap)| delays.get_or_create(of).observe(gap.as_secs_f64()));
                if more {
                    continue;
                }
            }
            // What ails the store is the poller's to say; the same news come again.
            Ok(Err(error)) => tracing::debug!("how late changes are seen can't be read: {error}"),
            Err(panicked) => return tracing::error!("how late changes are seen is counted no more: {panicked}"),
        }
        if news.changed().await.is_err() {
            return;
        }
    }
}

/// The answer that showed another status than the one before, if this is that.
fn showed_a_change(change: &Change) -> Option<i64> {
    match change.what {
        What::StatusChanged { previous: Some(_), .. } => change.observation,
        _ => None,
    }
}

#[cfg(test)]
mod tests;
