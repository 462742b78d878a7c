//! The HTML page of an export: outcomes, timeline, durations, and each transfer with its verdict, in one file without
//! network use.
//!
//! The totals stand before the transfers, so the lines of the transfers go to a temporary file first, and only a few
//! numbers of each are in memory. Text from outside must never become markup, nor a link that may not be opened.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, BufWriter, Seek, Write},
    time::Duration,
};

use askama::Template;
use chrono::{DateTime, FixedOffset, Utc};
use tempfile::SpooledTempFile;

use super::{columns::RowData, format::ExportOptions};
use crate::{
    domain::{
        advice, chains,
        duration_stats::RouteKey,
        histogram::{Histogram, percentile},
        ids::ChainId,
        link, route,
        service_level::{self, ServiceLevel, ServiceLevels},
        settled_duration::SettledDuration,
        span,
        status::RouterStatus,
        text,
        transaction::Transaction,
    },
    presentation::row_text,
};

/// The length of the transfers' lines, in bytes, above which they go to a temporary file.
const MAX_IN_MEMORY: usize = 8 << 20;
/// The maximum number of bars in a chart.
const MAX_BARS: usize = 10;
/// The number of sections of a line of the timeline.
const POINTS: i32 = 120;
/// The width and height of the timeline, without its texts.
const TIMELINE_SIZE: (f64, f64) = (600.0, 140.0);
/// The y coordinate of the timeline's lower edge.
const BOTTOM: f64 = 150.0;

/// The totals of all transfers. Holds a few bytes per transfer.
#[derive(Default)]
struct ReportTotals {
    outcomes: BTreeMap<(u8, String), (&'static str, u64)>,
    attention: usize,
    submitted: Vec<DateTime<Utc>>,
    settled: Vec<DateTime<Utc>>,
    durations: Vec<Duration>,
    levels: ServiceLevels,
    /// The settled transfers whose duration is only bounded, or whose submission isn't known.
    unmeasured: usize,
}

/// A page that is being written.
pub(super) struct ReportPage<'a> {
    options: ExportOptions<'a>,
    out: &'a mut dyn Write,
    totals: ReportTotals,
    lines: BufWriter<SpooledTempFile>,
}

/// The transfers that settled within their deadline: all in a sentence, by route and by week.
struct DeadlineChart {
    sentence: String,
    routes: Vec<ChartBar>,
    weeks: Vec<ChartBar>,
}

/// A bar of a chart: its name, its colour class, its value for people, and its length in hundredths of the chart.
struct ChartBar {
    name: String,
    tone: &'static str,
    value: String,
    share: u64,
}

struct ReportTimeline {
    from: String,
    to: String,
    settled: usize,
    submitted_path: String,
    settled_path: String,
}

#[derive(Template)]
#[template(path = "head.html", config = "assets/report/askama.toml")]
struct ReportHead {
    title: String,
    filter_sentence: String,
    as_of: String,
    version: &'static str,
    total: usize,
    attention: usize,
    outcomes: Vec<ChartBar>,
    timeline: Option<ReportTimeline>,
    levels: Option<DeadlineChart>,
    durations: Vec<ChartBar>,
    quantiles: Option<String>,
}

struct ReportLink<'a> {
    name: &'static str,
    url: &'a str,
}

#[derive(Template)]
#[template(path = "row.html", config = "assets/report/askama.toml")]
struct ReportRow<'a> {
    hash: &'a str,
    ticket: &'a str,
    labels: &'a [String],
    route: String,
    status: String,
    tone: &'static str,
    urgency: u8,
    submitted: String,
    submitted_key: i64,
    duration: String,
    duration_key: u64,
    verdict: String,
    say: String,
    act: String,
    links: Vec<ReportLink<'a>>,
}

#[derive(Template)]
#[template(path = "tail.html", config = "assets/report/askama.toml")]
struct ReportFooter {
    total: usize,
}

impl ReportTotals {
    fn count(&mut self, row: &RowData) {
        let tx = row.tx;
        let (name, tone, urgency) = outcome(tx);
        self.outcomes.entry((urgency, name)).or_insert((tone, 0)).1 += 1;
        self.attention += usize::from(!row.alerts.is_empty());
        let submitted = tx.deadline().submitted;
        self.submitted.push(submitted);
        if let Some(result) = row.deadline {
            self.levels.count(RouteKey::of(tx), submitted, result);
        }
        if let Some(settled) = tx.state.settled_at {
            self.settled.push(settled);
        }
        match SettledDuration::of(tx).map(SettledDuration::measured) {
            Some(Some(duration)) => self.durations.push(duration),
            Some(None) => self.unmeasured += 1,
            None => {}
        }
    }

