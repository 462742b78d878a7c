//! A stream of a file's bytes that limits the size of one record and counts lines.
//!
//! It must never hold more than one record and the bytes that were read ahead.

use std::{
    cell::RefCell,
    io::{self, Chain, Cursor, Read},
};

/// The most bytes of one record. A longer record usually means that a quotation mark isn't closed.
pub(super) const RECORD_LIMIT: usize = 4 << 20;
/// The error message for a record that exceeds [`RECORD_LIMIT`].
pub(super) const TOO_LONG: &str = "the record is longer than 4 MiB; is a quotation mark or a bracket missing?";
/// The number of bytes that are read at a time.
pub(super) const BUFFER_SIZE: usize = 64 * 1024;
/// The number of counted bytes that may stay in the window before they are removed.
const DRAIN_THRESHOLD: usize = 64 * 1024;

/// The mark at the beginning of a UTF-8 file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How lines are counted, and which bytes may precede a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineCounting {
    /// A line ends with a line feed or a lone carriage return, as in an editor. Line ends may precede a record.
    Editor,
    /// A line ends with a line feed, as in JSON errors. Whitespace may precede a record.
    Json,
    /// Lines aren't counted, and no bytes are kept for counting.
    Off,
}

/// A byte stream that a parser and its caller share: the parser reads, the caller starts records and asks for lines.
pub(super) struct SharedInput<'a>(RefCell<InputState<'a>>);

struct InputState<'a> {
    /// The beginning of the file, read to detect its format, then the rest.
    input: Chain<Cursor<Vec<u8>>, &'a mut dyn Read>,
    lines: LineCounting,
    /// The number of bytes that readers may still receive before the record has to end.
    allowance: usize,
    /// The received bytes that aren't counted yet, and some counted bytes before them.
    window: Vec<u8>,
    /// The counting position: as an index into the window, as an offset in the file, and as a line number from 1.
    cursor: usize,
    file_offset: u64,
    line: usize,
    has_ended: bool,
    is_too_long: bool,
    input_error: Option<io::Error>,
}

impl<'a> SharedInput<'a> {
    /// Returns a source that has read `input` up to the end of the first line that isn't blank. A byte order mark is
    /// removed.
    pub(super) fn new(input: &'a mut dyn Read) -> io::Result<Self> {
        let mut head = Vec::new();
        while head.len() < RECORD_LIMIT && !first_line(&head).1 && read_more(input, &mut head)? > 0 {}
        if head.starts_with(BYTE_ORDER_MARK) {
            head.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(Self(RefCell::new(InputState {
            input: Cursor::new(head).chain(input),
            lines: LineCounting::Off,
            allowance: RECORD_LIMIT,
            window: Vec::new(),
            cursor: 0,
            file_offset: 0,
            line: 1,
            has_ended: false,
            is_too_long: false,
            input_error: None,
        })))
    }

    /// Returns a copy of the beginning of the file, as far as [`new`](Self::new) has read it.
    pub(super) fn head(&self) -> Vec<u8> {
        self.0.borrow().input.get_ref().0.get_ref().clone()
    }

    /// Sets how lines are counted. Must be called before the first read.
    pub(super) fn set_line_counting(&self, lines: LineCounting) {
        self.0.borrow_mut().lines = lines;
    }

    /// Starts a new record, which may have up to [`RECORD_LIMIT`] bytes.
    pub(super) fn start_record(&self) {
        self.0.borrow_mut().allowance = RECORD_LIMIT + BUFFER_SIZE;
    }

    /// Returns the line, from 1, of the first record at or after file offset `byte`. Calls must pass ascending offsets.
    pub(super) fn line_at(&self, byte: u64) -> usize {
        self.0.borrow_mut().line_at(byte)
    }

    /// Calls `inspect` with the received bytes that aren't counted yet, at most up to file offset `end`.
    pub(super) fn with_uncounted<T>(&self, end: u64, inspect: impl FnOnce(&[u8]) -> T) -> T {
        let state = self.0.borrow();
        let rest = state.window.get(state.cursor..).unwrap_or_default();
        let length = usize::try_from(end.saturating_sub(state.file_offset)).unwrap_or(usize::MAX);
        inspect(rest.get(..length).unwrap_or(rest))
    }

    /// Whether a reader has reached the end of the file.
    pub(super) fn has_ended(&self) -> bool {
        self.0.borrow().has_ended
    }

    /// Whether reading stopped because a record exceeded [`RECORD_LIMIT`].
    pub(super) fn is_too_long(&self) -> bool {
        self.0.borrow().is_too_long
    }

    /// Returns the error of the input, if reading failed.
    pub(super) fn into_input_error(self) -> Option<io::Error> {
        self.0.into_inner().input_error
    }
}

impl Read for &SharedInput<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}

