//! Time as a value: [`Now`] is passed to all pure logic, and [`Clock`] produces it for the drivers.
//!
//! This is the only file that reads a clock. It must never make a decision based on the time.

#![allow(clippy::disallowed_methods, reason = "the one place where clocks are read")]

mod simulation;

use std::{
    io,
    ops::Add,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, Ordering},
        mpsc,
    },
    time::Duration,
};

use chrono::{DateTime, FixedOffset, Local, Offset, TimeDelta, Utc};
use tokio::task::{JoinError, spawn_blocking};

use self::simulation::Simulation;

/// A moment on a monotonic clock, for pacing and timeouts. It never jumps. For [`Clock::system`] it is the time since
/// the machine started, the same in all processes. For other clocks it is the time since the clock was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonotonicTime(pub Duration);

impl MonotonicTime {
    /// Returns the time from `earlier` to this moment; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for MonotonicTime {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
}

/// One moment, read once and passed down: the monotonic clock for pacing, the wall clock for people and the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The monotonic time, for pacing and timeouts.
    pub mono: MonotonicTime,
    /// The wall time, for people and the store. It may jump forward or backward between two readings.
    pub wall: DateTime<Utc>,
}

/// A source of [`Now`].
///
/// All clocks except [`Clock::system`] take the monotonic time from tokio, so that a test with paused time controls the
/// whole program.
#[derive(Clone, Debug)]
pub struct Clock(TimeSource);

#[derive(Clone, Debug)]
enum TimeSource {
    Machine,
    Tokio {
        origin: tokio::time::Instant,
        start: DateTime<Utc>,
        speed: f64,
        can_be_paused: bool,
        /// How far the wall clock was set forward, in milliseconds.
        offset: Arc<AtomicI64>,
        /// Orders blocking work, if everything runs in one thread.
        simulation: Option<Arc<Simulation>>,
    },
}

impl Clock {
    /// Returns the clock of the machine.
    pub fn system() -> Self {
        Self(TimeSource::Machine)
    }

    /// Returns a clock whose wall time runs `speed` times as fast as real time. Pacing stays real: a demonstration at
    /// 60 times the speed still sends no more requests than its budget allows.
    pub fn accelerated(speed: f64) -> Self {
        Self::tokio(Utc::now(), speed, false)
    }

    /// Returns a clock whose wall time begins at `start` and follows tokio's clock, paused or not.
    pub fn starting_at(start: DateTime<Utc>) -> Self {
        Self::tokio(start, 1.0, true)
    }

    /// Returns a clock like that of [`Clock::starting_at`] for a simulation in one thread: the order of all events
    /// depends on `seed` alone. Tokio's time must be paused.
    ///
    /// # Errors
    /// If the system can't provide the means to reach other programs.
    pub fn simulated(start: DateTime<Utc>, seed: u64) -> io::Result<Self> {
        let mut clock = Self::starting_at(start);
        if let TimeSource::Tokio { simulation, .. } = &mut clock.0 {
            *simulation = Some(Arc::new(Simulation::new(seed)?));
        }
        Ok(clock)
    }

    fn tokio(start: DateTime<Utc>, speed: f64, can_be_paused: bool) -> Self {
        let (origin, offset, simulation) = (tokio::time::Instant::now(), Arc::default(), None);
        Self(TimeSource::Tokio { origin, start, speed, can_be_paused, offset, simulation })
    }

    fn simulation(&self) -> Option<&Simulation> {
        match &self.0 {
            TimeSource::Machine => None,
            TimeSource::Tokio { simulation, .. } => simulation.as_deref(),
        }
    }

    /// Sets the wall clock of this clock and its clones forward, or back by a negative time. Has no effect on
    /// [`Clock::system`].
    pub fn set_wall_forward(&self, by: TimeDelta) {
        match &self.0 {
            TimeSource::Machine => {}
            TimeSource::Tokio { offset, .. } => drop(offset.fetch_add(by.num_milliseconds(), Ordering::Relaxed)),
        }
    }

    /// Returns the current moment.
    pub fn now(&self) -> Now {
        match &self.0 {
            TimeSource::Machine => Now { mono: since_boot(), wall: Utc::now() },
            TimeSource::Tokio { origin, start, speed, offset, .. } => {
                let elapsed = origin.elapsed();
                let offset = TimeDelta::milliseconds(offset.load(Ordering::Relaxed));
                let passed = TimeDelta::from_std(elapsed.mul_f64(*speed)).ok();
                let wall = passed.and_then(|passed| start.checked_add_signed(passed + offset)).unwrap_or(*start);
                Now { mono: MonotonicTime(elapsed), wall }
            }
        }
    }

    /// Returns the time since the machine started, on a clock that goes on while the machine is suspended. For the
    /// moments of a lease; other clocks than the machine's have no such clock, and return their monotonic time.
    pub fn since_boot(&self) -> MonotonicTime {
        match &self.0 {
            TimeSource::Machine => including_suspension(),
            TimeSource::Tokio { origin, .. } => MonotonicTime(origin.elapsed()),
        }
    }

    /// Returns how far the wall clock advances during the real time `span`.
    pub fn to_wall_duration(&self, span: Duration) -> Duration {
        match &self.0 {
            TimeSource::Machine => span,
            TimeSource::Tokio { speed, .. } => span.mul_f64(*speed),
        }
    }

