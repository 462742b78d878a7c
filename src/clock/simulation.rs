//! The part of a simulation's clock that orders work without virtual time: blocking work, and other programs.
//!
//! In a simulation everything runs in one thread, and the order of events depends on a seed alone. Real threads would
//! make an order that no seed gives again.

use std::{
    io,
    panic::resume_unwind,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tokio::runtime::{Builder, Runtime};

/// The delays are shorter than this. Tokio's timers count whole milliseconds.
const DELAY_LIMIT_MILLIS: u64 = 4;

/// The seeded delays of a simulation, and its way to other programs.
#[derive(Debug)]
pub(super) struct Simulation {
    random: Mutex<Pcg64Mcg>,
    /// Waits for other programs in real time; `None` only while this is dropped.
    outside: Option<Runtime>,
}

impl Simulation {
    pub(super) fn new(seed: u64) -> io::Result<Self> {
        let outside = Some(Builder::new_current_thread().enable_all().build()?);
        Ok(Self { random: Mutex::new(Pcg64Mcg::seed_from_u64(seed)), outside })
    }

    async fn delay(&self) {
        let millis = self.random.lock().unwrap_or_else(PoisonError::into_inner).random_range(0..DELAY_LIMIT_MILLIS);
        if millis > 0 {
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
    }

    /// Does something at once, after a delay and before another one. The task can be ended in each.
    pub(super) async fn between_delays<T>(&self, work: impl FnOnce() -> T) -> T {
        self.delay().await;
        let done = work();
        self.delay().await;
        done
    }

    /// Waits in real time for the answer of another program. Blocks the thread, so that no other task runs meanwhile.
    pub(super) fn await_outside<T: Send>(&self, answer: impl Future<Output = T> + Send) -> T {
        match &self.outside {
            Some(outside) => thread::scope(|scope| {
                // A thread that runs tasks can't wait for another runtime.
                scope.spawn(|| outside.block_on(answer)).join().unwrap_or_else(|panic| resume_unwind(panic))
            }),
            None => pollster::block_on(answer),
        }
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        // A task may drop the clock, and a task can't wait for a runtime to end.
        self.outside.take().into_iter().for_each(Runtime::shutdown_background);
    }
}
