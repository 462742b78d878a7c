//! Pastes without brackets: many keys at once are text, never commands (`mockups.md`, Keys).
//!
//! No person types eight letters between two reads of the input, and hardly four, unless the first letter opens a text
//! field. A key that is held down over a slow line arrives as a burst too, but always as the same letter. Typed keys
//! that count as a paste do no harm; a paste that counts as keys would run commands on the selected transaction.
//!
//! A terminal that puts brackets around its pastes is never second-guessed: there, keys are keys, however fast they
//! come.

use std::{collections::HashSet, time::Duration};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::clock::MonotonicTime;

/// The number of letters, and of different letters, from which on keys count as a paste.
const LETTERS: usize = 8;
const DIFFERENT: usize = 4;
/// The same for letters that don't begin with a key of [`FIELDS`].
const FEW_LETTERS: usize = 4;
const FEW_DIFFERENT: usize = 3;
/// The keys that open a text field: filter, command palette, search in the help. The letters after them may be typed.
const FIELDS: [char; 3] = ['/', ':', '?'];
/// The beginning of a hash. Keys that are meant as commands never begin like this.
const HASH: &str = "0x";
/// Letters that follow a part of a paste within this time belong to the paste.
const GAP: Duration = Duration::from_millis(100);

/// An event, or a paste that arrived as single keys.
#[derive(Debug, PartialEq)]
pub(super) enum SortedInput {
    /// An event, unchanged.
    Event(Event),
    /// The letters of a paste, or of a part of one.
    Burst(String),
}

/// The state of a paste between two batches of events.
#[derive(Debug, Default)]
pub(super) struct BurstDetector {
    until: Option<MonotonicTime>,
    /// Whether the terminal is known to put brackets around pastes.
    has_brackets: bool,
}

impl BurstDetector {
    /// Returns the state for a terminal that is or isn't known to put brackets around pastes.
    pub(super) fn new(has_brackets: bool) -> Self {
        Self { until: None, has_brackets }
    }

    /// Returns the events of one batch, with pasted keys combined into one text. While a person types into a text
    /// field, a paste needs more letters.
    pub(super) fn sort_events(&mut self, events: Vec<Event>, is_typing: bool, now: MonotonicTime) -> Vec<SortedInput> {
        // A paste in brackets shows that the terminal has them.
        self.has_brackets |= events.iter().any(|event| matches!(event, Event::Paste(_)));
        if self.has_brackets {
            return events.into_iter().map(SortedInput::Event).collect();
        }
        let text: String = events.iter().filter_map(letter).collect();
        let goes_on = self.until.is_some_and(|until| now <= until) && !text.is_empty();
        let is_paste = has_letters(&text, LETTERS, DIFFERENT);
        // A filter, a command or a search in the help is typed, however fast its keys arrive.
        let is_typed_field = !is_typing && !goes_on && opens_field(&text);
        // A short paste has no keys without letters, such as Backspace.
        let has_others = events.iter().any(|event| matches!(event, Event::Key(_)) && letter(event).is_none());
        if is_typed_field || !goes_on && !is_paste && (is_typing || has_others || !is_short_paste(&text)) {
            return events.into_iter().map(SortedInput::Event).collect();
        }
        self.until = Some(now + GAP);
        // Keys without letters within a paste are dropped.
        let others = events.into_iter().filter(|event| !matches!(event, Event::Key(_))).map(SortedInput::Event);
        others.chain([SortedInput::Burst(text)]).collect()
    }
}

/// Whether a text is one line that begins with a key of [`FIELDS`] and goes on as a filter, a command or a word does. A
/// pasted path or link has a slash further on, and a pasted hash has `0x`. A command with its Enter is a paste: a paste
/// must never run a command.
fn opens_field(text: &str) -> bool {
    let line = if text.starts_with(':') { text } else { text.strip_suffix('\n').unwrap_or(text) };
    let Some(typed) = line.strip_prefix(FIELDS) else { return false };
    !typed.contains(['/', '\n', '\t', ',', ';', '{', '"']) && !typed.to_ascii_lowercase().contains(HASH)
}

/// Whether a text counts as a paste where each of its letters would be a command.
fn is_short_paste(text: &str) -> bool {
    let is_hash = text.get(..HASH.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(HASH));
    is_hash || (has_letters(text, FEW_LETTERS, FEW_DIFFERENT) && !text.starts_with(FIELDS))
}

/// Whether a text has at least this many letters, and this many different ones.
fn has_letters(text: &str, letters: usize, different: usize) -> bool {
    text.chars().count() >= letters && text.chars().collect::<HashSet<_>>().len() >= different
}

