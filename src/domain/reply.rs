//! The texts about transactions for three readers: the customer, the provider's support, the own team (`DESIGN.md`,
//! Alerts).
//!
//! Each text is a template, built in or from the config; its values come from one table, `FIELDS`. A line whose values
//! are all empty is left out. Text from outside must never act as markup: in Markdown every value is escaped.

use chrono::{DateTime, FixedOffset, Utc};
use serde::Deserialize;

use super::{advice, ids::TxHash, link, route, span, transaction::Transaction};

/// The reader of a text about transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// The customer who asked: whole sentences in plain text, without internal terms.
    Customer,
    /// The provider's support: the identifiers, the observations with times, and the links, in plain text.
    Provider,
    /// The own team: verdict, text for the user, observations with times, links.
    Team(ReplyFormat),
}

/// The format of the reply for the team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyFormat {
    /// Markdown, for ticket systems.
    Markdown,
    /// Plain text.
    Text,
}

/// The template of the team's text in Markdown.
const MARKDOWN: &str = "\
    **{verdict}**\n\n{say}\n\n\
    - Transaction: {hash}\n- Route: {route}\n- Status: {status}\n- Service says: {message}\n- Chain says: {chain}\n\
    - Error: {error}\n- Last attempt: {last_try}\n- Submitted: {submitted}\n- Contact support after: {deadline}\n\
    - Refund goes to: {refund_to}\n- Source: {source_link}\n- Destination: {destination_link}\n\
    - Bridge: {bridge_link}\n- As of: {as_of}\n";

/// The template of the team's text in plain text.
const TEXT: &str = "\
    {verdict}\n\n{say}\n\n\
    Transaction   {hash}\nRoute         {route}\nStatus        {status}\nService says  {message}\n\
    Chain says    {chain}\n\
    Error         {error}\nLast attempt  {last_try}\nSubmitted     {submitted}\nSupport after {deadline}\nRefund to     {refund_to}\n\
    Source        {source_link}\nDestination   {destination_link}\nBridge        {bridge_link}\n\
    As of         {as_of}\n";

/// The template of the customer's text about one transaction, without the salutation. Times are in minutes; a moment
/// that isn't known is left out.
const CUSTOMER: &str = "\
    {say}\n\nTransfer: {from} to {to}\nTransaction: {hash}\nSubmitted: {submitted}\nOn the source chain: {source_link}\n\
    On the destination chain: {destination_link}\nOn the bridge: {bridge_link}\nLast checked: {as_of}\n";

/// The template of the packet that the provider's support needs, with the service's own field names.
const PACKET: &str = "\
    transactionId  {hash}\nfromChainId    {from_chain}\ntoChainId      {to_chain}\nquoteId        {quote_id}\n\
    requestId      {request_id}\nx-request-id   {response_id}\n\nRoute          {route}\nStatus         {status}\nService says   {message}\n\
    Chain says     {chain}\n\
    Error          {error}\nLast attempt   {last_try}\nSubmitted      {submitted}\nDestination tx {destination_hash}\n\
    Source         {source_link}\nDestination    {destination_link}\nBridge         {bridge_link}\n\
    As of          {as_of}\n";

/// How a value is written in Markdown.
#[derive(Clone, Copy)]
enum ValueStyle {
    /// As text without any markup, not even links.
    Words,
    /// As text in which only the bridge link is a link.
    Say,
    /// As code, which is copied unchanged.
    Code,
    /// As a checked link.
    Link,
}

struct ReplyInputs<'a> {
    tx: &'a Transaction,
    now: DateTime<Utc>,
    zone: FixedOffset,
    audience: Audience,
}

