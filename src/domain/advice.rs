//! What to tell the user and what to do: one table for the screen, the command line and the exports (`DESIGN.md`,
//! Alerts).
//!
//! The wording follows the service's documentation. It must never promise more than the service does.

use std::time::Duration;

use chrono::{DateTime, FixedOffset, Utc};

use super::{
    alert::{Alert, Rule},
    chain_check, chains,
    ids::ChainId,
    on_chain::ChainVerdict,
    route,
    settled_duration::SettledDuration,
    span,
    status::RouterStatus,
    text,
    transaction::Transaction,
};

/// From this duration on a refund is slow; about 10 minutes are usual (`service.md` 3).
const REFUND_SLOW: Duration = Duration::from_secs(15 * 60);
/// From this age on a transaction that no chain knows twice in a row was probably not sent, or its hash is wrong: most
/// pending transactions are known to the nodes.
const UNKNOWN_AFTER: Duration = Duration::from_secs(60);
/// The number of failures in a row, and their time span, from which on polling a transaction counts as failing.
const POLL_FAILING: (u32, Duration) = (5, Duration::from_secs(2 * 60));

/// The situation of a transaction, for the person who answers the user's question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Situation {
    /// No answer yet.
    NotPolledYet,
    /// No answer yet, and the last attempt failed.
    FirstPollFailed,
    /// Ongoing before the deadline.
    Waiting,
    /// Ongoing or not found; the deadline has passed since the last answer.
    DeadlinePassed,
    /// Not found, and submitted recently.
    Indexing,
    /// The service says "not filled", which differs from "not found" (`cases.md` 1).
    NotFilled,
    Completed,
    /// Not polled, because a person stopped the polling.
    Untracked,
    /// A refund that was watched for long enough and is settled.
    RefundWatched,
    /// Execution is paused, and there is no bridge link that shows it.
    NeedsGasWithoutLink,
    /// Overdue, and never found by the service: "still in progress" would claim too much.
    OverdueNotFound,
    /// The service doesn't know the transaction, and the source chain says that it reverted.
    RevertedOnSource,
    /// The service doesn't know the transaction, and it isn't mined yet.
    PendingOnSource,
    /// The service doesn't know the transaction, and it was dropped or replaced.
    DroppedOnSource,
    /// The service doesn't know the transaction, and it was found on another chain than the given source.
    WrongSource,
    /// Not found, and unknown on every configured chain for a while.
    UnknownOnChains,
    /// Not found for long by the service, and mined on the source chain.
    MinedNotFound,
    /// A condition that has an alert.
    Alert(Rule),
}

/// The verdict on a transaction, what to tell the user, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Advice {
    pub situation: Situation,
    /// The verdict in a few words: `OVERDUE by 8m 02s`.
    pub verdict: String,
    /// What to tell the customer: whole sentences without internal terms.
    pub say: String,
    /// What the support engineer should do.
    pub act: String,
    /// What the chain itself says, if it was asked.
    pub chain: Option<String>,
}

/// Returns the rule that a status raises by itself.
pub(crate) fn rule_of_status(status: &RouterStatus) -> Option<Rule> {
    match status {
        RouterStatus::PartialSuccess => Some(Rule::PartialSuccess),
        RouterStatus::NeedsGas => Some(Rule::NeedsGas),
        RouterStatus::Refund => Some(Rule::Refund),
        RouterStatus::Unknown(_) => Some(Rule::Regressed),
        RouterStatus::Success | RouterStatus::Ongoing | RouterStatus::NotFound => None,
    }
}

/// Returns the conditions that hold for a transaction at `now`, the most urgent first.
pub(crate) fn conditions(tx: &Transaction, now: DateTime<Utc>) -> Vec<Rule> {
    let state = &tx.state;
    let status = state.status.as_ref();
    let of_status = status.and_then(rule_of_status);
    let holds = |rule: &Rule| match rule {
        Rule::Overdue => tx.is_overdue(),
        Rule::PartialSuccess | Rule::NeedsGas | Rule::Refund => of_status == Some(*rule),
        Rule::RefundSlow => {
            status == Some(&RouterStatus::Refund) && !tx.is_settled() && tx.status_age(now) >= REFUND_SLOW
        }
        Rule::NotFoundLong => {
            let is_late = tx.age(now) >= tx.not_found_limit();
            has_failed(tx) || status == Some(&RouterStatus::NotFound) && is_late && !is_not_filled(tx)
        }
        Rule::ChainDisagrees => chain_check::contradiction(tx).is_some(),
        Rule::Rejected => tx.is_parked(),
        Rule::Regressed => state.conflict.is_some() || of_status == Some(*rule),
        Rule::PollFailing => {
            state.failures >= POLL_FAILING.0
                && state.failing_since.is_some_and(|since| span::between(since, now) >= POLL_FAILING.1)
        }
        Rule::Unauthorized | Rule::Unreachable | Rule::Throttled | Rule::BudgetShort => false,
    };
    Rule::ALL.iter().copied().filter(holds).collect()
}

