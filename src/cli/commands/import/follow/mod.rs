//! Tracks lines as they arrive, from standard input until it ends or from a file as it grows: for `hoptop import
//! --follow` and `hoptop watch -`.
//!
//! Lines that arrive together are tracked in one commit, as soon as the store can be written. A bad line is named and
//! skipped. A bad line must never affect the next line, and an incomplete line must never be read as a line.

mod input;

use std::{io::Write, pin::Pin, time::Duration};

use color_eyre::eyre::{Result, WrapErr};
use tokio::{
    sync::mpsc,
    task::{JoinError, spawn_blocking},
};

pub(crate) use self::input::FollowedInput;
use self::input::{INTERVAL, InputPiece, RestartReason};
use super::{FormatArg, ImportArgs, totals::ImportTotals};
use crate::{
    cli::{commands::import, context::Context},
    clock::Clock,
    domain::{
        operation::Operation,
        transaction::{NewTransaction, TransactionParams},
    },
    intake::{self, InputPosition, LineError, LineReader, LineResult},
    runtime::{exit::Exit, signals, tokio_runtime},
    store::{Store, StoreError},
};

/// How long a signal is waited for at the end of the input: ^C also ends the program that writes the input, and the end
/// of the input may be noticed before the signal.
const SIGNAL_WAIT: Duration = Duration::from_millis(100);

/// Tracks transactions until the input ends or a signal comes, and prints the totals.
pub(crate) fn follow(args: &ImportArgs, cx: &mut Context) -> Result<Exit> {
    if args.format == FormatArg::Json {
        import::refuse(args, LineReader::ARRAY, cx)?;
        return Ok(Exit::Usage);
    }
    let clock = Clock::system();
    tokio_runtime::start()?.block_on(async {
        let signal = signals::listen()?;
        let _backups = cx.store.schedule_backups(clock.clone())?;
        match FollowedInput::open(&args.file, &clock) {
            Ok(input) => run(args, input, signal, cx, &clock).await,
            Err(reason) => {
                import::refuse(args, &import::unreadable(&args.file_name(), &reason), cx)?;
                Ok(Exit::Error)
            }
        }
    })
}

/// Tracks an input until its end, and prints the totals.
async fn run(
    args: &ImportArgs,
    input: FollowedInput,
    signal: impl Future<Output = Exit>,
    cx: &mut Context<'_>,
    clock: &Clock,
) -> Result<Exit> {
    let mut target = ImportTarget { store: &cx.store, profile: &cx.profile, clock, err: cx.err, listener: None };
    let (totals, exit) = track_until_end(args, input, signal, &mut target).await?;
    match args.json {
        true => totals.print(cx.out)?,
        false => writeln!(cx.out, "{totals}")?,
    }
    Ok(exit)
}

/// The destination of the transactions of an input.
pub(crate) struct ImportTarget<'a> {
    /// The store that tracks the transactions.
    pub store: &'a Store,
    /// The profile that tracks the transactions.
    pub profile: &'a str,
    /// The source of the time of commits and retries.
    pub clock: &'a Clock,
    /// The stream for errors and warnings.
    pub err: &'a mut dyn Write,
    /// The receiver of reports about the input, if there is one.
    pub listener: Option<mpsc::Sender<InputReport>>,
}

/// A report about a followed input.
#[derive(Debug)]
pub(crate) enum InputReport {
    /// These transactions are about to be tracked: changes from now on can concern them.
    Arrived(Vec<TransactionParams>),
    Tracked(Vec<TransactionParams>),
    /// The input has ended: the totals and the exit code.
    End(ImportTotals, Exit),
}

impl ImportTarget<'_> {
    /// Sends a report to the listener, if it still exists.
    async fn report(&self, report: impl FnOnce() -> InputReport) {
        if let Some(listener) = &self.listener {
            listener.send(report()).await.unwrap_or_default();
        }
    }
}

fn params_of(batch: &[NewTransaction]) -> Vec<TransactionParams> {
    batch.iter().map(|new| new.params.clone()).collect()
}