impl InputState<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.allowance == 0 {
            self.is_too_long = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let most = buffer.len().min(self.allowance);
        let buffer = buffer.get_mut(..most).unwrap_or_default();
        let count = self.read_input(buffer)?;
        self.allowance -= count;
        self.has_ended = count == 0;
        if self.lines != LineCounting::Off {
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
                    self.input_error = Some(error);
                    return Err(kind.into());
                }
                done => return done,
            }
        }
    }

    fn line_at(&mut self, byte: u64) -> usize {
        self.count_line_feeds(byte);
        while let Some(current) = self.window.get(self.cursor) {
            let (ends_line, blank) = match (self.lines, current) {
                (_, b'\n') => (true, true),
                // A lone carriage return, the line end of old Mac files.
                (LineCounting::Editor, b'\r') => (self.window.get(self.cursor + 1) != Some(&b'\n'), true),
                (LineCounting::Json, blank) => (false, blank.is_ascii_whitespace()),
                _ => (false, false),
            };
            if self.file_offset >= byte && !blank {
                break;
            }
            self.line += usize::from(ends_line);
            self.cursor += 1;
            self.file_offset += 1;
        }
        if self.cursor > DRAIN_THRESHOLD {
            self.window.drain(..self.cursor);
            self.cursor = 0;
        }
        self.line
    }

    /// Counts up to `byte` in one pass if these bytes have no carriage return: the usual case, and many times as fast.
    fn count_line_feeds(&mut self, byte: u64) {
        let length = usize::try_from(byte.saturating_sub(self.file_offset)).unwrap_or(usize::MAX);
        let Some(plain) = self.window.get(self.cursor..self.cursor.saturating_add(length)) else { return };
        if self.lines == LineCounting::Editor && !plain.contains(&b'\r') {
            self.line += plain.iter().filter(|byte| **byte == b'\n').count();
            self.file_offset = byte.max(self.file_offset);
            self.cursor += length;
        }
    }
}

/// Returns the first line that isn't blank, and whether its line end was found.
pub(super) fn first_line(bytes: &[u8]) -> (&[u8], bool) {
    let start = bytes.trim_ascii_start();
    let end = start.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    (start.get(..end.unwrap_or(start.len())).unwrap_or_default(), end.is_some())
}

fn read_more(input: &mut dyn Read, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let length = bytes.len();
    bytes.resize(length + BUFFER_SIZE, 0);
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

    /// Returns the line of the first byte at or after `byte` that isn't a line end, counted byte by byte.
    fn expected_line(bytes: &[u8], byte: usize) -> usize {
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
        fn counting_in_one_pass_and_byte_by_byte_gives_the_same_lines(
            text in "[ab\n]{0,40}(\r\n|\r)?[ab\r\n]{0,40}",
            mut offsets in proptest::collection::vec(0_usize..90, 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut input = bytes;
            let source = SharedInput::new(&mut input).unwrap();
            source.set_line_counting(LineCounting::Editor);
            source.start_record();
            (&source).read_to_end(&mut Vec::new()).unwrap();
            offsets.sort_unstable();
            for offset in offsets.into_iter().map(|offset| offset.min(bytes.len())) {
                prop_assert_eq!(source.line_at(offset as u64), expected_line(bytes, offset), "{:?} at {}", text, offset);
            }
        }
    }
}
