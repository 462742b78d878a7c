//! A request of a killed process never arrives late: the kernel gives up bytes that nobody acknowledges.
//!
//! The sockets are looked at, because the simulated service doesn't count a request whose sender has closed the
//! connection.
//!
//! Service and poller share a network namespace, whose loopback interface goes down while a request is under way.
//! Without the right to make a namespace the test says that it is skipped.

#![allow(clippy::disallowed_methods, reason = "waits in real time")]

use std::{
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::common::{Home, ProgramProcess, ScenarioBatch};

/// What `TEAM.md` assumes of the kernel, and the pause until the next repetition. By default the kernel goes on for 30
/// s.
const OUTAGE: Duration = Duration::from_secs(4);

/// A network of its own: nothing but a loopback interface.
struct NetworkNamespace(Child);

impl NetworkNamespace {
    /// Creates the network; `None` if this user may not.
    fn new() -> Option<Self> {
        let mut command = Command::new("unshare");
        let shell = command.args(["--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 600"]);
        let mut shell = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let is_up = std::io::read_to_string(std::io::Read::take(shell.stdout.as_mut()?, 2));
        if is_up.is_ok_and(|text| text == "up") {
            return Some(Self(shell));
        }
        shell.wait().unwrap();
        None
    }

    /// Lets a command run in the network.
    fn enter(&self, command: &Command) -> Command {
        let mut entered = Command::new("nsenter");
        entered.arg(format!("--net=/proc/{}/ns/net", self.0.id())).arg("--").arg(command.get_program());
        entered.args(command.get_args()).env_clear();
        entered.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        entered.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        entered
    }

    fn run(&self, words: &[&str]) -> String {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("PATH", std::env::var_os("PATH").unwrap());
        let output = self.enter(&command).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Whether a socket holds bytes for this port that the other side hasn't acknowledged.
    fn has_unacknowledged_bytes(&self, port: &str) -> bool {
        let sockets = self.run(&["ss", "-Htna", &format!("dport = :{port}")]);
        sockets.lines().any(|line| line.split_whitespace().nth(2).is_some_and(|queued| queued != "0"))
    }
}

impl Drop for NetworkNamespace {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn request_of_a_killed_process_does_not_arrive_after_an_outage_of_the_network() {
    let Some(network) = NetworkNamespace::new() else {
        eprintln!("skipped: this user may not make a network namespace");
        return;
    };
    let batch = ScenarioBatch::repeat(1, r#"{ from = 0, status = "ongoing", steps = 1 }"#);
    let home = Home::new();
    home.import(&batch.csv);
    let scenario = home.write("scenario.toml", &batch.scenario);
    let simulate = home.command(&["simulate", "--listen", "127.0.0.1:8080", "--scenario", &scenario]);
    let mut service = ProgramProcess::start(network.enter(&simulate));
    assert!(service.read_line().contains("8080"));
    let watch = home.polling_command("http://127.0.0.1:8080", &["watch", "--json", "--verbose"]);
    let mut poller = ProgramProcess::start(network.enter(&watch));
    poller.read_events_until("polled", 2);
    network.run(&["ip", "link", "set", "lo", "down"]);
    let limit = Instant::now() + Duration::from_secs(20);
    while !network.has_unacknowledged_bytes("8080") {
        assert!(Instant::now() < limit, "no request under way");
        thread::sleep(Duration::from_millis(20));
    }
    poller.signal("KILL");
    thread::sleep(OUTAGE);
    assert!(!network.has_unacknowledged_bytes("8080"), "the kernel would still send the request");
}
