//! Compiles the library that injects faults into the real program.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use tempfile::TempDir;

/// Returns the path of the fault library, which is compiled once; `None` without a compiler.
pub(crate) fn shim() -> Option<&'static Path> {
    static SHIM: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let compile = || {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("shim.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/shim.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl");
        match cc.status() {
            Ok(status) => assert!(status.success(), "the shim doesn't compile"),
            Err(error) => {
                eprintln!("skipped: no C compiler ({error})");
                return None;
            }
        }
        Some((folder, library))
    };
    SHIM.get_or_init(compile).as_ref().map(|(_, library)| library.as_path())
}