type FieldReader = fn(&ReplyInputs<'_>) -> String;

/// The only table of the names that a template may use, and of their values. A value is empty if there is nothing to
/// say.
const FIELDS: &[(&str, ValueStyle, FieldReader)] = &[
    ("verdict", ValueStyle::Words, |inputs| inputs.advice().verdict),
    ("say", ValueStyle::Say, |inputs| inputs.advice().say),
    ("do", ValueStyle::Words, |inputs| inputs.advice().act),
    ("hash", ValueStyle::Code, |inputs| inputs.tx.params.transaction_id.to_string()),
    ("route", ValueStyle::Words, |inputs| format!("{} to {}", inputs.tx.from_name(), inputs.tx.to_name())),
    ("from", ValueStyle::Words, |inputs| inputs.tx.from_name()),
    ("to", ValueStyle::Words, |inputs| inputs.tx.to_name()),
    ("from_chain", ValueStyle::Code, |inputs| inputs.tx.params.from_chain.to_string()),
    ("to_chain", ValueStyle::Code, |inputs| inputs.tx.params.to_chain.to_string()),
    ("quote_id", ValueStyle::Code, |inputs| inputs.tx.params.quote_id.clone()),
    ("request_id", ValueStyle::Code, |inputs| inputs.tx.request_id().unwrap_or_default().to_owned()),
    ("response_id", ValueStyle::Code, |inputs| inputs.tx.response_ids.last().cloned().unwrap_or_default()),
    ("ticket", ValueStyle::Words, |inputs| inputs.tx.params.ticket.clone().unwrap_or_default()),
    ("status", ValueStyle::Words, |inputs| inputs.status()),
    ("message", ValueStyle::Words, |inputs| inputs.tx.state.message.clone().unwrap_or_default()),
    ("error", ValueStyle::Words, |inputs| {
        inputs.tx.record.as_ref().and_then(|record| record.error.clone()).unwrap_or_default()
    }),
    ("last_try", ValueStyle::Words, |inputs| inputs.tx.state.last_error.clone().unwrap_or_default()),
    ("submitted", ValueStyle::Words, |inputs| inputs.submitted()),
    ("deadline", ValueStyle::Words, |inputs| inputs.deadline()),
    ("refund_to", ValueStyle::Code, |inputs| inputs.refund_to()),
    ("source_hash", ValueStyle::Code, |inputs| hash_text(route::ends(inputs.tx).source.transaction_id)),
    ("source_link", ValueStyle::Link, |inputs| inputs.link(route::ends(inputs.tx).source.url)),
    ("destination_hash", ValueStyle::Code, |inputs| hash_text(route::ends(inputs.tx).destination.transaction_id)),
    ("destination_link", ValueStyle::Link, |inputs| inputs.link(route::ends(inputs.tx).destination.url)),
    ("bridge_link", ValueStyle::Link, |inputs| inputs.link(advice::bridge_link(inputs.tx))),
    ("as_of", ValueStyle::Words, |inputs| inputs.as_of()),
    ("age", ValueStyle::Words, |inputs| inputs.age()),
    ("chain", ValueStyle::Words, |inputs| inputs.advice().chain.unwrap_or_default()),
];

fn hash_text(hash: Option<&TxHash>) -> String {
    hash.map(ToString::to_string).unwrap_or_default()
}

impl ReplyInputs<'_> {
    fn advice(&self) -> advice::Advice {
        advice::advise_with(self.tx, self.now, &|at| self.stamp(at))
    }

    /// Writes a moment. All moments of a text are written alike, so that they agree.
    fn stamp(&self, at: DateTime<Utc>) -> String {
        match self.audience {
            Audience::Customer => span::date_and_minute(at, self.zone),
            Audience::Provider | Audience::Team(_) => span::stamp(at, self.zone),
        }
    }

    /// Returns a link of the service. The customer gets only links that may be opened, each once.
    fn link(&self, link: Option<&str>) -> String {
        let is_for_reader = |link: &&str| match self.audience {
            Audience::Customer => link::check(link).is_ok() && !self.advice().say.contains(link),
            Audience::Provider | Audience::Team(_) => true,
        };
        link.filter(is_for_reader).unwrap_or_default().to_owned()
    }

    fn status(&self) -> String {
        let state = &self.tx.state;
        let Some(status) = &state.status else { return String::new() };
        let since = state.status_since.map_or_else(String::new, |at| format!(", first seen {}", self.stamp(at)));
        format!("{status}{since}")
    }

    fn submitted(&self) -> String {
        let deadline = self.tx.deadline();
        let at = self.stamp(deadline.submitted);
        match (deadline.is_from_first_seen, self.audience) {
            (false, Audience::Provider | Audience::Team(_)) if self.tx.is_submission_from_chain() => {
                format!("{at} (the block's time)")
            }
            (false, _) => at,
            (true, Audience::Customer) => String::new(),
            (true, Audience::Provider | Audience::Team(_)) => format!("unknown; first seen {at}"),
        }
    }

    /// Returns the deadline while the transaction waits for it; else nothing.
    fn deadline(&self) -> String {
        let deadline = self.tx.deadline();
        if !self.tx.is_awaited() {
            return String::new();
        }
        format!("{} ({})", self.stamp(deadline.at), deadline.basis())
    }

    fn refund_to(&self) -> String {
        let refunds = self.tx.state.status == Some(super::status::RouterStatus::Refund);
        self.tx.params.from_address.clone().filter(|_| refunds).unwrap_or_default()
    }

    fn as_of(&self) -> String {
        match (self.tx.state.last_checked_at, &self.tx.state.last_error) {
            (Some(at), _) => self.stamp(at),
            (None, _) if self.audience == Audience::Customer => String::new(),
            (None, Some(_)) => "no status received yet".into(),
            (None, None) => "not checked yet".into(),
        }
    }

    /// Returns the age of the last answer.
    fn age(&self) -> String {
        let age = |at| span::long(span::between(at, self.now));
        self.tx.state.last_checked_at.map(age).unwrap_or_default()
    }
}

