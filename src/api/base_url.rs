//! The base URL as a checked value: https, or http to this machine.
//!
//! This module must never accept a URL over which the integrator ID would travel unencrypted.

use std::{fmt, net::IpAddr};

use reqwest::Url;

/// The paths below the base URL that people copy together with it (`service.md` 4, 8).
const ENDPOINTS: [&str; 3] = ["/v2", "/v2/status", "/v2/route"];

/// The base URL of the service (`service.md`, Base address).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BaseUrl(Url);

/// The reason why a text is not a valid base URL. The message never repeats the text, which may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// The text is not a URL, or the URL has no host.
    #[error("the base URL is not valid: {0}; write it as https://HOST or https://HOST/PATH")]
    NotAUrl(String),
    /// The scheme is neither http nor https.
    #[error("the base URL starts with `{0}:`; it must start with https:// (http:// for this machine only)")]
    Scheme(String),
    /// The scheme is http and the host is another machine.
    #[error(
        "the base URL uses http for {0}, which would send the integrator ID unencrypted; use https (http is allowed only for localhost, 127.0.0.0/8 and [::1])"
    )]
    Unencrypted(String),
    /// The URL has a user name or a password.
    #[error("the base URL contains a user name or a password; remove them, since only the integrator ID is sent")]
    UserInfo,
    /// The URL has a query.
    #[error("the base URL contains a query; remove `?` and everything after it")]
    Query,
    /// The URL is that of an endpoint.
    #[error("the base URL ends with {0}, which hoptop adds itself; leave it out")]
    Endpoint(&'static str),
    /// The URL has a fragment.
    #[error("the base URL contains a fragment; remove `#` and everything after it")]
    Fragment,
}

impl BaseUrl {
    /// Parses a base URL.
    ///
    /// # Errors
    /// If the URL isn't https (or http to a loopback address), or if it has user info, a query, a fragment or the path of
    /// an endpoint.
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
        let mut url = Url::parse(text).map_err(|error| BaseUrlError::NotAUrl(error.to_string()))?;
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
            return Err(BaseUrlError::Unencrypted(host.into()));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        if let Some(endpoint) = ENDPOINTS.into_iter().find(|endpoint| path.ends_with(endpoint)) {
            return Err(BaseUrlError::Endpoint(endpoint));
        }
        url.set_path(&path);
        Ok(Self(url))
    }

    /// Returns the URL as text, without a trailing slash.
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    /// Returns the form of the URL that names the budget of an ID. All names of this machine become `localhost`, since
    /// one service is behind them. A dot at the end of the host is left out.
    pub fn budget_name(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        let name = if is_loopback(host) { "localhost" } else { host.trim_end_matches('.') };
        self.as_str().replacen(host, name, 1)
    }

    /// Returns the URL.
    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    /// Whether the scheme is plain http, which is allowed for this machine only.
    pub(super) fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }

    /// Returns the URL of `path` below the base URL.
    pub(super) fn join(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}{path}", self.0.path().trim_end_matches('/')));
        url
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// Whether a host, as [`Url`] writes it, is this machine. A name other than `localhost` may resolve elsewhere later.
pub(crate) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_https_to_any_host_and_http_to_loopback() {
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
    fn spellings_of_one_service_have_one_budget() {
        let table = [
            (
                "http://localhost/api",
                &["http://127.0.0.1/api", "http://[::1]:80/api/", "HTTP://LOCALHOST:80/api//"][..],
            ),
            ("http://localhost:8080", &["http://127.0.0.1:8080", "http://[0:0::1]:8080/", "http://127.1:8080"]),
            ("https://api.example/v1", &["https://API.example:443/v1/", "https://api.example./v1"]),
        ];
        for (name, spellings) in table {
            for text in spellings.iter().chain([&name]) {
                assert_eq!(BaseUrl::parse(text).unwrap().budget_name(), name, "{text}");
            }
        }
        let names = [
            "http://localhost:81",
            "http://localhost",
            "https://localhost",
            "https://api.example/V1",
            "https://api.example/v1",
        ];
        let distinct: std::collections::BTreeSet<_> =
            names.into_iter().map(|text| BaseUrl::parse(text).unwrap().budget_name()).collect();
        assert_eq!(distinct.len(), names.len());
    }

    #[test]
    fn rejects_other_urls_with_a_hint() {
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
            ("https://api.example/v2/", "ends with /v2,"),
            ("https://api.example/base/v2/status", "ends with /v2/status,"),
            ("https://api.example/v2/route", "ends with /v2/route,"),
        ];
        for (text, part) in table {
            let error = BaseUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains("hunter2"), "{text}: {error}");
        }
    }
}
