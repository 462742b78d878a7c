//! Taking the integrator ID out of what the service sent back (`DESIGN.md`, Secrets).
//!
//! A service may echo the header in an error or in the record's `integratorId`. What this lets through must hold the ID
//! in no spelling.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::{Serialize, de::DeserializeOwned};

use crate::domain::{
    observation::{Failure, Outcome},
    secret::IntegratorId,
    text::{self, clean_or_none},
};

/// What may be shown of an `integratorId`, which may be another's: its last four characters, `…7f3a`. Nothing of what can't
/// be an ID, unless that is all that was left of one.
pub fn shown(raw: &str) -> Option<String> {
    let is_masked = raw.starts_with('…') && raw.chars().count() <= 5;
    match IntegratorId::new(raw) {
        Ok(id) => Some(id.last4()),
        Err(_) => clean_or_none(raw).filter(|_| is_masked),
    }
}

/// `body` without any ID: neither ours in any spelling, nor what stands as `integratorId`, such as one that was withdrawn.
pub fn body(id: &IntegratorId, body: String) -> String {
    static FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"("integratorId"\s*:\s*")([^"]*)(")"#).ok());
    let body = text(id, body);
    let mask = |found: &Captures<'_>| {
        let group = |index| found.get(index).map_or("", |group| group.as_str());
        format!("{}{}{}", group(1), shown(group(2)).unwrap_or_default(), group(3))
    };
    match FIELD.as_ref() {
        Some(field) if body.contains("integratorId") => field.replace_all(&body, mask).into_owned(),
        _ => body,
    }
}

/// `text` as whoever reads it will see it, where that has the ID in it and the text as it stands hasn't: with escapes such
/// as `\u0063` written out, and without what the sanitiser takes away.
fn hiding(id: &IntegratorId, text: &str) -> Option<String> {
    if !text.contains("\\u") && text.is_ascii() {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let (meant, length) = match escaped(rest) {
            // Without its backslash a quotation mark would end the text that it stands in.
            Some(meant) if meant.is_ascii_graphic() && !matches!(meant, '"' | '\\') => (Some(meant), 6),
            Some(meant) if text::is_dropped(meant) => (None, 6),
            _ if text::is_dropped(letter) => (None, letter.len_utf8()),
            _ => (Some(letter), letter.len_utf8()),
        };
        plain.extend(meant);
        rest = rest.get(length..).unwrap_or_default();
    }
    (plain.contains(id.expose()) && plain != text).then_some(plain)
}

/// The character that an escape `\uXXXX` at the start of a text stands for.
fn escaped(text: &str) -> Option<char> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    char::from_u32(u32::from_str_radix(digits, 16).ok()?)
}

/// `text` without the ID, as it stands, as JSON writes it, or as it is hidden in it.
pub fn text(id: &IntegratorId, text: String) -> String {
    let text = hiding(id, &text).unwrap_or(text);
    let quoted = |raw: &str| serde_json::Value::from(raw).to_string().trim_matches('"').to_owned();
    // `trim_matches` also takes a quote off that belongs to the ID; the rest is still found.
    let (spelled, shown) = (quoted(id.expose()), quoted(&id.last4()));
    let mut text = text;
    for spelling in [spelled.replace('/', "\\/"), spelled] {
        if spelling != id.expose() && text.contains(&spelling) {
            text = text.replace(&spelling, &shown);
        }
    }
    id.redact(text)
}

/// A value without the ID in any of its texts; `None` if it can't be had without.
pub fn rewritten<T: Serialize + DeserializeOwned>(id: &IntegratorId, value: T) -> Option<T> {
    let written = serde_json::to_string(&value).ok()?;
    let redacted = text(id, written.clone());
    if redacted == written { Some(value) } else { serde_json::from_str(&redacted).ok() }
}

