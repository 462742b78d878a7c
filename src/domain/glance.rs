//! A transaction at a glance: the symbols, words and cells that the dashboard's list and `hoptop list` share.
//!
//! Every status is a symbol and a word, every severity a mark; colour is somebody else's. The symbols are ASCII, since
//! others have an ambiguous width in some terminals (`mockups.md`).

use chrono::{DateTime, Utc};

use super::{alert::Severity, chains, span, status::RouterStatus, transaction::Transaction};

/// A severity's mark; none if nothing stands.
pub fn mark(severity: Option<Severity>) -> &'static str {
    match severity {
        Some(Severity::Critical) => "!!",
        Some(Severity::Warning) => "!",
        Some(Severity::Info) => "i",
        None => "",
    }
}

/// A status's symbol and word. One that isn't documented is shown as it came.
pub fn status(status: Option<&RouterStatus>) -> String {
    let known = match status {
        None => ". no answer",
        Some(RouterStatus::Ongoing) => "~ ongoing",
        Some(RouterStatus::Success) => "+ success",
        Some(RouterStatus::NotFound) => "? not_found",
        Some(RouterStatus::NeedsGas) => "G needs_gas",
        Some(RouterStatus::PartialSuccess) => "% partial",
        Some(RouterStatus::Refund) => "< refund",
        Some(unknown @ RouterStatus::Unknown(_)) => return format!("# {unknown}"),
    };
    known.into()
}

/// Where from and where to: `ARB>BASE`.
pub fn route(tx: &Transaction) -> String {
    let from = chains::short_name(&tx.told.from_chain, tx.chain_names.from.as_deref());
    let to = chains::short_name(&tx.told.to_chain, tx.chain_names.to.as_deref());
    format!("{from}>{to}")
}

/// The time left until the deadline, `12m`, or since it passed, `-8m`; of those that don't wait for it `-`.
pub fn due(tx: &Transaction, now: DateTime<Utc>) -> String {
    let at = tx.deadline().at;
    match tx.is_waiting() {
        false => "-".into(),
        true if at <= now => format!("-{}", span::short(span::between(at, now))),
        true => span::short(span::between(now, at)),
    }
}

/// The time since the last answer.
pub fn checked(tx: &Transaction, now: DateTime<Utc>) -> String {
    tx.learned.last_checked_at.map_or_else(|| "-".into(), |at| span::short(span::between(at, now)))
}

/// The ticket, or else the first label.
pub fn ticket(tx: &Transaction) -> &str {
    tx.told.ticket.as_deref().or(tx.labels.first().map(String::as_str)).unwrap_or("-")
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::{super::fixtures, *};

    #[test]
    fn the_countdown_goes_through_the_deadline() {
        let mut tx = fixtures::transaction(1);
        let at = |seconds| tx.first_seen_at + TimeDelta::seconds(seconds);
        let (before, at_it, past) = (at(60), at(900), at(900 + 480));
        assert_eq!([due(&tx, before), due(&tx, at_it), due(&tx, past)], ["14m", "-0s", "-8m"]);
        tx.apply(&fixtures::says(RouterStatus::NeedsGas), before);
        assert_eq!((due(&tx, past), checked(&tx, past)), ("-".into(), "22m".into()));
    }

    #[test]
    fn every_status_has_its_own_symbol() {
        let unknown = RouterStatus::Unknown("X".into());
        let all = RouterStatus::DOCUMENTED.iter().chain([&unknown]).map(Some).chain([None]);
        let symbols: std::collections::HashSet<_> = all.map(|own| status(own).chars().next()).collect();
        assert_eq!(symbols.len(), 8);
    }
}
