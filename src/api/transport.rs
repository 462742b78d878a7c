//! Describes connection failures for people (`cases.md` 20 to 26).
//!
//! A description names the host. A description must never hold the query or a header; reqwest's own error text holds
//! the URL.

use std::{io, time::Duration};

use super::reach::Endpoint;
use crate::{
    domain::text,
    process::{causes::causes, files},
};

/// The description of a failure for lack of file descriptors.
pub(super) const OUT_OF_DESCRIPTORS: &str =
    "no request could be sent: hoptop has too many open files; raise the limit (`ulimit -n`), or end other programs";

/// Whether no connection could be made because this process or this machine has too many open files.
pub(super) fn is_out_of_descriptors(error: &reqwest::Error) -> bool {
    let is_named =
        || causes(error).into_iter().filter_map(|cause| cause.downcast_ref()).any(files::is_descriptor_shortage);
    // The resolver reports only that a name isn't known.
    error.is_connect() && (is_named() || files::lacks_descriptors(1))
}

/// Describes a failure of a connection to an endpoint, or to the proxy on the way to it. The TLS handshake is with the
/// endpoint in any case. `connect` is the time limit for connecting.
pub(crate) fn describe(error: &reqwest::Error, endpoint: &Endpoint, connect: Duration) -> String {
    let proxied = |proxy: String| format!("the proxy {proxy} on the way to {}", endpoint.host());
    let host = endpoint.proxy().map_or_else(|| endpoint.host().to_owned(), proxied);
    if error.is_dns() {
        return format!("{host} can't be resolved; check its name and the network");
    }
    let causes = causes(error);
    if let Some(error) = causes.iter().find_map(|cause| cause.downcast_ref::<rustls::Error>()) {
        return text::clean(&describe_tls(error, endpoint.host()));
    }
    if error.is_connect() && error.is_timeout() {
        return format!("{host} did not accept the connection within {} s", connect.as_secs_f64());
    }
    match causes.iter().find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => format!("{host} refuses the connection"),
        Some(io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable) => {
            format!("{host} can't be reached; check the network")
        }
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe) => {
            format!("{host} reset the connection")
        }
        _ => text::clean(&format!("the request to {host} failed: {}", innermost(error))),
    }
}

/// Why a body is truncated.
#[derive(Debug)]
pub(crate) enum BodyTruncation {
    /// The body is larger than the limit.
    TooLarge,
    /// The connection failed.
    Broken(reqwest::Error),
}

/// Reads a body up to `limit` bytes. Returns the received bytes, and the reason if the body is truncated.
pub(crate) async fn read_body(response: &mut reqwest::Response, limit: usize) -> (Vec<u8>, Option<BodyTruncation>) {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > limit => {
                let remaining = limit - body.len();
                body.extend(chunk.iter().take(remaining));
                return (body, Some(BodyTruncation::TooLarge));
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return (body, None),
            Err(error) => return (body, Some(BodyTruncation::Broken(error))),
        }
    }
}

/// Returns the text of the innermost cause, the only one that describes the failure and can't repeat the URL.
pub(crate) fn innermost(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| "no reason given".to_owned(), ToString::to_string)
}

fn describe_tls(error: &rustls::Error, host: &str) -> String {
    match error {
        rustls::Error::InvalidCertificate(reason) => format!("the certificate of {host} was refused: {reason}"),
        other => format!("the TLS connection to {host} failed: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_certificate_names_the_reason() {
        let expired = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        let message = describe_tls(&expired, "api.example");
        assert!(message.starts_with("the certificate of api.example was refused: "), "{message}");
        assert!(message.to_lowercase().contains("expired"), "{message}");
    }
}
