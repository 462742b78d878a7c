//! The text of a transaction's row: the symbols, words and cells that the dashboard's list and `hoptop list` share.
//!
//! Every status has a symbol and a word, every severity a mark. This module must not choose colours. The command line
//! writes ASCII symbols, the dashboard those of its terminal.

use std::borrow::Cow;

use chrono::{DateTime, FixedOffset, Utc};

use super::glyphs::Glyphs;
use crate::domain::{
    advice,
    alert::{self, Alert, AlertState, Handling, HandlingKind, Rule, Severity, SnoozeEnd, Urgency},
    chains,
    change::{Change, ChangeKind},
    people,
    record::RecordView,
    settled_duration::SettledDuration,
    span,
    status::RouterStatus,
    text,
    transaction::{Tracking, Transaction},
};

/// Returns how long the condition of an alert holds, or held until the alert was cleared; with a plus if it may hold for
/// longer.
pub(crate) fn condition_lasted<R>(alert: &Alert, tx: Option<&Transaction<R>>, now: DateTime<Utc>) -> String {
    let (began, may_be_older) = advice::condition_began(alert, tx);
    let lasted = span::between(began, alert.cleared_at.unwrap_or(now));
    format!("{}{}", span::short(lasted), if may_be_older { "+" } else { "" })
}

/// Returns the mark of a severity; empty without an alert.
pub(crate) fn mark(severity: Option<Severity>) -> &'static str {
    match severity {
        Some(Severity::Critical) => "!!",
        Some(Severity::Warning) => "!",
        Some(Severity::Info) => "i",
        None => "",
    }
}

/// Returns the mark of a transaction with these alerts, by the same rule as the sort order: the mark of the most severe
/// unhandled alert. If all alerts are handled, returns the mark of the most severe alert in brackets.
pub(crate) fn urgency_mark(alerts: &[Alert]) -> &'static str {
    match alert::urgency(alerts) {
        Some(Urgency { is_unhandled: false, severity: Severity::Critical }) => "(!!)",
        Some(Urgency { is_unhandled: false, severity: Severity::Warning }) => "(!)",
        Some(Urgency { is_unhandled: false, severity: Severity::Info }) => "(i)",
        Some(Urgency { is_unhandled: true, severity }) => mark(Some(severity)),
        None => mark(None),
    }
}

/// Returns a sentence about an alert of a profile: the rule, the error and the action.
pub(crate) fn profile_alert(rule: Rule, error: &str) -> String {
    format!("{rule}: {error}; {}", advice::profile_action(rule))
}

/// Returns a change as a sentence. The sentence about an outage of a profile also says what to do.
pub(crate) fn change_sentence(change: &Change) -> String {
    match &change.kind {
        ChangeKind::Throttled { error } => profile_alert(Rule::Throttled, error),
        ChangeKind::Unauthorized { error } => profile_alert(Rule::Unauthorized, error),
        ChangeKind::Unreachable { error } => profile_alert(Rule::Unreachable, error),
        other => other.sentence_by(change.author.as_deref()),
    }
}

/// Returns the state of an alert at `now` in a few words: `firing`, `acknowledged by Ana, 9m ago: asked`,
/// `snoozed until 14:40 UTC`.
pub(crate) fn alert_state(alert: &Alert, now: DateTime<Utc>, zone: FixedOffset) -> String {
    let state = alert.state(now);
    let word = if state == AlertState::Cleared { "resolved" } else { state.name() };
    let ago = |at| format!("{} ago", span::short(span::between(at, now)));
    let by = people::author_suffix(alert.handling.as_ref().and_then(Handling::author));
    let words = match (state, &alert.handling) {
        (AlertState::Cleared, _) => alert.cleared_at.map_or_else(|| word.into(), |at| format!("{word} {}", ago(at))),
        (AlertState::Acknowledged, Some(Handling { at, kind: HandlingKind::Acknowledged(note), .. })) => {
            let note = note.as_ref().map_or_else(String::new, |note| format!(": {}", text::clean(note)));
            let comma = if by.is_empty() { "" } else { "," };
            format!("{word}{by}{comma} {}{note}", ago(*at))
        }
        (AlertState::Snoozed, Some(Handling { kind: HandlingKind::Snoozed(until), .. })) => match until {
            SnoozeEnd::Until(moment) => format!("{word}{by} until {}", span::clock_time(*moment, now, zone)),
            SnoozeEnd::Change => format!("{word}{by} until the status changes"),
        },
        _ => word.into(),
    };
    if alert.is_flapping { format!("{words}, flapping") } else { words }
}

