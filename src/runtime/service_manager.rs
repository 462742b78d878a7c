//! Notifies systemd when the service is ready, alive and stopping: one datagram each to `$NOTIFY_SOCKET`.
//!
//! Without a service manager it does nothing. This module must never report a service as alive whose poll loops don't
//! go on.

#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
use std::{
    ffi::OsString,
    os::unix::net::{SocketAddr, UnixDatagram},
    time::Duration,
};

use tokio::task::JoinSet;

use crate::{clock::Clock, poller::Heartbeat};

/// The interval between checks whether each poll loop has started.
const READY_CHECK: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// How often the service must show that it is alive; `None` if the service manager doesn't ask for that.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// Returns the service manager that the environment names.
    pub(crate) fn of_process() -> Self {
        Self::from_variables(|name| std::env::var_os(name))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let number = |name| variable(name)?.to_str()?.parse::<u64>().ok();
        // The watchdog may be meant for another process.
        let is_own = number("WATCHDOG_PID").is_none_or(|process| process == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|limit| is_own && *limit > 0).map(Duration::from_micros);
        Self { socket: variable("NOTIFY_SOCKET").and_then(|address| open_socket(&address)), watchdog }
    }

    fn notify(&self, state: &str) {
        if let Some((socket, address)) = &self.socket
            && let Err(error) = socket.send_to_addr(state.as_bytes(), address)
        {
            tracing::warn!("the service manager can't be notified ({state}): {error}");
        }
    }

    /// Reports that the service stops.
    pub(crate) fn report_stopping(&self) {
        self.notify("STOPPING=1");
    }

    /// Reports "ready" once each of these loops has started, then "alive" while all of them make progress, until the
    /// returned value is dropped.
    #[must_use]
    pub(crate) fn watch(self, heartbeats: Vec<Heartbeat>, clock: Clock) -> JoinSet<()> {
        let mut task = JoinSet::new();
        task.spawn(async move {
            if self.socket.is_none() {
                return;
            }
            let wait = async |time| clock.sleep_until(clock.now().mono + time).await;
            while heartbeats.iter().any(|heartbeat| heartbeat.count() == 0) {
                wait(READY_CHECK).await;
            }
            self.notify("READY=1");
            let Some(limit) = self.watchdog else { return };
            let mut counts = vec![0; heartbeats.len()];
            loop {
                let now: Vec<u64> = heartbeats.iter().map(Heartbeat::count).collect();
                if now.iter().zip(&counts).all(|(now, before)| now > before) {
                    self.notify("WATCHDOG=1");
                    counts = now;
                }
                wait(limit / 2).await;
            }
        });
        task
    }
}

/// Opens a socket for the address: a path, or an abstract name after `@`.
fn open_socket(address: &OsString) -> Option<(UnixDatagram, SocketAddr)> {
    let parsed = match address.as_encoded_bytes() {
        #[cfg(target_os = "linux")]
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        [b'/', ..] => SocketAddr::from_pathname(address),
        _ => return None,
    };
    let opened = parsed.and_then(|address| {
        let socket = UnixDatagram::unbound()?;
        // A service manager that doesn't read must not delay the service.
        socket.set_nonblocking(true)?;
        Ok((socket, address))
    });
    opened.inspect_err(|error| tracing::warn!("the service manager's socket can't be used: {error}")).ok()
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn manager(address: &str, watchdog: &str) -> ServiceManager {
        let (address, watchdog) = (address.to_owned(), watchdog.to_owned());
        ServiceManager::from_variables(move |name| match name {
            "NOTIFY_SOCKET" => Some(address.clone().into()),
            "WATCHDOG_USEC" => Some(watchdog.clone().into()),
            _ => None,
        })
    }

    /// Returns the datagrams so far.
    fn received(listener: &UnixDatagram) -> Vec<String> {
        listener.set_nonblocking(true).unwrap();
        let mut buffer = [0; 99];
        let next = || {
            let count = listener.recv(&mut buffer).ok()?;
            Some(String::from_utf8(buffer[..count].to_vec()).unwrap())
        };
        std::iter::from_fn(next).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn readiness_and_life_follow_the_loops() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        let clock = Clock::starting_at(DateTime::UNIX_EPOCH);
        let pass = async |seconds| clock.sleep_until(clock.now().mono + Duration::from_secs(seconds)).await;
        let beats = [Heartbeat::default(), Heartbeat::default()];
        let signs = manager(path.to_str().unwrap(), "20000000").watch(beats.to_vec(), clock.clone());
        pass(1).await;
        beats[0].beat();
        pass(1).await;
        assert_eq!(received(&listener), [""; 0], "one loop has not begun");
        beats[1].beat();
        pass(1).await;
        assert_eq!(received(&listener), ["READY=1", "WATCHDOG=1"]);
        beats.iter().for_each(Heartbeat::beat);
        pass(10).await;
        assert_eq!(received(&listener), ["WATCHDOG=1"]);
        // One loop hangs.
        for _ in 0..5 {
            beats[0].beat();
            pass(10).await;
        }
        assert_eq!(received(&listener), [""; 0]);
        beats[1].beat();
        pass(10).await;
        assert_eq!(received(&listener), ["WATCHDOG=1"]);
        drop(signs);
        beats.iter().for_each(Heartbeat::beat);
        pass(30).await;
        assert_eq!(received(&listener), [""; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn abstract_sockets_work_and_no_service_manager_is_no_error() {
        let name = format!("hoptop-test-{}", std::process::id());
        let listener = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        manager(&format!("@{name}"), "").report_stopping();
        assert_eq!(received(&listener), ["STOPPING=1"]);
        for address in ["", "relative", "/no/such/socket", "@no-such-name"] {
            manager(address, "1").report_stopping();
        }
        ServiceManager::from_variables(|_| None).report_stopping();
    }

    #[test]
    fn watchdog_of_another_process_is_ignored() {
        let limit = |process: u32| {
            ServiceManager::from_variables(move |name| match name {
                "WATCHDOG_PID" => Some(process.to_string().into()),
                "WATCHDOG_USEC" => Some("5000000".into()),
                _ => None,
            })
            .watchdog
        };
        assert_eq!(limit(std::process::id()), Some(Duration::from_secs(5)));
        assert_eq!(limit(std::process::id() + 1), None);
    }
}
