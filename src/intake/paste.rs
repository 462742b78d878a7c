//! Reads text pasted into the dashboard: hashes, explorer links, rows, JSON, commands, ticket text.
//!
//! It must never read more than a limited part of the clipboard, and never report an incomplete transaction as
//! complete.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::domain::{
    chains::{self, ChainError},
    ids::{ChainId, TxHash},
    named::named,
    text::{clean, is_dropped},
    transaction::NewTransaction,
};

use super::{
    InputPosition, ParseEvent, ReadOptions, body, csv,
    fields::{self, Field, RawRow},
    hashes, json, labelled, prose, request,
    source::SharedInput,
};

/// The most bytes of a paste that are read. A paste is parsed on every key press; longer text is for `hoptop import`.
pub(super) const SIZE_LIMIT: usize = 64 * 1024;
/// The most lines of a paste that are read. Each line becomes a row of the dialog.
pub(super) const LINE_LIMIT: usize = 500;

/// A result for one line of a paste.
#[derive(Clone, Debug, PartialEq)]
pub struct PasteFinding {
    /// The line, counted from 1; in a JSON array the number of the element.
    pub line: usize,
    /// How the line was read.
    pub origin: PasteOrigin,
    /// The transaction in the line, or why there is none.
    pub content: PastedContent,
}

named! {
    /// The kind of text that a line of a paste was read as.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PasteOrigin: label {
        /// A row of CSV, with a header or without.
        Row "a row of CSV",
        /// A JSON object.
        Object "a JSON object",
        /// A response body of the status endpoint.
        Record "a status record of the service",
        /// The answer to a route request.
        Route "a route of the service",
        /// A request to the status endpoint, such as a curl command.
        Request "a request to the status endpoint",
        /// A link to a block explorer.
        Link "a link",
        /// Other text.
        Text "text",
    }
}

/// The transaction in a line of a paste, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum PastedContent {
    /// A transaction with all fields that the service requires.
    Complete {
        /// The transaction.
        new: NewTransaction,
        /// One sentence for each value that isn't used, or kept only in part.
        warnings: Vec<String>,
    },
    /// A transaction that lacks required fields.
    Partial {
        /// The hash, unless the hash is missing.
        hash: Option<TxHash>,
        /// The required fields without a usable value.
        missing: Vec<Field>,
        /// The other values of the line, cleaned. A missing field may have its unusable value here.
        given: Vec<(Field, String)>,
        /// The source chain suggested by the link, by the shape of the hash, or by the sentences around it.
        guess: Option<ChainId>,
        /// The destination chain suggested by the sentences around the hash.
        guess_to: Option<ChainId>,
    },
    /// A transaction that another line has already.
    Duplicate {
        /// The hash.
        hash: TxHash,
        /// The number of the other line.
        line: usize,
    },
    /// No transaction that can be tracked.
    Nothing {
        /// The reason, and what to paste instead.
        reason: String,
        /// A word that may name a known transaction: a part of a hash, an ID, an address or a ticket.
        part: Option<TxHash>,
    },
}

/// Returns the transactions in a pasted text, in the order of the text.
pub fn parse_paste(text: &str, options: &ReadOptions) -> Vec<PasteFinding> {
    // Chats put invisible characters into long words.
    let visible: String = text.chars().filter(|letter| letter.is_ascii() || !is_dropped(*letter)).collect();
    let (text, cut_at) = truncate_to_limits(&visible);
    let mut found = read_document(text, options).unwrap_or_else(|| read_text(text, options));
    mark_duplicates(&mut found, |_| true);
    if let Some(line) = cut_at {
        let reason = format!(
            "only the first {LINE_LIMIT} lines and {} KiB of a paste are read; import the rest from a file: hoptop import",
            SIZE_LIMIT / 1024
        );
        let content = PastedContent::Nothing { reason, part: None };
        found.push(PasteFinding { line, origin: PasteOrigin::Text, content });
    }
    found
}

/// Returns the part of the text that is read, and the first line after it if the text was truncated. The limit never
/// falls inside a line: half a hash is another hash.
fn truncate_to_limits(text: &str) -> (&str, Option<usize>) {
    let text = text.trim_end();
    let (mut end, mut count) = (0, 0);
    for line in text.split_inclusive('\n') {
        if count == LINE_LIMIT || end + line.len() > SIZE_LIMIT {
            return (text.get(..end).unwrap_or_default(), Some(count + 1));
        }
        (end, count) = (end + line.len(), count + 1);
    }
    (text, None)
}

