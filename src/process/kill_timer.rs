//! A timer of the kernel that kills this process at a moment, even while the process is stopped.
//!
//! The module must never decide when. Its moments are times since the machine started, suspensions included, so that a
//! suspended machine wakes to a process that is dead.

use std::{io, time::Duration};

/// A timer that kills this process.
#[derive(Debug)]
pub(crate) struct KillTimer(#[cfg(target_os = "linux")] nix::sys::timer::Timer);

#[cfg(target_os = "linux")]
impl KillTimer {
    /// Creates a timer that isn't armed.
    ///
    /// # Errors
    /// If the kernel has no timer left.
    pub(crate) fn new() -> io::Result<Self> {
        use nix::{
            sys::{
                signal::{SigEvent, SigevNotify, Signal},
                timer::Timer,
            },
            time::ClockId,
        };
        let kill = SigEvent::new(SigevNotify::SigevSignal { signal: Signal::SIGKILL, si_value: 0 });
        Ok(Self(Timer::new(ClockId::CLOCK_BOOTTIME, kill)?))
    }

    /// Kills this process at this time since the machine started, instead of at an earlier call's.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn arm(&mut self, at: Duration) -> io::Result<()> {
        use nix::sys::{
            time::TimeSpec,
            timer::{Expiration, TimerSetTimeFlags},
        };
        // A moment of zero would disarm the timer.
        let at = TimeSpec::from_duration(at.max(Duration::from_nanos(1)));
        Ok(self.0.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?)
    }
}

/// Stub for systems without kernel timers.
#[cfg(not(target_os = "linux"))]
impl KillTimer {
    /// Returns an error that says where polling for a team works.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn new() -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "polling for a team needs a timer that only Linux has; poll from a Linux machine, and use --no-poll here",
        ))
    }

    /// Does nothing, since `new` never returns a timer.
    ///
    /// # Errors
    /// Never.
    pub(crate) fn arm(&mut self, _at: Duration) -> io::Result<()> {
        Ok(())
    }
}