/// Returns when the condition of an alert began, and whether it may have begun earlier: hoptop knows only when it first
/// saw a status. The condition may begin long before the alert is raised, which needs an answer that confirms the
/// condition. If the beginning isn't known, returns when the alert was raised.
pub(crate) fn condition_began<R>(alert: &Alert, tx: Option<&Transaction<R>>) -> (DateTime<Utc>, bool) {
    let (began, may_be_older) = match alert.rule {
        Rule::Overdue => (tx.map(|tx| tx.deadline().at), false),
        Rule::NotFoundLong => (tx.map(|tx| tx.deadline().submitted), false),
        Rule::PollFailing => (tx.and_then(|tx| tx.state.failing_since), false),
        Rule::PartialSuccess | Rule::NeedsGas | Rule::Refund | Rule::RefundSlow => {
            (tx.and_then(|tx| tx.state.status_since), true)
        }
        Rule::ChainDisagrees
        | Rule::Rejected
        | Rule::Regressed
        | Rule::Unauthorized
        | Rule::Unreachable
        | Rule::Throttled
        | Rule::BudgetShort => (None, false),
    };
    (began.map_or(alert.raised_at, |began| began.min(alert.raised_at)), may_be_older)
}

/// Returns the situation of a transaction at `now`.
pub(crate) fn situation(tx: &Transaction, now: DateTime<Utc>) -> Situation {
    if tx.is_stopped() {
        // What the source chain says for good doesn't depend on polling.
        let last_word = tx.on_chain.as_ref().filter(|known| known.is_final()).and_then(|_| chain_situation(tx, &[]));
        return match last_word {
            Some(last_word @ (Situation::RevertedOnSource | Situation::DroppedOnSource)) => last_word,
            _ => Situation::Untracked,
        };
    }
    let rules = conditions(tx, now);
    if let Some(situation) = chain_situation(tx, &rules) {
        return situation;
    }
    // A condition that casts doubt on the status comes before the status.
    if let Some(rule) =
        [Rule::Rejected, Rule::Regressed, Rule::ChainDisagrees].into_iter().find(|rule| rules.contains(rule))
    {
        return Situation::Alert(rule);
    }
    match (rules.first(), &tx.state.status) {
        (_, Some(RouterStatus::Refund)) if tx.is_settled() => return Situation::RefundWatched,
        (Some(Rule::NeedsGas), _) if bridge_link(tx).is_none() => return Situation::NeedsGasWithoutLink,
        (Some(Rule::Overdue), Some(RouterStatus::NotFound)) if !is_not_filled(tx) => return Situation::OverdueNotFound,
        (Some(rule), _) => return Situation::Alert(*rule),
        (None, _) => {}
    }
    match &tx.state.status {
        None if tx.state.last_error.is_some() => Situation::FirstPollFailed,
        None => Situation::NotPolledYet,
        Some(RouterStatus::Success) => Situation::Completed,
        Some(RouterStatus::NotFound) if is_not_filled(tx) && now < tx.deadline().at => Situation::NotFilled,
        Some(RouterStatus::NotFound) if !is_not_filled(tx) && tx.age(now) < tx.not_found_limit() => Situation::Indexing,
        Some(RouterStatus::Ongoing | RouterStatus::NotFound) if now >= tx.deadline().at => Situation::DeadlinePassed,
        Some(RouterStatus::Ongoing | RouterStatus::NotFound) => Situation::Waiting,
        // Not reached: the rule of each of these statuses is among the rules above.
        Some(RouterStatus::NeedsGas) => Situation::Alert(Rule::NeedsGas),
        Some(RouterStatus::PartialSuccess) => Situation::Alert(Rule::PartialSuccess),
        Some(RouterStatus::Refund) => Situation::Alert(Rule::Refund),
        Some(RouterStatus::Unknown(_)) => Situation::Alert(Rule::Regressed),
    }
}

/// Returns the situation that the source chain's reading gives, where the service doesn't know the transaction.
fn chain_situation(tx: &Transaction, rules: &[Rule]) -> Option<Situation> {
    let known = tx.on_chain.as_ref().filter(|_| tx.state.is_unknown_to_service() && !is_not_filled(tx))?;
    let is_long = rules.contains(&Rule::NotFoundLong) || rules.contains(&Rule::Overdue);
    match &known.source.verdict {
        ChainVerdict::Reverted(_) => Some(Situation::RevertedOnSource),
        ChainVerdict::Pending => Some(Situation::PendingOnSource),
        ChainVerdict::Dropped if known.is_surely_dropped() => Some(Situation::DroppedOnSource),
        ChainVerdict::Dropped => None,
        ChainVerdict::Elsewhere(_) => Some(Situation::WrongSource),
        ChainVerdict::Unknown(_) if is_long || known.repeats > 0 && tx.age(known.checked_at) >= UNKNOWN_AFTER => {
            Some(Situation::UnknownOnChains)
        }
        ChainVerdict::Unknown(_) => None,
        ChainVerdict::Succeeded(_) => is_long.then_some(Situation::MinedNotFound),
        ChainVerdict::CannotBeAsked(_) => None,
    }
}

/// Returns the chain on which the transaction was found, if that isn't the given source.
pub(crate) fn found_elsewhere<R>(tx: &Transaction<R>) -> Option<&ChainId> {
    tx.on_chain.as_ref()?.source.verdict.elsewhere()
}

