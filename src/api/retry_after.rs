//! Reads `Retry-After` in all its forms as a bounded duration (`DESIGN.md`, Budget; `cases.md` 29).
//!
//! This module must never return more than [`LIMIT`], nor a duration for a value that it can't read.

use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use reqwest::header::{DATE, HeaderMap, HeaderValue, RETRY_AFTER};

/// The longest wait that is accepted from the service.
pub(super) const LIMIT: Duration = Duration::from_secs(10 * 60);

/// Returns the wait that the headers of an answer ask for. A date counts from the server's own `Date`, or from `wall`.
pub(crate) fn from_headers(headers: &HeaderMap, wall: DateTime<Utc>) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    parse_header(text(RETRY_AFTER)?, text(DATE).and_then(parse_http_date).unwrap_or(wall))
}

/// Returns the wait that a header asks for, as seconds or an HTTP date. `wall` is the time of the answer, by the server's
/// clock if that is known. Returns `None` for a past date, zero, a negative number and any other text.
pub(super) fn parse_header(text: &str, wall: DateTime<Utc>) -> Option<Duration> {
    let text = text.trim();
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return from_seconds(text.parse().ok()?);
    }
    let until = parse_http_date(text)?;
    (until - wall).to_std().ok().and_then(|span| from_seconds(span.as_secs_f64()))
}

/// Returns the wait for a number of seconds; `None` for less than half a nanosecond, which a `Duration` can't hold.
pub(super) fn from_seconds(seconds: f64) -> Option<Duration> {
    let span = (seconds > 0.0).then(|| Duration::from_secs_f64(seconds.min(LIMIT.as_secs_f64())));
    span.filter(|span| !span.is_zero())
}

/// Parses a date in one of the three forms of RFC 9110, 5.6.7.
pub(super) fn parse_http_date(text: &str) -> Option<DateTime<Utc>> {
    let obsolete = ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];
    let naive = || obsolete.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
    let preferred = DateTime::parse_from_rfc2822(text).ok().map(|date| date.to_utc());
    preferred.or_else(|| naive().map(|date| date.and_utc()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_bounds_every_form() {
        let wall = DateTime::parse_from_rfc3339("1994-11-06T08:49:00Z").unwrap().to_utc();
        let table = [
            ("7", Some(7.0)),
            (" 1.5 ", Some(1.5)),
            ("601", Some(600.0)),
            ("1e12", Some(600.0)),
            ("1000000000000", Some(600.0)),
            ("1e999", Some(600.0)),
            ("0", None),
            ("1e-12", None),
            ("-5", None),
            ("nan", None),
            ("inf", None),
            ("", None),
            ("soon", None),
            ("7 apples", None),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(37.0)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(37.0)),
            ("Sun Nov  6 08:49:37 1994", Some(37.0)),
            ("Sun, 06 Nov 1994 08:48:37 GMT", None),
            ("Mon, 06 Nov 2094 08:49:37 GMT", None),
            ("Sat, 06 Nov 2094 08:49:37 GMT", Some(600.0)),
        ];
        for (text, expected) in table {
            assert_eq!(parse_header(text, wall), expected.map(Duration::from_secs_f64), "{text}");
        }
    }
}
