//! Parses the text of a filter into an expression.
//!
//! Adjacent terms must all hold. `or` joins alternatives and binds less tightly; parentheses group.
//!
//! It must never panic on any typed text, and never accept half a term. Each error names its bytes, what was expected
//! and, where there is one, the nearest valid word.

use std::iter::Peekable;

use chrono::TimeDelta;
use regex::RegexBuilder;

use super::{
    super::{ids::TxHash, span, status::RouterStatus, text::clean},
    Expression, SortBy, SortKey,
    term::{ChainTest, Comparison, FilterState, FilterTest, RouteEnd, StatusTest, TimeMeasure},
    token::{self, FilterToken, ParseResult, TextSlice, TokenKind},
};

/// The most memory of a compiled pattern, in bytes: enough for any typed pattern, not for `(.{1000}){1000}`.
const PATTERN_LIMIT: usize = 1 << 20;
const KEYS: [&str; 13] =
    ["is", "status", "chain", "from", "to", "age", "due", "checked", "label", "ticket", "profile", "by", "sort"];
/// The arrows between the two ends of a route, the longest first.
const ARROWS: [&str; 3] = ["→", "->", ">"];
/// The term for the work of the person who filters.
const MINE: &str = "mine";
const MEASURES: [(&str, TimeMeasure); 3] =
    [("age", TimeMeasure::Age), ("due", TimeMeasure::Due), ("checked", TimeMeasure::Checked)];
const STATES: [(&str, FilterState); 13] = [
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
    ("reverted", FilterState::Reverted),
    ("pending", FilterState::Pending),
    ("wrong-chain", FilterState::WrongChain),
];

/// Returns the beginnings of terms: each key with its most common operator, and `mine`.
pub(crate) fn keys() -> impl Iterator<Item = String> {
    let keys = KEYS.into_iter().map(|key| match MEASURES.iter().find(|(name, _)| *name == key) {
        // People ask for near deadlines and for great ages.
        Some((name, TimeMeasure::Due)) => format!("{name}<"),
        Some((name, _)) => format!("{name}>"),
        None => format!("{key}:"),
    });
    keys.chain([MINE.to_owned()])
}

/// Returns the values of `is:`.
pub(crate) fn states() -> impl Iterator<Item = &'static str> {
    STATES.iter().map(|(name, _)| *name)
}

/// The deepest nesting of parentheses: deeper than any typed filter, and far from the end of the stack.
const DEPTH_LIMIT: usize = 16;
/// The most terms: SQLite refuses an expression of more than a thousand levels.
const TERM_LIMIT: usize = 400;

/// Returns the expression of a filter and its sort keys. `person` is the meaning of `mine`.
pub(super) fn parse(text: &str, person: Option<&str>) -> ParseResult<(Expression, Vec<SortKey>)> {
    let tokens = token::split(text)?;
    if let Some(token) = tokens.get(TERM_LIMIT) {
        return token.whole.fail(format!("a filter has at most {TERM_LIMIT} terms and joining words"));
    }
    let mut parser = FilterParser { tokens: tokens.into_iter().peekable(), person, sort: Vec::new(), depth: 0 };
    let expression = parser.parse_alternatives()?;
    match parser.tokens.next() {
        Some(unopened) => unopened.whole.fail("`)` has no `(`; put text that contains `)` in quotation marks"),
        None => Ok((expression, parser.sort)),
    }
}

/// Returns a filter's text without its sort keys.
pub(super) fn strip_order(text: &str) -> ParseResult<String> {
    let mut kept = String::new();
    let mut end = 0;
    for token in token::split(text)? {
        let range = token.whole.range();
        // Parentheses stay as they are written.
        let gap = text.get(end..range.start).unwrap_or_default();
        end = range.end;
        if !is_order(&token) {
            kept.push_str(if gap.is_empty() { "" } else { " " });
            kept.push_str(token.whole.text);
        }
    }
    Ok(kept.trim_start().to_owned())
}

