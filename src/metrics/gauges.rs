//! What is read of the store when somebody asks for the metrics: how many stand how, and how polling goes.
//!
//! It must never name a transaction, a ticket or an integrator ID: what asks for metrics keeps them for long.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

use super::Profile;
use crate::{
    clock::Now,
    domain::{
        poller::{PollerHealth, PollerReport},
        span,
        status::RouterStatus,
    },
    store::{Reader, StoreError},
};

/// A number that isn't whole.
type Real = Gauge<f64, std::sync::atomic::AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Status {
    profile: String,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Standing {
    profile: String,
    rule: &'static str,
    severity: &'static str,
    state: &'static str,
}

/// The values of one profile.
#[derive(Default)]
struct Gauges {
    tracked: Family<Status, Gauge>,
    standing: Family<Standing, Gauge>,
    oldest: Family<Profile, Real>,
    up: Family<Profile, Real>,
    limit: Family<Profile, Real>,
    used: Family<Profile, Real>,
    needed: Family<Profile, Real>,
    allowed: Family<Profile, Real>,
    share: Family<Profile, Real>,
    paused: Family<Profile, Real>,
    polled: Family<Profile, Gauge>,
}

/// Reads them of these profiles. Costs n in what is tracked.
pub(super) fn read(reader: &Reader, profiles: &[String], now: Now) -> Result<Registry, StoreError> {
    let gauges = Gauges::default();
    profiles.iter().try_for_each(|profile| gauges.read(reader, profile, now))?;
    Ok(gauges.register())
}

impl Gauges {
    fn read(&self, reader: &Reader, profile: &str, now: Now) -> Result<(), StoreError> {
        let of = Profile::new(profile);
        self.transactions(reader, profile)?;
        self.alerts(reader, profile, now)?;
        if let Some(oldest) = reader.oldest_answer(profile)? {
            self.oldest.get_or_create(&of).set(span::between(oldest, now.wall).as_secs_f64());
        }
        let report = reader.poller(profile)?.filter(|report| report.is_live(now.wall));
        self.up.get_or_create(&of).set(f64::from(u8::from(report.is_some())));
        if let Some(report) = report {
            self.polling(&report, &of);
        }
        Ok(())
    }

    fn transactions(&self, reader: &Reader, profile: &str) -> Result<(), StoreError> {
        let count = |status| self.tracked.get_or_create_owned(&Status { profile: profile.to_owned(), status });
        // Those that there are none of are zero, and not absent.
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

    fn alerts(&self, reader: &Reader, profile: &str, now: Now) -> Result<(), StoreError> {
        for (rule, counts) in reader.alerts_by_rule(Some(profile), now.wall)? {
            for (state, count) in ["firing", "set_aside"].into_iter().zip(counts) {
                let profile = profile.to_owned();
                let labels = Standing { profile, rule: rule.name(), severity: rule.severity().name(), state };
                self.standing.get_or_create(&labels).set(whole(count));
            }
        }
        Ok(())
    }

    fn polling(&self, report: &PollerReport, of: &Profile) {
        let need = report.need.unwrap_or_default();
        for (gauge, number) in [
            (&self.limit, report.rps),
            (&self.used, report.used),
            (&self.needed, need.polls),
            (&self.allowed, need.allowed),
            (&self.share, report.share),
            (&self.paused, f64::from(u8::from(report.health == PollerHealth::Paused))),
        ] {
            gauge.get_or_create(of).set(number);
        }
        self.polled.get_or_create(of).set(whole(report.unsettled));
    }

    /// Under their names, and with what they mean.
    fn register(self) -> Registry {
        let mut registry = Registry::with_prefix("hoptop");
        registry.register("transactions", "What is tracked, by status", self.tracked);
        let said = "Active alerts, by whether somebody acknowledged or snoozed them";
        registry.register("alerts", said, self.standing);
        let said = "Of the transactions that are polled, the age of the oldest answer";
        registry.register_with_unit("oldest_answer_age", said, Unit::Seconds, self.oldest);
        for (name, said, gauge) in [
            ("poller_up", "Whether somebody polls this profile, here or in another process", self.up),
            ("budget_limit", "Requests a second that the ID may send", self.limit),
            ("budget_used", "Requests a second over the last ten seconds", self.used),
            ("budget_needed", "Requests a second that would keep all answers as fresh as they should be", self.needed),
            ("budget_allowed", "Requests a second that the budget allows, with the time that they take", self.allowed),
            ("budget_share", "The share of the limit that is used: less than 1 after an HTTP 429", self.share),
            ("poller_paused", "Whether a person wants nothing polled", self.paused),
        ] {
            registry.register(name, said, gauge);
        }
        registry.register("polled_transactions", "Transactions that are polled", self.polled);
        registry
    }
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
