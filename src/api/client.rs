//! Sends one request and returns one observation (`service.md` 4, `cases.md` 20 to 27).
//!
//! The budget counts outgoing requests, so the client must never follow a redirect or retry. The client must never send
//! the integrator ID to a host other than the base URL's. For https the proxies of the environment (`HTTPS_PROXY`,
//! `ALL_PROXY`, `NO_PROXY`) apply, as a tunnel that hides the request. Plain http to this machine never uses a proxy.

use std::{fmt, time::Duration};

use chrono::{DateTime, Utc};
use reqwest::{
    RequestBuilder, Url,
    header::{DATE, HeaderName, HeaderValue, RETRY_AFTER},
};
use tokio::time::timeout;

use super::{
    answer::{HttpAnswer, StatusAnswer, interpret},
    base_url::BaseUrl,
    reach::Endpoint,
    redact,
    retry_after::parse_http_date,
    transport::{self, BodyTruncation},
};
use crate::{
    clock::Clock,
    domain::{
        observation::{KEPT_OF_LARGE_BODY, Observation, RequestFailure, StatusOutcome},
        secret::IntegratorId,
        text,
        transaction::TransactionParams,
    },
};

/// The most bytes of a body that are read.
pub const BODY_LIMIT: usize = 1024 * 1024;

/// The header with the service's ID of an exchange.
const RESPONSE_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The most bytes of such an ID; a longer one is dropped. Four times the length of a UUID.
const RESPONSE_ID_LIMIT: usize = 144;

/// The time limits of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The limit for establishing the connection.
    pub connect: Duration,
    /// The limit from sending the request to receiving the last byte.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), total: Duration::from_secs(8) }
    }
}

/// The reason why a client can't be created.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The integrator ID can't be the value of a header.
    #[error("the integrator ID can't be sent in an HTTP header; check its source for stray characters")]
    Id,
    /// TLS can't be set up, for example because the machine has no certificate authorities.
    #[error("can't set up TLS on this machine: {0}; check its certificate authorities")]
    Tls(String),
}

/// A client for one base URL and one integrator ID. `Debug` shows neither the ID nor the header that carries it.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: BaseUrl,
    endpoint: Url,
    id: IntegratorId,
    header: HeaderValue,
    timeouts: Timeouts,
}

impl fmt::Debug for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Client").field("endpoint", &self.endpoint.as_str()).finish_non_exhaustive()
    }
}

/// An answer as received, and the failure that cut its body short, if any.
struct RawAnswer {
    status: u16,
    retry_after: Option<String>,
    date: Option<DateTime<Utc>>,
    response_id: Option<String>,
    body: Vec<u8>,
    cut: Option<RequestFailure>,
}

/// The result of one request.
pub(super) struct Exchange {
    /// The time from sending the request to the last byte, or to giving up.
    pub(super) latency: Duration,
    /// The time when the exchange ended, by the clock of the service if the answer has the time (`Date`).
    pub(super) wall: DateTime<Utc>,
    /// The answer, or the reason why there is none.
    pub(super) result: Result<RedactedAnswer, RequestFailure>,
}

/// An answer without the integrator ID.
pub(super) struct RedactedAnswer {
    pub(super) status: u16,
    retry_after: Option<String>,
    /// The service's ID of the exchange.
    response_id: Option<String>,
    /// The body that is decoded.
    bytes: Vec<u8>,
    /// The body that is kept for people to read.
    pub(super) kept: String,
    /// The failure that cut the body short, if any.
    pub(super) cut: Option<RequestFailure>,
}

impl RedactedAnswer {
    pub(super) fn answer(&self) -> HttpAnswer<'_> {
        HttpAnswer { status: self.status, retry_after: self.retry_after.as_deref(), body: &self.bytes }
    }
}

