//! The shipped table of well-known chains, for names that the service hasn't given yet.
//!
//! The table helps people. It must never limit requests to the service: an ID outside the table may be valid.

use std::{collections::HashMap, sync::LazyLock};

use serde::Deserialize;

use super::{ids::ChainId, toml_text};

/// A well-known chain.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// The ID as the service uses it.
    pub id: ChainId,
    /// The name: `Arbitrum`.
    pub name: String,
    /// The short name, of at most five letters, for a narrow column: `ARB`.
    pub short: String,
    /// Other names that people use, in lower case.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The hosts of its block explorers, in lower case; some with the beginning of a path.
    #[serde(default)]
    pub explorers: Vec<String>,
}

impl Chain {
    /// Returns the name, the short name and the aliases, in lower case.
    fn names(&self) -> impl Iterator<Item = String> {
        [&self.name, &self.short].into_iter().chain(&self.aliases).map(|name| name.to_lowercase())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChainFile {
    chain: Vec<Chain>,
}

static TABLE: LazyLock<Vec<Chain>> = LazyLock::new(|| {
    // The asset is part of the program; a test checks that it can be read.
    toml::from_str::<ChainFile>(include_str!("../../assets/chains.toml")).map(|table| table.chain).unwrap_or_default()
});

/// Returns all well-known chains, in the table's order.
pub(crate) fn all() -> &'static [Chain] {
    &TABLE
}

/// Returns the well-known chain with this ID.
pub(crate) fn find(id: &ChainId) -> Option<&'static Chain> {
    find_by_id(id.as_str())
}

/// Like [`find`], for an ID given as text.
pub(crate) fn find_by_id(id: &str) -> Option<&'static Chain> {
    static BY_ID: LazyLock<HashMap<&str, &Chain>> =
        LazyLock::new(|| TABLE.iter().map(|chain| (chain.id.as_str(), chain)).collect());
    BY_ID.get(id).copied()
}

/// Returns a chain's name for people, if only its ID is known: the table's name, else the ID.
pub(crate) fn name(id: &ChainId) -> String {
    find(id).map_or_else(|| id.to_string(), |chain| chain.name.clone())
}

/// Returns the well-known chain with this name, short name or alias, ignoring case.
pub(crate) fn find_by_name(text: &str) -> Option<&'static Chain> {
    let text = text.trim().to_lowercase();
    TABLE.iter().find(|chain| chain.names().any(|name| name == text))
}

/// Returns the well-known chain whose block explorer the link leads to.
pub(crate) fn find_by_link(link: &str) -> Option<&'static Chain> {
    let (_, rest) = link.split_once("://")?;
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = host.to_ascii_lowercase();
    let leads_to = |explorer: &String| match explorer.split_once('/') {
        None => *explorer == host,
        Some((explorer_host, start)) => {
            let inside = path.strip_prefix('/').and_then(|path| path.strip_prefix(start));
            explorer_host == host && inside.is_some_and(|inside| inside.starts_with('/'))
        }
    };
    TABLE.iter().find(|chain| chain.explorers.iter().any(leads_to))
}

/// Returns the well-known chains that the beginning of a name may mean. A chain with exactly this name is returned
/// alone; otherwise all chains whose name, short name or alias begins with `text`. Case is ignored. Fewer than two
/// letters match no chain.
pub(crate) fn find_by_prefix(text: &str) -> Vec<&'static Chain> {
    let text = text.trim().to_lowercase();
    if text.chars().count() < 2 {
        return Vec::new();
    }
    let is_candidate = |chain: &&Chain| chain.names().any(|name| name.starts_with(&text));
    find_by_name(&text).map_or_else(|| TABLE.iter().filter(is_candidate).collect(), |chain| vec![chain])
}

/// Returns the well-known chains that a text typed in place of an ID may mean; none if the text is a known ID.
pub(crate) fn chains_by_name(typed: &str) -> Vec<&'static Chain> {
    if find_by_id(typed.trim()).is_some() { Vec::new() } else { find_by_prefix(typed) }
}

/// Returns the well-known chain whose name, short name or alias is nearest to a misspelt one.
pub(crate) fn find_nearest(typed: &str) -> Option<&'static Chain> {
    find_nearest_among(TABLE.iter().flat_map(|chain| chain.names()), typed)
}

/// Returns the well-known chain to which the nearest of these names belongs. `names` are names of well-known chains, in
/// lower case.
fn find_nearest_among(names: impl Iterator<Item = String>, typed: &str) -> Option<&'static Chain> {
    let names: Vec<String> = names.collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    toml_text::nearest(&typed.trim().to_lowercase(), &known).and_then(find_by_name)
}

