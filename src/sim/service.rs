//! The simulated service: a request and the time in, a reply out (`service.md` 4, 5, 7, 8).
//!
//! Pure: it sends nothing, waits for nothing and reads no clock. It must never print an integrator ID, and never answer
//! what the real service would refuse.

use std::{fmt, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    body::{self, Said},
    chance::Chance,
    plan::{Answer, Transfer},
    reply::Reply,
    route::Quotes,
    window::{Rate, Windows},
    world::World,
};
use crate::{
    clock::Now,
    domain::{chains, ids::ChainId, secret::IntegratorId, transaction::TransactionParams},
};

/// An ID that starts so is one that the service has withdrawn.
const REVOKED: &str = "revoked";
/// The most bytes of a request's body that are read.
pub const BODY_LIMIT: usize = 64 * 1024;

/// How much the service bears, and how fast it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Requests a second for each integrator ID; under 1 it is one request in a window of `1 / rps` seconds.
    pub rps: f64,
    /// How long an answer takes; each one takes between half and one and a half times that.
    pub latency: Duration,
    /// How long a wallet that was given a route with transaction data gets no other one (`service.md` 8).
    pub wallet_limit: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rps: 10.0, latency: Duration::from_millis(40), wallet_limit: Duration::from_secs(30) }
    }
}

/// How something was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// `GET`.
    #[default]
    Get,
    /// `POST`.
    Post,
    /// Any other; nothing is found by it.
    Other,
}

/// What came in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The value of `x-integrator-id`.
    pub integrator_id: Option<String>,
    /// The query, decoded, in order.
    pub query: Vec<(String, String)>,
    /// The body; `None` if it is larger than [`BODY_LIMIT`] or broke off.
    pub body: Option<Vec<u8>>,
}

impl Request {
    /// The request for a transaction's status, as it has to be (`service.md` 4.1).
    pub fn status(params: &TransactionParams, integrator_id: &str) -> Self {
        let query = [
            ("transactionId", params.transaction_id.as_str()),
            ("fromChainId", params.from_chain.as_str()),
            ("toChainId", params.to_chain.as_str()),
            ("quoteId", &params.quote_id),
        ];
        Self {
            path: "/v2/status".to_owned(),
            integrator_id: Some(integrator_id.to_owned()),
            query: query.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            ..Self::default()
        }
    }

    /// The first value of a parameter that isn't empty.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = if self.integrator_id.is_some() { "with an ID" } else { "without an ID" };
        let bytes = self.body.as_ref().map_or(0, Vec::len);
        write!(out, "Request({:?} {}, {id}, {:?}, {bytes} bytes)", self.method, self.path, self.query)
    }
}

/// What the service has counted since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Requests that came in.
    pub requests: u64,
    /// Answers with HTTP 429, for whatever reason.
    pub throttled: u64,
    /// The most requests of one ID in any trailing window: a second, or longer for a rate under 1.
    pub worst_window: usize,
    /// Arrivals that made a window hold more than the limit.
    pub windows_over: usize,
    /// Answers with HTTP 401.
    pub unauthorized: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, throttled, worst_window, windows_over, unauthorized } = self;
        write!(
            out,
            "{requests} requests, at most {worst_window} in a window, {windows_over} windows over the limit, \
             {throttled} throttled, {unauthorized} unauthorized"
        )
    }
}

/// The service.
pub struct Service {
    world: World,
    latency: Duration,
    windows: Windows,
    quotes: Quotes,
    chance: Chance,
    origin: Option<DateTime<Utc>>,
    report: Report,
}

impl Service {
    /// A service that knows this world.
    pub fn new(world: World, limits: Limits) -> Self {
        Self {
            latency: limits.latency,
            windows: Windows::new(Rate::per_second(limits.rps)),
            quotes: Quotes::new(limits.wallet_limit),
            chance: Chance::seeded(world.seed()),
            origin: world.origin(),
            report: Report::default(),
            world,
        }
    }

    /// The reply to a request that arrives at `now`. Every request counts in the windows, whatever is answered.
    pub fn handle(&mut self, request: &Request, now: Now) -> Reply {
        let mut reply = self.answer(request, now).unwrap_or_else(|refusal| refusal);
        let delay = self.latency.as_secs_f64() * self.chance.within(0.5, 1.5);
        reply.delay = Duration::try_from_secs_f64(delay).unwrap_or(self.latency);
        self.report.requests += 1;
        self.report.throttled += u64::from(reply.status == 429);
        self.report.unauthorized += u64::from(reply.status == 401);
        reply
    }

    /// What was counted so far.
    pub fn report(&self) -> Report {
        self.report.clone()
    }

