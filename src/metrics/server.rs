//! Serves HTTP connections within limits: few at once, none for long.
//!
//! Clients must never take so many file descriptors that polling lacks them.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};

/// The most connections at once. Further connections are closed.
pub(super) const MAX_CONNECTIONS: usize = 32;
/// The time in which a client must send the header of its request.
pub(super) const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// The time after which a connection is closed, however slowly its client reads.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
/// The wait after a failure to accept a connection, for example for lack of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_secs(1);

/// Serves `router` until this future is dropped. Each connection serves one request.
pub(super) async fn serve(listener: TcpListener, router: Router) {
    let permits = Arc::new(Semaphore::new(connection_limit()));
    let mut connections = JoinSet::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!("the metrics server can't accept a connection: {error}");
                sleep(ACCEPT_RETRY).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        // Without a permit the connection is closed here.
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else { continue };
        let router = router.clone();
        connections.spawn(async move {
            if timeout(CONNECTION_TIMEOUT, serve_connection(stream, router)).await.is_err() {
                tracing::debug!("a client of the metrics server was too slow");
            }
            drop(permit);
        });
    }
}

/// Returns the number of connections at once: the rest of the descriptors that the process may have is for polling.
fn connection_limit() -> usize {
    /// The part of the process's descriptors that connections may take.
    const SHARE: u64 = 8;
    let descriptors = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let share = descriptors.and_then(|most| usize::try_from(most / SHARE).ok());
    share.map_or(MAX_CONNECTIONS, |share| share.clamp(1, MAX_CONNECTIONS))
}

async fn serve_connection(stream: TcpStream, router: Router) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
    if let Err(error) = served {
        tracing::debug!("a connection of the metrics server failed: {error}");
    }
}
