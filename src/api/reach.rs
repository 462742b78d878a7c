//! Whether the service can be reached at all: its name resolved, and a connection taken. No request is sent, so that it costs
//! nothing of the budget.

use std::{
    io,
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    sync::mpsc,
    thread,
    time::Duration,
};

use super::base_url::BaseUrl;
use crate::domain::text;

/// How long the name may take, and each of its addresses.
const LIMIT: Duration = Duration::from_secs(5);

/// Says where a connection was taken, or why none was and what to look at. Blocks for some seconds at most.
///
/// # Errors
/// If the name can't be resolved, or nothing takes a connection there.
pub fn reach(base: &BaseUrl) -> Result<String, String> {
    let (host, port) = base.host_and_port();
    let addresses = resolve(host.clone(), port)?;
    let mut last = None;
    for address in addresses.into_iter().take(4) {
        match TcpStream::connect_timeout(&address, LIMIT) {
            Ok(_) => return Ok(format!("{host}:{port} takes connections; no request was sent")),
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        Some(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            format!("{host}:{port} refuses the connection; check the base URL, and whether the service runs")
        }
        Some(error) if error.kind() == io::ErrorKind::TimedOut => {
            format!(
                "{host}:{port} took no connection within {} s; check the network, and what filters it",
                LIMIT.as_secs()
            )
        }
        Some(error) => format!("no way to {host}:{port}: {}", text::clean(&error.to_string())),
        None => format!("{host} has no address; check the base URL"),
    })
}

/// The addresses of a name. The system's resolver knows no limit, so that a thread of its own asks it.
fn resolve(host: String, port: u16) -> Result<Vec<SocketAddr>, String> {
    let (send, found) = mpsc::channel();
    let name = host.trim_matches(['[', ']']).to_owned();
    let asked = thread::Builder::new().name("resolver".into()).spawn(move || {
        let addresses = (name.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        // Who asked may not wait any more.
        send.send(addresses).unwrap_or_default();
    });
    asked.map_err(|error| format!("{host} can't be resolved: {error}"))?;
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
    fn who_listens_is_reached_and_who_does_not_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = BaseUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        assert!(reach(&base).unwrap().ends_with("takes connections; no request was sent"));
        drop(listener);
        assert!(reach(&base).unwrap_err().contains("refuses the connection; check the base URL"));
    }
}
