//! `--metrics ADDR`: serves figures about tracking and polling over HTTP, as OpenMetrics text or in the text format of
//! Prometheus.
//!
//! Counters count from the start of this process; gauges are read from the store for each request. A metric must never
//! identify a single transaction, and serving must never delay the poller.

mod feed;
mod format;
mod gauges;
mod requests;
mod server;

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
    metrics::info::Info,
    registry::Registry,
};
use tokio::{
    net::TcpListener,
    task::{JoinError, JoinSet, spawn_blocking},
};

pub(crate) use self::requests::{CountRequest, CountingTransport, RequestCounters};
use self::{feed::FeedMetrics, format::TextFormat, gauges::GaugeSources};
use crate::{
    clock::Clock,
    notify::WebhookPosts,
    store::{FeedReader, SharedReader, Store, StoreError, WakeKind},
};

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

/// What the metrics are about.
pub(crate) struct MetricsSources<'a> {
    pub store: &'a Store,
    /// The profiles whose metrics are served.
    pub profiles: Vec<String>,
    /// The requests of this process.
    pub requests: RequestCounters,
    /// The posts of this process to webhooks.
    pub posts: WebhookPosts,
}

/// The state that requests for metrics read.
struct MetricsState {
    counted: Registry,
    gauges: GaugeSources,
    /// Whether the server listens on a loopback address, which only this machine can reach.
    is_loopback: bool,
}

impl Metrics {
    /// Serves the metrics of these sources at `address`, if given; port 0 chooses a free port.
    ///
    /// # Errors
    /// If the server can't listen at the address, or the store can't be read.
    pub(crate) async fn serve(
        address: Option<SocketAddr>,
        MetricsSources { store, profiles, requests, posts }: MetricsSources<'_>,
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
        let feed_metrics = FeedMetrics::new(&profiles, store.team().map(|_| clock.now().wall), &mut counted);
        let (reader, store_path, team) = (SharedReader::new(store.reader()?), store.path().to_owned(), store.team());
        let gauges = GaugeSources { reader, store_path, posts, team, profiles, clock: clock.clone() };
        let state = MetricsState { counted, gauges, is_loopback: address.ip().is_loopback() };
        let router = Router::new().route("/metrics", get(answer_request)).with_state(Arc::new(state));
        let mut tasks = JoinSet::new();
        let (wakeups, feed) = (store.subscribe(WakeKind::Changes)?, FeedReader::new(store.reader()?));
        // Earlier changes aren't counted.
        let feed = spawn_blocking(move || feed.changes().map(|_| feed)).await??;
        tasks.spawn(feed_metrics.watch(wakeups, feed));
        tasks.spawn(server::serve(listener, router));
        Ok(Some(Self { address, _tasks: tasks }))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }
}

/// Whether `Host` is neither an IP address nor `localhost`. Then a web page may have made a browser send the request.
fn has_foreign_host(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let is_known = |name: &str| name.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost");
    // An IPv6 address is in brackets, and has colons as well.
    let name = host.map(|host| match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((address, port)) if port.is_empty() || port.starts_with(':') => address,
        _ => host.split(':').next().unwrap_or_default(),
    });
    name.is_some_and(|name| !is_known(name))
}

async fn answer_request(State(state): State<Arc<MetricsState>>, headers: HeaderMap) -> Response {
    if state.is_loopback && has_foreign_host(&headers) {
        return StatusCode::MISDIRECTED_REQUEST.into_response();
    }
    let format = TextFormat::preferred(&headers);
    let text = spawn_blocking(move || state.text(format)).await;
    match text {
        Ok(Ok(text)) => ([(CONTENT_TYPE, format.content_type())], text).into_response(),
        // The store's error is logged here, and the client doesn't see it.
        Ok(Err(error)) => {
            tracing::warn!("a request for the metrics failed: {error}");
            (StatusCode::SERVICE_UNAVAILABLE, "can't read the store\n").into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

impl MetricsState {
    fn text(&self, format: TextFormat) -> Result<String, StoreError> {
        let gauges = self.gauges.read()?;
        let mut text = String::new();
        // Writing to a `String` never fails.
        let written = encode_registry(&mut text, &self.counted)
            .and_then(|()| encode_registry(&mut text, &gauges))
            .and_then(|()| encode_eof(&mut text));
        debug_assert!(written.is_ok());
        Ok(match format {
            TextFormat::OpenMetrics => text,
            TextFormat::Prometheus => format::to_prometheus(&text),
        })
    }
}

#[cfg(test)]
mod tests;
