//! Time as a value: [`Now`] goes into every pure core, [`Clock`] makes it at the edge.
//!
//! This is the only file that reads a clock. It must never decide anything by what it reads.

#![allow(clippy::disallowed_methods, reason = "the one place where clocks are read")]

use std::{ops::Add, time::Duration};

use chrono::{DateTime, FixedOffset, Local, Offset, TimeDelta, Utc};

/// A moment on the monotonic clock, as the time since the clock was made. For pacing and timeouts; it never jumps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mono(pub Duration);

impl Mono {
    /// The time from `earlier` to this moment; zero if `earlier` lies after it.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Mono {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
}

/// One moment, read once and handed down: the monotonic clock for pacing, the wall clock for people and the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// For pacing and timeouts.
    pub mono: Mono,
    /// For people and the store. It may jump either way between two readings.
    pub wall: DateTime<Utc>,
}

/// Where [`Now`] comes from.
///
/// The monotonic side is tokio's, so that under paused time a test moves the whole program.
#[derive(Clone, Debug)]
pub struct Clock {
    origin: tokio::time::Instant,
    wall: Wall,
}

#[derive(Clone, Copy, Debug)]
enum Wall {
    System,
    Scaled { start: DateTime<Utc>, speed: f64 },
}

impl Clock {
    /// The machine's clocks.
    pub fn system() -> Self {
        Self { origin: tokio::time::Instant::now(), wall: Wall::System }
    }

    /// The machine's clocks, with a wall clock that runs `speed` times as fast from now on. Pacing stays real: a
    /// demonstration at 60 times the speed still sends no more than its budget.
    pub fn accelerated(speed: f64) -> Self {
        Self { origin: tokio::time::Instant::now(), wall: Wall::Scaled { start: Utc::now(), speed } }
    }

    /// A wall clock that starts at `start` and follows tokio's clock, paused or not.
    pub fn starting_at(start: DateTime<Utc>) -> Self {
        Self { origin: tokio::time::Instant::now(), wall: Wall::Scaled { start, speed: 1.0 } }
    }

    /// The moment it is.
    pub fn now(&self) -> Now {
        let elapsed = self.origin.elapsed();
        let wall = match self.wall {
            Wall::System => Utc::now(),
            Wall::Scaled { start, speed } => TimeDelta::from_std(elapsed.mul_f64(speed))
                .ok()
                .and_then(|passed| start.checked_add_signed(passed))
                .unwrap_or(start),
        };
        Now { mono: Mono(elapsed), wall }
    }

    /// How far the wall clock moves while `span` passes really.
    pub fn on_the_wall(&self, span: Duration) -> Duration {
        match self.wall {
            Wall::System => span,
            Wall::Scaled { speed, .. } => span.mul_f64(speed),
        }
    }

    /// Waits until the monotonic clock shows `moment`; for ever if that lies beyond what it can show.
    pub async fn sleep_until(&self, moment: Mono) {
        match self.origin.checked_add(moment.0) {
            Some(instant) => tokio::time::sleep_until(instant).await,
            None => std::future::pending().await,
        }
    }
}

/// The machine's offset from UTC now, for times that people read.
pub fn local_offset() -> FixedOffset {
    Local::now().offset().fix()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_clock_follows_paused_time() {
        let start = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let clock = Clock::starting_at(start);
        clock.sleep_until(Mono(Duration::from_secs(90))).await;
        assert_eq!(clock.now().wall, start + TimeDelta::seconds(90));
        assert_eq!(clock.now().mono, Mono(Duration::from_secs(90)));
    }

    #[test]
    fn time_between_moments_is_never_negative() {
        assert_eq!(Mono::default().since(Mono(Duration::from_secs(1))), Duration::ZERO);
    }
}
