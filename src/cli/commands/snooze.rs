//! `hoptop snooze`: snoozes alerts for a while, or until the status changes.
//!
//! The command must never snooze an alert without an end: each snooze ends at a moment or with a change.

use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;

use crate::{
    cli::{completers, context::Context, handle_alerts::handle_alerts},
    domain::{
        alert::SnoozeEnd,
        operation::Edit,
        span::{self, rfc3339},
    },
    runtime::exit::Exit,
};

/// The duration of a snooze without `--for`, `--until` and `--until-change`.
const DEFAULT_DURATION: Duration = Duration::from_secs(3_600);

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Snooze alert 12 for an hour
  hoptop snooze 12
  # Snooze alerts 12 and 13 for half an hour
  hoptop snooze 12 13 --for 30m
  # Snooze until that moment
  hoptop snooze 12 --until 2026-11-20T13:48:00Z
  # Snooze until the status of its transaction changes
  hoptop snooze 12 --until-change
  # End the snooze: the alert fires again
  hoptop unack 12

A snoozed alert stays active (`is:snoozed`); its transaction is listed after those with firing alerts.";

/// The arguments of `hoptop snooze`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SnoozeArgs {
    /// Alert numbers from `hoptop alerts`, or transactions (all active alerts of each)
    #[arg(value_name = "ALERT", required = true, add = ArgValueCompleter::new(completers::alerts))]
    pub alerts: Vec<String>,
    /// Snooze for this long: 90s, 30m, 2h [default: 1h]
    #[arg(long = "for", value_name = "DUR", value_parser = span::parse, group = "end")]
    pub duration: Option<Duration>,
    /// Snooze until this moment: RFC 3339 or Unix seconds
    #[arg(long, value_name = "TIME", value_parser = span::parse_time, group = "end")]
    pub until: Option<DateTime<Utc>>,
    /// Snooze until the transaction's status changes, or a more severe alert is raised for it
    #[arg(long, group = "end")]
    pub until_change: bool,
}

