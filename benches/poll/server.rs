//! The service, as cheap as it can be: it finds the transaction ID in the first line of a request and writes an answer that was
//! rendered before. On a thread of its own, over as many connections as the client opens.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hoptop::domain::transaction::NewTransaction;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};

use crate::batch::Batch;

/// The server; it ends when this is dropped.
pub struct Server {
    pub address: SocketAddr,
    answered: Arc<AtomicUsize>,
    _runtime: Runtime,
}

/// Whole answers, by transaction ID.
type Answers = HashMap<String, Vec<u8>>;

impl Server {
    /// Starts to answer for the transfers of a batch, each request after a `latency` that may be zero.
    pub fn start(batch: &Batch, latency: Duration) -> Self {
        let whole = |body: &String| {
            let length = body.len();
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        };
        let answer =
            |(new, body): (&NewTransaction, &String)| (new.params.transaction_id.to_string(), whole(body).into_bytes());
        let answers: Arc<Answers> = Arc::new(batch.transfers.iter().zip(&batch.bodies).map(answer).collect());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let answered = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&answered);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answers), (Arc::clone(&count), latency)));
            }
        });
        Self { address, answered, _runtime: runtime }
    }

    /// The base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many requests were answered so far.
    pub fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }
}

/// Answers the requests of one connection until the client ends it.
async fn serve(
    mut stream: TcpStream,
    answers: Arc<Answers>,
    (answered, latency): (Arc<AtomicUsize>, Duration),
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = Vec::with_capacity(4_096);
    while stream.read_buf(&mut request).await? > 0 {
        while let Some(end) = request.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            if !latency.is_zero() {
                tokio::time::sleep(latency).await;
            }
            // Counted first: the client may end as soon as it has the answer.
            answered.fetch_add(1, Ordering::Relaxed);
            let answer = transaction_id(&request[..end]).and_then(|id| answers.get(id));
            let missing = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(answer.map_or(&missing[..], Vec::as_slice)).await?;
            request.drain(..end + 4);
        }
    }
    Ok(())
}

/// The transaction ID in the first line of a request.
fn transaction_id(head: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(head).ok()?.lines().next()?;
    let (_, rest) = line.split_once("transactionId=")?;
    rest.split(['&', ' ']).next()
}
