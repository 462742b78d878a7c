//! A minimal stand-in for the service: finds the transaction ID in the first line of a request and sends a prepared
//! answer. It runs on its own thread and accepts any number of connections.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hoptop::internals::domain::NewTransaction;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};

use crate::batch::TransferBatch;

/// A running server, which stops when it is dropped.
pub(crate) struct StatusServer {
    pub address: SocketAddr,
    answered_count: Arc<AtomicUsize>,
    _runtime: Runtime,
}

/// Complete HTTP responses by transaction ID.
type AnswersByHash = HashMap<String, Vec<u8>>;

impl StatusServer {
    /// Starts a server for the transfers of a batch. It delays each answer by `latency`, which may be zero.
    pub(crate) fn start(batch: &TransferBatch, latency: Duration) -> Self {
        let reply = |body: &String| {
            let length = body.len();
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        };
        let answer =
            |(new, body): (&NewTransaction, &String)| (new.params.transaction_id.to_string(), reply(body).into_bytes());
        let answers: Arc<AnswersByHash> = Arc::new(batch.transfers.iter().zip(&batch.bodies).map(answer).collect());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let answered_count = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&answered_count);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answers), Arc::clone(&count), latency));
            }
        });
        Self { address, answered_count, _runtime: runtime }
    }

    /// Returns the base URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of requests answered so far.
    pub(crate) fn answered_count(&self) -> usize {
        self.answered_count.load(Ordering::Relaxed)
    }
}

/// Answers the requests of one connection until the client closes it.
async fn serve(
    mut stream: TcpStream,
    answers: Arc<AnswersByHash>,
    answered_count: Arc<AtomicUsize>,
    latency: Duration,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = Vec::with_capacity(4_096);
    while stream.read_buf(&mut request).await? > 0 {
        while let Some(end) = request.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            if !latency.is_zero() {
                tokio::time::sleep(latency).await;
            }
            // The request is counted first because the client may stop as soon as it has the answer.
            answered_count.fetch_add(1, Ordering::Relaxed);
            let answer = transaction_id(&request[..end]).and_then(|id| answers.get(id));
            let missing = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(answer.map_or(&missing[..], Vec::as_slice)).await?;
            request.drain(..end + 4);
        }
    }
    Ok(())
}

/// Returns the transaction ID in the first line of a request.
fn transaction_id(head: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(head).ok()?.lines().next()?;
    let (_, rest) = line.split_once("transactionId=")?;
    rest.split(['&', ' ']).next()
}
