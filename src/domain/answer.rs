//! The reply for a ticket: verdict, text for the user, what was seen and when, links (`DESIGN.md`, Alerts).
//!
//! The text is a template, built in or from the config; its values come from one table, `FIELDS`. A line whose values
//! are all empty is left out. Text from outside must never act as markup: in Markdown every value is escaped.

use chrono::{DateTime, FixedOffset, Utc};
use serde::Deserialize;

use super::{advice, ids::TxHash, route, span, transaction::Transaction};

/// The format of the reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReplyFormat {
    /// Markdown, for ticket systems.
    #[default]
    Markdown,
    /// Plain text.
    Text,
}

impl ReplyFormat {
    /// Returns the template that is used unless the config has another.
    fn default_template(self) -> &'static str {
        match self {
            Self::Markdown => {
                "**{verdict}**\n\n{say}\n\n\
                 - Transaction: {hash}\n- Route: {route}\n- Status: {status}\n- Service says: {message}\n\
                 - Error: {error}\n- Last attempt: {last_try}\n- Submitted: {submitted}\n- Contact support after: {deadline}\n\
                 - Refund goes to: {refund_to}\n- Source: {source_link}\n- Destination: {destination_link}\n\
                 - Bridge: {bridge_link}\n- As of: {as_of}\n"
            }
            Self::Text => {
                "{verdict}\n\n{say}\n\n\
                 Transaction   {hash}\nRoute         {route}\nStatus        {status}\nService says  {message}\n\
                 Error         {error}\nLast attempt  {last_try}\nSubmitted     {submitted}\nSupport after {deadline}\nRefund to     {refund_to}\n\
                 Source        {source_link}\nDestination   {destination_link}\nBridge        {bridge_link}\n\
                 As of         {as_of}\n"
            }
        }
    }
}

/// The template of the packet that the provider's support needs, with the service's own field names.
const PACKET: &str = "\
    transactionId  {hash}\nfromChainId    {from_chain}\ntoChainId      {to_chain}\nquoteId        {quote_id}\n\
    requestId      {request_id}\n\nRoute          {route}\nStatus         {status}\nService says   {message}\n\
    Error          {error}\nLast attempt   {last_try}\nSubmitted      {submitted}\nDestination tx {destination_hash}\n\
    Source         {source_link}\nDestination    {destination_link}\nBridge         {bridge_link}\n\
    As of          {as_of}\n";

/// How a value is written in Markdown.
#[derive(Clone, Copy)]
enum Style {
    /// As text without any markup, not even links.
    Words,
    /// As text in which only the bridge link is a link.
    Say,
    /// As code.
    Code,
    /// As a checked link.
    Link,
}

/// The inputs of a reply.
struct ReplyInputs<'a> {
    tx: &'a Transaction,
    now: DateTime<Utc>,
    zone: FixedOffset,
}

