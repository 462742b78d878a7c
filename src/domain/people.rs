//! The people who use a store: their names, and the authors of the parts of a transaction.
//!
//! A person sets their name, and nothing verifies it. This module must never decide permissions.

use super::text;

/// The maximum number of characters in a name.
const NAME_LIMIT: usize = 64;
/// The text between the name that a person set and the name that a team's database verified (`team::author`).
pub(super) const VIA: &str = " via ";

/// Returns a name as clean text of at most 64 characters; `None` if nothing is left.
pub(crate) fn clean_name(raw: &str) -> Option<String> {
    let name: String = text::clean(raw).chars().take(NAME_LIMIT).collect();
    Some(name.trim_end().to_owned()).filter(|name| !name.is_empty())
}

/// Returns ` by NAME` for a sentence; nothing without an author.
pub(crate) fn author_suffix(author: Option<&str>) -> String {
    author.map_or_else(String::new, |author| format!(" by {}", text::clean(author)))
}

/// Returns `NAME: ` before a text; nothing without an author.
pub(crate) fn author_prefix(author: Option<&str>) -> String {
    author.map_or_else(String::new, |author| format!("{}: ", text::clean(author)))
}

/// Whether an author has the name `lower`, ignoring case: the whole name, or the name before ` via `. `lower` must be
/// in lower case.
pub(crate) fn is_author(author: &str, lower: &str) -> bool {
    let author = author.to_lowercase();
    author == lower || author.strip_prefix(lower).is_some_and(|rest| rest.starts_with(VIA))
}

/// The authors of the parts of a transaction; `None` for an author without a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authors {
    /// Who added the transaction.
    pub tracked: Option<String>,
    /// Who set the ticket.
    pub ticket: Option<String>,
    /// Who added each label, in the order of the labels; empty if no label has an author.
    pub labels: Vec<Option<String>>,
    /// Who wrote each note, in the order of the notes; empty if no note has an author.
    pub notes: Vec<Option<String>>,
}

impl Authors {
    /// Returns the author of the note with this index.
    pub fn note_author(&self, index: usize) -> Option<&str> {
        self.notes.get(index)?.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_cleaned_and_cut() {
        assert_eq!(clean_name(" A\u{1b}[1mna\n B. ").as_deref(), Some("A[1mna B."));
        assert_eq!(clean_name(" \u{7}\t"), None);
        assert_eq!(clean_name(&"ä".repeat(99)).map(|name| name.chars().count()), Some(NAME_LIMIT));
    }

    #[test]
    fn author_is_found_by_the_whole_name_without_case() {
        for (author, lower, found) in [
            ("Ana", "ana", true),
            ("Ana", "an", false),
            ("ÄRGER", "ärger", true),
            ("Ana via support", "ana", true),
            ("Ana via support", "ana via support", true),
            ("Ana via support", "support", false),
            ("Anastasia", "ana", false),
        ] {
            assert_eq!(is_author(author, lower), found, "{author} {lower}");
        }
    }
}
