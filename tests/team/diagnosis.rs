//! The diagnosis of a team's store by an operator: `doctor`, metrics, and the polling machine.

use super::{
    cluster::Cluster,
    common::{ProcessOutput, ProgramProcess, ScenarioBatch, get_metrics},
    pgbouncer::PgBouncer,
    server::wait_for,
    service::CountingService,
    sharing::{add, hash, machine, team},
};

const ONGOING: &str = r#"{ from = 0, status = "ongoing", steps = 1 }"#;

/// Returns the line of a check.
fn finding(ended: &ProcessOutput, check: &str) -> String {
    let line = ended.out.lines().find(|line| line.split_whitespace().nth(1) == Some(check));
    line.unwrap_or_else(|| panic!("no {check}: {ended:?}")).to_owned()
}

#[test]
fn metrics_count_the_requests_of_the_machine_that_polls() {
    let Some(cluster) = team() else { return };
    let batch = ScenarioBatch::repeat(2, ONGOING);
    let service = CountingService::start(&batch.scenario);
    let home = machine(&cluster.url());
    home.import(&batch.csv);
    let mut watch = ProgramProcess::start(home.polling_command(service.url(), &["watch", "--metrics", "127.0.0.1:0"]));
    let address = watch.read_metrics_address();
    let text = wait_for("polling", || {
        let text = get_metrics(&address);
        (text.contains("hoptop_team_polling 1") && text.contains("outcome=\"record\"")).then_some(text)
    });
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}:\n{text}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    for (name, expected) in [("up", 1.0), ("polled", 1.0), ("epoch", 1.0), ("members", 1.0), ("lag_entries", 0.0)] {
        assert_eq!(value(&format!("hoptop_team_{name}")), expected, "{name}:\n{text}");
    }
    assert!(value("hoptop_requests_total") >= 1.0 && value("hoptop_request_duration_seconds_count") >= 1.0, "{text}");
    assert!(value("hoptop_team_applied_entry") >= 1.0 && value("hoptop_team_lag_seconds") < 5.0, "{text}");
    assert!(value("hoptop_team_appended_entries_total") >= 0.0, "{text}");
}

#[test]
fn doctor_checks_the_connection_to_the_database_from_this_machine() {
    let Some(cluster) = team() else { return };
    let direct = machine(&cluster.url()).run(&["doctor"]);
    for (check, words) in [
        ("team", "may read, write and poll"),
        ("tls", "off, within this machine"),
        ("commits", "there is no standby"),
        ("notices", "arrive"),
        ("versions", "this version"),
        ("replica", "has everything"),
    ] {
        let line = finding(&direct, check);
        assert!(line.starts_with("ok") && line.contains(words), "{line}");
    }
    let refused = machine(&cluster.url_of("nobody")).run(&["doctor"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        finding(&refused, "team").contains("refuses the login") && refused.out.contains("  terminal "),
        "{refused:?}"
    );
    // Commits would wait for a standby that isn't there.
    cluster.execute("alter role hoptop set synchronous_commit to local");
    cluster.execute("alter system set synchronous_standby_names to 'other'");
    cluster.execute("select pg_reload_conf()");
    let local = wait_for("setting", || {
        let line = finding(&machine(&cluster.url()).run(&["doctor"]), "commits");
        line.starts_with("warn").then_some(line)
    });
    assert!(local.contains("synchronous_commit is `local`"), "{local}");
}

#[test]
fn doctor_names_a_standby_and_a_pooler() {
    let Some(cluster) = team() else { return };
    let Some(bouncer) = PgBouncer::start(&cluster, &["hoptop"]) else { return };
    let pooled = machine(&bouncer.url_of("hoptop")).run(&["doctor"]);
    let line = finding(&pooled, "notices");
    assert!(line.starts_with("warn") && line.contains("pooler in transaction mode"), "{line}");
    let standby = cluster.standby();
    let read_only = machine(&format!("postgres://hoptop@{}/hoptop", standby.address())).run(&["doctor"]);
    let line = finding(&read_only, "commits");
    assert!(line.starts_with("error") && line.contains("the server is a standby"), "{line}");
}

#[test]
fn unpolled_id_is_reported_instead_of_an_unreachable_service() {
    let Some(cluster) = team() else { return };
    cluster.execute("create role writer login; grant hoptop_member to writer");
    let service = CountingService::start(&ScenarioBatch::repeat(1, ONGOING).scenario);
    let home = machine(&cluster.url_of("writer"));
    add(&home, 1).assert_exit(0, &[]);
    let mut watch = ProgramProcess::start(home.polling_command(service.url(), &["watch", "--json"]));
    let check = ProcessOutput::new(home.polling_command(service.url(), &["check", &hash(1)]).output().unwrap());
    check.assert_exit(6, &["no machine of the team polls", "hoptop_poller"]);
    assert!(watch.read_error_line().contains("no machine of the team polls"));
    assert_eq!(service.arrivals().len(), 0);
}

#[test]
fn owner_without_the_right_to_create_roles_reads_the_missing_right() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute("create role plain login; grant all on database hoptop to plain");
    machine(&cluster.url_of("plain")).run(&["store", "init"]).assert_exit(1, &["can't be created", "CREATEROLE"]);
}
