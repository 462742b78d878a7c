//! Notifications for a person in another window: the bell, and the terminal's desktop notifications.
//!
//! Pure: environment, moments and alerts in, a protocol and a line out. A notification must never disturb a person who
//! looks at the screen, nor come more than once a minute.

use std::{collections::BTreeMap, time::Duration};

use super::environment::TerminalEnvironment;
use crate::{
    clock::MonotonicTime,
    domain::{alert::Rule, notification::NotificationMode, text},
};

/// The shortest interval between two notifications.
const MIN_INTERVAL: Duration = Duration::from_secs(60);

/// A terminal's protocol for desktop notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationProtocol {
    /// OSC 9: iTerm2, WezTerm, Ghostty.
    Osc9,
    /// OSC 777: urxvt, foot, Ghostty.
    Osc777,
    /// OSC 99: kitty.
    Osc99,
}

/// How notifications are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotificationSettings {
    /// The terminal's protocol, if it is known.
    pub protocol: Option<NotificationProtocol>,
    /// Whether tmux must forward the sequence to its terminal.
    pub goes_through_tmux: bool,
    /// Whether the terminal is known to report a loss of focus; until such a report the person is looking.
    pub reports_focus: bool,
    /// Whether the bell rings with a notification.
    pub has_bell: bool,
}

/// Returns how notifications are sent to this terminal.
pub(crate) fn choose(
    environment: &TerminalEnvironment<'_>,
    wanted: NotificationMode,
    has_bell: bool,
) -> NotificationSettings {
    let protocol = match wanted {
        NotificationMode::Off => None,
        NotificationMode::Osc9 => Some(NotificationProtocol::Osc9),
        NotificationMode::Osc777 => Some(NotificationProtocol::Osc777),
        NotificationMode::Osc99 => Some(NotificationProtocol::Osc99),
        NotificationMode::Auto => known(environment),
    };
    let in_tmux = environment.has(&["TMUX"]);
    let reports_focus = known(environment).is_some() && !in_tmux;
    NotificationSettings { protocol, goes_through_tmux: protocol.is_some() && in_tmux, reports_focus, has_bell }
}

/// Returns the protocol that the variables announce. Within tmux some variables describe the outer terminal.
fn known(environment: &TerminalEnvironment<'_>) -> Option<NotificationProtocol> {
    let is = |name: &str, values: &[&str]| environment.is(name, values);
    if environment.has(&["KITTY_WINDOW_ID"]) || is("TERM", &["xterm-kitty"]) {
        return Some(NotificationProtocol::Osc99);
    }
    let programs = ["iTerm.app", "iTerm2", "WezTerm", "ghostty"];
    if is("TERM_PROGRAM", &programs) || is("LC_TERMINAL", &programs) || environment.has(&["GHOSTTY_RESOURCES_DIR"]) {
        return Some(NotificationProtocol::Osc9);
    }
    let urxvt_or_foot = ["foot", "foot-extra", "rxvt-unicode", "rxvt-unicode-256color"];
    is("TERM", &urxvt_or_foot).then_some(NotificationProtocol::Osc777)
}

impl NotificationSettings {
    /// Returns the escape sequence of a notification; empty if the terminal supports no protocol and the bell is off.
    pub fn sequence(self, line: &str) -> String {
        // The text must not contain characters that end or divide a sequence.
        let line = text::clean(line).replace(';', ",");
        let asked = match self.protocol {
            None => String::new(),
            Some(NotificationProtocol::Osc9) => format!("\x1b]9;hoptop: {line}\x1b\\"),
            Some(NotificationProtocol::Osc777) => format!("\x1b]777;notify;hoptop;{line}\x1b\\"),
            Some(NotificationProtocol::Osc99) => format!("\x1b]99;i=hoptop;hoptop: {line}\x1b\\"),
        };
        let asked = match self.goes_through_tmux {
            true => format!("\x1bPtmux;{}\x1b\\", asked.replace('\x1b', "\x1b\x1b")),
            false => asked,
        };
        format!("{asked}{}", if self.has_bell { "\x07" } else { "" })
    }

    /// Whether notifications are sent at all.
    pub fn is_enabled(self) -> bool {
        self.protocol.is_some() || self.has_bell
    }
}

/// Alerts for the next notification.
#[derive(Debug, Default)]
pub(crate) struct DesktopNotifications {
    /// The number of alerts by rule, the most urgent first.
    raised: BTreeMap<Rule, usize>,
    /// The subject of the last alert, for a person.
    about: String,
    last: Option<MonotonicTime>,
}

impl DesktopNotifications {
    /// Adds raised alerts, each with its subject.
    pub(crate) fn queue(&mut self, raised: Vec<(Rule, String)>) {
        for (rule, about) in raised {
            *self.raised.entry(rule).or_default() += 1;
            self.about = about;
        }
    }