/// Returns the letter of a key; `None` for other events and keys.
fn letter(event: &Event) -> Option<char> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    if *kind == KeyEventKind::Release {
        return None;
    }
    let plain = !modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match code {
        KeyCode::Char(letter) if plain => Some(*letter),
        // A line feed in raw mode.
        KeyCode::Char('j') if *modifiers == KeyModifiers::CONTROL => Some('\n'),
        KeyCode::Enter => Some('\n'),
        KeyCode::Tab => Some('\t'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::fixtures::at;

    fn keys(text: &str) -> Vec<Event> {
        let key = |letter| match letter {
            '\r' => KeyEvent::from(KeyCode::Enter),
            '\n' => KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL),
            '\u{3}' => KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL),
            letter => KeyEvent::from(KeyCode::Char(letter)),
        };
        text.chars().map(|letter| Event::Key(key(letter))).collect()
    }

    fn unsorted(events: Vec<Event>) -> Vec<SortedInput> {
        events.into_iter().map(SortedInput::Event).collect()
    }

    #[test]
    fn few_letters_into_a_field_and_keys_with_backspace_are_typed() {
        assert_eq!(BurstDetector::default().sort_events(keys("vip\r"), true, at(0)), unsorted(keys("vip\r")));
        let long = BurstDetector::default().sort_events(keys("0x8376a119\r"), true, at(0));
        assert_eq!(long, [SortedInput::Burst("0x8376a119\n".into())]);
        let mut repaired = keys("abcd");
        repaired.push(Event::Key(KeyCode::Backspace.into()));
        assert_eq!(BurstDetector::default().sort_events(repaired.clone(), false, at(0)), unsorted(repaired));
    }

    #[test]
    fn where_pastes_have_brackets_fast_keys_are_keys() {
        let mut burst_detector = BurstDetector::new(true);
        assert_eq!(burst_detector.sort_events(keys("gg5jjya\r"), false, at(0)), unsorted(keys("gg5jjya\r")));
        let mut burst_detector = BurstDetector::default();
        assert_eq!(burst_detector.sort_events(keys("SUP-4412"), false, at(0)), [SortedInput::Burst("SUP-4412".into())]);
        let paste = || Event::Paste("0x9f".into());
        assert_eq!(burst_detector.sort_events(vec![paste()], false, at(10)), [SortedInput::Event(paste())]);
        assert_eq!(burst_detector.sort_events(keys("SUP-4412"), false, at(20)), unsorted(keys("SUP-4412")));
    }

    #[test]
    fn a_burst_of_letters_is_a_paste() {
        let sorted = BurstDetector::default().sort_events(keys("0x9f3c,1,2\rxqdu\n"), false, at(0));
        assert_eq!(sorted, [SortedInput::Burst("0x9f3c,1,2\nxqdu\n".into())]);
    }

    #[test]
    fn a_pasted_part_of_a_hash_a_ticket_or_a_chain_is_a_paste() {
        for text in [
            "0x",
            "0X8",
            "0x8376",
            "8376a",
            "base",
            "SUP-42",
            "vip\r",
            "/tx/0x8376\rxq",
            ":delete yes\r",
            "/home/me/a",
            "?q=1,2,3,4",
        ] {
            let pasted = SortedInput::Burst(text.replace('\r', "\n"));
            assert_eq!(BurstDetector::default().sort_events(keys(text), false, at(0)), [pasted], "{text}");
        }
    }

    #[test]
    fn typed_keys_are_not_a_paste() {
        for text in [
            "j",
            "yp",
            "gg",
            "zj\r",
            "jka",
            ":q\r",
            "/is:ov",
            "/is:",
            "/is:active",
            "/is:active\r",
            "/status:ongoing chain:base",
            ":theme dark",
            ":sort hash",
            "?clipboard",
            "jjjjjjjjjjjjjjjjjjjjjj",
            "jjjjkkkkjjjj",
            "\r\r\r",
        ] {
            assert_eq!(BurstDetector::default().sort_events(keys(text), false, at(0)), unsorted(keys(text)), "{text}");
        }
    }

    #[test]
    fn the_end_of_a_paste_is_not_a_command() {
        let mut burst_detector = BurstDetector::default();
        burst_detector.sort_events(keys("0x9f3c41b7e21b"), false, at(0));
        assert_eq!(burst_detector.sort_events(keys("q\r"), false, at(60)), [SortedInput::Burst("q\n".into())]);
        assert_eq!(burst_detector.sort_events(keys("x"), false, at(150)), [SortedInput::Burst("x".into())]);
        assert_eq!(burst_detector.sort_events(keys("q"), false, at(300)), unsorted(keys("q")));
    }

    #[test]
    fn control_keys_in_a_paste_are_dropped_and_other_events_stay() {
        let mut events = keys("0x9f3c41b7e21b\u{3}q");
        events.push(Event::Resize(80, 24));
        let expected = [SortedInput::Event(Event::Resize(80, 24)), SortedInput::Burst("0x9f3c41b7e21bq".into())];
        assert_eq!(BurstDetector::default().sort_events(events, false, at(0)), expected);
    }
}