/// Returns the symbol and the word of a status.
pub(crate) fn status_cell(status: Option<&RouterStatus>, glyphs: Glyphs) -> String {
    [glyphs.status(status), " ", status_word(status, glyphs)].concat()
}

/// Returns the word of a status. An undocumented status is shown as received.
pub(crate) fn status_word(status: Option<&RouterStatus>, glyphs: Glyphs) -> &str {
    match status {
        None => "no answer",
        Some(RouterStatus::Ongoing) => "ongoing",
        Some(RouterStatus::Success) => "success",
        Some(RouterStatus::NotFound) => glyphs.choose("not found", "not_found"),
        Some(RouterStatus::NeedsGas) => glyphs.choose("needs gas", "needs_gas"),
        Some(RouterStatus::PartialSuccess) => "partial",
        Some(RouterStatus::Refund) => "refund",
        Some(RouterStatus::Unknown(text)) if text.trim().is_empty() => "(empty)",
        Some(RouterStatus::Unknown(text)) => text,
    }
}

/// Returns the status cell of a transaction. A transaction that was parked before its first answer is `rejected`.
pub(crate) fn transaction_status_cell<R>(tx: &Transaction<R>, glyphs: Glyphs) -> String {
    match (&tx.state.status, &tx.tracking) {
        (None, Tracking::Parked(_)) => rejected_cell(glyphs),
        (known, _) => status_cell(known.as_ref(), glyphs),
    }
}

/// Returns the status cell of a transaction whose parameters the service rejected.
pub(crate) fn rejected_cell(glyphs: Glyphs) -> String {
    format!("{} rejected", glyphs.rejected())
}

/// Returns the status cell in a list: `damaged` instead of a status that may be wrong, `untracked` for a transaction
/// that isn't polled any more.
pub(crate) fn list_status_cell<R>(tx: &Transaction<R>, glyphs: Glyphs) -> String {
    if tx.is_damaged {
        return "! damaged".to_owned();
    }
    if tx.is_stopped() { format!("{} untracked", glyphs.untracked()) } else { transaction_status_cell(tx, glyphs) }
}

/// Returns the words of a name that the service writes for programs: `source_gateway_called` and
/// `CrossMulticallExecuted` become `Source gateway called` and `Cross multicall executed`. Other text is unchanged.
pub(crate) fn in_words(name: &str) -> String {
    let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let is_camel_case = name.as_bytes().windows(2).any(|pair| matches!(pair, [b'a'..=b'z', b'A'..=b'Z']));
    if !is_name || !(is_camel_case || name.contains('_')) {
        return name.to_owned();
    }
    let mut words = String::with_capacity(name.len() + 4);
    let mut before = '_';
    for letter in name.chars() {
        let begins_word = letter.is_ascii_uppercase() && before.is_ascii_lowercase();
        if (letter == '_' || begins_word) && !words.is_empty() {
            words.push(' ');
        }
        if letter != '_' {
            words.push(if words.is_empty() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() });
        }
        before = letter;
    }
    words.trim_end().to_owned()
}

/// Returns the full word of a status, without the symbol.
pub(crate) fn full_status_name(status: Option<&RouterStatus>) -> String {
    status.map_or_else(|| "no answer".to_owned(), ToString::to_string)
}

