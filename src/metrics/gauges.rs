//! The gauges, read from the store for each request: transactions by status, alerts, the state of polling, the store's
//! files, and the backlog of webhooks.
//!
//! A label must never name a transaction, a ticket or an integrator ID: metrics are stored elsewhere for a long time.

use std::{collections::BTreeMap, path::PathBuf, sync::atomic::AtomicU64};

use chrono::{DateTime, Utc};
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};
use tokio::sync::watch;

use crate::{
    clock::Clock,
    domain::{
        poller::PollerHealth,
        span,
        status::RouterStatus,
        team::{TeamLink, TeamStatus},
    },
    notify::{WEBHOOK_CHANNEL, WebhookPosts},
    store::{self, Reader, SharedReader, StoreError},
};

/// The labels of a series: names and values.
pub(super) type Labels<const N: usize> = [(&'static str, String); N];

/// A gauge of a number that may have a fraction.
type FloatGauge = Gauge<f64, AtomicU64>;

/// Returns the label of metrics that are separate for each profile.
pub(super) fn profile_label(profile: &str) -> Labels<1> {
    [("profile", profile.to_owned())]
}

/// The sources of the gauges.
pub(super) struct GaugeSources {
    pub(super) reader: SharedReader,
    pub(super) store_path: PathBuf,
    pub(super) posts: WebhookPosts,
    /// The state of the team's store; `None` for a store of one machine.
    pub(super) team: Option<watch::Receiver<TeamStatus>>,
    pub(super) profiles: Vec<String>,
    pub(super) clock: Clock,
}

impl GaugeSources {
    /// Reads the gauges. The cost grows linearly with the number of tracked transactions, in one index.
    pub(super) fn read(&self) -> Result<Registry, StoreError> {
        let now = self.clock.now().wall;
        let mut registry = Registry::with_prefix("hoptop");
        self.reader.read(|reader| {
            self.register_transactions(reader, &mut registry)?;
            self.register_alerts(reader, now, &mut registry)?;
            self.register_polling(reader, now, &mut registry)?;
            self.register_webhooks(reader, now, &mut registry)
        })?;
        self.register_files(now, &mut registry);
        if let Some(team) = &self.team {
            register_team(&team.borrow(), now, &mut registry);
        }
        Ok(registry)
    }

    fn register_transactions(&self, reader: &Reader, registry: &mut Registry) -> Result<(), StoreError> {
        let tracked: Family<Labels<2>, Gauge> = Family::default();
        for profile in &self.profiles {
            let count = |status: &str| {
                tracked.get_or_create_owned(&[("profile", profile.clone()), ("status", status.to_owned())])
            };
            // The gauge of a status without transactions is zero, not absent.
            for status in RouterStatus::DOCUMENTED.iter().map(RouterStatus::name).chain(["unanswered", "unknown"]) {
                count(status).set(0);
            }
            for (status, found) in reader.count_by_status(profile)? {
                count(status.as_ref().map_or("unanswered", RouterStatus::name)).inc_by(whole(found));
            }
        }
        registry.register("transactions", "Tracked transactions, by status", tracked);
        Ok(())
    }

    fn register_alerts(&self, reader: &Reader, now: DateTime<Utc>, registry: &mut Registry) -> Result<(), StoreError> {
        let alerts: Family<Labels<4>, Gauge> = Family::default();
        for profile in &self.profiles {
            for (rule, counts) in reader.alerts_by_rule(Some(profile), now)? {
                for (state, count) in ["firing", "set_aside"].into_iter().zip(counts) {
                    let (rule, severity) = (rule.name().to_owned(), rule.severity().name().to_owned());
                    let state = ("state", state.to_owned());
                    let labels = [("profile", profile.clone()), ("rule", rule), ("severity", severity), state];
                    alerts.get_or_create(&labels).set(whole(count));
                }
            }
        }
        let help = "Active alerts, by rule, severity and whether a person acknowledged or snoozed them";
        registry.register("alerts", help, alerts);
        Ok(())
    }

    fn register_polling(&self, reader: &Reader, now: DateTime<Utc>, registry: &mut Registry) -> Result<(), StoreError> {
        // By name and description.
        let mut gauges: BTreeMap<(&str, &str), Family<Labels<1>, FloatGauge>> = BTreeMap::new();
        let oldest: Family<Labels<1>, FloatGauge> = Family::default();
        let polled: Family<Labels<1>, Gauge> = Family::default();
        for profile in &self.profiles {
            let labels = profile_label(profile);
            let polling = reader.polling(profile, now)?;
            if let Some(age) = polling.oldest_age(now) {
                oldest.get_or_create(&labels).set(age.as_secs_f64());
            }
            let mut set = |name, help, number: f64| {
                gauges.entry((name, help)).or_default().get_or_create(&labels).set(number);
            };
            let report = polling.live_poller(now);
            set("poller_up", "Whether this or another process polls the profile", flag(report.is_some()));
            let help =
                "Whether requests are answered, the budget is large enough, and no answer is older than its target";
            set("polling_good", help, flag(polling.verdict(now).is_good()));
            let Some(report) = report else { continue };
            let need = report.need.unwrap_or_default();
            set("budget_limit", "Limit of the integrator ID in requests per second", report.rps);
            set("budget_used", "Requests per second over the last ten seconds", report.used);
            let help = "Requests per second needed to keep all answers within their target age";
            set("budget_needed", help, need.polls);
            let help = "Requests per second that the budget allows, including response time";
            set("budget_allowed", help, need.allowed);
            let help = "Share of the limit that may be used: less than 1 after an HTTP 429";
            set("budget_share", help, report.share);
            set("poller_paused", "Whether polling is paused", flag(report.health == PollerHealth::Paused));
            polled.get_or_create(&labels).set(whole(report.unsettled));
        }
        for ((name, help), gauge) in gauges {
            registry.register(name, help, gauge);
        }
        let help = "Age of the oldest answer among the polled transactions";
        registry.register_with_unit("oldest_answer_age", help, Unit::Seconds, oldest);
        registry.register("polled_transactions", "Polled transactions", polled);
        Ok(())
    }

    /// Registers the sizes of the store's files and the age of its newest backup.
    fn register_files(&self, now: DateTime<Utc>, registry: &mut Registry) {
        let (database, log) = store::file_sizes(&self.store_path);
        let sizes: Family<[(&str, &str); 1], Gauge> = Family::default();
        for (file, bytes) in [("database", database), ("log", log)] {
            sizes.get_or_create(&[("file", file)]).set(whole(bytes));
        }
        let help = "Size of the store's file and of its write-ahead log";
        registry.register_with_unit("store_size", help, Unit::Bytes, sizes);
        // A backup from the future has a wrong date: its age isn't known.
        let backups = store::backups(&self.store_path, now);
        if let Some(newest) = backups.first().filter(|newest| newest.at <= now) {
            let age = FloatGauge::default();
            age.set(span::between(newest.at, now).as_secs_f64());
            registry.register_with_unit("backup_age", "Age of the newest backup of the store", Unit::Seconds, age);
        }
    }

    /// Registers the posts to webhooks, and the number of events that wait for a post.
    fn register_webhooks(
        &self,
        reader: &Reader,
        now: DateTime<Utc>,
        registry: &mut Registry,
    ) -> Result<(), StoreError> {
        let posts: Family<Labels<2>, Counter> = Family::default();
        let backlogs: Family<Labels<1>, Gauge> = Family::default();
        let ages: Family<Labels<1>, FloatGauge> = Family::default();
        for (profile, state) in self.posts.states().iter().filter(|(profile, _)| self.profiles.contains(profile)) {
            for (outcome, count) in
                [("delivered", state.delivered), ("refused", state.refused), ("failed", state.failed)]
            {
                posts.get_or_create(&[("profile", profile.clone()), ("outcome", outcome.to_owned())]).inc_by(count);
            }
            if state.users > 0 {
                let backlog = reader.backlog(profile, WEBHOOK_CHANNEL, &state.events)?;
                let age = backlog.oldest.map_or(0.0, |oldest| span::between(oldest, now).as_secs_f64());
                backlogs.get_or_create(&profile_label(profile)).set(whole(backlog.events));
                ages.get_or_create(&profile_label(profile)).set(age);
            }
        }
        let help = "Posts of this process to the webhook, by outcome; failed ones are repeated";
        registry.register("webhook_posts", help, posts);
        let help = "Undelivered webhook events among the next 10000 changes";
        registry.register("webhook_backlog", help, backlogs);
        let help = "Age of the oldest undelivered webhook event; 0 if there is none";
        registry.register_with_unit("webhook_backlog_age", help, Unit::Seconds, ages);
        Ok(())
    }
}

/// Registers the metrics of the team's store.
fn register_team(team: &TeamStatus, now: DateTime<Utc>, registry: &mut Registry) {
    let lag = FloatGauge::default();
    lag.set(team.behind_since.map_or(0.0, |since| span::between(since, now).as_secs_f64()));
    let help = "Age of the oldest log entry that isn't applied yet";
    registry.register_with_unit("team_lag", help, Unit::Seconds, lag);
    let is_live = team.link == TeamLink::Live;
    let epoch = team.poller.as_ref().and_then(|poller| poller.epoch).unwrap_or(0);
    // While the database is away, nobody of the team is known to poll.
    let poller = team.poller.as_ref().filter(|_| is_live);
    let is_here = poller.is_some_and(|poller| poller.host == team.host);
    for (name, help, number) in [
        ("team_up", "Whether this process follows the log of the team's store", u64::from(is_live)),
        ("team_applied_entry", "Number of the newest entry that this machine has applied", team.applied),
        ("team_lag_entries", "Entries of the log that aren't applied yet", team.head.saturating_sub(team.applied)),
        ("team_members", "Connected processes of people", team.online_count() as u64),
        ("team_polled", "Whether a machine of the team polls", u64::from(poller.is_some())),
        ("team_polling", "Whether this machine polls", u64::from(is_here)),
        ("team_epoch", "Number of times the lease was taken", epoch),
    ] {
        let gauge: Gauge = Gauge::default();
        gauge.set(whole(number));
        registry.register(name, help, gauge);
    }
    let appended: Counter = Counter::default();
    appended.inc_by(team.appended);
    registry.register("team_appended_entries", "Entries that this process has appended to the log", appended);
}

fn flag(is_true: bool) -> f64 {
    f64::from(u8::from(is_true))
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