/// The user's templates, under `[answer]` in the config.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyTemplates {
    pub markdown: Option<ReplyTemplate>,
    pub text: Option<ReplyTemplate>,
    /// The template for the customer, as plain text.
    pub customer: Option<ReplyTemplate>,
}

/// A checked template: the pieces of each line.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ReplyTemplate(Vec<Vec<TemplatePiece>>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    /// An index into [`FIELDS`].
    Field(usize),
}

/// Why a text is not a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A name that isn't in the table.
    #[error("`{{{name}}}` is not a known name; known names are {}", field_names())]
    Unknown { name: String },
    /// An opening brace without a closing brace.
    #[error("a `{{` has no matching `}}` on its line; write `{{{{` for a literal `{{`")]
    Open,
}

fn field_names() -> String {
    FIELDS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
}

impl TryFrom<String> for ReplyTemplate {
    type Error = TemplateError;

    fn try_from(text: String) -> Result<Self, TemplateError> {
        Self::parse(&text)
    }
}

impl ReplyTemplate {
    /// Parses a template: text with `{names}` of the table; `{{` stands for a brace.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        text.lines().map(parse_line).collect::<Result<_, _>>().map(Self)
    }

    fn fill(&self, inputs: &ReplyInputs<'_>, format: ReplyFormat) -> String {
        let mut reply = String::new();
        for pieces in &self.0 {
            let written: Vec<_> = pieces.iter().map(|piece| piece.write(inputs, format)).collect();
            let is_field = |piece: &&TemplatePiece| matches!(piece, TemplatePiece::Field(_));
            let fields = pieces.iter().filter(is_field).count();
            let empty = pieces.iter().zip(&written).filter(|(piece, text)| is_field(piece) && text.is_empty()).count();
            let line = written.concat();
            // A line that was left out must not leave two empty lines in a row.
            let gap = line.trim().is_empty() && (reply.is_empty() || reply.ends_with("\n\n"));
            if !(gap || (fields > 0 && fields == empty)) {
                reply.push_str(line.trim_end());
                reply.push('\n');
            }
        }
        reply.truncate(reply.trim_end().len());
        reply
    }
}