/// Returns the sort keys of a filter's text, as typed; empty if the text has none.
pub(super) fn find_order(text: &str) -> ParseResult<String> {
    let order = token::split(text)?.into_iter().filter(is_order).map(|token| token.whole.text);
    Ok(order.collect::<Vec<_>>().join(" "))
}

fn is_order(token: &FilterToken) -> bool {
    matches!(split_key(token.body), Some((key, ':', _)) if key.text == "sort")
}

/// A recursive descent over the tokens: alternatives of conjunctions of terms and of expressions in parentheses.
struct FilterParser<'a> {
    tokens: Peekable<std::vec::IntoIter<FilterToken<'a>>>,
    person: Option<&'a str>,
    sort: Vec<SortKey>,
    /// The number of open parentheses.
    depth: usize,
}

impl<'a> FilterParser<'a> {
    /// Parses up to the closing parenthesis, or to the end.
    fn parse_alternatives(&mut self) -> ParseResult<Expression> {
        let mut alternatives = vec![self.parse_conjunction(None)?];
        while let Some(or) = self.tokens.next_if(|token| token.kind == TokenKind::Or) {
            if alternatives.last().is_some_and(Expression::is_always_true) {
                return or.whole.fail("expected a term before `or`; for the word itself write \"or\"");
            }
            alternatives.push(self.parse_conjunction(Some(or))?);
        }
        Ok(Expression::any(alternatives))
    }

    /// Parses terms up to `or`, the closing parenthesis or the end. After `or`, at least one term is required.
    fn parse_conjunction(&mut self, mut joined_by: Option<FilterToken<'a>>) -> ParseResult<Expression> {
        let mut required = Vec::new();
        while let Some(token) = self.tokens.next_if(|token| !matches!(token.kind, TokenKind::Or | TokenKind::Close)) {
            match token.kind {
                TokenKind::And if required.is_empty() || joined_by.is_some() => {
                    return token.whole.fail("expected a term before `and`; for the word itself write \"and\"");
                }
                TokenKind::And => {
                    joined_by = Some(token);
                    continue;
                }
                TokenKind::Open => required.push(self.parse_group(token)?),
                TokenKind::Or | TokenKind::Close | TokenKind::Term => match split_key(token.body) {
                    Some((key, ':', value)) if key.text == "sort" => {
                        self.parse_order(token, value)?;
                        continue;
                    }
                    keyed => required.push(self.parse_term(token, keyed)?),
                },
            }
            joined_by = None;
        }
        match joined_by {
            Some(word) => word.whole.fail(format!(
                "expected a term after `{0}`; for the word itself write \"{0}\"",
                word.whole.text.to_lowercase()
            )),
            None => Ok(Expression::all(required)),
        }
    }

    fn parse_group(&mut self, open: FilterToken<'a>) -> ParseResult<Expression> {
        if self.depth == DEPTH_LIMIT {
            return open.whole.fail(format!("parentheses are nested at most {DEPTH_LIMIT} deep"));
        }
        self.depth += 1;
        let inner = self.parse_alternatives()?;
        self.depth -= 1;
        match self.tokens.next() {
            None => open.whole.fail("`(` is never closed; expected `)` at the end"),
            Some(_) if inner.is_always_true() => open.whole.fail("expected a term between `(` and `)`"),
            Some(_) => Ok(inner.negate_if(open.is_negated)),
        }
    }

    fn parse_order(&mut self, token: FilterToken<'a>, value: TextSlice<'a>) -> ParseResult<()> {
        if token.is_negated {
            return token.whole.fail("`sort:` can't be negated; reverse a key with sort:-sev");
        }
        if self.depth > 0 {
            return token.whole.fail("`sort:` must stand outside of parentheses");
        }
        self.sort.extend(parse_sort_keys(value)?);
        Ok(())
    }

