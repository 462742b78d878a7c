//! The simulated service over HTTP: carries requests to [`Service::handle`] and its replies back in their time.
//!
//! It must never decide what is answered, and never log a request: the header holds an integrator ID.

use std::{
    future::{Future, IntoFuture},
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    extract::{Query, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use tokio::{net::TcpListener, sync::watch};

use super::service::{Reply, Request, Service};
use crate::clock::Clock;

/// How long answers under way get when the server is told to stop.
const GRACE: Duration = Duration::from_millis(250);

/// A listener at `address`; port 0 takes a free one.
pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves until `stop` resolves. Idle connections are closed then; one in the middle of a request gets a quarter of a
/// second, and is left behind after that.
pub async fn serve(
    listener: TcpListener,
    service: Arc<Mutex<Service>>,
    clock: Clock,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let (tell, mut told) = watch::channel(false);
    let router = Router::new().fallback(answer).with_state((service, clock.clone()));
    let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
        // An error means that this function has ended, which is a reason to stop too.
        drop(told.wait_for(|stopping| *stopping).await);
    });
    let mut serving = std::pin::pin!(serving.into_future());
    tokio::select! {
        done = &mut serving => return done,
        () = stop => tell.send_replace(true),
    };
    tokio::select! {
        done = serving => done,
        () = clock.sleep_until(clock.now().mono + GRACE) => Ok(()),
    }
}

async fn answer(
    State((service, clock)): State<(Arc<Mutex<Service>>, Clock)>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let query = Query::<Vec<(String, String)>>::try_from_uri(&uri).map(|Query(query)| query).unwrap_or_default();
    let id = headers.get("x-integrator-id").map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let request = Request { path: uri.path().to_owned(), integrator_id: id, query };
    let (arrived, reply) = {
        // What another handler left behind is whole: `handle` keeps counters, nothing that could be half done.
        let mut service = service.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock, so that arrivals are counted in the order of their times.
        let now = clock.now();
        (now.mono, service.handle(&request, now))
    };
    clock.sleep_until(arrived + reply.delay).await;
    response(reply)
}

fn response(reply: Reply) -> Response {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let header = |(name, text): (&'static str, String)| {
        Some((HeaderName::from_static(name), HeaderValue::from_str(&text).ok()?))
    };
    let headers: HeaderMap = reply.headers.into_iter().filter_map(header).collect();
    (status, headers, reply.body).into_response()
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
        sync::oneshot,
        task::JoinHandle,
        time::timeout,
    };

    use super::{super::scenario::Scenario, *};

    const SOON: Duration = Duration::from_secs(5);
    const SCENARIO: &str = r#"
        [service]
        latency_ms = 1
        [[transaction]]
        transactionId = "0xab"
        fromChainId = "1"
        toChainId = "10"
        quoteId = "a b+c"
        answers = [{ from = 0, status = "ongoing", steps = 1, retry_after = "7" }]
    "#;

    async fn served() -> (SocketAddr, oneshot::Sender<()>, JoinHandle<io::Result<()>>) {
        let listener = bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let start = DateTime::UNIX_EPOCH;
        let service = Scenario::parse(SCENARIO).unwrap().service(start);
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async move { drop(stopped.await) };
        let task = tokio::spawn(serve(listener, Arc::new(Mutex::new(service)), Clock::starting_at(start), stopped));
        (address, stop, task)
    }

    async fn ask(stream: &mut TcpStream, headers: &str) -> String {
        let target = "/v2/status?transactionId=0xAB&fromChainId=1&toChainId=10&quoteId=a%20b%2Bc";
        stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: sim\r\n{headers}\r\n").as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // Every body of the service is one object, so that its last brace is the answer's end.
        while !(answer.ends_with(b"}") && answer.windows(4).any(|four| four == b"\r\n\r\n")) {
            let mut part = [0; 16 * 1024];
            let read = timeout(SOON, stream.read(&mut part)).await.unwrap().unwrap();
            assert_ne!(read, 0, "closed early");
            answer.extend_from_slice(&part[..read]);
        }
        String::from_utf8(answer).unwrap()
    }

    #[tokio::test]
    async fn it_answers_over_http_and_stops_with_connections_open() {
        let (address, stop, task) = served().await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        let answer = ask(&mut stream, "x-integrator-id: someone\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("retry-after: 7"), "{answer}");
        assert!(answer.contains(r#""routerTransactionStatus":"ongoing""#), "{answer}");
        let answer = ask(&mut stream, "").await;
        assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("header is missing"), "{answer}");

        let mut halfway = TcpStream::connect(address).await.unwrap();
        halfway.write_all(b"GET /v2/st").await.unwrap();
        stop.send(()).unwrap();
        timeout(SOON, task).await.unwrap().unwrap().unwrap();
        assert_eq!(timeout(SOON, stream.read(&mut [0; 16])).await.unwrap().unwrap_or(0), 0);
        assert!(TcpStream::connect(address).await.is_err());
    }
}