    /// The world that it knows.
    pub fn world(&self) -> &World {
        &self.world
    }

    fn answer(&mut self, request: &Request, now: Now) -> Result<Reply, Reply> {
        let id = request.integrator_id.as_deref();
        let id = id.ok_or_else(|| Reply::refusal(401, "x-integrator-id header is missing"))?;
        let id = IntegratorId::new(id).map_err(|_| Reply::refusal(401, "integrator ID is invalid"))?;
        let over = self.count(&id, now);
        if id.expose().starts_with(REVOKED) {
            return Err(Reply::refusal(401, "integrator ID is invalid"));
        }
        if over {
            return Err(Reply::refusal(429, "Too many requests").with_headers(&[("retry-after".into(), "1".into())]));
        }
        match (request.method, request.path.as_str()) {
            (Method::Get, "/v2/status") => self.status(request, &id, now.wall),
            (Method::Post, "/v2/route") => {
                let large =
                    || Reply::refusal(400, &format!("the body is larger than {BODY_LIMIT} bytes or breaks off"));
                let body = request.body.as_deref().ok_or_else(large)?;
                self.quotes.answer(body, &self.world, now.mono)
            }
            _ => Err(Reply::refusal(404, "Resource not found")),
        }
    }

    fn status(&mut self, request: &Request, id: &IntegratorId, now: DateTime<Utc>) -> Result<Reply, Reply> {
        let hash = required(request)?;
        let unknown = || Reply::refusal(404, "Transaction not found");
        let transfer = self.world.find(hash).ok_or_else(unknown)?;
        agrees(request, transfer)?;
        let since = now - *self.origin.get_or_insert(now);
        Ok(said(transfer, since, id))
    }

    fn count(&mut self, id: &IntegratorId, now: Now) -> bool {
        let arrivals = self.windows.arrive(id, now.mono);
        let over = self.windows.is_over(arrivals);
        self.report.worst_window = self.report.worst_window.max(arrivals);
        self.report.windows_over += usize::from(over);
        over
    }
}

/// The hash that is asked for, if all four required parameters are there.
fn required(request: &Request) -> Result<&str, Reply> {
    const REQUIRED: [&str; 4] = ["transactionId", "fromChainId", "toChainId", "quoteId"];
    let missing: Vec<_> = REQUIRED.into_iter().filter(|name| request.parameter(name).is_none()).collect();
    match request.parameter("transactionId") {
        Some(hash) if missing.is_empty() => Ok(hash),
        _ => Err(Reply::refusal(400, &format!("missing required parameters: {}", missing.join(", ")))),
    }
}

/// Refuses parameters that belong to another transfer than the hash does.
fn agrees(request: &Request, transfer: &Transfer) -> Result<(), Reply> {
    let params = &transfer.new.params;
    for (name, chain) in [("fromChainId", &params.from_chain), ("toChainId", &params.to_chain)] {
        let given = ChainId::new(request.parameter(name).unwrap_or_default());
        if given == *chain {
            continue;
        }
        return Err(if chains::find(&given).is_none() {
            Reply::new(400, body::schema_violation(&format!("{name}: unsupported chain ID")))
        } else {
            Reply::refusal(400, &format!("{name} does not match the transaction"))
        });
    }
    if request.parameter("quoteId") != Some(params.quote_id.as_str()) {
        return Err(Reply::refusal(400, "quoteId does not match the transaction"));
    }
    Ok(())
}

