//! Runs the commands and settings of the README and the guides, and the examples, as they are written there.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{
    ONGOING, SUCCESS,
    common::{Home, ID, ProcessOutput, ScenarioBatch, SimulatorProcess},
    session::Session,
};

/// The README, the guides, and what a contributor reads.
pub(super) struct Document {
    /// The path below the project's folder.
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// Returns the documents, the README first.
pub(super) fn documents() -> Vec<Document> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = fs::read_dir(root.join("assets/docs")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut guides: Vec<PathBuf> = files.map(|name| Path::new("assets/docs").join(name)).collect();
    guides.sort();
    let others = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"].map(PathBuf::from);
    let paths = others.into_iter().chain(guides);
    paths.map(|path| Document { text: fs::read_to_string(root.join(&path)).unwrap(), path }).collect()
}

/// Returns the contents of the code blocks in this language, with the paths of their documents.
fn code_blocks(language: &str) -> Vec<(String, String)> {
    let opening = format!("```{language}\n");
    let of_document = |Document { path, text }: Document| {
        let blocks = text.split(opening.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
        blocks.map(|block| (path.display().to_string(), block)).collect::<Vec<_>>()
    };
    documents().into_iter().flat_map(of_document).collect()
}

/// Returns the command lines without their comments, with the paths of their documents.
fn command_lines() -> Vec<(String, String)> {
    let of_block = |(path, block): (String, String)| {
        let bare = block.lines().map(|line| line.split(" #").next().unwrap().trim());
        let commands = bare.filter(|line| !line.is_empty() && !line.starts_with('#'));
        commands.map(|line| (path.clone(), line.to_owned())).collect::<Vec<_>>()
    };
    code_blocks("sh").into_iter().flat_map(of_block).collect()
}

/// A home with the files, the programs and the service that the commands of the documents name.
struct ReadmeSandbox {
    home: Home,
    simulation: SimulatorProcess,
}

impl ReadmeSandbox {
    fn new() -> Self {
        let batch = ScenarioBatch::repeat(2, SUCCESS);
        let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
        let (program, csv) =
            (env!("CARGO_BIN_EXE_hoptop"), home.write("transfers.csv", &batch.csv.replace("batch-9", "batch-17")));
        fs::create_dir(home.path().join("bin")).unwrap();
        let write_tool = |name: &str, script: &str| {
            home.write(name, &format!("#!/bin/sh\n{script}\n"));
            Command::new("chmod").arg("+x").arg(home.path().join(name)).status().unwrap();
        };
        // A watch without an end gets a timeout.
        let endless = "case \"$*\" in *--timeout*|*--follow*) ;; *watch*) set -- \"$@\" --timeout 3s;; esac";
        write_tool("bin/hoptop", &format!("{endless}\nexec {program} \"$@\""));
        write_tool("bin/my-service", &format!("cat {csv}"));
        write_tool("bin/jq", "cat");
        write_tool("release-the-goods", "exit 0");
        std::os::unix::fs::symlink(concat!(env!("CARGO_MANIFEST_DIR"), "/assets"), home.path().join("assets")).unwrap();
        Self { home, simulation }
    }

    /// Returns a command line with this sandbox's service, ID and store.
    fn adapt(&self, line: &str) -> String {
        let store = self.home.path().join("try.db").display().to_string();
        line.replace("https://...", &self.simulation.url)
            .replace("HOPTOP_INTEGRATOR_ID=...", &format!("HOPTOP_INTEGRATOR_ID={ID}"))
            .replace("http://127.0.0.1:8080", &self.simulation.url)
            .replace("127.0.0.1:9464", "127.0.0.1:0")
            .replace("/tmp/try/hoptop.db", &store)
            // The service here doesn't know the shipped batch, so none of it settles.
            .replace("--timeout 10m", "--timeout 4s")
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.home.polling_command(&self.simulation.url, &[]);
        let mut shell = Command::new("bash");
        shell.args(["-c", &self.adapt(line)]).env_clear().current_dir(self.home.path());
        for (name, value) in command.stdin(Stdio::null()).get_envs() {
            shell.env(name, value.unwrap());
        }
        let path = std::env::var("PATH").unwrap();
        shell.env("PATH", format!("{}:{path}", self.home.path().join("bin").display()));
        shell
    }
}

/// Checks that the tests and benchmarks of a cargo command exist. Running them here would build everything again.
fn assert_targets_exist(line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for pair in words.windows(2) {
        let folder_name = match pair[0] {
            "--test" => "tests",
            "--bench" => "benches",
            _ => continue,
        };
        let target = folder.join(folder_name).join(pair[1]);
        assert!(target.is_dir() || target.with_extension("rs").is_file(), "{line}: there is no {}", target.display());
    }
}

#[test]
fn every_command_of_the_readme_and_the_guides_works() {
    let sandbox = ReadmeSandbox::new();
    let mut kinds = BTreeSet::new();
    for (path, line) in command_lines() {
        let line = line.as_str();
        let is_dashboard =
            line.starts_with("hoptop --base-url") && !line.contains("watch") || line.ends_with("-- demo");
        let adapted_line = line.replace("cargo run --release --", "hoptop");
        if is_dashboard {
            kinds.insert("dashboard");
            let mut command = sandbox.command(&adapted_line);
            let mut session = Session::start(command.env("TERM", "xterm-256color"), (100, 30));
            session.wait_for(&["hoptop", "q quit"]);
            session.press("q");
            assert_eq!(session.end().0.exit_code(), 0, "{path}: {line}");
        } else if line.starts_with("cargo") {
            kinds.insert("cargo");
            assert_targets_exist(line);
        } else if line.contains("simulate") {
            kinds.insert("simulate");
            let mut child = sandbox.command(&format!("{line} --listen 127.0.0.1:0"));
            let mut session = Session::start(child.env("TERM", "xterm"), (100, 30));
            session.wait_for(&["simulated service on http://127.0.0.1:"]);
            session.press("\u{3}");
            assert_eq!(session.end().0.exit_code(), 130, "{path}: {line}");
        } else {
            kinds.insert("command");
            let ended = ProcessOutput::new(sandbox.command(line).output().unwrap());
            let fine = if line.contains("watch") { &[0, 3][..] } else { &[0] };
            assert!(ended.code.is_some_and(|code| fine.contains(&code)), "{path}: {line}: {ended:?}");
        }
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["cargo", "command", "dashboard", "simulate"]);
}

#[test]
fn every_setting_of_the_readme_and_the_guides_is_accepted() {
    let home = Home::new();
    let (themes, settings): (Vec<_>, Vec<_>) =
        code_blocks("toml").into_iter().partition(|(_, text)| text.contains("[critical]"));
    assert!(themes.len() == 1 && settings.len() > 8, "{settings:?}");
    for (path, text) in settings {
        home.configure(&text);
        let shown = home.run(&["config"]);
        assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""), "{path}: {text}: {shown:?}");
    }
    home.write("config/hoptop/mine.toml", &themes[0].1);
    home.configure("theme = \"./mine.toml\"\n");
    let mut session = Session::start(&home.command(&["--no-poll"]), (80, 24));
    session.wait_for(&["q quit"]);
    session.press("q");
    assert_eq!(session.end().0.exit_code(), 0);
}

