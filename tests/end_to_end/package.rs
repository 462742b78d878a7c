//! The Debian package of `assets/deb/make.sh`: dpkg installs it into an empty root, the test runs it there, and dpkg
//! removes it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::common::{Home, ProcessOutput};

/// Returns what the test lacks, if anything. `.ci/run` installs the tools if it can.
fn find_missing_requirement() -> Option<&'static str> {
    let is_there = |program: &str, args: &[&str]| {
        Command::new(program).args(args).output().is_ok_and(|ended| ended.status.success())
    };
    if !is_there("dpkg", &["--version"]) {
        Some("there is no dpkg")
    } else if !is_there("cargo", &["deb", "--version"]) {
        Some("there is no cargo-deb (cargo install cargo-deb)")
    } else {
        // dpkg changes the owner of the files to root.
        (!is_there("sh", &["-c", "[ \"$(id -u)\" = 0 ]"])).then_some("only root may install")
    }
}

/// Returns the sorted paths of the files under a folder, relative to that folder.
fn files_under(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => found.push(entry.path().strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    found.sort();
    found
}

/// Builds the package of the project in a folder with the program of the tests, and returns the package's path.
fn build_package(project: &Path, output: &Path) -> PathBuf {
    let script = project.join("assets/deb/make.sh");
    let made = ProcessOutput::new(Command::new(script).env("PROFILE", "dev").arg(output.join("")).output().unwrap());
    assert_eq!(made.code, Some(0), "{made:?}");
    let package = PathBuf::from(made.out.trim());
    assert!(package.starts_with(output), "{made:?}");
    package
}

fn run_dpkg(root: &Path, args: &[&str]) -> ProcessOutput {
    let mut dpkg = Command::new("dpkg");
    // The empty root has no C library, so the program uses the machine's.
    dpkg.arg(format!("--root={}", root.display())).args(["--force-depends", "--force-script-chrootless"]).args(args);
    ProcessOutput::new(dpkg.output().unwrap())
}

#[test]
fn debian_package_is_installed_runs_and_is_removed_completely() {
    if let Some(missing_requirement) = find_missing_requirement() {
        println!("skipped: {missing_requirement}");
        return;
    }
    let home = Home::new();
    let package = build_package(Path::new(env!("CARGO_MANIFEST_DIR")), &home.path().join("packages"));

    match Command::new("lintian").args(["--allow-root", "--fail-on", "warning,error"]).arg(&package).output() {
        Err(_) => println!("the check by lintian is skipped: there is no lintian"),
        Ok(checked) => {
            let checked = ProcessOutput::new(checked);
            assert!(checked.code == Some(0) && checked.out.is_empty(), "{checked:?}");
        }
    }
    let root = home.path().join("root");
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    let installed = run_dpkg(&root, &["--install", package.to_str().unwrap()]);
    assert_eq!(installed.code, Some(0), "{installed:?}");

    let usr = root.join("usr");
    let mut hoptop = Command::new(usr.join("bin/hoptop"));
    hoptop.arg("--version").env("HOME", home.path());
    let version = format!("hoptop {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(ProcessOutput::new(hoptop.output().unwrap()).out, version);

    let files = files_under(&usr);
    let assert_has = |name: &str| assert!(files.iter().any(|file| file == name), "{name} isn't in {files:?}");
    for shell in [
        "bash-completion/completions/hoptop",
        "zsh/vendor-completions/_hoptop",
        "fish/vendor_completions.d/hoptop.fish",
    ] {
        assert_has(&format!("share/{shell}"));
        assert!(fs::read_to_string(usr.join("share").join(shell)).unwrap().contains("HOPTOP_COMPLETE"), "{shell}");
    }
    for page in ["hoptop", "hoptop-watch", "hoptop-import"] {
        assert_has(&format!("share/man/man1/{page}.1.gz"));
    }
    for text in [
        "copyright",
        "changelog.gz",
        "changelog.Debian.gz",
        "README.md",
        "examples/ci.sh",
        "examples/config.toml",
        "examples/alerts.yml",
    ] {
        assert_has(&format!("share/doc/hoptop/{text}"));
    }
    for guide in ["support", "integrators", "operators", "team", "keys", "measurements", "dependencies"] {
        assert_has(&format!("share/doc/hoptop/assets/docs/{guide}.md"));
    }
    assert_has("share/doc/hoptop/assets/pictures/session.svg");
    for unit in ["system", "user"] {
        assert_has(&format!("lib/systemd/{unit}/hoptop.service"));
    }
    let copyright = fs::read_to_string(usr.join("share/doc/hoptop/copyright")).unwrap();
    let is_clause =
        |line: &str| line.trim_start_matches(' ').starts_with("Permission is hereby granted, free of charge");
    assert!(
        copyright.lines().any(is_clause) && copyright.contains("/usr/share/common-licenses/Apache-2.0"),
        "{copyright}"
    );
    let licences = fs::read_to_string(usr.join("share/doc/hoptop/licences.txt")).unwrap();
    assert!(licences.lines().any(|line| line.starts_with("ratatui v") && line.ends_with(": MIT")), "{licences}");
    let own = env!("CARGO_MANIFEST_DIR");
    assert!(!licences.contains(own), "the licences name the build folder");

    let removed = run_dpkg(&root, &["--purge", "hoptop"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert_eq!(fs::read_dir(&root).unwrap().filter(|entry| entry.as_ref().unwrap().file_name() == "usr").count(), 0);
}

#[test]
fn homepage_of_the_package_is_the_address_of_the_repository() {
    if let Some(missing_requirement) = find_missing_requirement() {
        println!("skipped: {missing_requirement}");
        return;
    }
    let home = Home::new();
    let project = home.path().join("project");
    // What cargo-deb names as the build folder, and a manifest with an address, beside links to everything else.
    fs::create_dir_all(project.join("target")).unwrap();
    for entry in fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap().map(Result::unwrap) {
        if !["Cargo.toml", "target"].contains(&&*entry.file_name().to_string_lossy()) {
            std::os::unix::fs::symlink(entry.path(), project.join(entry.file_name())).unwrap();
        }
    }
    let target = Path::new(env!("CARGO_BIN_EXE_hoptop")).parent().unwrap();
    std::os::unix::fs::symlink(target, project.join("target").join(target.file_name().unwrap())).unwrap();
    // The project itself may have no address yet, or another one.
    let address = "https://example.org/hoptop";
    let manifest = include_str!("../../Cargo.toml").lines().filter(|line| !line.starts_with("repository ="));
    let with_address: Vec<String> = manifest
        .map(|line| match line {
            "[package]" => format!("{line}\nrepository = \"{address}\""),
            _ => line.to_owned(),
        })
        .collect();
    fs::write(project.join("Cargo.toml"), with_address.join("\n")).unwrap();

    let package = build_package(&project, &home.path().join("packages"));
    let field =
        ProcessOutput::new(Command::new("dpkg-deb").arg("--field").arg(package).arg("Homepage").output().unwrap());
    assert_eq!((field.code, field.out.trim()), (Some(0), address));
}
