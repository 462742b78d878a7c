//! The end of the log, the newest line first, filtered by level and text.
//!
//! At most [`LogTail::MAX_LINES`] lines are held, each cleaned and cut. A line must never hold an integrator ID: none is
//! logged.

use chrono::{DateTime, Utc};

use crate::{
    clock::MonotonicTime,
    domain::{filter::Direction, named::named, text},
};

named! {
    /// The level of a line, the most severe first.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum LogLevel: name, ALL {
        /// A failure that a person should know of.
        Error "ERROR",
        /// A problem that hoptop handles by itself.
        Warn "WARN",
        /// An event without a problem.
        #[default]
        Info "INFO",
    }
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When the line was logged.
    pub at: DateTime<Utc>,
    /// The mark of the store whose process logged the line; empty in lines of earlier versions.
    pub store: String,
    pub level: LogLevel,
    /// The message, cleaned.
    pub text: String,
    /// The profile, cleaned; empty if the line is about no profile.
    pub profile: String,
    /// The transaction's hash, cleaned; empty if the line is about no transaction.
    pub about: String,
    /// The response body, cleaned and cut; empty if there is none.
    pub body: String,
}

impl LogLine {
    /// Parses a line of the log: a moment, the mark of the store, a level, a message, then optionally `profile`,
    /// `about` and `body`. Returns `None` if the line doesn't begin with a moment and a level.
    pub fn parse(line: &str) -> Option<Self> {
        let (at, rest) = line.split_once(' ')?;
        let at = DateTime::parse_from_rfc3339(at).ok()?.to_utc();
        let marked = rest.strip_prefix("store=").and_then(|rest| rest.split_once(' '));
        let (store, rest) = marked.unwrap_or(("", rest));
        let (level, rest) = rest.trim_start().split_once(' ')?;
        let level = LogLevel::ALL.into_iter().find(|known| known.name() == level)?;
        let (words, body) = rest.split_once(" body=").unwrap_or((rest, ""));
        let (words, about) = words.rsplit_once(" about=").unwrap_or((words, ""));
        let (words, profile) = words.rsplit_once(" profile=").unwrap_or((words, ""));
        let [store, text, profile, about, body] =
            [store, words, profile.trim_matches('"'), about.trim_matches('"'), body].map(text::clean);
        Some(Self { at, store, level, text, profile, about, body })
    }

    fn matches(&self, wanted: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(wanted);
        has(&self.text) || has(&self.profile) || has(&self.about) || has(&self.body) || has(self.level.name())
    }
}

/// The part of the log that was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogTail {
    /// The lines, the newest first.
    pub lines: Vec<LogLine>,
    /// The length of the log in bytes when it was loaded. While the length is the same, the log has no new lines.
    pub length: u64,
    /// Whether the log has earlier lines.
    pub is_cut: bool,
}

impl LogTail {
    /// The most lines that are kept.
    pub const MAX_LINES: usize = 2_000;

    /// Parses the end of a log, and leaves out the lines of other stores than the one with this mark. A line without a
    /// moment and a level belongs to the line before it.
    pub fn parse(text: &str, store: &str) -> Vec<LogLine> {
        let mut lines: Vec<LogLine> = Vec::new();
        for line in text.lines() {
            match (LogLine::parse(line), lines.last_mut()) {
                (Some(parsed), _) => lines.push(parsed),
                (None, Some(last)) => last.text = text::clean(&format!("{} {line}", last.text)),
                // The rest of a line whose beginning wasn't read is dropped.
                (None, None) => {}
            }
        }
        lines.retain(|line| line.store.is_empty() || line.store == store);
        lines.reverse();
        lines.truncate(Self::MAX_LINES);
        lines
    }
}

/// The state of the log's screen.
#[derive(Debug, Default)]
pub struct LogPane {
    /// The log that was loaded, or the error; `None` before the first load.
    pub loaded: Option<Result<LogTail, String>>,
    /// The least severe level that is shown.
    pub least: LogLevel,
    /// The text that shown lines contain.
    pub search_text: String,
    /// Whether long lines are wrapped instead of cut.
    pub is_wrapped: bool,
    /// The index of the line at the cursor, among the lines that pass.
    pub cursor: usize,
    /// The number of lines above the first visible line.
    pub top: usize,
    /// When the last load was requested.
    pub load_requested_at: Option<MonotonicTime>,
}

impl LogPane {
    /// Returns all loaded lines, the newest first.
    pub fn all(&self) -> &[LogLine] {
        match &self.loaded {
            Some(Ok(tail)) => &tail.lines,
            Some(Err(_)) | None => &[],
        }
    }

    /// Returns the lines that pass level and text, the newest first.
    pub fn lines(&self) -> impl Iterator<Item = &LogLine> {
        let wanted = self.search_text.to_lowercase();
        self.all().iter().filter(move |line| line.level <= self.least && line.matches(&wanted))
    }

    /// Returns the length in bytes of the loaded log.
    pub fn length(&self) -> Option<u64> {
        self.loaded.as_ref()?.as_ref().ok().map(|tail| tail.length)
    }

    /// Returns the line at the cursor.
    pub fn line(&self) -> Option<&LogLine> {
        self.lines().nth(self.cursor)
    }

