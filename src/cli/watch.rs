//! `hoptop watch`: polling without a screen; prints what changes, ends with an exit code.
//!
//! Like the dashboard it only reads the store; the poller runs beside it, or in another process that holds the budget. It must
//! never end well if one of what it was given is bad, or was never seen to end.

mod background_tasks;
mod bar;
mod conditions;
mod piped;
mod snapshot;

use std::{
    collections::HashMap,
    io::{self, IsTerminal, Write},
    net::SocketAddr,
    pin::pin,
    time::Duration,
};

use chrono::{DateTime, FixedOffset, Utc};
use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::{Result, eyre};
use futures_util::FutureExt;
use tokio::{
    sync::{mpsc, oneshot, watch as latest},
    task::spawn_blocking,
};

use self::{
    background_tasks::{BackgroundTasks, TaskContext},
    bar::{Bar, Line},
    conditions::{Conditions, Obstacle},
    piped::{Came, PIPE},
    snapshot::{Found, Question, Snapshot},
};
use super::{complain, completions, exit::Exit, json, list, log, signals, summary::Summary};
use crate::{
    clock::{self, Clock, Mono},
    config::{Flags, Settings},
    domain::{
        advice,
        alert::{Alert, Rule, Subject},
        change::{Change, What},
        filter::{Candidate, Filter},
        ids::RowId,
        record::RecordSummary,
        row_text, span,
        status::RouterStatus,
        text,
        transaction::TransactionHeader,
    },
    metrics::Metrics,
    store::{FeedReader, Listed, Progress, Store, StoreError, Trouble, Wake},
};

/// What stands below the help.
pub const EXAMPLES: &str = "\
Examples:
  hoptop watch                                         what is tracked, until ^C
  hoptop watch label:batch-17 --until-settled          the exit code says how it ended: 0 all success, 4 not all, 3 not settled
  hoptop watch --json | jq 'select(.event == \"settled\")'
  my-service | hoptop watch - --until-settled          what comes through the pipe is tracked, and watched to its end";

/// What is watched, and until when.
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// Which transactions, as in the dashboard's filter: `is:unsettled label:batch-17`; write `--` before one that starts
    /// with `-`. `-` alone tracks and watches what comes through standard input, CSV or JSON lines as for `import --follow`
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
    /// Serve OpenMetrics text at this address as long as it runs, as http://ADDR/metrics; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,
    /// Of what comes through standard input, take chain IDs that don't look like any
    #[arg(long)]
    pub any_chain: bool,
}

impl WatchArgs {
    /// Whether what is watched comes through standard input.
    fn is_piped(&self) -> bool {
        self.filter == [PIPE]
    }
}

/// Polls and prints until all is settled, the time is over, or a signal comes. The settings are read anew, by these `flags`, when
/// one asks for that.
pub fn watch(args: &WatchArgs, settings: &Settings, flags: &Flags) -> Result<Exit> {
    if args.filter.iter().any(|word| word == PIPE) && !args.is_piped() {
        complain("`-` watches what comes through standard input; give it without a filter");
        return Ok(Exit::Usage);
    }
    let terms = if args.is_piped() { &[][..] } else { &args.filter };
    let Some(filter) = list::read_filter(terms, &mut io::stderr())? else { return Ok(Exit::Usage) };
    let runtime = super::runtime()?;
    // First: what comes while the ID's command runs is a wish, or an end, as later.
    let (signal, reload) = {
        let _entered = runtime.enter();
        signals::listen_where_no_terminal_hangs_up()?
    };
    let background_tasks = BackgroundTasks::new(settings.clone())?;
    log::start(&settings.state_dir, Clock::system())?;
    let store = super::open(settings)?;
    let ended = runtime.block_on(async {
        let clock = Clock::system();
        let _keeper = store.schedule_backups(clock.clone())?;
        let signal = signal.shared();
        let is_seen = io::stderr().is_terminal();
        // A line that is drawn again and again is read out again and again.
        let bar = Bar::new(is_seen && !settings.plain, settings.ascii);
        // The first look comes before the first request, so that every request is counted.
        let (told_by, channels) = latest::channel(background_tasks.names());
        let mut watching = Watching::new(args, filter, (settings, &store), (&clock, bar, channels))?;
        let (pipe, came) = mpsc::channel(piped::UNDER_WAY);
        watching.came = args.is_piped().then(|| Came::new(came));
        let source = (&store, settings.profile.as_str(), args.any_chain);
        let reading = piped::read(source, signal.clone(), &clock, (watching.bar.line.clone(), pipe));
        while watching.read(&clock).await? {}
        if watching.chosen.is_empty() && !args.is_piped() {
            let (conditions, is_unknown) = snapshot::why_nothing(&watching.feed, &watching.question(clock.now().wall))?;
            watching.complain(&conditions);
            if is_unknown && args.until_settled {
                return Ok(Exit::Usage);
            }
        }
        watching.is_seen = is_seen;
        if is_seen {
            watching.complain(&watching.greeting());
        }
        let served = (&store, vec![settings.profile.clone()]);
        let metrics = Metrics::serve(args.metrics, served, &background_tasks.polling.requests, &clock).await?;
        if let Some(metrics) = &metrics {
            watching.complain(&format!("metrics at {}", metrics.url()));
        }
        let (leave, left) = oneshot::channel();
        let context =
            TaskContext { store: &store, clock: &clock, flags, reload, told_by, line: watching.bar.line.clone() };
        let mut serving = pin!(background_tasks::serve(background_tasks, context, left));
        let ended = tokio::select! {
            biased;
            // First, so that it says what a signal keeps it from tracking.
            failed = reading, if args.is_piped() => failed.map(|never| match never {}),
            ended = watching.follow(&store, &clock) => ended,
            exit = signal => Ok(Some(exit)),
            served = &mut serving => return served.map(|()| Exit::Error),
        };
        // It may have ended by itself.
        leave.send(()).ok();
        serving.await?;
        watching.finish(&clock, ended?).await
    });
    ended.inspect_err(|report| super::note(&store, report))
}

