//! The poller's log lines: failures, undocumented statuses, and events of the whole profile with their consequences.
//!
//! Each line names the profile, because several pollers write into one log. A body is logged as quoted text, so that no
//! part of it can control a terminal. No line may hold the integrator ID.

use crate::{
    budget::Pace,
    clock::MonotonicTime,
    domain::{
        observation::{Observation, RequestFailure, StatusOutcome},
        operation::ProfileEvent,
        status::RouterStatus,
        text,
        transaction::TransactionParams,
    },
};

/// Logs an answer about a transaction if it is a failure, or if its status is undocumented and new.
pub(super) fn log_answer(
    profile: &str,
    params: &TransactionParams,
    status_before: Option<&RouterStatus>,
    observation: &Observation,
) {
    let about = params.transaction_id.as_str();
    match &observation.outcome {
        StatusOutcome::Failed(failed) => log_failure(failed, observation.body.as_deref(), profile, about),
        StatusOutcome::Record(record) if status_before != Some(&record.status) => {
            if let RouterStatus::Unknown(status) = &record.status {
                let status = text::clean(status);
                tracing::warn!(profile, about, "undocumented routerTransactionStatus `{status}`: stored unchanged");
            }
        }
        StatusOutcome::Record(_) | StatusOutcome::NotFound(_) => {}
    }
}

/// Logs a failure with the whole body (`service.md` 7.5).
pub(super) fn log_failure(failure: &RequestFailure, body: Option<&str>, profile: &str, about: &str) {
    match body {
        Some(body) => tracing::warn!(profile, about, ?body, "{}", failure.one_line()),
        None => tracing::warn!(profile, about, "{}", failure.one_line()),
    }
}

/// Logs the reduced rate and the rest after a 429.
pub(super) fn log_throttling(profile: &str, pace: &Pace, limit: f64, now: MonotonicTime) {
    let rest = pace.resting_until().since(now).as_secs_f64();
    let rate = limit * pace.share();
    tracing::warn!(profile, "HTTP 429: slowed to {rate:.2} of {limit} requests/s; no requests for {rest:.1} s");
}

/// Logs an event of the whole profile.
pub(super) fn log_event(profile: &str, event: &ProfileEvent) {
    match event {
        // The alert and the log line of the 429 already say this.
        ProfileEvent::Throttled(_) | ProfileEvent::BudgetShort(_) | ProfileEvent::BudgetSufficient => {}
        ProfileEvent::Unauthorized(_) => {
            tracing::error!(
                profile,
                "the service refused the integrator ID (HTTP 401); hoptop retries once a minute until it is accepted"
            )
        }
        ProfileEvent::Unreachable(reason) => {
            tracing::error!(profile, "service unreachable ({reason}); hoptop retries every 5 to 60 s until it answers");
        }
        ProfileEvent::Recovered => tracing::info!(profile, "the service answers again; polling continues"),
    }
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Arc, sync::Mutex};

    use super::*;
    use crate::domain::{fixtures, record::StatusRecord, transaction::Transaction};

    #[derive(Clone, Default)]
    struct LogBuffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for LogBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the log lines of `work`.
    fn capture_log(work: impl FnOnce()) -> String {
        let buffer = LogBuffer::default();
        let writer = buffer.clone();
        let format = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false);
        tracing::subscriber::with_default(format.without_time().with_target(false).finish(), work);
        let bytes = buffer.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    fn log_answer_about(tx: &Transaction, observation: &Observation) {
        log_answer(&tx.profile, &tx.params, tx.state.status.as_ref(), observation);
    }

    #[test]
    fn failure_is_logged_with_its_body_without_control_characters() {
        let tx = fixtures::transaction(1);
        let mut observation = fixtures::fails(RequestFailure::Server { status: 503, message: "busy".into() });
        observation.body = Some("<html>\u{1b}[2J\n</html>".into());
        let logged = capture_log(|| log_answer_about(&tx, &observation));
        let about = tx.params.transaction_id.as_str();
        let expected = format!(
            " WARN the service answered HTTP 503: busy profile=\"default\" about=\"{about}\" body=\"<html>\\u{{1b}}[2J\\n</html>\"\n"
        );
        assert_eq!(logged, expected);
    }

    #[test]
    fn undocumented_status_is_logged_once() {
        let mut tx = fixtures::transaction(1);
        let record = StatusRecord::bare(RouterStatus::Unknown("settling".into()));
        let observation = fixtures::answer(StatusOutcome::Record(Box::new(record)));
        assert!(
            capture_log(|| log_answer_about(&tx, &observation))
                .starts_with(" WARN undocumented routerTransactionStatus `settling`")
        );
        tx.apply(&observation, tx.first_seen_at);
        assert_eq!(capture_log(|| log_answer_about(&tx, &observation)), "");
        assert_eq!(capture_log(|| log_answer_about(&tx, &fixtures::says(RouterStatus::Ongoing))), "");
    }

    #[test]
    fn log_lines_of_profile_events_name_their_consequences() {
        let logged = capture_log(|| {
            log_event("prod", &ProfileEvent::Unreachable("connect timeout".into()));
            log_event("prod", &ProfileEvent::Recovered);
            log_throttling("prod", &Pace::default(), 10.0, MonotonicTime::default());
        });
        assert_eq!(
            logged,
            "ERROR service unreachable (connect timeout); hoptop retries every 5 to 60 s until it answers profile=\"prod\"\n \
             INFO the service answers again; polling continues profile=\"prod\"\n \
             WARN HTTP 429: slowed to 10.00 of 10 requests/s; no requests for 0.0 s profile=\"prod\"\n"
        );
    }
}
