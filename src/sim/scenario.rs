//! A world as data: a TOML file that says what the service answers, second by second, for each transaction.
//!
//! ```toml
//! [service]
//! rps = 10.0                        # requests a second for each ID
//! latency_ms = 40
//! counts_from = "first_request"     # or "start": when second 0 is
//! [[transaction]]
//! transactionId = "0x9f3c"
//! fromChainId = "42161"
//! toChainId = "8453"
//! quoteId = "q-1"
//! answers = [{ from = 0, http = 404 }, { from = 6, status = "ongoing", steps = 1 }]
//! ```
//!
//! It must never take a file that it reads only in part: what it doesn't know is an error with its line.

use std::{collections::BTreeMap, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use toml::Spanned;

use super::{
    plan::{Answer, Kind, Stage, Transfer},
    service::{Limits, Service},
    world::{CountsFrom, World},
};
use crate::domain::{
    ids::{ChainId, TxHash},
    transaction::{NewTransaction, Told},
};

/// Why a text is no scenario: where, what, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ScenarioError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there and what to write.
    pub reason: String,
}

/// A world as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    limits: Limits,
    counts_from: CountsFrom,
    transfers: Vec<Transfer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    service: ServiceTable,
    #[serde(default)]
    transaction: Vec<TransactionTable>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServiceTable {
    rps: Option<Spanned<f64>>,
    latency_ms: Option<u64>,
    #[serde(default)]
    counts_from: CountsFrom,
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
    answers: Vec<Spanned<AnswerTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerTable {
    from: f64,
    status: Option<String>,
    steps: Option<usize>,
    http: Option<u16>,
    body: Option<String>,
    retry_after: Option<String>,
}

impl Scenario {
    /// Reads a scenario.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let error = |at: usize, reason: String| ScenarioError { line: line(text, at), reason };
        let file: File = toml::from_str(text).map_err(|wrong| {
            error(wrong.span().map_or(0, |span| span.start), wrong.message().replace('\n', " ").trim_end().to_owned())
        })?;
        let limits = limits(&file.service).map_err(|(at, reason)| error(at, reason))?;
        let mut seen = BTreeMap::new();
        let mut transfers = Vec::with_capacity(file.transaction.len());
        for table in file.transaction {
            let (at, hash) = (table.transaction_id.span().start, TxHash::new(table.transaction_id.get_ref().as_str()));
            let transfer =
                transfer(table).map_err(|(at, reason)| error(at, format!("transaction {hash}: {reason}")))?;
            if let Some(first) = seen.insert(hash.key(), at) {
                let first = line(text, first);
                return Err(error(at, format!("transaction {hash} is already on line {first}; leave one of them out")));
            }
            transfers.push(transfer);
        }
        Ok(Self { limits, counts_from: file.service.counts_from, transfers })
    }

    /// How much the service bears and how fast it is.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The world of this scenario, for a service that starts at `start`.
    pub fn world(&self, start: DateTime<Utc>) -> World {
        World::scripted(self.transfers.clone(), start, self.counts_from)
    }

    /// A service that plays this scenario from `start` on.
    pub fn service(&self, start: DateTime<Utc>) -> Service {
        Service::new(self.world(start), self.limits)
    }

    /// The status that the transaction with this hash ends in: `not_found` for a 404; `None` for an unknown hash, and
    /// for an end that says nothing of the transaction.
    pub fn final_status(&self, hash: &str) -> Option<&str> {
        let key = TxHash::new(hash).key();
        let transfer = self.transfers.iter().find(|transfer| transfer.new.told.transaction_id.key() == key)?;
        transfer.stages.last()?.answer.status()
    }

    /// When the last answer of all begins, from second 0.
    pub fn length(&self) -> Duration {
        self.transfers.iter().flat_map(|transfer| &transfer.stages).map(|stage| stage.from).max().unwrap_or_default()
    }
}

