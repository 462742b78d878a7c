//! The binary: hooks, arguments, dispatch, exit code.

use std::process::ExitCode;

use hoptop::cli::{self, exit::Exit};

fn main() -> ExitCode {
    if cli::install_hooks().is_err() {
        return Exit::Error.into();
    }
    cli::main().into()
}
