//! A watch under way: reads each batch of changes, prints what concerns it, and knows when it is complete.
//!
//! Every answer is counted, and a transaction that was chosen once stays chosen. The run must never write to the store.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    io::{self, Write},
    pin::pin,
    sync::Arc,
};

use chrono::{DateTime, Utc};
use color_eyre::eyre::{Result, eyre};
use futures_util::{FutureExt, StreamExt, future::OptionFuture};
use tokio::{sync::watch as latest, task::spawn_blocking};

use super::{
    args::WatchArgs,
    bar::{self, WatchBar},
    ending::{self, EndState},
    piped::PipedTransactions,
    profiles::WatchedProfiles,
    snapshot::{self, MissingNames, PipedMatch, SnapshotQuery, WatchSnapshot},
    summary::WatchSummary,
    team_notices::team_notices,
};
use crate::{
    cli::output::json,
    clock::{self, Clock, MonotonicTime, Now},
    config::Settings,
    domain::{
        alert::Outage,
        change::{Change, ChangeKind, OutageChange},
        filter::Filter,
        ids::RowId,
        team::TeamLink,
        text,
        transaction::TransactionHeader,
    },
    presentation::{glyphs::Glyphs, row_text},
    runtime::{exit::Exit, stderr::print_line},
    store::{FeedReader, Store, StoreError, StoreFault, TransactionOutcome, WakeKind},
};

pub(super) struct WatchRun<'a> {
    args: &'a WatchArgs,
    filter: Filter,
    pub(super) profiles: WatchedProfiles,
    pub(super) bar: WatchBar,
    /// The transactions from standard input, if the watch reads them there.
    pub(super) piped: Option<PipedTransactions>,
    started: Now,
    feed: FeedReader,
    /// Every transaction that has matched the filter once, and its progress. A transaction stays watched when it no
    /// longer matches a filter such as `is:unsettled`.
    chosen: Arc<HashMap<RowId, TransactionOutcome>>,
    requests: u64,
    /// Whether standard error is a terminal.
    pub(super) is_terminal: bool,
    /// The number of watched transactions that were deleted before they were seen to succeed.
    deleted_open: u64,
    /// Whether any answer arrived since the start.
    has_answer: bool,
    /// Whether the reader of standard output is gone.
    is_output_closed: Cell<bool>,
    /// What kept answers from being stored at the last check.
    fault: Option<StoreFault>,
    /// The names of the notification channels.
    channels: latest::Receiver<Vec<&'static str>>,
}

impl<'a> WatchRun<'a> {
    pub(super) fn new(
        args: &'a WatchArgs,
        filter: Filter,
        settings: &Settings,
        store: &Store,
        clock: &Clock,
        bar: WatchBar,
        channels: latest::Receiver<Vec<&'static str>>,
    ) -> Result<Self> {
        Ok(Self {
            args,
            filter,
            profiles: WatchedProfiles::new(settings.profiles()),
            bar,
            piped: None,
            started: clock.now(),
            feed: FeedReader::new(store.reader()?),
            chosen: Arc::default(),
            requests: 0,
            is_terminal: false,
            deleted_open: 0,
            has_answer: false,
            is_output_closed: Cell::new(false),
            fault: None,
            channels,
        })
    }

    /// Waits until this machine has what its team has written, if the watch ends once all is settled. The input of a watch
    /// waits for the team by itself. Returns the exit code if the watch ends before.
    pub(super) async fn wait_for_team(
        &self,
        store: &Store,
        clock: &Clock,
        end: MonotonicTime,
        signal: impl Future<Output = Exit>,
    ) -> Option<Exit> {
        let mut status = store.team().filter(|_| self.args.until_settled && !self.args.is_piped())?;
        if status.borrow().link != TeamLink::Live {
            self.print_line("waiting for the team's store: an older copy can't show that all is settled");
        }
        tokio::select! {
            status = status.wait_for(|status| matches!(status.link, TeamLink::Live | TeamLink::Refused { .. })) => {
                let TeamLink::Refused { reason } = &status.ok()?.link else { return None };
                self.print_line(&text::clean(reason));
                Some(Exit::Error)
            }
            () = clock.sleep_until(end) => Some(Exit::NotSettled),
            exit = signal => Some(exit),
        }
    }

    /// Warns about names in the filter that no transaction has. Returns the exit code if the filter names a transaction
    /// that isn't tracked, or nothing matches.
    pub(super) fn check_filter(&self, now: Now) -> Result<Option<Exit>> {
        if self.args.is_piped() {
            return Ok(None);
        }
        let missing = MissingNames::read(&self.feed, &self.query(now.wall))?;
        let is_incomplete = self.chosen.is_empty() || missing.missing_hash().is_some();
        if is_incomplete && self.args.ends_when_empty() && !self.args.allow_empty {
            self.print_line(&format!("{}; --allow-empty accepts that nothing is watched", missing.explanation()));
            if self.args.json {
                self.print_summary(now)?;
            }
            return Ok(Some(Exit::Usage));
        }
        match self.chosen.is_empty() {
            true => self.print_line(&missing.explanation()),
            false => missing.warnings().for_each(|warning| self.print_line(&warning)),
        }
        Ok(None)
    }

