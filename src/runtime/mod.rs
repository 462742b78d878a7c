//! The parts of a process that don't depend on its command, such as exit codes, signals, the log file, crash reports,
//! the background poller, and the access to a team's store.
//!
//! The module must never know which command runs.

pub(crate) mod background_poller;
pub(crate) mod chain_nodes;
pub(crate) mod crash;
pub(crate) mod exit;
pub(crate) mod forced_end;
pub(crate) mod hang_up;
pub(crate) mod log_file;
pub(crate) mod maintenance;
pub(crate) mod service_client;
pub(crate) mod service_manager;
pub(crate) mod signals;
pub(crate) mod stderr;
pub(crate) mod team_poller;
pub(crate) mod team_store;
pub(crate) mod tokio_runtime;
