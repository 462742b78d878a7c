//! `hoptop untrack`: stops the polling of transactions and keeps them.
//!
//! The command must never delete anything.

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;

use crate::{
    cli::{completers, context::Context},
    domain::{ids::TransactionKey, operation::Edit, transaction::Tracking},
    runtime::exit::Exit,
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Stop polling this transaction; it is kept, with its history
  hoptop untrack 0x9f3c41
  # Poll it again, if untracking it was the last change
  hoptop undo

`hoptop add` also resumes the polling.";

/// The arguments of `hoptop untrack`.
#[derive(Args, Clone, Debug)]
pub(crate) struct UntrackArgs {
    /// One or more transactions. Name each by its hash, six or more characters of it, a URL that contains it, a ticket, a
    /// quote or request ID, or the sender's address
    #[arg(value_name = "TX", required = true, add = ArgValueCompleter::new(completers::transactions))]
    pub transactions: Vec<String>,
}

/// Stops the polling of all named transactions, or of none if one of them can't be found.
pub(crate) fn untrack(args: &UntrackArgs, cx: &mut Context) -> Result<Exit> {
    let Some(named) = cx.find_all(&args.transactions)? else { return Ok(Exit::Error) };
    cx.edit(Edit::Untrack { transactions: named.iter().map(|(key, _)| key.clone()).collect() })?;
    for (TransactionKey { hash, .. }, tracking) in &named {
        match tracking {
            Tracking::Untracked => writeln!(cx.out, "{hash} was already untracked")?,
            _ => writeln!(cx.out, "{hash} is no longer polled; it is kept (`hoptop undo` undoes this)")?,
        }
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

    fn run(fixture: &mut CommandFixture, numbers: &[i64]) -> (String, String, Exit) {
        let args = UntrackArgs { transactions: numbers.iter().map(|number| hash(*number)).collect() };
        let (out, err, exit) = fixture.run(|cx| untrack(&args, cx));
        (out, err, exit.unwrap())
    }

    #[test]
    fn untracked_transaction_is_kept() {
        let mut fixture = CommandFixture::new();
        fixture.track(fixtures::new(1));
        let (out, err, exit) = run(&mut fixture, &[1, 1]);
        assert_eq!((out.lines().count(), err.as_str(), exit), (1, "", Exit::Success));
        assert_eq!(fixture.transactions()[0].tracking, Tracking::Untracked);
        assert!(run(&mut fixture, &[1]).0.ends_with("was already untracked\n"));
    }
}
