//! Acknowledges, snoozes or unacknowledges the alerts that a command's arguments name: for `ack`, `snooze` and `unack`.
//!
//! This module must never change only some of the named alerts: if one can't be found, none is changed.

use std::collections::BTreeSet;

use color_eyre::eyre::Result;

use crate::{
    cli::context::Context,
    domain::{
        alert::{Alert, RESOLVED_FOR},
        filter::term::equals_ignoring_case,
        operation::LocalEdit,
        text,
        transaction::Transaction,
    },
    runtime::exit::Exit,
    store::{AlertQuery, StoreError},
};

/// The maximum number of recently cleared alerts that are loaded to tell an alert's number from a ticket.
const MAX_CLEARED: usize = 10_000;

/// Applies the edit to all named alerts, and prints the number of changed alerts; `done` is their new state in words.
/// Changes nothing if one of the alerts can't be found.
pub(crate) fn handle_alerts(
    named: &[String],
    edit: impl FnOnce(Vec<i64>) -> LocalEdit,
    done: &str,
    cx: &mut Context,
) -> Result<Exit> {
    let alerts = match find_alerts(named, cx)? {
        Ok(alerts) => alerts,
        Err(exit) => {
            writeln!(cx.err, "nothing was changed")?;
            return Ok(exit);
        }
    };
    let (count, edit) = (alerts.len(), edit(alerts));
    let edit = cx.store.reader()?.resolve(edit)?;
    let changed = cx.edit(edit)?;
    match count - changed {
        0 => writeln!(cx.out, "{changed} {done}")?,
        unchanged => writeln!(cx.out, "{changed} {done}; {unchanged} unchanged")?,
    }
    Ok(Exit::Success)
}

/// Returns the numbers of the named alerts. A name is an alert's number, or a transaction or a ticket, which means all
/// active alerts of the transaction. If one can't be found, prints the reason and returns the exit code of the command.
fn find_alerts(named: &[String], cx: &mut Context) -> Result<Result<Vec<i64>, Exit>> {
    let reader = cx.store.reader()?;
    let active = reader.alerts(AlertQuery::Active)?;
    let mut numbers = BTreeSet::new();
    for name in named {
        let lower = name.to_lowercase();
        let has_ticket =
            |tx: &Transaction| tx.params.ticket.as_deref().is_some_and(|own| equals_ignoring_case(own, &lower));
        let is_ticket = || Ok::<_, StoreError>(reader.find(name)?.iter().any(has_ticket));
        let cleared = AlertQuery::ClearedSince(cx.now.wall - RESOLVED_FOR, MAX_CLEARED);
        // A name that fits in an `i64` is a number, never a part of a hash. It is a ticket only if no alert has the number,
        // nor had it recently: a script may name an alert that has just been cleared.
        let has_number = |alerts: &[Alert], number| alerts.iter().any(|alert| alert.id == number);
        if let Ok(alert) = name.parse::<i64>()
            && (has_number(&active, alert) || !is_ticket()? || has_number(&reader.alerts(cleared)?, alert))
        {
            if !has_number(&active, alert) {
                writeln!(cx.err, "no active alert has the number {alert}; `hoptop alerts` lists the numbers")?;
                return Ok(Err(Exit::Error));
            }
            numbers.insert(alert);
            continue;
        }
        if name.chars().count() < 6 && !is_ticket()? {
            let name = text::clean(name);
            writeln!(
                cx.err,
                "`{name}` is neither an alert number nor six or more characters of a hash; `hoptop alerts` lists both"
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
    use super::*;
    use crate::{
        cli::context::testing::CommandFixture,
        domain::{fixtures, operation::Edit, status::RouterStatus},
    };

    fn acknowledge(fixture: &mut CommandFixture, named: &[&str]) -> (String, String, Exit) {
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        fixture.run(|cx| {
            handle_alerts(&named, |alerts| Edit::Acknowledge { alerts, note: None }, "acknowledged", cx).unwrap()
        })
    }

    #[test]
    fn alert_is_named_by_its_number_or_by_its_transaction() {
        let mut fixture = CommandFixture::new();
        let row = fixture.track(fixtures::new(1));
        fixture.observe(row, fixtures::says(RouterStatus::NeedsGas), 10);
        let hash = format!("0x{:064x}", 1);
        let (out, ..) = acknowledge(&mut fixture, &[&hash, "1"]);
        assert_eq!(out, "1 acknowledged\n");
        let (_, err, exit) = acknowledge(&mut fixture, &["000000"]);
        assert_eq!(
            (err.as_str(), exit),
            ("no active alert has the number 0; `hoptop alerts` lists the numbers\nnothing was changed\n", Exit::Error),
            "although every hash contains these digits"
        );
        let (_, err, exit) = acknowledge(&mut fixture, &["0000004000"]);
        assert!(err.starts_with("no active alert has the number 4000") && exit == Exit::Error, "{err}");
        let (_, err, exit) = acknowledge(&mut fixture, &["foo"]);
        assert!(err.starts_with("`foo` is neither an alert number") && exit == Exit::Usage, "{err}");
        let ticket = |ticket: &str| Edit::SetTicket {
            transactions: vec![fixtures::transaction(1).key()],
            ticket: Some(ticket.to_owned()),
        };
        fixture.run(|cx| cx.edit(ticket("48")).unwrap());
        assert_eq!(acknowledge(&mut fixture, &["48"]).2, Exit::Success, "a ticket");
        fixture.run(|cx| cx.edit(ticket("1")).unwrap());
        fixture.observe(row, fixtures::says(RouterStatus::Success), 20);
        let (out, err, exit) = acknowledge(&mut fixture, &[&hash]);
        assert_eq!((out.as_str(), exit), ("", Exit::Error));
        assert_eq!(err, "no active alert for 0x0000…0001\nnothing was changed\n");
        let (_, err, _) = acknowledge(&mut fixture, &["1"]);
        assert!(
            err.starts_with("no active alert has the number 1"),
            "a ticket, and an alert that was just cleared: {err}"
        );
    }
}
