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
//! | the definition of a transaction, its statuses, its alerts and its advice | `domain`: `transaction.rs`, `status.rs`, `alert.rs`, `advice.rs` |
//! | when a slot of the budget is taken, and for which request | `poller/core.rs` (`PollerCore::next`) chooses the request; `budget/handle.rs` (`Budget::take`, `release`) takes and returns the slot |
//! | how a 429 is handled | `api/answer.rs` recognises a 429. `poller/core.rs` (`finish_request`) reports it to budget, schedule and health: `budget/pace.rs` (rest and rate), `poller/health.rs` (the profile's state), `store/operations/profile.rs` (its alert). The 429 of a chain's node: `chain_rpc/pace.rs` |
//! | the forecast of a transfer | `domain/evidence.rs` computes forecasts from observed durations (`domain/duration_stats.rs`). `poller/poll_plan.rs` selects a forecast by status for the schedule. `tui/model/mod.rs` (`forecast`) loads one for the screen |
//! | what a chain itself says about a transaction | `chain_rpc` asks; `domain/on_chain.rs` and `domain/chain_check.rs` decide what it means; `poller/chains.rs` decides when |
//! | how an alert is acknowledged or snoozed | `cli/handle_alerts.rs`, `tui/update/actions.rs`; `store/operations/edit.rs` applies both |
//! | how an acknowledged alert fires again | `domain/alert/life.rs` has the condition, `alerts/mod.rs` decides, `store/operations/alerts.rs` applies the decision. An ended snooze: `domain/alert.rs` (`state`), `store/operations/alerts.rs` (`end_snoozes`) |
//! | the words of a notification | on the desktop: `tui/system/notification.rs` (the line), `domain/alert.rs` (`Rule::label`), `tui/update/store_changes.rs` (`describe`, the subject); for commands and webhooks: `cli/output/json.rs` (`event`) |
//! | who wrote what | `domain/people.rs` (names and authors), `store/operations/undo.rs` (each person's undo) |
//! | the operations, and what a replica has to apply | `domain/operation.rs`, `store/operations/mod.rs` (`apply`), `store/replica/mod.rs` (entries of the log), `store/replica/payload.rs` (the content of an entry) |
//! | what a row of a table holds | `store/tables`; `mod.rs` says which file has which tables |
//! | how the store's file is opened, backed up and recovered | `store/file` |
//! | how a file or a paste is parsed, and where a bad line is worded | `intake` (`LineError` in `mod.rs`, `FieldError` in `fields.rs`). `cli/commands/import` prints the errors |
//! | what a key does | `tui/command.rs`: the table of commands; `tui/update/dispatch.rs` has or imports each function; `tui/dialogs/prompt` for the Enter of a prompt |
//! | a screen or a dialog of the dashboard | `tui/screens/NAME`, `tui/dialogs/NAME`: state, update, view |
//! | how the dashboard draws | `tui/view` measures and draws, and changes nothing; `tui/step.rs` calls update and view |
//! | where a column of the list gets its width | `tui/screens/list/columns.rs` |
//! | how the domain is shown as text, in the dashboard and on the command line | `presentation` |
//! | a command of the command line | its file or folder in `cli/commands` |
//! | exit codes, signals, log file, crash reports, the poller in the background | `runtime` |
//! | budget, schedule and forecast for another poller | `engine.rs` |
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
