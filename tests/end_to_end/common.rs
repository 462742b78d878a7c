//! Runs the program and the simulated service as processes, each with its own folders.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Output, Stdio},
};

use hoptop::internals::sim::Scenario;
use serde_json::Value;
use tempfile::TempDir;

/// An integrator ID that the simulated service accepts.
pub(crate) const ID: &str = "an-integrator-of-the-tests-7f3a";

/// A temporary home folder for the program, with its store, state and configuration.
pub(crate) struct Home(TempDir);

impl Home {
    /// Creates an empty home folder.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file in this home and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Writes the program's config file, for its owner alone.
    pub(crate) fn configure(&self, text: &str) {
        fs::create_dir_all(self.path().join("config/hoptop")).unwrap();
        let path = self.write("config/hoptop/config.toml", text);
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }

    /// Returns a command of the program in this home. Its environment has only the paths of this home, and `PATH`.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
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

    /// Like [`Home::command`], with the base URL, ID and rate that polling needs.
    pub(crate) fn polling_command(&self, url: &str, words: &[&str]) -> Command {
        let mut command = self.command(words);
        command.env("HOPTOP_BASE_URL", url).env("HOPTOP_INTEGRATOR_ID", ID).env("HOPTOP_RPS", "10");
        command
    }

    /// Runs a command that needs no service, and waits for its end.
    pub(crate) fn run(&self, words: &[&str]) -> ProcessOutput {
        ProcessOutput::new(self.command(words).output().unwrap())
    }

    /// Runs `watch`, and waits for its end.
    pub(crate) fn watch(&self, url: &str, words: &[&str]) -> ProcessOutput {
        ProcessOutput::new(self.polling_command(url, &[&["watch"], words].concat()).output().unwrap())
    }

    /// Imports CSV rows.
    pub(crate) fn import(&self, csv: &str) {
        let ended = self.run(&["import", &self.write("batch.csv", csv)]);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    }

    /// Returns the tracked transactions as `list --json` prints them.
    pub(crate) fn list(&self) -> Vec<Value> {
        let ended = self.run(&["list", "--json"]);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        serde_json::from_str(&ended.out).unwrap()
    }
}

/// The exit code and the output of a process that has ended.
#[derive(Debug)]
pub(crate) struct ProcessOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl ProcessOutput {
    /// Converts the output of a command, which must be UTF-8.
    pub(crate) fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Parses standard output as the events of `watch --json`.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.out.lines().map(parse_event).collect()
    }

    /// Checks the exit code, and that standard error contains each of these texts and no crash message.
    #[track_caller]
    pub(crate) fn assert_exit(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "standard error lacks `{word}`: {self:?}");
        }
        assert!(!self.err.contains("panicked") && !self.err.contains("Location"), "{self:?}");
    }
}

/// Parses a line of `watch --json`, and checks that it has a name and a time.
pub(crate) fn parse_event(line: &str) -> Value {
    let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let at = event["at"].as_str().unwrap_or_default();
    assert!(event["event"].is_string() && at.len() == 24 && at.ends_with('Z'), "{line}");
    event
}

/// A process that runs in the background of a test. It is killed when the value is dropped.
pub(crate) struct ProgramProcess {
    child: Child,
    input: Option<ChildStdin>,
    out: Option<BufReader<ChildStdout>>,
    err: BufReader<ChildStderr>,
}

