//! Shell completions in a real bash, manual pages, and the effective settings.

use std::{fs, path::Path, process::Command};

use super::common::{HEADER, Home, ProcessOutput};

/// Returns bash's completions for the last of these words, without flags; `None` without a bash.
fn complete_in_bash(home: &Home, words: &[&str]) -> Option<Vec<String>> {
    if Command::new("bash").arg("--version").output().is_err() {
        println!("skipped: there is no bash");
        return None;
    }
    let program = Path::new(env!("CARGO_BIN_EXE_hoptop")).parent().unwrap();
    let script = r#"
        PATH="$1:$PATH"; shift
        source <(hoptop completions bash)
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9
        compopt() { :; }
        _clap_complete_hoptop hoptop "${!#}" ""
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = home.command(&[]);
    let variables: Vec<_> =
        bash.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    bash = Command::new("bash");
    bash.envs(variables).args(["-c", script, "bash"]).arg(program).args(words).current_dir(home.path());
    let ended = ProcessOutput::new(bash.output().unwrap());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{words:?}");
    // Flags are candidates everywhere, so they are left out.
    Some(ended.out.lines().filter(|line| !line.is_empty() && !line.starts_with("--")).map(str::to_owned).collect())
}

/// Creates a home with three tracked transactions, and returns the hashes of the two that may be completed.
fn tracked_home() -> (Home, [String; 2]) {
    let home = Home::new();
    let hashes = ["ab", "cd"].map(|digits| format!("0x{}", digits.repeat(32)));
    // Text that a shell would execute must not be a candidate.
    let hostile = "$(touch${IFS}pwned)".to_owned();
    let rows =
        [(&hashes[0], "SUP-1", "vip"), (&hashes[1], "SUP-2", "batch-17"), (&hostile, "SUP-1;touch${IFS}pwned", "v*")];
    let rows = rows.map(|(hash, ticket, label)| format!("{hash},42161,8453,q-1,,,{ticket},{label}\n"));
    home.import(&format!("{HEADER}{}", rows.concat()));
    (home, hashes)
}

#[test]
fn bash_completes_tracked_transactions() {
    let (home, [first, second]) = tracked_home();
    let table: [(&[&str], &[&str]); 11] = [
        (&["hoptop", "show", "0xa"], &[&first]),
        (&["hoptop", "check", &first, ""], &[&second, &first]),
        (&["hoptop", "sh"], &["show"]),
        (&["hoptop", "add", "0x1", "--ticket", "SUP"], &["SUP-1", "SUP-2"]),
        (&["hoptop", "add", "0x1", "--label", "v"], &["vip"]),
        (&["hoptop", "add", "0x1", "--from", "4216"], &["42161"]),
        (&["hoptop", "ticket", &first, "SUP"], &["SUP-1", "SUP-2"]),
        (&["hoptop", "label", "0xc"], &[&second]),
        (&["hoptop", "label", &first, "--remove", "batch"], &["batch-17"]),
        (&["hoptop", "show", "0xef"], &[]),
        (&["hoptop", "show", "$"], &[]),
    ];
    for (words, expected) in table {
        let Some(found) = complete_in_bash(&home, words) else { return };
        assert_eq!(found, expected, "{words:?}");
    }
    let db = home.path().join("no/such.db");
    assert_eq!(complete_in_bash(&home, &["hoptop", "--db", db.to_str().unwrap(), "show", "0xa"]), Some(Vec::new()));
    assert!(!db.parent().unwrap().exists(), "a completion must not create a store");
}

