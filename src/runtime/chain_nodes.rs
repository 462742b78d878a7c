//! The nodes of chains that the settings name, with their addresses.
//!
//! Nothing is sent here. An address must never be part of a message.

use std::sync::Arc;

use super::stderr::print_line;
use crate::{
    api::Timeouts,
    chain_rpc::{ChainNodes, NodeSetting},
    clock::Clock,
    config::{ConfigError, NodeReference, Settings},
    domain::ids::ChainId,
};

/// Reads the addresses of the nodes that the settings name; `None` if they name none. This may run commands. A chain
/// whose address can't be read isn't asked; standard error has a warning.
pub(crate) fn read_all(settings: &Settings, clock: &Clock) -> Option<Arc<ChainNodes>> {
    let read = settings.chain_nodes.iter().filter_map(|reference| match read(reference) {
        Ok(setting) => Some(setting),
        Err(error) => {
            print_line(&format!("warning: {error}; this chain isn't asked"));
            None
        }
    });
    let nodes: Vec<NodeSetting> = read.collect();
    (!nodes.is_empty()).then(|| Arc::new(ChainNodes::new(nodes, Timeouts::default(), clock.clone())))
}

/// Reads the address of one node. This may run a command.
///
/// # Errors
/// If the address can't be read.
pub(crate) fn read(reference: &NodeReference) -> Result<NodeSetting, ConfigError> {
    let url = reference.read()?.map(|url| url.0);
    Ok(NodeSetting { chain: ChainId::new(reference.chain.clone()), url, rps: reference.rps })
}
