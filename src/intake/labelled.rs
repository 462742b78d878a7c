//! Finds labelled values in a text: `quoteId: 5f2a90aa`, `From chain: Arbitrum (42161)`, the lines of hoptop's packet.
//!
//! A field that a text gives twice with different values has no value. The module must never change an ID, nor read a
//! word or a number of a sentence as one.

use super::{fields::Field, prose};
use crate::domain::{chains, ids::ChainId};

/// The labels of fields, in lower case and without blanks.
const LABELS: [(&str, Field); 10] = [
    ("quoteid", Field::QuoteId),
    ("requestid", Field::RequestId),
    ("fromchainid", Field::FromChainId),
    ("fromchain", Field::FromChainId),
    ("sourcechainid", Field::FromChainId),
    ("sourcechain", Field::FromChainId),
    ("tochainid", Field::ToChainId),
    ("tochain", Field::ToChainId),
    ("destinationchainid", Field::ToChainId),
    ("destinationchain", Field::ToChainId),
];
/// The greatest number of words of a label.
const LABEL_WORDS: usize = 3;

/// The labelled values of a text.
#[derive(Debug, Default, PartialEq)]
pub(super) struct LabelledValues {
    /// The values that can be used as they are.
    pub(super) values: Vec<(Field, String)>,
    /// The chains that are given only by a name.
    pub(super) named: Vec<(Field, ChainId)>,
    /// The numbers of the lines with a label and its value, counted from 1.
    pub(super) lines: Vec<usize>,
}

/// Finds the labelled values of a text.
pub(super) fn find(text: &str) -> LabelledValues {
    let mut found = LabelledValues::default();
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        for start in 0..words.len() {
            let Some(label) = words.get(start..).and_then(Label::at_start) else { continue };
            let field = label.field;
            let (value, name) = match field {
                Field::FromChainId | Field::ToChainId => chain(&label),
                _ => (label.rest.first().filter(|word| has_digit(word)).map(|word| (*word).to_owned()), None),
            };
            if value.is_some() || name.is_some() {
                found.lines.push(number);
            }
            found.values.extend(value.map(|value| (field, value)));
            found.named.extend(name.map(|name| (field, name)));
        }
    }
    found.drop_contradictions();
    found
}

impl LabelledValues {
    /// Removes the fields that have different values, and repetitions.
    fn drop_contradictions(&mut self) {
        let named = self.named.iter().map(|(field, chain)| (*field, chain.to_string()));
        let all: Vec<(Field, String)> = self.values.iter().cloned().chain(named).collect();
        let is_single = |field: Field, value: &str| all.iter().all(|(other, known)| *other != field || known == value);
        self.values.retain(|(field, value)| is_single(*field, value));
        self.named.retain(|(field, chain)| is_single(*field, chain.as_str()));
        self.values.dedup();
        self.named.dedup();
    }
}

/// A label, and the words after it without quotation marks and brackets.
struct Label<'a> {
    field: Field,
    /// Whether the label itself says that an ID follows.
    is_id: bool,
    /// Whether a sign or a verb says that the value follows.
    is_assigned: bool,
    rest: Vec<&'a str>,
}

