//! A PostgreSQL server for one test: its own data, port and processes, which are gone when the test ends.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
    thread,
};

use tempfile::TempDir;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use super::server::{command, find_program, folder, free_port, kill_with_children, own_folder, signal, skip, wait_for};

/// The settings that differ from the server's defaults. Nothing here needs to survive a crash of the machine.
const SETTINGS: &str = "
fsync = off
full_page_writes = off
shared_buffers = 16MB
max_connections = 100
wal_level = replica
max_wal_senders = 4
wal_keep_size = 64MB
autovacuum_max_workers = 1
max_worker_processes = 2
max_parallel_workers = 0
jit = off
log_min_messages = fatal
log_checkpoints = off
logging_collector = off
";
/// The number of the settings above, for the name of the kept template: a change needs another number.
const SETTINGS_VERSION: u32 = 1;
/// The role that owns the database, and the database. Every role may connect from this machine without a password.
const CREATION: &str = "create role hoptop login createrole;\ncreate database hoptop owner hoptop;\n";

/// The rows of a statement. NULL is an empty text.
pub(crate) type Rows = Vec<Vec<String>>;

/// The megabytes of a disk of its own: more than a server keeps of its log, and the megabytes that its files need.
const DISK_MEGABYTES: u32 = 256;

/// A disk of its own in the memory of this machine. It is unmounted when the value is dropped.
struct OwnDisk(PathBuf);

impl OwnDisk {
    /// Mounts an empty disk at a folder; `None` if this user may not.
    fn mount(folder: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={DISK_MEGABYTES}m"), "hoptop-test"]).arg(folder);
        let is_mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        is_mounted.then(|| Self(folder.to_owned()))
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }
}

impl Drop for OwnDisk {
    fn drop(&mut self) {
        run(Command::new("umount").arg("--lazy").arg(&self.0));
    }
}

/// A running or stopped server. It is killed, and its files are removed, when the value is dropped.
pub(crate) struct Cluster {
    programs: PathBuf,
    /// The disk with all of the server's files; `None` if they are on the disk of this machine's temporary files.
    disk: Option<OwnDisk>,
    folder: TempDir,
    port: u16,
    server: Option<Child>,
}

impl Cluster {
    /// Starts a server with an empty database `hoptop`. Returns `None` if the programs aren't installed.
    pub(crate) fn start() -> Option<Self> {
        Self::start_in(folder(), None)
    }

    /// Like [`Cluster::start`], on a disk of its own if this user may mount one.
    pub(crate) fn start_on_own_disk() -> Option<Self> {
        let folder = folder();
        let disk = OwnDisk::mount(folder.path());
        Self::start_in(folder, disk)
    }

    fn start_in(folder: TempDir, disk: Option<OwnDisk>) -> Option<Self> {
        let Some(programs) = program_folder() else {
            skip("PostgreSQL's server programs aren't installed");
            return None;
        };
        let template = template(&programs);
        let cluster = Self { programs, disk, folder, port: free_port(), server: None };
        own_folder(cluster.folder());
        run(Command::new("cp").arg("-a").arg(template).arg(cluster.data()));
        Some(cluster.started())
    }

    /// Whether the server has a disk of its own.
    pub(crate) fn has_own_disk(&self) -> bool {
        self.disk.is_some()
    }

    /// Fills the server's own disk.
    pub(crate) fn fill_disk(&self) {
        let mut ballast = fs::File::create(self.disk.as_ref().unwrap().ballast()).unwrap();
        let full = io::copy(&mut io::repeat(0), &mut ballast).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    }

    /// Removes from the server's own disk the files of [`Cluster::fill_disk`], and starts the server again if it has
    /// ended.
    pub(crate) fn free_disk(&mut self) {
        fs::remove_file(self.disk.as_ref().unwrap().ballast()).unwrap();
        let server = self.server.as_mut().unwrap();
        let mut has_ended = false;
        wait_for("answer of the server, or its end", || {
            has_ended = server.try_wait().unwrap().is_some();
            (has_ended
                || execute_at(&format!("postgres://postgres@127.0.0.1:{}/hoptop", self.port), "select 1").is_ok())
            .then_some(())
        });
        if has_ended {
            self.server = None;
            self.run_server();
        }
    }

    /// Returns the URL of the database for its owner.
    pub(crate) fn url(&self) -> String {
        self.url_of("hoptop")
    }

    /// Returns the URL of the database for the superuser.
    pub(crate) fn superuser_url(&self) -> String {
        self.url_of("postgres")
    }

    /// Returns the URL of the database for a role.
    pub(crate) fn url_of(&self, role: &str) -> String {
        format!("postgres://{role}@{}/hoptop", self.address())
    }

    /// Returns the address of the server. A restart doesn't change it.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Returns the folder of the server's files and its Unix socket.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Kills the server and the processes of its connections, as a crash does.
    pub(crate) fn kill_postmaster(&mut self) {
        if let Some(mut server) = self.server.take() {
            kill_with_children(&mut server);
        }
    }