/// Reads the text as one document if it is JSON or has a header row.
fn read_document(text: &str, options: &ReadOptions) -> Option<Vec<PasteFinding>> {
    let first = text.trim_start().chars().next()?;
    if first == '{'
        && let Some((body, row)) = body::read(text)
    {
        let origin = if body == body::ResponseKind::Route { PasteOrigin::Route } else { PasteOrigin::Record };
        return Some(vec![PasteFinding { line: 1, origin, content: content_of_row(&row, options) }]);
    }
    let mut found = Vec::new();
    let (mut any_row, mut any_bad) = (false, false);
    let origin = if matches!(first, '[' | '{') { PasteOrigin::Object } else { PasteOrigin::Row };
    let sink = &mut |event: ParseEvent| {
        let (position, content) = match event {
            ParseEvent::Row(position, row) => {
                any_row = true;
                (position, content_of_row(row, options))
            }
            ParseEvent::Bad(position, reason) => {
                any_bad = true;
                (position, PastedContent::Nothing { reason, part: None })
            }
            ParseEvent::UnknownColumn(_) => return Ok(()),
        };
        let line = match position {
            InputPosition::File => 1,
            InputPosition::Line(number) | InputPosition::Item(number) => number,
        };
        found.push(PasteFinding { line, origin, content });
        Ok(())
    };
    let mut bytes = text.as_bytes();
    let source = SharedInput::new(&mut bytes).ok()?;
    let has_header = csv::has_header(text.as_bytes());
    let read = match first {
        // Ticket text may also start with a bracket: `[SUP-4412] please look at 0x…`.
        '[' if json::is_single_value(text) => json::read_array(&source, sink),
        '{' => json::read_lines(&source, sink),
        _ if has_header => csv::read(&source, sink),
        _ => return None,
    };
    // Objects among rows, sentences or commas are those of a text.
    if first == '{' && any_bad {
        return None;
    }
    (read.is_ok() && (any_row || (has_header && !matches!(first, '[' | '{')))).then_some(found)
}

/// Reads a text that may name transactions anywhere. Values around a hash or an object complete it.
fn read_text(text: &str, options: &ReadOptions) -> Vec<PasteFinding> {
    let ObjectsInText { mut found, rest, lines } = take_objects(text, options);
    found.extend(read_lines(&rest, &lines, options));
    found.sort_by_key(|pasted| pasted.line);
    // A text that repeats its hash has one hash.
    mark_duplicates(&mut found, is_in_text);
    // What an object says isn't about another transaction.
    fill_labelled(&mut found, &rest, options);
    guess_route(&mut found, &rest);
    found
}

/// Whether the values around a finding may belong to it: rows and requests have all that they need.
fn is_in_text(origin: PasteOrigin) -> bool {
    !matches!(origin, PasteOrigin::Row | PasteOrigin::Request)
}

/// Reads the lines of a text. What is left of a line with an object (`objects`) needs no hash.
fn read_lines(text: &str, objects: &BTreeSet<usize>, options: &ReadOptions) -> Vec<PasteFinding> {
    let mut found = Vec::new();
    for (line, text) in join_continued_lines(text) {
        let row = parse_row(text.trim(), options).map(|row| (PasteOrigin::Row, row));
        match row.or_else(|| Some((PasteOrigin::Request, request::read(&text)?))) {
            Some((origin, row)) => found.push(PasteFinding { line, origin, content: content_of_row(&row, options) }),
            None => {
                let is_rest = |pasted: &PasteFinding| {
                    objects.contains(&line) && matches!(pasted.content, PastedContent::Nothing { part: None, .. })
                };
                found.extend(find_in_text(line, &text, options).into_iter().filter(|pasted| !is_rest(pasted)));
            }
        }
    }
    found
}

/// The JSON objects in a text that name transactions.
struct ObjectsInText {
    found: Vec<PasteFinding>,
    /// The text without these objects. Its lines keep their numbers.
    rest: String,
    /// The lines with a part of an object.
    lines: BTreeSet<usize>,
}

fn take_objects(text: &str, options: &ReadOptions) -> ObjectsInText {
    let (mut found, mut rest, mut lines) = (Vec::new(), String::new(), BTreeSet::new());
    let (mut line, mut tail) = (1, text);
    let breaks = |text: &str| text.matches('\n').count();
    while let Some((before, from)) = tail.find('{').and_then(|start| tail.split_at_checked(start)) {
        rest.push_str(before);
        line += breaks(before);
        let taken = read_object(from, line, options);
        let length = taken.as_ref().map_or(1, |(length, _)| *length);
        let (object, after) = from.split_at_checked(length).unwrap_or((from, ""));
        match taken {
            Some((_, transactions)) => {
                found.extend(transactions);
                lines.extend(line..=line + breaks(object));
                rest.extend(object.matches('\n'));
            }
            None => rest.push_str(object),
        }
        line += breaks(object);
        tail = after;
    }
    rest.push_str(tail);
    ObjectsInText { found, rest, lines }
}

