//! Parses the text of a filter into terms.
//!
//! It must never panic on any typed text, and never accept half a term. Each error names its bytes, what was expected
//! and, where there is one, the nearest valid word.

use std::ops::Range;

use chrono::TimeDelta;
use regex::RegexBuilder;

use super::{
    super::{ids::TxHash, span, status::RouterStatus, text::clean},
    FilterError, SortBy, SortKey,
    term::{ChainTest, Comparison, FilterState, Measure, RouteEnd, StatusTest, Term, Test},
};

/// The most memory of a compiled pattern, in bytes: enough for any typed pattern, not for `(.{1000}){1000}`.
const PATTERN_LIMIT: usize = 1 << 20;
const KEYS: [&str; 13] =
    ["is", "status", "chain", "from", "to", "age", "due", "checked", "label", "ticket", "profile", "by", "sort"];
/// The term for what the person did who filters.
const MINE: &str = "mine";
const MEASURES: [(&str, Measure); 3] = [("age", Measure::Age), ("due", Measure::Due), ("checked", Measure::Checked)];
const STATES: [(&str, FilterState); 10] = [
    ("attention", FilterState::Attention),
    ("overdue", FilterState::Overdue),
    ("unsettled", FilterState::Unsettled),
    ("settled", FilterState::Settled),
    ("firing", FilterState::Firing),
    ("acked", FilterState::Acked),
    ("snoozed", FilterState::Snoozed),
    ("active", FilterState::Active),
    ("parked", FilterState::Parked),
    ("untracked", FilterState::Untracked),
];

/// Returns the beginnings of terms: each key with its most common operator, and `mine`.
pub(crate) fn keys() -> impl Iterator<Item = String> {
    let keys = KEYS.into_iter().map(|key| match MEASURES.iter().find(|(name, _)| *name == key) {
        // People ask for near deadlines and for great ages.
        Some((name, Measure::Due)) => format!("{name}<"),
        Some((name, _)) => format!("{name}>"),
        None => format!("{key}:"),
    });
    keys.chain([MINE.to_owned()])
}

/// Returns the values of `is:`.
pub(crate) fn states() -> impl Iterator<Item = &'static str> {
    STATES.iter().map(|(name, _)| *name)
}

type Parsed<T> = Result<T, FilterError>;

/// Returns the terms of a filter and its sort keys. `person` is the name that `mine` stands for.
pub(super) fn parse(text: &str, person: Option<&str>) -> Parsed<(Vec<Term>, Vec<SortKey>)> {
    let (mut terms, mut sort) = (Vec::new(), Vec::new());
    for term in split_terms(text) {
        let (whole, piece) = term?;
        let negated = whole.start < piece.start;
        match split_key(piece) {
            Some((key, ':', value)) if key.text == "sort" && negated => {
                return value.fail_from(whole.start, "`sort:` can't be negated; reverse a key with sort:-sev");
            }
            Some((key, ':', value)) if key.text == "sort" => sort.extend(parse_sort_keys(value)?),
            _ if piece.text.is_empty() => return whole.to(1).fail("expected a term right after `-`"),
            keyed => terms.push(Term { negated, test: parse_test(piece, keyed, person)? }),
        }
    }
    Ok((terms, sort))
}

/// Returns a filter's text without its sort keys.
pub(super) fn without_order(text: &str) -> Parsed<String> {
    let is_order = |piece: FilterToken| matches!(split_key(piece), Some((key, ':', _)) if key.text == "sort");
    let mut kept = Vec::new();
    for term in split_terms(text) {
        let (whole, piece) = term?;
        kept.extend((!is_order(piece)).then_some(whole.text));
    }
    Ok(kept.join(" "))
}

