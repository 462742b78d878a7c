//! The program and the simulated service as processes, each with folders of its own.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Output, Stdio},
};

use hoptop::sim::scenario::Scenario;
use serde_json::Value;
use tempfile::TempDir;

/// An integrator ID that the simulated service takes.
pub const ID: &str = "an-integrator-of-the-tests-7f3a";

/// A home of its own for the program: store, state and configuration.
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Writes its config file.
    pub fn configure(&self, text: &str) {
        fs::create_dir_all(self.path().join("config/hoptop")).unwrap();
        self.write("config/hoptop/config.toml", text);
    }

    /// The program in this home; of the environment it sees nothing but that and `PATH`.
    pub fn hoptop(&self, words: &[&str]) -> Command {
        let at = |name: &str| self.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_hoptop"));
        command
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("XDG_DATA_HOME", at("data"))
            .env("XDG_CONFIG_HOME", at("config"))
            .env("XDG_STATE_HOME", at("state-home"))
            .env("HOPTOP_DB", at("hoptop.db"))
            .env("HOPTOP_STATE_DIR", at("state"))
            .current_dir(self.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The same with what polling needs.
    pub fn polling(&self, url: &str, words: &[&str]) -> Command {
        let mut command = self.hoptop(words);
        command.env("HOPTOP_BASE_URL", url).env("HOPTOP_INTEGRATOR_ID", ID).env("HOPTOP_RPS", "10");
        command
    }

    /// Runs a command that needs no service, to its end.
    pub fn run(&self, words: &[&str]) -> Ended {
        Ended::of(self.hoptop(words).output().unwrap())
    }

    /// Polls to the end.
    pub fn watch(&self, url: &str, words: &[&str]) -> Ended {
        Ended::of(self.polling(url, &[&["watch"], words].concat()).output().unwrap())
    }

    /// Tracks what this CSV holds.
    pub fn import(&self, csv: &str) {
        let ended = self.run(&["import", &self.write("batch.csv", csv)]);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    }

    /// What is tracked, as `list --json` has it.
    pub fn list(&self) -> Vec<Value> {
        let ended = self.run(&["list", "--json"]);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        serde_json::from_str(&ended.out).unwrap()
    }
}

/// How a process ended and what it printed.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Standard output as events; each has a name and a moment.
    pub fn events(&self) -> Vec<Value> {
        self.out.lines().map(event).collect()
    }

    /// It ended with `code` and said why on standard error, in these words among others.
    #[track_caller]
    pub fn assert_refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "`{word}` isn't said: {self:?}");
        }
        assert!(!self.err.contains("panicked") && !self.err.contains("Location"), "{self:?}");
    }
}

/// A line of `watch --json`.
pub fn event(line: &str) -> Value {
    let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let at = event["at"].as_str().unwrap_or_default();
    assert!(event["event"].is_string() && at.len() == 24 && at.ends_with('Z'), "{line}");
    event
}

