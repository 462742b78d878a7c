//! Splits the terminal's bytes into characters, escape sequences and pastes.
//!
//! The framer is pure: bytes and moments are parameters. The result must never depend on how the bytes are cut into
//! pieces. No incomplete input may outlive its time limit: one lost byte must not swallow all keys after the byte.

use std::time::Duration;

use crate::clock::MonotonicTime;

/// The longest silence within an escape sequence, a character or a paste. After it the incomplete input ends.
const INPUT_LIMIT: Duration = Duration::from_secs(1);
/// The longest time between Esc and the next byte of the same sequence. Esc alone is a key.
const ESCAPE_LIMIT: Duration = Duration::from_millis(50);
/// The silence before a ^C that a person types while a paste has no end. A terminal sends the bytes of a paste without
/// pauses.
const TYPING_PAUSE: Duration = Duration::from_millis(50);
/// The most bytes that are kept of one paste: more than the dashboard takes, so that the rest counts as cut.
pub(super) const PASTE_LIMIT: usize = 1 << 20;
/// The most bytes that are kept between the beginning and the final byte of a sequence.
const PARAMETER_LIMIT: usize = 64;

const ESCAPE: u8 = 0x1b;
const INTERRUPT: u8 = 0x03;
/// The parameters and the final byte of the sequence that begins a paste.
const PASTE_BEGIN: (&[u8], u8) = (b"200", b'~');
/// The sequence that ends a paste.
const PASTE_END: &[u8] = b"\x1b[201~";

/// One complete input of the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputFrame {
    /// A character, which may be a control character. With `has_escape` it follows an Esc: the key is pressed together
    /// with Alt.
    Character {
        /// The character.
        character: char,
        /// Whether an Esc precedes it.
        has_escape: bool,
    },
    /// Esc alone.
    Escape,
    /// A control sequence: ESC, `[`, parameters, a final byte.
    Control {
        /// The parameters; a sequence with too many is left out.
        parameters: Vec<u8>,
        /// The final byte.
        last: u8,
    },
    /// A key as some terminals send it in application mode: ESC, `O`, a byte.
    Single(u8),
    /// A mouse report of the oldest kind: ESC, `[M`, and button, column and row, each plus 32.
    Mouse([u8; 3]),
    /// A bracketed paste, of at most `PASTE_LIMIT` bytes.
    Paste(String),
}

/// The input that isn't complete yet.
#[derive(Debug, Default, PartialEq, Eq)]
enum PartialFrame {
    #[default]
    Nothing,
    Escape,
    Character {
        bytes: Vec<u8>,
        length: usize,
        has_escape: bool,
    },
    Control(Vec<u8>),
    Single,
    /// ESC, `[[`: a function key of the Linux console.
    Console,
    Mouse(Vec<u8>),
    Paste {
        content: Vec<u8>,
        /// How many bytes of `PASTE_END` the last bytes match.
        matched: usize,
    },
}

/// Splits a stream of bytes into frames.
#[derive(Debug, Default)]
pub struct InputFramer {
    partial: PartialFrame,
    /// The moment of the last bytes.
    last: MonotonicTime,
}

impl InputFramer {
    /// Adds bytes that arrived at `now`, and passes each frame that is complete to `emit`.
    pub fn push(&mut self, bytes: &[u8], now: MonotonicTime, emit: &mut impl FnMut(InputFrame)) {
        let is_typed = bytes == [INTERRUPT] && now.since(self.last) >= TYPING_PAUSE;
        if is_typed && matches!(self.partial, PartialFrame::Paste { .. }) {
            self.end(emit);
        }
        if !bytes.is_empty() {
            self.last = now;
        }
        bytes.iter().for_each(|byte| self.push_byte(*byte, emit));
    }

    /// Returns the moment at which incomplete input ends, unless more bytes arrive.
    pub fn deadline(&self) -> Option<MonotonicTime> {
        match self.partial {
            PartialFrame::Nothing => None,
            PartialFrame::Escape => Some(self.last + ESCAPE_LIMIT),
            _ => Some(self.last + INPUT_LIMIT),
        }
    }

