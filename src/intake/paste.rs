//! Reads what a person pastes into the dashboard: hashes, explorer links, rows, JSON, ticket text.
//!
//! It must never take more than a bounded piece of the clipboard, and never track something that only looks complete.

use std::collections::HashSet;

use crate::domain::{
    chains::{self, ChainError},
    ids::TxHash,
    text::clean,
    transaction::NewTransaction,
};

use super::{
    Event, Options, Place, csv,
    fields::{self, Field, Row},
    hashes, json,
    source::Source,
};

/// So much of a paste is looked at. It is parsed on every key press, and what is longer is a file for `hoptop import`.
pub const SIZE_LIMIT: usize = 64 * 1024;
/// So many lines of a paste are looked at; each becomes a row of the dialog.
pub const LINE_LIMIT: usize = 500;

/// What was found in a line of a paste.
#[derive(Clone, Debug, PartialEq)]
pub enum Pasted {
    /// All that the service requires.
    Complete(NewTransaction),
    /// A hash that lacks something.
    Hash {
        /// The hash.
        hash: TxHash,
        /// The required fields without a value, by name.
        missing: Vec<&'static str>,
        /// What was given with it, by the field's name; clean, and fine as far as it goes.
        given: Vec<(&'static str, String)>,
    },
    /// Nothing that can be used.
    Nothing {
        /// The line, counted from 1; in a JSON array the element.
        line: usize,
        /// Why, and the way out.
        reason: String,
    },
}

/// Finds the transactions in a pasted text, in its order.
pub fn paste(text: &str, options: &Options) -> Vec<Pasted> {
    let (text, cut_at) = bounded(text);
    let mut found = document(text, options).unwrap_or_else(|| lines(text, options));
    if let Some(line) = cut_at {
        let reason = format!(
            "only the first {LINE_LIMIT} lines and {} KiB of a paste are read; import the rest as a file: hoptop import",
            SIZE_LIMIT / 1024
        );
        found.push(Pasted::Nothing { line, reason });
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
    let mut found = Vec::new();
    let mut any_row = false;
    let sink = &mut |event: Event| {
        match event {
            Event::Row(place, row) => {
                any_row = true;
                found.push(pasted(number(place), row, options));
            }
            Event::Bad(place, reason) => found.push(Pasted::Nothing { line: number(place), reason }),
            Event::UnknownColumn(_) => {}
        }
        Ok(())
    };
    let mut bytes = text.as_bytes();
    let source = Source::new(&mut bytes).ok()?;
    let (first, has_header) = (text.trim_start().chars().next()?, csv::has_header(text.as_bytes()));
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
    let mut seen = HashSet::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = index + 1;
        if let Some(row) = row(line.trim(), options) {
            let pasted = pasted(number, &row, options);
            if let Pasted::Complete(new) = &pasted {
                seen.insert(new.told.transaction_id.key());
            }
            found.push(pasted);
            continue;
        }
        let hashes = hashes::hashes_in(line);
        if hashes.is_empty() {
            found.push(Pasted::Nothing { line: number, reason: no_hash(line) });
        }
        for hash in hashes {
            // A ticket quotes itself; the same hash is asked about once.
            if seen.insert(hash.key()) {
                let missing = Field::REQUIRED.iter().skip(1).map(|field| field.name()).collect();
                found.push(Pasted::Hash { hash, missing, given: Vec::new() });
            }
        }
    }
    found
}

fn no_hash(line: &str) -> String {
    let shown: String = clean(line).chars().take(40).collect();
    let reason = if line.contains("0x") || line.contains("0X") {
        "holds no whole hash, which is 0x and 64 hexadecimal digits"
    } else {
        "holds no transaction hash"
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

fn pasted(line: usize, row: &Row, options: &Options) -> Pasted {
    let refusal = match fields::transaction(row, options.any_chain) {
        Ok(reading) => return Pasted::Complete(reading.transaction),
        Err(refusal) => refusal,
    };
    match refusal.hash.clone() {
        Some(hash) if refusal.wrong.is_empty() => {
            let fields = Field::ALL.iter().filter(|field| **field != Field::TransactionId);
            let given = fields.filter_map(|field| Some((field.name(), clean(row.get(*field)?))));
            Pasted::Hash { hash, missing: refusal.missing, given: given.collect() }
        }
        _ => Pasted::Nothing { line, reason: refusal.message() },
    }
}
