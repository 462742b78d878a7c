//! `hoptop alerts`, `ack` and `unack`: the active alerts, and how they are handled. `snooze` has a file of its own.
//!
//! When an alert is raised and cleared is decided elsewhere; nothing here clears one.

use std::{cmp::Reverse, collections::BTreeSet};

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;
use serde::Serialize;

use super::{
    completions,
    context::Context,
    exit::Exit,
    table::{self, Column},
};
use crate::{
    domain::{
        alert::{Alert, AlertState, RESOLVED_FOR, Snooze, Subject},
        operation::{Edit, LocalEdit, Operation},
        row_text,
        span::{self, rfc3339},
        text,
    },
    store::{AlertQuery, Reader},
};

const COLUMNS: [Column; 7] =
    [("ALERT", true), ("SEV", false), ("RULE", false), ("TX", false), ("FOR", true), ("STATE", false), ("WHAT", false)];

/// For the help.
pub const EXAMPLES: &str = "\
Examples:
  hoptop alerts                                    what stands, each with its number
  hoptop ack 12 --note \"asked the provider\"        takes number 12 on
  hoptop ack 0x9f3c41                              all that stands for this transaction
  hoptop snooze 12 13 --for 30m                    lets them be for half an hour
  hoptop snooze 12 --until-change                  until its transaction's status changes
  hoptop unack 12                                  lets it stand as new again
  hoptop alerts --resolved                         what was cleared in the last 24 hours

What is acknowledged or snoozed stands on, and its transaction is listed behind the others.
An acknowledgement ends when the transaction's status changes, or graver things stand for it.
Raised three times within ten minutes an alert is flapping: its further comings and goings are no news.";

/// And how many of them at most.
const MOST_RESOLVED: usize = 1_000;

/// Show alerts.
#[derive(Args, Clone, Debug, Default)]
pub struct AlertsArgs {
    /// Print a JSON array, an alert a line
    #[arg(long)]
    pub json: bool,
    /// What was cleared in the last 24 hours instead, the newest first, at most 1,000
    #[arg(long)]
    pub resolved: bool,
}

/// Take alerts on.
#[derive(Args, Clone, Debug)]
pub struct AckArgs {
    /// Numbers of alerts, as `hoptop alerts` has them, or a transaction: all that stands for it
    #[arg(value_name = "ALERT", required = true, add = ArgValueCompleter::new(completions::alerts))]
    pub alerts: Vec<String>,
    /// A word on it
    #[arg(long)]
    pub note: Option<String>,
}

/// Take alerts on no more, or snooze them no more.
#[derive(Args, Clone, Debug)]
pub struct UnackArgs {
    /// Numbers of alerts, as `hoptop alerts` has them, or a transaction: all that stands for it
    #[arg(value_name = "ALERT", required = true, add = ArgValueCompleter::new(completions::alerts))]
    pub alerts: Vec<String>,
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
    message: &'a str,
    state: &'static str,
    snoozed_at: Option<String>,
    /// Of one that is snoozed until something changes `null`.
    snoozed_until: Option<String>,
    flapping: bool,
    cleared_at: Option<String>,
}

/// Prints what stands, or what was cleared lately.
pub fn alerts(args: &AlertsArgs, cx: &mut Context) -> Result<Exit> {
    let reader = cx.store.reader()?;
    let mut shown = match args.resolved {
        true => reader.alerts(AlertQuery::ClearedSince(cx.now.wall - RESOLVED_FOR, MOST_RESOLVED))?,
        false => reader.alerts(AlertQuery::Active)?,
    };
    if !args.json && !args.resolved {
        // The gravest first, and what somebody has taken on behind the others; among equals the oldest.
        let is_quiet = |alert: &Alert| alert.state(cx.now.wall) != AlertState::Firing;
        shown.sort_by_key(|alert| (is_quiet(alert), Reverse(alert.rule.severity())));
    }
    match (args.json, shown.is_empty()) {
        (true, _) => print_json(&shown, &reader, cx)?,
        (false, false) if cx.in_words => print_sentences(&shown, &reader, cx)?,
        (false, false) => print_table(&shown, &reader, cx)?,
        (false, true) if args.resolved => writeln!(cx.out, "nothing was cleared in the last 24 hours")?,
        (false, true) => writeln!(cx.out, "no active alerts")?,
    }
    Ok(Exit::Fine)
}