fn said(transfer: &Transfer, since: TimeDelta, id: &IntegratorId) -> Reply {
    let usual = |status| body::usual_message(transfer.kind, status);
    let Some((stage, age)) = transfer.stage(since) else {
        return Reply::refusal(404, usual(404));
    };
    let reply = match &stage.answer {
        Answer::Record { status, steps, edits } => {
            match body::record(transfer, Said { status, steps: *steps, age, edits }, id.expose()) {
                Ok(record) => Reply::new(200, record),
                // A scenario file with such edits is refused when it is read.
                Err(error) => Reply::refusal(500, &error.to_string()),
            }
        }
        Answer::Http { status, content } => Reply::scripted(*status, content, usual(*status)),
    };
    reply.with_headers(&stage.headers)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::clock::Mono;

    fn at(millis: u64) -> Now {
        let wall = DateTime::UNIX_EPOCH + TimeDelta::milliseconds(millis.try_into().unwrap());
        Now { mono: Mono(Duration::from_millis(millis)), wall }
    }

    fn service(rps: f64) -> Service {
        Service::new(World::seeded(1, 50, DateTime::UNIX_EPOCH), Limits { rps, ..Limits::default() })
    }

    fn request(service: &Service) -> Request {
        Request::status(&service.world().transfers().remove(0).params, "canary-integrator-7f3a")
    }

    /// The status and the `type` or the router status of the answer to `request` as `change` leaves it.
    fn answer(change: impl FnOnce(&mut Request)) -> (u16, String, String) {
        let mut service = service(10.0);
        let mut request = request(&service);
        change(&mut request);
        let reply = service.handle(&request, at(0));
        let body: Value = serde_json::from_str(&reply.body).unwrap();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        (reply.status, text("type"), text("message"))
    }

    #[test]
    fn a_record_is_for_the_id_that_asked_and_comes_in_its_time() {
        let mut service = service(10.0);
        let reply = service.handle(&request(&service), at(0));
        let body: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
        assert_eq!(body["integratorId"], "canary-integrator-7f3a");
        assert!((20..=60).contains(&reply.delay.as_millis()), "{:?}", reply.delay);
    }

    #[test]
    fn an_id_is_needed_and_a_withdrawn_one_is_refused() {
        let (status, kind, message) = answer(|request| request.integrator_id = None);
        assert_eq!((status, kind.as_str()), (401, "UNAUTHORIZED"));
        assert_eq!(message, "x-integrator-id header is missing");
        let (status, kind, message) = answer(|request| request.integrator_id = Some("revoked-1".to_owned()));
        assert_eq!((status, kind.as_str(), message.as_str()), (401, "UNAUTHORIZED", "integrator ID is invalid"));
    }

    #[test]
    fn parameters_are_needed_and_must_agree() {
        let (status, kind, message) = answer(|request| {
            request.query.retain(|(name, _)| name == "transactionId" || name == "fromChainId");
        });
        assert_eq!((status, kind.as_str()), (400, "BAD_REQUEST"));
        assert!(message.ends_with("toChainId, quoteId"), "{message}");
        let set = |request: &mut Request, index: usize, value: &str| value.clone_into(&mut request.query[index].1);
        let params = |index, value| answer(|request| set(request, index, value));
        assert_eq!(params(1, "moon").1, "SCHEMA_VALIDATION_ERROR");
        assert_eq!(params(2, "14").1, "BAD_REQUEST");
        assert_eq!(params(3, "another").0, 400);
        assert_eq!((params(0, "0xdead").0, params(0, "0xdead").1.as_str()), (404, "NOT_FOUND"));
    }

    #[test]
    fn a_path_has_one_method() {
        assert_eq!(answer(|request| "/v2/route".clone_into(&mut request.path)).0, 404);
        assert_eq!(answer(|request| "/v2/moon".clone_into(&mut request.path)).2, "Resource not found");
        assert_eq!(answer(|request| request.method = Method::Post).2, "Resource not found");
        assert_eq!(answer(|request| request.method = Method::Other).2, "Resource not found");
    }

    #[test]
    fn more_than_the_limit_in_a_second_is_throttled() {
        let mut service = service(10.0);
        let request = request(&service);
        let mut statuses = |times: [u64; 11]| times.map(|millis| service.handle(&request, at(millis)).status);
        let first = statuses([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 999]);
        assert_eq!((&first[..10], first[10]), (&[200; 10][..], 429));
        let reply = service.handle(&request, at(1_000));
        assert_eq!((reply.status, reply.header("retry-after")), (429, Some("1")));
        assert!(reply.body.contains("RATE_LIMITED"));
        assert_eq!(service.handle(&request, at(1_020)).status, 200);
        let other = Request { integrator_id: Some("another".to_owned()), ..request };
        assert_eq!(service.handle(&other, at(1_020)).status, 200);
        let report = service.report();
        assert_eq!((report.requests, report.throttled, report.worst_window, report.windows_over), (14, 2, 11, 2));
    }

    #[test]
    fn refused_requests_count_too_and_slow_limits_have_long_windows() {
        let mut service = service(0.5);
        let request = request(&service);
        let wrong = Request { query: Vec::new(), ..request.clone() };
        assert_eq!(service.handle(&wrong, at(0)).status, 400);
        assert_eq!(service.handle(&request, at(1_999)).status, 429);
        assert_eq!(service.handle(&request, at(3_999)).status, 200);
    }

    #[test]
    fn no_debug_print_shows_an_id() {
        let mut service = service(10.0);
        let request = Request { body: Some(b"canary".to_vec()), ..request(&service) };
        let reply = service.handle(&request, at(0));
        assert!(reply.body.contains("canary"));
        let printed = format!("{request:?} {reply:?} {:?} {}", service.report(), service.report());
        assert!(!printed.contains("canary") && !printed.contains("7f3a"), "{printed}");
    }
}
