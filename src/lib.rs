//! hoptop: top for cross-chain hops.
//!
//! A poller asks one status endpoint about many transactions, within the budget of an integrator ID, and writes the
//! answers into a SQLite store. A terminal dashboard and a command line read the store. They show which transactions
//! need attention, why, and what to do.
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
//! Every lasting change is written as an operation: plain data that says what happened, when and by whom.
//! `store/operations` derives what follows from an operation (records, alerts, durations, the feed) when the operation is
//! applied, identically in every store.
//!
//! | to find | read |
//! | --- | --- |
//! | what a key does | `tui/command.rs`: the table of commands, each with its function; most are in `tui/update/actions.rs` |
//! | how a 429 is handled | `api/answer.rs` recognises it; `budget/pace.rs` (rest and rate), `poller/health.rs` (the profile's state), `store/operations/profile.rs` (its alert) |
//! | how an acknowledged alert fires again | `domain/alert/life.rs` has the condition, `alerts/mod.rs` decides, `store/operations/alerts.rs` applies the decision |
//! | who wrote what | `domain/people.rs` (names and authors), `store/operations/undo.rs` (each person's undo) |
//! | the words of a notification | `cli/output/json.rs` (`event`, for commands and webhooks), `tui/system/notification.rs` (on the desktop) |
//! | what a replica has to apply | `domain/operation.rs`, `store/operations/mod.rs` (`apply`), `store/replica/mod.rs` (entries of the log) |
//! | where a column of the list gets its width | `tui/screens/list/columns.rs` |
//! | what a row of a table holds | `store/tables`; `mod.rs` says which file has which tables |
//! | budget, schedule and forecast for another poller | `engine.rs` |
//! | how the domain is shown as text, in the dashboard and on the command line | `presentation` |
//! | what a chain itself says about a transaction | `chain_rpc` asks; `domain/on_chain.rs` and `domain/chain_check.rs` decide what it means; `poller/chains.rs` decides when |
//! | a screen or a dialog of the dashboard | `tui/screens`, `tui/dialogs` |
//! | a command of the command line | `cli/commands` |
//! | exit codes, signals, log file, crash reports, the poller in the background | `runtime` |
//!
//! Each module may import the modules in its row, and no others (`tests/architecture.rs` checks this):
//!
//! | module | may import |
//! | --- | --- |
//! | `clock`, `process` | none |
//! | `domain` | `clock`, for the type of a moment |
//! | `presentation`, `schedule`, `alerts`, `intake` | `clock`, `domain` |
//! | `budget`, `api`, `sim`, `config` | `clock`, `process`, `domain` |
//! | `chain_rpc` | `clock`, `domain`, `api` |
//! | `engine` | `clock`, `domain`, `budget`, `schedule` |
//! | `store` | `clock`, `process`, `domain`, `alerts` |
//! | `team` | `clock`, `process`, `domain`, `store` |
//! | `poller` | `clock`, `process`, `domain`, `schedule`, `budget`, `alerts`, `api`, `chain_rpc`, `store` |
//! | `notify` | `clock`, `process`, `domain`, `api`, `store` |
//! | `metrics` | `clock`, `process`, `domain`, `store`, `poller`, `notify` |
//! | `tui` | `clock`, `process`, `domain`, `presentation`, `alerts`, `store`, `intake`, `poller` |
//! | `runtime` | `clock`, `process`, `domain`, `budget`, `store`, `team`, `api`, `chain_rpc`, `config`, `poller`, `metrics`, `notify`, `tui` |
//! | `cli` | all modules but `schedule`, `engine` and `main` |
//! | `main` | `cli`, `runtime` |
//! | `internals` | all modules: names what the program, the tests and the benchmarks use |
//!
//! `store` imports `alerts` because the rules must come with the store: only then is applying an answer deterministic.

#[cfg(not(unix))]
compile_error!("hoptop needs a Unix system: it ends by signals, and shares its budget through kernel locks");

mod alerts;
mod api;
mod budget;
mod chain_rpc;
mod cli;
mod clock;
mod config;
mod domain;
pub mod engine;
mod intake;
#[doc(hidden)]
pub mod internals;
mod metrics;
mod notify;
mod poller;
mod presentation;
mod process;
mod runtime;
mod schedule;
mod sim;
mod store;
mod team;
mod tui;