    /// Stops a paused clock from advancing until the guard is dropped. Hold the guard while a task waits for another
    /// thread: tokio takes such a wait for idleness and would advance the clock. Has no effect where the clock can't be
    /// paused, nor in a simulation, which has one thread.
    pub fn hold(&self) -> ClockHold {
        match &self.0 {
            TimeSource::Tokio { can_be_paused: true, simulation: None, .. } => {
                let (guard, released) = mpsc::channel::<()>();
                // tokio doesn't advance a paused clock while a blocking task runs.
                drop(spawn_blocking(move || released.recv().is_ok()));
                ClockHold { _sender: Some(guard) }
            }
            TimeSource::Machine | TimeSource::Tokio { .. } => ClockHold { _sender: None },
        }
    }

    /// Runs work that blocks on tokio's threads for such work. In a simulation the work runs in the thread of the
    /// caller, between two seeded delays.
    ///
    /// # Errors
    /// If the work panics.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        match self.simulation() {
            None => spawn_blocking(work).await,
            Some(simulation) => Ok(simulation.between_delays(work).await),
        }
    }

    /// Awaits the answer of another program. A paused clock stands still meanwhile. In a simulation no other task runs
    /// meanwhile, and a seeded delay precedes and follows.
    pub(crate) async fn await_outside<T: Send>(&self, answer: impl Future<Output = T> + Send) -> T {
        match self.simulation() {
            None => {
                let _hold = self.hold();
                answer.await
            }
            Some(simulation) => simulation.between_delays(|| simulation.await_outside(answer)).await,
        }
    }

    /// Waits until the monotonic clock reaches `moment`; forever if tokio's clock can't represent the moment.
    pub async fn sleep_until(&self, moment: MonotonicTime) {
        let instant = match &self.0 {
            // While the machine is suspended or the process stopped, both clocks stop or both continue.
            TimeSource::Machine => tokio::time::Instant::now().checked_add(moment.since(since_boot())),
            TimeSource::Tokio { origin, .. } => origin.checked_add(moment.0),
        };
        match instant {
            Some(instant) => tokio::time::sleep_until(instant).await,
            None => std::future::pending().await,
        }
    }
}

/// A guard that stops a paused clock from advancing.
#[derive(Debug)]
#[must_use = "the clock goes on when the guard is dropped"]
pub struct ClockHold {
    /// Closing the channel ends the blocking task.
    _sender: Option<mpsc::Sender<()>>,
}

/// Returns the time since the machine started, by its monotonic clock. The clock is shifted in a time namespace, which
/// a container may have. The result doesn't contain this shift, so that processes of all namespaces can share moments.
fn since_boot() -> MonotonicTime {
    static SHIFT: OnceLock<i128> = OnceLock::new();
    let shift = *SHIFT.get_or_init(|| {
        let shifts = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
        monotonic_shift(&shifts).unwrap_or_default()
    });
    let MonotonicTime(shifted) = read(rustix::time::ClockId::Monotonic);
    let nanos = i128::try_from(shifted.as_nanos()).unwrap_or_default() - shift;
    MonotonicTime(Duration::from_nanos(u64::try_from(nanos).unwrap_or_default()))
}

/// Returns by how many nanoseconds a time namespace shifts the monotonic clock; `None` if the text doesn't say so.
fn monotonic_shift(shifts: &str) -> Option<i128> {
    let mut words = shifts.lines().find_map(|line| line.strip_prefix("monotonic"))?.split_whitespace();
    let (seconds, nanos): (i128, i128) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(seconds * 1_000_000_000 + nanos)
}

fn read(clock: rustix::time::ClockId) -> MonotonicTime {
    let time = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    MonotonicTime(Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default()))
}

/// Returns the time since the machine started, suspensions included.
#[cfg(target_os = "linux")]
fn including_suspension() -> MonotonicTime {
    read(rustix::time::ClockId::Boottime)
}

/// Returns the monotonic time: here no known clock includes suspensions.
#[cfg(not(target_os = "linux"))]
fn including_suspension() -> MonotonicTime {
    since_boot()
}

/// Returns the identifier of the machine's current boot; empty where the system provides none. A process whose clock is
/// shifted in an unknown way gets another identifier, since its moments mean nothing to others.
pub(crate) fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    // The system tells the shift of the namespace that children get.
    let [own, of_children] =
        ["time", "time_for_children"].map(|name| std::fs::read_link(format!("/proc/self/ns/{name}")));
    match (own, of_children) {
        (Ok(own), Ok(of_children)) if own != of_children => format!("{} {}", boot.trim(), own.display()),
        _ => boot.trim().to_owned(),
    }
}

/// Returns the machine's current offset from UTC, for times shown to people.
pub(crate) fn local_offset() -> FixedOffset {
    Local::now().offset().fix()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_clock_follows_paused_time() {
        let start = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let clock = Clock::starting_at(start);
        clock.sleep_until(MonotonicTime(Duration::from_secs(90))).await;
        assert_eq!(clock.now().wall, start + TimeDelta::seconds(90));
        assert_eq!(clock.now().mono, MonotonicTime(Duration::from_secs(90)));
    }

    #[test]
    fn shift_of_a_time_namespace_is_read() {
        let shifts = "monotonic           0         0\nboottime            0         0\n";
        assert_eq!(monotonic_shift(shifts), Some(0));
        assert_eq!(monotonic_shift("monotonic  -5000 250000000\nboottime 1 2"), Some(-4_999_750_000_000));
        assert_eq!(monotonic_shift(""), None);
    }

    #[test]
    fn time_between_moments_is_never_negative() {
        assert_eq!(MonotonicTime::default().since(MonotonicTime(Duration::from_secs(1))), Duration::ZERO);
    }
}