/// Snoozes all named alerts, or none if one of them can't be found.
pub(crate) fn snooze(args: &SnoozeArgs, cx: &mut Context) -> Result<Exit> {
    let until = match (args.until_change, args.until) {
        (true, _) => SnoozeEnd::Change,
        (false, Some(moment)) => SnoozeEnd::Until(moment),
        (false, None) => SnoozeEnd::Until(cx.now.wall + args.duration.unwrap_or(DEFAULT_DURATION)),
    };
    if let Some(moment) = until.moment().filter(|moment| *moment <= cx.now.wall) {
        writeln!(cx.err, "{} isn't in the future; nothing was changed", rfc3339(moment))?;
        return Ok(Exit::Usage);
    }
    let done = match until {
        SnoozeEnd::Until(moment) => format!("snoozed until {}", span::clock_time(moment, cx.now.wall, cx.zone)),
        SnoozeEnd::Change => "snoozed until the status changes".to_owned(),
    };
    handle_alerts(&args.alerts, |alerts| Edit::Snooze { alerts, until }, &done, cx)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{
        cli::{
            args::{Cli, Command},
            commands::{
                ack::{self, AckArgs},
                alerts::{self, AlertsArgs},
                unack::{self, UnackArgs},
                undo::{self, UndoArgs},
            },
            context::testing::{CommandFixture, at},
        },
        domain::{filter::Filter, fixtures, ids::RowId, status::RouterStatus},
    };

    /// Returns a store with two transactions that need gas since second 10. Commands run at second 60.
    fn bench_with_two_alerts() -> CommandFixture {
        let fixture = CommandFixture::new();
        for number in [1, 2] {
            let row = fixture.track(fixtures::new(number));
            fixture.observe(row, fixtures::says(RouterStatus::NeedsGas), 10);
        }
        fixture
    }

    fn run(fixture: &mut CommandFixture, words: &str) -> (String, String, Exit) {
        let command = Cli::try_parse_from(["hoptop", "snooze"].into_iter().chain(words.split(' '))).unwrap().command;
        let Some(Command::Snooze(args)) = command else { panic!("{command:?}") };
        fixture.run(|cx| snooze(&args, cx).unwrap())
    }

    fn count(fixture: &CommandFixture, filter: &str, second: i64) -> u64 {
        fixture.store.reader().unwrap().listing(&Filter::parse(filter).unwrap(), at(second)).count().unwrap()
    }

    #[test]
    fn snooze_lasts_an_hour_unless_the_options_say_otherwise() {
        let mut fixture = bench_with_two_alerts();
        let table = [
            ("1", "1 snoozed until 23:14 UTC\n"),
            ("1 2 --for 30m", "2 snoozed until 22:44 UTC\n"),
            ("1 --until 1700003000", "1 snoozed until 23:03 UTC\n"),
            ("1 --until 1700003000", "0 snoozed until 23:03 UTC; 1 unchanged\n"),
            ("2 --until-change", "1 snoozed until the status changes\n"),
        ];
        for (words, expected) in table {
            assert_eq!(run(&mut fixture, words), (expected.into(), String::new(), Exit::Success), "{words}");
        }
        assert_eq!((count(&fixture, "is:snoozed", 60), count(&fixture, "is:snoozed", 3_000)), (2, 1));
        assert_eq!(count(&fixture, "is:attention -is:snoozed -is:acked", 3_000), 1);
    }

    #[test]
    fn invalid_snooze_is_refused_and_changes_nothing() {
        let mut fixture = bench_with_two_alerts();
        let table = [
            (
                "1 9",
                "no active alert has the number 9; `hoptop alerts` lists the numbers\nnothing was changed\n",
                Exit::Error,
            ),
            (
                "1 --until 1700000060",
                "2023-11-14T22:14:20.000Z isn't in the future; nothing was changed\n",
                Exit::Usage,
            ),
            (
                "0xabcdef12",
                "`0xabcdef12` is not tracked; `hoptop list` shows tracked transactions, `hoptop add` adds one\nnothing was changed\n",
                Exit::Error,
            ),
            ("1 --for 0s", "2023-11-14T22:14:20.000Z isn't in the future; nothing was changed\n", Exit::Usage),
        ];
        for (words, expected, exit) in table {
            assert_eq!(run(&mut fixture, words), (String::new(), expected.into(), exit), "{words}");
        }
        assert_eq!(count(&fixture, "is:snoozed", 60), 0);
        for words in [&["1", "--for", "1h", "--until-change"][..], &["--for", "1h"], &["1", "--for", "1"]] {
            let error = Cli::try_parse_from(["hoptop", "snooze"].iter().chain(words)).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{words:?}");
        }
    }

    #[test]
    fn snooze_is_ended_by_unack_or_replaced_by_an_acknowledgement() {
        let mut fixture = bench_with_two_alerts();
        run(&mut fixture, "1 2");
        let (out, ..) = fixture.run(|cx| unack::unack(&UnackArgs { alerts: vec!["2".into()] }, cx).unwrap());
        assert_eq!((out.as_str(), count(&fixture, "is:snoozed", 60)), ("1 no longer acknowledged or snoozed\n", 1));
        let ack = AckArgs { alerts: vec!["1".into()], note: None };
        let (out, ..) = fixture.run(|cx| ack::ack(&ack, cx).unwrap());
        assert_eq!(out, "1 acknowledged\n");
        assert_eq!((count(&fixture, "is:snoozed", 60), count(&fixture, "is:acked", 60)), (0, 1));
        for (expected, snoozed) in [
            ("undone: acknowledge 1 alert (0x0000…0001)\n", 1),
            ("undone: unacknowledge 1 alert (0x0000…0002)\n", 2),
            ("undone: snooze 2 alerts\n", 0),
        ] {
            let (out, ..) = fixture.run(|cx| undo::undo(&UndoArgs::default(), cx).unwrap());
            assert_eq!((out.as_str(), count(&fixture, "is:snoozed", 60)), (expected, snoozed));
        }
    }

    #[test]
    fn list_of_alerts_shows_the_state_of_each_alert() {
        let mut fixture = bench_with_two_alerts();
        run(&mut fixture, "1");
        run(&mut fixture, "2 --until-change");
        let print = |fixture: &mut CommandFixture, json, resolved| {
            fixture.run(|cx| alerts::alerts(&AlertsArgs { json, resolved }, cx).unwrap()).0
        };
        let table = print(&mut fixture, false, false);
        assert!(
            table.contains("snoozed until 23:14 UTC") && table.contains("snoozed until the status changes"),
            "{table}"
        );
        let json: serde_json::Value = serde_json::from_str(&print(&mut fixture, true, false)).unwrap();
        let fields = ["state", "snoozedAt", "snoozedUntil", "acknowledgedAt", "flapping", "clearedAt"];
        let of = |index: usize| fields.map(|field| json[index][field].clone());
        let (null, since) = (serde_json::Value::Null, "2023-11-14T22:14:20.000Z");
        assert_eq!(
            of(0),
            [
                "snoozed".into(),
                since.into(),
                "2023-11-14T23:14:20.000Z".into(),
                null.clone(),
                false.into(),
                null.clone()
            ]
        );
        assert_eq!(of(1), ["snoozed".into(), since.into(), null.clone(), null.clone(), false.into(), null]);
        assert_eq!(print(&mut fixture, false, true), "no alert was resolved in the last 24 hours\n");
        fixture.observe(RowId(2), fixtures::says(RouterStatus::Success), 30);
        let table = print(&mut fixture, false, true);
        assert!(
            table.contains("resolved 30s ago") && table.contains("needs_gas") && table.lines().count() == 2,
            "{table}"
        );
        let json = print(&mut fixture, true, true);
        assert!(
            json.contains(r#""clearedAt":"2023-11-14T22:13:50.000Z""#) && json.contains(r#""state":"cleared""#),
            "{json}"
        );
    }
}