fn print_json(shown: &[Alert], reader: &Reader, cx: &mut Context) -> Result<()> {
    let mut before = "[\n";
    for alert in shown {
        write!(cx.out, "{before}{}", serde_json::to_string(&view(alert, hash(reader, alert)?, cx))?)?;
        before = ",\n";
    }
    Ok(writeln!(cx.out, "{}", if shown.is_empty() { "[]" } else { "\n]" })?)
}

fn print_table(shown: &[Alert], reader: &Reader, cx: &mut Context) -> Result<()> {
    let mut rows = Vec::new();
    for alert in shown {
        rows.push([
            alert.id.to_string(),
            row_text::mark(Some(alert.rule.severity())).to_owned(),
            alert.rule.name().to_owned(),
            about(reader, alert)?,
            stood(alert, cx),
            row_text::alert_state(alert, cx.now.wall, cx.zone),
            text::clean(&alert.message),
        ]);
    }
    Ok(table::write(COLUMNS, &rows, cx.out)?)
}

/// The same for who hears it.
fn print_sentences(shown: &[Alert], reader: &Reader, cx: &mut Context) -> Result<()> {
    for alert in shown {
        let (severity, rule, stood) = (alert.rule.severity().name(), alert.rule, stood(alert, cx));
        let state = row_text::alert_state(alert, cx.now.wall, cx.zone);
        let listed = match alert.subject {
            Subject::Transaction(row) => reader.listed(row)?,
            Subject::Profile => None,
        };
        let about = match listed {
            Some(listed) => row_text::name_in_words(&listed.transaction),
            None => about(reader, alert)?,
        };
        let (id, message) = (alert.id, text::clean(&alert.message));
        writeln!(cx.out, "alert {id}, {severity}: {rule} for {stood}, {state}. {about}. {message}")?;
    }
    Ok(())
}

/// For how long it has stood, or did.
fn stood(alert: &Alert, cx: &Context) -> String {
    span::short(span::between(alert.raised_at, alert.cleared_at.unwrap_or(cx.now.wall)))
}

/// What it is about: a hash, or a whole profile.
fn about(reader: &Reader, alert: &Alert) -> Result<String> {
    Ok(text::clean(&hash(reader, alert)?.unwrap_or_else(|| format!("profile {}", alert.profile))))
}

fn hash(reader: &Reader, alert: &Alert) -> Result<Option<String>> {
    let Subject::Transaction(row) = alert.subject else { return Ok(None) };
    Ok(reader.header(row)?.map(|tx| tx.params.transaction_id.to_string()))
}

fn view<'a>(alert: &'a Alert, transaction_id: Option<String>, cx: &Context) -> AlertView<'a> {
    let (acknowledged, snoozed) = (alert.acknowledged(), alert.snoozed());
    AlertView {
        alert: alert.id,
        rule: alert.rule.name(),
        severity: alert.rule.severity().name(),
        profile: &alert.profile,
        transaction_id,
        raised_at: rfc3339(alert.raised_at),
        acknowledged_at: acknowledged.map(|taken| rfc3339(taken.at)),
        note: acknowledged.and_then(|taken| taken.note.as_deref()),
        message: &alert.message,
        state: alert.state(cx.now.wall).name(),
        snoozed_at: snoozed.map(|snoozed| rfc3339(snoozed.at)),
        snoozed_until: snoozed.and_then(|snoozed| snoozed.until.moment()).map(rfc3339),
        flapping: alert.flapping,
        cleared_at: alert.cleared_at.map(rfc3339),
    }
}