    /// Shows the log that was loaded. Unless the cursor is at the newest line, it stays at its line, and the line at its
    /// row.
    pub fn apply_log(&mut self, loaded: Result<LogTail, String>) {
        let line = self.line().filter(|_| self.cursor > 0).cloned();
        self.loaded = Some(loaded);
        if let Some(index) = line.and_then(|line| self.lines().position(|own| *own == line)) {
            self.top = (self.top + index).saturating_sub(self.cursor);
            self.cursor = index;
        }
        let last = self.lines().count().saturating_sub(1);
        (self.cursor, self.top) = (self.cursor.min(last), self.top.min(last));
    }

    /// Moves the cursor to the newest line.
    pub fn go_to_newest(&mut self) {
        (self.cursor, self.top) = (0, 0);
    }

    /// Shows only more severe lines, or all lines again.
    pub fn narrow(&mut self) {
        (self.least, self.cursor, self.top) = (Direction::Backwards.neighbor(&LogLevel::ALL, self.least), 0, 0);
    }

    /// Shows only lines that contain this text.
    pub fn set_search(&mut self, text: &str) {
        (self.search_text, self.cursor, self.top) = (text.to_owned(), 0, 0);
    }

    /// Moves the cursor down by so many lines, or up, and scrolls as little as needed in a pane of so many rows. If
    /// lines are wrapped, the view scrolls further down until the line at the cursor is visible.
    pub fn move_by(&mut self, lines: isize, rows: usize) {
        let last = self.lines().count().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(lines).min(last);
        self.top = self.top.clamp((self.cursor + 1).saturating_sub(rows.max(1)), self.cursor);
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
        let tail = LogTail { lines: LogTail::parse(LOG, ""), ..LogTail::default() };
        LogPane { loaded: Some(Ok(tail)), ..LogPane::default() }
    }

    #[test]
    fn lines_are_parsed_and_the_newest_comes_first() {
        let pane = pane();
        let shown: Vec<_> = pane.lines().map(|line| (line.level, line.text.as_str())).collect();
        assert_eq!(
            shown,
            [
                (LogLevel::Info, "it crashed: frame 1"),
                (LogLevel::Warn, "the service throttled the integrator ID"),
                (LogLevel::Error, "unreachable: connect timeout"),
            ]
        );
        assert_eq!((pane.all()[1].profile.as_str(), pane.all()[1].about.as_str()), ("prod", "0xab"));
        assert_eq!(pane.all()[0].profile, "");
        assert_eq!(pane.all()[1].body, "\"\\u{1b}[31mRATE \\\"X\\\"\"");
    }

    #[test]
    fn level_and_text_filter_the_lines() {
        let mut pane = pane();
        pane.narrow();
        assert_eq!(pane.lines().count(), 2);
        pane.narrow();
        assert_eq!(pane.lines().map(|line| line.level).collect::<Vec<_>>(), [LogLevel::Error]);
        pane.narrow();
        pane.set_search("rate");
        assert_eq!(pane.lines().count(), 1);
    }

    #[test]
    fn cursor_stays_at_its_line_and_row_after_another_read() {
        let mut pane = pane();
        pane.move_by(2, 2);
        assert_eq!((pane.cursor, pane.top), (2, 1));
        let seen = pane.line().cloned();
        let more = format!("{LOG}2026-11-20T14:03:11Z  INFO one more\n2026-11-20T14:03:12Z  INFO two more\n");
        pane.apply_log(Ok(LogTail { lines: LogTail::parse(&more, ""), ..LogTail::default() }));
        assert_eq!((pane.cursor, pane.top, pane.line().cloned()), (4, 3, seen));
        pane.move_by(-2, 2);
        assert_eq!((pane.cursor, pane.top), (2, 2));
        pane.move_by(isize::MIN, 2);
        pane.apply_log(Ok(LogTail { lines: LogTail::parse(LOG, ""), ..LogTail::default() }));
        assert_eq!((pane.cursor, pane.top), (0, 0), "at the newest line the cursor follows");
        pane.apply_log(Err("gone".into()));
        assert_eq!((pane.cursor, pane.top, pane.lines().count()), (0, 0, 0));
    }

    #[test]
    fn lines_of_other_stores_are_left_out() {
        let log = "2026-11-20T14:03:10Z store=aa11  WARN own\n2026-11-20T14:03:11Z store=bb22  WARN other\n more of the other\n\
            2026-11-20T14:03:12Z  INFO of an earlier version\n2026-11-20T14:03:13Z store=aa11 ERROR last\n";
        let texts: Vec<_> = LogTail::parse(log, "aa11").into_iter().map(|line| line.text).collect();
        assert_eq!(texts, ["last", "of an earlier version", "own"]);
    }

    #[test]
    fn the_number_of_lines_and_the_length_of_a_line_are_bounded() {
        let line = format!("2026-11-20T14:03:10Z  WARN {}\n", "x".repeat(9_999));
        let lines = LogTail::parse(&line.repeat(LogTail::MAX_LINES + 50), "");
        assert_eq!(lines.len(), LogTail::MAX_LINES);
        assert!(lines[0].text.chars().count() <= text::FIELD_LIMIT);
    }
}
