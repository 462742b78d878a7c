//! When a watch is complete, and which exit code the watched transactions give.
//!
//! Pure. This module must never give success for a transaction that wasn't seen to succeed, nor for nothing.

use std::collections::HashMap;

use super::args::WatchArgs;
use crate::{
    domain::{ids::RowId, status::RouterStatus},
    runtime::exit::Exit,
    store::TransactionOutcome,
};

/// The state of a watch that decides about its end.
pub(crate) struct EndState<'a> {
    pub(crate) args: &'a WatchArgs,
    /// The watched transactions.
    pub(crate) chosen: &'a HashMap<RowId, TransactionOutcome>,
    /// How standard input ended; `None` while it goes on, `Exit::Success` if the watch doesn't read it.
    pub(crate) input_exit: Option<Exit>,
    /// Whether any answer arrived.
    pub(crate) has_answer: bool,
    /// Whether the service refuses the ID.
    pub(crate) is_refused: bool,
    /// Whether the service throttles the ID.
    pub(crate) is_throttled: bool,
    /// Whether no request may be sent for a while, because an earlier one got a 429 or failed.
    pub(crate) is_resting: bool,
    /// The number of requests that were sent.
    pub(crate) requests: u64,
    /// The number of watched transactions that were deleted before they were seen to succeed.
    pub(crate) deleted_open: u64,
}

impl EndState<'_> {
    /// Whether the watch is complete: a transaction failed and `fail_fast` is set, or the input has ended and no
    /// transaction is open.
    pub(crate) fn is_complete(&self) -> bool {
        self.has_failed_fast()
            || self.input_exit.is_some() && (self.lacks_transactions() || self.args.until_settled && !self.is_open())
    }

    fn has_failed_fast(&self) -> bool {
        // A refund is polled for a while longer, but no longer becomes a success.
        let has_failed = |progress: &TransactionOutcome| {
            !progress.is_polled && !is_success(progress) || progress.status == Some(RouterStatus::Refund)
        };
        self.args.fail_fast && self.chosen.values().any(has_failed)
    }

    /// Whether transactions are missing. A failed input brings none, however long the watch waits.
    fn lacks_transactions(&self) -> bool {
        let has_failed = self.input_exit.is_some_and(|exit| exit != Exit::Success);
        self.chosen.is_empty() && (has_failed || self.args.ends_when_empty())
    }

    /// Whether a transaction can still settle. Rejected and untracked transactions can't, since they aren't polled.
    fn is_open(&self) -> bool {
        self.chosen.values().any(|progress| progress.is_polled)
    }

    /// Whether requests for an open transaction failed, and no answer about any came since then. The pause after a
    /// failure lasts beyond the process that failed, so this one may have sent no request.
    fn was_unreachable(&self) -> bool {
        let open = self.chosen.values().filter(|progress| progress.is_polled);
        let Some(since) = open.filter_map(|progress| progress.failing_since).max() else { return false };
        self.chosen.values().filter_map(|progress| progress.last_checked_at).all(|answered_at| answered_at < since)
    }

    /// Whether transactions are open and the service gave no answer.
    fn lacks_answers(&self) -> bool {
        self.is_open() && !self.has_answer && (self.requests > 0 || self.is_resting || self.was_unreachable())
    }

    /// Returns the exit code by the state of the watched transactions.
    pub(crate) fn exit(&self) -> Exit {
        if self.has_failed_fast() {
            return Exit::NeedsAttention;
        }
        // While the input goes on, more transactions could follow.
        let Some(input_exit) = self.input_exit else { return self.open_exit() };
        if self.chosen.is_empty() && !self.args.allow_empty {
            // A script that releases something after success must not do so after nothing.
            return if input_exit == Exit::Success { Exit::Usage } else { input_exit };
        }
        if self.is_open() {
            return self.open_exit();
        }
        match self.chosen.values().all(is_success) {
            false => Exit::NeedsAttention,
            true if self.deleted_open > 0 && !self.chosen.is_empty() => Exit::Usage,
            // Bad lines of the input were printed and aren't watched, but make the exit code an error.
            true => input_exit,
        }
    }

    /// Returns the exit code while transactions can still settle.
    fn open_exit(&self) -> Exit {
        match (self.is_refused, self.lacks_answers()) {
            (true, _) => Exit::Unauthorized,
            (false, true) => Exit::Unreachable,
            (false, false) => Exit::NotSettled,
        }
    }

    /// Returns the reason for an exit code that needs one.
    pub(crate) fn reason(&self, exit: Exit, is_piped: bool) -> Option<&'static str> {
        match exit {
            Exit::Unauthorized => Some(
                "the service refused the integrator ID; check where it comes from, and that it belongs to this base URL",
            ),
            Exit::NeedsAttention if self.chosen.values().any(|progress| progress.is_contradicted) => {
                Some("a later answer contradicts a transaction that settled; `hoptop list is:attention` shows it")
            }
            Exit::NeedsAttention
                if self.chosen.values().any(|progress| !progress.is_polled && !progress.is_settled) =>
            {
                Some(
                    "a transaction is no longer polled, because the service rejected it or a person stopped the polling; \
                     `hoptop list 'is:parked or is:untracked'` shows it, and `hoptop show` why",
                )
            }
            Exit::NeedsAttention => None,
            Exit::Unreachable if self.is_throttled => Some(
                "no usable answer was received: the service throttles the integrator ID; end other programs that use the ID, or lower `rps`",
            ),
            Exit::Unreachable => Some("no usable answer was received; check the base URL, the network and the service"),
            // The input's own error was printed.
            Exit::Usage if self.chosen.is_empty() && self.input_exit != Some(Exit::Success) => None,
            Exit::Usage => Some(match (self.chosen.is_empty(), self.deleted_open, is_piped) {
                (false, ..) => "a watched transaction was deleted before it was seen to succeed",
                (true, 1.., _) => {
                    "the last watched transaction was deleted; --allow-empty accepts that nothing is watched"
                }
                (true, 0, true) => {
                    "standard input contained no transaction; --allow-empty accepts that nothing is watched"
                }
                (true, 0, false) => "no transaction was tracked; --allow-empty accepts that nothing is watched",
            }),
            Exit::Success | Exit::Error | Exit::NotSettled | Exit::Interrupted | Exit::HungUp | Exit::Terminated => {
                None
            }
        }
    }
}