/// Tracks transactions until the input ends or a signal comes. Returns the totals and the exit code.
pub(crate) async fn track_until_end(
    args: &ImportArgs,
    mut input: FollowedInput,
    signal: impl Future<Output = Exit>,
    target: &mut ImportTarget<'_>,
) -> Result<(ImportTotals, Exit)> {
    let name = args.file_name();
    let mut stream = ImportStream::new(args);
    tokio::pin!(signal);
    let ended = loop {
        let piece = tokio::select! {
            piece = input.next() => piece,
            exit = &mut signal => break Some(exit),
        };
        stream.reader.set_now(target.clock.now().wall);
        match piece {
            Ok(InputPiece::Bytes(bytes)) => stream.split(&bytes),
            Ok(InputPiece::End) => tokio::select! {
                exit = &mut signal => break Some(exit),
                () = target.clock.sleep_until(target.clock.now().mono + SIGNAL_WAIT) => stream.end(),
            },
            Ok(InputPiece::Restart(reason)) => {
                stream.end_file(reason);
                writeln!(target.err, "{name} {reason}")?;
            }
            Err(fault) => {
                stream.stop(import::unreadable(&name, &import::error_reason(&fault)), Exit::Error, target)?;
                break stream.exit;
            }
        }
        stream.collect_batch(target)?;
        if let Some(exit) = stream.track_batch(target, signal.as_mut()).await? {
            break Some(exit);
        }
        if stream.exit.is_some() {
            break stream.exit;
        }
        stream.restart(args);
    };
    if stream.has_incomplete_line() {
        stream.report_loss("the last line has no line end yet and was not tracked".to_owned(), target)?;
    }
    stream.totals.imported = stream.totals.errors.is_empty();
    Ok((stream.totals, ended.unwrap_or(Exit::Success)))
}

/// The state of a followed input.
struct ImportStream {
    reader: LineReader,
    /// The beginning of a line whose end hasn't arrived.
    partial: Vec<u8>,
    /// Whether the current line is too long and is skipped up to its end.
    is_skipping: bool,
    /// Whether the next bytes are the first ones of the input.
    is_beginning: bool,
    /// The results of complete lines that are not yet processed.
    results: Vec<LineResult>,
    /// The transactions that are not yet tracked.
    batch: Vec<NewTransaction>,
    /// The line number of the first transaction of the batch.
    first_line: Option<usize>,
    /// Whether the next bytes are from the start of a file.
    is_file_ended: bool,
    totals: ImportTotals,
    /// The exit code, once nothing more is read.
    exit: Option<Exit>,
}

impl ImportStream {
    fn new(args: &ImportArgs) -> Self {
        Self {
            reader: LineReader::new(args.read_options()),
            partial: Vec::new(),
            is_skipping: false,
            is_beginning: true,
            results: Vec::new(),
            batch: Vec::new(),
            first_line: None,
            is_file_ended: false,
            totals: ImportTotals::default(),
            exit: None,
        }
    }

    /// Splits bytes into lines and reads each complete line.
    fn split(&mut self, bytes: &[u8]) {
        if std::mem::take(&mut self.is_beginning) && intake::is_gzip(bytes) {
            let error = LineError { position: InputPosition::File, message: LineReader::GZIP.into() };
            return self.results.push(LineResult::Fatal(error));
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let limit = LineReader::LINE_LIMIT.saturating_sub(self.partial.len());
            self.is_skipping |= part.len() > limit;
            match self.is_skipping {
                true => self.partial.clear(),
                false => self.partial.extend(part),
            }
            if part.ends_with(b"\n") {
                self.read_line();
            }
        }
    }

    /// Reads the complete line in `partial`.
    fn read_line(&mut self) {
        match std::mem::take(&mut self.is_skipping) {
            true => self.results.push(self.reader.skip_long_line()),
            false => {
                let results = self.reader.read_line(&self.partial);
                if self.first_line.is_none() && results.iter().any(LineResult::is_transaction) {
                    self.first_line = Some(self.reader.line());
                }
                self.results.extend(results);
            }
        }
        self.partial.clear();
    }

    /// Ends the input. An incomplete last line counts as complete.
    fn end(&mut self) {
        self.end_line();
        self.exit = Some(Exit::Success);
    }

    /// Reads the incomplete line as if it were complete.
    fn end_line(&mut self) {
        if self.has_incomplete_line() {
            self.read_line();
        }
    }

    /// Whether the beginning of a line has arrived, but not its end.
    fn has_incomplete_line(&self) -> bool {
        self.is_skipping || !self.partial.is_empty()
    }

    /// Ends the current file before its name is read from the start.
    fn end_file(&mut self, reason: RestartReason) {
        self.is_file_ended = true;
        match reason {
            RestartReason::Replaced => self.end_line(),
            // The rest of a truncated line is unknown.
            RestartReason::Truncated | RestartReason::Rewritten if !self.has_incomplete_line() => {}
            RestartReason::Truncated | RestartReason::Rewritten => self.results.push(self.reader.end_truncated()),
        }
    }

    /// Resets the state, except for the totals and the columns, if the next bytes are from the start of a file.
    fn restart(&mut self, args: &ImportArgs) {
        if self.is_file_ended {
            let Self { reader, totals, .. } = std::mem::replace(self, Self::new(args));
            (self.reader, self.totals) = (reader.next_file(args.read_options()), totals);
        }
    }

