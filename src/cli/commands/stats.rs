//! `hoptop stats`: prints outcomes and durations by route, and the use of the budget.
//!
//! The command reads only the store; it must never send a request.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use chrono::{DateTime, Utc};
use clap::Args;
use color_eyre::eyre::Result;
use serde::Serialize;

use crate::{
    budget::Ledger,
    cli::{
        context::Context,
        output::{
            schema::Schema,
            table::{self, TableColumn},
        },
    },
    domain::{
        chains,
        duration_stats::DurationStats,
        evidence::{self, Evidence},
        forecast::Quantile,
        histogram::percentile,
        ids::ChainId,
        need::{self, Need},
        poller::{PollerHealth, PollerReport},
        polling::PollingState,
        service_level::{self, ServiceLevel},
        span::{self, rfc3339},
        status::RouterStatus,
        text,
    },
    runtime::exit::Exit,
    store::{Reader, RouteStats},
};

const COLUMNS: [TableColumn; 9] = [
    ("ROUTE", false),
    ("TRACKED", true),
    ("OUTCOMES", false),
    ("IN TIME", true),
    ("TIMED", true),
    ("P50", true),
    ("P90", true),
    ("P99", true),
    ("FORECAST P50/P90", false),
];
/// The number of newest weeks that are printed; the JSON has all.
const WEEKS_SHOWN: usize = 8;
/// The assumed duration of a request while no poller runs.
const ASSUMED_REQUEST_TIME: Duration = Duration::from_millis(200);

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Print outcomes and durations by route, and the budget
  hoptop stats
  # Print the number of polls per second that are needed
  hoptop stats --json | jq '.budget.need'

IN TIME is the share that settled within the deadline. The deadline is the submission time plus the larger of 15 \
minutes and twice the estimate. A transfer is late if an answer after its deadline shows it unsettled. A transfer \
isn't counted if its submission time is unknown, or if no answer shows whether it settled before or after its \
deadline. A transfer counts in the week of its submission or, if that is unknown, in the week when hoptop first saw \
it (UTC). TIMED counts transfers with a known duration: submittedAt was given, and the polls before and after the end \
were close together. It counts at most the newest 500 of each route, also those of deleted transfers.";

/// The arguments of `hoptop stats`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StatsArgs {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The current need and budget: from the poller's report, or estimated from the store and the limit if no poller runs.
pub(crate) struct BudgetStatus {
    /// The need, and the requests that the budget allows.
    pub need: Need,
    /// The polling of the profile. A poller that waits for another one counts as no poller.
    pub polling: PollingState,
    /// The time of this status.
    now: DateTime<Utc>,
}

impl BudgetStatus {
    /// Reads the status from the store. `rps` is the limit for the estimate if no poller runs.
    pub(crate) fn read(reader: &Reader, rps: f64, cx: &Context<'_>) -> Result<Self> {
        let now = cx.now.wall;
        let mut polling = reader.polling(&cx.profile, now)?;
        polling.poller = polling.poller.filter(|report| report.health != PollerHealth::Waiting);
        let load = reader.polling_load(&cx.profile, now)?;
        let estimated_need = || Need {
            polls: need::polls(load.polled, load.young),
            allowed: Ledger::new(rps, cx.now.mono).throughput(ASSUMED_REQUEST_TIME),
            unsettled: load.polled as u64,
        };
        let reported_need = polling.live_poller(now).and_then(|report| report.need);
        Ok(Self { need: reported_need.unwrap_or_else(estimated_need), polling, now })
    }

    /// Returns the poller's report, if a poller runs.
    pub(crate) fn poller(&self) -> Option<&PollerReport> {
        self.polling.live_poller(self.now)
    }

    /// Returns a line on the need and a line on the poller, for people.
    pub(crate) fn lines(&self) -> [String; 2] {
        let oldest = self.polling.oldest_age(self.now).map_or_else(|| "-".into(), span::long);
        let polling = match self.poller() {
            None => "no poller is running; the budget is estimated from the limit".into(),
            Some(report) => {
                let cut = if report.share < 1.0 {
                    format!(
                        ", cut to {:.0} % after an HTTP 429 (if more follow, the ID allows less than --rps)",
                        report.share * 100.0
                    )
                } else {
                    String::new()
                };
                format!(
                    "{}: id limit {} requests/s{cut}, {:.2} used; {} requests, {} throttled",
                    report.health, report.rps, report.used, report.requests, report.throttled
                )
            }
        };
        [self.need.sentence(), format!("{polling}; oldest answer {oldest}")]
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatsView<'a> {
    profile: &'a str,
    routes: Vec<RouteView<'a>>,
    deadlines: LevelView,
    weeks: Vec<WeekView>,
    indexing: Vec<IndexingView<'a>>,
    budget: BudgetView,
    schema: Schema,
}

/// How many transfers settled within their deadline.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LevelView {
    met: u64,
    missed: u64,
    unknown: u64,
    share: Option<f64>,
}