/// Reads the JSON object at the beginning of a text. Returns its length in bytes and its transactions; `None` if it names
/// none.
fn read_object(text: &str, line: usize, options: &ReadOptions) -> Option<(usize, Vec<PasteFinding>)> {
    // A `Value` has at most 128 levels, so each byte of a text is read at most 128 times.
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    objects.next()?.ok()?;
    let length = objects.byte_offset();
    let mut found = read_document(text.get(..length)?, options)?;
    found.retain(|pasted| !matches!(pasted.content, PastedContent::Nothing { .. }));
    found.iter_mut().for_each(|pasted| pasted.line = line);
    // The object may have a hash under an unknown name, or in an inner object: then its text is searched.
    let has_hash = |pasted: &PasteFinding| !matches!(pasted.content, PastedContent::Partial { hash: None, .. });
    if !found.iter().any(has_hash) && !hashes::find_hashes(text.get(..length)?).is_empty() {
        return None;
    }
    (!found.is_empty()).then_some((length, found))
}

/// Returns the lines that aren't blank, with their numbers. A line that ends with a backslash is joined with the next
/// one.
fn join_continued_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut is_continued = false;
    for (index, line) in text.lines().enumerate() {
        let whole = line.trim_end().strip_suffix('\\');
        match lines.last_mut().filter(|_| is_continued) {
            Some((_, last)) => *last = format!("{last} {}", whole.unwrap_or(line)),
            None => lines.push((index + 1, whole.unwrap_or(line).to_owned())),
        }
        is_continued = whole.is_some();
    }
    lines.retain(|(_, line)| !line.trim().is_empty());
    lines
}

/// Returns the hashes in a line of text, each with the chain that the word around it suggests.
fn find_in_text(line: usize, text: &str, options: &ReadOptions) -> Vec<PasteFinding> {
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for word in text.split(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '<' | '>' | '(' | ')')) {
        let origin = if hashes::is_url(word) { PasteOrigin::Link } else { PasteOrigin::Text };
        for hash in hashes::find_hashes(word) {
            let linked = chains::find_by_link(word).map(|chain| chain.id.clone());
            if seen.contains(&hash.key()) {
                take_guess(&mut found, &hash, linked);
            } else {
                seen.push(hash.key());
                let guess = linked.or_else(|| hashes::guess_chain(&hash));
                // hoptop writes `CHAIN:HASH` where the hash alone is ambiguous. The text before the colon may be
                // anything.
                let on_chain = TxHash::parse_on_chain(word)
                    .filter(|(_, named)| *named == hash)
                    .and_then(|(from, _)| chains::parse(from.as_str(), options.allows_any_chain).ok());
                let given: Vec<_> = on_chain.map(|from| (Field::FromChainId, from.to_string())).into_iter().collect();
                let is_missing =
                    |field: &Field| *field != Field::TransactionId && given.iter().all(|(own, _)| own != field);
                let missing = Field::REQUIRED.into_iter().filter(is_missing).collect();
                let content = PastedContent::Partial { hash: Some(hash), missing, given, guess, guess_to: None };
                found.push(PasteFinding { line, origin, content });
            }
        }
    }
    if found.is_empty() {
        let (reason, part) = (no_hash_reason(text), hashes::find_part(text));
        found.push(PasteFinding { line, origin: PasteOrigin::Text, content: PastedContent::Nothing { reason, part } });
    }
    found
}

fn no_hash_reason(line: &str) -> String {
    let line = clean(line);
    let excerpt: String = line.chars().take(20).collect();
    let excerpt = if excerpt.len() < line.len() { format!("{excerpt}…") } else { excerpt };
    let reason = match hashes::hex_digits(&line) {
        Some(digits) => format!("has {} hexadecimal digits; a complete hash has 64", digits.len()),
        None if line.contains("0x") || line.contains("0X") => {
            "has no complete hash (0x and 64 hexadecimal digits)".into()
        }
        None => "has no transaction hash".into(),
    };
    format!("`{excerpt}` {reason}; paste the hash, a link to it, or transactionId,fromChainId,toChainId,quoteId")
}