impl Client {
    /// Creates a client that sends HTTP/1.1 requests to `base` with `id`.
    ///
    /// # Errors
    /// If the ID can't be sent in a header, or TLS can't be set up on this machine.
    pub fn new(base: BaseUrl, id: IntegratorId, timeouts: Timeouts) -> Result<Self, ClientError> {
        let mut header = HeaderValue::from_str(id.expose()).map_err(|_| ClientError::Id)?;
        header.set_sensitive(true);
        let endpoint = base.join("/v2/status");
        let tls = |error: reqwest::Error| ClientError::Tls(transport::innermost(&error));
        let http = builder(base.is_plain(), timeouts).build().map_err(tls)?;
        Ok(Self { http, base, endpoint, id, header, timeouts })
    }

    /// Requests the status of a transaction, once.
    pub async fn status(&self, params: &TransactionParams, clock: &Clock) -> Observation {
        let exchange = self.exchange(self.http.get(self.status_url(params)), clock).await;
        let (latency, wall) = (exchange.latency, exchange.wall);
        let answer = match exchange.result {
            Ok(answer) => answer,
            Err(failure) => return Observation::failed(failure, latency),
        };
        let StatusAnswer { outcome, chains } = match answer.cut.clone() {
            // A record that is cut short can't be used. Any other HTTP status has a meaning without the body.
            Some(cut) if answer.status == 200 => StatusOutcome::Failed(cut).into(),
            _ => interpret(&answer.answer(), params, wall),
        };
        let outcome = redact::outcome(&self.id, outcome);
        let chains = redact::value(&self.id, chains).unwrap_or_default();
        let (body, response_id) = (Some(answer.kept), answer.response_id);
        Observation { outcome, http_status: Some(answer.status), latency, body, chains, response_id }
    }

    /// Returns a POST request to another path below the base URL.
    pub(super) fn post(&self, path: &str) -> RequestBuilder {
        self.http.post(self.base.join(path))
    }

    /// Returns the integrator ID, for redacting it from answers.
    pub(super) fn id(&self) -> &IntegratorId {
        &self.id
    }

    /// Sends a request once, with the integrator ID, and redacts the ID from the answer.
    pub(super) async fn exchange(&self, request: RequestBuilder, clock: &Clock) -> Exchange {
        let sent = clock.now();
        let answer = self.send(request, clock).await;
        let now = clock.now();
        let date = answer.as_ref().ok().and_then(|answer| answer.date);
        let result = answer.map(|answer| self.redact_answer(answer));
        Exchange { latency: now.mono.since(sent.mono), wall: date.unwrap_or(now.wall), result }
    }

    fn redact_answer(&self, answer: RawAnswer) -> RedactedAnswer {
        let RawAnswer { status, retry_after, response_id, body, cut, .. } = answer;
        // The ID is redacted before decoding, so that shortening a long message can't leave a part of the ID.
        let is_read_as_text = status != 200 || std::str::from_utf8(&body).is_ok();
        let is_whole = body.len() < BODY_LIMIT;
        let received = String::from_utf8_lossy(&body).into_owned();
        let received = if cut.is_some() { redact::cut_end(&self.id, received) } else { received };
        let mut kept = redact::body(&self.id, received);
        let bytes = if is_read_as_text { kept.clone().into_bytes() } else { body };
        if !is_whole {
            kept.truncate(kept.floor_char_boundary(KEPT_OF_LARGE_BODY));
            kept.shrink_to_fit();
        }
        // A hostile service could send the ID back.
        let response_id = response_id.and_then(|id| text::clean_or_none(&redact::body(&self.id, id)));
        let response_id = response_id.filter(|id| id.len() <= RESPONSE_ID_LIMIT);
        RedactedAnswer { status, retry_after, response_id, bytes, kept, cut }
    }

