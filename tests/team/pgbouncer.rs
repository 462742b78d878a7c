//! A PgBouncer in transaction mode in front of a cluster, for one test.

use std::{
    fs,
    net::TcpStream,
    process::{Child, Stdio},
};

use tempfile::TempDir;

use super::{
    cluster::Cluster,
    server::{command, find_program, folder, free_port, kill_with_children, skip, wait_for},
};

/// A running PgBouncer. It is killed, and its files are removed, when the value is dropped.
pub(crate) struct PgBouncer {
    _folder: TempDir,
    port: u16,
    process: Child,
}

impl PgBouncer {
    /// Starts PgBouncer in front of a cluster, for these roles. Returns `None` if the program isn't installed.
    pub(crate) fn start(cluster: &Cluster, roles: &[&str]) -> Option<Self> {
        let Some(program) = find_program("pgbouncer", &["/usr/sbin".into(), "/usr/local/sbin".into()]) else {
            skip("PgBouncer isn't installed");
            return None;
        };
        let (folder, port) = (folder(), free_port());
        let users: String = ["postgres"].iter().chain(roles).map(|role| format!("\"{role}\" \"\"\n")).collect();
        let (user_file, settings, log) =
            (folder.path().join("users"), folder.path().join("settings.ini"), folder.path().join("log"));
        fs::write(&user_file, users).unwrap();
        let text = format!(
            "[databases]\nhoptop = host={} port={} dbname=hoptop\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\nadmin_users = postgres\n\
             pool_mode = transaction\ndefault_pool_size = 4\nmax_client_conn = 100\n",
            cluster.address().ip(),
            cluster.address().port(),
            user_file.display(),
        );
        fs::write(&settings, text).unwrap();
        let output = fs::File::create(&log).unwrap();
        let mut server = command(&program, folder.path());
        server.arg(&settings).stdout(Stdio::null()).stderr(output);
        let mut started = Self { process: server.spawn().unwrap(), _folder: folder, port };
        wait_for("PgBouncer", || {
            let ended = started.process.try_wait().unwrap();
            assert!(ended.is_none(), "PgBouncer ended: {}", fs::read_to_string(&log).unwrap());
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        Some(started)
    }

    /// Returns the URL of the cluster's database for a role.
    pub(crate) fn url_of(&self, role: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/hoptop", self.port)
    }

    /// Returns the URL of PgBouncer's console.
    pub(crate) fn admin_url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/pgbouncer", self.port)
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        kill_with_children(&mut self.process);
    }
}
