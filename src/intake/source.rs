//! The bytes of a file as they come, with a bound for what one record may take, and the lines counted.
//!
//! It must never hold more than a record and what was read ahead of it.

use std::{
    cell::RefCell,
    io::{self, Read},
};

/// The most that a record may take. What is longer was swallowed by a quotation mark that isn't closed.
pub(super) const RECORD_LIMIT: usize = 4 << 20;
/// What is said of a record that is longer.
pub(super) const TOO_LONG: &str = "more than 4 MiB without an end; is a quotation mark or a bracket missing?";
/// So much is read at a time.
pub(super) const BUFFER: usize = 64 * 1024;
/// So much of what was passed is kept before it goes.
const SLACK: usize = 64 * 1024;

/// What ends a line, and what may stand before a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// As an editor counts: a line feed, or a carriage return alone. Before a record stand line ends.
    Editor,
    /// As JSON has it: line feeds. Before a record stand blanks.
    Json,
    /// Not counted; nothing is kept for that.
    Uncounted,
}

/// Bytes to be read, by several who share them.
pub(super) struct Source<'a>(RefCell<State<'a>>);

struct State<'a> {
    input: &'a mut dyn Read,
    /// What was read to find out what it is, and how much of that was handed out.
    head: Vec<u8>,
    given: usize,
    lines: Lines,
    /// So many bytes may still be handed out before the record has to end.
    allowance: usize,
    /// What was handed out and hasn't been passed by the count yet.
    window: Vec<u8>,
    /// Where the count stands: in the window, in the file, and on which line.
    at: usize,
    offset: u64,
    line: usize,
    ended: bool,
    too_long: bool,
    fault: Option<io::Error>,
}

impl<'a> Source<'a> {
    /// Reads the beginning: up to the end of the first line that isn't blank.
    pub(super) fn new(input: &'a mut dyn Read) -> io::Result<Self> {
        let mut head = Vec::new();
        while head.len() < RECORD_LIMIT && !first_line(&head).1 && read_more(input, &mut head)? > 0 {}
        Ok(Self(RefCell::new(State {
            input,
            head,
            given: 0,
            lines: Lines::Uncounted,
            allowance: RECORD_LIMIT,
            window: Vec::new(),
            at: 0,
            offset: 0,
            line: 1,
            ended: false,
            too_long: false,
            fault: None,
        })))
    }

    /// The beginning as far as it was read.
    pub(super) fn head(&self) -> Vec<u8> {
        self.0.borrow().head.clone()
    }

    /// Takes these bytes off the beginning.
    pub(super) fn skip(&self, prefix: &[u8]) {
        let mut state = self.0.borrow_mut();
        if let Some(rest) = state.head.strip_prefix(prefix).map(<[u8]>::to_vec) {
            state.head = rest;
        }
    }

    /// From now on lines are counted so. To be said before anything is read.
    pub(super) fn count(&self, lines: Lines) {
        self.0.borrow_mut().lines = lines;
    }

    /// A record begins: it may be as long as any other.
    pub(super) fn next_record(&self) {
        self.0.borrow_mut().allowance = RECORD_LIMIT + BUFFER;
    }

    /// The line on which the record stands before which, at `byte`, the reader stands. Bytes must come in order.
    pub(super) fn line_of(&self, byte: u64) -> usize {
        self.0.borrow_mut().line_of(byte)
    }

    /// What was handed out from where the count stands up to `end`, or all of it if that isn't as much.
    pub(super) fn with_rest<T>(&self, end: u64, look: impl FnOnce(&[u8]) -> T) -> T {
        let state = self.0.borrow();
        let rest = state.window.get(state.at..).unwrap_or_default();
        let length = usize::try_from(end.saturating_sub(state.offset)).unwrap_or(usize::MAX);
        look(rest.get(..length).unwrap_or(rest))
    }

    /// Whether the end was handed out.
    pub(super) fn has_ended(&self) -> bool {
        self.0.borrow().ended
    }

    /// Whether a record was so long that reading it was given up.
    pub(super) fn is_too_long(&self) -> bool {
        self.0.borrow().too_long
    }

