//! The loop's reads of the store, on the pool for blocking work: changes, pages of the list, counts.
//!
//! Only one read of a kind runs at a time. The longer a read took, the longer the pause before the next. A read must
//! never make the loop wait.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{
    dashboard::{ChangeRead, Dashboard},
    frame_pacer::MAX_PAUSE,
    log_tail, queries,
};
use crate::{
    clock::{MonotonicTime, Now},
    store::{AlertQuery, LoadedRows, Reader, StoreError},
    tui::{
        message::{Msg, StoreUpdate},
        screens::{list::state::PageRequest, stats::state::ChartRange},
    },
};

/// The pause before the next read of the same view, as a multiple of the last read's duration.
const PAGE_PAUSE: u32 = 4;
/// Reads that take less time than this need no pause.
const NOTICED: Duration = Duration::from_millis(50);
/// The time after which unchanged rows are read again too: statistics of chains and routes change rows without an entry
/// in the change feed.
const REREAD_AFTER: Duration = Duration::from_secs(30);
/// Like `REREAD_AFTER`, while the keyboard is idle.
const REREAD_AFTER_IDLE: Duration = Duration::from_secs(300);

impl Dashboard {
    pub(super) fn load_alerts(&mut self, at: DateTime<Utc>) {
        let reader = self.details.clone();
        self.spawn(move || {
            Msg::Alerts(reader.read(|reader| queries::alert_page(reader, at)).map_err(|error| error.to_string()))
        });
    }

    /// Reads the statistics with a reader of their own: the cost grows with the number of transactions, so no other
    /// read must wait.
    pub(super) fn load_statistics(&mut self, range: ChartRange) {
        let (reader, clock, profile) = (self.charts.clone(), self.clock.clone(), self.model.setting.profile.clone());
        self.spawn(move || {
            let began = clock.now();
            let read = reader.read(|reader| queries::statistics(reader, &profile, range, began.wall));
            let read_time = clock.now().mono.since(began.mono);
            Msg::Statistics(Box::new((range, read.map_err(|error| error.to_string()), read_time)))
        });
    }

    pub(super) fn load_log(&mut self, known: Option<u64>) {
        let log = self.log.clone();
        self.spawn(move || {
            Msg::Log(log.map_or(Err("There is no log file.".into()), |log| log_tail::read(&log, known)))
        });
    }

    /// Runs blocking work on the pool. The result arrives as a message.
    pub(super) fn spawn(&mut self, work: impl FnOnce() -> Msg + Send + 'static) {
        self.tasks.spawn_blocking(work);
    }

    /// Like `spawn`, for work that may fail: the error arrives as a message too.
    pub(super) fn spawn_fallible(&mut self, work: impl FnOnce() -> Result<Msg, StoreError> + Send + 'static) {
        self.spawn(move || work().unwrap_or_else(|error| Msg::Failed(error.to_string())));
    }

    /// Reads the store on the pool. The result or the error arrives as a message.
    pub(super) fn query(&mut self, work: impl FnOnce(&Reader) -> Result<Msg, StoreError> + Send + 'static) {
        let reader = self.details.clone();
        self.spawn_fallible(move || reader.read(work));
    }

    pub(super) fn request_page(&mut self, request: PageRequest) {
        // The result for another view is no longer needed.
        if self.paging.is_some_and(|(view, _)| view != request.view) {
            self.pages.cancel();
        }
        if self.counting.began.is_some_and(|(_, view)| view != request.view) {
            self.numbers.cancel();
        }
        self.next_page = Some(request);
    }

    /// Returns when the requested page may be read; `None` if no page is requested, or a read is running.
    pub(super) fn page_due(&self) -> Option<MonotonicTime> {
        let request = self.next_page.as_ref().filter(|_| self.paging.is_none())?;
        let (view, end) = self.page_pause;
        Some(if view == request.view { end } else { MonotonicTime::default() })
    }

    pub(super) fn read_page_if_due(&mut self, now: MonotonicTime) {
        if self.page_due().is_some_and(|due| due <= now)
            && let Some(next) = self.next_page.take()
        {
            self.read_page(next);
        }
    }