/// Takes alerts on, all that are named or none.
pub fn ack(args: &AckArgs, cx: &mut Context) -> Result<Exit> {
    let note = args.note.as_deref().and_then(text::clean_or_none);
    change(&args.alerts, |alerts| Edit::Acknowledge { alerts, note }, cx)
}

/// Lets alerts stand as new again, whether they are acknowledged or snoozed: all that are named or none.
pub fn unack(args: &UnackArgs, cx: &mut Context) -> Result<Exit> {
    change(&args.alerts, |alerts| Edit::Unacknowledge { alerts }, cx)
}

/// Changes what is said of alerts, of all that are named or none, and prints how many there were.
pub(super) fn change(named: &[String], edit: impl FnOnce(Vec<i64>) -> LocalEdit, cx: &mut Context) -> Result<Exit> {
    let alerts = match numbers(named, cx)? {
        Ok(alerts) => alerts,
        Err(exit) => {
            writeln!(cx.err, "Nothing was changed")?;
            return Ok(exit);
        }
    };
    let (count, edit) = (alerts.len(), edit(alerts));
    let done = match &edit {
        Edit::Acknowledge { .. } => "acknowledged".to_owned(),
        Edit::Snooze { until: Snooze::Until(moment), .. } => {
            format!("snoozed until {}", span::clock_time(*moment, cx.now.wall, cx.zone))
        }
        Edit::Snooze { until: Snooze::Change, .. } => "snoozed until the status changes".to_owned(),
        _ => "not acknowledged or snoozed any more".to_owned(),
    };
    let edit = cx.store.reader()?.resolve(edit)?;
    let operation = Operation::Edit { profile: cx.profile.clone(), edit };
    let changed = cx.store.apply(operation, cx.now.wall).wait()?.changed()?;
    match count - changed {
        0 => writeln!(cx.out, "{changed} {done}")?,
        before => writeln!(cx.out, "{changed} {done}, {before} were so before")?,
    }
    Ok(Exit::Fine)
}

