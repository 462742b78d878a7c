//! Finds labelled values in a text: `quoteId: 5f2a90aa`, `From chain: Arbitrum (42161)`, the lines of hoptop's packet.
//!
//! A field that a text gives twice with different values has no value. The module must never read a word of a sentence
//! as an ID: an ID has a digit.

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
    /// The numbers of the lines with a label, counted from 1.
    pub(super) lines: Vec<usize>,
}

/// Finds the labelled values of a text.
pub(super) fn find(text: &str) -> LabelledValues {
    let mut found = LabelledValues::default();
    let mut conflicts = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.replace([':', '='], " ");
        let words: Vec<&str> = line.split_whitespace().map(trim).filter(|word| !word.is_empty()).collect();
        for start in 0..words.len() {
            let Some((field, rest)) = words.get(start..).and_then(label_at_start) else { continue };
            let (value, name) = match field {
                Field::FromChainId | Field::ToChainId => (chain_id(rest), prose::name_at_start(rest)),
                _ => (rest.first().filter(has_digit).map(|word| (*word).to_owned()), None),
            };
            if value.is_some() || name.is_some() {
                found.lines.push(number);
            }
            match (value, name) {
                (Some(value), _) => match found.values.iter().find(|(known, _)| *known == field) {
                    Some((_, known)) if *known != value => conflicts.push(field),
                    Some(_) => {}
                    None => found.values.push((field, value)),
                },
                (None, Some(chain)) => found.named.push((field, chain)),
                (None, None) => {}
            }
        }
    }
    found.values.retain(|(field, _)| !conflicts.contains(field));
    found
}

/// Removes the quotation marks, brackets and punctuation around a word.
fn trim(word: &str) -> &str {
    word.trim_matches(|letter: char| !letter.is_alphanumeric())
}

fn has_digit(word: &&&str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns the field of the label that the words begin with, and the words after the label. The longest label counts.
fn label_at_start<'a, 'w>(words: &'a [&'w str]) -> Option<(Field, &'a [&'w str])> {
    (1..=LABEL_WORDS).rev().find_map(|count| {
        let (label, rest) = words.split_at_checked(count)?;
        let label = label.concat().to_lowercase().replace(['_', '-'], "");
        let (_, field) = LABELS.into_iter().find(|(name, _)| *name == label)?;
        // "the quote ID is 5f2a90aa"
        Some((field, rest.strip_prefix(&["is"]).unwrap_or(rest)))
    })
}

/// Returns the chain ID that the words begin with, or that follows the chain's name: `Arbitrum (42161)`.
fn chain_id(words: &[&str]) -> Option<String> {
    let after_name = || {
        let count = prose::name_words_at_start(words)?;
        words.get(count)
    };
    let is_id = |word: &&&str| has_digit(word) && chains::parse(word, false).is_ok();
    words.first().filter(is_id).or_else(|| after_name().filter(is_id)).map(|word| (*word).to_owned())
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
            "From chain: Arbitrum (42161)\nDestination chain: Base (8453)\nQuote ID: 5f2a90aa",
            "- **Source chain ID:** 42161\n- **Destination chain ID:** 8453\n- **Quote ID:** `5f2a90aa`",
        ] {
            assert_eq!(values(text), all, "{text}");
        }
        let named = find("Source chain: Arbitrum One\nquoteId 5f2a90aa");
        assert_eq!(named.named, [(Field::FromChainId, ChainId::new("42161"))]);
        assert_eq!((named.values.as_slice(), named.lines), (&all[2..], vec![1, 2]));
    }

    #[test]
    fn words_without_a_digit_and_contradictions_are_no_values() {
        for text in [
            "",
            "quoteId",
            "the quote ID is unknown",
            "quoteId: q1\nquoteId: q2",
            "from chain to chain",
            "fromChainId: 0x61a1e04da2f887532a2035300000000000000000000000000000000000000005",
        ] {
            assert_eq!(values(text), [], "{text}");
        }
    }
}