    /// Stops the server: it closes the connections and writes everything to its files.
    pub(crate) fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            signal("INT", &[server.id()]);
            wait_for("end of the server", || server.try_wait().unwrap());
        }
    }

    /// Starts the server again, at the same address. A running server is stopped first.
    pub(crate) fn restart(&mut self) {
        self.stop();
        self.run_server();
    }

    /// Creates an asynchronous standby that follows this server.
    pub(crate) fn standby(&self) -> Self {
        self.standby_through(self.address())
    }

    /// Creates an asynchronous standby that follows this server through an address, such as that of a proxy.
    pub(crate) fn standby_through(&self, address: SocketAddr) -> Self {
        let folder = folder();
        let disk = self.disk.as_ref().and_then(|_| OwnDisk::mount(folder.path()));
        let standby = Self { programs: self.programs.clone(), disk, folder, port: free_port(), server: None };
        own_folder(standby.folder());
        let mut copy = command(&self.programs.join("pg_basebackup"), standby.folder());
        copy.arg("--pgdata").arg(standby.data()).args(["--host", &address.ip().to_string()]);
        copy.args(["--port", &address.port().to_string(), "--username", "postgres", "--write-recovery-conf"]);
        run(copy.args(["--wal-method=stream", "--checkpoint=fast", "--no-sync"]));
        standby.started()
    }

    /// Waits until a standby has applied everything that this server has written.
    pub(crate) fn wait_for_standby(&self) {
        let sql = "select count(*) from pg_stat_replication where replay_lsn >= pg_current_wal_lsn()";
        wait_for("standby without lag", || (self.execute(sql) == [["1"]]).then_some(()));
    }

    /// Makes a standby the primary.
    pub(crate) fn promote(&self) {
        assert_eq!(self.execute("select pg_promote(true, 20)"), [["t"]]);
    }

    /// Runs statements as the superuser, and returns all rows.
    #[track_caller]
    pub(crate) fn execute(&self, sql: &str) -> Rows {
        self.try_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Like [`Cluster::execute`], but returns the error.
    pub(crate) fn try_execute(&self, sql: &str) -> Result<Rows, String> {
        execute_at(&self.superuser_url(), sql)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn started(mut self) -> Self {
        self.run_server();
        self
    }

    fn run_server(&mut self) {
        let log = self.folder.path().join("log");
        let mut server = command(&self.programs.join("postgres"), self.folder.path());
        server.arg("-D").arg(self.data()).args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        server.arg("-c").arg(format!("unix_socket_directories={}", self.folder.path().display()));
        let file = fs::File::create(&log).unwrap();
        let server = self.server.insert(server.stdout(Stdio::null()).stderr(file).spawn().unwrap());
        // The first line is the process, the eighth is the state. The file of a killed server is still there.
        let id = server.id().to_string();
        let is_ready = || {
            let text = fs::read_to_string(self.folder.path().join("data/postmaster.pid")).unwrap_or_default();
            let lines: Vec<_> = text.lines().map(str::trim).collect();
            lines.first() == Some(&id.as_str()) && lines.get(7) == Some(&"ready")
        };
        let mut server_end = None;
        wait_for("server", || {
            server_end = server.try_wait().unwrap();
            (is_ready() || server_end.is_some()).then_some(())
        });
        assert!(server_end.is_none(), "the server ended: {}", fs::read_to_string(log).unwrap());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill_postmaster();
    }
}

/// Runs statements at this URL, and returns all rows. It may be called from asynchronous code.
pub(crate) fn execute_at(url: &str, sql: &str) -> Result<Rows, String> {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            let connection = tokio::spawn(connection);
            let messages = client.simple_query(sql).await?;
            drop(client);
            connection.await.unwrap()?;
            Ok(messages)
        })
    };
    let messages = thread::scope(|scope| scope.spawn(work).join().unwrap());
    let text = |error: tokio_postgres::Error| {
        error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned())
    };
    let rows = messages.map_err(text)?.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).unwrap_or_default().to_owned()).collect())
        }
        _ => None,
    });
    Ok(rows.collect())
}

/// Returns the folder with all of the server's programs.
fn program_folder() -> Option<PathBuf> {
    let needed = ["initdb", "postgres", "pg_basebackup"];
    let is_complete = |folder: &PathBuf| needed.iter().all(|name| folder.join(name).is_file());
    let named = Command::new("pg_config").arg("--bindir").output().ok();
    let named = named.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut packaged: Vec<_> = versions.map(|version| version.unwrap().path().join("bin")).collect();
    packaged.sort();
    let on_path = find_program("initdb", &[]).and_then(|program| Some(program.parent()?.to_owned()));
    packaged.into_iter().rev().chain(named).chain(on_path).find(is_complete)
}

/// Returns the folder of a stopped server's data, which is created once for each version and kept among the build's
/// files.
fn template(programs: &Path) -> PathBuf {
    static CREATION_LOCK: Mutex<()> = Mutex::new(());
    let _guard = CREATION_LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let version = Command::new(programs.join("postgres")).arg("--version").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let version = version.split_whitespace().nth(2).unwrap();
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("postgres-{version}-{SETTINGS_VERSION}"));
    if kept.exists() {
        return kept;
    }
    let folder = folder();
    let data = folder.path().join("data");
    let mut create = command(&programs.join("initdb"), folder.path());
    create.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"]);
    run(create.args(["--wal-segsize=1", "--pgdata"]).arg(&data));
    let settings = data.join("postgresql.conf");
    fs::write(&settings, fs::read_to_string(&settings).unwrap() + SETTINGS).unwrap();
    let script = folder.path().join("creation.sql");
    fs::write(&script, CREATION).unwrap();
    let mut single = command(&programs.join("postgres"), folder.path());
    run(single.arg("--single").arg("-D").arg(&data).arg("postgres").stdin(fs::File::open(script).unwrap()));
    // Another test program may create the same template at this moment.
    let own = kept.with_extension(std::process::id().to_string());
    run(Command::new("cp").arg("-a").arg(data).arg(&own));
    if fs::rename(&own, &kept).is_err() {
        fs::remove_dir_all(&own).unwrap();
    }
    kept
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