    async fn send(&self, request: RequestBuilder, clock: &Clock) -> Result<RawAnswer, RequestFailure> {
        let (sent, total) = (clock.now().mono, self.timeouts.total);
        let timed_out = || RequestFailure::TimedOut(total);
        let request = request.header("x-integrator-id", self.header.clone());
        let response = timeout(total, request.send()).await.map_err(|_| timed_out())?;
        let mut response = response.map_err(|error| self.transport_failure(&error))?;
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (retry_after, response_id) = (header(RETRY_AFTER), header(RESPONSE_ID));
        let date = header(DATE).and_then(|date| parse_http_date(&date));
        let status = response.status().as_u16();
        let left = total.saturating_sub(clock.now().mono.since(sent));
        let read = timeout(left, transport::read_body(&mut response, BODY_LIMIT)).await;
        // The status counts, even if the body doesn't end.
        let Ok((body, cut)) = read else {
            return Ok(RawAnswer { status, retry_after, date, response_id, body: Vec::new(), cut: Some(timed_out()) });
        };
        let cut = cut.map(|cut| match cut {
            BodyTruncation::TooLarge => RequestFailure::Unreadable("the body is larger than 1 MiB".into()),
            BodyTruncation::Broken(error) => self.transport_failure(&error),
        });
        Ok(RawAnswer { status, retry_after, date, response_id, body, cut })
    }

    fn status_url(&self, params: &TransactionParams) -> Url {
        let mut url = self.endpoint.clone();
        url.query_pairs_mut()
            .append_pair("transactionId", params.transaction_id.as_str())
            .append_pair("fromChainId", params.from_chain.as_str())
            .append_pair("toChainId", params.to_chain.as_str())
            .append_pair("quoteId", &params.quote_id)
            .extend_pairs(params.request_id.iter().map(|id| ("requestId", id)));
        url
    }

    fn transport_failure(&self, error: &reqwest::Error) -> RequestFailure {
        if transport::is_out_of_descriptors(error) {
            return RequestFailure::Local(transport::OUT_OF_DESCRIPTORS.to_owned());
        }
        let endpoint = Endpoint::of_url(&self.endpoint, "the base URL");
        RequestFailure::Transport(transport::describe(error, &endpoint, self.timeouts.connect))
    }
}

/// How long the kernel sends bytes again that the other side doesn't acknowledge. It goes on after the process is
/// killed, so this bounds when a request of a dead process can still arrive (`TEAM.md`, The lease).
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED_LIMIT: Duration = Duration::from_secs(2);

/// Returns the builder of every HTTP client here. `is_plain` means plain http to this machine.
pub(crate) fn builder(is_plain: bool, timeouts: Timeouts) -> reqwest::ClientBuilder {
    install_crypto();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("hoptop/", env!("CARGO_PKG_VERSION")))
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(timeouts.connect)
        .tcp_nodelay(true);
    #[cfg(target_os = "linux")]
    let builder = builder.tcp_user_timeout(UNACKNOWLEDGED_LIMIT);
    // Plain http goes to this machine only: without a proxy and without certificate authorities, which may be missing.
    if is_plain { builder.no_proxy().tls_certs_only([]) } else { builder.https_only(true) }
}

