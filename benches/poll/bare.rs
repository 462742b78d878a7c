//! The baseline for throughput: a loop that sends the same requests through reqwest, with as many in flight, and reads
//! the bodies.

use std::sync::Arc;

use hoptop::internals::clock::Clock;
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{ID, IN_FLIGHT, batch::TransferBatch, server::StatusServer};

/// Returns the number of requests per second.
pub(crate) fn requests_per_second(batch: &TransferBatch, server: &StatusServer, clock: &Clock) -> f64 {
    let urls: Vec<String> = batch.targets().map(|target| format!("{}{target}", server.url())).collect();
    let client = reqwest::Client::builder().http1_only().no_proxy().tcp_nodelay(true).tls_certs_only([]);
    // The cryptography of the product's client, which installs it once per process.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = client.build().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let start = clock.now().mono;
    runtime.block_on(async {
        let (in_flight, mut requests) = (Arc::new(Semaphore::new(IN_FLIGHT)), JoinSet::new());
        for url in urls {
            let permit = Arc::clone(&in_flight).acquire_owned().await.unwrap();
            let request = client.get(url).header("x-integrator-id", ID);
            requests.spawn(async move {
                let response = request.send().await.unwrap();
                assert_eq!(response.status(), 200);
                assert!(!response.bytes().await.unwrap().is_empty());
                drop(permit);
            });
        }
        while let Some(done) = requests.join_next().await {
            done.unwrap();
        }
    });
    batch.transfers.len() as f64 / clock.now().mono.since(start).as_secs_f64()
}
