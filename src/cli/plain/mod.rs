//! The plain dashboard for screen readers: prints a summary, then a line for each change, and runs typed commands.
//!
//! Each line begins with the time and uses words, no symbols. The module must never move the cursor or overwrite a
//! line.

mod changes;
mod typed_commands;

use std::{
    io::{self, BufRead, Read, Write},
    time::Duration,
};

use color_eyre::eyre::{Result, eyre};
use futures_util::future::OptionFuture;
use tokio::{sync::mpsc, task::spawn_blocking};

pub(super) use self::typed_commands::PlainInputs;
use self::{changes::ChangeBatch, typed_commands::TypedCommand};
use crate::{
    domain::text,
    runtime::{
        background_poller::{PollerOptions, RunningPollers, ServiceClient},
        exit::Exit,
        forced_end, hang_up, signals,
        stderr::print_line,
    },
    store::{FeedReader, StoreError, StoreFault, WakeKind},
};

/// The time for which changes are collected before they are printed together, since a screen reader needs time for a
/// sentence.
const COLLECT_TIME: Duration = Duration::from_secs(2);

/// Runs the plain dashboard and the pollers until the person quits or a signal comes.
pub(super) async fn show(parts: PlainInputs, clients: Vec<(ServiceClient, PollerOptions<'_>)>) -> Result<Exit> {
    let signal = signals::listen()?;
    let mut poller = match clients.is_empty() {
        false => Some(RunningPollers::start(clients, parts.store.clone(), parts.clock.clone())?),
        true => None,
    };
    let exit = tokio::select! {
        // A closed terminal also ends the input.
        ended = run(parts) => match ended {
            _ if hang_up::is_any_stream_hung_up() => Ok(Exit::HungUp),
            ended => ended.map(|()| Exit::Success),
        },
        exit = signal => Ok(exit),
        Some(fault) = OptionFuture::from(poller.as_mut().map(RunningPollers::wait_for_failure)) => return Err(fault),
    };
    let end = *exit.as_ref().unwrap_or(&Exit::Error);
    forced_end::limit_graceful_shutdown(end);
    if let Some(poller) = poller {
        poller.stop_before(end).await?;
    }
    exit
}

/// Prints changes and runs typed commands until the person quits.
async fn run(parts: PlainInputs) -> Result<()> {
    let mut commits = parts.store.subscribe(WakeKind::AnyCommit)?;
    let mut printer = ChangePrinter::new(&parts)?;
    let mut lines = read_typed_lines();
    let printed = printer.print_changes(&parts).await;
    // The time of the next print, or of the next try after the store couldn't be read.
    let mut due = printer.print_store_error(printed, &parts)?.is_none().then(|| parts.clock.now().mono + COLLECT_TIME);
    print_lines(&[typed_commands::HINT.to_owned()])?;
    loop {
        tokio::select! {
            changed = commits.changed(), if due.is_none() => {
                changed.map_err(|_| eyre!("the store's watcher has ended"))?;
                due = Some(parts.clock.now().mono + COLLECT_TIME);
            }
            Some(()) = OptionFuture::from(due.map(|due| parts.clock.sleep_until(due))) => {
                let printed = printer.print_changes(&parts).await;
                // After a store error the changes are read again at the next time.
                due = printer.print_store_error(printed, &parts)?.is_none().then(|| parts.clock.now().mono + COLLECT_TIME);
            }
            line = lines.recv() => match TypedCommand::parse(line.as_deref()) {
                None => {}
                Some(TypedCommand::Quit) => return Ok(()),
                Some(TypedCommand::Summary) => {
                    // A typed command prints an error even if the error was printed before.
                    printer.last_error = None;
                    let summary = printer.summary(&parts).await;
                    print_lines(&printer.print_store_error(summary, &parts)?.unwrap_or_default())?;
                }
                Some(command) => {
                    let (inputs, now) = (parts.clone(), parts.clock.now());
                    let done = spawn_blocking(move || inputs.run(&command, now)).await?;
                    printer.last_error = None;
                    printer.print_store_error(done, &parts)?;
                }
            },
        }
    }
}

/// Starts a thread that reads standard input, and returns the typed lines.
fn read_typed_lines() -> mpsc::Receiver<String> {
    // The limits of waiting lines and of bytes per line are higher than typing needs.
    let (sender, lines) = mpsc::channel(16);
    const MAX_LINE_BYTES: u64 = 4_096;
    // The thread still blocks when the program ends: nothing can interrupt its wait.
    let read = move || {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let read = input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
            if line.len() as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
                print_line("the line is too long for a command");
                input.skip_until(b'\n').ok();
                continue;
            }
            // Bytes that aren't UTF-8 make a wrong command, and don't end the input.
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            match read {
                Ok(1..) if sender.blocking_send(line).is_ok() => {}
                _ => return,
            }
        }
    };
    let started = std::thread::Builder::new().name("commands".into()).spawn(read);
    if let Err(error) = started {
        print_line(&format!("typed commands can't be read: {error}"));
    }
    lines
}

/// Prints lines on standard output.
fn print_lines(lines: &[String]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    out.flush()
}

/// Prints a line that begins with the present time.
fn print_with_time(line: &str, parts: &PlainInputs) -> io::Result<()> {
    print_lines(&[changes::with_time(parts.clock.now().wall, &parts.setting, line)])
}

/// Prints changes, each once.
struct ChangePrinter {
    feed: FeedReader,
    /// The last printed fault of the store, while it lasts.
    fault: Option<StoreFault>,
    /// The last printed error of the store.
    last_error: Option<String>,
}

impl ChangePrinter {
    fn new(parts: &PlainInputs) -> Result<Self> {
        Ok(Self { feed: FeedReader::new(parts.store.reader()?), fault: None, last_error: None })
    }

    /// Prints the changes since the last call, and a new fault of the store.
    async fn print_changes(&mut self, parts: &PlainInputs) -> Result<()> {
        loop {
            let (feed, setting, now) = (self.feed.clone(), parts.setting.clone(), parts.clock.now().wall);
            let batch = spawn_blocking(move || ChangeBatch::read(&feed, &setting, now)).await??;
            print_lines(&batch.lines(&parts.setting, parts.clock.now().wall))?;
            if !batch.has_more {
                break;
            }
        }
        let fault = parts.store.fault();
        if let Some(fault) = &fault
            && self.fault.as_ref() != Some(fault)
        {
            print_with_time(&text::clean(&fault.to_string()), parts)?;
        }
        self.fault = fault;
        Ok(())
    }

    /// Returns the result, or `None` after an error of the store. Prints the error unless it equals the last printed
    /// error.
    fn print_store_error<T>(&mut self, done: Result<T>, parts: &PlainInputs) -> Result<Option<T>> {
        match done {
            Ok(done) => {
                self.last_error = None;
                Ok(Some(done))
            }
            Err(report) if report.is::<StoreError>() => {
                let error = text::clean(&report.to_string());
                if self.last_error.as_ref() != Some(&error) {
                    print_with_time(&error, parts)?;
                }
                self.last_error = Some(error);
                Ok(None)
            }
            Err(report) => Err(report),
        }
    }

    async fn summary(&self, parts: &PlainInputs) -> Result<Vec<String>> {
        let (feed, setting, now) = (self.feed.clone(), parts.setting.clone(), parts.clock.now().wall);
        Ok(spawn_blocking(move || feed.read(|reader| changes::summary(reader, &setting, now))).await??)
    }
}