/// Whether the service didn't find the transaction, and never will by the source chain's verdict.
pub(crate) fn has_failed(tx: &Transaction) -> bool {
    tx.state.status == Some(RouterStatus::NotFound) && !is_not_filled(tx) && tx.failure_on_source().is_some()
}

/// Whether the service's last 404 said "not filled".
fn is_not_filled(tx: &Transaction) -> bool {
    let message = tx.state.message.as_deref().unwrap_or_default().to_lowercase();
    tx.state.status == Some(RouterStatus::NotFound) && message.contains("not filled")
}

/// Returns the link to the bridge explorer, if there is one.
pub(crate) fn bridge_link(tx: &Transaction) -> Option<&str> {
    tx.record.as_ref()?.bridge_url.as_deref().filter(|url| !url.is_empty())
}

/// Returns the advice on a transaction at `now`, with times in `zone`.
pub(crate) fn advise(tx: &Transaction, now: DateTime<Utc>, zone: FixedOffset) -> Advice {
    advise_with(tx, now, &|moment| span::clock_time(moment, now, zone))
}

/// Like [`advise`], with each moment written by `write_time`.
pub(crate) fn advise_with(
    tx: &Transaction,
    now: DateTime<Utc>,
    write_time: &dyn Fn(DateTime<Utc>) -> String,
) -> Advice {
    let situation = situation(tx, now);
    let (say, act) = situation_texts(situation);
    let value = |name: &str| match name {
        "deadline" => write_time(tx.deadline().at),
        "source" => tx.from_name(),
        "destination" => route::other_destination(tx).map_or_else(|| tx.to_name(), |chain| route::name_of(tx, chain)),
        "bridge" => bridge_link(tx).unwrap_or_default().to_owned(),
        "found" => found_elsewhere(tx).map(chains::name).unwrap_or_default(),
        "found_id" => found_elsewhere(tx).map(ToString::to_string).unwrap_or_default(),
        // `from_address`; a test checks that the table names no other value.
        _ => tx.params.from_address.clone().unwrap_or_else(|| "the order's fromAddress".into()),
    };
    let say = fill(say, value);
    let carries_error = tx.record.as_ref().is_some_and(|record| record.error.is_some());
    let act = match situation {
        Situation::Waiting if carries_error => "nothing yet; read the error that the service reports",
        Situation::DroppedOnSource if tx.is_stopped() => "ask for the hash of the transaction that replaced it",
        Situation::Completed if route::other_destination(tx).is_some() => {
            "compare the quote: the service reports {destination} as the destination, not the chain that was given"
        }
        _ => act,
    };
    let act = format!("{}{}", fill(act, value), failure_warning(tx, situation));
    let chain = chain_check::sentence(tx, write_time);
    Advice { situation, verdict: verdict(tx, situation, now, write_time), say, act, chain }
}

/// Returns a warning to append if all seems well but polls have failed since the last answer.
fn failure_warning(tx: &Transaction, situation: Situation) -> String {
    let seems_well = matches!(situation, Situation::Waiting | Situation::Indexing | Situation::NotFilled);
    match tx.state.failures {
        failures if failures == 0 || !seems_well => String::new(),
        1 => "; the last poll failed, so this may be out of date".to_owned(),
        failures => format!("; the last {failures} polls failed, so this may be out of date"),
    }
}

/// Returns the text with each name in braces replaced by its value. Braces inside a value are left alone.
fn fill(text: &str, value: impl Fn(&str) -> String) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        filled.push_str(before);
        filled.push_str(&value(name));
        rest = after;
    }
    filled + rest
}

