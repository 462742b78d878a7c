//! Turns changes into sentences: a summary, then a line for each relevant change; the same change of several
//! transactions is one line.
//!
//! The module must never use symbols or colours, nor repeat an action of the person.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, FixedOffset, Utc};

use crate::{
    domain::{
        advice,
        change::{Change, ChangeKind},
        ids::RowId,
        text,
        transaction::Transaction,
    },
    presentation::row_text::{self, name_in_words},
    store::{AlertCounts, AlertQuery, FeedReader, ListRow, Reader, StoreError},
    tui::{model::DashboardSettings, screens::list::tab::Tab},
};

/// The maximum number of transactions that one line names.
const MAX_NAMED: usize = 3;

/// One batch of changes, with the data that its sentences need.
pub(super) struct ChangeBatch {
    /// The changes, in order.
    changes: Vec<Change>,
    /// The current state of the changed transactions.
    changed: BTreeMap<RowId, ListRow>,
    /// The lines of the summary, after a resync.
    summary: Vec<String>,
    /// Whether more changes are waiting.
    pub(super) has_more: bool,
}

impl ChangeBatch {
    /// Reads the next changes.
    pub(super) fn read(feed: &FeedReader, setting: &DashboardSettings, now: DateTime<Utc>) -> Result<Self, StoreError> {
        feed.changes_with(|batch, reader| {
            let mut changed = BTreeMap::new();
            for row in batch.rows(false) {
                changed.extend(reader.list_row(row)?.map(|listed| (row, listed)));
            }
            let summary = if batch.needs_resync { summary(reader, setting, now)? } else { Vec::new() };
            Ok(Self { changes: batch.changes, changed, summary, has_more: batch.has_more })
        })
    }
}

/// Returns the lines of a summary: counts, alerts, the most urgent transaction, and whether this process polls.
pub(super) fn summary(
    reader: &Reader,
    setting: &DashboardSettings,
    now: DateTime<Utc>,
) -> Result<Vec<String>, StoreError> {
    let count = |tab: Tab| reader.listing(&tab.filter(), now).count();
    let tracked = format!(
        "Tracked {}; needing attention {}, active {}, refunds {}, done {}.",
        count(Tab::All)?,
        count(Tab::Attention)?,
        count(Tab::Active)?,
        count(Tab::Refunds)?,
        count(Tab::Done)?,
    );
    let AlertCounts { firing: [critical, warning, info], handled } =
        AlertCounts::sum(&reader.alerts_by_rule(None, now)?);
    let alerts = format!("{critical} critical, {warning} warning, {info} info");
    let mut lines = vec![
        format!("hoptop, profile {}. {tracked}", text::clean(&setting.profiles().collect::<Vec<_>>().join(", "))),
        format!("Alerts: {alerts}; acknowledged or snoozed {handled}."),
    ];
    for alert in reader.alerts(AlertQuery::OfProfiles)?.iter().filter(|alert| setting.shows_profile(&alert.profile)) {
        lines.push(format!(
            "{}{}",
            setting.profile_prefix(&alert.profile),
            row_text::profile_alert(alert.rule, &alert.message)
        ));
    }
    if let Some((_, tx)) = reader.most_urgent()? {
        lines.push(format!("Most urgent: {}. {}", name_in_words(&tx), format_advice(&tx, now, setting.zone)));
    }
    lines.push(match (&setting.shown_id, setting.is_polling) {
        (_, false) => "Not polling.".to_owned(),
        _ if reader.polling(&setting.profile, now)?.paused_until.is_some() => {
            "Polling is paused in a dashboard.".to_owned()
        }
        (Some(id), true) if id == "…" => "Polling. The ID is too short to show its last characters.".to_owned(),
        (Some(id), true) => format!("Polling with ID ending in {}.", id.trim_start_matches('…')),
        (None, true) => "Polling.".to_owned(),
    });
    Ok(lines.into_iter().map(|line| with_time(now, setting, &line)).collect())
}

/// Returns a line that begins with the time.
pub(super) fn with_time(at: DateTime<Utc>, setting: &DashboardSettings, line: &str) -> String {
    format!("{} {line}", at.with_timezone(&setting.zone).format("%H:%M:%S"))
}

/// A sentence and the transactions to which it applies.
struct SentenceGroup {
    at: DateTime<Utc>,
    text: String,
    rows: Vec<RowId>,
    /// Whether an alert fires with one of the changes, so that the line names the action.
    alert_fires: bool,
}

