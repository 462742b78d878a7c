//! The shipped table of well-known chains, for names before the service told us any.
//!
//! It is a help to people, never a gate for the service: an ID that isn't here may be fine.

use std::{collections::HashMap, sync::LazyLock};

use serde::Deserialize;

use super::{ids::ChainId, toml_text};

/// A well-known chain.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// Its ID as the service uses it.
    pub id: ChainId,
    /// Its name: `Arbitrum`.
    pub name: String,
    /// At most five letters, for a narrow column: `ARB`.
    pub short: String,
    /// Other words that people write for it, in lower case.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Hosts of its block explorers, in lower case, some with the start of a path.
    #[serde(default)]
    pub explorers: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    chain: Vec<Chain>,
}

static TABLE: LazyLock<Vec<Chain>> = LazyLock::new(|| {
    // The asset is part of the program; a test holds that it can be read.
    toml::from_str::<Table>(include_str!("../../assets/chains.toml")).map(|table| table.chain).unwrap_or_default()
});

/// All well-known chains, in the table's order.
pub fn all() -> &'static [Chain] {
    &TABLE
}

/// The well-known chain with this ID.
pub fn find(id: &ChainId) -> Option<&'static Chain> {
    with_id(id.as_str())
}

/// The same for an ID that stands in a text.
pub fn with_id(id: &str) -> Option<&'static Chain> {
    static BY_ID: LazyLock<HashMap<&str, &Chain>> =
        LazyLock::new(|| TABLE.iter().map(|chain| (chain.id.as_str(), chain)).collect());
    BY_ID.get(id).copied()
}

/// The well-known chain that people call so, by name, short name or alias, without case.
pub fn named(text: &str) -> Option<&'static Chain> {
    let text = text.trim().to_lowercase();
    TABLE.iter().find(|chain| {
        chain.name.to_lowercase() == text || chain.short.to_lowercase() == text || chain.aliases.contains(&text)
    })
}

/// The well-known chain whose block explorer a link leads to.
pub fn by_link(link: &str) -> Option<&'static Chain> {
    let (_, rest) = link.split_once("://")?;
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = host.to_ascii_lowercase();
    let leads_to = |explorer: &String| match explorer.split_once('/') {
        None => *explorer == host,
        Some((own, start)) => {
            let inside = path.strip_prefix('/').and_then(|path| path.strip_prefix(start));
            own == host && inside.is_some_and(|inside| inside.starts_with('/'))
        }
    };
    TABLE.iter().find(|chain| chain.explorers.iter().any(leads_to))
}

/// The well-known chains that may be meant by the beginning of a name: the one that is called just so, or else all whose name,
/// short name or alias begins so, without case. None for less than two letters.
pub fn starting(text: &str) -> Vec<&'static Chain> {
    let text = text.trim().to_lowercase();
    if text.chars().count() < 2 {
        return Vec::new();
    }
    let begins = |name: &str| name.to_lowercase().starts_with(&text);
    let may_be =
        |chain: &&Chain| begins(&chain.name) || begins(&chain.short) || chain.aliases.iter().any(|alias| begins(alias));
    named(&text).map_or_else(|| TABLE.iter().filter(may_be).collect(), |chain| vec![chain])
}

/// The well-known chains that may be meant by what is typed where an ID belongs: none if it is the ID of one.
pub fn meant(typed: &str) -> Vec<&'static Chain> {
    if with_id(typed.trim()).is_some() { Vec::new() } else { starting(typed) }
}

/// At most five letters for a narrow column: the table's short name, else the `state` name in capitals, else the ID, cut
/// to fit.
pub fn short_name(id: &ChainId, state: Option<&str>) -> String {
    let first = |text: &str| text.chars().filter(|letter| *letter != ' ').take(5).collect::<String>();
    match (find(id), state) {
        (Some(chain), _) => chain.short.clone(),
        (None, Some(name)) => first(&name.to_uppercase()),
        (None, None) => first(id.as_str()),
    }
}

/// Why a text can't be taken for a chain ID.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// No text at all.
    #[error("it is empty; write the chain's ID as the service uses it, for example 42161")]
    Empty,
    /// A chain's name where its ID is needed.
    #[error("`{text}` is a name; the service wants the chain's ID, here {id}")]
    Name {
        /// What was written.
        text: String,
        /// The ID of that chain.
        id: ChainId,
    },
    /// Text that isn't in the table and doesn't look like an ID.
    #[error("`{0}` is no chain ID that is known; {hint} (--any-chain on the command line takes it)", hint = hint(.0))]
    Unknown(String),
    /// Text that no ID can contain.
    #[error("`{0}` can't be a chain ID; IDs are letters, digits, `-`, `_` and `.`, at most 64 of them")]
    Malformed(String),
}

