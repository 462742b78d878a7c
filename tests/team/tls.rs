//! Connections to the database with TLS and passwords: the checks, and the messages if one fails.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::PathBuf,
};

use super::{
    cluster::Cluster,
    common::{Home, ProcessOutput},
    server::wait_for,
    sharing::machine,
};

/// Lets the server use TLS with a certificate for one host. Returns the path of the certificate.
fn turn_on_tls(cluster: &mut Cluster, host: &str) -> PathBuf {
    let own = rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
    let data = cluster.folder().join("data");
    let owner = fs::metadata(&data).unwrap();
    for (name, text) in [("server.crt", own.cert.pem()), ("server.key", own.signing_key.serialize_pem())] {
        let path = data.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    cluster.execute("alter system set ssl = on");
    cluster.restart();
    data.join("server.crt")
}

fn list_at(url: &str) -> ProcessOutput {
    machine(url).run(&["list"])
}

#[test]
fn server_is_verified_and_nothing_goes_out_unencrypted() {
    let Some(mut cluster) = Cluster::start() else { return };
    let url = format!("{}?sslmode=verify-full", cluster.url());
    list_at(&url).assert_exit(1, &["has no TLS", "turn on `ssl`"]);
    let certificate = turn_on_tls(&mut cluster, "127.0.0.1");
    let trusted = format!("{url}&sslrootcert={}", certificate.display());
    list_at(&url).assert_exit(1, &["is not trusted", "sslrootcert=FILE"]);
    machine(&trusted).run(&["store", "init"]).assert_exit(0, &[]);
    list_at(&trusted).assert_exit(0, &[]);
    let doctor = machine(&trusted).run(&["doctor"]).out;
    assert!(
        doctor.lines().any(|line| line.starts_with("ok") && line.contains(" tls ") && line.contains("verified")),
        "{doctor}"
    );
    let other = turn_on_tls(&mut cluster, "db.example");
    let of_other_host = format!("{url}&sslrootcert={}", other.display());
    list_at(&of_other_host).assert_exit(1, &["is for another host", "use a name from the certificate"]);
    fs::write(&other, "no certificate").unwrap();
    list_at(&of_other_host).assert_exit(1, &["the certificate authorities", "check sslrootcert"]);
}

#[test]
fn password_is_sent_only_to_the_verified_server_and_shown_nowhere() {
    const PASSWORD: &str = "canary-of-the-database";
    let Some(mut cluster) = Cluster::start() else { return };
    let certificate = turn_on_tls(&mut cluster, "127.0.0.1");
    machine(&cluster.url()).run(&["store", "init"]).assert_exit(0, &[]);
    cluster.execute(&format!("create role ann login password '{PASSWORD}'; grant hoptop_member to ann"));
    let rules = cluster.folder().join("data/pg_hba.conf");
    let others = fs::read_to_string(&rules).unwrap();
    fs::write(
        &rules,
        format!("hostssl all ann 127.0.0.1/32 scram-sha-256\nhost all ann 127.0.0.1/32 reject\n{others}"),
    )
    .unwrap();
    cluster.execute("select pg_reload_conf()");
    let url = format!(
        "{}?sslmode=verify-full&channel_binding=require&sslrootcert={}",
        cluster.url_of("ann"),
        certificate.display()
    );
    let home = machine(&url);
    let with =
        |password: &str| ProcessOutput::new(home.command(&["list"]).env("PGPASSWORD", password).output().unwrap());
    // The server reads its rules a moment later.
    wait_for("rules", || home.run(&["list"]).err.contains("asks for a password").then_some(()));
    let wrong = with("canary-that-is-wrong");
    wrong.assert_exit(1, &["refuses the login", "its password"]);
    let right = with(PASSWORD);
    right.assert_exit(0, &[]);
    for text in [&wrong.err, &right.err, &right.out] {
        assert!(!text.contains("canary"), "{text}");
    }
    // A file that others can read is ignored, like libpq does.
    let file = home.write("pgpass", &format!("127.0.0.1:*:hoptop:ann:{PASSWORD}\n"));
    let from_file =
        |home: &Home| ProcessOutput::new(home.command(&["list"]).env("PGPASSFILE", &file).output().unwrap());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    from_file(&home).assert_exit(1, &["asks for a password", "was ignored", "chmod 600"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    from_file(&home).assert_exit(0, &[]);
}
