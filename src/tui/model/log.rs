//! The end of the log as it is shown: what happened, the newest first, of the levels and with the words that a person wants.
//!
//! It holds no more than [`LogTail::MOST`] lines, each cleaned and cut. It must never hold an integrator ID: none comes into
//! the log.

use chrono::{DateTime, Utc};

use crate::{clock::Mono, domain::text};

/// How grave a line is, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed that a person should know of.
    Error,
    /// Something went wrong, and it goes on.
    Warn,
    /// Something happened.
    Info,
}

impl Level {
    /// In a word, as in the log.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Warn => "WARN",
            Self::Info => "INFO",
        }
    }

    fn of(word: &str) -> Option<Self> {
        [Self::Error, Self::Warn, Self::Info].into_iter().find(|level| level.word() == word)
    }

    /// The next narrower one, and from the narrowest back to all.
    pub fn narrower(self) -> Self {
        match self {
            Self::Info => Self::Warn,
            Self::Warn => Self::Error,
            Self::Error => Self::Info,
        }
    }
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When.
    pub at: DateTime<Utc>,
    /// How grave.
    pub level: Level,
    /// What happened, clean.
    pub text: String,
    /// The profile that it happened to, clean; empty if it is about none.
    pub profile: String,
    /// What it is about, clean: a hash; empty if it is about nothing in particular.
    pub about: String,
    /// The body that came with it, clean and cut; empty if none did.
    pub body: String,
}

impl LogLine {
    /// From a line as it stands in the log: a moment, a level, words, perhaps the profile, what it is about, and a body. `None` if
    /// it doesn't begin like that.
    pub fn parse(line: &str) -> Option<Self> {
        let (at, rest) = line.split_once(' ')?;
        let at = DateTime::parse_from_rfc3339(at).ok()?.to_utc();
        let (level, rest) = rest.trim_start().split_once(' ')?;
        let (words, body) = rest.split_once(" body=").unwrap_or((rest, ""));
        let (words, about) = words.rsplit_once(" about=").unwrap_or((words, ""));
        let (words, profile) = words.rsplit_once(" profile=").unwrap_or((words, ""));
        let [text, profile, about, body] =
            [words, profile.trim_matches('"'), about.trim_matches('"'), body].map(text::clean);
        Some(Self { at, level: Level::of(level)?, text, profile, about, body })
    }

    fn holds(&self, wanted: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(wanted);
        has(&self.text) || has(&self.profile) || has(&self.about) || has(&self.body) || has(self.level.word())
    }
}

/// What was read of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogTail {
    /// The newest first.
    pub lines: Vec<LogLine>,
    /// Bytes of the log when it was read: as long as it is as long, nothing new stands in it.
    pub length: u64,
    /// Whether there is more before it.
    pub is_cut: bool,
}

impl LogTail {
    /// The most lines that are kept.
    pub const MOST: usize = 2_000;

    /// From the end of a log. What doesn't begin like a line goes on with the one before it.
    pub fn parse(text: &str) -> Vec<LogLine> {
        let mut lines: Vec<LogLine> = Vec::new();
        for line in text.lines() {
            match (LogLine::parse(line), lines.last_mut()) {
                (Some(parsed), _) => lines.push(parsed),
                (None, Some(last)) => last.text = text::clean(&format!("{} {line}", last.text)),
                // The rest of a line whose beginning wasn't read.
                (None, None) => {}
            }
        }
        lines.reverse();
        lines.truncate(Self::MOST);
        lines
    }
}

/// The log's state on the screen.
#[derive(Debug)]
pub struct LogPane {
    /// What was read, or why it couldn't be; `None` until then.
    pub read: Option<Result<LogTail, String>>,
    /// Lines that are less grave aren't shown.
    pub least: Level,
    /// Only lines with this text are shown.
    pub wanted: String,
    /// Whether long lines are wrapped, rather than cut.
    pub wrap: bool,
    /// Lines that are scrolled away.
    pub top: usize,
    /// When it was last read.
    pub asked_at: Option<Mono>,
}

impl Default for LogPane {
    fn default() -> Self {
        Self { read: None, least: Level::Info, wanted: String::new(), wrap: false, top: 0, asked_at: None }
    }
}

impl LogPane {
    /// What was read, the newest first.
    pub fn all(&self) -> &[LogLine] {
        match &self.read {
            Some(Ok(tail)) => &tail.lines,
            Some(Err(_)) | None => &[],
        }
    }

