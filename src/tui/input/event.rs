//! Converts a frame of the terminal's bytes into an event.
//!
//! This module knows the keys that the dashboard and its text fields have a use for, as xterm and the terminals after
//! it send them (<https://invisible-island.net/xterm/ctlseqs/ctlseqs.html>). This module must never fail: any other
//! frame is no event.

use std::ops::RangeInclusive;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::framer::InputFrame;

/// Returns the event of a frame; `None` if it has no meaning here.
pub(super) fn event_of(frame: InputFrame) -> Option<Event> {
    match frame {
        InputFrame::Character { character, has_escape } => {
            let mut key = key_of(character);
            key.modifiers.set(KeyModifiers::ALT, has_escape);
            Some(Event::Key(key))
        }
        InputFrame::Escape => Some(Event::Key(KeyCode::Esc.into())),
        InputFrame::Control { parameters, last } => control(std::str::from_utf8(&parameters).ok()?, last),
        InputFrame::Single(byte) => Some(Event::Key(moving_key(byte)?.into())),
        InputFrame::Mouse([button, column, row]) => {
            let [button, column, row] = [button, column, row].map(|byte| u16::from(byte).checked_sub(32));
            mouse(button?, column?, row?, false)
        }
        InputFrame::Paste(text) => Some(Event::Paste(text)),
    }
}

/// Returns the key that sends a character.
fn key_of(character: char) -> KeyEvent {
    /// Adds the difference that Ctrl subtracts from a letter, and from the characters after `Z`, which terminals send
    /// for digits.
    const LETTERS: u8 = b'a' - 1;
    const DIGITS: u8 = b'4' - 0x1c;
    let with_control = |key: u8| KeyEvent::new(KeyCode::Char(key.into()), KeyModifiers::CONTROL);
    match character {
        '\r' => KeyCode::Enter.into(),
        '\t' => KeyCode::Tab.into(),
        '\x7f' => KeyCode::Backspace.into(),
        '\0' => with_control(b' '),
        '\x01'..='\x1a' => with_control(character as u8 + LETTERS),
        '\x1b' => KeyCode::Esc.into(),
        '\x1c'..='\x1f' => with_control(character as u8 + DIGITS),
        _ if character.is_uppercase() => KeyEvent::new(KeyCode::Char(character), KeyModifiers::SHIFT),
        _ => KeyCode::Char(character).into(),
    }
}

/// Returns the key with this final byte of a sequence.
fn moving_key(byte: u8) -> Option<KeyCode> {
    Some(match byte {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        _ => return None,
    })
}

fn control(parameters: &str, last: u8) -> Option<Event> {
    /// The code points that stand for keys without a character.
    const PRIVATE: RangeInclusive<char> = '\u{e000}'..='\u{f8ff}';
    if let (Some(report), b'M' | b'm') = (parameters.strip_prefix('<'), last) {
        let mut numbers = report.split(';').map(str::parse);
        let mut next = || numbers.next()?.ok();
        return mouse(next()?, next()?, next()?, last == b'm');
    }
    let mut groups = parameters.split(';');
    let code: Option<u32> = number(groups.next());
    let (modifiers, kind) = groups.next().map_or((KeyModifiers::NONE, KeyEventKind::Press), modifiers);
    let key = match (last, code) {
        (b'I', _) if parameters.is_empty() => return Some(Event::FocusGained),
        (b'O', _) if parameters.is_empty() => return Some(Event::FocusLost),
        (b'Z', _) => return Some(Event::Key(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT))),
        (b'~', Some(1 | 7)) => KeyCode::Home,
        (b'~', Some(2)) => KeyCode::Insert,
        (b'~', Some(3)) => KeyCode::Delete,
        (b'~', Some(4 | 8)) => KeyCode::End,
        (b'~', Some(5)) => KeyCode::PageUp,
        (b'~', Some(6)) => KeyCode::PageDown,
        // Terminals that another program has set to send keys as code points.
        (b'u', Some(code)) => match key_of(char::from_u32(code).filter(|code| !PRIVATE.contains(code))?).code {
            KeyCode::Tab if modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
            key => key,
        },
        (last, None | Some(1)) => moving_key(last)?,
        _ => return None,
    };
    Some(Event::Key(KeyEvent::new_with_kind(key, modifiers, kind)))
}

/// Returns the first number of a parameter.
fn number(parameter: Option<&str>) -> Option<u32> {
    parameter?.split(':').next()?.parse().ok()
}

/// Returns the modifiers and the kind of a parameter such as `5:3`: 1 plus a bit for each modifier; press, repeat or
/// release.
fn modifiers(parameter: &str) -> (KeyModifiers, KeyEventKind) {
    const BITS: [KeyModifiers; 6] = [
        KeyModifiers::SHIFT,
        KeyModifiers::ALT,
        KeyModifiers::CONTROL,
        KeyModifiers::SUPER,
        KeyModifiers::HYPER,
        KeyModifiers::META,
    ];
    let bits = number(Some(parameter)).unwrap_or_default().saturating_sub(1);
    let modifiers = BITS.into_iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, modifier)| modifier);
    let kind = match parameter.split(':').nth(1) {
        Some("2") => KeyEventKind::Repeat,
        Some("3") => KeyEventKind::Release,
        _ => KeyEventKind::Press,
    };
    (modifiers.collect(), kind)
}

