//! The budget of an integrator ID: when may a request be sent?
//!
//! ```text
//! handle   Budget: what a poller holds; its slots, and what the ledger doesn't know yet
//! block    slots that a member takes ahead in one update of the ledger; pure
//! file     the ledger's file, shared by all processes of a user
//! ledger   the slots of the ID and the order of its members; pure
//! pace     rests and the reduced rate after a 429; pure
//! micros   moments in the file
//! ```
//!
//! Each file imports only files below it. No file here may know the purpose of a request.
//!
//! # Why no window of a second at the service holds more than N requests
//!
//! 1. In the ledger a slot is taken before its request is sent, and rests from the response until a window (1 s or
//!    more) later. Only the member that took a slot changes it. If the member died, the slot rests for 8 s and a
//!    window: the service saw the request by then. So a request *covers* the time from its send until 1 s after the
//!    service saw it, at least.
//! 2. Each slot is planned for an earliest send. At that moment no more than N slots are taken or resting, this one
//!    included. That holds for a block as well: a slot that waits in a block is taken.
//! 3. Take the requests in one window, and the moment of the last send among them: all of them cover that moment. Of
//!    these requests consider the last planned. Each other request was in the ledger then, taken or resting beyond the
//!    planned send. By 2 there are no more than N.
//!
//! A stopped process breaks nothing, because no other process may use its slots. A new file gives no slot for a window.
//! By then each running member has put its slots into the file (every 250 ms). No block of the lost file is in use by
//! then (at most 100 ms after its update).

mod block;
mod file;
mod handle;
mod ledger;
mod micros;
mod pace;

pub(crate) use self::{
    file::{is_lost, read_for_display},
    ledger::Ledger,
};
pub use self::{
    handle::{Budget, RequestEnd, SlotPermit},
    ledger::SlotRefusal,
    pace::{Pace, PaceHandover},
};

#[cfg(test)]
mod tests;