impl ChangeBatch {
    /// Returns the lines: the summary, then the changes of profiles, then the transactions by the time of their last
    /// change.
    pub(super) fn lines(&self, setting: &DashboardSettings, now: DateTime<Utc>) -> Vec<String> {
        let mut lines = self.summary.clone();
        let of_profile = self.changes.iter().filter(|change| {
            change.transaction.is_none() && setting.shows_profile(&change.profile) && is_relevant(&change.kind)
        });
        let text = |change: &Change| format!("{}{}", setting.profile_prefix(&change.profile), format_change(change));
        lines.extend(of_profile.map(|change| with_time(change.at, setting, &text(change))));
        let mut groups = self.groups();
        groups.sort_by_key(|group| group.at);
        let text = |group: &SentenceGroup| self.format_group(group, now, setting.zone);
        lines.extend(groups.iter().map(|group| with_time(group.at, setting, &text(group))));
        lines
    }

    /// Returns one sentence for the changes of each transaction. Transactions with the same sentence form one group.
    fn groups(&self) -> Vec<SentenceGroup> {
        let (mut of_row, mut indexes): (Vec<SentenceGroup>, HashMap<RowId, usize>) = Default::default();
        for change in self.changes.iter().filter(|change| is_relevant(&change.kind)) {
            let Some(row) = change.transaction else { continue };
            let text = format_change(change);
            let alert_fires = makes_alert_fire(&change.kind);
            match indexes.get(&row).and_then(|index| of_row.get_mut(*index)) {
                Some(group) => {
                    group.at = change.at;
                    group.text = format!("{}, {text}", group.text);
                    group.alert_fires |= alert_fires;
                }
                None => {
                    indexes.insert(row, of_row.len());
                    of_row.push(SentenceGroup { at: change.at, text, rows: vec![row], alert_fires });
                }
            }
        }
        let mut groups: Vec<SentenceGroup> = Vec::new();
        for group in of_row {
            match groups.iter_mut().find(|other| (&other.text, other.alert_fires) == (&group.text, group.alert_fires)) {
                Some(other) => {
                    other.at = other.at.max(group.at);
                    other.rows.extend(group.rows);
                }
                None => groups.push(group),
            }
        }
        groups
    }

    /// Returns the line of a group, without the time.
    fn format_group(&self, group: &SentenceGroup, now: DateTime<Utc>, zone: FixedOffset) -> String {
        let known: Vec<&Transaction> =
            group.rows.iter().filter_map(|row| Some(&self.changed.get(row)?.transaction)).collect();
        let SentenceGroup { text, rows, .. } = group;
        let action = if group.alert_fires { action(&known, now, zone) } else { String::new() };
        match (rows.len(), known.as_slice()) {
            (1, []) => format!("a transaction that is no longer tracked: {text}"),
            (1, [tx, ..]) => format!("{}: {text}{action}", name_in_words(tx)),
            (count, _) => {
                let named: Vec<String> = known.iter().take(MAX_NAMED).map(|tx| name_in_words(tx)).collect();
                let rest = count.saturating_sub(named.len());
                let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
                format!("{count} transactions: {text}{action}. They are {}{rest}", named.join("; "))
            }
        }
    }
}

/// Returns the action about an alert; for several transactions only if all have the same action.
fn action(known: &[&Transaction], now: DateTime<Utc>, zone: FixedOffset) -> String {
    match known {
        [] => String::new(),
        [tx] => format!(". {}", format_advice(tx, now, zone)),
        [first, others @ ..] => {
            let action = |tx: &Transaction| advice::advise(tx, now, zone).act;
            let shared = Some(action(first)).filter(|shared| others.iter().all(|tx| action(tx) == *shared));
            shared.map_or_else(String::new, |action| format!(". To do: {}", text::clean(&action)))
        }
    }
}

/// Whether a change gets a line: not a poll, not a step of the route, not an action of a person, and not a failure that
/// an alert reports as well.
fn is_relevant(kind: &ChangeKind) -> bool {
    // An alert that fires again needs a person, whoever or whatever ended its snooze.
    matches!(kind, ChangeKind::AlertUnsnoozed { .. })
        || !kind.is_routine()
            && !matches!(kind, ChangeKind::Polled | ChangeKind::PollFailed { .. } | ChangeKind::StepAdded { .. })
}