/// Returns at most five letters for a narrow column: the table's short name, else the service's name in capitals, else
/// the ID, cut to fit.
pub(crate) fn short_name(id: &ChainId, service_name: Option<&str>) -> String {
    let first = |text: &str| text.chars().filter(|letter| *letter != ' ').take(5).collect::<String>();
    match (find(id), service_name) {
        (Some(chain), _) => chain.short.clone(),
        (None, Some(name)) => first(&name.to_uppercase()),
        (None, None) => first(id.as_str()),
    }
}

/// Why a text can't be read as a chain ID.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChainError {
    #[error("it is empty; write the chain's ID as the service uses it, for example 42161")]
    Empty,
    /// A chain's name where its ID is needed.
    #[error("`{text}` is a chain name; use the chain's ID: {id}")]
    Name { text: String, id: ChainId },
    /// Text that isn't in the table and doesn't look like an ID.
    #[error("`{0}` is not a known chain ID; {hint} (--any-chain on the command line accepts it)", hint = hint(.0))]
    Unknown(String),
    /// Text that no ID can contain.
    #[error("`{0}` is not a valid chain ID; an ID has up to 64 letters, digits, `-`, `_` and `.`")]
    Malformed(String),
}

/// Returns the chain whose name is nearest to the text, if one is near; else a description of IDs.
fn hint(text: &str) -> String {
    match find_nearest_among(TABLE.iter().map(|chain| chain.name.to_lowercase()), text) {
        Some(chain) => format!("did you mean {} ({})?", chain.name, chain.id),
        None => "IDs look like 42161 or osmosis-1".into(),
    }
}

/// Reads `CHAIN` of the command line and the files: an ID as the service uses it. IDs are opaque: numbers, IDs of the
/// table and texts like `osmosis-1` are accepted. With `allows_any`, all texts that can be an ID are accepted.
pub(crate) fn parse(text: &str, allows_any: bool) -> Result<ChainId, ChainError> {
    let text = super::text::clean(text);
    if text.is_empty() {
        return Err(ChainError::Empty);
    }
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let is_valid = text.len() <= 64 && text.chars().all(fits);
    let id = ChainId::new(text.clone());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let looks_like_an_id =
        is_number(&text) || text.rsplit_once('-').is_some_and(|(name, number)| !name.is_empty() && is_number(number));
    if is_valid && (allows_any || looks_like_an_id || find(&id).is_some()) {
        return Ok(id);
    }
    Err(match find_by_name(&text) {
        Some(chain) => ChainError::Name { text, id: chain.id.clone() },
        None if is_valid => ChainError::Unknown(text),
        None => ChainError::Malformed(text),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_table_can_be_read_and_has_no_duplicates() {
        let table: ChainFile = toml::from_str(include_str!("../../assets/chains.toml")).unwrap();
        assert!(table.chain.len() >= 20);
        let ids: HashSet<_> = table.chain.iter().map(|chain| &chain.id).collect();
        let shorts: HashSet<_> = table.chain.iter().map(|chain| &chain.short).collect();
        assert_eq!((ids.len(), shorts.len()), (table.chain.len(), table.chain.len()));
        assert!(table.chain.iter().all(|chain| chain.short.len() <= 5));
    }

    #[test]
    fn ids_are_accepted_and_names_get_an_error_with_their_id() {
        for id in ["42161", "osmosis-1", "987654321"] {
            assert_eq!(parse(id, false), Ok(ChainId::new(id)));
        }
        let wrong = parse("arbitrum", false).unwrap_err();
        assert!(wrong.to_string().contains("42161"), "{wrong}");
        let wrong = parse("Arbitrum One", false).unwrap_err();
        assert!(wrong.to_string().contains("42161"), "{wrong}");
    }

    #[test]
    fn a_link_identifies_its_chain() {
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
            assert_eq!(find_by_link(link).map(|chain| chain.id.as_str()), id, "{link}");
        }
    }

    #[test]
    fn the_beginning_of_a_name_may_mean_several_chains() {
        let ids = |text| find_by_prefix(text).into_iter().map(|chain| chain.id.as_str()).collect::<Vec<_>>();
        assert_eq!((ids("arb"), ids(" Base "), ids("b")), (vec!["42161"], vec!["8453"], vec![]));
        assert!(ids("b").is_empty() && ids("mooncoin").is_empty() && ids("bl").len() == 1 && ids("op").len() == 1);
        assert!(ids("ba").len() == 1 && ids("so").len() >= 2, "{:?}", ids("so"));
    }

    #[test]
    fn unknown_words_are_refused_unless_any_is_set() {
        assert_eq!(parse("mooncoin", false), Err(ChainError::Unknown("mooncoin".into())));
        let near = |text: &str| parse(text, false).unwrap_err().to_string().contains("did you mean");
        assert_eq!([near("Arbitrun"), near("mooncoin")], [true, false]);
        assert_eq!(parse("mooncoin", true), Ok(ChainId::new("mooncoin")));
        assert_eq!(parse(" ", true), Err(ChainError::Empty));
        assert_eq!(parse("a b", true), Err(ChainError::Malformed("a b".into())));
    }
}
