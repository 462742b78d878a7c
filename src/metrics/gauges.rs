//! The gauges, read from the store for each request: transactions by status, alerts, the state of polling, the store's
//! files, and the backlog of webhooks.
//!
//! A label must never name a transaction, a ticket or an integrator ID: metrics are stored elsewhere for a long time.

use std::collections::BTreeMap;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

use crate::{
    clock::Now,
    domain::{
        poller::{PollerHealth, PollerReport},
        span,
        status::RouterStatus,
        team::{TeamLink, TeamStatus},
    },
    notify::{WEBHOOK_CHANNEL, WebhookState},
    store::{Reader, StoreError, StoreFiles},
};

/// The label of metrics that are separate for each profile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ProfileLabels {
    profile: String,
}

impl ProfileLabels {
    pub(super) fn new(profile: &str) -> Self {
        Self { profile: profile.to_owned() }
    }
}

/// A gauge of a number that may have a fraction.
type FloatGauge = Gauge<f64, std::sync::atomic::AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabels {
    profile: String,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AlertLabels {
    profile: String,
    rule: &'static str,
    severity: &'static str,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FileLabels {
    file: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PostLabels {
    profile: String,
    outcome: &'static str,
}

/// The gauges of all profiles.
#[derive(Default)]
struct Gauges {
    tracked: Family<StatusLabels, Gauge>,
    alerts: Family<AlertLabels, Gauge>,
    oldest: Family<ProfileLabels, FloatGauge>,
    up: Family<ProfileLabels, FloatGauge>,
    limit: Family<ProfileLabels, FloatGauge>,
    used: Family<ProfileLabels, FloatGauge>,
    needed: Family<ProfileLabels, FloatGauge>,
    allowed: Family<ProfileLabels, FloatGauge>,
    share: Family<ProfileLabels, FloatGauge>,
    paused: Family<ProfileLabels, FloatGauge>,
    good: Family<ProfileLabels, FloatGauge>,
    polled: Family<ProfileLabels, Gauge>,
}

/// The sources of one request's gauges, besides the store's tables.
pub(super) struct MetricsSnapshot<'a> {
    pub(super) profiles: &'a [String],
    pub(super) files: &'a StoreFiles,
    pub(super) posts: BTreeMap<String, WebhookState>,
    /// The state of the team's store, if there is one.
    pub(super) team: Option<&'a TeamStatus>,
    pub(super) now: Now,
}

impl MetricsSnapshot<'_> {
    /// Reads the gauges. The cost grows linearly with the number of tracked transactions, in one index.
    pub(super) fn read(&self, reader: &Reader) -> Result<Registry, StoreError> {
        let gauges = Gauges::default();
        self.profiles.iter().try_for_each(|profile| gauges.read(reader, profile, self.now))?;
        let mut registry = gauges.register();
        self.register_files(&mut registry);
        self.register_webhooks(reader, &mut registry)?;
        if let Some(team) = self.team {
            register_team(team, self.now, &mut registry);
        }
        Ok(registry)
    }

    /// Registers the sizes of the store's files and the age of its newest backup.
    fn register_files(&self, registry: &mut Registry) {
        let (database, log) = self.files.sizes();
        let sizes: Family<FileLabels, Gauge> = Family::default();
        for (file, bytes) in [("database", database), ("log", log)] {
            sizes.get_or_create(&FileLabels { file }).set(whole(bytes));
        }
        let help = "Size of the store's file and of its write-ahead log";
        registry.register_with_unit("store_size", help, Unit::Bytes, sizes);
        // A backup from the future has a wrong date: its age isn't known.
        let backups = self.files.backups(self.now.wall);
        if let Some(newest) = backups.first().filter(|newest| newest.at <= self.now.wall) {
            let age = FloatGauge::default();
            age.set(span::between(newest.at, self.now.wall).as_secs_f64());
            registry.register_with_unit("backup_age", "Age of the newest backup of the store", Unit::Seconds, age);
        }
    }

    /// Registers the posts to webhooks, and the number of events that wait for a post.
    fn register_webhooks(&self, reader: &Reader, registry: &mut Registry) -> Result<(), StoreError> {
        let posts: Family<PostLabels, Counter> = Family::default();
        let backlogs: Family<ProfileLabels, Gauge> = Family::default();
        let ages: Family<ProfileLabels, FloatGauge> = Family::default();
        for (profile, state) in self.posts.iter().filter(|(profile, _)| self.profiles.contains(profile)) {
            for (outcome, count) in
                [("delivered", state.delivered), ("refused", state.refused), ("failed", state.failed)]
            {
                posts.get_or_create(&PostLabels { profile: profile.clone(), outcome }).inc_by(count);
            }
            if state.users > 0 {
                let backlog = reader.backlog(profile, WEBHOOK_CHANNEL, &state.events)?;
                let age = backlog.oldest.map_or(0.0, |oldest| span::between(oldest, self.now.wall).as_secs_f64());
                backlogs.get_or_create(&ProfileLabels::new(profile)).set(whole(backlog.events));
                ages.get_or_create(&ProfileLabels::new(profile)).set(age);
            }
        }
        let help = "Posts of this process to the webhook, by outcome; failed ones are repeated";
        registry.register("webhook_posts", help, posts);
        let help = "Events that the webhook has not got yet, among the next 10000 changes";
        registry.register("webhook_backlog", help, backlogs);
        let help = "Age of the oldest event that the webhook has not got yet; 0 without one";
        registry.register_with_unit("webhook_backlog_age", help, Unit::Seconds, ages);
        Ok(())
    }
}