fn makes_alert_fire(kind: &ChangeKind) -> bool {
    matches!(
        kind,
        ChangeKind::AlertRaised { .. } | ChangeKind::AlertFlapping { .. } | ChangeKind::AlertUnsnoozed { .. }
    )
}

/// Returns a change as a sentence without symbols.
fn format_change(change: &Change) -> String {
    let sentence = match &change.kind {
        ChangeKind::StatusChanged { previous: Some(previous), current } => {
            format!("status changed from {previous} to {current}")
        }
        ChangeKind::StatusChanged { previous: None, current } => format!("status {current}"),
        ChangeKind::AlertRaised { rule, severity } => format!("alert {rule}, {}", severity.name()),
        ChangeKind::AlertUnsnoozed { rule } => format!("alert {rule} fires again"),
        ChangeKind::AlertCleared { rule, .. } => format!("no longer {rule}"),
        _ => row_text::change_sentence(change),
    };
    text::clean(&sentence)
}

/// Returns the verdict on a transaction and the action.
fn format_advice(tx: &Transaction, now: DateTime<Utc>, zone: FixedOffset) -> String {
    let advice = advice::advise(tx, now, zone);
    text::clean(&format!("{}. To do: {}", advice.verdict, advice.act))
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::domain::{
        alert::{Rule, Severity},
        fixtures as tx,
    };

    fn setting() -> DashboardSettings {
        DashboardSettings::of_profile("default", 7)
    }

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(second)
    }

    fn change(second: i64, row: Option<i64>, kind: ChangeKind) -> Change {
        let transaction = row.map(RowId);
        Change {
            seq: second,
            at: at(second),
            profile: "default".into(),
            transaction,
            kind,
            observation: None,
            author: None,
        }
    }

    fn lines(changes: Vec<Change>) -> Vec<String> {
        let rows = changes.iter().filter_map(|change| change.transaction);
        let listed = |row: RowId| (row, ListRow { transaction: tx::transaction(row.0), alerts: Vec::new() });
        let changed = rows.map(listed).collect();
        let batch = ChangeBatch { changes, changed, summary: Vec::new(), has_more: false };
        batch.lines(&setting(), at(60))
    }

    fn status(previous: &str, current: &str) -> ChangeKind {
        ChangeKind::StatusChanged { previous: Some(previous.into()), current: current.into() }
    }

    #[test]
    fn changes_of_one_transaction_and_equal_changes_of_several_are_one_line() {
        let success = |second, row| change(second, Some(row), status("ongoing", "success"));
        let output = lines(vec![
            success(1, 1),
            change(1, Some(1), ChangeKind::Settled),
            change(2, Some(9), ChangeKind::Polled),
            success(2, 2),
            change(3, Some(2), ChangeKind::Settled),
            success(3, 3),
        ]);
        assert_eq!(output.len(), 2, "{output:#?}");
        assert!(
            output[0]
                .starts_with("00:00:03 2 transactions: status changed from ongoing to success, settled. They are 0x")
        );
        assert!(output[1].ends_with("Arbitrum to Base: status changed from ongoing to success"), "{output:?}");
        let many = lines((1..=20).map(|row| change(row, Some(row), ChangeKind::Imported)).collect());
        assert!(
            many.len() == 1 && many[0].contains("20 transactions") && many[0].ends_with("; and 17 more"),
            "{many:?}"
        );
    }

    #[test]
    fn alert_and_refused_id_name_the_action() {
        let raised = ChangeKind::AlertRaised { rule: Rule::Overdue, severity: Severity::Critical };
        let output = lines(vec![
            change(5, Some(1), raised),
            change(6, None, ChangeKind::Unauthorized { error: "no such ID".into() }),
            change(7, Some(1), ChangeKind::AlertAcknowledged { rule: Rule::Overdue, note: None }),
        ]);
        assert!(output[0].starts_with("00:00:06 unauthorized: no such ID; "), "{output:?}");
        assert!(output[1].contains("alert overdue, critical. ") && output[1].contains(" To do: "), "{output:?}");
        assert_eq!(output.len(), 2);
    }

    #[test]
    fn lines_contain_no_control_characters() {
        let output = lines(vec![change(1, Some(1), status("ongoing", "\u{1b}[2Jgone\r\n"))]);
        assert!(output.iter().all(|line| !line.contains(char::is_control)), "{output:?}");
    }
}
