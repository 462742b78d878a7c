//! The base URL as a checked value: https, or http to this machine.
//!
//! It must never let through a URL over which the integrator ID would travel in clear.

use std::{fmt, net::IpAddr};

use reqwest::Url;

/// Where the service is, without a slash at the end (`service.md`, Base address).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BaseUrl(String);

/// Why a text can't be a base URL. The text isn't repeated: it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// Not a URL, or one without a host.
    #[error("the base URL can't be read: {0}; write it as https://HOST or https://HOST/PATH")]
    NotAUrl(String),
    /// Neither http nor https.
    #[error("the base URL starts with `{0}:`; it must start with https:// (http:// for this machine only)")]
    Scheme(String),
    /// http to another machine.
    #[error(
        "the base URL is http to {0}, which would send the integrator ID in clear; use https (http is for localhost, \
         127.0.0.0/8 and [::1] only)"
    )]
    Clear(String),
    /// A user name or password.
    #[error("the base URL holds a user name or a password; leave them out, the integrator ID is all that is sent")]
    UserInfo,
    /// A query.
    #[error("the base URL holds a query; leave out `?` and what follows it")]
    Query,
    /// A fragment.
    #[error("the base URL holds a fragment; leave out `#` and what follows it")]
    Fragment,
}

impl BaseUrl {
    /// A base URL from text.
    ///
    /// # Errors
    /// If it isn't https (http to loopback), or if it has user info, a query or a fragment.
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
        let url = Url::parse(text).map_err(|error| BaseUrlError::NotAUrl(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BaseUrlError::Scheme(url.scheme().chars().take(16).collect()));
        }
        let host = url.host_str().ok_or_else(|| BaseUrlError::NotAUrl("it has no host".into()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BaseUrlError::UserInfo);
        }
        if url.query().is_some() {
            return Err(BaseUrlError::Query);
        }
        if url.fragment().is_some() {
            return Err(BaseUrlError::Fragment);
        }
        if url.scheme() == "http" && !is_loopback(host) {
            return Err(BaseUrlError::Clear(host.into()));
        }
        Ok(Self(url.as_str().trim_end_matches('/').to_owned()))
    }

    /// The URL as text, without a slash at the end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where connections go, an IPv6 address in brackets.
    pub(super) fn host_and_port(&self) -> (String, u16) {
        let url = Url::parse(&self.0).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default().to_owned();
        (host, url.and_then(|url| url.port_or_known_default()).unwrap_or_default())
    }

    /// Whether it is plain http, and so to this machine.
    pub(super) fn is_plain(&self) -> bool {
        self.0.starts_with("http:")
    }

    /// The URL of `path` below it.
    pub(super) fn join(&self, path: &str) -> Result<Url, BaseUrlError> {
        Url::parse(&format!("{self}{path}")).map_err(|error| BaseUrlError::NotAUrl(error.to_string()))
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Whether a host as [`Url`] writes it is this machine. Other names may resolve to it today and elsewhere tomorrow.
pub(super) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_anywhere_and_http_to_this_machine() {
        let table = [
            ("https://api.example", "https://api.example"),
            ("https://API.example/base//", "https://api.example/base"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            ("http://127.9.9.9", "http://127.9.9.9"),
            ("http://[::1]:9", "http://[::1]:9"),
            ("http://localhost:80", "http://localhost"),
        ];
        for (text, url) in table {
            assert_eq!(BaseUrl::parse(text).unwrap().as_str(), url, "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_way_out() {
        let table = [
            ("", "write it as https://"),
            ("api.example", "write it as https://"),
            ("ftp://api.example", "must start with https"),
            ("javascript:alert(1)", "must start with https"),
            ("http://api.example", "use https"),
            ("http://127.0.0.1.example", "use https"),
            ("http://localhost.example", "use https"),
            ("http://128.0.0.1", "use https"),
            ("https://user:hunter2@api.example", "user name"),
            ("https://:hunter2@api.example", "user name"),
            ("https://api.example/?key=hunter2", "query"),
            ("https://api.example/#hunter2", "fragment"),
        ];
        for (text, part) in table {
            let error = BaseUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains("hunter2"), "{text}: {error}");
        }
    }
}
