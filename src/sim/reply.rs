//! What the simulated service sends back, and how.
//!
//! Pure: it says what is to happen on the wire and does none of it. It must never print a body: a record holds the
//! integrator ID.

use std::{fmt, time::Duration};

use super::{
    body,
    plan::{Content, Headers, Play},
};

/// What goes out.
#[derive(Clone, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// Headers, by names in lower case.
    pub headers: Headers,
    /// The body; empty where a play takes its place.
    pub body: String,
    /// How it is sent.
    pub delivery: Delivery,
    /// How long after the request's arrival it is to be sent.
    pub delay: Duration,
}

/// How a reply is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// At once, as a whole.
    #[default]
    Whole,
    /// In a way that no sound service has.
    Play(Play),
}

impl Reply {
    /// A whole reply with this body.
    pub(super) fn new(status: u16, body: String) -> Self {
        let kind = if body.trim_start().starts_with('<') { "text/html" } else { "application/json" };
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Self { status, headers, body, delivery: Delivery::Whole, delay: Duration::ZERO }
    }

    /// The service's own body for an HTTP status, with this message.
    pub(super) fn refusal(status: u16, message: &str) -> Self {
        Self::new(status, body::error(status, message))
    }

    /// What a scenario says; `usual` is the service's message for the HTTP status where the scenario has no body.
    pub(super) fn scripted(status: u16, content: &Content, usual: &str) -> Self {
        match content {
            Content::Usual => Self::refusal(status, usual),
            Content::Text(body) => Self::new(status, body.clone()),
            Content::Play(Play::Deep) => Self::new(status, body::deep()),
            Content::Play(play) => Self { delivery: Delivery::Play(*play), ..Self::new(status, String::new()) },
        }
    }

    /// The same with these headers, which take the place of those of the same name.
    pub(super) fn with_headers(mut self, headers: &[(String, String)]) -> Self {
        self.headers.retain(|(name, _)| headers.iter().all(|(other, _)| other != name));
        self.headers.extend_from_slice(headers);
        self
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, headers, body, delivery, delay } = self;
        write!(out, "Reply({status}, {headers:?}, {} bytes, {delivery:?}, {delay:?})", body.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scripted_header_takes_the_place_of_the_usual_one() {
        let reply = Reply::scripted(302, &Content::Text("<p>".into()), "");
        assert_eq!(reply.header("content-type"), Some("text/html"));
        let own = [("content-type".to_owned(), "text/plain".to_owned()), ("location".to_owned(), "/".to_owned())];
        let reply = reply.with_headers(&own);
        assert_eq!(reply.headers, own);
    }

    #[test]
    fn a_play_is_no_body_but_deep_is_one() {
        let reply = Reply::scripted(200, &Content::Play(Play::Bomb), "");
        assert_eq!((reply.delivery, reply.body.as_str()), (Delivery::Play(Play::Bomb), ""));
        let reply = Reply::scripted(200, &Content::Play(Play::Deep), "");
        assert_eq!(reply.delivery, Delivery::Whole);
        assert!(reply.body.contains(&"[".repeat(100_000)) && reply.body.ends_with("]}"));
        assert!(serde_json::from_str::<serde_json::Value>(&reply.body).is_err());
    }
}