/// Returns the terms as typed, each with its text after a negating `-`. An error ends the iteration.
fn split_terms(text: &str) -> impl Iterator<Item = Parsed<(FilterToken<'_>, FilterToken<'_>)>> {
    let mut rest = FilterToken { text, start: 0 }.trim_start();
    std::iter::from_fn(move || {
        let whole = rest;
        if whole.text.is_empty() {
            return None;
        }
        let sign = usize::from(whole.text.starts_with('-'));
        let body = whole.from(sign);
        rest = FilterToken { text: "", start: 0 };
        let length = match term_length(body) {
            Ok(length) => length,
            Err(error) => return Some(Err(error)),
        };
        rest = body.from(length).trim_start();
        Some(Ok((whole.to(sign + length), body.to(length))))
    })
}

/// A part of the text, with its byte offset.
#[derive(Clone, Copy)]
struct FilterToken<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> FilterToken<'a> {
    fn from(self, at: usize) -> Self {
        Self { text: self.text.get(at..).unwrap_or_default(), start: self.start + at }
    }

    fn to(self, at: usize) -> Self {
        Self { text: self.text.get(..at).unwrap_or(self.text), start: self.start }
    }

    fn trim_start(self) -> Self {
        self.from(self.text.len() - self.text.trim_start().len())
    }

    fn range(self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    fn fail<T>(self, message: impl Into<String>) -> Parsed<T> {
        Err(FilterError { at: self.range(), message: message.into() })
    }

    fn fail_from<T>(self, start: usize, message: &str) -> Parsed<T> {
        Err(FilterError { at: start..self.range().end, message: message.into() })
    }

    /// Returns the parts between commas; an empty part is an error.
    fn list(self) -> Parsed<Vec<FilterToken<'a>>> {
        let mut parts = Vec::new();
        let mut start = self.start;
        for text in self.text.split(',') {
            if text.is_empty() {
                return self.fail("expected a value; separate several values with commas");
            }
            parts.push(FilterToken { text, start });
            start += text.len() + 1;
        }
        Ok(parts)
    }
}

/// Returns the length of the term at the beginning of the text.
fn term_length(body: FilterToken) -> Parsed<usize> {
    let word = body.text.find(char::is_whitespace).unwrap_or(body.text.len());
    let quoted_value = body.to(word).text.find(":\"").map(|at| at + 1);
    let length = match (body.text.chars().next(), quoted_value) {
        (Some('/'), _) => find_closing(body, 0, '/')?,
        (Some('"'), _) => find_closing(body, 0, '"')?,
        (_, Some(at)) => find_closing(body, at, '"')?,
        _ => return Ok(word),
    };
    match body.from(length).text.chars().next() {
        Some(next) if !next.is_whitespace() => {
            body.to(length + next.len_utf8()).fail("expected a space after this term")
        }
        _ => Ok(length),
    }
}

/// Returns the length up to the quotation mark or slash that closes the one at `open`. In a pattern, `\/` doesn't
/// close.
fn find_closing(body: FilterToken, open: usize, mark: char) -> Parsed<usize> {
    let mut escaped = false;
    for (at, letter) in body.text.char_indices().skip_while(|(at, _)| *at <= open) {
        if letter == mark && !escaped {
            return Ok(at + 1);
        }
        escaped = mark == '/' && letter == '\\' && !escaped;
    }
    body.from(open).fail(format!("`{mark}` is never closed; expected another `{mark}` at the end"))
}

/// Splits a term into its key, its operator (`:`, `<` or `>`) and its value.
fn split_key(piece: FilterToken) -> Option<(FilterToken, char, FilterToken)> {
    let end = piece.text.find(|letter: char| !letter.is_ascii_alphabetic())?;
    let sign = piece.from(end).text.chars().next().filter(|sign| matches!(sign, ':' | '<' | '>'))?;
    (end > 0).then(|| (piece.to(end), sign, piece.from(end + 1)))
}

