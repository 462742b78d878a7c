//! `hoptop add`: tracks one transaction from options.
//!
//! The command must never accept a value that an import would refuse: both read values with `intake`.

use std::io::{self, Write};

use clap::Args;
use clap_complete::ArgValueCompleter;

use crate::{
    cli::{completers, context::Context},
    domain::{
        operation::Operation,
        span,
        transaction::{NewTransaction, Transaction},
    },
    intake::{self, Field, ReadOptions},
    runtime::exit::Exit,
    store::ImportReport,
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Track one transaction
  hoptop add 0x9f3c41 --from 42161 --to 8453 --quote-id q-1
  # Track it with a ticket and a note
  hoptop add 0x9f3c41 --from 42161 --to 8453 --quote-id q-1 \\
      --ticket SUP-4412 --note \"by phone\"";

/// The arguments of `hoptop add`.
#[derive(Args, Clone, Debug)]
pub(crate) struct AddArgs {
    /// The hash of the source transaction, or a URL that contains it
    #[arg(value_name = "TX")]
    pub transaction: String,
    /// The source chain's ID, as the service uses it
    #[arg(long, value_name = "CHAIN", add = ArgValueCompleter::new(completers::chains))]
    pub from: String,
    /// The destination chain's ID
    #[arg(long, value_name = "CHAIN", add = ArgValueCompleter::new(completers::chains))]
    pub to: String,
    /// The route's quoteId
    #[arg(long, value_name = "ID")]
    pub quote_id: String,
    /// The requestId, if it is known
    #[arg(long, value_name = "ID")]
    pub request_id: Option<String>,
    /// The route's estimatedRouteDuration, in seconds
    #[arg(long, value_name = "SECS")]
    pub estimate: Option<String>,
    /// When the transaction was submitted: RFC 3339 or Unix seconds
    #[arg(long, value_name = "TIME")]
    pub submitted_at: Option<String>,
    /// The order's fromAddress, which receives a refund
    #[arg(long, value_name = "ADDRESS")]
    pub from_address: Option<String>,
    /// The support ticket
    #[arg(long, add = ArgValueCompleter::new(completers::tickets))]
    pub ticket: Option<String>,
    /// A label; may be repeated
    #[arg(long = "label", value_name = "LABEL", add = ArgValueCompleter::new(completers::labels))]
    pub labels: Vec<String>,
    /// A note
    #[arg(long)]
    pub note: Option<String>,
    /// Accept any text as a chain ID; numbers and IDs such as osmosis-1 are always accepted
    #[arg(long)]
    pub any_chain: bool,
}

/// Tracks the transaction, or updates it if it is already tracked, and prints whether it was added or updated.
pub(crate) fn add(args: &AddArgs, cx: &mut Context) -> color_eyre::Result<Exit> {
    let labels = args.labels.join(";");
    let Some(new) = read(&values(args, &labels), args.any_chain, cx)? else { return Ok(Exit::Usage) };
    let operation = Operation::Track { profile: cx.profile.clone(), transactions: vec![new] };
    let report = cx.store.apply(operation, cx.now.wall).wait()?.tracked()?;
    if let Some(notice) = report.other_profiles_notice() {
        writeln!(cx.err, "warning: {notice}; each profile polls it")?;
    }
    let known = report.first().map(|row| cx.store.reader()?.list_row(row)).transpose()?.flatten();
    if let Some(known) = known {
        print_report(&known.transaction, &report, cx)?;
    }
    Ok(Exit::Success)
}

fn print_report(tx: &Transaction, report: &ImportReport, cx: &mut Context) -> io::Result<()> {
    let hash = &tx.params.transaction_id;
    let deadline = tx.deadline();
    let due = span::clock_time(deadline.at, cx.now.wall, cx.zone);
    let due = format!("deadline {due} ({})", deadline.basis());
    let from_quote = report
        .completed
        .listed
        .first()
        .map_or_else(String::new, |(_, fields)| format!("; from its quote: {}", fields.join(", ")));
    match report.updated.listed.first() {
        Some((_, fields)) => writeln!(cx.out, "updated {hash}: {}; {due}", fields.join(", ")),
        None if report.added.count == 0 => writeln!(cx.out, "already tracked, nothing to update: {hash}; {due}"),
        None => writeln!(cx.out, "added {hash}, {} > {}; {due}{from_quote}", tx.from_name(), tx.to_name()),
    }
}

fn values<'a>(args: &'a AddArgs, labels: &'a str) -> Vec<(Field, &'a str)> {
    let optional = [
        (Field::RequestId, &args.request_id),
        (Field::EstimatedRouteDuration, &args.estimate),
        (Field::SubmittedAt, &args.submitted_at),
        (Field::FromAddress, &args.from_address),
        (Field::Ticket, &args.ticket),
        (Field::Note, &args.note),
    ];
    let given = optional.into_iter().filter_map(|(field, value)| Some((field, value.as_deref()?)));
    let required = [
        (Field::TransactionId, args.transaction.as_str()),
        (Field::FromChainId, &args.from),
        (Field::ToChainId, &args.to),
        (Field::QuoteId, &args.quote_id),
        (Field::Labels, labels),
    ];
    required.into_iter().chain(given).collect()
}