    /// Returns the line that a terminal shows at the start.
    pub(super) fn greeting(&self) -> String {
        let watched = match self.args.is_piped() {
            true => "transactions from standard input".to_owned(),
            false => text::counted(self.chosen.len(), "transaction"),
        };
        format!("watching {watched}; ^C stops")
    }

    /// Prints a line on standard error, above the bar.
    pub(super) fn print_line(&self, line: &str) {
        self.bar.handle.print_line(line);
    }

    fn query(&self, now: DateTime<Utc>) -> SnapshotQuery {
        SnapshotQuery {
            profiles: self.profiles.names(),
            // Transactions from standard input are chosen as they arrive.
            filter: (!self.args.is_piped()).then(|| self.filter.clone()),
            chosen: Arc::clone(&self.chosen),
            needs_forecasts: self.bar.is_drawn(),
            needs_records: self.args.json,
            channels: self.channels.borrow().clone(),
            now,
        }
    }

    /// Applies and prints one batch of changes. Returns `true` if more are waiting.
    pub(super) async fn process_changes(&mut self, clock: &Clock) -> Result<bool> {
        let (feed, now) = (self.feed.clone(), clock.now().wall);
        let query = self.query(now);
        let snapshot = spawn_blocking(move || WatchSnapshot::read(&feed, &query)).await??;
        if let Some(piped) = &mut self.piped {
            piped.poll_reports();
        }
        let mut poller = None;
        for polling in &snapshot.polling {
            let live = polling.poller.as_ref().filter(|report| report.is_live(now));
            let prefix = self.profiles.prefix(&polling.profile);
            let Some(profile) = self.profiles.get_mut(&polling.profile) else { continue };
            profile.is_other_polling = live.is_some_and(|report| report.process != crate::process::run_id());
            // A poller that has stopped leaves its rest to the next one.
            let resting_until = polling.poller.as_ref().and_then(|report| report.resting_until);
            profile.is_resting = resting_until.is_some_and(|until| until > now);
            let lines = profile.conditions.update(live, &polling.notify_errors, now);
            lines.iter().for_each(|line| self.print_line(&format!("{prefix}{line}")));
            poller = poller.or(live.cloned());
        }
        let more = snapshot.changes.has_more;
        let mut unread = Vec::new();
        if snapshot.changes.needs_resync {
            let read: HashSet<RowId> = snapshot.chosen.iter().map(|(row, _)| *row).collect();
            unread.extend(self.chosen.keys().filter(|row| !read.contains(row)));
        }
        self.apply_snapshot(snapshot, now)?;
        if !unread.is_empty() {
            self.refresh(unread).await?;
        }
        self.add_tracked(now).await?;
        if !more {
            let settled = self.chosen.values().filter(|progress| progress.is_settled).count();
            self.bar.draw(settled, self.chosen.len(), poller.as_ref(), now);
        }
        Ok(more)
    }

    /// Adds the transactions from standard input that are tracked since the last call. Prints the totals when the input
    /// has ended.
    async fn add_tracked(&mut self, now: DateTime<Utc>) -> Result<()> {
        let Some(piped) = &mut self.piped else { return Ok(()) };
        let (params, totals) = (std::mem::take(&mut piped.tracked), piped.totals.take());
        if !params.is_empty() {
            let (feed, query) = (self.feed.clone(), self.query(now));
            for found in spawn_blocking(move || PipedMatch::read(&feed, &query, &params)).await?? {
                self.bar.set_expected(found.row, found.expected);
                Arc::make_mut(&mut self.chosen).insert(found.row, found.progress);
            }
        }
        // Without a terminal the totals are printed only if a line was bad.
        if let Some(totals) = totals.filter(|totals| self.is_terminal || totals.bad_lines > 0) {
            self.print_line(&format!("standard input has ended: {totals}"));
        }
        Ok(())
    }