    /// Ends incomplete input whose deadline has passed: Esc is a key, a paste is complete, and anything else is
    /// dropped. Must only be called if no bytes wait to be read.
    pub fn expire(&mut self, now: MonotonicTime, emit: &mut impl FnMut(InputFrame)) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.end(emit);
        }
    }

    fn end(&mut self, emit: &mut impl FnMut(InputFrame)) {
        match std::mem::take(&mut self.partial) {
            PartialFrame::Escape => emit(InputFrame::Escape),
            PartialFrame::Paste { content, .. } => emit(paste(&content)),
            PartialFrame::Nothing
            | PartialFrame::Character { .. }
            | PartialFrame::Control(_)
            | PartialFrame::Single
            | PartialFrame::Console
            | PartialFrame::Mouse(_) => {}
        }
    }

    fn push_byte(&mut self, byte: u8, emit: &mut impl FnMut(InputFrame)) {
        self.partial = match std::mem::take(&mut self.partial) {
            PartialFrame::Nothing => begin(byte, false, emit),
            PartialFrame::Escape => match byte {
                ESCAPE => {
                    emit(InputFrame::Escape);
                    PartialFrame::Escape
                }
                b'[' => PartialFrame::Control(Vec::new()),
                b'O' => PartialFrame::Single,
                byte => begin(byte, true, emit),
            },
            PartialFrame::Character { mut bytes, length, has_escape } if byte & 0xc0 == 0x80 => {
                bytes.push(byte);
                if bytes.len() < length {
                    PartialFrame::Character { bytes, length, has_escape }
                } else {
                    let text = std::str::from_utf8(&bytes).unwrap_or_default();
                    text.chars().for_each(|character| emit(InputFrame::Character { character, has_escape }));
                    PartialFrame::Nothing
                }
            }
            PartialFrame::Control(parameters) => control(parameters, byte, emit),
            PartialFrame::Single if is_printable(byte) => {
                emit(InputFrame::Single(byte));
                PartialFrame::Nothing
            }
            // The dashboard has no command for function keys.
            PartialFrame::Console if is_printable(byte) => PartialFrame::Nothing,
            PartialFrame::Mouse(mut report) => {
                report.push(byte);
                match <[u8; 3]>::try_from(report) {
                    Ok(report) => {
                        emit(InputFrame::Mouse(report));
                        PartialFrame::Nothing
                    }
                    Err(report) => PartialFrame::Mouse(report),
                }
            }
            PartialFrame::Paste { content, matched } => continue_paste(content, matched, byte, emit),
            // A byte that doesn't belong to a sequence ends the sequence, and has its own meaning.
            PartialFrame::Character { .. } | PartialFrame::Single | PartialFrame::Console => begin(byte, false, emit),
        };
    }
}

/// Handles the first byte of a frame, or the first after Esc.
fn begin(byte: u8, has_escape: bool, emit: &mut impl FnMut(InputFrame)) -> PartialFrame {
    let length = match byte {
        ESCAPE => return PartialFrame::Escape,
        0..=0x7f => {
            emit(InputFrame::Character { character: byte.into(), has_escape });
            return PartialFrame::Nothing;
        }
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        // Not the first byte of a character.
        0x80..=0xc1 | 0xf5..=0xff => return PartialFrame::Nothing,
    };
    PartialFrame::Character { bytes: vec![byte], length, has_escape }
}

fn control(mut parameters: Vec<u8>, byte: u8, emit: &mut impl FnMut(InputFrame)) -> PartialFrame {
    match byte {
        0x20..=0x3f => {
            if parameters.len() < PARAMETER_LIMIT {
                parameters.push(byte);
            }
            PartialFrame::Control(parameters)
        }
        b'[' if parameters.is_empty() => PartialFrame::Console,
        b'M' if parameters.is_empty() => PartialFrame::Mouse(Vec::new()),
        last @ 0x40..=0x7e => {
            if (parameters.as_slice(), last) == PASTE_BEGIN {
                return PartialFrame::Paste { content: Vec::new(), matched: 0 };
            }
            if parameters.len() < PARAMETER_LIMIT {
                emit(InputFrame::Control { parameters, last });
            }
            PartialFrame::Nothing
        }
        byte => begin(byte, false, emit),
    }
}

