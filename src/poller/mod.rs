//! The poller: carries out what schedule and budget decide, and writes what it hears into the store.
//!
//! [`Core`] decides and is pure; [`run`] is its tokio driver. It tells nobody but the store, and must never send a
//! request that the budget didn't allow.

mod core;
mod driver;
mod health;
mod journal;
mod poll_plan;
mod report;
mod setup;
mod shortage;
mod takeover;
mod wire;

pub use self::{
    core::{Action, Core, Question},
    driver::run,
    setup::{PollerError, Scope, Setup},
    wire::{HttpWire, Wire},
};

#[cfg(test)]
mod tests;