fn verdict(
    tx: &Transaction,
    situation: Situation,
    now: DateTime<Utc>,
    write_time: &dyn Fn(DateTime<Utc>) -> String,
) -> String {
    let deadline = tx.deadline();
    let checked = tx.state.last_checked_at.map_or_else(String::new, write_time);
    let in_status = span::long(tx.status_age(now));
    // hoptop knows when it first saw the status, not when the status began.
    let needs_gas = || match tx.status_age(now) {
        age if age < Duration::from_secs(1) => "NEEDS GAS, just seen".to_owned(),
        _ => format!("NEEDS GAS, first seen {in_status} ago"),
    };
    match situation {
        Situation::NotPolledYet => "NOT CHECKED YET".into(),
        Situation::FirstPollFailed => "NO ANSWER YET, the last attempt failed".into(),
        Situation::Waiting => format!("WAITING, {} left", span::long(span::between(now, deadline.at))),
        Situation::DeadlinePassed => format!("DEADLINE PASSED, last checked {checked}"),
        Situation::Indexing => "INDEXING".into(),
        Situation::NotFilled => format!("NOT FILLED yet, first reported {in_status} ago"),
        Situation::Completed => match SettledDuration::of(tx) {
            Some(SettledDuration::SinceFirstSeen(time)) => {
                format!("COMPLETED {} after we first saw it", span::long(time))
            }
            Some(SettledDuration::AtMost(time)) => format!("COMPLETED in at most {}", span::long(time)),
            Some(SettledDuration::Measured(time)) => format!("COMPLETED in {}", span::long(time)),
            None => "COMPLETED".into(),
        },
        Situation::Untracked => match &tx.state.status {
            Some(status) => format!("POLLING STOPPED, last status {status} at {checked}"),
            None => "POLLING STOPPED, no status received".into(),
        },
        Situation::RefundWatched => format!("REFUND first seen {in_status} ago, no longer polled"),
        Situation::NeedsGasWithoutLink => needs_gas(),
        Situation::OverdueNotFound => format!("{}, never found", overdue_by(tx, now)),
        Situation::RevertedOnSource => format!("REVERTED on {}", tx.from_name()),
        Situation::PendingOnSource => format!("PENDING on {}, not mined yet", tx.from_name()),
        Situation::DroppedOnSource => format!("DROPPED or replaced on {}", tx.from_name()),
        Situation::WrongSource => {
            let found = found_elsewhere(tx).map(chains::name).unwrap_or_default();
            format!("WRONG CHAIN: found on {found}, not on {}", tx.from_name())
        }
        Situation::UnknownOnChains => {
            let also = match tx.on_chain.as_ref().map(|known| &known.source.verdict) {
                Some(ChainVerdict::Unknown(others)) if !others.is_empty() => {
                    format!(" and {}", text::counted(others.len() as u64, "other chain"))
                }
                _ => "; no other chain could be asked".to_owned(),
            };
            format!("UNKNOWN on {}{also}", tx.from_name())
        }
        Situation::MinedNotFound => {
            let mined = tx.on_chain.as_ref().and_then(|known| known.source.verdict.mined());
            let confirmations = text::counted(mined.map_or(0, |mined| mined.confirmations), "confirmation");
            format!("NOT FOUND by the service, but mined on {} ({confirmations})", tx.from_name())
        }
        Situation::Alert(rule) => match rule {
            Rule::Overdue => overdue_by(tx, now),
            Rule::PartialSuccess => "PARTIAL: the destination transaction reverted".into(),
            Rule::NeedsGas => needs_gas(),
            Rule::Refund => format!("REFUND in progress, first seen {in_status} ago"),
            Rule::RefundSlow => format!("REFUND SLOW, first seen {in_status} ago"),
            Rule::ChainDisagrees => {
                format!("CONTRADICTION: {}", chain_check::contradiction(tx).unwrap_or_default())
            }
            Rule::NotFoundLong => format!("NOT FOUND for {}", span::long(tx.age(now))),
            Rule::Rejected => "REJECTED by the service".into(),
            Rule::Regressed => match (&tx.state.conflict, &tx.state.status) {
                (Some(conflict), _) => format!("CONTRADICTION: {conflict}"),
                (None, Some(status)) if status.raw().is_empty() => "NO STATUS in the answer".into(),
                (None, Some(status)) => format!("UNKNOWN STATUS `{}`", status.raw()),
                (None, None) => "UNKNOWN STATUS".into(),
            },
            Rule::PollFailing => format!("NO ANSWER, {} failures in a row", tx.state.failures),
            Rule::Unauthorized | Rule::Unreachable | Rule::Throttled | Rule::BudgetShort => rule.name().to_uppercase(),
        },
    }
}

fn overdue_by(tx: &Transaction, now: DateTime<Utc>) -> String {
    format!("OVERDUE by {}", span::long(span::between(tx.deadline().at, now)))
}

/// The only table of what to tell the customer, and what to do.
fn situation_texts(situation: Situation) -> (&'static str, &'static str) {
    match situation {
        Situation::NotPolledYet => (
            "We do not have the status of your transfer yet. We will check it and let you know.",
            "nothing yet; the first poll brings the status",
        ),
        Situation::FirstPollFailed => {
            (UNAVAILABLE, "read the error of the last attempt and fix its cause; while hoptop polls, it tries again")
        }
        Situation::Waiting => (
            "Nothing is wrong: your transfer is in progress, and you do not need to do anything. \
             Please check again after {deadline}.",
            "nothing",
        ),
        Situation::DeadlinePassed => (
            "Your transfer was still in progress when we last checked. We are checking again.",
            "poll it now (r, or `hoptop check`) before contacting support",
        ),
        Situation::Indexing => (
            "Your transfer is not visible yet. This usually takes 5 to 10 seconds, and longer on some chains.",
            "nothing",
        ),
        Situation::NotFilled => (
            "Your transfer has not been completed on {destination} yet. You do not need to do anything. \
             Please check again after {deadline}.",
            "nothing before {deadline}; \"not filled\" is the service's own term",
        ),
        Situation::Completed => ("Your transfer is complete: the funds are on {destination}.", "nothing"),
        Situation::Untracked => (
            "We no longer follow this transfer. Please tell us if you would like to know its current status.",
            "polling is stopped; add the transaction again to get its current status",
        ),
        Situation::RefundWatched => (
            "Your transfer failed. By now the funds should have returned on {source} to the sender address that \
             was given for the transfer. Please check there.",
            "check {from_address} on {source}; the service doesn't report when the refund is paid",
        ),
        Situation::NeedsGasWithoutLink => (
            "Your transfer is paused because the network fee (the gas price) rose on {destination}. \
             We will send you a link where you can follow it.",
            "the service gave no bridge link; find the hash in the bridge's explorer and send that link to the user",
        ),
        Situation::OverdueNotFound => (
            "We can't see your transfer, although it should have arrived by now. Please confirm the transaction hash and \
             that it was sent on {source}.",
            "check that the hash is from the source chain (not the destination), the source chain is right, and the \
             transaction is mined; then contact the routing provider's support with the hash, both chains, quoteId and requestId",
        ),
        Situation::RevertedOnSource => (
            "Your transaction on {source} failed, so nothing was transferred. Only the network fee was charged. You can try \
             again.",
            "tell the user to try again; nothing was bridged",
        ),
        Situation::PendingOnSource => (
            "Your transaction is not confirmed on {source} yet. The transfer starts once the network has confirmed it.",
            "wait until it is mined; if it stays pending, the user can speed it up or cancel it in the wallet",
        ),
        Situation::DroppedOnSource => (
            "Your transaction on {source} was replaced or dropped, so it will not be carried out. If you sent another one in \
             its place, please send us its transaction hash.",
            "ask for the hash of the transaction that replaced it, and stop polling this one",
        ),
        Situation::WrongSource => (
            "We found your transaction on {found}, not on {source}. We will check it there.",
            "correct the source chain to {found} ({found_id}): W in the dashboard, or add it again with --from {found_id}",
        ),
        Situation::UnknownOnChains => (
            "We can't find your transaction on {source}. Please send us the transaction hash once more, and tell us on which \
             network you sent it. You find both in the history of your wallet.",
            "ask for the hash again, and on which network it was sent",
        ),
        Situation::MinedNotFound => (
            "Your transaction on {source} succeeded, but its transfer takes longer than usual to appear. We are raising it \
             with the provider.",
            "contact the routing provider's support with the hash, both chains, quoteId and requestId; the source transaction \
             is mined, so the delay is the service's",
        ),
        Situation::Alert(rule) => alert_texts(rule),
    }
}