    /// Returns the part of the page before the transfers.
    fn head(mut self, options: ExportOptions<'_>) -> ReportHead {
        let ExportOptions { filter_text, now, zone, .. } = options;
        let total = self.submitted.len();
        self.durations.sort_unstable();
        ReportHead {
            title: text::counted(total, "transfer"),
            filter_sentence: if filter_text.is_empty() {
                "All tracked transfers.".into()
            } else {
                format!("Filter: {filter_text}.")
            },
            as_of: now.with_timezone(&zone).format("%Y-%m-%d %H:%M:%S %:z").to_string(),
            version: env!("CARGO_PKG_VERSION"),
            total,
            attention: self.attention,
            outcomes: self.outcomes(),
            timeline: self.timeline(now, zone),
            levels: self.levels(),
            durations: self.durations(),
            quantiles: self.quantiles(),
        }
    }

    fn outcomes(&self) -> Vec<ChartBar> {
        bars(self.outcomes.iter().map(|((_, name), (tone, count))| (name.clone(), *tone, *count)))
    }

    fn levels(&self) -> Option<DeadlineChart> {
        let bar = |name: String, tone: &'static str, level: &ServiceLevel| {
            Some(ChartBar { name, tone, value: level.percent()?, share: level.whole_percent()? })
        };
        let mut routes: Vec<_> = self.levels.by_route.iter().collect();
        // The routes with the most transfers first.
        routes.sort_by_key(|(_, level)| Reverse(level.met + level.missed));
        let routes = routes.into_iter().filter_map(|(route, level)| bar(route_name(route), "good", level));
        let weeks = self.levels.by_week.iter().rev();
        let weeks = weeks.filter_map(|(week, level)| bar(service_level::week_name(*week), "wait", level));
        Some(DeadlineChart {
            sentence: self.levels.total().sentence()?,
            routes: routes.take(MAX_BARS).collect(),
            weeks: weeks.take(MAX_BARS).collect(),
        })
    }

    fn durations(&self) -> Vec<ChartBar> {
        let buckets = Histogram::of(&self.durations).buckets(MAX_BARS);
        bars(buckets.iter().map(|bucket| (format!("from {}", bucket.label()), "wait", bucket.count)))
    }

    fn quantiles(&self) -> Option<String> {
        let of = |share| percentile(&self.durations, share).map(span::long);
        let Some(((half, most), all)) = of(50).zip(of(90)).zip(of(100)) else {
            return (self.unmeasured > 0).then(|| {
                format!("No duration was measured: {} settled unobserved or have no submission time.", self.unmeasured)
            });
        };
        let unmeasured = match self.unmeasured {
            0 => String::new(),
            count => format!(" Not counted: {count} that settled unobserved or have no submission time."),
        };
        let measured = self.durations.len();
        Some(format!("Half settled within {half}, 9 in 10 within {most}, all {measured} within {all}.{unmeasured}"))
    }

    fn timeline(&mut self, now: DateTime<Utc>, zone: FixedOffset) -> Option<ReportTimeline> {
        self.submitted.sort_unstable();
        self.settled.sort_unstable();
        let from = *self.submitted.first()?;
        let is_over = self.settled.len() == self.submitted.len();
        let last = self.submitted.last().copied().max(self.settled.last().copied())?;
        let to = if is_over { last } else { last.max(now) };
        let path = |moments: &[DateTime<Utc>]| path(moments, from, to, self.submitted.len());
        Some(ReportTimeline {
            from: span::stamp(from, zone),
            to: span::stamp(to, zone),
            settled: self.settled.len(),
            submitted_path: path(&self.submitted),
            settled_path: path(&self.settled),
        })
    }
}

impl<'a> ReportPage<'a> {
    /// Begins a page. `out` gets nothing before the end.
    pub(super) fn new(options: ExportOptions<'a>, out: &'a mut dyn Write) -> Self {
        let lines = BufWriter::new(SpooledTempFile::new(MAX_IN_MEMORY));
        Self { options, out, totals: ReportTotals::default(), lines }
    }

