//! Lines as they come, from standard input until it ends or from a file as it grows: for `hoptop import --follow`, and for
//! `hoptop watch -`.
//!
//! What came together is kept together, at once or as soon as the store can keep it. A bad line is named and passed over;
//! it must never take the next one with it, and half a line must never be taken for one.

mod feed;

use std::{fmt, io::Write, pin::Pin};

use color_eyre::eyre::{Result, WrapErr};
use tokio::{
    sync::mpsc,
    task::{JoinError, spawn_blocking},
};

pub use self::feed::Feed;
use self::feed::{INTERVAL, Piece, Why};
use super::{
    context::Context,
    exit::Exit,
    import::{self, FormatArg, ImportArgs},
    signals,
};
use crate::{
    clock::Clock,
    domain::{
        operation::Operation,
        transaction::{NewTransaction, TransactionParams},
    },
    intake::{LineReader, Options, Place, Taken},
    store::{Store, StoreError},
};

/// Tracks what comes until the input ends or a signal comes, and says what that changed.
pub fn follow(args: &ImportArgs, cx: &mut Context) -> Result<Exit> {
    if args.format == FormatArg::Json {
        writeln!(cx.err, "{}", LineReader::ARRAY)?;
        return Ok(Exit::Usage);
    }
    let clock = Clock::system();
    super::runtime()?.block_on(async {
        let signal = signals::listen()?;
        let _keeper = cx.store.schedule_backups(clock.clone())?;
        match Feed::open(&args.file, &clock) {
            Ok(feed) => run(args, feed, signal, (cx, &clock)).await,
            Err(reason) => import::unreadable(&import::name(&args.file), &reason, cx.err),
        }
    })
}

async fn run(
    args: &ImportArgs,
    feed: Feed,
    signal: impl Future<Output = Exit>,
    (cx, clock): (&mut Context<'_>, &Clock),
) -> Result<Exit> {
    let mut sink = Sink { store: &cx.store, profile: &cx.profile, clock, err: cx.err, listener: None };
    let (totals, exit) = pour(args, feed, signal, &mut sink).await?;
    if let Some(totals) = totals {
        writeln!(cx.out, "{totals}")?;
    }
    Ok(exit)
}

/// Where what comes goes.
pub struct Sink<'a> {
    /// The store that tracks it.
    pub store: &'a Store,
    /// In this profile.
    pub profile: &'a str,
    /// The time of its commits, and of what is tried again.
    pub clock: &'a Clock,
    /// For what is bad of it.
    pub err: &'a mut dyn Write,
    /// Where the transactions that came are reported, if anything listens.
    pub listener: Option<mpsc::Sender<Piped>>,
}

/// A report about an input that is followed.
#[derive(Debug)]
pub enum Piped {
    /// These are to be tracked now: what happens to them from here on is news of theirs.
    Coming(Vec<TransactionParams>),
    /// They are tracked.
    Kept(Vec<TransactionParams>),
    /// Nothing more comes: what it came to, and how it ended by itself.
    End(Option<Totals>, Exit),
}

impl Sink<'_> {
    /// Who wanted to know may be gone.
    async fn report(&self, piped: impl FnOnce() -> Piped) {
        if let Some(listener) = &self.listener {
            listener.send(piped()).await.unwrap_or_default();
        }
    }
}

fn params_of(batch: &[NewTransaction]) -> Vec<TransactionParams> {
    batch.iter().map(|new| new.params.clone()).collect()
}

/// Tracks what comes until the input ends or a signal comes: what that came to, and how it ended. Of an input that can't be read
/// there is nothing to tell.
pub async fn pour(
    args: &ImportArgs,
    mut feed: Feed,
    signal: impl Future<Output = Exit>,
    sink: &mut Sink<'_>,
) -> Result<(Option<Totals>, Exit)> {
    let name = import::name(&args.file);
    let mut following = Following::new(args);
    tokio::pin!(signal);
    let ended = loop {
        let piece = tokio::select! {
            piece = feed.next() => piece,
            exit = &mut signal => break Some(exit),
        };
        match piece {
            Ok(Piece::Bytes(bytes)) => following.split(&bytes),
            Ok(Piece::End) => following.end(),
            Ok(Piece::Anew(why)) => {
                following.leave(why);
                writeln!(sink.err, "{name} {why}; it is read from its start")?;
            }
            Err(fault) => return Ok((None, import::unreadable(&name, &import::reason(&fault), sink.err)?)),
        }
        following.report(sink)?;
        if let Some(exit) = following.keep(sink, signal.as_mut()).await? {
            break Some(exit);
        }
        if following.ended.is_some() {
            break following.ended;
        }
        following.turn(args);
    };
    if !following.partial.is_empty() {
        writeln!(sink.err, "the last line has no end yet and was not taken")?;
    }
    Ok((Some(following.totals), ended.unwrap_or(Exit::Fine)))
}

/// What following came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    tracked: usize,
    updated: usize,
    known: usize,
    bad: usize,
}

impl Totals {
    /// Whether anything was passed over.
    pub fn is_bad(self) -> bool {
        self.bad > 0
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tracked, updated, known, bad } = self;
        let lines = if *bad == 1 { "line" } else { "lines" };
        write!(out, "{tracked} tracked, {updated} updated, {known} known already; {bad} bad {lines}")
    }
}

/// An input that is followed.
struct Following {
    reader: LineReader,
    /// The beginning of a line whose end hasn't come.
    partial: Vec<u8>,
    /// The line that comes is too long, and goes unread until its end.
    skipping: bool,
    /// What came and wasn't told of yet.
    taken: Vec<Taken>,
    /// What wasn't kept yet, and the line on which the first of it stands.
    batch: Vec<NewTransaction>,
    first_line: Option<usize>,
    /// What comes next is another file.
    leaving: bool,
    totals: Totals,
    ended: Option<Exit>,
}