    /// Returns the notification to send now, if one is due. A person at the screen needs no notification, so the alerts
    /// are dropped.
    pub(crate) fn take(&mut self, is_away: bool, now: MonotonicTime) -> Option<String> {
        if !is_away {
            self.raised.clear();
            return None;
        }
        let is_due = self.last.is_none_or(|last| now.since(last) >= MIN_INTERVAL);
        let count: usize = self.raised.values().sum();
        if count == 0 || !is_due {
            return None;
        }
        self.last = Some(now);
        let raised = std::mem::take(&mut self.raised);
        let about = std::mem::take(&mut self.about);
        let words = |(rule, count): (Rule, usize)| {
            if count == 1 { rule.label().to_owned() } else { format!("{count} {}", rule.label()) }
        };
        let rules: Vec<String> = raised.into_iter().map(words).collect();
        Some(match count {
            1 if !about.is_empty() => format!("{}: {about}", rules.join("")),
            1 => rules.join(""),
            count => format!("{count} alerts: {}", rules.join(", ")),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn chosen(variables: &[(&str, &str)], wanted: NotificationMode) -> NotificationSettings {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(*value));
        choose(&TerminalEnvironment { variable: &variable, has_program: &|_| false }, wanted, false)
    }

    #[test]
    fn the_protocol_follows_the_terminal() {
        let table = [
            (&[("TERM", "xterm-kitty")][..], Some(NotificationProtocol::Osc99)),
            (&[("TERM_PROGRAM", "WezTerm")], Some(NotificationProtocol::Osc9)),
            (&[("TERM", "foot")], Some(NotificationProtocol::Osc777)),
            (&[("TERM", "xterm-256color")], None),
            (&[("TERM_PROGRAM", "tmux"), ("TMUX", "x"), ("LC_TERMINAL", "iTerm2")], Some(NotificationProtocol::Osc9)),
            (&[], None),
        ];
        for (variables, protocol) in table {
            assert_eq!(chosen(variables, NotificationMode::Auto).protocol, protocol, "{variables:?}");
            assert_eq!(chosen(variables, NotificationMode::Off).protocol, None);
        }
        assert_eq!(chosen(&[], NotificationMode::Osc777).protocol, Some(NotificationProtocol::Osc777));
        let within = chosen(&[("TMUX", "x"), ("KITTY_WINDOW_ID", "1")], NotificationMode::Auto);
        assert!(within.goes_through_tmux && !within.reports_focus, "tmux may not forward focus reports");
        assert!(chosen(&[("KITTY_WINDOW_ID", "1")], NotificationMode::Auto).reports_focus);
    }

    #[test]
    fn text_in_a_notification_can_not_end_its_sequence_or_begin_another() {
        let settings = |protocol, goes_through_tmux| NotificationSettings {
            protocol: Some(protocol),
            goes_through_tmux,
            ..NotificationSettings::default()
        };
        let hostile = "a;b\x07c\x1b]0;evil\x1b\\";
        assert_eq!(settings(NotificationProtocol::Osc9, false).sequence(hostile), "\x1b]9;hoptop: a,bc]0,evil\\\x1b\\");
        assert_eq!(settings(NotificationProtocol::Osc777, false).sequence("x"), "\x1b]777;notify;hoptop;x\x1b\\");
        assert_eq!(settings(NotificationProtocol::Osc99, false).sequence("x"), "\x1b]99;i=hoptop;hoptop: x\x1b\\");
        assert_eq!(
            settings(NotificationProtocol::Osc9, true).sequence("x"),
            "\x1bPtmux;\x1b\x1b]9;hoptop: x\x1b\x1b\\\x1b\\"
        );
        assert_eq!(NotificationSettings { has_bell: true, ..NotificationSettings::default() }.sequence("x"), "\x07");
        assert!(
            !NotificationSettings::default().is_enabled() && NotificationSettings::default().sequence("x").is_empty()
        );
    }

    #[test]
    fn a_person_who_is_away_gets_one_notification_a_minute_about_all_alerts() {
        let at = |seconds| MonotonicTime(Duration::from_secs(seconds));
        let mut notifications = DesktopNotifications::default();
        assert_eq!(notifications.take(true, at(0)), None);
        notifications.queue(vec![(Rule::Overdue, "0x12...ab ARB>BASE".into())]);
        assert_eq!(notifications.take(true, at(1)).unwrap(), "overdue: 0x12...ab ARB>BASE");
        notifications.queue(vec![(Rule::NeedsGas, "one".into())]);
        notifications.queue(vec![(Rule::Overdue, "another".into())]);
        notifications.queue(vec![(Rule::Overdue, "a third".into())]);
        assert_eq!(notifications.take(true, at(60)), None);
        assert_eq!(notifications.take(true, at(61)).unwrap(), "3 alerts: 2 overdue, needs gas");
        notifications.queue(vec![(Rule::Overdue, "seen".into())]);
        assert_eq!(
            (notifications.take(false, at(200)), notifications.take(true, at(201))),
            (None, None),
            "a person at the screen has seen the alert"
        );
    }
}
