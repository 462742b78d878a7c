//! `hoptop add`: one transaction, from options.
//!
//! It must never take a value that an import would refuse: both read by the same table.

use clap::Args;
use clap_complete::ArgValueCompleter;

use super::{completions, context::Context, exit::Exit};
use crate::{
    domain::{operation::Operation, span, transaction::Transaction},
    intake::{self, Field},
    store::ImportReport,
};

/// Track one transaction.
#[derive(Args, Clone, Debug)]
pub struct AddArgs {
    /// The hash of the source transaction, or a URL that contains it
    #[arg(value_name = "TX")]
    pub transaction: String,
    /// The source chain's ID, as the service uses it
    #[arg(long, value_name = "CHAIN", add = ArgValueCompleter::new(completions::chains))]
    pub from: String,
    /// The destination chain's ID
    #[arg(long, value_name = "CHAIN", add = ArgValueCompleter::new(completions::chains))]
    pub to: String,
    /// The route's quoteId
    #[arg(long, value_name = "ID")]
    pub quote_id: String,
    /// The request ID, if there is one
    #[arg(long, value_name = "ID")]
    pub request_id: Option<String>,
    /// The route's estimatedRouteDuration, in seconds
    #[arg(long, value_name = "SECS")]
    pub estimate: Option<String>,
    /// When it was submitted: RFC 3339 or Unix seconds
    #[arg(long, value_name = "TIME")]
    pub submitted_at: Option<String>,
    /// The order's fromAddress, which a refund is paid to
    #[arg(long, value_name = "ADDRESS")]
    pub from_address: Option<String>,
    /// The ticket that it belongs to
    #[arg(long, add = ArgValueCompleter::new(completions::tickets))]
    pub ticket: Option<String>,
    /// A label; may be given several times
    #[arg(long = "label", value_name = "LABEL", add = ArgValueCompleter::new(completions::labels))]
    pub labels: Vec<String>,
    /// A note
    #[arg(long)]
    pub note: Option<String>,
    /// Take chain IDs that don't look like any
    #[arg(long)]
    pub any_chain: bool,
}

/// Tracks the transaction, or updates it if it is known, and says which.
pub fn add(args: &AddArgs, cx: &mut Context) -> color_eyre::Result<Exit> {
    let labels = args.labels.join(";");
    let (new, warning) = match intake::one(&values(args, &labels), args.any_chain) {
        Ok(read) => read,
        Err(errors) => {
            for error in errors {
                writeln!(cx.err, "{}: {}", option(error.field), error.reason)?;
            }
            return Ok(Exit::Usage);
        }
    };
    if let Some(warning) = warning {
        writeln!(cx.err, "warning: {warning}")?;
    }
    if let Some(oddity) = intake::oddity(&new.params.transaction_id, &new.params.from_chain) {
        writeln!(cx.err, "warning: {oddity}")?;
    }
    let operation = Operation::Track { profile: cx.profile.clone(), transactions: vec![new] };
    let report = cx.store.apply(operation, cx.now.wall).wait()?.tracked()?;
    if let Some(twice) = report.twice() {
        writeln!(cx.err, "warning: {twice}; each profile polls it")?;
    }
    let known = report.first().map(|row| cx.store.reader()?.listed(row)).transpose()?.flatten();
    if let Some(known) = known {
        print_report(&known.transaction, &report, cx)?;
    }
    Ok(Exit::Fine)
}

fn print_report(tx: &Transaction, report: &ImportReport, cx: &mut Context) -> std::io::Result<()> {
    let hash = &tx.params.transaction_id;
    let deadline = tx.deadline();
    let due = span::clock_time(deadline.at, cx.now.wall, cx.zone);
    let due = format!("deadline {due} ({})", deadline.basis());
    let from_quote = report
        .completed
        .first
        .first()
        .map_or_else(String::new, |(_, fields)| format!("; from its quote: {}", fields.join(", ")));
    match report.updated.first.first() {
        Some((_, fields)) => writeln!(cx.out, "updated {hash}: {}; {due}", fields.join(", ")),
        None if report.added.count == 0 => writeln!(cx.out, "known already, nothing new: {hash}; {due}"),
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
    let mut values = vec![
        (Field::TransactionId, args.transaction.as_str()),
        (Field::FromChainId, &args.from),
        (Field::ToChainId, &args.to),
        (Field::QuoteId, &args.quote_id),
        (Field::Labels, labels),
    ];
    values.extend(given);
    values
}

/// The option that gives the field's value.
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
        // No option gives these.
        Field::Notes | Field::FirstSeenAt | Field::SubmittedAtIsFirstSeen | Field::Untracked | Field::Profile => {
            field.name()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{super::context::testing::Bench, *};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        add: AddArgs,
    }

    fn args(more: &[&str]) -> AddArgs {
        let line = ["add", "0xabcdef12", "--from", "42161", "--to", "8453", "--quote-id", "q-1"];
        Line::try_parse_from(line.iter().chain(more)).unwrap().add
    }

    #[test]
    fn it_is_added_once_and_updated_where_it_differs() {
        let mut bench = Bench::new();
        let (out, err, exit) = bench.run(|cx| add(&args(&["--label", "vip", "--label", "b", "--estimate", "900"]), cx));
        let odd = "warning: its hash has 8 digits, a whole one has 64\n";
        assert_eq!((err.as_str(), exit.unwrap()), (odd, Exit::Fine));
        assert_eq!(out, "added 0xabcdef12, Arbitrum > Base; deadline 22:44 UTC (30m = 2 x est. 15m)\n");
        let (out, ..) = bench.run(|cx| add(&args(&[]), cx));
        assert!(out.starts_with("known already, nothing new: 0xabcdef12; deadline"), "{out}");
        let (out, ..) = bench.run(|cx| add(&args(&["--ticket", "SUP-1", "--note", "called"]), cx));
        assert!(out.starts_with("updated 0xabcdef12: ticket, note; deadline"), "{out}");
        assert_eq!(bench.transactions()[0].labels, ["b", "vip"]);
    }

    #[test]
    fn every_wrong_value_is_named_by_its_option() {
        let mut bench = Bench::new();
        let mut args = args(&["--submitted-at", "yesterday", "--estimate", "soon"]);
        (args.from, args.to, args.quote_id) = ("arbitrum".into(), "moon\u{1b}[2J".into(), " ".into());
        let (out, err, exit) = bench.run(|cx| add(&args, cx));
        assert_eq!((out.as_str(), exit.unwrap()), ("", Exit::Usage));
        for start in
            ["--from: `arbitrum` is a name", "--to: `moon[2J`", "--quote-id: it is empty", "--estimate: `soon`"]
        {
            assert!(err.lines().any(|line| line.starts_with(start)), "{start}: {err}");
        }
        assert!(err.contains("--submitted-at: `yesterday` is not a time") && !err.contains('\u{1b}'), "{err}");
        assert!(bench.transactions().is_empty());
    }

    #[test]
    fn an_estimate_beyond_belief_is_clamped_with_a_warning() {
        let mut bench = Bench::new();
        let (_, err, exit) = bench.run(|cx| add(&args(&["--estimate", "1e12"]), cx));
        assert!(err.starts_with("warning: estimatedRouteDuration of 1e12 s is not believed"), "{err}");
        assert_eq!(exit.unwrap(), Exit::Fine);
    }

    #[test]
    fn the_required_four_are_the_parser_s_business() {
        assert!(Line::try_parse_from(["add", "0xabcdef12", "--from", "1", "--to", "10"]).is_err());
    }
}