    /// Returns the state that decides about the end.
    fn end_state(&self) -> EndState<'_> {
        EndState {
            args: self.args,
            chosen: &self.chosen,
            input_exit: self.piped.as_ref().map_or(Some(Exit::Success), PipedTransactions::exit),
            has_answer: self.has_answer,
            is_refused: self.profiles.has_outage(Outage::Unauthorized),
            is_throttled: self.profiles.has_outage(Outage::Throttled),
            is_resting: self.profiles.is_resting(),
            requests: self.requests,
            deleted_open: self.deleted_open,
        }
    }

    /// Prints changes until the watch ends, by a signal or at `end` at the latest. Returns the exit code, or `None` if the
    /// transactions decide it.
    pub(super) async fn follow(
        &mut self,
        store: &Store,
        clock: &Clock,
        end: MonotonicTime,
        signal: impl Future<Output = Exit> + Clone,
    ) -> Result<Option<Exit>> {
        let mut commits = store.subscribe(WakeKind::AnyCommit)?;
        let profiles = self.profiles.names();
        let mut notices = pin!(team_notices(store.team(), &profiles, clock));
        loop {
            // A signal doesn't interrupt this: what was read from the feed would be lost.
            let more = self.process_changes(clock).await?;
            if let Some(exit) = signal.clone().now_or_never() {
                return Ok(Some(exit));
            }
            if self.is_output_closed.get() {
                // A watch without an end says nothing about its transactions.
                let says_nothing = !self.args.until_settled && !self.end_state().is_complete();
                return Ok(says_nothing.then_some(Exit::Success));
            }
            self.check_store_fault(store.fault())?;
            // A watch without an end goes on probing.
            let gives_up_at = self.profiles.gives_up_at(clock.now().mono).filter(|_| self.args.until_settled);
            if gives_up_at.is_some_and(|at| at <= clock.now().mono) {
                return Ok(Some(Exit::Unauthorized));
            }
            if !more && self.end_state().is_complete() || end <= clock.now().mono {
                return Ok(None);
            }
            if more {
                continue;
            }
            let redraw = self.bar.is_drawn().then(|| clock.now().mono + bar::REDRAW_INTERVAL);
            let wake = redraw.into_iter().chain(gives_up_at).min();
            tokio::select! {
                changed = commits.changed() => changed.map_err(|_| eyre!("the store's watcher has ended"))?,
                Some(()) = OptionFuture::from(self.piped.as_mut().map(PipedTransactions::next_report)) => {}
                Some(line) = notices.next() => self.print_line(&line),
                Some(()) = OptionFuture::from(wake.map(|at| clock.sleep_until(at))) => {}
                () = clock.sleep_until(end) => return Ok(None),
                exit = signal.clone() => return Ok(Some(exit)),
            }
        }
    }

    /// Prints once that answers can't be stored, with the reason, and once that they can again. Returns an error if the
    /// fault is permanent.
    fn check_store_fault(&mut self, fault: Option<StoreFault>) -> Result<()> {
        if let Some(fault) = fault.as_ref().filter(|fault| self.fault.as_ref() != Some(*fault)) {
            let error = StoreError::from(fault.clone());
            if error.is_permanent() {
                return Err(error.into());
            }
            self.print_line(&text::clean(&fault.to_string()));
        } else if fault.is_none() && self.fault.is_some() {
            self.print_line("the store can be written again");
        }
        self.fault = fault;
        Ok(())
    }

    /// Updates the watched transactions and the state of the profiles from a snapshot, and prints its changes.
    fn apply_snapshot(&mut self, mut snapshot: WatchSnapshot, now: DateTime<Utc>) -> Result<()> {
        if snapshot.changes.needs_resync {
            for polling in &snapshot.polling {
                let Some(profile) = self.profiles.get_mut(&polling.profile) else { continue };
                let mut own = snapshot.profile_alerts.iter().filter(|alert| alert.profile == polling.profile);
                // Another process that polls doesn't report again what was active before the watch. This process's own
                // poller finds out by itself, but sends no request during the rest after a 429.
                let outage = own.find_map(|alert| alert.rule.outage());
                profile.outage = outage
                    .filter(|outage| profile.is_other_polling || *outage == Outage::Throttled && profile.is_resting);
            }
            // Transactions that were chosen before stay chosen.
            Arc::make_mut(&mut self.chosen).extend(std::mem::take(&mut snapshot.chosen));
        }
        for tx in snapshot.changed.values() {
            let is_own = self.profiles.contains(&tx.profile);
            self.has_answer |= is_own && tx.state.last_checked_at.is_some_and(|checked| checked >= self.started.wall);
            let is_match = match &self.piped {
                Some(piped) => piped.contains(&tx.params),
                None => snapshot.matching.contains(&tx.id),
            };
            if self.chosen.contains_key(&tx.id) || is_own && is_match {
                Arc::make_mut(&mut self.chosen).insert(tx.id, TransactionOutcome::from(tx));
            }
        }
        for (row, at) in snapshot.expected.iter().filter(|(row, _)| self.chosen.contains_key(row)) {
            self.bar.set_expected(*row, *at);
        }
        // One write for the batch: a script may read many lines a second.
        let mut lines = String::new();
        for change in &snapshot.changes.changes {
            let Some(profile) = self.profiles.get_mut(&change.profile) else { continue };
            self.requests += u64::from(change.kind == ChangeKind::Polled);
            self.has_answer |= matches!(change.kind, ChangeKind::Rejected { .. });
            if let Some(outage) = change.kind.outage() {
                profile.outage = match outage {
                    OutageChange::Began(outage) => Some(outage),
                    OutageChange::Ended => None,
                };
            }
            if let Some(line) = self.change_line(change, &snapshot, now)? {
                lines.extend([line.as_str(), "\n"]);
            }
            if let ChangeKind::Deleted { row } = change.kind {
                self.forget(RowId(row));
            }
        }
        self.print_result(&lines)
    }

    /// Ends the watch of a deleted transaction.
    fn forget(&mut self, row: RowId) {
        let deleted = Arc::make_mut(&mut self.chosen).remove(&row);
        self.deleted_open += u64::from(deleted.is_some_and(|progress| !ending::is_success(&progress)));
        self.bar.set_expected(row, None);
    }

    /// Reads the progress of these transactions after a resync: they may have settled or been deleted meanwhile.
    async fn refresh(&mut self, rows: Vec<RowId>) -> Result<()> {
        let feed = self.feed.clone();
        for (row, progress) in spawn_blocking(move || snapshot::read_progress(&feed, rows)).await?? {
            match progress {
                Some(progress) => drop(Arc::make_mut(&mut self.chosen).insert(row, progress)),
                None => self.forget(row),
            }
        }
        Ok(())
    }

    /// Returns the line for a change of a watched transaction or of the profile; `None` if the arguments hide it.
    fn change_line(&self, change: &Change, snapshot: &WatchSnapshot, now: DateTime<Utc>) -> Result<Option<String>> {
        let is_hidden = match change.kind {
            ChangeKind::Polled => !self.args.verbose,
            // A new step is printed only for scripts: people read the status.
            ChangeKind::StepAdded { .. } => !self.args.json && !self.args.verbose,
            ref other => other.is_routine(),
        };
        let is_unwatched = change.transaction.is_some_and(|row| !self.chosen.contains_key(&row));
        if is_hidden || is_unwatched {
            return Ok(None);
        }
        Ok(Some(match self.args.json {
            true => {
                let listed = change.transaction.and_then(|row| snapshot.with_records.get(&row));
                json::event(change, listed.map(|listed| (&listed.transaction, &listed.alerts[..])), now)?
            }
            false => self.format_change(change, change.transaction.and_then(|row| snapshot.changed.get(&row))),
        }))
    }

    /// Prints lines on standard output. When its reader is gone, the watch ends.
    fn print_result(&self, lines: &str) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        match self.bar.handle.print_above(|| io::stdout().write_all(lines.as_bytes())) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.is_output_closed.set(true),
            printed => printed?,
        }
        Ok(())
    }

    /// Returns a change as a line for people: time, transaction, route and event.
    fn format_change(&self, change: &Change, tx: Option<&TransactionHeader>) -> String {
        // The offset of now: a watch may run for months.
        let time = change.at.with_timezone(&clock::local_offset()).format("%H:%M:%S");
        let sentence = row_text::change_sentence(change);
        match tx {
            Some(tx) => format!(
                "{time}  {}  {}  {sentence}",
                tx.params.transaction_id.short("..."),
                row_text::route(tx, Glyphs::Ascii)
            ),
            None => format!("{time}  {}{sentence}", self.profiles.prefix(&change.profile)),
        }
    }

    pub(super) fn print_summary(&self, now: Now) -> Result<()> {
        let seconds = now.mono.since(self.started.mono);
        let summary = WatchSummary::new(self.chosen.values(), now.wall, self.requests, seconds);
        let summary = if self.args.json { serde_json::to_string(&summary)? } else { summary.to_string() };
        self.print_result(&format!("{summary}\n"))
    }

    /// Prints the summary and returns the exit code. The transactions decide the code if `exit` is `None`.
    pub(super) async fn finish(mut self, store: &Store, clock: &Clock, exit: Option<Exit>) -> Result<Exit> {
        // Answers that were stored while the watch ended count too.
        while self.process_changes(clock).await? {}
        self.bar.remove();
        self.print_summary(clock.now())?;
        let watched = self.end_state();
        let exit = exit.unwrap_or_else(|| watched.exit());
        // A script must not take it for slowness that no answer could be stored.
        if let (Exit::NotSettled, Some(fault @ StoreFault::CommitFailed(_))) = (exit, store.fault()) {
            print_line(&format!("{fault}; the last answers may be missing"));
            return Ok(Exit::Error);
        }
        watched.reason(exit, self.args.is_piped()).into_iter().for_each(print_line);
        Ok(exit)
    }
}
