//! Removes the integrator ID from answers of the service (`DESIGN.md`, Secrets).
//!
//! The service may echo the header in an error or in the record's `integratorId`. A returned value must never hold the
//! ID in any spelling.

use std::sync::LazyLock;

use memchr::memmem;
use regex::{Captures, Regex};
use serde::{Serialize, de::DeserializeOwned};

use crate::domain::{
    observation::{RequestFailure, StatusOutcome},
    secret::IntegratorId,
    text::{self, clean_or_none},
};

/// Returns the part of an `integratorId` that may be shown: its last four characters, `…7f3a`. The ID may be another
/// integrator's. Returns `None` for text that can't be an ID, unless it is a masked ID.
pub(super) fn mask(raw: &str) -> Option<String> {
    let is_masked = raw.starts_with('…') && raw.chars().count() <= 5;
    match IntegratorId::new(raw) {
        Ok(id) => Some(id.last4()),
        Err(_) => clean_or_none(raw).filter(|_| is_masked),
    }
}

/// Returns `body` without any ID: our ID in any spelling, and every value of `integratorId`, such as a withdrawn ID.
pub(super) fn body(id: &IntegratorId, body: String) -> String {
    static FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"("integratorId"\s*:\s*")([^"]*)(")"#).ok());
    let body = text(id, body);
    if !contains(&body, "integratorId") {
        return body;
    }
    let Some(field) = FIELD.as_ref() else { return body };
    let mask = |found: &Captures<'_>| {
        let group = |index| found.get(index).map_or("", |group| group.as_str());
        format!("{}{}{}", group(1), mask(group(2)).unwrap_or_default(), group(3))
    };
    field.replace_all(&body, mask).into_owned()
}

/// Returns a body that was cut off, without an incomplete ID at its end: a part of our ID in any spelling, or of
/// another value of `integratorId`.
pub(super) fn cut_end(id: &IntegratorId, mut body: String) -> String {
    static OPEN_FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""integratorId"\s*:\s*"[^"]*$"#).ok());
    /// The most bytes of one character: an escape.
    const MAX_ESCAPE: usize = 6;
    /// A shorter part of an ID tells nothing.
    const MIN_PART: usize = 4;
    if let Some(open) = OPEN_FIELD.as_ref().and_then(|field| field.find(&body)) {
        body.truncate(open.start());
    }
    let spellings = spellings(id);
    let first = body.len().saturating_sub((id.expose().len() + 1) * MAX_ESCAPE);
    let mut starts = body.char_indices().map(|(start, _)| start).filter(|start| *start >= first);
    let is_part = |start: &usize| {
        let end = body.get(*start..).unwrap_or_default();
        // An escape that is cut itself tells nothing either.
        let whole = end.rfind('\\').filter(|at| end.len() - at < MAX_ESCAPE).and_then(|at| end.get(..at));
        [Some(end), whole]
            .into_iter()
            .flatten()
            .map(reveal)
            .any(|part| part.len() >= MIN_PART && spellings.iter().any(|spelling| spelling.starts_with(&part)))
    };
    if let Some(start) = starts.find(is_part) {
        body.truncate(start);
    }
    body
}

/// Whether `text` contains `part`. Several times as fast as `str::contains` for the body of an answer.
fn contains(text: &str, part: &str) -> bool {
    memmem::find(text.as_bytes(), part.as_bytes()).is_some()
}

/// Returns `text` as a reader will see the text, if only that form contains the ID.
fn reveal_hidden(id: &IntegratorId, text: &str) -> Option<String> {
    if text.is_ascii() && !contains(text, "\\u") {
        return None;
    }
    let revealed = reveal(text);
    (contains(&revealed, id.expose()) && revealed != text).then_some(revealed)
}

/// Returns `text` as a reader will see it: escapes such as `\u0063` are decoded, and characters that the sanitiser drops
/// are missing.
fn reveal(text: &str) -> String {
    let mut revealed = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        // Most of a text is printable ASCII, which stays as it is.
        let is_special = |byte| byte == b'\\' || !(b' '..=b'~').contains(&byte);
        let (plain, special) = rest.split_at(rest.bytes().position(is_special).unwrap_or(rest.len()));
        revealed.push_str(plain);
        let Some(character) = special.chars().next() else { return revealed };
        let (decoded, length) = match parse_escape(special) {
            // Without its backslash a quotation mark would end the JSON text that contains it.
            Some(decoded) if decoded.is_ascii_graphic() && !matches!(decoded, '"' | '\\') => (Some(decoded), 6),
            Some(decoded) if text::is_dropped(decoded) => (None, 6),
            _ if text::is_dropped(character) => (None, character.len_utf8()),
            _ => (Some(character), character.len_utf8()),
        };
        revealed.extend(decoded);
        rest = special.get(length..).unwrap_or_default();
    }
}

/// Returns the character of an escape `\uXXXX` at the start of a text.
fn parse_escape(text: &str) -> Option<char> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    char::from_u32(u32::from_str_radix(digits, 16).ok()?)
}

/// Returns `text` without the ID: as it is, in JSON spelling, or hidden by escapes and dropped characters.
pub(super) fn text(id: &IntegratorId, text: String) -> String {
    without_id(id, &text).unwrap_or(text)
}

/// Returns `text` without the ID; `None` if `text` doesn't contain the ID.
fn without_id(id: &IntegratorId, text: &str) -> Option<String> {
    let mut redacted = reveal_hidden(id, text);
    let (plain, mask) = (id.expose(), id.last4());
    let masked = in_json(&mask);
    for spelling in spellings(id) {
        let current = redacted.as_deref().unwrap_or(text);
        if contains(current, &spelling) {
            redacted = Some(current.replace(&spelling, if spelling == plain { &mask } else { &masked }));
        }
    }
    redacted
}