    pub(super) fn finish_page(&mut self) {
        let now = self.clock.now().mono;
        let Some((view, began)) = self.paging.take() else { return };
        let cost = now.since(began);
        self.page_pause = (view, if cost > NOTICED { now + (cost * PAGE_PAUSE).min(MAX_PAUSE) } else { now });
    }

    fn read_page(&mut self, request: PageRequest) {
        let Now { mono, wall } = self.clock.now();
        self.paging = Some((request.view, mono));
        let reread_after = if self.pace.is_active() { REREAD_AFTER } else { REREAD_AFTER_IDLE };
        let is_fresh = self.full_read_at.is_some_and(|at| mono.since(at) < reread_after);
        // No other page is applied before this one, so the known rows stay valid.
        let known = if is_fresh { self.model.loaded_rows() } else { LoadedRows::default() };
        if !is_fresh {
            self.full_read_at = Some(mono);
        }
        let pages = self.pages.clone();
        self.spawn(move || {
            let page = pages.read(|reader| {
                // The rows that are known and unchanged are left out.
                reader.listing(&request.filter, wall).page(request.position.clone(), request.length, &known)
            });
            Msg::Page(Box::new((request, page.map_err(|error| error.to_string()))))
        });
    }

    pub(super) fn count_if_due(&mut self, now: MonotonicTime) {
        if self.counting.due(self.pace.is_active()).is_none_or(|due| now < due) {
            return;
        }
        (self.counting.is_requested, self.counting.began) = (false, Some((now, self.model.list.view())));
        let (wall, list) = (self.clock.now().wall, &self.model.list);
        let (listed, whole, view, first) =
            (list.combined_filter(), list.whole_tab(), list.view(), list.part.rows.first().copied());
        let profiles: Vec<String> = self.model.setting.profiles().map(str::to_owned).collect();
        let numbers = self.numbers.clone();
        self.spawn(move || {
            let overview =
                numbers.read(|reader| queries::overview(reader, &listed, whole, wall, view, first, &profiles));
            Msg::Counted(Box::new((view, overview.map_err(|error| error.to_string()))))
        });
    }

    pub(super) fn finish_count(&mut self) {
        let now = self.clock.now().mono;
        let cost = self.counting.began.take().map_or(Duration::ZERO, |(began, _)| now.since(began));
        self.counting.last = Some((now, cost));
    }

    /// Whether the loop reads changes right after a commit. While the keyboard is idle, one read a second is enough for
    /// the one frame a second.
    pub(super) fn reads_immediately(&self) -> bool {
        self.change_read != ChangeRead::Running && self.pace.is_active()
    }

    /// Starts a postponed read of changes. Returns whether a read has started.
    pub(super) fn read_if_postponed(&mut self) -> bool {
        let reads = match self.change_read {
            ChangeRead::Running => false,
            ChangeRead::RetryAtTick => true,
            ChangeRead::Idle => self.commits.has_changed().unwrap_or(false),
        };
        if reads {
            self.read_changes();
        }
        reads
    }

    pub(super) fn read_changes(&mut self) {
        self.commits.mark_unchanged();
        self.change_read = ChangeRead::Running;
        let (feed_reader, store, at) = (self.feed_reader.clone(), self.store.clone(), self.clock.now().wall);
        let setting = self.model.setting.clone();
        self.spawn(move || {
            let read = feed_reader.changes_with(|feed, reader| {
                let others = setting.other_profiles.iter().map(|profile| reader.polling(profile, at));
                Ok(StoreUpdate {
                    feed,
                    own: reader.polling(&setting.profile, at)?,
                    other_profiles: others.collect::<Result<_, _>>()?,
                    profile_alerts: reader.alerts(AlertQuery::OfProfiles)?,
                    notification_errors: queries::notification_errors(reader, &setting)?,
                })
            });
            match read {
                Ok(feed) => Msg::StoreChanged(Box::new(feed)),
                Err(error) => {
                    store.report_fault(&error);
                    Msg::NotRead(error.to_string())
                }
            }
        });
    }
}
