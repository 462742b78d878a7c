//! `watch --metrics` serves its metrics over HTTP while it runs.

use std::net::{TcpListener, TcpStream};

use super::{
    ONGOING, SUCCESS,
    common::{Batch, Home, ID, Process, Simulation, get_metrics},
};

#[test]
fn watch_serves_metrics_while_it_runs() {
    let batch = Batch::new(&[SUCCESS, ONGOING]);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    let words = ["watch", "--json", "--metrics", "127.0.0.1:0", "--timeout", "1m"];
    let mut watch = Process::start(home.polling_command(&simulation.url, &words));
    let address = watch.read_metrics_address();
    watch.read_events_until("settled", 1);
    watch.read_events_until("status_changed", 1);
    let text = get_metrics(&address);
    for line in [
        "hoptop_transactions{profile=\"default\",status=\"success\"} 1",
        "hoptop_transactions{profile=\"default\",status=\"ongoing\"} 1",
        "hoptop_requests_total{profile=\"default\",endpoint=\"status\",outcome=\"record\"} 2",
        "hoptop_budget_limit{profile=\"default\"} 10.0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is missing:\n{text}");
    }
    assert!(!text.contains(ID) && !text.contains(&ID[ID.len() - 4..]), "{text}");
    watch.signal("TERM");
    assert_eq!(watch.end().code, Some(143));
    assert!(TcpStream::connect(&address).is_err(), "the ended watch still listens");
}

#[test]
fn unusable_metrics_address_is_an_error_with_a_remedy() {
    let (home, taken) = (Home::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let address = taken.local_addr().unwrap().to_string();
    home.watch("http://127.0.0.1:1", &["--metrics", &address]).assert_exit(1, &[&address, "choose another port"]);
    let port = taken.local_addr().unwrap().port().to_string();
    home.watch("http://127.0.0.1:1", &["--metrics", &port]).assert_exit(1, &[&address, "choose another port"]);
    home.watch("http://127.0.0.1:1", &["--metrics", "nowhere"]).assert_exit(2, &["--metrics", "write it as 9464"]);
}
