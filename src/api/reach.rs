//! Checks whether a service can be reached: resolves its name, opens a connection, and makes the TLS handshake. No
//! request is sent, so the check costs no budget.

use std::{
    io,
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;
use rustls::{ClientConfig, ClientConnection, crypto::ring, pki_types::ServerName};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::domain::text;

/// The time limit for resolving the name, for connecting to each address, and for each part of the handshake.
const LIMIT: Duration = Duration::from_secs(5);

/// Where a connection leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// The host; an IPv6 address is in brackets.
    host: String,
    port: u16,
    is_tls: bool,
    /// The setting that names the endpoint.
    setting: &'static str,
}

impl Endpoint {
    /// Returns the endpoint of the URL that this setting holds.
    pub(crate) fn of_url(url: &Url, setting: &'static str) -> Self {
        let host = url.host_str().unwrap_or_default().to_owned();
        Self { host, port: url.port_or_known_default().unwrap_or_default(), is_tls: url.scheme() == "https", setting }
    }

    /// Returns the host of the endpoint.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the proxy through which the environment sends connections to the endpoint, without its credentials.
    pub(crate) fn proxy(&self) -> Option<String> {
        let target = format!("https://{}:{}", self.host, self.port).parse().ok().filter(|_| self.is_tls)?;
        let proxy = Matcher::from_env().intercept(&target)?;
        let port = proxy.uri().port().map_or_else(String::new, |port| format!(":{port}"));
        proxy.uri().host().map(|host| text::clean(&format!("{host}{port}")))
    }
}

/// Returns a sentence that names the open port, or the failure and what to do. Blocks for at most 40 s.
///
/// # Errors
/// If the name can't be resolved, none of the first four addresses accepts a connection, or the TLS handshake fails.
pub(crate) fn reach(endpoint: &Endpoint) -> Result<String, String> {
    let Endpoint { host, port, is_tls, setting } = endpoint;
    let addresses = resolve(host, *port, setting)?;
    let mut last = None;
    for address in addresses.into_iter().take(4) {
        match TcpStream::connect_timeout(&address, LIMIT) {
            Ok(stream) if *is_tls => return shake_hands(stream, endpoint),
            Ok(_) => return Ok(format!("{host}:{port} accepts connections; no request was sent")),
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        Some(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            format!("{host}:{port} refuses the connection; check {setting}, and whether the service is running")
        }
        Some(error) if error.kind() == io::ErrorKind::TimedOut => {
            format!(
                "{host}:{port} did not accept a connection within {} s; check the network and its firewalls",
                LIMIT.as_secs()
            )
        }
        Some(error) => {
            let reason = text::clean(&error.to_string());
            format!("{host}:{port} can't be reached: {reason}; check {setting} and the network")
        }
        None => format!("{host} has no address; check {setting}"),
    })
}

/// Resolves a name. The system's resolver has no time limit, so a separate thread calls it.
fn resolve(host: &str, port: u16, setting: &str) -> Result<Vec<SocketAddr>, String> {
    let (send, found) = mpsc::channel();
    let name = host.trim_matches(['[', ']']).to_owned();
    let spawned = thread::Builder::new().name("resolver".into()).spawn(move || {
        let addresses = (name.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        // The caller may have stopped waiting.
        send.send(addresses).unwrap_or_default();
    });
    spawned.map_err(|error| format!("{host} can't be resolved: {error}"))?;
    match found.recv_timeout(LIMIT) {
        Ok(Ok(addresses)) => Ok(addresses),
        Ok(Err(_)) => Err(format!("{host} can't be resolved; check {setting}, the network and its name server")),
        Err(_) => Err(format!("{host} wasn't resolved within {} s; check the network", LIMIT.as_secs())),
    }
}

/// Makes the TLS handshake, which checks the certificate, and closes the connection.
fn shake_hands(mut stream: TcpStream, endpoint: &Endpoint) -> Result<String, String> {
    let Endpoint { host, port, setting, .. } = endpoint;
    let unusable = |error: &dyn std::fmt::Display| format!("can't set up TLS on this machine: {error}");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| unusable(&error))?
        .with_no_client_auth();
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned()).map_err(|error| unusable(&error))?;
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(|error| unusable(&error))?;
    let limited = stream.set_read_timeout(Some(LIMIT)).and_then(|()| stream.set_write_timeout(Some(LIMIT)));
    limited.map_err(|error| unusable(&error))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream).map_err(|error| {
            let tls = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
            match (tls, error.kind()) {
                (Some(rustls::Error::InvalidCertificate(reason)), _) => text::clean(&format!(
                    "the certificate of {host} was refused: {reason}; check {setting}, the clock and the certificate authorities"
                )),
                (Some(rustls::Error::InvalidMessage(_)), _)
                | (None, io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
                    format!("{host}:{port} does not speak TLS, as if it were a port for plain http; check {setting}")
                }
                (None, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => format!(
                    "{host}:{port} accepts connections but did not answer the TLS handshake within {} s; check {setting}",
                    LIMIT.as_secs()
                ),
                _ => text::clean(&format!("the TLS connection to {host}:{port} failed: {error}; check {setting}")),
            }
        })?;
    }
    Ok(format!("{host}:{port} accepts TLS connections, and its certificate is valid; no request was sent"))
}

#[cfg(test)]
mod tests {
    use std::{io::Write, net::TcpListener};

    use super::*;

    fn endpoint(url: &str) -> Endpoint {
        Endpoint::of_url(&Url::parse(url).unwrap(), "the base URL")
    }

    #[test]
    fn reports_an_accepted_and_a_refused_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = endpoint(&format!("http://{}", listener.local_addr().unwrap()));
        assert!(reach(&open).unwrap().ends_with("accepts connections; no request was sent"));
        drop(listener);
        assert!(reach(&open).unwrap_err().contains("refuses the connection; check the base URL"));
    }

    #[test]
    fn port_for_plain_http_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tls = endpoint(&format!("https://{}", listener.local_addr().unwrap()));
        let server = thread::spawn(move || {
            for answer in ["HTTP/1.1 400 Bad Request\r\n\r\n", ""] {
                listener.accept().unwrap().0.write_all(answer.as_bytes()).unwrap();
            }
        });
        for _ in 0..2 {
            let reason = reach(&tls).unwrap_err();
            assert!(reason.contains("does not speak TLS") && reason.ends_with("check the base URL"), "{reason}");
        }
        server.join().unwrap();
    }
}
