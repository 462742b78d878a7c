//! A team that shares one integrator ID: which machine may poll, and how is the team's database reached?
//!
//! The module knows machines, their clocks and a row in the team's database. It must never look inside an operation, and
//! never decide which transaction is polled. So far nothing but tests uses it.

mod connect;
mod error;
#[cfg_attr(not(test), expect(dead_code, reason = "the lease has no driver yet"))]
mod lease;
mod password;

pub use connect::{Connection, Connector};
pub use error::TeamError;
pub use password::PasswordSources;
