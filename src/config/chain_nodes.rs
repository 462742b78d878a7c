//! The nodes of chains, by reference: the addresses may hold keys, and are read when a chain is asked.
//!
//! An address must never be part of a message or a debug print.

use std::path::{Path, PathBuf};

use super::{
    environment::Environment,
    error::ConfigError,
    file::{ChainNode, ConfigFile},
    rate::check_rps,
    secret::{SecretKeys, SecretText, describe_secret},
    source::SettingSource,
};
use crate::{domain::text::clean, process::secret_source::SecretSource};

/// The value of `rpc` that means the service's list.
const OF_SERVICE: &str = "service";
/// The requests per second of a host, unless the settings say otherwise.
const DEFAULT_RPS: f64 = 5.0;

/// The source of a node's address.
#[derive(Clone, Debug)]
enum AddressSource {
    /// In the config file.
    Inline(SecretText),
    /// In the service's description of the chain.
    Service,
    /// In a variable or a file, or a command prints it.
    Secret(SecretSource),
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
    /// Returns the address if the config file itself holds it.
    pub(crate) fn inline_address(&self) -> Option<&SecretText> {
        match &self.address {
            AddressSource::Inline(url) => Some(url),
            AddressSource::Service | AddressSource::Secret(_) => None,
        }
    }

    /// Reads the address; `None` if the service names it. This may run a command.
    ///
    /// # Errors
    /// If the source can't be read, or is empty.
    pub(crate) fn read(&self) -> Result<Option<SecretText>, ConfigError> {
        let source = match &self.address {
            AddressSource::Inline(url) => return Ok(Some(url.clone())),
            AddressSource::Service => return Ok(None),
            AddressSource::Secret(source) => source,
        };
        let failed =
            |reason| ConfigError::NodeAddress { chain: clean(&self.chain), origin: describe_secret(source), reason };
        source.read_trimmed().map(|url| Some(SecretText(url))).map_err(failed)
    }

    /// Returns where the address stands, for people.
    fn describe(&self) -> String {
        match &self.address {
            AddressSource::Inline(_) => "(hidden)".into(),
            AddressSource::Service => OF_SERVICE.into(),
            AddressSource::Secret(source) => describe_secret(source),
        }
    }
}

/// Returns chains and the sources of their nodes' addresses as text for people.
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
    let (section, keys) = (format!("chains.{}", clean(chain)), SecretKeys::of_chain(node));
    keys.check(&section, path.to_owned())?;
    let address = match (node.rpc.as_deref(), keys.source(env, resolve)) {
        (Some(_), Some((_, second))) => {
            return Err(ConfigError::SeveralSecretSources { section, file: path.to_owned(), first: "rpc", second });
        }
        (Some(OF_SERVICE), None) => AddressSource::Service,
        (Some(url), None) => AddressSource::Inline(SecretText(url.to_owned())),
        (None, Some((source, _))) => AddressSource::Secret(source),
        (None, None) => return Err(ConfigError::NoNodeAddress { section, file: path.to_owned() }),
    };
    let given_by = SettingSource::File(format!("{section}.rps"));
    let (rps, _) = check_rps(node.rps.unwrap_or(DEFAULT_RPS), given_by)?;
    Ok(NodeReference { chain: chain.to_owned(), rps, address })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::config::{CommandLineSettings, Environment, Settings, load};

    fn settings(file: &str, variables: &[(&str, &str)]) -> Result<Settings, String> {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(".config/hoptop")).unwrap();
        fs::write(home.path().join(".config/hoptop/config.toml"), file).unwrap();
        fs::write(home.path().join(".config/hoptop/node"), "https://file.example/canary\n").unwrap();
        let loaded = load(CommandLineSettings::default(), &Environment::fixed(variables, Some(home.path())));
        let printed = match &loaded {
            Ok(settings) => format!("{settings:?} {:?}", settings.entries),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!printed.contains("canary"), "{printed}");
        // The file of a node is read while its folder is there.
        if let Ok(settings) = &loaded {
            settings.chain_nodes.iter().for_each(|node| drop(node.read()));
        }
        loaded.map_err(|error| error.to_string().replace(&home.path().display().to_string(), "HOME"))
    }

    #[test]
    fn addresses_come_from_four_sources_and_are_never_shown() {
        let file = "
            [chains.1]
            rpc = 'https://here.example/canary'
            [chains.10]
            rpc = 'service'
            rps = 2.5
            [chains.42161]
            rpc_env = 'ARBITRUM_RPC'
            [chains.8453]
            rpc_command = ['echo', 'https://command.example/canary']
            [chains.137]
            rpc_env = 'MISSING'
        ";
        let settings = settings(file, &[("ARBITRUM_RPC", "https://variable.example/canary")]).unwrap();
        let read = |chain: &str| {
            let node = settings.chain_nodes.iter().find(|node| node.chain == chain).unwrap();
            (node.read().map(|url| url.map(|url| url.0)).map_err(|error| error.to_string()), node.rps)
        };
        let url = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(read("1"), (url("https://here.example/canary"), 5.0));
        assert_eq!(read("10"), (Ok(None), 2.5));
        assert_eq!(read("42161").0, url("https://variable.example/canary"));
        assert_eq!(read("8453").0, url("https://command.example/canary"));
        let missing = "no address of the node of chain 137 from MISSING, which is not set: it is not set";
        assert_eq!(read("137").0, Err(missing.to_owned()));
        let shown = settings.entries.iter().find(|entry| entry.name == "chains").unwrap();
        assert_eq!(
            shown.value,
            "1 (hidden), 10 service, 137 MISSING, which is not set, 42161 ARBITRUM_RPC, 8453 the command `echo`"
        );
        assert!(settings.secret_variables.contains(&"ARBITRUM_RPC".to_owned()));
    }

    #[test]
    fn chain_without_a_source_or_with_several_or_a_wrong_rate_is_refused() {
        let table = [
            ("[chains.1]\nrps = 1", "chains.1 has no node; give rpc = \"https://...\""),
            ("[chains.1]\nrpc = 'canary'\nrpc_env = 'A'", "chains.1 has both rpc and rpc_env; keep one of them"),
            ("[chains.1]\nrpc_file = 'a'\nrpc_env = 'A'", "chains.1 has both rpc_env and rpc_file"),
            ("[chains.1]\nrpc = 'canary'\nrps = 0", "0 is not a valid rate in requests per second (chains.1.rps"),
            ("[chains.1]\nrpx = 'canary'", "unknown key `rpx`"),
        ];
        for (file, part) in table {
            let error = settings(file, &[]).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
