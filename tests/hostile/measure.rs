//! What one input costs: the time and the memory of one call, and the bounds that both keep.
//!
//! Noise of the machine must never count: a slow call is repeated, and its fastest time is taken.

use std::{
    fmt,
    hint::black_box,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The longest that one input may take, in a release build.
const TIME_LIMIT: Duration = Duration::from_millis(50);
/// The most memory that one input may take besides itself.
const MEMORY_LIMIT: usize = 64 << 20;
/// A call that takes longer is repeated.
const WORTH_ANOTHER_LOOK: Duration = Duration::from_millis(2);

static ALONE: Mutex<()> = Mutex::new(());

/// Lets one test run at a time: what another allocates meanwhile would count.
pub fn alone() -> MutexGuard<'static, ()> {
    // A test that failed says so itself.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The costliest of the inputs so far.
#[derive(Default)]
pub struct Figures {
    inputs: u64,
    slowest: Duration,
    peak: usize,
}

impl Figures {
    /// Calls `work`, and takes down what that cost.
    pub fn measure<T>(&mut self, work: impl Fn() -> T) -> T {
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let (result, mut took) = timed(&work);
        let peak = ALLOCATOR.peak_usage().saturating_sub(before);
        for look in 0..40 {
            // The time of a debug build says nothing.
            if !cfg!(debug_assertions) && took > WORTH_ANOTHER_LOOK.max(self.slowest) && (look < 4 || took > TIME_LIMIT)
            {
                took = took.min(timed(&work).1);
            }
        }
        self.inputs += 1;
        self.slowest = self.slowest.max(took);
        self.peak = self.peak.max(peak);
        result
    }

    /// Fails if an input cost too much. The time of a build without optimisation says nothing.
    pub fn assert_bounded(&self, name: &str) {
        assert!(self.peak <= MEMORY_LIMIT, "{name}: {self}");
        assert!(cfg!(debug_assertions) || self.slowest <= TIME_LIMIT, "{name}: {self}");
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (milliseconds, mebibytes) = (self.slowest.as_secs_f64() * 1e3, self.peak as f64 / f64::from(1 << 20));
        write!(out, "{:>9} inputs, slowest {milliseconds:7.3} ms, peak {mebibytes:7.3} MiB", self.inputs)
    }
}

#[allow(clippy::disallowed_methods, reason = "the time that passes is what is measured")]
fn timed<T>(work: impl Fn() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = black_box(work());
    (result, start.elapsed())
}