fn parse_line(text: &str) -> Result<Vec<TemplatePiece>, TemplateError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        pieces.push(TemplatePiece::Text(before.to_owned()));
        if let Some(after) = after.strip_prefix('{') {
            pieces.push(TemplatePiece::Text("{".to_owned()));
            rest = after;
            continue;
        }
        let (name, after) = after.split_once('}').ok_or(TemplateError::Open)?;
        if name.contains('{') {
            return Err(TemplateError::Open);
        }
        let known = FIELDS.iter().position(|(field, ..)| *field == name.trim());
        pieces.push(TemplatePiece::Field(
            known.ok_or_else(|| TemplateError::Unknown { name: super::text::clean(name) })?,
        ));
        rest = after;
    }
    pieces.push(TemplatePiece::Text(rest.to_owned()));
    Ok(pieces)
}

impl TemplatePiece {
    fn write(&self, inputs: &ReplyInputs<'_>, format: ReplyFormat) -> String {
        let index = match self {
            Self::Text(text) => return text.clone(),
            Self::Field(index) => index,
        };
        let Some((_, style, value)) = FIELDS.get(*index) else { return String::new() };
        let value = value(inputs);
        match (format, style) {
            (ReplyFormat::Text, _) => value,
            (ReplyFormat::Markdown, _) if value.is_empty() => value,
            (ReplyFormat::Markdown, ValueStyle::Words) => escape_markdown(&value),
            (ReplyFormat::Markdown, ValueStyle::Say) => {
                let link = advice::bridge_link(inputs.tx).filter(|link| value.contains(link));
                let Some((before, after)) = link.and_then(|link| value.split_once(link)) else {
                    return escape_markdown(&value);
                };
                format!("{}<{}>{}", escape_markdown(before), link.unwrap_or_default(), escape_markdown(after))
            }
            (ReplyFormat::Markdown, ValueStyle::Code) if value.contains('`') => escape_markdown(&value),
            (ReplyFormat::Markdown, ValueStyle::Code) => format!("`{value}`"),
            (ReplyFormat::Markdown, ValueStyle::Link) => format!("<{value}>"),
        }
    }
}

/// Whether the text ends with `www`: Markdown makes a link of `www.` and what follows.
fn is_www(before: &str) -> bool {
    before.get(before.len().saturating_sub(3)..).is_some_and(|end| end.eq_ignore_ascii_case("www"))
}

/// Escapes text for Markdown: the result has no emphasis, HTML, mention or link, and no list, heading or rule at a
/// line's start.
pub(crate) fn escape_markdown(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let is_after_number = |end: &usize| text.get(..*end).is_some_and(|number| number.parse::<u32>().is_ok());
    let list_mark = text.find(['.', ')']).filter(is_after_number);
    for (index, letter) in text.char_indices() {
        let rest = text.get(index..).unwrap_or_default();
        let is_markup = match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '#' | '@' | '!' => true,
            '-' | '+' | '=' => index == 0,
            ':' => rest.starts_with("://"),
            '.' | ')' => list_mark == Some(index) || is_www(text.get(..index).unwrap_or_default()),
            _ => false,
        };
        if is_markup {
            written.push('\\');
        }
        written.push(letter);
    }
    written
}

/// Returns the text about these transactions for a reader at `now`, with times in `zone`. `custom` holds the user's
/// templates.
pub(crate) fn write_reply(
    transactions: &[&Transaction],
    audience: Audience,
    now: DateTime<Utc>,
    zone: FixedOffset,
    custom: &ReplyTemplates,
) -> String {
    let (own, default_template, format) = match audience {
        Audience::Customer => (custom.customer.as_ref(), CUSTOMER, ReplyFormat::Text),
        Audience::Provider => (None, PACKET, ReplyFormat::Text),
        Audience::Team(ReplyFormat::Markdown) => (custom.markdown.as_ref(), MARKDOWN, ReplyFormat::Markdown),
        Audience::Team(ReplyFormat::Text) => (custom.text.as_ref(), TEXT, ReplyFormat::Text),
    };
    // A test checks that the default templates can be parsed.
    let default_template = ReplyTemplate::parse(default_template).ok();
    let template = own.or(default_template.as_ref());
    let fill = |tx: &&Transaction| {
        let inputs = ReplyInputs { tx, now, zone, audience };
        template.map(|template| template.fill(&inputs, format)).unwrap_or_default()
    };
    let texts = transactions.iter().map(fill).collect::<Vec<_>>().join("\n\n");
    match (audience, own, transactions.len()) {
        (Audience::Customer, None, ..=1) => format!("Hello,\n\n{texts}"),
        (Audience::Customer, None, count) => {
            format!("Hello,\n\nThis is the status of your {count} transfers.\n\n{texts}")
        }
        (Audience::Customer, Some(_), _) | (Audience::Provider | Audience::Team(_), ..) => texts,
    }
}

