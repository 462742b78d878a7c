//! What the README and the examples say is run as it stands there.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use super::{
    ONGOING, SUCCESS,
    common::{Batch, Ended, Home, ID, Simulation},
    session::Session,
};

const README: &str = include_str!("../../README.md");

/// What stands between fences that say this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    README.split(opening.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// The command lines, without their comments.
fn lines() -> Vec<&'static str> {
    let lines = blocks("sh").into_iter().flat_map(str::lines);
    let bare = lines.map(|line| line.split(" #").next().unwrap().trim());
    bare.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// A place in which the README's commands find what they name.
struct Place {
    home: Home,
    simulation: Simulation,
}

impl Place {
    fn new() -> Self {
        let batch = Batch::of(2, SUCCESS);
        let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
        let (program, csv) =
            (env!("CARGO_BIN_EXE_hoptop"), home.write("transfers.csv", &batch.csv.replace("batch-9", "batch-17")));
        fs::create_dir(home.path().join("bin")).unwrap();
        let tool = |name: &str, script: &str| {
            home.write(name, &format!("#!/bin/sh\n{script}\n"));
            Command::new("chmod").arg("+x").arg(home.path().join(name)).status().unwrap();
        };
        // What watches without an end is ended, and what serves takes a free port.
        let endless = "case \"$*\" in *--timeout*|*--follow*) ;; *watch*) set -- \"$@\" --timeout 3s;; esac";
        tool("bin/hoptop", &format!("{endless}\nexec {program} \"$@\""));
        tool("bin/my-service", &format!("cat {csv}"));
        tool("bin/jq", "cat");
        tool("release-the-goods", "exit 0");
        std::os::unix::fs::symlink(concat!(env!("CARGO_MANIFEST_DIR"), "/assets"), home.path().join("assets")).unwrap();
        Self { home, simulation }
    }

    /// A line as it is run here: with a service, an ID and a store that there are.
    fn here(&self, line: &str) -> String {
        let store = self.home.path().join("try.db").display().to_string();
        line.replace("https://...", &self.simulation.url)
            .replace("HOPTOP_INTEGRATOR_ID=...", &format!("HOPTOP_INTEGRATOR_ID={ID}"))
            .replace("http://127.0.0.1:8080", &self.simulation.url)
            .replace("/tmp/try/hoptop.db", &store)
            // Of the shipped batch nothing settles here.
            .replace("--timeout 10m", "--timeout 4s")
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.home.polling(&self.simulation.url, &[]);
        let mut shell = Command::new("bash");
        shell.args(["-c", &self.here(line)]).env_clear().current_dir(self.home.path());
        for (name, value) in command.stdin(Stdio::null()).get_envs() {
            shell.env(name, value.unwrap());
        }
        let path = std::env::var("PATH").unwrap();
        shell.env("PATH", format!("{}:{path}", self.home.path().join("bin").display()));
        shell
    }
}

/// Of a line of cargo's, what it names is there: to build it all once more is another's.
fn assert_names_what_is_there(line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for pair in words.windows(2) {
        let place = match pair[0] {
            "--test" => "tests",
            "--bench" => "benches",
            _ => continue,
        };
        let named = folder.join(place).join(pair[1]);
        assert!(named.is_dir() || named.with_extension("rs").is_file(), "{line}: there is no {}", named.display());
    }
}

#[test]
fn every_command_of_the_readme_works_as_it_stands() {
    let place = Place::new();
    let mut kinds = BTreeSet::new();
    for line in lines() {
        let is_dashboard =
            line.starts_with("hoptop --base-url") && !line.contains("watch") || line.ends_with("-- demo");
        let line_here = line.replace("cargo run --release --", "hoptop");
        if is_dashboard {
            kinds.insert("dashboard");
            let mut command = place.command(&line_here);
            let mut session = Session::start(command.env("TERM", "xterm-256color"), (100, 30));
            session.wait_for(&["hoptop", "q quit"]);
            session.press("q");
            assert_eq!(session.end().0.exit_code(), 0, "{line}");
        } else if line.starts_with("cargo") {
            kinds.insert("cargo");
            assert_names_what_is_there(line);
        } else if line.contains("simulate") {
            kinds.insert("simulate");
            let mut child = place.command(&format!("{line} --listen 127.0.0.1:0"));
            let mut session = Session::start(child.env("TERM", "xterm"), (100, 30));
            session.wait_for(&["simulated service on http://127.0.0.1:"]);
            session.press("\u{3}");
            assert_eq!(session.end().0.exit_code(), 130, "{line}");
        } else {
            kinds.insert("command");
            let ended = Ended::of(place.command(line).output().unwrap());
            let fine = if line.contains("watch") { &[0, 3][..] } else { &[0] };
            assert!(ended.code.is_some_and(|code| fine.contains(&code)), "{line}: {ended:?}");
        }
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["cargo", "command", "dashboard", "simulate"]);
}

#[test]
fn every_setting_of_the_readme_is_taken() {
    let home = Home::new();
    let (themes, settings): (Vec<_>, Vec<_>) = blocks("toml").into_iter().partition(|text| text.contains("[critical]"));
    assert!(themes.len() == 1 && settings.len() > 4, "{settings:?}");
    for text in settings {
        home.configure(text);
        let shown = home.run(&["config"]);
        assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""), "{text}: {shown:?}");
    }
    home.write("config/hoptop/mine.toml", themes[0]);
    home.configure("theme = \"./mine.toml\"\n");
    let mut session = Session::start(&home.hoptop(&["--no-poll"]), (80, 24));
    session.wait_for(&["q quit"]);
    session.press("q");
    assert_eq!(session.end().0.exit_code(), 0);
}

/// The script for CI jobs, with a batch of these.
fn ci(batch: &Batch, timeout: &str) -> (Ended, String) {
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    let csv = home.write("transfers.csv", &batch.csv);
    let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/examples/ci.sh"));
    command.arg(csv).current_dir(home.path());
    for (name, value) in home.polling(&simulation.url, &[]).get_envs() {
        command.env(name, value.unwrap());
    }
    let folder = Path::new(env!("CARGO_BIN_EXE_hoptop")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", folder.display())).env("TIMEOUT", timeout);
    let ended = Ended::of(command.output().unwrap());
    (ended, fs::read_to_string(home.path().join("transfers.html")).unwrap_or_default())
}

#[test]
fn the_example_for_ci_ends_as_its_batch_does() {
    let (ended, page) = ci(&Batch::of(2, SUCCESS), "30s");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.ends_with("all transfers ended well: transfers.html\n"), "{ended:?}");
    assert!(page.contains("<h1>2 transfers</h1>"));
    let (ended, page) = ci(&Batch::new(&[SUCCESS, ONGOING]), "3s");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.out.contains("not settled in time; what is left:") && page.contains("</html>"), "{ended:?}");
    let reverted = r#"{ from = 0, status = "partial_success", steps = 2 }"#;
    let (ended, _) = ci(&Batch::of(1, reverted), "30s");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let script = include_str!("../../assets/examples/ci.sh");
    assert!(script.lines().count() <= 32, "it is to be read at a glance");
}
