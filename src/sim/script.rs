//! Reads one answer of a scenario file: its keys, their valid combinations, and their meaning.
//!
//! This module must never guess: contradictory keys are an error that names the fix.

use std::{collections::BTreeMap, time::Duration};

use axum::http::{HeaderName, HeaderValue};
use serde::Deserialize;
use toml::Spanned;

use super::{
    edit::RecordEdit,
    plan::{AnswerContent, FaultyAnswer, Headers, PlannedAnswer, ScriptedRoute, TransferStage},
};

/// A byte offset in the text, and the error there.
pub(super) type LocatedError = (usize, String);

/// An element of `answers`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerTable {
    from: f64,
    status: Option<String>,
    steps: Option<usize>,
    #[serde(default)]
    set: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    unset: Vec<Spanned<String>>,
    http: Option<u16>,
    body: Option<String>,
    play: Option<FaultyAnswer>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    retry_after: Option<String>,
}

/// A `[[route]]` table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RouteTable {
    #[serde(rename = "fromAddress")]
    pub from_address: Spanned<String>,
    http: Option<u16>,
    body: Option<String>,
    play: Option<FaultyAnswer>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    retry_after: Option<String>,
}

/// Returns the stage that an answer describes; `at` is the byte offset of the answer.
pub(super) fn stage(table: AnswerTable, at: usize) -> Result<TransferStage, LocatedError> {
    let wrong = |reason: &str| (at, reason.to_owned());
    let from = Duration::try_from_secs_f64(table.from).map_err(|_| wrong("`from` must be seconds, 0 or more"))?;
    let is_edited = !table.set.is_empty() || !table.unset.is_empty();
    let answer = match table.status {
        Some(_) if table.http.is_some() => {
            return Err(wrong("`status` and `http` exclude each other; leave one of them out"));
        }
        Some(_) if table.play.is_some() => {
            return Err(wrong("`status` and `play` exclude each other; leave one of them out"));
        }
        Some(_) if table.body.is_some() => {
            return Err(wrong("`body` belongs to `http`; write http = 200 instead of `status`"));
        }
        Some(status) => {
            let edits = edits(&table.set, &table.unset)?;
            PlannedAnswer::Record { status, steps: table.steps.unwrap_or(0), edits }
        }
        None if is_edited => return Err(wrong("`set` and `unset` belong to `status`; with `http` write a `body`")),
        None if table.steps.is_some() => return Err(wrong("`steps` belongs to `status`; leave it out")),
        None => {
            let (status, content) = content(table.http, table.body, table.play).map_err(|reason| (at, reason))?;
            PlannedAnswer::Http { status, content }
        }
    };
    let headers = headers(table.headers, table.retry_after).map_err(|reason| (at, reason))?;
    Ok(TransferStage { from, answer, headers })
}

/// Returns the answer to route requests that a `[[route]]` describes.
pub(super) fn route(table: RouteTable) -> Result<ScriptedRoute, LocatedError> {
    let at = table.from_address.span().start;
    let (status, content) = content(table.http, table.body, table.play).map_err(|reason| (at, reason))?;
    let headers = headers(table.headers, table.retry_after).map_err(|reason| (at, reason))?;
    Ok(ScriptedRoute { from_address: table.from_address.into_inner(), status, content, headers })
}

/// Returns the edits in order: first `set`, outer fields before inner fields, then `unset`.
fn edits(set: &BTreeMap<String, Spanned<String>>, unset: &[Spanned<String>]) -> Result<Vec<RecordEdit>, LocatedError> {
    let set = set.iter().map(|(pointer, text)| {
        RecordEdit::set(pointer, text.get_ref()).map_err(|error| (text.span().start, format!("`set`: {error}")))
    });
    let unset = unset.iter().map(|pointer| {
        RecordEdit::unset(pointer.get_ref()).map_err(|error| (pointer.span().start, format!("`unset`: {error}")))
    });
    set.chain(unset).collect()
}

fn content(
    http: Option<u16>,
    body: Option<String>,
    play: Option<FaultyAnswer>,
) -> Result<(u16, AnswerContent), String> {
    let content = match (body, play) {
        (Some(_), Some(_)) => return Err("`body` and `play` exclude each other; leave one of them out".to_owned()),
        (Some(body), None) => AnswerContent::Text(body),
        (None, Some(play)) => AnswerContent::FaultyAnswer(play),
        (None, None) => AnswerContent::Default,
    };
    match (http, content) {
        (None, AnswerContent::FaultyAnswer(play)) => Ok((200, AnswerContent::FaultyAnswer(play))),
        (None, _) => Err("the answer has no content; write status = \"ongoing\" or http = 404".to_owned()),
        (Some(_), AnswerContent::FaultyAnswer(play)) if !play.has_status() => {
            Err("`http` says how the answer begins, and this play has none; leave `http` out".to_owned())
        }
        (Some(200), AnswerContent::Default) => {
            Err("http = 200 needs a `body`; for a record write `status` instead".to_owned())
        }
        (Some(status @ 200..=599), content) => Ok((status, content)),
        (Some(status), _) => Err(format!("http = {status} can't be sent; write one from 200 to 599")),
    }
}

fn headers(table: BTreeMap<String, String>, retry_after: Option<String>) -> Result<Headers, String> {
    /// Headers that the server sets itself, or that have their own key.
    const RESERVED: [&str; 3] = ["content-length", "transfer-encoding", "retry-after"];
    let mut headers = Headers::new();
    for (name, text) in table {
        let name = name.to_lowercase();
        if RESERVED.contains(&name.as_str()) {
            return Err(format!("`headers`: {name} can't be set here; for a rest there is retry_after = \"7\""));
        }
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(format!("`headers`: `{name}` is no header's name; write for example location = \"/\""));
        }
        headers.push((name, text));
    }
    headers.extend(retry_after.map(|text| ("retry-after".to_owned(), text)));
    match headers.iter().find(|(_, text)| HeaderValue::from_str(text).is_err()) {
        Some((name, _)) => Err(format!("the header {name} holds what no header can; leave out control characters")),
        None => Ok(headers),
    }
}
