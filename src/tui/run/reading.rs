//! The loop's reading of the store, on the pool: what changed, parts of the list, the numbers.
//!
//! One reading of a kind at a time, and the dearer it is, the longer it rests. It must never make the loop wait.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::Dashboard;
use crate::{
    clock::{Mono, Now},
    domain::{
        filter::Named,
        ids::{RowId, TxHash},
    },
    store::{AlertQuery, Known, Reader, SharedReader, StoreError},
    tui::{
        effect::Markable,
        model::list::PageRequest,
        queries, tail,
        update::{Msg, StoreNews},
    },
};

/// Counting takes at most one in so many seconds: of a million it costs more than of a thousand.
const COUNTING: u32 = 20;
/// The same while nobody is at the keyboard, unless the numbers would be older than so long.
const COUNTING_UNATTENDED: (u32, Duration) = (4_000, Duration::from_secs(10));
/// As `COUNTING`, for reading the list anew, if that takes long enough to be noticed.
const PAGING: u32 = 4;
const NOTICED: Duration = Duration::from_millis(50);
/// For so long rows that nothing happened to needn't be read again: what is learned of chains and routes is no news of theirs.
const KNOWN_FOR: Duration = Duration::from_secs(30);
/// The same while nobody is at the keyboard.
const KNOWN_FOR_UNATTENDED: Duration = Duration::from_secs(300);
/// No rest is longer, whatever took so long: the process may have been suspended meanwhile.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// When what is tracked is counted.
#[derive(Default)]
pub(super) struct Counting {
    pub(super) wanted: bool,
    /// Since when it is being counted, and for which view.
    pub(super) began: Option<(Mono, u64)>,
    /// When it was counted last, and how long that took.
    last: Option<(Mono, Duration)>,
}

impl Counting {
    /// When it is to be counted next, if it is wanted.
    pub(super) fn due(&self, attended: bool) -> Option<Mono> {
        if !self.wanted || self.began.is_some() {
            return None;
        }
        let Some((last, cost)) = self.last else { return Some(Mono::default()) };
        let (times, most) = COUNTING_UNATTENDED;
        let rest = (cost * COUNTING).min(LONGEST_REST);
        Some(last + if attended { rest } else { rest.max((cost * times).min(most)) })
    }
}

impl Dashboard {
    pub(super) fn load_history(&mut self, row: RowId) {
        self.read(&self.details.clone(), move |reader| {
            queries::history(reader, row).map(|read| Msg::History(row, Box::new(read)))
        });
    }

    pub(super) fn load_body(&mut self, row: RowId) {
        self.read(&self.details.clone(), move |reader| {
            queries::body(reader, row).map(|read| Msg::Body(row, Box::new(read)))
        });
    }

    pub(super) fn load_alerts(&mut self, at: DateTime<Utc>) {
        let reader = self.details.clone();
        self.spawn(move || {
            Msg::Alerts(reader.read(|reader| queries::alert_page(reader, at)).map_err(|error| error.to_string()))
        });
    }

    /// Reads the charts with a reader of their own, so that nothing else waits for what costs as much as is tracked.
    pub(super) fn load_statistics(&mut self) {
        let (reader, clock, profile) = (self.charts.clone(), self.clock.clone(), self.model.setting.profile.clone());
        self.spawn(move || {
            let began = clock.now();
            let read = reader.read(|reader| queries::statistics(reader, &profile, began.wall));
            let took = clock.now().mono.since(began.mono);
            Msg::Statistics(Box::new((read.map_err(|error| error.to_string()), took)))
        });
    }

    pub(super) fn load_log(&mut self, known: Option<u64>) {
        let log = self.log.clone();
        self.spawn(move || Msg::Log(log.map_or(Err("There is no log file.".into()), |log| tail::read(&log, known))));
    }

    pub(super) fn find_alert(&mut self, from: (RowId, bool), at: DateTime<Utc>) {
        let filter = self.model.list.listed();
        self.read(&self.details.clone(), move |reader| {
            queries::alert(reader, (&filter, at), from).map(Msg::FoundAlert)
        });
    }

    pub(super) fn find_marks(&mut self, wanted: Markable, at: DateTime<Utc>) {
        let filter = self.model.list.listed();
        self.read(&self.details.clone(), move |reader| {
            queries::marks(reader, (&filter, at), wanted).map(Msg::FoundMarks)
        });
    }

    pub(super) fn find_names(&mut self, of: Named, beginning: String) {
        self.read(&self.details.clone(), move |reader| queries::names(reader, of, beginning).map(Msg::Names));
    }

    pub(super) fn find_known(&mut self, hashes: Vec<TxHash>) {
        let profile = self.model.setting.profile.clone();
        self.read(&self.details.clone(), move |reader| queries::known(reader, &profile, &hashes).map(Msg::Known));
    }

    /// Does blocking work on the pool; what it returns comes back as a message.
    pub(super) fn spawn(&mut self, work: impl FnOnce() -> Msg + Send + 'static) {
        self.tasks.spawn_blocking(work);
    }