impl<'a> Label<'a> {
    /// Returns the label that the words begin with; the longest one counts. Its last word may be joined with the value:
    /// `quoteId=5f2a90aa`.
    fn at_start(words: &[&'a str]) -> Option<Self> {
        (1..=LABEL_WORDS).rev().find_map(|count| {
            let (label, rest) = words.split_at_checked(count)?;
            let (last, before) = label.split_last()?;
            let is_sign = |word: &&str| matches!(*word, ":" | "=" | "is");
            let is_assigned = last.contains([':', '=']) || rest.first().is_some_and(is_sign);
            let (last, joined) = last.split_once([':', '=']).unwrap_or((last, ""));
            let name =
                before.iter().chain([&last]).flat_map(|word| word.chars()).filter(|letter| letter.is_alphanumeric());
            let name = name.collect::<String>().to_lowercase();
            let (_, field) = LABELS.into_iter().find(|(label, _)| *label == name)?;
            let rest = [joined].into_iter().chain(rest.iter().copied()).map(unquote);
            // "the quote ID is 5f2a90aa"
            let rest = rest.skip_while(|word| word.is_empty() || is_sign(word)).collect();
            Some(Self { field, is_id: name.ends_with("id"), is_assigned, rest })
        })
    }
}

/// Removes quotation marks, brackets, emphasis and the punctuation of a sentence around a word. An ID has no other
/// characters at its ends.
fn unquote(word: &str) -> &str {
    // A value in quotation marks ends at the second mark, whatever follows.
    for mark in ['"', '\''] {
        if let Some((inside, _)) = word.strip_prefix(mark).and_then(|rest| rest.split_once(mark)) {
            return inside;
        }
    }
    let is_quotation = |letter: char| matches!(letter, '"' | '\'' | '`' | '*' | '(' | ')' | '[' | ']' | '<' | '>');
    word.trim_start_matches(is_quotation)
        .trim_end_matches(|letter| is_quotation(letter) || matches!(letter, ',' | ';' | '.'))
}

fn has_digit(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns the chain ID that the words begin with, or that stands beside the chain's name (`Arbitrum (42161)`), or else
/// the chain that the words name. A number that no known chain has needs a label that asks for an ID, and any number
/// needs at least a sign before it, or nothing or another label behind it: in a sentence it may count something else.
fn chain(label: &Label<'_>) -> (Option<String>, Option<ChainId>) {
    let (words, is_id) = (label.rest.as_slice(), label.is_id);
    let first = words.first().copied().unwrap_or_default();
    let is_last = words.get(1..).is_none_or(|rest| rest.is_empty() || Label::at_start(rest).is_some());
    let is_value = is_id || label.is_assigned || is_last;
    let is_known = is_value && chains::find_by_id(first).is_some();
    if has_digit(first) && (is_known || is_id && chains::parse(first, false).is_ok()) {
        return (Some(first.to_owned()), None);
    }
    match prose::name_at_start(words) {
        Some((named, count)) if words.get(count) == Some(&named.as_str()) => (Some(named.to_string()), None),
        Some((named, _)) => (None, Some(named)),
        None => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<(Field, String)> {
        find(text).values
    }

    #[test]
    fn labelled_values_are_found_in_lines_and_sentences() {
        let all = [(Field::FromChainId, "42161"), (Field::ToChainId, "8453"), (Field::QuoteId, "5f2a90aa")];
        let all = all.map(|(field, value)| (field, value.to_owned()));
        for text in [
            "fromChainId: 42161\ntoChainId: 8453\nquoteId: 5f2a90aa",
            "fromChainId    42161\ntoChainId      8453\nquoteId        5f2a90aa\nx-request-id   77\n",
            "from_chain = 42161, to chain = 8453; the quote ID is \"5f2a90aa\".",
            "fromChainId=42161 toChainId=8453 quoteId=5f2a90aa",
            "From chain: Arbitrum (42161)\nDestination chain: Base (8453)\nQuote ID: 5f2a90aa",
            "- **Source chain ID:** 42161\n- **Destination chain ID:** 8453\n- **Quote ID:** `5f2a90aa`",
        ] {
            assert_eq!(values(text), all, "{text}");
        }
        for text in [
            "From chain 42161 to chain 8453, quoteId 5f2a90aa",
            "source chain 42161, destination chain 8453, quote ID 5f2a90aa",
        ] {
            assert_eq!(values(text), all, "{text}");
        }
        let named = find("Source chain: Arbitrum One\nquoteId 5f2a90aa");
        assert_eq!(named.named, [(Field::FromChainId, ChainId::new("42161"))]);
        assert_eq!((named.values.as_slice(), named.lines), (&all[2..], vec![1, 2]));
    }

    #[test]
    fn an_id_is_never_changed() {
        for id in ["a1:b2", "ab1_", "MTI3NA==", "a=b&c1", "-x1", "{5f2a}"] {
            for text in [format!("quoteId: {id}"), format!("quoteId        {id}"), format!("the quote ID is \"{id}\".")]
            {
                assert_eq!(values(&text), [(Field::QuoteId, id.to_owned())], "{text}");
            }
        }
    }

    #[test]
    fn words_and_numbers_of_a_sentence_and_contradictions_are_no_values() {
        for text in [
            "",
            "quoteId",
            "the quote ID is unknown",
            "quoteId: q1\nquoteId: q2",
            "from chain to chain",
            "sent to chain 2 days ago",
            "it left the source chain 10 minutes ago and the destination chain 1 hour later",
            "to chain Base 2 days ago",
            "destination chain: Base, 500 USDC",
            "fromChainId: 8453\nFrom chain: Arbitrum",
            "fromChainId: 0x61a1e04da2f887532a2035300000000000000000000000000000000000000005",
        ] {
            assert_eq!(values(text), [], "{text}");
        }
        assert_eq!(find("to chain Base 2 days ago").named, [(Field::ToChainId, ChainId::new("8453"))]);
        assert_eq!(find("From chain: Arbitrum\nFrom chain: Base").named, []);
    }
}