/// The line of a place in the text, from 1.
fn line(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// A place in the text and what is wrong there.
type Wrong = (usize, String);

fn limits(table: &ServiceTable) -> Result<Limits, Wrong> {
    let mut limits = Limits::default();
    if let Some(rps) = &table.rps {
        limits.rps = *rps.get_ref();
        if !limits.rps.is_finite() || limits.rps <= 0.0 {
            return Err((rps.span().start, "rps must be above 0; write for example 10.0".to_owned()));
        }
    }
    limits.latency = table.latency_ms.map_or(limits.latency, Duration::from_millis);
    Ok(limits)
}

fn transfer(table: TransactionTable) -> Result<Transfer, Wrong> {
    let at = table.transaction_id.span().start;
    if table.answers.is_empty() {
        return Err((at, "answers is empty; write at least { from = 0, status = \"ongoing\" }".to_owned()));
    }
    let estimate = table.estimated_route_duration.map(Duration::try_from_secs_f64).transpose();
    let estimate = estimate.map_err(|_| (at, "estimatedRouteDuration must be seconds, 0 or more".to_owned()))?;
    let kind = match table.bridged {
        _ if table.from_chain_id == table.to_chain_id => Kind::SameChain,
        Some(false) => Kind::Intents,
        Some(true) | None => Kind::Message,
    };
    let mut stages: Vec<Stage> = Vec::with_capacity(table.answers.len());
    for answer in table.answers {
        let at = answer.span().start;
        let stage = stage(answer.into_inner()).map_err(|reason| (at, reason))?;
        if stages.last().is_some_and(|before| before.from >= stage.from) {
            return Err((at, "`from` must be later than that of the answer before".to_owned()));
        }
        stages.push(stage);
    }
    let told = Told {
        transaction_id: TxHash::new(table.transaction_id.into_inner()),
        from_chain: ChainId::new(table.from_chain_id),
        to_chain: ChainId::new(table.to_chain_id),
        quote_id: table.quote_id,
        request_id: table.request_id,
        estimate,
        submitted_at: None,
        from_address: None,
        ticket: None,
    };
    let new = NewTransaction { told, labels: Vec::new(), note: None };
    Ok(Transfer { new, kind, begins: TimeDelta::zero(), stages })
}

fn stage(table: AnswerTable) -> Result<Stage, String> {
    let from = Duration::try_from_secs_f64(table.from).map_err(|_| "`from` must be seconds, 0 or more".to_owned())?;
    let answer = match (table.status, table.http) {
        (Some(status), None) if table.body.is_none() => Answer::Record { status, steps: table.steps.unwrap_or(0) },
        (Some(_), None) => return Err("`body` belongs to `http`; write http = 200 instead of `status`".to_owned()),
        (Some(_), Some(_)) => return Err("`status` and `http` exclude each other; leave one of them out".to_owned()),
        (None, None) => return Err("it says nothing; write status = \"ongoing\" or http = 404".to_owned()),
        (None, Some(_)) if table.steps.is_some() => return Err("`steps` belongs to `status`; leave it out".to_owned()),
        (None, Some(200)) if table.body.is_none() => {
            return Err("http = 200 needs a `body`; for a record write `status` instead".to_owned());
        }
        (None, Some(status @ 200..=599)) => Answer::Http { status, body: table.body },
        (None, Some(status)) => return Err(format!("http = {status} can't be sent; write one from 200 to 599")),
    };
    Ok(Stage { from, answer, retry_after: table.retry_after })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::{super::service::Request, *};
    use crate::clock::{Mono, Now};

    const HEAD: &str =
        "[[transaction]]\ntransactionId = \"0xab\"\nfromChainId = \"1\"\ntoChainId = \"10\"\nquoteId = \"q\"\n";

    fn at(seconds: u64) -> Now {
        let wall = DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds.try_into().unwrap());
        Now { mono: Mono(Duration::from_secs(seconds)), wall }
    }

    fn request(told: &Told) -> Request {
        let query = [
            ("transactionId", told.transaction_id.as_str()),
            ("fromChainId", told.from_chain.as_str()),
            ("toChainId", told.to_chain.as_str()),
            ("quoteId", &told.quote_id),
        ];
        Request {
            path: "/v2/status".to_owned(),
            integrator_id: Some("someone".to_owned()),
            query: query.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        }
    }

    fn status_of(body: &str) -> Option<String> {
        let body: Value = serde_json::from_str(body).ok()?;
        body["routerTransactionStatus"].as_str().map(str::to_owned)
    }

    #[test]
    fn answers_come_by_the_second() {
        let scenario = Scenario::parse(&format!(
            "[service]\ncounts_from = \"first_request\"\n{HEAD}answers = [{{ from = 0, http = 404 }}, \
             {{ from = 6, status = \"PAUSED?\", steps = 2 }}, {{ from = 9, http = 503, body = \"<p>\", retry_after = \"soon\" }}, \
             {{ from = 12, http = 200, body = \"\" }}]"
        ));
        let scenario = scenario.unwrap();
        let mut service = scenario.service(DateTime::UNIX_EPOCH);
        let request = request(&scenario.transfers[0].new.told);
        let stranger = Request { integrator_id: None, ..request.clone() };
        assert_eq!(service.handle(&stranger, at(50)).status, 401);
        assert_eq!(service.handle(&request, at(100)).status, 404);
        assert_eq!(service.handle(&request, at(105)).status, 404);
        let reply = service.handle(&request, at(106));
        assert_eq!(status_of(&reply.body).as_deref(), Some("PAUSED?"));
        let reply = service.handle(&request, at(110));
        assert_eq!((reply.status, reply.body.as_str(), reply.header("retry-after")), (503, "<p>", Some("soon")));
        assert_eq!(reply.header("content-type"), Some("text/html"));
        let reply = service.handle(&request, at(112));
        assert_eq!((reply.status, reply.body.as_str()), (200, ""));
        assert_eq!(scenario.final_status("0xAB"), None);
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let scenario = Scenario::parse(&format!("{HEAD}answers = [{{ from = 0, status = \"ongoing\" }}]")).unwrap();
        assert_eq!(scenario.limits(), Limits::default());
        assert_eq!(scenario.world(DateTime::UNIX_EPOCH).origin(), Some(DateTime::UNIX_EPOCH));
        assert_eq!((scenario.final_status("0xab"), scenario.final_status("0xac")), (Some("ongoing"), None));
    }

    #[test]
    fn errors_name_the_line_the_thing_and_the_way_out() {
        let ongoing = "{ from = 0, status = \"ongoing\" }";
        let cases = [
            ("[service]\nrpm = 3".to_owned(), "line 2: unknown field `rpm`, expected one of `rps`"),
            ("[service]\n\nrps = 0".to_owned(), "line 3: rps must be above 0; write"),
            ("[service]\ncounts_from = \"noon\"".to_owned(), "line 2: unknown variant `noon`, expected `start` or"),
            (format!("{HEAD}answers = []"), "line 2: transaction 0xab: answers is empty; write"),
            (format!("{HEAD}answers = [{{ from = 0 }}]"), "line 6: transaction 0xab: it says nothing; write"),
            (format!("{HEAD}answers = [{{ from = -1, http = 404 }}]"), "line 6: transaction 0xab: `from` must be"),
            (format!("{HEAD}answers = [{{ from = 0, http = 99 }}]"), "line 6: transaction 0xab: http = 99 can't"),
            (format!("{HEAD}answers = [{{ from = 0, http = 200 }}]"), "line 6: transaction 0xab: http = 200 needs a"),
            (format!("{HEAD}answers = [\n{ongoing},\n{ongoing}]"), "line 8: transaction 0xab: `from` must be later"),
            (
                format!("{HEAD}answers = [{ongoing}]\n{HEAD}answers = [{ongoing}]"),
                "line 8: transaction 0xab is already on line 2",
            ),
            (HEAD.to_owned(), "line 1: missing field `answers`"),
        ];
        for (text, start) in cases {
            let error = Scenario::parse(&text).unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}");
        }
    }

    /// The rows of an example batch, by hash.
    fn rows(text: &str) -> BTreeMap<String, Vec<String>> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header: Vec<_> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(header[..4], ["transactionId", "fromChainId", "toChainId", "quoteId"]);
        assert_eq!(header[4..], ["requestId", "estimatedRouteDuration", "ticket", "labels"]);
        let row = |row: csv::StringRecord| row.iter().take(6).map(str::to_owned).collect::<Vec<_>>();
        reader.into_records().map(|record| row(record.unwrap())).map(|row| (row[0].clone(), row)).collect()
    }

    /// The rows that a scenario's transactions should have.
    fn expected(scenario: &Scenario) -> BTreeMap<String, Vec<String>> {
        let row = |told: Told| {
            let estimate = told.estimate.map_or_else(String::new, |estimate| estimate.as_secs().to_string());
            let request = told.request_id.unwrap_or_default();
            let (from, to) = (told.from_chain.to_string(), told.to_chain.to_string());
            vec![told.transaction_id.to_string(), from, to, told.quote_id, request, estimate]
        };
        let new = scenario.world(DateTime::UNIX_EPOCH).transfers();
        new.into_iter().map(|new| row(new.told)).map(|row| (row[0].clone(), row)).collect()
    }

    /// The final statuses, counted, as the service says them when the last answer of all has begun.
    fn endings(scenario: &Scenario) -> BTreeMap<String, usize> {
        let world = scenario.world(DateTime::UNIX_EPOCH);
        let mut service = Service::new(world, Limits { rps: 1e6, ..Limits::default() });
        let transfers = scenario.world(DateTime::UNIX_EPOCH).transfers();
        let mut ask = |told: &Told, second| service.handle(&request(told), at(second));
        ask(&transfers[0].told, 0);
        let mut counts = BTreeMap::new();
        for new in &transfers {
            let reply = ask(&new.told, scenario.length().as_secs() + 1);
            let status = status_of(&reply.body).unwrap_or_else(|| reply.status.to_string());
            let promised = scenario.final_status(new.told.transaction_id.as_str());
            match reply.status {
                200 => assert_eq!(promised, Some(status.as_str())),
                404 => assert_eq!(promised, Some("not_found")),
                _ => assert_eq!(promised, None),
            }
            *counts.entry(status).or_insert(0) += 1;
        }
        counts
    }

    #[test]
    fn the_batch_of_200_agrees_with_its_scenario_and_ends_in_150_seconds() {
        let scenario = Scenario::parse(include_str!("../../assets/scenarios/batch-200.toml")).unwrap();
        let rows = rows(include_str!("../../assets/batch-200.csv"));
        assert_eq!((rows.len(), &rows), (200, &expected(&scenario)));
        assert_eq!((scenario.counts_from, scenario.limits().rps), (CountsFrom::FirstRequest, 10.0));
        assert!(scenario.length() <= Duration::from_secs(150));
        let endings = endings(&scenario);
        assert_eq!(endings, BTreeMap::from([("partial_success".to_owned(), 20), ("success".to_owned(), 180)]));
    }

    #[test]
    fn the_batch_of_all_statuses_agrees_with_its_scenario() {
        let scenario = Scenario::parse(include_str!("../../assets/scenarios/all-statuses.toml")).unwrap();
        assert_eq!(rows(include_str!("../../assets/all-statuses.csv")), expected(&scenario));
        assert_eq!(scenario.counts_from, CountsFrom::Start);
        let endings: Vec<_> = endings(&scenario).into_keys().collect();
        let documented = ["needs_gas", "not_found", "ongoing", "partial_success", "refund", "success"];
        assert_eq!(endings[..3], ["400", "404", "failed_on_destination"]);
        assert_eq!(endings[3..], documented);
    }
}
