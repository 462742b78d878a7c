//! The binary: installs the hooks for panics and errors, runs the command line, and returns its exit code.

use std::process::ExitCode;

use hoptop::internals::{cli, runtime::Exit};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    if cli::install_hooks().is_err() {
        return Exit::Error.into();
    }
    cli::main().into()
}
