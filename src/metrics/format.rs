//! The two text formats of metrics: OpenMetrics, and the Prometheus text format 0.0.4 for clients that ask for it.
//!
//! This module must never change a value: the formats differ in their comments only.

use std::{collections::HashMap, fmt::Write};

use axum::http::{HeaderMap, header::ACCEPT};

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextFormat {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The Prometheus text format 0.0.4.
    Prometheus,
}

impl TextFormat {
    /// Returns the content type of answers in the format.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Returns the format that the client prefers; OpenMetrics unless the client prefers `text/plain`.
    pub(super) fn preferred(headers: &HeaderMap) -> Self {
        let ranges =
            headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        let weights: HashMap<String, f64> = ranges.map(parse_range).collect();
        // The most specific range counts.
        let weight = |names: [&str; 3]| names.iter().find_map(|name| weights.get(*name)).copied().unwrap_or(0.0);
        let openmetrics = weight(["application/openmetrics-text", "application/*", "*/*"]);
        match weight(["text/plain", "text/*", "*/*"]) > openmetrics {
            true => Self::Prometheus,
            false => Self::OpenMetrics,
        }
    }
}

/// Parses a range of an `Accept` header: its media type in lower case, and its weight.
fn parse_range(range: &str) -> (String, f64) {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    (name, weight.and_then(|weight| weight.parse().ok()).unwrap_or(1.0))
}

/// Converts OpenMetrics text to the Prometheus text format. `TYPE` and `HELP` name the samples of counters and infos.
/// Comments that only OpenMetrics has are left out.
pub(super) fn to_prometheus(openmetrics: &str) -> String {
    let mut text = String::with_capacity(openmetrics.len());
    let mut pending_help: Option<(&str, &str)> = None;
    for line in openmetrics.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            pending_help = help.split_once(' ');
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                other => ("", other),
            };
            if let Some((_, help)) = pending_help.take() {
                push_line(&mut text, format_args!("# HELP {name}{suffix} {help}"));
            }
            push_line(&mut text, format_args!("# TYPE {name}{suffix} {kind}"));
        } else if !line.starts_with("# ") {
            push_line(&mut text, format_args!("{line}"));
        }
    }
    text
}

fn push_line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a `String` never fails.
    let written = writeln!(text, "{line}");
    debug_assert!(written.is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_gets_the_format_that_it_prefers() {
        use TextFormat::{OpenMetrics, Prometheus};
        for (accept, expected) in [
            (None, OpenMetrics),
            (Some("*/*"), OpenMetrics),
            (Some("text/plain"), Prometheus),
            (Some("Text/Plain;version=0.0.4"), Prometheus),
            (Some("text/*"), Prometheus),
            (Some("text/html,application/xhtml+xml,*/*;q=0.8"), OpenMetrics),
            (Some("application/openmetrics-text;q=0.4, text/plain;q=0.5"), Prometheus),
            (Some("text/plain;q=0.5, */*;q=0.9"), OpenMetrics),
            // What Prometheus 2 sends.
            (
                Some(
                    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                     text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                ),
                OpenMetrics,
            ),
            (Some("text/plain;q=x"), Prometheus),
            (Some(""), OpenMetrics),
        ] {
            let mut headers = HeaderMap::new();
            headers.extend(accept.map(|accept| (ACCEPT, accept.parse().unwrap())));
            assert_eq!(TextFormat::preferred(&headers), expected, "{accept:?}");
        }
    }

    #[test]
    fn comments_name_the_samples_in_the_prometheus_format() {
        let openmetrics = "# HELP a_seconds Time.\n# TYPE a_seconds gauge\n# UNIT a_seconds seconds\na_seconds 1.5\n\
            # HELP requests Requests.\n# TYPE requests counter\nrequests_total{of=\"# HELP\"} 3\n\
            # HELP build Version.\n# TYPE build info\nbuild_info{version=\"1\"} 1\n# EOF\n";
        let expected = "# HELP a_seconds Time.\n# TYPE a_seconds gauge\na_seconds 1.5\n\
            # HELP requests_total Requests.\n# TYPE requests_total counter\nrequests_total{of=\"# HELP\"} 3\n\
            # HELP build_info Version.\n# TYPE build_info gauge\nbuild_info{version=\"1\"} 1\n";
        assert_eq!(to_prometheus(openmetrics), expected);
    }
}
