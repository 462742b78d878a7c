//! The poller: sends the requests that the schedule and the budget allow, and writes the answers into the store.
//!
//! `core::PollerCore` decides and is pure; [`run`] is its tokio driver. The poller reports only to the store. The poller must
//! never send a request that the budget didn't allow.

mod chains;
mod core;
mod driver;
mod health;
mod heartbeat;
mod journal;
mod poll_plan;
mod profile_events;
mod report;
mod requests;
mod setup;
mod shortage;
mod takeover;
mod transport;

pub(crate) use self::chains::load_service_urls;
pub use self::{
    driver::run,
    heartbeat::Heartbeat,
    setup::{LeasePermit, PollScope, PollerError, PollerSetup},
    transport::{HttpTransport, ServiceTransport},
};

#[cfg(test)]
mod tests;
