//! SIGHUP to a watch that nobody sits before: the settings of that moment, or those of before if these are wrong.

use super::{
    SUCCESS,
    common::{Batch, Home, ID, Running, Simulation},
};

#[test]
fn a_watch_without_a_terminal_reads_its_settings_anew_when_it_is_told_to() {
    let batch = Batch::of(3, SUCCESS);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    let settings = |url: &str| home.configure(&format!("[profiles.default]\nbase_url = \"{url}\"\nrps = 10\n"));
    // Nobody answers there.
    settings("http://127.0.0.1:1");
    let mut watch = home.hoptop(&["watch", "--json", "--until-settled", "--timeout", "60s"]);
    watch.env("HOPTOP_INTEGRATOR_ID", ID);
    let mut watch = Running::start(watch);
    watch.until("unreachable", 1);
    home.configure("webhok = \"https://hooks.example\"\n");
    watch.signal("HUP");
    let complaint = watch.complaint();
    assert!(complaint.contains("line 1: unknown key `webhok`; did you mean `webhook`?"), "{complaint}");
    assert!(complaint.ends_with("; everything goes on as before"), "{complaint}");
    settings(&simulation.url);
    watch.signal("HUP");
    assert_eq!(watch.complaint(), "hoptop: the settings were read anew");
    watch.until("settled", 3);
    let ended = watch.end();
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}