#[cfg(test)]
mod tests {
    use chrono::{Offset, TimeDelta};

    use super::*;
    use crate::domain::{
        fixtures,
        ids::ChainId,
        observation::{Observation, RequestFailure, StatusOutcome},
        record::StatusRecord,
        status::RouterStatus,
    };

    fn minutes(count: i64) -> TimeDelta {
        TimeDelta::minutes(count)
    }

    /// Returns the reply two minutes after the last of these answers. Answers come at minutes after the transaction was
    /// first seen.
    fn reply(answers: Vec<(i64, Observation)>, change: impl FnOnce(&mut Transaction), format: ReplyFormat) -> String {
        let mut tx = fixtures::transaction(1);
        change(&mut tx);
        let mut now = tx.first_seen_at;
        for (minute, observation) in answers {
            now = tx.first_seen_at + minutes(minute);
            tx.apply(&observation, now);
        }
        write_reply(&[&tx], Audience::Team(format), now + minutes(2), Utc.fix(), &ReplyTemplates::default())
    }

    fn plain_reply(minute: i64, outcome: StatusOutcome) -> String {
        reply(vec![(minute, fixtures::answer(outcome))], |_| {}, ReplyFormat::Text)
    }

    fn record(status: RouterStatus) -> StatusOutcome {
        StatusOutcome::Record(Box::new(StatusRecord::bare(status)))
    }

    #[test]
    fn each_situation_has_its_reply() {
        use RouterStatus::*;
        let table = [
            (
                plain_reply(1, record(Success)),
                "COMPLETED 1m after we first saw it",
                "Your transfer is complete: the funds are on Base.",
            ),
            (plain_reply(1, record(Ongoing)), "WAITING, 12m left", "Nothing is wrong: your transfer is in progress"),
            (
                plain_reply(20, record(Ongoing)),
                "OVERDUE by 7m",
                "has taken longer than usual. We are raising it with the provider.",
            ),
            (
                plain_reply(14, record(Ongoing)),
                "DEADLINE PASSED",
                "Your transfer was still in progress when we last checked.",
            ),
            (
                plain_reply(1, record(NeedsGas)),
                "NEEDS GAS, first seen 2m ago",
                "is paused because the network fee (the gas price) rose on Base.",
            ),
            (plain_reply(1, record(PartialSuccess)), "PARTIAL", "You hold the bridged token on Base."),
            (
                plain_reply(1, record(Refund)),
                "REFUND in progress",
                "for the transfer. That usually takes about 10 minutes.",
            ),
            (
                plain_reply(0, StatusOutcome::NotFound(None)),
                "INDEXING",
                "not visible yet. This usually takes 5 to 10 seconds,",
            ),
            (
                plain_reply(4, StatusOutcome::NotFound(None)),
                "NOT FOUND for 6m",
                "Please confirm the transaction hash and that it was sent on Arbitrum.",
            ),
            (plain_reply(1, record(Unknown("settling".into()))), "UNKNOWN STATUS `settling`", "Status        settling"),
            (
                plain_reply(1, StatusOutcome::Failed(RequestFailure::Rejected("no".into()))),
                "REJECTED by the service",
                "Last attempt  the service rejected the request: no",
            ),
            (
                plain_reply(1, StatusOutcome::NotFound(Some("Transaction not filled".into()))),
                "NOT FILLED yet",
                "Your transfer has not been completed on Base yet.",
            ),
        ];
        for (text, verdict, rest) in table {
            assert!(text.starts_with(verdict) && text.contains(rest), "{verdict}\n{text}");
            assert!(!text.contains('{') && !text.contains("\n\n\n") && text.contains("\nAs of"), "{text}");
        }
    }

