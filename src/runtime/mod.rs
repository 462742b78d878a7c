//! The parts of a process that don't depend on its command: exit codes, signals, the log file, crash reports, the tokio
//! runtime, the background poller and maintenance.
//!
//! The module must never know which command runs.

pub(crate) mod background_poller;
pub(crate) mod crash;
pub(crate) mod exit;
pub(crate) mod hang_up;
pub(crate) mod log_file;
pub(crate) mod maintenance;
pub(crate) mod signals;
pub(crate) mod stderr;
pub(crate) mod tokio_runtime;