fn parse_test(
    piece: FilterToken,
    keyed: Option<(FilterToken, char, FilterToken)>,
    person: Option<&str>,
) -> Parsed<Test> {
    let inner = |mark: char| piece.text.strip_prefix(mark).and_then(|text| text.strip_suffix(mark));
    match (inner('"'), inner('/'), keyed) {
        (Some(""), ..) | (_, Some(""), _) => piece.fail("expected text between the two marks"),
        (Some(exact), ..) => Ok(Test::Exact(exact.to_owned())),
        (_, Some(text), _) => parse_pattern(piece, text),
        (.., Some((key, ':', value))) => parse_named_value(key, value),
        (.., Some((key, sign, value))) => parse_comparison(key, sign, value),
        _ => match piece.text {
            "AND" => piece.fail("not needed: all terms must match anyway; for the word itself write \"AND\""),
            "OR" => {
                piece.fail("terms can't be joined by OR; write status:a,b or /a|b/; for the word itself write \"OR\"")
            }
            MINE => match person {
                Some(name) => Ok(Test::By(name.to_lowercase())),
                None => piece.fail(
                    "your name is not set; set [me] name in the config file, or HOPTOP_NAME; for the word itself write \"mine\"",
                ),
            },
            "NOT" => piece.fail("write `-` directly before the term; for the word itself write \"NOT\""),
            // A shortened hash, as lists show it. Two dots between other words are plain text.
            word => match TxHash::parse_short(word).filter(|_| word.starts_with("0x") || word.contains('…')) {
                Some((head, tail)) => parse_pattern(piece, &format!("(?i)^{head}.*{tail}$")),
                None => Ok(Test::Word(word.to_lowercase())),
            },
        },
    }
}

fn parse_pattern(piece: FilterToken, text: &str) -> Parsed<Test> {
    let built = RegexBuilder::new(text).size_limit(PATTERN_LIMIT).build();
    built.map(Test::Pattern).or_else(|error| piece.fail(describe(&error)))
}

/// Returns the last line of the pattern's error; the lines before it show the pattern.
fn describe(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
    format!("not a valid regular expression: {}", clean(last))
}

fn parse_named_value(key: FilterToken, value: FilterToken) -> Parsed<Test> {
    let plain = value.text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(value.text);
    let lower = plain.to_lowercase();
    let known = KEYS.contains(&key.text);
    if known && plain.is_empty() {
        return Err(FilterError {
            at: key.start..value.range().end,
            message: format!("expected a value after `{}:`", key.text),
        });
    }
    match key.text {
        "is" => {
            let state = STATES.iter().find(|(name, _)| *name == lower);
            state.map_or_else(|| unknown(value, &STATES.map(|(name, _)| name)), |(_, state)| Ok(Test::Is(*state)))
        }
        "status" => value.list()?.into_iter().map(parse_status).collect::<Parsed<_>>().map(Test::Status),
        "chain" => Ok(Test::Chain(RouteEnd::Either, ChainTest::new(plain))),
        "from" => Ok(Test::Chain(RouteEnd::From, ChainTest::new(plain))),
        "to" => Ok(Test::Chain(RouteEnd::To, ChainTest::new(plain))),
        "label" => Ok(Test::Label(lower)),
        "ticket" => Ok(Test::Ticket(lower)),
        "profile" => Ok(Test::Profile(lower)),
        "by" => Ok(Test::By(lower)),
        name if known => key.fail(format!("`{name}` needs a comparison; write {name}>30m or {name}<30m")),
        _ => unknown(key, &KEYS).map_err(|error: FilterError| FilterError {
            message: format!("{}; put text that contains `:` in quotation marks", error.message),
            ..error
        }),
    }
}

fn parse_status(value: FilterToken) -> Parsed<StatusTest> {
    let name = value.text.to_lowercase();
    let documented = RouterStatus::DOCUMENTED.into_iter().find(|status| status.name() == name);
    match (documented, name.as_str()) {
        (Some(status), _) => Ok(StatusTest::Documented(status)),
        (None, "unknown") => Ok(StatusTest::Unknown),
        (None, "none") => Ok(StatusTest::NoAnswer),
        // The lists use this shorter name.
        (None, "partial") => Ok(StatusTest::Documented(RouterStatus::PartialSuccess)),
        _ => {
            let mut names: Vec<_> = RouterStatus::DOCUMENTED.iter().map(RouterStatus::name).collect();
            names.extend(["unknown", "none"]);
            unknown(value, &names)
        }
    }
}