    #[test]
    fn a_plain_text_reply_is_complete() {
        let mut full = StatusRecord::bare(RouterStatus::Refund);
        full.from.url = Some("https://arb.example/tx/0x1".into());
        full.error = Some("no solver".into());
        let change = |tx: &mut Transaction| {
            tx.params.from_address = Some("0xabc".into());
            tx.params.submitted_at = Some(tx.first_seen_at - minutes(3));
        };
        let text = reply(vec![(1, fixtures::answer(StatusOutcome::Record(Box::new(full))))], change, ReplyFormat::Text);
        let expected = "REFUND in progress, first seen 2m ago

Your transfer failed. The funds return automatically on Arbitrum to the sender address that was given for the transfer. That usually takes about 10 minutes.

Transaction   0x0000000000000000000000000000000000000000000000000000000000000001
Route         Arbitrum to Base
Status        refund, first seen 1970-01-01 00:01:00 UTC
Error         no solver
Submitted     1969-12-31 23:57:00 UTC
Refund to     0xabc
Source        https://arb.example/tx/0x1
As of         1970-01-01 00:01:00 UTC";
        assert_eq!(text, expected);
    }

    fn for_customer(transactions: &[&Transaction], now: DateTime<Utc>) -> String {
        write_reply(transactions, Audience::Customer, now, Utc.fix(), &ReplyTemplates::default())
    }

    #[test]
    fn the_customer_gets_whole_sentences_without_internals() {
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        record.from.url = Some("http://127.0.0.1:8080/tx/0x1".into());
        record.bridge_url = Some("javascript:alert(1)".into());
        record.error = Some("GMP failed".into());
        let mut tx = fixtures::transaction(1);
        tx.params.submitted_at = Some(tx.first_seen_at - minutes(3));
        let now = tx.first_seen_at + minutes(1);
        tx.apply(&fixtures::answer(StatusOutcome::Record(Box::new(record))), now);
        let expected = "Hello,

Nothing is wrong: your transfer is in progress, and you do not need to do anything. Please check again after \
1 January 1970, 00:12 UTC.

Transfer: Arbitrum to Base
Transaction: 0x0000000000000000000000000000000000000000000000000000000000000001
Submitted: 31 December 1969, 23:57 UTC
On the source chain: http://127.0.0.1:8080/tx/0x1
Last checked: 1 January 1970, 00:01 UTC";
        assert_eq!(for_customer(&[&tx], now + minutes(1)), expected);
    }

    #[test]
    fn several_transfers_share_one_text() {
        let (mut one, other) = (fixtures::transaction(1), fixtures::transaction(2));
        one.apply(&fixtures::says(RouterStatus::Success), one.first_seen_at);
        let text = for_customer(&[&one, &other], one.first_seen_at);
        assert!(
            text.starts_with("Hello,\n\nThis is the status of your 2 transfers.\n\nYour transfer is complete"),
            "{text}"
        );
        assert!(text.matches("Hello").count() == 1 && text.contains("\n\nWe do not have the status"), "{text}");
        let custom =
            ReplyTemplates { customer: ReplyTemplate::parse("Dear customer: {say}").ok(), ..ReplyTemplates::default() };
        let own = write_reply(&[&one], Audience::Customer, one.first_seen_at, Utc.fix(), &custom);
        assert_eq!(own, "Dear customer: Your transfer is complete: the funds are on Base.");
    }

    #[test]
    fn times_of_a_text_are_written_alike() {
        let text = plain_reply(1, record(RouterStatus::Ongoing));
        assert_eq!(text.matches("1970-01-01 00:15:00 UTC").count(), 2, "{text}");
        assert!(!text.contains("after 00:15 UTC"), "{text}");
    }