struct Watching<'a> {
    args: &'a WatchArgs,
    filter: Filter,
    profile: String,
    bar: Bar,
    /// What came through the pipe, if what is watched comes through one.
    came: Option<Came>,
    zone: FixedOffset,
    started: clock::Now,
    feed: FeedReader,
    /// Whatever passed the filter once, and how far it is: `is:unsettled` names what is to be watched, not what it becomes.
    chosen: HashMap<RowId, Progress>,
    requests: u64,
    /// Whether somebody looks at standard error.
    is_seen: bool,
    /// Whether any answer came since the start.
    answered: bool,
    obstacle: Option<Obstacle>,
    /// What was said already.
    conditions: Conditions,
    /// Whether another process polls.
    others_poll: bool,
    /// What stood in the way of keeping answers at the last look.
    trouble: Option<Trouble>,
    /// How alerts are told outside.
    channels: latest::Receiver<Vec<&'static str>>,
}

impl<'a> Watching<'a> {
    fn new(
        args: &'a WatchArgs,
        filter: Filter,
        (settings, store): (&Settings, &Store),
        (clock, bar, channels): (&Clock, Bar, latest::Receiver<Vec<&'static str>>),
    ) -> Result<Self> {
        Ok(Self {
            args,
            filter,
            profile: settings.profile.clone(),
            bar,
            came: None,
            zone: clock::local_offset(),
            started: clock.now(),
            feed: FeedReader::new(store.reader()?),
            chosen: HashMap::new(),
            requests: 0,
            is_seen: false,
            answered: false,
            obstacle: None,
            conditions: Conditions::default(),
            others_poll: false,
            trouble: None,
            channels,
        })
    }

    /// What a person is told at the start.
    fn greeting(&self) -> String {
        match (self.args.is_piped(), self.chosen.len()) {
            (true, _) => "watching what comes through standard input; ^C ends it".to_owned(),
            (false, 1) => "watching 1 transaction; ^C ends it".to_owned(),
            (false, count) => format!("watching {count} transactions; ^C ends it"),
        }
    }

    /// Says something on standard error.
    fn complain(&self, line: &str) {
        // As `complain` itself: nobody may be there to read it.
        let say = || {
            complain(line);
            Ok(())
        };
        self.bar.line.beside(say).unwrap_or_default();
    }

    /// What is to be read with each look.
    fn question(&self, now: DateTime<Utc>) -> Question {
        Question {
            profile: self.profile.clone(),
            // What comes through the pipe is chosen as it comes.
            filter: (!self.args.is_piped()).then(|| self.filter.clone()),
            forecasts: self.bar.is_drawn(),
            records: self.args.json,
            channels: self.channels.borrow().clone(),
            now,
        }
    }

    /// Takes in and prints what changed since the last look, or a part of it; whether there is more.
    async fn read(&mut self, clock: &Clock) -> Result<bool> {
        let (feed, now) = (self.feed.clone(), clock.now().wall);
        let question = self.question(now);
        let snapshot = spawn_blocking(move || Snapshot::read(&feed, &question)).await??;
        if let Some(came) = &mut self.came {
            came.poll_reports();
        }
        let live = snapshot.poller.as_ref().filter(|report| report.is_live(now));
        self.others_poll = live.is_some_and(|report| report.process != std::process::id());
        for line in self.conditions.news(live, &snapshot.untold, now) {
            self.complain(&line);
        }
        let more = snapshot.news.more;
        let poller = live.cloned();
        self.take_in(snapshot, now)?;
        self.take_kept(now).await?;
        if !more {
            let open = self.chosen.values().filter(|progress| progress.is_polled).count();
            self.bar.show((self.chosen.len() - open, self.chosen.len()), poller.as_ref(), now);
        }
        Ok(more)
    }

    /// Looks up what came through the pipe and is tracked by now.
    async fn take_kept(&mut self, now: DateTime<Utc>) -> Result<()> {
        let Some(came) = &mut self.came else { return Ok(()) };
        let (told, totals) = (came.take_kept(), came.take_totals());
        if !told.is_empty() {
            let (feed, question) = (self.feed.clone(), self.question(now));
            for found in spawn_blocking(move || Found::read(&feed, &question, &told)).await?? {
                self.bar.expect(found.row, found.expected);
                self.chosen.insert(found.row, found.progress);
            }
        }
        // What nobody looks at is said only if something was wrong.
        if let Some(totals) = totals.filter(|totals| self.is_seen || totals.is_bad()) {
            self.complain(&format!("standard input has ended: {totals}"));
        }
        Ok(())
    }

    /// How the pipe ended, if it has; that it did where there is none.
    fn source_ended(&self) -> Option<Exit> {
        self.came.as_ref().map_or(Some(Exit::Fine), Came::ended)
    }

    /// Whether there is nothing that an end could still come of: all that was named is settled, and the pipe brings no more.
    fn is_over(&self) -> bool {
        // Of a pipe that can't be read nothing comes, however long one waits.
        let in_vain = self.chosen.is_empty() && self.source_ended().is_some_and(|exit| exit != Exit::Fine);
        in_vain || self.args.until_settled && self.source_ended().is_some() && !self.is_open()
    }

    /// Prints what changes until there is a reason to end; `None` if the reason is in the transactions themselves.
    async fn follow(&mut self, store: &Store, clock: &Clock) -> Result<Option<Exit>> {
        let mut commits = store.subscribe(Wake::AnyCommit)?;
        let end = self.args.timeout.map(|timeout| self.started.mono + timeout);
        loop {
            let more = self.read(clock).await?;
            self.heed(store.trouble())?;
            if self.obstacle == Some(Obstacle::Refused) && !self.answered {
                return Ok(Some(Exit::Unauthorized));
            }
            if !more && self.is_over() || end.is_some_and(|end| end <= clock.now().mono) {
                return Ok(None);
            }
            if more {
                continue;
            }
            let until = |moment: Option<Mono>| async move {
                match moment {
                    Some(moment) => clock.sleep_until(moment).await,
                    None => std::future::pending().await,
                }
            };
            let redraw = self.bar.is_drawn().then(|| clock.now().mono + bar::REST);
            let told = async {
                match &mut self.came {
                    Some(came) => came.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = commits.changed() => changed.map_err(|_| eyre!("the store's watcher has ended"))?,
                () = told => {}
                () = until(redraw) => {}
                () = until(end) => return Ok(None),
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
            self.complain(&text::clean(&trouble.to_string()));
        }
        self.trouble = trouble;
        Ok(())
    }

    fn passes(&self, listed: &Listed<RecordSummary>, now: DateTime<Utc>) -> bool {
        let Listed { transaction: tx, alerts } = listed;
        let is_wanted = match &self.came {
            Some(came) => came.holds(&tx.params),
            None => self.filter.matches(&Candidate { tx, alerts }, now),
        };
        tx.profile == self.profile && is_wanted
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

    fn take_in(&mut self, mut snapshot: Snapshot, now: DateTime<Utc>) -> Result<()> {
        if snapshot.news.resync {
            self.obstacle = snapshot.profile_alerts.iter().find_map(|alert| self.standing_obstacle(alert));
            // What was chosen before stays so, and is as far as it is now.
            self.chosen.extend(std::mem::take(&mut snapshot.chosen));
        }
        for listed in snapshot.changed.values() {
            let tx = &listed.transaction;
            let own = tx.profile == self.profile;
            self.answered |= own && tx.state.last_checked_at.is_some_and(|checked| checked >= self.started.wall);
            if self.chosen.contains_key(&tx.id) || self.passes(listed, now) {
                self.chosen.insert(tx.id, Progress::from(tx));
            }
        }
        for (row, at) in snapshot.expected.iter().filter(|(row, _)| self.chosen.contains_key(row)) {
            self.bar.expect(*row, *at);
        }
        for change in snapshot.news.changes.iter().filter(|change| change.profile == self.profile) {
            self.requests += u64::from(change.what == What::Polled);
            self.answered |= matches!(change.what, What::Rejected { .. });
            self.obstacle = match &change.what {
                What::Unauthorized { .. } => Some(Obstacle::Refused),
                What::Unreachable { .. } | What::Throttled { .. } => Some(Obstacle::OutOfReach),
                What::Recovered => None,
                _ => self.obstacle,
            };
            self.print(change, &snapshot, now)?;
            if let What::Deleted { row } = change.what {
                self.chosen.remove(&RowId(row));
                self.bar.expect(RowId(row), None);
            }
        }
        Ok(())
    }

    fn print(&self, change: &Change, snapshot: &Snapshot, now: DateTime<Utc>) -> Result<()> {
        let silent = match change.what {
            What::Polled => !self.args.verbose,
            // A person reads the status; scripts get everything.
            What::StepAdded { .. } => !self.args.json && !self.args.verbose,
            ref other => other.is_housekeeping(),
        };
        let beside = change.transaction.is_some_and(|row| !self.chosen.contains_key(&row));
        if silent || beside {
            return Ok(());
        }
        let line = match self.args.json {
            true => {
                let whole = change.transaction.and_then(|row| snapshot.whole.get(&row));
                json::event(change, whole.map(|listed| (&listed.transaction, &listed.alerts[..])), now)?
            }
            false => {
                let listed = change.transaction.and_then(|row| snapshot.changed.get(&row));
                self.sentence(change, listed.map(|listed| &listed.transaction))
            }
        };
        Ok(self.bar.line.beside(|| writeln!(io::stdout(), "{line}"))?)
    }

    fn sentence(&self, change: &Change, tx: Option<&TransactionHeader>) -> String {
        let time = change.at.with_timezone(&self.zone).format("%H:%M:%S");
        let what = match &change.what {
            What::Throttled { error } => trouble(Rule::Throttled, error),
            What::Unauthorized { error } => trouble(Rule::Unauthorized, error),
            What::Unreachable { error } => trouble(Rule::Unreachable, error),
            other => other.sentence(),
        };
        match tx {
            Some(tx) => format!("{time}  {}  {}  {what}", tx.params.transaction_id.short("..."), row_text::route(tx)),
            None => format!("{time}  {what}"),
        }
    }

    /// Prints the summary, and says how it ended: `exit` if something else than the transactions decided that.
    async fn finish(mut self, clock: &Clock, exit: Option<Exit>) -> Result<Exit> {
        // What was under way when it ended was kept since; it counts.
        while self.read(clock).await? {}
        self.bar.end();
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
        if self.args.until_settled && self.source_ended().is_none() {
            // More was to come: nobody knows how that ends.
            return if self.obstacle == Some(Obstacle::Refused) { Exit::Unauthorized } else { Exit::NotSettled };
        }
        let mut statuses = self.chosen.values().map(|progress| progress.status.as_ref());
        match (self.is_open(), self.answered, self.obstacle) {
            (true, _, Some(Obstacle::Refused)) => Exit::Unauthorized,
            (true, false, _) if self.requests > 0 => Exit::Unreachable,
            (true, ..) => Exit::NotSettled,
            (false, ..) if statuses.all(|status| status == Some(&RouterStatus::Success)) => {
                // What was bad of a pipe was named, and isn't watched.
                self.source_ended().unwrap_or(Exit::Fine)
            }
            (false, ..) => Exit::NeedsAttention,
        }
    }
}

fn trouble(rule: Rule, error: &str) -> String {
    format!("{rule}: {error}; {}", advice::profile_action(rule))
}