/// Returns a name for a transaction outside a table: its shortened hash, its route in words, its ticket.
pub(crate) fn name_in_words<R: RecordView>(tx: &Transaction<R>) -> String {
    let ticket = tx.params.ticket.as_ref().map_or_else(String::new, |ticket| format!(", ticket {ticket}"));
    let name = format!("{} {} to {}{ticket}", tx.params.transaction_id.short("..."), tx.from_name(), tx.to_name());
    text::clean(&name)
}

/// Returns a list row as a sentence for a screen reader, the most important facts first.
pub(crate) fn row_in_words(tx: &Transaction, alerts: &[Alert], now: DateTime<Utc>) -> String {
    let urgency = match alert::urgency(alerts) {
        Some(Urgency { is_unhandled: true, severity }) => severity.name().to_owned(),
        Some(Urgency { is_unhandled: false, severity }) => format!("{}, handled", severity.name()),
        None => "no alert".to_owned(),
    };
    let due = match tx.is_awaited().then(|| tx.deadline().at) {
        None => String::new(),
        Some(at) if at <= now => format!(", due {} ago", span::short(span::between(at, now))),
        Some(at) => format!(", due in {}", span::short(span::between(now, at))),
    };
    let checked = match tx.state.last_checked_at {
        _ if tx.is_stopped() => "not polled any more".to_owned(),
        Some(at) => format!("checked {} ago", span::short(span::between(at, now))),
        None => "not checked yet".to_owned(),
    };
    let status = text::clean(&full_status_name(tx.state.status.as_ref()));
    let name = name_in_words(tx);
    let age = match (&tx.state.status, SettledDuration::of(tx)) {
        (_, None) => format!("{} old", span::short(tx.age(now))),
        (Some(RouterStatus::Refund), Some(_)) => "not watched any more".to_owned(),
        (_, Some(SettledDuration::SinceFirstSeen(time))) => {
            format!("settled {} after it was first seen", span::short(time))
        }
        (_, Some(SettledDuration::AtMost(time))) => format!("took at most {}", span::short_at_most(time)),
        (_, Some(SettledDuration::Measured(time))) => format!("took {}", span::short(time)),
    };
    let parked = if tx.is_parked() { ", rejected by the service" } else { "" };
    format!("{urgency}: {status}{parked}, {name}, {age}{due}, {checked}")
}

/// Returns the route as short chain names: `ARB→BASE`.
pub(crate) fn route<R>(tx: &Transaction<R>, glyphs: Glyphs) -> String {
    let from = chains::short_name(&tx.params.from_chain, tx.chain_names.from.as_deref());
    let to = chains::short_name(&tx.params.to_chain, tx.chain_names.to.as_deref());
    format!("{from}{}{to}", glyphs.arrow())
}

/// Returns the route as full chain names: `Arbitrum→Base`.
pub(crate) fn full_route<R: RecordView>(tx: &Transaction<R>, glyphs: Glyphs) -> String {
    [&*tx.from_name(), glyphs.arrow(), &*tx.to_name()].concat()
}

/// Returns the time until the deadline, `12m`, or since the deadline, `-8m`; `-` for a transaction that doesn't wait
/// for its deadline.
pub(crate) fn due(tx: &Transaction, now: DateTime<Utc>) -> String {
    match tx.is_awaited().then(|| tx.deadline().at) {
        None => "-".into(),
        Some(at) if at <= now => format!("-{}", span::short(span::between(at, now))),
        Some(at) => span::short(span::between(now, at)),
    }
}

/// Returns the time since the last answer; `stopped` if a person stopped the polling.
pub(crate) fn checked(tx: &Transaction, now: DateTime<Utc>) -> String {
    if tx.is_stopped() {
        return "stopped".into();
    }
    tx.state.last_checked_at.map_or_else(|| "-".into(), |at| span::short(span::between(at, now)))
}

