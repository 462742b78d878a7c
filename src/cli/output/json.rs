//! The JSON of a transaction, of its history and of an event, as specified in `commands.md`, JSON.
//!
//! Names, order and types are a contract with scripts: a field may be added, but must never be renamed, moved or left
//! out.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    time::Duration,
};

use chrono::{DateTime, Offset, Utc};
use serde::Serialize;
use serde_json::{Map, Number, Value};

use super::{on_chain_json::OnChainView, schema::Schema};
use crate::{
    domain::{
        advice,
        alert::{Alert, Rule},
        change::Change,
        difference::Difference,
        ids::{ChainId, TxHash},
        record::RouteStep,
        route::{self, RouteKind, TransferEnd},
        settled_duration::SettledDuration,
        span::rfc3339,
        status::RouterStatus,
        transaction::{Tracking, Transaction},
    },
    store::HistoryLine,
};

/// A transaction as `list`, `show`, `check` and `export` write it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TransactionView<'a> {
    transaction_id: &'a TxHash,
    from_chain_id: &'a ChainId,
    to_chain_id: &'a ChainId,
    quote_id: &'a str,
    request_id: Option<&'a str>,
    profile: &'a str,
    status: Option<&'static str>,
    raw_status: Option<&'a str>,
    settled: bool,
    untracked: bool,
    bridge_status: Option<&'a str>,
    gas_status: Option<&'a str>,
    is_gmp: Option<bool>,
    bridge_url: Option<&'a str>,
    from: SideView<'a>,
    to: SideView<'a>,
    steps: Vec<StepView<'a>>,
    time_spent: Option<&'a BTreeMap<String, Value>>,
    error: Option<&'a str>,
    estimated_route_duration: Option<Number>,
    submitted_at: String,
    submitted_at_is_first_seen: bool,
    deadline: String,
    overdue: bool,
    first_seen_at: String,
    last_checked_at: Option<String>,
    last_changed_at: Option<String>,
    settled_at: Option<String>,
    /// Whether the time from submission to settling is an upper bound; `null` before settling and without a submission
    /// time.
    duration_is_upper_bound: Option<bool>,
    polls: u64,
    last_error: Option<&'a str>,
    alerts: Vec<&'static str>,
    ticket: Option<&'a str>,
    labels: &'a [String],
    from_address: Option<&'a str>,
    say: String,
    r#do: String,
    verdict: String,
    route_kind: Option<&'static str>,
    message: Option<&'a str>,
    warnings: Vec<String>,
    other: Option<&'a BTreeMap<String, String>>,
    notes: &'a [String],
    /// Who wrote each note, `null` where nobody set a name.
    note_authors: Vec<Option<&'a str>>,
    /// The service's IDs of its answers, oldest first: of a repeated answer the newest ones.
    request_ids: &'a [String],
    /// The chain's own answer; `null` if the chain was not asked.
    on_chain: Option<OnChainView<'a>>,
    /// Whether the submission time is the time of the block with the transaction, because nobody gave one.
    submitted_at_is_from_chain: bool,
    /// Absent within an event, which has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Schema>,
}

/// One end of the transfer.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SideView<'a> {
    chain_id: &'a ChainId,
    chain_name: Option<String>,
    transaction_id: Option<&'a TxHash>,
    block_number: Option<u64>,
    call_event_status: Option<&'a str>,
    url: Option<&'a str>,
    call_event_log: &'a [String],
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StepView<'a> {
    chain_id: Option<&'a ChainId>,
    transaction_id: Option<&'a TxHash>,
    status: Option<&'a str>,
    action: Option<&'a str>,
}