    /// Adds a transfer.
    pub(super) fn write(&mut self, row: &RowData) -> io::Result<()> {
        self.totals.count(row);
        let RowData { tx, now, zone, .. } = *row;
        let (status, tone, urgency) = outcome(tx);
        let advice::Advice { verdict, say, act, .. } = advice::advise(tx, now, zone);
        let submitted = tx.deadline().submitted;
        let settled = SettledDuration::of(tx);
        let duration = settled.map_or_else(|| tx.age(now), SettledDuration::time);
        let row = ReportRow {
            hash: tx.params.transaction_id.as_str(),
            ticket: tx.params.ticket.as_deref().unwrap_or_default(),
            labels: &tx.labels,
            route: format!("{} to {}", tx.from_name(), tx.to_name()),
            status,
            tone,
            urgency,
            submitted: span::stamp(submitted, zone),
            submitted_key: submitted.timestamp_millis(),
            duration: match settled {
                Some(SettledDuration::Measured(_)) => span::long(duration),
                Some(SettledDuration::AtMost(_)) => format!("at most {}", span::long(duration)),
                Some(SettledDuration::SinceFirstSeen(_)) => format!("{} since first seen", span::long(duration)),
                None => format!("{} so far", span::long(duration)),
            },
            duration_key: duration.as_secs(),
            verdict,
            say,
            act,
            links: links(tx),
        };
        write(&row, &mut self.lines)
    }

    /// Writes the page.
    pub(super) fn end(self) -> io::Result<()> {
        let Self { options, out, totals, lines } = self;
        let total = totals.submitted.len();
        write(&totals.head(options), out)?;
        let mut lines = lines.into_inner().map_err(io::IntoInnerError::into_error)?;
        lines.rewind()?;
        io::copy(&mut lines, out)?;
        write(&ReportFooter { total }, out)
    }
}

/// Writes a template. Only the output can cause an error.
fn write(template: &impl Template, out: &mut dyn Write) -> io::Result<()> {
    Template::write_into(template, &mut &mut *out)?;
    writeln!(out)
}

/// Returns the status in words, its colour class, and its rank in the order by status.
fn outcome(tx: &Transaction) -> (String, &'static str, u8) {
    let status = tx.state.status.as_ref();
    let tone = match status {
        Some(RouterStatus::PartialSuccess | RouterStatus::Unknown(_)) => "bad",
        Some(RouterStatus::NeedsGas | RouterStatus::Refund) => "warn",
        Some(RouterStatus::Ongoing) => "wait",
        Some(RouterStatus::Success) => "good",
        Some(RouterStatus::NotFound) | None => "none",
    };
    (row_text::full_status_name(status), tone, RouterStatus::sort_rank(status))
}

/// Returns the name of a route, `Arbitrum to Base`: the names of the well-known chains, the IDs of the others.
fn route_name(route: &RouteKey) -> String {
    let name = |id: &ChainId| chains::find(id).map_or_else(|| id.to_string(), |chain| chain.name.clone());
    let messages = if route.is_gmp { ", with a message" } else { "" };
    format!("{} to {}{messages}", name(&route.from), name(&route.to))
}

/// Returns the links of a transfer that may be opened.
fn links(tx: &Transaction) -> Vec<ReportLink<'_>> {
    let ends = route::ends(tx);
    let found =
        [("source", ends.source.url), ("destination", ends.destination.url), ("bridge", advice::bridge_link(tx))];
    found.into_iter().filter_map(|(name, url)| Some(ReportLink { name, url: link::check(url?).ok()? })).collect()
}

/// Returns the bars of these names, colour classes and counts.
fn bars(counts: impl Iterator<Item = (String, &'static str, u64)>) -> Vec<ChartBar> {
    let counts: Vec<_> = counts.collect();
    let most = counts.iter().map(|(.., count)| *count).max().unwrap_or_default();
    let bar = |(name, tone, count)| ChartBar { name, tone, share: share(count, most), value: count.to_string() };
    counts.into_iter().map(bar).collect()
}

/// Returns the length of a bar in hundredths of the longest bar; at least 1 unless the count is 0.
fn share(count: u64, most: u64) -> u64 {
    if count == 0 { 0 } else { (count * 100 / most.max(1)).max(1) }
}

/// Returns the SVG path of a line that rises by one `all`th at each of the sorted moments.
fn path(moments: &[DateTime<Utc>], from: DateTime<Utc>, to: DateTime<Utc>, all: usize) -> String {
    let (width, height) = TIMELINE_SIZE;
    let whole = (to - from).num_milliseconds().max(1);
    let mut path = format!("M0 {BOTTOM}");
    for step in 0..=POINTS {
        let moment = from + (to - from) * step / POINTS;
        let count = moments.partition_point(|at| *at <= moment);
        let x = (moment - from).num_milliseconds() as f64 / whole as f64 * width;
        let y = BOTTOM - count as f64 / all.max(1) as f64 * height;
        // Writing to a `String` never fails.
        write!(path, "L{x:.1} {y:.1}").unwrap_or_default();
    }
    path
}