/// The numbers of what is named: an alert by its own, or a transaction, for all that stands for it. If there is nothing of the
/// kind that was printed, and the command ends so.
fn numbers(named: &[String], cx: &mut Context) -> Result<Result<Vec<i64>, Exit>> {
    let reader = cx.store.reader()?;
    let standing = reader.alerts(AlertQuery::Active)?;
    let mut numbers = BTreeSet::new();
    for name in named {
        // As many digits as a number can have are one, and no part of a hash: the alert may have been cleared a moment ago.
        if let Ok(alert) = name.parse::<i64>() {
            if standing.iter().all(|standing| standing.id != alert) {
                writeln!(cx.err, "no alert {alert} stands; `hoptop alerts` has the numbers")?;
                return Ok(Err(Exit::Error));
            }
            numbers.insert(alert);
            continue;
        }
        if name.chars().count() < 6 {
            let name = text::clean(name);
            writeln!(
                cx.err,
                "`{name}` is neither the number of an alert nor enough of a hash; `hoptop alerts` has both"
            )?;
            return Ok(Err(Exit::Usage));
        }
        let Some(tx) = cx.find(name)? else { return Ok(Err(Exit::Error)) };
        let alerts = reader.alerts(AlertQuery::OfTransaction(tx.id))?;
        if alerts.is_empty() {
            writeln!(cx.err, "no active alert for {}", tx.params.transaction_id.short(cx.ellipsis))?;
            return Ok(Err(Exit::Error));
        }
        numbers.extend(alerts.iter().map(|alert| alert.id));
    }
    Ok(Ok(numbers.into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use super::{super::context::testing::Bench, *};
    use crate::domain::{fixtures, ids::RowId, status::RouterStatus};

    #[test]
    fn an_alert_is_taken_on_until_the_status_changes() {
        let mut bench = Bench::new();
        let row = bench.track(fixtures::new(1));
        bench.hear(row, fixtures::says(RouterStatus::NeedsGas), 10);
        let ack_args = |alert: &str| AckArgs { alerts: vec![alert.into()], note: Some("asked".into()) };
        let (_, err, exit) = bench.run(|cx| ack(&ack_args("9"), cx).unwrap());
        assert!(err.starts_with("no alert 9 stands") && exit == Exit::Error, "{err}");
        let (out, ..) = bench.run(|cx| ack(&ack_args(&format!("0x{:064x}", 1)), cx).unwrap());
        assert_eq!(out, "1 acknowledged\n");
        let acked = crate::domain::filter::Filter::parse("is:acked").unwrap();
        let count = |bench: &Bench| {
            bench.store.reader().unwrap().listing(&acked, chrono::DateTime::UNIX_EPOCH).count().unwrap()
        };
        assert_eq!(count(&bench), 1);
        let (out, ..) = bench.run(|cx| alerts(&AlertsArgs::default(), cx).unwrap());
        assert!(out.contains("needs_gas") && out.contains("ago: asked"), "{out}");
        let (out, ..) = bench.run(|cx| super::super::untrack::undo(&Default::default(), cx).unwrap());
        assert_eq!((out.as_str(), count(&bench)), ("undone: acknowledge 1 alert (0x0000…0001)\n", 0));
        bench.run(|cx| ack(&ack_args("1"), cx).unwrap());
        bench.hear(row, fixtures::says(RouterStatus::Ongoing), 20);
        assert_eq!(count(&bench), 0);
    }

    #[test]
    fn the_gravest_come_first_what_is_taken_on_last_and_a_transaction_stands_for_what_stands_for_it() {
        let mut bench = Bench::new();
        let says = [RouterStatus::Refund, RouterStatus::NeedsGas, RouterStatus::PartialSuccess, RouterStatus::NeedsGas];
        for (number, status) in (1..).zip(says) {
            bench.hear(bench.track(fixtures::new(number)), fixtures::says(status), 10);
        }
        let named = AckArgs { alerts: vec![format!("0x{:064x}", 3), "3".into()], note: None };
        let (out, ..) = bench.run(|cx| ack(&named, cx).unwrap());
        assert_eq!(out, "1 acknowledged\n");
        let named = |alert: &str| AckArgs { alerts: vec![alert.into()], note: None };
        let (_, err, exit) = bench.run(|cx| ack(&named("000000"), cx).unwrap());
        assert_eq!(
            (err.as_str(), exit),
            ("no alert 0 stands; `hoptop alerts` has the numbers\nNothing was changed\n", Exit::Error),
            "though every hash has these digits"
        );
        let (_, err, exit) = bench.run(|cx| ack(&named("0000004000"), cx).unwrap());
        assert!(err.starts_with("no alert 4000 stands") && exit == Exit::Error, "{err}");
        let (_, err, exit) = bench.run(|cx| ack(&named("foo"), cx).unwrap());
        assert!(err.starts_with("`foo` is neither the number") && exit == Exit::Usage, "{err}");
        bench.in_words = true;
        let (out, ..) = bench.run(|cx| alerts(&AlertsArgs::default(), cx).unwrap());
        let starts = [
            "alert 2, warning: needs_gas for 50s, firing. 0x0000...0002 Arbitrum to Base. ",
            "alert 4, warning: needs_gas",
            "alert 1, info: refund",
            "alert 3, critical: partial_success for 50s, acknowledged ",
        ];
        for (line, start) in out.lines().zip(starts) {
            assert!(line.starts_with(start), "{out}");
        }
        assert_eq!(out.lines().count(), 4);
        bench.hear(RowId(1), fixtures::says(RouterStatus::Success), 20);
        let settled = UnackArgs { alerts: vec![format!("0x{:064x}", 1)] };
        let (out, err, exit) = bench.run(|cx| unack(&settled, cx).unwrap());
        assert_eq!((out.as_str(), exit), ("", Exit::Error));
        assert_eq!(err, "no active alert for 0x0000…0001\nNothing was changed\n");
    }
}
