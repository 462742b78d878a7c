//! Serves the simulated service over HTTP: passes requests to [`SimulatedService::handle`] and sends each response after its
//! delay.
//!
//! The server must never decide an answer, and never log a request: the header holds an integrator ID.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    body::{self, Body},
    extract::{self, Query, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use tokio::net::TcpListener;

use super::{
    delivery,
    response::{INTEGRATOR_ID, SimulatedResponse},
    service::{BODY_LIMIT, SimulatedRequest, SimulatedService},
};
use crate::clock::Clock;

/// The most bytes of a request's body that are read before reading stops.
const READ_LIMIT: usize = 1024 * 1024;

/// Accepts connections until it is dropped. Open ones last as long as the runtime.
pub async fn serve(listener: TcpListener, service: Arc<Mutex<SimulatedService>>, clock: Clock) -> io::Result<()> {
    axum::serve(listener, Router::new().fallback(answer).with_state((service, clock))).await
}

async fn answer(
    State((service, clock)): State<(Arc<Mutex<SimulatedService>>, Clock)>,
    request: extract::Request,
) -> Response {
    let request = read_request(request).await;
    let (arrived, response) = {
        // The state behind a poisoned lock is valid: `handle` only keeps counters, which can't be half updated.
        let mut service = service.lock().unwrap_or_else(PoisonError::into_inner);
        // The clock is read under the lock, so that arrivals are counted in the order of their times.
        let now = clock.now();
        (now.mono, service.handle(&request, now))
    };
    clock.sleep_until(arrived + response.delay).await;
    http_response(response, &clock).await
}

/// Converts an HTTP request into a request of the simulated service.
async fn read_request(request: extract::Request) -> SimulatedRequest {
    let (parts, body) = request.into_parts();
    let query = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).map(|Query(query)| query).unwrap_or_default();
    let id = parts.headers.get(INTEGRATOR_ID);
    SimulatedRequest {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        integrator_id: id.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
        query,
        body: read_body(body).await,
    }
}

/// Returns the body, if its size is within the service's limit. A larger body is read too, because a client that is
/// still writing when the connection closes doesn't see the answer.
async fn read_body(body: Body) -> Option<Vec<u8>> {
    let body = body::to_bytes(body, READ_LIMIT).await.ok()?;
    (body.len() <= BODY_LIMIT).then(|| body.into())
}

async fn http_response(response: SimulatedResponse, clock: &Clock) -> Response {
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let header = |(name, text): (String, String)| {
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(name == INTEGRATOR_ID);
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
    };
    let headers: HeaderMap = response.headers.into_iter().filter_map(header).collect();
    let Some(fault) = response.fault else { return (status, headers, response.body).into_response() };
    let (own, body) = delivery::body(fault, clock).await;
    (status, headers, own, body).into_response()
}

#[cfg(test)]
mod tests {
    use std::{
        net::{Ipv4Addr, SocketAddr},
        time::Duration,
    };

    use chrono::DateTime;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
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

    /// Returns the address of a server, and its task.
    async fn serve_scenario(scenario: &str) -> (SocketAddr, JoinHandle<io::Result<()>>) {
        let service = Scenario::parse(scenario).unwrap().service(DateTime::UNIX_EPOCH);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let clock = Clock::starting_at(DateTime::UNIX_EPOCH);
        (address, tokio::spawn(serve(listener, Arc::new(Mutex::new(service)), clock)))
    }

    /// Requests the scenario's transaction, which has this answer; returns the connection.
    async fn request_answer(answer: &str) -> TcpStream {
        let (address, _) = serve_scenario(&scenario_with_answer(answer)).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(get("x-integrator-id: someone\r\n").as_bytes()).await.unwrap();
        stream
    }

    fn scenario_with_answer(answer: &str) -> String {
        let whole = r#"status = "ongoing", steps = 1, retry_after = "7""#;
        SCENARIO.replace(whole, answer)
    }

    fn get(headers: &str) -> String {
        let target = "/v2/status?transactionId=0xAB&fromChainId=1&toChainId=10&quoteId=a%20b%2Bc";
        format!("GET {target} HTTP/1.1\r\nHost: sim\r\n{headers}\r\n")
    }

    /// Reads until `enough` is true or the connection ends; returns the bytes, and whether the connection ended.
    async fn read(stream: &mut TcpStream, enough: impl Fn(&[u8]) -> bool) -> (Vec<u8>, bool) {
        let mut received = Vec::new();
        while !enough(&received) {
            let mut part = [0; 16 * 1024];
            match timeout(SOON, stream.read(&mut part)).await.unwrap() {
                Ok(0) | Err(_) => return (received, true),
                Ok(read) => received.extend_from_slice(&part[..read]),
            }
        }
        (received, false)
    }

    /// Reads the head of an answer, and the part of the body that arrives with it.
    async fn read_head(stream: &mut TcpStream) -> (String, Vec<u8>) {
        let (answer, ended) = read(stream, |received| received.windows(4).any(|four| four == b"\r\n\r\n")).await;
        assert!(!ended);
        let (head, body) = split_head(&answer);
        (head, body.to_vec())
    }

    /// Reads a whole answer that has a `content-length`.
    async fn read_whole(stream: &mut TcpStream) -> (String, Vec<u8>) {
        let (head, mut body) = read_head(stream).await;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
        let left = length - body.len();
        let (rest, ended) = read(stream, |received| received.len() >= left).await;
        body.extend(rest);
        assert_eq!((body.len(), ended), (length, false));
        (head, body)
    }

