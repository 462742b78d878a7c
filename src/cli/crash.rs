//! Panics: the terminal comes back, a report goes into the state folder, the person is told where.
//!
//! A report never holds more than the panic's message and its backtrace; no value that could be a secret is printed by
//! either.

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

use crate::{clock::Clock, process::files, tui::terminal};

/// Where reports go; the system's folder for temporary files until the settings are known.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// The first report of this process: those that follow are its consequences.
static REPORT: OnceLock<PathBuf> = OnceLock::new();

/// Wakes whoever has to end because a task or a thread beside it panicked.
static BESIDE: Notify = Notify::const_new();

/// Resolves when a task or a thread panicked, whoever waits for it.
pub(super) async fn beside() {
    BESIDE.notified().await;
}

/// For a test of all that follows: a task beside the others panics a second from now, if the environment asks for it. Only
/// in builds for development.
#[expect(clippy::panic, reason = "this is what is rehearsed")]
pub(super) fn rehearse(clock: &Clock) {
    if cfg!(debug_assertions) && std::env::var_os("HOPTOP_REHEARSE_CRASH").is_some() {
        let (clock, at) = (clock.clone(), clock.now().mono + Duration::from_secs(1));
        tokio::spawn(async move {
            clock.sleep_until(at).await;
            panic!("a fault on purpose");
        });
    }
}

/// Where the report of a crash is, if there was one.
pub(super) fn report() -> Option<&'static Path> {
    REPORT.get().map(PathBuf::as_path)
}

/// Crash reports go into this folder from now on.
pub(super) fn keep_in(folder: &Path) {
    FOLDER.get_or_init(|| folder.to_owned());
}

/// Installs the hooks for panics and errors.
pub fn install_hooks() -> Result<()> {
    let (panic_hook, error_hook) = HookBuilder::default().theme(Theme::new()).display_env_section(false).into_hooks();
    error_hook.install()?;
    panic::set_hook(Box::new(move |info| {
        // A panic of a task: the loop hears of it, ends, and gives the terminal back by itself, while giving it back here
        // would let the loop draw over the shell.
        let is_a_task = terminal::is_another_s();
        if !is_a_task {
            terminal::give_back();
        }
        let report = panic_hook.panic_report(info).to_string();
        let told = match write(&report) {
            Ok(path) => {
                let path = REPORT.get_or_init(|| path).display();
                format!("hoptop: it crashed, which is a fault of hoptop; the report is in {path}")
            }
            Err(error) => format!("hoptop: it crashed, and the report can't be written ({error}):\n{report}"),
        };
        if !is_a_task {
            writeln!(io::stderr(), "{told}").ok();
        }
        tracing::error!("{told}");
        BESIDE.notify_one();
    }));
    Ok(())
}

fn write(report: &str) -> io::Result<PathBuf> {
    let folder = FOLDER.get().cloned().unwrap_or_else(std::env::temp_dir);
    files::create_private_folder(&folder)?;
    let stamp = Clock::system().now().wall.format("%Y%m%dT%H%M%S%3f");
    let path = folder.join(format!("crash-{stamp}-{}.txt", std::process::id()));
    files::private_options().write(true).create_new(true).open(&path)?.write_all(report.as_bytes())?;
    Ok(path)
}
