//! `hoptop watch`: polling without a screen; prints what changes, ends with an exit code.
//!
//! Like the dashboard it only reads the store; the poller runs beside it, or in another process that holds the budget.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, IsTerminal, Write},
    time::Duration,
};

use chrono::{DateTime, FixedOffset, Utc};
use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::{Result, eyre};
use tokio::task::spawn_blocking;

use super::{
    complain, completions,
    exit::Exit,
    housekeeping::Housekeeping,
    json, list, log,
    session::{Place, Running},
    signals,
    summary::Summary,
};
use crate::{
    clock::{self, Clock},
    config::Settings,
    domain::{
        advice,
        alert::{Alert, Rule, Subject},
        change::{Change, What},
        filter::{Candidate, Filter},
        glance,
        ids::RowId,
        span,
        status::RouterStatus,
        text,
        transaction::Transaction,
    },
    poller::Scope,
    store::{Follower, Listed, News, PollerReport, Progress, Store, StoreError, Trouble},
};

/// What is watched, and until when.
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// Which transactions, as in the dashboard's filter: `is:unsettled label:batch-17`; write `--` before one that starts
    /// with `-`
    #[arg(value_name = "FILTER", add = ArgValueCompleter::new(completions::filters))]
    pub filter: Vec<String>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
    /// End when all of them are settled
    #[arg(long)]
    pub until_settled: bool,
    /// End after this time: 90s, 30m, 2h
    #[arg(long, value_name = "DUR", value_parser = span::parse)]
    pub timeout: Option<Duration>,
    /// Print each poll too
    #[arg(long)]
    pub verbose: bool,
}

/// Polls and prints until all is settled, the time is over, or a signal comes.
pub fn watch(args: &WatchArgs, settings: &Settings) -> Result<Exit> {
    let Some(filter) = list::read_filter(&args.filter, &mut io::stderr())? else { return Ok(Exit::Usage) };
    let polling = super::polling(settings)?;
    log::start(&settings.state_dir, Clock::system())?;
    let store = super::open(settings)?;
    let ended = super::runtime()?.block_on(async {
        let clock = Clock::system();
        let _keeper = store.keep_backups(clock.clone())?;
        let signal = signals::listen()?;
        // The first look comes before the first request, so that every request is counted.
        let mut watching = Watching::new(args, filter, (&settings.profile, &store), &clock)?;
        watching.look(&clock).await?;
        if watching.chosen.is_empty() {
            complain(
                "nothing that is tracked matches; `hoptop list` shows what is, `hoptop import FILE` brings a batch",
            );
        }
        if io::stderr().is_terminal() {
            complain(&format!("watching {} transactions; ^C ends it", watching.chosen.len()));
        }
        let _housekeeping = Housekeeping::start(&store, settings.keep_bodies, &clock);
        let place = Place::of(settings, Scope::Everything);
        let mut poller = Running::start(polling, store.clone(), clock.clone(), place)?;
        let ended = tokio::select! {
            ended = watching.follow(&store, &clock) => ended,
            exit = signal => Ok(Some(exit)),
            fault = poller.fault() => return Err(fault),
        };
        poller.stop().await?;
        watching.finish(&clock, ended?).await
    });
    ended.inspect_err(|report| super::note(&store, report))
}

/// What stands in the way of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    Refused,
    OutOfReach,
}

struct Watching<'a> {
    args: &'a WatchArgs,
    filter: Filter,
    profile: String,
    zone: FixedOffset,
    started: clock::Now,
    follower: Follower,
    /// Whatever passed the filter once, and how far it is: `is:unsettled` names what is to be watched, not what it becomes.
    chosen: HashMap<RowId, Progress>,
    requests: u64,
    /// Whether any answer came since the start.
    answered: bool,
    obstacle: Option<Obstacle>,
    /// Whether another process should poll and says nothing, as was said already.
    waiting: bool,
    /// Whether it was said that polling is paused.
    is_paused: bool,
    /// Whether another process polls.
    others_poll: bool,
    /// What stood in the way of keeping answers at the last look.
    trouble: Option<Trouble>,
}

impl<'a> Watching<'a> {
    fn new(args: &'a WatchArgs, filter: Filter, of: (&str, &Store), clock: &Clock) -> Result<Self> {
        let (profile, store) = of;
        Ok(Self {
            args,
            filter,
            profile: profile.to_owned(),
            zone: clock::local_offset(),
            started: clock.now(),
            follower: Follower::new(store)?,
            chosen: HashMap::new(),
            requests: 0,
            answered: false,
            obstacle: None,
            waiting: false,
            is_paused: false,
            others_poll: false,
            trouble: None,
        })
    }