/// Returns the line as a row without a header, if a hash is first and a chain ID is where a chain belongs.
fn parse_row(line: &str, options: &ReadOptions) -> Option<RawRow<'static>> {
    let blanks: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let mut by_delimiter = [b',', b'\t', b';'].into_iter().map(|delimiter| csv::split_values(line, delimiter));
    let values = by_delimiter
        .find(|values| is_row(values, options.allows_any_chain))
        .or_else(|| Some(blanks).filter(|words| is_row_of_words(words)))?;
    let mut row = RawRow::default();
    // A row of an export begins with these columns, and has others after the note.
    for (field, value) in Field::ALL.iter().take_while(|field| **field != Field::Notes).zip(values) {
        // Each field occurs once, so no value is set twice.
        row.set(*field, value);
    }
    Some(row)
}

/// Whether the words of a line are a row with two known chains: in a sentence with a hash, one number or one chain's name
/// may be anything.
fn is_row_of_words(words: &[String]) -> bool {
    let [_, from, to, _] = words else { return false };
    let is_chain = |word: &&String| matches!(chains::parse(word, false), Ok(_) | Err(ChainError::Name { .. }));
    is_row(words, false) && [from, to].iter().all(is_chain)
}

fn is_row(values: &[String], allows_any_chain: bool) -> bool {
    let [hash, rest @ ..] = values else { return false };
    let complete = values.len() >= Field::REQUIRED.len();
    let whole = hashes::is_hash(hash) || (hashes::is_url(hash) && hashes::find_hashes(hash).len() == 1);
    let chain = |text: &String| {
        matches!(chains::parse(text, allows_any_chain && complete), Ok(_) | Err(ChainError::Name { .. }))
    };
    // A short hash needs four values and two chain IDs; for a whole hash one chain ID is enough.
    if whole {
        rest.iter().take(2).any(chain)
    } else {
        complete && hashes::may_be_hash(hash) && rest.iter().take(2).all(chain)
    }
}

/// Converts a row to content. The content is `Partial` if a person can complete the row: if only required fields are
/// missing or chain IDs are invalid.
fn content_of_row(row: &RawRow, options: &ReadOptions) -> PastedContent {
    let row_errors = match fields::parse_transaction(row, options) {
        Ok(fields::ParsedRow { transaction: new, warnings, .. }) => return PastedContent::Complete { new, warnings },
        Err(row_errors) => row_errors,
    };
    let is_repairable = |field: &Field| matches!(field, Field::FromChainId | Field::ToChainId);
    let has_hash_or_quote = row_errors.hash.is_some() || row.get(Field::QuoteId).is_some();
    if !has_hash_or_quote || row_errors.invalid.iter().any(|error| !is_repairable(&error.field)) {
        return PastedContent::Nothing { reason: row_errors.message(), part: None };
    }
    let fields::RowErrors { mut missing, invalid, hash } = *row_errors;
    missing.extend(invalid.iter().map(|error| error.field));
    missing.sort_by_key(|field| *field as usize);
    let fields = Field::ALL.iter().filter(|field| **field != Field::TransactionId);
    let given = fields.filter_map(|field| Some((*field, clean(row.get(*field)?)))).collect();
    let link = row.get(Field::TransactionId).and_then(chains::find_by_link).map(|chain| chain.id.clone());
    let guess = link.or_else(|| hash.as_ref().and_then(hashes::guess_chain));
    PastedContent::Partial { hash, missing, given, guess, guess_to: None }
}

/// Returns the only finding of the text that has a hash but lacks required fields. Values elsewhere in the text could
/// belong to any of several.
fn only_incomplete(found: &mut [PasteFinding]) -> Option<&mut PasteFinding> {
    let is_incomplete = |pasted: &&mut PasteFinding| {
        is_in_text(pasted.origin) && matches!(pasted.content, PastedContent::Partial { hash: Some(_), .. })
    };
    let mut incomplete = found.iter_mut().filter(is_incomplete);
    incomplete.next().filter(|_| incomplete.next().is_none())
}

