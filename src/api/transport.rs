//! Why a connection failed, in words for people (`cases.md` 20 to 26).
//!
//! It names the host and never the query or a header: reqwest's own text of an error holds the whole URL.

use std::{error::Error, io, time::Duration};

use crate::domain::text;

/// What went wrong between us and `host`. `connect` is how long a connection may take.
pub fn describe(error: &reqwest::Error, host: &str, connect: Duration) -> String {
    if error.is_dns() {
        return format!("{host} can't be resolved; check the base URL and the network");
    }
    let causes = causes(error);
    let tls = causes.iter().find_map(|cause| cause.downcast_ref::<rustls::Error>());
    if let Some(error) = tls {
        return text::clean(&describe_tls(error, host));
    }
    if error.is_connect() && error.is_timeout() {
        return format!("{host} did not take the connection within {} s", connect.as_secs_f64());
    }
    let kind = causes.iter().find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    match kind {
        Some(io::ErrorKind::ConnectionRefused) => format!("{host} refuses the connection"),
        Some(io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable) => {
            format!("no way to {host} from here; check the network")
        }
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe) => {
            format!("{host} reset the connection")
        }
        _ => text::clean(&format!("the exchange with {host} failed: {}", innermost(error))),
    }
}

/// The innermost cause, the only one that says what happened and can't repeat the URL.
pub fn innermost(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| "no reason given".to_owned(), ToString::to_string)
}

fn describe_tls(error: &rustls::Error, host: &str) -> String {
    match error {
        rustls::Error::InvalidCertificate(reason) => format!("the certificate of {host} was refused: {reason}"),
        other => format!("no secure connection to {host}: {other}"),
    }
}

/// Every cause below `error`, the outermost first. An `io::Error` hides the error that it wraps from `source`.
fn causes(error: &reqwest::Error) -> Vec<&(dyn Error + 'static)> {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause);
        let wrapped = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(wrapped) => Some(wrapped as &(dyn Error + 'static)),
            None => cause.source(),
        };
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_certificate_says_why() {
        let expired = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        let said = describe_tls(&expired, "api.example");
        assert!(said.starts_with("the certificate of api.example was refused: "), "{said}");
        assert!(said.to_lowercase().contains("expired"), "{said}");
    }
}
