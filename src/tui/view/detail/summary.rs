//! The summary: both ends, how far it is in the service's words and in ours, and every fact that isn't shown elsewhere.

use ratatui::text::Line;

use super::{DrawContext, heading, labelled, legs, table};
use crate::domain::{
    alert::Alert,
    duration_stats,
    ids::TxHash,
    record::StatusRecord,
    route::{self, RouteKind},
    row_text,
    transaction::Transaction,
};

pub(super) fn lines(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let mut lines = legs::lines(context, tx, columns);
    lines.extend(progress(context, tx, columns));
    lines.extend(links(context, tx, columns));
    lines.extend(facts(context, tx, columns));
    lines
}

/// How far it is, in the service's words and in ours.
fn progress(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let state = &tx.state;
    let record = state.record.as_ref();
    let status = row_text::status_of(tx);
    let bridge = record.and_then(|record| said(record.bridge_status.as_deref()));
    let bridge = bridge.map_or_else(String::new, |said| format!(", bridge says: {said}"));
    let history = context.model.selected_history();
    let until = state.settled_at.unwrap_or(context.now.wall);
    let gas = record.map(|record| said(record.gas_status.as_deref()).unwrap_or_else(|| "(empty)".into()));
    let facts = [
        ("status", Some(format!("{status}{bridge}"))),
        ("service", state.message.clone()),
        ("gas", gas),
        ("error", record.map(|record| record.error.clone().unwrap_or_else(|| "none".into()))),
        // Of one that was rejected it stands above, by the verdict.
        ("last try", state.last_error.as_ref().filter(|_| !tx.is_parked()).map(|error| last_try(tx, error))),
        ("observed", history.and_then(|history| history.observed(until))),
        ("timeSpent", record.map(time_spent)),
        ("indexing", duration_stats::indexing_sentence(tx)),
        ("forecast", history.and_then(|history| history.past.sentence(tx, context.now.wall))),
        ("type", route_words(tx)),
        ("requestId", tx.request_id().map(str::to_owned)),
        ("quoteId", Some(tx.params.quote_id.clone())),
    ];
    table(facts, columns, context.theme.dim())
}

fn facts(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let record = tx.state.record.as_ref();
    let joined = |parts: &[String], between| Some(parts.join(between)).filter(|text| !text.is_empty());
    let alerts: Vec<_> = context.model.alerts_of(tx.id).iter().map(|alert| stands(context, alert)).collect();
    let facts = [
        ("hash", Some(tx.params.transaction_id.to_string())),
        ("refund to", tx.params.from_address.clone()),
        ("id", own_id(tx)),
        ("integrator", record.and_then(|record| record.integrator.clone())),
        ("labels", joined(&tx.labels, ", ")),
        ("notes", notes(tx)),
        ("alerts", joined(&alerts, "; ")),
        ("warning", route::contradiction(tx)),
        ("warning", record.and_then(|record| joined(&record.warnings, "; "))),
        ("other", record.and_then(|record| joined(&others(record), "; "))),
    ];
    let mut lines = vec![Line::default(), heading(context, "FACTS", "", columns)];
    lines.extend(table(facts, columns, context.theme.dim()));
    lines
}

/// An alert, and what was said of it.
fn stands(context: &DrawContext<'_>, alert: &Alert) -> String {
    let name = format!("{} {}", row_text::mark(Some(alert.rule.severity())), alert.rule);
    match alert.handling {
        None => name,
        Some(_) => format!("{name}, {}", row_text::alert_state(alert, context.now.wall, context.model.setting.zone)),
    }
}

/// The newest note, and how many there are.
fn notes(tx: &Transaction) -> Option<String> {
    let newest = tx.notes.last()?;
    Some(match tx.notes.len() {
        1 => newest.clone(),
        count => format!("{newest} (the newest of {count})"),
    })
}

/// What the service said, if it said anything.
fn said(text: Option<&str>) -> Option<String> {
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The last failure, and whether anybody has to do something about it.
fn last_try(tx: &Transaction, error: &str) -> String {
    if tx.wants_polling() { format!("{error} (hoptop asks again)") } else { error.to_owned() }
}

/// The kind of the route, and whether it carries a message; as far as either is known.
fn route_words(tx: &Transaction) -> Option<String> {
    let is_gmp = tx.state.record.as_ref().and_then(|record| record.is_gmp);
    let call = is_gmp.map(|is_gmp| if is_gmp { "with a contract call (GMP)" } else { "no contract call" });
    let parts: Vec<_> = [route::kind(tx).map(RouteKind::words), call].into_iter().flatten().collect();
    Some(parts.join(", ")).filter(|words| !words.is_empty())
}

/// The record's `id`, where it isn't just the hash.
fn own_id(tx: &Transaction) -> Option<String> {
    let id = tx.state.record.as_ref()?.id.clone()?;
    (TxHash::new(id.clone()).key() != tx.params.transaction_id.key()).then_some(id)
}

/// What the service said that nobody documents: events' logs, and keys.
fn others(record: &StatusRecord) -> Vec<String> {
    let logs = [("source", &record.from), ("destination", &record.to)].into_iter();
    let logs = logs.filter(|(_, side)| !side.call_event_log.is_empty());
    let logs = logs.map(|(end, side)| format!("{end} event log {}", side.call_event_log.join(" ")));
    logs.chain(record.other.iter().map(|(key, value)| format!("{key} = {value}"))).collect()
}

fn time_spent(record: &StatusRecord) -> String {
    let times = record.time_spent_words();
    times.map_or_else(|| "none reported".into(), |times| format!("{times} (as reported; unit not documented)"))
}

fn links(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let ends = route::ends(tx);
    let bridge = tx.state.record.as_ref().and_then(|record| record.bridge_url.as_deref());
    let links = [
        ("bridge", bridge.filter(|link| !link.is_empty())),
        ("source", ends.source.url),
        ("dest", ends.destination.url.or(ends.hop.and_then(|hop| hop.url))),
    ];
    let link = |(label, link): (&str, Option<&str>)| {
        labelled(&format!("  {label}"), link.unwrap_or("(none)"), columns, context.theme.dim())
    };
    let mut lines = vec![Line::default(), heading(context, "LINKS", "", columns)];
    lines.extend(links.into_iter().flat_map(link));
    lines
}