type FieldReader = fn(&ReplyInputs<'_>) -> String;

/// THE table: the names that a template may use, and their values; a value is empty if there is nothing to say.
const FIELDS: &[(&str, Style, FieldReader)] = &[
    ("verdict", Style::Words, |facts| facts.advice().verdict),
    ("say", Style::Say, |facts| facts.advice().say.unwrap_or_default()),
    ("do", Style::Words, |facts| facts.advice().act),
    ("hash", Style::Code, |facts| facts.tx.params.transaction_id.to_string()),
    ("route", Style::Words, |facts| format!("{} to {}", facts.tx.from_name(), facts.tx.to_name())),
    ("from", Style::Words, |facts| facts.tx.from_name()),
    ("to", Style::Words, |facts| facts.tx.to_name()),
    ("from_chain", Style::Code, |facts| facts.tx.params.from_chain.to_string()),
    ("to_chain", Style::Code, |facts| facts.tx.params.to_chain.to_string()),
    ("quote_id", Style::Code, |facts| facts.tx.params.quote_id.clone()),
    ("request_id", Style::Code, |facts| facts.tx.request_id().unwrap_or_default().to_owned()),
    ("ticket", Style::Words, |facts| facts.tx.params.ticket.clone().unwrap_or_default()),
    ("status", Style::Words, |facts| facts.status()),
    ("message", Style::Words, |facts| facts.tx.state.message.clone().unwrap_or_default()),
    ("error", Style::Words, |facts| facts.record_text(|record| record.error.clone())),
    ("last_try", Style::Words, |facts| facts.tx.state.last_error.clone().unwrap_or_default()),
    ("submitted", Style::Words, |facts| facts.submitted()),
    ("deadline", Style::Words, |facts| facts.deadline()),
    ("refund_to", Style::Code, |facts| facts.refund_to()),
    ("source_hash", Style::Code, |facts| hash_text(route::ends(facts.tx).source.transaction_id)),
    ("source_link", Style::Link, |facts| route::ends(facts.tx).source.url.unwrap_or_default().to_owned()),
    ("destination_hash", Style::Code, |facts| hash_text(route::ends(facts.tx).destination.transaction_id)),
    ("destination_link", Style::Link, |facts| route::ends(facts.tx).destination.url.unwrap_or_default().to_owned()),
    ("bridge_link", Style::Link, |facts| facts.record_text(|record| record.bridge_url.clone())),
    ("as_of", Style::Words, |facts| facts.as_of()),
    ("age", Style::Words, |facts| facts.age()),
];

fn hash_text(hash: Option<&TxHash>) -> String {
    hash.map(ToString::to_string).unwrap_or_default()
}

impl ReplyInputs<'_> {
    fn advice(&self) -> advice::Advice {
        advice::advise(self.tx, self.now, self.zone)
    }

    fn stamp(&self, at: DateTime<Utc>) -> String {
        span::stamp(at, self.zone)
    }

    fn record_text(&self, text: fn(&super::record::StatusRecord) -> Option<String>) -> String {
        self.tx.state.record.as_ref().and_then(text).unwrap_or_default()
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
        if deadline.from_first_seen { format!("unknown; first seen {at}") } else { at }
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
pub struct Templates {
    /// The template for Markdown.
    pub markdown: Option<Template>,
    /// The template for plain text.
    pub text: Option<Template>,
}

/// A checked template: the pieces of each line.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Template(Vec<Vec<TemplatePiece>>);

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
    Unknown {
        /// The name.
        name: String,
    },
    /// An opening brace without a closing brace.
    #[error("a `{{` has no matching `}}` on its line; write `{{{{` for a literal `{{`")]
    Open,
}

fn field_names() -> String {
    FIELDS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(text: String) -> Result<Self, TemplateError> {
        Self::parse(&text)
    }
}

impl Template {
    /// Parses a template: text with `{names}` of the table; `{{` stands for a brace.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        text.lines().map(parse_line).collect::<Result<_, _>>().map(Self)
    }

    fn fill(&self, facts: &ReplyInputs<'_>, format: ReplyFormat) -> String {
        let mut reply = String::new();
        for pieces in &self.0 {
            let written: Vec<_> = pieces.iter().map(|piece| piece.write(facts, format)).collect();
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
    fn write(&self, facts: &ReplyInputs<'_>, format: ReplyFormat) -> String {
        let index = match self {
            Self::Text(text) => return text.clone(),
            Self::Field(index) => index,
        };
        let Some((_, style, value)) = FIELDS.get(*index) else { return String::new() };
        let value = value(facts);
        match (format, style) {
            (ReplyFormat::Text, _) => value,
            (ReplyFormat::Markdown, _) if value.is_empty() => value,
            (ReplyFormat::Markdown, Style::Words) => words(&value),
            (ReplyFormat::Markdown, Style::Say) => {
                let link = advice::bridge_link(facts.tx).filter(|link| value.contains(link));
                let Some((before, after)) = link.and_then(|link| value.split_once(link)) else { return words(&value) };
                format!("{}<{}>{}", words(before), link.unwrap_or_default(), words(after))
            }
            (ReplyFormat::Markdown, Style::Code) if value.contains('`') => words(&value),
            (ReplyFormat::Markdown, Style::Code) => format!("`{value}`"),
            (ReplyFormat::Markdown, Style::Link) => format!("<{value}>"),
        }
    }
}

fn is_www(before: &str) -> bool {
    before.get(before.len().saturating_sub(3)..).is_some_and(|end| end.eq_ignore_ascii_case("www"))
}

/// Escapes text for Markdown, so that it contains no emphasis, HTML, mention or link, and no list, heading or rule at
/// the start of a line.
pub(crate) fn words(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let starts_a_list = text.split_once(['.', ')']).is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    for (index, letter) in text.char_indices() {
        let rest = text.get(index..).unwrap_or_default();
        let is_markup = match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '#' | '@' | '!' => true,
            '-' | '+' | '=' => index == 0,
            ':' => rest.starts_with("://"),
            '.' | ')' => {
                (starts_a_list && text.find(['.', ')']) == Some(index)) || is_www(text.get(..index).unwrap_or_default())
            }
            _ => false,
        };
        if is_markup {
            written.push('\\');
        }
        written.push(letter);
    }
    written
}

/// Returns the reply about a transaction at `now`, with times in `zone`. `custom` holds the user's templates.
pub(crate) fn answer(
    tx: &Transaction,
    now: DateTime<Utc>,
    zone: FixedOffset,
    format: ReplyFormat,
    custom: &Templates,
) -> String {
    let facts = ReplyInputs { tx, now, zone };
    let custom = match format {
        ReplyFormat::Markdown => custom.markdown.as_ref(),
        ReplyFormat::Text => custom.text.as_ref(),
    };
    match custom {
        Some(custom) => custom.fill(&facts, format),
        // A test checks that the default templates can be parsed.
        None => Template::parse(format.default_template())
            .map(|default_template| default_template.fill(&facts, format))
            .unwrap_or_default(),
    }
}

/// Returns the packet for the provider's support, with times in `zone`: the identifiers, what was seen and when, the
/// links.
pub(crate) fn packet(tx: &Transaction, now: DateTime<Utc>, zone: FixedOffset) -> String {
    let facts = ReplyInputs { tx, now, zone };
    // A test checks that the packet can be parsed.
    Template::parse(PACKET).map(|packet| packet.fill(&facts, ReplyFormat::Text)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use chrono::{Offset, TimeDelta};

    use super::*;
    use crate::domain::{
        fixtures,
        ids::ChainId,
        observation::{Failure, Observation, Outcome},
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
        answer(&tx, now + minutes(2), Utc.fix(), format, &Templates::default())
    }

    fn plain_reply(minute: i64, outcome: Outcome) -> String {
        reply(vec![(minute, fixtures::answer(outcome))], |_| {}, ReplyFormat::Text)
    }

    fn record(status: RouterStatus) -> Outcome {
        Outcome::Record(Box::new(StatusRecord::bare(status)))
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
            (plain_reply(1, record(Ongoing)), "WAITING, 12m left", "Nothing is wrong and nothing is to be done."),
            (
                plain_reply(20, record(Ongoing)),
                "OVERDUE by 7m",
                "Still in progress, past its usual time; we are raising it with the provider.",
            ),
            (
                plain_reply(14, record(Ongoing)),
                "DEADLINE PASSED",
                "Your transfer was still in progress when we last checked.",
            ),
            (
                plain_reply(1, record(NeedsGas)),
                "NEEDS GAS for 2m",
                "The gas price rose on Base and execution is paused.",
            ),
            (plain_reply(1, record(PartialSuccess)), "PARTIAL", "You hold the bridged token on Base."),
            (plain_reply(1, record(Refund)), "REFUND in progress", "to the order's fromAddress, in about 10 minutes."),
            (plain_reply(0, Outcome::NotFound(None)), "INDEXING", "Not visible yet; usually 5 to 10 s,"),
            (
                plain_reply(4, Outcome::NotFound(None)),
                "NOT FOUND for 6m",
                "Please confirm the hash and the source chain.",
            ),
            (plain_reply(1, record(Unknown("settling".into()))), "UNKNOWN STATUS `settling`", "Status        settling"),
            (
                plain_reply(1, Outcome::Failed(Failure::Rejected("no".into()))),
                "REJECTED by the service",
                "Last attempt  the service rejected the request: no",
            ),
            (
                plain_reply(1, Outcome::NotFound(Some("Transaction not filled".into()))),
                "NOT FILLED yet",
                "The service reports that your transfer is not filled yet.",
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
        let text = reply(vec![(1, fixtures::answer(Outcome::Record(Box::new(full))))], change, ReplyFormat::Text);
        let expected = "REFUND in progress for 2m

The route failed; funds return automatically on Arbitrum to the order's fromAddress, in about 10 minutes.

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

    #[test]
    fn the_packet_contains_what_support_asks_for() {
        let mut full = StatusRecord::bare(RouterStatus::Ongoing);
        full.from.url = Some("https://arb.example/tx/0x1".into());
        full.bridge_url = Some("https://bridge.example/0x1".into());
        let mut tx = fixtures::transaction(1);
        tx.params.request_id = Some("9c1e-77".into());
        let now = tx.first_seen_at + minutes(40);
        tx.apply(&fixtures::answer(Outcome::Record(Box::new(full))), now);
        let expected = "transactionId  0x0000000000000000000000000000000000000000000000000000000000000001
fromChainId    42161
toChainId      8453
quoteId        quote-1
requestId      9c1e-77

Route          Arbitrum to Base
Status         ongoing, first seen 1970-01-01 00:40:00 UTC
Submitted      unknown; first seen 1970-01-01 00:00:00 UTC
Source         https://arb.example/tx/0x1
Bridge         https://bridge.example/0x1
As of          1970-01-01 00:40:00 UTC";
        assert_eq!(packet(&tx, now, Utc.fix()), expected);
    }

    #[test]
    fn text_from_outside_is_escaped_in_markdown() {
        let hostile_text = "[click](javascript:1) <img src=x> `a` **b** @all #1 | https://x.example/a_b www.y.example";
        let mut hostile = StatusRecord::bare(RouterStatus::NeedsGas);
        hostile.bridge_url = Some("https://bridge.example/a_b?c=*".into());
        hostile.error = Some(hostile_text.into());
        let change = |tx: &mut Transaction| tx.params.to_chain = ChainId::new("*x*");
        let text =
            reply(vec![(1, fixtures::answer(Outcome::Record(Box::new(hostile))))], change, ReplyFormat::Markdown);
        for part in [
            "**NEEDS GAS for 2m**",
            "The gas price rose on \\*x\\* and execution is paused. See it here: <https://bridge.example/a_b?c=*>",
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
            assert_eq!(words(value), written);
        }
        assert_eq!(words("a - b (1) v2.0"), "a - b (1) v2.0");
    }

    #[test]
    fn a_custom_template_is_checked_and_filled() {
        let template = Template::parse("{ticket}\nSee {{this}: {from_chain}>{to_chain}\n{message}\n\n\nend").unwrap();
        let tx = fixtures::transaction(1);
        let custom = Templates { markdown: Some(template), text: None };
        let text = answer(&tx, tx.first_seen_at, Utc.fix(), ReplyFormat::Markdown, &custom);
        assert_eq!(text, "See {this}: `42161`>`8453`\n\nend");
        let error = Template::parse("a {verdct}").unwrap_err().to_string();
        assert!(error.starts_with("`{verdct}` is not a known name; known names are verdict, say, do, hash"), "{error}");
        assert_eq!(Template::parse("{say"), Err(TemplateError::Open));
        assert_eq!(Template::parse("{hash: {say}"), Err(TemplateError::Open));
    }

    #[test]
    fn the_default_templates_use_known_names_only() {
        for format in [ReplyFormat::Markdown, ReplyFormat::Text] {
            assert!(Template::parse(format.default_template()).is_ok());
        }
    }
}
