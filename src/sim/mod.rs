//! A simulated service for `demo`, `simulate` and the tests: a pure model ([`world`], [`service`]) and an HTTP server
//! over it ([`server`]). Beside it are simulated chains ([`chain`], [`chain_server`]). Its answers are generated from a
//! seed or read from a scenario file ([`scenario`]).
//!
//! The service follows `service.md` and knows nothing of our client. This module must never import the modules that it
//! tests, nor be more lenient than the real service.

pub(crate) mod body;
mod chain;
mod chain_cases;
pub(crate) mod chain_server;
mod delivery;
pub(crate) mod edit;
pub(crate) mod plan;
mod random;
pub(crate) mod response;
mod route;
pub(crate) mod scenario;
mod script;
mod sdk_info;
mod seeded;
pub(crate) mod server;
pub(crate) mod service;
mod window;
pub(crate) mod world;

#[cfg(test)]
mod tests;
