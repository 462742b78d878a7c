//! A simulated service for `demo`, `simulate` and the tests: a pure model ([`world`], [`service`]) and an HTTP server
//! over it ([`server`]). What it says is made up from a seed or written down in a file ([`scenario`]).
//!
//! It knows `service.md` and nothing of our client: it must never import the rooms that it is there to test, and never
//! be kinder to them than the real service.

pub mod body;
mod chance;
mod delivery;
pub mod edit;
pub mod plan;
pub mod reply;
mod route;
pub mod scenario;
mod script;
mod seeded;
pub mod server;
pub mod service;
mod window;
pub mod world;

#[cfg(test)]
mod tests;