    /// Adds the transactions of complete lines to the batch, and prints errors and warnings.
    fn collect_batch(&mut self, target: &mut ImportTarget<'_>) -> Result<()> {
        for result in std::mem::take(&mut self.results) {
            match result {
                LineResult::Transaction(new) => self.batch.push(*new),
                LineResult::Profile(position, profile) if profile != target.profile => {
                    let own = target.profile;
                    self.warn(
                        format!("{position} names the profile {profile}; such rows are tracked in {own}"),
                        target,
                    )?;
                }
                LineResult::Profile(..) => {}
                LineResult::Warning(warning) => self.warn(warning, target)?,
                LineResult::Bad(error) => {
                    self.totals.bad_lines += 1;
                    writeln!(target.err, "{error}")?;
                }
                LineResult::Fatal(error) => {
                    let exit = if error.position == InputPosition::File { Exit::Usage } else { Exit::Error };
                    self.stop(error.to_string(), exit, target)?;
                    break;
                }
            }
        }
        if self.exit == Some(Exit::Success) && self.totals.bad_lines > 0 {
            self.exit = Some(Exit::Error);
        }
        Ok(())
    }

    /// Prints an error, after which nothing more is read.
    fn stop(&mut self, error: String, exit: Exit, target: &mut ImportTarget<'_>) -> std::io::Result<()> {
        writeln!(target.err, "{error}")?;
        (self.totals.errors, self.exit) = (vec![error], Some(exit));
        Ok(())
    }

    /// Prints which lines were lost at the end, and adds this to the errors of the totals.
    fn report_loss(&mut self, loss: String, target: &mut ImportTarget<'_>) -> std::io::Result<()> {
        writeln!(target.err, "{loss}")?;
        self.totals.errors.push(loss);
        Ok(())
    }

    /// Prints a warning, and keeps the first ones for the totals.
    fn warn(&mut self, warning: String, target: &mut ImportTarget<'_>) -> std::io::Result<()> {
        /// An input without an end may have any number of warnings.
        const MAX_KEPT: usize = 100;
        writeln!(target.err, "warning: {warning}")?;
        if self.totals.warnings.len() < MAX_KEPT {
            self.totals.warnings.push(warning);
        }
        Ok(())
    }

    /// Tracks the batch in one commit. If a signal comes first, gives the batch up, prints its first line and returns
    /// the exit code.
    async fn track_batch<S: Future<Output = Exit>>(
        &mut self,
        target: &mut ImportTarget<'_>,
        signal: Pin<&mut S>,
    ) -> Result<Option<Exit>> {
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(None);
        }
        let first_line = self.first_line.take().unwrap_or_default();
        target.report(|| InputReport::Arrived(params_of(&batch))).await;
        let ImportTarget { store, profile, clock, .. } = *target;
        let attempt = || {
            let (store, profile, batch, at) = (store.clone(), profile.to_owned(), batch.clone(), clock.now().wall);
            // On the blocking pool, so that a signal is handled while another process locks the store.
            spawn_blocking(move || store.apply(Operation::Track { profile, transactions: batch }, at).wait()?.tracked())
        };
        let context = format!("line {first_line} and the lines after it were not saved");
        let report = tokio::select! {
            // Polled first, so that a batch that arrived before the signal is tracked if possible.
            biased;
            report = retry(attempt, clock, target.err) => report?.wrap_err(context)?,
            exit = signal => {
                // A write that has begun may still succeed.
                self.report_loss(format!("line {first_line} and the lines after it may not have been saved"), target)?;
                return Ok(Some(exit));
            }
        };
        self.totals.tracked += report.added.count;
        self.totals.updated += report.updated.count;
        self.totals.unchanged += report.unchanged.count;
        self.totals.completed += report.completed.count;
        if let Some(notice) = report.other_profiles_notice() {
            self.warn(format!("{notice}; each profile polls them"), target)?;
        }
        target.report(|| InputReport::Tracked(params_of(&batch))).await;
        Ok(None)
    }
}

/// Repeats an attempt until it succeeds or fails with a permanent error. Prints the first error, and a line when an
/// attempt succeeds again.
async fn retry<T, A: Future<Output = Result<Result<T, StoreError>, JoinError>>>(
    mut attempt: impl FnMut() -> A,
    clock: &Clock,
    err: &mut dyn Write,
) -> Result<Result<T, StoreError>> {
    let mut is_waiting = false;
    loop {
        match attempt().await? {
            Err(fault) if !fault.is_permanent() => {
                if !is_waiting {
                    writeln!(err, "{fault}; hoptop tries again until it can be saved")?;
                    is_waiting = true;
                }
                clock.sleep_until(clock.now().mono + INTERVAL).await;
            }
            done => {
                if is_waiting && done.is_ok() {
                    writeln!(err, "the store can be written again")?;
                }
                return Ok(done);
            }
        }
    }
}

#[cfg(test)]
mod tests;
