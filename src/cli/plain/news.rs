//! What happened, in words: a summary, then a line for each change that matters, the same change of several told once.
//!
//! Symbols and colours carry nothing here. What a person did is not repeated to them.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, FixedOffset, Utc};

use crate::{
    domain::{
        advice,
        alert::Rule,
        change::{Change, What},
        ids::RowId,
        row_text::name_in_words,
        text,
        transaction::Transaction,
    },
    store::{AlertCounts, AlertQuery, FeedReader, Listed, Reader, StoreError},
    tui::model::{Setting, list::Tab},
};

/// So many are named where the same happened to more.
const NAMED: usize = 3;

/// What a look into the store brought.
pub(super) struct PlainNews {
    /// In order.
    pub(super) changes: Vec<Change>,
    /// What something happened to, as it is now.
    pub(super) changed: BTreeMap<RowId, Listed>,
    /// How everything stands, if everything is news.
    pub(super) summary: Vec<String>,
    /// Whether there is more to be told at once.
    pub(super) more: bool,
}

impl PlainNews {
    pub(super) fn of(follower: &FeedReader, setting: &Setting, now: DateTime<Utc>) -> Result<Self, StoreError> {
        follower.changes_with(|news, reader| {
            let mut changed = BTreeMap::new();
            for row in news.rows(false) {
                changed.extend(reader.listed(row)?.map(|listed| (row, listed)));
            }
            let summary = if news.resync { summary(reader, setting, now)? } else { Vec::new() };
            Ok(Self { changes: news.changes, changed, summary, more: news.more })
        })
    }
}

/// How everything stands.
pub(super) fn summary(reader: &Reader, setting: &Setting, now: DateTime<Utc>) -> Result<Vec<String>, StoreError> {
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
    for alert in reader.alerts(AlertQuery::OfProfiles)?.iter().filter(|alert| setting.shows(&alert.profile)) {
        lines.push(format!("{}{}", setting.whose(&alert.profile), of_profile(alert.rule, &alert.message)));
    }
    if let Some((_, tx)) = reader.most_urgent()? {
        lines.push(format!("Most urgent: {}. {}", name_in_words(&tx), what_to_do(&tx, now, setting.zone)));
    }
    lines.push(match (&setting.shown_id, setting.polls) {
        (_, false) => "Not polling.".to_owned(),
        _ if reader.paused_until(&setting.profile, now)?.is_some() => "Polling is paused, in a dashboard.".to_owned(),
        (Some(id), true) if id == "…" => "Polling with an ID that is too short to show its end.".to_owned(),
        (Some(id), true) => format!("Polling with ID ending in {}.", id.trim_start_matches('…')),
        (None, true) => "Polling.".to_owned(),
    });
    Ok(lines.into_iter().map(|line| timed(now, setting, &line)).collect())
}

/// A line with the time first.
pub(super) fn timed(at: DateTime<Utc>, setting: &Setting, line: &str) -> String {
    format!("{} {line}", at.with_timezone(&setting.zone).format("%H:%M:%S"))
}

/// What is told at once.
pub(super) struct News<'a> {
    pub(super) heard: PlainNews,
    pub(super) setting: &'a Setting,
    pub(super) now: DateTime<Utc>,
}

/// The same that happened to some transactions.
struct Group {
    at: DateTime<Utc>,
    text: String,
    rows: Vec<RowId>,
}

impl News<'_> {
    /// The lines: what concerns the whole profile first, then each transaction by what came to it last.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = self.heard.summary.clone();
        let of_profile = self.heard.changes.iter().filter(|change| {
            change.transaction.is_none() && self.setting.shows(&change.profile) && matters(&change.what)
        });
        let whose = |change: &Change| format!("{}{}", self.setting.whose(&change.profile), sentence(&change.what));
        lines.extend(of_profile.map(|change| timed(change.at, self.setting, &whose(change))));
        let mut groups = self.groups();
        groups.sort_by_key(|group| group.at);
        lines.extend(groups.iter().map(|group| timed(group.at, self.setting, &self.told(group))));
        lines
    }

    /// What happened to each transaction in one sentence, and those together to which the same happened.
    fn groups(&self) -> Vec<Group> {
        let (mut of_row, mut places): (Vec<Group>, HashMap<RowId, usize>) = Default::default();
        for change in self.heard.changes.iter().filter(|change| matters(&change.what)) {
            let Some(row) = change.transaction else { continue };
            let text = sentence(&change.what);
            match places.get(&row).and_then(|place| of_row.get_mut(*place)) {
                Some(group) => {
                    group.at = change.at;
                    group.text = format!("{}, {text}", group.text);
                }
                None => {
                    places.insert(row, of_row.len());
                    of_row.push(Group { at: change.at, text, rows: vec![row] });
                }
            }
        }
        let mut groups: Vec<Group> = Vec::new();
        for group in of_row {
            match groups.iter_mut().find(|other| other.text == group.text) {
                Some(other) => {
                    other.at = other.at.max(group.at);
                    other.rows.extend(group.rows);
                }
                None => groups.push(group),
            }
        }
        groups
    }

    fn told(&self, group: &Group) -> String {
        let known: Vec<&Transaction> =
            group.rows.iter().filter_map(|row| Some(&self.heard.changed.get(row)?.transaction)).collect();
        let Group { text, rows, .. } = group;
        let act = if text.contains("alert ") { self.act(&known) } else { String::new() };
        match (rows.len(), known.as_slice()) {
            (1, []) => format!("one that is not tracked any more: {text}"),
            (1, [tx, ..]) => format!("{}: {text}{act}", name_in_words(tx)),
            (count, _) => {
                let named: Vec<String> = known.iter().take(NAMED).map(|tx| name_in_words(tx)).collect();
                let rest = count.saturating_sub(named.len());
                let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
                format!("{count} transactions: {text}{act}. They are {}{rest}", named.join("; "))
            }
        }
    }

    /// What to do about an alert; of several only if that is the same.
    fn act(&self, known: &[&Transaction]) -> String {
        let (now, zone) = (self.now, self.setting.zone);
        match known {
            [] => String::new(),
            [tx] => format!(". {}", what_to_do(tx, now, zone)),
            [first, others @ ..] => {
                let act = |tx: &Transaction| advice::advise(tx, now, zone).act;
                let shared = Some(act(first)).filter(|shared| others.iter().all(|tx| act(tx) == *shared));
                shared.map_or_else(String::new, |act| format!(". To do: {}", text::clean(&act)))
            }
        }
    }
}