fn continue_paste(
    mut content: Vec<u8>,
    mut matched: usize,
    byte: u8,
    emit: &mut impl FnMut(InputFrame),
) -> PartialFrame {
    let mut keep = |bytes: &[u8]| {
        let room = PASTE_LIMIT.saturating_sub(content.len());
        content.extend(bytes.iter().take(room));
    };
    if PASTE_END.get(matched) == Some(&byte) {
        matched += 1;
    } else {
        keep(PASTE_END.get(..matched).unwrap_or_default());
        matched = usize::from(byte == ESCAPE);
        if matched == 0 {
            keep(&[byte]);
        }
    }
    if matched == PASTE_END.len() {
        emit(paste(&content));
        return PartialFrame::Nothing;
    }
    PartialFrame::Paste { content, matched }
}

fn paste(content: &[u8]) -> InputFrame {
    InputFrame::Paste(String::from_utf8_lossy(content).into_owned())
}

fn is_printable(byte: u8) -> bool {
    (0x20..=0x7e).contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tui::fixtures::at;

    /// Pushes pieces of bytes at their moments, with each deadline between them.
    fn frames_of(pieces: &[(u64, &[u8])]) -> Vec<InputFrame> {
        let (mut framer, mut frames) = (InputFramer::default(), Vec::new());
        for (milliseconds, bytes) in pieces {
            framer.expire(at(*milliseconds), &mut |frame| frames.push(frame));
            framer.push(bytes, at(*milliseconds), &mut |frame| frames.push(frame));
        }
        frames
    }

    fn character(character: char) -> InputFrame {
        InputFrame::Character { character, has_escape: false }
    }

    fn text(text: &str) -> Vec<InputFrame> {
        text.chars().map(character).collect()
    }

    fn pasted(text: &str) -> InputFrame {
        InputFrame::Paste(text.to_owned())
    }

    #[test]
    fn each_kind_of_input_is_one_frame() {
        let control = |parameters: &[u8], last| InputFrame::Control { parameters: parameters.to_vec(), last };
        let alt = |character| InputFrame::Character { character, has_escape: true };
        for (bytes, expected) in [
            ("jé😀\r\u{3}", text("jé😀\r\u{3}")),
            ("\x1b[A\x1b[1;5C", vec![control(b"", b'A'), control(b"1;5", b'C')]),
            ("\x1bOA\x1b[[Aq", vec![InputFrame::Single(b'A'), character('q')]),
            ("\x1b[<0;12;7M\x1b[<0;12;7m", vec![control(b"<0;12;7", b'M'), control(b"<0;12;7", b'm')]),
            ("\x1b[M !!\x1b[I\x1b[O", vec![InputFrame::Mouse(*b" !!"), control(b"", b'I'), control(b"", b'O')]),
            ("\x1bj\x1bé", vec![alt('j'), alt('é')]),
            ("\x1b\x1b[A", vec![InputFrame::Escape, control(b"", b'A')]),
            (
                "\x1b[200~a\x1b[A\x1b[200~\u{3}\r\x1b\x1b[201~q",
                vec![pasted("a\x1b[A\x1b[200~\u{3}\r\x1b"), character('q')],
            ),
        ] {
            assert_eq!(frames_of(&[(0, bytes.as_bytes())]), expected, "{bytes:?}");
        }
    }

    #[test]
    fn byte_that_breaks_a_sequence_keeps_its_meaning() {
        for broken in [&b"\x1b[1;"[..], b"\x1bO", b"\x1b[[", "é".as_bytes().split_at(1).0, b"\xf0\x9f", b"\xff\x80"] {
            assert_eq!(frames_of(&[(0, &[broken, b"\x03"].concat())]), text("\u{3}"), "{broken:?}");
        }
        let overlong = format!("\x1b[{}Aq", "1;".repeat(1_000));
        assert_eq!(frames_of(&[(0, overlong.as_bytes())]), text("q"));
    }

    #[test]
    fn unterminated_paste_ends_after_a_second_without_bytes() {
        let pieces: [(u64, &[u8]); 4] = [(0, b"\x1b[200~ab"), (900, b"c"), (1_899, b"d"), (2_899, b"q")];
        assert_eq!(frames_of(&pieces), [pasted("abcd"), character('q')]);
        // A part of the end isn't content.
        assert_eq!(frames_of(&[(0, b"\x1b[200~ab\x1b[20"), (1_000, b"q")]), [pasted("ab"), character('q')]);
    }

    #[test]
    fn incomplete_sequence_is_dropped_after_a_second_without_bytes() {
        for broken in
            [&b"\x1b["[..], b"\x1b[1;", b"\x1b[<0;1", b"\x1bO", b"\x1b[[", b"\x1b[M !", b"\xc3", b"\x1b\xf0\x9f"]
        {
            assert_eq!(frames_of(&[(0, broken), (1_000, b"q")]), text("q"), "{broken:?}");
        }
    }

    #[test]
    fn escape_alone_is_a_key_after_a_moment() {
        assert_eq!(frames_of(&[(0, b"\x1b"), (50, b"[A")]), [InputFrame::Escape, character('['), character('A')]);
        let up = InputFrame::Control { parameters: Vec::new(), last: b'A' };
        assert_eq!(frames_of(&[(0, b"\x1b"), (49, b"[A")]), [up]);
    }

    #[test]
    fn interrupt_after_a_pause_ends_a_paste_and_one_among_its_bytes_does_not() {
        let pieces: [(u64, &[u8]); 3] = [(0, b"\x1b[200~a\x03"), (20, b"\x03"), (70, b"\x03")];
        assert_eq!(frames_of(&pieces), [pasted("a\u{3}\u{3}"), character('\u{3}')]);
        assert_eq!(frames_of(&[(0, b"\x1b[200~a"), (70, b"\x03b"), (80, b"\x1b[201~")]), [pasted("a\u{3}b")]);
    }

    #[test]
    fn endless_paste_takes_bounded_memory() {
        let (mut framer, mut frames) = (InputFramer::default(), Vec::new());
        framer.push(b"\x1b[200~", at(0), &mut |frame| frames.push(frame));
        for _ in 0..64 {
            framer.push(&[b'a'; PASTE_LIMIT / 16], at(0), &mut |frame| frames.push(frame));
        }
        framer.push(b"\x1b[201~q", at(0), &mut |frame| frames.push(frame));
        assert_eq!(frames, [pasted(&"a".repeat(PASTE_LIMIT)), character('q')]);
    }

    /// Pieces of what terminals send, of broken sequences, and any bytes.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let known: Vec<&'static [u8]> = vec![
            b"\x1b[200~",
            b"\x1b[201~",
            b"\x1b[20",
            b"\x1b",
            b"\x1b[",
            b"\x1b[A",
            b"\x1bOA",
            b"\x1b[<0;1;1M",
            b"\x1b[M",
            b"\x1b[[",
            b"\x03",
            b"q",
            "é😀".as_bytes(),
            b"\xf0\x9f",
            b";",
        ];
        let piece = prop_oneof![
            3 => proptest::sample::select(known).prop_map(<[u8]>::to_vec),
            1 => proptest::collection::vec(any::<u8>(), 0..4),
        ];
        proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn how_bytes_are_split_changes_nothing(bytes in bytes(), cuts in proptest::collection::vec(0..100_usize, 0..8)) {
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < bytes.len()).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<_> = cuts.windows(2).map(|cut| (0, &bytes[cut[0]..cut[1]])).collect();
            prop_assert_eq!(frames_of(&pieces), frames_of(&[(0, &bytes)]));
        }

        #[test]
        fn nothing_outlives_the_time_limit(bytes in bytes()) {
            let mut framer = InputFramer::default();
            framer.push(&bytes, at(0), &mut |_| ());
            framer.expire(MonotonicTime(INPUT_LIMIT), &mut |_| ());
            prop_assert_eq!(&framer.partial, &PartialFrame::Nothing);
            let mut frames = Vec::new();
            framer.push(b"q", MonotonicTime(INPUT_LIMIT), &mut |frame| frames.push(frame));
            prop_assert_eq!(frames, text("q"));
        }
    }
}