impl<'a> TransactionView<'a> {
    /// Creates the view of a transaction at `now`. `alerts` are the active alerts of this transaction, without its
    /// profile's.
    pub(crate) fn new(tx: &'a Transaction, alerts: &[Alert], now: DateTime<Utc>) -> Self {
        let (params, state) = (&tx.params, &tx.state);
        let record = tx.record.as_ref();
        let deadline = tx.deadline();
        let advice = advice::advise(tx, now, Utc.fix());
        let ends = route::ends(tx);
        let damage = tx.damage_warning().map(str::to_owned).into_iter();
        let record_warnings = record.iter().flat_map(|record| &record.warnings);
        Self {
            transaction_id: &params.transaction_id,
            from_chain_id: &params.from_chain,
            to_chain_id: &params.to_chain,
            quote_id: &params.quote_id,
            request_id: tx.request_id(),
            profile: &tx.profile,
            status: state.status.as_ref().map(RouterStatus::name),
            raw_status: state.status.as_ref().map(RouterStatus::raw),
            settled: tx.is_settled(),
            untracked: tx.tracking == Tracking::Untracked,
            bridge_status: record.and_then(|record| record.bridge_status.as_deref()),
            gas_status: record.and_then(|record| record.gas_status.as_deref()),
            is_gmp: record.and_then(|record| record.is_gmp),
            bridge_url: record.and_then(|record| record.bridge_url.as_deref()),
            from: SideView::new(ends.source, tx.from_name()),
            to: SideView::new(ends.destination, tx.to_name()),
            steps: record.map_or_else(Vec::new, |record| record.steps.iter().map(StepView::new).collect()),
            time_spent: record.map(|record| &record.time_spent),
            error: record.and_then(|record| record.error.as_deref()),
            estimated_route_duration: params.estimate.map(seconds),
            submitted_at: rfc3339(deadline.submitted),
            submitted_at_is_first_seen: deadline.is_from_first_seen,
            deadline: rfc3339(deadline.at),
            overdue: tx.is_overdue(),
            first_seen_at: rfc3339(tx.first_seen_at),
            last_checked_at: state.last_checked_at.map(rfc3339),
            last_changed_at: state.last_changed_at.map(rfc3339),
            settled_at: state.settled_at.map(rfc3339),
            duration_is_upper_bound: SettledDuration::of(tx).and_then(SettledDuration::is_upper_bound),
            polls: state.polls,
            last_error: last_error(tx),
            alerts: rule_names(alerts),
            ticket: params.ticket.as_deref(),
            labels: &tx.labels,
            from_address: params.from_address.as_deref(),
            say: advice.say,
            r#do: advice.act,
            verdict: advice.verdict,
            route_kind: route::kind(tx).map(RouteKind::name),
            message: state.message.as_deref(),
            warnings: damage.chain(route::contradiction(tx)).chain(record_warnings.cloned()).collect(),
            other: record.map(|record| &record.other).filter(|other| !other.is_empty()),
            notes: &tx.notes,
            // Without any name there is no list of authors.
            note_authors: (0..tx.notes.len()).map(|note| tx.authors.notes.get(note)?.as_deref()).collect(),
            request_ids: &tx.response_ids,
            on_chain: tx.on_chain.as_ref().map(OnChainView::new),
            submitted_at_is_from_chain: tx.is_submission_from_chain(),
            schema: Some(Schema::Transaction),
        }
    }

    /// Replaces `untracked` with that of `tracking`.
    pub(crate) fn with_tracking(self, tracking: &Tracking) -> Self {
        Self { untracked: *tracking == Tracking::Untracked, ..self }
    }
}

impl<'a> SideView<'a> {
    /// Creates the view of one end. The chain's name is absent if only the chain's ID is known.
    fn new(end: TransferEnd<'a>, name: String) -> Self {
        Self {
            chain_id: end.chain,
            chain_name: Some(name).filter(|name| name != end.chain.as_str()),
            transaction_id: end.transaction_id,
            block_number: end.block_number,
            call_event_status: end.call_event_status,
            url: end.url,
            call_event_log: end.call_event_log,
        }
    }
}

impl<'a> StepView<'a> {
    fn new(step: &'a RouteStep) -> Self {
        Self {
            chain_id: step.chain_id.as_ref(),
            transaction_id: step.transaction_id.as_ref(),
            status: step.status.as_deref(),
            action: step.action.as_deref(),
        }
    }
}

/// Returns the last failure, or the reason why the transaction is parked.
fn last_error(tx: &Transaction) -> Option<&str> {
    let parked = match &tx.tracking {
        Tracking::Parked(reason) => Some(reason.as_str()),
        _ => None,
    };
    tx.state.last_error.as_deref().or(parked)
}

/// Returns the names of the alerts' rules, the most urgent first, each once.
fn rule_names(alerts: &[Alert]) -> Vec<&'static str> {
    let rules: BTreeSet<Rule> = alerts.iter().map(|alert| alert.rule).collect();
    rules.into_iter().map(Rule::name).collect()
}

/// Returns a duration in seconds, as a whole number if it is one.
pub(crate) fn seconds(span: Duration) -> Number {
    let whole = Number::from(span.as_secs());
    if span.subsec_nanos() == 0 { whole } else { Number::from_f64(span.as_secs_f64()).unwrap_or(whole) }
}

