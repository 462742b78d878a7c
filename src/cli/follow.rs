//! `hoptop import --follow`: lines as they come, from standard input until it ends or from a file as it grows.
//!
//! What came together is kept together, at once. A bad line is named and passed over; it must never take the next one with
//! it, and half a line must never be taken for one.

mod feed;

use color_eyre::eyre::Result;

use self::feed::{Feed, Piece};
use super::{
    context::Context,
    exit::Exit,
    import::{self, FormatArg, ImportArgs},
    signals,
};
use crate::{
    clock::Clock,
    domain::transaction::NewTransaction,
    intake::{LineReader, Options, Place, Taken},
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
        match Feed::open(&args.file, &clock) {
            Ok(feed) => run(args, feed, signal, (cx, &clock)).await,
            Err(reason) => import::unreadable(&import::name(&args.file), &reason, cx),
        }
    })
}

async fn run(
    args: &ImportArgs,
    mut feed: Feed,
    signal: impl Future<Output = Exit>,
    (cx, clock): (&mut Context<'_>, &Clock),
) -> Result<Exit> {
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
                writeln!(cx.err, "{name} {why}; it is read from its start")?;
                following.restart(args);
            }
            Err(fault) => return import::unreadable(&name, &import::reason(&fault), cx),
        }
        following.keep(cx, clock)?;
        if following.ended.is_some() {
            break following.ended;
        }
    };
    if !following.partial.is_empty() {
        writeln!(cx.err, "the last line has no end yet and was not taken")?;
    }
    let Totals { tracked, updated, known, bad } = following.totals;
    let lines = if bad == 1 { "line" } else { "lines" };
    writeln!(cx.out, "{tracked} tracked, {updated} updated, {known} known already; {bad} bad {lines}")?;
    Ok(ended.unwrap_or(Exit::Fine))
}

/// What following came to.
#[derive(Default)]
struct Totals {
    tracked: usize,
    updated: usize,
    known: usize,
    bad: usize,
}

/// An input that is followed.
struct Following {
    reader: LineReader,
    /// The beginning of a line whose end hasn't come.
    partial: Vec<u8>,
    /// The line that comes is too long, and goes unread until its end.
    skipping: bool,
    /// What came and wasn't kept yet.
    taken: Vec<Taken>,
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
            false => self.taken.extend(self.reader.take(&self.partial)),
        }
        self.partial.clear();
    }

    /// The input has ended, and with it the last line.
    fn end(&mut self) {
        if self.skipping || !self.partial.is_empty() {
            self.line();
        }
        self.ended = Some(Exit::Fine);
    }

    /// What comes is another file.
    fn restart(&mut self, args: &ImportArgs) {
        let totals = std::mem::take(&mut self.totals);
        *self = Self { totals, ..Self::new(args) };
    }

    /// Tracks what came, in one commit, and names what is bad.
    fn keep(&mut self, cx: &mut Context, clock: &Clock) -> Result<()> {
        let mut batch: Vec<NewTransaction> = Vec::new();
        for taken in std::mem::take(&mut self.taken) {
            match taken {
                Taken::Transaction(new) => batch.push(*new),
                Taken::Profile(place, profile) if profile != cx.profile => {
                    let own = &cx.profile;
                    writeln!(cx.err, "warning: {place} is of the profile {profile}; such rows are tracked in {own}")?;
                }
                Taken::Profile(..) => {}
                Taken::Warning(warning) => writeln!(cx.err, "warning: {warning}")?,
                Taken::Bad(error) => {
                    self.totals.bad += 1;
                    writeln!(cx.err, "{error}")?;
                }
                Taken::Hopeless(error) => {
                    writeln!(cx.err, "{error}")?;
                    self.ended = Some(if error.place == Place::File { Exit::Usage } else { Exit::Error });
                    break;
                }
            }
        }
        if !batch.is_empty() {
            let report = cx.store.import(&cx.profile, batch, clock.now().wall).wait()?;
            self.totals.tracked += report.added.count;
            self.totals.updated += report.updated.count;
            self.totals.known += report.unchanged.count;
        }
        if self.ended == Some(Exit::Fine) && self.totals.bad > 0 {
            self.ended = Some(Exit::Error);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