/// Returns the time since the last change; `-` if there was none.
pub(crate) fn changed(tx: &Transaction, now: DateTime<Utc>) -> String {
    tx.state.last_changed_at.map_or_else(|| "-".into(), |at| span::short(span::between(at, now)))
}

/// Returns the ticket, or else the first label, if there is one.
pub(crate) fn ticket_or_label<R>(tx: &Transaction<R>) -> Option<&str> {
    tx.params.ticket.as_deref().or(tx.labels.first().map(String::as_str))
}

/// Returns the ticket, or else the first label as `#label`, for the TICKET column.
pub(crate) fn ticket_or_label_cell<R>(tx: &Transaction<R>) -> Option<Cow<'_, str>> {
    let tag = || tx.labels.first().map(|label| Cow::Owned(format!("#{label}")));
    tx.params.ticket.as_deref().map(Cow::Borrowed).or_else(tag)
}

#[cfg(test)]
mod tests {
    use chrono::{Offset, TimeDelta};

    use super::*;
    use crate::domain::{
        alert::Rule,
        filter::{Filter, testing::FilterInput},
        fixtures::{self, at},
    };

    #[test]
    fn shown_word_of_each_status_is_short_its_own_and_a_filter() {
        let word = |status: &RouterStatus, glyphs| status_word(Some(status), glyphs).to_owned();
        for status in &RouterStatus::DOCUMENTED {
            let [shown, ascii] = [Glyphs::Unicode, Glyphs::Ascii].map(|glyphs| word(status, glyphs));
            // The column of the list has room for a symbol, a blank and nine letters.
            assert!(shown.len() <= 9, "{shown}");
            let filter = Filter::parse(&format!("status:{ascii}")).unwrap();
            let matching = RouterStatus::DOCUMENTED.into_iter().filter(|other| {
                let mut tx = fixtures::transaction(1);
                tx.apply(&fixtures::says(other.clone()), tx.first_seen_at);
                filter.matches(&FilterInput { tx: &tx, alerts: &[] }, at(0))
            });
            assert!(matching.eq([status.clone()]), "status:{ascii}");
        }
    }

    #[test]
    fn names_for_programs_become_words_and_other_text_stays() {
        for (name, words) in [
            ("source_gateway_called", "Source gateway called"),
            ("CrossMulticallExecuted", "Cross multicall executed"),
            ("gas_paid", "Gas paid"),
            ("_x_", "X"),
            ("ongoing", "ongoing"),
            ("GMP", "GMP"),
            ("bridge says no_way!", "bridge says no_way!"),
            ("Überweisung_x", "Überweisung_x"),
            ("", ""),
        ] {
            assert_eq!(in_words(name), words);
        }
    }

    #[test]
    fn due_time_is_negative_after_the_deadline() {
        let mut tx = fixtures::transaction(1);
        let at = |seconds| tx.first_seen_at + TimeDelta::seconds(seconds);
        let (before, at_it, past) = (at(60), at(900), at(900 + 480));
        assert_eq!([due(&tx, before), due(&tx, at_it), due(&tx, past)], ["14m", "-0s", "-8m"]);
        tx.apply(&fixtures::says(RouterStatus::NeedsGas), before);
        assert_eq!((due(&tx, past), checked(&tx, past)), ("-".into(), "22m".into()));
    }

    #[test]
    fn row_in_words_names_status_age_and_deadline() {
        let mut tx = fixtures::transaction(1);
        tx.params.ticket = Some("SUP-1\u{1b}[2J".into());
        let at = |seconds| tx.first_seen_at + TimeDelta::seconds(seconds);
        let (seen, late) = (at(60), at(960));
        let name = "0x0000...0001 Arbitrum to Base, ticket SUP-1[2J";
        assert_eq!(
            row_in_words(&tx, &[], seen),
            format!("no alert: no answer, {name}, 1m old, due in 14m, not checked yet")
        );
        tx.apply(&fixtures::says(RouterStatus::Ongoing), seen);
        let overdue = [alert(Rule::Overdue, None)];
        assert_eq!(
            row_in_words(&tx, &overdue, late),
            format!("critical: ongoing, {name}, 16m old, due 1m ago, checked 15m ago")
        );
    }

