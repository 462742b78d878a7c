//! SIGHUP to a watch that nobody sits before: the settings of that moment, or those of before if these are wrong.

use std::{fs, time::Duration};

use hoptop::clock::Clock;

use super::{
    SUCCESS,
    common::{Batch, Home, Running, Simulation},
};

const FIRST: &str = "an-id-of-before-1111";
const SECOND: &str = "an-id-from-then-on-2222";

#[test]
fn a_watch_without_a_terminal_reads_its_settings_anew_when_it_is_told_to() {
    let reverted = r#"{ from = 0, status = "partial_success", steps = 2 }"#;
    // Enough of them that soon five requests in a row have failed.
    let batch = Batch::new(&[&[SUCCESS; 7][..], &[reverted]].concat());
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    let seen = home.path().join("seen");
    // Nobody answers there.
    home.configure("[profiles.default]\nbase_url = \"http://127.0.0.1:1\"\nrps = 10\nintegrator_id_env = \"FIRST\"\n");
    let mut watch = home.hoptop(&["watch", "--json", "--until-settled", "--timeout", "60s"]);
    watch.env("FIRST", FIRST).env("SECOND", SECOND);
    let mut watch = Running::start(watch);
    watch.until("unreachable", 1);
    home.configure("webhok = \"https://hooks.example\"\n");
    watch.signal("HUP");
    let complaint = watch.complaint();
    assert!(complaint.contains("line 1: unknown key `webhok`; did you mean `webhook`?"), "{complaint}");
    assert!(complaint.ends_with("; everything goes on as before"), "{complaint}");
    home.configure(&format!(
        "on_alert = [\"sh\", \"-c\", \"env > {}\"]\n[profiles.default]\nbase_url = \"{}\"\nrps = 10\n\
         integrator_id_env = \"SECOND\"\n",
        seen.display(),
        simulation.url
    ));
    watch.signal("HUP");
    assert_eq!(watch.complaint(), "hoptop: the settings were read anew");
    watch.until("settled", 8);
    let ended = watch.end();
    assert_eq!((ended.code, ended.err.as_str()), (Some(4), ""));
    let environment = fs::read_to_string(seen).unwrap();
    assert!(environment.contains("PATH=") && !environment.contains(FIRST) && !environment.contains(SECOND));
}

#[test]
fn while_the_id_s_command_runs_a_signal_ends_it_all_the_same() {
    let (home, clock) = (Home::new(), Clock::system());
    let settings =
        |id: &str| home.configure(&format!("[profiles.default]\nbase_url = \"http://127.0.0.1:1\"\nrps = 10\n{id}\n"));
    settings("integrator_id_env = \"FIRST\"");
    home.import(&Batch::of(8, SUCCESS).csv);
    let mut watch = home.hoptop(&["watch", "--json"]);
    watch.env("FIRST", FIRST);
    let mut watch = Running::start(watch);
    watch.until("unreachable", 1);
    let asked = home.path().join("asked");
    settings(&format!("integrator_id_command = [\"sh\", \"-c\", \"touch {}; exec sleep 9\"]", asked.display()));
    watch.signal("HUP");
    while !asked.exists() {
        std::thread::yield_now();
    }
    let began = clock.now().mono;
    watch.signal("TERM");
    assert_eq!(watch.end().code, Some(143));
    assert!(clock.now().mono.since(began) < Duration::from_secs(6));
}
