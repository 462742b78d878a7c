//! Reads what a person pastes into the dashboard: hashes, explorer links, rows, JSON, commands, ticket text.
//!
//! It must never take more than a bounded piece of the clipboard, and never track something that only looks complete.

use std::collections::HashMap;

use crate::domain::{
    chains::{self, ChainError},
    ids::{ChainId, TxHash},
    text::clean,
    transaction::NewTransaction,
};

use super::{
    Event, Options, Place, body, csv,
    fields::{self, Field, Row},
    hashes, json, request,
    source::Source,
};

/// So much of a paste is looked at. It is parsed on every key press, and what is longer is a file for `hoptop import`.
pub const SIZE_LIMIT: usize = 64 * 1024;
/// So many lines of a paste are looked at; each becomes a row of the dialog.
pub const LINE_LIMIT: usize = 500;

/// What was found in a line of a paste.
#[derive(Clone, Debug, PartialEq)]
pub struct Pasted {
    /// The line, counted from 1; in a JSON array the element.
    pub line: usize,
    /// What it was read as.
    pub origin: Origin,
    /// What is in it.
    pub content: Content,
}

/// What a piece of a paste was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A row of CSV, with a header or without.
    Row,
    /// An object of JSON.
    Object,
    /// A body of the status endpoint.
    Record,
    /// The answer to a request for a route.
    Route,
    /// A request to the status endpoint, such as a curl command.
    Request,
    /// A link.
    Link,
    /// Words.
    Text,
}

impl Origin {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Row => "a row of CSV",
            Self::Object => "a JSON object",
            Self::Record => "a status record of the service",
            Self::Route => "a route of the service",
            Self::Request => "a request to the status endpoint",
            Self::Link => "a link",
            Self::Text => "text",
        }
    }
}

/// What is in a piece of a paste.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// All that the service requires.
    Complete(NewTransaction),
    /// A transaction that lacks something.
    Partial {
        /// The hash, if that isn't what it lacks.
        hash: Option<TxHash>,
        /// The required fields without a value that can be used.
        missing: Vec<Field>,
        /// What was given with it; clean. Of a missing field what was written there, of the others what is fine.
        given: Vec<(Field, String)>,
        /// The source chain that the link or the hash's shape speaks for.
        guess: Option<ChainId>,
    },
    /// What another line says already.
    Again {
        /// The hash.
        hash: TxHash,
        /// That line.
        line: usize,
    },
    /// Nothing that can be tracked.
    Nothing {
        /// Why, and the way out.
        reason: String,
        /// What may be a part of a hash that is known.
        part: Option<TxHash>,
    },
}

/// Finds the transactions in a pasted text, in its order.
pub fn paste(text: &str, options: &Options) -> Vec<Pasted> {
    let (text, cut_at) = bounded(text);
    let mut found = document(text, options).unwrap_or_else(|| lines(text, options));
    name_doubles(&mut found);
    if let Some(line) = cut_at {
        let reason = format!(
            "only the first {LINE_LIMIT} lines and {} KiB of a paste are read; import the rest as a file: hoptop import",
            SIZE_LIMIT / 1024
        );
        found.push(Pasted { line, origin: Origin::Text, content: Content::Nothing { reason, part: None } });
    }
    found
}

/// The part of the text that is read, and the line on which it was cut. A line is taken whole or not at all: half a hash
/// is another hash.
fn bounded(text: &str) -> (&str, Option<usize>) {
    let text = text.trim_start_matches('\u{feff}').trim_end();
    let (mut end, mut count) = (0, 0);
    for line in text.split_inclusive('\n') {
        if count == LINE_LIMIT || end + line.len() > SIZE_LIMIT {
            return (text.get(..end).unwrap_or_default(), Some(count + 1));
        }
        (end, count) = (end + line.len(), count + 1);
    }
    (text, None)
}

