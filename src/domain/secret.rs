//! Secrets as values that can't be printed (`service.md` 5, `DESIGN.md`, Secrets): the integrator ID, and the password
//! of the team's store.
//!
//! They must never reach a log, a file, a panic or a screen; only the ID's last four characters and a fingerprint may.

use std::fmt;

use sha2::{Digest, Sha256};

use super::text;

/// An integrator ID. `Debug` and `Display` show its last four characters.
#[derive(Clone, PartialEq, Eq)]
pub struct IntegratorId(String);

/// Why a text can't be an integrator ID. The text itself is never part of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Empty text, or blanks only.
    #[error("it is empty")]
    Empty,
    /// A character that no header can carry, or a blank.
    #[error("it contains a space, a line break or another character that an HTTP header can't contain")]
    Character,
    /// More than 256 characters.
    #[error("it is longer than 256 characters")]
    Long,
}

impl IntegratorId {
    /// Reads an ID from text. The text may end with one line end, and must hold nothing else.
    pub fn new(text: &str) -> Result<Self, SecretError> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text.trim().is_empty() {
            return Err(SecretError::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SecretError::Character);
        }
        if text.len() > 256 {
            return Err(SecretError::Long);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the ID itself. Only the request's header may use it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the part that may be shown: the last four characters, `…7f3a`; none for an ID of fewer than 12
    /// characters.
    pub fn last4(&self) -> String {
        let tail = self.0.len().checked_sub(4).filter(|start| *start >= 8).and_then(|start| self.0.get(start..));
        format!("…{}", tail.unwrap_or(""))
    }

    /// Returns a name for files that belong to this ID at this base URL. The ID can't be recovered from the name.
    pub fn fingerprint(&self, base_url: &str) -> String {
        let digest = Sha256::new().chain_update(base_url).chain_update([0]).chain_update(&self.0).finalize();
        text::hex(&digest).chars().take(16).collect()
    }

    /// Returns `text` with every occurrence of the ID replaced by the part that may be shown.
    pub fn redact(&self, text: String) -> String {
        if text.contains(&self.0) { text.replace(&self.0, &self.last4()) } else { text }
    }
}

impl fmt::Debug for IntegratorId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "IntegratorId({})", self.last4())
    }
}

impl fmt::Display for IntegratorId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.last4())
    }
}

/// The password of the team's store. `Debug` doesn't show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Makes a password of a text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the password itself. Only the login may use it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Password(...)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANARY: &str = "canary-integrator-7f3a";

    #[test]
    fn an_id_prints_as_its_last_four_characters() {
        let id = IntegratorId::new(CANARY).unwrap();
        assert_eq!(format!("{id} {id:?} {id:#?}"), "…7f3a IntegratorId(…7f3a) IntegratorId(…7f3a)");
        assert_eq!(IntegratorId::new("short").unwrap().to_string(), "…");
        assert_eq!(id.redact(format!("a {CANARY} b")), "a …7f3a b");
    }

    #[test]
    fn fingerprints_differ_by_id_and_by_service() {
        let id = IntegratorId::new(CANARY).unwrap();
        let other = IntegratorId::new("another-integrator-7f3a").unwrap();
        assert_ne!(id.fingerprint("https://a.example"), other.fingerprint("https://a.example"));
        assert_ne!(id.fingerprint("https://a.example"), id.fingerprint("https://b.example"));
        assert_eq!(id.fingerprint("https://a.example").len(), 16);
    }

    #[test]
    fn an_id_that_a_header_cannot_carry_is_refused_and_not_echoed() {
        assert_eq!(IntegratorId::new(" \n"), Err(SecretError::Empty));
        for wrong in ["se\ncret", "se\0cret", "se cret", "sécret"] {
            let error = IntegratorId::new(wrong).unwrap_err();
            assert_eq!(error, SecretError::Character);
            assert!(!error.to_string().contains(wrong));
        }
        assert_eq!(IntegratorId::new(&"x".repeat(257)), Err(SecretError::Long));
        assert_eq!(IntegratorId::new("fine\r\n").unwrap().expose(), "fine");
    }
}
