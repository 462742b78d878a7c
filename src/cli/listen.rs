//! Addresses to listen on, as people write them: `9464`, `localhost:9464`, `127.0.0.1:9464`, `[::1]:0`.
//!
//! This module must never widen an address: a port alone is for this machine only.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Reads an address of the command line. The error names the expected form.
pub(crate) fn parse(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    port.parse::<u16>()
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .or_else(|_| text.parse())
        .map_err(|_| format!("`{text}` is not an address; write it as 9464, localhost:9464 or 127.0.0.1:9464"))
}

/// Returns an address at which a program on this machine reaches a listener: an unspecified address can't be called.
pub(crate) fn reachable(mut listening: SocketAddr) -> SocketAddr {
    match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => listening.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => listening.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    listening
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_alone_is_for_this_machine() {
        for (text, address) in [
            ("9464", "127.0.0.1:9464"),
            (":9464", "127.0.0.1:9464"),
            ("localhost:9464", "127.0.0.1:9464"),
            ("0.0.0.0:9464", "0.0.0.0:9464"),
            ("[::1]:0", "[::1]:0"),
        ] {
            assert_eq!(parse(text).map(|parsed| parsed.to_string()).as_deref(), Ok(address), "{text}");
        }
        for text in ["", "localhost", "example.com:80", "99999", "127.0.0.1", "-1"] {
            assert!(parse(text).is_err_and(|error| error.contains("write it as 9464")), "{text}");
        }
    }

    #[test]
    fn unspecified_address_is_reached_at_this_machine() {
        for (listening, address) in
            [("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80"), ("10.0.0.7:80", "10.0.0.7:80")]
        {
            assert_eq!(reachable(listening.parse().unwrap()).to_string(), address);
        }
    }
}