/// Reads the text as a whole, if it is JSON or has a header row.
fn document(text: &str, options: &Options) -> Option<Vec<Pasted>> {
    let first = text.trim_start().chars().next()?;
    if first == '{'
        && let Some((body, row)) = body::read(text)
    {
        let origin = if body == body::Body::Route { Origin::Route } else { Origin::Record };
        return Some(vec![Pasted { line: 1, origin, content: content(&row, options) }]);
    }
    let mut found = Vec::new();
    let mut any_row = false;
    let origin = if matches!(first, '[' | '{') { Origin::Object } else { Origin::Row };
    let sink = &mut |event: Event| {
        let (place, content) = match event {
            Event::Row(place, row) => {
                any_row = true;
                (place, content(row, options))
            }
            Event::Bad(place, reason) => (place, Content::Nothing { reason, part: None }),
            Event::UnknownColumn(_) => return Ok(()),
        };
        found.push(Pasted { line: number(place), origin, content });
        Ok(())
    };
    let mut bytes = text.as_bytes();
    let source = Source::new(&mut bytes).ok()?;
    let has_header = csv::has_header(text.as_bytes());
    let read = match first {
        // Ticket text may start with a bracket too: `[SUP-4412] please look at 0x…`.
        '[' if json::is_whole(text) => json::read_array(&source, sink),
        '{' => json::read_lines(&source, sink),
        _ if has_header => csv::read(&source, sink),
        _ => return None,
    };
    (read.is_ok() && (any_row || (has_header && !matches!(first, '[' | '{')))).then_some(found)
}

fn number(place: Place) -> usize {
    match place {
        Place::File => 1,
        Place::Line(number) | Place::Item(number) => number,
    }
}

fn lines(text: &str, options: &Options) -> Vec<Pasted> {
    let mut found = Vec::new();
    for (line, text) in logical_lines(text) {
        let row = row(text.trim(), options).map(|row| (Origin::Row, row));
        match row.or_else(|| Some((Origin::Request, request::read(&text)?))) {
            Some((origin, row)) => found.push(Pasted { line, origin, content: content(&row, options) }),
            None => found.extend(words(line, &text)),
        }
    }
    found
}

/// The lines that aren't blank, with those that a backslash continues in one.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (index, line) in text.lines().enumerate() {
        let whole = line.trim_end().strip_suffix('\\');
        match lines.last_mut().filter(|_| goes_on) {
            Some((_, last)) => *last = format!("{last} {}", whole.unwrap_or(line)),
            None => lines.push((index + 1, whole.unwrap_or(line).to_owned())),
        }
        goes_on = whole.is_some();
    }
    lines.retain(|(_, line)| !line.trim().is_empty());
    lines
}

/// The hashes in a line of text, each with what the link around it says.
fn words(line: usize, text: &str) -> Vec<Pasted> {
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for word in text.split(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '<' | '>' | '(' | ')')) {
        let origin = if hashes::is_url(word) { Origin::Link } else { Origin::Text };
        for hash in hashes::hashes_in(word) {
            if !seen.contains(&hash.key()) {
                seen.push(hash.key());
                let guess = chains::by_link(word).map(|chain| chain.id.clone()).or_else(|| hashes::chain_of(&hash));
                // As a transaction is named where its hash alone isn't enough.
                let on_chain = TxHash::parse_on_chain(word).filter(|(_, named)| *named == hash);
                let given: Vec<_> =
                    on_chain.map(|(from, _)| (Field::FromChainId, from.to_string())).into_iter().collect();
                let is_missing =
                    |field: &Field| *field != Field::TransactionId && given.iter().all(|(own, _)| own != field);
                let missing = Field::REQUIRED.into_iter().filter(is_missing).collect();
                let content = Content::Partial { hash: Some(hash), missing, given, guess };
                found.push(Pasted { line, origin, content });
            }
        }
    }
    if found.is_empty() {
        let (reason, part) = (no_hash(text), hashes::part(text.trim()).or_else(|| hashes::short_in(text)));
        found.push(Pasted { line, origin: Origin::Text, content: Content::Nothing { reason, part } });
    }
    found
}

fn no_hash(line: &str) -> String {
    let line = clean(line);
    let shown: String = line.chars().take(20).collect();
    let shown = if shown.len() < line.len() { format!("{shown}…") } else { shown };
    let reason = match hashes::digits(&line) {
        Some(digits) => format!("has {} hexadecimal digits, a whole hash has 64", digits.len()),
        None if line.contains("0x") || line.contains("0X") => {
            "holds no whole hash, which is 0x and 64 hexadecimal digits".into()
        }
        None => "holds no transaction hash".into(),
    };
    format!("`{shown}` {reason}; paste the hash, a link to it, or transactionId,fromChainId,toChainId,quoteId")
}

