//! `hoptop check`: polls transactions now, once each, and prints them.
//!
//! It says what each request brought, and must never pass an older answer off as a new one.

use std::time::Duration;

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;

use super::{
    completions,
    context::Context,
    exit::Exit,
    list::JsonList,
    log,
    one_shot_poll::{self, OneShotOutcome, OneShotPoll},
};
use crate::{
    clock::Clock,
    config::Settings,
    domain::{advice, alert::Rule, ids::RowId, operation::Operation, row_text, span, text, transaction::Transaction},
    store::{AlertQuery, Listed, Reader, StoreError},
};

/// For the help.
pub const EXAMPLES: &str = "\
Examples:
  hoptop check 0x9f3c41                            asks about one transaction that is tracked
  hoptop check 0x9f3c41 0x41aa90 --json            about two, as JSON

It ends with 0 if all were answered, 4 if one is settled otherwise than success or was rejected, 5 if the service refuses
the integrator ID, 6 if no answer came for any, and 1 if none came for some.";

/// Poll transactions now.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Hashes, six or more characters of each that no other has, or URLs that contain them
    #[arg(value_name = "TX", required = true, add = ArgValueCompleter::new(completions::transactions))]
    pub transactions: Vec<String>,
    /// Print a JSON array, a transaction a line
    #[arg(long)]
    pub json: bool,
}

/// Waiting for rests, time-outs and others' requests takes no longer than this, besides the requests themselves.
const PATIENCE: Duration = Duration::from_secs(30);

