//! EVM JSON-RPC: asks the nodes of the settings about transactions on their chains.
//!
//! `domain::on_chain` decides what the answers mean. Nothing here may spend the integrator's budget, or send anything
//! to a node that the settings don't name. The address of a node is a secret: only its host may be shown.

mod address;
mod client;
mod json_rpc;
mod nodes;
mod pace;

pub(crate) use self::{address::NodeAddress, nodes::ChainQuestion};
pub use self::{address::NodeSetting, json_rpc::describe_body, nodes::ChainNodes};
