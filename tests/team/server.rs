//! What all started servers share: finding a program, the user that it runs as, a free port, and the end of a process.

use std::{
    fs,
    net::TcpListener,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU16, Ordering},
    thread,
    time::Duration,
};

use hoptop::internals::clock::Clock;

/// How long a server may take to start or to stop.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);
/// The ports for servers. The kernel doesn't give them to outgoing connections, so that a server can use its port
/// again.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Says that a test is skipped, because a program isn't installed.
///
/// # Panics
/// If `HOPTOP_REQUIRE_POSTGRES` is 1.
pub(crate) fn skip(missing: &str) {
    let is_required = std::env::var_os("HOPTOP_REQUIRE_POSTGRES").is_some_and(|value| value == "1");
    assert!(!is_required, "HOPTOP_REQUIRE_POSTGRES is 1, but {missing}");
    eprintln!("skipped: {missing}");
}

/// Waits until `condition` returns a value.
#[track_caller]
pub(crate) fn wait_for<T>(expected: &str, condition: impl FnMut() -> Option<T>) -> T {
    wait_within(LIMIT, expected, condition)
}

/// Like [`wait_for`], with another limit.
#[track_caller]
pub(crate) fn wait_within<T>(limit: Duration, expected: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let clock = Clock::system();
    let begin = clock.now().mono;
    loop {
        match condition() {
            Some(value) => return value,
            None if clock.now().mono.since(begin) < limit => thread::park_timeout(Duration::from_millis(5)),
            None => panic!("no {expected} within {limit:?}"),
        }
    }
}

/// Returns a port on which no server listens.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test programs that run at the same time begin at different ports.
    let start = std::process::id().wrapping_mul(97) % u32::from(PORTS.end - PORTS.start);
    wait_for("free port", || {
        let offset = (start + u32::from(NEXT.fetch_add(1, Ordering::Relaxed))) % u32::from(PORTS.end - PORTS.start);
        let port = PORTS.start + u16::try_from(offset).unwrap();
        TcpListener::bind(("127.0.0.1", port)).ok().map(|_| port)
    })
}

/// The user and the group that servers run as: PostgreSQL and PgBouncer refuse root. `None` if this process isn't
/// root's.
fn server_user() -> Option<(u32, u32)> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let own = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    if own.split_whitespace().nth(1) != Some("0") {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let id_of = |name: &str| {
        let fields: Vec<_> = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).collect();
        let user = fields.into_iter().find(|fields| fields[0] == name)?;
        Some((user[2].parse().unwrap(), user[3].parse().unwrap()))
    };
    Some(id_of("postgres").or_else(|| id_of("nobody")).expect("no user for a server"))
}

/// Returns a command without input, which runs as the user of servers.
pub(crate) fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = server_user() {
        command.uid(user).gid(group);
    }
    for variable in ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGDATA", "PGSERVICE", "PGOPTIONS"] {
        command.env_remove(variable);
    }
    command.env("LC_ALL", "C").current_dir(folder).stdin(Stdio::null());
    command
}

/// Creates a temporary folder that belongs to the user of servers.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("hoptop-team-").tempdir().unwrap();
    own_folder(folder.path());
    folder
}

/// Gives a folder to the user of servers.
pub(crate) fn own_folder(folder: &Path) {
    if let Some((user, group)) = server_user() {
        chown(folder, Some(user), Some(group)).unwrap();
    }
}

/// Returns the path of a program in one of these folders, or in a folder of `PATH`.
pub(crate) fn find_program(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = folders.iter().cloned().chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Sends processes a signal, such as `KILL`. A process may have ended already.
pub(crate) fn signal(name: &str, processes: &[u32]) {
    let ids = processes.iter().map(ToString::to_string);
    Command::new("kill").arg(format!("-{name}")).args(ids).stderr(Stdio::null()).status().unwrap();
}

/// Returns the children of a process.
pub(crate) fn children(of: u32) -> Vec<u32> {
    let is_child = |id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // The name, in parentheses, may contain blanks. The state and the parent follow.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        parent == Some(of)
    };
    let ids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(is_child).collect()
}

/// Kills a process and its children at once, and waits until all of them are gone.
pub(crate) fn kill_with_children(parent: &mut Child) {
    // A stopped process starts no other children.
    signal("STOP", &[parent.id()]);
    let children = children(parent.id());
    signal("KILL", &[&[parent.id()], children.as_slice()].concat());
    parent.wait().unwrap();
    let is_gone = |id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
    };
    wait_for("end of the server's processes", || children.iter().all(is_gone).then_some(()));
}
