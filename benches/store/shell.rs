//! The yardstick: the `sqlite3` shell, as installed on the machine.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

/// An installed `sqlite3` shell.
pub(crate) struct SqliteShell;

impl SqliteShell {
    pub(crate) fn find() -> Option<Self> {
        let found = Command::new("sqlite3").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.is_ok_and(|status| status.success()).then_some(Self)
    }

    /// Runs a script on a database and returns its output.
    pub(crate) fn run(&self, database: &Path, script: &str) -> String {
        let mut shell = Command::new("sqlite3")
            .args(["-batch", "-bail"])
            .arg(database)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let ended = shell.wait_with_output().unwrap();
        assert!(ended.status.success(), "sqlite3 fails on:\n{script}");
        String::from_utf8(ended.stdout).unwrap()
    }

    /// Returns the seconds of the shortest of `runs` runs of a statement, with its results discarded.
    pub(crate) fn seconds(&self, database: &Path, statement: &str, runs: usize) -> f64 {
        let script = format!(".output /dev/null\n.timer on\n{}", format!("{statement};\n").repeat(runs));
        let output = self.run(database, &script);
        let real = |line: &str| line.strip_prefix("Run Time: real ")?.split(' ').next()?.parse::<f64>().ok();
        let times: Vec<f64> = output.lines().filter_map(real).collect();
        assert_eq!(times.len(), runs, "no times for {statement}:\n{output}");
        times.into_iter().fold(f64::INFINITY, f64::min)
    }
}
