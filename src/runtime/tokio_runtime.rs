//! The tokio runtime of commands that poll or serve.

use color_eyre::eyre::{Result, WrapErr};

/// Creates a runtime with one worker thread. One thread is enough for the limit of requests per second, beside the
/// dashboard's own thread. Two threads would wake each other for each request.
pub(crate) fn start() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .wrap_err("the runtime can't be started")
}
