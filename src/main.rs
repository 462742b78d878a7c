//! The binary: hooks, arguments, dispatch, exit code.

use std::process::ExitCode;

use hoptop::cli::{self, exit::Exit};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    if cli::install_hooks().is_err() {
        return Exit::Error.into();
    }
    cli::main().into()
}