/// The chain whose name is nearest to a text, if one is near; or what IDs look like.
fn hint(text: &str) -> String {
    let typed = text.to_lowercase();
    let names: Vec<String> = TABLE.iter().map(|chain| chain.name.to_lowercase()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let chain = toml_text::nearest(&typed, &names).and_then(named);
    chain.map_or_else(
        || "IDs look like 42161 or osmosis-1".into(),
        |chain| format!("did you mean {} ({})?", chain.name, chain.id),
    )
}

/// Reads `CHAIN` of the command line and the files: an ID as the service uses it. IDs are opaque, so numbers, IDs of the
/// table and texts like `osmosis-1` pass; with `any` everything that can be an ID does.
pub fn parse(text: &str, any: bool) -> Result<ChainId, ChainError> {
    let text = super::text::clean(text);
    if text.is_empty() {
        return Err(ChainError::Empty);
    }
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if text.len() > 64 || !text.chars().all(fits) {
        return Err(match named(&text) {
            Some(chain) => ChainError::Name { text, id: chain.id.clone() },
            None => ChainError::Malformed(text),
        });
    }
    let id = ChainId::new(text.clone());
    let looks_like_an_id = text.bytes().all(|byte| byte.is_ascii_digit())
        || text.rsplit_once('-').is_some_and(|(name, number)| {
            !name.is_empty() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
    if any || looks_like_an_id || find(&id).is_some() {
        return Ok(id);
    }
    match named(&text) {
        Some(chain) => Err(ChainError::Name { text, id: chain.id.clone() }),
        None => Err(ChainError::Unknown(text)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_table_can_be_read_and_has_no_doubles() {
        let table: Table = toml::from_str(include_str!("../../assets/chains.toml")).unwrap();
        assert!(table.chain.len() >= 20);
        let ids: HashSet<_> = table.chain.iter().map(|chain| &chain.id).collect();
        let shorts: HashSet<_> = table.chain.iter().map(|chain| &chain.short).collect();
        assert_eq!((ids.len(), shorts.len()), (table.chain.len(), table.chain.len()));
        assert!(table.chain.iter().all(|chain| chain.short.len() <= 5));
    }

    #[test]
    fn ids_pass_and_names_are_told_their_id() {
        for id in ["42161", "osmosis-1", "987654321"] {
            assert_eq!(parse(id, false), Ok(ChainId::new(id)));
        }
        let wrong = parse("arbitrum", false).unwrap_err();
        assert!(wrong.to_string().contains("42161"), "{wrong}");
        let wrong = parse("Arbitrum One", false).unwrap_err();
        assert!(wrong.to_string().contains("42161"), "{wrong}");
    }

    #[test]
    fn a_link_speaks_for_its_chain() {
        let table = [
            ("https://arbiscan.io/tx/0x1", Some("42161")),
            ("HTTPS://www.Etherscan.io/tx/0x1", Some("1")),
            ("https://optimistic.etherscan.io/tx/0x1", Some("10")),
            ("https://www.mintscan.io/osmosis/tx/AB", Some("osmosis-1")),
            ("https://www.mintscan.io/osmosisx/tx/AB", None),
            ("https://arbiscan.io@evil.example/tx/0x1", None),
            ("https://evil.example/arbiscan.io", None),
            ("arbiscan.io", None),
        ];
        for (link, id) in table {
            assert_eq!(by_link(link).map(|chain| chain.id.as_str()), id, "{link}");
        }
    }

    #[test]
    fn the_beginning_of_a_name_may_mean_several_chains() {
        let ids = |text| starting(text).into_iter().map(|chain| chain.id.as_str()).collect::<Vec<_>>();
        assert_eq!((ids("arb"), ids(" Base "), ids("b")), (vec!["42161"], vec!["8453"], vec![]));
        assert!(ids("b").is_empty() && ids("mooncoin").is_empty() && ids("bl").len() == 1 && ids("op").len() == 1);
        assert!(ids("ba").len() == 1 && ids("so").len() >= 2, "{:?}", ids("so"));
    }

    #[test]
    fn other_words_are_refused_unless_asked_for() {
        assert_eq!(parse("mooncoin", false), Err(ChainError::Unknown("mooncoin".into())));
        let near = |text: &str| parse(text, false).unwrap_err().to_string().contains("did you mean");
        assert_eq!([near("Arbitrun"), near("mooncoin")], [true, false]);
        assert_eq!(parse("mooncoin", true), Ok(ChainId::new("mooncoin")));
        assert_eq!(parse(" ", true), Err(ChainError::Empty));
        assert_eq!(parse("a b", true), Err(ChainError::Malformed("a b".into())));
    }
}
