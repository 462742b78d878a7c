//! `hoptop check`: polls transactions now, once each, and prints them with the result of each request.
//!
//! The command must never present an older answer as a new one.

mod chain;
pub(crate) mod untracked;

use std::{borrow::Cow, time::Duration};

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;

use crate::{
    cli::{
        completers,
        context::Context,
        one_shot_poll::{self, OneShotOutcome, OneShotPoll},
        opening::LoadedSettings,
        output::json::{JsonList, TransactionView},
    },
    clock::Clock,
    domain::{
        advice,
        alert::Rule,
        ids::RowId,
        operation::Operation,
        span,
        status::RouterStatus,
        text,
        transaction::{Tracking, Transaction},
    },
    runtime::{background_poller::ServiceClient, exit::Exit, log_file},
    store::{AlertQuery, ListRow, Reader, StoreError},
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Poll one tracked transaction
  hoptop check 0x9f3c41
  # Poll two, and print JSON
  hoptop check 0x9f3c41 0x41aa90 --json
  # Poll a transaction that isn't tracked; it stays untracked
  hoptop check HASH --from 42161 --to 8453 --quote-id ID
  # Ask the source chain itself, at the configured node
  hoptop check 0x9f3c41 --chain

Exit codes: 0 every transaction was answered, 1 only some transactions were answered, 2 a value of --from, --to or \
--quote-id is invalid, 4 a transaction was rejected, settled in anything but success, or is settled and a later \
answer contradicts that (alert `regressed`), 5 the service refuses the integrator ID, 6 no transaction was answered. \
With --chain: 0 succeeded or pending, 1 only some transactions were answered, 4 reverted, dropped, unknown or sent on \
another chain, 6 no node answered.";

/// The arguments of `hoptop check`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckArgs {
    /// One or more transactions. Name each by its hash, six or more characters of it, a URL that contains it, a ticket, a
    /// quote or request ID, or the sender's address. With --from, --to and --quote-id: one complete hash or URL
    #[arg(value_name = "TX", required = true, add = ArgValueCompleter::new(completers::transactions))]
    pub transactions: Vec<String>,
    /// Print a JSON array with one transaction per line
    #[arg(long)]
    pub json: bool,
    /// The source chain's ID, for a transaction that isn't tracked
    #[arg(long, value_name = "CHAIN", requires_all = ["to", "quote_id"], add = ArgValueCompleter::new(completers::chains))]
    pub from: Option<String>,
    /// The destination chain's ID, for a transaction that isn't tracked
    #[arg(long, value_name = "CHAIN", requires_all = ["from", "quote_id"], add = ArgValueCompleter::new(completers::chains))]
    pub to: Option<String>,
    /// The route's quoteId, for a transaction that isn't tracked
    #[arg(long, value_name = "ID", requires_all = ["from", "to"])]
    pub quote_id: Option<String>,
    /// Ask the source chain itself instead of the service: mined, reverted, pending, or sent on another chain
    #[arg(long, conflicts_with = "from")]
    pub chain: bool,
    /// Accept any text as a chain ID, for a transaction that isn't tracked; numbers and IDs such as osmosis-1 are always
    /// accepted
    #[arg(long, requires = "from")]
    pub any_chain: bool,
}

impl CheckArgs {
    /// Whether the arguments describe a transaction instead of naming tracked ones.
    pub(crate) fn is_untracked(&self) -> bool {
        self.from.is_some()
    }
}