    /// Why the input can't be read, if that is so.
    pub(super) fn fault(self) -> Option<io::Error> {
        self.0.into_inner().fault
    }
}

impl Read for &Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}

impl State<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.allowance == 0 {
            self.too_long = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let most = buffer.len().min(self.allowance);
        let buffer = buffer.get_mut(..most).unwrap_or_default();
        let mut head = self.head.get(self.given..).unwrap_or_default();
        let count = match head.is_empty() {
            false => head.read(buffer)?,
            true => self.read_input(buffer)?,
        };
        self.given += count;
        self.allowance -= count;
        self.ended = count == 0;
        if self.lines != Lines::Uncounted {
            self.window.extend_from_slice(buffer.get(..count).unwrap_or_default());
        }
        Ok(count)
    }

    fn read_input(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.input.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let kind = error.kind();
                    self.fault = Some(error);
                    return Err(kind.into());
                }
                done => return done,
            }
        }
    }

    fn line_of(&mut self, byte: u64) -> usize {
        self.count_plain(byte);
        while let Some(current) = self.window.get(self.at) {
            let (ends_line, blank) = match (self.lines, current) {
                (_, b'\n') => (true, true),
                // An old line end: a carriage return alone.
                (Lines::Editor, b'\r') => (self.window.get(self.at + 1) != Some(&b'\n'), true),
                (Lines::Json, blank) => (false, blank.is_ascii_whitespace()),
                _ => (false, false),
            };
            if self.offset >= byte && !blank {
                break;
            }
            self.line += usize::from(ends_line);
            self.at += 1;
            self.offset += 1;
        }
        if self.at > SLACK {
            self.window.drain(..self.at);
            self.at = 0;
        }
        self.line
    }

    /// Counts up to `byte` at once where nothing but line feeds ends a line: nearly always, and many times as fast.
    fn count_plain(&mut self, byte: u64) {
        let length = usize::try_from(byte.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let Some(plain) = self.window.get(self.at..self.at.saturating_add(length)) else { return };
        if self.lines == Lines::Editor && !plain.contains(&b'\r') {
            self.line += plain.iter().filter(|byte| **byte == b'\n').count();
            self.offset = byte.max(self.offset);
            self.at += length;
        }
    }
}

/// The first line that isn't blank, and whether that is all of it.
pub(super) fn first_line(bytes: &[u8]) -> (&[u8], bool) {
    let start = bytes.trim_ascii_start();
    let end = start.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    (start.get(..end.unwrap_or(start.len())).unwrap_or_default(), end.is_some())
}

fn read_more(input: &mut dyn Read, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let length = bytes.len();
    bytes.resize(length + BUFFER, 0);
    let count = loop {
        match input.read(bytes.get_mut(length..).unwrap_or_default()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => break done?,
        }
    };
    bytes.truncate(length + count);
    Ok(count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The line on which what begins at `byte` or behind the line ends there stands, counted one byte after the other.
    fn counted(bytes: &[u8], byte: usize) -> usize {
        let is_end = |at: usize| matches!(bytes.get(at), Some(b'\n' | b'\r'));
        let begin = (byte..).find(|at| !is_end(*at)).unwrap();
        let ends = |at: &usize| match bytes[*at] {
            b'\n' => true,
            other => other == b'\r' && bytes.get(at + 1) != Some(&b'\n'),
        };
        1 + (0..begin.min(bytes.len())).filter(ends).count()
    }

    proptest! {
        #[test]
        fn lines_are_counted_the_same_whether_many_bytes_are_passed_at_once_or_not(
            text in "[ab\n]{0,40}(\r\n|\r)?[ab\r\n]{0,40}",
            mut marks in proptest::collection::vec(0_usize..90, 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut input = bytes;
            let source = Source::new(&mut input).unwrap();
            source.count(Lines::Editor);
            source.next_record();
            (&source).read_to_end(&mut Vec::new()).unwrap();
            marks.sort_unstable();
            for mark in marks.into_iter().map(|mark| mark.min(bytes.len())) {
                prop_assert_eq!(source.line_of(mark as u64), counted(bytes, mark), "{:?} at {}", text, mark);
            }
        }
    }
}
