//! Posts events as JSON to a webhook, signed if there is a secret.
//!
//! The address may contain a secret in its path or query: this module must never show more of the address than the
//! host. The module must never get the integrator ID.

use std::{fmt, time::Duration};

use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use reqwest::{
    Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use sha2::Sha256;

use crate::{
    api::{Endpoint, Timeouts, describe, http_builder, innermost, is_loopback, read_body},
    domain::text,
};

/// The header with the event's ID, equal for each attempt.
const EVENT_ID_HEADER: HeaderName = HeaderName::from_static("x-hoptop-event-id");
/// The header with the signature: `t=UNIX,v1=HEX`, the HMAC-SHA256 of `UNIX.BODY`.
const SIGNATURE_HEADER: HeaderName = HeaderName::from_static("x-hoptop-signature");
/// The maximum length of a response that is shown, in bytes.
const SHOWN_LENGTH: usize = 400;
/// The time limits of a request.
const TIMEOUTS: Timeouts = Timeouts { connect: Duration::from_secs(5), total: Duration::from_secs(10) };

/// Why the address of a webhook is invalid. The messages don't repeat the address, which may contain a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// The address isn't a URL with a host.
    #[error("the webhook URL is not valid; write it as https://HOST/PATH")]
    NotAUrl,
    /// The scheme is `http` for another machine, or neither `http` nor `https`.
    #[error("the webhook URL must start with https:// (http:// for this machine only)")]
    NotHttps,
    /// The address contains a user name or a password.
    #[error("the webhook URL contains a user name or a password; remove them")]
    UserInfo,
    /// A header of the settings has an invalid name or value.
    #[error("webhook_headers: {0} is not a valid header, or its value contains a line break")]
    Header(String),
    /// A header of the settings would replace one that receivers rely on.
    #[error("webhook_headers: hoptop sets {0} itself; choose another name")]
    OwnHeader(HeaderName),
    /// TLS can't be set up.
    #[error("can't set up TLS on this machine: {0}; check its certificate authorities")]
    Tls(String),
}

/// Why a delivery failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DeliveryError {
    /// The webhook refused the event; it is not retried.
    #[error("{host} refused the event with HTTP {status}; hoptop won't send it again")]
    Refused { host: String, status: u16 },
    /// The failure may be temporary; it is retried.
    #[error("{0}; hoptop will send the event again")]
    Temporary(String),
}

/// A webhook. `Debug` shows only the host of its address.
#[derive(Clone)]
pub struct Webhook {
    http: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    /// The key of the signature.
    secret: Option<Vec<u8>>,
}

/// A response of a webhook, as `hoptop` shows it.
pub(crate) struct WebhookResponse {
    pub status: u16,
    /// The clean beginning of the body.
    pub body: String,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Webhook").field("host", &self.host()).finish_non_exhaustive()
    }
}

impl Webhook {
    /// Creates a webhook from its address.
    ///
    /// # Errors
    /// If the address isn't an `https` URL (or `http` for this machine), or has a user name or a password. If TLS can't
    /// be set up.
    pub fn new(address: &str) -> Result<Self, WebhookError> {
        let url = Url::parse(address).map_err(|_| WebhookError::NotAUrl)?;
        let host = url.host_str().ok_or(WebhookError::NotAUrl)?;
        let is_http = url.scheme() == "http";
        if !(url.scheme() == "https" || is_http && is_loopback(host)) {
            return Err(WebhookError::NotHttps);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(WebhookError::UserInfo);
        }
        let tls_error = |error: reqwest::Error| WebhookError::Tls(innermost(&error));
        let http = http_builder(is_http, TIMEOUTS).timeout(TIMEOUTS.total).build().map_err(tls_error)?;
        Ok(Self { http, url, headers: HeaderMap::new(), secret: None })
    }

    /// Signs each event with this secret.
    pub(crate) fn signed_with(mut self, secret: Option<&str>) -> Self {
        self.secret = secret.map(|secret| secret.as_bytes().to_vec());
        self
    }

    /// Adds a header to each request. Its value is never shown.
    ///
    /// # Errors
    /// If the name or the value is invalid, or the header is the event's ID or signature.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Result<Self, WebhookError> {
        let invalid = || WebhookError::Header(text::clean(name));
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        if [EVENT_ID_HEADER, SIGNATURE_HEADER, CONTENT_TYPE].contains(&header) {
            return Err(WebhookError::OwnHeader(header));
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
        value.set_sensitive(true);
        self.headers.insert(header, value);
        Ok(self)
    }

