//! Checks whether the service can be reached: resolves its name and opens a connection. No request is sent, so the
//! check costs no budget.

use std::{
    io,
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    sync::mpsc,
    thread,
    time::Duration,
};

use super::base_url::BaseUrl;
use crate::domain::text;

/// The time limit for resolving the name, and for connecting to each address.
const LIMIT: Duration = Duration::from_secs(5);

/// Returns a sentence that names the open port, or the failure and what to check. Blocks for at most 25 s.
///
/// # Errors
/// If the name can't be resolved, or none of the first four addresses accepts a connection.
pub(crate) fn reach(base: &BaseUrl) -> Result<String, String> {
    let (host, port) = base.host_and_port();
    let addresses = resolve(host.clone(), port)?;
    let mut last = None;
    for address in addresses.into_iter().take(4) {
        match TcpStream::connect_timeout(&address, LIMIT) {
            Ok(_) => return Ok(format!("{host}:{port} accepts connections; no request was sent")),
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        Some(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            format!("{host}:{port} refuses the connection; check the base URL, and whether the service is running")
        }
        Some(error) if error.kind() == io::ErrorKind::TimedOut => {
            format!(
                "{host}:{port} did not accept a connection within {} s; check the network and its firewalls",
                LIMIT.as_secs()
            )
        }
        Some(error) => format!("{host}:{port} can't be reached: {}", text::clean(&error.to_string())),
        None => format!("{host} has no address; check the base URL"),
    })
}

/// Resolves a name. The system's resolver has no time limit, so a separate thread calls it.
fn resolve(host: String, port: u16) -> Result<Vec<SocketAddr>, String> {
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
        Ok(Err(_)) => Err(format!("{host} can't be resolved; check the base URL and the network")),
        Err(_) => Err(format!("{host} wasn't resolved within {} s; check the network", LIMIT.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn reports_an_accepted_and_a_refused_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = BaseUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        assert!(reach(&base).unwrap().ends_with("accepts connections; no request was sent"));
        drop(listener);
        assert!(reach(&base).unwrap_err().contains("refuses the connection; check the base URL"));
    }
}
