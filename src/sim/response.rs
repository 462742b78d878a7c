//! The responses of the simulated service, and how they are sent.
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

/// A response to a request.
#[derive(Clone, PartialEq, Eq)]
pub struct SimulatedResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Headers,
    /// The body; empty where a faulty answer replaces it.
    pub body: String,
    /// How a faulty service sends the response; `None` sends it immediately and as a whole.
    pub fault: Option<FaultyAnswer>,
    /// The time between the arrival of the request and the response.
    pub delay: Duration,
}

impl SimulatedResponse {
    /// Creates a whole response with this body.
    pub(super) fn new(status: u16, body: String) -> Self {
        let kind = if body.trim_start().starts_with('<') { "text/html" } else { "application/json" };
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Self { status, headers, body, fault: None, delay: Duration::ZERO }
    }

    /// Creates a response with the service's own body for an HTTP status, with this message.
    pub(super) fn refusal(status: u16, message: &str) -> Self {
        Self::new(status, body::error(status, message))
    }

    /// Creates a scripted response; `default_message` is the service's message where the scenario has no body.
    pub(super) fn scripted(status: u16, content: &AnswerContent, default_message: &str) -> Self {
        match content {
            AnswerContent::Default => Self::refusal(status, default_message),
            AnswerContent::Text(body) => Self::new(status, body.clone()),
            AnswerContent::FaultyAnswer(FaultyAnswer::Deep) => Self::new(status, body::deep()),
            AnswerContent::FaultyAnswer(play) => Self { fault: Some(*play), ..Self::new(status, String::new()) },
        }
    }

    /// Returns the response with these headers, which replace headers of the same name.
    pub(super) fn with_headers(mut self, headers: &[(String, String)]) -> Self {
        self.headers.retain(|(name, _)| headers.iter().all(|(other, _)| other != name));
        self.headers.extend_from_slice(headers);
        self
    }

    /// Returns the response with this header, unless the response already has a header of this name.
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

impl fmt::Debug for SimulatedResponse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, headers, body, fault, delay } = self;
        let shown = |(name, value)| (name, if name == INTEGRATOR_ID { "hidden" } else { value });
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).map(shown).collect();
        write!(out, "Response({status}, {headers:?}, {} bytes, {fault:?}, {delay:?})", body.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripted_header_replaces_the_default_one() {
        let response = SimulatedResponse::scripted(302, &AnswerContent::Text("<p>".into()), "");
        assert_eq!(response.header("content-type"), Some("text/html"));
        let own = [("content-type".to_owned(), "text/plain".to_owned()), ("location".to_owned(), "/".to_owned())];
        let response = response.with_headers(&own);
        assert_eq!(response.headers, own);
    }

    #[test]
    fn default_header_replaces_no_header_and_debug_output_hides_the_integrator_id() {
        let own = [(REQUEST_ID.to_owned(), "of-the-scenario".to_owned())];
        let response =
            SimulatedResponse::refusal(404, "").with_headers(&own).with_default_header(REQUEST_ID, "of-the-service");
        let response = response.with_default_header(INTEGRATOR_ID, "canary");
        assert_eq!(
            (response.header(REQUEST_ID), response.header(INTEGRATOR_ID)),
            (Some("of-the-scenario"), Some("canary"))
        );
        let printed = format!("{response:?}");
        assert!(printed.contains("of-the-scenario") && !printed.contains("canary"), "{printed}");
    }

    #[test]
    fn deep_is_the_only_play_with_text_in_the_reply() {
        let response = SimulatedResponse::scripted(200, &AnswerContent::FaultyAnswer(FaultyAnswer::Bomb), "");
        assert_eq!((response.fault, response.body.as_str()), (Some(FaultyAnswer::Bomb), ""));
        let response = SimulatedResponse::scripted(200, &AnswerContent::FaultyAnswer(FaultyAnswer::Deep), "");
        assert_eq!(response.fault, None);
        assert!(response.body.contains(&"[".repeat(100_000)) && response.body.ends_with("]}"));
        assert!(serde_json::from_str::<serde_json::Value>(&response.body).is_err());
    }
}
