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
    body::Body,
    extract::{self, Query, State},
    http::{self, HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use tokio::{net::TcpListener, sync::watch};

use super::{
    delivery,
    reply::{Delivery, Reply},
    service::{BODY_LIMIT, Method, Request, Service},
};
use crate::clock::Clock;

/// How long answers under way get when the server is told to stop.
const GRACE: Duration = Duration::from_millis(250);

/// How much of a request's body is taken in before the connection is given up.
const TAKEN: usize = 1024 * 1024;

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

async fn answer(State((service, clock)): State<(Arc<Mutex<Service>>, Clock)>, request: extract::Request) -> Response {
    let request = read(request).await;
    let (arrived, reply) = {
        // What another handler left behind is whole: `handle` keeps counters, nothing that could be half done.
        let mut service = service.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock, so that arrivals are counted in the order of their times.
        let now = clock.now();
        (now.mono, service.handle(&request, now))
    };
    clock.sleep_until(arrived + reply.delay).await;
    response(reply, &clock).await
}

/// The request as the service takes it.
async fn read(request: extract::Request) -> Request {
    let (parts, body) = request.into_parts();
    let query = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).map(|Query(query)| query).unwrap_or_default();
    let id = parts.headers.get("x-integrator-id");
    let method = match parts.method {
        http::Method::GET => Method::Get,
        http::Method::POST => Method::Post,
        _ => Method::Other,
    };
    Request {
        method,
        path: parts.uri.path().to_owned(),
        integrator_id: id.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
        query,
        body: collect(body).await,
    }
}

/// The body, if the service reads one of that size. What is larger is taken in as well, since a client that is still
/// writing when the connection ends doesn't see the answer.
async fn collect(body: Body) -> Option<Vec<u8>> {
    let mut parts = body.into_data_stream();
    let (mut kept, mut size) = (Vec::new(), 0);
    while let Some(part) = parts.next().await {
        let part = part.ok()?;
        size += part.len();
        if size > TAKEN {
            return None;
        }
        if size <= BODY_LIMIT {
            kept.extend_from_slice(&part);
        }
    }
    (size <= BODY_LIMIT).then_some(kept)
}

