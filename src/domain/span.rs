//! Durations and moments as people and scripts write them: `38m`, `8m 02s`, `30m`, RFC 3339.
//!
//! It must never show a negative duration: where a clock jumped, the duration is zero.

use std::time::Duration;

use chrono::{DateTime, FixedOffset, SecondsFormat, Utc};
use serde::Serializer;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The units, the longest first: the letter, the seconds, and the shortest duration in seconds that [`short`] writes in it.
const UNITS: [(char, u64, u64); 4] = [('d', DAY, 2 * DAY), ('h', HOUR, HOUR), ('m', MINUTE, MINUTE), ('s', 1, 0)];

/// Returns the time from `earlier` to `later`; zero if `earlier` is later.
pub(crate) fn between(earlier: DateTime<Utc>, later: DateTime<Utc>) -> Duration {
    (later - earlier).to_std().unwrap_or_default()
}

/// Returns a duration in one unit, rounded down, for a narrow column: `12s`, `38m`, `7h`, `3d`.
pub(crate) fn short(span: Duration) -> String {
    let (letter, unit) = unit(span);
    format!("{}{letter}", span.as_secs() / unit)
}

/// Returns a duration in one unit, rounded to the nearest: for a measured duration. Ages are rounded down ([`short`]).
pub(crate) fn nearest(span: Duration) -> String {
    short(span.saturating_add(Duration::from_secs(unit(span).1 / 2)))
}

/// Returns a duration in one unit, rounded up: for an upper bound.
pub(crate) fn short_at_most(span: Duration) -> String {
    short(span.saturating_add(Duration::from_secs(unit(span).1 - 1)))
}

/// Returns the letter and the seconds of the unit in which [`short`] writes a duration.
fn unit(span: Duration) -> (char, u64) {
    let fits = UNITS.into_iter().find(|(.., from)| span.as_secs() >= *from);
    fits.map_or(('s', 1), |(letter, seconds, _)| (letter, seconds))
}

/// Returns a duration in two units, for a sentence: `12s`, `8m 02s`, `1h 05m`, `3d 04h`.
pub(crate) fn long(span: Duration) -> String {
    match span.as_secs() {
        seconds if seconds < MINUTE => format!("{seconds}s"),
        seconds if seconds < HOUR && seconds.is_multiple_of(MINUTE) => format!("{}m", seconds / MINUTE),
        seconds if seconds < HOUR => format!("{}m {:02}s", seconds / MINUTE, seconds % MINUTE),
        seconds if seconds < DAY => format!("{}h {:02}m", seconds / HOUR, seconds % HOUR / MINUTE),
        seconds => format!("{}d {:02}h", seconds / DAY, seconds % DAY / HOUR),
    }
}

/// Reads `DUR` of the command line: `90s`, `30m`, `2h`, `90d`. The error says what is expected.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration; write it as 90s, 30m or 2h");
    let text = text.trim();
    let (_, unit, _) = UNITS.into_iter().find(|(letter, ..)| text.ends_with(*letter)).ok_or_else(wrong)?;
    let number: f64 = text.get(..text.len() - 1).and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
    /// Longer than any person waits, and short enough for every clock.
    const MAX_SPAN: Duration = Duration::from_secs(3_650 * DAY);
    let span = Duration::try_from_secs_f64(number * unit as f64).map_err(|_| wrong())?;
    if span <= MAX_SPAN { Ok(span) } else { Err(format!("`{text}` is too long; the maximum is ten years")) }
}

/// Reads `TIME` of the command line and the files: RFC 3339 or Unix seconds. The error says what is expected.
pub(crate) fn parse_time(text: &str) -> Result<DateTime<Utc>, String> {
    /// Unix seconds of the year 5138; a larger number is probably in milliseconds.
    const LATEST: i64 = 100_000_000_000;
    /// Unix seconds of the year 1973; a smaller number is probably a date or a year.
    const EARLIEST: i64 = 100_000_000;
    let text = text.trim();
    let wrong = || format!("`{text}` is not a time; write it as 2026-11-20T13:48:00Z or in Unix seconds");
    let too_early = || format!("`{text}` is too early for Unix seconds; write the time as 2026-11-20T13:48:00Z");
    match text.parse::<i64>() {
        Ok(seconds) if (EARLIEST..LATEST).contains(&seconds) => DateTime::from_timestamp(seconds, 0).ok_or_else(wrong),
        Ok(seconds) if seconds >= LATEST => {
            Err(format!("`{text}` is too large for Unix seconds; if it is milliseconds, divide it by 1000"))
        }
        Ok(_) => Err(too_early()),
        Err(_) if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => {
            let seconds = text.parse::<f64>().ok().filter(|seconds| (EARLIEST as f64..LATEST as f64).contains(seconds));
            let milliseconds = seconds.map(|seconds| (seconds * 1_000.0).round() as i64);
            milliseconds.and_then(DateTime::from_timestamp_millis).ok_or_else(wrong)
        }
        Err(_) => match DateTime::parse_from_rfc3339(text) {
            Ok(time) if time.timestamp() >= LATEST => Err(format!("`{text}` is too late; the last year is 5138")),
            // The zero time of Go and .NET. Exports may hold any later time.
            Ok(time) if time.timestamp() < 0 => {
                Err(format!("`{text}` is too early; leave the time out if it isn't known"))
            }
            Ok(time) => Ok(time.to_utc()),
            Err(_) => Err(wrong()),
        },
    }
}