    #[test]
    fn every_status_has_its_own_symbol() {
        let unknown = RouterStatus::Unknown("X".into());
        let all = RouterStatus::DOCUMENTED.iter().chain([&unknown]).map(Some).chain([None]);
        let cells = all.map(|own| status_cell(own, Glyphs::Ascii)).chain([rejected_cell(Glyphs::Ascii)]);
        let symbols: std::collections::HashSet<_> = cells.map(|cell| cell.chars().next()).collect();
        assert_eq!(symbols.len(), RouterStatus::DOCUMENTED.len() + 3);
    }

    fn alert(rule: Rule, handling: Option<Handling>) -> Alert {
        Alert { handling, ..fixtures::alert(rule, None) }
    }

    #[test]
    fn alert_state_is_shown_in_words() {
        let acknowledgement = |note: Option<&str>| {
            let kind = HandlingKind::Acknowledged(note.map(str::to_owned));
            Some(Handling { at: at(60), author: None, kind })
        };
        let snoozed = |until| Some(Handling { at: at(60), author: None, kind: HandlingKind::Snoozed(until) });
        let table = [
            (None, "firing"),
            (acknowledgement(None), "acknowledged 9m ago"),
            (acknowledgement(Some("asked\u{1b}[31m")), "acknowledged 9m ago: asked[31m"),
            (snoozed(SnoozeEnd::Change), "snoozed until the status changes"),
            (snoozed(SnoozeEnd::Until(at(3_600))), "snoozed until 01:00 UTC"),
            (snoozed(SnoozeEnd::Until(at(600))), "firing"),
        ];
        for (handling, expected) in table {
            let mut alert = alert(Rule::Overdue, handling);
            assert_eq!(alert_state(&alert, at(600), Utc.fix()), expected);
            alert.is_flapping = true;
            assert_eq!(alert_state(&alert, at(600), Utc.fix()), format!("{expected}, flapping"));
            (alert.is_flapping, alert.cleared_at) = (false, Some(at(595)));
            assert_eq!(alert_state(&alert, at(600), Utc.fix()), "resolved 5s ago");
        }
    }

    #[test]
    fn handled_alert_names_the_person() {
        let handled = |kind| Handling { at: at(60), author: Some("Ana\u{7}".into()), kind };
        let snoozed = |until| handled(HandlingKind::Snoozed(until));
        let table = [
            (handled(HandlingKind::Acknowledged(Some("asked".into()))), "acknowledged by Ana, 9m ago: asked"),
            (snoozed(SnoozeEnd::Change), "snoozed by Ana until the status changes"),
            (snoozed(SnoozeEnd::Until(at(3_600))), "snoozed by Ana until 01:00 UTC"),
            (snoozed(SnoozeEnd::Until(at(600))), "firing"),
        ];
        for (handling, expected) in table {
            assert_eq!(alert_state(&alert(Rule::Overdue, Some(handling)), at(600), Utc.fix()), expected);
        }
    }

    #[test]
    fn an_acknowledged_alert_has_its_mark_in_brackets_unless_something_else_fires() {
        let acknowledged = || Some(Handling { at: at(0), author: None, kind: HandlingKind::Acknowledged(None) });
        assert_eq!(urgency_mark(&[]), "");
        assert_eq!(urgency_mark(&[alert(Rule::Overdue, acknowledged())]), "(!!)");
        assert_eq!(
            urgency_mark(&[alert(Rule::Refund, acknowledged()), alert(Rule::RefundSlow, acknowledged())]),
            "(!)"
        );
        assert_eq!(urgency_mark(&[alert(Rule::Overdue, acknowledged()), alert(Rule::Refund, None)]), "i");
    }
}