/// What to tell the customer while polls fail.
const UNAVAILABLE: &str =
    "The status of your transfer is temporarily unavailable. We will check it again and let you know.";

fn alert_texts(rule: Rule) -> (&'static str, &'static str) {
    match rule {
        Rule::Overdue => (
            "Your transfer is still in progress and has taken longer than usual. We are raising it with the provider.",
            "contact the routing provider's support with the hash, both chains, quoteId, requestId and the links",
        ),
        Rule::NeedsGas => (
            "Your transfer is paused because the network fee (the gas price) rose on {destination}. \
             You can see it here: {bridge}",
            "send the bridge link to the user",
        ),
        Rule::PartialSuccess => (
            "The first part of your transfer completed, but its last step on {destination} failed, typically because the \
             price moved or a contract refused it. You hold the bridged token on {destination}.",
            "check the destination transaction; don't promise a refund",
        ),
        Rule::Refund => (
            "Your transfer failed. The funds return automatically on {source} to the sender address that was given for \
             the transfer. That usually takes about 10 minutes.",
            "nothing yet; the refund goes to {from_address}, not to the caller",
        ),
        Rule::RefundSlow => (
            "The refund of your transfer takes longer than usual. We are checking it.",
            "check {from_address} on {source}",
        ),
        Rule::ChainDisagrees => (
            "The status that we received for your transfer is unclear. We are clarifying it with the provider and will let \
             you know.",
            "compare the block explorer with the service's answer, and report both to the provider; in the dashboard, V asks the chain again",
        ),
        Rule::NotFoundLong => (
            "We can't see your transfer yet. Please confirm the transaction hash and that it was sent on {source}.",
            "check that the hash is from the source chain (not the destination), the source chain is right, and the \
             transaction is mined",
        ),
        Rule::Rejected => (
            "We can't look up your transfer with the details that we have. Please confirm the transaction hash, and that it \
             was sent from {source} to {destination}.",
            "correct the parameter that the service names, then add the transaction again",
        ),
        Rule::Regressed => (
            "The status that we received for your transfer is unclear. We are clarifying it with the provider and will let \
             you know.",
            "read the raw body (`hoptop show TX --raw`) and report it to the provider",
        ),
        Rule::PollFailing => (UNAVAILABLE, "read the last error; while hoptop polls, it tries again"),
        // These rules are about a profile, never about a transaction.
        Rule::Unreachable => {
            ("", "check the base URL, the network and the service; while hoptop polls, it tries again")
        }
        Rule::Unauthorized => ("", "check the integrator ID; while hoptop polls, it tries again once a minute"),
        Rule::BudgetShort => ("", "request a higher limit, or track fewer transactions"),
        Rule::Throttled => ("", "another program may use this ID; check --rps against the ID's limit"),
    }
}

/// Returns what to do about an alert of a whole profile.
pub(crate) fn profile_action(rule: Rule) -> &'static str {
    alert_texts(rule).1
}

#[cfg(test)]
mod tests {
    use chrono::{Offset, TimeDelta};

    use super::{super::fixtures, *};
    use crate::domain::{
        alert::RuleKind,
        observation::{RequestFailure, StatusOutcome},
        on_chain::{ChainReading, Mined, OnChainState},
        record::StatusRecord,
        transaction::Tracking,
    };

    fn advice(status: Option<RouterStatus>, minutes: i64) -> Advice {
        let mut tx = fixtures::transaction(1);
        let now = tx.first_seen_at + TimeDelta::minutes(minutes);
        if let Some(status) = status {
            tx.apply(&fixtures::says(status), now);
        }
        advise(&tx, now, Utc.fix())
    }

