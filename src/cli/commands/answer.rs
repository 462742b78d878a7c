//! `hoptop answer`: prints the text about a transaction for the team's ticket, the customer or the provider.
//!
//! The command must never write the reply's sentences: `domain::reply` does.

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;

use crate::{
    cli::{completers, context::Context},
    domain::{
        advice::{self, Situation},
        reply::{self, Audience, ReplyFormat, ReplyTemplates},
    },
    runtime::exit::Exit,
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Print the reply as Markdown
  hoptop answer 0x9f3c41
  # Print the reply as plain text
  hoptop answer 0x9f3c41 --format text
  # Print the text for the customer
  hoptop answer 0x9f3c41 --for customer
  # Print the text for the provider's support
  hoptop answer 0x9f3c41 --for provider

`answer` doesn't poll; `hoptop check` does. Set your own templates with `markdown`, `text` and `customer` under \
[answer] in the config file.";

/// The arguments of `hoptop answer`.
#[derive(Args, Clone, Debug)]
pub(crate) struct AnswerArgs {
    /// A transaction, by its hash, six or more characters of it, a URL with it, a ticket, a quote or request ID, or the
    /// address of the sender
    #[arg(value_name = "TX", add = ArgValueCompleter::new(completers::transactions))]
    pub transaction: String,
    /// Who reads the text: the customer, the provider or the team. The texts for the customer and the provider are
    /// plain text
    #[arg(long = "for", value_enum, value_name = "READER", default_value_t = ReplyReader::Team)]
    pub reader: ReplyReader,
    /// The format of the reply for the team [default: markdown; text with `--plain`]
    #[arg(long, value_enum)]
    pub format: Option<ReplyFormatOption>,
}

/// The reader of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplyReader {
    /// The customer who asked: whole sentences without internal terms.
    Customer,
    /// The provider's support: hash, chains, quoteId, requestId, times and links.
    Provider,
    /// Your team: verdict, what to say, times and links.
    Team,
}

/// The format of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplyFormatOption {
    /// For ticket systems that accept Markdown.
    Markdown,
    /// Plain text.
    Text,
}