    /// Parses a term. A route may be written as three words, as the detail shows it: `Arbitrum → Base`.
    fn parse_term(
        &mut self,
        token: FilterToken<'a>,
        keyed: Option<(TextSlice<'a>, char, TextSlice<'a>)>,
    ) -> ParseResult<Expression> {
        let is_sign = |next: &FilterToken| next.kind == TokenKind::Term && next.whole.text.starts_with(['<', '>']);
        if let Some((name, _)) = MEASURES.iter().find(|(name, _)| token.body.text.eq_ignore_ascii_case(name))
            && self.tokens.peek().is_some_and(is_sign)
        {
            return token.whole.fail(format!("write the comparison without blanks, as in {name}>30m"));
        }
        let is_arrow = |next: &FilterToken| next.kind == TokenKind::Term && ARROWS.contains(&next.whole.text);
        let expression = match self.tokens.next_if(is_arrow) {
            Some(arrow) => match self.tokens.next_if(|next| next.kind == TokenKind::Term && !next.is_negated) {
                Some(to) => Expression::Test(route_test(token.body, to.body)),
                None => return arrow.whole.fail("expected a chain after the arrow"),
            },
            None => {
                let quoted = token.body.text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                match (parse_test(token.body, keyed, self.person)?, quoted) {
                    // Quoted text may be a route whose names contain blanks, or any text with an arrow.
                    (route @ FilterTest::Route { .. }, Some(text)) => {
                        let exact = Expression::Test(FilterTest::Exact(text.to_owned()));
                        Expression::any(vec![Expression::Test(route), exact])
                    }
                    (test, _) => Expression::Test(test),
                }
            }
        };
        Ok(expression.negate_if(token.is_negated))
    }
}

/// Splits a term into its key, its operator (`:`, `<` or `>`) and its value.
fn split_key(piece: TextSlice) -> Option<(TextSlice, char, TextSlice)> {
    let end = piece.text.find(|letter: char| !letter.is_ascii_alphabetic())?;
    let sign = piece.suffix_from(end).text.chars().next().filter(|sign| matches!(sign, ':' | '<' | '>'))?;
    (end > 0).then(|| (piece.prefix_to(end), sign, piece.suffix_from(end + 1)))
}

fn parse_test(
    piece: TextSlice,
    keyed: Option<(TextSlice, char, TextSlice)>,
    person: Option<&str>,
) -> ParseResult<FilterTest> {
    let inner = |mark: char| piece.text.strip_prefix(mark).and_then(|text| text.strip_suffix(mark));
    if let Some(test) = parse_displayed_route(piece).map(Ok).or_else(|| parse_url(piece)) {
        return test;
    }
    match (inner('"'), inner('/'), keyed) {
        (Some(""), ..) | (_, Some(""), _) => piece.fail("expected text between the two marks"),
        (Some(exact), ..) => Ok(FilterTest::Exact(exact.to_owned())),
        (_, Some(text), _) => parse_pattern(piece, text),
        (.., Some((key, ':', value))) => parse_named_value(key, value),
        (.., Some((key, sign, value))) => parse_comparison(key, sign, value),
        _ => match piece.text {
            MINE => match person {
                Some(name) => Ok(FilterTest::By(name.to_lowercase())),
                None => piece.fail(
                    "your name is not set; set [me] name in the config file, or HOPTOP_NAME; for the word itself write \"mine\"",
                ),
            },
            "NOT" => piece.fail("write `-` directly before the term; for the word itself write \"NOT\""),
            // A shortened hash, as lists show it. Two dots between other words are plain text.
            word => match TxHash::parse_short(word).filter(|_| word.starts_with("0x") || word.contains('…')) {
                Some((head, tail)) => parse_pattern(piece, &format!("(?i)^{head}.*{tail}$")),
                None if word.len() > 1 && word.starts_with('#') => Ok(FilterTest::Hashtag(word.to_lowercase())),
                None => Ok(FilterTest::Word(word.to_lowercase())),
            },
        },
    }
}

