//! The simulated service: turns a request and the time into a response (`service.md` 4, 5, 7, 8).
//!
//! Pure: it sends nothing, waits for nothing and reads no clock. This module must never print an integrator ID, and
//! never accept a request that the real service would refuse.

use std::{fmt, time::Duration};

use axum::http::Method;
use chrono::{DateTime, TimeDelta, Utc};

use super::{
    body::{self, RecordContent},
    plan::{PlannedAnswer, Transfer},
    random::RandomValues,
    response::{INTEGRATOR_ID, REQUEST_ID, SimulatedResponse},
    route::RouteHandler,
    sdk_info,
    window::RateWindows,
    world::SimulatedWorld,
};
use crate::{
    clock::Now,
    domain::{chains, ids::ChainId, secret::IntegratorId, transaction::TransactionParams},
};

/// The start of integrator IDs that the service has withdrawn.
const REVOKED: &str = "revoked";
/// The most bytes of a request's body that are read.
pub(crate) const BODY_LIMIT: usize = 64 * 1024;

/// The limits and the latency of the service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceLimits {
    /// The limit in requests per second for each integrator ID. Below 1, it is one request in `1 / rps` seconds.
    pub rps: f64,
    /// The mean latency. Each answer takes between half and one and a half times as long.
    pub latency: Duration,
    /// How long a wallet that got a route with transaction data has to wait for the next one (`service.md` 8).
    pub wallet_limit: Duration,
}

impl Default for ServiceLimits {
    fn default() -> Self {
        Self { rps: 10.0, latency: Duration::from_millis(40), wallet_limit: Duration::from_secs(30) }
    }
}

/// A request to the simulated service.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SimulatedRequest {
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The value of `x-integrator-id`.
    pub integrator_id: Option<String>,
    /// The query, decoded, in order.
    pub query: Vec<(String, String)>,
    /// The body; `None` if the body is larger than `BODY_LIMIT` or incomplete.
    pub body: Option<Vec<u8>>,
}

impl SimulatedRequest {
    /// Creates a valid request for a transaction's status (`service.md` 4.1).
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

    /// Returns the first value of a query parameter that isn't empty.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for SimulatedRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = if self.integrator_id.is_some() { "with an ID" } else { "without an ID" };
        let bytes = self.body.as_ref().map_or(0, Vec::len);
        write!(out, "Request({:?} {}, {id}, {:?}, {bytes} bytes)", self.method, self.path, self.query)
    }
}

/// The counts of the service since its creation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceReport {
    /// The number of requests.
    pub requests: u64,
    /// The number of answers with HTTP 429, for any reason.
    pub throttled: u64,
    /// The most requests of one ID in any trailing window: one second, or longer for a rate below 1.
    pub worst_window: usize,
    /// The number of arrivals with more requests in their window than the limit.
    pub windows_over: usize,
    /// The number of answers with HTTP 401.
    pub unauthorized: u64,
}

impl fmt::Display for ServiceReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, throttled, worst_window, windows_over, unauthorized } = self;
        write!(
            out,
            "{requests} requests, at most {worst_window} in a window, {windows_over} windows over the limit, \
             {throttled} throttled, {unauthorized} unauthorized"
        )
    }
}

/// The simulated service.
pub struct SimulatedService {
    world: SimulatedWorld,
    latency: Duration,
    windows: RateWindows,
    routes: RouteHandler,
    random: RandomValues,
    /// Draws the request IDs, apart from `random`: the number of draws for an answer must not change them.
    request_ids: RandomValues,
    origin: Option<DateTime<Utc>>,
    report: ServiceReport,
}

impl SimulatedService {
    /// Creates a service with this world.
    pub fn new(world: SimulatedWorld, limits: ServiceLimits) -> Self {
        Self {
            latency: limits.latency,
            windows: RateWindows::new(limits.rps),
            routes: RouteHandler::new(limits.wallet_limit),
            random: RandomValues::seeded(world.seed()),
            request_ids: RandomValues::of(&format!("request IDs of {}", world.seed())),
            origin: world.origin(),
            report: ServiceReport::default(),
            world,
        }
    }

