//! Notices that reach a person who looks elsewhere: the bell, and the terminal's own way to the desktop.
//!
//! Pure: surroundings, moments and alerts in, a choice and a line out. It must never disturb a person who looks at the screen, nor
//! anybody more than once a minute.

use std::{collections::BTreeMap, time::Duration};

use super::Surroundings;
use crate::{
    clock::Mono,
    domain::{alert::Rule, text},
};

/// From one notice to the next.
const REST: Duration = Duration::from_secs(60);

/// How a terminal is told something for the desktop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationProtocol {
    /// OSC 9: iTerm2, WezTerm, Ghostty.
    Osc9,
    /// OSC 777: urxvt, foot, Ghostty.
    Osc777,
    /// OSC 99: kitty.
    Osc99,
}

/// What the person wants of notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// By what the terminal is known to understand.
    Auto,
    /// None.
    Off,
    /// This, whatever the terminal says of itself.
    Always(NotificationProtocol),
}

impl Wanted {
    /// The words for these in the config file.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("auto", Self::Auto),
        ("off", Self::Off),
        ("osc9", Self::Always(NotificationProtocol::Osc9)),
        ("osc777", Self::Always(NotificationProtocol::Osc777)),
        ("osc99", Self::Always(NotificationProtocol::Osc99)),
    ];
}

/// How notices are given, and whether by way of tmux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotificationSettings {
    /// What the terminal understands, if it is known.
    pub protocol: Option<NotificationProtocol>,
    /// Whether tmux is to hand it on to its terminal.
    pub through_tmux: bool,
    /// Whether the terminal is known to say when it loses the focus, so that a person looks as long as it says nothing.
    pub tells_focus: bool,
    /// Whether the bell rings too.
    pub bell: bool,
}

/// How this terminal is told.
pub fn choose(surroundings: &Surroundings<'_>, (wanted, bell): (Wanted, bool)) -> NotificationSettings {
    let protocol = match wanted {
        Wanted::Off => None,
        Wanted::Always(protocol) => Some(protocol),
        Wanted::Auto => known(surroundings),
    };
    let in_tmux = surroundings.has(&["TMUX"]);
    let tells_focus = known(surroundings).is_some() && !in_tmux;
    NotificationSettings { protocol, through_tmux: protocol.is_some() && in_tmux, tells_focus, bell }
}

/// What the terminal says of itself. Inside of tmux some of it comes from the one outside.
fn known(surroundings: &Surroundings<'_>) -> Option<NotificationProtocol> {
    let is = |name: &str, values: &[&str]| surroundings.is(name, values);
    if surroundings.has(&["KITTY_WINDOW_ID"]) || is("TERM", &["xterm-kitty"]) {
        return Some(NotificationProtocol::Osc99);
    }
    let programs = ["iTerm.app", "iTerm2", "WezTerm", "ghostty"];
    if is("TERM_PROGRAM", &programs) || is("LC_TERMINAL", &programs) || surroundings.has(&["GHOSTTY_RESOURCES_DIR"]) {
        return Some(NotificationProtocol::Osc9);
    }
    let urxvt_or_foot = ["foot", "foot-extra", "rxvt-unicode", "rxvt-unicode-256color"];
    is("TERM", &urxvt_or_foot).then_some(NotificationProtocol::Osc777)
}

impl NotificationSettings {
    /// What the terminal is sent to give this notice; nothing if it understands none.
    pub fn sequence(self, line: &str) -> String {
        // What ends or divides a sequence can't be in one.
        let line = text::clean(line).replace(';', ",");
        let asked = match self.protocol {
            None => String::new(),
            Some(NotificationProtocol::Osc9) => format!("\x1b]9;hoptop: {line}\x1b\\"),
            Some(NotificationProtocol::Osc777) => format!("\x1b]777;notify;hoptop;{line}\x1b\\"),
            Some(NotificationProtocol::Osc99) => format!("\x1b]99;i=hoptop;hoptop: {line}\x1b\\"),
        };
        let asked = match self.through_tmux {
            true => format!("\x1bPtmux;{}\x1b\\", asked.replace('\x1b', "\x1b\x1b")),
            false => asked,
        };
        format!("{asked}{}", if self.bell { "\x07" } else { "" })
    }

    /// Whether a notice would reach anybody.
    pub fn is_open(self) -> bool {
        self.protocol.is_some() || self.bell
    }
}

/// Alerts that nobody was told of yet.
#[derive(Debug, Default)]
pub struct Notices {
    /// How many by rule, the most urgent first.
    raised: BTreeMap<Rule, usize>,
    /// What the last one is about, for a person.
    about: String,
    last: Option<Mono>,
}

