//! The dashboard without a screen, for screen readers: lines that are only ever added, and commands that are typed.
//!
//! A first summary, then a line for what changes, the time first and everything in words. It must never move the cursor or
//! write over what was said.

mod news;
mod orders;

use std::{
    io::{self, BufRead, Read, Write},
    time::Duration,
};

use color_eyre::eyre::{Result, eyre};
use tokio::{sync::mpsc, task::spawn_blocking};

use self::{
    news::{News, PlainNews},
    orders::{Order, Orders},
};
use super::{
    background_poller::{Place, Polling, Running},
    complain,
    exit::Exit,
    signals,
};
use crate::{
    clock::Clock,
    domain::{answer::Templates, text},
    store::{FeedReader, Store, StoreError, Trouble, Wake},
    tui::model::Setting,
};

/// What came within so long is told together: a sentence that is read out takes its time.
const TOGETHER: Duration = Duration::from_secs(2);

/// What it needs.
pub struct Parts {
    /// What it tells of.
    pub store: Store,
    /// Its time.
    pub clock: Clock,
    /// The profile and the zone; how it looks doesn't matter here.
    pub setting: Setting,
    /// The requests per second that are allowed.
    pub rps: f64,
    /// Stands for what is cut.
    pub ellipsis: &'static str,
}

/// Tells what happens until the person ends it, or a signal does; polls beside that.
pub async fn show(parts: Parts, pollings: Vec<(Polling, Place<'_>)>) -> Result<Exit> {
    let signal = signals::listen()?;
    let mut poller = match pollings.is_empty() {
        false => Some(Running::start_all(pollings, parts.store.clone(), parts.clock.clone())?),
        true => None,
    };
    let fault = async {
        match &mut poller {
            Some(poller) => poller.fault().await,
            None => std::future::pending().await,
        }
    };
    let exit = tokio::select! {
        told = run(parts) => told.map(|()| Exit::Fine),
        exit = signal => Ok(exit),
        fault = fault => return Err(fault),
    };
    if let Some(poller) = poller {
        poller.stop().await?;
    }
    exit
}

/// Tells what happens until the person ends it.
async fn run(parts: Parts) -> Result<()> {
    let mut commits = parts.store.subscribe(Wake::AnyCommit)?;
    let mut notifiers = Telling::new(&parts)?;
    let (orders, mut lines) = (Orders::of(&parts), typed());
    let looked = notifiers.read_news(&parts).await;
    // When what has changed is told, or what couldn't be read is tried again.
    let mut due = notifiers.or_said(looked, &parts)?.is_none().then(|| parts.clock.now().mono + TOGETHER);
    print_lines(&[orders::HINT.to_owned()])?;
    loop {
        let wake = async {
            match due {
                Some(due) => parts.clock.sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = commits.changed(), if due.is_none() => {
                changed.map_err(|_| eyre!("the store's watcher has ended"))?;
                due = Some(parts.clock.now().mono + TOGETHER);
            }
            () = wake => {
                let looked = notifiers.read_news(&parts).await;
                // What couldn't be read now is news still.
                due = notifiers.or_said(looked, &parts)?.is_none().then(|| parts.clock.now().mono + TOGETHER);
            }
            line = lines.recv() => match Order::read(line.as_deref()) {
                Order::Nothing => {}
                Order::Quit => return Ok(()),
                Order::Summary => {
                    // Who asks is answered, though it was said before.
                    notifiers.fault = None;
                    let summary = notifiers.summary(&parts).await;
                    print_lines(&notifiers.or_said(summary, &parts)?.unwrap_or_default())?;
                }
                Order::Run(what) => {
                    let (orders, now) = (orders.clone(), parts.clock.now());
                    let done = spawn_blocking(move || orders.run(&what, now)).await?;
                    notifiers.fault = None;
                    notifiers.or_said(done, &parts)?;
                }
            },
        }
    }
}

/// The lines that a person types, as they come.
fn typed() -> mpsc::Receiver<String> {
    // So many lines, and so many bytes of each, are more than anybody types.
    let (sender, lines) = mpsc::channel(16);
    const LINE: u64 = 4_096;
    // It is left behind at the end: there is no other way out of a wait for a line.
    let read = move || {
        let mut input = io::stdin().lock();
        loop {
            let mut line = String::new();
            match input.by_ref().take(LINE).read_line(&mut line) {
                Ok(1..) if sender.blocking_send(line.trim_end().to_owned()).is_ok() => {}
                _ => return,
            }
        }
    };
    let started = std::thread::Builder::new().name("commands".into()).spawn(read);
    if let Err(error) = started {
        complain(&format!("commands can't be read: {error}"));
    }
    lines
}

fn print_lines(lines: &[String]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    out.flush()
}

/// What was told so far.
struct Telling {
    follower: FeedReader,
    /// What stood in the way of keeping answers.
    trouble: Option<Trouble>,
    /// What stood in the way of reading, as it was told.
    fault: Option<String>,
}

impl Telling {
    fn new(parts: &Parts) -> Result<Self> {
        Ok(Self { follower: FeedReader::new(parts.store.reader()?), trouble: None, fault: None })
    }

    /// Tells what changed since the last look.
    async fn read_news(&mut self, parts: &Parts) -> Result<()> {
        loop {
            let (follower, setting, now) = (self.follower.clone(), parts.setting.clone(), parts.clock.now().wall);
            let heard = spawn_blocking(move || PlainNews::of(&follower, &setting, now)).await??;
            let more = heard.more;
            print_lines(&News { heard, setting: &parts.setting, now: parts.clock.now().wall }.lines())?;
            if !more {
                break;
            }
        }
        let trouble = parts.store.trouble();
        if let Some(trouble) = trouble.as_ref().filter(|trouble| self.trouble.as_ref() != Some(*trouble)) {
            print_lines(&[news::timed(parts.clock.now().wall, &parts.setting, &text::clean(&trouble.to_string()))])?;
        }
        self.trouble = trouble;
        Ok(())
    }

    /// What was done; nothing if the store failed. That is told, but not twice in a row.
    fn or_said<T>(&mut self, done: Result<T>, parts: &Parts) -> Result<Option<T>> {
        match done {
            Ok(done) => {
                self.fault = None;
                Ok(Some(done))
            }
            Err(report) if report.is::<StoreError>() => {
                let fault = text::clean(&report.to_string());
                if self.fault.as_ref() != Some(&fault) {
                    print_lines(&[news::timed(parts.clock.now().wall, &parts.setting, &fault)])?;
                }
                self.fault = Some(fault);
                Ok(None)
            }
            Err(report) => Err(report),
        }
    }

    async fn summary(&self, parts: &Parts) -> Result<Vec<String>> {
        let (follower, setting, now) = (self.follower.clone(), parts.setting.clone(), parts.clock.now().wall);
        Ok(spawn_blocking(move || follower.read(|reader| news::summary(reader, &setting, now))).await??)
    }
}

impl Parts {
    /// One's own words for replies.
    fn templates(&self) -> &Templates {
        &self.setting.templates
    }
}