/// The longest wait for a blocked budget, timeouts and other processes' requests, besides the requests themselves.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Polls the named tracked transactions and prints them.
pub(crate) fn check(args: &CheckArgs, loaded: &LoadedSettings, cx: &mut Context) -> Result<Exit> {
    let LoadedSettings { settings, team } = loaded;
    let Some(rows) = find_rows(args, cx)? else {
        writeln!(cx.err, "nothing was polled")?;
        return Ok(Exit::Error);
    };
    if args.chain {
        return chain::check(&rows, args.json, settings, cx);
    }
    let client = ServiceClient::checked(settings.polling())?;
    log_file::start(&settings.state_dir, &settings.db, Clock::system())?;
    let transactions = cx.store.reader()?.keys(&rows)?;
    cx.store.apply(Operation::RequestPoll { transactions }, cx.now.wall).wait()?;
    let wanted = rows.clone();
    let requests = Duration::try_from_secs_f64(2.0 * rows.len() as f64 / settings.rps).unwrap_or(Duration::MAX);
    let one_shot_poll =
        OneShotPoll { settings, store: &cx.store, team: team.as_ref(), timeout: MAX_WAIT.saturating_add(requests) };
    let ended = one_shot_poll.run(client, move |reader| {
        for row in &wanted {
            if reader.header(*row)?.is_some_and(|tx| tx.poll_requested_at.is_some()) {
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    let reader = cx.store.reader()?;
    print_checked(&rows, &reader, ended, args.json, cx)
}

/// Prints what the store of `reader` knows of these transactions, after the wait for answers has ended.
fn print_checked(rows: &[RowId], reader: &Reader, ended: OneShotOutcome, json: bool, cx: &mut Context) -> Result<Exit> {
    if let OneShotOutcome::Stopped(exit) = ended {
        return Ok(exit);
    }
    cx.now = Clock::system().now();
    let checked = rows.iter().filter_map(|row| CheckedTransaction::load(reader, *row).transpose());
    let checked: Vec<CheckedTransaction> = checked.collect::<Result<_, _>>()?;
    if json {
        // Prints the transactions that decide the exit code: another process may poll them meanwhile.
        let mut list = JsonList::begin(cx.out);
        for checked in &checked {
            let (tx, shown) = (&checked.tx, checked.with_fresh_answer());
            let alerts = reader.alerts(AlertQuery::OfTransaction(tx.id))?;
            let view = TransactionView::new(&shown, &alerts, cx.now.wall);
            list.push(&view.with_tracking(&tx.tracking))?;
        }
        list.end()?;
    } else {
        checked.iter().try_for_each(|checked| print_transaction(checked, cx))?;
    }
    let obstacle = match ended {
        OneShotOutcome::Blocked(exit) => Some(exit),
        _ => None,
    };
    if checked.iter().any(|checked| checked.result == CheckResult::NotPolled) {
        let reason = one_shot_poll::no_answer_reason(&cx.store, &cx.profile, cx.now.wall)?;
        writeln!(cx.err, "not every transaction was polled: {reason}")?;
    }
    Ok(exit_code(&checked, obstacle))
}

/// Returns the rows of all named transactions, each once. If one can't be found, prints the reason and returns `None`.
fn find_rows(args: &CheckArgs, cx: &mut Context) -> Result<Option<Vec<RowId>>> {
    let mut rows = Vec::new();
    for text in &args.transactions {
        let Some(tx) = cx.find(text)? else { return Ok(None) };
        if tx.profile != cx.profile {
            let (hash, profile) = (&tx.params.transaction_id, text::clean(&tx.profile));
            writeln!(cx.err, "{hash} belongs to the profile `{profile}`; use --profile {profile}")?;
            return Ok(None);
        }
        if !rows.contains(&tx.id) {
            rows.push(tx.id);
        }
    }
    Ok(Some(rows))
}

/// The result of the request for one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckResult {
    /// A status record, or "not found".
    Answered,
    /// The service refuses the transaction's parameters.
    Rejected,
    /// The service refuses the integrator ID.
    Unauthorized,
    /// An answer without a status of the transaction, such as an HTML page.
    Unusable,
    /// No answer, or an HTTP status from 500 on.
    Unreachable,
    /// The request was not sent, or the service refused to deal with it by an HTTP 429 each time.
    NotPolled,
}

/// A transaction after its request.
struct CheckedTransaction {
    tx: Transaction,
    result: CheckResult,
}

impl CheckedTransaction {
    fn load(reader: &Reader, row: RowId) -> Result<Option<Self>, StoreError> {
        let Some(ListRow { transaction: tx, .. }) = reader.list_row(row)? else { return Ok(None) };
        let http = reader.answers(row)?.last().and_then(|answer| answer.http_status);
        let result = match (tx.poll_requested_at, &tx.state.last_error, http) {
            (Some(_), ..) => CheckResult::NotPolled,
            (None, None, _) => CheckResult::Answered,
            (None, Some(_), Some(400)) => CheckResult::Rejected,
            (None, Some(_), Some(401)) => CheckResult::Unauthorized,
            (None, Some(_), Some(status)) if status < 500 && status != 429 => CheckResult::Unusable,
            (None, Some(_), _) => CheckResult::Unreachable,
        };
        Ok(Some(Self { tx, result }))
    }

    /// Returns the transaction for the advice: one that isn't polled counts as polled if its answer came now. Otherwise the
    /// advice would call the answer old.
    fn with_fresh_answer(&self) -> Cow<'_, Transaction> {
        match self.result {
            CheckResult::Answered if self.tx.tracking == Tracking::Untracked => {
                Cow::Owned(Transaction { tracking: Tracking::Active, ..self.tx.clone() })
            }
            _ => Cow::Borrowed(&self.tx),
        }
    }

    /// Whether the transaction was rejected, or settled in anything but `success`, or is settled and a later answer
    /// contradicts that.
    fn needs_attention(&self) -> bool {
        let state = &self.tx.state;
        let is_success = state.status == Some(RouterStatus::Success) && state.conflict.is_none();
        (self.tx.is_settled() && !is_success) || self.result == CheckResult::Rejected || self.tx.is_parked()
    }
}

/// Returns the exit code of the worst result. `obstacle` is the exit code of the obstacle to the remaining requests.
fn exit_code(checked: &[CheckedTransaction], obstacle: Option<Exit>) -> Exit {
    let any = |result| checked.iter().any(|checked| checked.result == result);
    let answered = any(CheckResult::Answered) || any(CheckResult::Rejected);
    if any(CheckResult::Unauthorized) || obstacle == Some(Exit::Unauthorized) {
        Exit::Unauthorized
    } else if !answered {
        Exit::Unreachable
    } else if any(CheckResult::Unreachable) || any(CheckResult::NotPolled) || any(CheckResult::Unusable) {
        Exit::Error
    } else if checked.iter().any(CheckedTransaction::needs_attention) {
        Exit::NeedsAttention
    } else {
        Exit::Success
    }
}

fn print_transaction(checked: &CheckedTransaction, cx: &mut Context) -> Result<()> {
    let CheckedTransaction { tx, result } = checked;
    let advice = advice::advise(&checked.with_fresh_answer(), cx.now.wall, cx.zone);
    let act = match result {
        CheckResult::Unauthorized => advice::profile_action(Rule::Unauthorized),
        CheckResult::Unreachable | CheckResult::NotPolled => "try again; the reason is given below",
        CheckResult::Answered | CheckResult::Rejected | CheckResult::Unusable => &advice.act,
    };
    cx.print_advice(tx, &advice, act)?;
    if let Some(message) = &tx.state.message {
        writeln!(cx.out, "  SERVICE  {message}")?;
    }
    let age = tx.state.last_checked_at.map_or_else(
        || "nothing is known yet".to_owned(),
        |at| format!("the answer above is {} old", span::long(span::between(at, cx.now.wall))),
    );
    match (result, &tx.state.last_error) {
        (CheckResult::Answered, _) if tx.tracking == Tracking::Untracked && !tx.is_settled() => {
            writeln!(cx.out, "  POLL     polled once; add the transaction again to follow it")?;
        }
        (CheckResult::Answered, _) => {}
        (CheckResult::NotPolled, Some(error)) => writeln!(cx.out, "  POLL     not polled; {age}; last error: {error}")?,
        (CheckResult::NotPolled, None) => writeln!(cx.out, "  POLL     not polled; {age}")?,
        (_, Some(error)) => writeln!(cx.out, "  POLL     {error}; {age}")?,
        (_, None) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixtures;

    fn checked(status: RouterStatus, result: CheckResult) -> CheckedTransaction {
        let mut tx = fixtures::transaction(1);
        tx.apply(&fixtures::says(status), tx.first_seen_at);
        CheckedTransaction { tx, result }
    }

    #[test]
    fn exit_code_is_that_of_the_worst_result() {
        use RouterStatus::{Ongoing, PartialSuccess, Success};
        let table = [
            (vec![(Success, CheckResult::Answered), (Ongoing, CheckResult::Answered)], Exit::Success),
            (vec![(Success, CheckResult::Answered), (PartialSuccess, CheckResult::Answered)], Exit::NeedsAttention),
            (vec![(Ongoing, CheckResult::Rejected)], Exit::NeedsAttention),
            (vec![(Ongoing, CheckResult::Unreachable)], Exit::Unreachable),
            (vec![(Ongoing, CheckResult::NotPolled), (Ongoing, CheckResult::Unreachable)], Exit::Unreachable),
            (vec![(Ongoing, CheckResult::Answered), (Ongoing, CheckResult::Unreachable)], Exit::Error),
            (vec![(Ongoing, CheckResult::Unusable)], Exit::Unreachable),
            (vec![(Ongoing, CheckResult::Answered), (Ongoing, CheckResult::Unusable)], Exit::Error),
            (vec![(Ongoing, CheckResult::Answered), (Ongoing, CheckResult::Unauthorized)], Exit::Unauthorized),
        ];
        for (rows, exit) in table {
            let rows: Vec<_> = rows.into_iter().map(|(status, result)| checked(status, result)).collect();
            assert_eq!(exit_code(&rows, None), exit);
        }
    }

    #[test]
    fn transaction_that_is_not_settled_needs_no_attention_for_a_conflict() {
        let mut regressed = checked(RouterStatus::Ongoing, CheckResult::Answered);
        regressed.tx.state.conflict = Some("the service no longer knows the transaction".into());
        assert_eq!(exit_code(&[regressed], None), Exit::Success);
    }

    #[test]
    fn answer_about_an_untracked_transaction_is_not_called_old() {
        let mut stopped = checked(RouterStatus::Refund, CheckResult::Answered);
        stopped.tx.tracking = Tracking::Untracked;
        let now = stopped.tx.first_seen_at;
        let verdict = |tx: &Transaction| advice::advise(tx, now, chrono::FixedOffset::east_opt(0).unwrap()).verdict;
        assert!(verdict(&stopped.with_fresh_answer()).starts_with("REFUND"));
        stopped.result = CheckResult::NotPolled;
        assert!(verdict(&stopped.with_fresh_answer()).starts_with("POLLING STOPPED"));
    }

    #[test]
    fn refused_id_and_unreachable_service_have_different_exit_codes_without_an_answer() {
        let rows = [checked(RouterStatus::Ongoing, CheckResult::NotPolled)];
        assert_eq!(exit_code(&rows, Some(Exit::Unauthorized)), Exit::Unauthorized);
        assert_eq!(exit_code(&rows, Some(Exit::Unreachable)), Exit::Unreachable);
    }
}