    #[test]
    fn each_situation_has_its_verdict_and_text() {
        use RouterStatus::*;
        let table = [
            (None, 1, "NOT CHECKED", "do not have the status of your transfer yet"),
            (Some(Ongoing), 5, "WAITING, 10m", "check again after 00:15 UTC."),
            (Some(Ongoing), 20, "OVERDUE by 5m", "raising it"),
            (Some(NotFound), 1, "INDEXING", "5 to 10 seconds"),
            (Some(NotFound), 4, "NOT FOUND for 4m", "confirm the transaction hash"),
            (Some(Success), 4, "COMPLETED 4m after we first saw it", "on Base"),
            (Some(NeedsGas), 4, "NEEDS GAS", "is paused because"),
            (Some(PartialSuccess), 4, "PARTIAL", "bridged token on Base"),
            (Some(Refund), 4, "REFUND", "on Arbitrum to the sender address"),
            (Some(Unknown("settling".into())), 4, "UNKNOWN STATUS `settling`", "unclear"),
        ];
        for (status, minutes, verdict, say) in table {
            let advice = advice(status.clone(), minutes);
            assert!(advice.verdict.starts_with(verdict), "{status:?}: {}", advice.verdict);
            assert!(advice.say.contains(say), "{status:?}: {:?}", advice.say);
            assert!(!advice.act.is_empty() && !advice.act.contains('{'), "{status:?}: {}", advice.act);
        }
    }

    #[test]
    fn only_success_tells_the_customer_that_the_funds_arrived() {
        for status in RouterStatus::DOCUMENTED {
            let mut tx = fixtures::transaction(1);
            tx.apply(&fixtures::says(status.clone()), tx.first_seen_at);
            let is_completed = situation(&tx, tx.first_seen_at) == Situation::Completed;
            assert_eq!(is_completed, status == RouterStatus::Success, "{status}");
            let raises_alert = rule_of_status(&status).is_some();
            assert!(!status.is_final() || is_completed || raises_alert, "{status} ends a transfer, and nobody is told");
        }
    }

    #[test]
    fn chain_verdict_decides_the_situation_of_a_transaction_unknown_to_the_service() {
        use RouterStatus::{NotFound, Ongoing};
        let mined = || Mined { block: 7, time: None, confirmations: 9 };
        let base = || ChainVerdict::Elsewhere(ChainId::new("8453"));
        let table = [
            (None, 1, ChainVerdict::Reverted(mined()), "REVERTED on Arbitrum", "nothing was transferred", "try again"),
            (Some(NotFound), 1, ChainVerdict::Pending, "PENDING on Arbitrum", "not confirmed", "wait"),
            (Some(NotFound), 1, ChainVerdict::Dropped, "DROPPED", "replaced or dropped", "ask for the hash"),
            (Some(NotFound), 1, base(), "WRONG CHAIN: found on Base, not on Arbitrum", "on Base", "--from 8453"),
            (Some(NotFound), 1, ChainVerdict::Unknown(Vec::new()), "INDEXING", "5 to 10 seconds", "nothing"),
            (Some(NotFound), 4, ChainVerdict::Unknown(Vec::new()), "UNKNOWN on Arbitrum", "once more", "hash again"),
            (Some(NotFound), 1, ChainVerdict::Succeeded(mined()), "INDEXING", "5 to 10 seconds", "nothing"),
            (
                Some(NotFound),
                4,
                ChainVerdict::Succeeded(mined()),
                "NOT FOUND by the service, but mined",
                "succeeded",
                "service's",
            ),
            (Some(NotFound), 4, ChainVerdict::CannotBeAsked(String::new()), "NOT FOUND for", "confirm", "mined"),
            (
                Some(Ongoing),
                1,
                ChainVerdict::Reverted(mined()),
                "CONTRADICTION: the service says ongoing",
                "unclear",
                "V asks",
            ),
            (Some(Ongoing), 20, ChainVerdict::Succeeded(mined()), "OVERDUE by", "raising it", "support"),
            (Some(Ongoing), 1, ChainVerdict::Unknown(Vec::new()), "WAITING", "in progress", "nothing"),
        ];
        for (status, minutes, verdict, title, say, act) in table {
            let mut tx = fixtures::transaction(1);
            let now = tx.first_seen_at + TimeDelta::minutes(minutes);
            if let Some(status) = status {
                tx.apply(&fixtures::says(status), now);
            }
            let reading = ChainReading::without_node(verdict);
            tx.on_chain = Some(OnChainState::after(None, reading.clone(), None, now));
            if reading.verdict == ChainVerdict::Dropped {
                let first = advise(&tx, now, Utc.fix()).verdict;
                assert!(first.starts_with("INDEXING"), "one question may miss a block: {first}");
                tx.on_chain = Some(OnChainState::after(tx.on_chain.as_ref(), reading, None, now));
            }
            let advice = advise(&tx, now, Utc.fix());
            assert!(advice.verdict.starts_with(title), "{}", advice.verdict);
            assert!(advice.say.contains(say) && !advice.say.contains('{'), "{title}: {}", advice.say);
            assert!(advice.act.contains(act) && !advice.act.contains('{'), "{title}: {}", advice.act);
            assert!(advice.chain.is_some_and(|chain| chain.starts_with("Arbitrum: ")), "{title}");
        }
    }

