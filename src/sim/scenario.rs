//! A scenario: a TOML file with the service's answers for each transaction, second by second.
//!
//! ```toml
//! [service]
//! rps = 10.0                        # requests per second for each ID
//! latency_ms = 40
//! counts_from = "first_request"     # or "start": the moment of second 0
//! wallet_limit_s = 30               # how long a wallet waits for its next route with transaction data
//! [[transaction]]
//! transactionId = "0x9f3c"
//! fromChainId = "42161"
//! toChainId = "8453"
//! quoteId = "q-1"
//! ticket = "SUP-1"                  # optional, like requestId, estimatedRouteDuration and bridged
//! # What becomes of it on the simulated chain: succeeded (if nothing is said), reverted, pending, replaced (after 20 s),
//! # unknown, or `imported as CHAIN`: it succeeds, but an import names this wrong source chain.
//! chain = "reverted"
//! answers = [
//!   { from = 0, http = 404 },       # with the service's own body, or with a `body`
//!   { from = 6, status = "ongoing", steps = 1 },
//!   # A changed record: JSON pointers and their new JSON. `set` is applied before `unset`.
//!   { from = 8, status = "ongoing", set = { "/toChain" = "null", "/id" = '"0x9f_30_100"' }, unset = ["/timeSpent"] },
//!   { from = 10, http = 302, headers = { location = "http://127.0.0.1:1/" } },
//!   { from = 12, http = 503, retry_after = "7" },
//!   { from = 14, play = "silence" },  # or drip, endless, bomb, cut, hang_up, deep, binary
//! ]
//! [[route]]                         # the answer to a POST /v2/route with this fromAddress
//! fromAddress = "0xA11CE"
//! http = 200
//! body = '{"route":{"quoteId":"q-1","estimatedRouteDuration":"NaN"}}'
//! ```
//!
//! A file must never be accepted in part: an unknown key is an error with its line.

use std::{collections::BTreeMap, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use toml::Spanned;

use super::{
    body::{self, RecordContent},
    plan::{ChainCourse, PlannedAnswer, ScriptedRoute, Transfer, TransferRoute, TransferStage},
    script::{self, AnswerTable, LocatedError, RouteTable},
    service::{ServiceLimits, SimulatedService},
    world::{CountsFrom, SimulatedWorld},
};
use crate::domain::{
    ids::{ChainId, TxHash},
    transaction::{NewTransaction, TransactionParams},
};

/// The reason why a text is not a valid scenario: the line, the error and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ScenarioError {
    /// The line, from 1.
    pub line: usize,
    /// The error on that line, and the fix.
    pub reason: String,
}

