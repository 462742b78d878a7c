//! Finds the route in a sentence: `from Arbitrum to Base`, `Arbitrum One → Base`, `ARB>BASE`.
//!
//! The route is a suggestion for fields that a person sees. The module must never suggest one if the text names two.

use crate::domain::{chains, ids::ChainId};

/// The greatest number of words of a chain's name.
const NAME_WORDS: usize = 3;

/// Returns the source and the destination chain that a text names, if it names exactly one route between well-known
/// chains.
pub(crate) fn route(text: &str) -> Option<(ChainId, ChainId)> {
    let unquoted: Vec<&str> = text.lines().map(without_quote_marks).collect();
    let text = unquoted.join("\n").replace("->", " > ").replace("=>", " > ").replace(['→', '>'], " > ");
    let is_edge = |letter: char| !letter.is_alphanumeric() && letter != '>';
    let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches(is_edge)).collect();
    let mut routes = words.iter().enumerate().filter_map(|(index, word)| {
        let (before, after) = (words.get(..index)?, words.get(index + 1..)?);
        let (from, from_words) = name_at_end(before)?;
        // "100 ETH to Base" names an amount: without an arrow the source chain must follow "from" or a label.
        let is_route = match *word {
            ">" => true,
            _ if word.eq_ignore_ascii_case("to") => {
                let preceding = before.get(before.len().checked_sub(from_words + 1)?)?;
                // "Route" and "Transfer" are labels in hoptop's own texts.
                ["from", "route", "transfer"].iter().any(|own| preceding.eq_ignore_ascii_case(own))
            }
            _ => false,
        };
        is_route.then(|| Some((from, name_at_start(after)?.0))).flatten()
    });
    let first = routes.next()?;
    routes.all(|other| other == first).then_some(first)
}

/// Returns a line without the `>` that mark it as quoted from another message: they are no arrows.
fn without_quote_marks(line: &str) -> &str {
    line.trim_start_matches(|letter: char| letter == '>' || letter.is_whitespace())
}

/// Returns the chain with the longest name at the end of the words, and the number of words of the name.
fn name_at_end(words: &[&str]) -> Option<(ChainId, usize)> {
    let named = |count: usize| Some((chain(words.get(words.len().checked_sub(count)?..)?)?, count));
    (1..=NAME_WORDS).rev().find_map(named)
}

/// Returns the chain with the longest name at the beginning of the words, and the number of words of the name.
pub(super) fn name_at_start(words: &[&str]) -> Option<(ChainId, usize)> {
    (1..=NAME_WORDS).rev().find_map(|count| Some((chain(words.get(..count)?)?, count)))
}

fn chain(words: &[&str]) -> Option<ChainId> {
    chains::find_by_name(&words.join(" ")).map(|chain| chain.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_is_found_in_sentences() {
        for text in [
            "> Arbitrum > Base",
            "I sent 250 USDC from Arbitrum to Base two hours ago",
            "Bridged FROM arbitrum TO base.",
            "Arbitrum One → Base",
            "ARB>BASE",
            "ARB -> Base, please help",
            "from Arbitrum to Base. As I said: from Arbitrum to Base!",
            "(Arbitrum => Base)",
            "Transfer: Arbitrum to Base",
            "Route          Arbitrum to Base",
            "> I sent from Arbitrum to Base\n>> Base shows nothing",
        ] {
            assert_eq!(route(text), Some((ChainId::new("42161"), ChainId::new("8453"))), "{text}");
        }
        assert_eq!(route("from BNB Chain to Base"), Some((ChainId::new("56"), ChainId::new("8453"))));
    }

    #[test]
    fn text_that_names_no_route_or_two_gives_no_suggestion() {
        for text in [
            "",
            "to",
            ">",
            "from to",
            "100 ETH to Base",
            "from my wallet to Base",
            "from Arbitrum to Base and from Base to Arbitrum",
            "Arbitrum and Base",
            "> quoted\n> text",
            "> We use Arbitrum\n> Base has nothing",
            "from Nowhere to Base",
        ] {
            assert_eq!(route(text), None, "{text}");
        }
    }
}
