//! Telling somebody else's service: a POST of JSON to an address that the person chose.
//!
//! The address may hold a secret in its path or query, so that nothing but its host is ever shown. It knows nothing of the
//! service that is asked, and must never be given the integrator ID.

use std::{fmt, time::Duration};

use reqwest::{
    Url,
    header::{CONTENT_TYPE, HeaderName},
};

use crate::api::{Timeouts, describe, http_builder, innermost, is_loopback};

/// Tells one event from every other, however often it is told.
const EVENT_ID: HeaderName = HeaderName::from_static("x-hoptop-event-id");
const TIMEOUTS: Timeouts = Timeouts { connect: Duration::from_secs(5), total: Duration::from_secs(10) };

/// Why a text can't be the address of a webhook. It isn't repeated: it may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WebhookError {
    /// Not a URL with a host.
    #[error("the webhook URL is not valid; write it as https://HOST/PATH")]
    NotAUrl,
    /// http to another machine, or no http at all.
    #[error("the webhook URL must start with https:// (http:// for this machine only)")]
    Clear,
    /// A user name or password.
    #[error("the webhook URL contains a user name or a password; remove them")]
    UserInfo,
    /// TLS could not be set up.
    #[error("can't set up TLS on this machine: {0}; check its certificate authorities")]
    Tls(String),
}

/// Why an event wasn't taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Undelivered {
    /// It never will be.
    #[error("{host} refused the event with HTTP {status}; hoptop won't send it again")]
    Refused {
        /// Who.
        host: String,
        /// The HTTP status.
        status: u16,
    },
    /// It may be later.
    #[error("{0}; hoptop will send the event again")]
    Later(String),
}

/// An address that takes events. `Debug` shows its host alone.
#[derive(Clone)]
pub(crate) struct Webhook {
    http: reqwest::Client,
    url: Url,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Webhook").field("host", &self.host()).finish_non_exhaustive()
    }
}

impl Webhook {
    /// From the address.
    ///
    /// # Errors
    /// If it isn't https (http to this machine), holds user info, or TLS can't be set up.
    pub(crate) fn new(address: &str) -> Result<Self, WebhookError> {
        let url = Url::parse(address).map_err(|_| WebhookError::NotAUrl)?;
        let host = url.host_str().ok_or(WebhookError::NotAUrl)?;
        let is_plain = url.scheme() == "http";
        if !(url.scheme() == "https" || is_plain && is_loopback(host)) {
            return Err(WebhookError::Clear);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(WebhookError::UserInfo);
        }
        let tls = |error: reqwest::Error| WebhookError::Tls(innermost(&error));
        let http = http_builder(is_plain, TIMEOUTS).timeout(TIMEOUTS.total).build().map_err(tls)?;
        Ok(Self { http, url })
    }

    /// Where it goes, as far as anybody may see it.
    pub(crate) fn host(&self) -> String {
        self.url.host_str().unwrap_or_default().to_owned()
    }

    /// Sends an event once. Its body may come twice if the answer is lost: `id` is the same then.
    ///
    /// # Errors
    /// If it wasn't taken: for good, or for now.
    pub(crate) async fn post(&self, id: &str, body: String) -> Result<(), Undelivered> {
        let request =
            self.http.post(self.url.clone()).header(CONTENT_TYPE, "application/json").header(EVENT_ID, id).body(body);
        let host = self.host();
        match request.send().await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => match answer.status().as_u16() {
                // What may be otherwise in a moment (too slow, too early, too often), or once a wrong address or right is mended.
                status @ (300..=399 | 401 | 403 | 404 | 407 | 408 | 425 | 429 | 500..) => {
                    Err(Undelivered::Later(format!("{host} answered HTTP {status}")))
                }
                status => Err(Undelivered::Refused { host, status }),
            },
            Err(error) => Err(Undelivered::Later(describe(&error, &host, TIMEOUTS.connect))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_or_this_machine_and_nothing_of_it_is_shown_but_the_host() {
        let error = |address: &str| Webhook::new(address).unwrap_err();
        assert_eq!(error("hooks.example/x"), WebhookError::NotAUrl);
        assert_eq!(error("http://hooks.example/canary"), WebhookError::Clear);
        assert_eq!(error("file:///etc/passwd"), WebhookError::NotAUrl);
        assert_eq!(error("ftp://hooks.example/canary"), WebhookError::Clear);
        assert_eq!(error("https://me:canary@hooks.example/"), WebhookError::UserInfo);
        let hook = Webhook::new("http://127.0.0.1:9/canary?token=canary").unwrap();
        assert_eq!(format!("{hook:?}"), "Webhook { host: \"127.0.0.1\", .. }");
    }

    #[tokio::test]
    async fn who_is_not_there_is_tried_again_and_the_address_is_not_told() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/canary", listener.local_addr().unwrap());
        drop(listener);
        let failed = Webhook::new(&address).unwrap().post("default/1", "{}".into()).await.unwrap_err();
        let Undelivered::Later(_) = failed else { panic!("{failed}") };
        assert!(!failed.to_string().contains("canary"), "{failed}");
    }
}