/// The limits, transfers and routes that a scenario file defines.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    limits: ServiceLimits,
    counts_from: CountsFrom,
    transfers: Vec<Transfer>,
    routes: Vec<ScriptedRoute>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    #[serde(default)]
    service: ServiceTable,
    #[serde(default)]
    transaction: Vec<TransactionTable>,
    #[serde(default)]
    route: Vec<RouteTable>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServiceTable {
    rps: Option<Spanned<f64>>,
    latency_ms: Option<u64>,
    #[serde(default)]
    counts_from: CountsFrom,
    wallet_limit_s: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct TransactionTable {
    transaction_id: Spanned<String>,
    from_chain_id: String,
    to_chain_id: String,
    quote_id: String,
    request_id: Option<String>,
    estimated_route_duration: Option<f64>,
    bridged: Option<bool>,
    ticket: Option<String>,
    #[serde(default)]
    chain: ChainCourse,
    answers: Vec<Spanned<AnswerTable>>,
}

impl Scenario {
    /// Parses a scenario.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let error = |at: usize, reason: String| ScenarioError { line: line_number(text, at), reason };
        let file: ScenarioFile = toml::from_str(text).map_err(|wrong| {
            error(wrong.span().map_or(0, |span| span.start), wrong.message().replace('\n', " ").trim_end().to_owned())
        })?;
        let limits = limits(&file.service).map_err(|(at, reason)| error(at, reason))?;
        let counts_from = file.service.counts_from;
        let mut seen = BTreeMap::new();
        let mut transfers = Vec::with_capacity(file.transaction.len());
        for table in file.transaction {
            let (at, hash) = (table.transaction_id.span().start, TxHash::new(table.transaction_id.get_ref().as_str()));
            let transfer =
                transfer(table).map_err(|(at, reason)| error(at, format!("transaction {hash}: {reason}")))?;
            if let Some(first) = seen.insert(hash.key(), at) {
                let first = line_number(text, first);
                return Err(error(at, format!("transaction {hash} is already on line {first}; leave one of them out")));
            }
            transfers.push(transfer);
        }
        let routes = routes(file.route).map_err(|(at, reason)| error(at, reason))?;
        Ok(Self { limits, counts_from, transfers, routes })
    }

    /// Returns the service's limits and latency.
    pub fn limits(&self) -> ServiceLimits {
        self.limits
    }

    /// Returns the world of this scenario, for a service that starts at `start`.
    pub fn world(&self, start: DateTime<Utc>) -> SimulatedWorld {
        SimulatedWorld::scripted(self.transfers.clone(), start, self.counts_from).with_routes(self.routes.clone())
    }

    /// Returns a service that follows this scenario from `start` on.
    pub fn service(&self, start: DateTime<Utc>) -> SimulatedService {
        SimulatedService::new(self.world(start), self.limits)
    }

    /// Returns the final status of the transaction with this hash: `not_found` for a 404. Returns `None` for an unknown
    /// hash, and if the last answer says nothing about the transaction.
    pub fn final_status(&self, hash: &str) -> Option<&str> {
        let key = TxHash::new(hash).key();
        let transfer = self.transfers.iter().find(|transfer| transfer.new.params.transaction_id.key() == key)?;
        transfer.stages.last()?.answer.status()
    }

    /// Returns when the last answer of the scenario begins, counted from second 0.
    pub fn length(&self) -> Duration {
        self.transfers.iter().flat_map(|transfer| &transfer.stages).map(|stage| stage.from).max().unwrap_or_default()
    }
}