impl Notices {
    /// An alert was raised, about this.
    pub fn raised(&mut self, rule: Rule, about: String) {
        *self.raised.entry(rule).or_default() += 1;
        self.about = about;
    }

    /// What is to be said now. Who looks at the screen needs to be told nothing.
    pub fn take(&mut self, is_away: bool, now: Mono) -> Option<String> {
        if !is_away {
            self.raised.clear();
            return None;
        }
        let is_due = self.last.is_none_or(|last| now.since(last) >= REST);
        let count: usize = self.raised.values().sum();
        if count == 0 || !is_due {
            return None;
        }
        self.last = Some(now);
        let raised = std::mem::take(&mut self.raised);
        let about = std::mem::take(&mut self.about);
        let words =
            |(rule, count): (Rule, usize)| if count == 1 { rule.to_string() } else { format!("{count} {rule}") };
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

    fn chosen(variables: &[(&str, &str)], wanted: Wanted) -> NotificationSettings {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(*value));
        choose(&Surroundings { variable: &variable, has_program: &|_| false }, (wanted, false))
    }

    #[test]
    fn a_terminal_is_told_in_what_it_understands() {
        let table = [
            (&[("TERM", "xterm-kitty")][..], Some(NotificationProtocol::Osc99)),
            (&[("TERM_PROGRAM", "WezTerm")], Some(NotificationProtocol::Osc9)),
            (&[("TERM", "foot")], Some(NotificationProtocol::Osc777)),
            (&[("TERM", "xterm-256color")], None),
            (&[("TERM_PROGRAM", "tmux"), ("TMUX", "x"), ("LC_TERMINAL", "iTerm2")], Some(NotificationProtocol::Osc9)),
            (&[], None),
        ];
        for (variables, protocol) in table {
            assert_eq!(chosen(variables, Wanted::Auto).protocol, protocol, "{variables:?}");
            assert_eq!(chosen(variables, Wanted::Off).protocol, None);
        }
        assert_eq!(
            chosen(&[], Wanted::Always(NotificationProtocol::Osc777)).protocol,
            Some(NotificationProtocol::Osc777)
        );
        let within = chosen(&[("TMUX", "x"), ("KITTY_WINDOW_ID", "1")], Wanted::Auto);
        assert!(within.through_tmux && !within.tells_focus, "tmux may say nothing of it");
        assert!(chosen(&[("KITTY_WINDOW_ID", "1")], Wanted::Auto).tells_focus);
    }

    #[test]
    fn nothing_in_a_notice_ends_it_or_begins_another() {
        let way = |protocol, through_tmux| NotificationSettings {
            protocol: Some(protocol),
            through_tmux,
            ..NotificationSettings::default()
        };
        let hostile = "a;b\x07c\x1b]0;evil\x1b\\";
        assert_eq!(way(NotificationProtocol::Osc9, false).sequence(hostile), "\x1b]9;hoptop: a,bc]0,evil\\\x1b\\");
        assert_eq!(way(NotificationProtocol::Osc777, false).sequence("x"), "\x1b]777;notify;hoptop;x\x1b\\");
        assert_eq!(way(NotificationProtocol::Osc99, false).sequence("x"), "\x1b]99;i=hoptop;hoptop: x\x1b\\");
        assert_eq!(
            way(NotificationProtocol::Osc9, true).sequence("x"),
            "\x1bPtmux;\x1b\x1b]9;hoptop: x\x1b\x1b\\\x1b\\"
        );
        assert_eq!(NotificationSettings { bell: true, ..NotificationSettings::default() }.sequence("x"), "\x07");
        assert!(!NotificationSettings::default().is_open() && NotificationSettings::default().sequence("x").is_empty());
    }

    #[test]
    fn who_is_away_is_told_once_a_minute_of_all_that_came() {
        let at = |seconds| Mono(Duration::from_secs(seconds));
        let mut notices = Notices::default();
        assert_eq!(notices.take(true, at(0)), None);
        notices.raised(Rule::Overdue, "0x12...ab ARB>BASE".into());
        assert_eq!(notices.take(true, at(1)).unwrap(), "overdue: 0x12...ab ARB>BASE");
        notices.raised(Rule::NeedsGas, "one".into());
        notices.raised(Rule::Overdue, "another".into());
        notices.raised(Rule::Overdue, "a third".into());
        assert_eq!(notices.take(true, at(60)), None);
        assert_eq!(notices.take(true, at(61)).unwrap(), "3 alerts: 2 overdue, needs_gas");
        notices.raised(Rule::Overdue, "seen".into());
        assert_eq!((notices.take(false, at(200)), notices.take(true, at(201))), (None, None), "it was seen");
    }
}