/// Parses a route as the lists show it: `ARB→BASE` or `ARB>BASE`, in quotation marks if a name contains spaces. Returns
/// `None` for other text.
fn parse_displayed_route(piece: TextSlice) -> Option<FilterTest> {
    let is_quoted = piece.text.len() > 2 && piece.text.starts_with('"') && piece.text.ends_with('"');
    let inner = if is_quoted { piece.suffix_from(1).prefix_to(piece.text.len() - 2) } else { piece };
    let at_arrow =
        |arrow: &&str| inner.text.find(*arrow).map(|at| (inner.prefix_to(at), inner.suffix_from(at + arrow.len())));
    let (from, to) = ARROWS.iter().find_map(at_arrow)?;
    let is_end = |end: TextSlice| {
        !end.trim().text.is_empty()
            && !end.text.contains([':', '"', '/', '<', '>', '='])
            && (is_quoted || end.text == end.trim().text)
    };
    let is_key = KEYS.iter().any(|key| from.text.eq_ignore_ascii_case(key));
    (is_end(from) && is_end(to) && !is_key).then(|| route_test(from, to))
}

/// Whether quoted text may be a route.
pub(super) fn is_route(text: &str) -> bool {
    ARROWS.iter().any(|arrow| text.contains(arrow))
}

/// Returns the test for the route between these two ends.
fn route_test(from: TextSlice, to: TextSlice) -> FilterTest {
    let name = |end: TextSlice| end.trim().text.to_lowercase();
    FilterTest::Route { from: name(from), to: name(to) }
}

/// Parses the URL of a block explorer into a search for the hash or the address in it. Returns `None` for other text.
fn parse_url(piece: TextSlice) -> Option<ParseResult<FilterTest>> {
    /// Addresses are the shortest: 40 digits, or 32 characters of base 58.
    const MIN_LENGTH: usize = 32;
    let (_, rest) = piece.text.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"))?;
    let parts = rest.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|part| part.len() >= MIN_LENGTH);
    Some(match parts.max_by_key(|part| part.len()) {
        Some(part) => Ok(FilterTest::Word(part.to_lowercase())),
        None => piece.fail("this URL contains no hash and no address; put other text in quotation marks"),
    })
}

fn parse_pattern(piece: TextSlice, text: &str) -> ParseResult<FilterTest> {
    let built = RegexBuilder::new(text).size_limit(PATTERN_LIMIT).build();
    built.map(FilterTest::Pattern).or_else(|error| piece.fail(describe(&error)))
}

/// Returns the last line of the pattern's error; the lines before it show the pattern.
fn describe(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
    format!("not a valid regular expression: {}", clean(last))
}

fn parse_named_value(key: TextSlice, value: TextSlice) -> ParseResult<FilterTest> {
    let plain = value.text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(value.text);
    let lower = plain.to_lowercase();
    let known = KEYS.contains(&key.text);
    if known && plain.is_empty() {
        return value.fail_from(key.start, format!("expected a value after `{}:`", key.text));
    }
    match key.text {
        "is" => match STATES.iter().find(|(name, _)| *name == lower) {
            Some((_, state)) => Ok(FilterTest::Is(*state)),
            None => unknown(value, &STATES.map(|(name, _)| name), ""),
        },
        "status" => value.list()?.into_iter().map(parse_status).collect::<ParseResult<_>>().map(FilterTest::Status),
        "chain" => Ok(FilterTest::Chain(RouteEnd::Either, ChainTest::new(plain))),
        "from" => Ok(FilterTest::Chain(RouteEnd::From, ChainTest::new(plain))),
        "to" => Ok(FilterTest::Chain(RouteEnd::To, ChainTest::new(plain))),
        "label" => Ok(FilterTest::Label(lower)),
        "ticket" => Ok(FilterTest::Ticket(lower)),
        "profile" => Ok(FilterTest::Profile(lower)),
        "by" => Ok(FilterTest::By(lower)),
        name if known => key.fail(format!("`{name}` needs a comparison; write {name}>30m or {name}<30m")),
        _ => unknown(key, &KEYS, "; put text that contains `:` in quotation marks"),
    }
}