/// Returns a text as JSON spells it, without the quotation marks around it.
fn in_json(raw: &str) -> String {
    // `trim_matches` may also remove a quotation mark of the ID; the shortened spelling is still found.
    serde_json::Value::from(raw).to_string().trim_matches('"').to_owned()
}

/// Returns the spellings of the ID, each once: most IDs have one, and each text is searched once for each.
fn spellings(id: &IntegratorId) -> Vec<String> {
    let (plain, spelled) = (id.expose(), in_json(id.expose()));
    let mut spellings = vec![spelled.replace('/', "\\/"), spelled, plain.to_owned()];
    spellings.dedup();
    spellings
}

/// Returns a value without the ID in any of its texts; `None` if the ID can't be removed.
pub(super) fn value<T: Serialize + DeserializeOwned>(id: &IntegratorId, value: T) -> Option<T> {
    let written = serde_json::to_string(&value).ok()?;
    match without_id(id, &written) {
        Some(redacted) => serde_json::from_str(&redacted).ok(),
        None => Some(value),
    }
}

/// Returns `outcome` without the ID, even where decoding an escape such as `\u0063` or the sanitiser has produced it.
pub(super) fn outcome(id: &IntegratorId, outcome: StatusOutcome) -> StatusOutcome {
    match outcome {
        StatusOutcome::Record(record) => {
            let redacted = value(id, record).map(StatusOutcome::Record);
            let reason = "it contains the integrator ID in a place that can't be redacted";
            redacted.unwrap_or_else(|| StatusOutcome::Failed(RequestFailure::Unreadable(reason.into())))
        }
        StatusOutcome::NotFound(message) => StatusOutcome::NotFound(message.map(|message| text(id, message))),
        StatusOutcome::Failed(failure) => StatusOutcome::Failed(match failure {
            RequestFailure::Rejected(message) => RequestFailure::Rejected(text(id, message)),
            RequestFailure::Unauthorized(message) => RequestFailure::Unauthorized(text(id, message)),
            RequestFailure::Server { status, message } => RequestFailure::Server { status, message: text(id, message) },
            RequestFailure::Unreadable(message) => RequestFailure::Unreadable(text(id, message)),
            RequestFailure::OtherTransaction(message) => RequestFailure::OtherTransaction(text(id, message)),
            RequestFailure::Transport(message) => RequestFailure::Transport(text(id, message)),
            RequestFailure::Throttled { message, retry_after } => {
                RequestFailure::Throttled { message: message.map(|message| text(id, message)), retry_after }
            }
            unchanged @ (RequestFailure::TimedOut(_) | RequestFailure::Local(_)) => unchanged,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{record::StatusRecord, status::RouterStatus};

    #[test]
    fn redacts_an_id_hidden_by_escapes_or_invisible_characters() {
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
            let message = read["message"].as_str().unwrap();
            assert!(message.contains("…5678") && !message.contains("ours"), "{hidden}: {body}");
        }
        // A body that hides no ID stays unchanged.
        let fine = r#"{"message":"\u00e9 \u0022 \ud800","a":"é\u200b"}"#;
        assert_eq!(body(&id, fine.into()), fine);
    }

    #[test]
    fn masks_another_integrator_id() {
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
        assert_eq!((mask("…7f3a").as_deref(), mask("not an id"), mask("…but a long one")), (Some("…7f3a"), None, None));
    }

    #[test]
    fn end_of_a_body_that_is_cut_inside_an_id_is_removed() {
        let id = IntegratorId::new("canary-integrator/7f3a").unwrap();
        let cut = |body: &str| cut_end(&id, body.to_owned());
        for (body, kept) in [
            ("{\"message\":\"bad id canary-integrator/7f3", "{\"message\":\"bad id "),
            ("bad id canary-integrator\\/7f", "bad id "),
            ("bad id \\u0063anary-int", "bad id "),
            ("bad id canary-int\\u00", "bad id "),
            ("é canary", "é "),
            ("a can", "a can"),
            ("bad request", "bad request"),
            ("{\"a\": 1, \"integratorId\": \"other-1234", "{\"a\": 1, "),
            ("", ""),
        ] {
            assert_eq!(cut(body), kept, "{body}");
        }
    }

    #[test]
    fn redacts_every_spelling_of_the_id() {
        let id = IntegratorId::new(r#"can"ary\integ/rator-7f3a"#).unwrap();
        for spelling in
            [r#"can"ary\integ/rator-7f3a"#, r#"can\"ary\\integ/rator-7f3a"#, r#"can\"ary\\integ\/rator-7f3a"#]
        {
            assert_eq!(text(&id, format!("a {spelling} b")), "a …7f3a b");
        }
        assert_eq!(text(&id, "nothing".into()), "nothing");
    }

    #[test]
    fn redacts_an_outcome_and_keeps_its_other_fields() {
        let id = IntegratorId::new("canary-integrator-7f3a").unwrap();
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        record.error = Some("id canary-integrator-7f3a is slow".into());
        let StatusOutcome::Record(redacted) = outcome(&id, StatusOutcome::Record(Box::new(record))) else { panic!() };
        assert_eq!((redacted.error.as_deref(), redacted.status), (Some("id …7f3a is slow"), RouterStatus::Ongoing));
        let refused = StatusOutcome::Failed(RequestFailure::Unauthorized("canary-integrator-7f3a is unknown".into()));
        assert_eq!(
            outcome(&id, refused),
            StatusOutcome::Failed(RequestFailure::Unauthorized("…7f3a is unknown".into()))
        );
    }
}
