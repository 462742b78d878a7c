//! `watch` as a service: its reports to the service manager, the ID from a file, and the unit files.

use std::{fs, os::unix::net::UnixDatagram, path::Path, process::Command, time::Duration};

use super::{
    ONGOING,
    common::{Home, ID, ProcessOutput, ProgramProcess, ScenarioBatch, SimulatorProcess},
};

/// Returns the next datagram.
fn receive(listener: &UnixDatagram) -> String {
    let mut buffer = [0; 99];
    let count = listener.recv(&mut buffer).unwrap();
    String::from_utf8(buffer[..count].to_vec()).unwrap()
}

#[test]
fn watch_reports_ready_alive_and_stopping_to_the_service_manager() {
    let (home, batch) = (Home::new(), ScenarioBatch::new(&[ONGOING]));
    let simulation = SimulatorProcess::start(&batch.scenario);
    home.import(&batch.csv);
    let address = home.path().join("notify");
    let listener = UnixDatagram::bind(&address).unwrap();
    listener.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let id = home.write("id", &format!("{ID}\n"));
    let mut command = home.polling_command(&simulation.url, &["watch", "--json"]);
    command.env("NOTIFY_SOCKET", &address).env("WATCHDOG_USEC", "4000000");
    command.env_remove("HOPTOP_INTEGRATOR_ID").env("HOPTOP_INTEGRATOR_ID_FILE", id);
    let mut watch = ProgramProcess::start(command);
    assert_eq!(receive(&listener), "READY=1");
    watch.read_events_until("status_changed", 1);
    assert_eq!([receive(&listener), receive(&listener)], ["WATCHDOG=1", "WATCHDOG=1"]);
    watch.signal("TERM");
    while receive(&listener) != "STOPPING=1" {}
    assert_eq!(watch.end().code, Some(143));
}

#[test]
fn unit_files_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/systemd");
    let home = Home::new();
    for (file, scope) in [("hoptop.service", "--system"), ("hoptop-user.service", "--user")] {
        let unit = fs::read_to_string(root.join(file)).unwrap();
        for line in ["Type=notify", "SuccessExitStatus=143", "NoNewPrivileges=yes", "LoadCredential=integrator-id:"] {
            assert!(unit.lines().any(|found| found.starts_with(line)), "{file} lacks {line}");
        }
        // The program isn't installed where the test runs.
        assert!(unit.contains("ExecStart=/usr/bin/hoptop watch "), "{unit}");
        let path = home.write(file, &unit.replace("/usr/bin/hoptop", env!("CARGO_BIN_EXE_hoptop")));
        let verify = Command::new("systemd-analyze")
            .args(["verify", "--man=no", scope, &path])
            .env("HOME", home.path())
            .env("XDG_RUNTIME_DIR", home.path())
            .output();
        let Ok(verified) = verify else {
            println!("skipped: there is no systemd-analyze");
            return;
        };
        let verified = ProcessOutput::new(verified);
        let about: Vec<_> = verified.err.lines().filter(|line| line.contains(file)).collect();
        assert!(verified.code == Some(0) && about.is_empty(), "{verified:?}");
    }
}