/// Registers the metrics of the team's store.
fn register_team(team: &TeamStatus, now: Now, registry: &mut Registry) {
    let behind = team.behind_since.map_or(0.0, |since| span::between(since, now.wall).as_secs_f64());
    let lag = FloatGauge::default();
    lag.set(behind);
    registry.register_with_unit(
        "team_lag",
        "How long the oldest entry waits that isn't applied yet",
        Unit::Seconds,
        lag,
    );
    for (name, help, number) in [
        ("team_up", "Whether this process follows the log of the team's store", u64::from(team.link == TeamLink::Live)),
        ("team_applied_entry", "Number of the newest entry that this machine has applied", team.applied),
        ("team_lag_entries", "Entries of the log that aren't applied yet", team.head.saturating_sub(team.applied)),
        ("team_members", "Connected processes of people", team.online_count() as u64),
        ("team_polled", "Whether a machine of the team polls", u64::from(team.poller.is_some())),
        (
            "team_polling",
            "Whether this machine polls",
            u64::from(team.poller.as_ref().is_some_and(|poller| poller.host == team.host)),
        ),
        (
            "team_epoch",
            "How often the lease was taken",
            team.poller.as_ref().and_then(|poller| poller.epoch).unwrap_or(0),
        ),
    ] {
        let gauge: Gauge = Gauge::default();
        gauge.set(whole(number));
        registry.register(name, help, gauge);
    }
    let appended: Counter = Counter::default();
    appended.inc_by(team.appended);
    registry.register("team_appended_entries", "Entries that this process has appended to the log", appended);
}

impl Gauges {
    fn read(&self, reader: &Reader, profile: &str, now: Now) -> Result<(), StoreError> {
        let labels = ProfileLabels::new(profile);
        self.read_transactions(reader, profile)?;
        self.read_alerts(reader, profile, now)?;
        let polling = reader.polling(profile, now.wall)?;
        let (report, oldest) = (polling.live_poller(now.wall), polling.oldest_age(now.wall));
        if let Some(oldest) = oldest {
            self.oldest.get_or_create(&labels).set(oldest.as_secs_f64());
        }
        self.up.get_or_create(&labels).set(f64::from(u8::from(report.is_some())));
        self.good.get_or_create(&labels).set(f64::from(u8::from(polling.verdict(now.wall).is_good())));
        if let Some(report) = report {
            self.set_polling(report, &labels);
        }
        Ok(())
    }

    fn read_transactions(&self, reader: &Reader, profile: &str) -> Result<(), StoreError> {
        let count = |status| self.tracked.get_or_create_owned(&StatusLabels { profile: profile.to_owned(), status });
        // The gauge of a status without transactions is zero, not absent.
        count("unanswered").set(0);
        count("unknown").set(0);
        for status in RouterStatus::DOCUMENTED {
            count(status.name()).set(0);
        }
        for (status, found) in reader.count_by_status(profile)? {
            let name = status.as_ref().map_or("unanswered", RouterStatus::name);
            count(name).inc_by(whole(found));
        }
        Ok(())
    }

    fn read_alerts(&self, reader: &Reader, profile: &str, now: Now) -> Result<(), StoreError> {
        for (rule, counts) in reader.alerts_by_rule(Some(profile), now.wall)? {
            for (state, count) in ["firing", "set_aside"].into_iter().zip(counts) {
                let profile = profile.to_owned();
                let labels = AlertLabels { profile, rule: rule.name(), severity: rule.severity().name(), state };
                self.alerts.get_or_create(&labels).set(whole(count));
            }
        }
        Ok(())
    }

    fn set_polling(&self, report: &PollerReport, labels: &ProfileLabels) {
        let need = report.need.unwrap_or_default();
        for (gauge, number) in [
            (&self.limit, report.rps),
            (&self.used, report.used),
            (&self.needed, need.polls),
            (&self.allowed, need.allowed),
            (&self.share, report.share),
            (&self.paused, f64::from(u8::from(report.health == PollerHealth::Paused))),
        ] {
            gauge.get_or_create(labels).set(number);
        }
        self.polled.get_or_create(labels).set(whole(report.unsettled));
    }

    /// Registers the gauges with their names and descriptions.
    fn register(self) -> Registry {
        let mut registry = Registry::with_prefix("hoptop");
        registry.register("transactions", "Tracked transactions, by status", self.tracked);
        let help = "Active alerts, by rule, severity and whether a person acknowledged or snoozed them";
        registry.register("alerts", help, self.alerts);
        let help = "Age of the oldest answer among the polled transactions";
        registry.register_with_unit("oldest_answer_age", help, Unit::Seconds, self.oldest);
        for (name, help, gauge) in [
            ("poller_up", "Whether this or another process polls the profile", self.up),
            ("budget_limit", "Limit of the integrator ID in requests per second", self.limit),
            ("budget_used", "Requests per second over the last ten seconds", self.used),
            ("budget_needed", "Requests per second needed to keep all answers within their target age", self.needed),
            ("budget_allowed", "Requests per second that the budget allows, including response time", self.allowed),
            ("budget_share", "Share of the limit that may be used: less than 1 after an HTTP 429", self.share),
            ("poller_paused", "Whether polling is paused", self.paused),
            (
                "polling_good",
                "Whether requests are answered, the budget is large enough, and no answer is older than its target",
                self.good,
            ),
        ] {
            registry.register(name, help, gauge);
        }
        registry.register("polled_transactions", "Polled transactions", self.polled);
        registry
    }
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
