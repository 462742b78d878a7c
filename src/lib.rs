//! hoptop: top for cross-chain hops.
//!
//! A poller that respects the budget of an integrator ID asks one status endpoint about many transactions and writes
//! what it hears into a SQLite store; a terminal dashboard and a command line read the store and say which of the
//! transactions need attention, why, and what to do.
//!
//! ```text
//!          cli                                tui  model ← update → effects, view
//!           │ operations                       │ operations      ▲ change feed, queries
//!           ▼                                  ▼                 │
//!   ┌──────────────────────── store (SQLite, WAL) ───────────────┴──┐
//!   │   operations ──► tables ──► queries          file             │   one way in, one way out
//!   └──────────▲──────────────────────────────────────────┬─────────┘
//!              │ operations                               │ change feed
//!   ┌──────────┴───────────── poller (tokio) ─────────────▼─────────┐
//!   │  schedule: which transaction next?  budget: when may I send?  │   both pure: no I/O, no clock
//!   └──────────┬──────────────────────────────────────────▲─────────┘
//!              └────────────► api (reqwest) ──────────────┘ ──► the service, or sim
//! ```
//!
//! Everything that lasts is written as an [operation](domain::operation): plain data that says what happened, when and by whom. What
//! follows from it (records, alerts, durations, the feed) is derived where it is applied, in `store/operations`, alike in every
//! store.
//!
//! | to find | read |
//! | --- | --- |
//! | where a 429 is handled | `budget/pace.rs` (rest and rate), `poller/health.rs` (the profile's state), `store/operations/profile.rs` (its alert) |
//! | where an acknowledged alert comes back | `alerts/mod.rs` decides, `store/operations/alerts.rs` carries out |
//! | what a replica has to apply | `domain/operation.rs`, `store/operations/mod.rs` (`apply`) |
//! | what a row of a table holds | `store/tables`; `mod.rs` says which file has which tables |
//!
//! Who may import whom (held by `tests/architecture.rs`): `clock` and `process` import no other room, and every room but the pure
//! ones may import them; `domain`, which is pure, imports only the moments of `clock`; `schedule`, `budget`, `alerts`, `api`, `sim`,
//! `intake` and `config` know those three and not each other. `store` knows `alerts` besides: applying an answer is deterministic
//! only if the rules come with it. `poller` knows them; `metrics` and `notify` tell others what happens, and know the store and what
//! carries it out; `tui` and `cli` know the poller, and `cli` those two; `main` knows `cli`.

pub mod alerts;
pub mod api;
pub mod budget;
pub mod cli;
pub mod clock;
pub mod config;
pub mod domain;
pub mod intake;
pub mod metrics;
pub mod notify;
pub mod poller;
pub mod process;
pub mod schedule;
pub mod sim;
pub mod store;
pub mod tui;
