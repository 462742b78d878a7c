//! `hoptop alerts`, `ack` and `unack`: what stands as an alert, and who has taken it on.
//!
//! When an alert is raised and cleared is decided elsewhere; nothing here clears one.

use clap::Args;
use color_eyre::eyre::Result;
use serde::Serialize;

use super::{
    context::Context,
    exit::Exit,
    table::{self, Column},
};
use crate::{
    domain::{
        alert::{Alert, Subject},
        glance,
        span::{self, rfc3339},
        text,
    },
    store::{Edit, Reader},
};

const COLUMNS: [Column; 7] = [
    ("ALERT", true),
    ("SEV", false),
    ("RULE", false),
    ("TX", false),
    ("FOR", true),
    ("ACKNOWLEDGED", false),
    ("WHAT", false),
];

/// For the help.
pub const EXAMPLES: &str = "\
Examples:
  hoptop alerts                                    what stands, the oldest first, each with its number
  hoptop ack 12 --note \"asked the provider\"        takes number 12 on
  hoptop unack 12                                  lets it stand as new again

An acknowledgement ends when the transaction's status changes.";

/// Show alerts.
#[derive(Args, Clone, Debug, Default)]
pub struct AlertsArgs {
    /// Print a JSON array, an alert a line
    #[arg(long)]
    pub json: bool,
}

/// Take alerts on.
#[derive(Args, Clone, Debug)]
pub struct AckArgs {
    /// Numbers of alerts, as `hoptop alerts` has them
    #[arg(value_name = "ALERT", required = true)]
    pub alerts: Vec<i64>,
    /// A word on it
    #[arg(long)]
    pub note: Option<String>,
}

/// Take alerts on no more.
#[derive(Args, Clone, Debug)]
pub struct UnackArgs {
    /// Numbers of alerts, as `hoptop alerts` has them
    #[arg(value_name = "ALERT", required = true)]
    pub alerts: Vec<i64>,
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
}

/// Prints what stands.
pub fn alerts(args: &AlertsArgs, cx: &mut Context) -> Result<Exit> {
    let reader = cx.store.reader()?;
    let standing = reader.alerts()?;
    if args.json {
        let mut before = "[\n";
        for alert in &standing {
            write!(cx.out, "{before}{}", serde_json::to_string(&view(alert, hash(&reader, alert)?))?)?;
            before = ",\n";
        }
        writeln!(cx.out, "{}", if standing.is_empty() { "[]" } else { "\n]" })?;
        return Ok(Exit::Fine);
    }
    if standing.is_empty() {
        writeln!(cx.out, "nothing stands as an alert")?;
        return Ok(Exit::Fine);
    }
    let mut rows = Vec::new();
    for alert in &standing {
        let transaction = hash(&reader, alert)?.unwrap_or_else(|| format!("profile {}", alert.profile));
        let acknowledged = alert.acknowledged.as_ref().map(|taken| {
            let note = taken.note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
            format!("{} ago{note}", span::long(span::between(taken.at, cx.now.wall)))
        });
        rows.push([
            alert.id.to_string(),
            glance::mark(Some(alert.rule.severity())).to_owned(),
            alert.rule.name().to_owned(),
            text::clean(&transaction),
            span::short(span::between(alert.raised_at, cx.now.wall)),
            text::clean(&acknowledged.unwrap_or_else(|| "-".into())),
            text::clean(&alert.message),
        ]);
    }
    table::write(COLUMNS, &rows, cx.out)?;
    Ok(Exit::Fine)
}

fn hash(reader: &Reader, alert: &Alert) -> Result<Option<String>> {
    let Subject::Transaction(row) = alert.subject else { return Ok(None) };
    Ok(reader.transaction(row)?.map(|tx| tx.told.transaction_id.to_string()))
}

fn view(alert: &Alert, transaction_id: Option<String>) -> AlertView<'_> {
    AlertView {
        alert: alert.id,
        rule: alert.rule.name(),
        severity: alert.rule.severity().name(),
        profile: &alert.profile,
        transaction_id,
        raised_at: rfc3339(alert.raised_at),
        acknowledged_at: alert.acknowledged.as_ref().map(|taken| rfc3339(taken.at)),
        note: alert.acknowledged.as_ref().and_then(|taken| taken.note.as_deref()),
        message: &alert.message,
    }
}

/// Takes alerts on, all that are named or none.
pub fn ack(args: &AckArgs, cx: &mut Context) -> Result<Exit> {
    let note = args.note.as_deref().and_then(text::clean_or_none);
    change(&args.alerts, Edit::Acknowledge { alerts: args.alerts.clone(), note }, cx)
}

/// Lets alerts stand as new again, all that are named or none.
pub fn unack(args: &UnackArgs, cx: &mut Context) -> Result<Exit> {
    change(&args.alerts, Edit::Unacknowledge(args.alerts.clone()), cx)
}

fn change(named: &[i64], edit: Edit, cx: &mut Context) -> Result<Exit> {
    let standing = cx.store.reader()?.alerts()?;
    if let Some(missing) = named.iter().find(|id| standing.iter().all(|alert| alert.id != **id)) {
        writeln!(cx.err, "no alert {missing} stands; `hoptop alerts` has the numbers. Nothing was changed")?;
        return Ok(Exit::Error);
    }
    let done = if matches!(edit, Edit::Acknowledge { .. }) { "acknowledged" } else { "not acknowledged any more" };
    let changed = cx.store.edit(&cx.profile, edit, cx.now.wall).wait()?;
    match named.len() - changed {
        0 => writeln!(cx.out, "{changed} {done}")?,
        before => writeln!(cx.out, "{changed} {done}, {before} were so before")?,
    }
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::{super::context::testing::Bench, *};
    use crate::domain::{fixtures, status::RouterStatus};

    #[test]
    fn an_alert_is_taken_on_until_the_status_changes() {
        let mut bench = Bench::new();
        let row = bench.track(fixtures::new(1));
        bench.hear(row, fixtures::says(RouterStatus::NeedsGas), 10);
        let ack_args = |alert| AckArgs { alerts: vec![alert], note: Some("asked".into()) };
        let (_, err, exit) = bench.run(|cx| ack(&ack_args(9), cx).unwrap());
        assert!(err.starts_with("no alert 9 stands") && exit == Exit::Error, "{err}");
        let (out, ..) = bench.run(|cx| ack(&ack_args(1), cx).unwrap());
        assert_eq!(out, "1 acknowledged\n");
        let acked = crate::domain::filter::Filter::parse("is:acked").unwrap();
        let count = |bench: &Bench| {
            bench.store.reader().unwrap().listing(&acked, chrono::DateTime::UNIX_EPOCH).count().unwrap()
        };
        assert_eq!(count(&bench), 1);
        let (out, ..) = bench.run(|cx| alerts(&AlertsArgs::default(), cx).unwrap());
        assert!(out.contains("needs_gas") && out.contains("ago: asked"), "{out}");
        let (out, ..) = bench.run(|cx| super::super::untrack::undo(&Default::default(), cx).unwrap());
        assert_eq!((out.as_str(), count(&bench)), ("taken back: acknowledge 1 alert\n", 0));
        bench.run(|cx| ack(&ack_args(1), cx).unwrap());
        bench.hear(row, fixtures::says(RouterStatus::Ongoing), 20);
        assert_eq!(count(&bench), 0);
    }
}
