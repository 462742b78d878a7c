//! SIGHUP makes a `watch` without a terminal reload its settings. If the new settings are invalid, the old ones stay.

use std::{fs, time::Duration};

use hoptop::internals::clock::Clock;

use super::{
    SUCCESS,
    common::{Home, ProgramProcess, ScenarioBatch, SimulatorProcess},
};

const FIRST: &str = "an-id-of-before-1111";
const SECOND: &str = "an-id-from-then-on-2222";

#[test]
fn sighup_reloads_the_settings_of_a_watch_without_a_terminal() {
    let reverted = r#"{ from = 0, status = "partial_success", steps = 2 }"#;
    // There are enough transactions that five requests in a row fail soon.
    let batch = ScenarioBatch::new(&[&[SUCCESS; 7][..], &[reverted]].concat());
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let environment_file = home.path().join("seen");
    // No service listens at this address.
    home.configure("[profiles.default]\nbase_url = \"http://127.0.0.1:1\"\nrps = 10\nintegrator_id_env = \"FIRST\"\n");
    let mut watch = home.command(&["watch", "--json", "--until-settled", "--timeout", "60s"]);
    watch.env("FIRST", FIRST).env("SECOND", SECOND);
    let mut watch = ProgramProcess::start(watch);
    watch.read_events_until("unreachable", 1);
    home.configure("webhok = \"https://hooks.example\"\n");
    watch.signal("HUP");
    let message = watch.read_error_line();
    assert!(message.contains("line 1: unknown key `webhok`; did you mean `webhook`?"), "{message}");
    assert!(message.ends_with("; the previous settings stay in effect"), "{message}");
    home.configure(&format!(
        "on_alert = [\"sh\", \"-c\", \"env > {}\"]\n[profiles.default]\nbase_url = \"{}\"\nrps = 10\n\
         integrator_id_env = \"SECOND\"\n",
        environment_file.display(),
        simulation.url
    ));
    watch.signal("HUP");
    assert_eq!(watch.read_error_line(), "hoptop: the settings were reloaded");
    watch.read_events_until("settled", 8);
    let ended = watch.end();
    assert_eq!((ended.code, ended.err.as_str()), (Some(4), ""));
    let environment = fs::read_to_string(environment_file).unwrap();
    assert!(environment.contains("PATH=") && !environment.contains(FIRST) && !environment.contains(SECOND));
}

#[test]
fn signal_ends_a_watch_whose_integrator_id_command_still_runs() {
    let (home, clock) = (Home::new(), Clock::system());
    let write_settings =
        |id: &str| home.configure(&format!("[profiles.default]\nbase_url = \"http://127.0.0.1:1\"\nrps = 10\n{id}\n"));
    write_settings("integrator_id_env = \"FIRST\"");
    home.import(&ScenarioBatch::repeat(8, SUCCESS).csv);
    let mut watch = home.command(&["watch", "--json"]);
    watch.env("FIRST", FIRST);
    let mut watch = ProgramProcess::start(watch);
    watch.read_events_until("unreachable", 1);
    let command_started = home.path().join("asked");
    write_settings(&format!(
        "integrator_id_command = [\"sh\", \"-c\", \"touch {}; exec sleep 9\"]",
        command_started.display()
    ));
    watch.signal("HUP");
    while !command_started.exists() {
        std::thread::yield_now();
    }
    let began = clock.now().mono;
    watch.signal("TERM");
    assert_eq!(watch.end().code, Some(143));
    assert!(clock.now().mono.since(began) < Duration::from_secs(6));
}