/// Whether it is worth a line: neither a mere poll nor what a person did, nor what an alert says as well.
fn matters(what: &What) -> bool {
    !what.is_housekeeping() && !matches!(what, What::Polled | What::PollFailed { .. } | What::StepAdded { .. })
}

fn sentence(what: &What) -> String {
    let told = match what {
        What::StatusChanged { previous: Some(previous), current } => format!("status {current}, it was {previous}"),
        What::StatusChanged { previous: None, current } => format!("status {current}"),
        What::AlertRaised { rule, severity } => format!("alert {rule}, {}", severity.name()),
        What::AlertCleared { rule, .. } => format!("no longer {rule}"),
        What::Throttled { error } => of_profile(Rule::Throttled, error),
        What::Unauthorized { error } => of_profile(Rule::Unauthorized, error),
        What::Unreachable { error } => of_profile(Rule::Unreachable, error),
        other => other.sentence(),
    };
    text::clean(&told)
}

fn of_profile(rule: Rule, error: &str) -> String {
    format!("{rule}: {error}; {}", advice::profile_action(rule))
}

fn what_to_do(tx: &Transaction, now: DateTime<Utc>, zone: FixedOffset) -> String {
    let advice = advice::advise(tx, now, zone);
    text::clean(&format!("{}. To do: {}", advice.verdict, advice.act))
}

#[cfg(test)]
mod tests {
    use chrono::{Offset, TimeDelta};

    use super::*;
    use crate::{
        domain::{alert::Severity, answer::Templates, fixtures as tx},
        tui::keys::Keys,
    };

    fn setting() -> Setting {
        Setting {
            profile: "default".into(),
            beside: Vec::new(),
            shown_id: None,
            demo: false,
            polls: true,
            process: 7,
            zone: Utc.fix(),
            any_chain: false,
            templates: Templates::default(),
            keys: Keys::default(),
            told_by: Vec::new(),
        }
    }

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(second)
    }

    fn change(second: i64, row: Option<i64>, what: What) -> Change {
        let transaction = row.map(RowId);
        Change { seq: second, at: at(second), profile: "default".into(), transaction, what, observation: None }
    }

    fn lines(changes: Vec<Change>) -> Vec<String> {
        let rows = changes.iter().filter_map(|change| change.transaction);
        let listed = |row: RowId| (row, Listed { transaction: tx::transaction(row.0), alerts: Vec::new() });
        let changed = rows.map(listed).collect();
        let heard = PlainNews { changes, changed, summary: Vec::new(), more: false };
        News { heard, setting: &setting(), now: at(60) }.lines()
    }

    fn status(previous: &str, current: &str) -> What {
        What::StatusChanged { previous: Some(previous.into()), current: current.into() }
    }

    #[test]
    fn what_happens_to_one_is_one_line_and_the_same_to_many_is_too() {
        let success = |second, row| change(second, Some(row), status("ongoing", "success"));
        let told = lines(vec![
            success(1, 1),
            change(1, Some(1), What::Settled),
            change(2, Some(9), What::Polled),
            success(2, 2),
            change(3, Some(2), What::Settled),
            success(3, 3),
        ]);
        assert_eq!(told.len(), 2, "{told:#?}");
        assert!(told[0].starts_with("00:00:03 2 transactions: status success, it was ongoing, settled. They are 0x"));
        assert!(told[1].ends_with("Arbitrum to Base: status success, it was ongoing"), "{told:?}");
        let many = lines((1..=20).map(|row| change(row, Some(row), What::Imported)).collect());
        assert!(
            many.len() == 1 && many[0].contains("20 transactions") && many[0].ends_with("; and 17 more"),
            "{many:?}"
        );
    }

    #[test]
    fn an_alert_says_what_to_do_and_a_refused_id_too() {
        let raised = What::AlertRaised { rule: Rule::Overdue, severity: Severity::Critical };
        let told = lines(vec![
            change(5, Some(1), raised),
            change(6, None, What::Unauthorized { error: "no such ID".into() }),
            change(7, Some(1), What::AlertAcknowledged { rule: Rule::Overdue, note: None }),
        ]);
        assert!(told[0].starts_with("00:00:06 unauthorized: no such ID; "), "{told:?}");
        assert!(told[1].contains("alert overdue, critical. ") && told[1].contains(" To do: "), "{told:?}");
        assert_eq!(told.len(), 2);
    }

    #[test]
    fn nothing_can_move_the_cursor() {
        let told = lines(vec![change(1, Some(1), status("ongoing", "\u{1b}[2Jgone\r\n"))]);
        assert!(told.iter().all(|line| !line.contains(char::is_control)), "{told:?}");
    }
}