fn parse_comparison(key: FilterToken, sign: char, value: FilterToken) -> Parsed<Test> {
    let Some((_, measure)) = MEASURES.iter().find(|(name, _)| *name == key.text) else {
        if KEYS.contains(&key.text) {
            return key.fail(format!("`{0}` can't be compared; write {0}:…", key.text));
        }
        let error = unknown::<Test>(key, &MEASURES.map(|(name, _)| name)).err();
        let message = error.map(|error| error.message).unwrap_or_default();
        return key.fail(format!("{message}; a route is written from:ARB to:BASE"));
    };
    let (comparison, value) = match (sign, value.text.starts_with('=')) {
        ('<', false) => (Comparison::Less, value),
        ('<', true) => (Comparison::LessOrEqual, value.from(1)),
        (_, false) => (Comparison::More, value),
        (_, true) => (Comparison::MoreOrEqual, value.from(1)),
    };
    // Only the time until a deadline can be negative.
    let (negative, digits) = match value.text.strip_prefix('-') {
        Some(digits) if *measure == Measure::Due => (true, digits),
        _ => (false, value.text),
    };
    let limit = span::parse(digits).map_err(|_| FilterError {
        at: if value.text.is_empty() { key.start..value.start } else { value.range() },
        message: format!("`{}` is not a duration; write it as 90s, 30m or 2h", clean(value.text)),
    })?;
    let limit = TimeDelta::from_std(limit).unwrap_or(TimeDelta::MAX);
    Ok(Test::Span(*measure, comparison, if negative { -limit } else { limit }))
}

fn parse_sort_keys(value: FilterToken) -> Parsed<Vec<SortKey>> {
    let names: Vec<_> = SortBy::ALL.iter().map(|by| by.name()).collect();
    if value.text.is_empty() {
        return value.fail_from(value.start - "sort:".len(), &format!("expected one of {}", names.join(", ")));
    }
    let key = |part: FilterToken| {
        let reversed = part.text.starts_with('-');
        let whole = part;
        let part = part.from(usize::from(reversed));
        if part.text.is_empty() {
            return whole.fail(format!("expected one of {} right after `-`", names.join(", ")));
        }
        let by = SortBy::ALL.iter().find(|by| by.name() == part.text.to_lowercase());
        by.map_or_else(|| unknown(part, &names), |by| Ok(SortKey { by: *by, reversed }))
    };
    let mut keys: Vec<_> = value.list()?.into_iter().map(key).collect::<Parsed<_>>()?;
    // Thousands of transactions may have the same status, or no answer yet.
    if keys.last().is_some_and(|key| matches!(key.by, SortBy::Status | SortBy::Checked)) {
        keys.extend(SortKey::DEFAULT);
    }
    Ok(keys)
}

/// Returns the error for a word that isn't among the expected words.
fn unknown<T>(word: FilterToken, expected: &[&str]) -> Parsed<T> {
    let lower = word.text.to_lowercase();
    let by_distance = expected.iter().map(|right| (strsim::levenshtein(&lower, right), right));
    // A word this long is not a typing error.
    let nearest = by_distance.filter(|_| lower.len() < 64).min_by_key(|(distance, _)| *distance);
    let nearest = nearest.filter(|(distance, right)| *distance <= 1 + right.len() / 3).map(|(_, right)| right);
    let hint = nearest.map_or_else(String::new, |right| format!("; did you mean `{right}`?"));
    word.fail(format!("`{}` is unknown; expected one of {}{hint}", clean(word.text), expected.join(", ")))
}