    /// Returns the response to a request that arrives at `now`. Every request counts toward the rate limit.
    pub fn handle(&mut self, request: &SimulatedRequest, now: Now) -> SimulatedResponse {
        let response = self.answer(request, now).unwrap_or_else(|refusal| refusal);
        let mut response = self.identify(response, request);
        let delay = self.latency.as_secs_f64() * self.random.within(0.5, 1.5);
        response.delay = Duration::try_from_secs_f64(delay).unwrap_or(self.latency);
        self.report.requests += 1;
        self.report.throttled += u64::from(response.status == 429);
        self.report.unauthorized += u64::from(response.status == 401);
        response
    }

    /// Returns the response with a new request ID, and with the integrator ID of the request if the ID is well-formed.
    /// The service's npm client reads both headers (`@0xsquid/sdk` 2.13.1); their form is not documented. The headers
    /// of a scenario win.
    fn identify(&mut self, response: SimulatedResponse, request: &SimulatedRequest) -> SimulatedResponse {
        let response = response.with_default_header(REQUEST_ID, &self.request_ids.token());
        match request.integrator_id.as_deref().map(IntegratorId::new) {
            Some(Ok(id)) => response.with_default_header(INTEGRATOR_ID, id.expose()),
            Some(Err(_)) | None => response,
        }
    }

    /// Returns the counts so far.
    pub fn report(&self) -> ServiceReport {
        self.report.clone()
    }

    /// Returns the world of the service.
    pub fn world(&self) -> &SimulatedWorld {
        &self.world
    }

    fn answer(&mut self, request: &SimulatedRequest, now: Now) -> Result<SimulatedResponse, SimulatedResponse> {
        let id = request.integrator_id.as_deref();
        let id = id.ok_or_else(|| SimulatedResponse::refusal(401, "x-integrator-id header is missing"))?;
        let id = IntegratorId::new(id).map_err(|_| SimulatedResponse::refusal(401, "integrator ID is invalid"))?;
        let over = self.count_request(&id, now);
        if id.expose().starts_with(REVOKED) {
            return Err(SimulatedResponse::refusal(401, "integrator ID is invalid"));
        }
        if over {
            return Err(SimulatedResponse::refusal(429, "Too many requests")
                .with_headers(&[("retry-after".into(), "1".into())]));
        }
        match (&request.method, request.path.as_str()) {
            (&Method::GET, "/v2/sdk-info") => Ok(SimulatedResponse::new(200, sdk_info::body())),
            (&Method::GET, "/v2/status") => self.status(request, &id, now.wall),
            (&Method::POST, "/v2/route") => {
                let reason = || format!("the body is larger than {BODY_LIMIT} bytes or breaks off");
                let refusal = || SimulatedResponse::refusal(400, &reason());
                let body = request.body.as_deref().ok_or_else(refusal)?;
                self.routes.answer(body, &self.world, now.mono)
            }
            _ => Err(SimulatedResponse::refusal(404, "Resource not found")),
        }
    }

    fn status(
        &mut self,
        request: &SimulatedRequest,
        id: &IntegratorId,
        now: DateTime<Utc>,
    ) -> Result<SimulatedResponse, SimulatedResponse> {
        let hash = required_hash(request)?;
        let unknown = || SimulatedResponse::refusal(404, "Transaction not found");
        let transfer = self.world.find(hash).ok_or_else(unknown)?;
        check_parameters(request, transfer)?;
        let since = now - *self.origin.get_or_insert(now);
        Ok(transfer_response(transfer, since, id))
    }

    fn count_request(&mut self, id: &IntegratorId, now: Now) -> bool {
        let arrivals = self.windows.count_arrival(id, now.mono);
        let over = self.windows.is_over(arrivals);
        self.report.worst_window = self.report.worst_window.max(arrivals);
        self.report.windows_over += usize::from(over);
        over
    }
}

/// Returns the requested hash, if all four required parameters are present.
fn required_hash(request: &SimulatedRequest) -> Result<&str, SimulatedResponse> {
    const REQUIRED: [&str; 4] = ["transactionId", "fromChainId", "toChainId", "quoteId"];
    let missing: Vec<_> = REQUIRED.into_iter().filter(|name| request.parameter(name).is_none()).collect();
    match request.parameter("transactionId") {
        Some(hash) if missing.is_empty() => Ok(hash),
        _ => Err(SimulatedResponse::refusal(400, &format!("missing required parameters: {}", missing.join(", ")))),
    }
}