/// Reads one transaction, and prints warnings about it. If it can't be read, prints the options that are wrong.
pub(super) fn read(
    values: &[(Field, &str)],
    any_chain: bool,
    cx: &mut Context<'_>,
) -> io::Result<Option<NewTransaction>> {
    let options = ReadOptions { allows_any_chain: any_chain, now: Some(cx.now.wall), ..ReadOptions::default() };
    let err = &mut cx.err;
    match intake::parse_one(values, &options) {
        Ok((new, warnings)) => {
            let doubt = intake::hash_warning(&new.params.transaction_id, &new.params.from_chain);
            for warning in warnings.into_iter().chain(doubt) {
                writeln!(err, "warning: {warning}")?;
            }
            Ok(Some(new))
        }
        Err(errors) => {
            for error in errors {
                writeln!(err, "{}: {}", option(error.field), error.reason)?;
            }
            Ok(None)
        }
    }
}

/// Returns the option for the value of this field.
fn option(field: Field) -> &'static str {
    match field {
        Field::TransactionId => "TX",
        Field::FromChainId => "--from",
        Field::ToChainId => "--to",
        Field::QuoteId => "--quote-id",
        Field::RequestId => "--request-id",
        Field::EstimatedRouteDuration => "--estimate",
        Field::SubmittedAt => "--submitted-at",
        Field::Ticket => "--ticket",
        Field::FromAddress => "--from-address",
        Field::Labels => "--label",
        Field::Note => "--note",
        // These fields have no option.
        Field::Notes | Field::FirstSeenAt | Field::SubmittedAtIsFirstSeen | Field::Untracked | Field::Profile => {
            field.name()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::context::testing::{CommandFixture, parse};

    fn args(more: &[&str]) -> AddArgs {
        let line = ["add", "0xabcdef12", "--from", "42161", "--to", "8453", "--quote-id", "q-1"];
        parse(&[&line, more].concat()).unwrap()
    }

    #[test]
    fn transaction_is_added_once_and_then_updated() {
        let mut fixture = CommandFixture::new();
        let (out, err, exit) =
            fixture.run(|cx| add(&args(&["--label", "vip", "--label", "b", "--estimate", "900"]), cx));
        let odd = "warning: the hash has 8 hexadecimal digits; a complete hash has 64\n";
        assert_eq!((err.as_str(), exit.unwrap()), (odd, Exit::Success));
        assert_eq!(out, "added 0xabcdef12, Arbitrum > Base; deadline 22:44 UTC (30m = 2 x est. 15m)\n");
        let (out, ..) = fixture.run(|cx| add(&args(&[]), cx));
        assert!(out.starts_with("already tracked, nothing to update: 0xabcdef12; deadline"), "{out}");
        let (out, ..) = fixture.run(|cx| add(&args(&["--ticket", "SUP-1", "--note", "called"]), cx));
        assert!(out.starts_with("updated 0xabcdef12: ticket, note; deadline"), "{out}");
        assert_eq!(fixture.transactions()[0].labels, ["b", "vip"]);
    }

    #[test]
    fn error_names_the_option_of_each_invalid_value() {
        let mut fixture = CommandFixture::new();
        let mut args = args(&["--submitted-at", "yesterday", "--estimate", "soon"]);
        (args.from, args.to, args.quote_id) = ("arbitrum".into(), "moon\u{1b}[2J".into(), " ".into());
        let (out, err, exit) = fixture.run(|cx| add(&args, cx));
        assert_eq!((out.as_str(), exit.unwrap()), ("", Exit::Usage));
        for start in
            ["--from: `arbitrum` is a chain name", "--to: `moon[2J`", "--quote-id: it is empty", "--estimate: `soon`"]
        {
            assert!(err.lines().any(|line| line.starts_with(start)), "{start}: {err}");
        }
        assert!(err.contains("--submitted-at: `yesterday` is not a time") && !err.contains('\u{1b}'), "{err}");
        assert!(fixture.transactions().is_empty());
    }

    #[test]
    fn implausible_estimate_is_clamped_with_a_warning() {
        let mut fixture = CommandFixture::new();
        let (_, err, exit) = fixture.run(|cx| add(&args(&["--estimate", "1e12"]), cx));
        assert!(err.starts_with("warning: estimatedRouteDuration of 1e12 s is implausible"), "{err}");
        assert_eq!(exit.unwrap(), Exit::Success);
    }

    #[test]
    fn parser_requires_the_four_parameters() {
        assert!(parse::<AddArgs>(&["add", "0xabcdef12", "--from", "1", "--to", "10"]).is_err());
    }
}