/// Creates files to complete in the home folder.
fn write_files(home: &Home) {
    for name in ["transfers.csv", "with space.csv", "$(touch pwned).csv", ".hidden.csv", "folder/inner.csv"] {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
}

#[test]
fn bash_completes_file_names() {
    let home = Home::new();
    write_files(&home);
    let table: [(&[&str], &[&str]); 12] = [
        (&["hoptop", "import", "tr"], &["transfers.csv"]),
        (&["hoptop", "import", "./tr"], &["./transfers.csv"]),
        (&["hoptop", "import", "fo"], &["folder/"]),
        (&["hoptop", "import", "folder/"], &["folder/inner.csv"]),
        (&["hoptop", "import", "wi"], &["with\\ space.csv"]),
        (&["hoptop", "import", "with\\ sp"], &["with\\ space.csv"]),
        (&["hoptop", "import", "$"], &["\\$\\(touch\\ pwned\\).csv"]),
        (&["hoptop", "import", ".hi"], &[".hidden.csv"]),
        (&["hoptop", "export", "-o", "tr"], &["transfers.csv"]),
        (&["hoptop", "restore", "tr"], &["transfers.csv"]),
        (&["hoptop", "--db", "tr"], &["transfers.csv"]),
        (&["hoptop", "import", "no-such"], &[]),
    ];
    for (words, expected) in table {
        let Some(found) = complete_in_bash(&home, words) else { return };
        assert_eq!(found, expected, "{words:?}");
    }
    assert!(!home.path().join("pwned").exists());
}

#[test]
fn color_flag_also_holds_for_the_help_and_for_errors_about_arguments() {
    let home = Home::new();
    let has_colors = |words: &[&str]| {
        let ended = ProcessOutput::new(home.command(words).env("CLICOLOR_FORCE", "1").output().unwrap());
        (ended.code, format!("{}{}", ended.out, ended.err).contains('\u{1b}'))
    };
    for color in [&["--color", "never"][..], &["--color=never"]] {
        assert_eq!(has_colors(&[color, &["--help"]].concat()), (Some(0), false));
        assert_eq!(has_colors(&[&["list", "--nope"], color].concat()), (Some(2), false));
    }
    let always = ProcessOutput::new(home.command(&["--color", "always", "--help"]).output().unwrap());
    assert!(always.out.contains('\u{1b}'), "{always:?}");
    if Path::new("/dev/full").exists() {
        let full = fs::File::create("/dev/full").unwrap();
        let ended = home.command(&["--help"]).stdout(full).status().unwrap();
        assert_eq!(ended.code(), Some(1), "the help was not printed");
    }
}

#[test]
fn zsh_completes_file_names() {
    if Command::new("zsh").arg("--version").output().is_err() {
        println!("skipped: there is no zsh");
        return;
    }
    let home = Home::new();
    write_files(&home);
    let program = Path::new(env!("CARGO_BIN_EXE_hoptop")).parent().unwrap();
    // `_describe` shows what the script offers for the last word.
    let script = r#"
        path=($1 $path); shift
        compdef() { :; }
        source <(hoptop completions zsh)
        _describe() { print -l -- "${(@P)3}"; [[ $4 == -S ]] && print -- "folder"; }
        words=("$@"); CURRENT=$#
        _clap_dynamic_completer_hoptop"#;
    let complete = |words: &[&str]| {
        let mut zsh = Command::new("zsh");
        let variables = home.command(&[]);
        for (name, value) in variables.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            zsh.env(name, value);
        }
        zsh.args(["-f", "-c", script, "zsh"]).arg(program).args(words).current_dir(home.path());
        let ended = ProcessOutput::new(zsh.output().unwrap());
        assert_eq!(ended.err, "", "{words:?}");
        ended.out.lines().filter(|line| !line.starts_with("--")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete(&["hoptop", "import", "tr"]), ["transfers.csv"]);
    assert_eq!(complete(&["hoptop", "import", "wi"]), ["with space.csv"]);
    assert_eq!(complete(&["hoptop", "export", "-o", "fo"]), ["folder", "folder"]);
    assert_eq!(complete(&["hoptop", "--db", "folder/"]), ["folder/inner.csv"]);
}

#[test]
fn manual_page_is_formatted_without_a_warning() {
    let home = Home::new();
    let pages = home.path().join("man1");
    assert_eq!(home.run(&["man", "--dir", "man1"]).code, Some(0));
    for page in fs::read_dir(pages).unwrap().map(|page| page.unwrap().path()) {
        let format = |words: &[&str]| Command::new("man").args(words).arg(&page).env("MANWIDTH", "100").output();
        let Ok(formatted) = format(&["--warnings", "-l"]) else {
            println!("skipped: there is no man");
            return;
        };
        let formatted = ProcessOutput::new(formatted);
        assert_eq!((formatted.code, formatted.err.as_str()), (Some(0), ""), "{}", page.display());
        for section in ["SYNOPSIS", "EXAMPLES", "EXIT STATUS"] {
            let is_inner = page.file_stem().unwrap().to_str().unwrap().matches('-').count() > 1;
            // A command of a command has its examples on the page of that.
            let is_exempt = section == "EXAMPLES" && is_inner;
            assert!(formatted.out.contains(section) || is_exempt, "{section} of {}", page.display());
        }
    }
}

#[test]
fn manual_pages_and_settings_are_printed() {
    let home = Home::new();
    let page = home.run(&["man", "watch"]);
    assert!(page.code == Some(0) && page.out.contains(".TH hoptop-watch 1"), "{page:?}");
    let settings = home.run(&["--rps", "3", "config"]);
    assert_eq!((settings.code, settings.err.as_str()), (Some(0), ""));
    assert!(settings.out.lines().any(|line| line == "rps             3  (--rps)"), "{}", settings.out);
    let template = home.run(&["config", "--template"]);
    let file = home.write("config.toml", &template.out);
    assert_eq!(home.run(&["--config", &file, "list", "--json"]).out, "[]\n");
    assert!(home.run(&["completions", "tcsh"]).code == Some(2));
}