/// Returns the same JSON as ASCII on one line. Values stay equal, and no character in them can control a terminal.
pub(crate) fn ascii(json: &str) -> String {
    let mut written = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            // White space between JSON tokens; inside a JSON string these characters are always escaped.
            '\n' | '\r' | '\t' => {}
            ' '..='~' => written.push(letter),
            other => {
                let mut units = [0; 2];
                written.extend(other.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    written
}

/// A line of a transaction's history.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HistoryView<'a> {
    at: String,
    kind: &'static str,
    /// The line as a sentence.
    pub text: String,
    /// The person who made the change; `null` if nobody did, or the person set no name.
    author: Option<&'a str>,
    /// The ID of the answer that this line is, or that showed this change; `hoptop show --body` prints the answer's
    /// body.
    pub answer: Option<i64>,
    /// The differences between the answer's body and the body before.
    pub changed: &'a [Difference],
}

impl<'a> From<&'a HistoryLine> for HistoryView<'a> {
    /// Creates the view of a line. `kind` is the event's name, or `answer`.
    fn from(line: &'a HistoryLine) -> Self {
        let at = rfc3339(line.at());
        match line {
            HistoryLine::Change(change) => {
                let (text, author) = (change.sentence(), change.author.as_deref());
                Self { at, kind: change.kind.name(), text, author, answer: change.observation, changed: &[] }
            }
            HistoryLine::Observation(answer, changed) => {
                let text = format!("answer: {}", answer.description());
                Self { at, kind: "answer", text, author: None, answer: Some(answer.id), changed }
            }
        }
    }
}

#[derive(Serialize)]
struct EventView<'a> {
    event: &'static str,
    at: String,
    /// The profile; absent if the event has a transaction, which has its own `profile` field.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'a str>,
    /// The fields of this kind of event.
    #[serde(flatten)]
    own: Map<String, Value>,
    #[serde(flatten)]
    transaction: Option<TransactionView<'a>>,
    schema: Schema,
}

/// Returns the event that `hoptop webhook test` posts.
pub(crate) fn test_event(profile: &str, at: DateTime<Utc>) -> Result<String, serde_json::Error> {
    let (at, profile) = (rfc3339(at), Some(profile));
    let (own, schema) = (Map::new(), Schema::Event);
    serde_json::to_string(&EventView { event: "test", at, profile, own, transaction: None, schema })
}

/// Returns one line of `watch --json` without the line end: the event, then its own fields, then the transaction's
/// fields. The event's `error` replaces the record's `error`.
pub(crate) fn event(
    change: &Change,
    tx: Option<(&Transaction, &[Alert])>,
    now: DateTime<Utc>,
) -> Result<String, serde_json::Error> {
    let mut own = match serde_json::to_value(&change.kind)? {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    own.remove("event");
    let own_error = tx.and_then(|_| own.remove("error"));
    let transaction = tx.map(|(tx, alerts)| {
        let view = TransactionView::new(tx, alerts, now);
        let error = own_error.as_ref().and_then(Value::as_str).or(view.error);
        TransactionView { error, schema: None, ..view }
    });
    let profile = transaction.is_none().then_some(change.profile.as_str());
    let (event, at, schema) = (change.kind.name(), rfc3339(change.at), Schema::Event);
    serde_json::to_string(&EventView { event, at, profile, own, transaction, schema })
}

/// Writes a JSON array, one value per line, without holding the values in memory.
pub(crate) struct JsonList<'a> {
    out: &'a mut dyn Write,
    is_empty: bool,
}

impl<'a> JsonList<'a> {
    /// Returns an empty list; nothing is written yet.
    pub(crate) fn begin(out: &'a mut dyn Write) -> Self {
        Self { out, is_empty: true }
    }

    /// Writes a value.
    pub(crate) fn push(&mut self, value: &impl Serialize) -> color_eyre::Result<()> {
        Ok(self.push_json(&serde_json::to_string(value)?)?)
    }

    /// Writes a value that is JSON already.
    pub(crate) fn push_json(&mut self, json: &str) -> io::Result<()> {
        write!(self.out, "{}{json}", if self.is_empty { "[\n" } else { ",\n" })?;
        self.is_empty = false;
        Ok(())
    }