impl Following {
    fn new(args: &ImportArgs) -> Self {
        let options = Options { format: args.format.into(), any_chain: args.any_chain };
        Self {
            reader: LineReader::new(options),
            partial: Vec::new(),
            skipping: false,
            taken: Vec::new(),
            batch: Vec::new(),
            first_line: None,
            leaving: false,
            totals: Totals::default(),
            ended: None,
        }
    }

    /// Takes what came apart into lines.
    fn split(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LineReader::LINE_LIMIT.saturating_sub(self.partial.len());
            self.skipping |= part.len() > room;
            match self.skipping {
                true => self.partial.clear(),
                false => self.partial.extend(part),
            }
            if part.ends_with(b"\n") {
                self.line();
            }
        }
    }

    fn line(&mut self) {
        match std::mem::take(&mut self.skipping) {
            true => self.taken.push(self.reader.skip()),
            false => {
                let taken = self.reader.take(&self.partial);
                if self.first_line.is_none() && taken.iter().any(Taken::is_transaction) {
                    self.first_line = Some(self.reader.line());
                }
                self.taken.extend(taken);
            }
        }
        self.partial.clear();
    }

    /// The input has ended, and with it the last line.
    fn end(&mut self) {
        self.end_line();
        self.ended = Some(Exit::Fine);
    }

    fn end_line(&mut self) {
        if self.skipping || !self.partial.is_empty() {
            self.line();
        }
    }

    /// What comes next is another file, or the same one from its start.
    fn leave(&mut self, why: Why) {
        self.leaving = true;
        match why {
            Why::Replaced => self.end_line(),
            // What was cut off from it can't be known.
            Why::Truncated if self.partial.is_empty() => {}
            Why::Truncated => self.taken.push(self.reader.cut()),
        }
    }

    /// Begins anew if what comes is another file.
    fn turn(&mut self, args: &ImportArgs) {
        if self.leaving {
            let totals = std::mem::take(&mut self.totals);
            *self = Self { totals, ..Self::new(args) };
        }
    }

    /// Names what is bad of what came, and puts the rest together.
    fn report(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        for taken in std::mem::take(&mut self.taken) {
            match taken {
                Taken::Transaction(new) => self.batch.push(*new),
                Taken::Profile(place, profile) if profile != sink.profile => {
                    let own = sink.profile;
                    writeln!(sink.err, "warning: {place} is of the profile {profile}; such rows are tracked in {own}")?;
                }
                Taken::Profile(..) => {}
                Taken::Warning(warning) => writeln!(sink.err, "warning: {warning}")?,
                Taken::Bad(error) => {
                    self.totals.bad += 1;
                    writeln!(sink.err, "{error}")?;
                }
                Taken::Hopeless(error) => {
                    writeln!(sink.err, "{error}")?;
                    self.ended = Some(if error.place == Place::File { Exit::Usage } else { Exit::Error });
                    break;
                }
            }
        }
        if self.ended == Some(Exit::Fine) && self.totals.bad > 0 {
            self.ended = Some(Exit::Error);
        }
        Ok(())
    }

    /// Tracks what came, in one commit. With a signal it gives up what can't be kept, and says where that begins.
    async fn keep<S: Future<Output = Exit>>(
        &mut self,
        sink: &mut Sink<'_>,
        signal: Pin<&mut S>,
    ) -> Result<Option<Exit>> {
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(None);
        }
        let first_line = self.first_line.take().unwrap_or_default();
        sink.report(|| Piped::Coming(params_of(&batch))).await;
        let Sink { store, profile, clock, .. } = *sink;
        let attempt = || {
            let (store, profile, batch, at) = (store.clone(), profile.to_owned(), batch.clone(), clock.now().wall);
            // On the pool: another process may hold the store, and a signal is to be heard meanwhile.
            spawn_blocking(move || store.apply(Operation::Track { profile, transactions: batch }, at).wait()?.tracked())
        };
        let lost = format!("line {first_line} and what came after it were not kept");
        let report = tokio::select! {
            // What came before the signal is kept if that can be.
            biased;
            report = insist(attempt, clock, sink.err) => report?.wrap_err(lost)?,
            exit = signal => {
                // What has begun may still be.
                writeln!(sink.err, "line {first_line} and what came after it may not have been kept")?;
                return Ok(Some(exit));
            }
        };
        self.totals.tracked += report.added.count;
        self.totals.updated += report.updated.count;
        self.totals.known += report.unchanged.count;
        sink.report(|| Piped::Kept(params_of(&batch))).await;
        Ok(None)
    }
}

/// Tries again and again as long as the fault may pass; says so once, and once more when it has passed.
async fn insist<T, A: Future<Output = Result<Result<T, StoreError>, JoinError>>>(
    mut attempt: impl FnMut() -> A,
    clock: &Clock,
    err: &mut dyn Write,
) -> Result<Result<T, StoreError>> {
    let mut waits = false;
    loop {
        match attempt().await? {
            Err(fault) if !fault.is_lasting() => {
                if !waits {
                    writeln!(err, "{fault}; it is tried again until it can be kept")?;
                    waits = true;
                }
                clock.sleep_until(clock.now().mono + INTERVAL).await;
            }
            done => {
                if waits && done.is_ok() {
                    writeln!(err, "the store keeps things again")?;
                }
                return Ok(done);
            }
        }
    }
}

#[cfg(test)]
mod tests;
