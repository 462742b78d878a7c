//! The replies of the simulated service, and how they are sent.
//!
//! Pure: an answer is a description, and nothing is sent here. A body must never be printed: a record holds the
//! integrator ID.

use std::{fmt, time::Duration};

use super::{
    body,
    plan::{AnswerContent, FaultyAnswer, Headers},
};

/// The header with the ID of a response.
pub(super) const REQUEST_ID: &str = "x-request-id";
/// The header with the integrator ID, in a request and in the response.
pub(super) const INTEGRATOR_ID: &str = "x-integrator-id";

/// A reply to a request.
#[derive(Clone, PartialEq, Eq)]
pub struct SimulatedAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Headers,
    /// The body; empty where a play replaces it.
    pub body: String,
    /// How the reply is sent.
    pub delivery: AnswerDelivery,
    /// The time between the arrival of the request and the reply.
    pub delay: Duration,
}

/// How a reply is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerDelivery {
    /// Immediately and as a whole.
    #[default]
    Whole,
    /// As a faulty service sends a reply.
    FaultyAnswer(FaultyAnswer),
}

impl SimulatedAnswer {
    /// Creates a whole reply with this body.
    pub(super) fn new(status: u16, body: String) -> Self {
        let kind = if body.trim_start().starts_with('<') { "text/html" } else { "application/json" };
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Self { status, headers, body, delivery: AnswerDelivery::Whole, delay: Duration::ZERO }
    }

    /// Creates a reply with the service's own body for an HTTP status, with this message.
    pub(super) fn refusal(status: u16, message: &str) -> Self {
        Self::new(status, body::error(status, message))
    }

    /// Creates a scripted reply; `default_message` is the service's message where the scenario has no body.
    pub(super) fn scripted(status: u16, content: &AnswerContent, default_message: &str) -> Self {
        match content {
            AnswerContent::Default => Self::refusal(status, default_message),
            AnswerContent::Text(body) => Self::new(status, body.clone()),
            AnswerContent::FaultyAnswer(FaultyAnswer::Deep) => Self::new(status, body::deep()),
            AnswerContent::FaultyAnswer(play) => {
                Self { delivery: AnswerDelivery::FaultyAnswer(*play), ..Self::new(status, String::new()) }
            }
        }
    }

    /// Returns the reply with these headers, which replace headers of the same name.
    pub(super) fn with_headers(mut self, headers: &[(String, String)]) -> Self {
        self.headers.retain(|(name, _)| headers.iter().all(|(other, _)| other != name));
        self.headers.extend_from_slice(headers);
        self
    }

    /// Returns the reply with this header, unless the reply already has a header of this name.
    pub(super) fn with_default_header(mut self, name: &str, value: &str) -> Self {
        if self.header(name).is_none() {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Returns the value of a header; `name` is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for SimulatedAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, headers, body, delivery, delay } = self;
        let shown = |(name, value)| (name, if name == INTEGRATOR_ID { "hidden" } else { value });
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).map(shown).collect();
        write!(out, "Reply({status}, {headers:?}, {} bytes, {delivery:?}, {delay:?})", body.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripted_header_replaces_the_default_one() {
        let reply = SimulatedAnswer::scripted(302, &AnswerContent::Text("<p>".into()), "");
        assert_eq!(reply.header("content-type"), Some("text/html"));
        let own = [("content-type".to_owned(), "text/plain".to_owned()), ("location".to_owned(), "/".to_owned())];
        let reply = reply.with_headers(&own);
        assert_eq!(reply.headers, own);
    }

    #[test]
    fn default_header_replaces_no_header_and_debug_output_hides_the_integrator_id() {
        let own = [(REQUEST_ID.to_owned(), "of-the-scenario".to_owned())];
        let reply =
            SimulatedAnswer::refusal(404, "").with_headers(&own).with_default_header(REQUEST_ID, "of-the-service");
        let reply = reply.with_default_header(INTEGRATOR_ID, "canary");
        assert_eq!((reply.header(REQUEST_ID), reply.header(INTEGRATOR_ID)), (Some("of-the-scenario"), Some("canary")));
        let printed = format!("{reply:?}");
        assert!(printed.contains("of-the-scenario") && !printed.contains("canary"), "{printed}");
    }

    #[test]
    fn deep_is_the_only_play_with_text_in_the_reply() {
        let reply = SimulatedAnswer::scripted(200, &AnswerContent::FaultyAnswer(FaultyAnswer::Bomb), "");
        assert_eq!((reply.delivery, reply.body.as_str()), (AnswerDelivery::FaultyAnswer(FaultyAnswer::Bomb), ""));
        let reply = SimulatedAnswer::scripted(200, &AnswerContent::FaultyAnswer(FaultyAnswer::Deep), "");
        assert_eq!(reply.delivery, AnswerDelivery::Whole);
        assert!(reply.body.contains(&"[".repeat(100_000)) && reply.body.ends_with("]}"));
        assert!(serde_json::from_str::<serde_json::Value>(&reply.body).is_err());
    }
}