    /// Writes the end of the array.
    pub(crate) fn end(self) -> io::Result<()> {
        writeln!(self.out, "{}", if self.is_empty { "[]" } else { "\n]" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        alert::Severity,
        change::ChangeKind,
        fixtures::{self, at},
        ids::RowId,
        observation::{RequestFailure, StatusOutcome},
        record::StatusRecord,
    };

    fn alert(rule: Rule) -> Alert {
        fixtures::alert(rule, Some(RowId(1)))
    }

    /// Returns a transaction with a record in which most fields are set.
    fn full() -> Transaction {
        let mut tx = fixtures::transaction(1);
        tx.params.estimate = Some(Duration::from_secs(900));
        tx.params.submitted_at = Some(at(-60));
        tx.labels = vec!["vip".into()];
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        record.bridge_status = Some("source_gateway_called".into());
        record.gas_status = Some(String::new());
        record.is_gmp = Some(true);
        record.time_spent.insert("total".into(), 45.into());
        record.error = Some("slippage".into());
        record.request_id = Some("r-1".into());
        record.to.block_number = Some(7);
        record.steps.push(RouteStep {
            chain_id: Some(ChainId::new("42161")),
            transaction_id: None,
            status: Some("success".into()),
            action: Some("call".into()),
        });
        tx.apply(&fixtures::answer(StatusOutcome::Record(Box::new(record))), at(5));
        tx
    }

    #[test]
    fn authors_of_notes_are_parallel_to_the_notes_and_null_without_a_name() {
        let mut tx = full();
        tx.notes = vec!["one".into(), "two".into()];
        let json = |tx: &Transaction| serde_json::to_value(TransactionView::new(tx, &[], at(10))).unwrap();
        assert_eq!(json(&tx)["noteAuthors"], serde_json::json!([null, null]));
        tx.authors.notes = vec![None, Some("Ana".into())];
        assert_eq!(json(&tx)["notes"], serde_json::json!(["one", "two"]));
        assert_eq!(json(&tx)["noteAuthors"], serde_json::json!([null, "Ana"]));
        let change = Change { author: Some("Ana".into()), ..change(ChangeKind::Untracked) };
        let line = HistoryLine::Change(change);
        let line = serde_json::to_value(HistoryView::from(&line)).unwrap();
        assert_eq!((&line["text"], &line["author"]), (&"polling stopped by Ana".into(), &"Ana".into()));
    }

    #[test]
    fn transaction_without_an_answer_has_every_key_in_order() {
        let tx = fixtures::transaction(1);
        let json = serde_json::to_string(&TransactionView::new(&tx, &[], at(10))).unwrap();
        let hash = format!("0x{:064x}", 1);
        let side = |id: &str, name: &str, hash: &str| {
            format!(
                r#"{{"chainId":"{id}","chainName":"{name}","transactionId":{hash},"blockNumber":null,"callEventStatus":null,"url":null,"callEventLog":[]}}"#
            )
        };
        let expected = [
            format!(r#"{{"transactionId":"{hash}","fromChainId":"42161","toChainId":"8453","quoteId":"quote-1""#),
            r#""requestId":null,"profile":"default","status":null,"rawStatus":null,"settled":false"#.into(),
            r#""untracked":false,"bridgeStatus":null,"gasStatus":null,"isGmp":null,"bridgeUrl":null"#.into(),
            format!(r#""from":{}"#, side("42161", "Arbitrum", &format!("\"{hash}\""))),
            format!(r#""to":{}"#, side("8453", "Base", "null")),
            r#""steps":[],"timeSpent":null,"error":null,"estimatedRouteDuration":null"#.into(),
            r#""submittedAt":"1970-01-01T00:00:00.000Z","submittedAtIsFirstSeen":true"#.into(),
            r#""deadline":"1970-01-01T00:15:00.000Z","overdue":false,"firstSeenAt":"1970-01-01T00:00:00.000Z""#.into(),
            r#""lastCheckedAt":null,"lastChangedAt":null,"settledAt":null,"durationIsUpperBound":null,"polls":0,"lastError":null"#.into(),
            r#""alerts":[],"ticket":null,"labels":[],"fromAddress":null"#.into(),
            r#""say":"We do not have the status of your transfer yet. We will check it and let you know.""#.into(),
            r#""do":"nothing yet; the first poll brings the status","verdict":"NOT CHECKED YET","routeKind":null"#
                .into(),
            r#""message":null,"warnings":[],"other":null,"notes":[],"noteAuthors":[],"requestIds":[],"onChain":null,"submittedAtIsFromChain":false,"schema":"hoptop/transaction/1"}"#.into(),
        ];
        assert_eq!(json, expected.join(","));
    }

    #[test]
    fn record_fills_the_fields() {
        let tx = full();
        let json = serde_json::to_value(TransactionView::new(&tx, &[alert(Rule::Refund), alert(Rule::Overdue)], at(9)));
        let json = json.unwrap();
        assert_eq!(json["status"], "ongoing");
        assert_eq!(json["requestId"], "r-1");
        assert_eq!(json["timeSpent"], serde_json::json!({"total": 45}));
        let step = serde_json::json!(
            {"chainId": "42161", "transactionId": null, "status": "success", "action": "call"}
        );
        assert_eq!(json["steps"], serde_json::json!([step]));
        assert_eq!(json["estimatedRouteDuration"].to_string(), "900");
        assert_eq!(
            (&json["submittedAtIsFirstSeen"], &json["deadline"]),
            (&false.into(), &"1970-01-01T00:29:00.000Z".into())
        );
        assert_eq!(json["alerts"], serde_json::json!(["overdue", "refund"]));
        assert_eq!((&json["to"]["blockNumber"], &json["gasStatus"]), (&7.into(), &"".into()));
        assert!(json["say"].as_str().unwrap().contains("00:29 UTC"), "{json}");
    }

    #[test]
    fn undocumented_status_is_unknown_with_the_raw_status() {
        let mut tx = fixtures::transaction(1);
        tx.apply(&fixtures::says(RouterStatus::Unknown("settling".into())), at(1));
        let json = serde_json::to_value(TransactionView::new(&tx, &[], at(2))).unwrap();
        assert_eq!((&json["status"], &json["rawStatus"]), (&"unknown".into(), &"settling".into()));
    }

    #[test]
    fn parked_transaction_has_the_reason_as_its_last_error() {
        let mut tx = fixtures::transaction(1);
        tx.apply(&fixtures::fails(RequestFailure::Rejected("quoteId is missing".into())), at(1));
        tx.state.last_error = None;
        let json = serde_json::to_value(TransactionView::new(&tx, &[], at(2))).unwrap();
        assert!(json["lastError"].as_str().unwrap().contains("quoteId is missing"), "{json}");
    }

    fn change(kind: ChangeKind) -> Change {
        Change {
            seq: 1,
            at: at(3),
            profile: "default".into(),
            transaction: None,
            kind,
            observation: None,
            author: None,
        }
    }

    #[test]
    fn event_starts_with_its_name_and_contains_the_transaction() {
        let tx = full();
        let line = event(
            &change(ChangeKind::StatusChanged { previous: None, current: "ongoing".into() }),
            Some((&tx, &[])),
            at(9),
        )
        .unwrap();
        assert!(line.starts_with(
            r#"{"event":"status_changed","at":"1970-01-01T00:00:03.000Z","current":"ongoing","previous":null,"#
        ));
        assert!(line.contains(r#","profile":"default","status":"ongoing","#) && !line.contains('\n'), "{line}");
        let raised = ChangeKind::AlertRaised { rule: Rule::Overdue, severity: Severity::Critical };
        let line = event(&change(raised), Some((&tx, &[])), at(9)).unwrap();
        assert!(line.contains(r#""rule":"overdue","severity":"critical","transactionId":"#), "{line}");
    }

    #[test]
    fn error_of_an_event_replaces_the_error_of_the_record() {
        let tx = full();
        let failed = change(ChangeKind::PollFailed { error: "connection refused".into() });
        let line = event(&failed, Some((&tx, &[])), at(9)).unwrap();
        assert_eq!(line.matches(r#""error":"#).count(), 1, "{line}");
        assert!(line.contains(r#""error":"connection refused""#), "{line}");
    }

    #[test]
    fn event_of_a_profile_has_the_profile_name() {
        let line = event(&change(ChangeKind::Unreachable { error: "refused".into() }), None, at(9)).unwrap();
        let expected = r#"{"event":"unreachable","at":"1970-01-01T00:00:03.000Z","profile":"default","error":"refused","schema":"hoptop/event/1"}"#;
        assert_eq!(line, expected);
    }

    #[test]
    fn whole_seconds_are_written_as_integers() {
        assert_eq!(seconds(Duration::from_secs(900)).to_string(), "900");
        assert_eq!(seconds(Duration::from_millis(1_500)).to_string(), "1.5");
    }
}