/// `outcome` without the ID, also where an escape such as `\u0063` or the sanitiser has only now put it together.
pub fn outcome(id: &IntegratorId, outcome: Outcome) -> Outcome {
    let failure = match outcome {
        Outcome::Record(record) => {
            let told = rewritten(id, record).map(Outcome::Record);
            let hidden = "it repeats the integrator ID where that can't be taken out";
            return told.unwrap_or_else(|| Outcome::Failed(Failure::Unreadable(hidden.into())));
        }
        Outcome::NotFound(said) => return Outcome::NotFound(said.map(|said| text(id, said))),
        Outcome::Failed(failure) => match failure {
            Failure::Rejected(said) => Failure::Rejected(text(id, said)),
            Failure::Unauthorized(said) => Failure::Unauthorized(text(id, said)),
            Failure::Server { status, message } => Failure::Server { status, message: text(id, message) },
            Failure::Unreadable(said) => Failure::Unreadable(text(id, said)),
            Failure::OtherTransaction(said) => Failure::OtherTransaction(text(id, said)),
            Failure::Transport(said) => Failure::Transport(text(id, said)),
            Failure::Throttled { message, retry_after } => {
                Failure::Throttled { message: message.map(|said| text(id, said)), retry_after }
            }
            silent @ Failure::TimedOut(_) => silent,
        },
    };
    Outcome::Failed(failure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{record::StatusRecord, status::RouterStatus};

    #[test]
    fn an_id_that_is_hidden_goes_too() {
        let id = IntegratorId::new("ours-12345678").unwrap();
        let long = "x".repeat(500);
        for hidden in [
            r#"{"message":"\u006furs-12345678 is odd"}"#.to_owned(),
            r#"{"message":"o\u0075rs\u002D12345678"}"#.to_owned(),
            "{\"message\":\"ours\u{200b}-1234\u{1b}5678\"}".to_owned(),
            r#"{"message":"ours\u200b-12345678"}"#.to_owned(),
            format!(r#"{{"message":"{long}\u006furs-12345678"}}"#),
        ] {
            let body = body(&id, hidden.clone());
            let read: serde_json::Value = serde_json::from_str(&body).unwrap();
            let said = read["message"].as_str().unwrap();
            assert!(said.contains("…5678") && !said.contains("ours"), "{hidden}: {body}");
        }
        // What hides nothing stays as it came.
        let fine = r#"{"message":"\u00e9 \u0022 \ud800","a":"é\u200b"}"#;
        assert_eq!(body(&id, fine.into()), fine);
    }

    #[test]
    fn an_integrator_id_that_is_not_ours_is_masked_too() {
        let id = IntegratorId::new("ours-12345678").unwrap();
        let table = [
            (r#"{"integratorId": "theirs-987654321", "a": "theirs"}"#, r#"{"integratorId": "…4321", "a": "theirs"}"#),
            (r#"{"integratorId":"ours-12345678"}"#, r#"{"integratorId":"…5678"}"#),
            (r#"{"integratorId":""}"#, r#"{"integratorId":""}"#),
            (r#"{"integratorId":7}"#, r#"{"integratorId":7}"#),
            (r#"{"integratorId":"cut off"#, r#"{"integratorId":"cut off"#),
        ];
        for (raw, masked) in table {
            assert_eq!(body(&id, raw.into()), masked);
        }
        assert_eq!(
            (shown("…7f3a").as_deref(), shown("not an id"), shown("…but a long one")),
            (Some("…7f3a"), None, None)
        );
    }

    #[test]
    fn every_spelling_of_the_id_goes() {
        let id = IntegratorId::new(r#"can"ary\integ/rator-7f3a"#).unwrap();
        for spelling in
            [r#"can"ary\integ/rator-7f3a"#, r#"can\"ary\\integ/rator-7f3a"#, r#"can\"ary\\integ\/rator-7f3a"#]
        {
            assert_eq!(text(&id, format!("a {spelling} b")), "a …7f3a b");
        }
        assert_eq!(text(&id, "nothing".into()), "nothing");
    }

    #[test]
    fn outcomes_lose_the_id_and_keep_the_rest() {
        let id = IntegratorId::new("canary-integrator-7f3a").unwrap();
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        record.error = Some("id canary-integrator-7f3a is slow".into());
        let Outcome::Record(redacted) = outcome(&id, Outcome::Record(Box::new(record))) else { panic!() };
        assert_eq!((redacted.error.as_deref(), redacted.status), (Some("id …7f3a is slow"), RouterStatus::Ongoing));
        let refused = Outcome::Failed(Failure::Unauthorized("canary-integrator-7f3a is unknown".into()));
        assert_eq!(outcome(&id, refused), Outcome::Failed(Failure::Unauthorized("…7f3a is unknown".into())));
    }
}
