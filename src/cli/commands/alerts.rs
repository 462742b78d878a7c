//! `hoptop alerts`: lists the active alerts and their state, or the alerts that were cleared recently.
//!
//! The command must never raise or clear an alert.

use std::cmp::Reverse;

use chrono::{DateTime, Utc};
use clap::Args;
use color_eyre::eyre::Result;
use serde::Serialize;

use crate::{
    cli::{
        context::Context,
        output::{
            json::JsonList,
            schema::Schema,
            table::{self, TableColumn},
        },
    },
    domain::{
        alert::{Alert, AlertState, Handling, RESOLVED_FOR, SnoozeEnd},
        span::rfc3339,
        text,
        transaction::TransactionHeader,
    },
    presentation::row_text,
    runtime::exit::Exit,
    store::{AlertQuery, Reader},
};

const COLUMNS: [TableColumn; 7] =
    [("ALERT", true), ("SEV", false), ("RULE", false), ("TX", false), ("FOR", true), ("STATE", false), ("WHAT", false)];

/// The text below the options in the help of `alerts`, `ack` and `unack`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # List the active alerts with their numbers
  hoptop alerts
  # Acknowledge alert 12
  hoptop ack 12 --note \"asked the provider\"
  # Acknowledge all active alerts of this transaction
  hoptop ack 0x9f3c41
  # Snooze alerts 12 and 13 for half an hour
  hoptop snooze 12 13 --for 30m
  # Snooze until the status of its transaction changes
  hoptop snooze 12 --until-change
  # End the acknowledgement or snooze: the alert fires again
  hoptop unack 12
  # List the alerts resolved in the last 24 hours
  hoptop alerts --resolved

An acknowledged or snoozed alert stays active; its transaction is listed after those with firing alerts. An \
acknowledgement ends when the transaction's status changes, or a more severe alert is raised for it. An alert that \
is raised three times within ten minutes is flapping: no further notifications are sent until it has been quiet for \
ten minutes.";

/// The maximum number of resolved alerts in a list.
const MAX_RESOLVED: usize = 1_000;

/// The arguments of `hoptop alerts`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AlertsArgs {
    /// Print a JSON array with one alert per line
    #[arg(long)]
    pub json: bool,
    /// List alerts resolved in the last 24 hours, newest first, at most 1,000
    #[arg(long)]
    pub resolved: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AlertView<'a> {
    alert: i64,
    rule: &'static str,
    severity: &'static str,
    profile: &'a str,
    transaction_id: Option<String>,
    raised_at: String,
    acknowledged_at: Option<String>,
    note: Option<&'a str>,
    /// The person who acknowledged or snoozed the alert; `null` if nobody did, or the person set no name.
    author: Option<&'a str>,
    message: &'a str,
    state: &'static str,
    snoozed_at: Option<String>,
    /// `null` if the alert is snoozed until its transaction's status changes.
    snoozed_until: Option<String>,
    flapping: bool,
    cleared_at: Option<String>,
    schema: Schema,
}

/// Prints the active alerts, or the alerts that were cleared recently.
pub(crate) fn alerts(args: &AlertsArgs, cx: &mut Context) -> Result<Exit> {
    let reader = cx.store.reader()?;
    let mut shown = match args.resolved {
        true => reader.alerts(AlertQuery::ClearedSince(cx.now.wall - RESOLVED_FOR, MAX_RESOLVED))?,
        false => reader.alerts(AlertQuery::Active)?,
    };
    if !args.json && !args.resolved {
        // Firing alerts first, then by severity; equal alerts stay in the order of the reader, oldest first.
        let is_handled = |alert: &Alert| alert.state(cx.now.wall) != AlertState::Firing;
        shown.sort_by_key(|alert| (is_handled(alert), Reverse(alert.rule.severity())));
    }
    match (args.json, shown.is_empty()) {
        (true, _) => print_json(&shown, &reader, cx)?,
        (false, false) if cx.is_in_words => print_sentences(&shown, &reader, cx)?,
        (false, false) => print_table(&shown, &reader, cx)?,
        (false, true) if args.resolved => writeln!(cx.out, "no alert was resolved in the last 24 hours")?,
        (false, true) => writeln!(cx.out, "no active alerts")?,
    }
    Ok(Exit::Success)
}

fn print_json(shown: &[Alert], reader: &Reader, cx: &mut Context) -> Result<()> {
    let now = cx.now.wall;
    let mut list = JsonList::begin(cx.out);
    for alert in shown {
        let hash = header(reader, alert)?.map(|tx| tx.params.transaction_id.to_string());
        list.push(&alert_view(alert, hash, now))?;
    }
    Ok(list.end()?)
}

fn print_table(shown: &[Alert], reader: &Reader, cx: &mut Context) -> Result<()> {
    let mut rows = Vec::new();
    for alert in shown {
        let tx = header(reader, alert)?;
        rows.push([
            alert.id.to_string(),
            row_text::mark(Some(alert.rule.severity())).to_owned(),
            alert.rule.name().to_owned(),
            subject_text(alert, tx.as_ref()),
            row_text::condition_lasted(alert, tx.as_ref(), cx.now.wall),
            row_text::alert_state(alert, cx.now.wall, cx.zone),
            text::clean(&alert.message),
        ]);
    }
    Ok(table::write(COLUMNS, rows, cx.out)?)
}

