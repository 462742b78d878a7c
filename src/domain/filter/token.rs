//! The tokens of a filter: terms, parentheses, and the words between terms.
//!
//! It knows where a term ends, and must never know which terms there are. The byte range of each token is kept for
//! errors.

use std::ops::Range;

use super::FilterError;

pub(super) type ParseResult<T> = Result<T, FilterError>;

/// A part of the text, with its byte offset.
#[derive(Clone, Copy)]
pub(super) struct TextSlice<'a> {
    pub(super) text: &'a str,
    pub(super) start: usize,
}

impl<'a> TextSlice<'a> {
    /// Returns the part from this byte of the slice on; empty if the slice has no such byte.
    pub(super) fn suffix_from(self, at: usize) -> Self {
        Self { text: self.text.get(at..).unwrap_or_default(), start: self.start + at }
    }

    /// Returns the part before this byte of the slice; the whole slice if it has no such byte.
    pub(super) fn prefix_to(self, at: usize) -> Self {
        Self { text: self.text.get(..at).unwrap_or(self.text), start: self.start }
    }

    fn trim_start(self) -> Self {
        self.suffix_from(self.text.len() - self.text.trim_start().len())
    }

    pub(super) fn trim(self) -> Self {
        let trimmed = self.trim_start();
        trimmed.prefix_to(trimmed.text.trim_end().len())
    }

    /// Returns the bytes of the whole text that the slice takes.
    pub(super) fn range(self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// Returns an error about this slice.
    pub(super) fn fail<T>(self, message: impl Into<String>) -> ParseResult<T> {
        Err(FilterError { at: self.range(), message: message.into() })
    }

    /// Returns an error about the text from the byte `start` to the end of this slice.
    pub(super) fn fail_from<T>(self, start: usize, message: String) -> ParseResult<T> {
        Err(FilterError { at: start..self.range().end, message })
    }

    /// Returns the parts between commas; an empty part is an error.
    pub(super) fn list(self) -> ParseResult<Vec<TextSlice<'a>>> {
        let mut parts = Vec::new();
        let mut start = self.start;
        for text in self.text.split(',') {
            if text.is_empty() {
                return self.fail("expected a value; separate several values with commas");
            }
            parts.push(TextSlice { text, start });
            start += text.len() + 1;
        }
        Ok(parts)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A term, after its `-` if it is negated.
    Term,
    /// `(`, or `-(` if negated.
    Open,
    /// `)`.
    Close,
    /// `and`.
    And,
    /// `or`.
    Or,
}

#[derive(Clone, Copy)]
pub(super) struct FilterToken<'a> {
    pub(super) kind: TokenKind,
    /// Whether a `-` directly precedes the token.
    pub(super) is_negated: bool,
    /// The token as typed, with its `-`.
    pub(super) whole: TextSlice<'a>,
    /// The token without its `-`.
    pub(super) body: TextSlice<'a>,
}

/// Returns the tokens of a filter, or the first error.
pub(super) fn split(text: &str) -> ParseResult<Vec<FilterToken<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = TextSlice { text, start: 0 }.trim_start();
    while !rest.text.is_empty() {
        let sign = usize::from(rest.text.starts_with('-'));
        let is_negated = sign > 0;
        let body = rest.suffix_from(sign);
        let (kind, length) = match body.text.chars().next() {
            Some('(') => (TokenKind::Open, 1),
            Some(')') if !is_negated => (TokenKind::Close, 1),
            _ => {
                let length = term_length(body)?;
                let kind = match body.prefix_to(length).text.to_ascii_lowercase().as_str() {
                    "and" if !is_negated => TokenKind::And,
                    "or" if !is_negated => TokenKind::Or,
                    _ => TokenKind::Term,
                };
                (kind, length)
            }
        };
        if length == 0 {
            return rest.prefix_to(1).fail("expected a term right after `-`");
        }
        tokens.push(FilterToken {
            kind,
            is_negated,
            whole: rest.prefix_to(sign + length),
            body: body.prefix_to(length),
        });
        rest = body.suffix_from(length).trim_start();
    }
    Ok(tokens)
}

/// Returns the length of the term at the beginning of the text.
fn term_length(body: TextSlice) -> ParseResult<usize> {
    let word = word_length(body.text);
    let quoted_value = body.prefix_to(word).text.find(":\"").map(|at| at + 1);
    let length = match (body.text.chars().next(), quoted_value) {
        (Some('/'), _) => find_closing(body, 0, '/')?,
        (Some('"'), _) => find_closing(body, 0, '"')?,
        (_, Some(at)) => find_closing(body, at, '"')?,
        _ => return Ok(word),
    };
    match body.suffix_from(length).text.chars().next() {
        Some(next) if !next.is_whitespace() && next != ')' => {
            body.prefix_to(length + next.len_utf8()).fail("expected a space after this term")
        }
        _ => Ok(length),
    }
}

/// Returns the length of the word at the beginning of the text. It ends at a space, or at a `)` whose `(` isn't in the
/// word.
fn word_length(text: &str) -> usize {
    let mut open = 0_usize;
    let ends = |letter: char| {
        match letter {
            '(' => open += 1,
            ')' if open == 0 => return true,
            ')' => open -= 1,
            _ => {}
        }
        letter.is_whitespace()
    };
    text.find(ends).unwrap_or(text.len())
}

/// Returns the length up to the quotation mark or slash that closes the one at `open`. In a pattern, `\/` doesn't
/// close.
fn find_closing(body: TextSlice, open: usize, mark: char) -> ParseResult<usize> {
    let mut escaped = false;
    for (at, letter) in body.text.char_indices().skip_while(|(at, _)| *at <= open) {
        if letter == mark && !escaped {
            return Ok(at + 1);
        }
        escaped = mark == '/' && letter == '\\' && !escaped;
    }
    body.suffix_from(open).fail(format!("`{mark}` is never closed; expected another `{mark}` at the end"))
}
