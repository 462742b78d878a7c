//! The address of a node as a checked value: https, or http to this machine.
//!
//! The address may hold a key anywhere but in its host. The address must never be part of a message, a log or a debug
//! print.

use std::fmt;

use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::{api::is_loopback, domain::ids::ChainId};

/// The shortest part of an address that is removed from texts of a node: shorter parts are words.
const MIN_SECRET: usize = 6;

/// The settings of one chain's node. `Debug` shows no address.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeSetting {
    /// The chain.
    pub chain: ChainId,
    /// The URL; `None` for the first https URL of the service's `rpcList`.
    pub url: Option<String>,
    /// The requests per second of the node's host.
    pub rps: f64,
}

impl NodeSetting {
    /// Returns the setting for one of so many processes that share the node's rate in equal parts.
    #[must_use]
    pub(crate) fn shared_by(self, processes: usize) -> Self {
        Self { rps: self.rps / processes.max(1) as f64, ..self }
    }

    /// Returns the setting with 5 requests per second.
    #[cfg(test)]
    pub(crate) fn new(chain: &str, url: Option<&str>) -> Self {
        Self { chain: ChainId::new(chain), url: url.map(str::to_owned), rps: 5.0 }
    }
}

impl fmt::Debug for NodeSetting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("NodeSetting").field("chain", &self.chain).finish_non_exhaustive()
    }
}

/// The address of a node. `Debug` shows its host alone.
#[derive(Clone, PartialEq)]
pub(crate) struct NodeAddress(Url);

impl NodeAddress {
    /// Reads an address.
    ///
    /// # Errors
    /// A sentence that never repeats the text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text.trim()).map_err(|error| format!("its address is not a URL: {error}"))?;
        let host = url.host_str().ok_or("its address has no host; write it as https://HOST/PATH")?;
        match url.scheme() {
            "https" => Ok(Self(url)),
            "http" if is_loopback(host) => Ok(Self(url)),
            _ => Err("its address must start with https:// (http:// for this machine only)".into()),
        }
    }

    /// Returns the host, the only part that may be shown.
    pub(crate) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Returns host and port, by which the rate is limited.
    pub(super) fn host_and_port(&self) -> (String, u16) {
        (self.host().to_owned(), self.0.port_or_known_default().unwrap_or_default())
    }

    /// Returns the whole address. Only the request may use it.
    pub(super) fn expose(&self) -> &Url {
        &self.0
    }

    /// Whether the scheme is plain http, which is allowed for this machine only.
    pub(super) fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }

    /// Returns a node's text without the parts of the address that may be secret.
    pub(super) fn redact(&self, text: &str) -> String {
        let parts = self.0.path_segments().into_iter().flatten().map(str::to_owned);
        let query = self.0.query_pairs().map(|(_, value)| value.into_owned());
        let user = [Some(self.0.username()), self.0.password()].into_iter().flatten().map(str::to_owned);
        let secrets = parts.chain(query).chain(user).filter(|part| part.len() >= MIN_SECRET);
        secrets.fold(text.to_owned(), |text, secret| text.replace(&secret, "…"))
    }
}

impl fmt::Debug for NodeAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "NodeAddress({})", self.host())
    }
}

/// Returns the first address of the service's `rpcList` that can be asked: https, without a placeholder for a key.
pub(super) fn first_usable_address(rpc_list: &[String]) -> Option<NodeAddress> {
    let is_complete = |url: &&String| !url.contains(['{', '$', '<']);
    let mut addresses = rpc_list.iter().filter(is_complete).filter_map(|url| NodeAddress::parse(url).ok());
    addresses.find(|address| !address.is_plain())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_can_not_name_a_node_on_this_machine() {
        let list =
            ["http://127.0.0.1:8545", "http://node.example", "https://node.example/{KEY}", "https://node.example/a"];
        let first = first_usable_address(&list.map(str::to_owned)).unwrap();
        assert_eq!(first.host(), "node.example");
        assert!(first_usable_address(&["http://127.0.0.1:8545".to_owned()]).is_none());
    }

    #[test]
    fn only_encrypted_or_local_addresses_are_accepted_and_none_is_shown() {
        for (text, part) in [
            ("nowhere canary-key", "not a URL"),
            ("http://node.example/canary-key", "must start with https"),
            ("wss://node.example/canary-key", "must start with https"),
            ("data:canary-key", "no host"),
        ] {
            let error = NodeAddress::parse(text).unwrap_err();
            assert!(error.contains(part) && !error.contains("canary"), "{text}: {error}");
        }
        let address = NodeAddress::parse(" https://node.example/v2/canary-key?auth=canary-token\n").unwrap();
        assert_eq!(format!("{address:?}"), "NodeAddress(node.example)");
        assert_eq!(address.redact("no canary-key and canary-token at v2"), "no … and … at v2");
        assert!(NodeAddress::parse("http://127.0.0.1:8545").is_ok());
        let setting = NodeSetting::new("1", Some("https://node.example/canary"));
        assert!(!format!("{setting:?}").contains("canary"));
    }

    #[test]
    fn the_first_complete_https_address_of_a_list_is_taken() {
        let list = [
            "wss://a.example",
            "https://b.example/${KEY}",
            "http://c.example",
            "https://d.example",
            "https://e.example",
        ];
        let list: Vec<String> = list.map(str::to_owned).to_vec();
        assert_eq!(first_usable_address(&list).unwrap().host(), "d.example");
        assert_eq!(first_usable_address(&[]), None);
    }
}
