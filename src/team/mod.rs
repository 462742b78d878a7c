//! A team that shares one integrator ID: the log of operations in PostgreSQL, and the lease of each ID.
//!
//! ```text
//!   session   writes ──► log ──► replica      what this process writes, and what others wrote, in one order
//!   lease     which machine may poll?         pure; `driver` carries out its requests
//!   snapshot  a replica for a new machine
//!   database  the only SQL for PostgreSQL     connect, password, error: open the connection
//! ```
//!
//! The module knows machines, their clocks and the database. It must never look inside an operation, and never decide
//! which transaction is polled.

mod connect;
mod database;
mod driver;
mod error;
mod lease;
mod password;
mod session;
mod snapshot;

use sha2::{Digest, Sha256};

pub use self::{
    connect::{Connector, PostgresConnection},
    database::{Fence, MemberPresence},
    error::TeamError,
    lease::HolderId,
    password::PasswordSources,
    session::{SessionOptions, start},
};
pub(crate) use self::{
    database::{ServerFacts, TeamDatabase},
    driver::{LeaseDriver, LeaseStatus, ReleaseRequest},
    lease::SendPermission,
    snapshot::upload as upload_snapshot,
};
use crate::domain::{team::Nonce, text};

/// Returns the key of an ID's lease: a hash that can't be compared with another database's.
pub(crate) fn budget_key(salt: Nonce, fingerprint: &str) -> String {
    let digest = Sha256::new().chain_update(salt.0.to_be_bytes()).chain_update(fingerprint).finalize();
    text::hex(&digest)
}
