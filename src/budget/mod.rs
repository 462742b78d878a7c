//! The budget of an integrator ID: when may a request be sent?
//!
//! ```text
//! handle   Budget: what a poller holds; its slots, and what the ledger doesn't know yet
//! file     the ledger's file, shared by all processes of a user
//! ledger   the slots of the ID and the order of its members; pure
//! pace     rests and the reduced rate after a 429; pure
//! micros   moments in the file
//! ```
//!
//! Each file imports only files below it. Nothing here may know what a request is about.

mod file;
mod handle;
mod ledger;
mod micros;
mod pace;

pub use self::{
    file::peek,
    handle::{Budget, Returned, Ticket},
    ledger::{Ledger, Refused},
    pace::Pace,
};

#[cfg(test)]
mod tests;
