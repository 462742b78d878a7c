//! Ends the process in time. A thread receives the signals that end the process. After the first signal the process
//! shuts down gracefully; if that takes too long, or a second signal comes, the thread ends the process.
//!
//! Ending by force loses nothing that was confirmed: a commit is in the store before it is confirmed, and the kernel
//! releases all locks. The thread must never wait for anything that another thread may hold: a lock, the store,
//! standard output.

use std::{
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use color_eyre::eyre::{Result, WrapErr, eyre};
use futures_util::{
    FutureExt,
    future::{OptionFuture, select_all},
};
use rustix::process::Signal;
use tokio::sync::{mpsc, watch};

use super::{exit::Exit, stderr::print_at_once, tokio_runtime};
use crate::{
    clock::{Clock, MonotonicTime},
    tui::terminal,
};

/// The time for a graceful shutdown after the first signal, or after a person quits.
const GRACEFUL_SHUTDOWN_LIMIT: Duration = Duration::from_millis(2_500);
/// The time for a graceful shutdown after the terminal has closed: the process must end within two seconds, although an
/// answer or a slow disk may take longer.
const HANG_UP_LIMIT: Duration = Duration::from_millis(1_500);
/// Signals that come this soon after the first one leave the process this much time. A shell and the kernel may both
/// send SIGHUP, and wrappers send a signal again.
const REPEATED_SIGNAL_LIMIT: Duration = Duration::from_millis(400);
/// The line on standard error after an end by force.
const FORCED_END: &str = "ended before everything was finished; confirmed changes are stored, and answers that were not stored are requested again";

/// The thread that ends the process, once it has been started.
static ENDING: Mutex<Option<ForcedEnd>> = Mutex::new(None);

struct ForcedEnd {
    /// Sends the moments at which the process is ended by force, each with the exit code of that end.
    limits: mpsc::UnboundedSender<(MonotonicTime, Exit)>,
    first_signal: watch::Receiver<Option<Exit>>,
}

/// Starts to listen for the signals that end the process. The returned receiver gets the exit code of the first signal.
/// The first call of the process decides whether SIGHUP is one of these signals.
///
/// # Errors
/// If the process can't listen for signals.
pub(super) fn listen(ends_at_hang_up: bool) -> Result<watch::Receiver<Option<Exit>>> {
    let mut ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
    let started = match ending.take() {
        Some(started) => started,
        None => ForcedEnd::start(ends_at_hang_up).wrap_err("can't listen for signals")?,
    };
    Ok(ending.insert(started).first_signal.clone())
}

/// Ends the process by force after `limit`, with this exit code, unless it has ended by then. Of several limits the
/// earliest counts, and of several codes the latest: [`Duration::MAX`] changes the code alone. Has no effect before
/// [`listen`].
pub(crate) fn end_within(limit: Duration, exit: Exit) {
    if let Some(ending) = &*ENDING.lock().unwrap_or_else(PoisonError::into_inner) {
        // Fails if the thread has ended, which happens only with the process.
        ending.limits.send((Clock::system().now().mono + limit, exit)).ok();
    }
}

/// Ends the process by force, with this exit code, unless it ends gracefully in the usual time.
pub(crate) fn limit_graceful_shutdown(exit: Exit) {
    end_within(graceful_shutdown_limit(exit), exit);
}

fn graceful_shutdown_limit(exit: Exit) -> Duration {
    if exit == Exit::HungUp { HANG_UP_LIMIT } else { GRACEFUL_SHUTDOWN_LIMIT }
}

impl ForcedEnd {
    fn start(ends_at_hang_up: bool) -> Result<Self> {
        // A runtime of its own: no other task or thread can delay it.
        let runtime = tokio_runtime::start_on_this_thread()?;
        let signals = {
            let _entered = runtime.enter();
            Signals::listen(ends_at_hang_up)?
        };
        let (limits, received_limits) = mpsc::unbounded_channel();
        let (first_sender, first_signal) = watch::channel(None);
        let wait = move || runtime.block_on(wait_for_end(signals, received_limits, &first_sender));
        thread::Builder::new().name("ending".into()).spawn(wait).map_err(|error| eyre!("no thread: {error}"))?;
        Ok(Self { limits, first_signal })
    }
}

/// Publishes the first signal, and ends the process when a limit is over.
async fn wait_for_end(
    mut signals: Signals,
    mut limits: mpsc::UnboundedReceiver<(MonotonicTime, Exit)>,
    first_signal: &watch::Sender<Option<Exit>>,
) {
    let clock = Clock::system();
    let mut end: Option<(MonotonicTime, Exit)> = None;
    let mut first_at = None;
    loop {
        let due = OptionFuture::from(end.map(|(at, exit)| clock.sleep_until(at).map(move |()| exit)));
        let (at, exit) = tokio::select! {
            biased;
            Some(exit) = due => end_now(exit),
            exit = signals.next() => {
                let now = clock.now().mono;
                let at = match first_at {
                    None => now + graceful_shutdown_limit(exit),
                    Some(first) => now.max(first + REPEATED_SIGNAL_LIMIT),
                };
                first_at.get_or_insert(now);
                let exit = *first_signal.borrow().as_ref().unwrap_or(&exit);
                first_signal.send_if_modified(|first| first.replace(exit).is_none());
                (at, exit)
            }
            Some(limit) = limits.recv() => limit,
        };
        end = Some((end.map_or(at, |(earlier, _)| earlier.min(at)), exit));
    }
}

/// Restores the terminal, and ends the process without any further step.
fn end_now(exit: Exit) -> ! {
    terminal::restore_by_force();
    print_at_once(FORCED_END);
    // Ends the process at once: the usual exit flushes standard output, which may never be read.
    signal_hook::low_level::exit(exit.code().into())
}

/// The signals that end the process, each with its exit code. A signal without a code ends the process at once, after the
/// terminal is restored.
struct Signals(Vec<(Signal, Option<Exit>, tokio::signal::unix::Signal)>);

impl Signals {
    fn listen(ends_at_hang_up: bool) -> Result<Self> {
        let graceful = [(Signal::INT, Some(Exit::Interrupted)), (Signal::TERM, Some(Exit::Terminated))];
        let hang_up = ends_at_hang_up.then_some((Signal::HUP, Some(Exit::HungUp)));
        let others = [Signal::QUIT, Signal::ABORT, Signal::USR1, Signal::USR2, Signal::ALARM].map(|kind| (kind, None));
        let all = graceful.into_iter().chain(hang_up).chain(others);
        Ok(Self(all.map(|(kind, exit)| Ok((kind, exit, signal_stream(kind)?))).collect::<Result<_>>()?))
    }

    /// Waits for the next signal. Returns its exit code.
    async fn next(&mut self) -> Exit {
        let signals = self.0.iter_mut().map(|(kind, exit, signal)| {
            let next = async move {
                signal.recv().await;
                (*kind, *exit)
            };
            next.boxed()
        });
        let ((kind, exit), ..) = select_all(signals).await;
        exit.unwrap_or_else(|| {
            terminal::restore_by_force();
            // The default action: the parent sees which signal ended the process.
            signal_hook::low_level::emulate_default_handler(kind.as_raw()).ok();
            Exit::Terminated
        })
    }
}

/// Starts to listen for a signal, whose default action then no longer happens.
pub(super) fn signal_stream(kind: Signal) -> Result<tokio::signal::unix::Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::from_raw(kind.as_raw())).wrap_err("can't listen for signals")
}
