//! Pastes that come without brackets: many keys at once are text, never commands (`mockups.md`, Keys).
//!
//! No person types eight letters between two looks at the input, and hardly four, unless into a field that the first of them
//! opens. A key that is held down over a slow line comes as a burst too, but always as the same letter. What is taken for a paste
//! and is none does no harm; the other way round a piece of a hash would work on whatever is selected.

use std::{collections::HashSet, time::Duration};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::clock::Mono;

/// From so many letters on, so many of them different, it is a paste.
const LETTERS: usize = 8;
const DIFFERENT: usize = 4;
/// The same of letters that don't begin like a filter, a command line or a search, which the others are typed into.
const FEW_LETTERS: usize = 4;
const FEW_DIFFERENT: usize = 3;
const FIELDS: [char; 3] = ['/', ':', '?'];
/// What no letters begin with that are meant as keys: a hash, or a part of one.
const HASH: &str = "0x";
/// What follows a part of a paste within this time is its next part.
const GAP: Duration = Duration::from_millis(100);

/// What came.
#[derive(Debug, PartialEq)]
pub(super) enum Arrived {
    /// As it came.
    Event(Event),
    /// The letters of many keys. More of them may follow.
    Burst(String),
}

/// What was seen of a paste so far.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    until: Option<Mono>,
}

impl Bursts {
    /// The events that came at once, with keys that were pasted as one text. Where a person types into a field, fewer letters are
    /// what they typed.
    pub(super) fn sort(&mut self, events: Vec<Event>, is_typing: bool, now: Mono) -> Vec<Arrived> {
        let text: String = events.iter().filter_map(letter).collect();
        let goes_on = self.until.is_some_and(|until| now <= until) && !text.is_empty();
        // Nothing that takes a letter back was pasted.
        let has_others = events.iter().any(|event| matches!(event, Event::Key(_)) && letter(event).is_none());
        if !goes_on && !is_paste(&text) && (is_typing || has_others || !is_short_paste(&text)) {
            return events.into_iter().map(Arrived::Event).collect();
        }
        self.until = Some(now + GAP);
        // Other keys in the middle of a paste are a part of it that can't be written.
        let others = events.into_iter().filter(|event| !matches!(event, Event::Key(_))).map(Arrived::Event);
        others.chain([Arrived::Burst(text)]).collect()
    }
}

fn is_paste(text: &str) -> bool {
    has(text, LETTERS, DIFFERENT)
}

/// The same where letters would be commands.
fn is_short_paste(text: &str) -> bool {
    let is_hash = text.get(..HASH.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(HASH));
    is_hash || (has(text, FEW_LETTERS, FEW_DIFFERENT) && !text.starts_with(FIELDS))
}

fn has(text: &str, letters: usize, different: usize) -> bool {
    text.chars().count() >= letters && text.chars().collect::<HashSet<_>>().len() >= different
}

/// The letter that a key types.
fn letter(event: &Event) -> Option<char> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    if *kind == KeyEventKind::Release {
        return None;
    }
    let plain = !modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match code {
        KeyCode::Char(letter) if plain => Some(*letter),
        // A line feed, in raw mode.
        KeyCode::Char('j') if *modifiers == KeyModifiers::CONTROL => Some('\n'),
        KeyCode::Enter => Some('\n'),
        KeyCode::Tab => Some('\t'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<Event> {
        let key = |letter| match letter {
            '\r' => KeyEvent::from(KeyCode::Enter),
            '\n' => KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL),
            '\u{3}' => KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL),
            letter => KeyEvent::from(KeyCode::Char(letter)),
        };
        text.chars().map(|letter| Event::Key(key(letter))).collect()
    }

    fn as_they_came(events: Vec<Event>) -> Vec<Arrived> {
        events.into_iter().map(Arrived::Event).collect()
    }

    #[test]
    fn into_a_field_fewer_letters_are_typed_and_what_takes_one_back_is_no_paste() {
        assert_eq!(Bursts::default().sort(keys("vip\r"), true, at(0)), as_they_came(keys("vip\r")));
        let long = Bursts::default().sort(keys("0x8376a119\r"), true, at(0));
        assert_eq!(long, [Arrived::Burst("0x8376a119\n".into())]);
        let mut repaired = keys("abcd");
        repaired.push(Event::Key(KeyCode::Backspace.into()));
        assert_eq!(Bursts::default().sort(repaired.clone(), false, at(0)), as_they_came(repaired));
    }

    fn at(milliseconds: u64) -> Mono {
        Mono(Duration::from_millis(milliseconds))
    }

    #[test]
    fn a_burst_of_letters_is_a_paste() {
        let sorted = Bursts::default().sort(keys("0x9f3c,1,2\rxqdu\n"), false, at(0));
        assert_eq!(sorted, [Arrived::Burst("0x9f3c,1,2\nxqdu\n".into())]);
    }

    #[test]
    fn a_piece_of_a_hash_a_ticket_or_a_chain_is_never_taken_for_keys() {
        for text in ["0x", "0X8", "0x8376", "8376a", "base", "SUP-42", "vip\r", "/tx/0x8376\rxq"] {
            let pasted = Arrived::Burst(text.replace('\r', "\n"));
            assert_eq!(Bursts::default().sort(keys(text), false, at(0)), [pasted], "{text}");
        }
    }

    #[test]
    fn what_a_person_types_stays_keys() {
        for text in [
            "j",
            "yp",
            "gg",
            "zj\r",
            "jka",
            ":q\r",
            "/is:ov",
            "/is:",
            "jjjjjjjjjjjjjjjjjjjjjj",
            "jjjjkkkkjjjj",
            "\r\r\r",
        ] {
            assert_eq!(Bursts::default().sort(keys(text), false, at(0)), as_they_came(keys(text)), "{text}");
        }
    }

    #[test]
    fn the_end_of_a_paste_is_no_command_either() {
        let mut bursts = Bursts::default();
        bursts.sort(keys("0x9f3c41b7e21b"), false, at(0));
        assert_eq!(bursts.sort(keys("q\r"), false, at(60)), [Arrived::Burst("q\n".into())]);
        assert_eq!(bursts.sort(keys("x"), false, at(150)), [Arrived::Burst("x".into())]);
        assert_eq!(bursts.sort(keys("q"), false, at(300)), as_they_came(keys("q")));
    }

    #[test]
    fn control_keys_in_a_paste_are_left_out_and_the_terminal_s_own_events_stay() {
        let mut events = keys("0x9f3c41b7e21b\u{3}q");
        events.push(Event::Resize(80, 24));
        let expected = [Arrived::Event(Event::Resize(80, 24)), Arrived::Burst("0x9f3c41b7e21bq".into())];
        assert_eq!(Bursts::default().sort(events, false, at(0)), expected);
    }
}
