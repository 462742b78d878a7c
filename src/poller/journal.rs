//! What the poller writes into the log, in words: what failed, what came that nobody documents, how it goes on.
//!
//! Each line names the profile: several pollers write into one log. A body is logged as quoted text, in which nothing can act on
//! a terminal. Nothing here may hold the integrator ID.

use crate::{
    budget::Pace,
    clock::Mono,
    domain::{
        observation::{Failure, Observation, Outcome},
        operation::ProfileEvent,
        status::RouterStatus,
        text,
        transaction::TransactionParams,
    },
};

/// An answer about a transaction, if it is a failure, or a status that isn't documented and wasn't there before.
pub(super) fn answer(
    profile: &str,
    params: &TransactionParams,
    before: Option<&RouterStatus>,
    observation: &Observation,
) {
    let about = params.transaction_id.as_str();
    match &observation.outcome {
        Outcome::Failed(failed) => failure(failed, observation.body.as_deref(), (profile, about)),
        Outcome::Record(record) if before != Some(&record.status) => {
            if let RouterStatus::Unknown(status) = &record.status {
                let status = text::clean(status);
                tracing::warn!(
                    profile,
                    about,
                    "routerTransactionStatus `{status}` isn't documented; it is kept as it came"
                );
            }
        }
        Outcome::Record(_) | Outcome::NotFound(_) => {}
    }
}

/// A failure with the whole body (`service.md` 7.5).
pub(super) fn failure(failure: &Failure, body: Option<&str>, (profile, about): (&str, &str)) {
    match body {
        Some(body) => tracing::warn!(profile, about, ?body, "{}", failure.line()),
        None => tracing::warn!(profile, about, "{}", failure.line()),
    }
}

/// What a 429 does to the pace.
pub(super) fn slowed(profile: &str, (pace, limit): (&Pace, f64), now: Mono) {
    let rest = pace.resting_until().since(now).as_secs_f64();
    let rate = limit * pace.share();
    tracing::warn!(profile, "429: slowed to {rate:.2} of {limit} requests/s; nothing is sent for {rest:.1} s");
}

/// What concerns the whole profile.
pub(super) fn event(profile: &str, event: &ProfileEvent) {
    match event {
        // Its alert and the log line of the 429 say it.
        ProfileEvent::Throttled(_) | ProfileEvent::BudgetShort(_) | ProfileEvent::BudgetSufficient => {}
        ProfileEvent::Unauthorized(_) => {
            tracing::error!(profile, "the integrator ID is refused: one request a minute until it is taken")
        }
        ProfileEvent::Unreachable(reason) => {
            tracing::error!(
                profile,
                "unreachable, {reason}: one request at a time, 5 to 60 s apart, until an answer comes"
            );
        }
        ProfileEvent::Recovered => tracing::info!(profile, "what stood in the way is over: polling goes on"),
    }
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Arc, sync::Mutex};

    use super::*;
    use crate::domain::{fixtures, record::StatusRecord, transaction::Transaction};

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is logged meanwhile.
    fn logged(work: impl FnOnce()) -> String {
        let kept = Kept::default();
        let writer = kept.clone();
        let format = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false);
        tracing::subscriber::with_default(format.without_time().with_target(false).finish(), work);
        let bytes = kept.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    fn answer_about(tx: &Transaction, observation: &Observation) {
        answer(&tx.profile, &tx.params, tx.state.status.as_ref(), observation);
    }

    #[test]
    fn a_failure_is_logged_with_its_body_in_which_nothing_acts() {
        let tx = fixtures::transaction(1);
        let mut observation = fixtures::fails(Failure::Server { status: 503, message: "busy".into() });
        observation.body = Some("<html>\u{1b}[2J\n</html>".into());
        let said = logged(|| answer_about(&tx, &observation));
        let about = tx.params.transaction_id.as_str();
        let expected = format!(
            " WARN the service answered HTTP 503: busy profile=\"default\" about=\"{about}\" body=\"<html>\\u{{1b}}[2J\\n</html>\"\n"
        );
        assert_eq!(said, expected);
    }

    #[test]
    fn a_status_that_nobody_documents_is_logged_once() {
        let mut tx = fixtures::transaction(1);
        let record = StatusRecord::bare(RouterStatus::Unknown("settling".into()));
        let observation = fixtures::answer(Outcome::Record(Box::new(record)));
        assert!(
            logged(|| answer_about(&tx, &observation))
                .starts_with(" WARN routerTransactionStatus `settling` isn't documented")
        );
        tx.apply(&observation, tx.first_seen_at);
        assert_eq!(logged(|| answer_about(&tx, &observation)), "");
        assert_eq!(logged(|| answer_about(&tx, &fixtures::says(RouterStatus::Ongoing))), "");
    }

    #[test]
    fn what_concerns_all_of_it_says_how_it_goes_on() {
        let said = logged(|| {
            event("prod", &ProfileEvent::Unreachable("connect timeout".into()));
            event("prod", &ProfileEvent::Recovered);
            slowed("prod", (&Pace::default(), 10.0), Mono::default());
        });
        assert_eq!(
            said,
            "ERROR unreachable, connect timeout: one request at a time, 5 to 60 s apart, until an answer comes profile=\"prod\"\n \
             INFO what stood in the way is over: polling goes on profile=\"prod\"\n \
             WARN 429: slowed to 10.00 of 10 requests/s; nothing is sent for 0.0 s profile=\"prod\"\n"
        );
    }
}
