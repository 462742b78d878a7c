//! The simulated service, which records when each request arrives and where it comes from.

#![allow(clippy::disallowed_methods, reason = "waits and measures in real time")]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    extract::{self, ConnectInfo, Query, State},
    http::Response,
};
use hoptop::internals::{
    clock::{Clock, MonotonicTime},
    sim::{Scenario, SimulatedRequest, SimulatedService},
};
use tokio::runtime::Runtime;

/// The arrival of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestArrival {
    /// The time since the start of the service, by a monotonic clock.
    pub at: Duration,
    /// The client's side of the connection. Machines with network namespaces of their own differ by the IP address,
    /// processes of one machine by the port.
    pub source: SocketAddr,
}

/// An answer of the service.
#[derive(Clone, Debug)]
pub(crate) struct ServiceAnswer {
    /// The hash of the transaction that was asked about.
    pub hash: String,
    /// When the answer was ready.
    pub at: Instant,
}

/// A running service on this machine. It ends when the value is dropped.
pub(crate) struct CountingService {
    url: String,
    state: Arc<Mutex<Recorder>>,
    runtime: Option<Runtime>,
}

struct Recorder {
    service: SimulatedService,
    clock: Clock,
    start: MonotonicTime,
    arrivals: Vec<RequestArrival>,
    answers: Vec<ServiceAnswer>,
}

impl CountingService {
    /// Starts the service of a scenario on a free port of the loopback interface.
    pub(crate) fn start(scenario: &str) -> Self {
        let clock = Clock::system();
        let now = clock.now();
        let service = Scenario::parse(scenario).unwrap().service(now.wall);
        let recorder = Recorder { service, clock, start: now.mono, arrivals: Vec::new(), answers: Vec::new() };
        let state = Arc::new(Mutex::new(recorder));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&state));
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await
        });
        Self { url, state, runtime: Some(runtime) }
    }

    /// Returns the base URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns all arrivals, in order.
    pub(crate) fn arrivals(&self) -> Vec<RequestArrival> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).arrivals.clone()
    }

    /// Returns all answers, in order.
    pub(crate) fn answers(&self) -> Vec<ServiceAnswer> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).answers.clone()
    }

    /// Returns the number of requests that came through a connection.
    pub(crate) fn requests_from(&self, source: SocketAddr) -> usize {
        self.arrivals().iter().filter(|arrival| arrival.source == source).count()
    }

    /// Returns the number of requests in each second since the start.
    pub(crate) fn per_second(&self) -> Vec<usize> {
        let mut counts = Vec::new();
        for arrival in self.arrivals() {
            let second = usize::try_from(arrival.at.as_secs()).unwrap();
            counts.resize(counts.len().max(second + 1), 0);
            counts[second] += 1;
        }
        counts
    }

    /// Returns the number of requests, and how many of them begin a window of one second with more than `limit`
    /// requests.
    pub(crate) fn windows_over(&self, limit: usize) -> (usize, usize) {
        let moments: Vec<_> = self.arrivals().iter().map(|arrival| arrival.at).collect();
        (moments.len(), windows(&moments).filter(|size| *size > limit).count())
    }

    /// Returns the largest number of requests that any window of one second held.
    pub(crate) fn most_in_a_second(&self) -> usize {
        most_in_a_second(&self.arrivals().iter().map(|arrival| arrival.at).collect::<Vec<_>>())
    }
}

impl Drop for CountingService {
    fn drop(&mut self) {
        self.runtime.take().unwrap().shutdown_background();
    }
}

/// Returns the largest number of these moments, which must be in order, within one second.
pub(crate) fn most_in_a_second(moments: &[Duration]) -> usize {
    windows(moments).max().unwrap_or(0)
}

/// Returns the size of the window of one second that begins with each of these moments, which must be in order.
fn windows(moments: &[Duration]) -> impl Iterator<Item = usize> {
    let until = |first: Duration| moments.partition_point(|moment| *moment < first + Duration::from_secs(1));
    moments.iter().enumerate().map(move |(at, first)| until(*first) - at)
}

async fn answer(
    State(state): State<Arc<Mutex<Recorder>>>,
    ConnectInfo(source): ConnectInfo<SocketAddr>,
    request: extract::Request,
) -> Response<Body> {
    let query = Query::<Vec<(String, String)>>::try_from_uri(request.uri()).map(|Query(query)| query);
    let id = request.headers().get("x-integrator-id").map(|id| id.to_str().unwrap().to_owned());
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let body = axum::body::to_bytes(request.into_body(), 1 << 16).await.ok().map(Vec::from);
    let request = SimulatedRequest { method, path, integrator_id: id, query: query.unwrap_or_default(), body };
    let reply = {
        let mut recorder = state.lock().unwrap_or_else(PoisonError::into_inner);
        // The clock is read under the lock, so that the arrivals are in the order of their times.
        let now = recorder.clock.now();
        let at = now.mono.since(recorder.start);
        recorder.arrivals.push(RequestArrival { at, source });
        if let Some((_, hash)) = request.query.iter().find(|(name, _)| name == "transactionId") {
            recorder.answers.push(ServiceAnswer { hash: hash.clone(), at: Instant::now() });
        }
        recorder.service.handle(&request, now)
    };
    tokio::time::sleep(reply.delay).await;
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(reply.body)).unwrap()
}