    #[test]
    fn the_packet_contains_what_support_asks_for() {
        let mut full = StatusRecord::bare(RouterStatus::Ongoing);
        full.from.url = Some("https://arb.example/tx/0x1".into());
        full.bridge_url = Some("https://bridge.example/0x1".into());
        let mut tx = fixtures::transaction(1);
        tx.params.request_id = Some("9c1e-77".into());
        let now = tx.first_seen_at + minutes(40);
        tx.apply(&fixtures::answer(StatusOutcome::Record(Box::new(full))), now);
        tx.response_ids = vec!["req-1".into(), "req-2".into()];
        let expected = "transactionId  0x0000000000000000000000000000000000000000000000000000000000000001
fromChainId    42161
toChainId      8453
quoteId        quote-1
requestId      9c1e-77
x-request-id   req-2

Route          Arbitrum to Base
Status         ongoing, first seen 1970-01-01 00:40:00 UTC
Submitted      unknown; first seen 1970-01-01 00:00:00 UTC
Source         https://arb.example/tx/0x1
Bridge         https://bridge.example/0x1
As of          1970-01-01 00:40:00 UTC";
        let packet = write_reply(&[&tx], Audience::Provider, now, Utc.fix(), &ReplyTemplates::default());
        assert_eq!(packet, expected);
    }

    #[test]
    fn text_from_outside_is_escaped_in_markdown() {
        let hostile_text = "[click](javascript:1) <img src=x> `a` **b** @all #1 | https://x.example/a_b www.y.example";
        let mut hostile = StatusRecord::bare(RouterStatus::NeedsGas);
        hostile.bridge_url = Some("https://bridge.example/a_b?c=*".into());
        hostile.error = Some(hostile_text.into());
        let change = |tx: &mut Transaction| tx.params.to_chain = ChainId::new("*x*");
        let text =
            reply(vec![(1, fixtures::answer(StatusOutcome::Record(Box::new(hostile))))], change, ReplyFormat::Markdown);
        for part in [
            "**NEEDS GAS, first seen 2m ago**",
            "rose on \\*x\\*. You can see it here: <https://bridge.example/a_b?c=*>",
            "- Transaction: `0x0000000000000000000000000000000000000000000000000000000000000001`",
            r"- Error: \[click\](javascript:1) \<img src=x\> \`a\` \*\*b\*\* \@all \#1 \| https\://x.example/a\_b www\.y.example",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn a_value_at_the_start_of_a_line_is_not_markup() {
        let table =
            [("- x", r"\- x"), ("1. x", r"1\. x"), ("12) x", r"12\) x"), ("=== x", r"\=== x"), ("1.5 s", r"1\.5 s")];
        for (value, written) in table {
            assert_eq!(escape_markdown(value), written);
        }
        assert_eq!(escape_markdown("a - b (1) v2.0"), "a - b (1) v2.0");
    }

    #[test]
    fn a_custom_template_is_checked_and_filled() {
        let template =
            ReplyTemplate::parse("{ticket}\nSee {{this}: {from_chain}>{to_chain}\n{message}\n\n\nend").unwrap();
        let tx = fixtures::transaction(1);
        let custom = ReplyTemplates { markdown: Some(template), ..ReplyTemplates::default() };
        let audience = Audience::Team(ReplyFormat::Markdown);
        let text = write_reply(&[&tx], audience, tx.first_seen_at, Utc.fix(), &custom);
        assert_eq!(text, "See {this}: `42161`>`8453`\n\nend");
        let error = ReplyTemplate::parse("a {verdct}").unwrap_err().to_string();
        assert!(error.starts_with("`{verdct}` is not a known name; known names are verdict, say, do, hash"), "{error}");
        assert_eq!(ReplyTemplate::parse("{say"), Err(TemplateError::Open));
        assert_eq!(ReplyTemplate::parse("{hash: {say}"), Err(TemplateError::Open));
    }

    #[test]
    fn the_default_templates_use_known_names_only() {
        for template in [MARKDOWN, TEXT, CUSTOMER, PACKET] {
            assert!(ReplyTemplate::parse(template).is_ok());
        }
    }
}