fn parse_status(value: TextSlice) -> ParseResult<StatusTest> {
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
            unknown(value, &names, "")
        }
    }
}

fn parse_comparison(key: TextSlice, sign: char, value: TextSlice) -> ParseResult<FilterTest> {
    let Some((_, measure)) = MEASURES.iter().find(|(name, _)| *name == key.text) else {
        if KEYS.contains(&key.text) {
            return key.fail(format!("`{0}` can't be compared; write {0}:…", key.text));
        }
        return unknown(key, &MEASURES.map(|(name, _)| name), "; a route is written ARB>BASE");
    };
    let (comparison, value) = match (sign, value.text.starts_with('=')) {
        ('<', false) => (Comparison::Less, value),
        ('<', true) => (Comparison::LessOrEqual, value.suffix_from(1)),
        (_, false) => (Comparison::More, value),
        (_, true) => (Comparison::MoreOrEqual, value.suffix_from(1)),
    };
    // Only the time until a deadline can be negative.
    let (negative, digits) = match value.text.strip_prefix('-') {
        Some(digits) if *measure == TimeMeasure::Due => (true, digits),
        _ => (false, value.text),
    };
    let Ok(limit) = span::parse(digits) else {
        return match value.text {
            "" => value.fail_from(key.start, format!("write a duration after `{}`: 90s, 30m or 2h", key.text)),
            text => value.fail(format!("`{}` is not a duration; write it as 90s, 30m or 2h", clean(text))),
        };
    };
    let limit = TimeDelta::from_std(limit).unwrap_or(TimeDelta::MAX);
    Ok(FilterTest::Span(*measure, comparison, if negative { -limit } else { limit }))
}

fn parse_sort_keys(value: TextSlice) -> ParseResult<Vec<SortKey>> {
    let names: Vec<_> = SortBy::ALL.iter().map(|by| by.name()).collect();
    if value.text.is_empty() {
        return value.fail_from(value.start - "sort:".len(), format!("expected one of {}", names.join(", ")));
    }
    let key = |whole: TextSlice| {
        let is_reversed = whole.text.starts_with('-');
        let part = whole.suffix_from(usize::from(is_reversed));
        if part.text.is_empty() {
            return whole.fail(format!("expected one of {} right after `-`", names.join(", ")));
        }
        let by = SortBy::ALL.iter().find(|by| by.name() == part.text.to_lowercase());
        by.map_or_else(|| unknown(part, &names, ""), |by| Ok(SortKey { by: *by, is_reversed }))
    };
    let mut keys: Vec<_> = value.list()?.into_iter().map(key).collect::<ParseResult<_>>()?;
    // Thousands of transactions may have the same status, or no answer yet.
    if keys.last().is_some_and(|key| matches!(key.by, SortBy::Status | SortBy::Checked)) {
        keys.extend(SortKey::DEFAULT);
    }
    Ok(keys)
}

/// Returns the error for a word that isn't among the expected words. `advice` ends the message.
fn unknown<T>(word: TextSlice, expected: &[&str], advice: &str) -> ParseResult<T> {
    let lower = word.text.to_lowercase();
    let by_distance = expected.iter().map(|right| (strsim::levenshtein(&lower, right), right));
    // A word this long is not a typing error.
    let nearest = by_distance.filter(|_| lower.len() < 64).min_by_key(|(distance, _)| *distance);
    let nearest = nearest.filter(|(distance, right)| *distance <= 1 + right.len() / 3).map(|(_, right)| right);
    let hint = nearest.map_or_else(String::new, |right| format!("; did you mean `{right}`?"));
    word.fail(format!("`{}` is unknown; expected one of {}{hint}{advice}", clean(word.text), expected.join(", ")))
}