/// Runs the example script for CI jobs with a batch. Returns the output of the script, and its HTML page.
fn run_ci_example(batch: &ScenarioBatch, timeout: &str) -> (ProcessOutput, String) {
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    let csv = home.write("transfers.csv", &batch.csv);
    let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/examples/ci.sh"));
    command.arg(csv).current_dir(home.path());
    for (name, value) in home.polling_command(&simulation.url, &[]).get_envs() {
        command.env(name, value.unwrap());
    }
    let folder = Path::new(env!("CARGO_BIN_EXE_hoptop")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", folder.display())).env("TIMEOUT", timeout);
    let ended = ProcessOutput::new(command.output().unwrap());
    (ended, fs::read_to_string(home.path().join("transfers.html")).unwrap_or_default())
}

#[test]
fn ci_example_exits_according_to_its_batch() {
    let (ended, page) = run_ci_example(&ScenarioBatch::repeat(2, SUCCESS), "30s");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.ends_with("all transfers ended well: transfers.html\n"), "{ended:?}");
    assert!(page.contains("<h1>2 transfers</h1>"));
    let (ended, page) = run_ci_example(&ScenarioBatch::new(&[SUCCESS, ONGOING]), "3s");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.out.contains("not settled in time; what is left:") && page.contains("</html>"), "{ended:?}");
    let reverted = r#"{ from = 0, status = "partial_success", steps = 2 }"#;
    let (ended, _) = run_ci_example(&ScenarioBatch::repeat(1, reverted), "30s");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let (ended, _) = run_ci_example(&ScenarioBatch::new(&[]), "30s");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.out.contains("there was nothing to watch"), "{ended:?}");
    let script = include_str!("../../assets/examples/ci.sh");
    assert!(script.lines().count() <= 32, "the example must stay short");
}