impl From<ServiceLevel> for LevelView {
    fn from(level: ServiceLevel) -> Self {
        let ServiceLevel { met, missed, unknown } = level;
        Self { met, missed, unknown, share: level.share() }
    }
}

/// How many of the transfers that were submitted in an ISO week settled within their deadline.
#[derive(Serialize)]
struct WeekView {
    week: String,
    deadlines: LevelView,
}

/// How long the service takes to index the transactions of a source chain.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IndexingView<'a> {
    chain_id: &'a str,
    timed: u64,
    p50: f64,
    p95: f64,
}

impl<'a> IndexingView<'a> {
    /// Returns a view for each chain, those with the most timed transactions first.
    fn all(duration_stats: &'a DurationStats) -> Vec<Self> {
        let seconds =
            |evidence: &Evidence, quantile| evidence::indexing_forecast(evidence).quantile(quantile).as_secs_f64();
        let view = |(chain, evidence): (&'a ChainId, &Evidence)| Self {
            chain_id: chain.as_str(),
            timed: evidence.count,
            p50: seconds(evidence, Quantile::P50),
            p95: seconds(evidence, Quantile::P95),
        };
        let mut views: Vec<_> = duration_stats.chains.iter().map(view).collect();
        views.sort_by_key(|view| (Reverse(view.timed), view.chain_id));
        views
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RouteView<'a> {
    from_chain_id: &'a str,
    to_chain_id: &'a str,
    is_gmp: bool,
    count: u64,
    outcomes: BTreeMap<&'static str, u64>,
    deadlines: LevelView,
    timed: usize,
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    forecast: Option<ForecastView>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ForecastView {
    p50: f64,
    p90: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BudgetView {
    need: f64,
    allowed: f64,
    short: bool,
    unsettled: u64,
    sweep: f64,
    target: f64,
    oldest_answer: Option<f64>,
    sentence: String,
    polling: bool,
    rps: Option<f64>,
    share: Option<f64>,
    used: Option<f64>,
    requests: Option<u64>,
    throttled: Option<u64>,
    health: Option<PollerHealth>,
    resting_until: Option<String>,
}

impl From<&BudgetStatus> for BudgetView {
    fn from(budget: &BudgetStatus) -> Self {
        let (need, poller) = (&budget.need, budget.poller());
        Self {
            need: need.polls,
            allowed: need.allowed,
            short: need.is_short(),
            unsettled: need.unsettled,
            sweep: need.sweep().as_secs_f64(),
            target: need::TARGET.as_secs_f64(),
            oldest_answer: budget.polling.oldest_age(budget.now).map(|oldest| oldest.as_secs_f64()),
            sentence: need.sentence(),
            polling: poller.is_some(),
            rps: poller.map(|report| report.rps),
            share: poller.map(|report| report.share),
            used: poller.map(|report| report.used),
            requests: poller.map(|report| report.requests),
            throttled: poller.map(|report| report.throttled),
            health: poller.map(|report| report.health),
            resting_until: poller.and_then(|report| report.resting_until).map(rfc3339),
        }
    }
}

impl<'a> RouteView<'a> {
    fn new(stats: &'a RouteStats, level: ServiceLevel) -> Self {
        let [p50, p90, p99] = [50, 90, 99].map(|share| percentile(&stats.past.durations, share));
        let seconds = |span: Option<Duration>| span.map(|span| span.as_secs_f64());
        let forecast =
            observed_forecast(stats).map(|[p50, p90]| ForecastView { p50: p50.as_secs_f64(), p90: p90.as_secs_f64() });
        Self {
            from_chain_id: stats.route.from.as_str(),
            to_chain_id: stats.route.to.as_str(),
            is_gmp: stats.route.is_gmp,
            count: stats.outcomes.values().sum(),
            // As in the other outputs, and the summary of `watch`.
            outcomes: count_by_name(&stats.outcomes),
            deadlines: level.into(),
            timed: stats.past.durations.len(),
            p50: seconds(p50),
            p90: seconds(p90),
            p99: seconds(p99),
            forecast,
        }
    }
}

/// Returns the number of transactions with each documented status, with `unknown` and with no answer, which has the empty
/// name in the store.
fn count_by_name(outcomes: &BTreeMap<String, u64>) -> BTreeMap<&'static str, u64> {
    let mut named = BTreeMap::new();
    for (status, count) in outcomes {
        let name = if status.is_empty() { "unanswered" } else { RouterStatus::from(status.clone()).name() };
        *named.entry(name).or_default() += count;
    }
    named
}

/// Prints the statistics.
pub(crate) fn stats(args: &StatsArgs, rps: f64, cx: &mut Context) -> Result<Exit> {
    let reader = cx.store.reader()?;
    let budget = BudgetStatus::read(&reader, rps, cx)?;
    // In one snapshot, so that the numbers agree.
    let (mut routes, levels) =
        reader.snapshot(|| Ok((reader.routes(&cx.profile, None)?, reader.service_levels(&cx.profile)?)))?;
    // The routes with the most transactions first.
    routes.sort_by_key(|stats| Reverse(stats.outcomes.values().sum::<u64>()));
    let level = |stats: &RouteStats| levels.by_route.get(&stats.route).copied().unwrap_or_default();
    let duration_stats = reader.duration_stats(&cx.profile)?;
    let indexing = IndexingView::all(&duration_stats);
    if args.json {
        let view = StatsView {
            indexing,
            profile: &cx.profile,
            routes: routes.iter().map(|stats| RouteView::new(stats, level(stats))).collect(),
            deadlines: levels.total().into(),
            weeks: levels
                .by_week
                .iter()
                .map(|(week, level)| WeekView { week: service_level::week_name(*week), deadlines: (*level).into() })
                .collect(),
            budget: (&budget).into(),
            schema: Schema::Stats,
        };
        writeln!(cx.out, "{}", serde_json::to_string(&view)?)?;
        return Ok(Exit::Success);
    }
    if routes.is_empty() {
        writeln!(cx.out, "nothing is tracked yet")?;
    }
    table::write(COLUMNS, routes.iter().map(|stats| table_row(stats, level(stats))), cx.out)?;
    if routes.iter().any(|stats| observed_forecast(stats).is_none()) {
        let least = evidence::MIN_SHOWN;
        writeln!(
            cx.out,
            "A route gets a forecast for transfers without an estimate after {least} of its transfers are timed."
        )?;
    }
    if let Some(sentence) = levels.total().sentence() {
        writeln!(cx.out, "IN TIME {sentence}")?;
    }
    let weeks = levels.by_week.iter().rev().filter_map(|(week, level)| Some((week, level.sentence()?)));
    for (week, level) in weeks.take(WEEKS_SHOWN) {
        writeln!(cx.out, "WEEK    {}: {level}", service_level::week_name(*week))?;
    }
    for IndexingView { chain_id, timed, p50, p95 } in indexing.iter().filter(|view| view.timed >= evidence::MIN_SHOWN) {
        let name = chains::short_name(&ChainId::new(*chain_id), None);
        writeln!(cx.out, "INDEXED {name}: half within {p50:.0}s, 95 in 100 within {p95:.0}s ({timed} timed)")?;
    }
    let [need, polling] = budget.lines();
    writeln!(cx.out, "BUDGET  {need}")?;
    writeln!(cx.out, "POLL    {polling}")?;
    Ok(Exit::Success)
}

fn table_row(stats: &RouteStats, level: ServiceLevel) -> [String; 9] {
    let RouteStats { route, outcomes, past, .. } = stats;
    let name = |id| chains::short_name(id, None);
    let gmp = if route.is_gmp { " GMP" } else { "" };
    let outcome = |(status, count): (&String, &u64)| match status.as_str() {
        "" => format!("{count} no answer"),
        status => format!("{count} {}", text::clean(status)),
    };
    let spans = [50, 90, 99].map(|share| percentile(&past.durations, share).map_or_else(|| "-".into(), span::long));
    let [p50, p90, p99] = spans;
    let forecast = observed_forecast(stats).map(|spans| spans.map(span::long).join(" / "));
    [
        format!("{}>{}{gmp}", name(&route.from), name(&route.to)),
        outcomes.values().sum::<u64>().to_string(),
        outcomes.iter().map(outcome).collect::<Vec<_>>().join(", "),
        level.percent().unwrap_or_else(|| "-".into()),
        past.durations.len().to_string(),
        p50,
        p90,
        p99,
        forecast.unwrap_or_else(|| "-".into()),
    ]
}

/// Returns the forecast median and 90th percentile of a transfer without an estimate; `None` without enough
/// observations.
fn observed_forecast(stats: &RouteStats) -> Option<[Duration; 2]> {
    let evidence = &stats.past.evidence;
    evidence.route.durations.is_enough().then(|| {
        let forecast = evidence.forecast(None);
        [Quantile::P50, Quantile::P90].map(|quantile| forecast.quantile(quantile))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::context::testing::CommandFixture,
        domain::{fixtures, status::RouterStatus},
    };

    /// Returns a store with thirty transfers that took 100 to 390 s, and an ongoing one.
    fn fixture() -> CommandFixture {
        let fixture = CommandFixture::new();
        for number in 1..=31 {
            let mut new = fixtures::new(number);
            new.params.submitted_at = Some(crate::cli::context::testing::at(-600));
            let row = fixture.track(new);
            let ends = 100 + 10 * (number - 1);
            fixture.observe(row, fixtures::says(RouterStatus::Ongoing), ends - 601);
            if number < 31 {
                fixture.observe(row, fixtures::says(RouterStatus::Success), ends - 599);
            }
        }
        fixture
    }

    fn run(json: bool) -> String {
        let mut fixture = fixture();
        let (out, err, exit) = fixture.run(|cx| stats(&StatsArgs { json }, 1.0, cx));
        assert_eq!((err.as_str(), exit.unwrap()), ("", Exit::Success));
        out
    }

    #[test]
    fn table_shows_outcomes_and_durations_of_each_route() {
        let out = run(false);
        assert_eq!(
            out,
            "ROUTE     TRACKED  OUTCOMES               IN TIME  TIMED  P50  P90     P99  FORECAST P50/P90\n\
             ARB>BASE       31  1 ongoing, 30 success    100 %     30   4m   6m  6m 30s  3m 49s / 6m 35s\n\
             IN TIME 100 % of 30 that settled or passed their deadline were in time\n\
             WEEK    2023-W46: 100 % of 30 that settled or passed their deadline were in time\n\
             BUDGET  1 to poll: 0.01 requests/s needed, 0.83 allowed by the budget; polling each once takes 5s \
             (target 1m 30s)\n\
             POLL    no poller is running; the budget is estimated from the limit; oldest answer 4m 21s\n"
        );
    }

    #[test]
    fn transactions_without_an_answer_or_a_documented_status_have_a_name_in_json() {
        let mut fixture = CommandFixture::new();
        fixture.track(fixtures::new(1));
        let (out, _, exit) = fixture.run(|cx| stats(&StatsArgs { json: true }, 1.0, cx));
        let view: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(
            (exit.unwrap(), &view["routes"][0]["outcomes"]),
            (Exit::Success, &serde_json::json!({"unanswered": 1}))
        );
        for (number, status) in [(2, "settling"), (3, "SUCCESS")] {
            let row = fixture.track(fixtures::new(number));
            fixture.observe(row, fixtures::says(RouterStatus::Unknown(status.to_owned())), 9);
        }
        let (out, ..) = fixture.run(|cx| stats(&StatsArgs { json: true }, 1.0, cx));
        let view: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(view["routes"][0]["outcomes"], serde_json::json!({"unanswered": 1, "unknown": 2}));
    }

    #[test]
    fn json_has_the_same_statistics() {
        let out: serde_json::Value = serde_json::from_str(&run(true)).unwrap();
        let route = &out["routes"][0];
        assert_eq!((&route["count"], &route["timed"]), (&31.into(), &30.into()));
        let all_met = serde_json::json!({"met": 30, "missed": 0, "unknown": 0, "share": 1.0});
        assert_eq!((&out["deadlines"], &route["deadlines"]), (&all_met, &all_met));
        assert_eq!(out["weeks"], serde_json::json!([{"week": "2023-W46", "deadlines": all_met}]));
        assert_eq!(out["indexing"], serde_json::json!([]));
        assert_eq!((&route["p50"], &route["outcomes"]["success"]), (&240.0.into(), &30.into()));
        assert_eq!((&out["budget"]["short"], &out["budget"]["polling"]), (&false.into(), &false.into()));
    }

    #[test]
    fn indexing_times_of_a_chain_are_printed() {
        let mut fixture = CommandFixture::new();
        for number in 1..=25 {
            let mut new = fixtures::new(number);
            new.params.submitted_at = Some(crate::cli::context::testing::at(0));
            let row = fixture.track(new);
            fixture.observe(row, fixtures::says(RouterStatus::NotFound), 28);
            fixture.observe(row, fixtures::says(RouterStatus::Ongoing), 32);
        }
        let (out, ..) = fixture.run(|cx| stats(&StatsArgs { json: false }, 1.0, cx));
        assert!(out.contains("\nINDEXED ARB: half within 24s, 95 in 100 within 33s (25 timed)\n"), "{out}");
        let (out, ..) = fixture.run(|cx| stats(&StatsArgs { json: true }, 1.0, cx));
        assert!(out.contains(r#""indexing":[{"chainId":"42161","timed":25,"p50":23."#), "{out}");
    }
}
