//! `hoptop answer`: the reply for the ticket.
//!
//! The words are the domain's; here they are only printed.

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;

use super::{completions, context::Context, exit::Exit};
use crate::domain::answer::{self, Format, Templates};

/// For the help.
pub const EXAMPLES: &str = "\
Examples:
  hoptop answer 0x9f3c41                           as Markdown
  hoptop answer 0x9f3c41 --format text             as plain text

It asks nobody: `hoptop check` does that. The words can be yours: `markdown` and `text` under [answer] in the config file.";

/// Print the reply for a ticket.
#[derive(Args, Clone, Debug)]
pub struct AnswerArgs {
    /// A hash, six or more characters of it that no other has, or a URL that contains it
    #[arg(value_name = "TX", add = ArgValueCompleter::new(completions::transactions))]
    pub transaction: String,
    /// How it is written [default: markdown; text where lines are read out, `--plain`]
    #[arg(long, value_enum)]
    pub format: Option<Written>,
}

/// How a reply is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Written {
    /// For ticket systems that take Markdown.
    Markdown,
    /// Plain text.
    Text,
}

/// Prints the reply, and says on standard error if it rests on nothing, or on what may be old.
pub fn answer(args: &AnswerArgs, cx: &mut Context, own: &Templates) -> Result<Exit> {
    let Some(tx) = cx.find(&args.transaction)? else { return Ok(Exit::Error) };
    let format = match (args.format, cx.in_words) {
        (Some(Written::Markdown), _) | (None, false) => Format::Markdown,
        (Some(Written::Text), _) | (None, true) => Format::Text,
    };
    let parked = tx.is_parked();
    if tx.state.last_checked_at.is_none() && !parked {
        writeln!(cx.err, "the service hasn't answered about this transaction yet; `hoptop check` asks now")?;
    } else if tx.is_stopped() {
        writeln!(cx.err, "this transaction isn't polled any more, and the reply may be old; `hoptop check` asks now")?;
    }
    writeln!(cx.out, "{}", answer::answer(&tx, (cx.now.wall, cx.zone), format, own))?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::{
        super::context::testing::{Bench, at},
        *,
    };
    use crate::{
        domain::{
            fixtures,
            observation::{Failure, Outcome},
            operation::LocalEdit,
            status::RouterStatus,
        },
        store::testing,
    };

    fn run(bench: &mut Bench, format: impl Into<Option<Written>>) -> (String, String) {
        let args = AnswerArgs { transaction: fixtures::params(1).transaction_id.to_string(), format: format.into() };
        let (out, err, exit) = bench.run(|cx| answer(&args, cx, &Templates::default()));
        assert_eq!(exit.unwrap(), Exit::Fine);
        (out, err)
    }

    #[test]
    fn the_reply_is_printed_in_both_forms() {
        let mut bench = Bench::new();
        let row = bench.track(fixtures::new(1));
        let (out, err) = run(&mut bench, Written::Text);
        assert!(out.starts_with("NOT ASKED YET\n") && out.ends_with("not checked yet\n"), "{out}");
        assert!(err.contains("hoptop check"), "{err}");
        bench.hear(row, fixtures::says(RouterStatus::Success), 30);
        let (out, err) = run(&mut bench, Written::Markdown);
        assert!(
            out.starts_with(
                "**COMPLETED 30s after we first saw it**\n\nThe transfer completed: the funds are on Base.\n"
            ),
            "{out}"
        );
        assert_eq!(err, "");
        assert_eq!(run(&mut bench, None).0, out);
        bench.in_words = true;
        assert!(run(&mut bench, None).0.starts_with("COMPLETED"));
    }

    #[test]
    fn a_reply_that_may_be_old_is_said_to_be_and_a_refused_one_is_not_waited_for() {
        let mut bench = Bench::new();
        let row = bench.track(fixtures::new(1));
        bench.hear(row, fixtures::answer(Outcome::Failed(Failure::Rejected("no".into()))), 10);
        assert_eq!(run(&mut bench, Written::Text).1, "");
        bench.hear(row, fixtures::says(RouterStatus::Ongoing), 20);
        assert_eq!(run(&mut bench, Written::Text).1, "");
        testing::edit(&bench.store, "default", LocalEdit::Untrack { transactions: vec![row] }, at(30));
        let (out, err) = run(&mut bench, Written::Text);
        assert!(err.starts_with("this transaction isn't polled any more"), "{err}");
        assert!(!out.contains("Support after"), "{out}");
    }

    #[test]
    fn what_is_not_tracked_has_no_reply() {
        let mut bench = Bench::new();
        let args = AnswerArgs { transaction: "0xabcdef".into(), format: None };
        let (out, err, exit) = bench.run(|cx| answer(&args, cx, &Templates::default()));
        assert_eq!((out.as_str(), exit.unwrap()), ("", Exit::Error));
        assert!(err.contains("is not tracked"), "{err}");
    }
}
