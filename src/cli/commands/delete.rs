//! `hoptop delete`: deletes transactions permanently.
//!
//! The command must never delete a transaction that isn't named, nor anything without `--yes`.

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;

use crate::{
    cli::{completers, context::Context},
    domain::{ids::TransactionKey, operation::Operation},
    runtime::exit::Exit,
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Delete this transaction, with its history, notes and alerts
  hoptop delete 0x9f3c41 --yes

This can't be undone; `hoptop untrack` stops the polling without deleting. Earlier backups still contain the \
transaction; hoptop keeps the last seven daily backups. A team's database keeps it until its next snapshot, which the \
machine that polls writes within seconds; while no machine polls, it stays.";

/// What a deletion in a team's store leaves for a while.
const KEPT_BY_DATABASE: &str = "the team's database keeps a deleted transaction until its next snapshot: the machine that polls writes one within seconds; while no machine polls, it stays";

/// The arguments of `hoptop delete`.
#[derive(Args, Clone, Debug)]
pub(crate) struct DeleteArgs {
    /// One or more transactions. Name each by its hash, six or more characters of it, a URL that contains it, a ticket, a
    /// quote or request ID, or the sender's address
    #[arg(value_name = "TX", required = true, add = ArgValueCompleter::new(completers::transactions))]
    pub transactions: Vec<String>,
    /// Confirm the deletion, which can't be undone
    #[arg(long)]
    pub yes: bool,
}

/// Deletes all named transactions. Deletes nothing if one of them can't be found, or without `--yes`.
pub(crate) fn delete(args: &DeleteArgs, cx: &mut Context) -> Result<Exit> {
    let Some(named) = cx.find_all(&args.transactions)? else { return Ok(Exit::Error) };
    if !args.yes {
        for (TransactionKey { hash, .. }, _) in &named {
            writeln!(cx.err, "{hash} would be deleted, with its history, notes and alerts")?;
        }
        writeln!(
            cx.err,
            "nothing was deleted: confirm with --yes; `hoptop untrack` stops the polling without deleting"
        )?;
        return Ok(Exit::Usage);
    }
    let transactions = named.into_iter().map(|(key, _)| key).collect();
    let count = cx.store.apply(Operation::Delete { transactions }, cx.now.wall).wait()?.changed()?;
    writeln!(cx.out, "{count} deleted")?;
    if cx.store.team().is_some() {
        writeln!(cx.err, "{KEPT_BY_DATABASE}")?;
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cli::context::testing::CommandFixture, domain::fixtures};

    fn hash(number: i64) -> String {
        fixtures::params(number).transaction_id.to_string()
    }

    #[test]
    fn nothing_is_deleted_without_yes_or_if_a_transaction_is_unknown() {
        let mut fixture = CommandFixture::new();
        fixture.track(fixtures::new(1));
        let run = |fixture: &mut CommandFixture, number: i64, yes| {
            let args = DeleteArgs { transactions: vec![hash(1), hash(number)], yes };
            fixture.run(|cx| delete(&args, cx).unwrap())
        };
        let (_, err, exit) = run(&mut fixture, 1, false);
        assert_eq!((err.lines().count(), exit), (2, Exit::Usage));
        let (_, err, exit) = run(&mut fixture, 2, true);
        assert_eq!(exit, Exit::Error);
        assert!(err.ends_with("nothing was changed\n"), "{err}");
        assert_eq!(fixture.transactions().len(), 1);
        let (out, _, exit) = run(&mut fixture, 1, true);
        assert_eq!((out.as_str(), exit), ("1 deleted\n", Exit::Success));
        assert!(fixture.transactions().is_empty());
    }
}