/// Adds the labelled values of the text to its only hash.
fn fill_labelled(found: &mut Vec<PasteFinding>, text: &str, options: &ReadOptions) {
    let Some(pasted) = only_incomplete(found) else { return };
    let PastedContent::Partial { hash: Some(hash), missing, given, guess, .. } = &pasted.content else { return };
    let labelled = labelled::find(text);
    let (hash, link_guess, mut row) = (hash.to_string(), guess.clone(), RawRow::default());
    // The first value of a field counts: a usable one of the object itself, then a labelled one. The destination of a
    // record may be a chain on the way.
    row.set(Field::TransactionId, hash);
    let is_sure = |field: Field| pasted.origin != PasteOrigin::Record || field != Field::ToChainId;
    let usable = given.iter().filter(|(field, _)| !missing.contains(field) && is_sure(*field));
    for (field, value) in usable.chain(&labelled.values).chain(given) {
        row.set(*field, value.clone());
    }
    let named = |field| labelled.named.iter().find(|(named, _)| *named == field).map(|(_, chain)| chain.clone());
    match content_of_row(&row, options) {
        PastedContent::Partial { hash, missing, given, guess, .. } => {
            let guess = named(Field::FromChainId).or(link_guess).or(guess);
            let guess_to = named(Field::ToChainId);
            pasted.content = PastedContent::Partial { hash, missing, given, guess, guess_to };
        }
        complete @ PastedContent::Complete { .. } => pasted.content = complete,
        PastedContent::Duplicate { .. } | PastedContent::Nothing { .. } => return,
    }
    let is_label = |pasted: &PasteFinding| {
        labelled.lines.contains(&pasted.line) && matches!(pasted.content, PastedContent::Nothing { .. })
    };
    found.retain(|pasted| !is_label(pasted));
}

/// Suggests the route in the text, if the text has only one hash: the route could belong to any of several.
fn guess_route(found: &mut [PasteFinding], text: &str) {
    if let Some(PasteFinding { origin, content: PastedContent::Partial { guess, guess_to, .. }, .. }) =
        only_incomplete(found)
        && let Some((from, to)) = prose::route(text)
    {
        // The guess of a link is always the link's own chain.
        if *origin != PasteOrigin::Link {
            guess.get_or_insert(from);
        }
        guess_to.get_or_insert(to);
    }
}

/// Adds the source chain that a repetition of a hash suggests to the finding with the hash.
fn take_guess(found: &mut [PasteFinding], hash: &TxHash, guessed: Option<ChainId>) {
    let first = found.iter_mut().find_map(|pasted| match &mut pasted.content {
        PastedContent::Partial { hash: Some(known), guess, .. } if known.key() == hash.key() => Some(guess),
        _ => None,
    });
    if let (Some(guess), Some(guessed)) = (first, guessed) {
        guess.get_or_insert(guessed);
    }
}

/// Marks lines whose transaction another line has too, or has more completely. Tickets quote themselves, and batches
/// get pasted twice. Of the incomplete ones only those of the chosen origins count.
fn mark_duplicates(found: &mut [PasteFinding], is_chosen: impl Fn(PasteOrigin) -> bool) {
    let mut complete: HashMap<(String, ChainId), usize> = HashMap::new();
    let mut by_hash: HashMap<String, usize> = HashMap::new();
    for pasted in found.iter_mut() {
        let PastedContent::Complete { new, .. } = &pasted.content else { continue };
        let hash = new.params.transaction_id.clone();
        match complete.get(&(hash.key(), new.params.from_chain.clone())) {
            Some(line) => pasted.content = PastedContent::Duplicate { hash, line: *line },
            None => {
                by_hash.entry(hash.key()).or_insert(pasted.line);
                complete.insert((hash.key(), new.params.from_chain.clone()), pasted.line);
            }
        }
    }
    let missing_count = |pasted: &PasteFinding| match &pasted.content {
        PastedContent::Partial { missing, .. } => missing.len(),
        PastedContent::Complete { .. } | PastedContent::Duplicate { .. } | PastedContent::Nothing { .. } => 0,
    };
    let mut guesses = Vec::new();
    let mut chosen: Vec<&mut PasteFinding> = found.iter_mut().filter(|pasted| is_chosen(pasted.origin)).collect();
    // The most complete one stays, or else the first one.
    chosen.sort_by_key(|pasted| missing_count(pasted));
    for pasted in chosen {
        let PastedContent::Partial { hash: Some(hash), guess, .. } = &pasted.content else { continue };
        let (hash, guess) = (hash.clone(), guess.clone());
        match by_hash.get(&hash.key()) {
            Some(line) => {
                guesses.push((hash.clone(), guess));
                pasted.content = PastedContent::Duplicate { hash, line: *line };
            }
            None => drop(by_hash.insert(hash.key(), pasted.line)),
        }
    }
    guesses.into_iter().for_each(|(hash, guess)| take_guess(found, &hash, guess));
}