/// Prints the reply. Warns on standard error if there is no answer yet, or if the last answer may be old.
pub(crate) fn answer(args: &AnswerArgs, cx: &mut Context, templates: &ReplyTemplates) -> Result<Exit> {
    let audience = match (args.reader, args.format) {
        (ReplyReader::Customer | ReplyReader::Provider, Some(ReplyFormatOption::Markdown)) => {
            writeln!(cx.err, "only the reply for the team has Markdown; leave out --format, or use --for team")?;
            return Ok(Exit::Usage);
        }
        (ReplyReader::Customer, _) => Audience::Customer,
        (ReplyReader::Provider, _) => Audience::Provider,
        (ReplyReader::Team, Some(ReplyFormatOption::Markdown)) => Audience::Team(ReplyFormat::Markdown),
        (ReplyReader::Team, Some(ReplyFormatOption::Text)) => Audience::Team(ReplyFormat::Text),
        (ReplyReader::Team, None) if cx.is_in_words => Audience::Team(ReplyFormat::Text),
        (ReplyReader::Team, None) => Audience::Team(ReplyFormat::Markdown),
    };
    let Some(tx) = cx.find(&args.transaction)? else { return Ok(Exit::Error) };
    if tx.state.last_checked_at.is_none() && !tx.is_parked() {
        writeln!(cx.err, "the service hasn't answered about this transaction yet; `hoptop check` polls it now")?;
    } else if advice::situation(&tx, cx.now.wall) == Situation::Untracked {
        writeln!(cx.err, "this transaction is no longer polled, so the reply may be old; `hoptop check` polls it now")?;
    }
    writeln!(cx.out, "{}", reply::write_reply(&[&tx], audience, cx.now.wall, cx.zone, templates))?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::context::testing::{CommandFixture, at},
        domain::{
            fixtures,
            observation::{RequestFailure, StatusOutcome},
            operation::LocalEdit,
            status::RouterStatus,
        },
        store::testing,
    };

    fn args(reader: ReplyReader, format: Option<ReplyFormatOption>) -> AnswerArgs {
        AnswerArgs { transaction: fixtures::params(1).transaction_id.to_string(), reader, format }
    }

    fn run(fixture: &mut CommandFixture, format: impl Into<Option<ReplyFormatOption>>) -> (String, String) {
        let args = args(ReplyReader::Team, format.into());
        let (out, err, exit) = fixture.run(|cx| answer(&args, cx, &ReplyTemplates::default()));
        assert_eq!(exit.unwrap(), Exit::Success);
        (out, err)
    }

    #[test]
    fn reply_is_printed_in_both_formats() {
        let mut fixture = CommandFixture::new();
        let row = fixture.track(fixtures::new(1));
        let (out, err) = run(&mut fixture, ReplyFormatOption::Text);
        assert!(out.starts_with("NOT CHECKED YET\n") && out.ends_with("not checked yet\n"), "{out}");
        assert!(err.contains("hoptop check"), "{err}");
        fixture.observe(row, fixtures::says(RouterStatus::Success), 30);
        let (out, err) = run(&mut fixture, ReplyFormatOption::Markdown);
        assert!(
            out.starts_with(
                "**COMPLETED 30s after we first saw it**\n\nYour transfer is complete: the funds are on Base.\n"
            ),
            "{out}"
        );
        assert_eq!(err, "");
        assert_eq!(run(&mut fixture, None).0, out);
        fixture.is_in_words = true;
        assert!(run(&mut fixture, None).0.starts_with("COMPLETED"));
    }

    #[test]
    fn reply_that_may_be_old_has_a_warning_and_rejected_transaction_has_none() {
        let mut fixture = CommandFixture::new();
        let row = fixture.track(fixtures::new(1));
        fixture.observe(row, fixtures::answer(StatusOutcome::Failed(RequestFailure::Rejected("no".into()))), 10);
        assert_eq!(run(&mut fixture, ReplyFormatOption::Text).1, "");
        fixture.observe(row, fixtures::says(RouterStatus::Ongoing), 20);
        assert_eq!(run(&mut fixture, ReplyFormatOption::Text).1, "");
        testing::edit(&fixture.store, "default", LocalEdit::Untrack { transactions: vec![row] }, at(30));
        let (out, err) = run(&mut fixture, ReplyFormatOption::Text);
        assert!(err.starts_with("this transaction is no longer polled"), "{err}");
        assert!(!out.contains("Support after"), "{out}");
    }

    #[test]
    fn each_reader_gets_a_text_and_only_the_team_gets_markdown() {
        let mut fixture = CommandFixture::new();
        fixture.track(fixtures::new(1));
        for (reader, beginning) in [(ReplyReader::Customer, "Hello,\n"), (ReplyReader::Provider, "transactionId")] {
            let (out, _, exit) = fixture.run(|cx| answer(&args(reader, None), cx, &ReplyTemplates::default()));
            assert!(out.starts_with(beginning) && exit.unwrap() == Exit::Success, "{out}");
            let wanted = args(reader, Some(ReplyFormatOption::Markdown));
            let (out, err, exit) = fixture.run(|cx| answer(&wanted, cx, &ReplyTemplates::default()));
            assert_eq!((out.as_str(), exit.unwrap()), ("", Exit::Usage));
            assert!(err.contains("--for team"), "{err}");
        }
    }

    #[test]
    fn unknown_transaction_has_no_reply() {
        let mut fixture = CommandFixture::new();
        let args = AnswerArgs { transaction: "0xabcdef".into(), ..args(ReplyReader::Team, None) };
        let (out, err, exit) = fixture.run(|cx| answer(&args, cx, &ReplyTemplates::default()));
        assert_eq!((out.as_str(), exit.unwrap()), ("", Exit::Error));
        assert!(err.contains("is not tracked"), "{err}");
    }
}