/// Polls and prints.
pub fn check(args: &CheckArgs, settings: &Settings, cx: &mut Context) -> Result<Exit> {
    let Some(rows) = rows(args, cx)? else {
        writeln!(cx.err, "nothing was asked")?;
        return Ok(Exit::Error);
    };
    let polling = super::polling(settings)?;
    log::start(&settings.state_dir, Clock::system())?;
    let transactions = cx.store.reader()?.keys(&rows)?;
    cx.store.apply(Operation::RequestPoll { transactions }, cx.now.wall).wait()?;
    let wanted = rows.clone();
    let requests = Duration::try_from_secs_f64(2.0 * rows.len() as f64 / settings.rps).unwrap_or(Duration::MAX);
    let one_shot_poll = OneShotPoll { settings, store: &cx.store, patience: PATIENCE.saturating_add(requests) };
    let ended = one_shot_poll.run(polling, move |reader| {
        for row in &wanted {
            if is_open(reader, *row)? {
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    if let OneShotOutcome::Stopped(exit) = ended {
        return Ok(exit);
    }
    cx.now = Clock::system().now();
    let reader = cx.store.reader()?;
    let checked = rows.iter().filter_map(|row| Checked::read(&reader, *row).transpose());
    let checked: Vec<Checked> = checked.collect::<Result<_, _>>()?;
    if args.json {
        let mut list = JsonList::begin(cx.out);
        for Checked { tx, .. } in &checked {
            list.push(tx, &reader.alerts(AlertQuery::OfTransaction(tx.id))?, cx.now.wall)?;
        }
        list.end()?;
    } else {
        checked.iter().try_for_each(|checked| print(checked, cx))?;
    }
    let obstacle = match ended {
        OneShotOutcome::Obstructed(exit) => Some(exit),
        _ => None,
    };
    let exit = verdict(&checked, obstacle);
    if checked.iter().any(|checked| checked.heard == CheckResult::Nothing) {
        let why = one_shot_poll::why_in_vain(&reader, &cx.profile, cx.now.wall)?;
        writeln!(cx.err, "not everything was asked about: {why}")?;
    }
    Ok(exit)
}

/// The rows of all that was named, each once. `None` if one of them isn't there, and then the reason has been printed.
fn rows(args: &CheckArgs, cx: &mut Context) -> Result<Option<Vec<RowId>>> {
    let mut rows = Vec::new();
    for text in &args.transactions {
        let Some(tx) = cx.find(text)? else { return Ok(None) };
        if tx.profile != cx.profile {
            let (hash, profile) = (&tx.params.transaction_id, text::clean(&tx.profile));
            writeln!(cx.err, "{hash} belongs to the profile `{profile}`; name it with --profile")?;
            return Ok(None);
        }
        if !rows.contains(&tx.id) {
            rows.push(tx.id);
        }
    }
    Ok(Some(rows))
}

fn is_open(reader: &Reader, row: RowId) -> Result<bool, StoreError> {
    Ok(reader.header(row)?.is_some_and(|tx| tx.poll_requested_at.is_some()))
}

/// What a request brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckResult {
    /// A record, or "not found".
    News,
    /// The service refuses the transaction's parameters.
    Rejected,
    /// The service refuses the ID.
    Refused,
    /// An answer that says nothing of the transaction, such as a page of HTML.
    Useless,
    /// No answer, or one that says that the service is in trouble or wants to be left alone.
    OutOfReach,
    /// It wasn't sent.
    Nothing,
}

struct Checked {
    tx: Transaction,
    heard: CheckResult,
}

impl Checked {
    fn read(reader: &Reader, row: RowId) -> Result<Option<Self>, StoreError> {
        let Some(Listed { transaction: tx, .. }) = reader.listed(row)? else { return Ok(None) };
        let http = reader.answers(row)?.last().and_then(|answer| answer.http_status);
        let heard = match (tx.poll_requested_at, &tx.state.last_error, http) {
            (Some(_), ..) => CheckResult::Nothing,
            (None, None, _) => CheckResult::News,
            (None, Some(_), Some(400)) => CheckResult::Rejected,
            (None, Some(_), Some(401)) => CheckResult::Refused,
            (None, Some(_), Some(status)) if status < 500 && status != 429 => CheckResult::Useless,
            (None, Some(_), _) => CheckResult::OutOfReach,
        };
        Ok(Some(Self { tx, heard }))
    }

    /// Whether it has ended in a way that somebody must look at.
    fn needs_attention(&self) -> bool {
        let settled_badly =
            self.tx.is_settled() && !matches!(&self.tx.state.status, Some(status) if status.name() == "success");
        settled_badly || self.tx.state.conflict.is_some() || self.heard == CheckResult::Rejected || self.tx.is_parked()
    }
}

/// The worst of it; `obstacle` is what kept the rest from being asked about.
fn verdict(checked: &[Checked], obstacle: Option<Exit>) -> Exit {
    let any = |heard| checked.iter().any(|checked| checked.heard == heard);
    let answered = any(CheckResult::News) || any(CheckResult::Rejected) || any(CheckResult::Useless);
    if any(CheckResult::Refused) || obstacle == Some(Exit::Unauthorized) {
        Exit::Unauthorized
    } else if !answered {
        Exit::Unreachable
    } else if any(CheckResult::OutOfReach) || any(CheckResult::Nothing) || any(CheckResult::Useless) {
        Exit::Error
    } else if checked.iter().any(Checked::needs_attention) {
        Exit::NeedsAttention
    } else {
        Exit::Fine
    }
}

fn print(checked: &Checked, cx: &mut Context) -> Result<()> {
    let Checked { tx, heard } = checked;
    let advice = advice::advise(tx, cx.now.wall, cx.zone);
    writeln!(cx.out, "{}  {}  {}", tx.params.transaction_id, row_text::route(tx), row_text::status_of(tx))?;
    writeln!(cx.out, "  VERDICT  {}", advice.verdict)?;
    if let Some(say) = &advice.say {
        writeln!(cx.out, "  SAY      {say}")?;
    }
    let act = match heard {
        CheckResult::Refused => advice::profile_action(Rule::Unauthorized),
        CheckResult::OutOfReach | CheckResult::Nothing => "try again, and see below what stood in the way",
        CheckResult::News | CheckResult::Rejected | CheckResult::Useless => &advice.act,
    };
    writeln!(cx.out, "  DO       {act}")?;
    if let Some(message) = &tx.state.message {
        writeln!(cx.out, "  SERVICE  {message}")?;
    }
    let older = tx.state.last_checked_at.map_or_else(
        || "nothing is known yet".to_owned(),
        |at| format!("what stands above is {} old", span::long(span::between(at, cx.now.wall))),
    );
    match (heard, &tx.state.last_error) {
        (CheckResult::News, _) => {}
        (CheckResult::Nothing, Some(error)) => {
            writeln!(cx.out, "  POLL     not asked about; {older}; before: {error}")?
        }
        (CheckResult::Nothing, None) => writeln!(cx.out, "  POLL     not asked about; {older}")?,
        (_, Some(error)) => writeln!(cx.out, "  POLL     {error}; {older}")?,
        (_, None) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{fixtures, status::RouterStatus};

    fn checked(status: RouterStatus, heard: CheckResult) -> Checked {
        let mut tx = fixtures::transaction(1);
        tx.apply(&fixtures::says(status), tx.first_seen_at);
        Checked { tx, heard }
    }

    #[test]
    fn the_exit_code_says_the_worst() {
        use RouterStatus::{Ongoing, PartialSuccess, Success};
        let table = [
            (vec![(Success, CheckResult::News), (Ongoing, CheckResult::News)], Exit::Fine),
            (vec![(Success, CheckResult::News), (PartialSuccess, CheckResult::News)], Exit::NeedsAttention),
            (vec![(Ongoing, CheckResult::Rejected)], Exit::NeedsAttention),
            (vec![(Ongoing, CheckResult::OutOfReach)], Exit::Unreachable),
            (vec![(Ongoing, CheckResult::Nothing), (Ongoing, CheckResult::OutOfReach)], Exit::Unreachable),
            (vec![(Ongoing, CheckResult::News), (Ongoing, CheckResult::OutOfReach)], Exit::Error),
            (vec![(Ongoing, CheckResult::Useless)], Exit::Error),
            (vec![(Ongoing, CheckResult::News), (Ongoing, CheckResult::Refused)], Exit::Unauthorized),
        ];
        for (rows, exit) in table {
            let rows: Vec<_> = rows.into_iter().map(|(status, heard)| checked(status, heard)).collect();
            assert_eq!(verdict(&rows, None), exit);
        }
    }

    #[test]
    fn a_refused_id_is_told_from_a_service_out_of_reach_though_nothing_was_asked() {
        let rows = [checked(RouterStatus::Ongoing, CheckResult::Nothing)];
        assert_eq!(verdict(&rows, Some(Exit::Unauthorized)), Exit::Unauthorized);
        assert_eq!(verdict(&rows, Some(Exit::Unreachable)), Exit::Unreachable);
    }
}