    /// Reads the store on the pool; what fails is said.
    pub(super) fn read(
        &mut self,
        reader: &SharedReader,
        work: impl FnOnce(&Reader) -> Result<Msg, StoreError> + Send + 'static,
    ) {
        let reader = reader.clone();
        self.spawn(move || reader.read(work).unwrap_or_else(|error| Msg::Fault(error.to_string())));
    }

    pub(super) fn want_page(&mut self, request: PageRequest) {
        // Nobody waits any more for what another filter would have shown.
        let is_other = |reading: &(u64, Mono)| reading.0 != request.view;
        if self.paging.as_ref().is_some_and(is_other) {
            self.pages.cancel();
        }
        if self.counting.began.is_some_and(|(_, view)| view != request.view) {
            self.numbers.cancel();
        }
        self.next_page = Some(request);
    }

    /// When the next part may be read.
    pub(super) fn page_due(&self) -> Option<Mono> {
        let request = self.next_page.as_ref().filter(|_| self.paging.is_none())?;
        let (view, rest) = self.page_rest;
        Some(if view == request.view { rest } else { Mono::default() })
    }

    pub(super) fn read_page_if_due(&mut self, now: Mono) {
        if self.page_due().is_some_and(|due| due <= now)
            && let Some(next) = self.next_page.take()
        {
            self.read_page(next);
        }
    }

    pub(super) fn paged(&mut self) {
        let now = self.clock.now().mono;
        let Some((view, began)) = self.paging.take() else { return };
        let cost = now.since(began);
        self.page_rest = (view, if cost > NOTICED { now + (cost * PAGING).min(LONGEST_REST) } else { now });
    }

    fn read_page(&mut self, request: PageRequest) {
        let Now { mono, wall } = self.clock.now();
        self.paging = Some((request.view, mono));
        let known_for = if self.pace.is_attended() { KNOWN_FOR } else { KNOWN_FOR_UNATTENDED };
        let is_fresh = self.read_whole.is_some_and(|at| mono.since(at) < known_for);
        // No other part comes before this one has: what is known now is known then.
        let known = if is_fresh { self.model.known() } else { Known::default() };
        if !is_fresh {
            self.read_whole = Some(mono);
        }
        let pages = self.pages.clone();
        self.spawn(move || {
            let page = pages.read(|reader| queries::page(reader, (&request, &known), wall));
            Msg::Page(Box::new((request, page.map_err(|error| error.to_string()))))
        });
    }

    pub(super) fn count_if_due(&mut self, now: Mono) {
        if self.counting.due(self.pace.is_attended()).is_none_or(|due| now < due) {
            return;
        }
        (self.counting.wanted, self.counting.began) = (false, Some((now, self.model.list.view())));
        let (wall, list) = (self.clock.now().wall, &self.model.list);
        let (listed, whole, view, first) =
            (list.listed(), list.whole_tab(), list.view(), list.part.rows.first().copied());
        let numbers = self.numbers.clone();
        self.spawn(move || {
            let overview = numbers.read(|reader| queries::overview(reader, (&listed, whole, wall), (view, first)));
            Msg::Counted(Box::new((view, overview.map_err(|error| error.to_string()))))
        });
    }

    pub(super) fn counted(&mut self) {
        let now = self.clock.now().mono;
        let cost = self.counting.began.take().map_or(Duration::ZERO, |(began, _)| now.since(began));
        self.counting.last = Some((now, cost));
    }

    /// Whether a commit is read as soon as it is there. While nobody is at the keyboard one reading a second is as much as
    /// one frame shows.
    pub(super) fn reads_at_once(&self) -> bool {
        !self.reading && self.pace.is_attended()
    }

    /// Reads what changed, if that was put off; whether it does.
    pub(super) fn read_if_wanted(&mut self) -> bool {
        let is_wanted = self.read_again || self.commits.has_changed().unwrap_or(false);
        let reads = is_wanted && !self.reading;
        if reads {
            self.read_news();
        }
        reads
    }

    pub(super) fn read_news(&mut self) {
        self.commits.mark_unchanged();
        (self.reading, self.read_again) = (true, false);
        let (follower, store, at) = (self.follower.clone(), self.store.clone(), self.clock.now().wall);
        let setting = &self.model.setting;
        let (own, beside, told_by) = (setting.profile.clone(), setting.beside.clone(), setting.told_by.clone());
        self.spawn(move || {
            let heard = follower.changes_with(|news, reader| {
                Ok(StoreNews {
                    news,
                    own: queries::polled(reader, &own, at)?,
                    beside: beside
                        .iter()
                        .map(|profile| queries::polled(reader, profile, at))
                        .collect::<Result<_, _>>()?,
                    profile_alerts: reader.alerts(AlertQuery::OfProfiles)?,
                    untold: queries::untold(reader, (&own, &beside), &told_by)?,
                })
            });
            match heard {
                Ok(heard) => Msg::News(Box::new(heard)),
                Err(error) => {
                    store.report_fault(&error);
                    Msg::NotRead(error.to_string())
                }
            }
        });
    }
}
