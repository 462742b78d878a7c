//! `hoptop ticket`: sets the ticket of transactions, or removes it.
//!
//! The command must never change only some of the named transactions: if one can't be found, none is changed.

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;

use crate::{
    cli::{completers, context::Context},
    domain::{ids::TxHash, operation::Edit, text},
    intake,
    runtime::exit::Exit,
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Set the ticket of one transaction
  hoptop ticket 0x9f3c41 SUP-4412
  # Set the ticket of two
  hoptop ticket 0x9f3c41 0x41aa90 SUP-4412
  # Remove the ticket
  hoptop ticket 0x9f3c41 --remove
  # Undo it, if it was the last change
  hoptop undo";

/// The usage line of the help: the last word is the ticket, which clap can't tell.
pub(crate) const USAGE: &str = "hoptop ticket [OPTIONS] <TX>... <ID|--remove>";

/// The arguments of `hoptop ticket`.
#[derive(Args, Clone, Debug)]
pub(crate) struct TicketArgs {
    /// One or more transactions. Name each by its hash, six or more characters of it, a URL that contains it, a ticket, a
    /// quote or request ID, or the sender's address. The last argument is the new ticket; with --remove there is
    /// none
    #[arg(value_name = "TX", required = true, add = ArgValueCompleter::new(completers::transactions_and_tickets))]
    pub words: Vec<String>,
    /// Remove the ticket of each transaction
    #[arg(long)]
    pub remove: bool,
}

/// Whether a word is six or more characters of a hash, as people name transactions: `0x9f3c41`, `0x60db…c20d`.
fn is_part_of_hash(word: &str) -> bool {
    let is_start = |digits: &str| digits.len() >= 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    TxHash::parse_short(word).is_some() || word.strip_prefix("0x").is_some_and(is_start)
}

/// Sets or removes the ticket of all named transactions, or of none if one of them can't be found.
pub(crate) fn ticket(args: &TicketArgs, cx: &mut Context) -> Result<Exit> {
    let (transactions, ticket) = match args.words.split_last() {
        _ if args.remove => (args.words.as_slice(), None),
        Some((ticket, transactions)) if !transactions.is_empty() => {
            if intake::is_hash(ticket) || is_part_of_hash(ticket) {
                writeln!(
                    cx.err,
                    "the last word is a hash; give the ticket after the transactions, or remove it with --remove"
                )?;
                return Ok(Exit::Usage);
            }
            if text::is_cut(ticket) {
                writeln!(cx.err, "warning: the ticket: {}", text::cut_warning())?;
            }
            let Some(ticket) = text::clean_or_none(ticket) else {
                writeln!(cx.err, "the ticket is empty; remove a ticket with --remove")?;
                return Ok(Exit::Usage);
            };
            (transactions, Some(ticket))
        }
        _ => {
            writeln!(cx.err, "the ticket is missing; give it after the transactions, or remove it with --remove")?;
            return Ok(Exit::Usage);
        }
    };
    let Some(named) = cx.find_all(transactions)? else { return Ok(Exit::Error) };
    let count = named.len();
    let transactions = named.into_iter().map(|(key, _)| key).collect();
    let changed = cx.edit(Edit::SetTicket { transactions, ticket: ticket.clone() })?;
    let unchanged = match count.saturating_sub(changed) {
        0 => String::new(),
        unchanged => format!("; {unchanged} unchanged"),
    };
    let counted = text::counted(changed, "transaction");
    match (changed, ticket) {
        (0, Some(ticket)) => writeln!(cx.out, "no change: {ticket} is already the ticket")?,
        (0, None) => writeln!(cx.out, "no change: there is no ticket to remove")?,
        (_, Some(ticket)) => writeln!(cx.out, "set ticket {ticket} on {counted}{unchanged}")?,
        (_, None) => writeln!(cx.out, "removed the ticket from {counted}{unchanged}")?,
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{commands::undo, context::testing::CommandFixture},
        domain::fixtures,
    };

    fn run(fixture: &mut CommandFixture, words: &[&str], remove: bool) -> (String, String, Exit) {
        let args = TicketArgs { words: words.iter().map(|word| (*word).to_owned()).collect(), remove };
        let (out, err, exit) = fixture.run(|cx| ticket(&args, cx));
        (out, err, exit.unwrap())
    }

    fn tickets(fixture: &CommandFixture) -> Vec<Option<String>> {
        fixture.transactions().into_iter().map(|tx| tx.params.ticket).collect()
    }

    fn tracked() -> (CommandFixture, [String; 2]) {
        let fixture = CommandFixture::new();
        let hashes = [1, 2].map(|number| {
            fixture.track(fixtures::new(number));
            fixtures::params(number).transaction_id.to_string()
        });
        (fixture, hashes)
    }

    #[test]
    fn ticket_is_set_on_several_transactions_and_undone_as_one_edit() {
        let (mut fixture, [first, second]) = tracked();
        let before = tickets(&fixture);
        let done = run(&mut fixture, &[&first, &second, &first, " SUP-1\u{1b} "], false);
        assert_eq!(done, ("set ticket SUP-1 on 2 transactions\n".into(), String::new(), Exit::Success));
        assert_eq!(tickets(&fixture), [Some("SUP-1".to_owned()), Some("SUP-1".to_owned())]);
        assert_eq!(run(&mut fixture, &[&first, "SUP-1"], false).0, "no change: SUP-1 is already the ticket\n");
        fixture.run(|cx| undo::undo(&Default::default(), cx).unwrap());
        assert_eq!(tickets(&fixture), before);
    }

    #[test]
    fn part_of_a_hash_is_no_ticket() {
        let (mut fixture, [first, second]) = tracked();
        for word in [&second, &second[..8], "0x0000…0002"] {
            let (_, err, exit) = run(&mut fixture, &[&first, word], false);
            assert!(err.starts_with("the last word is a hash") && exit == Exit::Usage, "{word}: {err}");
        }
        assert_eq!(run(&mut fixture, &[&first, "0xabc"], false).2, Exit::Success, "too short for a hash");
    }

    #[test]
    fn ticket_is_removed() {
        let (mut fixture, [first, second]) = tracked();
        run(&mut fixture, &[&first, &second, "SUP-1"], false);
        assert_eq!(run(&mut fixture, &[&first], true).0, "removed the ticket from 1 transaction\n");
        let done = run(&mut fixture, &[&first, &second], true);
        assert_eq!(done.0, "removed the ticket from 1 transaction; 1 unchanged\n");
        assert_eq!(tickets(&fixture), [None, None]);
        assert_eq!(run(&mut fixture, &[&first], true).0, "no change: there is no ticket to remove\n");
    }

    #[test]
    fn unknown_transaction_or_missing_ticket_changes_nothing() {
        let (mut fixture, [first, second]) = tracked();
        let before = tickets(&fixture);
        let (_, err, exit) = run(&mut fixture, &[&first, "0xabcdefabcdef", "SUP-1"], false);
        assert!(err.starts_with("`0xabcdefabcdef` is not tracked") && err.ends_with("nothing was changed\n"), "{err}");
        assert_eq!(exit, Exit::Error);
        let (_, err, exit) = run(&mut fixture, &["0x000000", "SUP-1"], false);
        assert!(err.starts_with("`0x000000` matches several transactions") && exit == Exit::Error, "{err}");
        let (_, err, exit) = run(&mut fixture, &[&first], false);
        assert!(err.starts_with("the ticket is missing") && exit == Exit::Usage, "{err}");
        let (_, err, exit) = run(&mut fixture, &[&first, &second, " \u{200b}"], false);
        assert!(err.starts_with("the ticket is empty") && exit == Exit::Usage, "{err}");
        assert_eq!(tickets(&fixture), before);
    }
}