impl ProgramProcess {
    /// Starts a command whose output is piped.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        Self { input: child.stdin.take(), child, out: Some(BufReader::new(out)), err: BufReader::new(err) }
    }

    /// Starts a command whose standard output goes elsewhere.
    #[allow(dead_code, reason = "for the tests of unread output")]
    pub(crate) fn start_unread(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        Self { input: child.stdin.take(), child, out: None, err }
    }

    /// Returns the next line of standard error, empty at its end.
    #[allow(dead_code, reason = "for the tests of faults")]
    pub(crate) fn read_error_line(&mut self) -> String {
        let mut line = String::new();
        self.err.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Reads the address of the metrics, which a watch prints first.
    pub(crate) fn read_metrics_address(&mut self) -> String {
        let message = self.read_error_line();
        let address = message.strip_prefix("hoptop: metrics at http://").and_then(|rest| rest.strip_suffix("/metrics"));
        address.unwrap_or_else(|| panic!("{message}")).to_owned()
    }

    /// Returns the next line of standard output, empty at its end.
    pub(crate) fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.out.as_mut().unwrap().read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Reads events until `count` of this name have arrived, and returns all of them.
    pub(crate) fn read_events_until(&mut self, name: &str, count: usize) -> Vec<Value> {
        let mut events: Vec<Value> = Vec::new();
        while events.iter().filter(|event| event["event"] == name).count() < count {
            let line = self.read_line();
            assert!(!line.is_empty(), "the process ended before `{name}` arrived {count} times: {events:?}");
            events.push(parse_event(&line));
        }
        events
    }

    /// Writes to standard input, which must be a pipe.
    #[allow(dead_code, reason = "for the tests of several processes")]
    pub(crate) fn send(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// The ID of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends the process a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Closes the reading end of standard output.
    pub(crate) fn stop_reading(&mut self) {
        self.out = None;
    }

    /// Closes standard input and waits for the end. The returned standard output lacks lines that were read before.
    pub(crate) fn end(mut self) -> ProcessOutput {
        self.input = None;
        let (mut out, mut err) = (String::new(), String::new());
        if let Some(pipe) = &mut self.out {
            pipe.read_to_string(&mut out).unwrap();
        }
        self.err.read_to_string(&mut err).unwrap();
        ProcessOutput { code: self.child.wait().unwrap().code(), out, err }
    }
}

impl Drop for ProgramProcess {
    fn drop(&mut self) {
        // The process may have ended already, so errors are ignored.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A running `hoptop simulate` with a scenario.
pub(crate) struct SimulatorProcess {
    process: ProgramProcess,
    _home: Home,
    pub url: String,
}

impl SimulatorProcess {
    /// Starts the simulated service on a free port, and waits until it prints its address.
    pub(crate) fn start(scenario: &str) -> Self {
        let home = Home::new();
        let path = home.write("scenario.toml", scenario);
        let mut process =
            ProgramProcess::start(home.command(&["simulate", "--listen", "127.0.0.1:0", "--scenario", &path]));
        let first = process.read_line();
        let url = first.split_whitespace().find(|word| word.starts_with("http://"));
        let url = url.unwrap_or_else(|| panic!("no address: {first}")).trim_end_matches(':').to_owned();
        Self { process, _home: home, url }
    }

    /// Ends the service, and checks its report: no window over the limit, no request throttled. Returns the number of
    /// requests.
    #[track_caller]
    pub(crate) fn end_within_budget(self) -> u64 {
        self.process.signal("TERM");
        let ended = self.process.end();
        assert_eq!((ended.code, ended.err.as_str()), (Some(143), ""), "{ended:?}");
        let report = ended.out.lines().last().unwrap_or_default();
        assert!(report.contains(" 0 windows over the limit, 0 throttled, 0 unauthorized"), "{report}");
        report.split_once(" requests").and_then(|(count, _)| count.parse().ok()).unwrap_or_else(|| panic!("{report}"))
    }
}

/// Transactions, as a scenario for the simulated service and as CSV for an import.
pub(crate) struct ScenarioBatch {
    pub scenario: String,
    pub csv: String,
}

/// The columns of [`ScenarioBatch::csv`].
pub(crate) const HEADER: &str =
    "transactionId,fromChainId,toChainId,quoteId,requestId,estimatedRouteDuration,ticket,labels\n";

impl ScenarioBatch {
    /// Creates one transaction for each of `answers`.
    pub(crate) fn new(answers: &[&str]) -> Self {
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

    /// Creates `count` transactions with the same answers.
    pub(crate) fn repeat(count: usize, answers: &str) -> Self {
        Self::new(&vec![answers; count])
    }

    /// Checks that every transaction of `list` is settled, with the final status of the scenario.
    #[track_caller]
    pub(crate) fn assert_settled_as_scripted(scenario: &str, list: &[Value]) {
        let scenario = Scenario::parse(scenario).unwrap();
        for tx in list {
            let hash = tx["transactionId"].as_str().unwrap();
            assert_eq!(tx["status"].as_str(), scenario.final_status(hash), "{tx}");
            assert_eq!((&tx["settled"], tx["settledAt"].is_string()), (&Value::Bool(true), true), "{tx}");
        }
    }
}

/// Returns all files below a folder.
pub(crate) fn list_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { list_files(&path) } else { vec![path] }).collect()
}

/// Reads the metrics of a running watch.
pub(crate) fn get_metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