    /// Splits an answer into its head and the part of the body that is there.
    fn split_head(answer: &[u8]) -> (String, &[u8]) {
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        (String::from_utf8(answer[..end].to_vec()).unwrap(), &answer[end..])
    }

    async fn ask(stream: &mut TcpStream, headers: &str) -> String {
        stream.write_all(get(headers).as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // Every body of the service is one object, so the last brace ends the answer.
        while !(answer.ends_with(b"}") && answer.windows(4).any(|four| four == b"\r\n\r\n")) {
            let mut part = [0; 16 * 1024];
            let read = timeout(SOON, stream.read(&mut part)).await.unwrap().unwrap();
            assert_ne!(read, 0, "closed early");
            answer.extend_from_slice(&part[..read]);
        }
        String::from_utf8(answer).unwrap()
    }

    #[tokio::test]
    async fn answers_over_http_until_it_is_dropped() {
        let (address, task) = serve_scenario(SCENARIO).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        let answer = ask(&mut stream, "x-integrator-id: someone\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("retry-after: 7"), "{answer}");
        assert!(answer.contains(r#""routerTransactionStatus":"ongoing""#), "{answer}");
        assert!(
            answer.contains("\r\nx-request-id: ") && answer.contains("\r\nx-integrator-id: someone\r\n"),
            "{answer}"
        );
        let answer = ask(&mut stream, "").await;
        assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("header is missing"), "{answer}");
        assert!(answer.contains("\r\nx-request-id: ") && !answer.contains("\r\nx-integrator-id: "), "{answer}");

        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(TcpStream::connect(address).await.is_err());
    }

    #[tokio::test]
    async fn hang_up_sends_nothing_and_cut_sends_less_than_its_content_length() {
        let mut stream = request_answer("play = \"hang_up\"").await;
        assert_eq!(read(&mut stream, |_| false).await, (Vec::new(), true));

        let mut stream = request_answer("play = \"cut\"").await;
        let (answer, ended) = read(&mut stream, |_| false).await;
        let (head, body) = split_head(&answer);
        assert!(ended && head.starts_with("HTTP/1.1 200") && head.contains("content-length: 4096"), "{head}");
        assert_eq!(body, b"{\"routerTransactionStatus\":\"ongo");
    }

    #[tokio::test]
    async fn bomb_deep_and_binary_bodies_are_sent_whole() {
        let mut stream = request_answer("play = \"binary\", http = 404").await;
        let (head, body) = read_whole(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 404") && std::str::from_utf8(&body).is_err(), "{head}");

        let mut stream = request_answer("play = \"deep\"").await;
        let (head, body) = read_whole(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200") && body.len() > 200_000, "{head}");
        assert!(body.starts_with(b"{\"routeStatus\":[[[[") && body.ends_with(b"]]]}"));

        let mut stream = request_answer("play = \"bomb\"").await;
        let (head, body) = read_whole(&mut stream).await;
        assert!(head.contains("content-encoding: gzip") && body.starts_with(&[0x1f, 0x8b]), "{head}");
        assert!(body.len() < 1024 * 1024, "{}", body.len());
    }

    #[tokio::test]
    async fn endless_and_drip_bodies_continue() {
        let mut stream = request_answer("play = \"endless\", http = 500").await;
        let (head, _) = read_head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 500") && head.contains("transfer-encoding: chunked"), "{head}");
        assert!(!read(&mut stream, |received| received.len() > 4 * 1024 * 1024).await.1);

        let mut stream = request_answer("play = \"drip\"").await;
        let (head, mut body) = read_head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        body.extend(read(&mut stream, |received| received.len() >= 12).await.0);
        assert!(body.starts_with(b"1\r\n \r\n1\r\n \r\n"), "{body:?}");
    }

    #[tokio::test]
    async fn redirect_has_a_location_and_503_has_a_retry_after() {
        let redirect = "http = 307, body = \"\", headers = { Location = \"http://127.0.0.1:1/\" }";
        let mut stream = request_answer(redirect).await;
        let (head, _) = read_head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 307") && head.contains("location: http://127.0.0.1:1/\r\n"), "{head}");
        let mut stream = request_answer("http = 503, retry_after = \"9\"").await;
        let (head, _) = read_head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 503") && head.contains("retry-after: 9\r\n"), "{head}");
    }

    #[tokio::test]
    async fn silence_sends_nothing() {
        let mut stream = request_answer("play = \"silence\"").await;
        assert!(timeout(Duration::from_millis(50), stream.read(&mut [0; 16])).await.is_err());
    }

    #[tokio::test]
    async fn route_request_body_is_limited_in_size() {
        let (address, _) = serve_scenario(SCENARIO).await;
        let route_request = r#"{"fromAddress":"0xA","fromChain":"1","fromToken":"0x1","fromAmount":"5000","toChain":"10",
            "toToken":"0x2","toAddress":"0xB"}"#;
        let large = "x".repeat(BODY_LIMIT + 1);
        for (body, status) in
            [(route_request, "200 OK"), (route_request, "429 Too Many Requests"), (large.as_str(), "400 Bad Request")]
        {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let (length, id) = (body.len(), "x-integrator-id: someone");
            let head = format!("POST /v2/route HTTP/1.1\r\nHost: sim\r\n{id}\r\ncontent-length: {length}\r\n\r\n");
            stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            let (head, _) = read_head(&mut stream).await;
            assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
        }
    }
}