/// Returns a moment as RFC 3339 in UTC with milliseconds, as in the JSON and the store.
pub(crate) fn rfc3339(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Serialises a moment as [`rfc3339`] writes it.
pub(crate) fn serialize_rfc3339<S: Serializer>(moment: &DateTime<Utc>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*moment))
}

/// Returns a moment for people, `14:18 UTC+01:00`, with its date if it isn't today.
pub(crate) fn clock_time(moment: DateTime<Utc>, now: DateTime<Utc>, zone: FixedOffset) -> String {
    let (local, today) = (moment.with_timezone(&zone), now.with_timezone(&zone));
    in_zone(moment, zone, if local.date_naive() == today.date_naive() { "%H:%M" } else { "%Y-%m-%d %H:%M" })
}

/// Returns a moment for a text that is read elsewhere and later: `2023-11-14 23:13:20 UTC+01:00`.
pub(crate) fn stamp(moment: DateTime<Utc>, zone: FixedOffset) -> String {
    in_zone(moment, zone, "%Y-%m-%d %H:%M:%S")
}

/// Returns a moment in minutes for a letter: `14 November 2023, 23:13 UTC+01:00`.
pub(crate) fn date_and_minute(moment: DateTime<Utc>, zone: FixedOffset) -> String {
    in_zone(moment, zone, "%-d %B %Y, %H:%M")
}

/// Returns a moment in a format of `chrono`, followed by its zone.
fn in_zone(moment: DateTime<Utc>, zone: FixedOffset, format: &str) -> String {
    let zone_format = if zone.local_minus_utc() == 0 { "UTC" } else { "UTC%:z" };
    moment.with_timezone(&zone).format(&format!("{format} {zone_format}")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rounds_and_short_rounds_down() {
        let both = |seconds| [short, nearest].map(|word| word(Duration::from_secs(seconds)));
        assert_eq!(
            [59, 89, 115, 3_599, 5_400, 172_799].map(both),
            [["59s", "59s"], ["1m", "1m"], ["1m", "2m"], ["59m", "1h"], ["1h", "2h"], ["47h", "2d"],]
        );
        assert_eq!(nearest(Duration::MAX), short(Duration::MAX));
    }

    #[test]
    fn durations_are_shown_in_one_or_two_units() {
        let cases = [
            (0, "0s", "0s"),
            (59, "59s", "59s"),
            (482, "8m", "8m 02s"),
            (3_900, "1h", "1h 05m"),
            (273_600, "3d", "3d 04h"),
        ];
        for (seconds, narrow, sentence) in cases {
            let span = Duration::from_secs(seconds);
            assert_eq!((short(span).as_str(), long(span).as_str()), (narrow, sentence));
        }
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(parse("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("2h"), Ok(Duration::from_secs(7_200)));
        for wrong in ["", "s", "90", "-3s", "NaNs", "1e99h", "1e19s", "m5", "5µ"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_rfc3339_or_unix_seconds() {
        let moment = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        assert_eq!(parse_time("1700000000"), Ok(moment));
        assert_eq!(parse_time("2023-11-14T23:13:20+01:00"), Ok(moment));
        assert!(parse_time("1700000000000").unwrap_err().contains("milliseconds"));
        for wrong in ["", "yesterday", "-5", "2023-11-14", "20231114", "2023", "45262.5", "5139-01-01T00:00:00Z"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_show_their_zone_and_the_date_of_another_day() {
        let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let zone = FixedOffset::east_opt(3_600).unwrap();
        assert_eq!(clock_time(now, now, zone), "23:13 UTC+01:00");
        assert_eq!(stamp(now, zone), "2023-11-14 23:13:20 UTC+01:00");
        let later = now + Duration::from_secs(7_200);
        assert_eq!(clock_time(later, now, FixedOffset::east_opt(0).unwrap()), "2023-11-15 00:13 UTC");
    }
}