    #[test]
    fn transaction_that_no_chain_knows_twice_is_unknown_after_a_minute() {
        let mut tx = fixtures::transaction(1);
        let at = |seconds| tx.first_seen_at + TimeDelta::seconds(seconds);
        let unknown = || ChainReading::without_node(ChainVerdict::Unknown(Vec::new()));
        let first = OnChainState::after(None, unknown(), None, at(20));
        let again = OnChainState::after(Some(&first), unknown(), None, at(50));
        let later = OnChainState::after(Some(&again), unknown(), None, at(80));
        let now = at(80);
        tx.apply(&fixtures::says(RouterStatus::NotFound), now);
        for (known, expected) in
            [(first, Situation::Indexing), (again, Situation::Indexing), (later, Situation::UnknownOnChains)]
        {
            tx.on_chain = Some(known);
            assert_eq!(situation(&tx, now), expected);
        }
    }

    #[test]
    fn a_stopped_transaction_shows_its_last_status() {
        let mut tx = fixtures::transaction(1);
        tx.tracking = Tracking::Untracked;
        let verdict = |tx: &Transaction| advise(tx, tx.first_seen_at + TimeDelta::minutes(30), Utc.fix()).verdict;
        assert_eq!(verdict(&tx), "POLLING STOPPED, no status received");
        tx.apply(&fixtures::says(RouterStatus::Ongoing), tx.first_seen_at + TimeDelta::minutes(2));
        assert_eq!(verdict(&tx), "POLLING STOPPED, last status ongoing at 00:02 UTC");
        let mut tx = fixtures::transaction(1);
        tx.tracking = Tracking::Untracked;
        tx.apply(&fixtures::says(RouterStatus::NotFound), tx.first_seen_at + TimeDelta::minutes(3));
        for (confirmations, expected) in [(1, "POLLING STOPPED"), (64, "REVERTED on")] {
            let reverted = ChainVerdict::Reverted(Mined { block: 7, time: None, confirmations });
            let reading = ChainReading::without_node(reverted);
            tx.on_chain = Some(OnChainState::after(None, reading, None, tx.first_seen_at + TimeDelta::minutes(4)));
            assert!(verdict(&tx).starts_with(expected), "{confirmations}: {}", verdict(&tx));
        }
    }

    #[test]
    fn advice_mentions_polls_that_failed_since_the_last_answer() {
        let not_filled = || fixtures::answer(StatusOutcome::NotFound(Some("Transaction not filled".into())));
        for seen in [fixtures::says(RouterStatus::Ongoing), fixtures::says(RouterStatus::NotFound), not_filled()] {
            let mut tx = fixtures::transaction(1);
            let at = |minutes| tx.first_seen_at + TimeDelta::minutes(minutes);
            let (first, failed, now) = (at(1), at(2), at(2));
            tx.apply(&seen, first);
            let well = advise(&tx, now, Utc.fix()).act;
            for polls in ["the last poll", "the last 2 polls"] {
                tx.apply(
                    &fixtures::answer(StatusOutcome::Failed(RequestFailure::TimedOut(Duration::from_secs(9)))),
                    failed,
                );
                let act = advise(&tx, now, Utc.fix()).act;
                assert_eq!(act, format!("{well}; {polls} failed, so this may be out of date"));
            }
        }
    }

    #[test]
    fn a_status_seen_just_now_has_no_age() {
        let verdict = |seconds: i64| {
            let mut tx = fixtures::transaction(1);
            tx.apply(&fixtures::says(RouterStatus::NeedsGas), tx.first_seen_at);
            advise(&tx, tx.first_seen_at + TimeDelta::seconds(seconds), Utc.fix()).verdict
        };
        assert_eq!([verdict(0), verdict(5)], ["NEEDS GAS, just seen", "NEEDS GAS, first seen 5s ago"]);
    }

    #[test]
    fn a_passed_deadline_without_a_fresh_answer_is_not_called_overdue() {
        let mut tx = fixtures::transaction(1);
        tx.apply(&fixtures::says(RouterStatus::Ongoing), tx.first_seen_at + TimeDelta::minutes(14));
        let late = tx.first_seen_at + TimeDelta::minutes(30);
        assert_eq!(situation(&tx, late), Situation::DeadlinePassed);
    }