/// Returns the line of a byte offset in the text, from 1.
fn line_number(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

fn limits(table: &ServiceTable) -> Result<ServiceLimits, LocatedError> {
    let mut limits = ServiceLimits::default();
    if let Some(rps) = &table.rps {
        limits.rps = *rps.get_ref();
        if !limits.rps.is_finite() || limits.rps <= 0.0 {
            return Err((rps.span().start, "rps must be above 0; write for example 10.0".to_owned()));
        }
    }
    limits.latency = table.latency_ms.map_or(limits.latency, Duration::from_millis);
    if let Some(seconds) = &table.wallet_limit_s {
        let wrong = |_| (seconds.span().start, "wallet_limit_s must be seconds, 0 or more".to_owned());
        limits.wallet_limit = Duration::try_from_secs_f64(*seconds.get_ref()).map_err(wrong)?;
    }
    Ok(limits)
}

fn transfer(table: TransactionTable) -> Result<Transfer, LocatedError> {
    let at = table.transaction_id.span().start;
    if table.answers.is_empty() {
        return Err((at, "answers is empty; write at least { from = 0, status = \"ongoing\" }".to_owned()));
    }
    let estimate = table.estimated_route_duration.map(Duration::try_from_secs_f64).transpose();
    let estimate = estimate.map_err(|_| (at, "estimatedRouteDuration must be seconds, 0 or more".to_owned()))?;
    let kind = match table.bridged {
        _ if table.from_chain_id == table.to_chain_id => TransferRoute::SameChain,
        Some(false) => TransferRoute::Intents,
        Some(true) | None => TransferRoute::Message,
    };
    let offsets: Vec<usize> = table.answers.iter().map(|answer| answer.span().start).collect();
    let stages = stages(table.answers)?;
    let params = TransactionParams {
        transaction_id: TxHash::new(table.transaction_id.into_inner()),
        from_chain: ChainId::new(table.from_chain_id),
        to_chain: ChainId::new(table.to_chain_id),
        quote_id: table.quote_id,
        request_id: table.request_id,
        estimate,
        submitted_at: None,
        from_address: None,
        ticket: table.ticket,
    };
    let new = NewTransaction::from(params);
    let transfer = Transfer { new, kind, begins: TimeDelta::zero(), stages, course: table.chain };
    for (stage, at) in transfer.stages.iter().zip(offsets) {
        check_edits(&transfer, stage).map_err(|reason| (at, reason))?;
    }
    Ok(transfer)
}

/// Returns the stages, which must be in order of time.
fn stages(answers: Vec<Spanned<AnswerTable>>) -> Result<Vec<TransferStage>, LocatedError> {
    let mut stages: Vec<TransferStage> = Vec::with_capacity(answers.len());
    for answer in answers {
        let at = answer.span().start;
        let stage = script::stage(answer.into_inner(), at)?;
        if stages.last().is_some_and(|before| before.from >= stage.from) {
            return Err((at, "`from` must be later than that of the answer before".to_owned()));
        }
        stages.push(stage);
    }
    Ok(stages)
}

/// Builds the record once, so that an edit that can't be applied is an error of the file.
fn check_edits(transfer: &Transfer, stage: &TransferStage) -> Result<(), String> {
    let PlannedAnswer::Record { status, steps, edits } = &stage.answer else { return Ok(()) };
    let state = RecordContent { status, steps: *steps, age: stage.from, edits };
    body::record(transfer, state, "").map(drop).map_err(|error| error.to_string())
}

fn routes(tables: Vec<RouteTable>) -> Result<Vec<ScriptedRoute>, LocatedError> {
    let mut routes: Vec<ScriptedRoute> = Vec::with_capacity(tables.len());
    for table in tables {
        let at = table.from_address.span().start;
        let route = script::route(table).map_err(|(at, reason)| (at, format!("route: {reason}")))?;
        let address = &route.from_address;
        if routes.iter().any(|other| other.from_address.eq_ignore_ascii_case(address)) {
            return Err((at, format!("a route for {address} is there already; leave one of them out")));
        }
        routes.push(route);
    }
    Ok(routes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use axum::http::Method;
    use serde_json::Value;

    use super::{super::service::SimulatedRequest, *};
    use crate::clock::{MonotonicTime, Now};

    const HEAD: &str =
        "[[transaction]]\ntransactionId = \"0xab\"\nfromChainId = \"1\"\ntoChainId = \"10\"\nquoteId = \"q\"\n";

    fn at(seconds: u64) -> Now {
        let wall = DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds.try_into().unwrap());
        Now { mono: MonotonicTime(Duration::from_secs(seconds)), wall }
    }

    fn request(params: &TransactionParams) -> SimulatedRequest {
        SimulatedRequest::status(params, "someone")
    }

    fn status_of(body: &str) -> Option<String> {
        let body: Value = serde_json::from_str(body).ok()?;
        body["routerTransactionStatus"].as_str().map(str::to_owned)
    }

    #[test]
    fn answers_follow_the_seconds_of_the_scenario() {
        let scenario = Scenario::parse(&format!(
            "[service]\ncounts_from = \"first_request\"\n{HEAD}answers = [{{ from = 0, http = 404 }}, \
             {{ from = 6, status = \"PAUSED?\", steps = 2 }}, {{ from = 9, http = 503, body = \"<p>\", retry_after = \"soon\" }}, \
             {{ from = 12, http = 200, body = \"\" }}]"
        ));
        let scenario = scenario.unwrap();
        let mut service = scenario.service(DateTime::UNIX_EPOCH);
        let request = request(&scenario.transfers[0].new.params);
        let without_id = SimulatedRequest { integrator_id: None, ..request.clone() };
        assert_eq!(service.handle(&without_id, at(50)).status, 401);
        assert_eq!(service.handle(&request, at(100)).status, 404);
        assert_eq!(service.handle(&request, at(105)).status, 404);
        let response = service.handle(&request, at(106));
        assert_eq!(status_of(&response.body).as_deref(), Some("PAUSED?"));
        let response = service.handle(&request, at(110));
        assert_eq!(
            (response.status, response.body.as_str(), response.header("retry-after")),
            (503, "<p>", Some("soon"))
        );
        assert_eq!(response.header("content-type"), Some("text/html"));
        let response = service.handle(&request, at(112));
        assert_eq!((response.status, response.body.as_str()), (200, ""));
        assert_eq!(scenario.final_status("0xAB"), None);
    }

    #[test]
    fn omitted_keys_have_defaults() {
        let scenario = Scenario::parse(&format!("{HEAD}answers = [{{ from = 0, status = \"ongoing\" }}]")).unwrap();
        assert_eq!(scenario.limits(), ServiceLimits::default());
        assert_eq!(scenario.world(DateTime::UNIX_EPOCH).origin(), Some(DateTime::UNIX_EPOCH));
        assert_eq!((scenario.final_status("0xab"), scenario.final_status("0xac")), (Some("ongoing"), None));
    }

    #[test]
    fn errors_name_the_line_the_cause_and_the_fix() {
        let ongoing = "{ from = 0, status = \"ongoing\" }";
        let cases = [
            ("[service]\nrpm = 3".to_owned(), "line 2: unknown field `rpm`, expected one of `rps`"),
            ("[service]\n\nrps = 0".to_owned(), "line 3: rps must be above 0; write"),
            ("[service]\ncounts_from = \"noon\"".to_owned(), "line 2: unknown variant `noon`, expected `start` or"),
            (format!("{HEAD}answers = []"), "line 2: transaction 0xab: answers is empty; write"),
            (format!("{HEAD}answers = [{{ from = 0 }}]"), "line 6: transaction 0xab: the answer has no content; write"),
            (format!("{HEAD}answers = [{{ from = -1, http = 404 }}]"), "line 6: transaction 0xab: `from` must be"),
            (format!("{HEAD}answers = [{{ from = 0, http = 99 }}]"), "line 6: transaction 0xab: http = 99 can't"),
            (format!("{HEAD}answers = [{{ from = 0, http = 200 }}]"), "line 6: transaction 0xab: http = 200 needs a"),
            (format!("{HEAD}answers = [\n{ongoing},\n{ongoing}]"), "line 8: transaction 0xab: `from` must be later"),
            (
                format!("{HEAD}answers = [{ongoing}]\n{HEAD}answers = [{ongoing}]"),
                "line 8: transaction 0xab is already on line 2",
            ),
            (HEAD.to_owned(), "line 1: missing field `answers`"),
            ("[service]\nwallet_limit_s = -1".to_owned(), "line 2: wallet_limit_s must be seconds"),
            ("[[route]]\nhttp = 404".to_owned(), "line 1: missing field `fromAddress`"),
            ("[[route]]\nfromAddress = \"0xa\"".to_owned(), "line 2: route: the answer has no content; write"),
            ("[[route]]\nfromAddress = \"0xa\"\nstatus = 3".to_owned(), "line 3: unknown field `status`"),
            (format!("{ROUTE}{ROUTE}"), "line 5: a route for 0xA is there already"),
            (
                edited(r#"set = { "/toChain/moon/age" = "1" }"#),
                "line 6: transaction 0xab: `/toChain/moon/age`: the record",
            ),
            (edited(r#"unset = ["/routeStatus/1"]"#), "line 6: transaction 0xab: `/routeStatus/1`: the record has no"),
        ];
        for (text, start) in cases {
            let error = Scenario::parse(&text).unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}");
        }
    }

    const ROUTE: &str = "[[route]]\nfromAddress = \"0xA\"\nhttp = 404\n";

    fn edited(change: &str) -> String {
        format!("{HEAD}answers = [{{ from = 0, status = \"ongoing\", steps = 1, {change} }}]")
    }

    #[test]
    fn contradictory_keys_of_an_answer_are_refused() {
        let cases = [
            (r#"status = "a", http = 404"#, "line 6: transaction 0xab: `status` and `http` exclude"),
            (r#"status = "a", play = "cut""#, "line 6: transaction 0xab: `status` and `play` exclude"),
            (r#"status = "a", body = """#, "line 6: transaction 0xab: `body` belongs to `http`"),
            (r#"http = 404, steps = 1"#, "line 6: transaction 0xab: `steps` belongs to `status`"),
            (r#"http = 404, unset = ["/id"]"#, "line 6: transaction 0xab: `set` and `unset` belong to `status`"),
            (r#"http = 404, body = "", play = "cut""#, "line 6: transaction 0xab: `body` and `play` exclude"),
            (r#"http = 404, play = "silence""#, "line 6: transaction 0xab: `http` says how the answer begins"),
            (r#"body = """#, "line 6: transaction 0xab: the answer has no content"),
            (r#"play = "dance""#, "line 6: unknown variant `dance`, expected one of `silence`, `drip`"),
            (
                r#"http = 429, headers = { Retry-After = "7" }"#,
                "line 6: transaction 0xab: `headers`: retry-after can't",
            ),
            (r#"http = 500, headers = { "a b" = "7" }"#, "line 6: transaction 0xab: `headers`: `a b` is no header's"),
            (r#"http = 500, headers = { a = "\n" }"#, "line 6: transaction 0xab: the header a holds what no header"),
            (r#"http = 429, retry_after = "\u0000""#, "line 6: transaction 0xab: the header retry-after holds"),
            ("status = \"a\",\n set = { \"/id\" = \"x\" }", "line 7: transaction 0xab: `set`: `/id`: `x` is not JSON"),
            ("status = \"a\",\n\n unset = [\"id\"]", "line 8: transaction 0xab: `unset`: `id` is not a JSON pointer"),
        ];
        for (keys, start) in cases {
            let error = Scenario::parse(&format!("{HEAD}answers = [{{ from = 0, {keys} }}]")).unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}");
        }
    }

    #[test]
    fn record_is_sent_with_its_edits_and_headers() {
        let change = r#"set = { "/toChain" = '{"transactionId":""}', "/toChain/blockNumber" = "\"173\"" },
            unset = ["/timeSpent", "/fromChain/chainData"], headers = { x-served-by = "sim" }, retry_after = "3""#;
        let scenario = Scenario::parse(&edited(change)).unwrap();
        let request = request(&scenario.transfers[0].new.params);
        let response = scenario.service(DateTime::UNIX_EPOCH).handle(&request, at(1));
        let body: Value = serde_json::from_str(&response.body).unwrap();
        assert_eq!(body["toChain"], serde_json::json!({ "transactionId": "", "blockNumber": "173" }));
        assert!(body.get("timeSpent").is_none() && body["fromChain"].get("chainData").is_none());
        assert_eq!((response.header("x-served-by"), response.header("retry-after")), (Some("sim"), Some("3")));
    }

    #[test]
    fn route_requests_get_the_scripted_answers() {
        let text = format!("[service]\nwallet_limit_s = 2.5\n{ROUTE}retry_after = \"4\"");
        let scenario = Scenario::parse(&text).unwrap();
        assert_eq!(scenario.limits().wallet_limit, Duration::from_millis(2_500));
        let route_request = |address: &str| SimulatedRequest {
            method: Method::POST,
            path: "/v2/route".to_owned(),
            integrator_id: Some("someone".to_owned()),
            query: Vec::new(),
            body: Some(
                format!(
                    r#"{{"fromAddress":"{address}","fromChain":"1","fromToken":"0x1","fromAmount":"5000",
                    "toChain":"10","toToken":"0x2","toAddress":"0xB"}}"#
                )
                .into_bytes(),
            ),
        };
        let mut service = scenario.service(DateTime::UNIX_EPOCH);
        let response = service.handle(&route_request("0xa"), at(0));
        assert_eq!((response.status, response.header("retry-after")), (404, Some("4")));
        let mut statuses =
            |seconds: [u64; 3]| seconds.map(|second| service.handle(&route_request("0xb"), at(second)).status);
        assert_eq!(statuses([0, 2, 3]), [200, 429, 200]);
        let without_id = SimulatedRequest { integrator_id: None, ..route_request("0xa") };
        assert_eq!(service.handle(&without_id, at(9)).status, 401);
        let broken = SimulatedRequest { body: None, ..route_request("0xa") };
        assert_eq!(service.handle(&broken, at(9)).status, 400);
        // Route requests count toward the rate limit like all others.
        let last = (0..20).map(|_| service.handle(&route_request("0xa"), at(10)).status).last();
        assert_eq!((last, service.report().worst_window), (Some(429), 20));
    }

    #[test]
    fn example_in_the_module_documentation_is_valid() {
        let example = include_str!("scenario.rs").lines().map_while(|line| line.strip_prefix("//!"));
        let example = example.skip_while(|line| *line != " ```toml").skip(1).take_while(|line| *line != " ```");
        let scenario = Scenario::parse(&example.collect::<Vec<_>>().join("\n")).unwrap();
        assert_eq!((scenario.transfers.len(), scenario.routes.len()), (1, 1));
    }

    /// Returns the rows of an example batch, by hash.
    fn rows(text: &str) -> BTreeMap<String, Vec<String>> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header: Vec<_> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(header[..4], ["transactionId", "fromChainId", "toChainId", "quoteId"]);
        assert_eq!(header[4..], ["requestId", "estimatedRouteDuration", "ticket", "labels"]);
        let row = |row: csv::StringRecord| row.iter().take(6).map(str::to_owned).collect::<Vec<_>>();
        reader.into_records().map(|record| row(record.unwrap())).map(|row| (row[0].clone(), row)).collect()
    }

    /// Returns the rows that match a scenario's transactions, by hash.
    fn expected(scenario: &Scenario) -> BTreeMap<String, Vec<String>> {
        let row = |params: TransactionParams| {
            let estimate = params.estimate.map_or_else(String::new, |estimate| estimate.as_secs().to_string());
            let request = params.request_id.unwrap_or_default();
            let (from, to) = (params.from_chain.to_string(), params.to_chain.to_string());
            vec![params.transaction_id.to_string(), from, to, params.quote_id, request, estimate]
        };
        let new = scenario.world(DateTime::UNIX_EPOCH).transfers();
        new.into_iter().map(|new| row(new.params)).map(|row| (row[0].clone(), row)).collect()
    }

    /// Counts the final statuses, as the service answers when the last answer of the scenario has begun.
    fn final_statuses(scenario: &Scenario) -> BTreeMap<String, usize> {
        let world = scenario.world(DateTime::UNIX_EPOCH);
        let mut service = SimulatedService::new(world, ServiceLimits { rps: 1e6, ..ServiceLimits::default() });
        let transfers = scenario.world(DateTime::UNIX_EPOCH).transfers();
        let mut ask = |params: &TransactionParams, second| service.handle(&request(params), at(second));
        ask(&transfers[0].params, 0);
        let mut counts = BTreeMap::new();
        for new in &transfers {
            let response = ask(&new.params, scenario.length().as_secs() + 1);
            let status = status_of(&response.body).unwrap_or_else(|| response.status.to_string());
            let expected_status = scenario.final_status(new.params.transaction_id.as_str());
            match response.status {
                200 => assert_eq!(expected_status, Some(status.as_str())),
                404 => assert_eq!(expected_status, Some("not_found")),
                _ => assert_eq!(expected_status, None),
            }
            *counts.entry(status).or_insert(0) += 1;
        }
        counts
    }

    #[test]
    fn batch_of_200_matches_its_scenario_and_ends_in_150_seconds() {
        let scenario = Scenario::parse(include_str!("../../assets/scenarios/batch-200.toml")).unwrap();
        let rows = rows(include_str!("../../assets/batch-200.csv"));
        assert_eq!((rows.len(), &rows), (200, &expected(&scenario)));
        assert_eq!((scenario.counts_from, scenario.limits().rps), (CountsFrom::FirstRequest, 10.0));
        assert!(scenario.length() <= Duration::from_secs(150));
        let final_statuses = final_statuses(&scenario);
        assert_eq!(final_statuses, BTreeMap::from([("partial_success".to_owned(), 20), ("success".to_owned(), 180)]));
    }

    #[test]
    fn batch_of_all_statuses_matches_its_scenario() {
        let scenario = Scenario::parse(include_str!("../../assets/scenarios/all-statuses.toml")).unwrap();
        assert_eq!(rows(include_str!("../../assets/all-statuses.csv")), expected(&scenario));
        assert_eq!(scenario.counts_from, CountsFrom::Start);
        let final_statuses: Vec<_> = final_statuses(&scenario).into_keys().collect();
        let documented = ["needs_gas", "not_found", "ongoing", "partial_success", "refund", "success"];
        assert_eq!(final_statuses[..3], ["400", "404", "failed_on_destination"]);
        assert_eq!(final_statuses[3..], documented);
    }
}
