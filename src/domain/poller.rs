//! The state of a profile's polling, as its poller reports it.
//!
//! Plain data and the sentences for it. It must never decide what is polled, nor how a report is stored.

use std::{fmt, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::{named::named, need::Need, span, text};

/// How far the clocks of a team's machines may differ.
const MAX_CLOCK_DIFFERENCE: TimeDelta = TimeDelta::minutes(10);

named! {
    /// The present state of a poller.
    ///
    /// The names are a contract: they occur in stores and in every `--json` output.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum PollerHealth: name {
        /// Polls, and the service answers.
        Live "live",
        /// Polls nothing until a moment that a person set.
        Paused "paused",
        /// Sends nothing for a while after a 429.
        Throttled "throttled",
        /// Probes a service that can't be reached.
        Unreachable "unreachable",
        /// Probes a service that refuses the integrator ID.
        Unauthorized "unauthorized",
        /// The poller ended.
        Stopped "stopped",
        /// Waits for another process that holds the poller's lock and reports nothing.
        Waiting "waiting",
        /// No name, or a name of another version of hoptop.
        #[default]
        #[serde(other)]
        Unknown "unknown",
    }
}

impl fmt::Display for PollerHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The message while the polling process doesn't report. No other process can poll in that time.
pub(crate) const UNRESPONSIVE: &str =
    "another hoptop process polls this store but doesn't respond; it may be suspended. Resume it or end it.";

/// The state of a profile's polling. A poller writes a report at most once a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PollerReport {
    /// When the report was written.
    #[serde(skip)]
    pub at: DateTime<Utc>,
    /// The end of the report's validity: without a newer report by then, the poller is gone.
    pub valid_until: DateTime<Utc>,
    /// The process that polls.
    pub process: u32,
    /// The part of the integrator ID that may be shown: `…7f3a`.
    pub id: String,
    /// Stands for the base URL and the integrator ID: the budget that the poller spends. In a team the key of the
    /// lease.
    pub fingerprint: String,
    /// The limit of the ID, in requests per second.
    pub rps: f64,
    /// The share of the limit that is used: less than 1 after a 429, until the rate has grown back.
    pub share: f64,
    /// The need against the budget; `None` for a poller that polls only on request.
    pub need: Option<Need>,
    /// Requests per second over the last ten seconds.
    pub used: f64,
    /// Requests since the poller started.
    pub requests: u64,
    /// The number of requests answered with 429.
    pub throttled: u64,
    /// The number of requests that failed for another reason.
    pub failed: u64,
    /// The time since the poller started, by a clock that doesn't jump.
    pub running: Duration,
    /// The number of transactions that are being polled.
    pub unsettled: u64,
    /// The present state of the poller.
    pub health: PollerHealth,
    /// The end of a pause that a person set.
    pub paused_until: Option<DateTime<Utc>>,
    /// The end of the time in which the poller sends nothing.
    pub resting_until: Option<DateTime<Utc>>,
    /// The last failure of a request, with advice on what to do.
    pub last_error: Option<String>,
    /// When that request failed; `None` in a report of an earlier version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error_at: Option<DateTime<Utc>>,
    /// The number of requests that were answered otherwise; `None` in a report of an earlier version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<u64>,
    /// The last time by the machine's monotonic clock up to which a transaction may have been asked about later than its
    /// answers in the store say: a request failed, an answer wasn't stored, or the wall clock was set forward. `None` in a
    /// team.
    #[serde(skip_serializing_if = "Option::is_none", alias = "clock_set_at")]
    pub unrecorded_at: Option<Duration>,
    /// The time by the machine's monotonic clock when the report was written. `None` in a team, whose machines have
    /// clocks of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime: Option<Duration>,
}

impl PollerReport {
    /// How long a report is valid. A poller without a newer report after that time counts as stopped.
    pub const VALIDITY: Duration = Duration::from_secs(15);

    /// Whether the poller that wrote this report still runs: it hasn't stopped, and the report is valid at `now`. A
    /// report of a later time counts only within [`MAX_CLOCK_DIFFERENCE`]: the clock was set back since.
    pub fn is_live(&self, now: DateTime<Utc>) -> bool {
        self.health != PollerHealth::Stopped && now <= self.valid_until && now >= self.at - MAX_CLOCK_DIFFERENCE
    }

    /// Returns why a request got no answer in time, for a person, as far as the report explains it. Clean text.
    pub fn silence_reason(report: Option<&Self>, now: DateTime<Utc>) -> String {
        match report {
            Some(report) if report.health == PollerHealth::Waiting => UNRESPONSIVE.into(),
            Some(Self { resting_until: Some(until), health, last_error, .. }) if *until > now => {
                let rest = span::long(span::between(now, *until));
                let why = last_error.as_ref().map_or_else(String::new, |error| format!(": {}", text::clean(error)));
                match health {
                    PollerHealth::Throttled => format!("the service accepts no requests with this ID for {rest}{why}"),
                    PollerHealth::Live
                    | PollerHealth::Paused
                    | PollerHealth::Unreachable
                    | PollerHealth::Unauthorized
                    | PollerHealth::Stopped
                    | PollerHealth::Waiting
                    | PollerHealth::Unknown => {
                        format!("hoptop sends no requests for {rest}, because requests failed{why}")
                    }
                }
            }
            Some(Self { last_error: Some(error), .. }) => text::clean(error),
            Some(Self { paused_until: Some(until), .. }) if *until > now => {
                format!("polling is paused for {}, in a dashboard", span::long(span::between(now, *until)))
            }
            _ => "no answer was received in time; check the base URL, the network and the service".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_each_health_is_its_json_and_is_read_back() {
        use PollerHealth::{Live, Paused, Stopped, Throttled, Unauthorized, Unknown, Unreachable, Waiting};
        for health in [Live, Paused, Throttled, Unreachable, Unauthorized, Stopped, Waiting, Unknown] {
            let json = serde_json::to_string(&health).unwrap();
            assert_eq!(json, format!("{:?}", health.name()));
            assert_eq!(serde_json::from_str::<PollerHealth>(&json).unwrap(), health);
        }
    }

    #[test]
    fn report_is_live_while_it_is_valid_and_not_if_the_clock_was_set_back() {
        let at = DateTime::UNIX_EPOCH + TimeDelta::days(9);
        let health = PollerHealth::Live;
        let report = PollerReport { at, valid_until: at + TimeDelta::seconds(10), health, ..PollerReport::default() };
        let live = [-86_400, -60, 0, 10, 11].map(|seconds| report.is_live(at + TimeDelta::seconds(seconds)));
        assert_eq!(live, [false, true, true, true, false]);
    }

    #[test]
    fn an_empty_health_and_a_health_of_another_version_are_unknown() {
        for json in [r#"{"health":""}"#, r#"{"health":"draining"}"#, "{}"] {
            let report: PollerReport = serde_json::from_str(json).unwrap();
            assert_eq!(report, PollerReport::default(), "{json}");
            assert_eq!(report.health, PollerHealth::Unknown);
        }
    }
}