    /// Returns the host, the only part of the address that may be shown.
    pub(crate) fn host(&self) -> String {
        self.url.host_str().unwrap_or_default().to_owned()
    }

    /// Returns where the webhook's connections lead.
    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::of_url(&self.url, "the webhook URL")
    }

    /// Returns the value of the signature header for a body that is sent at `now`; `None` without a secret.
    fn signature(&self, body: &str, now: DateTime<Utc>) -> Option<String> {
        let moment = now.timestamp();
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_ref()?).ok()?;
        mac.update(format!("{moment}.{body}").as_bytes());
        Some(format!("t={moment},v1={}", text::hex(&mac.finalize().into_bytes())))
    }

    /// Sends an event at `now`, and returns the response.
    async fn send(&self, id: &str, body: String, now: DateTime<Utc>) -> Result<reqwest::Response, String> {
        let mut request = self.http.post(self.url.clone()).headers(self.headers.clone());
        if let Some(signature) = self.signature(&body, now) {
            request = request.header(SIGNATURE_HEADER, signature);
        }
        let request = request.header(CONTENT_TYPE, "application/json").header(EVENT_ID_HEADER, id).body(body);
        let failure = |error: reqwest::Error| match error.is_timeout() && !error.is_connect() {
            true => format!(
                "{} did not answer within {} s; a webhook must answer before it does its work",
                self.host(),
                TIMEOUTS.total.as_secs()
            ),
            false => describe(&error, &self.endpoint(), TIMEOUTS.connect),
        };
        request.send().await.map_err(failure)
    }

    /// Posts an event once, and returns the response.
    ///
    /// # Errors
    /// The reason why no response came.
    pub(crate) async fn try_post(&self, id: &str, body: String, now: DateTime<Utc>) -> Result<WebhookResponse, String> {
        let mut response = self.send(id, body, now).await?;
        let (bytes, _) = read_body(&mut response, SHOWN_LENGTH).await;
        Ok(WebhookResponse { status: response.status().as_u16(), body: text::clean(&String::from_utf8_lossy(&bytes)) })
    }

    /// Posts an event once. If the response is lost, a retry delivers the event again with the same `id`.
    ///
    /// # Errors
    /// If the webhook refuses the event, or if the delivery fails temporarily.
    pub(crate) async fn post(&self, id: &str, body: String, now: DateTime<Utc>) -> Result<(), DeliveryError> {
        let host = self.host();
        match self.send(id, body, now).await {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) => match response.status().as_u16() {
                // Failures that end with time (too slow, too early, too many requests, server errors), or when the user
                // corrects the address or the access rights.
                status @ (300..=399 | 401 | 403 | 404 | 407 | 408 | 425 | 429 | 500..) => {
                    Err(DeliveryError::Temporary(format!("{host} answered HTTP {status}")))
                }
                status => Err(DeliveryError::Refused { host, status }),
            },
            Err(reason) => Err(DeliveryError::Temporary(reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_must_be_https_or_local_and_debug_shows_only_its_host() {
        let error = |address: &str| Webhook::new(address).unwrap_err();
        assert_eq!(error("hooks.example/x"), WebhookError::NotAUrl);
        assert_eq!(error("http://hooks.example/canary"), WebhookError::NotHttps);
        assert_eq!(error("file:///etc/passwd"), WebhookError::NotAUrl);
        assert_eq!(error("ftp://hooks.example/canary"), WebhookError::NotHttps);
        assert_eq!(error("https://me:canary@hooks.example/"), WebhookError::UserInfo);
        let webhook = Webhook::new("http://127.0.0.1:9/canary?token=canary").unwrap();
        assert_eq!(format!("{webhook:?}"), "Webhook { host: \"127.0.0.1\", .. }");
    }

    #[test]
    fn header_that_receivers_rely_on_can_not_be_replaced() {
        let with_header = |name| Webhook::new("http://127.0.0.1:9/").unwrap().with_header(name, "x").map(drop);
        for name in ["X-Hoptop-Signature", "x-hoptop-event-id", "Content-Type"] {
            assert!(matches!(with_header(name), Err(WebhookError::OwnHeader(_))), "{name}");
        }
        assert_eq!(with_header("x-team"), Ok(()));
    }

    #[tokio::test]
    async fn refused_connection_is_temporary_and_its_error_hides_the_address() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/canary", listener.local_addr().unwrap());
        drop(listener);
        let error =
            Webhook::new(&address).unwrap().post("default/1", "{}".into(), DateTime::UNIX_EPOCH).await.unwrap_err();
        let DeliveryError::Temporary(_) = error else { panic!("{error}") };
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}
