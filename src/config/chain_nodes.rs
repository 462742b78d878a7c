//! The nodes of chains, by reference: the addresses may hold keys, and are read when a chain is asked.
//!
//! An address must never be part of a message or a debug print.

use std::path::{Path, PathBuf};

use super::{
    environment::Environment,
    error::ConfigError,
    file::{ChainNode, ConfigFile},
    secret::Hidden,
    source::SettingSource,
    team_store::{SecretKeys, describe_secret},
};
use crate::{
    domain::text::clean,
    process::secret_source::{COMMAND_LIMIT, SecretSource},
};

/// The value of `rpc` that stands for the service's list.
const OF_SERVICE: &str = "service";
/// The requests per second of a host, unless the settings say otherwise, and the most that are accepted.
const DEFAULT_RPS: f64 = 5.0;
const MOST_RPS: f64 = 1000.0;

/// Where the address of a node stands.
#[derive(Clone, Debug)]
enum AddressSource {
    /// In the config file.
    Here(Hidden),
    /// In the service's description of the chain.
    Service,
    /// In a variable or a file, or a command prints it.
    Elsewhere(SecretSource),
}

/// The node of one chain. `Debug` shows no address.
#[derive(Clone, Debug)]
pub struct NodeReference {
    /// The chain's ID.
    pub chain: String,
    /// The requests per second of the node's host.
    pub rps: f64,
    address: AddressSource,
}

impl NodeReference {
    /// Reads the address; `None` if the service names it. This may run a command.
    ///
    /// # Errors
    /// If the source can't be read, or is empty.
    pub(crate) fn read(&self) -> Result<Option<Hidden>, ConfigError> {
        let source = match &self.address {
            AddressSource::Here(url) => return Ok(Some(url.clone())),
            AddressSource::Service => return Ok(None),
            AddressSource::Elsewhere(source) => source,
        };
        let failed =
            |reason| ConfigError::NodeAddress { chain: clean(&self.chain), origin: describe_secret(source), reason };
        let (text, _) = source.read(COMMAND_LIMIT).map_err(failed)?;
        match text.trim() {
            "" => Err(failed("it is empty".into())),
            url => Ok(Some(Hidden(url.to_owned()))),
        }
    }

    /// Returns where the address stands, for people.
    fn describe(&self) -> String {
        match &self.address {
            AddressSource::Here(_) => "(hidden)".into(),
            AddressSource::Service => OF_SERVICE.into(),
            AddressSource::Elsewhere(source) => describe_secret(source),
        }
    }
}

/// Returns chains and where their nodes' addresses stand as text for people.
#[expect(clippy::ptr_arg, reason = "an entry shows what was chosen")]
pub(super) fn describe(nodes: &Vec<NodeReference>) -> String {
    nodes.iter().map(|node| format!("{} {}", clean(&node.chain), node.describe())).collect::<Vec<_>>().join(", ")
}

/// Returns the nodes that the config file names. `resolve` completes a path.
///
/// # Errors
/// If a chain has no source of its node's address, or several, or an invalid rate.
pub(super) fn read_all(
    file: &ConfigFile,
    path: &str,
    env: &Environment,
    resolve: impl Fn(&Path) -> PathBuf,
) -> Result<Vec<NodeReference>, ConfigError> {
    file.chains.iter().map(|(chain, node)| read(chain, node, path, env, &resolve)).collect()
}

fn read(
    chain: &str,
    node: &ChainNode,
    path: &str,
    env: &Environment,
    resolve: impl Fn(&Path) -> PathBuf,
) -> Result<NodeReference, ConfigError> {
    let (place, keys) = (format!("chains.{}", clean(chain)), SecretKeys::of_chain(node));
    keys.check(&place, path.to_owned())?;
    let address = match (node.rpc.as_deref(), keys.source(env, resolve)) {
        (Some(_), Some((_, second))) => {
            return Err(ConfigError::SeveralPasswordSources { place, file: path.to_owned(), first: "rpc", second });
        }
        (Some(OF_SERVICE), None) => AddressSource::Service,
        (Some(url), None) => AddressSource::Here(Hidden(url.to_owned())),
        (None, Some((source, _))) => AddressSource::Elsewhere(source),
        (None, None) => return Err(ConfigError::NoNodeAddress { place, file: path.to_owned() }),
    };
    let rps = node.rps.unwrap_or(DEFAULT_RPS);
    if !(rps > 0.0 && rps <= MOST_RPS) {
        let given_by = SettingSource::File(format!("{place}.rps"));
        return Err(ConfigError::Rps { value: rps.to_string(), given_by });
    }
    Ok(NodeReference { chain: chain.to_owned(), rps, address })
}
