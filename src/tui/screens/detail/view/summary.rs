//! The summary: source and destination, the progress, the links, and every fact that isn't shown elsewhere.

use ratatui::text::Line;

use super::{
    legs,
    lines::{heading, labelled, table},
    timeline,
};
use crate::{
    domain::{
        alert::Alert,
        duration_stats,
        ids::TxHash,
        record::StatusRecord,
        route::{self, RouteKind},
        text,
        transaction::Transaction,
    },
    presentation::row_text,
    tui::draw::DrawContext,
};

/// Returns a transaction's two ends and its timeline.
pub(crate) fn overview(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let mut lines = legs::lines(context, tx, columns);
    lines.extend(timeline::lines(context, tx, columns));
    lines
}

pub(crate) fn lines(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let mut lines = overview(context, tx, columns);
    lines.push(Line::default());
    lines.extend(progress(context, tx, columns));
    lines.extend(links(context, tx, columns));
    lines.extend(facts(context, tx, columns));
    lines
}

/// Returns the progress: the service's values, the observed durations, the forecast.
fn progress(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let state = &tx.state;
    let record = tx.record.as_ref();
    let status = row_text::transaction_status_cell(tx, context.theme.glyphs());
    let bridge = record.and_then(|record| record.bridge_status.as_deref()).filter(|status| !status.is_empty());
    let bridge = bridge.map_or_else(String::new, |status| format!(", bridge says: {}", row_text::in_words(status)));
    let history = context.model.selected_history();
    let until = state.settled_at.unwrap_or(context.now.wall);
    let gas = record.map(|record| match record.gas_status.as_deref() {
        None | Some("") => "(empty)".to_owned(),
        Some(gas) => row_text::in_words(gas),
    });
    let facts = [
        ("status", Some(format!("{status}{bridge}"))),
        ("service", state.message.clone()),
        ("gas", gas),
        ("error", record.map(|record| record.error.clone().unwrap_or_else(|| "none".into()))),
        // The error of a rejected request is shown with the verdict.
        ("last try", state.last_error.as_ref().filter(|_| !tx.is_parked()).map(|error| last_try(context, tx, error))),
        ("observed", history.and_then(|history| history.observed(until))),
        ("timeSpent", record.map(time_spent)),
        ("indexing", duration_stats::indexing_sentence(tx)),
        (
            "forecast",
            history.and_then(|history| history.past.forecast_text(&context.model.evidence(tx), tx, context.now.wall)),
        ),
        ("type", route_text(tx)),
        ("requestId", tx.request_id().map(str::to_owned)),
        ("quoteId", Some(tx.params.quote_id.clone())),
    ];
    table(facts, columns, context.theme.dim())
}

fn facts(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let record = tx.record.as_ref();
    let joined = |parts: &[String], between| Some(parts.join(between)).filter(|text| !text.is_empty());
    let alerts: Vec<_> = context.model.alerts_of(tx.id).iter().map(|alert| alert_text(context, alert)).collect();
    let facts = [
        ("hash", Some(tx.params.transaction_id.to_string())),
        ("refund to", tx.params.from_address.clone()),
        ("id", record_id(tx)),
        ("integrator", record.and_then(|record| record.integrator.clone())),
        ("tracked by", tx.authors.tracked.as_deref().map(text::clean)),
        ("labels", joined(&tx.labels, ", ")),
        ("notes", notes(tx)),
        ("alerts", joined(&alerts, "; ")),
        ("warning", tx.damage_warning().map(str::to_owned)),
        ("warning", route::contradiction(tx)),
        ("warning", record.and_then(|record| joined(&record.warnings, "; "))),
        ("other", record.and_then(|record| joined(&undocumented(record), "; "))),
    ];
    let mut lines = vec![Line::default(), heading(context, "FACTS", "", columns)];
    lines.extend(table(facts, columns, context.theme.dim()));
    lines
}

/// Returns an alert's severity and rule; for a handled alert also how it was handled.
fn alert_text(context: &DrawContext<'_>, alert: &Alert) -> String {
    let name = format!("{} {}", row_text::mark(Some(alert.rule.severity())), alert.rule.label());
    match alert.handling {
        None => name,
        Some(_) => format!("{name}, {}", row_text::alert_state(alert, context.now.wall, context.model.setting.zone)),
    }
}

/// Returns the newest note, and the number of notes.
fn notes(tx: &Transaction) -> Option<String> {
    let newest = tx.attributed_notes().next_back()?;
    Some(match tx.notes.len() {
        1 => newest,
        count => format!("{newest} (the newest of {count})"),
    })
}

/// Returns the last failure. Adds that hoptop retries, if a poller is running and the transaction is still polled.
fn last_try(context: &DrawContext<'_>, tx: &Transaction, error: &str) -> String {
    let is_retried = tx.needs_polling() && context.model.live_poller(context.now.wall).is_some();
    if is_retried { format!("{error} (hoptop retries)") } else { error.to_owned() }
}

/// Returns the kind of the route and whether it has a contract call, as far as these are known.
fn route_text(tx: &Transaction) -> Option<String> {
    let is_gmp = tx.record.as_ref().and_then(|record| record.is_gmp);
    let call = is_gmp.map(|is_gmp| if is_gmp { "contract call, GMP" } else { "no contract call" });
    match (route::kind(tx).map(RouteKind::transfer_type), call) {
        (Some(kind), Some(call)) => Some(format!("{kind} ({call})")),
        (Some(kind), None) => Some(kind.to_owned()),
        (None, Some(call)) => Some(format!("transfer ({call})")),
        (None, None) => None,
    }
}

/// Returns the record's `id`, if it isn't the hash.
fn record_id(tx: &Transaction) -> Option<String> {
    let id = tx.record.as_ref()?.id.clone()?;
    (TxHash::new(id.clone()).key() != tx.params.transaction_id.key()).then_some(id)
}

/// Returns the record's undocumented values: event logs and other keys.
fn undocumented(record: &StatusRecord) -> Vec<String> {
    let logs = [("source", &record.from), ("destination", &record.to)].into_iter();
    let logs = logs.filter(|(_, side)| !side.call_event_log.is_empty());
    let logs = logs.map(|(end, side)| format!("{end} event log {}", side.call_event_log.join(" ")));
    logs.chain(record.other.iter().map(|(key, value)| format!("{key} = {value}"))).collect()
}

fn time_spent(record: &StatusRecord) -> String {
    let parts: Vec<_> =
        record.time_spent.iter().map(|(key, value)| format!("{} {value}", row_text::in_words(key))).collect();
    let times = Some(parts.join(", ")).filter(|times| !times.is_empty());
    times.map_or_else(|| "none reported".into(), |times| format!("{times} (as reported; unit not documented)"))
}

fn links(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let ends = route::ends(tx);
    let bridge = tx.record.as_ref().and_then(|record| record.bridge_url.as_deref());
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