/// Installs the cryptography provider of rustls, once per process.
fn install_crypto() {
    // Fails if a provider is installed already.
    rustls::crypto::ring::default_provider().install_default().ok();
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
    };

    use super::{super::fixtures, *};
    use crate::domain::{fixtures::params, status::RouterStatus};

    const CANARY: &str = "canary-integrator-7f3a";

    /// What a test server does with the connection after it has read the head of the request.
    enum ServerBehavior {
        Send(String),
        Silence,
        Drip,
        Endless(&'static str),
        Close,
    }

    async fn serve_connection(behavior: ServerBehavior, mut stream: TcpStream) -> String {
        let (mut request, mut byte) = (Vec::new(), [0]);
        while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.unwrap() == 1 {
            request.push(byte[0]);
        }
        match behavior {
            ServerBehavior::Send(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
            ServerBehavior::Close => {}
            ServerBehavior::Silence => while stream.read(&mut byte).await.is_ok_and(|read| read > 0) {},
            ServerBehavior::Drip => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n").await.unwrap();
                while stream.write_all(b" ").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            ServerBehavior::Endless(status) => {
                stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await.unwrap();
                while stream.write_all(&[b'x'; 8192]).await.is_ok() {}
            }
        }
        String::from_utf8(request).unwrap()
    }

    fn answer(head: &str, body: &str) -> ServerBehavior {
        ServerBehavior::Send(format!(
            "HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ))
    }

    fn client(base: &str, total: Duration) -> Client {
        let id = IntegratorId::new(CANARY).unwrap();
        Client::new(BaseUrl::parse(base).unwrap(), id, Timeouts { total, ..Timeouts::default() }).unwrap()
    }

    /// Sends one request to a server with this behaviour; returns the observation and the request that the server read.
    async fn ask(behavior: ServerBehavior, params: &TransactionParams) -> (Observation, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/base/", listener.local_addr().unwrap());
        let timeout_ms = if matches!(behavior, ServerBehavior::Silence | ServerBehavior::Drip) { 200 } else { 10_000 };
        let client = client(&base, Duration::from_millis(timeout_ms));
        let server = tokio::spawn(async move { serve_connection(behavior, listener.accept().await.unwrap().0).await });
        let observation = client.status(params, &Clock::system()).await;
        drop(client);
        (observation, server.await.unwrap())
    }

    fn failure(observation: &Observation) -> String {
        match &observation.outcome {
            StatusOutcome::Failed(failure) => failure.one_line(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn request_has_exactly_the_documented_parameters_and_headers() {
        let params = TransactionParams { quote_id: "q 1&x=\u{e9}".into(), request_id: Some("r/1".into()), ..params(1) };
        let (observation, request) = ask(answer("200 OK", fixtures::FULL), &params).await;
        let line = format!(
            "GET /base/v2/status?transactionId={}&fromChainId=42161&toChainId=8453&quoteId=q+1%26x%3D%C3%A9&requestId=r%2F1 HTTP/1.1",
            fixtures::HASH
        );
        let mut lines: Vec<_> =
            request.split("\r\n").filter(|line| !line.is_empty() && !line.starts_with("host")).collect();
        lines[1..].sort_unstable();
        let agent = concat!("user-agent: hoptop/", env!("CARGO_PKG_VERSION"));
        assert_eq!(
            lines,
            [line.as_str(), "accept-encoding: gzip", "accept: */*", agent, "x-integrator-id: canary-integrator-7f3a"]
        );
        let StatusOutcome::Record(record) = &observation.outcome else { panic!("{observation:?}") };
        assert_eq!((&record.status, observation.http_status), (&RouterStatus::Success, Some(200)));
        assert_eq!(observation.body, Some(fixtures::FULL.replace("somebody", "…")));
    }

    #[tokio::test]
    async fn response_id_of_any_answer_is_kept_clean_and_without_the_integrator_id() {
        let long = "x".repeat(145);
        let table = [
            ("200 OK\r\nx-request-id: req-1", Some("req-1")),
            ("429 Too Many\r\nX-Request-Id:  req 2 ", Some("req 2")),
            ("404 Not Found", None),
            ("404 Not Found\r\nx-request-id: ", None),
            (&format!("404 Not Found\r\nx-request-id: {long}"), None),
        ];
        for (head, expected) in table {
            let (observation, _) = ask(answer(head, "{}"), &params(1)).await;
            assert_eq!(observation.response_id.as_deref(), expected, "{head}");
        }
        let (observation, _) = ask(answer(&format!("200 OK\r\nx-request-id: a-{CANARY}-b"), "{}"), &params(1)).await;
        assert!(!format!("{observation:?}").contains(CANARY));
        assert!(observation.response_id.is_some_and(|id| id.starts_with("a-")));
    }

    #[tokio::test]
    async fn unknown_request_id_is_omitted() {
        let (observation, request) = ask(answer("404 Not Found", ""), &params(1)).await;
        assert!(request.contains("&quoteId=quote-1 HTTP/1.1"), "{request}");
        assert_eq!((observation.outcome, observation.body), (StatusOutcome::NotFound(None), Some(String::new())));
    }

    #[tokio::test]
    async fn a_redirect_is_not_followed() {
        let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let head = format!("302 Found\r\nlocation: http://{}/", elsewhere.local_addr().unwrap());
        let (observation, _) = ask(answer(&head, ""), &params(1)).await;
        assert_eq!(
            failure(&observation),
            "the service answered HTTP 302: redirects are not followed; check the base URL"
        );
        let connection = timeout(Duration::from_millis(20), elsewhere.accept()).await;
        assert!(connection.is_err(), "the redirect was followed");
    }

    #[tokio::test]
    async fn refused_connection_names_the_host_and_no_secret() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let observation = client(&base, Duration::from_secs(5)).status(&params(1), &Clock::system()).await;
        assert_eq!(failure(&observation), "127.0.0.1 refuses the connection");
        assert_eq!((observation.http_status, observation.body), (None, None));
    }

    #[tokio::test]
    async fn closed_connection_is_a_transport_failure() {
        let (observation, _) = ask(ServerBehavior::Close, &params(1)).await;
        let message = failure(&observation);
        assert!(message.starts_with("the request to 127.0.0.1 failed: "), "{message}");
        assert!(!message.contains("quote-1") && !message.contains(CANARY), "{message}");
    }

    #[tokio::test]
    async fn unresolvable_host_is_named() {
        // `.invalid` never resolves (RFC 2606); without a network the resolver fails as well.
        let client = client("https://service.invalid", Duration::from_secs(30));
        let error = client.http.get("https://service.invalid").send().await.unwrap_err();
        let endpoint = Endpoint::of_url(&client.endpoint, "the base URL");
        let message = transport::describe(&error, &endpoint, Duration::from_secs(5));
        assert!(message.contains("service.invalid"), "{message}");
    }

    #[tokio::test]
    async fn tls_to_a_server_without_tls_fails() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = client(&format!("https://{}", listener.local_addr().unwrap()), Duration::from_secs(5));
        let server = tokio::spawn(async move {
            let mut stream = listener.accept().await.unwrap().0;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
            stream
        });
        let observation = client.status(&params(1), &Clock::system()).await;
        assert!(failure(&observation).starts_with("the TLS connection to 127.0.0.1 failed"), "{observation:?}");
        drop(server.await.unwrap());
    }

    #[tokio::test]
    async fn untrusted_certificate_is_refused_before_the_request_is_sent() {
        install_crypto();
        let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
        let config = rustls::ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![own.cert.der().clone()], key.into()).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("https://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let mut connection = rustls::ServerConnection::new(std::sync::Arc::new(config)).unwrap();
            let mut stream = listener.accept().unwrap().0;
            let mut request = Vec::new();
            // The client's TLS alert ends the read with an error.
            std::io::Read::read_to_end(&mut rustls::Stream::new(&mut connection, &mut stream), &mut request)
                .unwrap_err();
            request
        });
        let observation = client(&base, Duration::from_secs(5)).status(&params(1), &Clock::system()).await;
        let message = failure(&observation);
        assert!(message.starts_with("the certificate of 127.0.0.1 was refused: "), "{message}");
        assert!(server.join().unwrap().is_empty());
    }

    #[tokio::test]
    async fn silent_and_slow_answers_time_out_at_the_total_limit() {
        for behavior in [ServerBehavior::Silence, ServerBehavior::Drip] {
            let (observation, _) = ask(behavior, &params(1)).await;
            let deadline = Duration::from_millis(200);
            assert_eq!(observation.outcome, StatusOutcome::Failed(RequestFailure::TimedOut(deadline)));
            assert!(
                observation.latency >= deadline && observation.latency < deadline * 10,
                "{:?}",
                observation.latency
            );
        }
    }

    #[tokio::test]
    async fn endless_body_is_cut_and_its_http_status_still_counts() {
        let (observation, _) = ask(ServerBehavior::Endless("200 OK"), &params(1)).await;
        assert_eq!(failure(&observation), "the answer can't be read: the body is larger than 1 MiB");
        assert_eq!(observation.body.map(|body| body.len()), Some(KEPT_OF_LARGE_BODY));
        let (observation, _) = ask(ServerBehavior::Endless("429 Slow down\r\nretry-after: 9"), &params(1)).await;
        let rest = Some(Duration::from_secs(9));
        assert!(
            matches!(&observation.outcome, StatusOutcome::Failed(RequestFailure::Throttled { retry_after, .. }) if *retry_after == rest),
            "{observation:?}"
        );
    }

    #[tokio::test]
    async fn wait_until_a_date_is_measured_by_the_clock_of_the_service() {
        let head = "429 Slow down\r\ndate: Sun, 06 Nov 1994 08:49:00 GMT\r\nretry-after: Sun, 06 Nov 1994 08:49:37 GMT";
        let (observation, _) = ask(answer(head, ""), &params(1)).await;
        assert_eq!(failure(&observation), "the service throttled the integrator ID; it asks for a rest of 37 s");
    }

    #[tokio::test]
    async fn truncated_body_is_not_a_record() {
        let short = "HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n{\"routerTransactionStatus\":\"success\"}";
        let (observation, _) = ask(ServerBehavior::Send(short.into()), &params(1)).await;
        assert!(matches!(observation.outcome, StatusOutcome::Failed(RequestFailure::Transport(_))), "{observation:?}");
    }

    #[tokio::test]
    async fn echoed_integrator_id_is_redacted_everywhere() {
        let long = format!("{}{CANARY}", "x".repeat(500));
        let bodies = [
            format!(r#"{{"message":"{CANARY} is unknown","type":"UNAUTHORIZED"}}"#),
            format!(r#"{{"message":"{}"}}"#, CANARY.replace("can", "\\u0063an")),
            format!(r#"{{"message":"{}"}}"#, CANARY.replace("ary", "\u{200b}ary")),
            format!(r#"{{"message":"{long}"}}"#),
            format!(r#"{{"routerTransactionStatus":"{CANARY}","integratorId":"{CANARY}"}}"#),
            format!("<title>{CANARY}</title><html>"),
        ];
        for body in bodies {
            for head in ["200 OK", "400 Bad Request", "401 Unauthorized", "404 Not Found", "500 Oops"] {
                let (observation, _) = ask(answer(head, &body), &params(1)).await;
                let outcome = format!("{:?}", observation.outcome);
                assert!(!outcome.contains("canary-int"), "{head} {body}: {outcome}");
                assert!(!observation.body.unwrap().contains(CANARY), "{head} {body}");
            }
        }
    }

    #[test]
    fn debug_of_a_client_hides_the_integrator_id() {
        let client = client("https://api.example/base", Duration::from_secs(1));
        let printed = format!("{client:?} {client:#?} {:?} {:?}", client.http, client.header);
        assert!(printed.contains("https://api.example/base/v2/status") && !printed.contains(CANARY), "{printed}");
    }

    #[tokio::test]
    async fn debug_of_a_request_hides_the_integrator_id() {
        let client = client("https://api.example", Duration::from_secs(1));
        let request = client.http.get(client.status_url(&params(1))).header("x-integrator-id", client.header.clone());
        let printed = format!("{request:?} {:?}", request.try_clone().unwrap().build().unwrap());
        assert!(printed.contains("Sensitive") && !printed.contains(CANARY), "{printed}");
    }
}