/// Prints one sentence per alert, for a screen reader.
fn print_sentences(shown: &[Alert], reader: &Reader, cx: &mut Context) -> Result<()> {
    for alert in shown {
        let tx = header(reader, alert)?;
        let (severity, rule) = (alert.rule.severity().name(), alert.rule);
        let lasted = row_text::condition_lasted(alert, tx.as_ref(), cx.now.wall);
        let state = row_text::alert_state(alert, cx.now.wall, cx.zone);
        let subject = tx.as_ref().map_or_else(|| subject_text(alert, None), row_text::name_in_words);
        let (id, message) = (alert.id, text::clean(&alert.message));
        writeln!(cx.out, "alert {id}, {severity}: {rule} for {lasted}, {state}. {subject}. {message}")?;
    }
    Ok(())
}

/// Returns the subject of the alert as text: the hash of its transaction, or its profile.
fn subject_text(alert: &Alert, tx: Option<&TransactionHeader>) -> String {
    let hash = tx.map(|tx| tx.params.transaction_id.to_string());
    text::clean(&hash.unwrap_or_else(|| format!("profile {}", alert.profile)))
}

/// Returns the transaction of an alert; `None` for an alert of a profile.
fn header(reader: &Reader, alert: &Alert) -> Result<Option<TransactionHeader>> {
    Ok(alert.transaction.map_or(Ok(None), |row| reader.header(row))?)
}

fn alert_view<'a>(alert: &'a Alert, transaction_id: Option<String>, now: DateTime<Utc>) -> AlertView<'a> {
    let (acknowledged, snoozed) = (alert.acknowledged(), alert.snoozed());
    AlertView {
        alert: alert.id,
        rule: alert.rule.name(),
        severity: alert.rule.severity().name(),
        profile: &alert.profile,
        transaction_id,
        raised_at: rfc3339(alert.raised_at),
        acknowledged_at: acknowledged.map(|acknowledged| rfc3339(acknowledged.at)),
        note: acknowledged.and_then(Handling::note),
        author: alert.handling.as_ref().and_then(Handling::author),
        message: &alert.message,
        state: alert.state(now).name(),
        snoozed_at: snoozed.map(|snoozed| rfc3339(snoozed.at)),
        snoozed_until: snoozed.and_then(Handling::snooze).and_then(SnoozeEnd::moment).map(rfc3339),
        flapping: alert.is_flapping,
        cleared_at: alert.cleared_at.map(rfc3339),
        schema: Schema::Alert,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::context::testing::{CommandFixture, at},
        domain::{fixtures, operation::LocalEdit, status::RouterStatus},
        store::testing,
    };

    #[test]
    fn alert_names_the_person_who_handled_it() {
        let mut fixture = CommandFixture::new();
        for number in 1..3 {
            fixture.observe(fixture.track(fixtures::new(number)), fixtures::says(RouterStatus::NeedsGas), 10);
        }
        let edit = LocalEdit::Acknowledge { alerts: vec![2], note: None };
        testing::edit(&fixture.store.clone().with_author(Some("Ana".into())), "default", edit, at(20));
        let (out, ..) = fixture.run(|cx| alerts(&AlertsArgs::default(), cx).unwrap());
        assert!(out.contains("acknowledged by Ana, 40s ago"), "{out}");
        let (out, ..) = fixture.run(|cx| alerts(&AlertsArgs { json: true, ..AlertsArgs::default() }, cx).unwrap());
        let count = |text: &str| out.matches(text).count();
        assert_eq!((count("\"author\":null"), count("\"author\":\"Ana\"")), (1, 1), "{out}");
    }

    #[test]
    fn most_severe_alerts_come_first_and_acknowledged_alerts_last() {
        let mut fixture = CommandFixture::new();
        let says = [RouterStatus::Refund, RouterStatus::NeedsGas, RouterStatus::PartialSuccess, RouterStatus::NeedsGas];
        for (number, status) in (1..).zip(says) {
            fixture.observe(fixture.track(fixtures::new(number)), fixtures::says(status), 10);
        }
        testing::edit(&fixture.store, "default", LocalEdit::Acknowledge { alerts: vec![3], note: None }, at(60));
        fixture.is_in_words = true;
        let (out, ..) = fixture.run(|cx| alerts(&AlertsArgs::default(), cx).unwrap());
        let starts = [
            "alert 2, warning: needs_gas for 50s+, firing. 0x0000...0002 Arbitrum to Base. ",
            "alert 4, warning: needs_gas",
            "alert 1, info: refund",
            "alert 3, critical: partial_success for 50s+, acknowledged ",
        ];
        for (line, start) in out.lines().zip(starts) {
            assert!(line.starts_with(start), "{out}");
        }
        assert_eq!(out.lines().count(), 4);
    }
}