/// The line as a row without a header, if it is one: a hash first, and a chain where a chain belongs.
fn row(line: &str, options: &Options) -> Option<Row<'static>> {
    let blanks: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let by_delimiter = [b',', b'\t', b';'].into_iter().map(|delimiter| csv::values(line, delimiter));
    let values = by_delimiter
        .chain((blanks.len() == Field::REQUIRED.len()).then_some(blanks))
        .find(|values| is_row(values, options.any_chain))?;
    let mut row = Row::default();
    // Fields past the ticket have no place in a row without a header; what stands there is not read.
    for (field, value) in Field::ALL.iter().take_while(|field| **field != Field::FromAddress).zip(values) {
        // Every field comes once, so every slot is free.
        row.set(*field, value);
    }
    Some(row)
}

fn is_row(values: &[String], any_chain: bool) -> bool {
    let [hash, rest @ ..] = values else { return false };
    let complete = values.len() >= Field::REQUIRED.len();
    let whole = hashes::is_hash(hash) || (hashes::is_url(hash) && hashes::hashes_in(hash).len() == 1);
    let chain =
        |text: &String| matches!(chains::parse(text, any_chain && complete), Ok(_) | Err(ChainError::Name { .. }));
    // A short hash needs neighbours that fit; a whole one is a row as soon as a chain stands beside it.
    if whole {
        rest.iter().take(2).any(chain)
    } else {
        complete && hashes::may_be_hash(hash) && rest.iter().take(2).all(chain)
    }
}

/// What a row says. What lacks only what a person can add, or mend in place, isn't lost.
fn content(row: &Row, options: &Options) -> Content {
    let refusal = match fields::transaction(row, options.any_chain) {
        Ok(reading) => return Content::Complete(reading.transaction),
        Err(refusal) => refusal,
    };
    let mut missing: Vec<Field> = refusal.missing.iter().filter_map(|name| Field::named(name)).collect();
    let repaired = |field: &Field| matches!(field, Field::FromChainId | Field::ToChainId);
    let says_something = refusal.hash.is_some() || row.get(Field::QuoteId).is_some();
    if !says_something || refusal.wrong.iter().any(|wrong| !repaired(&wrong.field)) {
        return Content::Nothing { reason: refusal.message(), part: None };
    }
    missing.extend(refusal.wrong.iter().map(|wrong| wrong.field));
    missing.sort_by_key(|field| *field as usize);
    let fields = Field::ALL.iter().filter(|field| **field != Field::TransactionId);
    let given = fields.filter_map(|field| Some((*field, clean(row.get(*field)?)))).collect();
    let link = row.get(Field::TransactionId).and_then(chains::by_link).map(|chain| chain.id.clone());
    let guess = link.or_else(|| refusal.hash.as_ref().and_then(hashes::chain_of));
    Content::Partial { hash: refusal.hash.clone(), missing, given, guess }
}

/// Names what another line says as well, or says better. A ticket quotes itself, and a batch may be pasted twice.
fn name_doubles(found: &mut [Pasted]) {
    let mut complete: HashMap<(String, ChainId), usize> = HashMap::new();
    let mut by_hash: HashMap<String, usize> = HashMap::new();
    for pasted in found.iter_mut() {
        let Content::Complete(new) = &pasted.content else { continue };
        let hash = new.params.transaction_id.clone();
        match complete.get(&(hash.key(), new.params.from_chain.clone())) {
            Some(line) => pasted.content = Content::Again { hash, line: *line },
            None => {
                by_hash.entry(hash.key()).or_insert(pasted.line);
                complete.insert((hash.key(), new.params.from_chain.clone()), pasted.line);
            }
        }
    }
    for pasted in found {
        let Content::Partial { hash: Some(hash), .. } = &pasted.content else { continue };
        let hash = hash.clone();
        match by_hash.get(&hash.key()) {
            Some(line) => pasted.content = Content::Again { hash, line: *line },
            None => drop(by_hash.insert(hash.key(), pasted.line)),
        }
    }
}
