//! The tokio runtimes of this process.

use std::{fs::File, io, thread};

use color_eyre::eyre::{Result, WrapErr};
use tokio::runtime::{Builder, Runtime};

/// Creates a runtime with one worker thread. One thread is enough for the limit of requests per second, beside the
/// dashboard's own thread. Two threads would wake each other for each request.
///
/// # Errors
/// If the system has no thread or file descriptor left.
pub(crate) fn start() -> Result<Runtime> {
    build(Builder::new_multi_thread().worker_threads(1))
}

/// Creates a runtime that runs on the thread that blocks on it.
///
/// # Errors
/// If the system has no thread or file descriptor left.
pub(super) fn start_on_this_thread() -> Result<Runtime> {
    build(&mut Builder::new_current_thread())
}

fn build(builder: &mut Builder) -> Result<Runtime> {
    check_resources().and_then(|()| builder.enable_all().build()).wrap_err(
        "the runtime can't be started: check the limits of open files (`ulimit -n`) and processes (`ulimit -u`)",
    )
}

/// Takes a few threads and file descriptors for a moment. Without them tokio would panic.
fn check_resources() -> io::Result<()> {
    const THREADS: usize = 4;
    const DESCRIPTORS: usize = 8;
    // Each thread waits, so that all exist at once.
    let threads: Vec<_> =
        (0..THREADS).map(|_| thread::Builder::new().name("probe".into()).spawn(thread::park)).collect();
    let files: io::Result<Vec<_>> = (0..DESCRIPTORS).map(|_| File::open("/dev/null")).collect();
    let mut outcome = files.map(drop);
    for thread in threads {
        match thread {
            Ok(thread) => {
                thread.thread().unpark();
                thread.join().ok();
            }
            Err(error) => outcome = Err(error),
        }
    }
    outcome
}
