//! Installs npm packages for tests, once, into the target folder.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::common::ProcessOutput;

/// The seconds that an installation may take.
const INSTALL_LIMIT: &str = "180";

/// Returns the folder `name` with the installed packages, or why there is none.
pub(crate) fn install(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let is_there = |program: &str, args: &[&str]| {
        Command::new(program).args(args).output().is_ok_and(|ended| ended.status.success())
    };
    if !is_there("node", &["--eval", "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)"]) {
        return Err("there is no node, or one before version 18".to_owned());
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let installed = target.join("tools/npm").join(name);
    if installed.exists() {
        return Ok(installed);
    }
    if !is_there("npm", &["--version"]) || !is_there("timeout", &["1", "true"]) {
        return Err("there is no npm, or no timeout command".to_owned());
    }
    let parent = installed.parent().unwrap();
    fs::create_dir_all(parent).unwrap();
    // A folder with the final name is complete: an installation that is cut off leaves none.
    let temporary = tempfile::tempdir_in(parent).unwrap();
    let mut npm = Command::new("timeout");
    npm.args([INSTALL_LIMIT, "npm", "install", "--prefix"]).arg(temporary.path()).args(packages).args([
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        "--prefer-offline",
        "--loglevel=error",
    ]);
    let ended = ProcessOutput::new(npm.stdin(Stdio::null()).output().unwrap());
    if ended.code != Some(0) {
        // The first line has the error's code; the others can name the registry.
        let error = ended.err.lines().next().unwrap_or("no message");
        return Err(format!("npm can't install {name} within {INSTALL_LIMIT} s: {error}"));
    }
    let renamed = fs::rename(temporary.path(), &installed);
    // Another run of the tests may have been faster.
    assert!(installed.exists(), "{renamed:?}");
    Ok(installed)
}