/// Whether a transaction was seen to succeed, and no later answer contradicts that.
pub(crate) fn is_success(progress: &TransactionOutcome) -> bool {
    progress.status == Some(RouterStatus::Success) && !progress.is_contradicted
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    /// Returns the state of a watch whose input has ended, and that got an answer to its request.
    fn state<'a>(args: &'a WatchArgs, chosen: &'a HashMap<RowId, TransactionOutcome>) -> EndState<'a> {
        EndState {
            args,
            chosen,
            input_exit: Some(Exit::Success),
            has_answer: true,
            is_refused: false,
            is_throttled: false,
            is_resting: false,
            requests: 1,
            deleted_open: 0,
        }
    }

    /// Returns whether a watch over these transactions is complete, and its exit code.
    fn end(args: &WatchArgs, transactions: &[(bool, Option<RouterStatus>)], input_exit: Option<Exit>) -> (bool, Exit) {
        let progress = |(is_polled, status): &(bool, Option<RouterStatus>)| TransactionOutcome {
            is_polled: *is_polled,
            status: status.clone(),
            ..TransactionOutcome::default()
        };
        let chosen = (1..).map(RowId).zip(transactions.iter().map(progress)).collect();
        let watched = EndState { input_exit, ..state(args, &chosen) };
        (watched.is_complete(), watched.exit())
    }

    #[test]
    fn nothing_is_success_only_if_that_was_accepted() {
        let until_settled = WatchArgs { until_settled: true, ..WatchArgs::default() };
        let done = Some(Exit::Success);
        assert_eq!(end(&until_settled, &[], done), (true, Exit::Usage));
        assert_eq!(end(&WatchArgs { allow_empty: true, ..until_settled.clone() }, &[], done), (true, Exit::Success));
        let chosen = WatchArgs { filter: vec!["is:unsettled".to_owned()], ..WatchArgs::default() };
        assert_eq!(end(&chosen, &[], done), (true, Exit::Usage));
        assert_eq!(end(&WatchArgs { allow_empty: true, ..chosen.clone() }, &[], done), (true, Exit::Success));
        assert_eq!(end(&WatchArgs::default(), &[], done), (false, Exit::Usage), "it waits for the first transaction");
        assert_eq!(end(&until_settled, &[], Some(Exit::Error)), (true, Exit::Error), "the input failed");
        assert_eq!(end(&until_settled, &[], None), (false, Exit::NotSettled), "the input goes on");
        assert_eq!(end(&chosen, &[], None), (false, Exit::NotSettled), "the input goes on");
        let success = (false, Some(RouterStatus::Success));
        assert_eq!(end(&chosen, &[success], None), (false, Exit::NotSettled), "the input goes on");
    }

    #[test]
    fn deleted_transaction_that_was_not_seen_to_succeed_is_no_success() {
        let success = TransactionOutcome { status: Some(RouterStatus::Success), ..TransactionOutcome::default() };
        let chosen = HashMap::from([(RowId(1), success)]);
        let exit = |deleted_open| {
            let args = WatchArgs { until_settled: true, allow_empty: true, ..WatchArgs::default() };
            EndState { deleted_open, ..state(&args, &chosen) }.exit()
        };
        assert_eq!((exit(0), exit(1)), (Exit::Success, Exit::Usage));
    }

    #[test]
    fn open_transactions_of_a_service_that_gave_no_answer_are_unreachable() {
        let at = |seconds| DateTime::from_timestamp_secs(seconds);
        let open = |status, last_checked_at, failing_since| TransactionOutcome {
            is_settled: false,
            status,
            is_polled: true,
            last_checked_at,
            failing_since,
            is_contradicted: false,
        };
        let (failing, new) = (open(None, None, at(100)), open(None, None, None));
        let exit_after = |transactions: &[&TransactionOutcome], is_resting, requests, has_answer| {
            let chosen = (1..).map(RowId).zip(transactions.iter().copied().cloned()).collect();
            let args = WatchArgs { until_settled: true, ..WatchArgs::default() };
            EndState { has_answer, is_resting, requests, ..state(&args, &chosen) }.exit()
        };
        let exit = |transactions: &[&TransactionOutcome], requests, has_answer| {
            exit_after(transactions, false, requests, has_answer)
        };
        assert_eq!(exit(&[&failing], 1, false), Exit::Unreachable);
        assert_eq!(exit(&[&failing, &new], 0, false), Exit::Unreachable, "in the pause after a failure");
        assert_eq!(exit(&[&new], 0, false), Exit::NotSettled, "no request was due");
        assert_eq!(exit(&[&new], 1, true), Exit::NotSettled);
        assert_eq!(exit_after(&[&new], true, 0, false), Exit::Unreachable, "in the pause after a 429");
        assert_eq!(exit_after(&[&new], true, 1, true), Exit::NotSettled, "throttled after an answer");
        let answered = |seconds| open(Some(RouterStatus::Ongoing), at(seconds), None);
        assert_eq!(exit(&[&failing, &answered(99)], 0, false), Exit::Unreachable, "answered before the failure");
        assert_eq!(exit(&[&failing, &answered(101)], 0, false), Exit::NotSettled, "the service answered another one");
        let later = open(Some(RouterStatus::Ongoing), at(101), at(106));
        assert_eq!(exit(&[&failing, &later], 0, false), Exit::Unreachable, "each fails, since different moments");
        let settled = TransactionOutcome { is_polled: false, ..answered(101) };
        assert_eq!(exit(&[&failing, &settled], 0, false), Exit::NotSettled, "the service answered a settled one");
        let rejected = TransactionOutcome { is_polled: false, ..failing.clone() };
        assert_eq!(exit(&[&rejected, &new], 0, false), Exit::NotSettled, "nobody polls a rejected one");
    }

    #[test]
    fn fail_fast_ends_at_the_first_failure_and_at_nothing_else() {
        let (open, success) = ((true, Some(RouterStatus::Ongoing)), (false, Some(RouterStatus::Success)));
        let failed = (false, Some(RouterStatus::PartialSuccess));
        let args = WatchArgs { until_settled: true, fail_fast: true, ..WatchArgs::default() };
        assert_eq!(end(&args, &[open.clone(), success.clone()], Some(Exit::Success)), (false, Exit::NotSettled));
        assert_eq!(end(&args, &[open.clone(), failed.clone()], Some(Exit::Success)), (true, Exit::NeedsAttention));
        assert_eq!(end(&args, &[open.clone(), failed.clone()], None), (true, Exit::NeedsAttention));
        assert_eq!(
            end(&args, &[open.clone(), (false, None)], Some(Exit::Success)),
            (true, Exit::NeedsAttention),
            "rejected"
        );
        let refunded = (true, Some(RouterStatus::Refund));
        assert_eq!(end(&args, &[open.clone(), refunded], Some(Exit::Success)), (true, Exit::NeedsAttention));
        let patient = WatchArgs { fail_fast: false, ..args };
        assert_eq!(end(&patient, &[open, failed], Some(Exit::Success)), (false, Exit::NotSettled));
        assert_eq!(end(&patient, &[success], Some(Exit::Success)), (true, Exit::Success));
    }
}
