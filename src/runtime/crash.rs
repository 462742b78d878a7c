//! Handles panics: restores the terminal, writes a report into the state folder, and prints the report's path.
//!
//! A report must never hold more than the panic's message and its backtrace. Neither contains a value that could be a
//! secret.

use std::{
    io::{self, Write},
    panic,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use color_eyre::{
    config::{HookBuilder, Theme},
    eyre::Result,
};
use tokio::sync::Notify;

use super::stderr;
use crate::{clock::Clock, process::files, tui::terminal};

/// The folder of reports. Until the settings are loaded, the system's temporary folder is used.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// The path of this process's first report. Later panics are consequences of the first one.
static REPORT: OnceLock<PathBuf> = OnceLock::new();

/// Notified when any task or thread panics.
static PANICKED: Notify = Notify::const_new();

/// Resolves when any task or thread has panicked.
pub(crate) async fn wait_for_panic() {
    PANICKED.notified().await;
}

/// Spawns a task that panics after a second if `HOPTOP_TEST_CRASH` is set, for tests of the crash handling. Works
/// only in debug builds.
#[expect(clippy::panic, reason = "the panic is the purpose of this function")]
pub(crate) fn panic_if_requested(clock: &Clock) {
    if cfg!(debug_assertions) && std::env::var_os("HOPTOP_TEST_CRASH").is_some() {
        let (clock, at) = (clock.clone(), clock.now().mono + Duration::from_secs(1));
        tokio::spawn(async move {
            clock.sleep_until(at).await;
            panic!("a fault on purpose");
        });
    }
}

/// Returns the path of the first crash report, if there is one.
pub(crate) fn report_path() -> Option<&'static Path> {
    REPORT.get().map(PathBuf::as_path)
}

/// Sets the folder of crash reports. Only the first call has an effect.
pub(crate) fn set_folder(folder: &Path) {
    FOLDER.get_or_init(|| folder.to_owned());
}

/// Installs the hooks for panics and errors.
pub fn install_hooks() -> Result<()> {
    let (panic_hook, error_hook) = HookBuilder::default().theme(Theme::new()).display_env_section(false).into_hooks();
    error_hook.install()?;
    panic::set_hook(Box::new(move |info| {
        // After a panic of another thread, the dashboard's loop ends and restores the terminal itself. If the terminal
        // were restored here, the loop would draw over the shell.
        let is_other_thread = terminal::is_held_by_another_thread();
        if !is_other_thread {
            terminal::restore();
        }
        let report = panic_hook.panic_report(info).to_string();
        let message = match write_report(&report) {
            Ok(path) => {
                let path = REPORT.get_or_init(|| path).display();
                format!("the program crashed, which is a bug in hoptop; the crash report is in {path}")
            }
            Err(error) => format!("the program crashed, and the report can't be written ({error}):\n{report}"),
        };
        PANICKED.notify_one();
        if !is_other_thread {
            // The main thread may hold the lock of standard error while it waits for this thread.
            stderr::print_at_once(&message);
        }
        tracing::error!("{message}");
    }));
    Ok(())
}

/// Writes a report into a new private file and returns its path.
fn write_report(report: &str) -> io::Result<PathBuf> {
    let folder = FOLDER.get().cloned().unwrap_or_else(std::env::temp_dir);
    files::create_private_folder(&folder)?;
    let stamp = Clock::system().now().wall.format("%Y%m%dT%H%M%S%3f");
    let path = folder.join(format!("crash-{stamp}-{}.txt", std::process::id()));
    files::private_options().write(true).create_new(true).open(&path)?.write_all(report.as_bytes())?;
    Ok(path)
}