async fn response(reply: Reply, clock: &Clock) -> Response {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let header = |(name, text): (String, String)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(&text).ok()?))
    };
    let headers: HeaderMap = reply.headers.into_iter().filter_map(header).collect();
    let play = match reply.delivery {
        Delivery::Whole => return (status, headers, reply.body).into_response(),
        Delivery::Play(play) => play,
    };
    let (own, body) = delivery::body(play, clock).await;
    (status, headers, own, body).into_response()
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

    async fn served(scenario: &str) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<io::Result<()>>) {
        let service = Scenario::parse(scenario).unwrap().service(DateTime::UNIX_EPOCH);
        serving(Arc::new(Mutex::new(service))).await
    }

    async fn serving(service: Arc<Mutex<Service>>) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<io::Result<()>>) {
        let listener = bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let start = DateTime::UNIX_EPOCH;
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async move { drop(stopped.await) };
        let task = tokio::spawn(serve(listener, service, Clock::starting_at(start), stopped));
        (address, stop, task)
    }

    /// A connection on which the one transaction of a scenario was asked about, which gets this answer.
    async fn played(answer: &str) -> (TcpStream, oneshot::Sender<()>, JoinHandle<io::Result<()>>) {
        let (address, stop, task) = served(&playing(answer)).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(get("x-integrator-id: someone\r\n").as_bytes()).await.unwrap();
        (stream, stop, task)
    }

    /// The scenario, with this answer.
    fn playing(answer: &str) -> String {
        let whole = r#"status = "ongoing", steps = 1, retry_after = "7""#;
        SCENARIO.replace(whole, answer)
    }

    fn get(headers: &str) -> String {
        let target = "/v2/status?transactionId=0xAB&fromChainId=1&toChainId=10&quoteId=a%20b%2Bc";
        format!("GET {target} HTTP/1.1\r\nHost: sim\r\n{headers}\r\n")
    }

    /// What comes until it is enough or the connection ends, and whether it ended.
    async fn read(stream: &mut TcpStream, enough: impl Fn(&[u8]) -> bool) -> (Vec<u8>, bool) {
        let mut came = Vec::new();
        while !enough(&came) {
            let mut part = [0; 16 * 1024];
            match timeout(SOON, stream.read(&mut part)).await.unwrap() {
                Ok(0) | Err(_) => return (came, true),
                Ok(read) => came.extend_from_slice(&part[..read]),
            }
        }
        (came, false)
    }

    /// The head of an answer, and its body as far as that came with it.
    async fn begun(stream: &mut TcpStream) -> (String, Vec<u8>) {
        let (answer, ended) = read(stream, |came| came.windows(4).any(|four| four == b"\r\n\r\n")).await;
        assert!(!ended);
        let (head, body) = parts(&answer);
        (head, body.to_vec())
    }

    /// A whole answer with a `content-length`.
    async fn whole(stream: &mut TcpStream) -> (String, Vec<u8>) {
        let (head, mut body) = begun(stream).await;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
        let left = length - body.len();
        let (rest, ended) = read(stream, |came| came.len() >= left).await;
        body.extend(rest);
        assert_eq!((body.len(), ended), (length, false));
        (head, body)
    }

    /// The head of an answer and what is there of its body.
    fn parts(answer: &[u8]) -> (String, &[u8]) {
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        (String::from_utf8(answer[..end].to_vec()).unwrap(), &answer[end..])
    }

    async fn ask(stream: &mut TcpStream, headers: &str) -> String {
        stream.write_all(get(headers).as_bytes()).await.unwrap();
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
        let (address, stop, task) = served(SCENARIO).await;
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

    #[tokio::test]
    async fn a_hang_up_sends_nothing_and_a_cut_less_than_it_promised() {
        let (mut stream, _stop, _task) = played("play = \"hang_up\"").await;
        assert_eq!(read(&mut stream, |_| false).await, (Vec::new(), true));

        let (mut stream, _stop, _task) = played("play = \"cut\"").await;
        let (answer, ended) = read(&mut stream, |_| false).await;
        let (head, body) = parts(&answer);
        assert!(ended && head.starts_with("HTTP/1.1 200") && head.contains("content-length: 4096"), "{head}");
        assert_eq!(body, b"{\"routerTransactionStatus\":\"ongo");
    }

    #[tokio::test]
    async fn a_bomb_a_deep_and_a_binary_body_come_whole() {
        let (mut stream, _stop, _task) = played("play = \"binary\", http = 404").await;
        let (head, body) = whole(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 404") && std::str::from_utf8(&body).is_err(), "{head}");

        let (mut stream, _stop, _task) = played("play = \"deep\"").await;
        let (head, body) = whole(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200") && body.len() > 200_000, "{head}");
        assert!(body.starts_with(b"{\"routeStatus\":[[[[") && body.ends_with(b"]]]}"));

        let (mut stream, _stop, _task) = played("play = \"bomb\"").await;
        let (head, body) = whole(&mut stream).await;
        assert!(head.contains("content-encoding: gzip") && body.starts_with(&[0x1f, 0x8b]), "{head}");
        assert!(body.len() < 1024 * 1024, "{}", body.len());
    }

    #[tokio::test]
    async fn an_endless_body_and_a_drip_go_on() {
        let (mut stream, _stop, _task) = played("play = \"endless\", http = 500").await;
        let (head, _) = begun(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 500") && head.contains("transfer-encoding: chunked"), "{head}");
        assert!(!read(&mut stream, |came| came.len() > 4 * 1024 * 1024).await.1);

        let (mut stream, _stop, _task) = played("play = \"drip\"").await;
        let (head, mut body) = begun(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        body.extend(read(&mut stream, |came| came.len() >= 12).await.0);
        assert!(body.starts_with(b"1\r\n \r\n1\r\n \r\n"), "{body:?}");
    }

    #[tokio::test]
    async fn a_redirect_has_its_location_and_a_refusal_its_rest() {
        let redirect = "http = 307, body = \"\", headers = { Location = \"http://127.0.0.1:1/\" }";
        let (mut stream, _stop, _task) = played(redirect).await;
        let (head, _) = begun(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 307") && head.contains("location: http://127.0.0.1:1/\r\n"), "{head}");
        let (mut stream, _stop, _task) = played("http = 503, retry_after = \"9\"").await;
        let (head, _) = begun(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 503") && head.contains("retry-after: 9\r\n"), "{head}");
    }

    #[tokio::test]
    async fn no_play_keeps_it_from_stopping() {
        for play in ["drip", "endless"] {
            let (mut stream, stop, task) = played(&format!("play = \"{play}\"")).await;
            begun(&mut stream).await;
            stop.send(()).unwrap();
            timeout(SOON, task).await.unwrap().unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn silence_sends_nothing_and_does_not_keep_it_from_stopping() {
        let scenario = Scenario::parse(&playing("play = \"silence\"")).unwrap();
        let service = Arc::new(Mutex::new(scenario.service(DateTime::UNIX_EPOCH)));
        let (address, stop, task) = serving(Arc::clone(&service)).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(get("x-integrator-id: someone\r\n").as_bytes()).await.unwrap();
        let taken = async {
            while service.lock().unwrap().report().requests == 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(SOON, taken).await.unwrap();
        stop.send(()).unwrap();
        timeout(SOON, task).await.unwrap().unwrap().unwrap();
        assert_eq!(stream.try_read(&mut [0; 16]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[tokio::test]
    async fn a_route_is_asked_for_with_a_body_of_bounded_size() {
        let (address, _stop, _task) = served(SCENARIO).await;
        let wish = r#"{"fromAddress":"0xA","fromChain":"1","fromToken":"0x1","fromAmount":"5000","toChain":"10",
            "toToken":"0x2","toAddress":"0xB"}"#;
        let large = "x".repeat(BODY_LIMIT + 1);
        for (body, status) in [(wish, "200 OK"), (wish, "429 Too Many Requests"), (large.as_str(), "400 Bad Request")] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let (length, id) = (body.len(), "x-integrator-id: someone");
            let head = format!("POST /v2/route HTTP/1.1\r\nHost: sim\r\n{id}\r\ncontent-length: {length}\r\n\r\n");
            stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            let (head, _) = begun(&mut stream).await;
            assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
        }
    }
}