/// Returns the event of a mouse report; columns and rows begin at 1.
fn mouse(code: u16, column: u16, row: u16, is_release: bool) -> Option<Event> {
    /// The bits for Shift, Alt and Ctrl, which have no meaning here.
    const MODIFIERS: u16 = 4 | 8 | 16;
    let button = |button| if is_release { MouseEventKind::Up(button) } else { MouseEventKind::Down(button) };
    let kind = match code & !MODIFIERS {
        0 => button(MouseButton::Left),
        1 => button(MouseButton::Middle),
        2 => button(MouseButton::Right),
        64 => MouseEventKind::ScrollUp,
        65 => MouseEventKind::ScrollDown,
        _ => return None,
    };
    let (column, row) = (column.checked_sub(1)?, row.checked_sub(1)?);
    Some(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        clock::MonotonicTime,
        tui::{input::framer::InputFramer, key_text},
    };

    fn events_of(bytes: &str) -> Vec<Event> {
        let (mut framer, mut events) = (InputFramer::default(), Vec::new());
        framer.push(bytes.as_bytes(), MonotonicTime::default(), &mut |frame| events.extend(event_of(frame)));
        framer.expire(MonotonicTime(Duration::from_secs(1)), &mut |frame| events.extend(event_of(frame)));
        events
    }

    #[test]
    fn keys_of_each_kind_of_terminal_are_known() {
        for (sent, name) in [
            ("j", "j"),
            ("G", "G"),
            ("é", "é"),
            ("\r", "Enter"),
            ("\t", "Tab"),
            ("\x1b", "Esc"),
            ("\x1b[27u", "Esc"),
            ("\x1b[13u", "Enter"),
            ("\x1b[Z", "Shift-Tab"),
            ("\x1b[9;2u", "Shift-Tab"),
            ("\x03", "^C"),
            ("\x1b[99;5u", "^C"),
            ("\x1b[A", "Up"),
            ("\x1bOA", "Up"),
            ("\x1b[1;2A", "Up"),
            ("\x1b[D", "Left"),
            ("\x1b[C", "Right"),
            ("\x1b[B", "Down"),
            ("\x1b[H", "Home"),
            ("\x1b[1~", "Home"),
            ("\x1b[7~", "Home"),
            ("\x1bOF", "End"),
            ("\x1b[4~", "End"),
            ("\x1b[5~", "PgUp"),
            ("\x1b[6;5~", "PgDn"),
        ] {
            let [Event::Key(key)] = events_of(sent)[..] else { panic!("{sent:?}") };
            assert_eq!(key_text::name(key).as_deref(), Some(name), "{sent:?}");
        }
    }

    #[test]
    fn modifiers_and_releases_are_distinguished() {
        let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        assert_eq!(events_of("\x1b[1;5D"), [key(KeyCode::Left, KeyModifiers::CONTROL)]);
        assert_eq!(events_of("\x1b[1;6C"), [key(KeyCode::Right, KeyModifiers::CONTROL | KeyModifiers::SHIFT)]);
        assert_eq!(events_of("\x1bx"), [key(KeyCode::Char('x'), KeyModifiers::ALT)]);
        assert_eq!(events_of("\x1b\x7f"), [key(KeyCode::Backspace, KeyModifiers::ALT)]);
        let released = KeyEvent::new_with_kind(KeyCode::Char('q'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(events_of("\x1b[113;1:3u"), [Event::Key(released)]);
    }

    #[test]
    fn clicks_and_the_wheel_have_their_place() {
        let at = |kind, column, row| Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
        let (down, up) = (MouseEventKind::Down(MouseButton::Left), MouseEventKind::Up(MouseButton::Left));
        assert_eq!(events_of("\x1b[<0;12;7M\x1b[<0;12;7m"), [at(down, 11, 6), at(up, 11, 6)]);
        assert_eq!(
            events_of("\x1b[<64;1;1M\x1b[<69;300;2M"),
            [at(MouseEventKind::ScrollUp, 0, 0), at(MouseEventKind::ScrollDown, 299, 1)]
        );
        assert_eq!(events_of("\x1b[M ,'"), [at(down, 11, 6)]);
        assert_eq!(events_of("\x1b[<0;0;0M\x1b[<0;99999;1M\x1b[<0;1M\x1b[<M\x1b[M   "), []);
    }

    #[test]
    fn answers_of_the_terminal_and_unknown_keys_are_no_events() {
        assert_eq!(events_of("\x1b[24;80R\x1b[?62;4c\x1b[?1u\x1b[15~\x1b[201~\x1b[99999999999u\x1b[55296u\x1b[2A"), []);
        assert_eq!(events_of("\x1b[I\x1b[O"), [Event::FocusGained, Event::FocusLost]);
    }
}
