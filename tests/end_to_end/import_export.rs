//! Imports, exports and backups as processes: pipes, signals, a million rows.

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    os::unix::ffi::OsStrExt,
    path::PathBuf,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use hoptop::internals::{
    clock::Clock,
    domain::{LocalEdit, Operation, RowId},
    store::Store,
};

use super::{
    ONGOING, ScenarioBatch, SimulatorProcess,
    common::{Home, ProcessOutput, ProgramProcess},
};

const HEADER: &str = "transactionId,fromChainId,toChainId,quoteId,ticket,labels\n";

fn row(number: usize) -> String {
    // The numbers are spread like hashes, so that an index doesn't grow at its end only.
    let hash = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("0x{hash:016x}{number:048x},42161,8453,q-{number},SUP-{number},vip;b\n")
}

#[test]
fn export_can_be_imported_and_a_closed_pipe_is_no_error() {
    let home = Home::new();
    home.import(&[HEADER.to_owned()].into_iter().chain((0..5_000).map(row)).collect::<String>());
    let to_file = home.run(&["export", "-o", "all.ndjson"]);
    assert_eq!((to_file.code, to_file.err.as_str()), (Some(0), "5000 transactions written to all.ndjson\n"));
    let fresh = home.run(&["--db", "other.db", "import", "all.ndjson"]);
    assert_eq!((fresh.out.as_str(), fresh.err.as_str()), ("5000 tracked, 0 updated, 0 already tracked\n", ""));
    let again = home.run(&["import", "all.ndjson"]);
    assert_eq!((again.out.as_str(), again.err.as_str()), ("0 tracked, 0 updated, 5000 already tracked\n", ""));
    for (format, first) in
        [("ndjson", "{\"transactionId\""), ("json", "["), ("csv", "transactionId,"), ("markdown", "|")]
    {
        let mut export = ProgramProcess::start(home.command(&["export", "--format", format]));
        assert!(export.read_line().starts_with(first));
        export.stop_reading();
        let ended = export.end();
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn names_of_files_need_not_be_utf_8() {
    let home = Home::new();
    let [batch, exported] = [&b"batch\xff.csv"[..], b"out\xff.csv"].map(OsStr::from_bytes);
    fs::write(home.path().join(batch), HEADER.to_owned() + &row(1)).unwrap();
    let run = |words: &[&str], file: &OsStr| ProcessOutput::new(home.command(words).arg(file).output().unwrap());
    run(&["import"], batch).assert_exit(0, &[]);
    run(&["export", "-o"], exported).assert_exit(0, &["1 transaction written to out"]);
    assert!(fs::read_to_string(home.path().join(exported)).unwrap().contains("SUP-1"));
}

#[test]
fn closed_pipe_does_not_turn_a_failure_into_success() {
    let home = Home::new();
    let batch = ScenarioBatch::repeat(2, ONGOING);
    let simulation = SimulatorProcess::start(&batch.scenario);
    home.import(&batch.csv);
    fs::write(home.path().join("bad.csv"), "transactionId,fromChainId\n0x1,1\n".repeat(2_000)).unwrap();
    for words in [&["import", "bad.csv", "--json"][..], &["import", "bad.csv", "--json", "--dry-run"]] {
        let mut import = ProgramProcess::start(home.command(words));
        import.stop_reading();
        assert_eq!(import.end().code, Some(1), "{words:?}");
    }
    // A closed pipe ends a watch. One until all transactions are settled must not say that they are.
    for (words, code) in [(&["--until-settled"][..], 3), (&[], 0)] {
        let words = [&["watch", "--json", "--verbose"], words].concat();
        let mut watch = ProgramProcess::start(home.polling_command(&simulation.url, &words));
        watch.read_line();
        watch.stop_reading();
        assert_eq!(watch.end().code, Some(code), "{words:?}");
    }
}

#[test]
fn daily_backup_of_a_large_store_delays_no_command() {
    let home = Home::new();
    home.import(&[HEADER, &row(1)].concat());
    let backups = home.path().join("backups");
    // A small store gets a backup with its first import.
    fs::remove_dir_all(&backups).unwrap();
    let store = Store::open(&home.path().join("hoptop.db")).unwrap();
    let note = LocalEdit::AddNote { transactions: vec![RowId(1)], text: "x".repeat(40 << 20) };
    let clock = Clock::system();
    let edit = store.reader().unwrap().resolve(note).unwrap();
    store.apply(Operation::Edit { profile: "default".into(), edit }, clock.now().wall).wait().unwrap();
    drop(store);
    // A command whose backup fails prints a warning.
    fs::write(&backups, "no folder").unwrap();
    let warned = home.run(&["alerts"]);
    assert!(warned.code == Some(0) && warned.err.contains("warning: "), "{warned:?}");
    fs::remove_file(&backups).unwrap();
    let listed = home.run(&["alerts"]);
    assert_eq!((listed.code, listed.err.as_str()), (Some(0), ""));
    let find_backup = || -> Option<PathBuf> {
        let files = fs::read_dir(&backups).ok()?.map(|entry| entry.unwrap().path());
        files.into_iter().find(|file| file.extension().is_some_and(|name| name == "backup"))
    };
    let until = clock.now().mono + Duration::from_secs(60);
    while find_backup().is_none() && clock.now().mono < until {
        thread::yield_now();
    }
    let backup = find_backup().expect("the backup is made in the background");
    let copied = home.run(&["--db", backup.to_str().unwrap(), "list"]);
    assert!(copied.out.contains("SUP-1") && copied.err.is_empty(), "{copied:?}");
    assert!(home.run(&["backup", "--daily"]).out.starts_with("no daily backup was made: it is not due"));
    home.run(&["backup"]).assert_exit(2, &["<FILE>"]);
    home.run(&["backup", "--daily", "copy.db"]).assert_exit(2, &["cannot be used"]);
}

#[test]
fn read_only_store_is_read() {
    use std::os::unix::{fs::PermissionsExt, fs::chown, process::CommandExt};
    /// The ID of the user `nobody`, which every system has.
    const NOBODY: u32 = 65_534;
    let home = Home::new();
    home.import(&[HEADER, &row(1)].concat());
    // The superuser may write to any file, so `nobody` runs a copy of the program.
    let is_superuser = chown(home.path().join("hoptop.db"), Some(NOBODY), None).is_ok();
    let mut list = home.command(&["list", "--json"]);
    if is_superuser {
        let program = home.path().join("hoptop");
        fs::copy(env!("CARGO_BIN_EXE_hoptop"), &program).unwrap();
        let words: Vec<_> = list.get_args().map(ToOwned::to_owned).collect();
        let mut as_nobody = std::process::Command::new(program);
        as_nobody.args(words).envs(list.get_envs().filter_map(|(name, value)| Some((name, value?)))).uid(NOBODY);
        list = as_nobody;
        chown(home.path(), Some(NOBODY), None).unwrap();
    }
    let set_mode = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set_mode(&home.path().join("hoptop.db"), 0o400);
    set_mode(home.path(), 0o500);
    let ended = ProcessOutput::new(list.output().unwrap());
    set_mode(home.path(), 0o700);
    assert_eq!((ended.code, ended.out.lines().count()), (Some(0), 3), "{ended:?}");
}

#[test]
fn conflicting_import_options_are_usage_errors() {
    let home = Home::new();
    home.run(&["import", "-", "--follow", "--dry-run"]).assert_exit(2, &["--dry-run"]);
    home.run(&["import", "-", "--follow", "--format", "json"]).assert_exit(2, &["a JSON array can't be followed"]);
}

#[test]
fn growing_file_is_followed_until_a_signal() {
    let home = Home::new();
    let path = home.write("growing.csv", &[HEADER, &row(1), "bad\n"].concat());
    let mut list = home.command(&["list", "--json"]);
    let mut wait_for_rows = |count: usize| {
        while list.output().unwrap().stdout.iter().filter(|byte| **byte == b'\n').count() != count + 2 {}
    };
    let mut following = ProgramProcess::start(home.command(&["import", "--follow", &path]));
    wait_for_rows(1);
    let mut file = fs::File::options().append(true).open(&path).unwrap();
    file.write_all([row(2), row(3)].concat().as_bytes()).unwrap();
    wait_for_rows(3);
    following.signal("TERM");
    assert_eq!(following.read_line(), "3 tracked, 0 updated, 0 already tracked; 1 bad line");
    let ended = following.end();
    assert_eq!(ended.code, Some(143));
    assert!(ended.err.starts_with("line 3: "), "{ended:?}");
}

#[test]
fn truncated_file_is_read_again_and_says_that_lines_can_be_missing() {
    // Cut, or cut and filled again between two looks at the file, so that only its bytes differ.
    let new = [vec![HEADER.to_owned(), row(3)], vec![HEADER.to_owned(), row(3), row(4), row(5)]];
    for (lines, reason) in new.into_iter().zip(["was truncated; ", "was truncated and filled again; "]) {
        let home = Home::new();
        let path = home.write("growing.csv", &[HEADER, &row(1), &row(2)].concat());
        let mut list = home.command(&["list", "--json"]);
        let mut wait_for_row = |number: usize| {
            let hash = format!("{number:048x}\"");
            while !String::from_utf8(list.output().unwrap().stdout).unwrap().contains(&hash) {}
        };
        let following = ProgramProcess::start(home.command(&["import", "--follow", &path]));
        wait_for_row(2);
        let (content, mut file) = (lines.concat(), fs::File::options().write(true).open(&path).unwrap());
        file.set_len(file.metadata().unwrap().len().min(content.len() as u64)).unwrap();
        file.write_all(content.as_bytes()).unwrap();
        wait_for_row(3);
        following.signal("TERM");
        let ended = following.end();
        let sentence =
            format!("{reason}it is read from its start, but lines that were written just before can be missing");
        assert!(ended.code == Some(143) && ended.err.contains(&sentence), "{ended:?}");
    }
}

/// Returns the peak memory of a process in KiB, or `None` once it has ended.
fn peak_memory(child: &Child) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?.to_owned();
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Imports this number of rows from a pipe, and returns the peak memory of the import in KiB.
fn measure_import(home: &Home, rows: usize) -> usize {
    let mut child = home.command(&["import", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let feed = thread::spawn(move || {
        input.write_all(HEADER.as_bytes()).unwrap();
        (0..rows).for_each(|number| input.write_all(row(number).as_bytes()).unwrap());
    });
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(peak_memory(&child).unwrap_or_default());
        thread::yield_now();
    }
    feed.join().unwrap();
    let ended = ProcessOutput::new(child.wait_with_output().unwrap());
    assert_eq!(ended.out, format!("{rows} tracked, 0 updated, 0 already tracked\n"), "{ended:?}");
    peak
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "takes a minute, and only a release build keeps the time"]
fn import_of_a_million_rows_uses_bounded_memory() {
    let (empty, full) = (measure_import(&Home::new(), 1), measure_import(&Home::new(), 1_000_000));
    println!("one row {empty} KiB, a million {full} KiB");
    assert!(full - empty <= 64 * 1024, "{full} KiB against {empty} KiB");
}