/// A process that runs beside the test; it ends with it at the latest.
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    out: Option<BufReader<ChildStdout>>,
    err: BufReader<ChildStderr>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        Self { input: child.stdin.take(), child, out: Some(BufReader::new(out)), err: BufReader::new(err) }
    }

    /// The next line that it prints on standard error; empty at its end.
    #[allow(dead_code, reason = "for the tests of faults")]
    pub fn complaint(&mut self) -> String {
        let mut line = String::new();
        self.err.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The next line that it prints; empty at its end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.as_mut().unwrap().read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Reads events until `count` of this name have come.
    pub fn until(&mut self, name: &str, count: usize) -> Vec<Value> {
        let mut events: Vec<Value> = Vec::new();
        while events.iter().filter(|event| event["event"] == name).count() < count {
            let line = self.line();
            assert!(!line.is_empty(), "it ended before `{name}` came {count} times: {events:?}");
            events.push(event(&line));
        }
        events
    }

    /// Writes to its standard input, if that is a pipe.
    #[allow(dead_code, reason = "for the tests of several processes")]
    pub fn send(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Closes the pipe that it prints into.
    pub fn stop_reading(&mut self) {
        self.out = None;
    }

    /// Waits for its end, which the end of its input may bring; standard output is what hasn't been read before.
    pub fn end(mut self) -> Ended {
        self.input = None;
        let (mut out, mut err) = (String::new(), String::new());
        if let Some(pipe) = &mut self.out {
            pipe.read_to_string(&mut out).unwrap();
        }
        self.err.read_to_string(&mut err).unwrap();
        Ended { code: self.child.wait().unwrap().code(), out, err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended and been waited for.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// `hoptop simulate` with a scenario.
pub struct Simulation {
    process: Running,
    _home: Home,
    pub url: String,
}

impl Simulation {
    pub fn start(scenario: &str) -> Self {
        let home = Home::new();
        let path = home.write("scenario.toml", scenario);
        let mut process = Running::start(home.hoptop(&["simulate", "--listen", "127.0.0.1:0", "--scenario", &path]));
        let first = process.line();
        let url = first.split_whitespace().find(|word| word.starts_with("http://"));
        let url = url.unwrap_or_else(|| panic!("no address: {first}")).trim_end_matches(':').to_owned();
        Self { process, _home: home, url }
    }

    /// Ends it, and checks its report: no window over the limit, nothing throttled. Returns the requests it counted.
    #[track_caller]
    pub fn end_within_budget(self) -> u64 {
        self.process.signal("TERM");
        let ended = self.process.end();
        assert_eq!((ended.code, ended.err.as_str()), (Some(143), ""), "{ended:?}");
        let report = ended.out.lines().last().unwrap_or_default();
        assert!(report.contains(" 0 windows over the limit, 0 throttled, 0 unauthorized"), "{report}");
        report.split_once(" requests").and_then(|(count, _)| count.parse().ok()).unwrap_or_else(|| panic!("{report}"))
    }
}

/// Transactions, as a scenario for the service and as CSV for an import.
pub struct Batch {
    pub scenario: String,
    pub csv: String,
}

/// The columns of [`Batch::csv`].
pub const HEADER: &str = "transactionId,fromChainId,toChainId,quoteId,requestId,estimatedRouteDuration,ticket,labels\n";

impl Batch {
    /// One transaction for each of `answers`.
    pub fn new(answers: &[&str]) -> Self {
        let mut scenario = "[service]\nrps = 10.0\nlatency_ms = 20\ncounts_from = \"first_request\"\n".to_owned();
        let mut csv = HEADER.to_owned();
        for (number, answers) in (1..).zip(answers) {
            let hash = format!("0x{number:064x}");
            scenario += &format!(
                "[[transaction]]\ntransactionId = \"{hash}\"\nfromChainId = \"42161\"\ntoChainId = \"8453\"\n\
                 quoteId = \"q-{number}\"\nanswers = [{answers}]\n"
            );
            csv += &format!("{hash},42161,8453,q-{number},,300,SUP-{number},batch-9;row-{number}\n");
        }
        Self { scenario, csv }
    }

    /// So many transactions with the same answers.
    pub fn of(count: usize, answers: &str) -> Self {
        Self::new(&vec![answers; count])
    }

    /// Every transaction of `list` ended as its scenario says, and is settled.
    #[track_caller]
    pub fn assert_ended(scenario: &str, list: &[Value]) {
        let scenario = Scenario::parse(scenario).unwrap();
        for tx in list {
            let hash = tx["transactionId"].as_str().unwrap();
            assert_eq!(tx["status"].as_str(), scenario.final_status(hash), "{tx}");
            assert_eq!((&tx["settled"], tx["settledAt"].is_string()), (&Value::Bool(true), true), "{tx}");
        }
    }
}

/// All files below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