    #[test]
    fn the_table_uses_known_names_only_and_values_are_not_filled_again() {
        use Situation::*;
        let known = ["deadline", "source", "destination", "bridge", "from_address", "found", "found_id"];
        let without_alert = [
            NotPolledYet,
            FirstPollFailed,
            Waiting,
            DeadlinePassed,
            Indexing,
            NotFilled,
            Completed,
            Untracked,
            RefundWatched,
            NeedsGasWithoutLink,
            OverdueNotFound,
            RevertedOnSource,
            PendingOnSource,
            DroppedOnSource,
            WrongSource,
            UnknownOnChains,
            MinedNotFound,
        ];
        for situation in without_alert.into_iter().chain(Rule::ALL.iter().map(|rule| Alert(*rule))) {
            let (say, act) = situation_texts(situation);
            for text in [say, act] {
                let names = text.split('{').skip(1).map(|rest| rest.split_once('}').unwrap().0);
                names.for_each(|name| assert!(known.contains(&name), "{name} in {text}"));
            }
            assert!(!act.is_empty(), "{situation:?}");
            // Whether a process polls isn't known here.
            assert!(!act.contains("retries") && !act.contains("keeps"), "{situation:?}: {act}");
            let is_of_profile =
                matches!(situation, Alert(rule) if matches!(rule.kind(), RuleKind::Outage(_) | RuleKind::Budget));
            assert_eq!(say.is_empty(), is_of_profile, "{situation:?}: {say}");
            let is_sentence = say.ends_with(['.', '}']) && !say.contains(';');
            assert!(is_of_profile || is_sentence, "{situation:?}: {say}");
            for jargon in ["GMP", "quoteId", "fromAddress", "integrator", "hoptop", "poll", "not_found", "route"] {
                assert!(!say.contains(jargon), "{jargon} in {say}");
            }
        }
        assert_eq!(fill("{a} and {b}", |name| format!("<{{{name}}}>")), "<{a}> and <{b}>");
    }

    #[test]
    fn needs_gas_shows_the_bridge_link() {
        let mut record = StatusRecord::bare(RouterStatus::NeedsGas);
        record.bridge_url = Some("https://bridge.example/1".into());
        let mut tx = fixtures::transaction(1);
        tx.apply(&fixtures::answer(StatusOutcome::Record(Box::new(record))), tx.first_seen_at);
        let say = advise(&tx, tx.first_seen_at, Utc.fix()).say;
        assert!(say.ends_with("You can see it here: https://bridge.example/1"), "{say}");
    }

    #[test]
    fn a_watched_refund_is_not_called_under_way() {
        let mut tx = fixtures::transaction(1);
        for minutes in [0, 20, 30] {
            tx.apply(&fixtures::says(RouterStatus::Refund), tx.first_seen_at + TimeDelta::minutes(minutes));
        }
        let advice = advise(&tx, tx.first_seen_at + TimeDelta::minutes(45), Utc.fix());
        assert_eq!((advice.situation, tx.is_settled()), (Situation::RefundWatched, true));
        assert!(!advice.say.contains("10 minutes"));
    }

    #[test]
    fn a_transfer_that_was_not_watched_completed_in_at_most_its_age() {
        let verdict = |seen_after: i64, answers: &[i64]| {
            let mut tx = fixtures::transaction(1);
            let submitted = tx.first_seen_at;
            tx.params.submitted_at = Some(submitted);
            tx.first_seen_at = submitted + TimeDelta::minutes(seen_after);
            for seconds in answers {
                tx.apply(&fixtures::says(RouterStatus::Ongoing), tx.first_seen_at + TimeDelta::seconds(*seconds));
            }
            tx.apply(&fixtures::says(RouterStatus::Success), submitted + TimeDelta::minutes(20));
            advise(&tx, submitted + TimeDelta::hours(1), Utc.fix()).verdict
        };
        assert_eq!([verdict(1, &[]), verdict(19, &[])], ["COMPLETED in at most 20m"; 2]);
        assert_eq!([verdict(1, &[5]), verdict(1, &[5, 600])], ["COMPLETED in at most 20m", "COMPLETED in 20m"]);
        assert_eq!(verdict(19, &[5, 50]), "COMPLETED in 20m");
    }

    #[test]
    fn a_transaction_never_found_is_not_called_in_progress() {
        let say = |answer: StatusOutcome| {
            let mut tx = fixtures::transaction(1);
            let late = tx.deadline().at + TimeDelta::minutes(1);
            tx.apply(&fixtures::answer(answer), late);
            let advice = advise(&tx, late, Utc.fix());
            assert!(tx.is_overdue() && advice.verdict.starts_with("OVERDUE by "), "{advice:?}");
            advice.say
        };
        let not_found = |message: &str| StatusOutcome::NotFound(Some(message.to_owned()));
        assert!(say(not_found("no")).starts_with("We can't see your transfer"));
        // In this case the service knows the transaction.
        assert!(say(not_found("Transaction not filled")).contains("still in progress"));
        let ongoing = StatusRecord::bare(RouterStatus::Ongoing);
        assert!(say(StatusOutcome::Record(Box::new(ongoing))).contains("still in progress"));
    }

    #[test]
    fn a_condition_begins_before_an_answer_confirms_it() {
        let tx = fixtures::transaction(1);
        let raised_at = tx.deadline().at + TimeDelta::minutes(29);
        let alert = |rule| Alert { raised_at, ..fixtures::alert(rule, Some(tx.id)) };
        assert_eq!(condition_began(&alert(Rule::Overdue), Some(&tx)).0, tx.deadline().at);
        assert_eq!(condition_began(&alert(Rule::Rejected), Some(&tx)).0, raised_at);
        assert_eq!(condition_began(&alert(Rule::Overdue), None::<&Transaction>).0, raised_at);
    }

    #[test]
    fn a_slow_refund_comes_before_the_refund() {
        let mut tx = fixtures::transaction(1);
        tx.apply(&fixtures::says(RouterStatus::Refund), tx.first_seen_at);
        let late = tx.first_seen_at + TimeDelta::minutes(15);
        assert_eq!(conditions(&tx, late), [Rule::RefundSlow, Rule::Refund]);
    }
}