    /// Takes in and prints what changed since the last look.
    async fn look(&mut self, clock: &Clock) -> Result<()> {
        loop {
            let (follower, profile) = (self.follower.clone(), self.profile.clone());
            let (filter, now) = (self.filter.clone(), clock.now().wall);
            let seen = spawn_blocking(move || Seen::look(&follower, &profile, &filter, now)).await??;
            let live = seen.poller.as_ref().filter(|report| report.is_live(now));
            self.others_poll = live.is_some_and(|report| report.process != std::process::id());
            let waiting = live.is_some_and(|report| report.health == "waiting");
            if waiting && !self.waiting {
                complain(
                    "another hoptop polls this store but says nothing, it may be suspended; this one takes over when that one ends",
                );
            }
            self.waiting = waiting;
            let paused_until = live.and_then(|report| report.paused_until).filter(|until| *until > now);
            if let (Some(until), false) = (paused_until, self.is_paused) {
                complain(&format!("polling is paused for {}, in a dashboard", span::long(span::between(now, until))));
            }
            self.is_paused = paused_until.is_some();
            let more = seen.news.more;
            self.take_in(seen, now)?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Prints what changes until there is a reason to end; `None` if the reason is in the transactions themselves.
    async fn follow(&mut self, store: &Store, clock: &Clock) -> Result<Option<Exit>> {
        let mut commits = store.subscribe()?;
        let end = self.args.timeout.map(|timeout| self.started.mono + timeout);
        loop {
            self.look(clock).await?;
            self.heed(store.trouble())?;
            if self.obstacle == Some(Obstacle::Refused) && !self.answered {
                return Ok(Some(Exit::Unauthorized));
            }
            if self.args.until_settled && !self.is_open() {
                return Ok(None);
            }
            let over = async {
                match end {
                    Some(end) => clock.sleep_until(end).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = commits.changed() => changed.map_err(|_| eyre!("the store's watcher has ended"))?,
                () = over => return Ok(None),
            }
        }
    }

    /// Whether an end may still come: what the service rejected or a person stopped isn't waited for.
    fn is_open(&self) -> bool {
        self.chosen.values().any(|progress| progress.is_polled)
    }

    /// Says what stands in the way of keeping answers, once. It is an error if that stays.
    fn heed(&mut self, trouble: Option<Trouble>) -> Result<()> {
        if let Some(trouble) = trouble.as_ref().filter(|trouble| self.trouble.as_ref() != Some(*trouble)) {
            let error = StoreError::from(trouble.clone());
            if error.is_lasting() {
                return Err(error.into());
            }
            complain(&text::clean(&trouble.to_string()));
        }
        self.trouble = trouble;
        Ok(())
    }

    fn passes(&self, listed: &Listed, now: DateTime<Utc>) -> bool {
        let Listed { transaction: tx, alerts } = listed;
        tx.profile == self.profile && self.filter.matches(&Candidate { tx, alerts }, now)
    }

    /// What stood in the way before we looked: another process may go on without saying so again.
    fn standing_obstacle(&self, alert: &Alert) -> Option<Obstacle> {
        match (alert.subject, alert.rule) {
            (Subject::Profile, _) if alert.profile != self.profile || !self.others_poll => None,
            (Subject::Profile, Rule::Unauthorized) => Some(Obstacle::Refused),
            (Subject::Profile, Rule::Unreachable | Rule::Throttled) => Some(Obstacle::OutOfReach),
            _ => None,
        }
    }

    fn take_in(&mut self, seen: Seen, now: DateTime<Utc>) -> Result<()> {
        if seen.news.anew {
            self.obstacle = seen.profile_alerts.iter().find_map(|alert| self.standing_obstacle(alert));
            // What was chosen before stays so, and is as far as it is now.
            self.chosen.extend(seen.chosen);
        }
        for listed in seen.changed.values() {
            let tx = &listed.transaction;
            let own = tx.profile == self.profile;
            self.answered |= own && tx.learned.last_checked_at.is_some_and(|checked| checked >= self.started.wall);
            if self.chosen.contains_key(&tx.id) || self.passes(listed, now) {
                self.chosen.insert(tx.id, Progress::from(tx));
            }
        }
        for change in seen.news.changes.iter().filter(|change| change.profile == self.profile) {
            self.requests += u64::from(change.what == What::Polled);
            self.answered |= matches!(change.what, What::Rejected { .. });
            self.obstacle = match &change.what {
                What::Unauthorized { .. } => Some(Obstacle::Refused),
                What::Unreachable { .. } | What::Throttled { .. } => Some(Obstacle::OutOfReach),
                What::Recovered => None,
                _ => self.obstacle,
            };
            self.print(change, &seen.changed, now)?;
            if let What::Deleted { row } = change.what {
                self.chosen.remove(&RowId(row));
            }
        }
        Ok(())
    }

    fn print(&self, change: &Change, changed: &BTreeMap<RowId, Listed>, now: DateTime<Utc>) -> Result<()> {
        let silent = match change.what {
            What::Polled => !self.args.verbose,
            // A person reads the status; scripts get everything.
            What::StepAdded { .. } => !self.args.json && !self.args.verbose,
            ref other => other.is_housekeeping(),
        };
        let listed = change.transaction.and_then(|row| changed.get(&row));
        let beside = change.transaction.is_some_and(|row| !self.chosen.contains_key(&row));
        if silent || beside {
            return Ok(());
        }
        let line = match self.args.json {
            true => json::event(change, listed.map(|listed| (&listed.transaction, &listed.alerts[..])), now)?,
            false => self.sentence(change, listed.map(|listed| &listed.transaction)),
        };
        Ok(writeln!(io::stdout(), "{line}")?)
    }

    fn sentence(&self, change: &Change, tx: Option<&Transaction>) -> String {
        let time = change.at.with_timezone(&self.zone).format("%H:%M:%S");
        let what = match &change.what {
            What::Throttled { error } => trouble(Rule::Throttled, error),
            What::Unauthorized { error } => trouble(Rule::Unauthorized, error),
            What::Unreachable { error } => trouble(Rule::Unreachable, error),
            other => other.sentence(),
        };
        match tx {
            Some(tx) => format!("{time}  {}  {}  {what}", tx.told.transaction_id.short("..."), glance::route(tx)),
            None => format!("{time}  {what}"),
        }
    }

    /// Prints the summary, and says how it ended: `exit` if something else than the transactions decided that.
    async fn finish(mut self, clock: &Clock, exit: Option<Exit>) -> Result<Exit> {
        // What was under way when it ended was kept since; it counts.
        self.look(clock).await?;
        let now = clock.now();
        let seconds = now.mono.since(self.started.mono);
        let summary = Summary::new(self.chosen.values(), now.wall, self.requests, seconds);
        match self.args.json {
            true => writeln!(io::stdout(), "{}", serde_json::to_string(&summary)?)?,
            false => writeln!(io::stdout(), "{summary}")?,
        }
        let exit = exit.unwrap_or_else(|| self.verdict());
        if exit == Exit::Unauthorized {
            complain(
                "the service refused the integrator ID; check where it comes from, and that it belongs to this base URL",
            );
        }
        if exit == Exit::Unreachable {
            complain("no usable answer came; check the base URL, the network and the service");
        }
        Ok(exit)
    }

    fn verdict(&self) -> Exit {
        let mut statuses = self.chosen.values().map(|progress| progress.status.as_ref());
        match (self.is_open(), self.answered, self.obstacle) {
            (true, _, Some(Obstacle::Refused)) => Exit::Unauthorized,
            (true, false, _) if self.requests > 0 => Exit::Unreachable,
            (true, ..) => Exit::NotSettled,
            (false, ..) if statuses.all(|status| status == Some(&RouterStatus::Success)) => Exit::Fine,
            (false, ..) => Exit::NeedsAttention,
        }
    }
}

/// What a look into the store brought.
struct Seen {
    news: News,
    poller: Option<PollerReport>,
    /// What passes the filter, if everything was looked at anew.
    chosen: Vec<(RowId, Progress)>,
    /// What stands for profiles as a whole, in that case.
    profile_alerts: Vec<Alert>,
    /// What something happened to, as it is now.
    changed: BTreeMap<RowId, Listed>,
}

impl Seen {
    fn look(follower: &Follower, profile: &str, filter: &Filter, now: DateTime<Utc>) -> Result<Self, StoreError> {
        follower.news_with(|news, reader| {
            let mut seen = Self {
                poller: reader.poller(profile)?,
                chosen: Vec::new(),
                profile_alerts: Vec::new(),
                changed: reader.listed_of(news.rows(true))?,
                news,
            };
            if seen.news.anew {
                seen.chosen = reader.listing(&filter.of_profile(profile), now).outcomes()?;
                seen.profile_alerts = reader.profile_alerts()?;
            }
            Ok(seen)
        })
    }
}

fn trouble(rule: Rule, error: &str) -> String {
    format!("{rule}: {error}; {}", advice::profile_action(rule))
}
