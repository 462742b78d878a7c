//! The budget of an integrator ID: when may a request be sent?
//!
//! [`Slots`] and [`Resting`] are pure: moments in, moments out. [`Lease`] is the small file that lets one process of the
//! machine spend an ID's budget at a time. Nothing here may know what a request is about.

mod lease;
mod rest;
mod slots;

pub use self::{
    lease::{Lease, LeaseError},
    rest::Resting,
    slots::{Slots, Ticket},
};
