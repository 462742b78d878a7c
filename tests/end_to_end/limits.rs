//! The program within the limits that a system sets: open files, the size of a file.

use std::{net::TcpStream, process::Command};

use super::{Home, ONGOING, ProcessOutput, ProgramProcess, SUCCESS, ScenarioBatch, SimulatorProcess};

/// Returns a shell command that sets a limit, such as `-n 40`, and becomes the program.
fn limited(limit: &str, program: &Command) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]).arg(program.get_program());
    command.args(program.get_args()).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    command
}

#[test]
fn too_few_open_files_are_named_and_are_no_outage_of_the_service() {
    let batch = ScenarioBatch::repeat(1, ONGOING);
    let simulations: Vec<_> =
        (5..35).map(|files| (files, SimulatorProcess::start(&batch.scenario), Home::new())).collect();
    let run = |(files, simulation, home): &(u32, SimulatorProcess, Home)| {
        home.import(&batch.csv);
        let watch = home.polling_command(&simulation.url, &["watch", "--json", "--timeout", "3s"]);
        (*files, ProgramProcess::start(limited(&format!("-n {files}"), &watch)))
    };
    let watches: Vec<_> = simulations.iter().map(run).collect();
    let mut failed_here = 0;
    for (files, watch) in watches {
        let ProcessOutput { code, out, err } = watch.end();
        assert!(!err.contains("crashed") && !err.contains("panicked"), "{files}: {err}");
        assert!(matches!(code, Some(1 | 3 | 6)), "{files}: {code:?} {err}");
        assert!(!out.contains("unreachable"), "{files}: {out}");
        failed_here += usize::from(out.contains("hoptop has too many open files; raise the limit"));
        assert!(code != Some(1) || err.to_lowercase().contains("open") && err.contains("files"), "{files}: {err}");
    }
    assert!(failed_here > 0, "no number of files reached the first request");
}

#[test]
fn idle_connections_to_the_metrics_leave_enough_files_for_polling() {
    let batch = ScenarioBatch::repeat(1, &format!("{ONGOING}, {}", SUCCESS.replace("from = 0", "from = 3")));
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let words = ["watch", "--until-settled", "--json", "--metrics", "127.0.0.1:0", "--timeout", "30s"];
    let mut watch = ProgramProcess::start(limited("-n 48", &home.polling_command(&simulation.url, &words)));
    let address = watch.read_metrics_address();
    let _idle: Vec<_> = (0..100).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let ended = watch.end();
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    assert!(!ended.out.contains("poll_failed"), "{ended:?}");
}

#[test]
fn limit_of_the_size_of_a_file_is_named() {
    let home = Home::new();
    let rows: Vec<String> = (0..20_000).map(|row| format!("0x{row:064x},42161,8453,q-{row}")).collect();
    let file = home.write("batch.csv", &format!("transactionId,fromChainId,toChainId,quoteId\n{}\n", rows.join("\n")));
    let import = home.command(&["import", &file]);
    // In units of 512 bytes: more than the temporary file needs, and less than the store.
    let ended = ProcessOutput::new(limited("-f 9000", &import).output().unwrap());
    ended.assert_exit(1, &["a file may not grow beyond", "ulimit -f"]);
    assert!(home.list().is_empty());
}
