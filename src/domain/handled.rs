//! The handling of a transaction's alerts, shown with the advice: a second person must not do the same work.

use chrono::{DateTime, Utc};

use super::{
    alert::{Alert, AlertState, HandlingKind, SnoozeEnd},
    people, span, text,
};

/// Returns a sentence about the handling of the most urgent alert: the person, the age and the note. Returns `None`
/// without alerts, or while one fires. `own` is the reader's name.
pub(crate) fn handling_sentence(
    alerts: &[Alert],
    own: Option<&str>,
    now: DateTime<Utc>,
    write_time: &dyn Fn(DateTime<Utc>) -> String,
) -> Option<String> {
    if alerts.iter().any(|alert| alert.state(now) == AlertState::Firing) {
        return None;
    }
    let handling = alerts.iter().min_by_key(|alert| alert.rule)?.handling.as_ref()?;
    let is_own = |author: &str| own.is_some_and(|own| people::is_author(author, &own.to_lowercase()));
    let who = match handling.author() {
        None => String::new(),
        Some(author) if is_own(author) => "You ".to_owned(),
        Some(author) => format!("{} ", text::clean(author)),
    };
    // Without a name the sentence begins with the participle.
    let beginning =
        |verb: &str, participle: &str| if who.is_empty() { participle.to_owned() } else { format!("{who}{verb} this") };
    Some(match &handling.kind {
        HandlingKind::Acknowledged(note) => {
            let note = note.as_deref().map(text::clean).filter(|note| !note.is_empty());
            let note = note.map_or_else(String::new, |note| format!(": \"{note}\""));
            let ago = span::short(span::between(handling.at, now));
            format!("{} {ago} ago{note}.", beginning("acknowledged", "Acknowledged"))
        }
        HandlingKind::Snoozed(until) => {
            let until = match until {
                SnoozeEnd::Until(moment) => write_time(*moment),
                SnoozeEnd::Change => "the status changes".to_owned(),
            };
            format!("{} until {until}.", beginning("snoozed", "Snoozed"))
        }
    })
}

/// Returns the recommended action, after the sentence about the handling if there is one.
pub(crate) fn action_sentence(handled: Option<&str>, act: &str) -> String {
    match handled {
        None => act.to_owned(),
        Some(handled) => format!("{handled} If you take over: {act}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        alert::{Handling, Rule},
        fixtures::{self, at},
    };

    fn alert(rule: Rule, handling: Option<Handling>) -> Alert {
        Alert { handling, ..fixtures::alert(rule, None) }
    }

    fn acknowledged(author: Option<&str>, note: Option<&str>) -> Option<Handling> {
        let [author, note] = [author, note].map(|text| text.map(str::to_owned));
        Some(Handling { at: at(60), author, kind: HandlingKind::Acknowledged(note) })
    }

    #[test]
    fn the_advice_names_who_handles_the_transaction_since_when_and_the_note() {
        let author = Some("Ana".to_owned());
        let snoozed = |until| Some(Handling { at: at(60), author: author.clone(), kind: HandlingKind::Snoozed(until) });
        let table = [
            (acknowledged(Some("Zoë"), Some("asked\u{7} them")), "Zoë acknowledged this 9m ago: \"asked them\"."),
            (acknowledged(Some("Ana via support"), None), "You acknowledged this 9m ago."),
            (acknowledged(None, Some("asked")), "Acknowledged 9m ago: \"asked\"."),
            (snoozed(SnoozeEnd::Change), "You snoozed this until the status changes."),
            (snoozed(SnoozeEnd::Until(at(3_600))), "You snoozed this until 3600."),
        ];
        let words =
            |alerts: &[Alert]| handling_sentence(alerts, Some("Ana"), at(600), &|at| at.timestamp().to_string());
        for (handling, expected) in table {
            assert_eq!(words(&[alert(Rule::Overdue, handling)]).as_deref(), Some(expected));
        }
        let (fires, handled) = (alert(Rule::Refund, None), alert(Rule::Overdue, acknowledged(None, None)));
        assert_eq!(words(&[handled.clone(), fires]), None, "the alert that fires needs a person");
        assert_eq!(words(&[]), None);
        let said = words(&[alert(Rule::NeedsGas, acknowledged(None, Some("other"))), handled]);
        assert_eq!(said.as_deref(), Some("Acknowledged 9m ago."), "the most urgent alert counts");
        assert_eq!(action_sentence(said.as_deref(), "wait"), "Acknowledged 9m ago. If you take over: wait");
    }
}
