//! A team that shares one integrator ID: which machine may poll?
//!
//! The module knows machines, their clocks and a row in the team's database. It must never look inside an operation, and
//! never decide which transaction is polled. So far it has only the state machine of the lease; no driver uses it yet.

#![cfg_attr(not(test), expect(dead_code, reason = "the lease has no driver yet"))]

mod lease;