    /// What is shown of it.
    pub fn lines(&self) -> impl Iterator<Item = &LogLine> {
        let wanted = self.wanted.to_lowercase();
        self.all().iter().filter(move |line| line.level <= self.least && line.holds(&wanted))
    }

    /// Bytes of what was read.
    pub fn length(&self) -> Option<u64> {
        self.read.as_ref()?.as_ref().ok().map(|tail| tail.length)
    }

    /// Takes in what was read. Who has scrolled keeps what is in sight.
    pub fn take_in(&mut self, read: Result<LogTail, String>) {
        let in_sight = self.lines().nth(self.top).filter(|_| self.top > 0).cloned();
        self.read = Some(read);
        if let Some(place) = in_sight.and_then(|line| self.lines().position(|own| *own == line)) {
            self.top = place;
        }
        self.top = self.top.min(self.lines().count().saturating_sub(1));
    }

    /// Shows the graver ones alone, or all again.
    pub fn narrow(&mut self) {
        (self.least, self.top) = (self.least.narrower(), 0);
    }

    /// Shows lines with this text alone.
    pub fn want(&mut self, text: &str) {
        (self.wanted, self.top) = (text.to_owned(), 0);
    }

    /// Scrolls so many lines down, or up, as far as `end`.
    pub fn move_by(&mut self, lines: isize, end: usize) {
        self.top = self.top.saturating_add_signed(lines).min(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "half a line\n\
        2026-11-20T12:10:02.000001Z ERROR unreachable: connect timeout\n\
        2026-11-20T14:03:09.5Z  WARN the service throttled the integrator ID profile=\"prod\" about=\"0xab\" body=\"\\u{1b}[31mRATE \\\"X\\\"\"\n\
        2026-11-20T14:03:10Z  INFO it crashed:\n   frame 1\n";

    fn pane() -> LogPane {
        let tail = LogTail { lines: LogTail::parse(LOG), ..LogTail::default() };
        LogPane { read: Some(Ok(tail)), ..LogPane::default() }
    }

    #[test]
    fn lines_are_told_apart_and_the_newest_comes_first() {
        let pane = pane();
        let shown: Vec<_> = pane.lines().map(|line| (line.level, line.text.as_str())).collect();
        assert_eq!(
            shown,
            [
                (Level::Info, "it crashed: frame 1"),
                (Level::Warn, "the service throttled the integrator ID"),
                (Level::Error, "unreachable: connect timeout"),
            ]
        );
        assert_eq!((pane.all()[1].profile.as_str(), pane.all()[1].about.as_str()), ("prod", "0xab"));
        assert_eq!(pane.all()[0].profile, "");
        assert_eq!(pane.all()[1].body, "\"\\u{1b}[31mRATE \\\"X\\\"\"");
    }

    #[test]
    fn levels_and_words_narrow_it_down() {
        let mut pane = pane();
        pane.narrow();
        assert_eq!(pane.lines().count(), 2);
        pane.narrow();
        assert_eq!(pane.lines().map(|line| line.level).collect::<Vec<_>>(), [Level::Error]);
        pane.narrow();
        pane.want("rate");
        assert_eq!(pane.lines().count(), 1);
    }

    #[test]
    fn who_has_scrolled_keeps_what_is_in_sight() {
        let mut pane = pane();
        pane.move_by(1, 9);
        let seen = pane.lines().nth(1).cloned();
        let more = format!("{LOG}2026-11-20T14:03:11Z  INFO one more\n2026-11-20T14:03:12Z  INFO two more\n");
        pane.take_in(Ok(LogTail { lines: LogTail::parse(&more), ..LogTail::default() }));
        assert_eq!((pane.top, pane.lines().nth(3).cloned()), (3, seen));
        pane.take_in(Err("gone".into()));
        assert_eq!((pane.top, pane.lines().count()), (0, 0));
    }

    #[test]
    fn a_long_log_is_bounded_and_so_is_each_line() {
        let line = format!("2026-11-20T14:03:10Z  WARN {}\n", "x".repeat(9_999));
        let lines = LogTail::parse(&line.repeat(LogTail::MOST + 50));
        assert_eq!(lines.len(), LogTail::MOST);
        assert!(lines[0].text.chars().count() <= text::FIELD_LIMIT);
    }
}
