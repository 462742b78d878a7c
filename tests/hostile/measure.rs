//! Measures the cost of one input: the time and the memory of one call, and whether both are within their bounds.
//!
//! Noise of the machine must never count: a slow call is repeated, and its fastest time is recorded.

use std::{
    fmt,
    hint::black_box,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The longest time for one input, in a release build.
const TIME_LIMIT: Duration = Duration::from_millis(50);
/// The most memory for one input besides the input itself, in bytes.
const MEMORY_LIMIT: usize = 64 << 20;
/// A call that takes longer is repeated.
const REPEAT_ABOVE: Duration = Duration::from_millis(2);

static MEASUREMENTS: Mutex<()> = Mutex::new(());

/// Lets one test measure at a time: the allocations of another test would count.
pub(crate) fn lock_measurements() -> MutexGuard<'static, ()> {
    // The test that poisoned the lock reports its own failure.
    MEASUREMENTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The highest time and the highest memory of the inputs so far.
#[derive(Default)]
pub(crate) struct Figures {
    inputs: u64,
    slowest: Duration,
    peak: usize,
}

impl Figures {
    /// Calls `work`, and records its time and its memory.
    pub(crate) fn measure<T>(&mut self, work: impl Fn() -> T) -> T {
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let (result, mut took) = timed(&work);
        let peak = ALLOCATOR.peak_usage().saturating_sub(before);
        for repetition in 0..40 {
            // The time of a debug build means nothing.
            if !cfg!(debug_assertions) && took > REPEAT_ABOVE.max(self.slowest) && (repetition < 4 || took > TIME_LIMIT)
            {
                took = took.min(timed(&work).1);
            }
        }
        self.inputs += 1;
        self.slowest = self.slowest.max(took);
        self.peak = self.peak.max(peak);
        result
    }

    /// Fails if an input exceeded a bound. The time of a build without optimisation isn't checked.
    pub(crate) fn assert_bounded(&self, name: &str) {
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
