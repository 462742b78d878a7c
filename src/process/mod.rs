//! Files and processes of the operating system: private files and folders, kernel locks between processes, other
//! programs, where secrets come from, and the causes of errors.
//!
//! Every module may import this one. It knows paths, open files and child processes. It must never know the content of
//! a file, or the purpose of a lock or a program. It must never import another module of hoptop.

pub(crate) mod causes;
pub(crate) mod files;
pub(crate) mod kill_timer;
pub(crate) mod lock;
pub(crate) mod lock_holder;
pub(crate) mod program;
pub(crate) mod secret_source;

use std::sync::OnceLock;

static RUN: OnceLock<u32> = OnceLock::new();

/// Returns a random number that tells the runs of hoptop apart, on all machines of a team. A process that polls on
/// behalf of another one has that one's number.
pub fn run_id() -> u32 {
    *RUN.get_or_init(rand::random)
}

/// Makes this process a part of another one's run. Has no effect once the number is in use.
pub(crate) fn join_run(id: u32) {
    RUN.set(id).ok();
}