/// Refuses parameters that don't match the transfer with the requested hash.
fn check_parameters(request: &SimulatedRequest, transfer: &Transfer) -> Result<(), SimulatedResponse> {
    let params = &transfer.new.params;
    for (name, chain) in [("fromChainId", &params.from_chain), ("toChainId", &params.to_chain)] {
        let given = ChainId::new(request.parameter(name).unwrap_or_default());
        if given != *chain {
            return Err(match chains::find(&given) {
                Some(_) => SimulatedResponse::refusal(400, &format!("{name} does not match the transaction")),
                None => SimulatedResponse::new(400, body::schema_violation(&format!("{name}: unsupported chain ID"))),
            });
        }
    }
    if request.parameter("quoteId") != Some(params.quote_id.as_str()) {
        return Err(SimulatedResponse::refusal(400, "quoteId does not match the transaction"));
    }
    Ok(())
}

fn transfer_response(transfer: &Transfer, since: TimeDelta, id: &IntegratorId) -> SimulatedResponse {
    let default_message = |status| body::default_message(transfer.kind, status);
    let Some((stage, age)) = transfer.stage(since) else {
        return SimulatedResponse::refusal(404, default_message(404));
    };
    let response = match &stage.answer {
        PlannedAnswer::Record { status, steps, edits } => {
            match body::record(transfer, RecordContent { status, steps: *steps, age, edits }, id.expose()) {
                Ok(record) => SimulatedResponse::new(200, record),
                // Such edits are refused when the scenario file is read.
                Err(error) => SimulatedResponse::refusal(500, &error.to_string()),
            }
        }
        PlannedAnswer::Http { status, content } => {
            SimulatedResponse::scripted(*status, content, default_message(*status))
        }
    };
    response.with_headers(&stage.headers)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::clock::MonotonicTime;

    fn at(millis: u64) -> Now {
        let wall = DateTime::UNIX_EPOCH + TimeDelta::milliseconds(millis.try_into().unwrap());
        Now { mono: MonotonicTime(Duration::from_millis(millis)), wall }
    }

    fn service(rps: f64) -> SimulatedService {
        SimulatedService::new(
            SimulatedWorld::seeded(1, 50, DateTime::UNIX_EPOCH),
            ServiceLimits { rps, ..ServiceLimits::default() },
        )
    }

    fn request(service: &SimulatedService) -> SimulatedRequest {
        SimulatedRequest::status(&service.world().transfers().remove(0).params, "canary-integrator-7f3a")
    }

    /// Returns the HTTP status, the `type` and the `message` of the answer to a request that `change` has modified.
    fn answer(change: impl FnOnce(&mut SimulatedRequest)) -> (u16, String, String) {
        let mut service = service(10.0);
        let mut request = request(&service);
        change(&mut request);
        let response = service.handle(&request, at(0));
        let body: Value = serde_json::from_str(&response.body).unwrap();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        (response.status, text("type"), text("message"))
    }

    #[test]
    fn record_holds_the_requesting_id_and_has_a_delay() {
        let mut service = service(10.0);
        let response = service.handle(&request(&service), at(0));
        let body: Value = serde_json::from_str(&response.body).unwrap();
        assert_eq!((response.status, response.header("content-type")), (200, Some("application/json")));
        assert_eq!(body["integratorId"], "canary-integrator-7f3a");
        assert!((20..=60).contains(&response.delay.as_millis()), "{:?}", response.delay);
    }

    #[test]
    fn missing_and_withdrawn_ids_are_refused() {
        let (status, kind, message) = answer(|request| request.integrator_id = None);
        assert_eq!((status, kind.as_str()), (401, "UNAUTHORIZED"));
        assert_eq!(message, "x-integrator-id header is missing");
        let (status, kind, message) = answer(|request| request.integrator_id = Some("revoked-1".to_owned()));
        assert_eq!((status, kind.as_str(), message.as_str()), (401, "UNAUTHORIZED", "integrator ID is invalid"));
    }

    #[test]
    fn missing_and_mismatched_parameters_are_refused() {
        let (status, kind, message) = answer(|request| {
            request.query.retain(|(name, _)| name == "transactionId" || name == "fromChainId");
        });
        assert_eq!((status, kind.as_str()), (400, "BAD_REQUEST"));
        assert!(message.ends_with("toChainId, quoteId"), "{message}");
        let set =
            |request: &mut SimulatedRequest, index: usize, value: &str| value.clone_into(&mut request.query[index].1);
        let params = |index, value| answer(|request| set(request, index, value));
        assert_eq!(params(1, "moon").1, "SCHEMA_VALIDATION_ERROR");
        assert_eq!(params(2, "14").1, "BAD_REQUEST");
        assert_eq!(params(3, "another").0, 400);
        assert_eq!((params(0, "0xdead").0, params(0, "0xdead").1.as_str()), (404, "NOT_FOUND"));
    }

    #[test]
    fn each_path_accepts_one_method() {
        assert_eq!(answer(|request| "/v2/route".clone_into(&mut request.path)).0, 404);
        assert_eq!(answer(|request| "/v2/moon".clone_into(&mut request.path)).2, "Resource not found");
        assert_eq!(answer(|request| request.method = Method::POST).2, "Resource not found");
        assert_eq!(answer(|request| request.method = Method::PUT).2, "Resource not found");
    }

    #[test]
    fn requests_over_the_limit_are_throttled() {
        let mut service = service(10.0);
        let request = request(&service);
        let mut statuses = |times: [u64; 11]| times.map(|millis| service.handle(&request, at(millis)).status);
        let first = statuses([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 999]);
        assert_eq!((&first[..10], first[10]), (&[200; 10][..], 429));
        let response = service.handle(&request, at(1_000));
        assert_eq!((response.status, response.header("retry-after")), (429, Some("1")));
        assert!(response.body.contains("RATE_LIMITED"));
        assert_eq!(service.handle(&request, at(1_020)).status, 200);
        let other = SimulatedRequest { integrator_id: Some("another".to_owned()), ..request };
        assert_eq!(service.handle(&other, at(1_020)).status, 200);
        let report = service.report();
        assert_eq!((report.requests, report.throttled, report.worst_window, report.windows_over), (14, 2, 11, 2));
    }

    #[test]
    fn refused_requests_count_and_rates_below_one_have_longer_windows() {
        let mut service = service(0.5);
        let request = request(&service);
        let wrong = SimulatedRequest { query: Vec::new(), ..request.clone() };
        assert_eq!(service.handle(&wrong, at(0)).status, 400);
        assert_eq!(service.handle(&request, at(1_999)).status, 429);
        assert_eq!(service.handle(&request, at(3_999)).status, 200);
    }

    #[test]
    fn every_reply_has_a_new_request_id_and_the_same_seed_repeats_them() {
        let request_ids = |seed| {
            let mut service =
                SimulatedService::new(SimulatedWorld::seeded(seed, 1, DateTime::UNIX_EPOCH), ServiceLimits::default());
            let status = request(&service);
            let unknown = SimulatedRequest { path: "/v2/moon".to_owned(), ..status.clone() };
            let refused = SimulatedRequest { integrator_id: None, ..status.clone() };
            let requests = [status.clone(), status, unknown, refused];
            requests.map(|request| {
                let response = service.handle(&request, at(0));
                assert_eq!(response.header(INTEGRATOR_ID), request.integrator_id.as_deref());
                response.header(REQUEST_ID).unwrap().to_owned()
            })
        };
        let first = request_ids(1);
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), first.len(), "{first:?}");
        assert!(first.iter().all(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())), "{first:?}");
        assert_eq!(request_ids(1), first);
        assert!(request_ids(2).iter().all(|id| !first.contains(id)));
    }

    #[test]
    fn throttled_and_withdrawn_ids_are_named_and_malformed_ids_are_not() {
        let mut service = service(0.01);
        let status = request(&service);
        let mut header_of = |id: &str| {
            let request = SimulatedRequest { integrator_id: Some(id.to_owned()), ..status.clone() };
            let response = service.handle(&request, at(0));
            (response.status, response.header(INTEGRATOR_ID).map(str::to_owned))
        };
        assert_eq!(header_of("someone"), (200, Some("someone".to_owned())));
        assert_eq!(header_of("someone"), (429, Some("someone".to_owned())));
        assert_eq!(header_of("revoked-1"), (401, Some("revoked-1".to_owned())));
        assert_eq!(header_of("two words"), (401, None));
    }

    #[test]
    fn debug_output_hides_integrator_ids() {
        let mut service = service(10.0);
        let request = SimulatedRequest { body: Some(b"canary".to_vec()), ..request(&service) };
        let response = service.handle(&request, at(0));
        assert!(response.body.contains("canary"));
        let printed = format!("{request:?} {response:?} {:?} {}", service.report(), service.report());
        assert!(!printed.contains("canary") && !printed.contains("7f3a"), "{printed}");
    }
}
